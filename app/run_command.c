/* SPDX-License-Identifier: Apache-2.0 */
/* run_command.c - hora run: options, defaults, and where things are kept */
#include "run_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "control/commands.h"
#include "control/socket.h"
#include "help.h"
#include "options.h"
#include "output.h"
#include "read_jobs.h"
#include "runner/start.h"
#include "text.h"

static const char help[] =
    "Usage: hora run [OPTION]... FILE...\n"
    "       hora run [OPTION]... JOB\n"
    "       hora run [OPTION]... --tag TAG\n"
    "\n"
    "Run the jobs of files, in the foreground. FILE is a YAML file (hora-jobs(5)), a crontab, or a folder\n"
    "with files *.yaml. An operand that is not an existing file is the name of a job: then a runner that\n"
    "runs is told to run it now, or all jobs with a tag; see hora run JOB --help.\n"
    "\n"
    "Options:\n"
    "  --store ADDRESS    where to keep the state: sqlite:///path/file.db or postgres://user@host/database\n"
    "  --socket PATH      the control socket\n"
    "  --logs DIRECTORY   the folder for the output of jobs\n"
    "  --node NAME        the name of this node; default: the name of the host\n"
    "  --crontab user|system   whether entries of crontabs have a user; default: system for\n"
    "                          /etc/crontab and files in /etc/cron.d, user for others\n"
    "  --zone NAME        the zone of jobs that do not name one; default: that of the machine\n"
    "  --watch            reload when a file changes\n"
    "  -q, --quiet        print warnings and errors only\n"
    "  --no-output        do not print the output of jobs\n"
    "  --json             print events as JSON, one object on each line\n"
    "  --lease DURATION   how long other nodes wait before they take over from this one; default: 5s\n"
    "  --clock virtual[=TIME]   for tests: time passes only on request (hora clock)\n"
    "  -h, --help         print this help\n"
    "\n"
    "SIGTERM and SIGINT end the runner when its jobs have ended, or after 30 s (stop_within in the\n"
    "files); a second one ends them now, a third kills them. SIGHUP reloads the files.\n"
    "\n"
    "Examples:\n"
    "  hora run jobs.yaml\n"
    "  hora run --store postgres://hora@db/jobs --watch /etc/hora/jobs.d\n"
    "  hora run --crontab user --quiet mycrontab\n"
    "  hora run backup --wait\n"
    "\n"
    "Exit status: 0 if the runner was told to end, and did; 1 if the files are not valid; 2 on other "
    "errors.\n";

enum option_id {
    OPTION_STORE = 1,
    OPTION_SOCKET,
    OPTION_LOGS,
    OPTION_NODE,
    OPTION_CRONTAB,
    OPTION_ZONE,
    OPTION_WATCH,
    OPTION_QUIET,
    OPTION_NO_OUTPUT,
    OPTION_JSON,
    OPTION_LEASE,
    OPTION_CLOCK,
    OPTION_HELP,
};

static const struct option table[] = {
    {"--store", 0, true, OPTION_STORE},
    {"--socket", 0, true, OPTION_SOCKET},
    {"--logs", 0, true, OPTION_LOGS},
    {"--node", 0, true, OPTION_NODE},
    {"--crontab", 0, true, OPTION_CRONTAB},
    {"--zone", 0, true, OPTION_ZONE},
    {"--watch", 0, false, OPTION_WATCH},
    {"--quiet", 'q', false, OPTION_QUIET},
    {"--no-output", 0, false, OPTION_NO_OUTPUT},
    {"--json", 0, false, OPTION_JSON},
    {"--lease", 0, true, OPTION_LEASE},
    {"--clock", 0, true, OPTION_CLOCK},
    {"--help", 'h', false, OPTION_HELP},
};

/* ---- options ---- */

static bool read_clock(struct runner_options *options, const char *text)
{
    options->virtual_clock = true;
    hora_error reason;
    if (strcmp(text, "virtual") == 0)
        return hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &options->virtual_start) == 0;
    if (strncmp(text, "virtual=", 8) == 0 &&
        hora_instant_parse(text + 8, NULL, &options->virtual_start, NULL, &reason) == 0)
        return true;
    complain("--clock %s: it must be virtual, or virtual=TIME with a time such as 2026-03-29T00:00:00Z",
             text);
    return false;
}

static bool read_lease(struct runner_options *options, const char *text)
{
    hora_error reason;
    if (hora_duration_parse(text, HORA_SECONDS(1), &options->lease, &reason) < 0) {
        complain("--lease %s: %s", text, reason.message);
        return false;
    }
    if (options->lease >= HORA_SECONDS(1) && options->lease <= HORA_SECONDS(60))
        return true;
    complain("--lease %s: it must be 1s to 60s", text);
    return false;
}

/* Takes one option. Returns false after an error. */
static bool take_option(struct runner_options *options, int id, const char *value)
{
    switch (id) {
    case OPTION_STORE:
        options->store = value;
        return true;
    case OPTION_SOCKET:
        options->socket = value;
        return true;
    case OPTION_LOGS:
        options->log_directory = value;
        return true;
    case OPTION_NODE:
        options->node_name = value;
        return true;
    case OPTION_ZONE:
        options->reading.zone = value;
        return true;
    case OPTION_WATCH:
        return options->watch = true;
    case OPTION_QUIET:
        return options->quiet = true;
    case OPTION_NO_OUTPUT:
        return options->no_output = true;
    case OPTION_JSON:
        return options->json = true;
    case OPTION_CRONTAB:
        return crontab_form_read(value, &options->reading.crontab);
    case OPTION_LEASE:
        return read_lease(options, value);
    case OPTION_CLOCK:
        return read_clock(options, value);
    default:
        return false;
    }
}

/* ---- places ---- */

/* Makes a directory and those above it. */
static bool make_directories(const char *path)
{
    char *copy = text_copy(path);
    bool done = true;
    for (char *at = copy + 1; done; at++) {
        char end = *at;
        if (end != '/' && end != '\0')
            continue;
        *at = '\0';
        done = mkdir(copy, 0750) == 0 || errno == EEXIST;
        *at = end;
        if (end == '\0')
            break;
    }
    if (!done)
        complain("%s cannot be made: %s", path, strerror(errno));
    free(copy);
    return done;
}

/* Returns the directory for the state of this user. */
static char *state_directory(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (getuid() == 0)
        return text_copy("/var/lib/hora");
    if (state != NULL && state[0] == '/')
        return text_format("%s/hora", state);
    return text_format("%s/.local/state/hora", home != NULL ? home : ".");
}

/* Returns the address without the password that it may contain: user:password@ becomes user:***@. */
static char *without_password(const char *address)
{
    const char *authority = strstr(address, "://");
    const char *at = authority == NULL ? NULL : strchr(authority + 3, '@');
    const char *colon = authority == NULL ? NULL : strchr(authority + 3, ':');
    const char *question = strchr(address, '?');
    char *shown = at == NULL || colon == NULL || colon > at
                      ? text_copy(address)
                      : text_format("%.*s:***%s", (int)(colon - address), address, at);
    if (question != NULL && strstr(question, "password") != NULL)
        *strchr(shown, '?') = '\0';
    return shown;
}

struct places {
    char *state, *store, *shown_store, *socket, *logs, *node;
};

static const char *first_of(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

static bool find_places(const struct runner_options *options, const struct jobs *jobs, struct places *places)
{
    const struct job_settings *settings = &jobs->settings;
    char host[256] = "localhost";
    (void)gethostname(host, sizeof host - 1);
    places->state = state_directory();
    const char *store = first_of(options->store, settings->store);
    places->store = store != NULL ? text_copy(store) : text_format("sqlite://%s/hora.db", places->state);
    places->shown_store = without_password(places->store);
    const char *socket = first_of(options->socket, settings->socket);
    places->socket = socket != NULL ? text_copy(socket) : control_default_socket();
    const char *logs = first_of(options->log_directory, settings->log_directory);
    places->logs = logs != NULL ? text_copy(logs) : text_format("%s/logs", places->state);
    places->node = text_copy(first_of(options->node_name, host));
    return (store != NULL || make_directories(places->state)) && make_directories(places->logs);
}

static void free_places(struct places *places)
{
    free(places->state);
    free(places->store);
    free(places->shown_store);
    free(places->socket);
    free(places->logs);
    free(places->node);
}

/* ---- the command ---- */

static int run_files(const struct runner_options *options)
{
    struct jobs *jobs = jobs_read_or_complain(options->files, options->file_count, &options->reading);
    if (jobs == NULL)
        return STATUS_NO;
    struct places places = {0};
    int status = STATUS_TROUBLE;
    if (find_places(options, jobs, &places)) {
        (void)output_flush();
        status = runner_main(options, jobs,
                             &(struct runner_places){.store = places.store,
                                                     .shown_store = places.shown_store,
                                                     .socket = places.socket,
                                                     .log_directory = places.logs,
                                                     .node_name = places.node});
    } else {
        jobs_free(jobs);
    }
    free_places(&places);
    return status;
}

/* True if an operand is a file; otherwise it is the name of a job. */
static bool is_file(const char *operand)
{
    return strcmp(operand, "-") == 0 || strchr(operand, '/') != NULL || strstr(operand, ".yaml") != NULL ||
           strstr(operand, ".yml") != NULL || access(operand, F_OK) == 0;
}

/* The first operand or --tag decides what the command means, so it is looked for first. */
static bool is_about_job(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct option *option = NULL;
        if (strcmp(argv[i], "--tag") == 0 || strncmp(argv[i], "--tag=", 6) == 0)
            return true; /* only jobs have tags */
        if (argv[i][0] != '-' || strcmp(argv[i], "-") == 0)
            return !is_file(argv[i]);
        for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
            if (strcmp(table[k].name, argv[i]) == 0)
                option = &table[k];
        if (option != NULL && option->takes_value)
            i++;
    }
    return false;
}

int run_command(int argc, char **argv)
{
    if (is_about_job(argc, argv))
        return run_job_command(argc, argv);
    const char **files = memory((size_t)argc * sizeof *files);
    struct runner_options options = {.files = files};
    struct options words = {
        .table = table, .count = sizeof table / sizeof table[0], .argc = argc, .argv = argv, .at = 1};
    int word, status = -1;
    while (status < 0 && (word = options_next(&words)) != WORD_END) {
        if (word == OPTION_HELP) {
            help_print(help);
            status = STATUS_OK;
        } else if (word == WORD_OPERAND) {
            files[options.file_count++] = words.value;
        } else if (word == WORD_WRONG || !take_option(&options, word, words.value)) {
            status = STATUS_TROUBLE;
        }
    }
    if (status < 0 && options.file_count == 0)
        status = complain_use("no file is given");
    if (status < 0)
        status = run_files(&options);
    free(files);
    return status;
}
