/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.c - the log files of jobs: lines are appended, files are rotated
 *
 * How it works    Lines are collected in memory. job_log_flush writes them with one call, and so does a line
 *                 that makes the block larger than BLOCK. Before a line would make the file larger than
 *                 max_size, the file becomes JOB.log.1, JOB.log.1 becomes JOB.log.2, and so on.
 * Failures        When a write fails, the lines that were not written are counted as lost, and so are all
 *                 that come. Each flush then tries to write a line that says how many were lost. If that
 *                 works, all is well again. A file that cannot be opened is treated alike.
 * Descriptors     A job that is not running has a reference to its log, and each of its runs another. While
 *                 there is only one reference, the file is closed, and the next line opens it again. So a runner
 *                 needs descriptors for the jobs that run, not for all that it has.
 * Whole lines     What a failed write has left of a line is cut off again. If that is not possible, or if a
 *                 crash has left it, the next write begins with a line end.
 * Invariants      1. Between calls, the file ends with a line end, unless `torn`.
 *                 2. While `failing`, the block is empty.
 *                 3. There is one struct per file in the process, however many runs write to it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hora/zone.h>

#include "command.h"
#include "runner/capture.h"
#include "runner/job_log.h"

enum {
    BLOCK = 64 * 1024,
    FIRST_ROOM = 4 * 1024, /* of the block: most jobs say little */
    PREFIX_MOST = 64,      /* time, attempt and stream of a line, with blanks, without the run */
    LOST_TEXT = 200,
};

struct job_log_file {
    const char *path; /* the key in open_logs; the text follows the struct */
    int references;
    int64_t max_size;
    int max_files;
    job_log_failed_fn failed;
    void *arg;

    int file;           /* -1: it is closed, or could not be opened */
    bool rests;         /* it is closed until the next line */
    int64_t size;       /* of the file and the block */
    char *block;        /* lines that are not written yet */
    size_t used, room;  /* of the block */
    bool torn;          /* the file ends inside a line */
    bool rotation_told; /* that it cannot be rotated was reported */

    bool failing;
    int error;    /* why */
    int64_t lost; /* lines */

    char *last_run; /* of the last line, for the line that says how many were lost */
    int last_attempt;
    hora_instant last_time;

    int64_t second; /* the second that second_text shows: reused for all its lines */
    char second_text[HORA_INSTANT_TEXT];
};

static void *open_logs; /* a tree of tsearch; only the main thread uses logs */

/* ---- files ---- */

char *job_log_path(const char *directory, const char *job)
{
    size_t size = strlen(directory) + strlen(job) + sizeof "/.log";
    char *path = memory(size);
    (void)snprintf(path, size, "%s/%s.log", directory, job);
    return path;
}

char *job_log_rotated_path(const char *path, int number)
{
    size_t size = strlen(path) + sizeof ".2147483647";
    char *rotated = memory(size);
    (void)snprintf(rotated, size, "%s.%d", path, number);
    return rotated;
}

/* Begins to fail, or goes on failing. */
static void fail(struct job_log_file *log, int error)
{
    bool is_new = !log->failing;
    log->failing = true;
    log->error = error;
    if (is_new)
        log->failed(log->path, error, log->arg);
}

/* Opens the file and finds its size and whether it ends with a line end. */
static void open_file(struct job_log_file *log)
{
    struct stat status;
    char last = '\n';
    log->file = open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (log->file < 0) {
        fail(log, errno);
        return;
    }
    log->size = fstat(log->file, &status) == 0 ? status.st_size : 0;
    log->torn = log->size > 0 && pread(log->file, &last, 1, log->size - 1) == 1 && last != '\n';
}

/* Cuts off the part of a line that a failed write has left: the last `size` bytes of the file. */
static void cut_off(struct job_log_file *log, size_t size)
{
    struct stat status;
    if (size > 0 && (fstat(log->file, &status) < 0 || ftruncate(log->file, status.st_size - (off_t)size) < 0))
        log->torn = true;
}

/* Writes all bytes. Returns how many were written, which is fewer with errno if it failed. */
static size_t write_all(int file, const char *bytes, size_t size)
{
    size_t written = 0;
    while (written < size) {
        ssize_t part = write(file, bytes + written, size - written);
        if (part < 0 && errno != EINTR)
            break;
        if (part > 0)
            written += (size_t)part;
    }
    return written;
}

static int64_t count_lines(const char *bytes, size_t size)
{
    int64_t count = 0;
    const char *end = bytes + size;
    while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
        count++;
        bytes++;
    }
    return count;
}

/* Appends whole lines. Returns how many bytes of whole lines are in the file now; fewer with errno if it
 * failed. */
static size_t append(struct job_log_file *log, const char *lines, size_t size)
{
    if (log->torn && write_all(log->file, "\n", 1) < 1)
        return 0;
    log->torn = false;
    size_t written = write_all(log->file, lines, size);
    if (written == size)
        return size;
    int error = errno;
    const char *end = written > 0 ? memrchr(lines, '\n', written) : NULL;
    size_t whole = end != NULL ? (size_t)(end + 1 - lines) : 0;
    cut_off(log, written - whole);
    errno = error;
    return whole;
}

/* ---- lines ---- */

static void reserve(struct job_log_file *log, size_t size)
{
    if (log->room - log->used >= size)
        return;
    size_t room = log->room == 0 ? FIRST_ROOM : log->room;
    while (room - log->used < size)
        room *= 2;
    char *block = memory(room);
    if (log->used > 0)
        memcpy(block, log->block, log->used);
    free(log->block);
    log->block = block;
    log->room = room;
}

/* Writes a number with leading zeros. */
static void put_digits(char *text, int count, int64_t number)
{
    for (int i = count - 1; i >= 0; i--, number /= 10)
        text[i] = (char)('0' + number % 10);
}

/* Writes a time as 2026-11-17T03:00:00.123456Z. */
static size_t put_time(struct job_log_file *log, char *text, hora_instant time)
{
    enum { NS = 1000000000, NS_PER_US = 1000, DIGITS = 6 };
    int64_t second = time.ns / NS - (time.ns % NS < 0);
    if (second != log->second || log->second_text[0] == '\0') {
        (void)hora_instant_format((hora_instant){second * NS}, NULL, false, log->second_text,
                                  sizeof log->second_text);
        log->second = second;
    }
    size_t length = strlen(log->second_text);
    memcpy(text, log->second_text, length + 1);
    text[length - 1] = '.'; /* instead of Z */
    put_digits(text + length, DIGITS, (time.ns - second * NS) / NS_PER_US);
    length += DIGITS;
    text[length++] = 'Z';
    return length;
}

/* Returns the length of a line in the file, at most. */
static size_t line_room(const struct output_line *line)
{
    return PREFIX_MOST + strlen(line->run) + line->size + 1;
}

/* Writes a line in the form of the file. Returns its length. */
static size_t put_line(struct job_log_file *log, char *text, const struct output_line *line)
{
    static const char *const streams[2][2] = {{" out ", " out+ "}, {" err ", " err+ "}};
    const char *stream = streams[line->stream == STREAM_ERR][line->continued];
    size_t run_length = strlen(line->run);
    size_t length = put_time(log, text, line->time);
    text[length++] = ' ';
    memcpy(text + length, line->run, run_length);
    length += run_length;
    length += (size_t)snprintf(text + length, PREFIX_MOST / 2, " %d%s", line->attempt, stream);
    memcpy(text + length, line->text, line->size);
    length += line->size;
    text[length++] = '\n';
    return length;
}

/* Keeps what the line about lost lines will say. */
static void remember(struct job_log_file *log, const struct output_line *line)
{
    size_t size = strlen(line->run) + 1;
    if (log->last_run == NULL || strcmp(log->last_run, line->run) != 0) {
        free(log->last_run);
        log->last_run = memcpy(memory(size), line->run, size);
    }
    log->last_attempt = line->attempt;
    log->last_time = line->time;
}

/* While failing: tries to write how many lines were lost. */
static void try_again(struct job_log_file *log)
{
    char text[LOST_TEXT];
    if (log->file < 0)
        open_file(log);
    if (log->file < 0)
        return;
    if (log->lost == 0) { /* it could not be opened, and was not needed yet */
        log->failing = false;
        return;
    }
    (void)snprintf(text, sizeof text, "hora: %" PRId64 " lines of output were lost: %s", log->lost,
                   strerror(log->error));
    struct output_line line = {
        .run = log->last_run,
        .attempt = log->last_attempt,
        .stream = STREAM_ERR,
        .time = log->last_time,
        .text = text,
        .size = strlen(text),
    };
    char *lines = memory(line_room(&line));
    size_t size = put_line(log, lines, &line);
    if (append(log, lines, size) == size) {
        log->failing = false;
        log->lost = 0;
        log->size += (int64_t)size;
    } else {
        log->error = errno;
    }
    free(lines);
}

void job_log_flush(struct job_log_file *log)
{
    if (log->failing) {
        try_again(log);
        return;
    }
    if (log->used == 0)
        return;
    size_t size = log->used, whole = append(log, log->block, size);
    int error = errno;
    log->used = 0;
    if (whole == size)
        return;
    log->size -= (int64_t)(size - whole);
    log->lost += count_lines(log->block + whole, size - whole);
    fail(log, error);
}

/* ---- rotation ---- */

/* Renames a file to the next number. Returns false with errno. */
static bool shift(const char *path, int number)
{
    char *from = job_log_rotated_path(path, number), *to = job_log_rotated_path(path, number + 1);
    bool renamed = rename(number > 0 ? from : path, to) == 0;
    int error = errno;
    free(from);
    free(to);
    errno = error;
    return renamed;
}

/* Returns how many rotated files there are, numbered without a gap. */
static int count_rotated(const char *path)
{
    for (int count = 0;; count++) {
        char *rotated = job_log_rotated_path(path, count + 1);
        bool exists = faccessat(AT_FDCWD, rotated, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        free(rotated);
        if (!exists)
            return count;
    }
}

/* Removes what is too old, renames the others, the oldest first. Returns false with errno. */
static bool shift_all(const struct job_log_file *log)
{
    int number = count_rotated(log->path);
    for (; number >= log->max_files && number > 0; number--) {
        char *oldest = job_log_rotated_path(log->path, number);
        (void)unlink(oldest);
        free(oldest);
    }
    if (log->max_files == 0)
        return unlink(log->path) == 0;
    for (; number >= 0; number--)
        if (!shift(log->path, number))
            return false;
    return true;
}

/* Begins a new file. If that is not possible, goes on with the old one until it has grown by max_size. */
static void rotate(struct job_log_file *log)
{
    job_log_flush(log);
    if (log->failing)
        return;
    if (!shift_all(log)) {
        if (!log->rotation_told)
            log->failed(log->path, errno, log->arg);
        log->rotation_told = true;
        log->size = 0;
        return;
    }
    (void)close(log->file);
    open_file(log);
}

/* No run writes to it: closes the file, unless that is the trouble. */
static void rest(struct job_log_file *log)
{
    job_log_flush(log);
    if (log->failing)
        return;
    if (log->file >= 0)
        (void)close(log->file);
    log->file = -1;
    log->rests = true;
    free(log->block);
    log->block = NULL;
    log->room = 0;
}

static void wake(struct job_log_file *log)
{
    if (log->rests)
        open_file(log);
    log->rests = false;
}

void job_log_write(struct job_log_file *log, const struct output_line *line)
{
    remember(log, line);
    wake(log);
    if (log->failing) {
        log->lost++;
        return;
    }
    reserve(log, line_room(line));
    char *text = log->block + log->used;
    size_t size = put_line(log, text, line);
    if (log->size > 0 && log->size + (int64_t)size > log->max_size) {
        rotate(log); /* empties the block, and leaves the bytes after it alone */
        if (log->failing) {
            log->lost++;
            return;
        }
        memmove(log->block, text, size);
    }
    log->used += size;
    log->size += (int64_t)size;
    if (log->used >= BLOCK)
        job_log_flush(log);
}

/* ---- open logs ---- */

static int compare_paths(const void *left, const void *right)
{
    const struct job_log_file *first = left, *second = right;
    return strcmp(first->path, second->path);
}

struct job_log_file *job_log_find_open(const char *path)
{
    struct job_log_file key = {.path = path}, **found = tfind(&key, &open_logs, compare_paths);
    return found == NULL ? NULL : *found;
}

struct job_log_file *job_log_open(const char *directory, const char *job, int64_t max_size, int max_files,
                                  job_log_failed_fn failed, void *arg)
{
    char *path = job_log_path(directory, job);
    struct job_log_file *log = job_log_find_open(path);
    if (log == NULL) {
        size_t size = strlen(path) + 1;
        log = memory(sizeof *log + size);
        *log = (struct job_log_file){.path = memcpy(log + 1, path, size)};
        if (tsearch(log, &open_logs, compare_paths) == NULL)
            out_of_memory();
    }
    free(path);
    log->max_size = max_size;
    log->max_files = max_files;
    log->failed = failed;
    log->arg = arg;
    if (log->references++ == 0) {
        open_file(log); /* so that a problem is known from the start */
        rest(log);
    }
    return log;
}

struct job_log_file *job_log_ref(struct job_log_file *log)
{
    if (log != NULL)
        log->references++;
    return log;
}

void job_log_close(struct job_log_file *log)
{
    if (log == NULL || --log->references > 1)
        return;
    if (log->references == 1) {
        rest(log);
        return;
    }
    job_log_flush(log);
    if (log->file >= 0)
        (void)close(log->file);
    (void)tdelete(log, &open_logs, compare_paths);
    free(log->last_run);
    free(log->block);
    free(log);
}
