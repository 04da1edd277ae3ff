/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h - how tests of hora are written
 *
 * Two worlds run the same test source: real threads (harness_real.c, linked with libhora) and the
 * simulator (harness_sim.c, linked with the library on tests/simulator). Tests use only the public headers and this one, so
 * they cannot tell the difference; in the simulator each is run under many seeded schedules.
 *
 *     TEST(name, "rows")      both worlds. rows: the conformance rows it covers, separated by spaces, such as
 *                             "DelayQueueTest.testPoll CP-DQ1"; "" for none. See tests/conformance/rows.tsv
 *     TEST_REAL(name, "rows") real threads only (descriptors polled by the kernel, fork, elapsed real time)
 *     SCENARIO(name)          simulator only: small, explored by random walk, PCT and depth first to the
 *                             end at preemption bound 2. Written for strong oracles
 *     MEDIUM_SCENARIO(name)   the same at bound 1, for what has more threads
 *     LARGE_SCENARIO(name)    the same for what has too many schedules to be explored to the end: random walk and PCT
 *     SWEEP(name)             simulator only: run with the 1st, 2nd, 3rd ... allocation, then thread start, failing,
 *                             once and from then on, until none fails any more. The body tolerates HORA_ENOMEM and
 *                             HORA_EAGAIN; nothing may be left allocated in the end
 *
 * No test sleeps in order to synchronise: start threads on a virtual clock and settle() until all wait. */
#ifndef HORA_TESTS_HARNESS_H
#define HORA_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/hora.h>

enum test_kind { TEST_BOTH, TEST_REAL_ONLY, TEST_SCENARIO, TEST_MEDIUM, TEST_LARGE, TEST_SWEEP };

struct test_case {
    const char *name;
    const char *rows;
    enum test_kind kind;
    void (*run)(void);
    struct test_case *next;
};

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

/* Record a failure of the running test, from any thread. The first is kept and printed; in the simulator it
 * ends the schedule, with real threads the test goes on. */
__attribute__((format(printf, 3, 4))) void test_fail(const char *file, int line, const char *format, ...);

/* Compare, and fail with both values. The test_check_ functions return whether it was so. */
bool test_check_int(const char *file, int line, const char *what, long long got, long long want);
bool test_check_error(const char *file, int line, const char *what, int got, int want);
bool test_check_pointer(const char *file, int line, const char *what, const void *got, const void *want);

#define CHECK(condition)         ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_INT(got, want)     test_check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_POINTER(got, want) test_check_pointer(__FILE__, __LINE__, #got, (got), (want))
/* For calls that return 0 or an error: failures show the error's name. */
#define CHECK_ERROR(call, want) test_check_error(__FILE__, __LINE__, #call, (call), (want))
#define CHECK_OK(call)          CHECK_ERROR(call, 0)

/* A thread of a test. */
typedef struct test_thread test_thread;

/* Start a thread that calls run(arg). With a clock it is attached to it, and expected by it from before
 * it starts, so that hora_virtual_clock_settle waits for it. Returns when the thread's handle is known. NULL only in a SWEEP,
 * when the thread could not be started; elsewhere that fails the test and ends it. */
test_thread *test_thread_start(hora_virtual_clock *clock, void (*run)(void *arg), void *arg);

/* Wait for the end of a thread and free it. Every thread must be joined. NULL is allowed. */
void test_thread_join(test_thread *thread);

/* The thread's handle, borrowed; valid until it is joined. */
hora_thread *test_thread_handle(test_thread *thread);

/* Whether this is the simulator. */
bool test_simulated(void);

/* Simulator: how often any thread has come back from parking in this schedule. Real world: 0. */
uint64_t test_wakeups(void);

/* Whether sleepers wake exactly in time in this schedule and never for no reason: false in the real world, and in simulated schedules
 * with late or spurious wake-ups. */
bool test_is_exact(void);

/* A reproducible number from 0 to below - 1; the seed is printed with a failure. */
uint32_t test_random(uint32_t below);

/* A factor for times that are really waited for (HORA_TEST_SCALE, default 1). */
hora_ns test_scale(hora_ns time);

#endif
