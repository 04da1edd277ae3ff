/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_schedule_detached.c - tasks that wait in the timer queue without a future
 *
 * None is lost, none runs twice, early or after the end of the scheduler, and a view of the queue shows
 * futures in the same order. */
#include <stdatomic.h>

#include "base/build.h"
#include "jobs.h"
#include "simulator/sim.h"

static atomic_int accepted;

static void begin(const hora_scheduler_options *options)
{
    accepted = 0;
    jobs_begin(options);
}

/* Each task that was accepted has been dropped once, and the others never. */
static void end(void)
{
    jobs_end();
    int drops = 0;
    for (int i = 0; i < JOBS; i++)
        drops += jobs[i].drops;
    CHECK_INT(drops, accepted);
}

static void schedule(int i, hora_ns delay)
{
    jobs[i].due = jobs_now() + delay;
    int error = hora_scheduler_schedule(scheduler, JOB(i), delay, NULL);
    CHECK(error == 0 || error == HORA_EREJECTED);
    accepted += error == 0;
}

static int all_runs(void)
{
    int runs = 0;
    for (int i = 0; i < JOBS; i++)
        runs += jobs[i].runs;
    return runs;
}

static hora_pool_stats stats(void)
{
    hora_pool_stats all = HORA_INIT(hora_pool_stats);
    CHECK_OK(hora_pool_get_stats(scheduler, &all));
    return all;
}

/* ---- waiting ---- */

/* A task that is due earlier wakes the leader, and each begins in time. */
MEDIUM_SCENARIO(schedule_detached_is_punctual)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++)
        jobs[i].punctual = true;
    schedule(0, 30);
    schedule(1, 10);
    schedule(2, 20);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < 3; i++)
        jobs_check(i, 1);
    end();
}

/* Those detached wait outside of the heap, in which a future that is due later stands. */
MEDIUM_SCENARIO(schedule_detached_comes_in_time)
{
    hora_future *future;
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 4; i++)
        jobs[i].punctual = true;
    schedule(0, 10);
    jobs[1].due = jobs_now() + 40;
    CHECK_OK(hora_scheduler_schedule(scheduler, JOB(1), 40, &future));
    accepted++;
    schedule(2, 30);
    schedule(3, 20);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < 4; i++)
        jobs_check(i, 1);
    jobs_unref(future);
    end();
}

static void schedule_two(void *arg)
{
    (void)arg;
    schedule(2, 5);
    schedule(3, 0);
}

LARGE_SCENARIO(schedule_detached_from_two_threads)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    test_thread *other = test_thread_start(NULL, schedule_two, NULL);
    schedule(0, 5);
    schedule(1, 0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < JOBS; i++)
        jobs_check(i, 1);
    end();
}

/* The last worker leaves when a task is scheduled: whether or not it leaves, the task runs. */
LARGE_SCENARIO(schedule_detached_meets_a_leaving_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0));
    schedule(0, 0);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    schedule(1, 0);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    end();
}

/* ---- the end of the scheduler ---- */

/* An accepted task runs; the caller owns a rejected one. A future that is scheduled just before the end may
 * be cancelled instead. */
LARGE_SCENARIO(schedule_detached_meets_shutdown)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    schedule(0, 5);
    schedule(1, 0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(HORA__FAST ? all_runs() == accepted : all_runs() <= accepted);
    end();
}

/* With the policy for delayed tasks: a task that is not due at the shutdown is cancelled, whenever it was
 * scheduled. */
SCENARIO(schedule_detached_meets_shutdown_that_cancels)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    schedule(0, 1000000);
    test_thread_join(other);
    if (test_is_exact())
        jobs[0].forbidden = 1;
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(stats().cancelled, accepted);
    end();
}

/* Each task has run, was cancelled by a worker that had taken it, or is handed back as a future that its new
 * owner may run. */
LARGE_SCENARIO(schedule_detached_stop_hands_back_futures)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    test_thread *other = test_thread_start(NULL, jobs_stop, &list);
    schedule(0, 0);
    schedule(1, 5);
    schedule(2, 0);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    hora_pool_stats all = stats();
    CHECK_INT(all.done + all.cancelled + list.count, accepted);
    CHECK_INT(all.done, all_runs());
    CHECK_INT(all.handed_back, list.count);
    hora_future_list_cancel(&list);
    end();
}

/* Without a list the tasks are abandoned. A task that a worker has taken but not begun does not begin after a
 * stop has returned. */
LARGE_SCENARIO(schedule_detached_stop_abandons)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    schedule(0, 0);
    schedule(1, 0);
    schedule(2, 5);
    CHECK_OK(hora_pool_shutdown_now(scheduler, NULL));
    int begun = all_runs();
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    hora_pool_stats all = stats();
    CHECK_INT(all.done + all.cancelled + all.abandoned, 3);
    CHECK_INT(all.done, all_runs());
    CHECK(all_runs() <= begun + 1); /* it may have been about to */
    end();
}

static int note_begin(void *arg, void **ret_result)
{
    (void)ret_result;
    *(atomic_int *)arg = 1;
    return 0;
}

static int stop_from_inside(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_pool_shutdown_now(scheduler, NULL);
}

/* The only worker stops the scheduler from inside a task: the second task does not begin after that. */
SCENARIO(schedule_detached_does_not_begin_after_stop)
{
    atomic_int begun = 0;
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_execute(scheduler, HORA_TASK(stop_from_inside, NULL)));
    int error = hora_pool_execute(scheduler, HORA_TASK(note_begin, &begun));
    CHECK(error == 0 || error == HORA_EREJECTED);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_INT(begun, 0);
    end();
}

/* ---- looking ---- */

static void schedule_last(void *arg)
{
    (void)arg;
    schedule(2, 40);
}

/* The queue shows only futures, also for tasks that are scheduled at the same moment. */
LARGE_SCENARIO(schedule_detached_meets_a_look)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    schedule(0, 1000000);
    schedule(1, 2000000);
    test_thread *other = test_thread_start(NULL, schedule_last, NULL);
    jobs[2].due = 0;
    hora_queue *queue = hora_pool_queue(scheduler);
    for (int round = 0; round < 2 && test_is_exact(); round++) {
        void *items[JOBS];
        int count = hora_queue_snapshot(queue, items, JOBS);
        CHECK(count == 2 || count == 3);
        for (int i = 0; i < count; i++) {
            CHECK(hora_future_task(items[i])->run == jobs_run);
            jobs_unref(items[i]); /* they are references */
        }
        if (round == 0)
            test_thread_join(other);
    }
    if (!test_is_exact())
        test_thread_join(other);
    CHECK_OK(hora_pool_shutdown_now(scheduler, NULL));
    end();
}

static void look(void *arg)
{
    (void)arg;
    CHECK(hora_pool_queue(scheduler) != NULL);
    CHECK_INT(hora_pool_purge(scheduler), 0);
}

/* A worker may take a task that is being shown: it runs once, as a task or as a future, and in time. */
LARGE_SCENARIO(schedule_detached_look_meets_a_worker)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 3; i++)
        jobs[i].punctual = i > 0;
    test_thread *other = test_thread_start(NULL, look, NULL);
    schedule(0, 0);
    schedule(1, 10);
    schedule(2, 20);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    test_thread_join(other);
    for (int i = 0; i < 3; i++)
        jobs_check(i, 1);
    end();
}

static int order[JOBS];
static atomic_int ordered;

static int note_order(void *arg, void **ret_result)
{
    (void)ret_result;
    order[ordered++] = (int)(intptr_t)arg;
    return 0;
}

/* Due together, detached and with a future, and perhaps shown in between: in the order of their coming. */
LARGE_SCENARIO(schedule_detached_keeps_its_place)
{
    hora_future *future = NULL;
    ordered = 0;
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_ns zero = jobs_now();
    test_thread *other = test_thread_start(NULL, look, NULL);
    for (int i = 0; i < JOBS; i++)
        CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(note_order, (void *)(intptr_t)i),
                                         50 - (jobs_now() - zero), i == 2 ? &future : NULL));
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < JOBS && test_is_exact(); i++)
        CHECK_INT(order[i], i);
    jobs_unref(future);
    end();
}

/* ---- inside ---- */

static void drop_and_end_thread(void *arg)
{
    jobs_drop(arg);
    hora__sim_exit_thread();
}

/* A task that ends its thread is abandoned; a task whose drop ends the thread is done. Each is dropped once,
 * and the other tasks run. */
LARGE_SCENARIO(schedule_detached_ends_its_thread)
{
    begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].exits_at = 1;
    schedule(0, 0);
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(jobs_run, &jobs[1], .drop = drop_and_end_thread), 5,
                                     NULL));
    accepted++;
    schedule(2, 5);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < 3; i++)
        jobs_check(i, 1);
    CHECK_INT(stats().abandoned, 1);
    CHECK_INT(stats().done, 2);
    end();
}

/* ---- no memory, no threads ---- */

static bool try_schedule(int i, hora_ns delay)
{
    int error = hora_scheduler_schedule(scheduler, JOB(i), delay, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN || error == HORA_EREJECTED);
    CHECK(error == 0 || jobs[i].drops + jobs[i].runs == 0);
    accepted += error == 0;
    return error == 0;
}

/* As jobs_begin, where that may fail. */
static bool begin_if_possible(void)
{
    accepted = 0;
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){0};
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL) < 0)
        return false;
    jobs_start = hora_clock_now(NULL);
    return true;
}

/* The caller owns a rejected task. A task for whose future there is no memory is not shown, or is abandoned
 * instead of handed back. Nothing is lost. */
SWEEP(schedule_detached_survives)
{
    bool in[3];
    if (!begin_if_possible())
        return;
    for (int i = 0; i < 3; i++)
        in[i] = try_schedule(i, i == 0 ? 0 : HORA_SECONDS(i));
    hora_queue *queue = test_random(2) == 0 ? hora_pool_queue(scheduler) : NULL;
    CHECK(queue == NULL || hora_queue_size(queue) <= accepted);
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    int error = hora_pool_shutdown_now(scheduler, &list);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    CHECK_INT(list.count, stats().handed_back);
    hora_future_list_cancel(&list);
    jobs_end();
    for (int i = 0; i < 3; i++)
        CHECK_INT(jobs[i].drops, in[i]);
}

/* Without a thread nothing stays in that was refused. */
SWEEP(schedule_detached_without_threads)
{
    bool in[2];
    if (!begin_if_possible())
        return;
    in[0] = try_schedule(0, 10);
    in[1] = try_schedule(1, 20);
    CHECK(stats().queued <= accepted);
    CHECK_INT(stats().accepted, accepted);
    int error = hora_pool_close_for(scheduler, HORA_SECONDS(10));
    CHECK(error == 0 || error == HORA_ETIMEDOUT || error == HORA_ENOMEM);
    jobs_end();
    for (int i = 0; i < 2; i++)
        CHECK_INT(jobs[i].drops, in[i]);
}
