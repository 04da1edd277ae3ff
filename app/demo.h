/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h - hora demo: a scheduler under a mixed load, observed through the public interface */
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

int demo_command(int argc, char **argv);

/* ---- demo_load.c: the load ---- */

enum { DEMO_SERIES = 7, DEMO_THREADS = 4, DEMO_THREADS_MOST = 16 };

/* A series that runs for the whole time. */
struct demo_series {
    const char *name;
    const char *plan; /* in words */
    hora_future *future;
};

struct demo;

/* Starts everything. Returns 0, or an error with the part that failed and the reason. */
int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error);

/* Stops the load: running tasks complete, waiting tasks are cancelled. */
int demo_load_stop(struct demo *demo);

/* Pauses or resumes all series. */
void demo_load_pause(struct demo *demo, bool paused);

/* Returns the most recently submitted import with a reference, or NULL if there is none. */
hora_future *demo_load_last_import(struct demo *demo);

/* Number of runs that started before their time. */
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

/* ---- demo_screen.c: the display ---- */

void demo_screen_draw(struct demo *demo);

/* Prints one line, for output that is not a screen. */
void demo_screen_line(struct demo *demo);

#endif
