/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - serving the threads that wait on a queue
 *
 * Purpose           Every operation changes the container and then calls hora__queue_serve, which restores
 *                   the invariants below. Waiting threads are served here and nowhere else, except in the
 *                   synchronous queue, whose container they are. So order and hand-over are decided in one
 *                   place.
 * How it works      An element is handed to the taker that has waited longest, and the room that a take makes
 *                   is given to the putter that has waited longest. Each is woken once, with the outcome, and
 *                   no thread that arrives later can overtake it. In a delay queue, elements become available
 *                   as time passes, so one thread must wake up for the first of them: the leader, a taker
 *                   that sleeps until that element is due. The other takers sleep until they are served or
 *                   become the leader. The queue of a pool is served in another way: see
 *                   src/exec/work_source.c.
 * Invariants        With the lock free:
 *                   I1 no putter waits while there is room.
 *                   I2 no taker waits while an element can be taken (delay queue: by the last reading of the
 *                      clock).
 *                   I3 if a delay queue has an element with a due time, and a taker would wait that long,
 *                      then there is a leader, and it does not sleep beyond the due time of the first
 *                      element.
 *                   I4 the leader is on the takers' list.
 *                   I5 the descriptor, if made, is readable exactly while something can be taken or the queue
 *                      is closed. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "queue/queue.h"

static struct hora__queue_waiter *queue_waiter(struct hora__waiter *waiter)
{
    return HORA__LIST_ENTRY(waiter, struct hora__queue_waiter, waiter);
}

/* Inserts the elements of waiting putters, in order, until the container refuses one (I1). */
void hora__queue_admit_putters(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__waiter *putter;
    while ((putter = hora__waiters_first(&queue->putters)) != NULL) {
        if (queue->kind->push(queue, &queue_waiter(putter)->put, wakes) < 0)
            break;
        hora__waiter_resolve(putter, 0, wakes);
    }
}

/* Hands elements that can be taken to waiting takers, in order (I2). Returns whether the leader was served;
 * the queue has no leader then. */
static bool serve_takers(hora_queue *queue, struct hora__wakes *wakes)
{
    const struct hora__waiter *leader = queue->leader;
    while (!hora__list_is_empty(&queue->takers)) {
        struct hora__waiter *taker = HORA__FAULT(HANDOVER_TO_LATEST) ? hora__waiters_last(&queue->takers)
                                                                     : hora__waiters_first(&queue->takers);
        void *item = queue->kind->pop(queue, wakes);
        if (item == NULL)
            break;
        if (queue->leader == taker)
            queue->leader = NULL; /* I4 */
        queue_waiter(taker)->item = item;
        hora__waiter_resolve(taker, 0, wakes);
    }
    return leader != queue->leader;
}

/* Makes a taker the leader for an element that is due at `due`. Wakes it, so that it sleeps until then;
 * except `self`, the caller's own waiter, which is awake and has yet to choose how long it sleeps. */
static void lead(hora_queue *queue, struct hora__waiter *taker, hora_ns due, uint64_t element,
                 const struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(due != HORA_FOREVER && taker->deadline >= due);
    queue->leader = taker;
    queue->leader_until = due;
    queue->leader_element = element;
    if (taker != self)
        hora__waiter_nudge(taker, wakes);
}

/* Returns the taker that has waited longest, of those whose deadline is not before `due`; NULL: none. A taker
 * that gives up earlier is of no use as a leader. */
static struct hora__waiter *first_waiting_until(const hora_queue *queue, hora_ns due)
{
    for (struct hora__list *link = queue->takers.next; link != &queue->takers; link = link->next) {
        struct hora__waiter *taker = HORA__LIST_ENTRY(link, struct hora__waiter, link);
        if (taker->deadline >= due)
            return taker;
    }
    return NULL;
}

/* Makes sure that a taker wakes up for the first element (I3): chooses a leader if there is none, and wakes
 * the present one if it would sleep too long. */
static void choose_leader(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    if (queue->kind->next_due == NULL)
        return;
    bool led = self != NULL && queue->leader == self;
    if (led)
        queue->leader = NULL; /* it is awake, and its element may have been removed: choose again */
    if (queue->size == 0 || hora__list_is_empty(&queue->takers))
        return;
    uint64_t element;
    hora_ns due = queue->kind->next_due(queue, &element);
    if (due == HORA_FOREVER)
        return;
    if (queue->leader != NULL) {
        /* If the element of the leader was removed and the next one is due later, the leader wakes up too
         * early and chooses again. That needs no wake-up now. */
        bool sleeps_too_long = element != queue->leader_element && due < queue->leader_until;
        if (sleeps_too_long && !HORA__FAULT(DELAY_NEW_HEAD_UNSEEN))
            lead(queue, queue->leader, due, element, self, wakes);
        return;
    }
    struct hora__waiter *taker = led && self->deadline >= due ? self : first_waiting_until(queue, due);
    if (taker != NULL)
        lead(queue, taker, due, element, self, wakes);
}

/* Returns from when on an element can be taken: HORA__READY_NOW, a time, or HORA_FOREVER if there is none. A
 * closed queue counts as ready, because a take returns at once. A synchronous queue is ready while a putter
 * waits. */
static hora_ns ready_from(hora_queue *queue)
{
    uint64_t element;
    if (queue->closed)
        return HORA__READY_NOW;
    if (queue->size > 0)
        return queue->kind->next_due != NULL ? queue->kind->next_due(queue, &element) : HORA__READY_NOW;
    return queue->capacity == 0 && !hora__list_is_empty(&queue->putters) ? HORA__READY_NOW : HORA_FOREVER;
}

/* Updates the descriptor, if there is one (I5). */
void hora__queue_show_ready(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->ready.kind != HORA__READY_NONE)
        hora__ready_fd_set(&queue->ready, queue->object.clock, ready_from(queue));
}

/* Wakes all takers. Used only by the planted fault PUT_WAKES_ALL. */
static void nudge_all(hora_queue *queue, const struct hora__waiter *self, struct hora__wakes *wakes)
{
    for (struct hora__list *link = queue->takers.next; link != &queue->takers; link = link->next) {
        assert(link != NULL);
        if (HORA__LIST_ENTRY(link, struct hora__waiter, link) != self)
            hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), wakes);
    }
}

/* One round. Putters come first, since their elements may be what the takers wait for. */
static void serve_once(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    hora__queue_admit_putters(queue, wakes);
    bool leader_served = serve_takers(queue, wakes);
    if (HORA__FAULT(PUT_WAKES_ALL))
        nudge_all(queue, self, wakes);
    if (!leader_served || !HORA__FAULT(DELAY_LEAD_LOST_ON_TAKE))
        choose_leader(queue, self, wakes);
    hora__queue_show_ready(queue);
}

void hora__queue_serve(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->behaviour != NULL) {
        queue->behaviour->serve(queue, wakes);
        return;
    }
    /* If the inbox held elements that takers must know of, they are in the container now, and another round
     * is needed. Each round but the last serves a taker or finds an element that is due sooner, so this
     * ends. */
    do
        serve_once(queue, self, wakes);
    while (queue->kind->inbox != NULL && queue->kind->inbox->guard(queue));
}

/* Returns whether the leader, which exists, wakes up no later than the first element is due. If so, I2 and I3
 * hold whatever was put or removed. */
static bool leader_suffices(hora_queue *queue)
{
    uint64_t element;
    assert(queue->leader != NULL);
    if (!hora__list_is_empty(&queue->putters))
        return false;
    return queue->size == 0 || HORA__FAULT(DELAY_LEADER_IS_TRUSTED) ||
           queue->kind->next_due(queue, &element) >= queue->leader_until;
}

void hora__queue_serve_change(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->leader == NULL || !leader_suffices(queue))
        hora__queue_serve(queue, NULL, wakes);
    else
        hora__queue_show_ready(queue);
}
