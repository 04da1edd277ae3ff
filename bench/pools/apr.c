/* SPDX-License-Identifier: Apache-2.0 */
/* apr.c - APR-util's apr_thread_pool; W2 waits with APR's lock and condition, which are made once */
#include <apr_general.h>
#include <apr_thread_cond.h>
#include <apr_thread_mutex.h>
#include <apr_thread_pool.h>
#include <stdbool.h>

#include "pools.h"

static apr_pool_t *memory;
static apr_thread_pool_t *pool;
static apr_thread_mutex_t *lock;
static apr_thread_cond_t *changed;
static bool done; /* the task of submit has run; guarded by lock */

static void *APR_THREAD_FUNC count(apr_thread_t *thread, void *arg)
{
    (void)thread;
    (void)arg;
    pool_ran();
    return NULL;
}

static void *APR_THREAD_FUNC count_and_tell(apr_thread_t *thread, void *arg)
{
    (void)thread;
    (void)arg;
    pool_ran();
    apr_thread_mutex_lock(lock);
    done = true;
    apr_thread_cond_signal(changed);
    apr_thread_mutex_unlock(lock);
    return NULL;
}

static void open_pool(int workers)
{
    MUST(apr_initialize() == APR_SUCCESS && apr_pool_create(&memory, NULL) == APR_SUCCESS);
    MUST(apr_thread_mutex_create(&lock, APR_THREAD_MUTEX_DEFAULT, memory) == APR_SUCCESS);
    MUST(apr_thread_cond_create(&changed, memory) == APR_SUCCESS);
    MUST(apr_thread_pool_create(&pool, (apr_size_t)workers, (apr_size_t)workers, memory) == APR_SUCCESS);
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        MUST(apr_thread_pool_push(pool, count, NULL, APR_THREAD_TASK_PRIORITY_NORMAL, NULL) == APR_SUCCESS);
}

static void submit(void)
{
    done = false;
    MUST(apr_thread_pool_push(pool, count_and_tell, NULL, APR_THREAD_TASK_PRIORITY_NORMAL, NULL) ==
         APR_SUCCESS);
    apr_thread_mutex_lock(lock);
    while (!done)
        apr_thread_cond_wait(changed, lock);
    apr_thread_mutex_unlock(lock);
}

static void close_pool(void)
{
    MUST(apr_thread_pool_destroy(pool) == APR_SUCCESS);
    apr_pool_destroy(memory);
    apr_terminate();
}

const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
