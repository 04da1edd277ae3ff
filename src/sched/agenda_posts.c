/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_posts.c - what comes into the timer queue by way of its inbox lanes: see timer/lanes.c and timer/store.h */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "timer/lanes.h"

static_assert((int)HORA__LANES_MOST <= (int)HORA__BRANCHES_MOST, "the books of a pool have a branch for each lane");
static_assert(offsetof(struct hora__scheduled, spot) + sizeof(uint16_t) ==
                  offsetof(struct hora__scheduled, entry.by_due),
              "see hora__node_spot");

/* A node has come into the store by a lane. */
static void came(void *context, struct hora__timer_node *node)
{
    hora__agenda_count(context, entry_by_due(node), 1); /* I1 of agenda.c */
}

bool hora__agenda_take_all_in(struct agenda *agenda)
{
    return hora__timer_store_absorb(&agenda->store,
                                    &(struct hora__timer_store_absorber){came, hora__agenda_give_back, agenda});
}

void hora__agenda_absorb(hora_queue *queue)
{
    (void)hora__agenda_take_all_in(agenda_of(queue));
}

bool hora__agenda_expect(hora_queue *queue, hora_ns until)
{
    struct agenda *agenda = agenda_of(queue);
    return hora__timer_store_set_horizon(&agenda->store, until) && hora__agenda_take_all_in(agenda);
}

void hora__agenda_seal(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    agenda->store.sealed = true;
    hora__timer_store_promise(&agenda->store);
}

void hora__agenda_leave(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    for (int i = 0, count = agenda->store.lanes->count; i < count; i++)
        if (hora__lanes_close(agenda->store.lanes, i))
            hora__object_leave(&queue->object);
}

/* Insert a future into its lane. Returns false if it must take the long way, through the agenda's lock: the lane has no room, the
 * future is due too soon, or the gate is closed. `now` is when the inserting call began. With `moves_in`, a future that gets in
 * starts to hold the agenda. Any worker may take the future as soon as the lane's lock is free. */
HORA__INLINE bool post(struct agenda *agenda, struct hora__scheduled *scheduled, hora_ns now,
                       const struct hora__posting *posting, bool moves_in)
{
    struct hora__lanes *lanes = agenda->store.lanes;
    struct hora__lane *lane = &lanes->lanes[scheduled->lane];
    hora_ns due = scheduled->planned;
    scheduled->entry.place = HORA__WAITS;
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    hora__lane_mark_filled(lane);
    bool admitted = hora__lane_admits(lanes, lane, due) &&
                    (hora__atomic_load(posting->gate) < posting->closed || HORA__FAULT(SHARD_GATE_UNSEEN));
    if (admitted) {
        hora__lane_add(lanes, lane, &scheduled->entry.by_due, due, now); /* I3 */
        lane->housed += moves_in && !HORA__FAULT(SHARD_HOUSES_NOBODY);
    }
    hora__mutex_unlock_as(&lane->lock, HORA__RANK_INBOX);
    if (!admitted)
        scheduled->entry.place = HORA__OUT;
    else if (hora__lanes_is_ahead(lanes, due) && !HORA__FAULT(SHARD_TELLS_NOBODY))
        hora__queue_look(&agenda->base.queue);
    return admitted;
}

bool hora__agenda_post(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                       const struct hora__posting *posting)
{
    struct agenda *agenda = agenda_of(queue);
    if (!HORA__FAST || scheduled->course != NULL || scheduled->paused || scheduled->entry.line != agenda->own)
        return false;
    return post(agenda, scheduled, now, posting, false);
}

bool hora__agenda_house(hora_queue *queue, struct hora__scheduled *scheduled, hora_ns now,
                        const struct hora__posting *posting)
{
    struct agenda *agenda = agenda_of(queue);
    assert(scheduled->course == NULL && scheduled->entry.line == agenda->own);
    if (post(agenda, scheduled, now, posting, true))
        return true;
    hora__lanes_move_in(agenda->store.lanes, scheduled->lane);
    return false;
}

bool hora__agenda_unpost(struct hora__scheduled *scheduled, bool (*may)(const void *context), const void *context)
{
    struct hora__lane *lane = &agenda_of(scheduled->queue)->store.lanes->lanes[scheduled->lane];
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
    bool removes = scheduled->spot != 0 && may(context);
    if (removes) {
        hora__lane_take_out(lane, &scheduled->entry.by_due);
        hora__counter_add_alone_publish(&lane->branch.cancelled, 1);
    }
    hora__mutex_unlock_as(&lane->lock, HORA__RANK_INBOX);
    return removes;
}

void hora__agenda_open_books(hora_queue *queue, struct hora__books *books)
{
    const struct hora__lanes *lanes = agenda_of(queue)->store.lanes;
    books->branch_count = lanes->count;
    for (int i = 0; i < lanes->count; i++)
        books->branches[i] = &lanes->lanes[i].branch;
}

uint8_t hora__agenda_shard(hora_queue *queue)
{
    return (uint8_t)hora__lanes_mine(agenda_of(queue)->store.lanes);
}

void hora__agenda_move_in(hora_queue *queue, int lane)
{
    hora__lanes_move_in(agenda_of(queue)->store.lanes, lane);
}

void hora__agenda_move_out(hora_queue *queue, int lane)
{
    if (hora__lanes_move_out(agenda_of(queue)->store.lanes, lane))
        hora__object_leave(&queue->object);
}

bool hora__agenda_is_free(hora_queue *queue)
{
    return hora__lanes_are_free(agenda_of(queue)->store.lanes);
}
