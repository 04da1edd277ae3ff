/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - the elements of all queues */
#ifndef HORA_BENCH_ITEM_H
#define HORA_BENCH_ITEM_H

#include <stdint.h>

struct item {
    uint64_t priority; /* a priority queue hands out the smallest first */
    int64_t due_ns;    /* when a delay queue may hand it out, on the monotonic clock */
};

#endif
