/* SPDX-License-Identifier: Apache-2.0 */
/* ready_fd.h - a descriptor that polls readable now, never, or from a time on a clock on */
#ifndef HORA_SYNC_READY_FD_H
#define HORA_SYNC_READY_FD_H

#include "sync/clock.h"

enum hora__ready_kind {
    HORA__READY_NONE,  /* not open */
    HORA__READY_EVENT, /* only now or never */
    HORA__READY_TIMER, /* a time on a clock of the machine */
    HORA__READY_ALARM, /* a time on a virtual clock */
};

struct hora__ready_fd {
    enum hora__ready_kind kind;
    hora_ns from; /* the time that was last set */
    union {
        struct hora__event event;
        int timer_fd;
        struct hora__alarm alarm;
    } as;
};

#define HORA__READY_NOW INT64_MIN

/* Opens a descriptor, which starts as never readable. `timed`: the caller will set times other than now and
 * never. Returns 0, HORA_EMFILE, HORA_ENFILE, HORA_ENOMEM or HORA_ENOTSUP. */
__attribute__((warn_unused_result)) int hora__ready_fd_init(struct hora__ready_fd *ready,
                                                            const hora_clock *clock, bool timed);
void hora__ready_fd_destroy(struct hora__ready_fd *ready, const hora_clock *clock);

/* Makes it readable from this time on: HORA__READY_NOW, HORA_FOREVER for never, or a time on the clock. Does
 * nothing if it is not open. */
void hora__ready_fd_set(struct hora__ready_fd *ready, const hora_clock *clock, hora_ns from);

/* Returns the descriptor to poll, or -1 if it is not open. */
int hora__ready_fd_get(const struct hora__ready_fd *ready);

#endif
