/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue.h - the queue of a scheduler: futures, each with its time on one of the three timelines
 *
 * To the pool it is a work queue like any other: its elements are futures, one can be taken when its time has come,
 * and how threads wait for that is the business of src/queue. A future of a scheduler brings its entry along; for one
 * that was made elsewhere an entry is made, and it is due at once. A task without a handle is in it detached, until
 * a thread asks to see it: see detached.h. A timer of the caller's is in it, too, and never becomes a future. */
#ifndef HORA_SCHED_TIMER_QUEUE_H
#define HORA_SCHED_TIMER_QUEUE_H

#include "admit/admission_queue.h"
#include "exec/future.h"
#include "exec/work_source.h"
#include "timer/heap.h"
#include <assert.h>

struct hora__scheduled;

/* Part of a scheduled future, of a foreign future, or of a detached task; ordered by size, since there may be millions. Guarded by the timer queue's lock, but for what is
 * immutable. The due time is when it can be taken; HORA_FOREVER: not at all. */
struct hora__entry {
    struct hora__timer_node by_due;
    uint8_t line;          /* immutable, a enum hora__timeline: which clock its times belong to */
    bool is_foreign : 1;   /* these six are immutable; it is part of a foreign future, */
    bool is_detached : 1;  /* or of a detached task, */
    bool is_timer : 1;     /* which is a timer of the caller's */
    bool is_lax : 1;       /* its rules have slack */
    bool comes_back : 1;   /* it belongs to a series; so when it is taken its place is kept */
    bool : 0;              /* what changes lies in another byte than what is read without the lock */
    bool kept : 1;         /* it has left its heap for a while, and its place there is kept */
    bool in_admission : 1; /* it is due, and waits in the admission queue instead of its heap */
    uint8_t stage;         /* an enum hora__stage, of a scheduled future */
};

/* Of a scheduled future, on a line; it is out. */
static inline void hora__entry_init(struct hora__entry *entry, enum hora__timeline line, bool is_lax,
                                    bool comes_back)
{
    assert(entry != NULL && (int)line >= 0);
    *entry = (struct hora__entry){.line = (uint8_t)line, .is_lax = is_lax, .comes_back = comes_back};
    hora__timer_node_init(&entry->by_due);
}

/* A future from elsewhere. */
struct hora__foreign {
    struct hora__entry entry;
    struct hora__entry *next_picked;
    hora_future *future;         /* immutable */
    struct hora__ticket *ticket; /* NULL: no admission, or the ticket was used and is not ours any more */
    struct hora__list link;      /* among the timer queue's foreign futures */
};

static inline struct hora__foreign *hora__foreign_of(struct hora__entry *entry)
{
    assert(entry->is_foreign);
    return HORA__LIST_ENTRY(entry, struct hora__foreign, entry);
}

/* ---- timer_queue_view.c ---- */

/* Its future; not of a detached task. */
hora_future *hora__entry_future(struct hora__entry *entry);

/* Entries that have been picked, in the order in which they were; each is in one such chain at most. Empty when zero. */
struct hora__entries {
    struct hora__entry *first;
    struct hora__entry *last;
};

void hora__entries_add(struct hora__entries *entries, struct hora__entry *entry);

/* Take the first one out of the chain; NULL: there is none. */
struct hora__entry *hora__entries_next(struct hora__entries *entries);

/* ---- timer_queue.c ---- */

/* HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timer_queue_new(const hora_clock *clock,
                                                              hora_queue **ret_queue);

/* Which clock an entry follows. */
enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry);

/* Whether a queue is an timer queue. */
bool hora__queue_is_timer_queue(const hora_queue *queue);

/* Give a new scheduler admission control: due entries wait in the admission queue that is returned. The
 * context is the pool. */
struct hora__admission_queue *hora__timer_queue_add_admission(hora_queue *queue, hora_ns ageing,
                                                              int (*threads)(const void *context),
                                                              const void *context);

/* NULL: the scheduler has no admission. */
struct hora__admission_queue *hora__timer_queue_admission(hora_queue *queue);

/* With the lock: an entry that was taken is put back, or its task has ended: its ticket ends. Returns whether
 * it had a running one; if so, the caller settles the queue. */
bool hora__timer_queue_end_ticket(struct hora__scheduled *scheduled);

/* A worker waits for a future that is in the timer queue: as take_out of struct hora__pool_kind. */
hora_ns hora__timer_queue_help(hora_queue *queue, hora_future *future, hora_future **ret_future);

/* Another class, or level, of a scheduled task; see hora_future_set_class. HORA_EBUSY, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timer_queue_change_ticket(
    hora_future *future, const struct hora__ticket_change *change);

/* The places where futures are posted count for the books of the pool. */
void hora__timer_queue_open_books(hora_queue *queue, struct hora__books *books);

/* The lane by which futures of the calling thread hold the timer queue. A future begins to hold it; ends to. */
uint8_t hora__timer_queue_lane(hora_queue *queue);
void hora__timer_queue_ref(hora_queue *queue, int lane);
void hora__timer_queue_unref(hora_queue *queue, int lane);

/* Without the lock: post a future that runs once, is out, and that only the caller has seen. `now` is when the call
 * that does so began, by the timer queue's own clock. Whether it is in; else it has to go the long way. */
bool hora__timer_queue_insert_future(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                     const struct hora__offer *offer);

/* The same of one without a course, on the timer queue's own line, that does not belong to the timer queue yet: in any case it does then. */
bool hora__timer_queue_insert_new(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                  const struct hora__offer *offer);

/* The same backwards, for one that was cancelled, as long as `may` says so, which is called under the lane's lock. Whether it is out. */
bool hora__timer_queue_cancel_in_lane(struct hora__scheduled *scheduled, bool (*may)(const void *context),
                                      const void *context);

/* What a clock shows on one of its timelines. */
hora_ns hora__timer_queue_now(const hora_queue *queue, enum hora__timeline line);

/* Each of these with the lock held, and to be followed by hora__queue_serve. */

/* When an entry that is in the timer queue is due. */
hora_ns hora__timer_queue_due(hora_queue *queue, const struct hora__entry *entry);

/* Change the time of an entry that is in the timer queue. */
void hora__timer_queue_move(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Put an entry back whose place was kept: that cannot fail. */
void hora__timer_queue_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* The entry will not come back: its place is free. */
void hora__timer_queue_give_up(hora_queue *queue, struct hora__entry *entry);

/* By how much the entry that is most overdue is so now; 0: none is. What was posted has been absorbed. */
hora_ns hora__timer_queue_overdue(hora_queue *queue);

/* Call `visit` for every entry of a line; it must not change the timer queue. */
void hora__timer_queue_each(hora_queue *queue, enum hora__timeline line,
                            void (*visit)(struct hora__entry *entry, void *arg), void *arg);

/* Chain every entry for which `visit` says so; they stay in the timer queue. Not for foreign futures. */
void hora__timer_queue_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                            struct hora__entries *ret_entries);

/* Take out every entry for which `visit` says so, and chain them. */
void hora__timer_queue_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                             void *arg, struct hora__entries *ret_entries);

/* Without the lock: an entry that was swept has been taken out of its chain. If it was made by the timer queue for a foreign future, it is freed; not for
 * a detached task. */
void hora__timer_queue_release(hora_queue *queue, struct hora__entry *entry);

/* ---- detached tasks; without the lock ---- */

/* Put a task in, due at a time of the timer queue's own clock, without a future; `now` is when the call that does so began. By a lane if that is
 * possible, else with the lock. Told is by which number it can be withdrawn. HORA_ENOMEM, HORA_EFULL.
 * HORA_ENOTSUP: the timer queue has been shown, or it is closed. */
__attribute__((warn_unused_result)) int hora__timer_queue_insert_task(hora_queue *queue,
                                                                      const struct hora__offer *offer,
                                                                      hora_ns now, hora_ns due,
                                                                      uint64_t *ret_number);

/* Take a task, or a timer, out, as if it had never been put in; it is the caller's again. Returns whether it was there: with this number, else nothing of
 * it is touched. Takes time in proportion to what is in. */
bool hora__timer_queue_withdraw(hora_queue *queue, bool is_timer, uint64_t number);

/* Free one that was swept and taken out of its chain. Returns its task, which is not to run. */
hora_task hora__timer_queue_dismiss(hora_queue *queue, struct hora__entry *entry);

/* Who makes a scheduled future of a task that is due at a time, with the timer queue's lock held. 0 or an error. */
struct hora__timer_queue_maker {
    int (*make)(void *context, const hora_task *task, hora_ns due, struct hora__scheduled **ret_scheduled);
    void *context;
};

/* Make futures of all; from now on none is let in. On error, that of `make`, some may still be tasks. */
__attribute__((warn_unused_result)) int hora__timer_queue_show(hora_queue *queue,
                                                               const struct hora__timer_queue_maker *maker);

#endif
