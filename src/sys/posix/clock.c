/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the machine's clocks by clock_gettime */
#include "sys/clock.h"

#include <time.h>

#include "base/ns.h"

static clockid_t clock_of(enum hora__timeline timeline)
{
    switch (timeline) {
    case HORA__WALL:
        return CLOCK_REALTIME;
    case HORA__BOOTTIME:
#ifdef CLOCK_BOOTTIME
        return CLOCK_BOOTTIME;
#endif
    case HORA__MONOTONIC:
    default:
        return CLOCK_MONOTONIC;
    }
}

int64_t hora__now(enum hora__timeline timeline)
{
    struct timespec now;
    (void)clock_gettime(clock_of(timeline), &now); /* cannot fail: the clocks exist and the pointer is good */
    return (int64_t)now.tv_sec * HORA__SECOND + now.tv_nsec;
}
