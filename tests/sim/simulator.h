/* SPDX-License-Identifier: Apache-2.0 */
/* simulator.h - tests of the simulator itself: toy programs on the bare platform calls, with known verdicts
 *
 * PROOF(name) { ... } is one test. It runs toy programs in the simulator and CHECKs the verdicts. The
 * programs use MUST for conditions whose violation is a failure of the schedule. */
#ifndef HORA_TESTS_SIMULATOR_H
#define HORA_TESTS_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/sim.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "sys/thread.h"

#define SECOND INT64_C(1000000000)

/* Where the simulated monotonic clock begins. */
#define BEGINNING (1000 * SECOND)

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define RACES_ARE_SEEN 1
#endif
#if defined(RACES_ARE_SEEN) || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct proof {
    const char *name;
    void (*run)(void);
    struct proof *next;
};

void proof_register(struct proof *proof);

#define PROOF(proof_name)                                                \
    static void proof_name(void);                                        \
    __attribute__((constructor)) static void register_##proof_name(void) \
    {                                                                    \
        static struct proof proof = {#proof_name, proof_name, 0};        \
        proof_register(&proof);                                          \
    }                                                                    \
    static void proof_name(void)

void proof_failed(const char *file, int line, const char *what);
#define CHECK(condition) ((condition) ? (void)0 : proof_failed(__FILE__, __LINE__, #condition))

/* For simulated programs: ends the schedule. */
#define MUST(condition) ((condition) ? (void)0 : hora__sim_fail("line %d: %s", __LINE__, #condition))

extern struct hora__sim_result result; /* of the last run */

enum hora__sim_verdict run(void (*body)(void), struct hora__sim_options options);
#define RUN(body, ...) run((body), (struct hora__sim_options){__VA_ARGS__})

/* The schedule without preemptions. */
#define DEFAULT .mode = HORA__SIM_REPLAY, .schedule = ""

/* Tries seeds, or all schedules, until one fails; how many were tried, 0 if none fails. */
int first_failure(void (*body)(void), struct hora__sim_options options, int most);
#define FIRST_FAILURE(body, most, ...) \
    first_failure((body), (struct hora__sim_options){.seed = 1, .depth = 3, __VA_ARGS__}, (most))

/* How many schedules depth-first search finds; all of them must pass. */
long count_schedules(void (*body)(void), struct hora__sim_options options);
#define COUNT(body, ...) \
    count_schedules((body), (struct hora__sim_options){.mode = HORA__SIM_DFS, __VA_ARGS__})

/* What the programs are made of. */
extern hora__atomic word;
extern hora__atomic flag;
extern hora__mutex low;
extern hora__mutex high;
extern bool outcomes[4]; /* which ones were seen, over several runs */

void init_locks(void);
void destroy_locks(void);
hora__os_thread start(void (*function)(void *arg), void *arg);
void sleep_until(int64_t deadline_ns);

/* Threads. */
void do_nothing(void *arg);
void sleep_a_second(void *arg); /* from the beginning */
void lock_low(void *arg);

/* Right programs. */
void wakes(void);
void uses_descriptors(void);

#endif
