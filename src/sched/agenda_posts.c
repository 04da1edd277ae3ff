/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_posts.c - what comes into the agenda by way of its shards, see shards.c; and what of that waits in the annex, see annex.h */
#include <assert.h>
#include <stddef.h>

#include "base/fast.h"
#include "base/fault.h"
#include "base/touch.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "timer/lanes.h"

static_assert((int)HORA__LANES_MOST <= (int)HORA__BRANCHES_MOST, "the books of a pool have a branch for each lane");
static_assert(offsetof(struct hora__scheduled, spot) + sizeof(uint16_t) ==
                  offsetof(struct hora__scheduled, entry.by_due),
              "see hora__node_spot");

/* Who posts must not need memory later: so places are promised beforehand, for all that the shards can hold. As long as that is not
 * possible nothing is posted. */
void hora__agenda_set_floor(struct agenda *agenda)
{
    bool open = HORA__FAST && agenda->lacking == 0 && !agenda->sealed;
    hora__atomic64_store(&agenda->shards->floor, open ? agenda->seen_now : INT64_MAX);
}

void hora__agenda_promise(struct agenda *agenda)
{
    struct hora__timer_heap *heap = own_heap(agenda);
    while (HORA__FAST && agenda->lacking > 0 && hora__timer_heap_make_room(heap) == 0) {
        int room = heap->capacity - heap->size - heap->reserved;
        int more = room < agenda->lacking ? room : agenda->lacking;
        hora__timer_heap_reserve(heap, more);
        agenda->lacking -= more;
    }
    hora__agenda_set_floor(agenda);
}

/* Some errands come from the annex into the heap, where their places have been kept. */
static void fetch(struct agenda *agenda)
{
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    int count = hora__far_take(&agenda->annex, slots);
    hora__timer_heap_reserve(own_heap(agenda), -count);
    for (int i = 0; i < count; i++)
        hora__timer_heap_push_untracked(own_heap(agenda), hora__slot_node(slots[i]), slots[i].due);
}

void hora__agenda_follow(struct agenda *agenda)
{
    const struct hora__timer_heap *heap = own_heap(agenda);
    while (agenda->annex.size > 0 && (heap->size == 0 || agenda->annex.first <= heap->slots[0].due)) {
        if (HORA__FAULT(ANNEX_STAYS_BEHIND) && heap->size > 0)
            break;
        fetch(agenda); /* I7 of agenda.c */
    }
}

void hora__agenda_gather(struct agenda *agenda)
{
    while (agenda->annex.size > 0 && !HORA__FAULT(ANNEX_IS_UNSEEN)) {
        HORA__TOUCH_PREPAID(1);
        fetch(agenda);
    }
    hora__timer_heap_track_all(own_heap(agenda));
}

/* An errand that is not the first need not come into the heap yet, if that is large. The place that was promised to it stays kept. */
static inline bool goes_far(struct agenda *agenda, struct hora__timer_slot slot)
{
    const struct hora__timer_heap *heap = own_heap(agenda);
    return hora__slot_is_untracked(slot) && heap->size + agenda->annex.size >= HORA__FAR_IS_WORTH_IT &&
           slot.due > heap->slots[0].due && hora__far_add(&agenda->annex, hora__slot_node(slot), slot.due);
}

static void take_in(void *context, struct hora__timer_slot slot)
{
    struct agenda *agenda = context;
    agenda->lacking++;
    hora__agenda_count(agenda, entry_by_due(hora__slot_node(slot)), 1); /* I1 */
    if (goes_far(agenda, slot))
        return;
    hora__timer_heap_reserve(own_heap(agenda), -1);
    if (hora__slot_is_untracked(slot))
        hora__timer_heap_push_untracked(own_heap(agenda), hora__slot_node(slot), slot.due);
    else
        hora__timer_heap_push(own_heap(agenda), hora__slot_node(slot), slot.due);
}

bool hora__agenda_take_all_in(struct agenda *agenda)
{
    bool ahead = hora__lanes_absorb(agenda->shards, &(struct hora__absorber){take_in, hora__agenda_give_back, agenda});
    if (agenda->lacking > 0)
        hora__agenda_promise(agenda);
    return ahead;
}

void hora__agenda_absorb(hora_queue *queue)
{
    (void)hora__agenda_take_all_in(agenda_of(queue));
}

bool hora__agenda_expect(hora_queue *queue, hora_ns until)
{
    struct agenda *agenda = agenda_of(queue);
    hora_ns before = hora__atomic64_peek(&agenda->shards->horizon);
    if (until == before)
        return false;
    hora__atomic64_store(&agenda->shards->horizon, until);
    /* What was posted with the earlier horizon in sight, and due after that, has not been told. */
    return until > before && !HORA__FAULT(SHARD_LOOKS_TOO_SOON) && hora__agenda_take_all_in(agenda);
}

void hora__agenda_seal(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    agenda->sealed = true;
    hora__agenda_promise(agenda);
}

void hora__agenda_leave(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    for (int i = 0, count = agenda->shards->count; i < count; i++)
        if (hora__lanes_close(agenda->shards, i))
            hora__object_leave(&queue->object);
}

/* Insert a future into its lane. Returns false if it must take the long way, through the agenda's lock: the lane has no room, the
 * future is due too soon, or the gate is closed. `now` is when the inserting call began. With `moves_in`, a future that gets in
 * starts to hold the agenda. Any worker may take the future as soon as the lane's lock is free. */
HORA__INLINE bool post(struct agenda *agenda, struct hora__scheduled *scheduled, hora_ns now,
                       const struct hora__posting *posting, bool moves_in)
{
    struct hora__lanes *lanes = agenda->shards;
    struct hora__lane *lane = &lanes->lanes[scheduled->shard];
    hora_ns due = scheduled->planned;
    scheduled->entry.place = HORA__WAITS;
    hora__mutex_lock_as(&lane->lock, HORA__RANK_INBOX);
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
    hora__lanes_move_in(agenda->shards, scheduled->shard);
    return false;
}

bool hora__agenda_unpost(struct hora__scheduled *scheduled, bool (*may)(const void *context), const void *context)
{
    struct hora__lane *lane = &agenda_of(scheduled->queue)->shards->lanes[scheduled->shard];
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
    const struct hora__lanes *shards = agenda_of(queue)->shards;
    books->branch_count = shards->count;
    for (int i = 0; i < shards->count; i++)
        books->branches[i] = &shards->lanes[i].branch;
}

uint8_t hora__agenda_shard(hora_queue *queue)
{
    return (uint8_t)hora__lanes_mine(agenda_of(queue)->shards);
}

void hora__agenda_move_in(hora_queue *queue, int shard)
{
    hora__lanes_move_in(agenda_of(queue)->shards, shard);
}

void hora__agenda_move_out(hora_queue *queue, int shard)
{
    if (hora__lanes_move_out(agenda_of(queue)->shards, shard))
        hora__object_leave(&queue->object);
}

bool hora__agenda_is_free(hora_queue *queue)
{
    return hora__lanes_are_free(agenda_of(queue)->shards);
}
