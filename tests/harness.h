/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - how tests of hora are written
 *
 * The same test source runs in two worlds: on real threads (harness_real.c, linked with libhora) and in the
 * simulator (harness_sim.c, linked with the library on tests/simulator). Tests use only the public headers
 * and this one, so they behave the same in both. The simulator runs each of them under many schedules.
 *
 *     TEST(name, "rows")      runs in both worlds. rows: the conformance rows that it covers, separated by
 *                             spaces, such as "DelayQueueTest.testPoll CP-DQ1"; "" for none. See
 *                             tests/conformance/rows.tsv
 *     TEST_REAL(name, "rows") runs on real threads only (descriptors polled by the kernel, fork, real time)
 *     SCENARIO(name)          runs in the simulator only: by random walk, by PCT, and under all schedules
 *                             with at most 2 preemptions, so it must be small. It checks its results
 *                             strictly
 *     MEDIUM_SCENARIO(name)   like SCENARIO, with at most 1 preemption, for scenarios with more threads
 *     LARGE_SCENARIO(name)    like SCENARIO, but only by random walk and PCT, for scenarios with too many
 *                             schedules to run all
 *     SWEEP(name)             runs in the simulator only: with the 1st, 2nd, 3rd ... allocation failing, then
 *                             thread start, once and from then on, until none fails any more. The body must
 *                             tolerate HORA_ENOMEM and HORA_EAGAIN, and leave nothing allocated
 *
 * No test sleeps in order to synchronise. Instead, start threads on a virtual clock and call
 * hora_virtual_clock_settle, which returns when all of them wait. */
#ifndef HORA_TESTS_HARNESS_H
#define HORA_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/hora.h>

enum test_kind { TEST_BOTH, TEST_REAL_ONLY, TEST_SCENARIO, TEST_MEDIUM, TEST_LARGE, TEST_SWEEP };

/* A test, as TEST and the other macros define it. */
struct test_case {
    const char *name;
    const char *rows; /* conformance rows, separated by spaces; "": none */
    enum test_kind kind;
    void (*run)(void);
    struct test_case *next; /* in the order of definition */
};

/* Adds a test to the list. The macros call it before main. */
void test_register(struct test_case *test);

#define TEST_DEFINE(test_name, row_text, test_kind_)                                     \
    static void test_name(void);                                                         \
    __attribute__((constructor)) static void register_##test_name(void)                  \
    {                                                                                    \
        static struct test_case test = {#test_name, row_text, test_kind_, test_name, 0}; \
        test_register(&test);                                                            \
    }                                                                                    \
    static void test_name(void)

#define TEST(test_name, rows)      TEST_DEFINE(test_name, rows, TEST_BOTH)
#define TEST_REAL(test_name, rows) TEST_DEFINE(test_name, rows, TEST_REAL_ONLY)
#define SCENARIO(test_name)        TEST_DEFINE(test_name, "", TEST_SCENARIO)
#define MEDIUM_SCENARIO(test_name) TEST_DEFINE(test_name, "", TEST_MEDIUM)
#define LARGE_SCENARIO(test_name)  TEST_DEFINE(test_name, "", TEST_LARGE)
#define SWEEP(test_name)           TEST_DEFINE(test_name, "", TEST_SWEEP)

/* Records a failure of the running test. Any thread may call it. The first failure is printed. In the
 * simulator it ends the schedule; with real threads the test goes on. */
__attribute__((format(printf, 3, 4))) void test_fail(const char *file, int line, const char *format, ...);

/* Compare two values, and record a failure with both if they differ. Return true if they are equal. */
bool test_check_int(const char *file, int line, const char *what, long long got, long long want);
bool test_check_error(const char *file, int line, const char *what, int got, int want);
bool test_check_pointer(const char *file, int line, const char *what, const void *got, const void *want);

#define CHECK(condition)         ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_INT(got, want)     test_check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_POINTER(got, want) test_check_pointer(__FILE__, __LINE__, #got, (got), (want))
/* For calls that return 0 or an error: the failure shows the names of errors. */
#define CHECK_ERROR(call, want) test_check_error(__FILE__, __LINE__, #call, (call), (want))
#define CHECK_OK(call)          CHECK_ERROR(call, 0)

/* A thread of a test. */
typedef struct test_thread test_thread;

/* Starts a thread that calls run(arg). If a clock is given, the thread is attached to it, and the clock
 * expects it before it starts, so that hora_virtual_clock_settle waits for it. Returns when the thread's
 * handle is known. If the thread cannot be started, returns NULL in a SWEEP; in other tests that is a failure
 * and ends the test. */
test_thread *test_thread_start(hora_virtual_clock *clock, void (*run)(void *arg), void *arg);

/* Waits until a thread has ended and frees it. Every thread must be joined. NULL is allowed. */
void test_thread_join(test_thread *thread);

/* Returns the thread's handle without a reference for the caller; it is valid until the thread is joined. */
hora_thread *test_thread_handle(test_thread *thread);

/* Returns true in the simulator. */
bool test_simulated(void);

/* Returns how often threads have returned from a sleep in this schedule. On real threads: 0. */
uint64_t test_wakeups(void);

/* Returns true if sleepers wake up exactly in time in this schedule, and never without a reason. False on
 * real threads, and in simulated schedules with late or spurious wake-ups. */
bool test_is_exact(void);

/* Returns a number from 0 to below - 1 that depends on the seed, which is printed with a failure. */
uint32_t test_random(uint32_t below);

/* Returns a time multiplied by HORA_TEST_SCALE (default 1), for tests that really wait. */
hora_ns test_scale(hora_ns time);

#endif
