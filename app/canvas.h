/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h - a grid of character cells, which is drawn first and written to the terminal afterwards
 *
 * Text is drawn into areas. What does not fit into its area is not drawn, so no line can be longer than the
 * terminal is wide. A wide character takes two cells; characters without a width are not drawn. */
#ifndef APP_CANVAS_H
#define APP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CANVAS_ROWS_MOST = 500, CANVAS_COLUMNS_MOST = 1000 }; /* a larger terminal is used in part */

enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_TITLE, /* the name of the program */
    STYLE_HEAD,  /* headings */
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_INFO,
    STYLE_KEY,    /* a key that can be pressed */
    STYLE_KEY_ON, /* a key whose effect is on */
    STYLE_COUNT
};

/* Returns the parameters of the control sequence "select graphic rendition" for a style. */
const char *style_rendition(enum style style, bool has_colour);

struct cell {
    /* One character in UTF-8, without a NUL if it has four bytes; empty: the second half of a wide one. */
    char glyph[4];
    uint8_t style;
};

struct canvas {
    int rows;
    int columns;
    bool is_utf8;       /* characters other than ASCII can be shown */
    bool has_colour;    /* colours can be shown */
    int64_t cut;        /* characters that were not drawn because they did not fit */
    struct cell *cells; /* rows * columns; NULL if there are none */
};

/* A rectangle of a canvas. */
struct area {
    struct canvas *canvas;
    int row;
    int column;
    int rows;
    int columns;
};

/* Gives a canvas a size, within its limits, and clears it. A canvas of zeros is one without cells. */
void canvas_resize(struct canvas *canvas, int rows, int columns);

/* Frees the cells. */
void canvas_free(struct canvas *canvas);

/* Writes the text of a row without styles and without blanks at its end. `text` holds `size` bytes, and is
 * cut if it is longer. Returns the number of columns used. */
int canvas_row_text(const struct canvas *canvas, int row, char *text, size_t size);

/* Writes the whole canvas to standard output, as control sequences of a terminal. */
void canvas_write(const struct canvas *canvas);

/* ---- drawing ---- */

/* The area of the whole canvas, and parts of an area. A part that reaches beyond its area is made smaller. */
struct area area_whole(struct canvas *canvas);
struct area area_part(struct area area, int row, int rows, int column, int columns);

/* Draws a text that starts in the given row and column of an area. Control characters become "?". Returns the
 * column after it. */
int area_put(struct area area, int row, int column, enum style style, const char *text);

/* The same for a formatted text. */
__attribute__((format(printf, 5, 6))) int area_format(struct area area, int row, int column, enum style style,
                                                      const char *format, ...);

/* Draws a text in `width` columns, to the right if `is_right`. A longer text ends with an ellipsis. Returns
 * the column after the width. */
int area_put_in(struct area area, int row, int column, int width, bool is_right, enum style style,
                const char *text);

/* Draws a text on up to `rows` rows, broken at blanks. If it is longer, it ends with an ellipsis. */
void area_wrap(struct area area, int row, int column, int rows, enum style style, const char *text);

/* Draws a horizontal bar of which a fraction, 0 to 1, is filled. */
void area_bar(struct area area, int row, int column, int width, double filled, enum style style);

/* A column of a chart. */
struct chart_column {
    double height; /* 0 to 1 of the height of the chart */
    enum style style;
};

/* Draws a chart that fills the area. The last of the columns is on the right. */
void area_chart(struct area area, const struct chart_column *columns, int count);

#endif
