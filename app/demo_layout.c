/* SPDX-License-Identifier: Apache-2.0 */
/* demo_layout.c - the arrangement of the screen of the demo
 *
 * An arrangement is a stack of panels from top to bottom. A list of grants, the most important first, shares
 * out the rows among them: each grant lets one panel have up to a number of rows. The lists are made for 24
 * rows; smaller screens stop earlier in the list, and larger ones reach its end. Wide screens have two
 * stacks side by side. */
#include <stddef.h>

#include "demo_panels.h"

enum {
    PANELS_MOST = 16,
    ALL = 1000,         /* as many rows as the panel can use */
    WIDE_COLUMNS = 132, /* the smallest screen with two stacks */
    WIDE_ROWS = 30,
    CHART_ROWS = 6,       /* of the charts of the smallest such screen */
    CHART_ROWS_MOST = 14, /* of the charts of a large one */
    BETWEEN = 3           /* columns between the stacks */
};

struct grant {
    enum panel panel;
    int rows; /* the panel has this many rows, if there are enough left */
};

struct stack {
    enum panel panels[PANELS_MOST]; /* from top to bottom */
    int count;
    struct grant grants[2 * PANELS_MOST];
    int grant_count;
};

static const struct stack narrow = {
    {PANEL_TITLE, PANEL_RATE, PANEL_LATE, PANEL_GAP, PANEL_WORKERS, PANEL_GAP, PANEL_SERIES, PANEL_GAP,
     PANEL_CLASS, PANEL_WHY, PANEL_TASKS, PANEL_LOG, PANEL_KEYS},
    13,
    {{PANEL_TITLE, 1},   {PANEL_KEYS, ALL},    {PANEL_RATE, 1},     {PANEL_WORKERS, 3}, {PANEL_SERIES, 4},
     {PANEL_LATE, 1},    {PANEL_LOG, 1},       {PANEL_CLASS, 1},    {PANEL_WHY, 1},     {PANEL_WORKERS, 5},
     {PANEL_SERIES, 6},  {PANEL_WHY, 2},       {PANEL_SERIES, ALL}, {PANEL_WHY, ALL},   {PANEL_LOG, 2},
     {PANEL_GAP, 1},     {PANEL_WORKERS, ALL}, {PANEL_GAP, 2},      {PANEL_LOG, 3},     {PANEL_GAP, 3},
     {PANEL_RATE, 2},    {PANEL_LATE, 2},      {PANEL_LOG, 5},      {PANEL_RATE, 4},    {PANEL_LATE, 3},
     {PANEL_TASKS, ALL}, {PANEL_LOG, ALL}},
    27,
};

static const struct stack wide_left = {
    {PANEL_WORKERS, PANEL_GAP, PANEL_CLASS, PANEL_WHY, PANEL_GAP, PANEL_TASKS},
    6,
    {{PANEL_WORKERS, 5},
     {PANEL_CLASS, 1},
     {PANEL_WHY, ALL},
     {PANEL_GAP, 2},
     {PANEL_TASKS, 6},
     {PANEL_WORKERS, ALL},
     {PANEL_TASKS, ALL}},
    7,
};

static const struct stack wide_right = {
    {PANEL_SERIES, PANEL_GAP, PANEL_LOG},
    3,
    {{PANEL_SERIES, ALL}, {PANEL_GAP, 1}, {PANEL_LOG, ALL}},
    3,
};

/* Adds rows to the panels of a kind, from top to bottom. `rows` is for all of them together, of which one gap
 * has one. Returns how many rows are left. */
static int give(const struct stack *stack, const struct demo_view *view, int columns, struct grant grant,
                int left, int *rows)
{
    int have = 0;
    for (int i = 0; i < stack->count; i++)
        have += stack->panels[i] == grant.panel ? rows[i] : 0;
    for (int i = 0; i < stack->count && left > 0; i++) {
        if (stack->panels[i] != grant.panel)
            continue;
        int room = panel_rows(view, grant.panel, columns) - rows[i];
        int more = grant.rows - have;
        more = more < room ? more : room;
        more = more < left ? more : left;
        if (more > 0) {
            rows[i] += more;
            have += more;
            left -= more;
        }
    }
    return left;
}

/* Draws a stack into an area. */
static void draw_stack(const struct stack *stack, const struct demo_view *view, struct area area)
{
    int rows[PANELS_MOST] = {0};
    int left = area.rows;
    for (int i = 0; i < stack->grant_count; i++)
        left = give(stack, view, area.columns, stack->grants[i], left, rows);
    int row = 0;
    for (int i = 0; i < stack->count; i++) {
        /* The last panel is at the bottom: it has the keys, or nothing is left below the log. */
        if (i == stack->count - 1 && stack->panels[i] == PANEL_KEYS)
            row += left;
        if (rows[i] > 0)
            panel_draw(view, stack->panels[i], area_part(area, row, rows[i], 0, area.columns));
        row += rows[i];
    }
}

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
    draw_stack(&wide_left, view, area_part(area, top, rows, 0, half));
    draw_stack(&wide_right, view, area_part(area, top, rows, right, half));
    panel_draw(view, PANEL_KEYS, area_part(area, area.rows - keys, keys, 0, area.columns));
}

void demo_layout(const struct demo_view *view, struct canvas *canvas)
{
    struct area area = area_whole(canvas);
    if (area.columns >= WIDE_COLUMNS && area.rows >= WIDE_ROWS)
        draw_wide(view, area);
    else
        draw_stack(&narrow, view, area);
}
