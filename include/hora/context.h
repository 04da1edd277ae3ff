/* SPDX-License-Identifier: Apache-2.0 */
/* hora/context.h - context that follows a task from the submitting thread to the running thread
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

/* Hooks that carry a context with each task. All except `install` may be NULL. They are called with no hora
 * lock held.
 *
 * `capture` runs in the submitting thread and returns the context of the task. It is not called if `context`
 * of hora_task_options is set, which is used instead. In the worker, `install` makes the context current and
 * returns the previous one. After the run, `restore` receives that previous one. `release` is called exactly
 * once for each context that `capture` has returned: when the future of the task is freed, or when the task
 * was not accepted.
 *
 * `install` is the last call before the task body, after the `started` event, and `restore` is the first call
 * after it. `restore` is also called if the body ends its thread. All runs of a series share one context.
 * Futures that were created elsewhere (hora_future_new) and tasks that the caller runs
 * (HORA_REJECT_CALLER_RUNS) do not use the hooks. */
typedef struct hora_context_hooks {
    /* set by HORA_CONTEXT_HOOKS */
    uint32_t struct_size;
    void *(*capture)(void *arg);
    void *(*install)(void *context, void *arg);
    void (*restore)(void *before, void *arg);
    void (*release)(void *context, void *arg);
    void *arg;
} hora_context_hooks;

#define HORA_CONTEXT_HOOKS(...) HORA__LITERAL(hora_context_hooks, __VA_ARGS__)

/* hora_context_current - return the context of the task that the calling thread is running, or NULL
 *
 * A task that waits for another task and therefore runs it gets its own context back afterwards. The result
 * is NULL in a task that the caller runs (HORA_REJECT_CALLER_RUNS) and in tasks nested more than eight deep.
 *
 * Ownership: defined by the code that supplied the pointer.   Threads: Any thread.   Blocks: Never.
 * Errors: None. */
HORA_API void *hora_context_current(void);

HORA_END_DECLS

#endif
