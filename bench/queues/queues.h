/* SPDX-License-Identifier: Apache-2.0 */
/* queues.h - the functions of a subject that has queues and latches
 *
 * A subject is a set of queues, a latch, a parker and a test for interrupts. There are two in C: hora, and a
 * straightforward implementation with a mutex and condition variables. Queues.java measures the JDK. Both
 * subjects in C are called through the same table, so the call costs the same. */
#ifndef HORA_BENCH_QUEUES_H
#define HORA_BENCH_QUEUES_H

#include "../measure.h"
#include "item.h"

enum queue_kind { ARRAY, LINKED, SYNCHRONOUS, PRIORITY, DELAY };

struct subject {
    const char *name;

    /* capacity: of ARRAY and LINKED; fair: of SYNCHRONOUS. */
    void *(*queue_new)(enum queue_kind kind, int capacity, bool fair);
    void (*queue_free)(void *queue);
    void (*put)(void *queue, struct item *item);
    struct item *(*take)(void *queue);
    bool (*offer)(void *queue, struct item *item);
    struct item *(*poll)(void *queue); /* NULL: empty, or no element is due */

    void *(*latch_new)(int count);
    void (*latch_free)(void *latch);
    void (*count_down)(void *latch);
    void (*await)(void *latch);

    void *(*parker_new)(void);
    void (*parker_free)(void *parker);
    void (*park)(void *parker); /* called by one thread only; may return without a reason */
    void (*unpark)(void *parker);

    bool (*interrupted)(void);
};

extern const struct subject hora_subject;
extern const struct subject pthread_subject;

#endif
