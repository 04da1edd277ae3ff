/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_support.h - shared by the tests of schedulers
 *
 * A scheduler is a pool, so the rig of pool_support.h holds it, and jobs are its tasks. Time is virtual.
 * pass() lets time pass, and when it returns everything that was due has been done. A beat is a task that
 * records when it begins, and takes its time. */
#ifndef HORA_TESTS_API_SCHEDULER_SUPPORT_H
#define HORA_TESTS_API_SCHEDULER_SUPPORT_H

#include <hora/scheduler.h>

#include "pool_support.h"

/* A promise of schedulers, tested for a plain one and for one with all hooks and a decorate function that
 * wraps each task, as the JDK's suite does with a derived class. `test` is the name in that suite; `more` are
 * further rows. */
#define ON_BOTH_SCHEDULERS(promise, test, more)                                \
    static void promise(bool decorated);                                       \
    TEST(scheduler_##promise, "ScheduledExecutorTest." test " " more)          \
    {                                                                          \
        promise(false);                                                        \
    }                                                                          \
    TEST(decorated_scheduler_##promise, "ScheduledExecutorSubclassTest." test) \
    {                                                                          \
        promise(true);                                                         \
    }                                                                          \
    static void promise(bool decorated)

/* Opens a rig with a scheduler of these options. Adds the clock and the context and, if decorated, hooks and
 * decorate. */
void scheduler_open(struct rig *r, bool decorated, const hora_scheduler_options *options);
/* The same after rig_prepare, without failing the test if it is refused. */
int try_scheduler(struct rig *r, const hora_scheduler_options *options, hora_error *reason);

/* Lets this much time pass, and waits before and after that until everything is at rest. */
void pass(struct rig *r, hora_ns time);
/* The same in equal steps. */
void pass_in_steps(struct rig *r, hora_ns step, int steps);

/* The ways to schedule a task. */
enum form { ONCE, RATE, GAP, FORMS };

int schedule_form(struct rig *r, enum form form, const hora_task *task, hora_ns delay, hora_ns period,
                  hora_future **ret_future);
bool is_series(enum form form);

/* Schedule a job, and get its future. NULL only after a failed check. */
hora_future *schedule_job(struct rig *r, struct job *job, hora_ns delay);
hora_future *schedule_series(struct rig *r, enum form form, struct job *job, hora_ns delay, hora_ns period);

/* hora_future_delay, which must succeed. */
hora_ns delay_of(hora_future *future);

/* True if a future is in the scheduler's queue. */
bool is_queued(struct rig *r, hora_future *future);

enum { MOST_BEATS = 32 };

struct beat {
    struct rig *rig;
    hora_ns lasts;              /* how long a run takes */
    int fails_at;               /* the run, from 1, that fails; 0: none */
    int code;                   /* and how */
    int runs;                   /* not atomic: each run sees what the one before has done */
    hora_ns starts[MOST_BEATS]; /* since the zero of the rig */
    hora_ns zero;
    atomic_int going;
    atomic_int drops;
    atomic_int interrupts;
};

int beat_run(void *beat, void **ret_result);
void beat_drop(void *beat);

#define BEAT(beat)      HORA_TASK(beat_run, (beat), .drop = beat_drop, .name = "beat")
#define A_BEAT(r, time) {.rig = (r), .lasts = (time), .zero = hora_clock_now((r)->f.view)}

/* It has run as often as that, and run i, from 0, began at starts[i]. */
void check_beats(const char *file, int line, struct beat *beat, int runs, const hora_ns *starts);
#define CHECK_BEATS(beat, ...)                                                                         \
    check_beats(__FILE__, __LINE__, (beat), (int)(sizeof((hora_ns[]){__VA_ARGS__}) / sizeof(hora_ns)), \
                (hora_ns[]){__VA_ARGS__})

#endif
