/* SPDX-License-Identifier: Apache-2.0 */
/* console.h - standard output of the runner, which never makes the loop wait */
#ifndef APP_CONSOLE_H
#define APP_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/zone.h>

#include "runner/loop.h"

struct console;

/* zone: of the times that people read, which must outlive the console; NULL means UTC. is_json: each line is an
 * object. */
struct console *console_new(struct loop *loop, const hora_zone *zone, bool is_json);
/* Writes what is left, as far as that is possible without waiting for long. */
void console_free(struct console *console);
/* Prints a line; the line end is added. If the reader is too slow, lines are dropped, and a line says how
 * many. */
void console_line(struct console *console, const char *text, size_t size);
/* Writes a time as people read it, in the zone of the console. */
void console_time(const struct console *console, hora_instant time, char *text, size_t size);
/* Returns true, and counts a line as dropped, if the reader is so slow that the rest of the buffer is kept for
 * events: for lines of output, before they are made. */
bool console_skips_output(struct console *console);

#endif
