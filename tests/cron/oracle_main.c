/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_main.c - hora beside the scan: oracle [--cases N] [--seed N] [--workers N] [--zone NAME [--case N]]
 *
 * Every case is known by seed, zone and number; a difference is printed with the command that repeats it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hora/cron.h>

#include "base/fault.h"
#include "oracle.h"

#define NS INT64_C(1000000000)

enum { DAY = 86400 };

#ifdef HORA_FAULTS
enum { MOST_FAILURES = 1, IS_QUIET = true }; /* a difference is what we hope for */
#else
enum { MOST_FAILURES = 5, IS_QUIET = false };
#endif

static struct {
    const char *program;
    uint64_t seed;
    int64_t cases;
    int workers;
    const char *zone;
    int64_t number;
} arguments = {.seed = 20261115, .cases = 1000000, .workers = 2, .number = -1};

static struct {
    int64_t cases;
    int64_t near;
    int64_t far; /* next lies more than ten years ahead, or never comes */
    int64_t failures;
} totals;

/* One question. */
struct question {
    const char *zone_name;
    const struct zone_table *zone;
    int64_t number;
    struct expression expression;
    bool is_once;
    hora_dst dst;
    int64_t second;
    int64_t fraction;
};

static const char *shown(char *text, size_t size, bool is, int64_t second)
{
    struct reading r = reading_of(second);
    if (is)
        (void)snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02dZ", r.year, r.month, r.day, r.hour, r.minute,
                       r.second);
    else
        (void)snprintf(text, size, "never");
    return text;
}

static void differ(const struct question *q, const char *what, bool got_is, int64_t got, bool want_is,
                   int64_t want)
{
    char from[40];
    char a[40];
    char b[40];
    totals.failures++;
    if (IS_QUIET)
        return;
    (void)printf("%s --seed %" PRIu64 " --zone %s --case %" PRId64 ": \"%s\" %s %s from %s + %" PRId64
                 " ns: %s: hora says %s, the scan %s\n",
                 arguments.program, arguments.seed, q->zone_name, q->number, q->expression.text,
                 q->expression.is_crontab ? "crontab" : "spring",
                 q->dst == HORA_DST_ONCE ? "dst=cron" : "dst=spring",
                 shown(from, sizeof from, true, q->second), q->fraction, what,
                 shown(a, sizeof a, got_is, got), shown(b, sizeof b, want_is, want));
}

static bool scan(const struct question *q, int64_t after, int64_t *ret_next)
{
    return scan_next(&q->expression, q->zone, q->is_once, after, TIME_LAST + 1, ret_next);
}

static void compare(const struct question *q, const char *what, int got_is, hora_instant got, bool want_is,
                    int64_t want)
{
    if ((got_is == 1) != want_is || got_is < 0 || (want_is && got.ns != want * NS))
        differ(q, what, got_is == 1, got.ns / NS, want_is, want);
}

/* What hora calls the last time before must be a time, and the scan from there must find nothing before. */
static void check_previous(const struct question *q, const hora_cron *cron, const hora_zone *zone)
{
    hora_instant got = {0};
    hora_instant before = {q->second * NS + q->fraction};
    int64_t first_after = q->second + (q->fraction > 0 ? 1 : 0); /* not before the question */
    int64_t found;
    int is = hora_cron_previous(cron, zone, before, &got);
    int64_t previous = is == 1 ? got.ns / NS : TIME_FIRST - 1;
    if (is == 1 && (got.ns % NS != 0 || got.ns >= before.ns ||
                    !scan_next(&q->expression, q->zone, q->is_once, previous - 1, previous + 1, &found)))
        differ(q, "previous is not a time, or not before", true, previous, false, 0);
    else if (scan_next(&q->expression, q->zone, q->is_once, previous, first_after, &found))
        differ(q, "previous", is == 1, previous, true, found);
}

static void check_several(const struct question *q, const hora_cron *cron, const hora_zone *zone)
{
    hora_instant times[4];
    hora_instant after = {q->second * NS + q->fraction};
    int count = hora_cron_next_n(cron, zone, after, times, 4);
    int64_t want = q->second;
    for (int i = 0; i < 4; i++) {
        bool is = scan(q, want, &want);
        compare(q, "next_n", i < count, times[i < count ? i : 0], is, want);
        if (!is)
            return;
    }
}

static void check(const struct question *q, const hora_zone *zone)
{
    hora_cron *cron;
    hora_error error;
    hora_cron_options options = HORA_INIT(hora_cron_options);
    options.dialect = q->expression.is_crontab ? HORA_CRON_UNIX : HORA_CRON_SPRING;
    options.dst = q->dst;
    if (hora_cron_parse(q->expression.text, &options, &cron, &error) < 0) {
        differ(q, error.message, false, 0, false, 0);
        return;
    }
    int64_t want = 0;
    bool want_is = scan(q, q->second - 1, &want);
    bool is_time = want_is && want == q->second;
    if (hora_cron_matches(cron, zone, (hora_instant){q->second * NS}) != is_time)
        differ(q, "matches", !is_time, q->second, is_time, q->second);
    if (is_time)
        want_is = scan(q, q->second, &want);
    hora_instant got = {0};
    int got_is = hora_cron_next(cron, zone, (hora_instant){q->second * NS + q->fraction}, &got);
    compare(q, "next", got_is, got, want_is, want);
    check_previous(q, cron, zone);
    if (q->number % 16 == 0)
        check_several(q, cron, zone);
    if (!want_is || want - q->second > INT64_C(3652) * DAY)
        totals.far++;
    hora_cron_unref(cron);
}

/* Half of the instants are within two days of a clock change, and half of these within three hours. Some are
 * at the ends of time. */
static int64_t some_second(struct dice *dice, const struct zone_table *zone, bool near)
{
    int64_t second;
    if (near && zone->count > 1) {
        int64_t change = zone->segments[1 + dice_below(dice, (int)zone->count - 1)].begin;
        int range = dice_one_in(dice, 2) ? 2 * DAY : 3 * 3600;
        second = change + dice_below(dice, 2 * range + 1) - range;
        if (dice_one_in(dice, 20))
            second = change + dice_below(dice, 3) - 1;
    } else if (dice_one_in(dice, 50)) {
        second = dice_one_in(dice, 2) ? TIME_FIRST + dice_below(dice, 40 * DAY)
                                      : TIME_LAST - dice_below(dice, 40 * DAY);
    } else if (dice_one_in(dice, 6)) {
        second = TIME_FIRST + (int64_t)(dice_roll(dice) % (uint64_t)(TIME_LAST - TIME_FIRST));
    } else {
        second = -INT64_C(2208988800) + (int64_t)(dice_roll(dice) % UINT64_C(6311433600)); /* 1900 to 2099 */
    }
    return second < TIME_FIRST ? TIME_FIRST : second >= TIME_LAST ? TIME_LAST - 1 : second;
}

static uint64_t hash(uint64_t seed, const char *name, int64_t number)
{
    struct dice dice = {seed ^ (uint64_t)number << 32};
    for (; *name != '\0'; name++)
        dice.state = dice_roll(&dice) ^ (unsigned char)*name;
    return dice_roll(&dice);
}

static int64_t offset_in(const struct zone_table *zone, int64_t second)
{
    size_t i = 0;
    while (zone->segments[i].end <= second)
        i++;
    return zone->segments[i].offset;
}

static void run_case(const char *name, const struct zone_table *table, const hora_zone *zone, int64_t number)
{
    struct dice dice = {hash(arguments.seed, name, number)};
    bool near = dice_below(&dice, 20) < 11; /* some zones have no clock change */
    struct question q = {.zone_name = name, .zone = table, .number = number};
    q.second = some_second(&dice, table, near);
    q.fraction = dice_one_in(&dice, 3) ? dice_below(&dice, (int)NS) : 0;
    q.dst = dice_one_in(&dice, 2) ? HORA_DST_ONCE : HORA_DST_LITERAL;
    struct reading hint = reading_of(q.second + offset_in(table, q.second));
    bool names_times = q.dst == HORA_DST_ONCE && !dice_one_in(&dice, 4);
    expression_write(&q.expression, &dice, dice_one_in(&dice, 3), names_times, &hint);
    q.is_once = q.dst == HORA_DST_ONCE && !q.expression.is_interval;
    totals.cases++;
    totals.near += near && table->count > 1 ? 1 : 0;
    check(&q, zone);
}

static void run_zone(const char *name, int64_t cases)
{
    struct zone_table table;
    hora_zone *zone;
    hora_error error;
    if (hora_zone_new(name, NULL, &zone, &error) < 0) {
        (void)printf("%s: hora does not take the zone: %s\n", name, error.message);
        totals.failures++;
        return;
    }
    zone_table_load(&table, name);
    if (arguments.number >= 0)
        run_case(name, &table, zone, arguments.number);
    else
        for (int64_t i = 0; i < cases && totals.failures < MOST_FAILURES; i++)
            run_case(name, &table, zone, i);
    zone_table_free(&table);
    hora_zone_unref(zone);
}

static void work(char **names, size_t count, int worker)
{
    int64_t each = arguments.cases / (int64_t)count + 1;
    for (size_t i = (size_t)worker; i < count && totals.failures < MOST_FAILURES;
         i += (size_t)arguments.workers)
        run_zone(names[i], each);
}

/* Each worker is a process, because the C library has one zone per process. */
static int start_worker(char **names, size_t count, int worker)
{
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        work(names, count, worker);
        (void)fflush(stdout);
        _exit(write(ends[1], &totals, sizeof totals) == (ssize_t)sizeof totals ? 0 : 1);
    }
    (void)close(ends[1]);
    return ends[0];
}

static void run_all(char **names, size_t count)
{
    int ends[64];
    for (int i = 0; i < arguments.workers; i++)
        ends[i] = start_worker(names, count, i);
    for (int i = 0; i < arguments.workers; i++) {
        int64_t part[sizeof totals / sizeof(int64_t)];
        if (read(ends[i], part, sizeof part) != (ssize_t)sizeof part) {
            (void)printf("a worker has ended before its time\n");
            part[0] = part[1] = part[2] = 0;
            part[3] = 1;
        }
        totals.cases += part[0];
        totals.near += part[1];
        totals.far += part[2];
        totals.failures += part[3];
        (void)close(ends[i]);
        (void)wait(NULL);
    }
}

static bool read_arguments(int count, char **values)
{
    arguments.program = values[0];
    for (int i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? values[i + 1] : "";
        if (strcmp(values[i], "--cases") == 0)
            arguments.cases = strtoll(value, NULL, 10);
        else if (strcmp(values[i], "--seed") == 0)
            arguments.seed = strtoull(value, NULL, 10);
        else if (strcmp(values[i], "--workers") == 0)
            arguments.workers = (int)strtol(value, NULL, 10);
        else if (strcmp(values[i], "--zone") == 0)
            arguments.zone = value;
        else if (strcmp(values[i], "--case") == 0)
            arguments.number = strtoll(value, NULL, 10);
        else
            return false;
    }
    return arguments.workers >= 1 && arguments.workers <= 64 &&
           (arguments.number < 0 || arguments.zone != NULL);
}

#ifdef HORA_FAULTS
/* That the scan would find a fault: each of these is planted in turn. */
enum hora__fault hora__fault_planted;

static bool find_faults(char **names, size_t count)
{
    static const struct {
        enum hora__fault fault;
        const char *name;
    } faults[] = {
        {HORA__FAULT_CRON_OVERLAP_UNSEEN, "CRON_OVERLAP_UNSEEN"},
        {HORA__FAULT_CRON_SPAN_ENDS_LATE, "CRON_SPAN_ENDS_LATE"},
        {HORA__FAULT_CRON_JUMPS_TOO_FAR, "CRON_JUMPS_TOO_FAR"},
        {HORA__FAULT_CRON_JUMPS_TOO_FAR_BACK, "CRON_JUMPS_TOO_FAR_BACK"},
        {HORA__FAULT_CRON_SKIPPED_TIMES_LOST, "CRON_SKIPPED_TIMES_LOST"},
        {HORA__FAULT_CRON_REPEATED_TIMES_COUNT, "CRON_REPEATED_TIMES_COUNT"},
        {HORA__FAULT_CRON_NEAREST_LEAVES_MONTH, "CRON_NEAREST_LEAVES_MONTH"},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)memset(&totals, 0, sizeof totals);
        hora__fault_planted = faults[i].fault;
        run_all(names, count);
        (void)printf("fault %s: %s in %" PRId64 " cases\n", faults[i].name,
                     totals.failures > 0 ? "found" : "NOT FOUND", totals.cases);
        all = all && totals.failures > 0;
    }
    return all;
}
#endif

int main(int argc, char **argv)
{
    if (!read_arguments(argc, argv)) {
        (void)fprintf(stderr, "usage: %s [--cases N] [--seed N] [--workers N] [--zone NAME [--case N]]\n",
                      argv[0]);
        return 2;
    }
    size_t count;
    char **names = zone_names(&count);
    if (count == 0) {
        (void)printf("SKIPPED: there is no /usr/share/zoneinfo\n");
        return 77;
    }
#ifdef HORA_FAULTS
    return find_faults(names, count) ? 0 : 1;
#endif
    if (arguments.zone != NULL)
        run_zone(arguments.zone, arguments.cases);
    else
        run_all(names, count);
    (void)printf("%" PRId64 " cases, %" PRId64 " close to a clock change, %" PRId64
                 " of ten years or more, in %zu zones, seed %" PRIu64 ": %" PRId64 " differences\n",
                 totals.cases, totals.near, totals.far, arguments.zone != NULL ? (size_t)1 : count,
                 arguments.seed, totals.failures);
    zone_names_free(names, count);
    return totals.failures == 0 ? 0 : 1;
}
