/* SPDX-License-Identifier: Apache-2.0 */
/* demo_load.c - a mixed load for the demo
 *
 * It contains a fixed rate, a fixed delay, cron, one-shot tasks, a task that fails and backs off, one that
 * sometimes takes far longer than usual, and a class at its limit. Most real tasks wait for something; here
 * they sleep. hora_sleep can be interrupted, so the demo ends immediately. */
#include <stdatomic.h>
#include <stddef.h>

#include "demo.h"
#include "figures.h"

/* Sleeps, as a stand-in for waiting on something. Returns an error if the task is interrupted. */
static int wait_for(hora_ns time)
{
    return hora_sleep(time) == 0 ? 0 : HORA_EINTERRUPTED;
}

static int heartbeat(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int poll_feed(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return wait_for(HORA_MS(60));
}

static int report(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return wait_for(HORA_MS(20));
}

static int backup(void *arg, void **ret_result)
{
    (void)ret_result;
    int error = wait_for(HORA_MS(200));
    demo_log_add(arg, STYLE_GOOD, "backup done");
    return error;
}

/* A task that fails three times in a row after three successes; or each time, if the user wants it. */
static int flaky(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    bool fails = demo->flaky_runs++ % 6 >= 3 || atomic_load(&demo->is_failing);
    return fails ? 7 : wait_for(HORA_MS(10));
}

/* A task that reports its progress. Each fourth run takes four times as long as the others. */
static int resize(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    hora_ns step = HORA_MS(++demo->resize_runs % 4 == 0 ? 160 : 40);
    int error = 0;
    for (int i = 1; i <= 15 && error == 0; i++) {
        error = wait_for(step);
        hora_progress(i, 15);
    }
    return error;
}

static int shot(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

/* Schedules twenty one-shot tasks within the next two seconds. */
static int volley(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    int error = 0;
    for (int i = 0; i < 20 && error >= 0; i++) {
        unsigned number = demo->shots++ * 2654435761u; /* pseudo-random, and the same each time */
        hora_ns delay = HORA_MS((hora_ns)(number % 2000));
        error = hora_scheduler_schedule(demo->scheduler, HORA_TASK(shot, NULL, .name = "shot"), delay, NULL);
    }
    return error == HORA_EREJECTED ? 0 : error; /* the scheduler is shut down */
}

static int import(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return wait_for(HORA_MS(500));
}

/* Submits more imports than their class lets run: some wait, and some expire. */
static int feed(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    hora_future *future;
    int error = hora_pool_submit_with(
        demo->scheduler, HORA_TASK(import, NULL, .name = "import"),
        HORA_TASK_OPTIONS(.task_class = demo->imports, .start_within = HORA_SECONDS(2)), &future, NULL);
    if (error < 0)
        return error == HORA_EREJECTED ? 0 : error;
    (void)hora_future_unref(atomic_exchange(&demo->last_import, future));
    return 0;
}

/* A task that computes: a checksum of a thousand numbers. */
static int job(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    uint64_t sum = 14695981039346656037u;
    for (uint64_t i = 0; i < 1000; i++)
        sum = (sum ^ i) * 1099511628211u;
    (void)atomic_fetch_xor(&demo->checksum, sum);
    return 0;
}

/* Submits ten jobs. It runs a hundred times per second. */
static int pump(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo *demo = arg;
    int error = 0;
    for (int i = 0; i < 10 && error == 0; i++)
        error = hora_pool_execute(demo->scheduler, HORA_TASK(job, demo, .name = "job"));
    return error == HORA_EREJECTED ? 0 : error;
}

/* ---- listeners; they run in many threads at once ---- */

/* Counts early runs and keeps the largest lateness. Imports wait for their class, not only for their time. */
static void on_started(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    struct demo *demo = arg;
    if (event->late < 0)
        (void)atomic_fetch_add(&demo->early, 1);
    if (event->task != NULL && event->task->run == import)
        return;
    hora_ns latest = atomic_load(&demo->latest);
    while (event->late > latest && !atomic_compare_exchange_weak(&demo->latest, &latest, event->late))
        ;
}

void demo_on_skipped(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    demo_log_add(arg, STYLE_WARN, "%s: %s planned time%s skipped", event->task->name, COUNT(event->count),
                 event->count == 1 ? "" : "s");
}

static void on_failed(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    if (event->code > 0) /* not HORA_EINTERRUPTED, at the end of the demo */
        demo_log_add(arg, STYLE_BAD, "%s failed with code %d, %lld in a row", event->task->name, event->code,
                     (long long)event->failures_in_a_row);
}

/* ---- starting and stopping ---- */

static const struct demo_series parts[DEMO_SERIES] = {
    [DEMO_HEARTBEAT] = {"heartbeat", "every 250 ms", heartbeat, {.fixed_rate = HORA_MS(250)}, NULL},
    [DEMO_POLL] = {"poll", "every 500 ms", poll_feed, {.fixed_rate = HORA_MS(500)}, NULL},
    [DEMO_RESIZE] = {"resize", "400 ms after each end", resize, {.fixed_delay = HORA_MS(400)}, NULL},
    [DEMO_FLAKY] = {"flaky",
                    "every 700 ms, backs off",
                    flaky,
                    {.fixed_rate = HORA_MS(700), .failure = HORA_FAILURE_BACK_OFF, .back_off = HORA_MS(500)},
                    NULL},
    [DEMO_VOLLEY] = {"volley", "20 one-shots per second", volley, {.fixed_rate = HORA_SECONDS(1)}, NULL},
    [DEMO_FEED] = {"feed", "every 300 ms, one import", feed, {.fixed_rate = HORA_MS(300)}, NULL},
    [DEMO_REPORT] = {"report", "cron: every 5 seconds", report, {.cron = "*/5 * * * * *"}, NULL},
    [DEMO_BACKUP] = {"backup", "at 03:00, it is", backup, {.cron = "0 0 3 * * *"}, NULL},
};

int demo_series_start(struct demo *demo, hora_scheduler *scheduler, int index, hora_error *reterr_error)
{
    struct demo_series *series = &demo->series[index];
    series->spec.struct_size = sizeof series->spec;
    return hora_scheduler_schedule_with(scheduler, HORA_TASK(series->run, demo, .name = series->name),
                                        &series->spec, &series->future, reterr_error);
}

int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error)
{
    for (int i = 0; i < DEMO_SERIES; i++)
        demo->series[i] = parts[i];
    *reterr_what = "the scheduler";
    int error = hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = DEMO_THREADS, .name = "demo", .metrics = HORA_METRICS(),
                               .admission = HORA_ADMISSION(),
                               .listener = HORA_LISTENER(.started = on_started, .failed = on_failed,
                                                         .skipped = demo_on_skipped, .arg = demo)),
        &demo->scheduler, reterr_error);
    if (error < 0)
        return error;
    *reterr_what = "the class import";
    error = hora_class_new(demo->scheduler, HORA_CLASS_OPTIONS(.name = "import", .limit = 1), &demo->imports,
                           reterr_error);
    for (int i = 0; i < DEMO_CALENDAR && error == 0; i++) {
        *reterr_what = demo->series[i].name;
        error = demo_series_start(demo, demo->scheduler, i, reterr_error);
    }
    return error;
}

int demo_load_stop(struct demo *demo)
{
    int error = hora_scheduler_set_cancel_delayed(demo->scheduler, true);
    if (error == 0)
        /* After a second, hora abandons waiting tasks and interrupts running ones. */
        error = hora_pool_close_for(demo->scheduler, HORA_SECONDS(1));
    if (error == HORA_ETIMEDOUT)
        error = hora_pool_await_termination_for(demo->scheduler, HORA_SECONDS(5));
    for (int i = 0; i < DEMO_SERIES; i++)
        demo->series[i].future = hora_future_unref(demo->series[i].future);
    demo->pump = hora_future_unref(demo->pump);
    (void)hora_future_unref(atomic_exchange(&demo->last_import, NULL));
    return error;
}

/* ---- changes while it runs ---- */

static void pause_one(hora_future *future, bool is_paused)
{
    if (is_paused)
        (void)hora_future_pause(future);
    else
        (void)hora_future_resume(future);
}

void demo_load_pause(struct demo *demo, bool is_paused)
{
    for (int i = 0; i < DEMO_SERIES; i++)
        pause_one(demo->series[i].future, is_paused);
    if (demo->pump != NULL)
        pause_one(demo->pump, is_paused);
}

int demo_load_pump(struct demo *demo, bool is_on)
{
    if (!is_on) {
        (void)hora_future_cancel(demo->pump, false);
        demo->pump = hora_future_unref(demo->pump);
        return 0;
    }
    int error = hora_scheduler_schedule_with(
        demo->scheduler, HORA_TASK(pump, demo, .name = "pump"),
        HORA_SCHEDULE(.fixed_rate = HORA_MS(10), .missed = HORA_MISSED_BURST), &demo->pump, NULL);
    if (error == 0 && demo->is_paused)
        pause_one(demo->pump, true);
    return error;
}

hora_future *demo_load_last_import(struct demo *demo)
{
    /* Take the reference out of the field while it is copied, so that feed cannot release it at that time. */
    hora_future *future = atomic_exchange(&demo->last_import, NULL);
    hora_future *none = NULL;
    (void)hora_future_ref(future);
    if (future != NULL && !atomic_compare_exchange_strong(&demo->last_import, &none, future))
        (void)hora_future_unref(future); /* feed has stored a newer one */
    return future;
}
