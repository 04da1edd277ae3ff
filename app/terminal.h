/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - a terminal that is redrawn and whose keys are read one by one */
#ifndef APP_TERMINAL_H
#define APP_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is a terminal. If standard input is not, there are no keys. */
bool terminal_is_there(void);

/* terminal_open switches to the alternate screen and reads keys immediately. terminal_close restores the
 * previous state; it is also called when a signal ends the program. */
void terminal_open(void);
void terminal_close(void);

/* Returns the current size. */
void terminal_size(int *ret_lines, int *ret_columns);

/* Waits for a key for at most `milliseconds`. Returns the key, 0 if none was pressed, or -1 if the program
 * should end (SIGINT, SIGTERM, SIGHUP). */
int terminal_key(int milliseconds);

#endif
