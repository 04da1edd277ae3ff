/* SPDX-License-Identifier: Apache-2.0 */
/* days.c - which days of a month an expression means
 *
 * A month is a word: bit n is day n. All that a field can say about days becomes such a word, and so a field is the union of
 * words, and both fields are one "and" (or, in crontab, one "or"). A month is known by the weekday of its first day and
 * by its length: there are 28 of them. */
#include <assert.h>

#include "base/fault.h"
#include "cron/calendar.h"
#include "cron/civil.h"

enum { SUNDAY = 0, FRIDAY = 5, SATURDAY = 6 };

static uint32_t bit(int n)
{
    return UINT32_C(1) << n;
}

/* Days 1 to n; n up to 31. */
static uint32_t up_to(int n)
{
    return (uint32_t)((UINT64_C(2) << n) - 2);
}

static int weekday_of(int day, int first_weekday)
{
    return (first_weekday + day - 1) % 7;
}

/* All days of a set of weekdays, as if every month had 31 days: one week, turned so that it begins with the weekday of the
 * first, five times side by side. */
static uint32_t days_of_weekdays(uint32_t weekdays, int first_weekday)
{
    uint32_t week = (weekdays >> first_weekday | weekdays << (7 - first_weekday)) & 0x7f;
    uint64_t weeks = week * UINT64_C(0x10204081);
    return (uint32_t)(weeks << 1);
}

/* nW never leaves its month: from a Saturday, the first, it goes to Monday, from a Sunday, the last, to Friday. */
static int nearest_working_day(int day, int first_weekday, int length)
{
    switch (weekday_of(day, first_weekday)) {
    case SATURDAY:
        return day > 1 ? day - 1 : day + 2;
    case SUNDAY:
        return day < length || HORA__FAULT(CRON_NEAREST_LEAVES_MONTH) ? day + 1 : day - 2;
    default:
        return day;
    }
}

static int last_working_day(int first_weekday, int length)
{
    int weekday = weekday_of(length, first_weekday);
    return weekday == SATURDAY ? length - 1 : weekday == SUNDAY ? length - 2 : length;
}

static uint32_t by_day_of_month(const hora_cron *cron, int first_weekday, int length)
{
    uint32_t mask = cron->days;
    for (uint32_t rest = cron->before_last; rest != 0; rest &= rest - 1) {
        int day = length - __builtin_ctz(rest);
        if (day >= 1)
            mask |= bit(day);
    }
    for (uint32_t rest = cron->nearest & up_to(length); rest != 0; rest &= rest - 1)
        mask |= bit(nearest_working_day(__builtin_ctz(rest), first_weekday, length));
    if (cron->last_working_day)
        mask |= bit(last_working_day(first_weekday, length));
    return mask;
}

/* As if every month had 35 days. */
static uint32_t nth_days(uint32_t numbers, int weekday, int first_weekday)
{
    int first = 1 + (weekday - first_weekday + 7) % 7;
    uint64_t mask = 0;
    for (; numbers != 0; numbers &= numbers - 1)
        mask |= UINT64_C(1) << (first + 7 * (__builtin_ctz(numbers) - 1));
    return (uint32_t)mask;
}

static uint32_t by_day_of_week(const hora_cron *cron, int first_weekday, int length)
{
    uint32_t mask = days_of_weekdays(cron->weekdays, first_weekday);
    if (cron->last_of != 0)
        mask |= days_of_weekdays(cron->last_of, first_weekday) & ~up_to(length - 7);
    for (int weekday = SUNDAY; weekday <= SATURDAY; weekday++)
        if (cron->nth_of[weekday] != 0)
            mask |= nth_days(cron->nth_of[weekday], weekday, first_weekday);
    return mask;
}

uint32_t hora__cron_month_mask(const hora_cron *cron, int first_weekday, int length)
{
    assert(first_weekday >= 0 && first_weekday <= 6 && length >= 28 && length <= 31);
    uint32_t by_day = by_day_of_month(cron, first_weekday, length);
    uint32_t by_weekday = by_day_of_week(cron, first_weekday, length);
    return (cron->is_either_day ? by_day | by_weekday : by_day & by_weekday) & up_to(length);
}
