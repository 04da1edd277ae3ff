/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - threads of the platform layer: start, join, name, stack, signals, pointers */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "harness.h"
#include "sys/thread.h"

struct report {
    char name[64];
    size_t stack_size;
    bool blocks_asynchronous;
    bool blocks_faults;
    int32_t id;
};

static void look_around(void *arg)
{
    struct report *report = arg;
    sigset_t mask;
    pthread_attr_t attributes;
    void *stack;
    (void)pthread_getname_np(pthread_self(), report->name, sizeof report->name);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    report->blocks_asynchronous = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1 &&
                                  sigismember(&mask, SIGALRM) == 1;
    report->blocks_faults = sigismember(&mask, SIGSEGV) == 1 || sigismember(&mask, SIGFPE) == 1;
    CHECK_INT(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_INT(pthread_attr_getstack(&attributes, &stack, &report->stack_size), 0);
    (void)pthread_attr_destroy(&attributes);
    report->id = hora__thread_id();
}

static struct report start_and_join(const char *name, size_t stack_size)
{
    struct report report;
    memset(&report, 0, sizeof report);
    hora__os_thread thread;
    struct hora__thread_spec spec = {
        .run = look_around, .arg = &report, .name = name, .stack_size = stack_size};
    if (CHECK_OK(hora__os_thread_start(&spec, &thread)))
        hora__os_thread_join(thread);
    return report;
}

TEST_REAL(thread_blocks_asynchronous_signals_only, "")
{
    sigset_t before;
    sigset_t after;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &before);
    struct report report = start_and_join(NULL, 0);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
    CHECK(report.blocks_asynchronous);
    CHECK(!report.blocks_faults);
    CHECK_INT(sigismember(&after, SIGTERM),
              sigismember(&before, SIGTERM)); /* the maker's own mask is as before */
    CHECK(report.id > 0 && report.id != hora__thread_id());
}

/* A name longer than the system can show is cut, and is no reason to fail. */
TEST_REAL(thread_name_is_cut_to_fit, "")
{
    struct report report = start_and_join("pool-1-thread-10", 0);
    CHECK_INT(strcmp(report.name, "pool-1-thread-1"), 0);
    report = start_and_join("short", 0);
    CHECK_INT(strcmp(report.name, "short"), 0);
}

TEST_REAL(thread_stack_size_is_rounded_up, "")
{
    CHECK(start_and_join(NULL, 1).stack_size > 0);
    CHECK(start_and_join(NULL, 256 * 1024 + 1).stack_size >= 256 * 1024 + 1);
}

/* A stack that the system cannot provide is an error, not a crash. */
TEST_REAL(thread_with_absurd_stack_is_refused, "")
{
    hora__os_thread thread;
    struct hora__thread_spec spec = {.run = look_around, .stack_size = SIZE_MAX};
    CHECK(hora__os_thread_start(&spec, &thread) < 0);
    spec.stack_size = SIZE_MAX / 4;
    CHECK(hora__os_thread_start(&spec, &thread) < 0);
}

static int exits;

static void count_exit(void *pointer)
{
    CHECK_POINTER(pointer, &exits);
    CHECK_POINTER(hora__thread_pointer(), NULL);
    exits++;
}

static void carry(void *arg)
{
    (void)arg;
    CHECK_POINTER(hora__thread_pointer(), NULL);
    CHECK_OK(hora__thread_set_pointer(&exits, count_exit));
    CHECK_POINTER(hora__thread_pointer(), &exits);
}

/* Each thread has its own pointer, and the hook is called at its end. In a child process, because the hook is
 * the same for all threads. */
TEST_REAL(thread_end_is_told, "")
{
    hora__os_thread thread;
    struct hora__thread_spec spec = {.run = carry};
    exits = 0;
    if (CHECK_OK(hora__os_thread_start(&spec, &thread)))
        hora__os_thread_join(thread);
    CHECK_INT(exits, 1);
}
