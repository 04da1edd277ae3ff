/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_stranded.c - pools that cannot start a thread at first: accepted tasks run in the end
 *
 * The factory fails a number of times and then works. In the simulator time passes when all threads wait. */
#include <stdatomic.h>

#include "harness.h"

enum { MOST_THREADS = 8 };

static hora_pool *pool;
static hora_latch *latch;
static atomic_int runs, drops, attempts, made;
static atomic_int failures; /* of the factory */
static test_thread *_Atomic threads[MOST_THREADS];

static int start_later(void (*run)(void *arg), void *arg, const char *name, void *context)
{
    (void)name;
    (void)context;
    if (attempts++ < failures)
        return HORA_EAGAIN;
    int number = made++;
    CHECK(number < MOST_THREADS);
    threads[number] = test_thread_start(NULL, run, arg);
    return 0;
}

static void begin(int fails, const hora_pool_options *options)
{
    hora_pool_options own = *options;
    own.thread_factory = start_later;
    runs = drops = attempts = made = 0;
    failures = fails;
    CHECK_OK(hora_pool_new(&own, &pool, NULL));
}

static void end(int accepted)
{
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    for (int i = 0; i < made; i++)
        test_thread_join(threads[i]);
    CHECK_INT(runs, accepted);
    CHECK_INT(drops, accepted);
}

static int work(void *arg, void **ret_result)
{
    (void)ret_result;
    runs++;
    if (arg != NULL)
        CHECK_OK(hora_latch_count_down(arg));
    return 0;
}

static void count_drop(void *arg)
{
    (void)arg;
    drops++;
}

static atomic_int accepted;

/* A caller whose task was accepted sees it end. */
static void submit_and_get(void *arg)
{
    hora_future *future;
    (void)arg;
    int error = hora_pool_submit(pool, HORA_TASK(work, NULL, .drop = count_drop), &future);
    CHECK(error == 0 || error == HORA_EAGAIN);
    if (error < 0)
        return;
    accepted++;
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
}

static void execute_one(void *arg)
{
    (void)arg;
    int error = hora_pool_execute(pool, HORA_TASK(work, NULL, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EAGAIN);
    accepted += error == 0;
}

/* One of them counts on a thread that the other one cannot start. */
static void two_submitters(int fails, const hora_pool_options *options)
{
    begin(fails, options);
    accepted = 0;
    test_thread *other = test_thread_start(NULL, submit_and_get, NULL);
    submit_and_get(NULL);
    test_thread_join(other);
    end(accepted);
}

LARGE_SCENARIO(stranded_submitters_with_a_core)
{
    two_submitters(2, HORA_POOL_OPTIONS(.core_threads = 1));
}

LARGE_SCENARIO(stranded_submitters_with_a_core_for_longer)
{
    two_submitters(5, HORA_POOL_OPTIONS(.core_threads = 1));
}

LARGE_SCENARIO(stranded_submitters_without_a_core)
{
    two_submitters(2, HORA_POOL_OPTIONS(.core_threads = 0));
}

/* Threads that wait for the pool try to start a worker, whenever they begin to wait. */
static void execute_and_quiesce(int fails, const hora_pool_options *options)
{
    begin(fails, options);
    accepted = 0;
    test_thread *one = test_thread_start(NULL, execute_one, NULL);
    test_thread *other = test_thread_start(NULL, execute_one, NULL);
    CHECK_OK(hora_pool_await_idle_for(pool, HORA_FOREVER));
    test_thread_join(one);
    test_thread_join(other);
    end(accepted);
}

LARGE_SCENARIO(stranded_pool_is_quiet_in_the_end)
{
    execute_and_quiesce(3, HORA_POOL_OPTIONS(.core_threads = 1));
}

LARGE_SCENARIO(stranded_pool_without_a_core_is_quiet_in_the_end)
{
    execute_and_quiesce(4, HORA_POOL_OPTIONS(.core_threads = 0));
}

/* ---- the last worker ends ---- */

static int refuse_first(hora_pool *refusing, const hora_run_info *run, void *context)
{
    (void)refusing;
    (void)context;
    return run->task->arg == NULL ? HORA_EINVAL : 0;
}

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* No thread waits for the pool, and nothing else is submitted. */
LARGE_SCENARIO(stranded_worker_stays_until_it_is_replaced)
{
    CHECK_OK(hora_latch_new(1, NULL, &latch, NULL));
    begin(0, HORA_POOL_OPTIONS(.core_threads = 1, .before = refuse_first));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(nothing, NULL)));
    failures = attempts + 2;
    int error = hora_pool_execute(pool, HORA_TASK(work, latch, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EAGAIN);
    if (error == 0)
        CHECK_OK(hora_latch_await(latch));
    end(error == 0);
    CHECK_OK(hora_latch_free(latch));
}

static void stop(void *arg)
{
    (void)arg;
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
}

/* It does not stay when the pool stops. */
LARGE_SCENARIO(stranded_worker_leaves_when_the_pool_stops)
{
    begin(0, HORA_POOL_OPTIONS(.core_threads = 1, .before = refuse_first));
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(nothing, NULL)));
    failures = attempts + 1000;
    int error = hora_pool_execute(pool, HORA_TASK(nothing, &runs, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EAGAIN);
    test_thread *other = test_thread_start(NULL, stop, NULL);
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    test_thread_join(other);
    int abandoned = hora_pool_free(pool);
    CHECK(abandoned >= 0 && abandoned <= (error == 0));
    for (int i = 0; i < made; i++)
        test_thread_join(threads[i]);
    CHECK_INT(drops, error == 0);
}

/* ---- shutdown ---- */

static void execute_or_count_down(void *arg)
{
    (void)arg;
    int error = hora_pool_execute(pool, HORA_TASK(work, latch, .drop = count_drop));
    CHECK(error == 0 || error == HORA_EREJECTED);
    accepted += error == 0;
    if (error < 0)
        CHECK_OK(hora_latch_count_down(latch));
}

/* One submitter relies on the thread that the other one starts. That thread does not start, because the pool
 * is shut down, and no thread waits for the pool. */
LARGE_SCENARIO(stranded_submitter_meets_shutdown)
{
    CHECK_OK(hora_latch_new(2, NULL, &latch, NULL));
    begin(0, HORA_POOL_OPTIONS(.core_threads = 1));
    accepted = 0;
    test_thread *one = test_thread_start(NULL, execute_or_count_down, NULL);
    test_thread *other = test_thread_start(NULL, execute_or_count_down, NULL);
    CHECK_OK(hora_pool_shutdown(pool));
    test_thread_join(one);
    test_thread_join(other);
    CHECK_OK(hora_latch_await(latch));
    end(accepted);
    CHECK_OK(hora_latch_free(latch));
}
