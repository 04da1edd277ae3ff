/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - file descriptors that become readable: on demand (event), at a time (timer), or when the clock is
 * set (watch)
 *
 * A descriptor is an int >= 0, and -1 means none. The constructors of timers and watches return the
 * descriptor or a negative error. */
#ifndef HORA_SYS_EVENT_H
#define HORA_SYS_EVENT_H

#include <stdbool.h>

#include "sys/clock.h"

/* A descriptor that the library makes readable or not: an eventfd on Linux, a pipe elsewhere. */
struct hora__event {
    int fd;        /* the end that users poll; -1: not open */
    int write_fd;  /* the end that the library writes to: the same descriptor, except for a pipe */
    bool readable; /* as hora__event_set last set it; the owner's lock guards it */
};

#define HORA__EVENT_NONE ((struct hora__event){-1, -1, false})

/* Opens an event that is not readable. Returns 0, HORA_EMFILE, HORA_ENFILE or HORA_ENOMEM. Destroying an
 * event that is not open does nothing. */
__attribute__((warn_unused_result)) int hora__event_init(struct hora__event *event);
void hora__event_destroy(struct hora__event *event);

/* Makes the descriptor readable or not readable. Does nothing if it is in that state already, or is not open.
 * The caller holds the owner's lock. */
void hora__event_set(struct hora__event *event, bool readable);

/* For owners without a lock, which do not keep track of the state: signal makes the descriptor readable,
 * consume makes it not readable. Signal may be called in a signal handler and preserves errno. */
void hora__event_signal(const struct hora__event *event);
void hora__event_consume(const struct hora__event *event);

/* Sleeps until the event is readable, the timer has expired or the watch is readable. timer_fd and watch_fd
 * may be -1. Returns true if the watch is readable. May return without a reason. */
bool hora__event_wait(const struct hora__event *event, int timer_fd, int watch_fd);

/* Opens a descriptor that becomes readable when the machine's clock shows a deadline. Returns HORA_ENOTSUP
 * where the system has none. */
__attribute__((warn_unused_result)) int hora__timer_fd_new(enum hora__timeline timeline);
void hora__timer_fd_free(int fd);
/* Sets the deadline: the descriptor is readable from deadline_ns on, at once if that has passed, never for
 * INT64_MAX. Replaces the earlier deadline. */
void hora__timer_fd_arm(int fd, int64_t deadline_ns);

/* Opens a descriptor that becomes readable when the wall clock has been set, or the machine has resumed from
 * suspension, since the descriptor was opened or renewed. Returns HORA_ENOTSUP where the system has none.
 * Renewing makes it not readable until the next such event. */
__attribute__((warn_unused_result)) int hora__watch_fd_new(void);
void hora__watch_fd_free(int fd);
void hora__watch_fd_renew(int fd);

#endif
