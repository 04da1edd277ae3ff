/* SPDX-License-Identifier: Apache-2.0 */
/* test_dump_fd.c - hora_pool_dump_fd: to pipes that are full, closed or slow, and while locks are held */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "explain_support.h"
#include "json_support.h"
#include "pool_support.h"

enum { TEXT_MOST = 1 << 18 }; /* more than a pipe holds */

/* Reads everything until the end, as text. */
struct reader {
    int fd;
    bool slowly; /* byte by byte */
    char text[TEXT_MOST];
    test_thread *thread;
};

static void read_all(void *arg)
{
    struct reader *reader = arg;
    size_t got = 0;
    ssize_t more;
    while ((more = read(reader->fd, reader->text + got,
                        reader->slowly ? 1 : sizeof(reader->text) - got - 1)) > 0)
        got += (size_t)more;
    reader->text[got] = '\0';
}

static struct reader reader; /* of the running test: there is one at a time */

/* Fill a pipe with blanks, which may stand before any JSON. */
static void fill_pipe(int fd)
{
    char blanks[512];
    memset(blanks, ' ', sizeof(blanks));
    CHECK_INT(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (write(fd, blanks, sizeof(blanks)) > 0) {
    }
    while (write(fd, blanks, 1) > 0) {
    }
}

/* Returns what a dump writes to a pipe that another thread reads. is_full: the pipe is full at first and does
 * not block. */
static const char *dump_to_pipe(hora_pool *pool, bool is_full)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    if (is_full)
        fill_pipe(ends[1]);
    reader.fd = ends[0];
    reader.slowly = is_full;
    reader.thread = test_thread_start(NULL, read_all, &reader);
    CHECK_OK(hora_pool_dump_fd(pool, ends[1]));
    CHECK_INT(close(ends[1]), 0);
    test_thread_join(reader.thread);
    CHECK_INT(close(ends[0]), 0);
    CHECK(json_is_valid(reader.text));
    return reader.text;
}

TEST_REAL(dump_fd_writes_what_dump_writes, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), job = A_JOB(&r);
    execute_job(&r, &blocker);
    settle(&r.f);
    execute_job(&r, &job);
    const char *text = dump_to_pipe(r.pool, false);
    CHECK_JSON(text, "state", "Running");
    CHECK_JSON(text, "busy", NULL);
    CHECK_JSON(text, "workers/0/state", "running");
    CHECK_JSON(text, "queue/size", "1");
    CHECK_JSON(text, "queue/heads/0/name", "job");
    rig_close(&r);
}

TEST_REAL(dump_fd_waits_for_room_where_others_do_not, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    struct job blocker = A_WAITING_JOB(&r), jobs[25];
    char name[101];
    memset(name, 'x', 100);
    name[100] = '\0';
    execute_job(&r, &blocker);
    settle(&r.f);
    for (int i = 0; i < 25; i++) {
        jobs[i] = (struct job)A_JOB(&r);
        const hora_task task = {
            .run = job_run, .arg = &jobs[i], .drop = job_drop, .name = name, .file = name};
        CHECK_OK(hora_pool_execute(r.pool, &task));
    }
    const char *text = dump_to_pipe(r.pool, true);
    CHECK_JSON(text, "queue/heads/19/name", name);
    rig_close(&r);
}

TEST_REAL(dump_fd_reports_that_no_process_reads, "")
{
    struct rig r;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int ends[2];
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_INT(sigaction(SIGPIPE, &ignore, &before), 0);
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(close(ends[0]), 0);
    CHECK_ERROR(hora_pool_dump_fd(r.pool, ends[1]), HORA_EIO);
    CHECK_INT(close(ends[1]), 0);
    CHECK_ERROR(hora_pool_dump_fd(r.pool, ends[1]), HORA_EIO);
    CHECK_INT(sigaction(SIGPIPE, &before, NULL), 0);
    rig_close(&r);
}

/* ---- many workers ---- */

static int count_writes(const char *text, size_t length, void *context)
{
    struct reader *to = context;
    size_t got = strlen(to->text);
    memcpy(to->text + got, text, length);
    to->text[got + length] = '\0';
    return 0;
}

TEST_REAL(dump_fd_leaves_out_what_it_has_no_room_for, "")
{
    enum { MANY = 70 };
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = MANY));
    CHECK_INT(hora_pool_prestart_all(r.pool), MANY);
    const char *text = dump_to_pipe(r.pool, false);
    CHECK_INT(json_count(text, "workers"), 64);
    CHECK_JSON(text, "workers_left_out", "6");
    reader.text[0] = '\0';
    CHECK_OK(hora_pool_dump(r.pool, count_writes, &reader));
    CHECK(json_is_valid(reader.text));
    CHECK_INT(json_count(reader.text, "workers"), MANY);
    CHECK_JSON(reader.text, "workers/69/number", "70");
    CHECK_JSON(reader.text, "workers_left_out", NULL);
    rig_close(&r);
}

/* ---- locks ---- */

/* A queue whose comparison, which runs under its lock, dumps the pool, or waits for the test. */
struct comparison {
    hora_pool *pool;
    atomic_int asked;
    atomic_bool waits;
    atomic_bool is_inside;
    bool dumps;
};

static int compare(const void *a, const void *b, void *context)
{
    struct comparison *comparison = context;
    atomic_fetch_add(&comparison->asked, 1);
    if (comparison->dumps) {
        const char *text = dump_to_pipe(comparison->pool, false);
        CHECK_JSON(text, "busy", "true");
        CHECK_INT(json_count(text, ""), 2);
        comparison->dumps = false;
    }
    atomic_store(&comparison->is_inside, true);
    while (atomic_load(&comparison->waits)) {
    }
    return (a > b) - (a < b);
}

struct visit {
    struct rig *rig;
    struct job *job;
};

static void execute_in_thread(void *arg)
{
    struct visit *visit = arg;
    execute_job(visit->rig, visit->job);
}

TEST_REAL(dump_fd_does_not_wait_for_locks, "")
{
    struct rig r;
    struct comparison comparison = {.dumps = true};
    hora_queue *queue = NULL;
    rig_prepare(&r, false);
    CHECK_OK(hora_queue_new_priority(
        4, HORA_QUEUE_OPTIONS(.clock = r.f.view, .compare = compare, .arg = &comparison), &queue, NULL));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .queue = queue));
    comparison.pool = r.pool;
    struct job blocker = A_WAITING_JOB(&r), jobs[3] = {A_JOB(&r), A_JOB(&r), A_JOB(&r)};
    execute_job(&r, &blocker);
    settle(&r.f);
    execute_job(&r, &jobs[0]);
    execute_job(&r, &jobs[1]); /* compares, and so dumps, with the lock held by the same thread */
    CHECK(!comparison.dumps);

    atomic_store(&comparison.waits, true);
    atomic_store(&comparison.is_inside, false);
    struct visit visit = {&r, &jobs[2]};
    test_thread *thread = test_thread_start(NULL, execute_in_thread, &visit);
    while (!atomic_load(&comparison.is_inside)) {
    }
    CHECK_JSON(dump_to_pipe(r.pool, false), "busy", "true"); /* held by another */
    atomic_store(&comparison.waits, false);
    test_thread_join(thread);
    CHECK_JSON(dump_to_pipe(r.pool, false), "busy", NULL);

    rig_finish(&r);
    CHECK_OK(hora_pool_free(r.pool));
    r.pool = NULL;
    CHECK_OK(hora_queue_free(queue));
    rig_close(&r);
}
