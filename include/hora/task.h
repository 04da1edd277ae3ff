/* SPDX-License-Identifier: Apache-2.0 */
/* hora/task.h - tasks: a function with its argument, their ownership, and options for a single task
 *
 *     static int resize(void *image, void **ret_result) { ... return 0; }
 *
 *     hora_pool_submit(pool, HORA_TASK(resize, image, .drop = image_free, .name = "resize"), &future);
 *
 * Ownership is the same for every call that takes a task. If the call succeeds, hora owns arg and calls
 * drop(arg) exactly once: after run, or instead of it if the task is cancelled, rejected, abandoned or handed
 * back. If the call returns an error, the caller still owns arg, and neither run nor drop is called. drop
 * runs with no hora lock held, on any thread.
 *
 * The name may be part of arg, or be freed together with it: hora does not read it after calling drop. If the
 * future still exists then, it has a copy of the name, which hora_future_describe, hora_future_explain and
 * events show. If there is no memory for the copy, the task has no name after drop. */
#ifndef HORA_TASK_H
#define HORA_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/base.h>

HORA_BEGIN_DECLS

/* The body of a task. It returns 0 on success, and *ret_result, initially NULL, is the result. Any other
 * value is a failure code, which is kept as is; a result written in that case is dropped. The thread
 * continues with its next task after a failure. */
typedef int (*hora_run_fn)(void *arg, void **ret_result);

/* A task. Calls that take a task copy this struct. */
typedef struct hora_task {
    /* the body; required */
    hora_run_fn run;
    /* first argument of run, and that of drop */
    void *arg;
    /* destructor of arg; NULL means nothing to do */
    void (*drop)(void *arg);
    /* destructor of a result that is not taken (hora_future_take_result); not called for NULL. NULL means
     * nothing to do */
    void (*drop_result)(void *result);
    /* for people, and the group under which metrics count the task; NULL means none. It must remain unchanged
     * until drop is called or, without drop, until the future is freed; for a task without a future, until
     * run returns */
    const char *name;
    /* source file in which the task was submitted, set by HORA_TASK; NULL means not known */
    const char *file;
    /* line in that file */
    int line;
} hora_task;

/* HORA_TASK(run, arg) or HORA_TASK(run, arg, .drop = d, .name = "n"): a task literal, for use as an argument
 * of a call. It records the source location at no cost. C++17 supports only run and arg; C++20 also supports
 * the other fields, in declaration order. */
#if !defined(__cplusplus) /* for C++ see the end of this file */
#define HORA_TASK(function, ...) \
    (&(hora_task){.run = (function), .file = __FILE__, .line = __LINE__, .arg = __VA_ARGS__})
#endif

/* ---- task options ---- */

/* A class of tasks; see hora/admission.h. */
typedef struct hora_class hora_class;

/* The priority of a task in a pool with admission. Each level is worth `ageing` of waiting; see
 * hora/admission.h. */
typedef enum hora_priority {
    HORA_PRIORITY_LOW = -1,
    HORA_PRIORITY_NORMAL = 0,
    HORA_PRIORITY_HIGH = 1,
    HORA_PRIORITY_URGENT = 2,
} hora_priority;

/* Options for one task, or for each run of one schedule: see hora_pool_submit_with, and `options` of
 * hora_schedule. A field that is left out is zero, which means the same as no options.
 *
 * Class, key and priority require a pool with `admission` (hora/admission.h). The other options require a
 * pool with `watchdog`, `metrics`, `admission`, `listener`, `context_hooks`, `grow_after` or `dump`; an empty
 * HORA_WATCHDOG() is enough.
 *
 * Time limits are measured by the pool's clock and never expire early. A task that has expired fails with
 * HORA_EEXPIRED and counts as expired (hora_pool_stats), not as failed or cancelled. A separate thread, the
 * watchdog, enforces the limits. hora starts it with the first task that has a limit, even if the pool has a
 * thread factory, and ends it in hora_pool_free. Limits therefore also apply after shutdown, until the pool
 * is freed. They do not apply to a task that the caller runs (HORA_REJECT_CALLER_RUNS). For a task that is
 * retried (HORA_FAILURE_BACK_OFF), start_within applies to each of its planned times and finish_within to the
 * first one. */
typedef struct hora_task_options {
    /* sizeof(hora_task_options), set by HORA_TASK_OPTIONS */
    uint32_t struct_size;
    /* the class of the task, created in the same pool; NULL means none */
    hora_class *task_class;
    /* tasks with the same key run one at a time, in the order of submission; 0 means none. See hora_key_of */
    uint64_t key;
    /* the priority; 0 means normal */
    hora_priority priority;
    /* the task expires unless it starts within this time after its submission. For a scheduled task, the
     * limit applies after each planned time, and only that run is dropped. 0 means no limit */
    hora_ns start_within;
    /* a run that takes longer than this is interrupted; 0 means no limit */
    hora_ns run_limit;
    /* a run without progress for this long is reported as stuck. The time counts from run_limit if that is
     * set, otherwise from the start or the last hora_progress. 0 means as the pool's watchdog says */
    hora_ns stuck_after;
    /* the pool writes off a worker that is reported as stuck and starts another one in its place. The worker
     * ends together with its task. Until then, termination of the pool waits for it, and the class and key of
     * the task stay occupied. Requires stuck_after, here or in the pool's watchdog */
    bool replace_stuck;
    /* the task expires unless it finishes within this time after its submission or planned time. If it is
     * running then, it is interrupted and its outcome is ignored. Not for a series. 0 means no limit */
    hora_ns finish_within;
    /* a pointer that is carried with the task: see hora/context.h. NULL means the result of the pool's
     * capture hook */
    void *context;
} hora_task_options;

/* HORA_TASK_OPTIONS(.task_class = c, .start_within = t): an options literal. */
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
#define HORA_TASK(function, argument)                                                                       \
    (hora__task_literal{hora_task{(function), (argument), nullptr, nullptr, nullptr, nullptr, 0}, __FILE__, \
                        __LINE__})
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
