/* SPDX-License-Identifier: Apache-2.0 */
/* future_get.c - waiting for a future, and reading its outcome
 *
 * Precedence        done, then interrupted, then timed out.
 * Helping           A worker that waits for a task in its own pool's queue removes the task from the queue
 *                   and runs it. If the worker slept instead, the pool would lack a thread, and a pool with
 *                   one thread would wait forever. Each level of helping needs stack, so the depth is
 *                   limited; beyond the limit the worker just waits.
 * Deadlock          An untimed wait never ends if the task runs on the waiting thread itself, or on a thread
 *                   that waits for the waiting thread; or if the task is in the queue of a pool whose workers
 *                   all wait in this way. hora__begin_waiting finds such waits, and the call fails with
 *                   HORA_EDEADLK. A thread first notes what it waits for, and only then reads what the other
 *                   threads wait for. So if two threads close a ring at the same time, at least one of them
 *                   sees it. Each thread in a ring is a worker, or runs a future that another thread waits
 *                   for; all other threads need not note anything.
 * Spinning          A thread that parks, and the thread that wakes it, spend tens of microseconds if they run
 *                   on two processors. So a thread that is not a worker polls the future for a short time
 *                   before it parks. If that was in vain a few times in a row, the tasks of this thread take
 *                   longer, and it polls only once in a while. It never yields: a thread that gives up its
 *                   processor may get it back milliseconds later. With .spin the pool sets the time for which
 *                   it polls.
 * Rescue            If a pool could not start a single worker, for example because the system had no more
 *                   threads, no thread will run its tasks. A thread that waits for one of them tries from
 *                   time to time to start a worker (attend). */
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
    if (interrupted || !hora_future_is_done(future)) /* a future that has just expired keeps its flag */
        future->limit_interrupts = interrupted;
    hora__mutex_unlock(&future->object.lock);
}

/* A cancel with interrupt shows in the state. An expiry and an overrun set limit_interrupts instead. */
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

/* The flag is for a worker that has called hora__help and has not parked yet: wait_until checks it under the
 * lock. Workers that have parked are woken. */
void hora__future_nudge(hora_future *future)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&future->object.lock);
    future->nudged = true;
    /* If it is done, no thread waits, and its list head may be linked into a list of conclude.c. */
    bool is_done = hora__future_state(future) != HORA__FUTURE_NEW;
    for (struct hora__list *link = future->waiters.next; !is_done && link != &future->waiters;
         link = link->next)
        hora__waiter_nudge(HORA__LIST_ENTRY(link, struct hora__waiter, link), &wakes);
    hora__mutex_unlock(&future->object.lock);
    hora__wakes_flush(&wakes);
}

/* Returns the given state, or the state that follows if it is COMPLETING. That state lasts only while another
 * thread holds the lock, so taking the lock once is enough. */
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

/* Result and failure are written before the final state and never changed: a thread that has read the state
 * needs no lock. */
int hora__future_outcome(hora_future *future)
{
    assert(future != NULL);
    enum hora__future_state state = hora__future_state(future);
    if (state == HORA__FUTURE_NORMAL)
        return 0; /* the usual case */
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

/* Returns the outcome of a future that is done, as the get calls return it. The result stays owned by the
 * future. */
static int answer(hora_future *future, void **ret_result)
{
    int outcome = 0;
    if (hora__future_state(future) != HORA__FUTURE_NORMAL) /* usually it is */
        outcome = hora__future_outcome(future);
    assert(outcome != HORA_EAGAIN);
    if (outcome == 0 && ret_result != NULL)
        *ret_result = future->by.result;
    return outcome;
}

/* ---- waits that never end ----
 *
 * A thread that waits for a future depends on the thread that runs it or, if it is queued, on any worker of
 * its pool. The wait never ends if every thread on which it depends, directly or indirectly, waits too,
 * without a time limit. The search does not consider what threads outside this set may still do, such as
 * cancelling a future. It holds one lock at a time, a future's or a thread's, and a reference to everything
 * it reads. */

/* The search gives up beyond this number of threads: a ring that large is unlikely, and looking for it would
 * make every wait of a worker in a large pool expensive. */
enum { MOST_THREADS = 32 };

/* Returns the future that a thread waits for without a time limit, with a reference; NULL: none. *ret_wait is
 * the number of the wait, which tells it apart from a later wait for the same future. */
static hora_future *awaited_by(hora_thread *thread, uint32_t *ret_wait)
{
    hora__mutex_lock(&thread->lock);
    hora_future *future = hora_future_ref(thread->waiting_for);
    *ret_wait = thread->waits;
    hora__mutex_unlock(&thread->lock);
    return future;
}

/* Notes what the calling thread waits for; NULL: nothing. Borrows the future: the caller holds a reference
 * until it clears the note. */
static void note(hora_thread *thread, hora_future *future)
{
    assert(thread == hora__thread_existing());
    hora__mutex_lock(&thread->lock);
    thread->waiting_for = future;
    thread->waits++;
    hora__mutex_unlock(&thread->lock);
}

/* The threads that the search has reached so far. It holds references to the threads and futures in it. */
struct wait_graph {
    int count; /* of members, at least 1: the first is the calling thread */
    struct {
        hora_thread *thread;
        hora_future *awaited; /* what the thread waits for; NULL: the search has not read it yet */
        uint32_t wait;        /* the number of that wait, as in awaited_by */
    } members[MOST_THREADS];
};

/* Returns whether the thread is in the graph. */
static bool has(const struct wait_graph *graph, const hora_thread *thread)
{
    assert(graph->count <= MOST_THREADS);
    for (int i = 0; i < graph->count; i++)
        if (graph->members[i].thread == thread)
            return true;
    return false;
}

/* Adds a thread to the graph, unless it is there already. Consumes the reference to it. Returns false if
 * there is no room. */
static bool add(struct wait_graph *graph, hora_thread *thread)
{
    assert(graph->count >= 1 && graph->count <= MOST_THREADS);
    bool known = has(graph, thread);
    if (known || graph->count == MOST_THREADS) {
        (void)hora_thread_unref(thread);
        return known;
    }
    graph->members[graph->count].awaited = NULL;
    graph->members[graph->count++].thread = thread;
    return true;
}

/* Releases all references of the graph. */
static void release(struct wait_graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        (void)hora_thread_unref(graph->members[i].thread);
        (void)hora_future_unref(graph->members[i].awaited);
    }
}

/* Writes references to all threads that could complete the future into `threads`: its runner, or all workers
 * of the pool that has it queued. Returns their number; -1 if the future is done, if other threads could
 * complete it, or if there are more than MOST_THREADS. */
static int find_possible_runners(hora_future *future, hora_thread **threads)
{
    assert(!hora__mutex_held(&future->object.lock));
    hora__mutex_lock(&future->object.lock);
    /* Runner and owner are read together: a queued future that begins to run in between is seen as one or the
     * other. */
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
        return -1; /* for example a promise, which any thread may complete */
    int count = owner->find_workers(owner, threads, MOST_THREADS);
    hora__object_leave(owner->object);
    return count;
}

/* Returns true if all threads that could complete the future are in the graph or, with may_add, were added to
 * it. */
static bool add_possible_runners(struct wait_graph *graph, hora_future *future, bool may_add)
{
    hora_thread *threads[MOST_THREADS];
    int count = find_possible_runners(future, threads);
    bool all = count > 0;
    for (int i = 0; i < count; i++) {
        if (all && (may_add || has(graph, threads[i])))
            all = add(graph, threads[i]);
        else {
            all = false;
            (void)hora_thread_unref(threads[i]);
        }
    }
    return all;
}

/* First pass: adds the threads that each member of the graph depends on, until no new ones are found. Returns
 * whether all of them wait without a time limit. The graph grows while the loop runs. */
static bool all_wait(struct wait_graph *graph)
{
    assert(graph->count == 1);
    for (int i = 0; i < graph->count; i++) {
        graph->members[i].awaited = awaited_by(graph->members[i].thread, &graph->members[i].wait);
        if (graph->members[i].awaited == NULL ||
            !add_possible_runners(graph, graph->members[i].awaited, true))
            return false;
    }
    return true;
}

/* Second pass: the first one read the threads one after the other, so they may never have waited all at once.
 * Checks again which threads could complete each awaited future, and then that no thread has begun another
 * wait. If nothing has changed, there was a moment between the two passes in which all threads of the graph
 * waited for each other. */
static bool still_wait(struct wait_graph *graph)
{
    assert(graph->count >= 1);
    for (int i = 0; i < graph->count; i++)
        if (!add_possible_runners(graph, graph->members[i].awaited, false))
            return false;
    for (int i = 0; i < graph->count; i++) {
        uint32_t wait;
        hora_future *awaited = awaited_by(graph->members[i].thread, &wait);
        bool same = awaited == graph->members[i].awaited && wait == graph->members[i].wait;
        (void)hora_future_unref(awaited);
        if (!same || hora_future_is_done(graph->members[i].awaited))
            return false;
    }
    return true;
}

/* Notes the wait before it searches, so that of two threads that close a ring at least one finds it. */
int hora__begin_waiting(hora_future *future, hora_thread *thread)
{
    assert(thread->worker != NULL || thread->runs > 0);
    struct wait_graph graph;
    note(thread, future);
    graph.count = 1;
    graph.members[0].thread = hora_thread_ref(thread);
    graph.members[0].awaited = NULL;
    bool hangs = all_wait(&graph) && still_wait(&graph);
    release(&graph);
    return hangs ? HORA_EDEADLK : 0;
}

void hora__end_waiting(hora_thread *thread)
{
    note(thread, NULL);
}

/* ---- waiting ---- */

/* The flag `nudged` is cleared before the attempt: a nudge after this point is still set when wait_until
 * checks it, so the worker tries again and does not sleep through a change. */
hora_ns hora__help(hora_future *future, hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    struct hora__worker *worker = thread->worker;
    if (worker == NULL)
        return HORA_FOREVER;
    hora__mutex_lock(&future->object.lock);
    future->nudged = false;
    bool ours =
        future->runner == NULL && future->owner != NULL && future->owner == hora__worker_owner(worker);
    hora__mutex_unlock(&future->object.lock);
    return ours ? hora__worker_run_queued(worker, future) : HORA_FOREVER;
}

/* Returns whether the future belongs to a pool that has no worker now. */
static bool is_unattended_locked(const hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock));
    return future->owner != NULL && hora__atomic_load(&future->owner->workers) == 0;
}

/* Waits until the future is done or the deadline has passed. Returns HORA_EAGAIN without waiting if the
 * caller must do something first: help, because the future was nudged, or start a worker, because its pool
 * has none. `attended`: the caller has just tried to start one. All of this is checked under the lock, so no
 * change is missed between the check and the wait. */
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

/* Returns the spin time of the pool that has the future; 0 if none has it. */
static hora_ns spin_of_pool(hora_future *future)
{
    assert(future->spins);
    hora__mutex_lock(&future->object.lock);
    hora_ns time = future->owner != NULL ? future->owner->spin : 0;
    hora__mutex_unlock(&future->object.lock);
    return time;
}

/* Returns how long a thread spins that was not asked to: not at all for a promise, for a task that may not be
 * due yet, or on a single processor. */
static hora_ns spin_by_default(const hora_future *future)
{
    assert(!future->spins);
    bool is_due = future->kind == HORA__FUTURE_PLAIN || future->kind == HORA__FUTURE_BOUND;
    return is_due && future->task.run != NULL && hora__pause_helps() ? HORA__SPIN_DEFAULT : 0;
}

/* A thread that has spun in vain MOST_MISSES times in a row does not spin before its next SKIPS waits, after
 * the next miss not before twice as many, and so on, with at most DOUBLINGS doublings. This holds for .spin
 * as well: the system may put the worker that this thread has woken on the processor on which it spins. */
enum { MOST_MISSES = 3, SKIPS = 32, DOUBLINGS = 5 };

/* Polls the future for a short time, at most for `timeout`. Returns whether it is done. This only avoids
 * parking, and wait is correct without it; so a stale read here does no harm. */
static bool is_done_soon(hora_future *future, hora_thread *thread, hora_ns timeout)
{
    assert(thread->worker == NULL && timeout > 0);
    hora_ns time = future->spins ? spin_of_pool(future) : spin_by_default(future);
    if (time == 0)
        return false;
    if (thread->spin_skips > 0) {
        thread->spin_skips--;
        return false;
    }
    struct hora__spin spin;
    hora__spin_begin(&spin, time < timeout ? time : timeout);
    bool in_vain = false;
    while (!in_vain && hora__future_state(future) == HORA__FUTURE_NEW) {
        if (hora__atomic_load(&thread->interrupted) != 0)
            return false;
        in_vain = !hora__spin_goes_on(&spin);
    }
    thread->spin_misses = in_vain ? thread->spin_misses + 1 : 0;
    int doublings = thread->spin_misses - MOST_MISSES;
    thread->spin_skips = doublings < 0 ? 0 : SKIPS << (doublings < DOUBLINGS ? doublings : DOUBLINGS);
    return !in_vain;
}

/* If the pool of the future has no worker, tries to start one. Returns when the caller must try again, after
 * a pause that grows with each attempt; HORA_FOREVER if the pool has a worker. Not inlined, because it is
 * rare. */
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

/* Waits until the future is done. A worker helps first, and again whenever the future may have become
 * runnable: a task of a scheduler cannot run before its time. Returns 0, HORA_ETIMEDOUT, HORA_EINTERRUPTED or
 * HORA_EDEADLK. */
static int wait(hora_future *future, hora_thread *thread, hora_ns timeout)
{
    assert(timeout > 0);
    hora_ns deadline =
        timeout == HORA_FOREVER ? HORA_FOREVER : hora__clock_deadline(future->object.clock, timeout);
    if (thread->worker == NULL && is_done_soon(future, thread, timeout))
        return 0;
    hora_ns attend_at = HORA_FOREVER; /* when to try again to start a worker; HORA_FOREVER: no need */
    hora_ns pause = 0;
    for (;;) {
        /* Help first. Then sleep until the caller's deadline, or until it is time to help or to start a
         * worker again. */
        hora_ns help_at = thread->worker != NULL ? hora__help(future, thread) : HORA_FOREVER;
        hora_ns look_at = help_at < attend_at ? help_at : attend_at;
        hora_ns until = look_at < deadline ? look_at : deadline;
        /* An untimed wait must be visible to other threads if they can depend on this one: if it is a worker
         * or runs a future. */
        bool is_noted = until == HORA_FOREVER && (thread->runs != 0 || thread->worker != NULL);
        int error = is_noted ? hora__begin_waiting(future, thread) : 0;
        if (error == 0)
            error = wait_until(future, thread, until, until != HORA_FOREVER && attend_at != HORA_FOREVER);
        if (is_noted)
            hora__end_waiting(thread);
        /* A timeout before the caller's deadline is the time to help or to start a worker, not the end. */
        bool looks_again = error == HORA_EAGAIN || (error == HORA_ETIMEDOUT && look_at < deadline);
        if (!looks_again)
            return error;
        attend_at = attend(future, &pause);
    }
}

/* A future that is done needs no lock and no thread record, and comes before a pending interrupt. */
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

/* Clears has_result under the lock, so that only one caller takes the result (I3 of future.c). by.result
 * itself stays: hora_future_get may still read it. */
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
    (void)hora__future_outcome(future); /* waits out COMPLETING, so that `failure` is written */
    return hora__future_state(future) == HORA__FUTURE_EXCEPTIONAL ? future->failure : 0;
}

const hora_task *hora_future_task(const hora_future *future)
{
    return future == NULL ? NULL : &future->task;
}

/* Makes the event of a future, and sets it if the future is done already. Most futures have none, so it is
 * made on demand. HORA_ENOMEM, and the errors of hora__event_init. */
static int make_event_locked(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock) && !future->has_event);
    struct hora__event *event = hora__alloc(1, sizeof *event);
    int error = event == NULL ? HORA_ENOMEM : hora__event_init(event);
    if (error < 0) {
        hora__free(event);
        return error;
    }
    future->event = event;
    future->has_event = true;
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
    if (!future->has_event)
        result = make_event_locked(future);
    if (result == 0)
        result = future->event->fd;
    hora__mutex_unlock(&future->object.lock);
    return result;
}
