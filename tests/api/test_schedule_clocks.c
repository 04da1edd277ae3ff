/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_clocks.c - the clock of a schedule, and what happens when the clocks diverge */
#include "schedule_support.h"

static void suspend(struct stage *s, hora_ns by)
{
    stage_settle(s);
    CHECK_OK(hora_virtual_clock_suspend(s->f.clock, by));
    stage_settle(s);
}

static void step(struct stage *s, hora_ns by)
{
    stage_settle(s);
    CHECK_OK(hora_virtual_clock_step_wall(s->f.clock, by));
    stage_settle(s);
}

static void check_event(const char *file, int line, struct stage *s, int i, hora_ns suspended,
                        hora_ns stepped, int overdue)
{
    test_check_int(file, line, "suspended", s->event[i].suspended, suspended);
    test_check_int(file, line, "stepped", s->event[i].stepped, stepped);
    test_check_int(file, line, "overdue", s->event[i].count, overdue);
}
#define CHECK_EVENT(s, i, suspended, stepped, overdue) \
    check_event(__FILE__, __LINE__, (s), (i), (suspended), (stepped), (overdue))

/* ---- which clock ---- */

TEST(schedule_clock_is_the_schedulers_own_by_default, "")
{
    for (int i = HORA_CLOCK_MONOTONIC; i <= HORA_CLOCK_WALL; i++) {
        struct stage s;
        hora_virtual_clock *clock;
        hora_scheduler *scheduler;
        struct tick tick = A_TICK(&s);
        hora_future *future = NULL;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
        CHECK_OK(hora_scheduler_new(
            HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                   .clock = hora_virtual_clock_view(clock, (hora_clock_id)i)),
            &scheduler, NULL));
        CHECK_OK(hora_scheduler_schedule_with(scheduler, TICK(&tick), HORA_SCHEDULE(.initial_delay = SEC(5)),
                                              &future, NULL));
        CHECK_INT(info_of(future).clock, i);
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        CHECK_POINTER(hora_future_unref(future), NULL);
        CHECK_OK(hora_pool_shutdown(scheduler));
        CHECK_OK(hora_virtual_clock_settle(clock));
        CHECK_OK(hora_pool_free(scheduler));
        CHECK_OK(hora_virtual_clock_free(clock));
        stage_close(&s);
    }
}

/* The clock may be any of the three, whatever the scheduler's own. */
TEST(schedule_clock_decides_what_a_suspended_machine_means, "")
{
    for (int i = HORA_CLOCK_MONOTONIC; i <= HORA_CLOCK_WALL; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = (hora_clock_id)i};
        hora_future *future = START(&s, &tick, .initial_delay = SEC(10), .clock = (hora_clock_id)i);
        CHECK_INT(info_of(future).clock, i);
        suspend(&s, SEC(7));
        CHECK_NO_START(&tick);
        stage_pass(&s, 2);
        CHECK_NO_START(&tick);
        stage_pass(&s, 1);
        if (i == HORA_CLOCK_MONOTONIC) {
            CHECK_NO_START(&tick);
            stage_pass(&s, 7);
        }
        CHECK_STARTS(&tick, 10);
        END(&tick, future);
        stage_close(&s);
    }
}

TEST(schedule_clock_decides_what_a_set_clock_means, "")
{
    for (int i = HORA_CLOCK_MONOTONIC; i <= HORA_CLOCK_WALL; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = (hora_clock_id)i};
        hora_future *future = START(&s, &tick, .initial_delay = SEC(10), .clock = (hora_clock_id)i);
        step(&s, SEC(7));
        stage_pass(&s, 3);
        if (i != HORA_CLOCK_WALL) {
            CHECK_NO_START(&tick);
            stage_pass(&s, 7);
        }
        CHECK_STARTS(&tick, 10);
        END(&tick, future);
        stage_close(&s);
    }
}

/* To the nanosecond: the wait of the thread is measured with another clock than the task. */
TEST(schedule_on_another_clock_is_exact, "")
{
    for (int i = HORA_CLOCK_MONOTONIC; i <= HORA_CLOCK_WALL; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        struct tick tick = {.stage = &s, .line = (hora_clock_id)i};
        hora_future *future = START(&s, &tick, .initial_delay = SEC(10), .clock = (hora_clock_id)i);
        suspend(&s, SEC(2));
        step(&s, SEC(3));
        hora_ns left = SEC(10) - stage_now(&s, (hora_clock_id)i);
        stage_leap(&s, left - 1);
        CHECK_NO_START(&tick);
        stage_leap(&s, 1);
        CHECK_STARTS(&tick, 10);
        END(&tick, future);
        stage_close(&s);
    }
}

/* Tasks of all clocks in one queue, ordered by how far off they are. */
TEST(schedule_tasks_of_three_clocks_run_in_the_order_of_their_times, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[9];
    hora_future *futures[9];

    for (int i = 0; i < 9; i++) {
        ticks[i] = (struct tick){.stage = &s, .line = (hora_clock_id)(i % 3 + 1)};
        futures[i] = START(&s, &ticks[i], .initial_delay = SEC(9 - i), .clock = (hora_clock_id)(i % 3 + 1));
        CHECK(i == 0 || order_of(futures[i], futures[i - 1]) < 0);
    }
    for (int i = 8; i >= 0; i--) {
        stage_pass(&s, 1);
        CHECK_STARTS(&ticks[i], 9 - i);
        CHECK(i == 0 || ticks[i - 1].runs == 0);
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

/* ---- set back ---- */

/* What runs once keeps its moment. */
TEST(schedule_at_keeps_its_moment_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .at = stage_instant(&s, 5));
    stage_pass(&s, 2);
    step(&s, -SEC(10));
    stage_pass(&s, 12);
    CHECK_NO_START(&tick);
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 5);
    END(&tick, future);
    stage_close(&s);
}

/* A series does not pause until the old time is reached again. */
TEST(schedule_rate_goes_on_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(10), .clock = HORA_CLOCK_WALL);
    stage_pass(&s, 32);
    CHECK_STARTS(&tick, 0, 10, 20, 30);
    step(&s, -SEC(27)); /* it is 5 now */
    CHECK_INT(info_of(future).next, s.zero[HORA_CLOCK_WALL] + SEC(10));
    stage_pass(&s, 16);
    CHECK_STARTS(&tick, 0, 10, 20, 30, 10, 20);
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

/* Before all planned times: they go on into the past. */
TEST(schedule_rate_goes_on_when_the_clock_is_set_back_before_its_beginning, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(10), .clock = HORA_CLOCK_WALL);
    stage_pass(&s, 1);
    step(&s, -SEC(1000) + SEC(1)); /* it is -998 */
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 0, -990);
    END(&tick, future);
    stage_close(&s);
}

/* The first run of a series is not before the moment that was given for it. */
TEST(schedule_first_run_keeps_its_moment_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .at = stage_instant(&s, 30), .fixed_rate = SEC(10));
    stage_pass(&s, 2);
    step(&s, -SEC(1));
    CHECK_INT(info_of(future).next, s.zero[HORA_CLOCK_WALL] + SEC(30));
    stage_pass(&s, 28);
    CHECK_NO_START(&tick);
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 30);
    END(&tick, future);
    stage_close(&s);
}

/* The same for a series whose times are given by a function, except the first. */
TEST(schedule_first_run_before_next_keeps_its_moment_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
    struct timetable table = {.stage = &s, .line = HORA_CLOCK_WALL, .seconds = (int[]){5, 10, 35, -1}};

    hora_future *future =
        START(&s, &tick, .at = stage_instant(&s, 30), .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 2);
    step(&s, -SEC(1));
    stage_pass(&s, 35);
    CHECK_STARTS(&tick, 30, 35);
    END(&tick, future);
    stage_close(&s);
}

static int set_back(void *arg, void **ret_result)
{
    struct tick *tick = arg;
    if (tick->runs == 1)
        CHECK_OK(hora_virtual_clock_step_wall(tick->stage->f.clock, -SEC(1000)));
    return tick_run(tick, ret_result);
}

/* The clock is set back while a run is going, and another thread sees that first. */
TEST(schedule_rate_goes_on_when_the_clock_is_set_back_during_a_run, "")
{
    for (int threads = 1; threads <= 2; threads++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = threads));
        struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL, .lasts = 1}, far = A_TICK(&s);
        hora_future *future = NULL;
        hora_future *other = START(&s, &far, .initial_delay = HORA_HOURS(1));

        CHECK_OK(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(set_back, &tick, .drop = tick_drop),
                                              HORA_SCHEDULE(.fixed_rate = SEC(10), .clock = HORA_CLOCK_WALL),
                                              &future, NULL));
        stage_pass(&s, 35);
        CHECK_STARTS(&tick, 0, -990, -980, -970);
        END(&tick, future);
        END(&far, other);
        stage_close(&s);
    }
}

/* Asked anew, with the clock as it is now. */
static hora_ns next_full_ten(const hora_trigger_context *context, void *arg)
{
    const struct stage *s = arg;
    hora_ns since = context->now - s->zero[HORA_CLOCK_WALL];
    return s->zero[HORA_CLOCK_WALL] + (since / SEC(10) + 1) * SEC(10);
}

TEST(schedule_next_is_asked_again_when_the_clock_is_set_back, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .next = next_full_ten, .next_arg = &s, .clock = HORA_CLOCK_WALL);
    stage_pass(&s, 32);
    CHECK_STARTS(&tick, 10, 20, 30);
    step(&s, -SEC(27));
    stage_pass(&s, 16);
    CHECK_STARTS(&tick, 10, 20, 30, 10, 20);
    END(&tick, future);
    stage_close(&s);
}

/* A paused series finds its place when it is resumed. */
TEST(schedule_that_is_paused_while_the_clock_is_set_back_goes_on, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(10), .clock = HORA_CLOCK_WALL);
    stage_pass(&s, 32);
    CHECK_INT(hora_future_pause(future), 1);
    step(&s, -SEC(27));
    stage_pass(&s, 1);
    CHECK_INT(tick.runs, 4);
    CHECK_INT(hora_future_resume(future), 1);
    stage_pass(&s, 5);
    CHECK_STARTS(&tick, 0, 10, 20, 30, 10);
    END(&tick, future);
    stage_close(&s);
}

/* ---- being told ---- */

TEST(clock_step_says_how_long_the_machine_was_suspended, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick ticks[4] = {A_TICK(&s), A_TICK(&s), A_TICK(&s), A_TICK(&s)};
    hora_future *futures[4];

    futures[0] = START(&s, &ticks[0], .initial_delay = SEC(5), .clock = HORA_CLOCK_BOOTTIME);
    futures[1] = START(&s, &ticks[1], .initial_delay = SEC(5), .clock = HORA_CLOCK_MONOTONIC);
    futures[2] = START(&s, &ticks[2], .initial_delay = SEC(5), .clock = HORA_CLOCK_WALL);
    futures[3] = START(&s, &ticks[3], .initial_delay = SEC(50), .clock = HORA_CLOCK_WALL);
    stage_pass(&s, 2);
    CHECK_INT(s.events, 0); /* time that only goes by is no event */
    suspend(&s, SEC(3));
    CHECK_INT(s.events, 1);
    CHECK_EVENT(&s, 0, SEC(3), 0, 2);
    CHECK_INT(ticks[0].runs, 1);
    CHECK_INT(ticks[1].runs, 0);
    CHECK_INT(ticks[2].runs, 1);
    stage_pass(&s, 9);
    CHECK_INT(s.events, 1);
    for (int i = 0; i < 4; i++)
        END(&ticks[i], futures[i]);
    stage_close(&s);
}

TEST(clock_step_says_how_far_the_wall_clock_was_set, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick boot = A_TICK(&s), wall = A_TICK(&s);

    hora_future *first = START(&s, &boot, .initial_delay = SEC(5), .clock = HORA_CLOCK_BOOTTIME);
    hora_future *second = START(&s, &wall, .initial_delay = SEC(5), .clock = HORA_CLOCK_WALL);
    step(&s, SEC(4));
    CHECK_INT(s.events, 1);
    CHECK_EVENT(&s, 0, 0, SEC(4), 0);
    step(&s, -SEC(2));
    CHECK_INT(s.events, 2);
    CHECK_EVENT(&s, 1, 0, -SEC(2), 0);
    step(&s, SEC(3));
    CHECK_INT(s.events, 3);
    CHECK_EVENT(&s, 2, 0, SEC(3), 1);
    CHECK_INT(wall.runs, 1);
    CHECK_INT(boot.runs, 0);
    END(&boot, first);
    END(&wall, second);
    stage_close(&s);
}

/* Both at once, noticed in one check. The worker sleeps in a task, so that it cannot check in between. */
TEST(clock_step_tells_both_apart, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick busy = {.stage = &s, .lasts = 5}, wall = A_TICK(&s), boot = A_TICK(&s);

    hora_future *first = START(&s, &busy, .initial_delay = 0);
    hora_future *second = START(&s, &wall, .initial_delay = SEC(100), .clock = HORA_CLOCK_WALL);
    hora_future *third = START(&s, &boot, .initial_delay = SEC(100), .clock = HORA_CLOCK_BOOTTIME);
    stage_pass(&s, 1);
    suspend(&s, SEC(30));
    step(&s, SEC(80));
    step(&s, -SEC(10));
    CHECK_INT(s.events, 0);
    stage_pass(&s, 4);
    CHECK_INT(s.events, 1);
    CHECK_EVENT(&s, 0, SEC(30), SEC(70), 1); /* 5 + 100 on the wall, 35 of boot time */
    CHECK_INT(wall.runs, 1);
    CHECK_INT(boot.runs, 0);
    END(&busy, first);
    END(&wall, second);
    END(&boot, third);
    stage_close(&s);
}

/* The listener is notified before the tasks begin. */
static int check_was_told(void *arg, void **ret_result)
{
    struct tick *tick = arg;
    CHECK_INT(tick->stage->events, 1);
    return tick_run(tick, ret_result);
}

static void check_told_first(int threads)
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = threads));
    struct tick ticks[4];
    hora_future *futures[4];

    for (int i = 0; i < 4; i++) {
        ticks[i] = (struct tick)A_TICK(&s);
        CHECK_OK(hora_scheduler_schedule_with(
            s.scheduler, HORA_TASK(check_was_told, &ticks[i], .drop = tick_drop),
            HORA_SCHEDULE(.initial_delay = SEC(10), .clock = HORA_CLOCK_BOOTTIME), &futures[i], NULL));
    }
    suspend(&s, HORA_HOURS(1));
    CHECK_INT(s.events, 1);
    CHECK_EVENT(&s, 0, HORA_HOURS(1), 0, 4);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(ticks[i].runs, 1);
        END(&ticks[i], futures[i]);
    }
    stage_close(&s);
}

TEST(clock_step_comes_before_the_tasks_with_one_thread, "")
{
    check_told_first(1);
}

/* And once, however many threads there are. */
TEST(clock_step_comes_before_the_tasks_with_three_threads, "")
{
    check_told_first(3);
}

/* A task that is scheduled after the change is not overdue because of it, and the change is reported
 * nevertheless. */
TEST(clock_step_counts_only_what_was_waiting, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick far = A_TICK(&s), busy = {.stage = &s, .lasts = 2}, late = A_TICK(&s);

    hora_future *first = START(&s, &far, .initial_delay = HORA_HOURS(9));
    hora_future *second = START(&s, &busy, .initial_delay = 0);
    stage_settle(&s);
    CHECK_OK(hora_virtual_clock_suspend(s.f.clock, SEC(100)));
    hora_future *third = START(&s, &late, .at = stage_instant(&s, 60));
    stage_pass(&s, 2);
    CHECK_INT(late.runs, 1);
    CHECK_INT(s.events, 1);
    CHECK_INT(s.event[0].suspended, SEC(100));
    END(&far, first);
    END(&busy, second);
    END(&late, third);
    stage_close(&s);
}

/* Absurd changes do not overflow. */
TEST(clock_step_of_absurd_changes, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);

    hora_future *future = START(&s, &tick, .fixed_rate = HORA_HOURS(1), .clock = HORA_CLOCK_WALL);
    step(&s, INT64_MIN);
    step(&s, INT64_MAX);
    step(&s, INT64_MAX);
    step(&s, INT64_MIN);
    suspend(&s, INT64_MAX);
    step(&s, INT64_MIN);
    CHECK(s.events >= 1);
    END(&tick, future);
    stage_close(&s);
}

/* Without a hook the tasks follow their clocks all the same. */
TEST(schedule_follows_a_set_clock_without_a_hook, "")
{
    struct fixture f;
    struct stage s = {.f = {0}};
    hora_scheduler *scheduler;
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL};
    hora_future *future = NULL;

    fixture_open(&f);
    s.f = f;
    CHECK_OK(
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = f.view), &scheduler, NULL));
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, TICK(&tick), HORA_SCHEDULE(.initial_delay = HORA_HOURS(1), .clock = HORA_CLOCK_WALL),
        &future, NULL));
    settle(&f);
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, HORA_HOURS(2)));
    settle(&f);
    CHECK_INT(tick.runs, 1);
    CHECK_POINTER(hora_future_unref(future), NULL);
    CHECK_OK(hora_pool_shutdown(scheduler));
    settle(&f);
    CHECK_OK(hora_pool_free(scheduler));
    fixture_close(&f);
}
