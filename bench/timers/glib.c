/* SPDX-License-Identifier: Apache-2.0 */
/* glib.c - GLib's timeout sources of one GMainContext, in whole milliseconds
 *
 * Any thread may attach and destroy sources, which wakes the loop. The loop has a separate thread, which
 * timers_fill starts when it has attached all sources: an iteration of the loop checks all of them. A timeout
 * source of GLib counts from the time at which the loop ran it, and would drift, so a series is a source with
 * a dispatch function of its own, which sets the next planned time, in microseconds. */
#include <glib.h>

#include "timers.h"

static GMainContext *context;
static GMainLoop *loop;
static GThread *loop_thread;            /* NULL: not started yet */
static guint *pending;                  /* the ids by which the timers of timers_fill could be cancelled */
static GSource *lagging[MOST_LAG];      /* timers that are cancelled later; NULL: none */
static GSource *reused[MOST_PRODUCERS]; /* of timers_reuse, one per producer; NULL: not made yet */

/* A repeating timer. */
struct series {
    GSource source;
    int number;
    int64_t next_ns; /* when it runs next */
    int64_t period_ns;
};

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

static gint64 up_to_us(int64_t ns)
{
    return (ns + 999) / 1000;
}

static gboolean run_series(GSource *source, GSourceFunc function, gpointer data)
{
    struct series *series = (struct series *)source; /* its first member */
    (void)function;
    (void)data;
    timer_ran(series->number);
    series->next_ns += series->period_ns;
    g_source_set_ready_time(source, up_to_us(series->next_ns));
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs series_functions = {.dispatch = run_series};

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

static void start_loop(void)
{
    if (loop_thread == NULL)
        loop_thread = g_thread_new("loop", run_loop, NULL);
}

void timers_fill(const int64_t *due_ns, long count)
{
    pending = g_new(guint, (gsize)count);
    for (long i = 0; i < count; i++) {
        GSource *source = attach(due_ns[i] - now_ns(), on_expired, NULL);
        pending[i] = g_source_get_id(source);
        g_source_unref(source);
    }
    start_loop();
}

void timers_part(void)
{
}

static void detach(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}

/* Attaches sources that are destroyed `lag` calls later. */
static void churn_behind(const int64_t *delay_ns, long count, int lag)
{
    static long calls;
    for (long i = 0; i < count; i++) {
        GSource **slot = &lagging[calls++ % lag];
        if (*slot != NULL)
            detach(*slot);
        *slot = attach(delay_ns[i], on_forbidden, NULL);
    }
}

void timers_churn(int producer, const int64_t *delay_ns, long count, int lag)
{
    (void)producer;
    if (lag > 0) {
        churn_behind(delay_ns, count, lag);
        return;
    }
    for (long i = 0; i < count; i++)
        detach(attach(delay_ns[i], on_forbidden, NULL));
}

/* Sets the time of an attached source. Attaches it when it is first used. */
static void set_again(GSource **slot, int64_t delay_ns)
{
    if (*slot == NULL)
        *slot = attach(delay_ns, on_forbidden, NULL);
    else
        g_source_set_ready_time(*slot, up_to_us(now_ns() + delay_ns));
}

void timers_reuse(int producer, const int64_t *delay_ns, long count, int lag)
{
    static long calls; /* only one producer has a lag */
    for (long i = 0; i < count; i++) {
        GSource **slot = lag > 0 ? &lagging[calls++ % lag] : &reused[producer];
        if (lag > 0 && *slot != NULL)
            g_source_set_ready_time(*slot, -1);
        set_again(slot, delay_ns[i]);
        if (lag == 0)
            g_source_set_ready_time(*slot, -1);
    }
}

void timers_settle(void)
{
}

void timers_fire(const int64_t *delay_ns, int64_t *due_ns, long count)
{
    start_loop();
    for (long i = 0; i < count; i++) {
        due_ns[i] = now_ns() + delay_ns[i];
        g_source_unref(attach(delay_ns[i], on_fired, GSIZE_TO_POINTER(i)));
    }
}

static GSource *attach_series(int number, int64_t first_ns, int64_t period_ns)
{
    GSource *source = g_source_new(&series_functions, sizeof(struct series));
    struct series *series = (struct series *)source;
    series->number = number;
    series->next_ns = first_ns;
    series->period_ns = period_ns;
    g_source_set_ready_time(source, up_to_us(first_ns));
    MUST(g_source_attach(source, context) > 0);
    return source;
}

void timers_repeat(const int64_t *first_ns, int tasks, int64_t period_ns, int64_t end_ns)
{
    GSource **series = g_new(GSource *, (gsize)tasks + 1);
    start_loop();
    for (int i = 0; i < tasks; i++)
        series[i] = attach_series(i, first_ns[i], period_ns);
    wait_until(end_ns);
    for (int i = 0; i < tasks; i++)
        detach(series[i]);
    g_free(series);
}

void timers_close(void)
{
    if (loop_thread != NULL) {
        g_main_loop_quit(loop);
        g_thread_join(loop_thread);
    }
}
