/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - a terminal that is redrawn and whose keys are read one by one */
#ifndef APP_TERMINAL_H
#define APP_TERMINAL_H

#include <stdbool.h>

/* Returns true if standard output is a terminal. If standard input is none, no keys are read. */
bool terminal_is_there(void);

/* terminal_open switches to the alternate screen, if standard output is a terminal, and to keys that are read
 * without waiting for a line. terminal_close restores the previous state. Signals that end the program only
 * make terminal_key return -1, so that the caller can restore the terminal. */
void terminal_open(void);
void terminal_close(void);

/* Stores the current size, or a default if it is unknown. */
void terminal_size(int *ret_lines, int *ret_columns);

/* Waits for a key for at most `milliseconds`. Returns the key, 0 if none was pressed, or -1 if the program
 * should end (SIGINT, SIGTERM, SIGHUP). */
int terminal_key(int milliseconds);

#endif
