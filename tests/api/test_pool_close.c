/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_close.c - waiting for a pool: close, quiesce, free; and which threads must not wait for it */
#include "pool_support.h"

static int run_quiesce(struct call *call)
{
    return hora_pool_await_idle_for(call->object, call->timeout);
}

static int run_close(struct call *call)
{
    return hora_pool_close_for(call->object, call->timeout);
}

/* ---- close ---- */

TEST(pool_close_waits_for_the_end, "CP-TPE31")
{
    struct rig r;
    struct call call;
    struct job jobs[2];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_jobs(&r, jobs, 2);
    start_pool_call(&call, &r, run_close, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    CHECK(hora_pool_is_shutdown(r.pool));
    rig_open_gate(&r);
    CHECK_RETURNS(&call, 0);
    for (int i = 0; i < 2; i++)
        CHECK_JOB(&jobs[i], 1);
    CHECK_OK(hora_pool_close_for(r.pool, 0));
    rig_close(&r);
}

TEST(pool_close_stops_at_its_deadline, "CP-TPE31")
{
    struct rig r;
    struct call call;
    struct job deaf = A_DEAF_JOB(&r), queued = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &deaf);
    future = submit_job(&r, &queued);
    start_pool_call(&call, &r, run_close, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK_INT(deaf.interrupts, 1);
    CHECK_DONE(future, HORA_EABANDONED, NULL);
    CHECK_JOB(&queued, 0);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(pool_close_that_is_interrupted_stops_and_stays_so, "CP-TPE31")
{
    struct rig r;
    struct call call;
    struct job deaf = A_DEAF_JOB(&r);

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &deaf);
    start_pool_call(&call, &r, run_close, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(call.thread)));
    CHECK_ERROR(RESULT_OF(&call), HORA_ETIMEDOUT);
    CHECK(call.interrupted);
    CHECK_INT(deaf.interrupts, 1);
    rig_close(&r);
}

/* ---- quiesce ---- */

TEST(pool_quiesce_waits_until_nothing_is_queued_or_running, "")
{
    struct rig r;
    struct call call;
    struct job jobs[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    CHECK_OK(hora_pool_await_idle_for(r.pool, 0));
    execute_jobs(&r, jobs, 4);
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_pool_await_idle_for(r.pool, expired[i]), HORA_ETIMEDOUT);
    start_pool_call(&call, &r, run_quiesce, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    start_pool_call(&call, &r, run_quiesce, HORA_FOREVER);
    CHECK_INTERRUPTIBLE(&call);
    start_pool_call(&call, &r, run_quiesce, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_RETURNS(&call, 0);
    CHECK(!hora_pool_is_shutdown(r.pool));
    CHECK_INT(rig_stats_now(&r).completed, 4);
    CHECK_INT(rig_stats_now(&r).active, 0);
    rig_close(&r);
}

/* By every way out of the queue. */
TEST(pool_quiesce_ends_with_a_task_that_is_taken_out, "")
{
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct call call;
        struct job job = A_JOB(&r);
        hora_future *future;

        future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.name = "stranded"));
        start_pool_call(&call, &r, run_quiesce, HORA_FOREVER);
        CHECK_BLOCKED(&call);
        if (way == 0)
            CHECK_INT(hora_pool_remove(r.pool, future), 1);
        else if (way == 1)
            CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
        else
            CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
        CHECK_RETURNS(&call, 0);
        hora_future_unref(future);
        rig_close(&r);
    }
}

static int call_own_pool(void *arg, void **ret_result)
{
    struct rig *r = arg;

    (void)ret_result;
    CHECK_ERROR(hora_pool_free(r->pool), HORA_EDEADLK);
    CHECK(!hora_pool_is_shutdown(r->pool));
    CHECK_ERROR(hora_pool_await_idle_for(r->pool, HORA_FOREVER), HORA_EDEADLK);
    CHECK_ERROR(hora_pool_await_termination_for(r->pool, HORA_FOREVER), HORA_EDEADLK);
    CHECK_ERROR(hora_pool_await_termination_for(r->pool, A_WHILE), HORA_ETIMEDOUT);
    CHECK_ERROR(hora_pool_close_for(r->pool, HORA_FOREVER), HORA_EDEADLK);
    return 0;
}

TEST(pool_task_cannot_wait_for_the_end_of_its_own_pool, "CP-TPE30")
{
    struct rig r;
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(call_own_pool, &r), &future));
    settle(&r.f);
    advance(&r.f, A_WHILE);
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    rig_close(&r);
}

static void wait_for_own_end(hora_pool *pool, void *context)
{
    struct rig *r = context;

    CHECK_ERROR(hora_pool_free(pool), HORA_EDEADLK);
    CHECK_ERROR(hora_pool_await_termination_for(pool, HORA_FOREVER), HORA_EDEADLK);
    atomic_fetch_add(&r->terminated, 1);
}

/* Neither in a worker nor in the thread that shuts an empty pool down. */
TEST(pool_terminated_hook_cannot_wait_for_the_end, "CP-TPE30")
{
    for (int worker = 0; worker < 2; worker++) {
        struct rig r;
        struct job job = A_JOB(&r);

        rig_prepare(&r, false);
        rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .terminated = wait_for_own_end));
        if (worker)
            execute_job(&r, &job);
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
        CHECK_INT(r.terminated, 1);
        rig_close(&r);
    }
}

/* Right after termination: free waits for threads that are still on their last steps. */
TEST(pool_can_be_freed_as_soon_as_it_is_terminated, "CP-TPE30 jtreg.ThreadPoolExecutor/Custom")
{
    struct job jobs[10];
    hora_future *futures[10];
    hora_pool *pool;

    CHECK_OK(hora_pool_new_fixed(3, NULL, &pool, NULL));
    for (int i = 0; i < 10; i++) {
        jobs[i] = (struct job)A_JOB(NULL);
        CHECK_OK(hora_pool_submit(pool, JOB(&jobs[i]), &futures[i]));
        for (int j = 0; j < i; j++)
            CHECK(futures[i] != futures[j]);
    }
    CHECK_OK(hora_pool_shutdown(pool));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < 10; i++) {
        CHECK_DONE(futures[i], 0, &jobs[i]);
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], 1);
    }
}

static void cancel_it(void *future)
{
    (void)hora_future_cancel(future, false);
    hora_future_unref(future);
}

/* The canceller may be on its way between queue and books when the pool goes. */
TEST(pool_can_be_freed_while_a_task_is_being_cancelled, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;
    test_thread *thread;

    future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.name = "stranded"));
    thread = test_thread_start(NULL, cancel_it, future);
    int abandoned = hora_pool_free(r.pool);
    CHECK(abandoned == 0 || abandoned == 1); /* depends on which thread was faster */
    r.pool = NULL;
    test_thread_join(thread);
    CHECK_JOB(&job, 0);
    rig_close(&r);
}

/* ---- a queue that is closed ---- */

TEST(pool_ends_when_its_idle_workers_find_the_queue_closed, "")
{
    struct rig r;
    struct job jobs[2], late = A_JOB(&r);

    rig_prepare(&r, false);
    CHECK_OK(make_queue(&r.f, LINKED, 4, NULL, r.f.view, &r.f.queue));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 2, .queue = r.f.queue));
    CHECK_ERROR(hora_queue_free(r.f.queue), HORA_EBUSY); /* a pool has it */
    rig_open_gate(&r);
    execute_jobs(&r, jobs, 2);
    settle(&r.f);
    CHECK_OK(hora_queue_close(r.f.queue));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    for (int i = 0; i < 2; i++)
        CHECK_JOB(&jobs[i], 1);
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&late)), HORA_EREJECTED);
    rig_close(&r);
}

TEST(pool_runs_what_is_in_a_queue_that_is_closed, "")
{
    struct rig r;
    struct job jobs[3];

    rig_prepare(&r, false);
    CHECK_OK(make_queue(&r.f, LINKED, 4, NULL, r.f.view, &r.f.queue));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = r.f.queue));
    execute_jobs(&r, jobs, 3);
    CHECK_OK(hora_queue_close(r.f.queue));
    CHECK(!hora_pool_is_shutdown(r.pool));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}
