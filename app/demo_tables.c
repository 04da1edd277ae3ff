/* SPDX-License-Identifier: Apache-2.0 */
/* demo_tables.c - the panels of the demo that are tables: workers, series, task names */
#include "demo_tables.h"

#include <stddef.h>
#include <stdio.h>

#include "demo_view.h"
#include "figures.h"
#include "panels.h"

/* ---- workers ---- */

enum { WORKER_NAME, WORKER_ELAPSED, WORKER_USUAL, WORKER_BAR, WORKER_TIMES, WORKER_PROGRESS, WORKER_COLUMNS };

static const struct grid_column worker_columns[WORKER_COLUMNS] = {
    [WORKER_NAME] = {"WORKERS", 12, false, 0},  [WORKER_ELAPSED] = {"ELAPSED", 8, true, 22},
    [WORKER_USUAL] = {"USUAL", 8, true, 32},    [WORKER_BAR] = {"", 0, false, 40},
    [WORKER_TIMES] = {"OF USUAL", 8, true, 52}, [WORKER_PROGRESS] = {"PROGRESS", 9, true, 66},
};

/* Draws the elapsed time as a part of twice the usual time. */
static void draw_usual(const struct view_worker *worker, const struct grid *grid, struct area area, int row)
{
    double times = (double)worker->elapsed / (double)worker->usual;
    enum style style = times < 1.2 ? STYLE_GOOD : times < 2 ? STYLE_WARN : STYLE_BAD;
    char text[FIGURE_TEXT];
    (void)snprintf(text, sizeof text, times < 10 ? "%.1f x" : "%.0f x", times);
    grid_put(grid, area, row, WORKER_USUAL, STYLE_PLAIN, DURATION(worker->usual));
    grid_put(grid, area, row, WORKER_TIMES, style, text);
    if (grid->at[WORKER_BAR] != GRID_HIDDEN)
        area_bar(area, row, grid->at[WORKER_BAR] + 1, grid->width[WORKER_BAR] - 2, times / 2, style);
}

static void draw_worker(const struct view_worker *worker, const struct grid *grid, struct area area, int row)
{
    char name[VIEW_NAME + FIGURE_TEXT];
    (void)snprintf(name, sizeof name, "%2d %s", worker->number, worker->is_running ? worker->name : "idle");
    grid_put(grid, area, row, WORKER_NAME, worker->is_running ? STYLE_BOLD : STYLE_DIM, name);
    if (!worker->is_running)
        return;
    grid_put(grid, area, row, WORKER_ELAPSED, STYLE_PLAIN, DURATION(worker->elapsed));
    if (worker->usual > 0)
        draw_usual(worker, grid, area, row);
    if (worker->of > 0) {
        char text[2 * FIGURE_TEXT + 8];
        (void)snprintf(text, sizeof text, "%s of %s", COUNT(worker->done), COUNT(worker->of));
        grid_put(grid, area, row, WORKER_PROGRESS, STYLE_INFO, text);
    }
}

void table_workers(const struct demo_view *view, struct area area)
{
    struct grid grid = grid_place(worker_columns, WORKER_COLUMNS, area);
    grid_put_titles(&grid, area);
    if (grid.at[WORKER_BAR] != GRID_HIDDEN && grid.width[WORKER_BAR] > 8) /* the middle of the bars */
        (void)area_put(area, 0, grid.at[WORKER_BAR] + grid.width[WORKER_BAR] / 2 - 1, STYLE_DIM, "1 x");
    int count = grid_rows(area, view->worker_count);
    for (int i = 0; i < count; i++)
        draw_worker(&view->workers[i], &grid, area, i + 1);
}

/* ---- series ---- */

enum {
    SERIES_NAME,
    SERIES_PLAN,
    SERIES_NEXT,
    SERIES_BAR,
    SERIES_RUNS,
    SERIES_FAILED,
    SERIES_SKIPPED,
    SERIES_LATE,
    SERIES_COLUMNS
};

static const struct grid_column series_columns[SERIES_COLUMNS] = {
    [SERIES_NAME] = {"SERIES", 10, false, 0},    [SERIES_PLAN] = {"PLAN", 25, false, 76},
    [SERIES_NEXT] = {"NEXT RUN", 11, false, 24}, [SERIES_BAR] = {"", 0, false, 50},
    [SERIES_RUNS] = {"RUNS", 6, true, 34},       [SERIES_FAILED] = {"FAILED", 6, true, 42},
    [SERIES_SKIPPED] = {"SKIPPED", 7, true, 50}, [SERIES_LATE] = {"LATE p99", 10, true, 90},
};

/* Draws the time until the next run, which counts down. */
static void draw_next(const struct view_series *series, const struct grid *grid, struct area area, int row)
{
    static const char *const words[] = {
        [VIEW_DUE] = "due", [VIEW_RUNNING] = "running", [VIEW_PAUSED] = "paused"};
    static const enum style styles[] = {[VIEW_WAITING] = STYLE_INFO,
                                        [VIEW_BACKING_OFF] = STYLE_BAD,
                                        [VIEW_DUE] = STYLE_WARN,
                                        [VIEW_RUNNING] = STYLE_GOOD,
                                        [VIEW_PAUSED] = STYLE_WARN};
    enum style style = styles[series->state];
    if (series->state != VIEW_WAITING && series->state != VIEW_BACKING_OFF) {
        grid_put(grid, area, row, SERIES_NEXT, style, words[series->state]);
        return;
    }
    grid_put(grid, area, row, SERIES_NEXT, style, DURATION(series->next));
    if (grid->at[SERIES_BAR] != GRID_HIDDEN && series->period > 0)
        area_bar(area, row, grid->at[SERIES_BAR], grid->width[SERIES_BAR],
                 (double)series->next / (double)series->period, style);
}

static void draw_series(const struct view_series *series, const struct grid *grid, struct area area, int row)
{
    grid_put(grid, area, row, SERIES_NAME, STYLE_BOLD, series->name);
    if (series->failures_in_a_row > 0) {
        char plan[VIEW_TEXT];
        (void)snprintf(plan, sizeof plan, "failed %sx, backs off", COUNT(series->failures_in_a_row));
        grid_put(grid, area, row, SERIES_PLAN, STYLE_BAD, plan);
    } else {
        grid_put(grid, area, row, SERIES_PLAN, STYLE_PLAIN, series->plan);
    }
    draw_next(series, grid, area, row);
    grid_put_count(grid, area, row, SERIES_RUNS, STYLE_PLAIN, series->runs);
    grid_put_count(grid, area, row, SERIES_FAILED, STYLE_BAD, series->failures);
    grid_put_count(grid, area, row, SERIES_SKIPPED, STYLE_WARN, series->skipped);
    grid_put(grid, area, row, SERIES_LATE, STYLE_PLAIN, DURATION(series->late));
}

void table_series(const struct demo_view *view, struct area area)
{
    struct grid grid = grid_place(series_columns, SERIES_COLUMNS, area);
    grid_put_titles(&grid, area);
    int count = grid_rows(area, view->series_count);
    for (int i = 0; i < count; i++)
        draw_series(&view->series[i], &grid, area, i + 1);
}

/* ---- task names ---- */

enum { TASK_NAME, TASK_STARTED, TASK_DONE, TASK_FAILED, TASK_EXPIRED, TASK_RUN, TASK_LATE, TASK_COLUMNS };

static const struct grid_column task_columns[TASK_COLUMNS] = {
    [TASK_NAME] = {"TASKS", 10, false, 0},     [TASK_STARTED] = {"STARTED", 11, true, 24},
    [TASK_DONE] = {"DONE", 11, true, 36},      [TASK_FAILED] = {"FAILED", 9, true, 46},
    [TASK_EXPIRED] = {"EXPIRED", 9, true, 56}, [TASK_RUN] = {"RUN p50", 10, true, 68},
    [TASK_LATE] = {"LATE p99", 10, true, 80},
};

void table_tasks(const struct demo_view *view, struct area area)
{
    struct grid grid = grid_place(task_columns, TASK_COLUMNS, area);
    grid_put_titles(&grid, area);
    int count = grid_rows(area, view->task_count);
    for (int i = 0; i < count; i++) {
        const struct view_task *task = &view->tasks[i];
        grid_put(&grid, area, i + 1, TASK_NAME, STYLE_BOLD, task->name);
        grid_put_count(&grid, area, i + 1, TASK_STARTED, STYLE_PLAIN, task->counts.started);
        grid_put_count(&grid, area, i + 1, TASK_DONE, STYLE_PLAIN, task->counts.done);
        grid_put_count(&grid, area, i + 1, TASK_FAILED, STYLE_BAD, task->counts.failed);
        grid_put_count(&grid, area, i + 1, TASK_EXPIRED, STYLE_WARN, task->counts.expired);
        grid_put(&grid, area, i + 1, TASK_RUN, STYLE_PLAIN, DURATION(task->run));
        grid_put(&grid, area, i + 1, TASK_LATE, STYLE_PLAIN, DURATION(task->late));
    }
}
