/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - tables of text for people, as wide as the terminal
 *
 * Each column is as wide as its longest cell. If that is too wide for the terminal, the columns that may be
 * cut become narrower, the widest first. If that is not enough, columns are left out, one after the other,
 * and the others get their width back before they are cut again. As a last resort, what remains is cut as
 * well. */
#include "control/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "text.h"
#include "width.h"

enum { GAP = 2, NARROWEST = 3, CELL_TEXT = 1024 };

struct table_cell {
    char *text;
    enum style style;
};

struct table {
    const struct table_column *columns;
    int column_count;
    struct table_cell *cells;
    size_t cell_count, room;
};

/* The widths of the columns of a table in a terminal. */
struct widths {
    int columns[TABLE_COLUMNS_MOST]; /* 0: left out */
};

struct table *table_new(const struct table_column *columns, int count)
{
    assert(count > 0 && count <= TABLE_COLUMNS_MOST);
    struct table *table = memory(sizeof *table);
    *table = (struct table){.columns = columns, .column_count = count};
    return table;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

void table_add(struct table *table, enum style style, const char *text)
{
    if (table->cell_count == table->room) {
        size_t room = table->room > 0 ? 2 * table->room : 64;
        struct table_cell *more = memory(room * sizeof *more);
        if (table->cell_count > 0)
            memcpy(more, table->cells, table->cell_count * sizeof *more);
        free(table->cells);
        table->cells = more;
        table->room = room;
    }
    table->cells[table->cell_count++] = (struct table_cell){text_copy(text), style};
}

void table_format(struct table *table, enum style style, const char *format, ...)
{
    char text[CELL_TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    table_add(table, style, text);
}

/* ---- widths ---- */

/* Returns the width of the longest cell of a column; 0 if all are empty. */
static int natural_width(const struct table *table, int column)
{
    int width = 0;
    for (size_t i = (size_t)column; i < table->cell_count; i += (size_t)table->column_count) {
        int cell = width_of(table->cells[i].text);
        width = cell > width ? cell : width;
    }
    int title = width_of(table->columns[column].title);
    return width > 0 && width < title ? title : width;
}

static int total_width(const struct table *table, const struct widths *widths)
{
    int total = -GAP;
    for (int i = 0; i < table->column_count; i++)
        total += widths->columns[i] > 0 ? widths->columns[i] + GAP : 0;
    return total;
}

/* Makes columns narrower until they fit, the widest first. With `by_force` also those that should not be cut.
 * Returns true if they fit. */
static bool cut(const struct table *table, struct widths *widths, int width, bool by_force)
{
    while (total_width(table, widths) > width) {
        int widest = -1;
        for (int i = 0; i < table->column_count; i++) {
            int least = table->columns[i].least;
            int limit = by_force ? NARROWEST : least;
            if ((least > 0 || by_force) && widths->columns[i] > limit &&
                (widest < 0 || widths->columns[i] > widths->columns[widest]))
                widest = i;
        }
        if (widest < 0)
            return false;
        widths->columns[widest]--;
    }
    return true;
}

/* Returns the column to leave out next, or -1. */
static int next_out(const struct table *table, const struct widths *widths)
{
    int next = -1;
    for (int i = 0; i < table->column_count; i++)
        if (widths->columns[i] > 0 && table->columns[i].leave_out > 0 &&
            (next < 0 || table->columns[i].leave_out > table->columns[next].leave_out))
            next = i;
    return next;
}

static struct widths find_widths(const struct table *table, int width)
{
    struct widths natural = {0};
    for (int i = 0; i < table->column_count; i++)
        natural.columns[i] = natural_width(table, i);
    for (;;) {
        struct widths widths = natural;
        if (width <= 0 || cut(table, &widths, width, false))
            return widths;
        int out = next_out(table, &natural);
        if (out < 0) {
            (void)cut(table, &widths, width, true);
            return widths;
        }
        natural.columns[out] = 0;
    }
}

/* ---- text ---- */

struct text {
    char *bytes;
    size_t size, room;
};

static void append(struct text *text, const char *bytes, size_t size)
{
    if (text->room - text->size < size + 1) {
        text->room = 2 * (text->size + size + 1);
        char *larger = memory(text->room);
        if (text->size > 0)
            memcpy(larger, text->bytes, text->size);
        free(text->bytes);
        text->bytes = larger;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

static void append_blanks(struct text *text, int count)
{
    for (int i = 0; i < count; i++)
        append(text, " ", 1);
}

/* Appends characters of a text that take `width` columns at most. Returns how many they take. */
static int append_plain(struct text *text, const char *from, int width, bool is_utf8)
{
    int used = 0;
    for (size_t size; *from != '\0'; from += size) {
        int columns = width_of_first(from, &size);
        bool is_shown = columns >= 0 && (size == 1 || is_utf8);
        columns = is_shown ? columns : 1;
        if (used + columns > width)
            break;
        append(text, is_shown ? from : "?", is_shown ? size : 1);
        used += columns;
    }
    return used;
}

/* Appends a cell of a given width. The last cell of a row has no blanks after it. */
static void append_cell(struct text *text, const struct table_look *look, const struct table_column *column,
                        const struct table_cell *cell, int width, bool is_last)
{
    const char *ellipsis = look->is_utf8 ? "…" : "~";
    bool is_cut = width_of(cell->text) > width;
    int fill = is_cut ? 0 : width - width_of(cell->text);
    bool has_style = look->has_colour && cell->style != STYLE_PLAIN && *cell->text != '\0';
    if (column->is_right)
        append_blanks(text, fill);
    if (has_style) {
        const char *rendition = style_rendition(cell->style, true);
        append(text, "\033[", 2);
        append(text, rendition, strlen(rendition));
        append(text, "m", 1);
    }
    int used = append_plain(text, cell->text, is_cut ? width - 1 : width, look->is_utf8);
    if (is_cut) {
        append(text, ellipsis, strlen(ellipsis));
        used++;
    }
    if (has_style)
        append(text, "\033[0m", 4);
    if (!is_last)
        append_blanks(text, GAP + width - used - (column->is_right ? fill : 0));
}

/* Appends a row; NULL: that of the titles. */
static void append_row(struct text *text, const struct table *table, const struct widths *widths,
                       const struct table_look *look, const struct table_cell *cells)
{
    int last = table->column_count - 1;
    while (last > 0 && (widths->columns[last] == 0 ||
                        *(cells != NULL ? cells[last].text : table->columns[last].title) == '\0'))
        last--;
    for (int i = 0; i <= last; i++) {
        struct table_cell title = {NULL, STYLE_DIM};
        char copy[64];
        if (cells == NULL) {
            (void)snprintf(copy, sizeof copy, "%s", table->columns[i].title);
            title.text = copy;
        }
        if (widths->columns[i] > 0)
            append_cell(text, look, &table->columns[i], cells != NULL ? &cells[i] : &title,
                        widths->columns[i], i == last);
    }
    append(text, "\n", 1);
}

char *table_text(const struct table *table, const struct table_look *look)
{
    assert(table->cell_count % (size_t)table->column_count == 0);
    struct widths widths = find_widths(table, look->width);
    struct text text = {0};
    append(&text, "", 0);
    append_row(&text, table, &widths, look, NULL);
    for (size_t i = 0; i < table->cell_count; i += (size_t)table->column_count)
        append_row(&text, table, &widths, look, &table->cells[i]);
    return text.bytes;
}
