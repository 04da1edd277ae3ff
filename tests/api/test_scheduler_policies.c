/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_policies.c - the policies for shutdown, changed before and after it; late additions */
#include "scheduler_support.h"

/* One of each form, all an hour away. */
struct three {
    struct rig r;
    struct job jobs[FORMS];
    hora_future *futures[FORMS];
};

static void three_open(struct three *t, const hora_scheduler_options *options)
{
    scheduler_open(&t->r, false, options);
    for (int form = ONCE; form < FORMS; form++) {
        t->jobs[form] = (struct job)A_JOB(&t->r);
        t->futures[form] =
            schedule_series(&t->r, (enum form)form, &t->jobs[form], HORA_HOURS(1), HORA_HOURS(1));
    }
}

static void three_close(struct three *t)
{
    for (int form = ONCE; form < FORMS; form++)
        hora_future_unref(t->futures[form]);
    rig_close(&t->r);
}

TEST(scheduler_policies_are_off_at_first_and_can_be_set, "CP-STPE8")
{
    struct rig r;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 3; i++) {
        bool on = i == 1;

        if (i > 0) {
            CHECK_OK(hora_scheduler_set_cancel_delayed(r.pool, on));
            CHECK_OK(hora_scheduler_set_continue_periodic(r.pool, on));
            CHECK_OK(hora_scheduler_set_keep_cancelled(r.pool, on));
        }
        CHECK_INT(rig_stats_now(&r).cancel_delayed, on);
        CHECK_INT(rig_stats_now(&r).continue_periodic, on);
        CHECK_INT(rig_stats_now(&r).keep_cancelled, on);
    }
    rig_close(&r);
}

/* Before shutdown a setting does nothing but to be there. */
TEST(scheduler_policies_touch_nothing_before_shutdown, "CP-STPE10")
{
    struct three t;

    three_open(&t, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    CHECK_OK(hora_scheduler_set_cancel_delayed(t.r.pool, true));
    CHECK_OK(hora_scheduler_set_continue_periodic(t.r.pool, false));
    CHECK_INT(rig_stats(&t.r).queued, FORMS);
    for (int form = ONCE; form < FORMS; form++)
        CHECK_NOT_DONE(t.futures[form]);
    CHECK_OK(hora_pool_shutdown(t.r.pool)); /* the last setting counts */
    for (int form = ONCE; form < FORMS; form++)
        CHECK_DONE(t.futures[form], HORA_ECANCELED, NULL);
    settle(&t.r.f);
    CHECK(hora_pool_is_terminated(t.r.pool));
    three_close(&t);
}

/* Setting a policy after shutdown sweeps at once; the second sweep is the end. */
TEST(scheduler_policy_set_after_shutdown_cancels_at_once, "CP-STPE10")
{
    for (int delayed_first = 0; delayed_first < 2; delayed_first++) {
        struct three t;
        struct call call;

        three_open(&t, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
        CHECK_OK(hora_pool_shutdown(t.r.pool));
        CHECK_INT(rig_stats(&t.r).queued, FORMS);
        start_get(&call, &t.r.f, t.futures[delayed_first ? ONCE : RATE]);
        CHECK_BLOCKED(&call);
        if (delayed_first)
            CHECK_OK(hora_scheduler_set_cancel_delayed(t.r.pool, true));
        else
            CHECK_OK(hora_scheduler_set_continue_periodic(t.r.pool, false));
        CHECK_RETURNS(&call, HORA_ECANCELED);
        for (int form = ONCE; form < FORMS; form++) {
            CHECK_INT(hora_future_is_cancelled(t.futures[form]), is_series((enum form)form) != delayed_first);
            CHECK_INT(is_queued(&t.r, t.futures[form]), is_series((enum form)form) == delayed_first);
        }
        CHECK(!hora_pool_is_terminated(t.r.pool));
        if (delayed_first)
            CHECK_OK(hora_scheduler_set_continue_periodic(t.r.pool, false));
        else
            CHECK_OK(hora_scheduler_set_cancel_delayed(t.r.pool, true));
        settle(&t.r.f);
        CHECK(hora_pool_is_terminated(t.r.pool));
        for (int form = ONCE; form < FORMS; form++)
            CHECK_JOB(&t.jobs[form], 0);
        CHECK_INT(rig_stats(&t.r).cancelled, FORMS);
        three_close(&t);
    }
}

TEST(scheduler_policy_taken_back_after_shutdown_revives_nothing, "CP-STPE10")
{
    struct three t;
    struct job last = A_JOB(&t.r), blocker = A_WAITING_JOB(&t.r);

    three_open(&t, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    execute_job(&t.r, &blocker);
    settle(&t.r.f);
    CHECK_OK(hora_pool_execute(t.r.pool, JOB(&last)));
    CHECK_OK(hora_pool_shutdown(t.r.pool));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_DONE(t.futures[form], HORA_ECANCELED, NULL);
    CHECK_OK(hora_scheduler_set_cancel_delayed(t.r.pool, false));
    CHECK_OK(hora_scheduler_set_continue_periodic(t.r.pool, true));
    CHECK_INT(rig_stats(&t.r).queued, 1);
    pass(&t.r, HORA_HOURS(2));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_JOB(&t.jobs[form], 0);
    rig_finish(&t.r);
    CHECK_JOB(&last, 1);
    three_close(&t);
}

/* A run that is active when a policy changes continues; a series is checked again at the end of its run. */
TEST(scheduler_policy_is_looked_at_when_a_run_ends, "CP-STPE8 CP-STPE11")
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct rig r;
        struct job job = A_WAITING_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = !goes_on));
        future = schedule_series(&r, RATE, &job, 0, A_WHILE);
        settle(&r.f);
        CHECK_OK(hora_pool_shutdown(r.pool));
        CHECK_NOT_DONE(future);
        CHECK_OK(hora_scheduler_set_continue_periodic(r.pool, goes_on));
        CHECK_NOT_DONE(future);
        rig_open_gate(&r);
        settle(&r.f);
        CHECK_INT(hora_future_is_cancelled(future), !goes_on);
        CHECK_INT(hora_pool_is_terminated(r.pool), !goes_on);
        if (goes_on) {
            pass(&r, A_WHILE);
            CHECK_INT(job.runs, 2);
            CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        }
        hora_future_unref(future);
        rig_close(&r);
    }
}

TEST(scheduler_policies_can_be_set_after_its_end, "CP-STPE10")
{
    struct rig r;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(hora_pool_is_terminated(r.pool));
    CHECK_OK(hora_scheduler_set_cancel_delayed(r.pool, true));
    CHECK_OK(hora_scheduler_set_continue_periodic(r.pool, false));
    CHECK_OK(hora_scheduler_set_keep_cancelled(r.pool, true));
    CHECK(rig_stats_now(&r).cancel_delayed);
    rig_close(&r);
}

TEST(scheduler_that_is_frozen_keeps_its_policies, "CP-EX2")
{
    struct three t;

    three_open(&t, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .frozen = true, .continue_periodic = true));
    CHECK_ERROR(hora_scheduler_set_cancel_delayed(t.r.pool, true), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_set_continue_periodic(t.r.pool, false), HORA_ENOTSUP);
    CHECK_ERROR(hora_scheduler_set_keep_cancelled(t.r.pool, true), HORA_ENOTSUP);
    CHECK(!rig_stats_now(&t.r).cancel_delayed);
    CHECK(rig_stats_now(&t.r).continue_periodic);
    CHECK(!rig_stats_now(&t.r).keep_cancelled);
    CHECK_OK(hora_pool_shutdown(t.r.pool));
    CHECK_ERROR(hora_scheduler_set_cancel_delayed(t.r.pool, true), HORA_ENOTSUP);
    CHECK_INT(rig_stats(&t.r).queued, FORMS);
    CHECK_OK(hora_pool_shutdown_now(t.r.pool, NULL));
    three_close(&t);
}

/* A callback of a future that is cancelled by shutdown may call the scheduler: no lock is held. */
static void look_at_scheduler(hora_future *future, void *context)
{
    struct rig *r = context;

    CHECK(hora_future_is_cancelled(future));
    CHECK(hora_pool_is_shutdown(r->pool));
    CHECK_INT(hora_pool_purge(r->pool), 0);
    CHECK_OK(hora_scheduler_set_cancel_delayed(r->pool, true));
    atomic_fetch_add(&r->factory_calls, 1);
}

TEST(scheduler_cancels_at_shutdown_without_a_lock, "CP-STPE10")
{
    struct three t;

    three_open(&t, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_OK(hora_future_on_done(t.futures[form], look_at_scheduler, &t.r, NULL));
    CHECK_OK(hora_pool_shutdown(t.r.pool));
    CHECK_INT(t.r.factory_calls, FORMS);
    three_close(&t);
}

/* ---- late adds ---- */

struct late {
    struct call call;
    struct rig *rig;
    enum form form;
    struct job job;
    hora_future *future;
};

static int run_late(struct call *call)
{
    struct late *late = call->object;

    return schedule_form(late->rig, late->form, JOB(&late->job), A_LONG_WHILE, A_LONG_WHILE, &late->future);
}

/* Rejected, and the caller keeps the task; or taken on, and cancelled. Nothing between, and nothing stays. */
static void check_late(struct late *late)
{
    int error = RESULT_OF(&late->call);

    settle(&late->rig->f);
    if (error == 0) {
        CHECK_DONE(late->future, HORA_ECANCELED, NULL);
        CHECK_JOB(&late->job, 0);
    } else {
        CHECK_ERROR(error, HORA_EREJECTED);
        CHECK_INT(late->job.runs + late->job.drops, 0);
        CHECK_POINTER(late->future, NULL);
    }
    hora_future_unref(late->future);
}

TEST(scheduler_shutdown_while_tasks_are_scheduled_leaves_none, "CP-STPE12")
{
    for (int round = 0; round < (test_simulated() ? 1 : 300); round++) {
        struct rig r;
        struct late lates[FORMS];

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
        for (int form = ONCE; form < FORMS; form++) {
            lates[form] = (struct late){.rig = &r, .form = (enum form)form, .job = A_JOB(&r)};
            lates[form].call = (struct call){.run = run_late, .object = &lates[form]};
            start_call(&lates[form].call, &r.f);
        }
        CHECK_OK(hora_pool_shutdown(r.pool));
        for (int form = ONCE; form < FORMS; form++)
            check_late(&lates[form]);
        settle(&r.f);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK_INT(rig_stats(&r).queued, 0);
        CHECK_BOOKS(r.pool);
        rig_close(&r);
    }
}

/* By default a one-shot task is kept, even if it is scheduled at the last moment, unless the scheduler has
 * just terminated. */
TEST(scheduler_task_that_comes_while_it_is_shut_down_runs_or_does_not_count, "CP-STPE12")
{
    for (int round = 0; round < (test_simulated() ? 1 : 100); round++) {
        struct rig r;
        struct late late = {.rig = &r, .form = ONCE, .job = A_JOB(&r)};
        bool ended;
        int error;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        late.call = (struct call){.run = run_late, .object = &late};
        start_call(&late.call, &r.f);
        CHECK_OK(hora_pool_shutdown(r.pool));
        error = RESULT_OF(&late.call);
        settle(&r.f);
        ended = hora_pool_is_terminated(r.pool);
        pass(&r, A_LONG_WHILE);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK_INT(late.job.runs, !ended);
        if (error == 0)
            CHECK_DONE(late.future, ended ? HORA_ECANCELED : 0, &late.job);
        else
            CHECK(error == HORA_EREJECTED && ended);
        CHECK_INT(late.job.drops, error == 0);
        hora_future_unref(late.future);
        rig_close(&r);
    }
}

/* The worker is started after the task was queued: a shutdown at that moment finds it, and cancels. */
static int shut_down_first(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    struct rig *r = context;

    CHECK_OK(hora_pool_shutdown(r->pool));
    return rig_factory(run, arg, name, context);
}

TEST(scheduler_shut_down_by_its_factory_cancels_the_late_task, "CP-STPE12 CP-STPE1")
{
    for (int form = ONCE; form < FORMS; form++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        rig_prepare(&r, false);
        r.factory_threads = 2;
        CHECK_OK(try_scheduler(&r,
                               HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true,
                                                      .thread_factory = shut_down_first),
                               NULL));
        future = schedule_series(&r, (enum form)form, &job, A_LONG_WHILE, A_LONG_WHILE);
        CHECK_DONE(future, HORA_ECANCELED, NULL);
        CHECK_JOB(&job, 0);
        settle(&r.f);
        CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* decorate is called before the state is checked, so a shutdown inside it leads to a rejection. */
static int shut_down_in_decorate(hora_scheduler *scheduler, hora_task *task, void *context)
{
    (void)task;
    (void)context;
    return hora_pool_shutdown(scheduler);
}

TEST(scheduler_shut_down_by_decorate_rejects_the_task, "")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = (hora_future *)untouched;

    rig_prepare(&r, false);
    CHECK_OK(try_scheduler(&r, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .decorate = shut_down_in_decorate),
                           NULL));
    CHECK_ERROR(hora_scheduler_schedule(r.pool, JOB(&job), A_WHILE, &future), HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.runs + job.drops, 0);
    CHECK(hora_pool_is_terminated(r.pool));
    rig_close(&r);
}

/* Stop and schedule at once: handed back, or rejected. */
TEST(scheduler_stop_while_tasks_are_scheduled_loses_none, "CP-STPE12")
{
    for (int round = 0; round < (test_simulated() ? 1 : 300); round++) {
        struct rig r;
        struct late lates[FORMS];
        hora_future_list list = HORA_FUTURE_LIST_INIT;
        int taken = 0;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        for (int form = ONCE; form < FORMS; form++) {
            lates[form] = (struct late){.rig = &r, .form = (enum form)form, .job = A_JOB(&r)};
            lates[form].call = (struct call){.run = run_late, .object = &lates[form]};
            start_call(&lates[form].call, &r.f);
        }
        CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
        for (int form = ONCE; form < FORMS; form++) {
            int error = RESULT_OF(&lates[form].call);

            taken += error == 0;
            if (error == 0)
                CHECK(hora_future_is_cancelled(lates[form].future) ||
                      !hora_future_is_done(lates[form].future));
            else
                CHECK_ERROR(error, HORA_EREJECTED);
            hora_future_unref(lates[form].future);
        }
        settle(&r.f);
        CHECK(hora_pool_is_terminated(r.pool));
        CHECK(list.count <= taken); /* the others came late, and are cancelled */
        hora_future_list_cancel(&list);
        for (int form = ONCE; form < FORMS; form++)
            CHECK_INT(lates[form].job.runs, 0);
        CHECK_INT(rig_stats(&r).queued, 0);
        CHECK_INT(lates[0].job.drops + lates[1].job.drops + lates[2].job.drops, taken);
        CHECK_BOOKS(r.pool);
        rig_close(&r);
    }
}
