/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule_times.c - the runs after the first: rate, gap, next */
#include "schedule_support.h"

TEST(schedule_rate_counts_from_planned_time_to_planned_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 3};

    hora_future *future = START(&s, &tick, .initial_delay = SEC(1), .fixed_rate = SEC(5));
    CHECK(hora_future_is_periodic(future));
    stage_pass(&s, 22);
    CHECK_STARTS(&tick, 1, 6, 11, 16, 21);
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_gap_counts_from_the_end_of_each_run, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 3, .lasts_first = 8};

    hora_future *future = START(&s, &tick, .initial_delay = SEC(1), .fixed_delay = SEC(5));
    CHECK(hora_future_is_periodic(future));
    stage_pass(&s, 31);
    CHECK_STARTS(&tick, 1, 14, 22, 30);
    CHECK_INT(info_of(future).skipped, 0);
    END(&tick, future);
    stage_close(&s);
}

TEST(schedule_next_is_told_of_the_latest_run, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = {.stage = &s, .lasts = 2};
    struct timetable table = {.stage = &s, .seconds = (int[]){3, 10, 20, -1}};
    hora_ns zero = s.zero[HORA_CLOCK_MONOTONIC];

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 7);
    CHECK_INT(table.last.last_planned, zero + SEC(3));
    CHECK_INT(table.last.last_start, zero + SEC(3));
    CHECK_INT(table.last.last_end, zero + SEC(5));
    CHECK_INT(table.last.now, zero + SEC(5));
    CHECK_INT(table.last.runs, 1);
    stage_pass(&s, 14);
    CHECK_STARTS(&tick, 3, 10, 20);
    END(&tick, future);
    stage_close(&s);
}

/* Late runs: the planned time and the real one differ. */
TEST(schedule_next_is_told_when_a_run_really_began, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick blocker = {.stage = &s, .lasts = 10}, tick = {.stage = &s, .lasts = 1};
    struct timetable table = {.stage = &s, .seconds = (int[]){4, 30, -1}};
    hora_ns zero = s.zero[HORA_CLOCK_MONOTONIC];

    hora_future *first = START(&s, &blocker, .initial_delay = 0);
    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 12);
    CHECK_STARTS(&tick, 10);
    CHECK_INT(table.last.last_planned, zero + SEC(4));
    CHECK_INT(table.last.last_start, zero + SEC(10));
    CHECK_INT(table.last.last_end, zero + SEC(11));
    END(&blocker, first);
    END(&tick, future);
    stage_close(&s);
}

/* When next returns no more times, the series ends with the result of the last run. */
TEST(schedule_next_ends_the_series, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick tick = A_TICK(&s);
    struct timetable table = {.stage = &s, .seconds = (int[]){1, 2, -1}};
    void *result = NULL;

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table);
    stage_pass(&s, 1);
    CHECK(!hora_future_is_done(future));
    stage_pass(&s, 3);
    CHECK_STARTS(&tick, 1, 2);
    CHECK_OK(hora_future_get_for(future, 0, &result));
    CHECK_POINTER(result, &tick);
    CHECK_INT(tick.result_drops, 1);
    END(&tick, future);
    CHECK_INT(tick.result_drops, 2);
    stage_close(&s);
}

/* Several workers: next is never called by two at once; its own guard sees to that. */
TEST(schedule_next_is_asked_by_one_at_a_time, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct tick tick = {.stage = &s, .lasts = 2};
    struct timetable table = {.stage = &s, .seconds = (int[]){0, 1, 2, 3, 4, 5, -1}};

    hora_future *future = START(&s, &tick, .next = timetable_next, .next_arg = &table,
                                .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 3);
    stage_pass(&s, 9);
    CHECK_STARTS(&tick, 0, 1, 2, 3, 4, 5);
    CHECK(hora_future_is_done(future));
    END(&tick, future);
    stage_close(&s);
}

/* Runs of one series may be on different threads, and each sees the effects of the one before: a plain int,
 * which a sanitizer checks. */
struct plain {
    int runs;
};

static int count_plainly(void *arg, void **ret_result)
{
    struct plain *plain = arg;
    (void)ret_result;
    plain->runs++;
    return 0;
}

TEST(schedule_runs_see_what_the_one_before_has_done, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    struct plain plain = {0};
    hora_future *future = NULL;

    CHECK_OK(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(count_plainly, &plain),
                                          HORA_SCHEDULE(.fixed_rate = SEC(1), .count = 20), &future, NULL));
    stage_pass(&s, 20);
    CHECK(hora_future_is_done(future));
    CHECK_INT(plain.runs, 20);
    CHECK_POINTER(hora_future_unref(future), NULL);
    stage_close(&s);
}

/* Tasks for the same moment run in the order of scheduling, and a series keeps its place. */
struct letter {
    char name;
    char **end;
};

static int note_letter(void *arg, void **ret_result)
{
    struct letter *letter = arg;
    (void)ret_result;
    *(*letter->end)++ = letter->name;
    return 0;
}

TEST(schedule_equal_times_run_in_the_order_of_scheduling, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    char trace[32] = "", *end = trace;
    struct letter letters[3] = {{'a', &end}, {'b', &end}, {'c', &end}};
    hora_future *futures[3];

    for (int i = 0; i < 3; i++)
        CHECK_OK(hora_scheduler_schedule_with(s.scheduler, HORA_TASK(note_letter, &letters[i]),
                                              HORA_SCHEDULE(.initial_delay = SEC(i), .fixed_rate = SEC(2)),
                                              &futures[i], NULL));
    stage_pass(&s, 6);
    CHECK_INT(end - trace, 10);
    for (int i = 0; i < 10; i++)
        CHECK_INT(trace[i], "abacbacbac"[i]);
    for (int i = 0; i < 3; i++) {
        (void)hora_future_cancel(futures[i], false);
        CHECK_POINTER(hora_future_unref(futures[i]), NULL);
    }
    stage_close(&s);
}

/* The largest periods: the second run is never due, and the series waits for it without end. */
TEST(schedule_with_the_longest_period_runs_once_and_waits, "")
{
    struct stage s;
    stage_open(&s, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    struct tick rate = A_TICK(&s), gap = A_TICK(&s), other = A_TICK(&s);

    hora_future *first = START(&s, &rate, .fixed_rate = INT64_MAX);
    hora_future *second = START(&s, &gap, .fixed_delay = INT64_MAX);
    hora_future *third = START(&s, &other, .fixed_rate = SEC(1));
    stage_pass(&s, 3);
    CHECK_STARTS(&rate, 0);
    CHECK_STARTS(&gap, 0);
    CHECK_STARTS(&other, 0, 1, 2, 3);
    CHECK(!hora_future_is_done(first));
    CHECK(!hora_future_is_done(second));
    END(&rate, first);
    END(&gap, second);
    END(&other, third);
    stage_close(&s);
}
