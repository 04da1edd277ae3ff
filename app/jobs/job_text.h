/* SPDX-License-Identifier: Apache-2.0 */
/* job_text.h - values of jobs as the texts of job files */
#ifndef APP_JOB_TEXT_H
#define APP_JOB_TEXT_H

#include "jobs/job.h"

/* Buffer size for the longest text of these functions. */
#define JOB_VALUE_TEXT 96

/* Writes a duration as in job files, such as 1h30m; 0 is 0s. Returns the buffer. */
const char *duration_text(hora_ns duration, char text[JOB_VALUE_TEXT]);

/* Writes a size as in job files, such as 512M. Returns the buffer. */
const char *size_text(int64_t size, char text[JOB_VALUE_TEXT]);

#endif
