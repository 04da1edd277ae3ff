/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_year.c - a year of cron tasks in difficult zones, in virtual time
 *
 * The expected runs are computed without cron: the test visits the local time of every minute of the year and
 * keeps those that match. In the middle of the year the machine is suspended, and the clock set forward and
 * back. Every missed time is made up, so the planned times of the runs are that list, from its beginning to
 * its end, except for the step back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trigger_support.h"

enum { MOST_TIMES = 27500, EXPRESSIONS = 5 };

/* All at second 0. */
struct expression {
    const char *text;
    bool is_interval;
    bool (*matches)(const hora_local *local);
};

static bool in_the_night(const hora_local *local)
{
    return local->hour == 2 && local->minute == 30;
}

static bool at_midnight(const hora_local *local)
{
    return local->hour == 0 && local->minute == 0;
}

static bool late_in_the_night(const hora_local *local)
{
    return local->hour == 3 && local->minute == 10;
}

static bool every_20_minutes(const hora_local *local)
{
    return local->minute % 20 == 0;
}

static bool last_working_day(const hora_local *local)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = local->year % 4 == 0; /* of those that come here */
    int last = days[local->month - 1] + (local->month == 2 && leap ? 1 : 0);
    int weekday = (local->weekday - 1 + last - local->day) % 7; /* of the last day, 0 Monday */
    int wanted = weekday == 5 ? last - 1 : weekday == 6 ? last - 2 : last;
    return local->day == wanted && local->hour == 9 && local->minute == 0;
}

static const struct expression expressions[EXPRESSIONS] = {
    {"0 30 2 * * *", false, in_the_night},      {"0 0 0 * * *", false, at_midnight},
    {"0 10 3 * * *", false, late_in_the_night}, {"0 */20 * * * *", true, every_20_minutes},
    {"0 0 9 LW * *", false, last_working_day},
};

/* ---- what must run ---- */

struct task {
    struct year *year;
    const struct expression *expression;
    hora_cron *cron;
    hora_future *future;
    hora_ns *times;
    int count;
    int next;
    hora_ns before; /* the planned time of the run before; HORA_NEVER: none, or the clock was set back */
    int late;
};

struct year {
    hora_virtual_clock *clock;
    hora_zone *zone;
    hora_dst dst;
    hora_ns begin;
    hora_ns end;
    hora_ns late_until; /* what was planned up to here began at this moment */
    struct task tasks[EXPRESSIONS];
};

static void expect(struct task *task, hora_ns at)
{
    if (task->count > 0 && task->times[task->count - 1] == at)
        return;
    CHECK(task->count < MOST_TIMES);
    if (task->count < MOST_TIMES)
        task->times[task->count++] = at;
}

/* The local times that are skipped when the clocks go forward: by the rule of cron, a daily time among them
 * runs at the change. */
static void expect_skipped(struct task *task, const hora_transition *change)
{
    for (int64_t second = change->offset_before; second < change->offset_after; second += 60) {
        hora_local local; /* as UTC shows it at that distance */
        CHECK_OK(hora_zone_to_local(NULL, (hora_instant){change->at.ns + HORA_SECONDS(second)}, &local));
        if (task->expression->matches(&local))
            expect(task, change->at.ns);
    }
}

static bool comes_for_the_second_time(const struct year *year, const hora_local *local, hora_ns at)
{
    hora_local_moments moments;
    CHECK_OK(hora_zone_to_instant(year->zone, local, &moments));
    return moments.kind == HORA_LOCAL_OVERLAP && moments.second.ns == at;
}

static void expect_year(struct year *year, struct task *task)
{
    bool by_cron = year->dst == HORA_DST_ONCE && !task->expression->is_interval;
    hora_transition change;
    int more = hora_zone_next_transition(year->zone, (hora_instant){year->begin}, &change);
    for (hora_ns at = year->begin + HORA_MINUTES(1); at <= year->end; at += HORA_MINUTES(1)) {
        while (more > 0 && change.at.ns <= at) {
            if (by_cron)
                expect_skipped(task, &change);
            more = hora_zone_next_transition(year->zone, change.at, &change);
        }
        hora_local local;
        CHECK_OK(hora_zone_to_local(year->zone, (hora_instant){at}, &local));
        if (task->expression->matches(&local) && !(by_cron && comes_for_the_second_time(year, &local, at)))
            expect(task, at);
    }
}

/* ---- what does ---- */

static int run_task(void *arg, void **ret_result)
{
    struct task *task = arg;
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_instant next;
    (void)ret_result;
    CHECK_OK(hora_future_get_schedule_info(task->future, &info));
    bool as_expected = task->next < task->count && info.last_planned == task->times[task->next];
    if (!as_expected)
        test_fail(__FILE__, __LINE__, "%s, %s: run %d is planned for %" PRId64 ", not %" PRId64,
                  task->expression->text, hora_zone_name(task->year->zone), task->next,
                  info.last_planned / HORA_SECONDS(1),
                  task->next < task->count ? task->times[task->next] / HORA_SECONDS(1) : -1);
    bool is_late = info.last_planned <= task->year->late_until && info.last_start == task->year->late_until;
    task->late += is_late && info.last_start != info.last_planned;
    CHECK(is_late || info.last_start == info.last_planned);
    if (task->before != HORA_NEVER) {
        CHECK_INT(hora_cron_next(task->cron, task->year->zone, (hora_instant){task->before}, &next), 1);
        CHECK(next.ns == info.last_planned);
    }
    task->before = info.last_planned;
    task->next++;
    return as_expected ? 0 : 1; /* which ends the series: one complaint is enough */
}

static hora_ns wall_now(const struct year *year)
{
    return hora_clock_now(hora_virtual_clock_view(year->clock, HORA_CLOCK_WALL));
}

static void run_until(const struct year *year, hora_ns at)
{
    CHECK_OK(hora_virtual_clock_run(year->clock, at - wall_now(year)));
}

/* Times of more than a minute ago occur again; the list goes back to the first of them that lies ahead. */
static void set_back(struct year *year, hora_ns by)
{
    hora_ns now = wall_now(year) - by;
    for (int i = 0; i < EXPRESSIONS; i++) {
        struct task *task = &year->tasks[i];
        if (task->next == 0 || task->times[task->next - 1] <= now + HORA_MINUTES(1))
            continue;
        while (task->next > 0 && task->times[task->next - 1] >= now)
            task->next--;
        task->before = HORA_NEVER;
    }
    CHECK_OK(hora_virtual_clock_step_wall(year->clock, -by));
    CHECK_OK(hora_virtual_clock_settle(year->clock));
}

/* A suspended machine and a set clock, at some odd minute. */
static void disturb(struct year *year)
{
    int late = 0;
    run_until(year, year->begin + HORA_HOURS(24 * 100) + HORA_MINUTES(611));
    year->late_until = wall_now(year) + HORA_MINUTES(1450);
    CHECK_OK(hora_virtual_clock_suspend(year->clock, HORA_MINUTES(1450)));
    CHECK_OK(hora_virtual_clock_settle(year->clock));
    run_until(year, wall_now(year) + HORA_HOURS(24 * 3));
    year->late_until = wall_now(year) + HORA_MINUTES(1451);
    CHECK_OK(hora_virtual_clock_step_wall(year->clock, HORA_MINUTES(1451)));
    CHECK_OK(hora_virtual_clock_settle(year->clock));
    for (int i = 0; i < EXPRESSIONS; i++)
        late += year->tasks[i].late;
    CHECK(late >= 150 && late <= 154); /* a day of all but the monthly one, twice */
    run_until(year, wall_now(year) + HORA_HOURS(24 * 3));
    const struct task *often = &year->tasks[3];
    run_until(year, often->times[often->next] + HORA_SECONDS(20));
    set_back(year, HORA_SECONDS(50)); /* so it has just run, and does not again */
    run_until(year, wall_now(year) + HORA_MINUTES(2));
    set_back(year, HORA_MINUTES(1500));
}

/* ---- a year ---- */

static void start(struct year *year, hora_scheduler *scheduler, const char *zone, int i)
{
    struct task *task = &year->tasks[i];
    *task = (struct task){.year = year, .expression = &expressions[i], .before = HORA_NEVER};
    task->times = calloc(MOST_TIMES, sizeof(*task->times));
    CHECK(task->times != NULL);
    CHECK_OK(hora_cron_parse(task->expression->text, HORA_CRON_OPTIONS(.dst = year->dst), &task->cron, NULL));
    expect_year(year, task);
    CHECK_OK(hora_scheduler_schedule_with(scheduler, HORA_TASK(run_task, task),
                                          HORA_SCHEDULE(.cron = task->expression->text, .zone = zone,
                                                        .dst = year->dst, .missed = HORA_MISSED_BURST,
                                                        .failure = HORA_FAILURE_STOP),
                                          &task->future, NULL));
}

static void live(const char *zone, const char *begin, hora_dst dst)
{
    struct year year = {.dst = dst, .begin = moment(begin), .late_until = HORA_NEVER, .zone = a_zone(zone)};
    hora_scheduler *scheduler = NULL;
    year.end = year.begin + HORA_HOURS(24 * 370);
    CHECK_OK(hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.monotonic = 5, .wall = {year.begin}),
                                    &year.clock, NULL));
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                               .clock = hora_virtual_clock_view(year.clock, HORA_CLOCK_MONOTONIC)),
        &scheduler, NULL));
    for (int i = 0; i < EXPRESSIONS; i++)
        start(&year, scheduler, zone, i);
    disturb(&year);
    run_until(&year, year.end);
    for (int i = 0; i < EXPRESSIONS; i++) {
        struct task *task = &year.tasks[i];
        CHECK_INT(task->next, task->count);
        CHECK(task->count >= (i == 4 ? 11 : 365));
        (void)hora_future_cancel(task->future, false);
        CHECK_POINTER(hora_future_unref(task->future), NULL);
        CHECK_POINTER(hora_cron_unref(task->cron), NULL);
        free(task->times);
    }
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
    CHECK_POINTER(hora_zone_unref(year.zone), NULL);
    CHECK_OK(hora_virtual_clock_free(year.clock));
}

#define YEAR(name, zone, begin)                  \
    TEST_REAL(cron_year_in_##name, "")           \
    {                                            \
        live((zone), (begin), HORA_DST_LITERAL); \
        live((zone), (begin), HORA_DST_ONCE);    \
    }
YEAR(berlin, "Europe/Berlin", "2026-01-01T00:00:00Z")
YEAR(new_york, "America/New_York", "2026-01-01T00:00:00Z")
YEAR(havana, "America/Havana", "2026-01-01T00:00:00Z")         /* set at midnight */
YEAR(lord_howe, "Australia/Lord_Howe", "2026-01-01T00:00:00Z") /* by half an hour */
YEAR(chatham, "Pacific/Chatham", "2026-01-01T00:00:00Z")       /* at 02:45 */
YEAR(apia, "Pacific/Apia", "2011-01-10T00:00:00Z")             /* which went without 2011-12-30 */
YEAR(cairo, "Africa/Cairo", "2026-01-01T00:00:00Z")            /* at midnight, back over it */
YEAR(troll, "Antarctica/Troll", "2026-01-01T00:00:00Z")        /* by two hours */
YEAR(kathmandu, "Asia/Kathmandu", "2026-01-01T00:00:00Z")      /* never, but 05:45 from UTC */
YEAR(sao_paulo, "America/Sao_Paulo", "2018-01-01T00:00:00Z")   /* at midnight */
