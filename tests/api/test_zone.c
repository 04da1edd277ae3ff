/* SPDX-License-Identifier: Apache-2.0 */
/* test_zone.c - zones of the database: local times, transitions, and both ends of time
 *
 * The years are past ones, which no release of the database will change, or so far ahead that only a change
 * of the present rule would affect them. tests/jdk compares the whole database. */
#include <stdio.h>
#include <string.h>

#include "zone_support.h"

/* ---- gaps and overlaps ---- */

static const struct moment_row {
    const char *zone;
    const char *local;
    hora_local_kind kind;
    const char *first; /* of UTC */
    const char *second;
    int before, after;
} moment_rows[] = {
    {"Europe/Berlin", "2025-03-30T02:30:00", HORA_LOCAL_GAP, "2025-03-30T01:00:00", "2025-03-30T01:00:00",
     3600, 7200},
    {"Europe/Berlin", "2025-03-30T01:59:59", HORA_LOCAL_ONCE, "2025-03-30T00:59:59", "2025-03-30T00:59:59",
     3600, 3600},
    {"Europe/Berlin", "2025-03-30T02:00:00", HORA_LOCAL_GAP, "2025-03-30T01:00:00", "2025-03-30T01:00:00",
     3600, 7200},
    {"Europe/Berlin", "2025-03-30T03:00:00", HORA_LOCAL_ONCE, "2025-03-30T01:00:00", "2025-03-30T01:00:00",
     7200, 7200},
    {"Europe/Berlin", "2025-10-26T02:30:00", HORA_LOCAL_OVERLAP, "2025-10-26T00:30:00", "2025-10-26T01:30:00",
     7200, 3600},
    {"Europe/Berlin", "2025-10-26T01:59:59", HORA_LOCAL_ONCE, "2025-10-25T23:59:59", "2025-10-25T23:59:59",
     7200, 7200},
    {"Europe/Berlin", "2025-10-26T02:00:00", HORA_LOCAL_OVERLAP, "2025-10-26T00:00:00", "2025-10-26T01:00:00",
     7200, 3600},
    {"Europe/Berlin", "2025-10-26T03:00:00", HORA_LOCAL_ONCE, "2025-10-26T02:00:00", "2025-10-26T02:00:00",
     3600, 3600},
    {"America/New_York", "2025-03-09T02:30:00", HORA_LOCAL_GAP, "2025-03-09T07:00:00", "2025-03-09T07:00:00",
     -18000, -14400},
    {"America/New_York", "2025-11-02T01:30:00", HORA_LOCAL_OVERLAP, "2025-11-02T05:30:00",
     "2025-11-02T06:30:00", -14400, -18000},
    /* at midnight */
    {"America/Havana", "2024-03-10T00:30:00", HORA_LOCAL_GAP, "2024-03-10T05:00:00", "2024-03-10T05:00:00",
     -18000, -14400},
    {"America/Havana", "2024-11-03T00:30:00", HORA_LOCAL_OVERLAP, "2024-11-03T04:30:00",
     "2024-11-03T05:30:00", -14400, -18000},
    {"America/Sao_Paulo", "2018-11-04T00:30:00", HORA_LOCAL_GAP, "2018-11-04T03:00:00", "2018-11-04T03:00:00",
     -10800, -7200},
    {"America/Sao_Paulo", "2018-02-17T23:30:00", HORA_LOCAL_OVERLAP, "2018-02-18T01:30:00",
     "2018-02-18T02:30:00", -7200, -10800},
    {"Africa/Cairo", "2023-04-28T00:30:00", HORA_LOCAL_GAP, "2023-04-27T22:00:00", "2023-04-27T22:00:00",
     7200, 10800},
    {"Africa/Cairo", "2023-10-26T23:30:00", HORA_LOCAL_OVERLAP, "2023-10-26T20:30:00", "2023-10-26T21:30:00",
     10800, 7200},
    /* one minute after midnight, over it */
    {"America/St_Johns", "2010-03-14T00:30:00", HORA_LOCAL_GAP, "2010-03-14T03:31:00", "2010-03-14T03:31:00",
     -12600, -9000},
    {"America/St_Johns", "2010-11-06T23:30:00", HORA_LOCAL_OVERLAP, "2010-11-07T02:00:00",
     "2010-11-07T03:00:00", -9000, -12600},
    /* by half an hour, at a quarter to three, by two hours, by a quarter of an hour, by a day */
    {"Australia/Lord_Howe", "2024-10-06T02:15:00", HORA_LOCAL_GAP, "2024-10-05T15:30:00",
     "2024-10-05T15:30:00", 37800, 39600},
    {"Australia/Lord_Howe", "2024-04-07T01:45:00", HORA_LOCAL_OVERLAP, "2024-04-06T14:45:00",
     "2024-04-06T15:15:00", 39600, 37800},
    {"Pacific/Chatham", "2024-09-29T03:00:00", HORA_LOCAL_GAP, "2024-09-28T14:00:00", "2024-09-28T14:00:00",
     45900, 49500},
    {"Pacific/Chatham", "2024-04-07T03:00:00", HORA_LOCAL_OVERLAP, "2024-04-06T13:15:00",
     "2024-04-06T14:15:00", 49500, 45900},
    {"Antarctica/Troll", "2025-03-30T02:30:00", HORA_LOCAL_GAP, "2025-03-30T01:00:00", "2025-03-30T01:00:00",
     0, 7200},
    {"Antarctica/Troll", "2025-10-26T02:30:00", HORA_LOCAL_OVERLAP, "2025-10-26T00:30:00",
     "2025-10-26T02:30:00", 7200, 0},
    {"Asia/Kathmandu", "1986-01-01T00:10:00", HORA_LOCAL_GAP, "1985-12-31T18:30:00", "1985-12-31T18:30:00",
     19800, 20700},
    {"Pacific/Apia", "2011-12-30T12:00:00", HORA_LOCAL_GAP, "2011-12-30T10:00:00", "2011-12-30T10:00:00",
     -36000, 50400},
    {"Pacific/Apia", "2011-12-31T00:00:00", HORA_LOCAL_ONCE, "2011-12-30T10:00:00", "2011-12-30T10:00:00",
     50400, 50400},
    /* by an offset with seconds */
    {"Africa/Monrovia", "1972-01-07T00:30:00", HORA_LOCAL_GAP, "1972-01-07T00:44:30", "1972-01-07T00:44:30",
     -2670, 0},
    {"Africa/Monrovia", "1971-06-01T12:00:00", HORA_LOCAL_ONCE, "1971-06-01T12:44:30", "1971-06-01T12:44:30",
     -2670, -2670},
    /* where the winter is the exception, and where a month is */
    {"Europe/Dublin", "2024-03-31T01:30:00", HORA_LOCAL_GAP, "2024-03-31T01:00:00", "2024-03-31T01:00:00", 0,
     3600},
    {"Europe/Dublin", "2024-10-27T01:30:00", HORA_LOCAL_OVERLAP, "2024-10-27T00:30:00", "2024-10-27T01:30:00",
     3600, 0},
    {"Africa/Casablanca", "2024-03-10T02:30:00", HORA_LOCAL_OVERLAP, "2024-03-10T01:30:00",
     "2024-03-10T02:30:00", 3600, 0},
    {"Africa/Casablanca", "2024-04-14T02:30:00", HORA_LOCAL_GAP, "2024-04-14T02:00:00", "2024-04-14T02:00:00",
     0, 3600},
    /* past the tables of files, and before the first transition */
    {"Europe/Berlin", "2050-03-27T02:30:00", HORA_LOCAL_GAP, "2050-03-27T01:00:00", "2050-03-27T01:00:00",
     3600, 7200},
    {"Europe/Berlin", "2262-03-30T02:30:00", HORA_LOCAL_GAP, "2262-03-30T01:00:00", "2262-03-30T01:00:00",
     3600, 7200},
    {"America/New_York", "2261-11-03T01:30:00", HORA_LOCAL_OVERLAP, "2261-11-03T05:30:00",
     "2261-11-03T06:30:00", -14400, -18000},
    {"Europe/Berlin", "1850-01-01T00:00:00", HORA_LOCAL_ONCE, "1849-12-31T23:06:32", "1849-12-31T23:06:32",
     3208, 3208},
    {NULL, "2000-02-29T23:59:59", HORA_LOCAL_ONCE, "2000-02-29T23:59:59", "2000-02-29T23:59:59", 0, 0},
};

TEST_REAL(zone_knows_gaps_and_overlaps, "")
{
    for (size_t i = 0; i < sizeof moment_rows / sizeof moment_rows[0]; i++) {
        const struct moment_row *row = &moment_rows[i];
        hora_zone *zone = row->zone == NULL ? NULL : zone_named(row->zone);
        hora_local local = local_of(row->local);
        hora_local_moments got = {.first.ns = -1};
        CHECK_OK(hora_zone_to_instant(zone, &local, &got));
        if (got.kind != row->kind || got.first.ns != instant_of(row->first).ns ||
            got.second.ns != instant_of(row->second).ns || got.offset_before != row->before ||
            got.offset_after != row->after)
            test_fail(__FILE__, __LINE__, "%s %s: kind %d, %lld, %lld, %d, %d", row->zone, row->local,
                      got.kind, (long long)got.first.ns, (long long)got.second.ns, got.offset_before,
                      got.offset_after);
        hora_zone_unref(zone);
    }
}

/* ---- what the clocks show ---- */

static const struct shown_row {
    const char *zone;
    const char *instant;
    const char *text;
    int weekday, day_of_year;
    int is_dst; /* -1: that depends on how the database was built */
    const char *short_name;
} shown_rows[] = {
    {NULL, "1970-01-01T00:00:00", "1970-01-01T00:00:00Z", 4, 1, 0, "UTC"},
    {NULL, "1969-12-31T23:59:59.999999999", "1969-12-31T23:59:59.999999999Z", 3, 365, 0, "UTC"},
    {NULL, "2024-12-31T12:00:00", "2024-12-31T12:00:00Z", 2, 366, 0, "UTC"},
    {"Europe/Berlin", "2025-03-30T00:59:59", "2025-03-30T01:59:59+01:00", 7, 89, 0, "CET"},
    {"Europe/Berlin", "2025-03-30T01:00:00", "2025-03-30T03:00:00+02:00", 7, 89, 1, "CEST"},
    {"Europe/Berlin", "2025-12-31T23:30:00", "2026-01-01T00:30:00+01:00", 4, 1, 0, "CET"},
    {"Europe/Berlin", "2060-07-01T12:00:00", "2060-07-01T14:00:00+02:00", 4, 183, 1, "CEST"},
    {"Europe/Dublin", "2025-01-01T12:00:00", "2025-01-01T12:00:00Z", 3, 1, -1, "GMT"},
    {"Europe/Dublin", "2025-07-01T12:00:00", "2025-07-01T13:00:00+01:00", 2, 182, -1, "IST"},
    {"Pacific/Kiritimati", "2025-01-01T12:00:00", "2025-01-02T02:00:00+14:00", 4, 2, 0, "+14"},
    {"America/St_Johns", "2025-01-01T00:00:00", "2024-12-31T20:30:00-03:30", 2, 366, 0, "NST"},
    {"Africa/Monrovia", "1971-06-01T12:44:30", "1971-06-01T12:00:00-00:44:30", 2, 152, 0, "MMT"},
};

TEST_REAL(zone_shows_local_time, "")
{
    for (size_t i = 0; i < sizeof shown_rows / sizeof shown_rows[0]; i++) {
        const struct shown_row *row = &shown_rows[i];
        hora_zone *zone = row->zone == NULL ? NULL : zone_named(row->zone);
        hora_local local = {0};
        char text[HORA_INSTANT_TEXT] = "";
        CHECK_OK(hora_zone_to_local(zone, instant_of(row->instant), &local));
        (void)hora_instant_format(instant_of(row->instant), zone, false, text, sizeof text);
        if (strcmp(text, row->text) != 0 || local.weekday != row->weekday ||
            local.day_of_year != row->day_of_year || (row->is_dst >= 0 && local.is_dst != row->is_dst) ||
            strcmp(local.short_name, row->short_name) != 0)
            test_fail(__FILE__, __LINE__, "%s %s: %s, %d, %d, %d, %s", row->zone, row->instant, text,
                      local.weekday, local.day_of_year, local.is_dst, local.short_name);
        hora_zone_unref(zone);
    }
}

static const char *const lively_zones[] = {
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Africa/Cairo",
    "Antarctica/Troll",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
    "Africa/Monrovia",
    "America/St_Johns",
    "Europe/Dublin",
    "Africa/Casablanca",
    "Asia/Manila",
    "America/Juneau",
    "Asia/Tehran",
    "Antarctica/Casey",
    "America/Nuuk",
    "Pacific/Kiritimati",
    "Africa/El_Aaiun",
    "Asia/Gaza",
    "Antarctica/Macquarie",
    "Europe/Lisbon",
    "UTC",
};
enum { LIVELY_ZONES = sizeof lively_zones / sizeof lively_zones[0] };

/* True if the local time of an instant leads back to it. */
static void check_way_back(const hora_zone *zone, hora_instant instant)
{
    hora_local local;
    hora_local_moments moments;
    CHECK_OK(hora_zone_to_local(zone, instant, &local));
    int error = hora_zone_to_instant(zone, &local, &moments);
    if (error == HORA_ERANGE) /* the other one of two cannot be counted */
        return;
    if (error < 0 || moments.kind == HORA_LOCAL_GAP ||
        (moments.first.ns != instant.ns && moments.second.ns != instant.ns) ||
        moments.first.ns > moments.second.ns ||
        (moments.kind == HORA_LOCAL_ONCE) != (moments.first.ns == moments.second.ns))
        test_fail(__FILE__, __LINE__, "%s: %lld does not come back", hora_zone_name(zone),
                  (long long)instant.ns);
}

TEST_REAL(zone_every_instant_comes_back, "")
{
    for (size_t i = 0; i < LIVELY_ZONES; i++) {
        hora_zone *zone = zone_named(lively_zones[i]);
        for (int k = 0; k < 20000; k++) {
            uint64_t high = test_random(UINT32_MAX), low = test_random(UINT32_MAX);
            check_way_back(zone, (hora_instant){(int64_t)(high << 32 | low)});
        }
        hora_transition transition = {.at.ns = INT64_MIN};
        while (hora_zone_next_transition(zone, transition.at, &transition) == 1)
            for (int k = -90000; k <= 90000; k += 900)
                check_way_back(zone, (hora_instant){transition.at.ns + HORA_SECONDS(k)});
        hora_zone_unref(zone);
    }
}

/* ---- transitions ---- */

TEST_REAL(zone_transitions_follow_each_other, "")
{
    for (size_t i = 0; i < LIVELY_ZONES; i++) {
        hora_zone *zone = zone_named(lively_zones[i]);
        hora_transition before = {.at.ns = INT64_MIN}, next, back;
        CHECK_INT(hora_zone_previous_transition(zone, before.at, &back), 0);
        int count = 0;
        for (; hora_zone_next_transition(zone, before.at, &next) == 1; before = next, count++) {
            CHECK(next.at.ns > before.at.ns && next.offset_before != next.offset_after);
            CHECK(count == 0 || next.offset_before == before.offset_after);
            /* not the one that is there, but the one behind it */
            CHECK_INT(hora_zone_previous_transition(zone, next.at, &back), count > 0 ? 1 : 0);
            CHECK(count == 0 || back.at.ns == before.at.ns);
            CHECK_INT(hora_zone_previous_transition(zone, (hora_instant){next.at.ns + 1}, &back), 1);
            CHECK_INT(back.at.ns, next.at.ns);
            CHECK_INT(hora_zone_next_transition(zone, (hora_instant){next.at.ns - 1}, &back), 1);
            CHECK_INT(back.at.ns, next.at.ns);
        }
        CHECK_INT(hora_zone_previous_transition(zone, (hora_instant){INT64_MAX}, &back), count > 0 ? 1 : 0);
        CHECK(hora_zone_is_fixed(zone) == (count == 0));
        hora_zone_unref(zone);
    }
}

TEST(zone_next_and_previous_transition, "")
{
    hora_zone *zone = zone_named("Europe/Berlin");
    hora_transition got = {.at.ns = 0};
    CHECK_INT(hora_zone_next_transition(zone, instant_of("2025-01-01T00:00:00"), &got), 1);
    CHECK_INT(got.at.ns, instant_of("2025-03-30T01:00:00").ns);
    CHECK_INT(got.offset_before, 3600);
    CHECK_INT(got.offset_after, 7200);
    CHECK_INT(hora_zone_previous_transition(zone, instant_of("2025-01-01T00:00:00"), &got), 1);
    CHECK_INT(got.at.ns, instant_of("2024-10-27T01:00:00").ns);
    CHECK_INT(hora_zone_next_transition(zone, instant_of("2262-01-01T00:00:00"), &got), 1);
    CHECK_INT(got.at.ns, instant_of("2262-03-30T01:00:00").ns);
    CHECK_INT(hora_zone_next_transition(zone, got.at, &got), 0);
    CHECK_INT(got.at.ns, instant_of("2262-03-30T01:00:00").ns);
    CHECK_INT(hora_zone_next_transition(NULL, (hora_instant){INT64_MIN}, &got), 0);
    CHECK_INT(hora_zone_previous_transition(NULL, (hora_instant){INT64_MAX}, &got), 0);
    CHECK_ERROR(hora_zone_next_transition(zone, got.at, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_zone_previous_transition(zone, got.at, NULL), HORA_EINVAL);
    hora_zone_unref(zone);
}

/* ---- both ends of time, and beyond ---- */

static void check_ends(const hora_zone *zone)
{
    hora_local first, last;
    hora_local_moments moments;
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){INT64_MIN}, &first));
    CHECK_OK(hora_zone_to_local(zone, (hora_instant){INT64_MAX}, &last));
    CHECK_INT(first.year, 1677);
    CHECK_INT(last.year, 2262);
    CHECK_INT(first.nanosecond, 145224192);
    CHECK_INT(last.nanosecond, 854775807);
    CHECK_OK(hora_zone_to_instant(zone, &first, &moments));
    CHECK_INT(moments.first.ns, INT64_MIN);
    CHECK_OK(hora_zone_to_instant(zone, &last, &moments));
    CHECK_INT(moments.first.ns, INT64_MAX);
    first.nanosecond--;
    last.nanosecond++;
    CHECK_ERROR(hora_zone_to_instant(zone, &first, &moments), HORA_ERANGE);
    CHECK_ERROR(hora_zone_to_instant(zone, &last, &moments), HORA_ERANGE);
    CHECK_INT(moments.first.ns, INT64_MAX);
}

TEST_REAL(zone_ends_of_time, "")
{
    check_ends(NULL);
    static const char *const names[] = {"+18", "-18", "Pacific/Kiritimati", "Europe/Berlin", "America/Adak"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hora_zone *zone = zone_named(names[i]);
        check_ends(zone);
        hora_zone_unref(zone);
    }
}

TEST(zone_refuses_what_is_no_date, "")
{
    static const char *const wrong[] = {
        "2023-02-29T00:00:00", "2100-02-29T00:00:00", "2024-02-30T00:00:00", "2024-04-31T00:00:00",
        "2024-00-01T00:00:00", "2024-13-01T00:00:00", "2024-01-00T00:00:00", "2024-01-32T00:00:00",
        "2024-01-01T24:00:00", "2024-01-01T-1:00:00", "2024-01-01T00:60:00", "2024-01-01T00:-1:00",
        "2024-01-01T23:59:60", "2024-01-01T00:00:-1",
    };
    hora_local_moments moments = {.first.ns = 5};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hora_local local = local_of(wrong[i]);
        CHECK_ERROR(hora_zone_to_instant(NULL, &local, &moments), HORA_EINVAL);
    }
    hora_local local = local_of("2024-02-29T00:00:00");
    local.nanosecond = 1000000000;
    CHECK_ERROR(hora_zone_to_instant(NULL, &local, &moments), HORA_EINVAL);
    local.nanosecond = -1;
    CHECK_ERROR(hora_zone_to_instant(NULL, &local, &moments), HORA_EINVAL);
    local.nanosecond = 0;
    static const int32_t years[] = {1676, 1677, 2262, 2263, 0, -4, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof years / sizeof years[0]; i++) {
        local.year = years[i];
        local.month = years[i] == 1677 ? 1 : 12;
        local.day = 1;
        CHECK_ERROR(hora_zone_to_instant(NULL, &local, &moments), HORA_ERANGE);
    }
    CHECK_INT(moments.first.ns, 5);
    local = local_of("2024-02-29T00:00:00");
    CHECK_ERROR(hora_zone_to_instant(NULL, NULL, &moments), HORA_EINVAL);
    CHECK_ERROR(hora_zone_to_instant(NULL, &local, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_zone_to_local(NULL, (hora_instant){0}, NULL), HORA_EINVAL);
    CHECK_OK(hora_zone_to_instant(NULL, &local, &moments));
}
