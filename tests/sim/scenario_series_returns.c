/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_series_returns.c - a series is put back in the visit that takes the next task or sleeps
 *
 * See "the short way" in src/sched/series.c. scenario_series.c and scenario_reschedule.c also use series that
 * take the short way, and explore what other threads do to them. This file has the cases in which the visit
 * does not end with a sleep as leader, and the general way, which only observed schedulers take. */
#include "jobs.h"
#include "simulator/sim.h"

enum { RUNS = 3 };

static void begin(int core)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core));
    CHECK_INT(hora_pool_prestart_all(scheduler), core);
    jobs[0].fails_at = RUNS;
    jobs[0].punctual = true;
}

static void end(hora_future *future)
{
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, RUNS);
    jobs_end();
}

/* ---- which worker looks next ---- */

/* The worker that has put the series back is surplus and leaves: the other one wakes up for the next run. */
MEDIUM_SCENARIO(series_returns_and_its_worker_leaves)
{
    begin(2);
    hora_future *future = jobs_rate(0, 0, 10);
    CHECK_OK(hora_pool_set_core_threads(scheduler, 1, NULL));
    CHECK_OK(hora_pool_set_max_threads(scheduler, 1, NULL));
    end(future);
}

/* The worker that has put the series back takes another task, which keeps it busy: the other worker is in
 * time for the next run. */
LARGE_SCENARIO(series_returns_and_its_worker_is_kept)
{
    begin(2);
    jobs[0].takes = 5;
    hora_future *future = jobs_rate(0, 10, 10);
    jobs[1].takes = jobs[2].takes = 50;
    jobs_unref(jobs_once(1, 15));
    end(future);
}

/* Two series share two workers: whichever puts its own back, both are in time. */
LARGE_SCENARIO(series_returns_beside_another)
{
    begin(2);
    jobs[1].fails_at = RUNS;
    jobs[1].punctual = true;
    hora_future *other = jobs_gap(1, 5, 10);
    hora_future *future = jobs_rate(0, 5, 10);
    CHECK_ERROR(hora_future_get(other, NULL), HORA_EFAILED);
    jobs_unref(other);
    end(future);
    jobs_check(1, RUNS);
}

/* ---- slack ---- */

/* Schedules job i at a fixed rate with slack. */
static hora_future *start_lax(int i, hora_ns delay, hora_ns every, hora_ns slack)
{
    hora_future *future = NULL;
    jobs[i].due = jobs_now() + delay;
    jobs[i].every = every;
    jobs[i].fails_at = RUNS;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(i),
                                          HORA_SCHEDULE(.initial_delay = delay, .fixed_rate = every,
                                                        .slack = slack, .missed = HORA_MISSED_BURST,
                                                        .failure = HORA_FAILURE_STOP),
                                          &future, NULL));
    return future;
}

/* Two series with slack and a precise one share two workers: the precise one is in time, and each runs as
 * often as it should. */
LARGE_SCENARIO(series_with_slack_return_beside_a_precise_one)
{
    begin(2);
    hora_future *first = start_lax(1, 5, 10, 6);
    hora_future *second = start_lax(2, 7, 10, 4);
    hora_future *future = jobs_rate(0, 10, 10);
    CHECK_ERROR(hora_future_get(first, NULL), HORA_EFAILED);
    CHECK_ERROR(hora_future_get(second, NULL), HORA_EFAILED);
    jobs_unref(first);
    jobs_unref(second);
    end(future);
    jobs_check(1, RUNS);
    jobs_check(2, RUNS);
}

/* A series with slack is cancelled: it waits, runs or is on its way back, and does not run after that. */
SCENARIO(series_with_slack_meets_a_cancel)
{
    struct jobs_target target = {.job = 1};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    target.future = start_lax(1, 0, 10, 6);
    test_thread *other = test_thread_start(NULL, jobs_cancel, &target);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    int outcome = hora_future_get(target.future, NULL);
    CHECK(outcome == HORA_ECANCELED || outcome == HORA_EFAILED); /* the cancel may be late */
    jobs_unref(target.future);
    jobs_check(1, jobs[1].runs);
    jobs_end();
}

/* A shutdown that ends series meets one with slack, which is the only entry. */
SCENARIO(series_with_slack_meets_a_shutdown)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_future *future = start_lax(1, 0, 10, 6);
    test_thread *other = test_thread_start(NULL, jobs_shut_down, NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    int outcome = hora_future_get(future, NULL);
    CHECK(outcome == HORA_ECANCELED || outcome == HORA_EFAILED); /* the shutdown may be late */
    jobs_unref(future);
    jobs_check(1, jobs[1].runs);
    jobs_end();
}

/* ---- changes before the worker sleeps ---- */

/* The number of workers is reduced, and a shutdown lets the series continue: the worker notices both,
 * although it was not idle at that moment. */
SCENARIO(series_returns_after_its_scheduler_is_shut_down)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    jobs[0].fails_at = RUNS;
    hora_future *future = jobs_rate(0, 0, 10);
    CHECK_OK(hora_pool_set_core_time_out(scheduler, true, NULL));
    jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    int outcome = hora_future_get(future, NULL);
    CHECK(outcome == HORA_EFAILED ||
          outcome == HORA_ECANCELED); /* the shutdown may be before the first run */
    jobs_unref(future);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

/* A thread waits until the scheduler is idle, while a task that came in between is run. */
SCENARIO(series_returns_beside_one_that_waits_for_quiet)
{
    begin(1);
    jobs_unref(jobs_once(1, 0));
    hora_future *future = jobs_rate(0, 0, 10);
    end(future);
    jobs_check(1, 1);
}

/* The scheduler's own clock is set back while the series runs, or is on its way back. */
static void set_back(hora_ns takes)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = hora_clock_system(HORA_CLOCK_WALL)));
    jobs[0].fails_at = RUNS;
    jobs[0].takes = takes;
    hora_future *future = jobs_rate(0, 0, HORA_SECONDS(10));
    jobs[0].every = 0; /* it may run sooner than that */
    jobs[0].due = 0;
    jobs_sleep_until(takes / 2);
    hora__sim_step_wall(-HORA_SECONDS(1000));
    end(future);
}

SCENARIO(series_returns_after_its_clock_is_set_back)
{
    set_back(0);
}

SCENARIO(series_returns_after_its_clock_is_set_back_in_a_run)
{
    set_back(HORA_SECONDS(8));
}

/* ---- the general way ---- */

static void see_run(hora_pool *pool, const hora_run_info *run, void *arg)
{
    (void)arg;
    CHECK(pool == scheduler && run->future != NULL);
}

/* A hook observes each run, so the end of the run and putting the series back are separate visits. A
 * re-timing between the two takes effect. */
SCENARIO(series_returns_the_general_way_and_is_retimed)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .after = see_run));
    jobs[0].takes = 5;
    jobs[0].fails_at = RUNS;
    hora_future *future = jobs_rate(0, 10, 50);
    jobs[0].every = 0;
    jobs[0].due = 10;
    jobs_sleep_until(15);
    hora_ns now = jobs_now();
    int error = hora_future_reschedule(future, 10, 20);
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(future, &info)); /* no time passes in between, unless late */
    CHECK(error == 0 || !test_is_exact());
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(0, RUNS);
    if (test_is_exact())
        for (int i = (int)info.runs; i < RUNS; i++)
            CHECK_INT(jobs[0].starts[i], now + 10 + (i - (int)info.runs) * 20);
    jobs_end();
}

/* And a cancel. */
SCENARIO(series_returns_the_general_way_and_is_cancelled)
{
    struct jobs_target target = {.job = 0};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .after = see_run));
    target.future = jobs_rate(0, 0, 10);
    jobs_cancel(&target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    int outcome = hora_future_get(target.future, NULL);
    CHECK(outcome == HORA_ECANCELED || outcome == HORA_EFAILED); /* the cancel may be late */
    jobs_unref(target.future);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}
