/* SPDX-License-Identifier: Apache-2.0 */
/* hora.c - hora's fixed pool: execute, and submit with a future
 *
 * Variants: with SPIN, threads spin for so long before they sleep; with MEASURED, the pool has metrics; with
 * NAMED, tasks also have a name; with SCHEDULER, the pool is a scheduler. */
#include <stddef.h>

#include <hora/hora.h>
#include <hora/scheduler.h>

#include "pools.h"

#ifdef NAMED
#define TASK HORA_TASK(count, NULL, .name = "count")
#else
#define TASK HORA_TASK(count, NULL)
#endif

static hora_pool *pool;

static int count(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    pool_ran();
    return 0;
}

static void open_pool(int workers)
{
#ifdef SPIN
    MUST(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = workers, .spin = SPIN), &pool, NULL) == 0);
#elif defined(MEASURED)
    MUST(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = workers, .metrics = HORA_METRICS()), &pool, NULL) ==
         0);
#elif defined(SCHEDULER)
    MUST(hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = workers), &pool, NULL) == 0);
#else
    MUST(hora_pool_new_fixed(workers, NULL, &pool, NULL) == 0);
#endif
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        MUST(hora_pool_execute(pool, TASK) == 0);
}

static void submit(void)
{
    hora_future *future;
    MUST(hora_pool_submit(pool, TASK, &future) == 0);
    MUST(hora_future_get(future, NULL) == 0);
    hora_future_unref(future);
}

static void close_pool(void)
{
    MUST(hora_pool_free(pool) == 0);
}

const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
