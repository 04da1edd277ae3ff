/* SPDX-License-Identifier: Apache-2.0 */
/* parker.h - put one thread to sleep, and wake it, without ever losing a wake-up
 *
 * A parker belongs to one thread and holds at most one permit. unpark adds the permit; park takes it, sleeping until it
 * is there or the deadline has passed. So an unpark that comes before the park is not lost. park may also
 * return for no reason: it is called in a loop that checks what was waited for.
 *
 * Two implementations: parker_futex.c (Linux) and parker_cond.c (everywhere). */
#ifndef HORA_SYS_PARKER_H
#define HORA_SYS_PARKER_H

#include <stdbool.h>

#include "sys/atomic.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/mutex.h"

typedef struct hora__parker {
    hora__atomic state;
#ifdef HORA_PARKER_COND
    hora__mutex lock;
    hora__cond cond;
#else
    struct hora__event
        event;        /* for waits that the futex does not know; made by the owner, and seen by others only while */
    int timer_fds[3]; /* state is POLLING. One timer per timeline. -1: not made */
    int watch_fd;
#endif
} hora__parker;

__attribute__((warn_unused_result)) int hora__parker_init(hora__parker *parker);
void hora__parker_destroy(hora__parker *parker);

/* Sleep until there is a permit, which is taken, or until the clock shows deadline_ns; INT64_MAX: no deadline.
 * Owner thread only. */
void hora__park(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns);

/* As hora__park, and returns as well when the machine's wall clock is set, or the machine comes back from being
 * suspended. What has happened since the last return is not lost; but the first call may have to begin to watch, and
 * then returns at once. So the caller, who looks at the clocks before each call, misses nothing. Where the system
 * cannot tell, it returns once a second. */
void hora__park_watching(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns);

/* Any thread. The parker must not be destroyed before this has returned. */
void hora__unpark(hora__parker *parker);

/* Whether a permit waits to be taken. */
bool hora__parker_has_permit(const hora__parker *parker);

#endif
