/* SPDX-License-Identifier: Apache-2.0 */
/* standby.c - which of the waiting takers wakes up for which element, in a work source with due times
 *
 * What it is for    A scheduler's workers. A worker that is awake takes all elements that are due, one after
 *                   the other. Waking another worker for each element, or handing the element to a worker
 *                   that has yet to wake up, would cost more than running the element.
 * How it works      At most two of the sleeping takers wake up at a given time: the leader when the first
 *                   element is due, the standby when the second one is. While the leader runs the first
 *                   element, the standby already sleeps until the next one is due. So the leader need not
 *                   wake a thread: it makes the sleeping standby the new leader. Only if the standby would
 *                   sleep too long does the queue wake a taker to search: the standby or another one. That
 *                   taker is the searcher (work_source.c), and there is at most one. A taker that searches
 *                   and finds nothing becomes leader or standby if there is none, or if the present one would
 *                   wake up too late. That costs nothing, because the taker is awake. A taker whose element
 *                   was removed while it slept wakes up once without need, and then decides again.
 * Slack             With short tasks the leader is back before the standby wakes up, and the standby wakes up
 *                   without need; or many of them are due together, and the leader runs them faster alone.
 *                   So the standby sleeps longer each time it was not needed, up to a bound, and less each
 *                   time it was. Where many elements are due at the end of each sleep, the leader also sleeps
 *                   a little longer, and then takes more of them at once. Without that, a scheduler with
 *                   500,000 elements per second would spend most of its time falling asleep. As with the
 *                   kernel's timer slack, this delays only wake-ups that no call promises to be exact. On a
 *                   virtual clock, and in the simulator, both slacks are always 0.
 * Invariants        When the lock is free, if there is an element with a due time and a taker that would wait
 *                   that long:
 *                   I1 there is a searcher, or a leader that does not sleep beyond the due time of the first
 *                      element.
 *                   I2 leader and standby are two takers on the list; without a leader there is no standby.
 *                   I3 if the clocks are watched, the leader watches them. The standby does not, and so it is
 *                      not made leader then. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/work_source.h"
#include "sys/clock.h"

/* How much longer than planned a standby may sleep, in ns, if its slack is not 0. The least is the kernel's
 * own slack for each sleep of a thread. */
enum { LEAST_SLACK = 50000, MOST_SLACK = 16 * LEAST_SLACK };

/* A taker that takes an element at least this often, in ns, works faster alone: waking a second thread, and
 * sharing the lock and the cache lines of the queue with it, costs more than an element does. */
enum { SHORT_TASK = 4000 };

/* How much longer than planned a leader may sleep, in ns, if at least MANY elements were taken since a taker
 * last went to sleep. */
enum { LEADER_SLACK = 25000, MANY = 16 };

/* Returns when the first element is due, and its number in *ret_element; HORA_FOREVER: there is none to wake
 * up for. */
static hora_ns first_due(hora_queue *queue, uint64_t *ret_element)
{
    *ret_element = 0;
    return queue->size > 0 ? queue->kind->next_due(queue, ret_element) : HORA_FOREVER;
}

/* Returns whether the leader wakes up in time for the first element. A leader that sleeps for an element
 * which is not the first any more, but was due earlier, is in time, too: it wakes up and decides again. */
static bool is_led(const hora_queue *queue, hora_ns due, uint64_t element)
{
    return queue->leader != NULL && (queue->leader_until <= due || queue->leader_element == element);
}

/* Returns whether the former leader has taken so many elements while the standby slept on that they are
 * short. */
static bool leader_is_quick(const struct hora__work_source *source)
{
    return source->taken >= (uint32_t)((source->standby_slack + LEAST_SLACK) / SHORT_TASK);
}

/* Adapts the standby's slack when a taker wakes up. If the standby was made leader in its sleep, the former
 * leader is still busy, and the standby was needed, unless the former leader is only busy with many short
 * elements. If it still is the standby, it was not needed, which is the rule in a pool with short tasks. More
 * slack needs more short elements per wake-up. So an element that is stuck behind a long one after many short
 * ones waits for the standby hardly longer than it has waited for the short ones. */
static void learn_standby_slack(hora_queue *queue, const struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__work_source *source = hora__work_source_of(queue);
    if (HORA__SLEEP_IS_EXACT || queue->object.clock->source != NULL)
        return;
    bool was_made_leader = queue->leader == waiter && source->leader_is_lax;
    if (was_made_leader && !leader_is_quick(source))
        source->standby_slack = source->standby_slack > LEAST_SLACK ? source->standby_slack / 2 : 0;
    else if ((was_made_leader || source->standby == waiter) && source->standby_slack < MOST_SLACK)
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
    /* The standby, if there is one, leads from now on, and sleeps on until standby_until plus its slack. */
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

/* Of the takers that do not time out before `due`, returns the last one to fall asleep, because it is the
 * fastest to run; NULL: there is none. */
static struct hora__waiter *last_waiting_until(const hora_queue *queue, hora_ns due)
{
    assert(due != HORA_FOREVER);
    for (struct hora__list *link = queue->takers.prev; link != &queue->takers; link = link->prev) {
        struct hora__waiter *taker = HORA__LIST_ENTRY(link, struct hora__waiter, link);
        if (taker->deadline >= due)
            return taker;
    }
    return NULL;
}

/* Restores I1: wakes a taker as the searcher, if no leader wakes up in time for the first element. */
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
    struct hora__waiter *taker = queue->leader != NULL ? queue->leader : last_waiting_until(queue, due);
    if (taker == NULL)
        return;
    source->searcher = taker;
    hora__waiter_nudge(taker, wakes);
}

/* Tells submitters until when no taker searches of its own accord, and then checks the inbox for the last
 * time. Returns whether it found a task for which a taker has to search. */
static bool finds_more(hora_queue *queue)
{
    const struct hora__work_source *source = hora__work_source_of(queue);
    const struct hora__work_kind *kind = hora__work_kind_of(queue);
    if (kind->expect == NULL)
        return false;
    hora_ns until = queue->leader != NULL ? queue->leader_until : HORA_FOREVER;
    if (source->searcher != NULL || hora__list_is_empty(&queue->takers))
        until = INT64_MIN; /* the searcher, or a worker that needs its next task, will search */
    if (queue->ready.kind != HORA__READY_NONE)
        until = HORA_FOREVER; /* the descriptor shows every task, so submitters report each one */
    return kind->expect(queue, until);
}

void hora__work_cover(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->kind->next_due != NULL);
    do
        cover(queue, wakes);
    while (finds_more(queue));
}

/* Makes the calling taker the leader. The previous leader, if there is one, sleeps on as the standby. */
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

/* Makes the calling taker the standby, if there is none or the present one would wake up later than the
 * second element is due. While the clocks are watched there is no standby (I3). */
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
    /* If many elements were taken since the last sleep, sleep a little longer to take even more at once: one
     * sleep costs as much as dozens of short tasks. */
    source->leader_slack = may_be_late && source->taken >= MANY ? LEADER_SLACK : 0;
    source->taken = 0;
    /* Decide again for as long as the inbox holds elements that the decision has not taken into account. */
    do {
        uint64_t element;
        hora__work_resign(queue, self);
        hora_ns due = first_due(queue, &element);
        if (due != HORA_FOREVER && is_led(queue, due, element) && !source->leader_is_lax)
            stand_by(queue, self);
        else if (due != HORA_FOREVER && self->deadline >= due)
            lead(queue, self, due, element);
        cover(queue, wakes); /* if this taker times out too early to lead, another one has to */
    } while (finds_more(queue));
}
