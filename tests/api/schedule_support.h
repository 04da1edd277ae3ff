/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_support.h - shared by the tests of hora_scheduler_schedule_with
 *
 * A stage is a scheduler on a virtual clock, with a listener that records its events. Time passes from moment
 * to moment, and at each moment everything that is due is done. A tick is a task that records when it begins,
 * takes its time, and fails if it is told to. All times are seconds since the stage was opened, on the
 * timeline of the tick. So a table of numbers says what must happen. */
#ifndef HORA_TESTS_API_SCHEDULE_SUPPORT_H
#define HORA_TESTS_API_SCHEDULE_SUPPORT_H

#include <hora/scheduler.h>

#include "support.h"

#define SEC(n) HORA_SECONDS(n)

enum { MOST_STARTS = 128, MOST_EVENTS = 16, MOST_FAILURES = 32 };

struct stage_failure {
    hora_future *future; /* only compared */
    int code;
    bool ends;
    int64_t in_a_row;
    bool done; /* whether the future was done already */
    int order; /* among all calls of failed */
};

struct stage {
    struct fixture f;
    hora_scheduler *scheduler;
    hora_latch *gate;
    hora_ns zero[4]; /* of each hora_clock_id */
    atomic_int order;

    atomic_int events;             /* calls of clock_stepped, and what it was told */
    hora_event event[MOST_EVENTS]; /* without task and future */

    atomic_int failures; /* calls of failed, and what it was told */
    struct stage_failure failure[MOST_FAILURES];

    hora_listener told; /* what the options had: it is told, too */
};

/* Adds the clock, the context and a listener to the options; the listener passes its events on to that of the
 * options. */
void stage_open(struct stage *stage, const hora_scheduler_options *options);
/* The same without a listener, so that the scheduler knows no more than it must. */
void stage_open_unheard(struct stage *stage, const hora_scheduler_options *options);
/* Opens the gate, cancels the remaining tasks, and frees everything. No future may be left. */
void stage_close(struct stage *stage);

/* Lets this number of seconds pass, with everything that is due in that time. */
void stage_pass(struct stage *stage, int seconds);
/* The same in one step: tasks that become due in between are late. */
void stage_leap(struct stage *stage, hora_ns by);
void stage_settle(struct stage *stage);

hora_ns stage_now(const struct stage *stage, hora_clock_id line);
/* A moment of the wall clock, in seconds since the stage was opened. */
hora_instant stage_instant(const struct stage *stage, int seconds);

struct tick {
    struct stage *stage;
    hora_clock_id line;
    int lasts;       /* seconds that each run takes, or */
    int lasts_first; /* if > 0, that the first one takes */
    bool waits;      /* until the gate is opened */
    int fails_from;  /* the runs, counted from 1, that fail; 0: none */
    int fails_to;
    int code; /* and how; plus the number of the run if `counts` */
    bool counts;
    atomic_int runs;
    atomic_int going;
    atomic_int most_going;
    atomic_int interrupts;
    atomic_int drops;
    atomic_int result_drops;
    hora_ns starts[MOST_STARTS]; /* since the stage was opened */
};

int tick_run(void *tick, void **ret_result);
void tick_drop(void *tick);
void tick_drop_result(void *tick);

#define TICK(tick) \
    HORA_TASK(tick_run, (tick), .drop = tick_drop, .drop_result = tick_drop_result, .name = "tick")
#define A_TICK(s) {.stage = (s)}

/* Schedule a tick. NULL only after a failed check. */
hora_future *start_tick(const char *file, int line, struct stage *stage, struct tick *tick,
                        const hora_schedule *spec);
#define START(stage, tick, ...) start_tick(__FILE__, __LINE__, (stage), (tick), HORA_SCHEDULE(__VA_ARGS__))
/* Cancels it, releases it, and checks that the task is dropped once no run is active. */
void end_tick(const char *file, int line, struct tick *tick, hora_future *future);
#define END(tick, future) end_tick(__FILE__, __LINE__, (tick), (future))

/* It has run as often as that, and run i began in second starts[i], exactly. */
void check_starts(const char *file, int line, struct tick *tick, int runs, const int *starts);
#define CHECK_STARTS(tick, ...)                                                                 \
    check_starts(__FILE__, __LINE__, (tick), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
                 (int[]){__VA_ARGS__})
#define CHECK_NO_START(tick) check_starts(__FILE__, __LINE__, (tick), 0, NULL)

/* hora_future_get_schedule_info, which must succeed. */
hora_schedule_info info_of(hora_future *future);

/* A time of hora_schedule_info, in nanoseconds since the stage was opened; HORA_NEVER stays. */
hora_ns since_zero(const struct stage *stage, const hora_schedule_info *info, hora_ns time);

/* A function for `next`: the seconds of a table since the stage was opened, terminated by -1. It counts its
 * calls, and checks that no two threads call it at once. */
struct timetable {
    struct stage *stage;
    hora_clock_id line;
    const int *seconds;
    atomic_int calls;
    atomic_int going;
    hora_trigger_context last;
};
hora_ns timetable_next(const hora_trigger_context *context, void *timetable);

#endif
