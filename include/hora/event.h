/* SPDX-License-Identifier: Apache-2.0 */
/* hora/event.h - notification of what a pool does: the listener, its events and the watchdog
 *
 *     static void failed(hora_pool *pool, const hora_event *event, void *arg)
 *     {
 *         fprintf(stderr, "%s: code %d\n", event->task->name, event->code);
 *     }
 *
 *     hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 4, .listener = HORA_LISTENER(.failed = failed),
 *                                     .watchdog = HORA_WATCHDOG(.stuck_after = HORA_SECONDS(30))),
 *                   &pool, &error);
 *
 * There are two ways to learn of a failure. A program can ask the future: hora_future_get,
 * hora_future_failure, and for a series hora_future_get_schedule_info. Or it can set `failed` of a listener,
 * which hora calls for every failed run of a pool or scheduler. */
#ifndef HORA_EVENT_H
#define HORA_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/future.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_pool hora_pool; /* see hora/pool.h */

/* ---- events ---- */

/* Describes one event. Fields that do not apply to the event are zero. The struct and what it points to are
 * valid during the call. */
typedef struct hora_event {
    /* sizeof(hora_event) of the library */
    uint32_t struct_size;
    /* the task, with its name and source location; NULL if there is none. Valid during the call, including
     * the name: copy what is needed later. The task may already have been dropped, so do not use its arg. For
     * a task with drop, the name is limited to 255 bytes */
    const hora_task *task;

    /* the future of the task, borrowed: a listener that needs it later takes a reference. NULL if the task
     * has none, and for `stuck` if the limit is that of the pool's watchdog. Overlapping runs of a series are
     * reported with the future of the series */
    hora_future *future;
    /* number of the worker, starting at 1; 0 if there is none */
    int worker;
    /* failed: the failure code; thread_failed: the error of the attempt to start a thread */
    int code;
    /* started, woke_late: time since the task could have started, which is its submission or planned time */
    hora_ns waited;
    /* started, woke_late, for a scheduled task: time since its planned time */
    hora_ns late;
    /* done, failed, stuck: time since the run started */
    hora_ns ran;
    /* stuck: time since the run started or last called hora_progress */
    hora_ns quiet;
    /* skipped: number of planned times; clock_stepped: number of tasks that became due because of the step */
    int64_t count;
    /* clock_stepped: how long the machine was suspended */
    hora_ns suspended;
    /* clock_stepped: how far the wall clock was set, apart from the suspension; < 0 means back */
    hora_ns stepped;
    /* resized: number of threads before */
    int threads_before;
    /* resized: number of threads now */
    int threads;
    /* the reason in words, static; NULL for events whose name says it */
    const char *why;
    /* failed, for a scheduled task: no further run will follow */
    bool ends;
    /* failed, for a scheduled task: number of consecutive failures, including this one */
    int64_t failures_in_a_row;
} hora_event;

/* A function of a listener. `arg` is that of the listener. hora calls the function with no lock held, in the
 * thread that causes the event; for `expired` and `stuck`, this is often the thread of the watchdog. That
 * thread continues when the function returns, so a slow function delays it. Several threads may call the
 * function at the same time. It may call any function of hora, with these exceptions: it must not free the
 * pool or wait for its termination, and it must not end its thread. In thread_failed it must not submit a
 * task to the same pool, because that might require another thread. A wait inside the function can be
 * interrupted like any other wait of that thread. */
typedef void (*hora_event_fn)(hora_pool *pool, const hora_event *event, void *arg);

/* The option `listener` of pools and schedulers: the events that a program wants to receive. NULL means that
 * the event is not reported. If started, done, failed or woke_late is set, every task has a future, including
 * tasks that were passed to hora_pool_execute.
 *
 * hora reports the start and the end of each run exactly once, in this order, in the thread that runs it. At
 * that time the future is not done yet, unless it was cancelled in the meantime or belongs to a series whose
 * runs overlap. Threads that wait for the future continue afterwards. The end of a cancelled run is reported
 * according to what the task body returned. If the body ended its thread, the run is reported as failed with
 * HORA_EABANDONED. A run that never starts, because it was cancelled or because a `before` hook refused it,
 * is not reported.
 *
 * A task is reported as rejected once if the threads of the pool do not run it, also if the caller runs it
 * instead or a handler decides. If the pool drops its oldest task in favour of a new one, it reports the
 * oldest. A task that waits for room is reported only if no room becomes available. */
typedef struct hora_listener {
    /* sizeof(hora_listener), set by HORA_LISTENER */
    uint32_t struct_size;
    /* a run is about to start */
    hora_event_fn started;
    /* a run has succeeded */
    hora_event_fn done;
    /* a run has failed */
    hora_event_fn failed;
    /* a task found neither a thread nor room, or was submitted after shutdown; see `why` */
    hora_event_fn rejected;
    /* a task did not start or finish within its time limit */
    hora_event_fn expired;
    /* planned times of a series were missed and will not be made up */
    hora_event_fn skipped;
    /* a worker makes no progress; repeated after each further stuck_after */
    hora_event_fn stuck;
    /* the pool grew or shrank because of grow_after (hora/pool.h); see `why` */
    hora_event_fn resized;
    /* a thread could not be started */
    hora_event_fn thread_failed;
    /* a scheduled task is about to start, later than late_after of the watchdog; called before `started` */
    hora_event_fn woke_late;
    /* the machine was suspended or the wall clock was set. A thread of the scheduler reports it before it
     * starts tasks that became due because of it. Only for schedulers */
    hora_event_fn clock_stepped;
    /* last argument of all functions */
    void *arg;
} hora_listener;

/* HORA_LISTENER(.failed = f, .arg = a): a listener literal. */
#define HORA_LISTENER(...) HORA__LITERAL(hora_listener, __VA_ARGS__)

/* ---- the watchdog ---- */

/* The option `watchdog` of pools and schedulers: the thresholds of its reports. The watchdog is a separate
 * thread, which sleeps while the pool is idle. It starts with the pool if stuck_after is set. Otherwise it
 * starts with the first task that has a time limit or, in a pool with grow_after, that is queued. */
typedef struct hora_watchdog {
    /* sizeof(hora_watchdog), set by HORA_WATCHDOG */
    uint32_t struct_size;
    /* a run without progress for this long is reported as stuck; 0 means only if its task options say so */
    hora_ns stuck_after;
    /* a scheduled run that starts later than this after its planned time is reported (woke_late); 0 means
     * 1 s. This needs no watchdog thread */
    hora_ns late_after;
} hora_watchdog;

/* HORA_WATCHDOG() or HORA_WATCHDOG(.stuck_after = t): an options literal. */
#define HORA_WATCHDOG(...) HORA__LITERAL(hora_watchdog, __VA_ARGS__)

/* hora_progress - report that the task running on the calling thread is making progress
 *
 * The watchdog then does not consider it stuck: the time of stuck_after starts again. `done` and `of` have
 * any unit; if `of` is > 0, dumps and hora_future_explain show both. The call does nothing in a thread that
 * is not a worker, or whose pool was created without watchdog, metrics, admission, listener, context_hooks,
 * grow_after and dump. It costs about as much as reading the clock.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API void hora_progress(int64_t done, int64_t of);

HORA_END_DECLS

#endif
