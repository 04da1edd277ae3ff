/* SPDX-License-Identifier: Apache-2.0 */
/* parker.h - put one thread to sleep and wake it, without losing a wake-up
 *
 * A parker belongs to one thread and holds at most one permit. unpark adds the permit. park sleeps until the
 * permit is there or the deadline has passed, and takes the permit. So an unpark before the park is not lost.
 * park may also return without a reason; callers call it in a loop that checks their condition.
 *
 * There are two implementations: parker_futex.c (Linux) and parker_cond.c (everywhere). */
#ifndef HORA_SYS_PARKER_H
#define HORA_SYS_PARKER_H

#include <stdbool.h>

#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/mutex.h"

typedef struct hora__parker {
    hora__atomic state; /* permit or none, and how the owner sleeps: see the two implementations */
#ifdef HORA_PARKER_COND
    hora__mutex lock; /* guards changes of state; rank PARKER */
    hora__cond cond;  /* signalled by unpark */
#else
    /* For sleeps that the futex does not support. The owner opens it; other threads use it only while state
     * is POLLING. */
    struct hora__event event;
    int timer_fds[3]; /* one per timeline; only the owner uses them; -1: not open */
    int watch_fd;     /* becomes readable when the clock is set; only the owner uses it; -1: not open */
#endif
} hora__parker;

/* Makes a parker without a permit. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__parker_init(hora__parker *parker);
void hora__parker_destroy(hora__parker *parker);

/* Sleeps until there is a permit, and takes it, or until the clock shows deadline_ns; INT64_MAX: no deadline.
 * Only the owner may call this. */
void hora__park(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns);

/* Like hora__park, but also returns when the wall clock is set or the machine resumes from suspension. Events
 * since the last return are not lost. The first call may have to start watching, and then returns at once;
 * callers read the clocks before each call, so they miss nothing. Where the system cannot report these
 * events, the call returns once a second. */
void hora__park_watching(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns);

/* Adds the permit, if there is none, and wakes the owner. Any thread may call this. The parker must not be
 * destroyed before the call has returned. */
void hora__unpark(hora__parker *parker);

/* Returns true if the parker holds a permit: the owner's next park returns at once. */
bool hora__parker_has_permit(const hora__parker *parker);

#endif
