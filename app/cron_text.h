/* SPDX-License-Identifier: Apache-2.0 */
/* cron_text.h - texts of any length about expressions and times */
#ifndef APP_CRON_TEXT_H
#define APP_CRON_TEXT_H

#include <stdbool.h>

#include <hora/cron.h>
#include <hora/error.h>
#include <hora/zone.h>

/* Return the meaning of an expression in words, its normal form, and the meaning of one field in words. The
 * caller frees each text. */
char *cron_words(const hora_cron *cron, const hora_zone *zone); /* a NULL zone is not named */
char *cron_normal_form(const hora_cron *cron);
char *cron_field_words(const hora_cron *cron, hora_cron_field field);

/* Returns the expression, and below it a line with a "^" under each character of the mistake, both indented.
 * If the error has no position, returns only the expression. The caller frees the text. */
char *cron_mark(const char *expression, const hora_error *error);

/* Prints a time: 2026-03-29T03:00:00+02:00, and if requested its zone: [Europe/Paris]. */
void output_time(hora_instant instant, const hora_zone *zone, bool with_name);

/* Prints that there is no time: "never", or the end of the supported range if the expression has times beyond
 * it. */
void output_no_time(const hora_cron *cron, const hora_zone *zone, bool with_name, bool backwards);

/* Returns the weekday in three letters: Mon. */
const char *weekday_name(const hora_local *local);

#endif
