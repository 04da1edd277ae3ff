/* SPDX-License-Identifier: Apache-2.0 */
/* parker_cond.c - the parker on a mutex and a condition variable, for systems without a futex
 *
 * How it works      The permit is a flag under a lock. A condition waits on the monotonic clock only. So a
 *                   sleep on another clock, or one that watches the clocks, is cut into slices of at most
 *                   a second. park returns after each slice, and the caller reads the clocks.
 * Invariants        I1 state changes only under the lock, and only park removes the permit.
 * Locks             parker->lock (rank PARKER), a leaf. */
#include "sys/parker.h"

#ifdef HORA_PARKER_COND

#include <assert.h>

#include "base/fault.h"
#include "base/ns.h"

enum { EMPTY = 0, PERMIT = 1 };

int hora__parker_init(hora__parker *parker)
{
    hora__atomic_init(&parker->state, EMPTY);
    int error = hora__mutex_init(&parker->lock, HORA__RANK_PARKER);
    if (error < 0)
        return error;
    error = hora__cond_init(&parker->cond);
    if (error < 0)
        hora__mutex_destroy(&parker->lock);
    return error;
}

void hora__parker_destroy(hora__parker *parker)
{
    hora__cond_destroy(&parker->cond);
    hora__mutex_destroy(&parker->lock);
}

/* Returns a time on the monotonic clock: the deadline, or a second from now if that is earlier. */
static int64_t slice_end(enum hora__timeline timeline, int64_t deadline_ns)
{
    int64_t left = hora__ns_sub(deadline_ns, hora__now(timeline));
    if (left > HORA__SECOND)
        left = HORA__SECOND;
    return hora__ns_add(hora__now(HORA__MONOTONIC), left);
}

/* Sleeps until unpark is called or the monotonic clock shows `until`, and takes the permit if there is
 * one. */
static void park_until(hora__parker *parker, int64_t until)
{
    assert(!hora__mutex_held(&parker->lock));
    if (HORA__FAULT(PARKER_IGNORES_DEADLINE))
        until = INT64_MAX;
    hora__mutex_lock(&parker->lock);
    /* One wait and no loop: the caller loops, and must read its clock each time. */
    if (hora__atomic_load(&parker->state) == EMPTY)
        hora__cond_wait(&parker->cond, &parker->lock, until);
    hora__atomic_store(&parker->state, EMPTY);
    hora__mutex_unlock(&parker->lock);
}

void hora__park(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    bool whole = timeline == HORA__MONOTONIC || deadline_ns == INT64_MAX; /* no need for slices */
    park_until(parker, whole ? deadline_ns : slice_end(timeline, deadline_ns));
}

void hora__park_watching(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    if (HORA__FAULT(PARKER_MISSES_SET_CLOCK))
        hora__park(parker, timeline, deadline_ns);
    else
        park_until(parker, slice_end(timeline, deadline_ns));
}

void hora__unpark(hora__parker *parker)
{
    hora__mutex_lock(&parker->lock);
    if (!HORA__FAULT(PARKER_LOSES_EARLY_PERMIT))
        hora__atomic_store(&parker->state, PERMIT);
    hora__cond_signal(&parker->cond);
    hora__mutex_unlock(&parker->lock);
}

bool hora__parker_has_permit(const hora__parker *parker)
{
    return hora__atomic_load(&parker->state) == PERMIT;
}

#endif
