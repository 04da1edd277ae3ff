/* SPDX-License-Identifier: Apache-2.0 */
/* test_zone_footer.c - rules for the future, on files that have nothing else */
#include <string.h>

#include "zone_support.h"

/* Two transitions that follow each other. */
static const struct {
    const char *footer;
    const char *from; /* the transitions after this */
    const char *first;
    int after_first;
    const char *second;
    int after_second;
} rows[] = {
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-01-01T00:00:00", "2030-03-31T01:00:00", 7200, "2030-10-27T01:00:00",
     3600},
    {"EST5EDT,M3.2.0,M11.1.0", "2030-01-01T00:00:00", "2030-03-10T07:00:00", -14400, "2030-11-03T06:00:00",
     -18000},
    {"EST+5EDT4,M3.2.0/2,M11.1.0/02:00:00", "2030-01-01T00:00:00", "2030-03-10T07:00:00", -14400,
     "2030-11-03T06:00:00", -18000},
    /* in the south the year begins in summer; no fifth week means the last one */
    {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2030-01-01T00:00:00", "2030-04-06T16:00:00", 36000,
     "2030-10-05T16:00:00", 39600},
    {"AAA0BBB,M2.5.4,M2.5.5", "2024-01-01T00:00:00", "2024-02-29T02:00:00", 3600, "2025-02-28T01:00:00", 0},
    /* half an hour, names with signs, a quarter to three, minutes and seconds */
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2030-01-01T00:00:00", "2030-04-06T15:00:00", 37800,
     "2030-10-05T15:30:00", 39600},
    {"<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45", "2030-01-01T00:00:00", "2030-04-06T14:00:00", 45900,
     "2030-09-28T14:00:00", 49500},
    {"AAA0:00:01BBB-0:00:02,J60/0:00:03,J61/-0:00:04", "2030-01-01T00:00:00", "2030-03-01T00:00:04", 2,
     "2030-03-01T23:59:54", -1},
    /* winter time is declared as daylight-saving time */
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2030-01-01T00:00:00", "2030-03-31T01:00:00", 3600, "2030-10-27T01:00:00",
     0},
    /* times before and long after midnight: Nuuk, Jerusalem, Cairo */
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-01-01T00:00:00", "2030-03-31T01:00:00", -3600,
     "2030-10-27T01:00:00", -7200},
    {"IST-2IDT,M3.4.4/26,M10.5.0", "2030-01-01T00:00:00", "2030-03-29T00:00:00", 10800, "2030-10-26T23:00:00",
     7200},
    {"EET-2EEST,M4.5.5/0,M10.5.4/24", "2030-01-01T00:00:00", "2030-04-25T22:00:00", 10800,
     "2030-10-31T21:00:00", 7200},
    /* over the end of the year, both ways */
    {"AAA0BBB,J365/167,J100", "2030-01-01T00:00:00", "2030-01-06T23:00:00", 3600, "2030-04-10T01:00:00", 0},
    {"AAA0BBB,0/-167,J100", "2030-04-11T00:00:00", "2030-12-25T01:00:00", 3600, "2031-04-10T01:00:00", 0},
    /* day 60 with and without a leap day */
    {"AAA0BBB,J60/0,J90/0", "2024-01-01T00:00:00", "2024-03-01T00:00:00", 3600, "2024-03-30T23:00:00", 0},
    {"AAA0BBB,J59/0,J90/0", "2024-01-01T00:00:00", "2024-02-28T00:00:00", 3600, "2024-03-30T23:00:00", 0},
    {"AAA0BBB,59/0,89/0", "2024-01-01T00:00:00", "2024-02-29T00:00:00", 3600, "2024-03-29T23:00:00", 0},
    {"AAA0BBB,59/0,89/0", "2023-01-01T00:00:00", "2023-03-01T00:00:00", 3600, "2023-03-30T23:00:00", 0},
    {"AAA0BBB,365/0,J90/0", "2024-04-01T00:00:00", "2024-12-31T00:00:00", 3600, "2025-03-30T23:00:00", 0},
};

static void check_row(size_t i)
{
    hora_zone *zone = NULL;
    hora_transition first = {.at.ns = 0}, second = {.at.ns = 0};
    CHECK_OK(zone_from_footer(rows[i].footer, &zone));
    int got = hora_zone_next_transition(zone, instant_of(rows[i].from), &first);
    if (got == 1)
        got = hora_zone_next_transition(zone, first.at, &second);
    if (got != 1 || first.at.ns != instant_of(rows[i].first).ns ||
        first.offset_after != rows[i].after_first || second.at.ns != instant_of(rows[i].second).ns ||
        second.offset_after != rows[i].after_second)
        test_fail(__FILE__, __LINE__, "%s: at %lld %d, at %lld %d", rows[i].footer,
                  (long long)(first.at.ns / 1000000000), first.offset_after,
                  (long long)(second.at.ns / 1000000000), second.offset_after);
    hora_zone_unref(zone);
}

TEST_REAL(footer_says_when_clocks_are_set, "")
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(i);
}

/* A rule that is in force all year: the start of the next year coincides with the end of this one, or
 * precedes it. */
TEST_REAL(footer_without_change, "")
{
    static const struct {
        const char *footer;
        int offset;
        int is_dst;
        const char *name;
    } fixed[] = {
        {"CET-1", 3600, 0, "CET"},
        {"<-03>3", -10800, 0, "-03"},
        {"ABC24", -86400, 0, "ABC"},
        {"ABC-24:59:59", 89999, 0, "ABC"},
        {"EST5EDT,0/0,J365/25", -14400, 1, "EDT"},
        {"EST5EDT4,0/0,J365/25", -14400, 1, "EDT"},
        {"ABC3EDT4,0/0,J365/23", -14400, 1, "EDT"},
        {"EST5EDT,0/0,J365/26", -14400, 1, "EDT"},
        {"EST5EDT,J100/2,J100/3", -18000, 0, "EST"},
        {"AAA0BBB,J365/167,J6/24", 0, 0, "AAA"}, /* the summer ends when it has begun, in another year */
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        hora_zone *zone = NULL;
        hora_local local;
        CHECK_OK(zone_from_footer(fixed[i].footer, &zone));
        CHECK(hora_zone_is_fixed(zone));
        for (int64_t ns = INT64_MIN; ns < INT64_MAX - HORA_HOURS(9001); ns += HORA_HOURS(9000)) {
            CHECK_OK(hora_zone_to_local(zone, (hora_instant){ns}, &local));
            if (local.offset != fixed[i].offset || local.is_dst != fixed[i].is_dst ||
                strcmp(local.short_name, fixed[i].name) != 0)
                test_fail(__FILE__, __LINE__, "%s: %d %s at %lld", fixed[i].footer, local.offset,
                          local.short_name, (long long)ns);
        }
        hora_zone_unref(zone);
    }
}

TEST_REAL(footer_holds_for_all_time, "")
{
    hora_zone *zone = NULL;
    CHECK_OK(zone_from_footer("CET-1CEST,M3.5.0,M10.5.0/3", &zone));
    hora_transition transition = {.at.ns = INT64_MIN};
    int count = 0;
    while (hora_zone_next_transition(zone, transition.at, &transition) == 1)
        count++;
    CHECK_INT(count, 2 * (2262 - 1677)); /* the autumn of 1677 to the spring of 2262 */
    hora_zone_unref(zone);
}

TEST_REAL(footer_refused, "")
{
    static const char *const wrong[] = {
        "C",
        "CE-1",
        "CET",
        "-1",
        "CET-",
        "CET-25",
        "CET-1:60",
        "CET-1:00:60",
        "CET-1:",
        "CET-1:00:",
        "<CET-1",
        "<>1",
        "<AB>1",
        "<C T>1",
        "CET-1CEST",
        "CET-1CEST-2",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-1CEST,M3.5.0,M10.5.0/3x",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5,M10.5.0",
        "CET-1CEST,J0,J100",
        "CET-1CEST,J366,J100",
        "CET-1CEST,366,J100",
        "CET-1CEST,J1000,J100",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0/-168,M10.5.0",
        "CET-1CEST,M3.5.0/,M10.5.0",
        "CET-1CEST,M3.5.0/2:,M10.5.0",
        "CET-1 ",
        " CET-1",
        "CET-1CEST;M3.5.0;M10.5.0",
        ":Europe/Paris",
        "CE1-1",
        "<CET>",
        "CET--1",
        "CET-1CEST,-1,J100",
        "ABC-26",
        "ABC-24DEF-25,J1,J2",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOP-1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hora_zone *zone = NULL;
        int error = zone_from_footer(wrong[i], &zone);
        if (error != HORA_EBADMSG || zone != NULL)
            test_fail(__FILE__, __LINE__, "\"%s\": %s", wrong[i], hora_errname(error));
    }
}

static int with_table(const char *footer, unsigned char last_type, hora_zone **ret_zone)
{
    struct image image;
    image_make(&image, &(struct image_plan){
                           .version = '2',
                           .types = {{3600, 0, "CET"}, {7200, 1, "CEST"}},
                           .transitions = 2,
                           .times = {1000, 1900000000}, /* 17 March 2030, in winter */
                           .indices = {1, last_type},
                           .footer = footer,
                       });
    return hora_zone_from_data("Made/By_Hand", image.bytes, image.size, ret_zone, NULL);
}

TEST_REAL(footer_must_agree_with_the_table, "")
{
    hora_zone *zone = NULL;
    hora_transition next;
    CHECK_ERROR(with_table("EET-2EEST,M3.5.0,M10.5.0/3", 0, &zone), HORA_EBADMSG);
    CHECK_ERROR(with_table("EET-2", 0, &zone), HORA_EBADMSG);
    CHECK_ERROR(with_table("CET-1", 1, &zone), HORA_EBADMSG);
    CHECK_POINTER(zone, NULL);
    CHECK_OK(with_table("CET-1CEST,M3.5.0,M10.5.0/3", 0, &zone));
    CHECK_INT(hora_zone_next_transition(zone, (hora_instant){HORA_SECONDS(1900000000)}, &next), 1);
    CHECK_INT(next.at.ns, instant_of("2030-03-31T01:00:00").ns);
    zone = hora_zone_unref(zone);
    /* a summer that begins too early continues, and ends as the footer says */
    CHECK_OK(with_table("CET-1CEST,M3.5.0,M10.5.0/3", 1, &zone));
    CHECK_INT(hora_zone_next_transition(zone, (hora_instant){HORA_SECONDS(1000)}, &next), 1);
    CHECK_INT(next.at.ns, instant_of("2030-10-27T01:00:00").ns);
    zone = hora_zone_unref(zone);
    /* where the table ends its own words hold, not those that the footer has for the same second */
    CHECK_OK(with_table("CET-1DST,M3.3.0/18:46:40,M10.5.0/3", 1, &zone));
    hora_local local;
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){HORA_SECONDS(1900000000)}, &local));
    CHECK(strcmp(local.short_name, "CEST") == 0);
    zone = hora_zone_unref(zone);
    /* without a footer the last type of local time continues */
    CHECK_OK(with_table("", 1, &zone));
    CHECK_INT(hora_zone_next_transition(zone, (hora_instant){HORA_SECONDS(1000)}, &next), 0);
    zone = hora_zone_unref(zone);
    /* a new name alone is no transition, and the table's stays */
    CHECK_OK(with_table("ABC-1", 0, &zone));
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){INT64_MAX}, &local));
    CHECK(strcmp(local.short_name, "CET") == 0);
    zone = hora_zone_unref(zone);
}
