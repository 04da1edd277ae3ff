/* SPDX-License-Identifier: Apache-2.0 */
/* read_jobs.c - read job files, for commands */
#include "read_jobs.h"

#include "command.h"
#include "options.h"

struct jobs *jobs_read_or_complain(const char *const *paths, size_t count, const struct jobs_options *options)
{
    struct problems problems = {0};
    struct jobs *jobs = jobs_read(paths, count, options, &problems);
    for (size_t i = 0; i < problems.count; i++)
        complain("%s", problems.lines[i]);
    problems_free(&problems);
    return jobs;
}

bool crontab_form_read(const char *text, enum crontab_form *ret_form)
{
    static const char *const forms[] = {"user", "system"};
    int form;
    if (!option_choice("--crontab", text, forms, 2, &form))
        return false;
    *ret_form = form == 0 ? CRONTAB_USER : CRONTAB_SYSTEM;
    return true;
}
