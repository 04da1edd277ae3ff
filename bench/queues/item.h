/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - the elements of all queues */
#ifndef HORA_BENCH_ITEM_H
#define HORA_BENCH_ITEM_H

#include <stdint.h>

struct item {
    uint64_t priority; /* the least leaves a priority queue first */
    int64_t due_ns;    /* on the monotonic clock: when a delay queue lets it go */
};

#endif
