/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_shutdown.c - the end of a scheduler: shutdown, stop, close */
#include <string.h>

#include "scheduler_support.h"

enum { CODE = 7 };

ON_BOTH_SCHEDULERS(is_shut_down_right_after_shutdown, "testIsShutdown", "")
{
    struct rig r;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK(!hora_pool_is_shutdown(r.pool));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_shutdown(r.pool));
    rig_close(&r);
}

static int look_whether_terminating(void *arg, void **ret_result)
{
    struct rig *r = arg;

    (void)ret_result;
    CHECK(!hora_pool_is_terminating(r->pool) && !hora_pool_is_terminated(r->pool));
    return hora_latch_await(r->gate);
}

static void check_terminates(bool decorated)
{
    struct rig r;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK(!hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_whether_terminating, &r)));
    settle(&r.f);
    CHECK(!hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_SHUTDOWN);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, A_LONG_WHILE));
    CHECK(!hora_pool_is_terminating(r.pool) && hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(is_terminated_in_the_end, "testIsTerminated", "")
{
    check_terminates(decorated);
}

ON_BOTH_SCHEDULERS(is_terminating_only_in_between, "testIsTerminating", "")
{
    check_terminates(decorated);
}

ON_BOTH_SCHEDULERS(stop_hands_back_what_is_queued, "testShutdownNow", "CP-STPE8 CP-STPE16")
{
    struct rig r;
    struct job jobs[5];
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    int ran = 0;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    execute_jobs(&r, jobs, 5);
    CHECK_INT(rig_stats(&r).active, 2);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK(hora_pool_is_shutdown(r.pool));
    CHECK_EMPTY(hora_pool_queue(r.pool));
    CHECK_INT(list.count, 3);
    CHECK_OK(hora_pool_await_termination_for(r.pool, A_LONG_WHILE));
    for (int i = 0; i < 5; i++) {
        ran += jobs[i].runs;
        CHECK_INT(jobs[i].interrupts, jobs[i].runs);
    }
    CHECK_INT(ran, 2);
    CHECK_INT(rig_stats(&r).completed, 2);
    CHECK_INT(rig_stats(&r).handed_back, 3);
    CHECK_NOT_DONE(list.first);
    hora_future_list_cancel(&list);
    for (int i = 0; i < 5; i++)
        CHECK_INT(jobs[i].drops, 1);
    rig_close(&r);
}

static int take_out(hora_future **futures, int count, const hora_future *future)
{
    for (int i = 0; i < count; i++) {
        if (futures[i] == future) {
            futures[i] = NULL;
            return 1;
        }
    }
    return 0;
}

/* Three of each form, all far away: the same futures are handed back, neither done nor cancelled. */
ON_BOTH_SCHEDULERS(stop_hands_back_what_is_not_due, "testShutdownNow_delayedTasks", "CP-STPE8")
{
    enum { ALL = 3 * FORMS };
    struct rig r;
    struct job jobs[ALL];
    hora_future *futures[ALL], *left[ALL], *future;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < ALL; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        left[i] = futures[i] =
            schedule_series(&r, (enum form)(i % FORMS), &jobs[i], HORA_SECONDS(9), HORA_SECONDS(9));
        CHECK(is_queued(&r, futures[i]));
    }
    CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)), ALL);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_EMPTY(hora_pool_queue(r.pool));
    CHECK_INT(list.count, ALL);
    CHECK_OK(hora_pool_await_termination_for(r.pool, A_LONG_WHILE));
    while ((future = hora_future_list_take(&list)) != NULL) {
        CHECK_INT(take_out(left, ALL, future), 1);
        CHECK_NOT_DONE(future);
        hora_future_unref(future);
    }
    pass(&r, HORA_SECONDS(20));
    CHECK_INT(rig_stats(&r).handed_back, ALL);
    CHECK_INT(r.wrapped_runs, 0);
    for (int i = 0; i < ALL; i++) {
        CHECK_NOT_DONE(futures[i]);
        CHECK_INT(jobs[i].drops, 0);
        hora_future_unref(futures[i]); /* the last reference drops the task */
        CHECK_JOB(&jobs[i], 0);
    }
    rig_close(&r);
}

/* ---- what may still run ---- */

/* By default the scheduler waits for what runs once, however long that takes, and for nothing else. */
TEST(scheduler_lives_on_after_shutdown_until_its_last_task_has_run, "CP-STPE8 CP-STPE9")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[FORMS];
    struct call call;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    for (int form = ONCE; form < FORMS; form++)
        futures[form] = schedule_series(&r, (enum form)form, &jobs[form], HORA_HOURS(24), HORA_HOURS(1));
    CHECK_OK(hora_pool_shutdown(r.pool));
    for (int form = RATE; form < FORMS; form++) {
        CHECK_DONE(futures[form], HORA_ECANCELED, NULL); /* as soon as shutdown returns */
        CHECK_JOB(&jobs[form], 0);
    }
    CHECK_INT(rig_stats(&r).queued, 1);
    start_get(&call, &r.f, futures[ONCE]);
    pass(&r, HORA_HOURS(24) - 1);
    CHECK_BLOCKED(&call);
    CHECK(!hora_pool_is_terminated(r.pool));
    pass(&r, 1);
    CHECK_TAKES(&call, &jobs[ONCE]);
    CHECK(hora_pool_is_terminated(r.pool));
    for (int form = ONCE; form < FORMS; form++)
        hora_future_unref(futures[form]);
    rig_close(&r);
}

/* cancel_delayed concerns tasks that are not due; a task that is due and only waits for a worker runs. */
TEST(scheduler_shutdown_runs_what_is_due, "CP-STPE8")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    execute_job(&r, &blocker);
    for (int i = 0; i < 3; i++)
        futures[i] = schedule_job(&r, &jobs[i], HORA_MS(i));
    pass(&r, HORA_MS(1));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_NOT_DONE(futures[0]);
    CHECK_NOT_DONE(futures[1]); /* due just now */
    CHECK_DONE(futures[2], HORA_ECANCELED, NULL);
    CHECK_JOB(&jobs[2], 0);
    rig_finish(&r);
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_DONE(futures[1], 0, &jobs[1]);
    for (int i = 0; i < 3; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

/* A series that is due, and waits for a worker, is cancelled like any other. */
TEST(scheduler_shutdown_cancels_a_series_that_is_due, "CP-STPE8 CP-STPE10")
{
    for (int form = RATE; form <= GAP; form++) {
        struct rig r;
        struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        execute_job(&r, &blocker);
        settle(&r.f);
        future = schedule_series(&r, (enum form)form, &job, 0, A_WHILE);
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK_DONE(future, HORA_ECANCELED, NULL);
        CHECK_JOB(&job, 0);
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* Also what had been cancelled before and was kept; or it would delay the end. */
TEST(scheduler_shutdown_takes_out_what_is_cancelled_already, "CP-STPE10")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    scheduler_open(
        &r, false,
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = true, .continue_periodic = true));
    for (int form = ONCE; form < FORMS; form++) {
        hora_future *future = schedule_series(&r, (enum form)form, &jobs[form], HORA_HOURS(1), HORA_HOURS(1));

        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        hora_future_unref(future);
    }
    CHECK_INT(rig_stats(&r).queued, FORMS);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK(hora_pool_is_terminated(r.pool));
    CHECK_INT(rig_stats(&r).cancelled, FORMS);
    rig_close(&r);
}

/* Shutdown lets the run that is going end; then the series is cancelled, though its run succeeded. */
TEST(scheduler_series_that_runs_at_shutdown_ends_cancelled, "CP-STPE11")
{
    for (int form = RATE; form <= GAP; form++) {
        for (int stop = 0; stop < 2; stop++) {
            struct rig r;
            struct job job = {.rig = &r, .waits = true, .deaf = true};
            hora_future_list list = HORA_FUTURE_LIST_INIT;
            hora_future *future;

            scheduler_open(&r, true, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
            future = schedule_series(&r, (enum form)form, &job, 0, A_WHILE);
            settle(&r.f);
            CHECK_OK(stop ? hora_pool_shutdown_now(r.pool, &list) : hora_pool_shutdown(r.pool));
            CHECK_INT(list.count, 0);
            settle(&r.f);
            CHECK_NOT_DONE(future);
            CHECK_INT(job.interrupts, stop);
            CHECK(!hora_pool_is_terminated(r.pool));
            pass(&r, 3 * A_WHILE);
            rig_open_gate(&r);
            settle(&r.f);
            CHECK(hora_pool_is_terminated(r.pool));
            CHECK_DONE(future, HORA_ECANCELED, NULL);
            CHECK_JOB(&job, 1);
            CHECK_INT(r.before, 1);
            CHECK_INT(r.after, 1);
            CHECK_INT(rig_stats(&r).cancelled, 1);
            hora_future_unref(future);
            rig_close(&r);
        }
    }
}

/* If that last run fails, this is the outcome. */
TEST(scheduler_series_that_fails_after_shutdown_has_failed, "CP-STPE11")
{
    struct rig r;
    struct job job = {.rig = &r, .waits = true, .code = CODE};
    hora_future *future;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    future = schedule_series(&r, RATE, &job, 0, A_WHILE);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    rig_finish(&r);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_INT(hora_future_failure(future), CODE);
    hora_future_unref(future);
    rig_close(&r);
}

/* With continue_periodic a scheduler that is shut down continues until its series have been ended. */
TEST(scheduler_series_may_go_on_after_shutdown, "CP-STPE8")
{
    struct rig r;
    struct beat beats[2];
    hora_future *futures[2];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    for (int i = 0; i < 2; i++) {
        beats[i] = (struct beat)A_BEAT(&r, 0);
        CHECK_OK(schedule_form(&r, i == 0 ? RATE : GAP, BEAT(&beats[i]), A_WHILE, A_WHILE, &futures[i]));
    }
    beats[1].fails_at = 4;
    beats[1].code = CODE;
    pass(&r, A_WHILE);
    CHECK_OK(hora_pool_shutdown(r.pool));
    pass_in_steps(&r, A_WHILE, 5);
    CHECK_INT(beats[0].runs, 6);
    CHECK_INT(beats[1].runs, 4);
    CHECK_DONE(futures[1], HORA_EFAILED, NULL);
    CHECK(!hora_pool_is_terminated(r.pool));
    CHECK_INT(hora_future_cancel(futures[0], false), HORA_CANCEL_REMOVED);
    settle(&r.f);
    CHECK(hora_pool_is_terminated(r.pool));
    for (int i = 0; i < 2; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

/* After shutdown, stop takes what shutdown had left, and nothing begins any more. */
TEST(scheduler_stop_after_shutdown_hands_back_the_rest, "CP-STPE8")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_OK(schedule_form(&r, (enum form)form, JOB(&jobs[form]), A_WHILE, A_WHILE, NULL));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_INT(rig_stats(&r).queued, FORMS);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, FORMS);
    pass(&r, 3 * A_WHILE);
    CHECK(hora_pool_is_terminated(r.pool));
    hora_future_list_cancel(&list);
    for (int form = ONCE; form < FORMS; form++)
        CHECK_JOB(&jobs[form], 0);
    rig_close(&r);
}

/* ---- close and free ---- */

static int run_close(struct call *call)
{
    return hora_pool_close_for(call->object, call->timeout);
}

/* Tasks that are not due at the deadline are abandoned. */
TEST(scheduler_close_abandons_what_is_not_due_in_time, "")
{
    struct rig r;
    struct job soon = A_JOB(&r), late = A_JOB(&r), series = A_JOB(&r);
    hora_future *futures[3];
    struct call call;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    futures[0] = schedule_job(&r, &soon, A_WHILE);
    futures[1] = schedule_job(&r, &late, 3 * A_WHILE);
    futures[2] = schedule_series(&r, RATE, &series, A_WHILE, A_WHILE);
    start_pool_call(&call, &r, run_close, 2 * A_WHILE);
    CHECK_WAITS_FOR(&call, 2 * A_WHILE, HORA_ETIMEDOUT);
    settle(&r.f);
    CHECK(hora_pool_is_terminated(r.pool));
    CHECK_DONE(futures[0], 0, &soon);
    CHECK_DONE(futures[1], HORA_EABANDONED, NULL);
    CHECK_DONE(futures[2], HORA_ECANCELED, NULL);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    for (int i = 0; i < 3; i++)
        hora_future_unref(futures[i]);
    CHECK_JOB(&soon, 1);
    CHECK_JOB(&late, 0);
    CHECK_JOB(&series, 0);
    rig_close(&r);
}

TEST(scheduler_close_waits_no_longer_than_it_must, "CP-STPE9")
{
    struct rig r;
    struct job job = A_JOB(&r);
    struct call call;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), A_WHILE, NULL));
    start_pool_call(&call, &r, run_close, A_LONG_WHILE);
    CHECK_WAITS_FOR(&call, A_WHILE, 0);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

TEST(scheduler_free_abandons_what_is_scheduled, "")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[FORMS];

    scheduler_open(&r, true, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    for (int form = ONCE; form < FORMS; form++)
        futures[form] = schedule_series(&r, (enum form)form, &jobs[form], A_WHILE, A_WHILE);
    CHECK_INT(hora_pool_free(r.pool), FORMS);
    r.pool = NULL;
    CHECK_INT(r.terminated, 1);
    for (int form = ONCE; form < FORMS; form++) {
        CHECK_DONE(futures[form], HORA_EABANDONED, NULL);
        CHECK_JOB(&jobs[form], 0);
        hora_future_unref(futures[form]);
    }
    rig_close(&r);
}

static int run_quiesce(struct call *call)
{
    return hora_pool_await_idle_for(call->object, call->timeout);
}

/* A task that is scheduled for later is queued: the scheduler is not idle before it has run. */
TEST(scheduler_quiesce_waits_for_what_is_scheduled, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    struct call calls[2];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_await_idle_for(r.pool, 0));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), 2 * A_WHILE, NULL));
    CHECK_ERROR(hora_pool_await_idle_for(r.pool, 0), HORA_ETIMEDOUT);
    start_pool_call(&calls[0], &r, run_quiesce, A_WHILE);
    CHECK_TIMES_OUT(&calls[0], A_WHILE);
    start_pool_call(&calls[1], &r, run_quiesce, A_LONG_WHILE);
    CHECK_WAITS_FOR(&calls[1], A_WHILE, 0);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}
