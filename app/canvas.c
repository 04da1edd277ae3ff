/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c - a grid of character cells, which is drawn first and written to the terminal afterwards
 *
 * Every drawing function ends in set_cell, the only function that writes a cell. It compares the position
 * with the area and with the canvas. */
#include "canvas.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "width.h"

enum { LEVELS = 8, TEXT = 512 }; /* heights that one character can show; longest formatted text in bytes */

static const struct cell blank = {" ", STYLE_PLAIN};

/* The parameters of "select graphic rendition" for each style, with and without colours. */
static const struct {
    const char *colour;
    const char *plain;
} renditions[STYLE_COUNT] = {
    [STYLE_PLAIN] = {"0", "0"},        [STYLE_DIM] = {"0;90", "0;2"},       [STYLE_BOLD] = {"0;1", "0;1"},
    [STYLE_TITLE] = {"0;1;36", "0;1"}, [STYLE_HEAD] = {"0;1;34", "0;1"},    [STYLE_GOOD] = {"0;32", "0"},
    [STYLE_WARN] = {"0;33", "0;1"},    [STYLE_BAD] = {"0;1;31", "0;1"},     [STYLE_INFO] = {"0;36", "0"},
    [STYLE_KEY] = {"0;1;33", "0;1"},   [STYLE_KEY_ON] = {"0;30;42", "0;7"},
};

const char *style_rendition(enum style style, bool has_colour)
{
    return has_colour ? renditions[style].colour : renditions[style].plain;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

void canvas_resize(struct canvas *canvas, int rows, int columns)
{
    rows = most(0, least(rows, CANVAS_ROWS_MOST));
    columns = most(0, least(columns, CANVAS_COLUMNS_MOST));
    size_t count = (size_t)rows * (size_t)columns;
    if (rows != canvas->rows || columns != canvas->columns) {
        canvas_free(canvas);
        canvas->cells = count > 0 ? memory(count * sizeof *canvas->cells) : NULL;
        canvas->rows = rows;
        canvas->columns = columns;
    }
    for (size_t i = 0; i < count; i++)
        canvas->cells[i] = blank;
    canvas->cut = 0;
}

void canvas_free(struct canvas *canvas)
{
    free(canvas->cells);
    canvas->cells = NULL;
    canvas->rows = canvas->columns = 0;
}

static const struct cell *cells_of_row(const struct canvas *canvas, int row)
{
    assert(row >= 0 && row < canvas->rows);
    return canvas->cells + (size_t)row * (size_t)canvas->columns;
}

/* Returns the number of columns of a row up to its last character that is not blank. */
static int used_columns(const struct canvas *canvas, int row)
{
    const struct cell *cells = cells_of_row(canvas, row);
    int used = canvas->columns;
    while (used > 0 && cells[used - 1].glyph[0] == ' ' && cells[used - 1].style == STYLE_PLAIN)
        used--;
    return used;
}

static size_t glyph_size(const struct cell *cell)
{
    return strnlen(cell->glyph, sizeof cell->glyph);
}

int canvas_row_text(const struct canvas *canvas, int row, char *text, size_t size)
{
    assert(size > 0);
    int used = used_columns(canvas, row);
    const struct cell *cells = cells_of_row(canvas, row);
    size_t length = 0;
    for (int i = 0; i < used && length + sizeof cells[i].glyph < size; i++) {
        memcpy(text + length, cells[i].glyph, glyph_size(&cells[i]));
        length += glyph_size(&cells[i]);
    }
    text[length] = '\0';
    return used;
}

static void write_style(const struct canvas *canvas, int style)
{
    output_text("\033[");
    output_text(style_rendition((enum style)style, canvas->has_colour));
    output_text("m");
}

void canvas_write(const struct canvas *canvas)
{
    for (int row = 0; row < canvas->rows; row++) {
        const struct cell *cells = cells_of_row(canvas, row);
        int used = used_columns(canvas, row);
        int style = STYLE_PLAIN;
        output_format("\033[%d;1H\033[0m", row + 1);
        for (int i = 0; i < used; i++) {
            if (cells[i].style != style)
                write_style(canvas, style = cells[i].style);
            output_bytes(cells[i].glyph, glyph_size(&cells[i]));
        }
        /* After the last column of the terminal, the sequence would erase that column. */
        if (used < canvas->columns)
            output_text("\033[0m\033[K");
    }
    output_text("\033[0m");
}

/* ---- drawing ---- */

struct area area_whole(struct canvas *canvas)
{
    return (struct area){canvas, 0, 0, canvas->rows, canvas->columns};
}

struct area area_part(struct area area, int row, int rows, int column, int columns)
{
    int first_row = most(0, least(row, area.rows));
    int first_column = most(0, least(column, area.columns));
    return (struct area){area.canvas, area.row + first_row, area.column + first_column,
                         most(0, least(rows, area.rows - first_row)),
                         most(0, least(columns, area.columns - first_column))};
}

/* Writes a cell of an area, or counts the character if it lies outside. */
static void set_cell(struct area area, int row, int column, enum style style, const char *glyph, size_t size)
{
    struct canvas *canvas = area.canvas;
    assert(size <= sizeof blank.glyph);
    if (row < 0 || row >= area.rows || column < 0 || column >= area.columns) {
        canvas->cut += *glyph != ' ' && size > 0;
        return;
    }
    int place = (area.row + row) * canvas->columns + area.column + column;
    assert(area.row + row < canvas->rows && area.column + column < canvas->columns);
    struct cell *cell = &canvas->cells[place];
    /* What is left of a wide character of which one half is replaced is blank. */
    if (cell->glyph[0] == '\0' && size > 0 && area.column + column > 0)
        cell[-1] = blank;
    if (area.column + column + 1 < canvas->columns && cell[1].glyph[0] == '\0')
        cell[1] = blank;
    memset(cell->glyph, 0, sizeof cell->glyph);
    memcpy(cell->glyph, glyph, size);
    cell->style = (uint8_t)style;
}

/* Returns how many columns the first character of a text takes on a canvas: one that cannot be shown becomes
 * "?". Stores its size in bytes. */
static int first_width(const struct canvas *canvas, const char *text, size_t *ret_size)
{
    int width = width_of_first(text, ret_size);
    return width < 0 || (*ret_size > 1 && !canvas->is_utf8) ? 1 : width;
}

/* Draws the first character of a text. Stores its size in bytes. Returns the column after it. */
static int put_first(struct area area, int row, int column, enum style style, const char *text,
                     size_t *ret_size)
{
    int width = width_of_first(text, ret_size);
    bool is_shown = width >= 0 && (*ret_size == 1 || area.canvas->is_utf8);
    if (!is_shown || (width == 2 && column + 2 > area.columns)) {
        set_cell(area, row, column, style, "?", 1);
        return column + (is_shown ? 2 : 1);
    }
    if (width > 0)
        set_cell(area, row, column, style, text, *ret_size);
    if (width == 2)
        set_cell(area, row, column + 1, style, "", 0); /* the second half */
    return column + width;
}

int area_put(struct area area, int row, int column, enum style style, const char *text)
{
    for (size_t size; *text != '\0'; text += size)
        column = put_first(area, row, column, style, text, &size);
    return column;
}

int area_format(struct area area, int row, int column, enum style style, const char *format, ...)
{
    char text[TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return area_put(area, row, column, style, text);
}

static int width_on(const struct canvas *canvas, const char *text)
{
    int width = 0;
    for (size_t size; *text != '\0'; text += size)
        width += first_width(canvas, text, &size);
    return width;
}

/* Draws the ellipsis that stands for the rest of a text. */
static void put_ellipsis(struct area area, int row, int column, enum style style)
{
    (void)area_put(area, row, column, style, area.canvas->is_utf8 ? "…" : "~");
}

int area_put_in(struct area area, int row, int column, int width, bool is_right, enum style style,
                const char *text)
{
    int left = width_on(area.canvas, text);
    int end = column + width;
    if (is_right && left < width)
        column = end - left;
    while (*text != '\0' && column < end) {
        size_t size;
        int first = first_width(area.canvas, text, &size);
        if (column + left > end && column + first >= end) {
            put_ellipsis(area, row, column, style);
            break;
        }
        column = put_first(area, row, column, style, text, &size);
        left -= first;
        text += size;
    }
    return end;
}

/* Returns how many bytes of a text fit into `width` columns, if it is broken at a blank. */
static size_t fitting(const struct canvas *canvas, const char *text, int width)
{
    size_t fits = 0;
    size_t blank_at = 0;
    while (text[fits] != '\0') {
        size_t size;
        if (text[fits] == ' ')
            blank_at = fits;
        width -= first_width(canvas, text + fits, &size);
        if (width < 0)
            break;
        fits += size;
    }
    return text[fits] == '\0' || text[fits] == ' ' || blank_at == 0 ? fits : blank_at;
}

void area_wrap(struct area area, int row, int column, int rows, enum style style, const char *text)
{
    int width = area.columns - column;
    for (int i = 0; i < rows && *text != '\0' && width > 0; i++) {
        size_t size = fitting(area.canvas, text, width);
        char part[TEXT];
        if (i == rows - 1 || size >= sizeof part || size == 0) {
            (void)area_put_in(area, row + i, column, width, false, style, text);
            return;
        }
        (void)snprintf(part, sizeof part, "%.*s", (int)size, text);
        (void)area_put(area, row + i, column, style, part);
        text += size;
        text += *text == ' ' ? 1 : 0;
    }
}

void area_bar(struct area area, int row, int column, int width, double filled, enum style style)
{
    bool is_utf8 = area.canvas->is_utf8;
    double part = filled < 0 ? 0 : filled > 1 ? 1 : filled;
    int halves = (int)(part * 2 * width + 0.5);
    for (int i = 0; i < width; i++) {
        bool is_full = halves >= 2 * i + 2;
        bool is_half = halves == 2 * i + 1;
        const char *glyph = is_full ? (is_utf8 ? "━" : "=") : is_half && is_utf8 ? "╸" : is_utf8 ? "─" : "-";
        (void)area_put(area, row, column + i, is_full || is_half ? style : STYLE_DIM, glyph);
    }
}

void area_chart(struct area area, const struct chart_column *columns, int count)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[] = {" ", ".", ",", ":", ";", "+", "*", "%", "#"};
    for (int i = 0; i < count && i < area.columns; i++) {
        const struct chart_column *column = &columns[count - 1 - i];
        double part = column->height < 0 ? 0 : column->height > 1 ? 1 : column->height;
        int level = most(1, (int)(part * (LEVELS * area.rows) + 0.5)); /* a measured zero is also visible */
        for (int row = 0; row < area.rows; row++) {
            int here = most(0, least(LEVELS, level - row * LEVELS));
            const char *glyph = area.canvas->is_utf8 ? blocks[here] : signs[here];
            if (here > 0)
                (void)area_put(area, area.rows - 1 - row, area.columns - 1 - i, column->style, glyph);
        }
    }
}
