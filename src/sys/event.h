/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - descriptors that poll readable: by command (event), from a moment on (timer) or once the clock is set (watch)
 *
 * A descriptor is an int >= 0; -1 stands for none. Constructors return it, or a negative error. */
#ifndef HORA_SYS_EVENT_H
#define HORA_SYS_EVENT_H

#include <stdbool.h>

#include "sys/clock.h"

/* eventfd on Linux, a pipe elsewhere. */
struct hora__event {
    int fd;        /* what users poll; -1: not made */
    int write_fd;  /* the same, but for pipes */
    bool readable; /* as last set by hora__event_set; guarded by the owner's lock */
};

#define HORA__EVENT_NONE ((struct hora__event){-1, -1, false})

/* HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__event_init(struct hora__event *event);
void hora__event_destroy(struct hora__event *event);

/* Make the descriptor readable or not; does nothing if it is so already, or was not made. */
void hora__event_set(struct hora__event *event, bool readable);

/* The same without memory of what was set, for owners without a lock: post makes it readable, consume makes it not. The first may be called in a
 * signal handler, and leaves errno as it is. */
void hora__event_post(const struct hora__event *event);
void hora__event_consume(const struct hora__event *event);

/* Sleep until the event is readable, the time of the timer has come, or the watch is readable; either of these may be
 * -1. Whether the watch is readable. May return for no reason. */
bool hora__event_wait(const struct hora__event *event, int timer_fd, int watch_fd);

/* A descriptor that is readable once the machine's clock shows the deadline. HORA_ENOTSUP where there is none. */
__attribute__((warn_unused_result)) int hora__timer_fd_new(enum hora__timeline timeline);
void hora__timer_fd_free(int fd);
/* Readable from deadline_ns on (at once if that has passed), INT64_MAX: never; forgets what was set before. */
void hora__timer_fd_arm(int fd, int64_t deadline_ns);

/* A descriptor that is readable once the machine's wall clock has been set, or the machine has come back from being
 * suspended, since the descriptor was made or renewed. HORA_ENOTSUP where there is none. */
__attribute__((warn_unused_result)) int hora__watch_fd_new(void);
void hora__watch_fd_free(int fd);
void hora__watch_fd_renew(int fd);

#endif
