/* SPDX-License-Identifier: Apache-2.0 */
/* test_events_scheduler.c - listeners of schedulers: missed times, late runs, clocks that are set */
#include <string.h>

#include "events_support.h"
#include "schedule_support.h"

static void open_told_for(struct stage *s, struct diary *diary, const char *whats, int threads)
{
    memset(diary, 0, sizeof(*diary));
    hora_listener listener = diary_listener_for(diary, whats);
    stage_open(s, HORA_SCHEDULER_OPTIONS(.core_threads = threads, .listener = &listener));
}

static int64_t told_skips(struct diary *diary)
{
    int64_t sum = 0;
    for (int i = 0; i < diary->count; i++)
        if (diary->notes[i].what == 'K')
            sum += diary->notes[i].event.count;
    return sum;
}

/* ---- planned times that are passed over ---- */

TEST(events_tell_of_planned_times_that_are_missed, "")
{
    static const hora_missed rules[] = {HORA_MISSED_ONCE, HORA_MISSED_BURST, HORA_MISSED_SKIP};
    static const int told[] = {1, 0, 1}, skipped[] = {3, 0, 4};
    for (int i = 0; i < 3; i++) {
        struct stage s;
        struct diary diary;
        open_told_for(&s, &diary, "K", 2);
        struct tick tick = {.stage = &s, .lasts_first = 9};
        hora_future *future = START(&s, &tick, .fixed_rate = SEC(2), .missed = rules[i]);
        stage_pass(&s, 13);
        CHECK_INT(diary.count, told[i]);
        CHECK_INT(told_skips(&diary), skipped[i]);
        CHECK_INT(info_of(future).skipped, skipped[i]);
        if (diary.count > 0) {
            CHECK_POINTER(diary.notes[0].event.future, future);
            CHECK(strcmp(diary.notes[0].name, "tick") == 0);
            CHECK_POINTER(diary.notes[0].inside, s.scheduler);
        }
        END(&tick, future);
        stage_close(&s);
    }
}

/* Those that pass while it waits to be tried again, and those that overlap. */
TEST(events_tell_of_planned_times_after_a_failure_and_of_those_that_overlap, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "K", 3);
    struct tick fails = {.stage = &s, .fails_from = 1, .fails_to = 1, .code = 1};
    struct tick queues = {.stage = &s, .lasts_first = 7}, overlaps = {.stage = &s, .lasts = 5};
    hora_future *futures[3];

    futures[0] =
        START(&s, &fails, .fixed_rate = SEC(1), .failure = HORA_FAILURE_BACK_OFF, .back_off = SEC(4));
    stage_pass(&s, 6);
    int64_t first = info_of(futures[0]).skipped;
    CHECK_INT(told_skips(&diary), first);
    CHECK(first > 0);
    END(&fails, futures[0]);
    futures[1] = START(&s, &queues, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_QUEUE_ONE,
                       .missed = HORA_MISSED_BURST);
    stage_pass(&s, 10);
    int64_t second = info_of(futures[1]).skipped;
    CHECK_INT(second, 2);
    CHECK_INT(told_skips(&diary), first + second);
    END(&queues, futures[1]);
    futures[2] = START(&s, &overlaps, .fixed_rate = SEC(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2,
                       .missed = HORA_MISSED_BURST);
    stage_pass(&s, 12);
    int64_t third = info_of(futures[2]).skipped;
    CHECK(third > 0);
    CHECK_INT(told_skips(&diary), first + second + third);
    END(&overlaps, futures[2]);
    stage_pass(&s, 6);
    stage_close(&s);
}

/* ---- late ---- */

TEST(events_tell_of_runs_that_begin_late, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "SL", 1);
    struct tick tick = A_TICK(&s), other = A_TICK(&s);
    hora_future *once = START(&s, &tick, .initial_delay = SEC(2));

    stage_leap(&s, SEC(3)); /* 1 s after its time: not later than late_after */
    stage_settle(&s);
    CHECK_DIARY(&diary, "S");
    CHECK_INT(diary.notes[0].event.late, SEC(1));
    hora_future_unref(once);
    hora_future *series = START(&s, &other, .fixed_rate = SEC(10), .initial_delay = SEC(1));
    stage_leap(&s, SEC(3));
    stage_settle(&s);
    CHECK_DIARY(&diary, "SLS");
    for (int i = 1; i < 3; i++) {
        CHECK_INT(diary.notes[i].event.late, SEC(2));
        CHECK_INT(diary.notes[i].event.worker, 1);
        CHECK_POINTER(diary.notes[i].event.future, series);
    }
    stage_pass(&s, 8); /* in time, at 11 */
    CHECK_DIARY(&diary, "SLSS");
    CHECK_INT(diary.notes[3].event.late, 0);
    END(&other, series);
    stage_close(&s);
}

/* Overlapping runs of a series are reported with the series, and each with its own lateness. */
TEST(events_of_runs_that_overlap_name_their_series, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "SDL", 2);
    struct tick tick = {.stage = &s, .lasts = 3};
    hora_future *series =
        START(&s, &tick, .fixed_rate = SEC(2), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2, .count = 2);

    stage_pass(&s, 6);
    CHECK_DIARY(&diary, "SSDD");
    for (int i = 0; i < 4; i++) {
        CHECK_POINTER(diary.notes[i].event.future, series);
        CHECK_INT(diary.notes[i].event.late, 0);
    }
    CHECK_INT(diary.notes[2].event.ran, SEC(3));
    hora_future_unref(series);
    stage_close(&s);
}

/* Also if no caller has the future: a listener can query the future that it is shown. */
TEST(events_of_tasks_without_a_handle, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "SDFL", 1);
    struct tick tick = A_TICK(&s);

    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(1), NULL));
    stage_leap(&s, SEC(4));
    stage_settle(&s);
    CHECK_DIARY(&diary, "LSD");
    CHECK_INT(diary.notes[0].event.late, SEC(3));
    CHECK(diary.notes[0].event.future != NULL);
    stage_close(&s);
}

TEST(events_of_woke_late_alone_show_futures, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "L", 1);
    struct tick tick = A_TICK(&s);

    CHECK_OK(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(1), NULL));
    stage_leap(&s, SEC(4));
    stage_settle(&s);
    CHECK_DIARY(&diary, "L");
    stage_close(&s);
}

/* ---- clocks ---- */

/* No other thread watches the clocks. */
TEST(events_tell_of_clocks_that_are_set, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "CS", 1);
    struct tick tick = {.stage = &s, .line = HORA_CLOCK_WALL}, far = A_TICK(&s);
    hora_future *waiting = START(&s, &far, .initial_delay = SEC(100)); /* who waits for it watches */
    hora_future *future = START(&s, &tick, .at = stage_instant(&s, 3600));

    stage_settle(&s);
    CHECK_OK(hora_virtual_clock_step_wall(s.f.clock, SEC(3600)));
    stage_settle(&s);
    CHECK_DIARY(&diary, "CS"); /* before what has become due by it begins */
    CHECK_INT(diary.notes[0].event.stepped, SEC(3600));
    CHECK_INT(diary.notes[0].event.suspended, 0);
    CHECK_INT(diary.notes[0].event.count, 1);
    CHECK_INT(s.events, 1);
    CHECK_OK(hora_virtual_clock_suspend(s.f.clock, SEC(60)));
    stage_settle(&s);
    CHECK_DIARY(&diary, "CSC");
    CHECK_INT(diary.notes[2].event.suspended, SEC(60));
    CHECK_INT(diary.notes[2].event.stepped, 0);
    CHECK_INT(s.events, 2);
    hora_future_unref(future);
    END(&far, waiting);
    stage_close(&s);
}

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* Without any other listener, and without any task on another clock. */
TEST(events_of_clocks_need_no_other_watcher, "")
{
    struct fixture f;
    struct diary diary;
    hora_scheduler *scheduler;
    hora_future *future;
    hora_listener listener = diary_listener_for(&diary, "C");

    fixture_open(&f);
    memset(&diary, 0, sizeof(diary));
    CHECK_OK(hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = f.view, .listener = &listener), &scheduler, NULL));
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(nothing, NULL), SEC(100), &future));
    settle(&f);
    CHECK_OK(hora_virtual_clock_step_wall(f.clock, -SEC(5)));
    settle(&f);
    CHECK_DIARY(&diary, "C");
    CHECK_INT(diary.notes[0].event.stepped, -SEC(5));
    CHECK_INT(diary.notes[0].event.count, 0);
    hora_future_unref(future);
    CHECK_OK(hora_pool_shutdown_now(scheduler, NULL));
    CHECK_INT(hora_pool_free(scheduler), 1);
    fixture_close(&f);
}

/* ---- after shutdown ---- */

TEST(events_tell_of_what_a_scheduler_refuses, "")
{
    struct stage s;
    struct diary diary;
    open_told_for(&s, &diary, "R", 1);
    struct tick tick = A_TICK(&s);
    hora_future *future = NULL;

    CHECK_OK(hora_pool_shutdown(s.scheduler));
    CHECK_ERROR(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(1), NULL), HORA_EREJECTED);
    CHECK_ERROR(hora_scheduler_schedule(s.scheduler, TICK(&tick), SEC(1), &future), HORA_EREJECTED);
    CHECK_ERROR(hora_pool_execute(s.scheduler, TICK(&tick)), HORA_EREJECTED);
    CHECK_ERROR(hora_scheduler_schedule_at_fixed_rate(s.scheduler, TICK(&tick), 0, SEC(1), &future),
                HORA_EREJECTED);
    CHECK_DIARY(&diary, "RRRR");
    stage_close(&s);
}
