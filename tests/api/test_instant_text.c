/* SPDX-License-Identifier: Apache-2.0 */
/* test_instant_text.c - instants as texts of ISO 8601, both ways */
#include <stdio.h>
#include <string.h>

#include "zone_support.h"

static const struct {
    const char *text;
    const char *instant;
    const char *zone; /* that it names */
} good[] = {
    {"2025-03-29T01:30:00Z", "2025-03-29T01:30:00", NULL},
    {"2025-03-29t01:30:00z", "2025-03-29T01:30:00", NULL},
    {"2025-03-29 01:30:00Z", "2025-03-29T01:30:00", NULL},
    {"2025-03-29T01:30Z", "2025-03-29T01:30:00", NULL},
    {"2025-03-29T01:30:00.5Z", "2025-03-29T01:30:00.500000000", NULL},
    {"2025-03-29T01:30:00.125+01:00", "2025-03-29T00:30:00.125000000", NULL},
    {"2025-03-29T01:30:00.123456789-00:44:30", "2025-03-29T02:14:30.123456789", NULL},
    {"2025-03-29T01:30:00.000000001-004430", "2025-03-29T02:14:30.000000001", NULL},
    {"2025-03-29T01:30+0530", "2025-03-28T20:00:00", NULL},
    {"2025-03-29T01:30+18", "2025-03-28T07:30:00", NULL},
    /* of Berlin, which is the zone that is given */
    {"2025-03-29T01:30:00", "2025-03-29T00:30:00", NULL},
    {"2025-07-29T01:30", "2025-07-28T23:30:00", NULL},
    {"2025-07-29", "2025-07-28T22:00:00", NULL},
    {"2025-10-26T02:30:00", "2025-10-26T00:30:00", NULL},
    /* with a name */
    {"2025-07-01T12:00:00[America/New_York]", "2025-07-01T16:00:00", "America/New_York"},
    {"2025-07-01T12:00[UTC]", "2025-07-01T12:00:00", "UTC"},
    {"2025-07-01T12:00[+5]", "2025-07-01T07:00:00", "+05:00"},
    {"2025-11-02T01:30:00[America/New_York]", "2025-11-02T05:30:00", "America/New_York"},
    {"2025-11-02T01:30:00-04:00[America/New_York]", "2025-11-02T05:30:00", "America/New_York"},
    {"2025-11-02T01:30:00-05:00[America/New_York]", "2025-11-02T06:30:00", "America/New_York"},
    {"2025-11-02T06:30:00Z[America/New_York]", "2025-11-02T06:30:00", "America/New_York"},
    {"1971-06-01T12:00:00-00:44:30[Africa/Monrovia]", "1971-06-01T12:44:30", "Africa/Monrovia"},
    {"1677-09-21T00:12:43.145224192Z", "1677-09-21T00:12:43.145224192", NULL},
    {"2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775807", NULL},
    {"2262-04-12T01:47:16.854775807+02:00", "2262-04-11T23:47:16.854775807", NULL},
};

TEST_REAL(instant_texts_are_read, "")
{
    hora_zone *berlin = zone_named("Europe/Berlin");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        hora_instant got = {0};
        hora_zone *named = berlin; /* must be overwritten, also with NULL */
        hora_error reason = {.code = 1};
        int error = hora_instant_parse(good[i].text, berlin, &got, &named, &reason);
        if (error < 0 || got.ns != instant_of(good[i].instant).ns)
            test_fail(__FILE__, __LINE__, "%s: %d, %s, %lld", good[i].text, error,
                      error < 0 ? reason.message : "", (long long)got.ns);
        if (error == 0 && good[i].zone == NULL)
            CHECK_POINTER(named, NULL);
        else if (error == 0)
            CHECK(strcmp(hora_zone_name(named), good[i].zone) == 0);
        if (error == 0)
            hora_zone_unref(named);
        CHECK_OK(hora_instant_parse(good[i].text, berlin, &got, NULL, NULL));
    }
    hora_zone_unref(berlin);
}

static const struct {
    const char *text;
    int error;
} bad[] = {
    {"", HORA_EINVAL},
    {"2025", HORA_EINVAL},
    {"2025-03", HORA_EINVAL},
    {"2025-3-29", HORA_EINVAL},
    {"25-03-29", HORA_EINVAL},
    {"+2025-03-29", HORA_EINVAL},
    {"-2025-03-29", HORA_EINVAL},
    {"12025-03-29", HORA_EINVAL},
    {"20250329", HORA_EINVAL},
    {"2025-088", HORA_EINVAL},
    {"2025-W13-6", HORA_EINVAL},
    {" 2025-03-29", HORA_EINVAL},
    {"2025-03-29 ", HORA_EINVAL},
    {"2025-03-29T", HORA_EINVAL},
    {"2025-03-29Z", HORA_EINVAL},
    {"2025-03-29[UTC]", HORA_EINVAL},
    {"2025-03-29T01", HORA_EINVAL},
    {"2025-03-29T0130", HORA_EINVAL},
    {"2025-03-29T1:30", HORA_EINVAL},
    {"2025-03-29T01:30:", HORA_EINVAL},
    {"2025-03-29T01:30:0", HORA_EINVAL},
    {"2025-03-29T01:30:00.", HORA_EINVAL},
    {"2025-03-29T01:30:00.Z", HORA_EINVAL},
    {"2025-03-29T01:30:00.1234567890Z", HORA_EINVAL},
    {"2025-03-29T01:30:00,5Z", HORA_EINVAL},
    {"2025-03-29T01:30.5Z", HORA_EINVAL},
    {"2025-03-29T01:30:00 Z", HORA_EINVAL},
    {"2025-03-29  01:30:00", HORA_EINVAL},
    {"2025-03-29_01:30:00", HORA_EINVAL},
    {"2025-03-29T01:30:00ZZ", HORA_EINVAL},
    {"2025-03-29T01:30:00Z+01:00", HORA_EINVAL},
    {"2025-03-29T01:30:00+", HORA_EINVAL},
    {"2025-03-29T01:30:00+1", HORA_EINVAL},
    {"2025-03-29T01:30:00+1:00", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:0", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00000", HORA_EINVAL},
    {"2025-03-29T01:30:00+18:01", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:60", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00[", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00[]", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00[Europe/Paris", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00[Europe/Paris]x", HORA_EINVAL},
    {"2025-03-29T01:30:00+01:00[Europe/Paris][u-ca=hebrew]", HORA_EINVAL},
    {"2025-03-29T01:30:00[../Paris]", HORA_EINVAL},
    {"2025-03-29T01:30:00[Europe/Atlantis]", HORA_ENOENT},
    {"2025-02-29T01:30:00Z", HORA_EINVAL},
    {"2025-02-29", HORA_EINVAL},
    {"2025-13-01T01:30:00Z", HORA_EINVAL},
    {"2025-00-01T01:30:00Z", HORA_EINVAL},
    {"2025-03-29T24:00:00Z", HORA_EINVAL},
    {"2025-03-29T23:60:00Z", HORA_EINVAL},
    {"2025-03-29T23:59:60Z", HORA_EINVAL},
    /* times that do not exist, and offsets that a zone does not have then */
    {"2025-03-30T02:30:00", HORA_EINVAL},
    {"2025-03-30T02:30:00[Europe/Paris]", HORA_EINVAL},
    {"2025-03-30T02:30:00+01:00[Europe/Paris]", HORA_EINVAL},
    {"2025-07-01T12:00:00+01:00[Europe/Paris]", HORA_EINVAL},
    {"2025-07-01T12:00:00+00:00[Europe/Paris]", HORA_EINVAL},
    /* outside the range of hora_instant */
    {"1676-12-31T00:00:00Z", HORA_ERANGE},
    {"0000-01-01T00:00:00Z", HORA_ERANGE},
    {"9999-12-31T23:59:59Z", HORA_ERANGE},
    {"1677-09-21T00:12:43.145224191Z", HORA_ERANGE},
    {"2262-04-11T23:47:16.854775808Z", HORA_ERANGE},
    {"2262-04-11T23:47:16.854775807-00:00:01", HORA_ERANGE},
    {"2262-12-31T00:00:00", HORA_ERANGE},
};

TEST_REAL(instant_texts_are_refused, "")
{
    hora_zone *berlin = zone_named("Europe/Berlin"), *named = berlin;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hora_instant got = {5};
        hora_error reason = {.code = 1};
        int error = hora_instant_parse(bad[i].text, berlin, &got, &named, &reason);
        if (error != bad[i].error || got.ns != 5 || named != berlin || reason.code != error ||
            reason.message[0] == '\0')
            test_fail(__FILE__, __LINE__, "\"%s\": %s, %lld, %s", bad[i].text, hora_errname(error),
                      (long long)got.ns, reason.code < 0 ? reason.message : "");
    }
    char long_text[600];
    (void)snprintf(long_text, sizeof long_text, "2025-03-29T01:30:00[%0500d]", 0);
    hora_instant got;
    CHECK_ERROR(hora_instant_parse(long_text, NULL, &got, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_instant_parse(NULL, NULL, &got, NULL, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_instant_parse("2025-03-29", NULL, NULL, NULL, NULL), HORA_EINVAL);
    hora_zone_unref(berlin);
}

TEST(instant_is_written, "")
{
    hora_zone *berlin = zone_named("Europe/Berlin"), *fixed = zone_named("UTC+5");
    static const char winter[] = "2025-01-29T01:30:00+01:00[Europe/Berlin]";
    hora_instant instant = instant_of("2025-01-29T00:30:00");
    char text[HORA_INSTANT_TEXT];
    CHECK_INT(hora_instant_format(instant, berlin, true, text, sizeof text), strlen(winter));
    CHECK(strcmp(text, winter) == 0);
    CHECK_INT(hora_instant_format(instant, berlin, false, text, sizeof text), 25);
    CHECK(strcmp(text, "2025-01-29T01:30:00+01:00") == 0);
    CHECK_INT(hora_instant_format(instant, NULL, true, text, sizeof text), 20);
    CHECK(strcmp(text, "2025-01-29T00:30:00Z") == 0);
    CHECK_INT(hora_instant_format(instant, fixed, true, text, sizeof text), 25);
    CHECK(strcmp(text, "2025-01-29T05:30:00+05:00") == 0);
    /* as far as there is room */
    CHECK_INT(hora_instant_format(instant, berlin, true, NULL, 0), strlen(winter));
    memset(text, '#', sizeof text);
    CHECK_INT(hora_instant_format(instant, berlin, true, text, 5), strlen(winter));
    CHECK(memcmp(text, "2025\0###", 8) == 0);
    CHECK_ERROR(hora_instant_format(instant, berlin, true, NULL, 5), HORA_EINVAL);
    /* fractions have three, six or nine digits */
    static const struct {
        int64_t ns;
        const char *text;
    } fractions[] = {
        {1, "1970-01-01T00:00:00.000000001Z"},         {-1, "1969-12-31T23:59:59.999999999Z"},
        {1000, "1970-01-01T00:00:00.000001Z"},         {120000000, "1970-01-01T00:00:00.120Z"},
        {1000000, "1970-01-01T00:00:00.001Z"},         {100100, "1970-01-01T00:00:00.000100100Z"},
        {INT64_MIN, "1677-09-21T00:12:43.145224192Z"}, {INT64_MAX, "2262-04-11T23:47:16.854775807Z"},
    };
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        (void)hora_instant_format((hora_instant){fractions[i].ns}, NULL, true, text, sizeof text);
        CHECK(strcmp(text, fractions[i].text) == 0);
    }
    hora_zone_unref(fixed);
    hora_zone_unref(berlin);
}

/* HORA_INSTANT_TEXT is room for all that. */
TEST(instant_text_has_room, "")
{
    struct image image;
    hora_zone *zone = NULL;
    image_fixed(&image, -89999, "LONGEST", "");
    CHECK_OK(hora_zone_from_data("Europe/Llanfairpwllgwyngyllgogerychwyrnd", image.bytes, image.size, &zone,
                                 NULL));
    CHECK_INT(strlen(hora_zone_name(zone)), 40);
    CHECK(hora_instant_format((hora_instant){INT64_MIN}, zone, true, NULL, 0) < HORA_INSTANT_TEXT);
    hora_zone_unref(zone);
}

TEST_REAL(instant_texts_come_back, "")
{
    static const char *const names[] = {"Europe/Berlin", "Australia/Lord_Howe", "Africa/Monrovia",
                                        "Pacific/Apia", "+05:30"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hora_zone *zone = zone_named(names[i]);
        for (int k = 0; k < 2000; k++) {
            uint64_t high = test_random(UINT32_MAX), low = test_random(UINT32_MAX);
            hora_instant instant = {(int64_t)(high << 32 | low)}, back = {0};
            char text[HORA_INSTANT_TEXT];
            (void)hora_instant_format(instant, zone, k % 20 == 0, text, sizeof text);
            if (hora_instant_parse(text, NULL, &back, NULL, NULL) < 0 || back.ns != instant.ns)
                test_fail(__FILE__, __LINE__, "%s does not come back", text);
        }
        hora_zone_unref(zone);
    }
}
