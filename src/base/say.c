/* SPDX-License-Identifier: Apache-2.0 */
/* say.c - see say.h */
#include "base/say.h"

#include <stdbool.h>

#include <hora/clock.h>

#include "base/ns.h"

#define MINUTE (60 * HORA__SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static void say_units(struct hora__text *out, int64_t number, const char *unit)
{
    hora__text_add_number(out, (uint64_t)number, 1);
    hora__text_add(out, unit);
}

/* The larger unit, and the smaller one unless there is none of it. */
static void say_both(struct hora__text *out, hora_ns duration, hora_ns large, const char *large_unit, hora_ns small,
                     const char *small_unit)
{
    say_units(out, duration / large, large_unit);
    int64_t rest = duration % large / small;
    if (rest > 0) {
        hora__text_add_char(out, ' ');
        say_units(out, rest, small_unit);
    }
}

static void say_seconds(struct hora__text *out, hora_ns duration)
{
    hora__text_add_number(out, (uint64_t)(duration / HORA__SECOND), 1);
    int64_t tenth = duration % HORA__SECOND / (HORA__SECOND / 10);
    if (duration < 10 * HORA__SECOND && tenth > 0) {
        hora__text_add_char(out, '.');
        hora__text_add_number(out, (uint64_t)tenth, 1);
    }
    hora__text_add(out, " s");
}

void hora__say_duration(struct hora__text *out, hora_ns duration)
{
    if (duration <= 0)
        hora__text_add(out, "0 s");
    else if (duration < HORA_US(1))
        say_units(out, duration, " ns");
    else if (duration < HORA_MS(1))
        say_units(out, duration / HORA_US(1), " us");
    else if (duration < HORA__SECOND)
        say_units(out, duration / HORA_MS(1), " ms");
    else if (duration < MINUTE)
        say_seconds(out, duration);
    else if (duration < 10 * MINUTE)
        say_both(out, duration, MINUTE, " min", HORA__SECOND, " s");
    else if (duration < HOUR)
        say_units(out, duration / MINUTE, " min");
    else if (duration < DAY)
        say_both(out, duration, HOUR, " h", MINUTE, " min");
    else
        say_both(out, duration, DAY, " d", HOUR, " h");
}

void hora__say_ordinal(struct hora__text *out, int64_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    int64_t last = number % 10;
    bool is_teen = number % 100 / 10 == 1;
    hora__text_add_number(out, (uint64_t)number, 1);
    hora__text_add(out, endings[is_teen || last > 3 ? 0 : last]);
}

void hora__say_number(struct hora__text *out, int64_t number)
{
    if (number < 0)
        hora__text_add_char(out, '-');
    hora__text_add_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

void hora__say_count(struct hora__text *out, int64_t number, const char *noun)
{
    hora__say_number(out, number);
    hora__text_add_char(out, ' ');
    hora__text_add(out, noun);
    if (number != 1)
        hora__text_add_char(out, 's');
}
