/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - buffered standard output that loses no error
 *
 * Text is collected in one buffer. The buffer is written when it is full, before lines.c waits for input, and
 * at the end. The first error is kept until the end, and everything printed after it is discarded. SIGPIPE is
 * ignored until then, so that a command can restore the terminal first. */
#include "output.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static char buffer[1 << 16];
static size_t used;           /* bytes in the buffer */
static int failure;           /* errno of the first write that failed; 0 if none has */
static bool pipes_are_errors; /* SIGPIPE was ignored when the command started: report the error instead */

void output_start(void)
{
    pipes_are_errors = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
}

bool output_flush(void)
{
    for (size_t done = 0; done < used && failure == 0;) {
        ssize_t count = write(STDOUT_FILENO, buffer + done, used - done);
        if (count >= 0)
            done += (size_t)count;
        else if (errno != EINTR)
            failure = errno;
    }
    used = 0;
    return failure == 0;
}

void output_bytes(const char *bytes, size_t count)
{
    while (count > sizeof buffer - used) {
        size_t part = sizeof buffer - used;
        memcpy(buffer + used, bytes, part);
        used += part;
        bytes += part;
        count -= part;
        output_flush();
    }
    memcpy(buffer + used, bytes, count);
    used += count;
    assert(used <= sizeof buffer);
}

void output_text(const char *text)
{
    output_bytes(text, strlen(text));
}

void output_plain(const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        output_bytes(byte == '\t' ? " " : byte < ' ' || byte == 127 ? "?" : text, 1);
    }
}

void output_format(const char *format, ...)
{
    char text[1024]; /* longer texts are truncated: long texts from outside go through output_text */
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    output_text(text);
}

bool output_has_failed(void)
{
    return failure != 0;
}

/* Ends the process by SIGPIPE. Returns only if that signal is blocked. */
static int end_by_pipe(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
    return 128 + SIGPIPE; /* the status that a shell would report */
}

int output_finish(int status)
{
    if (!output_flush() && failure == EPIPE && !pipes_are_errors)
        return end_by_pipe();
    if (failure != 0)
        return complain("cannot write: %s", strerror(failure));
    return status;
}
