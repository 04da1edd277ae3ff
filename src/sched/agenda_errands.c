/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_errands.c - tasks that are in the agenda by value
 *
 * How it works      They are on the agenda's own line, and precise, in the same heap as others: so there is one order. Whoever takes
 *                   one gets a copy of the task, and the memory is used again at once. All of that is done under the agenda's
 *                   lock, so memory needs none of its own.
 *                   Before anybody but a taker looks they are made futures, which stand in the heap where the task stood, with its
 *                   number: so the order stays the same.
 * Invariants        I1 once the agenda has been shown none comes in; and if that has succeeded, there is none. */
#include <stddef.h>

#include "base/fault.h"
#include "sched/agenda_inside.h"
#include "sched/errand.h"
#include "sched/scheduled.h"
#include "sched/shards.h"

hora_task *hora__agenda_release_errand(struct agenda *agenda, struct hora__entry *entry, hora_task *ret_task)
{
    *ret_task = hora__errand_task(hora__errand_of(entry));
    hora__agenda_save_memory(agenda, entry);
    hora__errand_free(&agenda->slabs, hora__errand_of(entry));
    return ret_task;
}

static bool may_come_by_value(const struct agenda *agenda, const struct hora__posting *posting)
{
    if (agenda->shown && !HORA__FAULT(AGENDA_SHOWN_TOO_SOON))
        return false; /* I1 */
    return hora__atomic_load(posting->gate) < posting->closed || HORA__FAULT(AGENDA_GATE_UNSEEN);
}

/* On error nothing has changed. */
static int post(struct agenda *agenda, const struct hora__posting *posting, hora_ns due, uint64_t *ret_number)
{
    if (!may_come_by_value(agenda, posting))
        return HORA_ENOTSUP;
    if (agenda->base.size == HORA_UNBOUNDED)
        return HORA_EFULL;
    int error = hora__timers_make_room(own_heap(agenda));
    if (error < 0)
        return error;
    struct hora__errand *errand = hora__errand_new(&agenda->slabs, posting->task, agenda->own);
    if (errand == NULL)
        return HORA_ENOMEM;
    hora__agenda_insert(agenda, &errand->entry, due);
    *ret_number = errand->entry.by_due.sequence;
    if (agenda->lacking > 0)
        hora__agenda_promise(agenda);
    hora__counter_add_alone(&posting->books->accepted, 1);
    return 0;
}

int hora__agenda_post_task(hora_queue *queue, const struct hora__posting *posting, hora_ns due, uint64_t *ret_number)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    int error = post(agenda_of(queue), posting, due, ret_number);
    if (error == 0)
        hora__queue_settle_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

static bool withdraw(struct agenda *agenda, uint64_t number)
{
    struct hora__timers *heap = own_heap(agenda);
    hora__timers_tell_all(heap);
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_timer(heap->slots[i]));
        if (entry->by_due.sequence != number || !entry->is_errand)
            continue;
        hora_task task;
        hora__agenda_remove(agenda, entry);
        (void)hora__agenda_release_errand(agenda, entry, &task);
        return true;
    }
    return false;
}

bool hora__agenda_withdraw_task(hora_queue *queue, uint64_t number)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    bool found = withdraw(agenda_of(queue), number);
    if (found)
        hora__queue_settle_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

hora_task hora__agenda_dismiss(hora_queue *queue, struct hora__entry *entry)
{
    struct hora__errand *errand = hora__errand_of(entry);
    errand->body.run = NULL; /* it was a link of the chain */
    hora_task task = hora__errand_task(errand);
    hora__mutex_lock(&queue->object.lock);
    hora__errand_free(&agenda_of(queue)->slabs, errand);
    hora__mutex_unlock(&queue->object.lock);
    return task;
}

static int show(struct agenda *agenda, const struct hora__agenda_maker *maker)
{
    struct hora__timers *heap = own_heap(agenda);
    int error = 0;
    agenda->shown = true; /* I1 */
    hora__timers_tell_all(heap);
    for (int i = 0; error == 0 && i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_timer(heap->slots[i]));
        if (!entry->is_errand)
            continue;
        struct hora__scheduled *scheduled;
        hora_task task = hora__errand_task(hora__errand_of(entry));
        error = maker->make(maker->context, &task, heap->slots[i].due, &scheduled);
        if (error < 0)
            break;
        scheduled->entry.place = HORA__WAITS;
        hora__timers_replace(heap, &entry->by_due, &scheduled->entry.by_due);
        if (HORA__FAULT(AGENDA_SHOWS_LATER))
            scheduled->entry.by_due.sequence = hora__shards_number(agenda->shards);
        hora__errand_free(&agenda->slabs, hora__errand_of(entry));
    }
    return error;
}

int hora__agenda_show(hora_queue *queue, const struct hora__agenda_maker *maker)
{
    hora__mutex_lock(&queue->object.lock);
    int error = show(agenda_of(queue), maker);
    hora__mutex_unlock(&queue->object.lock);
    return error;
}
