/* SPDX-License-Identifier: Apache-2.0 */
/* demo_layout.c - the arrangement of the screen of the demo
 *
 * An arrangement is a stack of panels from top to bottom (panels.h). The lists of grants are made for 24 rows.
 * Wide screens have two stacks side by side. */
#include <stddef.h>

#include "demo_panels.h"
#include "panels.h"

enum {
    WIDE_COLUMNS = 132, /* the smallest screen with two stacks */
    WIDE_ROWS = 30,
    CHART_ROWS = 6,       /* of the charts of the smallest such screen */
    CHART_ROWS_MOST = 14, /* of the charts of a large one */
    BETWEEN = 3           /* columns between the stacks */
};

static int stack_rows(const void *view, int panel, int columns)
{
    return panel_rows(view, (enum panel)panel, columns);
}

static void stack_draw(const void *view, int panel, struct area area)
{
    panel_draw(view, (enum panel)panel, area);
}

static const struct panel_stack narrow = {
    .panels = {PANEL_TITLE, PANEL_RATE, PANEL_LATE, PANEL_GAP, PANEL_WORKERS, PANEL_GAP, PANEL_SERIES,
               PANEL_GAP, PANEL_CLASS, PANEL_WHY, PANEL_TASKS, PANEL_LOG, PANEL_KEYS},
    .count = 13,
    .grants = {{PANEL_TITLE, 1},
               {PANEL_KEYS, GRANT_ALL},
               {PANEL_RATE, 1},
               {PANEL_WORKERS, 3},
               {PANEL_SERIES, 4},
               {PANEL_LATE, 1},
               {PANEL_LOG, 1},
               {PANEL_CLASS, 1},
               {PANEL_WHY, 1},
               {PANEL_WORKERS, 5},
               {PANEL_SERIES, 6},
               {PANEL_WHY, 2},
               {PANEL_SERIES, GRANT_ALL},
               {PANEL_WHY, GRANT_ALL},
               {PANEL_LOG, 2},
               {PANEL_GAP, 1},
               {PANEL_WORKERS, GRANT_ALL},
               {PANEL_GAP, 2},
               {PANEL_LOG, 3},
               {PANEL_GAP, 3},
               {PANEL_RATE, 2},
               {PANEL_LATE, 2},
               {PANEL_LOG, 5},
               {PANEL_RATE, 4},
               {PANEL_LATE, 3},
               {PANEL_TASKS, GRANT_ALL},
               {PANEL_LOG, GRANT_ALL}},
    .grant_count = 27,
    .last = PANEL_KEYS,
    .rows = stack_rows,
    .draw = stack_draw,
};

static const struct panel_stack wide_left = {
    .panels = {PANEL_WORKERS, PANEL_GAP, PANEL_CLASS, PANEL_WHY, PANEL_GAP, PANEL_TASKS},
    .count = 6,
    .grants = {{PANEL_WORKERS, 5},
               {PANEL_CLASS, 1},
               {PANEL_WHY, GRANT_ALL},
               {PANEL_GAP, 2},
               {PANEL_TASKS, 6},
               {PANEL_WORKERS, GRANT_ALL},
               {PANEL_TASKS, GRANT_ALL}},
    .grant_count = 7,
    .last = -1,
    .rows = stack_rows,
    .draw = stack_draw,
};

static const struct panel_stack wide_right = {
    .panels = {PANEL_SERIES, PANEL_GAP, PANEL_LOG},
    .count = 3,
    .grants = {{PANEL_SERIES, GRANT_ALL}, {PANEL_GAP, 1}, {PANEL_LOG, GRANT_ALL}},
    .grant_count = 3,
    .last = -1,
    .rows = stack_rows,
    .draw = stack_draw,
};

/* Draws two stacks side by side, below the title and two charts and above the keys. */
static void draw_wide(const struct demo_view *view, struct area area)
{
    int half = (area.columns - BETWEEN) / 2;
    int keys = panel_rows(view, PANEL_KEYS, area.columns);
    int more = (area.rows - WIDE_ROWS) / 3;
    int charts = CHART_ROWS + more < CHART_ROWS_MOST ? CHART_ROWS + more : CHART_ROWS_MOST;
    int top = charts + 3; /* title, gap, charts, gap */
    int rows = area.rows - top - keys - 1;
    int right = half + BETWEEN;
    panel_draw(view, PANEL_TITLE, area_part(area, 0, 1, 0, area.columns));
    panel_draw(view, PANEL_RATE, area_part(area, 2, charts, 0, half));
    panel_draw(view, PANEL_LATE, area_part(area, 2, charts, right, half));
    panels_draw(&wide_left, view, area_part(area, top, rows, 0, half));
    panels_draw(&wide_right, view, area_part(area, top, rows, right, half));
    panel_draw(view, PANEL_KEYS, area_part(area, area.rows - keys, keys, 0, area.columns));
}

void demo_layout(const struct demo_view *view, struct canvas *canvas)
{
    struct area area = area_whole(canvas);
    if (area.columns >= WIDE_COLUMNS && area.rows >= WIDE_ROWS)
        draw_wide(view, area);
    else
        panels_draw(&narrow, view, area);
}
