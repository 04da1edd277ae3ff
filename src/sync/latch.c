/* SPDX-License-Identifier: Apache-2.0 */
/* latch.c - the countdown latch
 *
 * States            CLOSED (count > 0) -> OPEN (count == 0)  by the last count_down; final.
 * Invariants        I1 count >= 0.
 *                   I2 threads wait only while count > 0.
 * Locks             object.lock (rank OBJECT) guards count and waiters. */
#include <hora/latch.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "sync/clock.h"
#include "sync/object.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/alloc.h"

struct hora_latch {
    struct hora__object object;
    int count;                 /* calls of count_down that are still missing; 0: open */
    struct hora__list waiters; /* waiters of the threads in await, in the order in which they called */
};

/* Frees the latch once the owner and the last visitor have left, see object.h. */
static void destroy(struct hora__object *object)
{
    hora__free(HORA__LIST_ENTRY(object, struct hora_latch, object));
}

/* HORA__TAKE copies the options of a program that may be older or newer than the library; NULL means all
 * defaults. On success the caller owns the latch, which has one reference. */
int hora_latch_new(int count, const hora_latch_options *options, hora_latch **ret_latch, hora_error *reason)
{
    hora_latch_options own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_latch_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_latch_options");
    if (count < 0)
        return hora__refuse(reason, HORA_EINVAL, "count", "the count is %d, which is negative", count);
    if (ret_latch == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_latch is NULL");
    hora_latch *latch = hora__alloc(1, sizeof *latch);
    if (latch == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    int error = hora__object_init(&latch->object, own.clock, destroy);
    if (error < 0) {
        hora__free(latch);
        return hora__reason_end(reason, error);
    }
    latch->count = count;
    hora__list_init(&latch->waiters);
    *ret_latch = latch;
    return 0;
}

/* Checks that the latch may be used here and locks it. Returns 0 with the lock held, or HORA_EINVAL,
 * HORA_EFORKED or HORA_EDEADLK without it. */
static int enter(hora_latch *latch)
{
    if (latch == NULL)
        return HORA_EINVAL;
    int error = hora__object_check(&latch->object);
    if (error == 0)
        hora__mutex_lock(&latch->object.lock);
    return error;
}

/* Refuses to free a latch on which threads still wait. Threads that have been resolved but have not left yet
 * are no obstacle: they are visitors and keep the memory until they leave. */
int hora_latch_free(hora_latch *latch)
{
    if (latch == NULL)
        return 0;
    int error = enter(latch);
    if (error < 0)
        return error;
    bool waited_for = !hora__list_is_empty(&latch->waiters);
    hora__mutex_unlock(&latch->object.lock);
    if (waited_for)
        return HORA_EBUSY;
    hora__object_leave(&latch->object);
    return 0;
}

/* CLOSED -> OPEN: resolves all waiting threads. The caller holds the lock and wakes the threads later. */
static void open_locked(hora_latch *latch, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&latch->object.lock) && latch->count == 0);
    if (HORA__FAULT(LATCH_WAKES_ONE) && !hora__list_is_empty(&latch->waiters))
        hora__waiter_resolve(hora__waiters_first(&latch->waiters), 0, wakes);
    else
        hora__waiters_resolve_all(&latch->waiters, 0, wakes); /* I2 */
}

/* Wakes the waiting threads after it has released the lock. It must not access the latch after that: a woken
 * thread may free it. */
int hora_latch_count_down(hora_latch *latch)
{
    int error = enter(latch);
    if (error < 0)
        return error;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    if (latch->count > 0 || HORA__FAULT(LATCH_COUNTS_BELOW_ZERO)) {
        latch->count--;
        if (latch->count == 0)
            open_locked(latch, &wakes);
    }
    hora__mutex_unlock(&latch->object.lock);
    if (wakes.count > 0)
        hora__wakes_flush(&wakes);
    return 0;
}

int hora_latch_count(hora_latch *latch)
{
    int error = enter(latch);
    if (error < 0)
        return error;
    int count = latch->count;
    hora__mutex_unlock(&latch->object.lock);
    return count;
}

/* Checks in the order that the header promises: a pending interrupt, then an open latch, then the timeout.
 * The timeout counts from the call, so the deadline is computed before the thread can wait for the lock. */
int hora_latch_await_for(hora_latch *latch, hora_ns timeout)
{
    hora_thread *thread;
    int error = latch == NULL ? HORA_EINVAL : hora__object_check(&latch->object);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    hora_ns deadline = hora__clock_deadline(latch->object.clock, timeout);
    hora__mutex_lock(&latch->object.lock);
    if (latch->count > 0 && timeout > 0) /* I2 */
        return hora__object_wait_locked(&latch->object, &latch->waiters, thread, deadline);
    int result = latch->count > 0 ? HORA_ETIMEDOUT : 0;
    hora__mutex_unlock(&latch->object.lock);
    return result;
}

int hora_latch_await(hora_latch *latch)
{
    return hora_latch_await_for(latch, HORA_FOREVER);
}
