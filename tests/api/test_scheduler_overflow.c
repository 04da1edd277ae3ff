/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_overflow.c - delays beyond the range of time: they never end, and disturb no other task */
#include "scheduler_support.h"

/* The calls with which a task can be run at once, and with the greatest possible delay. */
enum { NOW_EXECUTE, NOW_SUBMIT, NOW_SCHEDULE, NOW_RATE, NOW_WAYS };
enum { FAR_SCHEDULE, FAR_RATE, FAR_GAP, FAR_WITH, FAR_WAYS };

static void run_now(struct rig *r, int way, struct job *job)
{
    hora_future *future = NULL;

    switch (way) {
    case NOW_EXECUTE:
        CHECK_OK(hora_pool_execute(r->pool, JOB(job)));
        break;
    case NOW_SUBMIT:
        CHECK_OK(hora_pool_submit(r->pool, JOB(job), &future));
        hora_future_unref(future);
        break;
    case NOW_SCHEDULE:
        CHECK_OK(hora_scheduler_schedule(r->pool, JOB(job), 0, NULL));
        break;
    default:
        CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r->pool, JOB(job), 0, HORA_HOURS(1), NULL));
        break;
    }
}

static hora_future *run_far(struct rig *r, int way, struct job *job)
{
    hora_future *future = NULL;

    switch (way) {
    case FAR_SCHEDULE:
        CHECK_OK(hora_scheduler_schedule(r->pool, JOB(job), INT64_MAX, &future));
        break;
    case FAR_RATE:
        CHECK_OK(hora_scheduler_schedule_at_fixed_rate(r->pool, JOB(job), INT64_MAX, INT64_MAX, &future));
        break;
    case FAR_GAP:
        CHECK_OK(hora_scheduler_schedule_with_fixed_delay(r->pool, JOB(job), INT64_MAX, INT64_MAX, &future));
        break;
    default:
        CHECK_OK(hora_scheduler_schedule_with(
            r->pool, JOB(job), HORA_SCHEDULE(.initial_delay = INT64_MAX, .fixed_rate = INT64_MAX), &future,
            NULL));
        break;
    }
    return future;
}

/* The worker is busy. One task is overdue by half a second when the far one is scheduled, or the far one was
 * scheduled before. */
static void overdue_beside_far(int now, int far, bool far_first)
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), near_job = A_JOB(&r), far_job = A_JOB(&r);
    hora_future *future = NULL;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    execute_job(&r, &blocker);
    settle(&r.f);
    if (far_first)
        future = run_far(&r, far, &far_job);
    run_now(&r, now, &near_job);
    pass(&r, HORA_MS(500));
    if (!far_first)
        future = run_far(&r, far, &far_job);
    CHECK_INT(delay_of(future), HORA_FOREVER);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(near_job.runs, 1);
    CHECK_INT(far_job.runs, 0);
    CHECK_NOT_DONE(future);
    pass(&r, HORA_MINUTES(30));
    CHECK_INT(far_job.runs, 0);
    CHECK(is_queued(&r, future));
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&near_job, 1);
    CHECK_JOB(&far_job, 0);
}

/* 4 x 4 of the 20 cases. */
TEST(scheduler_far_task_does_not_disturb_one_that_is_overdue,
     "jtreg.ScheduledThreadPoolExecutor/DelayOverflow CP-STPE3 CP-STPE4")
{
    for (int now = 0; now < NOW_WAYS; now++) {
        for (int far = 0; far < FAR_WAYS; far++) {
            overdue_beside_far(now, far, false);
            overdue_beside_far(now, far, true);
        }
    }
}

struct first_run {
    struct rig *rig;
    int way;
    struct job now;
    int runs;
};

static int give_one_now(void *arg, void **ret_result)
{
    struct first_run *first = arg;

    (void)ret_result;
    first->runs++;
    run_now(first->rig, first->way, &first->now);
    return 0;
}

/* The series goes back into the queue while a task that is due now stands in it. */
static void endless_gap(bool decorated, int way)
{
    struct rig r;
    struct first_run first = {.rig = &r, .way = way, .now = A_JOB(&r)};
    hora_future *future;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule_with_fixed_delay(r.pool, HORA_TASK(give_one_now, &first), 0, INT64_MAX,
                                                      &future));
    settle(&r.f);
    CHECK_INT(first.runs, 1);
    CHECK_INT(first.now.runs, 1);
    CHECK_INT(delay_of(future), HORA_FOREVER);
    CHECK(is_queued(&r, future));
    pass(&r, HORA_MINUTES(30));
    CHECK_INT(first.runs, 1);
    CHECK_NOT_DONE(future);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&first.now, 1);
}

/* The other 4 of the 20. */
TEST(scheduler_endless_gap_does_not_disturb_what_its_run_scheduled,
     "jtreg.ScheduledThreadPoolExecutor/DelayOverflow CP-STPE4")
{
    for (int way = 0; way < NOW_WAYS; way++)
        endless_gap(false, way);
}

TEST(scheduler_endless_gap_disturbs_nothing, "ScheduledExecutorTest.testScheduleWithFixedDelay_overflow")
{
    endless_gap(false, NOW_SUBMIT);
    endless_gap(true, NOW_SUBMIT);
}

/* Neither does a rate wrap: after one run the next planned time is beyond counting. */
TEST(scheduler_endless_rate_runs_once, "CP-STPE4")
{
    static const hora_ns periods[3] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2 + 1};

    for (int i = 0; i < 3; i++) {
        struct rig r;
        struct job job = A_JOB(&r), next = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        future = schedule_series(&r, RATE, &job, HORA_HOURS(24), periods[i]);
        pass(&r, HORA_HOURS(24));
        CHECK_INT(job.runs, 1);
        execute_job(&r, &next);
        pass(&r, HORA_HOURS(24 * 365 * 100));
        CHECK_JOB(&next, 1);
        CHECK_INT(job.runs, 1);
        CHECK(delay_of(future) > 0);
        hora_future_unref(future);
        rig_close(&r);
    }
}

/* Far delays are ordered as far as time can count them; beyond, by order of scheduling. */
TEST(scheduler_far_tasks_keep_their_order, "CP-STPE4 CP-STPE5")
{
    static const hora_ns delays[4] = {INT64_MAX, INT64_MAX - HORA_SECONDS(1), INT64_MAX / 2, INT64_MAX};
    struct rig r;
    struct job jobs[4] = {A_JOB(&r), A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[4];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1, .cancel_delayed = true));
    for (int i = 0; i < 4; i++)
        futures[i] = schedule_job(&r, &jobs[i], delays[i]);
    CHECK(order_of(futures[2], futures[0]) < 0);
    CHECK(order_of(futures[2], futures[1]) < 0);
    CHECK(order_of(futures[0], futures[3]) < 0);
    CHECK(order_of(futures[3], futures[0]) > 0);
    CHECK_INT(delay_of(futures[2]), INT64_MAX / 2);
    CHECK_PEEK_FUTURE(r.pool, futures[2]);
    for (int i = 0; i < 4; i++)
        hora_future_unref(futures[i]);
    rig_close(&r);
    for (int i = 0; i < 4; i++)
        CHECK_JOB(&jobs[i], 0);
}

/* Half of all time, plus a little: sums of two such saturate. */
TEST(scheduler_far_gap_after_a_far_delay_saturates, "CP-STPE3 CP-STPE4")
{
    for (int form = RATE; form <= GAP; form++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future;

        scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
        future = schedule_series(&r, (enum form)form, &job, INT64_MAX / 2, INT64_MAX / 2 + HORA_HOURS(1));
        pass(&r, INT64_MAX / 2 - 1);
        CHECK_INT(job.runs, 0);
        pass(&r, 1);
        CHECK_INT(job.runs, 1);
        CHECK_INT(delay_of(future), HORA_FOREVER);
        pass(&r, HORA_HOURS(24 * 365));
        CHECK_INT(job.runs, 1);
        hora_future_unref(future);
        rig_close(&r);
    }
}
