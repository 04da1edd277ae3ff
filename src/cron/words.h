/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - the parts of which an expression in words is made */
#ifndef HORA_CRON_WORDS_H
#define HORA_CRON_WORDS_H

#include "base/text.h"
#include "cron/cron.h"

/* "1, 3 and 5": call hora__words_next before each of the members. */
struct hora__enumeration {
    int count;        /* how many there will be */
    int begun;        /* how many there are */
    const char *last; /* before the last one: " and " */
};

void hora__words_next(struct hora__text *out, struct hora__enumeration *enumeration);

/* "1st", "22nd" */
void hora__words_ordinal(struct hora__text *out, int number);

/* ---- words_time.c ---- */

/* "every 15 minutes between 09:00 and 17:59", "at 03:00". Returns whether it only names times of a day, so that it must
 * still be said of which days. */
bool hora__words_times(struct hora__text *out, const hora_cron *cron);

/* One of the three fields alone: "every 15 minutes", "1, 3 and 5 o'clock". */
void hora__words_time_field(struct hora__text *out, hora_cron_field field, uint64_t set);

/* ---- words_day.c ---- */

/* " on the last weekday of the month", " on Mondays in June", nothing for all days. */
void hora__words_dates(struct hora__text *out, const hora_cron *cron, bool names_times);

/* One of the three fields alone: "the 1st and 15th", "June", "Monday to Friday". */
void hora__words_days(struct hora__text *out, const hora_cron *cron);
void hora__words_months(struct hora__text *out, const hora_cron *cron);
void hora__words_weekdays(struct hora__text *out, const hora_cron *cron);

#endif
