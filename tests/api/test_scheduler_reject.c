/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_reject.c - tasks after shutdown, for every call and every rejection policy */
#include "scheduler_support.h"

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

/* All the ways to give a scheduler a task; the delay is any. */
enum way {
    EXECUTE,
    SUBMIT,
    EXECUTE_FUTURE,
    SCHEDULE,
    SCHEDULE_AT_RATE,
    SCHEDULE_WITH_DELAY,
    SCHEDULE_WITH,
    WAYS
};

static int give(struct rig *r, enum way way, struct job *job, hora_future **ret_future)
{
    const hora_ns delay = any_timeout[test_random(5)];
    int error;

    *ret_future = NULL;
    switch (way) {
    case EXECUTE:
        return hora_pool_execute(r->pool, JOB(job));
    case SUBMIT:
        return hora_pool_submit(r->pool, JOB(job), ret_future);
    case EXECUTE_FUTURE:
        error = hora_future_new(JOB(job), ret_future);
        return error < 0 ? error : hora_pool_execute_future(r->pool, *ret_future);
    case SCHEDULE:
        return hora_scheduler_schedule(r->pool, JOB(job), delay, ret_future);
    case SCHEDULE_AT_RATE:
        return hora_scheduler_schedule_at_fixed_rate(r->pool, JOB(job), delay, A_WHILE, ret_future);
    case SCHEDULE_WITH_DELAY:
        return hora_scheduler_schedule_with_fixed_delay(r->pool, JOB(job), delay, A_WHILE, ret_future);
    case SCHEDULE_WITH:
        return hora_scheduler_schedule_with(r->pool, JOB(job),
                                            HORA_SCHEDULE(.initial_delay = A_WHILE, .fixed_rate = A_WHILE),
                                            ret_future, NULL);
    case WAYS:
        break;
    }
    return HORA_EINVAL;
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
static void check_refused_with(struct rig *r, int want)
{
    for (int i = 0; i < WAYS; i++) {
        struct job job = A_JOB(r);
        hora_future *future;

        CHECK_ERROR(give(r, (enum way)i, &job, &future), want);
        CHECK_INT(job.drops, 0);
        CHECK_INT(job.runs, 0);
        if (i == EXECUTE_FUTURE)
            CHECK_NOT_DONE(future);
        else
            CHECK_POINTER(future, NULL);
        hora_future_unref(future);
    }
}

static void check_dropped(struct rig *r, hora_reject rule)
{
    CHECK_OK(hora_pool_set_reject(r->pool, rule, NULL, NULL, NULL));
    for (int i = 0; i < WAYS; i++) {
        struct job job = A_JOB(r);
        hora_future *future;

        CHECK_OK(give(r, (enum way)i, &job, &future));
        CHECK_JOB(&job, 0);
        if (future != NULL) {
            CHECK_DONE(future, HORA_EREJECTED, NULL);
            CHECK_INT(hora_future_failure(future), HORA_EREJECTED);
        }
        hora_future_unref(future);
    }
}

static void check_all_rejected(struct rig *r)
{
    hora_pool_stats before = rig_stats(r), after;

    check_handler_is_called(r);
    seen.answer = HORA_ENOTSUP;
    check_refused_with(r, HORA_ENOTSUP); /* what the handler says */
    CHECK_OK(hora_pool_set_reject(r->pool, HORA_REJECT_ABORT, NULL, NULL, NULL));
    check_refused_with(r, HORA_EREJECTED);
    check_dropped(r, HORA_REJECT_DISCARD);
    check_dropped(r, HORA_REJECT_CALLER_RUNS);
    check_dropped(r, HORA_REJECT_DISCARD_OLDEST);
    after = rig_stats(r);
    CHECK_INT(after.tasks, before.tasks);
    CHECK_INT(after.completed, before.completed);
    CHECK_INT(after.queued, before.queued);
    CHECK_INT(after.accepted, before.accepted);
}

static void rejects_all(bool decorated, bool stop)
{
    const int core = decorated ? 2 : 1;
    struct rig r;
    struct job jobs[2] = {A_DEAF_JOB(&r), A_DEAF_JOB(&r)};

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = core));
    for (int i = 0; i < core; i++)
        execute_job(&r, &jobs[i]);
    CHECK_INT(rig_stats(&r).active, core);
    CHECK_OK(stop ? hora_pool_shutdown_now(r.pool, NULL) : hora_pool_shutdown(r.pool));
    check_all_rejected(&r);
    CHECK(!hora_pool_is_terminated(r.pool));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    check_all_rejected(&r);
    CHECK_INT(rig_stats(&r).completed, core);
    CHECK_INT(r.after, decorated ? core : 0);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(rejects_when_shut_down, "testSubmittedTasksRejectedWhenShutdown", "CP-STPE1")
{
    rejects_all(decorated, false);
    rejects_all(decorated, true);
}

TEST(scheduler_rejects_by_aborting_by_default, "ScheduledExecutorTest.testDefaultRejectedExecutionHandler")
{
    struct rig r;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_INT(rig_stats(&r).reject, HORA_REJECT_ABORT);
    CHECK(rig_stats(&r).reject_handler == NULL);
    rig_close(&r);
}

TEST(scheduler_rule_for_rejection_can_be_an_option, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(
        &r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .reject = HORA_REJECT_CALLBACK, .reject_handler = note),
        NULL));
    CHECK(rig_stats(&r).reject_handler == note);
    CHECK_OK(hora_pool_shutdown(r.pool));
    seen.calls = seen.answer = 0;
    future = schedule_job(&r, &job, A_WHILE);
    CHECK_INT(seen.calls, 1);
    CHECK_POINTER(seen.arg, &r);
    CHECK_POINTER(seen.future, future);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 0);
}

/* The handler keeps the future, and runs it in its own time. */
static int keep(hora_pool *pool, hora_future *future, void *context)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    (void)context;
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    CHECK_OK(hora_scheduler_set_keep_cancelled(pool, true));
    seen.future = hora_future_ref(future);
    return 0;
}

TEST(scheduler_rejected_future_can_be_run_by_hand, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(
        &r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .reject = HORA_REJECT_CALLBACK, .reject_handler = keep),
        NULL));
    CHECK_OK(hora_pool_shutdown(r.pool));
    future = schedule_job(&r, &job, A_LONG_WHILE);
    CHECK_POINTER(seen.future, future);
    CHECK_INT(hora_future_run(seen.future), 1);
    hora_future_unref(seen.future);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

/* The queue has no bound: nothing is rejected while the scheduler runs. */
TEST(scheduler_takes_any_number_of_tasks, "CP-STPE1")
{
    const int many = test_simulated() ? 60 : 3000;
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    execute_job(&r, &blocker);
    settle(&r.f);
    for (int i = 0; i < many; i++)
        CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(job_run, &job), (hora_ns)test_random(1000), NULL));
    CHECK_INT(rig_stats(&r).queued, many);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), HORA_UNBOUNDED);
    pass(&r, 1000);
    rig_close(&r);
    CHECK_INT(job.runs, many);
}
