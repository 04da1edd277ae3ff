/* SPDX-License-Identifier: Apache-2.0 */
/* calendar.c - times at which nothing runs, and the trigger that leaves them out
 *
 * Mechanism         Exclusions are in local time: days, and parts of days. Within a span of constant offset,
 *                   local time advances uniformly. So the end of an exclusion is searched only up to the end
 *                   of the span, and from there on again with the next span's offset. Days that are missing
 *                   or occur twice need no special handling.
 * Units             Local times are seconds since 1970-01-01 00:00 by the local clock; days are counted from
 *                   there. Instants are in nanoseconds, as everywhere.
 * Excluding         If an answer of a trigger is excluded, the trigger is asked again: from the end of the
 *                   exclusion, if it can be asked that way, else for the time after its answer.
 * Invariants        I1 every date exists in some year, every window begins and ends in its day or the next.
 *                   I2 some moment of the week is not excluded by weekday or window, and some day of the year
 *                      not by its date. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/options.h"
#include "base/reason.h"
#include "cron/civil.h"
#include "cron/zone.h"
#include "sched/trigger.h"
#include "sys/alloc.h"

/* ALL_WEEKDAYS: bits 1 (Monday) to 7 (Sunday). */
enum { WEEK_DAYS = 7, ALL_WEEKDAYS = 0xfe };

/* Immutable but for the count; only the rules of its zone can be refreshed. One allocation holds
 * everything. */
struct hora_calendar {
    hora__atomic refs;
    /* A reference; NULL: UTC. */
    hora_zone *zone;
    /* Excluded weekdays, as bits 1 (Monday) to 7 (Sunday). */
    unsigned weekdays;
    size_t date_count;
    size_t window_count;
    /* Excluded dates; in the same allocation, after the windows. */
    hora_date *dates;
    /* Excluded parts of days. */
    hora_calendar_window windows[];
};

/* ---- which exclusion covers a local second, and until when ---- */

/* Returns 1 for Monday to 7 for Sunday. */
static int weekday_of(int64_t day)
{
    int weekday = hora__weekday(day);
    assert(weekday >= 0 && weekday < WEEK_DAYS);
    return weekday == 0 ? WEEK_DAYS : weekday;
}

/* Returns whether a day falls on one of the weekdays of a bit set. */
static bool is_on(unsigned weekdays, int64_t day)
{
    return (weekdays >> weekday_of(day) & 1) != 0;
}

/* Returns whether a whole day is excluded, by its weekday or its date. */
static bool excludes_day(const hora_calendar *calendar, int64_t day)
{
    assert(calendar != NULL);
    if (is_on(calendar->weekdays, day))
        return true;
    struct hora__date date = hora__date_from_days(day);
    for (size_t i = 0; i < calendar->date_count; i++) {
        const hora_date *other = &calendar->dates[i];
        /* Year 0 stands for every year. */
        if (other->day == date.day && other->month == date.month &&
            (other->year == 0 || other->year == date.year))
            return true;
    }
    return false;
}

/* Returns the end of a window that begins on this day. A window whose `to` is not after its `from` ends on
 * the next day. */
static int64_t window_end(const hora_calendar_window *window, int64_t day)
{
    assert(window->from >= 0 && window->from < HORA__DAY && window->to >= 0 &&
           window->to <= HORA__DAY); /* I1 */
    return day * HORA__DAY + window->to + (window->to <= window->from ? HORA__DAY : 0);
}

/* Returns whether a window begins on this day; without weekdays it does so every day. */
static bool begins_on(const hora_calendar_window *window, int64_t day)
{
    return window->weekdays == 0 || is_on(window->weekdays, day);
}

/* Returns the end of the window if it contains this second, else the second itself. The window may have
 * begun the day before. */
static int64_t leave_window(const hora_calendar_window *window, int64_t second)
{
    assert(window != NULL);
    int64_t today = hora__floor_div(second, HORA__DAY);
    /* A window lasts at most a day, so it began today or yesterday. */
    for (int64_t day = today - 1; day <= today; day++)
        if (begins_on(window, day) && second >= day * HORA__DAY + window->from &&
            second < window_end(window, day))
            return window_end(window, day);
    return second;
}

/* Returns the end of one exclusion that contains this local second, or the second itself if none does.
 * Another exclusion may begin where this one ends, so the caller repeats the call. */
static int64_t leave(const hora_calendar *calendar, int64_t second)
{
    int64_t day = hora__floor_div(second, HORA__DAY);
    if (excludes_day(calendar, day))
        return (day + 1) * HORA__DAY;
    int64_t end = second;
    for (size_t i = 0; i < calendar->window_count && end == second; i++)
        end = leave_window(&calendar->windows[i], second);
    return end;
}

/* Returns the first moment at or after `from` that is not excluded; HORA_FOREVER if none is found. Leaves one
 * exclusion after another, but never beyond the current span, because the local time behind it
 * depends on the next offset. The number of steps is limited, so that exclusions that follow each other
 * for very long do not keep the caller. The sub-second part of `from` survives only if `from` itself is
 * free. */
static hora_ns free_from(const hora_calendar *calendar, hora_ns from)
{
    assert(calendar != NULL);
    const struct hora__spans *spans = hora__zone_spans(calendar->zone);
    int64_t second = hora__floor_div(from, HORA__SECOND);
    int64_t now = second;
    for (int tries = 0; tries < HORA__TRIGGER_TRIES && now < HORA__SECOND_MAX; tries++) {
        size_t span = hora__spans_find(spans, now);
        int64_t offset = spans->spans[span].offset;
        int64_t end = leave(calendar, now + offset) - offset;
        /* Nothing excludes this second. */
        if (end == now)
            return now == second ? from : now * HORA__SECOND;
        assert(end > now);
        int64_t span_end = hora__spans_end(spans, span);
        now = end < span_end ? end : span_end;
    }
    return HORA_FOREVER;
}

/* An instant is excluded if its local second is. */
bool hora_calendar_excludes(const hora_calendar *calendar, hora_instant instant)
{
    if (calendar == NULL)
        return false;
    const struct hora__spans *spans = hora__zone_spans(calendar->zone);
    int64_t second = hora__floor_div(instant.ns, HORA__SECOND);
    int64_t local = second + spans->spans[hora__spans_find(spans, second)].offset;
    return leave(calendar, local) != local;
}

/* Adds a count with its noun, in the singular or plural. */
static void describe_count(size_t count, const char *one, const char *several, struct hora__text *text)
{
    assert(count > 0);
    hora__text_add_number(text, count, 1);
    hora__text_add(text, count == 1 ? one : several);
}

/* Adds the excluded weekdays by name, and the number of dates and windows. */
static void describe(const hora_calendar *calendar, struct hora__text *text)
{
    assert((calendar->weekdays & ~(unsigned)ALL_WEEKDAYS) == 0); /* I1 */
    static const char *const names[] = {"", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    /* The separator before the next item; still empty if nothing was written. */
    const char *before = "";
    for (int i = 1; i <= WEEK_DAYS; i++)
        if ((calendar->weekdays >> i & 1) != 0) {
            hora__text_add(text, before);
            hora__text_add(text, names[i]);
            before = ", ";
        }
    if (calendar->date_count > 0) {
        hora__text_add(text, before);
        describe_count(calendar->date_count, " date", " dates", text);
        before = ", ";
    }
    if (calendar->window_count > 0) {
        hora__text_add(text, before);
        describe_count(calendar->window_count, " part of the day", " parts of the day", text);
        before = ", ";
    }
    if (*before == '\0')
        hora__text_add(text, "nothing");
}

/* ---- making ---- */

/* Returns whether a date exists. Year 0 stands for every year; 2000, a leap year, then allows 29 February. */
static bool is_date(const hora_date *date)
{
    if (date->year < 0 || date->month < 1 || date->month > 12 || date->day < 1)
        return false;
    return date->day <= hora__month_days(date->year == 0 ? 2000 : date->year, date->month);
}

/* Returns whether a window satisfies I1 and has no invalid weekday bits. */
static bool is_window(const hora_calendar_window *window)
{
    return window->from >= 0 && window->from < HORA__DAY && window->to >= 0 && window->to <= HORA__DAY &&
           (window->weekdays & ~(unsigned)ALL_WEEKDAYS) == 0;
}

/* Checks what I1 requires. Returns 0 or HORA_EINVAL. */
static int check(const hora_calendar_options *given, hora_error *reason)
{
    if ((given->weekdays & ~(unsigned)ALL_WEEKDAYS) != 0)
        return hora__refuse(reason, HORA_EINVAL, "weekdays", "weekdays has bits other than 1 to 7");
    if (given->dates == NULL && given->date_count != 0)
        return hora__refuse(reason, HORA_EINVAL, "dates", "there are %zu dates, but dates is NULL",
                            given->date_count);
    if (given->windows == NULL && given->window_count != 0)
        return hora__refuse(reason, HORA_EINVAL, "windows", "there are %zu windows, but windows is NULL",
                            given->window_count);
    for (size_t i = 0; i < given->date_count; i++)
        if (!is_date(&given->dates[i]))
            return hora__refuse(reason, HORA_EINVAL, "dates", "dates[%zu]: there is no such date", i);
    for (size_t i = 0; i < given->window_count; i++)
        if (!is_window(&given->windows[i]))
            return hora__refuse(reason, HORA_EINVAL, "windows",
                                "windows[%zu]: there is no such part of a day", i);
    return 0;
}

/* Returns whether weekdays and windows together leave no second of a week free. Any week will do, so the
 * test uses the seven days from 1970-01-01. Dates are left out: they do not recur every week. */
static bool excludes_every_week(const hora_calendar *calendar)
{
    /* A calendar with weekdays only, for leave(); the windows follow below. */
    struct hora_calendar week = {.weekdays = calendar->weekdays};
    int64_t second = 0;
    while (second < WEEK_DAYS * HORA__DAY) {
        int64_t end = leave(&week, second);
        for (size_t i = 0; i < calendar->window_count && end == second; i++)
            end = leave_window(&calendar->windows[i], second);
        if (end == second)
            return false;
        second = end;
    }
    return true;
}

/* Returns whether dates and weekdays leave no day free, in the 28 years from 2001. In these each date, 29
 * February included, falls on each weekday. */
static bool excludes_every_day(const hora_calendar *calendar)
{
    int64_t end = hora__days_from_date(2029, 1, 1);
    for (int64_t day = hora__days_from_date(2001, 1, 1); day < end; day++)
        if (!excludes_day(calendar, day))
            return false;
    return true;
}

/* Returns the size of the allocation; SIZE_MAX, which cannot be allocated, if it would overflow. */
static size_t size_of(const hora_calendar_options *given)
{
    size_t most = SIZE_MAX / 4 / (sizeof(hora_calendar_window) + sizeof(hora_date));
    if (given->window_count > most || given->date_count > most)
        return SIZE_MAX;
    return sizeof(hora_calendar) + given->window_count * sizeof(hora_calendar_window) +
           given->date_count * sizeof(hora_date);
}

/* Copies the arrays into the one allocation, checks I2 on the copy, and takes a reference to the zone. */
int hora_calendar_new(hora_zone *zone, const hora_calendar_options *options, hora_calendar **ret_calendar,
                      hora_error *reason)
{
    hora_calendar_options given;
    hora__reason_begin(reason);
    if (ret_calendar == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_calendar is NULL");
    if (HORA__TAKE(hora_calendar_options, &given, options) < 0)
        return hora__refuse_size(reason, "hora_calendar_options");
    if (check(&given, reason) < 0)
        return HORA_EINVAL;
    hora_calendar *calendar = hora__alloc(1, size_of(&given));
    if (calendar == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    hora__atomic_init(&calendar->refs, 1);
    calendar->weekdays = given.weekdays;
    calendar->date_count = given.date_count;
    calendar->window_count = given.window_count;
    /* The dates follow the windows. Both structs are made of int32_t and int, so the alignment is right. */
    calendar->dates = (hora_date *)(void *)(calendar->windows + given.window_count);
    if (given.window_count > 0)
        memcpy(calendar->windows, given.windows, given.window_count * sizeof(hora_calendar_window));
    if (given.date_count > 0)
        memcpy(calendar->dates, given.dates, given.date_count * sizeof(hora_date));
    if (excludes_every_week(calendar) || excludes_every_day(calendar)) { /* I2 */
        hora__free(calendar);
        return hora__refuse(reason, HORA_EINVAL, NULL, "the calendar excludes every day");
    }
    /* After the last check, so that no error path has to release it. */
    calendar->zone = hora_zone_ref(zone);
    *ret_calendar = calendar;
    return 0;
}

hora_calendar *hora_calendar_ref(hora_calendar *calendar)
{
    if (calendar != NULL) {
        int32_t before = hora__atomic_add(&calendar->refs, 1);
        assert(before > 0);
        (void)before;
    }
    return calendar;
}

/* The last reference frees the calendar and releases its zone. */
hora_calendar *hora_calendar_unref(hora_calendar *calendar)
{
    if (calendar != NULL) {
        int32_t before = hora__atomic_add(&calendar->refs, -1);
        assert(before > 0);
        if (before == 1) {
            (void)hora_zone_unref(calendar->zone);
            hora__free(calendar);
        }
    }
    return NULL;
}

/* ---- times without those that a calendar excludes ---- */

/* A trigger without the times that a calendar excludes. */
struct excluding_trigger {
    hora_trigger trigger; /* first: they begin at the same address */
    /* A reference to each of these two. */
    hora_trigger *inner;
    hora_calendar *calendar;
};

/* The member `next`. Asks the inner trigger until an answer is not excluded. Gives up with HORA_FOREVER
 * after HORA__TRIGGER_TRIES excluded times. */
static hora_ns next_of_excluding(const hora_trigger *trigger, const hora_trigger_context *context)
{
    const struct excluding_trigger *own = (const struct excluding_trigger *)trigger;
    assert(own->inner != NULL && own->calendar != NULL);
    hora_ns next = own->inner->kind->next(own->inner, context);
    for (int tries = 0; tries < HORA__TRIGGER_TRIES; tries++) {
        /* HORA_FOREVER as an answer comes back unchanged. */
        hora_ns until = free_from(own->calendar, next);
        if (until == next || until == HORA_FOREVER)
            return until;
        hora_ns later = hora__trigger_next_from(own->inner, context, next, until);
        /* The inner trigger does not move on; asking it again would not help. */
        if (later <= next)
            return HORA_FOREVER;
        next = later;
    }
    return HORA_FOREVER;
}

/* The member `free`: releases trigger and calendar. */
static void free_excluding(hora_trigger *trigger)
{
    struct excluding_trigger *own = (struct excluding_trigger *)trigger;
    assert(own->inner != NULL && own->calendar != NULL);
    (void)hora_trigger_unref(own->inner);
    (void)hora_calendar_unref(own->calendar);
    hora__free(own);
}

/* The member `refresh`: refreshes the zones of the trigger and that of the calendar. */
static int refresh_excluding(hora_trigger *trigger)
{
    struct excluding_trigger *own = (struct excluding_trigger *)trigger;
    int refreshed = own->calendar->zone != NULL ? hora_zone_refresh(own->calendar->zone) : 0;
    return hora__trigger_join(hora_trigger_refresh(own->inner), refreshed);
}

/* The member `describe`, for example "every 5 s, except: Sat, Sun". */
static void describe_excluding(const hora_trigger *trigger, struct hora__text *text)
{
    const struct excluding_trigger *own = (const struct excluding_trigger *)trigger;
    assert(own->inner != NULL && own->calendar != NULL);
    own->inner->kind->describe(own->inner, text);
    hora__text_add(text, ", except: ");
    describe(own->calendar, text);
}

static const struct hora__trigger_kind excluding_kind = {.next = next_of_excluding,
                                                         .free = free_excluding,
                                                         .refresh = refresh_excluding,
                                                         .describe = describe_excluding};

/* A calendar excludes moments of the wall clock, so the trigger needs that clock whatever the inner one
 * uses. */
int hora_trigger_new_excluding(hora_trigger *trigger, hora_calendar *calendar, hora_trigger **ret_trigger)
{
    if (trigger == NULL || calendar == NULL || ret_trigger == NULL)
        return HORA_EINVAL;
    struct excluding_trigger *own = hora__alloc(1, sizeof *own);
    if (own == NULL)
        return HORA_ENOMEM;
    hora__trigger_init(&own->trigger, &excluding_kind);
    own->trigger.is_wall = true;
    own->trigger.needs_wall = true;
    own->trigger.has_zone = trigger->has_zone || calendar->zone != NULL;
    own->trigger.names_moments = trigger->names_moments;
    own->inner = hora_trigger_ref(trigger);
    own->calendar = hora_calendar_ref(calendar);
    *ret_trigger = &own->trigger;
    return 0;
}
