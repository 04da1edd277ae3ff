/* SPDX-License-Identifier: Apache-2.0 */
/* demo_view.h - what the screen of the demo shows at one moment: plain data without a reference to hora */
#ifndef APP_DEMO_VIEW_H
#define APP_DEMO_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

#include "canvas.h"
#include "panels.h"

enum {
    VIEW_WORKERS = 16, /* most threads */
    VIEW_SERIES = 8,
    VIEW_TASKS = 16,        /* most task names */
    VIEW_KEYS = 12,         /* most keys */
    VIEW_HISTORY = 256,     /* samples that are kept */
    VIEW_SAMPLES_PER_S = 4, /* samples of the history */
    VIEW_LOG = 64,          /* messages that are kept */
    VIEW_NAME = 24,         /* bytes of a task name, including the NUL */
    VIEW_TEXT = 120         /* bytes of a message or of a plan, including the NUL */
};

/* A worker and what it runs. */
struct view_worker {
    int number;
    bool is_running; /* if not, the fields below are zero */
    char name[VIEW_NAME];
    hora_ns elapsed;
    hora_ns usual; /* the median of all runs of this name; 0: not known */
    int64_t done;  /* as it has reported with hora_progress */
    int64_t of;
};

enum view_state { VIEW_WAITING, VIEW_BACKING_OFF, VIEW_DUE, VIEW_RUNNING, VIEW_PAUSED };

/* A series and its next run. */
struct view_series {
    char name[VIEW_NAME];
    char plan[VIEW_TEXT]; /* when it runs, in words */
    enum view_state state;
    hora_ns next;   /* time until the next run */
    hora_ns period; /* time from the end of the last run to the next one */
    int64_t runs;
    int64_t failures;
    int64_t failures_in_a_row;
    int64_t skipped;
    hora_ns late; /* the lateness that 99 % of its runs do not exceed */
};

/* All tasks of one name. */
struct view_task {
    char name[VIEW_NAME];
    hora_counts counts;
    hora_ns late; /* as above */
    hora_ns run;  /* the median */
};

/* A message. */
struct view_message {
    hora_ns at; /* since the start of the demo */
    enum style style;
    char text[VIEW_TEXT];
};

struct demo_view {
    hora_ns elapsed;
    hora_ns length; /* planned duration of the demo */
    bool is_paused;
    int threads; /* as set */
    int active;  /* threads that run a task */
    int queued;  /* tasks and timers that wait, also for their time */
    int64_t runs;

    /* Samples of equal duration, the latest last. */
    int64_t rates[VIEW_HISTORY]; /* runs per second */
    hora_ns lates[VIEW_HISTORY]; /* the largest lateness */
    int samples;
    int64_t rate;  /* runs in the last second */
    hora_ns late;  /* the largest lateness in the last second */
    hora_ns p50;   /* of the lateness of all runs */
    hora_ns p99;   /* the same */
    int64_t early; /* runs that started before their time */

    struct view_worker workers[VIEW_WORKERS];
    int worker_count;
    struct view_series series[VIEW_SERIES];
    int series_count;
    struct view_task tasks[VIEW_TASKS];
    int task_count;

    hora_class_info class_info;
    int64_t class_expired;
    char why[HORA_EXPLAIN_TEXT]; /* the explanation of a task */

    int64_t timers;         /* that the user has added */
    int64_t timers_pending; /* of these */

    struct view_message log[VIEW_LOG]; /* the latest first */
    int log_count;
    struct panel_key keys[VIEW_KEYS];
    int key_count;
};

/* Draws the view on the canvas, in the best arrangement for its size. */
void demo_layout(const struct demo_view *view, struct canvas *canvas);

#endif
