/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - clocks as the rest of the library sees them: read, park on, be told by descriptor */
#ifndef HORA_SYNC_CLOCK_H
#define HORA_SYNC_CLOCK_H

#include <hora/clock.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/event.h"

struct hora_clock {
    hora_timeline timeline;
    struct hora_virtual_clock *source; /* NULL: the machine */
};

/* The clock itself, or the monotonic one for NULL. */
const hora_clock *hora__clock_or_default(const hora_clock *clock);

/* 0, or HORA_EFORKED in a process that did not make this (virtual) clock. */
__attribute__((warn_unused_result)) int hora__clock_check(const hora_clock *clock);

/* An object that was made with this clock begins and ends. */
void hora__clock_acquire(const hora_clock *clock);
void hora__clock_release(const hora_clock *clock);

/* When this timeout, counted from now, will be over. */
hora_ns hora__clock_deadline(const hora_clock *clock, hora_ns timeout);

/* Park the calling thread, whose record is given, until it is woken or the clock shows the deadline; HORA_FOREVER: no
 * deadline. May return for no reason. */
void hora__clock_park(const hora_clock *clock, hora_thread *thread, hora_ns deadline);

/* A descriptor that becomes readable when a virtual clock shows a time. */
struct hora__alarm {
    struct hora__list link; /* on the clock's list, from init to destroy */
    struct hora__event event;
    hora_timeline timeline;
    hora_ns deadline;
};

__attribute__((warn_unused_result)) int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock);
void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline);

/* The machine is not asked here: for virtual clocks only. */
__attribute__((warn_unused_result)) int hora__virtual_clock_check(const struct hora_virtual_clock *clock);
hora_ns hora__virtual_clock_now(struct hora_virtual_clock *clock, hora_timeline timeline);
void hora__virtual_clock_park(struct hora_virtual_clock *clock, hora_timeline timeline, hora_thread *thread,
                              hora_ns deadline);
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
