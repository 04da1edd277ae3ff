/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.c - quantiles, counts and sums of a distribution
 *
 * Invariants        D1 count is the sum of counts[].
 *                   D2 every bucket behind that of max is empty.
 *                   D3 sum_low is less than 2^16. */
#include "base/distribution.h"

#include <assert.h>

#include "base/ns.h"

/* The inverse of hora__bucket_of. A bucket below 8 is its only value. For g > 0, buckets 8g to 8g + 7 start
 * at the values 8 to 15, shifted left by g - 1. */
uint64_t hora__bucket_low(unsigned bucket)
{
    assert(bucket < HORA__BUCKETS);
    if (bucket < 8)
        return bucket;
    return (uint64_t)(8 + bucket % 8) << (bucket / 8 - 1);
}

uint64_t hora__bucket_width(unsigned bucket)
{
    assert(bucket < HORA__BUCKETS);
    return bucket < 8 ? 1 : UINT64_C(1) << (bucket / 8 - 1);
}

/* Returns q * count rounded up, in 1 to count. Ignores a tiny excess that comes from q having no exact binary
 * form. */
static int64_t rank_of(double q, int64_t count)
{
    assert(count > 0);
    double exact = q * (double)count;
    if (!(exact > 1))
        return 1;
    if (exact >= (double)count)
        return count;
    int64_t rank = (int64_t)exact;
    return exact - (double)rank > 1e-6 ? rank + 1 : rank;
}

/* Estimates the k-th value of a bucket, as if its values were evenly spread over the bucket. */
static int64_t value_in_bucket(const struct hora__distribution *distribution, unsigned bucket, int64_t k)
{
    assert(k >= 1 && k <= distribution->counts[bucket]);
    uint64_t low = hora__bucket_low(bucket);
    uint64_t width = hora__bucket_width(bucket);
    /* D2: this is the last bucket, and its greatest value is known */
    if ((uint64_t)distribution->max - low < width)
        width = (uint64_t)distribution->max - low + 1;
    long double part = ((long double)k - 0.5L) / (long double)distribution->counts[bucket];
    uint64_t offset = (uint64_t)(part * (long double)width);
    return (int64_t)(low + (offset < width ? offset : width - 1));
}

/* Finds the bucket that holds the value of this rank by adding up the counts, then estimates the value within
 * it. */
int64_t hora__distribution_quantile(const struct hora__distribution *distribution, double q)
{
    if (distribution->count == 0)
        return 0;
    int64_t left = rank_of(q, distribution->count);
    if (left == distribution->count)
        return distribution->max; /* exact, unlike an estimate within its bucket */
    unsigned bucket = 0;
    for (; left > distribution->counts[bucket]; bucket++) { /* D1: the loop ends */
        left -= distribution->counts[bucket];
        assert(bucket + 1 < HORA__BUCKETS);
    }
    return value_in_bucket(distribution, bucket, left);
}

/* Adds up the buckets below that of the bound, and a part of its own bucket in proportion to the bound's
 * position. */
int64_t hora__distribution_up_to(const struct hora__distribution *distribution, int64_t bound)
{
    if (bound < 0)
        return 0;
    unsigned last = hora__bucket_of((uint64_t)bound);
    int64_t count = 0;
    for (unsigned i = 0; i < last; i++)
        count += distribution->counts[i];
    /* Do not use max here. It would improve the estimate, but the result could fall when a greater value
     * arrives. */
    uint64_t within = (uint64_t)bound - hora__bucket_low(last) + 1;
    long double part = (long double)distribution->counts[last] * (long double)within;
    return count + (int64_t)(part / (long double)hora__bucket_width(last));
}

struct hora__seconds hora__distribution_sum(const struct hora__distribution *distribution,
                                            struct hora__rate rate)
{
    assert(rate.ns > 0 && rate.ticks > 0);
    uint64_t second = (uint64_t)HORA__SECOND;
    uint64_t high = distribution->sum_high;
    assert(distribution->sum_low >> HORA__SUM_SHIFT == 0); /* D3 */
    if (rate.ns == rate.ticks) {
        /* Divide sum_high first. Its remainder is less than 2^30, so shifting it cannot overflow. */
        uint64_t rest = (high % second << HORA__SUM_SHIFT) + distribution->sum_low;
        return (struct hora__seconds){(high / second << HORA__SUM_SHIFT) + rest / second,
                                      (uint32_t)(rest % second)};
    }
    /* Ticks of another rate are measured only approximately, so floating point is exact enough. */
    long double ticks = (long double)high * (1 << HORA__SUM_SHIFT) + (long double)distribution->sum_low;
    long double seconds = ticks * (long double)rate.ns / (long double)rate.ticks / (long double)HORA__SECOND;
    uint64_t whole = (uint64_t)seconds;
    return (struct hora__seconds){whole,
                                  (uint32_t)((seconds - (long double)whole) * (long double)HORA__SECOND)};
}
