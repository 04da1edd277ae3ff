/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_insert.c - what comes into the timer queue by way of its inbox lanes: see timer/lanes.c and timer/store.h */
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

/* A node has come into the store by a lane. */
static void came(void *context, struct hora__timer_node *node)
{
    assert(context != NULL && node != NULL);
    hora__timer_queue_count(context, entry_by_due(node), 1); /* I1 of timer_queue.c */
}

bool hora__timer_queue_take_all_in(struct timer_queue *timer_queue)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    return hora__timer_store_absorb(&timer_queue->store, &(struct hora__timer_store_absorber){
                                                             came, hora__timer_queue_give_back, timer_queue});
}

void hora__timer_queue_absorb(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)hora__timer_queue_take_all_in(timer_queue_of(queue));
}

bool hora__timer_queue_expect(hora_queue *queue, hora_ns until)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    return hora__timer_store_set_horizon(&timer_queue->store, until) &&
           hora__timer_queue_take_all_in(timer_queue);
}

void hora__timer_queue_seal(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    timer_queue->store.sealed = true;
    hora__timer_store_promise(&timer_queue->store);
}

void hora__timer_queue_leave(hora_queue *queue)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    for (int i = 0, count = timer_queue->store.lanes->count; i < count; i++)
        if (hora__lanes_close(timer_queue->store.lanes, i))
            hora__object_leave(&queue->object);
}

/* Insert a future into its lane. Returns false if it must take the long way, through the timer queue's lock: the lane has no room, the
 * future is due too soon, or the gate is closed. `now` is when the inserting call began. With `moves_in`, a future that gets in
 * starts to hold the timer queue. Any worker may take the future as soon as the lane's lock is free. */
HORA__INLINE bool insert(struct timer_queue *timer_queue, struct hora__scheduled *scheduled, hora_ns now,
                         const struct hora__offer *offer, bool moves_in)
{
    assert(scheduled->lane < timer_queue->store.lanes->count);
    assert(scheduled->entry.stage == HORA__OUT);
    struct hora__lanes *lanes = timer_queue->store.lanes;
    struct hora__lane *lane = &lanes->lanes[scheduled->lane];
    hora_ns due = scheduled->planned;
    scheduled->entry.stage = HORA__WAITS;
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    hora__lane_mark_filled(lane);
    bool admitted = hora__lane_admits(lanes, lane, due) &&
                    (hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(LANE_CLOSED_UNSEEN));
    if (admitted) {
        hora__lane_add(lanes, lane, &scheduled->entry.by_due, due, now); /* I3 */
        lane->inserted_references += moves_in && !HORA__FAULT(LANE_HOUSES_NOBODY);
    }
    hora__mutex_unlock_as(&lane->lock, HORA__RANK_INBOX);
    if (!admitted)
        scheduled->entry.stage = HORA__OUT;
    else if (hora__lanes_is_ahead(lanes, due) && !HORA__FAULT(LANE_TELLS_NOBODY))
        hora__work_look(&timer_queue->base.queue);
    return admitted;
}

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

bool hora__timer_queue_insert_new(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                                  const struct hora__offer *offer)
{
    assert(scheduled->queue == queue);
    struct timer_queue *timer_queue = timer_queue_of(queue);
    assert(scheduled->series == NULL && scheduled->entry.line == timer_queue->own);
    if (insert(timer_queue, scheduled, now, offer, true))
        return true;
    hora__lanes_ref(timer_queue->store.lanes, scheduled->lane);
    return false;
}

bool hora__timer_queue_cancel_in_lane(struct hora__scheduled *scheduled, bool (*may)(const void *context),
                                      const void *context)
{
    assert(scheduled->lane < timer_queue_of(scheduled->queue)->store.lanes->count);
    struct hora__lane *lane = &timer_queue_of(scheduled->queue)->store.lanes->lanes[scheduled->lane];
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    bool removes = scheduled->spot != 0 && may(context);
    if (removes) {
        hora__lane_take_out(lane, &scheduled->entry.by_due);
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

bool hora__timer_queue_is_free(hora_queue *queue)
{
    return hora__lanes_are_free(timer_queue_of(queue)->store.lanes);
}
