/* SPDX-License-Identifier: Apache-2.0 */
/* top_layout.c - the screen of hora top: runs in progress, jobs and their next times, and runs that have
 * ended
 *
 * The panels are stacked from top to bottom (panels.h). Wide screens show the runs that have ended to the
 * right of the jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "control/fields.h"
#include "control/times.h"
#include "control/top_view.h"
#include "control/view.h"
#include "figures.h"
#include "panels.h"

enum { PANEL_TITLE, PANEL_COUNTS, PANEL_GAP, PANEL_RUNS, PANEL_JOBS, PANEL_ENDS, PANEL_MESSAGE, PANEL_KEYS };

enum {
    WIDE_COLUMNS = 132, /* the smallest screen with two stacks */
    BETWEEN = 3,        /* columns between the stacks */
    USUAL_RUNS = 10,    /* runs whose times tell how long a job usually takes */
    TEXT = 256
};

static const struct panel_key keys[] = {{"q", "quit", "quit", false},
                                        {"up/down", "select", "select a job", false},
                                        {"r", "run", "run it now", false},
                                        {"p", "pause", "pause or resume it", false}};
enum { KEYS = sizeof keys / sizeof *keys };

/* ---- data ---- */

int top_selected(const struct top_view *view)
{
    for (size_t i = 0; view->selected != NULL && i < json_array_size(view->jobs); i++)
        if (field_is(json_array_get(view->jobs, i), "job", view->selected))
            return (int)i;
    return -1;
}

/* Returns the place of a job in the order of the screen: a smaller number comes first. */
static int64_t rank(const json_t *job)
{
    hora_instant next;
    if (field_is(job, "state", "running") || field_is(job, "state", "due"))
        return 0;
    return field_is(job, "state", "waiting") && times_from_json(json_object_get(job, "next"), &next)
               ? next.ns
               : INT64_MAX;
}

static int compare_jobs(const void *a, const void *b)
{
    const json_t *first = *(json_t *const *)a;
    const json_t *second = *(json_t *const *)b;
    if (rank(first) != rank(second))
        return rank(first) < rank(second) ? -1 : 1;
    return strcmp(field_text(first, "job"), field_text(second, "job"));
}

void top_sort(json_t *jobs)
{
    size_t count = json_array_size(jobs);
    json_t **sorted = memory((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = json_incref(json_array_get(jobs, i));
    qsort(sorted, count, sizeof *sorted, compare_jobs);
    (void)json_array_clear(jobs);
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(jobs, sorted[i]);
    free(sorted);
}

static const json_t *find_job(const struct top_view *view, const char *name)
{
    for (size_t i = 0; i < json_array_size(view->jobs); i++)
        if (field_is(json_array_get(view->jobs, i), "job", name))
            return json_array_get(view->jobs, i);
    return NULL;
}

/* Returns how long a job usually takes: the mean of its last good runs; 0 if that is not known. */
static double usual_seconds(const struct top_view *view, const char *job)
{
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < json_array_size(view->records) && count < USUAL_RUNS; i++) {
        const json_t *record = json_array_get(view->records, i);
        if (field_is(record, "job", job) && field_is(record, "outcome", "succeeded")) {
            sum += field_number(record, "seconds");
            count++;
        }
    }
    return count > 0 ? sum / count : field_number(find_job(view, job), "last_seconds");
}

/* ---- title and counts ---- */

static void draw_title(const struct top_view *view, struct area area)
{
    const json_t *runner = json_object_get(view->status, "runner");
    int column = area_put(area, 0, 0, STYLE_TITLE, "hora top");
    if (*view->trouble != '\0') {
        (void)area_put_in(area, 0, column + 1, area.columns - column - 1, false, STYLE_BAD, view->trouble);
        return;
    }
    bool is_connected = field_is_true(runner, "store_connected");
    char text[TEXT];
    (void)snprintf(text, sizeof text, "%s  up %s  store %s%s", field_text(runner, "node"),
                   LENGTH((hora_ns)(field_number(runner, "up_seconds") * 1e9)),
                   is_connected ? "ok" : "not connected",
                   field_is_true(runner, "stopping") ? "  about to end" : "");
    char now[TIME_TEXT];
    (void)times_local(view->now, view->zone, false, now);
    int clock = (int)strlen(now);
    int width = area.columns - column - 1 - (area.columns >= 60 ? clock + 1 : 0);
    if (width > 0)
        (void)area_put_in(area, 0, column + 1, width, false, is_connected ? STYLE_PLAIN : STYLE_BAD, text);
    if (area.columns >= 60)
        (void)area_put(area, 0, area.columns - clock, STYLE_DIM, now);
}

static void draw_counts(const struct top_view *view, struct area area)
{
    static const char *const states[] = {"waiting", "due", "running", "paused", "given-up", "disabled"};
    const json_t *totals = json_object_get(view->status, "totals");
    int column = area_format(area, 0, 0, STYLE_BOLD, "%zu jobs", json_array_size(view->jobs));
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int count = 0;
        for (size_t j = 0; j < json_array_size(view->jobs); j++)
            count += field_is(json_array_get(view->jobs, j), "state", states[i]) ? 1 : 0;
        char text[TEXT];
        int length = snprintf(text, sizeof text, "  %d %s", count, states[i]);
        if (count > 0 && column + length <= area.columns)
            column = area_put(area, 0, column, view_state_style(states[i]), text);
    }
    char text[TEXT];
    int64_t failed = field_count(totals, "failed");
    int length =
        snprintf(text, sizeof text, "%s runs, %s failed", COUNT(field_count(totals, "runs")), COUNT(failed));
    if (column + 2 + length <= area.columns)
        (void)area_put(area, 0, area.columns - length, failed > 0 ? STYLE_WARN : STYLE_PLAIN, text);
}

/* ---- runs in progress ---- */

enum { RUN_NAME, RUN_STATE, RUN_FOR, RUN_BAR, RUN_OF, RUN_TRY, RUN_PID, RUN_COLUMNS };

static const struct grid_column run_columns[RUN_COLUMNS] = {
    [RUN_NAME] = {"RUNNING", 26, false, 0}, [RUN_STATE] = {"STATE", 8, false, 36},
    [RUN_FOR] = {"FOR", 12, true, 48},      [RUN_BAR] = {"", 0, false, 60},
    [RUN_OF] = {"OF", 14, true, 76},        [RUN_TRY] = {"TRY", 3, true, 90},
    [RUN_PID] = {"PID", 8, true, 100},
};

/* Draws how much of its time a run has used: of its timeout, or of what it usually takes. */
static void draw_share(const struct top_view *view, const json_t *run, const struct grid *grid,
                       struct area area, int row)
{
    const json_t *job = find_job(view, field_text(run, "job"));
    double timeout = field_number(job, "timeout_seconds");
    double whole = timeout > 0 ? timeout : usual_seconds(view, field_text(run, "job"));
    double share = whole > 0 ? field_number(run, "seconds") / whole : 0;
    enum style style = share < (timeout > 0 ? 0.5 : 1.2) ? STYLE_GOOD
                       : share < (timeout > 0 ? 0.9 : 2) ? STYLE_WARN
                                                         : STYLE_BAD;
    char text[TEXT];
    if (whole <= 0)
        return;
    (void)snprintf(text, sizeof text, "%s%s", timeout > 0 ? "" : "~", TOOK(whole));
    grid_put(grid, area, row, RUN_OF, STYLE_DIM, text);
    if (grid->at[RUN_BAR] != GRID_HIDDEN && grid->width[RUN_BAR] > 2)
        area_bar(area, row, grid->at[RUN_BAR] + 1, grid->width[RUN_BAR] - 2, share, style);
}

static void draw_runs(const struct top_view *view, struct area area)
{
    const json_t *runs = json_object_get(view->status, "runs");
    struct grid grid = grid_place(run_columns, RUN_COLUMNS, area);
    grid_put_titles(&grid, area);
    int count = grid_rows(area, (int)json_array_size(runs));
    for (int i = 0; i < count; i++) {
        const json_t *run = json_array_get(runs, (size_t)i);
        const char *waits = field_text(run, "waiting_for");
        grid_put(&grid, area, i + 1, RUN_NAME, STYLE_BOLD, field_text(run, "run"));
        grid_put(&grid, area, i + 1, RUN_STATE, view_state_style(field_text(run, "state")),
                 field_text(run, "state"));
        if (*waits != '\0' && grid.at[RUN_FOR] != GRID_HIDDEN) {
            (void)area_put_in(area, i + 1, grid.at[RUN_FOR], area.columns - grid.at[RUN_FOR], false,
                              STYLE_WARN, waits);
            continue;
        }
        if (*field_text(run, "started") != '\0')
            grid_put(&grid, area, i + 1, RUN_FOR, STYLE_PLAIN, TOOK(field_number(run, "seconds")));
        draw_share(view, run, &grid, area, i + 1);
        char text[TEXT];
        (void)snprintf(text, sizeof text, "%lld", (long long)field_count(run, "attempt"));
        grid_put(&grid, area, i + 1, RUN_TRY, STYLE_DIM, text);
        (void)snprintf(text, sizeof text, "%lld", (long long)field_count(run, "pid"));
        grid_put(&grid, area, i + 1, RUN_PID, STYLE_DIM, field_count(run, "pid") > 0 ? text : "");
    }
    if (json_array_size(runs) == 0 && area.rows > 1)
        (void)area_put_in(area, 1, 0, area.columns, false, STYLE_DIM, "nothing");
}

/* ---- jobs ---- */

enum { JOB_NAME, JOB_STATE, JOB_NEXT, JOB_LAST, JOB_SCHEDULE, JOB_COLUMNS };

static const struct grid_column job_columns[JOB_COLUMNS] = {
    [JOB_NAME] = {"JOBS", 24, false, 0},         [JOB_STATE] = {"STATE", 8, false, 34},
    [JOB_NEXT] = {"NEXT", 12, true, 48},         [JOB_LAST] = {"LAST", 20, false, 67},
    [JOB_SCHEDULE] = {"SCHEDULE", 0, false, 90},
};

/* Writes the time until a job runs: two units, so that it is seen to count down. */
static void write_countdown(const struct top_view *view, const json_t *job, char *text, size_t size)
{
    hora_instant next;
    text[0] = '\0';
    if (!times_from_json(json_object_get(job, "next"), &next) || rank(job) == INT64_MAX)
        return;
    hora_ns left = next.ns - view->now.ns;
    (void)snprintf(text, size, "%s",
                   left >= HORA_SECONDS(1) ? DURATION(left - left % HORA_SECONDS(1)) : "now");
}

static void draw_job(const struct top_view *view, const json_t *job, const struct grid *grid,
                     struct area area, int row, bool is_selected)
{
    char text[TEXT];
    const char *state = field_text(job, "state");
    hora_instant end;
    grid_put(grid, area, row, JOB_NAME, is_selected ? STYLE_KEY_ON : STYLE_BOLD, field_text(job, "job"));
    grid_put(grid, area, row, JOB_STATE, view_state_style(state), state);
    write_countdown(view, job, text, sizeof text);
    grid_put(grid, area, row, JOB_NEXT, STYLE_INFO, text);
    if (times_from_json(json_object_get(job, "last_end"), &end)) {
        (void)snprintf(text, sizeof text, "%s, %s", field_text(job, "last"), RELATIVE(end, view->now));
        grid_put(grid, area, row, JOB_LAST, field_is(job, "last", "ok") ? STYLE_GOOD : STYLE_BAD, text);
    }
    grid_put(grid, area, row, JOB_SCHEDULE, STYLE_DIM, field_text(job, "schedule"));
}

/* Draws the jobs around the selected one. */
static void draw_jobs(const struct top_view *view, struct area area)
{
    struct grid grid = grid_place(job_columns, JOB_COLUMNS, area);
    int count = (int)json_array_size(view->jobs);
    int rows = area.rows - 1;
    int selected = top_selected(view);
    int first = selected >= rows ? selected - rows + 1 : 0;
    grid_put_titles(&grid, area);
    for (int i = first; i < first + rows && i < count; i++)
        draw_job(view, json_array_get(view->jobs, (size_t)i), &grid, area, i - first + 1, i == selected);
}

/* ---- runs that have ended ---- */

enum { END_AGO, END_JOB, END_OUTCOME, END_TOOK, END_WHY, END_COLUMNS };

static const struct grid_column end_columns[END_COLUMNS] = {
    [END_AGO] = {"ENDED", 11, false, 0},       [END_JOB] = {"JOB", 20, false, 0},
    [END_OUTCOME] = {"OUTCOME", 9, false, 42}, [END_TOOK] = {"TOOK", 11, true, 54},
    [END_WHY] = {"WHY", 0, false, 64},
};

static void draw_ends(const struct top_view *view, struct area area)
{
    struct grid grid = grid_place(end_columns, END_COLUMNS, area);
    grid_put_titles(&grid, area);
    int count = (int)json_array_size(view->records);
    for (int i = 0; i < area.rows - 1 && i < count; i++) {
        const json_t *record = json_array_get(view->records, (size_t)i);
        hora_instant ended;
        if (times_from_json(json_object_get(record, "ended"), &ended))
            grid_put(&grid, area, i + 1, END_AGO, STYLE_DIM, RELATIVE(ended, view->now));
        grid_put(&grid, area, i + 1, END_JOB, STYLE_BOLD, field_text(record, "job"));
        grid_put(&grid, area, i + 1, END_OUTCOME, view_outcome_style(record), view_outcome(record));
        grid_put(&grid, area, i + 1, END_TOOK, STYLE_PLAIN, TOOK(field_number(record, "seconds")));
        grid_put(&grid, area, i + 1, END_WHY, STYLE_PLAIN,
                 field_text(json_object_get(record, "note"), "reason"));
    }
}

/* ---- the arrangement ---- */

static int rows_of(const void *arg, int panel, int columns)
{
    const struct top_view *view = arg;
    size_t runs = json_array_size(json_object_get(view->status, "runs"));
    switch (panel) {
    case PANEL_RUNS:
        return 1 + (runs > 0 ? (int)(runs < CANVAS_ROWS_MOST ? runs : CANVAS_ROWS_MOST) : 1);
    case PANEL_JOBS:
        return 1 + (int)json_array_size(view->jobs);
    case PANEL_ENDS:
        return 1 + (int)json_array_size(view->records);
    case PANEL_KEYS:
        return keys_rows(keys, KEYS, columns);
    default:
        return 1;
    }
}

static void draw_panel(const void *arg, int panel, struct area area)
{
    const struct top_view *view = arg;
    switch (panel) {
    case PANEL_TITLE:
        draw_title(view, area);
        return;
    case PANEL_COUNTS:
        draw_counts(view, area);
        return;
    case PANEL_RUNS:
        draw_runs(view, area);
        return;
    case PANEL_JOBS:
        draw_jobs(view, area);
        return;
    case PANEL_ENDS:
        draw_ends(view, area);
        return;
    case PANEL_MESSAGE:
        (void)area_put_in(area, 0, 0, area.columns, false, view->message_style, view->message);
        return;
    case PANEL_KEYS:
        (void)keys_draw(keys, KEYS, area);
        return;
    default:
        return;
    }
}

static const struct panel_stack narrow = {
    .panels = {PANEL_TITLE, PANEL_COUNTS, PANEL_GAP, PANEL_RUNS, PANEL_GAP, PANEL_JOBS, PANEL_GAP, PANEL_ENDS,
               PANEL_MESSAGE, PANEL_KEYS},
    .count = 10,
    .grants = {{PANEL_TITLE, 1},
               {PANEL_KEYS, GRANT_ALL},
               {PANEL_COUNTS, 1},
               {PANEL_JOBS, 4},
               {PANEL_RUNS, 3},
               {PANEL_MESSAGE, 1},
               {PANEL_JOBS, 6},
               {PANEL_ENDS, 3},
               {PANEL_GAP, 3},
               {PANEL_RUNS, 6},
               {PANEL_JOBS, 10},
               {PANEL_ENDS, 6},
               {PANEL_RUNS, GRANT_ALL},
               {PANEL_JOBS, GRANT_ALL},
               {PANEL_ENDS, GRANT_ALL}},
    .grant_count = 15,
    .last = PANEL_KEYS,
    .rows = rows_of,
    .draw = draw_panel,
};

static const struct panel_stack wide_top = {
    .panels = {PANEL_TITLE, PANEL_COUNTS, PANEL_GAP, PANEL_RUNS},
    .count = 4,
    .grants = {{PANEL_TITLE, 1}, {PANEL_COUNTS, 1}, {PANEL_GAP, 1}, {PANEL_RUNS, GRANT_ALL}},
    .grant_count = 4,
    .last = -1,
    .rows = rows_of,
    .draw = draw_panel,
};

/* Draws jobs and runs that have ended side by side. */
static void draw_wide(const struct top_view *view, struct area area)
{
    int half = (area.columns - BETWEEN) / 2;
    int bottom = 1 + rows_of(view, PANEL_KEYS, area.columns); /* the message and the keys */
    int runs = rows_of(view, PANEL_RUNS, area.columns);
    int most = area.rows / 2;
    int top = 3 + (runs < most ? runs : most);
    int rows = area.rows - top - 1 - bottom;
    panels_draw(&wide_top, view, area_part(area, 0, top, 0, area.columns));
    draw_jobs(view, area_part(area, top + 1, rows, 0, half));
    draw_ends(view, area_part(area, top + 1, rows, half + BETWEEN, half));
    draw_panel(view, PANEL_MESSAGE, area_part(area, area.rows - bottom, 1, 0, area.columns));
    draw_panel(view, PANEL_KEYS, area_part(area, area.rows - bottom + 1, bottom - 1, 0, area.columns));
}

void top_layout(const struct top_view *view, struct canvas *canvas)
{
    struct area area = area_whole(canvas);
    if (area.columns >= WIDE_COLUMNS && area.rows >= 24)
        draw_wide(view, area);
    else
        panels_draw(&narrow, view, area);
}
