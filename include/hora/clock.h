/* SPDX-License-Identifier: Apache-2.0 */
/* hora/clock.h - the clocks that timed calls use, and durations in text form
 *
 * An object that waits is created with a clock, and every timed call on it is measured by that clock:
 *
 *   monotonic   is never set, and stands still while the machine is suspended. The default.
 *   boot time   like monotonic, but advances while the machine is suspended.
 *   wall        the calendar; it can be set forward and back.
 *   virtual     advances only when a test says so: see hora/virtual_clock.h. */
#ifndef HORA_CLOCK_H
#define HORA_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A clock: immutable and shared by all its users. Wherever a clock is expected, NULL means the monotonic
 * clock. */
typedef struct hora_clock hora_clock;

/* The timelines that a clock can show. */
typedef enum hora_clock_id {
    /* the monotonic clock, unless the field that takes it says otherwise */
    HORA_CLOCK_DEFAULT = 0,
    /* time since an arbitrary moment; it does not advance while the machine is suspended */
    HORA_CLOCK_MONOTONIC = 1,
    /* like monotonic, but advances while the machine is suspended */
    HORA_CLOCK_BOOTTIME = 2,
    /* calendar time, as in hora_instant; can be set forward and back */
    HORA_CLOCK_WALL = 3,
} hora_clock_id;

/* hora_clock_system - return one of the system clocks
 *
 * On systems without a boot-time clock, the monotonic clock takes its place.
 *
 * Ownership: static, never freed; NULL if `id` is not one of the clocks above.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API const hora_clock *hora_clock_system(hora_clock_id id);

/* hora_clock_get_id - return which of the three timelines a clock shows
 *
 * Never HORA_CLOCK_DEFAULT. For NULL it is HORA_CLOCK_MONOTONIC. A view of a virtual clock has the id of the
 * line it shows.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_clock_id hora_clock_get_id(const hora_clock *clock);

/* hora_clock_now - read a clock
 *
 * NULL means the monotonic clock. Only the difference between two readings of the same clock is meaningful.
 * For calendar time see hora_clock_instant. In the child of a fork, a virtual clock of the parent stands
 * still.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_ns hora_clock_now(const hora_clock *clock);

/* hora_clock_instant - get the calendar time that a wall clock shows
 *
 * The clock is hora_clock_system(HORA_CLOCK_WALL), or the wall line of a virtual clock.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (not a wall clock, which includes NULL; ret_instant is NULL). */
HORA_NODISCARD HORA_API int hora_clock_instant(const hora_clock *clock, hora_instant *ret_instant);

/* ---- durations ---- */

/* hora_duration_parse - parse a duration
 *
 * The following forms are accepted:
 *
 *   500              a plain number counts units of `unit` nanoseconds; a unit of 0 means milliseconds
 *   10s   250ms      a number and one of ns us ms s m h d, in any case; no fraction, no space in between
 *   1h30m   1h 30m   several of these, largest unit first
 *   -(34m 57s)   -1h30m   (1h)    a sign applies to everything that follows it
 *   PT1.5S   P1DT2H   -PT6H   PT-6H3M    ISO 8601 with days, hours, minutes and seconds, in any case
 *
 * On error, `reason` gives the position of the mistake in the text.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, a negative unit or a malformed text), HORA_ERANGE (longer than hora_ns can
 * represent, 292 years). */
HORA_NODISCARD HORA_API int hora_duration_parse(const char *text, hora_ns unit, hora_ns *ret_duration,
                                                hora_error *reason);

/* hora_duration_format - format a duration in ISO 8601, as Java does: PT26H3M4.5S, PT-0.001S, PT0S
 *
 * Like snprintf, it writes as much as fits, always with a terminating NUL if size > 0, and returns the length
 * of the complete text. hora_duration_parse accepts the result.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (text is NULL and size is not 0). */
HORA_API int hora_duration_format(hora_ns duration, char *text, size_t size);

HORA_END_DECLS

#endif
