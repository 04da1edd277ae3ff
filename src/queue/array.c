/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - the bounded queue: a ring in memory that is allocated once
 *
 * Invariants   I1 0 <= size <= capacity, 0 <= head < capacity.
 *              I2 the elements are ring[head], ring[head + 1], ... modulo capacity, oldest first. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/reason.h"
#include "queue/queue.h"
#include "sys/alloc.h"

struct array_queue {
    struct hora_queue base;
    int head;    /* index of the first element; guarded by the queue's lock */
    void **ring; /* `capacity` slots, owned */
};

static struct array_queue *array_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct array_queue, base);
}

/* Returns the slot of the i-th element, counted from the head; i == size is the slot for the next one. Needs
 * no division, and head + i cannot overflow. */
static void **slot(struct array_queue *array, int i)
{
    assert(i >= 0 && i < array->base.capacity && array->head < array->base.capacity); /* I1 */
    int to_end = array->base.capacity - array->head;
    return &array->ring[i < to_end ? array->head + i : i - to_end]; /* I2 */
}

/* The operations of the container; see struct hora__queue_kind. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    (void)wakes;
    if (queue->size == queue->capacity)
        return HORA_EFULL;
    *slot(array_of(queue), queue->size) = put->item;
    queue->size++;
    return 0;
}

static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    return queue->size > 0 ? *slot(array_of(queue), 0) : NULL;
}

static void *drain(hora_queue *queue)
{
    struct array_queue *array = array_of(queue);
    void *item = peek(queue);
    if (item != NULL) {
        array->head = array->head + 1 == queue->capacity ? 0 : array->head + 1;
        queue->size--;
    }
    return item;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    return drain(queue);
}

/* Removes the element at position `gap`: moves each later element one slot towards the head. */
static void close_gap(struct array_queue *array, int gap)
{
    if (HORA__FAULT(ARRAY_REMOVE_SHIFTS_WRONG) && array->head + gap >= array->base.capacity)
        gap++;
    for (int i = gap; i + 1 < array->base.size; i++)
        *slot(array, i) = *slot(array, i + 1);
    array->base.size--;
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    for (int i = 0; i < queue->size; i++) {
        if (*slot(array_of(queue), i) != item)
            continue;
        if (remove)
            close_gap(array_of(queue), i);
        return true;
    }
    return false;
}

static void each(hora_queue *queue, hora__each_fn visit, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock));
    for (int i = 0; i < queue->size && visit(*slot(array_of(queue), i), arg); i++) {
    }
}

/* Also frees a queue that could not be made: `ring` may be NULL then. */
static void destroy(hora_queue *queue)
{
    assert(queue->size == 0);
    hora__free(array_of(queue)->ring);
    hora__free(array_of(queue));
}

static const struct hora__queue_kind array_kind = {
    .push = push,
    .pop = pop,
    .peek = peek,
    .drain = drain,
    .find = find,
    .each = each,
    .destroy = destroy,
};

int hora_queue_new_array(int capacity, const hora_queue_options *options, hora_queue **ret_queue,
                         hora_error *reason)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, HORA__ALLOW_FAIR, ret_queue, reason);
    if (error == 0)
        error = hora__queue_check_capacity(capacity, reason);
    if (error < 0)
        return error;
    struct array_queue *array = hora__alloc(1, sizeof *array);
    if (array == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    array->ring = hora__alloc((size_t)capacity, sizeof *array->ring);
    error = array->ring == NULL ? HORA_ENOMEM : hora__queue_init(&array->base, &array_kind, capacity, &own);
    if (error < 0) {
        destroy(&array->base);
        return hora__reason_end(reason, error);
    }
    *ret_queue = &array->base;
    return 0;
}
