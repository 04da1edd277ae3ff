/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_errands.c - tasks that are in the agenda by value
 *
 * How it works      They are on the agenda's own line, and precise, in the same heap as others: so there is one order. They come in by
 *                   way of a shard, or if that is not open, with the agenda's lock. Whoever takes one gets a copy of the task.
 *                   Before anybody but a taker looks they are made futures, which stand in the heap where the task stood, with its
 *                   number: so the order stays the same.
 * Memory            belongs to the shard of the thread that scheduled it, and to the lock of that. What has left is kept in a chain,
 *                   under the agenda's lock, until somebody who has both locks gives it back: whenever the shards are looked
 *                   into, which a worker does before it sleeps, and when there are BATCH of them.
 * Invariants        I1 once the agenda has been shown none comes in; and if that has succeeded, there is none. */
#include <stddef.h>

#include "base/fault.h"
#include "sched/agenda_inside.h"
#include "sched/errand.h"
#include "sched/scheduled.h"
#include "sched/timeout.h"
#include "sys/alloc.h"
#include "timer/lanes.h"

enum { BATCH = HORA__KEPT(64, 2) };

/* ---- memory ---- */

static int index_of(const struct agenda *agenda, const struct hora__lane *shard)
{
    return (int)(shard - agenda->store.lanes->lanes);
}

void hora__agenda_give_back(void *context, struct hora__lane *shard)
{
    struct agenda *agenda = context;
    struct hora__left *left = &agenda->left[index_of(agenda, shard)];
    while (left->first != NULL) {
        struct hora__errand *errand = hora__errand_of(left->first);
        left->first = errand->body.next_picked;
        hora__errand_free(&shard->free_list, errand);
    }
    left->count = 0;
}

/* It is no longer needed. */
static void leave(struct agenda *agenda, struct hora__errand *errand)
{
    struct hora__lane *shard = &agenda->store.lanes->lanes[errand->shard];
    struct hora__left *left = &agenda->left[errand->shard];
    errand->body.next_picked = left->first;
    left->first = &errand->entry;
    hora__lane_mark_filled(shard); /* with memory to give back */
    if (++left->count < BATCH && hora__keeps_memory())
        return;
    hora__mutex_lock(&shard->lock); /* nobody waits for it for longer than that takes */
    hora__agenda_give_back(agenda, shard);
    hora__lane_leave(shard);
}

/* With the lock of the shard. NULL: there is no memory. */
static struct hora__errand *new_errand(struct agenda *agenda, struct hora__lane *shard, const hora_task *task)
{
    struct hora__errand *errand = hora__errand_new(&shard->free_list, task, agenda->own);
    if (errand != NULL)
        errand->shard = (uint8_t)index_of(agenda, shard);
    return errand;
}

struct hora__cell *hora__agenda_release_by_value(struct agenda *agenda, struct hora__entry *entry, hora_ns due,
                                                 struct hora__cell *ret_cell)
{
    ret_cell->came = due;
    if (entry->is_timer) {
        hora__agenda_hand_out_timer(agenda, entry, ret_cell);
        return ret_cell;
    }
    ret_cell->task = hora__errand_task(hora__errand_of(entry));
    hora__agenda_save_memory(agenda, entry);
    leave(agenda, hora__errand_of(entry));
    return ret_cell;
}

/* ---- coming in ---- */

static bool may_come_by_value(const struct agenda *agenda, const struct hora__posting *posting)
{
    if (hora__atomic_load(&agenda->store.lanes->shown) && !HORA__FAULT(AGENDA_SHOWN_TOO_SOON))
        return false; /* I1 */
    return hora__atomic_load(posting->gate) < posting->closed || HORA__FAULT(AGENDA_GATE_UNSEEN);
}

/* By a shard. HORA_EFULL, HORA_ENOTSUP: it has to go the long way, since the shard is full or for another reason. */
static int post_shortly(struct agenda *agenda, const struct hora__posting *posting, hora_ns now, hora_ns due,
                        uint64_t *ret_number)
{
    struct hora__lanes *shards = agenda->store.lanes;
    if (due <= hora__atomic64_load(&shards->floor))
        return HORA_ENOTSUP; /* it would be refused */
    struct hora__lane *shard = hora__lanes_enter(shards);
    int error = shard->count == HORA__LANE_ROOM ? HORA_EFULL : HORA_ENOTSUP;
    if (may_come_by_value(agenda, posting) && hora__lane_admits(shards, shard, due)) {
        struct hora__errand *errand = new_errand(agenda, shard, posting->task);
        error = errand != NULL ? 0 : HORA_ENOMEM;
        if (error == 0) {
            hora__lane_add_untracked(shards, shard, &errand->entry.by_due, due, now);
            *ret_number = errand->entry.by_due.sequence; /* a worker may have it as soon as the lock is free */
        }
    }
    hora__lane_leave(shard);
    return error;
}

/* With the lock. On error nothing has changed. */
static int put(struct agenda *agenda, const struct hora__posting *posting, hora_ns due, uint64_t *ret_number)
{
    if (!may_come_by_value(agenda, posting))
        return HORA_ENOTSUP;
    if (agenda->base.queue.size == HORA_UNBOUNDED)
        return HORA_EFULL;
    int error = hora__timer_heap_make_room(own_heap(agenda));
    if (error < 0)
        return error;
    struct hora__lane *shard = hora__lanes_enter(agenda->store.lanes);
    struct hora__errand *errand = new_errand(agenda, shard, posting->task);
    hora__lane_leave(shard);
    if (errand == NULL)
        return HORA_ENOMEM;
    hora__agenda_insert(agenda, &errand->entry, due);
    *ret_number = errand->entry.by_due.sequence;
    if (agenda->store.lacking > 0)
        hora__timer_store_promise(&agenda->store);
    hora__counter_add_alone(&posting->books->accepted, 1);
    return 0;
}

/* With the lock. What is full is emptied, for those to come. */
static int post_long(hora_queue *queue, const struct hora__posting *posting, hora_ns due, bool is_full,
                     uint64_t *ret_number)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (is_full)
        hora__agenda_absorb(queue);
    int error = put(agenda_of(queue), posting, due, ret_number);
    if (error == 0)
        hora__queue_settle_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

int hora__agenda_post_task(hora_queue *queue, const struct hora__posting *posting, hora_ns now, hora_ns due,
                           uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(queue);
    int error = post_shortly(agenda, posting, now, due, ret_number);
    if (error == HORA_EFULL || error == HORA_ENOTSUP)
        return post_long(queue, posting, due, error == HORA_EFULL, ret_number);
    if (error == 0 && hora__lanes_is_ahead(agenda->store.lanes, due) && !HORA__FAULT(ERRAND_TELLS_NOBODY))
        hora__queue_look(queue);
    return error;
}

/* ---- going ---- */

static bool withdraw(struct agenda *agenda, uint64_t number)
{
    struct hora__timer_heap *heap = own_heap(agenda);
    hora__timer_store_gather(&agenda->store);
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_node(heap->slots[i]));
        if (entry->by_due.sequence != number || !entry->is_errand)
            continue;
        hora__agenda_remove(agenda, entry);
        hora__agenda_save_memory(agenda, entry);
        leave(agenda, hora__errand_of(entry));
        return true;
    }
    return false;
}

bool hora__agenda_withdraw_task(hora_queue *queue, uint64_t number)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_absorb(queue); /* it may have been posted only */
    bool found = withdraw(agenda_of(queue), number);
    hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

hora_task hora__agenda_dismiss(hora_queue *queue, struct hora__entry *entry)
{
    struct hora__errand *errand = hora__errand_of(entry);
    errand->body.run = NULL; /* it was a link of the chain */
    hora_task task = hora__errand_task(errand);
    hora__mutex_lock(&queue->object.lock);
    leave(agenda_of(queue), errand);
    hora__mutex_unlock(&queue->object.lock);
    return task;
}

/* ---- becoming futures ---- */

static int show(struct agenda *agenda, const struct hora__agenda_maker *maker)
{
    struct hora__timer_heap *heap = own_heap(agenda);
    int error = 0;
    hora__timer_store_gather(&agenda->store);
    for (int i = 0; error == 0 && i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_node(heap->slots[i]));
        if (!entry->is_errand)
            continue;
        struct hora__scheduled *scheduled;
        hora_task task = hora__errand_task(hora__errand_of(entry));
        error = maker->make(maker->context, &task, heap->slots[i].due, &scheduled);
        if (error < 0)
            break;
        scheduled->entry.place = HORA__WAITS;
        hora__timer_heap_replace(heap, &entry->by_due, &scheduled->entry.by_due);
        if (HORA__FAULT(AGENDA_SHOWS_LATER))
            scheduled->entry.by_due.sequence = hora__lanes_number(agenda->store.lanes);
        leave(agenda, hora__errand_of(entry));
    }
    return error;
}

int hora__agenda_show(hora_queue *queue, const struct hora__agenda_maker *maker)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__atomic_store(&agenda_of(queue)->store.lanes->shown, 1); /* I1: before the last look at what has come */
    if (!HORA__FAULT(AGENDA_SHOWS_HEAP_ONLY))
        hora__agenda_absorb(queue);
    int error = show(agenda_of(queue), maker);
    hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}
