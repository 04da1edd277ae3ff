/* SPDX-License-Identifier: Apache-2.0 */
/* test_duration.c - durations as texts, up to the ends of the range of hora_ns */
#include <string.h>

#include "harness.h"

static const hora_ns untouched = -42;

static void check_value(const char *text, hora_ns unit, hora_ns want)
{
    hora_ns got = untouched;
    hora_error reason = {.code = 1};
    CHECK_OK(hora_duration_parse(text, unit, &got, &reason));
    CHECK_INT(reason.code, 0);
    if (got != want)
        test_fail(__FILE__, __LINE__, "%s is %lld instead of %lld", text, (long long)got, (long long)want);
}

static void check_refused(const char *text, int error)
{
    hora_ns got = untouched;
    hora_error reason = {.code = 1};
    if (hora_duration_parse(text, 0, &got, &reason) != error || got != untouched || reason.code != error ||
        reason.message[0] == '\0')
        test_fail(__FILE__, __LINE__, "%s: %s", text, reason.code < 0 ? reason.message : "taken");
    CHECK_ERROR(hora_duration_parse(text, 0, &got, NULL), error);
}

static void check_format(hora_ns duration, const char *want)
{
    char got[64];
    CHECK_INT(hora_duration_format(duration, got, sizeof got), strlen(want));
    if (strcmp(got, want) != 0)
        test_fail(__FILE__, __LINE__, "%s instead of %s", got, want);
}

TEST(duration_forms, "")
{
    check_value("500", 0, HORA_MS(500));
    check_value("500", HORA_SECONDS(1), HORA_SECONDS(500));
    check_value("-007", 1, -7);
    check_value("+3", 7, 21);
    check_value("1d2h3m4s5ms6us7ns", 0, HORA_HOURS(26) + HORA_MINUTES(3) + HORA_SECONDS(4) + 5006007);
    check_value("1H 30M", 0, HORA_MINUTES(90));
    check_value("1h\t 30m", 0, HORA_MINUTES(90));
    check_value("-(34m 57s)", 0, -HORA_SECONDS(34 * 60 + 57));
    check_value("( 1h )", 0, HORA_HOURS(1));
    check_value("0s", 0, 0);
    check_value("pt1,5s", 0, HORA_MS(1500));
    check_value("PT1.S", 0, HORA_SECONDS(1));
    check_value("PT-0.000000001S", 0, -1);
    check_value("-PT-6H+3M", 0, HORA_HOURS(6) - HORA_MINUTES(3));
    check_value("P1D", 0, HORA_HOURS(24));
    check_value("P1000000DT-24000000H", 0, 0); /* the parts may be longer than the whole */
}

TEST(duration_refusals, "")
{
    static const char *const texts[] = {
        "",      "-",     "+",      "--5",        "5 ",     " 5",     "1.5s",  "10 s",
        "10w",   "30m1h", "1h1h",   "1h30",       "1h 30",  "1h ",    "(1h",   "1h)",
        "()",    "(5)",   "-(-5s)", "1h-5m",      "P",      "PT",     "P1",    "P1DT",
        "P1W",   "PT1D",  "P1H",    "PT1M2H",     "PT1S1S", "PT1.5M", "PT.5S", "PT1.0000000001S",
        "PT1S ", "PTS",   "T1H",    "5\xc2\xb5s", "1d\n",   "PT1SX",  "5sx",   "P-",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_refused(texts[i], HORA_EINVAL);
    hora_ns got = untouched;
    CHECK_ERROR(hora_duration_parse(NULL, 0, &got, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_duration_parse("5", -1, &got, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_duration_parse("5", 0, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_duration_format(5, NULL, 1), HORA_EINVAL);
}

TEST(duration_ends_are_exact, "")
{
    static const char *const longest[] = {"9223372036854775807ns", "106751d23h47m16s854ms775us807ns",
                                          "PT2562047H47M16.854775807S", "P106751DT23H47M16.854775807S"};
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++)
        check_value(longest[i], 0, INT64_MAX);
    check_value("9223372036854775807", 1, INT64_MAX);
    check_value("1", INT64_MAX, INT64_MAX);
    check_value("-1", INT64_MAX, -INT64_MAX);
    static const char *const shortest[] = {
        "-9223372036854775808ns", "-(106751d 23h 47m 16s 854ms 775us 808ns)", "PT-2562047H-47M-16.854775808S",
        "-P106751DT23H47M16.854775808S", "PT-2562047H-48M43.145224192S"};
    for (size_t i = 0; i < sizeof shortest / sizeof shortest[0]; i++)
        check_value(shortest[i], 0, INT64_MIN);
    static const char *const beyond[] = {"9223372036854775808ns",
                                         "-9223372036854775809ns",
                                         "106751d23h47m16s854ms775us808ns",
                                         "9223372036855",
                                         "PT2562047H47M16.854775808S",
                                         "PT-2562047H-47M-16.854775809S",
                                         "99999999999999999999s",
                                         "106752d",
                                         "999999999999999999999999999999999999999999d",
                                         "18446744073709551617ns",
                                         "9223372036854775807d",
                                         "PT-9223372037S"};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++)
        check_refused(beyond[i], HORA_ERANGE);
    CHECK_ERROR(hora_duration_parse("2", INT64_MAX, &(hora_ns){0}, NULL), HORA_ERANGE);
}

TEST(duration_texts, "")
{
    check_format(0, "PT0S");
    check_format(1, "PT0.000000001S");
    check_format(-HORA_MS(1), "PT-0.001S");
    check_format(-HORA_MS(1500), "PT-1.5S");
    check_format(HORA_HOURS(26) + HORA_MINUTES(3) + HORA_MS(4500), "PT26H3M4.5S");
    check_format(HORA_HOURS(1), "PT1H");
    check_format(-HORA_HOURS(5) - HORA_MINUTES(57), "PT-5H-57M");
    check_format(INT64_MAX, "PT2562047H47M16.854775807S");
    check_format(INT64_MIN, "PT-2562047H-47M-16.854775808S");
    char cut[5];
    CHECK_INT(hora_duration_format(HORA_HOURS(26), cut, sizeof cut), 5);
    CHECK_INT(strcmp(cut, "PT26"), 0);
    CHECK_INT(hora_duration_format(HORA_HOURS(26), NULL, 0), 5);
}

TEST_REAL(duration_texts_are_read_back, "")
{
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = (uint64_t)test_random(UINT32_MAX) << 32 | test_random(UINT32_MAX);
        hora_ns duration = (hora_ns)(bits >> test_random(64));
        char text[64];
        if (test_random(2) == 0)
            duration = -duration;
        (void)hora_duration_format(duration, text, sizeof text);
        check_value(text, 0, duration);
    }
}
