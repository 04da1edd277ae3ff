/* SPDX-License-Identifier: Apache-2.0 */
/* test_stuck.c - runs that make no progress are reported, and their workers replaced */
#include "limits_support.h"

static void open_with_rule(struct rig *r, struct seen *seen, int threads, hora_ns stuck_after)
{
    hora_listener listener = limits_listener(r, seen);
    rig_open(r, false,
             HORA_POOL_OPTIONS(.core_threads = threads, .watchdog = HORA_WATCHDOG(.stuck_after = stuck_after),
                               .listener = &listener));
}

static void check_told(struct seen *seen, int i, hora_ns at, int worker, hora_ns ran, hora_ns quiet)
{
    CHECK_INT(seen->at[i], at);
    CHECK_INT(seen->events[i].worker, worker);
    CHECK_INT(seen->events[i].ran, ran);
    CHECK_INT(seen->events[i].quiet, quiet);
}

/* ---- the pool's rule ---- */

TEST(stuck_by_the_rule_of_the_pool, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 1, SEC(10));
    hora_ns zero = hora_clock_now(r.f.view);
    struct job job = A_WAITING_JOB(&r);
    execute_job(&r, &job);
    pass(&r, SEC(10) - 1);
    CHECK_INT(seen.stuck, 0);
    pass(&r, 1);
    CHECK_INT(seen.stuck, 1);
    check_told(&seen, 0, zero + SEC(10), 1, SEC(10), SEC(10));
    CHECK(seen.name[0] == 'j');
    pass(&r, SEC(10) - 1);
    CHECK_INT(seen.stuck, 1);
    pass(&r, 1); /* again */
    CHECK_INT(seen.stuck, 2);
    check_told(&seen, 1, zero + SEC(20), 1, SEC(20), SEC(20));
    CHECK_INT(job.interrupts, 0);
    rig_open_gate(&r);
    pass(&r, SEC(60));
    CHECK_INT(seen.stuck, 2);
    rig_close(&r);
}

/* Of many short tasks one after the other none is stuck, and neither is an idle worker. */
TEST(stuck_is_no_worker_that_makes_progress, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 1, SEC(10));
    for (int i = 0; i < 5; i++) {
        hora_future *future;
        struct beat beat = A_BEAT(&r, SEC(7));
        CHECK_OK(hora_pool_submit(r.pool, BEAT(&beat), &future));
        pass(&r, SEC(7));
        CHECK_DONE(future, 0, NULL);
        (void)hora_future_unref(future);
    }
    pass(&r, SEC(100));
    CHECK_INT(seen.stuck, 0);
    rig_close(&r);
}

/* After a long rest a stuck run is found as exactly as before. */
TEST(stuck_is_found_after_a_rest, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 2, SEC(10));
    struct job quick = A_JOB(&r);
    execute_job(&r, &quick);
    pass_in_steps(&r, SEC(5), 20);
    uint64_t before = test_wakeups();
    pass(&r, SEC(1000));
    if (test_simulated() && test_is_exact())
        CHECK_INT(test_wakeups() - before, 0); /* an idle pool does not wake up */
    hora_ns zero = hora_clock_now(r.f.view);
    struct job job = A_WAITING_JOB(&r);
    execute_job(&r, &job);
    pass(&r, SEC(10) - 1);
    CHECK_INT(seen.stuck, 0);
    pass(&r, 1);
    CHECK_INT(seen.stuck, 1);
    CHECK_INT(seen.at[0], zero + SEC(10));
    rig_close(&r);
}

/* Each of two workers is reported at its own time. */
TEST(stuck_is_told_for_each_worker, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 2, SEC(10));
    hora_ns zero = hora_clock_now(r.f.view);
    struct job one = A_WAITING_JOB(&r);
    struct job two = A_WAITING_JOB(&r);
    execute_job(&r, &one);
    pass(&r, SEC(4));
    execute_job(&r, &two);
    pass_in_steps(&r, SEC(1), 15);
    CHECK_INT(seen.stuck, 2);
    check_told(&seen, 0, zero + SEC(10), 1, SEC(10), SEC(10));
    check_told(&seen, 1, zero + SEC(14), 2, SEC(10), SEC(10));
    rig_close(&r);
}

/* Says every 4 s that it gets on, five times, and then waits at the gate. */
static int get_on(void *arg, void **ret_result)
{
    struct rig *r = arg;
    (void)ret_result;
    for (int i = 1; i <= 5; i++) {
        CHECK_OK(hora_clock_sleep(r->f.view, SEC(4)));
        hora_progress(i, 5);
    }
    return hora_latch_await(r->gate);
}

TEST(stuck_counts_from_the_last_progress, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 1, SEC(5));
    hora_ns zero = hora_clock_now(r.f.view);
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(get_on, &r, .name = "get on")));
    pass_in_steps(&r, SEC(1), 25);
    CHECK_INT(seen.stuck, 1);
    check_told(&seen, 0, zero + SEC(25), 1, SEC(25), SEC(5));
    rig_close(&r);
}

/* ---- terms ---- */

TEST(stuck_by_the_terms_of_a_task, "")
{
    struct rig r;
    struct seen seen = {0};
    open_with_rule(&r, &seen, 1, SEC(100));
    hora_ns zero = hora_clock_now(r.f.view);
    hora_future *future;
    CHECK_OK(hora_pool_submit_with(r.pool, HORA_TASK(get_on, &r, .name = "get on"),
                                   HORA_TASK_OPTIONS(.stuck_after = SEC(5)), &future, NULL));
    pass_in_steps(&r, SEC(1), 30);
    CHECK_INT(seen.stuck, 2);
    check_told(&seen, 0, zero + SEC(25), 1, SEC(25), SEC(5));
    check_told(&seen, 1, zero + SEC(30), 1, SEC(30), SEC(10));
    CHECK_POINTER(seen.events[0].future, future);
    rig_open_gate(&r);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* First the run is interrupted; if it continues nevertheless, it is stuck. */
TEST(stuck_after_the_interrupt, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    hora_ns zero = hora_clock_now(r.f.view);
    struct job job = A_DEAF_JOB(&r);
    hora_future *future =
        submit_under(&r, &job, HORA_TASK_OPTIONS(.run_limit = SEC(3), .stuck_after = SEC(4)));
    pass(&r, SEC(3) - 1);
    CHECK_INT(job.interrupts, 0);
    pass(&r, 1);
    CHECK_INT(job.interrupts, 1);
    pass(&r, SEC(4) - 1);
    CHECK_INT(seen.stuck, 0);
    pass(&r, 1);
    CHECK_INT(seen.stuck, 1);
    check_told(&seen, 0, zero + SEC(7), 1, SEC(7), SEC(7));
    CHECK_INT(job.interrupts, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(future, 0, &job);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* ---- replaced ---- */

TEST(stuck_worker_is_replaced, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job stuck = A_WAITING_JOB(&r);
    struct job next = A_JOB(&r);
    hora_future *futures[2];
    futures[0] = submit_under(&r, &stuck, HORA_TASK_OPTIONS(.stuck_after = SEC(5), .replace_stuck = true));
    futures[1] = submit_job(&r, &next);
    pass(&r, SEC(5) - 1);
    CHECK_NOT_DONE(futures[1]);
    pass(&r, 1);
    CHECK_DONE(futures[1], 0, &next);
    hora_pool_stats stats = rig_stats(&r);
    CHECK_INT(stats.threads, 1);
    CHECK_INT(stats.written_off, 1);
    CHECK_INT(seen.stuck, 1);
    pass(&r, SEC(5)); /* is told again, and not replaced again */
    CHECK_INT(seen.stuck, 2);
    CHECK_INT(rig_stats(&r).written_off, 1);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(futures[0], 0, &stuck); /* what it has done counts */
    stats = rig_stats(&r);
    CHECK_INT(stats.threads, 1);
    CHECK_INT(stats.written_off, 0);
    CHECK_INT(stats.done, 2);
    for (int i = 0; i < 2; i++)
        (void)hora_future_unref(futures[i]);
    rig_close(&r);
}

/* The pool does not end before a worker that was written off. */
TEST(stuck_worker_that_is_replaced_is_waited_for, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job stuck = A_DEAF_JOB(&r);
    hora_future *future =
        submit_under(&r, &stuck, HORA_TASK_OPTIONS(.stuck_after = SEC(5), .replace_stuck = true));
    pass(&r, SEC(5));
    CHECK_INT(rig_stats(&r).written_off, 1);
    CHECK_OK(hora_pool_shutdown(r.pool));
    settle(&r.f);
    CHECK(!hora_pool_is_terminated(r.pool));
    CHECK_OK(hora_pool_shutdown_now(r.pool, NULL));
    settle(&r.f);
    CHECK_INT(stuck.interrupts, 1); /* as any other */
    CHECK(!hora_pool_is_terminated(r.pool));
    rig_open_gate(&r);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_DONE(future, 0, &stuck);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    rig_close(&r);
}

/* A detached task waits for one that is stuck, and so runs it itself: the worker ends with the outer one. */
struct outer {
    struct rig *rig;
    struct job *job;
    atomic_int ended;
};

static int wait_for_stuck(void *arg, void **ret_result)
{
    struct outer *outer = arg;
    (void)ret_result;
    hora_future *future =
        submit_under(outer->rig, outer->job, HORA_TASK_OPTIONS(.stuck_after = SEC(5), .replace_stuck = true));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    outer->ended = 1;
    return 0;
}

TEST(stuck_worker_that_is_replaced_in_a_nested_task, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job stuck = A_WAITING_JOB(&r);
    struct outer outer = {&r, &stuck, 0};
    CHECK_OK(hora_pool_execute(r.pool, HORA_TASK(wait_for_stuck, &outer)));
    pass(&r, SEC(5));
    CHECK_INT(rig_stats(&r).written_off, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(outer.ended, 1);
    CHECK_INT(rig_stats(&r).written_off, 0);
    CHECK_INT(rig_stats(&r).threads, 1);
    rig_close(&r);
}

TEST(stuck_worker_of_a_scheduler_is_replaced, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct job stuck = A_WAITING_JOB(&r);
    struct beat beat = A_BEAT(&r, 0);
    hora_future *futures[2];
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, JOB(&stuck),
        HORA_SCHEDULE(.initial_delay = SEC(1),
                      .options = HORA_TASK_OPTIONS(.stuck_after = SEC(5), .replace_stuck = true)),
        &futures[0], NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, BEAT(&beat), SEC(2), &futures[1]));
    pass_in_steps(&r, SEC(1), 7);
    CHECK_BEATS(&beat, SEC(6));
    CHECK_INT(rig_stats(&r).written_off, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_INT(rig_stats(&r).written_off, 0);
    for (int i = 0; i < 2; i++)
        (void)hora_future_unref(futures[i]);
    rig_close(&r);
}
