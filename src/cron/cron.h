/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - an expression from inside: sets of numbers, made by the parsers, read by the search and by those who print it */
#ifndef HORA_CRON_CRON_H
#define HORA_CRON_CRON_H

#include <hora/cron.h>

#include "sys/atomic.h"

/* Sets of which nothing is missing. */
#define HORA__ALL_DAYS UINT32_C(0xfffffffe) /* 1-31 */
enum { HORA__ALL_MONTHS = 0x1ffe, HORA__ALL_WEEKDAYS = 0x7f };

/* Immutable after it was made. Bit n of a set: n is in it. Days of the week: 0 Sunday to 6 Saturday.
 * Invariants: C1 no set of seconds, minutes, hours and months is empty. C2 a day field that says * or ? has all its plain bits
 * (days 1-31, weekdays 0-6) and nothing else. C3 unless is_either_day, both day fields must match. */
struct hora_cron {
    hora__atomic refs;
    hora_cron_dialect dialect;
    hora_dst dst;
    bool is_reboot;     /* then no set means anything */
    bool is_interval;   /* second, minute or hour was written with *, a range or a step; HORA_DST_ONCE asks for it */
    bool is_either_day; /* crontab: both day fields are restricted, and one of them is enough */
    uint64_t seconds;   /* 0-59 */
    uint64_t minutes;
    uint32_t hours;  /* 0-23 */
    uint32_t months; /* 1-12 */

    /* the day of the month: the union of */
    uint32_t days;         /* 1-31 */
    uint32_t before_last;  /* 0: L; n: L-n, up to 30 */
    uint32_t nearest;      /* n: nW */
    bool last_working_day; /* LW */

    /* the day of the week: the union of */
    uint8_t weekdays;  /* 0-6 */
    uint8_t last_of;   /* d: dL */
    uint8_t nth_of[7]; /* [d], bit n: d#n, 1-5 */
};

/* As hora_cron_next, on whole seconds, and how many steps it took: months looked at, and spans of the zone. */
bool hora__cron_search(const hora_cron *cron, const hora_zone *zone, int64_t after, int64_t *ret_next, int *ret_steps);

#endif
