/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - what the commands of the control socket share: options, the connection, and how answers are shown
 * */
#include "control/view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "control/fields.h"
#include "control/times.h"
#include "help.h"
#include "output.h"
#include "terminal.h"
#include "width.h"

enum { OPTION_SOCKET = 1, OPTION_JSON, OPTION_UTC, OPTION_ZONE, OPTION_HELP, OPTION_TAG };

static const struct option common_options[] = {{"--socket", 0, true, OPTION_SOCKET},
                                               {"--json", 0, false, OPTION_JSON},
                                               {"--utc", 0, false, OPTION_UTC},
                                               {"--zone", 0, true, OPTION_ZONE},
                                               {"--help", 'h', false, OPTION_HELP}};
enum { COMMON_OPTIONS = sizeof common_options / sizeof *common_options };
static const struct option tag_option = {"--tag", 0, true, OPTION_TAG};

/* ---- the command line ---- */

/* Handles a common option. Returns false if the command ends, with its exit status. */
static bool take_common(struct view *view, const struct command_form *form, int id, const char *value,
                        const char **zone_name, int *ret_status)
{
    *ret_status = STATUS_TROUBLE;
    switch (id) {
    case OPTION_SOCKET:
        view->socket = value;
        return true;
    case OPTION_JSON:
        view->is_json = true;
        return true;
    case OPTION_UTC:
        *zone_name = "UTC";
        return true;
    case OPTION_ZONE:
        *zone_name = value;
        return true;
    case OPTION_TAG:
        if (*value == '\0') {
            complain_use("--tag requires a value");
            return false;
        }
        if (view->tags == NULL)
            view->tags = json_array();
        (void)json_array_append_new(view->tags, json_string(value));
        return true;
    case OPTION_HELP:
        help_print(form->help);
        *ret_status = STATUS_OK;
        return false;
    default:
        return false; /* an error was printed */
    }
}

static bool parse(struct view *view, const struct command_form *form, void *arg, int argc, char **argv,
                  const char **zone_name, int *ret_status)
{
    struct option table[COMMON_OPTIONS + OWN_OPTIONS_MOST + 1];
    size_t count = COMMON_OPTIONS + form->option_count;
    memcpy(table, common_options, sizeof common_options);
    if (form->option_count > 0)
        memcpy(table + COMMON_OPTIONS, form->options, form->option_count * sizeof *table);
    if (form->has_tags)
        table[count++] = tag_option;
    struct options options = {.table = table, .count = count, .argc = argc, .argv = argv, .at = 1};
    *ret_status = STATUS_TROUBLE;
    for (int id; (id = options_next(&options)) != WORD_END;) {
        if (id == WORD_OPERAND && view->operand_count == form->operands_most) {
            complain_use("unexpected argument \"%s\"", options.value);
            return false;
        }
        if (id == WORD_OPERAND)
            view->operands[view->operand_count++] = argv[options.at - 1];
        else if (id >= OPTION_OWN ? !form->option(id, options.value, arg)
                                  : !take_common(view, form, id, options.value, zone_name, ret_status))
            return false;
    }
    if (view->tags != NULL && view->operand_count > 0) {
        complain_use("name jobs, or select them with --tag, not both");
        return false;
    }
    if (view->operand_count < form->operands_least && view->tags == NULL) {
        complain_use("%s is missing", form->operand);
        return false;
    }
    return true;
}

bool view_open(struct view *view, const struct command_form *form, void *arg, int argc, char **argv,
               int *ret_status)
{
    const char *zone_name = "local";
    hora_error reason;
    *view = (struct view){.connection = {.fd = -1},
                          .operands = memory((size_t)(argc + 1) * sizeof *view->operands)};
    bool is_good = parse(view, form, arg, argc, argv, &zone_name, ret_status);
    if (is_good && hora_zone_new(zone_name, NULL, &view->zone, &reason) < 0) {
        *ret_status = complain("--zone %s: %s", zone_name, reason.message);
        is_good = false;
    }
    is_good = is_good && (form->check == NULL || form->check(view, arg));
    if (is_good) {
        int lines;
        bool is_terminal = isatty(STDOUT_FILENO) == 1;
        view->look.is_utf8 = !is_terminal || terminal_is_utf8();
        view->look.has_colour = terminal_is_there() && terminal_has_colour();
        if (is_terminal)
            terminal_size(&lines, &view->look.width);
        *ret_status = connection_open(view->socket, &view->connection);
        is_good = *ret_status == STATUS_OK;
    }
    if (!is_good)
        view_close(view);
    return is_good;
}

void view_close(struct view *view)
{
    connection_close(&view->connection);
    hora_zone_unref(view->zone);
    json_decref(view->tags);
    json_decref(view->selected);
    free(view->operands);
    view->tags = view->selected = NULL;
    view->zone = NULL;
    view->operands = NULL;
}

json_t *view_ask(struct view *view, json_t *request)
{
    json_t *answer = connection_ask(&view->connection, request, NULL, NULL);
    (void)times_from_json(json_object_get(answer, "now"), &view->now);
    return answer;
}

void view_select(const struct view *view, json_t *request)
{
    if (view->tags != NULL)
        (void)json_object_set(request, "tags", view->tags);
    else if (view->operand_count > 0)
        (void)json_object_set_new(request, "job", json_string(view->operands[0]));
}

bool view_take_jobs(struct view *view)
{
    json_t *request = json_pack("{s:s}", "request", "list");
    view_select(view, request);
    json_t *answer = view_ask(view, request);
    if (answer == NULL)
        return false;
    const json_t *jobs = json_object_get(answer, "jobs");
    view->selected = answer;
    free(view->operands);
    view->operands = memory((json_array_size(jobs) + 1) * sizeof *view->operands);
    view->operand_count = 0;
    for (size_t i = 0; i < json_array_size(jobs); i++)
        view->operands[view->operand_count++] = field_text(json_array_get(jobs, i), "job");
    return true;
}

/* ---- texts ---- */

void view_print_json(json_t *answer)
{
    char *text = json_dumps(answer, JSON_INDENT(2));
    if (text != NULL) {
        output_text(text);
        output_text("\n");
    }
    free(text);
    json_decref(answer);
}

void view_print_table(const struct view *view, struct table *table)
{
    char *text = table_text(table, &view->look);
    output_text(text);
    free(text);
    table_free(table);
}

void view_print_safe(const char *text)
{
    for (size_t size; *text != '\0'; text += size) {
        bool is_shown = width_of_first(text, &size) >= 0 || *text == '\t';
        output_bytes(is_shown ? text : "?", is_shown ? size : 1);
    }
}

void view_print_styled(const struct view *view, enum style style, const char *text)
{
    bool has_style = view->look.has_colour && style != STYLE_PLAIN;
    if (has_style)
        output_format("\033[%sm", style_rendition(style, true));
    view_print_safe(text);
    if (has_style)
        output_text("\033[0m");
}

/* Returns the length of the time in UTC at the start of a text, such as 2026-11-17T03:00:00.5Z; 0 if there is
 * none. */
static size_t time_length(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t i = 0;
    for (; form[i] != '\0'; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return 0;
    if (text[i] == '.')
        do
            i++;
        while (isdigit((unsigned char)text[i]));
    return text[i] == 'Z' ? i + 1 : 0;
}

/* Returns a copy of a text in which times in UTC are those of the zone. */
static char *with_local_times(const struct view *view, const char *text)
{
    char *copy = memory(strlen(text) * 2 + TIME_TEXT);
    size_t size = 0;
    while (*text != '\0') {
        size_t length = time_length(text);
        char utc[TIME_TEXT];
        hora_instant time;
        if (length > 0 && length < sizeof utc) {
            (void)snprintf(utc, sizeof utc, "%.*s", (int)length, text);
            if (hora_instant_parse(utc, NULL, &time, NULL, NULL) == 0) {
                const char *local = LOCAL(time, view->zone);
                size += (size_t)snprintf(copy + size, TIME_TEXT, "%s", local);
                text += length;
                continue;
            }
        }
        copy[size++] = *text++;
    }
    copy[size] = '\0';
    return copy;
}

/* Prints a line, broken at blanks if it is wider than the terminal. It is changed for a moment. */
static void print_broken(const struct view *view, enum style style, char *line)
{
    while (view->look.width > 0 && width_of(line) > view->look.width) {
        size_t fits = width_fitting(line, view->look.width);
        size_t end = fits;
        while (end > 0 && line[end] != ' ')
            end--;
        size_t length = end > 0 ? end : fits;
        if (length == 0)
            break;
        char after = line[length];
        line[length] = '\0';
        view_print_styled(view, style, line);
        output_text("\n");
        line[length] = after;
        line += length + (after == ' ' ? 1 : 0);
    }
    view_print_styled(view, style, line);
    output_text("\n");
}

void view_print_sentence(const struct view *view, enum style style, const char *sentence)
{
    char *text = with_local_times(view, sentence);
    for (char *line = text, *end; line != NULL; line = end) {
        end = strchr(line, '\n'); /* some errors have several lines */
        if (end != NULL)
            *end++ = '\0';
        print_broken(view, style, line);
    }
    free(text);
}

const char *view_time(const struct view *view, const json_t *time, char *text)
{
    hora_instant instant;
    text[0] = '\0';
    return times_from_json(time, &instant) ? times_local(instant, view->zone, false, text) : text;
}

const char *view_relative(const struct view *view, const json_t *time, char *text)
{
    hora_instant instant;
    text[0] = '\0';
    return times_from_json(time, &instant) ? times_relative(instant, view->now, text) : text;
}

const char *view_outcome(const json_t *record)
{
    return field_is_true(record, "retried") ? "retried" : field_text(record, "outcome");
}

enum style view_outcome_style(const json_t *record)
{
    if (field_is(record, "outcome", "succeeded"))
        return STYLE_GOOD;
    bool is_bad = field_is(record, "outcome", "failed") || field_is(record, "outcome", "lost");
    return is_bad && !field_is_true(record, "retried") ? STYLE_BAD : STYLE_WARN;
}

enum style view_state_style(const char *state)
{
    static const struct {
        const char *state;
        enum style style;
    } styles[] = {{"running", STYLE_GOOD}, {"due", STYLE_INFO},      {"paused", STYLE_WARN},
                  {"given-up", STYLE_BAD}, {"disabled", STYLE_DIM},  {"stopping", STYLE_WARN},
                  {"guarded", STYLE_INFO}, {"draining", STYLE_INFO}, {"delayed", STYLE_INFO}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(state, styles[i].state) == 0)
            return styles[i].style;
    return STYLE_PLAIN;
}
