/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - how threads wait in hora
 *
 * A thread that must wait puts a waiter, which lies on its stack, on a list of the object, releases the
 * object's lock and parks. The thread that makes the condition true resolves the waiter: it takes the waiter
 * off the list, writes the outcome and wakes the waiting thread, which returns without taking the object's
 * lock again. The waiting thread itself decides on interrupts and time-outs, under the lock: if its waiter is
 * still on the list, it takes it off. So exactly one side decides. */
#ifndef HORA_SYNC_WAIT_H
#define HORA_SYNC_WAIT_H

#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/atomic.h"

struct hora__clock_offsets;
struct hora__object;

/* One wait of one thread for one outcome. It lies on the stack of the waiting thread. */
struct hora__waiter {
    /* On a wait list of the object, or linked to itself; the object's lock guards it. */
    struct hora__list link;
    /* The record of the waiting thread; immutable. Borrowed: the thread outlives its own wait. */
    hora_thread *thread;
    /* WAITING, NUDGED or RESOLVED, see wait.c. Written under the object's lock; the waiting thread reads it
     * without the lock. */
    hora__atomic state;
    /* The outcome; valid once state is RESOLVED, which is stored after it. */
    int result;
    /* When the waiting thread gives up, on the object's clock; HORA_FOREVER: never. Immutable. */
    hora_ns deadline;
};

/* Initialises a waiter of the calling thread and appends it to a list of the object, whose lock the caller
 * holds. If the list is NULL, the waiter is on no list, and only time or an interrupt can end its wait. */
void hora__waiter_init(struct hora__waiter *waiter, struct hora__list *list, hora_thread *thread,
                       hora_ns deadline);

/* Why a sleep ended. Except for RESOLVED, the waiter is still on its list, unless another thread has resolved
 * it since the sleep ended; the caller takes the lock and checks. */
enum hora__wake {
    HORA__WAKE_RESOLVED,    /* the outcome is in waiter->result; the waiter is on no list */
    HORA__WAKE_NUDGED,      /* another thread asks this one to check the object again */
    HORA__WAKE_INTERRUPTED, /* the thread's interrupt flag is set; the sleep does not clear it */
    HORA__WAKE_TIME,        /* the clock shows `until` or later */
    HORA__WAKE_CLOCK,       /* the wall clock was set, or the machine was suspended */
};

/* Parks the calling thread until one of these happens, and returns which. The caller must not hold the
 * object's lock. */
enum hora__wake hora__waiter_park(struct hora__waiter *waiter, const hora_clock *clock, hora_ns until);

/* Unless stated otherwise, the caller of the following functions holds the object's lock. */

bool hora__waiter_is_resolved(const struct hora__waiter *waiter);

/* Acknowledges a nudge, so that the next park sleeps. The waiter must not be resolved. */
void hora__waiter_heard(struct hora__waiter *waiter);

/* The threads to wake after the lock has been released. A thread that is woken under the lock would run into
 * it. */
enum { HORA__WAKES_MAX = 16 };
struct hora__wakes {
    hora_thread *threads[HORA__WAKES_MAX]; /* each is a counted reference */
    int count;                             /* how many of them are in use */
};

/* Empties the list. It leaves the array uninitialised, because almost every call of the library makes such a
 * list, and most of them wake no thread. */
static inline void hora__wakes_init(struct hora__wakes *wakes)
{
    wakes->count = 0;
}

/* Takes a waiter off its list with this outcome and adds its thread to `wakes`. The waiter must not be used
 * afterwards: its thread may already have returned from the call that it lay in. */
void hora__waiter_resolve(struct hora__waiter *waiter, int result, struct hora__wakes *wakes);

/* Asks the thread of a waiter to check the object again. The waiter stays on its list. */
void hora__waiter_nudge(struct hora__waiter *waiter, struct hora__wakes *wakes);

/* Resolves all waiters of a list with the same outcome. */
void hora__waiters_resolve_all(struct hora__list *list, int result, struct hora__wakes *wakes);

/* Return the waiter that has been longest on a list, or the one that was added last; NULL: the list is
 * empty. */
struct hora__waiter *hora__waiters_first(const struct hora__list *list);
struct hora__waiter *hora__waiters_last(const struct hora__list *list);

/* Adds a thread and takes over the caller's reference to it. If the array is full, wakes the threads in it
 * first, although the caller still holds the lock. */
void hora__wakes_add(struct hora__wakes *wakes, hora_thread *thread);

/* Makes a virtual clock count the threads as running from now on, before they are woken; see virtual_clock.c.
 * The caller holds no lock. */
void hora__wakes_count(const struct hora__wakes *wakes);

/* Wakes the threads, releases the references to them and empties the list. The caller holds no lock. */
void hora__wakes_flush(struct hora__wakes *wakes);

/* Parks the thread of a waiter once. The caller holds the object's lock; the call releases it, wakes the
 * threads of `wakes`, and parks. It returns HORA__WAKE_RESOLVED without the lock, or another reason with the
 * lock held, the waiter still on its list, and a nudge acknowledged. `now` is a reading of the clock that the
 * caller has just made, which saves the call a reading before the thread sleeps; HORA_NEVER: the caller has
 * not read the clock.
 *
 * Unless `seen` is NULL, the call also returns when the offsets of the clock's source
 * (hora__clock_read_offsets) differ from it. It checks the offsets before the time, because after a change
 * the caller cannot rely on the time it waited for. The caller then reads the offsets again; otherwise its
 * next call returns at once. For the clocks of the machine a step below HORA__CLOCK_TOLERANCE goes unnoticed.
 * Small steps add up, because each comparison is with `seen`. */
__attribute__((warn_unused_result)) enum hora__wake hora__object_sleep_locked(
    struct hora__object *object, struct hora__waiter *waiter, hora_ns now, hora_ns until,
    const struct hora__clock_offsets *seen, struct hora__wakes *wakes);

#endif
