/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.h - what the two halves of a virtual clock share: virtual_clock.c moves time, virtual_quiet.c knows
 * who can run */
#ifndef HORA_SYNC_VIRTUAL_CLOCK_H
#define HORA_SYNC_VIRTUAL_CLOCK_H

#include <hora/virtual_clock.h>

#include "base/list.h"
#include "sync/clock.h"
#include "sys/mutex.h"

enum { HORA__TIMELINES = 3 };

struct hora__wakes;

struct hora_virtual_clock {
    hora_clock views[HORA__TIMELINES];   /* immutable */
    int32_t generation;                  /* hora__fork_generation() at birth; immutable */
    hora__atomic64 now[HORA__TIMELINES]; /* written under the lock */

    hora__mutex lock; /* guards what follows */
    hora_ns lateness;
    struct hora__list sleepers;
    struct hora__list alarms;
    struct hora__list settlers;
    struct hora__list runner; /* the waiter of who is in hora_virtual_clock_run; at most one */
    hora_ns run_end;          /* and where that ends, on the monotonic line */
    int objects;              /* made with one of the views and not yet freed */
    int attached;             /* threads */
    int running;              /* attached threads that are not idle: virtual_quiet.c, I1 */
    int expected;             /* threads announced and not yet attached */
    int waking; /* threads that are about to count others as running, which they have noted under the lock */
};

/* All of these are called with the lock held. */

static inline hora_ns hora__virtual_clock_peek(const hora_virtual_clock *clock, enum hora__timeline timeline)
{
    return hora__atomic64_peek(&clock->now[timeline]);
}

/* virtual_clock.c: how long until somebody is woken; HORA_FOREVER: nobody waits for a time. */
hora_ns hora__virtual_clock_time_to_next(const hora_virtual_clock *clock);
/* Time passes on all lines. */
void hora__virtual_clock_pass(hora_virtual_clock *clock, hora_ns by);
/* Make due descriptors readable, and note due sleepers, up to HORA__WAKES_MAX in all; whether there may be more. */
bool hora__virtual_clock_note_due(hora_virtual_clock *clock, struct hora__wakes *wakes);

/* virtual_quiet.c: let the lock go after a change of time or counts, and do all that follows from it. */
void hora__virtual_clock_unlock(hora_virtual_clock *clock, bool moved);
/* How much of a run is left. */
hora_ns hora__virtual_clock_run_left(const hora_virtual_clock *clock);
/* Whether a run is on and nobody but one running thread keeps it from going on. */
bool hora__virtual_clock_waits_for_one(const hora_virtual_clock *clock);

#endif
