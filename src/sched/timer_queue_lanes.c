/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_lanes.c - futures in the inbox lanes of the timer queue: inserting and cancelling without the
 * queue's lock
 *
 * Lanes hold only one-shot entries on the own timeline. A scheduled future refers to the timer queue through
 * its lane, which counts the references. How lanes work, and the order in which threads read and write the
 * words that they share, is in timer/lanes.c. Detached tasks and timers are in timer_queue_detached.c. */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "sched/scheduled.h"
#include "sched/timer_queue_internal.h"
#include "timer/lanes.h"

static_assert((int)HORA__LANES_MOST <= (int)HORA__BRANCHES_MOST,
              "the books of a pool have a branch for each lane");
static_assert(offsetof(struct hora__scheduled, spot) + sizeof(uint16_t) ==
                  offsetof(struct hora__scheduled, entry.by_due),
              "see hora__node_spot");

/* Inserts a future into its lane. Returns false if it must be put under the timer queue's lock: the lane is
 * full, the future is due too soon, or the pool does not accept tasks. `now` is when the inserting call
 * began. With `adds_reference`, the lane counts one more reference to the timer queue. Another thread may
 * take the future as soon as the lane's lock is released. */
HORA__INLINE bool insert(struct timer_queue *timer_queue, struct hora__scheduled *scheduled, hora_ns now,
                         const struct hora__offer *offer, bool adds_reference)
{
    assert(scheduled->lane < timer_queue->store.lanes->count);
    assert(scheduled->entry.stage == HORA__OUT);
    struct hora__lanes *lanes = timer_queue->store.lanes;
    struct hora__lane *lane = &lanes->lanes[scheduled->lane];
    hora_ns due = scheduled->planned;
    /* Written before the lock is taken: no other thread sees the future yet, and after it a worker may have
     * it. */
    scheduled->entry.stage = HORA__WAITS;
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    /* Before the floor and the pool's state are read: see "Empty lanes" in timer/lanes.c. */
    hora__lane_mark_filled(lane);
    bool admitted = hora__lane_admits(lanes, lane, due) &&
                    (hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(LANE_CLOSED_UNSEEN));
    if (admitted) {
        hora__lane_add(lanes, lane, &scheduled->entry.by_due, due, now);
        lane->inserted_references += adds_reference && !HORA__FAULT(LANE_COUNTS_NO_REFERENCE);
    }
    hora__mutex_unlock_as(&lane->lock, HORA__RANK_INBOX);
    /* The horizon is read after the insertion, as lanes.c requires. */
    if (!admitted)
        scheduled->entry.stage = HORA__OUT;
    else if (hora__lanes_is_ahead(lanes, due) && !HORA__FAULT(LANE_WAKES_NO_LEADER))
        hora__work_look(&timer_queue->base.queue);
    return admitted;
}

/* Lanes hold only one-shot entries on the own timeline: these alone go into the heap of the timer store. */
bool hora__timer_queue_insert_future(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                     const struct hora__offer *offer)
{
    assert(scheduled->queue == queue);
    struct timer_queue *timer_queue = timer_queue_of(queue);
    if (!HORA__FAST || scheduled->series != NULL || scheduled->paused ||
        scheduled->entry.line != timer_queue->own)
        return false;
    return insert(timer_queue, scheduled, now, offer, false);
}

/* The reference is counted in the lane when the future is inserted, else separately. */
bool hora__timer_queue_insert_new(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                  const struct hora__offer *offer)
{
    assert(scheduled->queue == queue);
    struct timer_queue *timer_queue = timer_queue_of(queue);
    assert(scheduled->series == NULL && scheduled->entry.line == timer_queue->own);
    if (insert(timer_queue, scheduled, now, offer, true))
        return true;
    /* The caller puts the future under the lock; it needs its reference in any case. */
    hora__lanes_ref(timer_queue->store.lanes, scheduled->lane);
    return false;
}

/* The caller holds the lock of the future, whose rank is below that of a lane. */
bool hora__timer_queue_cancel_in_lane(struct hora__scheduled *scheduled, bool (*may)(const void *context),
                                      const void *context)
{
    assert(scheduled->lane < timer_queue_of(scheduled->queue)->store.lanes->count);
    struct hora__lane *lane = &timer_queue_of(scheduled->queue)->store.lanes->lanes[scheduled->lane];
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    /* The spot is 0 once the lanes have been absorbed: then the entry is in the heap, or was taken. */
    bool removes = scheduled->spot != 0 && may(context);
    if (removes) {
        hora__lane_take_out(lane, &scheduled->entry.by_due);
        /* A cancelled branch entry counts as finished, too. */
        hora__counter_add_alone_publish(&lane->branch.cancelled, 1);
    }
    hora__mutex_unlock_as(&lane->lock, HORA__RANK_INBOX);
    return removes;
}

void hora__timer_queue_open_books(hora_queue *queue, struct hora__books *books)
{
    const struct hora__lanes *lanes = timer_queue_of(queue)->store.lanes;
    assert(lanes->count <= HORA__BRANCHES_MOST);
    books->branch_count = lanes->count;
    for (int i = 0; i < lanes->count; i++)
        books->branches[i] = &lanes->lanes[i].branch;
}

uint8_t hora__timer_queue_lane(hora_queue *queue)
{
    return (uint8_t)hora__lanes_mine(timer_queue_of(queue)->store.lanes);
}

void hora__timer_queue_ref(hora_queue *queue, int lane)
{
    assert(lane >= 0 && lane < timer_queue_of(queue)->store.lanes->count);
    hora__lanes_ref(timer_queue_of(queue)->store.lanes, lane);
}

void hora__timer_queue_unref(hora_queue *queue, int lane)
{
    assert(lane >= 0 && lane < timer_queue_of(queue)->store.lanes->count);
    if (hora__lanes_unref(timer_queue_of(queue)->store.lanes, lane))
        hora__object_leave(&queue->object);
}
