/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - tables of text for people, as wide as the terminal */
#ifndef APP_CONTROL_TABLE_H
#define APP_CONTROL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "canvas.h"

enum { TABLE_COLUMNS_MOST = 12 };

struct table_column {
    const char *title;
    bool is_right; /* numbers */
    int least;     /* it may be cut to so many columns of the terminal; 0: it is not cut */
    int leave_out; /* if there is not enough room, the column with the highest number is left out; 0: never */
};

/* A table whose cells are added row by row, from left to right. */
struct table;

struct table *table_new(const struct table_column *columns, int count);
void table_free(struct table *table);

/* Adds a cell. Control characters are shown as "?". */
void table_add(struct table *table, enum style style, const char *text);
__attribute__((format(printf, 3, 4))) void table_format(struct table *table, enum style style,
                                                        const char *format, ...);

/* How a table is drawn. */
struct table_look {
    int width; /* of the terminal; 0: nothing is cut or left out */
    bool has_colour;
    bool is_utf8;
};

/* Returns the table as text; the caller frees it. A column whose cells are all empty is left out. */
char *table_text(const struct table *table, const struct table_look *look);

#endif
