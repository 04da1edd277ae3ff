/* SPDX-License-Identifier: Apache-2.0 */
/* console.c - standard output of the runner, which never makes the loop wait
 *
 * A reader that stops reading (a pager, a stuck log collector) must not stop the jobs. The descriptor stays in
 * blocking mode, because other processes may share it; instead, at most PIPE_BUF bytes are written when it is
 * ready, which a pipe then takes without blocking. What cannot be written waits in a buffer of limited size.
 * Files are always ready and cannot be watched. If their disk is full, what could not be written waits until the
 * next line, and longer if necessary. */
#include "runner/console.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

#define KEPT_FOR_EVENTS ((size_t)1 << 16)

/* The buffer has room for twice its capacity, so that what waits is moved only after as much was written. */
enum { CAPACITY = 1 << 20, ROOM = 2 * CAPACITY, WRITES_IN_A_ROW = 16, LAST_WAIT_MS = 2000 };

struct console {
    struct loop *loop;
    const hora_zone *zone;
    struct loop_fd watch;
    bool is_json;   /* each line is an object */
    bool is_file;   /* cannot be watched, and never blocks */
    bool is_broken; /* a write has failed: nothing more is printed */
    char *bytes;
    size_t start, used; /* what waits is bytes[start] and the `used` - 1 after it */
    bool is_behind;     /* lines of output are dropped until half of the buffer is free */
    long long dropped;  /* lines, since the last report */
};

struct console *console_new(struct loop *loop, const hora_zone *zone, bool is_json)
{
    struct console *console = memory(sizeof *console);
    struct stat status;
    *console = (struct console){.loop = loop,
                                .zone = zone,
                                .watch = {.fd = -1},
                                .is_json = is_json,
                                .is_file = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode),
                                .bytes = memory(ROOM)};
    return console;
}

/* Whether a later write may succeed. A terminal that was closed fails with EIO, like a broken disk. */
static bool may_pass(const struct console *console, int error)
{
    return error == EINTR || error == EAGAIN || error == ENOSPC || error == EDQUOT || error == EFBIG ||
           (error == EIO && console->is_file);
}

/* Writes once. Returns false if nothing could be written. */
static bool write_some(struct console *console)
{
    size_t part = console->used < PIPE_BUF || console->is_file ? console->used : PIPE_BUF;
    ssize_t count = write(STDOUT_FILENO, console->bytes + console->start, part);
    if (count < 0) {
        console->is_broken = !may_pass(console, errno);
        if (console->is_broken)
            console->used = 0;
        return false;
    }
    console->used -= (size_t)count;
    console->start = console->used == 0 ? 0 : console->start + (size_t)count;
    return true;
}

static bool is_ready(int milliseconds)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, milliseconds) > 0;
}

static void output_ready(int fd, uint32_t events, void *arg)
{
    (void)fd, (void)events;
    struct console *console = arg;
    for (int i = 0; i < WRITES_IN_A_ROW && console->used > 0 && is_ready(0) && write_some(console); i++)
        ;
    if (console->used == 0)
        loop_unwatch(&console->watch);
}

static void write_out(struct console *console)
{
    if (console->watch.fd >= 0)
        return; /* the loop will say when it is ready */
    while (console->used > 0 && (console->is_file || is_ready(0)) && write_some(console))
        ;
    if (console->used == 0)
        return;
    if (loop_watch(console->loop, &console->watch, STDOUT_FILENO, EPOLLOUT, output_ready, console) == -EPERM)
        console->is_file = true;
}

static bool append(struct console *console, const char *text, size_t size)
{
    if (size + 1 > CAPACITY - console->used)
        return false;
    if (size + 1 > ROOM - console->start - console->used) {
        memmove(console->bytes, console->bytes + console->start, console->used);
        console->start = 0;
    }
    char *end = console->bytes + console->start + console->used;
    memcpy(end, text, size);
    end[size] = '\n';
    console->used += size + 1;
    return true;
}

void console_time(const struct console *console, hora_instant time, char *text, size_t size)
{
    hora_local local;
    if (console->zone == NULL || hora_zone_to_local(console->zone, time, &local) < 0)
        (void)hora_instant_format(time, NULL, false, text, size);
    else
        (void)snprintf(text, size, "%04d-%02d-%02d %02d:%02d:%02d.%03d", (int)local.year, local.month,
                       local.day, local.hour, local.minute, local.second, (int)(local.nanosecond / 1000000));
}

/* Says how many lines were dropped, in the form of the other lines. */
static void report_dropped(struct console *console)
{
    char time[HORA_INSTANT_TEXT] = "", text[100], line[300];
    if (console->is_json)
        (void)hora_instant_format(loop_wall(console->loop), NULL, false, time, sizeof time);
    else
        console_time(console, loop_wall(console->loop), time, sizeof time);
    (void)snprintf(text, sizeof text, "%lld line%s not printed: %s", console->dropped,
                   console->dropped == 1 ? " was" : "s were",
                   console->is_file ? "the file could not be written" : "the reader is too slow");
    const char *form = console->is_json
                           ? "{\"time\":\"%s\",\"kind\":\"warn\",\"level\":\"warning\",\"text\":\"%s\"}"
                           : "%s warn: %s";
    int length = snprintf(line, sizeof line, form, time, text);
    if (append(console, line, (size_t)length))
        console->dropped = 0;
}

void console_line(struct console *console, const char *text, size_t size)
{
    if (console->is_broken)
        return;
    if (console->dropped > 0)
        report_dropped(console);
    if (console->dropped > 0 || !append(console, text, size))
        console->dropped++;
    write_out(console);
}

/* Once behind, the console waits until half of the buffer is free. Otherwise it would print a few lines and a
 * report, again and again. */
bool console_skips_output(struct console *console)
{
    size_t needed = console->is_behind ? CAPACITY / 2 : KEPT_FOR_EVENTS;
    console->is_behind = console->is_broken || CAPACITY - console->used < needed;
    if (console->is_behind)
        console->dropped++;
    return console->is_behind;
}

/* Writes what is left, if the reader takes it in time. */
static void write_last(struct console *console)
{
    while (console->used > 0 && (console->is_file || is_ready(LAST_WAIT_MS)) && write_some(console))
        ;
}

void console_free(struct console *console)
{
    if (console == NULL)
        return;
    loop_unwatch(&console->watch);
    write_last(console);
    if (console->dropped > 0 && !console->is_broken) {
        report_dropped(console);
        write_last(console);
    }
    free(console->bytes);
    free(console);
}
