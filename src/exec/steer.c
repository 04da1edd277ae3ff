/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c - see steer.h
 *
 * Threads           What the queue reckons with is the number of core threads, or that of the workers, if it is greater. When it rises by a
 *                   worker, that one looks for itself; when core_threads is raised, whoever does that settles the queue.
 * The end of a run  is told to the queue once, by the worker, after the hooks and before the reference of the entry is given back: the turn
 *                   belongs to the future. Mostly the worker takes the next task right after that, and so nobody else is woken
 *                   before; but if code of the user may come in between, it is. */
#include "exec/steer.h"

#include <stddef.h>

#include "exec/admission_queue.h"
#include "base/fault.h"
#include "exec/extra.h"

/* ---- the queue ---- */

static struct hora__ticket *ticket_of(const void *context, const void *item)
{
    const hora_pool *pool = context;
    const struct hora__extra *extra = hora__future_extra_in(pool, item);
    return extra != NULL ? extra->ticket : NULL;
}

int hora__steer_threads(const void *context)
{
    const hora_pool *pool = context;
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP)
        return 0; /* what waits is handed back, whatever ends by being interrupted */
    int core = hora__atomic_load(&pool->core_threads);
    int written_off = hora__atomic_load(&pool->written_off); /* they run, and have been replaced */
    if (core > HORA__WORKERS_MAX)
        core = HORA__WORKERS_MAX; /* there can be no more; and the queue adds to this */
    return written_off + (core > hora__count_of(control) ? core : hora__count_of(control));
}

int hora__steer_make_queue(hora_pool *pool, int capacity, const hora_queue_options *options, hora_ns ageing)
{
    struct hora__admission_use use = {.ticket_of = ticket_of, .threads = hora__steer_threads, .context = pool};
    int error = hora__admission_queue_new(capacity, options, ageing, &use, &pool->queue);
    if (error == 0)
        pool->admission = hora__admission_queue_admission(pool->queue);
    return error;
}

/* ---- what runs ---- */

/* Whether giving back the last reference may run code of the user. */
static bool ends_with_user_code(hora_future *future)
{
    const struct hora__extra *extra = hora__future_extra(future);
    return future->task.drop_result != NULL || (extra != NULL && extra->is_captured);
}

bool hora__steer_ended(hora_pool *pool, hora_future *future)
{
    bool settles = ends_with_user_code(future);
    if (pool->kind != NULL)
        pool->kind->turn_ended(pool, future, settles);
    else
        hora__admission_queue_ended(pool->queue, future, settles);
    hora__steer_nudge(pool);
    hora__pool_room(pool); /* one that waits for room may begin on a thread of its own */
    return !settles;
}

int hora__steer_begin(hora_pool *pool, hora_future *future, bool core)
{
    int most = hora__atomic_load(core ? &pool->core_threads : &pool->max_threads);
    bool has_thread = hora__count_of(hora__atomic_load(&pool->control)) < most;
    return has_thread ? hora__admission_queue_begin(pool->queue, future, !core) : HORA_EFULL;
}

void hora__steer_did_not_begin(hora_pool *pool, hora_future *future)
{
    hora__admission_queue_ended(pool->queue, future, true);
    hora__steer_nudge(pool);
}

/* ---- what is awaited ---- */

hora_ns hora__steer_take_out(hora_pool *pool, hora_future *future, hora_future **ret_future)
{
    void *item;
    hora_ns from = hora__admission_queue_help(pool->queue, future, &item);
    if (from != INT64_MIN)
        return from;
    hora__pool_room(pool);
    hora__pool_relieve(pool);
    *ret_future = item;
    return from;
}

/* One that somebody awaits, and could run now, with a reference; NULL: there is none. */
static hora_future *next_awaited(hora_pool *pool)
{
    hora__mutex_lock(&pool->queue->object.lock);
    const struct hora__ticket *ticket = hora__admission_next_awaited(pool->admission);
    hora_future *future = ticket != NULL ? hora_future_ref(ticket->item) : NULL;
    hora__mutex_unlock(&pool->queue->object.lock);
    return future;
}

void hora__steer_nudge(hora_pool *pool)
{
    hora_future *future;
    if (!hora__admission_has_awaited(pool->admission))
        return;
    while ((future = next_awaited(pool)) != NULL) {
        hora__future_nudge(future);
        (void)hora_future_unref(future);
    }
}

/* ---- workers ---- */

static bool below_core(const hora_pool *pool)
{
    return hora__count_of(hora__atomic_load(&pool->control)) < hora__atomic_load(&pool->core_threads);
}

static bool has_more(hora_pool *pool)
{
    hora__mutex_lock(&pool->queue->object.lock);
    bool more = hora__admission_next(pool->admission, hora_clock_now(pool->queue->object.clock)) == INT64_MIN;
    hora__mutex_unlock(&pool->queue->object.lock);
    return more;
}

void hora__steer_staff(hora_pool *pool)
{
    while (below_core(pool) && has_more(pool))
        if (hora__worker_add(pool, NULL, true) < 0) /* that is noted, and the pool runs with what it has */
            return;
}
