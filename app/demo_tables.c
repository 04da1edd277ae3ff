/* SPDX-License-Identifier: Apache-2.0 */
/* demo_tables.c - the panels of the demo that are tables: workers, series, task names
 *
 * Each column states from which width of the area on it is shown. One column of a table takes the width that
 * the others leave. */
#include "demo_tables.h"

#include <stddef.h>
#include <stdio.h>

#include "demo_view.h"
#include "figures.h"

enum { COLUMNS_MOST = 10, HIDDEN = -1 };

struct column {
    const char *title;
    int width; /* 0: what the others leave */
    bool is_right;
    int from; /* shown in areas of at least this many columns */
};

/* The columns of a table in an area. */
struct table {
    const struct column *columns;
    int count;
    int at[COLUMNS_MOST]; /* the first column of the area, or HIDDEN */
    int width[COLUMNS_MOST];
};

/* Places the columns of a table in an area, with a blank between them. */
static struct table place(const struct column *columns, int count, struct area area)
{
    struct table table = {.columns = columns, .count = count};
    int used = 0;
    for (int i = 0; i < count; i++)
        used += area.columns >= columns[i].from ? columns[i].width + 1 : 0;
    int rest = area.columns - used + 1; /* the last column has no blank behind it */
    int at = 0;
    for (int i = 0; i < count; i++) {
        table.width[i] = columns[i].width > 0 ? columns[i].width : rest > 0 ? rest : 0;
        table.at[i] = area.columns >= columns[i].from && table.width[i] > 0 ? at : HIDDEN;
        at += table.at[i] != HIDDEN ? table.width[i] + 1 : 0;
    }
    return table;
}

/* Draws a text in a column, if that is shown. */
static void put(const struct table *table, struct area area, int row, int column, enum style style,
                const char *text)
{
    if (table->at[column] != HIDDEN)
        (void)area_put_in(area, row, table->at[column], table->width[column], table->columns[column].is_right,
                          style, text);
}

static void put_count(const struct table *table, struct area area, int row, int column, enum style style,
                      int64_t number)
{
    put(table, area, row, column, number == 0 ? STYLE_DIM : style, COUNT(number));
}

static void put_titles(const struct table *table, struct area area)
{
    for (int i = 0; i < table->count; i++)
        put(table, area, 0, i, i == 0 ? STYLE_HEAD : STYLE_DIM, table->columns[i].title);
}

/* Returns how many of `count` elements have rows, and says in the last row how many have none. */
static int shown(struct area area, int count)
{
    int rows = area.rows - 1;
    if (count <= rows || rows < 1)
        return count <= rows ? count : 0;
    (void)area_format(area, area.rows - 1, 0, STYLE_DIM, "%d more", count - rows + 1);
    return rows - 1;
}

/* ---- workers ---- */

enum { WORKER_NAME, WORKER_ELAPSED, WORKER_USUAL, WORKER_BAR, WORKER_TIMES, WORKER_PROGRESS, WORKER_COLUMNS };

static const struct column worker_columns[WORKER_COLUMNS] = {
    [WORKER_NAME] = {"WORKERS", 12, false, 0},  [WORKER_ELAPSED] = {"ELAPSED", 8, true, 22},
    [WORKER_USUAL] = {"USUAL", 8, true, 32},    [WORKER_BAR] = {"", 0, false, 40},
    [WORKER_TIMES] = {"OF USUAL", 8, true, 52}, [WORKER_PROGRESS] = {"PROGRESS", 9, true, 66},
};

/* Draws the elapsed time as a part of twice the usual time. */
static void draw_usual(const struct view_worker *worker, const struct table *table, struct area area, int row)
{
    double times = (double)worker->elapsed / (double)worker->usual;
    enum style style = times < 1.2 ? STYLE_GOOD : times < 2 ? STYLE_WARN : STYLE_BAD;
    char text[FIGURE_TEXT];
    (void)snprintf(text, sizeof text, times < 10 ? "%.1f x" : "%.0f x", times);
    put(table, area, row, WORKER_USUAL, STYLE_PLAIN, DURATION(worker->usual));
    put(table, area, row, WORKER_TIMES, style, text);
    if (table->at[WORKER_BAR] != HIDDEN)
        area_bar(area, row, table->at[WORKER_BAR] + 1, table->width[WORKER_BAR] - 2, times / 2, style);
}

static void draw_worker(const struct view_worker *worker, const struct table *table, struct area area,
                        int row)
{
    char name[VIEW_NAME + FIGURE_TEXT];
    (void)snprintf(name, sizeof name, "%2d %s", worker->number, worker->is_running ? worker->name : "idle");
    put(table, area, row, WORKER_NAME, worker->is_running ? STYLE_BOLD : STYLE_DIM, name);
    if (!worker->is_running)
        return;
    put(table, area, row, WORKER_ELAPSED, STYLE_PLAIN, DURATION(worker->elapsed));
    if (worker->usual > 0)
        draw_usual(worker, table, area, row);
    if (worker->of > 0) {
        char text[2 * FIGURE_TEXT + 8];
        (void)snprintf(text, sizeof text, "%s of %s", COUNT(worker->done), COUNT(worker->of));
        put(table, area, row, WORKER_PROGRESS, STYLE_INFO, text);
    }
}

void table_workers(const struct demo_view *view, struct area area)
{
    struct table table = place(worker_columns, WORKER_COLUMNS, area);
    put_titles(&table, area);
    if (table.at[WORKER_BAR] != HIDDEN && table.width[WORKER_BAR] > 8) /* the middle of the bars */
        (void)area_put(area, 0, table.at[WORKER_BAR] + table.width[WORKER_BAR] / 2 - 1, STYLE_DIM, "1 x");
    int count = shown(area, view->worker_count);
    for (int i = 0; i < count; i++)
        draw_worker(&view->workers[i], &table, area, i + 1);
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

static const struct column series_columns[SERIES_COLUMNS] = {
    [SERIES_NAME] = {"SERIES", 10, false, 0},    [SERIES_PLAN] = {"PLAN", 25, false, 76},
    [SERIES_NEXT] = {"NEXT RUN", 11, false, 24}, [SERIES_BAR] = {"", 0, false, 50},
    [SERIES_RUNS] = {"RUNS", 6, true, 34},       [SERIES_FAILED] = {"FAILED", 6, true, 42},
    [SERIES_SKIPPED] = {"SKIPPED", 7, true, 50}, [SERIES_LATE] = {"LATE p99", 10, true, 90},
};

/* Draws the time until the next run, which counts down. */
static void draw_next(const struct view_series *series, const struct table *table, struct area area, int row)
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
        put(table, area, row, SERIES_NEXT, style, words[series->state]);
        return;
    }
    put(table, area, row, SERIES_NEXT, style, DURATION(series->next));
    if (table->at[SERIES_BAR] != HIDDEN && series->period > 0)
        area_bar(area, row, table->at[SERIES_BAR], table->width[SERIES_BAR],
                 (double)series->next / (double)series->period, style);
}

static void draw_series(const struct view_series *series, const struct table *table, struct area area,
                        int row)
{
    put(table, area, row, SERIES_NAME, STYLE_BOLD, series->name);
    if (series->failures_in_a_row > 0) {
        char plan[VIEW_TEXT];
        (void)snprintf(plan, sizeof plan, "failed %sx, backs off", COUNT(series->failures_in_a_row));
        put(table, area, row, SERIES_PLAN, STYLE_BAD, plan);
    } else {
        put(table, area, row, SERIES_PLAN, STYLE_PLAIN, series->plan);
    }
    draw_next(series, table, area, row);
    put_count(table, area, row, SERIES_RUNS, STYLE_PLAIN, series->runs);
    put_count(table, area, row, SERIES_FAILED, STYLE_BAD, series->failures);
    put_count(table, area, row, SERIES_SKIPPED, STYLE_WARN, series->skipped);
    put(table, area, row, SERIES_LATE, STYLE_PLAIN, DURATION(series->late));
}

void table_series(const struct demo_view *view, struct area area)
{
    struct table table = place(series_columns, SERIES_COLUMNS, area);
    put_titles(&table, area);
    int count = shown(area, view->series_count);
    for (int i = 0; i < count; i++)
        draw_series(&view->series[i], &table, area, i + 1);
}

/* ---- task names ---- */

enum { TASK_NAME, TASK_STARTED, TASK_DONE, TASK_FAILED, TASK_EXPIRED, TASK_RUN, TASK_LATE, TASK_COLUMNS };

static const struct column task_columns[TASK_COLUMNS] = {
    [TASK_NAME] = {"TASKS", 10, false, 0},     [TASK_STARTED] = {"STARTED", 11, true, 24},
    [TASK_DONE] = {"DONE", 11, true, 36},      [TASK_FAILED] = {"FAILED", 9, true, 46},
    [TASK_EXPIRED] = {"EXPIRED", 9, true, 56}, [TASK_RUN] = {"RUN p50", 10, true, 68},
    [TASK_LATE] = {"LATE p99", 10, true, 80},
};

void table_tasks(const struct demo_view *view, struct area area)
{
    struct table table = place(task_columns, TASK_COLUMNS, area);
    put_titles(&table, area);
    int count = shown(area, view->task_count);
    for (int i = 0; i < count; i++) {
        const struct view_task *task = &view->tasks[i];
        put(&table, area, i + 1, TASK_NAME, STYLE_BOLD, task->name);
        put_count(&table, area, i + 1, TASK_STARTED, STYLE_PLAIN, task->counts.started);
        put_count(&table, area, i + 1, TASK_DONE, STYLE_PLAIN, task->counts.done);
        put_count(&table, area, i + 1, TASK_FAILED, STYLE_BAD, task->counts.failed);
        put_count(&table, area, i + 1, TASK_EXPIRED, STYLE_WARN, task->counts.expired);
        put(&table, area, i + 1, TASK_RUN, STYLE_PLAIN, DURATION(task->run));
        put(&table, area, i + 1, TASK_LATE, STYLE_PLAIN, DURATION(task->late));
    }
}
