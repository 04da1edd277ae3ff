/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - inspecting the elements of a queue, and removing them other than by taking
 *
 * Callbacks of the user (drop, visit) run without the lock. So calls that use them first copy the elements
 * under the lock. `ref` is the exception: it runs under the lock, because without it another thread could
 * take and free the element first. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "queue/queue.h"
#include "sys/alloc.h"

/* Acquires the reference under the lock: afterwards another thread may take the element. */
int hora_queue_peek(hora_queue *queue, void **ret_item)
{
    if (ret_item == NULL)
        return HORA_EINVAL;
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    void *item = queue->kind->peek(queue);
    if (item != NULL && queue->ref != NULL)
        item = queue->ref(item);
    hora__mutex_unlock(&queue->object.lock);
    if (item == NULL)
        return HORA_EEMPTY;
    *ret_item = item;
    return 0;
}

/* Returns 1 if the item is in the queue, and removes its first occurrence if `remove`; else 0. NULL is in no
 * queue. */
static int find(hora_queue *queue, const void *item, bool remove)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    bool found = item != NULL && queue->kind->find(queue, item, remove);
    if (found && remove && !HORA__FAULT(REMOVE_KEEPS_PUTTERS_OUT))
        hora__queue_serve_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return found ? 1 : 0;
}

int hora_queue_remove(hora_queue *queue, const void *item)
{
    return find(queue, item, true);
}

int hora_queue_contains(hora_queue *queue, const void *item)
{
    return find(queue, item, false);
}

/* Takes elements that can be taken now, and serves the queue once at the end, so that putters are admitted in
 * one step. Refuses to drain a queue to itself, as the JDK does. */
int hora_queue_drain(hora_queue *queue, void **items, int max)
{
    if (items == NULL || (void *)items == (void *)queue)
        return HORA_EINVAL;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    if (queue->behaviour == NULL && queue->kind->next_due != NULL && !hora__list_is_empty(&queue->takers))
        /* Elements that have become due in the meantime belong to the takers that wait for them. */
        hora__queue_serve(queue, NULL, &wakes);
    int count = 0;
    void *item;
    while (count < max && (item = queue->kind->pop(queue, &wakes)) != NULL)
        items[count++] = item;
    if (count > 0 && !HORA__FAULT(DRAIN_KEEPS_PUTTERS_OUT))
        hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return count;
}

int hora__queue_listed(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    bool hides = queue->behaviour != NULL && queue->behaviour->hidden != NULL;
    int hidden = hides ? queue->behaviour->hidden(queue) : 0;
    assert(hidden >= 0 && hidden <= queue->size);
    return queue->size - hidden;
}

int hora__queue_count(hora_queue *queue)
{
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    int size = queue->size;
    hora__mutex_unlock(&queue->object.lock);
    return size;
}

/* Returns the number of elements that users see or, with `remaining`, for how many more there is room. */
static int read_size(hora_queue *queue, bool remaining)
{
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    int size = hora__queue_listed(queue);
    hora__mutex_unlock(&queue->object.lock);
    if (!remaining)
        return size;
    return queue->kind->inserts_always ? HORA_UNBOUNDED : queue->capacity - size;
}

int hora_queue_size(hora_queue *queue)
{
    return read_size(queue, false);
}

int hora_queue_remaining_capacity(hora_queue *queue)
{
    return read_size(queue, true);
}

/* ---- looking through ---- */

/* The argument of copy_one: at most `max` elements are written to `items`, `count` so far. */
struct copying {
    void **items;
    int count;
    int max;
};

/* Visits an element: copies it. Returns whether there is room for another one. */
static bool copy_one(void *item, void *arg)
{
    struct copying *copying = arg;
    assert(copying->count < copying->max);
    copying->items[copying->count++] = item;
    return copying->count < copying->max;
}

void hora__queue_copy_locked(hora_queue *queue, void **items, int max)
{
    struct copying copying = {.items = items, .max = max};
    assert(hora__mutex_held(&queue->object.lock) && max > 0);
    if (queue->kind->each != NULL)
        queue->kind->each(queue, copy_one, &copying);
    else
        queue->kind->copy(queue, items, max);
}

/* Returns the number of elements, which may be more than `max`. */
int hora_queue_snapshot(hora_queue *queue, void **items, int max)
{
    if (max < 0 || (items == NULL && max > 0))
        return HORA_EINVAL;
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    int size = hora__queue_listed(queue);
    if (max > 0)
        hora__queue_copy_locked(queue, items, max);
    for (int i = 0; queue->ref != NULL && i < max && i < size; i++)
        items[i] = queue->ref(items[i]);
    hora__mutex_unlock(&queue->object.lock);
    if (max > 0 && size < max)
        items[size] = NULL;
    return size;
}

/* Moves all elements to `items` if there is room for them; else moves none. *ret_size is their number. */
static int drain_all(hora_queue *queue, void **items, int room, int *ret_size)
{
    assert(room >= 0 && (items != NULL || room == 0));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    *ret_size = queue->size;
    if (queue->size <= room) {
        for (int i = 0; i < *ret_size; i++)
            items[i] = queue->kind->drain(queue);
        assert(queue->size == 0);
        hora__queue_serve(queue, NULL, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    return 0;
}

/* Removes all elements of a queue without a destructor. */
static int discard_all(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    while (queue->kind->drain(queue) != NULL) {
    }
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return 0;
}

int hora_queue_clear(hora_queue *queue)
{
    int error = hora__queue_check(queue);
    if (error < 0)
        return error;
    if (queue->drop == NULL)
        return discard_all(queue);
    /* All elements are removed at once, under the lock, and the destructor runs without it. So they need
     * memory in between. The size may change while the memory is allocated; then the loop tries again. */
    void **items = NULL;
    int size;
    for (int room = 0; (error = drain_all(queue, items, room, &size)) == 0 && size > room; room = size) {
        hora__free(items);
        items = hora__alloc((size_t)size, sizeof *items);
        if (items == NULL)
            return HORA_ENOMEM;
    }
    for (int i = 0; error == 0 && i < size; i++)
        queue->drop(items[i]);
    hora__free(items);
    return error;
}

/* Copies all elements that users see, with references if the queue has `ref`, if there is room for them.
 * *ret_unref releases such a reference. Returns their number, or an error of hora__queue_enter. */
static int copy_held(hora_queue *queue, void **items, int room, void (**ret_unref)(void *item))
{
    assert(room >= 0 && (items != NULL || room == 0));
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    int size = hora__queue_listed(queue);
    if (size > 0 && size <= room) {
        hora__queue_copy_locked(queue, items, size);
        for (int i = 0; i < size && queue->ref != NULL; i++)
            items[i] = queue->ref(items[i]);
    }
    *ret_unref = queue->unref;
    hora__mutex_unlock(&queue->object.lock);
    return size;
}

/* Allocates without the lock. If the queue has grown since it was measured, tries again. */
int hora__queue_copy(hora_queue *queue, void ***ret_items, int *ret_count, void (**ret_unref)(void *item))
{
    void **items = NULL;
    int room = 0;
    int size;
    void (*unref)(void *item) = NULL;
    while ((size = copy_held(queue, items, room, &unref)) > room) {
        hora__free(items);
        room = size;
        items = hora__alloc((size_t)room, sizeof *items);
        if (items == NULL)
            return HORA_ENOMEM;
    }
    if (size < 0) {
        hora__free(items);
        return size;
    }
    *ret_items = items;
    *ret_count = size;
    *ret_unref = unref;
    return 0;
}

bool hora__queue_is_free(hora_queue *queue)
{
    const struct hora__queue_inbox *inbox = queue->kind->inbox;
    return hora__mutex_is_free(&queue->object.lock) && (inbox == NULL || inbox->is_free(queue));
}

/* After `visit` has returned a value other than 0, the remaining elements are only released. */
int hora_queue_for_each(hora_queue *queue, int (*visit)(void *item, void *arg), void *arg)
{
    void **items;
    int count;
    void (*unref)(void *item);
    if (visit == NULL)
        return HORA_EINVAL;
    int result = hora__queue_copy(queue, &items, &count, &unref);
    if (result < 0)
        return result;
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = visit(items[i], arg);
        if (unref != NULL)
            unref(items[i]);
    }
    hora__free(items);
    return result;
}
