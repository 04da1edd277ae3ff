/* SPDX-License-Identifier: Apache-2.0 */
/* test_executor.c - submitting over an executor that the user supplies */
#include "invoke_support.h"

enum { CODE = 7 };

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int give_arg(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

TEST(executor_direct_runs_before_submit_returns, "AbstractExecutorServiceTest.testExecuteRunnable")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    hora_future *future;

    venue_open(&v, DIRECT);
    CHECK_OK(hora_executor_submit(&v.executor, JOB(&job), &future));
    CHECK_JOB(&job, 1);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(future);
    venue_close(&v);
}

TEST(executor_submit_gives_the_very_result, "AbstractExecutorServiceTest.testSubmitCallable "
                                            "AbstractExecutorServiceTest.testSubmitRunnable2")
{
    hora_executor here = {.execute = execute_here};
    hora_future *future;
    void *result = untouched;

    CHECK_OK(hora_executor_submit(&here, HORA_TASK(give_arg, item(3)), &future));
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, item(3));
    (void)hora_future_unref(future);
}

TEST(executor_submit_without_a_result_gives_null, "AbstractExecutorServiceTest.testSubmitRunnable")
{
    hora_executor here = {.execute = execute_here};
    hora_future *future;

    CHECK_OK(hora_executor_submit(&here, HORA_TASK(do_nothing, NULL), &future));
    CHECK_DONE(future, 0, NULL);
    (void)hora_future_unref(future);
}

TEST(executor_submit_refuses_null, "AbstractExecutorServiceTest.testNullTaskSubmission")
{
    hora_executor here = {.execute = execute_here};
    hora_executor nowhere = hora_pool_executor(NULL);
    hora_future *future = (hora_future *)untouched;

    CHECK_ERROR(hora_executor_submit(&here, NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_executor_submit(&here, HORA_TASK(NULL, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_executor_submit(&here, HORA_TASK(give_arg, item(0)), NULL), HORA_EINVAL);
    CHECK_ERROR(hora_executor_submit(NULL, HORA_TASK(give_arg, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_executor_submit(&nowhere, HORA_TASK(give_arg, item(0)), &future), HORA_EINVAL);
    CHECK_ERROR(hora_executor_invoke_all(&nowhere, NULL, 0, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_executor_invoke_all(NULL, NULL, 0, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_invoke_all(NULL, NULL, 0, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_invoke_any(NULL, (const hora_task *[]){HORA_TASK(give_arg, NULL)}, 1, NULL, NULL),
                HORA_EINVAL);
    CHECK_POINTER(future, untouched);
}

TEST(executor_wait_for_what_was_submitted_is_interruptible,
     "AbstractExecutorServiceTest.testInterruptedSubmit")
{
    struct venue v;
    struct job job = A_WAITING_JOB(&v.r);
    struct call call;
    hora_future *future;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_OK(hora_executor_submit(&v.executor, JOB(&job), &future));
    start_get(&call, &v.r.f, future);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_NOT_DONE(future);
    CHECK_INT(job.interrupts, 0);
    rig_open_gate(&v.r);
    settle(&v.r.f);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(future);
    venue_close(&v);
}

TEST(executor_submit_keeps_the_failure_code, "AbstractExecutorServiceTest.testSubmitEE")
{
    struct venue v;
    struct job job = {.rig = &v.r, .code = CODE};
    hora_future *future;

    venue_open(&v, DIRECT);
    CHECK_OK(hora_executor_submit(&v.executor, JOB(&job), &future));
    CHECK_FAILED(future, CODE);
    CHECK_INT(job.result_drops, 1);
    (void)hora_future_unref(future);
    venue_close(&v);
}

/* The two timelines would differ if it were not so. */
TEST(executor_timed_waits_obey_its_clock, "")
{
    struct venue v;
    struct job job = A_WAITING_JOB(&v.r);
    struct call call;
    hora_future *future;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_executor_submit(&v.executor, JOB(&job), &future));
    start_get_for(&call, &v.r.f, future, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    (void)hora_future_unref(future);
    venue_close(&v);
}

/* ---- other executors ---- */

static int refuse(hora_future *future, void *self)
{
    CHECK(!hora_future_is_done(future));
    ++*(int *)self;
    return HORA_ENOTSUP;
}

TEST(executor_that_refuses_leaves_the_task_to_the_caller, "")
{
    int calls = 0;
    hora_executor nowhere = {.execute = refuse, .arg = &calls};
    struct job job = {.rig = NULL};
    hora_future *future = (hora_future *)untouched;

    CHECK_ERROR(hora_executor_submit(&nowhere, JOB(&job), &future), HORA_ENOTSUP);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_INT(calls, 1);
}

/* Like an event loop: a list of tasks that runs later. */
static int execute_later(hora_future *future, void *self)
{
    return hora_queue_offer(self, hora_future_ref(future));
}

TEST(executor_may_run_it_later, "")
{
    struct fixture f;
    struct job jobs[2] = {{.rig = NULL}, {.rig = NULL}};
    hora_future *futures[2];

    fixture_open_queue(&f, ARRAY, 2);
    hora_executor loop = {.execute = execute_later, .arg = f.queue, .clock = f.view};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_executor_submit(&loop, JOB(&jobs[i]), &futures[i]));
        CHECK_NOT_DONE(futures[i]);
    }
    CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_REMOVED);
    for (int i = 0; i < 2; i++) {
        void *next;

        CHECK_OK(hora_queue_poll(f.queue, &next));
        CHECK_INT(hora_future_run(next), i == 0);
        (void)hora_future_unref(next);
    }
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_DONE(futures[1], HORA_ECANCELED, NULL);
    release_futures(futures, 2);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[1], 0);
    fixture_close(&f);
}
