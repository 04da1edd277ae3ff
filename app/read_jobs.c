/* SPDX-License-Identifier: Apache-2.0 */
/* read_jobs.c - read job files, for commands */
#include "read_jobs.h"

#include "command.h"

struct jobs *jobs_read_or_complain(const char *const *paths, size_t count, const struct jobs_options *options)
{
    struct problems problems = {0};
    struct jobs *jobs = jobs_read(paths, count, options, &problems);
    for (size_t i = 0; i < problems.count; i++)
        complain("%s", problems.lines[i]);
    problems_free(&problems);
    return jobs;
}
