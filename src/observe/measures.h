/* SPDX-License-Identifier: Apache-2.0 */
/* measures.h - counts and measurements, for a pool and for each task name
 *
 * How it works      Each worker has statistics for every name of which it has run a task, and for tasks
 *                   without a name. Only that worker writes them, without a lock. Readers add up those of
 *                   all workers; the pool's numbers are the sum over all names. When a worker ends, its
 *                   statistics stay, and the next new worker continues them. So nothing is lost or counted
 *                   twice, and there are only as many as there ever were workers at the same time.
 * Units             Times are stamps (hora__observer_stamp): ticks, which are cheap to read, or nanoseconds
 *                   of the pool's clock. Only readers convert them, with hora__measures_scale.
 * Names             A pool with an observer but without metrics also stores names, for its dumps and
 *                   events. */
#ifndef HORA_OBSERVE_MEASURES_H
#define HORA_OBSERVE_MEASURES_H

#include <assert.h>
#include <hora/metrics.h>

#include "observe/histogram.h"
#include "observe/names.h"
#include "observe/observer.h"

/* The statistics of one worker for one name. Only the worker writes them. It increments `started` before
 * `done` or `failed`, and readers read these in the opposite order. */
struct hora__task_stats {
    hora__counter started;
    hora__counter done;                                /* runs whose body returned 0 */
    hora__counter failed;                              /* runs whose body returned another code */
    struct hora__histogram times[HORA_METRIC_RUN + 1]; /* indexed by hora_metric; values are stamps */
};

/* The statistics of one worker, and later of the workers that continue them. */
struct hora__worker_stats {
    struct hora__worker_stats *next; /* the statistics made before these; immutable once listed */
    bool is_taken;                   /* in use by a worker; the lock of the measures guards it */
    /* struct hora__task_stats, indexed by hora__name.index; NULL: the worker has run no task of that name.
     * Entry 0, for tasks without a name, always exists. */
    hora__atomic_pointer by_name[];
};

struct hora__measures {
    struct hora__names names;
    bool measured;    /* the pool has metrics; immutable */
    hora__mutex lock; /* rank NAMES; guards is_taken and the additions to the list */
    /* All struct hora__worker_stats, the newest first. Read without the lock. */
    hora__atomic_pointer first;
};

/* Makes the measures of an observer whose options are complete. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__measures_new(struct hora__pool_observer *pool_observer,
                                                           struct hora__measures **ret_measures);

/* Frees them. No worker may have statistics any more. NULL is allowed. */
void hora__measures_free(struct hora__measures *measures);

/* take gives a new worker statistics that no other worker uses, or NULL in *ret_stats if the pool has no
 * metrics. leave makes them available to the next worker; NULL is allowed. take returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__worker_stats_take(struct hora__measures *measures,
                                                                struct hora__worker_stats **ret_stats);
void hora__worker_stats_leave(struct hora__measures *measures, struct hora__worker_stats *worker_stats);

/* Counts the start of a run and records how long its task has waited. Sets frame->stats if the pool has
 * metrics. The worker calls it when a run begins. `now` is the stamp of the start. */
struct hora__run_start hora__measures_begins(struct hora__worker_record *record, struct hora__frame *frame,
                                             hora_future *future, const hora_task *task, int64_t now);

/* Makes the statistics of a name at its first use. If there is no memory, it returns those of tasks without a
 * name. Only the worker that has taken worker_stats calls it. */
struct hora__task_stats *hora__measures_make(struct hora__worker_stats *worker_stats, int index);

/* Returns the statistics of the name with this index. */
HORA__INLINE struct hora__task_stats *hora__measures_of(struct hora__worker_stats *worker_stats, int index)
{
    assert(index >= 0);
    struct hora__task_stats *stats = hora__atomic_pointer_load(&worker_stats->by_name[index]);
    return __builtin_expect(stats != NULL, true) ? stats : hora__measures_make(worker_stats, index);
}

/* The short form of hora__measures_begins for a detached task in a pool whose stamps are ticks. Every such
 * task has the stamp of its submission, and none of them is scheduled. A task without a name needs no search:
 * its statistics are the first ones, which always exist. `name` may be NULL. Returns the statistics of the
 * run; NULL: the pool has no metrics. */
HORA__INLINE struct hora__task_stats *hora__measures_begins_alone(struct hora__worker_record *record,
                                                                  const struct hora__name *name, int64_t now)
{
    struct hora__worker_stats *worker_stats = record->worker_stats;
    if (worker_stats == NULL)
        return NULL;
    struct hora__task_stats *stats = name != NULL ? hora__measures_of(worker_stats, name->index)
                                                  : hora__atomic_pointer_load(&worker_stats->by_name[0]);
    hora__counter_add_alone_publish(&stats->started, 1);
    hora__histogram_record(&stats->times[HORA_METRIC_WAIT],
                           hora__ns_max(now - record->worker_observer.came, 0));
    return stats;
}

/* Counts the end of a run and records how long it has taken, as a stamp. The worker calls it after the run,
 * if frame->stats is set; `stats` is that. The count must release: a reader that sees the run as ended must
 * see that it has started, see readings.c. */
HORA__INLINE void hora__measures_ended(struct hora__task_stats *stats, int code, int64_t ran)
{
    assert(stats != NULL && ran >= 0);
    HORA__ORDER_FAULT(MEASURES_ENDED_RELAXED, memory_order_relaxed);
    hora__counter *ends = __builtin_expect(code == 0, true) ? &stats->done : &stats->failed;
    hora__counter_add_alone_publish(ends, 1);
    /* Last, so that a run that has been measured also counts as ended. */
    hora__histogram_record(&stats->times[HORA_METRIC_RUN], ran);
}

/* Returns how late a scheduled run is now, in nanoseconds of the timeline that it follows; < 0: it is not
 * scheduled. Takes the lock of its timer queue. */
hora_ns hora__measures_lateness(hora_future *future);

/* Counts `count` events of this kind for tasks of this name. Any thread may call it. Does nothing if the pool
 * has no metrics. */
void hora__measures_count_event(struct hora__pool_observer *pool_observer, const char *name,
                                enum hora__count_kind kind, int64_t count);

/* Count a submission (`by` is 1) or undo that (-1), and count a cancelled task. Called through struct
 * hora__observer_kind. */
void hora__measures_submitted(struct hora__observer *observer, const char *name, int by);
void hora__measures_cancelled(struct hora__observer *observer, const char *name);

/* ---- readings.c ---- */

/* Add the measurements and the counts of a name to *sum and *ret_counts; NULL: of the whole pool. Workers may
 * write them at the same time. */
void hora__measures_add(struct hora__measures *measures, const struct hora__name *name, hora_metric measure,
                        struct hora__distribution *sum);
void hora__measures_count(struct hora__measures *measures, const struct hora__name *name,
                          hora_counts *ret_counts);

/* Stores the names seen so far, in the order of their bytes, in an array that the caller frees. Returns their
 * number, or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__measures_names(struct hora__measures *measures,
                                                             const struct hora__name ***ret_names);

/* Returns the scale that converts stamps to nanoseconds. */
struct hora__scale hora__measures_scale(const struct hora__pool_observer *pool_observer);

/* Stores how long the longest waiting task of a pool that measures has waited, and by how much its most
 * overdue task is late; 0: there is none. The second is always 0 for a plain pool; for a scheduler both are
 * the same. */
void hora__measures_waiting(hora_pool *pool, hora_ns *ret_oldest, hora_ns *ret_latest);

/* Returns the stamp of the submission of a future that waits in a plain pool that measures; HORA_FOREVER: it
 * is done, or another pool runs it. Takes the future's lock. */
int64_t hora__measures_came(const hora_pool *pool, hora_future *future);

/* Returns the stamp of the submission of a detached task. `task` is the field of a struct hora__taken, as
 * hora__work_visit passes it. */
int64_t hora__measures_cell_came(const hora_task *task);

/* Returns how long ago a stamp was taken, in nanoseconds, >= 0. */
hora_ns hora__measures_ago(const hora_pool *pool, int64_t stamp);

#endif
