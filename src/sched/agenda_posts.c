/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_posts.c - what comes into the agenda by way of its shards, see shards.c; and what of that waits in the annex, see annex.h */
#include <assert.h>
#include <stddef.h>

#include "base/fast.h"
#include "base/fault.h"
#include "base/touch.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "sched/shards_inside.h"

/* Who posts must not need memory later: so places are promised beforehand, for all that the shards can hold. As long as that is not
 * possible nothing is posted. */
void hora__agenda_set_floor(struct agenda *agenda)
{
    bool open = HORA__FAST && agenda->lacking == 0 && !agenda->sealed;
    hora__atomic64_store(&agenda->shards->floor, open ? agenda->seen_now : INT64_MAX);
}

void hora__agenda_promise(struct agenda *agenda)
{
    struct hora__timers *heap = own_heap(agenda);
    while (HORA__FAST && agenda->lacking > 0 && hora__timers_make_room(heap) == 0) {
        int room = heap->capacity - heap->size - heap->reserved;
        int more = room < agenda->lacking ? room : agenda->lacking;
        hora__timers_keep(heap, more);
        agenda->lacking -= more;
    }
    hora__agenda_set_floor(agenda);
}

/* Some errands come from the annex into the heap, where their places have been kept. */
static void fetch(struct agenda *agenda)
{
    struct hora__timer_slot slots[HORA__ANNEX_BATCH];
    int count = hora__annex_take(&agenda->annex, slots);
    hora__timers_keep(own_heap(agenda), -count);
    for (int i = 0; i < count; i++)
        hora__timers_push_stray(own_heap(agenda), hora__slot_timer(slots[i]), slots[i].due);
}

void hora__agenda_follow(struct agenda *agenda)
{
    const struct hora__timers *heap = own_heap(agenda);
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
    hora__timers_tell_all(own_heap(agenda));
}

/* An errand that is not the first need not come into the heap yet, if that is large. The place that was promised to it stays kept. */
static inline bool goes_to_annex(struct agenda *agenda, struct hora__posted posted)
{
    const struct hora__timers *heap = own_heap(agenda);
    return posted.entry->is_errand && heap->size + agenda->annex.size >= HORA__ANNEX_IS_WORTH_IT &&
           posted.due > heap->slots[0].due && hora__annex_add(&agenda->annex, &posted.entry->by_due, posted.due);
}

static void take_in(void *context, struct hora__posted posted)
{
    struct agenda *agenda = context;
    agenda->lacking++;
    hora__agenda_count(agenda, posted.entry, 1); /* I1 */
    if (goes_to_annex(agenda, posted))
        return;
    hora__timers_keep(own_heap(agenda), -1);
    if (posted.entry->is_errand)
        hora__timers_push_stray(own_heap(agenda), &posted.entry->by_due, posted.due);
    else
        hora__timers_push(own_heap(agenda), &posted.entry->by_due, posted.due);
}

bool hora__agenda_take_all_in(struct agenda *agenda)
{
    bool ahead = hora__shards_absorb(agenda->shards, &(struct hora__absorber){take_in, hora__agenda_give_back, agenda});
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
        if (hora__shards_close(agenda->shards, i))
            hora__object_leave(&queue->object);
}

HORA__INLINE bool post(struct agenda *agenda, struct hora__scheduled *scheduled, hora_ns now,
                       const struct hora__posting *posting, bool moves_in)
{
    scheduled->entry.place = HORA__WAITS;
    enum hora__post outcome = hora__shards_post(agenda->shards, scheduled, now, posting, moves_in); /* I3 */
    if (outcome == HORA__POST_REFUSED)
        scheduled->entry.place = HORA__OUT;
    if (outcome == HORA__POSTED_AHEAD && !HORA__FAULT(SHARD_TELLS_NOBODY))
        hora__queue_look(&agenda->base.queue);
    return outcome != HORA__POST_REFUSED;
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
    hora__shards_move_in(agenda->shards, scheduled->shard);
    return false;
}

bool hora__agenda_unpost(struct hora__scheduled *scheduled, bool (*may)(const void *context), const void *context)
{
    return hora__shards_remove(agenda_of(scheduled->queue)->shards, scheduled, may, context);
}

void hora__agenda_open_books(hora_queue *queue, struct hora__books *books)
{
    const struct hora__shards *shards = agenda_of(queue)->shards;
    books->branch_count = shards->count;
    for (int i = 0; i < shards->count; i++)
        books->branches[i] = &shards->shards[i].branch;
}

uint8_t hora__agenda_shard(hora_queue *queue)
{
    return (uint8_t)hora__shards_mine(agenda_of(queue)->shards);
}

void hora__agenda_move_in(hora_queue *queue, int shard)
{
    hora__shards_move_in(agenda_of(queue)->shards, shard);
}

void hora__agenda_move_out(hora_queue *queue, int shard)
{
    if (hora__shards_move_out(agenda_of(queue)->shards, shard))
        hora__object_leave(&queue->object);
}

bool hora__agenda_is_free(hora_queue *queue)
{
    struct hora__shards *shards = agenda_of(queue)->shards;
    bool is_free = true;
    for (int i = 0; i < shards->count && is_free; i++)
        is_free = hora__mutex_is_free(&shards->shards[i].lock);
    return is_free;
}
