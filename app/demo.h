/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h - hora demo: a scheduler under a mixed load, observed through the public interface */
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

/* The command: argv[0] is its name, and the result is an exit status. */
int demo_command(int argc, char **argv);

/* ---- demo_load.c: the load ---- */

/* The number of series, and the number of threads at the start and at most. */
enum { DEMO_SERIES = 7, DEMO_THREADS = 4, DEMO_THREADS_MOST = 16 };

/* A series that runs for the whole time. */
struct demo_series {
    const char *name;
    const char *plan;    /* when it runs, in words */
    hora_future *future; /* a reference; NULL: not started */
};

struct demo;

/* Makes the scheduler and starts all series. Returns 0, or an error with the part that failed and the
 * reason. */
int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error);

/* Stops the load: waiting tasks are cancelled, and running tasks have a second to complete before they are
 * interrupted. Returns 0 or an error of hora. */
int demo_load_stop(struct demo *demo);

/* Pauses or resumes all series. */
void demo_load_pause(struct demo *demo, bool paused);

/* Returns a new reference to the most recently submitted import, or NULL if there is none. */
hora_future *demo_load_last_import(struct demo *demo);

/* Returns the number of runs that started before their time. */
int64_t demo_load_early(const struct demo *demo);

struct demo_load;

/* ---- demo.c ---- */

struct demo {
    hora_scheduler *scheduler; /* NULL: not made */
    hora_class *imports;       /* at most one task of this class runs at a time */
    struct demo_load *load;    /* private to demo_load.c */
    struct demo_series series[DEMO_SERIES];
    hora_ns begin; /* on the monotonic clock */
    hora_ns end;   /* planned, on the monotonic clock */
    bool paused;   /* the user has paused all series */
};

/* ---- demo_screen.c: the display ---- */

/* Draws the whole screen. */
void demo_screen_draw(struct demo *demo);

/* Prints one line, for output that is not a screen. */
void demo_screen_line(struct demo *demo);

#endif
