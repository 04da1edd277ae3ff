/* SPDX-License-Identifier: Apache-2.0 */
/* test_simulator.c - the simulator detects what it must detect: programs in general, and every kind of end
 *
 * All other tests that use the simulator rely on this file and the other test_ files of this folder. */
#include "simulator.h"

#undef NDEBUG /* one assertion here is to fail, in every build */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "sys/alloc.h"
#include "sys/clock.h"
#include "sys/event.h"
#include "sys/futex.h"

hora__atomic word;
hora__atomic flag;
hora__mutex low;
hora__mutex high;
bool outcomes[4];
struct hora__sim_result result;

static struct proof *first_proof;
static const struct proof *running;
static int failures;

void proof_register(struct proof *proof)
{
    proof->next = first_proof;
    first_proof = proof;
}

void proof_failed(const char *file, int line, const char *what)
{
    failures++;
    printf("%s:%d: %s: %s (last run: %s: %s)\n", file, line, running->name, what,
           hora__sim_verdict_name(result.verdict), result.message);
}

enum hora__sim_verdict run(void (*body)(void), struct hora__sim_options options)
{
    return hora__sim_run(&options, body, &result);
}

int first_failure(void (*body)(void), struct hora__sim_options options, int most)
{
    hora__sim_dfs_reset();
    for (int i = 1; i <= most; i++, options.seed++) {
        if (run(body, options) != HORA__SIM_PASSED)
            return i;
        if (options.mode == HORA__SIM_DFS && !hora__sim_dfs_next())
            return 0;
    }
    return 0;
}

long count_schedules(void (*body)(void), struct hora__sim_options options)
{
    long count = 0;
    hora__sim_dfs_reset();
    do {
        CHECK(run(body, options) == HORA__SIM_PASSED);
        count++;
    } while (hora__sim_dfs_next() && count < 100000);
    return count;
}

void init_locks(void)
{
    MUST(hora__mutex_init(&low, HORA__RANK_OBJECT) == 0);
    MUST(hora__mutex_init(&high, HORA__RANK_THREAD) == 0);
}

void destroy_locks(void)
{
    hora__mutex_destroy(&high);
    hora__mutex_destroy(&low);
}

hora__os_thread start(void (*function)(void *arg), void *arg)
{
    hora__os_thread thread;
    MUST(hora__os_thread_start(&(struct hora__thread_spec){.run = function, .arg = arg}, &thread) == 0);
    return thread;
}

void do_nothing(void *arg)
{
    (void)arg;
}

void sleep_until(int64_t deadline_ns)
{
    hora__atomic own;
    hora__atomic_init(&own, 0);
    while (hora__now(HORA__MONOTONIC) < deadline_ns)
        hora__futex_wait(&own, 0, HORA__MONOTONIC, deadline_ns);
}

void sleep_a_second(void *arg)
{
    (void)arg;
    sleep_until(BEGINNING + SECOND);
}

void lock_low(void *arg)
{
    (void)arg;
    hora__mutex_lock(&low);
    hora__mutex_unlock(&low);
}

/* The same without the fault: the flag is the word. */
static void set_word_and_wake(void *arg)
{
    (void)arg;
    hora__atomic_store(&word, 1);
    hora__futex_wake(&word);
}

void wakes(void)
{
    hora__atomic_init(&word, 0);
    hora__os_thread waker = start(set_word_and_wake, NULL);
    while (hora__atomic_load(&word) == 0)
        hora__futex_wait(&word, 0, HORA__MONOTONIC, INT64_MAX);
    hora__os_thread_join(waker);
}

static void leak_memory(void)
{
    MUST(hora__alloc(3, 7) != NULL);
}

static void leak_event(void)
{
    struct hora__event event;
    MUST(hora__event_init(&event) == 0);
    hora__event_set(&event, true);
}

static void leak_timer(void)
{
    MUST(hora__timer_fd_new(HORA__WALL) >= 0);
}

static void leave_thread(void)
{
    (void)start(do_nothing, NULL);
}

PROOF(finds_what_is_left)
{
    CHECK(RUN(leak_memory, .mode = HORA__SIM_RANDOM) == HORA__SIM_LEAK);
    CHECK(strstr(result.message, "21 bytes") != NULL);
    CHECK(RUN(leak_event, .mode = HORA__SIM_RANDOM) == HORA__SIM_LEAK);
    CHECK(RUN(leak_timer, .mode = HORA__SIM_RANDOM) == HORA__SIM_LEAK);
    CHECK(RUN(leave_thread, DEFAULT) == HORA__SIM_MISUSE);
    CHECK(strstr(result.message, "thread 1 was not joined") != NULL);
    CHECK(RUN(wakes, DEFAULT) == HORA__SIM_PASSED);
}

static int exits;

static void note_exit(void *pointer)
{
    MUST(pointer == &exits && hora__thread_pointer() == NULL);
    exits++;
}

static void carry(void *arg)
{
    (void)arg;
    MUST(hora__thread_pointer() == NULL);
    MUST(hora__thread_set_pointer(&exits, note_exit) == 0);
    MUST(hora__thread_pointer() == &exits);
}

static void carriers(void)
{
    exits = 0;
    carry(NULL);
    hora__os_thread other = start(carry, NULL);
    MUST(hora__thread_id() == 1);
    hora__os_thread_join(other);
    MUST(exits == 1);
}

PROOF(ends_of_threads_are_noticed)
{
    CHECK(RUN(carriers, DEFAULT) == HORA__SIM_PASSED);
    CHECK(exits == 2);
}

static void spin(void)
{
    while (hora__atomic_load(&word) != -1) {
    }
}

static void read_the_clock_for_ever(void)
{
    while (hora__now(HORA__MONOTONIC) < INT64_MAX) {
    }
}

static void break_assertion(void)
{
    MUST(hora__alloc(1, 1) != NULL);
    assert(hora__atomic_load(&word) == -1);
}

static void *volatile nowhere;

static void crash(void)
{
    *(int *)nowhere = 1;
}

static void overflow_stack(void)
{
    volatile char much[1000];
    memset((char *)(uintptr_t)much, 1, sizeof much);
    if (hora__atomic_load(&word) == 0)
        overflow_stack();
    much[0] = 2;
}

PROOF(crashes_and_endless_loops_are_verdicts)
{
    hora__atomic_init(&word, 0);
    CHECK(RUN(spin, .mode = HORA__SIM_RANDOM) == HORA__SIM_TOO_LONG);
    CHECK(RUN(read_the_clock_for_ever, .mode = HORA__SIM_RANDOM) == HORA__SIM_TOO_LONG);
    CHECK(RUN(break_assertion, .mode = HORA__SIM_RANDOM) == HORA__SIM_FAILED);
    CHECK(strstr(result.message, "assertion failed: hora__atomic_load") != NULL);
    for (int i = 0; i < 3 && !SANITIZED; i++) {
        CHECK(RUN(crash, .mode = HORA__SIM_RANDOM) == HORA__SIM_FAILED);
        CHECK(RUN(overflow_stack, .mode = HORA__SIM_RANDOM) == HORA__SIM_FAILED);
        CHECK(strstr(result.message, "crashed with signal") != NULL);
    }
    CHECK(RUN(wakes, .mode = HORA__SIM_RANDOM) == HORA__SIM_PASSED);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        (void)closedir(directory);
    return count;
}

static size_t bytes_in_use(void)
{
#if defined(__GLIBC__)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* Fails in a second thread, with a lock held, others blocked, and memory and descriptors in use. */
static void fail_in_the_middle(void *arg)
{
    struct hora__event event;
    (void)arg;
    MUST(hora__event_init(&event) == 0 && hora__alloc(10, 100) != NULL);
    hora__event_set(&event, true);
    hora__mutex_lock(&low);
    hora__sim_fail("on purpose");
}

static void fails_in_the_middle(void)
{
    init_locks();
    (void)start(sleep_a_second, NULL);
    (void)start(lock_low, NULL);
    hora__os_thread_join(start(fail_in_the_middle, NULL));
}

PROOF(a_failing_schedule_leaves_nothing)
{
    int descriptors = 0;
    size_t bytes = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        CHECK(RUN(fails_in_the_middle, .mode = HORA__SIM_RANDOM, .seed = seed) == HORA__SIM_FAILED);
        CHECK(strcmp(result.message, "on purpose") == 0);
        CHECK(RUN(uses_descriptors, DEFAULT) == HORA__SIM_PASSED);
        if (seed == 1000) { /* all that is kept for later has been made by now */
            descriptors = open_descriptors();
            bytes = bytes_in_use();
        }
    }
    CHECK(open_descriptors() == descriptors);
    CHECK(bytes_in_use() <= bytes);
}

#ifdef RACES_ARE_SEEN

/* The one race of these tests is wanted; others fail the test that they are in. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "exitcode=0";
}

static int unprotected;

static void increment(void *arg)
{
    (void)arg;
    (void)hora__atomic_load(&word);
    unprotected++;
}

static void races(void)
{
    hora__os_thread other = start(increment, NULL);
    increment(NULL);
    hora__os_thread_join(other);
}

PROOF(a_race_fails_its_schedule)
{
    int stderr_fd = dup(2);
    int nowhere_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere_fd, 2); /* the report */
    CHECK(RUN(races, DEFAULT) == HORA__SIM_FAILED);
    (void)dup2(stderr_fd, 2);
    (void)close(nowhere_fd);
    (void)close(stderr_fd);
    CHECK(strstr(result.message, "ThreadSanitizer") != NULL);
}

#endif

int main(int count, char **names)
{
    int passed = 0;
    int failed = 0;
    for (running = first_proof; running != NULL; running = running->next) {
        int before = failures;
        if (count > 1 && strcmp(names[1], running->name) != 0)
            continue;
        running->run();
        (void)(failures == before ? passed++ : failed++);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
