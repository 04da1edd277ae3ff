/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - the interface by which a pool reports to src/observe
 *
 * A pool has an observer only if its options ask for one (metrics, admission, a watchdog, a listener, ...).
 * Without one, each report costs one test of a pointer. The pool makes all these calls with no lock held,
 * unless a comment says otherwise. */
#ifndef HORA_EXEC_OBSERVER_H
#define HORA_EXEC_OBSERVER_H

#include <hora/context.h>
#include <hora/event.h>
#include <hora/pool.h>

#include "sync/thread.h"
#include "sys/atomic.h"
#include "sys/clock.h"

struct hora__observer;
struct hora__worker;
struct hora__extra;

/* The reports of a pool. There is one implementation, in src/observe. */
struct hora__observer_kind {
    /* The pool is being destroyed, and releases its reference to the observer. */
    void (*pool_gone)(struct hora__observer *observer);
    /* Frees the observer after its last reference is gone. */
    void (*free)(struct hora__observer *observer);
    /* Makes the observer of a new worker. HORA_ENOMEM. */
    int (*add_worker)(struct hora__observer *observer, struct hora__worker *worker,
                      struct hora__worker_observer **ret_worker_observer);
    /* Removes and frees the observer of a worker that has ended. */
    void (*remove_worker)(struct hora__observer *observer, struct hora__worker_observer *worker_observer);
    /* The pool has refused a task: no worker will run it. future NULL: the task is detached. `why` is a
     * string literal. */
    void (*rejected)(struct hora__observer *observer, hora_future *future, const hora_task *task,
                     const char *why);
    /* A task has been put into the queue. */
    void (*queued)(struct hora__observer *observer);
    /* A worker has ended because the pool has more than it needs; `threads` workers remain. */
    void (*left)(struct hora__observer *observer, int threads);
    /* The system refused to start the thread of a worker, with this error. */
    void (*thread_failed)(struct hora__observer *observer, int error);
    /* `count` planned times of a series were missed, and will not be made up for. */
    void (*skipped)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* The scheduled task that the calling worker has just run has failed; `ends`: no run will follow. */
    void (*failed)(struct hora__observer *observer, hora_future *future, bool ends,
                   int64_t failures_in_a_row);
    /* The machine was suspended for `suspended`, or the wall clock was set by `stepped`, which may be
     * negative; `overdue` tasks were overdue at that moment. */
    void (*clock_stepped)(struct hora__observer *observer, hora_ns suspended, hora_ns stepped, int overdue);
    /* Only if the pool measures: a task of this name was submitted (`by` is 1), or the submission failed and
     * is taken back (-1). */
    void (*submitted)(struct hora__observer *observer, const char *name, int by);
    /* Only if the pool measures: a task of this name was cancelled. The lock of its future may be held. */
    void (*cancelled)(struct hora__observer *observer, const char *name);
    /* `count` runs of a series were too late and are skipped; or a task that runs once was, and has
     * failed. */
    void (*expired)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* Ends all threads of the observer. The pool is about to be freed and has no workers any more. */
    void (*pool_ends)(struct hora__observer *observer);
    /* Returns whether the calling thread belongs to the observer. Such a thread must not free the pool. */
    bool (*is_own_thread)(struct hora__observer *observer);
};

/* The part of an observer that the pool reads. All fields but `references` are immutable. */
struct hora__observer {
    const struct hora__observer_kind *kind;
    hora__atomic references; /* one of the pool, and one of each extra: futures may outlive their pool */
    bool needs_futures;      /* each task needs a future; the pool queues no detached tasks */
    bool needs_extras;       /* each task needs an extra, too */
    bool needs_clocks;       /* a scheduler must watch for steps of its clocks */
    bool measures;           /* the pool stamps each task when it accepts it */
    bool counts_ticks;       /* stamps are ticks of the processor, not nanoseconds of the pool's clock */
    /* counts_ticks: how to read ticks. */
    struct hora__ticker ticker;
};

/* Returns the current time, in the unit of the observer's stamps. */
static inline int64_t hora__observer_stamp(const struct hora__observer *observer, const hora_clock *clock)
{
    return observer->counts_ticks ? hora__ticks(&observer->ticker) : hora_clock_now(clock);
}

/* Releases a reference; the last one frees the observer. NULL is allowed. */
static inline void hora__observer_unref(struct hora__observer *observer)
{
    if (observer != NULL && hora__atomic_add(&observer->references, -1) == 1)
        observer->kind->free(observer);
}

/* Checks the options metrics, admission, watchdog, listener, context_hooks, grow_after and dump. This and the
 * next two functions are in src/observe. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__observer_check(const hora_pool_options *options,
                                                             hora_error *reason);

/* Returns whether options that have been checked ask for admission control. If so, *ret_ageing is the waiting
 * time that is worth one level of priority. */
bool hora__observer_admits(const hora_pool_options *options, hora_ns *ret_ageing);

/* Makes the observer of a pool that is being made. *ret_observer is NULL if the options ask for none.
 * HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__observer_new(hora_pool *pool, const hora_pool_options *options,
                                                           struct hora__observer **ret_observer);

#endif
