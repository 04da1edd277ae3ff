/* SPDX-License-Identifier: Apache-2.0 */
/* conclude.c - the steps after the end of a future: callbacks, the drop of its task, and its destruction
 *
 * Purpose           All of these steps run code of the user. That code may complete, cancel or release
 *                   another future, whose end runs code of the user again, and so on along a chain of any
 *                   length. If each step called the next one, a long chain would overflow the stack.
 * How it works      If a thread has to conclude a future while it is already concluding another one, it only
 *                   adds the future to its list of pending futures. The outermost call concludes them one
 *                   after the other, in the order in which they were added. A thread for which no record can
 *                   be made calls everything at once. A pending future is linked into the thread's list by
 *                   its field `waiters`: it is done, so no thread waits for it.
 * Own listeners     Listeners of hora itself (groups, completion services) are called at once, before those
 *                   of the user: they run no code of the user, and threads wait for what they do. A callback
 *                   may be such a thread.
 * Helping           A worker may run another task from within a callback, because the callback waits for that
 *                   task. The worker concludes the futures that end in that task before it returns to the
 *                   callback: otherwise the callback might wait for one of their callbacks forever.
 * Invariants        I1 the list holds a reference to each pending future, except to those whose last
 *                      reference is gone (is_gone).
 *                   I2 each listener is called once, those of the user in the order of their registration. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "exec/future.h"
#include "sys/alloc.h"

/* ---- listeners ---- */

/* Removes the listener that follows `previous` from the ring. */
static struct hora__listener *unlink_next(hora_future *future, struct hora__listener *previous)
{
    struct hora__listener *listener = previous->next;
    assert(future->listeners != NULL);
    if (listener == future->listeners)
        future->listeners = listener == previous ? NULL : previous;
    previous->next = listener->next;
    return listener;
}

/* Removes the first listener from the ring; NULL: the ring is empty. The caller holds the lock, or is the
 * only thread that still sees the future. */
static struct hora__listener *pop_listener(hora_future *future)
{
    struct hora__listener *last = future->listeners;
    return last != NULL ? unlink_next(future, last) : NULL;
}

/* Appends a listener to the ring. */
static void push_listener(hora_future *future, struct hora__listener *listener)
{
    assert(hora__mutex_held(&future->object.lock) && listener->done != NULL);
    struct hora__listener *last = future->listeners;
    listener->next = last != NULL ? last->next : listener;
    if (last != NULL)
        last->next = listener;
    future->listeners = listener;
}

/* As pop_listener, but takes the lock itself. */
static struct hora__listener *next_listener(hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    struct hora__listener *listener = pop_listener(future);
    hora__mutex_unlock(&future->object.lock);
    return listener;
}

/* Calls a listener that is off the ring, with no lock held. Works on a copy: the call may free the memory of
 * the listener, which for a group member is the member itself. */
static void call_listener(hora_future *future, struct hora__listener *listener)
{
    assert(!hora__mutex_held(&future->object.lock) && listener->done != NULL);
    struct hora__listener own = *listener;
    if (own.allocated)
        hora__free(listener);
    own.done(future, own.context);
    if (own.drop != NULL)
        own.drop(own.context);
}

/* Calls all listeners, including those that are added during the calls. */
static void call_listeners(hora_future *future)
{
    assert(hora__future_state(future) != HORA__FUTURE_NEW);
    struct hora__listener *listener;
    while ((listener = next_listener(future)) != NULL)
        call_listener(future, listener);
}

/* Removes the first listener of hora itself from the ring; NULL: none. *ret_has_others says whether listeners
 * of the user are left. */
static struct hora__listener *next_own_listener(hora_future *future, bool *ret_has_others)
{
    struct hora__listener *own = NULL;
    hora__mutex_lock(&future->object.lock);
    struct hora__listener *last = future->listeners;
    struct hora__listener *previous = last;
    while (previous != NULL && own == NULL) {
        if (!previous->next->allocated)
            own = unlink_next(future, previous);
        else
            previous = previous->next != last ? previous->next : NULL;
    }
    *ret_has_others = future->listeners != NULL;
    hora__mutex_unlock(&future->object.lock);
    return own;
}

/* Calls only the listeners of hora itself; those of the user stay in the ring. Returns whether there are
 * any. */
static bool call_own_listeners(hora_future *future)
{
    assert(hora__future_state(future) != HORA__FUTURE_NEW);
    struct hora__listener *listener;
    bool has_others;
    while ((listener = next_own_listener(future, &has_others)) != NULL)
        call_listener(future, listener);
    return has_others;
}

/* ---- the end ---- */

static void drop_task(hora_future *future)
{
    assert(!hora__mutex_held(&future->object.lock));
    if (future->task.drop != NULL)
        future->task.drop(future->task.arg);
}

/* No other thread sees the future any more, so this needs no lock. Not inlined: few futures own any of this
 * when they are destroyed. */
__attribute__((noinline)) void hora__future_release_rest(hora_future *future)
{
    assert(hora__list_is_empty(&future->waiters));
    while (future->listeners != NULL) { /* the future was never done, so none of them was called */
        struct hora__listener *listener = pop_listener(future);
        struct hora__listener own = *listener;
        if (own.allocated)
            hora__free(listener);
        if (own.gone != NULL)
            own.gone(own.context);
        if (own.drop != NULL)
            own.drop(own.context);
    }
    if (future->owes_drop)
        drop_task(future); /* I2 of future.c: it never ran */
    if (future->has_result && future->by.result != NULL && future->task.drop_result != NULL)
        future->task.drop_result(future->by.result); /* I3 of future.c */
    if (future->has_event) {
        hora__event_destroy(future->event);
        hora__free(future->event);
    }
    if (future->owns_name) {
        char *copy; /* copies the pointer without a cast, because the name of a task is const */
        memcpy(&copy, &future->task.name, sizeof copy);
        hora__free(copy);
    }
}

/* ---- one after the other ---- */

/* Calls the listeners and drops the task, in this order. Called by the thread that has completed the future:
 * if other threads called listeners, too, that thread could return from its call before all listeners have
 * returned. */
static void conclude_now(hora_future *future, bool calls, bool drops)
{
    if (calls)
        call_listeners(future);
    if (drops)
        drop_task(future);
}

/* Removes the first pending future from the thread's list; NULL: none. Initialises its link again, because
 * destructors assert that the list of waiters is empty. */
static hora_future *next_pending(hora_thread *thread)
{
    assert(thread->concludes);
    if (hora__list_is_empty(&thread->pending) || HORA__FAULT(CONCLUDE_FORGETS_PENDING))
        return NULL;
    hora_future *future = HORA__LIST_ENTRY(thread->pending.next, struct hora_future, waiters);
    hora__list_remove(&future->waiters);
    hora__list_init(&future->waiters);
    return future;
}

/* Concludes a future that was pending, and releases the reference of the list. */
static void conclude_pending(hora_future *future)
{
    if (future->is_gone) {
        future->object.destroy(&future->object); /* the second call; now it is not put off */
        return;
    }
    hora__mutex_lock(&future->object.lock);
    bool calls = future->calls_late;
    bool drops = future->drops_late;
    future->calls_late = future->drops_late = false;
    future->is_pending = false; /* before the calls: a listener that is added later makes it pending again */
    hora__mutex_unlock(&future->object.lock);
    conclude_now(future, calls, drops);
    (void)hora_future_unref(future); /* I1 */
}

/* Concludes pending futures until there are none; each may add more. After this the thread does not conclude
 * any more. */
static void conclude_all_pending(hora_thread *thread)
{
    assert(thread->concludes && thread == hora__thread_existing());
    hora_future *future;
    while ((future = next_pending(thread)) != NULL)
        conclude_pending(future);
    thread->concludes = false;
}

/* Returns true if the calling thread is already concluding another future, so that this one must be added to
 * its list. If not, marks the thread as concluding; the caller then calls conclude_all_pending. *ret_thread
 * is NULL if the thread has no record and none can be made. */
static bool must_wait(hora_thread **ret_thread)
{
    if (hora__thread_current(ret_thread) < 0)
        *ret_thread = NULL;
    if (*ret_thread == NULL)
        return false;
    bool waits = (*ret_thread)->concludes;
    (*ret_thread)->concludes = true;
    return waits;
}

/* Adds a future to the thread's list, with a reference (I1); or, if it is pending already, notes that more
 * has to be done for it. */
static void add_pending(hora_thread *thread, hora_future *future, bool calls, bool drops)
{
    assert(thread->concludes && (calls || drops));
    hora__mutex_lock(&future->object.lock);
    bool is_new = !future->is_pending;
    future->is_pending = true;
    future->calls_late = future->calls_late || calls;
    future->drops_late = future->drops_late || drops;
    hora__mutex_unlock(&future->object.lock);
    if (is_new)
        hora__list_add_last(&thread->pending, &hora_future_ref(future)->waiters); /* I1 */
}

__attribute__((noinline)) void hora__future_conclude(hora_future *future, bool calls, bool drops)
{
    assert((calls || drops) && hora__future_state(future) != HORA__FUTURE_NEW);
    hora_thread *thread;
    /* First, and never put off: a callback may wait for a group that the future belongs to. */
    if (calls && !HORA__FAULT(CONCLUDE_CALLS_OWN_LATE))
        calls = call_own_listeners(future);
    if (!calls && !drops)
        return;
    /* Not put off: a callback may reclaim the future, which waits until its listeners have returned. */
    if (future->in_caller_memory) {
        conclude_now(future, calls, drops);
        return;
    }
    if (must_wait(&thread)) {
        add_pending(thread, future, calls, drops);
        return;
    }
    conclude_now(future, calls, drops);
    if (thread != NULL)
        conclude_all_pending(thread);
}

/* A future in memory of the caller is destroyed at once: a thread waits in hora_future_reclaim for it. If
 * this is the outermost call, conclude_all_pending calls the destructor again before this returns. */
bool hora__future_puts_off_end(hora_future *future)
{
    hora_thread *thread;
    if (future->is_gone || future->in_caller_memory)
        return false;
    bool waits = must_wait(&thread);
    if (thread == NULL)
        return false;
    future->is_gone = true;
    hora__list_add_last(&thread->pending, &future->waiters);
    if (!waits)
        conclude_all_pending(thread);
    return true;
}

bool hora__conclude_suspend(hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    bool concludes = thread->concludes;
    thread->concludes = false;
    return concludes;
}

/* The thread may have been ended anywhere, also within a callback; its flag is set again, whatever it was. */
void hora__conclude_at_end(hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    thread->concludes = true;
    conclude_all_pending(thread);
}

void hora__conclude_resume(hora_thread *thread, bool concludes)
{
    assert(thread == hora__thread_existing() && !thread->concludes);
    thread->concludes = concludes;
}

/* ---- registering ---- */

/* If the future is done, a listener of hora itself is called at once. One of the user is added to the ring.
 * If it is the only one there, it goes through hora__future_conclude, which may put it off; else another call
 * is about to call those before it, and calls it after them (I2). */
void hora__future_listen(hora_future *future, struct hora__listener *listener)
{
    assert(listener->done != NULL);
    hora__mutex_lock(&future->object.lock);
    bool is_done = hora__future_state(future) != HORA__FUTURE_NEW;
    bool is_first = future->listeners == NULL;
    bool is_called_now = is_done && !listener->allocated;
    if (!is_called_now)
        push_listener(future, listener);
    hora__mutex_unlock(&future->object.lock);
    if (is_called_now)
        call_listener(future, listener);
    else if (is_done && is_first)
        hora__future_conclude(future, true, false);
}

int hora_future_on_done(hora_future *future, void (*done)(hora_future *future, void *arg), void *arg,
                        void (*drop)(void *arg))
{
    int error = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error < 0 || done == NULL)
        return error < 0 ? error : HORA_EINVAL;
    struct hora__listener *listener = hora__alloc(1, sizeof *listener);
    if (listener == NULL)
        return HORA_ENOMEM;
    *listener = (struct hora__listener){.done = done, .context = arg, .drop = drop, .allocated = true};
    hora__future_listen(future, listener);
    return 0;
}
