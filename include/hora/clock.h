/* SPDX-License-Identifier: Apache-2.0 */
/* hora/clock.h - the clocks that timed calls obey, and durations as people write them
 *
 * An object that waits is made with a clock, and every timed call on it is measured with that clock:
 *
 *   monotonic   is never set, and stands still while the machine is suspended. The default.
 *   boot time   as monotonic, but goes on while the machine is suspended.
 *   wall        the calendar; it can be set forward and back.
 *   virtual     moves only when a test says so: hora/virtual_clock.h. */
#ifndef HORA_CLOCK_H
#define HORA_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A clock: a constant, shared by all who use it. Where a clock is asked for, NULL is the monotonic one. */
typedef struct hora_clock hora_clock;

typedef enum hora_clock_id {
    /* the monotonic clock, unless the field that takes it says otherwise */
    HORA_CLOCK_DEFAULT = 0,
    HORA_CLOCK_MONOTONIC = 1,
    HORA_CLOCK_BOOTTIME = 2,
    HORA_CLOCK_WALL = 3,
} hora_clock_id;

/* hora_clock_system - one of the machine's own clocks
 *
 * Where the system has no boot-time clock the monotonic one stands in for it.
 *
 * Ownership: static, never freed; NULL if `id` is none of these.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API const hora_clock *hora_clock_system(hora_clock_id id);

/* hora_clock_get_id - which of the three timelines a clock shows
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_clock_id hora_clock_get_id(const hora_clock *clock);

/* hora_clock_now - read a clock
 *
 * Only the difference of two readings of the same clock means something; for the calendar see
 * hora_clock_instant. In the child of a fork a virtual clock of the parent stands still.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_ns hora_clock_now(const hora_clock *clock);

/* hora_clock_instant - the calendar time that a wall clock shows
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not a wall clock, ret_instant NULL). */
HORA_NODISCARD HORA_API int hora_clock_instant(const hora_clock *clock, hora_instant *ret_instant);

/* ---- durations ---- */

/* hora_duration_parse - a span of time from a text
 *
 *   500              a plain number counts units of `unit`, a number of nanoseconds; 0: milliseconds
 *   10s   250ms      a number and one of ns us ms s m h d, in any letter case; no fraction, no blank between
 *   1h30m   1h 30m   several of them, the larger ones first
 *   -(34m 57s)   -1h30m   (1h)    a sign is for all that follows
 *   PT1.5S   P1DT2H   -PT6H   PT-6H3M    ISO 8601 with days, hours, minutes and seconds, in any letter case
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, unit negative, or not such a text), HORA_ERANGE (longer than hora_ns can
 * count, 292 years). */
HORA_NODISCARD HORA_API int hora_duration_parse(const char *text, hora_ns unit, hora_ns *ret_duration,
                                                hora_error *reason);

/* hora_duration_format - a span of time in ISO 8601, as Java writes it: PT26H3M4.5S, PT-0.001S, PT0S
 *
 * Writes at most `size` bytes with the final NUL, and returns the length that the whole text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (text NULL and
 * size not 0). */
HORA_API int hora_duration_format(hora_ns duration, char *text, size_t size);

HORA_END_DECLS

#endif
