/* SPDX-License-Identifier: Apache-2.0 */
/* units.h - microseconds of the store and nanoseconds of the program */
#ifndef HORA_STORE_UNITS_H
#define HORA_STORE_UNITS_H

#include <stdint.h>

#include <hora/base.h>

/* Rounds up, so that nothing is early. */
static inline int64_t hora__us_of_ns(hora_ns ns)
{
    return ns / 1000 + (ns % 1000 > 0);
}

static inline int64_t hora__us_ceil(hora_instant instant)
{
    return hora__us_of_ns(instant.ns);
}

/* Saturates: INT64_MAX and INT64_MIN stay what they are. */
static inline hora_ns hora__ns_of_us(int64_t us)
{
    if (us > INT64_MAX / 1000)
        return INT64_MAX;
    if (us < INT64_MIN / 1000)
        return INT64_MIN;
    return us * 1000;
}

static inline hora_instant hora__instant_of_us(int64_t us)
{
    return (hora_instant){hora__ns_of_us(us)};
}

/* The sum, or the limit that it exceeds. */
static inline int64_t hora__sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

#endif
