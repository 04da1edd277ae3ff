/* SPDX-License-Identifier: Apache-2.0 */
/* ready_fd.h - a descriptor that polls readable now, never, or from a given time of a clock
 *
 * Objects that a program can poll embed one: a queue, a group, a pool. The object's lock guards it. */
#ifndef HORA_SYNC_READY_FD_H
#define HORA_SYNC_READY_FD_H

#include "sync/clock.h"

enum hora__ready_kind {
    HORA__READY_NONE,  /* not open; memory that is all zero is in this state */
    HORA__READY_EVENT, /* can be readable only now or never */
    HORA__READY_TIMER, /* can wait for a time of a clock of the machine */
    HORA__READY_ALARM, /* can wait for a time of a virtual clock */
};

struct hora__ready_fd {
    enum hora__ready_kind kind;
    hora_ns from; /* the time that was last set; setting it again does nothing */
    /* The member that belongs to `kind` is valid. */
    union {
        struct hora__event event;
        int timer_fd;
        struct hora__alarm alarm;
    } as;
};

/* A time that has passed on every clock. */
#define HORA__READY_NOW INT64_MIN

/* Opens a descriptor, which starts as never readable. `timed` is true if the caller will set times other than
 * now and never; this costs a timer descriptor or an alarm. Returns 0, HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM
 * or HORA_ENOTSUP. */
__attribute__((warn_unused_result)) int hora__ready_fd_init(struct hora__ready_fd *ready,
                                                            const hora_clock *clock, bool timed);

/* Closes the descriptor, if it is open. `clock` is used only if the descriptor is timed; else it may be
 * NULL. */
void hora__ready_fd_destroy(struct hora__ready_fd *ready, const hora_clock *clock);

/* Makes the descriptor readable from this time on: HORA__READY_NOW, HORA_FOREVER for never, or a time of the
 * clock. Does nothing if it is not open. */
void hora__ready_fd_set(struct hora__ready_fd *ready, const hora_clock *clock, hora_ns from);

/* Returns the descriptor to poll, or -1 if it is not open. */
int hora__ready_fd_get(const struct hora__ready_fd *ready);

#endif
