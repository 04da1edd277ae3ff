/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - inbox lanes: insert buffers of a timer store, one per CPU, each with a lock of its own
 *
 * Most timers are timeouts: a thread starts them and cancels them long before they are due. Such timers need
 * no order, and their threads need no common lock. So each thread inserts into the lane of its CPU, and
 * cancels there. A thread that holds the lock of the store, and needs to see everything, absorbs the
 * lanes: it moves what is still there into the heap, many nodes at a time. */
#ifndef HORA_TIMER_LANES_H
#define HORA_TIMER_LANES_H

#include <hora/clock.h>

#include <assert.h>

#include "base/build.h"
#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "timer/free_list.h"
#include "timer/heap.h"

/* The simulator has few and small lanes, so that its threads share them and fill them. Its clock does not
 * advance while threads run. */
#ifdef HORA_SIM
enum { HORA__LANES_MOST = 2, HORA__LANE_ROOM = 2, HORA__CLOCK_RUNS = 0 };
#else
enum { HORA__LANES_MOST = 16, HORA__LANE_ROOM = 128, HORA__CLOCK_RUNS = 1 };
#endif

struct hora__lane {
    hora__mutex lock;     /* rank INBOX */
    hora__atomic filled;  /* 0: the lane has nothing for the store, which need not lock it; see lanes.c */
    int count;            /* slots in use */
    uint64_t last_number; /* the last sequence number given out here */
    struct hora__branch branch;  /* this lane's part of the pool's books; written under the lock */
    int64_t inserted_references; /* references that insertions have taken; guarded by the lock */
    hora__atomic64
        other_references; /* other references taken, less all references dropped: see hora__lanes_unref */
    struct hora__timer_slot slots[HORA__LANE_ROOM]; /* in no order */
    struct hora__free_list free_list;               /* memory of detached tasks; guarded by the lock */
    char apart[HORA__CACHE_LINE];
};

struct hora__lanes {
    /* The owner writes both under the lock of the store, before it goes through the locks of the lanes. */
    hora__atomic64 floor; /* lanes refuse nodes that are due by then: the store's lock keeps their order */
    hora__atomic64
        horizon;   /* the inserting thread reports nodes due before this: the leader would not look in time */
    int count;     /* number of lanes, a power of two; immutable */
    bool by_clock; /* sequence numbers come from the clock: see lanes.c; immutable */
    hora__atomic shown; /* lanes take no detached task any more; written like the two above */
    char apart[HORA__CACHE_LINE];
    hora__counter last_number; /* the last sequence number, unless by_clock or with one lane */
    char apart_too[HORA__CACHE_LINE];
    struct hora__lane lanes[];
};

/* Create the lanes of a store with this clock, at most so many; `least` is the smallest block of their free
 * lists. NULL: no memory. The lanes refuse everything until the owner sets a floor. */
struct hora__lanes *hora__lanes_new(const hora_clock *clock, int most, size_t least);
void hora__lanes_free(struct hora__lanes *lanes);

/* The lane of the calling thread's CPU. */
int hora__lanes_mine(const struct hora__lanes *lanes);

/* The next sequence number. Numbers are unique, and a later call returns a larger one. */
uint64_t hora__lanes_number(struct hora__lanes *lanes);

/* How many nodes the lanes can hold together. */
int hora__lanes_room(const struct hora__lanes *lanes);

/* Lock the lane of the calling thread. */
struct hora__lane *hora__lanes_enter(struct hora__lanes *lanes);
void hora__lane_leave(struct hora__lane *lane);

/* Whether the locks of all lanes are free. */
bool hora__lanes_are_free(struct hora__lanes *lanes);

/* The position of a tracked node in its lane, from 1 on; 0: it is in no lane. The enclosing struct stores it
 * directly before the node, because an untracked node needs none. Guarded by the lane's lock. */
static inline uint16_t *hora__node_spot(struct hora__timer_node *node)
{
    return (uint16_t *)(void *)((char *)node - sizeof(uint16_t));
}

/* Each lane has one reference to the owner of the store, on behalf of all objects that came in by it.
 * move_in: one more object needs the owner. move_out: one does not any more. close: the owner leaves. The
 * latter two return whether that was the last need: then the caller drops the reference. */
void hora__lanes_ref(struct hora__lanes *lanes, int lane);
bool hora__lanes_unref(struct hora__lanes *lanes, int lane);
bool hora__lanes_close(struct hora__lanes *lanes, int lane);

/* ---- inline: every insertion passes through here. All with the lane's lock. ---- */

/* The clock's reading, and the lane, so that two lanes never give the same number. Numbers of a lane rise
 * even if the clock does not. */
HORA__INLINE uint64_t hora__lane_number_by_clock_locked(const struct hora__lanes *lanes,
                                                        struct hora__lane *lane, hora_ns now)
{
    uint64_t number = (uint64_t)now * HORA__LANES_MOST + (uint64_t)(lane - lanes->lanes);
    if (number <= lane->last_number)
        number = lane->last_number + HORA__LANES_MOST;
    lane->last_number = number;
    return number;
}

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

/* Called before the caller reads anything that decides whether it may insert: from now on absorbing the lanes
 * looks into this one. The word stays set until the lane has been emptied, so most calls store nothing. */
HORA__INLINE void hora__lane_mark_filled(struct hora__lane *lane)
{
    if (__builtin_expect(hora__atomic_load_relaxed(&lane->filled) == 0, 0)) {
        HORA__ORDER_FAULT(LANE_FILLED_RELAXED, memory_order_release);
        hora__atomic_store(&lane->filled, 1);
    }
}

/* Whether nothing has been inserted, nor left to give back, since the lane was emptied: then it need not be
 * locked. */
HORA__INLINE bool hora__lane_is_empty(const struct hora__lane *lane)
{
    HORA__ORDER_FAULT(LANE_EMPTY_RELAXED, memory_order_acquire);
    return hora__atomic_load(&lane->filled) == 0;
}

/* Whether the lane takes a node with this due time. */
HORA__INLINE bool hora__lane_admits(const struct hora__lanes *lanes, const struct hora__lane *lane,
                                    hora_ns due)
{
    assert(hora__mutex_held(&lane->lock));
    if (lane->count == HORA__LANE_ROOM)
        return false;
    return due > hora__atomic64_load(&lanes->floor) || HORA__FAULT(LANE_BELOW_FLOOR);
}

/* Insert a node and give it its number. `now` is when the inserting call began. The caller then unlocks the
 * lane, and asks whether the node is ahead of the horizon. */
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

/* Whether the leader must be told of a node that was inserted. Called after the lane's lock was released. */
HORA__INLINE bool hora__lanes_is_ahead(struct hora__lanes *lanes, hora_ns due)
{
    return due < hora__atomic64_load(&lanes->horizon);
}

/* Take a tracked node out of the lane it is in. The last node of the lane moves into its position. */
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
