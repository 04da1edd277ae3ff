/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c - start by, done by and run for: see hora_task_options
 *
 * In virtual time each limit is exact: nothing happens one nanosecond before it, and it takes effect at its
 * moment. */
#include "limits_support.h"

/* ---- start by ---- */

TEST(limits_start_within_expires_in_the_queue, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future = submit_under(&r, &second, HORA_TASK_OPTIONS(.start_within = SEC(5)));
    pass(&r, SEC(5) - 1);
    CHECK_NOT_DONE(future);
    CHECK_INT(rig_stats(&r).queued, 1);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_JOB(&second, 0);
    hora_pool_stats stats = rig_stats(&r);
    CHECK_INT(stats.queued, 0);
    CHECK_INT(stats.expired, 1);
    CHECK_INT(seen.expired, 1);
    CHECK_POINTER(seen.future, future);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_start_within_lets_begin_in_time, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future = submit_under(&r, &second, HORA_TASK_OPTIONS(.start_within = SEC(5)));
    pass(&r, SEC(5) - 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(future, 0, &second);
    pass(&r, SEC(10));
    CHECK_INT(seen.expired, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* A run that has begun in time may take as long as it likes. */
TEST(limits_start_within_is_over_when_it_has_begun, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = submit_under(&r, &job, HORA_TASK_OPTIONS(.start_within = SEC(5)));
    pass(&r, SEC(60));
    CHECK_NOT_DONE(future);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(future, 0, &job);
    CHECK_INT(job.interrupts, 0);
    CHECK_INT(seen.expired, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_end_with_a_cancel, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future =
        submit_under(&r, &second, HORA_TASK_OPTIONS(.start_within = SEC(5), .finish_within = SEC(6)));
    settle(&r.f);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    pass(&r, SEC(10));
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_INT(seen.expired, 0);
    CHECK_INT(rig_stats(&r).expired, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* No caller has a handle: the task expires nevertheless, and is dropped. */
TEST(limits_hold_without_a_handle, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    CHECK_OK(
        hora_pool_submit_with(r.pool, JOB(&second), HORA_TASK_OPTIONS(.start_within = SEC(5)), NULL, NULL));
    pass(&r, SEC(5));
    CHECK_JOB(&second, 0);
    CHECK_INT(rig_stats(&r).expired, 1);
    CHECK_INT(seen.expired, 1);
    rig_close(&r);
}

/* ---- done by ---- */

TEST(limits_finish_within_expires_in_the_queue, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future = submit_under(&r, &second, HORA_TASK_OPTIONS(.finish_within = SEC(5)));
    pass(&r, SEC(5) - 1);
    CHECK_NOT_DONE(future);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_JOB(&second, 0);
    CHECK_INT(rig_stats(&r).queued, 0);
    CHECK_INT(seen.expired, 1);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_finish_within_interrupts_a_run_and_drops_its_outcome, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job job = A_WAITING_JOB(&r);
    struct job next = A_JOB(&r);
    hora_future *future = submit_under(&r, &job, HORA_TASK_OPTIONS(.finish_within = SEC(5)));
    execute_job(&r, &next);
    pass(&r, SEC(5) - 1);
    CHECK_NOT_DONE(future);
    CHECK_INT(job.interrupts, 0);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_INT(job.interrupts, 1);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    CHECK_JOB(&next, 1);
    CHECK_INT(next.interrupts, 0);
    hora_pool_stats stats = rig_stats(&r);
    CHECK_INT(stats.expired, 1);
    CHECK_INT(stats.done, 1);
    CHECK_INT(seen.expired, 1);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_finish_within_is_kept, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = submit_under(&r, &job, HORA_TASK_OPTIONS(.finish_within = SEC(5)));
    pass(&r, SEC(5) - 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(future, 0, &job);
    pass(&r, SEC(10));
    CHECK_INT(seen.expired, 0);
    CHECK_INT(job.interrupts, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* ---- run for ---- */

TEST(limits_run_limit_interrupts_that_run_alone, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job job = A_WAITING_JOB(&r);
    struct job next = A_WAITING_JOB(&r);
    hora_future *futures[3] = {submit_job(&r, &first)};
    pass(&r, SEC(7)); /* it counts from the beginning of the run */
    futures[1] = submit_under(&r, &job, HORA_TASK_OPTIONS(.run_limit = SEC(5)));
    futures[2] = submit_job(&r, &next);
    pass(&r, SEC(7));
    CHECK_INT(hora_future_cancel(futures[0], true), HORA_CANCEL_INTERRUPTED);
    pass(&r, SEC(5) - 1);
    CHECK_INT(job.interrupts, 0);
    pass(&r, 1);
    CHECK_INT(job.interrupts, 1);
    CHECK_DONE(futures[1], 0, &job); /* what it makes of the interrupt is its own affair */
    pass(&r, SEC(60));
    CHECK_INT(next.interrupts, 0);
    CHECK_NOT_DONE(futures[2]);
    CHECK_INT(seen.expired, 0);
    rig_open_gate(&r);
    for (int i = 0; i < 3; i++)
        (void)hora_future_unref(futures[i]);
    rig_close(&r);
}

TEST(limits_run_limit_is_kept, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = submit_under(&r, &job, HORA_TASK_OPTIONS(.run_limit = SEC(5)));
    pass(&r, SEC(5) - 1);
    rig_open_gate(&r);
    pass(&r, SEC(10));
    CHECK_DONE(future, 0, &job);
    CHECK_INT(job.interrupts, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* ---- on a scheduler ---- */

TEST(limits_start_within_counts_from_the_planned_time, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    hora_future *future;
    execute_job(&r, &first);
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, JOB(&second),
        HORA_SCHEDULE(.initial_delay = SEC(10), .options = HORA_TASK_OPTIONS(.start_within = SEC(5))),
        &future, NULL));
    pass(&r, SEC(15) - 1);
    CHECK_NOT_DONE(future);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_JOB(&second, 0);
    CHECK_INT(seen.expired, 1);
    CHECK_INT(rig_stats(&r).expired, 1);
    CHECK_INT(rig_stats(&r).queued, 0);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_follow_a_task_that_is_retimed, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    hora_future *future;
    execute_job(&r, &first);
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, JOB(&second),
        HORA_SCHEDULE(.initial_delay = SEC(10), .options = HORA_TASK_OPTIONS(.start_within = SEC(5))),
        &future, NULL));
    CHECK_OK(hora_future_reschedule(future, SEC(20), 0));
    pass(&r, SEC(25) - 1);
    CHECK_NOT_DONE(future);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_INT(seen.expired, 1);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_follow_a_task_that_is_retimed_to_an_earlier_time, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    hora_future *future;
    execute_job(&r, &first);
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, JOB(&second),
        HORA_SCHEDULE(.initial_delay = SEC(100), .options = HORA_TASK_OPTIONS(.start_within = SEC(5))),
        &future, NULL));
    CHECK_OK(hora_future_reschedule(future, SEC(10), 0));
    pass(&r, SEC(15) - 1);
    CHECK_NOT_DONE(future);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_INT(seen.expired, 1);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* The watchdog looks while the task is planned for no time. */
TEST(limits_follow_a_task_that_is_retimed_from_never, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    hora_future *future;
    execute_job(&r, &first);
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, JOB(&second),
        HORA_SCHEDULE(.initial_delay = SEC(10), .options = HORA_TASK_OPTIONS(.start_within = SEC(5))),
        &future, NULL));
    CHECK_OK(hora_future_reschedule(future, HORA_FOREVER, 0));
    pass(&r, SEC(20));
    CHECK_NOT_DONE(future);
    CHECK_OK(hora_future_reschedule(future, SEC(10), 0));
    pass(&r, SEC(15) - 1);
    CHECK_NOT_DONE(future);
    pass(&r, 1);
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    CHECK_INT(seen.expired, 1);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* It neither expires before its new time, nor later than it should. */
TEST(limits_finish_within_follows_a_task_that_is_retimed, "")
{
    const struct {
        hora_ns planned;
        hora_ns retimed;
    } cases[] = {{SEC(10), SEC(20)}, {SEC(100), SEC(20)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig r;
        struct seen seen = {0};
        limits_open_scheduler(&r, &seen, 1);
        struct job first = A_WAITING_JOB(&r);
        struct job second = A_JOB(&r);
        hora_future *future;
        execute_job(&r, &first);
        CHECK_OK(
            hora_scheduler_schedule_with(r.pool, JOB(&second),
                                         HORA_SCHEDULE(.initial_delay = cases[i].planned,
                                                       .options = HORA_TASK_OPTIONS(.finish_within = SEC(5))),
                                         &future, NULL));
        CHECK_OK(hora_future_reschedule(future, cases[i].retimed, 0));
        pass(&r, cases[i].retimed + SEC(5) - 1);
        CHECK_NOT_DONE(future);
        pass(&r, 1);
        CHECK_DONE(future, HORA_EEXPIRED, NULL);
        CHECK_INT(seen.expired, 1);
        (void)hora_future_unref(future);
        rig_close(&r);
    }
}

/* Planned at 0 2 4 6 8 10; the thread is busy from 1 to 7. The runs of 2 and 4 are too late then; that of 6
 * is not. */
TEST(limits_start_within_drops_single_runs_of_a_series, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct beat beat = A_BEAT(&r, 0);
    struct beat other = A_BEAT(&r, SEC(6));
    hora_future *future;
    hora_future *once;
    CHECK_OK(hora_scheduler_schedule_with(r.pool, BEAT(&beat),
                                          HORA_SCHEDULE(.fixed_rate = SEC(2), .missed = HORA_MISSED_BURST,
                                                        .options = HORA_TASK_OPTIONS(.start_within = SEC(2))),
                                          &future, NULL));
    CHECK_OK(hora_scheduler_schedule(r.pool, BEAT(&other), SEC(1), &once));
    pass_in_steps(&r, SEC(1), 11);
    CHECK_BEATS(&beat, 0, SEC(7), SEC(8), SEC(10));
    CHECK_NOT_DONE(future);
    CHECK_INT(seen.expired, 1); /* both at once */
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(future, &info));
    CHECK_INT(info.skipped, 0);
    CHECK_INT(rig_stats(&r).expired, 0); /* none of this pool's tasks ended */
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    (void)hora_future_unref(future);
    (void)hora_future_unref(once);
    rig_close(&r);
}

TEST(limits_run_limit_holds_for_each_run_of_a_series, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct beat beat = A_BEAT(&r, SEC(3));
    hora_future *future;
    CHECK_OK(hora_scheduler_schedule_with(
        r.pool, BEAT(&beat),
        HORA_SCHEDULE(.fixed_rate = SEC(5), .options = HORA_TASK_OPTIONS(.run_limit = SEC(1))), &future,
        NULL));
    pass_in_steps(&r, SEC(1), 12);
    CHECK_BEATS(&beat, 0, SEC(5), SEC(10));
    CHECK_INT(beat.interrupts, 3);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_REMOVED);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_finish_within_is_not_for_a_series, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open_scheduler(&r, &seen, 1);
    struct beat beat = A_BEAT(&r, 0);
    hora_future *future;
    hora_error reason;
    hora_schedule spec = HORA_INIT(hora_schedule);
    hora_task_options terms = HORA_INIT(hora_task_options);
    terms.finish_within = SEC(1);
    spec.fixed_rate = SEC(1);
    spec.options = &terms;
    CHECK_ERROR(hora_scheduler_schedule_with(r.pool, BEAT(&beat), &spec, &future, NULL), HORA_EINVAL);
    CHECK_ERROR(hora_schedule_check(&spec, &reason), HORA_EINVAL);
    CHECK_REFUSAL(&reason, HORA_EINVAL, "finish_within", "finish_within");
    CHECK_INT(beat.drops, 0);
    rig_close(&r);
}

/* ---- with others ---- */

static int get_nested(void *arg, void **ret_result)
{
    struct rig *r = arg;
    (void)ret_result;
    struct job job = A_WAITING_JOB(r);
    hora_future *future = submit_under(r, &job, HORA_TASK_OPTIONS(.run_limit = SEC(2)));
    void *result;
    CHECK_OK(hora_future_get(future, &result));
    CHECK_INT(job.interrupts, 1);
    CHECK(!hora_interrupted()); /* that was for the other one */
    (void)hora_future_unref(future);
    return 0;
}

/* The only worker waits for a task, and so runs it itself: its interrupt does not reach the waiting task. */
TEST(limits_of_a_nested_task_do_not_reach_the_outer, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    hora_future *future;
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(get_nested, &r), &future));
    pass(&r, SEC(10));
    CHECK_DONE(future, 0, NULL);
    (void)hora_future_unref(future);
    rig_close(&r);
}

static int get_nested_finish_within(void *arg, void **ret_result)
{
    struct rig *r = arg;
    (void)ret_result;
    struct job job = A_WAITING_JOB(r);
    hora_future *future = submit_under(r, &job, HORA_TASK_OPTIONS(.finish_within = SEC(2)));
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EEXPIRED);
    CHECK_INT(job.interrupts, 1);
    CHECK(!hora_interrupted());
    (void)hora_future_unref(future);
    return 0;
}

TEST(limits_finish_within_of_a_nested_task_does_not_reach_the_outer, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    hora_future *future;
    CHECK_OK(hora_pool_submit(r.pool, HORA_TASK(get_nested_finish_within, &r), &future));
    pass(&r, SEC(10));
    CHECK_DONE(future, 0, NULL);
    (void)hora_future_unref(future);
    rig_close(&r);
}

/* A future that was handed back belongs to the program. Its limit holds as long as the pool exists, and ends
 * with it. */
TEST(limits_end_with_the_pool, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future =
        submit_under(&r, &second, HORA_TASK_OPTIONS(.start_within = SEC(5), .finish_within = SEC(6)));
    settle(&r.f);
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    CHECK_OK(hora_pool_shutdown_now(r.pool, &list));
    CHECK_INT(list.count, 1);
    CHECK_OK(hora_pool_await_termination_for(r.pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    pass(&r, SEC(10));
    CHECK_NOT_DONE(future);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, &second);
    hora_future_list_cancel(&list);
    (void)hora_future_unref(future);
    CHECK_INT(seen.expired, 0);
    rig_close(&r);
}

/* A pool that is shut down enforces limits until all tasks have ended. */
TEST(limits_hold_after_shutdown, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    hora_future *future = submit_under(&r, &second, HORA_TASK_OPTIONS(.start_within = SEC(5)));
    settle(&r.f);
    CHECK_OK(hora_pool_shutdown(r.pool));
    pass(&r, SEC(5));
    CHECK_DONE(future, HORA_EEXPIRED, NULL);
    (void)hora_future_unref(future);
    rig_close(&r);
}

TEST(limits_of_a_task_that_is_refused_do_not_count, "")
{
    struct rig r;
    struct seen seen = {0};
    limits_open(&r, &seen, 1);
    struct job job = A_JOB(&r);
    hora_future *future = NULL;
    CHECK_OK(hora_pool_shutdown(r.pool));
    CHECK_ERROR(
        hora_pool_submit_with(r.pool, JOB(&job), HORA_TASK_OPTIONS(.start_within = SEC(5)), &future, NULL),
        HORA_EREJECTED);
    pass(&r, SEC(10));
    CHECK_INT(job.drops, 0);
    CHECK_INT(seen.expired, 0);
    rig_close(&r);
}

static void free_pool(hora_pool *pool, const hora_event *event, void *context)
{
    (void)event;
    struct seen *seen = context;
    CHECK_ERROR(hora_pool_free(pool), HORA_EDEADLK);
    atomic_fetch_add(&seen->expired, 1);
}

/* A listener is called by the watch: it may call anything, but not wait for its own end. */
TEST(limits_a_listener_cannot_free_the_pool, "")
{
    struct rig r;
    struct seen seen = {0};
    rig_open(
        &r, false,
        HORA_POOL_OPTIONS(.core_threads = 1, .listener = HORA_LISTENER(.expired = free_pool, .arg = &seen)));
    struct job first = A_WAITING_JOB(&r);
    struct job second = A_JOB(&r);
    execute_job(&r, &first);
    CHECK_OK(
        hora_pool_submit_with(r.pool, JOB(&second), HORA_TASK_OPTIONS(.start_within = SEC(5)), NULL, NULL));
    pass(&r, SEC(5));
    CHECK_INT(seen.expired, 1);
    rig_close(&r);
}

/* ---- on a pool with admission ---- */

/* Of three with one key the second expires: the third does not wait for it. */
TEST(limits_of_a_task_with_a_key, "")
{
    struct rig r;
    struct seen seen = {0};
    hora_listener listener = limits_listener(&r, &seen);
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION(), .listener = &listener));
    struct job jobs[3] = {A_WAITING_JOB(&r), A_JOB(&r), A_JOB(&r)};
    hora_future *futures[3];
    futures[0] = submit_under(&r, &jobs[0], HORA_TASK_OPTIONS(.key = 7));
    futures[1] = submit_under(&r, &jobs[1], HORA_TASK_OPTIONS(.key = 7, .start_within = SEC(5)));
    futures[2] = submit_under(&r, &jobs[2], HORA_TASK_OPTIONS(.key = 7));
    pass(&r, SEC(5) - 1);
    CHECK_NOT_DONE(futures[1]);
    pass(&r, 1);
    CHECK_DONE(futures[1], HORA_EEXPIRED, NULL);
    CHECK_INT(rig_stats(&r).queued, 1);
    CHECK_INT(seen.expired, 1);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(futures[2], 0, &jobs[2]);
    for (int i = 0; i < 3; i++)
        (void)hora_future_unref(futures[i]);
    rig_close(&r);
}

/* A class at its limit: a task that finish_within interrupts gives its place back when it has really
 * ended. */
TEST(limits_of_a_task_with_a_class, "")
{
    struct rig r;
    struct seen seen = {0};
    hora_listener listener = limits_listener(&r, &seen);
    rig_open(&r, false,
             HORA_POOL_OPTIONS(.core_threads = 2, .admission = HORA_ADMISSION(), .listener = &listener));
    hora_class *slow;
    CHECK_OK(hora_class_new(r.pool, HORA_CLASS_OPTIONS(.name = "slow", .limit = 1), &slow, NULL));
    struct job jobs[2] = {A_DEAF_JOB(&r), A_JOB(&r)};
    hora_future *futures[2];
    futures[0] = submit_under(&r, &jobs[0],
                              HORA_TASK_OPTIONS(.task_class = slow, .finish_within = SEC(5),
                                                .stuck_after = SEC(6), .replace_stuck = true));
    futures[1] = submit_under(&r, &jobs[1], HORA_TASK_OPTIONS(.task_class = slow));
    pass(&r, SEC(5));
    CHECK_DONE(futures[0], HORA_EEXPIRED, NULL);
    pass(&r, SEC(5));
    CHECK_INT(rig_stats(&r).written_off, 1);
    CHECK_NOT_DONE(futures[1]);
    rig_open_gate(&r);
    settle(&r.f);
    CHECK_DONE(futures[1], 0, &jobs[1]);
    CHECK_INT(rig_stats(&r).written_off, 0);
    for (int i = 0; i < 2; i++)
        (void)hora_future_unref(futures[i]);
    rig_close(&r);
}
