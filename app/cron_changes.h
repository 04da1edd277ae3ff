/* SPDX-License-Identifier: Apache-2.0 */
/* cron_changes.h - the effect of clock changes on an expression */
#ifndef APP_CRON_CHANGES_H
#define APP_CRON_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/cron.h>
#include <hora/zone.h>

/* Describes a clock change by its date, the local times before and after it, and its effect on an expression:
 * "Sun 2026-03-29  02:00 -> 03:00  does not occur: 02:30". Returns how many times of the expression the change
 * skips or repeats, or an error code of hora. If that is 0, there is no text. */
int change_describe(const hora_cron *cron, const hora_transition *change, bool keeps_times, char *text,
                    size_t size);

/* Prints the clock changes between two instants that skip or repeat local times of an expression, one per
 * line, or "none". With `keeps_times`, a skipped time occurs right after the gap and a repeated one occurs
 * once. Returns 0 or an error code of hora. */
int print_changes(const hora_cron *cron, const hora_zone *zone, hora_instant from, hora_instant until,
                  bool keeps_times);

#endif
