/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - standard input, a line at a time
 *
 * One buffer, larger than the longest line by far: lines are cut in place, and only the beginning of an unfinished line is
 * moved to the front. Of a line that is too long nothing is kept but the fact.
 *
 * Invariants
 *   1. begin <= end < sizeof buffer: there is always room for the NUL of a last line without an end.
 *   2. What stands between begin and end has been read and not been handed out. */
#include "lines.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"

static char buffer[1 << 16];
static size_t begin, end;
static bool at_end; /* of the input */

/* Read more. Returns 1, 0 at the end of the input, or a negative number. */
static int fill(void)
{
    if (at_end || !output_flush())
        return 0;
    if (begin > 0) {
        memmove(buffer, buffer + begin, end - begin);
        end -= begin;
        begin = 0;
    }
    assert(end < sizeof buffer - 1);
    ssize_t count;
    do {
        count = read(STDIN_FILENO, buffer + end, sizeof buffer - 1 - end);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return -complain("cannot read: %s", strerror(errno));
    at_end = count == 0;
    end += (size_t)count;
    return at_end ? 0 : 1;
}

/* Throw away what is there up to the end of the line; the line goes on if there is none. */
static int skip_line(void)
{
    for (;;) {
        char *newline = memchr(buffer + begin, '\n', end - begin);
        begin = newline ? (size_t)(newline - buffer) + 1 : end;
        if (newline)
            return 1;
        int filled = fill();
        if (filled <= 0)
            return filled < 0 ? filled : 1; /* the line was the last one */
    }
}

static void hand_out(size_t length, struct line *ret_line)
{
    ret_line->text = buffer + begin;
    begin += length + (begin + length < end ? 1 : 0); /* a last line has no end to step over */
    if (length > 0 && ret_line->text[length - 1] == '\r')
        length--;
    ret_line->text[length] = '\0';
    ret_line->length = length;
    if (length > LINE_LIMIT)
        ret_line->trouble = "the line is longer than 4096 bytes";
    else
        ret_line->trouble = memchr(ret_line->text, '\0', length) ? "the line has a NUL byte" : NULL;
}

int lines_next(struct line *ret_line)
{
    for (;;) {
        char *newline = memchr(buffer + begin, '\n', end - begin);
        if (newline || (at_end && begin < end)) {
            hand_out(newline ? (size_t)(newline - buffer) - begin : end - begin, ret_line);
            return 1;
        }
        if (end - begin > LINE_LIMIT + 1) { /* one more: it may be the "\r" */
            *ret_line = (struct line){.text = buffer, .trouble = "the line is longer than 4096 bytes"};
            return skip_line();
        }
        int filled = fill();
        if (filled < 0 || (filled == 0 && begin == end) || !output_flush())
            return filled < 0 ? filled : 0;
    }
}
