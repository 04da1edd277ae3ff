/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_clocks.c - the wall clock is set, or the machine suspended, while a scheduler waits
 *
 * These scenarios use the simulated clocks of the machine. A task that is planned by the wall clock runs when
 * the wall clock says so, whatever the other clocks show. No worker sleeps through a step, and no series
 * stops because of one. */
#include "jobs.h"
#include "simulator/sim.h"

static const hora_ns SECOND = HORA_SECONDS(1);

static int events;
static hora_event last;

static void note_event(hora_scheduler *from, const hora_event *event, void *arg)
{
    CHECK_POINTER(from, scheduler);
    (void)arg;
    events++;
    last = *event;
}

static void begin(int core, bool tells)
{
    events = 0;
    hora_scheduler_options options = HORA_INIT(hora_scheduler_options);
    options.core_threads = core;
    options.listener = tells ? HORA_LISTENER(.clock_stepped = note_event) : NULL;
    jobs_begin(&options);
}

static hora_ns wall_now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_WALL)) - jobs_wall_start;
}

/* Job i once, at this time of the wall since the start. */
static hora_future *once_at(int i, hora_ns at)
{
    hora_future *future;
    jobs[i].on_wall = true;
    jobs[i].due = at;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(i), HORA_SCHEDULE(.at = {jobs_wall_start + at}),
                                          &future, NULL));
    return future;
}

static hora_future *rate_on_wall(int i, hora_ns at, hora_ns every, int64_t count)
{
    hora_future *future;
    jobs[i].on_wall = true;
    jobs[i].due = at;
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, JOB(i), HORA_SCHEDULE(.at = {jobs_wall_start + at}, .fixed_rate = every, .count = count),
        &future, NULL));
    return future;
}

/* Set forward past the planned time: it runs at once, and not only when the old distance has passed. */
static void set_forward(int core)
{
    begin(core, false);
    hora_future *future = once_at(0, 100 * SECOND);
    hora__sim_step_wall(100 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= SECOND); /* who has no other means looks once a second */
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
}

SCENARIO(clocks_set_forward_meets_leader)
{
    set_forward(1);
}

SCENARIO(clocks_set_forward_meets_two_workers)
{
    set_forward(2);
}

/* Set forward, but not far enough: it runs when the wall shows its time. */
SCENARIO(clocks_set_forward_a_little)
{
    begin(1, false);
    hora_future *future = once_at(0, 100 * SECOND);
    hora__sim_step_wall(40 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(wall_now() == 100 * SECOND && jobs_now() == 60 * SECOND);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
}

/* The clock is set back. A one-shot task keeps its moment, and so runs later. */
SCENARIO(clocks_set_back_meets_leader)
{
    begin(1, false);
    hora_future *future = once_at(0, 10 * SECOND);
    if (!test_is_exact())
        jobs[0].due = -20 * SECOND; /* it may have been taken when the wall is set back */
    hora__sim_step_wall(-20 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(wall_now() == 10 * SECOND && jobs_now() == 30 * SECOND);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
}

/* The machine is suspended. Boot time continues, so what was planned by it is due. What is planned by the
 * monotonic clock is not. */
SCENARIO(clocks_suspend_meets_leader)
{
    hora_future *boot;
    begin(1, false);
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, JOB(0), HORA_SCHEDULE(.initial_delay = 100 * SECOND, .clock = HORA_CLOCK_BOOTTIME), &boot,
        NULL));
    hora_future *own = jobs_once(1, 50 * SECOND);
    jobs[1].punctual = true;
    hora__sim_suspend(200 * SECOND);
    CHECK_OK(hora_future_get(boot, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= SECOND && jobs[1].runs == 0);
    CHECK_OK(hora_future_get(own, NULL));
    jobs_unref(boot);
    jobs_unref(own);
    jobs_end();
    jobs_check(0, 1);
    jobs_check(1, 1);
}

/* No thread watches the clocks yet, and the leader sleeps, when the first task on the wall clock arrives.
 * From then on the leader watches them. */
SCENARIO(clocks_watch_begins_while_leader_sleeps)
{
    begin(1, false);
    hora_future *own = jobs_once(1, 500 * SECOND);
    jobs_sleep_until(SECOND);
    hora_future *future = once_at(0, 600 * SECOND); /* not a new head: the leader is not woken for it */
    jobs_sleep_until(2 * SECOND);
    hora__sim_step_wall(600 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= 3 * SECOND);
    jobs_unref(future);
    CHECK(hora_future_cancel(own, false) >= 0);
    jobs_unref(own);
    jobs_end();
    jobs_check(0, 1);
    jobs_check(1, jobs[1].runs);
}

/* The step happens while a worker begins to watch. */
static void step_forward(void *arg)
{
    (void)arg;
    hora__sim_step_wall(600 * SECOND);
}

SCENARIO(clocks_watch_meets_step)
{
    begin(1, false);
    hora_future *own = jobs_once(1, 500 * SECOND);
    test_thread *other = test_thread_start(NULL, step_forward, NULL);
    hora_future *future = once_at(0, 600 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    test_thread_join(other);
    if (test_is_exact())
        CHECK(jobs_now() <= SECOND);
    jobs_unref(future);
    CHECK(hora_future_cancel(own, false) >= 0);
    jobs_unref(own);
    jobs_end();
    jobs_check(0, 1);
    jobs_check(1, jobs[1].runs);
}

/* The clock is set back. A series continues by the new time, instead of pausing until the old time is reached
 * again. */
static void set_back_meets_series(int core, hora_ns takes, hora_ns at)
{
    begin(core, false);
    jobs[0].takes = takes;
    hora_future *other =
        /* So that a worker leads, and watches the clocks, while the series runs. */
        jobs_once(1, 5000 * SECOND);
    hora_future *future = rate_on_wall(0, 100 * SECOND, 10 * SECOND, 3);
    jobs[0].due = -1000 * SECOND; /* it may have been taken when the wall is set back */
    jobs_sleep_until(at);
    hora__sim_step_wall(-1000 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= 140 * SECOND);
    jobs_unref(future);
    CHECK(hora_future_cancel(other, false) >= 0);
    jobs_unref(other);
    jobs_end();
    jobs_check(0, 3);
    jobs_check(1, jobs[1].runs);
}

SCENARIO(clocks_set_back_meets_series)
{
    set_back_meets_series(1, 0, 110 * SECOND);
}

SCENARIO(clocks_set_back_meets_run)
{
    set_back_meets_series(1, 5 * SECOND, 102 * SECOND);
}

/* Another thread notices the step while the series runs. */
MEDIUM_SCENARIO(clocks_set_back_is_noticed_by_another_worker)
{
    set_back_meets_series(2, 5 * SECOND, 112 * SECOND);
}

MEDIUM_SCENARIO(clocks_set_back_meets_put_back)
{
    set_back_meets_series(2, 2 * SECOND, 112 * SECOND);
}

/* Paused, when it is set back, and resumed afterwards. */
SCENARIO(clocks_set_back_meets_pause)
{
    begin(1, false);
    hora_future *future = rate_on_wall(0, 100 * SECOND, 10 * SECOND, 3);
    jobs[0].due = -1000 * SECOND;
    jobs_sleep_until(105 * SECOND);
    hora__sim_step_wall(-1000 * SECOND);
    int paused = hora_future_pause(future);
    CHECK(paused == 1 || !test_is_exact());
    jobs_sleep_until(107 * SECOND);
    int resumed = hora_future_resume(future);
    CHECK(resumed == 1 || !test_is_exact());
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact())
        CHECK(jobs_now() <= 140 * SECOND);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 3);
}

/* The listener is notified of each step once, and before the tasks that became due by it begin. */
static int check_told(void *arg, void **ret_result)
{
    CHECK(events == 1 || !test_is_exact());
    return jobs_run(arg, ret_result);
}

SCENARIO(clocks_event_is_told)
{
    hora_future *future;
    begin(1, true);
    jobs[0].on_wall = true;
    jobs[0].due = 100 * SECOND;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, HORA_TASK(check_told, &jobs[0], .drop = jobs_drop),
                                          HORA_SCHEDULE(.at = {jobs_wall_start + 100 * SECOND}), &future,
                                          NULL));
    hora__sim_step_wall(200 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    if (test_is_exact()) {
        CHECK_INT(events, 1);
        CHECK_INT(last.stepped, 200 * SECOND);
        CHECK_INT(last.suspended, 0);
        /* Tasks that were taken before a worker noticed the step are not counted. */
        CHECK(last.count <= 1);
    }
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
}

/* The leader is woken by the clock while another task is due for the other worker: that is not late. */
SCENARIO(clocks_lead_passes_when_woken_by_the_clock)
{
    begin(2, false);
    jobs[1].punctual = jobs[2].punctual = true;
    hora_future *far = once_at(0, 100 * SECOND);
    jobs[1].takes = 10 * SECOND;
    hora_future *near = jobs_once(1, SECOND);
    hora_future *next = jobs_once(2, 2 * SECOND);
    hora__sim_step_wall(5 * SECOND);
    CHECK_OK(hora_future_get(near, NULL));
    CHECK_OK(hora_future_get(next, NULL));
    CHECK(hora_future_cancel(far, false) >= 0);
    jobs_unref(far);
    jobs_unref(near);
    jobs_unref(next);
    jobs_end();
    jobs_check(0, jobs[0].runs);
    jobs_check(1, 1);
    jobs_check(2, 1);
}

/* The same on a virtual clock, where every step is exact. */
SCENARIO(clocks_virtual_step_meets_leader)
{
    hora_virtual_clock *clock;
    hora_future *future;
    CHECK_OK(hora_virtual_clock_new(NULL, &clock, NULL));
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                      .clock = hora_virtual_clock_view(clock, HORA_CLOCK_MONOTONIC)));
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, JOB(0), HORA_SCHEDULE(.initial_delay = 100, .clock = HORA_CLOCK_WALL), &future, NULL));
    CHECK_OK(hora_virtual_clock_step_wall(clock, 99));
    CHECK_OK(hora_virtual_clock_settle(clock));
    CHECK_INT(jobs[0].runs, 0);
    CHECK_OK(hora_virtual_clock_step_wall(clock, 1));
    CHECK_OK(hora_virtual_clock_settle(clock));
    CHECK_INT(jobs[0].runs, 1);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
    CHECK_OK(hora_virtual_clock_free(clock));
}

static void end_thread_once(hora_pool *from, const hora_event *event, void *context)
{
    note_event(from, event, context);
    if (events == 1)
        hora__sim_exit_thread();
}

/* The thread that notifies the listener of a step ends: others run the tasks that have become due. */
static void teller_ends(int core)
{
    events = 0;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core,
                                      .listener = HORA_LISTENER(.clock_stepped = end_thread_once)));
    hora_future *future = once_at(0, 100 * SECOND);
    hora__sim_step_wall(100 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 1);
}

SCENARIO(clocks_teller_ends_its_thread)
{
    teller_ends(1);
}

MEDIUM_SCENARIO(clocks_one_of_two_tellers_ends_its_thread)
{
    teller_ends(2);
}

/* A listener that takes its time, the second call longer than the first. Two threads may call it at once. */
static _Atomic int begun_reports;
static _Atomic hora_ns reported; /* how far the wall clock was set, by the calls that have returned */

static void report_slowly(hora_pool *from, const hora_event *event, void *context)
{
    CHECK_POINTER(from, scheduler);
    (void)context;
    (void)hora_sleep(++begun_reports * SECOND); /* the end of the scheduler may interrupt it */
    reported += event->stepped;
}

static int check_reported(void *arg, void **ret_result)
{
    CHECK(reported == 140 * SECOND || !test_is_exact());
    return jobs_run(arg, ret_result);
}

/* The wall is set twice, and a second thread may see the second step while the first one still reports the
 * first. What has become due begins when both steps have been reported. */
MEDIUM_SCENARIO(clocks_two_reports_at_once)
{
    hora_future *future;
    begun_reports = 0;
    reported = 0;
    jobs_begin(
        HORA_SCHEDULER_OPTIONS(.core_threads = 2, .listener = HORA_LISTENER(.clock_stepped = report_slowly)));
    jobs[0].on_wall = true;
    jobs[0].due = 100 * SECOND;
    CHECK_OK(hora_scheduler_schedule_with(scheduler, HORA_TASK(check_reported, &jobs[0], .drop = jobs_drop),
                                          HORA_SCHEDULE(.at = {jobs_wall_start + 100 * SECOND}), &future,
                                          NULL));
    hora_future *far = once_at(1, 500 * SECOND); /* starts the second worker */
    hora__sim_step_wall(40 * SECOND);
    hora__sim_step_wall(100 * SECOND);
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(hora_future_cancel(far, false) >= 0);
    jobs_unref(future);
    jobs_unref(far);
    jobs_end();
    jobs_check(0, 1);
    jobs_check(1, jobs[1].runs);
}
