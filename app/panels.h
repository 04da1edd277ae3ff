/* SPDX-License-Identifier: Apache-2.0 */
/* panels.h - what screens of the command are made of: stacks of panels, tables, and a bar of keys */
#ifndef APP_PANELS_H
#define APP_PANELS_H

#include <stdbool.h>
#include <stdint.h>

#include "canvas.h"

/* ---- stacks ---- */

enum {
    PANELS_MOST = 16,
    GRANT_ALL = 1000 /* as many rows as the panel can use */
};

struct panel_grant {
    int panel;
    int rows; /* the panel has this many rows, if there are enough left */
};

/* Panels from top to bottom. A list of grants, the most important first, shares out the rows among them: each
 * grant lets the panels of one number have up to a number of rows. Smaller screens stop earlier in the list,
 * and larger ones reach its end. */
struct panel_stack {
    int panels[PANELS_MOST]; /* their numbers; one may be there several times */
    int count;
    struct panel_grant grants[2 * PANELS_MOST];
    int grant_count;
    int last; /* this panel, if it is the last one, is at the bottom of the area; -1: none */
    /* How many rows a panel can use, and how to draw it. */
    int (*rows)(const void *view, int panel, int columns);
    void (*draw)(const void *view, int panel, struct area area);
};

/* Draws a stack into an area. */
void panels_draw(const struct panel_stack *stack, const void *view, struct area area);

/* ---- tables ---- */

enum { GRID_COLUMNS_MOST = 10, GRID_HIDDEN = -1 };

struct grid_column {
    const char *title;
    int width; /* 0: what the others leave */
    bool is_right;
    int from; /* shown in areas of at least this many columns */
};

/* The columns of a table in an area. One column takes the width that the others leave. */
struct grid {
    const struct grid_column *columns;
    int count;
    int at[GRID_COLUMNS_MOST]; /* the first column of the area, or GRID_HIDDEN */
    int width[GRID_COLUMNS_MOST];
};

/* Places the columns of a table in an area, with a blank between them. */
struct grid grid_place(const struct grid_column *columns, int count, struct area area);

/* Draws a text, or a number, in a column, if that is shown. */
void grid_put(const struct grid *grid, struct area area, int row, int column, enum style style,
              const char *text);
void grid_put_count(const struct grid *grid, struct area area, int row, int column, enum style style,
                    int64_t number);

/* Draws the titles in the first row. */
void grid_put_titles(const struct grid *grid, struct area area);

/* Returns how many of `count` elements have rows below the titles, and says in the last row how many have
 * none. */
int grid_rows(struct area area, int count);

/* ---- keys ---- */

/* A key and what it does. */
struct panel_key {
    const char *key;
    const char *label; /* a word */
    const char *title; /* a few words, for wide screens */
    bool is_on;        /* its effect lasts, and is on */
};

/* Draws keys, in as many rows as they need. Returns how many rows that are. */
int keys_draw(const struct panel_key *keys, int count, struct area area);

/* Returns how many rows they need. */
int keys_rows(const struct panel_key *keys, int count, int columns);

#endif
