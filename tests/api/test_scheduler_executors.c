/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_executors.c - schedulers by name: of two threads, of one, frozen */
#include "scheduler_support.h"

enum named { SCHEDULED, SINGLE, FROZEN, NAMED };

static int make_scheduler(struct rig *r, enum named named, const hora_scheduler_options *options)
{
    hora_scheduler_options own = *options;

    own.clock = r->f.view;
    own.arg = r;
    if (named == SINGLE)
        return hora_scheduler_new_single(&own, &r->pool, NULL);
    own.core_threads = 2;
    own.frozen = named == FROZEN;
    return hora_scheduler_new(&own, &r->pool, NULL);
}

static void open_named(struct rig *r, enum named named)
{
    hora_scheduler_options options = HORA_INIT(hora_scheduler_options);

    rig_prepare(r, false);
    CHECK_OK(make_scheduler(r, named, &options));
}

/* Not done at once, nor before its time, nor before the gate opens; then done for good. */
static void runs_in_its_time(enum named named)
{
    struct rig r;
    struct job job = A_WAITING_JOB(&r);
    struct call call;
    hora_future *future;
    void *result = untouched;

    open_named(&r, named);
    future = schedule_job(&r, &job, A_WHILE);
    CHECK_NOT_DONE(future);
    pass(&r, A_WHILE - 1);
    CHECK_INT(job.runs, 0);
    pass(&r, 1);
    CHECK_INT(job.runs, 1);
    CHECK_NOT_DONE(future);
    start_get_for(&call, &r.f, future, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    rig_open_gate(&r);
    CHECK_TAKES(&call, &job);
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &job);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(single_scheduler_runs_a_task_in_its_time, "ExecutorsTest.testNewSingleThreadScheduledExecutor")
{
    runs_in_its_time(SINGLE);
}

TEST(named_scheduler_runs_a_task_in_its_time, "ExecutorsTest.testNewScheduledThreadPool")
{
    runs_in_its_time(SCHEDULED);
}

TEST(frozen_scheduler_runs_a_task_in_its_time, "ExecutorsTest.testUnconfigurableScheduledExecutorService")
{
    runs_in_its_time(FROZEN);
}

TEST(named_schedulers_need_a_place, "ExecutorsTest.testUnconfigurableScheduledExecutorServiceNPE")
{
    CHECK_ERROR(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.frozen = true), NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_new_single(NULL, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_new_single(HORA_SCHEDULER_OPTIONS(.core_threads = 1), NULL, NULL),
                HORA_EINVAL);
}

TEST(named_schedulers_time_out_waits_for_a_task_that_blocks, "ExecutorsTest.testTimedCallable")
{
    for (int named = SCHEDULED; named < NAMED; named++) {
        struct rig r;
        struct job job = A_WAITING_JOB(&r);
        struct call call;
        hora_future *future;

        open_named(&r, (enum named)named);
        future = submit_job(&r, &job);
        start_get_for(&call, &r.f, future, A_WHILE);
        CHECK_TIMES_OUT(&call, A_WHILE);
        CHECK_NOT_DONE(future);
        hora_future_unref(future);
        rig_close(&r);
    }
}

TEST(single_scheduler_has_one_thread, "CP-EX1")
{
    struct rig r;
    struct job jobs[3];
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    open_named(&r, SINGLE);
    execute_jobs(&r, jobs, 3);
    stats = rig_stats(&r);
    CHECK_INT(stats.core_threads, 1);
    CHECK_INT(stats.threads, 1);
    CHECK_INT(stats.queued, 2);
    CHECK_INT(stats.keep_alive, HORA_MS(10));
    CHECK(!stats.core_time_out);
    CHECK_INT(hora_queue_remaining_capacity(hora_pool_queue(r.pool)), HORA_UNBOUNDED);
    rig_open_gate(&r);
    pass(&r, A_LONG_WHILE);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

TEST(named_scheduler_has_as_many_threads_as_it_is_told, "CP-EX1")
{
    for (int core = 0; core <= 3; core++) {
        struct rig r;
        struct job jobs[5];

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = core));
        execute_jobs(&r, jobs, 5);
        CHECK_INT(rig_stats(&r).core_threads, core);
        CHECK_INT(rig_stats(&r).threads, core == 0 ? 1 : core);
        rig_close(&r);
    }
}

/* Nothing of it can be changed, by whatever call. */
TEST(single_scheduler_cannot_be_changed, "CP-EX1 CP-EX2")
{
    struct rig r;
    struct job job = A_JOB(&r);

    open_named(&r, SINGLE);
    CHECK_ERROR(hora_pool_set_core_threads(r.pool, 2, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_max_threads(r.pool, 9, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_keep_alive(r.pool, A_WHILE, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_core_time_out(r.pool, true, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_thread_factory(r.pool, rig_factory, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_set_reject(r.pool, HORA_REJECT_DISCARD, NULL, NULL, NULL), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_set_cancel_delayed(r.pool, true), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_set_continue_periodic(r.pool, true), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(r.pool, true), HORA_ENOTSUP);
    CHECK_INT(rig_stats(&r).core_threads, 1);
    CHECK_INT(rig_stats(&r).keep_alive, HORA_MS(10));
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    rig_close(&r);
}

static int refuse_once(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    (void)pool;
    (void)run;
    return atomic_fetch_add(&r->before, 1) == 0 ? 7 : 0;
}

TEST(single_scheduler_replaces_its_thread, "CP-EX2")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    rig_prepare(&r, false);
    CHECK_OK(make_scheduler(&r, SINGLE, HORA_SCHEDULER_OPTIONS(.before = refuse_once)));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&jobs[i]), A_WHILE, NULL));
    pass(&r, A_WHILE);
    CHECK_JOB(&jobs[0], 0);
    CHECK_JOB(&jobs[1], 1);
    CHECK_JOB(&jobs[2], 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).largest, 1);
    rig_close(&r);
}

/* What the name says cannot be said otherwise; the rest can be added. */
TEST(single_scheduler_takes_options_that_do_not_contradict, "CP-EX1")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_scheduler *scheduler = (hora_scheduler *)untouched;

    CHECK_ERROR(hora_scheduler_new_single(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_new_single(HORA_SCHEDULER_OPTIONS(.core_threads = -1), &scheduler, NULL),
                HORA_EINVAL);
    CHECK_POINTER(scheduler, untouched);
    CHECK_OK(hora_scheduler_new_single(NULL, &scheduler, NULL));
    CHECK_OK(hora_pool_free(scheduler));
    rig_prepare(&r, false);
    CHECK_OK(make_scheduler(&r, SINGLE, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true)));
    CHECK(rig_stats_now(&r).cancel_delayed);
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), A_WHILE, NULL));
    rig_close(&r);
    CHECK_JOB(&job, 0);
}
