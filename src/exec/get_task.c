/* SPDX-License-Identifier: Apache-2.0 */
/* get_task.c - how a worker waits for work, and when it gives up
 *
 * Leaving           A worker ends if there are more than max_threads workers. It also ends if it has waited
 *                   for keep_alive without getting a task, and there are more than core_threads workers or
 *                   core workers may time out. The last worker never ends while tasks are queued. A worker
 *                   that ends lowers the count by compare-and-swap: if that fails, it decides again.
 * Last worker       The last worker stays while a task is queued that cannot be taken yet. So it waits
 *                   without a time limit even if it is surplus. It stores its number in `last_worker` before
 *                   it checks whether the queue is empty. A thread that takes or removes a task reads
 *                   `last_worker` afterwards. So either the worker finds the queue empty, or that thread
 *                   finds the number and interrupts the worker (hora__pool_relieve).
 * Closed            If the user closes the queue, the pool ends: see end_with_queue. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/pool.h"

/* Reads keep_alive under the pool's lock, which guards it. */
static hora_ns read_keep_alive(hora_pool *pool)
{
    hora__mutex_lock(&pool->object.lock);
    hora_ns keep_alive = pool->keep_alive;
    hora__mutex_unlock(&pool->object.lock);
    return keep_alive;
}

/* Ends the pool, because the user has closed its queue and no task can be taken any more. A worker that asked
 * for a task again would loop for ever. A task that is not due yet can never be taken, so a pool that is shut
 * down already is stopped. */
static void end_with_queue(hora_pool *pool)
{
    if (hora__state_of(hora__atomic_load(&pool->control)) < HORA__SHUTDOWN)
        (void)hora_pool_shutdown(pool);
    else
        (void)hora_pool_shutdown_now(pool, NULL);
}

/* Waits for a task, for at most keep_alive if `timed`. NULL: there was none, and the worker decides again
 * whether it stays; *ret_timed_out says whether the time was over. */
static void *take_entry(struct hora__worker *worker, bool timed, bool *ret_timed_out)
{
    assert(worker->thread == hora__thread_existing() && worker->hold.segment == NULL);
    hora_pool *pool = worker->pool;
    void *entry;
    int error =
        hora__work_await(pool->queue, timed ? read_keep_alive(pool) : HORA_FOREVER, &worker->taken, &entry);
    /* An interrupt only makes the worker decide again; then keep_alive starts again, too. */
    *ret_timed_out = error == HORA_ETIMEDOUT;
    if (error == HORA_EAGAIN && pool->kind != NULL)
        pool->kind->clocks_changed(pool); /* the clocks' offsets have changed */
    if (error == HORA_ECLOSED)
        end_with_queue(pool);
    if (error < 0)
        return NULL;
    hora__pool_room(pool);
    hora__pool_relieve(pool);
    return entry;
}

/* For a worker that is surplus and the only one: returns whether it waits without a time limit because tasks
 * are queued. If so, `last_worker` is its number. */
static bool begin_waiting_as_last(struct hora__worker *worker)
{
    assert(worker->number > 0);
    hora_pool *pool = worker->pool;
    hora__atomic_store(&pool->last_worker, worker->number);
    bool is_last = !hora__pool_queue_is_empty(pool);
    if (!is_last)
        hora__atomic_store(&pool->last_worker, 0);
    return is_last;
}

/* If the queue has become empty, interrupts the last worker, which then decides again and may time out. */
void hora__pool_relieve(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->object.lock));
    int last_worker = hora__atomic_load(&pool->last_worker);
    if (last_worker == 0 || HORA__FAULT(POOL_LEAVES_LAST_WORKER) || !hora__pool_queue_is_empty(pool))
        return;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__worker, link)->number == last_worker)
            (void)hora__worker_interrupt_if_idle_locked(HORA__LIST_ENTRY(link, struct hora__worker, link));
    hora__mutex_unlock(&pool->object.lock);
}

/* As getTask of the JDK's ThreadPoolExecutor. The decision to end and the lowering of the count are one
 * compare-and-swap of the control word, so two workers cannot both end as the one that is surplus. */
void *hora__worker_get_task(struct hora__worker *worker)
{
    assert(worker->thread == hora__thread_existing() && !hora__worker_is_active(worker));
    hora_pool *pool = worker->pool;
    bool timed_out = false;
    hora__pool_free_excess(pool);
    for (;;) {
        int32_t control = hora__atomic_load(&pool->control);
        enum hora__run_state state = hora__state_of(control);
        if (state >= HORA__STOP || (state >= HORA__SHUTDOWN && hora__pool_queue_is_empty(pool))) {
            hora__pool_lower_count(pool);
            return NULL;
        }
        struct hora__bounds bounds = hora__pool_bounds(pool);
        int count = hora__count_of(control);
        bool surplus = bounds.core_time_out || count > bounds.core_threads;
        bool is_last = surplus && count == 1 && begin_waiting_as_last(worker);
        bool timed = surplus && !is_last;
        if ((count > bounds.max_threads || (timed && timed_out)) &&
            (count > 1 || hora__pool_queue_is_empty(pool))) {
            if (!hora__atomic_cas(&pool->control, control, control - 1))
                continue; /* the state or the count has changed */
            worker->left_behind = count > bounds.max_threads ? -1 : count - 1;
            return NULL;
        }
        void *entry = take_entry(worker, timed, &timed_out);
        if (is_last)
            hora__atomic_store(&pool->last_worker, 0);
        if (entry != NULL)
            return entry;
    }
}
