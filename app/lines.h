/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - standard input, a line at a time */
#ifndef APP_LINES_H
#define APP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_LIMIT 4096 /* bytes, without the end of line */

struct line {
    char *text;          /* ends with a NUL, which is not counted; belongs to lines.c until the next line */
    size_t length;       /* without "\n" or "\r\n" */
    const char *trouble; /* what is wrong with the line as such, or NULL: it is too long, it has a NUL byte */
};

/* The next line: 1, or 0 at the end, or STATUS_TROUBLE's negative after a complaint. A last line without an end counts.
 * Before it waits for input, what has been printed so far is written out: so a program on the other side of two pipes gets
 * its answers. If that fails it is the end. */
int lines_next(struct line *ret_line);

#endif
