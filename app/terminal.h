/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - a terminal that is redrawn, and whose keys are read one by one */
#ifndef APP_TERMINAL_H
#define APP_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is one; standard input may be something else, then there are no keys. */
bool terminal_is_there(void);

/* Take it over: its screen is put aside, and keys come at once. And: give it back as it was; also called if a signal ends the program. */
void terminal_open(void);
void terminal_close(void);

/* How large it is now. */
void terminal_size(int *ret_lines, int *ret_columns);

/* Wait for a key, at most so many milliseconds: the key, 0 if none came, -1 if the program is to end (SIGINT, SIGTERM, SIGHUP). */
int terminal_key(int milliseconds);

#endif
