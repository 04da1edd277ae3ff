/* SPDX-License-Identifier: Apache-2.0 */
/* extra.h - what only a task has that runs under terms, or carries something: see hora/task.h
 *
 * It belongs to its future, and is freed with it. A plain future has it beside (struct hora__bound), a
 * scheduled one by its series state. */
#ifndef HORA_EXEC_EXTRA_H
#define HORA_EXEC_EXTRA_H

#include <hora/admission.h>

#include "admit/admission.h"
#include "exec/observer.h"

struct hora__limits;

struct hora__extra {
    hora_task_options terms; /* copied; immutable */
    struct hora__observer
        *observer;               /* of its pool, which it keeps from going; NULL: it has none. Immutable */
    void *carried;               /* immutable */
    bool is_captured;            /* by the hook: to be released; immutable */
    struct hora__ticket *ticket; /* part of the same memory; NULL: the pool has no admission. Immutable */
    hora_ns came; /* when it was accepted, by the pool's clock; written before anybody else has seen it */
    /* see observe/limits.c; NULL: none. Written before anybody else has seen it */
    struct hora__limits *limits;
};

/* Of terms that have been checked, or NULL: all zero. Calls the capture hook, if there is one.
 * HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__extra_new(hora_pool *pool, const hora_task_options *terms,
                                                        struct hora__extra **ret_extra);

/* Releases what was captured. */
void hora__extra_free(struct hora__extra *extra);

/* A future is about to be placed: see that it can expire in its time. Does nothing if it has no extra.
 * HORA_ENOMEM, HORA_EAGAIN. And: it has been accepted; from now on it does. The caller has a reference. */
__attribute__((warn_unused_result)) int hora__extra_prepare(hora_future *future);
void hora__extra_accepted(hora_future *future);

/* NULL: it has none. */
struct hora__extra *hora__future_extra(const hora_future *future);

/* The same of a future that is in a pool's queue, or runs there: NULL also if the extra is of another pool,
 * which handed the future back. That pool's class, key, priority and times mean nothing here, and its locks
 * guard what changes. */
struct hora__extra *hora__future_extra_in(const hora_pool *pool, const hora_future *future);

#endif
