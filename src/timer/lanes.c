/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.c - inserting and cancelling timers without the lock of the store
 *
 * Mechanism    A thread inserts into the lane of its processor, under the lane's lock. To cancel a node, it
 *              moves the last node of the lane into the position of the cancelled one. Each tracked node
 *              knows its position (spot), guarded by the same lock.
 * Order        A worker takes the nodes that are due by a reading of the clock. It publishes that reading as
 *              the floor, absorbs the lanes, and then takes, in order, all nodes due by the reading, without
 *              checking the lanes again. A lane refuses a node that is due by the floor, which the inserting
 *              thread reads under the lane's lock; such a node is inserted under the lock of the store. So
 *              each node that is inserted into a lane afterwards is due later, and no node is overtaken by
 *              one that is due after it.
 * Waking       A thread that goes to sleep publishes its wake-up time, the horizon, and absorbs the lanes
 *              once more. An inserting thread reads the horizon after it has inserted. So either the sleeping
 *              thread has seen the node, or the inserting thread sees the horizon and wakes a thread.
 * Empty lanes  The store does not lock them. Each lane has a word, `filled`, that tells whether a thread may
 *              have inserted a node, or has memory to return, since the lane was emptied. An inserting thread
 *              sets it before it reads the floor, the horizon and the state of the pool. A thread that
 *              absorbs has written those before it reads the word. Both are sequentially consistent: either
 *              the absorbing thread sees the word, or the inserting thread sees what was written.
 * Numbers      Nodes that are due together are removed in the order in which they were inserted, whichever
 *              threads inserted them. A common counter would make all threads share a cache line. But each
 *              inserting thread reads the clock anyway, and a reading that follows another one, on any
 *              processor, is larger. So the reading is the number. If a lane has to raise a number because it
 *              has given it out already, the clock has passed the raised number by the time the lane's lock
 *              is free, so no later reading is overtaken.
 * Lifetime     A scheduled future needs the owner of the store as long as it lives. One common count would
 *              make all threads share a cache line. So each lane counts the futures that were inserted
 *              through it, and holds one reference to the owner. Insertions count under the lane's lock,
 *              which they hold anyway; each end of a future is one atomic addition. The sum of both counts is
 *              known only once insertions have ended. Until then STAYS, which stands for the owner, keeps the
 *              atomic count far above zero.
 * Detached     Detached tasks are inserted untracked: they are never cancelled in a lane. Their memory comes
 *              from the lane's free list, under its lock. A worker that takes one holds the lock of the store
 *              and not that of the lane. So the memory is returned later, many blocks at a time, by a thread
 *              that holds both.
 * Invariants   I1 a tracked node in slots[i], i < count, has spot i + 1; a tracked node that is in no lane
 *                 has spot 0.
 *              I2 the sum of all counts never exceeds the slots that the owner has reserved in its heap.
 *              I3 other_references + inserted_references is the number of references of objects that were
 *                 inserted through this lane, plus STAYS, until hora__lanes_close; from then on
 *                 other_references alone is that number. */
#include "timer/lanes.h"

#include <assert.h>
#include <stddef.h>

#include "sync/clock.h"
#include "sys/processors.h"
#include "sys/thread.h"

/* The share of the owner in other_references, larger than any number of objects. */
#define STAYS (INT64_C(1) << 62)

/* Returns the number of lanes: as many as threads can run at once, so that they do not share lanes, but at
 * most `most`, rounded up to a power of two. */
static int wanted_count(int most)
{
    int count = 1;
    while (count < hora__processors() && count < most)
        count *= 2;
    return count;
}

enum { READINGS = 16 }; /* of the clock, to find out whether they differ */

/* Returns true if two readings of the clock, one after the other, always differ. Only the machine's monotonic
 * clock can guarantee that, and on some machines it advances in steps that take longer than a reading. The
 * function tests this with a few readings. */
static bool tells_apart(const hora_clock *clock)
{
    if (!HORA__CLOCK_RUNS || clock->source != NULL || clock->timeline != HORA__MONOTONIC)
        return false;
    hora_ns before = hora_clock_now(clock);
    for (int i = 0; i < READINGS; i++) {
        hora_ns now = hora_clock_now(clock);
        if (now == before)
            return false;
        before = now;
    }
    return true;
}

/* The floor of INT64_MAX makes the lanes refuse all nodes. The horizon of INT64_MIN means that no thread
 * sleeps yet, so nothing has to be reported. */
struct hora__lanes *hora__lanes_new(const hora_clock *clock, int most, size_t least)
{
    assert(most >= 1 && most <= HORA__LANES_MOST);
    int count = wanted_count(most);
    struct hora__lanes *lanes = hora__alloc(1, sizeof *lanes + (size_t)count * sizeof lanes->lanes[0]);
    if (lanes == NULL)
        return NULL;
    lanes->count = count;
    hora__atomic_init(&lanes->shown, 0);
    lanes->by_clock = count > 1 && tells_apart(hora__clock_or_default(clock));
    hora__atomic64_store(&lanes->floor, INT64_MAX);
    hora__atomic64_store(&lanes->horizon, INT64_MIN);
    for (int i = 0; i < count; i++) {
        hora__atomic64_store(&lanes->lanes[i].other_references, STAYS); /* I3 */
        hora__atomic_init(&lanes->lanes[i].filled, 0);
        hora__free_list_init(&lanes->lanes[i].free_list, least, sizeof(void *), 1);
        if (hora__mutex_init(&lanes->lanes[i].lock, HORA__RANK_INBOX) == 0)
            continue;
        /* Free the lanes that were made before this one. */
        lanes->count = i;
        hora__lanes_free(lanes);
        return NULL;
    }
    return lanes;
}

void hora__lanes_free(struct hora__lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        assert(lanes->lanes[i].count == 0);
        hora__free_list_destroy(&lanes->lanes[i].free_list);
        hora__mutex_destroy(&lanes->lanes[i].lock);
    }
    hora__free(lanes);
}

int hora__lanes_mine(const struct hora__lanes *lanes)
{
    assert((lanes->count & (lanes->count - 1)) == 0);
    return hora__processor() & (lanes->count - 1);
}

/* Reads the clock before it takes the lock, like every thread that inserts. */
uint64_t hora__lanes_number(struct hora__lanes *lanes)
{
    struct hora__lane *lane = &lanes->lanes[hora__lanes_mine(lanes)];
    hora_ns now = lanes->by_clock ? hora_clock_now(NULL) : 0;
    hora__mutex_lock(&lane->lock);
    uint64_t number = hora__lane_number_locked(lanes, lane, now);
    hora__mutex_unlock(&lane->lock);
    return number;
}

int hora__lanes_room(const struct hora__lanes *lanes)
{
    return lanes->count * HORA__LANE_ROOM;
}

struct hora__lane *hora__lanes_enter(struct hora__lanes *lanes)
{
    struct hora__lane *lane = &lanes->lanes[hora__lanes_mine(lanes)];
    hora__mutex_lock(&lane->lock);
    hora__lane_mark_filled(lane);
    return lane;
}

void hora__lane_leave(struct hora__lane *lane)
{
    assert(lane->count >= 0 && lane->count <= HORA__LANE_ROOM);
    hora__mutex_unlock(&lane->lock);
}

bool hora__lanes_are_free(struct hora__lanes *lanes)
{
    bool are_free = true;
    for (int i = 0; i < lanes->count && are_free; i++)
        are_free = hora__mutex_is_free(&lanes->lanes[i].lock);
    return are_free;
}

/* ---- lifetime ---- */

void hora__lanes_ref(struct hora__lanes *lanes, int lane)
{
    assert(lane >= 0 && lane < lanes->count);
    int64_t before = hora__atomic64_add(&lanes->lanes[lane].other_references, 1);
    assert(before > 0);
    (void)before;
}

/* The addition is sequentially consistent, hence also an acquire and a release: the thread that gets true
 * sees everything that others did before they dropped their references. */
bool hora__lanes_unref(struct hora__lanes *lanes, int lane)
{
    assert(lane >= 0 && lane < lanes->count);
    HORA__ORDER_FAULT(LANE_LEFT_RELAXED, memory_order_relaxed);
    int64_t before = hora__atomic64_add(&lanes->lanes[lane].other_references, -1);
    assert(before > 0); /* I3 */
    return before == 1;
}

bool hora__lanes_close(struct hora__lanes *lanes, int lane)
{
    assert(lane >= 0 && lane < lanes->count);
    /* Insertions have ended. The lock makes the last of them visible. */
    struct hora__lane *left = &lanes->lanes[lane];
    hora__mutex_lock(&left->lock);
    int64_t inserted_references = left->inserted_references;
    hora__mutex_unlock(&left->lock);
    HORA__ORDER_FAULT(LANE_CLOSED_RELAXED, memory_order_relaxed);
    int64_t before = hora__atomic64_add(&left->other_references, inserted_references - STAYS);
    assert(before + inserted_references >= STAYS); /* I3 */
    return before + inserted_references == STAYS;
}
