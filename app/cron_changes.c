/* SPDX-License-Identifier: Apache-2.0 */
/* cron_changes.c - the effect of clock changes on an expression
 *
 * Let the clocks change at an instant T by d seconds. A change forward skips the local times that the old
 * offset would have assigned to [T, T + d). A change back repeats those that the new offset assigns to [T, T
 * + d). In both cases this is the smaller offset. The times of the expression in this interval are therefore
 * found in a fixed zone with that offset. */
#include "cron_changes.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cron_text.h"
#include "output.h"

#define MOST_CHANGES  24 /* maximum number of lines */
#define TIMES_IN_FULL 4  /* number of times listed individually; of more, only the first and the last */
#define NS_PER_SECOND 1000000000

/* The local times that one change skips or repeats. */
struct touched {
    hora_local times[TIMES_IN_FULL]; /* the first ones */
    hora_local last;                 /* the last one, if there are any */
    int count;                       /* of all, also those that are not in times[] */
};

/* Creates a zone with a fixed offset, in seconds east of UTC. Returns 0 or an error of hora. The caller
 * releases the zone. */
static int fixed_zone(int offset, hora_zone **ret_zone)
{
    char name[32];
    int seconds = abs(offset);
    (void)snprintf(name, sizeof name, "%c%02d:%02d:%02d", offset < 0 ? '-' : '+', seconds / 3600,
                   seconds / 60 % 60, seconds % 60);
    return hora_zone_new(name, NULL, ret_zone, NULL);
}

/* Finds the times of the expression that one clock change skips or repeats; see the top of this file. Returns
 * 0 or an error of hora. */
static int find_touched(const hora_cron *cron, const hora_transition *change, struct touched *ret_touched)
{
    bool forward = change->offset_after > change->offset_before;
    int offset = forward ? change->offset_before : change->offset_after;
    int64_t length = (int64_t)abs(change->offset_after - change->offset_before) * NS_PER_SECOND;
    hora_zone *fixed;
    int result = fixed_zone(offset, &fixed);
    if (result < 0)
        return result;
    *ret_touched = (struct touched){0};
    hora_instant time = {change->at.ns - 1}; /* the interval includes the change itself */
    while ((result = hora_cron_next(cron, fixed, time, &time)) > 0 && time.ns - change->at.ns < length) {
        hora_zone_to_local(fixed, time, &ret_touched->last);
        ret_touched->last.short_name = NULL; /* it is freed with the zone */
        if (ret_touched->count < TIMES_IN_FULL)
            ret_touched->times[ret_touched->count] = ret_touched->last;
        ret_touched->count++;
    }
    hora_zone_unref(fixed);
    return result < 0 ? result : 0;
}

/* A text under construction. What does not fit is left out. */
struct text {
    char *bytes;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text->bytes + text->length, text->size - text->length, format, values);
    va_end(values);
    text->length += (size_t)length;
    if (text->length >= text->size)
        text->length = text->size - 1;
}

/* Adds a weekday and a date. */
static void add_date(struct text *text, const hora_local *local)
{
    add(text, "%s %04d-%02d-%02d", weekday_name(local), (int)local->year, local->month, local->day);
}

/* Adds a time of day, with its date if that differs from the date of the line. */
static void add_local(struct text *text, const hora_local *local, const hora_local *line)
{
    if (local->year != line->year || local->day_of_year != line->day_of_year) {
        add_date(text, local);
        add(text, " ");
    }
    add(text, "%02d:%02d", local->hour, local->minute);
    if (local->second != 0)
        add(text, ":%02d", local->second);
}

/* Adds the times that a change skips or repeats: all of them if they are few, else the first and the last. */
static void add_touched(struct text *text, const struct touched *touched, const hora_local *line)
{
    if (touched->count > TIMES_IN_FULL) {
        add_local(text, &touched->times[0], line);
        add(text, " to ");
        add_local(text, &touched->last, line);
        add(text, " (%d times)", touched->count);
        return;
    }
    for (int i = 0; i < touched->count; i++) {
        add(text, "%s", i == 0 ? "" : ", ");
        add_local(text, &touched->times[i], line);
    }
}

/* Converts an instant to the local time for a given offset. Returns 0 or an error of hora. */
static int local_by(int offset, hora_instant instant, hora_local *ret_local)
{
    hora_zone *fixed;
    int result = fixed_zone(offset, &fixed);
    if (result < 0)
        return result;
    result = hora_zone_to_local(fixed, instant, ret_local);
    ret_local->short_name = NULL;
    hora_zone_unref(fixed);
    return result;
}

static int describe(const hora_transition *change, const struct touched *touched, bool keeps_times,
                    struct text *text)
{
    hora_local before = {0}, after = {0};
    int result = local_by(change->offset_before, change->at, &before);
    if (result == 0)
        result = local_by(change->offset_after, change->at, &after);
    if (result < 0)
        return result;
    add_date(text, &before);
    add(text, "  ");
    add_local(text, &before, &before);
    add(text, " -> ");
    add_local(text, &after, &before);
    add(text, "  ");
    if (change->offset_after < change->offset_before) {
        add(text, keeps_times ? "occurs once, the first time: " : "occurs twice: ");
    } else if (keeps_times) {
        add(text, "occurs at ");
        add_local(text, &after, &before);
        add(text, " instead: ");
    } else {
        add(text, "does not occur: ");
    }
    add_touched(text, touched, &before);
    return 0;
}

int change_describe(const hora_cron *cron, const hora_transition *change, bool keeps_times, char *text,
                    size_t size)
{
    assert(size > 0);
    struct touched touched;
    int result = find_touched(cron, change, &touched);
    text[0] = '\0';
    if (result == 0 && touched.count > 0)
        result = describe(change, &touched, keeps_times, &(struct text){text, size, 0});
    return result < 0 ? result : touched.count;
}

int print_changes(const hora_cron *cron, const hora_zone *zone, hora_instant from, hora_instant until,
                  bool keeps_times)
{
    hora_transition change = {.at = from};
    int shown = 0;
    int result;
    while ((result = hora_zone_next_transition(zone, change.at, &change)) > 0 && change.at.ns <= until.ns) {
        char text[400];
        result = change_describe(cron, &change, keeps_times, text, sizeof text);
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        if (shown == MOST_CHANGES) {
            output_text("  ...\n");
            return 0;
        }
        output_format("  %s\n", text);
        shown++;
    }
    if (result >= 0 && shown == 0)
        output_text("  none\n");
    return result < 0 ? result : 0;
}
