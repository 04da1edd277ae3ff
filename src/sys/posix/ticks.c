/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.c - whether the processor's counter serves, and at which rate it runs
 *
 * How it works      A moment is read from both, the counter before and after the clock; of some tries that is taken in which the two
 *                   readings of the counter are nearest, so that being interrupted in between does no harm. Two moments give the
 *                   rate. It is wrong by as much as the readings are apart, against the time between the moments:
 *                   when the ticker is made that time is a hundred times as long, so by 1 % at most.
 *                   Later the time since the start serves, which is longer and makes the rate better. But if the machine was suspended, one
 *                   may have gone on and the other not, or the counter may have begun anew: then the result is far from the first
 *                   one, which is taken instead. What is less far goes unnoticed: after a suspension a rate may be wrong by 2 %. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sys/ticks.h"

enum {
    TRIES = 5,
    COARSE_NS = 20000,   /* the first measurement takes at least this long, */
    COARSE_ERROR = 100,  /* and this times as long as a reading, */
    COARSE_STEPS = 1000, /* but no more readings than these, if the clock stands still */
};

struct moment {
    int64_t ticks;
    int64_t ns;
    int64_t width; /* of the reading, in ticks */
};

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
    return true; /* by its architecture */
}
#else
static bool counter_is_constant(void)
{
    return false;
}
#endif

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

/* Whether both went forward by enough for a rate. */
static bool is_enough(const struct moment *from, const struct moment *to)
{
    return to->ns - from->ns >= COARSE_NS && to->ticks - from->ticks > COARSE_ERROR * (from->width + to->width) / 2;
}

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

static bool is_near(struct hora__rate a, struct hora__rate b)
{
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
    struct hora__rate rate = {now.ns - ticker->start_ns, now.ticks - ticker->start_ticks};
    if (rate.ns >= ticker->coarse.ns && rate.ticks > 0 && is_near(rate, ticker->coarse))
        scale.values = rate;
    return scale;
}
