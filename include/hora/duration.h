/* SPDX-License-Identifier: Apache-2.0 */
/* hora/duration.h - spans of time as people write them */
#ifndef HORA_DURATION_H
#define HORA_DURATION_H

#include <stddef.h>

#include <hora/base.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* hora_duration_parse - a span of time from a text
 *
 *   500              a plain number counts units of `unit`, a number of nanoseconds; 0: milliseconds
 *   10s   250ms      a number and one of ns us ms s m h d, in any letter case; no fraction, no blank between
 *   1h30m   1h 30m   several of them, the larger ones first
 *   -(34m 57s)   -1h30m   (1h)    a sign is for all that follows
 *   PT1.5S   P1DT2H   -PT6H   PT-6H3M    ISO 8601 with days, hours, minutes and seconds, in any letter case
 *
 * If `reterr_reason` is not NULL, it is set on error to a static sentence.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL, unit negative, or not such a text), HORA_ERANGE (longer than hora_ns can count, 292 years). */
HORA_NODISCARD HORA_API int hora_duration_parse(const char *text, hora_ns unit, hora_ns *ret_duration,
                                                const char **reterr_reason);

/* hora_duration_format - a span of time in ISO 8601, as Java writes it: PT26H3M4.5S, PT-0.001S, PT0S
 *
 * Writes at most `size` bytes with the final NUL, and returns the length that the whole text has.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (text NULL and size not 0). */
HORA_API int hora_duration_format(hora_ns duration, char *text, size_t size);

HORA_END_DECLS

#endif
