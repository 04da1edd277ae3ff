/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_missed.c - planned times that were missed: the four rules, and grace
 *
 * A time is missed because the run before took too long, all threads were busy, the machine was suspended,
 * the clock was set forward, or the task was paused. The rule is the same in all cases. */
#include "schedule_support.h"

#define RULES                       \
    {{.missed = HORA_MISSED_ONCE},  \
     {.missed = HORA_MISSED_BURST}, \
     {.missed = HORA_MISSED_SKIP},  \
     {.missed = HORA_MISSED_AT_MOST, .missed_max = 2}}
enum { ONCE, BURST, SKIP, AT_MOST, RULE_COUNT };

static const hora_schedule rules[RULE_COUNT] = RULES;

/* The spec of a rate of 2 s by one of the rules. */
static hora_schedule by_rule(int rule)
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.fixed_rate = SEC(2);
    spec.missed = rules[rule].missed;
    spec.missed_max = rules[rule].missed_max;
    return spec;
}

/* Times 0 2 4 6 8 10 12; at 9 those of 2 4 6 8 have passed. */
static void check_rule(struct tick *tick, hora_future *future, int rule)
{
    switch (rule) {
    case ONCE: /* that of 8 stands for all */
        CHECK_STARTS(tick, 0, 9, 10, 12);
        CHECK_INT(info_of(future).skipped, 3);
        break;
    case BURST:
        CHECK_STARTS(tick, 0, 9, 9, 9, 9, 10, 12);
        CHECK_INT(info_of(future).skipped, 0);
        break;
    case SKIP:
        CHECK_STARTS(tick, 0, 10, 12);
        CHECK_INT(info_of(future).skipped, 4);
        break;
    default: /* 6 and 8 */
        CHECK_STARTS(tick, 0, 9, 9, 10, 12);
        CHECK_INT(info_of(future).skipped, 2);
        break;
    }
}

TEST(schedule_missed_since_a_run_took_too_long, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
        struct tick tick = {.stage = &s, .lasts_first = 9};
        hora_schedule spec = by_rule(rule);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 13);
        check_rule(&tick, future, rule);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_missed_since_all_threads_were_busy, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = A_TICK(&s), blocker = {.stage = &s, .lasts = 8};
        hora_schedule spec = by_rule(rule);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        hora_future *other = START(&s, &blocker, .initial_delay = SEC(1));
        stage_pass(&s, 13);
        check_rule(&tick, future, rule);
        END(&tick, future);
        END(&blocker, other);
        stage_close(&s);
    }
}

TEST(schedule_missed_since_the_machine_was_suspended, "")
{
    static const hora_clock_id clocks[] = {HORA_CLOCK_BOOTTIME, HORA_CLOCK_WALL};
    static const hora_clock_id lines[] = {HORA_CLOCK_BOOTTIME, HORA_CLOCK_WALL};

    for (int i = 0; i < 2 * RULE_COUNT; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = lines[i % 2]};
        hora_schedule spec = by_rule(i / 2);
        spec.clock = clocks[i % 2];
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 1);
        CHECK_OK(hora_virtual_clock_suspend(s.f.clock, SEC(8)));
        stage_pass(&s, 4);
        check_rule(&tick, future, i / 2);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_missed_since_the_clock_was_set_forward, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
        hora_schedule spec = by_rule(rule);
        spec.clock = HORA_CLOCK_WALL;
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 1);
        CHECK_OK(hora_virtual_clock_step_wall(s.f.clock, SEC(8)));
        stage_pass(&s, 4);
        check_rule(&tick, future, rule);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_missed_since_it_was_paused, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = A_TICK(&s);
        hora_schedule spec = by_rule(rule);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 1);
        CHECK_INT(hora_future_pause(future), 1);
        stage_pass(&s, 8);
        CHECK_STARTS(&tick, 0);
        CHECK_INT(hora_future_resume(future), 1);
        stage_pass(&s, 4);
        check_rule(&tick, future, rule);
        END(&tick, future);
        stage_close(&s);
    }
}

/* The times of a function are missed in the same way. */
TEST(schedule_missed_times_of_next, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .lasts_first = 9};
        struct timetable table = {.stage = &s, .seconds = (int[]){0, 2, 4, 6, 8, 10, 12, 14, -1}};
        hora_schedule spec = by_rule(rule);
        spec.fixed_rate = 0;
        spec.next = timetable_next;
        spec.next_arg = &table;
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 13);
        check_rule(&tick, future, rule);
        END(&tick, future);
        stage_close(&s);
    }
}

/* Less than a whole period late is not missed, by any rule. */
TEST(schedule_a_little_late_is_not_missed, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .lasts_first = 3};
        hora_schedule spec = by_rule(rule);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 6);
        CHECK_STARTS(&tick, 0, 3, 4, 6);
        CHECK_INT(info_of(future).skipped, 0);
        END(&tick, future);
        stage_close(&s);
    }
}

/* Exactly a period late: the time after it is there as well. */
TEST(schedule_a_whole_period_late_is_missed, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .lasts_first = 4};
        hora_schedule spec = by_rule(rule);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 6);
        if (rule == ONCE)
            CHECK_STARTS(&tick, 0, 4, 6);
        else if (rule == SKIP)
            CHECK_STARTS(&tick, 0, 6);
        else
            CHECK_STARTS(&tick, 0, 4, 4, 6);
        CHECK_INT(info_of(future).skipped, rule == ONCE ? 1 : rule == SKIP ? 2 : 0);
        END(&tick, future);
        stage_close(&s);
    }
}

/* A run that makes up is itself too long: it is looked at anew after each. */
TEST(schedule_that_never_catches_up_stays_on_its_planned_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick once = {.stage = &s, .lasts = 5}, skip = {.stage = &s, .lasts = 5},
                burst = {.stage = &s, .lasts = 5};

    hora_future *first = START(&s, &once, .fixed_rate = SEC(2));
    hora_future *second = START(&s, &skip, .fixed_rate = SEC(2), .missed = HORA_MISSED_SKIP);
    hora_future *third = START(&s, &burst, .fixed_rate = SEC(2), .missed = HORA_MISSED_BURST);
    stage_pass(&s, 22);
    CHECK_STARTS(&once, 0, 5, 10, 15, 20);
    CHECK_STARTS(&skip, 0, 6, 12, 18);
    CHECK_STARTS(&burst, 0, 5, 10, 15, 20);
    CHECK_INT(info_of(second).skipped, 6);
    CHECK_INT(info_of(third).skipped, 0);
    END(&once, first);
    END(&skip, second);
    END(&burst, third);
    stage_close(&s);
}

TEST(schedule_at_most_counts_the_latest, "")
{
    for (int most = 1; most <= 6; most++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .lasts_first = 9};
        hora_future *future =
            START(&s, &tick, .fixed_rate = SEC(2), .missed = HORA_MISSED_AT_MOST, .missed_max = most);
        stage_pass(&s, 9);
        int made_up = most < 4 ? most : 4;
        CHECK_INT(tick.runs, 1 + made_up);
        CHECK_INT(info_of(future).skipped, 4 - made_up);
        END(&tick, future);
        stage_close(&s);
    }
}

/* ---- grace ---- */

/* At 9 the times 2 4 6 8 are late by 7 5 3 1. */
TEST(schedule_grace_skips_what_is_too_late, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick ticks[4];
    hora_future *futures[4];
    static const int graces[] = {7, 5, 3, 1};

    for (int i = 0; i < 4; i++) {
        ticks[i] = (struct tick){.stage = &s, .lasts_first = 9};
        futures[i] =
            START(&s, &ticks[i], .fixed_rate = SEC(2), .missed = HORA_MISSED_BURST, .grace = SEC(graces[i]));
    }
    stage_pass(&s, 9);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(ticks[i].runs, 1 + 4 - i);
        CHECK_INT(info_of(futures[i]).skipped, i);
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

/* Later than this: exactly so late is in time. */
TEST(schedule_grace_is_exact, "")
{
    for (int late = 0; late < 2; late++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = A_TICK(&s), blocker = {.stage = &s, .lasts = 5};
        hora_future *other = START(&s, &blocker, .initial_delay = 0);
        hora_future *future = START(&s, &tick, .initial_delay = SEC(3) - late, .grace = SEC(2));
        stage_pass(&s, 9);
        CHECK_INT(tick.runs, 1 - late);
        CHECK_INT(info_of(future).skipped, late);
        CHECK_INT(hora_future_is_cancelled(future), late); /* it runs only once, and that was skipped */
        END(&tick, future);
        END(&blocker, other);
        stage_close(&s);
    }
}

/* The one run that makes up for all is too late: then none. */
TEST(schedule_grace_goes_before_the_rule, "")
{
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .lasts_first = 9};
        hora_schedule spec = by_rule(rule);
        spec.grace = HORA_MS(999);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        stage_pass(&s, 12);
        CHECK_STARTS(&tick, 0, 10, 12);
        CHECK_INT(info_of(future).skipped, 4);
        END(&tick, future);
        stage_close(&s);
    }
}

/* A gap has one planned time; if that is skipped, the next is a gap later. */
TEST(schedule_grace_of_a_gap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), blocker = {.stage = &s, .lasts = 8};

    hora_future *future = START(&s, &tick, .fixed_delay = SEC(4), .grace = SEC(2));
    hora_future *other = START(&s, &blocker, .initial_delay = SEC(1));
    stage_pass(&s, 20);
    CHECK_STARTS(&tick, 0, 13, 17); /* that of 4 would have begun at 9 */
    CHECK_INT(info_of(future).skipped, 1);
    END(&tick, future);
    END(&blocker, other);
    stage_close(&s);
}

TEST(schedule_grace_of_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts_first = 9};
    struct timetable table = {.stage = &s, .seconds = (int[]){0, 2, 4, 7, 8, 12, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table, .grace = SEC(2),
                                .missed = HORA_MISSED_BURST);
    stage_pass(&s, 12);
    CHECK_STARTS(&tick, 0, 9, 9, 12);
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

/* All remaining times are too late, and no other follows: the series ends without another run. */
TEST(schedule_grace_may_be_the_end, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts_first = 9};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .grace = HORA_MS(500), .end = stage_instant(&s, 8));
    stage_pass(&s, 12);
    CHECK_STARTS(&tick, 0);
    CHECK(hora_future_is_done(future));
    CHECK(!hora_future_is_cancelled(future));
    CHECK_INT(info_of(future).skipped, 4);
    END(&tick, future);
    stage_close(&s);
}

/* Suspended for a year, with a period of a millisecond: the missed times are computed, not visited one by
 * one. */
TEST(schedule_missed_for_a_year_is_counted_at_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    const hora_ns year = HORA_HOURS(24 * 365);

    hora_future *future = START(&s, &tick, .fixed_rate = HORA_MS(1), .clock = HORA_CLOCK_BOOTTIME);
    stage_settle(&s);
    CHECK_OK(hora_virtual_clock_suspend(s.f.clock, year));
    stage_settle(&s);
    CHECK_INT(tick.runs, 2);
    CHECK_INT(info_of(future).skipped, year / HORA_MS(1) - 1);
    END(&tick, future);
    stage_close(&s);
}

/* More times have passed than can be counted: the number stays at its maximum, for the task and in the
 * metrics. */
TEST(schedule_missed_times_are_too_many_to_count, "")
{
    static const hora_overlap overlaps[] = {HORA_OVERLAP_NEVER, HORA_OVERLAP_QUEUE_ONE, HORA_OVERLAP_ALLOW};
    for (int rule = 0; rule < RULE_COUNT; rule++)
        for (int i = 0; i < 3; i++) {
            struct stage s;
            hora_counts counts = HORA_INIT(hora_counts);
            stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2, .metrics = HORA_METRICS()));
            struct tick tick = A_TICK(&s);
            hora_future *future =
                START(&s, &tick, .at = {INT64_MIN}, .fixed_rate = 1, .count = 4, .missed = rules[rule].missed,
                      .missed_max = rules[rule].missed_max, .overlap = overlaps[i],
                      .overlap_max = overlaps[i] == HORA_OVERLAP_ALLOW ? 2 : 0);
            stage_leap(&s, 1);
            stage_leap(&s, 1);
            CHECK(info_of(future).skipped >= 0);
            if (rule != BURST && overlaps[i] == HORA_OVERLAP_NEVER)
                CHECK(info_of(future).skipped == INT64_MAX);
            CHECK_OK(hora_pool_get_counts(s.scheduler, NULL, &counts));
            CHECK(counts.skipped == info_of(future).skipped);
            END(&tick, future);
            stage_close(&s);
        }
}
