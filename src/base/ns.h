/* SPDX-License-Identifier: Apache-2.0 */
/* ns.h - nanoseconds: units, and arithmetic that saturates instead of wrapping
 *
 * INT64_MAX means "never" everywhere: never plus or minus any time is never. A deadline computed from a
 * caller's time-out can therefore not overflow into the past. */
#ifndef HORA_BASE_NS_H
#define HORA_BASE_NS_H

#include <stdint.h>

/* Nanoseconds per second. */
#define HORA__SECOND INT64_C(1000000000)

/* Returns a + b, or the nearest representable time. "Never" absorbs the other operand. */
static inline int64_t hora__ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Returns a - b, or the nearest representable time. Never minus anything is never. */
static inline int64_t hora__ns_sub(int64_t a, int64_t b)
{
    int64_t difference;
    if (a == INT64_MAX)
        return INT64_MAX;
    if (__builtin_sub_overflow(a, b, &difference))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

static inline int64_t hora__ns_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
