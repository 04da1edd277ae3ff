/* SPDX-License-Identifier: Apache-2.0 */
/* calendar.c - the first and the last time of an expression in a stretch of a plain calendar
 *
 * Times of the day and days have nothing to do with each other here. So the search looks at the day where it begins, for
 * what is left of it; if there is nothing, it takes the next day that matches, from the masks of the months, and there the
 * first time of the day: the sets of seconds, minutes, hours and months are not empty (cron.h, C1), so there is one. */
#include "cron/calendar.h"

#include <assert.h>

#include "cron/civil.h"
#include "cron/set.h"

enum { MINUTE = 60, HOUR = 3600, NO_TIME = -1 };

static bool is_every_day(const hora_cron *cron)
{
    return cron->days == HORA__ALL_DAYS && cron->weekdays == HORA__ALL_WEEKDAYS && cron->months == HORA__ALL_MONTHS;
}

/* ---- times of the day, in seconds since midnight ---- */

static int first_time(const hora_cron *cron)
{
    return hora__set_first(cron->hours) * HOUR + hora__set_first(cron->minutes) * MINUTE +
           hora__set_first(cron->seconds);
}

static int last_time(const hora_cron *cron)
{
    return hora__set_last(cron->hours) * HOUR + hora__set_last(cron->minutes) * MINUTE + hora__set_last(cron->seconds);
}

static int first_time_from(const hora_cron *cron, int time)
{
    int hour = time / HOUR;
    int minute = time / MINUTE % 60;
    int second = time % MINUTE;
    if (hora__set_has(cron->hours, hour)) {
        uint64_t seconds = hora__set_has(cron->minutes, minute) ? cron->seconds >> second << second : 0;
        if (seconds != 0)
            return time - second + hora__set_first(seconds);
        uint64_t minutes = hora__set_above(cron->minutes, minute);
        if (minutes != 0)
            return hour * HOUR + hora__set_first(minutes) * MINUTE + hora__set_first(cron->seconds);
    }
    uint64_t hours = hora__set_above(cron->hours, hour);
    if (hours != 0)
        return hora__set_first(hours) * HOUR + hora__set_first(cron->minutes) * MINUTE + hora__set_first(cron->seconds);
    return NO_TIME;
}

static int last_time_to(const hora_cron *cron, int time)
{
    int hour = time / HOUR;
    int minute = time / MINUTE % 60;
    int second = time % MINUTE;
    if (hora__set_has(cron->hours, hour)) {
        uint64_t seconds = hora__set_has(cron->minutes, minute) ? hora__set_below(cron->seconds, second + 1) : 0;
        if (seconds != 0)
            return time - second + hora__set_last(seconds);
        uint64_t minutes = hora__set_below(cron->minutes, minute);
        if (minutes != 0)
            return hour * HOUR + hora__set_last(minutes) * MINUTE + hora__set_last(cron->seconds);
    }
    uint64_t hours = hora__set_below(cron->hours, hour);
    if (hours != 0)
        return hora__set_last(hours) * HOUR + hora__set_last(cron->minutes) * MINUTE + hora__set_last(cron->seconds);
    return NO_TIME;
}

/* ---- days, since 1970-01-01 ---- */

/* A month: the day number before its first, so that adding a day of the month gives that day; and those that match. */
struct month {
    int64_t year;
    int month;
    int64_t before;
    uint32_t days;
};

static struct month month_of(const hora_cron *cron, int64_t year, int number, int64_t before)
{
    struct month month = {.year = year, .month = number, .before = before};
    if (hora__set_has(cron->months, number))
        month.days = hora__cron_month_mask(cron, hora__weekday(before + 1), hora__month_days(year, number));
    return month;
}

static struct month month_after(const hora_cron *cron, const struct month *month)
{
    uint64_t later = hora__set_above(cron->months, month->month);
    int64_t year = later != 0 ? month->year : month->year + 1;
    int number = hora__set_first(later != 0 ? later : cron->months);
    return month_of(cron, year, number, hora__days_from_date(year, number, 1) - 1);
}

static struct month month_before(const hora_cron *cron, const struct month *month)
{
    uint64_t earlier = hora__set_below(cron->months, month->month);
    int64_t year = earlier != 0 ? month->year : month->year - 1;
    int number = hora__set_last(earlier != 0 ? earlier : cron->months);
    return month_of(cron, year, number, hora__days_from_date(year, number, 1) - 1);
}

/* The first day that matches, from `from` to `to`. */
static bool first_day(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_day, int *steps)
{
    struct hora__date date = hora__date_from_days(from);
    struct month month = month_of(cron, date.year, date.month, from - date.day);
    uint64_t days = hora__set_above(month.days, date.day - 1);
    *steps += 1;
    while (days == 0) {
        month = month_after(cron, &month);
        days = month.days;
        *steps += 1;
        if (month.before >= to)
            return false;
    }
    *ret_day = month.before + hora__set_first(days);
    return true;
}

static bool last_day(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_day, int *steps)
{
    struct hora__date date = hora__date_from_days(to);
    struct month month = month_of(cron, date.year, date.month, to - date.day);
    uint64_t days = hora__set_below(month.days, date.day + 1);
    *steps += 1;
    while (days == 0) {
        if (month.before < from)
            return false;
        month = month_before(cron, &month);
        days = month.days;
        *steps += 1;
    }
    *ret_day = month.before + hora__set_last(days);
    return true;
}

/* ---- both ---- */

bool hora__cron_first(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps)
{
    int64_t today = hora__floor_div(from, HORA__DAY);
    int time = first_time_from(cron, (int)(from - today * HORA__DAY));
    int64_t day = time != NO_TIME ? today : today + 1;
    if (!is_every_day(cron) && !first_day(cron, day, hora__floor_div(to, HORA__DAY), &day, steps))
        return false;
    int64_t local = day * HORA__DAY + (day == today ? time : first_time(cron));
    assert(local >= from);
    if (local > to)
        return false;
    *ret_local = local;
    return true;
}

bool hora__cron_last(const hora_cron *cron, int64_t from, int64_t to, int64_t *ret_local, int *steps)
{
    int64_t today = hora__floor_div(to, HORA__DAY);
    int time = last_time_to(cron, (int)(to - today * HORA__DAY));
    int64_t day = time != NO_TIME ? today : today - 1;
    if (!is_every_day(cron) && !last_day(cron, hora__floor_div(from, HORA__DAY), day, &day, steps))
        return false;
    int64_t local = day * HORA__DAY + (day == today ? time : last_time(cron));
    assert(local <= to);
    if (local < from)
        return false;
    *ret_local = local;
    return true;
}
