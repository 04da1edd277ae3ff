/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.h - the scheduler's state, shared by the files that make it up: scheduler.c, sweep.c,
 * timer.c, series.c, clocks.c, overlap.c */
#ifndef HORA_SCHED_SCHEDULER_H
#define HORA_SCHED_SCHEDULER_H

#include <assert.h>
#include <hora/scheduler.h>

#include "exec/pool.h"
#include "sched/scheduled.h"

struct hora__scheduler {
    hora_pool pool;              /* first: they begin at the same address */
    hora__atomic cancel_delayed; /* read by anyone, written under the pool's lock */
    hora__atomic continue_periodic;
    hora__atomic watches;      /* whether the clocks are watched; set once */
    hora_decorate_fn decorate; /* these are immutable */
    bool is_simple;            /* no decorator, and no observer */
    bool shows_timers;         /* a hook or an observer sees timers run, or there is admission */
    struct hora__list roster;  /* see sys/process.h */
};

/* NULL: a plain pool. */
struct hora__scheduler *hora__scheduler_of(hora_pool *pool);
const struct hora__scheduler *hora__scheduler_look_at(const hora_pool *pool);

/* Whether the run state, and the rules for what comes after shutdown, let a task run. */
bool hora__scheduler_lets_run(hora_pool *pool, hora_future *future);

/* Whether there are as many workers as there should be. */
static inline bool hora__scheduler_is_staffed(const hora_pool *pool)
{
    assert(pool != NULL);
    int count = hora__count_of(hora__atomic_load(&pool->control));
    return count > 0 && count >= hora__atomic_load(&pool->core_threads);
}

/* Make sure that there are core_threads workers, or at least one. 0, or why there is none; HORA_ESHUTDOWN:
 * the pool has ended. */
int hora__scheduler_staff(hora_pool *pool);

/* Check that a task can be scheduled here: HORA_EINVAL, HORA_EFORKED. Schedule it by a plan. */
__attribute__((warn_unused_result)) int hora__scheduler_check(hora_pool *pool, const hora_task *task);
__attribute__((warn_unused_result)) int hora__scheduler_schedule(hora_pool *pool, const hora_task *task,
                                                                 const struct hora__scheduled_plan *plan,
                                                                 hora_future **ret_future);

/* As hora_scheduler_schedule_with, but the task is paused until the caller resumes it. HORA_EEMPTY: it
 * would never run, because its trigger or `next` says so, or its end comes first. */
__attribute__((warn_unused_result)) int hora__schedule_paused(hora_scheduler *scheduler,
                                                              const hora_task *task,
                                                              const hora_schedule *spec,
                                                              hora_future **ret_future, hora_error *reason);

/* ---- sweep.c ---- */

/* See struct hora__pool_kind. */
void hora__scheduler_sweep(hora_pool *pool);
void hora__scheduler_stopped(hora_pool *pool);

/* A detached task has come in with this number: make sure that there is a worker. If none can be started,
 * the task is taken back, and the function returns why. */
__attribute__((warn_unused_result)) int hora__scheduler_staff_detached(hora_pool *pool, bool is_timer,
                                                                       uint64_t number);

/* ---- timer.c ---- */

/* Whether hooks or observation see timers run, or the scheduler has admission. */
bool hora__scheduler_shows_timers(const struct hora__scheduler *scheduler);

/* What hooks and listeners see of a timer, except its argument. */
extern const hora_task hora__timer_task;

/* See struct hora__pool_kind. */
bool hora__scheduler_run_timer(struct hora__worker *worker);
void hora__scheduler_abandon_timer(struct hora__worker *worker);

/* ---- series.c: what the pool asks; see struct hora__pool_kind ---- */

hora_future *hora__series_decide(hora_pool *pool, hora_future *future);
bool hora__series_run(hora_pool *pool, hora_future *future, hora_thread *thread);
bool hora__series_run_begun(hora_pool *pool, struct hora__series_run *note, hora_thread *thread);
void hora__series_abandoned(hora_pool *pool, hora_future *future, int code);
bool hora__series_put_back(hora_pool *pool, hora_future *future, bool has_just_ended);

/* A run has begun; it did not begin after all; it has ended with a code, and the function returns whether
 * the rule for failures lets the series go on. hora__series_tell tells the observer of a failure. */
void hora__series_begins_locked(struct hora__scheduled *scheduled, hora_ns planned, hora_ns now);
void hora__series_did_not_begin(struct hora__scheduled *scheduled);
bool hora__series_survives(struct hora__scheduled *scheduled, int code, int64_t *ret_in_a_row);
void hora__series_tell(hora_pool *pool, struct hora__scheduled *scheduled, int code, bool over,
                       int64_t in_a_row);

/* Whether a planned time, including its offset, lies after the end of the schedule. */
bool hora__series_is_after_end(const hora_schedule *rules, const hora_queue *queue, enum hora__timeline line,
                               hora_ns planned);

/* Plan the run after the one that has ended with this code; HORA_NEVER: there is none. */
hora_ns hora__series_next(hora_pool *pool, struct hora__scheduled *scheduled, int code);

/* Tell the observer that planned times were skipped. The caller holds no lock. */
void hora__series_tell_skipped(hora_pool *pool, struct hora__scheduled *scheduled, int64_t count);

/* ---- clocks.c ---- */

/* Start to watch for clocks that part; handle such a change. */
void hora__clocks_watch(hora_pool *pool);
void hora__clocks_look(hora_pool *pool);

/* With the lock: the entries whose planned time is stale for this reason become due, so that their worker
 * finds it anew. */
void hora__clocks_mark_stale(hora_queue *queue, enum hora__staleness staleness);

void hora__scheduler_read_settings(const hora_pool *pool, hora_pool_stats *stats);

#endif
