/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue.h - the work source of a scheduler: entries, each with its time on one of the three
 * timelines The pool takes futures from it like from any other work source, as soon as their times have
 * come. A scheduled future contains its entry. For a foreign future, which was made elsewhere, the timer
 * queue makes an entry, due at once. A detached task (detached.h) has an entry and no future; it becomes a
 * future before any thread but a taker looks. A timer of the caller never becomes a future. */
#ifndef HORA_SCHED_TIMER_QUEUE_H
#define HORA_SCHED_TIMER_QUEUE_H

#include "admit/admission_queue.h"
#include "exec/future.h"
#include "exec/work_source.h"
#include "timer/heap.h"
#include <assert.h>

struct hora__scheduled;

/* Part of a scheduled future, of a foreign future, or of a detached task. There may be millions, so it is
 * small. The timer queue's lock guards what is not immutable. An entry can be taken from its due time on;
 * HORA_FOREVER: never. */
struct hora__entry {
    struct hora__timer_node by_due;
    uint8_t line;          /* immutable, an enum hora__timeline: the clock of its times */
    bool is_foreign : 1;   /* immutable, as the next four: part of a foreign future, */
    bool is_detached : 1;  /* or of a detached task, */
    bool is_timer : 1;     /* which is a timer of the caller */
    bool is_lax : 1;       /* its schedule has slack */
    bool comes_back : 1;   /* it belongs to a series, so its slot stays reserved when it is taken */
    bool : 0;              /* what changes lies in another byte than what is read without the lock */
    bool kept : 1;         /* it has left its heap, where its slot is reserved */
    bool in_admission : 1; /* it is due, and waits in the admission queue instead of its heap */
    uint8_t stage;         /* of a scheduled future: an enum hora__stage */
};

/* Initialise the entry of a scheduled future, which is OUT. */
static inline void hora__entry_init(struct hora__entry *entry, enum hora__timeline line, bool is_lax,
                                    bool comes_back)
{
    assert(entry != NULL && (int)line >= 0);
    *entry = (struct hora__entry){.line = (uint8_t)line, .is_lax = is_lax, .comes_back = comes_back};
    hora__timer_node_init(&entry->by_due);
}

/* The record of a foreign future: one that this scheduler did not make. */
struct hora__foreign {
    struct hora__entry entry;
    struct hora__entry *next_picked; /* in a chain of entries */
    hora_future *future;             /* immutable */
    struct hora__ticket *ticket;     /* NULL: no admission, or the ticket was used and is not ours any more */
    struct hora__list link;          /* among the timer queue's foreign futures */
};

static inline struct hora__foreign *hora__foreign_of(struct hora__entry *entry)
{
    assert(entry->is_foreign);
    return HORA__LIST_ENTRY(entry, struct hora__foreign, entry);
}

/* ---- timer_queue_view.c ---- */

/* The future of an entry that is not a detached task. */
hora_future *hora__entry_future(struct hora__entry *entry);

/* A chain of picked entries, in order; zero-initialised it is empty. An entry is in at most one chain. */
struct hora__entries {
    struct hora__entry *first;
    struct hora__entry *last;
};

void hora__entries_add(struct hora__entries *entries, struct hora__entry *entry);

/* Remove the first entry from the chain; NULL: the chain is empty. */
struct hora__entry *hora__entries_next(struct hora__entries *entries);

/* ---- timer_queue.c ---- */

/* Make a timer queue. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timer_queue_new(const hora_clock *clock,
                                                              hora_queue **ret_queue);

/* The timeline whose clock an entry follows. */
enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry);

/* Whether a queue is a timer queue. */
bool hora__queue_is_timer_queue(const hora_queue *queue);

/* Give a new scheduler admission control: due entries wait in the admission queue that is returned. The
 * context is the pool. */
struct hora__admission_queue *hora__timer_queue_add_admission(hora_queue *queue, hora_ns ageing,
                                                              int (*threads)(const void *context),
                                                              const void *context);

/* NULL: the scheduler has no admission. */
struct hora__admission_queue *hora__timer_queue_admission(hora_queue *queue);

/* With the lock: end the ticket of an entry that is put back, or whose task has ended. Returns whether it
 * had a running ticket; then the caller serves the queue. */
bool hora__timer_queue_end_ticket(struct hora__scheduled *scheduled);

/* A worker waits for a future that is in the timer queue: as take_out of struct hora__pool_kind. */
hora_ns hora__timer_queue_help(hora_queue *queue, hora_future *future, hora_future **ret_future);

/* Change the class or level of a scheduled task; see hora_future_set_class. HORA_EBUSY, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timer_queue_change_ticket(
    hora_future *future, const struct hora__ticket_change *change);

/* Make the counts of the lanes part of the pool's books. */
void hora__timer_queue_open_books(hora_queue *queue, struct hora__books *books);

/* The lane by which futures of the calling thread hold the timer queue; a future starts to hold it, and
 * stops. */
uint8_t hora__timer_queue_lane(hora_queue *queue);
void hora__timer_queue_ref(hora_queue *queue, int lane);
void hora__timer_queue_unref(hora_queue *queue, int lane);

/* Without the lock: insert a future into a lane. It runs once, is OUT, and no other thread has seen it.
 * `now` is when the call began, by the timer queue's own clock. Returns false if it must be put with the
 * lock. */
bool hora__timer_queue_insert_future(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                     const struct hora__offer *offer);

/* The same for a future without a series, on the own line, that does not hold the timer queue yet. It does
 * afterwards, whatever the result is. */
bool hora__timer_queue_insert_new(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                  const struct hora__offer *offer);

/* Remove a cancelled future from its lane, if `may` returns true, which is called under the lane's lock.
 * Returns whether that was done. */
bool hora__timer_queue_cancel_in_lane(struct hora__scheduled *scheduled, bool (*may)(const void *context),
                                      const void *context);

/* The time of one of the timelines of the timer queue's clock. */
hora_ns hora__timer_queue_now(const hora_queue *queue, enum hora__timeline line);

/* All of these need the lock, and the caller calls hora__queue_serve afterwards. */

/* The due time of an entry that is in the timer queue. */
hora_ns hora__timer_queue_due(hora_queue *queue, const struct hora__entry *entry);

/* Change the time of an entry that is in the timer queue. */
void hora__timer_queue_move(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Put back an entry that has kept its slot: that cannot fail. */
void hora__timer_queue_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Give up the reserved slot of an entry that does not come back. */
void hora__timer_queue_give_up(hora_queue *queue, struct hora__entry *entry);

/* By how much the most overdue entry is late; 0: none is. The lanes have been absorbed. */
hora_ns hora__timer_queue_overdue(hora_queue *queue);

/* Call `visit` for each entry of a line; it must not change the timer queue. */
void hora__timer_queue_each(hora_queue *queue, enum hora__timeline line,
                            void (*visit)(struct hora__entry *entry, void *arg), void *arg);

/* Chain each entry for which `visit` returns true; they stay in the timer queue. Not for foreign futures. */
void hora__timer_queue_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                            struct hora__entries *ret_entries);

/* Remove each entry for which `visit` returns true, and chain them; they are SWEPT. */
void hora__timer_queue_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                             void *arg, struct hora__entries *ret_entries);

/* Without the lock: release a swept entry that has left its chain. The record of a foreign future is
 * freed. Not for a detached task. */
void hora__timer_queue_release(hora_queue *queue, struct hora__entry *entry);

/* ---- detached tasks; without the lock ---- */

/* Insert a task without a future, due at a time of the own clock: by a lane if possible, else with the
 * lock. `now` is when the call began. *ret_number identifies it for hora__timer_queue_withdraw.
 * HORA_ENOMEM, HORA_EFULL. HORA_ENOTSUP: the timer queue has been shown, or the pool does not accept
 * tasks. */
__attribute__((warn_unused_result)) int hora__timer_queue_insert_task(hora_queue *queue,
                                                                      const struct hora__offer *offer,
                                                                      hora_ns now, hora_ns due,
                                                                      uint64_t *ret_number);

/* Remove the task or timer with this number, as if it had never been inserted; it is the caller's again.
 * Returns whether it was there. Takes time in proportion to the number of entries. */
bool hora__timer_queue_withdraw(hora_queue *queue, bool is_timer, uint64_t number);

/* Free a swept task that has left its chain. Returns the hora_task, which is not to run. */
hora_task hora__timer_queue_dismiss(hora_queue *queue, struct hora__entry *entry);

/* Makes a scheduled future of a task that is due at a time, with the timer queue's lock held. 0 or an
 * error. */
struct hora__timer_queue_maker {
    int (*make)(void *context, const hora_task *task, hora_ns due, struct hora__scheduled **ret_scheduled);
    void *context;
};

/* Turn all detached tasks into futures; none is accepted from now on. On error, which is that of `make`,
 * some may still be detached. */
__attribute__((warn_unused_result)) int hora__timer_queue_show(hora_queue *queue,
                                                               const struct hora__timer_queue_maker *maker);

#endif
