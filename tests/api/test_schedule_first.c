/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_first.c - when the first run of a schedule is: delay, at, next, or at once */
#include "schedule_support.h"

TEST(schedule_of_defaults_runs_once_and_at_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    const hora_schedule init = HORA_INIT(hora_schedule);
    const hora_schedule *specs[] = {NULL, HORA_SCHEDULE(.initial_delay = 0), &init};

    for (int i = 0; i < 3; i++) {
        struct tick tick = A_TICK(&s);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, specs[i]);
        CHECK(!hora_future_is_periodic(future));
        stage_settle(&s);
        CHECK_STARTS(&tick, 0);
        void *result = NULL;
        CHECK_OK(hora_future_get_for(future, 0, &result));
        CHECK_POINTER(result, &tick);
        END(&tick, future);
        CHECK_INT(tick.result_drops, 1);
    }
    stage_close(&s);
}

TEST(schedule_runs_after_its_delay, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(3));
    stage_leap(&s, SEC(3) - 1);
    CHECK_NO_START(&tick);
    stage_leap(&s, 1);
    CHECK_STARTS(&tick, 3);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_with_a_negative_delay_runs_at_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const hora_ns delays[] = {-1, INT64_MIN};

    for (int i = 0; i < 2; i++) {
        struct tick tick = A_TICK(&s);
        hora_future *future = START(&s, &tick, .initial_delay = delays[i]);
        stage_settle(&s);
        CHECK_STARTS(&tick, 0);
        CHECK_INT(info_of(future).last_planned, s.zero[HORA_CLOCK_MONOTONIC]);
        END(&tick, future);
    }
    stage_close(&s);
}

/* A delay beyond what time can count never ends, and disturbs no other. */
TEST(schedule_with_an_endless_delay_never_runs, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const hora_ns delays[] = {INT64_MAX, INT64_MAX - 1};

    for (int i = 0; i < 2; i++) {
        struct tick never = A_TICK(&s), tick = A_TICK(&s);
        hora_ns delay;
        hora_future *future = START(&s, &never, .initial_delay = delays[i], .fixed_rate = i * SEC(1));
        hora_future *other = START(&s, &tick, .initial_delay = SEC(1));
        CHECK_OK(hora_future_delay(future, &delay));
        CHECK_INT(delay, HORA_FOREVER);
        CHECK(order_of(other, future) < 0);
        stage_pass(&s, 2);
        CHECK_INT(tick.runs, 1);
        CHECK_NO_START(&never);
        END(&never, future);
        END(&tick, other);
    }
    stage_close(&s);
}

TEST(schedule_at_is_a_moment_of_the_wall_clock, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const hora_clock_id clocks[] = {HORA_CLOCK_DEFAULT, HORA_CLOCK_WALL};

    for (int i = 0; i < 2; i++) {
        struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
        int now = (int)(stage_now(&s, HORA_CLOCK_WALL) / SEC(1));
        hora_future *future = START(&s, &tick, .at = stage_instant(&s, now + 4), .clock = clocks[i]);
        CHECK_INT(info_of(future).clock, HORA_CLOCK_WALL);
        stage_pass(&s, 3);
        CHECK_NO_START(&tick);
        stage_pass(&s, 1);
        CHECK_STARTS(&tick, now + 4);
        END(&tick, future);
    }
    stage_close(&s);
}

TEST(schedule_at_a_moment_that_has_passed_runs_at_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const int64_t moments[] = {1, -1, INT64_MIN};

    for (int i = 0; i < 3; i++) {
        struct tick tick = A_TICK(&s);
        hora_future *future = START(&s, &tick, .at = {moments[i]});
        stage_settle(&s);
        CHECK_STARTS(&tick, 0);
        CHECK_INT(info_of(future).last_planned, moments[i]);
        END(&tick, future);
    }
    stage_close(&s);
}

/* A rate counts from there: the times that have passed since then were missed. */
TEST(schedule_at_a_moment_that_has_passed_keeps_to_its_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .at = stage_instant(&s, -25), .fixed_rate = SEC(10));
    stage_pass(&s, 16);
    CHECK_STARTS(&tick, 0, 5, 15);
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_at_the_last_moment_never_runs, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .at = {INT64_MAX});
    stage_leap(&s, HORA_HOURS(24 * 365 * 100));
    CHECK_NO_START(&tick);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_first_run_is_when_next_says, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){2, 3, 7, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table);
    CHECK_INT(table.calls, 1); /* by the call itself */
    CHECK_INT(table.last.last_planned, HORA_NEVER);
    CHECK_INT(table.last.last_start, HORA_NEVER);
    CHECK_INT(table.last.last_end, HORA_NEVER);
    CHECK_INT(table.last.now, s.zero[HORA_CLOCK_MONOTONIC]);
    CHECK_INT(table.last.runs, 0);
    stage_pass(&s, 4);
    CHECK_STARTS(&tick, 2, 3);
    END(&tick, future);
    stage_close(&s);
}

/* The first run is after the delay; then next says. */
TEST(schedule_delay_comes_before_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), dated = {.stage = &s, .line = HORA_CLOCK_WALL};
    struct timetable table = {.stage = &s, .seconds = (int[]){2, 5, 7, -1}};
    struct timetable calendar = {.stage = &s, .line = HORA_CLOCK_WALL, .seconds = (int[]){2, 5, 7, -1}};

    hora_future *future =
        START(&s, &tick, .initial_delay = SEC(3), .next = timetable_next, .next_arg = &table);
    hora_future *other =
        START(&s, &dated, .at = stage_instant(&s, 4), .next = timetable_next, .next_arg = &calendar);
    CHECK_INT(table.calls + calendar.calls, 0);
    stage_pass(&s, 6);
    CHECK_STARTS(&tick, 3, 5);
    CHECK_STARTS(&dated, 4, 5);
    END(&tick, future);
    END(&dated, other);
    stage_close(&s);
}

static hora_ns never(const hora_trigger_context *context, void *arg)
{
    (void)context;
    (void)arg;
    return HORA_NEVER;
}

TEST(schedule_whose_next_never_comes_is_refused, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *future = (hora_future *)untouched;

    CHECK_ERROR(
        hora_scheduler_schedule_with(s.scheduler, TICK(&tick), HORA_SCHEDULE(.next = never), &future, NULL),
        HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_INT(tick.drops, 0); /* the caller still owns everything */
    stage_close(&s);
}

/* The schedule is copied: what becomes of it afterwards does not matter. */
TEST(schedule_is_copied, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_schedule spec = HORA_INIT(hora_schedule);

    spec.initial_delay = SEC(1);
    spec.fixed_rate = SEC(2);
    spec.count = 3;
    hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
    unsigned char *bytes = (unsigned char *)&spec;
    for (size_t i = 0; i < sizeof(spec); i++)
        bytes[i] = 0xff;
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 1, 3, 5);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_without_a_future_runs_all_the_same, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    CHECK_OK(hora_scheduler_schedule_with(s.scheduler, TICK(&tick),
                                          HORA_SCHEDULE(.fixed_rate = SEC(1), .count = 3), NULL, NULL));
    stage_pass(&s, 5);
    CHECK_STARTS(&tick, 0, 1, 2);
    CHECK_INT(tick.drops, 1);
    stage_close(&s);
}
