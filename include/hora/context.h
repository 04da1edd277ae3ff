/* SPDX-License-Identifier: Apache-2.0 */
/* hora/context.h - what travels with a task from the thread that submits it to the one that runs it
 *
 * A pool with `context_hooks` asks `capture` at each submission and hands the answer to `install` around
 * the run: for request ids, trace spans, locales. A single task may bring its own pointer: `context` of
 * hora_task_options. */
#ifndef HORA_CONTEXT_H
#define HORA_CONTEXT_H

#include <stdint.h>

#include <hora/base.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* In the thread that submits `capture` says what goes with the task (`context` of hora_task_options
 * instead of it, if that is given); in the worker `install` makes it current, and says what was current
 * before, and after the run `restore` gets that back. `release` is called exactly once for what `capture`
 * has made: when the future of the task is gone, or it was not accepted. All but `install` may be NULL. No
 * lock of hora is held. For a series the same goes with each run. `install` is the last thing before the
 * body, after `started` was told, and `restore` the first after it. If the body ends its thread, `restore`
 * is called all the same. Futures that were made elsewhere (hora_future_new), and what the caller runs
 * (HORA_REJECT_CALLER_RUNS), are left as they are. */
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

/* hora_context_current - the pointer that goes with the task that the calling thread runs; NULL: none
 *
 * A task that waits for another one, and so runs it, has its own again
 * afterwards. NULL in a task that the caller runs (HORA_REJECT_CALLER_RUNS), and more than eight tasks deep.
 *
 * Ownership: as whoever gave it says.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API void *hora_context_current(void);

HORA_END_DECLS

#endif
