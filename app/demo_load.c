/* SPDX-License-Identifier: Apache-2.0 */
/* demo_load.c - a mixed load for the demo
 *
 * It contains a fixed rate, a fixed delay, cron, one-shot tasks, a failing task, a slow one, and a class at
 * its limit. Most real tasks wait for something; here they sleep. hora_sleep can be interrupted, so the demo
 * ends immediately. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "command.h"
#include "demo.h"

struct demo_load {
    _Atomic int64_t early;              /* runs that started before their time */
    _Atomic(hora_future *) last_import; /* a reference to the last import submitted; NULL: none */
    struct demo *demo;
    /* Used only by one series each. Runs of a series are sequential, so no lock is needed. */
    unsigned flaky_runs; /* runs of flaky */
    unsigned shots;      /* shots that volley has scheduled */
};

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

/* A task of which every third run fails. */
static int flaky(void *arg, void **ret_result)
{
    (void)ret_result;
    struct demo_load *load = arg;
    return ++load->flaky_runs % 3 == 0 ? 7 : wait_for(HORA_MS(10));
}

/* A task of 1.5 s that reports its progress. */
static int slow(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    int error = 0;
    for (int i = 1; i <= 15 && error == 0; i++) {
        error = wait_for(HORA_MS(100));
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
    struct demo_load *load = arg;
    int error = 0;
    for (int i = 0; i < 20 && error >= 0; i++) {
        unsigned number = load->shots++ * 2654435761u; /* pseudo-random, and the same each time */
        hora_ns delay = HORA_MS((hora_ns)(number % 2000));
        error = hora_scheduler_schedule(load->demo->scheduler, HORA_TASK(shot, NULL, .name = "shot"), delay,
                                        NULL);
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
    struct demo_load *load = arg;
    hora_future *future;
    int error = hora_pool_submit_with(
        load->demo->scheduler, HORA_TASK(import, NULL, .name = "import"),
        HORA_TASK_OPTIONS(.task_class = load->demo->imports, .start_within = HORA_SECONDS(2)), &future, NULL);
    if (error < 0)
        return error == HORA_EREJECTED ? 0 : error;
    (void)hora_future_unref(atomic_exchange(&load->last_import, future));
    return 0;
}

/* ---- starting ---- */

/* The listener: counts runs that start early. It runs in many threads at once. */
static void started(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    struct demo_load *load = arg;
    if (event->late < 0)
        (void)atomic_fetch_add(&load->early, 1);
}

/* A series of the load. */
struct part {
    const char *name;
    const char *plan; /* in words */
    hora_run_fn run;
    hora_schedule spec; /* without struct_size */
};

static const struct part parts[DEMO_SERIES] = {
    {"heartbeat", "every 250 ms", heartbeat, {.fixed_rate = HORA_MS(250)}},
    {"poll", "400 ms after each end", poll_feed, {.fixed_delay = HORA_MS(400)}},
    {"report", "cron: every 5 seconds", report, {.cron = "*/5 * * * * *"}},
    {"flaky",
     "every 700 ms, backs off",
     flaky,
     {.fixed_rate = HORA_MS(700), .failure = HORA_FAILURE_BACK_OFF, .back_off = HORA_SECONDS(1)}},
    {"slow", "every 2 s, takes 1.5 s", slow, {.fixed_rate = HORA_SECONDS(2)}},
    {"volley", "20 one-shots per second", volley, {.fixed_rate = HORA_SECONDS(1)}},
    {"feed", "every 300 ms, one import", feed, {.fixed_rate = HORA_MS(300)}},
};

/* Schedules one series. Returns 0, or an error with the reason. */
static int start_series(struct demo *demo, int index, hora_error *reterr_error)
{
    const struct part *part = &parts[index];
    struct demo_series *series = &demo->series[index];
    hora_schedule spec = part->spec;
    spec.struct_size = sizeof spec;
    series->name = part->name;
    series->plan = part->plan;
    return hora_scheduler_schedule_with(demo->scheduler, HORA_TASK(part->run, demo->load, .name = part->name),
                                        &spec, &series->future, reterr_error);
}

int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error)
{
    struct demo_load *load = memory(sizeof *load);
    *load = (struct demo_load){.demo = demo};
    demo->load = load;
    *reterr_what = "the scheduler";
    int error =
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = DEMO_THREADS, .name = "demo",
                                                  .metrics = HORA_METRICS(), .admission = HORA_ADMISSION(),
                                                  .listener = HORA_LISTENER(.started = started, .arg = load)),
                           &demo->scheduler, reterr_error);
    if (error < 0)
        return error;
    *reterr_what = "the class import";
    error = hora_class_new(demo->scheduler, HORA_CLASS_OPTIONS(.name = "import", .limit = 1), &demo->imports,
                           reterr_error);
    for (int i = 0; i < DEMO_SERIES && error == 0; i++) {
        *reterr_what = parts[i].name;
        error = start_series(demo, i, reterr_error);
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
    (void)hora_future_unref(atomic_exchange(&demo->load->last_import, NULL));
    return error;
}

void demo_load_pause(struct demo *demo, bool paused)
{
    for (int i = 0; i < DEMO_SERIES; i++) {
        if (paused)
            (void)hora_future_pause(demo->series[i].future);
        else
            (void)hora_future_resume(demo->series[i].future);
    }
}

hora_future *demo_load_last_import(struct demo *demo)
{
    /* Take the reference out of the field while it is copied, so that feed cannot release it at that time. */
    hora_future *future = atomic_exchange(&demo->load->last_import, NULL);
    hora_future *none = NULL;
    (void)hora_future_ref(future);
    if (future != NULL && !atomic_compare_exchange_strong(&demo->load->last_import, &none, future))
        (void)hora_future_unref(future); /* feed has stored a newer one */
    return future;
}

int64_t demo_load_early(const struct demo *demo)
{
    return atomic_load(&demo->load->early);
}
