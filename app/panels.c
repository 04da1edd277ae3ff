/* SPDX-License-Identifier: Apache-2.0 */
/* panels.c - what screens of the command are made of: stacks of panels, tables, and a bar of keys */
#include "panels.h"

#include <stddef.h>
#include <string.h>

#include "figures.h"

enum { WIDE_KEYS = 132 }; /* columns from which keys have titles instead of labels */

/* ---- stacks ---- */

/* Adds rows to the panels of a number, from top to bottom. `grant.rows` is for all of them together. Returns
 * how many rows are left. */
static int give(const struct panel_stack *stack, const void *view, int columns, struct panel_grant grant,
                int left, int *rows)
{
    int have = 0;
    for (int i = 0; i < stack->count; i++)
        have += stack->panels[i] == grant.panel ? rows[i] : 0;
    for (int i = 0; i < stack->count && left > 0; i++) {
        if (stack->panels[i] != grant.panel)
            continue;
        int room = stack->rows(view, grant.panel, columns) - rows[i];
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

void panels_draw(const struct panel_stack *stack, const void *view, struct area area)
{
    int rows[PANELS_MOST] = {0};
    int left = area.rows;
    for (int i = 0; i < stack->grant_count; i++)
        left = give(stack, view, area.columns, stack->grants[i], left, rows);
    int row = 0;
    for (int i = 0; i < stack->count; i++) {
        if (i == stack->count - 1 && stack->panels[i] == stack->last)
            row += left;
        if (rows[i] > 0)
            stack->draw(view, stack->panels[i], area_part(area, row, rows[i], 0, area.columns));
        row += rows[i];
    }
}

/* ---- tables ---- */

struct grid grid_place(const struct grid_column *columns, int count, struct area area)
{
    struct grid grid = {.columns = columns, .count = count};
    int used = 0;
    for (int i = 0; i < count; i++)
        used += area.columns >= columns[i].from ? columns[i].width + 1 : 0;
    int rest = area.columns - used + 1; /* the last column has no blank behind it */
    int at = 0;
    for (int i = 0; i < count; i++) {
        grid.width[i] = columns[i].width > 0 ? columns[i].width : rest > 0 ? rest : 0;
        grid.at[i] = area.columns >= columns[i].from && grid.width[i] > 0 ? at : GRID_HIDDEN;
        at += grid.at[i] != GRID_HIDDEN ? grid.width[i] + 1 : 0;
    }
    return grid;
}

void grid_put(const struct grid *grid, struct area area, int row, int column, enum style style,
              const char *text)
{
    if (grid->at[column] != GRID_HIDDEN)
        (void)area_put_in(area, row, grid->at[column], grid->width[column], grid->columns[column].is_right,
                          style, text);
}

void grid_put_count(const struct grid *grid, struct area area, int row, int column, enum style style,
                    int64_t number)
{
    grid_put(grid, area, row, column, number == 0 ? STYLE_DIM : style, COUNT(number));
}

void grid_put_titles(const struct grid *grid, struct area area)
{
    for (int i = 0; i < grid->count; i++)
        grid_put(grid, area, 0, i, i == 0 ? STYLE_HEAD : STYLE_DIM, grid->columns[i].title);
}

int grid_rows(struct area area, int count)
{
    int rows = area.rows - 1;
    if (count <= rows || rows < 1)
        return count <= rows ? count : 0;
    (void)area_format(area, area.rows - 1, 0, STYLE_DIM, "%d more", count - rows + 1);
    return rows - 1;
}

/* ---- keys ---- */

/* Draws all keys, or only counts the rows that they need if `is_drawn` is false. */
static int lay_keys(const struct panel_key *keys, int count, struct area area, bool is_drawn)
{
    int row = 0;
    int column = 0;
    for (int i = 0; i < count; i++) {
        const char *label = area.columns >= WIDE_KEYS ? keys[i].title : keys[i].label;
        int width = (int)(strlen(keys[i].key) + 1 + strlen(label));
        if (column > 0 && column + width > area.columns) {
            row++;
            column = 0;
        }
        if (is_drawn) {
            int at = area_put(area, row, column, keys[i].is_on ? STYLE_KEY_ON : STYLE_KEY, keys[i].key);
            (void)area_put(area, row, at + 1, keys[i].is_on ? STYLE_GOOD : STYLE_PLAIN, label);
        }
        column += width + (area.columns >= WIDE_KEYS ? 3 : 1);
    }
    return row + 1;
}

int keys_draw(const struct panel_key *keys, int count, struct area area)
{
    return lay_keys(keys, count, area, true);
}

int keys_rows(const struct panel_key *keys, int count, int columns)
{
    return lay_keys(keys, count, (struct area){.columns = columns}, false);
}
