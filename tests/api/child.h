/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - run a part of a test in a child process */
#ifndef HORA_TESTS_API_CHILD_H
#define HORA_TESTS_API_CHILD_H

#include <stdbool.h>

#include <hora/error.h>

/* What the parent made, as each test defines it. */
struct family;

/* Runs a function in a child process. If a check fails there, fails the test with that line. An alarm ends a
 * child that hangs. */
void run_in_child(const char *file, void (*run)(struct family *family), struct family *family);
#define in_child(run, family) run_in_child(__FILE__, (run), (family))

/* In the child: reports the line that failed to the parent, and ends. */
void child_check(bool ok, int line);
#define CHILD_CHECK(condition) child_check((condition), __LINE__)
#define CHILD_FORKED(call)     child_check((call) == HORA_EFORKED, __LINE__)

#endif
