/* SPDX-License-Identifier: Apache-2.0 */
/* admission_queue.h - the tasks of a pool or scheduler that wait for admission, and those that were admitted
 * and run
 *
 * A pool puts each submitted task here; a scheduler puts a task here once it is due. The pool's or
 * scheduler's own queue embeds this struct, and does everything about threads and waiting.
 *
 * Most tasks bring a ticket along, so nothing has to be allocated when one is queued, and nothing has to be
 * searched for when one leaves. A task without a ticket, or one that is queued a second time, gets a ticket
 * made for it.
 *
 * The lock of the embedding queue guards everything, except where a function says otherwise. */
#ifndef HORA_ADMIT_ADMISSION_QUEUE_H
#define HORA_ADMIT_ADMISSION_QUEUE_H

#include "admit/admission.h"

struct hora__admission_queue {
    struct hora__admission admission; /* all tickets that wait or run */
    struct hora__list made;           /* tickets made here, while they wait or run */
    struct hora__ticket *(*own_ticket)(const void *context, const void *item); /* immutable; see below */
    const void *context;                                                       /* its argument; immutable */
};

/* own_ticket: the ticket that an item brings along; NULL: none, or none for this queue. `threads`: see
 * hora__admission_init. Both have the same context. */
void hora__admission_queue_init(struct hora__admission_queue *queue, hora_ns ageing,
                                struct hora__ticket *(*own_ticket)(const void *context, const void *item),
                                int (*threads)(const void *context), const void *context,
                                const hora__mutex *lock);

/* Check that nothing waits or runs. There is nothing to free. */
void hora__admission_queue_destroy(const struct hora__admission_queue *queue);

/* Without the lock: the ticket for an item that is about to be queued: its own, if that is not in use, else
 * one made for it. `holder` is the caller's record of the item, for hora__ticket_holder. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__admission_queue_claim(const struct hora__admission_queue *queue,
                                                                    void *item, void *holder,
                                                                    struct hora__ticket **ret_ticket);

/* Give back a claimed ticket that was not added. Needs no lock. */
void hora__admission_queue_unclaim(const struct hora__admission_queue *queue, struct hora__ticket *ticket,
                                   const void *item);

/* The holder that was passed for a ticket that was made. */
void *hora__ticket_holder(struct hora__ticket *made);

/* The item waits from now on. A ticket that was made gets class, key and level of the item's own ticket, if
 * it has one. */
void hora__admission_queue_add(struct hora__admission_queue *queue, struct hora__ticket *ticket, void *item,
                               hora_ns since);

/* A waiting ticket leaves without running. Gives it back, and returns its item. */
void *hora__admission_queue_remove(struct hora__admission_queue *queue, struct hora__ticket *ticket);

/* The run of an item has ended: if it still has a running ticket, that ends, too. Returns whether it had
 * one. */
bool hora__admission_queue_end(struct hora__admission_queue *queue, const void *item);

/* The ticket by which an item waits; the one by which it runs. NULL: none. */
struct hora__ticket *hora__admission_queue_waiting(const struct hora__admission_queue *queue,
                                                   const void *item);
struct hora__ticket *hora__admission_queue_running(const struct hora__admission_queue *queue,
                                                   const void *item);

#endif
