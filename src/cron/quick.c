/* SPDX-License-Identifier: Apache-2.0 */
/* quick.c - a fast parser for expressions written the common way
 *
 * It reads the text once from left to right and keeps nothing for error messages. Anything unexpected, such
 * as a macro, a three-digit number or a mistake, makes it give up, and parse.c decides. So it must accept
 * nothing that parse.c refuses, and must agree with parse.c on the meaning. Tests compare the two.
 *
 * The read_ functions that return a bool return false to give up; those that return a number, GIVES_UP. */
#include <assert.h>

#include "base/text.h"
#include "cron/cron.h"
#include "cron/set.h"

/* SUNDAY is 7 while the fields are read; finish() turns it into 0. */
enum { SUNDAY = 7, GIVES_UP = -1, FIELDS = HORA_CRON_FIELD_WEEKDAY + 1 };

/* Three letters as one number. */
#define NAME(a, b, c) ((a) << 16 | (b) << 8 | (c))

/* The state of the parser. */
struct quick {
    /* The next byte to read. */
    const char *at;
    /* Receives the special days at once, and the sets in finish(). */
    hora_cron *cron;
    bool is_unix;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns whether a byte ends a field. */
static bool is_end_of_field(char c)
{
    return is_blank(c) || c == '\0';
}

/* Returns whether a byte ends an item of a list. */
static bool is_end_of_item(char c)
{
    return is_end_of_field(c) || c == ',';
}

/* Reads one or two digits. Gives up on three. */
static int read_number(struct quick *quick)
{
    const char *at = quick->at;
    if (!hora__is_digit(at[0]))
        return GIVES_UP;
    int number = at[0] - '0';
    if (!hora__is_digit(at[1])) {
        quick->at = at + 1;
        return number;
    }
    quick->at = at + 2;
    return hora__is_digit(at[2]) ? GIVES_UP : number * 10 + (at[1] - '0');
}

/* An element of a hash table of names. */
struct name {
    int letters;
    int number;
};

/* The slot of a name in its table, from its second and third letter. No two names of a table share one. */
#define SLOT(b, c)            (((b) + 17 * (c)) & 31)
#define ENTRY(a, b, c, value) [SLOT(b, c)] = {NAME(a, b, c), (value)}

/* Unused slots have 0 for letters, which no name has. */
static const struct name months[32] = {
    ENTRY('j', 'a', 'n', 1), ENTRY('f', 'e', 'b', 2),  ENTRY('m', 'a', 'r', 3),  ENTRY('a', 'p', 'r', 4),
    ENTRY('m', 'a', 'y', 5), ENTRY('j', 'u', 'n', 6),  ENTRY('j', 'u', 'l', 7),  ENTRY('a', 'u', 'g', 8),
    ENTRY('s', 'e', 'p', 9), ENTRY('o', 'c', 't', 10), ENTRY('n', 'o', 'v', 11), ENTRY('d', 'e', 'c', 12),
};

static const struct name weekdays[32] = {
    ENTRY('m', 'o', 'n', 1), ENTRY('t', 'u', 'e', 2), ENTRY('w', 'e', 'd', 3),      ENTRY('t', 'h', 'u', 4),
    ENTRY('f', 'r', 'i', 5), ENTRY('s', 'a', 't', 6), ENTRY('s', 'u', 'n', SUNDAY),
};

/* Returns a byte with the bit set that makes a letter lower case. It turns nothing else into a lower-case
 * letter. */
static int lower(char c)
{
    return (unsigned char)c | 0x20;
}

/* Reads a three-letter name of a month or weekday. The check for NUL keeps the reader inside the text. */
static int read_name(struct quick *quick, hora_cron_field field)
{
    const char *at = quick->at;
    if (field < HORA_CRON_FIELD_MONTH || at[0] == '\0' || at[1] == '\0' || at[2] == '\0')
        return GIVES_UP;
    int b = lower(at[1]), c = lower(at[2]);
    const struct name *name = &(field == HORA_CRON_FIELD_MONTH ? months : weekdays)[SLOT(b, c)];
    quick->at = at + 3;
    return name->letters == NAME(lower(at[0]), b, c) ? name->number : GIVES_UP;
}

/* Reads one value, a number or a name, and checks its range. */
static int read_value(struct quick *quick, hora_cron_field field)
{
    int value = hora__is_digit(*quick->at) ? read_number(quick) : read_name(quick, field);
    const struct hora__cron_values *values = &hora__cron_values[field];
    return value < values->min || value > values->max ? GIVES_UP : value;
}

/* Reads L, LW or L-n. */
static bool read_last_day(struct quick *quick)
{
    assert(*quick->at == 'L');
    hora_cron *cron = quick->cron;
    quick->at++;
    if (*quick->at == 'W') {
        quick->at++;
        cron->last_working_day = true;
    } else if (*quick->at == '-') {
        quick->at++;
        int before = read_number(quick);
        if (before < 1 || before > HORA__MOST_BEFORE_LAST)
            return false;
        cron->before_last |= UINT32_C(1) << before;
    } else {
        cron->before_last |= 1;
    }
    return true;
}

/* Reads the suffix of a special day: the W of nW, the L of dL, the #n of d#n. Returns whether there was
 * one; *ret_ok tells whether it is correct. */
static bool read_special(struct quick *quick, hora_cron_field field, int value, bool *ret_ok)
{
    hora_cron *cron = quick->cron;
    char mark = *quick->at;
    *ret_ok = true;
    if (field == HORA_CRON_FIELD_DAY && mark == 'W') {
        quick->at++;
        cron->nearest |= UINT32_C(1) << value;
    } else if (field == HORA_CRON_FIELD_WEEKDAY && (mark == 'L' || mark == 'l')) {
        quick->at++;
        cron->last_of |= (uint8_t)(1 << value % 7);
    } else if (field == HORA_CRON_FIELD_WEEKDAY && mark == '#') {
        quick->at++;
        int number = read_number(quick);
        *ret_ok = number >= 1 && number <= HORA__MOST_NTH;
        if (*ret_ok)
            cron->nth_of[value % 7] |= (uint8_t)(1 << number);
    } else {
        return false;
    }
    return true;
}

/* Reads the optional step behind a, a-b or *, and adds the values to *set. A step behind a single value
 * extends to the maximum; crontab does not have that. */
static bool read_step(struct quick *quick, hora_cron_field field, int first, int last, bool is_single,
                      uint64_t *set)
{
    assert(first >= 0 && first <= last);
    if (*quick->at != '/') {
        *set |= is_single ? UINT64_C(1) << first : hora__set_from_to(first, last);
        return true;
    }
    quick->at++;
    int step = read_number(quick);
    if (step < 1 || (is_single && quick->is_unix))
        return false;
    *set |= hora__set_every(first, is_single ? hora__cron_values[field].max : last, step);
    return true;
}

/* Reads * and its optional step. In the Spring dialect, weekdays count from Monday. */
static bool read_star(struct quick *quick, hora_cron_field field, uint64_t *set)
{
    assert(*quick->at == '*');
    const struct hora__cron_values *values = &hora__cron_values[field];
    int first = field == HORA_CRON_FIELD_WEEKDAY && !quick->is_unix ? 1 : values->min;
    quick->at++;
    return read_step(quick, field, first, values->max, false, set);
}

/* Reads one item of a list. Sets *counts if the item has a *, a range or a step. */
static bool read_item(struct quick *quick, hora_cron_field field, uint64_t *set, bool *counts)
{
    assert(field >= HORA_CRON_FIELD_SECOND && field <= HORA_CRON_FIELD_WEEKDAY);
    if (*quick->at == '*') {
        *counts = true;
        return read_star(quick, field, set);
    }
    /* Special days belong to the Spring dialect. A crontab with them is a mistake, which parse.c reports. */
    if (*quick->at == 'L' && field == HORA_CRON_FIELD_DAY && !quick->is_unix)
        return read_last_day(quick);
    int first = read_value(quick, field);
    int last = first;
    bool is_single = true, is_right;
    if (first == GIVES_UP)
        return false;
    if (!quick->is_unix && read_special(quick, field, first, &is_right))
        return is_right;
    if (*quick->at == '-') {
        quick->at++;
        last = read_value(quick, field);
        /* 7-3 means 0-3. GIVES_UP is less than any value, so the next test catches it as well. */
        if (field == HORA_CRON_FIELD_WEEKDAY && first == SUNDAY && last < SUNDAY)
            first = 0;
        if (last < first)
            return false;
        is_single = false;
    }
    *counts |= !is_single || *quick->at == '/';
    return read_step(quick, field, first, last, is_single, set);
}

/* Reads all items of a field; *set becomes the union of the ordinary ones. */
static bool read_list(struct quick *quick, hora_cron_field field, uint64_t *set, bool *counts)
{
    for (;;) {
        if (!read_item(quick, field, set, counts) || !is_end_of_item(*quick->at))
            return false;
        if (*quick->at != ',')
            return true;
        quick->at++;
    }
}

/* Returns whether the field is ? alone. */
static bool is_question(const struct quick *quick, hora_cron_field field)
{
    return *quick->at == '?' && !quick->is_unix &&
           (field == HORA_CRON_FIELD_DAY || field == HORA_CRON_FIELD_WEEKDAY) &&
           is_end_of_field(quick->at[1]);
}

/* Reads the most common fields: * alone, or a number alone. Returns false, having read nothing, if the
 * field is something else. */
static bool read_common(struct quick *quick, const struct hora__cron_values *values, uint64_t *set,
                        bool *counts)
{
    const char *at = quick->at;
    if (at[0] == '*' && is_end_of_field(at[1])) {
        quick->at = at + 1;
        *set = values->all;
        *counts = true;
        return true;
    }
    if (!hora__is_digit(at[0]))
        return false;
    int number = at[0] - '0';
    at++;
    if (hora__is_digit(*at))
        number = number * 10 + (*at++ - '0');
    if (!is_end_of_field(*at) || number < values->min || number > values->max)
        return false;
    quick->at = at;
    *set = UINT64_C(1) << number;
    return true;
}

/* Reads one field. Sets *counts if an item has a *, a range or a step. */
static bool read_field(struct quick *quick, hora_cron_field field, uint64_t *set, bool *counts)
{
    const struct hora__cron_values *values = &hora__cron_values[field];
    if (read_common(quick, values, set, counts))
        return true;
    if (!is_question(quick, field))
        return read_list(quick, field, set, counts);
    quick->at++;
    *set = values->all;
    return true;
}

/* Skips the blanks between fields. A missing field is found when its first value cannot be read. */
static void skip_blanks(struct quick *quick)
{
    while (is_blank(*quick->at))
        quick->at++;
}

/* Stores the sets; Sunday becomes 0. */
static void finish(hora_cron *cron, const uint64_t sets[FIELDS], bool is_interval, bool is_either_day)
{
    cron->seconds = sets[HORA_CRON_FIELD_SECOND];
    cron->minutes = sets[HORA_CRON_FIELD_MINUTE];
    cron->hours = (uint32_t)sets[HORA_CRON_FIELD_HOUR];
    cron->days = (uint32_t)sets[HORA_CRON_FIELD_DAY];
    cron->months = (uint32_t)sets[HORA_CRON_FIELD_MONTH];
    cron->weekdays =
        (uint8_t)((sets[HORA_CRON_FIELD_WEEKDAY] | sets[HORA_CRON_FIELD_WEEKDAY] >> SUNDAY) & 0x7f);
    cron->is_interval = is_interval;
    cron->is_either_day = is_either_day;
}

/* A crontab matches either day field unless one of them starts with *. */
bool hora__cron_quick(const char *text, hora_cron *cron)
{
    assert(text != NULL);
    struct quick quick = {text, cron, cron->dialect == HORA_CRON_UNIX};
    /* A crontab has no seconds; its times are at second 0. */
    uint64_t sets[FIELDS] = {[HORA_CRON_FIELD_SECOND] = quick.is_unix ? 1 : 0};
    bool is_interval = false, is_either_day = quick.is_unix;
    skip_blanks(&quick);
    for (hora_cron_field field = quick.is_unix ? HORA_CRON_FIELD_MINUTE : HORA_CRON_FIELD_SECOND;
         field <= HORA_CRON_FIELD_WEEKDAY; field++) {
        bool counts = false;
        /* A day field that starts with * is not restricted; see parse.c. */
        if (*quick.at == '*' && (field == HORA_CRON_FIELD_DAY || field == HORA_CRON_FIELD_WEEKDAY))
            is_either_day = false;
        if (!read_field(&quick, field, &sets[field], &counts))
            return false;
        /* Only the time fields matter; see is_interval in cron.h. */
        is_interval |= counts && field <= HORA_CRON_FIELD_HOUR;
        skip_blanks(&quick);
    }
    /* More than the needed fields. */
    if (*quick.at != '\0')
        return false;
    finish(cron, sets, is_interval, is_either_day);
    return true;
}
