/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_series.c - repeating tasks: putting a series back, against all other events
 *
 * The jobs themselves assert that they are not early, do not overlap, and do not run once that is forbidden;
 * see jobs.h. */
#include "jobs.h"

static void schedule_series(int i, bool rate, hora_future **ret_future)
{
    *ret_future = rate ? jobs_rate(i, 0, 10) : jobs_gap(i, 0, 10);
}

/* A series that has ended because of a failure, or was cancelled. */
static void check_over(hora_future *future, int i)
{
    int outcome = hora_future_get(future, NULL);
    CHECK(outcome == HORA_ECANCELED || outcome == HORA_EFAILED);
    if (outcome == HORA_EFAILED) {
        CHECK_INT(hora_future_failure(future), JOB_CODE);
        CHECK_INT(jobs[i].runs, jobs[i].fails_at);
    }
    CHECK(jobs[i].runs <= jobs[i].fails_at);
    jobs_unref(future);
}

/* ---- shutting down ---- */

/* The series is cancelled by the shutdown, wherever it is: waiting, taken, running, on its way back. */
static void shutdown_meets_put_back(bool rate, hora_ns takes)
{
    hora_future *future;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].takes = takes;
    schedule_series(0, rate, &future);
    jobs_sleep_until(takes / 2);
    jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(jobs[0].runs <= 2 || !test_is_exact());
    check_over(future, 0);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

SCENARIO(series_shutdown_meets_put_back)
{
    shutdown_meets_put_back(true, 0);
}

SCENARIO(series_shutdown_meets_put_back_of_gap)
{
    shutdown_meets_put_back(false, 0);
}

SCENARIO(series_shutdown_meets_run)
{
    shutdown_meets_put_back(true, 8);
}

/* The series continues after the shutdown, until it fails. */
SCENARIO(series_goes_on_after_shutdown)
{
    hora_future *future;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    jobs[0].fails_at = 2;
    jobs[0].punctual = true;
    schedule_series(0, true, &future);
    jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_done(future));
    if (!hora_future_is_cancelled(future)) /* it may have come too late */
        CHECK_INT(jobs[0].runs, 2);
    check_over(future, 0);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

static void shut_down_and_end_periodic(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown(scheduler));
    CHECK_OK(hora_scheduler_set_continue_periodic(scheduler, false));
}

/* The rule is changed after the shutdown, while the series is on its way back. */
SCENARIO(series_rule_meets_put_back)
{
    hora_future *future;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    schedule_series(0, true, &future);
    shut_down_and_end_periodic(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(jobs[0].runs <= 2 || !test_is_exact());
    check_over(future, 0);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

/* And while a late call schedules one. */
SCENARIO(series_rule_meets_late_schedule)
{
    hora_future *future;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    test_thread *other = test_thread_start(NULL, shut_down_and_end_periodic, NULL);
    schedule_series(0, false, &future);
    test_thread_join(other);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK_INT(jobs[0].drops, future != NULL);
    if (future != NULL)
        check_over(future, 0);
    jobs_end();
}

/* Stopping: it has failed, was cancelled at its end, or is handed back. */
static void stop_meets_put_back(hora_ns takes)
{
    hora_future *future;
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].takes = takes;
    schedule_series(0, true, &future);
    jobs_sleep_until(takes / 2);
    jobs_stop(&list);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    CHECK(hora_future_is_done(future) ? list.count == 0 : list.count == 1);
    jobs[0].forbidden = 1;
    hora_future_list_cancel(&list);
    CHECK(hora_future_is_done(future));
    check_over(future, 0);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

SCENARIO(series_stop_meets_put_back)
{
    stop_meets_put_back(0);
}

SCENARIO(series_stop_meets_run)
{
    stop_meets_put_back(8);
}

static int shut_down_before(hora_pool *pool, const hora_run_info *run, void *arg)
{
    CHECK(run->submitted && run->future != NULL);
    if (*(int *)arg == 1)
        CHECK_OK(hora_pool_shutdown(pool));
    else
        CHECK_OK(hora_pool_shutdown_now(pool, NULL));
    return 0;
}

/* A worker has it already, and is about to run it: the state is looked at once more. */
static void ends_just_before_run(int how, bool series)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .before = shut_down_before, .arg = &how));
    jobs[0].forbidden = 1;
    hora_future *future = series ? jobs_rate(0, 0, 10) : jobs_once(0, 0);
    CHECK_ERROR(hora_future_get(future, NULL), HORA_ECANCELED);
    jobs_unref(future);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    jobs_check(0, 0);
    jobs_end();
}

SCENARIO(series_shutdown_comes_just_before_the_run)
{
    ends_just_before_run(1, true);
}

SCENARIO(series_stop_comes_just_before_the_run)
{
    ends_just_before_run(2, false);
}

/* ---- cancelling ---- */

static void cancel_meets_put_back(bool keeps, bool interrupt, hora_ns takes)
{
    struct jobs_target target = {.interrupt = interrupt};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .keep_cancelled = keeps));
    jobs[0].takes = takes;
    schedule_series(0, true, &target.future);
    jobs_sleep_until(takes / 2);
    jobs_cancel(&target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER)); /* it is gone, from wherever it was */
    CHECK_INT(hora_queue_size(hora_pool_queue(scheduler)), 0);
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    CHECK_OK(hora_future_get_schedule_info(target.future, &info));
    CHECK(info.runs == jobs[0].runs &&
          info.running == 0); /* a run that the cancel kept from its body does not count */
    CHECK((info.last_planned == HORA_NEVER) == (info.runs == 0) &&
          (info.last_start == HORA_NEVER) == (info.runs == 0));
    check_over(target.future, 0);
    jobs_check(0, jobs[0].runs);
    if (target.answer == HORA_CANCEL_INTERRUPTED && takes > 0 && test_is_exact())
        CHECK_INT(jobs[0].interrupted, 1);
    jobs_end();
}

SCENARIO(series_cancel_meets_put_back)
{
    cancel_meets_put_back(false, false, 0);
}

SCENARIO(series_cancel_meets_put_back_kept)
{
    cancel_meets_put_back(true, false, 0);
}

SCENARIO(series_cancel_meets_run)
{
    cancel_meets_put_back(false, true, 8);
}

struct own_handle {
    hora_latch *known;
    hora_future *future;
};

static int cancel_itself(void *arg, void **ret_result)
{
    struct own_handle *own = arg;
    (void)ret_result;
    CHECK_OK(hora_latch_await(own->known)); /* its time may come before it is */
    CHECK_INT(hora_future_cancel(own->future, false), HORA_CANCEL_RUNNING);
    jobs[0].runs++;
    return 0;
}

/* A run cancels its own series. */
SCENARIO(series_cancels_itself)
{
    struct own_handle own;
    CHECK_OK(hora_latch_new(1, NULL, &own.known, NULL));
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(
        hora_scheduler_schedule_at_fixed_rate(scheduler, HORA_TASK(cancel_itself, &own), 5, 5, &own.future));
    CHECK_OK(hora_latch_count_down(own.known));
    CHECK_ERROR(hora_future_get(own.future, NULL), HORA_ECANCELED);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_INT(jobs[0].runs, 1);
    jobs_unref(own.future);
    jobs_end();
    CHECK_OK(hora_latch_free(own.known));
}

/* ---- two workers ---- */

/* While one worker puts the series back, the other takes it: they never run it at the same time, and the runs
 * are in order. */
SCENARIO(series_changes_workers)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs[0].fails_at = 3;
    jobs[0].takes = 5;
    hora_future *future = jobs_rate(0, 0, 1); /* it is always late */
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EFAILED);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(future);
    jobs_check(0, 3);
    if (test_is_exact())
        CHECK_INT(jobs_now(), 15);
    jobs_end();
}

/* ---- how it ends ---- */

/* A failure ends the series. Each listener is notified once: before the future is done, unless the future was
 * cancelled. */
static int told;
static bool told_end;

static void note_failure(hora_scheduler *from, const hora_event *event, void *arg)
{
    CHECK_POINTER(from, scheduler);
    CHECK_POINTER(arg, &told);
    CHECK_INT(event->code, JOB_CODE);
    CHECK_INT(event->failures_in_a_row, 1);
    CHECK(!hora_future_is_done(event->future) || hora_future_is_cancelled(event->future));
    told++;
    told_end = event->ends;
}

SCENARIO(series_failure_meets_cancel)
{
    told = 0;
    struct jobs_target target = {.interrupt = false};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                      .listener = HORA_LISTENER(.failed = note_failure, .arg = &told)));
    jobs[0].fails_at = 1;
    schedule_series(0, true, &target.future);
    jobs_cancel(&target);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_INT(told, jobs[0].runs);
    CHECK(told == 0 || told_end);
    check_over(target.future, 0);
    jobs_check(0, jobs[0].runs);
    jobs_end();
}

/* The series fails and continues, with pauses, until it has failed too often. */
SCENARIO(series_backs_off)
{
    hora_future *future;
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    told = 0;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1,
                                      .listener = HORA_LISTENER(.failed = note_failure, .arg = &told)));
    jobs[0].fails_at = 1;
    CHECK_OK(hora_scheduler_schedule_with(
        scheduler, JOB(0),
        HORA_SCHEDULE(.fixed_rate = 10, .count = 2, .failure = HORA_FAILURE_BACK_OFF, .back_off = 25),
        &future, NULL));
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_OK(hora_future_get_schedule_info(future, &info));
    CHECK_INT(info.runs, 2);
    CHECK_INT(info.failures, 1);
    CHECK_INT(info.running, 0);
    CHECK(jobs[0].starts[1] >= 25);
    if (test_is_exact())
        CHECK_INT(jobs[0].starts[1], 30);
    CHECK_INT(told, 1);
    CHECK(!told_end);
    jobs_unref(future);
    jobs_end();
    jobs_check(0, 2);
}

/* A count is reached: the future has the result of the last run. */
SCENARIO(series_count_meets_cancel)
{
    struct jobs_target target = {.interrupt = false};
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    CHECK_OK(hora_scheduler_schedule_with(scheduler, JOB(0), HORA_SCHEDULE(.fixed_rate = 10, .count = 2),
                                          &target.future, NULL));
    jobs_sleep_until(10);
    jobs_cancel(&target);
    void *result = NULL;
    int outcome = hora_future_get(target.future, &result);
    CHECK_ERROR(outcome, target.answer == HORA_CANCEL_TOO_LATE ? 0 : HORA_ECANCELED);
    CHECK(outcome != 0 || (result == &jobs[0] && jobs[0].runs == 2));
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_unref(target.future);
    jobs_check(0, jobs[0].runs);
    CHECK(jobs[0].runs <= 2);
    jobs_end();
}

/* A run ends its thread: the series is abandoned, and its worker replaced. */
SCENARIO(series_run_ends_its_thread)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    jobs[0].exits_at = 2;
    hora_future *future = jobs_rate(0, 0, 10);
    hora_future *other = jobs_once(1, 15);
    CHECK_ERROR(hora_future_get(future, NULL), HORA_EABANDONED);
    CHECK_OK(hora_future_get(other, NULL));
    CHECK_OK(hora_future_get_schedule_info(future, &info));
    CHECK_INT(info.running, 0);
    CHECK_INT(info.last_code, HORA_EABANDONED);
    jobs_unref(future);
    jobs_unref(other);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    jobs_check(0, 2);
    jobs_check(1, 1);
    jobs_end();
}

SCENARIO(series_run_ends_its_thread_at_shutdown)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .continue_periodic = true));
    jobs[0].exits_at = 1;
    jobs_unref(jobs_rate(0, 0, 10));
    jobs_unref(jobs_once(1, 15));
    jobs_shut_down(NULL);
    CHECK_OK(hora_pool_await_termination_for(scheduler, HORA_FOREVER));
    jobs_check(0, 1);
    jobs_check(1, 1);
    jobs_end();
}

/* ---- with others ---- */

static int wait_inside(void *arg, void **ret_result)
{
    *ret_result = arg;
    hora_future *inner = jobs_once(1, 10);
    int error = inner != NULL ? hora_future_get(inner, NULL) : 0;
    jobs_unref(inner);
    return error;
}

/* A worker waits for a task of its own scheduler that is not due yet, and runs it itself when it is due, if
 * no other worker does. */
static void wait_inside_a_worker(int core)
{
    hora_future *outer;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = core));
    jobs[1].punctual = true;
    CHECK_OK(hora_pool_submit(scheduler, HORA_TASK(wait_inside, NULL), &outer));
    CHECK_OK(hora_future_get(outer, NULL));
    jobs_unref(outer);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    jobs_check(1, 1);
    jobs_end();
}

SCENARIO(series_wait_inside_the_only_worker)
{
    wait_inside_a_worker(1);
}

SCENARIO(series_wait_inside_one_of_two_workers)
{
    wait_inside_a_worker(2);
}

/* A group of a series and a task: it is empty when both are over. */
SCENARIO(series_in_a_group)
{
    hora_group *group;
    hora_future *future;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_executor executor = hora_pool_executor(scheduler);
    CHECK_OK(hora_group_new(NULL, &group, NULL));
    schedule_series(0, true, &future);
    CHECK_OK(hora_group_add(group, future));
    CHECK_OK(hora_group_submit(group, &executor, JOB(1), NULL));
    CHECK(hora_group_cancel(group, false) >= 0);
    CHECK_OK(hora_group_await(group));
    CHECK_INT(hora_group_pending(group), 0);
    check_over(future, 0);
    CHECK_OK(hora_pool_await_idle_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_group_free(group));
    jobs_check(0, jobs[0].runs);
    jobs_check(1, jobs[1].runs);
    jobs_end();
}

/* A completion service on a scheduler. */
SCENARIO(series_beside_a_completion_service)
{
    hora_completion_service *service;
    hora_future *taken;
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 1));
    hora_executor executor = hora_pool_executor(scheduler);
    CHECK_OK(hora_completion_service_new(&executor, NULL, &service));
    jobs_unref(jobs_rate(0, 0, 10));
    CHECK_OK(hora_completion_service_submit(service, JOB(1), NULL));
    CHECK_OK(hora_completion_service_take(service, &taken));
    CHECK_OK(hora_future_get(taken, NULL));
    jobs_unref(taken);
    CHECK_OK(hora_pool_close_for(scheduler, HORA_FOREVER));
    CHECK_OK(hora_completion_service_free(service));
    jobs_check(0, jobs[0].runs);
    jobs_check(1, 1);
    jobs_end();
}

/* Freed while two series run. */
MEDIUM_SCENARIO(series_run_while_freed)
{
    jobs_begin(HORA_SCHEDULER_OPTIONS(.core_threads = 2));
    jobs_unref(jobs_rate(0, 0, 5));
    jobs_unref(jobs_gap(1, 3, 5));
    jobs_sleep_until(5);
    jobs_end();
    jobs_check(0, jobs[0].runs);
    jobs_check(1, jobs[1].runs);
}
