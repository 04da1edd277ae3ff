/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c - what must hold whenever a queue's lock is free
 *
 * What it is for    Every operation changes the container and then settles. Waiting threads are served here and nowhere
 *                   else (but for the synchronous queue, whose container they are), so order and hand-over are
 *                   decided in one place.
 * How it works      An element goes straight to the longest waiting taker, and the room that a take leaves straight to
 *                   the longest waiting putter: they are woken once, with the outcome, and nobody who comes later can be faster.
 *                   In a delay queue elements become available by the mere passing of time, so somebody must wake up for
 *                   the first one: the leader, a taker that sleeps until it is due. The others sleep until they are
 *                   served or made leader.
 *                   A kind that is searched hands nothing over: to wake a thread for each element costs far more than
 *                   the element. Instead one waiting taker, the searcher, is told to look. As long as it is on its way
 *                   no other is woken, however much is put meanwhile; when it looks it ceases to be the searcher
 *                   first, and if more is left than it takes, it tells the next. So those who are awake take what
 *                   there is, and more of them wake only as fast as they find work. If it is timed, too, see standby.c.
 * Spinning          Of a kind that is searched a taker may go on looking for a time before it goes to the list. It is as good as a searcher, so
 *                   nobody else is woken meanwhile; like one it ceases to be that before it looks with the lock.
 * Invariants        With the lock free:
 *                   I1 no putter waits while there is room.
 *                   I2 no taker waits while an element can be taken (delay queue: as of the last time somebody looked);
 *                      or, of a kind that is searched and not timed, there is a searcher, or one who spins; with an inbox, if there
 *                      is none then one is wanted.
 *                   I3 if a delay queue has an element with a due time, and a taker would wait that long, then
 *                      there is a leader, and it does not sleep beyond the due time of the first element; for a kind
 *                      that is searched see standby.c.
 *                   I4 the leader is on the takers' list.
 *                   I5 the descriptor, if made, is readable exactly while something can be taken or the queue is closed.
 *                   I6 the searcher is on the takers' list, and has been woken since it last looked. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "queue/queue.h"

static struct hora__queue_waiter *queue_waiter(struct hora__waiter *waiter)
{
    return HORA__LIST_ENTRY(waiter, struct hora__queue_waiter, waiter);
}

/* I1 */
static void admit_putters(hora_queue *queue, struct hora__wakes *wakes)
{
    struct hora__waiter *putter;
    while ((putter = hora__waiters_first(&queue->putters)) != NULL) {
        if (queue->kind->push(queue, &queue_waiter(putter)->put, wakes) < 0)
            break;
        hora__waiter_resolve(putter, 0, wakes);
    }
}

static void give(hora_queue *queue, struct hora__waiter *taker, void *item, struct hora__wakes *wakes)
{
    if (queue->leader == taker)
        queue->leader = NULL; /* I4 */
    queue_waiter(taker)->item = item;
    hora__waiter_resolve(taker, 0, wakes);
}

/* I2. Whether the leader was served. */
static bool serve_takers(hora_queue *queue, struct hora__wakes *wakes)
{
    const struct hora__waiter *leader = queue->leader;
    while (!hora__list_is_empty(&queue->takers)) {
        struct hora__waiter *taker =
            HORA__FAULT(HANDOVER_TO_LATEST) ? hora__waiters_last(&queue->takers) : hora__waiters_first(&queue->takers);
        struct hora__cell *cell = queue_waiter(taker)->cell;
        void *item = cell != NULL ? queue->kind->take(queue, cell, wakes) : queue->kind->pop(queue, wakes);
        if (item == NULL)
            break;
        give(queue, taker, item, wakes);
    }
    return leader != queue->leader;
}

/* Nothing is left for a taker that waits: those who post are told before the last look at what they have posted. So
 * either that is seen, or they see that it is wanted. Whether there is still nothing, and that is known for sure. */
static bool look_into_inbox(hora_queue *queue)
{
    if (queue->kind->want == NULL)
        return false;
    if (HORA__FAULT(SEARCH_LOOKS_TOO_SOON))
        queue->kind->absorb(queue);
    queue->kind->want(queue, true);
    if (!HORA__FAULT(SEARCH_LOOKS_TOO_SOON))
        queue->kind->absorb(queue);
    return queue->size == 0;
}

static void do_not_want(hora_queue *queue)
{
    if (queue->kind->want != NULL)
        queue->kind->want(queue, false);
}

/* I2, I6 */
static void call_searcher(hora_queue *queue, struct hora__wakes *wakes)
{
    if (queue->searcher != NULL || queue->spins || hora__list_is_empty(&queue->takers)) {
        do_not_want(queue);
        return;
    }
    if (queue->kind->recall != NULL)
        queue->kind->recall(queue);
    if (queue->size == 0)
        (void)look_into_inbox(queue);
    if (queue->size == 0 || HORA__FAULT(SEARCH_NEVER_BEGINS))
        return;
    do_not_want(queue);
    queue->searcher = hora__waiters_last(&queue->takers); /* the one that has slept least is the quickest to be there */
    hora__waiter_nudge(queue->searcher, wakes);
}

static void lead(hora_queue *queue, struct hora__waiter *taker, hora_ns due, uint64_t element,
                 const struct hora__waiter *self, struct hora__wakes *wakes)
{
    queue->leader = taker;
    queue->leader_until = due;
    queue->leader_element = element;
    if (taker != self) /* who calls this is awake, and will look by itself */
        hora__waiter_nudge(taker, wakes);
}

/* The longest waiting taker that does not give up before the time; NULL: none. Such a one would be of no use as a leader. */
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
        queue->leader = NULL; /* it is awake, and what it slept for may have gone: decide anew */
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
static void show_ready(hora_queue *queue)
{
    if (queue->ready.kind != HORA__READY_NONE)
        hora__ready_fd_set(&queue->ready, queue->object.clock, ready_from(queue));
}

static void settle_searched(hora_queue *queue, struct hora__wakes *wakes)
{
    admit_putters(queue, wakes);
    if (queue->kind->next_due != NULL)
        hora__queue_cover(queue, wakes);
    else
        call_searcher(queue, wakes);
    if (queue->ready.kind != HORA__READY_NONE)
        (void)look_into_inbox(queue); /* the descriptor wants to know of everything, always */
    show_ready(queue);
}

void *hora__queue_search(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->searcher == self && !(HORA__FAULT(SEARCH_NEVER_ENDS) && queue->size > 0))
        queue->searcher = NULL; /* before looking: who puts something now must wake somebody */
    if (queue->kind->recall != NULL)
        queue->kind->recall(queue);
    bool is_empty = queue->size == 0 && queue->searcher == NULL && look_into_inbox(queue);
    struct hora__cell *cell = queue_waiter(self)->cell;
    void *item = is_empty       ? NULL
                 : cell != NULL ? queue->kind->take(queue, cell, wakes)
                                : queue->kind->pop(queue, wakes);
    if (item == NULL) {
        hora__queue_take_post(queue, self, wakes);
        return NULL;
    }
    hora__queue_resign(queue, self);
    hora__list_remove(&self->link);
    if (!HORA__FAULT(SEARCH_ENDS_WITH_FIRST))
        settle_searched(queue, wakes);
    return item;
}

static void nudge_all(hora_queue *queue, const struct hora__waiter *self, struct hora__wakes *wakes)
{
    for (struct hora__list *link = queue->takers.next; link != &queue->takers; link = link->next) {
        assert(link != NULL);
        if (HORA__LIST_ENTRY(link, struct hora__waiter, link) != self)
            hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), wakes);
    }
}

static void settle_once(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    admit_putters(queue, wakes);
    bool leader_served = serve_takers(queue, wakes);
    if (HORA__FAULT(PUT_WAKES_ALL))
        nudge_all(queue, self, wakes);
    if (!leader_served || !HORA__FAULT(DELAY_LEAD_LOST_ON_TAKE))
        choose_leader(queue, self, wakes);
    show_ready(queue);
}

void hora__queue_settle(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->kind->is_searched) {
        settle_searched(queue, wakes);
        return;
    }
    /* Each round but the last serves a taker, or finds an element that is due sooner: there is an end. */
    do
        settle_once(queue, self, wakes);
    while (queue->kind->guard != NULL && queue->kind->guard(queue));
}

/* Whether the leader, which there is, will look not later than when the first element can be taken: then I2 and I3 hold, whatever was put or
 * removed. */
static bool leader_suffices(hora_queue *queue)
{
    uint64_t element;
    if (!hora__list_is_empty(&queue->putters))
        return false;
    return queue->size == 0 || HORA__FAULT(DELAY_LEADER_IS_TRUSTED) ||
           queue->kind->next_due(queue, &element) >= queue->leader_until;
}

void hora__queue_settle_change(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->leader == NULL || !leader_suffices(queue))
        hora__queue_settle(queue, NULL, wakes);
    else
        show_ready(queue);
}

void hora__queue_withdraw(hora_queue *queue, struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__queue_resign(queue, waiter); /* I4 */
    if (queue->searcher == waiter)
        queue->searcher = NULL; /* I6 */
    hora__list_remove(&waiter->link);
}
