/* SPDX-License-Identifier: Apache-2.0 */
/* glib.c - GLib's exclusive GThreadPool: W10 and W12.execute
 *
 * A GThreadPool has one function for all tasks. What a task is for, and its number, are in the pointer that
 * is pushed. */
#include <glib.h>

#include "tasks.h"

enum kind { TREE = 1, PIPE, BLOCK, COUNT }; /* not 0: the pool accepts no NULL */

static GThreadPool *pool;

static void run(gpointer data, gpointer context)
{
    gsize number = GPOINTER_TO_SIZE(data) >> 3;
    (void)context;
    switch ((enum kind)(GPOINTER_TO_SIZE(data) & 7)) {
    case TREE:
        tree_ran((long)number);
        break;
    case PIPE:
        pipe_ran((long)number);
        break;
    case BLOCK:
        worker_block();
        break;
    case COUNT:
        task_ran();
        break;
    }
}

static void push(enum kind kind, long number)
{
    MUST(g_thread_pool_push(pool, GSIZE_TO_POINTER((gsize)number << 3 | kind), NULL));
}

static void open_pool(int workers)
{
    pool = g_thread_pool_new(run, NULL, workers, TRUE, NULL);
    MUST(pool != NULL);
}

static void close_pool(void)
{
    g_thread_pool_free(pool, FALSE, TRUE);
}

static void tree(long number)
{
    push(TREE, number);
}

static void pipe_one(long number)
{
    push(PIPE, number);
}

static void block(void)
{
    push(BLOCK, 0);
}

static void execute(long count)
{
    for (long i = 0; i < count; i++)
        push(COUNT, 0);
}

const struct tasks_peer tasks_peer = {
    .open = open_pool,
    .close = close_pool,
    .tree = tree,
    .pipe = pipe_one,
    .block = block,
    .execute = execute,
};
