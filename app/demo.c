/* SPDX-License-Identifier: Apache-2.0 */
/* demo.c - hora demo: show schedulers at work for some seconds, then print a summary */
#include "demo.h"

#include <stddef.h>
#include <stdlib.h>

#include "command.h"
#include "figures.h"
#include "help.h"
#include "options.h"
#include "output.h"
#include "terminal.h"

enum {
    SECONDS_DEFAULT = 20, /* values of --seconds */
    SECONDS_MOST = 86400,
    FRAME_MS = 100, /* between two drawings of the screen */
    PLAIN_MS = 1000 /* between two lines of plain output */
};

static const char help[] =
    "Usage: hora demo [--seconds N] [--plain]\n"
    "\n"
    "Run schedulers under a mixed load and show what they do: throughput and lateness, workers and their\n"
    "tasks, the next planned runs, a class at its limit, and why a task has not run. At the end, print a\n"
    "summary of all tasks.\n"
    "\n"
    "  --seconds N  duration, 1 to 86400; default: 20\n"
    "  --plain      print a line per second instead of a screen; also when standard output is not a\n"
    "               terminal, or TERM is unset or dumb\n"
    "  -h, --help   print this help\n"
    "\n"
    "Keys:\n";

static const char help_end[] =
    "\n"
    "Colours are used unless NO_COLOR is set, and UTF-8 if the locale has it (LC_ALL, LC_CTYPE, LANG).\n"
    "\n"
    "Exit status: 0 if no task started early and none was lost, 1 otherwise, 2 on errors.\n";

hora_ns demo_now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
}

/* Draws the whole screen. */
static void draw(struct demo *demo, struct canvas *canvas)
{
    int rows;
    int columns;
    if (demo_state_update(demo) < 0)
        return;
    terminal_size(&rows, &columns);
    canvas_resize(canvas, rows, columns);
    demo_layout(&demo->view, canvas);
    canvas_write(canvas);
    (void)output_flush();
}

/* Prints one line, for output that is not a screen. */
static void print_line(struct demo *demo)
{
    hora_counts counts = HORA_INIT(hora_counts);
    if (demo_state_update(demo) < 0 || demo_state_counts(demo, &counts) < 0)
        return;
    const struct demo_view *view = &demo->view;
    output_format(
        "%5.1f s  %lld runs, %lld failed, %lld expired, %d active, %d waiting, late p50 %s p99 %s\n",
        (double)view->elapsed / 1e9, (long long)counts.started, (long long)counts.failed,
        (long long)counts.expired, view->active, view->queued, DURATION(view->p50), DURATION(view->p99));
    (void)output_flush();
}

/* Waits until a time and handles keys. Returns early, to redraw the screen, after a key and when the size has
 * changed. Returns false if the demo ends. */
static bool handle_keys(struct demo *demo, hora_ns until)
{
    for (hora_ns left; (left = until - demo_now()) > 0;) {
        int key = terminal_key((int)(left / HORA_MS(1)) + 1);
        if (key == TERMINAL_END || !demo_key(demo, key))
            return false;
        if (key != TERMINAL_NO_KEY)
            return true;
    }
    return true;
}

/* Draws the screen, or prints lines, at regular times until the demo ends or the user quits. Handles keys in
 * between. */
static void show(struct demo *demo, bool is_plain)
{
    struct canvas canvas = {.is_utf8 = terminal_is_utf8(), .has_colour = terminal_has_colour()};
    hora_ns frame = HORA_MS(FRAME_MS);
    hora_ns next_line = demo->begin + HORA_MS(PLAIN_MS);
    bool goes_on = true;
    while (goes_on && demo_now() < demo->end && !output_has_failed()) {
        hora_ns until = demo_now() + frame;
        goes_on = handle_keys(demo, until < demo->end ? until : demo->end);
        demo_calendar_advance(demo);
        if (!is_plain) {
            draw(demo, &canvas);
        } else if (demo_now() >= next_line) {
            print_line(demo);
            next_line += HORA_MS(PLAIN_MS);
        }
    }
    canvas_free(&canvas);
}

/* The numbers of tasks that a scheduler has accepted, and of these that have ended. */
struct books {
    int64_t accepted;
    int64_t ended;
};

/* Adds the numbers of a scheduler. Returns 0 or an error of hora. */
static int add_books(hora_scheduler *scheduler, struct books *books)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    int error = hora_pool_get_stats(scheduler, &stats);
    books->accepted += stats.accepted;
    books->ended += stats.done + stats.failed + stats.cancelled + stats.rejected + stats.abandoned +
                    stats.handed_back + stats.expired;
    return error;
}

/* Prints how many runs there were, and how late they were. Returns 0 or an error of hora. */
static int print_runs(struct demo *demo)
{
    hora_counts counts = HORA_INIT(hora_counts);
    hora_distribution late = HORA_INIT(hora_distribution); /* of tasks that wait only for their time */
    hora_distribution held = HORA_INIT(hora_distribution); /* of tasks that wait for their class */
    int error = demo_state_counts(demo, &counts);
    if (error == 0)
        error = hora_pool_get_distribution(demo->scheduler, "heartbeat", HORA_METRIC_LATENESS, &late);
    if (error == 0)
        error = hora_pool_get_distribution(demo->scheduler, "import", HORA_METRIC_WAIT, &held);
    if (error < 0 && error != HORA_ENOENT) /* HORA_ENOENT: the demo ended before these started */
        return error;
    output_format(
        "runs: %lld, succeeded: %lld, failed: %lld; expired tasks: %lld; skipped planned times: %lld\n",
        (long long)counts.started, (long long)counts.done, (long long)counts.failed,
        (long long)counts.expired, (long long)counts.skipped);
    output_format("lateness of heartbeat: p50 %.3f ms, p99 %.3f ms, max %.3f ms; %lld of all started early\n",
                  (double)late.p50 / 1e6, (double)late.p99 / 1e6, (double)late.max / 1e6,
                  (long long)atomic_load(&demo->early));
    output_format("imports waited for their class: p50 %.1f s, max %.1f s\n", (double)held.p50 / 1e9,
                  (double)held.max / 1e9);
    return 0;
}

/* Prints the summary. Returns STATUS_OK if no task started early and none was lost, else STATUS_NO, or
 * STATUS_TROUBLE after printing an error. */
static int sum_up(struct demo *demo)
{
    struct books books = {0, 0};
    int error = print_runs(demo);
    if (error == 0)
        error = add_books(demo->scheduler, &books);
    if (error == 0)
        error = add_books(demo->calendar, &books);
    if (error < 0)
        return complain("%s", hora_strerror(error));
    output_format("%lld tasks accepted, %lld ended: %lld lost\n", (long long)books.accepted,
                  (long long)books.ended, (long long)(books.accepted - books.ended));
    return atomic_load(&demo->early) == 0 && books.ended == books.accepted ? STATUS_OK : STATUS_NO;
}

/* Starts everything. Returns an exit status. */
static int start(struct demo *demo)
{
    const char *what = "the log";
    hora_error why;
    int error = demo_log_start(demo, &why);
    if (error == 0)
        error = demo_load_start(demo, &what, &why);
    if (error == 0)
        error = demo_calendar_start(demo, &what, &why);
    return error < 0 ? complain("%s: %s", what, why.message) : STATUS_OK;
}

/* Stops the schedulers. Returns an exit status. */
static int stop(struct demo *demo)
{
    int error = demo->scheduler != NULL ? demo_load_stop(demo) : 0;
    int other = demo_calendar_stop(demo);
    error = error < 0 ? error : other;
    return error < 0 ? complain("%s", hora_strerror(error)) : STATUS_OK;
}

/* Runs the whole demo. Returns an exit status. */
static int run(int seconds, bool is_plain)
{
    struct demo *demo = memory(sizeof *demo);
    *demo = (struct demo){.begin = demo_now()};
    demo->sampled_at = demo->begin;
    demo->end = demo->begin + HORA_SECONDS(seconds);
    int status = start(demo);
    if (status == STATUS_OK) {
        terminal_open(!is_plain);
        show(demo, is_plain);
        terminal_close();
    }
    int stopped = stop(demo);
    if (status == STATUS_OK)
        status = stopped == STATUS_OK ? sum_up(demo) : stopped;
    if (demo->scheduler != NULL)
        (void)hora_pool_free(demo->scheduler); /* sum_up has reported the abandoned tasks */
    demo_calendar_free(demo);
    demo_timers_free(demo);
    demo_log_stop(demo);
    free(demo);
    return status;
}

int demo_command(int argc, char **argv)
{
    enum { SECONDS = 1, PLAIN, HELP };
    static const struct option table[] = {
        {"--seconds", 0, true, SECONDS}, {"--plain", 0, false, PLAIN}, {"--help", 'h', false, HELP}};
    struct options options = {
        .table = table, .count = sizeof table / sizeof *table, .argc = argc, .argv = argv, .at = 1};
    int seconds = SECONDS_DEFAULT;
    bool is_plain = !terminal_is_there();
    for (int word; (word = options_next(&options)) != WORD_END;) {
        switch (word) {
        case SECONDS:
            if (!option_number("--seconds", options.value, 1, SECONDS_MOST, &seconds))
                return STATUS_TROUBLE;
            break;
        case PLAIN:
            is_plain = true;
            break;
        case HELP:
            help_print(help);
            demo_keys_help();
            help_print(help_end);
            return STATUS_OK;
        case WORD_OPERAND:
            return complain_use("unexpected argument \"%s\"", options.value);
        default:
            return STATUS_TROUBLE;
        }
    }
    return run(seconds, is_plain);
}
