/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the machine's clocks, and the fork in the road between them and virtual ones */
#include "sync/clock.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sync/thread.h"
#include "sys/clock.h"

static_assert((int)HORA_MONOTONIC == (int)HORA__MONOTONIC && (int)HORA_BOOTTIME == (int)HORA__BOOTTIME &&
                  (int)HORA_WALL == (int)HORA__WALL,
              "the public and the system's timelines have the same numbers");

static const hora_clock system_clocks[] = {
    {HORA_MONOTONIC, NULL},
    {HORA_BOOTTIME, NULL},
    {HORA_WALL, NULL},
};

const hora_clock *hora_system_clock(hora_timeline timeline)
{
    if ((int)timeline < 0 || timeline > HORA_WALL)
        return NULL;
    return &system_clocks[timeline];
}

const hora_clock *hora__clock_or_default(const hora_clock *clock)
{
    return clock != NULL ? clock : &system_clocks[HORA_MONOTONIC];
}

hora_timeline hora_clock_timeline(const hora_clock *clock)
{
    return hora__clock_or_default(clock)->timeline;
}

hora_ns hora_clock_now(const hora_clock *clock)
{
    clock = hora__clock_or_default(clock);
    if (clock->source != NULL)
        return hora__virtual_clock_now(clock->source, clock->timeline);
    return hora__now((enum hora__timeline)clock->timeline);
}

int hora_clock_instant(const hora_clock *clock, hora_instant *ret_instant)
{
    if (clock == NULL || clock->timeline != HORA_WALL || ret_instant == NULL)
        return HORA_EINVAL;
    ret_instant->ns = hora_clock_now(clock);
    return 0;
}

hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout)
{
    if (timeout == HORA_FOREVER)
        return HORA_FOREVER;
    return hora__ns_add(hora_clock_now(clock), timeout);
}

int hora__clock_check(const hora_clock *clock)
{
    return clock->source != NULL ? hora__virtual_clock_check(clock->source) : 0;
}

void hora__clock_acquire(const hora_clock *clock)
{
    if (clock->source != NULL)
        hora__virtual_clock_acquire(clock->source);
}

void hora__clock_release(const hora_clock *clock)
{
    if (clock->source != NULL)
        hora__virtual_clock_release(clock->source);
}

void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline)
{
    if (deadline == HORA_FOREVER)
        hora__virtual_clock_idle_park(thread);
    else if (clock->source != NULL)
        hora__virtual_clock_park(clock->source, clock->timeline, thread, deadline);
    else /* a thread that waits for the machine's time may go on at any moment: it is not idle */
        hora__park(&thread->parker, (enum hora__timeline)clock->timeline, deadline);
}
