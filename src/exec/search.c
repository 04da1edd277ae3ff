/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - how workers, and users of a pool's own queue, take tasks from a work source
 *
 * How it works      A taker searches under the lock. If it finds no task and may wait, it goes to the takers'
 *                   list and sleeps until it is woken to search (work_source.c) or, in a source with due
 *                   times, until a task is due (standby.c). A worker that has just run a task takes the next
 *                   one without going to the list. If another worker has offered tasks, it claims one without
 *                   the lock (backlog.h).
 * Races             A taker may be interrupted or time out at the moment at which it is woken to search. The
 *                   lock decides between these: a taker that leaves the list without a task serves the
 *                   source, so that the task for which it was woken finds another taker. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/backlog.h"
#include "exec/own_queue.h"
#include "exec/segment.h"
#include "exec/work_source.h"
#include "sync/clock.h"
#include "sync/thread.h"
#include "sys/processors.h"

/* A thread that waits to take from a work source. */
struct taker {
    struct hora__waiter waiter;
    void *item;                /* the task that it found; NULL: none yet */
    struct hora__taken *taken; /* receives a detached task; NULL: there can be none */
};

/* Takes the next task that can be taken, and serves the source. Returns 0, HORA_EEMPTY, or HORA_ECLOSED if
 * the queue is closed and no task can be taken. */
static int take_locked(hora_queue *queue, struct hora__taken *taken, void **ret_item,
                       struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->behaviour == NULL)
        return hora__queue_take_locked(queue, ret_item, wakes);
    struct hora__work_source *source = HORA__LIST_ENTRY(queue, struct hora__work_source, queue);
    void *item = taken != NULL ? source->kind->take(queue, taken, wakes) : queue->kind->pop(queue, wakes);
    if (item == NULL)
        return queue->closed ? HORA_ECLOSED : HORA_EEMPTY;
    source->taken++;
    if (!HORA__FAULT(SEARCH_TAKES_ALONE))
        hora__work_serve(queue, wakes); /* if tasks are left, this wakes a searcher for them */
    *ret_item = item;
    return 0;
}

/* One search by a taker that is awake and on the takers' list. Returns the task that it found, with its
 * waiter off the list. NULL: it found none, is still on the list, and has decided how long to sleep if the
 * source has due times. */
static void *search(struct hora__work_source *source, struct taker *taker, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    const struct hora__work_kind *kind = source->kind;
    struct hora__waiter *self = &taker->waiter;
    assert(hora__mutex_held(&queue->object.lock));
    if (source->searcher == self && !(HORA__FAULT(SEARCH_NEVER_ENDS) && queue->size > 0))
        source->searcher = NULL; /* before the search: a task queued from now on needs another searcher */
    if (kind->claims)
        hora__backlog_recall(queue);
    bool is_timed = queue->kind->next_due != NULL;
    bool is_empty = false;
    /* Submitters must know that this taker is about to sleep before it looks into the inbox for the last
     * time. If another searcher is on its way, that one does this. */
    if (queue->size == 0 && source->searcher == NULL && !is_timed && kind->expect != NULL)
        is_empty = !kind->expect(queue, HORA_FOREVER);
    void *item = NULL;
    if (!is_empty)
        item = taker->taken != NULL ? kind->take(queue, taker->taken, wakes) : queue->kind->pop(queue, wakes);
    if (item == NULL) {
        if (is_timed)
            hora__work_choose_sleep(queue, self, wakes);
        return NULL;
    }
    if (is_timed)
        hora__work_resign(queue, self); /* I4 of serve.c: a leader is on the list */
    hora__list_remove(&self->link);
    if (!HORA__FAULT(SEARCH_ENDS_WITH_FIRST))
        hora__work_serve(queue, wakes);
    return item;
}

/* ---- waiting ---- */

/* Removes the calling taker from the list, together with any role it has. */
static void withdraw(struct hora__work_source *source, struct hora__waiter *waiter)
{
    hora_queue *queue = &source->queue;
    assert(hora__mutex_held(&queue->object.lock));
    if (queue->kind->next_due != NULL)
        hora__work_resign(queue, waiter); /* I4 of serve.c */
    if (source->searcher == waiter)
        source->searcher = NULL; /* I6 of work_source.c */
    hora__list_remove(&waiter->link);
}

/* Beside error codes: the taker has found nothing, and goes on waiting. */
enum { STAY_WAITING = 1 };

/* Decides, with the lock held, what a taker does that has woken up and has not been resolved. Returns 0 with
 * a task in taker->item; STAY_WAITING; or the reason why the taker has left the list: HORA_EINTERRUPTED,
 * HORA_EAGAIN (the clocks' offsets have changed) or HORA_ETIMEDOUT. `time_is_over` says that its deadline has
 * passed. */
static int look_again_locked(struct hora__work_source *source, struct taker *taker, enum hora__wake wake,
                             bool time_is_over, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    assert(hora__mutex_held(&queue->object.lock) && wake != HORA__WAKE_RESOLVED);
    struct hora__waiter *self = &taker->waiter;
    if (wake == HORA__WAKE_INTERRUPTED || wake == HORA__WAKE_CLOCK) {
        withdraw(source, self);
        if (HORA__FAULT(SEARCH_LOST_ON_INTERRUPT))
            return HORA_EINTERRUPTED;
        if (!HORA__FAULT(DELAY_LEAD_LOST_ON_INTERRUPT))
            hora__work_serve(queue, wakes);
        return wake == HORA__WAKE_CLOCK ? HORA_EAGAIN : HORA_EINTERRUPTED;
    }
    taker->item = search(source, taker, wakes);
    if (taker->item != NULL)
        return 0;
    if (!time_is_over)
        return STAY_WAITING;
    /* The search may have made it leader or standby, if the clock was set back, or a task became due only
     * now. Then another taker must take over that role. */
    bool leads = queue->leader == self || source->standby == self;
    withdraw(source, self);
    if (leads && !HORA__FAULT(DELAY_LEAD_LOST_ON_TIMEOUT))
        hora__work_serve(queue, wakes);
    return HORA_ETIMEDOUT;
}

/* Sleeps once, then searches. Called with the lock held. Returns STAY_WAITING with the lock held; any other
 * result, as of look_again_locked, without it. 0 also means that the queue was closed while the taker slept;
 * then the waiter has the result. */
static int wait_once(struct hora__work_source *source, struct taker *taker, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__waiter *self = &taker->waiter;
    hora_ns until = queue->kind->next_due != NULL ? hora__work_sleeps_until(queue, self) : self->deadline;
    bool until_the_end = until == self->deadline;
    bool watches = source->watched != NULL && queue->leader == self;
    struct hora__clock_offsets seen = {0};
    if (watches)
        seen = *source->watched;
    /* If this visit has read the clock, it need not be read again; by the next visit the time is stale. */
    hora_ns now = taker->taken != NULL ? taker->taken->now : HORA_NEVER;
    if (taker->taken != NULL)
        taker->taken->now = HORA_NEVER;
    enum hora__wake wake =
        hora__object_sleep_locked(&queue->object, self, now, until, watches ? &seen : NULL, wakes);
    if (wake == HORA__WAKE_RESOLVED)
        return 0; /* the queue was closed */
    int outcome = look_again_locked(source, taker, wake, wake == HORA__WAKE_TIME && until_the_end, wakes);
    if (outcome == STAY_WAITING)
        return outcome;
    hora__mutex_unlock(&queue->object.lock);
    if (wakes->count > 0)
        hora__wakes_flush(wakes);
    return outcome;
}

/* Waits for a task. Called with the lock held, returns without it: 0 with a task in *ret_item, HORA_ECLOSED,
 * HORA_ETIMEDOUT, HORA_EINTERRUPTED with the flag cleared, or HORA_EAGAIN. The caller keeps the queue alive,
 * and has just searched if the source has due times. */
static int wait_to_take(struct hora__work_source *source, hora_thread *thread, hora_ns deadline,
                        struct hora__taken *taken, void **ret_item, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    assert(hora__mutex_held(&queue->object.lock));
    struct taker self = {.taken = taken};
    hora__waiter_init(&self.waiter, &queue->takers, thread, deadline);
    if (queue->kind->next_due == NULL) {
        self.item = search(source, &self, wakes);
    } else if (!HORA__FAULT(SERIES_RETURNS_UNSEEN)) {
        hora__work_choose_sleep(queue, &self.waiter, wakes); /* the caller has just searched */
    }
    int outcome = self.item == NULL ? STAY_WAITING : 0;
    if (outcome == 0)
        hora__queue_exit(queue, wakes);
    while (outcome == STAY_WAITING)
        outcome = wait_once(source, &self, wakes);
    if (outcome == 0)
        outcome = self.waiter.result;
    if (outcome == 0)
        *ret_item = self.item;
    else if (outcome == HORA_EINTERRUPTED)
        (void)hora__thread_take_interrupt(thread);
    return outcome;
}

/* Spins until a task is accepted, the calling thread is interrupted, or source->spin or the timeout has
 * passed. Only one thread of a source spins at a time. Called with the lock held, and returns with it, but
 * releases it while it spins; the result is that of take_locked.
 *
 * The number of accepted tasks is read before each search. A task that is accepted after a search that found
 * nothing changes that number, and so ends the spinning. */
static int spin_locked(struct hora__work_source *source, hora_thread *thread, hora_ns timeout,
                       struct hora__taken *taken, void **ret_item, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    assert(hora__mutex_held(&queue->object.lock) && timeout > 0);
    struct hora__spin spin;
    hora__spin_begin(&spin, source->spin < timeout ? source->spin : timeout);
    for (bool goes_on = true;;) {
        int64_t before = hora__books_accepted(source->books);
        int error = take_locked(queue, taken, ret_item, wakes);
        if (error != HORA_EEMPTY || !goes_on)
            return error;
        source->spins = true;
        hora__work_serve(queue, wakes); /* tells submitters that they need not have a taker woken */
        hora__queue_exit(queue, wakes);
        while (goes_on && hora__books_accepted(source->books) == before)
            goes_on = !hora_thread_is_interrupted(thread) && hora__spin_goes_on(&spin);
        hora__mutex_lock(&queue->object.lock);
        source->spins = HORA__FAULT(SPIN_NEVER_ENDS); /* before the search: see work_source.c */
    }
}

/* Returns whether wait_to_take will search once the taker is on the list. Then a search before that would be
 * superfluous. */
static bool looks_as_it_waits(const struct hora__work_source *source, hora_ns timeout)
{
    assert(hora__mutex_held(&source->queue.object.lock));
    return timeout > 0 && source->queue.kind->next_due == NULL && source->spin == 0 && !source->queue.closed;
}

int hora__work_await(hora_queue *queue, hora_ns timeout, struct hora__taken *ret_taken, void **ret_item)
{
    assert(!hora__mutex_held(&queue->object.lock) && ret_item != NULL);
    struct hora__work_source *source = hora__work_source_of(queue);
    if (source == NULL)
        return hora_queue_poll_for(queue, timeout, ret_item);
    hora_thread *thread;
    int error = hora__queue_begin_waiting(queue, &thread);
    if (error != 0)
        return error;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(queue->object.clock, timeout) : 0;
    hora__mutex_lock(&queue->object.lock);
    /* First a search, then spinning, then waiting on the list. */
    error =
        looks_as_it_waits(source, timeout) ? HORA_EEMPTY : take_locked(queue, ret_taken, ret_item, &wakes);
    if (error == HORA_EEMPTY && timeout > 0 && source->spin > 0 && !source->spins)
        error = spin_locked(source, thread, timeout, ret_taken, ret_item, &wakes);
    if (error == HORA_EEMPTY && timeout > 0) {
        hora__object_visit(&queue->object); /* a user may wait here while the pool frees its queue */
        error = wait_to_take(source, thread, deadline, ret_taken, ret_item, &wakes);
        hora__object_leave(&queue->object);
        return error;
    }
    hora__queue_exit(queue, &wakes);
    return error == HORA_EEMPTY ? HORA_ETIMEDOUT : error;
}

/* The `take` of struct hora__queue_behaviour: a user takes from a pool's own queue, in which hora_pool_queue
 * has turned all detached tasks into futures. */
int hora__work_take(hora_queue *queue, hora_ns timeout, void **ret_item)
{
    return hora__work_await(queue, timeout, NULL, ret_item);
}

/* ---- without waiting ---- */

/* With the lock held: books the tasks that the worker has finished, except the last `but` of them. */
static void book_finished(struct hora__hold *hold, struct hora__books *books, int but)
{
    assert(but >= 0 && hold->finished >= 0);
    if (hold->finished > but) {
        HORA__ORDER_FAULT(BOOKS_FINISHED_RELAXED, memory_order_relaxed);
        hora__counter_add_alone_publish(&books->finished, hold->finished - but);
        hold->finished = but;
    }
}

/* Claims a task without the lock, from the segment that the worker holds. NULL: nothing is offered any
 * more. */
static inline void *claim(const struct hora__hold *hold, struct hora__taken *ret_taken)
{
    assert(hold->segment != NULL);
    int index = hora__segment_claim(hold->segment);
    return index < 0 ? NULL : hora__segment_read(hold->segment, index, ret_taken);
}

/* Claims a task from the segment that another worker has offered, which this worker has just begun to hold.
 * So it does not end the offer for the others. Called with the lock held. Returns a task without the lock; or
 * NULL, with the lock held, if none was left. */
static void *claim_with_others(hora_queue *queue, struct hora__hold *hold, struct hora__taken *ret_taken,
                               struct hora__books *books)
{
    assert(hora__mutex_held(&queue->object.lock));
    book_finished(hold, books, 1); /* an active worker keeps one task unbooked: the books are not even */
    hora__mutex_unlock(&queue->object.lock);
    void *item = claim(hold, ret_taken);
    if (item == NULL)
        hora__mutex_lock(&queue->object.lock);
    return item;
}

/* With the lock held: takes the next task, books those that the worker has finished, and offers the rest of
 * the segment to all workers. NULL: there is none, and nothing was booked. */
static void *next_locked(hora_queue *queue, bool claims, struct hora__hold *hold,
                         struct hora__taken *ret_taken, struct hora__books *books, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    void *item;
    if (hold->segment != NULL)
        hora__backlog_release(queue, hold);
    if (take_locked(queue, ret_taken, &item, wakes) < 0)
        return NULL;
    book_finished(hold, books, 0);
    if (claims && queue->ready.kind == HORA__READY_NONE) /* a descriptor must show what is left */
        hora__backlog_offer(queue, hold);
    return item;
}

/* Waits for a task in the visit that has found none, first by spinning if the source spins. Called with the
 * lock held, returns without it. The pool keeps its queue as long as it has workers. NULL: the wait ended
 * without a task; hold->outcome says why. */
static void *wait_for_next(struct hora__work_source *source, struct hora__hold *hold,
                           struct hora__taken *taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&source->queue.object.lock) && hold->thread != NULL);
    void *item = NULL;
    int error = HORA_EEMPTY;
    if (source->spin > 0 && !source->spins)
        error = spin_locked(source, hold->thread, HORA_FOREVER, taken, &item, wakes);
    if (error == HORA_EEMPTY)
        error = wait_to_take(source, hold->thread, HORA_FOREVER, taken, &item, wakes);
    else
        hora__queue_exit(&source->queue, wakes);
    hold->outcome = error;
    return error == 0 ? item : NULL;
}

/* The most finished tasks that a worker leaves unbooked while it runs tasks of its own queue. */
enum { UNBOOKED_MOST = 1 << 16 };

/* Takes the newest task from the worker's own queue. NULL: there is none. Not inlined, because only stealing
 * pools have own queues. */
__attribute__((noinline)) static void *take_own(hora_queue *queue, struct hora__hold *hold,
                                                struct hora__taken *ret_taken, struct hora__books *books)
{
    assert(hold->own != NULL);
    void *item = hora__own_pop(hold->own, ret_taken);
    hold->has_own = item != NULL;
    if (hold->finished >= UNBOOKED_MOST) {
        hora__mutex_lock(&queue->object.lock);
        book_finished(hold, books, 1);
        hora__mutex_unlock(&queue->object.lock);
    }
    return item;
}

/* The steps, from the cheapest on: take from the own queue of the worker; claim without the lock; join the
 * offer of another worker; take under the lock; become idle and wait in the same visit. */
void *hora__work_next(hora_queue *queue, struct hora__hold *hold, struct hora__taken *ret_taken,
                      struct hora__books *books)
{
    hold->outcome = 0;
    void *item = hold->has_own ? take_own(queue, hold, ret_taken, books) : NULL;
    if (item == NULL && hold->segment != NULL)
        item = claim(hold, ret_taken);
    if (item != NULL)
        return item;
    struct hora__work_source *source =
        queue->behaviour != NULL ? HORA__LIST_ENTRY(queue, struct hora__work_source, queue) : NULL;
    bool claims = source != NULL && source->kind->claims;
    struct hora__wakes wakes;
    wakes.count = 0;
    hora__mutex_lock(&queue->object.lock);
    if (claims && hora__backlog_follow(queue, hold)) {
        item = claim_with_others(queue, hold, ret_taken, books);
        if (item != NULL)
            return item;
    }
    item = next_locked(queue, claims, hold, ret_taken, books, &wakes);
    /* A worker that still has to put a series back returns and does that first. It need not serve the queue
     * now: it searches again before it sleeps, or it ends because there are too many workers, and then the
     * idle ones have been interrupted and search. */
    bool owes_return = hora__taken_owes_return(ret_taken);
    if (item == NULL && !owes_return && hold->activity != NULL) {
        if (!HORA__FAULT(POOL_BOOKS_TOO_SOON))
            hora__atomic_store(hold->activity, 0); /* first: when the books are even, no worker is active */
        book_finished(hold, books, 0);
    }
    bool may_wait = item == NULL && !owes_return && hold->may_wait != NULL && source != NULL;
    if (may_wait && !queue->closed && hold->may_wait(hold))
        return wait_for_next(source, hold, ret_taken, &wakes);
    hora__queue_exit(queue, &wakes);
    if (claims)
        hora__backlog_tidy(queue);
    return item;
}

void hora__work_leave(hora_queue *queue, struct hora__hold *hold, struct hora__books *books)
{
    assert(hold->finished >= 0);
    hora__mutex_lock(&queue->object.lock);
    book_finished(hold, books, 0);
    if (hold->segment != NULL)
        hora__backlog_release(queue, hold);
    hora__mutex_unlock(&queue->object.lock);
}

void *hora__work_poll(hora_queue *queue, struct hora__taken *ret_taken)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    if (hora__queue_check(queue) < 0)
        return NULL;
    void *item = NULL;
    hora__mutex_lock(
        &queue->object.lock); /* without collecting: a source with an inbox does that if needed */
    if (take_locked(queue, ret_taken, &item, &wakes) < 0)
        item = NULL;
    hora__queue_exit(queue, &wakes);
    return item;
}
