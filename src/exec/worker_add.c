/* SPDX-License-Identifier: Apache-2.0 */
/* worker_add.c - adding a worker to a pool: its count, its place on the list, its thread
 *
 * Each step can fail; then the steps before it are undone, so that I1 of worker.c holds.
 *
 * Stranded          A pool is stranded if tasks are queued, and it has no worker because no thread could be
 *                   started. A submitter that finds no worker withdraws its own task and reports the error.
 *                   Two cases remain. In the first, the last worker ends and cannot be replaced: its thread
 *                   stays and tries again (worker.c). In the second, a submitter relied on a count that
 *                   another thread had raised for a worker which then could not be started: threads that wait
 *                   for the pool, or for one of its futures, try again from time to time, and so does each
 *                   submitter. owner.workers counts the workers whose threads have begun. No waiting thread
 *                   misses that it must try: a thread that waits for a future reads owner.workers after the
 *                   future was queued, and the last worker lowers it before it checks whether the queue is
 *                   empty. So either the thread sees that there is no worker, or that worker sees the future.
 *                   Threads that wait for the pool are nudged by the thread whose attempt has failed. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include <hora/virtual_clock.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/pool.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/probe.h"

/* Raises the count of workers, if the state and the bound allow it. A pool that is shut down may get a worker
 * without a first task, for the tasks that are still queued. Returns 0, HORA_ESHUTDOWN or HORA_EFULL. */
static int raise_count(hora_pool *pool, bool has_first, bool core)
{
    for (;;) {
        int32_t control = hora__atomic_load(&pool->control);
        enum hora__run_state state = hora__state_of(control);
        bool only_for_queue = state == HORA__SHUTDOWN && !has_first && !hora__pool_queue_is_empty(pool);
        if (state != HORA__RUNNING && !only_for_queue)
            return HORA_ESHUTDOWN;
        struct hora__bounds bounds = hora__pool_bounds(pool);
        int count = hora__count_of(control);
        if (count >= (core ? bounds.core_threads : bounds.max_threads) || count == HORA__WORKERS_MAX)
            return HORA_EFULL;
        if (hora__atomic_cas(&pool->control, control, control + 1))
            return 0;
    }
}

/* The factory that starts threads, copied under the pool's lock. `start` NULL: hora starts them itself. */
struct factory {
    hora_thread_factory_fn start;
    void *arg;
};

/* Puts a worker on the pool's list and gives it its number, unless the pool was shut down or stopped since
 * raise_count. The worker becomes a visitor of the pool. Returns 0 or HORA_ESHUTDOWN. */
static int enlist(hora_pool *pool, struct hora__worker *worker, struct factory *ret_factory)
{
    assert(worker->pool == pool && worker->thread == NULL);
    hora__mutex_lock(&pool->object.lock);
    enum hora__run_state state = hora__state_of(hora__atomic_load(&pool->control));
    bool allowed = state == HORA__RUNNING || (state < HORA__STOP && worker->first == NULL);
    if (allowed) {
        hora__list_add_last(&pool->workers, &worker->link);
        pool->alive++;
        pool->starting++;
        worker->number = pool->next_number++;
        *ret_factory = (struct factory){pool->factory, pool->factory_arg};
        hora__object_visit(&pool->object);
    }
    hora__mutex_unlock(&pool->object.lock);
    return allowed ? 0 : HORA_ESHUTDOWN;
}

/* Undoes enlist, for a worker whose thread could not be started. */
static void delist(hora_pool *pool, struct hora__worker *worker)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    assert(worker->thread == NULL && pool->starting > 0 && pool->alive > 0);
    hora__list_remove(&worker->link);
    pool->starting--;
    if (--pool->alive == 0)
        hora__waiters_resolve_all(&pool->reapers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
    hora__object_leave(&pool->object);
}

/* Takes the smaller of `started` and the count: some started threads may be about to end, and some counted
 * workers may never start. `started` may be negative: a thread may end before the one that started it has
 * noted the start. */
void hora__pool_note_largest_locked(hora_pool *pool, int started)
{
    assert(hora__mutex_held(&pool->object.lock));
    int count = hora__count_of(hora__atomic_load(&pool->control));
    int size = started < count ? started : count;
    if (size > pool->largest)
        pool->largest = size;
}

/* The thread of a worker was started. It may even have ended by now. */
static void note_start(hora_pool *pool)
{
    hora__mutex_lock(&pool->object.lock);
    pool->starting--;
    hora__pool_note_largest_locked(pool, pool->alive - pool->starting);
    hora__mutex_unlock(&pool->object.lock);
}

/* Notes for hora_pool_get_stats that a thread could not be started. */
static void note_thread_failure(hora_pool *pool, int error)
{
    assert(error < 0);
    hora__mutex_lock(&pool->object.lock);
    pool->thread_failures++;
    pool->thread_error = error;
    hora__mutex_unlock(&pool->object.lock);
}

/* Informs the observer that a thread could not be started. Called after everything was undone, because the
 * observer's listener may wait for the end of the pool. */
static void tell_thread_failure(const hora_pool *pool, int error)
{
    assert(error < 0);
    HORA__PROBE(thread_failed, pool, error);
    if (pool->observer != NULL)
        pool->observer->kind->thread_failed(pool->observer, error);
}

/* Starts the thread of a worker, by the factory if there is one. Returns 0 or a negative error. */
static int start_thread(hora_pool *pool, struct hora__worker *worker, const struct factory *factory)
{
    assert(worker->number > 0 && worker->prepared != NULL);
    char name[48];
    (void)snprintf(name, sizeof name, "%s%d", pool->name, worker->number);
    hora_virtual_clock *virtual_clock = pool->object.clock->source;
    if (virtual_clock != NULL)
        (void)hora_virtual_clock_expect(virtual_clock, 1); /* it counts as runnable from now on */
    int error;
    if (factory->start != NULL) {
        error = factory->start(hora__worker_begin, worker, name, factory->arg);
    } else {
        worker->joinable = true;
        struct hora__thread_spec spec = {
            .run = hora__worker_begin, .arg = worker, .name = name, .stack_size = pool->stack_size};
        /* The worker may have ended and been freed when this returns, so it stores its thread itself. */
        hora__os_thread thread;
        error = hora__os_thread_start(&spec, &thread);
    }
    if (error != 0 && virtual_clock != NULL)
        (void)hora_virtual_clock_expect(virtual_clock, -1);
    return error > 0 ? HORA_EAGAIN : error;
}

/* ---- a pool that is stranded ---- */

bool hora__pool_is_stranded(hora_pool *pool)
{
    return hora__atomic_load(&pool->owner.workers) == 0 &&
           hora__state_of(hora__atomic_load(&pool->control)) < HORA__STOP && !hora__pool_queue_is_empty(pool);
}

/* If the count is not 0, another thread is just starting a worker, and this one leaves it to that. */
bool hora__pool_rescue(hora_pool *pool)
{
    if (hora__atomic_load(&pool->owner.workers) > 0)
        return false;
    if (hora__count_of(hora__atomic_load(&pool->control)) == 0 && hora__pool_is_stranded(pool))
        (void)hora__worker_add(pool, NULL, false); /* a failure is noted */
    return hora__atomic_load(&pool->owner.workers) == 0;
}

/* Nudges the waiting threads of a list, except those whose sleep ends by `soon`. These try to start a worker
 * themselves, and two of them would otherwise nudge each other all the time. */
static void nudge_patient_locked(struct hora__list *list, hora_ns soon, struct hora__wakes *wakes)
{
    for (struct hora__list *link = list->next; link != list; link = link->next) {
        struct hora__waiter *waiter = HORA__LIST_ENTRY(link, struct hora__waiter, link);
        if (waiter->deadline > soon)
            hora__waiter_nudge(waiter, wakes);
    }
}

/* An attempt to start a worker has failed. If the pool is stranded, nudges the threads that wait for it, so
 * that they try from now on. */
static void tell_if_stranded(hora_pool *pool)
{
    if (HORA__FAULT(POOL_STRANDED_UNSEEN) || !hora__pool_is_stranded(pool))
        return;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns soon = hora__clock_deadline(pool->object.clock, HORA__RESCUE_PAUSE_MOST);
    hora__mutex_lock(&pool->object.lock);
    pool->strandings++;
    nudge_patient_locked(&pool->terminations, soon, &wakes);
    nudge_patient_locked(&pool->idle_waiters, soon, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* A worker with a first task could not be started. While the count was raised for it, a submitter may have
 * queued another task and relied on that worker. Then this tries to start one for the queue. */
static void stand_in(hora_pool *pool)
{
    int32_t control = hora__atomic_load(&pool->control);
    bool needed = hora__count_of(control) == 0 && hora__state_of(control) < HORA__STOP &&
                  !hora__pool_queue_is_empty(pool);
    if (needed && !HORA__FAULT(POOL_FAILED_START_LEAVES_TASK))
        (void)hora__worker_add(pool, NULL, false);
}

/* Allocates a worker with everything that its thread will need, so that nothing can fail there. Returns 0,
 * HORA_ENOMEM or HORA_EAGAIN. */
static int worker_new(hora_pool *pool, hora_future *first, struct hora__worker **ret_worker)
{
    struct hora__worker *worker = hora__alloc(1, sizeof *worker);
    if (worker == NULL)
        return HORA_ENOMEM;
    int error = hora__thread_prepare(&worker->prepared);
    if (error < 0) {
        hora__free(worker);
        return error;
    }
    worker->pool = pool;
    error = pool->observer != NULL
                ? pool->observer->kind->add_worker(pool->observer, worker, &worker->worker_observer)
                : 0;
    if (error < 0) {
        (void)hora_thread_unref(worker->prepared);
        hora__free(worker);
        return error;
    }
    worker->is_simple = worker->worker_observer == NULL && pool->admission == NULL;
    worker->is_plain = worker->is_simple && pool->kind == NULL;
    worker->first = first;
    worker->left_behind = -1;
    hora__atomic_init(&worker->activity, first != NULL ? HORA__ACTIVE : HORA__IDLE);
    worker->hold.activity = HORA__FAST && worker->is_simple ? &worker->activity : NULL;
    worker->taken.now = HORA_NEVER;
    worker->hold.may_wait = hora__worker_may_wait;
    *ret_worker = worker;
    return 0;
}

/* Puts a worker on the list and starts its thread. On error everything is undone, and the caller frees the
 * worker. *ret_thread_failed says whether it was the thread that could not be started. */
static int launch(hora_pool *pool, struct hora__worker *worker, bool *ret_thread_failed)
{
    struct factory factory;
    int error = enlist(pool, worker, &factory);
    if (error < 0)
        return error;
    error = start_thread(pool, worker, &factory);
    *ret_thread_failed = error < 0;
    if (error < 0) {
        note_thread_failure(pool, error);
        delist(pool, worker);
    } else {
        note_start(pool);
    }
    return error;
}

/* After an error the order matters: the count is lowered first, because the pool can neither end nor be
 * rescued before that. The observer is informed last, when nothing of the worker is left. */
int hora__worker_add(hora_pool *pool, hora_future *first, bool core)
{
    struct hora__worker *worker;
    bool thread_failed = false;
    int error = raise_count(pool, first != NULL, core);
    if (error < 0)
        return error;
    error = worker_new(pool, first, &worker);
    if (error == 0) {
        error = launch(pool, worker, &thread_failed);
        if (error == 0)
            return 0;
        (void)hora_thread_unref(worker->prepared);
        hora__worker_free(worker);
    }
    if (!HORA__FAULT(POOL_KEEPS_COUNT_OF_FAILED_START))
        hora__pool_lower_count(pool); /* I1 */
    hora__pool_try_terminate(pool);
    if (first != NULL)
        stand_in(pool); /* this calls hora__worker_add without a first task, so at most once */
    else
        tell_if_stranded(pool);
    if (thread_failed)
        tell_thread_failure(pool, error);
    return error;
}
