/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_jobs.c - any text as a job file or crontab: it has problems, or each of its jobs has times, words and JSON
 *
 * The first byte chooses the form. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/reader.h"

enum { MOST_BYTES = 4096 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_lines(char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        require(lines[i][0] != '\0');
        for (const char *byte = lines[i]; *byte != '\0'; byte++)
            require((unsigned char)*byte >= ' ' && *byte != 127);
    }
}

/* The times of a job increase, and a job without a further time says so. */
static void check_times(const struct job *job)
{
    hora_instant now = {INT64_C(1772445600) * HORA_SECONDS(1)};
    hora_instant time = job_first_time(job, now);
    require(time.ns >= now.ns && time.ns <= JOB_PARKED);
    for (int i = 0; i < 3 && time.ns < JOB_PARKED; i++) {
        hora_instant next = job_next_time(job, time);
        require(next.ns > time.ns && next.ns <= JOB_PARKED);
        time = next;
    }
}

static void check_job(const struct job *job)
{
    char hash[17], words[8];
    int length = job_describe(job, words, sizeof words);
    require(length > 0 && strlen(words) < sizeof words);
    require(job_describe(job, NULL, 0) == length);
    job_schedule_hash(job, hash);
    require(strlen(hash) == 16);
    json_t *json = job_to_json(job, true);
    char *text = json_dumps(json, JSON_COMPACT);
    require(text != NULL && is_name(job->name));
    free(text);
    json_decref(json);
    check_times(job);
}

static void check_jobs(const struct jobs *jobs)
{
    check_lines(jobs->warnings, jobs->warning_count);
    for (size_t i = 0; i < jobs->count; i++) {
        check_job(jobs->jobs[i]);
        require(jobs_find(jobs, jobs->jobs[i]->name) == jobs->jobs[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct jobs_options options = {.zone = "UTC"};
    if (size == 0 || size > MOST_BYTES)
        return -1;
    char *text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    struct reader reader;
    reader_start(&reader, &options);
    if (data[0] % 3 == 0)
        reader_add_yaml(&reader, "file", text, size - 1);
    else
        crontab_read(&reader, "file", text, size - 1, data[0] % 3 == 1, NULL);
    free(text);
    struct problems problems;
    struct jobs *jobs = reader_finish(&reader, &problems);
    require((jobs == NULL) == (problems.count > 0) && problems.count <= 100);
    check_lines(problems.lines, problems.count);
    if (jobs)
        check_jobs(jobs);
    problems_free(&problems);
    jobs_free(jobs);
    return 0;
}
