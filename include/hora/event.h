/* SPDX-License-Identifier: Apache-2.0 */
/* hora/event.h - be told what a pool does: the listener, its events, and the watchdog over stuck workers
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
 * There are two ways to hear of a failure. Ask the future: hora_future_get, hora_future_failure, and for a
 * series hora_future_get_schedule_info. Or be told: `failed` of a listener, for every task of a pool or
 * scheduler. */
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

/* Something has happened. What does not belong to an event is zero. */
typedef struct hora_event {
    uint32_t struct_size;
    /* whose name and place it is; NULL: none. Valid during the call, and so is its name: copy what is needed
     * later. The task may be dropped already, so arg is not to be used; of a task with drop, 255 bytes of the
     * name are shown */
    const hora_task *task;

    /* NULL: it has none. Borrowed. Runs of a series that overlap are told with the series */
    hora_future *future;
    /* the number of the worker, from 1 on; 0: none */
    int worker;
    /* failed: its failure code; thread_failed: why */
    int code;
    /* started: since it could have begun */
    hora_ns waited;
    /* started, of a scheduled task: after its planned time; woke_late: how much */
    hora_ns late;
    /* done, failed, stuck: since it began */
    hora_ns ran;
    /* stuck: since it began, or said hora_progress */
    hora_ns quiet;
    /* skipped: planned times; clock_stepped: tasks that became due by it */
    int64_t count;
    /* clock_stepped: how long the machine was suspended */
    hora_ns suspended;
    /* clock_stepped: how far the wall clock was set besides; < 0: back */
    hora_ns stepped;
    /* resized: how many threads there were */
    int threads_before;
    /* resized: how many there are now */
    int threads;
    /* the reason in words, static; NULL for events whose name says it */
    const char *why;
    /* failed, of a scheduled task: no run will follow */
    bool ends;
    /* failed, of a scheduled task: this one included */
    int64_t failures_in_a_row;
} hora_event;

/* A function of a listener. hora calls it with no lock held, in the thread that does what is told; that
 * thread goes on when the function returns, so a slow function slows it down. The function may call
 * anything of hora, with these exceptions: it must not free the pool nor wait for its end, and it must not
 * end its thread. In thread_failed it must not give the same pool a task, which might need a thread again.
 * A wait in it may be interrupted, as any wait of that thread. */
typedef void (*hora_event_fn)(hora_pool *pool, const hora_event *event, void *arg);

/* What a program wants to be told. NULL: not told. With started, done, failed or woke_late each task has a
 * future, also those that are executed.
 *
 * hora tells the beginning and the end of each run, once and in this order, in the thread that runs it.
 * The future is not done yet then, unless it was cancelled meanwhile, or unless it is that of a series
 * whose runs overlap. Threads that wait for it go on afterwards. The end of a run that was cancelled is
 * told by what the body returned. If the body has ended its thread, the run is told as failed, with
 * HORA_EABANDONED. A run that never begins, since it was cancelled or a `before` hook has refused it, is
 * not told.
 *
 * A task is told as rejected, once, if the threads of the pool do not run it: also if the caller runs it
 * instead, or a handler is asked. If the pool drops its oldest task in favour of a new one, it tells the
 * oldest. If a task waits for room, it is told only if none comes. */
typedef struct hora_listener {
    /* set by HORA_LISTENER */
    uint32_t struct_size;
    /* a run is about to begin */
    hora_event_fn started;
    /* a run has succeeded */
    hora_event_fn done;
    /* a run has failed */
    hora_event_fn failed;
    /* a task found neither thread nor room, or came after shutdown: see `why` */
    hora_event_fn rejected;
    /* a task has not begun, or was not done, in its time */
    hora_event_fn expired;
    /* planned times of a series were missed, and are not made up */
    hora_event_fn skipped;
    /* a worker makes no progress; again after each further stuck_after */
    hora_event_fn stuck;
    /* the pool has grown, or shrunk, of itself: see grow_after */
    hora_event_fn resized;
    /* a thread could not be started */
    hora_event_fn thread_failed;
    /* a task that is scheduled began later than late_after of the watchdog */
    hora_event_fn woke_late;
    /* the machine was suspended, or the wall clock was set. Told by a thread of the scheduler before tasks
     * that have become due by it begin */
    hora_event_fn clock_stepped;
    void *arg;
} hora_listener;

#define HORA_LISTENER(...) HORA__LITERAL(hora_listener, __VA_ARGS__)

/* ---- the watchdog ---- */

/* A watchdog takes a thread, which sleeps while the pool is idle. */
typedef struct hora_watchdog {
    /* set by HORA_WATCHDOG */
    uint32_t struct_size;
    /* a run that makes no progress for this long is reported as stuck; 0: only if its task options say so */
    hora_ns stuck_after;
    /* a scheduled run that begins later than this after its planned time is reported (woke_late); 0: 1 s */
    hora_ns late_after;
} hora_watchdog;

#define HORA_WATCHDOG(...) HORA__LITERAL(hora_watchdog, __VA_ARGS__)

/* hora_progress - say that the task which the calling thread runs gets on: so it is not stuck
 *
 * `done` and `of` are shown in dumps, if `of` is > 0. Does nothing in a thread that is no worker, or whose
 * pool has no watchdog, metrics, admission, listener or context hooks. Costs about as much as reading the
 * clock.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API void hora_progress(int64_t done, int64_t of);

HORA_END_DECLS

#endif
