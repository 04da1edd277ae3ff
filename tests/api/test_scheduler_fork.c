/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_fork.c - in the child of a fork the parent's schedulers reject every call */
#include "child.h"
#include "scheduler_support.h"

/* What the parent made. */
struct family {
    struct rig r;
    struct job job;
    hora_future *once, *series, *done;
};

static void call_scheduler(struct family *family)
{
    hora_scheduler *scheduler = family->r.pool;
    hora_future *future = NULL;
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    CHILD_FORKED(hora_scheduler_schedule(scheduler, JOB(&family->job), 0, &future));
    CHILD_FORKED(hora_scheduler_schedule(scheduler, JOB(&family->job), A_WHILE, NULL));
    CHILD_FORKED(hora_scheduler_schedule_at_fixed_rate(scheduler, JOB(&family->job), 0, A_WHILE, &future));
    CHILD_FORKED(hora_scheduler_schedule_with_fixed_delay(scheduler, JOB(&family->job), 0, A_WHILE, &future));
    CHILD_FORKED(hora_scheduler_schedule_with(scheduler, JOB(&family->job), NULL, &future, NULL));
    CHILD_FORKED(hora_scheduler_set_cancel_delayed(scheduler, true));
    CHILD_FORKED(hora_scheduler_set_continue_periodic(scheduler, true));
    CHILD_FORKED(hora_scheduler_set_keep_cancelled(scheduler, true));
    CHILD_FORKED(hora_pool_execute(scheduler, JOB(&family->job)));
    CHILD_FORKED(hora_pool_submit(scheduler, JOB(&family->job), &future));
    CHILD_FORKED(hora_pool_shutdown(scheduler));
    CHILD_FORKED(hora_pool_shutdown_now(scheduler, &list));
    CHILD_FORKED(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHILD_FORKED(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHILD_FORKED(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHILD_FORKED(hora_pool_remove(scheduler, family->once));
    CHILD_FORKED(hora_pool_purge(scheduler));
    CHILD_FORKED(hora_pool_prestart(scheduler));
    CHILD_FORKED(hora_pool_set_core_threads(scheduler, 1, NULL));
    CHILD_FORKED(hora_pool_get_stats(scheduler, &stats));
    CHILD_FORKED(hora_pool_free(scheduler));
    CHILD_CHECK(family->job.drops == 0 && family->job.runs == 0 && future == NULL);
}

static void call_futures(struct family *family)
{
    hora_future *futures[3] = {family->once, family->series, family->done};
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_ns delay = -7;
    int order = -7;

    for (int i = 0; i < 3; i++) {
        CHILD_FORKED(hora_future_delay(futures[i], &delay));
        CHILD_FORKED(hora_future_get_schedule_info(futures[i], &info));
        CHILD_FORKED(hora_future_reschedule(futures[i], 0, 0));
        CHILD_FORKED(hora_future_pause(futures[i]));
        CHILD_FORKED(hora_future_resume(futures[i]));
        CHILD_FORKED(hora_future_cancel(futures[i], true));
        CHILD_FORKED(hora_future_get(futures[i], NULL));
        CHILD_FORKED(hora_future_run(futures[i]));
        CHILD_CHECK(hora_future_is_periodic(futures[i]) == (i == 1));
        CHILD_FORKED(hora_future_compare_due(futures[i], futures[i], &order));
    }
    CHILD_FORKED(hora_future_compare_due(family->once, family->series, &order));
    CHILD_CHECK(delay == -7 && order == -7);
}

static int succeed(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

/* The child's own schedulers work. */
static void use_new_scheduler(struct family *family)
{
    hora_scheduler *scheduler;
    hora_future *future;
    void *result = NULL;

    CHILD_CHECK(hora_scheduler_new_single(NULL, &scheduler, NULL) == 0);
    CHILD_CHECK(hora_scheduler_schedule(scheduler, HORA_TASK(succeed, family), HORA_MS(1), &future) == 0);
    CHILD_CHECK(hora_future_get(future, &result) == 0);
    CHILD_CHECK(result == family);
    hora_future_unref(future);
    CHILD_CHECK(hora_pool_free(scheduler) == 0);
}

static void fork_family(void (*run)(struct family *family))
{
    struct family family = {.job = A_JOB(&family.r)};
    struct job first = A_JOB(&family.r), once = A_JOB(&family.r), series = A_JOB(&family.r);

    scheduler_open(&family.r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    family.done = schedule_job(&family.r, &first, 0);
    CHECK_OK(hora_future_get(family.done, NULL));
    family.once = schedule_job(&family.r, &once, A_WHILE);
    family.series = schedule_series(&family.r, RATE, &series, A_WHILE, A_WHILE);
    settle(&family.r.f);
    in_child(run, &family);
    pass_in_steps(&family.r, A_WHILE, 2); /* the parent has noticed nothing */
    CHECK_DONE(family.once, 0, &once);
    CHECK_INT(series.runs, 2);
    rig_finish(&family.r);
    hora_future_unref(family.done);
    hora_future_unref(family.once);
    hora_future_unref(family.series);
    rig_close(&family.r);
}

TEST_REAL(scheduler_refuses_every_call_after_fork, "")
{
    fork_family(call_scheduler);
}

TEST_REAL(scheduler_futures_refuse_every_call_after_fork, "")
{
    fork_family(call_futures);
}

/* ThreadSanitizer does not follow a process with threads into a child that starts more of them. */
TEST_REAL(scheduler_can_be_made_after_fork, "")
{
    if (!BUILT_WITH_TSAN)
        fork_family(use_new_scheduler);
}

/* No caller has a future, and the child finds no futures in the queue either. */
static void call_scheduler_of_values(struct family *family)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    CHILD_FORKED(hora_scheduler_schedule(family->r.pool, JOB(&family->job), 0, NULL));
    CHILD_FORKED(hora_pool_execute(family->r.pool, JOB(&family->job)));
    CHILD_FORKED(hora_pool_shutdown_now(family->r.pool, &list));
    CHILD_FORKED(hora_pool_purge(family->r.pool));
    CHILD_CHECK(family->job.drops == 0 && family->job.runs == 0);
}

/* Not settled before: the worker may just be starting. */
TEST_REAL(schedule_detached_stays_the_parents, "")
{
    struct family family = {.job = A_JOB(&family.r)};

    scheduler_open(&family.r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule(family.r.pool, JOB(&family.job), A_WHILE, NULL));
    in_child(call_scheduler_of_values, &family);
    pass(&family.r, A_WHILE);
    CHECK_JOB(&family.job, 1);
    rig_close(&family.r);
}
