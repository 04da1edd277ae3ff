/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - where src/observe hangs on: what a pool tells those who see and steer it
 *
 * A pool without observation has none, and each of these calls is one test of a pointer. All are called with no lock held, unless it says otherwise. */
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
    /* The pool is gone: its reference is given back. And: the last one is. */
    void (*pool_gone)(struct hora__observer *observer);
    void (*free)(struct hora__observer *observer);
    /* A worker is made: returns its observer. HORA_ENOMEM. The next one: the worker has ended. */
    int (*add_worker)(struct hora__observer *observer, struct hora__worker *worker,
                      struct hora__worker_observer **ret_worker_observer);
    void (*remove_worker)(struct hora__observer *observer, struct hora__worker_observer *worker_observer);
    /* A task was refused by the pool: its threads do not run it. future NULL: it has none. `why` is static. */
    void (*rejected)(struct hora__observer *observer, hora_future *future, const hora_task *task,
                     const char *why);
    /* A task has been put into the queue. And: a worker has left because there were more than are needed; so many are left. */
    void (*queued)(struct hora__observer *observer);
    void (*left)(struct hora__observer *observer, int threads);
    void (*thread_failed)(struct hora__observer *observer, int error);
    /* Planned times of a series were missed, and are not made up. */
    void (*skipped)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* The scheduled task that the calling worker has just run has failed; `ends`: no run will follow. */
    void (*failed)(struct hora__observer *observer, hora_future *future, bool ends,
                   int64_t failures_in_a_row);
    void (*clock_stepped)(struct hora__observer *observer, hora_ns suspended, hora_ns stepped, int overdue);
    /* A pool that measures: a task of a name has been submitted, or, by -1, was not after all; and: a task has been cancelled, perhaps with
     * the lock of its future held. */
    void (*submitted)(struct hora__observer *observer, const char *name, int by);
    void (*cancelled)(struct hora__observer *observer, const char *name);
    /* So many runs of a series came too late, and are dropped; or a task that runs once. */
    void (*expired)(struct hora__observer *observer, hora_future *future, int64_t count);
    /* The pool is about to be freed, and its workers are gone: end all threads that observation has. And: whether the calling thread is one of these. */
    void (*pool_ends)(struct hora__observer *observer);
    bool (*is_me)(struct hora__observer *observer);
};

struct hora__observer {
    const struct hora__observer_kind *kind;
    hora__atomic references; /* the pool's, and one of each extra: futures may outlive their pool */
    bool needs_futures;      /* each task has one; immutable, as what follows */
    bool needs_extras;       /* each task has that, too */
    bool needs_clocks;       /* a scheduler watches its clocks */
    bool measures;           /* when tasks come is noted */
    bool counts_ticks;       /* times are ticks, not nanoseconds of the pool's clock */
    struct hora__ticker ticker;
};

static inline int64_t hora__observer_stamp(const struct hora__observer *observer, const hora_clock *clock)
{
    return observer->counts_ticks ? hora__ticks(&observer->ticker) : hora_clock_now(clock);
}

static inline void hora__observer_unref(struct hora__observer *observer)
{
    if (observer != NULL && hora__atomic_add(&observer->references, -1) == 1)
        observer->kind->free(observer);
}

/* src/observe: check metrics, admission, watchdog, listener, context_hooks, grow_after and dump. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__observer_check(const hora_pool_options *options,
                                                             hora_error *reason);

/* Whether options that are right want admission control; and then what a level of priority is worth. */
bool hora__observer_admits(const hora_pool_options *options, hora_ns *ret_ageing);

/* Make one for a pool that is being made; NULL if its options ask for nothing of it. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__observer_new(hora_pool *pool, const hora_pool_options *options,
                                                           struct hora__observer **ret_observer);

#endif
