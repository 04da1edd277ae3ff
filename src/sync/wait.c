/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - waiters: parking, resolving, nudging; and sleeping, which is a wait that ends by time or
 * interrupt
 *
 * States            WAITING -> NUDGED    nudge, by a thread that holds the lock
 *                   NUDGED  -> WAITING   heard, by the waiting thread, which holds the lock
 *                   WAITING, NUDGED -> RESOLVED  resolve, by a thread that holds the lock; final
 * Invariants        I1 from the moment it is added until its own thread removes it, a waiter is on a list
 *                   exactly while it is not RESOLVED.
 *                   I2 after RESOLVED only the waiting thread accesses the waiter. The resolving thread
 *                   therefore takes its reference to the waiting thread before.
 *                   I3 a wake of the thread follows every change of state made by another thread. The
 *                   thread reads the state before each park, so it sleeps through no change.
 *                   I4 a thread returns from a timed wait before its deadline only if it was resolved,
 *                   nudged or interrupted, or the clock was set. */
#include "sync/wait.h"

#include <assert.h>
#include <stddef.h>

#include <hora/trigger.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sync/object.h"
#include "sync/thread.h"

/* The states of a waiter. */
enum {
    WAITING, /* no other thread has acted on the waiter */
    NUDGED,  /* another thread asks the waiting thread to check the object again */
    RESOLVED /* the outcome is written, and the waiter is off its list */
};

/* Links the waiter by hand: as the last of the list, or, for a NULL list, to itself. */
void hora__waiter_init(struct hora__waiter *waiter, struct hora__list *list, hora_thread *thread,
                       hora_ns deadline)
{
    assert(thread != NULL);
    struct hora__list *link = &waiter->link;
    link->prev = list != NULL ? list->prev : link;
    link->next = list != NULL ? list : link;
    link->prev->next = link->next->prev = link;
    hora__atomic_init(&waiter->state, WAITING);
    waiter->thread = thread;
    waiter->deadline = deadline;
    waiter->result = 0;
}

/* Parks the thread of the waiter until there is a reason to wake, and returns the reason. Checks all of them
 * before each park (I3), because a park may return without a reason (I4). `now` is a reading of the clock for
 * the first check; HORA_NEVER: the clock is read for it. */
static inline enum hora__wake park(struct hora__waiter *waiter, const hora_clock *clock, hora_ns now,
                                   hora_ns until, const struct hora__clock_offsets *seen)
{
    if (HORA__FAULT(WAIT_ENDS_EARLY) && until != HORA_FOREVER)
        until--;
    for (;;) {
        /* Must acquire: a resolved thread reads `result`, and what it waited for, without the lock. */
        HORA__ORDER_FAULT(WAITER_READ_RELAXED, memory_order_relaxed);
        int32_t state = hora__atomic_load(&waiter->state);
        if (state == RESOLVED)
            return HORA__WAKE_RESOLVED;
        if (state == NUDGED)
            return HORA__WAKE_NUDGED;
        if (hora__atomic_load(&waiter->thread->interrupted) != 0)
            return HORA__WAKE_INTERRUPTED;
        if (seen != NULL && hora__clock_was_set(clock, seen))
            return HORA__WAKE_CLOCK;
        if (until != HORA_FOREVER && (now != HORA_NEVER ? now : hora_clock_now(clock)) >= until)
            return HORA__WAKE_TIME;
        /* A wake-up between the checks above and the park leaves a permit, so the park returns at once. */
        hora__clock_park(clock, waiter->thread, until, seen);
        now = HORA_NEVER;
        if (HORA__FAULT(WAIT_TRUSTS_WAKEUP))
            return HORA__WAKE_TIME;
    }
}

enum hora__wake hora__waiter_park(struct hora__waiter *waiter, const hora_clock *clock, hora_ns until)
{
    return park(waiter, clock, HORA_NEVER, until, NULL);
}

bool hora__waiter_is_resolved(const struct hora__waiter *waiter)
{
    return hora__atomic_load(&waiter->state) == RESOLVED;
}

void hora__waiter_heard(struct hora__waiter *waiter)
{
    assert(!hora__waiter_is_resolved(waiter));
    hora__atomic_store(&waiter->state, WAITING);
}

void hora__wakes_add(struct hora__wakes *wakes, hora_thread *thread)
{
    assert(wakes->count >= 0 && wakes->count <= HORA__WAKES_MAX && thread != NULL);
    /* More than HORA__WAKES_MAX threads at once are rare. They are woken under the caller's lock, and some of
     * them then wait for it. */
    if (wakes->count == HORA__WAKES_MAX)
        hora__wakes_flush(wakes);
    wakes->threads[wakes->count++] = thread;
}

void hora__waiter_resolve(struct hora__waiter *waiter, int result, struct hora__wakes *wakes)
{
    assert(!hora__waiter_is_resolved(waiter)); /* I1 */
    /* Before the waiter's thread can return: from then on it may end and free its record (I2). */
    hora_thread *thread = hora_thread_ref(waiter->thread);
    /* Unlinks the waiter without resetting its own link, which is not used again. */
    waiter->link.prev->next = waiter->link.next;
    waiter->link.next->prev = waiter->link.prev;
    waiter->result = result;
    /* Must release: it publishes `result` and what the thread waited for. The waiter is not accessed after
     * it. */
    HORA__ORDER_FAULT(WAITER_RESOLVED_RELAXED, memory_order_relaxed);
    hora__atomic_store(&waiter->state, RESOLVED);
    hora__wakes_add(wakes, thread); /* I3 */
}

void hora__waiter_nudge(struct hora__waiter *waiter, struct hora__wakes *wakes)
{
    assert(!hora__list_is_empty(&waiter->link)); /* I1 */
    assert(!hora__waiter_is_resolved(waiter));
    hora__atomic_store(&waiter->state, NUDGED);
    hora__wakes_add(wakes, hora_thread_ref(waiter->thread)); /* I3 */
}

struct hora__waiter *hora__waiters_first(const struct hora__list *list)
{
    return list->next == list ? NULL : HORA__LIST_ENTRY(list->next, struct hora__waiter, link);
}

struct hora__waiter *hora__waiters_last(const struct hora__list *list)
{
    return list->prev == list ? NULL : HORA__LIST_ENTRY(list->prev, struct hora__waiter, link);
}

/* Not inlined, because most objects that call it have no waiter. */
__attribute__((noinline)) void hora__waiters_resolve_all(struct hora__list *list, int result,
                                                         struct hora__wakes *wakes)
{
    assert(list != NULL && wakes != NULL);
    while (list->next != list)
        hora__waiter_resolve(HORA__LIST_ENTRY(list->next, struct hora__waiter, link), result, wakes);
}

void hora__wakes_count(const struct hora__wakes *wakes)
{
    for (int i = 0; i < wakes->count; i++)
        hora__thread_count(wakes->threads[i]);
}

/* The reference keeps the record, and with it the parker, alive until the wake-up has returned: the woken
 * thread may end before. */
void hora__wakes_flush(struct hora__wakes *wakes)
{
    assert(wakes->count >= 0 && wakes->count <= HORA__WAKES_MAX);
    for (int i = 0; i < wakes->count; i++) {
        hora__thread_wake(wakes->threads[i]);
        (void)hora_thread_unref(wakes->threads[i]);
    }
    wakes->count = 0;
}

/* ---- waiting on an object ---- */

/* The thread that parks is the one that decides on interrupt and timeout. It takes the lock again for that,
 * so exactly one side decides: if another thread resolved the waiter first, that outcome counts, and an
 * interrupt stays pending. */
enum hora__wake hora__object_sleep_locked(struct hora__object *object, struct hora__waiter *waiter,
                                          hora_ns now, hora_ns until, const struct hora__clock_offsets *seen,
                                          struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&object->lock) && !hora__waiter_is_resolved(waiter)); /* I1 */
    hora__mutex_unlock(&object->lock);
    if (wakes->count > 0)
        hora__wakes_flush(wakes);
    enum hora__wake wake = park(waiter, object->clock, now, until, seen);
    if (wake == HORA__WAKE_RESOLVED)
        return wake;
    /* The waiter may have been resolved between the end of the park and here. */
    hora__mutex_lock(&object->lock);
    if (hora__atomic_load(&waiter->state) == RESOLVED) {
        hora__mutex_unlock(&object->lock);
        return HORA__WAKE_RESOLVED;
    }
    /* Acknowledges a nudge, also one that came after another reason to wake: the caller is about to check the
     * object, with the lock held. */
    hora__atomic_store(&waiter->state, WAITING);
    return wake;
}

/* The common form of a wait: one sleep, with a waiter on this stack. A caller that is nudged checks its
 * condition and calls again; it loses its place in the list by that. */
int hora__object_wait_locked(struct hora__object *object, struct hora__list *list, hora_thread *thread,
                             hora_ns deadline)
{
    assert(hora__mutex_held(&object->lock));
    struct hora__waiter waiter;
    struct hora__wakes wakes;
    wakes.count = 0;
    hora__waiter_init(&waiter, list, thread, deadline);
    /* A visitor, see object.h: the owner may free the object while this thread is about to take its lock. */
    (void)hora__atomic_add(&object->references, 1);
    enum hora__wake wake = hora__object_sleep_locked(object, &waiter, HORA_NEVER, deadline, NULL, &wakes);
    /* If not resolved, the thread holds the lock, and its waiter is still on the list. */
    if (wake != HORA__WAKE_RESOLVED) {
        if (!HORA__FAULT(WAIT_FORGETS_WAITER) || wake != HORA__WAKE_INTERRUPTED)
            hora__list_remove(&waiter.link);
        hora__mutex_unlock(&object->lock);
    }
    hora__object_leave(object);

    if (wake == HORA__WAKE_RESOLVED)
        return waiter.result;
    if (wake == HORA__WAKE_TIME)
        return HORA_ETIMEDOUT;
    if (wake == HORA__WAKE_NUDGED)
        return HORA_EAGAIN;
    /* The interrupt is the outcome of the call, so the flag is cleared. Only the thread itself clears it. */
    (void)hora__thread_take_interrupt(thread);
    return HORA_EINTERRUPTED;
}

/* ---- sleeping ---- */

/* Waits with a waiter that is on no list, so only time and interrupts end the wait. A duration of 0 or less
 * becomes a deadline that has passed on every clock; park still checks the interrupt flag before it. */
int hora_clock_sleep(const hora_clock *clock, hora_ns duration)
{
    hora_thread *thread;
    clock = hora__clock_or_default(clock);
    int error = hora__clock_check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    hora_ns deadline = duration <= 0 ? INT64_MIN : hora__clock_deadline(clock, duration);
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, NULL, thread, deadline);
    enum hora__wake wake = hora__waiter_park(&waiter, clock, deadline);
    if (wake == HORA__WAKE_TIME)
        return 0;
    (void)hora__thread_take_interrupt(thread);
    return HORA_EINTERRUPTED;
}

int hora_sleep(hora_ns duration)
{
    return hora_clock_sleep(NULL, duration);
}
