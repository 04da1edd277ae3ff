/* SPDX-License-Identifier: Apache-2.0 */
/* words_time.c - seconds, minutes and hours in words
 *
 * The shortest of these that says it all:
 *   a few times of the day         at 09:00, 12:00 and 18:00
 *   the same minute of some hours  every 2 hours from 09:05 to 17:05
 *   minutes, then hours            every 15 minutes between 09:00 and 17:59
 *   seconds, minutes, then hours   every 10 seconds of minute 5 past every hour */
#include <stddef.h>

#include "cron/set.h"
#include "cron/words.h"

enum { FEW_TIMES = 3, SOME_TIMES = 6, FEW_SPANS = 3, PATTERN = 3 };

/* How the values of a field lie. */
enum shape {
    ALL,
    EVEN,   /* at the same distance, also from the last to the first of the next round: this is "every n" */
    STEPS,  /* at the same distance, from one to another */
    SINGLE, /* one */
    LIST,
};

struct unit {
    const char *name;
    const char *names;
    int count; /* of its values, from 0 on */
};

static const struct unit units[] = {
    [HORA_CRON_FIELD_SECOND] = {"second", "seconds", 60},
    [HORA_CRON_FIELD_MINUTE] = {"minute", "minutes", 60},
    [HORA_CRON_FIELD_HOUR] = {"hour", "hours", 24},
};

static enum shape shape_of(hora_cron_field field, uint64_t set)
{
    int count = units[field].count;
    int step = hora__set_step(set);
    int members = hora__set_count(set);
    if (members == 1)
        return SINGLE;
    if (members == count)
        return ALL;
    bool is_even = step > 0 && members * step == count;
    if (is_even && (members >= PATTERN || hora__set_has(set, 0)))
        return EVEN;
    return step > 0 && members >= PATTERN ? STEPS : LIST;
}

static void add_number(struct hora__text *out, int number)
{
    hora__text_add_number(out, (uint64_t)number, 1);
}

static void add_numbers(struct hora__text *out, uint64_t set)
{
    struct hora__enumeration members = {hora__set_count(set), 0, " and "};
    for (; set != 0; set &= set - 1) {
        hora__words_next(out, &members);
        add_number(out, hora__set_first(set));
    }
}

/* "every minute", "every 15 minutes" */
static void add_every(struct hora__text *out, const struct unit *unit, int step)
{
    hora__text_add(out, "every ");
    if (step > 1) {
        add_number(out, step);
        hora__text_add_char(out, ' ');
    }
    hora__text_add(out, step > 1 ? unit->names : unit->name);
}

/* "every 7 minutes from minute 0 to 56"; the end is not said of what goes on for ever. */
static void add_pattern(struct hora__text *out, hora_cron_field field, uint64_t set, enum shape shape)
{
    const struct unit *unit = &units[field];
    add_every(out, unit, hora__set_step(set));
    if (shape == STEPS || (shape == EVEN && !hora__set_has(set, 0))) {
        hora__text_add(out, " from ");
        hora__text_add(out, unit->name);
        hora__text_add_char(out, ' ');
        add_number(out, hora__set_first(set));
    }
    if (shape == STEPS) {
        hora__text_add(out, " to ");
        add_number(out, hora__set_last(set));
    }
}

/* "minute 5", "minutes 5 and 20" */
static void add_members(struct hora__text *out, hora_cron_field field, uint64_t set)
{
    hora__text_add(out, hora__set_count(set) == 1 ? units[field].name : units[field].names);
    hora__text_add_char(out, ' ');
    add_numbers(out, set);
}

static bool is_pattern(enum shape shape)
{
    return shape == ALL || shape == EVEN || shape == STEPS;
}

/* "9 to 17 o'clock", "every 2 hours from 1 to 23 o'clock", "1, 3 and 5 o'clock" */
static void add_hour_field(struct hora__text *out, uint64_t set, enum shape shape)
{
    int step = hora__set_step(set);
    bool is_named = !is_pattern(shape) || (step > 1 && hora__set_count(set) <= FEW_TIMES);
    if (is_named) {
        add_numbers(out, set);
    } else {
        if (step > 1) {
            add_every(out, &units[HORA_CRON_FIELD_HOUR], step);
            hora__text_add(out, " from ");
        }
        add_number(out, hora__set_first(set));
        hora__text_add(out, " to ");
        add_number(out, hora__set_last(set));
    }
    hora__text_add(out, " o'clock");
}

void hora__words_time_field(struct hora__text *out, hora_cron_field field, uint64_t set)
{
    enum shape shape = shape_of(field, set);
    bool is_ever = shape == ALL || (shape == EVEN && hora__set_has(set, 0));
    if (field == HORA_CRON_FIELD_HOUR && !is_ever)
        add_hour_field(out, set, shape);
    else if (is_pattern(shape))
        add_pattern(out, field, set, shape);
    else
        add_members(out, field, set);
}

static void add_clock(struct hora__text *out, int hour, int minute, int second, bool has_seconds)
{
    hora__text_add_number(out, (uint64_t)hour, 2);
    hora__text_add_char(out, ':');
    hora__text_add_number(out, (uint64_t)minute, 2);
    if (has_seconds) {
        hora__text_add_char(out, ':');
        hora__text_add_number(out, (uint64_t)second, 2);
    }
}

static bool is_on_the_minute(const hora_cron *cron)
{
    return cron->seconds == 1;
}

static int count_times(const hora_cron *cron)
{
    return hora__set_count(cron->hours) * hora__set_count(cron->minutes) * hora__set_count(cron->seconds);
}

/* "at 09:00, 12:00 and 18:00" */
static void add_all_times(struct hora__text *out, const hora_cron *cron)
{
    struct hora__enumeration times = {count_times(cron), 0, " and "};
    hora__text_add(out, "at ");
    for (uint64_t hours = cron->hours; hours != 0; hours &= hours - 1)
        for (uint64_t minutes = cron->minutes; minutes != 0; minutes &= minutes - 1)
            for (uint64_t seconds = cron->seconds; seconds != 0; seconds &= seconds - 1) {
                hora__words_next(out, &times);
                add_clock(out, hora__set_first(hours), hora__set_first(minutes), hora__set_first(seconds),
                          !is_on_the_minute(cron));
            }
}

/* "every 2 hours from 09:05 to 17:05": one minute and second of many hours at the same distance. */
static void add_hour_pattern(struct hora__text *out, const hora_cron *cron, enum shape hours)
{
    int minute = hora__set_first(cron->minutes);
    int second = hora__set_first(cron->seconds);
    bool is_round = minute == 0 && second == 0;
    add_every(out, &units[HORA_CRON_FIELD_HOUR], hora__set_step(cron->hours));
    if (hours != STEPS && is_round && hora__set_has(cron->hours, 0))
        return;
    hora__text_add(out, " from ");
    add_clock(out, hora__set_first(cron->hours), minute, second, !is_on_the_minute(cron));
    if (hours != STEPS)
        return;
    hora__text_add(out, " to ");
    add_clock(out, hora__set_last(cron->hours), minute, second, !is_on_the_minute(cron));
}

static int count_spans(uint32_t hours)
{
    return hora__set_count(hours & ~(hours << 1));
}

/* "between 09:00 and 12:59 and between 14:00 and 17:59" */
static void add_spans(struct hora__text *out, uint64_t hours)
{
    struct hora__enumeration spans = {count_spans((uint32_t)hours), 0, " and "};
    while (hours != 0) {
        int first = hora__set_first(hours);
        int last = hora__set_run_end(hours, first);
        hora__words_next(out, &spans);
        hora__text_add(out, "between ");
        add_clock(out, first, 0, 0, false);
        hora__text_add(out, " and ");
        add_clock(out, last, 59, 0, false);
        hours &= ~hora__set_every(first, last, 1);
    }
}

/* "every 2nd hour from 09:00 to 17:00" */
static void add_nth_hours(struct hora__text *out, uint64_t hours, enum shape shape)
{
    hora__text_add(out, "every ");
    hora__words_ordinal(out, hora__set_step(hours));
    hora__text_add(out, " hour");
    if (shape == EVEN && hora__set_has(hours, 0))
        return;
    hora__text_add(out, " from ");
    add_clock(out, hora__set_first(hours), 0, 0, false);
    if (shape != STEPS)
        return;
    hora__text_add(out, " to ");
    add_clock(out, hora__set_last(hours), 0, 0, false);
}

/* Of which hours the minutes before this are: " between 09:00 and 17:59", or " past every hour". */
static void add_hours(struct hora__text *out, uint32_t hours, bool is_past)
{
    enum shape shape = shape_of(HORA_CRON_FIELD_HOUR, hours);
    int spans = count_spans(hours);
    bool is_apart = spans == hora__set_count(hours); /* no two are neighbours */
    if (shape == ALL) {
        hora__text_add(out, is_past ? " past every hour" : "");
    } else if (is_apart && is_pattern(shape) && spans > FEW_SPANS) {
        hora__text_add(out, is_past ? " past " : " during ");
        add_nth_hours(out, hours, shape);
    } else if (is_apart ? shape == SINGLE && !is_past : spans <= FEW_SPANS) {
        hora__text_add(out, is_past ? " past the hour " : " ");
        add_spans(out, hours);
    } else {
        hora__text_add(out, is_past ? " past " : " during the hours ");
        add_numbers(out, hours);
        hora__text_add(out, is_past ? " o'clock" : "");
    }
}

/* The seconds are those of whole minutes. */
static void add_minutes(struct hora__text *out, const hora_cron *cron)
{
    enum shape shape = shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes);
    if (shape == STEPS && hora__set_count(cron->hours) == 1) { /* "every 5 minutes from 09:05 to 09:20" */
        int hour = hora__set_first(cron->hours);
        add_every(out, &units[HORA_CRON_FIELD_MINUTE], hora__set_step(cron->minutes));
        hora__text_add(out, " from ");
        add_clock(out, hour, hora__set_first(cron->minutes), 0, false);
        hora__text_add(out, " to ");
        add_clock(out, hour, hora__set_last(cron->minutes), 0, false);
        return;
    }
    if (is_pattern(shape)) {
        add_pattern(out, HORA_CRON_FIELD_MINUTE, cron->minutes, shape);
    } else {
        hora__text_add(out, "at ");
        add_members(out, HORA_CRON_FIELD_MINUTE, cron->minutes);
    }
    add_hours(out, cron->hours, shape != ALL && shape != EVEN);
}

/* Of which minutes the seconds before this are: " of every 15th minute", " of minutes 5 and 20". */
static void add_minutes_of_seconds(struct hora__text *out, const hora_cron *cron, enum shape minutes)
{
    hora__text_add(out, " of ");
    if (minutes == EVEN && hora__set_has(cron->minutes, 0)) {
        hora__text_add(out, "every ");
        hora__words_ordinal(out, hora__set_step(cron->minutes));
        hora__text_add(out, " minute");
    } else if (minutes == STEPS && hora__set_step(cron->minutes) == 1) {
        hora__text_add(out, "minutes ");
        add_number(out, hora__set_first(cron->minutes));
        hora__text_add(out, " to ");
        add_number(out, hora__set_last(cron->minutes));
    } else {
        add_members(out, HORA_CRON_FIELD_MINUTE, cron->minutes);
    }
}

static void add_seconds(struct hora__text *out, const hora_cron *cron)
{
    enum shape seconds = shape_of(HORA_CRON_FIELD_SECOND, cron->seconds);
    enum shape minutes = shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes);
    if (is_pattern(seconds)) {
        add_pattern(out, HORA_CRON_FIELD_SECOND, cron->seconds, seconds);
    } else {
        hora__text_add(out, "at ");
        add_members(out, HORA_CRON_FIELD_SECOND, cron->seconds);
    }
    if (minutes != ALL)
        add_minutes_of_seconds(out, cron, minutes);
    else if (seconds != ALL && seconds != EVEN)
        hora__text_add(out, " past every minute");
    add_hours(out, cron->hours, minutes != ALL && (minutes != EVEN || !hora__set_has(cron->minutes, 0)));
}

bool hora__words_times(struct hora__text *out, const hora_cron *cron)
{
    enum shape hours = shape_of(HORA_CRON_FIELD_HOUR, cron->hours);
    bool is_once_an_hour = hora__set_count(cron->minutes) == 1 && hora__set_count(cron->seconds) == 1;
    bool is_round = cron->minutes == 1 && is_on_the_minute(cron);
    if (count_times(cron) <= FEW_TIMES) {
        add_all_times(out, cron);
        return true;
    }
    if (is_once_an_hour && is_pattern(hours) && (hours != ALL || is_round)) {
        add_hour_pattern(out, cron, hours);
        return false;
    }
    bool is_regular =
        hora__set_count(cron->hours) == 1 && (is_pattern(shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes)) ||
                                              is_pattern(shape_of(HORA_CRON_FIELD_SECOND, cron->seconds)));
    if (count_times(cron) <= SOME_TIMES && !is_regular) {
        add_all_times(out, cron);
        return true;
    }
    if (is_on_the_minute(cron))
        add_minutes(out, cron);
    else
        add_seconds(out, cron);
    return false;
}
