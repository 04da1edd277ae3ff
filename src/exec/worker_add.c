/* SPDX-License-Identifier: Apache-2.0 */
/* worker_add.c - adding a worker to a pool: its count, its place on the list, its thread
 *
 * Each step can fail, and then those before it are taken back: I1 of worker.c. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fast.h"
#include "base/fault.h"
#include "exec/pool.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/probe.h"

/* Raise the count, if the state and the bound allow it. */
static int raise_count(hora_pool *pool, bool has_first, bool core)
{
    for (;;) {
        int32_t control = hora__atomic_load(&pool->control);
        enum hora__run_state state = hora__state_of(control);
        bool only_for_queue = state == HORA__SHUTDOWN && !has_first && !hora__pool_queue_is_empty(pool);
        if (state != HORA__RUNNING && !only_for_queue)
            return HORA_ESHUTDOWN;
        struct hora__bounds bounds = hora__pool_bounds(pool);
        if (hora__count_of(control) >= (core ? bounds.core_threads : bounds.max_threads))
            return HORA_EFULL;
        if (hora__atomic_cas(&pool->control, control, control + 1))
            return 0;
    }
}

/* Put the worker on the list, unless the pool has been shut down since. */
static int enlist(hora_pool *pool, struct hora__worker *worker, hora_thread_factory_fn *ret_factory)
{
    hora__mutex_lock(&pool->object.lock);
    enum hora__run_state state = hora__state_of(hora__atomic_load(&pool->control));
    bool allowed = state == HORA__RUNNING || (state < HORA__STOP && worker->first == NULL);
    if (allowed) {
        hora__list_add_last(&pool->workers, &worker->link);
        pool->alive++;
        int size = hora__count_of(hora__atomic_load(&pool->control));
        if (size > pool->largest)
            pool->largest = size;
        worker->number = pool->next_number++;
        *ret_factory = pool->factory;
        hora__object_visit(&pool->object);
    }
    hora__mutex_unlock(&pool->object.lock);
    return allowed ? 0 : HORA_ESHUTDOWN;
}

static void delist(hora_pool *pool, struct hora__worker *worker)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    hora__list_remove(&worker->link);
    if (--pool->alive == 0)
        hora__waiters_resolve_all(&pool->reapers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
    hora__object_leave(&pool->object);
}

static void note_thread_failure(hora_pool *pool, int error)
{
    hora__mutex_lock(&pool->object.lock);
    pool->thread_failures++;
    pool->thread_error = error;
    hora__mutex_unlock(&pool->object.lock);
}

/* After all of it has been taken back: whoever is told may wait for the end of the pool. */
static void tell_thread_failure(const hora_pool *pool, int error)
{
    HORA__PROBE(thread_failed, pool, error);
    if (pool->overseer != NULL)
        pool->overseer->kind->thread_failed(pool->overseer, error);
}

static int start_thread(hora_pool *pool, struct hora__worker *worker, hora_thread_factory_fn factory)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%s%d", pool->name, worker->number);
    hora_virtual_clock *virtual_clock = pool->object.clock->source;
    if (virtual_clock != NULL)
        (void)hora_virtual_clock_expect(virtual_clock, 1);
    int error;
    if (factory != NULL) {
        error = factory(hora__worker_begin, worker, name, pool->context);
    } else {
        worker->joinable = true;
        struct hora__thread_spec spec = {
            .run = hora__worker_begin, .arg = worker, .name = name, .stack_size = pool->stack_size};
        hora__os_thread
            thread; /* the worker may have ended, and be freed, when this returns: it notes its thread itself */
        error = hora__os_thread_start(&spec, &thread);
    }
    if (error != 0 && virtual_clock != NULL)
        (void)hora_virtual_clock_expect(virtual_clock, -1);
    return error > 0 ? HORA_EAGAIN : error;
}

/* While the count was raised, somebody may have queued a task and seen that there is a worker, which now there is not. */
static void stand_in(hora_pool *pool)
{
    int32_t control = hora__atomic_load(&pool->control);
    bool needed =
        hora__count_of(control) == 0 && hora__state_of(control) < HORA__STOP && !hora__pool_queue_is_empty(pool);
    if (needed && !HORA__FAULT(POOL_COUNTED_ON_NOBODY))
        (void)hora__worker_add(pool, NULL, false);
}

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
    error = pool->overseer != NULL ? pool->overseer->kind->hire(pool->overseer, worker, &worker->witness) : 0;
    if (error < 0) {
        (void)hora_thread_unref(worker->prepared);
        hora__free(worker);
        return error;
    }
    worker->is_plain = worker->witness == NULL && pool->kind == NULL && pool->turns == NULL;
    worker->first = first;
    worker->left_behind = -1;
    hora__atomic_init(&worker->activity, first != NULL ? HORA__ACTIVE : HORA__IDLE);
    worker->hold.activity = HORA__FAST && worker->is_plain ? &worker->activity : NULL;
    *ret_worker = worker;
    return 0;
}

/* Enlist and start it; if that fails nothing of it is left but the worker itself. */
static int launch(hora_pool *pool, struct hora__worker *worker, bool *ret_thread_failed)
{
    hora_thread_factory_fn factory;
    int error = enlist(pool, worker, &factory);
    if (error < 0)
        return error;
    error = start_thread(pool, worker, factory);
    *ret_thread_failed = error < 0;
    if (error < 0) {
        note_thread_failure(pool, error);
        delist(pool, worker);
    }
    return error;
}

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
        stand_in(pool);
    if (thread_failed)
        tell_thread_failure(pool, error);
    return error;
}
