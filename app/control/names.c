/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of jobs and the tags that requests select jobs by
 *
 * A request with a name that no job has is refused, with the name that is most like it. So a misspelled name
 * is not taken for a selection of no jobs. */
#include <stdlib.h>

#include "command.h"
#include "control/requests.h"
#include "jobs/tags.h"
#include "text.h"

/* ---- jobs ---- */

struct job_state *request_job(struct request *request, const char *name)
{
    const struct runner *runner = request->runner;
    struct job_state *state = runner_find(runner, name);
    if (state != NULL)
        return state;
    const char **names = memory((runner->job_count + 1) * sizeof *names);
    for (size_t i = 0; i < runner->job_count; i++)
        names[i] = runner->jobs[i]->name;
    const char *nearest = text_nearest(name, names, runner->job_count, sizeof *names);
    if (nearest != NULL)
        request_fail(request, "there is no job %s; did you mean %s?", name, nearest);
    else
        request_fail(request, "there is no job %s", name);
    free(names);
    return NULL;
}

/* ---- tags ---- */

bool request_wants(const struct request *request, const struct job *job)
{
    const json_t *tags = request->question.tags;
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (!job_has_tag(job, json_string_value(json_array_get(tags, i))))
            return false;
    return true;
}

bool request_has_tags(struct request *request)
{
    const struct runner *runner = request->runner;
    const json_t *asked = request->question.tags;
    size_t count = json_array_size(asked);
    const char **tags = memory((count + 1) * sizeof *tags);
    const struct job **jobs = memory((runner->job_count + 1) * sizeof *jobs);
    for (size_t i = 0; i < count; i++)
        tags[i] = json_string_value(json_array_get(asked, i));
    for (size_t i = 0; i < runner->job_count; i++)
        jobs[i] = runner->jobs[i]->job;
    char reason[TAGS_REASON];
    bool is_good = tags_check(jobs, runner->job_count, tags, count, reason);
    if (!is_good)
        request_fail(request, "%s", reason);
    free(jobs);
    free(tags);
    return is_good;
}
