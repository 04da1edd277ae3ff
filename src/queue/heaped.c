/* SPDX-License-Identifier: Apache-2.0 */
/* heaped.c - a container that is a growing heap of base/heap.h
 *
 * Invariants   I1 queue->size == heap.size, except inside an operation.
 *              I2 an attempt to grow that fails changes nothing. */
#include "queue/heaped.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sys/alloc.h"

struct hora__heaped_queue *hora__heaped_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct hora__heaped_queue, base);
}

int hora__heaped_compare_items(const struct hora__heap_entry *a, const struct hora__heap_entry *b,
                               void *context)
{
    const struct hora__heaped_queue *heaped = context;
    return heaped->base.compare(a->item, b->item, heaped->context);
}

/* Returns the next capacity, as in the JDK: a small heap doubles, a larger one grows by half, up to
 * HORA_UNBOUNDED. */
static int larger(int capacity)
{
    assert(capacity >= 0);
    int by = capacity < 64 ? capacity + 2 : capacity / 2;
    return capacity > HORA_UNBOUNDED - by ? HORA_UNBOUNDED : capacity + by;
}

/* Moves the heap into larger memory. HORA_EFULL, HORA_ENOMEM. */
static int grow(struct hora__heap *heap)
{
    if (heap->capacity == HORA_UNBOUNDED)
        return HORA_EFULL;
    int capacity = larger(heap->capacity);
    struct hora__heap_entry *memory = hora__alloc((size_t)capacity, sizeof *memory);
    if (memory == NULL)
        return HORA_ENOMEM; /* I2 */
    hora__free(hora__heap_move(heap, memory, capacity));
    return 0;
}

/* Allocates under the lock if the heap is full: only the lock keeps its capacity from changing. */
int hora__heaped_push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    (void)wakes;
    struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    int error = heap->size < heap->capacity ? 0 : grow(heap);
    if (error < 0) {
        if (HORA__FAULT(PRIORITY_LOSES_ON_GROWTH))
            (void)hora__heaped_drain(queue);
        return error;
    }
    hora__heap_push(heap, put->item, put->due);
    queue->size = heap->size;
    return 0;
}

void *hora__heaped_peek(hora_queue *queue)
{
    const struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    return heap->size > 0 ? heap->entries[0].item : NULL;
}

void *hora__heaped_drain(hora_queue *queue)
{
    struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    if (heap->size == 0)
        return NULL;
    void *item = hora__heap_remove_at(heap, heap->size - 1); /* removing the last entry moves no other */
    queue->size = heap->size;
    return item;
}

bool hora__heaped_find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    int i = hora__heap_find(heap, item);
    if (i >= 0 && remove) {
        (void)hora__heap_remove_at(heap, i);
        queue->size = heap->size;
    }
    return i >= 0;
}

/* Writes the elements in the order of the heap, which is not the order in which they leave. */
void hora__heaped_copy(hora_queue *queue, void **items, int max)
{
    assert(hora__mutex_held(&queue->object.lock) && max > 0);
    const struct hora__heap *heap = &hora__heaped_of(queue)->heap;
    for (int i = 0; i < heap->size && i < max; i++)
        items[i] = heap->entries[i].item;
}

/* Also frees a queue that could not be made: `entries` may be NULL then. */
void hora__heaped_destroy(hora_queue *queue)
{
    assert(queue->size == 0);
    assert(hora__heaped_of(queue)->heap.size == 0);
    hora__free(hora__heaped_of(queue)->heap.entries);
    hora__free(hora__heaped_of(queue));
}

int hora__heaped_new(const struct hora__queue_kind *kind, int initial_capacity,
                     const hora_queue_options *options,
                     int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b,
                                    void *context),
                     hora_queue **ret_queue)
{
    struct hora__heaped_queue *heaped = hora__alloc(1, sizeof *heaped);
    if (heaped == NULL)
        return HORA_ENOMEM;
    heaped->heap.compare = compare;
    heaped->heap.context = heaped;
    heaped->remaining = options->remaining;
    heaped->context = options->arg;
    struct hora__heap_entry *memory = hora__alloc((size_t)initial_capacity, sizeof *memory);
    int error = memory == NULL ? HORA_ENOMEM : 0;
    if (error == 0) {
        (void)hora__heap_move(&heaped->heap, memory, initial_capacity);
        error = hora__queue_init(&heaped->base, kind, HORA_UNBOUNDED, options);
    }
    if (error < 0) {
        hora__heaped_destroy(&heaped->base);
        return error;
    }
    *ret_queue = &heaped->base;
    return 0;
}
