/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clocks of the machine, and ticks for measuring */
#ifndef HORA_SYS_CLOCK_H
#define HORA_SYS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rate.h"

/* The clocks of the machine. src/sync/clock.h converts a hora_clock_id into one of these, because src/sys
 * does not use hora/clock.h. */
enum hora__timeline {
    HORA__MONOTONIC = 0, /* is never set, and need not advance while the machine is suspended */
    HORA__BOOTTIME = 1,  /* is never set, and advances while the machine is suspended */
    HORA__WALL = 2,      /* the time of day, since 1970 in UTC; may be set */
};

/* 1 if a sleep ends exactly at its deadline, as in the simulator, where time passes only when all threads
 * sleep. A real machine is late by some ten microseconds. */
#ifdef HORA_SIM
enum { HORA__SLEEP_IS_EXACT = 1 };
#else
enum { HORA__SLEEP_IS_EXACT = 0 };
#endif

/* Returns the time on this timeline in nanoseconds. */
int64_t hora__now(enum hora__timeline timeline);

/* Ticks: the cheapest reading of time that the machine offers.
 *
 * How it works      A ticker reads the processor's counter if that runs at a constant rate (x86-64 with an
 *                   invariant time stamp counter, aarch64), else the monotonic clock. In the simulator it
 *                   always reads the simulated clock. The ticker measures the length of a tick: over some
 *                   ten microseconds when it is initialised, and over all the time since then whenever a
 *                   caller asks for the scale.
 * Use               Differences of two readings, for statistics only. The counters of two processors may
 *                   differ a little, so a difference may be negative, and not every counter advances while
 *                   the machine is suspended. No decision may depend on ticks. */

/* Immutable after hora__ticker_init. */
struct hora__ticker {
    bool is_fast; /* ticks of the processor; else nanoseconds of the monotonic clock */
    /* ticks and nanoseconds of the same moment, shortly before hora__ticker_init returned */
    int64_t start_ticks;
    int64_t start_ns;
    struct hora__rate coarse; /* the first measurement: good to 1 %, usually to 0.2 % */
};

/* Selects the counter and measures its rate for the first time. May take some ten microseconds. */
void hora__ticker_init(struct hora__ticker *ticker);

/* Returns the current rates. The rate for values is good to a millionth once the ticker is older than a tenth
 * of a second. */
struct hora__scale hora__ticker_scale(const struct hora__ticker *ticker);

/* Reads the counter of the processor. Call it only if is_fast. */
static inline int64_t hora__ticks_of_processor(void)
{
#if defined(HORA_SIM)
    return 0;
#elif defined(__x86_64__)
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t ticks;
    /* volatile: the compiler must not merge two readings */
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* Returns the current reading of the ticker. */
static inline int64_t hora__ticks(const struct hora__ticker *ticker)
{
    return __builtin_expect(ticker->is_fast, true) ? hora__ticks_of_processor() : hora__now(HORA__MONOTONIC);
}

#endif
