/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - standard input, line by line
 *
 * There is one buffer, far larger than the longest line. Lines are split in place, and only the start of an
 * incomplete line is moved to the front. The contents of a line that is too long are discarded.
 *
 * Invariants
 *
 *   1. begin <= end < sizeof buffer: there is always room for the NUL of a last line without a newline.
 *   2. The bytes between begin and end have been read and not been returned. */
#include "lines.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"

static char buffer[1 << 16];
static size_t begin, end; /* of the bytes in the buffer that have not been returned */
static bool at_end;       /* the end of the input has been read */

/* Reads more input. Returns 1; 0 at the end of the input or if the output has failed; or a negative number
 * after printing an error. */
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

/* Discards the rest of the line, reading more input until its end is found. Returns 1, or a negative number
 * after printing an error. */
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

/* Returns the next `length` bytes of the buffer as a line, in place. Drops the line feed behind them and a
 * carriage return at their end. */
static void hand_out(size_t length, struct line *ret_line)
{
    ret_line->text = buffer + begin;
    begin += length + (begin + length < end ? 1 : 0); /* a last line may have no newline to skip */
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
        if (end - begin > LINE_LIMIT + 1) { /* one more, because the last byte may be the "\r" */
            *ret_line = (struct line){.text = buffer, .trouble = "the line is longer than 4096 bytes"};
            return skip_line();
        }
        int filled = fill();
        if (filled < 0 || (filled == 0 && begin == end) || !output_flush())
            return filled < 0 ? filled : 0;
    }
}
