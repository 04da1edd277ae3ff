/* SPDX-License-Identifier: Apache-2.0 */
/* future.c - the states of a future, and who may change them
 *
 * States            NEW -> COMPLETING -> NORMAL | EXCEPTIONAL  complete_locked: run, complete, fail, ...
 *                   NEW -> CANCELLED                           cancel
 *                   NEW -> INTERRUPTING -> INTERRUPTED         cancel with interrupt
 * How it works      All transitions are made under the lock, so the transient states are seen only by those
 *                   who look without it (is_done, is_cancelled). The runner is noted under the lock before
 *                   the body and cleared after it, and a cancel interrupts it under the lock: so the
 *                   interrupt meets this task or none, never the thread's next task. The thread that makes a
 *                   future for a pool writes to it without the lock until it has been put into a queue or
 *                   handed to a worker (born_enqueued): no other thread can see it before. An owner's entry
 *                   ends together with the run, under the same lock; from then on the future is done, and its
 *                   owner has no part in it. After a transition out of NEW, with the lock free: waiting
 *                   threads are woken, listeners called, and the argument dropped, unless the body is still
 *                   running; then its thread does that when it ends. conclude.c does the latter two.
 * Invariants        I1 once out of NEW, the outcome never changes.
 *                   I2 task.drop is called exactly once, with no lock held, and not while the body runs.
 *                   I3 a result is dropped or taken, exactly once.
 *                   I4 threads wait only while the state is NEW.
 *                   I5 the name may be part of the argument, so nothing reads it after task.drop. The thread
 *                      that is going to drop the task replaces the name by a copy before that, under the
 *                      lock, and before the state is final unless the body is still running. So the runner,
 *                      and the thread that has completed the future, read the name without the lock; all
 *                      others read it under the lock.
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
#include "sync/clock.h"
#include "sync/wait.h"
#include "sys/alloc.h"
#include "sys/probe.h"

static_assert(sizeof(struct hora__caller_owned_future) <= sizeof(hora_future_storage),
              "a future fits into the storage of callers");

/* ---- making, references ---- */

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
    hora_future *future = hora__future_memory_get(HORA__BLOCK_PLAIN_FUTURE, sizeof *future);
    if (future == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init(future, task, clock, false);
    if (error < 0)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future);
    else
        *ret_future = future;
    return error;
}

int hora__future_new_beside(const hora_task *task, const struct hora__object *other,
                            struct hora__shared_free_list *shared_free_list, hora_future **ret_future)
{
    hora_future *future =
        hora__shared_free_list_get(shared_free_list, HORA__BLOCK_PLAIN_FUTURE, sizeof *future);
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

void hora__future_unborn(hora_future *future)
{
    assert(hora__atomic_load(&future->object.references) >= 1 && future->runner == NULL);
    hora__atomic_init(&future->object.references, 1);
    future->owner = NULL;
    future->entries = 0;
}

void hora__future_forget(hora_future *future)
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

/* The future is part of a larger one: of an overlapping run, or of one that has terms. */
static void free_larger(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_BOUND || future->kind == HORA__FUTURE_OVERLAPPING);
    if (future->kind == HORA__FUTURE_BOUND)
        hora__extra_free(((struct hora__bound *)future)->extra);
    hora__free(future);
}

/* The last reference is gone: no other thread can see the future any more. */
void hora__future_destroy(struct hora__object *object)
{
    hora_future *future = HORA__LIST_ENTRY(object, struct hora_future, object);
    assert(hora__list_is_empty(&future->waiters));
    bool has_result = future->has_result && future->by.result != NULL && future->task.drop_result != NULL;
    if (future->owes_drop || future->owns_name || has_result || future->listeners != NULL ||
        future->event != NULL || future->kind == HORA__FUTURE_BOUND) {
        if (hora__future_ends_later(future))
            return;
        hora__future_release(future);
    }
    assert(future->entries == 0);
    if (future->kind == HORA__FUTURE_PLAIN && !future->in_caller_memory)
        hora__future_memory_put(HORA__BLOCK_PLAIN_FUTURE, future); /* as a rule */
    else if (future->kind == HORA__FUTURE_SCHEDULED)
        hora__future_memory_put(HORA__BLOCK_SCHEDULED_FUTURE, future);
    else if (future->kind != HORA__FUTURE_PLAIN)
        free_larger(future);
    else if (((struct hora__caller_owned_future *)future)->reclaimer != NULL)
        hora__future_gone(
            ((struct hora__caller_owned_future *)future)->reclaimer); /* the memory is gone after this */
}

static int check(const hora_future *future)
{
    return future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
}

/* ---- out of NEW ---- */

/* What remains to be done after a transition, once the lock is free. Valid once announce_locked has filled it
 * in. */
struct completion {
    struct hora__wakes wakes;
    bool has_listeners;
    bool drops_task;
};

static void set_state(hora_future *future, enum hora__future_state state)
{
    assert(hora__mutex_held(&future->object.lock) && state != HORA__FUTURE_NEW);
    HORA__ORDER_FAULT(FUTURE_STATE_RELAXED, memory_order_relaxed);
    hora__atomic_publish(&future->state, (int32_t)state); /* who must not miss it looks under the lock */
}

/* I5: the caller is going to drop the task, unless it runs or has been dropped. From now on the name is a
 * copy, or NULL if there is no memory for one. */
static void keep_name_locked(hora_future *future)
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

/* The future has just left NEW and is in a final state. */
static void announce_locked(hora_future *future, struct completion *after)
{
    assert(hora__mutex_held(&future->object.lock));
    after->wakes.count = 0;
    hora__waiters_resolve_all(&future->waiters, 0, &after->wakes); /* I4 */
    if (future->event != NULL)
        hora__event_set(future->event, true);
    after->has_listeners = future->listeners != NULL;                /* a later one is called at once */
    after->drops_task = future->owes_drop && future->runner == NULL; /* I2 */
    if (after->drops_task)
        future->owes_drop = false;
}

/* With the lock free. The caller has a reference that outlives this. */
static inline void finish(hora_future *future, struct completion *after)
{
    assert(!hora__mutex_held(&future->object.lock) && hora__future_state(future) != HORA__FUTURE_NEW);
    if (after->wakes.count > 0)
        hora__wakes_flush(&after->wakes);
    bool drops = after->drops_task && future->task.drop != NULL;
    if (after->has_listeners || drops)
        hora__future_conclude(future, after->has_listeners, drops);
}

/* NEW -> COMPLETING -> NORMAL or EXCEPTIONAL; whether it was NEW. */
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

/* The owner, if there is one, is through with an entry. */
static void leave_owner_locked(hora_future *future, const struct hora__queue_owner *owner)
{
    assert(hora__mutex_held(&future->object.lock));
    if (owner == NULL || future->owner != owner)
        return;
    assert(future->entries > 0);
    if (--future->entries == 0)
        future->owner = NULL;
}

/* Tells the observer of the worker when the future was accepted. by.came holds that while the future is NEW
 * and belongs to the observer's pool. */
__attribute__((noinline)) static void tell_worker_observer_locked(
    const hora_future *future, struct hora__worker_observer *worker_observer)
{
    assert(hora__mutex_held(&future->object.lock));
    worker_observer->came =
        hora__future_state(future) == HORA__FUTURE_NEW && future->owner == worker_observer->owner
            ? future->by.came
            : HORA_NEVER;
}

static inline bool begin_run(hora_future *future, hora_thread *thread, const struct hora__queue_owner *owner)
{
    assert(thread == hora__thread_existing() && future->task.run != NULL);
    hora__mutex_lock(&future->object.lock);
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
    hora__mutex_unlock(&future->object.lock);
    return runs;
}

/* After the body: make its end the outcome, unless there is one already. Whether the future is still NEW.
 * `judge` may be NULL. */
static bool end_run(hora_future *future, hora_thread *thread, int failure, void *result,
                    enum hora__verdict verdict, const struct hora__queue_owner *owner,
                    const struct hora__judge *judge)
{
    assert(thread == hora__thread_existing());
    struct completion after;
    hora__mutex_lock(&future->object.lock);
    if (future->runner == thread)
        thread->runs -= !HORA__FAULT(FUTURE_RUN_UNNOTED);
    future->runner = NULL;
    leave_owner_locked(future, owner);
    bool stays_new = verdict == HORA__GOES_ON && hora__future_state(future) == HORA__FUTURE_NEW;
    bool completed = !stays_new && complete_locked(future, result, failure, &after);
    bool drops_late = !completed && !stays_new && future->owes_drop; /* it was cancelled while the body ran */
    if (drops_late) {
        if (future->task.drop != NULL)
            keep_name_locked(future);
        future->owes_drop = false;
    }
    hora__mutex_unlock(&future->object.lock);
    if (judge != NULL && judge->cannot_go_on != NULL && verdict == HORA__GOES_ON && !stays_new)
        judge->cannot_go_on(judge->context); /* before code of the user sees that */
    if (!completed || failure != 0)
        drop_result(future, result); /* I3: no caller will see it */
    if (completed)
        finish(future, &after);
    else if (drops_late && future->task.drop != NULL && !HORA__FAULT(FUTURE_FORGETS_LATE_DROP))
        hora__future_conclude(future, false, true); /* I2 */
    return stays_new;
}

/* Run it in any thread; if it succeeds, that means `success`. */
static int run(hora_future *future, enum hora__verdict success, bool *ret_stays_new)
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
    (void)hora_future_ref(future); /* the task may give the caller's reference back */
    int ran = run(future, HORA__SUCCEEDS, &stays_new);
    (void)hora_future_unref(future);
    return ran;
}

int hora_future_run_and_reset(hora_future *future)
{
    bool stays_new = false;
    (void)hora_future_ref(future);
    int ran = run(future, HORA__GOES_ON, &stays_new);
    (void)hora_future_unref(future);
    return ran < 0 ? ran : ran == 1 && stays_new;
}

/* Apart, so that threads without an observer do not pay for it. */
__attribute__((noinline)) static int call_watched(hora_future *future,
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
                                                  : call_watched(future, thread->worker_observer, &result);
    HORA__PROBE(task_done, future, future->task.name, failure);
    (void)end_run(future, thread, failure, result, failure == 0 ? HORA__SUCCEEDS : HORA__FAILS, owner, NULL);
    return true;
}

bool hora__future_run_judged(hora_future *future, hora_thread *thread, const struct hora__judge *judge)
{
    assert(judge->begins != NULL && judge->ends != NULL);
    if (!begin_run(future, thread, NULL))
        return false;
    if (!judge->begins(future, judge->context))
        return end_run(future, thread, 0, NULL, HORA__GOES_ON, NULL, NULL);
    void *result = NULL;
    HORA__PROBE(timed_start, future, future->task.name);
    int code = thread->worker_observer == NULL ? future->task.run(future->task.arg, &result)
                                               : call_watched(future, thread->worker_observer, &result);
    HORA__PROBE(timed_done, future, future->task.name, code);
    return end_run(future, thread, code, result, judge->ends(future, code, judge->context), NULL, judge);
}

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

static hora_cancel cancel_locked(hora_future *future, bool interrupt, struct completion *after)
{
    assert(hora__mutex_held(&future->object.lock));
    if (hora__future_state(future) != HORA__FUTURE_NEW)
        return HORA_CANCEL_TOO_LATE;
    hora_cancel what = future->runner == NULL ? HORA_CANCEL_REMOVED : HORA_CANCEL_RUNNING;
    if (future->task.drop != NULL)
        keep_name_locked(future);
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

hora_cancel hora__future_expire(hora_future *future)
{
    struct completion after;
    hora__mutex_lock(&future->object.lock);
    hora_cancel what = future->runner == NULL ? HORA_CANCEL_REMOVED : HORA_CANCEL_INTERRUPTED;
    bool completed = complete_locked(future, NULL, HORA_EEXPIRED, &after);
    if (completed && what == HORA_CANCEL_INTERRUPTED) {
        future->limit_interrupts = true;
        (void)hora_thread_interrupt(future->runner);
    }
    hora__mutex_unlock(&future->object.lock);
    if (completed)
        finish(future, &after);
    return completed ? what : HORA_CANCEL_TOO_LATE;
}

/* It has been cancelled before it ran: the owner that must be asked to take it out of a queue, kept alive by
 * a reference; NULL: none. That entry has no other owner then. Whether it is taken out or a worker has it
 * already, the thread that has it finds that it is done. If it is out at once, *ret_is_out says so; then the
 * caller has the reference of the entry. */
HORA__INLINE struct hora__queue_owner *part_from_owner_locked(hora_future *future, bool *ret_is_out)
{
    assert(hora__mutex_held(&future->object.lock));
    struct hora__queue_owner *owner = future->owner;
    if (owner == NULL || hora__atomic_load(&owner->keeps_cancelled) != 0)
        return NULL;
    *ret_is_out = owner->cancel_in_lane != NULL &&
                  owner->cancel_in_lane(owner, future); /* the owner may be gone after this */
    if (!*ret_is_out)
        hora__object_ref(owner->object);
    leave_owner_locked(future, owner);
    return *ret_is_out ? NULL : owner;
}

static void leave_queue(hora_future *future, struct hora__queue_owner *owner)
{
    assert(!hora__mutex_held(&future->object.lock));
    struct hora__object *object = owner->object;
    owner->cancelled(owner, future);
    hora__object_leave(object);
}

/* With the lock: whether it waits for its owner, and only the owner has to be told that it is cancelled. */
HORA__INLINE bool is_unnoticed_locked(const hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock));
    return hora__future_state(future) == HORA__FUTURE_NEW && future->runner == NULL &&
           (hora__list_is_empty(&future->waiters) || HORA__FAULT(CANCEL_NOTICES_NOBODY)) &&
           future->listeners == NULL && future->event == NULL && future->task.drop == NULL &&
           future->owner != NULL && future->owner->counts_cancelled == NULL;
}

/* Cancel one of these, and unlock: as cancel_noticed, without what is not needed. */
static hora_cancel cancel_unnoticed(hora_future *future)
{
    assert(hora__mutex_held(&future->object.lock) && future->owner != NULL);
    bool is_out = false;
    if (!HORA__FAULT(CANCEL_TELLS_TOO_LATE))
        set_state(
            future,
            HORA__FUTURE_CANCELLED); /* before its owner knows: see needs_no_news in sched/scheduler.c */
    future->owes_drop = false;
    struct hora__queue_owner *owner = part_from_owner_locked(future, &is_out);
    if (HORA__FAULT(CANCEL_TELLS_TOO_LATE))
        set_state(future, HORA__FUTURE_CANCELLED);
    hora__mutex_unlock_as(&future->object.lock, HORA__RANK_OBJECT);
    if (owner != NULL)
        leave_queue(future, owner);
    if (is_out)
        hora__object_leave(&future->object); /* the entry's */
    return HORA_CANCEL_REMOVED;
}

/* Cancel any, and unlock. */
__attribute__((noinline)) static hora_cancel cancel_noticed(hora_future *future, bool interrupt)
{
    assert(hora__mutex_held(&future->object.lock));
    struct completion after;
    hora_cancel what = cancel_locked(future, interrupt, &after);
    bool is_out = false;
    struct hora__queue_owner *owner =
        what == HORA_CANCEL_REMOVED ? part_from_owner_locked(future, &is_out) : NULL;
    bool is_new = what != HORA_CANCEL_TOO_LATE;
    bool tells_user = is_new && (after.has_listeners || (after.drops_task && future->task.drop != NULL));
    if (tells_user)
        (void)hora_future_ref(future); /* for that may give the caller's reference back */
    hora__mutex_unlock(&future->object.lock);
    if (is_new)
        finish(future, &after);
    if (owner != NULL)
        leave_queue(future, owner);
    if (is_out)
        (void)hora_future_unref(future); /* the entry's */
    if (tells_user)
        (void)hora_future_unref(future);
    return what;
}

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

/* ---- queues ---- */

void hora__future_enqueued(hora_future *future, struct hora__queue_owner *owner, int64_t came)
{
    assert(owner != NULL);
    hora__mutex_lock(&future->object.lock);
    if (future->owner == NULL)
        future->owner = owner;
    bool is_owner =
        future->owner == owner; /* a second queue is not followed: its workers meet a done future */
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
 * The caller has the memory back once the last reference is gone. The thread that gives that one back
 * resolves a waiter on the caller's stack, as the last thing it does, and touches the future no more. */

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

void hora__future_gone(struct hora__waiter *reclaimer)
{
    assert(reclaimer != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__waiter_resolve(reclaimer, 0, &wakes);
    hora__wakes_flush(&wakes);
}

/* Note who wants the memory back. HORA_EDEADLK if the task itself asks. */
static int note_reclaimer(hora_future *future, hora_thread *thread, struct hora__waiter *waiter)
{
    assert(future->in_caller_memory);
    hora__mutex_lock(&future->object.lock);
    bool self = future->runner == thread;
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
    hora__object_leave(&future->object);
    while (hora__waiter_park(&waiter, hora__clock_or_default(NULL), HORA_FOREVER) != HORA__WAKE_RESOLVED)
        interrupted |=
            hora__thread_take_interrupt(thread); /* kept for later: the memory is in use until then */
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return 0;
}

/* ---- the name, for threads that do not run the task: I5 ---- */

const char *hora__future_lock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_lock(&future->object.lock);
    const char *name = future->task.name;
    HORA__ATOMIC_POINT(); /* who reads it without the lock may come too late */
    return name;
}

void hora__future_unlock_name(hora_future *future)
{
    if (!HORA__FAULT(FUTURE_NAME_UNLOCKED))
        hora__mutex_unlock(&future->object.lock);
}

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
    if (hora__object_check(&future->object) <
        0) /* the lock cannot be taken, and without it the name cannot be read */
        return describe(future, NULL, state, text, size);
    const char *name = hora__future_lock_name(future);
    int length = describe(future, name, state, text, size);
    hora__future_unlock_name(future);
    return length;
}
