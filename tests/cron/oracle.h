/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.h - an independent implementation of the times of cron expressions
 *
 * For random expressions, every zone of the system database and random instants, half of them close to a
 * clock change, hora must give the same answer as a plain scan. The scan shares no code with hora: local
 * times come from the C library, the meaning of an expression is recorded when the expression is generated,
 * and time advances by ticking.
 *
 *   oracle_text.c   generates random expressions, and records what they mean
 *   oracle_zone.c   asks the C library for the clock changes of a zone
 *   oracle_scan.c   ticks a clock until it shows a time that matches
 *   oracle_main.c   compares */
#ifndef HORA_TESTS_CRON_ORACLE_H
#define HORA_TESTS_CRON_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What hora_instant can count, in seconds. */
#define TIME_FIRST (-INT64_C(9223372036))
#define TIME_LAST  INT64_C(9223372036)

/* ---- random numbers ---- */

struct dice {
    uint64_t state;
};

uint64_t dice_roll(struct dice *dice);

/* From 0 to below - 1. */
int dice_below(struct dice *dice, int below);

/* True with a probability of 1 in `n`. */
bool dice_one_in(struct dice *dice, int n);

/* ---- a clock on a wall ---- */

struct reading {
    int year;
    int month; /* 1 to 12 */
    int day;
    int weekday; /* 0 Sunday */
    int hour;
    int minute;
    int second;
};

/* `local`: seconds since 1970-01-01T00:00:00 as the clock counts them. */
struct reading reading_of(int64_t local);

int days_in_month(int year, int month);

/* ---- expressions ---- */

struct expression {
    char text[512];
    bool is_crontab;
    bool is_either_day;
    bool is_interval; /* second, minute or hour with *, - or / */
    bool seconds[60], minutes[60], hours[24], months[13];
    bool days[32], before_last[32], nearest[32], has_nearest, last_working_day;
    bool weekdays[7], last_of[7], nth_of[7][6];
};

/* A random one. Often it names times close to those of `hint`. */
void expression_write(struct expression *expression, struct dice *dice, bool is_crontab, bool names_times,
                      const struct reading *hint);

/* True if month, day and weekday match. */
bool expression_has_date(const struct expression *expression, const struct reading *reading);

/* ---- zones ---- */

struct segment {
    int64_t begin; /* the first second in which the offset is this */
    int64_t end;   /* the first second after it */
    int64_t offset;
    int64_t shown; /* the first local time that was never shown before it began */
};

struct zone_table {
    struct segment *segments;
    size_t count;
};

/* The names of all zones, sorted; NULL if there is no database. */
char **zone_names(size_t *ret_count);
void zone_names_free(char **names, size_t count);

/* From then on the C library's local time is that of this zone. */
void zone_table_load(struct zone_table *table, const char *name);
void zone_table_free(struct zone_table *table);

/* ---- the scan ---- */

/* Finds the first second after `after` and before `until` that is one of the expression's times. `is_once`:
 * by HORA_DST_ONCE, for an expression with fixed times of day. */
bool scan_next(const struct expression *expression, const struct zone_table *zone, bool is_once,
               int64_t after, int64_t until, int64_t *ret_next);

#endif
