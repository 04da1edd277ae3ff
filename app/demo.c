/* SPDX-License-Identifier: Apache-2.0 */
/* demo.c - hora demo: show a scheduler at work for some seconds, then print a summary */
#include "demo.h"

#include <stddef.h>
#include <stdlib.h>

#include "command.h"
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
    "Run a scheduler under a mixed load and show what it does: workers and their tasks, the next\n"
    "planned runs, outcomes, lateness and waiting times, and why a task is held back. At the end, print\n"
    "a summary of all tasks.\n"
    "\n"
    "  --seconds N  duration, 1 to 86400; default: 20\n"
    "  --plain      print a line per second instead of a screen; also when standard output is not a\n"
    "               terminal\n"
    "  -h, --help   print this help\n"
    "\n"
    "Keys: p pauses and resumes all series, + and - change the number of threads, q quits.\n"
    "\n"
    "Exit status: 0 if no task started early and none was lost, 1 otherwise, 2 on errors.\n";

/* Changes the number of threads by one, within the limits of the demo. */
static void resize(struct demo *demo, int by)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(demo->scheduler, &stats) < 0)
        return;
    int threads = stats.core_threads + by;
    if (threads >= 1 && threads <= DEMO_THREADS_MOST)
        (void)hora_pool_set_core_threads(demo->scheduler, threads, NULL);
}

/* Handles a key; 0: none was pressed. Returns true if the demo continues. */
static bool obey(struct demo *demo, int key)
{
    if (key == 'p') {
        demo->paused = !demo->paused;
        demo_load_pause(demo, demo->paused);
    }
    if (key == '+' || key == '-')
        resize(demo, key == '+' ? 1 : -1);
    return key != 'q' && key != -1;
}

static hora_ns now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
}

/* Draws the screen, or prints lines, at regular times until the demo ends or the user quits. Handles keys in
 * between. */
static void show(struct demo *demo, bool plain)
{
    bool goes_on = true;
    hora_ns frame = HORA_MS(plain ? PLAIN_MS : FRAME_MS);
    for (hora_ns next = demo->begin + frame; goes_on && now() < demo->end; next += frame) {
        hora_ns left;
        while (goes_on && (left = (next < demo->end ? next : demo->end) - now()) > 0)
            goes_on = obey(demo, terminal_key((int)(left / HORA_MS(1)) + 1));
        if (plain)
            demo_screen_line(demo);
        else
            demo_screen_draw(demo);
    }
}

/* Prints the summary. Returns STATUS_OK if no task started early and none was lost, else STATUS_NO, or
 * STATUS_TROUBLE after printing an error. */
static int sum_up(struct demo *demo)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_counts counts = HORA_INIT(hora_counts);
    hora_distribution late = HORA_INIT(hora_distribution); /* of tasks that wait only for their time */
    hora_distribution held = HORA_INIT(hora_distribution); /* of tasks that wait for their class */
    int error = hora_pool_get_stats(demo->scheduler, &stats);
    if (error == 0)
        error = hora_pool_get_counts(demo->scheduler, NULL, &counts);
    if (error == 0)
        error = hora_pool_get_distribution(demo->scheduler, "heartbeat", HORA_METRIC_LATENESS, &late);
    if (error == 0)
        error = hora_pool_get_distribution(demo->scheduler, "import", HORA_METRIC_WAIT, &held);
    if (error < 0 && error != HORA_ENOENT) /* HORA_ENOENT: the demo ended before these started */
        return complain("%s", hora_strerror(error));
    int64_t early = demo_load_early(demo);
    int64_t ended = stats.done + stats.failed + stats.cancelled + stats.rejected + stats.abandoned +
                    stats.handed_back + stats.expired;
    output_format("%lld runs: %lld succeeded, %lld failed; %lld tasks expired, %lld planned times skipped\n",
                  (long long)counts.started, (long long)counts.done, (long long)counts.failed,
                  (long long)counts.expired, (long long)counts.skipped);
    output_format("lateness of heartbeat: p50 %.3f ms, p99 %.3f ms, max %.3f ms; %lld of all started early\n",
                  (double)late.p50 / 1e6, (double)late.p99 / 1e6, (double)late.max / 1e6, (long long)early);
    output_format("imports waited for their class: p50 %.1f s, max %.1f s\n", (double)held.p50 / 1e9,
                  (double)held.max / 1e9);
    output_format("%lld tasks accepted, %lld ended: %lld lost\n", (long long)stats.accepted, (long long)ended,
                  (long long)(stats.accepted - ended));
    return early == 0 && ended == stats.accepted ? STATUS_OK : STATUS_NO;
}

/* Runs the whole demo. Returns an exit status. */
static int run(int seconds, bool plain)
{
    struct demo demo = {.begin = now()};
    demo.end = demo.begin + HORA_SECONDS(seconds);
    const char *what;
    hora_error why;
    int error = demo_load_start(&demo, &what, &why);
    int status = error < 0 ? complain("%s: %s", what, why.message) : STATUS_OK;
    if (error == 0) {
        terminal_open();
        show(&demo, plain);
        terminal_close();
    }
    if (demo.scheduler != NULL) {
        error = demo_load_stop(&demo);
        if (error < 0 && status == STATUS_OK)
            status = complain("%s", hora_strerror(error));
        if (status == STATUS_OK)
            status = sum_up(&demo);
        (void)hora_pool_free(demo.scheduler); /* sum_up has reported the abandoned tasks */
    }
    free(demo.load);
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
    bool plain = !terminal_is_there();
    for (int word; (word = options_next(&options)) != WORD_END;) {
        switch (word) {
        case SECONDS:
            if (!option_number("--seconds", options.value, 1, SECONDS_MOST, &seconds))
                return STATUS_TROUBLE;
            break;
        case PLAIN:
            plain = true;
            break;
        case HELP:
            output_text(help);
            return STATUS_OK;
        case WORD_OPERAND:
            return complain_use("unexpected argument \"%s\"", options.value);
        default:
            return STATUS_TROUBLE;
        }
    }
    return run(seconds, plain);
}
