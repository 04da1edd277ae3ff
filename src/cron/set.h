/* SPDX-License-Identifier: Apache-2.0 */
/* set.h - sets of small numbers in a word: bit n is set if n is in the set
 *
 * The fields of a cron expression are such sets; the largest number in one is 59. */
#ifndef HORA_CRON_SET_H
#define HORA_CRON_SET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns all numbers from first to last; last < 63. */
static inline uint64_t hora__set_from_to(int first, int last)
{
    assert(first >= 0 && first <= last && last < 63);
    return (UINT64_C(2) << last) - (UINT64_C(1) << first);
}

/* Returns first, first + step, ... up to last; last < 63. Each round doubles the number of values. */
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
    assert(value >= 0 && value < 64);
    return (set >> value & 1) != 0;
}

static inline int hora__set_count(uint64_t set)
{
    return __builtin_popcountll(set);
}

/* Returns the smallest number of a set, which must not be empty. */
static inline int hora__set_first(uint64_t set)
{
    assert(set != 0);
    return __builtin_ctzll(set);
}

/* Returns the largest number of a set, which must not be empty. */
static inline int hora__set_last(uint64_t set)
{
    assert(set != 0);
    return 63 - __builtin_clzll(set);
}

/* Returns the numbers of a set that are greater than n. */
static inline uint64_t hora__set_above(uint64_t set, int n)
{
    return set & (~UINT64_C(1) << n);
}

/* Returns the numbers of a set that are less than n. */
static inline uint64_t hora__set_below(uint64_t set, int n)
{
    return set & ((UINT64_C(1) << n) - 1);
}

/* Returns the distance between neighbours if it is the same for all; 0 if it is not, or if the set has
 * fewer than two numbers. */
static inline int hora__set_step(uint64_t set)
{
    uint64_t rest = set & (set - 1);
    if (rest == 0)
        return 0;
    int step = hora__set_first(rest) - hora__set_first(set);
    return hora__set_every(hora__set_first(set), hora__set_last(set), step) == set ? step : 0;
}

/* Returns the last number of the unbroken run that starts at `value`. */
static inline int hora__set_run_end(uint64_t set, int value)
{
    while (value < 63 && hora__set_has(set, value + 1))
        value++;
    return value;
}

#endif
