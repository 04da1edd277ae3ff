/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - the rate between nanoseconds and the ticks of a counter, and conversion between the two
 *
 * If the counter counts nanoseconds, both numbers are the same and nothing is rounded. Otherwise results are
 * rounded down, and exact to one part in 2^52 or better: far better than the rate itself was measured. */
#ifndef HORA_BASE_RATE_H
#define HORA_BASE_RATE_H

#include <stdint.h>

/* `ticks` ticks of the counter take `ns` nanoseconds. Both are positive. */
struct hora__rate {
    int64_t ns;
    int64_t ticks;
};

/* The rate of a counter that counts nanoseconds. */
#define HORA__RATE_ONE ((struct hora__rate){1, 1})

/* The two rates that convert recorded ticks into times. The rate for values is the best one known now. The
 * rate for the bounds of a histogram stays as it was first measured: if a bound moved, the number of values
 * below it could fall from one reading to the next. */
struct hora__scale {
    struct hora__rate values;
    struct hora__rate bounds;
};

/* The scale of values that are nanoseconds. */
#define HORA__SCALE_NS ((struct hora__scale){HORA__RATE_ONE, HORA__RATE_ONE})

/* Returns amount * numerator / denominator, or INT64_MAX if that is too large. No argument may be
 * negative. */
static inline int64_t hora__rate_scale(int64_t amount, int64_t numerator, int64_t denominator)
{
    if (numerator == denominator)
        return amount;
    long double scaled = (long double)amount * (long double)numerator / (long double)denominator;
    return scaled >= 0x1p63L ? INT64_MAX : (int64_t)scaled;
}

static inline int64_t hora__rate_to_ns(struct hora__rate rate, int64_t ticks)
{
    return hora__rate_scale(ticks, rate.ns, rate.ticks);
}

static inline int64_t hora__rate_to_ticks(struct hora__rate rate, int64_t ns)
{
    return hora__rate_scale(ns, rate.ticks, rate.ns);
}

#endif
