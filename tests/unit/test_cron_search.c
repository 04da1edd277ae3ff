/* SPDX-License-Identifier: Apache-2.0 */
/* test_cron_search.c - the search from inside: days of a month, artificial zones, and the number of steps */
#include <stdio.h>
#include <string.h>

#include "cron/civil.h"
#include "cron/cron.h"
#include "cron/zone.h"
#include "harness.h"
#include "sys/alloc.h"

#define NS INT64_C(1000000000)

enum { HOUR = 3600, DAY = 86400 };

#define EVERY_SECOND  UINT64_C(0x0fffffffffffffff)
#define EVERY_HOUR    UINT32_C(0x00ffffff)
#define EVERY_DAY     UINT32_C(0xfffffffe)
#define EVERY_MONTH   UINT32_C(0x1ffe)
#define EVERY_WEEKDAY UINT8_C(0x7f)

static struct hora_cron every_second(void)
{
    return (struct hora_cron){
        .seconds = EVERY_SECOND,
        .minutes = EVERY_SECOND,
        .hours = EVERY_HOUR,
        .months = EVERY_MONTH,
        .days = EVERY_DAY,
        .weekdays = EVERY_WEEKDAY,
    };
}

/* ---- days of a month ---- */

struct month {
    int64_t year;
    int number;
    int length;
};

static int weekday_in(const struct month *month, int day)
{
    return hora__weekday(hora__days_from_date(month->year, month->number, day));
}

static bool is_working_day(const struct month *month, int day)
{
    return day >= 1 && day <= month->length && weekday_in(month, day) >= 1 && weekday_in(month, day) <= 5;
}

static int nearest_to(const struct month *month, int day)
{
    for (int distance = 0;; distance++) {
        if (is_working_day(month, day - distance))
            return day - distance;
        if (is_working_day(month, day + distance))
            return day + distance;
    }
}

static bool by_day(const hora_cron *cron, const struct month *month, int day)
{
    if ((cron->days >> day & 1) != 0 || (cron->before_last >> (month->length - day) & 1) != 0)
        return true;
    int last = month->length;
    while (!is_working_day(month, last))
        last--;
    if (cron->last_working_day && day == last)
        return true;
    for (int n = 1; n <= month->length; n++)
        if ((cron->nearest >> n & 1) != 0 && day == nearest_to(month, n))
            return true;
    return false;
}

static bool by_weekday(const hora_cron *cron, const struct month *month, int day)
{
    int weekday = weekday_in(month, day);
    return (cron->weekdays >> weekday & 1) != 0 ||
           ((cron->last_of >> weekday & 1) != 0 && day + 7 > month->length) ||
           (cron->nth_of[weekday] >> ((day + 6) / 7) & 1) != 0;
}

static uint32_t few_bits(int from, int to)
{
    uint32_t bits = 0;
    for (uint32_t left = test_random(4); left > 0; left--)
        bits |= UINT32_C(1) << (from + (int)test_random((uint32_t)(to - from + 1)));
    return bits;
}

static struct hora_cron some_days(void)
{
    struct hora_cron cron = every_second();
    if (test_random(3) > 0) {
        cron.days = few_bits(1, 31);
        cron.before_last = few_bits(0, 30);
        cron.nearest = few_bits(1, 31);
        cron.last_working_day = test_random(4) == 0;
    }
    if (test_random(3) > 0) {
        cron.weekdays = (uint8_t)few_bits(0, 6);
        cron.last_of = (uint8_t)few_bits(0, 6);
        cron.nth_of[test_random(7)] = (uint8_t)few_bits(1, 5);
    }
    cron.is_either_day = test_random(3) == 0;
    return cron;
}

static uint32_t days_of(const hora_cron *cron, int64_t year, int month)
{
    int first_weekday = hora__weekday(hora__days_from_date(year, month, 1));
    return hora__cron_month_mask(cron, first_weekday, hora__month_days(year, month));
}

static void check_month(const hora_cron *cron, int64_t year, int number)
{
    struct month month = {year, number, hora__month_days(year, number)};
    uint32_t want = 0;
    for (int day = 1; day <= month.length; day++) {
        bool first = by_day(cron, &month, day);
        bool second = by_weekday(cron, &month, day);
        if (cron->is_either_day ? first || second : first && second)
            want |= UINT32_C(1) << day;
    }
    CHECK_INT(days_of(cron, year, number), want);
}

/* Every length of a month with every first weekday is in 28 years. */
TEST(cron_days_of_every_kind_of_month, "")
{
    for (int round = 0; round < 300; round++) {
        struct hora_cron cron = some_days();
        for (int64_t year = 1890; year < 1918; year++)
            for (int number = 1; number <= 12; number++)
                check_month(&cron, year, number);
    }
}

/* ---- zones that no country has ---- */

enum { WINDOW = 4 * DAY, ROUNDS = 60, QUESTIONS = 500, MOST_CHANGES = 6 };

/* A zone with clock changes at any distance, to any offset: also several within an hour, and days that are
 * repeated or missing. */
static void make_zone(hora_zone *zone, int64_t base)
{
    struct hora__draft draft;
    struct hora__spans *spans = NULL;
    CHECK_OK(hora__draft_init(&draft, MOST_CHANGES + 1, 8));
    struct hora__span span = {.short_name = hora__draft_name(&draft, "X", 1)};
    span.offset = (int32_t)test_random(2 * 14 * HOUR) - 14 * HOUR;
    hora__draft_add(&draft, INT64_MIN, span);
    int64_t at = base + 2 * DAY;
    for (uint32_t left = test_random(MOST_CHANGES + 1); left > 0; left--) {
        at += 1 + test_random(test_random(3) > 0 ? HOUR : 10 * HOUR);
        int32_t change = (int32_t)test_random(5 * HOUR) - 5 * HOUR / 2;
        if (test_random(2) == 0)
            change = ((int32_t)test_random(5) - 2) * HOUR / 2;
        if (test_random(4) == 0)
            change = test_random(2) == 0 ? DAY : -DAY;
        if (span.offset + change >= -HORA__OFFSET_MAX && span.offset + change <= HORA__OFFSET_MAX)
            span.offset += change;
        hora__draft_add(&draft, at, span);
    }
    CHECK_OK(hora__draft_finish(&draft, &spans));
    hora__draft_destroy(&draft);
    hora__atomic_pointer_init(&zone->spans, spans);
}

/* In every third expression a day of the window is the only one of the month, so that the next time is far
 * away unless the clocks show the day again. */
static struct hora_cron some_cron(int64_t base)
{
    struct hora_cron cron = test_random(3) == 0 ? some_days() : every_second();
    if (test_random(3) == 0) {
        cron = every_second();
        cron.days = UINT32_C(1) << hora__date_from_days(hora__floor_div(base, DAY) + 2 + test_random(2)).day;
    }
    cron.dst = test_random(2) == 0 ? HORA_DST_ONCE : HORA_DST_LITERAL;
    cron.is_interval = test_random(6) == 0;
    cron.seconds =
        UINT64_C(1) << test_random(60) | (test_random(2) == 0 ? UINT64_C(1) << test_random(60) : 0);
    if (test_random(3) > 0)
        cron.minutes = UINT64_C(1) << test_random(60) | UINT64_C(1) << test_random(60);
    if (test_random(2) > 0)
        cron.hours =
            UINT32_C(1) << test_random(24) | UINT32_C(1) << test_random(24) | UINT32_C(1) << test_random(24);
    return cron;
}

static bool is_local_time(const hora_cron *cron, int64_t local)
{
    int64_t day = hora__floor_div(local, DAY);
    int time = (int)(local - day * DAY);
    if ((cron->seconds >> time % 60 & 1) == 0 || (cron->minutes >> time / 60 % 60 & 1) == 0 ||
        (cron->hours >> time / HOUR & 1) == 0)
        return false;
    struct hora__date date = hora__date_from_days(day);
    return (cron->months >> date.month & 1) != 0 &&
           (days_of(cron, date.year, date.month) >> date.day & 1) != 0;
}

static bool times[WINDOW]; /* which seconds of the window are times, by the words of the rule */

static void note_times(const hora_cron *cron, const struct hora__spans *spans, int64_t base)
{
    bool is_once = cron->dst == HORA_DST_ONCE && !cron->is_interval;
    int64_t latest = base + spans->spans[0].offset - 1; /* that any clock has shown */
    for (int64_t i = 0; i < WINDOW; i++) {
        int64_t local = base + i + spans->spans[hora__spans_find(spans, base + i)].offset;
        times[i] = !is_once && is_local_time(cron, local);
        for (int64_t missed = latest + 1; is_once && missed <= local && !times[i]; missed++)
            times[i] = is_local_time(cron, missed);
        latest = local > latest ? local : latest;
    }
}

static void check_question(const hora_cron *cron, const hora_zone *zone, int64_t base, int64_t at)
{
    hora_instant got = {0};
    hora_instant instant = {(base + at) * NS};
    int64_t next = at + 1;
    int64_t previous = at - 1;
    while (next < WINDOW && !times[next])
        next++;
    while (previous >= 0 && !times[previous])
        previous--;
    int is = hora_cron_next(cron, zone, instant, &got);
    CHECK(next < WINDOW ? is == 1 && got.ns == (base + next) * NS
                        : is == 0 || got.ns >= (base + WINDOW) * NS);
    is = hora_cron_previous(cron, zone, instant, &got);
    CHECK(previous >= 0 ? is == 1 && got.ns == (base + previous) * NS : is == 0 || got.ns < base * NS);
    CHECK_INT(hora_cron_matches(cron, zone, instant), times[at]);
}

TEST(cron_times_in_zones_that_no_country_has, "")
{
    for (int round = 0; round < ROUNDS; round++) {
        int64_t base = ((int64_t)test_random(400) - 200) * 365 * DAY + test_random(DAY);
        hora_zone zone = {.path = NULL};
        make_zone(&zone, base);
        const struct hora__spans *spans = hora__zone_spans(&zone);
        struct hora_cron cron = some_cron(base);
        note_times(&cron, spans, base);
        for (int i = 0; i < QUESTIONS; i++) {
            int64_t at = 1 + test_random(WINDOW - 1);
            if (test_random(2) == 0)
                at = 2 * DAY + test_random(DAY);
            if (test_random(4) == 0 && spans->count > 1)
                at = spans->begins[1 + test_random((uint32_t)spans->count - 1)] - base +
                     (int64_t)test_random(3) - 1;
            check_question(&cron, &zone, base, at);
        }
        hora__free(hora__atomic_pointer_load(&zone.spans));
    }
}

/* ---- steps ---- */

struct distance {
    const char *text;
    const char *zone;
    const char *after;
    const char *next; /* NULL: never */
    int most;         /* steps */
};

static void check_steps(const struct distance *row)
{
    hora_zone *zone;
    hora_cron *cron;
    hora_instant after;
    hora_instant want = {0};
    CHECK_OK(hora_zone_new(row->zone, NULL, &zone, NULL));
    CHECK_OK(hora_cron_parse(row->text, NULL, &cron, NULL));
    CHECK_OK(hora_instant_parse(row->after, zone, &after, NULL, NULL));
    if (row->next != NULL)
        CHECK_OK(hora_instant_parse(row->next, zone, &want, NULL, NULL));
    int64_t next = 0;
    int steps;
    CHECK_INT(hora__cron_search(cron, zone, after.ns / NS, &next, &steps), row->next != NULL);
    CHECK_INT(next, want.ns / NS);
    printf("%-16s %-18s after %-10s %-10s %5d steps\n", row->text, row->zone, row->after,
           row->next != NULL ? row->next : "never", steps);
    CHECK(steps <= row->most);
    hora_cron_unref(cron);
    hora_zone_unref(zone);
}

/* hora_instant ends in 2262: that is 2,850 months after 2024. */
TEST_REAL(cron_search_takes_few_steps, "")
{
    static const struct distance rows[] = {
        {"* * * * * *", "Europe/Berlin", "2024-01-01", "2024-01-01T00:00:01", 1},
        {"0 0 0 1 * *", "Europe/Berlin", "2024-01-01", "2024-02-01", 3},
        {"0 0 0 31 6 *", "UTC", "2024-01-01", NULL, 260},
        {"0 0 0 31 6 *", "Europe/Berlin", "2024-01-01", NULL, 260},
        {"0 0 0 30 2 *", "America/St_Johns", "1700-01-01", NULL, 600},
        {"0 0 0 L-30 2 *", "Europe/Berlin", "2024-01-01", NULL, 260},
        {"0 0 0 1 * MON#5", "Europe/Berlin", "2024-01-01", NULL, 2900},
        {"0 30 2 L 3 SUN", "Europe/Berlin", "2019-01-01", NULL, 500},
        {"0 30 2 ? 3 SUNL", "Europe/Berlin", "2019-01-01", NULL, 1500},
        {"0 30 2 ? * SUNL", "Europe/Berlin", "2019-03-01", "2019-04-28T02:30", 8},
        {"0 0 0 29 2 *", "Europe/Berlin", "2096-03-01", "2104-02-29", 15},
        {"0 0 0 29 2 SUN", "Europe/Berlin", "2088-03-01", "2128-02-29", 50},
        {"0 0 0 29 2 WED", "America/New_York", "2012-03-01", "2040-02-29", 40},
        {"0 0 0 LW * 6", "Pacific/Apia", "2010-09-25", NULL, 3200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_steps(&rows[i]);
}
