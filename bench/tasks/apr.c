/* SPDX-License-Identifier: Apache-2.0 */
/* apr.c - APR-util's apr_thread_pool: W10 and W12.execute */
#include <apr_general.h>
#include <apr_thread_pool.h>

#include "tasks.h"

static apr_pool_t *memory;
static apr_thread_pool_t *pool;

static void push(apr_thread_start_t function, long number)
{
    MUST(apr_thread_pool_push(pool, function, (void *)(intptr_t)number, APR_THREAD_TASK_PRIORITY_NORMAL,
                              NULL) == APR_SUCCESS);
}

static void *APR_THREAD_FUNC run_tree(apr_thread_t *thread, void *arg)
{
    (void)thread;
    tree_ran((long)(intptr_t)arg);
    return NULL;
}

static void *APR_THREAD_FUNC run_pipe(apr_thread_t *thread, void *arg)
{
    (void)thread;
    pipe_ran((long)(intptr_t)arg);
    return NULL;
}

static void *APR_THREAD_FUNC wait_for_release(apr_thread_t *thread, void *arg)
{
    (void)thread;
    worker_block();
    return arg;
}

static void *APR_THREAD_FUNC count_run(apr_thread_t *thread, void *arg)
{
    (void)thread;
    task_ran();
    return arg;
}

static void open_pool(int workers)
{
    MUST(apr_initialize() == APR_SUCCESS && apr_pool_create(&memory, NULL) == APR_SUCCESS);
    MUST(apr_thread_pool_create(&pool, (apr_size_t)workers, (apr_size_t)workers, memory) == APR_SUCCESS);
}

static void close_pool(void)
{
    MUST(apr_thread_pool_destroy(pool) == APR_SUCCESS);
    apr_pool_destroy(memory);
    apr_terminate();
}

static void tree(long number)
{
    push(run_tree, number);
}

static void pipe_one(long number)
{
    push(run_pipe, number);
}

static void block(void)
{
    push(wait_for_release, 0);
}

static void execute(long count)
{
    for (long i = 0; i < count; i++)
        push(count_run, 0);
}

const struct tasks_peer tasks_peer = {
    .open = open_pool,
    .close = close_pool,
    .tree = tree,
    .pipe = pipe_one,
    .block = block,
    .execute = execute,
};
