/* SPDX-License-Identifier: Apache-2.0 */
/* hora/task.h - a piece of work: a function, its argument, and what becomes of both
 *
 *     static int resize(void *image, void **ret_result) { ... return 0; }
 *
 *     hora_pool_submit(pool, HORA_TASK(resize, image, .drop = image_free, .name = "resize"), &future);
 *
 * Ownership, the same for every call that takes a task: if the call succeeds, hora owns arg and calls
 * drop(arg) exactly once: after run, or instead of it if the task is cancelled, rejected, abandoned or
 * handed back. If the call returns an error, the caller still owns arg, and neither run nor drop is
 * called. drop runs with no lock of hora held, on any thread.
 *
 * The name may be part of arg, or may be freed together with it: hora does not read it after it has called
 * drop. If the future is still there then, it has a copy of the name, which hora_future_describe,
 * hora_future_explain and events show. Without memory for that copy the task has no name after drop. */
#ifndef HORA_TASK_H
#define HORA_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>

HORA_BEGIN_DECLS

/* What a task does. 0: it succeeded, and *ret_result, NULL at first, is its result. Any other value is its
 * failure code, kept as it is; a result written then is dropped. A failure costs no thread. */
typedef int (*hora_run_fn)(void *arg, void **ret_result);

typedef struct hora_task {
    hora_run_fn run;
    void *arg;
    /* NULL: nothing to do */
    void (*drop)(void *arg);
    /* called if nobody takes the result; NULL: nothing to do */
    void (*drop_result)(void *result);
    /* for people; NULL: none. It must stay as it is until drop is called, or, without drop, until the future
     * is gone; of a task without a future, until run returns */
    const char *name;
    /* where it was submitted, set by HORA_TASK */
    const char *file;
    int line;
} hora_task;

/* HORA_TASK(run, arg) or HORA_TASK(run, arg, .drop = d, .name = "n"): a task written where it is used. It
 * records the place, at no cost. Use it as an argument of a call. In C++17 only run and arg can be given;
 * in C++20 also the rest, in the order of the fields. */
#if !defined(__cplusplus) /* for C++ see the end of this file */
#define HORA_TASK(function, ...) \
    (&(hora_task){.run = (function), .file = __FILE__, .line = __LINE__, .arg = __VA_ARGS__})
#endif

/* ---- options of one task ---- */

/* A kind of task: see hora/admission.h. */
typedef struct hora_class hora_class;

typedef enum hora_priority {
    HORA_PRIORITY_LOW = -1,
    HORA_PRIORITY_NORMAL = 0,
    HORA_PRIORITY_HIGH = 1,
    HORA_PRIORITY_URGENT = 2,
} hora_priority;

/* Options for one task, or for each run of one schedule: hora_pool_submit_with, and `options` of a
 * hora_schedule. What is left out is zero, and zero means: as without options.
 *
 * Class, key and priority need a pool with `admission` (hora/admission.h). The limits in time need a pool
 * with a `watchdog`, `metrics`, `admission`, `listener` or `context_hooks`; an empty HORA_WATCHDOG() is
 * enough.
 *
 * Limits are measured with the pool's clock, and never end early. A task that has expired fails with
 * HORA_EEXPIRED, and counts as expired (hora_pool_stats), not as failed or cancelled. A thread beside the
 * pool, the watchdog, enforces the limits. hora starts it with the first task that has one, also if the
 * pool has a thread factory, and ends it in hora_pool_free. So limits hold after shutdown, too, until the
 * pool is freed. A task that the caller runs (HORA_REJECT_CALLER_RUNS) has no limits. A task that is
 * retried (HORA_FAILURE_BACK_OFF) has start_within for each of its planned times, and finish_within for
 * the first one. */
typedef struct hora_task_options {
    /* set by HORA_TASK_OPTIONS */
    uint32_t struct_size;
    /* the class that it belongs to; NULL: none */
    hora_class *task_class;
    /* tasks with the same key run one at a time, in the order in which they came; 0: none. See hora_key_of */
    uint64_t key;
    hora_priority priority;
    /* it expires unless it begins within this span after it came. If it is scheduled: after each planned
     * time, and then that run alone is dropped. 0: no limit */
    hora_ns start_within;
    /* a run that lasts longer than this is interrupted; 0: no limit */
    hora_ns run_limit;
    /* no progress for this long, measured from run_limit if that is set, else from the start or the last
     * hora_progress: the run is reported as stuck; 0: as the pool's watchdog says */
    hora_ns stuck_after;
    /* the pool writes off a worker that is reported as stuck, and starts another one in its place. The
     * worker ends with its task; until then the end of the pool waits for it, and the task's class and key
     * stay taken */
    bool replace_stuck;
    /* it expires unless it is done within this span after it came, or after its planned time. If it runs
     * then, it is interrupted, and its outcome does not count. Not for a series. 0: no limit */
    hora_ns finish_within;
    /* a pointer that travels with the task: see hora/context.h. NULL: what the pool's capture hook says */
    void *context;
} hora_task_options;

#define HORA_TASK_OPTIONS(...) HORA__LITERAL(hora_task_options, __VA_ARGS__)

HORA_END_DECLS

#if defined(__cplusplus)
#if defined(__GNUC__)
#pragma GCC system_header /* see the end of hora/base.h */
#endif

#if __cplusplus >= 202002L
#define HORA_TASK(function, ...) \
    (hora__task_literal{hora_task{.run = (function), .arg = __VA_ARGS__}, __FILE__, __LINE__})
#else
#define HORA_TASK(function, argument) \
    (hora__task_literal{hora_task{(function), (argument), nullptr, nullptr, nullptr, nullptr, 0}, __FILE__, __LINE__})
#endif

extern "C++" {
struct hora__task_literal {
    hora_task task;
    hora__task_literal(const hora_task &given, const char *file, int line) noexcept : task(given)
    {
        task.file = file;
        task.line = line;
    }
    operator const hora_task *() const noexcept
    {
        return &task;
    }
};
}
#endif

#endif
