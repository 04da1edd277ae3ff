/* SPDX-License-Identifier: Apache-2.0 */
/* glib.c - GLib's exclusive GThreadPool; W2 waits with GMutex and GCond */
#include <glib.h>

#include "pools.h"

/* A call of submit that waits; on its stack. */
struct wait {
    GMutex lock;
    GCond changed;
    gboolean done;
};

static GThreadPool *pool;
static char no_wait; /* pushed for a task that no thread waits for: the pool accepts no NULL */

static void count(gpointer data, gpointer context)
{
    (void)context;
    pool_ran();
    if (data == &no_wait)
        return;
    struct wait *wait = data;
    g_mutex_lock(&wait->lock);
    wait->done = TRUE;
    g_cond_signal(&wait->changed);
    g_mutex_unlock(&wait->lock);
}

static void open_pool(int workers)
{
    pool = g_thread_pool_new(count, NULL, workers, TRUE, NULL);
    MUST(pool != NULL);
}

static void execute(long tasks)
{
    for (long i = 0; i < tasks; i++)
        MUST(g_thread_pool_push(pool, &no_wait, NULL));
}

static void submit(void)
{
    struct wait wait = {.done = FALSE};
    g_mutex_init(&wait.lock);
    g_cond_init(&wait.changed);
    MUST(g_thread_pool_push(pool, &wait, NULL));
    g_mutex_lock(&wait.lock);
    while (!wait.done)
        g_cond_wait(&wait.changed, &wait.lock);
    g_mutex_unlock(&wait.lock);
    g_cond_clear(&wait.changed);
    g_mutex_clear(&wait.lock);
}

static void close_pool(void)
{
    g_thread_pool_free(pool, FALSE, TRUE);
}

const struct pool_peer pool_peer = {open_pool, execute, submit, close_pool};
