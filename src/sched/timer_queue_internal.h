/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_internal.h - the timer queue's state, shared by the files that make it up: timer_queue.c and
 * timer_queue_*.c */
#ifndef HORA_SCHED_TIMER_QUEUE_INTERNAL_H
#define HORA_SCHED_TIMER_QUEUE_INTERNAL_H

#include "sched/timer_queue.h"
#include "timer/store.h"
#include <assert.h>

/* LINES is the number of timelines. With admission, timers have their own heap, as if they were on a fourth
 * line: see timer_queue_admission.c. The times in that heap are on the own timeline. */
enum { LINES = 3, TIMERS_WITH_ADMISSION = LINES, HEAPS };

/* The entries of one timeline. See I2 and I4 in timer_queue.c. */
struct line {
    struct hora__timer_heap exact;  /* entries without slack, by due time */
    struct hora__timer_heap lax;    /* entries with slack, by the time from which they can be taken */
    struct hora__timer_heap latest; /* the same entries, by the time at which they must be taken */
};

/* Detached tasks that have been taken or dropped. Their memory is returned, many at a time, to the free list
 * of the lane by which they were inserted. Guarded by the timer queue's lock. */
struct hora__left {
    /* Linked by next_picked of struct hora__detached. */
    struct hora__entry *first;
    int count;
};

/* A timer queue. The lock of base.queue.object guards all fields that are not immutable. */
struct timer_queue {
    /* First the queue, as hora_pool_queue shows it. */
    struct hora__work_source base;
    /* Indexed by `line` of an entry. Only `exact` of the last one is used. */
    struct line lines[HEAPS];
    /* The timeline of the queue's own clock, on which workers sleep; immutable. */
    enum hora__timeline own;
    /* `line` of timers: `own`, or TIMERS_WITH_ADMISSION. Immutable once the scheduler is made. */
    uint8_t timer_line;
    /* The struct hora__foreign records that are in the queue. */
    struct hora__list foreign_futures;
    /* Lanes and far batches. Its heap is `exact` of the own timeline. */
    struct hora__timer_store store;
    /* For each lane. */
    struct hora__left left[HORA__LANES_MOST];
    /* &own_admission; NULL: no admission. Immutable once the scheduler is made. */
    struct hora__admission_queue *admission;
    struct hora__admission_queue own_admission;
    /* With admission: the ticket by which the first timer waits once it is due; all timers share it. */
    struct hora__ticket timer_ticket;
    /* The struct hora__timer_run of each worker, whether it runs a timer or not. */
    struct hora__list runs;
    /* The waiters of hora_timer_stop calls. They are resolved whenever the run of any timer has ended. */
    struct hora__list stoppers;
    /* The number of timers that are counted in queue.size. Users of the queue do not see timers. */
    int hidden;
    /* The number of workers that notify the observer that the clocks have parted. Several can, if the clocks
     * part again meanwhile. No entry can be taken while it is not 0. */
    int notifiers;
    /* The offsets between the timelines that were last handled; valid once base.watched is set. */
    struct hora__clock_offsets seen;
    uint32_t set_backs;            /* how often the wall clock was seen to be set back; may wrap */
    uint32_t refreshes;            /* how often a refresh of zones has begun or ended; may wrap */
    hora_ns refreshed_at;          /* when `refreshes` was last raised, by the wall clock */
    struct hora__list zones;       /* struct known_zone of zones.c */
    struct hora__list zoned;       /* series states whose trigger has one of `zones` */
    struct hora__list other_zoned; /* series states whose trigger has other zones */
};

/* Returns the timer queue of a queue that is known to be one. */
static inline struct timer_queue *timer_queue_of(hora_queue *queue)
{
    assert(queue != NULL);
    return HORA__LIST_ENTRY(queue, struct timer_queue, base.queue);
}

/* Returns the entry whose node in a heap by due time this is. */
static inline struct hora__entry *entry_by_due(struct hora__timer_node *timer)
{
    assert(timer != NULL);
    return HORA__LIST_ENTRY(timer, struct hora__entry, by_due);
}

/* Returns the heap of precise entries on the own timeline: that of the timer store. */
static inline struct hora__timer_heap *own_heap(struct timer_queue *timer_queue)
{
    return &timer_queue->lines[timer_queue->own].exact;
}

/* Returns the heap that timers are in. */
static inline struct hora__timer_heap *timer_heap(struct timer_queue *timer_queue)
{
    assert(timer_queue->timer_line < HEAPS);
    return &timer_queue->lines[timer_queue->timer_line].exact;
}

/* Unless a comment says otherwise, the functions below need the lock. hora_queue_free calls some of them
 * without it: no other thread is left then. */

/* Counts an entry that is inserted (1) or removed (-1). */
static inline void hora__timer_queue_count(struct timer_queue *timer_queue, const struct hora__entry *entry,
                                           int by)
{
    assert((by == 1 || by == -1) && timer_queue->base.queue.size + by >= 0);
    timer_queue->base.queue.size += by;
    timer_queue->hidden += entry->is_timer ? by : 0;
}

/* ---- timer_queue.c ---- */

/* Removes an entry from its heaps. Neither counts the entry nor changes its stage. */
void hora__timer_queue_pull(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Inserts an entry into its heaps, which have room, counts it and makes it WAITS; gives it a sequence number
 * if it has none. */
void hora__timer_queue_insert(struct timer_queue *timer_queue, struct hora__entry *entry, hora_ns due);

/* Removes an entry from its heaps or from the admission queue, and makes it OUT. Its record is not freed. */
void hora__timer_queue_remove(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Reserves the slot of an entry that is not in its heaps, or releases that slot. Does nothing if `kept`
 * already has this value. */
void hora__timer_queue_keep(struct timer_queue *timer_queue, struct hora__entry *entry, bool kept);

/* Called after an entry was removed: its heaps return memory if they are nearly empty. */
void hora__timer_queue_save_memory(struct timer_queue *timer_queue, const struct hora__entry *entry);

/* Returns the first entry of all heaps if it is due, timers under admission excepted. NULL: none is due.
 * Absorbs the lanes if no entry is known to be due. */
struct hora__entry *hora__timer_queue_first_due(struct timer_queue *timer_queue);

/* Returns the entry of a future; NULL: the future is not in this timer queue. Does not look into the
 * lanes. */
struct hora__entry *hora__timer_queue_find(hora_queue *queue, const hora_future *future);

/* Removes an entry for a worker, which owns it from now on. Returns its future. */
hora_future *hora__timer_queue_take_entry(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Moves the contents of the inbox lanes into the heap: collect of struct hora__queue_inbox. */
void hora__timer_queue_absorb(hora_queue *queue);

/* ---- timer_queue_admission.c: for a scheduler with admission, except where a comment says otherwise ---- */

/* Moves all due entries into the admission queue. */
void hora__timer_queue_feed_admission(struct timer_queue *timer_queue);

/* Removes an entry from the admission queue, unless its ticket has just begun, and releases its reserved
 * slot. */
void hora__timer_queue_leave_admission(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Returns when an entry in the admission queue was due, on its own timeline. */
hora_ns hora__timer_queue_waiting_due(const struct hora__entry *entry);

/* Removes the entry that admission lets begin next, and begins its ticket if `begins`. Returns its future, or
 * ret_taken for a timer; NULL: none may begin. See take of struct hora__work_kind. */
void *hora__timer_queue_take_admitted(struct timer_queue *timer_queue, bool begins,
                                      struct hora__taken *ret_taken);

/* Makes timer_ticket wait if the first timer is due, and else not. Called after the first timer may have
 * changed, and before an entry is taken, because time has passed. */
void hora__timer_queue_offer_timer(struct timer_queue *timer_queue);

/* Returns an entry of the admission queue: the one that arrived first, or that of a future. NULL: there is
 * none, or the scheduler has no admission. */
struct hora__entry *hora__timer_queue_first_waiting(struct timer_queue *timer_queue);
struct hora__entry *hora__timer_queue_find_waiting(struct timer_queue *timer_queue,
                                                   const hora_future *future);

/* Calls `visit` for every entry of a timeline in the admission queue, except timers. `visit` must not change
 * the timer queue. Does nothing if the scheduler has no admission. */
void hora__timer_queue_each_waiting(struct timer_queue *timer_queue, enum hora__timeline line,
                                    void (*visit)(struct hora__entry *entry, void *arg), void *arg);

/* Returns when admission lets a due entry begin, if that is before `until`, and sets *element to a number for
 * it; else returns `until`. See next_due of struct hora__queue_kind. */
hora_ns hora__timer_queue_next_admission(const struct timer_queue *timer_queue, hora_ns until,
                                         uint64_t *element);

/* ---- timer_queue_view.c ---- */

/* Selects the first `max` items of many, in order, in memory of the caller. While items are added, the array
 * is a heap of the first ones seen so far, with the last of these on top. */
struct hora__selection {
    /* Returns whether a comes before b. The order must be total. */
    bool (*is_before)(const void *a, const void *b, void *context);
    /* Passed to is_before. */
    void *context;
    /* Memory of the caller, for `max` items. */
    void **items;
    int max; /* at least 1 */
    /* Items in the array, at most `max`. */
    int count;
};

/* Offers one more item. It is kept if it is among the first `max` seen so far. */
void hora__selection_add(struct hora__selection *selection, void *item);

/* Sorts the selected items, the first one first. Returns their number. The selection is used up. */
int hora__selection_sort(struct hora__selection *selection);

/* Returns the entry of a foreign future; NULL: the future is not here. */
struct hora__entry *hora__timer_queue_find_foreign(struct timer_queue *timer_queue,
                                                   const hora_future *future);

/* Frees the record of a foreign future that is not in the timer queue, and gives back its ticket, if the
 * ticket was claimed and never used. Needs no lock. */
void hora__timer_queue_free_foreign(struct timer_queue *timer_queue, struct hora__foreign *foreign);

/* Allocates the record of a foreign future before it is put; frees it if the put fails. See struct
 * hora__queue_kind. Both need no lock. */
int hora__timer_queue_prepare(hora_queue *queue, struct hora__put *put);
void hora__timer_queue_discard(hora_queue *queue, struct hora__put *put);

/* ---- timer_queue_detached.c ---- */

/* Returns the memory of detached tasks that came by this lane, and have left, to the lane's free list. The
 * caller also holds the lane's lock. The context is the timer queue. */
void hora__timer_queue_give_back(void *context, struct hora__lane *lane);

/* Releases a detached task or timer that was removed: frees the task, or hands the timer back to its caller.
 * Returns the address of the entry, which must not be accessed any more: it only says that there was one. */
struct hora__entry *hora__timer_queue_release_detached(struct timer_queue *timer_queue,
                                                       struct hora__entry *entry);

/* Hands a detached task or timer that was removed to the thread that takes it: copies function, argument and
 * due time to *ret_taken, then releases it. If the thread is a worker and the entry a timer, the worker's
 * timer_run names the timer before the memory belongs to the caller again. Returns ret_taken. */
struct hora__taken *hora__timer_queue_hand_out(struct timer_queue *timer_queue, struct hora__entry *entry,
                                               hora_ns due, struct hora__taken *ret_taken);

#endif
