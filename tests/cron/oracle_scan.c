/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_scan.c - a clock that ticks until it shows a time that matches
 *
 * It ticks by seconds. If the month, the day, the hour or the minute cannot match, it is set to the next one.
 * At a clock change it is read again. */
#include <time.h>

#include "oracle.h"

struct reading reading_of(int64_t local)
{
    time_t time = (time_t)local;
    struct tm tm;
    (void)gmtime_r(&time, &tm);
    return (struct reading){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_wday,
                            tm.tm_hour,        tm.tm_min,     tm.tm_sec};
}

int days_in_month(int year, int month)
{
    if (month == 2)
        return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Each sets the clock to the next one, and returns how many seconds that is. */

static int to_next_day(struct reading *clock)
{
    int seconds = 86400 - (clock->hour * 3600 + clock->minute * 60 + clock->second);
    clock->hour = clock->minute = clock->second = 0;
    clock->weekday = clock->weekday == 6 ? 0 : clock->weekday + 1;
    clock->day++;
    if (clock->day > days_in_month(clock->year, clock->month)) {
        clock->day = 1;
        clock->month++;
    }
    if (clock->month > 12) {
        clock->month = 1;
        clock->year++;
    }
    return seconds;
}

static int to_next_month(struct reading *clock)
{
    int days = days_in_month(clock->year, clock->month) - clock->day;
    clock->day += days;
    clock->weekday = (clock->weekday + days) % 7;
    return days * 86400 + to_next_day(clock);
}

static int to_next_hour(struct reading *clock)
{
    if (clock->hour == 23)
        return to_next_day(clock);
    int seconds = 3600 - (clock->minute * 60 + clock->second);
    clock->minute = clock->second = 0;
    clock->hour++;
    return seconds;
}

static int to_next_minute(struct reading *clock)
{
    if (clock->minute == 59)
        return to_next_hour(clock);
    int seconds = 60 - clock->second;
    clock->second = 0;
    clock->minute++;
    return seconds;
}

static int to_next_second(struct reading *clock)
{
    if (clock->second == 59)
        return to_next_minute(clock);
    clock->second++;
    return 1;
}

/* The first local time from `from` to before `end`. */
static bool tick(const struct expression *expression, int64_t from, int64_t end, int64_t *ret_local)
{
    struct reading clock = reading_of(from);
    for (int64_t local = from; local < end;) {
        if (!expression->months[clock.month])
            local += to_next_month(&clock);
        else if (!expression_has_date(expression, &clock))
            local += to_next_day(&clock);
        else if (!expression->hours[clock.hour])
            local += to_next_hour(&clock);
        else if (!expression->minutes[clock.minute])
            local += to_next_minute(&clock);
        else if (!expression->seconds[clock.second])
            local += to_next_second(&clock);
        else {
            *ret_local = local;
            return true;
        }
    }
    return false;
}

bool scan_next(const struct expression *expression, const struct zone_table *zone, bool is_once,
               int64_t after, int64_t until, int64_t *ret_next)
{
    for (size_t i = 0; i < zone->count && zone->segments[i].begin < until; i++) {
        const struct segment *segment = &zone->segments[i];
        int64_t end = segment->end < until ? segment->end : until;
        if (end <= after + 1)
            continue;
        int64_t from = (after + 1 > segment->begin ? after + 1 : segment->begin) + segment->offset;
        int64_t local;
        if (is_once && i > 0 && after < segment->begin &&
            tick(expression, segment->shown, segment->begin + segment->offset, &local)) {
            *ret_next = segment->begin; /* skipped times come now */
            return true;
        }
        if (is_once && from < segment->shown)
            from = segment->shown;
        if (tick(expression, from, end + segment->offset, &local)) {
            *ret_next = local - segment->offset;
            return true;
        }
    }
    return false;
}
