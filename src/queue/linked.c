/* SPDX-License-Identifier: Apache-2.0 */
/* linked.c - the queue of linked nodes, one per element, with or without a bound
 *
 * How it works  The node of an element is allocated before the lock is taken, and stays with the put while
 *               that waits for room. So admitting a waiting put cannot fail.
 * Invariants    I1 the nodes form a chain from `first`; its length is size; the last node's next is NULL.
 *               I2 `end` points to the pointer to which the next node is attached: the last node's next, or
 *                  &first if the queue is empty. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/reason.h"
#include "queue/queue.h"
#include "sys/alloc.h"

struct node {
    struct node *next;
    void *item;
};

struct linked_queue {
    struct hora_queue base;
    struct node
        *first;        /* oldest element; NULL: the queue is empty. Guarded by the queue's lock, like `end` */
    struct node **end; /* see I2 */
};

static struct linked_queue *linked_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct linked_queue, base);
}

/* Allocates the node of a put, without the lock. */
static int prepare(hora_queue *queue, struct hora__put *put)
{
    assert(put->memory == NULL);
    (void)queue;
    put->memory = hora__alloc(1, sizeof(struct node));
    return put->memory == NULL ? HORA_ENOMEM : 0;
}

/* Frees the node of a put that has failed. */
static void discard(hora_queue *queue, struct hora__put *put)
{
    assert(put->memory != NULL);
    (void)queue;
    if (!HORA__FAULT(LINKED_LEAKS_NODE_WHEN_FULL))
        hora__free(put->memory);
    put->memory = NULL;
}

/* Attaches the node that `prepare` has made at the end of the chain. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->memory != NULL);
    (void)wakes;
    if (queue->size == queue->capacity)
        return HORA_EFULL;
    struct linked_queue *linked = linked_of(queue);
    struct node *node = put->memory;
    put->memory = NULL;
    node->item = put->item;
    node->next = NULL;
    assert(*linked->end == NULL); /* I2 */
    *linked->end = node;
    linked->end = &node->next;
    queue->size++;
    return 0;
}

static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct node *first = linked_of(queue)->first;
    return first != NULL ? first->item : NULL;
}

/* Removes the node to which *at points, frees it, and returns its item. Adjusts `end` if it was the last. */
static void *unlink_at(struct linked_queue *linked, struct node **at)
{
    assert(*at != NULL && linked->base.size > 0);
    struct node *node = *at;
    void *item = node->item;
    *at = node->next;
    if (linked->end == &node->next && !(HORA__FAULT(LINKED_REMOVE_KEEPS_TAIL) && at != &linked->first))
        linked->end = at; /* I2 */
    linked->base.size--;
    hora__free(node);
    return item;
}

static void *drain(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct linked_queue *linked = linked_of(queue);
    return linked->first != NULL ? unlink_at(linked, &linked->first) : NULL;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    return drain(queue);
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct linked_queue *linked = linked_of(queue);
    for (struct node **at = &linked->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->item != item)
            continue;
        if (remove)
            (void)unlink_at(linked, at);
        return true;
    }
    return false;
}

static void each(hora_queue *queue, hora__each_fn visit, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock));
    for (const struct node *node = linked_of(queue)->first; node != NULL && visit(node->item, arg);)
        node = node->next;
}

static void destroy(hora_queue *queue)
{
    assert(queue->size == 0);
    assert(linked_of(queue)->first == NULL);
    hora__free(linked_of(queue));
}

static const struct hora__queue_kind linked_kind = {
    .prepare = prepare,
    .discard = discard,
    .push = push,
    .pop = pop,
    .peek = peek,
    .drain = drain,
    .find = find,
    .each = each,
    .destroy = destroy,
};

int hora_queue_new_linked(int capacity, const hora_queue_options *options, hora_queue **ret_queue,
                          hora_error *reason)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, 0, ret_queue, reason);
    if (error == 0)
        error = hora__queue_check_capacity(capacity, reason);
    if (error < 0)
        return error;
    struct linked_queue *linked = hora__alloc(1, sizeof *linked);
    if (linked == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    linked->end = &linked->first;
    error = hora__queue_init(&linked->base, &linked_kind, capacity, &own);
    if (error < 0) {
        destroy(&linked->base);
        return hora__reason_end(reason, error);
    }
    *ret_queue = &linked->base;
    return 0;
}
