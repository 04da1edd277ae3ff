/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_twice.c - a future that is queued twice, of whose two workers one loses its thread
 *
 * The second worker has no effect on the run: the outcome is that of the body, and the argument is dropped
 * once. */
#include <stdatomic.h>

#include "harness.h"
#include "simulator/sim.h"

static hora_latch *has_begun;
static hora_latch *is_met;
static atomic_int runs;
static atomic_int drops;
static atomic_int hooks;

static int run(void *arg, void **ret_result)
{
    runs++;
    CHECK_OK(hora_latch_count_down(has_begun));
    CHECK_OK(hora_latch_await(is_met));
    CHECK_INT(drops, 0);
    *ret_result = arg;
    return 0;
}

static void drop(void *arg)
{
    (void)arg;
    drops++;
}

static void end_thread(void)
{
    CHECK_OK(hora_latch_await(has_begun));
    CHECK_OK(hora_latch_count_down(is_met));
    hora__sim_exit_thread();
}

/* The second worker that calls this finds the future running. */
static int before(hora_pool *pool, const hora_run_info *info, void *context)
{
    (void)pool;
    (void)info;
    (void)context;
    if (hooks++ == 1)
        end_thread();
    return 0;
}

/* The first worker that calls this has found a running future. */
static void after(hora_pool *pool, const hora_run_info *info, void *context)
{
    (void)pool;
    (void)info;
    (void)context;
    if (hooks++ == 0)
        end_thread();
}

static void meets_twice(const hora_pool_options *options)
{
    hora_pool *pool;
    hora_future *future;
    void *result = NULL;
    runs = drops = hooks = 0;
    CHECK_OK(hora_latch_new(1, NULL, &has_begun, NULL));
    CHECK_OK(hora_latch_new(1, NULL, &is_met, NULL));
    CHECK_OK(hora_pool_new(options, &pool, NULL));
    CHECK_OK(hora_future_new(HORA_TASK(run, &runs, .drop = drop), &future));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_execute_future(pool, future));
    CHECK_OK(hora_future_get(future, &result));
    CHECK_POINTER(result, &runs);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 1);
    CHECK_INT(drops, 1);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(pool));
    CHECK_OK(hora_latch_free(has_begun));
    CHECK_OK(hora_latch_free(is_met));
}

MEDIUM_SCENARIO(future_met_by_a_thread_that_ends_after_it)
{
    meets_twice(HORA_POOL_OPTIONS(.core_threads = 2, .after = after));
}

MEDIUM_SCENARIO(future_met_by_a_thread_that_ends_before_it)
{
    meets_twice(HORA_POOL_OPTIONS(.core_threads = 2, .before = before));
}

/* The future has run, and the after hook ends the thread. The other entry still belongs to the pool, so a
 * cancel or a wait finds its owner. */
static void end_first_thread(hora_pool *pool, const hora_run_info *info, void *context)
{
    (void)pool;
    (void)info;
    (void)context;
    if (hooks++ == 0)
        hora__sim_exit_thread();
}

static int run_at_once(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return 0;
}

MEDIUM_SCENARIO(future_queued_twice_survives_its_thread)
{
    hora_pool *pool;
    hora_future *future;
    runs = drops = hooks = 0;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .after = end_first_thread), &pool, NULL));
    CHECK_OK(hora_future_new(HORA_TASK(run_at_once, NULL, .drop = drop), &future));
    for (int i = 0; i < 2; i++)
        CHECK_OK(hora_pool_execute_future(pool, future));
    CHECK_OK(hora_future_get(future, NULL));
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_INT(runs, 1);
    CHECK_INT(drops, 1);
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_free(pool));
}
