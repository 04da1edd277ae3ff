/* SPDX-License-Identifier: Apache-2.0 */
/* civil.h - arithmetic of the Gregorian calendar: days since 1970-01-01 and dates, without a zone
 *
 * The calendar is proleptic: it extends before its introduction in 1582. All functions are pure. They accept
 * any year for which the number of days fits into 64 bits. */
#ifndef HORA_CRON_CIVIL_H
#define HORA_CRON_CIVIL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* The length of a day in seconds; local time has no leap seconds. */
#define HORA__DAY INT64_C(86400)

/* A day of the calendar. */
struct hora__date {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};

static inline bool hora__is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Returns the number of days of a month, 28 to 31. */
static inline int hora__month_days(int64_t year, int month)
{
    assert(month >= 1 && month <= 12);
    static const signed char days[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month] + (month == 2 && hora__is_leap(year) ? 1 : 0);
}

/* Returns a / b rounded down, where C rounds towards zero; b > 0. */
static inline int64_t hora__floor_div(int64_t a, int64_t b)
{
    assert(b > 0);
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Returns the days from 1970-01-01 to a date. Counts from 0000-03-01, so that the leap day is the last day
 * of a year and the lengths of months follow a pattern: 153 days in five months. 400 years, an era, always
 * have 146097 days. 719468 is the distance from 0000-03-01 to 1970-01-01. `day` may lie outside the month. */
static inline int64_t hora__days_from_date(int64_t year, int month, int day)
{
    assert(month >= 1 && month <= 12);
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = hora__floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/* Returns the date of a day: the inverse of hora__days_from_date. The three quotients remove the leap days
 * before day_of_era (one in 4 years, none in 100, but one in 400), so that division by 365 gives the year. */
static inline struct hora__date hora__date_from_days(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = hora__floor_div(z, 146097);
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int month = (int)((5 * day_of_year + 2) / 153);
    struct hora__date date = {.day = (int)(day_of_year - (153 * month + 2) / 5 + 1)};
    date.month = month < 10 ? month + 3 : month - 9;
    date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
    return date;
}

/* Returns 0 for Sunday to 6 for Saturday. 1970-01-01 was a Thursday. */
static inline int hora__weekday(int64_t days)
{
    int64_t w = (days + 4) % 7;
    return (int)(w < 0 ? w + 7 : w);
}

#endif
