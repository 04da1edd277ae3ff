/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the names of jobs and the tags that requests select jobs by
 *
 * A request with a name that no job has is refused, with the name that is most like it. So a misspelled name
 * is not taken for a selection of no jobs. */
#include <stdio.h>
#include <string.h>

#include "control/requests.h"
#include "text.h"

/* ---- names that are alike ---- */

/* The name that is most like a text, among those that were considered. */
struct similar {
    const char *text;
    const char *best; /* NULL: none is like it */
    int least;        /* its differences; before there is one, a limit of them */
};

static struct similar similar_to(const char *text)
{
    return (struct similar){.text = text, .least = strlen(text) < 5 ? 2 : 3};
}

static void consider(struct similar *similar, const char *name)
{
    int differences = text_distance(similar->text, name);
    if (differences < similar->least) {
        similar->least = differences;
        similar->best = name;
    }
}

/* Ends a request with an error: a text, and the name that may have been meant. */
static void fail_with(struct request *request, const char *text, const struct similar *similar)
{
    if (similar->best != NULL)
        request_fail(request, "%s %s; did you mean %s?", text, similar->text, similar->best);
    else
        request_fail(request, "%s %s", text, similar->text);
}

/* ---- jobs ---- */

struct job_state *request_job(struct request *request, const char *name)
{
    const struct runner *runner = request->runner;
    struct job_state *state = runner_find(runner, name);
    if (state != NULL)
        return state;
    struct similar similar = similar_to(name);
    for (size_t i = 0; i < runner->job_count; i++)
        consider(&similar, runner->jobs[i]->name);
    fail_with(request, "there is no job", &similar);
    return NULL;
}

/* ---- tags ---- */

static bool has_tag(const struct job *job, const char *tag)
{
    for (size_t i = 0; i < job->tag_count; i++)
        if (strcmp(job->tags[i], tag) == 0)
            return true;
    return false;
}

bool request_wants(const struct request *request, const struct job *job)
{
    const json_t *tags = request->question.tags;
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (!has_tag(job, json_string_value(json_array_get(tags, i))))
            return false;
    return true;
}

/* Returns true if a job has a tag. Otherwise ends the request with an error. */
static bool check_tag(struct request *request, const char *tag)
{
    const struct runner *runner = request->runner;
    struct similar similar = similar_to(tag);
    for (size_t i = 0; i < runner->job_count; i++) {
        const struct job *job = runner->jobs[i]->job;
        if (has_tag(job, tag))
            return true;
        for (size_t j = 0; j < job->tag_count; j++)
            consider(&similar, job->tags[j]);
    }
    fail_with(request, "no job has the tag", &similar);
    return false;
}

bool request_has_tags(struct request *request)
{
    const struct runner *runner = request->runner;
    const json_t *tags = request->question.tags;
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (!check_tag(request, json_string_value(json_array_get(tags, i))))
            return false;
    if (json_array_size(tags) == 0)
        return true;
    for (size_t i = 0; i < runner->job_count; i++)
        if (request_wants(request, runner->jobs[i]->job))
            return true;
    request_fail(request, "no job has all of these tags");
    return false;
}
