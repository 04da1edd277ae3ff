/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_hooks.c - user functions around the tasks of a scheduler: decorate and the hooks */
#include <string.h>

#include "scheduler_support.h"

enum { CODE = 7 };

/* Every call that accepts a task, and no other, uses decorate; the queue has the future that the call
 * returned. */
TEST(scheduler_decorates_each_task_once, "jtreg.ThreadPoolExecutor/Custom CP-STPE15")
{
    struct rig r;
    struct job jobs[6];
    hora_future *futures[5], *own;

    for (int i = 0; i < 6; i++)
        jobs[i] = (struct job)A_JOB(&r);
    scheduler_open(&r, true, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, JOB(&jobs[0])));
    futures[0] = submit_job(&r, &jobs[1]);
    for (int form = ONCE; form < FORMS; form++)
        futures[1 + form] = schedule_series(&r, (enum form)form, &jobs[2 + form], A_WHILE, A_WHILE);
    CHECK_OK(hora_scheduler_schedule_with(r.pool, JOB(&jobs[5]), HORA_SCHEDULE(.initial_delay = A_WHILE),
                                          &futures[4], NULL));
    CHECK_INT(r.decorated, 6);
    for (int i = 1; i < 5; i++)
        CHECK(is_queued(&r, futures[i]));
    CHECK_OK(hora_future_new(JOB(&jobs[0]), &own)); /* made by the program, so it is not decorated */
    CHECK_INT(r.decorated, 6);
    settle(&r.f);
    jobs[0].drops = 0;
    CHECK_OK(hora_pool_execute_future(r.pool, own));
    pass(&r, A_WHILE);
    CHECK_INT(r.decorated, 6);
    CHECK_INT(r.wrapped_runs, 6); /* all but the last */
    CHECK_INT(r.before, 7);
    CHECK_INT(jobs[0].runs, 2);
    pass(&r, A_WHILE);
    CHECK_INT(r.wrapped_runs, 8);
    CHECK_INT(r.decorated, 6); /* a series is decorated once */
    for (int i = 0; i < 5; i++)
        hora_future_unref(futures[i]);
    hora_future_unref(own);
    rig_close(&r);
}

static int refuse(hora_scheduler *scheduler, hora_task *task, void *context)
{
    (void)scheduler;
    (void)context;
    task->arg = NULL; /* the caller's task is not what is changed */
    return HORA_ENOTSUP;
}

/* The error is that of the call, and the caller keeps the task. */
TEST(scheduler_decorate_may_refuse_a_task, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_task *task = JOB(&job);
    hora_future *future = (hora_future *)untouched;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .decorate = refuse), NULL));
    CHECK_ERROR(hora_pool_execute(r.pool, task), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_submit(r.pool, task, &future), HORA_ENOTSUP);
    for (int form = ONCE; form < FORMS; form++)
        CHECK_ERROR(schedule_form(&r, (enum form)form, task, A_WHILE, A_WHILE, &future), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_schedule_with(r.pool, task, NULL, &future, NULL), HORA_ENOTSUP);
    CHECK_POINTER(future, untouched);
    CHECK_POINTER(task->arg, &job);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK_INT(rig_stats(&r).accepted, 0);
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

static int rename_task(hora_scheduler *scheduler, hora_task *task, void *context)
{
    (void)scheduler;
    (void)context;
    task->name = "another name";
    return 0;
}

/* What decorate has changed is what the future says. */
TEST(scheduler_future_has_the_decorated_task, "CP-STPE15")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .decorate = rename_task), NULL));
    future = schedule_job(&r, &job, A_WHILE);
    CHECK(strcmp(hora_future_task(future)->name, "another name") == 0);
    CHECK_POINTER(hora_future_task(future)->arg, &job);
    pass(&r, A_WHILE);
    CHECK_DONE(future, 0, &job);
    hora_future_unref(future);
    rig_close(&r);
}

/* decorate runs with no lock held: it may call the scheduler. */
static int schedule_another(hora_scheduler *scheduler, hora_task *task, void *context)
{
    struct rig *r = context;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);

    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    if (atomic_fetch_add(&r->decorated, 1) == 0)
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(task->run, task->arg), 0, NULL));
    return 0;
}

TEST(scheduler_decorate_may_call_the_scheduler, "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_prepare(&r, false);
    CHECK_OK(
        try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .decorate = schedule_another), NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(job_run, &job), A_WHILE, NULL));
    settle(&r.f);
    CHECK_INT(job.runs, 1);
    pass(&r, A_WHILE);
    CHECK_INT(job.runs, 2);
    CHECK_INT(r.decorated, 2);
    rig_close(&r);
}

/* ---- before and after ---- */

/* Around each run of a series, with its code. */
TEST(scheduler_hooks_are_called_around_each_run, "")
{
    struct rig r;
    struct beat beat;
    hora_future *future;

    scheduler_open(&r, true, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    beat = (struct beat)A_BEAT(&r, 0);
    beat.fails_at = 4;
    beat.code = CODE;
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r.pool, BEAT(&beat), A_WHILE, A_WHILE, &future));
    for (int i = 1; i <= 4; i++) {
        pass(&r, A_WHILE);
        CHECK_INT(r.before, i);
        CHECK_INT(r.after, i);
        CHECK_INT(r.last_code, i < 4 ? 0 : CODE);
    }
    pass(&r, A_WHILE);
    CHECK_INT(r.before, 4);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    hora_future_unref(future);
    rig_close(&r);
}

static int refuse_second(hora_pool *pool, const hora_run_info *run, void *context)
{
    struct rig *r = context;

    (void)pool;
    (void)run;
    return atomic_fetch_add(&r->before, 1) == 1 ? CODE : 0;
}

/* A before hook that fails ends the series as its own failure would, and its worker, which is replaced. */
TEST(scheduler_before_hook_that_fails_ends_a_series, "")
{
    struct rig r;
    struct job job = A_JOB(&r), next = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    r.factory_threads = 5;
    CHECK_OK(try_scheduler(
        &r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = refuse_second, .thread_factory = rig_factory),
        NULL));
    future = schedule_series(&r, RATE, &job, A_WHILE, A_WHILE);
    pass_in_steps(&r, A_WHILE, 4);
    CHECK_INT(job.runs, 1);
    CHECK_INT(r.before, 2);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_INT(hora_future_failure(future), CODE);
    CHECK_INT(rig_stats(&r).queued, 0);
    execute_job(&r, &next);
    settle(&r.f);
    CHECK_JOB(&next, 1);
    CHECK_INT(r.factory_made, 2);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

/* The hook sees a future of the scheduler, which can be asked. */
static int ask(hora_pool *pool, const hora_run_info *run, void *context)
{
    hora_ns delay = 1;

    (void)pool;
    (void)context;
    CHECK(run->submitted);
    CHECK(hora_future_is_periodic(run->future));
    CHECK_OK(hora_future_delay(run->future, &delay));
    CHECK_INT(delay, 0);
    return 0;
}

TEST(scheduler_before_hook_may_ask_the_future, "CP-STPE16")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = ask), NULL));
    future = schedule_series(&r, GAP, &job, A_WHILE, A_WHILE);
    pass_in_steps(&r, A_WHILE, 3);
    CHECK_INT(job.runs, 3);
    hora_future_unref(future);
    rig_close(&r);
}

/* ---- failed ---- */

static struct {
    atomic_int calls, code, ends;
    hora_future *future;
} told;

static void note_failure(hora_pool *pool, const hora_event *event, void *arg)
{
    struct rig *r = arg;

    CHECK_POINTER(hora_pool_current(), pool);
    CHECK_POINTER(r->pool, pool);
    CHECK(!hora_future_is_done(event->future));
    told.future = event->future;
    told.calls++;
    told.code = event->code;
    told.ends = event->ends;
}

/* With a listener no failure is silent. Tasks that are only executed have futures for that. */
TEST(scheduler_tells_of_failures, "CP-STPE7")
{
    struct rig r;
    struct job ok = A_JOB(&r), bad = {.rig = &r, .code = CODE}, submitted = {.rig = &r, .code = CODE};
    struct beat beat;
    hora_future *future, *series;

    rig_prepare(&r, false);
    memset(&told, 0, sizeof(told));
    CHECK_OK(
        try_scheduler(&r,
                      HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                             .listener = HORA_LISTENER(.failed = note_failure, .arg = &r)),
                      NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&ok), 0, NULL));
    CHECK_OK(hora_pool_execute(r.pool, JOB(&submitted)));
    settle(&r.f);
    CHECK_INT(told.calls, 1); /* of the one that was executed */
    CHECK_INT(told.code, CODE);
    future = schedule_job(&r, &bad, A_WHILE);
    pass(&r, A_WHILE);
    CHECK_INT(told.calls, 2);
    CHECK_INT(told.code, CODE);
    CHECK_INT(told.ends, 1);
    CHECK_POINTER(told.future, future);
    beat = (struct beat)A_BEAT(&r, 0);
    beat.fails_at = 2;
    beat.code = CODE + 1;
    CHECK_OK(hora_scheduler_schedule_with_fixed_delay(r.pool, BEAT(&beat), 0, A_WHILE, &series));
    pass_in_steps(&r, A_WHILE, 3);
    CHECK_INT(told.calls, 3);
    CHECK_INT(told.code, CODE + 1);
    CHECK_INT(told.ends, 1);
    CHECK_POINTER(told.future, series);
    hora_future_unref(future);
    hora_future_unref(series);
    rig_close(&r);
}
