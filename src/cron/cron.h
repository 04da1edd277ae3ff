/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - a cron expression from inside: sets of numbers, and the functions that the files of src/cron
 * share
 *
 * The parsers (parse.c, quick.c) make the sets. The search (search.c) and the two printers (format.c,
 * words.c) read them. */
#ifndef HORA_CRON_CRON_H
#define HORA_CRON_CRON_H

#include <hora/cron.h>

#include "sys/atomic.h"

/* The complete sets: days 1 to 31, months 1 to 12, weekdays 0 to 6. */
#define HORA__ALL_DAYS UINT32_C(0xfffffffe)
enum { HORA__ALL_MONTHS = 0x1ffe, HORA__ALL_WEEKDAYS = 0x7f };

/* A parsed expression; immutable. Bit n of a set stands for the number n. Weekdays are 0 (Sunday) to 6
 * (Saturday).
 *
 * Invariants        C1 no set of seconds, minutes, hours and months is empty.
 *                   C2 a day field written as * or ? has all its plain bits (days 1-31, weekdays 0-6) and
 *                   nothing else.
 *                   C3 unless is_either_day, both day fields must match. */
struct hora_cron {
    /* The number of references; 0 in drafts and copies on the stack. */
    hora__atomic refs;
    hora_cron_dialect dialect;
    hora_dst dst;
    /* The expression is @reboot; the sets are unused. */
    bool is_reboot;
    /* Second, minute or hour was written with *, a range or a step. HORA_DST_ONCE then works like
     * HORA_DST_LITERAL: a task that runs every few minutes keeps doing so when the clocks change. */
    bool is_interval;
    /* Crontab: both day fields are restricted, and a match of one of them is enough. */
    bool is_either_day;
    uint64_t seconds; /* 0-59 */
    uint64_t minutes;
    uint32_t hours;  /* 0-23 */
    uint32_t months; /* 1-12 */

    /* the day of the month: the union of these */
    uint32_t days;         /* 1-31 */
    uint32_t before_last;  /* bit 0: L; bit n: L-n, up to 30 */
    uint32_t nearest;      /* bit n: nW */
    bool last_working_day; /* LW */

    /* the weekday: the union of these */
    uint8_t weekdays;  /* 0-6 */
    uint8_t last_of;   /* bit d: dL */
    uint8_t nth_of[7]; /* [d], bit n: d#n, 1-5 */
};

/* Returns whether the weekday field has an item of the form dL or d#n. */
static inline bool hora__cron_has_special_weekdays(const hora_cron *cron)
{
    bool has = cron->last_of != 0;
    for (int day = 0; day < 7; day++)
        has = has || cron->nth_of[day] != 0;
    return has;
}

/* ---- parse.c, quick.c ---- */

/* The values that a field can have, and what messages call them. */
struct hora__cron_values {
    const char *name;    /* of the field, for messages */
    const char *allowed; /* the values as text, for messages */
    int min;
    int max;
    uint64_t all;      /* the values as a set */
    const char *names; /* three letters each, the first stands for 1; NULL: no names */
};

/* Indexed by hora_cron_field. */
extern const struct hora__cron_values hora__cron_values[HORA_CRON_FIELD_WEEKDAY + 1];

/* The largest n of L-n, and of d#n. */
enum { HORA__MOST_BEFORE_LAST = 30, HORA__MOST_NTH = 5 };

/* parse.c: reads an expression into *draft, whose dialect is set and whose other fields are zero. Returns 0,
 * or HORA_EINVAL with the reason. */
__attribute__((warn_unused_result)) int hora__cron_read(const char *text, hora_cron *draft,
                                                        hora_error *reason);

/* quick.c: a faster parser without error messages. Returns false if it gives up; *cron is garbage then, and
 * the caller uses hora__cron_read. */
__attribute__((warn_unused_result)) bool hora__cron_quick(const char *text, hora_cron *cron);

/* ---- normal.c ---- */

/* Rewrites the day fields with as few items as possible. Two expressions with the same meaning are equal
 * afterwards. */
void hora__cron_normalize(hora_cron *cron);

/* Returns a normalized copy of an expression that other threads may be using. The copy has no references. */
hora_cron hora__cron_normal(const hora_cron *cron);

/* ---- search.c ---- */

/* Returns bits 1 to 31: the days that match the day fields in a month of `length` days whose first day is
 * this weekday. Ignores the set of months. */
uint32_t hora__cron_month_mask(const hora_cron *cron, int first_weekday, int length);

/* Like hora_cron_next, on whole seconds. *ret_steps counts the months and spans that the search looked at. */
bool hora__cron_search(const hora_cron *cron, const hora_zone *zone, int64_t after, int64_t *ret_next,
                       int *ret_steps);

#endif
