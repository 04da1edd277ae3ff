/* SPDX-License-Identifier: Apache-2.0 */
/* ns.h - sums of times that saturate instead of wrapping
 *
 * INT64_MAX stands for "never" everywhere: never plus anything is never. */
#ifndef HORA_BASE_NS_H
#define HORA_BASE_NS_H

#include <stdint.h>

#define HORA__SECOND INT64_C(1000000000)

static inline int64_t hora__ns_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

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
