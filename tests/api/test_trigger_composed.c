/* SPDX-License-Identifier: Apache-2.0 */
/* test_trigger_composed.c - the first of several triggers, all of several, and one with exclusions */
#include <string.h>

#include "trigger_support.h"

static char untouched[1];

static hora_trigger *first_of(hora_trigger *a, hora_trigger *b)
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_first_of((hora_trigger *[]){a, b}, 2, &trigger));
    CHECK_POINTER(hora_trigger_unref(a), NULL);
    CHECK_POINTER(hora_trigger_unref(b), NULL);
    return trigger;
}

static hora_trigger *all_of(hora_trigger *a, hora_trigger *b)
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_all_of((hora_trigger *[]){a, b}, 2, &trigger));
    CHECK_POINTER(hora_trigger_unref(a), NULL);
    CHECK_POINTER(hora_trigger_unref(b), NULL);
    return trigger;
}

static hora_trigger *excluding(hora_trigger *inner, const char *zone, const hora_calendar_options *options)
{
    hora_trigger *trigger = NULL;
    hora_calendar *calendar = NULL;
    hora_zone *place = zone != NULL ? a_zone(zone) : NULL;
    CHECK_OK(hora_calendar_new(place, options, &calendar, NULL));
    CHECK_OK(hora_trigger_new_excluding(inner, calendar, &trigger));
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_POINTER(hora_trigger_unref(inner), NULL);
    CHECK_POINTER(hora_zone_unref(place), NULL);
    return trigger;
}

enum { WEEKEND = 1 << 6 | 1 << 7 };

static hora_ns every_ten(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return (context->now / HORA_SECONDS(10) + 1) * HORA_SECONDS(10);
}

static hora_ns the_same(const hora_trigger_context *context, void *arg)
{
    (void)context;
    return *(const hora_ns *)arg;
}

/* ---- the first of several ---- */

TEST(trigger_first_of_is_whenever_one_says_so, "")
{
    hora_trigger *trigger =
        first_of(a_cron_trigger("0 0 9 * * *", NULL, NULL), an_instants_trigger("2026-01-02T08:30:00Z"));
    CHECK(hora_trigger_is_wall(trigger));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "2026-01-01T09:00:00Z", "2026-01-02T08:30:00Z",
                "2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* A time that both triggers have occurs once. */
TEST(trigger_first_of_says_the_same_time_once, "")
{
    hora_trigger *trigger =
        first_of(a_cron_trigger("0 0 9 * * *", NULL, NULL), a_cron_trigger("0 0 */9 * * *", NULL, NULL));
    CHECK_TIMES(trigger, "2026-01-01T01:00:00Z", "2026-01-01T09:00:00Z", "2026-01-01T18:00:00Z",
                "2026-01-02T00:00:00Z", "2026-01-02T09:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_first_of_ends_with_the_last, "")
{
    hora_trigger *trigger =
        first_of(an_instants_trigger("2026-01-01T00:00:00Z"), an_instants_trigger("2026-01-02T00:00:00Z"));
    CHECK_TIMES(trigger, "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_first_of_is_on_the_wall_if_one_is, "")
{
    hora_trigger *periods = first_of(a_periodic_trigger(10, true, 0), a_periodic_trigger(20, true, 0));
    CHECK(!hora_trigger_is_wall(periods));
    hora_trigger *mixed =
        first_of(a_cron_trigger("0 0 9 * * *", NULL, NULL), a_periodic_trigger(20, true, 0));
    CHECK(hora_trigger_is_wall(mixed));
    CHECK_POINTER(hora_trigger_unref(periods), NULL);
    CHECK_POINTER(hora_trigger_unref(mixed), NULL);
}

/* ---- all of several ---- */

TEST(trigger_all_of_is_when_they_agree, "")
{
    hora_trigger *trigger =
        all_of(a_cron_trigger("0 0 * 13 * *", NULL, NULL), a_cron_trigger("0 0 12 * * FRI", NULL, NULL));
    CHECK(hora_trigger_is_wall(trigger));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "2026-02-13T12:00:00Z", "2026-03-13T12:00:00Z",
                "2026-11-13T12:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* 9 o'clock in Berlin and 17 o'clock in Tokyo are the same moment in winter alone. */
TEST(trigger_all_of_compares_moments_not_local_times, "")
{
    hora_trigger *trigger = all_of(a_cron_trigger("0 0 9 L * *", "Europe/Berlin", NULL),
                                   a_cron_trigger("0 0 17 * * *", "Asia/Tokyo", NULL));
    CHECK_TIMES(trigger, "2026-02-01T00:00:00Z", "2026-02-28T08:00:00Z", "2026-10-31T08:00:00Z",
                "2026-11-30T08:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_all_of_three_agrees_with_a_walk, "")
{
    hora_trigger *parts[] = {a_cron_trigger("*/7 * * * * *", NULL, NULL),
                             a_cron_trigger("*/5 */3 * * * *", NULL, NULL),
                             a_cron_trigger("14,15,35 * * * * *", NULL, NULL)};
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new_all_of(parts, 3, &trigger));
    hora_trigger_context context = first_at("2026-01-01T00:00:00Z");
    for (int second = 1; second < 3600; second++) {
        hora_ns at = moment("2026-01-01T00:00:00Z") + HORA_SECONDS(second);
        int minute = second / 60, rest = second % 60;
        if (rest != 35 || minute % 3 != 0)
            continue;
        CHECK_INT(hora_trigger_next(trigger, &context), at);
        context.now = context.last_planned = context.last_end = at;
    }
    for (int i = 0; i < 3; i++)
        CHECK_POINTER(hora_trigger_unref(parts[i]), NULL);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* The search ends, although both go on for ever. */
TEST(trigger_all_of_those_that_never_agree_says_never, "")
{
    hora_trigger *trigger =
        all_of(a_cron_trigger("0 0 0 30 * *", NULL, NULL), a_cron_trigger("30 * * * * *", NULL, NULL));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger =
        all_of(an_instants_trigger("2026-01-01T00:00:00Z"), an_instants_trigger("2026-01-02T00:00:00Z"));
    CHECK_TIMES(trigger, "2025-01-01T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* Missed times are missed by all triggers together. */
TEST(trigger_all_of_says_times_that_have_passed, "")
{
    const hora_cron_trigger_options *fixed = HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED);
    hora_trigger *trigger =
        all_of(a_cron_trigger("0 0 * 13 * *", NULL, fixed), a_cron_trigger("0 0 12 * * FRI", NULL, fixed));
    hora_trigger_context context = ran_at("2026-02-13T12:00:00Z", "2026-06-01T00:00:00Z");
    CHECK_NEXT(trigger, context, "2026-03-13T12:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_all_of_takes_what_names_moments, "")
{
    hora_trigger *cron = a_cron_trigger("0 0 9 * * *", NULL, NULL);
    hora_trigger *period = a_periodic_trigger(10, true, 0);
    hora_trigger *function = NULL;
    hora_trigger *reboot = NULL;
    hora_cron *at_reboot = NULL;
    CHECK_OK(hora_trigger_new(every_ten, NULL, NULL, &function));
    CHECK_OK(hora_cron_parse("@reboot", HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX), &at_reboot, NULL));
    CHECK_OK(hora_trigger_new_cron(at_reboot, NULL, NULL, &reboot, NULL));
    hora_trigger *mixed = NULL;
    CHECK_OK(hora_trigger_new_first_of((hora_trigger *[]){cron, period}, 2, &mixed));
    hora_trigger *others[] = {period, function, reboot, mixed};
    for (int i = 0; i < 4; i++) {
        hora_trigger *trigger = (hora_trigger *)untouched;
        CHECK_ERROR(hora_trigger_new_all_of((hora_trigger *[]){cron, others[i]}, 2, &trigger), HORA_EINVAL);
        CHECK_ERROR(hora_trigger_new_all_of(&others[i], 1, &trigger), HORA_EINVAL);
        CHECK_POINTER(trigger, untouched);
        CHECK_POINTER(hora_trigger_unref(others[i]), NULL);
    }
    CHECK_POINTER(hora_trigger_unref(cron), NULL);
    CHECK_POINTER(hora_cron_unref(at_reboot), NULL);
}

/* ---- composed triggers of composed triggers ---- */

TEST(trigger_composed_can_be_composed, "")
{
    hora_trigger *either =
        first_of(a_cron_trigger("0 0 12 * * FRI", NULL, NULL), a_cron_trigger("0 0 12 * * MON", NULL, NULL));
    hora_trigger *both = all_of(either, a_cron_trigger("0 0 12 13 * *", NULL, NULL));
    hora_trigger *trigger =
        excluding(both, NULL, HORA_CALENDAR_OPTIONS(.dates = &(hora_date){2026, 3, 13}, .date_count = 1));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "2026-02-13T12:00:00Z", "2026-04-13T12:00:00Z",
                "2026-07-13T12:00:00Z", "2026-11-13T12:00:00Z");
    CHECK_INT(hora_trigger_refresh(trigger), 0);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_composed_says_in_words_what_it_is, "")
{
    hora_trigger *trigger = first_of(
        a_periodic_trigger(HORA_SECONDS(5), true, 0),
        first_of(a_periodic_trigger(HORA_HOURS(1), false, 0), an_instants_trigger("2026-01-01T00:00:00Z")));
    CHECK_TEXT(trigger, "the first of: every 5 s; the first of: 1 h after each run; at 2026-01-01T00:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger =
        all_of(an_instants_trigger("2026-01-01T00:00:00Z"), an_instants_trigger("2027-01-01T00:00:00Z"));
    CHECK_TEXT(trigger, "all of: at 2026-01-01T00:00:00Z; at 2027-01-01T00:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger =
        excluding(a_periodic_trigger(HORA_MINUTES(5), true, 0), NULL,
                  HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND, .dates = (hora_date[]){{0, 12, 25}, {0, 12, 26}},
                                        .date_count = 2, .windows = &(hora_calendar_window){0, 3600, 0},
                                        .window_count = 1));
    CHECK_TEXT(trigger, "every 5 min, except: Sat, Sun, 2 dates, 1 part of the day");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger = excluding(a_periodic_trigger(HORA_MINUTES(5), true, 0), NULL, NULL);
    CHECK_TEXT(trigger, "every 5 min, except: nothing");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* ---- but not then ---- */

TEST(trigger_excluding_leaves_out_days, "")
{
    hora_trigger *trigger = excluding(
        a_cron_trigger("0 0 9 * * *", "Europe/Berlin", NULL), "Europe/Berlin",
        HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND, .dates = &(hora_date){0, 5, 1}, .date_count = 1));
    CHECK(hora_trigger_is_wall(trigger));
    CHECK_TIMES(trigger, "2026-04-30T00:00:00Z", "2026-04-30T07:00:00Z", "2026-05-04T07:00:00Z",
                "2026-05-05T07:00:00Z");
    hora_trigger_context first = first_at("2026-05-01T00:00:00Z"); /* inside what is excluded */
    CHECK_NEXT(trigger, first, "2026-05-04T07:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* The calendar may be read in another place than the expression. */
TEST(trigger_excluding_has_a_zone_of_its_own, "")
{
    hora_trigger *trigger =
        excluding(a_cron_trigger("0 0 * * * *", NULL, NULL), "Asia/Tokyo",
                  HORA_CALENDAR_OPTIONS(.dates = &(hora_date){2026, 5, 1}, .date_count = 1));
    CHECK_TIMES(trigger, "2026-04-30T13:30:00Z", "2026-04-30T14:00:00Z", "2026-05-01T15:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

/* A year of seconds: the search continues from the end of the excluded time, not second by second. */
TEST(trigger_excluding_jumps_over_what_is_excluded, "")
{
    const hora_calendar_options *weekend = HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND);
    hora_trigger *cron = excluding(a_cron_trigger("* * * * * *", NULL, NULL), NULL, weekend);
    CHECK_TIMES(cron, "2026-05-01T23:59:58Z", "2026-05-01T23:59:59Z", "2026-05-04T00:00:00Z",
                "2026-05-04T00:00:01Z");
    hora_trigger *rate = excluding(a_periodic_trigger(HORA_MS(300), true, 0), NULL, weekend);
    CHECK(hora_trigger_is_wall(rate));
    hora_trigger_context context = ran_at("2026-05-01T23:59:59.95Z", "2026-05-01T23:59:59.95Z");
    CHECK_NEXT(rate, context, "2026-05-04T00:00:00.25Z"); /* its own times go on meanwhile */
    hora_trigger *gap = excluding(a_periodic_trigger(HORA_HOURS(7), false, 0), NULL, weekend);
    context = ran_at("2026-05-01T15:00:00Z", "2026-05-01T20:00:00Z");
    CHECK_NEXT(gap, context, "2026-05-04T04:00:00Z");
    CHECK_POINTER(hora_trigger_unref(cron), NULL);
    CHECK_POINTER(hora_trigger_unref(rate), NULL);
    CHECK_POINTER(hora_trigger_unref(gap), NULL);
}

/* A function is asked for one time after the other; one that does not move on has no other time. */
TEST(trigger_excluding_asks_a_function_step_by_step, "")
{
    hora_trigger *function = NULL;
    CHECK_OK(hora_trigger_new(every_ten, NULL, NULL, &function));
    hora_trigger *trigger = excluding(
        function, NULL,
        HORA_CALENDAR_OPTIONS(.windows = &(hora_calendar_window){36000, 36035, 0}, .window_count = 1));
    hora_trigger_context context = first_at("2026-05-01T09:59:53Z");
    CHECK_NEXT(trigger, context, "2026-05-01T10:00:40Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);

    hora_ns answer = moment("2026-05-02T00:00:00Z");
    CHECK_OK(hora_trigger_new(the_same, &answer, NULL, &function));
    trigger = excluding(function, NULL, HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND));
    CHECK_NEXT(trigger, context, "never");
    answer = moment("2026-05-01T00:00:00Z");
    CHECK_NEXT(trigger, context, "2026-05-01T00:00:00Z");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_excluding_everything_it_says_is_never, "")
{
    hora_trigger *trigger = excluding(a_cron_trigger("0 0 9 * * SAT", NULL, NULL), NULL,
                                      HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    trigger = excluding(an_instants_trigger("2026-05-02T00:00:00Z,2026-05-09T00:00:00Z"), NULL,
                        HORA_CALENDAR_OPTIONS(.weekdays = WEEKEND));
    CHECK_TIMES(trigger, "2026-01-01T00:00:00Z", "never");
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
}

TEST(trigger_composed_refuses_bad_input, "")
{
    hora_trigger *one = a_periodic_trigger(10, true, 0);
    hora_trigger *with_hole[] = {one, NULL};
    hora_trigger *trigger = (hora_trigger *)untouched;
    hora_calendar *calendar = NULL;
    CHECK_OK(hora_calendar_new(NULL, NULL, &calendar, NULL));

    CHECK_ERROR(hora_trigger_new_first_of(NULL, 1, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_first_of(&one, 0, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_first_of(with_hole, 2, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_first_of(&one, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_all_of(NULL, 1, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_all_of(&one, 0, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_all_of(with_hole, 2, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_all_of(&one, 1, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_excluding(NULL, calendar, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_excluding(one, NULL, &trigger), HORA_EINVAL);
    CHECK_ERROR(hora_trigger_new_excluding(one, calendar, NULL), HORA_EINVAL);
    CHECK_POINTER(trigger, untouched);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_POINTER(hora_trigger_unref(one), NULL);
}
