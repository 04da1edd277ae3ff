/* SPDX-License-Identifier: Apache-2.0 */
/* test_invoke_any.c - executing tasks until one has succeeded */
#include "invoke_support.h"

enum { CODE = 7, OTHER_CODE = 8 };

EVERYWHERE(invoke_any_refuses_a_missing_array, "testInvokeAny1", "")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    void *result = untouched;
    int failure = 1;

    venue_open(&v, place);
    CHECK_ERROR(venue_any(&v, NULL, 1, &result, &failure), HORA_EINVAL);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){JOB(&job)}, -1, &result, &failure), HORA_EINVAL);
    CHECK_POINTER(result, untouched);
    CHECK_INT(failure, 1);
    CHECK_INT(job.runs + job.drops, 0);
    venue_close(&v);
}

EVERYWHERE(invoke_any_refuses_nothing, "testInvokeAny2", "")
{
    struct venue v;
    void *result = untouched;

    venue_open(&v, place);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){NULL}, 0, &result, NULL), HORA_EINVAL);
    CHECK_ERROR(venue_any(&v, NULL, 0, &result, NULL), HORA_EINVAL);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

/* Even if the first task would wait or fail: it is not run. */
EVERYWHERE(invoke_any_refuses_a_missing_task, "testInvokeAny3", "")
{
    struct venue v;
    struct job job = {.rig = &v.r, .waits = place != DIRECT, .code = CODE};
    void *result = untouched;

    venue_open(&v, place);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){JOB(&job), NULL}, 2, &result, NULL), HORA_EINVAL);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){JOB(&job), HORA_TASK(NULL, &job)}, 2, &result, NULL),
                HORA_EINVAL);
    settle(&v.r.f);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

EVERYWHERE(invoke_any_reports_the_failure, "testInvokeAny4", "")
{
    struct venue v;
    struct job job = {.rig = &v.r, .code = CODE};
    void *result = untouched;
    int failure = 0;

    venue_open(&v, place);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){JOB(&job)}, 1, &result, &failure), HORA_EFAILED);
    CHECK_INT(failure, CODE);
    CHECK_POINTER(result, untouched);
    settle(&v.r.f);
    CHECK_JOB(&job, 1);
    venue_close(&v);
}

/* The caller owns the result; all others are dropped. */
EVERYWHERE(invoke_any_gives_one_result, "testInvokeAny5", "")
{
    struct venue v;
    struct job jobs[2] = {A_JOB(&v.r), A_JOB(&v.r)};
    struct job *winner;
    struct job *loser;
    void *result = untouched;

    venue_open(&v, place);
    CHECK_OK(venue_any(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, &result, NULL));
    CHECK(result == &jobs[0] || result == &jobs[1]);
    settle(&v.r.f);
    winner = result;
    loser = winner == &jobs[0] ? &jobs[1] : &jobs[0];
    CHECK_JOB(winner, 1);
    CHECK_INT(winner->result_drops, 0);
    CHECK_INT(loser->drops, 1);
    CHECK_INT(loser->result_drops, loser->runs);
    venue_close(&v);
}

/* ---- timed ---- */

EVERYWHERE(timed_invoke_any_refuses_a_missing_array, "testTimedInvokeAny1", "")
{
    struct venue v;
    void *result = untouched;

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(venue_any_for(&v, NULL, 1, any_timeout[i], &result, NULL), HORA_EINVAL);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_any_refuses_nothing, "testTimedInvokeAny2", "")
{
    struct venue v;
    void *result = untouched;

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(venue_any_for(&v, NULL, 0, any_timeout[i], &result, NULL), HORA_EINVAL);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_any_refuses_a_missing_task, "testTimedInvokeAny3", "")
{
    struct venue v;
    struct job job = {.rig = &v.r, .waits = place != DIRECT, .code = CODE};
    void *result = untouched;

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(
            venue_any_for(&v, (const hora_task *[]){JOB(&job), NULL}, 2, any_timeout[i], &result, NULL),
            HORA_EINVAL);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_any_reports_the_failure, "testTimedInvokeAny4", "")
{
    struct venue v;
    struct job job = {.rig = &v.r, .code = CODE};
    void *result = untouched;
    int failure = 0;

    venue_open(&v, place);
    CHECK_ERROR(venue_any_for(&v, (const hora_task *[]){JOB(&job)}, 1, A_LONG_WHILE, &result, &failure),
                HORA_EFAILED);
    CHECK_INT(failure, CODE);
    CHECK_POINTER(result, untouched);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_any_gives_one_result, "testTimedInvokeAny5", "")
{
    struct venue v;
    struct job jobs[2] = {A_JOB(&v.r), A_JOB(&v.r)};
    void *result = untouched;

    venue_open(&v, place);
    CHECK_OK(venue_any_for(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, A_LONG_WHILE, &result,
                           NULL));
    CHECK(result == &jobs[0] || result == &jobs[1]);
    venue_close(&v);
}

/* ---- which are executed, and what becomes of them ---- */

TEST(invoke_any_executes_no_more_than_it_needs, "CP-INV1")
{
    struct venue v;
    struct job jobs[3] = {{.rig = &v.r, .code = CODE}, A_JOB(&v.r), A_JOB(&v.r)};
    void *result = untouched;

    venue_open(&v, DIRECT);
    CHECK_OK(
        venue_any(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1]), JOB(&jobs[2])}, 3, &result, NULL));
    CHECK_POINTER(result, &jobs[1]);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[1], 1);
    CHECK_JOB(&jobs[2], 0);
    CHECK_INT(jobs[1].result_drops, 0);
    venue_close(&v);
}

TEST(invoke_any_reports_the_last_failure, "CP-INV1")
{
    struct venue v;
    struct job jobs[2] = {{.rig = &v.r, .code = CODE}, {.rig = &v.r, .code = OTHER_CODE}};
    int failure = 0;

    venue_open(&v, DIRECT);
    CHECK_ERROR(venue_any(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, NULL, &failure),
                HORA_EFAILED);
    CHECK_INT(failure, OTHER_CODE);
    venue_close(&v);
}

/* A task that still runs when another has won is interrupted. */
TEST(invoke_any_cancels_the_others, "CP-INV1")
{
    struct venue v;
    struct job jobs[3] = {A_WAITING_JOB(&v.r), {.rig = &v.r, .code = CODE}, A_JOB(&v.r)};
    struct invocation any;

    venue_open(&v, POOL);
    start_invoke_any(&any, &v, jobs, 3, HORA_FOREVER);
    CHECK_TAKES(&any.call, &jobs[2]);
    settle(&v.r.f);
    CHECK_INT(jobs[0].drops, 1);
    CHECK_INT(jobs[0].interrupts, jobs[0].runs);
    CHECK_INT(jobs[1].drops, 1);
    CHECK_JOB(&jobs[2], 1);
    CHECK_INT(jobs[2].result_drops, 0);
    venue_close(&v);
}

TEST(invoke_any_takes_a_cancelled_task_for_a_failure, "CP-INV1")
{
    struct venue v;
    struct job blocker = A_WAITING_JOB(&v.r);
    struct job job = A_JOB(&v.r);
    struct invocation any;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
    execute_job(&v.r, &blocker);
    start_invoke_any(&any, &v, &job, 1, HORA_FOREVER);
    CHECK_BLOCKED(&any.call);
    CHECK_INT(hora_future_cancel(queued_future(&v.r), true), HORA_CANCEL_REMOVED);
    CHECK_RETURNS(&any.call, HORA_EFAILED);
    CHECK_INT(any.failure, HORA_ECANCELED);
    CHECK_JOB(&job, 0);
    venue_close(&v);
}

TEST(invoke_any_drops_the_results_that_it_does_not_return, "")
{
    struct venue v;
    struct job job = A_JOB(&v.r);

    venue_open(&v, DIRECT);
    CHECK_OK(venue_any(&v, (const hora_task *[]){JOB(&job)}, 1, NULL, NULL));
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    venue_close(&v);
}

TEST(invoke_any_executes_all_before_it_looks_at_the_time, "CP-INV2")
{
    for (int i = 0; i < 3; i++) {
        struct venue v;
        struct job jobs[2] = {A_WAITING_JOB(&v.r), A_WAITING_JOB(&v.r)};
        struct invocation any;

        venue_open(&v, POOL);
        start_invoke_any(&any, &v, jobs, 2, expired[i]);
        CHECK_RETURNS(&any.call, HORA_ETIMEDOUT);
        CHECK_INT(rig_stats(&v.r).accepted, 2);
        CHECK_INT(jobs[0].drops + jobs[1].drops, 2);
        venue_close(&v);
    }
}

TEST(invoke_any_gives_a_result_that_is_there_although_the_time_is_over, "CP-INV2")
{
    struct venue v;

    venue_open(&v, DIRECT);
    for (int i = 0; i < 3; i++) {
        struct job jobs[2] = {{.rig = &v.r, .code = CODE}, A_JOB(&v.r)};
        void *result = untouched;

        CHECK_OK(venue_any_for(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, expired[i],
                               &result, NULL));
        CHECK_POINTER(result, &jobs[1]);
    }
    venue_close(&v);
}

TEST(invoke_any_times_out_exactly, "CP-INV2")
{
    struct venue v;
    struct job jobs[2] = {A_WAITING_JOB(&v.r), A_WAITING_JOB(&v.r)};
    struct invocation any;

    venue_open(&v, POOL);
    start_invoke_any(&any, &v, jobs, 2, A_WHILE);
    CHECK_TIMES_OUT(&any.call, A_WHILE);
    settle(&v.r.f);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(jobs[i].interrupts, 1);
        CHECK_JOB(&jobs[i], 1);
    }
    venue_close(&v);
}

/* A failure on the way does not start the time anew. */
TEST(invoke_any_keeps_its_deadline_when_a_task_fails, "CP-INV2")
{
    struct venue v;
    struct job jobs[2] = {A_WAITING_JOB(&v.r), A_JOB(&v.r)};
    struct invocation any;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
    start_invoke_any(&any, &v, jobs, 2, 2 * A_WHILE);
    CHECK_BLOCKED(&any.call);
    advance(&v.r.f, A_WHILE);
    CHECK_INT(hora_future_cancel(queued_future(&v.r), false), HORA_CANCEL_REMOVED);
    CHECK_WAITS_FOR(&any.call, A_WHILE, HORA_ETIMEDOUT);
    venue_close(&v);
}

/* ---- the call itself fails ---- */

TEST(invoke_any_is_interruptible, "CP-INV1")
{
    struct venue v;
    struct job jobs[2] = {A_WAITING_JOB(&v.r), A_WAITING_JOB(&v.r)};
    struct invocation any;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
    start_invoke_any(&any, &v, jobs, 2, HORA_FOREVER);
    CHECK_INTERRUPTIBLE(&any.call);
    settle(&v.r.f);
    CHECK_INT(jobs[0].interrupts, 1);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[1], 0);
    venue_close(&v);
}

TEST(invoke_any_refused_by_the_executor_cancels_all, "CP-INV1")
{
    struct venue v;
    struct job jobs[3] = {A_WAITING_JOB(&v.r), A_JOB(&v.r), A_JOB(&v.r)};
    struct invocation any;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1));
    start_invoke_any(&any, &v, jobs, 3, HORA_FOREVER);
    CHECK_RETURNS(&any.call, HORA_EREJECTED);
    settle(&v.r.f);
    CHECK_INT(any.failure, 0);
    CHECK_INT(jobs[0].drops, 1);
    CHECK_JOB(&jobs[1], 0);
    CHECK_JOB(&jobs[2], 0);
    venue_close(&v);
}

/* ---- inside a task ---- */

struct inner {
    struct rig *rig;
    struct job jobs[2];
    int result;
    void *winner;
};

static int invoke_any_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    inner->result = hora_pool_invoke_any(inner->rig->pool,
                                         (const hora_task *[]){JOB(&inner->jobs[0]), JOB(&inner->jobs[1])}, 2,
                                         &inner->winner, NULL);
    return 0;
}

/* The only worker runs the tasks that it waits for. */
TEST(invoke_any_inside_a_worker_runs_its_tasks, "")
{
    struct rig r;
    struct inner inner = {.rig = &r, .jobs = {{.rig = &r, .code = CODE}, A_JOB(&r)}, .result = 1};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(invoke_any_inside, &inner)));
    settle(&r.f);
    CHECK_OK(inner.result);
    CHECK_POINTER(inner.winner, &inner.jobs[1]);
    CHECK_JOB(&inner.jobs[0], 1);
    CHECK_JOB(&inner.jobs[1], 1);
    rig_close(&r);
}
