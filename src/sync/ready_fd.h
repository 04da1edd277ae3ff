/* SPDX-License-Identifier: Apache-2.0 */
/* ready_fd.h - a descriptor that polls readable now, never, or from a time of a clock on */
#ifndef HORA_SYNC_READY_FD_H
#define HORA_SYNC_READY_FD_H

#include "sync/clock.h"

enum hora__ready_kind {
    HORA__READY_NONE,  /* not made */
    HORA__READY_EVENT, /* only now or never */
    HORA__READY_TIMER, /* a time of one of the machine's clocks */
    HORA__READY_ALARM, /* a time of a virtual clock */
};

struct hora__ready_fd {
    enum hora__ready_kind kind;
    hora_ns from; /* as last set */
    union {
        struct hora__event event;
        int timer_fd;
        struct hora__alarm alarm;
    } as;
};

#define HORA__READY_NOW INT64_MIN

/* With `timed`, times other than now and never will be set. Starts as never.
 * HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM, HORA_ENOTSUP. */
__attribute__((warn_unused_result)) int hora__ready_fd_init(struct hora__ready_fd *ready, const hora_clock *clock,
                                                            bool timed);
void hora__ready_fd_destroy(struct hora__ready_fd *ready, const hora_clock *clock);

/* Readable from this time on: HORA__READY_NOW, HORA_FOREVER for never, or a time of the clock. Does nothing if it was
 * not made. */
void hora__ready_fd_set(struct hora__ready_fd *ready, const hora_clock *clock, hora_ns from);

/* What to poll; -1 if it was not made. */
int hora__ready_fd_get(const struct hora__ready_fd *ready);

#endif
