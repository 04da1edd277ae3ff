/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_shutdown.c - the end of a pool: shutdown, stop, close, termination, and the hooks around it */
#include <string.h>

#include "pool_support.h"

ON_BOTH_POOLS(is_shut_down_right_after_shutdown, "testIsShutdown", "CP-TPE2")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK(!hora_pool_is_shutdown(r.pool));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_shutdown(r.pool));
    CHECK_OK(hora_pool_shutdown(r.pool));
    rig_close(&r);
}

static int run_await_termination(struct call *call)
{
    return hora_pool_await_termination_for(call->object, call->timeout);
}

TEST(pool_wait_for_termination_times_out, "ThreadPoolExecutorTest.testAwaitTermination_timesOut CP-TPE29")
{
    struct rig r;
    struct call call;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_pool_await_termination_for(r.pool, expired[i]), HORA_ETIMEDOUT);
    start_pool_call(&call, &r, run_await_termination, 999999);
    CHECK_TIMES_OUT(&call, 999999);
    start_pool_call(&call, &r, run_await_termination, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK(!hora_pool_is_terminated(r.pool));
    start_pool_call(&call, &r, run_await_termination, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_RETURNS(&call, 0);
    CHECK(hora_pool_is_terminated(r.pool));
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_pool_await_termination_for(r.pool, any_timeout[i]));
    rig_close(&r);
}

TEST(pool_wait_for_termination_looks_at_interrupts_last, "CP-TPE29")
{
    struct rig r;
    struct call call;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    interrupt_self();
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_pool_await_termination_for(r.pool, expired[i]), HORA_ETIMEDOUT);
    CHECK_ERROR(hora_pool_await_termination_for(r.pool, A_WHILE), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
    start_pool_call(&call, &r, run_await_termination, HORA_FOREVER);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_OK(hora_pool_shutdown(r.pool));
    interrupt_self();
    for (int i = 0; i < 5; i++)
        CHECK_OK(hora_pool_await_termination_for(r.pool, any_timeout[i]));
    CHECK(hora_interrupted());
    rig_close(&r);
}

static int look_whether_terminating(void *arg, void **ret_result)
{
    struct rig *r = arg;

    (void)ret_result;
    CHECK(!hora_pool_is_terminating(r->pool));
    return hora_latch_await(r->gate);
}

static void check_terminates(bool hooked)
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK(!hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(look_whether_terminating, &r)));
    settle(&r.f);
    CHECK(!hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_RUNNING);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_terminating(r.pool) && !hora_pool_is_terminated(r.pool));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_SHUTDOWN);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, A_LONG_WHILE));
    CHECK(!hora_pool_is_terminating(r.pool) && hora_pool_is_terminated(r.pool));
    CHECK(hora_pool_is_shutdown(r.pool));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_TERMINATED);
    rig_close(&r);
}

ON_BOTH_POOLS(is_terminated_in_the_end, "testIsTerminated", "CP-TPE1")
{
    check_terminates(hooked);
}

ON_BOTH_POOLS(is_terminating_only_in_between, "testIsTerminating", "CP-TPE2")
{
    check_terminates(hooked);
}

/* No way leads back. */
TEST(pool_states_never_go_back, "CP-TPE1")
{
    struct rig r;
    struct job jobs[2] = {A_DEAF_JOB(&r), A_JOB(&r)};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++)
        execute_job(&r, &jobs[i]);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_STOP);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    CHECK_INT(rig_stats(&r).state, HORA_POOL_TERMINATED);
    CHECK_JOB(&jobs[1], 0);
    rig_close(&r);
}

ON_BOTH_POOLS(stop_hands_back_what_is_queued, "testShutdownNow", "CP-TPE19 CP-TPE26")
{
    struct rig r;
    struct job jobs[5];
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    int ran = 0;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    execute_jobs(&r, jobs, 5);
    CHECK_INT(rig_stats(&r).active, 2);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK(hora_pool_is_shutdown(r.pool));
    CHECK_EMPTY(hora_pool_queue(r.pool));
    CHECK_INT(list.count, 3);
    CHECK_ERROR(hora_pool_shutdown_now(r.pool, &list), HORA_EINVAL);
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
    CHECK_INT(list.count, 0);
    CHECK_POINTER(hora_future_list_take(&list), NULL);
    for (int i = 0; i < 5; i++)
        CHECK_INT(jobs[i].drops, 1);
    rig_close(&r);
}

TEST(pool_futures_that_are_handed_back_can_still_be_run, "CP-TPE26")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &blocker);
    settle(&r.f);
    future = submit_job(&r, &job);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_POINTER(hora_future_list_take(&list), future);
    CHECK_POINTER(hora_future_list_take(&list), NULL);
    CHECK_INT(list.count, 0);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

static hora_ns due_in_a_while(const void *future, void *context)
{
    const struct rig *r = context;

    (void)future;
    return HORA_SECONDS(1) + A_WHILE - hora_clock_now(r->f.view); /* the clock starts at one second */
}

static int compare_addresses(const void *a, const void *b, void *context)
{
    (void)context;
    return (a > b) - (a < b);
}

static void open_delay_pool(struct rig *r)
{
    rig_prepare(r, false);
    CHECK_OK(
        hora_queue_new_delay(HORA_QUEUE_OPTIONS(.remaining = due_in_a_while, .compare = compare_addresses,
                                                .arg = r, .clock = r->f.view),
                             &r->f.queue, NULL));
    rig_pool(r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = r->f.queue));
    CHECK_INT(hora_pool_prestart(r->pool), 1);
}

/* Nothing can be polled, but the queue is not empty. */
TEST(pool_shutdown_waits_for_tasks_that_are_not_due, "CP-TPE38")
{
    struct rig r;
    struct job job = A_JOB(&r);

    open_delay_pool(&r);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    settle(&r.f);
    CHECK(!hora_pool_is_terminated(r.pool));
    CHECK_INT(job.runs, 0);
    advance(&r.f, A_WHILE);
    settle(&r.f);
    CHECK(hora_pool_is_terminated(r.pool));
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

TEST(pool_stop_hands_back_tasks_that_are_not_due, "CP-TPE26")
{
    struct rig r;
    struct job jobs[3];
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    open_delay_pool(&r);
    execute_jobs(&r, jobs, 3);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, 3);
    hora_future_list_cancel(&list);
    rig_close(&r);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 0);
}

TEST(pool_shutdown_lets_the_queue_run_out, "CP-TPE25")
{
    struct rig r;
    struct job jobs[5];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    execute_jobs(&r, jobs, 5);
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    settle(&r.f);
    for (int i = 0; i < 2; i++)
        CHECK_INT(jobs[i].interrupts, 0);
    CHECK(!hora_pool_is_terminated(r.pool));
    rig_close(&r);
    for (int i = 0; i < 5; i++)
        CHECK_JOB(&jobs[i], 1);
}

TEST(pool_shutdown_ends_idle_threads, "CP-TPE25 CP-TPE27")
{
    struct rig r;
    struct job jobs[3];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3));
    execute_jobs(&r, jobs, 3);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).threads, 3);
    CHECK_OK(hora_pool_shutdown(r.pool));
    settle(&r.f);
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

/* A pool without threads whose queue is emptied by hand. */
TEST(pool_terminates_when_the_last_task_is_taken_out, "CP-TPE27 CP-TPE34")
{
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        future = rig_open_stranded(&r, JOB(&job), HORA_POOL_OPTIONS(.keep_cancelled = way == 2));
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK(!hora_pool_is_terminated(r.pool));
        if (way == 0)
            CHECK_INT(hora_pool_remove(r.pool, future), 1);
        else
            CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        if (way == 2)
            CHECK_INT(hora_pool_purge(r.pool), 1);
        CHECK(hora_pool_is_terminated(r.pool));
        hora_future_unref(future);
        CHECK_JOB(&job, 0);
        rig_close(&r);
    }
}

static int count_interrupt(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    if (hora_latch_await(job->rig->gate) == HORA_EINTERRUPTED || hora_interrupted())
        atomic_fetch_add(&job->interrupts, 1);
    atomic_fetch_add(&job->runs, 1);
    return 0;
}

/* It was never in the queue, so it is not handed back; it finds its interrupt flag set. */
TEST(pool_task_given_to_a_new_worker_runs_even_if_stop_comes_first, "CP-TPE10 CP-TPE18")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(count_interrupt, &job)));
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, 0);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_INT(job.runs, 1);
    CHECK_INT(job.interrupts, 1);
    rig_close(&r);
}

static int expect_no_interrupt(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK(!hora_interrupted());
    return 0;
}

static int leave_an_interrupt(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    interrupt_self();
    return 0;
}

TEST(pool_interrupt_of_one_task_never_reaches_the_next, "CP-TPE18 CP-FT5")
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(leave_an_interrupt, NULL)));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(expect_no_interrupt, NULL)));
    future = submit_job(&r, &job);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(expect_no_interrupt, NULL)));
    CHECK(hora_future_cancel(future, true) != HORA_CANCEL_TOO_LATE);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(expect_no_interrupt, NULL)));
    hora_future_unref(future);
    rig_close(&r);
}

ON_BOTH_POOLS(terminated_hook_has_run_when_shutdown_returns, "testTerminated", "CP-TPE28")
{
    struct rig r;

    (void)hooked; /* without hooks there is nothing to see */
    rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_INT(r.terminated, 1);
    CHECK(hora_pool_is_shutdown(r.pool));
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

ON_BOTH_POOLS(calls_its_hooks_around_each_task, "testBeforeAfter", "CP-TPE16")
{
    struct rig r;
    struct job job = A_JOB(&r), bad = {.rig = &r, .code = 77};

    (void)hooked;
    rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1));
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_INT(r.before, 1);
    CHECK_INT(r.after, 1);
    CHECK_INT(r.last_code, 0);
    CHECK_JOB(&job, 1);
    execute_job(&r, &bad);
    settle(&r.f);
    CHECK_INT(r.after, 2);
    CHECK_INT(r.last_code, 77);
    CHECK_INT(rig_stats(&r).failed, 1);
    CHECK_INT(rig_stats(&r).threads, 1); /* a failure costs no thread */
    rig_close(&r);
}
