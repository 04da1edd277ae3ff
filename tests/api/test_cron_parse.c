/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_parse.c - which expressions are accepted, and the error messages for the others */
#include <stdio.h>
#include <string.h>

#include "harness.h"

#define UNIX HORA_CRON_OPTIONS(.dialect = HORA_CRON_UNIX)

static bool is_taken(const char *text, const hora_cron_options *options)
{
    hora_cron *cron = NULL;
    hora_error error;
    if (hora_cron_parse(text, options, &cron, &error) < 0)
        return false;
    hora_cron_unref(cron);
    return true;
}

struct refusal {
    const char *expression;
    const char *field;
    int offset;
    int length;
    const char *text; /* without the expression */
};

static void check_refusals(const struct refusal *rows, size_t count, const hora_cron_options *options)
{
    for (size_t i = 0; i < count; i++) {
        const struct refusal *row = &rows[i];
        hora_cron *cron = NULL;
        hora_error error;
        char want[sizeof error.message];
        CHECK_ERROR(hora_cron_parse(row->expression, options, &cron, &error), HORA_EINVAL);
        CHECK_POINTER(cron, NULL);
        (void)snprintf(want, sizeof want, "%s, in \"%s\"", row->text, row->expression);
        CHECK_INT(error.code, HORA_EINVAL);
        if (strcmp(error.field, row->field) != 0 || error.offset != row->offset ||
            error.length != row->length || strcmp(error.message, want) != 0)
            test_fail(__FILE__, __LINE__, "field %s, %d+%d, %s", error.field, error.offset, error.length,
                      error.message);
    }
}

TEST(cron_refusals_say_what_and_where, "")
{
    static const struct refusal rows[] = {
        {"* * 24 * * *", "hour", 4, 2, "hour: 24 is not in 0-23"},
        {"  *  * 1,24 * * *", "hour", 9, 2, "hour: 24 is not in 0-23"},
        {"* 44-77 * * * *", "minute", 5, 2, "minute: 77 is not in 0-59"},
        {"-1 * * * * *", "second", 0, 2, "second: -1 is not in 0-59"},
        {"99999999999999999999 * * * * *", "second", 0, 20, "second: 99999999999999999999 is not in 0-59"},
        {"18446744073709551621 * * * * *", "second", 0, 20, "second: 18446744073709551621 is not in 0-59"},
        {"4294967301 * * * * *", "second", 0, 10, "second: 4294967301 is not in 0-59"},
        {"* * * * SEPT *", "month", 8, 4, "month: SEPT is not in 1-12 or JAN-DEC"},
        {"* * * * * MONDAY", "weekday", 10, 6, "weekday: MONDAY is not in 0-7 or MON-SUN"},
        {"* * 22-2 * * *", "hour", 4, 4, "hour: 22-2 runs backwards: a range ends with its largest value"},
        {"*/0 * * * * *", "second", 2, 1, "second: 0 is not a step: 1 to 2147483647"},
        {"*/2147483648 * * * * *", "second", 2, 10, "second: 2147483648 is not a step: 1 to 2147483647"},
        {"*/ * * * * *", "second", 2, 0, "second: a step is missing: 1 to 2147483647"},
        {"1,,2 * * * * *", "second", 2, 0, "second: a value is missing: 0-59"},
        {"* * * L, * *", "day", 8, 0, "day: a value is missing: 1-31"},
        {"? * * * * *", "second", 0, 1,
         "second: ? is not allowed: ? is for the day fields only; allowed here: 0-59"},
        {"* * * ?,L * *", "day", 6, 1, "day: ? is not allowed: ? must be alone in its field"},
        {"* * * L-31 * *", "day", 6, 4, "day: L-31 is none of L, L-1 to L-30, LW and 1W to 31W"},
        {"* * * 15w * *", "day", 6, 3, "day: 15w is not in 1-31; L and W must be capital letters"},
        {"* * * * * L", "weekday", 10, 1,
         "weekday: L needs a day before it: 0-7 or MON-SUN (as in FRIL, MON#2)"},
        {"* * * * * MON#6", "weekday", 14, 1, "weekday: 6 is not in 1-5 (as in MON#2)"},
        {"* * * * * MON#", "weekday", 14, 0, "weekday: a number is missing after #: 1-5"},
        {"* * * * * 1-5L", "weekday", 10, 3, "weekday: 1-5 is not a single day: 0-7 or MON-SUN"},
        {"", "cron", 0, 0, "fields are missing; six are needed: second minute hour day month weekday"},
        {"* * * *", "cron", 7, 0, "fields are missing; six are needed: second minute hour day month weekday"},
        {"* * * * * * 2025", "cron", 12, 4,
         "2025 is too much; six fields are needed: second minute hour day month weekday"},
        {" 0 3 * * *", "cron", 1, 0,
         "five fields are for the Unix dialect; six are needed, starting with second"},
        {"@year", "cron", 0, 5,
         "@year is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly"},
        {"@daily * *", "cron", 7, 3, "* * is too much: a macro must be alone"},
        {"@reboot", "cron", 0, 7, "@reboot is for the Unix dialect only"},
    };
    check_refusals(rows, sizeof rows / sizeof rows[0], NULL);
}

TEST(crontab_refusals_say_what_and_where, "")
{
    static const struct refusal rows[] = {
        {"0 24 * * *", "hour", 2, 2, "hour: 24 is not in 0-23"},
        {"0/5 * * * *", "minute", 0, 3, "minute: 0/5 has no end: a step must follow * or a range"},
        {"* * ? * *", "day", 4, 1, "day: ? is not in 1-31; ?, L, W and # are for the Spring dialect"},
        {"* * 1,LW * *", "day", 6, 2, "day: LW is not in 1-31; ?, L, W and # are for the Spring dialect"},
        {"* * * * FRIL", "weekday", 8, 4,
         "weekday: FRIL is not in 0-7 or MON-SUN; ?, L, W and # are for the Spring dialect"},
        {"* * * * FRI-MON", "weekday", 8, 7,
         "weekday: FRI-MON runs backwards: a range ends with its largest value"},
        {"0 0 3 * * *", "cron", 0, 0,
         "six fields are for the Spring dialect; five are needed, without second"},
        {"* * *", "cron", 5, 0, "fields are missing; five are needed: minute hour day month weekday"},
        {"* * * * * * x", "cron", 10, 3,
         "* x is too much; five fields are needed: minute hour day month weekday"},
        {"5~10 * * * *", "minute", 0, 4, "minute: 5~10 is not in 0-59"},
        {"%5 * * * *", "minute", 0, 2, "minute: %5 is not in 0-59"},
        {"H * * * *", "minute", 0, 1, "minute: H is not in 0-59"},
    };
    check_refusals(rows, sizeof rows / sizeof rows[0], UNIX);
}

/* What Spring takes by accident. */
TEST(cron_accidents_are_refused, "")
{
    static const char *const expressions[] = {
        "* * * * JANFEB *",    "* * * * 0JAN *",    "+5 * * * * *",       "* * * +1W * *",
        "* * * * * 1#+2",      "* * * L-31 * *",    "* * * L-999 * *",    "* * * * * MON#6",
        "* * * L,? * *",       "* * * * * ?,MON#1", "* * * \xd9\xa5 * *", "* * * * * \xef\xbc\x95",
        "\xc2\xa0* * * * * *", "* * * * * *\x01",   "*\x7f* * * * *",     "* * * * * MONL5",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++)
        if (is_taken(expressions[i], NULL))
            test_fail(__FILE__, __LINE__, "%s is taken", expressions[i]);
}

TEST(cron_spellings_that_pass, "")
{
    static const char *const expressions[] = {
        "05 00 007 * * *",
        "0 0 0 L-03 * FRI#002",
        "0\t0\n0\v*\f*\r*",
        "  @DAILY\t",
        "* * * ? * ?",
        "* * * * jan-Dec *",
        "* * * * * 5l",
        "* * * * * fril",
        "* * * * * mon#1,5L,WED",
        "* * * 1W,15,LW * *",
        "*/2147483647 * * * * *",
        "*/0000000000000000000005 * * * * *",
        "* * * * * SUN-SUN",
        "* * * * FEB/3 *",
        "0 0 0 30 2 *",
        "* *,5 * * * *",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++)
        if (!is_taken(expressions[i], NULL))
            test_fail(__FILE__, __LINE__, "%s is refused", expressions[i]);
    CHECK(is_taken("*/5 0-23/2 1,15 jan-MAR mon,SUN-TUE", UNIX));
    CHECK(is_taken("@Reboot", UNIX));
}

/* Whatever bytes an expression has, the text is printable and ends within its memory. */
TEST(cron_refusals_are_printable, "")
{
    char expression[2000];
    for (size_t length = 0; length < sizeof expression; length += 37) {
        hora_cron *cron = NULL;
        hora_error error;
        memset(expression, '*', sizeof expression);
        memset(&error, 0xff, sizeof error);
        for (size_t i = 0; i < length; i++)
            expression[i] = (char)(1 + i % 255);
        expression[length] = '\0';
        CHECK_ERROR(hora_cron_parse(expression, NULL, &cron, &error), HORA_EINVAL);
        const char *end = memchr(error.message, '\0', sizeof error.message);
        CHECK(end != NULL);
        for (const char *c = error.message; end != NULL && c < end; c++)
            CHECK(*c >= ' ' && *c <= '~');
        CHECK(error.offset >= 0 && error.length >= 0 && (size_t)(error.offset + error.length) <= length);
        CHECK(hora_cron_parse(expression, NULL, &cron, NULL) == HORA_EINVAL);
    }
}

/* A long expression is shown around the place that is wrong, up to its closing quote. */
TEST(cron_refusals_shorten_long_expressions, "")
{
    char expression[700] = "";
    for (int i = 0; i < 150; i++)
        (void)snprintf(expression + strlen(expression), sizeof expression - strlen(expression), "%d,",
                       i % 60);
    (void)snprintf(expression + strlen(expression), sizeof expression - strlen(expression), "77,5 * * * * *");
    hora_cron *cron = NULL;
    hora_error error;
    CHECK_ERROR(hora_cron_parse(expression, NULL, &cron, &error), HORA_EINVAL);
    CHECK_INT(error.length, 2);
    CHECK_INT(strncmp(expression + error.offset, "77", 2), 0);
    CHECK(strncmp(error.message, "second: 77 is not in 0-59, in \"...", 34) == 0);
    CHECK(strstr(error.message, ",77,5 * * * * *\"") != NULL);
    CHECK(strlen(error.message) < 150);
}

TEST(cron_calls_refuse_bad_input, "")
{
    hora_cron *cron = NULL;
    hora_error error;
    CHECK_ERROR(hora_cron_parse(NULL, NULL, &cron, &error), HORA_EINVAL);
    CHECK_INT(error.code, HORA_EINVAL);
    CHECK(strcmp(error.field, "cron") == 0);
    CHECK_ERROR(hora_cron_parse("@daily", NULL, NULL, &error), HORA_EINVAL);
    CHECK_ERROR(hora_cron_parse("@daily", HORA_CRON_OPTIONS(.dialect = (hora_cron_dialect)2), &cron, &error),
                HORA_EINVAL);
    CHECK_ERROR(hora_cron_parse("@daily", HORA_CRON_OPTIONS(.dst = (hora_dst)-1), &cron, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_cron_parse("@daily", &(hora_cron_options){.struct_size = 1}, &cron, &error),
                HORA_EINVAL);
    CHECK_POINTER(cron, NULL);
    CHECK_POINTER(hora_cron_ref(NULL), NULL);
    CHECK_POINTER(hora_cron_unref(NULL), NULL);
    CHECK(!hora_cron_is_reboot(NULL));
    CHECK(hora_cron_equal(NULL, NULL));
    CHECK_ERROR(hora_cron_format(NULL, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe(NULL, NULL, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe_field(NULL, HORA_CRON_FIELD_HOUR, NULL, 0), HORA_EINVAL);

    CHECK_OK(hora_cron_parse("0 3 * * *", UNIX, &cron, &error));
    CHECK(!hora_cron_equal(cron, NULL) && !hora_cron_equal(NULL, cron));
    CHECK_ERROR(hora_cron_format(cron, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe(cron, NULL, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe_field(cron, HORA_CRON_FIELD_HOUR, NULL, 1), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe_field(cron, HORA_CRON_FIELD_SECOND, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe_field(cron, (hora_cron_field)0, NULL, 0), HORA_EINVAL);
    CHECK_ERROR(hora_cron_describe_field(cron, (hora_cron_field)7, NULL, 0), HORA_EINVAL);
    hora_cron_unref(cron);

    CHECK_OK(hora_cron_parse("@reboot", UNIX, &cron, &error));
    CHECK(hora_cron_is_reboot(cron));
    CHECK_ERROR(hora_cron_describe_field(cron, HORA_CRON_FIELD_HOUR, NULL, 0), HORA_EINVAL);
    hora_cron_unref(cron);
}

TEST(cron_is_counted, "")
{
    hora_cron *cron = NULL;
    CHECK_OK(hora_cron_parse("@daily", NULL, &cron, NULL));
    CHECK_POINTER(hora_cron_ref(cron), cron);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    CHECK(!hora_cron_is_reboot(cron));
    CHECK_POINTER(hora_cron_unref(cron), NULL);
}

SWEEP(cron_parse_survives)
{
    hora_cron *cron = NULL;
    hora_error error;
    int got = hora_cron_parse("0 0 3 1,L,LW * MON#1", NULL, &cron, &error);
    CHECK(got == 0 || got == HORA_ENOMEM);
    CHECK((got == 0) == (cron != NULL));
    CHECK_ERROR(hora_cron_parse("* * 24 * * *", NULL, &cron, &error), HORA_EINVAL); /* needs no memory */
    hora_cron_unref(cron);
}
