/* SPDX-License-Identifier: Apache-2.0 */
/* test_future_spin.c - how often a thread polls a future before it waits, if that is in vain
 *
 * The tests read the counters of the calling thread: how often in a row it has polled in vain, and before how
 * many waits it will not poll. The future that they wait for is not done before the end of the test. */
#include "exec/future.h"
#include "harness.h"
#include "sync/thread.h"
#include "sys/processors.h"

enum { MISSES = 3, SKIPS = 32, SKIPS_MOST = 1024 };

static hora_latch *is_over;
static hora_pool *pool;
static hora_future *future;

static int run(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return hora_latch_await(is_over);
}

static void begin(hora_ns spin)
{
    CHECK_OK(hora_latch_new(1, NULL, &is_over, NULL));
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 1, .spin = spin), &pool, NULL));
    CHECK_OK(hora_pool_submit(pool, HORA_TASK(run, NULL), &future));
}

static void end(void)
{
    CHECK_OK(hora_latch_count_down(is_over));
    CHECK_OK(hora_future_get(future, NULL));
    (void)hora_future_unref(future);
    CHECK_OK(hora_pool_close_for(pool, HORA_FOREVER));
    CHECK_OK(hora_pool_free(pool));
    CHECK_OK(hora_latch_free(is_over));
}

static void wait_in_vain(hora_future *awaited)
{
    CHECK_ERROR(hora_future_get_for(awaited, 1, NULL), HORA_ETIMEDOUT);
}

static void check_counters(int misses, int skips)
{
    CHECK_INT(hora__thread_existing()->spin_misses, misses);
    CHECK_INT(hora__thread_existing()->spin_skips, skips);
}

static void poll_in_vain(void *arg)
{
    (void)arg;
    int skips = SKIPS;
    for (int i = 1; i < MISSES; i++) {
        wait_in_vain(future);
        check_counters(i, 0);
    }
    for (int misses = MISSES; misses < MISSES + 8; misses++) {
        wait_in_vain(future);
        check_counters(misses, skips);
        for (int left = skips - 1; left >= 0; left--) {
            wait_in_vain(future);
            check_counters(misses, left);
        }
        skips = skips < SKIPS_MOST ? 2 * skips : SKIPS_MOST;
    }
}

TEST_REAL(future_spin_in_vain_becomes_rare, "")
{
    if (!hora__pause_helps())
        return;
    static const hora_ns spins[] = {0, HORA_US(50)}; /* the default, and a time of the pool's */
    for (int i = 0; i < 2; i++) {
        begin(spins[i]);
        test_thread_join(test_thread_start(NULL, poll_in_vain, NULL));
        end();
    }
}

static void wait_for_promise(void *arg)
{
    wait_in_vain(arg);
    check_counters(0, 0);
}

/* Any thread may complete a promise at any time, so polling it is not worth while. */
TEST_REAL(future_spin_is_not_for_promises, "")
{
    hora_future *promise;
    CHECK_OK(hora_future_new_promise(NULL, &promise));
    test_thread_join(test_thread_start(NULL, wait_for_promise, promise));
    (void)hora_future_unref(promise);
}
