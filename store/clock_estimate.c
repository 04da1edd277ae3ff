/* SPDX-License-Identifier: Apache-2.0 */
/* clock_estimate.c - what a node knows about the store's clock */
#include "clock_estimate.h"

#include <assert.h>

#include "fault.h"
#include "units.h"

/* The most that two clocks drift apart: 500 ppm, the limit at which Linux slews. */
enum { DRIFT_DIVISOR = 2000 };
#define STEP HORA_MS(250)

static hora_ns less(hora_ns a, hora_ns b)
{
    hora_ns result;
    if (__builtin_sub_overflow(a, b, &result))
        return a < b ? INT64_MIN : INT64_MAX;
    return result;
}

int64_t hora__clock_estimate_add(hora__clock_estimate *estimate, hora_ns sent, hora_ns received,
                                 int64_t first_us, int64_t last_us)
{
    assert(received >= sent);
    hora_ns low = less(hora__ns_of_us(last_us), received);
    hora_ns high = less(hora__sum(hora__ns_of_us(first_us), 999), sent);
    if (last_us < first_us || low > high) /* the clock was set between the readings: the last one counts */
        high = less(hora__sum(hora__ns_of_us(last_us), 999), sent);
    if (HORA__STORE_FAULT(STARTS_EARLY))
        low += (received - sent) / 2;
    hora__clock_estimate old = *estimate;
    *estimate = (hora__clock_estimate){true, low, high, received};
    if (!old.known)
        return 0;
    hora_ns drift = (received - old.measured_at) / DRIFT_DIVISOR;
    old.low -= drift;
    old.high += drift;
    if (low > hora__sum(old.high, STEP) || high < less(old.low, STEP))
        return (low / 2 + high / 2 - (old.low / 2 + old.high / 2)) / 1000;
    /* Intervals that do not meet come from clocks that drift more than assumed: the new one counts. */
    if (low <= old.high && old.low <= high) {
        estimate->low = low > old.low ? low : old.low;
        estimate->high = high < old.high ? high : old.high;
    }
    assert(estimate->low <= estimate->high || HORA__STORE_FAULT(STARTS_EARLY));
    return 0;
}

/* Rounds down. */
int64_t hora__clock_estimate_store_us(const hora__clock_estimate *estimate, hora_ns node_time)
{
    if (!estimate->known)
        return INT64_MIN;
    hora_ns time = hora__sum(node_time, estimate->low);
    return time / 1000 - (time % 1000 < 0);
}

int64_t hora__clock_estimate_latest_us(const hora__clock_estimate *estimate, hora_ns node_time)
{
    if (!estimate->known)
        return INT64_MAX;
    hora_ns drift = (node_time - estimate->measured_at) / DRIFT_DIVISOR;
    return hora__sum(hora__sum(node_time, estimate->high), drift > 0 ? drift : 0) / 1000 + 1;
}

hora_ns hora__clock_estimate_node_time(const hora__clock_estimate *estimate, int64_t store_us)
{
    assert(estimate->known);
    return store_us == INT64_MAX ? HORA_FOREVER : less(hora__ns_of_us(store_us), estimate->low);
}
