/* SPDX-License-Identifier: Apache-2.0 */
/* future_get.c - waiting for a future, looking at its outcome, and being told of it
 *
 * Precedence        done, then interrupted, then timed out.
 * Helping           A worker that waits for a task which stands in its own pool's queue takes it out and runs
 *                   it itself: to sleep would cost the pool the thread that is to run it, and with a single
 *                   one would never end. That is done to a certain depth only, since each level needs stack:
 *                   beyond it the worker waits.
 * Deadlock          An untimed wait for a task that runs on this very thread, or on one that waits for this
 *                   one in turn, never ends; nor does one for a task in the queue of a pool all of whose
 *                   workers do so. Each thread notes what it waits for before it looks at what those wait for
 *                   that could run it (begin_waiting); so of two that close a ring at the same time at least
 *                   one sees it. Every thread of a ring is a worker, or runs a future that another one waits
 *                   for: so the others need not note anything. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/future.h"
#include "exec/worker.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/processors.h"

void hora__future_note_interrupt(hora_future *future, bool interrupted)
{
    hora__mutex_lock(&future->object.lock);
    if (interrupted || !hora_future_is_done(future)) /* what has expired meanwhile stays so */
        future->limit_interrupts = interrupted;
    hora__mutex_unlock(&future->object.lock);
}

bool hora__future_was_interrupted(hora_future *future)
{
    enum hora__future_state state = hora__future_state(future);
    if (state == HORA__FUTURE_INTERRUPTING || state == HORA__FUTURE_INTERRUPTED)
        return true;
    hora__mutex_lock(&future->object.lock);
    bool interrupted = future->limit_interrupts;
    hora__mutex_unlock(&future->object.lock);
    return interrupted;
}

void hora__future_nudge(hora_future *future)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&future->object.lock);
    future->nudged = true;
    bool is_done = hora__future_state(future) !=
                   HORA__FUTURE_NEW; /* then no thread waits, and the list may be part of another one */
    for (struct hora__list *link = future->waiters.next; !is_done && link != &future->waiters;
         link = link->next)
        hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), &wakes);
    hora__mutex_unlock(&future->object.lock);
    hora__wakes_flush(&wakes);
}

/* The state after COMPLETING: that lasts only while another thread holds the lock. */
static enum hora__future_state past_completing(hora_future *future, enum hora__future_state state)
{
    assert(!hora__mutex_held(&future->object.lock));
    if (state != HORA__FUTURE_COMPLETING)
        return state;
    hora__mutex_lock(&future->object.lock);
    state = hora__future_state(future);
    hora__mutex_unlock(&future->object.lock);
    return state;
}

/* Result and failure are written before the state says so, and never again: who has seen the state needs no
 * lock. */
int hora__future_outcome(hora_future *future)
{
    assert(future != NULL);
    enum hora__future_state state = hora__future_state(future);
    if (state == HORA__FUTURE_NORMAL)
        return 0; /* as a rule */
    state = past_completing(future, state);
    if (state == HORA__FUTURE_NORMAL)
        return 0;
    if (state == HORA__FUTURE_NEW)
        return HORA_EAGAIN;
    if (state != HORA__FUTURE_EXCEPTIONAL)
        return HORA_ECANCELED;
    int failure = future->failure;
    bool is_own = failure == HORA_EREJECTED || failure == HORA_EABANDONED || failure == HORA_EEXPIRED;
    return is_own ? failure : HORA_EFAILED;
}

static int answer(hora_future *future, void **ret_result)
{
    int outcome = 0;
    if (hora__future_state(future) != HORA__FUTURE_NORMAL) /* it is, as a rule */
        outcome = hora__future_outcome(future);
    assert(outcome != HORA_EAGAIN);
    if (outcome == 0 && ret_result != NULL)
        *ret_result = future->by.result;
    return outcome;
}

/* ---- waits that never end ----
 *
 * A thread that waits for a future waits for the thread that runs it; or, if it is queued, for any worker of
 * its pool. It waits for ever if each thread that it may wait for in this way, directly or not, waits itself,
 * without a limit. What other threads may still do, like cancelling a future, is not considered. Locks are
 * taken one at a time: a future's, then a thread's. Each step holds a reference to what it looks at. */

/* More threads than these are not looked at: that would cost more than it is likely to tell. */
enum { MOST_THREADS = 32 };

/* What a thread waits for without a limit, with a reference; NULL: nothing. And which of its waits it is. */
static hora_future *awaited_by(hora_thread *thread, uint32_t *ret_wait)
{
    hora__mutex_lock(&thread->lock);
    hora_future *future = hora_future_ref(thread->waiting_for);
    *ret_wait = thread->waits;
    hora__mutex_unlock(&thread->lock);
    return future;
}

static void note(hora_thread *thread, hora_future *future)
{
    assert(thread == hora__thread_existing());
    hora__mutex_lock(&thread->lock);
    thread->waiting_for = future;
    thread->waits++;
    hora__mutex_unlock(&thread->lock);
}

/* Threads that wait for each other, as far as they are known, with references to all that is named here. */
struct knot {
    int count;
    struct {
        hora_thread *thread;
        hora_future *awaited; /* NULL: it has not been looked at yet */
        uint32_t wait;
    } members[MOST_THREADS];
};

static bool has(const struct knot *knot, const hora_thread *thread)
{
    assert(knot->count <= MOST_THREADS);
    for (int i = 0; i < knot->count; i++)
        if (knot->members[i].thread == thread)
            return true;
    return false;
}

/* One that has to be looked at. Takes over a reference. Whether there is room for it. */
static bool add(struct knot *knot, hora_thread *thread)
{
    assert(knot->count >= 1 && knot->count <= MOST_THREADS);
    bool known = has(knot, thread);
    if (known || knot->count == MOST_THREADS) {
        (void)hora_thread_unref(thread);
        return known;
    }
    knot->members[knot->count].awaited = NULL;
    knot->members[knot->count++].thread = thread;
    return true;
}

static void release(struct knot *knot)
{
    for (int i = 0; i < knot->count; i++) {
        (void)hora_thread_unref(knot->members[i].thread);
        (void)hora_future_unref(knot->members[i].awaited);
    }
}

/* All threads that could run this future, with references: the one that runs it, or all workers of the pool
 * in whose queue it is. How many; -1: it is done, or others could, or they are too many. */
static int find_those_who_could_run(hora_future *future, hora_thread **threads)
{
    assert(!hora__mutex_held(&future->object.lock));
    hora__mutex_lock(&future->object.lock);
    bool is_new = !hora_future_is_done(future);
    hora_thread *runner = is_new ? hora_thread_ref(future->runner) : NULL;
    struct hora__queue_owner *owner = is_new && runner == NULL ? future->owner : NULL;
    if (owner != NULL)
        hora__object_ref(owner->object);
    hora__mutex_unlock(&future->object.lock);
    if (runner != NULL) {
        threads[0] = runner;
        return 1;
    }
    if (owner == NULL)
        return -1; /* a promise, for example */
    int count = owner->find_workers(owner, threads, MOST_THREADS);
    hora__object_leave(owner->object);
    return count;
}

/* Whether all of them are in the knot, or can be added. */
static bool add_those_who_could_run(struct knot *knot, hora_future *future, bool may_add)
{
    hora_thread *threads[MOST_THREADS];
    int count = find_those_who_could_run(future, threads);
    bool all = count > 0;
    for (int i = 0; i < count; i++) {
        if (all && (may_add || has(knot, threads[i])))
            all = add(knot, threads[i]);
        else {
            all = false;
            (void)hora_thread_unref(threads[i]);
        }
    }
    return all;
}

/* Look at each thread, and at those that it waits for: whether all of them wait. */
static bool all_wait(struct knot *knot)
{
    assert(knot->count == 1);
    for (int i = 0; i < knot->count; i++) {
        knot->members[i].awaited = awaited_by(knot->members[i].thread, &knot->members[i].wait);
        if (knot->members[i].awaited == NULL ||
            !add_those_who_could_run(knot, knot->members[i].awaited, true))
            return false;
    }
    return true;
}

/* Look once more: first at who could run what is awaited, then at the waits. If none has changed, there was a
 * moment between the two looks in which all of the threads waited for each other. */
static bool still_wait(struct knot *knot)
{
    assert(knot->count >= 1);
    for (int i = 0; i < knot->count; i++)
        if (!add_those_who_could_run(knot, knot->members[i].awaited, false))
            return false;
    for (int i = 0; i < knot->count; i++) {
        uint32_t wait;
        hora_future *awaited = awaited_by(knot->members[i].thread, &wait);
        bool same = awaited == knot->members[i].awaited && wait == knot->members[i].wait;
        (void)hora_future_unref(awaited);
        if (!same || hora_future_is_done(knot->members[i].awaited))
            return false;
    }
    return true;
}

int hora__begin_waiting(hora_future *future, hora_thread *thread)
{
    assert(thread->worker != NULL || thread->runs > 0);
    struct knot knot;
    note(thread, future);
    knot.count = 1;
    knot.members[0].thread = hora_thread_ref(thread);
    knot.members[0].awaited = NULL;
    bool hangs = all_wait(&knot) && still_wait(&knot);
    release(&knot);
    return hangs ? HORA_EDEADLK : 0;
}

void hora__end_waiting(hora_thread *thread)
{
    note(thread, NULL);
}

/* ---- waiting ---- */

hora_ns hora__help(hora_future *future, hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    struct hora__worker *worker = thread->worker;
    if (worker == NULL)
        return HORA_FOREVER;
    hora__mutex_lock(&future->object.lock);
    future->nudged = false; /* what changes from now on is seen before the worker sleeps */
    bool ours =
        future->runner == NULL && future->owner != NULL && future->owner == hora__worker_owner(worker);
    hora__mutex_unlock(&future->object.lock);
    return ours ? hora__worker_run_queued(worker, future) : HORA_FOREVER;
}

/* With the lock: whether no worker of its pool is there, which is to run it. */
static bool is_unattended_locked(const hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock));
    return future->owner != NULL && hora__atomic_load(&future->owner->workers) == 0;
}

/* HORA_EAGAIN: there is something to do first, see wait. `attended`: that has been looked at. */
static int wait_until(hora_future *future, hora_thread *thread, hora_ns deadline, bool attended)
{
    assert(thread == hora__thread_existing());
    hora__mutex_lock(&future->object.lock);
    if (hora__future_state(future) != HORA__FUTURE_NEW) {
        hora__mutex_unlock(&future->object.lock);
        return 0;
    }
    bool nudged = future->nudged && thread->worker != NULL && !HORA__FAULT(FUTURE_NUDGE_UNSEEN);
    if (nudged || (!attended && is_unattended_locked(future) && !HORA__FAULT(FUTURE_WAITS_UNATTENDED))) {
        hora__mutex_unlock(&future->object.lock);
        return HORA_EAGAIN;
    }
    return hora__object_wait_locked(&future->object, &future->waiters, thread, deadline);
}

/* Look for a while, if the pool is one that wants it so: whether the future is done. Also without this all
 * goes well, so what ends it needs no care. */
static bool is_done_soon(hora_future *future, hora_thread *thread, hora_ns timeout)
{
    assert(future->spins && thread->worker == NULL);
    hora__mutex_lock(&future->object.lock);
    hora_ns time = future->owner != NULL ? future->owner->spin : 0;
    hora__mutex_unlock(&future->object.lock);
    struct hora__spin spin;
    hora__spin_begin(&spin, time < timeout ? time : timeout);
    while (!hora_future_is_done(future))
        if (time == 0 || hora_thread_is_interrupted(thread) || !hora__spin_goes_on(&spin))
            return false;
    return true;
}

/* If no worker of its pool is there, let one be started, if that is possible now. When to look again, after a
 * pause that grows; HORA_FOREVER: there is no need to. */
__attribute__((noinline)) static hora_ns attend(hora_future *future, hora_ns *pause)
{
    assert(*pause >= 0);
    hora__mutex_lock(&future->object.lock);
    struct hora__queue_owner *owner = is_unattended_locked(future) ? future->owner : NULL;
    if (owner != NULL)
        hora__object_ref(owner->object);
    hora__mutex_unlock(&future->object.lock);
    if (owner == NULL)
        return HORA_FOREVER;
    bool is_unattended = owner->rescue(owner);
    hora__object_leave(owner->object);
    if (!is_unattended)
        return HORA_FOREVER;
    *pause = hora__rescue_pause(*pause);
    return hora__clock_deadline(future->object.clock, *pause);
}

/* Wait, and help when that is possible: a task of a scheduler cannot be run before its time. */
static int wait(hora_future *future, hora_thread *thread, hora_ns timeout)
{
    assert(timeout > 0);
    hora_ns deadline =
        timeout == HORA_FOREVER ? HORA_FOREVER : hora__clock_deadline(future->object.clock, timeout);
    if (future->spins && thread->worker == NULL && is_done_soon(future, thread, timeout))
        return 0;
    hora_ns attend_at = HORA_FOREVER;
    hora_ns pause = 0;
    for (;;) {
        hora_ns help_at = thread->worker != NULL ? hora__help(future, thread) : HORA_FOREVER;
        hora_ns look_at = help_at < attend_at ? help_at : attend_at;
        hora_ns until = look_at < deadline ? look_at : deadline;
        /* Without a limit other threads have to see what this one waits for, if they may wait for it in
         * turn. */
        bool is_noted = until == HORA_FOREVER && (thread->runs != 0 || thread->worker != NULL);
        int error = is_noted ? hora__begin_waiting(future, thread) : 0;
        if (error == 0)
            error = wait_until(future, thread, until, until != HORA_FOREVER && attend_at != HORA_FOREVER);
        if (is_noted)
            hora__end_waiting(thread);
        bool looks_again = error == HORA_EAGAIN || (error == HORA_ETIMEDOUT && look_at < deadline);
        if (!looks_again)
            return error;
        attend_at = attend(future, &pause);
    }
}

int hora_future_get_for(hora_future *future, hora_ns timeout, void **ret_result)
{
    hora_thread *thread;
    int error = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error < 0)
        return error;
    if (hora__future_state(future) != HORA__FUTURE_NEW)
        return answer(future, ret_result);
    error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (hora__atomic_load(&thread->interrupted) != 0 && hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    error = timeout <= 0 ? HORA_ETIMEDOUT : wait(future, thread, timeout);
    return error < 0 ? error : answer(future, ret_result);
}

int hora_future_get(hora_future *future, void **ret_result)
{
    return hora_future_get_for(future, HORA_FOREVER, ret_result);
}

int hora_future_take_result(hora_future *future, void **ret_result)
{
    int error = future == NULL || ret_result == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error == 0)
        error = hora__future_outcome(future);
    if (error < 0)
        return error;
    hora__mutex_lock(&future->object.lock);
    bool taken = !future->has_result;
    if (!taken)
        *ret_result = future->by.result;
    future->has_result = false;
    hora__mutex_unlock(&future->object.lock);
    return taken ? HORA_EEMPTY : 0;
}

hora_future_state hora_future_get_state(hora_future *future)
{
    if (future == NULL)
        return HORA_FUTURE_CANCELLED;
    switch (past_completing(future, hora__future_state(future))) {
    case HORA__FUTURE_NEW:
        return HORA_FUTURE_PENDING;
    case HORA__FUTURE_COMPLETING:
    case HORA__FUTURE_NORMAL:
        return HORA_FUTURE_SUCCEEDED;
    case HORA__FUTURE_EXCEPTIONAL:
        return HORA_FUTURE_FAILED;
    case HORA__FUTURE_CANCELLED:
    case HORA__FUTURE_INTERRUPTING:
    case HORA__FUTURE_INTERRUPTED:
    default:
        return HORA_FUTURE_CANCELLED;
    }
}

bool hora_future_is_done(const hora_future *future)
{
    return future == NULL || hora__future_state(future) != HORA__FUTURE_NEW;
}

bool hora_future_is_cancelled(const hora_future *future)
{
    return future == NULL || hora__future_state(future) >= HORA__FUTURE_CANCELLED;
}

int hora_future_failure(hora_future *future)
{
    if (future == NULL || hora__object_check(&future->object) < 0)
        return 0;
    (void)hora__future_outcome(future); /* not in the middle of completing */
    return hora__future_state(future) == HORA__FUTURE_EXCEPTIONAL ? future->failure : 0;
}

const hora_task *hora_future_task(const hora_future *future)
{
    return future == NULL ? NULL : &future->task;
}

static int make_event_locked(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock) && future->event == NULL);
    struct hora__event *event = hora__alloc(1, sizeof *event);
    int error = event == NULL ? HORA_ENOMEM : hora__event_init(event);
    if (error < 0) {
        hora__free(event);
        return error;
    }
    future->event = event;
    if (hora_future_is_done(future))
        hora__event_set(event, true);
    return 0;
}

int hora_future_fd(hora_future *future)
{
    int result = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (result < 0)
        return result;
    hora__mutex_lock(&future->object.lock);
    if (future->event == NULL)
        result = make_event_locked(future);
    if (result == 0)
        result = future->event->fd;
    hora__mutex_unlock(&future->object.lock);
    return result;
}
