/* SPDX-License-Identifier: Apache-2.0 */
/* test_start_threads.c - processes are started while other threads allocate, take locks and start tasks
 *
 * Whatever lock another thread holds, the child must not wait for it. Prints how many processes can be
 * started per second, compared with posix_spawn. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "started.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STARTS = 200, MEASURED = 100, SANITIZED = 1 };
#else
enum { STARTS = 1000, MEASURED = 2000, SANITIZED = 0 };
#endif
enum { THREADS = 8, BATCH = 100 };

static atomic_bool over;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static int null_file = -1;

/* Starts a program without output and collects it. */
static int run_quietly(const char *const *argv)
{
    char reason[REASON_SIZE] = "";
    struct process process;
    struct process_end end;
    struct process_spec spec = spec_of(argv);
    spec.input = spec.output = spec.error = null_file;
    spec.environment = ARGV("PATH=/usr/bin:/bin"); /* other threads change that of the test */
    int error = process_start(&spec, &process, reason, sizeof reason);
    if (error != 0)
        return error;
    CHECK(await_readable(process.fd));
    CHECK(process_reap(&process, &end));
    return end.exited ? end.code : -1;
}

static void allocate_and_lock(void *arg)
{
    char name[32];
    (void)snprintf(name, sizeof name, "TEST_%p", arg);
    for (unsigned i = 0; !atomic_load(&over); i++) {
        char *block = malloc(1 + i % 100000);
        CHECK(block != NULL);
        block[0] = 'x';
        (void)pthread_mutex_lock(&shared);
        (void)setenv(name, i % 2 == 0 ? "a" : "another value", 1);
        (void)fflush(stdout);
        (void)pthread_mutex_unlock(&shared);
        free(block);
    }
}

static int count_task(void *arg, void **ret_result)
{
    (void)ret_result;
    (void)atomic_fetch_add((atomic_int *)arg, 1);
    free(malloc(1000));
    return 0;
}

TEST_REAL(processes_are_started_while_threads_are_busy, "")
{
    test_thread *threads[THREADS];
    int words[THREADS];
    atomic_int tasks = 0;
    hora_pool *pool = NULL;
    null_file = open("/dev/null", O_RDWR | O_CLOEXEC);
    atomic_store(&over, false);
    CHECK_OK(hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2), &pool, NULL));
    for (int i = 0; i < THREADS; i++)
        threads[i] = test_thread_start(NULL, allocate_and_lock, &words[i]);
    int before = count_descriptors();
    for (int i = 0; i < STARTS; i++) {
        hora_task task = {.run = count_task, .arg = &tasks};
        CHECK_OK(hora_pool_execute(pool, &task));
        if (i % 10 == 0)
            CHECK_INT(run_quietly(ARGV("/nonexistent")), -ENOENT);
        else
            CHECK_INT(run_quietly(ARGV("sh", "-c", "exit 7")), 7);
    }
    CHECK_INT(count_descriptors(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        test_thread_join(threads[i]);
    CHECK_OK(hora_pool_close(pool));
    CHECK_OK(hora_pool_free(pool));
    CHECK_INT(atomic_load(&tasks), STARTS);
    (void)close(null_file);
}

static void start_quietly(void)
{
    CHECK_INT(run_quietly(ARGV("/bin/true")), 0);
}

static void spawn_quietly(void)
{
    pid_t pid;
    static char program[] = "/bin/true";
    char *argv[] = {program, NULL}, *environment[] = {NULL};
    CHECK_INT(posix_spawn(&pid, program, NULL, NULL, argv, environment), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* Returns the processor time that this process and its children have used. */
static hora_ns used_time(void)
{
    hora_ns sum = 0;
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; i++) {
        struct rusage use;
        CHECK_INT(getrusage(whose[i], &use), 0);
        sum += HORA_SECONDS(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
               HORA_US(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    }
    return sum;
}

/* What one way of starting processes takes. */
struct measured {
    hora_ns fastest; /* batch */
    hora_ns used;    /* processor time of all batches */
};

static void measure(struct measured *measured, void (*run)(void))
{
    hora_ns used_before = used_time(), start_time = hora_clock_now(NULL);
    for (int i = 0; i < BATCH; i++)
        run();
    hora_ns time = hora_clock_now(NULL) - start_time;
    measured->used += used_time() - used_before;
    measured->fastest = time < measured->fastest ? time : measured->fastest;
}

static void print_measured(const char *what, const struct measured *measured)
{
    printf("%d x /bin/true with %s: %.0f per second, %.0f us of processor time each\n", MEASURED, what,
           1e9 * BATCH / (double)measured->fastest, (double)measured->used / 1e3 / MEASURED);
}

/* Both take turns. Processor time is compared, because other programs may use the machine. */
TEST_REAL(starts_per_second, "")
{
    struct measured ours = {HORA_FOREVER, 0}, theirs = {HORA_FOREVER, 0};
    null_file = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < MEASURED; i += BATCH) {
        measure(&ours, start_quietly);
        measure(&theirs, spawn_quietly);
    }
    print_measured("process_start", &ours);
    print_measured("posix_spawn", &theirs);
    CHECK(SANITIZED || ours.used < 2 * theirs.used);
    (void)close(null_file);
}
