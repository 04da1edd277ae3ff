/* SPDX-License-Identifier: Apache-2.0 */
/* test_registrar.c - declared tasks and their scheduler; after Spring's ScheduledTaskRegistrarTests */
#include <string.h>

#include "registrar_support.h"

/* ---- before there is a scheduler ---- */

/* Spring: emptyTaskLists. */
TEST(registrar_is_empty_at_first, "")
{
    struct office o;

    office_open(&o, 1);
    CHECK_INT(hora_registrar_count(o.registrar), 0);
    CHECK_POINTER(hora_registrar_get(o.registrar, 0), NULL);
    CHECK_POINTER(hora_registrar_find(o.registrar, ""), NULL);
    office_bind(&o);
    CHECK_INT(hora_registrar_count(o.registrar), 0);
    office_close(&o);
}

/* Spring: getTriggerTasks, getCronTasks, getFixedRateTasks, getFixedDelayTasks, addOneTimeTask,
 * addCronTaskWithValidExpression. */
TEST(registrar_keeps_what_is_declared, "")
{
    struct office o;
    struct tick ticks[5] = {{.runs = 0}};
    hora_registration *r[5];
    hora_trigger *trigger;

    office_open(&o, 1);
    CHECK_OK(hora_trigger_new_periodic(SEC(1), NULL, &trigger, NULL));
    r[0] = DECLARE(&o, &ticks[0], .trigger = trigger);
    r[1] = DECLARE(&o, &ticks[1], EVERY_2_SECONDS);
    r[2] = DECLARE(&o, &ticks[2], .fixed_rate = SEC(1));
    r[3] = DECLARE(&o, &ticks[3], .fixed_delay = SEC(1), .name = "the fourth");
    r[4] = DECLARE(&o, &ticks[4], .initial_delay = SEC(1));
    hora_trigger_unref(trigger); /* it has its own reference */
    CHECK_INT(hora_registrar_count(o.registrar), 5);
    for (int i = 0; i < 5; i++) {
        CHECK_POINTER(hora_registrar_get(o.registrar, i), r[i]);
        CHECK_POINTER(hora_registration_future(r[i]), NULL);
        CHECK_INT(next_of(&o, r[i]), -1);
        CHECK_NOT_RUN(&o, r[i]);
    }
    CHECK_POINTER(hora_registrar_get(o.registrar, -1), NULL);
    CHECK_POINTER(hora_registrar_get(o.registrar, 5), NULL);
    CHECK_POINTER(hora_registrar_find(o.registrar, "the fourth"), r[3]);
    CHECK_POINTER(hora_registrar_find(o.registrar, "tick"), r[0]);
    stage_pass(&o.s, 5);
    office_close(&o); /* never bound: no run, and each is dropped */
    for (int i = 0; i < 5; i++) {
        CHECK_NO_START(&ticks[i]);
        CHECK_INT(ticks[i].drops, 1);
    }
}

/* A hundred, so that the list has to grow. */
TEST(registrar_keeps_many, "")
{
    enum { MANY = 100 };
    struct office o;
    static struct tick ticks[MANY];
    hora_registration *r[MANY];

    memset(ticks, 0, sizeof ticks);
    office_open(&o, 1);
    for (int i = 0; i < MANY; i++) {
        if (i == MANY / 2)
            office_bind(&o);
        r[i] = DECLARE(&o, &ticks[i], .initial_delay = SEC(1 + i % 3));
    }
    stage_pass(&o.s, 3);
    for (int i = 0; i < MANY; i++) {
        CHECK_POINTER(hora_registrar_get(o.registrar, i), r[i]);
        CHECK_STARTS(&ticks[i], 1 + i % 3);
        CHECK_INT(ticks[i].drops, 1);
    }
    office_close(&o);
}

/* ---- the kinds ---- */

static char diary[16];
static atomic_int pages;

static int write_letter(void *letter, void **ret_result)
{
    int page = atomic_fetch_add(&pages, 1);

    (void)ret_result;
    if (page < (int)sizeof diary - 1)
        diary[page] = *(const char *)letter;
    return 0;
}

/* Trigger, cron, fixed rate, fixed delay, one time; each group in the order of declaration. All are due at
 * the same moment. */
TEST(registrar_schedules_in_order, "")
{
    static char letters[] = "TtCcRrDdOo";
    struct office o;
    hora_trigger *trigger;

    office_open(&o, 1);
    memset(diary, 0, sizeof diary);
    atomic_store(&pages, 0);
    CHECK_OK(hora_trigger_new_periodic(SEC(10), HORA_PERIODIC_TRIGGER_OPTIONS(.initial_delay = SEC(2)),
                                       &trigger, NULL));
    const hora_declaration *declarations[5] = {
        HORA_DECLARATION(.trigger = trigger), HORA_DECLARATION(EVERY_2_SECONDS),
        HORA_DECLARATION(.fixed_rate = SEC(10), .initial_delay = SEC(2)),
        HORA_DECLARATION(.fixed_delay = SEC(10), .initial_delay = SEC(2)),
        HORA_DECLARATION(.initial_delay = SEC(2))};
    for (int i = 4; i >= 0; i--)
        for (int j = 0; j < 2; j++)
            CHECK_OK(hora_registrar_add(o.registrar, HORA_TASK(write_letter, &letters[2 * i + j]),
                                        declarations[i], NULL, NULL));
    hora_trigger_unref(trigger);
    office_bind(&o);
    stage_pass(&o.s, 3);
    CHECK_INT(strcmp(diary, letters), 0);
    office_close(&o);
}

/* The same for those that are due at once: none begins before all are scheduled. */
TEST(registrar_begins_in_order, "")
{
    static char letters[] = "TRDO";
    struct office o;
    hora_trigger *trigger;

    office_open(&o, 1);
    memset(diary, 0, sizeof diary);
    atomic_store(&pages, 0);
    CHECK_OK(hora_trigger_new_periodic(SEC(10), NULL, &trigger, NULL));
    const hora_declaration *declarations[4] = {
        HORA_DECLARATION(.trigger = trigger), HORA_DECLARATION(.fixed_rate = SEC(10)),
        HORA_DECLARATION(.fixed_delay = SEC(10)), HORA_DECLARATION(.initial_delay_text = "0")};
    for (int i = 3; i >= 0; i--)
        CHECK_OK(hora_registrar_add(o.registrar, HORA_TASK(write_letter, &letters[i]), declarations[i], NULL,
                                    NULL));
    hora_trigger_unref(trigger);
    office_bind(&o);
    stage_pass(&o.s, 1);
    CHECK_INT(strcmp(diary, letters), 0);
    office_close(&o);
}

/* Like Spring's CronTrigger: times that pass during a run are dropped, and failures change nothing. With
 * rules, the rules decide. */
TEST(registrar_runs_cron, "")
{
    struct office o;
    struct tick ticks[3] = {{.lasts_first = 5, .fails_from = 1, .fails_to = 2, .code = 5},
                            {.lasts_first = 5},
                            {.lasts_first = 5}};

    office_open(&o, 3);
    DECLARE(&o, &ticks[0], EVERY_2_SECONDS);
    DECLARE(&o, &ticks[1], EVERY_2_SECONDS, .schedule = HORA_SCHEDULE(.missed = HORA_MISSED_BURST));
    DECLARE(&o, &ticks[2], EVERY_2_SECONDS,
            .schedule = HORA_SCHEDULE(.missed = HORA_MISSED_ONCE, .count = 3));
    office_bind(&o);
    stage_pass(&o.s, 11);
    CHECK_STARTS(&ticks[0], 2, 8, 10);
    CHECK_STARTS(&ticks[1], 2, 7, 7, 8, 10);
    CHECK_STARTS(&ticks[2], 2, 7, 8);
    CHECK_INT(o.s.failures, 2);
    CHECK_INT(ticks[2].drops, 1); /* it has had its three runs */
    office_close(&o);
    CHECK_INT(ticks[0].drops, 1);
}

TEST(registrar_runs_cron_of_crontab, "")
{
    struct office o;
    struct tick minutely = {.line = HORA_CLOCK_WALL};

    office_open(&o, 1);
    DECLARE(&o, &minutely, .cron = "* * * * *", .zone = "+05:30", .dialect = HORA_CRON_UNIX);
    office_bind(&o);
    stage_pass(&o.s, 121);
    CHECK_STARTS(&minutely, 60, 120);
    office_close(&o);
}

/* Like the JDK's fixed rate: missed runs are made up in a burst. But failures do not end the series. */
TEST(registrar_runs_at_fixed_rate, "")
{
    struct office o;
    struct tick late = {.lasts_first = 3, .fails_from = 1, .fails_to = 2, .code = 5},
                skips = {.lasts_first = 3};

    office_open(&o, 2);
    DECLARE(&o, &late, .fixed_rate_text = "1s", .initial_delay_text = "1000");
    DECLARE(&o, &skips, .fixed_rate_text = "1s", .schedule = HORA_SCHEDULE(.missed = HORA_MISSED_ONCE));
    office_bind(&o);
    stage_pass(&o.s, 5);
    CHECK_STARTS(&late, 1, 4, 4, 4, 5);
    CHECK_STARTS(&skips, 0, 3, 4, 5);
    CHECK_INT(o.s.failures, 2);
    office_close(&o);
}

/* The other fields of a schedule are taken from the rules. */
TEST(registrar_runs_by_rules, "")
{
    struct office o;
    struct tick overlaps = {.lasts = 3}, ends = {.runs = 0},
                stops = {.fails_from = 2, .fails_to = 9, .code = 5};

    office_open(&o, 4);
    DECLARE(&o, &overlaps, .fixed_rate = SEC(2),
            .schedule = HORA_SCHEDULE(.overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2, .count = 3));
    DECLARE(&o, &ends, .fixed_delay = SEC(1), .schedule = HORA_SCHEDULE(.end = stage_instant(&o.s, 2)));
    hora_registration *failed =
        DECLARE(&o, &stops, EVERY_2_SECONDS, .schedule = HORA_SCHEDULE(.failure = HORA_FAILURE_STOP));
    office_bind(&o);
    stage_pass(&o.s, 9);
    CHECK_STARTS(&overlaps, 0, 2, 4);
    CHECK_INT(overlaps.most_going, 2);
    CHECK_STARTS(&ends, 0, 1, 2);
    CHECK_STARTS(&stops, 2, 4);
    CHECK_INT(overlaps.drops, 1);
    CHECK_INT(ends.drops, 1);
    CHECK_INT(stops.drops, 1);
    CHECK_OUTCOME(&o, failed, HORA_OUTCOME_ERROR, 4, 5, 2, 1);
    CHECK_INT(next_of(&o, failed), -1);
    office_close(&o);
}

TEST(registrar_runs_with_fixed_delay, "")
{
    struct office o;
    struct tick tick = {.lasts = 1, .fails_from = 1, .fails_to = 1, .code = 5};

    office_open(&o, 1);
    DECLARE(&o, &tick, .fixed_delay_text = "PT2S", .initial_delay = SEC(1));
    office_bind(&o);
    stage_pass(&o.s, 8);
    CHECK_STARTS(&tick, 1, 4, 7);
    office_close(&o);
}

/* Spring: severalFixedRates...: the schedules of one task are independent of each other, and may overlap. */
TEST(registrar_runs_one_task_by_several_declarations, "")
{
    struct office o;
    struct tick tick = {.lasts = 3};

    office_open(&o, 2);
    tick.stage = &o.s;
    const hora_task *task = HORA_TASK(tick_run, &tick);
    CHECK_OK(hora_registrar_add(o.registrar, task, HORA_DECLARATION(.fixed_rate = SEC(4)), NULL, NULL));
    CHECK_OK(hora_registrar_add(o.registrar, task,
                                HORA_DECLARATION(.fixed_rate = SEC(4), .initial_delay = SEC(2)), NULL, NULL));
    office_bind(&o);
    stage_pass(&o.s, 7);
    CHECK_STARTS(&tick, 0, 2, 4, 6);
    CHECK_INT(tick.most_going, 2);
    office_close(&o);
}

/* Spring: cronTaskWithZone. */
TEST(registrar_runs_cron_in_a_zone, "")
{
    struct office o;
    struct tick tick = {.line = HORA_CLOCK_WALL};
    enum { HOUR = 3600 };

    office_open(&o, 1); /* at midnight UTC it is ten o'clock there */
    hora_registration *registration = DECLARE(&o, &tick, .cron = "0 0 0-4,6-23 * * ?", .zone = "GMT+10");
    office_bind(&o);
    CHECK_INT(next_of(&o, registration), 1 * HOUR);
    stage_leap(&o.s, HORA_HOURS(18)); /* four o'clock: one run, for eleven, makes up for all since */
    CHECK_STARTS(&tick, 18 * HOUR);
    CHECK_INT(next_of(&o, registration), 20 * HOUR);
    office_close(&o);
}

/* Spring: addOneTimeTask. */
TEST(registrar_runs_once, "")
{
    struct office o;
    struct tick at_once = {.runs = 0}, later = {.fails_from = 1, .fails_to = 1, .code = 5};

    office_open(&o, 1);
    hora_registration *first = DECLARE(&o, &at_once, .initial_delay_text = "0");
    hora_registration *second = DECLARE(&o, &later, .initial_delay = SEC(2));
    office_bind(&o);
    stage_pass(&o.s, 9);
    CHECK_STARTS(&at_once, 0);
    CHECK_STARTS(&later, 2);
    CHECK_INT(at_once.drops, 1);
    CHECK_OUTCOME(&o, first, HORA_OUTCOME_SUCCESS, 0, 0, 1, 0);
    CHECK_OUTCOME(&o, second, HORA_OUTCOME_ERROR, 2, 5, 1, 1);
    CHECK_INT(hora_registration_cancel(first, true), 0);
    office_close(&o);
    CHECK_INT(later.drops, 1);
}

TEST(registrar_runs_by_trigger, "")
{
    struct office o;
    struct tick tick = {.line = HORA_CLOCK_WALL};
    hora_trigger *trigger;

    office_open(&o, 1);
    hora_instant instants[] = {stage_instant(&o.s, 3), stage_instant(&o.s, 1)};
    CHECK_OK(hora_trigger_new_instants(instants, 2, &trigger));
    hora_registration *registration = DECLARE(&o, &tick, .trigger = trigger);
    hora_trigger_unref(trigger);
    office_bind(&o);
    CHECK_INT(next_of(&o, registration), 1);
    stage_pass(&o.s, 5);
    CHECK_STARTS(&tick, 1, 3);
    CHECK_INT(tick.drops, 1); /* the series is over */
    CHECK_INT(next_of(&o, registration), -1);
    office_close(&o);
}

/* Spring: schedule returns nothing, and all others go on. */
TEST(registrar_takes_a_task_that_never_runs_for_one_that_is_over, "")
{
    struct office o;
    struct tick never = {.runs = 0}, ended = {.runs = 0}, later = {.runs = 0}, good = {.runs = 0};
    hora_trigger *trigger;

    office_open(&o, 1);
    hora_instant past = stage_instant(&o.s, -5);
    CHECK_OK(hora_trigger_new_instants(&past, 1, &trigger));
    hora_registration *r[3];
    r[0] = DECLARE(&o, &never, .trigger = trigger);
    r[1] =
        DECLARE(&o, &ended, .fixed_rate = SEC(1), .schedule = HORA_SCHEDULE(.end = stage_instant(&o.s, -5)));
    DECLARE(&o, &good, .initial_delay = SEC(1));
    CHECK_INT(never.drops, 0);
    office_bind(&o);
    CHECK_INT(never.drops, 1);
    r[2] = DECLARE(&o, &later, .trigger = trigger);
    hora_trigger_unref(trigger);
    CHECK_INT(later.drops, 1);
    stage_pass(&o.s, 2);
    CHECK_STARTS(&good, 1);
    CHECK_NO_START(&never);
    CHECK_NO_START(&ended);
    for (int i = 0; i < 3; i++) {
        CHECK_POINTER(hora_registration_future(r[i]), NULL);
        CHECK_INT(hora_registration_cancel(r[i], false), 0);
        CHECK_NOT_RUN(&o, r[i]);
    }
    office_close(&o);
    CHECK_INT(never.drops, 1);
    CHECK_INT(ended.drops, 1);
    CHECK_INT(later.drops, 1);
}

TEST(registrar_schedules_at_once_what_comes_later, "")
{
    struct office o;
    struct tick tick = {.runs = 0}, disabled = {.runs = 0};

    office_open(&o, 1);
    office_bind(&o);
    stage_pass(&o.s, 1);
    hora_registration *registration = DECLARE(&o, &tick, .fixed_rate = SEC(2), .initial_delay = SEC(1));
    DECLARE(&o, &disabled, .cron = "-");
    CHECK_INT(disabled.drops, 1);
    CHECK_INT(next_of(&o, registration), 2);
    stage_pass(&o.s, 3);
    CHECK_STARTS(&tick, 2, 4);
    CHECK_INT(hora_registrar_count(o.registrar), 2);
    office_close(&o);
    CHECK_INT(tick.drops, 1);
}

/* ---- binding ---- */

TEST(registrar_binds_one_scheduler_only, "")
{
    struct office o;
    struct tick tick = {.runs = 0};
    hora_pool *pool;

    office_open(&o, 1);
    DECLARE(&o, &tick, .fixed_rate = SEC(1));
    CHECK_OK(hora_pool_new_fixed(1, NULL, &pool, NULL));
    CHECK_ERROR(hora_registrar_bind(o.registrar, pool, NULL), HORA_EINVAL); /* which is no scheduler */
    CHECK_OK(hora_pool_free(pool));
    CHECK_ERROR(hora_registrar_bind(NULL, o.s.scheduler, NULL), HORA_EINVAL);
    office_bind(&o);
    CHECK_ERROR(hora_registrar_bind(o.registrar, o.s.scheduler, NULL), HORA_EBUSY);
    CHECK_ERROR(hora_registrar_bind(o.registrar, NULL, NULL), HORA_EBUSY);
    stage_pass(&o.s, 1);
    CHECK_STARTS(&tick, 0, 1);
    CHECK_OK(hora_registrar_close(o.registrar));
    CHECK_ERROR(hora_registrar_bind(o.registrar, o.s.scheduler, NULL), HORA_ECLOSED);
    office_close(&o);
}

static int refuse_third(hora_scheduler *scheduler, hora_task *task, void *context)
{
    atomic_int *calls = context;

    (void)scheduler;
    (void)task;
    return atomic_fetch_add(calls, 1) == 2 ? -77 : 0;
}

/* All or nothing: tasks that are due at once have not begun when the third is rejected. */
TEST(registrar_that_cannot_schedule_all_schedules_none, "")
{
    struct office o;
    struct tick ticks[4] = {{.runs = 0}};
    hora_scheduler *other;
    atomic_int calls = 0;

    office_open(&o, 1);
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .clock = o.s.f.view,
                                                       .decorate = refuse_third, .arg = &calls),
                                &other, NULL));
    for (int i = 0; i < 4; i++)
        DECLARE(&o, &ticks[i], .fixed_rate = SEC(1));
    CHECK_ERROR(hora_registrar_bind(o.registrar, other, NULL), -77);
    stage_pass(&o.s, 1);
    for (int i = 0; i < 4; i++) {
        CHECK_NO_START(&ticks[i]);
        CHECK_INT(ticks[i].drops, 0);
        CHECK_INT(next_of(&o, hora_registrar_get(o.registrar, i)), -1);
    }
    CHECK_INT(hora_queue_size(hora_pool_queue(other)), 0);
    CHECK_OK(hora_pool_shutdown(other));
    CHECK_ERROR(hora_registrar_bind(o.registrar, other, NULL), HORA_EREJECTED);
    office_bind(&o); /* it can be tried again */
    stage_pass(&o.s, 1);
    for (int i = 0; i < 4; i++)
        CHECK_STARTS(&ticks[i], 1, 2);
    CHECK_OK(hora_registrar_close(o.registrar));
    stage_settle(&o.s);
    CHECK_OK(hora_pool_free(other));
    office_close(&o);
    for (int i = 0; i < 4; i++)
        CHECK_INT(ticks[i].drops, 1);
}

/* The scheduler may end before the registrar. */
TEST(registrar_outlives_the_work_of_its_scheduler, "")
{
    struct office o;
    struct tick series = {.runs = 0}, refused = {.stage = &o.s};
    hora_error error;

    office_open(&o, 1);
    hora_registration *registration = DECLARE(&o, &series, .fixed_rate = SEC(1));
    office_bind(&o);
    stage_pass(&o.s, 1);
    CHECK_OK(hora_pool_shutdown(o.s.scheduler));
    stage_settle(&o.s);
    CHECK_INT(series.drops, 1);
    CHECK_INT(next_of(&o, registration), -1);
    CHECK_INT(hora_registration_cancel(registration, false), 0);
    CHECK_ERROR(
        hora_registrar_add(o.registrar, TICK(&refused), HORA_DECLARATION(.fixed_rate = 1), NULL, &error),
        HORA_EREJECTED);
    CHECK_INT(strncmp(error.message, "tick (", 6), 0);
    CHECK(strstr(error.message, "): the task was rejected") != NULL);
    CHECK_INT(refused.drops, 0);
    CHECK_INT(hora_registrar_count(o.registrar), 1);
    office_close(&o);
    CHECK_INT(series.drops, 1);
}
