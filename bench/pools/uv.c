/* SPDX-License-Identifier: Apache-2.0 */
/* uv.c - libuv's uv_queue_work, on the pool that all loops of the process share
 *
 * A loop belongs to one thread, so each producer has its own. It runs the loop after it has queued all its
 * tasks; the loop then calls back once per task. A request is allocated per task and freed by that
 * callback. */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "pools.h"

static uv_loop_t waiting_loop; /* the loop of submit */

static void count(uv_work_t *work)
{
    (void)work;
    pool_ran();
}

static void free_work(uv_work_t *work, int status)
{
    MUST(status == 0);
    free(work);
}

static void queue_one(uv_loop_t *loop)
{
    uv_work_t *work = malloc(sizeof(*work));
    MUST(work != NULL && uv_queue_work(loop, work, count, free_work) == 0);
}

static void open_pool(int workers)
{
    char size[16];
    snprintf(size, sizeof(size), "%d", workers);
    MUST(uv_os_setenv("UV_THREADPOOL_SIZE", size) == 0);
    MUST(uv_loop_init(&waiting_loop) == 0);
}

static void execute(long tasks)
{
    uv_loop_t loop;
    MUST(uv_loop_init(&loop) == 0);
    for (long i = 0; i < tasks; i++)
        queue_one(&loop);
    MUST(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    MUST(uv_loop_close(&loop) == 0);
}

static void submit(void)
{
    queue_one(&waiting_loop);
    MUST(uv_run(&waiting_loop, UV_RUN_DEFAULT) == 0);
}

static void close_pool(void)
{
    MUST(uv_loop_close(&waiting_loop) == 0);
}

const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
