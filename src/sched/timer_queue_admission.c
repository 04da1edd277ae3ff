/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_admission.c - a scheduler with admission control: due entries wait in an admission queue
 *
 * How it works      A thread that takes from the timer queue first feeds all due entries into the admission
 *                   queue, in the order of their due times. Then it takes the entry whose ticket is next. An
 *                   entry that waits for admission is in no heap, but its slot stays reserved, so that it can
 *                   always be moved back. It still counts in the size of the timer queue, is found and
 *                   visited like all others, and keeps its due time. An entry that is moved, because its task
 *                   was re-timed or paused, or because its planned time is stale, is inserted into its heap
 *                   again, and loses its place in the admission queue.
 * Tickets           A ticket begins when a worker takes the entry. It ends when the task is put back, or has
 *                   ended, whichever comes first. The ticket of a series whose runs overlap passes to the
 *                   overlapping run.
 * Foreign futures   bring no ticket along; the timer queue makes one for each, together with its entry.
 * Timers            have no memory for a ticket, and need none: they have no class and no key, and all have
 *                   the same level. So admission never lets a timer overtake one that is due before it.
 *                   Timers are in a separate heap. Once its first timer is due, that timer waits by the one
 *                   ticket that all timers share. Running timers are counted without a ticket.
 * Invariants        I1 in_admission is set exactly while the entry's ticket waits. Then the entry is in no
 *                      heap, and its slot is reserved (kept).
 *                   I2 A scheduled future whose ticket runs is TAKEN or RUNS.
 *                   I3 If timer_ticket waits, then since the due time of the first timer. It waits if that
 *                      timer was due when a thread last took an entry, or tried to. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/extra.h"
#include "exec/pool.h"
#include "sched/overlap.h"
#include "sched/scheduled.h"
#include "sched/timer_queue_internal.h"
#include "sync/clock.h"

#define ASSERT_LOCKED(timer_queue) assert(hora__mutex_held(&(timer_queue)->base.queue.object.lock))

/* Returns the ticket that an item brings along: that of a scheduled future of this pool, or of an
 * overlapping run; NULL: a foreign future, which brings none. See struct hora__admission_queue. The
 * context is the pool. */
static struct hora__ticket *own_ticket(const void *context, const void *item)
{
    assert(context != NULL && item != NULL);
    const hora_pool *pool = context;
    const hora_future *future = item;
    if (future->kind == HORA__FUTURE_OVERLAPPING)
        return hora__overlap_ticket(future);
    if (future->kind != HORA__FUTURE_SCHEDULED)
        return NULL;
    const struct hora__scheduled *scheduled = item;
    return scheduled->queue == pool->queue ? scheduled->series->extra->ticket : NULL;
}

/* From now on timers use their separate heap. The timer queue is empty, so no timer has to move. */
struct hora__admission_queue *hora__timer_queue_add_admission(hora_queue *queue, hora_ns ageing,
                                                              int (*threads)(const void *context),
                                                              const void *context)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    assert(queue->size == 0 && timer_queue->admission == NULL);
    hora__admission_queue_init(&timer_queue->own_admission, ageing, own_ticket, threads, context,
                               &queue->object.lock);
    hora__ticket_init(&timer_queue->timer_ticket, NULL, 0, HORA__LEVEL_NORMAL);
    timer_queue->timer_line = TIMERS_WITH_ADMISSION;
    timer_queue->admission = &timer_queue->own_admission;
    return timer_queue->admission;
}

struct hora__admission_queue *hora__timer_queue_admission(hora_queue *queue)
{
    return timer_queue_of(queue)->admission;
}

/* ---- tickets and entries ---- */

/* Returns the ticket of an entry that is not a timer. With admission, every scheduled future has a series
 * state with a ticket. */
static struct hora__ticket *ticket_of(struct hora__entry *entry)
{
    assert(!entry->is_detached);
    if (entry->is_foreign)
        return hora__foreign_of(entry)->ticket;
    return hora__scheduled_of_entry(entry)->series->extra->ticket;
}

/* Returns the entry of a waiting ticket: for timer_ticket that of the first timer, for a ticket that was made
 * that of its holder, the record of a foreign future. */
static struct hora__entry *entry_of(struct timer_queue *timer_queue, struct hora__ticket *ticket)
{
    assert(hora__ticket_waits(ticket));
    if (ticket == &timer_queue->timer_ticket)
        return entry_by_due(hora__timer_heap_first(timer_heap(timer_queue)));
    struct hora__scheduled *scheduled = hora__scheduled_of(ticket->item);
    return scheduled != NULL ? &scheduled->entry
                             : &((struct hora__foreign *)hora__ticket_holder(ticket))->entry;
}

/* Returns the time of the timer queue's own clock. */
static hora_ns now_of(const struct timer_queue *timer_queue)
{
    return hora__timer_queue_now(&timer_queue->base.queue, timer_queue->own);
}

/* Translates a time on an entry's timeline to the timer queue's own clock. */
static hora_ns on_own_line(const struct timer_queue *timer_queue, const struct hora__entry *entry,
                           hora_ns due)
{
    assert(entry->line < LINES);
    if ((enum hora__timeline)entry->line == timer_queue->own || due == HORA_FOREVER)
        return due;
    hora_ns off =
        hora__ns_sub(due, hora__timer_queue_now(&timer_queue->base.queue, (enum hora__timeline)entry->line));
    return hora__ns_add(now_of(timer_queue), off);
}

/* ---- waiting for admission ---- */

/* Moves a due entry from its heap into the admission queue. Its slot stays reserved: I1. Its ticket waits
 * since the due time, not since now, so an entry that a busy worker finds late keeps its place in the
 * order. */
static void feed(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(!entry->in_admission && !entry->kept && !entry->is_detached);
    hora_ns due = hora__timer_queue_due(&timer_queue->base.queue, entry);
    hora__timer_queue_pull(timer_queue, entry);
    hora__timer_queue_keep(timer_queue, entry, true);
    entry->in_admission = true;
    hora__admission_queue_add(timer_queue->admission, ticket_of(entry), hora__entry_future(entry),
                              on_own_line(timer_queue, entry, due));
}

/* Ends when hora__timer_queue_first_due finds no entry. By then it has absorbed the lanes. */
void hora__timer_queue_feed_admission(struct timer_queue *timer_queue)
{
    ASSERT_LOCKED(timer_queue);
    struct hora__entry *first;
    while ((first = hora__timer_queue_first_due(timer_queue)) != NULL)
        feed(timer_queue, first);
    hora__timer_queue_offer_timer(timer_queue);
}

/* Restores I1. If the entry is being taken, its ticket has begun before, and admission keeps it until the run
 * ends. In either case the record of a foreign future does not refer to its ticket any more; the admission
 * queue frees it. */
void hora__timer_queue_leave_admission(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    struct hora__ticket *ticket = ticket_of(entry);
    assert(entry->in_admission && entry->kept);
    entry->in_admission = false;
    hora__timer_queue_keep(timer_queue, entry, false);
    if (hora__ticket_waits(ticket) && !HORA__FAULT(ADMISSION_MOVE_KEEPS_TICKET))
        (void)hora__admission_queue_remove(timer_queue->admission, ticket);
    if (entry->is_foreign)
        hora__foreign_of(entry)->ticket = NULL;
}

/* A scheduled future knows its due time. The due time of a foreign future, on the own timeline, is in its
 * ticket. */
hora_ns hora__timer_queue_waiting_due(const struct hora__entry *entry)
{
    assert(entry->in_admission);
    if (entry->is_foreign)
        return ((const struct hora__foreign *)entry)->ticket->since;
    const char *address = (const char *)entry - offsetof(struct hora__scheduled, entry);
    return hora__scheduled_due((const struct hora__scheduled *)(const void *)address);
}

struct hora__entry *hora__timer_queue_find_waiting(struct timer_queue *timer_queue, const hora_future *future)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    struct hora__ticket *ticket =
        timer_queue->admission != NULL ? hora__admission_queue_waiting(timer_queue->admission, future) : NULL;
    return ticket != NULL ? entry_of(timer_queue, ticket) : NULL;
}

struct hora__entry *hora__timer_queue_first_waiting(struct timer_queue *timer_queue)
{
    struct hora__ticket *first =
        timer_queue->admission != NULL ? hora__admission_first(&timer_queue->admission->admission) : NULL;
    return first != NULL ? entry_of(timer_queue, first) : NULL;
}

/* In the order of arrival. */
void hora__timer_queue_each_waiting(struct timer_queue *timer_queue, enum hora__timeline line,
                                    void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    if (timer_queue->admission == NULL || HORA__FAULT(ADMISSION_HIDES_WAITING))
        return;
    const struct hora__admission *admission = &timer_queue->admission->admission;
    for (struct hora__ticket *at = hora__admission_first(admission); at != NULL;
         at = hora__admission_after(admission, at)) {
        /* The first timer is also in its heap, which the caller visits; so it is left out here. */
        struct hora__entry *entry = at != &timer_queue->timer_ticket ? entry_of(timer_queue, at) : NULL;
        if (entry != NULL && (enum hora__timeline)entry->line == line)
            visit(entry, arg);
    }
}

/* The leader sleeps for an element, which a number identifies. For an entry that is its sequence number. Here
 * it is the time at which a ticket may begin, with the highest bit set, so that it differs from all sequence
 * numbers and from the numbers of other times. */
hora_ns hora__timer_queue_next_admission(const struct timer_queue *timer_queue, hora_ns until,
                                         uint64_t *element)
{
    assert(timer_queue->admission != NULL);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    if (timer_queue->admission->admission.waiting == 0)
        return until;
    hora_ns next = hora__admission_next(&timer_queue->admission->admission, now_of(timer_queue));
    if (next >= until || HORA__FAULT(ADMISSION_NEXT_UNSEEN))
        return until;
    *element = next == INT64_MIN ? UINT64_MAX : (uint64_t)next | UINT64_C(1) << 63;
    return next;
}

/* ---- timers ---- */

/* Restores I3: the ticket waits exactly if the first timer is due, and since its due time. */
void hora__timer_queue_offer_timer(struct timer_queue *timer_queue)
{
    ASSERT_LOCKED(timer_queue);
    const struct hora__timer_heap *heap = timer_heap(timer_queue);
    struct hora__admission *admission = &timer_queue->admission->admission;
    struct hora__ticket *ticket = &timer_queue->timer_ticket;
    hora_ns due = heap->size > 0 ? heap->slots[0].due : HORA_FOREVER;
    bool is_due = heap->size > 0 && due != HORA_FOREVER && due <= now_of(timer_queue);
    if (hora__ticket_waits(ticket) && (!is_due || ticket->since != due))
        hora__admission_remove(admission, ticket);
    if (is_due && !hora__ticket_waits(ticket))
        hora__admission_add(admission, ticket, NULL, due);
}

/* Removes the first timer and hands it out. If `begins`, the run counts until hora__timer_queue_ran, while
 * the next timer already waits by the same ticket. */
static struct hora__taken *take_timer(struct timer_queue *timer_queue, bool begins, hora_ns now,
                                      struct hora__taken *ret_taken)
{
    assert(hora__ticket_waits(&timer_queue->timer_ticket) && timer_heap(timer_queue)->size > 0); /* I3 */
    struct hora__entry *entry = entry_of(timer_queue, &timer_queue->timer_ticket);
    hora_ns due = timer_heap(timer_queue)->slots[0].due;
    if (begins)
        hora__admission_begin_anonymous(&timer_queue->admission->admission, &timer_queue->timer_ticket, now);
    /* The ticket is OUT now. Removing the timer offers the next one. */
    hora__timer_queue_remove(timer_queue, entry);
    return hora__timer_queue_hand_out(timer_queue, entry, due, ret_taken);
}

/* ---- taking ---- */

/* Removes a waiting entry for the thread that takes it. If `begins`, its ticket begins before that; else the
 * ticket is given back. */
static hora_future *take_entry(struct timer_queue *timer_queue, struct hora__ticket *ticket, bool begins,
                               hora_ns now)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    struct hora__entry *entry = entry_of(timer_queue, ticket);
    if (begins)
        hora__admission_begin(&timer_queue->admission->admission, ticket, now);
    return hora__timer_queue_take_entry(timer_queue, entry);
}

/* Admission chooses among tasks and the first timer alike. */
void *hora__timer_queue_take_admitted(struct timer_queue *timer_queue, bool begins,
                                      struct hora__taken *ret_taken)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora_ns now = now_of(timer_queue);
    struct hora__ticket *best = hora__admission_best(&timer_queue->admission->admission, now);
    if (best == NULL)
        return NULL;
    if (best == &timer_queue->timer_ticket)
        return take_timer(timer_queue, begins, now, ret_taken);
    return take_entry(timer_queue, best, begins, now);
}

/* Called when a series is put back or has no planned time left. With overlap, the ticket has passed to the
 * overlapping run by then, unless that run was skipped or held back. */
bool hora__timer_queue_end_ticket(struct hora__scheduled *scheduled)
{
    struct timer_queue *timer_queue = timer_queue_of(scheduled->queue);
    ASSERT_LOCKED(timer_queue);
    if (timer_queue->admission == NULL || !hora__ticket_runs(scheduled->series->extra->ticket))
        return false;
    assert(scheduled->entry.stage == HORA__TAKEN || scheduled->entry.stage == HORA__RUNS); /* I2 */
    hora__admission_end(&timer_queue->admission->admission, scheduled->series->extra->ticket);
    return true;
}

/* ---- workers that wait for a task of their own scheduler ---- */

/* Returns the ticket that has to begin before a worker can run this waiting one: the first one of its key, or
 * the ticket itself if it is not behind another. */
static struct hora__ticket *first_of_key(const struct timer_queue *timer_queue, struct hora__ticket *ticket)
{
    assert(hora__ticket_waits(ticket));
    if (ticket->state != HORA__TICKET_BEHIND)
        return ticket;
    return hora__admission_first_of_key(&timer_queue->admission->admission, ticket->key);
}

/* Begins and takes the task of an entry, or the first task of its key, for a worker that waits for the
 * entry's task. See hora__admission_help for the result. A task that comes back is never run by a waiting
 * worker; nor is a task that is behind such a task by its key. */
static hora_ns help(struct timer_queue *timer_queue, struct hora__entry *entry, hora_future **ret_future)
{
    assert(entry->in_admission);
    struct hora__ticket *first = first_of_key(timer_queue, ticket_of(entry));
    bool waits = hora__ticket_waits(first);
    /* A first ticket that already runs has no entry in the queue. */
    struct hora__entry *first_entry = waits ? entry_of(timer_queue, first) : NULL;
    if (waits && first_entry->comes_back)
        return HORA_FOREVER;
    hora_ns from = hora__admission_help(&timer_queue->admission->admission, ticket_of(entry),
                                        now_of(timer_queue), &first);
    if (from == INT64_MIN)
        *ret_future = hora__timer_queue_take_entry(timer_queue, first_entry);
    return from;
}

/* If the task is not due yet, the result is its due time on the own clock: the worker tries again then. A
 * task that is not in the queue returns HORA_FOREVER. */
hora_ns hora__timer_queue_help(hora_queue *queue, hora_future *future, hora_future **ret_future)
{
    assert(ret_future != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct timer_queue *timer_queue = timer_queue_of(queue);
    hora_ns from = HORA_FOREVER;
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_feed_admission(timer_queue);
    struct hora__entry *entry = hora__timer_queue_find(queue, future);
    if (entry != NULL && entry->in_admission)
        from = help(timer_queue, entry, ret_future);
    else if (entry != NULL)
        from = on_own_line(timer_queue, entry, hora__timer_queue_due(queue, entry));
    hora__queue_serve(queue, NULL, &wakes); /* feeding may have found other entries that are due */
    hora__queue_exit(queue, &wakes);
    return from;
}

/* ---- another class or level ---- */

/* Changes the ticket of a task and, with overlap, those of its running overlapping runs. */
static void change_locked(struct hora__scheduled *scheduled, const struct hora__ticket_change *change)
{
    assert(scheduled->series != NULL && scheduled->series->extra != NULL);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    hora__admission_change(&timer_queue_of(scheduled->queue)->admission->admission,
                           scheduled->series->extra->ticket, change);
    if (scheduled->series->overlap != NULL)
        hora__overlap_change(scheduled, change);
}

/* A task that a worker has cannot be changed, unless it comes back: then the change holds for its next
 * runs. */
int hora__timer_queue_change_ticket(hora_future *future, const struct hora__ticket_change *change)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct hora__scheduled *scheduled;
    int error = hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    /* The rule is that of pausing and re-timing: see enter_to_change in scheduled.c. */
    enum hora__stage stage = (enum hora__stage)scheduled->entry.stage;
    bool comes_back = scheduled->entry.comes_back && (stage == HORA__TAKEN || stage == HORA__RUNS);
    if (hora_future_is_done(future) || (stage != HORA__WAITS && !comes_back)) {
        hora__scheduled_leave(scheduled);
        return HORA_EBUSY;
    }
    change_locked(scheduled, change);
    hora__queue_serve(scheduled->queue, NULL, &wakes);
    hora__queue_exit(scheduled->queue, &wakes);
    return 0;
}
