/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_text.c - random expressions, and their meaning
 *
 * The meaning is noted number by number while the text is written: nothing is read back. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"

uint64_t dice_roll(struct dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int dice_below(struct dice *dice, int below)
{
    return (int)(dice_roll(dice) % (uint64_t)below);
}

bool dice_one_in(struct dice *dice, int n)
{
    return dice_below(dice, n) == 0;
}

/* ---- text ---- */

__attribute__((format(printf, 2, 3))) static void add(struct expression *e, const char *format, ...)
{
    size_t length = strlen(e->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(e->text + length, sizeof e->text - length, format, arguments);
    va_end(arguments);
    assert(strlen(e->text) < sizeof e->text - 1);
}

static const char *const month_names[] = {"",    "JAN", "Feb", "mar", "APR", "May", "JUN",
                                          "jul", "AUG", "Sep", "OCT", "nov", "DEC"};
static const char *const weekday_names[] = {"SUN", "Mon", "tue", "WED", "THU", "Fri", "SAT", "Sun"};

/* A plain field: numbers from min to max, of which members[n % modulus] is noted. */
struct field {
    bool *members;
    int min;
    int max;
    int modulus;
    int step_from; /* where every n-th of all begins */
    const char *const *names;
    int hint; /* a number near which times are of interest; -1: none */
};

static void note(const struct field *field, int from, int to, int step)
{
    for (int n = from; n <= to; n += step)
        field->members[n % field->modulus] = true;
}

static void add_number(struct expression *e, struct dice *dice, const struct field *field, int n)
{
    if (field->names != NULL && dice_one_in(dice, 3))
        add(e, "%s", field->names[n]);
    else
        add(e, dice_one_in(dice, 8) ? "%02d" : "%d", n);
}

static int some_number(struct dice *dice, const struct field *field)
{
    if (field->hint >= 0 && dice_one_in(dice, 2)) {
        int near = field->hint + dice_below(dice, 3) - 1;
        return near < field->min ? field->min : near > field->max ? field->max : near;
    }
    return field->min + dice_below(dice, field->max - field->min + 1);
}

static int some_step(struct dice *dice, const struct field *field)
{
    return 1 + dice_below(dice, dice_one_in(dice, 10) ? 100 : (field->max - field->min) / 2 + 1);
}

static void add_range(struct expression *e, struct dice *dice, const struct field *field, int *ret_from,
                      int *ret_to)
{
    bool is_week = field->modulus == 7;
    int a = some_number(dice, field);
    int b = some_number(dice, field);
    *ret_from = a < b ? a : b;
    *ret_to = a < b ? b : a;
    if (is_week && *ret_from == 7)
        *ret_from = 6; /* 7-7 would be Sunday alone */
    if (is_week && !e->is_crontab && *ret_from == 0 && *ret_to > 0 && *ret_to < 7 && dice_one_in(dice, 2)) {
        add(e, "%s-%d", dice_one_in(dice, 2) ? "7" : "SUN", *ret_to); /* from Sunday on */
        return;
    }
    if (is_week) /* by its name Sunday is the first as well as the last day */
        add(e, "%d-%d", *ret_from, *ret_to);
    else {
        add_number(e, dice, field, *ret_from);
        add(e, "-");
        add_number(e, dice, field, *ret_to);
    }
}

static void add_item(struct expression *e, struct dice *dice, const struct field *field, bool is_single)
{
    int from;
    int to;
    int step = 1;
    switch (is_single ? 0 : dice_below(dice, e->is_crontab ? 5 : 6)) {
    case 0:
        from = to = some_number(dice, field);
        add_number(e, dice, field, from);
        break;
    case 1:
        from = field->min;
        to = field->max;
        add(e, "*");
        break;
    case 2:
        from = field->step_from;
        to = field->max;
        step = some_step(dice, field);
        add(e, "*/%d", step);
        break;
    case 3:
        add_range(e, dice, field, &from, &to);
        break;
    case 4:
        add_range(e, dice, field, &from, &to);
        step = some_step(dice, field);
        add(e, "/%d", step);
        break;
    default:
        from = some_number(dice, field);
        to = field->max;
        step = some_step(dice, field);
        if (from > 0)
            add_number(e, dice, field, from);
        else
            add(e, "0"); /* by its name Sunday is 7 here */
        add(e, "/%d", step);
    }
    note(field, from, to, step);
}

static int some_length(struct dice *dice)
{
    return dice_one_in(dice, 3) ? 2 + dice_below(dice, 3) : 1;
}

static void add_plain(struct expression *e, struct dice *dice, const struct field *field, bool is_single)
{
    size_t begin = strlen(e->text);
    for (int left = some_length(dice); left > 0; left--) {
        add_item(e, dice, field, is_single);
        if (left > 1)
            add(e, ",");
    }
    if (field->max == 59 || field->max == 23)
        e->is_interval |= strpbrk(e->text + begin, "*-/") != NULL;
    add(e, dice_one_in(dice, 20) ? " \t " : " ");
}

static void add_all(struct expression *e, const struct field *field, const char *text)
{
    note(field, field->min, field->max, 1);
    add(e, "%s ", text);
}

/* ---- days ---- */

static void add_special_day(struct expression *e, struct dice *dice, const struct field *field)
{
    int n = 1 + dice_below(dice, dice_one_in(dice, 4) ? 30 : 4);
    switch (dice_below(dice, 4)) {
    case 0:
        e->before_last[0] = true;
        add(e, "L");
        break;
    case 1:
        e->before_last[n] = true;
        add(e, "L-%d", n);
        break;
    case 2:
        e->last_working_day = true;
        add(e, "LW");
        break;
    default:
        n = some_number(dice, field);
        e->nearest[n] = true;
        e->has_nearest = true;
        add(e, "%dW", n);
    }
}

static void add_special_weekday(struct expression *e, struct dice *dice, const struct field *field)
{
    int day = some_number(dice, field);
    add_number(e, dice, &(struct field){.names = field->names}, day);
    if (dice_one_in(dice, 2)) {
        e->last_of[day % 7] = true;
        add(e, "L");
    } else {
        int n = 1 + dice_below(dice, 5);
        e->nth_of[day % 7][n] = true;
        add(e, "#%d", n);
    }
}

static void add_days(struct expression *e, struct dice *dice, const struct field *field, int stars_in_8,
                     void (*special)(struct expression *, struct dice *, const struct field *))
{
    if (dice_below(dice, 8) < stars_in_8) {
        add_all(e, field, !e->is_crontab && dice_one_in(dice, 3) ? "?" : "*");
        return;
    }
    for (int left = some_length(dice); left > 0; left--) {
        if (!e->is_crontab && dice_one_in(dice, 2))
            special(e, dice, field);
        else
            add_item(e, dice, field, dice_one_in(dice, 2));
        if (left > 1)
            add(e, ",");
    }
    add(e, " ");
}

/* Adds the date of the hint, every month or every year, so that the next time is far away unless the clocks
 * show this day again. */
static void add_date_of_hint(struct expression *e, struct dice *dice, const struct field *day,
                             const struct field *month)
{
    note(day, day->hint, day->hint, 1);
    add(e, "%d ", day->hint);
    if (dice_one_in(dice, 2)) {
        note(month, month->hint, month->hint, 1);
        add(e, "%d ", month->hint);
    } else
        add_all(e, month, "*");
}

static bool begins_with_star(const struct expression *e, int number)
{
    const char *at = e->text;
    for (int i = 0; i < number; i++) {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    return *at == '*';
}

static void write_macro(struct expression *e, struct dice *dice)
{
    static const char *const macros[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                         "@daily",  "@midnight", "@hourly"};
    int which = dice_below(dice, 7);
    add(e, "%s", macros[which]);
    e->seconds[0] = e->minutes[0] = true;
    for (int i = 0; i < 32; i++) {
        e->hours[i % 24] |= which == 6 || i == 0;
        e->months[i % 13] |= which > 1 || i == 1;
        e->days[i] |= which > 2 || i == 1;
        e->weekdays[i % 7] |= which != 3 || i == 0;
    }
    e->is_interval = which == 6;
}

void expression_write(struct expression *e, struct dice *dice, bool is_crontab, bool names_times,
                      const struct reading *hint)
{
    *e = (struct expression){.is_crontab = is_crontab};
    if (dice_one_in(dice, 40)) {
        write_macro(e, dice);
        return;
    }
    struct field second = {e->seconds, 0, 59, 60, 0, NULL, -1};
    struct field minute = {e->minutes, 0, 59, 60, 0, NULL, dice_one_in(dice, 2) ? hint->minute : -1};
    struct field hour = {e->hours, 0, 23, 24, 0, NULL, hint->hour};
    struct field day = {e->days, 1, 31, 32, 1, NULL, hint->day};
    struct field month = {e->months, 1, 12, 13, 1, month_names, hint->month};
    struct field weekday = {e->weekdays, 0, 7, 7, is_crontab ? 0 : 1, weekday_names, hint->weekday};
    if (is_crontab)
        e->seconds[0] = true;
    else if (dice_one_in(dice, 2)) {
        add(e, "0 ");
        e->seconds[0] = true;
    } else
        add_plain(e, dice, &second, names_times);
    add_plain(e, dice, &minute, names_times || dice_one_in(dice, 3));
    add_plain(e, dice, &hour, names_times || dice_one_in(dice, 3));
    bool is_hinted = dice_one_in(dice, 6);
    if (is_hinted)
        add_date_of_hint(e, dice, &day, &month);
    else {
        add_days(e, dice, &day, 4, add_special_day);
        if (dice_one_in(dice, 4))
            add_plain(e, dice, &month, dice_one_in(dice, 2));
        else
            add_all(e, &month, "*");
    }
    add_days(e, dice, &weekday, is_hinted ? 8 : 5, add_special_weekday);
    e->is_either_day = is_crontab && !begins_with_star(e, 2) && !begins_with_star(e, 4);
}

/* ---- dates ---- */

/* True if the date is the working day of the month that is nearest to day n. Two working days cannot have the
 * same distance, because the weekend has two days. */
static bool is_nearest(const struct reading *date, int n)
{
    int length = days_in_month(date->year, date->month);
    if (n > length)
        return false;
    for (int distance = 0;; distance++)
        for (int day = n - distance; day <= n + distance; day += distance > 0 ? 2 * distance : 1) {
            int weekday = ((date->weekday + day - date->day) % 7 + 7) % 7;
            if (day >= 1 && day <= length && weekday >= 1 && weekday <= 5)
                return day == date->day;
        }
}

static bool has_day(const struct expression *e, const struct reading *date)
{
    int left = days_in_month(date->year, date->month) - date->day;
    if (e->days[date->day] || e->before_last[left])
        return true;
    if (date->weekday == 0 || date->weekday == 6)
        return false;
    if (e->last_working_day && (left == 0 || (date->weekday == 5 && left <= 2)))
        return true;
    for (int n = date->day - 2; e->has_nearest && n <= date->day + 2; n++)
        if (n >= 1 && n <= 31 && e->nearest[n] && is_nearest(date, n))
            return true;
    return false;
}

static bool has_weekday(const struct expression *e, const struct reading *date)
{
    int left = days_in_month(date->year, date->month) - date->day;
    return e->weekdays[date->weekday] || (e->last_of[date->weekday] && left < 7) ||
           e->nth_of[date->weekday][(date->day + 6) / 7];
}

bool expression_has_date(const struct expression *e, const struct reading *date)
{
    if (!e->months[date->month])
        return false;
    return e->is_either_day ? has_day(e, date) || has_weekday(e, date)
                            : has_weekday(e, date) && has_day(e, date);
}
