/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - clocks as the rest of the library sees them: reading them, sleeping on them, and descriptors that
 * become readable at a time
 *
 * A clock is one timeline of one source. The source is the machine or a virtual clock; each source has a
 * monotonic, a boot-time and a wall timeline. */
#ifndef HORA_SYNC_CLOCK_H
#define HORA_SYNC_CLOCK_H

#include <assert.h>
#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/clock.h"
#include "sys/event.h"

/* Immutable. The clocks of the machine are static; those of a virtual clock lie in it. */
struct hora_clock {
    enum hora__timeline timeline;
    struct hora_virtual_clock *source; /* NULL: a clock of the machine */
};

/* Conversions between the public ids, which have a default, and timelines. The three ids after the default
 * are in the order of enum hora__timeline. */
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

/* Returns the timeline of a clock, the monotonic one for NULL. */
enum hora__timeline hora__clock_timeline(const hora_clock *clock);

/* Returns 0, or HORA_EFORKED in a process that did not make this virtual clock. */
__attribute__((warn_unused_result)) int hora__clock_check(const hora_clock *clock);

/* Counts an object that uses the clock, if the clock is virtual: the clock cannot be freed before the object.
 * hora__object_end undoes it with hora__virtual_clock_release. */
void hora__clock_acquire(const hora_clock *clock);

/* Returns the time on the clock at which a timeout that begins now expires; HORA_FOREVER for HORA_FOREVER.
 * Saturates instead of overflowing. */
hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout);

/* Returns the clock of the same source, the machine or a virtual clock, with another timeline. */
const hora_clock *hora__clock_line(const hora_clock *clock, enum hora__timeline timeline);

/* How far the boot-time and wall lines are ahead of the monotonic line. The offsets change only when the wall
 * clock is set or the machine is suspended. */
struct hora__clock_offsets {
    hora_ns boot;
    hora_ns wall;
};

/* Returns the offsets of the clock's source. They are exact for a virtual clock. The clocks of the machine
 * are read one after the other, so their offsets are good to HORA__CLOCK_TOLERANCE. */
struct hora__clock_offsets hora__clock_read_offsets(const hora_clock *clock);

#define HORA__CLOCK_TOLERANCE HORA_MS(1)

/* Returns whether the offsets have changed since `seen` was read, for the machine by more than the
 * tolerance. */
bool hora__clock_was_set(const hora_clock *clock, const struct hora__clock_offsets *seen);

/* Parks the calling thread, whose record is given, until it is woken or the clock shows the deadline;
 * HORA_FOREVER: no deadline. Unless `seen` is NULL, the call also returns when the offsets have changed since
 * `seen` was read. It may return without a reason; callers check their condition in a loop. */
void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline,
                      const struct hora__clock_offsets *seen);

/* A descriptor that becomes readable when a virtual clock shows a time. Its owner embeds it. The clock's lock
 * guards all fields. */
struct hora__alarm {
    struct hora__list link;   /* on the clock's list from init to destroy */
    struct hora__event event; /* readable exactly while the deadline, plus the clock's lateness, has passed */
    enum hora__timeline timeline; /* the timeline that the deadline refers to; immutable */
    hora_ns deadline;             /* HORA_FOREVER: never */
};

/* init opens the descriptor, with no deadline, and returns 0 or an error of hora__event_init. set replaces
 * the deadline and updates the descriptor at once. `clock` must be the same view of a virtual clock in all
 * three calls. */
__attribute__((warn_unused_result)) int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline);

/* The implementations for virtual clocks. Most callers use the functions hora__clock_... above, which choose
 * between these and the clocks of the machine. */

/* Returns 0, HORA_EINVAL for NULL, or HORA_EFORKED in a process that did not make the clock. */
__attribute__((warn_unused_result)) int hora__virtual_clock_check(const struct hora_virtual_clock *clock);

hora_ns hora__virtual_clock_now(struct hora_virtual_clock *clock, enum hora__timeline timeline);
const hora_clock *hora__virtual_clock_line(struct hora_virtual_clock *clock, enum hora__timeline timeline);
struct hora__clock_offsets hora__virtual_clock_offsets(struct hora_virtual_clock *clock);
void hora__virtual_clock_park(const hora_clock *view, hora_thread *thread, hora_ns deadline,
                              const struct hora__clock_offsets *seen);
void hora__virtual_clock_acquire(struct hora_virtual_clock *clock);
void hora__virtual_clock_release(struct hora_virtual_clock *clock);

/* Parks the calling thread, whose record is given, until it is woken. While it sleeps, a thread that is
 * attached to a virtual clock counts as idle; if it does, the call does not return without a reason. */
void hora__virtual_clock_idle_park(hora_thread *thread);
/* Makes the clock of a thread that is about to be woken count it as running again. Does nothing if the thread
 * is not idle. The caller holds the thread's lock. */
void hora__virtual_clock_not_idle_locked(hora_thread *thread);
/* Detaches a thread that ends from its clock, if it is attached to one. */
void hora__virtual_clock_thread_ends(hora_thread *thread);

#endif
