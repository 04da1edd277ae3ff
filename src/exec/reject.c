/* SPDX-License-Identifier: Apache-2.0 */
/* reject.c - the rejection rules: what happens to a task for which its pool has no place
 *
 * The submitting thread applies the rule, with no lock held. A task that is dropped is completed as rejected,
 * so that no thread waits for it for ever.
 *
 * Blocking          With HORA_REJECT_BLOCK a submitter registers itself as waiting, and then tries to place
 *                   its task once more, before it sleeps. A thread that makes room reads room_waiters
 *                   afterwards. So either the submitter finds the room, or that thread wakes the
 *                   submitter. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/pool.h"
#include "exec/pool_admission.h"
#include "sync/clock.h"
#include "sys/probe.h"

/* Reports to the probe and the observer of the pool that its threads do not run this task. Called once per
 * task. */
static void tell(hora_pool *pool, hora_future *future, const char *why)
{
    assert(why != NULL);
    const char *name = hora__future_lock_name(future); /* another thread may drop the task at this time */
    HORA__PROBE(task_rejected, future, name, why);
    (void)name;
    hora__future_unlock_name(future);
    if (pool->observer != NULL)
        pool->observer->kind->rejected(pool->observer, future, &future->task, why);
}

/* As tell, for a task that was never accepted; counts it. */
static void refuse(hora_pool *pool, hora_future *future, const char *why)
{
    assert(why != NULL);
    hora__counter_add(&pool->refused, 1);
    tell(pool, future, why);
}

static bool is_shut_down(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) != HORA__RUNNING;
}

/* Completes the task as rejected. If it has already ended in another way, it was not refused, and is not
 * counted. */
static int drop(hora_pool *pool, hora_future *future, const char *why)
{
    assert(why != NULL);
    if (hora__future_abort(future, HORA_EREJECTED))
        refuse(pool, future, why);
    return 0;
}

/* Returns the text that explains to the observer why a task is dropped. */
static const char *drop_reason(const hora_pool *pool)
{
    return is_shut_down(pool) ? "the pool is shut down: the task is dropped" : "no room: the task is dropped";
}

/* HORA_REJECT_CALLER_RUNS: the submitter runs the task itself, unless the pool is shut down. */
static int caller_runs(hora_pool *pool, hora_future *future)
{
    assert(!hora__mutex_held(&pool->object.lock));
    if (is_shut_down(pool))
        return drop(pool, future, drop_reason(pool));
    refuse(pool, future, "no room: the caller runs the task");
    int ran = hora_future_run(future);
    return ran < 0 ? ran : 0;
}

/* Removes the oldest queued task and completes it as rejected. Returns false if there was none. */
static bool drop_oldest(hora_pool *pool)
{
    struct hora__taken none = {.run = NULL};
    void *oldest = NULL;
    if (pool->admission != NULL) /* even if it may not begin yet; polling finds only tasks that may */
        oldest = hora__work_pull_first(pool->queue, &none);
    else if (hora_queue_poll(pool->queue, &oldest) < 0)
        return false;
    if (oldest == NULL)
        return false;
    if (pool->admission != NULL)
        hora__pool_nudge_awaited(pool);
    hora__future_dequeued(oldest, &pool->owner);
    if (hora__future_abort(oldest, HORA_EREJECTED))
        tell(pool, oldest, "no room: the task is dropped for a newer one");
    hora__pool_end(pool, hora__ending_of(oldest));
    (void)hora_future_unref(oldest);
    return true;
}

/* Returns whether the queue can have room although there was nothing to drop: workers may have taken all
 * tasks since it refused this one. */
static bool has_room(const hora_pool *pool)
{
    return pool->queue_holds && hora_queue_is_closed(pool->queue) == 0;
}

/* HORA_REJECT_DISCARD_OLDEST: drops the oldest queued task and tries again, until the task is placed or the
 * pool is shut down. With a queue that cannot hold tasks, the task itself is dropped. */
static int discard_oldest(hora_pool *pool, hora_future *future)
{
    assert(!hora__mutex_held(&pool->object.lock));
    bool dropped = true;
    while (!is_shut_down(pool) && (dropped || has_room(pool))) {
        dropped = drop_oldest(pool);
        int error = hora__pool_place(pool, future);
        if (error != HORA_EFULL)
            return error == HORA_ESHUTDOWN ? drop(pool, future, drop_reason(pool)) : error;
    }
    return drop(pool, future, drop_reason(pool)); /* shut down, or the queue cannot hold any task */
}

void hora__pool_wake_submitter(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    if (!hora__list_is_empty(&pool->submitters))
        hora__waiter_resolve(hora__waiters_first(&pool->submitters), 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* Tries to place the task once, and waits for room if there is none. The waiter is registered before the
 * attempt, so that room made in between is not missed. Returns the result of placing; HORA_EFULL if the
 * caller has to try again; HORA_ETIMEDOUT or HORA_EINTERRUPTED. */
static int try_or_wait(hora_pool *pool, hora_future *future, hora_thread *thread, hora_ns deadline)
{
    assert(hora__atomic_load(&pool->room_waiters) > 0);
    struct hora__waiter waiter;
    hora__mutex_lock(&pool->object.lock);
    hora__waiter_init(&waiter, &pool->submitters, thread, deadline);
    hora__object_visit(&pool->object);
    hora__mutex_unlock(&pool->object.lock);

    int error = hora__pool_place(pool, future);
    enum hora__wake wake = HORA__WAKE_NUDGED;
    if (error == HORA_EFULL)
        wake = hora__waiter_park(&waiter, pool->object.clock, deadline);
    hora__mutex_lock(&pool->object.lock);
    bool resolved = hora__waiter_is_resolved(&waiter);
    if (!resolved)
        hora__list_remove(&waiter.link);
    hora__mutex_unlock(&pool->object.lock);
    if (resolved && error != HORA_EFULL)
        hora__pool_room(pool); /* this thread was woken without need: the room is for the next submitter */
    hora__object_leave(&pool->object);
    if (error != HORA_EFULL || resolved)
        return error;
    if (wake == HORA__WAKE_TIME)
        return HORA_ETIMEDOUT;
    (void)hora__thread_take_interrupt(thread);
    return HORA_EINTERRUPTED;
}

/* Waits for room for at most reject_timeout. Returns 0 if the task was placed, HORA_EREJECTED if the time is
 * over or the pool is shut down, HORA_EDEADLK, HORA_EINTERRUPTED, HORA_ENOMEM or HORA_EAGAIN. */
static int block(hora_pool *pool, hora_future *future)
{
    hora_thread *thread;
    int error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (is_shut_down(pool))
        return HORA_EREJECTED;
    if (hora_pool_current() == pool)
        return HORA_EDEADLK; /* a worker may be the only thread that could make room */
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    hora_ns deadline = hora__clock_deadline(pool->object.clock, pool->reject_timeout);
    (void)hora__atomic_add(&pool->room_waiters, 1);
    do
        error = try_or_wait(pool, future, thread, deadline);
    while (error == HORA_EFULL);
    (void)hora__atomic_add(&pool->room_waiters, -1);
    return error == HORA_ETIMEDOUT || error == HORA_ESHUTDOWN ? HORA_EREJECTED : error;
}

/* HORA_REJECT_BLOCK: waits for room, and reports the task as refused if that fails. A lack of memory or
 * threads is no refusal. */
static int block_told(hora_pool *pool, hora_future *future)
{
    int error = block(pool, future);
    if ((error < 0 && error != HORA_ENOMEM && error != HORA_EAGAIN) || HORA__FAULT(EVENTS_REFUSE_ACCEPTED))
        refuse(pool, future,
               is_shut_down(pool) ? "the pool is shut down"
                                  : "no room, and none became free while the caller waited");
    return error;
}

/* HORA_REJECT_CALLBACK: lets the user's handler decide. A negative result is the error of the submission;
 * with any other the handler has taken care of the task. */
static int ask(hora_pool *pool, hora_future *future, hora_reject_fn handler, void *arg)
{
    assert(handler != NULL);
    refuse(pool, future,
           is_shut_down(pool) ? "the pool is shut down: the reject_handler decides"
                              : "no room: the reject_handler decides");
    int answer = handler(pool, future, arg);
    return answer < 0 ? answer : 0;
}

/* The rule is copied under the lock, because it may be changed at any time, and applied without it. */
int hora__pool_reject(hora_pool *pool, hora_future *future, int why)
{
    assert(why == HORA_EFULL || why == HORA_ESHUTDOWN);
    hora__mutex_lock(&pool->object.lock);
    hora_reject rule = pool->reject;
    hora_reject_fn handler = pool->reject_handler;
    void *arg = pool->reject_arg;
    hora__mutex_unlock(&pool->object.lock);
    switch (rule) {
    case HORA_REJECT_CALLER_RUNS:
        return caller_runs(pool, future);
    case HORA_REJECT_DISCARD:
        return drop(pool, future, drop_reason(pool));
    case HORA_REJECT_DISCARD_OLDEST:
        return discard_oldest(pool, future);
    case HORA_REJECT_BLOCK:
        return block_told(pool, future);
    case HORA_REJECT_CALLBACK:
        return ask(pool, future, handler, arg);
    case HORA_REJECT_ABORT:
    default:
        refuse(pool, future, why == HORA_ESHUTDOWN ? "the pool is shut down" : "no room");
        return HORA_EREJECTED;
    }
}
