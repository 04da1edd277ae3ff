/* SPDX-License-Identifier: Apache-2.0 */
/* hora/task.h - a piece of work: a function, its argument, and what becomes of both
 *
 *     static int resize(void *image, void **ret_result) { ... return 0; }
 *
 *     hora_pool_submit(pool, HORA_TASK(resize, image, .drop = image_free, .name = "resize"), &future);
 *
 * Ownership, the same for every call that takes a task: if the call succeeds, hora owns arg and calls drop(arg) exactly
 * once: after run, or instead of it if the task is cancelled, rejected, abandoned or handed back. If the call returns an
 * error, the caller still owns arg, and neither run nor drop is called. drop runs with no lock of hora held, on any thread.
 *
 * The name may be part of arg, or may be freed together with it: hora does not read it after it has called drop. If the future
 * is still there then, it has a copy of the name, which hora_future_describe, hora_future_explain and events show. Without
 * memory for that copy the task has no name after drop. */
#ifndef HORA_TASK_H
#define HORA_TASK_H

#include <hora/base.h>

HORA_BEGIN_DECLS

/* What a task does. 0: it succeeded, and *ret_result, NULL at first, is its result. Any other value is its failure code, kept
 * as it is; a result written then is dropped. A failure costs no thread. */
typedef int (*hora_run_fn)(void *arg, void **ret_result);

typedef struct hora_task {
    hora_run_fn run;
    void *arg;
    void (*drop)(void *arg);           /* NULL: nothing to do */
    void (*drop_result)(void *result); /* called if nobody takes the result; NULL: nothing to do */
    const char *name; /* for people; NULL: none. It must stay as it is until drop is called, or, without */
                      /* drop, until the future is gone; of a task without a future, until run returns */
    const char *file; /* where it was submitted, set by HORA_TASK */
    int line;
} hora_task;

/* HORA_TASK(run, arg) or HORA_TASK(run, arg, .drop = d, .name = "n"): a task written where it is used. It records the
 * place, at no cost. */
#define HORA_TASK(function, ...) \
    (&(hora_task){.run = (function), .file = __FILE__, .line = __LINE__, .arg = __VA_ARGS__})

HORA_END_DECLS

#endif
