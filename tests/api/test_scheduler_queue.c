/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_queue.c - the queue of a scheduler: reading it, removing, cancelling, purging */
#define _GNU_SOURCE /* mallinfo2 */
#include "memory_use.h"
#include "scheduler_support.h"

/* Five blockers, due after a millisecond, and one worker: the first is running. */
static void open_with_five(struct rig *r, bool decorated, struct job *jobs, hora_future **futures)
{
    scheduler_open(r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(r);
        futures[i] = schedule_job(r, &jobs[i], HORA_MS(1));
    }
    CHECK_INT(rig_stats(r).queued, 5);
    pass(r, HORA_MS(1));
    CHECK_INT(rig_stats(r).queued, 4);
    CHECK_INT(jobs[0].runs, 1);
}

ON_BOTH_SCHEDULERS(shows_its_queue, "testGetQueue", "CP-STPE15 CP-STPE16")
{
    struct rig r;
    struct job jobs[5];
    hora_future *futures[5];
    void *seen[6] = {0};
    int found = 0;

    open_with_five(&r, decorated, jobs, futures);
    CHECK(!is_queued(&r, futures[0]));
    CHECK(is_queued(&r, futures[4]));
    CHECK_INT(hora_queue_size(hora_pool_queue(r.pool)), 4);
    CHECK_PEEK_FUTURE(r.pool, futures[1]);
    CHECK_INT(hora_queue_snapshot(hora_pool_queue(r.pool), seen, 6), 4);
    for (int i = 0; i < 4; i++)
        for (int j = 1; j < 5; j++)
            found += seen[i] == futures[j];
    CHECK_INT(found, 4);
    give_back_futures(seen, 4);
    rig_open_gate(&r);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hora_future_get(futures[i], NULL));
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

/* Task i of SCATTERED: when, in seconds; each twice, so that the order of scheduling counts, too. */
enum { SCATTERED = 46, TIMES = SCATTERED / 2 };

static hora_ns scattered(int i)
{
    return HORA_SECONDS(1 + i * 7 % TIMES);
}

static bool is_in_order(hora_future *const *futures, void *const *seen, int count)
{
    int last = -1;
    for (int place = 0; place < count; place++) {
        int i = 0;
        while (i < SCATTERED && futures[i] != seen[place])
            i++;
        if (i == SCATTERED || scattered(i) != HORA_SECONDS(1 + place / 2) || (place % 2 == 1 && i < last))
            return false;
        last = i;
    }
    return true;
}

/* On whatever clock, precise or not, and also if only the first are wanted. */
TEST(scheduler_snapshot_is_in_the_order_in_which_tasks_are_due, "CP-STPE16")
{
    struct rig r;
    struct job job;
    hora_future *futures[SCATTERED];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    job = (struct job)A_JOB(&r);
    for (int i = 0; i < SCATTERED; i++)
        CHECK_OK(hora_scheduler_schedule_with(r.pool, HORA_TASK(job_run, &job),
                                              HORA_SCHEDULE(.initial_delay = scattered(i),
                                                            .clock = (hora_clock_id)(i % 4),
                                                            .slack = i % 3 == 0 ? HORA_SECONDS(5) : 0),
                                              &futures[i], NULL));
    for (int max = 0; max <= SCATTERED + 1; max++) {
        void *seen[SCATTERED + 1] = {0};
        CHECK_INT(hora_queue_snapshot(hora_pool_queue(r.pool), seen, max), SCATTERED);
        CHECK(is_in_order(futures, seen, max < SCATTERED ? max : SCATTERED));
        CHECK(max > SCATTERED || seen[max] == NULL);
        give_back_futures(seen, max < SCATTERED ? max : SCATTERED);
    }
    for (int i = 0; i < SCATTERED; i++) {
        CHECK_INT(hora_future_cancel(futures[i], false), HORA_CANCEL_REMOVED);
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(removes_what_is_queued, "testRemove", "CP-STPE16")
{
    struct rig r;
    struct job jobs[5];
    hora_future *futures[5];

    open_with_five(&r, decorated, jobs, futures);
    CHECK_INT(rig_stats(&r).tasks, 5);
    CHECK_INT(hora_pool_remove(r.pool, futures[0]), 0);
    CHECK_INT(hora_pool_remove(r.pool, futures[4]), 1);
    CHECK_INT(hora_pool_remove(r.pool, futures[4]), 0);
    CHECK(!is_queued(&r, futures[4]));
    CHECK(is_queued(&r, futures[3]));
    CHECK_INT(hora_pool_remove(r.pool, futures[3]), 1);
    CHECK(!is_queued(&r, futures[3]));
    CHECK_INT(rig_stats(&r).tasks, 3);
    CHECK_INT(rig_stats(&r).handed_back, 2);
    CHECK_NOT_DONE(futures[3]);
    CHECK_INT(jobs[3].drops, 0);
    rig_finish(&r);
    for (int i = 0; i < 5; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i == 3 || i == 4 ? 0 : 1);
    }
    rig_close(&r);
}

/* With keep_cancelled they stay, and count, until they are purged. */
ON_BOTH_SCHEDULERS(purges_cancelled_tasks, "testPurge", "CP-STPE13")
{
    struct rig r;
    struct job jobs[5];
    hora_future *futures[5];

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = true));
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        futures[i] = schedule_job(&r, &jobs[i], A_LONG_WHILE);
    }
    for (int i = 3; i < 5; i++)
        CHECK_INT(hora_future_cancel(futures[i], true), HORA_CANCEL_REMOVED);
    CHECK_INT(rig_stats(&r).queued, 5);
    CHECK_INT(rig_stats(&r).tasks, 5);
    CHECK_JOB(&jobs[4], 0);
    CHECK_INT(hora_pool_purge(r.pool), 2);
    CHECK_INT(rig_stats(&r).queued, 3);
    CHECK_INT(rig_stats(&r).tasks, 3);
    CHECK_INT(hora_pool_purge(r.pool), 0);
    CHECK_INT(rig_stats(&r).cancelled, 2);
    pass(&r, A_LONG_WHILE);
    for (int i = 0; i < 5; i++) {
        hora_future_unref(futures[i]);
        CHECK_JOB(&jobs[i], i < 3 ? 1 : 0);
    }
    rig_close(&r);
}

/* ---- cancelling ---- */

/* By default nothing is left of a cancelled task, whatever its form; also if it was decorated. */
TEST(scheduler_cancelled_tasks_leave_the_queue_at_once, "CP-STPE13 CP-STPE15")
{
    for (int decorated = 0; decorated < 2; decorated++) {
        struct rig r;
        struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

        scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        for (int form = ONCE; form < FORMS; form++) {
            hora_future *future = schedule_series(&r, (enum form)form, &jobs[form], A_WHILE, A_WHILE);

            CHECK(is_queued(&r, future));
            CHECK_INT(hora_future_cancel(future, form == GAP), HORA_CANCEL_REMOVED);
            CHECK(!is_queued(&r, future));
            CHECK_JOB(&jobs[form], 0);
            CHECK_DONE(future, HORA_ECANCELED, NULL);
            CHECK_INT(rig_stats(&r).tasks, 0);
            hora_future_unref(future);
        }
        CHECK_INT(rig_stats(&r).cancelled, FORMS);
        CHECK_INT(hora_pool_purge(r.pool), 0);
        pass(&r, 2 * A_WHILE);
        CHECK_INT(rig_stats(&r).completed, 0);
        rig_close(&r);
    }
}

/* A cancel that is too late removes nothing. */
TEST(scheduler_cancel_that_fails_removes_nothing, "CP-STPE13")
{
    struct rig r;
    struct job jobs[2] = {A_JOB(&r), A_JOB(&r)};
    hora_future *futures[2];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 2; i++)
        futures[i] = schedule_job(&r, &jobs[i], A_WHILE);
    CHECK_INT(hora_future_complete(futures[1], &jobs[1]), 1);
    CHECK_INT(hora_future_cancel(futures[1], false), HORA_CANCEL_TOO_LATE);
    CHECK_INT(rig_stats(&r).queued, 2);
    pass(&r, A_WHILE);
    CHECK_DONE(futures[0], 0, &jobs[0]);
    CHECK_INT(hora_future_cancel(futures[0], false), HORA_CANCEL_TOO_LATE);
    CHECK_INT(jobs[1].runs, 0);
    for (int i = 0; i < 2; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

/* When it is due a worker meets it, and counts it. */
TEST(scheduler_cancelled_task_that_is_kept_leaves_when_it_is_due, "CP-STPE13")
{
    for (int form = ONCE; form < FORMS; form++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = true));
        future = schedule_series(&r, (enum form)form, &job, A_WHILE, A_WHILE);
        CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        CHECK(is_queued(&r, future));
        CHECK_JOB(&job, 0); /* its argument is gone all the same */
        pass(&r, A_WHILE - 1);
        CHECK_INT(rig_stats(&r).queued, 1);
        pass(&r, 1);
        CHECK_INT(rig_stats(&r).queued, 0);
        CHECK_INT(rig_stats(&r).cancelled, 1);
        CHECK_INT(rig_stats(&r).completed, 1);
        pass(&r, 2 * A_WHILE);
        CHECK_JOB(&job, 0);
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* What counts is the setting at the moment of the cancel. */
TEST(scheduler_keeps_cancelled_tasks_by_the_setting_of_that_moment, "CP-STPE13")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int i = 0; i < 3; i++) {
        futures[i] = schedule_job(&r, &jobs[i], A_WHILE);
        CHECK_OK(hora_scheduler_set_keep_cancelled(r.pool, i == 1));
        CHECK_INT(rig_stats_now(&r).keep_cancelled, i == 1);
        CHECK_INT(hora_future_cancel(futures[i], false), HORA_CANCEL_REMOVED);
        CHECK_INT(is_queued(&r, futures[i]), i == 1);
    }
    CHECK_INT(rig_stats(&r).queued, 1); /* taking the setting back takes nothing out */
    CHECK_INT(hora_pool_purge(r.pool), 1);
    for (int i = 0; i < 3; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
}

/* The last task that runs once keeps a scheduler alive after shutdown; without it nothing does. */
TEST(scheduler_terminates_when_the_last_task_is_cancelled_or_removed, "CP-STPE13")
{
    for (int way = 0; way < 3; way++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2, .keep_cancelled = way == 2));
        future = schedule_job(&r, &job, A_LONG_WHILE);
        CHECK_OK(hora_pool_shutdown(r.pool));
        settle(&r.f);
        CHECK(!hora_pool_is_terminated(r.pool));
        if (way == 0)
            CHECK_INT(hora_pool_remove(r.pool, future), 1);
        else
            CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
        if (way == 2) {
            settle(&r.f);
            CHECK(!hora_pool_is_terminated(r.pool)); /* it is still there, and delays the end */
            CHECK_INT(hora_pool_purge(r.pool), 1);
        }
        settle(&r.f);
        CHECK(hora_pool_is_terminated(r.pool));
        hora_future_unref(future);
        CHECK_JOB(&job, 0);
        rig_close(&r);
    }
}

/* ---- order ---- */

enum { MANY = 12 };

struct late {
    struct rig *rig;
    hora_ns planned;
    hora_ns began;
};

static int note_time(void *arg, void **ret_result)
{
    struct late *late = arg;

    (void)ret_result;
    late->began = hora_clock_now(late->rig->f.view);
    return 0;
}

/* Take some out from anywhere, by remove and by cancel: the rest runs when it was planned. */
TEST(scheduler_removal_from_anywhere_keeps_the_order, "CP-STPE14")
{
    for (int round = 0; round < (test_simulated() ? 1 : 50); round++) {
        struct rig r;
        struct late tasks[MANY];
        hora_future *futures[MANY];
        bool out[MANY];

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        for (int i = 0; i < MANY; i++) {
            hora_ns delay = HORA_MS(1 + test_random(20));

            out[i] = false;
            tasks[i] = (struct late){.rig = &r, .planned = hora_clock_now(r.f.view) + delay, .began = -1};
            CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_time, &tasks[i]), delay, &futures[i]));
        }
        for (int n = 0; n < MANY / 2; n++) {
            int i = (int)test_random(MANY);

            if (out[i])
                continue;
            out[i] = true;
            if (n % 2 == 0)
                CHECK_INT(hora_pool_remove(r.pool, futures[i]), 1);
            else
                CHECK_INT(hora_future_cancel(futures[i], false), HORA_CANCEL_REMOVED);
        }
        pass_in_steps(&r, HORA_MS(1), 20);
        for (int i = 0; i < MANY; i++) {
            CHECK_INT(tasks[i].began, out[i] ? -1 : tasks[i].planned);
            hora_future_unref(futures[i]);
        }
        rig_close(&r);
    }
}

TEST(scheduler_does_not_find_a_future_of_another, "CP-STPE14")
{
    struct rig r, other;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&other), A_JOB(&r)};
    hora_future *mine, *theirs, *loose;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    scheduler_open(&other, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    mine = schedule_job(&r, &jobs[0], A_WHILE);
    theirs = schedule_job(&other, &jobs[1], A_WHILE);
    CHECK_OK(hora_future_new(JOB(&jobs[2]), &loose));
    CHECK_INT(hora_pool_remove(r.pool, theirs), 0);
    CHECK_INT(hora_pool_remove(r.pool, loose), 0);
    CHECK_INT(hora_pool_remove(other.pool, mine), 0);
    CHECK(!is_queued(&r, theirs));
    CHECK_NO_ORDER(mine, theirs);
    CHECK_NO_ORDER(mine, loose);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_INT(rig_stats(&other).queued, 1);
    pass(&r, A_WHILE);
    pass(&other, A_WHILE);
    CHECK_DONE(mine, 0, &jobs[0]);
    CHECK_DONE(theirs, 0, &jobs[1]);
    hora_future_unref(mine);
    hora_future_unref(theirs);
    hora_future_unref(loose);
    rig_close(&other);
    rig_close(&r);
}

/* A future that was removed is the caller's: it is as it was, and can be run by hand or executed again. */
TEST(scheduler_future_that_was_removed_can_be_run_or_executed, "CP-STPE16")
{
    for (int again = 0; again < 2; again++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        future = schedule_job(&r, &job, A_LONG_WHILE);
        CHECK_INT(hora_pool_remove(r.pool, future), 1);
        pass(&r, 2 * A_LONG_WHILE);
        CHECK_NOT_DONE(future);
        if (again)
            CHECK_OK(hora_pool_execute_future(r.pool, future));
        else
            CHECK_INT(hora_future_run(future), 1);
        settle(&r.f);
        CHECK_DONE(future, 0, &job);
        hora_future_unref(future);
        rig_close(&r);
        CHECK_JOB(&job, 1);
    }
}

/* ---- many ---- */

static bool counts_memory(void)
{
    return !BUILT_WITH_ASAN && !BUILT_WITH_TSAN && !test_simulated();
}

/* Nothing is left of a cancelled task. Where memory is not counted, leaks and growth show in the queue. */
TEST(scheduler_cancelling_very_many_tasks_needs_no_memory,
     "jtreg.ScheduledThreadPoolExecutor/BasicCancelTest CP-STPE13")
{
    const int many = test_simulated() ? 50 : 200000;
    struct rig r;
    struct job job = A_JOB(&r);
    size_t before = 0;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 4));
    for (int i = 0; i < many; i++) {
        hora_future *future = NULL;

        job.drops = 0;
        CHECK_OK(hora_scheduler_schedule(r.pool, JOB(&job), HORA_MINUTES(10), &future));
        CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
        CHECK_INT(job.drops, 1);
        hora_future_unref(future);
        if (i == many / 10)
            before = memory_in_use();
    }
    if (counts_memory())
        CHECK(memory_in_use() < before + 100000); /* half a byte for each */
    CHECK_INT(rig_stats(&r).tasks, 0);
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(rig_stats(&r).cancelled, many);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER)); /* no time passes here: at once */
    CHECK_INT(rig_stats(&r).tasks, 0);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_INT(job.runs, 0);
    rig_close(&r);
}

/* A due task runs to its end; one that is not due is abandoned. */
TEST(scheduler_ends_when_its_queue_is_closed, "")
{
    struct rig r;
    struct job due, later = A_JOB(&r);
    hora_future *futures[2];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    due = (struct job)A_JOB(&r);
    futures[0] = schedule_job(&r, &due, HORA_MS(1));
    futures[1] = schedule_job(&r, &later, HORA_SECONDS(1));
    pass(&r, HORA_MS(1));
    CHECK_OK(hora_queue_close(hora_pool_queue(r.pool)));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_DONE(futures[0], 0, &due);
    CHECK_DONE(futures[1], HORA_EABANDONED, NULL);
    for (int i = 0; i < 2; i++)
        hora_future_unref(futures[i]);
    CHECK_JOB(&later, 0);
    rig_close(&r);
}
