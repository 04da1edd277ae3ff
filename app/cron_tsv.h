/* SPDX-License-Identifier: Apache-2.0 */
/* cron_tsv.h - answer many questions from standard input */
#ifndef APP_CRON_TSV_H
#define APP_CRON_TSV_H

#include <hora/cron.h>

/* The type of hora_cron_next and hora_cron_previous. */
typedef int cron_step(const hora_cron *cron, const hora_zone *zone, hora_instant from,
                      hora_instant *ret_time);

/* Answers each line "expression <tab> zone <tab> from" with one line: a time, "null", or "error: ...".
 * Returns an exit status. */
int cron_tsv(const hora_cron_options *options, cron_step *step);

#endif
