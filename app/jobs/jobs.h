/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - read job files: YAML and crontabs */
#ifndef APP_JOBS_H
#define APP_JOBS_H

#include <jansson.h>

#include "jobs/job.h"

/* How to read a crontab. AUTO: system form (with a user in each entry) for /etc/crontab and files in
 * /etc/cron.d, user form for others. */
enum crontab_form { CRONTAB_AUTO, CRONTAB_USER, CRONTAB_SYSTEM };

struct jobs_options {
    enum crontab_form crontab;
    const char *zone; /* for cron without a zone; NULL: that of the machine */
};

/* Problems of job files: one line of text each, "file:line:column: what is wrong". */
struct problems {
    char **lines;
    size_t count;
};

/* Reads files and directories. In a directory, the files *.yaml and *.yml are read, in the order of their
 * names; hidden ones are not. A file with another ending is a crontab. `-` is standard input (YAML). Returns
 * NULL if there is any problem: `ret_problems` then has at least one line, sorted by place, at most a hundred.
 * Never prints. */
struct jobs *jobs_read(const char *const *paths, size_t count, const struct jobs_options *options,
                       struct problems *ret_problems);
void jobs_free(struct jobs *jobs);
void problems_free(struct problems *problems);

/* Returns the job with a name, or NULL. */
struct job *jobs_find(const struct jobs *jobs, const char *name);

/* The complete job as JSON, with all defaults, in the vocabulary of the YAML file. Values of environment
 * variables and the address for pings are replaced by "***" unless `with_secrets`. Two jobs with equal JSON (with secrets) are the same
 * job. The caller owns the reference. */
json_t *job_to_json(const struct job *job, bool with_secrets);

/* A text that is different for different schedules: triggers, calendars, spread. 16 hexadecimal digits. */
void job_schedule_hash(const struct job *job, char ret_hash[17]);

/* Makes the trigger of a job: the earliest of its triggers, without the times that calendars exclude, moved by
 * its spread. at_start has no times here. When there is no further time, the trigger returns JOB_PARKED
 * instead of HORA_NEVER, so that the store keeps the row of the job. Times that are asked for with a
 * last_planned are strictly later than it. Returns 0 or an error. */
int job_trigger_new(const struct job *job, hora_trigger **ret_trigger);

/* The time of a job that has no further time: 2200-01-01T00:00:00Z, in ns. */
#define JOB_PARKED INT64_C(7258118400000000000)

/* Returns the first time of a job at or after `now` if it has never run, or JOB_PARKED. */
hora_instant job_first_time(const struct job *job, hora_instant now);

/* Returns the first time of a job after `after`, taking that for the planned time and the end of a run; or
 * JOB_PARKED. */
hora_instant job_next_time(const struct job *job, hora_instant after);

/* How many times a job has from `first`, which is one of them, to `until`, but at most `most`; and the last
 * of these. */
struct job_times {
    int64_t count;
    hora_instant last;
};
struct job_times job_times_until(const struct job *job, hora_instant first, hora_instant until, int64_t most);

/* True if a time of the job depends on the end of the run before it. */
bool job_has_delay(const struct job *job);

/* The schedule in words, such as "at 03:00, Europe/Paris; every 5 min"; "on request" if it has no time. Like
 * snprintf. */
int job_describe(const struct job *job, char *text, size_t size);

#endif
