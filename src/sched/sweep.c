/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - removing the tasks that must not run after shutdown, and the rules that decide which these are
 *
 * A sweep removes and cancels all tasks that the rules do not let run. scheduler.c ("After shutdown") says
 * which thread sweeps when, and which one checks again. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sched/detached.h"
#include "sched/scheduler.h"

/* Returns whether the rules after shutdown remove an entry: a cancelled or paused task, a series unless
 * continue_periodic is set, and a task that is not due if cancel_delayed is set. A foreign future, which was
 * due at once, runs. The argument is the scheduler; the caller holds the timer queue's lock. */
static bool is_swept(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    struct hora__scheduler *scheduler = arg;
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    if (!entry->is_detached && hora_future_is_cancelled(hora__entry_future(entry)))
        return true;
    if (entry->is_foreign || (entry->is_detached && !entry->is_timer && HORA__FAULT(DETACHED_SWEPT_UNSEEN)))
        return false;
    if (scheduled != NULL && scheduled->paused)
        return true;
    if (scheduled != NULL && hora__scheduled_is_series(scheduled))
        return hora__atomic_load(&scheduler->continue_periodic) == 0;
    hora_queue *queue = scheduler->pool.queue;
    bool due =
        hora__timer_queue_due(queue, entry) <= hora__timer_queue_now(queue, hora__entry_line(queue, entry));
    return hora__atomic_load(&scheduler->cancel_delayed) != 0 && !due;
}

/* Returns is_swept for entries other than timers, which hora__timer_queue_drop_timers removes. */
static bool is_listed_and_swept(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    return !entry->is_timer && is_swept(entry, arg);
}

/* Reports timers that were removed from the timer queue, and booked as cancelled, to the metrics and to
 * threads that watch the pool. Called without a lock. */
static void timers_dropped(hora_pool *pool, int count)
{
    assert(count >= 0);
    for (int i = 0; i < count && hora__pool_measures(pool); i++)
        hora__pool_count_cancelled(pool, &hora__timer_task);
    if (count > 0)
        hora__pool_cancelled(pool);
}

/* Ends a detached task that was swept, as cancelled. */
static void dismiss(hora_pool *pool, struct hora__entry *entry)
{
    assert(entry->is_detached && !entry->is_timer);
    hora_task task = hora__timer_queue_dismiss(pool->queue, entry);
    hora__pool_end_detached(pool, &task, HORA__CANCELLED);
    hora__pool_try_terminate(pool);
}

/* Removes all swept entries in one visit, then ends each of them without the lock, since that runs user code
 * (drop, callbacks). */
void hora__scheduler_sweep(hora_pool *pool)
{
    assert(hora__scheduler_of(pool) != NULL);
    struct hora__wakes wakes;
    struct hora__entries entries = {NULL, NULL};
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    int timers = 0;
    if (!HORA__FAULT(SCHEDULER_SHUTDOWN_SWEEPS_NOTHING)) {
        timers = hora__timer_queue_drop_timers(pool->queue, is_swept, hora__scheduler_of(pool), &pool->books);
        hora__timer_queue_sweep(pool->queue, is_listed_and_swept, hora__scheduler_of(pool), &entries);
    }
    hora__queue_serve(pool->queue, NULL, &wakes);
    hora__queue_exit(pool->queue, &wakes);
    for (struct hora__entry *entry; (entry = hora__entries_next(&entries)) != NULL;) {
        if (entry->is_detached) {
            dismiss(pool, entry);
            continue;
        }
        /* The future is read first: releasing the entry frees the record of a foreign future. */
        hora_future *future = hora__entry_future(entry);
        hora__timer_queue_release(pool->queue, entry);
        (void)hora_future_cancel(future, false);
        hora__pool_entry_ended(pool, future);
    }
    timers_dropped(pool, timers);
    hora__pool_relieve(pool);
}

/* Selects every timer. */
static bool always(struct hora__entry *entry, void *arg)
{
    (void)entry;
    (void)arg;
    return true;
}

/* hora_pool_shutdown_now hands all other tasks back to its caller. Timers cannot be handed back, so they are
 * cancelled. */
void hora__scheduler_stopped(hora_pool *pool)
{
    assert(hora__scheduler_of(pool) != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    int timers = hora__timer_queue_drop_timers(pool->queue, always, NULL, &pool->books);
    if (timers > 0)
        hora__queue_serve(pool->queue, NULL, &wakes);
    hora__queue_exit(pool->queue, &wakes);
    timers_dropped(pool, timers);
}

/* ---- the rules ---- */

/* Sets a rule and then, if the pool is shut down and the new value removes more tasks (`sweeps`), sweeps. The
 * rule is set first: a thread that inserts a task at the same time either sees the rule, or the sweep sees
 * the task. */
static int set_rule(hora_pool *pool, hora__atomic *rule, bool on, bool sweeps)
{
    assert(rule != NULL);
    hora__atomic_store(rule, on ? 1 : 0);
    if (sweeps && hora_pool_is_shutdown(pool) && !HORA__FAULT(SCHEDULER_RULE_SWEEPS_NOTHING)) {
        hora__scheduler_sweep(pool);
        hora__pool_try_terminate(pool);
    }
    return 0;
}

/* Returns 0 if the rules of this scheduler can be changed; HORA_EINVAL (not a scheduler), HORA_ENOTSUP (the
 * scheduler is frozen), or an error of hora__pool_check. */
static int check_setter(hora_pool *pool)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    return hora__scheduler_of(pool) == NULL ? HORA_EINVAL : pool->frozen ? HORA_ENOTSUP : 0;
}

int hora_scheduler_set_cancel_delayed(hora_scheduler *scheduler, bool cancel_delayed)
{
    int error = check_setter(scheduler);
    return error < 0 ? error
                     : set_rule(scheduler, &hora__scheduler_of(scheduler)->cancel_delayed, cancel_delayed,
                                cancel_delayed);
}

int hora_scheduler_set_continue_periodic(hora_scheduler *scheduler, bool continue_periodic)
{
    int error = check_setter(scheduler);
    return error < 0 ? error
                     : set_rule(scheduler, &hora__scheduler_of(scheduler)->continue_periodic,
                                continue_periodic, !continue_periodic);
}

int hora_scheduler_set_keep_cancelled(hora_scheduler *scheduler, bool keep_cancelled)
{
    int error = check_setter(scheduler);
    if (error == 0 && keep_cancelled && scheduler->admission != NULL)
        error = HORA_ENOTSUP; /* a cancelled task would wait for admission, and hold up other tasks */
    return error < 0 ? error : set_rule(scheduler, &scheduler->owner.keeps_cancelled, keep_cancelled, false);
}

/* See read_settings of struct hora__pool_kind. */
void hora__scheduler_read_settings(const hora_pool *pool, hora_pool_stats *stats)
{
    assert(hora__queue_is_timer_queue(pool->queue));
    const struct hora__scheduler *own = (const struct hora__scheduler *)pool;
    stats->cancel_delayed = hora__atomic_load(&own->cancel_delayed) != 0;
    stats->continue_periodic = hora__atomic_load(&own->continue_periodic) != 0;
}
