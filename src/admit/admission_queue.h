/* SPDX-License-Identifier: Apache-2.0 */
/* admission_queue.h - the tasks of a pool or scheduler that wait for admission, and those that were admitted
 * and run
 *
 * A pool adds each submitted task; a scheduler adds a task when it is due. The queue of the pool or scheduler
 * embeds this struct, and deals with threads and waiting.
 *
 * Most tasks have a ticket of their own, so that nothing is allocated when a task is queued, and no search is
 * needed when it ends. A task without a ticket, or one that is queued a second time, gets a ticket that is
 * made for it.
 *
 * The lock of the embedding queue guards everything, except where a function says otherwise. */
#ifndef HORA_ADMIT_ADMISSION_QUEUE_H
#define HORA_ADMIT_ADMISSION_QUEUE_H

#include "admit/admission.h"

struct hora__admission_queue {
    struct hora__admission admission; /* all tickets that wait or run */
    struct hora__list made;           /* tickets that were made here, while they wait or run */
    /* Returns the ticket that an item owns; NULL: it has none, or one of another pool. Immutable. */
    struct hora__ticket *(*own_ticket)(const void *context, const void *item);
    const void *context; /* argument of own_ticket; immutable */
};

/* Initialises an empty queue. For own_ticket see above; for ageing, threads and lock see
 * hora__admission_init. Both functions are called with the same context. */
void hora__admission_queue_init(struct hora__admission_queue *queue, hora_ns ageing,
                                struct hora__ticket *(*own_ticket)(const void *context, const void *item),
                                int (*threads)(const void *context), const void *context,
                                const hora__mutex *lock);

/* Asserts that no item waits or runs. There is nothing to free. */
void hora__admission_queue_destroy(const struct hora__admission_queue *queue);

/* Claims the ticket for an item that is about to be queued: its own if that is not in use, else one that is
 * made for it. `holder` is the caller's record of the item, for hora__ticket_holder. Needs no lock.
 * HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__admission_queue_claim(const struct hora__admission_queue *queue,
                                                                    void *item, void *holder,
                                                                    struct hora__ticket **ret_ticket);

/* Releases a claimed ticket that is OUT: marks an own ticket as unused, frees one that was made. Needs no
 * lock if the ticket was never added. */
void hora__admission_queue_unclaim(const struct hora__admission_queue *queue, struct hora__ticket *ticket,
                                   const void *item);

/* Returns the holder that was passed when a ticket was made. */
void *hora__ticket_holder(struct hora__ticket *made);

/* Adds an item with its claimed ticket: it waits from now on. A ticket that was made gets the class, key and
 * level of the item's own ticket, if there is one. */
void hora__admission_queue_add(struct hora__admission_queue *queue, struct hora__ticket *ticket, void *item,
                               hora_ns since);

/* Removes a waiting ticket without a run, releases it, and returns its item. */
void *hora__admission_queue_remove(struct hora__admission_queue *queue, struct hora__ticket *ticket);

/* Ends the running ticket of an item whose run has ended, and releases it. Returns false if the item has
 * none. */
bool hora__admission_queue_end(struct hora__admission_queue *queue, const void *item);

/* Return the ticket under which an item waits, or the one under which it runs; NULL: none. */
struct hora__ticket *hora__admission_queue_waiting(const struct hora__admission_queue *queue,
                                                   const void *item);
struct hora__ticket *hora__admission_queue_running(const struct hora__admission_queue *queue,
                                                   const void *item);

#endif
