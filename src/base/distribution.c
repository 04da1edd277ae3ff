/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.c - what the counts of buckets tell
 *
 * Invariants        D1 count is the sum of counts[].
 *                   D2 no bucket beyond that of max has values.
 *                   D3 sum_low is less than 2^16. */
#include "base/distribution.h"

#include <assert.h>

#include "base/ns.h"

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

void hora__distribution_add(struct hora__distribution *sum, const struct hora__distribution *other)
{
    for (unsigned i = 0; i < HORA__BUCKETS; i++)
        sum->counts[i] += other->counts[i];
    sum->count += other->count;
    sum->max = hora__ns_max(sum->max, other->max);
    uint64_t low = sum->sum_low + other->sum_low;
    sum->sum_high += other->sum_high + (low >> HORA__SUM_SHIFT);
    sum->sum_low = low % (1U << HORA__SUM_SHIFT); /* D3 */
}

/* q * count, rounded up, unless that is due to q not being a sum of powers of two; 1 to count. */
static int64_t rank_of(double q, int64_t count)
{
    double exact = q * (double)count;
    if (!(exact > 1))
        return 1;
    if (exact >= (double)count)
        return count;
    int64_t rank = (int64_t)exact;
    return exact - (double)rank > 1e-6 ? rank + 1 : rank;
}

/* Where the k-th of a bucket's values is, as if they were evenly spread over those that it can have. */
static int64_t inside(const struct hora__distribution *distribution, unsigned bucket, int64_t k)
{
    uint64_t low = hora__bucket_low(bucket);
    uint64_t width = hora__bucket_width(bucket);
    if ((uint64_t)distribution->max - low < width) /* D2: the last one, of which the greatest is known */
        width = (uint64_t)distribution->max - low + 1;
    long double part = ((long double)k - 0.5L) / (long double)distribution->counts[bucket];
    uint64_t offset = (uint64_t)(part * (long double)width);
    return (int64_t)(low + (offset < width ? offset : width - 1));
}

int64_t hora__distribution_quantile(const struct hora__distribution *distribution, double q)
{
    if (distribution->count == 0)
        return 0;
    int64_t left = rank_of(q, distribution->count);
    if (left == distribution->count)
        return distribution->max;
    unsigned bucket = 0;
    for (; left > distribution->counts[bucket]; bucket++) { /* D1: it ends */
        left -= distribution->counts[bucket];
        assert(bucket + 1 < HORA__BUCKETS);
    }
    return inside(distribution, bucket, left);
}

int64_t hora__distribution_up_to(const struct hora__distribution *distribution, int64_t bound)
{
    if (bound < 0)
        return 0;
    unsigned last = hora__bucket_of((uint64_t)bound);
    int64_t count = 0;
    for (unsigned i = 0; i < last; i++)
        count += distribution->counts[i];
    /* Not by max, which would make it better, and fall when a greater value comes. */
    uint64_t within = (uint64_t)bound - hora__bucket_low(last) + 1;
    long double part = (long double)distribution->counts[last] * (long double)within;
    return count + (int64_t)(part / (long double)hora__bucket_width(last));
}

struct hora__seconds hora__distribution_sum(const struct hora__distribution *distribution, struct hora__rate rate)
{
    uint64_t second = (uint64_t)HORA__SECOND;
    uint64_t high = distribution->sum_high;
    assert(distribution->sum_low >> HORA__SUM_SHIFT == 0); /* D3 */
    if (rate.ns == rate.ticks) {
        uint64_t rest = (high % second << HORA__SUM_SHIFT) + distribution->sum_low;
        return (struct hora__seconds){(high / second << HORA__SUM_SHIFT) + rest / second, (uint32_t)(rest % second)};
    }
    long double ticks = (long double)high * (1 << HORA__SUM_SHIFT) + (long double)distribution->sum_low;
    long double seconds = ticks * (long double)rate.ns / (long double)rate.ticks / (long double)HORA__SECOND;
    uint64_t whole = (uint64_t)seconds;
    return (struct hora__seconds){whole, (uint32_t)((seconds - (long double)whole) * (long double)HORA__SECOND)};
}
