/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_shared.c - one future that is executed by several pools, while other threads cancel, remove and
 * stop
 *
 * A future counts the entries of the pool that it follows, and of no other. Whatever the threads do, it is
 * dropped once, and when it is destroyed no entry is left (an assertion of exec/future.c). */
#include <stdatomic.h>

#include "harness.h"
#include "simulator/sim.h"

enum { POOLS = 3, THREADS = 3, CALLS = 4 };

static hora_pool *pools[POOLS];
static hora_future *future;
static atomic_int runs;
static atomic_int drops;

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    if (test_random(8) == 0)
        hora__sim_exit_thread();
    return 0;
}

static void drop(void *arg)
{
    (void)arg;
    drops++;
}

/* What to do with futures that a pool has handed back. */
static void dispose(hora_future_list *list)
{
    hora_future *handed_back;
    while ((handed_back = hora_future_list_take(list)) != NULL) {
        if (test_random(2) == 0)
            (void)!hora_pool_execute_future(pools[test_random(POOLS)], handed_back);
        (void)hora_future_unref(handed_back);
    }
}

static void make_one_call(hora_pool *pool)
{
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    switch (test_random(9)) {
    case 0:
        (void)hora_future_cancel(future, test_random(2) == 0);
        break;
    case 1:
        (void)hora_pool_remove(pool, future);
        break;
    case 2:
        (void)hora_pool_shutdown_now(pool, test_random(2) == 0 ? &list : NULL);
        dispose(&list);
        break;
    case 3:
        (void)hora_pool_shutdown(pool);
        break;
    case 4:
        (void)hora_pool_purge(pool);
        break;
    default:
        (void)!hora_pool_execute_future(pool, future);
        break;
    }
}

static void make_calls(void *arg)
{
    (void)arg;
    for (int i = 0; i < CALLS; i++)
        make_one_call(pools[test_random(POOLS)]);
}

static void share(void)
{
    test_thread *threads[THREADS];
    runs = drops = 0;
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1), &pools[0], NULL));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 0, .max_threads = 1, .queue_capacity = 1,
                                             .reject = HORA_REJECT_DISCARD_OLDEST),
                           &pools[1], NULL));
    CHECK_OK(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &pools[2], NULL));
    CHECK_OK(hora_future_new(HORA_TASK(run, NULL, .drop = drop), &future));
    for (int i = 0; i < THREADS; i++)
        threads[i] = test_thread_start(NULL, make_calls, NULL);
    for (int i = 0; i < THREADS; i++)
        test_thread_join(threads[i]);
    (void)hora_future_unref(future);
    for (int i = 0; i < POOLS; i++) {
        CHECK_OK(hora_pool_close_for(pools[i], HORA_FOREVER));
        CHECK(hora_pool_free(pools[i]) >= 0);
    }
    CHECK_INT(drops, 1);
}

LARGE_SCENARIO(future_shared_by_pools)
{
    share();
}
