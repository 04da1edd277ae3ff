/* SPDX-License-Identifier: Apache-2.0 */
/* job_log_read.c - read the lines of a run from the log files of its job
 *
 * The files may be rotated while they are read, by this or another process. So all are opened first, the
 * newest first: a rotation in between can only show a file a second time, under its next number, and that is
 * noticed by its inode. Lines are read from the oldest file to the newest.
 *
 * A crash or a full disk may have damaged a file. A line that does not have the form of a line is passed
 * over, however long it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hora/zone.h>

#include "command.h"
#include "runner/job_log.h"

enum {
    FILES_MOST = 1002,   /* the current one, the most rotated ones, and one that is being rotated */
    BUFFER = 128 * 1024, /* holds several lines of the longest kind */
    TIME_LENGTH = 27,    /* 2026-11-17T03:00:00.123456Z */
    ATTEMPT_DIGITS_MOST = 9,
};

/* What is read, and for whom. */
struct reading {
    const char *job, *run;
    size_t run_length;
    int attempt; /* 0: all */
    int (*line)(const struct output_line *line, void *arg);
    void *arg;
    char *buffer;
    int files[FILES_MOST];
    struct {
        dev_t device;
        ino_t inode;
    } ids[FILES_MOST];
    int file_count;
};

/* ---- a line ---- */

/* Takes a blank. Returns false if there is none. */
static bool take_blank(const char **at, const char *end)
{
    if (*at == end || **at != ' ')
        return false;
    (*at)++;
    return true;
}

static bool take_attempt(const char **at, const char *end, int *ret_attempt)
{
    int attempt = 0, digits = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && digits < ATTEMPT_DIGITS_MOST; (*at)++, digits++)
        attempt = 10 * attempt + (**at - '0');
    *ret_attempt = attempt;
    return digits > 0;
}

/* Takes out, err, out+ or err+. */
static bool take_stream(const char **at, const char *end, struct output_line *line)
{
    if (end - *at < 3)
        return false;
    if (memcmp(*at, "out", 3) == 0)
        line->stream = STREAM_OUT;
    else if (memcmp(*at, "err", 3) == 0)
        line->stream = STREAM_ERR;
    else
        return false;
    *at += 3;
    line->continued = *at < end && **at == '+';
    *at += line->continued;
    return true;
}

/* Reads a line of the file. Returns false if it is damaged, or is not of this run. */
static bool parse(const struct reading *reading, const char *at, const char *end,
                  struct output_line *ret_line)
{
    char time[TIME_LENGTH + 1];
    while (at < end && *at == '\0') /* what a crash may leave of bytes that did not reach the disk */
        at++;
    if (end - at < TIME_LENGTH)
        return false;
    memcpy(time, at, TIME_LENGTH);
    time[TIME_LENGTH] = '\0';
    at += TIME_LENGTH;
    if (!take_blank(&at, end) || (size_t)(end - at) < reading->run_length ||
        memcmp(at, reading->run, reading->run_length) != 0)
        return false;
    at += reading->run_length;
    *ret_line = (struct output_line){.run = reading->run, .job = reading->job};
    if (!take_blank(&at, end) || !take_attempt(&at, end, &ret_line->attempt) || !take_blank(&at, end) ||
        !take_stream(&at, end, ret_line) || !take_blank(&at, end))
        return false;
    ret_line->text = at;
    ret_line->size = (size_t)(end - at);
    return (reading->attempt == 0 || reading->attempt == ret_line->attempt) &&
           hora_instant_parse(time, NULL, &ret_line->time, NULL, NULL) == 0;
}

/* ---- files ---- */

/* Hands on the complete lines of the buffer. *ret_rest is where the first incomplete one begins. */
static int read_lines(const struct reading *reading, const char *at, const char *end, const char **ret_rest)
{
    const char *line_end;
    int result = 0;
    while (result == 0 && (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        struct output_line line;
        if (parse(reading, at, line_end, &line))
            result = reading->line(&line, reading->arg);
        at = line_end + 1;
    }
    *ret_rest = at;
    return result;
}

/* Reads a file. A last line without an end is still being written, or was cut off. */
static int read_file(const struct reading *reading, int file)
{
    size_t filled = 0;
    bool too_long = false; /* the start of this line did not fit */
    for (;;) {
        ssize_t got = read(file, reading->buffer + filled, BUFFER - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : 0;
        const char *at = reading->buffer, *end = at + filled + got, *rest;
        if (too_long) {
            const char *line_end = memchr(at, '\n', (size_t)(end - at));
            at = line_end != NULL ? line_end + 1 : end;
            too_long = line_end == NULL;
        }
        int result = read_lines(reading, at, end, &rest);
        if (result != 0)
            return result;
        filled = (size_t)(end - rest);
        if (filled == BUFFER) {
            too_long = true;
            filled = 0;
        }
        memmove(reading->buffer, rest, filled);
    }
}

/* Opens a file unless it is open already. Returns 0 or a negative errno. */
static int add_file(struct reading *reading, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    if (fstat(file, &status) < 0) {
        int error = errno;
        (void)close(file);
        return -error;
    }
    for (int i = 0; i < reading->file_count; i++) {
        if (reading->ids[i].device == status.st_dev && reading->ids[i].inode == status.st_ino) {
            (void)close(file);
            return 0;
        }
    }
    reading->files[reading->file_count] = file;
    reading->ids[reading->file_count].device = status.st_dev;
    reading->ids[reading->file_count].inode = status.st_ino;
    reading->file_count++;
    return 0;
}

/* Opens all files, the newest first. The current one may be missing for a moment, while it is rotated. */
static int open_files(struct reading *reading, const char *path)
{
    int error = add_file(reading, path);
    if (error != 0 && error != -ENOENT)
        return error;
    for (int number = 1; reading->file_count < FILES_MOST; number++) {
        char *rotated = job_log_rotated_path(path, number);
        error = add_file(reading, rotated);
        free(rotated);
        if (error != 0)
            break;
    }
    return error == -ENOENT && reading->file_count > 0 ? 0 : error;
}

int job_log_read(const char *directory, const char *job, const char *run, int attempt,
                 int (*line)(const struct output_line *line, void *arg), void *arg)
{
    char *path = job_log_path(directory, job);
    struct job_log_file *open_log = job_log_find_open(path);
    if (open_log != NULL)
        job_log_flush(open_log);
    struct reading *reading = memory(sizeof *reading);
    *reading = (struct reading){
        .job = job,
        .run = run,
        .run_length = strlen(run),
        .attempt = attempt,
        .line = line,
        .arg = arg,
        .buffer = memory(BUFFER),
    };
    int result = open_files(reading, path);
    for (int i = reading->file_count - 1; i >= 0; i--) {
        if (result == 0)
            result = read_file(reading, reading->files[i]);
        (void)close(reading->files[i]);
    }
    free(reading->buffer);
    free(reading);
    free(path);
    return result;
}
