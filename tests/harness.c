/* SPDX-License-Identifier: Apache-2.0 */
/* harness.c - the part of the harness that both worlds share: the list of tests, checks, selection by name
 *
 * The constructors that TEST and the other macros define fill the list before main. Nothing here depends on
 * whether threads are real. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness_internal.h"

static struct test_case *first_test;               /* the list of all tests, in the order of definition */
static struct test_case **last_link = &first_test; /* where the next test is linked */

void test_register(struct test_case *test)
{
    test->next = NULL;
    *last_link = test;
    last_link = &test->next;
}

struct test_case *test_first(void)
{
    return first_test;
}

bool test_is_asked_for(const struct test_case *test, char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(names[i], test->name, 0) == 0)
            return true;
    return count == 0;
}

bool test_names_exist(bool (*runs_here)(const struct test_case *test), char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (const struct test_case *test = first_test; test != NULL && !found; test = test->next)
            found = runs_here(test) && test_is_asked_for(test, &names[i], 1);
        if (!found) {
            fprintf(stderr, "there is no test called %s here\n", names[i]);
            return false;
        }
    }
    return true;
}

/* Returns the name of a kind of test for --list. */
static const char *kind_name(enum test_kind kind)
{
    switch (kind) {
    case TEST_BOTH:
        return "test";
    case TEST_REAL_ONLY:
        return "real";
    case TEST_SCENARIO:
        return "scenario";
    case TEST_MEDIUM:
        return "medium scenario";
    case TEST_LARGE:
        return "large scenario";
    case TEST_SWEEP:
        return "sweep";
    }
    return "?";
}

void test_list(bool (*runs_here)(const struct test_case *test), char *const *names, int count)
{
    for (const struct test_case *test = first_test; test != NULL; test = test->next)
        if (runs_here(test) && test_is_asked_for(test, names, count))
            printf("%s\t%s\t%s\n", test->name, kind_name(test->kind), test->rows);
}

uint64_t test_number(const char *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = text == NULL ? 0 : strtoull(text, &end, 0);
    if (text == NULL || end == text || *end != '\0' || errno != 0) {
        fprintf(stderr, "%s needs a number\n", option);
        exit(2);
    }
    return number;
}

uint64_t test_mix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* SplitMix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t test_random(uint32_t below)
{
    return (uint32_t)(((test_random_bits() >> 32) * below) >> 32);
}

double test_time_factor(void)
{
    const char *text = getenv("HORA_TEST_SCALE");
    double factor = text == NULL ? 1 : strtod(text, NULL);
    return factor > 0 ? factor : 1;
}

hora_ns test_scale(hora_ns time)
{
    return (hora_ns)((double)time * test_time_factor());
}

bool test_check_int(const char *file, int line, const char *what, long long got, long long want)
{
    if (got == want)
        return true;
    test_fail(file, line, "%s is %lld, not %lld", what, got, want);
    return false;
}

/* Returns the name of an error, or the number if the result is a count: some calls return a count. */
static const char *result_text(int result, char *buffer, size_t size)
{
    if (result <= 0)
        return hora_errname(result);
    (void)snprintf(buffer, size, "%d", result);
    return buffer;
}

bool test_check_error(const char *file, int line, const char *what, int got, int want)
{
    char got_text[16];
    char want_text[16];
    if (got == want)
        return true;
    test_fail(file, line, "%s gives %s, not %s", what, result_text(got, got_text, sizeof got_text),
              result_text(want, want_text, sizeof want_text));
    return false;
}

bool test_check_pointer(const char *file, int line, const char *what, const void *got, const void *want)
{
    if (got == want)
        return true;
    test_fail(file, line, "%s is %p, not %p", what, got, want);
    return false;
}
