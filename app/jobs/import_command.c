/* SPDX-License-Identifier: Apache-2.0 */
/* import_command.c - hora import crontab: print a crontab as a job file
 *
 * The crontab is read as jobs_read reads it, and each job is printed with the keys that differ from the
 * defaults. Texts are printed as JSON strings, which YAML has as well. So the printed file means the same as the
 * crontab; tests compare the two. What cron does and hora does not is printed to standard error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "help.h"
#include "jobs/commands.h"
#include "jobs/reader.h"
#include "options.h"
#include "output.h"

static const char help[] =
    "Usage: hora import crontab [--system|--user NAME] [-o FILE] [FILE|-]\n"
    "\n"
    "Print a crontab as a job file. Reads the file, or standard input: crontab -l | hora import crontab.\n"
    "Warnings about what would be different go to standard error.\n"
    "\n"
    "  --system     entries have a user, as in /etc/crontab and /etc/cron.d\n"
    "  --user NAME  entries run as this user\n"
    "  -o FILE      write to FILE, which must not exist\n"
    "  -h, --help   print this help\n"
    "\n"
    "Exit status: 0 on success, 1 if the crontab is not valid, 2 on other errors.\n";

static const char general_help[] = "Usage: hora import crontab [--system|--user NAME] [-o FILE] [FILE|-]\n"
                                   "\n"
                                   "See hora import crontab --help.\n";

struct request {
    bool system;
    const char *user, *output, *file;
};

/* ---- printing ---- */

/* Prints a text as a JSON string. */
static void print_string(FILE *out, const char *text)
{
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    if (!quoted)
        out_of_memory();
    (void)fputs(quoted, out);
    free(quoted);
}

static void print_value(FILE *out, const char *key, const char *value)
{
    if (!value)
        return;
    (void)fprintf(out, "    %s: ", key);
    print_string(out, value);
    (void)fputc('\n', out);
}

static void print_trigger(FILE *out, const struct job_trigger *trigger)
{
    if (trigger->kind == TRIGGER_AT_START) {
        (void)fputs("    at_start: true\n", out);
        return;
    }
    print_value(out, "cron", trigger->text);
    if (strcmp(hora_zone_name(trigger->zone), "local") != 0)
        print_value(out, "zone", hora_zone_name(trigger->zone));
}

/* Prints the line of the crontab that a job comes from. */
static void print_origin(FILE *out, const char *text, int line)
{
    for (const char *end; line > 1 && (end = strchr(text, '\n')); line--)
        text = end + 1;
    (void)fputs("  # ", out);
    for (; *text && *text != '\n'; text++)
        if ((unsigned char)*text >= ' ' && *text != 127)
            (void)fputc(*text, out);
        else
            (void)fputc(*text == '\t' ? ' ' : '?', out);
    (void)fputc('\n', out);
}

static void print_job(FILE *out, const struct job *job, const char *text)
{
    print_origin(out, text, job->place.line);
    (void)fputs("  ", out);
    print_string(out, job->name);
    (void)fputs(":\n", out);
    print_value(out, "command", job->command.shell);
    for (size_t i = 0; i < job->trigger_count; i++)
        print_trigger(out, &job->triggers[i]);
    if (strcmp(job->shell, "/bin/sh") != 0)
        print_value(out, "shell", job->shell);
    print_value(out, "user", job->user);
    print_value(out, "directory", job->directory);
    print_value(out, "input", job->input);
    (void)fputs("    environment:\n      variables:\n", out);
    for (size_t i = 0; i < job->environment.count; i++) {
        (void)fprintf(out, "        %s: ", job->environment.variables[i].name);
        print_string(out, job->environment.variables[i].value);
        (void)fputc('\n', out);
    }
}

static int by_line(const void *left, const void *right)
{
    const struct job *a = *(struct job *const *)left, *b = *(struct job *const *)right;
    return a->place.line - b->place.line;
}

static void print_file(FILE *out, struct jobs *jobs, const char *text)
{
    (void)fputs("# Made by hora import crontab; see hora-jobs(5).\n"
                "\n"
                "defaults: # as cron has them\n"
                "  dialect: unix\n"
                "  dst: once\n"
                "  overlap: allow 1000\n"
                "  environment:\n"
                "    clean: true\n"
                "\n",
                out);
    (void)fputs(jobs->count == 0 ? "jobs: {}\n" : "jobs:\n", out);
    if (jobs->count > 0)
        qsort(jobs->jobs, jobs->count, sizeof(*jobs->jobs), by_line);
    for (size_t i = 0; i < jobs->count; i++)
        print_job(out, jobs->jobs[i], text);
}

/* ---- reading ---- */

/* Reads a crontab. *ret_text is the whole of it; the caller frees it. */
static struct jobs *read_crontab(const struct request *request, char **ret_text,
                                 struct problems *ret_problems)
{
    struct reader reader;
    size_t size = 0;
    const char *name = request->file ? request->file : "-";
    reader_start(&reader, NULL);
    char *text = reader_read_any(&reader, name, &size);
    *ret_text = NULL;
    if (text) {
        *ret_text = memory(size + 1);
        memcpy(*ret_text, text, size + 1);
        crontab_read(&reader, strcmp(name, "-") == 0 ? "standard input" : name, text, size, request->system,
                     request->user);
    }
    return reader_finish(&reader, ret_problems);
}

static void print_warnings(const struct request *request, const struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->warning_count; i++)
        (void)fprintf(stderr, "warning: %s\n", jobs->warnings[i]);
    bool in_home = false;
    for (size_t i = 0; i < jobs->count; i++)
        in_home = in_home || (!jobs->jobs[i]->user && jobs->jobs[i]->directory);
    if (in_home && !request->system)
        (void)fprintf(stderr,
                      "note: the jobs run as the user that starts the runner; --user names another\n");
    if (jobs->count > 0)
        (void)fprintf(stderr, "note: cron mails what a job prints; hora keeps it in the log of the job\n");
}

/* Writes a new file. Returns an exit status. */
static int write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wxe");
    if (!file)
        return complain("cannot create %s: %s", path, strerror(errno));
    bool good = fwrite(text, 1, size, file) == size;
    good = fclose(file) == 0 && good;
    return good ? STATUS_OK : complain("cannot write %s: %s", path, strerror(errno));
}

static int import_file(const struct request *request)
{
    struct problems problems;
    char *text;
    int status = STATUS_NO;
    struct jobs *jobs = read_crontab(request, &text, &problems);
    for (size_t i = 0; i < problems.count; i++)
        (void)fprintf(stderr, "%s\n", problems.lines[i]);
    problems_free(&problems);
    if (jobs) {
        char *yaml = NULL;
        size_t size = 0;
        FILE *memory_file = open_memstream(&yaml, &size);
        status = STATUS_OK;
        if (memory_file)
            print_file(memory_file, jobs, text ? text : "");
        if (!memory_file || fclose(memory_file) != 0)
            status = complain("out of memory");
        else if (!request->output)
            output_bytes(yaml, size);
        else
            status = write_file(request->output, yaml, size);
        if (status == STATUS_OK)
            print_warnings(request, jobs);
        free(yaml);
    }
    jobs_free(jobs);
    free(text);
    return status;
}

static int crontab_command(int argc, char **argv)
{
    enum { SYSTEM = 1, USER, OUTPUT, HELP };
    static const struct option table[] = {{"--system", 0, false, SYSTEM},
                                          {"--user", 0, true, USER},
                                          {NULL, 'o', true, OUTPUT},
                                          {"--help", 'h', false, HELP}};
    struct options words = {
        .table = table, .count = sizeof table / sizeof table[0], .argc = argc, .argv = argv, .at = 1};
    struct request request = {0};
    for (int id; (id = options_next(&words)) != WORD_END;) {
        if (id == WORD_WRONG)
            return STATUS_TROUBLE;
        if (id == HELP) {
            help_print(help);
            return STATUS_OK;
        }
        if (id == SYSTEM)
            request.system = true;
        else if (id == USER)
            request.user = words.value;
        else if (id == OUTPUT)
            request.output = words.value;
        else if (request.file)
            return complain_use("unexpected argument \"%s\"", words.value);
        else
            request.file = words.value;
    }
    if (request.system && request.user)
        return complain_use("--system and --user exclude each other: in system form, each entry has a user");
    return import_file(&request);
}

int import_command(int argc, char **argv)
{
    static const struct command commands[] = {{"crontab", crontab_command}};
    return command_run(commands, 1, general_help, argc, argv);
}
