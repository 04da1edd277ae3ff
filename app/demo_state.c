/* SPDX-License-Identifier: Apache-2.0 */
/* demo_state.c - asks hora for everything that the screen of the demo shows */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"

/* The tasks that can be explained: the last import, and these series. */
static const int explained[] = {DEMO_FLAKY, DEMO_RESIZE, DEMO_BACKUP};

/* The series on the screen, the most interesting first: a small screen does not show all. */
static const int order[DEMO_SERIES] = {DEMO_HEARTBEAT, DEMO_RESIZE, DEMO_FLAKY,  DEMO_REPORT,
                                       DEMO_BACKUP,    DEMO_POLL,   DEMO_VOLLEY, DEMO_FEED};

enum { EXPLAINED = 1 + sizeof explained / sizeof *explained };

static void copy_text(char *text, size_t size, const char *from)
{
    (void)snprintf(text, size, "%s", from);
}

/* ---- counts ---- */

static void add_counts(hora_counts *sum, const hora_counts *more)
{
    sum->submitted += more->submitted;
    sum->started += more->started;
    sum->done += more->done;
    sum->failed += more->failed;
    sum->cancelled += more->cancelled;
    sum->rejected += more->rejected;
    sum->expired += more->expired;
    sum->skipped += more->skipped;
}

int demo_state_counts(struct demo *demo, hora_counts *ret_counts)
{
    hora_counts more = HORA_INIT(hora_counts);
    int error = hora_pool_get_counts(demo->scheduler, NULL, ret_counts);
    if (error == 0)
        error = hora_pool_get_counts(demo->calendar, NULL, &more);
    add_counts(ret_counts, &more);
    return error;
}

/* ---- samples ---- */

/* Adds a sample, and drops the oldest if there are too many. */
static void add_sample(struct demo_view *view, int64_t rate, hora_ns late)
{
    if (view->samples == VIEW_HISTORY) {
        memmove(view->rates, view->rates + 1, (VIEW_HISTORY - 1) * sizeof *view->rates);
        memmove(view->lates, view->lates + 1, (VIEW_HISTORY - 1) * sizeof *view->lates);
        view->samples--;
    }
    view->rates[view->samples] = rate;
    view->lates[view->samples++] = late;
}

/* Takes a sample if it is time for one. If this thread was not running when it was due, the sample is
 * longer. */
static void sample(struct demo *demo, int64_t runs)
{
    struct demo_view *view = &demo->view;
    hora_ns now = demo_now();
    hora_ns passed = now - demo->sampled_at;
    if (passed < HORA_SECONDS(1) / VIEW_SAMPLES_PER_S)
        return;
    int64_t rate = (int64_t)((double)(runs - demo->sampled_runs) * 1e9 / (double)passed + 0.5);
    add_sample(view, rate, atomic_exchange(&demo->latest, 0));
    demo->sampled_at = now;
    demo->sampled_runs = runs;
    view->rate = 0;
    view->late = 0;
    int count = view->samples < VIEW_SAMPLES_PER_S ? view->samples : VIEW_SAMPLES_PER_S;
    for (int i = view->samples - count; i < view->samples; i++) {
        view->rate += view->rates[i];
        view->late = view->lates[i] > view->late ? view->lates[i] : view->late;
    }
    view->rate /= count;
}

/* ---- workers, series, tasks ---- */

static void update_worker(struct demo *demo, const hora_worker_info *info, struct view_worker *worker)
{
    hora_distribution run = HORA_INIT(hora_distribution);
    *worker = (struct view_worker){.number = info->number, .is_running = info->running};
    if (!info->running)
        return;
    copy_text(worker->name, sizeof worker->name, info->name);
    worker->elapsed = info->running_for;
    worker->done = info->done;
    worker->of = info->of;
    if (hora_pool_get_distribution(demo->scheduler, info->name, HORA_METRIC_RUN, &run) == 0)
        worker->usual = run.p50;
}

static int update_workers(struct demo *demo)
{
    hora_worker_info infos[VIEW_WORKERS] = {HORA_INIT(hora_worker_info)};
    int count = hora_pool_workers(demo->scheduler, infos, VIEW_WORKERS);
    if (count < 0)
        return count;
    demo->view.worker_count = count < VIEW_WORKERS ? count : VIEW_WORKERS;
    for (int i = 0; i < demo->view.worker_count; i++)
        update_worker(demo, &infos[i], &demo->view.workers[i]);
    return 0;
}

static enum view_state state_of(const hora_schedule_info *info, hora_ns delay)
{
    if (info->paused)
        return VIEW_PAUSED;
    if (info->running > 0)
        return VIEW_RUNNING;
    if (delay <= 0)
        return VIEW_DUE;
    return info->failures_in_a_row > 0 ? VIEW_BACKING_OFF : VIEW_WAITING;
}

static void update_series(struct demo *demo, int index, struct view_series *view)
{
    const struct demo_series *series = &demo->series[index];
    hora_scheduler *scheduler = index < DEMO_CALENDAR ? demo->scheduler : demo->calendar;
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    hora_distribution late = HORA_INIT(hora_distribution);
    hora_ns delay = 0;
    if (hora_future_get_schedule_info(series->future, &info) < 0 ||
        hora_future_delay(series->future, &delay) < 0)
        return; /* the last state stays on the screen */
    if (hora_pool_get_distribution(scheduler, series->name, HORA_METRIC_LATENESS, &late) == 0)
        view->late = late.p99;
    char time[VIEW_NAME] = "";
    if (index == DEMO_BACKUP)
        demo_calendar_time(demo, time, sizeof time);
    copy_text(view->name, sizeof view->name, series->name);
    (void)snprintf(view->plan, sizeof view->plan, "%s%s%s", series->plan, *time != '\0' ? " " : "", time);
    view->state = state_of(&info, delay);
    view->next = delay;
    view->period = info.next != HORA_NEVER && info.last_end != HORA_NEVER ? info.next - info.last_end
                   : index == DEMO_BACKUP                                 ? HORA_HOURS(24)
                                                                          : 0;
    view->runs = info.runs;
    view->failures = info.failures;
    view->failures_in_a_row = info.failures_in_a_row;
    view->skipped = info.skipped;
}

/* Adds the task names of a scheduler to the view. */
static void update_tasks(struct demo_view *view, hora_scheduler *scheduler)
{
    const char *names[VIEW_TASKS];
    int count = hora_pool_task_names(scheduler, names, VIEW_TASKS);
    for (int i = 0; i < count && i < VIEW_TASKS && view->task_count < VIEW_TASKS; i++) {
        struct view_task *task = &view->tasks[view->task_count];
        hora_distribution run = HORA_INIT(hora_distribution);
        hora_distribution late = HORA_INIT(hora_distribution);
        *task = (struct view_task){.counts = HORA_INIT(hora_counts)};
        if (hora_pool_get_counts(scheduler, names[i], &task->counts) < 0 ||
            hora_pool_get_distribution(scheduler, names[i], HORA_METRIC_RUN, &run) < 0 ||
            hora_pool_get_distribution(scheduler, names[i], HORA_METRIC_LATENESS, &late) < 0)
            continue;
        copy_text(task->name, sizeof task->name, names[i]);
        task->run = run.p50;
        task->late = late.p99;
        view->task_count++;
    }
}

/* ---- class, explanation, timers ---- */

static void update_class(struct demo *demo)
{
    hora_counts counts = HORA_INIT(hora_counts);
    demo->view.class_info = (hora_class_info)HORA_INIT(hora_class_info);
    (void)hora_class_get_info(demo->imports, &demo->view.class_info);
    if (hora_pool_get_counts(demo->scheduler, "import", &counts) == 0)
        demo->view.class_expired = counts.expired;
}

static void update_why(struct demo *demo)
{
    bool is_import = demo->explained == 0;
    hora_future *future = is_import ? demo_load_last_import(demo)
                                    : hora_future_ref(demo->series[explained[demo->explained - 1]].future);
    if (future != NULL)
        (void)hora_future_explain(future, demo->view.why, sizeof demo->view.why);
    (void)hora_future_unref(future);
}

const char *demo_state_explain_next(struct demo *demo)
{
    demo->explained = (demo->explained + 1) % EXPLAINED;
    return demo->explained == 0 ? "import" : demo->series[explained[demo->explained - 1]].name;
}

static void update_timers(struct demo *demo)
{
    hora_counts counts = HORA_INIT(hora_counts);
    demo->view.timers = demo->timer_count;
    demo->view.timers_pending = 0;
    if (demo->view.timers > 0) {
        (void)!hora_pool_get_counts(demo->scheduler, "timer", &counts); /* HORA_ENOENT: none has expired */
        demo->view.timers_pending = demo->view.timers - counts.started;
    }
}

int demo_state_update(struct demo *demo)
{
    struct demo_view *view = &demo->view;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_counts counts = HORA_INIT(hora_counts);
    hora_distribution late = HORA_INIT(hora_distribution);
    int error = hora_pool_get_stats(demo->scheduler, &stats);
    if (error == 0)
        error = demo_state_counts(demo, &counts);
    if (error == 0)
        error = hora_pool_get_distribution(demo->scheduler, NULL, HORA_METRIC_LATENESS, &late);
    if (error == 0)
        error = update_workers(demo);
    if (error < 0)
        return error;
    view->elapsed = demo_now() - demo->begin;
    view->length = demo->end - demo->begin;
    view->is_paused = demo->is_paused;
    view->threads = stats.core_threads;
    view->active = stats.active;
    view->queued = stats.queued;
    view->runs = counts.started;
    view->p50 = late.p50;
    view->p99 = late.p99;
    view->early = atomic_load(&demo->early);
    sample(demo, counts.started);
    view->series_count = DEMO_SERIES;
    for (int i = 0; i < DEMO_SERIES; i++)
        update_series(demo, order[i], &view->series[i]);
    view->task_count = 0;
    update_tasks(view, demo->scheduler);
    update_tasks(view, demo->calendar);
    update_class(demo);
    update_why(demo);
    update_timers(demo);
    demo_log_fetch(demo);
    memcpy(view->log, demo->log.latest, sizeof view->log);
    view->log_count = demo->log.count;
    demo_keys_list(demo, view);
    return 0;
}
