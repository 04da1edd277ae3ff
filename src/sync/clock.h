/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - clocks as the rest of the library sees them: read, park on, be told by descriptor */
#ifndef HORA_SYNC_CLOCK_H
#define HORA_SYNC_CLOCK_H

#include <stdbool.h>

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/clock.h"
#include "sys/event.h"

struct hora_clock {
    enum hora__timeline timeline;
    struct hora_virtual_clock *source; /* NULL: the machine */
};

/* The public ids and the timelines: the ids have a default besides. */
static inline bool hora__clock_id_is_valid(hora_clock_id id)
{
    return (int)id >= HORA_CLOCK_DEFAULT && id <= HORA_CLOCK_WALL;
}

static inline enum hora__timeline hora__timeline_of(hora_clock_id id)
{
    return id == HORA_CLOCK_DEFAULT ? HORA__MONOTONIC : (enum hora__timeline)((int)id - (int)HORA_CLOCK_MONOTONIC);
}

static inline hora_clock_id hora__clock_id_of(enum hora__timeline timeline)
{
    return (hora_clock_id)((int)timeline + (int)HORA_CLOCK_MONOTONIC);
}

/* The clock itself, or the monotonic one for NULL. */
const hora_clock *hora__clock_or_default(const hora_clock *clock);

/* That of the clock, or of the monotonic one for NULL. */
enum hora__timeline hora__clock_timeline(const hora_clock *clock);

/* 0, or HORA_EFORKED in a process that did not make this (virtual) clock. */
__attribute__((warn_unused_result)) int hora__clock_check(const hora_clock *clock);

/* An object that was made with this clock begins and ends. */
void hora__clock_acquire(const hora_clock *clock);
void hora__clock_release(const hora_clock *clock);

/* When this timeout, counted from now, will be over. */
hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout);

/* The same source, the machine or a virtual clock, on another timeline. */
const hora_clock *hora__clock_line(const hora_clock *clock, enum hora__timeline timeline);

/* How far boot time and the wall lie ahead of the monotonic line. They change only when the wall is set or the machine
 * is suspended. */
struct hora__clock_offsets {
    hora_ns boot;
    hora_ns wall;
};

/* Of the clock's source, whatever its timeline. Good to HORA__CLOCK_TOLERANCE on the machine, whose clocks are read one after
 * the other; exact on a virtual clock. */
struct hora__clock_offsets hora__clock_read_offsets(const hora_clock *clock);

#define HORA__CLOCK_TOLERANCE HORA_MS(1)

/* Whether the lines of the clock's source have parted, by more than the tolerance, since these offsets were read. */
bool hora__clock_was_set(const hora_clock *clock, const struct hora__clock_offsets *seen);

/* Park the calling thread, whose record is given, until it is woken or the clock shows the deadline; HORA_FOREVER: no
 * deadline. With `seen` also until the lines have parted since; NULL: not. May return for no reason. */
void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline,
                      const struct hora__clock_offsets *seen);

/* A descriptor that becomes readable when a virtual clock shows a time. */
struct hora__alarm {
    struct hora__list link; /* on the clock's list, from init to destroy */
    struct hora__event event;
    enum hora__timeline timeline;
    hora_ns deadline;
};

__attribute__((warn_unused_result)) int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline);

/* The machine is not asked here: for virtual clocks only. */
__attribute__((warn_unused_result)) int hora__virtual_clock_check(const struct hora_virtual_clock *clock);
hora_ns hora__virtual_clock_now(struct hora_virtual_clock *clock, enum hora__timeline timeline);
const hora_clock *hora__virtual_clock_line(struct hora_virtual_clock *clock, enum hora__timeline timeline);
struct hora__clock_offsets hora__virtual_clock_offsets(struct hora_virtual_clock *clock);
void hora__virtual_clock_park(const hora_clock *view, hora_thread *thread, hora_ns deadline,
                              const struct hora__clock_offsets *seen);
void hora__virtual_clock_acquire(struct hora_virtual_clock *clock);
void hora__virtual_clock_release(struct hora_virtual_clock *clock);

/* Park the calling thread, whose record is given, until it is woken; if it is attached to a clock it counts as idle
 * meanwhile, and then does not return for no reason. */
void hora__virtual_clock_idle_park(hora_thread *thread);
/* The thread is about to be woken. Caller holds its lock. */
void hora__virtual_clock_not_idle_locked(hora_thread *thread);
/* Detach a thread that ends. */
void hora__virtual_clock_thread_ends(hora_thread *thread);

#endif
