/* SPDX-License-Identifier: Apache-2.0 */
/* harness_internal.h - what the two worlds of the harness share; not for tests */
#ifndef HORA_TESTS_HARNESS_INTERNAL_H
#define HORA_TESTS_HARNESS_INTERNAL_H

#include "harness.h"

/* The tests in the order of their definition. */
struct test_case *test_first(void);

/* Whether a test is asked for: no names ask for all. Names may hold * and ?. */
bool test_is_asked_for(const struct test_case *test, char *const *names, int count);

/* Whether each name asks for at least one test that runs here; says so if not. */
bool test_names_exist(bool (*runs_here)(const struct test_case *test), char *const *names, int count);

/* One line per test: name, kind, rows. */
void test_list(bool (*runs_here)(const struct test_case *test), char *const *names, int count);

/* A number from the command line; ends the program with a sentence if it is none. */
uint64_t test_number(const char *option, const char *text);

/* The next number of a random sequence. */
uint64_t test_mix(uint64_t *state);

/* HORA_TEST_SCALE, default 1. */
double test_time_factor(void);

/* What a world provides: the source of test_random. */
uint64_t test_random_bits(void);

#endif
