/* SPDX-License-Identifier: Apache-2.0 */
/* test_calendar.c - times at which nothing runs, read in a zone */
#include "trigger_support.h"

static char untouched[1];

enum { HOUR = 3600, DAY = 86400 };

static hora_calendar *a_calendar(const char *zone, const hora_calendar_options *options)
{
    hora_calendar *calendar = NULL;
    hora_zone *place = zone != NULL ? a_zone(zone) : NULL;
    CHECK_OK(hora_calendar_new(place, options, &calendar, NULL));
    CHECK_POINTER(hora_zone_unref(place), NULL);
    return calendar;
}

static void check_excludes(int line, const hora_calendar *calendar, const char *text, bool want)
{
    if (hora_calendar_excludes(calendar, (hora_instant){moment(text)}) != want)
        test_fail(__FILE__, line, "%s is %sexcluded", text, want ? "not " : "");
}
#define EXCLUDED(calendar, text) check_excludes(__LINE__, (calendar), (text), true)
#define FREE(calendar, text)     check_excludes(__LINE__, (calendar), (text), false)

TEST(calendar_of_nothing_excludes_nothing, "")
{
    hora_calendar *calendar = a_calendar(NULL, NULL);
    FREE(calendar, "2026-05-02T00:00:00Z");
    FREE(NULL, "2026-05-02T00:00:00Z");
    CHECK_POINTER(hora_calendar_ref(calendar), calendar);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    FREE(calendar, "1970-01-01T00:00:00Z");
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_POINTER(hora_calendar_ref(NULL), NULL);
    CHECK_POINTER(hora_calendar_unref(NULL), NULL);
}

TEST(calendar_excludes_dates_of_one_year_and_of_all, "")
{
    const hora_date dates[] = {{0, 12, 25}, {2026, 5, 1}, {0, 2, 29}};
    hora_calendar *calendar =
        a_calendar("Europe/Berlin", HORA_CALENDAR_OPTIONS(.dates = dates, .date_count = 3));
    FREE(calendar, "2026-12-24T23:59:59.999999999+01:00");
    EXCLUDED(calendar, "2026-12-25T00:00:00+01:00");
    EXCLUDED(calendar, "2026-12-25T23:59:59.999999999+01:00");
    FREE(calendar, "2026-12-26T00:00:00+01:00");
    EXCLUDED(calendar, "1999-12-25T12:00:00Z");
    EXCLUDED(calendar, "2026-04-30T22:00:00Z"); /* 1 May in Berlin */
    FREE(calendar, "2026-05-01T22:00:00Z");
    FREE(calendar, "2025-05-01T12:00:00Z");
    EXCLUDED(calendar, "2028-02-29T12:00:00Z");
    FREE(calendar, "2027-02-28T12:00:00Z");
    FREE(calendar, "2027-03-01T12:00:00Z");
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}

TEST(calendar_excludes_weekdays, "")
{
    for (int day = 1; day <= 7; day++) {
        hora_calendar *calendar = a_calendar(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 1u << day));
        for (int i = 1; i <= 7; i++) { /* 2026-06-01 is a Monday */
            hora_instant noon = {moment("2026-06-01T12:00:00Z") + HORA_HOURS(24 * (i - 1))};
            CHECK_INT(hora_calendar_excludes(calendar, noon), i == day);
        }
        CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    }
}

TEST(calendar_excludes_parts_of_the_day, "")
{
    const hora_calendar_window windows[] = {
        {2 * HOUR, 3 * HOUR, 0}, {22 * HOUR, 6 * HOUR, 1 << 5}, {23 * HOUR, DAY, 1 << 1}};
    hora_calendar *calendar = a_calendar(NULL, HORA_CALENDAR_OPTIONS(.windows = windows, .window_count = 3));
    FREE(calendar, "2026-06-03T01:59:59.9Z");
    EXCLUDED(calendar, "2026-06-03T02:00:00Z");
    EXCLUDED(calendar, "2026-06-03T02:59:59.9Z");
    FREE(calendar, "2026-06-03T03:00:00Z");
    FREE(calendar, "2026-06-05T21:59:59Z"); /* a Friday, over midnight */
    EXCLUDED(calendar, "2026-06-05T22:00:00Z");
    EXCLUDED(calendar, "2026-06-06T00:00:00Z");
    EXCLUDED(calendar, "2026-06-06T05:59:59Z");
    FREE(calendar, "2026-06-06T06:00:00Z");
    FREE(calendar, "2026-06-06T22:00:00Z");
    FREE(calendar, "2026-06-05T05:00:00Z"); /* Thursday's night */
    EXCLUDED(calendar, "2026-06-01T23:59:59Z");
    FREE(calendar, "2026-06-02T00:00:00Z");
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}

/* The same begin and end: a whole day from there. */
TEST(calendar_window_may_last_a_day, "")
{
    const hora_calendar_window window = {12 * HOUR, 12 * HOUR, 1 << 3};
    hora_calendar *calendar = a_calendar(NULL, HORA_CALENDAR_OPTIONS(.windows = &window, .window_count = 1));
    FREE(calendar, "2026-06-03T11:59:59Z"); /* a Wednesday */
    EXCLUDED(calendar, "2026-06-03T12:00:00Z");
    EXCLUDED(calendar, "2026-06-04T11:59:59Z");
    FREE(calendar, "2026-06-04T12:00:00Z");
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}

/* By the clocks on the wall: the window is two hours, none at all or one. */
TEST(calendar_window_follows_the_clocks_on_the_wall, "")
{
    const hora_calendar_window window = {2 * HOUR, 3 * HOUR, 0};
    hora_calendar *calendar =
        a_calendar("Europe/Berlin", HORA_CALENDAR_OPTIONS(.windows = &window, .window_count = 1));
    FREE(calendar, "2026-03-29T00:59:59Z"); /* 01:59:59, then 03:00 */
    FREE(calendar, "2026-03-29T01:00:00Z");
    FREE(calendar, "2026-10-24T23:59:59Z");
    EXCLUDED(calendar, "2026-10-25T00:00:00Z"); /* 02:00, for the first time */
    EXCLUDED(calendar, "2026-10-25T01:59:59Z");
    FREE(calendar, "2026-10-25T02:00:00Z");
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}

/* Every second of ten years, for four calendars at once; and the first free moment, as an excluding trigger
 * finds it. */
static bool walk_excludes(const hora_calendar_options *options, const hora_zone *zone, hora_ns at)
{
    hora_local local;
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){at}, &local));
    if ((options->weekdays >> local.weekday & 1) != 0)
        return true;
    for (size_t i = 0; i < options->date_count; i++) {
        const hora_date *date = &options->dates[i];
        if (date->month == local.month && date->day == local.day &&
            (date->year == 0 || date->year == local.year))
            return true;
    }
    int second = (local.hour * 60 + local.minute) * 60 + local.second;
    int yesterday = local.weekday == 1 ? 7 : local.weekday - 1;
    for (size_t i = 0; i < options->window_count; i++) {
        const hora_calendar_window *window = &options->windows[i];
        unsigned days = window->weekdays == 0 ? 0xfe : window->weekdays;
        bool over_midnight = window->to <= window->from;
        if ((days >> local.weekday & 1) != 0 && second >= window->from &&
            (over_midnight || second < window->to))
            return true;
        if (over_midnight && (days >> yesterday & 1) != 0 && second < window->to)
            return true;
    }
    return false;
}

/* The first minute that is free, found by a walk, and by a trigger of every minute. */
static void compare_with_walk(const char *name, const hora_calendar_options *options, const char *from,
                              int minutes)
{
    hora_calendar *calendar = a_calendar(name, options);
    hora_zone *zone = a_zone(name);
    hora_trigger *every_minute = a_cron_trigger("0 * * * * *", name, NULL);
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_excluding(every_minute, calendar, &trigger));
    hora_trigger_context context = first_at(from);
    context.now--;
    hora_ns begin = moment(from);
    for (int i = 0; i < minutes; i++) {
        hora_ns at = begin + HORA_MINUTES(i);
        bool excluded = walk_excludes(options, zone, at);
        if (excluded != hora_calendar_excludes(calendar, (hora_instant){at}))
            test_fail(__FILE__, __LINE__, "%s, minute %d from %s is %sexcluded", name, i, from,
                      excluded ? "not " : "");
        if (excluded)
            continue;
        if (hora_trigger_next(trigger, &context) != at)
            test_fail(__FILE__, __LINE__, "%s, minute %d from %s is not found", name, i, from);
        context.now = context.last_planned = context.last_end = at;
    }
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_POINTER(hora_trigger_unref(every_minute), NULL);
    CHECK_POINTER(hora_zone_unref(zone), NULL);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}

/* Around changes of the clocks: of a day, at midnight, back over midnight, of half an hour. */
TEST(calendar_agrees_with_a_walk_through_changes_of_the_clocks, "")
{
    const hora_date dates[] = {{0, 11, 7}, {2011, 12, 31}, {0, 3, 14}};
    const hora_calendar_window windows[] = {{22 * HOUR + 1800, 2 * HOUR + 1800, 0},
                                            {12 * HOUR, 13 * HOUR, 1 << 3}};
    const hora_calendar_options *options =
        HORA_CALENDAR_OPTIONS(.dates = dates, .date_count = 3, .weekdays = 1 << 4, .windows = windows,
                              .window_count = 2);
    int minutes = test_simulated() ? 1500 : 6 * 1440;
    compare_with_walk("Pacific/Apia", options, "2011-12-29T00:00:00Z", minutes);
    compare_with_walk("America/Sao_Paulo", options, "2018-11-03T00:00:00Z", minutes);
    compare_with_walk("America/St_Johns", options, "2010-11-06T12:00:00Z", minutes);
    compare_with_walk("Australia/Lord_Howe", options, "2026-04-03T00:00:00Z", minutes);
    compare_with_walk("America/Havana", options, "2026-10-31T00:00:00Z", minutes);
}

TEST(calendar_refuses_bad_input, "")
{
    static const hora_date bad_dates[] = {{2026, 2, 29}, {0, 2, 30}, {0, 13, 1}, {0, 0, 1}, {0, 1, 0},
                                          {0, 1, 32},    {0, 4, 31}, {-1, 1, 1}, {0, -1, 1}};
    static const hora_calendar_window bad_windows[] = {{-1, 10, 0},      {DAY, 10, 0}, {10, -1, 0},
                                                       {10, DAY + 1, 0}, {1, 2, 1},    {1, 2, 1 << 8}};
    hora_calendar *calendar = (hora_calendar *)untouched;

    for (size_t i = 0; i < sizeof(bad_dates) / sizeof(*bad_dates); i++)
        CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.dates = &bad_dates[i], .date_count = 1),
                                      &calendar, NULL),
                    HORA_EINVAL);
    for (size_t i = 0; i < sizeof(bad_windows) / sizeof(*bad_windows); i++)
        CHECK_ERROR(hora_calendar_new(NULL,
                                      HORA_CALENDAR_OPTIONS(.windows = &bad_windows[i], .window_count = 1),
                                      &calendar, NULL),
                    HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 1), &calendar, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 1 << 8), &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.date_count = 1), &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.window_count = 1), &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, &(hora_calendar_options){0}, &calendar, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, NULL, NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(calendar, untouched);
}

/* Nothing would ever run. */
TEST(calendar_that_excludes_everything_is_refused, "")
{
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const hora_calendar_window all_day = {0, DAY, 0}, from_noon = {12 * HOUR, 12 * HOUR, 0};
    static const hora_calendar_window in_two[] = {{22 * HOUR, 6 * HOUR, 0}, {6 * HOUR, 22 * HOUR, 0x3e}};
    static const hora_calendar_window almost[] = {{22 * HOUR, 6 * HOUR, 0}, {6 * HOUR, 22 * HOUR - 1, 0}};
    hora_calendar *calendar = (hora_calendar *)untouched;
    hora_date dates[366];
    int count = 0;

    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 0xfe), &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.windows = &all_day, .window_count = 1),
                                  &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.windows = &from_noon, .window_count = 1),
                                  &calendar, NULL),
                HORA_EINVAL);
    CHECK_ERROR(
        hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.windows = in_two, .window_count = 2, .weekdays = 0xc0),
                          &calendar, NULL),
        HORA_EINVAL); /* the weekend, and two parts of each other day */
    for (int month = 0; month < 12; month++)
        for (int day = 1; day <= month_days[month]; day++)
            dates[count++] = (hora_date){0, month + 1, day};
    CHECK_ERROR(
        hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.dates = dates, .date_count = 366), &calendar, NULL),
        HORA_EINVAL);
    CHECK_POINTER(calendar, untouched);
    CHECK_OK(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.windows = in_two, .window_count = 2), &calendar,
                               NULL));
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_OK(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.windows = almost, .window_count = 2), &calendar,
                               NULL));
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_OK(
        hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.dates = dates, .date_count = 365), &calendar, NULL));
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
}
