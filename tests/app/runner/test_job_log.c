/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_log.c - log files of jobs: their form, rotation, failures, and reading them again */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "memory_use.h"
#include "runner/capture.h"
#include "started.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MUCH_MB = 16 };
#else
enum { MUCH_MB = 256 };
#endif
enum { MB = 1024 * 1024, CHUNK = 64 * 1024, FILES = 10 };
enum { LINE = 48, MAX = 10 * LINE }; /* the length of "line 000001" in a file: ten fit exactly */

static char folder[64];
static const hora_instant first_time = {INT64_C(1794884400123456789)}; /* 2026-11-17T03:00:00.123456789Z */

/* What `failed` was called with. */
static struct {
    int count, error;
    char path[128];
} failure;

static void note_failure(const char *path, int error, void *arg)
{
    CHECK(arg == &failure);
    failure.count++;
    failure.error = error;
    (void)snprintf(failure.path, sizeof failure.path, "%s", path);
}

static void begin(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/hora-test-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    failure.count = 0;
}

/* Returns the path of a file; the last four are valid. number 0: the current one. */
static const char *path_of(int number)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], number > 0 ? "%s/job.log.%d" : "%s/job.log", folder, number);
    return path;
}

static void end(void)
{
    for (int i = 0; i <= FILES; i++) {
        (void)unlink(path_of(i));
        (void)rmdir(path_of(i));
    }
    CHECK_INT(rmdir(folder), 0);
}

static struct job_log_file *open_log(int64_t max_size, int max_files)
{
    return job_log_open(folder, "job", max_size, max_files, note_failure, &failure);
}

static void write_line(struct job_log_file *log, const char *run, int attempt, const char *text)
{
    struct output_line line = {
        .run = run,
        .job = "job",
        .attempt = attempt,
        .stream = STREAM_OUT,
        .time = first_time,
        .text = text,
        .size = strlen(text),
    };
    job_log_write(log, &line);
}

/* Returns the text of a file; NULL if there is none. */
static const char *text_of(int number)
{
    static char text[100000];
    FILE *file = fopen(path_of(number), "r");
    if (file == NULL)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void write_file(int number, const char *text, size_t size)
{
    FILE *file = fopen(path_of(number), "w");
    CHECK(file != NULL && fwrite(text, 1, size, file) == size && fclose(file) == 0);
}

/* ---- reading ---- */

/* The texts that were read, with | between them. */
static struct {
    char texts[200000];
    size_t size;
    int count, stop_at;
} got;

static int note_line(const struct output_line *line, void *arg)
{
    CHECK(arg == &got);
    CHECK_TEXT(line->job, "job");
    CHECK_INT(line->time.ns, first_time.ns - first_time.ns % 1000);
    got.size += (size_t)snprintf(got.texts + got.size, sizeof got.texts - got.size, "%s%d%s%.*s|",
                                 line->stream == STREAM_ERR ? "err" : "", line->attempt,
                                 line->continued ? "+" : "-", (int)line->size, line->text);
    return ++got.count == got.stop_at ? 7 : 0;
}

static int read_run(const char *run, int attempt, int stop_at)
{
    memset(&got, 0, sizeof got);
    got.stop_at = stop_at;
    return job_log_read(folder, "job", run, attempt, note_line, &got);
}

TEST_REAL(lines_have_time_run_attempt_and_stream, "")
{
    struct stat status;
    begin();
    mode_t mask = umask(022);
    struct job_log_file *log = open_log(MB, 2);
    (void)umask(mask);
    CHECK(stat(path_of(0), &status) == 0 && (status.st_mode & 0777) == 0640);
    struct capture *capture = capture_new("job", "run-7", 3, 100, log, NULL, NULL);
    capture_feed(capture, STREAM_OUT, "hello\n\nwo", 9, first_time);
    CHECK_TEXT(text_of(0), "2026-11-17T03:00:00.123456Z run-7 3 out hello\n"
                           "2026-11-17T03:00:00.123456Z run-7 3 out \n");
    capture_feed(capture, STREAM_ERR, "error\x1b\n", 7, (hora_instant){first_time.ns + HORA_MS(900)});
    capture_end(capture, (hora_instant){-1});
    CHECK_TEXT(text_of(0), "2026-11-17T03:00:00.123456Z run-7 3 out hello\n"
                           "2026-11-17T03:00:00.123456Z run-7 3 out \n"
                           "2026-11-17T03:00:01.023456Z run-7 3 err error\\x1b\n"
                           "1969-12-31T23:59:59.999999Z run-7 3 out wo\n");
    capture_free(capture);
    job_log_close(log);
    CHECK_INT(failure.count, 0);
    end();
}

TEST_REAL(lines_are_collected_until_they_are_flushed, "")
{
    begin();
    struct job_log_file *log = open_log(MB, 2), *same = open_log(MB, 2);
    CHECK_POINTER(same, log);
    write_line(log, "r", 1, "a");
    CHECK_TEXT(text_of(0), "");
    job_log_flush(log);
    CHECK_FOUND(text_of(0), "out a\n");
    write_line(log, "r", 1, "b");
    job_log_close(log); /* the other reference keeps it open */
    write_line(same, "r", 1, "c");
    CHECK_INT(read_run("r", 0, 0), 0); /* flushes what this process has open */
    CHECK_TEXT(got.texts, "1-a|1-b|1-c|");
    write_line(same, "r", 1, "d");
    job_log_close(same);
    CHECK_FOUND(text_of(0), "out d\n");
    end();
}

TEST_REAL(runs_and_attempts_are_told_apart, "")
{
    begin();
    struct job_log_file *log = open_log(MB, 2);
    struct capture *runs[3] = {capture_new("job", "run-1", 1, 0, log, NULL, NULL),
                               capture_new("job", "run-1", 2, 0, log, NULL, NULL),
                               capture_new("job", "run-10", 1, 0, log, NULL, NULL)};
    static char piece[16 * 1024 + 3];
    memset(piece, 'p', sizeof piece - 1);
    for (int i = 0; i < 3; i++)
        capture_feed(runs[i], STREAM_OUT, "a b", 3, first_time);
    for (int i = 0; i < 3; i++) {
        capture_feed(runs[i], STREAM_ERR, "e\n", 2, first_time);
        capture_feed(runs[i], STREAM_OUT, " c\n", 3, first_time);
        capture_end(runs[i], first_time);
    }
    CHECK_INT(read_run("run-1", 0, 0), 0);
    CHECK_TEXT(got.texts, "err1-e|1-a b c|err2-e|2-a b c|");
    CHECK_INT(read_run("run-1", 2, 0), 0);
    CHECK_TEXT(got.texts, "err2-e|2-a b c|");
    CHECK_INT(read_run("run-10", 0, 0), 0);
    CHECK_TEXT(got.texts, "err1-e|1-a b c|");
    CHECK_INT(read_run("run-1", 0, 2), 7); /* the function stops it */
    CHECK_INT(got.count, 2);
    CHECK_INT(read_run("run", 0, 0), 0);
    CHECK_INT(got.count, 0);
    capture_feed(runs[2], STREAM_ERR, piece, sizeof piece - 1, first_time);
    capture_end(runs[2], first_time);
    CHECK_INT(read_run("run-10", 0, 0), 0);
    CHECK_INT(got.count, 4);
    CHECK_FOUND(got.texts, "|err1+ppp");
    CHECK_FOUND(got.texts, "|err1-pp|");
    for (int i = 0; i < 3; i++)
        capture_free(runs[i]);
    job_log_close(log);
    CHECK_INT(job_log_read(folder, "other", "run-1", 0, note_line, &got), -ENOENT);
    end();
}

TEST_REAL(damaged_lines_are_passed_over, "")
{
    static char text[400000];
    static const char *const damages[] = {
        "2026-11-17T03:00:00.123456Z r 1 ou",
        "2026-11-17T03:00:00.123456Z r x out text",
        "2026-11-17T03:00:00.123456Z r 1 foo text",
        "2026-11-17T03:00:00.123456Z r 1 out",
        "2026-11-17T03:00:00.123456Z r",
        "2026-11-17T03:00:00.123456",
        "2026-19-17T03:00:00.123456Z r 1 out text",
        "2026-11-17X03:00:00.123456Z r 1 out text",
        "2026-11-17T03:00:00.123456Z r 99999999999 out text",
        "",
        " ",
        "rubbish \xff",
    };
    static const char good[] = "2026-11-17T03:00:00.123456Z r 1 out good\n";
    size_t size = 0;
    begin();
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\n%s", damages[i], good);
    memset(text + size, 'x', 300000); /* longer than the buffer of the reader */
    size += 300000;
    size += (size_t)snprintf(text + size, sizeof text - size, "\n%s", good);
    memset(text + size, 0, 4096);
    size += 4096;
    size +=
        (size_t)snprintf(text + size, sizeof text - size, "%s2026-11-17T03:00:00.123456Z r 1 out cut", good);
    write_file(0, text, size);
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_INT(got.count, (int)(sizeof damages / sizeof damages[0]) + 2);
    CHECK(strstr(got.texts, "text") == NULL && strstr(got.texts, "cut") == NULL);

    struct job_log_file *log = open_log(MB, 2); /* after the line that a crash has cut off */
    write_line(log, "r", 1, "after the crash");
    job_log_close(log);
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_FOUND(got.texts, "|1-cut|1-after the crash|");
    end();
}

/* The end of a line that is too long for the reader is not a line, even if it looks like one. */
TEST_REAL(the_end_of_a_damaged_line_is_no_line, "")
{
    enum { AT_ONCE = 128 * 1024 };
    static char text[2 * AT_ONCE + 200];
    static const char lines[] = "2026-11-17T03:00:00.123456Z r 1 out no line\n"
                                "2026-11-17T03:00:00.123456Z r 1 out line\n";
    for (size_t before = AT_ONCE; before <= 2 * AT_ONCE; before += AT_ONCE) {
        begin();
        memset(text, 'x', before);
        (void)snprintf(text + before, sizeof text - before, "%s", lines);
        write_file(0, text, before + strlen(lines));
        CHECK_INT(read_run("r", 0, 0), 0);
        CHECK_TEXT(got.texts, "1-line|");
        end();
    }
}

/* A rotation between two calls of open shows a file under two numbers. */
TEST_REAL(a_file_with_two_names_is_read_once, "")
{
    static const char line[] = "2026-11-17T03:00:00.123456Z r 1 out line\n";
    begin();
    write_file(0, line, strlen(line));
    CHECK_INT(link(path_of(0), path_of(1)), 0);
    write_file(2, line, strlen(line));
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_TEXT(got.texts, "1-line|1-line|");
    CHECK_INT(unlink(path_of(0)), 0); /* it has not been made again yet */
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_TEXT(got.texts, "1-line|1-line|");
    end();
}

/* ---- rotation ---- */

/* Checks that the files have lines with numbers up to `last`, without a gap. Returns how many. */
static int check_sequence(int last)
{
    CHECK_INT(read_run("r", 0, 0), 0);
    int number = last - got.count + 1;
    char *save = NULL;
    for (char *text = strtok_r(got.texts, "|", &save); text != NULL;
         text = strtok_r(NULL, "|", &save), number++) {
        char want[32];
        (void)snprintf(want, sizeof want, "1-line %06d", number);
        CHECK_TEXT(text, want);
    }
    CHECK_INT(number, last + 1);
    return got.count;
}

TEST_REAL(files_are_rotated_by_size_and_number, "")
{
    for (int max_files = 0; max_files <= 3; max_files++) {
        begin();
        struct job_log_file *log = open_log(MAX, max_files);
        for (int i = 1; i <= 95; i++) {
            char text[32];
            struct stat status;
            (void)snprintf(text, sizeof text, "line %06d", i);
            write_line(log, "r", 1, text);
            if (i % 7 == 0)
                job_log_flush(log);
            CHECK(stat(path_of(0), &status) == 0 && status.st_size <= MAX);
            if (i % 10 == 5) {
                job_log_flush(log);
                int full = (i - 1) / 10 < max_files ? (i - 1) / 10 : max_files;
                CHECK_INT(check_sequence(i), 5 + 10 * full);
                for (int k = 1; k <= 5; k++)
                    CHECK_INT(stat(path_of(k), &status), k <= full ? 0 : -1);
                if (full > 0)
                    CHECK(stat(path_of(full), &status) == 0 && status.st_size == MAX);
            }
        }
        job_log_close(log);
        CHECK_INT(failure.count, 0);
        end();
    }
}

TEST_REAL(fewer_files_are_kept_after_a_change, "")
{
    begin();
    struct stat status;
    for (int i = 1; i <= 5; i++)
        write_file(i, "old\n", 4);
    struct job_log_file *log = open_log(60, 5);
    CHECK_POINTER(open_log(60, 2), log); /* the new setting */
    write_line(log, "r", 1, "line 000001");
    write_line(log, "r", 1, "line 000002");
    job_log_close(log);
    job_log_close(log);
    CHECK_INT(stat(path_of(2), &status), 0);
    CHECK_INT(stat(path_of(3), &status), -1);
    CHECK_INT(stat(path_of(5), &status), -1);
    CHECK_INT(check_sequence(2), 2);
    end();
}

/* A line that is longer than a whole file gets a file of its own. */
TEST_REAL(a_line_may_be_longer_than_a_file, "")
{
    begin();
    struct job_log_file *log = open_log(10, 3);
    for (int i = 1; i <= 3; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", i);
        write_line(log, "r", 1, text);
    }
    job_log_close(log);
    CHECK_INT(check_sequence(3), 3);
    CHECK_INT(failure.count, 0);
    end();
}

TEST_REAL(a_file_that_cannot_be_rotated_grows_on, "")
{
    begin();
    CHECK_INT(mkdir(path_of(1), 0755), 0); /* in the way */
    struct job_log_file *log = open_log(MAX, 1);
    for (int i = 1; i <= 40; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", i);
        write_line(log, "r", 1, text);
    }
    CHECK_INT(failure.count, 1);
    CHECK_TEXT(failure.path, path_of(0));
    job_log_flush(log);
    CHECK_INT(strlen(text_of(0)), 40 * LINE);
    CHECK_INT(rmdir(path_of(1)), 0);
    for (int i = 41; i <= 60; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", i);
        write_line(log, "r", 1, text);
    }
    job_log_close(log);
    struct stat status;
    CHECK_INT(stat(path_of(1), &status), 0);
    CHECK_INT(failure.count, 1);
    CHECK(check_sequence(60) >= 10);
    end();
}

/* Each line that is read causes more to be written, so that the files are rotated under the reader. */
static struct job_log_file *growing;
static int grown;

static int grow(const struct output_line *line, void *arg)
{
    char want[32];
    (void)snprintf(want, sizeof want, "line %06d", ++*(int *)arg);
    CHECK(line->size == strlen(want) && memcmp(line->text, want, line->size) == 0);
    for (int i = 0; i < 3 && grown < 90; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", ++grown);
        write_line(growing, "r", 1, text);
    }
    return 0;
}

TEST_REAL(files_may_be_rotated_while_they_are_read, "")
{
    begin();
    int last = 0;
    grown = 0;
    growing = open_log(MAX, FILES - 1);
    for (int i = 1; i <= 25; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", ++grown);
        write_line(growing, "r", 1, text);
    }
    CHECK_INT(job_log_read(folder, "job", "r", 0, grow, &last), 0);
    CHECK(last >= 25 && grown > 60);
    job_log_close(growing);
    CHECK_INT(check_sequence(grown), grown);
    end();
}

/* ---- failures ---- */

TEST_REAL(a_log_that_cannot_be_opened_is_tried_again, "")
{
    begin();
    CHECK_INT(rmdir(folder), 0);
    struct job_log_file *log = open_log(MB, 2);
    CHECK_INT(failure.count, 1);
    CHECK_INT(failure.error, ENOENT);
    CHECK_TEXT(failure.path, path_of(0));
    for (int i = 0; i < 5; i++) {
        write_line(log, "r", 2, "lost");
        job_log_flush(log);
    }
    CHECK_INT(failure.count, 1);
    CHECK_INT(mkdir(folder, 0755), 0);
    write_line(log, "r", 2, "lost too");
    job_log_flush(log);
    write_line(log, "r", 2, "kept");
    job_log_close(log);
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_TEXT(got.texts, "err2-hora: 6 lines of output were lost: No such file or directory|2-kept|");
    CHECK_INT(failure.count, 1);
    end();
}

TEST_REAL(a_device_that_is_always_full_is_reported_once, "")
{
    begin();
    CHECK_INT(symlink("/dev/full", path_of(0)), 0);
    struct job_log_file *log = open_log(MB, 2);
    for (int i = 0; i < 10000; i++)
        write_line(log, "r", 1, "a line of some length that does not fit");
    job_log_close(log);
    CHECK_INT(failure.count, 1);
    CHECK_INT(failure.error, ENOSPC);
    end();
}

/* Writes lines until writing fails, then lets it work again. Checks what is in the file then. */
static void check_full(int error, void (*make_full)(bool full))
{
    int written = 0;
    char want[100];
    struct job_log_file *log = open_log(100 * MB, 2);
    make_full(true);
    while (failure.count == 0 && written < 100000) {
        char text[32];
        (void)snprintf(text, sizeof text, "line %06d", ++written);
        write_line(log, "r", 1, text);
        if (written % 7 == 0)
            job_log_flush(log);
    }
    for (int i = 0; i < 100; i++) {
        write_line(log, "r", 1, "lost");
        job_log_flush(log);
    }
    CHECK_INT(failure.count, 1);
    CHECK_INT(failure.error, error);
    CHECK_INT(read_run("r", 0, 0), 0);
    int kept = got.count; /* whole lines, the first ones */
    CHECK(kept > 0 && kept < written);
    make_full(false);
    job_log_flush(log);
    write_line(log, "r", 1, "again");
    job_log_flush(log);
    CHECK_INT(read_run("r", 0, 0), 0);
    CHECK_INT(got.count, kept + 2);
    (void)snprintf(want, sizeof want, "|1-line %06d|err1-hora: %d lines of output were lost: %s|1-again|",
                   kept, written - kept + 100, strerror(error));
    CHECK_FOUND(got.texts, want);
    const char *text = text_of(0);
    CHECK(text != NULL && strstr(text, "\n\n") == NULL); /* nothing is left of the line that did not fit */
    make_full(true);                                     /* another failure is reported again */
    for (int i = 0; i < 100000 && failure.count == 1; i++) {
        write_line(log, "r", 1, "fills the file again");
        job_log_flush(log);
    }
    CHECK_INT(failure.count, 2);
    make_full(false);
    job_log_close(log);
}

static void limit_file_size(bool full)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = full ? 20001 : limit.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST_REAL(a_limit_of_file_size_is_survived, "")
{
    begin();
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    check_full(EFBIG, limit_file_size);
    (void)signal(SIGXFSZ, before);
    end();
}

/* Makes room by removing another file. */
static void fill_disk(bool full)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/ballast", folder);
    if (!full) {
        CHECK_INT(unlink(path), 0);
        return;
    }
    static const char zeros[4096];
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; i < 12 && write(file, zeros, sizeof zeros) > 0; i++)
        ;
    (void)close(file);
}

TEST_REAL(a_full_disk_is_survived, "")
{
    begin();
    if (mount("tmpfs", folder, "tmpfs", 0, "size=64k") < 0) {
        printf("SKIPPED: full disk: %s\n", strerror(errno));
    } else {
        check_full(ENOSPC, fill_disk);
        CHECK_INT(umount(folder), 0);
    }
    end();
}

/* ---- much output ---- */

TEST_REAL(much_output_is_written_quickly, "")
{
    begin();
    char *chunk = malloc(CHUNK);
    for (size_t i = 0; i < CHUNK; i++)
        chunk[i] = (char)(i % 64 == 63 ? '\n' : 'a' + i % 26);
    struct job_log_file *log = open_log(10 * MB, 2);
    struct capture *capture = capture_new("job", "run-1", 1, CHUNK, log, NULL, NULL);
    size_t before = memory_in_use();
    hora_ns start_time = hora_clock_now(NULL);
    for (int i = 0; i < MUCH_MB * (MB / CHUNK); i++)
        capture_feed(capture, STREAM_OUT, chunk, CHUNK, first_time);
    double seconds = (double)(hora_clock_now(NULL) - start_time) / 1e9;
    printf("%d MB of output to a log of 10 MB files: %.0f MB per second, %zu KB of memory\n", MUCH_MB,
           MUCH_MB / seconds, (memory_in_use() - before) / 1024);
    CHECK(memory_in_use() - before < MB);
    struct stat status;
    for (int i = 0; i <= 2; i++)
        CHECK(stat(path_of(i), &status) == 0 && status.st_size <= 10 * MB);
    CHECK_INT(stat(path_of(3), &status), -1);
    CHECK_INT(failure.count, 0);
    capture_free(capture);
    job_log_close(log);
    free(chunk);
    end();
}
