/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - the output of a run: split into lines, tagged, written to its log, with the tail kept
 *
 * The runner reads the pipes and feeds the bytes; capture.c finds the lines. Each complete line goes to the
 * log file of the job (job_log.c) and to a function of the runner, which prints it and sends it to followers.
 * A line ends with a line feed, also after a carriage return; other carriage returns are control characters.
 * A line of more than 16 KB is cut into pieces of that size, which are marked as continued. Bytes that are
 * not UTF-8, and control characters other than tab, are shown as \xNN, so that output can neither break a
 * line nor control a terminal. */
#ifndef APP_CAPTURE_H
#define APP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>

enum stream { STREAM_OUT, STREAM_ERR };

/* One line of output. `text` has neither a line end nor a NUL at its end, and is valid during the call. */
struct output_line {
    const char *run; /* id of the run */
    const char *job;
    int attempt;
    enum stream stream;
    hora_instant time;
    bool continued; /* the line goes on in the next one */
    const char *text;
    size_t size;
};

typedef void (*output_line_fn)(const struct output_line *line, void *arg);

struct capture;
struct job_log_file;

/* `log` may be NULL; the caller closes it after capture_free. `line` receives each line, and may be NULL.
 * Texts are copied. tail_size: bytes of output to keep. */
struct capture *capture_new(const char *job, const char *run, int attempt, size_t tail_size,
                            struct job_log_file *log, output_line_fn line, void *arg);
void capture_free(struct capture *capture);
/* Bytes that were read from a pipe at `now`. The lines that they complete have this time, and are in the file
 * when it returns. */
void capture_feed(struct capture *capture, enum stream stream, const char *bytes, size_t size,
                  hora_instant now);
/* No more bytes come: a last line without a line end is complete. Flushes the log. */
void capture_end(struct capture *capture, hora_instant now);
/* The last bytes of output of both streams, as complete lines, in the order in which they came; begins at the
 * start of a line if possible. Valid until the next feed. */
const char *capture_tail(struct capture *capture, size_t *ret_size);
/* Numbers of bytes and of complete lines so far; a line that was cut into pieces is one. */
int64_t capture_bytes(const struct capture *capture);
int64_t capture_lines(const struct capture *capture);

/* ---- log files of jobs (job_log.c) ----
 *
 * DIRECTORY/JOB.log is the current file; JOB.log.1 is the one before, and so on. Each line is
 *
 *     2026-11-17T03:00:00.123456Z RUN ATTEMPT out|err|out+|err+ TEXT
 *
 * where + marks a line that goes on in the next. Lines are collected until job_log_flush. A write that fails
 * (full disk) is reported once by `failed`, later lines are dropped and counted, and when writing works again
 * a line says how many were lost. Files are created with mode 0640. */

typedef void (*job_log_failed_fn)(const char *path, int error, void *arg);

/* Opens (and creates) the log of a job; it is shared by the runs of the job and counted by references. If the
 * file cannot be opened, `failed` is called, and each flush tries again. The settings are those of the last
 * call. A file that cannot be rotated is reported once too, and grows on. Only one thread uses logs. */
struct job_log_file *job_log_open(const char *directory, const char *job, int64_t max_size, int max_files,
                                  job_log_failed_fn failed, void *arg);
/* Counts one more reference, for which job_log_close is called as well; NULL is allowed. */
struct job_log_file *job_log_ref(struct job_log_file *log);
void job_log_write(struct job_log_file *log, const struct output_line *line);
void job_log_flush(struct job_log_file *log);
void job_log_close(struct job_log_file *log);

/* Calls `line` for each line of a run that the files of its job still have, the oldest first. `attempt` 0
 * means all. The function returns 0 to continue. Returns 0, what the function returned, or a negative errno;
 * -ENOENT if the job has no files. Lines that are damaged are passed over. */
int job_log_read(const char *directory, const char *job, const char *run, int attempt,
                 int (*line)(const struct output_line *line, void *arg), void *arg);

#endif
