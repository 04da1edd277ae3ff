/* SPDX-License-Identifier: Apache-2.0 */
/* test_request_dump.c - dumps that are asked for, also in a signal handler */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "pool_support.h"

/* The output. A dump is complete when all brackets are closed. */
struct paper {
    char text[1 << 14];
    size_t length;
    int depth;
    hora_latch *dumps; /* counted down by each */
    hora_pool **pool;  /* tried to be freed meanwhile */
};

static int write_down(const char *text, size_t length, void *context)
{
    struct paper *paper = context;
    CHECK_ERROR(hora_pool_free(*paper->pool), HORA_EDEADLK);
    for (size_t i = 0; i < length && paper->length + 1 < sizeof paper->text; i++) {
        paper->text[paper->length++] = text[i];
        paper->depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
        if (text[i] == '}' && paper->depth == 0)
            CHECK_OK(hora_latch_count_down(paper->dumps));
    }
    return 0;
}

static void open_with_paper(struct rig *r, struct paper *paper, int dumps)
{
    memset(paper, 0, sizeof *paper);
    CHECK_OK(hora_latch_new(dumps, NULL, &paper->dumps, NULL));
    paper->pool = &r->pool;
    rig_open(r, false, HORA_POOL_OPTIONS(.core_threads = 1, .dump = write_down, .dump_arg = paper));
}

static void close_with_paper(struct rig *r, struct paper *paper)
{
    rig_close(r);
    CHECK_OK(hora_latch_free(paper->dumps));
}

TEST(request_dump_writes_one, "")
{
    struct rig r;
    static struct paper paper;
    open_with_paper(&r, &paper, 1);
    struct job job = A_WAITING_JOB(&r);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_OK(hora_pool_request_dump(r.pool));
    CHECK_OK(hora_latch_await(paper.dumps));
    CHECK(strstr(paper.text, "\"job\"") != NULL);
    close_with_paper(&r, &paper);
}

TEST(request_dump_and_again, "")
{
    struct rig r;
    static struct paper paper;
    open_with_paper(&r, &paper, 1);
    CHECK_OK(hora_pool_request_dump(r.pool));
    CHECK_OK(hora_latch_await(paper.dumps));
    CHECK_OK(hora_latch_free(paper.dumps));
    CHECK_OK(hora_latch_new(1, NULL, &paper.dumps, NULL));
    CHECK_OK(hora_pool_request_dump(r.pool));
    CHECK_OK(hora_latch_await(paper.dumps));
    close_with_paper(&r, &paper);
}

/* No thread waits for the dump: the pool ends with or without it. */
TEST(request_dump_meets_the_end, "")
{
    struct rig r;
    static struct paper paper;
    open_with_paper(&r, &paper, 1);
    CHECK_OK(hora_pool_request_dump(r.pool));
    close_with_paper(&r, &paper);
    CHECK_INT(paper.depth, 0); /* a whole one, or none */
}

TEST(request_dump_to_nowhere, "")
{
    struct rig r;
    rig_open(&r, false, HORA_POOL_OPTIONS(.core_threads = 1));
    CHECK_ERROR(hora_pool_request_dump(r.pool), HORA_ENOTSUP);
    CHECK_ERROR(hora_pool_request_dump(NULL), HORA_EINVAL);
    CHECK_OK(hora_pool_free(r.pool));
    rig_pool(&r, HORA_POOL_OPTIONS(.core_threads = 1, .metrics = HORA_METRICS()));
    CHECK_ERROR(hora_pool_request_dump(r.pool), HORA_ENOTSUP);
    rig_close(&r);
}

static hora_pool *signalled;
static volatile sig_atomic_t answer;

static void on_signal(int number)
{
    (void)number;
    errno = EDOM;
    answer = hora_pool_request_dump(signalled);
    if (errno != EDOM)
        answer = -1;
}

/* A task with a recognisable name is running. The signal arrives while the main thread is at any point. */
TEST_REAL(request_dump_in_a_signal_handler, "")
{
    struct rig r;
    static struct paper paper;
    struct sigaction before;
    struct sigaction own = {.sa_handler = on_signal};
    open_with_paper(&r, &paper, 1);
    signalled = r.pool;
    answer = 1;
    struct job job = A_WAITING_JOB(&r);
    execute_job(&r, &job);
    settle(&r.f);
    CHECK_INT(sigaction(SIGUSR1, &own, &before), 0);
    CHECK_INT(raise(SIGUSR1), 0);
    CHECK_INT(answer, 0);
    CHECK_OK(hora_latch_await(paper.dumps));
    CHECK(strstr(paper.text, "\"job\"") != NULL);
    CHECK_INT(sigaction(SIGUSR1, &before, NULL), 0);
    close_with_paper(&r, &paper);
}
