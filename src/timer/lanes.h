/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - inbox lanes: insert buffers of a timer store, one per processor, each with its own lock
 *
 * Most timers are time-outs: a thread starts them and cancels them long before they are due. Such timers need
 * no order, and their threads need no common lock. So each thread inserts into the lane of its processor, and
 * cancels there. A thread that holds the lock of the store and needs all timers absorbs the lanes: it moves
 * the nodes that are still in them into the heap, many at a time. */
#ifndef HORA_TIMER_LANES_H
#define HORA_TIMER_LANES_H

#include <hora/clock.h>

#include <assert.h>

#include "base/build.h"
#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/free_list.h"
#include "sys/mutex.h"
#include "timer/heap.h"

/* LANES_MOST: the most lanes of a store. LANE_ROOM: the nodes that a lane can hold. CLOCK_RUNS: 1 if the
 * clock advances while threads run. The simulator has few and small lanes, so that its threads share them and
 * fill them, and its clock stands still while threads run. */
#ifdef HORA_SIM
enum { HORA__LANES_MOST = 2, HORA__LANE_ROOM = 2, HORA__CLOCK_RUNS = 0 };
#else
enum { HORA__LANES_MOST = 16, HORA__LANE_ROOM = 128, HORA__CLOCK_RUNS = 1 };
#endif

/* One lane. The lock guards all fields that are not atomic. */
struct hora__lane {
    hora__mutex lock;           /* rank INBOX */
    hora__atomic filled;        /* 0: no nodes and no memory to return, so the store need not lock the lane */
    int count;                  /* slots in use */
    uint64_t last_number;       /* the last sequence number given out here */
    struct hora__branch branch; /* this lane's part of the pool's books */
    /* References to the owner of the store; see "Lifetime" in lanes.c. Insertions count the references that
     * they take under the lock. The other field counts references taken elsewhere, less all references
     * dropped. */
    int64_t inserted_references;
    hora__atomic64 other_references;
    struct hora__timer_slot slots[HORA__LANE_ROOM]; /* the nodes, in no order */
    struct hora__free_list free_list;               /* memory of detached tasks */
    char apart[HORA__CACHE_LINE];                   /* keeps the next lane in other cache lines */
};

/* All lanes of a store. */
struct hora__lanes {
    /* The owner writes floor, horizon and shown under the lock of the store, before it absorbs the lanes. */
    hora__atomic64 floor;   /* lanes refuse nodes due at this time or before; INT64_MAX: all nodes */
    hora__atomic64 horizon; /* when the leader wakes up: the inserting thread must report earlier nodes */
    int count;              /* number of lanes, a power of two; immutable */
    bool by_clock;          /* sequence numbers come from the clock: see lanes.c; immutable */
    hora__atomic shown;     /* 1: lanes accept no detached tasks any more */
    char apart[HORA__CACHE_LINE];
    hora__counter last_number; /* the last sequence number; used with several lanes and not by_clock */
    char apart_too[HORA__CACHE_LINE];
    struct hora__lane lanes[];
};

/* Creates the lanes of a store with this clock, at most `most`. `least` is the smallest block of their free
 * lists. Returns NULL if there is no memory. The lanes refuse every node until the owner sets a floor. */
struct hora__lanes *hora__lanes_new(const hora_clock *clock, int most, size_t least);

/* Frees lanes that are empty. */
void hora__lanes_free(struct hora__lanes *lanes);

/* Returns the index of the lane of the processor on which the calling thread runs. */
int hora__lanes_mine(const struct hora__lanes *lanes);

/* Returns the next sequence number, for a node that does not go through a lane. Numbers are unique, and a
 * later call returns a larger one. Locks a lane. */
uint64_t hora__lanes_number(struct hora__lanes *lanes);

/* Returns how many nodes the lanes can hold together. */
int hora__lanes_room(const struct hora__lanes *lanes);

/* Lock the lane of the calling thread's processor in order to insert, and unlock it. Entering marks the lane
 * as filled. */
struct hora__lane *hora__lanes_enter(struct hora__lanes *lanes);
void hora__lane_leave(struct hora__lane *lane);

/* Returns true if no thread holds the lock of a lane at this moment. For dumps in a debugger. */
bool hora__lanes_are_free(struct hora__lanes *lanes);

/* Returns where the position of a tracked node in its lane is stored: 1 for slots[0], and so on; 0: it is in
 * no lane. The enclosing struct has these two bytes directly before the node. An untracked node has no
 * position. Guarded by the lane's lock. */
static inline uint16_t *hora__node_spot(struct hora__timer_node *node)
{
    return (uint16_t *)(void *)((char *)node - sizeof(uint16_t));
}

/* Each lane has one reference to the owner of the store, on behalf of all objects that were inserted through
 * it. ref: one more object needs the owner. unref: one object does not need it any more. close: insertions
 * have ended, and the owner itself does not need the lane any more. The latter two return true if that was
 * the last need; the caller then drops the lane's reference to the owner. */
void hora__lanes_ref(struct hora__lanes *lanes, int lane);
bool hora__lanes_unref(struct hora__lanes *lanes, int lane);
bool hora__lanes_close(struct hora__lanes *lanes, int lane);

/* ---- insertion; inline because every insertion calls these functions ---- */

/* The caller holds the lane's lock, unless a comment says otherwise. */

/* Returns a sequence number made of a reading of the clock and of the lane's index, so that two lanes never
 * give out the same number. The numbers of a lane rise even if the clock does not. */
HORA__INLINE uint64_t hora__lane_number_by_clock_locked(const struct hora__lanes *lanes,
                                                        struct hora__lane *lane, hora_ns now)
{
    uint64_t number = (uint64_t)now * HORA__LANES_MOST + (uint64_t)(lane - lanes->lanes);
    if (number <= lane->last_number)
        number = lane->last_number + HORA__LANES_MOST;
    lane->last_number = number;
    return number;
}

/* Returns the next sequence number. `now` is a reading of the clock if the numbers come from it. */
HORA__INLINE uint64_t hora__lane_number_locked(struct hora__lanes *lanes, struct hora__lane *lane,
                                               hora_ns now)
{
    assert(hora__mutex_held(&lane->lock));
    if (!lanes->by_clock && lanes->count == 1)
        return ++lane->last_number;
    if (!lanes->by_clock)
        return (uint64_t)hora__counter_next(&lanes->last_number);
    return hora__lane_number_by_clock_locked(lanes, lane, now);
}

/* Marks the lane as filled, so that the next thread that absorbs the lanes locks this one. A thread that
 * inserts does this before it reads anything that decides whether it may insert; lanes.c explains the order.
 * A thread that has memory to return to the lane's free list does it with the lock of the store instead. The
 * word stays set until the lane has been emptied, so most calls store nothing. */
HORA__INLINE void hora__lane_mark_filled(struct hora__lane *lane)
{
    if (__builtin_expect(hora__atomic_load_relaxed(&lane->filled) == 0, 0)) {
        HORA__ORDER_FAULT(LANE_FILLED_RELAXED, memory_order_release);
        hora__atomic_store(&lane->filled, 1);
    }
}

/* Returns true if no thread has marked the lane as filled since it was emptied. A thread that absorbs the
 * lanes then need not lock it. Called with the lock of the store. */
HORA__INLINE bool hora__lane_is_empty(const struct hora__lane *lane)
{
    HORA__ORDER_FAULT(LANE_EMPTY_RELAXED, memory_order_acquire);
    return hora__atomic_load(&lane->filled) == 0;
}

/* Returns true if the lane accepts a node with this due time. If not, the caller inserts it under the lock of
 * the store. */
HORA__INLINE bool hora__lane_admits(const struct hora__lanes *lanes, const struct hora__lane *lane,
                                    hora_ns due)
{
    assert(hora__mutex_held(&lane->lock));
    if (lane->count == HORA__LANE_ROOM)
        return false;
    return due > hora__atomic64_load(&lanes->floor) || HORA__FAULT(LANE_BELOW_FLOOR);
}

/* Insert an untracked or a tracked node and give it its sequence number. The lane must accept it. `now` is
 * the time at which the inserting call began. The caller then unlocks the lane, and calls
 * hora__lanes_is_ahead. */
HORA__INLINE void hora__lane_add_untracked(struct hora__lanes *lanes, struct hora__lane *lane,
                                           struct hora__timer_node *node, hora_ns due, hora_ns now)
{
    assert(lane->count < HORA__LANE_ROOM && node->index == HORA__NODE_OUT);
    node->sequence = hora__lane_number_locked(lanes, lane, now);
    lane->slots[lane->count++] = hora__slot_untracked(node, due);
    hora__counter_add_alone(&lane->branch.accepted, 1);
}

HORA__INLINE void hora__lane_add(struct hora__lanes *lanes, struct hora__lane *lane,
                                 struct hora__timer_node *node, hora_ns due, hora_ns now)
{
    assert(lane->count < HORA__LANE_ROOM && node->index == HORA__NODE_OUT);
    node->sequence = hora__lane_number_locked(lanes, lane, now);
    lane->slots[lane->count++] = hora__slot_tracked(node, due);
    *hora__node_spot(node) = (uint16_t)lane->count; /* I1 */
    hora__counter_add_alone(&lane->branch.accepted, 1);
}

/* Returns true if a node that was inserted is due before the leader wakes up: the caller must then wake a
 * thread. Called after the lane's lock was released. */
HORA__INLINE bool hora__lanes_is_ahead(struct hora__lanes *lanes, hora_ns due)
{
    return due < hora__atomic64_load(&lanes->horizon);
}

/* Removes a tracked node from this lane. The last node of the lane moves into its position. */
HORA__INLINE void hora__lane_take_out(struct hora__lane *lane, struct hora__timer_node *node)
{
    assert(hora__mutex_held(&lane->lock));
    uint16_t *spot = hora__node_spot(node);
    int at = *spot;
    assert(at > 0 && at <= lane->count && hora__slot_node(lane->slots[at - 1]) == node); /* I1 */
    *spot = 0;
    int last = lane->count--;
    if (at == last)
        return;
    struct hora__timer_slot moved = lane->slots[last - 1];
    lane->slots[at - 1] = moved;
    if (!hora__slot_is_untracked(moved) && !HORA__FAULT(LANE_MISPLACES))
        *hora__node_spot(hora__slot_node(moved)) = (uint16_t)at; /* I1 */
}

#endif
