/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_admission.c - a scheduler with admission control: due entries wait in an admission queue
 *
 * How it works      A thread that takes from the timer queue first feeds all due entries into the admission
 *                   queue, in the order of their times. Then it takes the entry whose ticket is next. An
 *                   entry that waits for admission has left its heap, but its place there stays reserved, so
 *                   that it can always go back. It still counts in the size of the timer queue, is found and
 *                   visited as all others, and is due at the time it had. An entry that is moved, because its
 *                   task was re-timed or paused, or has to find its time anew, goes back to its heap, and
 *                   loses its place in the admission queue.
 * Tickets           A ticket begins when a worker takes the entry. It ends when the task is put back, or has
 *                   ended, whichever comes first. The ticket of a series whose runs overlap passes to the
 *                   overlapping run.
 * Foreign futures   have no ticket of their own; one is made for each, together with its entry.
 * Timers            have no memory for a ticket, and need none: they have no class and no key, and all have
 *                   the same level. So the first timer by time is before all other timers. Timers have a heap
 *                   of their own, and its first one, once it is due, waits by the one ticket that all timers
 *                   share. Running timers count without a ticket.
 * Invariants        I1 in_admission is set exactly while the entry's ticket waits. Then the entry is in no
 *                      heap, and its place is kept.
 *                   I2 A scheduled future whose ticket runs is TAKEN or RUNS.
 *                   I3 timer_ticket waits since the first timer is due, or does not wait. It does wait if a
 *                      thread has taken, or tried to, since then. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/extra.h"
#include "exec/pool.h"
#include "sched/agenda_inside.h"
#include "sched/crew.h"
#include "sched/scheduled.h"
#include "sync/clock.h"

#define ASSERT_LOCKED(agenda) assert(hora__mutex_held(&(agenda)->base.queue.object.lock))

/* The ticket of a scheduled future, or of an overlapping run; NULL: a foreign future, which has none of its
 * own. */
static struct hora__ticket *own_ticket(const void *context, const void *item)
{
    const hora_pool *pool = context;
    const hora_future *future = item;
    if (future->kind == HORA__FUTURE_MEMBER)
        return hora__crew_ticket(future);
    if (future->kind != HORA__FUTURE_SCHEDULED)
        return NULL;
    const struct hora__scheduled *scheduled = item;
    return scheduled->queue == pool->queue ? scheduled->course->extra->ticket : NULL;
}

struct hora__admission_queue *hora__agenda_admit(hora_queue *queue, hora_ns ageing, int (*threads)(const void *context),
                                                 const void *context)
{
    struct agenda *agenda = agenda_of(queue);
    assert(queue->size == 0 && agenda->admission == NULL);
    hora__admission_queue_init(&agenda->own_admission, ageing, own_ticket, threads, context, &queue->object.lock);
    hora__ticket_init(&agenda->timer_ticket, NULL, 0, HORA__LEVEL_NORMAL);
    agenda->timer_line = ADMITTED_TIMERS;
    agenda->admission = &agenda->own_admission;
    return agenda->admission;
}

struct hora__admission_queue *hora__agenda_admission(hora_queue *queue)
{
    return agenda_of(queue)->admission;
}

/* ---- tickets and entries ---- */

static struct hora__ticket *ticket_of(struct hora__entry *entry)
{
    if (entry->is_guest)
        return hora__guest_of(entry)->ticket;
    return hora__scheduled_of_entry(entry)->course->extra->ticket;
}

/* The entry of a waiting ticket. */
static struct hora__entry *entry_of(struct agenda *agenda, struct hora__ticket *ticket)
{
    assert(hora__ticket_waits(ticket));
    if (ticket == &agenda->timer_ticket)
        return entry_by_due(hora__timer_heap_first(timer_heap(agenda)));
    struct hora__scheduled *scheduled = hora__scheduled_of(ticket->item);
    return scheduled != NULL ? &scheduled->entry : &((struct hora__guest *)hora__ticket_holder(ticket))->entry;
}

static hora_ns now_of(const struct agenda *agenda)
{
    return hora__agenda_now(&agenda->base.queue, agenda->own);
}

/* A time on an entry's timeline, translated to the clock of the timer queue. */
static hora_ns on_own_line(const struct agenda *agenda, const struct hora__entry *entry, hora_ns due)
{
    if ((enum hora__timeline)entry->line == agenda->own || due == HORA_FOREVER)
        return due;
    hora_ns off = hora__ns_sub(due, hora__agenda_now(&agenda->base.queue, (enum hora__timeline)entry->line));
    return hora__ns_add(now_of(agenda), off);
}

/* ---- waiting for admission ---- */

/* I1 */
static void feed(struct agenda *agenda, struct hora__entry *entry)
{
    assert(!entry->in_admission && !entry->kept && !entry->is_detached);
    hora_ns due = hora__agenda_due(&agenda->base.queue, entry);
    hora__agenda_pull(agenda, entry);
    hora__agenda_keep(agenda, entry, true);
    entry->in_admission = true;
    hora__admission_queue_add(agenda->admission, ticket_of(entry), hora__entry_future(entry),
                              on_own_line(agenda, entry, due));
}

void hora__agenda_feed(struct agenda *agenda)
{
    ASSERT_LOCKED(agenda);
    struct hora__entry *first;
    while ((first = hora__agenda_first_due(agenda)) != NULL)
        feed(agenda, first);
    hora__agenda_offer_timer(agenda);
}

/* I1 */
void hora__agenda_leave_admission(struct agenda *agenda, struct hora__entry *entry)
{
    struct hora__ticket *ticket = ticket_of(entry);
    assert(entry->in_admission && entry->kept);
    entry->in_admission = false;
    hora__agenda_keep(agenda, entry, false);
    if (hora__ticket_waits(ticket) && !HORA__FAULT(ADMISSION_MOVE_KEEPS_TICKET)) /* else it has just begun */
        (void)hora__admission_queue_remove(agenda->admission, ticket);
    if (entry->is_guest)
        hora__guest_of(entry)->ticket = NULL;
}

hora_ns hora__agenda_waiting_due(const struct hora__entry *entry)
{
    assert(entry->in_admission);
    if (entry->is_guest)
        return ((const struct hora__guest *)entry)->ticket->since;
    const char *address = (const char *)entry - offsetof(struct hora__scheduled, entry);
    return hora__scheduled_due((const struct hora__scheduled *)(const void *)address);
}

struct hora__entry *hora__agenda_find_waiting(struct agenda *agenda, const hora_future *future)
{
    struct hora__ticket *ticket =
        agenda->admission != NULL ? hora__admission_queue_waiting(agenda->admission, future) : NULL;
    return ticket != NULL ? entry_of(agenda, ticket) : NULL;
}

struct hora__entry *hora__agenda_first_waiting(struct agenda *agenda)
{
    struct hora__ticket *first =
        agenda->admission != NULL ? hora__admission_first(&agenda->admission->admission) : NULL;
    return first != NULL ? entry_of(agenda, first) : NULL;
}

void hora__agenda_each_waiting(struct agenda *agenda, enum hora__timeline line,
                               void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    if (agenda->admission == NULL || HORA__FAULT(ADMISSION_HIDES_WAITING))
        return;
    const struct hora__admission *admission = &agenda->admission->admission;
    for (struct hora__ticket *at = hora__admission_first(admission); at != NULL;
         at = hora__admission_after(admission, at)) {
        struct hora__entry *entry = at != &agenda->timer_ticket ? entry_of(agenda, at) : NULL;
        if (entry != NULL && (enum hora__timeline)entry->line == line)
            visit(entry, arg);
    }
}

/* Entries are told apart by their numbers; the times of tickets, which have the highest bit set, from those,
 * and from each other. */
hora_ns hora__agenda_next_admission(const struct agenda *agenda, hora_ns until, uint64_t *element)
{
    if (agenda->admission->admission.waiting == 0)
        return until;
    hora_ns next = hora__admission_next(&agenda->admission->admission, now_of(agenda));
    if (next >= until || HORA__FAULT(ADMISSION_NEXT_UNSEEN))
        return until;
    *element = next == INT64_MIN ? UINT64_MAX : (uint64_t)next | UINT64_C(1) << 63;
    return next;
}

/* ---- timers ---- */

/* I3 */
void hora__agenda_offer_timer(struct agenda *agenda)
{
    ASSERT_LOCKED(agenda);
    const struct hora__timer_heap *heap = timer_heap(agenda);
    struct hora__admission *admission = &agenda->admission->admission;
    struct hora__ticket *ticket = &agenda->timer_ticket;
    hora_ns due = heap->size > 0 ? heap->slots[0].due : HORA_FOREVER;
    bool is_due = heap->size > 0 && due != HORA_FOREVER && due <= now_of(agenda);
    if (hora__ticket_waits(ticket) && (!is_due || ticket->since != due))
        hora__admission_remove(admission, ticket);
    if (is_due && !hora__ticket_waits(ticket))
        hora__admission_add(admission, ticket, NULL, due);
}

/* The first timer leaves. Its run counts until it ends, see hora__agenda_ran, while the next timer waits by
 * the same ticket. */
static struct hora__cell *take_timer(struct agenda *agenda, bool begins, hora_ns now, struct hora__cell *ret_cell)
{
    struct hora__entry *entry = entry_of(agenda, &agenda->timer_ticket);
    hora_ns due = timer_heap(agenda)->slots[0].due;
    if (begins)
        hora__admission_begin_anonymous(&agenda->admission->admission, &agenda->timer_ticket, now);
    hora__agenda_remove(agenda, entry);
    return hora__agenda_hand_out(agenda, entry, due, ret_cell);
}

/* ---- taking ---- */

/* A waiting entry leaves, after its ticket has begun, or without that. */
static hora_future *take_entry(struct agenda *agenda, struct hora__ticket *ticket, bool begins, hora_ns now)
{
    struct hora__entry *entry = entry_of(agenda, ticket);
    if (begins)
        hora__admission_begin(&agenda->admission->admission, ticket, now);
    return hora__agenda_take_entry(agenda, entry);
}

void *hora__agenda_take_admitted(struct agenda *agenda, bool begins, struct hora__cell *ret_cell)
{
    hora_ns now = now_of(agenda);
    struct hora__ticket *best = hora__admission_best(&agenda->admission->admission, now);
    if (best == NULL)
        return NULL;
    if (best == &agenda->timer_ticket)
        return take_timer(agenda, begins, now, ret_cell);
    return take_entry(agenda, best, begins, now);
}

bool hora__agenda_end_ticket(struct hora__scheduled *scheduled)
{
    struct agenda *agenda = agenda_of(scheduled->queue);
    ASSERT_LOCKED(agenda);
    if (agenda->admission == NULL || !hora__ticket_runs(scheduled->course->extra->ticket))
        return false;
    assert(scheduled->entry.place == HORA__TAKEN || scheduled->entry.place == HORA__RUNS); /* I2 */
    hora__admission_end(&agenda->admission->admission, scheduled->course->extra->ticket);
    return true;
}

/* ---- workers that wait for a task of their own scheduler ---- */

/* The ticket that has to begin before a worker can run this waiting one; itself, if there is none. */
static struct hora__ticket *first_of_key(const struct agenda *agenda, struct hora__ticket *ticket)
{
    if (ticket->state != HORA__TICKET_BEHIND)
        return ticket;
    return hora__admission_first_of_key(&agenda->admission->admission, ticket->key);
}

/* A task that comes back never runs on a waiting worker, and neither does a task behind it by its key. */
static hora_ns help(struct agenda *agenda, struct hora__entry *entry, hora_future **ret_future)
{
    struct hora__ticket *first = first_of_key(agenda, ticket_of(entry));
    bool waits = hora__ticket_waits(first);
    struct hora__entry *first_entry = waits ? entry_of(agenda, first) : NULL;
    if (waits && first_entry->comes_back)
        return HORA_FOREVER;
    hora_ns from = hora__admission_help(&agenda->admission->admission, ticket_of(entry), now_of(agenda), &first);
    if (from == INT64_MIN)
        *ret_future = hora__agenda_take_entry(agenda, first_entry);
    return from;
}

hora_ns hora__agenda_help(hora_queue *queue, hora_future *future, hora_future **ret_future)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct agenda *agenda = agenda_of(queue);
    hora_ns from = HORA_FOREVER;
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_feed(agenda);
    struct hora__entry *entry = hora__agenda_find(queue, future);
    if (entry != NULL && entry->in_admission)
        from = help(agenda, entry, ret_future);
    else if (entry != NULL)
        from = on_own_line(agenda, entry, hora__agenda_due(queue, entry));
    hora__queue_settle(queue, NULL, &wakes); /* other entries may have become due as well */
    hora__queue_exit(queue, &wakes);
    return from;
}

/* ---- another class or level ---- */

static void change_locked(struct hora__scheduled *scheduled, const struct hora__ticket_change *change)
{
    hora__admission_change(&agenda_of(scheduled->queue)->admission->admission, scheduled->course->extra->ticket,
                           change);
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
