/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_reschedule.c - re-timing, pausing and resuming against expiry, taking and running
 *
 * The oracle is the answer of hora_future_get_schedule_info, which reads under the lock. A run that had not
 * begun at that moment begins by the new plan or, while the task is paused, not at all. */
#include "jobs.h"

static hora_schedule_info info_of(hora_future *future)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(future, &info));
    return info;
}

/* ---- what runs once ---- */

/* It is moved, or had been taken; never both. */
static void retime_once(hora_ns at, hora_ns delay)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = jobs_once(0, 10);
    jobs_sleep_until(at);
    hora_ns before = jobs_now();
    int error = hora_future_reschedule(future, delay, 0);
    CHECK(error == 0 || error == HORA_EBUSY);
    CHECK(error == 0 || before >= 10 || !test_is_exact());
    CHECK_OK(hora_future_get(future, NULL));
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    if (error == 0)
        CHECK(jobs[0].starts[0] >= before + delay);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], error == 0 ? before + delay : 10);
    jobs_end();
}

SCENARIO(reschedule_retime_meets_expiry)
{
    retime_once(10, 20);
}

SCENARIO(reschedule_retime_back)
{
    retime_once(0, 20);
}

static void retime_ahead(hora_ns at, hora_ns delay)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = jobs_once(0, 100);
    jobs[0].due = 0;
    jobs_sleep_until(at);
    hora_ns before = jobs_now();
    int error = hora_future_reschedule(future, delay, 0);
    CHECK(error == 0 || !test_is_exact());
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(jobs[0].starts[0] >= before + delay || error < 0);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], before + delay);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_end();
}

SCENARIO(reschedule_retime_ahead)
{
    retime_ahead(0, 10);
}

SCENARIO(reschedule_retime_ahead_of_a_sleeping_leader)
{
    retime_ahead(5, 10);
}

SCENARIO(reschedule_retime_to_now)
{
    retime_ahead(5, 0);
}

/* Paused in time it does not run, until it is resumed. */
SCENARIO(reschedule_pause_meets_expiry)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = jobs_once(0, 10);
    jobs_sleep_until(10);
    int paused = hora_future_pause(future);
    CHECK(paused == 1 || paused == HORA_EBUSY);
    if (paused == 1) {
        jobs[0].forbidden = 1;
        jobs_sleep_until(20);
        CHECK_INT(jobs[0].runs, 0);
        jobs[0].forbidden = 0;
        CHECK_INT(hora_future_resume(future), 1);
    }
    CHECK_OK(hora_future_get(future, NULL));
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[0], paused == 1 ? 20 : 10);
    jobs_end();
}

/* ---- series ---- */

/* A pause at any moment: a run that is not counted as begun does not begin until the task is resumed. Then
 * the series continues. */
static void pause_series(hora_ns takes, hora_ns at)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].takes = takes;
    jobs[0].fails_at = 4;
    hora_future *future = jobs_rate(0, 10, 10);
    jobs_sleep_until(at);
    int paused = hora_future_pause(future);
    CHECK(paused == 1 || !test_is_exact());
    if (paused == 1) {
        hora_schedule_info before = info_of(future);
        CHECK(before.paused && before.next == HORA_NEVER);
        jobs_sleep_until(at + 35);
        hora_schedule_info after = info_of(future);
        CHECK_INT(after.runs, before.runs);
        CHECK(after.running == 0 || (before.running == 1 && !test_is_exact()));
        int resumed = hora_future_resume(future);
        CHECK(resumed == 1 || (resumed == HORA_EBUSY && hora_future_is_done(future)));
    }
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 4);
    jobs_end();
}

SCENARIO(reschedule_pause_meets_series)
{
    pause_series(0, 10);
}

SCENARIO(reschedule_pause_meets_put_back)
{
    pause_series(5, 15);
}

SCENARIO(reschedule_pause_meets_run)
{
    pause_series(5, 12);
}

/* Paused and resumed at once, by two threads: nothing gets stuck. */
static void pause_and_resume(void *arg)
{
    for (int i = 0; i < 2; i++) {
        int error = hora_future_pause(arg);
        CHECK(error >= 0 || error == HORA_EBUSY);
        error = hora_future_resume(arg);
        CHECK(error >= 0 || error == HORA_EBUSY);
    }
}

SCENARIO(reschedule_pause_meets_resume)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].fails_at = 2;
    hora_future *future = jobs_rate(0, 0, 10);
    pause_and_resume(future);
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 2);
    jobs_end();
}

/* A re-timing at any moment: the next run that is counted as begun after it is at the new time, neither
 * before nor after, and the others follow at the new rate. */
static void retime_series(hora_ns takes, hora_ns at, hora_ns delay)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].takes = takes;
    jobs[0].fails_at = 4;
    hora_future *future = jobs_rate(0, 10, 50);
    jobs[0].every = 0;
    jobs[0].due = 10;
    jobs_sleep_until(at);
    hora_ns now = jobs_now();
    int error = hora_future_reschedule(future, delay, 20);
    hora_schedule_info info = info_of(future); /* no time passes in between, unless late */
    CHECK(error == 0 || !test_is_exact());
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, 4);
    if (test_is_exact())
        for (int i = (int)info.runs; i < 4; i++)
            CHECK_INT(jobs[0].starts[i], now + delay + (i - (int)info.runs) * 20);
    jobs_end();
}

SCENARIO(reschedule_retime_meets_series)
{
    retime_series(0, 10, 25);
}

SCENARIO(reschedule_retime_meets_put_back)
{
    retime_series(5, 15, 10);
}

SCENARIO(reschedule_retime_meets_put_back_and_is_later)
{
    retime_series(5, 15, 100);
}

SCENARIO(reschedule_retime_meets_run)
{
    retime_series(5, 12, 15);
}

/* Re-timed by its own run: that holds for the one after it. */
static hora_future *_Atomic own;

static int retime_itself(void *arg, void **ret_result)
{
    int error = jobs_run(arg, ret_result);
    if (own != NULL)
        CHECK_OK(hora_future_reschedule(own, 7, 0));
    return error;
}

SCENARIO(reschedule_series_retimes_itself)
{
    hora_future *future;
    own = NULL;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].fails_at = 3;
    CHECK_OK(hora_scheduler_schedule_at_fixed_rate(
        scheduler, HORA_TASK(retime_itself, &jobs[0], .drop = jobs_drop), 5, 100, &future));
    own = future;
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[2], 5 + 7 + 7);
    jobs_unref(future);
    jobs_check(0, 3);
    jobs_end();
}

/* ---- at the end of the scheduler ---- */

/* A shutdown cancels a paused task, wherever it is, also if it would cancel no other. */
static void paused_meets_shutdown(hora_ns takes, bool series)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    jobs[0].takes = takes;
    jobs[0].fails_at = 2;
    hora_future *future = series ? jobs_rate(0, 0, 10) : jobs_once(0, 10);
    jobs_sleep_until(takes / 2);
    int paused = hora_future_pause(future);
    jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_done(future));
    CHECK(paused != 1 || jobs[0].runs < 2 || !test_is_exact());
    jobs_unref(future);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

SCENARIO(reschedule_paused_series_meets_shutdown)
{
    paused_meets_shutdown(0, true);
}

SCENARIO(reschedule_paused_run_meets_shutdown)
{
    paused_meets_shutdown(8, true);
}

SCENARIO(reschedule_paused_task_meets_shutdown)
{
    paused_meets_shutdown(0, false);
}

static void pause_it(void *arg)
{
    int error = hora_future_pause(arg);
    CHECK(error == 1 || error == HORA_EBUSY);
}

/* A pause against a cancel, and against each other. */
SCENARIO(reschedule_pause_meets_cancel)
{
    struct jobs_target target = {.interrupt = false};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    target.future = jobs_rate(0, 0, 10);
    test_thread *other = test_thread_start(NULL, pause_it, target.future);
    jobs_cancel(&target);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(target.future);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

/* ---- helping ---- */

static hora_future *inner;

static int wait_for_inner(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_future_get(inner, NULL);
}

/* A worker waits for a task that is due, and would run it out of turn, while that is re-timed. */
SCENARIO(reschedule_retime_meets_help)
{
    hora_future *outer;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].takes = 10;
    hora_future *busy = jobs_once(0, 0);
    inner = jobs_once(1, 8); /* due while the worker is busy, but behind the outer one */
    CHECK_OK(hora_scheduler_schedule(scheduler, HORA_TASK(wait_for_inner, NULL), 5, &outer));
    jobs_sleep_until(10);
    hora_ns now = jobs_now();
    int moved = hora_future_reschedule(inner, 30, 0);
    CHECK(moved == 0 || moved == HORA_EBUSY);
    if (moved == 0)
        jobs[1].due = now + 30;
    CHECK_OK(hora_future_get(outer, NULL));
    CHECK(hora_future_is_done(inner));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(busy);
    jobs_unref(outer);
    jobs_unref(inner);
    jobs_check(0, 1);
    jobs_check(1, 1);
    CHECK(moved != 0 || jobs[1].starts[0] >= now + 30);
    jobs_end();
}

/* ---- the end of a series ---- */

static void await_end(hora_future *future)
{
    int outcome = hora_future_get(future, NULL);
    CHECK(outcome == 0 || outcome == HORA_EFAILED);
}

static atomic_bool was_asked;

/* One time, at 10, and no other. */
static hora_ns next_only_once(const hora_trigger_context *context, void *arg)
{
    (void)context;
    (void)arg;
    return atomic_exchange(&was_asked, true) ? HORA_FOREVER : jobs_start + 10;
}

static hora_future *start_series(const hora_schedule *spec)
{
    hora_future *future = NULL;
    was_asked = false;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(0), spec, &future, NULL));
    return future;
}

/* Re-time it while it ends: that is refused, or a run begins by the new plan. */
static void retime_meets_end(hora_future *future, hora_ns at, bool may_fail)
{
    jobs_sleep_until(at);
    hora_schedule_info info = info_of(future);
    hora_ns before = jobs_now();
    int error = hora_future_reschedule(future, 20, 0);
    CHECK(error == 0 || error == HORA_EBUSY);
    bool has_run = info.runs == 1 && info.running == 0;
    CHECK(!has_run || error == HORA_EBUSY || !may_fail);
    await_end(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    int runs = jobs[0].runs;
    if (error == 0 && !may_fail)
        CHECK(runs > 0 && jobs[0].starts[runs - 1] >= before + 20);
    jobs_unref(future);
    jobs_check(0, runs);
    jobs_end();
}

SCENARIO(reschedule_retime_meets_the_last_time)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    retime_meets_end(start_series(HORA_SCHEDULE(.next = next_only_once)), 10, false);
}

SCENARIO(reschedule_retime_meets_the_last_time_of_runs_that_overlap)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].most = 2;
    retime_meets_end(
        start_series(HORA_SCHEDULE(.next = next_only_once, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2)),
        10, false);
}

SCENARIO(reschedule_retime_meets_the_last_run_of_a_count)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    retime_meets_end(start_series(HORA_SCHEDULE(.initial_delay = 10, .fixed_rate = 10, .count = 1)), 10,
                     false);
}

SCENARIO(reschedule_retime_meets_the_last_run_of_a_count_of_runs_that_overlap)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    retime_meets_end(start_series(HORA_SCHEDULE(.initial_delay = 10, .fixed_rate = 10, .count = 1,
                                                .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2)),
                     10, false);
}

/* It may fail after it was re-timed, but not before. */
SCENARIO(reschedule_retime_meets_a_failure_that_ends_it)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].fails_at = 1;
    retime_meets_end(jobs_rate(0, 10, 10), 10, true);
}

/* The only thread is busy until 20: then the time of 10 is too late, and there is no other. */
SCENARIO(reschedule_retime_meets_a_missed_last_time)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[1].takes = 20;
    hora_future *other = jobs_once(1, 0);
    hora_future *future =
        start_series(HORA_SCHEDULE(.next = next_only_once, .grace = 5, .missed = HORA_MISSED_BURST));
    jobs_sleep_until(20);
    hora_ns before = jobs_now();
    int error = hora_future_reschedule(future, 20, 0);
    CHECK(error == 0 || error == HORA_EBUSY);
    await_end(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    int runs = jobs[0].runs;
    if (error == 0 && test_is_exact()) /* else its new time may be missed, too */
        CHECK(runs > 0 && jobs[0].starts[runs - 1] >= before + 20);
    jobs_unref(future);
    jobs_unref(other);
    jobs_check(0, runs);
    jobs_end();
}

/* A series whose last run has begun by the books cannot be paused. */
SCENARIO(reschedule_pause_meets_the_last_run)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = start_series(HORA_SCHEDULE(.initial_delay = 10, .fixed_rate = 10, .count = 1));
    jobs_sleep_until(10);
    hora_schedule_info info = info_of(future);
    int paused = hora_future_pause(future);
    CHECK(paused == 1 || paused == HORA_EBUSY);
    CHECK(info.runs == 0 || paused == HORA_EBUSY);
    if (paused == 1)
        CHECK_INT(hora_future_resume(future), 1);
    await_end(future);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, jobs[0].runs);
    jobs_end();
}
