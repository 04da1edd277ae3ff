/* SPDX-License-Identifier: Apache-2.0 */
/* normal.c - the normal form of day fields: fields with the same meaning become equal
 *
 * A day field is a union of items: 15, L-3, LW, 15W; FRI, FRIL, FRI#2. One item may cover another: FRI covers
 * FRIL, and L covers 31. The meaning of a field is known once its days are known in each of the 28 kinds of
 * months (four lengths, seven weekdays for the first day). Normalizing first adds every item that the meaning
 * covers; the result depends on the meaning alone. Then it removes, in a fixed order from the rarest item,
 * every item that the others make redundant. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "cron/cron.h"

/* Months have 28 to 31 days, so there are four lengths. */
enum { LENGTHS = 4, SHORTEST = 28, WEEK = 7 };

/* Adds or removes item `number` of a day field, where 0 is the rarest. Returns false if there is no item
 * with that number. */
typedef bool change_item(hora_cron *cron, int number, bool is_added);

/* Adds or removes one bit of a set. */
static void change_bit(uint32_t *set, int bit, bool is_added)
{
    assert(bit >= 0 && bit < 32);
    *set = is_added ? *set | UINT32_C(1) << bit : *set & ~(UINT32_C(1) << bit);
}

/* Adds or removes one bit of a set of 8. */
static void change_bit8(uint8_t *set, int bit, bool is_added)
{
    assert(bit >= 0 && bit < 8);
    uint32_t wide = *set;
    change_bit(&wide, bit, is_added);
    *set = (uint8_t)wide;
}

/* The items of the day field, in this order: 31W to 1W, LW, L-30 to L, 31 to 1. */
static bool change_day(hora_cron *cron, int number, bool is_added)
{
    assert(number >= 0);
    if (number < 31)
        change_bit(&cron->nearest, 31 - number, is_added);
    else if (number == 31)
        cron->last_working_day = is_added;
    else if (number < 63)
        change_bit(&cron->before_last, 62 - number, is_added);
    else if (number < 94)
        change_bit(&cron->days, 94 - number, is_added);
    return number < 94;
}

/* The items of the weekday field, each for all weekdays d: dL, d#5 to d#1, d. */
static bool change_weekday(hora_cron *cron, int number, bool is_added)
{
    assert(number >= 0);
    int day = number % WEEK;
    int word = number / WEEK;
    if (word == 0)
        change_bit8(&cron->last_of, day, is_added);
    else if (word < 6)
        change_bit8(&cron->nth_of[day], 6 - word, is_added);
    else if (word == 6)
        change_bit8(&cron->weekdays, day, is_added);
    return word <= 6;
}

/* Returns whether every day of `inner` is a day of `outer`, in every kind of month. */
static bool is_within(const hora_cron *inner, const hora_cron *outer)
{
    /* Each length of a month with each weekday of its first day. */
    for (int kind = 0; kind < LENGTHS * WEEK; kind++) {
        int length = SHORTEST + kind % LENGTHS;
        uint32_t days = hora__cron_month_mask(inner, kind / LENGTHS, length);
        if ((days & ~hora__cron_month_mask(outer, kind / LENGTHS, length)) != 0)
            return false;
    }
    return true;
}

/* Normalizes one day field. `field` is an expression with this field, in which the other day field is *;
 * `empty` is the same without any item. */
static void normalize_field(hora_cron *field, const hora_cron *empty, change_item *change)
{
    const hora_cron meaning = *field;
    /* First pass: try each item alone, and add those whose days all belong to the field. */
    hora_cron word = *empty;
    for (int i = 0; change(&word, i, true); i++) {
        if (is_within(&word, &meaning))
            (void)change(field, i, true);
        (void)change(&word, i, false);
    }
    /* Second pass: remove each item whose days the remaining ones still cover. */
    hora_cron less = *field;
    for (int i = 0; change(&less, i, false); i++) {
        if (is_within(&meaning, &less))
            *field = less;
        else
            less = *field;
    }
}

/* Normalizes the day-of-month field. */
static void normalize_days(hora_cron *cron)
{
    const hora_cron empty = {.weekdays = HORA__ALL_WEEKDAYS};
    hora_cron field = empty;
    field.days = cron->days;
    field.before_last = cron->before_last;
    field.nearest = cron->nearest;
    field.last_working_day = cron->last_working_day;
    normalize_field(&field, &empty, change_day);
    cron->days = field.days;
    cron->before_last = field.before_last;
    cron->nearest = field.nearest;
    cron->last_working_day = field.last_working_day;
}

/* Normalizes the weekday field. */
static void normalize_weekdays(hora_cron *cron)
{
    const hora_cron empty = {.days = HORA__ALL_DAYS};
    hora_cron field = empty;
    field.weekdays = cron->weekdays;
    field.last_of = cron->last_of;
    for (int day = 0; day < WEEK; day++)
        field.nth_of[day] = cron->nth_of[day];
    normalize_field(&field, &empty, change_weekday);
    cron->weekdays = field.weekdays;
    cron->last_of = field.last_of;
    for (int day = 0; day < WEEK; day++)
        cron->nth_of[day] = field.nth_of[day];
}

/* Fields with plain days only are already normal, so most expressions need no work. A crontab in which a
 * match of either day field is enough matches every day if one of the fields has all days. */
void hora__cron_normalize(hora_cron *cron)
{
    if (cron->before_last != 0 || cron->nearest != 0 || cron->last_working_day)
        normalize_days(cron);
    if (hora__cron_has_special_weekdays(cron))
        normalize_weekdays(cron);
    if (cron->is_either_day && (cron->days == HORA__ALL_DAYS || cron->weekdays == HORA__ALL_WEEKDAYS)) {
        cron->is_either_day = false;
        cron->days = HORA__ALL_DAYS;
        cron->weekdays = HORA__ALL_WEEKDAYS;
    }
}

/* Copies everything but the count, which other threads may be changing. All other fields are immutable. */
hora_cron hora__cron_normal(const hora_cron *cron)
{
    const size_t constant = offsetof(hora_cron, dialect);
    hora_cron normal;
    hora__atomic_init(&normal.refs, 0);
    memcpy((char *)&normal + constant, (const char *)cron + constant, sizeof normal - constant);
    hora__cron_normalize(&normal);
    return normal;
}

/* Returns whether the day fields of two expressions are equal, item by item. */
static bool equal_days(const hora_cron *a, const hora_cron *b)
{
    for (int day = 0; day < WEEK; day++)
        if (a->nth_of[day] != b->nth_of[day])
            return false;
    return a->is_either_day == b->is_either_day && a->days == b->days && a->before_last == b->before_last &&
           a->nearest == b->nearest && a->last_working_day == b->last_working_day &&
           a->weekdays == b->weekdays && a->last_of == b->last_of;
}

/* is_interval makes a difference only with HORA_DST_ONCE. Normalizing is slow, so it comes last. */
bool hora_cron_equal(const hora_cron *a, const hora_cron *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->dialect != b->dialect || a->dst != b->dst || a->is_reboot != b->is_reboot)
        return false;
    if (a->dst == HORA_DST_ONCE && a->is_interval != b->is_interval)
        return false;
    if (a->seconds != b->seconds || a->minutes != b->minutes || a->hours != b->hours ||
        a->months != b->months)
        return false;
    if (equal_days(a, b))
        return true;
    hora_cron normal_a = hora__cron_normal(a), normal_b = hora__cron_normal(b);
    return equal_days(&normal_a, &normal_b);
}
