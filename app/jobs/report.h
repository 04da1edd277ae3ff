/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the problems and warnings that a reader finds, each with its place */
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include <stdbool.h>

#include "jobs/arena.h"
#include "jobs/jobs.h"

struct report_line {
    struct place place;
    const char *text;
};

/* Lines in the order in which they were found. The texts are in the arena. */
struct report {
    struct arena *arena;
    struct report_line *problems, *warnings;
    size_t problem_count, warning_count;
};

/* Add a line. The same line at the same place counts once; so defaults that are applied to many jobs are
 * reported once. A hundred of each kind are kept. report_problem returns false, for `return report_problem`. */
__attribute__((format(printf, 3, 4))) bool report_problem(struct report *report, const struct place *place,
                                                          const char *format, ...);
__attribute__((format(printf, 3, 4))) void report_warning(struct report *report, const struct place *place,
                                                          const char *format, ...);

/* Returns true if no further problem is kept. */
bool report_is_full(const struct report *report);

/* Returns a text of the user in quotation marks, cut if it is long. */
const char *report_quote(struct report *report, const char *text);

/* Returns the lines, sorted by place: "file:line:column: text". They are allocated one by one. */
char **report_lines(const struct report *report, bool problems, size_t *ret_count);

#endif
