/* SPDX-License-Identifier: Apache-2.0 */
/* demo.h - hora demo: schedulers under a mixed load, observed through the public interface */
#ifndef APP_DEMO_H
#define APP_DEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hora/hora.h>

#include "canvas.h"
#include "demo_view.h"

/* The command: argv[0] is its name, and the result is an exit status. */
int demo_command(int argc, char **argv);

/* Threads at the start, the highest limit of the class import, and how often timers can be added. */
enum { DEMO_THREADS = 4, DEMO_LIMIT_MOST = 3, DEMO_TIMER_BLOCKS = 10 };

/* The series of the demo. The first ones run on the scheduler of the load, the last two on the calendar. */
enum { DEMO_HEARTBEAT, DEMO_POLL, DEMO_RESIZE, DEMO_FLAKY, DEMO_VOLLEY, DEMO_FEED, DEMO_REPORT, DEMO_BACKUP };
enum { DEMO_SERIES = 8, DEMO_CALENDAR = DEMO_REPORT };

/* A series that runs for the whole time. */
struct demo_series {
    const char *name;
    const char *plan;    /* when it runs, in words */
    hora_run_fn run;     /* its body; the argument is the demo */
    hora_schedule spec;  /* without struct_size */
    hora_future *future; /* a reference; NULL: not started */
};

/* ---- demo_log.c ---- */

/* Messages from any thread to the screen. */
struct demo_log {
    hora_queue *queue;        /* of struct view_message that the screen has not fetched; NULL: not made */
    _Atomic int64_t left_out; /* messages for which the queue had no room */
    struct view_message latest[VIEW_LOG];
    int count;
};

/* ---- demo.c ---- */

struct demo {
    hora_scheduler *scheduler; /* of the load; NULL: not made */
    hora_class *imports;       /* a class whose limit is below its load */
    struct demo_series series[DEMO_SERIES];
    hora_ns begin; /* on the monotonic clock */
    hora_ns end;   /* planned, on the monotonic clock */

    /* The calendar: a scheduler on a virtual clock that follows the real one and can be suspended. */
    hora_virtual_clock *clock;
    hora_scheduler *calendar;
    hora_zone *zone;   /* of the machine; NULL: UTC */
    hora_ns clock_set; /* the reading of the monotonic clock up to which the virtual clock has advanced */

    struct demo_log log;

    /* Set by keys. */
    bool is_paused;
    hora_future *pump; /* the series that submits a thousand tasks per second; NULL: off */
    hora_timer *timers[DEMO_TIMER_BLOCKS]; /* see demo_timers.c */
    int timer_blocks;
    int64_t timer_count;    /* timers that have been started */
    int explained;          /* index of the task that is explained; see demo_view.c */
    atomic_bool is_failing; /* every run of flaky fails */

    /* Written by tasks and listeners. */
    _Atomic int64_t early;              /* runs that started before their time */
    _Atomic hora_ns latest;             /* the largest lateness since the screen has read it last */
    _Atomic(hora_future *) last_import; /* a reference to the last import submitted; NULL: none */
    _Atomic uint64_t checksum;          /* of all jobs */
    /* Used only by one series each. Runs of a series are sequential, so no lock is needed. */
    unsigned flaky_runs;  /* runs of flaky */
    unsigned resize_runs; /* runs of resize */
    unsigned shots;       /* shots that volley has scheduled */

    /* The samples of the screen, and the numbers at the end of the last one. */
    struct demo_view view;
    hora_ns sampled_at;
    int64_t sampled_runs;
};

/* The time of the monotonic clock. */
hora_ns demo_now(void);

/* ---- demo_log.c: messages ---- */

/* Makes the log. Returns 0 or an error of hora. */
int demo_log_start(struct demo *demo, hora_error *reterr_error);

/* Adds a message. If the screen falls behind, messages are counted instead. Any thread may call it. */
__attribute__((format(printf, 3, 4))) void demo_log_add(struct demo *demo, enum style style,
                                                        const char *format, ...);

/* Fetches new messages. Called by the thread of the screen. */
void demo_log_fetch(struct demo *demo);

/* Frees all messages and the log. */
void demo_log_stop(struct demo *demo);

/* ---- demo_load.c: the load ---- */

/* A listener function of both schedulers; the argument is the demo. */
void demo_on_skipped(hora_pool *pool, const hora_event *event, void *arg);

/* Schedules a series. Returns 0, or an error with the reason. */
int demo_series_start(struct demo *demo, hora_scheduler *scheduler, int index, hora_error *reterr_error);

/* Makes the scheduler and starts all series. Returns 0, or an error with the part that failed and the
 * reason. */
int demo_load_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error);

/* Stops the load: waiting tasks are cancelled, and running tasks have a second to complete before they are
 * interrupted. Returns 0 or an error of hora. */
int demo_load_stop(struct demo *demo);

/* Pauses or resumes all series, also those of the calendar. */
void demo_load_pause(struct demo *demo, bool is_paused);

/* Starts or stops a thousand tasks per second. Returns 0 or an error of hora. */
int demo_load_pump(struct demo *demo, bool is_on);

/* Returns a new reference to the most recently submitted import, or NULL if there is none. */
hora_future *demo_load_last_import(struct demo *demo);

/* ---- demo_calendar.c: cron on a clock that can be suspended ---- */

int demo_calendar_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error);

/* Lets the virtual clock follow the real one. */
void demo_calendar_advance(struct demo *demo);

/* Suspends the clock for a day. Returns 0 or an error of hora. */
int demo_calendar_suspend(struct demo *demo);

/* Writes the time of day that the calendar shows. */
void demo_calendar_time(struct demo *demo, char *text, size_t size);

int demo_calendar_stop(struct demo *demo);
void demo_calendar_free(struct demo *demo);

/* ---- demo_timers.c: a hundred thousand timers at once ---- */

/* Starts a hundred thousand timers that expire within the next ten seconds. Returns their number, 0 if there
 * are as many as the demo allows, or an error of hora. */
int demo_timers_add(struct demo *demo);

/* Frees the memory of the timers. The scheduler must have been freed. */
void demo_timers_free(struct demo *demo);

/* ---- demo_keys.c ---- */

/* Handles a key; one that has no meaning is ignored. Returns true if the demo continues. */
bool demo_key(struct demo *demo, int key);

/* Stores the keys for the screen. */
void demo_keys_list(const struct demo *demo, struct demo_view *view);

/* Prints a line of help for each key. */
void demo_keys_help(void);

/* ---- demo_state.c ---- */

/* Brings demo->view up to date. Returns 0 or an error of hora. */
int demo_state_update(struct demo *demo);

/* Moves on to the explanation of another task. Returns its name. */
const char *demo_state_explain_next(struct demo *demo);

/* The numbers of both schedulers together. Return 0 or an error of hora. */
int demo_state_counts(struct demo *demo, hora_counts *ret_counts);

#endif
