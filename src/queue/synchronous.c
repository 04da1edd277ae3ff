/* SPDX-License-Identifier: Apache-2.0 */
/* synchronous.c - the queue without room: each element passes directly from a putter to a taker
 *
 * How it works  The queue stores nothing. A push hands the element to a waiting taker, and fails if there is
 *               none. A pop takes the element of a waiting putter, and resolves that putter.
 * Invariants    I1 at most one of the two lists has waiters: before a thread waits, it tries the other list,
 *                  under the lock.
 *               I2 size is 0. */
#include <assert.h>
#include <stddef.h>

#include "base/reason.h"
#include "queue/queue.h"
#include "sys/alloc.h"

/* Returns the waiter that is served next; NULL: no thread waits. Without `fair`, that is the latest one, as
 * in the JDK: its data are likely to be in the cache. */
static struct hora__queue_waiter *next_of(const hora_queue *queue, const struct hora__list *list)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->capacity == 0);
    struct hora__waiter *waiter = queue->serves_latest ? hora__waiters_last(list) : hora__waiters_first(list);
    return waiter != NULL ? HORA__LIST_ENTRY(waiter, struct hora__queue_waiter, waiter) : NULL;
}

/* Hands the element to a waiting taker. HORA_EFULL: none waits. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__list_is_empty(&queue->takers) || hora__list_is_empty(&queue->putters)); /* I1 */
    struct hora__queue_waiter *taker = next_of(queue, &queue->takers);
    if (taker == NULL)
        return HORA_EFULL;
    taker->item = put->item;
    hora__waiter_resolve(&taker->waiter, 0, wakes);
    return 0;
}

/* Takes the element of a waiting putter, whose put succeeds; NULL: none waits. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__queue_waiter *putter = next_of(queue, &queue->putters);
    if (putter == NULL)
        return NULL;
    void *item = putter->put.item;
    hora__waiter_resolve(&putter->waiter, 0, wakes);
    return item;
}

/* As `peek` and `drain`: users never see the element of a waiting putter. */
static void *nothing(hora_queue *queue)
{
    assert(queue->size == 0); /* I2 */
    (void)queue;
    return NULL;
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    (void)queue;
    (void)item;
    (void)remove;
    return false;
}

static void copy(hora_queue *queue, void **items, int max)
{
    (void)queue;
    (void)items;
    (void)max;
}

static void destroy(hora_queue *queue)
{
    assert(queue->size == 0);
    hora__free(queue);
}

static const struct hora__queue_kind synchronous_kind = {
    .push = push,
    .pop = pop,
    .peek = nothing,
    .drain = nothing,
    .find = find,
    .copy = copy,
    .destroy = destroy,
};

int hora_queue_new_synchronous(const hora_queue_options *options, hora_queue **ret_queue, hora_error *reason)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, HORA__ALLOW_FAIR, ret_queue, reason);
    if (error < 0)
        return error;
    hora_queue *queue = hora__alloc(1, sizeof *queue);
    if (queue == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    error = hora__queue_init(queue, &synchronous_kind, 0, &own);
    if (error < 0) {
        destroy(queue);
        return hora__reason_end(reason, error);
    }
    queue->serves_latest = !own.fair;
    *ret_queue = queue;
    return 0;
}
