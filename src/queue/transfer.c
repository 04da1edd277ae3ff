/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - putting and taking, with and without waiting
 *
 * How it works      Try under the lock; if that fails and there is time, wait on one of the queue's two
 *                   lists. A waiter that is resolved has its outcome and leaves without another look at the
 *                   queue. A waiter that wakes because of an interrupt or of the time takes the lock, and if
 *                   it is still on its list, takes itself off. So an element is handed over exactly if its
 *                   two sides both return success.
 * Races             An interrupt or time-out may meet a hand-over. Both are decided under the lock: if the
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

/* A waiter takes itself off its list. It leads no more (I4 of serve.c). */
static void withdraw(hora_queue *queue, struct hora__waiter *waiter)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->leader == waiter)
        queue->leader = NULL;
    hora__list_remove(&waiter->link);
}

/* ---- putting ---- */

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

/* A putter woke by itself: take it off the list, unless it has been let in after all. */
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

/* Wait for room; called with the lock, returns without it. */
static int wait_to_put(hora_queue *queue, hora_thread *thread, struct hora__put *put, hora_ns deadline)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct hora__queue_waiter self = {.put = *put};
    hora__waiter_init(&self.waiter, &queue->putters, thread, deadline);
    hora__object_visit(&queue->object);
    hora__queue_serve(queue, NULL, &wakes); /* a synchronous queue's descriptor shows waiting putters */
    hora__queue_exit(queue, &wakes);

    enum hora__wake wake = hora__waiter_park(&self.waiter, queue->object.clock, deadline);
    int error = wake == HORA__WAKE_RESOLVED ? self.waiter.result : give_up_putting(queue, &self, wake);
    *put = self.put;
    hora__object_leave(&queue->object);
    return error;
}

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

/* Put, waiting at most for timeout if there is a thread to wait. */
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

/* Whether there is nothing to settle after an element was taken: no thread waits, and no descriptor shows the
 * state. */
static bool is_alone(const hora_queue *queue)
{
    return hora__list_is_empty(&queue->takers) && hora__list_is_empty(&queue->putters) &&
           queue->ready.kind == HORA__READY_NONE && queue->behaviour == NULL;
}

/* Whether elements may have become due that belong to takers on the list. */
static bool hands_over_late(const hora_queue *queue)
{
    return queue->kind->next_due != NULL && queue->behaviour == NULL && !hora__list_is_empty(&queue->takers);
}

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

enum { STAY_WAITING = 1 };

/* A taker woke by itself, with the lock held: 0 if it has been served, STAY_WAITING, or why it leaves. */
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
    if (!(HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT) && time_is_over))
        hora__queue_serve(queue, self,
                          wakes); /* an element that became due just when the time ended is still served, */
    if (hora__waiter_is_resolved(self)) /* and a leader whose time is over hands the lead on */
        return 0;
    if (!time_is_over)
        return STAY_WAITING;
    bool leads =
        queue->leader == self; /* since just now: the first element became due, or the clock was set back */
    withdraw(queue, self);
    if (leads && !HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT))
        hora__queue_serve(queue, NULL, wakes);
    return HORA_ETIMEDOUT;
}

/* Sleep, and look again, once; called with the lock, returns without it unless it stays waiting. */
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

/* Wait for an element; called with the lock, returns without it. */
static int wait_to_take(hora_queue *queue, hora_thread *thread, hora_ns deadline, void **ret_item,
                        struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->behaviour == NULL);
    struct hora__queue_waiter self = {.item = NULL};
    hora__waiter_init(&self.waiter, &queue->takers, thread, deadline);
    hora__object_visit(&queue->object);
    hora__queue_serve(queue, &self.waiter, wakes); /* this thread may have to lead */
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
    hora__mutex_lock(&queue->object.lock); /* pop collects what was posted when it has to */
    error = hora__queue_take_locked(queue, ret_item, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}
