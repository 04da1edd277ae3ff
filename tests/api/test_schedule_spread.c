/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_spread.c - planned times that are delayed by an offset derived from the task's name */
#include <string.h>

#include "schedule_support.h"

/* The offset of a name, as it is seen from outside. */
static hora_ns offset_of(struct stage *s, const char *name, const hora_schedule *given)
{
    struct tick tick = A_TICK(s);
    hora_schedule spec = *given;
    hora_ns delay = 0;

    spec.name = name;
    hora_future *future = start_tick(__FILE__, __LINE__, s, &tick, &spec);
    CHECK_OK(hora_future_delay(future, &delay));
    END(&tick, future);
    return delay;
}

TEST(schedule_spread_puts_all_times_off_by_the_same, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(60), .spread = SEC(60), .name = "poll");
    hora_schedule_info info = info_of(future);
    hora_ns offset = since_zero(&s, &info, info.next);
    CHECK_INT(offset, INT64_C(10281910671)); /* it comes from the name alone: see tests/unit/test_plan.c */
    stage_pass(&s, 60 * 5);
    CHECK_INT(tick.runs, 5);
    for (int i = 0; i < tick.runs; i++)
        CHECK_INT(tick.starts[i], offset + SEC(60) * i);
    info = info_of(future);
    CHECK_INT(since_zero(&s, &info, info.last_planned), offset + SEC(240));
    CHECK_INT(since_zero(&s, &info, info.last_start), offset + SEC(240));
    CHECK_INT(since_zero(&s, &info, info.next), offset + SEC(300));
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_spread_is_the_same_for_the_same_name, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    char copy[] = "backup";

    hora_ns offset = offset_of(&s, "backup", HORA_SCHEDULE(.fixed_rate = SEC(60), .spread = SEC(60)));
    CHECK(offset > 0 && offset < SEC(60));
    CHECK_INT(offset_of(&s, copy, HORA_SCHEDULE(.fixed_rate = SEC(60), .spread = SEC(60))), offset);
    CHECK_INT(offset_of(&s, "backup", HORA_SCHEDULE(.fixed_delay = SEC(7), .spread = SEC(60))), offset);
    CHECK_INT(offset_of(&s, "backup", HORA_SCHEDULE(.spread = SEC(60))), offset);
    CHECK_INT(offset_of(&s, "backup", HORA_SCHEDULE(.initial_delay = SEC(5), .spread = SEC(60))),
              offset + SEC(5));
    CHECK(offset_of(&s, "backuq", HORA_SCHEDULE(.spread = SEC(60))) != offset);
    stage_close(&s);
}

/* Nothing begins at the planned time itself, or beyond the spread, and the tasks do not all begin at once. */
TEST(schedule_spread_keeps_equal_tasks_apart, "")
{
    enum { TASKS = 20 };
    static const char *const names[TASKS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                             "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[TASKS];
    hora_future *futures[TASKS];

    for (int i = 0; i < TASKS; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        futures[i] = START(&s, &ticks[i], .initial_delay = SEC(10), .spread = SEC(100), .name = names[i]);
    }
    stage_pass(&s, 110);
    for (int i = 0; i < TASKS; i++) {
        CHECK_INT(ticks[i].runs, 1);
        CHECK(ticks[i].starts[0] >= SEC(10) && ticks[i].starts[0] < SEC(110));
        for (int j = 0; j < i; j++)
            CHECK(ticks[i].starts[0] != ticks[j].starts[0]);
    }
    for (int i = 0; i < TASKS; i++)
        END(&ticks[i], futures[i]);
    stage_close(&s);
}

/* A run that is made up is not delayed: it is late enough. */
TEST(schedule_spread_does_not_put_off_what_is_late, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(60), .fixed_rate = SEC(60), .spread = SEC(60),
                                .name = "poll", .clock = HORA_CLOCK_BOOTTIME);
    stage_settle(&s);
    CHECK_OK(hora_virtual_clock_suspend(s.f.clock, SEC(1000)));
    stage_settle(&s);
    CHECK_STARTS(&tick, 0); /* at once, by the clock that stood still */
    hora_schedule_info info = info_of(future);
    CHECK_INT(info.skipped, 15);
    CHECK_INT(since_zero(&s, &info, info.next), SEC(1020) + INT64_C(10281910671));
    END(&tick, future);
    stage_close(&s);
}

/* A function gets its own times, not those that were delayed by the spread. */
TEST(schedule_spread_does_not_confuse_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){10, 20, 30, -1}};
    hora_ns offset = INT64_C(281910671); /* below 1 s */

    hora_future *future =
        START(&s, &tick, .next = timetable_next, .next_arg = &table, .spread = SEC(1), .name = "poll");
    stage_pass(&s, 40);
    CHECK_INT(tick.runs, 3);
    for (int i = 0; i < tick.runs; i++)
        CHECK_INT(tick.starts[i], SEC(10 * (i + 1)) + offset);
    CHECK(hora_future_is_done(future));
    END(&tick, future);
    stage_close(&s);
}

/* ---- names ---- */

TEST(schedule_spread_needs_a_name, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    hora_future *future = NULL;

    CHECK_ERROR(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(tick_run, &tick),
                                             HORA_SCHEDULE(.fixed_rate = SEC(1), .spread = SEC(1)), &future,
                                             NULL),
                HORA_EINVAL);
    CHECK_POINTER(future, NULL);
    stage_close(&s);
}

TEST(schedule_name_stands_instead_of_the_tasks, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s), other = A_TICK(&s);

    hora_future *future = START(&s, &tick, .initial_delay = SEC(1), .name = "mine");
    hora_future *plain = START(&s, &other, .initial_delay = SEC(1));
    CHECK_INT(strcmp(hora_future_task(future)->name, "mine"), 0);
    CHECK_INT(strcmp(hora_future_task(plain)->name, "tick"), 0);
    END(&tick, future);
    END(&other, plain);
    stage_close(&s);
}
