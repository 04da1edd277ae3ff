/* SPDX-License-Identifier: Apache-2.0 */
/* set.h - sets of small numbers as words: bit n is set if n is in it */
#ifndef HORA_CRON_SET_H
#define HORA_CRON_SET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* All from first to last; last is below 63. */
static inline uint64_t hora__set_from_to(int first, int last)
{
    return (UINT64_C(2) << last) - (UINT64_C(1) << first);
}

/* first, first + step ... up to last, which is below 63. Each round doubles the number of values. */
static inline uint64_t hora__set_every(int first, int last, int64_t step)
{
    uint64_t set = 1;
    assert(first >= 0 && first <= last && last < 63 && step > 0);
    for (; step < 64; step *= 2)
        set |= set << step;
    return set << first & hora__set_from_to(first, last);
}

static inline bool hora__set_has(uint64_t set, int value)
{
    return (set >> value & 1) != 0;
}

static inline int hora__set_count(uint64_t set)
{
    return __builtin_popcountll(set);
}

/* Of a set that is not empty. */
static inline int hora__set_first(uint64_t set)
{
    return __builtin_ctzll(set);
}

static inline int hora__set_last(uint64_t set)
{
    return 63 - __builtin_clzll(set);
}

/* The values that are greater than n, and those that are less. */
static inline uint64_t hora__set_above(uint64_t set, int n)
{
    return set & (~UINT64_C(1) << n);
}

static inline uint64_t hora__set_below(uint64_t set, int n)
{
    return set & ((UINT64_C(1) << n) - 1);
}

/* The distance of all its values; 0: they have none, or there is only one. */
static inline int hora__set_step(uint64_t set)
{
    uint64_t rest = set & (set - 1);
    if (rest == 0)
        return 0;
    int step = hora__set_first(rest) - hora__set_first(set);
    return hora__set_every(hora__set_first(set), hora__set_last(set), step) == set ? step : 0;
}

/* The last one of the neighbours of a value, or itself. */
static inline int hora__set_run_end(uint64_t set, int value)
{
    while (value < 63 && hora__set_has(set, value + 1))
        value++;
    return value;
}

#endif
