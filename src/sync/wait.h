/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - how threads wait in hora
 *
 * A thread that must wait puts a waiter, which lies on its stack, on a list of the object, releases the
 * object's lock and parks. The thread that makes the condition true resolves the waiter: it takes the waiter
 * off the list, writes the outcome and wakes the waiting thread, which never accesses the object again. The
 * waiting thread itself decides on interrupts and time-outs, under the lock: if its waiter is still on the
 * list, it takes it off. So exactly one side decides. */
#ifndef HORA_SYNC_WAIT_H
#define HORA_SYNC_WAIT_H

#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/atomic.h"

struct hora__clock_offsets;
struct hora__object;

struct hora__waiter {
    struct hora__list link; /* the object's lock guards it */
    hora_thread *thread;    /* immutable, borrowed from the thread itself */
    hora__atomic state;     /* written under the object's lock, read by the waiting thread */
    int result;             /* written before state becomes RESOLVED */
    hora_ns deadline;       /* immutable: when the waiting thread gives up, on the object's clock */
};

/* Initialises a waiter and appends it to a list of the object, whose lock the caller holds. NULL: the waiter
 * is on no list. */
void hora__waiter_init(struct hora__waiter *waiter, struct hora__list *list, hora_thread *thread,
                       hora_ns deadline);

enum hora__wake {
    HORA__WAKE_RESOLVED,    /* the outcome is in waiter->result; the waiter is on no list */
    HORA__WAKE_NUDGED,      /* told to look again; still on the list */
    HORA__WAKE_INTERRUPTED, /* the flag is set, and stays set; still on the list, unless resolved since */
    HORA__WAKE_TIME,        /* the clock shows `until` or later; still on the list, unless resolved since */
    /* the clock was set, or the machine suspended; still on the list, unless resolved since */
    HORA__WAKE_CLOCK,
};

/* Sleeps until one of these happens. The caller must not hold the object's lock. */
enum hora__wake hora__waiter_park(struct hora__waiter *waiter, const hora_clock *clock, hora_ns until);

/* As hora__waiter_park, and also returns when the offsets of the clock's source (hora__clock_read_offsets)
 * differ from `seen`. It checks this before the time, because after a change the caller can hardly trust the
 * time it waited for. The caller then reads the offsets again, or the next call returns at once. On the
 * machine a step below HORA__CLOCK_TOLERANCE goes unnoticed, but small steps add up. */
enum hora__wake hora__waiter_park_watching(struct hora__waiter *waiter, const hora_clock *clock,
                                           hora_ns until, const struct hora__clock_offsets *seen);

/* The caller of the following functions holds the object's lock. */

bool hora__waiter_is_resolved(const struct hora__waiter *waiter);

/* Acknowledges a nudge. */
void hora__waiter_heard(struct hora__waiter *waiter);

/* Threads to wake once the lock is free. Waking them under the lock would make them wait for it. */
enum { HORA__WAKES_MAX = 16 };
struct hora__wakes {
    hora_thread *threads[HORA__WAKES_MAX]; /* each a counted reference */
    int count;
};

/* Leaves the array uninitialised: every call starts with this, or sets `count` itself, and most wake no
 * thread. */
static inline void hora__wakes_init(struct hora__wakes *wakes)
{
    wakes->count = 0;
}

/* Takes a waiter off its list with this outcome. Its memory may be gone afterwards. */
void hora__waiter_resolve(struct hora__waiter *waiter, int result, struct hora__wakes *wakes);

/* Makes a waiter look again, without taking it off its list. */
void hora__waiter_nudge(struct hora__waiter *waiter, struct hora__wakes *wakes);

/* Resolves all waiters of a list. */
void hora__waiters_resolve_all(struct hora__list *list, int result, struct hora__wakes *wakes);

/* The first or last waiter of a list; NULL: the list is empty. */
struct hora__waiter *hora__waiters_first(const struct hora__list *list);
struct hora__waiter *hora__waiters_last(const struct hora__list *list);

/* Adds a thread and takes over the reference. If the array is full, wakes the others first. */
void hora__wakes_add(struct hora__wakes *wakes, hora_thread *thread);

/* For a virtual clock: the threads count as running from now on, and not only once they are woken. The caller
 * holds no lock. */
void hora__wakes_count(const struct hora__wakes *wakes);

/* Wakes the threads, if there are any. The caller holds no lock. */
void hora__wakes_flush(struct hora__wakes *wakes);

/* The thread of a waiter sleeps once. The caller holds the object's lock; the call releases it, wakes the
 * threads of `wakes`, and parks. It returns HORA__WAKE_RESOLVED without the lock; or another reason with the
 * lock held, the waiter still on its list, and a nudge acknowledged. `now` is what the clock showed when the
 * caller has just read it: it is not read again before the thread has slept. HORA_NEVER: the caller has not
 * read it. `seen`: see hora__waiter_park_watching; may be NULL. */
__attribute__((warn_unused_result)) enum hora__wake hora__object_sleep_locked(
    struct hora__object *object, struct hora__waiter *waiter, hora_ns now, hora_ns until,
    const struct hora__clock_offsets *seen, struct hora__wakes *wakes);

#endif
