/* SPDX-License-Identifier: Apache-2.0 */
/* demo_screen.c - show the demo on a terminal
 *
 * It shows workers, next planned runs, outcomes, distributions, and why a task is held back. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "output.h"
#include "terminal.h"

enum { TEXT = 512, BAR = 30 }; /* the longest line in bytes, and the longest bar in characters */

static int lines_left; /* on the screen, below the lines drawn so far */
static int columns;    /* width of the screen */

/* Draws a line of the screen and erases what was behind it. Text that does not fit is not drawn. */
static void line(const char *text)
{
    if (lines_left-- <= 0)
        return;
    int length = (int)strlen(text);
    output_bytes(text, (size_t)(length < columns ? length : columns));
    output_text("\033[K\r\n");
}

/* Draws a formatted line. */
#define LINE(...)                                     \
    do {                                              \
        char line_text[TEXT];                         \
        (void)snprintf(line_text, TEXT, __VA_ARGS__); \
        line(line_text);                              \
    } while (0)

/* Writes a duration with at most three digits: "1.3 ms", "42 us", "12 s". Returns `text`. */
static const char *words_of(hora_ns time, char *text, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)time;
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && (value >= 1000 || value <= -1000)) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, size, "%.*f %s", unit > 0 && value < 10 && value > -10 ? 1 : 0, value, units[unit]);
    return text;
}

/* A duration as text that is valid until the end of the block. */
#define WORDS(time) words_of((time), (char[32]){0}, 32)

/* Writes a bar whose length is the logarithm of a duration from 1 us to 10 s. Returns `text`. */
static const char *bar_of(hora_ns time, char *text)
{
    int length = 0;
    hora_ns bound = 1000;
    while (bound < time && length < BAR) {
        bound += bound * 7 / 10;
        length++;
    }
    memset(text, '#', (size_t)length);
    text[length] = '\0';
    return text;
}

/* A bar that is valid until the end of the block. */
#define BAR_OF(time) bar_of((time), (char[BAR + 1]){0})

static hora_ns now(void)
{
    return hora_clock_now(hora_clock_system(HORA_CLOCK_MONOTONIC));
}

/* Draws what each worker runs. */
static void draw_workers(struct demo *demo)
{
    hora_worker_info workers[DEMO_THREADS_MOST] = {HORA_INIT(hora_worker_info)};
    int count = hora_pool_workers(demo->scheduler, workers, DEMO_THREADS_MOST);
    line("");
    LINE("WORKERS  %d", count);
    for (int i = 0; i < count && i < DEMO_THREADS_MOST; i++) {
        const hora_worker_info *worker = &workers[i];
        char progress[48] = "";
        if (worker->of > 0)
            (void)snprintf(progress, sizeof progress, "%lld of %lld", (long long)worker->done,
                           (long long)worker->of);
        if (worker->running)
            LINE("  %3d  %-10s %-16s %8s  %s", worker->number, worker->name, worker->place,
                 WORDS(worker->running_for), progress);
        else
            LINE("  %3d  -", worker->number);
    }
}

/* Draws a line per series: its next run, its counts and its lateness. */
static void draw_series(struct demo *demo)
{
    line("");
    line("TASK        PLAN                      NEXT       RUNS  FAILED  SKIPPED  LATE p50    LATE p99");
    for (int i = 0; i < DEMO_SERIES; i++) {
        const struct demo_series *series = &demo->series[i];
        hora_schedule_info info = HORA_INIT(hora_schedule_info);
        hora_ns delay = 0;
        hora_distribution late = HORA_INIT(hora_distribution);
        if (hora_future_get_schedule_info(series->future, &info) < 0 ||
            hora_future_delay(series->future, &delay) < 0)
            continue;
        (void)!hora_pool_get_distribution(demo->scheduler, series->name, HORA_METRIC_LATENESS, &late);
        const char *next = info.paused        ? "paused"
                           : info.running > 0 ? "running"
                           : delay <= 0       ? "due"
                                              : WORDS(delay);
        LINE("%-10s  %-24s  %-8s  %5lld  %6lld  %7lld  %-10s  %-10s", series->name, series->plan, next,
             (long long)info.runs, (long long)info.failures, (long long)info.skipped, WORDS(late.p50),
             WORDS(late.p99));
    }
}

/* Draws a line with the counts of all tasks of one name. */
static void draw_named(struct demo *demo, const char *name, const char *plan)
{
    hora_counts counts = HORA_INIT(hora_counts);
    if (hora_pool_get_counts(demo->scheduler, name, &counts) < 0)
        return;
    LINE("%-10s  %-24s  %-8s  %5lld  %6lld  expired %lld", name, plan, "", (long long)counts.started,
         (long long)counts.failed, (long long)counts.expired);
}

/* Draws quantiles of one measure over all tasks. */
static void draw_distribution(struct demo *demo, const char *title, hora_metric measure)
{
    hora_distribution all = HORA_INIT(hora_distribution);
    if (hora_pool_get_distribution(demo->scheduler, NULL, measure, &all) < 0)
        return;
    line("");
    LINE("%s of %lld", title, (long long)all.count);
    LINE("  p50    %8s  %s", WORDS(all.p50), BAR_OF(all.p50));
    LINE("  p90    %8s  %s", WORDS(all.p90), BAR_OF(all.p90));
    LINE("  p99    %8s  %s", WORDS(all.p99), BAR_OF(all.p99));
    LINE("  max    %8s  %s", WORDS(all.max), BAR_OF(all.max));
}

/* Draws a long text behind a title, on as many lines as necessary, broken at spaces. */
static void draw_text(const char *title, const char *text)
{
    int indent = (int)strlen(title);
    int room = columns - indent > 20 ? columns - indent : 20;
    do {
        int length = (int)strlen(text);
        if (length > room)
            for (length = room; length > 1 && text[length] != ' ';)
                length--;
        LINE("%*s%.*s", indent, title, length, text);
        text += length;
        text += *text == ' ' ? 1 : 0;
        title = "";
    } while (*text != '\0');
}

/* Draws the class of imports, and why the last import has not started yet. */
static void draw_held(struct demo *demo)
{
    hora_class_info imports = HORA_INIT(hora_class_info);
    hora_future *held = demo_load_last_import(demo);
    char why[HORA_EXPLAIN_TEXT] = "";
    if (held != NULL)
        (void)hora_future_explain(held, why, sizeof why);
    (void)hora_future_unref(held);
    line("");
    if (hora_class_get_info(demo->imports, &imports) == 0)
        LINE("CLASS %s: limit %d, %d running, %d waiting", imports.name, imports.limit, imports.running,
             imports.waiting);
    draw_text("EXPLAIN  ", why);
}

void demo_screen_draw(struct demo *demo)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_ns time = now();
    terminal_size(&lines_left, &columns);
    lines_left--; /* the last one would scroll */
    output_text("\033[H");
    if (hora_pool_get_stats(demo->scheduler, &stats) < 0)
        return;
    LINE("hora demo   %.1f of %.0f s   %d threads   %d waiting   p pause   + - threads   q quit%s",
         (double)(time - demo->begin) / 1e9, (double)(demo->end - demo->begin) / 1e9, stats.core_threads,
         stats.queued, demo->paused ? "   PAUSED" : "");
    draw_workers(demo);
    draw_series(demo);
    draw_named(demo, "shot", "one-shots, up to 2 s");
    draw_named(demo, "import", "class, start within 2 s");
    draw_held(demo);
    draw_distribution(demo, "LATENESS", HORA_METRIC_LATENESS);
    draw_distribution(demo, "QUEUE WAIT", HORA_METRIC_WAIT);
    output_text("\033[J");
    (void)output_flush();
}

void demo_screen_line(struct demo *demo)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    hora_counts counts = HORA_INIT(hora_counts);
    hora_distribution late = HORA_INIT(hora_distribution);
    if (hora_pool_get_stats(demo->scheduler, &stats) < 0 ||
        hora_pool_get_counts(demo->scheduler, NULL, &counts) < 0 ||
        hora_pool_get_distribution(demo->scheduler, NULL, HORA_METRIC_LATENESS, &late) < 0)
        return;
    output_format(
        "%5.1f s  %lld runs, %lld failed, %lld expired, %d active, %d waiting, late p50 %s p99 %s\n",
        (double)(now() - demo->begin) / 1e9, (long long)counts.started, (long long)counts.failed,
        (long long)counts.expired, stats.active, stats.queued, WORDS(late.p50), WORDS(late.p99));
    (void)output_flush();
}
