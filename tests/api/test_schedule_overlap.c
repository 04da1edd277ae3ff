/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_overlap.c - planned times at which the previous run is still active */
#include "schedule_support.h"

TEST(schedule_overlap_never_lets_runs_follow_each_other, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 3};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(1), .missed = HORA_MISSED_BURST);
    stage_pass(&s, 10);
    CHECK_STARTS(&tick, 0, 3, 6, 9);
    CHECK_INT(tick.most_going, 1);
    END(&tick, future);
    stage_close(&s);
}

/* 0-7; the times 2 4 6 pass: one run follows at 7 and the rest is skipped. Its own run is short. */
TEST(schedule_overlap_queue_one_runs_once_more_at_once, "")
{
    static const hora_missed rules[] = {HORA_MISSED_ONCE, HORA_MISSED_BURST, HORA_MISSED_AT_MOST};

    for (int i = 0; i < 3; i++) {
        struct stage s;
        stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
        struct tick tick = {.stage = &s, .lasts_first = 7};
        hora_future *future =
            START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_QUEUE_ONE, .missed = rules[i],
                  .missed_max = rules[i] == HORA_MISSED_AT_MOST ? 5 : 0);
        stage_pass(&s, 10);
        CHECK_STARTS(&tick, 0, 7, 8, 10);
        CHECK_INT(info_of(future).skipped, 2);
        CHECK_INT(tick.most_going, 1);
        END(&tick, future);
        stage_close(&s);
    }
}

/* Each run takes so long that one more is queued at its end. */
TEST(schedule_overlap_queue_one_goes_on_without_a_pause, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick tick = {.stage = &s, .lasts = 5};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_QUEUE_ONE);
    stage_pass(&s, 21);
    CHECK_STARTS(&tick, 0, 5, 10, 15, 20);
    CHECK_INT(info_of(future).skipped, 6); /* of 2 .. 20 the runs took 4, 10, 14 and 20 */
    END(&tick, future);
    stage_close(&s);
}

/* 2-7 4-9; 6 finds two, is skipped, and not asked for again; 8-13 10-15. */
TEST(schedule_overlap_asks_for_each_time_once, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick tick = {.stage = &s, .lasts = 5};
    struct timetable table = {
        .stage = &s, .line = HORA_CLOCK_MONOTONIC, .seconds = (int[]){2, 4, 6, 8, 10, 100, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table,
                                .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 13);
    CHECK_STARTS(&tick, 2, 4, 8, 10);
    CHECK_INT(info_of(future).skipped, 1);
    CHECK(table.calls < 30);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_overlap_allows_so_many_and_skips_the_next, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 5));
    struct tick tick = {.stage = &s, .lasts = 9};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 5);
    CHECK_STARTS(&tick, 0, 2, 4);
    CHECK_INT(info_of(future).running, 3);
    CHECK_INT(info_of(future).skipped, 0);
    stage_pass(&s, 4); /* 6 and 8 find three */
    CHECK_INT(tick.runs, 3);
    CHECK_INT(info_of(future).skipped, 2);
    stage_pass(&s, 6);
    CHECK_STARTS(&tick, 0, 2, 4, 10, 12, 14);
    CHECK_INT(tick.most_going, 3);
    END(&tick, future);
    stage_close(&s);
}

/* Fewer threads than runs: those that are due wait for a thread, and are late. */
TEST(schedule_overlap_needs_threads, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    struct tick tick = {.stage = &s, .lasts = 6};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW,
                                .overlap_max = 3, .missed = HORA_MISSED_BURST);
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 0, 2, 6, 8); /* those of 4 and 6 */
    CHECK_INT(tick.most_going, 2);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_overlap_ends_by_count_when_the_last_run_has_ended, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3, .count = 3);
    stage_pass(&s, 8);
    CHECK(!hora_future_is_done(future)); /* that of 4 goes on until 9 */
    CHECK_INT(info_of(future).running, 1);
    CHECK_INT(info_of(future).next, HORA_NEVER);
    stage_pass(&s, 1);
    CHECK_STARTS(&tick, 0, 2, 4);
    CHECK(hora_future_is_done(future));
    CHECK_OK(hora_future_failure(future));
    CHECK(!hora_future_is_cancelled(future));
    END(&tick, future);
    CHECK_INT(tick.result_drops, 3);
    stage_close(&s);
}

/* The future of a series that succeeds by its count or end has the result of the run that ended last. */
TEST(schedule_overlap_gives_the_result_of_the_last_run, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5};
    void *result = NULL;

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW,
                                .overlap_max = 3, .end = stage_instant(&s, 3));
    stage_pass(&s, 8);
    CHECK_OK(hora_future_get_for(future, 0, &result));
    CHECK_POINTER(result, &tick);
    CHECK_INT(tick.result_drops, 1);
    END(&tick, future);
    CHECK_INT(tick.result_drops, 2);
    stage_close(&s);
}

/* A last run that fails makes the series fail, as it does without overlap. */
TEST(schedule_overlap_fails_if_the_last_run_fails, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5, .fails_from = 2, .fails_to = 2, .code = 7};
    void *result = untouched;

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3, .count = 2);
    stage_pass(&s, 8);
    CHECK_ERROR(hora_future_get_for(future, 0, &result), HORA_EFAILED);
    CHECK_INT(hora_future_failure(future), 7);
    CHECK_INT(s.failures, 1);
    CHECK(s.failure[0].ends);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_overlap_stops_on_failure_while_others_run, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 5, .fails_from = 1, .fails_to = 1, .code = 7};

    hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW,
                                .overlap_max = 3, .failure = HORA_FAILURE_STOP);
    stage_pass(&s, 5);
    CHECK_INT(hora_future_failure(future), 7);
    CHECK_INT(tick.going, 2); /* they go on undisturbed */
    CHECK_INT(tick.drops, 0);
    stage_pass(&s, 6);
    CHECK_STARTS(&tick, 0, 2, 4);
    CHECK_INT(tick.interrupts, 0);
    CHECK_INT(tick.drops, 1);
    CHECK_INT(tick.result_drops, 2);
    CHECK_INT(s.failures, 1);
    CHECK(s.failure[0].ends);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_overlap_cancel_without_interrupt_lets_them_end, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 2);
    CHECK_INT(tick.going, 3);
    CHECK(hora_future_cancel(future, false) > 0);
    CHECK(hora_future_is_cancelled(future));
    stage_pass(&s, 5);
    CHECK_INT(tick.going, 3);
    CHECK_INT(tick.drops, 0); /* not while a body runs */
    CHECK_INT(info_of(future).running, 3);
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_pass(&s, 5);
    CHECK_STARTS(&tick, 0, 1, 2);
    CHECK_INT(tick.interrupts, 0);
    CHECK_INT(tick.result_drops, 3);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_overlap_cancel_with_interrupt_reaches_them_all, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 2);
    CHECK_INT(tick.going, 3);
    CHECK(hora_future_cancel(future, true) > 0);
    stage_settle(&s);
    CHECK_INT(tick.going, 0);
    CHECK_INT(tick.interrupts, 3);
    stage_pass(&s, 5);
    CHECK_STARTS(&tick, 0, 1, 2);
    CHECK_INT(tick.result_drops, 3);
    END(&tick, future);
    stage_close(&s);
}

/* A series that is dropped while its runs go on, by shutdown. */
TEST(schedule_overlap_and_shutdown, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .waits = true};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 1);
    CHECK_INT(tick.going, 2);
    CHECK_OK(hora_pool_shutdown(s.scheduler));
    stage_pass(&s, 3);
    CHECK(hora_future_is_cancelled(future));
    CHECK_INT(tick.going, 2);
    CHECK(!hora_pool_is_terminated(s.scheduler));
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK(hora_pool_is_terminated(s.scheduler));
    END(&tick, future);
    stage_close(&s);
}

/* All rules together agree on which runs have begun: all are counted, and no time is lost. */
TEST(schedule_overlap_loses_no_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    struct tick tick = {.stage = &s, .lasts = 3};

    hora_future *future =
        START(&s, &tick, .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2);
    stage_pass(&s, 30);
    hora_schedule_info info = info_of(future);
    CHECK_INT(info.runs, tick.runs);
    CHECK_INT(info.runs + info.skipped, 31);
    CHECK_INT(tick.most_going, 2);
    END(&tick, future);
    stage_close(&s);
}

/* ---- a hook that refuses a run which is cancelled at the same time ---- */

static hora_future *series;
static atomic_int asked;

static int cancel_and_refuse_second(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool;
    (void)run;
    (void)arg;
    if (++asked != 2)
        return 0;
    CHECK(hora_future_cancel(series, false) >= 0);
    return HORA_EINVAL;
}

/* The cancelled run leaves the runs of the series, although the hook does not let it begin. */
TEST(overlapping_run_that_is_refused_and_cancelled_ends, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 2, .before = cancel_and_refuse_second));
    struct tick tick = {.stage = &s, .waits = true};
    asked = 0;
    series = START(&s, &tick, .initial_delay = SEC(1), .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW,
                   .overlap_max = 2);
    stage_pass(&s, 2);
    CHECK_INT(asked, 2);
    CHECK_INT(info_of(series).running, 1);
    CHECK_OK(hora_latch_count_down(s.gate));
    stage_settle(&s);
    CHECK_INT(info_of(series).running, 0);
    CHECK_INT(info_of(series).runs, 1);
    CHECK_INT(tick.runs, 1);
    CHECK_INT(tick.drops, 1);
    END(&tick, series);
    stage_close(&s);
}
