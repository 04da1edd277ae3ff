/* SPDX-License-Identifier: Apache-2.0 */
/* heaped.h - the heap under the priority and the delay queue */
#ifndef HORA_QUEUE_HEAPED_H
#define HORA_QUEUE_HEAPED_H

#include "base/heap.h"
#include "queue/queue.h"

/* How many elements a heap has room for at first, if the caller does not say: as in the JDK. */
enum { HORA__DEFAULT_CAPACITY = 11 };

struct hora__heaped_queue {
    struct hora_queue base;
    struct hora__heap heap;      /* guarded by the queue's lock */
    hora_remaining_fn remaining; /* delay queue; immutable */
    void *context;               /* of the callbacks; immutable */
};

struct hora__heaped_queue *hora__heaped_of(hora_queue *queue);

/* Make a queue of this kind, ordered by `compare`. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__heaped_new(
    const struct hora__queue_kind *kind, int initial_capacity, const hora_queue_options *options,
    int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context),
    hora_queue **ret_queue);

/* Operations that both kinds share. */
int hora__heaped_push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes);
void *hora__heaped_peek(hora_queue *queue);
void *hora__heaped_drain(hora_queue *queue);
bool hora__heaped_find(hora_queue *queue, const void *item, bool remove);
void hora__heaped_copy(hora_queue *queue, void **items, int max);
void hora__heaped_destroy(hora_queue *queue);

/* Orders entries by the user's callback on their items. The heap's context is the queue. */
int hora__heaped_compare_items(const struct hora__heap_entry *a, const struct hora__heap_entry *b,
                               void *context);

#endif
