/* SPDX-License-Identifier: Apache-2.0 */
/* conclude.c - the steps after the end of a future: callbacks, the drop of its task, and its destruction
 *
 * What for          All of this runs code of the user. That code may complete, cancel or give back another
 *                   future, whose end runs code of the user again, and so on along a chain of any length. If
 *                   each step called the next one, a long chain would overflow the stack.
 * How it works      A thread that concludes a future while it is already concluding another one only notes
 *                   it, and the outermost call does the rest, one future after the other, in the order in
 *                   which they were noted. Listeners of hora itself (groups, completion services) are called
 *                   at once: they run no code of the user, and others rely on what they do. A thread that has
 *                   no record, and gets none, calls everything at once. A future that waits for its turn is
 *                   linked into a list of the thread by its field `waiters`: it is done, so no thread waits
 *                   for it.
 * Helping           A worker may run another task from within a callback, because the callback waits for that
 *                   task. It concludes the futures that end there before it goes on: otherwise the callback
 *                   might wait for ever.
 * Invariants        I1 a future that is pending has a reference of the list, or all references are gone
 *                      (is_gone).
 *                   I2 each listener is called once, those of the user in the order of their registration. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "exec/future.h"
#include "sys/alloc.h"

/* ---- listeners ---- */

/* Takes the first listener off the ring; NULL: there is none. */
static struct hora__listener *pop_listener(hora_future *future)
{
    struct hora__listener *last = future->listeners;
    struct hora__listener *first = last != NULL ? last->next : NULL;
    if (first == last)
        future->listeners = NULL;
    else
        last->next = first->next;
    return first;
}

static void push_listener(hora_future *future, struct hora__listener *listener)
{
    assert(hora__mutex_held(&future->object.lock) && listener->done != NULL);
    struct hora__listener *last = future->listeners;
    listener->next = last != NULL ? last->next : listener;
    if (last != NULL)
        last->next = listener;
    future->listeners = listener;
}

static struct hora__listener *next_listener(hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    struct hora__listener *listener = pop_listener(future);
    hora__mutex_unlock(&future->object.lock);
    return listener;
}

static void call_listener(hora_future *future, struct hora__listener *listener)
{
    assert(!hora__mutex_held(&future->object.lock) && listener->done != NULL);
    struct hora__listener own = *listener; /* which may be gone after the call */
    if (own.allocated)
        hora__free(listener);
    own.done(future, own.context);
    if (own.drop != NULL)
        own.drop(own.context);
}

static void call_listeners(hora_future *future)
{
    assert(hora__future_state(future) != HORA__FUTURE_NEW);
    struct hora__listener *listener;
    while ((listener = next_listener(future)) != NULL)
        call_listener(future, listener);
}

/* The first listener of hora itself, off the ring; NULL: there is none. */
static struct hora__listener *next_own_listener(hora_future *future)
{
    struct hora__listener *own = NULL;
    hora__mutex_lock(&future->object.lock);
    const struct hora__listener *last = future->listeners;
    bool is_last = last == NULL;
    while (!is_last) { /* each goes to the end of the ring but the one that is found, so the order stays */
        struct hora__listener *listener = pop_listener(future);
        is_last = listener == last;
        if (own == NULL && !listener->allocated)
            own = listener;
        else
            push_listener(future, listener);
    }
    hora__mutex_unlock(&future->object.lock);
    return own;
}

static void call_own_listeners(hora_future *future)
{
    assert(hora__future_state(future) != HORA__FUTURE_NEW);
    struct hora__listener *listener;
    while ((listener = next_own_listener(future)) != NULL)
        call_listener(future, listener);
}

/* ---- the end ---- */

static void drop_task(hora_future *future)
{
    assert(!hora__mutex_held(&future->object.lock));
    if (future->task.drop != NULL)
        future->task.drop(future->task.arg);
}

/* Releases what only few futures still have when they are destroyed. */
__attribute__((noinline)) void hora__future_release_rest(hora_future *future)
{
    assert(hora__list_is_empty(&future->waiters));
    while (future->listeners != NULL) { /* it was never done */
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
    if (future->event != NULL) {
        hora__event_destroy(future->event);
        hora__free(future->event);
    }
    if (future->owns_name) {
        char *copy; /* unlike the name of a caller it is not const */
        memcpy(&copy, &future->task.name, sizeof copy);
        hora__free(copy);
    }
}

/* ---- one after the other ---- */

/* Only the thread that has completed the future calls its listeners: otherwise that thread might go on before
 * all of them have returned. */
static void conclude_now(hora_future *future, bool calls, bool drops)
{
    if (calls)
        call_listeners(future);
    if (drops)
        drop_task(future);
}

/* Takes the next pending future off the list of the thread; NULL: there is none. */
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

static void conclude_pending(hora_future *future)
{
    if (future->is_gone) {
        future->object.destroy(&future->object); /* once more, and now for good */
        return;
    }
    hora__mutex_lock(&future->object.lock);
    bool calls = future->calls_late;
    bool drops = future->drops_late;
    future->calls_late = future->drops_late = false;
    future->is_pending = false; /* before its listeners are called: who adds one later concludes it again */
    hora__mutex_unlock(&future->object.lock);
    conclude_now(future, calls, drops);
    (void)hora_future_unref(future); /* I1 */
}

static void conclude_all_pending(hora_thread *thread)
{
    assert(thread->concludes && thread == hora__thread_existing());
    hora_future *future;
    while ((future = next_pending(thread)) != NULL)
        conclude_pending(future);
    thread->concludes = false;
}

/* Whether the calling thread already concludes another future, so that this one has to wait. If not, the
 * thread concludes from now on, until conclude_all_pending; *ret_thread is NULL if the thread has no
 * record. */
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
    if (future->in_caller_memory) { /* at once: who reclaims it in a callback waits for that */
        conclude_now(future, calls, drops);
        return;
    }
    if (must_wait(&thread)) {
        if (calls)
            call_own_listeners(future);
        calls = calls && hora__future_has_listeners(future);
        if (calls || drops)
            add_pending(thread, future, calls, drops);
        return;
    }
    conclude_now(future, calls, drops);
    if (thread != NULL)
        conclude_all_pending(thread);
}

/* Memory of a caller is given back at once: the caller waits for it. */
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

bool hora__conclude_interrupt(hora_thread *thread)
{
    assert(thread == hora__thread_existing());
    bool concludes = thread->concludes;
    thread->concludes = false;
    return concludes;
}

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

void hora__future_listen(hora_future *future, struct hora__listener *listener)
{
    assert(listener->done != NULL);
    hora__mutex_lock(&future->object.lock);
    bool done = hora__future_state(future) != HORA__FUTURE_NEW && future->listeners == NULL;
    if (!done || listener->allocated)
        push_listener(future, listener);
    hora__mutex_unlock(&future->object.lock);
    if (done && listener->allocated)
        hora__future_conclude(future, true, false);
    else if (done)
        call_listener(future, listener);
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
