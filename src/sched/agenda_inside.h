/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_inside.h - the agenda's state, shared by the files that make it up: agenda.c, agenda_picks.c, agenda_posts.c,
 * agenda_detached.c */
#ifndef HORA_SCHED_AGENDA_INSIDE_H
#define HORA_SCHED_AGENDA_INSIDE_H

#include "sched/agenda.h"
#include "timer/store.h"

/* Of a steered scheduler the timers have a heap of their own, as on a line of their own: see agenda_turns.c. Its times are those of the own line. */
enum { LINES = 3, STEERED_TIMERS = LINES, HEAPS };

struct line {
    struct hora__timer_heap exact;
    struct hora__timer_heap lax;
    struct hora__timer_heap latest;
};

/* Detached tasks that are no longer needed: memory that goes back to the free list of its lane. */
struct hora__left {
    struct hora__entry *first;
    int count;
};

struct agenda {
    struct hora__work_source base;
    struct line lines[HEAPS];
    enum hora__timeline own; /* that of its clock; immutable */
    uint8_t timer_line;      /* where timers stand: `own`, or STEERED_TIMERS; immutable */
    struct hora__list guests;
    struct hora__timer_store store;           /* its heap is that of the own line */
    struct hora__left left[HORA__LANES_MOST]; /* for each lane */
    struct hora__admission *admission;         /* of a steered scheduler: own_admission. NULL: it is not; immutable */
    struct hora__admission own_admission;
    struct hora__list running; /* of a steered scheduler: guests that have begun */
    struct hora__ticket
        timer_ticket; /* of a steered scheduler: the first of its timers, if it is due, waits for its turn by this */
    struct hora__list runs;     /* what the workers note of timers that they run: struct hora__timer_run */
    struct hora__list stoppers; /* threads that wait for one of these to end */
    int hidden;                 /* timers in the heap: users of the queue do not see them */
    bool telling; /* a worker tells the observer that the clocks have parted; nothing can be taken meanwhile */
    struct hora__clock_offsets seen; /* how far the timelines lay apart when a worker last looked; valid once watched */
    uint32_t set_backs;              /* how often the wall clock was seen to be set back */
    uint32_t refreshes;              /* how often a refresh of zones began or ended */
    hora_ns refreshed_at;            /* when `refreshes` last grew, by the wall clock */
    struct hora__list zones;         /* these three: see zones.c */
    struct hora__list zoned;
    struct hora__list foreign;
};

static inline struct agenda *agenda_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct agenda, base.queue);
}

static inline struct hora__entry *entry_by_due(struct hora__timer_node *timer)
{
    return HORA__LIST_ENTRY(timer, struct hora__entry, by_due);
}

static inline struct hora__timer_heap *own_heap(struct agenda *agenda)
{
    return &agenda->lines[agenda->own].exact;
}

/* That of timers. */
static inline struct hora__timer_heap *timer_heap(struct agenda *agenda)
{
    return &agenda->lines[agenda->timer_line].exact;
}

/* Whose clock an entry follows. */
static inline enum hora__timeline hora__agenda_line(const struct agenda *agenda, const struct hora__entry *entry)
{
    return entry->line == STEERED_TIMERS ? agenda->own : (enum hora__timeline)entry->line;
}

/* All with the lock held. */

/* So many entries of this kind more are in the heaps. */
static inline void hora__agenda_count(struct agenda *agenda, const struct hora__entry *entry, int by)
{
    agenda->base.queue.size += by;
    agenda->hidden += entry->is_timer ? by : 0;
}

/* ---- agenda.c ---- */

/* Put an entry into its heaps, or take it out of them, and nothing else. */
void hora__agenda_push(struct agenda *agenda, struct hora__entry *entry, hora_ns due);
void hora__agenda_pull(struct agenda *agenda, struct hora__entry *entry);

/* Put an entry into its heap, where there is room; and take it out. */
void hora__agenda_insert(struct agenda *agenda, struct hora__entry *entry, hora_ns due);
void hora__agenda_remove(struct agenda *agenda, struct hora__entry *entry);

/* An entry that was removed leaves memory behind. */
void hora__agenda_save_memory(struct agenda *agenda, const struct hora__entry *entry);

/* The first entry, if it is due; NULL: it is not, or there is none. */
struct hora__entry *hora__agenda_first_due(struct agenda *agenda);

/* A worker, or somebody else, takes an entry: its future. */
hora_future *hora__agenda_take_entry(struct agenda *agenda, struct hora__entry *entry);

/* ---- agenda_turns.c: of a steered scheduler ---- */

/* A guest has a turn of its own; see struct hora__guest. */
struct hora__steered_guest {
    struct hora__guest guest;
    struct hora__ticket ticket;
};

/* An entry that is held leaves the agenda: it does not wait for its turn any more. And: when it is due, by its own line. */
void hora__agenda_unhold(struct agenda *agenda, struct hora__entry *entry);
hora_ns hora__agenda_held_due(struct hora__entry *entry);

/* All that is due waits for its turn from now on. */
void hora__agenda_hold_due(struct agenda *agenda);

/* The entry whose turn it is leaves, and begins, if told so: its future, or ret_cell, see take of struct hora__queue_kind. NULL: none may begin. */
void *hora__agenda_take_turn(struct agenda *agenda, bool begins, struct hora__cell *ret_cell);

/* A timer of a steered scheduler has come or gone, or time has passed: the first one waits for its turn if it is due. */
void hora__agenda_present_timer(struct agenda *agenda);

/* The first of those that wait for their turn; NULL: none does. */
struct hora__entry *hora__agenda_first_held(struct agenda *agenda);

/* The time of the first element, or that of the next turn of one that is due already, if it is sooner; and its number: see next_due of struct
 * hora__queue_kind. */
hora_ns hora__agenda_sooner(const struct agenda *agenda, hora_ns until, uint64_t *element);

/* A guest has been removed: its memory goes, unless it runs. */
void hora__agenda_release_guest(struct agenda *agenda, struct hora__guest *guest);

/* ---- agenda_picks.c ---- */

/* The entry of a future from elsewhere; NULL: it is not here. */
struct hora__entry *hora__agenda_find_guest(struct agenda *agenda, const hora_future *future);

/* Memory for a future from elsewhere that is put: see struct hora__queue_kind. */
int hora__agenda_prepare(hora_queue *queue, struct hora__put *put);
void hora__agenda_discard(hora_queue *queue, struct hora__put *put);

/* ---- agenda_posts.c ---- */

/* Absorb the lanes. Returns whether a node has come that is due before the leader wakes up. */
bool hora__agenda_take_all_in(struct agenda *agenda);

/* See struct hora__queue_kind. */
void hora__agenda_absorb(hora_queue *queue);
bool hora__agenda_expect(hora_queue *queue, hora_ns until);
void hora__agenda_seal(hora_queue *queue);
void hora__agenda_leave(hora_queue *queue);
bool hora__agenda_is_free(hora_queue *queue);

/* ---- agenda_detached.c ---- */

/* Return the memory of detached tasks that have left, and came in by this lane, to its free list; with the lane's lock. The context is the
 * agenda. */
void hora__agenda_give_back(void *context, struct hora__lane *lane);

/* A detached task that was removed leaves for good: its memory is free, or the caller's again. Returns its address, for callers that want to know
 * that there was one. */
struct hora__entry *hora__agenda_release_detached(struct agenda *agenda, struct hora__entry *entry);

/* The same, for a thread that takes it: *ret_cell gets what is to run, and when that was due. If the taker is a worker, it notes a timer as
 * taken before that is the caller's again. */
struct hora__cell *hora__agenda_hand_out(struct agenda *agenda, struct hora__entry *entry, hora_ns due,
                                         struct hora__cell *ret_cell);

#endif
