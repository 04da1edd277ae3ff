/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the machine's clocks */
#ifndef HORA_SYS_CLOCK_H
#define HORA_SYS_CLOCK_H

#include <stdint.h>

/* What src/sync/clock.h makes of a hora_clock_id; src/sys does not know the public headers. */
enum hora__timeline {
    HORA__MONOTONIC = 0,
    HORA__BOOTTIME = 1,
    HORA__WALL = 2,
};

/* Whether a sleep ends exactly at its time, as that passes only when all sleep. The machine is late by some ten microseconds. */
#ifdef HORA_SIM
enum { HORA__SLEEP_IS_EXACT = 1 };
#else
enum { HORA__SLEEP_IS_EXACT = 0 };
#endif

int64_t hora__now(enum hora__timeline timeline);

#endif
