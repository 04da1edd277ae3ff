/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - a distribution that one thread writes without a lock, and any thread reads without stopping it
 *
 * How it works      Each number is a relaxed word of its own, which only the writer changes; so no reading is torn, but one that is
 *                   taken meanwhile may see a part of the last values and not yet the rest. What follows from the
 *                   numbers together is therefore taken from the counts, and made to agree, by hora__histogram_add.
 * Memory            3.9 KB for all values there are, so none needs a special case; of these only the lines of buckets that have values
 *                   are ever touched. Counts of 32 bits would wrap within hours, and could not be carried without a reader seeing
 *                   it.
 * Sum               In two parts, each of which is a sum of its own: for 2^48 values, and 38 million years. */
#ifndef HORA_SYNC_HISTOGRAM_H
#define HORA_SYNC_HISTOGRAM_H

#include <stdint.h>

#include "base/distribution.h"
#include "base/fault.h"
#include "sys/atomic.h"

/* All zero is empty. */
struct hora__histogram {
    hora__counter max;
    hora__counter sum_high; /* of value >> 16 */
    hora__counter sum_low;  /* of value % 2^16 */
    hora__counter counts[HORA__BUCKETS];
};

/* Count a value; what is negative is 0. No two threads at the same time. Who reads the count sees all that the writer did before. */
static inline void hora__histogram_record(struct hora__histogram *histogram, int64_t value)
{
    uint64_t span = value > 0 ? (uint64_t)value : 0;
    HORA__ORDER_FAULT(HISTOGRAM_RECORDED_RELAXED, memory_order_relaxed);
    hora__counter_add_alone_publish(&histogram->counts[hora__bucket_of(span)], 1);
    hora__counter_add_alone(&histogram->sum_high, (int64_t)(span >> HORA__SUM_SHIFT));
    hora__counter_add_alone(&histogram->sum_low, (int64_t)(span % (1U << HORA__SUM_SHIFT)));
    hora__counter_raise_alone(&histogram->max, value);
}

/* Add what has been recorded so far. Any thread, at any time. */
void hora__histogram_add(struct hora__distribution *sum, const struct hora__histogram *histogram);

#endif
