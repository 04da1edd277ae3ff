/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - numbers and times for people to read, see text.h */
#include "base/text.h"

#include <assert.h>
#include <hora/clock.h>

#include "base/ns.h"

/* Adds a number and its unit, which starts with a blank. */
static void add_units(struct hora__text *out, int64_t number, const char *unit)
{
    assert(number >= 0);
    hora__text_add_number(out, (uint64_t)number, 1);
    hora__text_add(out, unit);
}

/* Adds the duration as a number of large units, and of small units for the rest unless that number is 0: "5 h
 * 12 min", "3 d". */
static void add_two_units(struct hora__text *out, hora_ns duration, hora_ns large, const char *large_unit,
                          hora_ns small, const char *small_unit)
{
    assert(large > small && small > 0);
    add_units(out, duration / large, large_unit);
    int64_t rest = duration % large / small;
    if (rest > 0) {
        hora__text_add_char(out, ' ');
        add_units(out, rest, small_unit);
    }
}

/* Adds seconds, with one decimal below 10 s unless it is 0. */
static void add_seconds(struct hora__text *out, hora_ns duration)
{
    hora__text_add_number(out, (uint64_t)(duration / HORA__SECOND), 1);
    int64_t tenth = duration % HORA__SECOND / (HORA__SECOND / 10);
    if (duration < 10 * HORA__SECOND && tenth > 0) {
        hora__text_add_char(out, '.');
        hora__text_add_number(out, (uint64_t)tenth, 1);
    }
    hora__text_add(out, " s");
}

/* Each range has its own unit, and at most two units are shown. */
void hora__text_add_duration(struct hora__text *out, hora_ns duration)
{
    if (duration <= 0)
        hora__text_add(out, "0 s");
    else if (duration < HORA_US(1))
        add_units(out, duration, " ns");
    else if (duration < HORA_MS(1))
        add_units(out, duration / HORA_US(1), " us");
    else if (duration < HORA__SECOND)
        add_units(out, duration / HORA_MS(1), " ms");
    else if (duration < HORA_MINUTES(1))
        add_seconds(out, duration);
    else if (duration < 10 * HORA_MINUTES(1))
        add_two_units(out, duration, HORA_MINUTES(1), " min", HORA__SECOND, " s");
    else if (duration < HORA_HOURS(1))
        add_units(out, duration / HORA_MINUTES(1), " min");
    else if (duration < HORA_HOURS(24))
        add_two_units(out, duration, HORA_HOURS(1), " h", HORA_MINUTES(1), " min");
    else
        add_two_units(out, duration, HORA_HOURS(24), " d", HORA_HOURS(1), " h");
}

void hora__text_add_ordinal(struct hora__text *out, int64_t number)
{
    assert(number >= 0);
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int64_t last = number % 10;
    bool is_teen = number % 100 / 10 == 1; /* 11th, 12th and 13th */
    hora__text_add_number(out, (uint64_t)number, 1);
    hora__text_add(out, endings[is_teen || last > 3 ? 0 : last]);
}

void hora__text_add_int(struct hora__text *out, int64_t number)
{
    if (number < 0)
        hora__text_add_char(out, '-');
    hora__text_add_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

void hora__text_add_count(struct hora__text *out, int64_t number, const char *noun)
{
    assert(noun != NULL);
    hora__text_add_int(out, number);
    hora__text_add_char(out, ' ');
    hora__text_add(out, noun);
    if (number != 1)
        hora__text_add_char(out, 's');
}
