/* SPDX-License-Identifier: Apache-2.0 */
/* agenda.h - the queue of a scheduler: futures, each with its time on one of the three timelines
 *
 * To the pool it is a work queue like any other: its elements are futures, one can be taken when its time has come,
 * and how threads wait for that is the business of src/queue. A future of a scheduler brings its entry along; for one
 * that was made elsewhere an entry is made, and it is due at once. A task that nobody has a handle of is in it by value, until
 * somebody looks: see detached.h, and by_value.c. A timer of the caller's is in it, too, and never becomes a future. */
#ifndef HORA_SCHED_AGENDA_H
#define HORA_SCHED_AGENDA_H

#include "admit/admission_queue.h"
#include "exec/future.h"
#include "exec/work_source.h"
#include "timer/heap.h"

struct hora__scheduled;

/* Part of a scheduled future, of a guest, or of a detached task; ordered by size, since there may be millions. Guarded by the agenda's lock, but for what is
 * immutable. The due time is when it can be taken; HORA_FOREVER: not at all. */
struct hora__entry {
    struct hora__timer_node by_due;
    uint8_t line;         /* immutable, a enum hora__timeline: which clock its times belong to */
    bool is_guest : 1;    /* these six are immutable; it is part of a guest, */
    bool is_detached : 1; /* or of a detached task, */
    bool is_timer : 1;    /* which is a timer of the caller's */
    bool is_lax : 1;      /* its rules have slack */
    bool comes_back : 1;  /* it belongs to a series; so when it is taken its place is kept */
    bool : 0;             /* what changes lies in another byte than what is read without the lock */
    bool kept : 1;        /* it has left its heap for a while, and its place there is kept */
    bool in_admission : 1; /* it is due, and waits in the admission queue instead of its heap */
    uint8_t place;        /* an enum hora__place, of a scheduled future */
};

/* Of a scheduled future, on a line; it is out. */
static inline void hora__entry_init(struct hora__entry *entry, enum hora__timeline line, bool is_lax, bool comes_back)
{
    *entry = (struct hora__entry){.line = (uint8_t)line, .is_lax = is_lax, .comes_back = comes_back};
    hora__timer_node_init(&entry->by_due);
}

/* A future from elsewhere. */
struct hora__guest {
    struct hora__entry entry;
    struct hora__entry *next_picked;
    hora_future *future;         /* immutable */
    struct hora__ticket *ticket; /* NULL: no admission, or the ticket was used and is not ours any more */
    struct hora__list link;      /* among the agenda's guests */
};

static inline struct hora__guest *hora__guest_of(struct hora__entry *entry)
{
    return HORA__LIST_ENTRY(entry, struct hora__guest, entry);
}

/* ---- entries.c ---- */

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

/* ---- agenda.c ---- */

/* HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__agenda_new(const hora_clock *clock, hora_queue **ret_queue);

/* Which clock an entry follows. */
enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry);

/* Whether a queue is an agenda. */
bool hora__queue_is_agenda(const hora_queue *queue);

/* Give a new scheduler admission control: due entries wait in the admission queue that is returned. The
 * context is the pool. */
struct hora__admission_queue *hora__agenda_admit(hora_queue *queue, hora_ns ageing, int (*threads)(const void *context),
                                                 const void *context);

/* NULL: the scheduler has no admission. */
struct hora__admission_queue *hora__agenda_admission(hora_queue *queue);

/* With the lock: an entry that was taken is put back, or its task has ended: its ticket ends. Returns whether
 * it had a running one; if so, the caller settles the queue. */
bool hora__agenda_end_ticket(struct hora__scheduled *scheduled);

/* A worker waits for a future that is in the agenda: as take_out of struct hora__pool_kind. */
hora_ns hora__agenda_help(hora_queue *queue, hora_future *future, hora_future **ret_future);

/* Another class, or level, of a scheduled task; see hora_future_set_class. HORA_EBUSY, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__agenda_change_ticket(hora_future *future,
                                                                   const struct hora__ticket_change *change);

/* The places where futures are posted count for the books of the pool. */
void hora__agenda_open_books(hora_queue *queue, struct hora__books *books);

/* The lane by which futures of the calling thread hold the timer queue. A future begins to hold it; ends to. */
uint8_t hora__agenda_shard(hora_queue *queue);
void hora__agenda_move_in(hora_queue *queue, int lane);
void hora__agenda_move_out(hora_queue *queue, int lane);

/* Without the lock: post one that runs once, is out, and that nobody else has seen; `now` is when the call that does so began, by the agenda's
 * own clock. Whether it is in; else it has to go the long way. */
bool hora__agenda_post(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                       const struct hora__posting *posting);

/* The same of one without a course, on the agenda's own line, that does not belong to the agenda yet: in any case it does then. */
bool hora__agenda_house(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                        const struct hora__posting *posting);

/* The same backwards, for one that was cancelled, as long as `may` says so, which is called under the lane's lock. Whether it is out. */
bool hora__agenda_unpost(struct hora__scheduled *scheduled, bool (*may)(const void *context), const void *context);

/* What a clock shows on one of its timelines. */
hora_ns hora__agenda_now(const hora_queue *queue, enum hora__timeline line);

/* Each of these with the lock held, and to be followed by hora__queue_settle. */

/* When an entry that is in the agenda is due. */
hora_ns hora__agenda_due(hora_queue *queue, const struct hora__entry *entry);

/* Change the time of an entry that is in the agenda. */
void hora__agenda_move(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Put an entry back whose place was kept: that cannot fail. */
void hora__agenda_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* The entry will not come back: its place is free. */
void hora__agenda_give_up(hora_queue *queue, struct hora__entry *entry);

/* By how much the entry that is most overdue is so now; 0: none is. What was posted has been absorbed. */
hora_ns hora__agenda_overdue(hora_queue *queue);

/* Call `visit` for every entry of a line; it must not change the agenda. */
void hora__agenda_each(hora_queue *queue, enum hora__timeline line, void (*visit)(struct hora__entry *entry, void *arg),
                       void *arg);

/* Chain every entry for which `visit` says so; they stay in the agenda. Not for guests. */
void hora__agenda_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                       struct hora__entries *ret_entries);

/* Take out every entry for which `visit` says so, and chain them. */
void hora__agenda_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                        struct hora__entries *ret_entries);

/* Without the lock: an entry that was swept has been taken out of its chain. If it was made by the agenda for a guest, it is freed; not for
 * a detached task. */
void hora__agenda_release(hora_queue *queue, struct hora__entry *entry);

/* ---- tasks by value; without the lock ---- */

/* Put a task in, due at a time of the agenda's own clock, without a future; `now` is when the call that does so began. By a lane if that is
 * possible, else with the lock. Told is by which number it can be withdrawn. HORA_ENOMEM, HORA_EFULL.
 * HORA_ENOTSUP: the agenda has been shown, or the gate is closed. */
__attribute__((warn_unused_result)) int hora__agenda_post_task(hora_queue *queue, const struct hora__posting *posting,
                                                               hora_ns now, hora_ns due, uint64_t *ret_number);

/* Take a task, or a timer, out, as if it had never been put in; it is the caller's again. Returns whether it was there: with this number, else nothing of
 * it is touched. Takes time in proportion to what is in. */
bool hora__agenda_withdraw(hora_queue *queue, bool is_timer, uint64_t number);

/* Free one that was swept and taken out of its chain. Returns its task, which is not to run. */
hora_task hora__agenda_dismiss(hora_queue *queue, struct hora__entry *entry);

/* Who makes a scheduled future of a task that is due at a time, with the agenda's lock held. 0 or an error. */
struct hora__agenda_maker {
    int (*make)(void *context, const hora_task *task, hora_ns due, struct hora__scheduled **ret_scheduled);
    void *context;
};

/* Make futures of all; from now on none is let in. On error, that of `make`, some may still be tasks. */
__attribute__((warn_unused_result)) int hora__agenda_show(hora_queue *queue, const struct hora__agenda_maker *maker);

#endif
