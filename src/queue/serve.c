/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - what must hold whenever a queue's lock is free
 *
 * What it is for    Every operation changes the container and then settles. Waiting threads are served here
 *                   and nowhere else (but for the synchronous queue, whose container they are), so order and
 *                   hand-over are decided in one place.
 * How it works      An element goes straight to the longest waiting taker, and the room that a take leaves
 *                   goes straight to the longest waiting putter. Each is woken once, with the outcome, and no
 *                   thread that comes later can overtake it. In a delay queue elements become available as
 *                   time passes, so one thread has to wake up for the first of them: the leader, a taker that
 *                   sleeps until that element is due. The other takers sleep until they are served or made
 *                   leader. A pool's own queue settles in its own way: see src/exec/work_source.c.
 * Invariants        With the lock free:
 *                   I1 no putter waits while there is room.
 *                   I2 no taker waits while an element can be taken (delay queue: as of the last look).
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

/* I1 */
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

/* I2. Whether the leader was served. */
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

/* The taker leads from now on. It is woken unless it is `self`, which is awake and looks anyway. */
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

/* The longest waiting taker that does not give up before the time, since another one would be of no use as a
 * leader; NULL: there is none. */
static struct hora__waiter *first_to_last_until(const hora_queue *queue, hora_ns due)
{
    for (struct hora__list *link = queue->takers.next; link != &queue->takers; link = link->next) {
        struct hora__waiter *taker = HORA__LIST_ENTRY(link, struct hora__waiter, link);
        if (taker->deadline >= due)
            return taker;
    }
    return NULL;
}

/* I3 */
static void choose_leader(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    if (queue->kind->next_due == NULL)
        return;
    bool led = self != NULL && queue->leader == self;
    if (led)
        queue->leader = NULL; /* it is awake, and its element may have gone: decide anew */
    if (queue->size == 0 || hora__list_is_empty(&queue->takers))
        return;
    uint64_t element;
    hora_ns due = queue->kind->next_due(queue, &element);
    if (due == HORA_FOREVER)
        return;
    if (queue->leader != NULL) {
        /* If the first element has gone and a later one follows, the leader finds out when it wakes. */
        bool sleeps_too_long = element != queue->leader_element && due < queue->leader_until;
        if (sleeps_too_long && !HORA__FAULT(DELAY_NEW_HEAD_UNSEEN))
            lead(queue, queue->leader, due, element, self, wakes);
        return;
    }
    struct hora__waiter *taker = led && self->deadline >= due ? self : first_to_last_until(queue, due);
    if (taker != NULL)
        lead(queue, taker, due, element, self, wakes);
}

static hora_ns ready_from(hora_queue *queue)
{
    uint64_t element;
    if (queue->closed)
        return HORA__READY_NOW;
    if (queue->size > 0)
        return queue->kind->next_due != NULL ? queue->kind->next_due(queue, &element) : HORA__READY_NOW;
    return queue->capacity == 0 && !hora__list_is_empty(&queue->putters) ? HORA__READY_NOW : HORA_FOREVER;
}

/* I5 */
void hora__queue_show_ready(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->ready.kind != HORA__READY_NONE)
        hora__ready_fd_set(&queue->ready, queue->object.clock, ready_from(queue));
}

static void nudge_all(hora_queue *queue, const struct hora__waiter *self, struct hora__wakes *wakes)
{
    for (struct hora__list *link = queue->takers.next; link != &queue->takers; link = link->next) {
        assert(link != NULL);
        if (HORA__LIST_ENTRY(link, struct hora__waiter, link) != self)
            hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), wakes);
    }
}

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
    /* Each round but the last serves a taker, or finds an element that is due sooner: there is an end. */
    do
        serve_once(queue, self, wakes);
    while (queue->kind->inbox != NULL && queue->kind->inbox->guard(queue));
}

/* Whether the leader, which there is, looks not later than when the first element can be taken. Then I2 and
 * I3 hold, whatever was put or removed. */
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
