/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_picks.c - visiting all entries of the timer queue, and moving some, or picking them out of it, by what somebody says of each */
#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/scheduled.h"
#include "sched/timer_queue_internal.h"
#include "sys/alloc.h"

struct hora__entry *hora__timer_queue_find_foreign(struct timer_queue *timer_queue, const hora_future *future)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    for (struct hora__list *link = timer_queue->foreign_futures.next; link != &timer_queue->foreign_futures;
         link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__foreign, link)->future == future)
            return &HORA__LIST_ENTRY(link, struct hora__foreign, link)->entry;
    return NULL;
}

void hora__timer_queue_free_foreign(struct timer_queue *timer_queue, struct hora__foreign *foreign)
{
    assert(foreign->entry.is_foreign);
    assert(!foreign->entry.in_admission);
    if (foreign->ticket != NULL)
        hora__admission_queue_unclaim(timer_queue->admission, foreign->ticket, foreign->future);
    hora__free(foreign);
}

int hora__timer_queue_prepare(hora_queue *queue, struct hora__put *put)
{
    assert(put->item != NULL);
    if (hora__scheduled_of(put->item) != NULL)
        return 0;
    struct hora__admission_queue *admission = timer_queue_of(queue)->admission;
    struct hora__foreign *foreign = hora__alloc(1, sizeof *foreign);
    if (foreign == NULL)
        return HORA_ENOMEM;
    hora__entry_init(&foreign->entry, hora__clock_timeline(queue->object.clock), false, false);
    foreign->entry.is_foreign = true;
    foreign->future = put->item;
    if (admission != NULL &&
        hora__admission_queue_claim(admission, put->item, foreign, &foreign->ticket) < 0) {
        hora__free(foreign);
        return HORA_ENOMEM;
    }
    put->memory = foreign;
    return 0;
}

void hora__timer_queue_discard(hora_queue *queue, struct hora__put *put)
{
    assert(put != NULL);
    if (put->memory != NULL)
        hora__timer_queue_free_foreign(timer_queue_of(queue), put->memory);
    put->memory = NULL;
}

enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry)
{
    return hora__timer_queue_line(timer_queue_of(queue), entry);
}

static void visit_heap(const struct hora__timer_heap *timers,
                       void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    assert(timers->size >= 0);
    for (int i = 0; i < timers->size; i++)
        visit(entry_by_due(hora__slot_node(timers->slots[i])), arg);
}

void hora__timer_queue_each(hora_queue *queue, enum hora__timeline line,
                            void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    assert((int)line >= 0 && (int)line < LINES);
    assert(hora__mutex_held(&queue->object.lock));
    hora__timer_store_gather(&timer_queue_of(queue)->store);
    visit_heap(&timer_queue_of(queue)->lines[line].exact, visit, arg);
    visit_heap(&timer_queue_of(queue)->lines[line].lax, visit, arg);
    if (line == timer_queue_of(queue)->own)
        visit_heap(&timer_queue_of(queue)->lines[TIMERS_WITH_ADMISSION].exact, visit, arg);
    hora__timer_queue_each_waiting(timer_queue_of(queue), line, visit, arg);
}

struct sweep {
    bool (*visit)(struct hora__entry *entry, void *arg);
    void *arg;
    struct hora__entries *entries;
};

static void mark(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    const struct sweep *sweep = arg;
    if (sweep->visit(entry, sweep->arg))
        hora__entries_add(sweep->entries, entry);
}

void hora__timer_queue_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                            struct hora__entries *ret_entries)
{
    assert(hora__mutex_held(&queue->object.lock));
    *ret_entries = (struct hora__entries){NULL, NULL};
    struct sweep sweep = {visit, arg, ret_entries};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(queue, (enum hora__timeline)i, mark, &sweep);
}

/* First all are found, then they are taken out: taking one out moves others. */
void hora__timer_queue_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                             void *arg, struct hora__entries *ret_entries)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    hora__timer_queue_absorb(queue);
    hora__timer_queue_pick(queue, visit, arg, ret_entries);
    struct hora__entries rest = *ret_entries;
    for (struct hora__entry *entry; (entry = hora__entries_next(&rest)) != NULL;) {
        hora__timer_queue_remove(timer_queue, entry);
        entry->stage = HORA__SWEPT;
        if (entry->is_foreign)
            hora__list_remove(&hora__foreign_of(entry)->link); /* nobody finds it any more */
    }
    for (int i = 0; i < LINES; i++) {
        hora__timer_heap_save_room(&timer_queue->lines[i].exact);
        hora__timer_heap_save_room(&timer_queue->lines[i].lax);
        hora__timer_heap_save_room(&timer_queue->lines[i].latest);
    }
}

void hora__timer_queue_move(hora_queue *queue, struct hora__entry *entry, hora_ns due)
{
    assert(entry->stage == HORA__WAITS);
    assert(hora__mutex_held(&queue->object.lock));
    assert(!entry->is_foreign);
    hora__timer_queue_remove(timer_queue_of(queue), entry);
    hora__timer_queue_insert(timer_queue_of(queue), entry, due);
}

void hora__timer_queue_release(hora_queue *queue, struct hora__entry *entry)
{
    if (entry->is_foreign) {
        hora__timer_queue_free_foreign(timer_queue_of(queue), hora__foreign_of(entry));
        return;
    }
    hora__mutex_lock(&queue->object.lock);
    entry->stage = HORA__OUT; /* not before: who comes in again could run, and break the chain */
    hora__mutex_unlock(&queue->object.lock);
}

/* By how much the first of a heap is overdue; 0: it is not, or has to find its time anew, or there is none. */
static hora_ns overdue_of(const struct hora__timer_heap *timers, hora_ns now)
{
    hora_ns due = timers->size > 0 ? timers->slots[0].due : HORA_FOREVER;
    return due == INT64_MIN ? 0 : hora__ns_max(hora__ns_sub(now, due), 0);
}

hora_ns hora__timer_queue_overdue(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct timer_queue *timer_queue = timer_queue_of(queue);
    hora_ns overdue = 0;
    for (int i = 0; i < LINES; i++) {
        hora_ns now = hora__timer_queue_now(queue, (enum hora__timeline)i);
        overdue = hora__ns_max(overdue, overdue_of(&timer_queue->lines[i].exact, now));
        overdue = hora__ns_max(overdue, overdue_of(&timer_queue->lines[i].lax, now));
        if (i == (int)timer_queue->own)
            overdue =
                hora__ns_max(overdue, overdue_of(&timer_queue->lines[TIMERS_WITH_ADMISSION].exact, now));
    }
    return overdue;
}
