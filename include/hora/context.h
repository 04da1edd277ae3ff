/* SPDX-License-Identifier: Apache-2.0 */
/* hora/context.h - context that follows a task from the submitting thread to the running thread
 *
 *     static void *capture(void *arg)
 *     {
 *         return trace_ref(trace_current());
 *     }
 *
 *     static void *install(void *context, void *arg)
 *     {
 *         return trace_swap(context);    // makes context current, and returns the previous one
 *     }
 *
 *     static void restore(void *before, void *arg)
 *     {
 *         trace_swap(before);
 *     }
 *
 *     static void release(void *context, void *arg)
 *     {
 *         trace_unref(context);
 *     }
 *
 *     hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 4,
 *                                     .context_hooks = HORA_CONTEXT_HOOKS(.capture = capture,
 *                                         .install = install, .restore = restore, .release = release)),
 *                   &pool, &error);
 *
 * A pool with `context_hooks` calls `capture` at each submission and passes the result to `install` around
 * the run. Typical uses are request ids, trace spans and locales. A single task may carry its own pointer
 * instead: see `context` in hora_task_options. */
#ifndef HORA_CONTEXT_H
#define HORA_CONTEXT_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* The option `context_hooks` of pools and schedulers: hooks that carry a context with each task. All except
 * `install` may be NULL. They are called with no hora lock held.
 *
 * `install` is the last call before the task body, after the `started` event, and `restore` is the first call
 * after it. `restore` is also called if the body ends its thread. All runs of a series share one context.
 * Futures that were created elsewhere (hora_future_new) and tasks that the caller runs
 * (HORA_REJECT_CALLER_RUNS) do not use the hooks. A timer (hora/timer.h) has no context: `install` receives
 * NULL. */
typedef struct hora_context_hooks {
    /* sizeof(hora_context_hooks), set by HORA_CONTEXT_HOOKS */
    uint32_t struct_size;
    /* Called in the submitting thread; returns the context of the task, which may be NULL. Not called if
     * `context` of hora_task_options is set, which is used instead */
    void *(*capture)(void *arg);
    /* Called in the worker before the body: makes `context` current in the thread and returns the context
     * that was current before. Required if any other hook is set */
    void *(*install)(void *context, void *arg);
    /* Called in the worker after the body: makes current what `install` returned */
    void (*restore)(void *before, void *arg);
    /* Called exactly once for each context that `capture` has returned, on any thread: when the future of the
     * task is freed, or when the task was not accepted */
    void (*release)(void *context, void *arg);
    /* last argument of all hooks */
    void *arg;
} hora_context_hooks;

/* HORA_CONTEXT_HOOKS(.install = f, .capture = g): a literal. */
#define HORA_CONTEXT_HOOKS(...) HORA__LITERAL(hora_context_hooks, __VA_ARGS__)

/* hora_context_current - return the context of the task that the calling thread is running, or NULL
 *
 * The context is `context` of the task's options, or what `capture` of the pool returned for it. It is
 * available in every pool that accepts task options, with or without hooks. A task that waits for another
 * task, and therefore runs it on its own thread, gets its own context back afterwards. The result is NULL in
 * a thread that runs no task of a pool, in a task that the caller runs (HORA_REJECT_CALLER_RUNS), and in
 * tasks nested more than eight deep.
 *
 * Ownership: defined by the code that supplied the pointer.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API void *hora_context_current(void);

HORA_END_DECLS

#endif
