/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_services.c - a scheduler used as a pool: completion services, groups, waiting inside a task
 *
 * Also futures that live longer than their scheduler. */
#include "scheduler_support.h"

TEST(scheduler_serves_a_completion_service, "")
{
    struct rig r;
    struct job jobs[3] = {A_WAITING_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_executor executor;
    hora_completion_service *service;
    hora_future *future, *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    executor = hora_pool_executor(r.pool);
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_completion_service_submit(service, JOB(&jobs[i]), &futures[i]));
    for (int i = 1; i < 3; i++) {
        CHECK_OK(hora_completion_service_take(service, &future));
        CHECK(future == futures[1] || future == futures[2]);
        hora_future_unref(future);
    }
    CHECK_ERROR(hora_completion_service_poll(service, &future), HORA_EEMPTY);
    rig_open_gate(&r);
    CHECK_OK(hora_completion_service_take(service, &future));
    CHECK_POINTER(future, futures[0]);
    hora_future_unref(future);
    for (int i = 0; i < 3; i++)
        hora_future_unref(futures[i]);
    CHECK_OK(hora_completion_service_free(service));
    rig_close(&r);
}

/* A group may hold scheduled futures of every form; a series is pending until it has ended. */
TEST(scheduler_futures_belong_to_groups, "")
{
    struct rig r;
    struct job jobs[4] = {A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[FORMS];
    hora_group *group;
    hora_executor executor;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    executor = hora_pool_executor(r.pool);
    CHECK_OK(hora_group_new(HORA_GROUP_OPTIONS(.clock = r.f.view), &group, NULL));
    for (int form = ONCE; form < FORMS; form++) {
        futures[form] = schedule_series(&r, (enum form)form, &jobs[form], A_WHILE, A_WHILE);
        CHECK_OK(hora_group_add(group, futures[form]));
    }
    CHECK_OK(hora_group_submit(group, &executor, JOB(&jobs[3]), NULL));
    settle(&r.f);
    CHECK_INT(hora_group_pending(group), 3);
    pass_in_steps(&r, A_WHILE, 2);
    CHECK_INT(hora_group_pending(group), 2);
    CHECK_INT(hora_group_failed(group), 0);
    CHECK_INT(hora_group_cancel(group, true), 2);
    CHECK_OK(hora_group_await(group));
    CHECK_INT(hora_group_failed(group), 2);
    CHECK_INT(rig_stats(&r).queued, 0);
    for (int form = ONCE; form < FORMS; form++)
        hora_future_unref(futures[form]);
    CHECK_OK(hora_group_free(group));
    rig_close(&r);
    CHECK_JOB(&jobs[RATE], 2);
    CHECK_JOB(&jobs[GAP], 2);
}

static int run_group_wait(struct call *call)
{
    return hora_group_await(call->object);
}

TEST(scheduler_shutdown_ends_a_wait_for_a_group, "CP-STPE10")
{
    struct rig r;
    struct job job = A_JOB(&r);
    struct call call;
    hora_future *future;
    hora_group *group;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_group_new(HORA_GROUP_OPTIONS(.clock = r.f.view), &group, NULL));
    future = schedule_series(&r, GAP, &job, A_WHILE, A_WHILE);
    CHECK_OK(hora_group_add(group, future));
    call = (struct call){.run = run_group_wait, .object = group};
    start_call(&call, &r.f);
    pass_in_steps(&r, A_WHILE, 3);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_RETURNS(&call, 0);
    CHECK_INT(hora_group_failed(group), 1);
    hora_future_unref(future);
    CHECK_OK(hora_group_free(group));
    rig_close(&r);
}

/* ---- inside a task ---- */

struct inner {
    struct rig *rig;
    struct job job;
    int result;
    hora_future *future;
    hora_ns timeout;
    hora_ns began, returned;
};

static int wait_for_submitted(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    inner->future = submit_job(inner->rig, &inner->job);
    inner->result = hora_future_get(inner->future, NULL);
    return 0;
}

/* The only worker runs the task that it waits for, if that is due. */
TEST(scheduler_worker_runs_what_it_waits_for, "")
{
    struct rig r;
    struct inner inner = {.rig = &r, .job = A_JOB(&r), .result = 1};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(wait_for_submitted, &inner)));
    settle(&r.f);
    CHECK_OK(inner.result);
    CHECK_JOB(&inner.job, 1);
    hora_future_unref(inner.future);
    rig_close(&r);
}

static int wait_for_scheduled(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    inner->future = schedule_job(inner->rig, &inner->job, 2 * A_WHILE);
    inner->result = hora_future_get_for(inner->future, inner->timeout, NULL);
    inner->returned = hora_clock_now(inner->rig->f.view);
    return 0;
}

static void open_waiting_worker(struct rig *r, struct inner *inner, int threads, hora_ns timeout)
{
    *inner = (struct inner){.rig = r, .job = A_JOB(r), .result = 1, .timeout = timeout};
    scheduler_open(r, false, HORA_SCHEDULER_OPTIONS(.core_threads = threads));
    CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(wait_for_scheduled, inner)));
    settle(&r->f);
    inner->began = hora_clock_now(r->f.view);
}

static void close_waiting_worker(struct rig *r, struct inner *inner)
{
    hora_future_unref(inner->future);
    rig_close(r);
}

/* No task runs before its time, not even on a worker that waits for it; and none runs late, even if there is
 * no other worker. */
TEST(scheduler_worker_that_waits_runs_it_in_its_time, "")
{
    for (int threads = 1; threads <= 2; threads++) {
        for (int timed = 0; timed < 2; timed++) {
            struct rig r;
            struct inner inner;

            open_waiting_worker(&r, &inner, threads, timed ? A_LONG_WHILE : HORA_FOREVER);
            pass(&r, 2 * A_WHILE - 1);
            CHECK_INT(inner.job.runs, 0);
            CHECK_INT(inner.result, 1);
            pass(&r, 1);
            CHECK_JOB(&inner.job, 1);
            CHECK_OK(inner.result);
            CHECK_INT(inner.returned - inner.began, 2 * A_WHILE);
            close_waiting_worker(&r, &inner);
        }
    }
}

TEST(scheduler_worker_that_waits_not_long_enough_times_out, "")
{
    struct rig r;
    struct inner inner;

    open_waiting_worker(&r, &inner, 1, A_WHILE);
    pass(&r, A_WHILE);
    CHECK_ERROR(inner.result, HORA_ETIMEDOUT);
    CHECK_INT(inner.returned - inner.began, A_WHILE);
    CHECK_INT(inner.job.runs, 0);
    pass(&r, A_WHILE);
    CHECK_JOB(&inner.job, 1);
    close_waiting_worker(&r, &inner);
}

/* The task that the only worker waits for is re-timed meanwhile: it runs at its new time. */
TEST(scheduler_worker_that_waits_for_a_task_that_is_put_off_runs_it_later, "")
{
    struct rig r;
    struct inner inner;

    open_waiting_worker(&r, &inner, 1, HORA_FOREVER);
    CHECK_OK(hora_future_reschedule(inner.future, 3 * A_WHILE, 0));
    pass(&r, 3 * A_WHILE - 1);
    CHECK_INT(inner.job.runs, 0);
    pass(&r, 1);
    CHECK_JOB(&inner.job, 1);
    CHECK_OK(inner.result);
    close_waiting_worker(&r, &inner);
}

TEST(scheduler_worker_that_waits_for_a_task_that_is_moved_up_runs_it_sooner, "")
{
    struct rig r;
    struct inner inner;

    open_waiting_worker(&r, &inner, 1, HORA_FOREVER);
    CHECK_OK(hora_future_reschedule(inner.future, A_WHILE, 0));
    pass(&r, A_WHILE);
    CHECK_JOB(&inner.job, 1);
    CHECK_OK(inner.result);
    pass(&r, A_WHILE);
    close_waiting_worker(&r, &inner);
}

TEST(scheduler_worker_that_waits_for_a_task_that_is_paused_runs_it_when_it_goes_on, "")
{
    struct rig r;
    struct inner inner;

    open_waiting_worker(&r, &inner, 1, A_LONG_WHILE);
    CHECK_INT(hora_future_pause(inner.future), 1);
    pass(&r, 3 * A_WHILE);
    CHECK_INT(inner.job.runs, 0);
    CHECK_INT(hora_future_resume(inner.future), 1);
    settle(&r.f);
    CHECK_JOB(&inner.job, 1);
    CHECK_OK(inner.result);
    pass(&r, A_LONG_WHILE);
    close_waiting_worker(&r, &inner);
}

TEST(scheduler_worker_that_waits_is_told_of_a_cancel, "")
{
    struct rig r;
    struct inner inner;

    open_waiting_worker(&r, &inner, 1, HORA_FOREVER);
    CHECK_INT(hora_future_cancel(inner.future, false), HORA_CANCEL_REMOVED);
    settle(&r.f);
    CHECK_ERROR(inner.result, HORA_ECANCELED);
    CHECK_JOB(&inner.job, 0);
    close_waiting_worker(&r, &inner);
}

static int invoke_inside(void *arg, void **ret_result)
{
    struct inner *inner = arg;
    struct job others[2] = {A_JOB(inner->rig), A_JOB(inner->rig)};
    hora_future *futures[2];

    (void)ret_result;
    inner->result = hora_pool_invoke_all(inner->rig->pool,
                                         (const hora_task *[]){JOB(&others[0]), JOB(&others[1])}, 2, futures);
    if (inner->result != 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        CHECK_DONE(futures[i], 0, &others[i]);
        hora_future_unref(futures[i]);
    }
    inner->result =
        hora_pool_invoke_any(inner->rig->pool, (const hora_task *[]){JOB(&inner->job)}, 1, NULL, NULL);
    return 0;
}

/* Here, too, the only worker runs the task that it waits for. */
TEST(scheduler_worker_may_invoke_tasks, "")
{
    struct rig r;
    struct inner inner = {.rig = &r, .job = A_JOB(&r), .result = 1};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(invoke_inside, &inner)));
    settle(&r.f);
    CHECK_OK(inner.result);
    CHECK_JOB(&inner.job, 1);
    rig_close(&r);
}

static int free_own_scheduler(void *arg, void **ret_result)
{
    struct inner *inner = arg;

    (void)ret_result;
    inner->result = hora_pool_free(inner->rig->pool);
    CHECK_ERROR(hora_pool_await_termination_for(inner->rig->pool, HORA_FOREVER), HORA_EDEADLK);
    CHECK_ERROR(hora_pool_await_idle_for(inner->rig->pool, HORA_FOREVER), HORA_EDEADLK);
    return 0;
}

/* Whatever kind of task asks: nothing happens. */
TEST(scheduler_is_not_freed_by_its_own_tasks, "")
{
    for (int form = ONCE; form < FORMS; form++) {
        struct rig r;
        struct inner inner = {.rig = &r, .result = 1};

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        CHECK_OK(schedule_form(&r, (enum form)form, HORA_TASK(free_own_scheduler, &inner), A_WHILE, A_WHILE,
                               NULL));
        pass(&r, A_WHILE);
        CHECK_ERROR(inner.result, HORA_EDEADLK);
        CHECK(!hora_pool_is_shutdown(r.pool));
        pass(&r, A_WHILE);
        rig_close(&r);
    }
}

/* From the callbacks that the scheduler's threads call as well. */
static void free_when_failed(hora_pool *pool, const hora_event *event, void *arg)
{
    struct rig *r = arg;

    (void)event;
    CHECK_ERROR(hora_pool_free(pool), HORA_EDEADLK);
    atomic_fetch_add(&r->after, 1);
}

static void free_when_terminated(hora_pool *pool, void *context)
{
    struct rig *r = context;

    CHECK_ERROR(hora_pool_free(pool), HORA_EDEADLK);
    atomic_fetch_add(&r->terminated, 1);
}

TEST(scheduler_is_not_freed_by_its_callbacks, "")
{
    struct rig r;
    struct job job = {.rig = &r, .code = 7};

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(
        &r,
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .terminated = free_when_terminated,
                               .listener = HORA_LISTENER(.failed = free_when_failed, .arg = &r)),
        NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), 0, NULL));
    settle(&r.f);
    CHECK_INT(r.after, 1);
    rig_close(&r);
    CHECK_INT(r.terminated, 1);
}

/* A task may shut its scheduler down; it is not interrupted by that. */
static int shut_down(void *arg, void **ret_result)
{
    struct job *job = arg;

    (void)ret_result;
    CHECK_OK(hora_pool_shutdown(job->rig->pool));
    CHECK(!hora_interrupted());
    atomic_fetch_add(&job->runs, 1);
    return 0;
}

TEST(scheduler_may_be_shut_down_by_its_own_task, "CP-STPE11")
{
    for (int form = ONCE; form < FORMS; form++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
        CHECK_OK(schedule_form(&r, (enum form)form, HORA_TASK(shut_down, &job), A_WHILE, A_WHILE, &future));
        pass_in_steps(&r, A_WHILE, 3);
        CHECK_INT(job.runs, 1);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK_DONE(future, is_series((enum form)form) ? HORA_ECANCELED : 0, NULL);
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* ---- after the end ---- */

/* A future whose scheduler has been freed still answers all queries, and accepts no changes. */
TEST(scheduler_futures_may_live_longer, "")
{
    enum { DONE, CANCELLED, ABANDONED, REMOVED, SERIES, ALL };
    static const int outcomes[ALL] = {0, HORA_ECANCELED, HORA_EABANDONED, 1, HORA_EABANDONED};
    struct rig r;
    struct job jobs[ALL];
    hora_future *futures[ALL];

    for (int i = 0; i < ALL; i++)
        jobs[i] = (struct job)A_JOB(&r);
    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < ALL; i++)
        futures[i] = i == SERIES ? schedule_series(&r, RATE, &jobs[i], A_WHILE, A_WHILE)
                                 : schedule_job(&r, &jobs[i], i == DONE ? 0 : A_WHILE + i);
    settle(&r.f);
    CHECK_INT(hora_future_cancel(futures[CANCELLED], false), HORA_CANCEL_REMOVED);
    CHECK_INT(hora_pool_remove(r.pool, futures[REMOVED]), 1);
    CHECK_INT(hora_pool_free(r.pool), 2);
    r.pool = NULL;
    for (int i = 0; i < ALL; i++) {
        hora_schedule_info info = HORA_INIT(hora_schedule_info);
        hora_ns delay;

        CHECK_OK(hora_future_delay(futures[i], &delay));
        CHECK_OK(hora_future_get_schedule_info(futures[i], &info));
        CHECK_INT(info.runs, i == DONE);
        CHECK_INT(hora_future_is_periodic(futures[i]), i == SERIES);
        CHECK_INT(order_of(futures[i], futures[i]), 0);
        if (i == REMOVED)
            continue;
        CHECK_ERROR(hora_future_reschedule(futures[i], 0, 0), HORA_EBUSY);
        CHECK_ERROR(hora_future_pause(futures[i]), HORA_EBUSY);
        CHECK_ERROR(hora_future_resume(futures[i]), HORA_EBUSY);
        CHECK_DONE(futures[i], outcomes[i], &jobs[i]);
    }
    CHECK_NOT_DONE(futures[REMOVED]);
    CHECK_INT(hora_future_run(futures[REMOVED]), 1); /* only the caller has it */
    CHECK_DONE(futures[REMOVED], 0, &jobs[REMOVED]);
    for (int i = 0; i < ALL; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i == DONE || i == REMOVED);
    }
    rig_close(&r);
}

/* A future that was handed back can be run by hand, once or, of a series, as often as one likes. */
TEST(scheduler_futures_that_are_handed_back_can_still_be_run, "CP-STPE8")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[FORMS], *future;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int form = ONCE; form < FORMS; form++)
        futures[form] = schedule_series(&r, (enum form)form, &jobs[form], A_WHILE, A_WHILE);
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    while ((future = hora_future_list_take(&list)) != NULL) {
        CHECK_INT(hora_future_run_and_reset(future), 1);
        CHECK_INT(hora_future_run(future), 1);
        CHECK(hora_future_is_done(future));
        hora_future_unref(future);
    }
    for (int form = ONCE; form < FORMS; form++) {
        CHECK_DONE(futures[form], 0, &jobs[form]);
        hora_future_unref(futures[form]);
        CHECK_JOB(&jobs[form], 2);
    }
    rig_close(&r);
}
