/* SPDX-License-Identifier: Apache-2.0 */
/* future_get.c - waiting for a future, looking at its outcome, and being told of it
 *
 * Precedence        done, then interrupted, then timed out.
 * Helping           A worker that waits for a task which stands in its own pool's queue takes it out and runs it itself: to sleep
 *                   would cost the pool the thread that is to run it, and with a single one would never end.
 *                   That is done to a certain depth only, since each level needs stack: beyond it the worker
 *                   waits.
 * Deadlock          An untimed wait for a task that runs on this very thread, or on one that waits for this one in turn, never
 *                   ends; nor does one for a task in the queue of a pool all of whose workers do so. Each
 *                   thread notes what it waits for before it looks at what those wait for that could run it
 *                   (help.c); so of two that close a ring at the same time at least one sees it. Every thread
 *                   of a ring is a worker, or runs a future that another one waits for: so the others need
 *                   not note anything. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/future.h"
#include "exec/help.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/spin.h"

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
    bool is_done =
        hora__future_state(future) != HORA__FUTURE_NEW; /* then nobody waits, and the list may be part of another one */
    for (struct hora__list *link = future->waiters.next; !is_done && link != &future->waiters; link = link->next)
        hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), &wakes);
    hora__mutex_unlock(&future->object.lock);
    hora__wakes_flush(&wakes);
}

/* The state after COMPLETING: that lasts only while another thread holds the lock. */
static enum hora__future_state past_completing(hora_future *future, enum hora__future_state state)
{
    if (state != HORA__FUTURE_COMPLETING)
        return state;
    hora__mutex_lock(&future->object.lock);
    state = hora__future_state(future);
    hora__mutex_unlock(&future->object.lock);
    return state;
}

/* Result and failure are written before the state says so, and never again: who has seen the state needs no lock. */
int hora__future_outcome(hora_future *future)
{
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
    int outcome = hora__future_outcome(future);
    assert(outcome != HORA_EAGAIN);
    if (outcome == 0 && ret_result != NULL)
        *ret_result = future->by.result;
    return outcome;
}

/* With the lock: whether no worker of its pool is there, which is to run it. */
static bool is_unattended_locked(const hora_future *future)
{
    return future->owner != NULL && hora__atomic_load(&future->owner->workers) == 0;
}

/* HORA_EAGAIN: there is something to do first, see wait. `attended`: that has been looked at. */
static int wait_until(hora_future *future, hora_thread *thread, hora_ns deadline, bool attended)
{
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

/* Without a limit: noting it, so that others can see what this thread waits for. */
static int wait_for_ever(hora_future *future, hora_thread *thread)
{
    if (thread->runs == 0 && thread->worker == NULL)
        return wait_until(future, thread, HORA_FOREVER, false);
    int error = hora__begin_waiting(future, thread);
    if (error == 0)
        error = wait_until(future, thread, HORA_FOREVER, false);
    hora__end_waiting(thread);
    return error;
}

/* Look for a while, if the pool is one that wants it so: whether the future is done. Also without this all goes well, so what ends it needs
 * no care. */
static bool is_done_soon(hora_future *future, hora_thread *thread, hora_ns timeout)
{
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
    hora_ns deadline = hora__clock_deadline(future->object.clock, timeout);
    if (future->spins && thread->worker == NULL && is_done_soon(future, thread, timeout))
        return 0;
    hora_ns attend_at = HORA_FOREVER;
    hora_ns pause = 0;
    for (;;) {
        hora_ns help_at = hora__help(future, thread);
        hora_ns look_at = help_at < attend_at ? help_at : attend_at;
        hora_ns until = look_at < deadline ? look_at : deadline;
        int error = until == HORA_FOREVER ? wait_for_ever(future, thread)
                                          : wait_until(future, thread, until, attend_at != HORA_FOREVER);
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
    if (hora__thread_take_interrupt(thread))
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
