/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_overlap.c - overlapping runs of one series: never too many, none after the end, and one end
 *
 * The jobs themselves count how many of their runs are active; see jobs.h. */
#include "jobs.h"

enum { MOST = 2 };

static int told;
static int told_ends;
static int expected; /* code */

/* The future is that of the series. It is not done, unless it was cancelled, or another run has ended it. */
static void note_failure(hora_scheduler *from, const hora_event *event, void *arg)
{
    (void)arg;
    CHECK_POINTER(from, scheduler);
    CHECK_INT(event->code, expected);
    CHECK(event->failures_in_a_row > 0);
    CHECK(!event->ends || told_ends > 0 || !hora_future_is_done(event->future) ||
          hora_future_is_cancelled(event->future));
    told++;
    told_ends += event->ends;
}

static hora_schedule overlap_rules(hora_ns rate, int64_t count)
{
    hora_schedule spec = HORA_INIT(hora_schedule);
    spec.fixed_rate = rate;
    spec.count = count;
    spec.overlap = HORA_OVERLAP_ALLOW;
    spec.overlap_max = MOST;
    spec.missed = HORA_MISSED_BURST;
    return spec;
}

static void begin(int core, hora_ns takes)
{
    told = told_ends = 0;
    expected = JOB_CODE;
    jobs_begin(
        HORA_SCHEDULER_OPTIONS(.core_threads = core, .listener = HORA_LISTENER(.failed = note_failure)));
    jobs[0].most = MOST;
    jobs[0].takes = takes;
}

static hora_future *start_series(const hora_schedule *spec)
{
    hora_future *future;
    jobs[0].every = spec->fixed_rate;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(0), spec, &future, NULL));
    return future;
}

static hora_schedule_info info_of(hora_future *future)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(future, &info));
    return info;
}

/* The last run of a count ends the series, whichever that is. */
static void count_is_reached(int core, hora_ns takes)
{
    begin(core, takes);
    hora_schedule spec = overlap_rules(10, 2);
    hora_future *future = start_series(&spec);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_INT(jobs[0].runs, 2);
    CHECK_INT(jobs[0].running, 0);
    CHECK_INT(info_of(future).running, 0);
    CHECK_INT(info_of(future).runs, 2);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(jobs_now(), 10 + takes);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 2);
}

SCENARIO(overlap_count_is_reached)
{
    count_is_reached(2, 15);
}

SCENARIO(overlap_count_is_reached_by_short_runs)
{
    count_is_reached(1, 0);
}

/* A time that finds as many runs as may be is skipped, and counted. */
LARGE_SCENARIO(overlap_full_house_is_skipped)
{
    begin(3, 25);
    hora_schedule spec = overlap_rules(10, 3);
    spec.end = (hora_instant){jobs_wall_start + 100}; /* if it is late, all times might be skipped */
    hora_future *future = start_series(&spec);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(jobs[0].runs == 3 || !test_is_exact());
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    if (test_is_exact()) {
        CHECK_INT(info_of(future).skipped, 1);
        CHECK_INT(jobs[0].starts[2], 30);
    }
    jobs_unref(future);
    jobs_end();
    jobs_check(0, jobs[0].runs);
}

/* Cancelled at any moment: none begins afterwards, and with interrupt those that go on are interrupted. */
static void cancel_meets_members(int core, hora_ns takes, hora_ns at, bool interrupt)
{
    begin(core, takes);
    hora_schedule spec = overlap_rules(10, 3);
    struct jobs_target target = {.future = start_series(&spec), .interrupt = interrupt};
    jobs_sleep_until(at);
    target.answer = hora_future_cancel(target.future, interrupt);
    hora_schedule_info then = info_of(target.future);
    CHECK(target.answer > 0 || !test_is_exact());
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK(jobs[0].runs <= then.runs); /* those that had not begun by the books never did */
    CHECK_ERROR(hora_future_get(target.future, NULL),
                target.answer == HORA_CANCEL_TOO_LATE ? 0 : HORA_ECANCELED);
    CHECK_INT(info_of(target.future).running, 0);
    CHECK_INT(info_of(target.future).runs, jobs[0].runs);
    CHECK_INT(told, 0);
    if (interrupt && takes > 0 && test_is_exact())
        /* The cancel did not wait for the sleeping run. */
        CHECK(jobs_now() == at);
    jobs_unref(target.future);
    jobs_end();
    jobs_check(0, jobs[0].runs);
}

SCENARIO(overlap_cancel_meets_member)
{
    cancel_meets_members(1, 0, 0, false);
}

SCENARIO(overlap_cancel_interrupts_member)
{
    cancel_meets_members(1, 15, 0, true);
}

SCENARIO(overlap_cancel_meets_two_members)
{
    cancel_meets_members(2, 15, 10, false);
}

SCENARIO(overlap_cancel_interrupts_two_members)
{
    cancel_meets_members(2, 15, 10, true);
}

/* A failure ends the series, while another run is active or about to begin. */
static void failure_ends(int core, hora_ns takes, int fails_at)
{
    begin(core, takes);
    jobs[0].fails_at = fails_at;
    hora_schedule spec = overlap_rules(10, 0);
    spec.failure = HORA_FAILURE_STOP;
    hora_future *future = start_series(&spec);
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    CHECK_INT(hora_future_failure(future), JOB_CODE);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_INT(told, 1);
    CHECK_INT(told_ends, 1);
    CHECK_INT(info_of(future).running, 0);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, jobs[0].runs);
}

SCENARIO(overlap_failure_ends_it)
{
    failure_ends(1, 0, 2);
}

SCENARIO(overlap_failure_meets_member)
{
    failure_ends(2, 15, 1);
}

/* The failure coincides with the end of the count. */
SCENARIO(overlap_failure_meets_count)
{
    begin(2, 15);
    jobs[0].fails_at = 2;
    hora_schedule spec = overlap_rules(10, 2);
    spec.failure = HORA_FAILURE_STOP;
    hora_future *future = start_series(&spec);
    int outcome = hora_future_get(future, NULL);
    CHECK_ERROR(outcome, HORA_EFAILED);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_INT(told, 1);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 2);
}

/* Shut down while members run: the series is cancelled, they go on to their end. */
static void shutdown_meets_members(hora_ns takes, bool stops)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(2, takes);
    hora_schedule spec = overlap_rules(10, 3);
    hora_future *future = start_series(&spec);
    jobs_sleep_until(10);
    if (stops)
        jobs_stop(&list);
    else
        jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    hora_future_list_cancel(&list);
    CHECK(hora_future_is_done(future));
    jobs_unref(future);
    jobs_end();
    jobs_check(0, jobs[0].runs);
}

SCENARIO(overlap_shutdown_meets_members)
{
    shutdown_meets_members(15, false);
}

SCENARIO(overlap_stop_meets_members)
{
    shutdown_meets_members(15, true);
}

/* A run ends its thread: the others, and the series, go on. */
SCENARIO(overlap_run_ends_its_thread)
{
    begin(1, 0);
    jobs[0].exits_at = 1;
    expected = HORA_EABANDONED;
    hora_schedule spec = overlap_rules(10, 2);
    hora_future *future = start_series(&spec);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_INT(info_of(future).failures, 1);
    CHECK_INT(info_of(future).running, 0);
    jobs_unref(future);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_INT(told, 1);
    CHECK_INT(told_ends, 0);
    jobs_end();
    jobs_check(0, 2);
}

/* The series is paused while it becomes due: if no run is counted as begun, none begins. */
SCENARIO(overlap_pause_meets_expiry)
{
    begin(1, 0);
    hora_schedule spec = overlap_rules(10, 3);
    hora_future *future = start_series(&spec);
    jobs_sleep_until(10);
    int paused = hora_future_pause(future);
    if (paused == 1) {
        hora_schedule_info before = info_of(future);
        jobs_sleep_until(25);
        CHECK_INT(info_of(future).runs, before.runs);
        int resumed = hora_future_resume(future);
        CHECK(resumed == 1 || (resumed == HORA_EBUSY && before.runs == 3)); /* no other follows */
    }
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 3);
}

/* The task that is handed back is the original one. */
SCENARIO(overlap_is_handed_back)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    begin(1, 0);
    hora_schedule spec = overlap_rules(10, 3);
    spec.initial_delay = 100;
    hora_future *future = start_series(&spec);
    jobs_stop(&list);
    CHECK(list.count == 1 || !test_is_exact());
    hora_future *back = hora_future_list_take(&list);
    if (back != NULL) {
        CHECK_POINTER(back, future);
        CHECK_INT(hora_future_run(back), 1);
        CHECK_OK(hora_future_get(back, NULL));
        jobs_unref(back);
    }
    jobs_unref(future);
    jobs_end();
    jobs_check(0, jobs[0].runs);
}

static int refuse_second(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)pool;
    CHECK(run->submitted);
    return ++*(int *)arg == 2 ? JOB_CODE : 0;
}

/* The before hook refuses an overlapping run. That run has failed, its place is free again, and the series
 * continues to its count. The listener is not notified of a run that did not begin. */
SCENARIO(overlap_member_is_refused)
{
    int asked = 0;
    told = told_ends = 0;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = refuse_second, .arg = &asked,
                                      .listener = HORA_LISTENER(.failed = note_failure)));
    jobs[0].most = MOST;
    hora_schedule spec = overlap_rules(10, 3);
    hora_future *future = start_series(&spec);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_INT(info_of(future).running, 0);
    CHECK_INT(info_of(future).failures, 1);
    CHECK_INT(told, 0);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 2);
}
