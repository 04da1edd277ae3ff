/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - a cron expression as text in normal form
 *
 * The text depends only on the sets, so equal expressions have the same text. A field is written as * if it
 * has all values, as a step if it has three or more values at the same distance, else as a list in which
 * three or more neighbours form a range. Weekdays are written by name, from Monday to Sunday, and never as
 * steps, since these mean other days in each dialect.
 *
 * Two properties are not in the sets but in the way they are written, and the text must preserve them:
 *   is_interval     with HORA_DST_ONCE. Times of day are lists without ranges and steps. If an interval would
 *                   look like that, its first hour is written as a range: 5-5.
 *   is_either_day   in crontab. If both fields must match, one of them starts with *, as a step. If one
 *                   match is enough, neither does. */
#include <assert.h>
#include <stddef.h>

#include <hora/cron.h>

#include "base/text.h"
#include "cron/cron.h"
#include "cron/set.h"

/* SHORTEST_RANGE: fewer neighbours are written as a list, which is as short. */
enum { WEEK = 7, SHORTEST_RANGE = 3 };

/* How to write a set. */
struct style {
    /* Only single values. */
    bool is_list;
    /* A step that starts at the minimum may be written with *. */
    bool has_star;
    /* A step up to the maximum may be written without it: a/n. */
    bool has_open_step;
    /* The first value must be written as a range: a-a. */
    bool is_first_range;
};

/* Returns whether a set has all values of the field. */
static bool is_full(hora_cron_field field, uint64_t set)
{
    return set == hora__set_every(hora__cron_values[field].min, hora__cron_values[field].max, 1);
}

/* Returns the distance between values if it is the same for all and at least 2, and there are three or
 * more values; else 0. */
static int step_of(uint64_t set)
{
    int step = hora__set_step(set);
    return step > 1 && hora__set_count(set) >= SHORTEST_RANGE ? step : 0;
}

/* Returns whether the set is written as a list of single values: not as *, a step, or with a range. */
static bool is_listed(hora_cron_field field, uint64_t set)
{
    return !is_full(field, set) && step_of(set) == 0 && (set & set >> 1 & set >> 2) == 0;
}

/* Writes a number, or the name that the field has for it. */
static void add_value(struct hora__text *out, hora_cron_field field, int value)
{
    assert(value >= hora__cron_values[field].min && value <= hora__cron_values[field].max);
    const char *names = hora__cron_values[field].names;
    if (names == NULL) {
        hora__text_add_number(out, (uint64_t)value, 1);
        return;
    }
    for (int i = 0; i < 3; i++)
        hora__text_add_char(out, names[3 * (value - 1) + i]);
}

/* Writes a-b. */
static void add_range(struct hora__text *out, hora_cron_field field, int first, int last)
{
    assert(first <= last);
    add_value(out, field, first);
    hora__text_add_char(out, '-');
    add_value(out, field, last);
}

/* Writes a comma before each item but the first. */
static void add_comma(struct hora__text *out, bool *is_first)
{
    if (!*is_first)
        hora__text_add_char(out, ',');
    *is_first = false;
}

/* Writes single values and, unless the style forbids them, ranges of three or more neighbours. */
static void add_list(struct hora__text *out, hora_cron_field field, uint64_t set, struct style style,
                     bool *is_first)
{
    while (set != 0) {
        int first = hora__set_first(set);
        int last = style.is_list ? first : hora__set_run_end(set, first);
        if (last - first + 1 < SHORTEST_RANGE)
            last = first;
        add_comma(out, is_first);
        if (last > first || style.is_first_range)
            add_range(out, field, first, last);
        else
            add_value(out, field, first);
        style.is_first_range = false;
        set &= ~hora__set_every(first, last, 1);
    }
}

/* Writes *, a value or a range, followed by the step. */
static void add_step(struct hora__text *out, hora_cron_field field, uint64_t set, struct style style)
{
    assert(step_of(set) > 0);
    const struct hora__cron_values *values = &hora__cron_values[field];
    int first = hora__set_first(set);
    int last = hora__set_last(set);
    int step = step_of(set);
    /* The next step would exceed the maximum, so the end need not be written. */
    bool is_open = last + step > values->max;
    if (is_open && style.has_star && first == values->min)
        hora__text_add_char(out, '*');
    else if (is_open && style.has_open_step)
        add_value(out, field, first);
    else
        add_range(out, field, first, last);
    hora__text_add_char(out, '/');
    hora__text_add_number(out, (uint64_t)step, 1);
}

/* Writes a field in the shortest form that the style allows. */
static void add_set(struct hora__text *out, hora_cron_field field, uint64_t set, struct style style)
{
    assert(set != 0);
    bool is_first = true;
    bool is_long = style.is_list || style.is_first_range;
    if (!is_long && is_full(field, set))
        hora__text_add_char(out, '*');
    else if (!is_long && step_of(set) > 0)
        add_step(out, field, set, style);
    else
        add_list(out, field, set, style, &is_first);
}

/* Writes the fields for second, minute and hour, such that is_interval can be read back. Only
 * HORA_DST_ONCE depends on it; otherwise the shortest form will do. */
static void add_times(struct hora__text *out, const hora_cron *cron, struct style style)
{
    bool is_exact = cron->dst == HORA_DST_ONCE;
    bool looks_listed = is_listed(HORA_CRON_FIELD_SECOND, cron->seconds) &&
                        is_listed(HORA_CRON_FIELD_MINUTE, cron->minutes) &&
                        is_listed(HORA_CRON_FIELD_HOUR, cron->hours);
    style.is_list = is_exact && !cron->is_interval;
    if (cron->dialect == HORA_CRON_SPRING) {
        add_set(out, HORA_CRON_FIELD_SECOND, cron->seconds, style);
        hora__text_add_char(out, ' ');
    }
    add_set(out, HORA_CRON_FIELD_MINUTE, cron->minutes, style);
    hora__text_add_char(out, ' ');
    /* The hour carries the mark, because every dialect has that field. */
    style.is_first_range = is_exact && cron->is_interval && looks_listed;
    add_set(out, HORA_CRON_FIELD_HOUR, cron->hours, style);
}

/* Writes L, L-n, LW and nW. */
static void add_special_days(struct hora__text *out, const hora_cron *cron, bool is_first)
{
    for (uint32_t rest = cron->before_last; rest != 0; rest &= rest - 1) {
        add_comma(out, &is_first);
        hora__text_add(out, (rest & 1) != 0 ? "L" : "L-");
        if ((rest & 1) == 0)
            hora__text_add_number(out, (uint64_t)hora__set_first(rest), 1);
    }
    if (cron->last_working_day) {
        add_comma(out, &is_first);
        hora__text_add(out, "LW");
    }
    for (uint32_t rest = cron->nearest; rest != 0; rest &= rest - 1) {
        add_comma(out, &is_first);
        hora__text_add_number(out, (uint64_t)hora__set_first(rest), 1);
        hora__text_add_char(out, 'W');
    }
}

/* Writes dL and d#n. */
static void add_special_weekdays(struct hora__text *out, const hora_cron *cron, bool is_first)
{
    for (int day = 1; day <= WEEK; day++) {
        if (hora__set_has(cron->last_of, day % WEEK)) {
            add_comma(out, &is_first);
            add_value(out, HORA_CRON_FIELD_WEEKDAY, day);
            hora__text_add_char(out, 'L');
        }
        for (uint32_t rest = cron->nth_of[day % WEEK]; rest != 0; rest &= rest - 1) {
            add_comma(out, &is_first);
            add_value(out, HORA_CRON_FIELD_WEEKDAY, day);
            hora__text_add_char(out, '#');
            hora__text_add_number(out, (uint64_t)hora__set_first(rest), 1);
        }
    }
}

/* Writes weekdays by name, with Sunday as the last day of the week. */
static void add_weekday_list(struct hora__text *out, uint64_t weekdays, bool *is_first)
{
    uint64_t from_monday = (weekdays & 0x7e) | (weekdays & 1) << WEEK;
    add_list(out, HORA_CRON_FIELD_WEEKDAY, from_monday, (struct style){0}, is_first);
}

/* Writes a step of *, with the smallest distance that covers only values of the set, which must contain
 * the minimum. Returns the rest of the set. */
static uint64_t add_starred(struct hora__text *out, uint64_t set, int min, int max, bool *is_first)
{
    int step = 2;
    assert(hora__set_has(set, min));
    while ((hora__set_every(min, max, step) & ~set) != 0)
        step++;
    add_comma(out, is_first);
    hora__text_add(out, "*/");
    hora__text_add_number(out, (uint64_t)step, 1);
    return set & ~hora__set_every(min, max, step);
}

/* Writes the day field. is_starred: it must start with *. */
static void add_days(struct hora__text *out, const hora_cron *cron, struct style style, bool is_starred)
{
    bool is_first = true;
    if (is_starred)
        add_list(out, HORA_CRON_FIELD_DAY, add_starred(out, cron->days, 1, 31, &is_first), style, &is_first);
    else if (cron->days != 0)
        add_set(out, HORA_CRON_FIELD_DAY, cron->days, style);
    add_special_days(out, cron, cron->days == 0);
}

/* Writes the weekday field. is_starred: it must start with *. */
static void add_weekdays(struct hora__text *out, const hora_cron *cron, bool is_starred)
{
    bool is_first = true;
    uint64_t rest = is_starred ? add_starred(out, cron->weekdays, 0, WEEK - 1, &is_first) : cron->weekdays;
    if (rest == HORA__ALL_WEEKDAYS)
        hora__text_add_char(out, '*');
    else
        add_weekday_list(out, rest, &is_first);
    add_special_weekdays(out, cron, cron->weekdays == 0);
}

/* Returns whether one day field must start with *: in crontab, if both fields are restricted and both must
 * match. One of them contains its minimum then, because it was written with *. */
static bool needs_star(const hora_cron *cron)
{
    return cron->dialect == HORA_CRON_UNIX && !cron->is_either_day && cron->days != HORA__ALL_DAYS &&
           cron->weekdays != HORA__ALL_WEEKDAYS;
}

/* Writes all fields. If one day field must start with *, that is the day of the month if possible, else
 * the weekday. If one match is enough, neither may start with *. */
static void add_expression(struct hora__text *out, const hora_cron *cron)
{
    assert(!cron->is_reboot);
    struct style style = {.has_star = true, .has_open_step = cron->dialect == HORA_CRON_SPRING};
    bool has_starred_day = needs_star(cron) && hora__set_has(cron->days, 1);
    add_times(out, cron, style);
    hora__text_add_char(out, ' ');
    struct style day_style = style;
    day_style.has_star = !cron->is_either_day;
    add_days(out, cron, day_style, has_starred_day);
    hora__text_add_char(out, ' ');
    add_set(out, HORA_CRON_FIELD_MONTH, cron->months, style);
    hora__text_add_char(out, ' ');
    add_weekdays(out, cron, needs_star(cron) && !has_starred_day);
}

/* Returns the length of the whole text, even if the buffer was too small for it. */
int hora_cron_format(const hora_cron *cron, char *text, size_t size)
{
    if (cron == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    struct hora__text out = hora__text_begin(text, size);
    hora_cron normal = hora__cron_normal(cron);
    if (cron->is_reboot)
        hora__text_add(&out, "@reboot");
    else
        add_expression(&out, &normal);
    return hora__text_end(&out);
}
