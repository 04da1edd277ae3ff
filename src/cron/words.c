/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - a cron expression in words
 *
 * hora_cron_describe writes one phrase for the times of day and one for the dates. The text should read as if
 * a person had written it, so there are many forms; the comments give examples of each. Every form is
 * complete: it leaves no time out.
 *
 * The add_ functions append to `out`. The sets are in normal form (normal.c), so expressions with the same
 * meaning get the same text. */
#include <assert.h>
#include <stddef.h>

#include <hora/cron.h>

#include "base/text.h"
#include "cron/cron.h"
#include "cron/set.h"

/* FEW_TIMES: up to this many times of day are always listed one by one. SOME_TIMES: up to this many,
 * unless they have a pattern. FEW_SPANS: up to this many spans of hours are listed. PATTERN: the least
 * number of values that make a pattern. MONDAY_TO_FRIDAY: a set of weekdays. */
enum { FEW_TIMES = 3, SOME_TIMES = 6, FEW_SPANS = 3, PATTERN = 3, WEEK = 7, MONDAY_TO_FRIDAY = 0x3e };

/* Writes lists like "1, 3 and 5". The caller calls add_separator before each member. */
struct enumeration {
    /* The number of members. */
    int count;
    /* The members so far. */
    int begun;
    /* The last separator, for example " and ". */
    const char *last;
};

/* Writes what stands between the previous member and the next one. */
static void add_separator(struct hora__text *out, struct enumeration *enumeration)
{
    assert(enumeration->begun < enumeration->count);
    if (enumeration->begun > 0)
        hora__text_add(out, enumeration->begun + 1 < enumeration->count ? ", " : enumeration->last);
    enumeration->begun++;
}

/* ---- seconds, minutes and hours ----
 *
 * The shortest of these forms that is complete:
 *   a few times of the day         at 09:00, 12:00 and 18:00
 *   the same minute of some hours  every 2 hours from 09:05 to 17:05
 *   minutes, then hours            every 15 minutes between 09:00 and 17:59
 *   seconds, minutes, then hours   every 10 seconds of minute 5 past every hour */

/* The pattern of the values of a field. */
enum shape {
    ALL,
    EVEN,   /* the same distance everywhere, also from the last to the first of the next round: "every n" */
    STEPS,  /* the same distance from the first to the last */
    SINGLE, /* one value */
    LIST,
};

/* What a time field counts. */
struct unit {
    const char *name;  /* singular */
    const char *names; /* plural */
    int count;         /* number of its values, which start at 0 */
};

static const struct unit units[] = {
    [HORA_CRON_FIELD_SECOND] = {"second", "seconds", 60},
    [HORA_CRON_FIELD_MINUTE] = {"minute", "minutes", 60},
    [HORA_CRON_FIELD_HOUR] = {"hour", "hours", 24},
};

/* Classifies the values of a time field. Two values at half the range, such as minutes 0 and 30, are EVEN
 * only if they start at 0; "at minutes 15 and 45" reads better than a pattern. */
static enum shape shape_of(hora_cron_field field, uint64_t set)
{
    assert(field <= HORA_CRON_FIELD_HOUR && set != 0);
    int count = units[field].count;
    int step = hora__set_step(set);
    int members = hora__set_count(set);
    if (members == 1)
        return SINGLE;
    if (members == count)
        return ALL;
    /* The distance from the last value to the first one of the next round is the same, too. */
    bool is_even = step > 0 && members * step == count;
    if (is_even && (members >= PATTERN || hora__set_has(set, 0)))
        return EVEN;
    return step > 0 && members >= PATTERN ? STEPS : LIST;
}

static void add_number(struct hora__text *out, int number)
{
    hora__text_add_number(out, (uint64_t)number, 1);
}

/* Writes "1, 3 and 5". */
static void add_numbers(struct hora__text *out, uint64_t set)
{
    struct enumeration members = {hora__set_count(set), 0, " and "};
    for (; set != 0; set &= set - 1) {
        add_separator(out, &members);
        add_number(out, hora__set_first(set));
    }
}

/* Writes "every minute", "every 15 minutes". */
static void add_every(struct hora__text *out, const struct unit *unit, int step)
{
    assert(step > 0);
    hora__text_add(out, "every ");
    if (step > 1) {
        add_number(out, step);
        hora__text_add_char(out, ' ');
    }
    hora__text_add(out, step > 1 ? unit->names : unit->name);
}

/* Writes "every 7 minutes from minute 0 to 56". The start is left out if it is 0 and the pattern is even,
 * the end if the pattern continues into the next round. */
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

/* Writes "minute 5", "minutes 5 and 20". */
static void add_members(struct hora__text *out, hora_cron_field field, uint64_t set)
{
    assert(set != 0);
    hora__text_add(out, hora__set_count(set) == 1 ? units[field].name : units[field].names);
    hora__text_add_char(out, ' ');
    add_numbers(out, set);
}

/* Returns whether the values can be written as "every n". */
static bool has_pattern(enum shape shape)
{
    return shape == ALL || shape == EVEN || shape == STEPS;
}

/* Writes "9 to 17 o'clock", "every 2 hours from 1 to 23 o'clock", "1, 3 and 5 o'clock". */
static void add_hour_field(struct hora__text *out, uint64_t set, enum shape shape)
{
    int step = hora__set_step(set);
    /* Few hours, or hours without a pattern, are listed one by one. */
    bool is_named = !has_pattern(shape) || (step > 1 && hora__set_count(set) <= FEW_TIMES);
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

/* Writes one of the three time fields alone: "every 15 minutes", "1, 3 and 5 o'clock". */
static void add_time_field(struct hora__text *out, hora_cron_field field, uint64_t set)
{
    enum shape shape = shape_of(field, set);
    /* No first or last value has to be named. */
    bool is_ever = shape == ALL || (shape == EVEN && hora__set_has(set, 0));
    if (field == HORA_CRON_FIELD_HOUR && !is_ever)
        add_hour_field(out, set, shape);
    else if (has_pattern(shape))
        add_pattern(out, field, set, shape);
    else
        add_members(out, field, set);
}

/* Writes 09:05 or 09:05:30. */
static void add_clock(struct hora__text *out, int hour, int minute, int second, bool has_seconds)
{
    assert(hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59);
    hora__text_add_number(out, (uint64_t)hour, 2);
    hora__text_add_char(out, ':');
    hora__text_add_number(out, (uint64_t)minute, 2);
    if (has_seconds) {
        hora__text_add_char(out, ':');
        hora__text_add_number(out, (uint64_t)second, 2);
    }
}

/* Returns whether the only second is 0, so that times are written without seconds. */
static bool is_on_the_minute(const hora_cron *cron)
{
    return cron->seconds == 1;
}

/* Returns the number of matching times of a day. */
static int count_times(const hora_cron *cron)
{
    return hora__set_count(cron->hours) * hora__set_count(cron->minutes) * hora__set_count(cron->seconds);
}

/* Writes "at 09:00, 12:00 and 18:00": each combination of hour, minute and second. */
static void add_all_times(struct hora__text *out, const hora_cron *cron)
{
    struct enumeration times = {count_times(cron), 0, " and "};
    hora__text_add(out, "at ");
    for (uint64_t hours = cron->hours; hours != 0; hours &= hours - 1)
        for (uint64_t minutes = cron->minutes; minutes != 0; minutes &= minutes - 1)
            for (uint64_t seconds = cron->seconds; seconds != 0; seconds &= seconds - 1) {
                add_separator(out, &times);
                add_clock(out, hora__set_first(hours), hora__set_first(minutes), hora__set_first(seconds),
                          !is_on_the_minute(cron));
            }
}

/* Writes "every 2 hours from 09:05 to 17:05": one minute and second of many hours at the same distance. */
static void add_hour_pattern(struct hora__text *out, const hora_cron *cron, enum shape hours)
{
    int minute = hora__set_first(cron->minutes);
    int second = hora__set_first(cron->seconds);
    bool is_round = minute == 0 && second == 0;
    add_every(out, &units[HORA_CRON_FIELD_HOUR], hora__set_step(cron->hours));
    /* "every 2 hours" alone means from midnight on. */
    if (hours != STEPS && is_round && hora__set_has(cron->hours, 0))
        return;
    hora__text_add(out, " from ");
    add_clock(out, hora__set_first(cron->hours), minute, second, !is_on_the_minute(cron));
    if (hours != STEPS)
        return;
    hora__text_add(out, " to ");
    add_clock(out, hora__set_last(cron->hours), minute, second, !is_on_the_minute(cron));
}

/* Returns the number of runs of neighbouring hours: each hour whose predecessor is missing starts one. */
static int count_spans(uint32_t hours)
{
    return hora__set_count(hours & ~(hours << 1));
}

/* Writes "between 09:00 and 12:59 and between 14:00 and 17:59". */
static void add_spans(struct hora__text *out, uint64_t hours)
{
    assert(hours != 0);
    struct enumeration spans = {count_spans((uint32_t)hours), 0, " and "};
    while (hours != 0) {
        int first = hora__set_first(hours);
        int last = hora__set_run_end(hours, first);
        add_separator(out, &spans);
        hora__text_add(out, "between ");
        add_clock(out, first, 0, 0, false);
        hora__text_add(out, " and ");
        add_clock(out, last, 59, 0, false);
        hours &= ~hora__set_every(first, last, 1);
    }
}

/* Writes "every 2nd hour from 09:00 to 17:00": the hours of minutes that were named before. The start is
 * left out if it is midnight and the pattern even, the end if the pattern continues into the next day. */
static void add_nth_hours(struct hora__text *out, uint64_t hours, enum shape shape)
{
    assert(hora__set_step(hours) > 1);
    hora__text_add(out, "every ");
    hora__text_add_ordinal(out, hora__set_step(hours));
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

/* Writes the hours after a phrase for the minutes: " between 09:00 and 17:59", or " past every hour".
 * is_past: the minutes are named by number, so "past" has to follow. */
static void add_hours(struct hora__text *out, uint32_t hours, bool is_past)
{
    enum shape shape = shape_of(HORA_CRON_FIELD_HOUR, hours);
    int spans = count_spans(hours);
    /* No two hours are neighbours. */
    bool is_apart = spans == hora__set_count(hours);
    if (shape == ALL) {
        hora__text_add(out, is_past ? " past every hour" : "");
    } else if (is_apart && has_pattern(shape) && spans > FEW_SPANS) {
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

/* Writes minutes and hours of an expression whose only second is 0. */
static void add_minutes(struct hora__text *out, const hora_cron *cron)
{
    enum shape shape = shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes);
    /* "every 5 minutes from 09:05 to 09:20" */
    if (shape == STEPS && hora__set_count(cron->hours) == 1) {
        int hour = hora__set_first(cron->hours);
        add_every(out, &units[HORA_CRON_FIELD_MINUTE], hora__set_step(cron->minutes));
        hora__text_add(out, " from ");
        add_clock(out, hour, hora__set_first(cron->minutes), 0, false);
        hora__text_add(out, " to ");
        add_clock(out, hour, hora__set_last(cron->minutes), 0, false);
        return;
    }
    if (has_pattern(shape)) {
        add_pattern(out, HORA_CRON_FIELD_MINUTE, cron->minutes, shape);
    } else {
        hora__text_add(out, "at ");
        add_members(out, HORA_CRON_FIELD_MINUTE, cron->minutes);
    }
    add_hours(out, cron->hours, shape != ALL && shape != EVEN);
}

/* Writes the minutes after a phrase for the seconds: " of every 15th minute", " of minutes 5 and 20". */
static void add_minutes_of_seconds(struct hora__text *out, const hora_cron *cron, enum shape minutes)
{
    hora__text_add(out, " of ");
    if (minutes == EVEN && hora__set_has(cron->minutes, 0)) {
        hora__text_add(out, "every ");
        hora__text_add_ordinal(out, hora__set_step(cron->minutes));
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

/* Writes seconds, minutes and hours, for example "every 10 seconds of minute 5 past every hour". */
static void add_seconds(struct hora__text *out, const hora_cron *cron)
{
    enum shape seconds = shape_of(HORA_CRON_FIELD_SECOND, cron->seconds);
    enum shape minutes = shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes);
    if (has_pattern(seconds)) {
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

/* Writes the times of day: "every 15 minutes between 09:00 and 17:59", "at 03:00". Returns whether the
 * text only names times of a day, so that the days must follow even if they are all days. */
static bool add_times(struct hora__text *out, const hora_cron *cron)
{
    enum shape hours = shape_of(HORA_CRON_FIELD_HOUR, cron->hours);
    bool is_once_an_hour = hora__set_count(cron->minutes) == 1 && hora__set_count(cron->seconds) == 1;
    bool is_round = cron->minutes == 1 && is_on_the_minute(cron);
    /* The forms in order of preference; see the list above. */
    if (count_times(cron) <= FEW_TIMES) {
        add_all_times(out, cron);
        return true;
    }
    /* "every hour" does not name the minute, so if all hours match, this form is only for round times. */
    if (is_once_an_hour && has_pattern(hours) && (hours != ALL || is_round)) {
        add_hour_pattern(out, cron, hours);
        return false;
    }
    /* A pattern within one hour reads better than a list: "every 10 minutes between 09:00 and 09:59". */
    bool is_regular =
        hora__set_count(cron->hours) == 1 && (has_pattern(shape_of(HORA_CRON_FIELD_MINUTE, cron->minutes)) ||
                                              has_pattern(shape_of(HORA_CRON_FIELD_SECOND, cron->seconds)));
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

/* ---- days, months and weekdays ----
 *
 * "Weekday" in the text always means Monday to Friday, as in LW. */

/* Indexed by number; day_names has Sunday both as 0 and as 7, nth_names those of d#n. */
static const char *const month_names[] = {"",        "January",  "February", "March",  "April",
                                          "May",     "June",     "July",     "August", "September",
                                          "October", "November", "December"};
static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday",  "Wednesday",
                                        "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const nth_names[] = {"", "first ", "second ", "third ", "fourth ", "fifth "};

/* Days of the month: "the 1st", "the last weekday". */

/* Returns the number of members of the list of days. is_pattern: all plain days are one member. */
static int count_day_words(const hora_cron *cron, bool is_pattern)
{
    return (is_pattern ? 1 : hora__set_count(cron->days)) + hora__set_count(cron->before_last) +
           hora__set_count(cron->nearest) + (cron->last_working_day ? 1 : 0);
}

/* Writes "the 1st to 7th", "every 2nd day from the 1st to the 31st". */
static void add_day_pattern(struct hora__text *out, const hora_cron *cron)
{
    assert(hora__set_step(cron->days) > 0);
    int step = hora__set_step(cron->days);
    if (step > 1) {
        hora__text_add(out, "every ");
        hora__text_add_ordinal(out, step);
        hora__text_add(out, " day from ");
    }
    hora__text_add(out, "the ");
    hora__text_add_ordinal(out, hora__set_first(cron->days));
    hora__text_add(out, step > 1 ? " to the " : " to ");
    hora__text_add_ordinal(out, hora__set_last(cron->days));
}

/* Writes "the 1st, 15th and 20th". If special days follow, each member gets its own "the". */
static void add_plain_days(struct hora__text *out, const hora_cron *cron, bool is_pattern,
                           struct enumeration *words)
{
    if (is_pattern) {
        add_separator(out, words);
        add_day_pattern(out, cron);
        return;
    }
    for (uint32_t rest = cron->days; rest != 0; rest &= rest - 1) {
        /* Special days follow, and each of them starts with "the". */
        bool is_mixed = words->count > hora__set_count(cron->days);
        add_separator(out, words);
        hora__text_add(out, words->begun == 1 || is_mixed ? "the " : "");
        hora__text_add_ordinal(out, hora__set_first(rest));
    }
}

/* Writes "the last day", "the 3rd day before the last", "the last weekday", "the weekday nearest to the
 * 15th". */
static void add_special_days(struct hora__text *out, const hora_cron *cron, struct enumeration *words)
{
    for (uint32_t rest = cron->before_last; rest != 0; rest &= rest - 1) {
        int before = hora__set_first(rest);
        add_separator(out, words);
        if (before > 1) {
            hora__text_add(out, "the ");
            hora__text_add_ordinal(out, before);
            hora__text_add(out, " day before the last");
        } else {
            hora__text_add(out, before == 0 ? "the last day" : "the day before the last");
        }
    }
    if (cron->last_working_day) {
        add_separator(out, words);
        hora__text_add(out, "the last weekday");
    }
    for (uint32_t rest = cron->nearest; rest != 0; rest &= rest - 1) {
        add_separator(out, words);
        hora__text_add(out, "the weekday nearest to the ");
        hora__text_add_ordinal(out, hora__set_first(rest));
    }
}

/* Writes the day of the month: "every day", "the 1st and the last day". */
static void add_days(struct hora__text *out, const hora_cron *cron)
{
    if (cron->days == HORA__ALL_DAYS) {
        hora__text_add(out, "every day");
        return;
    }
    bool is_pattern = hora__set_count(cron->days) >= PATTERN && hora__set_step(cron->days) > 0;
    struct enumeration words = {count_day_words(cron, is_pattern), 0, " and "};
    add_plain_days(out, cron, is_pattern, &words);
    add_special_days(out, cron, &words);
}

/* Months: "June", "March to May". */

/* Returns whether the months are an unbroken run of three or more. */
static bool is_month_span(const hora_cron *cron)
{
    return hora__set_count(cron->months) >= PATTERN && hora__set_step(cron->months) == 1;
}

/* Writes "every month", "March to May", "January and July". */
static void add_month_names(struct hora__text *out, const hora_cron *cron)
{
    if (cron->months == HORA__ALL_MONTHS) {
        hora__text_add(out, "every month");
    } else if (is_month_span(cron)) {
        hora__text_add(out, month_names[hora__set_first(cron->months)]);
        hora__text_add(out, " to ");
        hora__text_add(out, month_names[hora__set_last(cron->months)]);
    } else {
        struct enumeration names = {hora__set_count(cron->months), 0, " and "};
        for (uint32_t rest = cron->months; rest != 0; rest &= rest - 1) {
            add_separator(out, &names);
            hora__text_add(out, month_names[hora__set_first(rest)]);
        }
    }
}

/* Writes the months after "of" or "in": "the month", "the months from March to May", "June". */
static void add_which_months(struct hora__text *out, const hora_cron *cron)
{
    if (cron->months == HORA__ALL_MONTHS) {
        hora__text_add(out, "the month");
        return;
    }
    hora__text_add(out, is_month_span(cron) ? "the months from " : "");
    add_month_names(out, cron);
}

/* Weekdays: "Monday to Friday", "the last Friday". */

/* Returns the number of members of the list of weekdays. */
static int count_weekday_words(const hora_cron *cron)
{
    int count = hora__set_count(cron->weekdays) + hora__set_count(cron->last_of);
    for (int day = 0; day < WEEK; day++)
        count += hora__set_count(cron->nth_of[day]);
    return count;
}

/* Writes a list of weekdays: plain ones first, with `before` in front of the first name and `after` behind
 * each, then "the second Monday", "the last Friday". `last` is the last separator. */
static void add_weekday_words(struct hora__text *out, const hora_cron *cron, const char *before,
                              const char *after, const char *last)
{
    struct enumeration words = {count_weekday_words(cron), 0, last};
    for (int day = 1; day <= WEEK; day++) {
        if (!hora__set_has(cron->weekdays, day % WEEK))
            continue;
        hora__text_add(out, words.begun == 0 ? before : "");
        add_separator(out, &words);
        hora__text_add(out, day_names[day]);
        hora__text_add(out, after);
    }
    for (int day = 1; day <= WEEK; day++) {
        for (uint32_t rest = cron->nth_of[day % WEEK]; rest != 0; rest &= rest - 1) {
            add_separator(out, &words);
            hora__text_add(out, "the ");
            hora__text_add(out, nth_names[hora__set_first(rest)]);
            hora__text_add(out, day_names[day]);
        }
        if (hora__set_has(cron->last_of, day % WEEK)) {
            add_separator(out, &words);
            hora__text_add(out, "the last ");
            hora__text_add(out, day_names[day]);
        }
    }
}

/* Writes `before` and "Monday to Friday" if the weekdays are an unbroken run of three or more; Sunday is
 * the last day of the week. Returns false, having written nothing, if they are not. */
static bool add_weekday_span(struct hora__text *out, const hora_cron *cron, const char *before)
{
    uint64_t days = (cron->weekdays & 0x7eu) | (cron->weekdays & 1u) << WEEK;
    if (hora__cron_has_special_weekdays(cron) || hora__set_count(days) < PATTERN || hora__set_step(days) != 1)
        return false;
    hora__text_add(out, before);
    hora__text_add(out, day_names[hora__set_first(days)]);
    hora__text_add(out, " to ");
    hora__text_add(out, day_names[hora__set_last(days)]);
    return true;
}

/* Writes the weekday field alone: "every day", "Monday to Friday", "Monday and the last Friday". */
static void add_weekdays(struct hora__text *out, const hora_cron *cron)
{
    if (cron->weekdays == HORA__ALL_WEEKDAYS)
        hora__text_add(out, "every day");
    else if (!add_weekday_span(out, cron, ""))
        add_weekday_words(out, cron, "", "", " and ");
}

/* Dates: days, months and weekdays together. */

/* Writes " of June", ", in the months from March to May". */
static void add_months(struct hora__text *out, const hora_cron *cron, const char *before)
{
    hora__text_add(out, before);
    add_which_months(out, cron);
}

/* Writes " on the 13th". */
static void add_on_days(struct hora__text *out, const hora_cron *cron)
{
    hora__text_add(out, " on ");
    add_days(out, cron);
}

/* Writes " on Fridays", ", Monday to Friday". */
static void add_on_weekdays(struct hora__text *out, const hora_cron *cron)
{
    if (add_weekday_span(out, cron, cron->is_either_day ? " from " : ", "))
        return;
    hora__text_add(out, " on ");
    add_weekday_words(out, cron, "", "s", " and ");
}

/* Writes a condition after the day of the month: ", if that is a Friday". */
static void add_condition(struct hora__text *out, const hora_cron *cron)
{
    hora__text_add(out, ", if that is ");
    if (cron->weekdays == MONDAY_TO_FRIDAY && !hora__cron_has_special_weekdays(cron))
        hora__text_add(out, "a weekday");
    else
        add_weekday_words(out, cron, "a ", "", " or ");
}

/* Writes the dates: " on the last weekday of the month", " on Mondays in June". Days that are all days are
 * written as " every day" after names_times, and not at all otherwise. */
static void add_dates(struct hora__text *out, const hora_cron *cron, bool names_times)
{
    bool is_any_day = cron->days == HORA__ALL_DAYS;
    bool is_any_weekday = cron->weekdays == HORA__ALL_WEEKDAYS;
    bool is_any_month = cron->months == HORA__ALL_MONTHS;
    /* The either-day rule of crontab joins both fields with "or"; all other expressions with a day of the
     * month add the weekday as a condition. */
    if (is_any_day && is_any_weekday) {
        hora__text_add(out, names_times ? " every day" : "");
    } else if (cron->is_either_day) {
        add_on_days(out, cron);
        hora__text_add(out, is_any_month ? " of the month or" : " or");
        add_on_weekdays(out, cron);
    } else if (!is_any_day) {
        add_on_days(out, cron);
        add_months(out, cron, " of ");
        if (!is_any_weekday)
            add_condition(out, cron);
        return;
    } else {
        add_on_weekdays(out, cron);
        if (hora__cron_has_special_weekdays(cron)) {
            add_months(out, cron, " of ");
            return;
        }
    }
    if (!is_any_month)
        add_months(out, cron, cron->is_either_day ? ", in " : " in ");
}

/* ---- the whole expression ---- */

/* A NULL zone is UTC, which the text does not mention. */
int hora_cron_describe(const hora_cron *cron, const hora_zone *zone, char *text, size_t size)
{
    if (cron == NULL || (text == NULL && size > 0))
        return HORA_EINVAL;
    struct hora__text out = hora__text_begin(text, size);
    if (cron->is_reboot) {
        hora__text_add(&out, "once, at the start");
        return hora__text_end(&out);
    }
    hora_cron normal = hora__cron_normal(cron);
    bool names_times = add_times(&out, &normal);
    add_dates(&out, &normal, names_times);
    if (zone != NULL) {
        hora__text_add(&out, ", ");
        hora__text_add(&out, hora_zone_name(zone));
    }
    return hora__text_end(&out);
}

/* Normalizing changes only the day fields, so the times of day are taken from the expression itself. */
int hora_cron_describe_field(const hora_cron *cron, hora_cron_field field, char *text, size_t size)
{
    if (cron == NULL || (text == NULL && size > 0) || cron->is_reboot)
        return HORA_EINVAL;
    struct hora__text out = hora__text_begin(text, size);
    hora_cron normal = hora__cron_normal(cron);
    switch (field) {
    case HORA_CRON_FIELD_SECOND:
        if (cron->dialect == HORA_CRON_UNIX)
            return HORA_EINVAL;
        add_time_field(&out, field, cron->seconds);
        break;
    case HORA_CRON_FIELD_MINUTE:
        add_time_field(&out, field, cron->minutes);
        break;
    case HORA_CRON_FIELD_HOUR:
        add_time_field(&out, field, cron->hours);
        break;
    case HORA_CRON_FIELD_DAY:
        add_days(&out, &normal);
        break;
    case HORA_CRON_FIELD_MONTH:
        add_month_names(&out, &normal);
        break;
    case HORA_CRON_FIELD_WEEKDAY:
        add_weekdays(&out, &normal);
        break;
    default:
        return HORA_EINVAL;
    }
    return hora__text_end(&out);
}
