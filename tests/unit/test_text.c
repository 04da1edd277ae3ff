/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - numbers and times in words */
#include "base/text.h"

#include <string.h>

#include "harness.h"

static void check(int line, void (*say)(struct hora__text *out, int64_t number), int64_t number,
                  const char *want)
{
    char text[40];
    struct hora__text out = hora__text_begin(text, sizeof text);
    say(&out, number);
    int length = hora__text_end(&out);
    if (strcmp(text, want) != 0 || length != (int)strlen(want))
        test_fail(__FILE__, line, "%s instead of %s", text, want);
}
#define CHECK_SAYS(say, number, want) check(__LINE__, say, number, want)

TEST_REAL(say_durations, "")
{
    CHECK_SAYS(hora__text_add_duration, INT64_MIN, "0 s");
    CHECK_SAYS(hora__text_add_duration, -1, "0 s");
    CHECK_SAYS(hora__text_add_duration, 0, "0 s");
    CHECK_SAYS(hora__text_add_duration, 1, "1 ns");
    CHECK_SAYS(hora__text_add_duration, 999, "999 ns");
    CHECK_SAYS(hora__text_add_duration, 1000, "1 us");
    CHECK_SAYS(hora__text_add_duration, HORA_US(250) + 999, "250 us");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(1) - 1, "999 us");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(1), "1 ms");
    CHECK_SAYS(hora__text_add_duration, HORA_SECONDS(1) - 1, "999 ms");
    CHECK_SAYS(hora__text_add_duration, HORA_SECONDS(1), "1 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(1099), "1 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(3200), "3.2 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(9999), "9.9 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MS(10900), "10 s");
    CHECK_SAYS(hora__text_add_duration, HORA_SECONDS(60) - 1, "59 s");
    CHECK_SAYS(hora__text_add_duration, HORA_SECONDS(60), "1 min");
    CHECK_SAYS(hora__text_add_duration, HORA_SECONDS(90), "1 min 30 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(10) - 1, "9 min 59 s");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(14) + HORA_SECONDS(59), "14 min");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(60), "1 h");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(312), "5 h 12 min");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(24 * 60), "1 d");
    CHECK_SAYS(hora__text_add_duration, HORA_MINUTES(76 * 60 + 59), "3 d 4 h");
    CHECK_SAYS(hora__text_add_duration, INT64_MAX, "106751 d 23 h");
}

TEST_REAL(say_ordinals, "")
{
    CHECK_SAYS(hora__text_add_ordinal, 0, "0th");
    CHECK_SAYS(hora__text_add_ordinal, 1, "1st");
    CHECK_SAYS(hora__text_add_ordinal, 2, "2nd");
    CHECK_SAYS(hora__text_add_ordinal, 3, "3rd");
    CHECK_SAYS(hora__text_add_ordinal, 4, "4th");
    CHECK_SAYS(hora__text_add_ordinal, 11, "11th");
    CHECK_SAYS(hora__text_add_ordinal, 12, "12th");
    CHECK_SAYS(hora__text_add_ordinal, 13, "13th");
    CHECK_SAYS(hora__text_add_ordinal, 21, "21st");
    CHECK_SAYS(hora__text_add_ordinal, 111, "111th");
    CHECK_SAYS(hora__text_add_ordinal, 413, "413th");
    CHECK_SAYS(hora__text_add_ordinal, 1002, "1002nd");
}

static void say_tasks(struct hora__text *out, int64_t number)
{
    hora__text_add_count(out, number, "task");
}

TEST_REAL(say_counts, "")
{
    CHECK_SAYS(say_tasks, 0, "0 tasks");
    CHECK_SAYS(say_tasks, 1, "1 task");
    CHECK_SAYS(say_tasks, 412, "412 tasks");
    CHECK_SAYS(hora__text_add_int, -5, "-5");
    CHECK_SAYS(hora__text_add_int, INT64_MIN, "-9223372036854775808");
}
