/* SPDX-License-Identifier: Apache-2.0 */
/* execute.c - the way of a task into a pool
 *
 * Order             a core worker; the queue; a worker up to max_threads; the rule for those that find no place.
 * Races             After a task has been queued the pool may have been shut down, with no worker left to see it: so the state is
 *                   looked at again, and the task taken back if it is still there. If it is not, a worker has it, and
 *                   all is well. Likewise the last worker may have left just before: then one is started. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/pool.h"
#include "sync/clock.h"

/* ---- books ---- */

/* Unfinished went to or from zero: show it. */
static void show_idleness(hora_pool *pool)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    bool idle = hora__atomic_load(&pool->unfinished) == 0;
    hora__ready_fd_set(&pool->idle_fd, pool->object.clock, idle ? HORA__READY_NOW : HORA_FOREVER);
    if (idle)
        hora__waiters_resolve_all(&pool->quiescers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

static void change_unfinished(hora_pool *pool, int by)
{
    int32_t before = hora__atomic_add(&pool->unfinished, by);
    assert(before + by >= 0);
    /* Who watches says so before it looks, and this looks for watchers after the change: one of the two sees the other. */
    if ((before == 0 || before + by == 0) && hora__atomic_load(&pool->idle_watchers) > 0)
        show_idleness(pool);
}

void hora__pool_accept(hora_pool *pool)
{
    hora__counter_add(&pool->accepted, 1);
    change_unfinished(pool, 1);
}

void hora__pool_unaccept(hora_pool *pool)
{
    hora__counter_add(&pool->accepted, -1);
    change_unfinished(pool, -1);
}

void hora__pool_end(hora_pool *pool, hora__counter *endings, enum hora__ending ending)
{
    hora__counter_add(&endings[ending], 1);
    change_unfinished(pool, -1);
}

enum hora__ending hora__ending_of(hora_future *future)
{
    switch (hora__future_outcome(future)) {
    case 0:
        return HORA__DONE;
    case HORA_ECANCELED:
        return HORA__CANCELLED;
    case HORA_EREJECTED:
        return HORA__REJECTED;
    case HORA_EABANDONED:
        return HORA__ABANDONED;
    case HORA_EAGAIN: /* a second entry, met while the first runs elsewhere: that one will count the outcome */
    case HORA_EFAILED:
    default:
        return HORA__FAILED;
    }
}

/* ---- the queue ---- */

bool hora__pool_withdraw(hora_pool *pool, hora_future *future)
{
    if (hora_queue_remove(pool->queue, future) != 1)
        return false;
    hora__pool_room(pool);
    return true;
}

static int put_into_queue(hora_pool *pool, hora_future *future)
{
    hora__pool_accept(pool);
    (void)hora_future_ref(future); /* the entry's */
    hora__future_enqueued(future, &pool->owner);
    int error = hora_queue_offer(pool->queue, future);
    if (error < 0) {
        hora__future_dequeued(future, &pool->owner);
        (void)hora_future_unref(future);
        hora__pool_unaccept(pool);
    }
    return error;
}

/* After queueing: HORA_ESHUTDOWN if the task had to be taken back. */
static int look_again(hora_pool *pool, hora_future *future)
{
    if (HORA__FAULT(POOL_NO_RECHECK))
        return 0;
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) != HORA__RUNNING && hora__pool_withdraw(pool, future)) {
        hora__future_dequeued(future, &pool->owner);
        (void)hora_future_unref(future);
        hora__pool_unaccept(pool);
        hora__pool_try_terminate(pool);
        return HORA_ESHUTDOWN;
    }
    if (hora__count_of(control) == 0)
        (void)hora__worker_add(pool, NULL, false); /* if that fails the task waits, and the failure is noted */
    return 0;
}

/* ---- placing ---- */

static int start_with(hora_pool *pool, hora_future *future, bool core)
{
    hora__pool_accept(pool);
    hora__future_enqueued(future, &pool->owner); /* with the worker, not in the queue; but the pool's to run */
    int error = hora__worker_add(pool, hora_future_ref(future), core);
    if (error < 0) {
        hora__future_dequeued(future, &pool->owner);
        (void)hora_future_unref(future);
        hora__pool_unaccept(pool);
    }
    return error;
}

static bool below_core(const hora_pool *pool)
{
    return hora__count_of(hora__atomic_load(&pool->control)) < hora__atomic_load(&pool->core_threads);
}

int hora__pool_place(hora_pool *pool, hora_future *future)
{
    if (below_core(pool) && start_with(pool, future, true) == 0)
        return 0;
    int refused = HORA_ESHUTDOWN;
    if (hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING) {
        refused = put_into_queue(pool, future);
        if (refused == 0)
            return look_again(pool, future);
    }
    int error = start_with(pool, future, false);
    if (error == 0 || error == HORA_EFULL || error == HORA_ESHUTDOWN)
        return error == 0 ? 0 : refused == HORA_ENOMEM ? HORA_ENOMEM : error;
    return refused == HORA_EFULL ? HORA_EFULL : error; /* saturated, or no memory, or no thread and no queue */
}

int hora__pool_execute(hora_pool *pool, hora_future *future)
{
    int error = hora__pool_place(pool, future);
    return error == HORA_EFULL || error == HORA_ESHUTDOWN ? hora__pool_reject(pool, future, error) : error;
}

int hora_pool_execute_future(hora_pool *pool, hora_future *future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || future == NULL || future->task.run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = hora__object_check(&future->object);
    return error < 0 ? error : hora__pool_execute(pool, future);
}

static int submit(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    hora_future *future;
    error = hora__future_new(task, pool->object.clock, &future);
    if (error < 0)
        return error;
    error = hora__pool_execute(pool, future);
    if (error < 0)
        hora__future_forget(future);
    else
        *ret_future = future;
    return error;
}

int hora_pool_submit(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    return ret_future == NULL ? HORA_EINVAL : submit(pool, task, ret_future);
}

int hora_pool_execute(hora_pool *pool, const hora_task *task)
{
    hora_future *future;
    int error = submit(pool, task, &future);
    if (error == 0)
        (void)hora_future_unref(future);
    return error;
}
