/* SPDX-License-Identifier: Apache-2.0 */
/* words_day.c - days, months and days of the week in words
 *
 * "Weekday" always means Monday to Friday, as in LW. */
#include <stddef.h>

#include "cron/set.h"
#include "cron/words.h"

enum { PATTERN = 3, WEEK = 7, MONDAY_TO_FRIDAY = 0x3e };

static const char *const month_names[] = {"",     "January", "February",  "March",   "April",    "May",     "June",
                                          "July", "August",  "September", "October", "November", "December"};
static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday",  "Wednesday",
                                        "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const nth_names[] = {"", "first ", "second ", "third ", "fourth ", "fifth "};

/* ---- days of the month ---- */

static int count_day_words(const hora_cron *cron, bool is_pattern)
{
    return (is_pattern ? 1 : hora__set_count(cron->days)) + hora__set_count(cron->before_last) +
           hora__set_count(cron->nearest) + (cron->last_working_day ? 1 : 0);
}

/* "the 1st to 7th", "every 2nd day from the 1st to the 31st" */
static void add_day_pattern(struct hora__text *out, const hora_cron *cron)
{
    int step = hora__set_step(cron->days);
    if (step > 1) {
        hora__text_add(out, "every ");
        hora__words_ordinal(out, step);
        hora__text_add(out, " day from ");
    }
    hora__text_add(out, "the ");
    hora__words_ordinal(out, hora__set_first(cron->days));
    hora__text_add(out, step > 1 ? " to the " : " to ");
    hora__words_ordinal(out, hora__set_last(cron->days));
}

static void add_plain_days(struct hora__text *out, const hora_cron *cron, bool is_pattern,
                           struct hora__enumeration *words)
{
    if (is_pattern) {
        hora__words_next(out, words);
        add_day_pattern(out, cron);
        return;
    }
    for (uint32_t rest = cron->days; rest != 0; rest &= rest - 1) {
        bool is_mixed = words->count > hora__set_count(cron->days);
        hora__words_next(out, words);
        hora__text_add(out, words->begun == 1 || is_mixed ? "the " : "");
        hora__words_ordinal(out, hora__set_first(rest));
    }
}

static void add_special_days(struct hora__text *out, const hora_cron *cron, struct hora__enumeration *words)
{
    for (uint32_t rest = cron->before_last; rest != 0; rest &= rest - 1) {
        int before = hora__set_first(rest);
        hora__words_next(out, words);
        if (before > 1) {
            hora__text_add(out, "the ");
            hora__words_ordinal(out, before);
            hora__text_add(out, " day before the last");
        } else {
            hora__text_add(out, before == 0 ? "the last day" : "the day before the last");
        }
    }
    if (cron->last_working_day) {
        hora__words_next(out, words);
        hora__text_add(out, "the last weekday");
    }
    for (uint32_t rest = cron->nearest; rest != 0; rest &= rest - 1) {
        hora__words_next(out, words);
        hora__text_add(out, "the weekday nearest to the ");
        hora__words_ordinal(out, hora__set_first(rest));
    }
}

void hora__words_days(struct hora__text *out, const hora_cron *cron)
{
    if (cron->days == HORA__ALL_DAYS) {
        hora__text_add(out, "every day");
        return;
    }
    bool is_pattern = hora__set_count(cron->days) >= PATTERN && hora__set_step(cron->days) > 0;
    struct hora__enumeration words = {count_day_words(cron, is_pattern), 0, " and "};
    add_plain_days(out, cron, is_pattern, &words);
    add_special_days(out, cron, &words);
}

/* ---- months ---- */

static bool is_month_span(const hora_cron *cron)
{
    return hora__set_count(cron->months) >= PATTERN && hora__set_step(cron->months) == 1;
}

void hora__words_months(struct hora__text *out, const hora_cron *cron)
{
    if (cron->months == HORA__ALL_MONTHS) {
        hora__text_add(out, "every month");
    } else if (is_month_span(cron)) {
        hora__text_add(out, month_names[hora__set_first(cron->months)]);
        hora__text_add(out, " to ");
        hora__text_add(out, month_names[hora__set_last(cron->months)]);
    } else {
        struct hora__enumeration names = {hora__set_count(cron->months), 0, " and "};
        for (uint32_t rest = cron->months; rest != 0; rest &= rest - 1) {
            hora__words_next(out, &names);
            hora__text_add(out, month_names[hora__set_first(rest)]);
        }
    }
}

/* After "of" and "in". */
static void add_which_months(struct hora__text *out, const hora_cron *cron)
{
    if (cron->months == HORA__ALL_MONTHS) {
        hora__text_add(out, "the month");
        return;
    }
    hora__text_add(out, is_month_span(cron) ? "the months from " : "");
    hora__words_months(out, cron);
}

/* ---- days of the week ---- */

static bool has_special_weekdays(const hora_cron *cron)
{
    bool has = cron->last_of != 0;
    for (int day = 0; day < WEEK; day++)
        has = has || cron->nth_of[day] != 0;
    return has;
}

static int count_weekday_words(const hora_cron *cron)
{
    int count = hora__set_count(cron->weekdays) + hora__set_count(cron->last_of);
    for (int day = 0; day < WEEK; day++)
        count += hora__set_count(cron->nth_of[day]);
    return count;
}

/* Each plain day with something before or after its name, then the special ones. */
static void add_weekday_words(struct hora__text *out, const hora_cron *cron, const char *before, const char *after,
                              const char *last)
{
    struct hora__enumeration words = {count_weekday_words(cron), 0, last};
    for (int day = 1; day <= WEEK; day++) {
        if (!hora__set_has(cron->weekdays, day % WEEK))
            continue;
        hora__text_add(out, words.begun == 0 ? before : "");
        hora__words_next(out, &words);
        hora__text_add(out, day_names[day]);
        hora__text_add(out, after);
    }
    for (int day = 1; day <= WEEK; day++) {
        for (uint32_t rest = cron->nth_of[day % WEEK]; rest != 0; rest &= rest - 1) {
            hora__words_next(out, &words);
            hora__text_add(out, "the ");
            hora__text_add(out, nth_names[hora__set_first(rest)]);
            hora__text_add(out, day_names[day]);
        }
        if (hora__set_has(cron->last_of, day % WEEK)) {
            hora__words_next(out, &words);
            hora__text_add(out, "the last ");
            hora__text_add(out, day_names[day]);
        }
    }
}

/* "Monday to Friday": days of the week without a gap. Sunday is the last one. */
static bool add_weekday_span(struct hora__text *out, const hora_cron *cron, const char *before)
{
    uint64_t days = (cron->weekdays & 0x7eu) | (cron->weekdays & 1u) << WEEK;
    if (has_special_weekdays(cron) || hora__set_count(days) < PATTERN || hora__set_step(days) != 1)
        return false;
    hora__text_add(out, before);
    hora__text_add(out, day_names[hora__set_first(days)]);
    hora__text_add(out, " to ");
    hora__text_add(out, day_names[hora__set_last(days)]);
    return true;
}

void hora__words_weekdays(struct hora__text *out, const hora_cron *cron)
{
    if (cron->weekdays == HORA__ALL_WEEKDAYS)
        hora__text_add(out, "every day");
    else if (!add_weekday_span(out, cron, ""))
        add_weekday_words(out, cron, "", "", " and ");
}

/* ---- all of them ---- */

static void add_months(struct hora__text *out, const hora_cron *cron, const char *before)
{
    hora__text_add(out, before);
    add_which_months(out, cron);
}

/* " on the 13th" */
static void add_on_days(struct hora__text *out, const hora_cron *cron)
{
    hora__text_add(out, " on ");
    hora__words_days(out, cron);
}

/* " on Fridays", ", Monday to Friday" */
static void add_on_weekdays(struct hora__text *out, const hora_cron *cron)
{
    if (add_weekday_span(out, cron, cron->is_either_day ? " from " : ", "))
        return;
    hora__text_add(out, " on ");
    add_weekday_words(out, cron, "", "s", " and ");
}

/* ", if that is a Friday" */
static void add_condition(struct hora__text *out, const hora_cron *cron)
{
    hora__text_add(out, ", if that is ");
    if (cron->weekdays == MONDAY_TO_FRIDAY && !has_special_weekdays(cron))
        hora__text_add(out, "a weekday");
    else
        add_weekday_words(out, cron, "a ", "", " or ");
}

void hora__words_dates(struct hora__text *out, const hora_cron *cron, bool names_times)
{
    bool is_any_day = cron->days == HORA__ALL_DAYS;
    bool is_any_weekday = cron->weekdays == HORA__ALL_WEEKDAYS;
    bool is_any_month = cron->months == HORA__ALL_MONTHS;
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
        if (has_special_weekdays(cron)) {
            add_months(out, cron, " of ");
            return;
        }
    }
    if (!is_any_month)
        add_months(out, cron, cron->is_either_day ? ", in " : " in ");
}
