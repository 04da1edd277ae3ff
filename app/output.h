/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - buffered standard output that loses no error */
#ifndef APP_OUTPUT_H
#define APP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Append to the buffer, and write it out when it is full. output_format cuts its text at 1023 bytes. */
void output_bytes(const char *bytes, size_t count);
void output_text(const char *text);
__attribute__((format(printf, 1, 2))) void output_format(const char *format, ...);

/* Like output_text, but tabs become spaces and control characters become "?". For texts from the user, which
 * must neither break the line nor control the terminal. */
void output_plain(const char *text);

/* Must be called first. From then on, a reader that closes the pipe does not end the command; it is a write
 * error like any other. */
void output_start(void);

/* Writes out the buffer. Returns false if this or an earlier write failed; there is then no point in
 * continuing. */
bool output_flush(void);

/* Returns true if a write has failed; there is then no point in continuing. */
bool output_has_failed(void);

/* Writes out the rest. Returns `status`, or STATUS_TROUBLE with a message if a write has failed. If the
 * reader has closed the pipe, and SIGPIPE was not ignored when the command started, that signal ends the
 * command here, silently, as it does other commands. */
int output_finish(int status);

#endif
