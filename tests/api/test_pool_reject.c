/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_reject.c - tasks for which there is no room: the rejection policies */
#include "pool_support.h"

/* A handler that records its argument, and ignores the future. */
static struct {
    hora_pool *pool;
    hora_future *future;
    bool done;
    int calls;
    int answer;
    const void *arg;
} seen;

static int note(hora_pool *pool, hora_future *future, void *context)
{
    seen.arg = context;
    seen.pool = pool;
    seen.future = future;
    seen.done = hora_future_is_done(future);
    seen.calls++;
    return seen.answer;
}

/* The ways to give a pool a task. Returns what the call did, and the future if there is one. */
enum way { EXECUTE, SUBMIT, EXECUTE_FUTURE, WAYS };

static int give(struct rig *r, enum way way, struct job *job, hora_future **ret_future)
{
    int error;

    *ret_future = NULL;
    if (way == EXECUTE)
        return hora_pool_execute(r->pool, JOB(job));
    if (way == SUBMIT)
        return hora_pool_submit(r->pool, JOB(job), ret_future);
    error = hora_future_new(JOB(job), ret_future);
    return error < 0 ? error : hora_pool_execute_future(r->pool, *ret_future);
}

static void check_handler_is_called(struct rig *r)
{
    CHECK_OK(hora_pool_set_reject(r->pool, HORA_REJECT_CALLBACK, note, &seen, NULL));
    for (int i = 0; i < 2 * WAYS; i++) {
        struct job job = A_JOB(r);
        hora_future *future;

        seen.calls = seen.answer = 0;
        CHECK_OK(give(r, (enum way)(i % WAYS), &job, &future));
        CHECK_INT(seen.calls, 1);
        CHECK_POINTER(seen.pool, r->pool);
        CHECK_POINTER(seen.arg, &seen); /* as it was set, not that of the options */
        CHECK(!seen.done);
        if (future != NULL) {
            CHECK_POINTER(seen.future, future);
            CHECK_NOT_DONE(future);
        }
        hora_future_unref(future);
        CHECK_JOB(&job, 0);
    }
}

/* The caller keeps the task, unless it is a future, which keeps it anyway. */
static void check_aborted(struct rig *r)
{
    CHECK_OK(hora_pool_set_reject(r->pool, HORA_REJECT_ABORT, NULL, NULL, NULL));
    for (int i = 0; i < WAYS; i++) {
        struct job job = A_JOB(r);
        hora_future *future;

        CHECK_ERROR(give(r, (enum way)i, &job, &future), HORA_EREJECTED);
        CHECK_INT(job.drops, 0);
        CHECK_INT(job.runs, 0);
        if (i == EXECUTE_FUTURE)
            CHECK_NOT_DONE(future);
        else
            CHECK_POINTER(future, NULL);
        hora_future_unref(future);
    }
}

/* Dropped, or run by this thread. */
static void check_settled(struct rig *r, hora_reject rule, int runs)
{
    CHECK_OK(hora_pool_set_reject(r->pool, rule, NULL, NULL, NULL));
    for (int i = 0; i < WAYS; i++) {
        struct job job = A_JOB(r);
        hora_future *future;

        CHECK_OK(give(r, (enum way)i, &job, &future));
        CHECK_JOB(&job, runs);
        if (future != NULL)
            CHECK_DONE(future, runs ? 0 : HORA_EREJECTED, &job);
        if (future != NULL && !runs)
            CHECK_INT(hora_future_failure(future), HORA_EREJECTED);
        hora_future_unref(future);
    }
}

static void check_all_rejected(struct rig *r)
{
    hora_pool_stats before = rig_stats(r), after;

    check_handler_is_called(r);
    check_aborted(r);
    check_settled(r, HORA_REJECT_DISCARD, 0);
    check_settled(r, HORA_REJECT_CALLER_RUNS, hora_pool_is_shutdown(r->pool) ? 0 : 1);
    if (hora_pool_is_shutdown(r->pool))
        check_settled(r, HORA_REJECT_DISCARD_OLDEST, 0);
    after = rig_stats(r);
    CHECK_INT(after.tasks, before.tasks);
    CHECK_INT(after.completed, before.completed);
    CHECK_INT(after.queued, before.queued);
    CHECK_INT(after.accepted, before.accepted);
}

static void rejects_all(bool hooked, bool stop)
{
    struct rig r;
    struct job jobs[2] = {A_DEAF_JOB(&r), A_DEAF_JOB(&r)};
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    rig_open(&r, hooked, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1));
    for (int i = 0; i < 2; i++)
        execute_job(&r, &jobs[i]);
    check_all_rejected(&r);
    CHECK_OK(stop ? hora_pool_shutdown_now(r.pool, &list) : hora_pool_shutdown(r.pool));
    CHECK_INT(list.count, stop ? 1 : 0);
    hora_future_list_cancel(&list);
    CHECK(!hora_pool_is_terminated(r.pool));
    check_all_rejected(&r);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    check_all_rejected(&r);
    CHECK_INT(rig_stats(&r).completed, stop ? 1 : 2);
    if (hooked)
        CHECK_INT(r.after, stop ? 1 : 2);
    rig_close(&r);
}

ON_BOTH_POOLS(rejects_when_saturated_or_shut_down, "testSubmittedTasksRejectedWhenSaturatedOrShutdown",
              "CP-TPE5 CP-TPE35 CP-TPE36")
{
    rejects_all(hooked, false);
    rejects_all(hooked, true);
}

ON_BOTH_POOLS(discards_the_oldest, "testSaturatedExecute_DiscardOldestPolicy", "CP-TPE5 CP-TPE36")
{
    struct rig r;
    struct job jobs[3];
    hora_future *futures[3];

    rig_open(&r, hooked,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD_OLDEST));
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(&r);
        futures[i] = submit_job(&r, &jobs[i]);
        settle(&r.f);
    }
    CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[1]), 0);
    CHECK_INT(hora_queue_contains(hora_pool_queue(r.pool), futures[2]), 1);
    CHECK_DONE(futures[1], HORA_EREJECTED, NULL);
    CHECK_JOB(&jobs[1], 0);
    CHECK_INT(rig_stats(&r).rejected, 1);
    CHECK_INT(rig_stats(&r).tasks, 2);
    rig_finish(&r);
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_DONE(futures[2], 0, &jobs[2]);
    for (int i = 0; i < 3; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

ON_BOTH_POOLS(discards_the_newest_after_shutdown, "testDiscardOldestOnShutdown", "CP-TPE36")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(&r, hooked,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_DISCARD_OLDEST));
    CHECK_OK(hora_pool_shutdown(r.pool));
    execute_job(&r, &job);
    CHECK_JOB(&job, 0);
    rig_close(&r);
}

/* There is never anything to discard: the new one is dropped instead, and the call ends. */
TEST(pool_discarding_the_oldest_of_a_synchronous_queue_ends, "CP-TPE36")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    rig_open(
        &r, false,
        HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1, .reject = HORA_REJECT_DISCARD_OLDEST));
    execute_job(&r, &blocker);
    execute_job(&r, &job);
    CHECK_JOB(&job, 0);
    rig_close(&r);
}

/* A queue that a caller has closed will never have room either: it is empty and rejects everything. Not
 * simulated, because the worker then polls it repeatedly. */
TEST_REAL(pool_discarding_the_oldest_of_a_closed_queue_ends, "CP-TPE36")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    hora_queue *queue;

    CHECK_OK(hora_queue_new_array(1, NULL, &queue, NULL));
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue, .reject = HORA_REJECT_DISCARD_OLDEST));
    execute_job(&r, &blocker);
    CHECK_OK(hora_queue_close(queue));
    execute_job(&r, &job);
    CHECK_JOB(&job, 0);
    rig_close(&r);
    CHECK_OK(hora_queue_free(queue));
}

/* A pool without room, and without anything to do. */
TEST(pool_standard_rules_do_what_they_say,
     "ThreadPoolExecutorTest.testStandardRejectedExecutionHandlers CP-TPE36")
{
    struct rig r;

    rig_prepare(&r, true);
    r.factory_error = HORA_EAGAIN;
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1, .thread_factory = rig_factory));
    check_aborted(&r);
    check_settled(&r, HORA_REJECT_DISCARD, 0);
    check_settled(&r, HORA_REJECT_CALLER_RUNS, 1);
    CHECK_INT(rig_stats(&r).tasks, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_INT(r.before, 0); /* the caller's runs are outside the hooks */
    CHECK(!hora_interrupted());
    rig_close(&r);
}

/* 1000 times in the JDK. A future is done after one run, so it is the task that is given again. */
static void recycled_task_runs_every_time(int times)
{
    struct rig r;
    struct job job = A_JOB(&r);
    int given = 0;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 30, .queue_capacity = 3));
    while (given < times) {
        int error = hora_pool_execute(r.pool, HORA_TASK(job_run, &job));

        if (error == 0)
            given++;
        else if (!CHECK_ERROR(error, HORA_EREJECTED))
            break;
    }
    rig_close(&r);
    CHECK_INT(job.runs, times);
}

TEST(pool_recycled_task_runs_every_time, "ThreadPoolExecutorTest.testRejectedRecycledTask CP-TPE37")
{
    recycled_task_runs_every_time(test_simulated() ? 20 : 1000);
}

TEST(pool_future_may_be_given_again_after_a_rejection, "CP-TPE37")
{
    struct rig r;
    struct job blockers[2], job = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1));
    execute_jobs(&r, blockers, 2);
    CHECK_OK(hora_future_new(JOB(&job), &future));
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(hora_pool_execute_future(r.pool, future), HORA_EREJECTED);
    CHECK_NOT_DONE(future);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

TEST(pool_handler_error_is_the_error_of_the_call, "CP-TPE35")
{
    struct rig r;
    struct job blockers[2], job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_CALLBACK,
                               .reject_handler = note));
    execute_jobs(&r, blockers, 2);
    seen.answer = HORA_ENOTSUP;
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), HORA_ENOTSUP);
    CHECK_POINTER(seen.arg, &r);
    CHECK_ERROR(hora_pool_submit(r.pool, JOB(&job), &future), HORA_ENOTSUP);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.drops, 0);
    rig_close(&r);
}

/* The handler keeps the future and runs it later, with the pool's doors open: it may call anything. */
static int keep(hora_pool *pool, hora_future *future, void *context)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    (void)context;
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_OK(hora_pool_set_max_threads(pool, stats.max_threads, NULL));
    seen.future = hora_future_ref(future);
    return 0;
}

TEST(pool_handler_may_keep_the_future_and_run_it_later, "CP-TPE35")
{
    struct rig r;
    struct job blockers[2], job = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_CALLBACK,
                               .reject_handler = keep));
    execute_jobs(&r, blockers, 2);
    future = submit_job(&r, &job);
    CHECK_POINTER(future, seen.future);
    CHECK_INT(hora_future_run(seen.future), 1);
    hora_future_unref(seen.future);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

/* A handler's answer above 0 is no error. */
TEST(pool_handler_that_answers_more_than_zero_has_taken_care, "")
{
    struct rig r;
    struct job blockers[2], job = A_JOB(&r);

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_CALLBACK,
                               .reject_handler = note));
    execute_jobs(&r, blockers, 2);
    seen.answer = 1;
    CHECK_OK(hora_pool_execute(r.pool, JOB(&job)));
    CHECK_JOB(&job, 0);
    rig_close(&r);
}

/* ---- HORA_REJECT_BLOCK ---- */

static void open_full_pool(struct rig *r, struct job *blockers, hora_ns timeout)
{
    rig_open(r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK,
                               .reject_timeout = timeout));
    execute_jobs(r, blockers, 2);
}

TEST(pool_submitter_waits_for_room, "")
{
    struct rig r;
    struct call calls[2];
    struct job blockers[2], jobs[2] = {A_JOB(&r), A_JOB(&r)};

    open_full_pool(&r, blockers, 0);
    for (int i = 0; i < 2; i++)
        start_execute(&calls[i], &r, &jobs[i]);
    CHECK_BLOCKED(&calls[0]);
    advance(&r.f, HORA_FOREVER);
    CHECK_BLOCKED(&calls[1]);
    rig_open_gate(&r);
    for (int i = 0; i < 2; i++)
        CHECK_RETURNS(&calls[i], 0);
    settle(&r.f);
    for (int i = 0; i < 2; i++)
        CHECK_JOB(&jobs[i], 1);
    rig_close(&r);
}

/* A cancelled, a removed and a purged task make room as well. */
TEST(pool_submitter_gets_the_room_that_a_cancel_leaves, "")
{
    struct rig r;
    struct call call;
    struct job blocker = A_WAITING_JOB(&r), queued = A_JOB(&r), job = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK));
    execute_job(&r, &blocker);
    future = submit_job(&r, &queued);
    start_execute(&call, &r, &job);
    CHECK_BLOCKED(&call);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_RETURNS(&call, 0);
    CHECK_INT(job.runs, 0);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

TEST(pool_submitter_gives_up_when_its_time_is_over, "")
{
    struct rig r;
    struct call call;
    struct job blockers[2], job = A_JOB(&r);

    open_full_pool(&r, blockers, A_WHILE);
    start_execute(&call, &r, &job);
    CHECK_WAITS_FOR(&call, A_WHILE, HORA_EREJECTED);
    CHECK_INT(job.drops, 0);
    rig_close(&r);
    CHECK_INT(job.runs, 0);
}

TEST(pool_submitter_that_waits_is_interruptible, "")
{
    struct rig r;
    struct call call;
    struct job blockers[2], job = A_JOB(&r);

    open_full_pool(&r, blockers, 0);
    CHECK_INTERRUPTED(hora_pool_execute(r.pool, JOB(&job)), NULL);
    start_execute(&call, &r, &job);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_INT(job.drops, 0);
    rig_close(&r);
    CHECK_INT(job.runs, 0);
}

TEST(pool_submitter_that_waits_is_turned_away_at_shutdown, "")
{
    for (int stop = 0; stop < 2; stop++) {
        struct rig r;
        struct call call;
        struct job blockers[2], job = A_JOB(&r);

        open_full_pool(&r, blockers, 0);
        start_execute(&call, &r, &job);
        CHECK_BLOCKED(&call);
        CHECK_OK(stop ? hora_pool_shutdown_now(r.pool, NULL) : hora_pool_shutdown(r.pool));
        CHECK_RETURNS(&call, HORA_EREJECTED);
        CHECK_ERROR(hora_pool_execute(r.pool, JOB(&job)), HORA_EREJECTED);
        CHECK_INT(job.drops, 0);
        rig_close(&r);
    }
}

static int submit_to_own_pool(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    CHECK_OK(hora_latch_await(job->rig->gate));
    return hora_pool_execute(job->rig->pool, JOB(job));
}

TEST(pool_worker_does_not_wait_for_room_in_its_own_pool, "")
{
    struct rig r;
    struct job job = A_JOB(&r), queued = A_JOB(&r);
    hora_future *future;

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1, .reject = HORA_REJECT_BLOCK));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(submit_to_own_pool, &job), &future));
    execute_job(&r, &queued);
    rig_open_gate(&r);
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    CHECK_INT(hora_future_failure(future), HORA_EDEADLK);
    CHECK_INT(job.drops, 0);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(pool_submitter_gets_the_thread_that_a_larger_maximum_allows, "")
{
    struct rig r;
    struct call call;
    struct job blockers[2], job = A_JOB(&r);

    open_full_pool(&r, blockers, 0);
    start_execute(&call, &r, &job);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 2, NULL));
    CHECK_RETURNS(&call, 0);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}
