/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler.c - which tasks a scheduler runs, when, and its queries */
#include "scheduler_support.h"

/* A task that looks at its scheduler, then waits at the gate. */
struct look {
    struct rig *rig;
    hora_pool_stats seen;
    hora_pool *current;
};

static int look_around(void *arg, void **ret_result)
{
    struct look *look = arg;

    (void)ret_result;
    look->seen = rig_stats_now(look->rig);
    look->current = hora_pool_current();
    return hora_latch_await(look->rig->gate);
}

static void execute_look(struct rig *r, struct look *look)
{
    *look = (struct look){.rig = r};
    CHECK_OK(hora_pool_execute(r->pool, HORA_TASK(look_around, look)));
}

/* If tasks are decorated, each run went through the wrapper. */
static void check_wrapped(struct rig *r, int tasks, int runs)
{
    CHECK_INT(r->decorated, r->hooked ? tasks : 0);
    CHECK_INT(r->wrapped_runs, r->hooked ? runs : 0);
    CHECK_INT(r->before, r->hooked ? runs : 0);
    CHECK_INT(r->after, r->hooked ? runs : 0);
}

ON_BOTH_SCHEDULERS(executes_a_task, "testExecute", "CP-STPE16")
{
    struct rig r;
    struct job job = A_JOB(&r);

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    check_wrapped(&r, 1, 1);
    rig_close(&r);
}

/* Not a nanosecond before its time, and not after it. */
ON_BOTH_SCHEDULERS(runs_a_task_with_a_result_after_its_delay, "testSchedule1", "CP-STPE3")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;
    void *result = untouched;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    future = schedule_job(&r, &job, A_WHILE);
    CHECK_INT(delay_of(future), A_WHILE);
    CHECK(!hora_future_is_periodic(future));
    pass(&r, A_WHILE - 1);
    CHECK_NOT_DONE(future);
    CHECK_INT(job.runs, 0);
    CHECK_INT(delay_of(future), 1);
    pass(&r, 1);
    CHECK_INT(job.runs, 1);
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &job);
    CHECK_DONE(future, 0, &job);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_JOB(&job, 1);
}

static int no_result(void *arg, void **ret_result)
{
    (void)ret_result;
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

ON_BOTH_SCHEDULERS(runs_a_task_without_a_result_after_its_delay, "testSchedule3", "")
{
    struct rig r;
    struct call call;
    atomic_int runs = 0;
    hora_future *future;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(no_result, &runs), A_WHILE, &future));
    start_get_for(&call, &r.f, future, A_LONG_WHILE);
    CHECK_BLOCKED(&call);
    advance(&r.f, A_WHILE - 1);
    CHECK_BLOCKED(&call);
    CHECK_INT(runs, 0);
    advance(&r.f, 1);
    CHECK_TAKES(&call, NULL);
    CHECK_INT(runs, 1);
    CHECK_DONE(future, 0, NULL);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
}

static void first_run_of_a_series(bool decorated, enum form form)
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    future = schedule_series(&r, form, &job, A_WHILE, A_LONG_WHILE);
    CHECK(hora_future_is_periodic(future));
    CHECK_INT(delay_of(future), A_WHILE);
    pass(&r, A_WHILE - 1);
    CHECK_INT(job.runs, 0);
    pass(&r, 1);
    CHECK_INT(job.runs, 1);
    CHECK_INT(delay_of(future), A_LONG_WHILE);
    CHECK_NOT_DONE(future);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_REMOVED);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1); /* the results of a series are dropped */
    pass(&r, 2 * A_LONG_WHILE);
    CHECK_INT(job.runs, 1);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(begins_a_fixed_rate_after_its_delay, "testSchedule4", "")
{
    first_run_of_a_series(decorated, RATE);
}

ON_BOTH_SCHEDULERS(begins_a_fixed_delay_after_its_delay, "testSchedule5", "")
{
    first_run_of_a_series(decorated, GAP);
}

ON_BOTH_SCHEDULERS(counts_active_workers, "testGetActiveCount", "")
{
    struct rig r;
    struct look look;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    CHECK_INT(rig_stats(&r).active, 0);
    execute_look(&r, &look);
    settle(&r.f);
    CHECK_INT(look.seen.active, 1);
    CHECK_INT(rig_stats(&r).active, 1);
    CHECK_POINTER(look.current, r.pool);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).active, 0);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(counts_completed_tasks, "testGetCompletedTaskCount", "")
{
    struct rig r;
    struct look look;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    CHECK_INT(rig_stats(&r).completed, 0);
    execute_look(&r, &look);
    CHECK_INT(rig_stats(&r).completed, 0);
    CHECK_INT(look.seen.completed, 0);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).completed, 1);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(knows_its_core_threads, "testGetCorePoolSize", "")
{
    struct rig r;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_INT(rig_stats(&r).core_threads, 1);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(knows_its_largest_size, "testGetLargestPoolSize", "CP-STPE1")
{
    struct rig r;
    struct look looks[4];

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    CHECK_INT(rig_stats(&r).largest, 0);
    for (int i = 0; i < 4; i++)
        execute_look(&r, &looks[i]);
    CHECK_INT(rig_stats(&r).largest, 3); /* the fourth waits: there are never more than core */
    CHECK_INT(rig_stats(&r).queued, 1);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_INT(rig_stats(&r).largest, 3);
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(knows_its_size, "testGetPoolSize", "")
{
    struct rig r;
    struct look look;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_INT(rig_stats(&r).threads, 0);
    execute_look(&r, &look);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(look.seen.threads, 1);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_INT(rig_stats_now(&r).threads, 0);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(counts_tasks, "testGetTaskCount", "")
{
    struct rig r;
    struct look looks[4];

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_INT(rig_stats(&r).tasks, 0);
    CHECK_INT(rig_stats(&r).completed, 0);
    execute_look(&r, &looks[0]);
    CHECK_INT(rig_stats(&r).tasks, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(rig_stats(&r).tasks, 1 + i);
        CHECK_INT(rig_stats(&r).completed, 0);
        execute_look(&r, &looks[1 + i]);
    }
    CHECK_INT(rig_stats(&r).tasks, 4);
    rig_open_gate(&r);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    for (int i = 1; i < 4; i++)
        CHECK_INT(looks[i].seen.tasks, 4);
    CHECK_INT(rig_stats(&r).tasks, 4);
    CHECK_INT(rig_stats(&r).completed, 4);
    CHECK_INT(rig_stats(&r).done, 4);
    rig_close(&r);
}

ON_BOTH_SCHEDULERS(gives_the_result_of_a_submitted_task, "testSubmitCallable", "CP-STPE16")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future;
    void *result = untouched;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    future = submit_job(&r, &job);
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &job);
    settle(&r.f);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
    CHECK_INT(job.result_drops, 1);
}

ON_BOTH_SCHEDULERS(completes_a_submitted_task_without_a_result, "testSubmitRunnable", "")
{
    struct rig r;
    atomic_int runs = 0;
    hora_future *future;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(no_result, &runs), &future));
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_DONE(future, 0, NULL);
    settle(&r.f);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
}

static int return_argument(void *arg, void **ret_result)
{
    *ret_result = arg;
    return 0;
}

ON_BOTH_SCHEDULERS(gives_the_value_a_submitted_task_was_given, "testSubmitRunnable2", "")
{
    struct rig r;
    hora_future *future;
    void *result = NULL;

    scheduler_open(&r, decorated, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(return_argument, item(3)), &future));
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, item(3));
    settle(&r.f);
    check_wrapped(&r, 1, 1);
    hora_future_unref(future);
    rig_close(&r);
}

/* ---- beyond the JDK's suite ---- */

/* A time in the past is due at once; a negative delay counts as none. */
TEST(scheduler_delay_of_zero_or_less_is_at_once, "CP-STPE3")
{
    for (int i = 0; i < 3; i++) {
        for (int form = ONCE; form < FORMS; form++) {
            struct rig r;
            struct job job = A_JOB(&r);
            hora_future *future;

            scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
            future = schedule_series(&r, (enum form)form, &job, expired[i], A_WHILE);
            settle(&r.f);
            CHECK_INT(job.runs, 1);
            pass(&r, A_WHILE);
            CHECK_INT(job.runs, is_series((enum form)form) ? 2 : 1); /* counted from now, not from before */
            hora_future_unref(future);
            rig_close(&r);
        }
    }
}

TEST(scheduler_runs_tasks_without_a_handle, "")
{
    struct rig r;
    struct job jobs[FORMS] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    for (int form = ONCE; form < FORMS; form++)
        CHECK_OK(schedule_form(&r, (enum form)form, JOB(&jobs[form]), A_WHILE, A_WHILE, NULL));
    pass_in_steps(&r, A_WHILE, 3);
    CHECK_JOB(&jobs[ONCE], 1);
    CHECK_INT(jobs[RATE].runs, 3);
    CHECK_INT(jobs[GAP].runs, 3);
    rig_close(&r);
    CHECK_JOB(&jobs[RATE], 3);
    CHECK_JOB(&jobs[GAP], 3);
}

struct order {
    struct rig *rig;
    int numbers[16];
    int count;
};

struct numbered {
    struct order *order;
    int number;
};

static int note_number(void *arg, void **ret_result)
{
    struct numbered *numbered = arg;
    struct order *order = numbered->order;

    (void)ret_result;
    if (order->count < 16)
        order->numbers[order->count++] = numbered->number;
    return 0;
}

/* By time first, then as they were scheduled; executed tasks have the time of their call. */
TEST(scheduler_runs_in_order_of_time_then_of_scheduling, "CP-STPE5 CP-STPE16")
{
    static const hora_ns delays[8] = {HORA_MS(2), HORA_MS(1), HORA_MS(2), 0,
                                      HORA_MS(1), HORA_MS(2), 0,          HORA_MS(1)};
    static const int want[9] = {3, 6, 8, 1, 4, 7, 0, 2, 5};
    struct rig r;
    struct order order = {.rig = &r};
    struct numbered tasks[9];
    struct job blocker = A_WAITING_JOB(&r);

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    execute_job(&r, &blocker);
    settle(&r.f);
    for (int i = 0; i < 9; i++) {
        tasks[i] = (struct numbered){&order, i};
        if (i < 8)
            CHECK_OK(hora_scheduler_schedule(r.pool, HORA_TASK(note_number, &tasks[i]), delays[i], NULL));
        else
            CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(note_number, &tasks[i])));
    }
    pass(&r, HORA_MS(5)); /* all are due, and the only worker is still busy */
    CHECK_INT(order.count, 0);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(order.count, 9);
    for (int i = 0; i < 9; i++)
        CHECK_INT(order.numbers[i], want[i]);
    rig_close(&r);
}

/* A task that is scheduled while a worker sleeps for a later one is not slept over. */
TEST(scheduler_wakes_for_a_task_that_comes_first, "")
{
    struct rig r;
    struct job jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    for (int i = 0; i < 3; i++) {
        futures[i] = schedule_job(&r, &jobs[i], HORA_SECONDS(3 - i));
        settle(&r.f);
    }
    for (int i = 2; i >= 0; i--) {
        pass(&r, HORA_SECONDS(1) - 1);
        CHECK_INT(jobs[i].runs, 0);
        pass(&r, 1);
        CHECK_INT(jobs[i].runs, 1);
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

TEST(scheduler_runs_tasks_of_one_time_on_all_its_threads, "")
{
    struct rig r;
    struct job jobs[3];
    hora_future *futures[3];

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 3));
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job)A_WAITING_JOB(&r);
        futures[i] = schedule_job(&r, &jobs[i], A_WHILE);
    }
    pass(&r, A_WHILE);
    CHECK_INT(rig_stats(&r).active, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(jobs[i].runs, 1);
        hora_future_unref(futures[i]);
    }
    rig_close(&r);
}

/* A delay may be negative: then it is due since that long. */
TEST(scheduler_delay_tells_how_long_a_task_is_overdue, "CP-STPE16")
{
    struct rig r;
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r), now = A_JOB(&r);
    hora_future *future, *executed;

    scheduler_open(&r, false, HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    execute_job(&r, &blocker);
    settle(&r.f);
    future = schedule_job(&r, &job, A_WHILE);
    executed = submit_job(&r, &now);
    CHECK_INT(delay_of(executed), 0);
    pass(&r, 3 * A_WHILE);
    CHECK_INT(delay_of(future), -2 * A_WHILE);
    CHECK_INT(delay_of(executed), -3 * A_WHILE);
    CHECK(order_of(executed, future) < 0);
    CHECK(order_of(future, executed) > 0);
    CHECK_INT(order_of(future, future), 0);
    CHECK(!hora_future_is_periodic(executed));
    rig_open_gate(&r);
    CHECK_OK(hora_future_get(future, NULL));
    hora_future_unref(future);
    hora_future_unref(executed);
    rig_close(&r);
}

/* The functions with names of the scheduler do the same as those of the pool. */
TEST(scheduler_has_an_end_of_its_own, "")
{
    hora_scheduler *scheduler;
    hora_future_list list = HORA_FUTURE_LIST_INIT;

    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL));
    CHECK_OK(hora_scheduler_shutdown(scheduler));
    CHECK(hora_pool_is_shutdown(scheduler));
    CHECK_OK(hora_scheduler_close(scheduler));
    CHECK_OK(hora_scheduler_close_for(scheduler, 0));
    CHECK_OK(hora_scheduler_shutdown_now(scheduler, &list));
    CHECK_INT(list.count, 0);
    CHECK_OK(hora_scheduler_free(scheduler));
}
