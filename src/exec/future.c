/* SPDX-License-Identifier: Apache-2.0 */
/* future.c - the states of a future and their transitions
 *
 * States            NEW -> COMPLETING -> NORMAL | EXCEPTIONAL  complete_locked: run, complete, fail, ...
 *                   NEW -> CANCELLED                           cancel
 *                   NEW -> INTERRUPTING -> INTERRUPTED         cancel with interrupt
 * Transitions       All transitions are made under the lock. So only threads that read the state without the
 *                   lock (is_done, is_cancelled) can see the transient states.
 * Running           The runner is set under the lock before the body and cleared under the lock after it. A
 *                   cancel interrupts the runner under the lock. So the interrupt hits this task or none, but
 *                   never the thread's next task. The owner's entry ends together with the run, in the same
 *                   critical section: a thread that sees the future done also sees that no owner has it.
 * Creation          The thread that makes a future for a pool writes to it without the lock until it puts the
 *                   future into a queue or hands it to a worker (hora__future_enqueued_fresh). No other
 *                   thread can see the future before that.
 * After the end     The thread that makes the transition out of NEW releases the lock, wakes the waiting
 *                   threads, calls the listeners, and drops the argument. If the body is still running, the
 *                   runner drops the argument when the body returns. conclude.c calls the listeners and drops
 *                   the argument.
 * Invariants        I1 once out of NEW, the outcome never changes.
 *                   I2 task.drop is called exactly once, with no lock held, and not while the body runs.
 *                   I3 a result is dropped or taken, exactly once.
 *                   I4 threads wait only while the state is NEW.
 *                   I5 the name may be part of the argument, so no thread reads it after task.drop. Before a
 *                      thread drops the task, it replaces the name by a copy, under the lock. It does so
 *                      before the state is final; or, if the body was still running then, after the body. So
 *                      the runner, and the thread that has completed the future, may read the name without
 *                      the lock; all others read it under the lock.
 * Locks             object.lock (rank OBJECT); thread->lock is taken under it, to interrupt. */
#include "exec/future.h"

#include <assert.h>
#include <hora/trigger.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/text.h"
#include "exec/extra.h"
#include "exec/future_memory.h"
#include "exec/members.h"
#include "sync/clock.h"
#include "sync/wait.h"
#include "sys/alloc.h"
#include "sys/probe.h"

static_assert(sizeof(struct hora__caller_owned_future) <= sizeof(hora_future_storage),
              "a future fits into the storage of callers");

/* ---- making, references ---- */

/* Drops a result that the future does not store. */
static void drop_result(hora_future *future, void *result)
{
    if (future->task.drop_result != NULL && result != NULL)
        future->task.drop_result(result);
}

int hora__future_init(hora_future *future, const hora_task *task, const hora_clock *clock,
                      bool in_caller_memory)
{
    assert(task != NULL);
    int error = hora__object_init(&future->object, clock, hora__future_destroy);
    if (error == 0)
        hora__future_init_rest(future, task, in_caller_memory);
    return error;
}

int hora__future_init_beside(hora_future *future, const hora_task *task, const struct hora__object *other)
{
    int error = hora__object_init_beside(&future->object, other, hora__future_destroy);
    if (error == 0)
        hora__future_init_rest(future, task, false);
    return error;
}

int hora__future_new(const hora_task *task, const hora_clock *clock, hora_future **ret_future)
{
    assert(ret_future != NULL);
    hora_future *future = hora__future_memory_get(HORA__BLOCK_PLAIN_FUTURE, sizeof(struct hora__seated));
    if (future == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init(future, task, clock, false);
    if (error < 0)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future);
    else
        *ret_future = future;
    return error;
}

/* The path of a submission without terms. The object is prepared inline, and only a virtual clock is asked to
 * count its users: so usually no call interrupts the writes to the new future. */
int hora__future_new_beside(const hora_task *task, const struct hora__object *other,
                            struct hora__shared_free_list *shared_free_list, hora_future **ret_future)
{
    hora_future *future =
        hora__shared_free_list_get(shared_free_list, HORA__BLOCK_PLAIN_FUTURE, sizeof(struct hora__seated));
    if (future == NULL)
        return HORA_ENOMEM;
    int error = hora__object_prepare_beside(&future->object, other, hora__future_destroy);
    if (error < 0) {
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future);
        return error;
    }
    if (other->clock->source != NULL)
        hora__clock_acquire(other->clock);
    hora__future_init_rest(future, task, false);
    *ret_future = future;
    return 0;
}

int hora__future_new_bound(const hora_task *task, const hora_clock *clock, struct hora__extra *extra,
                           hora_future **ret_future)
{
    assert(extra != NULL);
    struct hora__bound *bound = hora__alloc(1, sizeof *bound);
    if (bound == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init(&bound->future, task, clock, false);
    if (error < 0) {
        hora__free(bound);
        return error;
    }
    bound->future.kind = HORA__FUTURE_BOUND;
    bound->extra = extra;
    *ret_future = &bound->future;
    return 0;
}

int hora_future_new(const hora_task *task, hora_future **ret_future)
{
    if (task == NULL || task->run == NULL || ret_future == NULL)
        return HORA_EINVAL;
    return hora__future_new(task, NULL, ret_future);
}

int hora_future_new_promise(void (*drop_result_fn)(void *result), hora_future **ret_future)
{
    if (ret_future == NULL)
        return HORA_EINVAL;
    return hora__future_new(&(hora_task){.drop_result = drop_result_fn}, NULL, ret_future);
}

/* Writes without the lock and without atomic operations: the queue has refused the future, so the caller is
 * still the only thread that sees it. */
void hora__future_dequeued_fresh(hora_future *future)
{
    assert(hora__atomic_load(&future->object.references) >= 1 && future->runner == NULL);
    hora__atomic_init(&future->object.references, 1);
    future->owner = NULL;
    future->entries = 0;
}

void hora__future_discard(hora_future *future)
{
    future->owes_drop = false;
    (void)hora_future_unref(future);
}

hora_future *hora_future_ref(hora_future *future)
{
    if (future != NULL)
        hora__object_ref(&future->object);
    return future;
}

hora_future *hora_future_unref(hora_future *future)
{
    if (future != NULL)
        hora__object_leave(&future->object);
    return NULL;
}

/* Frees a future that is the first member of a larger struct: an overlapping run, or a bound future, whose
 * extra it frees as well. */
static void free_larger(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_BOUND || future->kind == HORA__FUTURE_OVERLAPPING);
    if (future->kind == HORA__FUTURE_BOUND)
        hora__extra_free(((struct hora__bound *)future)->extra);
    hora__free(future);
}

/* Destroys a future that owns something, or whose memory is not that of a plain future. */
__attribute__((noinline)) static void destroy_fully(hora_future *future)
{
    if (hora__future_ends_later(future))
        return;
    hora__future_release(future);
    assert(future->entries == 0);
    if ((future->kind == HORA__FUTURE_PLAIN && !future->in_caller_memory) ||
        future->kind == HORA__FUTURE_SEATED)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future);
    else if (future->kind == HORA__FUTURE_SCHEDULED)
        hora__future_memory_put(HORA__BLOCK_SCHEDULED_FUTURE, future);
    else if (future->kind != HORA__FUTURE_PLAIN)
        free_larger(future);
    else if (((struct hora__caller_owned_future *)future)->reclaimer != NULL)
        /* The caller may reuse the memory before this returns. */
        hora__future_gone(((struct hora__caller_owned_future *)future)->reclaimer);
}

/* The last reference is gone, so this reads and writes the future without its lock. Most futures own nothing
 * any more: then destroying is a single call that returns the memory. */
void hora__future_destroy(struct hora__object *object)
{
    hora_future *future = HORA__LIST_ENTRY(object, struct hora_future, object);
    assert(hora__list_is_empty(&future->waiters));
    bool is_usual = (future->kind == HORA__FUTURE_PLAIN && !future->in_caller_memory) ||
                    future->kind == HORA__FUTURE_SEATED;
    bool has_result = future->has_result && future->by.result != NULL && future->task.drop_result != NULL;
    bool owns_something = future->owes_drop || future->owns_name || has_result || future->listeners != NULL ||
                          future->has_event;
    if (!is_usual || owns_something) {
        destroy_fully(future);
        return;
    }
    assert(future->entries == 0);
    hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future);
}

/* Checks the argument of a public call: HORA_EINVAL, or the error of hora__object_check. */
static int check(const hora_future *future)
{
    return future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
}

/* ---- out of NEW ---- */

/* What a thread still has to do after a transition out of NEW, once it has released the lock. announce_locked
 * fills it in; before that its contents are undefined. */
struct completion {
    struct hora__wakes wakes; /* the threads that waited for the future */
    bool has_listeners;       /* the future had listeners when it left NEW */
    bool drops_task;          /* this thread has to drop the task */
};

/* Publishes a state. A reader without the lock may see it late; a thread that must not miss it (a waiter)
 * reads the state under the lock. */
static void set_state(hora_future *future, enum hora__future_state state)
{
    assert(hora__mutex_held(&future->object.lock) && state != HORA__FUTURE_NEW);
    HORA__ORDER_FAULT(FUTURE_STATE_RELAXED, memory_order_relaxed);
    hora__atomic_publish(&future->state, (int32_t)state);
}

/* Replaces the name of the task by a copy, before this thread drops the task (I5); by NULL if there is no
 * memory for a copy. Does nothing if this thread will not drop the task, because the body runs or the task
 * was dropped already. Not inlined, because most tasks have no drop function. */
__attribute__((noinline)) static void keep_name_locked(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock) && future->task.drop != NULL);
    if (future->runner != NULL || !future->owes_drop || future->task.name == NULL ||
        HORA__FAULT(FUTURE_KEEPS_NO_NAME))
        return;
    assert(!future->owns_name);
    size_t size = strlen(future->task.name) + 1;
    char *copy = hora__alloc_dirty(size);
    if (copy != NULL)
        memcpy(copy, future->task.name, size);
    future->task.name = copy;
    future->owns_name = copy != NULL;
}

/* Takes the waiting threads off the list of a future that has just reached a final state, sets its event, and
 * notes in *after what the caller must do without the lock. */
static void announce_locked(hora_future *future, struct completion *after)
{
    assert(hora__mutex_held(&future->object.lock));
    after->wakes.count = 0;
    if (future->waiters.next != &future->waiters) /* seldom: most futures are done before they are asked */
        hora__waiters_resolve_all(&future->waiters, 0, &after->wakes); /* I4 */
    if (future->has_event)
        hora__event_set(future->event, true);
    after->has_listeners = future->listeners != NULL; /* a listener that is added later is called at once */
    after->drops_task = future->owes_drop && future->runner == NULL; /* I2 */
    if (after->drops_task)
        future->owes_drop = false;
}

/* Does what announce_locked has noted, after the caller has released the lock. The caller has a reference to
 * the future that stays valid until this returns. */
static inline void finish(hora_future *future, struct completion *after)
{
    assert(!hora__mutex_held(&future->object.lock) && hora__future_state(future) != HORA__FUTURE_NEW);
    if (after->wakes.count > 0)
        hora__wakes_flush(&after->wakes);
    if (future->kind == HORA__FUTURE_SEATED && hora__future_row(future) != NULL)
        hora__future_row(future)->members->done(future); /* first, as the own listeners in conclude.c */
    bool drops = after->drops_task && future->task.drop != NULL;
    if (after->has_listeners || drops)
        hora__future_conclude(future, after->has_listeners, drops);
}

/* Makes the transition NEW -> COMPLETING -> NORMAL (failure 0) or EXCEPTIONAL. Returns false, and leaves
 * *after alone, if the future was not NEW. Result and failure are written before the final state, so that a
 * thread that sees that state may read them without the lock. */
static bool complete_locked(hora_future *future, void *result, int failure, struct completion *after)
{
    assert(hora__mutex_held(&future->object.lock));
    if (hora__future_state(future) != HORA__FUTURE_NEW)
        return false; /* I1 */
    set_state(future, HORA__FUTURE_COMPLETING);
    if (future->task.drop != NULL)
        keep_name_locked(future);
    future->by.result = failure == 0 ? result : NULL;
    future->has_result = failure == 0;
    future->failure = failure;
    set_state(future, failure == 0 ? HORA__FUTURE_NORMAL : HORA__FUTURE_EXCEPTIONAL);
    announce_locked(future, after);
    return true;
}

/* Completes a future, waiting threads and listeners included. Returns whether it was NEW. */
static bool complete(hora_future *future, void *result, int failure)
{
    struct completion after;
    hora__mutex_lock(&future->object.lock);
    bool completed = complete_locked(future, result, failure, &after);
    hora__mutex_unlock(&future->object.lock);
    if (completed)
        finish(future, &after);
    return completed;
}

int hora_future_complete(hora_future *future, void *result)
{
    int error = check(future);
    return error < 0 ? error : complete(future, result, 0);
}

int hora_future_fail(hora_future *future, int code)
{
    int error = check(future);
    if (error < 0)
        return error;
    return code == 0 ? HORA_EINVAL : complete(future, NULL, code);
}

bool hora__future_abort(hora_future *future, int why)
{
    assert(why != 0);
    struct completion after;
    hora__mutex_lock(&future->object.lock);
    bool completed = future->runner == NULL && complete_locked(future, NULL, why, &after);
    hora__mutex_unlock(&future->object.lock);
    if (completed)
        finish(future, &after);
    return completed;
}

/* ---- running ---- */

/* Counts one entry of `owner` less. After the last one the future has no owner, and another pool may take it.
 * Does nothing if `owner` is NULL or is not the owner that the future follows. */
static void leave_owner_locked(hora_future *future, const struct hora__queue_owner *owner)
{
    assert(hora__mutex_held(&future->object.lock));
    if (owner == NULL || future->owner != owner)
        return;
    assert(future->entries > 0);
    if (--future->entries == 0)
        future->owner = NULL;
}

/* Copies the time when the future was accepted to the observer of the worker, before the result overwrites
 * it. by.came holds that time only while the future is NEW and belongs to the observer's pool. Not inlined,
 * so that threads without an observer do not pay for it. */
__attribute__((noinline)) static void tell_worker_observer_locked(
    const hora_future *future, struct hora__worker_observer *worker_observer)
{
    assert(hora__mutex_held(&future->object.lock));
    worker_observer->came =
        hora__future_state(future) == HORA__FUTURE_NEW && future->owner == worker_observer->owner
            ? future->by.came
            : HORA_NEVER;
}

/* Makes the calling thread the runner, unless the future is done or runs already. Returns whether it is. If
 * not, ends the entry of `owner`: there will be no run that ends it. */
static inline bool begin_run(hora_future *future, hora_thread *thread, const struct hora__queue_owner *owner)
{
    assert(thread == hora__thread_existing() && future->task.run != NULL);
    hora__mutex_lock_as(&future->object.lock, HORA__RANK_OBJECT);
    bool runs = hora__future_state(future) == HORA__FUTURE_NEW &&
                (future->runner == NULL || HORA__FAULT(FUTURE_RUNS_TWICE));
    if (runs) {
        future->runner = thread;
        thread->runs += !HORA__FAULT(FUTURE_RUN_UNNOTED);
    } else {
        leave_owner_locked(future, owner);
    }
    if (thread->worker_observer != NULL)
        tell_worker_observer_locked(future, thread->worker_observer);
    hora__mutex_unlock_as(&future->object.lock, HORA__RANK_OBJECT);
    return runs;
}

/* Ends a run: makes its end the outcome of the future, unless a cancel or an expiry came first, and ends the
 * entry of `owner` (NULL: none) in the same critical section. With HORA__GOES_ON the future stays NEW.
 * Returns whether it is still NEW. `callbacks` may be NULL. */
static bool end_run(hora_future *future, hora_thread *thread, int failure, void *result,
                    enum hora__run_end end, const struct hora__queue_owner *owner,
                    const struct hora__run_callbacks *callbacks)
{
    assert(thread == hora__thread_existing());
    struct completion after;
    hora__mutex_lock_as(&future->object.lock, HORA__RANK_OBJECT);
    if (future->runner == thread)
        thread->runs -= !HORA__FAULT(FUTURE_RUN_UNNOTED);
    future->runner = NULL; /* from now on a cancel does not interrupt this thread */
    leave_owner_locked(future, owner);
    bool stays_new = end == HORA__GOES_ON && hora__future_state(future) == HORA__FUTURE_NEW;
    bool completed = !stays_new && complete_locked(future, result, failure, &after);
    /* It was cancelled while the body ran, so the cancelling thread left the drop to this one (I2). */
    bool drops_late = !completed && !stays_new && future->owes_drop;
    if (drops_late) {
        if (future->task.drop != NULL)
            keep_name_locked(future);
        future->owes_drop = false;
    }
    hora__mutex_unlock_as(&future->object.lock, HORA__RANK_OBJECT);
    if (callbacks != NULL && callbacks->cannot_go_on != NULL && end == HORA__GOES_ON && !stays_new)
        /* before code of the user can see the end of the series */
        callbacks->cannot_go_on(callbacks->context);
    if (!completed || failure != 0)
        drop_result(future, result); /* I3: no caller will see it */
    if (completed)
        finish(future, &after);
    else if (drops_late && future->task.drop != NULL && !HORA__FAULT(FUTURE_FORGETS_LATE_DROP))
        hora__future_conclude(future, false, true); /* I2 */
    return stays_new;
}

/* Runs a future in a thread of the user. `success` is how the run ends if the body returns 0. Returns 1 if
 * the future ran, 0 if it was done or running, or an error. *ret_stays_new is set only if it ran. */
static int run(hora_future *future, enum hora__run_end success, bool *ret_stays_new)
{
    assert(success == HORA__SUCCEEDS || success == HORA__GOES_ON);
    hora_thread *thread;
    int error = check(future);
    if (error == 0)
        error = future->task.run == NULL ? HORA_EINVAL : hora__thread_current(&thread);
    if (error != 0)
        return error;
    if (!begin_run(future, thread, NULL))
        return 0;
    void *result = NULL;
    int failure = future->task.run(future->task.arg, &result);
    *ret_stays_new =
        end_run(future, thread, failure, result, failure == 0 ? success : HORA__FAILS, NULL, NULL);
    return 1;
}

int hora_future_run(hora_future *future)
{
    bool stays_new;
    (void)hora_future_ref(future); /* the task may release the caller's reference */
    int ran = run(future, HORA__SUCCEEDS, &stays_new);
    (void)hora_future_unref(future);
    return ran;
}

/* Returns 1 only if the body has run and succeeded, and the future can run again. */
int hora_future_run_and_reset(hora_future *future)
{
    bool stays_new = false;
    (void)hora_future_ref(future); /* as in hora_future_run */
    int ran = run(future, HORA__GOES_ON, &stays_new);
    (void)hora_future_unref(future);
    return ran < 0 ? ran : ran == 1 && stays_new;
}

/* Calls the body between the two calls of the worker's observer. If `begins` refuses the run, returns the
 * code with which the future fails, and does not call the body. Not inlined, so that threads without an
 * observer do not pay for it. */
__attribute__((noinline)) static int call_observed(hora_future *future,
                                                   struct hora__worker_observer *worker_observer,
                                                   void **ret_result)
{
    assert(worker_observer != NULL && !hora__mutex_held(&future->object.lock));
    int code = worker_observer->kind->begins(worker_observer, future, &future->task);
    if (code != 0)
        return code;
    code = future->task.run(future->task.arg, ret_result);
    worker_observer->kind->ended(worker_observer, future, &future->task, code);
    return code;
}

bool hora__future_run(hora_future *future, hora_thread *thread, struct hora__queue_owner *owner)
{
    if (!begin_run(future, thread, owner))
        return false;
    void *result = NULL;
    HORA__PROBE(task_start, future, future->task.name);
    int failure = thread->worker_observer == NULL ? future->task.run(future->task.arg, &result)
                                                  : call_observed(future, thread->worker_observer, &result);
    HORA__PROBE(task_done, future, future->task.name, failure);
    (void)end_run(future, thread, failure, result, failure == 0 ? HORA__SUCCEEDS : HORA__FAILS, owner, NULL);
    return true;
}

/* `ends` is called between the body and end_run, with no lock held: it takes the lock of the timer queue, and
 * the future may be cancelled in the meantime. end_run then ignores what it has returned. */
bool hora__future_run_scheduled(hora_future *future, hora_thread *thread,
                                const struct hora__run_callbacks *callbacks)
{
    assert(callbacks->begins != NULL && callbacks->ends != NULL);
    if (!begin_run(future, thread, NULL))
        return false;
    if (!callbacks->begins(future, callbacks->context))
        return end_run(future, thread, 0, NULL, HORA__GOES_ON, NULL, NULL);
    void *result = NULL;
    HORA__PROBE(timed_start, future, future->task.name);
    int code = thread->worker_observer == NULL ? future->task.run(future->task.arg, &result)
                                               : call_observed(future, thread->worker_observer, &result);
    HORA__PROBE(timed_done, future, future->task.name, code);
    return end_run(future, thread, code, result, callbacks->ends(future, code, callbacks->context), NULL,
                   callbacks);
}

/* If this thread is the runner, the run ends here as if the body had failed. If not, the thread was ended by
 * a hook before or after the run: then only the entry may be left to end, and the future to abort. */
void hora__future_thread_ends(hora_future *future, struct hora__queue_owner *owner, bool has_left)
{
    hora_thread *thread = hora__thread_existing();
    hora__mutex_lock(&future->object.lock);
    bool runs_here = future->runner == thread || HORA__FAULT(FUTURE_ENDS_WITH_ANY_THREAD);
    if (!runs_here && !has_left)
        leave_owner_locked(future, owner);
    hora__mutex_unlock(&future->object.lock);
    if (runs_here)
        (void)end_run(future, thread, HORA_EABANDONED, NULL, HORA__FAILS, owner, NULL);
    else if (!has_left)
        (void)hora__future_abort(future, HORA_EABANDONED);
}

/* ---- cancelling ---- */

/* Makes the transition NEW -> CANCELLED, or NEW -> INTERRUPTING -> INTERRUPTED with `interrupt`, and
 * interrupts the runner. Returns what was cancelled; HORA_CANCEL_TOO_LATE, with *after undefined, if the
 * future was not NEW. The runner is interrupted under the lock, because it could begin its next task
 * otherwise. */
static hora_cancel cancel_locked(hora_future *future, bool interrupt, struct completion *after)
{
    assert(hora__mutex_held(&future->object.lock));
    if (hora__future_state(future) != HORA__FUTURE_NEW)
        return HORA_CANCEL_TOO_LATE;
    hora_cancel what = future->runner == NULL ? HORA_CANCEL_REMOVED : HORA_CANCEL_RUNNING;
    if (future->task.drop != NULL)
        keep_name_locked(future); /* I5: before the state is final */
    if (interrupt) {
        set_state(future, HORA__FUTURE_INTERRUPTING);
        if (future->runner != NULL) {
            (void)hora_thread_interrupt(future->runner);
            what = HORA_CANCEL_INTERRUPTED;
        }
        set_state(future, HORA__FUTURE_INTERRUPTED);
    } else {
        set_state(future, HORA__FUTURE_CANCELLED);
    }
    if (future->owner != NULL && future->owner->counts_cancelled != NULL)
        future->owner->counts_cancelled(future->owner, future);
    announce_locked(future, after);
    return what;
}

/* The runner is interrupted under the lock, as in cancel_locked. */
hora_cancel hora__future_expire(hora_future *future)
{
    struct completion after;
    hora__mutex_lock(&future->object.lock);
    hora_cancel what = future->runner == NULL ? HORA_CANCEL_REMOVED : HORA_CANCEL_INTERRUPTED;
    bool completed = complete_locked(future, NULL, HORA_EEXPIRED, &after);
    if (completed && what == HORA_CANCEL_INTERRUPTED) {
        /* The state EXCEPTIONAL does not show that the runner was interrupted; the flag does. */
        future->limit_interrupts = true;
        (void)hora_thread_interrupt(future->runner);
    }
    hora__mutex_unlock(&future->object.lock);
    if (completed)
        finish(future, &after);
    return completed ? what : HORA_CANCEL_TOO_LATE;
}

/* Separates a future that was cancelled before it ran from its owner. Returns the owner, with a reference to
 * its object, if the caller must ask it to remove the entry once the lock is free (leave_queue); else NULL:
 * there is no owner, the owner keeps cancelled futures, or the entry is out already. In the last case
 * *ret_is_out is set, and the caller owns the reference of the entry. If a worker takes the entry first, it
 * finds the future done and ends the entry itself. An entry is counted off by the thread that removes it, not
 * before: meanwhile others may queue the future again. */
HORA__INLINE struct hora__queue_owner *part_from_owner_locked(hora_future *future, bool *ret_is_out)
{
    assert(hora__mutex_held(&future->object.lock));
    struct hora__queue_owner *owner = future->owner;
    if (owner == NULL || hora__atomic_load(&owner->keeps_cancelled) != 0)
        return NULL;
    *ret_is_out = owner->cancel_in_lane != NULL && owner->cancel_in_lane(owner, future);
    if (!*ret_is_out) {
        hora__object_ref(owner->object);
        return owner;
    }
    leave_owner_locked(future, owner); /* only compares pointers: with its last entry the owner may be gone */
    return NULL;
}

/* Asks the owner to remove the entry of a cancelled future, and releases the reference to the owner. */
static void leave_queue(hora_future *future, struct hora__queue_owner *owner)
{
    assert(!hora__mutex_held(&future->object.lock));
    struct hora__object *object = owner->object;
    owner->cancelled(owner, future);
    hora__object_leave(object);
}

/* Returns whether only the owner has to be notified if the future is cancelled now: it is queued, no thread
 * waits for it, and it has no listener, no seat in a group, no event and nothing to drop. */
HORA__INLINE bool is_unnoticed_locked(const hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock));
    return hora__future_state(future) == HORA__FUTURE_NEW && future->runner == NULL &&
           (hora__list_is_empty(&future->waiters) || HORA__FAULT(CANCEL_WAKES_NO_WAITER)) &&
           future->listeners == NULL && hora__future_row(future) == NULL && !future->has_event &&
           future->task.drop == NULL && future->owner != NULL && future->owner->counts_cancelled == NULL;
}

/* As cancel_noticed, for a future for which is_unnoticed_locked is true: it skips the steps that have nothing
 * to do. Called with the lock held, releases it. The state is set before the entry can leave the queue: a
 * thread that waits until a scheduler is idle may return as soon as the entry has left (needs_no_news in
 * sched/scheduler.c), and must not find the future NEW. */
static hora_cancel cancel_unnoticed(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock) && future->owner != NULL);
    bool is_out = false;
    if (!HORA__FAULT(CANCEL_TELLS_TOO_LATE))
        set_state(future, HORA__FUTURE_CANCELLED);
    future->owes_drop = false;
    struct hora__queue_owner *owner = part_from_owner_locked(future, &is_out);
    if (HORA__FAULT(CANCEL_TELLS_TOO_LATE))
        set_state(future, HORA__FUTURE_CANCELLED);
    hora__mutex_unlock_as(&future->object.lock, HORA__RANK_OBJECT);
    if (owner != NULL)
        leave_queue(future, owner);
    if (is_out)
        hora__object_leave(&future->object); /* the reference of the entry */
    return HORA_CANCEL_REMOVED;
}

/* Cancels a future in any state. Called with the lock held, releases it. */
__attribute__((noinline)) static hora_cancel cancel_noticed(hora_future *future, bool interrupt)
{
    assert(hora__mutex_held(&future->object.lock));
    struct completion after;
    hora_cancel what = cancel_locked(future, interrupt, &after);
    bool is_out = false;
    struct hora__queue_owner *owner =
        what == HORA_CANCEL_REMOVED ? part_from_owner_locked(future, &is_out) : NULL;
    bool is_new = what != HORA_CANCEL_TOO_LATE;
    bool tells_user = is_new && (after.has_listeners || hora__future_row(future) != NULL ||
                                 (after.drops_task && future->task.drop != NULL));
    if (tells_user)
        (void)hora_future_ref(future); /* code of the user may release the caller's reference */
    hora__mutex_unlock(&future->object.lock);
    if (is_new)
        finish(future, &after);
    if (owner != NULL)
        leave_queue(future, owner);
    if (is_out)
        (void)hora_future_unref(future); /* the reference of the entry */
    if (tells_user)
        (void)hora_future_unref(future);
    return what;
}

/* A queued future that no thread waits for, such as a timeout that is not needed any more, takes the short
 * path. */
int hora_future_cancel(hora_future *future, bool interrupt)
{
    int error = check(future);
    if (error < 0)
        return error;
    hora__mutex_lock_as(&future->object.lock, HORA__RANK_OBJECT);
    if (HORA__FAST && !interrupt && is_unnoticed_locked(future))
        return (int)cancel_unnoticed(future);
    return (int)cancel_noticed(future, interrupt);
}

/* ---- groups ---- */

struct hora__seat_row *hora__future_unseat(hora_future *future)
{
    assert(!hora__mutex_held(&future->object.lock));
    struct hora__seat_row *row = NULL;
    hora__mutex_lock(&future->object.lock);
    if (future->kind == HORA__FUTURE_SEATED && hora__future_state(future) == HORA__FUTURE_NEW) {
        row = hora__future_row(future);
        hora__future_seat(future)->row = NULL;
    }
    hora__mutex_unlock(&future->object.lock);
    return row;
}

/* ---- queues ---- */

void hora__future_enqueued(hora_future *future, struct hora__queue_owner *owner, int64_t came)
{
    assert(owner != NULL);
    hora__mutex_lock(&future->object.lock);
    if (future->owner == NULL)
        future->owner = owner;
    bool is_owner = future->owner == owner; /* false: it is queued in another pool, which stays its owner */
    /* The first entry sets the time. Once the future is done, by.came has become by.result. */
    if (is_owner && future->entries == 0 && future->runner == NULL &&
        hora__future_state(future) == HORA__FUTURE_NEW)
        future->by.came = came;
    future->entries += is_owner ? 1 : 0;
    hora__mutex_unlock(&future->object.lock);
}

void hora__future_dequeued(hora_future *future, struct hora__queue_owner *owner)
{
    hora__mutex_lock(&future->object.lock);
    leave_owner_locked(future, owner);
    hora__mutex_unlock(&future->object.lock);
}

/* ---- in memory of the caller ----
 *
 * The caller gets the memory back when the last reference is gone. The thread that releases that reference
 * resolves a waiter on the stack of the thread in hora_future_reclaim. It does so last, and does not touch
 * the future afterwards. */

int hora_future_init(hora_future_storage *storage, const hora_task *task, hora_future **ret_future)
{
    if (storage == NULL || task == NULL || task->run == NULL || ret_future == NULL)
        return HORA_EINVAL;
    hora_future *future = (hora_future *)(void *)storage;
    int error = hora__future_init(future, task, NULL, true);
    if (error == 0)
        *ret_future = future;
    return error;
}

/* Takes no lock: the waiter is on no list, and only this thread resolves it. */
void hora__future_gone(struct hora__waiter *reclaimer)
{
    assert(reclaimer != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__waiter_resolve(reclaimer, 0, &wakes);
    hora__wakes_flush(&wakes);
}

/* Notes the waiter that the destructor resolves. Cancels a future that no thread runs and no pool has: it
 * will never be done otherwise, and its task must be dropped. Returns HORA_EDEADLK if the task itself
 * reclaims its future. */
static int note_reclaimer(hora_future *future, hora_thread *thread, struct hora__waiter *waiter)
{
    assert(future->in_caller_memory);
    hora__mutex_lock(&future->object.lock);
    bool self = future->runner == thread; /* it would wait for its own end */
    bool is_unowned = !hora_future_is_done(future) && future->runner == NULL && future->owner == NULL;
    if (!self)
        ((struct hora__caller_owned_future *)future)->reclaimer = waiter;
    hora__mutex_unlock(&future->object.lock);
    if (self)
        return HORA_EDEADLK;
    if (is_unowned)
        (void)hora_future_cancel(future, false);
    return 0;
}

int hora_future_reclaim(hora_future *future)
{
    hora_thread *thread;
    struct hora__waiter waiter;
    int error =
        future == NULL || !future->in_caller_memory ? HORA_EINVAL : hora__object_check(&future->object);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    hora__waiter_init(&waiter, NULL, thread, HORA_FOREVER);
    error = note_reclaimer(future, thread, &waiter);
    if (error < 0)
        return error;
    bool interrupted = false;
    hora__object_leave(&future->object); /* the caller's reference; the future may be destroyed here */
    while (hora__waiter_park(&waiter, hora__clock_or_default(NULL), HORA_FOREVER) != HORA__WAKE_RESOLVED)
        /* The memory is in use until the waiter is resolved, so the interrupt must wait until then. */
        interrupted |= hora__thread_take_interrupt(thread);
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return 0;
}

/* ---- the name, for threads that do not run the task: I5 ---- */

/* The simulator may switch threads at the atomic point; with the planted fault, that is when another thread
 * frees the name. */
const char *hora__future_lock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_lock(&future->object.lock);
    const char *name = future->task.name;
    HORA__ATOMIC_POINT();
    return name;
}

void hora__future_unlock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_unlock(&future->object.lock);
}

/* Copies the name only if the task has a drop function: only then can the name be freed while the future
 * exists. */
void hora__future_copy_task(hora_future *future, struct hora__task_copy *ret_copy)
{
    assert(ret_copy != NULL);
    const char *name = hora__future_lock_name(future);
    ret_copy->task = future->task;
    if (name != NULL && future->task.drop != NULL) {
        hora__utf8_copy(ret_copy->name, sizeof ret_copy->name, name);
        ret_copy->task.name = ret_copy->name;
    }
    hora__future_unlock_name(future);
}

/* ---- in one line ---- */

enum { STATE_SIZE = 128 };

/* Writes the state in words, as FutureTask.toString of the JDK has it, into STATE_SIZE characters. */
static void describe_state(hora_future *future, char *state)
{
    int outcome = hora__future_outcome(future);
    switch (outcome) {
    case 0:
        (void)snprintf(state, STATE_SIZE, "Completed normally");
        return;
    case HORA_EAGAIN:
        (void)snprintf(state, STATE_SIZE, "Not completed");
        return;
    case HORA_ECANCELED:
        (void)snprintf(state, STATE_SIZE, "Cancelled");
        return;
    case HORA_EFAILED:
        (void)snprintf(state, STATE_SIZE, "Completed exceptionally: %d", hora_future_failure(future));
        return;
    default:
        (void)snprintf(state, STATE_SIZE, "Completed exceptionally: %s", hora_strerror(outcome));
    }
}

/* Writes "name (file:line) [state]". Returns the length without truncation, as snprintf does. */
static int describe(const hora_future *future, const char *name, const char *state, char *text, size_t size)
{
    const hora_task *task = &future->task;
    return snprintf(text, size, "%s (%s:%d) [%s]", name != NULL ? name : "task",
                    task->file != NULL ? task->file : "?", task->line, state);
}

int hora_future_describe(hora_future *future, char *text, size_t size)
{
    char state[STATE_SIZE];
    if (future == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    describe_state(future, state);
    /* In a forked child, or in a callback under a lock of hora, this call cannot take the future's lock, and
     * without it the name must not be read. */
    if (hora__object_check(&future->object) < 0)
        return describe(future, NULL, state, text, size);
    const char *name = hora__future_lock_name(future);
    int length = describe(future, name, state, text, size);
    hora__future_unlock_name(future);
    return length;
}
