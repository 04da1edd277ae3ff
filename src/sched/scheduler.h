/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - the scheduler's state, shared by the files that implement it: scheduler.c, schedule_with.c,
 * sweep.c, timer.c, series.c, clocks.c, overlap.c
 *
 * A scheduler is a pool with a timer queue as its work source. The pool calls the scheduler through struct
 * hora__pool_kind; the functions below that say so are members of that table. */
#ifndef HORA_SCHED_SCHEDULER_H
#define HORA_SCHED_SCHEDULER_H

#include <assert.h>
#include <hora/scheduler.h>

#include "exec/pool.h"
#include "sched/scheduled.h"

/* A pool and the few settings that only a scheduler has. */
struct hora__scheduler {
    /* Must be first: a hora_scheduler pointer is a pointer to this pool, and scheduler.c casts between
     * the two. */
    hora_pool pool;
    /* The two rules for the time after shutdown, 0 or 1. Setters store them without a lock and then sweep
     * the timer queue; see "After shutdown" in scheduler.c. cancel_delayed: one-shot tasks that are not
     * due are cancelled. continue_periodic: series keep running. */
    hora__atomic cancel_delayed;
    hora__atomic continue_periodic;
    /* Immutable from here on. The user's decorator, called for each task before it is accepted; NULL:
     * none. */
    hora_decorate_fn decorate;
    /* No decorator and no observer: hora_scheduler_schedule may take its shortest path, schedule_simply.
     * Always false in a build with HORA_SIMPLE. */
    bool is_simple;
    /* Hooks, a decorator or an observer must see each run of a hora_timer, or admission decides about it
     * (a scheduler with admission has an observer). Timers then take the longer path in timer.c. */
    bool shows_timers;
    /* Link in the process-wide list of schedulers, by which a timer finds out whether its scheduler still
     * exists; see sys/process.h. */
    struct hora__list roster;
};

/* Returns the scheduler of a pool; NULL if the pool is NULL or a plain pool. */
struct hora__scheduler *hora__scheduler_of(hora_pool *pool);

/* Returns whether a task may still run, given the pool's run state and, after shutdown, the two rules
 * above. Takes the timer queue's lock after shutdown, so the caller must not hold it. */
bool hora__scheduler_lets_run(hora_pool *pool, hora_future *future);

/* Returns whether there is at least one worker, and no fewer than core_threads. */
static inline bool hora__scheduler_is_staffed(const hora_pool *pool)
{
    assert(pool != NULL);
    int count = hora__count_of(hora__atomic_load(&pool->control));
    return count > 0 && count >= hora__atomic_load(&pool->core_threads);
}

/* Start a worker if there are fewer than core_threads, or none at all. Returns 0 if at least one worker
 * exists afterwards; otherwise the reason why none could be started. HORA_ESHUTDOWN: the pool is stopped,
 * or is shut down and its queue is empty. */
int hora__scheduler_staff(hora_pool *pool);

/* A detached task or timer has been inserted under this number: make sure that there is a worker. If none
 * can be started, withdraw the task and return the reason. Returns 0 if a worker exists or the task is no
 * longer queued. */
__attribute__((warn_unused_result)) int hora__scheduler_staff_detached(hora_pool *pool, bool is_timer,
                                                                       uint64_t number);

/* Check the arguments of a scheduling call: HORA_EINVAL if `pool` is no scheduler or the task has no
 * function, HORA_EFORKED if the scheduler belongs to the parent process. */
__attribute__((warn_unused_result)) int hora__scheduler_check(hora_pool *pool, const hora_task *task);
/* Schedule a task by a plan. If ret_future is NULL, the caller gets no reference, and the task may be
 * queued without a future. On error the task still belongs to the caller. */
__attribute__((warn_unused_result)) int hora__scheduler_schedule(hora_pool *pool, const hora_task *task,
                                                                 const struct hora__scheduled_plan *plan,
                                                                 hora_future **ret_future);

/* Do what hora_scheduler_schedule_with does, but leave the task paused until the caller resumes it.
 * Returns HORA_EEMPTY, without filling in `reason`, if the task would never run: its trigger or `next`
 * returns no time, or the end of the schedule comes first. Implemented in schedule_with.c. */
__attribute__((warn_unused_result)) int hora__schedule_paused(hora_scheduler *scheduler,
                                                              const hora_task *task,
                                                              const hora_schedule *spec,
                                                              hora_future **ret_future, hora_error *reason);

/* ---- sweep.c ---- */

/* Members of struct hora__pool_kind. After shutdown, hora__scheduler_sweep cancels the tasks that the
 * rules do not let run. After a stop, hora__scheduler_stopped cancels the timers, which cannot be handed
 * back as futures. */
void hora__scheduler_sweep(hora_pool *pool);
void hora__scheduler_stopped(hora_pool *pool);

/* A member of struct hora__pool_kind: fill in the two rules for hora_pool_get_stats. */
void hora__scheduler_read_settings(const hora_pool *pool, hora_pool_stats *stats);

/* ---- timer.c ---- */

/* The task that hooks and listeners see when a timer runs, except for its argument. */
extern const hora_task hora__timer_task;

/* Members of struct hora__pool_kind. Run the timer that the worker has taken; clean up after a timer
 * function or hook that ended its thread. */
bool hora__scheduler_run_timer(struct hora__worker *worker);
void hora__scheduler_abandon_timer(struct hora__worker *worker);

/* ---- series.c: what the pool asks; see struct hora__pool_kind ---- */

/* Members of struct hora__pool_kind, in the order in which a worker calls them for an entry: decide
 * whether a taken entry runs, moves to a later time or ends (`admit`); run it; run it if its run has
 * already begun; record that it failed outside of its body; put it back for its next run. */
hora_future *hora__series_decide(hora_pool *pool, hora_future *future);
bool hora__series_run(hora_pool *pool, hora_future *future, hora_thread *thread);
bool hora__series_run_begun(hora_pool *pool, struct hora__series_run *note, hora_thread *thread);
void hora__series_abandoned(hora_pool *pool, hora_future *future, int code);
bool hora__series_put_back(hora_pool *pool, hora_future *future, bool has_just_ended);

/* Record that the run for `planned` begins at `now`; with the timer queue's lock. */
void hora__series_begins_locked(struct hora__scheduled *scheduled, hora_ns planned, hora_ns now);
/* Undo hora__series_begins_locked for a run that was cancelled before its body was called. */
void hora__series_did_not_begin(struct hora__scheduled *scheduled);
/* Record that a run has ended with this code. Returns whether the rule for failures lets the series
 * continue; *ret_in_a_row is the number of consecutive failures so far. */
bool hora__series_survives(struct hora__scheduled *scheduled, int code, int64_t *ret_in_a_row);
/* Report a failed run to the observer, if there is one; nothing to do if `code` is 0. `over`: the series
 * ends. The caller holds no lock. */
void hora__series_tell(hora_pool *pool, struct hora__scheduled *scheduled, int code, bool over,
                       int64_t in_a_row);

/* Returns whether a planned time, with its offset already added, lies after the end of the schedule. */
bool hora__series_is_after_end(const hora_schedule *rules, const hora_queue *queue, enum hora__timeline line,
                               hora_ns planned);

/* Plan the run of an overlapping series after the one that begins. Returns its planned time, or HORA_NEVER if
 * the series has no further run. */
hora_ns hora__series_next(hora_pool *pool, struct hora__scheduled *scheduled);

/* Report to the observer that planned times were skipped. The caller holds no lock. */
void hora__series_tell_skipped(hora_pool *pool, struct hora__scheduled *scheduled, int64_t count);

/* ---- clocks.c ---- */

/* Start to watch for a wall clock that is set and for a machine that was suspended. Idempotent. */
void hora__clocks_watch(hora_pool *pool);
/* A worker was woken because such a change was seen: handle it. A member of struct hora__pool_kind. */
void hora__clocks_look(hora_pool *pool);

/* With the timer queue's lock: mark the planned times that this change has made stale, and make their
 * entries due at once, so that the worker that takes one computes the time again. */
void hora__clocks_mark_stale(hora_queue *queue, enum hora__staleness staleness);

#endif
