/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.h - a reading of time for measuring, as cheap as the machine has one
 *
 * How it works      The counter of the processor where it runs at a constant rate (x86-64 with an invariant time stamp counter, aarch64), else
 *                   the monotonic clock; in the simulator its clock, always. How long a tick is, is measured: over some ten
 *                   microseconds when the ticker is made, and over all the time since then whenever somebody asks.
 * What for          Differences of two readings, for statistics. Processors' counters may differ a little, so a difference may be
 *                   negative; whether they go on while the machine is suspended differs too. Nothing may depend on them. */
#ifndef HORA_SYS_TICKS_H
#define HORA_SYS_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rate.h"
#include "sys/clock.h"

/* Does not change after init. */
struct hora__ticker {
    bool is_fast;             /* ticks are those of the processor, else nanoseconds of the monotonic clock */
    int64_t start_ticks;      /* two readings of the same moment */
    int64_t start_ns;         /* */
    struct hora__rate coarse; /* as it was measured first: good to 1 %, mostly to 0.2 % */
};

/* May take some ten microseconds. */
void hora__ticker_init(struct hora__ticker *ticker);

/* The rates as of now. That of the values is good to a millionth if the ticker is older than a tenth of a second. */
struct hora__scale hora__ticker_scale(const struct hora__ticker *ticker);

/* The counter of the processor. Only if there is one that serves: is_fast. */
static inline int64_t hora__ticks_of_processor(void)
{
#if defined(HORA_SIM)
    return 0;
#elif defined(__x86_64__)
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks)); /* else two readings might be made one */
    return ticks;
#else
    return 0;
#endif
}

static inline int64_t hora__ticks(const struct hora__ticker *ticker)
{
    return __builtin_expect(ticker->is_fast, true) ? hora__ticks_of_processor() : hora__now(HORA__MONOTONIC);
}

#endif
