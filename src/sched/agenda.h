/* SPDX-License-Identifier: Apache-2.0 */
/* agenda.h - the queue of a scheduler: futures, each with its time on one of the three timelines
 *
 * To the pool it is a work queue like any other: its elements are futures, one can be taken when its time has come,
 * and how threads wait for that is the business of src/queue. A future of a scheduler brings its entry along; for one
 * that was made elsewhere an entry is made, and it is due at once. */
#ifndef HORA_SCHED_AGENDA_H
#define HORA_SCHED_AGENDA_H

#include "exec/future.h"
#include "queue/queue.h"
#include "sched/timers.h"

/* Guarded by the agenda's lock, but for what is immutable. */
struct hora__entry {
    struct hora__timer by_due;    /* due: when it can be taken; HORA_FOREVER: not at all */
    struct hora__timer by_latest; /* with slack, and only then: when it must be */
    uint64_t ticket;              /* of its insertion */
    hora_future *future;          /* immutable; NULL: this entry was never used */
    hora_timeline line;           /* immutable: which clock its times belong to */
    hora_ns slack;                /* immutable */
    bool comes_back;              /* immutable: it belongs to a series; so when it is taken its place is kept */
    bool kept;                    /* it has been taken, and its place is kept */
    struct hora__list link;       /* among the agenda's guests, or while the agenda is swept */
};

void hora__entry_init(struct hora__entry *entry, hora_future *future, hora_timeline line, hora_ns slack,
                      bool comes_back);

/* HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__agenda_new(const hora_clock *clock, hora_queue **ret_queue);

/* What a clock shows on one of its timelines. */
hora_ns hora__agenda_now(const hora_queue *queue, hora_timeline line);

/* Each of these with the lock held, and to be followed by hora__queue_settle. */

/* Whether the entry is in the agenda. */
bool hora__agenda_holds(hora_queue *queue, const struct hora__entry *entry);

/* Change the time of an entry that is in the agenda. */
void hora__agenda_move(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Put an entry back whose place was kept: that cannot fail. */
void hora__agenda_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* The entry will not come back: its place is free. */
void hora__agenda_give_up(hora_queue *queue, struct hora__entry *entry);

/* Call `visit` for every entry of a line; it must not change the agenda. */
void hora__agenda_each(hora_queue *queue, hora_timeline line, void (*visit)(struct hora__entry *entry, void *arg),
                       void *arg);

/* Link every entry for which `visit` says so to `ret_list`; they stay in the agenda. Not for guests, which have
 * another use for the link. */
void hora__agenda_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                       struct hora__list *ret_list);

/* Take out every entry for which `visit` says so, and link them to `ret_list`. */
void hora__agenda_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                        struct hora__list *ret_list);

/* The entry was made by the agenda for a guest, and has been swept: free it. */
void hora__agenda_free_guest(struct hora__entry *entry);

#endif
