/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - helping, and noticing that waiting would never end; see future_get.c
 *
 * Knots    A thread that waits for a future waits for the thread that runs it; or, if it is queued, for any
 *          worker of its pool. It waits for ever if each thread that it may wait for in this way, directly or
 *          not, waits itself, without a limit. What threads that are no part of this may still do, like
 *          cancelling a future, is not considered.
 * Locks    one at a time: a future's, then a thread's. Each step holds a reference to what it looks at. */
#include "exec/help.h"

#include <stddef.h>

#include "exec/pool.h"

/* More threads than these are not looked at: that would cost more than it is likely to tell. */
enum { MOST_THREADS = 32 };

hora_ns hora__help(hora_future *future, hora_thread *thread)
{
    struct hora__worker *worker = thread->worker;
    if (worker == NULL)
        return HORA_FOREVER;
    hora__mutex_lock(&future->object.lock);
    future->nudged = false; /* what changes from now on is seen before the worker sleeps */
    bool ours = future->runner == NULL && future->owner != NULL && future->owner == hora__worker_owner(worker);
    hora__mutex_unlock(&future->object.lock);
    return ours ? hora__worker_run_queued(worker, future) : HORA_FOREVER;
}

/* ---- the workers of a pool ---- */

static int find_workers_locked(hora_pool *pool, hora_thread **threads, int most)
{
    int count = 0;
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        const struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        if (count < most && worker->thread != NULL)
            threads[count++] = hora_thread_ref(worker->thread);
    }
    return count;
}

int hora__pool_find_workers(struct hora__queue_owner *owner, hora_thread **threads, int most)
{
    hora_pool *pool = HORA__LIST_ENTRY(owner, struct hora_pool, owner);
    struct hora__bounds bounds = hora__pool_bounds(pool);
    int bound = pool->kind == NULL ? bounds.max_threads : bounds.core_threads > 0 ? bounds.core_threads : 1;
    hora__mutex_lock(&pool->object.lock);
    int count = hora__count_of(hora__atomic_load(&pool->control));
    int written_off = hora__atomic_load(&pool->written_off);
    int found = 0;
    /* One that starts, or ends and is about to be replaced, is alive, and not on the list, or the other way
     * round. */
    bool may_grow = count < bound || pool->alive != count + written_off;
    if (!may_grow && pool->alive <= most)
        found = find_workers_locked(pool, threads, most);
    bool all = found > 0 && found == pool->alive;
    hora__mutex_unlock(&pool->object.lock);
    for (int i = 0; i < found && !all; i++)
        (void)hora_thread_unref(threads[i]);
    return all ? found : -1;
}

/* ---- waits that never end ---- */

/* What a thread waits for without a limit, with a reference; NULL: nothing. And which of its waits it is. */
static hora_future *awaited_by(hora_thread *thread, uint32_t *ret_wait)
{
    hora__mutex_lock(&thread->lock);
    hora_future *future = hora_future_ref(thread->waiting_for);
    *ret_wait = thread->waits;
    hora__mutex_unlock(&thread->lock);
    return future;
}

static void note(hora_thread *thread, hora_future *future)
{
    hora__mutex_lock(&thread->lock);
    thread->waiting_for = future;
    thread->waits++;
    hora__mutex_unlock(&thread->lock);
}

/* Threads that wait for each other, as far as they are known, with references to all that is named here. */
struct knot {
    int count;
    struct {
        hora_thread *thread;
        hora_future *awaited; /* NULL: it has not been looked at yet */
        uint32_t wait;
    } members[MOST_THREADS];
};

static bool has(const struct knot *knot, const hora_thread *thread)
{
    for (int i = 0; i < knot->count; i++)
        if (knot->members[i].thread == thread)
            return true;
    return false;
}

/* One that has to be looked at. Takes over a reference. Whether there is room for it. */
static bool add(struct knot *knot, hora_thread *thread)
{
    bool known = has(knot, thread);
    if (known || knot->count == MOST_THREADS) {
        (void)hora_thread_unref(thread);
        return known;
    }
    knot->members[knot->count].awaited = NULL;
    knot->members[knot->count++].thread = thread;
    return true;
}

static void release(struct knot *knot)
{
    for (int i = 0; i < knot->count; i++) {
        (void)hora_thread_unref(knot->members[i].thread);
        (void)hora_future_unref(knot->members[i].awaited);
    }
}

/* All threads that could run this future, with references: the one that runs it, or all workers of the pool
 * in whose queue it is. How many; -1: it is done, or others could, or they are too many. */
static int find_those_who_could_run(hora_future *future, hora_thread **threads)
{
    hora__mutex_lock(&future->object.lock);
    bool is_new = !hora_future_is_done(future);
    hora_thread *runner = is_new ? hora_thread_ref(future->runner) : NULL;
    struct hora__queue_owner *owner = is_new && runner == NULL ? future->owner : NULL;
    if (owner != NULL)
        hora__object_ref(owner->object);
    hora__mutex_unlock(&future->object.lock);
    if (runner != NULL) {
        threads[0] = runner;
        return 1;
    }
    if (owner == NULL)
        return -1; /* a promise, for example */
    int count = owner->find_workers(owner, threads, MOST_THREADS);
    hora__object_leave(owner->object);
    return count;
}

/* Whether all of them are in the knot, or can be added. */
static bool add_those_who_could_run(struct knot *knot, hora_future *future, bool may_add)
{
    hora_thread *threads[MOST_THREADS];
    int count = find_those_who_could_run(future, threads);
    bool all = count > 0;
    for (int i = 0; i < count; i++) {
        if (all && (may_add || has(knot, threads[i])))
            all = add(knot, threads[i]);
        else {
            all = false;
            (void)hora_thread_unref(threads[i]);
        }
    }
    return all;
}

/* Look at each thread, and at those that it waits for: whether all of them wait. */
static bool all_wait(struct knot *knot)
{
    for (int i = 0; i < knot->count; i++) {
        knot->members[i].awaited = awaited_by(knot->members[i].thread, &knot->members[i].wait);
        if (knot->members[i].awaited == NULL || !add_those_who_could_run(knot, knot->members[i].awaited, true))
            return false;
    }
    return true;
}

/* Look once more: first at who could run what is awaited, then at the waits. If none has changed, there was a
 * moment between the two looks in which all of the threads waited for each other. */
static bool still_wait(struct knot *knot)
{
    for (int i = 0; i < knot->count; i++)
        if (!add_those_who_could_run(knot, knot->members[i].awaited, false))
            return false;
    for (int i = 0; i < knot->count; i++) {
        uint32_t wait;
        hora_future *awaited = awaited_by(knot->members[i].thread, &wait);
        bool same = awaited == knot->members[i].awaited && wait == knot->members[i].wait;
        (void)hora_future_unref(awaited);
        if (!same || hora_future_is_done(knot->members[i].awaited))
            return false;
    }
    return true;
}

int hora__begin_waiting(hora_future *future, hora_thread *thread)
{
    struct knot knot;
    note(thread, future);
    knot.count = 1;
    knot.members[0].thread = hora_thread_ref(thread);
    knot.members[0].awaited = NULL;
    bool hangs = all_wait(&knot) && still_wait(&knot);
    release(&knot);
    return hangs ? HORA_EDEADLK : 0;
}

void hora__end_waiting(hora_thread *thread)
{
    note(thread, NULL);
}
