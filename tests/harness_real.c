/* SPDX-License-Identifier: Apache-2.0 */
/* harness_real.c - tests on real threads
 *
 * How it works      The tests run one after the other in this process. The first failure of each is printed,
 *                   and the test goes on. A separate thread watches the time: if a test is stuck, it prints
 *                   the name and aborts the process, so that a core dump shows where.
 * Locks             `lock` guards the number of failures and the start of threads. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness_internal.h"

/* The time after which a test counts as stuck: far more than the longest one takes, because the machine may
 * be busy. */
enum { TEST_SECONDS = 300 };

struct test_thread {
    pthread_t id;
    hora_virtual_clock *clock; /* NULL: none */
    void (*run)(void *arg);
    void *arg;
    bool ready;          /* handle and error are known; guarded by lock */
    int error;           /* why the thread cannot run; 0: it can */
    hora_thread *handle; /* a reference */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t got_ready = PTHREAD_COND_INITIALIZER; /* `ready` of some thread has changed */

static _Atomic(const struct test_case *) current; /* the running test; NULL: none has started */
static int failures;                              /* of the running test; guarded by lock */
static atomic_int threads_not_joined;

/* The thread that watches the time. Its lock guards all fields. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    pthread_t thread;
    struct timespec stuck_at; /* on the monotonic clock */
    bool armed;               /* a test runs */
    bool over;                /* the thread must end */
} watchdog = {.lock = PTHREAD_MUTEX_INITIALIZER};
static uint64_t seed = 1;             /* of the running test */
static _Atomic uint64_t random_state; /* of test_random_bits */

bool test_simulated(void)
{
    return false;
}

uint64_t test_wakeups(void)
{
    return 0;
}

bool test_is_exact(void)
{
    return false;
}

uint64_t test_random_bits(void)
{
    uint64_t state = atomic_fetch_add(&random_state, UINT64_C(0x9e3779b97f4a7c15));
    return test_mix(&state);
}

void test_fail(const char *file, int line, const char *format, ...)
{
    (void)pthread_mutex_lock(&lock);
    if (failures++ == 0) {
        const struct test_case *test = atomic_load(&current);
        char message[1024];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        printf("%s:%d: %s: %s (seed %" PRIu64 ")\n", file, line, test == NULL ? "?" : test->name, message,
               seed);
        (void)fflush(stdout);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Ends the process because the running test is stuck. */
static void report_stuck(void)
{
    const struct test_case *test = atomic_load(&current);
    printf("%s is stuck\n", test == NULL ? "?" : test->name);
    (void)fflush(stdout);
    abort();
}

/* Returns true if the running test has exceeded its time. The caller holds the watchdog's lock. */
static bool is_over_time(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const struct timespec *limit = &watchdog.stuck_at;
    return now.tv_sec > limit->tv_sec || (now.tv_sec == limit->tv_sec && now.tv_nsec >= limit->tv_nsec);
}

/* The function of the watchdog's thread. */
static void *watch(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&watchdog.lock);
    while (!watchdog.over) {
        if (watchdog.armed && is_over_time())
            report_stuck();
        if (watchdog.armed)
            (void)pthread_cond_timedwait(&watchdog.changed, &watchdog.lock, &watchdog.stuck_at);
        else
            (void)pthread_cond_wait(&watchdog.changed, &watchdog.lock);
    }
    (void)pthread_mutex_unlock(&watchdog.lock);
    return NULL;
}

/* Starts the time of a test. */
static void arm_watch(void)
{
    (void)pthread_mutex_lock(&watchdog.lock);
    (void)clock_gettime(CLOCK_MONOTONIC, &watchdog.stuck_at);
    watchdog.stuck_at.tv_sec += (time_t)(TEST_SECONDS * test_time_factor());
    watchdog.armed = true;
    (void)pthread_cond_signal(&watchdog.changed);
    (void)pthread_mutex_unlock(&watchdog.lock);
}

/* Stops the time of a test. over: also ends the watchdog's thread. */
static void disarm_watch(bool over)
{
    (void)pthread_mutex_lock(&watchdog.lock);
    watchdog.armed = false;
    watchdog.over = over;
    (void)pthread_cond_signal(&watchdog.changed);
    (void)pthread_mutex_unlock(&watchdog.lock);
}

/* Starts the watchdog. Returns false if that is not possible. */
static bool start_watch(void)
{
    pthread_condattr_t monotonic;
    return pthread_condattr_init(&monotonic) == 0 &&
           pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&watchdog.changed, &monotonic) == 0 &&
           pthread_create(&watchdog.thread, NULL, watch, NULL) == 0;
}

static void end_watch(void)
{
    disarm_watch(true);
    (void)pthread_join(watchdog.thread, NULL);
}

/* Announces that handle and error of a thread are known. */
static void publish(test_thread *thread)
{
    (void)pthread_mutex_lock(&lock);
    thread->ready = true;
    (void)pthread_cond_broadcast(&got_ready);
    (void)pthread_mutex_unlock(&lock);
}

/* The first function of each thread of a test. */
static void *enter(void *memory)
{
    test_thread *thread = memory;
    thread->error = hora_thread_self(&thread->handle);
    if (thread->error == 0 && thread->clock != NULL)
        thread->error = hora_virtual_clock_attach(thread->clock);
    bool may_run = thread->error == 0; /* read before publish: after it, the starter may use the fields */
    publish(thread);
    if (may_run)
        thread->run(thread->arg);
    return NULL;
}

/* Waits until handle and error of a thread are known. */
static void await_ready(test_thread *thread)
{
    (void)pthread_mutex_lock(&lock);
    while (!thread->ready)
        (void)pthread_cond_wait(&got_ready, &lock);
    (void)pthread_mutex_unlock(&lock);
}

/* Ends the process: a test cannot continue without its threads. */
static void give_up(const char *what, const char *why)
{
    const struct test_case *test = atomic_load(&current);
    printf("%s: %s: %s\n", test == NULL ? "?" : test->name, what, why);
    exit(1);
}

test_thread *test_thread_start(hora_virtual_clock *clock, void (*run)(void *arg), void *arg)
{
    test_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        give_up("starting a thread", "out of memory");
        return NULL;
    }
    thread->clock = clock;
    thread->run = run;
    thread->arg = arg;
    if (clock != NULL)
        CHECK_OK(hora_virtual_clock_expect(clock, 1));
    int error = pthread_create(&thread->id, NULL, enter, thread);
    if (error != 0)
        give_up("starting a thread", strerror(error));
    await_ready(thread);
    if (thread->error < 0)
        give_up("attaching a thread", hora_strerror(thread->error));
    (void)atomic_fetch_add(&threads_not_joined, 1);
    return thread;
}

void test_thread_join(test_thread *thread)
{
    if (thread == NULL)
        return;
    (void)pthread_join(thread->id, NULL);
    (void)hora_thread_unref(thread->handle);
    free(thread);
    (void)atomic_fetch_sub(&threads_not_joined, 1);
}

hora_thread *test_thread_handle(test_thread *thread)
{
    return thread->handle;
}

static bool runs_here(const struct test_case *test)
{
    return test->kind == TEST_BOTH || test->kind == TEST_REAL_ONLY;
}

/* Runs one test. Returns true if it passed. */
static bool run(const struct test_case *test)
{
    failures = 0;
    atomic_store(&random_state, seed);
    atomic_store(&threads_not_joined, 0);
    atomic_store(&current, test);
    arm_watch();
    test->run();
    disarm_watch(false);
    if (hora_interrupted())
        test_fail(__FILE__, __LINE__, "the interrupt flag of the main thread is left set");
    int left = atomic_load(&threads_not_joined);
    if (left != 0)
        test_fail(__FILE__, __LINE__, "%d threads were not joined", left);
    (void)pthread_mutex_lock(&lock);
    int count = failures;
    (void)pthread_mutex_unlock(&lock);
    return count == 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: [--list] [--repeat N] [--seed S] [NAME...]\n");
    return 2;
}

int main(int count, char **arguments)
{
    bool list = false;
    uint64_t repeat = 1;
    int i = 1;
    for (; i < count && arguments[i][0] == '-'; i++) {
        if (strcmp(arguments[i], "--list") == 0)
            list = true;
        else if (strcmp(arguments[i], "--repeat") == 0)
            repeat = test_number("--repeat", i + 1 < count ? arguments[++i] : NULL);
        else if (strcmp(arguments[i], "--seed") == 0)
            seed = test_number("--seed", i + 1 < count ? arguments[++i] : NULL);
        else
            return usage();
    }
    char *const *names = arguments + i;
    int name_count = count - i;
    if (!test_names_exist(runs_here, names, name_count))
        return 2;
    if (list) {
        test_list(runs_here, names, name_count);
        return 0;
    }
    if (!start_watch()) {
        fprintf(stderr, "the watchdog could not be started\n");
        return 2;
    }
    int passed = 0;
    int failed = 0;
    for (; repeat > 0; repeat--, seed++)
        for (const struct test_case *test = test_first(); test != NULL; test = test->next)
            if (runs_here(test) && test_is_asked_for(test, names, name_count))
                (void)(run(test) ? passed++ : failed++);
    end_watch();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
