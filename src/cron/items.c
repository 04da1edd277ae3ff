/* SPDX-License-Identifier: Apache-2.0 */
/* items.c - the members of a field's list: values, ranges and steps */
#include <assert.h>
#include <string.h>

#include "cron/parse.h"
#include "cron/set.h"

#define ALL(min, max) ((UINT64_C(2) << (max)) - (UINT64_C(1) << (min)))

const struct hora__cron_values hora__cron_values[] = {
    [HORA__CRON_WHOLE] = {"cron", "", 0, 0, 0, NULL},
    [HORA_CRON_FIELD_SECOND] = {"second", "0-59", 0, 59, ALL(0, 59), NULL},
    [HORA_CRON_FIELD_MINUTE] = {"minute", "0-59", 0, 59, ALL(0, 59), NULL},
    [HORA_CRON_FIELD_HOUR] = {"hour", "0-23", 0, 23, ALL(0, 23), NULL},
    [HORA_CRON_FIELD_DAY] = {"day", "1-31", 1, 31, ALL(1, 31), NULL},
    [HORA_CRON_FIELD_MONTH] = {"month", "1-12 or JAN-DEC", 1, 12, ALL(1, 12), "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    [HORA_CRON_FIELD_WEEKDAY] = {"weekday", "0-7 or MON-SUN", 0, 7, ALL(0, 7), "MONTUEWEDTHUFRISATSUN"},
};

enum { SUNDAY = 7 };
#define LARGEST_STEP INT64_C(0x7fffffff)

static char capital(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    return c;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(const char *text, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (capital(text[i]) != capital(word[i]))
            return false;
    return true;
}

bool hora__piece_is(const struct hora__reading *reading, struct hora__piece piece, const char *text)
{
    return piece.length == strlen(text) && is_word(reading->text + piece.begin, text, piece.length);
}

bool hora__piece_holds(const struct hora__reading *reading, struct hora__piece piece, const char *any_of)
{
    for (size_t i = 0; i < piece.length; i++)
        if (strchr(any_of, reading->text[piece.begin + i]) != NULL)
            return true;
    return false;
}

char hora__piece_last(const struct hora__reading *reading, struct hora__piece piece)
{
    if (piece.length == 0)
        return '\0';
    return capital(reading->text[piece.begin + piece.length - 1]);
}

struct hora__piece hora__piece_trim(const struct hora__reading *reading, struct hora__piece piece)
{
    while (piece.length > 0 && is_blank(reading->text[piece.begin])) {
        piece.begin++;
        piece.length--;
    }
    while (piece.length > 0 && is_blank(reading->text[piece.begin + piece.length - 1]))
        piece.length--;
    return piece;
}

bool hora__piece_cut(const struct hora__reading *reading, struct hora__piece *rest, char separator,
                     struct hora__piece *ret_head)
{
    const char *text = reading->text + rest->begin;
    size_t length = 0;
    while (length < rest->length && (separator == ' ' ? !is_blank(text[length]) : text[length] != separator))
        length++;
    bool found = length < rest->length;
    *ret_head = (struct hora__piece){rest->begin, length};
    size_t gone = length + (found ? 1 : 0);
    *rest = (struct hora__piece){rest->begin + gone, rest->length - gone};
    return found;
}

int64_t hora__piece_number(const struct hora__reading *reading, struct hora__piece piece)
{
    int64_t number = piece.length > 0 ? 0 : -1;
    for (size_t i = 0; i < piece.length; i++) {
        char c = reading->text[piece.begin + i];
        if (c < '0' || c > '9')
            return -1;
        number = number * 10 + (c - '0');
        if (number > LARGEST_STEP)
            number = LARGEST_STEP + 1;
    }
    return number;
}

/* Which name it is, counted from 1; 0: none. */
static int number_of_name(const struct hora__reading *reading, const char *names, struct hora__piece piece)
{
    if (piece.length != 3)
        return 0;
    int number = 1;
    for (const char *name = names; name != NULL && *name != '\0'; name += 3, number++)
        if (is_word(reading->text + piece.begin, name, 3))
            return number;
    return 0;
}

int hora__cron_value(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece,
                     int *ret_value)
{
    const struct hora__cron_values *values = &hora__cron_values[field];
    if (piece.length == 0)
        return hora__cron_refuse(reading, field, piece, "a value is missing: %");
    int64_t number = number_of_name(reading, values->names, piece);
    if (number == 0)
        number = hora__piece_number(reading, piece);
    if (number < values->min || number > values->max)
        return hora__cron_refuse(reading, field, piece, "is not in %");
    *ret_value = (int)number;
    return 0;
}

static int read_step(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece,
                     int *ret_step)
{
    int64_t step = hora__piece_number(reading, piece);
    if (piece.length == 0)
        return hora__cron_refuse(reading, field, piece, "a step is missing: 1 to 2147483647");
    if (step < 1 || step > LARGEST_STEP)
        return hora__cron_refuse(reading, field, piece, "is no step: 1 to 2147483647");
    *ret_step = (int)step;
    return 0;
}

struct range {
    int first;
    int last;
    bool is_single;
};

/* A range of weekdays that begins with 7 begins with 0. */
static int read_range(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece,
                      struct range *ret_range)
{
    struct hora__piece first;
    struct hora__piece last = piece;
    if (piece.length > 0 && reading->text[piece.begin] == '-') /* a number below all, not a range without beginning */
        return hora__cron_refuse(reading, field, piece, "is not in %");
    bool is_single = !hora__piece_cut(reading, &last, '-', &first);
    int error = hora__cron_value(reading, field, first, &ret_range->first);
    ret_range->last = ret_range->first;
    ret_range->is_single = is_single;
    if (error < 0 || is_single)
        return error;
    error = hora__cron_value(reading, field, last, &ret_range->last);
    if (error < 0)
        return error;
    if (field == HORA_CRON_FIELD_WEEKDAY && ret_range->first == SUNDAY && ret_range->last < SUNDAY)
        ret_range->first = 0;
    if (ret_range->first > ret_range->last)
        return hora__cron_refuse(reading, field, piece, "runs backwards: a range ends with its largest value");
    return 0;
}

/* What counts time, as opposed to naming times of the day. */
static void note_interval(const struct hora__reading *reading, hora_cron_field field)
{
    if (field <= HORA_CRON_FIELD_HOUR)
        reading->cron->is_interval = true;
}

int hora__cron_item(const struct hora__reading *reading, hora_cron_field field, struct hora__piece piece,
                    struct hora__item_rules rules, uint64_t *set)
{
    const struct hora__cron_values *values = &hora__cron_values[field];
    struct hora__piece span;
    struct hora__piece rest = piece;
    bool has_step = hora__piece_cut(reading, &rest, '/', &span);
    bool is_star = hora__piece_is(reading, span, "*");
    struct range range = {rules.star, values->max, false};
    int step = 1;
    int error = is_star ? 0 : read_range(reading, field, span, &range);
    if (error < 0)
        return error;
    if (has_step) {
        error = read_step(reading, field, rest, &step);
        if (error < 0)
            return error;
        if (range.is_single && !rules.is_open_step)
            return hora__cron_refuse(reading, field, piece, "has no end: a step stands after * or after a range");
        if (range.is_single)
            range.last = values->max;
    }
    if (is_star || has_step || !range.is_single)
        note_interval(reading, field);
    *set |= hora__set_every(range.first, range.last, step);
    return 0;
}

void hora__cron_add(hora_cron *cron, hora_cron_field field, uint64_t values)
{
    switch (field) {
    case HORA_CRON_FIELD_SECOND:
        cron->seconds |= values;
        break;
    case HORA_CRON_FIELD_MINUTE:
        cron->minutes |= values;
        break;
    case HORA_CRON_FIELD_HOUR:
        cron->hours |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_DAY:
        cron->days |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_MONTH:
        cron->months |= (uint32_t)values;
        break;
    case HORA_CRON_FIELD_WEEKDAY:
        cron->weekdays |= (uint8_t)((values | values >> SUNDAY) & 0x7f);
        break;
    default:
        assert(false);
    }
}

int hora__cron_list(const struct hora__reading *reading, hora_cron_field field, struct hora__piece list,
                    int (*read_member)(const struct hora__reading *reading, hora_cron_field field,
                                       struct hora__piece piece))
{
    struct hora__piece member;
    bool more;
    do {
        more = hora__piece_cut(reading, &list, ',', &member);
        int error = read_member(reading, field, member);
        if (error < 0)
            return error;
    } while (more);
    return 0;
}
