/* SPDX-License-Identifier: Apache-2.0 */
/* measures.c - counting and measuring; see measures.h
 *
 * Invariants        I1 statistics have at most one writer at a time: the worker that has taken them.
 *                   I2 statistics, once listed, stay listed until the observer ends. */
#include "observe/measures.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sched/overlap.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

/* ---- creation and end ---- */

int hora__measures_new(struct hora__pool_observer *pool_observer, struct hora__measures **ret_measures)
{
    struct hora__measures *measures = hora__alloc(1, sizeof *measures);
    if (measures == NULL)
        return HORA_ENOMEM;
    int error = hora__names_init(&measures->names, pool_observer->options.names);
    if (error == 0) {
        error = hora__mutex_init(&measures->lock, HORA__RANK_NAMES);
        if (error < 0)
            hora__names_destroy(&measures->names);
    }
    if (error < 0) {
        hora__free(measures);
        return error;
    }
    measures->measured = pool_observer->options.measured;
    hora__atomic_pointer_init(&measures->first, NULL);
    *ret_measures = measures;
    return 0;
}

/* Frees the statistics of a worker. `room` is the size of by_name. */
static void free_stats(struct hora__worker_stats *worker_stats, int room)
{
    for (int i = 0; i < room; i++)
        hora__free(hora__atomic_pointer_load(&worker_stats->by_name[i]));
    hora__free(worker_stats);
}

void hora__measures_free(struct hora__measures *measures)
{
    if (measures == NULL)
        return;
    struct hora__worker_stats *worker_stats = hora__atomic_pointer_load(&measures->first);
    while (worker_stats != NULL) {
        struct hora__worker_stats *next = worker_stats->next;
        assert(!worker_stats->is_taken);
        free_stats(worker_stats, hora__names_room(&measures->names));
        worker_stats = next;
    }
    hora__mutex_destroy(&measures->lock);
    hora__names_destroy(&measures->names);
    hora__free(measures);
}

/* ---- statistics of workers ---- */

/* Makes statistics, taken by the calling worker, with an entry for tasks without a name. That entry always
 * exists, so that there is a place to count if memory runs out later. Returns NULL if there is no memory. */
static struct hora__worker_stats *new_stats(struct hora__measures *measures)
{
    size_t room = (size_t)hora__names_room(&measures->names);
    struct hora__worker_stats *worker_stats =
        hora__alloc(1, sizeof *worker_stats + room * sizeof worker_stats->by_name[0]);
    struct hora__task_stats *stats = worker_stats != NULL ? hora__alloc(1, sizeof *stats) : NULL;
    if (stats == NULL) {
        hora__free(worker_stats);
        return NULL;
    }
    hora__atomic_pointer_init(&worker_stats->by_name[0], stats);
    worker_stats->is_taken = true;
    return worker_stats;
}

/* Takes statistics that a former worker has left; NULL: all are in use. The lock orders this after the last
 * write of that worker. */
static struct hora__worker_stats *take_unused_locked(struct hora__measures *measures)
{
    assert(hora__mutex_held(&measures->lock));
    struct hora__worker_stats *worker_stats = hora__atomic_pointer_load(&measures->first);
    while (worker_stats != NULL && worker_stats->is_taken && !HORA__FAULT(WORKER_STATS_SHARED))
        worker_stats = worker_stats->next;
    if (worker_stats != NULL)
        worker_stats->is_taken = true; /* I1 */
    return worker_stats;
}

/* Allocates without the lock. Readers go through the list without it, so the new statistics are complete
 * before they are published at its front. */
int hora__worker_stats_take(struct hora__measures *measures, struct hora__worker_stats **ret_stats)
{
    *ret_stats = NULL;
    if (!measures->measured)
        return 0;
    hora__mutex_lock(&measures->lock);
    *ret_stats = take_unused_locked(measures);
    hora__mutex_unlock(&measures->lock);
    if (*ret_stats != NULL)
        return 0;
    struct hora__worker_stats *worker_stats = new_stats(measures);
    if (worker_stats == NULL)
        return HORA_ENOMEM;
    hora__mutex_lock(&measures->lock);
    worker_stats->next = hora__atomic_pointer_load(&measures->first);
    HORA__ORDER_FAULT(WORKER_STATS_ADDED_RELAXED, memory_order_relaxed);
    (void)hora__atomic_pointer_cas(&measures->first, worker_stats->next, worker_stats); /* I2 */
    hora__mutex_unlock(&measures->lock);
    *ret_stats = worker_stats;
    return 0;
}

/* The statistics stay listed (I2): their counts remain part of every sum. */
void hora__worker_stats_leave(struct hora__measures *measures, struct hora__worker_stats *worker_stats)
{
    if (worker_stats == NULL)
        return;
    hora__mutex_lock(&measures->lock);
    assert(worker_stats->is_taken); /* I1 */
    worker_stats->is_taken = false;
    if (HORA__FAULT(WORKER_STATS_LOST) && hora__atomic_pointer_load(&measures->first) == worker_stats)
        (void)hora__atomic_pointer_cas(&measures->first, worker_stats, worker_stats->next);
    hora__mutex_unlock(&measures->lock);
}

/* By I1 the compare-and-swap cannot fail; it publishes the new statistics to readers. */
struct hora__task_stats *hora__measures_make(struct hora__worker_stats *worker_stats, int index)
{
    assert(worker_stats->is_taken && index > 0);
    struct hora__task_stats *stats = hora__alloc(1, sizeof *stats);
    if (stats == NULL)
        return hora__atomic_pointer_load(&worker_stats->by_name[0]);
    (void)hora__atomic_pointer_cas(&worker_stats->by_name[index], NULL, stats);
    return stats;
}

/* ---- around a run ---- */

/* An overlapping run has its own planned time; everything else is that of its series. The offset of a series
 * is added to each planned time. */
hora_ns hora__measures_lateness(hora_future *future)
{
    if (future == NULL)
        return -1;
    bool is_overlapping = future->kind == HORA__FUTURE_OVERLAPPING;
    struct hora__scheduled *scheduled =
        hora__scheduled_of(is_overlapping ? hora__overlap_series(future) : future);
    if (scheduled == NULL)
        return -1;
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora_ns planned = scheduled->planned;
    hora__mutex_unlock(&scheduled->queue->object.lock);
    if (is_overlapping)
        planned = hora__overlap_planned(future);
    hora_ns now = hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled));
    return hora__ns_max(hora__ns_sub(now, hora__ns_add(planned, hora__scheduled_offset(scheduled))), 0);
}

/* Returns how late the run is; < 0: it is not scheduled. Only schedulers have scheduled tasks, and their
 * stamps are nanoseconds. For a detached task of a scheduler `came` is its due time. */
static hora_ns late_now(const struct hora__worker_record *record, hora_future *future, int64_t now)
{
    if (record->pool_observer->pool->kind == NULL)
        return -1;
    return future != NULL ? hora__measures_lateness(future)
                          : hora__ns_max(hora__ns_sub(now, record->worker_observer.came), 0);
}

/* A pool that has a listener for tasks, but no metrics, needs the times and has no statistics to record them
 * in. */
struct hora__run_start hora__measures_begins(struct hora__worker_record *record, struct hora__frame *frame,
                                             hora_future *future, const hora_task *task, int64_t now)
{
    const struct hora__name *name = hora__names_get(&record->pool_observer->measures->names, task->name);
    struct hora__run_start start = {.name = name->text, .waited = -1, .late = -1};
    if (!record->pool_observer->base.measures)
        return start;
    /* A scheduled task could have begun at its planned time, so it has waited since then. */
    start.late = late_now(record, future, now);
    start.waited = start.late;
    if (start.late < 0 && record->worker_observer.came != HORA_NEVER)
        start.waited = hora__ns_max(now - record->worker_observer.came, 0);
    if (record->worker_stats == NULL)
        return start;
    struct hora__task_stats *stats = hora__measures_of(record->worker_stats, name->index);
    frame->stats = stats;
    hora__counter_add_alone_publish(&stats->started, 1);
    if (start.waited >= 0)
        hora__histogram_record(&stats->times[HORA_METRIC_WAIT], start.waited);
    if (start.late >= 0)
        hora__histogram_record(&stats->times[HORA_METRIC_LATENESS], start.late);
    return start;
}

/* ---- called by any thread ---- */

/* Adds to a counter that readers compare with others, so it publishes the new value. */
static void add_count(struct hora__pool_observer *pool_observer, const char *name, enum hora__count_kind kind,
                      int64_t count)
{
    if (pool_observer->options.measured)
        hora__counter_add_publish(&hora__names_get(&pool_observer->measures->names, name)->counts[kind],
                                  count);
}

/* A series may skip a number of runs near INT64_MAX, so the sum saturates instead of overflowing. */
void hora__measures_count_event(struct hora__pool_observer *pool_observer, const char *name,
                                enum hora__count_kind kind, int64_t count)
{
    assert(kind < HORA__COUNT_KINDS);
    if (!pool_observer->options.measured)
        return;
    hora__counter *counter = &hora__names_get(&pool_observer->measures->names, name)->counts[kind];
    int64_t before = hora__counter_read(counter);
    hora__counter_add(counter, hora__ns_add(before, count) - before);
}

void hora__measures_submitted(struct hora__observer *observer, const char *name, int by)
{
    add_count(hora__pool_observer_of(observer), name, HORA__COUNT_SUBMITTED, by);
}

void hora__measures_cancelled(struct hora__observer *observer, const char *name)
{
    add_count(hora__pool_observer_of(observer), name, HORA__COUNT_CANCELLED, 1);
}
