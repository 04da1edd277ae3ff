/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue.h - the work source of a scheduler: entries, each with a due time on one of three timelines
 *
 * A pool takes futures from the timer queue as from any other work source, but each future only once its due
 * time has come. There are four kinds of entries:
 *
 * Scheduled future  A future that this scheduler made. It contains its entry.
 * Foreign future    A future that was made elsewhere. The timer queue allocates an entry for it, which is due
 *                   at once.
 * Detached task     A task without a future (detached.h). Before any thread other than a taker looks at the
 *                   entries, all detached tasks are turned into futures.
 * Timer             A hora_timer, in memory of the caller (detached.h). It never becomes a future. */
#ifndef HORA_SCHED_TIMER_QUEUE_H
#define HORA_SCHED_TIMER_QUEUE_H

#include "admit/admission_queue.h"
#include "exec/future.h"
#include "exec/work_source.h"
#include "timer/heap.h"
#include <assert.h>

struct hora__scheduled;

/* What the timer queue knows of a task: part of a scheduled future, of the record of a foreign future, of a
 * detached task or of a timer. There may be millions of entries, so an entry is small. The timer queue's lock
 * guards the fields that are not immutable; the fields of a timer are written anew at each start. A worker
 * can take an entry from its due time on, and never if that is HORA_FOREVER. */
struct hora__entry {
    /* The node in the heap ordered by due time. Its sequence number is 0 until the entry is first
     * inserted. */
    struct hora__timer_node by_due;
    /* Selects the heaps, and the clock of the due time; immutable. An enum hora__timeline, or
     * TIMERS_WITH_ADMISSION (timer_queue_internal.h). */
    uint8_t line;
    /* Immutable: the entry is part of a struct hora__foreign. */
    bool is_foreign : 1;
    /* Immutable: the entry is part of a struct hora__detached, a task or a timer. */
    bool is_detached : 1;
    /* Immutable: that struct is part of a timer of the caller. Implies is_detached. */
    bool is_timer : 1;
    /* Immutable: the schedule has slack. Only entries with a series state have slack. */
    bool is_lax : 1;
    /* Immutable: the task may run more than once, so its slot stays reserved when it is taken. */
    bool comes_back : 1;
    /* Threads read the bits above without the lock. So the bits that change are in another byte. */
    bool : 0;
    /* The entry is not in its heap, and its slot there is reserved. */
    bool kept : 1;
    /* The entry is due, and waits in the admission queue instead of in its heap. */
    bool in_admission : 1;
    /* An enum hora__stage; of a scheduled future, series.c has the transitions. */
    uint8_t stage;
};

/* Initialises an entry of this timeline, which is OUT. The caller sets is_foreign or is_detached afterwards,
 * if the entry is not that of a scheduled future. */
static inline void hora__entry_init(struct hora__entry *entry, enum hora__timeline line, bool is_lax,
                                    bool comes_back)
{
    assert(entry != NULL && (int)line >= 0);
    *entry = (struct hora__entry){.line = (uint8_t)line, .is_lax = is_lax, .comes_back = comes_back};
    hora__timer_node_init(&entry->by_due);
}

/* The record of a foreign future: one that this scheduler did not make. The timer queue allocates the record
 * before the future is put, and frees it when the entry is removed. A future that is queued several times has
 * several records. */
struct hora__foreign {
    struct hora__entry entry;
    /* The next entry of a chain; see struct hora__entries. */
    struct hora__entry *next_picked;
    /* Immutable. */
    hora_future *future;
    /* The ticket that is reserved for the entry or by which it waits. NULL: the scheduler has no admission,
     * or the entry has left the admission queue. */
    struct hora__ticket *ticket;
    /* In the timer queue's list foreign_futures. */
    struct hora__list link;
};

/* Returns the record that contains the entry of a foreign future. */
static inline struct hora__foreign *hora__foreign_of(struct hora__entry *entry)
{
    assert(entry->is_foreign);
    return HORA__LIST_ENTRY(entry, struct hora__foreign, entry);
}

/* ---- timer_queue_view.c ---- */

/* Returns the future of an entry that is neither a detached task nor a timer, borrowed. */
hora_future *hora__entry_future(struct hora__entry *entry);

/* Returns the timeline whose clock the due time of an entry refers to. */
enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry);

/* A chain of entries that a visit has picked, in the order in which they were added. A zero-initialised chain
 * is empty. The links are in the entries' own memory, so adding cannot fail; an entry is in at most one
 * chain. */
struct hora__entries {
    struct hora__entry *first;
    struct hora__entry *last;
};

/* Removes and returns the first entry of the chain; NULL: the chain is empty. */
struct hora__entry *hora__entries_next(struct hora__entries *entries);

/* ---- timer_queue.c ---- */

/* Makes an empty timer queue on this clock. Returns 0, HORA_ENOMEM, HORA_EAGAIN or HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__timer_queue_new(const hora_clock *clock,
                                                              hora_queue **ret_queue);

/* Returns whether a queue is a timer queue. */
bool hora__queue_is_timer_queue(const hora_queue *queue);

/* Gives a new, empty timer queue admission control: due entries then wait in the admission queue that is
 * returned, which is part of the timer queue. `threads` returns how many threads the pool may use; its
 * argument `context` must be the pool. */
struct hora__admission_queue *hora__timer_queue_add_admission(hora_queue *queue, hora_ns ageing,
                                                              int (*threads)(const void *context),
                                                              const void *context);

/* Returns the admission queue; NULL: the scheduler has no admission. */
struct hora__admission_queue *hora__timer_queue_admission(hora_queue *queue);

/* Ends the ticket of an entry that is put back, or whose task has ended. The caller holds the lock. Returns
 * whether the entry had a running ticket; then other entries may be admitted, and the caller serves the
 * queue. */
bool hora__timer_queue_end_ticket(struct hora__scheduled *scheduled);

/* Takes a future out of the timer queue of a scheduler with admission, for a worker that waits for it. Takes
 * the lock. Arguments and result are those of take_out of struct hora__pool_kind. */
hora_ns hora__timer_queue_help(hora_queue *queue, hora_future *future, hora_future **ret_future);

/* Changes the class or level of a scheduled task; see hora_future_set_class. Returns 0, HORA_EBUSY (the task
 * is done, or a worker has it and it does not run again), or an error of hora__scheduled_enter. */
__attribute__((warn_unused_result)) int hora__timer_queue_change_ticket(
    hora_future *future, const struct hora__ticket_change *change);

/* Makes the counts of the lanes branches of the pool's books. Called once, before the pool is used. */
void hora__timer_queue_open_books(hora_queue *queue, struct hora__books *books);

/* Returns the lane of the calling thread. A future stores it: it refers to the timer queue through this
 * lane. */
uint8_t hora__timer_queue_lane(hora_queue *queue);
/* Adds a reference of a future to the timer queue, counted by a lane; removes one. Once the pool has left,
 * the last of these references destroys the timer queue. */
void hora__timer_queue_ref(hora_queue *queue, int lane);
void hora__timer_queue_unref(hora_queue *queue, int lane);

/* Inserts a future into its lane, without the lock. The future is OUT, and no other thread has seen it. `now`
 * is when the call began, by the timer queue's own clock; the sequence number may be derived from it. Returns
 * false if the future must be put under the lock: it has a series state, is paused or follows another
 * timeline, the lane is full, the due time is at or below the floor, or the pool does not accept tasks. */
bool hora__timer_queue_insert_future(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                     const struct hora__offer *offer);

/* Like hora__timer_queue_insert_future, for a future without series state on the own timeline that has no
 * reference to the timer queue yet. It has one afterwards, whatever the result is: counting it together with
 * the insertion saves an atomic operation. */
bool hora__timer_queue_insert_new(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                  const struct hora__offer *offer);

/* Removes a cancelled future from its lane and books it as cancelled, if it is still there and `may` returns
 * true. `may` is called under the lane's lock. Returns whether the future was removed. */
bool hora__timer_queue_cancel_in_lane(struct hora__scheduled *scheduled, bool (*may)(const void *context),
                                      const void *context);

/* Returns the time of one of the timelines of the timer queue's clock. */
hora_ns hora__timer_queue_now(const hora_queue *queue, enum hora__timeline line);

/* The functions from here to hora__timer_queue_sweep need the lock. After a change the caller calls
 * hora__queue_serve, which wakes a worker if the first due time is now earlier. */

/* Returns the due time, on its own timeline, of an entry that is in the timer queue. */
hora_ns hora__timer_queue_due(hora_queue *queue, const struct hora__entry *entry);

/* Changes the due time of an entry that is in the timer queue. Not for foreign futures. The entry keeps its
 * sequence number; it loses its place in the admission queue. */
void hora__timer_queue_move(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Inserts an entry again whose slot was kept. This cannot fail. */
void hora__timer_queue_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due);

/* Releases the reserved slot of an entry that does not come back. */
void hora__timer_queue_give_up(hora_queue *queue, struct hora__entry *entry);

/* Returns how late the most overdue entry of the heaps is; 0: none is late. The caller has absorbed the
 * lanes. Entries that wait for admission do not count. */
hora_ns hora__timer_queue_overdue(hora_queue *queue);

/* Calls `visit` for each entry of a timeline, timers and entries that wait for admission included. `visit`
 * must not change the timer queue. */
void hora__timer_queue_each(hora_queue *queue, enum hora__timeline line,
                            void (*visit)(struct hora__entry *entry, void *arg), void *arg);

/* Chains the entries for which `visit` returns true. They stay in the timer queue. `visit` must return false
 * for timers. */
void hora__timer_queue_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                            struct hora__entries *ret_entries);

/* Removes the entries for which `visit` returns true, and chains them. They are SWEPT. `visit` must return
 * false for timers. */
void hora__timer_queue_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                             void *arg, struct hora__entries *ret_entries);

/* Releases a swept entry, which the caller has removed from its chain: makes a scheduled future OUT, or frees
 * the record of a foreign future. Takes the lock. Not for a detached task; see hora__timer_queue_dismiss. */
void hora__timer_queue_release(hora_queue *queue, struct hora__entry *entry);

/* ---- detached tasks: timer_queue_detached.c; the caller does not hold the lock ---- */

/* Inserts a copy of offer->task, without a future, due at a time of the own clock: into a lane if possible,
 * else under the lock. `now` is when the call began. *ret_number identifies the task for
 * hora__timer_queue_withdraw. Returns 0, HORA_ENOMEM, HORA_EFULL, or HORA_ENOTSUP (the timer queue has been
 * shown, or the pool does not accept tasks). */
__attribute__((warn_unused_result)) int hora__timer_queue_insert_task(hora_queue *queue,
                                                                      const struct hora__offer *offer,
                                                                      hora_ns now, hora_ns due,
                                                                      uint64_t *ret_number);

/* Removes the task or timer with this number, as if it had never been inserted; the argument, or the memory
 * of the timer, belongs to the caller again. Returns whether it was found. Takes time in proportion to the
 * number of entries. */
bool hora__timer_queue_withdraw(hora_queue *queue, bool is_timer, uint64_t number);

/* Frees a swept detached task, which the caller has removed from its chain. Returns a copy for the caller to
 * drop; its `run` is NULL, because the chain has overwritten it. */
hora_task hora__timer_queue_dismiss(hora_queue *queue, struct hora__entry *entry);

/* Makes a scheduled future from a detached task that is due at this time. `make` is called under the timer
 * queue's lock, and returns 0 or an error. */
struct hora__timer_queue_maker {
    int (*make)(void *context, const hora_task *task, hora_ns due, struct hora__scheduled **ret_scheduled);
    void *context;
};

/* Turns all detached tasks into futures. From then on the timer queue accepts no detached task. Returns 0 or
 * the error of `make`; some tasks may still be detached then. */
__attribute__((warn_unused_result)) int hora__timer_queue_show(hora_queue *queue,
                                                               const struct hora__timer_queue_maker *maker);

#endif
