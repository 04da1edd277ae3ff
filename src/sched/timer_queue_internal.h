/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_internal.h - the timer queue's state, shared by the files that make it up: timer_queue.c and
 * timer_queue_*.c */
#ifndef HORA_SCHED_TIMER_QUEUE_INSIDE_H
#define HORA_SCHED_TIMER_QUEUE_INSIDE_H

#include "sched/timer_queue.h"
#include "timer/store.h"
#include <assert.h>

/* With admission, timers have a heap of their own, as if on a fourth line: see timer_queue_admission.c.
 * Its times are those of the own line. */
enum { LINES = 3, TIMERS_WITH_ADMISSION = LINES, HEAPS };

/* The entries of one timeline. */
struct line {
    struct hora__timer_heap exact;  /* entries without slack, by due time */
    struct hora__timer_heap lax;    /* entries with slack, by the time from which they can be taken */
    struct hora__timer_heap latest; /* the same entries, by the time at which they must be taken */
};

/* Detached tasks that have left, and whose memory is to go back to the free list of their lane. */
struct hora__left {
    struct hora__entry *first;
    int count;
};

struct timer_queue {
    struct hora__work_source base;
    struct line lines[HEAPS];
    enum hora__timeline own;           /* the timeline of the queue's clock; immutable */
    uint8_t timer_line;                /* the line of timers: `own`, or TIMERS_WITH_ADMISSION; immutable */
    struct hora__list foreign_futures; /* struct hora__foreign */
    struct hora__timer_store store;    /* its heap is that of the own line */
    struct hora__left left[HORA__LANES_MOST]; /* for each lane */
    struct hora__admission_queue *admission;  /* own_admission; NULL: none. Immutable */
    struct hora__admission_queue own_admission;
    struct hora__ticket
        timer_ticket;           /* with admission: by this ticket the first timer waits, once it is due */
    struct hora__list runs;     /* struct hora__timer_run: the timers that workers run */
    struct hora__list stoppers; /* threads that wait for such a run to end */
    int hidden;                 /* timers in the heap, which users of the queue do not see */
    bool
        telling; /* a worker tells the observer that the clocks have parted; nothing can be taken meanwhile */
    struct hora__clock_offsets seen; /* the offsets of the timelines at the last look; valid once watched */
    uint32_t set_backs;              /* how often the wall clock was seen to be set back */
    uint32_t refreshes;              /* how often a refresh of zones began or ended */
    hora_ns refreshed_at;            /* when `refreshes` last grew, by the wall clock */
    struct hora__list zones;         /* struct known_zone of zones.c */
    struct hora__list zoned;         /* series states whose trigger has one of these zones */
    struct hora__list foreign;       /* series states whose trigger has other zones */
};

static inline struct timer_queue *timer_queue_of(hora_queue *queue)
{
    assert(queue != NULL);
    return HORA__LIST_ENTRY(queue, struct timer_queue, base.queue);
}

static inline struct hora__entry *entry_by_due(struct hora__timer_node *timer)
{
    assert(timer != NULL);
    return HORA__LIST_ENTRY(timer, struct hora__entry, by_due);
}

static inline struct hora__timer_heap *own_heap(struct timer_queue *timer_queue)
{
    return &timer_queue->lines[timer_queue->own].exact;
}

/* The heap of timers. */
static inline struct hora__timer_heap *timer_heap(struct timer_queue *timer_queue)
{
    assert(timer_queue->timer_line < HEAPS);
    return &timer_queue->lines[timer_queue->timer_line].exact;
}

/* The timeline whose clock an entry follows. */
static inline enum hora__timeline hora__timer_queue_line(const struct timer_queue *timer_queue,
                                                         const struct hora__entry *entry)
{
    assert(entry->line < HEAPS);
    return entry->line == TIMERS_WITH_ADMISSION ? timer_queue->own : (enum hora__timeline)entry->line;
}

/* All of these need the lock, except during hora_queue_free, when no other thread is left. */

/* Count an entry that comes into the heaps (1) or leaves them (-1). */
static inline void hora__timer_queue_count(struct timer_queue *timer_queue, const struct hora__entry *entry,
                                           int by)
{
    assert((by == 1 || by == -1) && timer_queue->base.queue.size + by >= 0);
    timer_queue->base.queue.size += by;
    timer_queue->hidden += entry->is_timer ? by : 0;
}

/* ---- timer_queue.c ---- */

/* Put an entry into its heaps, or take it out of them, and change nothing else. */
void hora__timer_queue_push(struct timer_queue *timer_queue, struct hora__entry *entry, hora_ns due);
void hora__timer_queue_pull(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Put an entry into its heap, which has room, and count it; remove it from there or from the admission
 * queue. */
void hora__timer_queue_insert(struct timer_queue *timer_queue, struct hora__entry *entry, hora_ns due);
void hora__timer_queue_remove(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Reserve a slot for an entry that has left its heaps, or give the slot up. */
void hora__timer_queue_keep(struct timer_queue *timer_queue, struct hora__entry *entry, bool kept);

/* An entry was removed: its heaps may return memory. */
void hora__timer_queue_save_memory(struct timer_queue *timer_queue, const struct hora__entry *entry);

/* The first entry, if it is due; NULL: it is not, or there is none. */
struct hora__entry *hora__timer_queue_first_due(struct timer_queue *timer_queue);

/* The entry of a future; NULL: it is not here. */
struct hora__entry *hora__timer_queue_find(hora_queue *queue, const hora_future *future);

/* Take an entry for a worker. Returns its future. */
hora_future *hora__timer_queue_take_entry(struct timer_queue *timer_queue, struct hora__entry *entry);

/* Absorb the inbox lanes: see collect of struct hora__queue_inbox. */
void hora__timer_queue_absorb(hora_queue *queue);

/* ---- timer_queue_admission.c: with admission ---- */

/* Move all due entries into the admission queue. */
void hora__timer_queue_feed_admission(struct timer_queue *timer_queue);

/* An entry in the admission queue leaves that, unless its ticket has just begun, and gives up the place in
 * its heap. */
void hora__timer_queue_leave_admission(struct timer_queue *timer_queue, struct hora__entry *entry);

/* When an entry in the admission queue was due, by its own timeline. */
hora_ns hora__timer_queue_waiting_due(const struct hora__entry *entry);

/* The entry that is next leaves, and its ticket begins if `begins`: its future, or ret_taken, see take of
 * struct hora__queue_kind. NULL: none may begin. */
void *hora__timer_queue_take_admitted(struct timer_queue *timer_queue, bool begins,
                                      struct hora__taken *ret_taken);

/* A timer has come or gone, or time has passed: the first timer waits for admission if it is due. */
void hora__timer_queue_offer_timer(struct timer_queue *timer_queue);

/* Of the entries in the admission queue: the first by arrival; that of a future; NULL: none. Also if there is
 * no admission. */
struct hora__entry *hora__timer_queue_first_waiting(struct timer_queue *timer_queue);
struct hora__entry *hora__timer_queue_find_waiting(struct timer_queue *timer_queue,
                                                   const hora_future *future);

/* Call `visit` for every entry of a line in the admission queue, except timers; it must not change the
 * timer queue. */
void hora__timer_queue_each_waiting(struct timer_queue *timer_queue, enum hora__timeline line,
                                    void (*visit)(struct hora__entry *entry, void *arg), void *arg);

/* `until`, or, if that is sooner, the time at which admission lets a due entry begin; and its number: see
 * next_due of struct hora__queue_kind. */
hora_ns hora__timer_queue_next_admission(const struct timer_queue *timer_queue, hora_ns until,
                                         uint64_t *element);

/* ---- timer_queue_view.c ---- */

/* Selects the first `max` items of many, in order, in the caller's memory. The items are a heap of the first
 * ones seen so far, with the last of these on top. */
struct hora__selection {
    bool (*is_before)(const void *a, const void *b, void *context);
    void *context;
    void **items;
    int max; /* at least 1 */
    int count;
};

/* Offer one more item to the selection. */
void hora__selection_add(struct hora__selection *selection, void *item);

/* Sort the selected items into their order. Returns their number. */
int hora__selection_sort(struct hora__selection *selection);

/* The entry of a foreign future; NULL: it is not here. */
struct hora__entry *hora__timer_queue_find_foreign(struct timer_queue *timer_queue,
                                                   const hora_future *future);

/* Free the record of a foreign future that is not in the timer queue, and its ticket, if that was never
 * used. Needs no lock. */
void hora__timer_queue_free_foreign(struct timer_queue *timer_queue, struct hora__foreign *foreign);

/* Get memory for a foreign future that is put, and free it: see struct hora__queue_kind. */
int hora__timer_queue_prepare(hora_queue *queue, struct hora__put *put);
void hora__timer_queue_discard(hora_queue *queue, struct hora__put *put);

/* ---- timer_queue_detached.c ---- */

/* Return the memory of detached tasks that came in by this lane, and have left, to its free list; with the
 * lane's lock. The context is the timer queue. */
void hora__timer_queue_give_back(void *context, struct hora__lane *lane);

/* A detached task that was removed leaves for good: its memory is free, or the caller's again. Returns its
 * address, which callers use only to know that there was one. */
struct hora__entry *hora__timer_queue_release_detached(struct timer_queue *timer_queue,
                                                       struct hora__entry *entry);

/* The same, for a thread that takes the task: *ret_taken gets its function and due time. If the thread is
 * a worker, it notes a timer as taken before that is the caller's again. */
struct hora__taken *hora__timer_queue_hand_out(struct timer_queue *timer_queue, struct hora__entry *entry,
                                               hora_ns due, struct hora__taken *ret_taken);

#endif
