/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - clocks as the rest of the library sees them: read them, sleep on them, get told by a
 * descriptor */
#ifndef HORA_SYNC_CLOCK_H
#define HORA_SYNC_CLOCK_H

#include <assert.h>
#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/clock.h"
#include "sys/event.h"

struct hora_clock {
    enum hora__timeline timeline;
    struct hora_virtual_clock *source; /* NULL: a clock of the machine */
};

/* Conversions between the public ids, which have a default, and timelines. */
static inline bool hora__clock_id_is_valid(hora_clock_id id)
{
    return (int)id >= HORA_CLOCK_DEFAULT && id <= HORA_CLOCK_WALL;
}

static inline enum hora__timeline hora__timeline_of(hora_clock_id id)
{
    assert(hora__clock_id_is_valid(id));
    return id == HORA_CLOCK_DEFAULT ? HORA__MONOTONIC
                                    : (enum hora__timeline)((int)id - (int)HORA_CLOCK_MONOTONIC);
}

static inline hora_clock_id hora__clock_id_of(enum hora__timeline timeline)
{
    return (hora_clock_id)((int)timeline + (int)HORA_CLOCK_MONOTONIC);
}

/* Returns the clock itself, or the monotonic clock for NULL. */
const hora_clock *hora__clock_or_default(const hora_clock *clock);

/* The timeline of a clock; NULL: the monotonic one. */
enum hora__timeline hora__clock_timeline(const hora_clock *clock);

/* Returns 0, or HORA_EFORKED in a process that did not make this virtual clock. */
__attribute__((warn_unused_result)) int hora__clock_check(const hora_clock *clock);

/* Counts an object that uses the clock, if that is virtual: it must not be freed before the object. The end
 * of the object calls hora__virtual_clock_release. */
void hora__clock_acquire(const hora_clock *clock);

/* Returns the time at which this timeout, counted from now, is over. */
hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout);

/* Returns the clock of the same source, the machine or a virtual clock, with another timeline. */
const hora_clock *hora__clock_line(const hora_clock *clock, enum hora__timeline timeline);

/* How far boot time and the wall clock are ahead of the monotonic line. They change only when the wall clock
 * is set or the machine is suspended. */
struct hora__clock_offsets {
    hora_ns boot;
    hora_ns wall;
};

/* The offsets of the clock's source. Exact for a virtual clock. For the machine, whose clocks are read one
 * after the other, good to HORA__CLOCK_TOLERANCE. */
struct hora__clock_offsets hora__clock_read_offsets(const hora_clock *clock);

#define HORA__CLOCK_TOLERANCE HORA_MS(1)

/* Whether the offsets have changed by more than the tolerance since `seen` was read. */
bool hora__clock_was_set(const hora_clock *clock, const struct hora__clock_offsets *seen);

/* Parks the calling thread, whose record is given, until it is woken or the clock shows the deadline;
 * HORA_FOREVER: no deadline. Unless `seen` is NULL, it also returns when the offsets have changed since. May
 * return without a reason. */
void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline,
                      const struct hora__clock_offsets *seen);

/* A descriptor that becomes readable when a virtual clock shows a time. */
struct hora__alarm {
    struct hora__list link; /* on the clock's list from init to destroy */
    struct hora__event event;
    enum hora__timeline timeline;
    hora_ns deadline;
};

__attribute__((warn_unused_result)) int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline);

/* The same for virtual clocks only; hora__clock_... choose between these and the machine. */
__attribute__((warn_unused_result)) int hora__virtual_clock_check(const struct hora_virtual_clock *clock);
hora_ns hora__virtual_clock_now(struct hora_virtual_clock *clock, enum hora__timeline timeline);
const hora_clock *hora__virtual_clock_line(struct hora_virtual_clock *clock, enum hora__timeline timeline);
struct hora__clock_offsets hora__virtual_clock_offsets(struct hora_virtual_clock *clock);
void hora__virtual_clock_park(const hora_clock *view, hora_thread *thread, hora_ns deadline,
                              const struct hora__clock_offsets *seen);
void hora__virtual_clock_acquire(struct hora_virtual_clock *clock);
void hora__virtual_clock_release(struct hora_virtual_clock *clock);

/* Parks the calling thread, whose record is given, until it is woken. A thread that is attached to a clock
 * counts as idle meanwhile, and then does not return without a reason. */
void hora__virtual_clock_idle_park(hora_thread *thread);
/* The thread is about to be woken, so it counts as running. The caller holds the thread's lock. */
void hora__virtual_clock_not_idle_locked(hora_thread *thread);
/* Detaches a thread that ends. */
void hora__virtual_clock_thread_ends(hora_thread *thread);

#endif
