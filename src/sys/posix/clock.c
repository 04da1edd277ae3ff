/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the clocks of the machine, and the rate of the processor's counter */
#include "sys/clock.h"

#include <assert.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/ns.h"

/* Returns the system's clock of a timeline. Where there is no boot time, the monotonic clock replaces it. */
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
    /* cannot fail: the clocks exist and the pointer is valid */
    (void)clock_gettime(clock_of(timeline), &now);
    return (int64_t)now.tv_sec * HORA__SECOND + now.tv_nsec;
}

/* Ticks.
 *
 * How it works      To read counter and clock at the same moment, the ticker reads the counter before and
 *                   after the clock. Of several tries it takes the one whose two readings of the counter
 *                   are closest, so that an interruption in between does no harm. Two moments give the
 *                   rate. The relative error is the width of a reading divided by the time between the
 *                   moments. At initialisation that time is a hundred times as long as the width, so the
 *                   error is at most 1 %. Later the ticker uses the time since the start, which is longer
 *                   and gives a better rate.
 * Suspension        If the machine was suspended, only one of the two may have advanced, or the counter may
 *                   have restarted. The result then differs greatly from the first rate, and the ticker
 *                   uses the first rate. Smaller differences go unnoticed: after a suspension a rate may
 *                   be wrong by 2 %. */

enum {
    TRIES = 5,           /* readings of one moment, of which the best counts */
    COARSE_NS = 20000,   /* minimum length of the first measurement, in nanoseconds */
    COARSE_ERROR = 100,  /* the same as a multiple of the width of a reading */
    COARSE_STEPS = 1000, /* maximum number of readings, in case the clock stands still */
};

/* The counter and the clock at the same moment. */
struct moment {
    int64_t ticks;
    int64_t ns;
    int64_t width; /* ticks between the two readings of the counter */
};

/* Returns true if the processor's counter runs at a constant rate: on x86-64, if the time stamp counter is
 * invariant. */
#if defined(__x86_64__)
static bool counter_is_constant(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
}
#elif defined(__aarch64__)
static bool counter_is_constant(void)
{
    return true; /* guaranteed by the architecture */
}
#else
static bool counter_is_constant(void)
{
    return false;
}
#endif

/* Reads the counter and the clock at the same moment. The width is INT64_MAX if the counter went back in
 * every try. */
static struct moment read_moment(void)
{
    struct moment best = {.width = INT64_MAX};
    for (int i = 0; i < TRIES; i++) {
        int64_t before = hora__ticks_of_processor();
        int64_t ns = hora__now(HORA__MONOTONIC);
        int64_t width = hora__ticks_of_processor() - before;
        if (width >= 0 && width < best.width)
            best = (struct moment){before + width / 2, ns, width};
    }
    return best;
}

/* Returns true if counter and clock have advanced enough between two moments for the first rate. */
static bool is_enough(const struct moment *from, const struct moment *to)
{
    return to->ns - from->ns >= COARSE_NS &&
           to->ticks - from->ticks > COARSE_ERROR * (from->width + to->width) / 2;
}

/* Measures the first rate and stores it with the moment at which it started. Returns false if the counter
 * does not work as expected. The limits on the width keep the multiplication in is_enough from
 * overflowing. */
static bool measure_coarse(struct hora__ticker *ticker)
{
    struct moment start = read_moment();
    if (start.width > INT64_MAX / COARSE_ERROR / 4)
        return false;
    for (int i = 0; i < COARSE_STEPS; i++) {
        struct moment now = read_moment();
        if (now.width <= INT64_MAX / COARSE_ERROR / 4 && is_enough(&start, &now)) {
            ticker->start_ticks = start.ticks;
            ticker->start_ns = start.ns;
            ticker->coarse = (struct hora__rate){now.ns - start.ns, now.ticks - start.ticks};
            return true;
        }
    }
    return false;
}

void hora__ticker_init(struct hora__ticker *ticker)
{
    *ticker = (struct hora__ticker){.coarse = HORA__RATE_ONE};
    ticker->is_fast = counter_is_constant() && measure_coarse(ticker);
}

/* Returns true if two rates differ by less than 2 %. */
static bool is_near(struct hora__rate a, struct hora__rate b)
{
    assert(a.ticks > 0 && b.ns > 0 && b.ticks > 0);
    const long double near = 0.02L;
    long double ratio = (long double)a.ns / (long double)a.ticks * (long double)b.ticks / (long double)b.ns;
    return ratio > 1 - near && ratio < 1 + near;
}

struct hora__scale hora__ticker_scale(const struct hora__ticker *ticker)
{
    struct hora__scale scale = {ticker->coarse, ticker->coarse};
    if (!ticker->is_fast)
        return scale;
    struct moment now = read_moment();
    /* Use the new rate only if it was measured for longer than the first one and does not contradict it. */
    struct hora__rate rate = {now.ns - ticker->start_ns, now.ticks - ticker->start_ticks};
    if (rate.ns >= ticker->coarse.ns && rate.ticks > 0 && is_near(rate, ticker->coarse))
        scale.values = rate;
    return scale;
}
