/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_changes.c - re-time, pause and resume a task that waits, is due, runs or has ended */
#include "schedule_support.h"

/* ---- re-time ---- */

TEST(retime_moves_a_task_that_waits, "")
{
    static const int delays[] = {2, 30, 10};

    for (int i = 0; i < 3; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = A_TICK(&s);
        hora_ns delay;
        hora_future *future = START(&s, &tick, .initial_delay = SEC(10));
        stage_pass(&s, 1);
        CHECK_OK(hora_future_reschedule(future, SEC(delays[i]), 0));
        CHECK_OK(hora_future_delay(future, &delay));
        CHECK_INT(delay, SEC(delays[i]));
        stage_pass(&s, 50);
        CHECK_STARTS(&tick, 1 + delays[i]);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(retime_by_zero_or_less_is_at_once, "")
{
    static const hora_ns delays[] = {0, -1, INT64_MIN};

    for (int i = 0; i < 3; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = A_TICK(&s);
        hora_future *future = START(&s, &tick, .initial_delay = HORA_HOURS(1));
        stage_pass(&s, 3);
        CHECK_OK(hora_future_reschedule(future, delays[i], 0));
        stage_settle(&s);
        CHECK_STARTS(&tick, 3);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(retime_without_end_is_never, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_ns delay;

    hora_future *future = START(&s, &tick, .initial_delay = SEC(1));
    CHECK_OK(hora_future_reschedule(future, INT64_MAX, 0));
    CHECK_OK(hora_future_delay(future, &delay));
    CHECK_INT(delay, HORA_FOREVER);
    stage_pass(&s, 1000);
    CHECK_NO_START(&tick);
    CHECK_OK(hora_future_reschedule(future, SEC(1), 0)); /* and back */
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 1001);
    END(&tick, future);
    stage_close(&s);
}

/* The planned times after it count from there. */
TEST(retime_of_a_series_sets_its_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick rate = A_TICK(&s), gap = A_TICK(&s), faster = A_TICK(&s);

    hora_future *first = START(&s, &rate, .fixed_rate = SEC(10));
    hora_future *second = START(&s, &gap, .fixed_delay = SEC(10));
    hora_future *third = START(&s, &faster, .fixed_rate = SEC(10));
    stage_pass(&s, 11);
    CHECK_OK(hora_future_reschedule(first, SEC(2), 0));
    CHECK_OK(hora_future_reschedule(second, SEC(15), SEC(3)));
    CHECK_OK(hora_future_reschedule(third, SEC(2), SEC(4)));
    stage_pass(&s, 22);
    CHECK_STARTS(&rate, 0, 10, 13, 23, 33);
    CHECK_STARTS(&gap, 0, 10, 26, 29, 32);
    CHECK_STARTS(&faster, 0, 10, 13, 17, 21, 25, 29, 33);
    END(&rate, first);
    END(&gap, second);
    END(&faster, third);
    stage_close(&s);
}

/* With next: the run is moved, then the function continues from there. */
TEST(retime_of_a_series_with_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){5, 10, 15, 20, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 6);
    CHECK_OK(hora_future_reschedule(future, SEC(6), 0));
    CHECK_ERROR(hora_future_reschedule(future, SEC(6), SEC(1)), HORA_EINVAL);
    stage_pass(&s, 20);
    CHECK_STARTS(&tick, 5, 12, 15, 20);
    END(&tick, future);
    stage_close(&s);
}

/* If a run is going the change holds for the one after it. */
TEST(retime_while_a_run_is_going, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick rate = {.stage = &s, .lasts = 4}, gap = {.stage = &s, .lasts = 4},
                once = {.stage = &s, .lasts = 4};

    hora_future *first = START(&s, &rate, .fixed_rate = SEC(10));
    hora_future *second = START(&s, &gap, .fixed_delay = SEC(10));
    hora_future *third = START(&s, &once, .initial_delay = 0);
    stage_pass(&s, 1);
    CHECK_OK(hora_future_reschedule(first, SEC(6), SEC(5)));
    CHECK_OK(hora_future_reschedule(second, SEC(2), SEC(5))); /* that is before its end: at once then */
    CHECK_ERROR(hora_future_reschedule(third, SEC(2), 0), HORA_EBUSY);
    stage_pass(&s, 17);
    CHECK_STARTS(&rate, 0, 7, 12, 17);
    CHECK_STARTS(&gap, 0, 4, 13);
    CHECK_STARTS(&once, 0);
    END(&rate, first);
    END(&gap, second);
    END(&once, third);
    stage_close(&s);
}

/* Due, but no thread has taken it: it is moved as well, and does not run by the old plan. */
TEST(retime_of_what_is_due_but_not_taken, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = {.stage = &s, .lasts = 10}, once = A_TICK(&s), rate = A_TICK(&s);

    hora_future *first = START(&s, &blocker, .initial_delay = 0);
    hora_future *second = START(&s, &once, .initial_delay = SEC(2));
    hora_future *third = START(&s, &rate, .initial_delay = SEC(2), .fixed_rate = SEC(20));
    stage_pass(&s, 5);
    CHECK_OK(hora_future_reschedule(second, SEC(20), 0));
    CHECK_OK(hora_future_reschedule(third, SEC(15), 0));
    stage_pass(&s, 10);
    CHECK_NO_START(&once);
    CHECK_NO_START(&rate);
    stage_pass(&s, 10);
    CHECK_STARTS(&once, 25);
    CHECK_STARTS(&rate, 20);
    END(&blocker, first);
    END(&once, second);
    END(&rate, third);
    stage_close(&s);
}

TEST(retime_of_what_is_over, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick once = A_TICK(&s), series = A_TICK(&s), cancelled = A_TICK(&s);
    hora_future *futures[3] = {START(&s, &once, .initial_delay = 0),
                               START(&s, &series, .fixed_rate = SEC(1), .count = 2),
                               START(&s, &cancelled, .fixed_rate = SEC(1))};

    stage_pass(&s, 2);
    CHECK(hora_future_cancel(futures[2], false) > 0);
    for (int i = 0; i < 3; i++) {
        CHECK_ERROR(hora_future_reschedule(futures[i], SEC(1), 0), HORA_EBUSY);
        CHECK_ERROR(hora_future_pause(futures[i]), HORA_EBUSY);
        CHECK_ERROR(hora_future_resume(futures[i]), HORA_EBUSY);
    }
    stage_pass(&s, 5);
    CHECK_INT(once.runs, 1);
    CHECK_INT(series.runs, 2);
    END(&once, futures[0]);
    END(&series, futures[1]);
    END(&cancelled, futures[2]);
    stage_close(&s);
}

/* A task that is tried again waits for its next try, and can be sent sooner. */
TEST(retime_of_a_task_that_backs_off, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .fails_from = 1, .fails_to = 1, .code = 5};

    hora_future *future = START(&s, &tick, .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(100));
    stage_pass(&s, 3);
    CHECK_OK(hora_future_reschedule(future, SEC(2), 0));
    stage_pass(&s, 3);
    CHECK_STARTS(&tick, 0, 5);
    CHECK(hora_future_is_done(future));
    END(&tick, future);
    stage_close(&s);
}

TEST(retime_keeps_the_offset_out, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(10), .spread = SEC(10));
    CHECK_OK(hora_future_reschedule(future, SEC(3), 0));
    stage_pass(&s, 25);
    CHECK_STARTS(&tick, 3, 13, 23);
    END(&tick, future);
    stage_close(&s);
}

/* A nearer task wakes a thread that sleeps for a farther one; here it has become nearer. */
TEST(retime_wakes_the_thread_that_sleeps, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick far = A_TICK(&s), near = A_TICK(&s);

    hora_future *first = START(&s, &far, .initial_delay = SEC(50));
    hora_future *second = START(&s, &near, .initial_delay = HORA_HOURS(1));
    stage_pass(&s, 1);
    CHECK_OK(hora_future_reschedule(second, SEC(2), 0));
    stage_pass(&s, 60);
    CHECK_STARTS(&near, 3);
    CHECK_STARTS(&far, 50);
    END(&far, first);
    END(&near, second);
    stage_close(&s);
}

/* ---- pause ---- */

TEST(pause_lets_no_run_begin, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick once = A_TICK(&s), gap = A_TICK(&s);
    hora_ns delay;

    hora_future *first = START(&s, &once, .initial_delay = SEC(3));
    hora_future *second = START(&s, &gap, .fixed_delay = SEC(2));
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(first), 1);
    CHECK_INT(hora_future_pause(first), 0);
    CHECK_INT(hora_future_pause(second), 1);
    CHECK_OK(hora_future_delay(first, &delay));
    CHECK_INT(delay, HORA_FOREVER);
    CHECK(info_of(first).paused);
    CHECK_INT(info_of(first).next, HORA_NEVER);
    stage_pass(&s, 9);
    CHECK_NO_START(&once);
    CHECK_STARTS(&gap, 0);
    CHECK_INT(hora_future_resume(first), 1);
    CHECK_INT(hora_future_resume(second), 1);
    CHECK(!info_of(second).paused);
    stage_pass(&s, 3);
    CHECK_STARTS(&once, 10); /* its time has passed */
    CHECK_STARTS(&gap, 0, 10, 12);
    END(&once, first);
    END(&gap, second);
    stage_close(&s);
}

/* Resumed before its planned time: that has not changed. */
TEST(pause_and_resume_keep_the_planned_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(10), .fixed_rate = SEC(5));
    CHECK_INT(hora_future_pause(future), 1);
    stage_pass(&s, 7);
    CHECK_INT(hora_future_resume(future), 1);
    CHECK_INT(hora_future_resume(future), 0);
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 10, 15);
    END(&tick, future);
    stage_close(&s);
}

/* Runs that are going are not touched; the one after them does not begin. */
TEST(pause_while_a_run_is_going, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick series = {.stage = &s, .lasts = 4}, once = {.stage = &s, .lasts = 4};

    hora_future *first = START(&s, &series, .fixed_rate = SEC(6));
    hora_future *second = START(&s, &once, .initial_delay = 0);
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(first), 1);
    CHECK_ERROR(hora_future_pause(second), HORA_EBUSY);
    CHECK_ERROR(hora_future_resume(second), HORA_EBUSY);
    CHECK_INT(info_of(first).running, 1);
    stage_pass(&s, 20);
    CHECK_INT(series.interrupts, 0);
    CHECK_STARTS(&series, 0);
    CHECK(hora_future_is_done(second));
    CHECK_INT(hora_future_resume(first), 1);
    stage_pass(&s, 4);
    CHECK_STARTS(&series, 0, 21, 25); /* 6 and 12 are skipped, and that of 18 is made up; 24 comes late */
    CHECK_INT(info_of(first).skipped, 2);
    END(&series, first);
    END(&once, second);
    stage_close(&s);
}

TEST(pause_of_what_is_due_but_not_taken, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = {.stage = &s, .lasts = 10}, once = A_TICK(&s);

    hora_future *first = START(&s, &blocker, .initial_delay = 0);
    hora_future *second = START(&s, &once, .initial_delay = SEC(2));
    stage_pass(&s, 5);
    CHECK_INT(hora_future_pause(second), 1);
    stage_pass(&s, 10);
    CHECK_NO_START(&once);
    CHECK_INT(hora_future_resume(second), 1);
    stage_settle(&s);
    CHECK_STARTS(&once, 15);
    END(&blocker, first);
    END(&once, second);
    stage_close(&s);
}

/* Re-timed while it is paused: it stays paused, with the new plan. */
TEST(pause_survives_a_retime, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_ns delay;

    hora_future *future = START(&s, &tick, .initial_delay = SEC(3));
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_OK(hora_future_reschedule(future, SEC(8), 0));
    CHECK(info_of(future).paused);
    CHECK_OK(hora_future_delay(future, &delay));
    CHECK_INT(delay, HORA_FOREVER);
    stage_pass(&s, 5);
    CHECK_INT(hora_future_resume(future), 1);
    stage_pass(&s, 2);
    CHECK_NO_START(&tick);
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 8);
    END(&tick, future);
    stage_close(&s);
}

TEST(pause_ends_by_cancel, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(3));
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_ERROR(hora_future_resume(future), HORA_EBUSY);
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 0);
    END(&tick, future);
    stage_close(&s);
}

/* A shutdown cancels a paused task, because it might never end, whatever the policies are. */
TEST(pause_ends_by_shutdown, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    struct tick once = A_TICK(&s), series = A_TICK(&s), going = A_TICK(&s);
    void *result = untouched;

    hora_future *first = START(&s, &once, .initial_delay = SEC(3));
    hora_future *second = START(&s, &series, .initial_delay = SEC(3), .fixed_rate = SEC(3));
    hora_future *third = START(&s, &going, .initial_delay = SEC(3), .fixed_rate = SEC(3), .count = 2);
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(first), 1);
    CHECK_INT(hora_future_pause(second), 1);
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_ERROR(hora_future_get_for(first, 0, &result), HORA_ECANCELED);
    CHECK_ERROR(hora_future_get_for(second, 0, &result), HORA_ECANCELED);
    stage_pass(&s, 9);
    CHECK_STARTS(&going, 3, 6);
    CHECK(hora_pool_is_terminated(s.scheduler));
    END(&once, first);
    END(&series, second);
    END(&going, third);
    stage_close(&s);
}

/* The same if it is paused during its run: it is cancelled at the end of that run. */
TEST(pause_of_a_run_that_is_going_ends_by_shutdown, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    struct tick tick = {.stage = &s, .lasts = 4};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(6));
    stage_pass(&s, 1);
    CHECK_INT(hora_future_pause(future), 1);
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    stage_pass(&s, 20);
    CHECK(hora_future_is_cancelled(future));
    CHECK(hora_pool_is_terminated(s.scheduler));
    CHECK_STARTS(&tick, 0);
    END(&tick, future);
    stage_close(&s);
}

/* ---- from inside ---- */

struct inside {
    struct tick tick;
    hora_future *future;
    int results[4];
};

static int change_self(void *arg, void **ret_result)
{
    struct inside *inside = arg;
    if (inside->tick.runs == 0)
        inside->results[0] = hora_future_reschedule(inside->future, SEC(5), SEC(2));
    if (inside->tick.runs == 2)
        inside->results[1] = hora_future_pause(inside->future);
    if (inside->tick.runs == 3)
        inside->results[2] = hora_future_cancel(inside->future, false);
    inside->results[3] = hora_pool_free(inside->tick.stage->scheduler);
    return tick_run(&inside->tick, ret_result);
}

TEST(schedule_changes_from_inside_its_runs, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct inside inside = {.tick = {.stage = &s}, .results = {1, 0, 0, 0}};

    CHECK_OK(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(change_self, &inside),
                                          HORA_SCHEDULE(.initial_delay = SEC(1), .fixed_rate = SEC(9)),
                                          &inside.future, NULL));
    stage_pass(&s, 20);
    CHECK_STARTS(&inside.tick, 1, 6, 8);
    CHECK_INT(inside.results[0], 0);
    CHECK_INT(inside.results[1], 1);
    CHECK_ERROR(inside.results[3], HORA_EDEADLK); /* it cannot be freed from inside */
    CHECK_INT(hora_future_resume(inside.future), 1);
    stage_pass(&s, 20);
    CHECK_STARTS(&inside.tick, 1, 6, 8, 20);
    CHECK_INT(inside.results[2], HORA_CANCEL_RUNNING);
    CHECK(hora_future_is_cancelled(inside.future));
    CHECK_INT(inside.tick.result_drops, 0); /* it has none */
    CHECK_POINTER(hora_future_unref(inside.future), NULL);
    stage_close(&s);
}

/* ---- with overlap ---- */

TEST(changes_of_a_series_with_overlap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 3);
    CHECK_INT(info_of(future).running, 2);
    CHECK_INT(hora_future_pause(future), 1);
    stage_pass(&s, 10);
    CHECK_STARTS(&tick, 0, 2);
    CHECK_INT(tick.interrupts, 0);
    CHECK_OK(hora_future_reschedule(future, SEC(4), SEC(3)));
    CHECK_INT(hora_future_resume(future), 1);
    stage_pass(&s, 8);
    CHECK_STARTS(&tick, 0, 2, 17, 20);
    END(&tick, future);
    stage_close(&s);
}
