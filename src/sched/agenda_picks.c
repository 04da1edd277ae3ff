/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_picks.c - visiting all entries of the agenda, and moving some, or picking them out of it, by what somebody says of each */
#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

struct hora__entry *hora__agenda_find_guest(struct agenda *agenda, const hora_future *future)
{
    for (struct hora__list *link = agenda->guests.next; link != &agenda->guests; link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__guest, link)->future == future)
            return &HORA__LIST_ENTRY(link, struct hora__guest, link)->entry;
    return NULL;
}

void hora__agenda_free_guest(struct agenda *agenda, struct hora__guest *guest)
{
    assert(!guest->entry.in_admission);
    if (guest->ticket != NULL)
        hora__admission_queue_unclaim(agenda->admission, guest->ticket, guest->future);
    hora__free(guest);
}

int hora__agenda_prepare(hora_queue *queue, struct hora__put *put)
{
    if (hora__scheduled_of(put->item) != NULL)
        return 0;
    struct hora__admission_queue *admission = agenda_of(queue)->admission;
    struct hora__guest *guest = hora__alloc(1, sizeof *guest);
    if (guest == NULL)
        return HORA_ENOMEM;
    hora__entry_init(&guest->entry, hora__clock_timeline(queue->object.clock), false, false);
    guest->entry.is_guest = true;
    guest->future = put->item;
    if (admission != NULL && hora__admission_queue_claim(admission, put->item, guest, &guest->ticket) < 0) {
        hora__free(guest);
        return HORA_ENOMEM;
    }
    put->memory = guest;
    return 0;
}

void hora__agenda_discard(hora_queue *queue, struct hora__put *put)
{
    if (put->memory != NULL)
        hora__agenda_free_guest(agenda_of(queue), put->memory);
    put->memory = NULL;
}

enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry)
{
    return hora__agenda_line(agenda_of(queue), entry);
}

static void visit_heap(const struct hora__timer_heap *timers, void (*visit)(struct hora__entry *entry, void *arg),
                       void *arg)
{
    for (int i = 0; i < timers->size; i++)
        visit(entry_by_due(hora__slot_node(timers->slots[i])), arg);
}

void hora__agenda_each(hora_queue *queue, enum hora__timeline line, void (*visit)(struct hora__entry *entry, void *arg),
                       void *arg)
{
    hora__timer_store_gather(&agenda_of(queue)->store);
    visit_heap(&agenda_of(queue)->lines[line].exact, visit, arg);
    visit_heap(&agenda_of(queue)->lines[line].lax, visit, arg);
    if (line == agenda_of(queue)->own)
        visit_heap(&agenda_of(queue)->lines[ADMITTED_TIMERS].exact, visit, arg);
    hora__agenda_each_waiting(agenda_of(queue), line, visit, arg);
}

struct sweep {
    bool (*visit)(struct hora__entry *entry, void *arg);
    void *arg;
    struct hora__entries *entries;
};

static void mark(struct hora__entry *entry, void *arg)
{
    const struct sweep *sweep = arg;
    if (sweep->visit(entry, sweep->arg))
        hora__entries_add(sweep->entries, entry);
}

void hora__agenda_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                       struct hora__entries *ret_entries)
{
    *ret_entries = (struct hora__entries){NULL, NULL};
    struct sweep sweep = {visit, arg, ret_entries};
    for (int i = 0; i < LINES; i++)
        hora__agenda_each(queue, (enum hora__timeline)i, mark, &sweep);
}

/* First all are found, then they are taken out: taking one out moves others. */
void hora__agenda_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                        struct hora__entries *ret_entries)
{
    struct agenda *agenda = agenda_of(queue);
    hora__agenda_absorb(queue);
    hora__agenda_pick(queue, visit, arg, ret_entries);
    struct hora__entries rest = *ret_entries;
    for (struct hora__entry *entry; (entry = hora__entries_next(&rest)) != NULL;) {
        hora__agenda_remove(agenda, entry);
        entry->place = HORA__SWEPT;
        if (entry->is_guest)
            hora__list_remove(&hora__guest_of(entry)->link); /* nobody finds it any more */
    }
    for (int i = 0; i < LINES; i++) {
        hora__timer_heap_save_room(&agenda->lines[i].exact);
        hora__timer_heap_save_room(&agenda->lines[i].lax);
        hora__timer_heap_save_room(&agenda->lines[i].latest);
    }
}

void hora__agenda_move(hora_queue *queue, struct hora__entry *entry, hora_ns due)
{
    assert(!entry->is_guest);
    hora__agenda_remove(agenda_of(queue), entry);
    hora__agenda_insert(agenda_of(queue), entry, due);
}

void hora__agenda_release(hora_queue *queue, struct hora__entry *entry)
{
    if (entry->is_guest) {
        hora__agenda_free_guest(agenda_of(queue), hora__guest_of(entry));
        return;
    }
    hora__mutex_lock(&queue->object.lock);
    entry->place = HORA__OUT; /* not before: who comes in again could run, and break the chain */
    hora__mutex_unlock(&queue->object.lock);
}

/* By how much the first of a heap is overdue; 0: it is not, or has to find its time anew, or there is none. */
static hora_ns overdue_of(const struct hora__timer_heap *timers, hora_ns now)
{
    hora_ns due = timers->size > 0 ? timers->slots[0].due : HORA_FOREVER;
    return due == INT64_MIN ? 0 : hora__ns_max(hora__ns_sub(now, due), 0);
}

hora_ns hora__agenda_overdue(hora_queue *queue)
{
    const struct agenda *agenda = agenda_of(queue);
    hora_ns overdue = 0;
    for (int i = 0; i < LINES; i++) {
        hora_ns now = hora__agenda_now(queue, (enum hora__timeline)i);
        overdue = hora__ns_max(overdue, overdue_of(&agenda->lines[i].exact, now));
        overdue = hora__ns_max(overdue, overdue_of(&agenda->lines[i].lax, now));
        if (i == (int)agenda->own)
            overdue = hora__ns_max(overdue, overdue_of(&agenda->lines[ADMITTED_TIMERS].exact, now));
    }
    return overdue;
}
