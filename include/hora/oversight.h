/* SPDX-License-Identifier: Apache-2.0 */
/* hora/oversight.h - see what a pool does, and steer it: what is switched on when the pool is made
 *
 *     hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 4, .oversight = HORA_OVERSIGHT(.measured = true, .steered = true,
 *                                                                                    .stuck_after = HORA_SECONDS(30))),
 *                   &pool, NULL);
 *
 * A pool without oversight pays nothing for it, and neither does a task for what it does not use. What there is:
 *
 *   measured       histograms and counters, for the pool and for each name of a task: hora/measure.h
 *   steered        classes, keys and priorities: hora/terms.h
 *   listener       a function for each thing that happens
 *   stuck_after    a watch over workers that make no progress
 *   growth         threads that come and go with the load
 *   hooks          what tasks carry from the thread that submits them to the one that runs them
 *
 * hora/explain.h says why a task has not run, and writes down what a pool is doing: more of it with oversight. */
#ifndef HORA_OVERSIGHT_H
#define HORA_OVERSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_pool hora_pool; /* see hora/pool.h */

/* A text comes out in pieces, in order: `length` bytes, without a final NUL. 0, or an error, which ends it. */
typedef int (*hora_write_fn)(const char *text, size_t length, void *arg);

/* ---- events ---- */

/* Something has happened. What does not belong to an event is zero. */
typedef struct hora_event {
    uint32_t struct_size;
    const hora_task *
        task; /* whose name and place it is; NULL: none. Valid during the call, and so is its name: copy what is needed later. */
    /* The task may be dropped already, so arg is not to be used; of a task with drop, 255 bytes of the name are shown */
    hora_future *future; /* NULL: it has none. Borrowed. Runs of a series that overlap are told with the series */
    int worker;          /* the number of the worker, from 1 on; 0: none */
    int code;            /* failed: its failure code; thread_failed: why */
    hora_ns waited;      /* started: since it could have begun */
    hora_ns late;        /* started, of a scheduled task: after its planned time; woke_late: how much */
    hora_ns ran;         /* done, failed, stuck: since it began */
    hora_ns quiet;       /* stuck: since it began, or said hora_progress */
    int64_t count;       /* skipped: planned times; clock_stepped: tasks that became due by it */
    hora_ns suspended;   /* clock_stepped: how long the machine slept, */
    hora_ns stepped;     /* and how far the wall clock was set besides */
    int threads_before;  /* resized: from so many threads, */
    int threads;         /* to so many */
    const char *why;     /* in words, static: of what is not clear from its name */
} hora_event;

/* With no lock of hora held, in the thread that does what is told, which goes on when this returns: so what is slow slows that down. It may
 * call anything of hora; but it must not free the pool nor wait for its end, must not end its thread, and in thread_failed must not give
 * the same pool a task, which might need a thread again. A wait in it may be interrupted, as any of that thread. */
typedef void (*hora_event_fn)(hora_pool *pool, const hora_event *event, void *arg);

/* Who wants to know. NULL: nobody. With started, done, failed or woke_late each task has a future, also those that are executed.
 *
 * Of each run that begins the beginning and the end are told, once and in this order, in the thread that runs it; the future is not
 * done yet then, unless it was cancelled meanwhile, and those who wait for it go on afterwards. The end of a run that was cancelled
 * is told by what the body returned; of one that has ended its thread as failed, with HORA_EABANDONED. What never begins, since it was
 * cancelled or a `before` hook has refused it, is not told.
 *
 * A task is told as rejected if the threads of the pool do not run it, once: also if the caller runs it instead, which is no run of the
 * pool, or a handler is asked. If the oldest is dropped for it, that one is; if it waits for room, only if none comes. */
typedef struct hora_listener {
    hora_event_fn started;       /* a run is about to begin */
    hora_event_fn done;          /* a run has succeeded */
    hora_event_fn failed;        /* a run has failed */
    hora_event_fn rejected;      /* a task found neither thread nor room, or came after shutdown: see `why` */
    hora_event_fn expired;       /* a task has not begun, or was not done, in its time */
    hora_event_fn skipped;       /* planned times of a series were missed, and are not made up */
    hora_event_fn stuck;         /* a worker makes no progress; again after each further stuck_after */
    hora_event_fn resized;       /* the pool has grown, or shrunk, of itself: see hora_growth */
    hora_event_fn thread_failed; /* a thread could not be started */
    hora_event_fn woke_late;     /* a task that is scheduled began later than hora_oversight.late_after */
    hora_event_fn clock_stepped; /* the clocks have parted: as hora_clock_event, after it. They are watched then */
    void *arg;
} hora_listener;

/* ---- what tasks carry ---- */

/* In the thread that submits `capture` says what goes with the task (hora_task_options.carried instead of it, if that is given); in the worker
 * `install` makes it current, and says what was current before, and after the run `restore` gets that back. `release` is called exactly once
 * for what `capture` has made: when the future of the task is gone, or it was not accepted. All but `install` may be NULL. No lock of hora is held.
 * For a series the same goes with each run. `install` is the last thing before the body, after `started` was told, and `restore` the first after
 * it. If the body ends its thread, `restore` is called all the same. Futures that were made elsewhere (hora_future_new), and what the caller runs
 * (HORA_REJECT_CALLER_RUNS), are left as they are. */
typedef struct hora_context_hooks {
    void *(*capture)(void *arg);
    void *(*install)(void *carried, void *arg);
    void (*restore)(void *before, void *arg);
    void (*release)(void *carried, void *arg);
    void *arg;
} hora_context_hooks;

/* ---- threads that come and go ---- */

/* With a `wait_bound` the number of core threads becomes a lower bound: if a task has waited for longer, no thread is idle, and threads of the
 * pool are blocked, which shows in that one has used less than half of the time on a processor, another thread is started, one at
 * a time and at most max_threads of them; one that has been idle for keep_alive ends. Threads that compute get no company: more of them would
 * not be done sooner. On a machine with too much to do threads that only wait for a processor look blocked, too. For plain pools with
 * a queue of their own that has room, bounded or not. While tasks are queued the pool is looked at each half wait_bound, at most once a
 * millisecond, so it may grow so much later; while none are, never. Each change is an event (resized) that says why. */
typedef struct hora_growth {
    hora_ns wait_bound; /* 0: none of this */
} hora_growth;

/* ---- the options ---- */

typedef struct hora_oversight {
    uint32_t struct_size; /* sizeof(hora_oversight), set by HORA_OVERSIGHT */
    bool measured;        /* see hora/measure.h */
    int names; /* measured: how many names of tasks are told apart, at most 65536; what comes after these counts as "other"; 0: 100 */
    bool steered; /* see hora/terms.h. The pool has a queue of its own then, with room, and no spin or keep_cancelled */
    hora_ns ageing; /* steered: what a level of priority is worth; 0: 1 s, HORA_FOREVER: the higher always goes first */
    hora_ns
        stuck_after; /* a run without progress for so long is reported as stuck, without a future; takes a thread that sleeps while the */
    /* pool is idle. 0: only if its terms say so */
    hora_ns late_after; /* from when on woke_late is told; 0: 1 s */
    hora_growth growth;
    hora_context_hooks hooks;
    hora_listener listener;
    hora_write_fn
        dump; /* where hora_pool_request_dump writes to, see hora/explain.h; takes a thread and a descriptor. NULL: nowhere */
    void *dump_arg;
} hora_oversight;

#define HORA_OVERSIGHT(...) (&(hora_oversight){.struct_size = sizeof(hora_oversight), __VA_ARGS__})

/* hora_progress - say that the task which the calling thread runs gets on: so it is not stuck
 *
 * `done` and `of` are shown in dumps, if `of` is > 0. Does nothing in a thread that is no worker, or of a pool without oversight. Costs about
 * as much as reading the clock.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API void hora_progress(int64_t done, int64_t of);

HORA_END_DECLS

#endif
