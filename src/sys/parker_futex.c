/* SPDX-License-Identifier: Apache-2.0 */
/* parker_futex.c - the parker on one futex word
 *
 * How it works      The word holds one of four states. unpark exchanges it for PERMIT and makes a system
 *                   call only if the owner sleeps. A futex supports neither boot time nor waiting for the
 *                   clock to be set. For these the owner sleeps in poll on an event descriptor, a timer of
 *                   the timeline and a watch on the clock. It opens each at the first sleep that needs it,
 *                   and keeps it.
 *                   The owner renews the watch after a sleep that the watch ended, never before a sleep.
 *                   Between a renewal and the next sleep the caller reads the clocks, so it misses no
 *                   change.
 * States            EMPTY  -> PERMIT   unpark
 *                   EMPTY  -> PARKED   the owner goes to sleep on the futex
 *                   EMPTY  -> POLLING  the owner goes to sleep in poll
 *                   PARKED, POLLING -> PERMIT  unpark, which then wakes the owner
 *                   PARKED, POLLING -> EMPTY   the owner wakes without a permit
 *                   PERMIT -> EMPTY    the owner takes the permit
 * Invariants        I1 only the owner leaves PERMIT, so a permit is never lost.
 *                   I2 the state is PARKED or POLLING only while the owner is inside hora__park.
 *                   I3 the event is not destroyed while the state is POLLING.
 * Order             All changes of the word are read-modify-writes, so each sees the newest state under
 *                   any memory order. The owner reads the reason of a wake-up from other words, which are
 *                   sequentially consistent. Relaxed operations would therefore do here, and no fault of
 *                   order is planted. */
#include "sys/parker.h"

#ifndef HORA_PARKER_COND

#include <assert.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sys/futex.h"

enum { EMPTY = 0, PERMIT = 1, PARKED = -1, POLLING = -2 };
enum { TIMELINES = 3 };

int hora__parker_init(hora__parker *parker)
{
    hora__atomic_init(&parker->state, EMPTY);
    parker->event = HORA__EVENT_NONE;
    for (int i = 0; i < TIMELINES; i++)
        parker->timer_fds[i] = -1;
    parker->watch_fd = -1;
    return 0;
}

void hora__parker_destroy(hora__parker *parker)
{
    assert(hora__atomic_load(&parker->state) >= EMPTY); /* I2, I3 */
    hora__event_destroy(&parker->event);
    for (int i = 0; i < TIMELINES; i++)
        hora__timer_fd_free(parker->timer_fds[i]);
    hora__watch_fd_free(parker->watch_fd);
}

/* Takes the permit. Returns false if there is none. */
static bool take_permit(hora__parker *parker)
{
    return hora__atomic_cas(&parker->state, PERMIT, EMPTY);
}

/* Changes the state from EMPTY to a sleeping state. Returns false, with the permit taken, if another thread
 * called unpark first. */
static bool begin_sleep(hora__parker *parker, int32_t sleeping)
{
    assert(sleeping == PARKED || sleeping == POLLING);
    if (hora__atomic_cas(&parker->state, EMPTY, sleeping))
        return true;
    bool taken = take_permit(parker);
    assert(taken); /* I1 */
    (void)taken;
    return false;
}

/* Sleeps on the word until unpark or the deadline. `timeline` is one that the futex supports: monotonic or
 * wall. Takes the permit, if there is one. */
static void park_on_futex(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    if (!begin_sleep(parker, PARKED))
        return;
    if (HORA__FAULT(PARKER_IGNORES_DEADLINE))
        deadline_ns = INT64_MAX;
    hora__futex_wait(&parker->state, PARKED, timeline, deadline_ns);
    /* The state is PARKED or PERMIT. The owner takes a permit that arrived with the wake-up. */
    (void)hora__atomic_exchange(&parker->state, EMPTY);
}

/* Opens the event and the timer of this timeline unless they are open. Returns false if the system has no
 * descriptors left. */
static bool have_descriptors(hora__parker *parker, enum hora__timeline timeline)
{
    if (parker->event.fd < 0 && hora__event_init(&parker->event) < 0)
        return false;
    if (parker->timer_fds[timeline] < 0)
        parker->timer_fds[timeline] = hora__timer_fd_new(timeline);
    return parker->timer_fds[timeline] >= 0;
}

/* Sleeps at most a second, on the futex. For sleeps that need descriptors if there are none: the caller then
 * reads its clock once a second. A wake-up is late only after the clock was set or the machine was
 * suspended. */
static void park_in_slices(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    int64_t left = hora__ns_sub(deadline_ns, hora__now(timeline));
    if (left > HORA__SECOND)
        left = HORA__SECOND;
    park_on_futex(parker, HORA__MONOTONIC, hora__ns_add(hora__now(HORA__MONOTONIC), left));
}

/* Sleeps in poll until unpark, the deadline or a change of the clock. The descriptors must be open. watch_fd
 * is -1 for a sleep that does not watch the clock. Takes the permit, if there is one. */
static void park_in_poll(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns,
                         int watch_fd)
{
    assert(parker->event.fd >= 0 && parker->timer_fds[timeline] >= 0);
    /* Discard the signal of an unpark whose permit was taken already. If such a signal arrives only after
     * this line, the sleep below ends without a reason, which is allowed. */
    hora__event_consume(&parker->event);
    if (HORA__FAULT(PARKER_MISSES_SET_CLOCK) && watch_fd >= 0)
        hora__watch_fd_renew(watch_fd);
    hora__timer_fd_arm(parker->timer_fds[timeline], deadline_ns);
    if (!begin_sleep(parker, POLLING))
        return;
    bool set = hora__event_wait(&parker->event, parker->timer_fds[timeline], watch_fd);
    (void)hora__atomic_exchange(&parker->state, EMPTY);
    if (set)
        hora__watch_fd_renew(watch_fd);
}

/* The futex supports the monotonic and the wall clock. Boot time needs a timer descriptor, unless there is no
 * deadline. */
void hora__park(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    if (take_permit(parker))
        return;
    if (timeline != HORA__BOOTTIME || deadline_ns == INT64_MAX)
        park_on_futex(parker, timeline == HORA__WALL ? HORA__WALL : HORA__MONOTONIC, deadline_ns);
    else if (have_descriptors(parker, timeline))
        park_in_poll(parker, timeline, deadline_ns, -1);
    else
        park_in_slices(parker, timeline, deadline_ns);
}

void hora__park_watching(hora__parker *parker, enum hora__timeline timeline, int64_t deadline_ns)
{
    if (take_permit(parker))
        return;
    bool watched = parker->watch_fd >= 0;
    if (!watched)
        parker->watch_fd = hora__watch_fd_new();
    if (parker->watch_fd < 0 || !have_descriptors(parker, timeline))
        park_in_slices(parker, timeline, deadline_ns);
    else if (watched) /* if not, return: the caller must read the clocks now that the watch has started */
        park_in_poll(parker, timeline, deadline_ns, parker->watch_fd);
}

/* The exchange decides which side acts: if the owner was asleep, this thread wakes it; if not, the owner
 * finds the permit. */
void hora__unpark(hora__parker *parker)
{
    if (HORA__FAULT(PARKER_LOSES_EARLY_PERMIT) && hora__atomic_load(&parker->state) == EMPTY)
        return;
    int32_t before = hora__atomic_exchange(&parker->state, PERMIT);
    if (before == PARKED)
        hora__futex_wake(&parker->state);
    else if (before == POLLING)
        hora__event_signal(&parker->event);
}

bool hora__parker_has_permit(const hora__parker *parker)
{
    return hora__atomic_load(&parker->state) == PERMIT;
}

#endif
