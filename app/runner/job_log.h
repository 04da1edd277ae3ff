/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h - what writing and reading log files share; capture.h has the interface */
#ifndef APP_JOB_LOG_H
#define APP_JOB_LOG_H

#include "runner/capture.h"

/* DIRECTORY/JOB.log, allocated. */
char *job_log_path(const char *directory, const char *job);
/* The path of a rotated file, allocated. */
char *job_log_rotated_path(const char *path, int number);
/* The log of this path if this process has it open, without a reference; otherwise NULL. */
struct job_log_file *job_log_find_open(const char *path);

#endif
