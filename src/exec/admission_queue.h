/* SPDX-License-Identifier: Apache-2.0 */
/* admission_queue.h - the queue of a pool whose tasks are steered: a gate decides which element is next
 *
 * To those who wait it is timed and searched, as an agenda (see standby.c): the time at which the next element can be taken is now, or when the
 * rate of a class lets one begin, or never, as long as nothing ends. Workers take what begins then, and say when it has ended; others
 * only take elements out. */
#ifndef HORA_EXEC_ADMISSION_QUEUE_H
#define HORA_EXEC_ADMISSION_QUEUE_H

#include "admit/admission.h"
#include "exec/work_source.h"

/* What the pool says of its elements. All is called with the queue's lock held, or before an element is put. */
struct hora__admission_use {
    /* The turn that the element brings along; NULL: none, or not one for this queue. */
    struct hora__ticket *(*ticket_of)(const void *context, const void *item);
    int (*threads)(const void *context);
    const void *context;
};

/* HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__admission_queue_new(int capacity, const hora_queue_options *options,
                                                                  hora_ns ageing, const struct hora__admission_use *use,
                                                                  hora_queue **ret_queue);

struct hora__admission *hora__admission_queue_admission(hora_queue *queue);

/* A worker has ended what it took, or what was begun by one of the following. Unless `settles`, somebody has to settle the queue soon. */
void hora__admission_queue_ended(hora_queue *queue, void *item, bool settles);

/* Begin something that is not in the queue, if it may begin: as the next of all, or, `on_more`, on a thread more, whatever waits. HORA_EFULL:
 * it may not. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__admission_queue_begin(hora_queue *queue, void *item, bool on_more);

/* A worker waits for an element: see hora__admission_help. With INT64_MIN the element that has begun, and has left the queue, is told. */
hora_ns hora__admission_queue_help(hora_queue *queue, void *item, void **ret_item);

/* With the lock: the turn of an element that waits, or runs; NULL: it does neither. */
struct hora__ticket *hora__admission_queue_find(hora_queue *queue, const void *item);

#endif
