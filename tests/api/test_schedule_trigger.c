/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_trigger.c - triggers as schedules, who owns them, and Spring's modes live
 *
 * A stage is opened at midnight of UTC, so seconds since then are seconds of the day. */
#include <string.h>

#include "schedule_support.h"

static hora_trigger *cron_trigger(const char *text, const hora_cron_trigger_options *options)
{
    hora_cron *cron = NULL;
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_cron_parse(text, NULL, &cron, NULL));
    CHECK_OK(hora_trigger_new_cron(cron, NULL, options, &trigger, NULL));
    CHECK_POINTER(hora_cron_unref(cron), NULL);
    return trigger;
}

static hora_future *start_with(struct stage *s, struct tick *tick, hora_trigger *trigger)
{
    hora_future *future = NULL;
    CHECK_OK(hora_scheduler_schedule_with(s->scheduler, TICK(tick),
                                          HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
                                          &future, NULL));
    CHECK_POINTER(hora_trigger_unref(trigger), NULL); /* the task has its own reference */
    return future;
}

/* ---- Spring's modes: every two seconds, from second 1 on; quick or as long as from time to time ---- */

static void live(const hora_cron_trigger_options *options, int lasts, int seconds, int runs,
                 const int *starts)
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = lasts};
    hora_cron_trigger_options own = *options;
    own.resume_from.ns += own.resumes ? stage_instant(&s, 0).ns : 0;
    stage_pass(&s, 1);
    hora_future *future = start_with(&s, &tick, cron_trigger("*/2 * * * * *", &own));
    stage_pass(&s, seconds);
    check_starts(__FILE__, __LINE__, &tick, runs, starts);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_lenient_and_quick_runs_every_time, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_LENIENT), 0, 4, 2, (int[]){2, 4});
}

/* It ends at the very moment of a time, which is dropped. */
TEST(schedule_lenient_and_slow_drops_times, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_LENIENT), 2, 4, 1, (int[]){2});
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_LENIENT), 2, 10, 3, (int[]){2, 6, 10});
}

TEST(schedule_fixed_and_quick_runs_every_time, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED), 0, 4, 2, (int[]){2, 4});
}

TEST(schedule_fixed_and_slow_runs_every_time, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED), 2, 4, 2, (int[]){2, 4});
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED), 3, 11, 4,
         (int[]){2, 5, 8, 11}); /* for 2, 4, 6 and 8 */
}

TEST(schedule_that_resumes_lenient_makes_up_once, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_LENIENT, .resumes = true, .resume_from = {-SEC(3)}),
         0, 2, 2, (int[]){1, 2});
}

TEST(schedule_that_resumes_fixed_makes_up_for_all, "")
{
    live(HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED, .resumes = true, .resume_from = {-SEC(3)}),
         0, 2, 3, (int[]){1, 1, 2});
}

/* With hora_scheduler_schedule_with the rule for missed runs decides about them, too. */
TEST(schedule_that_resumes_obeys_the_rule_for_missed_runs, "")
{
    static const hora_missed rules[] = {HORA_MISSED_ONCE, HORA_MISSED_BURST, HORA_MISSED_SKIP};
    for (int mode = 0; mode < 2; mode++) {
        for (int rule = 0; rule < 3; rule++) {
            struct stage s;
            stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
            struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
            hora_trigger *trigger = cron_trigger(
                "*/2 * * * * *", HORA_CRON_TRIGGER_OPTIONS(.mode = (hora_cron_mode)mode, .resumes = true,
                                                           .resume_from = stage_instant(&s, -3)));
            stage_pass(&s, 1);
            hora_future *future = START(&s, &tick, .trigger = trigger, .missed = rules[rule]);
            stage_pass(&s, 1);
            int skipped = (int[]){1, 0, 2}[rule];
            if (rules[rule] == HORA_MISSED_SKIP)
                CHECK_STARTS(&tick, 2);
            else if (rules[rule] == HORA_MISSED_BURST && mode == HORA_CRON_MODE_FIXED)
                CHECK_STARTS(&tick, 1, 1, 2);
            else
                CHECK_STARTS(&tick, 1, 2);
            CHECK_INT(info_of(future).skipped, skipped);
            CHECK_POINTER(hora_trigger_unref(trigger), NULL);
            END(&tick, future);
            stage_close(&s);
        }
    }
}

/* ---- other triggers ---- */

TEST(schedule_with_a_periodic_trigger_is_on_the_schedulers_clock, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick rate = {.stage = &s, .lasts_first = 25}, gap = {.stage = &s, .lasts = 3};
    hora_trigger *trigger = NULL;

    CHECK_OK(hora_trigger_new_periodic(
        SEC(10), HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = true, .initial_delay = SEC(5)), &trigger, NULL));
    hora_future *first = start_with(&s, &rate, trigger);
    CHECK_OK(hora_trigger_new_periodic(SEC(10), NULL, &trigger, NULL));
    hora_future *second = start_with(&s, &gap, trigger);
    CHECK_INT(info_of(first).clock, HORA_CLOCK_MONOTONIC);
    CHECK_OK(hora_virtual_clock_step_wall(s.f.clock, HORA_HOURS(5))); /* which does not matter */
    stage_pass(&s, 46);
    CHECK_STARTS(&rate, 5, 30, 30, 35, 45); /* a burst */
    CHECK_STARTS(&gap, 0, 13, 26, 39);
    END(&rate, first);
    END(&gap, second);
    stage_close(&s);
}

TEST(schedule_with_a_periodic_trigger_may_name_a_clock, "")
{
    for (int i = 0; i < 3; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = (hora_clock_id)(i + 1)};
        hora_trigger *trigger = NULL;
        CHECK_OK(hora_trigger_new_periodic(SEC(10), HORA_PERIODIC_TRIGGER_OPTIONS(.fixed_rate = true),
                                           &trigger, NULL));
        hora_future *future = START(&s, &tick, .trigger = trigger, .clock = (hora_clock_id)(i + 1));
        CHECK_POINTER(hora_trigger_unref(trigger), NULL);
        CHECK_INT(info_of(future).clock, i + 1);
        stage_pass(&s, 21);
        CHECK_STARTS(&tick, 0, 10, 20);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_with_instants_ends_after_the_last, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
    hora_trigger *trigger = NULL;
    const hora_instant instants[] = {stage_instant(&s, 30), stage_instant(&s, -5), stage_instant(&s, 0),
                                     stage_instant(&s, 7)};
    CHECK_OK(hora_trigger_new_instants(instants, 4, &trigger));
    hora_future *future = start_with(&s, &tick, trigger);
    stage_pass(&s, 40);
    CHECK_STARTS(&tick, 0, 7, 30);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_SUCCEEDED);
    END(&tick, future);
    stage_close(&s);
}

/* Working days only: 1971-01-01 was a Friday. */
TEST(schedule_with_a_calendar_leaves_days_out, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
    hora_calendar *calendar = NULL;
    hora_trigger *daily = cron_trigger("0 0 9 * * *", NULL);
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_calendar_new(NULL, HORA_CALENDAR_OPTIONS(.weekdays = 1 << 6 | 1 << 7), &calendar, NULL));
    CHECK_OK(hora_trigger_new_excluding(daily, calendar, &trigger));
    hora_future *future = start_with(&s, &tick, trigger);
    stage_pass(&s, 5 * 86400);
    CHECK_STARTS(&tick, 9 * 3600, 3 * 86400 + 9 * 3600, 4 * 86400 + 9 * 3600);
    CHECK_POINTER(hora_calendar_unref(calendar), NULL);
    CHECK_POINTER(hora_trigger_unref(daily), NULL);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_with_trigger_goes_on_after_a_failure, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .fails_from = 1, .fails_to = 2, .code = 7};
    hora_future *future = start_with(&s, &tick, cron_trigger("*/2 * * * * *", NULL));
    stage_pass(&s, 7);
    CHECK_STARTS(&tick, 2, 4, 6);
    CHECK_INT(s.failures, 2);
    END(&tick, future);
    stage_close(&s);
}

/* One trigger may serve any number of tasks. */
TEST(schedule_with_one_trigger_for_several_tasks, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick quick = {.stage = &s, .line = HORA_CLOCK_WALL},
                slow = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = 3};
    hora_trigger *trigger = cron_trigger("*/2 * * * * *", NULL);
    hora_future *first = start_with(&s, &quick, hora_trigger_ref(trigger));
    hora_future *second = start_with(&s, &slow, trigger);
    stage_pass(&s, 10);
    CHECK_STARTS(&quick, 2, 4, 6, 8, 10);
    CHECK_STARTS(&slow, 2, 6, 10);
    END(&quick, first);
    END(&slow, second);
    stage_close(&s);
}

/* ---- who owns it ---- */

struct owned {
    struct timetable table;
    atomic_int drops;
};

static hora_ns owned_next(const hora_trigger_context *context, void *arg)
{
    struct owned *owned = arg;
    CHECK_INT(owned->drops, 0);
    return timetable_next(context, &owned->table);
}

static void owned_drop(void *arg)
{
    struct owned *owned = arg;
    atomic_fetch_add(&owned->drops, 1);
}

static hora_trigger *owned_trigger(struct owned *owned)
{
    hora_trigger *trigger = NULL;
    CHECK_OK(hora_trigger_new(owned_next, owned, owned_drop, &trigger));
    return trigger;
}

TEST(schedule_gives_its_trigger_back_with_the_future, "")
{
    static const int seconds[] = {5, 7, -1};
    for (int clock = 0; clock <= 3; clock++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        hora_clock_id line =
            clock == 0 ? HORA_CLOCK_WALL : (hora_clock_id)clock; /* a function's, unless told */
        struct owned owned = {.table = {.stage = &s, .line = line, .seconds = seconds}};
        struct tick tick = {.stage = &s, .line = line};
        hora_trigger *trigger = owned_trigger(&owned);
        hora_future *future = START(&s, &tick, .trigger = trigger, .clock = (hora_clock_id)clock);
        CHECK_INT(info_of(future).clock, line);
        CHECK_POINTER(hora_trigger_unref(trigger), NULL);
        stage_pass(&s, 10);
        CHECK_STARTS(&tick, 5, 7);
        CHECK_INT(hora_future_get_state(future), HORA_FUTURE_SUCCEEDED);
        END(&tick, future);
        CHECK_INT(owned.drops, 1);
        stage_close(&s);
    }
}

static int refuse_to_decorate(hora_scheduler *scheduler, hora_task *task, void *context)
{
    (void)scheduler;
    (void)task;
    (void)context;
    return HORA_EINVAL;
}

/* Whatever goes wrong, the caller's reference is the only one afterwards. */
TEST(schedule_that_fails_keeps_no_trigger, "")
{
    static const int seconds[] = {5, -1}, never[] = {-1};
    struct stage s, decorated;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    stage_open(&decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .decorate = refuse_to_decorate));
    struct tick tick = A_TICK(&s);
    hora_future *future = (hora_future *)untouched;
    struct owned owned[6];
    hora_trigger *triggers[6];
    for (int i = 0; i < 6; i++) {
        owned[i] = (struct owned){
            .table = {.stage = &s, .line = HORA_CLOCK_WALL, .seconds = i == 0 ? never : seconds}};
        triggers[i] = owned_trigger(&owned[i]);
    }
    CHECK_ERROR(hora_scheduler_schedule_with(
                    s.scheduler, TICK(&tick),
                    HORA_SCHEDULE(.trigger = triggers[0], .missed = HORA_MISSED_BURST), &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&tick),
                                             HORA_SCHEDULE(.trigger = triggers[1], .fixed_rate = 1), &future,
                                             NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(tick_run, &tick),
                                             HORA_SCHEDULE(.trigger = triggers[2], .spread = 1), &future,
                                             NULL),
                HORA_EINVAL); /* no name */
    CHECK_ERROR(hora_scheduler_schedule_with(
                    s.scheduler, TICK(&tick),
                    HORA_SCHEDULE(.trigger = triggers[3], .end = stage_instant(&s, 4)), &future, NULL),
                HORA_EINVAL);
    owned[4].table.stage = &decorated;
    CHECK_ERROR(hora_scheduler_schedule_with(
                    decorated.scheduler, TICK(&tick),
                    HORA_SCHEDULE(.trigger = triggers[4], .missed = HORA_MISSED_BURST), &future, NULL),
                HORA_EINVAL);
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_ERROR(hora_scheduler_schedule_with(
                    s.scheduler, TICK(&tick),
                    HORA_SCHEDULE(.trigger = triggers[5], .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2),
                    &future, NULL),
                HORA_EREJECTED);
    CHECK_POINTER(future, untouched);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(owned[i].drops, 0);
        CHECK_POINTER(hora_trigger_unref(triggers[i]), NULL);
        CHECK_INT(owned[i].drops, 1);
    }
    CHECK_INT(tick.drops, 0);
    stage_close(&decorated);
    stage_close(&s);
}

TEST(schedule_with_trigger_refuses_bad_input, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *future = (hora_future *)untouched;
    hora_trigger *trigger = cron_trigger("0 0 0 * * *", NULL);
    hora_pool *pool = NULL;

    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pool, NULL));
    CHECK_ERROR(hora_scheduler_schedule_with(NULL, TICK(&tick),
                                             HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
                                             &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(pool, TICK(&tick),
                                             HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
                                             &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, NULL,
                                             HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
                                             &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(NULL, NULL),
                                             HORA_SCHEDULE(.trigger = trigger, .missed = HORA_MISSED_BURST),
                                             &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, TICK(&tick),
                                             HORA_SCHEDULE(.trigger = NULL, .missed = HORA_MISSED_BURST),
                                             &future, NULL),
                HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_refresh_zones(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_scheduler_refresh_zones(pool), HORA_EINVAL);
    CHECK_INT(hora_scheduler_refresh_zones(s.scheduler), 0);
    CHECK_POINTER(future, untouched);
    CHECK_POINTER(hora_trigger_unref(trigger), NULL);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    stage_close(&s);
}
