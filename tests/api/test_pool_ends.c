/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_ends.c - each accepted task ends in exactly one way and is dropped exactly once */
#include "pool_support.h"

/* One worker, busy with `blocker`; later tasks are queued. */
static void open_busy(struct rig *r, struct job *blocker)
{
    *blocker = (struct job)A_WAITING_JOB(r);
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 4));
    execute_job(r, blocker);
    settle(&r->f);
}

TEST(pool_task_that_ran_is_dropped_once, "")
{
    struct rig r;
    struct job jobs[2] = {A_JOB(&r), {.rig = &r, .code = -1}};
    hora_future *futures[2];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++)
        futures[i] = submit_job(&r, &jobs[i]);
    settle(&r.f);
    for (int i = 0; i < 2; i++) {
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, i); /* a failed task's result is dropped at once */
        hora_future_unref(futures[i]);
        CHECK_INT(jobs[i].result_drops, 1);
    }
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(rig_stats(&r).failed, 1);
    rig_close(&r);
}

TEST(pool_task_cancelled_in_the_queue_is_dropped_by_the_canceller, "")
{
    struct rig r;
    struct job blocker, job = A_JOB(&r);
    hora_future *future;

    open_busy(&r, &blocker);
    future = submit_job(&r, &job);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_JOB(&job, 0);
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 0);
}

TEST(pool_task_cancelled_while_it_runs_is_dropped_when_it_ends, "")
{
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        struct rig r;
        struct job job = {.rig = &r, .waits = true, .deaf = true};
        hora_future *future;

        rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
        future = submit_job(&r, &job);
        settle(&r.f);
        CHECK_INT(hora_future_cancel(future, interrupt),
                  interrupt ? HORA_CANCEL_INTERRUPTED : HORA_CANCEL_RUNNING);
        settle(&r.f);
        CHECK_INT(job.drops, 0);
        CHECK_INT(rig_stats(&r).cancelled, 0); /* it still runs */
        CHECK_INT(rig_stats(&r).active, 1);
        rig_open_gate(&r);
        settle(&r.f);
        CHECK_JOB(&job, 1);
        CHECK_INT(job.result_drops, 1);
        CHECK_INT(rig_stats(&r).cancelled, 1);
        hora_future_unref(future);
        rig_close(&r);
    }
}

TEST(pool_task_whose_submit_fails_is_not_dropped, "")
{
    struct rig r;
    struct job blocker, fillers[4], job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;

    open_busy(&r, &blocker);
    execute_jobs(&r, fillers, 4);
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), HORA_EREJECTED);
    CHECK_ERROR(hora_pool_submit(r.pool, JOB(&job), &future), HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    rig_close(&r);
    CHECK_INT(job.drops, 0);
}

TEST(pool_task_that_is_stopped_without_a_list_is_abandoned, "")
{
    struct rig r;
    struct job blocker, job = A_JOB(&r);
    hora_future *future;

    open_busy(&r, &blocker);
    future = submit_job(&r, &job);
    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_DONE(future, HORA_EABANDONED, NULL);
    CHECK_INT(hora_future_failure(future), HORA_EABANDONED);
    CHECK_JOB(&job, 0);
    CHECK_INT(job.dones, 1);
    CHECK_INT(rig_stats(&r).abandoned, 1);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(pool_task_that_is_handed_back_is_dropped_with_its_last_reference, "")
{
    struct rig r;
    struct job blocker, job = A_JOB(&r);
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_busy(&r, &blocker);
    execute_job(&r, &job);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, 1);
    CHECK_INT(job.drops, 0);
    hora_future_unref(hora_future_list_take(&list));
    CHECK_JOB(&job, 0);
    rig_close(&r);
    CHECK_JOB(&job, 0);
}

TEST(pool_task_that_is_removed_is_dropped_with_its_last_reference, "")
{
    struct rig r;
    struct job blocker, job = A_JOB(&r);
    hora_future *future;

    open_busy(&r, &blocker);
    future = submit_job(&r, &job);
    CHECK_INT(hora_pool_remove(r.pool, future), 1);
    CHECK_INT(job.drops, 0);
    hora_future_unref(future);
    CHECK_JOB(&job, 0);
    rig_close(&r);
}

/* Freeing the pool interrupts the running task and abandons the queued ones. */
TEST(pool_that_is_freed_abandons_what_is_queued, "")
{
    struct rig r;
    struct job blocker, job = A_JOB(&r);
    hora_future *future;

    open_busy(&r, &blocker);
    future = submit_job(&r, &job);
    CHECK_INT(hora_pool_free(r.pool), 1);
    r.pool = NULL;
    CHECK_INT(blocker.interrupts, 1);
    CHECK_JOB(&blocker, 1);
    CHECK_DONE(future, HORA_EABANDONED, NULL);
    CHECK_JOB(&job, 0);
    hora_future_unref(future);
    rig_close(&r);
}

/* An interrupt of the thread that frees does not end the wait, and is not lost. */
TEST(pool_free_is_not_interruptible, "")
{
    struct rig r;
    struct job blocker;

    open_busy(&r, &blocker);
    interrupt_self();
    CHECK_OK(hora_pool_free(r.pool));
    CHECK(hora_interrupted());
    r.pool = NULL;
    CHECK_JOB(&blocker, 1);
    rig_close(&r);
}

/* A cancelled task that was kept is cancelled, not abandoned, when the pool stops. */
TEST(pool_cancelled_task_that_was_kept_stays_cancelled_when_stopped, "")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = true));
    execute_job(&r, &blocker);
    settle(&r.f);
    future = submit_job(&r, &job);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    CHECK_INT(rig_stats(&r).abandoned, 0);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 0);
}

/* ---- futures that were executed several times ---- */

TEST(pool_hands_back_a_future_once_however_often_it_is_queued, "CP-TPE37")
{
    struct rig r;
    struct job blocker, jobs[2] = {A_JOB(&r), A_JOB(&r)};
    hora_future *futures[2];
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_busy(&r, &blocker);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_future_new(JOB(&jobs[i]), &futures[i]));
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i % 2]));
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_POINTER(hora_future_list_take(&list), futures[i]);
        CHECK_NOT_DONE(futures[i]);
        hora_future_unref(futures[i]);
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], 0);
    }
    CHECK_POINTER(hora_future_list_take(&list), NULL);
    rig_close(&r);
}

/* Dropping the second entry does not end the first. */
TEST(pool_drops_the_second_entry_of_a_running_future_without_harm, "CP-TPE37")
{
    for (int stop = 0; stop < 2; stop++) {
        struct rig r;
        struct job job = A_DEAF_JOB(&r), other = A_JOB(&r);
        hora_future *future;

        rig_open(
            &r, false,
            HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD_OLDEST));
        CHECK_OK(hora_future_new(JOB(&job), &future));
        for (int i = 0; i < 2; i++)
            CHECK_OK(hora_pool_execute_future(r.pool, future));
        settle(&r.f);
        if (stop)
            CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
        else
            execute_job(&r, &other);
        CHECK_NOT_DONE(future);
        rig_finish(&r);
        CHECK_DONE(future, 0, &job);
        CHECK_INT(rig_stats(&r).accepted, stop ? 2 : 3);
        hora_future_unref(future);
        rig_close(&r);
        CHECK_JOB(&job, 1);
    }
}

/* ---- what else can happen at any moment ---- */

/* A pool, two submitters, one that cancels and one that stops it: nothing is lost, whatever the order. */
struct pool_view {
    struct rig rig;
    struct job jobs[6];
    hora_future *futures[6];
    atomic_int given;
};

static void submit_three(void *arg)
{
    struct pool_view *c = arg;

    for (int i = 0; i < 3; i++) {
        int n = atomic_fetch_add(&c->given, 1);
        int error = hora_pool_submit(c->rig.pool, JOB(&c->jobs[n]), &c->futures[n]);

        if (error < 0) {
            CHECK_ERROR(error, HORA_EREJECTED);
            CHECK_INT(c->jobs[n].drops, 0);
            CHECK_POINTER(c->futures[n], NULL);
        } else if (n % 2 == 0) {
            CHECK(hora_future_cancel(c->futures[n], n % 4 == 0) >= 0);
        }
    }
}

static void stop_it(void *arg)
{
    struct pool_view *c = arg;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    CHECK_OK(hora_pool_shutdown_now(c->rig.pool, &list));
    hora_future_list_cancel(&list);
}

TEST(pool_loses_nothing_in_a_crowd, "CP-TPE8")
{
    struct pool_view c = {0};
    test_thread *threads[3];

    rig_open(&c.rig, false, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .queue_capacity = 2));
    for (int i = 0; i < 6; i++)
        c.jobs[i] = (struct job)A_JOB(&c.rig);
    for (int i = 0; i < 2; i++)
        threads[i] = test_thread_start(c.rig.f.clock, submit_three, &c);
    threads[2] = test_thread_start(c.rig.f.clock, stop_it, &c);
    for (int i = 0; i < 3; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_await_termination_for(c.rig.pool, HORA_FOREVER));
    for (int i = 0; i < 6; i++) {
        if (c.futures[i] == NULL)
            continue;
        CHECK(hora_future_is_done(c.futures[i]));
        hora_future_unref(c.futures[i]);
    }
    rig_close(&c.rig);
    for (int i = 0; i < 6; i++)
        CHECK_INT(c.jobs[i].drops, c.futures[i] != NULL ? 1 : 0);
}

/* The same after shutdown: an accepted task runs, or was cancelled. */
static void shut_it_down(void *arg)
{
    struct pool_view *c = arg;

    CHECK_OK(hora_pool_shutdown(c->rig.pool));
}

TEST(pool_runs_all_it_accepted_before_shutdown, "CP-TPE8 CP-TPE25")
{
    struct pool_view c = {0};
    test_thread *threads[2];

    rig_open(&c.rig, false, HORA_POOL_OPTIONS(.core_threads = 0, .keep_alive = A_WHILE));
    for (int i = 0; i < 6; i++)
        c.jobs[i] = (struct job)A_JOB(&c.rig);
    threads[0] = test_thread_start(c.rig.f.clock, submit_three, &c);
    threads[1] = test_thread_start(c.rig.f.clock, shut_it_down, &c);
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_await_termination_for(c.rig.pool, HORA_FOREVER));
    for (int i = 0; i < 3; i++) {
        if (c.futures[i] == NULL)
            continue;
        CHECK_DONE(c.futures[i], hora_future_is_cancelled(c.futures[i]) ? HORA_ECANCELED : 0, &c.jobs[i]);
        hora_future_unref(c.futures[i]);
        CHECK_INT(c.jobs[i].drops, 1);
    }
    rig_close(&c.rig);
}
