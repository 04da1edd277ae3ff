/* SPDX-License-Identifier: Apache-2.0 */
/* timer.c - timers in memory of the caller: start, cancel, stop and run
 *
 * Start             hora_timer_start inserts a timer into the timer queue like a task that runs once, into a
 *                   lane if possible, and books it as an accepted task. A timer has neither a future nor a
 *                   reference count. timer_queue_detached.c says who owns its memory at which time, and how a
 *                   timer is stopped. Once hora_timer_start has released the lock under which it inserts, the
 *                   function may have run, and restarted or freed the timer: start does not access the timer
 *                   any more.
 * Run               The worker has a copy of function and argument (struct hora__timer_run), and does not
 *                   access the timer. Without hooks and observers it calls the function and counts the
 *                   outcome. With them, it presents the run as a task without a future, named "timer", and
 *                   calls them in the same order as for other tasks.
 * Decorating        A timer has no memory for another task. So the worker decorates a copy just before the
 *                   run, and drops the copy right after it.
 * After shutdown    Start checks the pool's state under the lock under which it inserts. A thread that
 *                   changes the state sweeps the timer queue afterwards, and so finds the timer.
 * One scheduler     A timer does not move to another scheduler while its function runs. So only the scheduler
 *                   on which it was started last has to be asked whether it is pending or running. A timer
 *                   that is not pending may outlive that scheduler: see sys/process.h.
 * Observed          On a scheduler that shows its timers (shows_timers of struct hora__scheduler), no timer
 *                   uses a lane, and this file does the counting for metrics.
 * Invariants        I1 each timer that is taken is counted once, even if its function or a hook ends the
 *                   thread. The worker's `stage` says whether it has been counted. */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/ns.h"
#include "sched/detached.h"
#include "sched/scheduler.h"
#include "sys/probe.h"
#include "sys/process.h"

/* See hora/timer.h. HORA__WEAK_FORGET tells the simulator that the memory is used anew. */
int hora_timer_init(hora_timer *timer, hora_timer_fn run, void *arg)
{
    if (timer == NULL || run == NULL)
        return HORA_EINVAL;
    HORA__WEAK_FORGET(timer, sizeof *timer);
    *timer = (hora_timer)HORA_TIMER_INIT(run, arg);
    return 0;
}

bool hora_timer_is_pending(const hora_timer *timer)
{
    return timer != NULL &&
           hora__atomic_load(&((const struct hora__timer *)(const void *)timer)->task.pending) != 0;
}

/* ---- whether it runs ---- */

/* Returns whether a worker has taken the timer, so that its function may be running. */
static bool was_taken(const struct hora__timer *timer)
{
    return hora__atomic_load(&timer->taken) != 0;
}

/* Returns whether the scheduler on which the timer was started last still exists, in this process. Only the
 * address is used, so the scheduler may have been freed. */
static bool has_scheduler(const struct hora__timer *timer)
{
    const struct hora__scheduler *scheduler = (const struct hora__scheduler *)timer->task.pool;
    return scheduler != NULL &&
           (hora__roster_has(&scheduler->roster) || HORA__FAULT(TIMER_LEAVES_ROSTER_UNSEEN));
}

/* Returns 1 if the function of a timer that is not pending, but was taken, runs or is about to; 0 if it does
 * not; or HORA_EDEADLK. */
__attribute__((noinline)) static int is_running(const struct hora__timer *timer)
{
    assert(was_taken(timer));
    if (!has_scheduler(timer))
        return 0;
    int error = hora__pool_check(timer->task.pool);
    return error < 0 ? error : hora__timer_queue_runs_timer(timer);
}

/* ---- cancelling ---- */

/* Cancels a timer that was pending a moment ago. Returns whether it still was. */
static inline bool cancel(struct hora__timer *timer)
{
    assert(timer->task.pool != NULL);
    hora_pool *pool = timer->task.pool;
    enum hora__timer_cancel what = hora__timer_queue_cancel_timer(timer);
    /* Threads may wait for the cancellation: for an idle pool, or for its termination. */
    if (what == HORA__TIMER_REMOVED) {
        hora__pool_count_cancelled(pool, &hora__timer_task);
        hora__pool_cancelled(pool);
        hora__pool_try_terminate(pool);
    }
    return what != HORA__TIMER_NOT_THERE;
}

/* Returns the result of cancelling a timer that is not pending: RUNNING, TOO_LATE or an error. */
static inline int cancelled_too_late(const struct hora__timer *timer)
{
    int running = was_taken(timer) ? is_running(timer) : 0;
    return running < 0 ? running : running > 0 ? HORA_CANCEL_RUNNING : HORA_CANCEL_TOO_LATE;
}

/* See hora/timer.h. Most timers are cancelled while they are pending, in their lane. */
int hora_timer_cancel(hora_timer *timer)
{
    if (timer == NULL)
        return HORA_EINVAL;
    struct hora__timer *inner = hora__timer_inside(timer);
    /* The pool may be gone if the timer is not pending. While it is pending, the pool exists. */
    if (hora__atomic_load(&inner->task.pending) == 0)
        return cancelled_too_late(inner);
    int error = hora__pool_check(inner->task.pool);
    if (error < 0)
        return error;
    return cancel(inner) ? HORA_CANCEL_REMOVED : cancelled_too_late(inner);
}

/* ---- stopping ---- */

/* Returns 1 if the timer's function runs in the calling thread, else 0. Returns HORA_EDEADLK in a task
 * that the function waits for and that its worker runs in the meantime: waiting for the function would
 * never end. */
static int is_in_function(const struct hora__timer *timer, const hora_thread *thread)
{
    assert(thread != NULL);
    const struct hora__worker *worker = thread->worker;
    if (worker == NULL || worker->timer_run.timer != timer)
        return 0;
    return worker->nested != NULL ? HORA_EDEADLK : 1;
}

/* Stops a timer that was taken, or that could not be cancelled in its lane. Returns a hora_cancel or an
 * error. */
__attribute__((noinline)) static int stop_fully(struct hora__timer *timer)
{
    assert(timer->task.pool != NULL);
    hora_thread *thread;
    if (hora__atomic_load(&timer->task.pending) == 0 && !has_scheduler(timer))
        return HORA_CANCEL_TOO_LATE;
    int error = hora__pool_check(timer->task.pool);
    if (error == 0)
        error = hora__thread_current(&thread);
    int in_function = error < 0 ? error : is_in_function(timer, thread);
    if (in_function < 0)
        return in_function;
    (void)hora__atomic_add(&timer->stopping, 1);
    int what = hora__timer_queue_stop_timer(timer, in_function > 0, thread);
    if (in_function == 0)
        hora__atomic_store_relaxed(&timer->taken, 0); /* the function does not run: later calls are short */
    (void)hora__atomic_add(&timer->stopping, -1);
    return what;
}

/* The short way is for a timer in its lane that was never taken: its function cannot be running. */
int hora_timer_stop(hora_timer *timer)
{
    if (timer == NULL)
        return HORA_EINVAL;
    struct hora__timer *inner = hora__timer_inside(timer);
    /* `pending` is read before `taken`. A worker that takes the timer sets `taken` before it clears
     * `pending`, so the two readings cannot both miss it. */
    bool is_pending = hora__atomic_load(&inner->task.pending) != 0;
    if (was_taken(inner))
        return stop_fully(inner);
    if (!is_pending)
        return HORA_CANCEL_TOO_LATE;
    int error = hora__pool_check(inner->task.pool);
    if (error < 0)
        return error;
    /* `taken` is read again: until the cancellation, a worker may have taken the timer, and its function may
     * have started it again. */
    bool is_out = hora__timer_queue_cancel_timer_in_lane(inner);
    return is_out && !was_taken(inner) ? HORA_CANCEL_REMOVED : stop_fully(inner);
}

/* ---- starting ---- */

/* Makes sure that there is a worker before a pending timer is moved, so that on error the timer stays where
 * it was. Returns 0 or why no worker can be started. */
static int staff_first(hora_pool *pool)
{
    int error = hora__scheduler_is_staffed(pool) ? 0 : hora__scheduler_staff(pool);
    return error == HORA_ESHUTDOWN ? 0 : error; /* the timer queue then refuses the timer */
}

/* Called after a timer was inserted: notifies threads that watch the pool, and makes sure that there is a
 * worker. If none can be started, withdraws the timer by its number and returns the error; does not access
 * the timer. */
static inline int after_insertion(hora_pool *pool, uint64_t number)
{
    assert(number != 0);
    hora__pool_work_came(pool);
    return hora__scheduler_is_staffed(pool) ? 0 : hora__scheduler_staff_detached(pool, true, number);
}

/* Inserts a timer that is not pending, and whose `pool` is set. Returns 0 or an error. */
static inline int insert(hora_pool *pool, struct hora__timer *timer, struct hora__timer_times times)
{
    assert(timer->task.pool == pool);
    uint64_t number;
    int error = times.uses_no_lane ? hora__timer_queue_put_timer(timer, times.due, &number)
                                   : hora__timer_queue_insert_timer(timer, times.now, times.due, &number);
    return error < 0 ? error : after_insertion(pool, number);
}

/* Moves a timer that is pending on this scheduler, or was a moment ago. Returns 1 if it was moved, 0 if it
 * had to be inserted, or an error. After a move no worker has to be started: while a timer is pending, the
 * last worker stays. */
__attribute__((noinline)) static int move(hora_pool *pool, struct hora__timer *timer, hora_ns now,
                                          hora_ns due, bool uses_no_lane)
{
    assert(timer->task.pool == pool);
    struct hora__timer_times times = {now, due, uses_no_lane};
    uint64_t number;
    int error = staff_first(pool);
    if (error < 0)
        return error;
    int moved = hora__timer_queue_move_timer(timer, &times, &number);
    if (moved > 0 && times.uses_no_lane)
        hora__pool_count_cancelled(pool, &hora__timer_task);
    if (moved != 0) /* moved, or an error */
        return moved;
    return after_insertion(pool, number);
}

/* Moves a timer that is pending on another scheduler to this one. The timer is removed from the other
 * scheduler only once a slot and a worker are certain here. Returns 1 or an error. */
__attribute__((noinline)) static int move_here(hora_pool *pool, struct hora__timer *timer, hora_ns due)
{
    assert(timer->task.pool != pool);
    uint64_t number;
    int error = hora__pool_check(timer->task.pool);
    if (error == 0 && was_taken(timer))
        error = hora__timer_queue_runs_timer(timer) ? HORA_EBUSY : 0;
    if (error == 0)
        error = hora__timer_queue_keep_timer_place(pool);
    if (error < 0)
        return error;
    error = staff_first(pool);
    if (error == 0 && !cancel(timer))
        error = HORA_EBUSY; /* a worker of the other scheduler has just taken it */
    if (error < 0) {
        hora__timer_queue_give_up_timer_place(pool);
        return error;
    }
    timer->task.pool = pool;
    error = hora__timer_queue_place_timer(timer, due, &number);
    if (error == 0)
        error = after_insertion(pool, number);
    return error < 0 ? error : 1;
}

/* Assigns a timer that is not pending to this scheduler. It was started on another one before, or on none.
 * Returns 0, HORA_EBUSY (its function runs there), or an error. */
__attribute__((noinline)) static int change_scheduler(hora_pool *pool, struct hora__timer *timer)
{
    assert(timer->task.pool != pool);
    int running = was_taken(timer) ? is_running(timer) : 0;
    if (running != 0)
        return running < 0 ? running : HORA_EBUSY;
    hora__atomic_store_relaxed(&timer->taken, 0);
    timer->task.pool = pool;
    return 0;
}

/* Starts or moves a timer. Returns 1 if it was pending, 0 if it was not, or an error; HORA_ENOTSUP: the
 * scheduler is shut down. */
HORA__INLINE int start(hora_pool *pool, struct hora__timer *timer, struct hora__timer_times times)
{
    assert(timer->task.run_timer != NULL);
    if (hora__atomic_load(&timer->task.pending) != 0 && !HORA__FAULT(TIMER_MOVES_TWICE))
        return timer->task.pool == pool ? move(pool, timer, times.now, times.due, times.uses_no_lane)
                                        : move_here(pool, timer, times.due);
    int error = timer->task.pool != pool ? change_scheduler(pool, timer) : 0;
    return error < 0 ? error : insert(pool, timer, times);
}

/* Reports that a shut down scheduler has refused a timer. Returns HORA_EREJECTED. */
__attribute__((noinline)) static int refuse(hora_pool *pool)
{
    assert(pool != NULL);
    hora__counter_add(&pool->refused, 1);
    HORA__PROBE(timer_rejected, pool, "the pool is shut down");
    if (pool->observer != NULL)
        pool->observer->kind->rejected(pool->observer, NULL, &hora__timer_task, "the pool is shut down");
    return HORA_EREJECTED;
}

/* Starts a timer on a scheduler that shows its timers: counts the submission by name, and undoes that if the
 * timer is not accepted. A refusal because of a shutdown stays counted. */
__attribute__((noinline)) static int start_shown(hora_pool *pool, struct hora__timer *timer, hora_ns due)
{
    assert(hora__scheduler_of(pool)->shows_timers);
    hora__pool_count_submitted(pool, &hora__timer_task);
    int outcome = start(pool, timer, (struct hora__timer_times){.due = due, .uses_no_lane = true});
    if (outcome < 0 && outcome != HORA_ENOTSUP)
        hora__pool_uncount_submitted(pool, &hora__timer_task,
                                     HORA_EAGAIN); /* any error that is no refusal undoes it */
    return outcome;
}

/* The clock is read once; all later times count from that moment. */
int hora_timer_start(hora_timer *timer, hora_scheduler *scheduler, hora_ns delay)
{
    struct hora__timer *inner = hora__timer_inside(timer);
    int error = hora__pool_check(scheduler);
    if (error < 0)
        return error;
    const struct hora__scheduler *own = hora__scheduler_of(scheduler);
    if (own == NULL || inner == NULL || inner->task.run_timer == NULL)
        return HORA_EINVAL;
    hora_ns now = hora_clock_now(scheduler->object.clock);
    hora_ns due = hora__ns_add(now, delay > 0 ? delay : 0);
    int outcome = own->shows_timers ? start_shown(scheduler, inner, due)
                                    : start(scheduler, inner, (struct hora__timer_times){now, due, false});
    return outcome == HORA_ENOTSUP ? refuse(scheduler) : outcome;
}

/* ---- running ---- */

/* The `run` of the task that represents a timer to hooks and observers: calls the timer's function. A
 * decorated task may call it in any thread, but it works only in the worker that runs the timer. */
static int call(void *arg, void **ret_result)
{
    (void)ret_result;
    const hora_thread *thread = hora__thread_existing();
    const struct hora__worker *worker = thread != NULL ? thread->worker : NULL;
    if (worker == NULL || worker->timer_run.timer == NULL)
        return HORA_EINVAL;
    return worker->timer_run.function(arg);
}

const hora_task hora__timer_task = {.run = call, .name = "timer"};

/* Counts a timer that was taken, with its ending, and marks it as counted: I1. */
static void end(struct hora__worker *worker, enum hora__ending ending)
{
    assert(worker->stage != HORA__TASK_NONE || worker->timer_run.timer != NULL); /* I1 */
    worker->stage = HORA__TASK_NONE;
    hora__worker_count(worker, ending);
}

/* Returns whether a timer that was taken may not begin any more: the scheduler has been stopped. */
static bool comes_too_late(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) >= HORA__STOP &&
           !HORA__FAULT(SERIES_RUNS_AFTER_STOP);
}

/* ---- runs that hooks or observers see ---- */

/* Returns the information that is passed to the before and after hooks: a run without a future. */
static hora_run_info run_info(int code)
{
    return (hora_run_info){.struct_size = sizeof(hora_run_info), .code = code, .task = &hora__timer_task};
}

/* Calls the after hook, if there is one. */
static void tell_after(hora_pool *pool, int code)
{
    assert(pool != NULL);
    hora_run_info run = run_info(code);
    if (pool->after != NULL)
        pool->after(pool, &run, pool->arg);
}

/* Applies the scheduler's decorator, if there is one, to the task. On error the task stays as it was. Returns
 * 0 or the code of the run. */
static int decorate(hora_pool *pool, hora_task *task)
{
    const struct hora__scheduler *scheduler = hora__scheduler_of(pool);
    assert(scheduler != NULL);
    if (scheduler->decorate == NULL)
        return 0;
    hora_task own = *task;
    int error = scheduler->decorate(pool, &own, pool->arg);
    if (error < 0 || own.run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    *task = own;
    return 0;
}

/* Runs the task, and notifies the observer of the start and the end. Returns the code. */
static int run_body(struct hora__worker *worker)
{
    assert(worker->taken.task.run != NULL);
    const hora_task *task = &worker->taken.task;
    struct hora__worker_observer *worker_observer = worker->worker_observer;
    void *result = NULL;
    if (worker_observer != NULL) {
        worker_observer->came = worker->taken.came;
        (void)worker_observer->kind->begins(worker_observer, NULL, task); /* timers have no time limits */
    }
    int code = task->run(task->arg, &result);
    if (worker_observer != NULL)
        worker_observer->kind->ended(worker_observer, NULL, task, code);
    worker->ending = hora__ending_of_result(code);
    worker->stage = HORA__TASK_HAS_RUN; /* the drop functions are user code, which may end the thread */
    if (result != NULL && task->drop_result != NULL)
        task->drop_result(result);
    if (task->drop != NULL)
        task->drop(task->arg);
    return code;
}

/* Runs a timer between the before and after hooks. Returns false if the before hook refused it; the worker
 * then ends, as for any task. */
static bool run_shown(struct hora__worker *worker)
{
    assert(worker->timer_run.timer != NULL);
    hora_pool *pool = worker->pool;
    worker->taken.task = hora__timer_task;
    worker->taken.task.arg = worker->timer_run.arg;
    worker->stage = HORA__TASK_RUNS;
    hora_run_info run = run_info(0);
    int refused = pool->before != NULL ? pool->before(pool, &run, pool->arg) : 0;
    int code = refused != 0 ? refused : decorate(pool, &worker->taken.task);
    if (code == 0)
        code = run_body(worker);
    worker->ending = hora__ending_of_result(code);
    worker->stage = HORA__TASK_HAS_RUN;
    if (refused == 0)
        tell_after(pool, code);
    end(worker, worker->ending);
    return refused == 0;
}

/* ---- running ---- */

/* The worker runs its copy of the timer. The note in timer_run stays until the worker takes its next task. */
bool hora__scheduler_run_timer(struct hora__worker *worker)
{
    assert(worker->timer_run.timer != NULL && worker->timer_run.function != NULL);
    hora_pool *pool = worker->pool;
    if (comes_too_late(pool)) {
        hora__pool_count_cancelled(pool, &hora__timer_task);
        end(worker, HORA__CANCELLED);
        return true;
    }
    if (HORA__FAULT(TIMER_STOP_MISSES_TAKEN))
        worker->timer_run.has_begun = true;
    if (hora__scheduler_of(pool)->shows_timers)
        return run_shown(worker);
    worker->stage = HORA__TASK_RUNS;
    HORA__PROBE(timer_start, worker->timer_run.timer);
    int code = worker->timer_run.function(worker->timer_run.arg);
    HORA__PROBE(timer_done, worker->timer_run.timer, code);
    end(worker, hora__ending_of_result(code));
    return true;
}

/* The stage says what remains to be done: nothing if the timer has been counted; the count alone if the body
 * has returned; otherwise also the calls that follow the body. */
void hora__scheduler_abandon_timer(struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    enum hora__task_stage stage = worker->stage;
    if (stage == HORA__TASK_NONE)
        return;
    if (stage == HORA__TASK_RUNS)
        worker->ending = HORA__ABANDONED;
    end(worker, worker->ending);
    if (stage != HORA__TASK_RUNS || !hora__scheduler_of(pool)->shows_timers)
        return;
    const hora_task *task = &worker->taken.task;
    if (worker->worker_observer != NULL)
        worker->worker_observer->kind->ended(worker->worker_observer, NULL, task, HORA_EABANDONED);
    if (task->drop != NULL)
        task->drop(task->arg);
    tell_after(pool, HORA_EABANDONED);
}
