/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.h - how often which values occurred: counts of buckets, and what can be told from them
 *
 * How it works      Values are spans in any unit, 0 to INT64_MAX. Those below 16 have a bucket each; from there on each power of two is
 *                   cut into eight of the same width. So a bucket is never wider than an eighth of the least value in it, and any
 *                   value is known to 12.5 %; inside a bucket values count as evenly spread. The sum and the greatest
 *                   value are exact.
 *
 * Pure: no thread, no clock, no allocation. sync/histogram.h is what threads write into, and what is added up here. */
#ifndef HORA_BASE_DISTRIBUTION_H
#define HORA_BASE_DISTRIBUTION_H

#include <stdint.h>

#include "base/rate.h"

enum {
    HORA__BUCKETS = 488, /* the last one ends with INT64_MAX */
    HORA__SUM_SHIFT = 16,
};

struct hora__distribution {
    int64_t counts[HORA__BUCKETS];
    int64_t count; /* of all */
    int64_t max;   /* 0 if there are none */
    /* The sum of the values is sum_high * 2^16 + sum_low, sum_low < 2^16: tasks that wait for minutes in a long queue bring more than
     * 292 years together in an hour. */
    uint64_t sum_high;
    uint64_t sum_low;
};

/* Which bucket a value is in. The first four bits decide on the last three of the index, how far they had to be shifted on
 * the others. */
static inline unsigned hora__bucket_of(uint64_t value)
{
    unsigned shift = 60 - (unsigned)__builtin_clzll(value | 8);
    return 8 * shift + (unsigned)(value >> shift);
}

/* The least value of a bucket, and how many values are in it. */
uint64_t hora__bucket_low(unsigned bucket);
uint64_t hora__bucket_width(unsigned bucket);

/* Add all of another one. One that is all zero is empty. */
void hora__distribution_add(struct hora__distribution *sum, const struct hora__distribution *other);

/* The value that a part q of all, 0 to 1, does not exceed: with q 0.99 of 100 values the 99th. It is off by less than the width of its
 * bucket, is never more than max, and is max itself for q 1. 0 if there are no values. */
int64_t hora__distribution_quantile(const struct hora__distribution *distribution, double q);

/* How many values do not exceed a bound. For the same bound this never falls while values are added. */
int64_t hora__distribution_up_to(const struct hora__distribution *distribution, int64_t bound);

/* The sum of the values as a time. */
struct hora__seconds {
    uint64_t seconds;
    uint32_t nanoseconds;
};
struct hora__seconds hora__distribution_sum(const struct hora__distribution *distribution, struct hora__rate rate);

#endif
