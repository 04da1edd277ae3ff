/* SPDX-License-Identifier: Apache-2.0 */
/* cron_text.h - texts about expressions and times, of any length */
#ifndef APP_CRON_TEXT_H
#define APP_CRON_TEXT_H

#include <stdbool.h>

#include <hora/cron.h>
#include <hora/error.h>
#include <hora/zone.h>

/* Each of these belongs to the caller, who frees it. */
char *cron_words(const hora_cron *cron, const hora_zone *zone); /* NULL for the zone: none is named */
char *cron_normal_form(const hora_cron *cron);
char *cron_field_words(const hora_cron *cron, hora_cron_field field);

/* The expression, and in a line below it a "^" under each character of the mistake; both lines indented. Without a place
 * only the expression. */
char *cron_mark(const char *expression, const hora_error *error);

/* Print a time: 2026-03-29T03:00:00+02:00, and if asked for its zone: [Europe/Paris]. */
void output_time(hora_instant instant, const hora_zone *zone, bool with_name);

/* Print that there is no time: "never", or how far times can be counted if there are times, but none before that end. */
void output_no_time(const hora_cron *cron, const hora_zone *zone, bool with_name, bool backwards);

const char *weekday_name(const hora_local *local); /* Mon */

#endif
