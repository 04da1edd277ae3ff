/* SPDX-License-Identifier: Apache-2.0 */
/* calendar.h - the times of an expression in a plain calendar: no zone, every day has 86,400 seconds
 *
 * Local times are seconds since 1970-01-01T00:00:00 of that calendar. */
#ifndef HORA_CRON_CALENDAR_H
#define HORA_CRON_CALENDAR_H

#include "cron/cron.h"

/* Bits 1 to 31: the days on which both day fields (or one, see is_either_day) match, in a month of `length` days whose
 * first is this day of the week. Months are not looked at. */
uint32_t hora__cron_month_mask(const hora_cron *cron, int first_weekday, int length);

/* The first local time from `from` to `to`, both included. Adds to *steps the number of months looked at. */
bool hora__cron_first(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps);

/* The last one. */
bool hora__cron_last(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps);

#endif
