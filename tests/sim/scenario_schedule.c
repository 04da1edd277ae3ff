/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_schedule.c - hora_scheduler_schedule_with: failures, cancel and overlapping runs */
#include <stdatomic.h>

#include <hora/scheduler.h>

#include "harness.h"

static hora_scheduler *scheduler;
static atomic_int runs; /* some overlap */
static int drops;

static int count_run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    CHECK_INT(drops, 0); /* not after its end */
    runs++;
    return 0;
}

static int count_failing_run(void *arg, void **ret_result)
{
    (void)count_run(arg, ret_result);
    return 7;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static void end(void)
{
    CHECK_OK(hora_pool_shutdown(scheduler));
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_pool_free(scheduler));
}

/* Without memory for an overlapping run its time is skipped. Whatever fails, an accepted task is dropped
 * exactly once. */
static void live_through_failures(hora_run_fn run, const hora_schedule *spec, int most)
{
    drops = 0;
    runs = 0;
    int error = hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL);
    if (error < 0) {
        CHECK(error == HORA_ENOMEM || error == HORA_EAGAIN);
        return;
    }
    hora_future *future = NULL;
    error = hora_scheduler_schedule_with(scheduler, HORA_TASK(run, NULL, .drop = count_drop), spec, &future,
                                         NULL);
    CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    if (error == 0) {
        void *result;
        (void)!hora_future_get_for(future, HORA_MS(5), &result);
        (void)hora_future_cancel(future, true);
        (void)hora_future_unref(future);
    }
    end();
    CHECK_INT(drops, error == 0 ? 1 : 0);
    CHECK(runs <= most);
}

SWEEP(schedule_with_overlap_survives_every_failure)
{
    live_through_failures(
        count_run,
        HORA_SCHEDULE(.fixed_rate = HORA_MS(1), .count = 3, .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2),
        3);
}

SWEEP(schedule_with_back_off_survives_every_failure)
{
    live_through_failures(count_failing_run,
                          HORA_SCHEDULE(.failure = HORA_FAILURE_BACK_OFF, .back_off = HORA_MS(1),
                                        .stop_after = 3, .slack = HORA_US(1)),
                          3);
}

/* The series is cancelled exactly at a planned time: its task is dropped once, and not before the last run
 * has ended. */
static void cancel_it(void *future)
{
    (void)hora_future_cancel(future, false);
}

LARGE_SCENARIO(schedule_with_overlap_is_cancelled_while_a_run_begins)
{
    drops = 0;
    runs = 0;
    hora_future *future = NULL;
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 2), &scheduler, NULL));
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, HORA_TASK(count_run, NULL, .drop = count_drop),
        HORA_SCHEDULE(.fixed_rate = HORA_HOURS(1), .overlap = HORA_OVERLAP_ALLOW, .overlap_max = 2), &future,
        NULL));
    test_thread *canceller = test_thread_start(NULL, cancel_it, future);
    test_thread_join(canceller);
    CHECK(hora_future_is_cancelled(future));
    end();
    CHECK_INT(drops, 1);
    CHECK(hora_future_unref(future) == NULL);
}
