/* SPDX-License-Identifier: Apache-2.0 */
/* change_commands.c - the commands that change something: pause, resume, cancel, reload, stop, clock */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "command.h"
#include "control/commands.h"
#include "control/fields.h"
#include "control/view.h"
#include "output.h"

enum { OPTION_WITHIN = OPTION_OWN, OPTION_NO_WAIT, OPTION_ALL, OPTION_SETTLE };

/* ---- pause, resume, cancel ---- */

#define OF_JOBS_HELP                \
    "  --all            all jobs\n" \
    "  --tag TAG        all jobs that have this tag; repeated: that have all of them\n"

static const char pause_help[] =
    "Usage: hora pause [OPTION]... JOB...\n"
    "       hora pause [OPTION]... --tag TAG|--all\n"
    "\n"
    "Pause jobs: their planned times pass without a run until hora resume. Runs in progress go on.\n"
    "\n" OF_JOBS_HELP COMMON_HELP "\n"
    "Examples:\n"
    "  hora pause backup\n"
    "  hora pause --tag nightly\n" STATUS_HELP;

static const char resume_help[] =
    "Usage: hora resume [OPTION]... JOB...\n"
    "       hora resume [OPTION]... --tag TAG|--all\n"
    "\n"
    "Resume jobs that are paused, or that have been given up after too many failures.\n"
    "\n" OF_JOBS_HELP COMMON_HELP "\n"
    "Example:\n"
    "  hora resume backup\n" STATUS_HELP;

static const char cancel_help[] =
    "Usage: hora cancel [OPTION]... RUN...\n"
    "\n"
    "Cancel runs: their processes are told to end (SIGTERM) and are killed if they do not. A run that waits\n"
    "between two attempts ends at once. RUN is the id of a run, a unique beginning of it, or the name of a\n"
    "job that has one run in progress.\n"
    "\n" COMMON_HELP "\n"
    "Examples:\n"
    "  hora cancel backup\n"
    "  hora cancel backup@20261117T0300\n" STATUS_HELP;

static bool set_flag(int id, const char *value, void *arg)
{
    (void)id;
    (void)value;
    *(bool *)arg = true;
    return true;
}

/* Sends a request for an operand, and says what was done, or that there was nothing to do. Returns an exit
 * status. */
static int change(struct view *view, const char *name, const char *field, const char *operand,
                  const char *done, const char *not_done)
{
    json_t *answer = view_ask(view, json_pack("{s:s, s:s}", "request", name, field, operand));
    const char *run = field_text(answer, "run");
    if (answer == NULL)
        return STATUS_TROUBLE;
    if (view->is_json) {
        view_print_json(answer);
        return STATUS_OK;
    }
    bool is_new = json_object_get(answer, "changed") == NULL || field_is_true(answer, "changed");
    view_print_safe(*run != '\0' ? run : operand);
    output_format(" %s\n", is_new ? done : not_done);
    json_decref(answer);
    return STATUS_OK;
}

/* Checks that exactly one of names, --tag and --all is given. */
static bool check_selection(const struct view *view, void *arg)
{
    const bool *all = arg;
    bool is_all = all != NULL && *all;
    bool is_named = view->tags != NULL || view->operand_count > 0;
    if (is_all && is_named)
        complain_use("--all selects all jobs: it goes with neither names nor --tag");
    else if (!is_all && !is_named)
        complain_use("%s is missing", all != NULL ? "the name of a job" : "a run");
    return is_all != is_named;
}

/* Sends a request for each operand, or for each job that --all or --tag selects, and says what was done. If
 * one fails, the others are still made. `all` is NULL if --all and --tag are not options. */
static int change_each(int argc, char **argv, const char *help, const char *name, const char *field,
                       bool *all, const char *done, const char *not_done)
{
    static const struct option options[] = {{"--all", 0, false, OPTION_ALL}};
    struct command_form form = {.help = help,
                                .options = options,
                                .option_count = all != NULL ? 1 : 0,
                                .operands_most = 1000,
                                .has_tags = all != NULL,
                                .option = set_flag,
                                .check = check_selection};
    struct view view;
    int status;
    if (!view_open(&view, &form, all, argc, argv, &status))
        return status;
    bool is_selected = (all != NULL && *all) || view.tags != NULL;
    if (is_selected && !view_take_jobs(&view))
        status = STATUS_TROUBLE;
    for (int i = 0; i < view.operand_count; i++)
        if (change(&view, name, field, view.operands[i], done, not_done) != STATUS_OK)
            status = STATUS_TROUBLE;
    view_close(&view);
    return status;
}

int pause_command(int argc, char **argv)
{
    bool all = false;
    return change_each(argc, argv, pause_help, "pause", "job", &all, "is paused", "was paused before");
}

int resume_command(int argc, char **argv)
{
    bool all = false;
    return change_each(argc, argv, resume_help, "resume", "job", &all, "is resumed", "was not paused");
}

int cancel_command(int argc, char **argv)
{
    return change_each(argc, argv, cancel_help, "cancel", "run", NULL, "is cancelled", "");
}

/* ---- reload ---- */

static const char reload_help[] =
    "Usage: hora reload [OPTION]...\n"
    "\n"
    "Let the runner read its job files again. If one of them has a mistake, nothing changes. Jobs that have\n"
    "not changed are not touched, and runs in progress go on.\n"
    "\n" COMMON_HELP "\n"
    "Example:\n"
    "  hora reload\n"
    "\n"
    "Exit status: 0 if the files were read, 2 if not.\n";

int reload_command(int argc, char **argv)
{
    static const struct command_form form = {.help = reload_help};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    json_t *answer = view_ask(&view, json_pack("{s:s}", "request", "reload"));
    if (answer == NULL)
        status = STATUS_TROUBLE;
    else if (view.is_json)
        view_print_json(json_incref(answer));
    else
        output_format("reloaded: %lld jobs, %lld new or changed, %lld removed\n",
                      (long long)field_count(answer, "jobs"), (long long)field_count(answer, "changed"),
                      (long long)field_count(answer, "removed"));
    json_decref(answer);
    view_close(&view);
    return status;
}

/* ---- stop ---- */

static const char stop_help[] =
    "Usage: hora stop [OPTION]...\n"
    "\n"
    "End the runner: it starts nothing more, lets runs in progress end for a time, stops those that have "
    "not,\n"
    "and ends. The command waits for that.\n"
    "\n"
    "  --within TIME    how long runs may take to end, such as 30s or 5m; default: as the runner was told\n"
    "  --no-wait        do not wait\n" COMMON_HELP "\n"
    "Examples:\n"
    "  hora stop\n"
    "  hora stop --within 5m\n" STATUS_HELP;

struct stop_arguments {
    const char *within;
    hora_ns duration; /* -1: not given */
    bool no_wait;
};

static bool stop_option(int id, const char *value, void *arg)
{
    struct stop_arguments *arguments = arg;
    if (id == OPTION_NO_WAIT) {
        arguments->no_wait = true;
        return true;
    }
    arguments->within = value;
    if (hora_duration_parse(value, HORA_SECONDS(1), &arguments->duration, NULL) == 0 &&
        arguments->duration >= 0)
        return true;
    complain_use("--within must be a duration such as 30s, not \"%s\"", value);
    return false;
}

int stop_command(int argc, char **argv)
{
    static const struct option options[] = {{"--within", 0, true, OPTION_WITHIN},
                                            {"--no-wait", 0, false, OPTION_NO_WAIT}};
    static const struct command_form form = {
        .help = stop_help, .options = options, .option_count = 2, .option = stop_option};
    struct stop_arguments arguments = {.duration = -1};
    struct view view;
    int status;
    if (!view_open(&view, &form, &arguments, argc, argv, &status))
        return status;
    json_t *asked = json_pack("{s:s}", "request", "stop");
    if (arguments.within != NULL)
        (void)json_object_set_new(asked, "within", json_string(arguments.within));
    json_t *answer = view_ask(&view, asked);
    bool has_ended = answer != NULL && !arguments.no_wait && connection_await_end(&view.connection, -1);
    if (answer == NULL)
        status = STATUS_TROUBLE;
    else if (view.is_json)
        view_print_json(json_incref(answer));
    else
        output_text(has_ended ? "the runner has ended\n" : "the runner is about to end\n");
    json_decref(answer);
    view_close(&view);
    return status;
}

/* ---- clock ---- */

static const char clock_help[] = "Usage: hora clock [OPTION]... [DURATION]\n"
                                 "\n"
                                 "Let time pass for a runner with a virtual clock, for tests of job files: "
                                 "all that is planned within the\n"
                                 "duration happens at once, in its order.\n"
                                 "\n"
                                 "  --settle         then wait until no run is in progress\n" COMMON_HELP "\n"
                                 "Example:\n"
                                 "  hora clock 36h --settle\n" STATUS_HELP;

int clock_command(int argc, char **argv)
{
    static const struct option options[] = {{"--settle", 0, false, OPTION_SETTLE}};
    static const struct command_form form = {
        .help = clock_help, .options = options, .option_count = 1, .operands_most = 1, .option = set_flag};
    bool settle = false;
    struct view view;
    int status;
    if (!view_open(&view, &form, &settle, argc, argv, &status))
        return status;
    json_t *asked = json_pack("{s:s, s:b}", "request", "clock", "settle", settle);
    if (view.operand_count > 0)
        (void)json_object_set_new(asked, "by", json_string(view.operands[0]));
    json_t *answer = view_ask(&view, asked);
    if (answer == NULL)
        status = STATUS_TROUBLE;
    else if (view.is_json)
        view_print_json(json_incref(answer));
    else
        output_format("it is %s\n", field_text(answer, "now"));
    json_decref(answer);
    view_close(&view);
    return status;
}
