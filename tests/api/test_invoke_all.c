/* SPDX-License-Identifier: Apache-2.0 */
/* test_invoke_all.c - executing many tasks and waiting for all of them */
#include "invoke_support.h"

enum { CODE = 7 };

EVERYWHERE(invoke_all_refuses_a_missing_array, "testInvokeAll1", "")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    hora_future *futures[1] = {(hora_future *)untouched};

    venue_open(&v, place);
    CHECK_ERROR(venue_all(&v, NULL, 1, futures), HORA_EINVAL);
    CHECK_ERROR(venue_all(&v, (const hora_task *[]){JOB(&job)}, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(venue_all(&v, (const hora_task *[]){JOB(&job)}, -1, futures), HORA_EINVAL);
    CHECK_POINTER(futures[0], untouched);
    CHECK_INT(job.runs + job.drops, 0);
    venue_close(&v);
}

EVERYWHERE(invoke_all_of_nothing_succeeds, "testInvokeAll2", "")
{
    struct venue v;
    hora_future *futures[1] = {(hora_future *)untouched};

    venue_open(&v, place);
    CHECK_OK(venue_all(&v, (const hora_task *[]){NULL}, 0, futures));
    CHECK_OK(venue_all(&v, NULL, 0, NULL));
    CHECK_POINTER(futures[0], untouched);
    venue_close(&v);
}

/* Nothing is run, and nothing dropped: the caller still owns it. */
EVERYWHERE(invoke_all_refuses_a_missing_task, "testInvokeAll3", "CP-INV3")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    hora_future *futures[2] = {(hora_future *)untouched, (hora_future *)untouched};

    venue_open(&v, place);
    CHECK_ERROR(venue_all(&v, (const hora_task *[]){JOB(&job), NULL}, 2, futures), HORA_EINVAL);
    CHECK_ERROR(venue_all(&v, (const hora_task *[]){JOB(&job), HORA_TASK(NULL, &job)}, 2, futures),
                HORA_EINVAL);
    settle(&v.r.f);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_POINTER(futures[0], untouched);
    CHECK_POINTER(futures[1], untouched);
    venue_close(&v);
}

EVERYWHERE(invoke_all_does_not_fail_with_its_tasks, "testInvokeAll4", "CP-INV3")
{
    struct venue v;
    struct job job = {.rig = &v.r, .code = CODE};
    hora_future *futures[1];

    venue_open(&v, place);
    CHECK_OK(venue_all(&v, (const hora_task *[]){JOB(&job)}, 1, futures));
    CHECK_FAILED(futures[0], CODE);
    settle(&v.r.f);
    CHECK_JOB(&job, 1);
    release_futures(futures, 1);
    venue_close(&v);
}

EVERYWHERE(invoke_all_gives_futures_in_order, "testInvokeAll5", "")
{
    struct venue v;
    struct job jobs[2] = {A_JOB(&v.r), A_JOB(&v.r)};
    hora_future *futures[2];

    venue_open(&v, place);
    CHECK_OK(venue_all(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, futures));
    settle(&v.r.f);
    for (int i = 0; i < 2; i++) {
        CHECK_DONE(futures[i], 0, &jobs[i]);
        CHECK_JOB(&jobs[i], 1);
        CHECK_INT(jobs[i].result_drops, 0);
    }
    release_futures(futures, 2);
    CHECK_INT(jobs[0].result_drops + jobs[1].result_drops, 2);
    venue_close(&v);
}

/* ---- timed ---- */

EVERYWHERE(timed_invoke_all_refuses_a_missing_array, "testTimedInvokeAll1", "")
{
    struct venue v;
    hora_future *futures[1];

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(venue_all_for(&v, NULL, 1, any_timeout[i], futures), HORA_EINVAL);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_all_of_nothing_succeeds, "testTimedInvokeAll2", "")
{
    struct venue v;

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_OK(venue_all_for(&v, NULL, 0, any_timeout[i], NULL));
    venue_close(&v);
}

EVERYWHERE(timed_invoke_all_refuses_a_missing_task, "testTimedInvokeAll3", "")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    hora_future *futures[2];

    venue_open(&v, place);
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(venue_all_for(&v, (const hora_task *[]){JOB(&job), NULL}, 2, any_timeout[i], futures),
                    HORA_EINVAL);
    settle(&v.r.f);
    CHECK_INT(job.runs + job.drops, 0);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_all_does_not_fail_with_its_tasks, "testTimedInvokeAll4", "")
{
    struct venue v;
    struct job job = {.rig = &v.r, .code = CODE};
    hora_future *futures[1];

    venue_open(&v, place);
    CHECK_OK(venue_all_for(&v, (const hora_task *[]){JOB(&job)}, 1, A_LONG_WHILE, futures));
    CHECK_FAILED(futures[0], CODE);
    release_futures(futures, 1);
    venue_close(&v);
}

EVERYWHERE(timed_invoke_all_gives_futures_in_order, "testTimedInvokeAll5", "")
{
    struct venue v;
    struct job jobs[2] = {A_JOB(&v.r), A_JOB(&v.r)};
    hora_future *futures[2];

    venue_open(&v, place);
    CHECK_OK(
        venue_all_for(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, A_LONG_WHILE, futures));
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_DONE(futures[1], 0, &jobs[1]);
    release_futures(futures, 2);
    venue_close(&v);
}

ON_ALL_POOLS(timed_invoke_all_cancels_what_is_late, "testTimedInvokeAll6", "CP-INV4")
{
    struct venue v;
    struct job jobs[3] = {A_JOB(&v.r), A_WAITING_JOB(&v.r), A_JOB(&v.r)};
    struct invocation all;

    venue_open(&v, place);
    start_invoke_all(&all, &v, jobs, 3, A_WHILE);
    CHECK_WAITS_FOR(&all.call, A_WHILE, 0);
    CHECK_DONE(all.futures[0], 0, &jobs[0]);
    CHECK_DONE(all.futures[1], HORA_ECANCELED, NULL);
    CHECK_DONE(all.futures[2], 0, &jobs[2]);
    settle(&v.r.f);
    CHECK_INT(jobs[1].interrupts, 1);
    for (int i = 0; i < 3; i++)
        CHECK_JOB(&jobs[i], 1);
    release_futures(all.futures, 3);
    venue_close(&v);
}

/* Uses up the whole time of the call. */
static int run_slowly(void *arg, void **ret_result)
{
    struct job *job = arg;

    CHECK_OK(hora_virtual_clock_advance(job->rig->f.clock, A_WHILE));
    return job_run(job, ret_result);
}

/* A task that runs is not left half-way; the next is not begun, since the time is looked at before each. */
TEST(direct_timed_invoke_all_cancels_what_is_late, "AbstractExecutorServiceTest.testTimedInvokeAll6 CP-INV4")
{
    struct venue v;
    struct job jobs[3] = {A_JOB(&v.r), A_JOB(&v.r), A_JOB(&v.r)};
    hora_task *slow = HORA_TASK(run_slowly, &jobs[1], .drop = job_drop);
    hora_future *futures[3];

    venue_open(&v, DIRECT);
    CHECK_OK(
        venue_all_for(&v, (const hora_task *[]){JOB(&jobs[0]), slow, JOB(&jobs[2])}, 3, A_WHILE, futures));
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_DONE(futures[1], 0, &jobs[1]);
    CHECK_DONE(futures[2], HORA_ECANCELED, NULL);
    CHECK_JOB(&jobs[0], 1);
    CHECK_JOB(&jobs[1], 1);
    CHECK_JOB(&jobs[2], 0);
    release_futures(futures, 3);
    venue_close(&v);
}

TEST(invoke_all_without_time_executes_nothing, "CP-INV4")
{
    for (int place = DIRECT; place <= POOL; place++) {
        for (int i = 0; i < 3; i++) {
            struct venue v;
            struct job jobs[2] = {A_JOB(&v.r), A_JOB(&v.r)};
            hora_future *futures[2];

            venue_open(&v, (enum place)place);
            CHECK_OK(venue_all_for(&v, (const hora_task *[]){JOB(&jobs[0]), JOB(&jobs[1])}, 2, expired[i],
                                   futures));
            for (int n = 0; n < 2; n++) {
                CHECK_DONE(futures[n], HORA_ECANCELED, NULL);
                CHECK_JOB(&jobs[n], 0);
            }
            release_futures(futures, 2);
            venue_close(&v);
        }
    }
}

/* Its future is cancelled at once, its argument is dropped when it ends. */
TEST(invoke_all_does_not_wait_for_bodies_after_the_deadline, "CP-INV4")
{
    struct venue v;
    struct job job = A_DEAF_JOB(&v.r);
    struct invocation all;

    venue_open(&v, POOL);
    start_invoke_all(&all, &v, &job, 1, A_WHILE);
    CHECK_WAITS_FOR(&all.call, A_WHILE, 0);
    CHECK_DONE(all.futures[0], HORA_ECANCELED, NULL);
    settle(&v.r.f);
    CHECK_INT(job.ends + job.drops, 0);
    CHECK_INT(job.interrupts, 1);
    rig_open_gate(&v.r);
    settle(&v.r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    release_futures(all.futures, 1);
    venue_close(&v);
}

/* ---- the call itself fails ---- */

TEST(invoke_all_interrupted_cancels_all, "CP-INV3")
{
    struct venue v;
    struct job jobs[2] = {A_WAITING_JOB(&v.r), A_JOB(&v.r)};
    struct invocation all;

    for (int timed = 0; timed < 2; timed++) {
        jobs[0] = (struct job)A_WAITING_JOB(&v.r);
        jobs[1] = (struct job)A_JOB(&v.r);
        venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
        start_invoke_all(&all, &v, jobs, 2, timed ? A_WHILE : HORA_FOREVER);
        CHECK_INTERRUPTIBLE(&all.call);
        CHECK_POINTER(all.futures[0], NULL);
        CHECK_POINTER(all.futures[1], NULL);
        settle(&v.r.f);
        CHECK_INT(jobs[0].interrupts, 1);
        CHECK_JOB(&jobs[0], 1);
        CHECK_JOB(&jobs[1], 0);
        venue_close(&v);
    }
}

/* If all tasks are done, the call succeeds despite an interrupt, which stays pending. */
TEST(invoke_all_of_what_is_done_leaves_the_interrupt_pending, "")
{
    struct venue v;
    struct job job = A_JOB(&v.r);
    hora_future *futures[1];

    venue_open(&v, DIRECT);
    interrupt_self();
    CHECK_OK(venue_all(&v, (const hora_task *[]){JOB(&job)}, 1, futures));
    CHECK(hora_interrupted());
    CHECK_DONE(futures[0], 0, &job);
    release_futures(futures, 1);
    venue_close(&v);
}

TEST(invoke_all_refused_by_the_executor_cancels_all, "CP-INV3")
{
    struct venue v;
    struct job jobs[4] = {A_WAITING_JOB(&v.r), A_WAITING_JOB(&v.r), A_JOB(&v.r), A_JOB(&v.r)};
    struct invocation all;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = 1));
    start_invoke_all(&all, &v, jobs, 4, HORA_FOREVER);
    CHECK_RETURNS(&all.call, HORA_EREJECTED);
    settle(&v.r.f);
    CHECK_POINTER(all.futures[0], NULL);
    CHECK_INT(jobs[0].drops, 1); /* it may have been cancelled before it began */
    for (int i = 1; i < 4; i++)
        CHECK_JOB(&jobs[i], 0);
    CHECK_INT(rig_stats(&v.r).active, 0);
    venue_close(&v);
}

TEST(invoke_all_ignores_that_a_task_is_cancelled, "CP-INV3")
{
    struct venue v;
    struct job jobs[2] = {A_WAITING_JOB(&v.r), A_JOB(&v.r)};
    struct invocation all;

    venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1));
    start_invoke_all(&all, &v, jobs, 2, HORA_FOREVER);
    CHECK_BLOCKED(&all.call);
    CHECK_INT(hora_future_cancel(queued_future(&v.r), false), HORA_CANCEL_REMOVED);
    CHECK_BLOCKED(&all.call);
    rig_open_gate(&v.r);
    CHECK_RETURNS(&all.call, 0);
    CHECK_DONE(all.futures[0], 0, &jobs[0]);
    CHECK_DONE(all.futures[1], HORA_ECANCELED, NULL);
    CHECK_JOB(&jobs[1], 0);
    release_futures(all.futures, 2);
    venue_close(&v);
}

static int return_code(void *arg, void **ret_result)
{
    (void)ret_result;
    return *(int *)arg;
}

/* Whatever code a body returns is the outcome of its task, also a code with which hora itself ends tasks. */
TEST(invoke_all_succeeds_whatever_the_bodies_return, "CP-INV3")
{
    static int codes[] = {HORA_EEXPIRED,     HORA_EREJECTED, HORA_EABANDONED,
                          HORA_EINTERRUPTED, HORA_ETIMEDOUT, 1};
    enum { COUNT = sizeof codes / sizeof codes[0] };

    for (int place = DIRECT; place <= SCHEDULER; place++) {
        struct venue v;
        hora_task own[COUNT];
        const hora_task *tasks[COUNT];
        hora_future *futures[COUNT];

        venue_open(&v, (enum place)place);
        for (int i = 0; i < COUNT; i++) {
            own[i] = *HORA_TASK(return_code, &codes[i]);
            tasks[i] = &own[i];
        }
        CHECK_OK(venue_all(&v, tasks, COUNT, futures));
        for (int i = 0; i < COUNT; i++) {
            CHECK_INT(hora_future_failure(futures[i]), codes[i]);
            CHECK_DONE(futures[i], i < 3 ? codes[i] : HORA_EFAILED, NULL);
        }
        release_futures(futures, COUNT);
        venue_close(&v);
    }
}

static int ignore(hora_pool *pool, hora_future *future, void *context)
{
    (void)pool;
    (void)future;
    (void)context;
    return 0;
}

/* A discarded task ends as rejected, so that no thread waits for it. One that a handler only ignores is
 * waited for. */
TEST(invoke_all_waits_for_what_was_discarded_only_if_it_is_not_done, "CP-INV5")
{
    struct venue v;
    struct invocation all;

    for (int ignored = 0; ignored < 2; ignored++) {
        struct job jobs[2] = {A_WAITING_JOB(&v.r), A_JOB(&v.r)};

        venue_open_pool(&v, HORA_POOL_OPTIONS(.core_threads = 1, .queue_capacity = -1,
                                              .reject = ignored ? HORA_REJECT_CALLBACK : HORA_REJECT_DISCARD,
                                              .reject_handler = ignored ? ignore : NULL));
        start_invoke_all(&all, &v, jobs, 2, HORA_FOREVER);
        CHECK_BLOCKED(&all.call);
        rig_open_gate(&v.r);
        if (ignored) {
            CHECK_INTERRUPTIBLE(&all.call);
        } else {
            CHECK_RETURNS(&all.call, 0);
            CHECK_DONE(all.futures[0], 0, &jobs[0]);
            CHECK_DONE(all.futures[1], HORA_EREJECTED, NULL);
            release_futures(all.futures, 2);
        }
        settle(&v.r.f);
        CHECK_JOB(&jobs[0], 1);
        CHECK_JOB(&jobs[1], 0);
        venue_close(&v);
    }
}

/* ---- inside a task ---- */

struct inner {
    struct rig *rig;
    struct job jobs[2];
    int result;
};

static int invoke_all_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;
    hora_future *futures[2];

    (void)ret_result;
    inner->result = hora_pool_invoke_all(
        inner->rig->pool, (const hora_task *[]){JOB(&inner->jobs[0]), JOB(&inner->jobs[1])}, 2, futures);
    if (inner->result == 0)
        release_futures(futures, 2);
    return 0;
}

/* The only worker runs the tasks that it waits for. */
TEST(invoke_all_inside_a_worker_runs_its_tasks, "")
{
    struct rig r;
    struct inner inner = {.rig = &r, .jobs = {A_JOB(&r), A_JOB(&r)}, .result = 1};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(invoke_all_inside, &inner)));
    settle(&r.f);
    CHECK_OK(inner.result);
    CHECK_JOB(&inner.jobs[0], 1);
    CHECK_JOB(&inner.jobs[1], 1);
    rig_close(&r);
}
