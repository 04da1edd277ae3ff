/* SPDX-License-Identifier: Apache-2.0 */
/* stream_commands.c - the commands that print events and output as they come: run JOB, logs, events */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "control/commands.h"
#include "control/fields.h"
#include "control/times.h"
#include "control/view.h"
#include "output.h"

enum { OPTION_WAIT = OPTION_OWN, OPTION_FOLLOW, OPTION_ATTEMPT, OPTION_TAIL, OPTION_TIMES, OPTION_OUTPUT };

/* What the events of a stream are printed for. */
struct printing {
    struct view view;
    bool with_times; /* before each line of output */
    bool is_events;  /* print all events, not only output */
    bool was_continued;
};

/* Prints an event as it was received. */
static void print_json_line(const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    if (text != NULL) {
        output_text(text);
        output_text("\n");
    }
    free(text);
}

static void print_time(const struct printing *printing, const json_t *event)
{
    hora_instant time;
    char text[TIME_TEXT];
    if (times_from_json(json_object_get(event, "time"), &time)) {
        view_print_styled(&printing->view, STYLE_DIM, times_local(time, printing->view.zone, true, text));
        output_text("  ");
    }
}

/* Prints a line of output. */
static void print_output(struct printing *printing, const json_t *event)
{
    if (!printing->was_continued) {
        if (printing->with_times || printing->is_events)
            print_time(printing, event);
        if (printing->is_events) {
            view_print_styled(&printing->view, STYLE_INFO, field_text(event, "job"));
            output_text(" | ");
        }
    }
    bool is_error = field_is(event, "stream", "err");
    view_print_styled(&printing->view, is_error && printing->view.look.has_colour ? STYLE_WARN : STYLE_PLAIN,
                      field_text(event, "text"));
    printing->was_continued = field_is_true(event, "continued");
    if (!printing->was_continued)
        output_text("\n");
}

static enum style kind_style(const json_t *event)
{
    if (field_is(event, "kind", "error") || field_is(event, "kind", "give-up"))
        return STYLE_BAD;
    if (field_is(event, "kind", "end"))
        return view_outcome_style(event);
    if (field_is(event, "kind", "warn") || field_is(event, "kind", "retry") ||
        field_is(event, "kind", "skip"))
        return STYLE_WARN;
    return field_is(event, "kind", "start") ? STYLE_INFO : STYLE_PLAIN;
}

/* Prints an event other than output. */
static void print_event(struct printing *printing, const json_t *event)
{
    const char *text = field_text(event, "text");
    char kind[32];
    (void)snprintf(kind, sizeof kind, "%-9.9s ", field_text(event, "kind"));
    print_time(printing, event);
    view_print_styled(&printing->view, kind_style(event), kind);
    if (*field_text(event, "job") != '\0') {
        view_print_styled(&printing->view, STYLE_BOLD, field_text(event, "job"));
        output_text("  ");
    }
    if (*text != '\0')
        view_print_safe(text);
    else if (field_is(event, "kind", "connected"))
        output_format("to the runner with pid %lld", (long long)field_count(event, "pid"));
    output_text("\n");
}

/* Receives an event of a stream. Returns false if the output has failed. */
static bool receive(const json_t *event, void *arg)
{
    struct printing *printing = arg;
    if (printing->view.is_json)
        print_json_line(event);
    else if (field_is(event, "kind", "output"))
        print_output(printing, event);
    else if (printing->is_events)
        print_event(printing, event);
    return output_flush();
}

/* ---- run ---- */

#define RUN_STATUS_HELP                                                                                 \
    "\nExit status: 0 if the run was accepted, 2 on errors. With --wait: 0 if the run succeeded;\n"     \
    "otherwise the exit status of the job, or 128 + n if signal n ended it (143 after a timeout or a\n" \
    "cancel); 1 if the run was skipped; 2 also if it could not be started, or if the connection was\n"  \
    "lost before it ended.\n"

static const char run_help[] =
    "Usage: hora run JOB [OPTION]...\n"
    "       hora run --tag TAG [OPTION]...\n"
    "\n"
    "Let the runner start a run of a job now, with the environment, the limits and the log of a planned "
    "run.\n"
    "Print the id of the run. A run that has to wait for another run of the job has no id yet.\n"
    "\n"
    "  --tag TAG        each job that has this tag, instead of one; repeated: that has all of them\n"
    "  --wait           print the output of the run, and wait until it ends. Retries belong to it. If the\n"
    "                   command is interrupted, the run goes on.\n" COMMON_HELP "\n"
    "Examples:\n"
    "  hora run backup\n"
    "  hora run backup --wait && echo done\n"
    "  hora run --tag nightly\n" RUN_STATUS_HELP;

static bool set_flag(int id, const char *value, void *arg)
{
    (void)id;
    (void)value;
    *(bool *)arg = true;
    return true;
}

/* Returns the exit status for a run that has ended. */
static int status_of_run(const json_t *answer)
{
    int64_t signal = field_count(answer, "signal");
    int64_t code = field_count(answer, "exit");
    if (signal > 0)
        return (int)(128 + signal % 128);
    if (code > 0)
        return (int)(code % 256);
    if (field_is(answer, "outcome", "succeeded"))
        return STATUS_OK;
    return field_is(answer, "kind", "skip") || field_is(answer, "outcome", "skipped") ? STATUS_NO
                                                                                      : STATUS_TROUBLE;
}

/* Starts a run of a job. Returns an exit status. */
static int run_job(struct printing *printing, const char *job)
{
    struct view *view = &printing->view;
    json_t *answer = view_ask(view, json_pack("{s:s, s:s}", "request", "run", "job", job));
    const char *run = field_text(answer, "run");
    if (answer == NULL)
        return STATUS_TROUBLE;
    if (view->is_json)
        print_json_line(answer);
    else if (*run != '\0')
        output_format("%s\n", run);
    else
        output_format("%s follows the run in progress\n", job);
    json_decref(answer);
    return STATUS_OK;
}

/* The same, and waits until it ends. */
static int run_job_and_wait(struct printing *printing, const char *job)
{
    struct view *view = &printing->view;
    json_t *answer = connection_ask(
        &view->connection,
        json_pack("{s:s, s:s, s:b, s:b}", "request", "run", "job", job, "wait", 1, "output", 1), receive,
        printing);
    if (answer == NULL)
        return STATUS_TROUBLE;
    int status = status_of_run(answer);
    if (view->is_json)
        print_json_line(answer);
    else if (status != STATUS_OK)
        (void)fprintf(stderr, "%s: %s\n", field_text(answer, "run"), field_text(answer, "text"));
    json_decref(answer);
    return status;
}

static bool check_run(const struct view *view, void *arg)
{
    const bool *wait = arg;
    if (view->tags != NULL && *wait)
        complain_use("--wait waits for one job, and --tag may select several");
    return view->tags == NULL || !*wait;
}

int run_job_command(int argc, char **argv)
{
    static const struct option options[] = {{"--wait", 0, false, OPTION_WAIT}};
    static const struct command_form form = {.help = run_help,
                                             .options = options,
                                             .option_count = 1,
                                             .operands_least = 1,
                                             .operands_most = 1,
                                             .has_tags = true,
                                             .operand = "the name of a job",
                                             .option = set_flag,
                                             .check = check_run};
    struct printing printing = {0};
    struct view *view = &printing.view;
    bool wait = false;
    int status;
    if (!view_open(view, &form, &wait, argc, argv, &status))
        return status;
    if (wait)
        status = run_job_and_wait(&printing, view->operands[0]);
    else if (view->tags != NULL && !view_take_jobs(view))
        status = STATUS_TROUBLE;
    else
        for (int i = 0; i < view->operand_count; i++)
            if (run_job(&printing, view->operands[i]) != STATUS_OK)
                status = STATUS_TROUBLE; /* the others are still started */
    view_close(view);
    return status;
}

/* ---- logs ---- */

static const char logs_help[] =
    "Usage: hora logs [OPTION]... RUN\n"
    "\n"
    "Print the output of a run. RUN is the id of a run, or the name of a job, which means its latest run.\n"
    "\n"
    "  -f, --follow     go on with what comes, until the run ends; for the name of a job, go on with its "
    "next\n"
    "                   runs until interrupted\n"
    "  --attempt N      only the output of one attempt\n"
    "  --tail N         only the last N lines\n"
    "  -t, --times      print the time of each line\n" COMMON_HELP "\n"
    "Examples:\n"
    "  hora logs backup\n"
    "  hora logs -f --tail 20 backup\n"
    "  hora logs backup@20261117T020000Z\n" STATUS_HELP;

struct logs_arguments {
    bool follow, with_times;
    int attempt, tail;
};

static bool logs_option(int id, const char *value, void *arg)
{
    struct logs_arguments *arguments = arg;
    switch (id) {
    case OPTION_ATTEMPT:
        return option_number("--attempt", value, 1, 1000000, &arguments->attempt);
    case OPTION_TAIL:
        return option_number("--tail", value, 1, 100000, &arguments->tail);
    case OPTION_TIMES:
        arguments->with_times = true;
        return true;
    default:
        arguments->follow = true;
        return true;
    }
}

int logs_command(int argc, char **argv)
{
    static const struct option options[] = {{"--follow", 'f', false, OPTION_FOLLOW},
                                            {"--attempt", 0, true, OPTION_ATTEMPT},
                                            {"--tail", 0, true, OPTION_TAIL},
                                            {"--times", 't', false, OPTION_TIMES}};
    static const struct command_form form = {.help = logs_help,
                                             .options = options,
                                             .option_count = 4,
                                             .operands_least = 1,
                                             .operands_most = 1,
                                             .operand = "a run, or the name of a job,",
                                             .option = logs_option};
    struct logs_arguments arguments = {0};
    struct printing printing = {0};
    struct view *view = &printing.view;
    int status;
    if (!view_open(view, &form, &arguments, argc, argv, &status))
        return status;
    printing.with_times = arguments.with_times;
    json_t *asked =
        json_pack("{s:s, s:s, s:b}", "request", "logs", "run", view->operands[0], "follow", arguments.follow);
    if (arguments.attempt > 0)
        (void)json_object_set_new(asked, "attempt", json_integer(arguments.attempt));
    if (arguments.tail > 0)
        (void)json_object_set_new(asked, "tail", json_integer(arguments.tail));
    json_t *answer = connection_ask(&view->connection, asked, receive, &printing);
    if (answer == NULL)
        status = STATUS_TROUBLE;
    json_decref(answer);
    view_close(view);
    return status;
}

/* ---- events ---- */

static const char events_help[] =
    "Usage: hora events [OPTION]... [JOB]\n"
    "\n"
    "Print what happens, as it happens, until interrupted: starts and ends of runs, retries, pauses, "
    "reloads,\n"
    "and who asked for what.\n"
    "\n"
    "  --output         also the output of runs\n" TAG_HELP COMMON_HELP "\n"
    "Examples:\n"
    "  hora events\n"
    "  hora events --json backup | jq -r 'select(.kind == \"end\") | .outcome'\n" STATUS_HELP;

int events_command(int argc, char **argv)
{
    static const struct option options[] = {{"--output", 0, false, OPTION_OUTPUT}};
    static const struct command_form form = {.help = events_help,
                                             .options = options,
                                             .option_count = 1,
                                             .operands_most = 1,
                                             .has_tags = true,
                                             .option = set_flag};
    struct printing printing = {.is_events = true};
    struct view *view = &printing.view;
    bool with_output = false;
    int status;
    if (!view_open(view, &form, &with_output, argc, argv, &status))
        return status;
    json_t *asked = json_pack("{s:s, s:b}", "request", "events", "output", with_output);
    view_select(view, asked);
    json_t *answer = connection_ask(&view->connection, asked, receive, &printing);
    if (answer == NULL && !output_has_failed())
        status = STATUS_TROUBLE;
    json_decref(answer);
    view_close(view);
    return status;
}
