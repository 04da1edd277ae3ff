/* SPDX-License-Identifier: Apache-2.0 */
/* write_off.c - a worker that is stuck does not count any more, and another one takes its place
 *
 * How it works      Nobody can end a thread that does not want to. So the worker stays on the list, with the task that it is in, and only the
 *                   count forgets it: then the pool may start another one. When its task returns after all, it ends instead of
 *                   taking the next.
 * Races             `run` is the number of a run in which the worker can be written off. Who does that turns it to -1, and the worker turns it to
 *                   something else when the run has ended: exactly one of them succeeds.
 * The end           A pool does not terminate before those that are written off have ended. That, the count and `written_off` change together
 *                   under the pool's lock: see begin_tidying in pool.c.
 * Invariants        I1 written_off is the number of workers on the list whose run is -1. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/pool.h"

enum { WRITTEN_OFF = -1 };

bool hora__worker_is_written_off(const struct hora__worker *worker)
{
    return hora__atomic_load(&worker->run) == WRITTEN_OFF;
}

void hora__worker_can_be_written_off(struct hora__worker *worker, int32_t run)
{
    assert(run >= 0);
    int32_t before = hora__atomic_load(&worker->run);
    if (HORA__FAULT(WRITE_OFF_IS_REVOKED))
        hora__atomic_store(&worker->run, run);
    else if (before != WRITTEN_OFF)
        (void)hora__atomic_cas(&worker->run, before, run); /* if that fails it has just been written off */
}

static struct hora__worker *find_locked(hora_pool *pool, int number)
{
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        if (worker->number == number)
            return worker;
    }
    return NULL;
}

bool hora__worker_write_off(hora_pool *pool, int number, int32_t run)
{
    assert(run > 0);
    hora__mutex_lock(&pool->object.lock);
    struct hora__worker *worker = find_locked(pool, number);
    bool is_off = worker != NULL && hora__atomic_cas(&worker->run, run, WRITTEN_OFF);
    if (is_off) {
        (void)hora__atomic_add(&pool->written_off, 1); /* I1 */
        (void)hora__atomic_add(&pool->owner.workers, -1);
        hora__pool_lower_count(pool);
    }
    hora__mutex_unlock(&pool->object.lock);
    if (is_off)
        (void)hora__worker_add(pool, NULL,
                               false); /* if it fails, that is noted, and whoever submits next tries again */
    if (is_off && pool->admission != NULL)
        hora__queue_look(pool->queue); /* its task does not take the place of others any more */
    return is_off;
}
