/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_standby.c - the sleeping workers of a scheduler: leader, standby, searcher
 *
 * Whenever a worker is idle, a due task begins at its time, also if the workers that would wake up for it are
 * busy. See src/exec/standby.c. The jobs assert that they are punctual. */
#include "jobs.h"
#include "simulator/sim.h"

static void begin(int core)
{
    hora_scheduler_options options = HORA_INIT(hora_scheduler_options);
    options.core_threads = core;
    jobs_begin(&options);
    CHECK_INT(hora_pool_prestart_all(scheduler), core);
    for (int i = 0; i < JOBS; i++)
        jobs[i].punctual = true;
}

static void end(int count)
{
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    for (int i = 0; i < count; i++)
        jobs_check(i, 1);
    jobs_end();
}

/* Due together, and the first keeps its worker: the second begins with it. */
MEDIUM_SCENARIO(standby_runs_what_is_due_together)
{
    begin(2);
    jobs[0].takes = 100;
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 10));
    end(2);
}

/* The first task keeps its worker busy. A task that was scheduled after the standby had gone to sleep is due
 * before the standby wakes up. */
LARGE_SCENARIO(standby_is_told_of_what_is_due_sooner)
{
    begin(2);
    jobs[0].takes = 100;
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 40));
    jobs_sleep_until(5);
    jobs_unref(jobs_once(2, 20));
    end(3);
}

/* Three tasks at the same moment, all of which keep their workers busy: each worker wakes the next. */
LARGE_SCENARIO(standby_chain_reaches_the_last)
{
    begin(3);
    jobs[0].takes = jobs[1].takes = 100;
    for (int i = 0; i < 3; i++)
        jobs_unref(jobs_once(i, 10));
    end(3);
}

/* A worker that is awake continues with tasks that are due, and with those that become due; the worker that
 * slept for them finds nothing. */
LARGE_SCENARIO(standby_finds_what_it_slept_for_gone)
{
    begin(2);
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, 10));
    jobs_unref(jobs_once(2, 30));
    end(3);
}

/* The task for which the standby sleeps is cancelled, and the one after it is due much later: no worker is
 * late for that. */
LARGE_SCENARIO(standby_outlives_its_task)
{
    begin(2);
    jobs[0].takes = 100;
    jobs_unref(jobs_once(0, 10));
    struct jobs_target target = {.future = jobs_once(1, 20), .job = 1};
    jobs_sleep_until(5);
    jobs_cancel(&target);
    jobs_unref(jobs_once(2, 60));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(target.answer, HORA_CANCEL_REMOVED);
    jobs_unref(target.future);
    jobs_check(0, 1);
    jobs_check(2, 1);
    jobs_end();
}

/* A series is put back into the timer queue before its worker looks for the next task. */
LARGE_SCENARIO(standby_takes_turns_with_a_series)
{
    begin(2);
    jobs[0].every = 10;
    hora_future *series = jobs_rate(0, 10, 10);
    jobs[1].takes = 15;
    jobs_unref(jobs_once(1, 20));
    jobs_sleep_until(45);
    struct jobs_target target = {.future = series, .job = 0};
    jobs_cancel(&target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    if (test_is_exact())
        CHECK_INT(jobs[0].runs, 4);
    jobs_unref(series);
    jobs_check(1, 1);
    jobs_end();
}

/* The clocks begin to be watched while both sleep; who led is busy when the wall is set. */
LARGE_SCENARIO(standby_does_not_lead_without_watching)
{
    hora_future *future;
    begin(2);
    jobs[0].takes = HORA_SECONDS(50);
    jobs_unref(jobs_once(0, 10));
    jobs_unref(jobs_once(1, HORA_SECONDS(30)));
    jobs_sleep_until(5);
    jobs[2].on_wall = true;
    jobs[2].due = HORA_SECONDS(100);
    jobs[2].punctual = false;
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, JOB(2), HORA_SCHEDULE(.at = {jobs_wall_start + HORA_SECONDS(100)}), &future, NULL));
    jobs_sleep_until(20);
    hora__sim_step_wall(HORA_SECONDS(100));
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= HORA_SECONDS(2)); /* who has no other means looks once a second */
    jobs_unref(future);
    end(3);
}
