/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - what a library does for cron_main.c */
#ifndef HORA_BENCH_CRON_H
#define HORA_BENCH_CRON_H

#include <stdbool.h>
#include <stdint.h>

/* The column of rows.tsv in which it finds its expressions. */
extern const int cron_column;

/* Once, before all others. */
void cron_open(void);

/* From now on expressions are of this zone. Not measured. */
void cron_zone(const char *name);

void *cron_parse(const char *text);
void cron_free(void *expression);

/* The first time after a second; both since 1970. */
int64_t cron_next(const void *expression, int64_t after);

#endif
