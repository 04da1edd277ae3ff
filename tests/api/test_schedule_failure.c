/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_failure.c - the effect of a failed run on later runs, and its notifications */
#include "schedule_support.h"

/* The future failed with this code. */
static void check_failed(hora_future *future, int code)
{
    void *result = untouched;

    CHECK_ERROR(hora_future_get_for(future, 0, &result), HORA_EFAILED);
    CHECK_INT(hora_future_failure(future), code);
    CHECK_POINTER(result, untouched);
}

static void check_told(struct stage *s, int i, hora_future *future, int code, bool ends)
{
    CHECK_POINTER(s->failure[i].future, future);
    CHECK_INT(s->failure[i].code, code);
    CHECK_INT(s->failure[i].ends, ends);
}

TEST(schedule_failure_continues_by_default, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 2, .fails_to = 4, .code = 40, .counts = true};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(1));
    stage_pass(&s, 3);
    hora_schedule_info info = info_of(future);
    CHECK_INT(info.failures, 3);
    CHECK_INT(info.failures_in_a_row, 3);
    CHECK_INT(info.last_code, 44);
    CHECK(!hora_future_is_done(future));
    stage_pass(&s, 3);
    CHECK_STARTS(&tick, 0, 1, 2, 3, 4, 5, 6);
    info = info_of(future);
    CHECK_INT(info.failures, 3);
    CHECK_INT(info.failures_in_a_row, 0);
    CHECK_INT(info.last_code, 0);
    CHECK_INT(s.failures, 3);
    for (int i = 0; i < 3; i++)
        check_told(&s, i, future, 42 + i, false);
    END(&tick, future);
    stage_close(&s);
}

/* Failure codes are kept as they are, also those that look like errors of hora. */
TEST(schedule_failure_keeps_any_code, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const int codes[] = {1, -1, INT32_MAX, INT32_MIN, HORA_ECANCELED, HORA_EINTERRUPTED};

    for (int i = 0; i < 6; i++) {
        struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 1, .code = codes[i]};
        hora_future *future = START(&s, &tick, .fixed_rate = SEC(1), .failure = HORA_FAILURE_STOP);
        stage_settle(&s);
        check_failed(future, codes[i]);
        CHECK_INT(info_of(future).last_code, codes[i]);
        check_told(&s, i, future, codes[i], true);
        END(&tick, future);
    }
    stage_close(&s);
}

TEST(schedule_failure_of_what_runs_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    static const hora_failure rules[] = {HORA_FAILURE_CONTINUE, HORA_FAILURE_STOP};

    for (int i = 0; i < 2; i++) {
        struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 9, .code = 5};
        hora_future *future = START(&s, &tick, .failure = rules[i]);
        stage_pass(&s, 2);
        CHECK_INT(tick.runs, 1);
        check_failed(future, 5);
        check_told(&s, i, future, 5, true);
        END(&tick, future);
    }
    stage_close(&s);
}

TEST(schedule_failure_stops, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct timetable table = {.stage = &s, .seconds = (int[]){0, 1, 2, 3, 4, 5, -1}};
    const hora_schedule *specs[] = {
        HORA_SCHEDULE(.fixed_rate = SEC(1), .failure = HORA_FAILURE_STOP),
        HORA_SCHEDULE(.fixed_delay = SEC(1), .failure = HORA_FAILURE_STOP),
        HORA_SCHEDULE(.next = timetable_next, .next_arg = &table, .failure = HORA_FAILURE_STOP)};
    struct tick ticks[3];
    hora_future *futures[3];

    for (int i = 0; i < 3; i++) {
        ticks[i] = (struct tick){.stage = &s, .fails_from = 3, .fails_to = 9, .code = 5};
        futures[i] = start_tick(__FILE__, __LINE__, &s, &ticks[i], specs[i]);
    }
    stage_pass(&s, 6);
    for (int i = 0; i < 3; i++) {
        CHECK_STARTS(&ticks[i], 0, 1, 2);
        check_failed(futures[i], 5);
        check_told(&s, i, futures[i], 5, true);
        END(&ticks[i], futures[i]);
    }
    CHECK_INT(s.failures, 3);
    stage_close(&s);
}

TEST(schedule_failure_stops_after_so_many_in_a_row, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    /* Runs 2 and 3 fail, then 5 6 7. */
    struct tick first = {.stage = &s, .fails_from = 2, .fails_to = 3, .code = 5};
    struct tick second = {.stage = &s, .fails_from = 5, .fails_to = 99, .code = 50, .counts = true};

    hora_future *one = START(&s, &first, .fixed_rate = SEC(1), .stop_after = 3);
    hora_future *two = START(&s, &second, .fixed_rate = SEC(1), .stop_after = 3);
    stage_pass(&s, 12);
    CHECK_INT(first.runs, 13); /* two in a row are not three */
    CHECK(!hora_future_is_done(one));
    CHECK_STARTS(&second, 0, 1, 2, 3, 4, 5, 6);
    check_failed(two, 57); /* the last code */
    CHECK_INT(s.failures, 5);
    check_told(&s, 2, two, 55, false);
    check_told(&s, 3, two, 56, false);
    check_told(&s, 4, two, 57, true);
    END(&first, one);
    END(&second, two);
    stage_close(&s);
}

/* ---- backing off ---- */

/* Pauses of 1 2 4 8 ... from the end of each failed run, then the planned times again. Every 3 s; runs take
 * no time. */
TEST(schedule_back_off_of_a_rate_stays_on_its_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 2, .fails_to = 5, .code = 5};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(3), .failure = HORA_FAILURE_BACK_OFF);
    stage_pass(&s, 40);
    /* 3 fails: not before 4, so 6. 6 fails: not before 8, so 9. 9 fails: not before 13, so 15. 15 fails: not
     * before 23, so 24. */
    CHECK_STARTS(&tick, 0, 3, 6, 9, 15, 24, 27, 30, 33, 36, 39);
    CHECK_INT(s.failures, 4);
    /* The times 12, 18 and 21 have passed without a run. */
    CHECK_INT(info_of(future).skipped, 3);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_back_off_of_a_gap_is_the_longer_of_the_two, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 1, .fails_from = 1, .fails_to = 4, .code = 5};

    hora_future *future = START(&s, &tick, .fixed_delay = SEC(3), .failure = HORA_FAILURE_BACK_OFF);
    stage_pass(&s, 30);
    /* Ends at 1: max(3, 1); at 5: max(3, 2); at 9: 4; at 14: 8; at 23 it succeeds: 3. */
    CHECK_STARTS(&tick, 0, 4, 8, 13, 22, 26, 30);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_back_off_of_next_is_not_before, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 3, .code = 5};
    struct timetable table = {.stage = &s, .seconds = (int[]){0, 5, 6, 20, 21, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table,
                                .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(4));
    stage_pass(&s, 22);
    CHECK_INT(tick.starts[1], SEC(5));
    CHECK(tick.starts[2] >= SEC(5 + 8));
    CHECK(tick.starts[3] >= tick.starts[2] + SEC(16) || tick.runs == 3);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_back_off_tries_a_single_task_again, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 1, .fails_from = 1, .fails_to = 3, .code = 5};
    void *result = NULL;

    hora_future *future = START(&s, &tick, .initial_delay = SEC(1), .failure = HORA_FAILURE_BACK_OFF);
    CHECK(!hora_future_is_periodic(future));
    stage_pass(&s, 8);
    CHECK(!hora_future_is_done(future));
    stage_pass(&s, 8);
    /* Ends 2, +1; ends 4, +2; ends 7, +4; ends 12 with success. */
    CHECK_STARTS(&tick, 1, 3, 6, 11);
    CHECK_OK(hora_future_get_for(future, 0, &result));
    CHECK_POINTER(result, &tick);
    CHECK_INT(s.failures, 3);
    for (int i = 0; i < 3; i++)
        check_told(&s, i, future, 5, false);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_back_off_gives_a_single_task_up, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 99, .code = 5, .counts = true};

    hora_future *future = START(&s, &tick, .failure = HORA_FAILURE_BACK_OFF, .stop_after = 3);
    stage_pass(&s, 20);
    CHECK_STARTS(&tick, 0, 1, 3);
    check_failed(future, 8);
    CHECK_INT(s.failures, 3);
    check_told(&s, 1, future, 7, false);
    check_told(&s, 2, future, 8, true);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_back_off_with_factor_and_cap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 99, .code = 5};

    hora_future *future = START(&s, &tick, .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(2),
                                .back_off_factor = 3, .back_off_max = SEC(10));
    stage_pass(&s, 40);
    CHECK_STARTS(&tick, 0, 2, 8, 18, 28, 38); /* 2 6 10 10 10 */
    END(&tick, future);
    stage_close(&s);
}

/* After a success the pauses begin again with the first. */
TEST(schedule_back_off_begins_anew_after_a_success, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 2, .code = 5};

    hora_future *future =
        START(&s, &tick, .fixed_delay = SEC(1), .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(3));
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 0, 3, 9);
    tick.fails_from = 5;
    tick.fails_to = 5;
    stage_pass(&s, 6);
    CHECK_STARTS(&tick, 0, 3, 9, 10, 11, 14, 15);
    END(&tick, future);
    stage_close(&s);
}

/* A task that is being tried again is cancelled like any other. */
TEST(schedule_back_off_is_cancelled_between_two_tries, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 99, .code = 5};

    hora_future *future = START(&s, &tick, .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(10));
    stage_pass(&s, 2);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    stage_pass(&s, 20);
    CHECK_STARTS(&tick, 0);
    CHECK(hora_future_is_cancelled(future));
    END(&tick, future);
    stage_close(&s);
}

/* ---- notifications ---- */

/* With the kind of failure, and before a thread that waits for the future continues. */
TEST(schedule_failed_is_told_before_the_future_is_done, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 3, .code = 5, .counts = true};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(1), .stop_after = 2);
    stage_settle(&s);
    CHECK_INT(s.failures, 1);
    check_told(&s, 0, future, 6, false);
    CHECK_INT(s.failure[0].in_a_row, 1);
    CHECK(!s.failure[0].done);
    stage_pass(&s, 3);
    CHECK_INT(s.failures, 2);
    check_told(&s, 1, future, 7, true);
    CHECK_INT(s.failure[1].in_a_row, 2);
    CHECK(!s.failure[1].done);
    check_failed(future, 7);
    END(&tick, future);
    stage_close(&s);
}

/* The listener is for every task of the scheduler: those of the hora_scheduler_schedule calls, and submitted
 * ones. */
TEST(schedule_failed_is_told_of_all_tasks, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 9, .code = 5};
    hora_future *future = NULL;

    CHECK_OK(hora_pool_submit(s.scheduler, TICK(&tick), &future));
    stage_settle(&s);
    CHECK_INT(hora_future_failure(future), 5);
    CHECK_INT(s.failures, 1);
    CHECK_POINTER(s.failure[0].future, future);
    CHECK_INT(s.failure[0].code, 5);
    END(&tick, future);
    tick.drops = 0;
    CHECK_OK(hora_pool_execute(s.scheduler, TICK(&tick)));
    stage_settle(&s);
    CHECK_INT(s.failures, 2);
    CHECK_INT(s.failure[1].code, 5);
    CHECK_INT(tick.drops, 1);
    tick.drops = 0;
    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&tick), 0, &future));
    stage_settle(&s);
    CHECK_INT(s.failures, 3);
    check_told(&s, 2, future, 5, true);
    END(&tick, future);
    tick.drops = 0;
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(s.scheduler, TICK(&tick), 0, SEC(1), &future));
    stage_settle(&s);
    CHECK_INT(s.failures, 4);
    check_told(&s, 3, future, 5, true);
    END(&tick, future);
    stage_close(&s);
}

/* The last run that count allows fails: no other follows, and the future has its code. */
TEST(schedule_last_run_that_fails_ends_the_series_so, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick counted = {.stage = &s, .fails_from = 2, .fails_to = 3, .code = 5, .counts = true};
    struct tick ended = {.stage = &s, .fails_from = 2, .fails_to = 3, .code = 5, .counts = true};

    hora_future *one = START(&s, &counted, .fixed_rate = SEC(1), .count = 3);
    hora_future *two = START(&s, &ended, .fixed_rate = SEC(1), .end = stage_instant(&s, 2));
    stage_pass(&s, 4);
    check_failed(one, 8);
    check_failed(two, 8);
    CHECK_INT(s.failures, 4);
    CHECK(!s.failure[0].ends && !s.failure[1].ends && s.failure[2].ends && s.failure[3].ends);
    END(&counted, one);
    END(&ended, two);
    stage_close(&s);
}

/* A callback may change the schedule: this one ends the series. */
static void cancel_it(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    *(int *)arg = hora_future_cancel(event->future, false);
}

TEST(schedule_failed_may_cancel, "")
{
    struct stage s;
    int cancelled = 0;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                          .listener = HORA_LISTENER(.failed = cancel_it, .arg = &cancelled)));
    struct tick tick = {.stage = &s, .fails_from = 2, .fails_to = 2, .code = 5};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(1));
    stage_pass(&s, 4);
    CHECK_STARTS(&tick, 0, 1);
    CHECK(cancelled > 0);
    CHECK(hora_future_is_cancelled(future));
    END(&tick, future);
    stage_close(&s);
}
