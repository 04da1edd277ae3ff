/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - functions that the files of src/sys/posix share */
#ifndef HORA_SYS_POSIX_INTERNAL_H
#define HORA_SYS_POSIX_INTERNAL_H

#include <stdint.h>
#include <time.h>

#include "base/ns.h"

/* Converts a time to the form of the system, which accepts no negative times. A negative time becomes 0,
 * which is in the past on all clocks as well. */
static inline struct timespec hora__timespec(int64_t ns)
{
    if (ns < 0)
        ns = 0;
    return (struct timespec){.tv_sec = (time_t)(ns / HORA__SECOND), .tv_nsec = (long)(ns % HORA__SECOND)};
}

/* Forgets the parent's threads in the child of a fork. Defined in thread.c, called by the fork handler of
 * process.c. */
void hora__thread_forked(void);

#endif
