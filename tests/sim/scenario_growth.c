/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_growth.c - a pool that grows: a waiting task is noticed, and there are never too many threads
 *
 * Time is that of the simulator: it passes when no thread can run. */
#include <stdatomic.h>

#include <hora/event.h>

#include "books.h"
#include "harness.h"
#include "simulator/sim.h"

#define BOUND HORA_MS(10)

static hora_pool *pool;
static hora_latch *gate;
static atomic_int runs, grown, shrunk;

static void count_resized(hora_pool *told, const hora_event *event, void *arg)
{
    (void)arg;
    CHECK_POINTER(told, pool);
    CHECK(event->why != NULL);
    CHECK_INT(event->threads - event->threads_before, event->threads > event->threads_before ? 1 : -1);
    CHECK(event->threads <= 2);
    if (event->threads > event->threads_before)
        grown++;
    else
        shrunk++;
}

static int open_pool(void)
{
    runs = grown = shrunk = 0;
    return hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .max_threads = 2, .keep_alive = HORA_SECONDS(1),
                                           .listener = HORA_LISTENER(.resized = count_resized),
                                           .grow_after = BOUND),
                         &pool, NULL);
}

static int wait_at_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return hora_latch_await(gate) == 0 ? 0 : 1;
}

/* Lets the first one go on: without it that waits for good. */
static int open_gate(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return hora_latch_count_down(gate);
}

static void execute(hora_run_fn body)
{
    CHECK_OK(hora_pool_execute(pool, HORA_TASK(body, NULL)));
}

/* The only thread waits for something that only the second task does. This never ends unless the pool notices
 * and grows. */
LARGE_SCENARIO(growth_frees_a_pool_that_waits_for_itself)
{
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    CHECK_OK(open_pool());
    execute(wait_at_gate);
    execute(open_gate);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_OK(hora_pool_free(pool)); /* waits for those who tell, too */
    CHECK_INT(grown, 1);
    CHECK_OK(hora_latch_free(gate));
}

static void put_both(void *arg)
{
    (void)arg;
    execute(wait_at_gate);
    execute(open_gate);
}

static int nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* The watchdog may be about to stop watching the queue when tasks are queued again. */
LARGE_SCENARIO(growth_wakes_again)
{
    CHECK_OK(hora_latch_new(1, NULL, &gate, NULL));
    CHECK_OK(open_pool());
    execute(nothing);
    execute(nothing);
    CHECK_OK(hora_clock_sleep(NULL,
                              BOUND / 2)); /* as long as the watch does: it finds the queue empty about now */
    test_thread *other = test_thread_start(NULL, put_both, NULL);
    test_thread_join(other);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_OK(hora_pool_free(pool)); /* waits for those who tell, too */
    CHECK(grown >= 1);              /* or more often, if time passes although threads could run */
    CHECK(grown - shrunk <= 1);
    CHECK_OK(hora_latch_free(gate));
}

static int sleep_long(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return hora_clock_sleep(NULL, 5 * BOUND) == 0 ? 0 : 1;
}

/* CPU-bound workers do not trigger growth. */
LARGE_SCENARIO(growth_not_of_threads_that_compute)
{
    hora__sim_compute(true);
    CHECK_OK(open_pool());
    execute(sleep_long);
    execute(sleep_long);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 2);
    CHECK_INT(grown, 0);
    CHECK_OK(hora_pool_free(pool));
}

/* It is stopped at any moment. */
LARGE_SCENARIO(growth_meets_stop)
{
    CHECK_OK(open_pool());
    execute(sleep_long);
    execute(sleep_long);
    execute(sleep_long);
    CHECK_OK(hora_clock_sleep(NULL, BOUND));
    CHECK_OK(hora_pool_shutdown_now(pool, NULL));
    CHECK_OK(hora_pool_await_termination_for(pool, HORA_FOREVER));
    free_pool(pool);
    CHECK(grown - shrunk <= 1); /* it may have grown more often, if this thread has slept for longer */
    CHECK(shrunk <= grown);
}

SWEEP(growth_survives)
{
    int error = open_pool();
    CHECK(error == 0 || error == HORA_ENOMEM);
    if (error < 0)
        return;
    for (int i = 0; i < 3; i++) {
        error = hora_pool_execute(pool, HORA_TASK(sleep_long, NULL));
        CHECK(error == 0 || error == HORA_ENOMEM || error == HORA_EAGAIN);
    }
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    error = hora_clock_sleep(NULL, 3 * BOUND);
    CHECK(error == 0 || error == HORA_ENOMEM);
    error = hora_pool_shutdown(pool);
    CHECK(error == 0 || error == HORA_ENOMEM);
    CHECK_OK(hora_pool_get_stats(pool, &stats));
    if (stats.threads == 0)
        CHECK(hora_pool_shutdown_now(pool, NULL) <= 0);
    free_pool(pool);
    CHECK(grown <= 1);
}
