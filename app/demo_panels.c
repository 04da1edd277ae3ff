/* SPDX-License-Identifier: Apache-2.0 */
/* demo_panels.c - the parts of the screen of the demo, except for the tables */
#include "demo_panels.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "demo_tables.h"
#include "figures.h"

enum {
    TITLE_BAR_MOST = 40,    /* columns of the bar in the title */
    CHART_LABEL = 18,       /* columns to the left of a chart: its name and its value */
    CHART_ROWS_MOST = 8,    /* of a chart */
    WORD = 9,               /* columns of a heading to the left of a text */
    WHY_TYPICAL = 140,      /* characters of a long explanation */
    CLASS_WAITING_MOST = 12 /* marks for waiting tasks */
};

/* ---- title ---- */

/* Draws the longest text about the load that fits to the right of a column. Returns where it begins. */
static int draw_load(const struct demo_view *view, struct area area, int column)
{
    char texts[2][VIEW_TEXT];
    const char *plural = view->threads == 1 ? "" : "s";
    (void)snprintf(texts[0], VIEW_TEXT, "%d thread%s, %d active  %s queued", view->threads, plural,
                   view->active, COUNT(view->queued));
    (void)snprintf(texts[1], VIEW_TEXT, "%d thread%s  %s queued", view->threads, plural, COUNT(view->queued));
    for (int i = 0; i < 2; i++) {
        int start = area.columns - (int)strlen(texts[i]);
        if (start >= column + 2)
            return area_put(area, 0, start, STYLE_PLAIN, texts[i]) - (int)strlen(texts[i]);
    }
    return area.columns;
}

static void draw_title(const struct demo_view *view, struct area area)
{
    char time[2 * FIGURE_TEXT];
    (void)snprintf(time, sizeof time, "%.1f of %.0f s", (double)view->elapsed / 1e9,
                   (double)view->length / 1e9);
    int column =
        area_put_in(area, 0, 0, area.columns < 9 ? area.columns : 9, false, STYLE_TITLE, "hora demo");
    if (column + 1 + (int)strlen(time) > area.columns)
        return;
    column = area_put(area, 0, column + 1, STYLE_PLAIN, time);
    if (view->is_paused && column + 7 <= area.columns)
        column = area_put(area, 0, column + 1, STYLE_KEY_ON, "PAUSED");
    int end = draw_load(view, area, column) - 2;
    int width = end - column - 1 < TITLE_BAR_MOST ? end - column - 1 : TITLE_BAR_MOST;
    if (width >= 4)
        area_bar(area, 0, column + 1, width, (double)view->elapsed / (double)view->length, STYLE_INFO);
}

/* ---- charts ---- */

/* The logarithm of a lateness on a scale from 1 us to 1 s: 0 to 1. */
static double height_of(hora_ns late)
{
    int steps = 0; /* half powers of two, of which 40 lead from 1 us to 1 s */
    for (hora_ns bound = HORA_US(1); bound < late && steps < 40; bound = bound * 181 / 128)
        steps++;
    return steps / 40.0;
}

static enum style style_of(hora_ns late)
{
    return late < HORA_MS(2) ? STYLE_GOOD : late < HORA_MS(20) ? STYLE_WARN : STYLE_BAD;
}

/* Draws the name and the value of a chart, and below them two details. Returns the area of the chart. */
static struct area draw_label(struct area area, const char *name, enum style style, const char *value,
                              const char *detail, const char *more)
{
    (void)area_put_in(area, 0, 0, area.columns < 7 ? area.columns : 7, false, STYLE_HEAD, name);
    if (area.columns > CHART_LABEL)
        (void)area_put_in(area, 0, 7, CHART_LABEL - 8, true, style, value);
    if (area.rows > 1 && area.columns > CHART_LABEL)
        (void)area_put_in(area, 1, 0, CHART_LABEL - 1, true, STYLE_DIM, detail);
    if (area.rows > 2 && area.columns > CHART_LABEL)
        (void)area_put_in(area, 2, 0, CHART_LABEL - 1, true, STYLE_DIM, more);
    return area_part(area, 0, area.rows, CHART_LABEL, area.columns - CHART_LABEL);
}

static void draw_rate(const struct demo_view *view, struct area area)
{
    struct chart_column columns[VIEW_HISTORY];
    char detail[2 * FIGURE_TEXT];
    char more[2 * FIGURE_TEXT];
    int64_t top = 1;
    int first = view->samples > area.columns - CHART_LABEL ? view->samples - (area.columns - CHART_LABEL) : 0;
    for (int i = first; i < view->samples; i++)
        top = view->rates[i] > top ? view->rates[i] : top;
    for (int i = 0; i < view->samples; i++) {
        columns[i].height = (double)view->rates[i] / (double)top;
        columns[i].style = STYLE_INFO;
    }
    (void)snprintf(detail, sizeof detail, "most %s", COUNT(top));
    (void)snprintf(more, sizeof more, "all %s", COUNT(view->runs));
    struct area chart = draw_label(area, "RUNS/S", STYLE_BOLD, COUNT(view->rate), detail, more);
    area_chart(chart, columns, view->samples);
}

static void draw_late(const struct demo_view *view, struct area area)
{
    struct chart_column columns[VIEW_HISTORY];
    char detail[2 * FIGURE_TEXT];
    char more[2 * FIGURE_TEXT];
    for (int i = 0; i < view->samples; i++) {
        columns[i].height = height_of(view->lates[i]);
        columns[i].style = style_of(view->lates[i]);
    }
    (void)snprintf(detail, sizeof detail, "p50 %s", DURATION(view->p50));
    (void)snprintf(more, sizeof more, "p99 %s", DURATION(view->p99));
    struct area chart = draw_label(area, "LATE", style_of(view->late), DURATION(view->late), detail, more);
    area_chart(chart, columns, view->samples);
}

/* ---- class and explanation ---- */

static void draw_class(const struct demo_view *view, struct area area)
{
    const hora_class_info *info = &view->class_info;
    bool is_full = info->running >= info->limit;
    const char *mark = area.canvas->is_utf8 ? "■" : "#";
    char text[VIEW_TEXT];
    (void)snprintf(text, sizeof text, "%s: %d of %d running, %d waiting, %s expired  ",
                   info->name != NULL ? info->name : "", info->running, info->limit, info->waiting,
                   COUNT(view->class_expired));
    (void)area_put_in(area, 0, 0, WORD, false, STYLE_HEAD, "CLASS");
    int width = area.columns - WORD > 0 ? area.columns - WORD : 0;
    int length = (int)strlen(text);
    (void)area_put_in(area, 0, WORD, length < width ? length : width, false,
                      is_full && info->waiting > 0 ? STYLE_WARN : STYLE_PLAIN, text);
    int64_t marks =
        (int64_t)info->running + (info->waiting < CLASS_WAITING_MOST ? info->waiting : CLASS_WAITING_MOST);
    for (int i = 0; i < marks && WORD + length + i < area.columns; i++)
        (void)area_put(area, 0, WORD + length + i, i < info->running ? STYLE_GOOD : STYLE_WARN, mark);
}

static void draw_why(const struct demo_view *view, struct area area)
{
    if (area.columns <= WORD)
        return;
    (void)area_put(area, 0, 0, STYLE_HEAD, "EXPLAIN");
    area_wrap(area, 0, WORD, area.rows, STYLE_PLAIN, view->why);
}

/* ---- log ---- */

/* Draws how many of the added timers are still to come. Returns the number of rows used. */
static int draw_timers(const struct demo_view *view, struct area area)
{
    char text[VIEW_TEXT];
    if (view->timers_pending <= 0)
        return 0;
    (void)snprintf(text, sizeof text, "%s of %s to come", COUNT(view->timers_pending), COUNT(view->timers));
    (void)area_put_in(area, 0, 0, WORD, false, STYLE_HEAD, "TIMERS");
    int width = area.columns - WORD;
    if (width > 0)
        (void)area_put_in(area, 0, WORD, width, false, STYLE_INFO, text);
    int bar = WORD + (int)strlen(text) + 1;
    if (bar + 4 <= area.columns)
        area_bar(area, 0, bar, area.columns - bar, (double)view->timers_pending / (double)view->timers,
                 STYLE_INFO);
    return 1;
}

static void draw_log(const struct demo_view *view, struct area area)
{
    int used = area.rows > 1 ? draw_timers(view, area) : 0;
    for (int i = 0; i + used < area.rows && i < view->log_count; i++) {
        const struct view_message *message = &view->log[i];
        char time[FIGURE_TEXT];
        (void)snprintf(time, sizeof time, "%.1f s", (double)message->at / 1e9);
        if (i == 0)
            (void)area_put_in(area, used, 0, WORD, false, STYLE_HEAD, "EVENTS");
        int width = area.columns - WORD - 9;
        if (width <= 0)
            continue;
        (void)area_put_in(area, i + used, WORD, 8, true, STYLE_DIM, time);
        (void)area_put_in(area, i + used, WORD + 9, width, false, message->style, message->text);
    }
}

static void draw_keys(const struct demo_view *view, struct area area)
{
    (void)keys_draw(view->keys, view->key_count, area);
}

/* ---- all panels ---- */

int panel_rows(const struct demo_view *view, enum panel panel, int columns)
{
    switch (panel) {
    case PANEL_RATE:
    case PANEL_LATE:
        return CHART_ROWS_MOST;
    case PANEL_WORKERS:
        return 1 + (view->worker_count > view->threads ? view->worker_count : view->threads);
    case PANEL_SERIES:
        return 1 + view->series_count;
    case PANEL_WHY: /* it does not depend on the text, so that the rows below do not move all the time */
        return columns > WORD ? WHY_TYPICAL / (columns - WORD) + 1 : 0;
    case PANEL_TASKS:
        return 1 + view->task_count;
    case PANEL_LOG:
        return CANVAS_ROWS_MOST;
    case PANEL_KEYS:
        return keys_rows(view->keys, view->key_count, columns);
    case PANEL_TITLE:
    case PANEL_CLASS:
    case PANEL_GAP:
        break;
    }
    return 1;
}

void panel_draw(const struct demo_view *view, enum panel panel, struct area area)
{
    static void (*const draw[])(const struct demo_view *, struct area) = {
        [PANEL_TITLE] = draw_title,      [PANEL_RATE] = draw_rate,      [PANEL_LATE] = draw_late,
        [PANEL_WORKERS] = table_workers, [PANEL_SERIES] = table_series, [PANEL_CLASS] = draw_class,
        [PANEL_WHY] = draw_why,          [PANEL_TASKS] = table_tasks,   [PANEL_LOG] = draw_log,
        [PANEL_KEYS] = draw_keys,
    };
    if (panel != PANEL_GAP)
        draw[panel](view, area);
}
