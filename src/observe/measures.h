/* SPDX-License-Identifier: Apache-2.0 */
/* measures.h - what is counted and measured, for a pool and for each task name
 *
 * How it works      Each worker has statistics for every name of which it has run a task, and for tasks
 *                   without a name. Only that worker writes them, without a lock. Readers add up those of
 *                   all workers; the pool's numbers are the sum over all names. When a worker ends, its
 *                   statistics stay, and the next worker goes on with them. So nothing is lost or counted
 *                   twice, and there are only as many as there ever were workers at the same time.
 * Units             Times are stamps: ticks or nanoseconds. Readers convert them.
 * Names             A pool without metrics knows names, too, for its dumps. */
#ifndef HORA_OBSERVE_MEASURES_H
#define HORA_OBSERVE_MEASURES_H

#include <hora/metrics.h>

#include "observe/histogram.h"
#include "observe/names.h"
#include "observe/observer.h"

struct hora__task_stats {
    hora__counter started;
    hora__counter done;
    hora__counter failed;
    struct hora__histogram times[HORA_METRIC_RUN + 1]; /* indexed by hora_metric */
};

struct hora__worker_stats {
    struct hora__worker_stats *next; /* immutable */
    bool is_taken;                   /* in use by a worker; the lock of the measures guards it */
    hora__atomic_pointer by_name[];  /* indexed by name; NULL: none yet */
};

struct hora__measures {
    struct hora__names names;
    bool measured;    /* immutable */
    hora__mutex lock; /* rank NAMES */
    /* all there are; new ones are added at the front, under the lock */
    hora__atomic_pointer first;
};

__attribute__((warn_unused_result)) int hora__measures_new(struct hora__pool_observer *pool_observer,
                                                           struct hora__measures **ret_measures);
void hora__measures_free(struct hora__measures *measures);

/* Returns statistics for a worker, or NULL in *ret_stats if the pool does not measure; leave makes them
 * available again. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__worker_stats_take(struct hora__measures *measures,
                                                                struct hora__worker_stats **ret_stats);
void hora__worker_stats_leave(struct hora__measures *measures, struct hora__worker_stats *worker_stats);

/* Called by the worker when a run begins and after it has ended. Times are stamps. */
struct hora__run_start hora__measures_begins(struct hora__worker_record *record, struct hora__frame *frame,
                                             hora_future *future, const hora_task *task, int64_t now);
/* The same for a detached task in a pool that counts ticks. Returns its name. */
const char *hora__measures_begins_alone(struct hora__worker_record *record, struct hora__frame *frame,
                                        const hora_task *task, int64_t now);
void hora__measures_ended(struct hora__frame *frame, int code, int64_t ran);

/* Returns how late a scheduled run is now, on the clock that it follows; < 0: it is not scheduled. */
hora_ns hora__measures_lateness(hora_future *future);

/* Any thread: `count` events of this kind have happened to a task of this name. */
void hora__measures_count_event(struct hora__pool_observer *pool_observer, const char *name,
                                enum hora__count_kind kind, int64_t count);

/* Called through struct hora__observer_kind. */
void hora__measures_submitted(struct hora__observer *observer, const char *name, int by);
void hora__measures_cancelled(struct hora__observer *observer, const char *name);

/* ---- readings.c ---- */

/* Add the measurements under a name; NULL: of the whole pool. */
void hora__measures_add(struct hora__measures *measures, const struct hora__name *name, hora_metric measure,
                        struct hora__distribution *sum);
void hora__measures_count(struct hora__measures *measures, const struct hora__name *name,
                          hora_counts *ret_counts);

/* Returns the number of names seen so far, and the names in alphabetical order, which the caller frees; or
 * HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__measures_names(struct hora__measures *measures,
                                                             const struct hora__name ***ret_names);

/* Converts stamps to times. */
struct hora__scale hora__measures_scale(const struct hora__pool_observer *pool_observer);

/* Of a pool that measures: how long the longest waiting task has waited, and by how much the most overdue
 * task is late; 0: there is none. */
void hora__measures_waiting(hora_pool *pool, hora_ns *ret_oldest, hora_ns *ret_latest);

/* The stamp of the submission of a future that waits in a plain pool that measures; HORA_FOREVER: it is done,
 * or another pool runs it. */
int64_t hora__measures_came(const hora_pool *pool, hora_future *future);

/* The same for a detached task in its cell of the queue. */
int64_t hora__measures_cell_came(const hora_task *task);

/* How long ago a stamp was taken. */
hora_ns hora__measures_ago(const hora_pool *pool, int64_t stamp);

#endif
