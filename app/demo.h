/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h - hora demo: a scheduler under a mixed load, as it is seen by the means of the library alone */
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

int demo_command(int argc, char **argv);

/* ---- demo_load.c: what is run ---- */

enum { DEMO_SERIES = 7, DEMO_THREADS = 4, DEMO_THREADS_MOST = 16 };

/* A series that goes on all the time. */
struct demo_series {
    const char *name;
    const char *plan; /* in words */
    hora_future *future;
};

struct demo;

/* Start everything: 0, or an error, what it was that failed, and why. */
int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error);

/* No more of it; what runs comes to its end, what waits is cancelled. */
int demo_load_stop(struct demo *demo);

/* Let nothing begin, or go on. */
void demo_load_pause(struct demo *demo, bool paused);

/* The import that was submitted last, with a reference; NULL: there is none. */
hora_future *demo_load_last_import(struct demo *demo);

/* How many runs began before their time. */
int64_t demo_load_early(const struct demo *demo);

struct demo_load;

/* ---- demo.c ---- */

struct demo {
    hora_scheduler *scheduler;
    hora_class *imports; /* at most one of these runs at a time */
    struct demo_load *load;
    struct demo_series series[DEMO_SERIES];
    hora_ns begin; /* by the monotonic clock */
    hora_ns end;
    bool paused;
};

/* ---- demo_screen.c: how it is shown ---- */

void demo_screen_draw(struct demo *demo);

/* One line of it, for who reads no screen. */
void demo_screen_line(struct demo *demo);

#endif
