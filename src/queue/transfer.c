/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - putting and taking, with and without waiting
 *
 * How it works      Try under the lock; if that fails and there is time, wait on one of the queue's two lists. Who is resolved
 *                   has its outcome and leaves without another look at the queue. Who wakes because of an interrupt or
 *                   of the time takes the lock, and if it is still on its list, takes itself off. So an element is handed over
 *                   exactly if its two sides both return success.
 * Races             An interrupt or time-out may meet a hand-over. Both are decided under the lock: if the hand-over was
 *                   first, it counts, and the interrupt stays pending. */
#include <stddef.h>

#include "base/fault.h"
#include "queue/queue.h"
#include "queue/segment.h"
#include "sync/clock.h"
#include "sync/thread.h"
#include "sys/spin.h"

/* Check the queue and get the calling thread's record; a pending interrupt comes first. */
static int begin_waiting_call(hora_queue *queue, hora_thread **ret_thread)
{
    int error = hora__queue_check(queue);
    if (error == 0)
        error = hora__thread_current(ret_thread);
    if (error != 0)
        return error;
    return hora__thread_take_interrupt(*ret_thread) ? HORA_EINTERRUPTED : 0;
}

/* ---- putting ---- */

static int put_locked(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    if (queue->closed)
        return HORA_ECLOSED;
    int error = queue->kind->push(queue, put, wakes);
    if (error < 0)
        return error;
    if (put->books != NULL)
        hora__counter_add_alone(&put->books->accepted, 1);
    hora__queue_settle_change(queue, wakes);
    return 0;
}

int hora__queue_put_now(hora_queue *queue, struct hora__put *put)
{
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
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    bool resolved = hora__waiter_is_resolved(&self->waiter);
    if (!resolved) {
        hora__queue_withdraw(queue, &self->waiter);
        hora__queue_settle(queue, NULL, &wakes);
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
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    struct hora__queue_waiter self = {.put = *put};
    hora__waiter_init(&self.waiter, thread, deadline);
    hora__list_add_last(&queue->putters, &self.waiter.link);
    hora__object_visit(&queue->object);
    hora__queue_settle(queue, NULL, &wakes); /* a synchronous queue's descriptor shows waiting putters */
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

int hora_queue_offer_for(hora_queue *queue, void *item, hora_ns timeout)
{
    if (queue == NULL || item == NULL)
        return HORA_EINVAL;
    if (queue->kind->inserts_always)
        return hora_queue_offer(queue, item);
    hora_thread *thread;
    int error = begin_waiting_call(queue, &thread);
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

void hora__queue_look(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (queue->kind->expect != NULL)
        queue->kind->absorb(queue);
    hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

/* The inbox is full, by what was known when it was absorbed: perhaps many have been taken since. */
__attribute__((noinline)) static int post_again(hora_queue *queue, const struct hora__posting *posting,
                                                bool *ret_wanted)
{
    hora__mutex_lock(&queue->object.lock);
    queue->kind->absorb(queue);
    hora__mutex_unlock(&queue->object.lock);
    return queue->kind->post(queue, posting, ret_wanted);
}

int hora__queue_post(hora_queue *queue, const struct hora__posting *posting)
{
    bool wanted;
    int error = queue->kind->post(queue, posting, &wanted);
    if (error == HORA_EFULL)
        error = post_again(queue, posting, &wanted);
    if (error == 0 && wanted)
        hora__queue_look(queue);
    return error;
}

int hora__queue_offer(hora_queue *queue, void *item, struct hora__books *books)
{
    if (queue->kind->post == NULL)
        return put(queue, &(struct hora__put){.item = item, .books = books}, NULL, 0);
    return hora__queue_post(queue, &(struct hora__posting){.item = item});
}

void hora__queue_book(hora_queue *queue, struct hora__books *books, enum hora__booking what)
{
    hora__mutex_lock(&queue->object.lock);
    if (what == HORA__ACCEPTED)
        hora__counter_add_alone(&books->accepted, 1);
    if (what == HORA__WITHDRAWN)
        hora__counter_add_alone_publish(&books->withdrawn, 1);
    if (what == HORA__FINISHED || what == HORA__WITHDRAWN)
        hora__counter_add_alone_publish(&books->finished, 1);
    if (queue->kind->absorb != NULL && (queue->kind->expect == NULL || what == HORA__NOTHING))
        queue->kind->absorb(queue); /* through the lock of the inbox, too */
    hora__mutex_unlock(&queue->object.lock);
}

/* ---- taking ---- */

/* Whether nobody waits, and no descriptor is to be kept: there is nothing to settle after an element was taken. */
static bool is_alone(const hora_queue *queue)
{
    return hora__list_is_empty(&queue->takers) && hora__list_is_empty(&queue->putters) &&
           queue->ready.kind == HORA__READY_NONE && !queue->kind->is_searched;
}

static int take_locked(hora_queue *queue, struct hora__cell *cell, void **ret_item, struct hora__wakes *wakes)
{
    if (hora__queue_hands_over_late(queue))
        hora__queue_settle(queue, NULL, wakes); /* what became due meanwhile belongs to those who wait already */
    void *item = cell != NULL ? queue->kind->take(queue, cell, wakes) : queue->kind->pop(queue, wakes);
    if (item == NULL)
        return queue->closed ? HORA_ECLOSED : HORA_EEMPTY;
    queue->taken++;
    if (!is_alone(queue))
        hora__queue_settle(queue, NULL, wakes);
    *ret_item = item;
    return 0;
}

enum { STAY_WAITING = 1 };

/* A taker woke by itself, with the lock held: 0 if it has been served, STAY_WAITING, or why it leaves. */
static int look_again_locked(hora_queue *queue, struct hora__waiter *self, enum hora__wake wake, bool time_is_over,
                             struct hora__wakes *wakes)
{
    if (hora__waiter_is_resolved(self))
        return HORA__FAULT(WITHDRAW_IGNORES_HANDOVER) && wake == HORA__WAKE_TIME ? HORA_ETIMEDOUT : 0;
    if (wake == HORA__WAKE_INTERRUPTED || wake == HORA__WAKE_CLOCK) {
        hora__queue_withdraw(queue, self);
        if (HORA__FAULT(SEARCH_LOST_ON_INTERRUPT))
            return HORA_EINTERRUPTED;
        if (!HORA__FAULT(DELAY_LEAD_LOST_ON_INTERRUPT))
            hora__queue_settle(queue, NULL, wakes);
        return wake == HORA__WAKE_CLOCK ? HORA_EAGAIN : HORA_EINTERRUPTED;
    }
    hora__waiter_heard(self);
    if (queue->kind->is_searched) {
        struct hora__queue_waiter *taker = HORA__LIST_ENTRY(self, struct hora__queue_waiter, waiter);
        taker->item = hora__queue_search(queue, self, wakes);
        if (taker->item != NULL)
            return 0;
    } else if (!(HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT) && time_is_over))
        hora__queue_settle(queue, self, wakes); /* what became due together with the end of the time is still served, */
    if (hora__waiter_is_resolved(self))         /* and a leader whose time is over hands the lead on */
        return 0;
    if (!time_is_over)
        return STAY_WAITING;
    bool leads =
        queue->leader == self || queue->standby == self; /* since just now: the first element became due, or the */
    hora__queue_withdraw(queue, self);                   /* clock was set back */
    if (leads && !HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT))
        hora__queue_settle(queue, NULL, wakes);
    return HORA_ETIMEDOUT;
}

/* Sleep, and look again, once; called with the lock, returns without it. */
static int wait_once(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes)
{
    hora_ns until = hora__queue_sleeps_until(queue, self);
    bool until_the_end = until == self->deadline;
    bool watches = queue->watched != NULL && queue->leader == self;
    struct hora__clock_offsets seen = watches ? *queue->watched : (struct hora__clock_offsets){0};
    hora__queue_exit(queue, wakes);
    enum hora__wake wake = watches ? hora__waiter_park_watching(self, queue->object.clock, until, &seen)
                                   : hora__waiter_park(self, queue->object.clock, until);
    if (wake == HORA__WAKE_RESOLVED)
        return 0;
    hora__mutex_lock(&queue->object.lock);
    int outcome = look_again_locked(queue, self, wake, wake == HORA__WAKE_TIME && until_the_end, wakes);
    if (outcome != STAY_WAITING)
        hora__queue_exit(queue, wakes);
    return outcome;
}

/* A taker is on the list: 0, without the lock, if it has found something after all; else STAY_WAITING. */
static int begin_to_wait(hora_queue *queue, struct hora__queue_waiter *self, struct hora__wakes *wakes)
{
    if (!queue->kind->is_searched) {
        hora__queue_settle(queue, &self->waiter, wakes); /* this thread may have to lead */
        return STAY_WAITING;
    }
    if (queue->kind->next_due != NULL) {
        hora__queue_take_post(queue, &self->waiter, wakes); /* it has just looked */
        return STAY_WAITING;
    }
    self->item = hora__queue_search(queue, &self->waiter, wakes);
    if (self->item == NULL)
        return STAY_WAITING;
    hora__queue_exit(queue, wakes);
    return 0;
}

/* Wait for an element; called with the lock, returns without it. */
static int wait_to_take(hora_queue *queue, hora_thread *thread, hora_ns deadline, struct hora__cell *cell,
                        void **ret_item, struct hora__wakes *wakes)
{
    struct hora__queue_waiter self = {.cell = cell};
    hora__waiter_init(&self.waiter, thread, deadline);
    hora__list_add_last(&queue->takers, &self.waiter.link);
    hora__object_visit(&queue->object);
    int outcome = begin_to_wait(queue, &self, wakes);
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

/* Whether tasks by value can be met at all, and so where they go. */
static struct hora__cell *place_for_task(const hora_queue *queue, struct hora__cell *cell)
{
    return queue->kind->take != NULL ? cell : NULL;
}

/* There is nothing: go on looking for a while whether something comes, one thread at a time; as take_locked, and with the lock, which is let
 * go meanwhile. What has come is counted before the last look that finds nothing: so what comes later is seen by the count. */
static int spin_locked(hora_queue *queue, hora_thread *thread, hora_ns timeout, struct hora__cell *cell,
                       void **ret_item, struct hora__wakes *wakes)
{
    struct hora__spin spin;
    hora__spin_begin(&spin, queue->spin < timeout ? queue->spin : timeout);
    for (bool goes_on = true;;) {
        int64_t before = hora__books_accepted(queue->comes);
        int error = take_locked(queue, cell, ret_item, wakes);
        if (error != HORA_EEMPTY || !goes_on)
            return error;
        queue->spins = true;
        hora__queue_settle(queue, NULL, wakes); /* those who post need not wake anybody */
        hora__queue_exit(queue, wakes);
        while (goes_on && hora__books_accepted(queue->comes) == before)
            goes_on = !hora_thread_is_interrupted(thread) && hora__spin_goes_on(&spin);
        hora__mutex_lock(&queue->object.lock);
        queue->spins = HORA__FAULT(SPIN_NEVER_ENDS); /* before looking, see settle.c */
    }
}

/* Whether a taker that goes to wait looks first, once it is on the list: then it need not before. */
static bool looks_as_it_waits(const hora_queue *queue, hora_ns timeout)
{
    return timeout > 0 && queue->kind->is_searched && queue->kind->next_due == NULL && queue->spin == 0 &&
           !queue->closed;
}

int hora__queue_take(hora_queue *queue, hora_ns timeout, struct hora__cell *ret_cell, void **ret_item)
{
    struct hora__cell *cell = place_for_task(queue, ret_cell);
    hora_thread *thread;
    int error = begin_waiting_call(queue, &thread);
    if (error != 0)
        return error;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(queue->object.clock, timeout) : 0;
    hora__mutex_lock(&queue->object.lock);
    error = looks_as_it_waits(queue, timeout) ? HORA_EEMPTY : take_locked(queue, cell, ret_item, &wakes);
    if (error == HORA_EEMPTY && timeout > 0 && queue->spin > 0 && !queue->spins)
        error = spin_locked(queue, thread, timeout, cell, ret_item, &wakes);
    if (error == HORA_EEMPTY && timeout > 0)
        return wait_to_take(queue, thread, deadline, cell, ret_item, &wakes);
    hora__queue_exit(queue, &wakes);
    return error == HORA_EEMPTY ? HORA_ETIMEDOUT : error;
}

int hora_queue_poll_for(hora_queue *queue, hora_ns timeout, void **ret_item)
{
    return queue == NULL || ret_item == NULL ? HORA_EINVAL : hora__queue_take(queue, timeout, NULL, ret_item);
}

int hora_queue_take(hora_queue *queue, void **ret_item)
{
    return hora_queue_poll_for(queue, HORA_FOREVER, ret_item);
}

static void book_finished(struct hora__hold *hold, struct hora__books *books, int but)
{
    if (hold->finished > but) {
        HORA__ORDER_FAULT(BOOKS_FINISHED_RELAXED, memory_order_relaxed);
        hora__counter_add_alone_publish(&books->finished, hold->finished - but);
        hold->finished = but;
    }
}

/* Take without the lock; NULL: nothing is offered any more. */
static inline void *claim(const struct hora__hold *hold, struct hora__cell *ret_cell)
{
    int index = hora__segment_claim(hold->segment);
    return index < 0 ? NULL : hora__segment_read(hold->segment, index, ret_cell);
}

/* Others may have been offered something: then there is no need to disturb them. Called with the lock, and returns with it unless there was
 * something to claim. */
static void *claim_with_others(hora_queue *queue, struct hora__hold *hold, struct hora__cell *ret_cell,
                               struct hora__books *books)
{
    if (queue->kind->offer == NULL || !queue->kind->follow(queue, hold))
        return NULL;
    book_finished(hold, books, 1); /* as long as the caller is active, one task of it is unfinished */
    hora__mutex_unlock(&queue->object.lock);
    void *item = claim(hold, ret_cell);
    if (item == NULL)
        hora__mutex_lock(&queue->object.lock);
    return item;
}

/* There is nothing: the caller has nothing to do, and says so before its last task is booked, if it wants that here. */
static void rest_locked(struct hora__hold *hold, struct hora__books *books)
{
    if (hold->activity == NULL)
        return;
    if (!HORA__FAULT(POOL_BOOKS_TOO_SOON))
        hora__atomic_store(hold->activity, 0);
    book_finished(hold, books, 0);
}

static void *next_locked(hora_queue *queue, struct hora__hold *hold, struct hora__cell *ret_cell,
                         struct hora__books *books, struct hora__wakes *wakes)
{
    void *item;
    bool claims = queue->kind->offer != NULL;
    if (claims)
        queue->kind->let_go(queue, hold);
    if (take_locked(queue, place_for_task(queue, ret_cell), &item, wakes) < 0) {
        rest_locked(hold, books);
        return NULL;
    }
    book_finished(hold, books, 0);
    if (claims && queue->ready.kind == HORA__READY_NONE) /* a descriptor must show what is left */
        queue->kind->offer(queue, hold);
    return item;
}

void *hora__queue_next(hora_queue *queue, struct hora__hold *hold, struct hora__cell *ret_cell,
                       struct hora__books *books)
{
    void *item = hold->segment != NULL ? claim(hold, ret_cell) : NULL;
    if (item != NULL)
        return item;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    item = claim_with_others(queue, hold, ret_cell, books);
    if (item != NULL)
        return item;
    item = next_locked(queue, hold, ret_cell, books, &wakes);
    hora__queue_exit(queue, &wakes);
    return item;
}

void hora__queue_ran(hora_queue *queue, struct hora__cell *cell)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    queue->kind->ran(queue, cell, &wakes);
    hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

void hora__queue_leave(hora_queue *queue, struct hora__hold *hold, struct hora__books *books)
{
    hora__mutex_lock(&queue->object.lock);
    book_finished(hold, books, 0);
    if (queue->kind->offer != NULL)
        queue->kind->let_go(queue, hold);
    hora__mutex_unlock(&queue->object.lock);
}

static int take_now(hora_queue *queue, struct hora__cell *cell, void **ret_item)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_check(queue);
    if (error < 0)
        return error;
    hora__mutex_lock(&queue->object.lock); /* a kind with an inbox looks there when it has to */
    error = take_locked(queue, cell, ret_item, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

int hora_queue_poll(hora_queue *queue, void **ret_item)
{
    return ret_item == NULL ? HORA_EINVAL : take_now(queue, NULL, ret_item);
}

void *hora__queue_poll(hora_queue *queue, struct hora__cell *ret_cell)
{
    void *item;
    return take_now(queue, place_for_task(queue, ret_cell), &item) == 0 ? item : NULL;
}
