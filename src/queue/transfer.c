/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - putting and taking, with and without waiting
 *
 * How it works      A call first tries under the lock. If that fails and there is time left, the thread waits
 *                   on one of the queue's two lists. A waiter that was resolved has its outcome, and its
 *                   thread returns without touching the container. A thread that wakes up because of an
 *                   interrupt or its deadline takes the lock; if its waiter is still on the list, it removes
 *                   the waiter. So an element is handed over exactly if both sides return success.
 * Races             An interrupt or a timeout may coincide with a hand-over. The lock decides: if the
 *                   hand-over was first, it counts, and the interrupt stays pending. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "queue/queue.h"
#include "sync/clock.h"
#include "sync/thread.h"

int hora__queue_begin_waiting(const hora_queue *queue, hora_thread **ret_thread)
{
    int error = hora__queue_check(queue);
    if (error == 0)
        error = hora__thread_current(ret_thread);
    if (error != 0)
        return error;
    return hora__thread_take_interrupt(*ret_thread) ? HORA_EINTERRUPTED : 0;
}

/* Removes the caller's waiter from its list. If it was the leader, there is none now (I4 of serve.c); the
 * caller serves the queue to choose another. */
static void withdraw(hora_queue *queue, struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->leader == waiter)
        queue->leader = NULL;
    hora__list_remove(&waiter->link);
}

/* ---- putting ---- */

/* Puts an element without waiting, counts it, and serves the queue. HORA_ECLOSED, and the errors of push. */
static int put_locked(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->closed)
        return HORA_ECLOSED;
    int error = queue->kind->push(queue, put, wakes);
    if (error < 0)
        return error;
    if (put->accepted != NULL)
        hora__counter_add_alone(put->accepted, 1);
    hora__queue_serve_change(queue, wakes);
    return 0;
}

/* For a caller that has prepared the element itself, such as a completion service. */
int hora__queue_put_now(hora_queue *queue, struct hora__put *put)
{
    assert(put->item != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    error = put_locked(queue, put, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

/* Ends the wait of a putter that woke up by itself: removes it from the list, unless it was resolved first.
 * Returns HORA_ETIMEDOUT or HORA_EINTERRUPTED; or the outcome, if it was resolved. */
static int give_up_putting(hora_queue *queue, struct hora__queue_waiter *self, enum hora__wake wake)
{
    assert(wake == HORA__WAKE_TIME || wake == HORA__WAKE_INTERRUPTED || wake == HORA__WAKE_NUDGED);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    bool resolved = hora__waiter_is_resolved(&self->waiter);
    if (!resolved) {
        withdraw(queue, &self->waiter);
        hora__queue_serve(queue, NULL, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    if (resolved && !HORA__FAULT(WITHDRAW_IGNORES_HANDOVER))
        return self->waiter.result;
    if (wake == HORA__WAKE_TIME)
        return HORA_ETIMEDOUT;
    (void)hora__thread_take_interrupt(self->waiter.thread);
    return HORA_EINTERRUPTED;
}

/* Waits for room. Called with the lock held, releases it. On error *put has its memory again, for discard. */
static int wait_to_put(hora_queue *queue, hora_thread *thread, struct hora__put *put, hora_ns deadline)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct hora__queue_waiter self = {.put = *put};
    hora__waiter_init(&self.waiter, &queue->putters, thread, deadline);
    hora__object_visit(&queue->object);
    hora__queue_serve(queue, NULL, &wakes); /* the descriptor of a synchronous queue shows waiting putters */
    hora__queue_exit(queue, &wakes);

    enum hora__wake wake = hora__waiter_park(&self.waiter, queue->object.clock, deadline);
    int error = wake == HORA__WAKE_RESOLVED ? self.waiter.result : give_up_putting(queue, &self, wake);
    *put = self.put;
    hora__object_leave(&queue->object);
    return error;
}

/* Puts an element that has been prepared. Waits for room if `thread` is not NULL and timeout > 0. The
 * deadline counts from before the lock, so that time spent on the lock counts, too. */
static int put_prepared(hora_queue *queue, struct hora__put *put, hora_thread *thread, hora_ns timeout)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(queue->object.clock, timeout) : 0;
    hora__mutex_lock(&queue->object.lock);
    int error = put_locked(queue, put, &wakes);
    if (error == HORA_EFULL && thread != NULL && timeout > 0)
        return wait_to_put(queue, thread, put, deadline);
    hora__queue_exit(queue, &wakes);
    return error;
}

/* Prepares and puts an element. Waits for room, at most for `timeout`, if `thread` is not NULL. */
static int put(hora_queue *queue, struct hora__put *what, hora_thread *thread, hora_ns timeout)
{
    assert(what->item != NULL);
    if (queue->kind->prepare != NULL) {
        int error = queue->kind->prepare(queue, what);
        if (error < 0)
            return error;
    }
    int error = put_prepared(queue, what, thread, timeout);
    if (error < 0 && queue->kind->prepare != NULL)
        queue->kind->discard(queue, what);
    return error;
}

int hora__queue_put(hora_queue *queue, struct hora__put *what)
{
    return put(queue, what, NULL, 0);
}

/* A kind that always inserts never waits, so it ignores a pending interrupt, as in the JDK. */
int hora_queue_offer_for(hora_queue *queue, void *item, hora_ns timeout)
{
    if (queue == NULL || item == NULL)
        return HORA_EINVAL;
    if (queue->kind->inserts_always)
        return hora_queue_offer(queue, item);
    hora_thread *thread;
    int error = hora__queue_begin_waiting(queue, &thread);
    if (error == 0)
        error = put(queue, &(struct hora__put){.item = item}, thread, timeout);
    return error == HORA_EFULL ? HORA_ETIMEDOUT : error;
}

int hora_queue_put(hora_queue *queue, void *item)
{
    return hora_queue_offer_for(queue, item, HORA_FOREVER);
}

int hora_queue_offer(hora_queue *queue, void *item)
{
    if (queue == NULL || item == NULL)
        return HORA_EINVAL;
    int error = hora__queue_check(queue);
    return error < 0 ? error : put(queue, &(struct hora__put){.item = item}, NULL, 0);
}

/* ---- taking ---- */

/* Returns whether a take needs no hora__queue_serve afterwards: no thread waits, and there is no descriptor
 * to update. */
static bool is_alone(const hora_queue *queue)
{
    return hora__list_is_empty(&queue->takers) && hora__list_is_empty(&queue->putters) &&
           queue->ready.kind == HORA__READY_NONE && queue->behaviour == NULL;
}

/* Returns whether elements may have become due that belong to takers on the list. The caller must serve those
 * first, or it would overtake them. */
static bool hands_over_late(const hora_queue *queue)
{
    return queue->kind->next_due != NULL && queue->behaviour == NULL && !hora__list_is_empty(&queue->takers);
}

/* A closed queue can still be emptied: HORA_ECLOSED only if no element can be taken. */
int hora__queue_take_locked(hora_queue *queue, void **ret_item, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (hands_over_late(queue))
        hora__queue_serve(queue, NULL, wakes);
    void *item = queue->kind->pop(queue, wakes);
    if (item == NULL)
        return queue->closed ? HORA_ECLOSED : HORA_EEMPTY;
    if (!is_alone(queue))
        hora__queue_serve(queue, NULL, wakes);
    *ret_item = item;
    return 0;
}

/* The result of look_again_locked for a taker that must go back to sleep. Not an error code: those are
 * negative. */
enum { STAY_WAITING = 1 };

/* Decides whether a taker that woke up by itself goes on waiting. Returns 0 if it has been served,
 * STAY_WAITING, or the error with which it gives up; it is off the list then. time_is_over: its own deadline
 * has passed; else it was nudged, or slept as the leader until an element was due. */
static int look_again_locked(hora_queue *queue, struct hora__waiter *self, enum hora__wake wake,
                             bool time_is_over, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (hora__waiter_is_resolved(self))
        return HORA__FAULT(WITHDRAW_IGNORES_HANDOVER) && wake == HORA__WAKE_TIME ? HORA_ETIMEDOUT : 0;
    if (wake == HORA__WAKE_INTERRUPTED) {
        withdraw(queue, self);
        if (!HORA__FAULT(DELAY_LEAD_LOST_ON_INTERRUPT))
            hora__queue_serve(queue, NULL, wakes);
        return HORA_EINTERRUPTED;
    }
    hora__waiter_heard(self);
    /* Also after the deadline: an element that became due at the same moment is still handed over, and a
     * leader whose deadline has passed passes the lead on. */
    if (!(HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT) && time_is_over))
        hora__queue_serve(queue, self, wakes);
    if (hora__waiter_is_resolved(self))
        return 0;
    if (!time_is_over)
        return STAY_WAITING;
    /* It may have become the leader just now, if an element is due exactly then or the clock was set back. */
    bool leads = queue->leader == self;
    withdraw(queue, self);
    if (leads && !HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT))
        hora__queue_serve(queue, NULL, wakes);
    return HORA_ETIMEDOUT;
}

/* Sleeps once, and decides as look_again_locked. Called with the lock held; returns with the lock held only
 * if the result is STAY_WAITING. The leader sleeps until the first element is due, all others until their own
 * deadline. */
static int wait_once(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    bool leads = queue->leader == self && queue->leader_until < self->deadline;
    hora_ns until = leads ? queue->leader_until : self->deadline;
    hora__queue_exit(queue, wakes);
    enum hora__wake wake = hora__waiter_park(self, queue->object.clock, until);
    if (wake == HORA__WAKE_RESOLVED)
        return 0;
    hora__mutex_lock(&queue->object.lock);
    int outcome =
        look_again_locked(queue, self, wake, wake == HORA__WAKE_TIME && until == self->deadline, wakes);
    if (outcome != STAY_WAITING)
        hora__queue_exit(queue, wakes);
    return outcome;
}

/* Waits for an element. Called with the lock held, returns without it. The visit keeps the queue in memory
 * until this thread has left it, even if the queue is freed after the waiter was resolved. */
static int wait_to_take(hora_queue *queue, hora_thread *thread, hora_ns deadline, void **ret_item,
                        struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->behaviour == NULL);
    struct hora__queue_waiter self = {.item = NULL};
    hora__waiter_init(&self.waiter, &queue->takers, thread, deadline);
    hora__object_visit(&queue->object);
    hora__queue_serve(queue, &self.waiter, wakes); /* this thread may have to be the leader */
    int outcome = STAY_WAITING;
    while (outcome == STAY_WAITING)
        outcome = wait_once(queue, &self.waiter, wakes);
    hora__object_leave(&queue->object);

    if (outcome == 0)
        outcome = self.waiter.result;
    if (outcome == 0)
        *ret_item = self.item;
    else if (outcome == HORA_EINTERRUPTED)
        (void)hora__thread_take_interrupt(thread);
    return outcome;
}

/* hora_queue_poll_for, for queues without a behaviour of their own. */
static int take(hora_queue *queue, hora_ns timeout, void **ret_item)
{
    hora_thread *thread;
    int error = hora__queue_begin_waiting(queue, &thread);
    if (error != 0)
        return error;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(queue->object.clock, timeout) : 0;
    hora__mutex_lock(&queue->object.lock);
    error = hora__queue_take_locked(queue, ret_item, &wakes);
    if (error == HORA_EEMPTY && timeout > 0)
        return wait_to_take(queue, thread, deadline, ret_item, &wakes);
    hora__queue_exit(queue, &wakes);
    return error == HORA_EEMPTY ? HORA_ETIMEDOUT : error;
}

int hora_queue_poll_for(hora_queue *queue, hora_ns timeout, void **ret_item)
{
    if (queue == NULL || ret_item == NULL)
        return HORA_EINVAL;
    return queue->behaviour != NULL ? queue->behaviour->take(queue, timeout, ret_item)
                                    : take(queue, timeout, ret_item);
}

int hora_queue_take(hora_queue *queue, void **ret_item)
{
    return hora_queue_poll_for(queue, HORA_FOREVER, ret_item);
}

int hora_queue_poll(hora_queue *queue, void **ret_item)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = ret_item == NULL ? HORA_EINVAL : hora__queue_check(queue);
    if (error < 0)
        return error;
    hora__mutex_lock(&queue->object.lock); /* not hora__queue_enter: pop empties the inbox if it needs to */
    error = hora__queue_take_locked(queue, ret_item, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}
