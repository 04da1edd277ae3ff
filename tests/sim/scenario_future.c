/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_future.c - one outcome, one run, one drop, whatever threads do at the same time */
#include "harness.h"

enum { SPAN = 1000, CODE = 7 };

static hora_future *future;
static int runs;
static int drops;
static int result_drops;
static int told;
static int value;

static int count_run(void *arg, void **ret_result)
{
    (void)arg;
    runs++;
    *ret_result = &value;
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static void count_result_drop(void *result)
{
    CHECK_POINTER(result, &value);
    result_drops++;
}

static void begin(hora_run_fn run)
{
    runs = drops = result_drops = told = 0;
    CHECK_OK(hora_future_new(HORA_TASK(run, &value, .drop = count_drop, .drop_result = count_result_drop),
                             &future));
}

static void end(void)
{
    (void)hora_future_unref(future);
    CHECK_INT(drops, 1);
}

static void run(void *arg)
{
    int *ran = arg;
    *ran = hora_future_run(future);
    CHECK(*ran >= 0);
}

/* Two threads run it: the body runs once. */
SCENARIO(future_runs_once)
{
    int ran[2] = {0, 0};
    begin(count_run);
    test_thread *other = test_thread_start(NULL, run, &ran[0]);
    run(&ran[1]);
    test_thread_join(other);
    CHECK_INT(runs, 1);
    CHECK_INT(ran[0] + ran[1], 1);
    CHECK_INT(hora_future_get_state(future), HORA_FUTURE_SUCCEEDED);
    end();
    CHECK_INT(result_drops, 1);
}

static void cancel_meets_run(bool interrupt)
{
    int ran = 0;
    begin(count_run);
    test_thread *other = test_thread_start(NULL, run, &ran);
    int what = hora_future_cancel(future, interrupt);
    test_thread_join(other);
    CHECK_INT(hora_future_is_cancelled(future), what != HORA_CANCEL_TOO_LATE);
    CHECK_INT(runs, what == HORA_CANCEL_REMOVED ? 0 : 1);
    CHECK_INT(runs, ran);
    CHECK(what != (interrupt ? HORA_CANCEL_RUNNING : HORA_CANCEL_INTERRUPTED));
    CHECK_INT(result_drops, what == HORA_CANCEL_RUNNING || what == HORA_CANCEL_INTERRUPTED ? 1 : 0);
    end();
    CHECK_INT(result_drops, runs);
}

/* In whatever state a cancel meets the run, the receipt says what happened, and it did. */
SCENARIO(future_cancel_meets_run)
{
    cancel_meets_run(false);
}

SCENARIO(future_cancel_with_interrupt_meets_run)
{
    cancel_meets_run(true);
}

static int note_interrupt(void *arg, void **ret_result)
{
    (void)ret_result;
    *(bool *)arg = hora_interrupted();
    return 0;
}

static bool seen_inside;
static bool seen_after;

static void run_and_look(void *arg)
{
    (void)arg;
    CHECK(hora_future_run(future) >= 0);
    seen_after = hora_interrupted();
}

/* The interrupt of a cancel reaches the thread only if the receipt says so, and then exactly once. */
SCENARIO(future_interrupt_is_not_lost_nor_doubled)
{
    seen_inside = seen_after = false;
    CHECK_OK(hora_future_new(HORA_TASK(note_interrupt, &seen_inside), &future));
    test_thread *other = test_thread_start(NULL, run_and_look, NULL);
    int what = hora_future_cancel(future, true);
    test_thread_join(other);
    CHECK_INT((int)seen_inside + (int)seen_after, what == HORA_CANCEL_INTERRUPTED ? 1 : 0);
    (void)hora_future_unref(future);
}

static void complete(void *arg)
{
    *(int *)arg = hora_future_complete(future, &value);
}

/* Of completing, failing and cancelling exactly one wins, and all threads see the same winner. */
SCENARIO(future_has_one_outcome)
{
    int completed = -1;
    void *result = NULL;
    result_drops = 0;
    CHECK_OK(hora_future_new_promise(count_result_drop, &future));
    test_thread *other = test_thread_start(NULL, complete, &completed);
    int failed = hora_future_fail(future, CODE);
    int cancelled = hora_future_cancel(future, false) != HORA_CANCEL_TOO_LATE;
    int error = hora_future_get(future, &result);
    test_thread_join(other);
    CHECK_INT(completed + failed + cancelled, 1);
    CHECK_ERROR(error, completed ? 0 : failed ? HORA_EFAILED : HORA_ECANCELED);
    CHECK_INT(hora_future_failure(future), failed ? CODE : 0);
    CHECK_POINTER(result, completed ? &value : NULL);
    (void)hora_future_unref(future);
    CHECK_INT(result_drops, completed);
}

static void get(void *arg)
{
    void *result = NULL;
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &value);
    ++*(int *)arg;
}

/* Every waiter is woken. */
SCENARIO(future_tells_all_waiters)
{
    int got[2] = {0, 0};
    int completed = -1;
    CHECK_OK(hora_future_new_promise(NULL, &future));
    test_thread *threads[] = {test_thread_start(NULL, get, &got[0]), test_thread_start(NULL, get, &got[1])};
    complete(&completed);
    test_thread_join(threads[0]);
    test_thread_join(threads[1]);
    CHECK_INT(got[0] + got[1], 2);
    if (test_is_exact())
        CHECK(test_wakeups() <= 2);
    (void)hora_future_unref(future);
}

static void complete_later(void *arg)
{
    CHECK_OK(hora_sleep(SPAN));
    complete(arg);
}

SCENARIO(future_timeout_meets_completion)
{
    int completed = -1;
    void *result = NULL;
    CHECK_OK(hora_future_new_promise(NULL, &future));
    hora_ns start = hora_clock_now(NULL);
    test_thread *other = test_thread_start(NULL, complete_later, &completed);
    int error = hora_future_get_for(future, SPAN, &result);
    CHECK(hora_clock_now(NULL) - start >= SPAN);
    CHECK(error == 0 || error == HORA_ETIMEDOUT);
    CHECK_POINTER(result, error == 0 ? &value : NULL);
    test_thread_join(other);
    CHECK_OK(hora_future_get_for(future, INT64_MIN, &result));
    (void)hora_future_unref(future);
}

static void get_interrupted(void *arg)
{
    (void)arg;
    int error = hora_future_get(future, NULL);
    CHECK(error == 0 || error == HORA_EINTERRUPTED);
    if (error == 0)
        CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
}

SCENARIO(future_interrupt_meets_completion)
{
    int completed = -1;
    CHECK_OK(hora_future_new_promise(NULL, &future));
    test_thread *waiter = test_thread_start(NULL, get_interrupted, NULL);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(waiter)));
    complete(&completed);
    test_thread_join(waiter);
    (void)hora_future_unref(future);
}

static void tell(hora_future *done, void *context)
{
    CHECK_POINTER(done, future);
    CHECK(hora_future_is_done(done));
    CHECK_INT(hora_future_cancel(done, true), HORA_CANCEL_TOO_LATE); /* the API may be called from here */
    ++*(int *)context;
}

/* A callback registered at any moment is called exactly once, by one of the two threads. */
SCENARIO(future_callback_is_called_once)
{
    int completed = -1;
    told = 0;
    CHECK_OK(hora_future_new_promise(NULL, &future));
    test_thread *other = test_thread_start(NULL, complete, &completed);
    CHECK_OK(hora_future_on_done(future, tell, &told, NULL));
    test_thread_join(other);
    CHECK_INT(told, 1);
    (void)hora_future_unref(future);
}

static void run_and_let_go(void *arg)
{
    (void)arg;
    CHECK(hora_future_run(future) >= 0);
    (void)hora_future_unref(future);
}

/* The last reference may go in any thread. */
SCENARIO(future_last_reference_goes_anywhere)
{
    begin(count_run);
    (void)hora_future_ref(future);
    test_thread *other = test_thread_start(NULL, run_and_let_go, NULL);
    (void)hora_future_unref(future);
    test_thread_join(other);
    CHECK_INT(drops, 1);
    CHECK_INT(result_drops, 1);
}

/* Memory of the caller is its own again when reclaim returns, and not before. */
SCENARIO(future_in_caller_memory)
{
    hora_future_storage storage;
    runs = drops = result_drops = 0;
    CHECK_OK(hora_future_init(&storage, HORA_TASK(count_run, NULL, .drop = count_drop), &future));
    (void)hora_future_ref(future);
    test_thread *other = test_thread_start(NULL, run_and_let_go, NULL);
    CHECK_OK(hora_future_reclaim(future));
    CHECK_INT(drops, 1);
    for (size_t i = 0; i < sizeof storage; i++)
        storage.as.bytes[i] = 0xaa;
    test_thread_join(other);
}

static hora_future *ring[2];

static int wait_for_other(void *arg, void **ret_result)
{
    (void)ret_result;
    hora_future *other = *(hora_future **)arg;
    return hora_future_get(other, NULL);
}

static void run_second(void *arg)
{
    (void)arg;
    CHECK_INT(hora_future_run(ring[1]), 1);
}

/* Two tasks wait for each other: at least one gets an error, and none hangs. */
SCENARIO(future_ring_is_noticed)
{
    CHECK_OK(hora_future_new(HORA_TASK(wait_for_other, &ring[1]), &ring[0]));
    CHECK_OK(hora_future_new(HORA_TASK(wait_for_other, &ring[0]), &ring[1]));
    test_thread *other = test_thread_start(NULL, run_second, NULL);
    CHECK_INT(hora_future_run(ring[0]), 1);
    test_thread_join(other);
    int first = hora_future_failure(ring[0]);
    int second = hora_future_failure(ring[1]);
    CHECK(first == HORA_EDEADLK || second == HORA_EDEADLK);
    CHECK(first == HORA_EDEADLK || first == HORA_EFAILED);
    CHECK(second == HORA_EDEADLK || second == HORA_EFAILED);
    (void)hora_future_unref(ring[0]);
    (void)hora_future_unref(ring[1]);
}

static bool refused(int error)
{
    CHECK(error == 0 || error == HORA_ENOMEM);
    return error < 0;
}

SWEEP(future_survives_every_failure)
{
    drops = told = 0;
    future = NULL;
    if (refused(hora_future_new(HORA_TASK(count_run, NULL, .drop = count_drop), &future))) {
        CHECK_POINTER(future, NULL);
        CHECK_INT(drops, 0);
        return;
    }
    bool registered = !refused(hora_future_on_done(future, tell, &told, NULL));
    int ran = hora_future_run(future);
    CHECK(ran == 1 || ran == HORA_ENOMEM);
    CHECK_INT(told, registered && ran == 1 ? 1 : 0);
    int fd = hora_future_fd(future);
    CHECK(fd >= 0 || fd == HORA_ENOMEM);
    (void)hora_future_unref(future);
    CHECK_INT(drops, 1);
}
