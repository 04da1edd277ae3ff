/* SPDX-License-Identifier: Apache-2.0 */
/* timespec.h - our times as the system wants them */
#ifndef HORA_SYS_POSIX_TIMESPEC_H
#define HORA_SYS_POSIX_TIMESPEC_H

#include <stdint.h>
#include <time.h>

#include "base/ns.h"

/* The system takes no negative time; what lies before zero lies in the past of all clocks. */
static inline struct timespec hora__timespec(int64_t ns)
{
    if (ns < 0)
        ns = 0;
    return (struct timespec){.tv_sec = (time_t)(ns / HORA__SECOND), .tv_nsec = (long)(ns % HORA__SECOND)};
}

#endif
