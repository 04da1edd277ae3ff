/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - the one way in which threads wait in hora
 *
 * A thread that must wait puts a waiter, which lies on its stack, on a list of the object, lets the object's lock go and
 * parks. Whoever makes true what it waits for resolves it: takes it off the list, writes the outcome, and wakes
 * the thread, which then never looks at the object again. Interrupt and time-out are decided by the waiting thread
 * itself, under the lock: if it is still on the list then, it takes itself off. So exactly one side decides. */
#ifndef HORA_SYNC_WAIT_H
#define HORA_SYNC_WAIT_H

#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/atomic.h"

struct hora__clock_offsets;

struct hora__waiter {
    struct hora__list link; /* guarded by the object's lock */
    hora_thread *thread;    /* immutable, borrowed from the thread itself */
    hora__atomic state;     /* written under the object's lock, read by the waiting thread */
    int result;             /* written before state becomes resolved */
    hora_ns deadline;       /* immutable: when the waiting thread will give up, by the object's clock */
};

void hora__waiter_init(struct hora__waiter *waiter, hora_thread *thread, hora_ns deadline);

enum hora__wake {
    HORA__WAKE_RESOLVED,    /* the outcome is in waiter->result; the waiter is on no list */
    HORA__WAKE_NUDGED,      /* told to look again; still on the list */
    HORA__WAKE_INTERRUPTED, /* the thread's flag is set (and stays so); still on the list, unless resolved since */
    HORA__WAKE_TIME,        /* the clock shows `until` or later; still on the list, unless resolved since */
    HORA__WAKE_CLOCK,       /* the clock was set, or the machine suspended; still on the list, unless resolved since */
};

/* Sleep until one of these. Call without the object's lock. */
enum hora__wake hora__waiter_park(struct hora__waiter *waiter, const hora_clock *clock, hora_ns until);

/* The same. The caller has read the clock just before, and it showed `now`: it is not read again before the thread has
 * slept. HORA_NEVER: it was not read. */
enum hora__wake hora__waiter_park_after(struct hora__waiter *waiter, const hora_clock *clock, hora_ns now,
                                        hora_ns until);

/* The same as the first, and also until the lines of the clock's source (hora__clock_read_offsets) differ from those seen, which is
 * looked at before the time: who is told of the clock can hardly trust the time that it waited for. The caller then
 * reads the offsets again, else the next call returns at once. On the machine a step below HORA__CLOCK_TOLERANCE goes
 * unnoticed, but small ones add up. */
enum hora__wake hora__waiter_park_watching(struct hora__waiter *waiter, const hora_clock *clock, hora_ns until,
                                           const struct hora__clock_offsets *seen);

/* The following are called with the object's lock held. */

bool hora__waiter_is_resolved(const struct hora__waiter *waiter);

/* After a nudge: it has been heard. */
void hora__waiter_heard(struct hora__waiter *waiter);

/* Threads to be woken once the lock is free: waking under the lock would make them run into it. */
enum { HORA__WAKES_MAX = 16 };
struct hora__wakes {
    hora_thread *threads[HORA__WAKES_MAX]; /* each a counted reference */
    int count;
};

/* The array is left as it is: this stands at the beginning of every call, and most wake nobody. */
static inline void hora__wakes_init(struct hora__wakes *wakes)
{
    wakes->count = 0;
}

/* Take a waiter off its list with this outcome. From here on its memory may be gone. */
void hora__waiter_resolve(struct hora__waiter *waiter, int result, struct hora__wakes *wakes);

/* Let a waiter look again without taking it off its list. */
void hora__waiter_nudge(struct hora__waiter *waiter, struct hora__wakes *wakes);

/* Resolve all waiters of a list. */
void hora__waiters_resolve_all(struct hora__list *list, int result, struct hora__wakes *wakes);

/* The first or last waiter of a list, NULL if it is empty. */
struct hora__waiter *hora__waiters_first(const struct hora__list *list);
struct hora__waiter *hora__waiters_last(const struct hora__list *list);

/* One more to wake; takes over the reference. At HORA__WAKES_MAX it wakes the others first. */
void hora__wakes_add(struct hora__wakes *wakes, hora_thread *thread);

/* They count as able to run from here on (for a virtual clock), and not only once they are woken. Call without the lock. */
void hora__wakes_count(const struct hora__wakes *wakes);

/* Wake them. Call without the lock. */
void hora__wakes_flush_some(struct hora__wakes *wakes);

static inline void hora__wakes_flush(struct hora__wakes *wakes)
{
    if (wakes->count > 0)
        hora__wakes_flush_some(wakes);
}

#endif
