/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - take a reading of a histogram that is being written
 *
 * How it works      The buckets are read first, the greatest value after them. It may still be missing: then the least value of the last
 *                   bucket stands for it, which something has reached. So no quantile is beyond it (D2 of base/distribution.c), and
 *                   it does not fall from one reading to the next. */
#include "sync/histogram.h"
#include "base/fault.h"

#include "base/ns.h"

void hora__histogram_add(struct hora__distribution *sum, const struct hora__histogram *histogram)
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
