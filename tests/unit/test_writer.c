/* SPDX-License-Identifier: Apache-2.0 */
/* test_writer.c - numbers and strings as text, handed over in pieces */
#include "base/writer.h"

#include <string.h>

#include "harness.h"

enum { MOST = 4096 };

struct sink {
    char text[MOST];
    size_t length;
    int calls;
    int fails_at; /* the call that fails; 0: none */
};

static int into_sink(const char *text, size_t length, void *context)
{
    struct sink *sink = context;
    if (++sink->calls == sink->fails_at)
        return 42;
    CHECK(length > 0 && sink->length + length < MOST);
    memcpy(sink->text + sink->length, text, length);
    sink->length += length;
    return 0;
}

static struct sink sink;
static struct hora__writer out;

static void begin(void)
{
    memset(&sink, 0, sizeof sink);
    hora__writer_begin(&out, into_sink, &sink);
}

static void check_text(const char *want)
{
    CHECK_OK(hora__writer_end(&out));
    if (strcmp(sink.text, want) != 0)
        test_fail(__FILE__, __LINE__, "got <%s>, want <%s>", sink.text, want);
    begin();
}

TEST_REAL(integers_are_written_in_full, "")
{
    begin();
    hora__writer_int(&out, 0);
    check_text("0");
    hora__writer_int(&out, -1);
    check_text("-1");
    hora__writer_int(&out, INT64_MAX);
    check_text("9223372036854775807");
    hora__writer_int(&out, INT64_MIN);
    check_text("-9223372036854775808");
}

TEST_REAL(seconds_are_exact, "")
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {1, "0.000000001"},
        {1234, "0.000001234"},
        {-1, "-0.000000001"},
        {500000000, "0.5"},
        {-1500000000, "-1.5"},
        {1000000000, "1.0"},
        {10000000000, "10.0"},
        {100000000, "0.1"},
        {INT64_MAX, "9223372036.854775807"},
        {INT64_MIN, "-9223372036.854775808"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hora__writer_seconds(&out, rows[i].ns);
        check_text(rows[i].text);
    }
    hora__writer_long_seconds(&out, UINT64_MAX, 999999999);
    check_text("18446744073709551615.999999999");
}

/* The examples of the specification of OpenMetrics, and %g of C. */
TEST_REAL(bounds_are_canonical_numbers, "")
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {1, "1e-09"},
        {10, "1e-08"},
        {1000, "1e-06"},
        {1024, "1.024e-06"},
        {25000, "2.5e-05"},
        {10500, "1.05e-05"},
        {99999, "9.9999e-05"},
        {100000, "0.0001"},
        {1000000, "0.001"},
        {900000000, "0.9"},
        {1700000000, "1.7"},
        {10000000000, "10.0"},
        {INT64_C(100000) * 1000000000, "100000.0"},
        {INT64_C(999999) * 1000000000, "999999.0"},
        {INT64_C(1000000) * 1000000000, "1e+06"},
        {INT64_C(2500000) * 1000000000, "2.5e+06"},
        {INT64_MAX, "9.223372036854775807e+09"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hora__writer_canonical_seconds(&out, rows[i].ns);
        check_text(rows[i].text);
    }
}

TEST_REAL(json_strings_are_escaped, "")
{
    begin();
    hora__writer_json(&out, NULL);
    check_text("null");
    hora__writer_json(&out, "");
    check_text("\"\"");
    hora__writer_json(&out, "a\"b\\c/d\b\f\n\r\t\x01\x1f\x7f");
    check_text("\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    hora__writer_json(&out, "Zürich \xE2\x82\xAC \xF0\x9F\x98\x80");
    check_text("\"Zürich \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

#define BAD "\xEF\xBF\xBD"

TEST_REAL(what_is_not_utf8_is_replaced, "")
{
    static const struct {
        const char *bytes;
        const char *text;
    } rows[] = {
        {"a\x80", "\"a" BAD "\""},                       /* alone */
        {"\xC3", "\"" BAD "\""},                         /* cut off */
        {"\xE2\x82", "\"" BAD BAD "\""},                 /* cut off later */
        {"\xE2\x82z", "\"" BAD BAD "z\""},               /* broken off */
        {"\xC0\x80", "\"" BAD BAD "\""},                 /* longer than needed */
        {"\xE0\x9F\xBF", "\"" BAD BAD BAD "\""},         /* longer than needed */
        {"\xF0\x8F\xBF\xBF", "\"" BAD BAD BAD BAD "\""}, /* longer than needed */
        {"\xED\xA0\x80", "\"" BAD BAD BAD "\""},         /* half of a pair */
        {"\xED\x9F\xBF", "\"\xED\x9F\xBF\""},            /* the last before those */
        {"\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\""},    /* the last of all */
        {"\xF4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""}, /* beyond it */
        {"\xF5\x80\x80\x80", "\"" BAD BAD BAD BAD "\""}, /* far beyond it */
        {"\xFF\xC3\n", NULL},
    };
    begin();
    for (size_t i = 0; rows[i].text != NULL; i++) {
        hora__writer_json(&out, rows[i].bytes);
        check_text(rows[i].text);
        hora__writer_label(&out, rows[i].bytes);
        check_text(rows[i].text);
    }
    hora__writer_json(&out, "\xFF\xC3\n");
    check_text("\"" BAD BAD "\\n\"");
}

TEST_REAL(labels_and_help_are_escaped, "")
{
    begin();
    hora__writer_label(&out, NULL);
    check_text("\"\"");
    hora__writer_label(&out, "C:\\x \"y\"\nz\t");
    check_text("\"C:\\\\x \\\"y\\\"\\nz\t\"");
    hora__writer_help(&out, "a \"b\" \\ \n", true);
    check_text("a \\\"b\\\" \\\\ \\n");
    hora__writer_help(&out, "a \"b\" \\ \n", false);
    check_text("a \"b\" \\\\ \\n");
}

TEST_REAL(long_texts_come_in_pieces, "")
{
    static char want[MOST];
    begin();
    for (int i = 0; i < 3 * HORA__WRITER_BUFFER; i++) {
        want[i] = (char)('a' + i % 26);
        hora__writer_char(&out, want[i]);
    }
    CHECK_INT(sink.calls, 3);
    check_text(want); /* no empty piece in the end */
    CHECK_OK(hora__writer_end(&out));
    CHECK_INT(sink.calls, 0);
}

TEST_REAL(the_first_error_is_kept, "")
{
    begin();
    sink.fails_at = 2;
    for (int i = 0; i < 5 * HORA__WRITER_BUFFER; i++)
        hora__writer_char(&out, 'x');
    CHECK_INT(sink.calls, 2);
    CHECK_INT(sink.length, HORA__WRITER_BUFFER);
    hora__writer_json(&out, "more");
    hora__writer_seconds(&out, 5);
    CHECK_INT(hora__writer_end(&out), 42);
    CHECK_INT(hora__writer_end(&out), 42);
    CHECK_INT(sink.calls, 2);
}
