/* SPDX-License-Identifier: Apache-2.0 */
/* test_future.c - a future that is run by hand: run, complete, fail, cancel, wait */
#include "pool_support.h"

/* A future that only the test runs, on a virtual clock. */
static hora_future *open_future(struct rig *r, struct job *job)
{
    rig_open_occupied(r);
    return loose_future(r, job);
}

static void close_future(struct rig *r, hora_future *future)
{
    hora_future_unref(future);
    rig_close(r);
}

TEST(future_needs_a_task, "FutureTaskTest.testConstructor FutureTaskTest.testConstructor2")
{
    hora_future *future = (hora_future *)untouched;
    hora_future_storage storage;
    struct job job = A_JOB(NULL);

    CHECK_ERROR(hora_future_new(NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_new(HORA_TASK(NULL, &job, .drop = job_drop), &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_new(JOB(&job), NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_init(&storage, NULL, &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_init(&storage, HORA_TASK(NULL, &job, .drop = job_drop), &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_init(NULL, JOB(&job), &future), HORA_EINVAL);
    CHECK_ERROR(hora_future_init(&storage, JOB(&job), NULL), HORA_EINVAL);
    CHECK_ERROR(hora_future_new_promise(NULL, NULL), HORA_EINVAL);
    CHECK_POINTER(future, untouched);
    CHECK_INT(job.drops, 0);
}

TEST(future_is_done_after_its_run, "FutureTaskTest.testIsDone CP-FT1 CP-FT8")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    CHECK_NOT_DONE(future);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_SUCCEEDED);
    CHECK_DONE(future, 0, &job);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.dones, 1);
    close_future(&r, future);
    CHECK_INT(job.result_drops, 1);
}

TEST(future_can_be_run_and_reset_many_times, "FutureTaskTest.testRunAndReset CP-FT8 CP-FT9")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_INT(hora_future_run_and_reset(future), 1);
        CHECK_NOT_DONE(future);
        CHECK_INT(job.runs, i + 1);
        CHECK_INT(job.result_drops, i + 1);
    }
    CHECK_INT(job.dones, 0);
    CHECK_INT(job.drops, 0);
    close_future(&r, future);
    CHECK_JOB(&job, 3);
}

TEST(future_cancelled_before_does_not_run_and_reset, "FutureTaskTest.testRunAndResetAfterCancel")
{
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future = open_future(&r, &job);

        CHECK_INT(hora_future_cancel(future, interrupt), HORA_CANCEL_REMOVED);
        for (int i = 0; i < 3; i++)
            CHECK_INT(hora_future_run_and_reset(future), 0);
        CHECK_DONE(future, HORA_ECANCELED, NULL);
        CHECK_JOB(&job, 0);
        close_future(&r, future);
    }
}

TEST(future_run_and_reset_ends_with_a_failure, "CP-FT9")
{
    struct rig r;
    struct job job = {.rig = &r, .code = 5};
    hora_future *future = open_future(&r, &job);

    CHECK_INT(hora_future_run_and_reset(future), 0);
    CHECK_INT(hora_future_failure(future), 5);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    close_future(&r, future);
}

TEST(future_completed_by_hand_keeps_its_result, "FutureTaskTest.testSet")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    CHECK_INT(hora_future_complete(future, &job), 1);
    CHECK_DONE(future, 0, &job);
    CHECK_JOB(&job, 0);
    CHECK_INT(job.dones, 1);
    close_future(&r, future);
    CHECK_INT(job.result_drops, 1);
}

TEST(future_failed_by_hand_keeps_its_failure, "FutureTaskTest.testSetException_get CP-FT10")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_ERROR(hora_future_fail(future, 0), HORA_EINVAL);
    CHECK_NOT_DONE(future);
    CHECK_INT(hora_future_fail(future, -12345), 1);
    CHECK_INT(hora_future_failure(future), -12345);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_FAILED);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_JOB(&job, 0);
    close_future(&r, future);
}

/* No thread is interrupted, neither the cancelling one nor any other. */
TEST(future_cancelled_before_its_run_never_runs,
     "FutureTaskTest.testCancelBeforeRun FutureTaskTest.testCancelBeforeRun2 CP-FT4")
{
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future = open_future(&r, &job);

        CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
        CHECK_INT(hora_future_cancel(future, interrupt), HORA_CANCEL_REMOVED);
        CHECK_INT(hora_future_get_state(future), interrupt ? HORA_FUTURE_CANCELLED : HORA_FUTURE_CANCELLED);
        CHECK_INT(hora_future_run(future), 0);
        CHECK_DONE(future, HORA_ECANCELED, NULL);
        CHECK_JOB(&job, 0);
        CHECK_INT(job.dones, 1);
        CHECK(!hora_interrupted());
        close_future(&r, future);
    }
}

TEST(future_cannot_be_cancelled_after_its_run,
     "FutureTaskTest.testCancelAfterRun FutureTaskTest.testCancelAfterRun2 CP-FT4")
{
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        struct rig r;
        struct job job = A_JOB(&r);
        hora_future *future = open_future(&r, &job);

        CHECK_INT(hora_future_run(future), 1);
        CHECK_INT(hora_future_cancel(future, interrupt), HORA_CANCEL_TOO_LATE);
        CHECK(!hora_interrupted());
        CHECK_DONE(future, 0, &job);
        CHECK_JOB(&job, 1);
        close_future(&r, future);
    }
}

static int call_run(struct call *call)
{
    return hora_future_run(call->object);
}

static int call_run_and_reset(struct call *call)
{
    return hora_future_run_and_reset(call->object);
}

/* A thread that runs the future; its job waits at the gate. */
static void start_run(struct call *call, struct rig *r, hora_future *future)
{
    *call = (struct call){.run = call_run, .object = future};
    start_call(call, &r->f);
    CHECK_BLOCKED(call);
}

TEST(future_cancel_interrupts_the_running_task, "FutureTaskTest.testCancelInterrupt CP-FT4 CP-FT7")
{
    struct rig r;
    struct call runner;
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    start_run(&runner, &r, future);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_INTERRUPTED);
    CHECK(hora_future_is_cancelled(future));
    CHECK_INT(job.dones, 1);
    CHECK_RETURNS(&runner, 1);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.interrupts, 1);
    CHECK_INT(job.result_drops, 1);
    close_future(&r, future);
}

/* A task that ignores its interrupt stands for one to which it cannot be delivered: it is cancelled
 * nevertheless. */
TEST(future_is_cancelled_even_if_the_task_is_deaf,
     "FutureTaskTest.testCancelInterrupt_ThrowsSecurityException CP-FT7")
{
    struct rig r;
    struct call runner;
    struct job job = A_DEAF_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_OK(hora_future_on_done(future, job_done, &job, NULL));
    start_run(&runner, &r, future);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_INTERRUPTED);
    CHECK_BLOCKED(&runner);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_INT(job.dones, 1);
    CHECK_INT(job.drops, 0);
    rig_open_gate(&r);
    CHECK_RETURNS(&runner, 1);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.dones, 1);
    close_future(&r, future);
}

TEST(future_stays_cancelled_if_the_task_then_fails, "FutureTaskTest.testCancelInterrupt_taskFails")
{
    struct rig r;
    struct call runner;
    struct job job = {.rig = &r, .waits = true, .code = 9};
    hora_future *future = open_future(&r, &job);

    start_run(&runner, &r, future);
    CHECK_INT(hora_future_cancel(future, true), HORA_CANCEL_INTERRUPTED);
    CHECK_RETURNS(&runner, 1);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_INT(hora_future_failure(future), 0);
    CHECK_JOB(&job, 1);
    close_future(&r, future);
}

TEST(future_cancel_without_interrupt_leaves_the_task_alone, "FutureTaskTest.testCancelNoInterrupt CP-FT7")
{
    struct rig r;
    struct call runner;
    struct job job = A_WAITING_JOB(&r);
    hora_future *future = open_future(&r, &job);

    start_run(&runner, &r, future);
    CHECK_INT(hora_future_cancel(future, false), HORA_CANCEL_RUNNING);
    CHECK(hora_future_is_cancelled(future));
    CHECK_BLOCKED(&runner);
    CHECK_INT(job.drops, 0);
    rig_open_gate(&r);
    CHECK_RETURNS(&runner, 1);
    CHECK_INT(job.interrupts, 0);
    CHECK_INT(job.result_drops, 1);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_JOB(&job, 1);
    close_future(&r, future);
}

TEST(future_getters_receive_the_result_of_the_run, "FutureTaskTest.testGetRun CP-FT10")
{
    struct rig r;
    struct call calls[2];
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    start_get(&calls[0], &r.f, future);
    start_get_for(&calls[1], &r.f, future, A_LONG_WHILE);
    CHECK_BLOCKED(&calls[0]);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_TAKES(&calls[0], &job);
    CHECK_TAKES(&calls[1], &job);
    CHECK_JOB(&job, 1);
    close_future(&r, future);
}

TEST(future_getters_receive_what_is_set_by_hand, "FutureTaskTest.testGetSet")
{
    struct rig r;
    struct call calls[2];
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    start_get(&calls[0], &r.f, future);
    start_get_for(&calls[1], &r.f, future, A_LONG_WHILE);
    CHECK_BLOCKED(&calls[0]);
    CHECK_BLOCKED(&calls[1]);
    CHECK_INT(hora_future_complete(future, &job), 1);
    CHECK_TAKES(&calls[0], &job);
    CHECK_TAKES(&calls[1], &job);
    CHECK_JOB(&job, 0);
    close_future(&r, future);
}

/* While the task runs, a second run does nothing. Cancelling releases the getters before the body has
 * ended. */
static void cancel_releases_getters(bool interrupt)
{
    struct rig r;
    struct call runner, second, calls[2];
    struct job job = A_DEAF_JOB(&r);
    hora_future *future = open_future(&r, &job);

    start_run(&runner, &r, future);
    start_get(&calls[0], &r.f, future);
    start_get_for(&calls[1], &r.f, future, A_LONG_WHILE);
    CHECK_BLOCKED(&calls[0]);
    CHECK_BLOCKED(&calls[1]);
    second = (struct call){.run = call_run, .object = future};
    start_call(&second, &r.f);
    CHECK_RETURNS(&second, 0);
    second = (struct call){.run = call_run_and_reset, .object = future};
    start_call(&second, &r.f);
    CHECK_RETURNS(&second, 0);
    CHECK_INT(hora_future_cancel(future, interrupt),
              interrupt ? HORA_CANCEL_INTERRUPTED : HORA_CANCEL_RUNNING);
    CHECK_RETURNS(&calls[0], HORA_ECANCELED);
    CHECK_RETURNS(&calls[1], HORA_ECANCELED);
    CHECK_BLOCKED(&runner);
    CHECK_INT(job.interrupts, interrupt);
    rig_open_gate(&r);
    CHECK_RETURNS(&runner, 1);
    CHECK_DONE(future, HORA_ECANCELED, NULL);
    CHECK_JOB(&job, 1);
    close_future(&r, future);
}

TEST(future_cancel_releases_getters_at_once, "FutureTaskTest.testTimedGet_Cancellation CP-FT6 CP-FT7")
{
    cancel_releases_getters(false);
}

TEST(future_cancel_with_interrupt_releases_getters_at_once,
     "FutureTaskTest.testTimedGet_Cancellation_interrupt CP-FT6")
{
    cancel_releases_getters(true);
}

TEST(future_shows_how_the_task_failed,
     "FutureTaskTest.testGet_ExecutionException FutureTaskTest.testTimedGet_ExecutionException2 CP-FT10")
{
    struct rig r;
    struct job job = {.rig = &r, .code = INT_MIN};
    hora_future *future = open_future(&r, &job);

    CHECK_INT(hora_future_run(future), 1);
    CHECK_INT(hora_future_failure(future), INT_MIN);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_FAILED);
    CHECK_DONE(future, HORA_EFAILED, NULL);
    CHECK_JOB(&job, 1);
    CHECK_INT(job.result_drops, 1);
    close_future(&r, future);
}

TEST(future_get_is_interruptible, "FutureTaskTest.testGet_interruptible")
{
    struct rig r;
    struct call call;
    struct job job = A_JOB(&r);
    void *result = untouched;
    hora_future *future = open_future(&r, &job);

    CHECK_INTERRUPTED(hora_future_get(future, &result), &result);
    start_get(&call, &r.f, future);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_NOT_DONE(future);
    close_future(&r, future);
}

TEST(future_timed_get_is_interruptible, "FutureTaskTest.testTimedGet_interruptible")
{
    struct rig r;
    struct call call;
    struct job job = A_JOB(&r);
    void *result = untouched;
    hora_future *future = open_future(&r, &job);

    for (int i = 0; i < 5; i++)
        CHECK_INTERRUPTED(hora_future_get_for(future, any_timeout[i], &result), &result);
    start_get_for(&call, &r.f, future, 2 * A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    CHECK_NOT_DONE(future);
    close_future(&r, future);
}

TEST(future_timed_get_times_out, "FutureTaskTest.testGet_TimeoutException")
{
    struct rig r;
    struct call call;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    start_get_for(&call, &r.f, future, A_WHILE);
    CHECK_TIMES_OUT(&call, A_WHILE);
    CHECK_NOT_DONE(future);
    close_future(&r, future);
}

/* Also with the longest one, which must not overflow into the past. */
TEST(future_timed_get_without_time_returns_at_once, "FutureTaskTest.testGet_NegativeInfinityTimeout CP-FT3")
{
    struct rig r;
    struct call calls[10], forever[2];
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    for (int i = 0; i < 10; i++)
        start_get_for(&calls[i], &r.f, future, expired[i % 3]);
    for (int i = 0; i < 10; i++)
        CHECK_RETURNS(&calls[i], HORA_ETIMEDOUT);
    for (int i = 0; i < 2; i++)
        start_get_for(&forever[i], &r.f, future, INT64_MAX - i);
    advance(&r.f, A_LONG_WHILE);
    CHECK_BLOCKED(&forever[0]);
    CHECK_BLOCKED(&forever[1]);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_TAKES(&forever[0], &job);
    CHECK_TAKES(&forever[1], &job);
    close_future(&r, future);
}

TEST(future_that_is_done_answers_before_interrupt_and_timeout, "CP-FT2")
{
    struct rig r;
    struct job job = A_JOB(&r);
    hora_future *future = open_future(&r, &job);

    CHECK_INT(hora_future_run(future), 1);
    for (int i = 0; i < 5; i++) {
        void *result = untouched;

        interrupt_self();
        CHECK_OK(hora_future_get_for(future, any_timeout[i], &result));
        CHECK_POINTER(result, &job);
        CHECK(hora_interrupted());
    }
    interrupt_self();
    CHECK_OK(hora_future_get(future, NULL));
    CHECK(hora_interrupted());
    close_future(&r, future);
}

static int give_nothing(void *arg, void **ret_result)
{
    (void)arg;
    CHECK_POINTER(*ret_result, NULL);
    return 0;
}

TEST(future_result_may_be_null, "CP-FT10")
{
    hora_future *future;
    void *result = untouched;

    CHECK_OK(hora_future_new(HORA_TASK(give_nothing, NULL), &future));
    CHECK_INT(hora_future_run(future), 1);
    CHECK_DONE(future, 0, NULL);
    CHECK_OK(hora_future_take_result(future, &result));
    CHECK_POINTER(result, NULL);
    CHECK_ERROR(hora_future_take_result(future, &result), HORA_EEMPTY);
    hora_future_unref(future);
}

TEST(future_state_result_and_failure_can_be_asked_without_waiting, "CP-FT11")
{
    struct rig r;
    struct job job = A_JOB(&r), bad = {.rig = &r, .code = 3};
    hora_future *future = open_future(&r, &job), *failing = loose_future(&r, &bad);
    void *result = untouched;

    CHECK_NOT_DONE(future);
    CHECK_INT(hora_future_run(future), 1);
    CHECK_OK(hora_future_take_result(future, &result));
    CHECK_POINTER(result, &job);
    CHECK_INT(hora_future_run(failing), 1);
    CHECK_ERROR(hora_future_take_result(failing, &result), HORA_EFAILED);
    CHECK_INT(hora_future_failure(failing), 3);
    hora_future_unref(failing);
    close_future(&r, future);
    CHECK_INT(job.result_drops, 0);
}

static void run_in_thread(void *future)
{
    CHECK(hora_future_run(future) >= 0);
    hora_future_unref(future);
}

/* The interrupt of a cancel reaches the task or no thread: after a run that was cancelled too late the flag
 * is clear. */
static void run_and_look(void *future)
{
    int ran = hora_future_run(future);
    bool cancelled = hora_future_is_cancelled(future), interrupted = hora_interrupted();

    CHECK(ran >= 0);
    if (interrupted)
        CHECK(ran == 1 && cancelled);
    CHECK_INT(hora_future_run(future), 0);
    CHECK(!hora_interrupted());
    hora_future_unref(future);
}

TEST(future_cancel_and_run_race_for_one_outcome, "CP-FT1 CP-FT5")
{
    struct job job = A_JOB(NULL);
    hora_future *future;
    test_thread *thread;
    int what;

    CHECK_OK(hora_future_new(JOB(&job), &future));
    thread = test_thread_start(NULL, run_and_look, hora_future_ref(future));
    what = hora_future_cancel(future, true);
    test_thread_join(thread);
    CHECK_DONE(future, what == HORA_CANCEL_TOO_LATE ? 0 : HORA_ECANCELED, &job);
    CHECK_JOB(&job, what == HORA_CANCEL_REMOVED ? 0 : 1);
    hora_future_unref(future);
    CHECK_INT(job.result_drops, job.runs);
}

TEST(future_is_run_once_by_many, "CP-FT6")
{
    struct job job = A_JOB(NULL);
    hora_future *future;
    test_thread *threads[3];

    CHECK_OK(hora_future_new(JOB(&job), &future));
    for (int i = 0; i < 3; i++)
        threads[i] = test_thread_start(NULL, run_in_thread, hora_future_ref(future));
    CHECK_OK(hora_future_get(future, NULL));
    for (int i = 0; i < 3; i++)
        test_thread_join(threads[i]);
    CHECK_JOB(&job, 1);
    hora_future_unref(future);
}

static void count_call(hora_future *future, void *arg)
{
    (void)future;
    *(int *)arg += 1;
}

static void count_drop_of_callback(void *arg)
{
    *(int *)arg += 100;
}

/* After the callback, or instead of it if the future is never done. */
TEST(future_on_done_drops_its_argument_once, "")
{
    int calls[3] = {0};
    hora_future *future;

    CHECK_OK(hora_future_new_promise(NULL, &future));
    CHECK_OK(hora_future_on_done(future, count_call, &calls[0], count_drop_of_callback));
    CHECK_INT(calls[0], 0);
    CHECK_INT(hora_future_complete(future, NULL), 1);
    CHECK_INT(calls[0], 101);
    CHECK_OK(hora_future_on_done(future, count_call, &calls[1], count_drop_of_callback));
    CHECK_INT(calls[1], 101);
    CHECK_ERROR(hora_future_on_done(future, NULL, &calls[2], count_drop_of_callback), HORA_EINVAL);
    (void)hora_future_unref(future);
    CHECK_OK(hora_future_new_promise(NULL, &future));
    CHECK_OK(hora_future_on_done(future, count_call, &calls[2], count_drop_of_callback));
    (void)hora_future_unref(future);
    CHECK_INT(calls[2], 100);
}

TEST(spans_may_have_a_fraction, "")
{
    CHECK_INT(HORA_SECONDS(0.5), 500000000);
    CHECK_INT(HORA_MS(1.5), 1500000);
    CHECK_INT(HORA_SECONDS(2), 2000000000);
}
