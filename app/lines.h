/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - standard input, line by line */
#ifndef APP_LINES_H
#define APP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_LIMIT 4096 /* bytes, without the end of line */

struct line {
    char *text;          /* terminated by a NUL that is not counted; belongs to lines.c until the next line */
    size_t length;       /* without "\n" or "\r\n" */
    const char *trouble; /* why the line is refused (too long, or a NUL byte), or NULL */
};

/* Returns 1 and the next line, 0 at the end, or the negative of STATUS_TROUBLE after printing an error. A
 * last line without a newline counts. Before it waits for input, it writes out everything printed so far, so
 * that a program at the other end of two pipes receives its answers. If that fails, it returns 0. */
int lines_next(struct line *ret_line);

#endif
