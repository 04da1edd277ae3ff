/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_next.c - the times of an expression: next, previous, several, and whether an instant matches
 *
 * tests/cron/vectors.tsv has rows on which Spring and two other searches agree; quirks.tsv has those in which
 * Spring violates its own rule. tests/cron/oracle.h describes the million random cases. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

#define NS INT64_C(1000000000)

static hora_zone *zone_of(const char *name)
{
    hora_zone *zone;
    CHECK_OK(hora_zone_new(name, NULL, &zone, NULL));
    return zone;
}

static hora_instant instant_of(const char *text)
{
    hora_instant instant = {0};
    if (hora_instant_parse(text, NULL, &instant, NULL, NULL) < 0)
        test_fail(__FILE__, __LINE__, "%s is no instant", text);
    return instant;
}

static hora_cron *cron_of(const char *text, hora_cron_dialect dialect, hora_dst dst)
{
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(text, HORA_CRON_OPTIONS(.dialect = dialect, .dst = dst), &cron, &error) < 0)
        test_fail(__FILE__, __LINE__, "%s", error.message);
    return cron;
}

static const char *shown(hora_instant instant, const hora_zone *zone)
{
    static char text[64];
    (void)hora_instant_format(instant, zone, false, text, sizeof text);
    return text;
}

/* ---- rows of a file ---- */

enum { COLUMNS = 7 };

struct row {
    const char *file;
    int line;
    char *columns[COLUMNS];
};

/* The time before x is really the previous one: none of the times in between is missed, none is made up. */
static void check_mirror(const struct row *row, const hora_cron *cron, const hora_zone *zone,
                         hora_instant from, hora_instant x)
{
    hora_instant before;
    hora_instant again;
    if (!hora_cron_matches(cron, zone, x) || hora_cron_matches(cron, zone, (hora_instant){x.ns + 1}))
        test_fail(row->file, row->line, "matches does not know %s", shown(x, zone));
    if (hora_cron_previous(cron, zone, x, &before) == 0)
        return;
    if (before.ns > from.ns || (hora_cron_matches(cron, zone, from) && before.ns != from.ns))
        test_fail(row->file, row->line, "before it comes %s", shown(before, zone));
    if (hora_cron_next(cron, zone, before, &again) != 1 || again.ns != x.ns)
        test_fail(row->file, row->line, "and after that %s", shown(again, zone));
    if (hora_cron_previous(cron, zone, (hora_instant){x.ns + 1}, &again) != 1 || again.ns != x.ns)
        test_fail(row->file, row->line, "just after it, the last one is %s", shown(again, zone));
}

static void check_row(const struct row *row, const char *want)
{
    hora_zone *zone = zone_of(row->columns[1]);
    hora_cron *cron = cron_of(row->columns[0], HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_instant from = instant_of(row->columns[2]);
    hora_instant got;
    int is = hora_cron_next(cron, zone, from, &got);
    if (strcmp(want, "null") == 0) {
        if (is != 0)
            test_fail(row->file, row->line, "%s: got %s, not never", row->columns[0], shown(got, zone));
    } else if (is != 1 || got.ns != instant_of(want).ns) {
        test_fail(row->file, row->line, "%s: got %s, not %s", row->columns[0],
                  is == 1 ? shown(got, zone) : "never", want);
    } else {
        check_mirror(row, cron, zone, from, got);
    }
    hora_cron_unref(cron);
    hora_zone_unref(zone);
}

/* Spring reads them, although they can match no day; hora refuses them. */
static bool is_refused(const char *text)
{
    return strstr(text, "L-31") != NULL || strstr(text, "L-100") != NULL || strstr(text, "#6") != NULL;
}

static void check_refused(const struct row *row)
{
    hora_cron *cron;
    CHECK_ERROR(hora_cron_parse(row->columns[0], NULL, &cron, NULL), HORA_EINVAL);
}

static int split(char *line, char **columns)
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at != NULL && count < COLUMNS; count++) {
        columns[count] = at;
        at = strchr(at, '\t');
        if (at != NULL)
            *at++ = '\0';
    }
    return count;
}

/* `set` and, if that column is not "-", `instead`: the columns with the answer. */
static int check_file(const char *path, int set, int instead)
{
    char line[512];
    struct row row = {.file = path};
    int rows = 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        row.line++;
        if (line[0] == '#')
            continue;
        int count = split(line, row.columns);
        CHECK(count > set && count > instead);
        bool other = instead > 0 && strcmp(row.columns[instead], "-") != 0;
        if (is_refused(row.columns[0]))
            check_refused(&row);
        else
            check_row(&row, row.columns[other ? instead : set]);
        rows++;
    }
    if (file != NULL)
        (void)fclose(file);
    return rows;
}

TEST_REAL(cron_times_that_all_agree_on, "")
{
    CHECK_INT(check_file(TEST_DATA "/cron/vectors.tsv", 3, 0), 121);
}

TEST_REAL(cron_times_that_spring_misses, "")
{
    CHECK_INT(check_file(TEST_DATA "/cron/quirks.tsv", 4, 5), 19);
}

/* ---- clock changes ---- */

struct change {
    const char *text;
    hora_cron_dialect dialect;
    hora_dst dst;
    const char *zone;
    const char *times[5]; /* the first is asked from, the others follow one another */
};

static void check_change(const struct change *change, int line)
{
    hora_zone *zone = zone_of(change->zone);
    hora_cron *cron = cron_of(change->text, change->dialect, change->dst);
    hora_instant at = instant_of(change->times[0]);
    for (int i = 1; i < 5 && change->times[i] != NULL; i++) {
        hora_instant before = at;
        hora_instant again;
        if (hora_cron_next(cron, zone, before, &at) != 1 || at.ns != instant_of(change->times[i]).ns)
            test_fail(__FILE__, line, "%s: got %s, not %s", change->text, shown(at, zone), change->times[i]);
        CHECK(hora_cron_matches(cron, zone, at));
        if (i > 1 && (hora_cron_previous(cron, zone, at, &again) != 1 || again.ns != before.ns))
            test_fail(__FILE__, line, "%s: before %s comes %s", change->text, change->times[i],
                      shown(again, zone));
    }
    hora_cron_unref(cron);
    hora_zone_unref(zone);
}

#define CHANGE(...) check_change(&(struct change){__VA_ARGS__}, __LINE__)

TEST(cron_times_skipped_and_repeated_as_spring_does, "")
{
    CHANGE("0 30 2 * * *", HORA_CRON_SPRING, HORA_DST_LITERAL, "America/New_York",
           {"2021-03-13T02:30:00-05:00", "2021-03-15T02:30:00-04:00"});
    CHANGE("0 30 1 * * *", HORA_CRON_SPRING, HORA_DST_LITERAL, "America/New_York",
           {"2021-11-06T02:00:00-04:00", "2021-11-07T01:30:00-04:00", "2021-11-07T01:30:00-05:00",
            "2021-11-08T01:30:00-05:00"});
    CHANGE("0 */20 * * * *", HORA_CRON_SPRING, HORA_DST_LITERAL, "America/New_York",
           {"2021-11-07T01:30:00-04:00", "2021-11-07T01:40:00-04:00", "2021-11-07T01:00:00-05:00",
            "2021-11-07T01:20:00-05:00"});
    /* 00:01 is 23:01 of the day before: what the second passing of 23:30 shows is a day that had ended */
    CHANGE("0 30 23 6 11 *", HORA_CRON_SPRING, HORA_DST_LITERAL, "America/St_Johns",
           {"2010-11-06T12:00:00-02:30", "2010-11-06T23:30:00-02:30", "2010-11-06T23:30:00-03:30",
            "2011-11-06T23:30:00-03:30"});
    CHANGE("0 0 0 1W * *", HORA_CRON_SPRING, HORA_DST_LITERAL, "UTC",
           {"2022-01-01T00:00:00Z", "2022-01-03T00:00:00Z", "2022-02-01T00:00:00Z", "2022-03-01T00:00:00Z",
            "2022-04-01T00:00:00Z"});
    CHANGE("0 0 0 31W * *", HORA_CRON_SPRING, HORA_DST_LITERAL, "UTC",
           {"2021-01-01T00:00:00Z", "2021-01-29T00:00:00Z", "2021-03-31T00:00:00Z", "2021-05-31T00:00:00Z",
            "2021-07-30T00:00:00Z"});
}

TEST(cron_times_of_the_day_come_once_as_cron_has_it, "")
{
    /* skipped times run at the clock change, and only once, however many are skipped */
    CHANGE("0 30 2 * * *", HORA_CRON_SPRING, HORA_DST_ONCE, "America/New_York",
           {"2021-03-13T12:00:00-05:00", "2021-03-14T03:00:00-04:00", "2021-03-15T02:30:00-04:00"});
    CHANGE("15,45 2,3 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/New_York",
           {"2021-03-13T12:00:00-05:00", "2021-03-14T03:00:00-04:00", "2021-03-14T03:15:00-04:00",
            "2021-03-14T03:45:00-04:00"});
    CHANGE("0 2,3 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/New_York",
           {"2021-03-13T12:00:00-05:00", "2021-03-14T03:00:00-04:00", "2021-03-15T02:00:00-04:00"});
    /* a whole day is missing: its times run with the next day, and its date counts */
    CHANGE("0 12 30 12 *", HORA_CRON_UNIX, HORA_DST_ONCE, "Pacific/Apia",
           {"2011-01-01T00:00:00-10:00", "2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"});
    /* repeated: the first time; the changes at midnight and at one minute past it too */
    CHANGE("0 30 1 * * *", HORA_CRON_SPRING, HORA_DST_ONCE, "America/New_York",
           {"2021-11-06T02:00:00-04:00", "2021-11-07T01:30:00-04:00", "2021-11-08T01:30:00-05:00"});
    CHANGE("0 2 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/New_York",
           {"2021-11-06T03:00:00-04:00", "2021-11-07T02:00:00-05:00", "2021-11-08T02:00:00-05:00"});
    CHANGE("30 23 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/Sao_Paulo",
           {"2018-02-17T12:00:00-02:00", "2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"});
    CHANGE("0 0 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/St_Johns",
           {"2010-11-06T12:00:00-02:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"});
    /* an expression of intervals continues with elapsed time */
    CHANGE("*/20 * * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/New_York",
           {"2021-11-07T01:30:00-04:00", "2021-11-07T01:40:00-04:00", "2021-11-07T01:00:00-05:00",
            "2021-11-07T01:20:00-05:00"});
    CHANGE("*/20 2 * * *", HORA_CRON_UNIX, HORA_DST_ONCE, "America/New_York",
           {"2021-03-13T12:00:00-05:00", "2021-03-15T02:00:00-04:00"});
}

TEST(cron_times_far_away, "")
{
    CHANGE("0 0 0 29 2 SUN", HORA_CRON_SPRING, HORA_DST_LITERAL, "Europe/Berlin",
           {"2088-03-01T05:00:00Z", "2128-02-29T00:00:00+01:00", "2156-02-29T00:00:00+01:00"});
    /* the hour before a clock change, which in UTC is another day */
    CHANGE("0 30 1 27 10 SUN", HORA_CRON_SPRING, HORA_DST_LITERAL, "Europe/Berlin",
           {"2013-12-01T00:00:00Z", "2019-10-27T01:30:00+02:00", "2024-10-27T01:30:00+02:00",
            "2030-10-27T01:30:00+02:00"});
    CHANGE("0 30 3 13 3 SUN", HORA_CRON_SPRING, HORA_DST_LITERAL, "America/New_York",
           {"2015-12-01T00:00:00Z", "2016-03-13T03:30:00-04:00", "2022-03-13T03:30:00-04:00",
            "2033-03-13T03:30:00-04:00"});
    CHANGE("0 30 2 L 3 SUN", HORA_CRON_SPRING, HORA_DST_ONCE, "Europe/Berlin",
           {"2019-04-01T00:00:00Z", "2024-03-31T03:00:00+02:00", "2030-03-31T03:00:00+02:00"});
}

/* ---- the ends ---- */

TEST(cron_times_end_where_instants_do, "")
{
    hora_cron *always = cron_of("* * * * * *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_zone *zone = zone_of("Pacific/Kiritimati");
    hora_instant first = {INT64_MIN / NS * NS};
    hora_instant last = {INT64_MAX / NS * NS};
    hora_instant got = {42};
    const hora_zone *zones[] = {NULL, zone};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(hora_cron_next(always, zones[i], (hora_instant){INT64_MIN}, &got), 1);
        CHECK_INT(got.ns, first.ns);
        CHECK_INT(hora_cron_next(always, zones[i], (hora_instant){last.ns - 1}, &got), 1);
        CHECK_INT(got.ns, last.ns);
        CHECK_INT(hora_cron_previous(always, zones[i], (hora_instant){INT64_MAX}, &got), 1);
        CHECK_INT(got.ns, last.ns);
        CHECK_INT(hora_cron_previous(always, zones[i], (hora_instant){first.ns + 1}, &got), 1);
        CHECK_INT(got.ns, first.ns);
        got.ns = 42;
        CHECK_INT(hora_cron_next(always, zones[i], last, &got), 0);
        CHECK_INT(hora_cron_next(always, zones[i], (hora_instant){INT64_MAX}, &got), 0);
        CHECK_INT(hora_cron_previous(always, zones[i], first, &got), 0);
        CHECK_INT(hora_cron_previous(always, zones[i], (hora_instant){INT64_MIN}, &got), 0);
        CHECK_INT(got.ns, 42);
        CHECK(hora_cron_matches(always, zones[i], first) && hora_cron_matches(always, zones[i], last));
        CHECK(!hora_cron_matches(always, zones[i], (hora_instant){INT64_MAX}));
        CHECK(!hora_cron_matches(always, zones[i], (hora_instant){INT64_MIN}));
    }
    hora_zone_unref(zone);
    hora_cron_unref(always);
}

TEST(cron_times_are_whole_seconds_on_the_side_that_was_asked, "")
{
    hora_cron *cron = cron_of("0 * * * * *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_instant got;
    for (int64_t minute = -2; minute <= 2; minute++) {
        int64_t at = minute * 60 * NS;
        static const struct {
            int64_t distance;
            int next;
            int previous;
        } cases[] = {{-NS, 0, -1}, {-1, 0, -1}, {0, 1, -1}, {1, 1, 0}, {NS - 1, 1, 0}, {NS, 1, 0}};
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            CHECK_INT(hora_cron_next(cron, NULL, (hora_instant){at + cases[i].distance}, &got), 1);
            CHECK_INT(got.ns, at + cases[i].next * 60 * NS);
            CHECK_INT(hora_cron_previous(cron, NULL, (hora_instant){at + cases[i].distance}, &got), 1);
            CHECK_INT(got.ns, at + cases[i].previous * 60 * NS);
        }
    }
    hora_cron_unref(cron);
}

TEST(cron_times_never, "")
{
    hora_instant got = {42};
    hora_cron *june = cron_of("0 0 0 31 6 *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_cron *reboot = cron_of("@reboot", HORA_CRON_UNIX, HORA_DST_LITERAL);
    const hora_cron *crons[] = {june, reboot};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(hora_cron_next(crons[i], NULL, (hora_instant){0}, &got), 0);
        CHECK_INT(hora_cron_previous(crons[i], NULL, (hora_instant){0}, &got), 0);
        CHECK_INT(hora_cron_next_n(crons[i], NULL, (hora_instant){0}, &got, 1), 0);
        CHECK(!hora_cron_matches(crons[i], NULL, (hora_instant){0}));
        CHECK_INT(got.ns, 42);
    }
    hora_cron_unref(june);
    hora_cron_unref(reboot);
}

TEST(cron_times_several_at_once, "")
{
    hora_cron *leap = cron_of("0 0 0 29 2 *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_instant times[4] = {{0}};
    CHECK_INT(hora_cron_next_n(leap, NULL, instant_of("2248-01-01"), times, 4), 4);
    CHECK_INT(times[0].ns, instant_of("2248-02-29").ns);
    CHECK_INT(times[3].ns, instant_of("2260-02-29").ns);
    CHECK_INT(hora_cron_next_n(leap, NULL, instant_of("2250-01-01"), times, 4), 3);
    CHECK_INT(times[2].ns, instant_of("2260-02-29").ns);
    CHECK_INT(hora_cron_next_n(leap, NULL, instant_of("2250-01-01"), times, 0), 0);
    hora_cron_unref(leap);
}

TEST(cron_times_of_nothing, "")
{
    hora_cron *cron = cron_of("* * * * * *", HORA_CRON_SPRING, HORA_DST_LITERAL);
    hora_instant got = {42};
    CHECK_ERROR(hora_cron_next(NULL, NULL, (hora_instant){0}, &got), HORA_EINVAL);
    CHECK_ERROR(hora_cron_next(cron, NULL, (hora_instant){0}, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_cron_previous(NULL, NULL, (hora_instant){0}, &got), HORA_EINVAL);
    CHECK_ERROR(hora_cron_previous(cron, NULL, (hora_instant){0}, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_cron_next_n(NULL, NULL, (hora_instant){0}, &got, 1), HORA_EINVAL);
    CHECK_ERROR(hora_cron_next_n(cron, NULL, (hora_instant){0}, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_cron_next_n(cron, NULL, (hora_instant){0}, &got, -1), HORA_EINVAL);
    CHECK(!hora_cron_matches(NULL, NULL, (hora_instant){0}));
    CHECK_INT(got.ns, 42);
    hora_cron_unref(cron);
}
