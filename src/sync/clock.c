/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the clocks of the machine, and the choice between them and virtual clocks */
#include "sync/clock.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sync/thread.h"
#include "sys/clock.h"

/* Indexed by enum hora__timeline. */
static const hora_clock system_clocks[] = {
    {HORA__MONOTONIC, NULL},
    {HORA__BOOTTIME, NULL},
    {HORA__WALL, NULL},
};

const hora_clock *hora_clock_system(hora_clock_id id)
{
    return hora__clock_id_is_valid(id) ? &system_clocks[hora__timeline_of(id)] : NULL;
}

const hora_clock *hora__clock_or_default(const hora_clock *clock)
{
    return clock != NULL ? clock : &system_clocks[HORA__MONOTONIC];
}

enum hora__timeline hora__clock_timeline(const hora_clock *clock)
{
    return hora__clock_or_default(clock)->timeline;
}

hora_clock_id hora_clock_get_id(const hora_clock *clock)
{
    return hora__clock_id_of(hora__clock_timeline(clock));
}

hora_ns hora_clock_now(const hora_clock *clock)
{
    clock = hora__clock_or_default(clock);
    if (clock->source != NULL)
        return hora__virtual_clock_now(clock->source, clock->timeline);
    return hora__now(clock->timeline);
}

/* NULL, elsewhere the monotonic clock, is refused like every other clock that does not show the calendar. */
int hora_clock_instant(const hora_clock *clock, hora_instant *ret_instant)
{
    if (clock == NULL || clock->timeline != HORA__WALL || ret_instant == NULL)
        return HORA_EINVAL;
    ret_instant->ns = hora_clock_now(clock);
    return 0;
}

/* An infinite timeout does not read the clock. */
hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout)
{
    if (timeout == HORA_FOREVER)
        return HORA_FOREVER;
    return hora__ns_add(hora_clock_now(clock), timeout);
}

int hora__clock_check(const hora_clock *clock)
{
    assert(clock != NULL);
    return clock->source != NULL ? hora__virtual_clock_check(clock->source) : 0;
}

void hora__clock_acquire(const hora_clock *clock)
{
    assert(clock != NULL);
    if (clock->source != NULL)
        hora__virtual_clock_acquire(clock->source);
}

const hora_clock *hora__clock_line(const hora_clock *clock, enum hora__timeline timeline)
{
    clock = hora__clock_or_default(clock);
    return clock->source != NULL ? hora__virtual_clock_line(clock->source, timeline)
                                 : &system_clocks[timeline];
}

/* Reads the offsets of the machine's clocks. The system has no call that reads all three at once, and the
 * thread may lose the processor between two readings. So it reads several rounds and uses the fastest; a
 * round that took no more than a quarter of the tolerance is good enough to stop. */
static struct hora__clock_offsets read_machine(void)
{
    enum { ROUNDS = 8 };
    struct hora__clock_offsets offsets = {0, 0};
    hora_ns shortest = HORA_FOREVER;
    for (int i = 0; i < ROUNDS && shortest > HORA__CLOCK_TOLERANCE / 4; i++) {
        hora_ns before = hora__now(HORA__MONOTONIC);
        hora_ns boot = hora__now(HORA__BOOTTIME);
        hora_ns wall = hora__now(HORA__WALL);
        hora_ns took = hora__now(HORA__MONOTONIC) - before;
        if (took < shortest) {
            shortest = took;
            offsets = (struct hora__clock_offsets){boot - before, wall - before};
        }
    }
    return offsets;
}

struct hora__clock_offsets hora__clock_read_offsets(const hora_clock *clock)
{
    clock = hora__clock_or_default(clock);
    return clock->source != NULL ? hora__virtual_clock_offsets(clock->source) : read_machine();
}

/* Returns whether two offsets are more than the tolerance apart. */
static bool differ(hora_ns a, hora_ns b, hora_ns tolerance)
{
    return hora__ns_sub(a, b) > tolerance || hora__ns_sub(b, a) > tolerance;
}

bool hora__clock_was_set(const hora_clock *clock, const struct hora__clock_offsets *seen)
{
    assert(seen != NULL);
    struct hora__clock_offsets now = hora__clock_read_offsets(clock);
    hora_ns tolerance = hora__clock_or_default(clock)->source != NULL ? 0 : HORA__CLOCK_TOLERANCE;
    return differ(now.boot, seen->boot, tolerance) || differ(now.wall, seen->wall, tolerance);
}

/* Chooses how to park. A thread that is attached to a virtual clock counts as idle only if it waits without a
 * limit or on that clock. If it waits for a time of the machine, or for the machine's clock to be set, it may
 * continue at any moment, so it still counts as running. A thread that is not attached needs no
 * bookkeeping. */
void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline,
                      const struct hora__clock_offsets *seen)
{
    assert(thread == hora__thread_existing() && clock != NULL);
    if (deadline == HORA_FOREVER && seen == NULL && thread->clock == NULL)
        hora__park(&thread->parker, HORA__MONOTONIC, HORA_FOREVER);
    else if (deadline == HORA_FOREVER && seen == NULL)
        hora__virtual_clock_idle_park(thread);
    else if (clock->source != NULL)
        hora__virtual_clock_park(clock, thread, deadline, seen);
    else if (seen != NULL)
        hora__park_watching(&thread->parker, clock->timeline, deadline);
    else
        hora__park(&thread->parker, clock->timeline, deadline);
}
