/* SPDX-License-Identifier: Apache-2.0 */
/* harness_internal.h - functions that the two worlds of the harness share; not for tests */
#ifndef HORA_TESTS_HARNESS_INTERNAL_H
#define HORA_TESTS_HARNESS_INTERNAL_H

#include "harness.h"

/* Returns the first test, in the order of definition. */
struct test_case *test_first(void);

/* Returns true if one of the names matches the test, or if there are no names. Names may contain * and ?. */
bool test_is_asked_for(const struct test_case *test, char *const *names, int count);

/* Returns true if each name matches at least one test that runs in this world. If not, prints an error. */
bool test_names_exist(bool (*runs_here)(const struct test_case *test), char *const *names, int count);

/* Prints one line per test that runs in this world and matches the names: name, kind, rows. */
void test_list(bool (*runs_here)(const struct test_case *test), char *const *names, int count);

/* Returns the number that an option has as its value. If `text` is no number, prints an error and ends the
 * program. */
uint64_t test_number(const char *option, const char *text);

/* Returns the next number of a random sequence. */
uint64_t test_mix(uint64_t *state);

/* Returns HORA_TEST_SCALE, default 1. */
double test_time_factor(void);

/* Returns 64 random bits, for test_random. Each world defines it. */
uint64_t test_random_bits(void);

#endif
