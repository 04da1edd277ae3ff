/* SPDX-License-Identifier: Apache-2.0 */
/* extra.h - the data of a task that has terms (hora_task_options) or carries a context: see hora/task.h
 *
 * The future owns its extra and frees it. A plain future with an extra is a struct hora__bound; a scheduled
 * one keeps it in its series state. src/observe/task_options.c and limits.c implement these
 * functions. */
#ifndef HORA_EXEC_EXTRA_H
#define HORA_EXEC_EXTRA_H

#include <hora/admission.h>

#include "admit/admission.h"
#include "exec/observer.h"

struct hora__limits;

/* All fields except `limits` are immutable once hora__extra_new has returned. */
struct hora__extra {
    hora_task_options terms; /* a copy */
    /* The observer of the pool, with a reference, because the future may outlive the pool; NULL: the pool has
     * none. */
    struct hora__observer *observer;
    void *carried;               /* the context that the task carries; NULL: none */
    bool is_captured;            /* the capture hook made `carried`, and the release hook must release it */
    struct hora__ticket *ticket; /* in the same block of memory; NULL: the pool has no admission */
    hora_ns came;                /* when the task was submitted, by the pool's clock */
    /* The time limits of the task, see observe/limits.c; NULL: none. Written by hora__extra_prepare, before
     * any other thread sees the future. */
    struct hora__limits *limits;
};

/* Makes an extra. `terms` have been checked; NULL means that all of them are zero. Calls the capture hook of
 * the pool, if there is one and the terms have no context, in the submitting thread. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__extra_new(hora_pool *pool, const hora_task_options *terms,
                                                        struct hora__extra **ret_extra);

/* Releases the captured context and the reference to the observer, and frees the extra. NULL is allowed. */
void hora__extra_free(struct hora__extra *extra);

/* Starts the watchdog and allocates what the time limits of a future need, before a pool accepts the future:
 * afterwards nothing may fail. Does nothing if it has no limits. HORA_ENOMEM, HORA_EAGAIN, HORA_ENOTSUP (the
 * pool has no observer). */
__attribute__((warn_unused_result)) int hora__extra_prepare(hora_future *future);

/* Starts the time limits of a future that the pool has accepted. The caller has a reference. */
void hora__extra_accepted(hora_future *future);

/* Adapts the time limits of a future to a planned time that has changed. The caller has a reference and holds
 * no lock. */
void hora__extra_rescheduled(hora_future *future);

/* Returns the extra of a future; NULL: it has none. An overlapping run has that of its series. */
struct hora__extra *hora__future_extra(const hora_future *future);

/* As hora__future_extra, for a future in the queue of this pool, or running there. Returns NULL also if the
 * extra belongs to another pool, which handed the future back: its class, key, priority and times mean
 * nothing here, and the locks of that pool guard its mutable fields. */
struct hora__extra *hora__future_extra_in(const hora_pool *pool, const hora_future *future);

#endif
