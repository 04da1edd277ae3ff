/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_scheduler.c - one-shot tasks: which worker leads, which one leaves, and the end of the scheduler
 *
 * The jobs themselves assert that they are not early and do not run twice; see jobs.h. Nothing is lost: each
 * job is dropped once, and the scheduler terminates. */
#include "jobs.h"

enum { KEEP = 30 };

/* ---- leading ---- */

/* Two workers, two tasks: when the leader takes a task, the other worker becomes leader. */
SCENARIO(scheduler_lead_passes_when_leader_is_served)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs[0].punctual = jobs[1].punctual = true;
    jobs[0].takes = 100; /* its worker cannot be the one that leads for the second */
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 20));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

/* A surplus worker leads, and its keep-alive ends before the task is due: the last one stays for it. */
SCENARIO(scheduler_lead_passes_when_leader_times_out)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .core_time_out = true, .keep_alive = KEEP));
    jobs[1].punctual = true;
    jobs_unref(jobs_once(0, 5));
    jobs_unref(jobs_once(1, 3 * KEEP));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

static void resize_down(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_set_core_threads(scheduler, 1, NULL));
}

/* Interrupted by a resize, which may send either away. */
SCENARIO(scheduler_lead_passes_when_workers_are_resized)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .keep_alive = KEEP));
    jobs[0].punctual = jobs[1].punctual = true;
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 3 * KEEP));
    resize_down(NULL);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

/* Interrupted by a shutdown that lets the task run in its time. */
SCENARIO(scheduler_lead_passes_when_shut_down)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs[0].punctual = jobs[1].punctual = true;
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 20));
    CHECK_OK(hora_pool_shutdown(scheduler));
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

/* A new first task is scheduled while the leader goes to sleep. */
SCENARIO(scheduler_new_head_meets_the_leader)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].punctual = jobs[1].punctual = true;
    jobs_unref(jobs_once(0, 100));
    jobs_unref(jobs_once(1, 10));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

static void schedule_late(void *arg)
{
    (void)arg;
    jobs_unref(jobs_once(2, 5));
}

MEDIUM_SCENARIO(scheduler_new_head_comes_from_elsewhere)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs[0].punctual = jobs[2].punctual = true;
    jobs_unref(jobs_once(0, 20));
    test_thread *other = test_thread_start(NULL, schedule_late, NULL);
    jobs_unref(jobs_once(1, 40));
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < 3; i++)
        jobs_check(i, 1);
    jobs_end();
}

/* ---- cancelling ---- */

/* Cancel against expiry: it runs or it does not; if the cancel says removed, it never does. */
static void cancel_meets_expiry(bool keeps, bool interrupt)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = keeps));
    struct jobs_target target = {.future = jobs_once(0, 10), .interrupt = interrupt};
    jobs_sleep_until(10);
    jobs_cancel(&target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    int outcome = hora_future_get(target.future, NULL);
    CHECK_ERROR(outcome, target.answer == HORA_CANCEL_TOO_LATE ? 0 : HORA_ECANCELED);
    CHECK(target.answer != HORA_CANCEL_REMOVED || jobs[0].runs == 0);
    CHECK(target.answer == HORA_CANCEL_REMOVED || jobs[0].runs == 1);
    jobs_unref(target.future);
    jobs_check(0, jobs[0].runs);
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 0);
    jobs_end();
}

SCENARIO(scheduler_cancel_meets_expiry)
{
    cancel_meets_expiry(false, false);
}

SCENARIO(scheduler_cancel_meets_expiry_kept)
{
    cancel_meets_expiry(true, false);
}

SCENARIO(scheduler_cancel_meets_expiry_interrupting)
{
    cancel_meets_expiry(false, true);
}

/* Two cancel at once: one of them has done it. */
SCENARIO(scheduler_cancel_meets_cancel)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = jobs_once(0, 10);
    struct jobs_target targets[] = {{.future = future}, {.future = future, .interrupt = true}};
    test_thread *other = test_thread_start(NULL, jobs_cancel, &targets[0]);
    jobs_cancel(&targets[1]);
    test_thread_join(other);
    CHECK((targets[0].answer != HORA_CANCEL_TOO_LATE) + (targets[1].answer != HORA_CANCEL_TOO_LATE) <= 1);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(future);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

/* ---- no core threads ---- */

/* The only worker stays because of a task. When the task is cancelled, the worker must leave, and the
 * scheduler has no thread. */
SCENARIO(scheduler_last_task_is_cancelled)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0, .keep_alive = KEEP));
    struct jobs_target target = {.future = jobs_once(0, 1000)};
    jobs_cancel(&target);
    CHECK(target.answer == HORA_CANCEL_REMOVED || !test_is_exact());
    jobs_unref(target.future);
    jobs_sleep_until(500);
    if (test_is_exact()) {
        CHECK_OK(hora_pool_get_stats(scheduler, &stats));
        CHECK_INT(stats.threads, 0);
    }
    jobs[1].punctual = true;
    jobs_unref(jobs_once(1, 10)); /* it comes back */
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(1, 1);
    jobs_end();
}

/* The keep-alive of the only worker expires when a task is scheduled or cancelled. */
SCENARIO(scheduler_without_core_meets_keep_alive)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0, .keep_alive = KEEP));
    jobs_unref(jobs_once(0, 0));
    jobs_sleep_until(KEEP);
    jobs[1].punctual = true;
    struct jobs_target target = {.future = jobs_once(2, 2 * KEEP), .job = 2};
    hora_future *future = jobs_once(1, 3);
    jobs_cancel(&target);
    CHECK_OK(hora_future_get(future, NULL));
    jobs_unref(future);
    jobs_unref(target.future);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_check(2, jobs[2].runs);
    jobs_end();
}

static void resize(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_set_core_threads(scheduler, 2, NULL));
    CHECK_OK(hora_pool_set_core_threads(scheduler, 0, NULL));
}

/* The number of core threads goes up and down, while tasks are due now and later. */
SCENARIO(scheduler_resize_meets_work)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_alive = KEEP));
    test_thread *other = test_thread_start(NULL, resize, NULL);
    jobs_unref(jobs_once(0, 0));
    jobs_unref(jobs_once(1, 2 * KEEP));
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_sleep_until(1000);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    CHECK(stats.threads == 0 || !test_is_exact());
    jobs_end();
}

/* The last worker stays although it is surplus. Another worker takes the task for which it stays: both must
 * leave. */
LARGE_SCENARIO(scheduler_last_worker_is_relieved_by_another)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0, .keep_alive = KEEP));
    jobs_unref(jobs_once(0, 10));
    CHECK_OK(hora_pool_set_core_threads(scheduler, 2, NULL));
    jobs_unref(jobs_once(1, 10));
    CHECK_OK(hora_pool_set_core_threads(scheduler, 0, NULL));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_sleep_until(1000);
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(scheduler, &stats));
    CHECK(stats.threads == 0 || !test_is_exact());
    jobs_end();
    jobs_check(0, 1);
    jobs_check(1, 1);
}

/* ---- the end ---- */

/* A task is accepted before the shutdown, or rejected; it is never lost. One that is scheduled just too late
 * may also be cancelled, but not rejected after it was accepted. */
static void scheduling_meets_shutdown(int core, bool cancels, hora_future *(*schedule)(int i, hora_ns delay))
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core, .cancel_delayed = cancels));
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    hora_future *future = schedule(0, 10);
    if (future != NULL) {
        int outcome = hora_future_get(future, NULL);
        CHECK(outcome == 0 || outcome == HORA_ECANCELED);
        CHECK(outcome != 0 || !cancels || !test_is_exact()); /* it was not due yet */
        CHECK_INT(jobs[0].runs, outcome == 0);
        jobs_unref(future);
    }
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_INT(jobs[0].drops, future != NULL);
    jobs_end();
}

static void schedule_meets_shutdown(int core, bool cancels)
{
    scheduling_meets_shutdown(core, cancels, jobs_once);
}

SCENARIO(scheduler_schedule_meets_shutdown)
{
    schedule_meets_shutdown(1, false);
}

SCENARIO(scheduler_schedule_meets_cancelling_shutdown)
{
    schedule_meets_shutdown(1, true);
}

SCENARIO(scheduler_schedule_meets_shutdown_without_core)
{
    schedule_meets_shutdown(0, false);
}

/* A task with its own rules has series state, and does not enter through a lane. */
static hora_future *once_by_rules(int i, hora_ns delay)
{
    hora_future *future;
    int error = hora_scheduler_schedule_with(
        scheduler, JOB(i), HORA_SCHEDULE(.initial_delay = delay, .grace = HORA_SECONDS(1)), &future, NULL);
    CHECK(error == 0 || error == HORA_EREJECTED);
    return error == 0 ? future : NULL;
}

SCENARIO(scheduler_schedule_by_rules_meets_shutdown_without_core)
{
    scheduling_meets_shutdown(0, false, once_by_rules);
}

SCENARIO(scheduler_schedule_meets_cancelling_shutdown_with_two)
{
    schedule_meets_shutdown(2, true);
}

/* Stopping: each task has run, is handed back or was rejected. */
static void schedule_meets_stop(int core, hora_ns delay)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core));
    test_thread *other = test_thread_start(NULL, jobs_stop, &list);
    hora_future *futures[] = {jobs_once(0, delay), jobs_once(1, delay)};
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    int cancelled = 0;
    for (int i = 0; i < 2; i++)
        cancelled += futures[i] != NULL && hora_future_is_cancelled(futures[i]);
    int accepted = (futures[0] != NULL) + (futures[1] != NULL);
    CHECK_INT(jobs[0].runs + jobs[1].runs + list.count + cancelled, accepted);
    hora_future_list_cancel(&list);
    for (int i = 0; i < 2; i++) {
        CHECK(futures[i] == NULL || hora_future_is_done(futures[i]));
        jobs_unref(futures[i]);
        CHECK_INT(jobs[i].drops, futures[i] != NULL);
    }
    jobs_end();
}

SCENARIO(scheduler_schedule_meets_stop)
{
    schedule_meets_stop(1, 10);
}

SCENARIO(scheduler_due_task_meets_stop)
{
    schedule_meets_stop(1, 0);
}

static void cancel_and_let_go(void *arg)
{
    struct jobs_target *target = arg;
    jobs_cancel(target);
    jobs_unref(target->future);
}

/* A task is cancelled, and its last reference released, while a stop hands back all tasks. */
SCENARIO(scheduler_stop_meets_cancel)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct jobs_target target = {.future = jobs_once(0, 1000)};
    jobs_unref(jobs_once(1, 2000));
    test_thread *other = test_thread_start(NULL, cancel_and_let_go, &target);
    jobs_stop(&list);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(list.count == 1 || list.count == 2 || !test_is_exact());
    hora_future_list_cancel(&list);
    jobs_end();
    jobs_check(0, jobs[0].runs);
    jobs_check(1, jobs[1].runs);
}

/* The rule is changed after the shutdown, while a late schedule call is on its way. */
SCENARIO(scheduler_rule_changes_after_shutdown)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    hora_future *future = jobs_once(0, 1000);
    test_thread_join(other);
    CHECK_OK(hora_scheduler_set_cancel_delayed(scheduler, true));
    if (test_is_exact()) {
        CHECK(future == NULL || hora_future_is_cancelled(future));
        CHECK_OK(hora_pool_await_termination_for(scheduler, 100));
    }
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    jobs_unref(future);
    CHECK_INT(jobs[0].drops, future != NULL);
    jobs_end();
}

static void cancel_delayed(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(scheduler));
    CHECK_OK(hora_scheduler_set_cancel_delayed(scheduler, true));
}

SCENARIO(scheduler_rule_meets_late_schedule)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, cancel_delayed, NULL);
    hora_future *future = jobs_once(0, 1000);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK(jobs_now() < 1000); /* the task was not waited for */
    CHECK(future == NULL || hora_future_is_done(future));
    jobs_unref(future);
    CHECK_INT(jobs[0].drops, future != NULL);
    jobs_end();
}

/* A task that is due at the shutdown runs, also if delayed tasks are cancelled. */
SCENARIO(scheduler_due_task_survives_shutdown)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    jobs_unref(jobs_once(0, 0));
    jobs_unref(jobs_once(1, 0));
    hora_future *later = jobs_once(2, 50);
    CHECK_OK(hora_pool_shutdown(scheduler));
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_cancelled(later) || !test_is_exact());
    jobs_unref(later);
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_check(2, jobs[2].runs);
    jobs_end();
}

/* Freed while everything is under way. */
SCENARIO(scheduler_is_freed_in_the_middle)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs[0].takes = 10;
    jobs_unref(jobs_once(0, 0));
    jobs_unref(jobs_rate(1, 0, 5));
    jobs_unref(jobs_once(2, 50));
    jobs_end();
    for (int i = 0; i < 3; i++)
        jobs_check(i, jobs[i].runs);
}

/* ---- futures of a scheduler, executed once more ---- */

/* One that the scheduler has already, or a worker, is refused; unless it has been removed before. */
SCENARIO(scheduler_has_the_future_already)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].fails_at = 3;
    hora_future *future = jobs_rate(0, 10, 10);
    CHECK_ERROR(hora_pool_execute_future(scheduler, future), HORA_EINVAL);
    jobs_sleep_until(10);
    CHECK_ERROR(hora_pool_execute_future(scheduler, future), HORA_EINVAL);
    int removed = hora_pool_remove(scheduler, future);
    if (removed == 1)
        CHECK_OK(hora_pool_execute_future(scheduler, future));
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 3);
}

/* One that was handed back can be run by hand or by a pool, but not by another scheduler. */
SCENARIO(scheduler_refuses_the_future_of_another)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_scheduler *other;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &other, NULL));
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = jobs_once(0, 10);
    jobs_stop(&list);
    hora_future *back = hora_future_list_take(&list);
    if (back != NULL) {
        CHECK_ERROR(hora_pool_execute_future(other, back), HORA_EINVAL);
        jobs[0].due = 0;
        CHECK_INT(hora_future_run(back), 1);
        jobs_unref(back);
    }
    CHECK(hora_future_is_done(future) || !test_is_exact());
    jobs_unref(future);
    jobs_end();
    CHECK_OK(hora_pool_free(other));
    jobs_check(0, jobs[0].runs);
}

/* ---- no core thread is left while the first worker is started ---- */

static hora_latch *has_run;

static int run_and_count_down(void *arg, void **ret_result)
{
    int code = jobs_run(arg, ret_result);
    CHECK_OK(hora_latch_count_down(has_run));
    return code;
}

static void drop_core(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_set_core_threads(scheduler, 0, NULL));
}

/* The task runs although no thread waits for its future, and no other task is scheduled. */
static void task_meets_drop_of_core(bool is_detached)
{
    CHECK_OK(hora_latch_new(1, NULL, &has_run, NULL));
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, drop_core, NULL);
    hora_future *future = NULL;
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(run_and_count_down, &jobs[0], .drop = jobs_drop), 0,
                                     is_detached ? NULL : &future));
    CHECK_OK(hora_latch_await(has_run));
    test_thread_join(other);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
    CHECK_OK(hora_latch_free(has_run));
}

SCENARIO(scheduler_task_meets_drop_of_core)
{
    task_meets_drop_of_core(false);
}

SCENARIO(scheduler_detached_task_meets_drop_of_core)
{
    task_meets_drop_of_core(true);
}
