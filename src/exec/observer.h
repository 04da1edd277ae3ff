/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - how a pool tells src/observe of the things that happen in it
 *
 * A pool that is not observed has no observer, and each of these calls is one test of a pointer. The pool
 * makes all of them with no lock held, unless a comment says otherwise. */
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

struct hora__observer_kind {
    /* The pool is gone, and gives its reference back. */
    void (*pool_gone)(struct hora__observer *observer);
    /* The last reference is gone. */
    void (*free)(struct hora__observer *observer);
    /* A worker is made: makes its observer. HORA_ENOMEM. The second function: the worker has ended. */
    int (*add_worker)(struct hora__observer *observer, struct hora__worker *worker,
                      struct hora__worker_observer **ret_worker_observer);
    void (*remove_worker)(struct hora__observer *observer, struct hora__worker_observer *worker_observer);
    /* The pool has refused a task: its threads do not run it. future NULL: the task has none. `why` is
     * static. */
    void (*rejected)(struct hora__observer *observer, hora_future *future, const hora_task *task,
                     const char *why);
    /* A task has been put into the queue. */
    void (*queued)(struct hora__observer *observer);
    /* A worker has left because there were more than the pool needs; so many are left. */
    void (*left)(struct hora__observer *observer, int threads);
    /* A thread for a worker could not be started. */
    void (*thread_failed)(struct hora__observer *observer, int error);
    /* Planned times of a series were missed, and are not made up. */
    void (*skipped)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* The scheduled task that the calling worker has just run has failed; `ends`: no run will follow. */
    void (*failed)(struct hora__observer *observer, hora_future *future, bool ends,
                   int64_t failures_in_a_row);
    /* The wall clock was set, or the machine was suspended, by so much; so many tasks were overdue then. */
    void (*clock_stepped)(struct hora__observer *observer, hora_ns suspended, hora_ns stepped, int overdue);
    /* A pool that measures: a task of this name has been submitted; by -1: it was not, after all. */
    void (*submitted)(struct hora__observer *observer, const char *name, int by);
    /* A pool that measures: a task of this name has been cancelled. The lock of its future may be held. */
    void (*cancelled)(struct hora__observer *observer, const char *name);
    /* So many runs of a series, or a task that runs once, came too late and are dropped. */
    void (*expired)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* The pool is about to be freed, and its workers are gone: ends all threads of the observer. */
    void (*pool_ends)(struct hora__observer *observer);
    /* Whether the calling thread is one of the observer's. */
    bool (*is_me)(struct hora__observer *observer);
};

struct hora__observer {
    const struct hora__observer_kind *kind;
    hora__atomic references; /* the pool's, and one of each extra: futures may outlive their pool */
    bool needs_futures;      /* each task needs a future; this and the following fields are immutable */
    bool needs_extras;       /* each task needs an extra, too */
    bool needs_clocks;       /* a scheduler has to watch its clocks */
    bool measures;           /* the pool notes when tasks come */
    bool counts_ticks;       /* stamps are ticks, not nanoseconds of the pool's clock */
    /* with counts_ticks: how ticks are read */
    struct hora__ticker ticker;
};

/* The present time, in the unit of the observer's stamps. */
static inline int64_t hora__observer_stamp(const struct hora__observer *observer, const hora_clock *clock)
{
    return observer->counts_ticks ? hora__ticks(&observer->ticker) : hora_clock_now(clock);
}

static inline void hora__observer_unref(struct hora__observer *observer)
{
    if (observer != NULL && hora__atomic_add(&observer->references, -1) == 1)
        observer->kind->free(observer);
}

/* In src/observe: checks the options metrics, admission, watchdog, listener, context_hooks, grow_after and
 * dump. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__observer_check(const hora_pool_options *options,
                                                             hora_error *reason);

/* Whether options that have been checked ask for admission control; *ret_ageing is then the waiting time that
 * is worth one level of priority. */
bool hora__observer_admits(const hora_pool_options *options, hora_ns *ret_ageing);

/* Makes the observer of a pool that is being made; NULL: the options ask for none. HORA_ENOMEM,
 * HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__observer_new(hora_pool *pool, const hora_pool_options *options,
                                                           struct hora__observer **ret_observer);

#endif
