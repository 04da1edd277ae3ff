/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - a distribution that one thread records without a lock and any thread reads
 *
 * How it works      Each number is a separate atomic word, which only the recording thread writes. So no
 *                   reading is torn, but a reader may see one part of the last value and not yet the rest.
 *                   hora__histogram_add therefore derives the total from the counts that it has read, which
 *                   makes them agree.
 * Memory            3.9 KB cover all possible values, so none needs a special case. Recording touches only
 *                   the cache lines of buckets that have values. 32-bit counts would wrap within hours.
 * Sum               It is kept in two parts, which are enough for 2^48 values and 38 million years. */
#ifndef HORA_OBSERVE_HISTOGRAM_H
#define HORA_OBSERVE_HISTOGRAM_H

#include <stdint.h>

#include "base/distribution.h"
#include "base/fault.h"
#include "base/ns.h"
#include "sys/atomic.h"

/* A histogram that is all zero is empty. */
struct hora__histogram {
    hora__counter max;                   /* the greatest value so far */
    hora__counter sum_high;              /* sum of value >> 16 */
    hora__counter sum_low;               /* sum of value % 2^16 */
    hora__counter counts[HORA__BUCKETS]; /* values per bucket, see base/distribution.h */
};

/* Records a value; a negative one counts as 0. No two threads may record at the same time. The count of the
 * bucket is published: a thread that observes it sees everything that the recording thread did before. */
HORA__INLINE void hora__histogram_record(struct hora__histogram *histogram, int64_t value)
{
    uint64_t span = value > 0 ? (uint64_t)value : 0;
    HORA__ORDER_FAULT(HISTOGRAM_RECORDED_RELAXED, memory_order_relaxed);
    hora__counter_add_alone_publish(&histogram->counts[hora__bucket_of(span)], 1);
    hora__counter_add_alone(&histogram->sum_high, (int64_t)(span >> HORA__SUM_SHIFT));
    hora__counter_add_alone(&histogram->sum_low, (int64_t)(span % (1U << HORA__SUM_SHIFT)));
    hora__counter_raise_alone(&histogram->max, value);
}

/* Adds the values recorded so far to *sum. Any thread may call this at any time. It reads the buckets before
 * the maximum, so the maximum of a value that it has counted may still be missing. The smallest value of the
 * highest bucket in use replaces it then. So no quantile exceeds the maximum (D2 of base/distribution.c), and
 * the maximum does not fall from one reading to the next. */
static inline void hora__histogram_add(struct hora__distribution *sum,
                                       const struct hora__histogram *histogram)
{
    int64_t reached = 0;
    for (unsigned i = 0; i < HORA__BUCKETS; i++) {
        HORA__ORDER_FAULT(HISTOGRAM_READ_RELAXED, memory_order_relaxed);
        int64_t count = hora__counter_observe(&histogram->counts[i]);
        if (count == 0)
            continue;
        sum->counts[i] += count;
        sum->count += count;
        reached = (int64_t)hora__bucket_low(i);
    }
    sum->max = hora__ns_max(sum->max, hora__ns_max(reached, hora__counter_read(&histogram->max)));
    uint64_t low = sum->sum_low + (uint64_t)hora__counter_read(&histogram->sum_low);
    sum->sum_high += (uint64_t)hora__counter_read(&histogram->sum_high) + (low >> HORA__SUM_SHIFT);
    sum->sum_low = low % (1U << HORA__SUM_SHIFT);
}

#endif
