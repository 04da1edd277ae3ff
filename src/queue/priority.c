/* SPDX-License-Identifier: Apache-2.0 */
/* priority.c - the queue whose least element leaves first
 *
 * heaped.c has the container. Elements that compare equal leave in the order of their insertion: base/heap.h
 * numbers them. */
#include <assert.h>
#include <stddef.h>

#include "base/reason.h"
#include "queue/heaped.h"

/* Every element can be taken at once, so this only removes the least. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    if (heap->size == 0)
        return NULL;
    void *item = hora__heap_pop(heap);
    queue->size = heap->size;
    return item;
}

static const struct hora__queue_kind priority_kind = {
    .push = hora__heaped_push,
    .pop = pop,
    .peek = hora__heaped_peek,
    .drain = hora__heaped_drain,
    .find = hora__heaped_find,
    .copy = hora__heaped_copy,
    .destroy = hora__heaped_destroy,
    .inserts_always = true,
};

int hora_queue_new_priority(int initial_capacity, const hora_queue_options *options, hora_queue **ret_queue,
                            hora_error *reason)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, HORA__ALLOW_COMPARE, ret_queue, reason);
    if (error < 0)
        return error;
    if (initial_capacity < 0)
        return hora__refuse(reason, HORA_EINVAL, "initial_capacity",
                            "the initial capacity is %d, which is negative", initial_capacity);
    if (own.compare == NULL)
        return hora__refuse(reason, HORA_EINVAL, "compare", "a priority queue needs compare");
    int capacity = initial_capacity == 0 ? HORA__DEFAULT_CAPACITY : initial_capacity;
    error = hora__heaped_new(&priority_kind, capacity, &own, hora__heaped_compare_items, ret_queue);
    return hora__reason_end(reason, error);
}

/* A delay queue may have a comparator as well, but only priority queues report it. */
hora_compare_fn hora_queue_comparator(const hora_queue *queue)
{
    return queue != NULL && queue->kind == &priority_kind ? queue->compare : NULL;
}
