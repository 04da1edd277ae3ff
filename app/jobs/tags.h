/* SPDX-License-Identifier: Apache-2.0 */
/* tags.h - select jobs by their tags */
#ifndef APP_TAGS_H
#define APP_TAGS_H

#include "jobs/job.h"

enum { TAGS_REASON = 600 }; /* size of a buffer for the reason of an error, including the NUL */

bool job_has_tag(const struct job *job, const char *tag);
bool job_has_tags(const struct job *job, const char *const *tags, size_t count);

/* Returns true if a job has all of the tags, or if there are none. Otherwise writes why: a tag that no job
 * has, with the nearest one, or tags that no job has together. */
bool tags_check(const struct job *const *jobs, size_t job_count, const char *const *tags, size_t tag_count,
                char ret_reason[TAGS_REASON]);

#endif
