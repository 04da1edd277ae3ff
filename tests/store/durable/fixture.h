/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - a store and a durable scheduler on a virtual clock, for tests of hora/store.h
 *
 * Each test runs once with a store in memory and once with SQLite: STORE_TEST(name) calls its body with the
 * address. Time passes only in fixture_run. */
#ifndef HORA_TESTS_STORE_FIXTURE_H
#define HORA_TESTS_STORE_FIXTURE_H

#include "../../harness.h"

#include <hora/store.h>

enum { FIXTURE_RUNS = 256 };

/* One run, as the handler saw it. */
typedef struct fixture_run_record {
    char key[64];
    char payload[64];
    char idempotency_key[64];
    hora_instant planned;
    hora_instant started;
    int attempt;
    int64_t fence;
    bool is_last;
} fixture_run_record;

typedef struct fixture {
    hora_virtual_clock *clock;
    hora_store *store;
    hora_durable *durable;
    char address[256];
    _Atomic int run_count;
    fixture_run_record runs[FIXTURE_RUNS];
    int fail_first; /* so many runs fail, with HORA_EFAILED */
    hora_ns takes;  /* how long a run takes, on the virtual clock */
    _Atomic int in_progress, most_in_progress;
} fixture;

/* 2026-01-01T00:00:00Z, when the virtual clock starts. */
#define FIXTURE_START INT64_C(1767225600000000000)

/* Opens the store and makes a durable scheduler with the handler "run", and with the options given. */
void fixture_open(fixture *f, const char *address, const hora_durable_options *options);
void fixture_start(fixture *f);
void fixture_close(fixture *f);

/* Lets time pass. */
void fixture_run(fixture *f, hora_ns time);

/* Puts a task and checks that it succeeds. Returns its id. */
int64_t fixture_put(fixture *f, const hora_durable_task *task);

/* Seconds since the start. */
double fixture_seconds(hora_instant instant);

/* The number of tasks in a state. */
int64_t fixture_count(fixture *f, hora_durable_state state);

/* Calls body("memory:"), and body with a fresh SQLite file if hora was built with it. */
void fixture_each_store(void (*body)(const char *address));

#define STORE_TEST(name)                          \
    static void name##_body(const char *address); \
    TEST_REAL(name, "")                           \
    {                                             \
        fixture_each_store(name##_body);          \
    }                                             \
    static void name##_body(const char *address)

#endif
