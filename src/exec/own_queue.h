/* SPDX-License-Identifier: Apache-2.0 */
/* own_queue.h - the tasks that a worker of a stealing pool has submitted to its own pool
 *
 * How it works      The tasks are the entries of one segment, from `first` to `end`. The owner inserts at the
 *                   end and pops the newest task there. Other workers steal the oldest tasks at the front.
 *                   All of them take the lock, which is hardly ever contended: a worker steals only when it
 *                   finds nothing else, and then takes half of the tasks. When the segment is full, it goes
 *                   to the shared queue as a whole. A thread that has to see all tasks of the pool moves the
 *                   segments of all own queues into the container of the shared queue (backlog.c).
 * Owners            A pool makes a fixed number of own queues with its backlog. Each worker uses the one that
 *                   has the fewest users, so two workers share one only if there are more workers than own
 *                   queues. An own queue belongs to the backlog, and stays when its worker ends: its tasks
 *                   are stolen by others.
 * Invariants        I1 0 <= first <= end <= HORA__SLOTS, and both are 0 if there is no task or no segment.
 *                   I2 the entries from `first` to `end` are tasks: there are no holes.
 *                   I3 once the own queue is shown or closed, it accepts no detached task, or nothing. */
#ifndef HORA_EXEC_OWN_QUEUE_H
#define HORA_EXEC_OWN_QUEUE_H

#include "exec/segment.h"
#include "exec/work_source.h"
#include "sys/mutex.h"

/* The lock guards all fields without another remark. */
struct hora__own_queue {
    HORA__BEGINS_LINE hora__mutex lock; /* rank OWN */
    bool is_closed;                     /* it accepts nothing; I3 */
    bool is_shown;                      /* it accepts no detached task; I3 */
    short form;                         /* the form inserted last into the segment; 0: none */
    int first;                          /* the oldest task */
    int end;                            /* behind the newest task */
    int users;                     /* workers that insert here; guarded by the lock of the shared queue */
    struct hora__segment *segment; /* NULL: none */
    const hora_queue *shared;      /* the shared queue; immutable */
    struct hora__branch branch;    /* its part of the pool's books */
};

/* Initialises an own queue without a segment. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__own_init(struct hora__own_queue *own);

static inline int hora__own_size(const struct hora__own_queue *own)
{
    assert(own->first >= 0 && own->first <= own->end && own->end <= HORA__SLOTS); /* I1 */
    return own->end - own->first;
}

/* ---- with the lock held ---- */

/* Returns whether the own queue accepts such an offer: see struct hora__offer. */
bool hora__own_accepts(const struct hora__own_queue *own, const struct hora__offer *offer);

/* Inserts an accepted offer at the end, and counts it. Returns false if there is no segment, or it has no
 * room. If less than half of its slots are in use, first moves the tasks to its beginning. */
bool hora__own_insert(struct hora__own_queue *own, const struct hora__offer *offer);

/* Returns the oldest task and removes it. There must be one. A detached task is copied to *ret_taken, whose
 * address is then returned. */
void *hora__own_take_oldest(struct hora__own_queue *own, struct hora__taken *ret_taken);

/* Removes the oldest task after its entry was copied. */
void hora__own_drop_oldest(struct hora__own_queue *own);

/* Moves the tasks to the beginning of the segment, and gives up the segment, with the tasks, for `other`,
 * which is empty or NULL. Returns the former segment. *ret_count is the number of its tasks. */
struct hora__segment *hora__own_exchange(struct hora__own_queue *own, struct hora__segment *other,
                                         int *ret_count);

/* ---- by the owner, without the lock ---- */

/* Removes and returns the newest task, as hora__own_take_oldest; NULL: there is none. */
void *hora__own_pop(struct hora__own_queue *own, struct hora__taken *ret_taken);

/* Removes an element, beginning the search with the newest task. Returns whether it was there. */
bool hora__own_remove(struct hora__own_queue *own, const void *item);

#endif
