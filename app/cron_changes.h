/* SPDX-License-Identifier: Apache-2.0 */
/* cron_changes.h - what clock changes do to an expression */
#ifndef APP_CRON_CHANGES_H
#define APP_CRON_CHANGES_H

#include <stdbool.h>

#include <hora/cron.h>
#include <hora/zone.h>

/* Print the clock changes between two instants that skip or repeat local times of an expression, a line each, or "none".
 * `keeps_times`: a skipped time comes right after the gap, and a repeated one comes once. Returns 0 or an error of hora. */
int print_changes(const hora_cron *cron, const hora_zone *zone, hora_instant from, hora_instant until,
                  bool keeps_times);

#endif
