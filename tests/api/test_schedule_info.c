/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_info.c - queries of a scheduled task, in every phase of its life */
#include "schedule_support.h"

/* Everything at once; times in seconds since the stage was opened, NONE for HORA_NEVER. */
enum { NONE = INT32_MIN };

struct expected {
    bool paused;
    int running;
    int next;
    int last_planned;
    int last_start;
    int last_end;
    int last_code;
    int runs;
    int failures;
    int in_a_row;
    int skipped;
};

static void check_time(const char *file, int line, const char *what, const struct stage *s,
                       const hora_schedule_info *info, hora_ns time, int want)
{
    test_check_int(file, line, what, since_zero(s, info, time), want == NONE ? HORA_NEVER : SEC(want));
}

static void check_info(const char *file, int line, const struct stage *s, hora_future *future,
                       const struct expected *want)
{
    hora_schedule_info info = info_of(future);

    test_check_int(file, line, "paused", info.paused, want->paused);
    test_check_int(file, line, "running", info.running, want->running);
    check_time(file, line, "next", s, &info, info.next, want->next);
    check_time(file, line, "last planned", s, &info, info.last_planned, want->last_planned);
    check_time(file, line, "last start", s, &info, info.last_start, want->last_start);
    check_time(file, line, "last end", s, &info, info.last_end, want->last_end);
    test_check_int(file, line, "last code", info.last_code, want->last_code);
    test_check_int(file, line, "runs", info.runs, want->runs);
    test_check_int(file, line, "failures", info.failures, want->failures);
    test_check_int(file, line, "failures in a row", info.failures_in_a_row, want->in_a_row);
    test_check_int(file, line, "skipped", info.skipped, want->skipped);
}
#define CHECK_INFO(s, future, ...) \
    check_info(__FILE__, __LINE__, (s), (future), &(struct expected){__VA_ARGS__})

TEST(info_of_a_single_task, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 2};

    hora_future *future = START(&s, &tick, .initial_delay = SEC(3));
    CHECK_INFO(&s, future, false, 0, 3, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    stage_pass(&s, 4);
    CHECK_INFO(&s, future, false, 1, NONE, 3, 3, NONE, 0, 1, 0, 0, 0);
    stage_pass(&s, 4);
    CHECK_INFO(&s, future, false, 0, NONE, 3, 3, 5, 0, 1, 0, 0, 0);
    END(&tick, future);
    stage_close(&s);
}

TEST(info_of_a_series, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 2, .lasts_first = 7, .fails_from = 2, .fails_to = 3, .code = 9};

    hora_future *future = START(&s, &tick, .initial_delay = SEC(3), .fixed_rate = SEC(3), .stop_after = 2);
    CHECK_INFO(&s, future, false, 0, 3, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    stage_pass(&s, 4);
    CHECK_INFO(&s, future, false, 1, NONE, 3, 3, NONE, 0, 1, 0, 0,
               0);     /* next is not known before this run ends */
    stage_pass(&s, 7); /* 3-10, then 9 makes up for 6 and 9 */
    CHECK_INFO(&s, future, false, 1, NONE, 9, 10, 10, 0, 2, 0, 0, 1);
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_INFO(&s, future, true, 1, NONE, 9, 10, 10, 0, 2, 0, 0, 1);
    stage_pass(&s, 2);
    CHECK_INFO(&s, future, true, 0, NONE, 9, 10, 12, 9, 2, 1, 1, 1);
    CHECK_INT(hora_future_resume(future), 1);
    stage_settle(&s); /* 12, late by 1 */
    CHECK_INFO(&s, future, false, 1, NONE, 12, 13, 12, 9, 3, 1, 1, 1);
    stage_pass(&s, 5); /* the second failure in a row ends it */
    CHECK_INFO(&s, future, false, 0, NONE, 12, 13, 15, 9, 3, 2, 2, 1);
    CHECK(hora_future_is_done(future));
    END(&tick, future);
    stage_close(&s);
}

TEST(info_of_a_series_that_waits, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick rate = A_TICK(&s), gap = {.stage = &s, .lasts = 1};
    struct timetable table = {.stage = &s, .seconds = (int[]){1, 9, 20, -1}};
    struct tick asked = A_TICK(&s);

    hora_future *first = START(&s, &rate, .fixed_rate = SEC(7));
    hora_future *second = START(&s, &gap, .fixed_delay = SEC(7));
    hora_future *third = START(&s, &asked, .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 5);
    CHECK_INFO(&s, first, false, 0, 7, 0, 0, 0, 0, 1, 0, 0, 0);
    CHECK_INFO(&s, second, false, 0, 8, 0, 0, 1, 0, 1, 0, 0, 0);
    CHECK_INFO(&s, third, false, 0, 9, 1, 1, 1, 0, 1, 0, 0, 0);
    CHECK(hora_future_cancel(first, false) > 0);
    CHECK_INFO(&s, first, false, 0, NONE, 0, 0, 0, 0, 1, 0, 0, 0);
    END(&rate, first);
    END(&gap, second);
    END(&asked, third);
    stage_close(&s);
}

/* With overlap the next time is known while runs are going. */
TEST(info_of_a_series_with_overlap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 3);
    CHECK_INFO(&s, future, false, 2, 4, 2, 2, NONE, 0, 2, 0, 0, 0);
    stage_pass(&s, 3); /* 4 finds two, 5 ends, 6 begins */
    CHECK_INFO(&s, future, false, 2, 8, 6, 6, 5, 0, 3, 0, 0, 1);
    END(&tick, future);
    stage_close(&s);
}

/* Due, and no thread has taken it. */
TEST(info_of_what_is_late, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = {.stage = &s, .lasts = 9}, tick = A_TICK(&s);
    hora_ns delay;

    hora_future *first = START(&s, &blocker, .initial_delay = 0);
    hora_future *future = START(&s, &tick, .initial_delay = SEC(2), .fixed_rate = SEC(20));
    stage_pass(&s, 6);
    CHECK_INFO(&s, future, false, 0, 2, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    CHECK_OK(hora_future_delay(future, &delay));
    CHECK_INT(delay, -SEC(4)); /* since that long */
    stage_pass(&s, 4);
    CHECK_INFO(&s, future, false, 0, 22, 2, 9, 9, 0, 1, 0, 0, 0);
    END(&blocker, first);
    END(&tick, future);
    stage_close(&s);
}

/* While a run of a series is active, the delay is that of this run. */
TEST(delay_while_a_run_is_going, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 4};
    hora_ns delay;

    hora_future *future = START(&s, &tick, .initial_delay = SEC(2), .fixed_rate = SEC(10));
    stage_pass(&s, 5);
    CHECK_OK(hora_future_delay(future, &delay));
    CHECK_INT(delay, -SEC(3));
    stage_pass(&s, 2);
    CHECK_OK(hora_future_delay(future, &delay));
    CHECK_INT(delay, SEC(5));
    END(&tick, future);
    stage_close(&s);
}

/* A task that does not belong to a scheduler knows nothing of this. */
TEST(info_of_other_futures_is_refused, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *futures[2] = {NULL, NULL};
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_ns delay = 77;

    CHECK_OK(hora_future_new(HORA_TASK(tick_run, &tick), &futures[1]));
    hora_future *good = START(&s, &tick, .initial_delay = SEC(1));
    for (int i = 0; i < 2; i++) {
        CHECK_ERROR(hora_future_get_schedule_info(futures[i], &info), HORA_EINVAL);
        CHECK_ERROR(hora_future_delay(futures[i], &delay), HORA_EINVAL);
        CHECK_ERROR(hora_future_reschedule(futures[i], 1, 0), HORA_EINVAL);
        CHECK_ERROR(hora_future_pause(futures[i]), HORA_EINVAL);
        CHECK_ERROR(hora_future_resume(futures[i]), HORA_EINVAL);
        CHECK(!hora_future_is_periodic(futures[i]));
        CHECK_NO_ORDER(futures[i], good);
        CHECK_NO_ORDER(good, futures[i]);
    }
    CHECK_INT(delay, 77);
    CHECK_ERROR(hora_future_get_schedule_info(good, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_delay(good, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_reschedule(good, 1, -1), HORA_EINVAL);
    CHECK_ERROR(hora_future_reschedule(good, 1, INT64_MIN), HORA_EINVAL);
    CHECK_ERROR(hora_future_reschedule(good, 1, 1), HORA_EINVAL); /* it runs only once */
    CHECK_INT(order_of(good, good), 0);
    CHECK_ERROR(hora_future_compare_due(good, good, NULL), HORA_EINVAL);
    CHECK_POINTER(hora_future_unref(futures[1]), NULL);
    END(&tick, good);
    stage_close(&s);
}

/* By hora_scheduler_schedule: a task without its own rules has no series state, but must show the same. */
TEST(info_of_a_task_without_rules, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 2, .fails_from = 1, .fails_to = 1, .code = 9};
    hora_future *future = NULL;

    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(3), &future));
    CHECK_INFO(&s, future, false, 0, 3, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    CHECK(!hora_future_is_periodic(future));
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_INFO(&s, future, true, 0, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    stage_pass(&s, 5);
    CHECK_OK(hora_future_reschedule(future, SEC(4), 0));
    CHECK_ERROR(hora_future_reschedule(future, SEC(4), SEC(1)), HORA_EINVAL);
    CHECK_INT(hora_future_resume(future), 1);
    CHECK_INFO(&s, future, false, 0, 9, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    stage_pass(&s, 5);
    CHECK_INFO(&s, future, false, 1, NONE, 9, 9, NONE, 0, 1, 0, 0, 0);
    CHECK_ERROR(hora_future_pause(future), HORA_EBUSY);
    CHECK_ERROR(hora_future_reschedule(future, SEC(4), 0), HORA_EBUSY);
    stage_pass(&s, 3);
    CHECK_INFO(&s, future, false, 0, NONE, 9, 9, 11, 9, 1, 1, 1, 0);
    CHECK_INT(hora_future_failure(future), 9);
    END(&tick, future);
    stage_close(&s);
}

static hora_schedule_info seen_by_hook;

static void look_after(hora_pool *pool, const hora_run_info *run, void *context)
{
    (void)pool;
    (void)context;
    CHECK_INT(run->code, 0);
    seen_by_hook = info_of(run->future);
}

/* Only the worker has the future, and shows it to a hook. */
TEST(info_is_shown_to_a_hook, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .after = look_after));
    struct tick tick = {.stage = &s, .lasts = 2};

    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(3), NULL));
    stage_pass(&s, 9);
    CHECK_INT(seen_by_hook.runs, 1);
    CHECK_INT(since_zero(&s, &seen_by_hook, seen_by_hook.last_start), SEC(3));
    CHECK_INT(since_zero(&s, &seen_by_hook, seen_by_hook.last_end), SEC(5));
    CHECK_STARTS(&tick, 3);
    stage_close(&s);
}

/* A shutdown sweeps waiting tasks out, and their history is empty; the history of tasks that have run
 * stays. */
TEST(info_after_a_shutdown, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    struct tick ran = {.stage = &s, .lasts = 3}, busy = {.stage = &s, .lasts = 9},
                waits[3] = {A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *first = NULL, *second = NULL, *others[3] = {NULL, NULL, NULL};

    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&ran), SEC(1), &first));
    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&busy), SEC(2), &second));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&waits[i]), SEC(50), &others[i]));
    stage_pass(&s, 2);
    CHECK_INT(hora_future_cancel(first, false), HORA_CANCEL_RUNNING);
    stage_pass(&s, 4); /* the first one has ended, the second runs from 4 to 13 */
    CHECK_INFO(&s, first, false, 0, NONE, 1, 1, 4, 0, 1, 0, 0, 0);
    CHECK_ERROR(hora_pool_execute_future(s.scheduler, first),
                HORA_EINVAL); /* what has begun never waits again */
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_INFO(&s, first, false, 0, NONE, 1, 1, 4, 0, 1, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        CHECK(hora_future_is_cancelled(others[i]));
        CHECK_INFO(&s, others[i], false, 0, NONE, NONE, NONE, NONE, 0, 0, 0, 0, 0);
    }
    stage_pass(&s, 9);
    CHECK(hora_pool_is_terminated(s.scheduler));
    CHECK_INFO(&s, first, false, 0, NONE, 1, 1, 4, 0, 1, 0, 0, 0);
    CHECK_STARTS(&ran, 1);
    CHECK_STARTS(&busy, 4);
    END(&ran, first);
    END(&busy, second);
    for (int i = 0; i < 3; i++)
        END(&waits[i], others[i]);
    stage_close(&s);
}

/* Submitted tasks are scheduled ones with a delay of zero. */
TEST(info_of_a_submitted_task, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *future = NULL;

    CHECK_OK(hora_pool_submit(s.scheduler, TICK(&tick), &future));
    stage_settle(&s);
    CHECK_INFO(&s, future, false, 0, NONE, 0, 0, 0, 0, 1, 0, 0, 0);
    END(&tick, future);
    stage_close(&s);
}

/* By planned time, then by order of scheduling, also across clocks, with paused tasks last. */
TEST(compare_orders_by_time_then_by_scheduling, "")
{
    struct stage s, other;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    stage_open(&other, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[5] = {A_TICK(&s), A_TICK(&s), A_TICK(&s), A_TICK(&s), A_TICK(&other)};
    hora_future *futures[5] = {
        START(&s, &ticks[0], .initial_delay = SEC(4)), START(&s, &ticks[1], .initial_delay = SEC(5)),
        START(&s, &ticks[2], .initial_delay = SEC(5), .clock = HORA_CLOCK_WALL),
        START(&s, &ticks[3], .initial_delay = SEC(1)), START(&other, &ticks[4], .initial_delay = SEC(1))};

    CHECK_INT(hora_future_pause(futures[3]), 1);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int order = order_of(futures[i], futures[j]);
            CHECK_INT((order > 0) - (order < 0), (i > j) - (i < j));
        }
    CHECK_NO_ORDER(futures[0], futures[4]);
    for (int i = 0; i < 5; i++)
        END(&ticks[i], futures[i]);
    stage_close(&other);
    stage_close(&s);
}
