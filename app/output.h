/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - standard output, in large pieces, and no error of it is lost */
#ifndef APP_OUTPUT_H
#define APP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

void output_bytes(const char *bytes, size_t count);
void output_text(const char *text);
__attribute__((format(printf, 1, 2))) void output_format(const char *format, ...);

/* As output_text, but tabs become blanks and control characters "?": for texts from outside, which must neither break the
 * line nor steer the terminal. */
void output_plain(const char *text);

/* To be called first. From then on a reader that went away ends no call, but is an error of it like any other. */
void output_start(void);

/* Write out what has been gathered. Returns false if this or an earlier write failed: then there is no use in going on. */
bool output_flush(void);

/* Whether a write has failed: then there is no use in going on. */
bool output_has_failed(void);

/* Write out the rest. Returns `status`, or STATUS_TROUBLE with a complaint if something could not be written. If the reader went
 * away, and SIGPIPE was not ignored when the command began, that signal ends the command here, quietly, as it ends others. */
int output_finish(int status);

#endif
