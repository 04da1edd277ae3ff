/* SPDX-License-Identifier: Apache-2.0 */
/* test_layout.c - the screen of hora demo, drawn without a terminal, in all sizes */
#include <stdio.h>
#include <string.h>

#include "canvas.h"
#include "demo_view.h"
#include "figures.h"
#include "harness.h"
#include "width.h"

enum { LINE = 4 * CANVAS_COLUMNS_MOST + 1 };

static const char *const names[VIEW_SERIES] = {"heartbeat", "resize", "flaky",  "report",
                                               "backup",    "poll",   "volley", "feed"};

static void set_text(char *text, size_t size, const char *from)
{
    (void)snprintf(text, size, "%s", from);
}

/* Fills the parts of a view that are lists. */
static void fill_lists(struct demo_view *view)
{
    for (int i = 0; i < VIEW_SERIES; i++) {
        struct view_series *series = &view->series[i];
        set_text(series->name, sizeof series->name, names[i]);
        set_text(series->plan, sizeof series->plan, "at 03:00, it is 23:59:59");
        series->state = (enum view_state)(i % 5);
        series->next = i == 4 ? HORA_HOURS(23) + HORA_SECONDS(3540) : HORA_MS(999);
        series->period = HORA_HOURS(24);
        series->runs = 99999;
        series->failures_in_a_row = i == 2 ? 12 : 0;
        series->skipped = 17279;
        series->late = HORA_MS(999);
    }
    view->series_count = VIEW_SERIES;
    for (int i = 0; i < view->worker_count; i++) {
        struct view_worker *worker = &view->workers[i];
        *worker = (struct view_worker){i + 1, i != 2, "heartbeat", HORA_MS(999), HORA_MS(300), 14, 15};
    }
    for (int i = 0; i < VIEW_TASKS; i++) {
        struct view_task *task = &view->tasks[i];
        set_text(task->name, sizeof task->name, names[i % VIEW_SERIES]);
        task->counts = (hora_counts){.started = 1234567, .done = 1234567, .failed = 1234, .expired = 1234};
        task->run = task->late = HORA_MS(999);
    }
    view->task_count = VIEW_TASKS;
}

/* A view of a busy demo: every value is about as long as it becomes. */
static void fill(struct demo_view *view)
{
    static const struct panel_key keys[] = {
        {"p", "pause", "pause all series", true},
        {"+-", "threads", "threads", false},
        {"c", "limit", "class limit", false},
        {"f", "fail", "flaky fails", true},
        {"l", "load", "1,000 tasks per second", true},
        {"t", "timers", "add 100,000 timers", false},
        {"s", "suspend", "suspend for a day", false},
        {"e", "explain", "explain another", false},
        {"q", "quit", "quit", false},
    };
    *view = (struct demo_view){.elapsed = HORA_MS(19900),
                               .length = HORA_SECONDS(20),
                               .threads = 4,
                               .worker_count = 4,
                               .active = 4,
                               .queued = 1000234,
                               .runs = 1234567,
                               .samples = VIEW_HISTORY,
                               .rate = 100100,
                               .late = HORA_MS(999),
                               .p50 = HORA_MS(999),
                               .p99 = HORA_MS(999),
                               .class_info = {.name = "import", .limit = 1, .running = 1, .waiting = 7},
                               .class_expired = 999,
                               .timers = 1000000,
                               .timers_pending = 1000000,
                               .log_count = VIEW_LOG,
                               .key_count = (int)(sizeof keys / sizeof *keys)};
    memcpy(view->keys, keys, sizeof keys);
    for (int i = 0; i < VIEW_HISTORY; i++) {
        view->rates[i] = i * 7 % 100;
        view->lates[i] = HORA_MS(i % 30);
    }
    for (int i = 0; i < VIEW_LOG; i++) {
        view->log[i] = (struct view_message){HORA_MS(19900), STYLE_WARN, ""};
        set_text(view->log[i].text, VIEW_TEXT, "report: 17279 planned times skipped");
    }
    set_text(view->why, sizeof view->why,
             "import (app/demo_load.c:105) has been due for 999 ms, and waits: its class import is at its "
             "limit of 1");
    fill_lists(view);
}

/* A view in which every value is as large and every text as long as its type allows. */
static void fill_extreme(struct demo_view *view)
{
    fill(view);
    view->threads = view->worker_count = VIEW_WORKERS;
    fill_lists(view);
    view->elapsed = view->length = view->rate = view->late = view->p50 = view->p99 = INT64_MAX;
    view->runs = view->timers = view->timers_pending = view->class_expired = INT64_MIN;
    view->queued = view->class_info.limit = view->class_info.running = view->class_info.waiting = INT32_MAX;
    memset(view->why, 'w', sizeof view->why - 1);
    for (int i = 0; i < VIEW_SERIES; i++) {
        struct view_series *series = &view->series[i];
        memset(series->name, '\033', VIEW_NAME - 1);
        memset(series->plan, 'p', VIEW_TEXT - 1);
        series->runs = series->failures = series->skipped = INT64_MIN;
        series->next = series->late = INT64_MAX;
        series->period = 1;
    }
    for (int i = 0; i < VIEW_WORKERS; i++) {
        struct view_worker *worker = &view->workers[i];
        *worker = (struct view_worker){.number = INT32_MAX, .is_running = true, .usual = 1, .of = INT64_MAX};
        worker->elapsed = worker->done = INT64_MAX;
        memset(worker->name, '\377', VIEW_NAME - 1);
    }
    for (int i = 0; i < VIEW_LOG; i++)
        memset(view->log[i].text, '\n', VIEW_TEXT - 1);
}

/* Returns the number of characters of a text, or -1 if it has one that would move the cursor. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            return -1;
        columns +=
            ((unsigned char)*text & 0xC0) != 0x80; /* not the second byte of a character, or a later one */
    }
    return columns;
}

/* Draws a view and checks that each line fits. */
static void draw(const struct demo_view *view, struct canvas *canvas, int rows, int columns)
{
    char text[LINE];
    canvas_resize(canvas, rows, columns);
    demo_layout(view, canvas);
    CHECK_INT(canvas->rows, rows);
    for (int row = 0; row < rows; row++) {
        int used = canvas_row_text(canvas, row, text, sizeof text);
        if (used > columns || columns_of(text) != used)
            test_fail(__FILE__, __LINE__, "%dx%d, row %d: \"%s\"", columns, rows, row, text);
    }
}

TEST_REAL(layout_fits_every_size, "")
{
    static struct demo_view views[2];
    fill(&views[0]);
    fill_extreme(&views[1]);
    for (int i = 0; i < 4; i++) {
        struct canvas canvas = {.is_utf8 = i % 2 == 0};
        for (int rows = 1; rows <= 60; rows++)
            for (int columns = 1; columns <= 210; columns += columns < 90 ? 1 : 7)
                draw(&views[i / 2], &canvas, rows, columns);
        draw(&views[i / 2], &canvas, CANVAS_ROWS_MOST, CANVAS_COLUMNS_MOST);
        canvas_free(&canvas);
    }
}

/* Checks that a text is in some row of a canvas. */
static void check_shows(const struct canvas *canvas, const char *wanted)
{
    char text[LINE];
    for (int row = 0; row < canvas->rows; row++) {
        (void)canvas_row_text(canvas, row, text, sizeof text);
        if (strstr(text, wanted) != NULL)
            return;
    }
    test_fail(__FILE__, __LINE__, "%dx%d does not show \"%s\"", canvas->columns, canvas->rows, wanted);
}

TEST_REAL(layout_cuts_nothing_in_usual_sizes, "")
{
    static const int sizes[][2] = {{24, 80}, {20, 60}, {50, 200}, {24, 120}, {60, 100}};
    static const char *const shown[] = {"hora demo",  "RUNS/S",  "LATE",   "WORKERS", "SERIES",
                                        "1 of 1 run", "EXPLAIN", "EVENTS", "q quit",  "4 threads"};
    static struct demo_view view;
    fill(&view);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct canvas canvas = {.is_utf8 = true};
        draw(&view, &canvas, sizes[i][0], sizes[i][1]);
        CHECK_INT(canvas.cut, 0);
        for (size_t j = 0; j < sizeof shown / sizeof *shown; j++)
            check_shows(&canvas, shown[j]);
        canvas_free(&canvas);
    }
}

TEST_REAL(layout_is_ascii_on_request, "")
{
    char text[LINE];
    static struct demo_view view;
    struct canvas canvas = {.is_utf8 = false};
    fill(&view);
    draw(&view, &canvas, 50, 200);
    for (int row = 0; row < canvas.rows; row++) {
        (void)canvas_row_text(&canvas, row, text, sizeof text);
        for (const char *c = text; *c != '\0'; c++)
            CHECK((unsigned char)*c < 127);
    }
    canvas_free(&canvas);
}

TEST_REAL(layout_tells_what_is_missing, "")
{
    static struct demo_view view;
    struct canvas canvas = {.is_utf8 = true};
    fill(&view);
    view.threads = view.worker_count = VIEW_WORKERS;
    fill_lists(&view);
    draw(&view, &canvas, 24, 80);
    check_shows(&canvas, " more");
    view.threads = 1;
    draw(&view, &canvas, 24, 80);
    check_shows(&canvas, "1 thread, ");
    canvas_free(&canvas);
}

TEST_REAL(figures_are_short, "")
{
    static const struct {
        hora_ns time;
        const char *text;
    } cases[] = {{0, "0 ns"},
                 {999, "999 ns"},
                 {1000, "1.0 us"},
                 {999600, "1.0 ms"},
                 {HORA_MS(42), "42 ms"},
                 {HORA_SECONDS(59), "59 s"},
                 {HORA_SECONDS(61), "1 min 1 s"},
                 {HORA_HOURS(17) + HORA_SECONDS(301), "17 h 5 min"},
                 {HORA_HOURS(25), "1 d 1 h"},
                 {-1500, "-1.5 us"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(DURATION(cases[i].time), cases[i].text) != 0)
            test_fail(__FILE__, __LINE__, "%s, expected %s", DURATION(cases[i].time), cases[i].text);
    CHECK(strcmp(COUNT(0), "0") == 0 && strcmp(COUNT(999), "999") == 0);
    CHECK(strcmp(COUNT(100000), "100,000") == 0 && strcmp(COUNT(-123456), "-123,456") == 0);
}

TEST_REAL(texts_have_widths, "")
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"\xe4\xb8\x96\xe7\x95\x8c", 4}, /* two wide characters */
                 {"e\xcc\x81", 1},                /* a letter and a combining accent */
                 {"\xc3\xa9", 1},                 /* the same as one character */
                 {"\x1b[0m", 4},                  /* "?[0m" */
                 {"\xff\xc3", 2},                 /* not UTF-8: "??" */
                 {"\xed\xa0\x80", 3},             /* half of a surrogate pair: not UTF-8 */
                 {"\xc2\x85", 1},                 /* a control character: "?" */
                 {"\xf0\x9f\x98\x80", 2}};        /* an emoji */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (width_of(cases[i].text) != cases[i].width)
            test_fail(__FILE__, __LINE__, "case %zu: %d, expected %d", i, width_of(cases[i].text),
                      cases[i].width);
    CHECK_INT(width_fitting("\xe4\xb8\x96\xe7\x95\x8c", 3), 3);
    CHECK_INT(width_fitting("abc", 3), 3);
    CHECK_INT(width_fitting("abc", 0), 0);
}

/* Checks what a canvas of one row shows. */
static void check_row(const struct canvas *canvas, const char *expected)
{
    char text[LINE];
    (void)canvas_row_text(canvas, 0, text, sizeof text);
    if (strcmp(text, expected) != 0)
        test_fail(__FILE__, __LINE__, "\"%s\", expected \"%s\"", text, expected);
}

TEST_REAL(canvas_draws_wide_characters, "")
{
    static const char world[] = "\xe4\xb8\x96\xe7\x95\x8c";
    struct canvas canvas = {.is_utf8 = true};
    canvas_resize(&canvas, 1, 7);
    CHECK_INT(area_put(area_whole(&canvas), 0, 0, STYLE_PLAIN, world), 4);
    (void)area_put(area_whole(&canvas), 0, 4, STYLE_PLAIN, "abc");
    check_row(&canvas, "\xe4\xb8\x96\xe7\x95\x8c"
                       "abc");
    (void)area_put(area_whole(&canvas), 0, 1, STYLE_PLAIN, "x"); /* over the second half of the first */
    check_row(&canvas, " x\xe7\x95\x8c"
                       "abc");
    canvas_resize(&canvas, 1, 7);
    (void)area_put_in(area_whole(&canvas), 0, 0, 4, false, STYLE_PLAIN, "\xe4\xb8\x96\xe7\x95\x8c!");
    check_row(&canvas, "\xe4\xb8\x96\xe2\x80\xa6"); /* the second does not fit together with an ellipsis */
    canvas_resize(&canvas, 1, 3);
    (void)area_put(area_whole(&canvas), 0, 0, STYLE_PLAIN, world);
    check_row(&canvas, "\xe4\xb8\x96?");
    CHECK_INT(canvas.cut, 0);
    canvas.is_utf8 = false;
    canvas_resize(&canvas, 1, 7);
    CHECK_INT(area_put(area_whole(&canvas), 0, 0, STYLE_PLAIN, world), 2);
    check_row(&canvas, "??");
    canvas_free(&canvas);
}
