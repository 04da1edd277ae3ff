/* SPDX-License-Identifier: Apache-2.0 */
/* tags.c - select jobs by their tags */
#include "jobs/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "text.h"

bool job_has_tag(const struct job *job, const char *tag)
{
    for (size_t i = 0; i < job->tag_count; i++)
        if (strcmp(job->tags[i], tag) == 0)
            return true;
    return false;
}

bool job_has_tags(const struct job *job, const char *const *tags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!job_has_tag(job, tags[i]))
            return false;
    return true;
}

/* Returns true if a job has a tag. Otherwise writes that none has, and which tag is like it. */
static bool check_tag(const struct job *const *jobs, size_t job_count, const char *tag,
                      char ret_reason[TAGS_REASON])
{
    size_t count = 0;
    for (size_t i = 0; i < job_count; i++) {
        if (job_has_tag(jobs[i], tag))
            return true;
        count += jobs[i]->tag_count;
    }
    const char **known = memory((count + 1) * sizeof *known);
    count = 0;
    for (size_t i = 0; i < job_count; i++)
        for (size_t j = 0; j < jobs[i]->tag_count; j++)
            known[count++] = jobs[i]->tags[j];
    const char *nearest = text_nearest(tag, known, count, sizeof *known);
    (void)snprintf(ret_reason, TAGS_REASON, "no job has the tag %s%s%s%s", tag,
                   nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "?" : "");
    free(known);
    return false;
}

bool tags_check(const struct job *const *jobs, size_t job_count, const char *const *tags, size_t tag_count,
                char ret_reason[TAGS_REASON])
{
    for (size_t i = 0; i < tag_count; i++)
        if (!check_tag(jobs, job_count, tags[i], ret_reason))
            return false;
    if (tag_count == 0)
        return true;
    for (size_t i = 0; i < job_count; i++)
        if (job_has_tags(jobs[i], tags, tag_count))
            return true;
    (void)snprintf(ret_reason, TAGS_REASON, "no job has all of these tags");
    return false;
}
