/* SPDX-License-Identifier: Apache-2.0 */
/* see_commands.c - the commands that only look: status, list, next, history, explain, show, metrics */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "command.h"
#include "control/commands.h"
#include "control/fields.h"
#include "control/times.h"
#include "control/view.h"
#include "figures.h"
#include "output.h"

static json_t *request(const char *name)
{
    return json_pack("{s:s}", "request", name);
}

/* ---- status ---- */

static const char status_help[] =
    "Usage: hora status [OPTION]...\n"
    "\n"
    "Show what the runner does: since when it is up, its store, how many jobs it has, the runs in progress,\n"
    "and what needs attention.\n"
    "\n" COMMON_HELP "\n"
    "Examples:\n"
    "  hora status\n"
    "  hora status --json | jq .totals.failed\n" STATUS_HELP;

/* Prints a line with a title. */
__attribute__((format(printf, 3, 4))) static void print_fact(const struct view *view, const char *title,
                                                             const char *format, ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    char padded[32];
    (void)snprintf(padded, sizeof padded, "%-8s", title);
    view_print_styled(view, STYLE_DIM, padded);
    view_print_safe(text);
    output_text("\n");
}

/* Counts the jobs in each state: "10: 4 waiting, 2 running". */
static void print_states(const struct view *view, const json_t *jobs)
{
    static const char *const states[] = {"waiting", "due", "running", "paused", "given-up", "disabled"};
    char text[256];
    int length = snprintf(text, sizeof text, "%zu", json_array_size(jobs));
    const char *mark = ": ";
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int count = 0;
        for (size_t j = 0; j < json_array_size(jobs); j++)
            count += field_is(json_array_get(jobs, j), "state", states[i]) ? 1 : 0;
        if (count > 0) {
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "%s%d %s", mark, count, states[i]);
            mark = ", ";
        }
    }
    print_fact(view, "jobs", "%s", text);
}

static void print_runner(const struct view *view, const json_t *runner, const json_t *totals)
{
    char title[256];
    (void)snprintf(title, sizeof title, "hora %s on %s", field_text(runner, "version"),
                   field_text(runner, "node"));
    view_print_styled(view, STYLE_TITLE, title);
    output_format(", pid %lld, up %s (since %s)%s\n", (long long)field_count(runner, "pid"),
                  TOOK(field_number(runner, "up_seconds")),
                  VIEW_TIME(view, json_object_get(runner, "started")),
                  field_is_true(runner, "stopping") ? ", about to end" : "");
    print_fact(view, "store", "%s, %s", field_text(runner, "store"),
               field_is_true(runner, "store_connected") ? "connected" : "not connected");
    const json_t *files = json_object_get(runner, "files");
    for (size_t i = 0; i < json_array_size(files); i++)
        print_fact(view, i == 0 ? "files" : "", "%s", item_text(files, i));
    print_fact(view, "runs", "%s: %s succeeded, %s failed, %s skipped, %s retries",
               COUNT(field_count(totals, "runs")), COUNT(field_count(totals, "succeeded")),
               COUNT(field_count(totals, "failed")), COUNT(field_count(totals, "skipped")),
               COUNT(field_count(totals, "retries")));
}

static void print_runs(const struct view *view, const json_t *runs)
{
    static const struct table_column columns[] = {
        {"RUN", false, 12, 0}, {"STATE", false, 0, 1},   {"FOR", true, 0, 0},       {"ATTEMPT", true, 0, 4},
        {"PID", true, 0, 3},   {"PLANNED", false, 0, 5}, {"WAITS FOR", false, 8, 2}};
    if (json_array_size(runs) == 0)
        return;
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        int64_t pid = field_count(run, "pid");
        double seconds = field_number(run, "seconds");
        table_add(table, STYLE_BOLD, field_text(run, "run"));
        table_add(table, view_state_style(field_text(run, "state")), field_text(run, "state"));
        table_add(table, STYLE_PLAIN, *field_text(run, "started") != '\0' ? TOOK(seconds) : "");
        table_format(table, STYLE_PLAIN, "%lld", (long long)field_count(run, "attempt"));
        if (pid > 0)
            table_format(table, STYLE_PLAIN, "%lld", (long long)pid);
        else
            table_add(table, STYLE_PLAIN, "");
        table_add(table, STYLE_DIM, VIEW_TIME(view, json_object_get(run, "planned")));
        table_add(table, STYLE_WARN, field_text(run, "waiting_for"));
    }
    output_text("\n");
    view_print_table(view, table);
}

/* Prints what needs attention. */
static void print_attention(const struct view *view, const json_t *runner, const json_t *jobs)
{
    bool is_first = true;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const char *since = VIEW_TIME(view, json_object_get(job, "paused_since"));
        const char *by = field_text(job, "paused_by");
        bool is_paused = field_is(job, "state", "paused") || *since != '\0'; /* it may still be running */
        if (!is_paused && !field_is(job, "state", "given-up"))
            continue;
        char text[512];
        if (is_paused)
            (void)snprintf(text, sizeof text, "%s is paused%s%s%s%s: hora resume %s", field_text(job, "job"),
                           *since != '\0' ? " since " : "", since, *by != '\0' ? " by " : "", by,
                           field_text(job, "job"));
        else
            (void)snprintf(text, sizeof text, "%s is given up after %lld failures in a row: hora explain %s",
                           field_text(job, "job"), (long long)field_count(job, "failures_in_a_row"),
                           field_text(job, "job"));
        output_text(is_first ? "\n" : "");
        is_first = false;
        view_print_sentence(view, is_paused ? STYLE_WARN : STYLE_BAD, text);
    }
    static const char *const errors[][2] = {{"store_error", "the store is not reachable: "},
                                            {"reload_error", "the last reload failed: "}};
    for (size_t i = 0; i < 2; i++) {
        if (*field_text(runner, errors[i][0]) == '\0')
            continue;
        output_text(is_first ? "\n" : "");
        is_first = false;
        char text[2048];
        (void)snprintf(text, sizeof text, "%s%s", errors[i][1], field_text(runner, errors[i][0]));
        view_print_sentence(view, STYLE_BAD, text);
    }
}

int status_command(int argc, char **argv)
{
    static const struct command_form form = {.help = status_help};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    json_t *answer = view_ask(&view, request("status"));
    json_t *list = answer != NULL && !view.is_json ? view_ask(&view, request("list")) : NULL;
    if (answer != NULL && view.is_json) {
        view_print_json(answer);
    } else if (list != NULL) {
        const json_t *runner = json_object_get(answer, "runner");
        print_runner(&view, runner, json_object_get(answer, "totals"));
        print_states(&view, json_object_get(list, "jobs"));
        print_runs(&view, json_object_get(answer, "runs"));
        print_attention(&view, runner, json_object_get(list, "jobs"));
        json_decref(answer);
    } else {
        json_decref(answer);
        status = STATUS_TROUBLE;
    }
    json_decref(list);
    view_close(&view);
    return status;
}

/* ---- list ---- */

static const char list_help[] = "Usage: hora list [OPTION]... [JOB]\n"
                                "\n"
                                "List the jobs: their states, when they run next, and how they ended last.\n"
                                "\n" TAG_HELP COMMON_HELP "\n"
                                "Examples:\n"
                                "  hora list --tag nightly\n"
                                "  hora list backup --json\n" STATUS_HELP;

/* Adds how a job ended last: "ok, 2 h ago". */
static void add_last(struct table *table, const struct view *view, const json_t *job)
{
    const char *ago = VIEW_RELATIVE(view, json_object_get(job, "last_end"));
    if (*ago == '\0')
        table_add(table, STYLE_PLAIN, "");
    else
        table_format(table, field_is(job, "last", "ok") ? STYLE_GOOD : STYLE_BAD, "%s, %s",
                     field_text(job, "last"), ago);
}

static void print_list(const struct view *view, json_t *jobs)
{
    static const struct table_column columns[] = {
        {"JOB", false, 10, 0},  {"STATE", false, 0, 0}, {"NEXT", true, 0, 0},
        {"AT", false, 0, 2},    {"LAST", false, 0, 1},  {"SCHEDULE", false, 10, 4},
        {"GROUP", false, 0, 5}, {"TAGS", false, 4, 6},  {"DESCRIPTION", false, 10, 3}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const json_t *next = json_object_get(job, "next");
        table_add(table, STYLE_BOLD, field_text(job, "job"));
        table_add(table, view_state_style(field_text(job, "state")), field_text(job, "state"));
        table_add(table, STYLE_PLAIN, VIEW_RELATIVE(view, next));
        table_add(table, STYLE_DIM, VIEW_TIME(view, next));
        add_last(table, view, job);
        table_add(table, STYLE_PLAIN, field_text(job, "schedule"));
        table_add(table, STYLE_PLAIN, field_text(job, "group"));
        char tags[256] = "";
        const json_t *list = json_object_get(job, "tags");
        for (size_t j = 0; j < json_array_size(list); j++) {
            size_t length = strlen(tags);
            (void)snprintf(tags + length, sizeof tags - length, "%s%s", j > 0 ? " " : "", item_text(list, j));
        }
        table_add(table, STYLE_DIM, tags);
        table_add(table, STYLE_DIM, field_text(job, "description"));
    }
    view_print_table(view, table);
}

/* Runs a command with one request. `print` shows a field of the answer, unless that is wanted as JSON. */
static int run_simple(struct view *view, json_t *asked, const char *field,
                      void (*print)(const struct view *view, json_t *value))
{
    json_t *answer = view_ask(view, asked);
    int status = answer != NULL ? STATUS_OK : STATUS_TROUBLE;
    if (answer != NULL && view->is_json) {
        view_print_json(answer);
    } else {
        if (answer != NULL)
            print(view, json_object_get(answer, field));
        json_decref(answer);
    }
    view_close(view);
    return status;
}

int list_command(int argc, char **argv)
{
    static const struct command_form form = {.help = list_help, .operands_most = 1, .has_tags = true};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    json_t *asked = request("list");
    view_select(&view, asked);
    return run_simple(&view, asked, "jobs", print_list);
}

/* ---- next ---- */

static const char next_help[] =
    "Usage: hora next [OPTION]... [JOB]...\n"
    "\n"
    "List the next planned times of all jobs, or of some, in the order in which they come.\n"
    "\n"
    "  -n N             how many times, 1 to 1000; default: 10\n"
    "  --all            also times of jobs that are paused, given up or disabled\n" TAG_HELP COMMON_HELP "\n"
    "Examples:\n"
    "  hora next\n"
    "  hora next -n 3 backup report\n" STATUS_HELP;

enum { OPTION_NUMBER = OPTION_OWN, OPTION_ALL, OPTION_FAILED, OPTION_SINCE, OPTION_OUTPUT };

struct next_arguments {
    int number;
    bool all;
};

static bool next_option(int id, const char *value, void *arg)
{
    struct next_arguments *arguments = arg;
    if (id == OPTION_NUMBER)
        return option_number("-n", value, 1, 1000, &arguments->number);
    arguments->all = true;
    return true;
}

static void print_next(const struct view *view, json_t *times)
{
    static const struct table_column columns[] = {
        {"NEXT", true, 0, 0}, {"AT", false, 0, 1}, {"JOB", false, 10, 0}, {"", false, 0, 2}};
    if (json_array_size(times) == 0) {
        output_text("No job has a planned time. Those that are paused, given up or disabled are shown with "
                    "--all.\n");
        return;
    }
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < json_array_size(times); i++) {
        const json_t *time = json_array_get(times, i);
        const char *state = field_text(time, "state");
        bool is_usual =
            strcmp(state, "waiting") == 0 || strcmp(state, "due") == 0 || strcmp(state, "running") == 0;
        table_add(table, STYLE_PLAIN, VIEW_RELATIVE(view, json_object_get(time, "time")));
        table_add(table, STYLE_DIM, VIEW_TIME(view, json_object_get(time, "time")));
        table_add(table, STYLE_BOLD, field_text(time, "job"));
        if (!is_usual)
            table_add(table, view_state_style(state), state);
        else
            table_add(table, STYLE_DIM, field_is_true(time, "estimated") ? "estimated" : "");
    }
    view_print_table(view, table);
}

int next_command(int argc, char **argv)
{
    static const struct option options[] = {{NULL, 'n', true, OPTION_NUMBER},
                                            {"--all", 0, false, OPTION_ALL}};
    static const struct command_form form = {.help = next_help,
                                             .options = options,
                                             .option_count = 2,
                                             .operands_most = 1000,
                                             .has_tags = true,
                                             .option = next_option};
    struct next_arguments arguments = {.number = 10};
    struct view view;
    int status;
    if (!view_open(&view, &form, &arguments, argc, argv, &status))
        return status;
    json_t *jobs = json_array();
    for (int i = 0; i < view.operand_count; i++)
        (void)json_array_append_new(jobs, json_string(view.operands[i]));
    json_t *asked = json_pack("{s:s, s:i, s:b, s:o}", "request", "next", "limit", arguments.number, "all",
                              arguments.all, "jobs", jobs);
    if (view.tags != NULL)
        view_select(&view, asked);
    return run_simple(&view, asked, "times", print_next);
}

/* ---- history ---- */

static const char history_help[] =
    "Usage: hora history [OPTION]... [JOB]\n"
    "\n"
    "List the runs that have ended, the latest first.\n"
    "\n"
    "  --failed         only those that failed\n"
    "  -n N             how many, 1 to 1000; default: 20\n"
    "  --since TIME     only those that ended since a time, such as 2026-11-17 or 2026-11-17T03:00, or in "
    "the\n"
    "                   last hours: 12h, 7d\n"
    "  --output         with --json: also the end of the output of each run\n" TAG_HELP COMMON_HELP "\n"
    "Examples:\n"
    "  hora history --failed --since 1d\n"
    "  hora history backup -n 5\n" STATUS_HELP;

struct history_arguments {
    int number;
    bool failed, output;
    const char *since;
    json_t *asked_since; /* the same for the runner; NULL: not given */
};

static bool history_option(int id, const char *value, void *arg)
{
    struct history_arguments *arguments = arg;
    switch (id) {
    case OPTION_NUMBER:
        return option_number("-n", value, 1, 1000, &arguments->number);
    case OPTION_FAILED:
        arguments->failed = true;
        return true;
    case OPTION_OUTPUT:
        arguments->output = true;
        return true;
    default:
        arguments->since = value;
        return true;
    }
}

static void print_history(const struct view *view, json_t *records)
{
    static const struct table_column columns[] = {
        {"ENDED", false, 0, 2},   {"AGO", true, 0, 0},  {"JOB", false, 10, 0},
        {"OUTCOME", false, 0, 0}, {"WHY", false, 8, 1}, {"TOOK", true, 0, 3},
        {"TRY", true, 0, 4},      {"RUN", false, 0, 5}, {"NODE", false, 0, 6}};
    if (json_array_size(records) == 0) {
        output_text("No run has ended.\n");
        return;
    }
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        const json_t *ended = json_object_get(record, "ended");
        if (!json_is_string(ended))
            ended = json_object_get(record, "planned");
        table_add(table, STYLE_DIM, VIEW_TIME(view, ended));
        table_add(table, STYLE_PLAIN, VIEW_RELATIVE(view, ended));
        table_add(table, STYLE_BOLD, field_text(record, "job"));
        table_add(table, view_outcome_style(record), view_outcome(record));
        table_add(table, STYLE_PLAIN, field_text(json_object_get(record, "note"), "reason"));
        if (json_is_number(json_object_get(record, "seconds")))
            table_add(table, STYLE_PLAIN, TOOK(field_number(record, "seconds")));
        else
            table_add(table, STYLE_PLAIN, "");
        table_format(table, STYLE_PLAIN, "%lld", (long long)field_count(record, "attempt"));
        table_add(table, STYLE_DIM, field_text(record, "run"));
        table_add(table, STYLE_DIM, field_text(json_object_get(record, "note"), "host"));
    }
    view_print_table(view, table);
}

/* Makes --since what the runner reads: a duration as it is, a time in UTC. */
static bool check_history(const struct view *view, void *arg)
{
    struct history_arguments *arguments = arg;
    hora_ns duration;
    hora_instant time;
    if (arguments->since == NULL)
        return true;
    if (hora_duration_parse(arguments->since, HORA_SECONDS(1), &duration, NULL) == 0 && duration >= 0)
        arguments->asked_since = json_string(arguments->since);
    else if (hora_instant_parse(arguments->since, view->zone, &time, NULL, NULL) == 0)
        arguments->asked_since = json_string(UTC(time));
    else
        complain_use("--since must be a time such as 2026-11-17T03:00, or a duration such as 12h, not \"%s\"",
                     arguments->since);
    return arguments->asked_since != NULL;
}

int history_command(int argc, char **argv)
{
    static const struct option options[] = {{NULL, 'n', true, OPTION_NUMBER},
                                            {"--failed", 0, false, OPTION_FAILED},
                                            {"--since", 0, true, OPTION_SINCE},
                                            {"--output", 0, false, OPTION_OUTPUT}};
    static const struct command_form form = {.help = history_help,
                                             .options = options,
                                             .option_count = 4,
                                             .operands_most = 1,
                                             .has_tags = true,
                                             .option = history_option,
                                             .check = check_history};
    struct history_arguments arguments = {.number = 20};
    struct view view;
    int status;
    if (!view_open(&view, &form, &arguments, argc, argv, &status)) {
        json_decref(arguments.asked_since);
        return status;
    }
    json_t *asked = json_pack("{s:s, s:i, s:b, s:b}", "request", "history", "limit", arguments.number,
                              "failed", arguments.failed, "output", arguments.output);
    view_select(&view, asked);
    if (arguments.asked_since != NULL)
        (void)json_object_set_new(asked, "since", arguments.asked_since);
    return run_simple(&view, asked, "records", print_history);
}

/* ---- explain, show, metrics ---- */

static const char explain_help[] =
    "Usage: hora explain [OPTION]... JOB\n"
    "\n"
    "Explain in words why a job ran, did not run or does not run: its schedule, what it waits for, when it\n"
    "runs next and why then, and how its last runs ended.\n"
    "\n" COMMON_HELP "\n"
    "Example:\n"
    "  hora explain backup\n"
    "\n"
    "Exit status: 0 if nothing is wrong, 1 if something keeps the job from running or its last run\n"
    "failed, 2 on errors.\n";

int explain_command(int argc, char **argv)
{
    static const struct command_form form = {
        .help = explain_help, .operands_least = 1, .operands_most = 1, .operand = "the name of a job"};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    json_t *answer = view_ask(&view, json_pack("{s:s, s:s}", "request", "explain", "job", view.operands[0]));
    status = answer == NULL ? STATUS_TROUBLE : field_is_true(answer, "wrong") ? STATUS_NO : STATUS_OK;
    const json_t *sentences = json_object_get(answer, "sentences");
    for (size_t i = 0; i < json_array_size(sentences) && !view.is_json; i++)
        view_print_sentence(&view, STYLE_PLAIN, item_text(sentences, i));
    if (answer != NULL && view.is_json)
        view_print_json(answer);
    else
        json_decref(answer);
    view_close(&view);
    return status;
}

static const char show_help[] =
    "Usage: hora show [OPTION]... JOB\n"
    "\n"
    "Print a job as the runner has read it, with all defaults, as JSON. Values of environment variables and\n"
    "the address for pings are not shown.\n"
    "\n" COMMON_HELP "\n"
    "Example:\n"
    "  hora show backup\n" STATUS_HELP;

static void print_shown(const struct view *view, json_t *job)
{
    (void)view;
    view_print_json(json_incref(job));
}

int show_command(int argc, char **argv)
{
    static const struct command_form form = {
        .help = show_help, .operands_least = 1, .operands_most = 1, .operand = "the name of a job"};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    return run_simple(&view, json_pack("{s:s, s:s}", "request", "show", "job", view.operands[0]), "job",
                      print_shown);
}

static const char metrics_help[] = "Usage: hora metrics [OPTION]...\n"
                                   "\n"
                                   "Print the metrics of the runner in the text format of Prometheus.\n"
                                   "\n" COMMON_HELP "\n"
                                   "Example:\n"
                                   "  hora metrics | grep hora_job_last_success\n" STATUS_HELP;

static void print_metrics(const struct view *view, json_t *text)
{
    (void)view;
    if (json_is_string(text))
        output_text(json_string_value(text));
}

int metrics_command(int argc, char **argv)
{
    static const struct command_form form = {.help = metrics_help};
    struct view view;
    int status;
    if (!view_open(&view, &form, NULL, argc, argv, &status))
        return status;
    return run_simple(&view, request("metrics"), "text", print_metrics);
}
