/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - hora top: a live overview of a runner
 *
 * The command asks the runner once a second. If the connection is lost, it says so on the screen and tries
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hora/clock.h>

#include "command.h"
#include "control/commands.h"
#include "control/fields.h"
#include "control/times.h"
#include "control/top_view.h"
#include "control/view.h"
#include "output.h"
#include "terminal.h"
#include "text.h"

enum { REFRESH_MS = 1000, PATIENCE_MS = 10000, RECORDS = 200, OPTION_ONCE = OPTION_OWN, OPTION_SIZE };

static const char help[] =
    "Usage: hora top [OPTION]...\n"
    "\n"
    "Show a live overview: runs in progress, with how much of their timeout (or of the time that they "
    "usually\n"
    "take, marked with ~) they have used; jobs with the time until their next runs; runs that have ended.\n"
    "\n"
    "  --once           print the screen once, as text, and exit\n"
    "  --size CxR       with --once: its size in columns and rows, such as 80x24; default: that of the "
    "terminal\n" SCREEN_HELP "\n"
    "Keys:\n"
    "  up, down, k, j   select a job\n"
    "  r                run the selected job now\n"
    "  p                pause or resume the selected job\n"
    "  q                quit; so does Ctrl-C\n"
    "\n"
    "Colours are used unless NO_COLOR is set, and UTF-8 if the locale has it (LC_ALL, LC_CTYPE, LANG).\n"
    "\n"
    "Example:\n"
    "  hora top\n" STATUS_HELP;

struct arguments {
    bool once;
    int rows, columns; /* 0: not given */
};

struct top {
    struct view *common;
    struct top_view view;
};

static bool read_option(int id, const char *value, void *arg)
{
    struct arguments *arguments = arg;
    if (id == OPTION_ONCE) {
        arguments->once = true;
        return true;
    }
    char *end;
    long columns = strtol(value, &end, 10);
    long rows = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
    if (*end == '\0' && columns >= 20 && columns <= CANVAS_COLUMNS_MOST && rows >= 5 &&
        rows <= CANVAS_ROWS_MOST) {
        arguments->columns = (int)columns;
        arguments->rows = (int)rows;
        return true;
    }
    complain_use("--size must be columns and rows such as 80x24, from 20x5 to %dx%d, not \"%s\"",
                 CANVAS_COLUMNS_MOST, CANVAS_ROWS_MOST, value);
    return false;
}

/* ---- asking ---- */

/* Sends a request. Returns the answer, or NULL: the connection is closed then, and the view has the reason.
 * An answer may be an error. */
static json_t *ask(struct top *top, json_t *request)
{
    struct connection *connection = &top->common->connection;
    connection_send(connection, request);
    json_t *answer = connection_receive(connection, PATIENCE_MS, top->view.trouble, sizeof top->view.trouble);
    if (answer == NULL) {
        connection_close(connection);
        return NULL;
    }
    top->view.trouble[0] = '\0';
    (void)times_from_json(json_object_get(answer, "now"), &top->view.now);
    return answer;
}

/* Replaces a part of the view by a part of an answer. Returns false if there is no answer. */
static bool take(struct top *top, json_t *request, const char *field, json_t **part)
{
    json_t *answer = ask(top, request);
    if (answer == NULL)
        return false;
    json_t *value = field != NULL ? json_object_get(answer, field) : answer;
    if (field_is_true(answer, "ok")) {
        json_decref(*part);
        *part = json_incref(value);
    } else {
        (void)snprintf(top->view.message, sizeof top->view.message, "%s", field_text(answer, "error"));
        top->view.message_style = STYLE_BAD;
    }
    json_decref(answer);
    return true;
}

/* Asks for everything that the screen shows. Connects first if there is no connection. */
static bool update(struct top *top)
{
    struct top_view *view = &top->view;
    if (top->common->connection.fd < 0 &&
        !connection_try(top->common->socket, &top->common->connection, view->trouble, sizeof view->trouble))
        return false;
    if (!take(top, json_pack("{s:s}", "request", "status"), NULL, &view->status) ||
        !take(top, json_pack("{s:s}", "request", "list"), "jobs", &view->jobs) ||
        !take(top, json_pack("{s:s, s:i}", "request", "history", "limit", RECORDS), "records",
              &view->records))
        return false;
    top_sort(view->jobs);
    if (top_selected(view) < 0)
        text_set(&view->selected,
                 json_array_size(view->jobs) > 0 ? field_text(json_array_get(view->jobs, 0), "job") : NULL);
    return true;
}

/* ---- keys ---- */

/* Sends a request about the selected job, and shows what came of it. */
static void act(struct top *top, const char *request, const char *done)
{
    struct top_view *view = &top->view;
    if (view->selected == NULL || top->common->connection.fd < 0)
        return;
    json_t *answer = ask(top, json_pack("{s:s, s:s}", "request", request, "job", view->selected));
    if (answer == NULL)
        return;
    bool is_good = field_is_true(answer, "ok");
    if (is_good)
        (void)snprintf(view->message, sizeof view->message, "%s %s", view->selected, done);
    else
        (void)snprintf(view->message, sizeof view->message, "%s", field_text(answer, "error"));
    view->message_style = is_good ? STYLE_GOOD : STYLE_BAD;
    json_decref(answer);
}

static void select_job(struct top_view *view, int by)
{
    int index = top_selected(view) + by;
    if (index >= 0 && index < (int)json_array_size(view->jobs))
        text_set(&view->selected, field_text(json_array_get(view->jobs, (size_t)index), "job"));
}

/* Handles a key. Returns false if the command ends. */
static bool handle_key(struct top *top, int key)
{
    const json_t *job = json_array_get(top->view.jobs, (size_t)top_selected(&top->view));
    bool is_paused = field_is(job, "state", "paused") || field_is(job, "state", "given-up");
    switch (key) {
    case 'q':
    case TERMINAL_END:
        return false;
    case 'k':
    case TERMINAL_UP:
        select_job(&top->view, -1);
        return true;
    case 'j':
    case TERMINAL_DOWN:
        select_job(&top->view, 1);
        return true;
    case 'r':
        act(top, "run", "is asked to run");
        return true;
    case 'p':
        act(top, is_paused ? "resume" : "pause", is_paused ? "is resumed" : "is paused");
        return true;
    default:
        return true;
    }
}

/* ---- the screen ---- */

static void draw(const struct top *top, struct canvas *canvas)
{
    int rows;
    int columns;
    terminal_size(&rows, &columns);
    canvas_resize(canvas, rows, columns);
    top_layout(&top->view, canvas);
    canvas_write(canvas);
    (void)output_flush();
}

static hora_ns now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
}

/* Shows the screen until the user quits. */
static void show(struct top *top)
{
    struct canvas canvas = {.is_utf8 = terminal_is_utf8(), .has_colour = terminal_has_colour()};
    bool goes_on = true;
    terminal_open(true);
    while (goes_on && !output_has_failed()) {
        (void)update(top);
        draw(top, &canvas);
        hora_ns until = now() + HORA_MS(REFRESH_MS);
        for (hora_ns left; goes_on && (left = until - now()) > 0;) {
            int key = terminal_key((int)(left / HORA_MS(1)) + 1);
            goes_on = handle_key(top, key);
            if (key == 'r' || key == 'p')
                break; /* to see what it has changed */
            if (key != TERMINAL_NO_KEY)
                draw(top, &canvas);
        }
    }
    terminal_close();
    canvas_free(&canvas);
}

/* Prints the screen as text. */
static void print_once(const struct top *top, const struct arguments *arguments)
{
    struct canvas canvas = {.is_utf8 = top->common->look.is_utf8};
    int rows = arguments->rows;
    int columns = arguments->columns;
    if (rows == 0)
        terminal_size(&rows, &columns);
    canvas_resize(&canvas, rows, columns);
    top_layout(&top->view, &canvas);
    char *text = memory((size_t)columns * sizeof(struct cell) + 1);
    for (int row = 0; row < canvas.rows; row++) {
        (void)canvas_row_text(&canvas, row, text, (size_t)columns * sizeof(struct cell) + 1);
        output_text(text);
        output_text("\n");
    }
    free(text);
    canvas_free(&canvas);
}

static bool check_top(const struct view *view, void *arg)
{
    (void)arg;
    if (view->is_json)
        complain_use("the screen is not for programs: use hora status --json and hora list --json");
    return !view->is_json;
}

int top_command(int argc, char **argv)
{
    static const struct option options[] = {{"--once", 0, false, OPTION_ONCE},
                                            {"--size", 0, true, OPTION_SIZE}};
    static const struct command_form form = {
        .help = help, .options = options, .option_count = 2, .option = read_option, .check = check_top};
    struct arguments arguments = {0};
    struct view common;
    int status;
    if (!view_open(&common, &form, &arguments, argc, argv, &status))
        return status;
    struct top top = {.common = &common, .view = {.zone = common.zone, .message_style = STYLE_PLAIN}};
    if (!arguments.once && !terminal_is_there())
        status = complain("standard output is not a terminal that can be redrawn; use --once");
    else if (!update(&top))
        status = complain("%s", top.view.trouble);
    else if (arguments.once)
        print_once(&top, &arguments);
    else
        show(&top);
    json_decref(top.view.status);
    json_decref(top.view.jobs);
    json_decref(top.view.records);
    free(top.view.selected);
    view_close(&common);
    return status;
}
