/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - which tasks a pool runs, in which order, and its queries */
#include "pool_support.h"

/* A task that looks at its pool, then waits at the gate. */
struct look {
    struct rig *rig;
    hora_pool_stats seen;
    hora_queue *queue;
    hora_pool *current;
    bool terminating;
};

static int look_around(void *arg, void **ret_result)
{
    struct look *look = arg;

    (void)ret_result;
    look->seen = rig_stats_now(look->rig);
    look->queue = hora_pool_queue(look->rig->pool);
    look->current = hora_pool_current();
    look->terminating = hora_pool_is_terminating(look->rig->pool);
    return hora_latch_await(look->rig->gate);
}

static void execute_look(struct rig *r, struct look *look)
{
    *look = (struct look){.rig = r};
    CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(look_around, look)));
}

ON_BOTH_POOLS(executes_a_task, "testExecute", "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    rig_close(&r);
}

ON_BOTH_POOLS(counts_active_workers, "testGetActiveCount", "CP-TPE4")
{
    struct rig r;
    struct look look;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).active, 0);
    execute_look(&r, &look);
    CHECK_INT(rig_stats_now(&r).active, 1); /* before its thread has begun, too */
    settle(&r.f);
    CHECK_INT(look.seen.active, 1);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK_POINTER(look.current, r.pool);
    CHECK_POINTER(hora_pool_current(), NULL);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).active, 0);
    rig_close(&r);
}

ON_BOTH_POOLS(prestarts_core_threads_one_by_one, "testPrestartCoreThread", "CP-TPE20 CP-TPE23")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 6, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).threads, 0);
    for (int i = 1; i <= 2; i++) {
        CHECK_INT(hora_pool_prestart(r.pool), 1);
        CHECK_INT(rig_stats(&r).threads, i);
    }
    CHECK_INT(hora_pool_prestart(r.pool), 0);
    CHECK_INT(rig_stats(&r).threads, 2);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 4, NULL));
    CHECK_INT(rig_stats(&r).threads, 2);
    for (int i = 3; i <= 4; i++) {
        CHECK_INT(hora_pool_prestart(r.pool), 1);
        CHECK_INT(rig_stats(&r).threads, i);
    }
    CHECK_INT(hora_pool_prestart(r.pool), 0);
    CHECK_INT(rig_stats(&r).threads, 4);
    CHECK_INT(rig_stats(&r).active, 0);
    rig_close(&r);
}

ON_BOTH_POOLS(prestarts_all_core_threads, "testPrestartAllCoreThreads", "CP-TPE23")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 6, .queue_capacity = 10));
    CHECK_INT(hora_pool_prestart_all(r.pool), 2);
    CHECK_INT(rig_stats(&r).threads, 2);
    CHECK_INT(hora_pool_prestart_all(r.pool), 0);
    CHECK_INT(rig_stats(&r).threads, 2);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 4, NULL));
    CHECK_INT(hora_pool_prestart_all(r.pool), 2);
    CHECK_INT(hora_pool_prestart_all(r.pool), 0);
    CHECK_INT(rig_stats(&r).threads, 4);
    rig_close(&r);
}

TEST(pool_prestarts_nothing_after_shutdown, "")
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(hora_pool_prestart(r.pool), HORA_ESHUTDOWN);
    CHECK_INT(hora_pool_prestart_all(r.pool), 0);
    rig_close(&r);
}

ON_BOTH_POOLS(counts_completed_tasks, "testGetCompletedTaskCount", "CP-TPE6")
{
    struct rig r;
    struct look look;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).completed, 0);
    execute_look(&r, &look);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_INT(look.seen.completed, 0);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).completed, 1);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_core_threads, "testGetCorePoolSize", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).core_threads, 1);
    CHECK_INT(rig_stats(&r).max_threads, 1);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_largest_size, "testGetLargestPoolSize", "")
{
    struct rig r;
    struct look looks[3];

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 3, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).largest, 0);
    for (int i = 0; i < 3; i++)
        execute_look(&r, &looks[i]);
    CHECK_INT(rig_stats(&r).largest, 3);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_INT(rig_stats(&r).largest, 3);
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_maximum, "testGetMaximumPoolSize", "")
{
    struct rig r;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 3, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).max_threads, 3);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 5, NULL));
    CHECK_INT(rig_stats(&r).max_threads, 5);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 4, NULL));
    CHECK_INT(rig_stats(&r).max_threads, 4);
    rig_close(&r);
}

ON_BOTH_POOLS(knows_its_size, "testGetPoolSize", "CP-TPE3")
{
    struct rig r;
    struct look look;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).threads, 0);
    execute_look(&r, &look);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(look.seen.threads, 1);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_INT(rig_stats_now(&r).threads, 0);
    rig_close(&r);
}

ON_BOTH_POOLS(counts_tasks, "testGetTaskCount", "CP-TPE5")
{
    struct rig r;
    struct look looks[4];

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_INT(rig_stats(&r).tasks, 0);
    execute_look(&r, &looks[0]);
    CHECK_INT(rig_stats(&r).tasks, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(rig_stats(&r).tasks, 1 + i);
        CHECK_INT(rig_stats(&r).completed, 0);
        execute_look(&r, &looks[1 + i]);
    }
    CHECK_INT(rig_stats(&r).tasks, 4);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    for (int i = 1; i < 4; i++)
        CHECK_INT(looks[i].seen.tasks, 4);
    CHECK_INT(rig_stats(&r).tasks, 4);
    CHECK_INT(rig_stats(&r).completed, 4);
    rig_close(&r);
}

ON_BOTH_POOLS(shows_its_queue, "testGetQueue", "")
{
    struct rig r;
    struct look looks[5];
    hora_future *futures[5];

    rig_prepare(&r, hooked);
    CHECK_OK(make_queue(&r.f, ARRAY, 10, NULL, r.f.view, &r.f.queue));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = r.f.queue));
    for (int i = 0; i < 5; i++) {
        looks[i] = (struct look){.rig = &r};
        CHECK_OK(hora_future_new(HORA_TASK(look_around, &looks[i]), &futures[i]));
        CHECK_OK(hora_pool_execute_future(r.pool, futures[i]));
    }
    settle(&r.f);
    CHECK_POINTER(hora_pool_queue(r.pool), r.f.queue);
    CHECK_INT(hora_queue_contains(r.f.queue, futures[0]), 0);
    CHECK_INT(hora_queue_contains(r.f.queue, futures[4]), 1);
    CHECK_INT(hora_queue_size(r.f.queue), 4);
    rig_open_gate(&r);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        hora_future_unref(futures[i]);
        CHECK_POINTER(looks[i].queue, r.f.queue);
    }
    rig_close(&r);
}

ON_BOTH_POOLS(removes_what_is_queued, "testRemove", "CP-TPE5 CP-TPE33")
{
    struct rig r;
    struct job jobs[6];
    hora_future *futures[6];

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    for (int i = 0; i < 6; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(&r);
        futures[i] = submit_job(&r, &jobs[i]);
    }
    CHECK_INT(rig_stats(&r).tasks, 6);
    CHECK_INT(hora_pool_remove(r.pool, futures[0]), 0);
    CHECK_INT(hora_pool_remove(r.pool, futures[4]), 1);
    CHECK_INT(hora_pool_remove(r.pool, futures[4]), 0);
    CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[4]), 0);
    CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[3]), 1);
    CHECK_INT(hora_pool_remove(r.pool, futures[3]), 1);
    CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[3]), 0);
    CHECK_INT(rig_stats(&r).tasks, 4);
    CHECK_INT(rig_stats(&r).handed_back, 2);
    CHECK_NOT_DONE(futures[3]);
    CHECK_INT(jobs[3].drops, 0);
    rig_finish(&r);
    for (int i = 0; i < 6; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i == 3 || i == 4 ? 0 : 1);
    }
    rig_close(&r);
}

ON_BOTH_POOLS(purges_cancelled_tasks, "testPurge", "CP-TPE5 CP-TPE34")
{
    struct rig r;
    struct job jobs[5];
    hora_future *futures[5];

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10, .keep_cancelled = true));
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(&r);
        futures[i] = submit_job(&r, &jobs[i]);
    }
    CHECK_INT(rig_stats(&r).tasks, 5);
    CHECK_INT(rig_stats(&r).queued, 4);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_INT(hora_future_cancel(futures[4], true), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_future_cancel(futures[3], false), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 4);
    CHECK_INT(hora_pool_purge(r.pool), 2);
    CHECK_INT(rig_stats(&r).queued, 2);
    CHECK_INT(rig_stats(&r).tasks, 3);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    CHECK_INT(rig_stats(&r).queued, 2);
    CHECK_INT(rig_stats(&r).tasks, 3);
    rig_finish(&r);
    for (int i = 0; i < 5; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i < 3 ? 1 : 0);
    }
    rig_close(&r);
}

/* The test does not read the queue before, so a cancelled task is found wherever it is by then. */
TEST(pool_takes_out_cancelled_tasks, "")
{
    struct rig r;
    struct job jobs[4] = {A_WAITING_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 4; i++)
        futures[i] = submit_job(&r, &jobs[i]);
    CHECK_INT(hora_future_cancel(futures[2], false), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_future_cancel(futures[3], true), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_INT(rig_stats(&r).cancelled, 2);
    CHECK_INT(rig_stats(&r).accepted, 4);
    rig_finish(&r);
    CHECK_INT(rig_stats(&r).completed, 2);
    CHECK_INT(rig_stats(&r).cancelled, 2);
    for (int i = 0; i < 4; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i < 2 ? 1 : 0);
    }
    rig_close(&r);
}

TEST(pool_worker_that_meets_a_cancelled_task_counts_it, "CP-TPE6")
{
    struct rig r;
    struct job jobs[2] = {A_WAITING_JOB(&r), A_JOB(&r)};
    hora_future *future;

    rig_open(&r, true, HORA_POOL_OPTIONS(.core_threads = 1, .keep_cancelled = true));
    execute_job(&r, &jobs[0]);
    future = submit_job(&r, &jobs[1]);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_JOB(&jobs[1], 0);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).completed, 2);
    CHECK_INT(rig_stats(&r).cancelled, 1);
    CHECK_INT(rig_stats(&r).done, 1);
    CHECK_INT(r.after, 2);
    hora_future_unref(future);
    rig_close(&r);
}

ON_BOTH_POOLS(gives_the_result_of_a_submitted_task, "testSubmitCallable", "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;
    void *result = untouched;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    future = submit_job(&r, &job);
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &job);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_INT(job.result_drops, 1);
}

static int no_result(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

ON_BOTH_POOLS(completes_a_submitted_task_without_a_result, "testSubmitRunnable", "")
{
    struct rig r;
    hora_future *future;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(no_result, NULL), &future));
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(hora_future_is_done(future));
    CHECK_DONE(future, 0, NULL);
    hora_future_unref(future);
    rig_close(&r);
}

static int return_argument(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

ON_BOTH_POOLS(gives_the_value_a_submitted_task_was_given, "testSubmitRunnable2", "")
{
    struct rig r;
    hora_future *future;
    void *result = NULL;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 10));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(return_argument, item(3)), &future));
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, item(3));
    hora_future_unref(future);
    rig_close(&r);
}

ON_BOTH_POOLS(takes_no_null_task, "testNullTaskSubmission", "")
{
    struct rig r;
    hora_future *future = (hora_future *)untouched, *promise;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    CHECK_ERROR(hora_pool_execute(r.pool, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_execute(r.pool, HORA_TASK(NULL, NULL)), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit(r.pool, NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit(r.pool, HORA_TASK(NULL, NULL), &future), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit(r.pool, HORA_TASK(no_result, NULL), NULL), HORA_EINVAL);
    CHECK_ERROR(hora_pool_execute(NULL, HORA_TASK(no_result, NULL)), HORA_EINVAL);
    CHECK_ERROR(hora_pool_submit(NULL, HORA_TASK(no_result, NULL), &future), HORA_EINVAL);
    CHECK_ERROR(hora_pool_execute_future(r.pool, NULL), HORA_EINVAL);
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    CHECK_ERROR(hora_pool_execute_future(r.pool, promise), HORA_EINVAL);
    hora_future_unref(promise);
    CHECK_POINTER(future, untouched);
    CHECK_INT(rig_stats(&r).accepted, 0);
    rig_close(&r);
}

/* The interrupt is for the waiting thread; the task is not disturbed. */
TEST(pool_task_is_not_disturbed_by_an_interrupt_of_its_waiter, "ThreadPoolExecutorTest.testInterruptedSubmit")
{
    struct rig r;
    struct call call;
    struct job job = A_WAITING_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 10));
    future = submit_job(&r, &job);
    start_get(&call, &r.f, future);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(job.interrupts, 0);
    CHECK_NOT_DONE(future);
    rig_open_gate(&r);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_INT(job.interrupts, 0);
    hora_future_unref(future);
    rig_close(&r);
}

ON_BOTH_POOLS(cancelled_tasks_report_so_at_once, "testGet_cancelled", "")
{
    struct rig r;
    struct job jobs[2] = {A_WAITING_JOB(&r), A_JOB(&r)};
    hora_future *futures[2];

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++)
        futures[i] = submit_job(&r, &jobs[i]);
    settle(&r.f);
    CHECK_INT(hora_future_cancel(futures[0], false), HORA_CANCEL_RUNNING);
    CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_REMOVED);
    for (int i = 0; i < 2; i++)
        CHECK_DONE(futures[i], HORA_ECANCELED, NULL);
    CHECK_INT(jobs[0].ends, 0);
    CHECK_INT(jobs[0].drops, 0);
    rig_finish(&r);
    for (int i = 0; i < 2; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i == 0 ? 1 : 0);
    }
    rig_close(&r);
}

/* A second entry of the same future finds it done, and is counted all the same. */
TEST(pool_task_may_be_queued_several_times, "CP-TPE37 CP-TPE33")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&r, &blocker);
    CHECK_OK(hora_future_new(JOB(&job), &future));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_pool_execute_future(r.pool, future));
    CHECK_INT(hora_pool_remove(r.pool, future), 1);
    CHECK_INT(rig_stats(&r).queued, 2);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).completed, 3);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

/* A task that is posted to a pool's own queue makes its descriptor readable, whether or not a worker waits
 * there. */
TEST(pool_queue_has_a_descriptor, "")
{
    struct rig r;
    struct job jobs[3] = {A_WAITING_JOB(&r), A_WAITING_JOB(&r), A_WAITING_JOB(&r)};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    int fd = hora_queue_fd(hora_pool_queue(r.pool));
    CHECK(fd >= 0);
    CHECK(!is_readable(fd));
    execute_job(&r, &jobs[0]);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK(!is_readable(fd));
    execute_job(&r, &jobs[1]);
    CHECK(is_readable(fd) != rigs_have_admission()); /* there nothing can be taken: it may not begin */
    execute_job(&r, &jobs[2]);
    CHECK(is_readable(fd) != rigs_have_admission());
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).done, 3);
    CHECK(!is_readable(fd));
    rig_close(&r);
}
