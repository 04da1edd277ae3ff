/* SPDX-License-Identifier: Apache-2.0 */
/* standby.c - who of the waiting takers wakes up for what, in a work source with due times
 *
 * What it is for    A scheduler's workers. A worker that is awake takes what is due, one after the other; to wake
 *                   another one for each element, or to hand it to one that has yet to wake up, would cost more than
 *                   the element.
 * How it works      At most two of the takers that sleep have a time of the queue's to wake up at: the leader that of
 *                   the first element, the standby that of the second. So when the leader takes the first and is busy
 *                   with it, a sleeping worker already wakes up for the next, and no thread has to be woken for
 *                   that: the standby, where it sleeps, is the leader from then on. Only if it would sleep too long
 *                   is it, or another taker, told to look: that one is the searcher (work_source.c), of which there
 *                   is one at most. A taker that looks and finds nothing takes the role that is free, or whose holder
 *                   sleeps too long; that costs nothing, since it is awake. A taker that sleeps for an element that
 *                   has gone meanwhile looks once for nothing, and decides anew.
 * Slack             With short tasks the leader is back before the standby wakes up, which then was woken for
 *                   nothing. So it sleeps longer, each time it was, up to a bound, and less each time it was needed.
 *                   And where elements are due so close together that each sleep ends with many of them, the leader sleeps a little
 *                   longer, too, and takes more at once: else a scheduler with 500,000 of them a second mostly goes to sleep.
 *                   As with the kernel's timer slack, that makes wake-ups late that are not promised to be exact; on a
 *                   virtual clock, and in the simulator, both are always 0.
 * Invariants        With the lock free, if there is an element with a due time, and a taker that would wait that
 *                   long:
 *                   I1 there is a searcher, or a leader that does not sleep beyond the due time of the first element.
 *                   I2 leader and standby are two takers on the list; without a leader there is no standby.
 *                   I3 a leader that has to watch the clock knows that: the standby, which does not, is not made
 *                      leader then. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/work_source.h"
#include "sys/clock.h"

/* How much longer than told a standby may sleep, in ns. The least is what the kernel allows itself with each sleep of a thread. */
enum { LEAST_SLACK = 50000, MOST_SLACK = 16 * LEAST_SLACK };

/* How much longer a leader may, after so many elements were taken since a taker last went to sleep. */
enum { LEADER_SLACK = 25000, MANY = 16 };

/* When the first element is due; HORA_FOREVER: there is none to wake up for. */
static hora_ns first_due(hora_queue *queue, uint64_t *ret_element)
{
    *ret_element = 0;
    return queue->size > 0 ? queue->kind->next_due(queue, ret_element) : HORA_FOREVER;
}

/* If the first element has gone and a later one follows, the leader finds out when it wakes. */
static bool is_led(const hora_queue *queue, hora_ns due, uint64_t element)
{
    return queue->leader != NULL && (queue->leader_until <= due || queue->leader_element == element);
}

/* A standby that wakes up was needed if it has become the leader: then the leader before is still busy with the element
 * that it took. A scheduler with short tasks hardly needs a standby. */
static void learn_standby_slack(hora_queue *queue, const struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__work_source *source = hora__work_source_of(queue);
    if (HORA__SLEEP_IS_EXACT || queue->object.clock->source != NULL)
        return;
    if (queue->leader == waiter && source->leader_is_lax)
        source->standby_slack = source->standby_slack > LEAST_SLACK ? source->standby_slack / 2 : 0;
    else if (source->standby == waiter && source->standby_slack < MOST_SLACK)
        source->standby_slack = source->standby_slack > 0 ? 2 * source->standby_slack : LEAST_SLACK;
}

void hora__work_resign(hora_queue *queue, const struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock) && waiter != NULL);
    struct hora__work_source *source = hora__work_source_of(queue);
    learn_standby_slack(queue, waiter);
    if (source->standby == waiter)
        source->standby = NULL;
    if (queue->leader != waiter)
        return;
    bool watches = source->watched != NULL && !HORA__FAULT(STANDBY_WATCHES_NOTHING);
    queue->leader = watches ? NULL : source->standby; /* I3 */
    queue->leader_until = source->standby_until;
    queue->leader_element = 0;
    source->leader_is_lax = true;
    source->standby = NULL; /* I2 */
}

hora_ns hora__work_sleeps_until(hora_queue *queue, const struct hora__waiter *self)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct hora__work_source *source = hora__work_source_of(queue);
    if (queue->leader != self && source->standby != self)
        return self->deadline;
    hora_ns lax = queue->leader == self ? hora__ns_add(queue->leader_until, source->leader_slack)
                                        : hora__ns_add(source->standby_until, source->standby_slack);
    return lax < self->deadline ? lax : self->deadline;
}

/* Of the takers that do not give up before the time, the one that has slept least is the quickest to be there; NULL: there is none. */
static struct hora__waiter *last_to_last_until(const hora_queue *queue, hora_ns due)
{
    assert(due != HORA_FOREVER);
    for (struct hora__list *link = queue->takers.prev; link != &queue->takers; link = link->prev) {
        struct hora__waiter *taker = HORA__LIST_ENTRY(link, struct hora__waiter, link);
        if (taker->deadline >= due)
            return taker;
    }
    return NULL;
}

/* I1 */
static void cover(hora_queue *queue, struct hora__wakes *wakes)
{
    struct hora__work_source *source = hora__work_source_of(queue);
    uint64_t element;
    assert(source->standby == NULL || (queue->leader != NULL && source->standby != queue->leader)); /* I2 */
    if (source->searcher != NULL || hora__list_is_empty(&queue->takers))
        return;
    hora_ns due = first_due(queue, &element);
    if (due == HORA_FOREVER || is_led(queue, due, element))
        return;
    if (queue->leader != NULL &&
        (HORA__FAULT(DELAY_NEW_HEAD_UNSEEN) || (HORA__FAULT(STANDBY_IS_TRUSTED) && source->leader_is_lax)))
        return;
    struct hora__waiter *taker = queue->leader != NULL ? queue->leader : last_to_last_until(queue, due);
    if (taker == NULL)
        return;
    source->searcher = taker;
    hora__waiter_nudge(taker, wakes);
}

/* Tells posters until when no taker looks, before the last look at what they have posted. Returns whether something has
 * come that has to be looked at. */
static bool finds_more(hora_queue *queue)
{
    const struct hora__work_source *source = hora__work_source_of(queue);
    const struct hora__work_kind *kind = hora__work_kind_of(queue);
    if (kind->expect == NULL)
        return false;
    hora_ns until = queue->leader != NULL ? queue->leader_until : HORA_FOREVER;
    if (source->searcher != NULL || hora__list_is_empty(&queue->takers))
        until = INT64_MIN; /* who is on its way, or comes back, looks */
    if (queue->ready.kind != HORA__READY_NONE)
        until = HORA_FOREVER; /* the descriptor wants to know of everything, always */
    return kind->expect(queue, until);
}

void hora__work_cover(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->kind->next_due != NULL);
    do
        cover(queue, wakes);
    while (finds_more(queue));
}

/* Who led, if anybody, sleeps on, and may do for the second element. */
static void lead(hora_queue *queue, struct hora__waiter *self, hora_ns due, uint64_t element)
{
    assert(due != HORA_FOREVER && queue->leader != self);
    struct hora__work_source *source = hora__work_source_of(queue);
    if (queue->leader != NULL) {
        source->standby = queue->leader;
        source->standby_until = queue->leader_until;
    }
    queue->leader = self;
    queue->leader_until = due;
    queue->leader_element = element;
    source->leader_is_lax = false;
}

static void stand_by(hora_queue *queue, struct hora__waiter *self)
{
    assert(queue->leader != NULL && queue->leader != self); /* I2 */
    struct hora__work_source *source = hora__work_source_of(queue);
    const struct hora__work_kind *kind = hora__work_kind_of(queue);
    if (kind->second_due == NULL || source->watched != NULL)
        return;
    hora_ns due = kind->second_due(queue);
    if (due == HORA_FOREVER || self->deadline < due ||
        (source->standby != NULL && source->standby_until <= due))
        return;
    source->standby = self;
    source->standby_until = due;
}

void hora__work_choose_sleep(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->kind->next_due != NULL);
    struct hora__work_source *source = hora__work_source_of(queue);
    bool may_be_late = !HORA__SLEEP_IS_EXACT && queue->object.clock->source == NULL;
    /* To sleep once costs as much as dozens of short tasks. */
    source->leader_slack = may_be_late && source->taken >= MANY ? LEADER_SLACK : 0;
    source->taken = 0;
    do {
        uint64_t element;
        hora__work_resign(queue, self);
        hora_ns due = first_due(queue, &element);
        if (due != HORA_FOREVER && is_led(queue, due, element) && !source->leader_is_lax)
            stand_by(queue, self);
        else if (due != HORA_FOREVER && self->deadline >= due)
            lead(queue, self, due, element);
        cover(queue, wakes); /* if another has to lead */
    } while (finds_more(queue));
}
