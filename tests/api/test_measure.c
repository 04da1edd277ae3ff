/* SPDX-License-Identifier: Apache-2.0 */
/* test_measure.c - histograms of a pool, in virtual time: so the values are exact */
#include "measure_support.h"

/* ---- waits and runs ---- */

/* One worker, three tasks that are submitted together: the second waits for as long as the first runs. */
static void check_waits_and_runs(int (*give)(hora_pool *pool, const hora_task *task))
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work slow = {&r, HORA_MS(5), 0}, quick = {&r, HORA_MS(3), 0}, bad = {&r, 0, 7};

    CHECK_OK(give(r.pool, WORK(&slow, "slow")));
    CHECK_OK(give(r.pool, WORK(&quick, "quick")));
    CHECK_OK(give(r.pool, WORK(&bad, NULL)));
    settle(&r.f);
    CHECK_MEASURE(&r, "slow", WAIT, 1, 0, 0);
    CHECK_MEASURE(&r, "slow", RUN, 0, 0, 0);
    pass(&r, HORA_MS(5));
    CHECK_MEASURE(&r, "slow", RUN, 1, HORA_MS(5), HORA_MS(5));
    CHECK_MEASURE(&r, "quick", WAIT, 1, HORA_MS(5), HORA_MS(5));
    pass(&r, HORA_MS(3));
    CHECK_MEASURE(&r, "quick", RUN, 1, HORA_MS(3), HORA_MS(3));
    CHECK_MEASURE(&r, NULL, WAIT, 3, HORA_MS(13), HORA_MS(8));
    CHECK_MEASURE(&r, NULL, RUN, 3, HORA_MS(8), HORA_MS(5));
    CHECK_MEASURE(&r, NULL, LATENESS, 0, 0, 0);
    hora_counts all = counted(&r, NULL), named = counted(&r, "quick");
    CHECK_INT(all.submitted, 3);
    CHECK_INT(all.started, 3);
    CHECK_INT(all.done, 2);
    CHECK_INT(all.failed, 1);
    CHECK_INT(named.submitted, 1);
    CHECK_INT(named.started, 1);
    CHECK_INT(named.done, 1);
    CHECK_INT(named.failed, 0);
    rig_close(&r);
}

TEST(measures_wait_and_run_of_what_is_executed, "")
{
    check_waits_and_runs(hora_pool_execute);
}

TEST(measures_wait_and_run_of_what_is_submitted, "")
{
    check_waits_and_runs(submit_unseen);
}

/* What follows another task at once begins when that ended; what had to be waited for does not. */
TEST(measures_do_not_count_idle_time_as_a_run, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work quick = {&r, HORA_MS(1), 0};

    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, NULL)));
        settle(&r.f);
        pass(&r, HORA_MS(1));
        pass(&r, HORA_SECONDS(1));
    }
    CHECK_MEASURE(&r, NULL, RUN, 3, HORA_MS(3), HORA_MS(1));
    CHECK_MEASURE(&r, NULL, WAIT, 3, 0, 0);
    rig_close(&r);
}

static void drop_slowly(void *arg)
{
    const struct work *work = arg;
    CHECK_OK(hora_clock_sleep(work->rig->f.view, HORA_SECONDS(1)));
}

TEST(measures_do_not_count_a_slow_drop_as_a_run, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work quick = {&r, HORA_MS(1), 0};

    CHECK_OK(hora_pool_execute(r.pool, WORK(&quick, NULL)));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(work_run, &quick, .drop = drop_slowly)));
    pass(&r, HORA_MS(1));
    for (int i = 0; i < 2; i++) {
        pass(&r, HORA_MS(1));
        pass(&r, HORA_SECONDS(1));
    }
    CHECK_MEASURE(&r, NULL, RUN, 3, HORA_MS(3), HORA_MS(1));
    CHECK_MEASURE(&r, NULL, WAIT, 3, HORA_SECONDS(1) + HORA_MS(3), HORA_SECONDS(1) + HORA_MS(2));
    rig_close(&r);
}

static void sleep_in_drop(void *arg)
{
    (void)arg;
    CHECK_OK(hora_clock_sleep(NULL, HORA_MS(500)));
}

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* The same with the default clock, where such tasks take the short path of the observer. The time is real, so
 * only bounds are certain. */
TEST(measures_on_the_default_clock_do_not_count_a_slow_drop_as_a_run, "")
{
    hora_pool *pool;
    hora_distribution runs = HORA_INIT(hora_distribution), waits = HORA_INIT(hora_distribution);
    hora_counts counts = HORA_INIT(hora_counts);
    const char *names[] = {NULL, "named"};
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()), &pool, NULL));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(do_nothing, pool, .drop = sleep_in_drop)));
    for (int i = 0; i < 4; i++)
        CHECK_OK(hora_pool_execute(pool, HORA_TASK(do_nothing, NULL, .name = names[i % 2])));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_get_distribution(pool, NULL, HORA_METRIC_RUN, &runs));
    CHECK_OK(hora_pool_get_distribution(pool, NULL, HORA_METRIC_WAIT, &waits));
    CHECK_OK(hora_pool_get_counts(pool, "named", &counts));
    CHECK_INT(runs.count, 6);
    if (!test_simulated() || test_is_exact()) /* otherwise time passes anywhere */
        CHECK(runs.sum < HORA_MS(900));
    CHECK_INT(waits.count, 6);
    CHECK(counts.submitted == 2 && counts.started == 2 && counts.done == 2 && counts.failed == 0);
    CHECK_INT(hora_pool_free(pool), 0);
}

/* The tasks had no future when they were executed, and get one because the test reads the queue. */
TEST(measures_know_when_tasks_came_that_become_futures, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work slow = {&r, HORA_MS(5), 0};
    hora_future *first;

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, NULL)));
    settle(&r.f);
    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, "later")));
    pass(&r, HORA_MS(2));
    CHECK_OK(hora_queue_peek(hora_pool_queue(r.pool), (void **)&first));
    (void)hora_future_unref(first);
    pass(&r, HORA_MS(3));
    CHECK_MEASURE(&r, "later", WAIT, 1, HORA_MS(5), HORA_MS(5));
    pass(&r, HORA_MS(5));
    rig_close(&r);
}

/* A future may be there before it is executed, and may be executed again while it waits. */
TEST(measures_know_when_a_future_was_executed, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work slow = {&r, HORA_MS(5), 0};
    struct job job = A_JOB(&r);

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, NULL)));
    hora_future *future = loose_future(&r, &job);
    pass(&r, HORA_MS(1));
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    pass(&r, HORA_MS(1));
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    pass(&r, HORA_MS(3));
    CHECK_MEASURE(&r, "job", WAIT, 1, HORA_MS(4), HORA_MS(4));
    CHECK_INT(counted(&r, "job").submitted, 3); /* once to be made */
    CHECK_INT(counted(&r, "job").started, 1);
    hora_future_unref(future);
    rig_close(&r);
}

/* In two pools at once: what the second does not know it does not measure. */
TEST(measures_leave_out_what_they_do_not_know, "")
{
    struct rig r, other;
    OPEN_MEASURED(&r, .core_threads = 1);
    OPEN_MEASURED(&other, .core_threads = 1);
    struct work slow = {&r, HORA_MS(5), 0};
    struct job job = A_JOB(&r);

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, NULL)));
    hora_future *future = loose_future(&r, &job);
    CHECK_OK(hora_pool_execute_future(r.pool, future));
    CHECK_OK(hora_pool_execute_future(other.pool, future));
    settle(&other.f);
    pass(&r, HORA_MS(5));
    CHECK_MEASURE(&other, NULL, WAIT, 0, 0, 0);
    CHECK_MEASURE(&other, NULL, RUN, 1, 0, 0);
    CHECK_MEASURE(&r, NULL, RUN, 1, HORA_MS(5), HORA_MS(5));
    hora_future_unref(future);
    rig_close(&other);
    rig_close(&r);
}

static int wait_for(void *arg, void **ret_result)
{
    hora_future *future = arg;
    return hora_future_get(future, ret_result);
}

/* A task that waits for another one runs it meanwhile: both are measured, the inner one as a part of the
 * outer one. */
TEST(measures_nested_runs, "")
{
    struct rig r;
    OPEN_MEASURED(&r, .core_threads = 1);
    struct work slow = {&r, HORA_MS(5), 0}, inner = {&r, HORA_MS(3), 0};
    hora_future *future, *outer;

    CHECK_OK(hora_pool_execute(r.pool, WORK(&slow, NULL)));
    settle(&r.f);
    hora_future *after;
    CHECK_OK(
        hora_pool_submit(r.pool, WORK(&inner, "before"), &outer)); /* holds the worker until all are queued */
    CHECK_OK(hora_pool_submit(r.pool, WORK(&inner, "inner"), &future));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(wait_for, future, .name = "outer"), &after));
    hora_future_unref(outer);
    hora_future_unref(after);
    for (int i = 0; i < 4; i++)
        pass(&r, HORA_MS(3));
    CHECK_MEASURE(&r, "inner", RUN, 1, HORA_MS(3), HORA_MS(3));
    hora_future_unref(future);
    rig_close(&r);
}

/* ---- schedulers ---- */

static void open_scheduler(struct rig *r, int threads)
{
    scheduler_open(r, false, HORA_SCHEDULER_OPTIONS(.core_threads = threads, .metrics = HORA_METRICS()));
}

static void check_lateness(bool detached)
{
    struct rig r;
    hora_future *future = NULL;
    open_scheduler(&r, 1);
    struct work slow = {&r, HORA_MS(5), 0}, quick = {&r, 0, 0};

    CHECK_OK(hora_scheduler_schedule(r.pool, WORK(&slow, "slow"), HORA_MS(10), NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, WORK(&quick, "late"), HORA_MS(12), detached ? NULL : &future));
    pass(&r, HORA_MS(10));
    CHECK_MEASURE(&r, "slow", LATENESS, 1, 0, 0);
    CHECK_INT(counted(&r, NULL).latest, 0);
    pass(&r, HORA_MS(4));
    CHECK_INT(counted(&r, NULL).latest, HORA_MS(2));
    CHECK_INT(counted(&r, NULL).oldest, HORA_MS(2));
    pass(&r, HORA_MS(1));
    CHECK_MEASURE(&r, "late", LATENESS, 1, HORA_MS(3), HORA_MS(3));
    CHECK_MEASURE(&r, "late", WAIT, 1, HORA_MS(3), HORA_MS(3));
    CHECK_MEASURE(&r, NULL, LATENESS, 2, HORA_MS(3), HORA_MS(3));
    CHECK_INT(counted(&r, NULL).latest, 0);
    CHECK_INT(counted(&r, NULL).submitted, 2);
    CHECK_INT(counted(&r, "late").submitted, 1);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(measures_lateness_of_tasks_without_a_future, "")
{
    check_lateness(true);
}

TEST(measures_lateness_of_scheduled_futures, "")
{
    check_lateness(false);
}

TEST(measures_each_run_of_a_series, "")
{
    struct rig r;
    hora_future *future;
    open_scheduler(&r, 1);
    struct work work = {&r, HORA_MS(2), 0};

    CHECK_OK(
        hora_scheduler_schedule_at_fixed_rate(r.pool, WORK(&work, "beat"), HORA_MS(1), HORA_MS(10), &future));
    for (int i = 0; i < 30; i++)
        pass(&r, HORA_MS(1));
    CHECK_MEASURE(&r, "beat", RUN, 3, HORA_MS(6), HORA_MS(2));
    CHECK_MEASURE(&r, "beat", LATENESS, 3, 0, 0);
    CHECK_INT(counted(&r, "beat").submitted, 1);
    CHECK_INT(counted(&r, "beat").started, 3);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    CHECK_INT(counted(&r, "beat").cancelled, 1);
    hora_future_unref(future);
    rig_close(&r);
}

TEST(measures_count_planned_times_that_are_skipped, "")
{
    struct rig r;
    hora_future *future;
    open_scheduler(&r, 1);
    struct work work = {&r, HORA_MS(35), 0};

    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, WORK(&work, "beat"), HORA_SCHEDULE(.fixed_rate = HORA_MS(10), .missed = HORA_MISSED_SKIP),
        &future, NULL));
    pass(&r, 0);
    pass(&r, HORA_MS(35));
    pass(&r, HORA_MS(5));
    CHECK_INT(counted(&r, "beat").skipped, 3);
    CHECK_INT(counted(&r, NULL).skipped, 3);
    CHECK(hora_future_cancel(future, false) > 0);
    pass(&r, HORA_MS(35));
    CHECK_INT(counted(&r, NULL).cancelled, 1);
    hora_future_unref(future);
    rig_close(&r);
}
