/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.h - how often each value occurred: counts per bucket, and statistics of them
 *
 * Values are durations in any unit, 0 to INT64_MAX. Each value below 16 has its own bucket. From there on
 * each power of two is divided into eight buckets of equal width. A bucket is never wider than an eighth of
 * its smallest value, so every value is known to 12.5 %. Within a bucket values count as evenly spread. The
 * sum and the maximum are exact.
 *
 * Pure: no thread, no clock, no allocation. Threads record into a histogram (observe/histogram.h), which is
 * then read into a distribution. */
#ifndef HORA_BASE_DISTRIBUTION_H
#define HORA_BASE_DISTRIBUTION_H

#include <stdint.h>

#include "base/rate.h"

enum {
    HORA__BUCKETS = 488,  /* the last bucket ends with INT64_MAX */
    HORA__SUM_SHIFT = 16, /* number of bits in sum_low */
};

struct hora__distribution {
    int64_t counts[HORA__BUCKETS]; /* values recorded per bucket */
    int64_t count;                 /* of all buckets together */
    int64_t max;                   /* 0 if there are no values */
    /* The sum of the values is sum_high * 2^16 + sum_low, with sum_low < 2^16. 64 bits are not enough: in an
     * hour, tasks of a long queue can wait more than 292 years together. */
    uint64_t sum_high;
    uint64_t sum_low;
};

/* Returns the bucket of a value. The leading one bit and the three bits below it are a number from 8 to 15;
 * the number of bits below those selects the group of eight buckets. ORing with 8 keeps the shift from going
 * negative, so values below 16 are their own bucket. */
static inline unsigned hora__bucket_of(uint64_t value)
{
    unsigned shift = 60 - (unsigned)__builtin_clzll(value | 8);
    return 8 * shift + (unsigned)(value >> shift);
}

/* Return the smallest value of a bucket, and the number of values that it covers. */
uint64_t hora__bucket_low(unsigned bucket);
uint64_t hora__bucket_width(unsigned bucket);

/* Returns the value that the fraction q of all values, 0 to 1, does not exceed: for q = 0.99 and 100 values
 * the 99th. The error is less than the width of its bucket. The result never exceeds max and is max for q =
 * 1. A q outside 0 to 1 counts as the nearer bound. Returns 0 if there are no values. */
int64_t hora__distribution_quantile(const struct hora__distribution *distribution, double q);

/* Estimates how many values do not exceed `bound`. For one bound the result never falls as values are
 * added. */
int64_t hora__distribution_up_to(const struct hora__distribution *distribution, int64_t bound);

/* A time too long for 64 bits of nanoseconds. */
struct hora__seconds {
    uint64_t seconds;
    uint32_t nanoseconds; /* less than a second */
};

/* Returns the sum of all values as a time. `rate` converts the unit of the values to nanoseconds; the result
 * is exact if that unit is the nanosecond. */
struct hora__seconds hora__distribution_sum(const struct hora__distribution *distribution,
                                            struct hora__rate rate);

#endif
