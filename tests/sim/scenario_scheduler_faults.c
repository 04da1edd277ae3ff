/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_scheduler_faults.c - a scheduler whose allocations and thread starts fail
 *
 * Each sweep lets every allocation and every thread start fail, once or from then on. The caller owns a
 * rejected task. Afterwards, unless everything fails for ever, the scheduler still works. */
#include <string.h>

#include "jobs.h"

static int accepted;
static int refused;
static bool owned[JOBS]; /* by the scheduler */

static bool begin(const hora_scheduler_options *options)
{
    accepted = refused = 0;
    memset(owned, 0, sizeof owned);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = (struct job){0};
    int error = hora_scheduler_new(options, &scheduler, NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    jobs_start = hora_clock_now(NULL);
    jobs_wall_start = hora_clock_now(hora_clock_system(HORA_CLOCK_WALL));
    return error == 0;
}

/* A call that takes over job i has returned. */
static void note(int i, int error)
{
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN || error == HORA_EREJECTED);
    CHECK(error == 0 || (jobs[i].drops == 0 && jobs[i].runs == 0));
    owned[i] = error == 0;
    accepted += error == 0;
    refused += error != 0;
}

static void end(void)
{
    jobs_end();
    for (int i = 0; i < JOBS; i++)
        CHECK_INT(jobs[i].drops, owned[i]);
}

/* The accepted tasks have ended after this time. If no thread can be started, a stop ends them. */
static void wait_for_all(void)
{
    int error = hora_pool_await_idle_for(scheduler, HORA_SECONDS(10));
    CHECK(error == 0 || error == HORA_ETIMEDOUT || error == HORA_ENOMEM);
}

SWEEP(scheduler_survives_schedule)
{
    hora_future *future = NULL;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2)))
        return;
    note(0, hora_scheduler_schedule(scheduler, JOB(0), 10, NULL));
    note(1, hora_scheduler_schedule(scheduler, JOB(1), 0, &future));
    CHECK((future != NULL) == owned[1]);
    if (future != NULL)
        CHECK(hora_future_get_for(future, 100, NULL) != HORA_ECANCELED);
    jobs_unref(future);
    note(2, hora_scheduler_schedule(scheduler, JOB(2), 20, NULL)); /* if only one failed it works again */
    wait_for_all();
    CHECK(refused > 0 || (jobs[0].runs == 1 && jobs[1].runs == 1) || !test_is_exact());
    end();
}

SWEEP(scheduler_survives_series)
{
    hora_future *futures[2] = {NULL, NULL};
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1)))
        return;
    jobs[0].fails_at = 3;
    jobs[1].fails_at = 2;
    note(0, hora_scheduler_schedule_at_fixed_rate(scheduler, JOB(0), 0, 10, &futures[0]));
    note(1, hora_scheduler_schedule_with_fixed_delay(scheduler, JOB(1), 0, 10, &futures[1]));
    wait_for_all();
    for (int i = 0; i < 2; i++) {
        CHECK((futures[i] != NULL) == owned[i]);
        jobs_unref(futures[i]);
    }
    CHECK(jobs[0].runs == (owned[0] ? 3 : 0) || refused > 0); /* coming back needs no memory */
    end();
}

/* All that a schedule can ask for. */
static int failures_told;

static void note_failure(hora_scheduler *from, const hora_event *event, void *arg)
{
    (void)from;
    (void)event;
    (void)arg;
    failures_told++;
}

SWEEP(scheduler_survives_every_feature)
{
    hora_future *future = NULL;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2, .listener = HORA_LISTENER(.failed = note_failure))))
        return;
    jobs[0].most = 2;
    jobs[0].takes = 15;
    note(0, hora_scheduler_schedule_with(scheduler, JOB(0),
                                         HORA_SCHEDULE(.fixed_rate = 10, .count = 3,
                                                       .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2,
                                                       .slack = 5, .end = {jobs_wall_start + 500}),
                                         &future, NULL));
    CHECK((future != NULL) == owned[0]);
    note(1, hora_scheduler_schedule_with(
                scheduler, JOB(1),
                HORA_SCHEDULE(.at = {jobs_wall_start + 20}, .slack = 30, .spread = 10, .grace = 1000), NULL,
                NULL));
    jobs[2].fails_at = 1;
    note(2, hora_scheduler_schedule_with(scheduler, JOB(2),
                                         HORA_SCHEDULE(.initial_delay = 5, .failure = HORA_FAILURE_BACK_OFF,
                                                       .back_off = 10, .clock = HORA_CLOCK_BOOTTIME),
                                         NULL, NULL));
    wait_for_all();
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    if (future != NULL) {
        CHECK_OK(hora_future_get_schedule_info(future, &info));
        CHECK_INT(info.running, 0);
        CHECK_INT(info.runs, jobs[0].runs); /* a run for which there is no memory is skipped */
    }
    jobs_unref(future);
    end();
}

SWEEP(scheduler_survives_execute)
{
    hora_future *future = NULL;
    hora_future *alone = NULL;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1)))
        return;
    note(0, hora_pool_execute(scheduler, JOB(0)));
    note(1, hora_pool_submit(scheduler, JOB(1), &future));
    CHECK((future != NULL) == owned[1]);
    note(2, hora_future_new(JOB(2), &alone)); /* the future owns it */
    if (alone != NULL) {
        int error = hora_pool_execute_future(scheduler, alone);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        accepted += error == 0;
        error = hora_pool_execute_future(scheduler, alone); /* twice: the second finds it done, or running */
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    }
    wait_for_all();
    jobs_unref(future);
    jobs_unref(alone);
    end();
}

/* Looking, purging, and the end. */
static void use_and_shut_down(bool keeps, bool stops)
{
    hora_future *futures[3] = {NULL, NULL, NULL};
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = keeps, .cancel_delayed = true)))
        return;
    for (int i = 0; i < 3; i++)
        note(i, i == 1 ? hora_scheduler_schedule_at_fixed_rate(scheduler, JOB(i), 50, 50, &futures[i])
                       : hora_scheduler_schedule(scheduler, JOB(i), 100 * (i + 1), &futures[i]));
    void *items[JOBS];
    int seen = hora_queue_snapshot(hora_pool_queue(scheduler), items, JOBS);
    CHECK(seen == accepted || seen == HORA_ENOMEM || !test_is_exact());
    for (int i = 0; i < seen; i++)
        jobs_unref(items[i]); /* they are references */
    if (futures[0] != NULL)
        CHECK(hora_future_cancel(futures[0], false) >= 0);
    int purged = hora_pool_purge(scheduler);
    CHECK(purged >= 0 || purged == HORA_ENOMEM);
    if (stops)
        CHECK_OK(hora_pool_shutdown_now(scheduler, &list));
    else
        CHECK_OK(hora_pool_shutdown(scheduler));
    int error = hora_pool_await_termination_for(scheduler, HORA_FOREVER);
    CHECK(error == 0 || error == HORA_ENOMEM);
    hora_future_list_cancel(&list);
    for (int i = 0; i < 3; i++) {
        CHECK(futures[i] == NULL || hora_future_is_done(futures[i]));
        jobs_unref(futures[i]);
    }
    end();
}

SWEEP(scheduler_survives_shutdown)
{
    use_and_shut_down(false, false);
}

SWEEP(scheduler_survives_shutdown_with_kept_tasks)
{
    use_and_shut_down(true, false);
}

SWEEP(scheduler_survives_stop)
{
    use_and_shut_down(true, true);
}

static int exit_on_first_run(void *arg, void **ret_result)
{
    return jobs_run(arg, ret_result);
}

/* The only worker ends, and cannot be replaced: the next call that schedules tries again. */
SWEEP(scheduler_survives_the_end_of_its_thread)
{
    hora_future *future = NULL;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1)))
        return;
    jobs[0].exits_at = 1;
    note(0, hora_scheduler_schedule(scheduler, HORA_TASK(exit_on_first_run, &jobs[0], .drop = jobs_drop), 0,
                                    &future));
    note(1, hora_scheduler_schedule(scheduler, JOB(1), 10, NULL));
    if (future != NULL)
        CHECK_ERROR(hora_future_get(future, NULL), HORA_EABANDONED);
    jobs_unref(future);
    note(2, hora_scheduler_schedule(scheduler, JOB(2), 10, NULL));
    wait_for_all();
    end();
}

/* Workers that start and end. */
SWEEP(scheduler_survives_resizing)
{
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 0, .keep_alive = 5)))
        return;
    note(0, hora_scheduler_schedule(scheduler, JOB(0), 0, NULL));
    note(1, hora_scheduler_schedule(scheduler, JOB(1), 20, NULL));
    CHECK_OK(hora_pool_set_core_threads(scheduler, 2, NULL));
    note(2, hora_scheduler_schedule(scheduler, JOB(2), 0, NULL));
    CHECK_OK(hora_pool_set_core_threads(scheduler, 0, NULL));
    wait_for_all();
    end();
}

/* Many tasks at once: the heaps grow, with slots reserved for entries that are put back. */
enum { MANY = 70 };

SWEEP(scheduler_survives_growing)
{
    hora_future *futures[MANY];
    int taken_on = 0;
    if (!begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1)))
        return;
    jobs[0].fails_at = 4;
    note(0, hora_scheduler_schedule_at_fixed_rate(scheduler, JOB(0), 0, 5, NULL));
    for (int i = 0; i < MANY; i++) {
        hora_future *future = NULL;
        int error = hora_scheduler_schedule_with(
            scheduler, HORA_TASK(exit_on_first_run, &jobs[3]),
            HORA_SCHEDULE(.initial_delay = 1000, .slack = i % 2 == 0 ? 10 : 0), &future, NULL);
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
        if (error == 0)
            futures[taken_on++] = future;
    }
    for (int i = 0; i < taken_on; i++) {
        CHECK(hora_future_cancel(futures[i], false) >= 0 || !test_is_exact());
        jobs_unref(futures[i]);
    }
    wait_for_all();
    end();
}
