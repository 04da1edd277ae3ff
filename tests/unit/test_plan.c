/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - the arithmetic of schedules, compared with a walk over all planned times */
#include <stdio.h>

#include "harness.h"
#include "sched/plan.h"

enum { ROUNDS = 20000, MOST_TIMES = 400 };

/* The planned times of one case; the first that lies ahead of `now` is among them. */
struct times {
    hora_ns at[MOST_TIMES + 2];
    int count;
    int passed; /* how many are not after now */
};

static const hora_missed rules[] = {HORA_MISSED_ONCE, HORA_MISSED_BURST, HORA_MISSED_SKIP,
                                    HORA_MISSED_AT_MOST};

static hora_ns random_ns(hora_ns below)
{
    uint64_t high = test_random(UINT32_MAX), low = test_random(UINT32_MAX);
    return (hora_ns)((high << 32 | low) % (uint64_t)below);
}

static bool is_made_up(const hora_schedule *spec, const struct times *times, int i)
{
    switch (spec->missed) {
    case HORA_MISSED_ONCE:
        return i == times->passed - 1;
    case HORA_MISSED_BURST:
        return true;
    case HORA_MISSED_SKIP:
        return times->passed == 1;
    case HORA_MISSED_AT_MOST:
    default:
        return i >= times->passed - spec->missed_max;
    }
}

/* The first time that is made up and not too late; if there is none, the first that lies ahead. */
static struct hora__decision walk(const hora_schedule *spec, const struct times *times, hora_ns now)
{
    for (int i = 0; i < times->passed; i++) {
        bool too_late = spec->grace > 0 && now - times->at[i] > spec->grace;
        if (!too_late && is_made_up(spec, times, i))
            return (struct hora__decision){true, times->at[i], i};
    }
    hora_ns ahead = times->count > times->passed ? times->at[times->passed] : HORA_FOREVER;
    return (struct hora__decision){false, ahead, times->passed};
}

static void check_decision(const hora_schedule *spec, hora_ns now, struct hora__decision got,
                           struct hora__decision want)
{
    if (got.runs == want.runs && got.planned == want.planned && got.skipped == want.skipped)
        return;
    test_fail(__FILE__, __LINE__,
              "missed %d, %d, grace %lld, now %lld: runs %d at %lld, skips %lld; but: %d at %lld, skips %lld",
              (int)spec->missed, spec->missed_max, (long long)spec->grace, (long long)now, want.runs,
              (long long)want.planned, (long long)want.skipped, got.runs, (long long)got.planned,
              (long long)got.skipped);
}

static hora_schedule random_rules(hora_ns every)
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.missed = rules[test_random(4)];
    if (spec.missed == HORA_MISSED_AT_MOST)
        spec.missed_max = 1 + (int)test_random(test_random(2) == 0 ? 3 : MOST_TIMES);
    if (test_random(2) == 0)
        spec.grace = 1 + random_ns(every > HORA_FOREVER / 8 ? every : every * (1 + (hora_ns)test_random(8)));
    return spec;
}

/* ---- rates ---- */

static void grid(struct times *times, hora_ns first, hora_ns every, hora_ns now)
{
    __extension__ typedef __int128 wide;
    *times = (struct times){.count = 0};
    for (wide at = first; times->count <= MOST_TIMES; at += every) {
        if (at <= now)
            times->passed++;
        else if (at >= HORA_FOREVER)
            return;
        times->at[times->count++] = (hora_ns)at;
        if (at > now)
            return;
    }
}

static void check_rate(hora_ns first, hora_ns every, hora_ns now)
{
    struct times times;
    grid(&times, first, every, now);
    hora_schedule spec = random_rules(every);
    check_decision(&spec, now, hora__plan_rate(&spec, every, first, now), walk(&spec, &times, now));
    CHECK_INT(hora__plan_passed(first, every, now), times.passed);
}

TEST(plan_rate_agrees_with_a_walk_through_small_numbers, "")
{
    for (int i = 0; i < ROUNDS; i++) {
        hora_ns every = 1 + test_random(9);
        hora_ns first = (hora_ns)test_random(41) - 20;
        check_rate(first, every, first + test_random(60));
    }
}

TEST(plan_rate_agrees_with_a_walk_through_any_numbers, "")
{
    for (int i = 0; i < ROUNDS; i++) {
        hora_ns every = 1 + random_ns(HORA_HOURS(24));
        hora_ns first = random_ns(HORA_FOREVER / 2) - HORA_FOREVER / 4;
        hora_ns now = first + random_ns(every) + every * (hora_ns)test_random(MOST_TIMES - 1);
        check_rate(first, every, now);
    }
}

/* A time beyond the countable range is never reached. */
TEST(plan_rate_saturates, "")
{
    for (int i = 0; i < ROUNDS; i++) {
        hora_ns every = HORA_FOREVER / (1 + test_random(MOST_TIMES / 2));
        hora_ns first = test_random(2) == 0 ? random_ns(every) : 0;
        hora_ns now = HORA_FOREVER - 1 - (test_random(2) == 0 ? random_ns(every) : 0);
        if (now >= first)
            check_rate(first, every, now);
    }
}

/* With times further apart than time can count, only the sums are bounded: nothing wraps around, and no run
 * is early. */
TEST(plan_rate_survives_all_extremes, "")
{
    static const hora_ns extremes[] = {
        INT64_MIN,     INT64_MIN + 1,    INT64_MIN / 2,   -1, 0, 1, INT64_MAX / 2,
        INT64_MAX - 2, HORA_FOREVER - 1, HORA_SECONDS(1), 7};
    enum { COUNT = sizeof extremes / sizeof *extremes };
    for (int i = 0; i < COUNT * COUNT * COUNT * 4; i++) {
        hora_ns first = extremes[i % COUNT], now = extremes[i / COUNT % COUNT];
        hora_ns every = extremes[i / COUNT / COUNT % COUNT];
        if (every <= 0 || now < first)
            continue;
        hora_schedule spec = random_rules(every);
        struct hora__decision decision = hora__plan_rate(&spec, every, first, now);
        CHECK(decision.planned >= first);
        CHECK(!decision.runs || decision.planned <= now);
        CHECK(decision.skipped >= 0);
    }
}

TEST(plan_grid_finds_the_first_time_from_then, "")
{
    for (int i = 0; i < ROUNDS; i++) {
        hora_ns every = 1 + test_random(9), first = (hora_ns)test_random(41) - 20,
                from = (hora_ns)test_random(81) - 40;
        hora_ns want = first;
        while (want >= from)
            want -= every;
        while (want < from)
            want += every;
        CHECK_INT(hora__plan_grid(first, every, from), want);
    }
    CHECK_INT(hora__plan_grid(0, HORA_FOREVER / 2 + 1, HORA_FOREVER - 1), HORA_FOREVER);
    CHECK_INT(hora__plan_grid(5, HORA_FOREVER - 1, 5), 5);
    CHECK_INT(hora__plan_grid(INT64_MIN, 1, INT64_MIN), INT64_MIN);
}

/* ---- functions ---- */

static hora_ns after_last_planned(const hora_trigger_context *context, void *arg)
{
    const struct times *times = arg;
    for (int i = 0; i < times->count; i++)
        if (times->at[i] > context->last_planned)
            return times->at[i];
    return HORA_NEVER;
}

/* Times at random distances, some of which may be 1; mostly followed by one that lies ahead, else by none. */
static hora_ns random_times(struct times *times)
{
    *times = (struct times){.passed = 1 + (int)test_random(20)};
    hora_ns at = (hora_ns)test_random(2000) - 1000;
    for (int i = 0; i < times->passed; i++, at += 1 + test_random(30))
        times->at[times->count++] = at;
    hora_ns last = times->at[times->count - 1];
    if (test_random(4) > 0)
        times->at[times->count++] = at;
    return last + (hora_ns)test_random((uint32_t)(at - last));
}

TEST(plan_asked_agrees_with_a_walk, "")
{
    for (int i = 0; i < ROUNDS; i++) {
        struct times times;
        hora_ns now = random_times(&times);
        hora_schedule spec = random_rules(15);
        spec.next = after_last_planned;
        spec.next_arg = &times;
        hora_trigger_context context = {.struct_size = sizeof context, .now = now};
        check_decision(&spec, now, hora__plan_asked(&spec, &context, times.at[0]), walk(&spec, &times, now));
    }
}

static hora_ns always_the_same(const hora_trigger_context *context, void *arg)
{
    (void)context;
    return *(const hora_ns *)arg;
}

TEST(plan_asked_is_content_with_an_answer_that_does_not_move_on, "")
{
    hora_ns answer = 5;
    for (int i = 0; i < 4; i++) {
        hora_schedule spec = HORA_INIT(hora_schedule);
        spec.missed = rules[i];
        spec.missed_max = 3;
        spec.next = always_the_same;
        spec.next_arg = &answer;
        hora_trigger_context context = {.struct_size = sizeof context, .now = 100};
        struct hora__decision decision = hora__plan_asked(&spec, &context, 5);
        CHECK(decision.runs);
        CHECK_INT(decision.planned, 5);
        CHECK_INT(decision.skipped, 0);
    }
}

/* A clock that began in 1970 has been set: the seconds since then are not counted one by one. */
struct counting {
    hora_ns every;
    int64_t calls;
};

static hora_ns next_multiple(const hora_trigger_context *context, void *arg)
{
    struct counting *counting = arg;
    counting->calls++;
    return (context->last_planned / counting->every + 1) * counting->every;
}

static struct hora__decision set_from_1970(const hora_schedule *rules_, hora_ns every)
{
    struct counting counting = {.every = every};
    hora_schedule spec = *rules_;
    spec.next = next_multiple;
    spec.next_arg = &counting;
    hora_trigger_context context = {.struct_size = sizeof context,
                                    .now = HORA_SECONDS(INT64_C(1800000000)) + 5};
    struct hora__decision decision = hora__plan_asked(&spec, &context, every);
    CHECK(counting.calls < 1000000);
    CHECK(decision.skipped >= 100000);
    return decision;
}

TEST(plan_asked_finds_the_latest_of_very_many_times, "")
{
    const hora_ns now = HORA_SECONDS(INT64_C(1800000000));
    for (hora_ns every = HORA_SECONDS(1); every <= HORA_SECONDS(100); every *= 10) {
        struct hora__decision decision = set_from_1970(HORA_SCHEDULE(.missed = HORA_MISSED_ONCE), every);
        CHECK(decision.runs);
        CHECK_INT(decision.planned, now);
        decision = set_from_1970(HORA_SCHEDULE(.missed = HORA_MISSED_SKIP), every);
        CHECK(!decision.runs);
        CHECK_INT(decision.planned, now + every);
        decision = set_from_1970(HORA_SCHEDULE(.missed = HORA_MISSED_AT_MOST, .missed_max = 1000), every);
        CHECK(decision.runs);
        CHECK_INT(decision.planned, now - 999 * every);
        decision = set_from_1970(HORA_SCHEDULE(.missed = HORA_MISSED_BURST, .grace = 10 * every), every);
        CHECK(decision.runs);
        CHECK_INT(decision.planned, now - 9 * every);
    }
}

/* ---- single runs ---- */

TEST(plan_single_runs_unless_it_is_too_late, "")
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    CHECK(hora__plan_single(&spec, INT64_MIN, HORA_FOREVER - 1).runs);
    spec.grace = 10;
    for (hora_ns late = 0; late <= 20; late++) {
        struct hora__decision decision = hora__plan_single(&spec, -3, -3 + late);
        CHECK_INT(decision.runs, late <= 10);
        CHECK_INT(decision.planned, late <= 10 ? -3 : HORA_FOREVER);
        CHECK_INT(decision.skipped, late <= 10 ? 0 : 1);
    }
    CHECK(!hora__plan_single(&spec, INT64_MIN, HORA_FOREVER - 1).runs);
}

/* ---- pauses ---- */

TEST(plan_pause_doubles_from_a_second_to_five_minutes_by_default, "")
{
    static const int seconds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
    hora_schedule spec = HORA_INIT(hora_schedule);
    for (int i = 0; i < (int)(sizeof seconds / sizeof *seconds); i++)
        CHECK_INT(hora__plan_pause(&spec, i + 1), HORA_SECONDS(seconds[i]));
    CHECK_INT(hora__plan_pause(&spec, INT64_MAX), HORA_SECONDS(300));
}

TEST(plan_pause_is_capped_by_the_first_one_if_that_is_longer_than_the_default, "")
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.back_off = HORA_HOURS(1);
    for (int i = 1; i < 5; i++)
        CHECK_INT(hora__plan_pause(&spec, i), HORA_HOURS(1));
}

TEST(plan_pause_grows_by_its_factor, "")
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.back_off = 100;
    spec.back_off_max = 1000;
    spec.back_off_factor = 1.5;
    static const hora_ns want[] = {100, 150, 225, 337, 506, 759, 1000, 1000};
    for (int i = 0; i < (int)(sizeof want / sizeof *want); i++)
        CHECK_INT(hora__plan_pause(&spec, i + 1), want[i]);
    spec.back_off_factor = 1;
    CHECK_INT(hora__plan_pause(&spec, INT64_MAX), 100);
}

TEST(plan_pause_saturates, "")
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.back_off = 1;
    spec.back_off_max = INT64_MAX;
    spec.back_off_factor = 1e9;
    CHECK_INT(hora__plan_pause(&spec, 1), 1);
    CHECK_INT(hora__plan_pause(&spec, 2), 1000000000);
    CHECK_INT(hora__plan_pause(&spec, 3), INT64_C(1000000000000000000));
    CHECK_INT(hora__plan_pause(&spec, 4), INT64_MAX);
    spec.back_off = INT64_MAX;
    CHECK_INT(hora__plan_pause(&spec, 1), INT64_MAX);
}

/* ---- offsets ---- */

/* A task that is identified by its name keeps its times after a restart, and in the next release: these
 * values must not change. */
TEST(plan_offset_never_changes, "")
{
    static const struct {
        const char *name;
        hora_ns spread;
        hora_ns offset;
    } known[] = {
        {"", HORA_MINUTES(1), INT64_C(11485797458)},
        {"a", HORA_MINUTES(1), INT64_C(58190756429)},
        {"b", HORA_MINUTES(1), INT64_C(14749764508)},
        {"poll", HORA_MINUTES(1), INT64_C(10281910671)},
        {"poll", HORA_HOURS(1), INT64_C(250281910671)},
        {"backup", HORA_HOURS(1), INT64_C(881157567004)},
        {"job-1", 1000, INT64_C(677)},
        {"job-2", 1000, INT64_C(998)},
        {"Z\303\274rich", HORA_SECONDS(1), INT64_C(824667456)},
        {"poll", HORA_FOREVER, INT64_C(7116181450281910671)},
    };
    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        CHECK_INT(hora__plan_offset(known[i].name, known[i].spread), known[i].offset);
    CHECK_INT(hora__plan_offset("poll", 1), 0);
    CHECK_INT(hora__plan_offset("poll", 0), 0);
    CHECK_INT(hora__plan_offset(NULL, 0), 0);
}

/* A thousand names in ten equal parts: each part has about a hundred. The names differ little, as they do in
 * practice. */
static void check_is_even(const char *format, hora_ns spread)
{
    enum { NAMES = 1000, PARTS = 10 };
    int counts[PARTS] = {0};
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, format, i);
        hora_ns offset = hora__plan_offset(name, spread);
        CHECK(offset >= 0 && offset < spread);
        counts[offset / (spread / PARTS + 1)]++;
    }
    for (int i = 0; i < PARTS; i++)
        CHECK(counts[i] > 70 && counts[i] < 130); /* three standard deviations */
}

TEST(plan_offsets_are_spread_evenly, "")
{
    static const hora_ns spreads[] = {1000, HORA_SECONDS(1), HORA_MINUTES(1), HORA_HOURS(24), HORA_FOREVER};
    static const char *const formats[] = {"%d", "job-%d", "%d-job", "/feeds/%04d", "%010d"};
    for (int i = 0; i < 25; i++)
        check_is_even(formats[i % 5], spreads[i / 5]);
}

/* ---- start_within ---- */

static hora_ns ten_later(const hora_trigger_context *context, void *arg)
{
    (void)arg;
    return context->last_planned + 10;
}

/* A run that is late by start_by is dropped, also if start_by is only a nanosecond. */
TEST(plan_start_by_drops_what_is_late_by_that_much, "")
{
    const hora_schedule schedules[] = {
        {.struct_size = sizeof(hora_schedule)},
        {.struct_size = sizeof(hora_schedule), .fixed_rate = 10},
        {.struct_size = sizeof(hora_schedule), .fixed_delay = 10},
        {.struct_size = sizeof(hora_schedule), .next = ten_later},
    };
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (hora_ns start_by = 1; start_by <= 3; start_by++)
            for (hora_ns late = 0; late <= 3; late++) {
                hora_trigger_context context = {
                    .struct_size = sizeof context, .now = 100 + late, .last_planned = 90};
                struct hora__decision decision = {.runs = true, .planned = 100};
                int64_t dropped = hora__plan_start_by(&schedules[i], 10, &context, start_by, &decision);
                CHECK_INT(dropped, late < start_by ? 0 : 1);
                CHECK_INT(decision.runs, late < start_by);
                hora_ns ahead = i == 0 ? HORA_FOREVER : i == 2 ? context.now + 10 : 110;
                CHECK_INT(decision.planned, late < start_by ? 100 : ahead);
            }
}
