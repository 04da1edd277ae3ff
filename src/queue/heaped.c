/* SPDX-License-Identifier: Apache-2.0 */
/* heaped.c - the queues whose container is a growing heap of base/heap.h
 *
 * Priority     The least element leaves first. Elements that compare equal leave in the order of their
 *              insertion: base/heap.h numbers them.
 * Delay        The delay queue whose options have a `remaining` callback; timed.c has the other one. It asks
 *              an element for its delay when the element is inserted, but uses the answer only for the order;
 *              and not even for that if there is a `compare` callback. To decide whether the first element is
 *              due, it asks that element again. serve.c and transfer.c let threads wait for the first
 *              element.
 * Invariants   I1 queue->size == heap.size, except inside an operation.
 *              I2 an attempt to grow that fails changes nothing. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/ns.h"
#include "base/reason.h"
#include "queue/queue.h"
#include "sync/clock.h"
#include "sys/alloc.h"

/* The initial capacity of a heap, in elements, if the caller gives none: as in the JDK. */
enum { DEFAULT_CAPACITY = 11 };

struct heaped_queue {
    struct hora_queue base;
    struct hora__heap heap;      /* the elements; guarded by the queue's lock */
    hora_remaining_fn remaining; /* delay queue: asks an element for its delay; else NULL. Immutable */
    void *context;               /* last argument of `compare` and `remaining`; immutable */
};

static struct heaped_queue *heaped_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct heaped_queue, base);
}

/* Compares two entries by the user's `compare` callback. The context is the queue. */
static int compare_items(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    const struct heaped_queue *heaped = context;
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

/* ---- the operations that both kinds share; see struct hora__queue_kind ---- */

static void *drain(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__heap *heap = &heaped_of(queue)->heap;
    if (heap->size == 0)
        return NULL;
    void *item = hora__heap_remove_at(heap, heap->size - 1); /* removing the last entry moves no other */
    queue->size = heap->size;
    return item;
}

/* Allocates under the lock if the heap is full: only the lock keeps its capacity from changing. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    (void)wakes;
    struct hora__heap *heap = &heaped_of(queue)->heap;
    int error = heap->size < heap->capacity ? 0 : grow(heap);
    if (error < 0) {
        if (HORA__FAULT(PRIORITY_LOSES_ON_GROWTH))
            (void)drain(queue);
        return error;
    }
    hora__heap_push(heap, put->item, put->due);
    queue->size = heap->size;
    return 0;
}

static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct hora__heap *heap = &heaped_of(queue)->heap;
    return heap->size > 0 ? heap->entries[0].item : NULL;
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__heap *heap = &heaped_of(queue)->heap;
    int i = hora__heap_find(heap, item);
    if (i >= 0 && remove) {
        (void)hora__heap_remove_at(heap, i);
        queue->size = heap->size;
    }
    return i >= 0;
}

/* Writes the elements in the order of the heap, which is not the order in which they leave. */
static void copy(hora_queue *queue, void **items, int max)
{
    assert(hora__mutex_held(&queue->object.lock) && max > 0);
    const struct hora__heap *heap = &heaped_of(queue)->heap;
    for (int i = 0; i < heap->size && i < max; i++)
        items[i] = heap->entries[i].item;
}

/* Also frees a queue that could not be made: `entries` may be NULL then. */
static void destroy(hora_queue *queue)
{
    assert(queue->size == 0);
    assert(heaped_of(queue)->heap.size == 0);
    hora__free(heaped_of(queue)->heap.entries);
    hora__free(heaped_of(queue));
}

/* Makes a queue of this kind. `compare` orders the entries of the heap; its context is the queue.
 * HORA_ENOMEM, and the errors of hora__queue_init. */
static int make(const struct hora__queue_kind *kind, int initial_capacity, const hora_queue_options *options,
                int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b,
                               void *context),
                hora_queue **ret_queue)
{
    struct heaped_queue *heaped = hora__alloc(1, sizeof *heaped);
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
        destroy(&heaped->base);
        return error;
    }
    *ret_queue = &heaped->base;
    return 0;
}

/* ---- the priority queue ---- */

/* Every element can be taken at once, so this only removes the least. */
static void *pop_least(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct hora__heap *heap = &heaped_of(queue)->heap;
    if (heap->size == 0)
        return NULL;
    void *item = hora__heap_pop(heap);
    queue->size = heap->size;
    return item;
}

static const struct hora__queue_kind priority_kind = {
    .push = push,
    .pop = pop_least,
    .peek = peek,
    .drain = drain,
    .find = find,
    .copy = copy,
    .destroy = destroy,
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
    int capacity = initial_capacity == 0 ? DEFAULT_CAPACITY : initial_capacity;
    error = make(&priority_kind, capacity, &own, compare_items, ret_queue);
    return hora__reason_end(reason, error);
}

/* A delay queue may have a comparator as well, but only priority queues report it. */
hora_compare_fn hora_queue_comparator(const hora_queue *queue)
{
    return queue != NULL && queue->kind == &priority_kind ? queue->compare : NULL;
}

/* ---- the delay queue whose elements are asked ---- */

/* Orders entries by the due time that was computed at their insertion. */
static int compare_due(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context)
{
    (void)context;
    return (a->due > b->due) - (a->due < b->due);
}

/* Returns when an element is due, by its present answer, which is written to *ret_remaining. Reads the clock
 * first: time that passes before the element answers makes the sum too early, and a thread that sleeps until
 * then asks again. In the other order the sum would be too late. */
static hora_ns due_by_asking(hora_queue *queue, const void *item, hora_ns *ret_remaining)
{
    const struct heaped_queue *heaped = heaped_of(queue);
    hora_ns now = hora_clock_now(queue->object.clock);
    *ret_remaining = heaped->remaining(item, heaped->context);
    return hora__ns_add(now, *ret_remaining);
}

/* INT64_MIN: the first element is due now. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    assert(queue->size > 0);
    const struct hora__heap_entry *first = &heaped_of(queue)->heap.entries[0];
    *ret_element = first->sequence;
    hora_ns remaining;
    hora_ns due = due_by_asking(queue, first->item, &remaining);
    return remaining <= 0 ? INT64_MIN : due;
}

/* Asks the first element whether it is due now. The due time from its insertion does not count: the answer of
 * an element may change. */
static void *pop_due(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct heaped_queue *heaped = heaped_of(queue);
    hora_ns slack = HORA__FAULT(DELAY_GIVES_EARLY) ? 1 : 0;
    if (heaped->heap.size == 0 || heaped->remaining(heaped->heap.entries[0].item, heaped->context) > slack)
        return NULL;
    void *item = hora__heap_pop(&heaped->heap);
    queue->size = heaped->heap.size;
    return item;
}

/* Inserts an element under the due time that it gives now, which decides its place in the order. */
static int push_asked(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    hora_ns remaining;
    put->due = due_by_asking(queue, put->item, &remaining);
    return push(queue, put, wakes);
}

static const struct hora__queue_kind asked_kind = {
    .push = push_asked,
    .pop = pop_due,
    .peek = peek,
    .drain = drain,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
    .inserts_always = true,
};

int hora__asked_queue_new(const hora_queue_options *options, hora_queue **ret_queue)
{
    assert(options->remaining != NULL);
    return make(&asked_kind, DEFAULT_CAPACITY, options,
                options->compare != NULL ? compare_items : compare_due, ret_queue);
}
