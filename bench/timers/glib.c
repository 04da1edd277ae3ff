/* SPDX-License-Identifier: Apache-2.0 */
/* glib.c - GLib's timeout sources of one GMainContext, in whole milliseconds
 *
 * Any thread may attach and destroy sources, which wakes the loop. So after timers_fill the loop has a
 * separate thread even if there is only one producer. An iteration of the loop checks all sources, so
 * timers_fire runs the loop only after it has attached all of them. Repeating timers count from the time at
 * which the loop ran them, so they drift. */
#include <glib.h>

#include "timers.h"

static GMainContext *context;
static GMainLoop *loop;
static GThread *loop_thread;       /* NULL: the caller runs the loop */
static guint *pending;             /* the ids by which the timers of timers_fill could be cancelled */
static GSource *lagging[MOST_LAG]; /* timers that are cancelled later; NULL: none */

static guint up_to_ms(int64_t ns)
{
    return ns > 0 ? (guint)((ns + 999999) / 1000000) : 0;
}

static GSource *attach(int64_t delay_ns, GSourceFunc function, gpointer data)
{
    GSource *source = g_timeout_source_new(up_to_ms(delay_ns));
    g_source_set_callback(source, function, data, NULL);
    MUST(g_source_attach(source, context) > 0);
    return source;
}

static gboolean on_expired(gpointer data)
{
    (void)data;
    timer_expired();
    return G_SOURCE_REMOVE;
}

static gboolean on_forbidden(gpointer data)
{
    (void)data;
    timer_forbidden();
    return G_SOURCE_REMOVE;
}

static gboolean on_fired(gpointer data)
{
    timer_fired((long)GPOINTER_TO_SIZE(data));
    return G_SOURCE_REMOVE;
}

static gboolean on_ran(gpointer data)
{
    timer_ran(GPOINTER_TO_INT(data));
    return G_SOURCE_CONTINUE;
}

static gboolean on_last(gpointer data)
{
    (void)data;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

void timers_open(void)
{
    context = g_main_context_new();
    loop = g_main_loop_new(context, FALSE);
}

static gpointer run_loop(gpointer data)
{
    (void)data;
    g_main_loop_run(loop);
    return NULL;
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = g_new(guint, (gsize)count);
    for (long i = 0; i < count; i++) {
        GSource *source = attach(due_ns[i] - now_ns(), on_expired, NULL);
        pending[i] = g_source_get_id(source);
        g_source_unref(source);
    }
    loop_thread = g_thread_new("loop", run_loop, NULL);
}

void timers_part(void)
{
}

static void detach(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    (void)producer;
    for (long i = 0; i < count; i++) {
        if (lag == 0) {
            detach(attach(delay_ns[i], on_forbidden, NULL));
            continue;
        }
        GSource **slot = &lagging[calls++ % lag];
        if (*slot != NULL)
            detach(*slot);
        *slot = attach(delay_ns[i], on_forbidden, NULL);
    }
}

void timers_settle(void)
{
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    int64_t last_ns = now_ns();
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        g_source_unref(attach(delay_ns[i], on_fired, GSIZE_TO_POINTER(i)));
        last_ns = MAX(last_ns, due_ns[i]);
    }
    /* End the loop after all timers: each was rounded up by less than 2 ms. */
    g_source_unref(attach(last_ns - now_ns() + 2000000, on_last, NULL));
    g_main_loop_run(loop);
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    GSource **series = g_new(GSource *, (gsize)tasks + 1);
    for (int i = 0; i < tasks; i++) {
        /* The interval applies to all runs, so the time of the first one is set separately. */
        series[i] = attach(period_ns, on_ran, GINT_TO_POINTER(i));
        g_source_set_ready_time(series[i], (first_ns[i] + 999) / 1000);
    }
    if (loop_thread != NULL) {
        wait_until(end_ns);
    } else {
        g_source_unref(attach(end_ns - now_ns(), on_last, NULL));
        g_main_loop_run(loop);
    }
    for (int i = 0; i < tasks; i++) {
        detach(series[i]);
    }
    g_free(series);
}

void timers_close(void)
{
    if (loop_thread != NULL) {
        g_main_loop_quit(loop);
        g_thread_join(loop_thread);
    }
}
