/* SPDX-License-Identifier: Apache-2.0 */
/* read_jobs.h - read job files, for commands */
#ifndef APP_READ_JOBS_H
#define APP_READ_JOBS_H

#include "jobs/jobs.h"

/* As jobs_read, but prints the problems to standard error. */
struct jobs *jobs_read_or_complain(const char *const *paths, size_t count,
                                   const struct jobs_options *options);

/* Reads the value of --crontab. On error prints a message and returns false. */
bool crontab_form_read(const char *text, enum crontab_form *ret_form);

#endif
