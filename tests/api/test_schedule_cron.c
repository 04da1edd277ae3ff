/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_cron.c - cron expressions as schedules: all that holds for other series holds for them
 *
 * A stage is opened at midnight of UTC, so seconds since then are seconds of the day. */
#include "schedule_support.h"

static void step(struct stage *s, hora_ns by)
{
    stage_settle(s);
    CHECK_OK(hora_virtual_clock_step_wall(s->f.clock, by));
    stage_settle(s);
}

static void suspend(struct stage *s, hora_ns by)
{
    stage_settle(s);
    CHECK_OK(hora_virtual_clock_suspend(s->f.clock, by));
    stage_settle(s);
}

#define ON_WALL(s) {.stage = (s), .line = HORA_CLOCK_WALL}

/* ---- when ---- */

TEST(schedule_cron_runs_at_its_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    char text[] = "*/10 * * * * *", zone[] = "UTC";

    hora_future *future = START(&s, &tick, .cron = text, .zone = zone);
    text[0] = zone[0] = '\0'; /* both were copied */
    CHECK_INT(info_of(future).clock, HORA_CLOCK_WALL);
    CHECK(hora_future_is_periodic(future));
    CHECK_INT(info_of(future).next, stage_instant(&s, 10).ns); /* strictly after now */
    stage_leap(&s, SEC(10) - 1);
    CHECK_NO_START(&tick);
    stage_leap(&s, 1);
    CHECK_STARTS(&tick, 10);
    stage_pass(&s, 25);
    CHECK_STARTS(&tick, 10, 20, 30);
    CHECK_INT(info_of(future).next, stage_instant(&s, 40).ns);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_cron_has_a_zone_and_a_dialect, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick berlin = ON_WALL(&s), kathmandu = ON_WALL(&s), unix_ = ON_WALL(&s), local = ON_WALL(&s);
    hora_cron *cron = NULL;
    hora_zone *zone = NULL;
    hora_instant next = {0};

    hora_future *first = START(&s, &berlin, .cron = "0 0 9 * * *", .zone = "Europe/Berlin");
    CHECK_INT(info_of(first).next, stage_instant(&s, 8 * 3600).ns);
    hora_future *second =
        START(&s, &kathmandu, .cron = "0 0 9 * * *", .zone = "Asia/Kathmandu"); /* then +05:30 */
    CHECK_INT(info_of(second).next, stage_instant(&s, 3 * 3600 + 1800).ns);
    hora_future *third = START(&s, &unix_, .cron = "*/2 * * * *", .zone = "UTC", .dialect = HORA_CRON_UNIX);
    CHECK_INT(info_of(third).next, stage_instant(&s, 120).ns);
    hora_future *fourth = START(&s, &local, .cron = "0 0 9 * * *");
    CHECK_OK(hora_cron_parse("0 0 9 * * *", NULL, &cron, NULL));
    CHECK_OK(hora_zone_new("local", NULL, &zone, NULL));
    CHECK_INT(hora_cron_next(cron, zone, stage_instant(&s, 0), &next), 1);
    CHECK_INT(info_of(fourth).next, next.ns);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    CHECK_POINTER(hora_zone_unref(zone), NULL);
    END(&berlin, first);
    END(&kathmandu, second);
    END(&unix_, third);
    END(&local, fourth);
    stage_close(&s);
}

/* On 2026-03-29 the clocks of Berlin go from 02:00 to 03:00. */
TEST(schedule_cron_has_a_rule_for_set_clocks, "")
{
    for (int rule = 0; rule < 2; rule++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = ON_WALL(&s);
        hora_ns noon = HORA_SECONDS(INT64_C(1774695600)); /* 2026-03-28T11:00Z */
        step(&s, noon - stage_instant(&s, 0).ns);
        hora_future *future = START(&s, &tick, .cron = "0 30 2 * * *", .zone = "Europe/Berlin",
                                    .dst = rule == 0 ? HORA_DST_LITERAL : HORA_DST_ONCE);
        hora_ns next = info_of(future).next - noon;
        CHECK_INT(next, rule == 0 ? HORA_HOURS(37) + HORA_MINUTES(30) : HORA_HOURS(14));
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_cron_follows_a_first_run_that_is_given, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick by_delay = ON_WALL(&s), by_moment = ON_WALL(&s);

    hora_future *first =
        START(&s, &by_delay, .initial_delay = SEC(3), .cron = "*/10 * * * * *", .zone = "UTC");
    hora_future *second =
        START(&s, &by_moment, .at = stage_instant(&s, 15), .cron = "*/10 * * * * *", .zone = "UTC");
    step(&s, -SEC(1)); /* it stays */
    stage_pass(&s, 32);
    CHECK_STARTS(&by_delay, 3, 10, 20, 30);
    CHECK_STARTS(&by_moment, 15, 20, 30);
    END(&by_delay, first);
    END(&by_moment, second);
    stage_close(&s);
}

TEST(schedule_cron_at_reboot_runs_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);

    hora_future *future = START(&s, &tick, .cron = "@reboot", .dialect = HORA_CRON_UNIX);
    stage_pass(&s, 100000);
    CHECK_STARTS(&tick, 0);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_SUCCEEDED);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_cron_ends_by_count_and_end, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick counted = ON_WALL(&s), ended = ON_WALL(&s), rare = ON_WALL(&s);
    hora_future *none = (hora_future *)untouched;

    hora_future *first = START(&s, &counted, .cron = "*/10 * * * * *", .zone = "UTC", .count = 2);
    hora_future *second =
        START(&s, &ended, .cron = "*/10 * * * * *", .zone = "UTC", .end = stage_instant(&s, 30));
    CHECK_ERROR(hora_scheduler_schedule_with(
                    s.scheduler, TICK(&rare),
                    HORA_SCHEDULE(.cron = "0 0 0 * * *", .zone = "UTC", .end = stage_instant(&s, 86399)),
                    &none, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&rare), HORA_SCHEDULE(.cron = "0 0 0 31 2 *"),
                                             &none, NULL),
                HORA_EINVAL);
    CHECK_POINTER(none, untouched);
    CHECK_INT(rare.drops, 0);
    stage_pass(&s, 100);
    CHECK_STARTS(&counted, 10, 20);
    CHECK_STARTS(&ended, 10, 20, 30);
    CHECK_INT(hora_future_get_state(first), HORA_FUTURE_SUCCEEDED);
    CHECK_INT(hora_future_get_state(second), HORA_FUTURE_SUCCEEDED);
    END(&counted, first);
    END(&ended, second);
    stage_close(&s);
}

/* ---- missed ---- */

enum { ONCE, BURST, SKIP, AT_MOST, RULE_COUNT };

static hora_schedule by_rule(int rule)
{
    static const hora_missed rules[] = {HORA_MISSED_ONCE, HORA_MISSED_BURST, HORA_MISSED_SKIP,
                                        HORA_MISSED_AT_MOST};
    return *HORA_SCHEDULE(.cron = "*/2 * * * * *", .zone = "UTC", .missed = rules[rule],
                          .missed_max = rule == AT_MOST ? 2 : 0);
}

/* It ran at 2; at 11 the times 4 6 8 10 have passed; then it is looked at 12 and 14. */
static void check_rule(struct tick *tick, hora_future *future, int rule)
{
    switch (rule) {
    case ONCE:
        CHECK_STARTS(tick, 2, 11, 12, 14);
        CHECK_INT(info_of(future).skipped, 3);
        break;
    case BURST:
        CHECK_STARTS(tick, 2, 11, 11, 11, 11, 12, 14);
        CHECK_INT(info_of(future).skipped, 0);
        break;
    case SKIP:
        CHECK_STARTS(tick, 2, 12, 14);
        CHECK_INT(info_of(future).skipped, 4);
        break;
    default:
        CHECK_STARTS(tick, 2, 11, 11, 12, 14);
        CHECK_INT(info_of(future).skipped, 2);
        break;
    }
}

enum cause { LONG_RUN, BUSY, SUSPEND, SET_FORWARD, PAUSE, CAUSES };

static void miss(struct stage *s, hora_future *future, enum cause cause)
{
    struct tick blocker = {.stage = s, .lasts = 8};
    hora_future *other = NULL;
    if (cause == LONG_RUN) {
        stage_pass(s, 12);
        return;
    }
    stage_pass(s, 3);
    if (cause == BUSY)
        other = START(s, &blocker, .initial_delay = 0);
    if (cause == SUSPEND)
        suspend(s, SEC(8));
    else if (cause == SET_FORWARD)
        step(s, SEC(8));
    else if (cause == PAUSE)
        CHECK_INT(hora_future_pause(future), 1);
    if (cause == BUSY || cause == PAUSE)
        stage_pass(s, 8);
    if (cause == PAUSE)
        CHECK_INT(hora_future_resume(future), 1);
    stage_pass(s, 1);
    if (cause == BUSY)
        END(&blocker, other);
}

TEST(schedule_cron_makes_up_for_missed_times_by_its_rule, "")
{
    for (int i = 0; i < CAUSES * RULE_COUNT; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        enum cause cause = (enum cause)(i / RULE_COUNT);
        struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts_first = cause == LONG_RUN ? 9 : 0};
        hora_schedule spec = by_rule(i % RULE_COUNT);
        hora_future *future = start_tick(__FILE__, __LINE__, &s, &tick, &spec);
        miss(&s, future, cause);
        stage_pass(&s, 3);
        check_rule(&tick, future, i % RULE_COUNT);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_cron_that_is_too_late_is_skipped, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts_first = 9};
    hora_future *future = START(&s, &tick, .cron = "*/2 * * * * *", .zone = "UTC",
                                .missed = HORA_MISSED_BURST, .grace = SEC(3));
    stage_pass(&s, 13);
    CHECK_STARTS(&tick, 2, 11, 11, 12); /* 8 and 10 are not too late at 11 */
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

/* ---- what else a schedule can say ---- */

TEST(schedule_cron_runs_may_overlap, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = 5};
    hora_future *future = START(&s, &tick, .cron = "*/2 * * * * *", .zone = "UTC",
                                .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 13);
    CHECK_STARTS(&tick, 2, 4, 8, 10); /* 2-7 4-9 8-13 10-15: 6 and 12 find two */
    CHECK_INT(tick.most_going, 2);
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

/* Put off by the same for all, also by more than the times are apart. */
TEST(schedule_cron_is_spread, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    hora_future *future = START(&s, &tick, .cron = "*/10 * * * * *", .zone = "UTC",
                                .spread = HORA_MINUTES(10), .name = "spread");
    hora_ns offset = info_of(future).next - stage_instant(&s, 10).ns;
    CHECK(offset > SEC(60) && offset < HORA_MINUTES(10)); /* what this name gives */
    stage_leap(&s, offset + SEC(10) - 1);
    CHECK_NO_START(&tick);
    stage_leap(&s, 1);
    stage_pass(&s, 20);
    CHECK_INT(tick.runs, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(tick.starts[i], offset + SEC(10 * (i + 1)));
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

/* The same of a lenient trigger, which looks at the end of the last run. */
TEST(schedule_trigger_knows_nothing_of_the_spread, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = 1};
    hora_cron *cron = NULL;
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_cron_parse("*/10 * * * * *", NULL, &cron, NULL));
    CHECK_OK(hora_trigger_new_cron(cron, NULL, NULL, &trigger, NULL));
    hora_future *future = START(&s, &tick, .trigger = trigger, .spread = SEC(58), .name = "far");
    hora_ns offset = info_of(future).next - stage_instant(&s, 10).ns;
    CHECK(offset > SEC(20)); /* what this name gives */
    stage_leap(&s, offset + SEC(10));
    stage_pass(&s, 20);
    CHECK_INT(tick.runs, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(tick.starts[i], offset + SEC(10 * (i + 1)));
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_cron_can_be_changed, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    hora_future *future = START(&s, &tick, .cron = "*/10 * * * * *", .zone = "UTC");
    CHECK_ERROR(hora_future_reschedule(future, 0, 1), HORA_EINVAL); /* it has no rate */
    CHECK_OK(hora_future_reschedule(future, SEC(13), 0));
    stage_pass(&s, 22);
    CHECK_STARTS(&tick, 13, 20);
    CHECK_INT(hora_future_pause(future), 1);
    stage_pass(&s, 30);
    CHECK_INT(tick.runs, 2);
    CHECK_INT(hora_future_resume(future), 1);
    stage_pass(&s, 10);
    CHECK_STARTS(&tick, 13, 20, 52, 60);
    CHECK_INT(info_of(future).skipped, 2);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_cron_backs_off_and_goes_on, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .fails_from = 1, .fails_to = 2, .code = 5};
    hora_future *future = START(&s, &tick, .cron = "*/10 * * * * *", .zone = "UTC",
                                .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(25));
    stage_pass(&s, 111);
    CHECK_STARTS(&tick, 10, 35, 85, 90, 100, 110); /* 25 s, then 50 s after the failure */
    CHECK_INT(s.failures, 2);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_cron_ends_with_a_failure_if_told_so, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .fails_from = 2, .fails_to = 2, .code = 5};
    hora_future *future =
        START(&s, &tick, .cron = "*/10 * * * * *", .zone = "UTC", .failure = HORA_FAILURE_STOP);
    stage_pass(&s, 60);
    CHECK_STARTS(&tick, 10, 20);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_FAILED);
    END(&tick, future);
    stage_close(&s);
}

/* ---- clocks that are set ---- */

/* Set back by up to a minute: a time that has run does not run again. */
TEST(schedule_cron_runs_nothing_twice_when_the_clock_is_set_back_a_little, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    hora_future *future = START(&s, &tick, .cron = "*/10 * * * * *", .zone = "UTC");
    stage_pass(&s, 32);
    step(&s, -SEC(25)); /* it is 7 */
    CHECK_INT(info_of(future).next, stage_instant(&s, 40).ns);
    stage_pass(&s, 45);
    CHECK_STARTS(&tick, 10, 20, 30, 40, 50);
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

/* Set back by more: the series continues by the new time. */
TEST(schedule_cron_is_not_silenced_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    hora_future *future = START(&s, &tick, .cron = "0 * * * * *", .zone = "UTC");
    stage_pass(&s, 190);
    step(&s, -SEC(150)); /* it is 40 */
    CHECK_INT(info_of(future).next, stage_instant(&s, 60).ns);
    stage_pass(&s, 90);
    CHECK_STARTS(&tick, 60, 120, 180, 60, 120);
    step(&s, -SEC(86400));
    stage_pass(&s, 60);
    CHECK_STARTS(&tick, 60, 120, 180, 60, 120, 180 - 86400);
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

/* Before its first run, and while one is going. */
TEST(schedule_cron_finds_its_time_when_the_clock_is_set_back_before_or_during_a_run, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick first = ON_WALL(&s), running = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = 5};
    hora_future *future = START(&s, &first, .cron = "0 0 * * * *", .zone = "UTC");
    hora_future *other = START(&s, &running, .cron = "0 * * * * *", .zone = "UTC");
    stage_pass(&s, 62);
    step(&s, -SEC(7200)); /* it is -7138 */
    CHECK_INT(info_of(future).next, stage_instant(&s, -3600).ns);
    stage_pass(&s, 60);
    CHECK_STARTS(&running, 60, -7080);
    END(&first, future);
    END(&running, other);
    stage_close(&s);
}

/* The calendar of a machine without a battery starts in 1970: the seconds of half a century are missed at
 * once. */
TEST(schedule_cron_survives_a_clock_that_is_set_by_decades, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = ON_WALL(&s);
    hora_future *future = START(&s, &tick, .cron = "* * * * * *", .zone = "UTC", .count = 5);
    stage_pass(&s, 1);
    step(&s, test_simulated() ? HORA_HOURS(1) : HORA_HOURS(24 * 365 * 50));
    CHECK_INT(tick.runs, 2);
    CHECK_INT(info_of(future).last_planned,
              hora_clock_now(hora_virtual_clock_view(s.f.clock, HORA_CLOCK_WALL)));
    stage_pass(&s, 2);
    CHECK_INT(tick.runs, 4);
    END(&tick, future);
    stage_close(&s);
}
