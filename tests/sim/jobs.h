/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - a scheduler, and tasks that check their own schedule
 *
 * Each run of a job asserts that it is not before its planned time, that no other run of the job is active
 * (or not too many), that it is not forbidden, and that the argument has not been dropped. jobs_end frees the
 * scheduler, which checks its books, and then checks that each accepted job was dropped exactly once. */
#ifndef HORA_TESTS_SIM_JOBS_H
#define HORA_TESTS_SIM_JOBS_H

#include <stdatomic.h>

#include "harness.h"

enum { JOBS = 4, JOB_CODE = 7, JOB_STARTS = 8 };

struct job {
    /* set before it is scheduled */
    _Atomic hora_ns due;   /* since the start: the earliest moment for the next run; moves on with the runs */
    _Atomic hora_ns every; /* > 0: of a rate */
    hora_ns gap;           /* > 0: of a fixed delay */
    hora_ns takes;         /* a run sleeps for so long; interrupts end it */
    int most;              /* runs at once; 0: 1 */
    int fails_at;          /* the run that fails, from 1; 0: none, of a series the sixth */
    int exits_at;          /* the run that ends its thread, from 1; 0: none */
    bool on_wall;          /* due is by the wall clock */
    atomic_bool punctual;  /* and, in exact schedules, no run begins later either */

    atomic_int forbidden; /* no run may begin */
    atomic_int runs;      /* that have begun */
    atomic_int ended;
    atomic_int running;
    atomic_int drops;
    atomic_int interrupted;             /* runs that were */
    _Atomic hora_ns starts[JOB_STARTS]; /* since the start, of the first runs */
};

extern struct job jobs[JOBS];
extern hora_scheduler *scheduler;
extern hora_ns jobs_start;      /* monotonic */
extern hora_ns jobs_wall_start; /* wall */

int jobs_run(void *arg, void **ret_result);
void jobs_drop(void *arg);

#define JOB(i) HORA_TASK(jobs_run, &jobs[i], .drop = jobs_drop, .name = "job")

/* Make the scheduler; all jobs are new. */
void jobs_begin(const hora_scheduler_options *options);

/* Free it. */
void jobs_end(void);

/* Since the start. */
hora_ns jobs_now(void);
void jobs_sleep_until(hora_ns when);

/* Schedule job i once, at a fixed rate, or with a fixed delay. Each returns the future, or NULL if the job
 * was rejected. */
hora_future *jobs_once(int i, hora_ns delay);
hora_future *jobs_rate(int i, hora_ns delay, hora_ns every);
hora_future *jobs_gap(int i, hora_ns delay, hora_ns gap);

/* Releases a future; NULL is allowed. */
void jobs_unref(hora_future *future);

/* Checks that job i had this number of runs and was dropped once. Call it after the scheduler or the future
 * has ended. */
void jobs_check(int i, int runs);

/* Threads of the test that do one thing. */
void jobs_shut_down(void *arg);
void jobs_stop(void *arg);   /* arg: a list, or NULL */
void jobs_cancel(void *arg); /* arg: a struct jobs_target; also forbids the job if it was removed */

struct jobs_target {
    hora_future *future;
    int job;
    bool interrupt;
    int answer;
};

#endif
