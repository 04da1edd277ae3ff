/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - shared by the files of src/sys/posix */
#ifndef HORA_SYS_POSIX_INTERNAL_H
#define HORA_SYS_POSIX_INTERNAL_H

#include <stdint.h>
#include <time.h>

#include "base/ns.h"

/* Converts a time for the system, which accepts no negative time. Times before zero lie in the past on all
 * clocks. */
static inline struct timespec hora__timespec(int64_t ns)
{
    if (ns < 0)
        ns = 0;
    return (struct timespec){.tv_sec = (time_t)(ns / HORA__SECOND), .tv_nsec = (long)(ns % HORA__SECOND)};
}

/* thread.c: forgets the parent's threads in the child of a fork. */
void hora__thread_forked(void);

#endif
