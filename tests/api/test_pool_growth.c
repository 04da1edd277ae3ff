/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_growth.c - when a pool starts threads, and when it lets them go */
#include "pool_support.h"

enum { MOST = 24 };

TEST(pool_fills_core_then_queue_then_maximum, "CP-TPE7")
{
    struct rig r;
    struct job jobs[7];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 4, .queue_capacity = 2));
    for (int i = 0; i < 6; i++) {
        static const int threads[6] = {1, 2, 2, 2, 3, 4}, queued[6] = {0, 0, 1, 2, 2, 2};

        jobs[i] = (struct job)A_WAITING_JOB(&r);
        execute_job(&r, &jobs[i]);
        CHECK_INT(rig_stats(&r).threads, threads[i]);
        CHECK_INT(rig_stats(&r).queued, queued[i]);
    }
    jobs[6] = (struct job)A_JOB(&r);
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&jobs[6])), HORA_EREJECTED);
    CHECK_INT(jobs[6].drops, 0);
    CHECK_INT(rig_stats(&r).tasks, 6);
    rig_close(&r);
    for (int i = 0; i < 6; i++)
        CHECK_JOB(&jobs[i], 1);
}

TEST(pool_starts_core_threads_even_if_others_are_idle, "CP-TPE7")
{
    struct rig r;
    struct job jobs[3];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 3));
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        execute_job(&r, &jobs[i]);
        CHECK_INT(rig_stats(&r).threads, i + 1);
        CHECK_INT(rig_stats(&r).active, 0);
    }
    rig_close(&r);
}

TEST(pool_without_core_threads_runs_an_unbounded_queue_on_one, "CP-TPE8 CP-TPE9")
{
    struct rig r;
    struct job jobs[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 0, .keep_alive = A_WHILE));
    execute_jobs(&r, jobs, 4);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).queued, 3);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).completed, 4);
    CHECK_INT(rig_stats(&r).largest, 1);
    advance(&r.f, A_WHILE);
    CHECK_INT(rig_stats(&r).threads, 0);
    jobs[0] = (struct job)A_JOB(&r);
    execute_job(&r, &jobs[0]);
    settle(&r.f);
    CHECK_JOB(&jobs[0], 1);
    rig_close(&r);
}

/* Idle for keep_alive, exactly; not before, and never below the core. */
TEST(pool_surplus_threads_leave_after_keep_alive, "CP-TPE12")
{
    struct rig r;
    struct job jobs[4];

    rig_open(
        &r, false,
        HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 4, .keep_alive = A_WHILE, .queue_capacity = -1));
    execute_jobs(&r, jobs, 4);
    CHECK_INT(rig_stats(&r).threads, 4);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).threads, 4);
    advance(&r.f, A_WHILE - 1);
    CHECK_INT(rig_stats(&r).threads, 4);
    advance(&r.f, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    advance(&r.f, A_LONG_WHILE);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

TEST(pool_surplus_threads_without_keep_alive_leave_at_once, "CP-TPE14")
{
    struct rig r;
    struct job jobs[3];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 3, .queue_capacity = -1));
    execute_jobs(&r, jobs, 3);
    CHECK_INT(rig_stats(&r).threads, 3);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

TEST(pool_keep_alive_starts_anew_when_a_setting_changes, "CP-TPE13")
{
    struct rig r;
    struct job jobs[2];

    rig_open(
        &r, false,
        HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .keep_alive = A_WHILE, .queue_capacity = -1));
    execute_jobs(&r, jobs, 2);
    rig_open_gate(&r);
    settle(&r.f);
    advance(&r.f, A_WHILE - 1);
    CHECK_OK(hora_pool_set_keep_alive(r.pool, A_WHILE - 1, NULL));
    settle(&r.f);
    advance(&r.f, A_WHILE - 2);
    CHECK_INT(rig_stats(&r).threads, 2);
    advance(&r.f, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

ON_BOTH_POOLS(core_threads_stay_by_default, "testAllowsCoreThreadTimeOut", "")
{
    struct rig r;

    rig_open(
        &r, hooked,
        HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 2, .keep_alive = A_WHILE, .queue_capacity = 10));
    CHECK(!rig_stats(&r).core_time_out);
    rig_close(&r);
}

ON_BOTH_POOLS(core_threads_may_time_out, "testAllowCoreThreadTimeOut_true", "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(
        &r, hooked,
        HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 10, .keep_alive = A_WHILE, .queue_capacity = 10));
    CHECK_OK(hora_pool_set_core_time_out(r.pool, true, NULL));
    CHECK(rig_stats(&r).core_time_out);
    execute_job(&r, &job);
    CHECK_INT(rig_stats(&r).threads, 1);
    advance(&r.f, A_WHILE - 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    advance(&r.f, 1);
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

ON_BOTH_POOLS(core_threads_do_not_time_out_otherwise, "testAllowCoreThreadTimeOut_false", "")
{
    struct rig r;
    struct job job = A_JOB(&r);

    rig_open(
        &r, hooked,
        HORA_POOL_OPTIONS(.core_threads = 2, .max_threads = 10, .keep_alive = A_WHILE, .queue_capacity = 10));
    CHECK_OK(hora_pool_set_core_time_out(r.pool, false, NULL));
    execute_job(&r, &job);
    CHECK_INT(rig_stats(&r).threads, 1);
    advance(&r.f, 2 * A_WHILE);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

/* A worker that has timed out does not leave if another one has already brought the pool down to its core. */
TEST(pool_shrinks_to_its_core_and_never_below, "jtreg.ThreadPoolExecutor/TimeOutShrink CP-TPE12")
{
    struct rig r;
    struct job jobs[8];

    rig_open(
        &r, false,
        HORA_POOL_OPTIONS(.core_threads = 4, .max_threads = 8, .keep_alive = A_WHILE, .queue_capacity = -1));
    execute_jobs(&r, jobs, 8);
    CHECK_INT(rig_stats(&r).threads, 8);
    rig_open_gate(&r);
    settle(&r.f);
    advance(&r.f, A_WHILE);
    CHECK_INT(rig_stats(&r).threads, 4);
    advance(&r.f, 4 * A_WHILE);
    CHECK_INT(rig_stats(&r).threads, 4);
    CHECK_INT(rig_stats(&r).largest, 8);
    rig_close(&r);
}

TEST(pool_core_threads_start_one_by_one_and_all_time_out, "jtreg.ThreadPoolExecutor/CoreThreadTimeOut")
{
    struct rig r;
    struct job jobs[10];

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 10, .keep_alive = HORA_MS(30), .core_time_out = true));
    for (int i = 0; i < 10; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        execute_job(&r, &jobs[i]);
        CHECK_INT(rig_stats(&r).threads, i + 1);
    }
    advance(&r.f, HORA_MS(30) - 1);
    CHECK_INT(rig_stats(&r).threads, 10);
    advance(&r.f, 1);
    CHECK_INT(rig_stats(&r).threads, 0);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK(rig_stats(&r).core_time_out);
    rig_close(&r);
}

/* The last worker does not leave while something is queued, however long it was idle before. */
TEST(pool_task_that_comes_as_the_last_worker_times_out_runs, "CP-TPE8 CP-TPE12")
{
    struct rig r;
    struct job jobs[2] = {A_JOB(&r), A_JOB(&r)};

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .keep_alive = A_WHILE, .core_time_out = true));
    execute_job(&r, &jobs[0]);
    settle(&r.f);
    advance(&r.f, A_WHILE); /* no settle: the worker is on its way out */
    execute_job(&r, &jobs[1]);
    settle(&r.f);
    CHECK_JOB(&jobs[1], 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

static int change_own_pool(void *arg, void **ret_result)
{
    struct rig *r = arg;

    (void)ret_result;
    CHECK_OK(hora_latch_await(r->gate));
    CHECK_OK(hora_pool_set_core_threads(r->pool, 1, NULL));
    CHECK_OK(hora_pool_set_keep_alive(r->pool, 1, NULL));
    CHECK(!hora_interrupted());
    return 0;
}

/* Workers that shrink their own pool are not interrupted, and idle ones end. */
static void setters_never_interrupt_tasks(int tasks)
{
    struct rig r;

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = tasks, .keep_alive = A_WHILE));
    for (int i = 0; i < tasks; i++)
        CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(change_own_pool, &r)));
    CHECK_INT(rig_stats(&r).active, tasks);
    rig_open_gate(&r);
    settle(&r.f);
    advance(&r.f, A_WHILE);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_INT(rig_stats(&r).done, tasks);
    rig_close(&r);
}

TEST(pool_setters_never_interrupt_tasks, "jtreg.ThreadPoolExecutor/SelfInterrupt CP-TPE19")
{
    setters_never_interrupt_tasks(8);
}

TEST_REAL(pool_setters_never_interrupt_a_hundred_tasks, "jtreg.ThreadPoolExecutor/SelfInterrupt CP-TPE19")
{
    setters_never_interrupt_tasks(100);
}

static void check_sizes(struct rig *r, int line, int threads, int tasks)
{
    hora_pool_stats stats = rig_stats(r);

    test_check_int(__FILE__, line, "threads", stats.threads, threads);
    test_check_int(__FILE__, line, "tasks", stats.tasks, tasks);
}

TEST(pool_changes_its_sizes_under_load, "jtreg.ThreadPoolExecutor/ConfigChanges CP-TPE21")
{
    struct rig r;
    struct job jobs[MOST];

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 3, .max_threads = 9, .keep_alive = HORA_MINUTES(3),
                               .queue_capacity = 9));
    execute_jobs(&r, jobs, 18);
    check_sizes(&r, __LINE__, 9, 18);
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&jobs[0])), HORA_EREJECTED);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 12, NULL));
    execute_jobs(&r, jobs + 18, 3);
    check_sizes(&r, __LINE__, 12, 21);
    CHECK_ERROR(hora_pool_execute(r.pool, JOB(&jobs[0])), HORA_EREJECTED);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 6, NULL));
    check_sizes(&r, __LINE__, 12, 21); /* they are busy */
    rig_open_gate(&r);
    check_sizes(&r, __LINE__, 6, 21);
    CHECK_INT(rig_stats(&r).completed, 21);
    CHECK_OK(hora_pool_set_keep_alive(r.pool, HORA_MS(7), NULL));
    settle(&r.f);
    advance(&r.f, HORA_MS(7) - 1);
    check_sizes(&r, __LINE__, 6, 21);
    advance(&r.f, 1);
    check_sizes(&r, __LINE__, 3, 21);
    CHECK_OK(hora_pool_set_core_time_out(r.pool, true, NULL));
    settle(&r.f);
    advance(&r.f, HORA_MS(7));
    check_sizes(&r, __LINE__, 0, 21);
    CHECK_INT(rig_stats(&r).largest, 12);
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_OK(hora_pool_await_termination_for(r.pool, 0));
    CHECK_INT(rig_stats(&r).active, 0);
    rig_close(&r);
}

TEST(pool_with_fewer_core_threads_lets_idle_ones_go, "CP-TPE20")
{
    struct rig r;
    struct job jobs[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 4));
    execute_jobs(&r, jobs, 4);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).threads, 4);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 2, NULL));
    CHECK_INT(rig_stats(&r).threads, 2); /* keep_alive is 0 */
    CHECK_OK(hora_pool_set_core_threads(r.pool, 0, NULL));
    CHECK_INT(rig_stats(&r).threads, 0);
    rig_close(&r);
}

TEST(pool_with_more_core_threads_starts_as_many_as_are_needed, "CP-TPE20")
{
    struct rig r;
    struct job jobs[4];

    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 8, .queue_capacity = 10));
    execute_jobs(&r, jobs, 4);
    CHECK_INT(rig_stats(&r).threads, 1);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 3, NULL));
    CHECK_INT(rig_stats(&r).threads, 3);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_OK(hora_pool_set_core_threads(r.pool, 8, NULL));
    CHECK_INT(rig_stats(&r).threads, 4);
    rig_close(&r);
}

TEST(pool_with_a_smaller_maximum_lets_idle_threads_go_at_once, "CP-TPE21")
{
    struct rig r;
    struct job jobs[4];

    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 4, .keep_alive = HORA_FOREVER,
                               .queue_capacity = -1));
    execute_jobs(&r, jobs, 4);
    rig_open_gate(&r);
    CHECK_INT(rig_stats(&r).threads, 4);
    CHECK_OK(hora_pool_set_max_threads(r.pool, 2, NULL));
    CHECK_INT(rig_stats(&r).threads, 2);
    rig_close(&r);
}
