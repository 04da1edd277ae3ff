/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - a terminal that is redrawn and whose keys are read one by one */
#ifndef APP_TERMINAL_H
#define APP_TERMINAL_H

#include <stdbool.h>

/* Results of terminal_key that are not characters. */
enum {
    TERMINAL_NO_KEY = 0, /* the time is over */
    TERMINAL_END = -1, /* the program should end: SIGINT, SIGTERM, SIGHUP, SIGQUIT, or no terminal is left */
    TERMINAL_REDRAW = -2, /* the size has changed, or the program was stopped and continues */
    TERMINAL_UP = -3,     /* arrows */
    TERMINAL_DOWN = -4,
};

/* Returns true if standard output is a terminal that can be redrawn: TERM is set, and not to "dumb". If
 * standard input is no terminal, no keys are read. */
bool terminal_is_there(void);

/* Returns true if the terminal may be sent colours: NO_COLOR is not set, or empty. */
bool terminal_has_colour(void);

/* Returns true if the locale (LC_ALL, LC_CTYPE, LANG) says that the terminal shows UTF-8. */
bool terminal_is_utf8(void);

/* terminal_open switches to the alternate screen if `wants_screen`, and to keys that are read without waiting
 * for a line. terminal_close restores the previous state; so does exit. From terminal_open on, signals that
 * end the program only make terminal_key return TERMINAL_END, so that the caller can restore the terminal.
 * SIGTSTP (Ctrl-Z) restores the terminal while the program is stopped. */
void terminal_open(bool wants_screen);
void terminal_close(void);

/* Stores the current size, or a default if it is unknown. */
void terminal_size(int *ret_lines, int *ret_columns);

/* Waits for a key for at most `milliseconds`. Returns the key, or one of the values above. */
int terminal_key(int milliseconds);

#endif
