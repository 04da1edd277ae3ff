/* SPDX-License-Identifier: Apache-2.0 */
/* duration.c - durations as text: numbers with units, and ISO 8601
 *
 * Each form is a list of numbers, each with a smaller unit than the one before. Each part may have its own
 * sign, so a part may exceed the whole. The parser therefore adds up seconds and nanoseconds separately, and
 * only the result must fit into 64 bits.
 *
 * Invariants        D1 a number is at most 2^63.
 *                   D2 the sum of the nanoseconds is less than a second times the number of parts. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <hora/clock.h>

#include "base/ns.h"
#include "base/reason.h"
#include "base/text.h"

/* The most parts that a duration can have: each of the seven units once. */
enum { PARTS_MAX = 7 };

/* The magnitude of the smallest int64_t, so that INT64_MIN can be written as text. */
#define NUMBER_MAX (UINT64_C(1) << 63)

/* The state of the parser. */
struct scan {
    const char *at;      /* the rest of the text; after an error, where the error was found */
    int64_t seconds;     /* sum of the whole seconds of all parts so far */
    int64_t nanoseconds; /* sum of the rests, each less than a second; D2 */
    /* A number or the sum overflowed. The parser goes on, because an error of syntax is reported first. */
    bool is_too_long;
    const char *reason; /* why the text is refused; NULL: no error so far */
};

struct unit {
    const char *name; /* in lower case; "" ends a list of units */
    hora_ns length;   /* 0 ends a list of units */
};

/* The parser takes the first match, so a name stands before each name that is a prefix of it: "ms" before
 * "m". */
static const struct unit simple_units[] = {
    {"d", HORA_HOURS(24)},
    {"h", HORA_HOURS(1)},
    {"ms", HORA__SECOND / 1000},
    {"m", HORA_MINUTES(1)},
    {"s", HORA__SECOND},
    {"us", HORA_US(1)},
    {"ns", 1},
    {"", 0},
};

/* The units that ISO 8601 allows before and after the T. The letter M means minutes: months are not
 * supported, because their length varies. */
static const struct unit iso_days[] = {{"d", HORA_HOURS(24)}, {"", 0}};
static const struct unit iso_times[] = {
    {"h", HORA_HOURS(1)}, {"m", HORA_MINUTES(1)}, {"s", HORA__SECOND}, {"", 0}};

/* Returns an ASCII letter in lower case and every other character unchanged, whatever the locale. */
static char lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

/* Records why the text is refused and returns false, for callers to return. The first reason is kept. */
static bool fail(struct scan *scan, const char *reason)
{
    assert(reason != NULL);
    if (scan->reason == NULL)
        scan->reason = reason;
    return false;
}

/* Skips a sign. Returns -1 for a minus, else 1. */
static int read_sign(struct scan *scan)
{
    assert(scan->at != NULL);
    int sign = *scan->at == '-' ? -1 : 1;
    if (*scan->at == '-' || *scan->at == '+')
        scan->at++;
    return sign;
}

/* Adds sign * number * unit to the sums. Splits the number into whole billions and a rest, and the unit into
 * whole seconds and a rest, so that no intermediate product overflows unnoticed: a billion units of one
 * nanosecond are one second, so `whole` billions are whole * unit seconds. */
static void add(struct scan *scan, int sign, uint64_t number, hora_ns unit)
{
    assert(number <= NUMBER_MAX && unit > 0); /* D1 */
    int64_t whole = (int64_t)(number / (uint64_t)HORA__SECOND);
    int64_t rest = (int64_t)(number % (uint64_t)HORA__SECOND);
    int64_t small_part = rest * (unit % HORA__SECOND);
    int64_t seconds;
    if (__builtin_mul_overflow(whole, unit, &seconds) ||
        __builtin_add_overflow(seconds, rest * (unit / HORA__SECOND), &seconds) ||
        __builtin_add_overflow(seconds, small_part / HORA__SECOND, &seconds) ||
        __builtin_add_overflow(scan->seconds, sign * seconds, &scan->seconds))
        scan->is_too_long = true;
    scan->nanoseconds += sign * (small_part % HORA__SECOND);
}

/* Stores the sum of seconds and nanoseconds. Returns false if it does not fit into 64 bits. */
static bool total(const struct scan *scan, hora_ns *ret_duration)
{
    assert(scan->nanoseconds < PARTS_MAX * HORA__SECOND); /* D2 */
    assert(scan->nanoseconds > -PARTS_MAX * HORA__SECOND);
    int64_t seconds;
    int64_t nanoseconds = scan->nanoseconds % HORA__SECOND;
    if (scan->is_too_long ||
        __builtin_add_overflow(scan->seconds, scan->nanoseconds / HORA__SECOND, &seconds))
        return false;
    /* Give both the same sign, or the product could overflow although the sum fits. */
    if (seconds < 0 && nanoseconds > 0) {
        seconds++;
        nanoseconds -= HORA__SECOND;
    } else if (seconds > 0 && nanoseconds < 0) {
        seconds--;
        nanoseconds += HORA__SECOND;
    }
    hora_ns product;
    return !__builtin_mul_overflow(seconds, HORA__SECOND, &product) &&
           !__builtin_add_overflow(product, nanoseconds, ret_duration);
}

/* Reads digits into *ret_number. Fails if there are none. After an overflow the parser goes on with a smaller
 * number, so that it still finds errors of syntax in the rest of the text. */
static bool read_number(struct scan *scan, uint64_t *ret_number)
{
    if (!hora__is_digit(*scan->at))
        return fail(scan, "a number is missing");
    uint64_t number = 0;
    for (; hora__is_digit(*scan->at); scan->at++) {
        uint64_t digit = (uint64_t)(*scan->at - '0');
        if (number > (NUMBER_MAX - digit) / 10) {
            scan->is_too_long = true;
            number = 0;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

/* Reads one of `units` and stores its length. It must be smaller than `than`, the unit before it; INT64_MAX
 * for the first. */
static bool read_unit(struct scan *scan, const struct unit *units, hora_ns than, hora_ns *ret_length)
{
    assert(than > 0 && ret_length != NULL);
    for (; units->length > 0; units++) {
        size_t i = 0;
        while (units->name[i] != '\0' && lower(scan->at[i]) == units->name[i])
            i++;
        if (units->name[i] != '\0')
            continue;
        if (units->length >= than)
            return fail(scan, "larger units must come first, and each unit at most once");
        scan->at += i;
        *ret_length = units->length;
        return true;
    }
    return fail(scan, "a unit is missing or is not allowed here");
}

/* Skips the blanks that may separate the parts of the simple form. */
static void skip_blanks(struct scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t')
        scan->at++;
}

/* Reads "1h30m" or "1h 30m" up to the character `end` or the end of the text. All parts have the same sign. A
 * blank may stand between two parts but not behind the last one. */
static bool read_simple(struct scan *scan, int sign, char end)
{
    hora_ns than = INT64_MAX;
    do {
        uint64_t number = 0;
        if (!read_number(scan, &number) || !read_unit(scan, simple_units, than, &than))
            return false;
        add(scan, sign, number, than);
        const char *behind = scan->at; /* the end of the part, before any blanks */
        skip_blanks(scan);
        if (*scan->at == '\0' && scan->at != behind)
            return fail(scan, "there is a blank at the end");
    } while (*scan->at != end && *scan->at != '\0');
    return true;
}

/* Reads "(1h 30m)". This form lets one sign apply to all parts: "-(1h 30m)". */
static bool read_bracket(struct scan *scan, int sign)
{
    assert(*scan->at == '(');
    scan->at++;
    skip_blanks(scan);
    if (!read_simple(scan, sign, ')'))
        return false;
    if (*scan->at != ')')
        return fail(scan, "the bracket is not closed");
    scan->at++;
    return true;
}

/* Reads the point or comma of a number and up to nine digits behind it, and adds them as nanoseconds. Only
 * seconds may have a fraction, so the next character must be their unit. */
static bool read_fraction(struct scan *scan, int sign)
{
    assert(*scan->at == '.' || *scan->at == ',');
    hora_ns digit_value = HORA__SECOND / 10;
    for (scan->at++; hora__is_digit(*scan->at); scan->at++, digit_value /= 10) {
        if (digit_value == 0)
            return fail(scan, "a fraction has more than nine digits");
        scan->nanoseconds += digit_value * sign * (*scan->at - '0');
    }
    return lower(*scan->at) == 's' || fail(scan, "only seconds can have a fraction");
}

/* Reads the parts before or after the T. `sign` applies to all of them; each part may have another sign, and
 * the two multiply. */
static bool read_iso_parts(struct scan *scan, int sign, const struct unit *units)
{
    hora_ns than = INT64_MAX;
    while (*scan->at != '\0' && lower(*scan->at) != 't') {
        uint64_t number = 0;
        int own_sign = sign * read_sign(scan);
        if (!read_number(scan, &number))
            return false;
        bool has_fraction = *scan->at == '.' || *scan->at == ',';
        if (has_fraction && !read_fraction(scan, own_sign))
            return false;
        if (!read_unit(scan, units, than, &than))
            return false;
        add(scan, own_sign, number, than);
    }
    return true;
}

/* Reads P[nD][T[nH][nM][nS]]. At least one part must follow the P, and at least one the T if it is there. */
static bool read_iso(struct scan *scan, int sign)
{
    const char *days = ++scan->at;
    if (!read_iso_parts(scan, sign, iso_days))
        return false;
    if (lower(*scan->at) == 't') {
        const char *times = ++scan->at;
        return *times == '\0' ? fail(scan, "nothing follows T") : read_iso_parts(scan, sign, iso_times);
    }
    return scan->at != days || fail(scan, "nothing follows P");
}

/* Reads a number without a unit, which counts in the caller's unit. */
static bool read_plain(struct scan *scan, int sign, hora_ns unit)
{
    uint64_t number = 0;
    if (!read_number(scan, &number))
        return false;
    add(scan, sign, number, unit);
    return true;
}

/* Returns true if the text consists of digits only: a number in the caller's unit. */
static bool is_plain(const char *text)
{
    while (hora__is_digit(*text))
        text++;
    return *text == '\0';
}

/* Reads a duration in any of the forms, up to the end of the text. `unit` is the length of a unit for a
 * number without one. Returns false with the reason in scan->reason. */
static bool read_duration(struct scan *scan, hora_ns unit)
{
    if (*scan->at == '\0')
        return fail(scan, "the text is empty");
    int sign = read_sign(scan);
    bool is_good = is_plain(scan->at)        ? read_plain(scan, sign, unit)
                   : lower(*scan->at) == 'p' ? read_iso(scan, sign)
                   : *scan->at == '('        ? read_bracket(scan, sign)
                                             : read_simple(scan, sign, '\0');
    return is_good && (*scan->at == '\0' || fail(scan, "there is more text after the end"));
}

int hora_duration_parse(const char *text, hora_ns unit, hora_ns *ret_duration, hora_error *reason)
{
    struct scan scan = {.at = text};
    hora_ns duration;
    hora__reason_begin(reason);
    if (text == NULL || unit < 0 || ret_duration == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL,
                            "text or ret_duration is NULL, or the unit is negative");
    if (!read_duration(&scan, unit == 0 ? HORA_MS(1) : unit)) {
        size_t offset = (size_t)(scan.at - text);
        return hora__refuse_at(reason, HORA_EINVAL, offset, strlen(scan.at), NULL, "duration \"%.80s\": %s",
                               text, scan.reason);
    }
    if (!total(&scan, &duration))
        return hora__refuse(reason, HORA_ERANGE, NULL, "duration \"%.80s\": it is longer than 292 years",
                            text);
    *ret_duration = duration;
    return 0;
}

/* ---- formatting ---- */

/* Adds a part with its sign, or nothing if the number is 0. Each part carries the sign, as in
 * java.time.Duration.toString(): "PT-1H-30M". */
static void add_part(struct hora__text *out, bool is_negative, uint64_t number, char unit)
{
    if (number == 0)
        return;
    if (is_negative)
        hora__text_add_char(out, '-');
    hora__text_add_number(out, number, 1);
    hora__text_add_char(out, unit);
}

/* Adds the seconds with as few decimals as possible, and none if nanoseconds is 0. */
static void add_seconds(struct hora__text *out, bool is_negative, uint64_t seconds, uint64_t nanoseconds)
{
    assert(nanoseconds < (uint64_t)HORA__SECOND);
    if (is_negative)
        hora__text_add_char(out, '-');
    hora__text_add_number(out, seconds, 1);
    if (nanoseconds > 0) {
        int digits = 9;
        for (; nanoseconds % 10 == 0; nanoseconds /= 10)
            digits--;
        hora__text_add_char(out, '.');
        hora__text_add_number(out, nanoseconds, digits);
    }
    hora__text_add_char(out, 'S');
}

/* Hours are the largest unit, as in java.time.Duration.toString(). */
int hora_duration_format(hora_ns duration, char *text, size_t size)
{
    if (text == NULL && size > 0)
        return HORA_EINVAL;
    bool is_negative = duration < 0;
    uint64_t length = is_negative ? -(uint64_t)duration : (uint64_t)duration;
    uint64_t seconds = length / (uint64_t)HORA__SECOND;
    uint64_t nanoseconds = length % (uint64_t)HORA__SECOND;
    struct hora__text out = hora__text_begin(text, size);
    hora__text_add(&out, "PT");
    add_part(&out, is_negative, seconds / 3600, 'H');
    add_part(&out, is_negative, seconds / 60 % 60, 'M');
    if (seconds % 60 != 0 || nanoseconds != 0 || length == 0)
        add_seconds(&out, is_negative, seconds % 60, nanoseconds);
    return hora__text_end(&out);
}
