/* SPDX-License-Identifier: Apache-2.0 */
/* check_command.c - hora check: read job files, and print what is wrong with them or what they mean */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "help.h"
#include "jobs/commands.h"
#include "jobs/jobs.h"
#include "jobs/tags.h"
#include "options.h"
#include "output.h"

static const char help[] =
    "Usage: hora check [OPTION]... FILE...\n"
    "\n"
    "Check job files. Prints all problems, each with its file, line and column; or each job with its\n"
    "next time and its schedule in words. A folder stands for the files *.yaml and *.yml in it, a file\n"
    "with another ending is a crontab, and - is standard input. See hora-jobs(5) for the format.\n"
    "\n"
    "  --crontab user|system   whether entries of crontabs have a user; default: system for\n"
    "                          /etc/crontab and files in /etc/cron.d, user for others\n"
    "  --from T                show the next times after T; default: now\n"
    "  --tag TAG               show only jobs that have this tag; repeated: that have all of them\n"
    "  --json                  print a JSON object with problems, warnings and complete jobs\n"
    "  -n N                    with --json: number of next times of each job, 0 to 1000; default: 1\n"
    "  --show-secrets          with --json: print the values of environment variables\n"
    "  -h, --help              print this help\n"
    "\n"
    "Exit status: 0 if the files are valid, 1 if they are not, 2 on other errors.\n";

/* The parsed command line. */
struct request {
    struct jobs_options options;
    bool json, show_secrets;
    int count; /* of the next times */
    const char *from_text;
    hora_instant from;
    const char **files;
    size_t file_count;
    const char **tags;
    size_t tag_count;
};

enum { CRONTAB = 1, JSON, SECRETS, FROM, COUNT, TAG, HELP };

static bool take_option(struct request *request, int id, const char *value)
{
    static const char *const forms[] = {"user", "system"};
    int choice;
    switch (id) {
    case CRONTAB:
        if (!option_choice("--crontab", value, forms, 2, &choice))
            return false;
        request->options.crontab = choice == 0 ? CRONTAB_USER : CRONTAB_SYSTEM;
        return true;
    case JSON:
        request->json = true;
        return true;
    case SECRETS:
        request->show_secrets = true;
        return true;
    case FROM:
        request->from_text = value;
        return true;
    case TAG:
        request->tags[request->tag_count++] = value;
        return true;
    case COUNT:
        return option_number("-n", value, 0, 1000, &request->count);
    default:
        request->files[request->file_count++] = value;
        return true;
    }
}

/* Parses the command line. Returns -1 to go on, or an exit status. */
static int read_request(struct request *request, int argc, char **argv)
{
    static const struct option table[] = {
        {"--crontab", 0, true, CRONTAB}, {"--json", 0, false, JSON}, {"--show-secrets", 0, false, SECRETS},
        {"--from", 0, true, FROM},       {NULL, 'n', true, COUNT},   {"--help", 'h', false, HELP},
        {"--tag", 0, true, TAG},
    };
    struct options words = {
        .table = table, .count = sizeof table / sizeof table[0], .argc = argc, .argv = argv, .at = 1};
    for (int id; (id = options_next(&words)) != WORD_END;) {
        if (id == WORD_WRONG)
            return STATUS_TROUBLE;
        if (id == HELP) {
            help_print(help);
            return STATUS_OK;
        }
        if (!take_option(request, id, words.value))
            return STATUS_TROUBLE;
    }
    if (request->file_count == 0)
        return complain_use("the file is missing");
    hora_error error;
    int result = hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &request->from);
    if (result < 0)
        return complain("the clock: %s", hora_strerror(result));
    if (!request->from_text)
        return -1;
    hora_zone *local;
    if (hora_zone_new("local", NULL, &local, &error) < 0)
        return complain("%s", error.message);
    result = hora_instant_parse(request->from_text, local, &request->from, NULL, &error);
    hora_zone_unref(local);
    return result < 0 ? complain("--from %s: %s", request->from_text, error.message) : -1;
}

/* Returns the zone to print the times of a job in: that of its first cron trigger, or of its first trigger.
 * Only jobs with triggers have times. */
static const hora_zone *zone_of(const struct job *job)
{
    for (size_t i = 0; i < job->trigger_count; i++)
        if (job->triggers[i].kind == TRIGGER_CRON)
            return job->triggers[i].zone;
    return job->trigger_count > 0 ? job->triggers[0].zone : NULL;
}

/* Returns the schedule of a job in words; the caller frees it. */
static char *words_of(const struct job *job)
{
    int length = job_describe(job, NULL, 0);
    char *words = memory((size_t)length + 1);
    (void)job_describe(job, words, (size_t)length + 1);
    return words;
}

/* ---- JSON ---- */

static json_t *lines_json(char *const *lines, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, json_string(lines[i]));
    return array;
}

static json_t *job_json(const struct request *request, const struct job *job)
{
    json_t *object = job_to_json(job, request->show_secrets);
    json_t *times = json_array();
    char *words = words_of(job);
    hora_instant time = request->from;
    for (int i = 0; i < request->count; i++) {
        char text[HORA_INSTANT_TEXT];
        time = job_next_time(job, time);
        if (time.ns >= JOB_PARKED)
            break;
        (void)hora_instant_format(time, zone_of(job), false, text, sizeof text);
        (void)json_array_append_new(times, json_string(text));
    }
    (void)json_object_set_new(object, "place",
                              json_sprintf("%s:%d:%d", job->place.file, job->place.line, job->place.column));
    (void)json_object_set_new(object, "schedule", json_string(words));
    (void)json_object_set_new(object, "next", times);
    free(words);
    return object;
}

/* Prints everything as one JSON object. Jobs may be NULL. */
static int print_json(const struct request *request, const struct jobs *jobs, const struct problems *problems)
{
    json_t *object = json_object(), *array = json_array();
    for (size_t i = 0; jobs && i < jobs->count; i++)
        if (job_has_tags(jobs->jobs[i], request->tags, request->tag_count))
            (void)json_array_append_new(array, job_json(request, jobs->jobs[i]));
    (void)json_object_set_new(object, "problems", lines_json(problems->lines, problems->count));
    (void)json_object_set_new(object, "warnings",
                              lines_json(jobs ? jobs->warnings : NULL, jobs ? jobs->warning_count : 0));
    (void)json_object_set_new(object, "jobs", array);
    char *text = json_dumps(object, JSON_INDENT(2));
    json_decref(object);
    if (!text)
        return complain("out of memory");
    output_text(text);
    output_text("\n");
    free(text);
    return jobs ? STATUS_OK : STATUS_NO;
}

/* ---- text ---- */

/* Prints the next time of a job, or "-". */
static void print_next(const struct request *request, const struct job *job)
{
    char text[HORA_INSTANT_TEXT] = "-";
    hora_instant next = job_next_time(job, request->from);
    if (job->enabled && next.ns < JOB_PARKED)
        (void)hora_instant_format(next, zone_of(job), false, text, sizeof text);
    output_format("%-25s", text);
}

/* Prints users and groups that this machine does not have. The files may be for another one, so it is only a
 * warning. */
static void print_missing_user(const struct job *job)
{
    if (job->user && !getpwnam(job->user))
        output_format("warning: %s:%d: there is no user %s here\n", job->place.file, job->place.line,
                      job->user);
    if (job->user_group && !getgrnam(job->user_group))
        output_format("warning: %s:%d: there is no group %s here\n", job->place.file, job->place.line,
                      job->user_group);
}

static int print_text(const struct request *request, const struct jobs *jobs, const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        output_text(problems->lines[i]);
        output_text("\n");
    }
    if (!jobs)
        return STATUS_NO;
    int width = 0;
    for (size_t i = 0; i < jobs->count; i++)
        if (job_has_tags(jobs->jobs[i], request->tags, request->tag_count) &&
            (int)strlen(jobs->jobs[i]->name) > width)
            width = (int)strlen(jobs->jobs[i]->name);
    for (size_t i = 0; i < jobs->count; i++) {
        if (!job_has_tags(jobs->jobs[i], request->tags, request->tag_count))
            continue;
        char *words = words_of(jobs->jobs[i]);
        output_format("%-*s  ", width, jobs->jobs[i]->name);
        print_next(request, jobs->jobs[i]);
        output_text("  ");
        output_plain(words);
        output_text("\n");
        free(words);
    }
    for (size_t i = 0; i < jobs->warning_count; i++) {
        output_text("warning: ");
        output_text(jobs->warnings[i]);
        output_text("\n");
    }
    for (size_t i = 0; i < jobs->count; i++)
        print_missing_user(jobs->jobs[i]);
    output_format("ok: %zu job%s\n", jobs->count, jobs->count == 1 ? "" : "s");
    return STATUS_OK;
}

static int check(const struct request *request)
{
    struct problems problems;
    struct jobs *jobs = jobs_read(request->files, request->file_count, &request->options, &problems);
    char reason[TAGS_REASON];
    int status;
    if (jobs && !tags_check((const struct job *const *)jobs->jobs, jobs->count, request->tags,
                            request->tag_count, reason))
        status = complain("%s", reason);
    else
        status = request->json ? print_json(request, jobs, &problems) : print_text(request, jobs, &problems);
    problems_free(&problems);
    jobs_free(jobs);
    return status;
}

int check_command(int argc, char **argv)
{
    struct request request = {.count = 1,
                              .files = memory((size_t)argc * sizeof *request.files),
                              .tags = memory((size_t)argc * sizeof *request.tags)};
    int status = read_request(&request, argc, argv);
    if (status < 0)
        status = check(&request);
    free(request.files);
    free(request.tags);
    return status;
}
