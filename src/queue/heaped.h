/* SPDX-License-Identifier: Apache-2.0 */
/* heaped.h - the container of the priority queue, and of the delay queue whose elements are asked */
#ifndef HORA_QUEUE_HEAPED_H
#define HORA_QUEUE_HEAPED_H

#include "base/heap.h"
#include "queue/queue.h"

/* The initial capacity of a heap, in elements, if the caller gives none: as in the JDK. */
enum { HORA__DEFAULT_CAPACITY = 11 };

struct hora__heaped_queue {
    struct hora_queue base;
    struct hora__heap heap;      /* the elements; guarded by the queue's lock */
    hora_remaining_fn remaining; /* delay queue: asks an element for its delay; else NULL. Immutable */
    void *context;               /* last argument of `compare` and `remaining`; immutable */
};

/* Returns the heaped queue of which `queue` is the base. */
struct hora__heaped_queue *hora__heaped_of(hora_queue *queue);

/* Makes a queue of this kind. `compare` orders the entries of the heap; its context is the queue.
 * HORA_ENOMEM, and the errors of hora__queue_init. */
__attribute__((warn_unused_result)) int hora__heaped_new(
    const struct hora__queue_kind *kind, int initial_capacity, const hora_queue_options *options,
    int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context),
    hora_queue **ret_queue);

/* The operations that both kinds share; see struct hora__queue_kind. */
int hora__heaped_push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes);
void *hora__heaped_peek(hora_queue *queue);
void *hora__heaped_drain(hora_queue *queue);
bool hora__heaped_find(hora_queue *queue, const void *item, bool remove);
void hora__heaped_copy(hora_queue *queue, void **items, int max);
void hora__heaped_destroy(hora_queue *queue);

/* Compares two entries by the user's `compare` callback. The context is the queue. */
int hora__heaped_compare_items(const struct hora__heap_entry *a, const struct hora__heap_entry *b,
                               void *context);

#endif
