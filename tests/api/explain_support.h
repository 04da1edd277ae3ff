/* SPDX-License-Identifier: Apache-2.0 */
/* explain_support.h - shared by the tests of hora/explain.h */
#ifndef HORA_TESTS_API_EXPLAIN_SUPPORT_H
#define HORA_TESTS_API_EXPLAIN_SUPPORT_H

#include <hora/explain.h>

#include "harness.h"

/* Tasks with a name, a file and a line. */
#define RESIZE(function, argument) \
    (&(hora_task){.run = (function), .arg = (argument), .name = "resize", .file = "img.c", .line = 88})
#define SCALE(function, argument) \
    (&(hora_task){.run = (function), .arg = (argument), .name = "scale", .file = "img.c", .line = 99})

/* What hora_future_explain says is exactly this; also if there is less room for it than it needs. */
void check_says(const char *file, int line, hora_future *future, const char *want);
#define CHECK_SAYS(future, want) check_says(__FILE__, __LINE__, (future), (want))

#endif
