/* SPDX-License-Identifier: Apache-2.0 */
/* demo_keys.c - the keys of the demo: one table for their effects, the screen and the help */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "figures.h"
#include "help.h"

struct key {
    const char *keys;  /* each character is one of the keys */
    const char *label; /* on the screen */
    const char *title; /* on a wide screen */
    const char *help;
    int (*act)(struct demo *demo, int key); /* returns 0 or an error of hora; NULL: ends the demo */
    bool (*is_on)(const struct demo *demo); /* NULL: the effect does not last */
};

static int press_pause(struct demo *demo, int key)
{
    (void)key;
    demo->is_paused = !demo->is_paused;
    demo_load_pause(demo, demo->is_paused);
    demo_log_add(demo, STYLE_PLAIN, demo->is_paused ? "all series are paused" : "all series are resumed");
    return 0;
}

static bool is_paused(const struct demo *demo)
{
    return demo->is_paused;
}

/* Changes the number of threads by one, within the limits of the demo. */
static int press_threads(struct demo *demo, int key)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    int error = hora_pool_get_stats(demo->scheduler, &stats);
    int threads = stats.core_threads + (key == '+' ? 1 : -1);
    if (error < 0 || threads < 1 || threads > VIEW_WORKERS)
        return error;
    demo_log_add(demo, STYLE_PLAIN, "%d thread%s", threads, threads == 1 ? "" : "s");
    return hora_pool_set_core_threads(demo->scheduler, threads, NULL);
}

static int press_limit(struct demo *demo, int key)
{
    (void)key;
    hora_class_info info = HORA_INIT(hora_class_info);
    int error = hora_class_get_info(demo->imports, &info);
    if (error < 0)
        return error;
    int limit = info.limit % DEMO_LIMIT_MOST + 1;
    demo_log_add(demo, STYLE_PLAIN, "class import: limit %d", limit);
    return hora_class_set(demo->imports, HORA_CLASS_OPTIONS(.limit = limit), NULL);
}

static int press_fail(struct demo *demo, int key)
{
    (void)key;
    bool is_failing = !atomic_load(&demo->is_failing);
    atomic_store(&demo->is_failing, is_failing);
    demo_log_add(demo, STYLE_PLAIN, is_failing ? "flaky fails each time" : "flaky fails now and then");
    return 0;
}

static bool is_failing(const struct demo *demo)
{
    return atomic_load(&demo->is_failing);
}

static int press_load(struct demo *demo, int key)
{
    (void)key;
    bool is_on = demo->pump == NULL;
    int error = demo_load_pump(demo, is_on);
    if (error == 0)
        demo_log_add(demo, STYLE_PLAIN, is_on ? "1,000 more tasks per second" : "no more additional tasks");
    return error;
}

static bool is_pumping(const struct demo *demo)
{
    return demo->pump != NULL;
}

static int press_timers(struct demo *demo, int key)
{
    (void)key;
    int count = demo_timers_add(demo);
    if (count == 0)
        demo_log_add(demo, STYLE_WARN, "the demo adds at most %s timers", COUNT(demo->timer_count));
    return count < 0 ? count : 0;
}

static int press_suspend(struct demo *demo, int key)
{
    (void)key;
    return demo_calendar_suspend(demo);
}

static int press_explain(struct demo *demo, int key)
{
    (void)key;
    demo_log_add(demo, STYLE_PLAIN, "explain %s", demo_state_explain_next(demo));
    return 0;
}

static const struct key keys[] = {
    {"p", "pause", "pause all series", "pause and resume all series", press_pause, is_paused},
    {"+-", "threads", "threads", "add or remove a thread", press_threads, NULL},
    {"c", "limit", "class limit", "change the limit of the class import: 1, 2, 3, 1 ...", press_limit, NULL},
    {"f", "fail", "flaky fails", "let each run of flaky fail, so that it backs off longer and longer",
     press_fail, is_failing},
    {"l", "load", "1,000 tasks per second", "a thousand more tasks per second, on and off", press_load,
     is_pumping},
    {"t", "timers", "add 100,000 timers", "add 100,000 timers that expire within 10 seconds", press_timers,
     NULL},
    {"s", "suspend", "suspend for a day", "suspend the clock of report and backup for a day", press_suspend,
     NULL},
    {"e", "explain", "explain another", "explain another task: import, flaky, resize, backup", press_explain,
     NULL},
    {"q", "quit", "quit", "quit; so does Ctrl-C", NULL, NULL},
};

enum { KEYS = sizeof keys / sizeof *keys };
static_assert((int)KEYS <= (int)VIEW_KEYS, "the view has room for all keys");

bool demo_key(struct demo *demo, int key)
{
    for (int i = 0; i < KEYS && key > 0; i++) {
        if (strchr(keys[i].keys, key) == NULL)
            continue;
        int error = keys[i].act != NULL ? keys[i].act(demo, key) : 0;
        if (error < 0)
            demo_log_add(demo, STYLE_BAD, "%s: %s", keys[i].label, hora_strerror(error));
        return keys[i].act != NULL;
    }
    return true;
}

void demo_keys_list(const struct demo *demo, struct demo_view *view)
{
    view->key_count = KEYS;
    for (int i = 0; i < KEYS; i++)
        view->keys[i] = (struct panel_key){keys[i].keys, keys[i].label, keys[i].title,
                                           keys[i].is_on != NULL && keys[i].is_on(demo)};
}

void demo_keys_help(void)
{
    for (int i = 0; i < KEYS; i++) {
        bool is_pair = keys[i].keys[1] != '\0';
        char line[128];
        (void)snprintf(line, sizeof line, "  %c%s%-*s  %s\n", keys[i].keys[0], is_pair ? ", " : "",
                       is_pair ? 8 : 10, keys[i].keys + 1, keys[i].help);
        help_print(line);
    }
}
