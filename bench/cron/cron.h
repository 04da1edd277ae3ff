/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - the functions that a library must implement for cron_main.c */
#ifndef HORA_BENCH_CRON_H
#define HORA_BENCH_CRON_H

#include <stdbool.h>
#include <stdint.h>

/* The column of rows.tsv that has the expressions of this library. */
extern const int cron_column;

/* Initialises the library. Called once, before all others. */
void cron_open(void);

/* Sets the zone of the expressions that are used from now on. Not measured. */
void cron_zone(const char *name);

/* Parse an expression, NULL if it is invalid; and free it. */
void *cron_parse(const char *text);
void cron_free(void *expression);

/* Returns the first time of the expression after `after`; both are seconds since 1970. */
int64_t cron_next(const void *expression, int64_t after);

#endif
