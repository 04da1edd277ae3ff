/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_turns.c - the agenda of a scheduler that is steered: what is due waits for its turn
 *
 * How it works      Whoever takes lets all that is due into the gate (base/gate.h), in the order of their times, and takes the one whose turn it is.
 *                   An entry that waits for its turn is held: it stays in its heap, but as if it were never due, behind all others. So it is
 *                   found, counted, moved and swept as ever, and whoever asks when it is due is told the time that it had. What is moved, as it was
 *                   re-timed, paused or has to find its time anew, loses its place in the gate.
 * Turns             A turn begins as a worker takes the entry. It ends when the task is put back, or over: whichever comes first. Of a series
 *                   whose runs overlap it passes to the member that runs.
 * Guests            have a turn beside their entry. While one runs, that memory is kept.
 * Timers            have no memory for a turn, nor need they: none has a class or a key, and all have one level, so the first of them by time goes
 *                   before all others. They stand in a heap of their own, and the first of it, once it is due, waits by the one
 *                   turn that all share. While timers run they are counted without a turn.
 * Invariants        I1 an entry is held if and only if its turn waits; then it is in a heap, due at HORA_FOREVER.
 *                   I2 a scheduled future whose turn runs is TAKEN or RUNS.
 *                   I3 timer_ticket waits since the first timer is due, or not at all; it does if a taker has looked since then. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/extra.h"
#include "sched/agenda_inside.h"
#include "sched/crew.h"
#include "sched/scheduled.h"
#include "sync/clock.h"
#include "sys/alloc.h"

struct hora__admission *hora__agenda_admit(hora_queue *queue, hora_ns ageing, int (*threads)(const void *context),
                                           const void *context)
{
    struct agenda *agenda = agenda_of(queue);
    assert(queue->size == 0);
    hora__admission_init(&agenda->own_admission, ageing, threads, context, &queue->object.lock);
    hora__list_init(&agenda->running);
    hora__ticket_init(&agenda->timer_ticket, NULL, 0, HORA__LEVEL_NORMAL);
    agenda->timer_line = STEERED_TIMERS;
    agenda->admission = &agenda->own_admission;
    return agenda->admission;
}

struct hora__admission *hora__agenda_admission(hora_queue *queue)
{
    return agenda_of(queue)->admission;
}

/* ---- whose turn ---- */

static struct hora__ticket *ticket_of_guest(struct hora__guest *guest)
{
    return &HORA__LIST_ENTRY(guest, struct hora__steered_guest, guest)->ticket;
}

static struct hora__ticket *ticket_of(struct hora__entry *entry)
{
    if (entry->is_guest)
        return ticket_of_guest(hora__guest_of(entry));
    return hora__scheduled_of_entry(entry)->course->extra->ticket;
}

/* Of one that waits. */
static struct hora__entry *entry_of(struct agenda *agenda, struct hora__ticket *ticket)
{
    if (ticket == &agenda->timer_ticket)
        return entry_by_due(hora__timer_heap_first(timer_heap(agenda)));
    struct hora__scheduled *scheduled = hora__scheduled_of(ticket->item);
    if (scheduled != NULL)
        return &scheduled->entry;
    return &HORA__LIST_ENTRY(ticket, struct hora__steered_guest, ticket)->guest.entry;
}

static hora_ns now_of(const struct agenda *agenda)
{
    return hora__agenda_now(&agenda->base.queue, agenda->own);
}

/* ---- waiting ---- */

/* A time of an entry's line, on the agenda's own clock. */
static hora_ns on_own_line(const struct agenda *agenda, const struct hora__entry *entry, hora_ns due)
{
    if ((enum hora__timeline)entry->line == agenda->own || due == HORA_FOREVER)
        return due;
    hora_ns off = hora__ns_sub(due, hora__agenda_now(&agenda->base.queue, (enum hora__timeline)entry->line));
    return hora__ns_add(now_of(agenda), off);
}

/* I1 */
static void hold(struct agenda *agenda, struct hora__entry *entry)
{
    hora_ns due = hora__agenda_due(&agenda->base.queue, entry);
    hora__agenda_pull(agenda, entry);
    hora__agenda_push(agenda, entry, HORA_FOREVER);
    entry->held = true;
    hora__admission_add(agenda->admission, ticket_of(entry), hora__entry_future(entry),
                        on_own_line(agenda, entry, due));
}

void hora__agenda_unhold(struct agenda *agenda, struct hora__entry *entry)
{
    entry->held = false;
    if (hora__ticket_waits(ticket_of(entry))) /* else it has just begun */
        hora__admission_remove(agenda->admission, ticket_of(entry));
}

hora_ns hora__agenda_held_due(struct hora__entry *entry)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    return scheduled != NULL ? hora__scheduled_due(scheduled) : ticket_of(entry)->since;
}

void hora__agenda_hold_due(struct agenda *agenda)
{
    struct hora__entry *first;
    while ((first = hora__agenda_first_due(agenda)) != NULL)
        hold(agenda, first);
    hora__agenda_present_timer(agenda);
}

/* I3 */
void hora__agenda_present_timer(struct agenda *agenda)
{
    const struct hora__timer_heap *heap = timer_heap(agenda);
    struct hora__ticket *ticket = &agenda->timer_ticket;
    hora_ns due = heap->size > 0 ? heap->slots[0].due : HORA_FOREVER;
    bool is_due = heap->size > 0 && due != HORA_FOREVER && due <= now_of(agenda);
    if (hora__ticket_waits(ticket) && (!is_due || ticket->since != due))
        hora__admission_remove(agenda->admission, ticket);
    if (is_due && !hora__ticket_waits(ticket))
        hora__admission_add(agenda->admission, ticket, NULL, due);
}

/* The first timer leaves, whose turn it is. Its run is counted until it ends (hora__agenda_ran), while the next one waits by the same turn. */
static struct hora__cell *take_timer(struct agenda *agenda, bool begins, hora_ns now, struct hora__cell *ret_cell)
{
    struct hora__entry *entry = entry_of(agenda, &agenda->timer_ticket);
    hora_ns due = timer_heap(agenda)->slots[0].due;
    if (begins)
        hora__admission_begin_anonymous(agenda->admission, &agenda->timer_ticket, now);
    hora__agenda_remove(agenda, entry);
    return hora__agenda_hand_out(agenda, entry, due, ret_cell);
}

void *hora__agenda_take_turn(struct agenda *agenda, bool begins, struct hora__cell *ret_cell)
{
    hora_ns now = now_of(agenda);
    struct hora__ticket *best = hora__admission_best(agenda->admission, now);
    if (best == NULL)
        return NULL;
    if (best == &agenda->timer_ticket)
        return take_timer(agenda, begins, now, ret_cell);
    struct hora__entry *entry = entry_of(agenda, best);
    if (begins)
        hora__admission_begin(agenda->admission, best, now);
    return hora__agenda_take_entry(agenda, entry);
}

struct hora__entry *hora__agenda_first_held(struct agenda *agenda)
{
    struct hora__ticket *first = agenda->admission != NULL ? hora__admission_first(agenda->admission) : NULL;
    return first != NULL ? entry_of(agenda, first) : NULL;
}

/* Turns are told apart by their time, and from entries by the highest bit. */
hora_ns hora__agenda_sooner(const struct agenda *agenda, hora_ns until, uint64_t *element)
{
    if (agenda->admission->waiting == 0)
        return until;
    hora_ns ticket = hora__admission_next(agenda->admission, now_of(agenda));
    if (ticket >= until || HORA__FAULT(ADMISSION_NEXT_UNSEEN))
        return until;
    *element = ticket == INT64_MIN ? UINT64_MAX : (uint64_t)ticket | UINT64_C(1) << 63;
    return ticket;
}

/* ---- the end of a turn ---- */

void hora__agenda_release_guest(struct agenda *agenda, struct hora__guest *guest)
{
    if (agenda->admission != NULL && hora__ticket_runs(ticket_of_guest(guest)))
        hora__list_add_last(&agenda->running, &guest->link);
    else
        hora__free(guest);
}

bool hora__agenda_end_turn(struct hora__scheduled *scheduled)
{
    struct agenda *agenda = agenda_of(scheduled->queue);
    if (agenda->admission == NULL || !hora__ticket_runs(scheduled->course->extra->ticket))
        return false;
    hora__admission_end(agenda->admission, scheduled->course->extra->ticket);
    return true;
}

static void end_guest(struct agenda *agenda, const hora_future *future)
{
    for (struct hora__list *link = agenda->running.next; link != &agenda->running; link = link->next) {
        struct hora__guest *guest = HORA__LIST_ENTRY(link, struct hora__guest, link);
        if (guest->future != future)
            continue;
        hora__admission_end(agenda->admission, ticket_of_guest(guest));
        hora__list_remove(&guest->link);
        hora__free(guest);
        return;
    }
}

void hora__agenda_turn_ended(hora_queue *queue, hora_future *future, bool settles)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct agenda *agenda = agenda_of(queue);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    hora__mutex_lock(&queue->object.lock);
    if (scheduled != NULL && scheduled->queue == queue)
        (void)hora__agenda_end_turn(scheduled);
    else if (future->kind == HORA__FUTURE_MEMBER)
        hora__admission_end(agenda->admission, hora__crew_ticket(future));
    else
        end_guest(agenda, future);
    if (settles)
        hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

/* ---- out of turn ---- */

/* The entry of a future that is in the agenda; NULL: it is not. */
static struct hora__entry *find(struct agenda *agenda, hora_future *future)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled != NULL)
        return scheduled->queue == &agenda->base.queue && scheduled->entry.place == HORA__WAITS ? &scheduled->entry
                                                                                                : NULL;
    for (struct hora__list *link = agenda->guests.next; link != &agenda->guests; link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__guest, link)->future == future)
            return &HORA__LIST_ENTRY(link, struct hora__guest, link)->entry;
    return NULL;
}

/* What comes back is never run out of turn, nor what is behind it by its key. */
static hora_ns help(struct agenda *agenda, struct hora__entry *entry, hora_future **ret_future)
{
    struct hora__ticket *ticket = ticket_of(entry);
    struct hora__ticket *first = ticket;
    if (first->state == HORA__TICKET_BEHIND)
        first = hora__admission_first_of_key(agenda->admission, first->key);
    if (first->state == HORA__TICKET_READY && entry_of(agenda, first)->comes_back)
        return HORA_FOREVER;
    hora_ns from = hora__admission_help(agenda->admission, ticket, now_of(agenda), &ticket);
    if (from == INT64_MIN)
        *ret_future = hora__agenda_take_entry(agenda, entry_of(agenda, ticket));
    return from;
}

hora_ns hora__agenda_help(hora_queue *queue, hora_future *future, hora_future **ret_future)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct agenda *agenda = agenda_of(queue);
    hora_ns from = HORA_FOREVER;
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_hold_due(agenda);
    struct hora__entry *entry = find(agenda, future);
    if (entry != NULL && entry->held)
        from = help(agenda, entry, ret_future);
    else if (entry != NULL)
        from = on_own_line(agenda, entry, hora__agenda_due(queue, entry));
    hora__queue_settle(queue, NULL, &wakes); /* others may have become due as well */
    hora__queue_exit(queue, &wakes);
    return from;
}

/* ---- another class or level ---- */

static void change_locked(struct hora__scheduled *scheduled, const struct hora__ticket_change *change)
{
    hora__admission_change(agenda_of(scheduled->queue)->admission, scheduled->course->extra->ticket, change);
    if (scheduled->course->crew != NULL)
        hora__crew_change(scheduled, change);
}

int hora__agenda_change_ticket(hora_future *future, const struct hora__ticket_change *change)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct hora__scheduled *scheduled;
    int error = hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    enum hora__place place = (enum hora__place)scheduled->entry.place;
    bool comes_back = scheduled->entry.comes_back && (place == HORA__TAKEN || place == HORA__RUNS);
    if (hora_future_is_done(future) || (place != HORA__WAITS && !comes_back)) {
        hora__scheduled_leave(scheduled);
        return HORA_EBUSY;
    }
    change_locked(scheduled, change);
    hora__queue_settle(scheduled->queue, NULL, &wakes);
    hora__queue_exit(scheduled->queue, &wakes);
    return 0;
}
