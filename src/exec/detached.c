/* SPDX-License-Identifier: Apache-2.0 */
/* detached.c - detached tasks: queued, and run, without a future
 *
 * Purpose           A future is the most expensive part of a small task: one thread allocates its memory and
 *                   another frees it, and it has a lock. A task that is executed, not submitted, needs no
 *                   future, unless a hook gets to see it, a call hands back queued tasks, or the user
 *                   inspects the queue.
 * How it works      A pool without such hooks puts these tasks into its own queue as detached tasks (insert
 *                   in execute.c), and a worker that takes one copies it into its own record. A thread that
 *                   needs futures calls hora__pool_show first: it makes a future for each queued task, and
 *                   from then on each new task gets a future, too. Schedulers insert detached tasks, and make
 *                   futures for them, in their own way: src/sched/timer_queue_detached.c.
 * Invariants        I1 a detached task is in one place: in the queue, or in the worker that took it. No other
 *                      thread sees it.
 *                   I2 it ends as a future would: drop is called exactly once, after run or instead of it,
 *                      and a result is dropped. */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/pool.h"
#include "sys/probe.h"

/* ---- becoming futures ---- */

/* Makes the future that replaces a detached task in the queue; see struct hora__maker. The entry has the only
 * reference to it. */
static int make_future(void *context, const struct hora__taken *taken, void **ret_item)
{
    assert(taken->task.run != NULL);
    hora_pool *pool = context;
    hora_future *future;
    int error = hora__future_new(&taken->task, pool->object.clock, &future);
    if (error < 0)
        return error;
    future->is_executed = true;
    hora__future_enqueued_fresh(future, &pool->owner, 1);
    future->by.came = taken->came;
    *ret_item = future;
    return 0;
}

/* Makes a future for each detached task in the queue. A submitter may still insert one at the same time; the
 * work source refuses it once it has been shown, so that none is missed. */
int hora__pool_show(hora_pool *pool)
{
    assert(pool->work != NULL);
    /* Only saves submitters an attempt that would fail: the work source decides. */
    hora__atomic_store(&pool->detached_mode, HORA__NEVER_DETACHES);
    if (pool->kind != NULL)
        return pool->kind->show(pool);
    return hora__work_show(pool->queue, &(struct hora__maker){make_future, pool});
}

/* ---- running ---- */

/* No caller can ask for the result of a detached task, so it is always dropped (I2). */
static void drop_result(const hora_task *task, void *result)
{
    assert(task->run != NULL);
    if (result != NULL && task->drop_result != NULL)
        task->drop_result(result);
}

/* Drops the argument of a task that has ended. */
static void drop(const hora_task *task)
{
    if (task->drop != NULL)
        task->drop(task->arg);
}

/* As hora__ending_of, which reads the outcome of a future, for a body that has returned `code`. */
enum hora__ending hora__ending_of_result(int code)
{
    if (code == 0)
        return HORA__DONE;
    return code == HORA_EREJECTED ? HORA__REJECTED : code == HORA_EABANDONED ? HORA__ABANDONED : HORA__FAILED;
}

/* Returns whether a task that a worker has taken may no longer begin. In a plain pool each such task runs; in
 * a scheduler it runs only until the scheduler is stopped. */
static bool comes_too_late(const hora_pool *pool)
{
    return pool->kind != NULL && hora__state_of(hora__atomic_load(&pool->control)) >= HORA__STOP &&
           !HORA__FAULT(SERIES_RUNS_AFTER_STOP);
}

/* Cancels the task that the worker has taken, instead of running it. */
static void cancel(struct hora__worker *worker)
{
    assert(worker->stage == HORA__TASK_NONE);
    hora__pool_count_cancelled(worker->pool, &worker->taken.task);
    worker->ending = HORA__CANCELLED;
    worker->stage = HORA__TASK_HAS_RUN; /* drop is code of the user, and may end the thread */
    drop(&worker->taken.task);
    worker->stage = HORA__TASK_NONE;
    hora__worker_count(worker, worker->ending);
}

/* Reports to the observer of the worker, if there is one, that the body has returned `code`. */
static void ended(struct hora__worker *worker, int code)
{
    assert(worker->current == NULL);
    if (worker->worker_observer != NULL)
        worker->worker_observer->kind->ended(worker->worker_observer, NULL, &worker->taken.task, code);
}

/* Prepares the run of a task by a worker that is not plain: reports its beginning to the observer. Returns
 * false if the task must not run; it has then been cancelled. */
static bool prepare(struct hora__worker *worker)
{
    assert(!worker->is_plain && worker->stage == HORA__TASK_NONE);
    if (comes_too_late(worker->pool)) {
        cancel(worker);
        return false;
    }
    if (worker->worker_observer == NULL)
        return true;
    worker->worker_observer->came = worker->taken.came;
    worker->stage = HORA__TASK_RUNS;
    /* A detached task has no time limits, so the observer cannot refuse it. */
    (void)worker->worker_observer->kind->begins(worker->worker_observer, NULL, &worker->taken.task);
    return true;
}

/* The stage tells hora__worker_abandon_detached what is left to do if the body or a drop function ends the
 * thread. The result of a body that succeeded is dropped last, after the task has been counted. Not inlined:
 * each probe must exist once in the program. */
__attribute__((noinline)) void hora__worker_run_detached(struct hora__worker *worker)
{
    assert(worker->taken.task.run != NULL && worker->current == NULL);
    const hora_task *task = &worker->taken.task;
    void *result = NULL;
    worker->stage = HORA__TASK_RUNS;
    HORA__PROBE(plain_start, task->name);
    int code = task->run(task->arg, &result);
    ended(worker, code);
    HORA__PROBE(plain_done, task->name, code);
    worker->ending = hora__ending_of_result(code);
    if (!HORA__FAULT(TASK_DROPPED_AGAIN))
        worker->stage = HORA__TASK_HAS_RUN; /* the drops are code of the user, and may end the thread */
    if (code != 0)
        drop_result(task, result);
    drop(task);
    worker->stage = HORA__TASK_NONE;
    hora__worker_count(worker, worker->ending);
    if (code == 0)
        drop_result(task, result);
}

/* Runs the task or the timer that a worker has taken which is not plain: one with an observer, or one of a
 * scheduler. Not inlined, so that plain workers do not pay for it. */
__attribute__((noinline)) bool hora__worker_run_observed(struct hora__worker *worker)
{
    assert(!worker->is_plain);
    if (hora__taken_has_timer(&worker->taken))
        return worker->pool->kind->run_timer(worker);
    if (prepare(worker))
        hora__worker_run_detached(worker);
    return true;
}

/* Ends a timer whose body has ended the thread. */
static void abandon_timer(struct hora__worker *worker)
{
    assert(worker->pool->kind != NULL);
    worker->pool->kind->abandon_timer(worker);
    worker->pool->kind->timer_ran(worker->pool, &worker->taken);
}

/* Called while the thread of a worker ends. The stage shows how far the task got: a body that did not return
 * must still be dropped and counted, a task that has run must only be counted. */
void hora__worker_abandon_detached(struct hora__worker *worker)
{
    assert(worker->current == NULL);
    if (hora__taken_has_timer(&worker->taken)) {
        abandon_timer(worker);
        return;
    }
    enum hora__task_stage stage = worker->stage;
    worker->stage = HORA__TASK_NONE;
    if (stage == HORA__TASK_RUNS) {
        worker->ending = HORA__ABANDONED;
        ended(worker, HORA_EABANDONED);
        drop(&worker->taken.task);
    }
    if (stage != HORA__TASK_NONE)
        hora__worker_count(worker, worker->ending);
}

/* Ends a detached task that was removed from the queue and never ran: drops and counts it. */
void hora__pool_end_detached(hora_pool *pool, const hora_task *task, enum hora__ending ending)
{
    assert(ending == HORA__CANCELLED || ending == HORA__ABANDONED || ending == HORA__EXPIRED);
    if (ending == HORA__CANCELLED)
        hora__pool_count_cancelled(pool, task);
    drop(task);
    hora__pool_end(pool, ending);
}
