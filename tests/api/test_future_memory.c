/* SPDX-License-Identifier: Apache-2.0 */
/* test_future_memory.c - ownership of argument, result and memory of a future */
#include <string.h>

#include "pool_support.h"

TEST(future_that_never_ran_drops_its_task_with_the_last_reference, "")
{
    struct job job = A_JOB(NULL);
    hora_future *future;

    CHECK_OK(hora_future_new(JOB(&job), &future));
    CHECK_POINTER(hora_future_ref(future), future);
    CHECK_POINTER(hora_future_unref(future), NULL);
    CHECK_INT(job.drops, 0);
    CHECK_POINTER(hora_future_unref(future), NULL);
    CHECK_JOB(&job, 0);
    CHECK_POINTER(hora_future_ref(NULL), NULL);
    CHECK_POINTER(hora_future_unref(NULL), NULL);
}

TEST(future_result_is_dropped_unless_it_is_taken, "")
{
    for (int take = 0; take < 2; take++) {
        struct job job = A_JOB(NULL);
        hora_future *future;
        void *result = untouched;

        CHECK_OK(hora_future_new(JOB(&job), &future));
        CHECK_INT(hora_future_run(future), 1);
        CHECK_OK(hora_future_get(future, &result)); /* looking is not taking */
        if (take) {
            result = untouched;
            CHECK_OK(hora_future_take_result(future, &result));
            CHECK_POINTER(result, &job);
            result = untouched;
            CHECK_ERROR(hora_future_take_result(future, &result), HORA_EEMPTY);
            CHECK_POINTER(result, untouched);
        }
        hora_future_unref(future);
        CHECK_INT(job.result_drops, take ? 0 : 1);
    }
}

static void take_it(void *arg)
{
    hora_future *future = arg;
    void *result;
    int error = hora_future_take_result(future, &result);

    if (error == 0)
        job_drop_result(result);
    else
        CHECK(error == HORA_EEMPTY || error == HORA_EAGAIN);
    hora_future_unref(future);
}

TEST(future_result_is_taken_by_one_only, "")
{
    struct job job = A_JOB(NULL);
    hora_future *future;
    test_thread *threads[2];

    CHECK_OK(hora_future_new(JOB(&job), &future));
    for (int i = 0; i < 2; i++)
        threads[i] = test_thread_start(NULL, take_it, hora_future_ref(future));
    CHECK_INT(hora_future_run(future), 1);
    for (int i = 0; i < 2; i++)
        test_thread_join(threads[i]);
    hora_future_unref(future);
    CHECK_INT(job.result_drops, 1);
}

TEST(future_knows_its_task_and_where_it_was_written, "")
{
    struct job job = A_JOB(NULL);
    hora_future *future, *promise;
    const hora_task *task;

    CHECK_OK(hora_future_new(HORA_TASK(job_run, &job, .name = "mill"), &future));
    task = hora_future_task(future);
    CHECK(task->run == job_run);
    CHECK_POINTER(task->arg, &job);
    CHECK(strcmp(task->name, "mill") == 0);
    CHECK(strstr(task->file, "test_future_memory.c") != NULL);
    CHECK(task->line > 0);
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK(hora_future_task(promise)->run == NULL);
    CHECK_POINTER(hora_future_task(NULL), NULL);
    hora_future_unref(promise);
    hora_future_unref(future);
}

TEST(future_calls_without_a_future_are_refused, "")
{
    void *result = untouched;

    CHECK_ERROR(hora_future_run(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_run_and_reset(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_complete(NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_fail(NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_future_cancel(NULL, true), HORA_EINVAL);
    CHECK_ERROR(hora_future_get(NULL, &result), HORA_EINVAL);
    CHECK_ERROR(hora_future_get_for(NULL, 0, &result), HORA_EINVAL);
    CHECK_ERROR(hora_future_take_result(NULL, &result), HORA_EINVAL);
    CHECK_ERROR(hora_future_on_done(NULL, job_done, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_fd(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_reclaim(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_describe(NULL, NULL, 0), HORA_EINVAL);
    CHECK_INT(hora_future_get_state(NULL), HORA_FUTURE_CANCELLED);
    CHECK_INT(hora_future_failure(NULL), 0);
    CHECK_POINTER(result, untouched);
}

/* ---- promises ---- */

TEST(promise_is_completed_by_hand, "")
{
    struct job job = A_JOB(NULL);
    hora_future *promise;

    CHECK_OK(hora_future_new_promise(job_drop_result, &promise));
    CHECK_NOT_DONE(promise);
    CHECK_ERROR(hora_future_run(promise), HORA_EINVAL);
    CHECK_ERROR(hora_future_run_and_reset(promise), HORA_EINVAL);
    CHECK_INT(hora_future_complete(promise, &job), 1);
    CHECK_DONE(promise, 0, &job);
    hora_future_unref(promise);
    CHECK_INT(job.result_drops, 1);
}

TEST(promise_can_fail_or_be_cancelled, "")
{
    hora_future *promises[2];

    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_future_new_promise(NULL, &promises[i]));
    CHECK_INT(hora_future_fail(promises[0], 4), 1);
    CHECK_INT(hora_future_cancel(promises[1], true), HORA_CANCEL_REMOVED);
    CHECK_DONE(promises[0], HORA_EFAILED, NULL);
    CHECK_DONE(promises[1], HORA_ECANCELED, NULL);
    for (int i = 0; i < 2; i++)
        hora_future_unref(promises[i]);
}

/* At 0 the caller still owns the result. */
TEST(promise_that_is_done_does_not_take_another_result, "")
{
    struct job jobs[2] = {A_JOB(NULL), A_JOB(NULL)};
    hora_future *promise;

    CHECK_OK(hora_future_new_promise(job_drop_result, &promise));
    CHECK_INT(hora_future_complete(promise, &jobs[0]), 1);
    CHECK_INT(hora_future_complete(promise, &jobs[1]), 0);
    hora_future_unref(promise);
    CHECK_INT(jobs[0].result_drops, 1);
    CHECK_INT(jobs[1].result_drops, 0);
}

struct keeper {
    hora_future *promise;
    struct job *job;
    int completed;
};

static void keep_promise(void *arg)
{
    struct keeper *keeper = arg;

    keeper->completed = hora_future_complete(keeper->promise, keeper->job);
    if (keeper->completed == 0)
        job_drop_result(keeper->job);
}

TEST(promise_is_kept_by_one_of_many, "")
{
    struct job jobs[3] = {A_JOB(NULL), A_JOB(NULL), A_JOB(NULL)};
    struct keeper keepers[3];
    test_thread *threads[3];
    hora_future *promise;
    void *result = NULL;
    int winners = 0;

    CHECK_OK(hora_future_new_promise(job_drop_result, &promise));
    for (int i = 0; i < 3; i++) {
        keepers[i] = (struct keeper){promise, &jobs[i], 0};
        threads[i] = test_thread_start(NULL, keep_promise, &keepers[i]);
    }
    CHECK_OK(hora_future_get(promise, &result));
    for (int i = 0; i < 3; i++) {
        test_thread_join(threads[i]);
        winners += keepers[i].completed;
        CHECK_INT(keepers[i].completed, result == &jobs[i]);
    }
    CHECK_INT(winners, 1);
    hora_future_unref(promise);
    for (int i = 0; i < 3; i++)
        CHECK_INT(jobs[i].result_drops, 1);
}

/* ---- futures in memory of the caller ---- */

TEST(future_in_caller_memory_works_like_any_other, "")
{
    struct rig r;
    struct job jobs[3];
    hora_future_storage storage[3];
    hora_future *futures[3];

    rig_prepare(&r, false);
    CHECK_OK(make_queue(&r.f, ARRAY, 4, NULL, r.f.view, &r.f.queue));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = r.f.queue));
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        CHECK_OK(hora_future_init(&storage[i], JOB(&jobs[i]), &futures[i]));
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i]));
    }
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        CHECK_OK(hora_future_reclaim(futures[i]));
        memset(&storage[i], 0xee, sizeof(storage[i]));
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, 1);
    }
    rig_close(&r);
}

/* Reclaiming waits for the pool to be through with it, and does not disturb it. */
TEST(future_reclaim_lets_an_executed_task_run, "")
{
    struct rig r;
    struct job jobs[2] = {A_JOB(&r), A_JOB(&r)};
    hora_future_storage storage[2];
    hora_future *futures[2];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hora_future_init(&storage[i], JOB(&jobs[i]), &futures[i]));
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i]));
    }
    for (int i = 1; i >= 0; i--) {
        CHECK_OK(hora_future_reclaim(futures[i]));
        CHECK_JOB(&jobs[i], 1);
        memset(&storage[i], 0xee, sizeof(storage[i]));
    }
    rig_close(&r);
}

TEST(future_reclaim_cancels_a_task_that_will_not_run, "")
{
    struct job job = A_JOB(NULL);
    hora_future_storage storage;
    hora_future *future;

    CHECK_OK(hora_future_init(&storage, JOB(&job), &future));
    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    CHECK_OK(hora_future_reclaim(future));
    CHECK_JOB(&job, 0);
    CHECK_INT(job.dones, 1);
    CHECK_OK(hora_future_init(&storage, JOB(&job), &future)); /* the memory can be used again */
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_OK(hora_future_reclaim(future));
}

TEST(future_reclaim_is_only_for_memory_of_the_caller, "")
{
    struct job job = A_JOB(NULL);
    hora_future *future;

    CHECK_OK(hora_future_new(JOB(&job), &future));
    CHECK_ERROR(hora_future_reclaim(future), HORA_EINVAL);
    hora_future_unref(future);
}

static int reclaim_self(void *arg, void **ret_result)
{
    hora_future **future = arg;

    (void)ret_result;
    CHECK_ERROR(hora_future_reclaim(*future), HORA_EDEADLK);
    return 0;
}

TEST(future_cannot_reclaim_itself, "")
{
    hora_future_storage storage;
    hora_future *future;

    CHECK_OK(hora_future_init(&storage, HORA_TASK(reclaim_self, &future), &future));
    CHECK_INT(hora_future_run(future), 1);
    CHECK_OK(hora_future_reclaim(future));
}

static int run_reclaim(struct call *call)
{
    return hora_future_reclaim(call->object);
}

TEST(future_reclaim_waits_for_the_running_task, "")
{
    struct rig r;
    struct call call;
    struct job job = A_WAITING_JOB(&r);
    hora_future_storage storage;
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_future_init(&storage, JOB(&job), &future));
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    settle(&r.f);
    call = (struct call){.run = run_reclaim, .object = future};
    start_call(&call, &r.f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(call.thread))); /* it is not interruptible, */
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_OK(RESULT_OF(&call));
    CHECK(call.interrupted); /* but keeps the interrupt */
    CHECK_JOB(&job, 1);
    rig_close(&r);
}
