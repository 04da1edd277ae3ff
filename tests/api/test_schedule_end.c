/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_end.c - how a series ends: count, end */
#include "schedule_support.h"

/* The series has ended, with the result of the last run; the other results were dropped. */
static void check_succeeded(struct tick *tick, hora_future *future)
{
    void *result = NULL;
    hora_schedule_info info = info_of(future);

    CHECK_OK(hora_future_get_for(future, 0, &result));
    CHECK_POINTER(result, tick);
    CHECK_INT(tick->result_drops, tick->runs - 1);
    CHECK_INT(info.next, HORA_NEVER);
    CHECK_INT(info.running, 0);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_TOO_LATE);
}

TEST(schedule_count_ends_a_series_with_success, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct timetable table = {.stage = &s, .seconds = (int[]){0, 2, 4, 6, 8, -1}};
    const hora_schedule *specs[] = {HORA_SCHEDULE(.fixed_rate = SEC(2), .count = 3),
                                    HORA_SCHEDULE(.fixed_delay = SEC(2), .count = 3),
                                    HORA_SCHEDULE(.next = timetable_next, .next_arg = &table, .count = 3)};
    struct tick ticks[3] = {A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *futures[3];

    for (int i = 0; i < 3; i++)
        futures[i] = start_tick(__FILE__, __LINE__, &s, &ticks[i], specs[i]);
    stage_pass(&s, 3);
    for (int i = 0; i < 3; i++)
        CHECK(!hora_future_is_done(futures[i]));
    stage_pass(&s, 7);
    for (int i = 0; i < 3; i++) {
        CHECK_STARTS(&ticks[i], 0, 2, 4);
        check_succeeded(&ticks[i], futures[i]);
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

TEST(schedule_count_of_one_runs_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(1), .count = 1);
    CHECK(hora_future_is_periodic(future));
    stage_pass(&s, 3);
    CHECK_STARTS(&tick, 0);
    check_succeeded(&tick, future);
    END(&tick, future);
    stage_close(&s);
}

/* Skipped times are no runs. */
TEST(schedule_count_counts_runs_and_not_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts_first = 5};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .count = 3, .missed = HORA_MISSED_SKIP);
    stage_pass(&s, 12);
    CHECK_STARTS(&tick, 0, 6, 8);
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_end_is_inclusive, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick before = A_TICK(&s), exactly = A_TICK(&s);
    hora_instant end = stage_instant(&s, 4);
    hora_instant earlier = {end.ns - 1};

    hora_future *first = START(&s, &before, .fixed_rate = SEC(2), .end = earlier);
    hora_future *second = START(&s, &exactly, .fixed_rate = SEC(2), .end = end);
    stage_pass(&s, 2);
    check_succeeded(&before, first); /* as soon as it is known that no other time comes */
    CHECK(!hora_future_is_done(second));
    stage_pass(&s, 6);
    CHECK_STARTS(&before, 0, 2);
    CHECK_STARTS(&exactly, 0, 2, 4);
    check_succeeded(&exactly, second);
    END(&before, first);
    END(&exactly, second);
    stage_close(&s);
}

/* The end is a moment of the wall clock, whatever the clock of the schedule. */
TEST(schedule_end_is_a_moment_of_the_wall_clock, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const hora_clock_id clocks[] = {HORA_CLOCK_MONOTONIC, HORA_CLOCK_BOOTTIME, HORA_CLOCK_WALL};
    struct tick ticks[3] = {A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *futures[3];

    for (int i = 0; i < 3; i++)
        futures[i] =
            START(&s, &ticks[i], .fixed_rate = SEC(3), .clock = clocks[i], .end = stage_instant(&s, 7));
    stage_pass(&s, 12);
    for (int i = 0; i < 3; i++) {
        CHECK_STARTS(&ticks[i], 0, 3, 6);
        check_succeeded(&ticks[i], futures[i]);
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

TEST(schedule_gap_and_next_end_as_well, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick gap = {.stage = &s, .lasts = 1}, asked = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){1, 4, 8, 9, -1}};

    hora_future *first = START(&s, &gap, .fixed_delay = SEC(2), .end = stage_instant(&s, 7));
    hora_future *second =
        START(&s, &asked, .next = timetable_next, .next_arg = &table, .end = stage_instant(&s, 7));
    stage_pass(&s, 12);
    CHECK_STARTS(&gap, 0, 3, 6);
    CHECK_STARTS(&asked, 1, 4);
    check_succeeded(&gap, first);
    check_succeeded(&asked, second);
    END(&gap, first);
    END(&asked, second);
    stage_close(&s);
}

TEST(schedule_whose_first_run_is_after_its_end_is_refused, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){5, -1}};
    hora_instant end = stage_instant(&s, 4);
    const hora_schedule *specs[] = {
        HORA_SCHEDULE(.fixed_rate = SEC(1), .end = {1}),
        HORA_SCHEDULE(.initial_delay = SEC(5), .fixed_rate = SEC(1), .end = end),
        HORA_SCHEDULE(.at = stage_instant(&s, 5), .fixed_delay = SEC(1), .end = end),
        HORA_SCHEDULE(.next = timetable_next, .next_arg = &table, .end = end),
    };

    for (int i = 0; i < 4; i++)
        CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&tick), specs[i], NULL, NULL),
                    HORA_EINVAL);
    CHECK_INT(tick.drops, 0);
    stage_close(&s);
}

/* A late run still begins although the end of the schedule has passed, because it was planned before the
 * end. */
TEST(schedule_end_is_about_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), blocker = {.stage = &s, .lasts = 10};

    hora_future *first = START(&s, &blocker, .initial_delay = 0);
    hora_future *future =
        START(&s, &tick, .initial_delay = SEC(3), .fixed_rate = SEC(5), .end = stage_instant(&s, 4));
    stage_pass(&s, 12);
    CHECK_STARTS(&tick, 10);
    check_succeeded(&tick, future);
    END(&blocker, first);
    END(&tick, future);
    stage_close(&s);
}

/* The offset of a spread counts: it is the time that was put off which must not lie after the end. */
TEST(schedule_end_holds_for_times_that_are_put_off, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    /* "tick" has an offset that is not 0: see test_schedule_spread.c. */
    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(4), .spread = SEC(4), .end = stage_instant(&s, 8));
    stage_pass(&s, 16);
    CHECK_INT(tick.runs, 2);
    for (int i = 0; i < tick.runs; i++)
        CHECK(tick.starts[i] <= SEC(8));
    CHECK(hora_future_is_done(future));
    END(&tick, future);
    CHECK_ERROR(hora_scheduler_schedule_with(
                    s.scheduler, TICK(&tick),
                    HORA_SCHEDULE(.fixed_rate = SEC(4), .spread = SEC(4), .end = stage_instant(&s, 16)), NULL,
                    NULL),
                HORA_EINVAL);
    stage_close(&s);
}

/* Cancelling is another end: the future never succeeds. */
TEST(schedule_that_is_cancelled_does_not_succeed, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    void *result = untouched;

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .count = 5);
    stage_pass(&s, 3);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_ERROR(hora_future_get_for(future, 0, &result), HORA_ECANCELED);
    stage_pass(&s, 10);
    CHECK_STARTS(&tick, 0, 2);
    CHECK_INT(tick.result_drops, 2);
    END(&tick, future);
    stage_close(&s);
}
