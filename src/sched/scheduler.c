/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - a pool whose work source is a timer queue
 *
 * Submission        Every task is inserted into the timer queue, even if it is due at once. Then the caller
 *                   makes sure that there is a worker. Workers never start with a first task. As in
 *                   execute.c, the pool's state is checked before and after: a task that shutdown does not
 *                   let run was already accepted, so it is cancelled and not rejected.
 * After shutdown    hora__scheduler_lets_run is called when a task is queued, when it is about to run and
 *                   when it is put back; the sweep applies the same rules once to all queued tasks. A thread
 *                   that changes the state or a rule stores the change first and then sweeps. A thread that
 *                   queues a task inserts it first and then checks. So at least one of the two sees what the
 *                   other has done.
 * Without future    A one-shot task scheduled by the JDK's rules, whose future the caller did not ask for,
 *                   cannot be cancelled, awaited or changed. Unless a hook needs futures, it is queued as a
 *                   detached task (detached.h), which takes a quarter of the memory of a future. Before
 *                   another thread inspects the entries, hora__pool_show turns all detached tasks into
 *                   futures. The pool's state is checked under the lock that inserts the task, so a sweep
 *                   that follows a change of state finds it.
 * Clocks            are watched once a task is scheduled on another timeline than the scheduler's own, or if
 *                   an observer asks for it. */
#include "sched/scheduler.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/extra.h"
#include "exec/pool_admission.h"
#include "sched/detached.h"
#include "sched/overlap.h"
#include "sched/timer_queue_internal.h"
#include "sched/zones.h"
#include "sync/clock.h"
#include "sys/process.h"

/* The keep_alive of a scheduler whose options leave it 0, as in the JDK. */
enum { KEEP_ALIVE_MS = 10 };

static_assert(offsetof(struct hora__scheduler, pool) == 0, "one address for both");

/* ---- run state ---- */

/* Returns the pool's run state as of now. Another thread may change it at any moment. */
static enum hora__run_state state_of(const hora_pool *pool)
{
    assert(pool != NULL);
    return hora__state_of(hora__atomic_load(&pool->control));
}

/* Returns whether the planned time has come. Takes the timer queue's lock. */
static bool is_due(struct hora__scheduled *scheduled)
{
    hora_ns delay;
    return hora_future_delay(&scheduled->future, &delay) == 0 && delay <= 0;
}

/* Reads `paused` under the timer queue's lock, which guards it. */
static bool is_paused(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
    bool paused = scheduled->paused;
    hora__mutex_unlock(&scheduled->queue->object.lock);
    return paused;
}

/* Only the SHUTDOWN state needs a decision: before it everything runs, after it nothing does. */
bool hora__scheduler_lets_run(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    enum hora__run_state state = state_of(pool);
    if (state != HORA__SHUTDOWN)
        return state < HORA__SHUTDOWN;
    struct hora__scheduler *scheduler = hora__scheduler_of(pool);
    assert(scheduler != NULL);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled == NULL)
        return true; /* a foreign future is due at once, and no rule applies to it */
    /* A paused task may never be resumed, and would then keep the pool from terminating. */
    if (!HORA__FAULT(SCHEDULER_LEAVES_PAUSED) && is_paused(scheduled))
        return false;
    if (hora__scheduled_is_series(scheduled))
        return hora__atomic_load(&scheduler->continue_periodic) != 0;
    return hora__atomic_load(&scheduler->cancel_delayed) == 0 || is_due(scheduled);
}

/* Returns the number of workers as of now. */
static int count_of(const hora_pool *pool)
{
    return hora__count_of(hora__atomic_load(&pool->control));
}

/* One call starts at most one worker: as in the JDK, each submission adds one until core_threads is
 * reached. */
int hora__scheduler_staff(hora_pool *pool)
{
    int count = count_of(pool);
    bool below_core = count < hora__atomic_load(&pool->core_threads);
    if (!below_core && count > 0)
        return 0;
    int error = hora__worker_add(pool, NULL, below_core);
    /* HORA_EFULL: another thread has started the missing worker at the same time, or has set core_threads to
     * 0. In the second case the worker is not one of the core; their number is not limited. */
    if (error == HORA_EFULL && count_of(pool) == 0)
        error = hora__worker_add(pool, NULL, false);
    /* worker_add records a failed start in the pool's statistics. Here the failure only matters if no
     * worker is left to run the task. */
    return error == HORA_EFULL || count_of(pool) > 0 ? 0 : error;
}

/* ---- the way in ---- */

/* Withdraw a task that has just been queued, and cancel it. Returns false if it is no longer in the
 * queue; another thread then owns the entry. */
static bool cancel_queued(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (!hora__pool_withdraw(pool, future))
        return false;
    (void)hora_future_cancel(future, false);
    hora__pool_entry_ended(pool, future);
    return true;
}

/* Check again after a task was queued, because the pool may have been shut down since the first check,
 * and make sure that there is a worker. If the task must not run, it is withdrawn and cancelled. Returns
 * 0 if the task was accepted, including one that was cancelled for that reason. Returns an error if no
 * worker could be started; the task is then withdrawn and removed from the books. If a step finds the
 * task no longer queued, another thread has handled it. The caller holds a reference. */
static int recheck_and_staff(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (!HORA__FAULT(SCHEDULER_NO_RECHECK) && !hora__scheduler_lets_run(pool, future) &&
        cancel_queued(pool, future))
        return 0;
    int error = hora__scheduler_staff(pool);
    /* The pool stopped, or ran out of tasks after shutdown, without having seen this one. */
    if (error == HORA_ESHUTDOWN) {
        if (!HORA__FAULT(SCHEDULER_LOSES_LATECOMER))
            (void)cancel_queued(pool, future);
        return 0;
    }
    /* No worker exists and none can be started: undo the submission. If the task is gone, a worker that
     * has ended since took it. */
    if (error < 0 && hora__pool_withdraw(pool, future)) {
        hora__pool_unqueue(pool, future);
        hora__pool_try_terminate(pool);
        return error;
    }
    return 0;
}

/* Queue a future that other threads may know; the member `place` of struct hora__pool_kind.
 * HORA_ESHUTDOWN: the caller applies the rule for rejected tasks. The extra reference keeps the future
 * alive for recheck_and_staff: a worker may run and release it as soon as it is queued. */
static int place(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (state_of(pool) != HORA__RUNNING)
        return HORA_ESHUTDOWN;
    (void)hora_future_ref(future);
    int error = hora__pool_enqueue(pool, future);
    if (error == 0)
        error = recheck_and_staff(pool, future);
    (void)hora_future_unref(future);
    return error;
}

/* Queue a future that no other thread has seen, or apply the rule for rejected tasks. The caller's own
 * reference keeps it alive, so no other is needed. */
static int place_fresh(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    int error = state_of(pool) != HORA__RUNNING ? HORA_ESHUTDOWN : hora__pool_enqueue_fresh(pool, future);
    if (error == 0)
        error = recheck_and_staff(pool, future);
    return hora__pool_placed(pool, future, error);
}

/* ---- the short way in ---- */

/* Insert a new one-shot task into an inbox lane, without the timer queue's lock. Returns false, with the
 * future as it was, if that is not possible. The lane checks the pool's state under its own lock and
 * accepts the task only while the pool is running, so recheck_and_staff need not withdraw it after a
 * shutdown. */
static bool insert(hora_pool *pool, struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->queue == pool->queue);
    /* A missing worker is the business of place_fresh, which can report that none could be started. */
    if (!hora__scheduler_is_staffed(pool))
        return false;
    /* The lane compares `control` with `closed` under its lock, and refuses the task once the pool is shut
     * down. */
    struct hora__offer offer = {.control = &pool->control, .closed = hora__control(HORA__SHUTDOWN, 0)};
    /* Two references: the caller's and that of the entry. */
    hora__future_enqueued_fresh(&scheduled->future, &pool->owner, 2);
    if (!hora__timer_queue_insert_future(pool->queue, scheduled, now, &offer)) {
        hora__future_dequeued_fresh(&scheduled->future);
        return false;
    }
    hora__pool_work_came(pool);
    return true;
}

/* Queue a new future through a lane if possible, else through the timer queue's lock. */
static int insert_or_place(hora_pool *pool, struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->queue == pool->queue);
    if (!insert(pool, scheduled, now))
        return place_fresh(pool, &scheduled->future);
    return hora__scheduler_is_staffed(pool)
               ? 0
               : recheck_and_staff(pool, &scheduled->future); /* the last worker may have left just before */
}

/* hora__pool_needs_no_news with the signature that hora__timer_queue_cancel_in_lane expects. */
static bool needs_no_news(const void *context)
{
    assert(context != NULL);
    return hora__pool_needs_no_news(context);
}

/* The member cancel_in_lane of struct hora__queue_owner, called with the future's lock held: remove a
 * cancelled future that is still in an inbox lane. It uses the pool without a reference, which is safe
 * because the pool cannot terminate while one of its tasks is in a lane. */
static bool cancel_in_lane(struct hora__queue_owner *owner, hora_future *future)
{
    assert(owner != NULL && future != NULL);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    const hora_pool *pool = HORA__LIST_ENTRY(owner, struct hora_pool, owner);
    return scheduled != NULL && hora__timer_queue_cancel_in_lane(scheduled, needs_no_news, pool);
}

/* If the scheduler has a decorator, copy *task to *own, let the decorator change the copy, and make *task
 * point to it. Returns the decorator's error, or HORA_EINVAL if it left no function to run. */
static int decorate(hora_pool *pool, const hora_task **task, hora_task *own)
{
    assert(task != NULL && *task != NULL && own != NULL);
    const struct hora__scheduler *scheduler = (const struct hora__scheduler *)pool;
    if (scheduler->decorate == NULL)
        return 0;
    *own = **task;
    *task = own;
    int error = scheduler->decorate(pool, own, pool->arg);
    return error < 0 ? error : own->run == NULL ? HORA_EINVAL : 0;
}

/* Returns the plan of a task that is executed or submitted and not scheduled: one run, due at once. */
static struct hora__scheduled_plan plan_of_now(const hora_pool *pool)
{
    hora_ns now = hora_clock_now(pool->object.clock);
    return (struct hora__scheduled_plan){.rules = &hora__jdk_rules,
                                         .trigger = HORA__ONCE,
                                         .line = hora__clock_timeline(pool->object.clock),
                                         .now = now,
                                         .planned = now};
}

/* Make a scheduled future with extra data: its task options, and what an observer keeps for each task.
 * Not inlined, so that tasks without options do not pay for it. */
__attribute__((noinline)) static int make_with_extra(hora_pool *pool, const hora_task *task,
                                                     const struct hora__scheduled_plan *plan,
                                                     struct hora__scheduled **ret_scheduled)
{
    assert(pool->observer != NULL);
    struct hora__scheduled_plan whole = *plan;
    /* The extra data is reached through the series state; a copy of the rules forces one. */
    whole.copies_rules = true;
    int error = hora__extra_new(pool, plan->rules->options, &whole.extra);
    if (error < 0)
        return error;
    error = hora__scheduled_new(task, pool->queue, &whole, ret_scheduled);
    if (error < 0)
        hora__extra_free(whole.extra);
    return error;
}

/* Make a scheduled future, with extra data if its options or the observer need it. */
static inline int make_scheduled(hora_pool *pool, const hora_task *task,
                                 const struct hora__scheduled_plan *plan,
                                 struct hora__scheduled **ret_scheduled)
{
    if (pool->observer != NULL && (plan->rules->options != NULL || pool->observer->needs_extras))
        return make_with_extra(pool, task, plan, ret_scheduled);
    return hora__scheduled_new(task, pool->queue, plan, ret_scheduled);
}

/* The member `make` of struct hora__pool_kind: make the future of a submitted task. It is not queued yet. */
static int make(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    assert(ret_future != NULL);
    hora_task own;
    int error = decorate(pool, &task, &own);
    if (error < 0)
        return error;
    struct hora__scheduled_plan plan = plan_of_now(pool);
    struct hora__scheduled *scheduled;
    error = make_scheduled(pool, task, &plan, &scheduled);
    if (error == 0)
        *ret_future = &scheduled->future;
    return error;
}

/* The member take_out of struct hora__pool_kind: take a task out of the queue for a worker that waits for
 * its future, so that the worker can run it itself. With admission, the task may be another one that must
 * run first. Returns INT64_MIN if *ret_future was taken; otherwise the time from which the worker should
 * try again, or HORA_FOREVER if it never should. A series is never run this way. Due time and removal are
 * decided in one visit to the timer queue: otherwise the task could be re-timed in between, and run
 * early. */
static hora_ns take_out(hora_pool *pool, hora_future *future, hora_future **ret_future)
{
    assert(ret_future != NULL);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    /* With admission, the queue decides which task may run; it may have to be another one. */
    if (pool->admission != NULL) {
        hora_ns from = hora__timer_queue_help(pool->queue, future, ret_future);
        if (from == INT64_MIN)
            hora__pool_relieve(pool);
        return from;
    }
    *ret_future = future;
    if (scheduled == NULL)
        /* A foreign future is always due. */
        return hora__pool_withdraw(pool, future) ? INT64_MIN : HORA_FOREVER;
    if (scheduled->entry.comes_back)
        return HORA_FOREVER;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_queue *queue = pool->queue;
    hora__mutex_lock(&queue->object.lock);
    /* The task may still be in an inbox lane. */
    hora__timer_queue_absorb(queue);
    hora_ns delay = hora__ns_sub(hora__scheduled_due(scheduled),
                                 hora__timer_queue_now(queue, hora__scheduled_line(scheduled)));
    if (HORA__FAULT(SCHEDULER_HELPS_EARLY))
        delay = 0;
    bool taken = delay <= 0 && queue->kind->find(queue, future, true);
    if (taken)
        hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    if (taken)
        hora__pool_relieve(pool);
    /* Due but not found: another worker has taken it. */
    if (taken || delay <= 0)
        return taken ? INT64_MIN : HORA_FOREVER;
    return hora__clock_deadline(pool->object.clock, delay);
}

/* The member timer_ran of struct hora__pool_kind: the function of the timer in `taken` has returned.
 * Clear the worker's record of it and wake the threads that wait for that in hora_timer_stop. */
static void timer_ran(hora_pool *pool, struct hora__taken *taken)
{
    assert(taken != NULL && taken->run != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    hora__timer_queue_ran(pool->queue, taken, &wakes);
    /* The end of the run may let another task begin, if there is admission. */
    hora__queue_serve(pool->queue, NULL, &wakes);
    hora__queue_exit(pool->queue, &wakes);
}

/* The member `ends` of struct hora__pool_kind: the scheduler is about to be freed, so timers that
 * remember it must no longer find it. */
static void ends(hora_pool *pool)
{
    assert(hora__scheduler_of(pool) != NULL);
    hora__roster_remove(&hora__scheduler_of(pool)->roster);
}

/* ---- tasks without a future ---- */

/* Returns whether tasks may be queued detached: neither a hook nor an observer wants to see a future. */
static bool needs_no_futures(const struct hora__scheduler *scheduler)
{
    const hora_pool *pool = &scheduler->pool;
    return HORA__FAST && pool->before == NULL && pool->after == NULL && !hora__pool_needs_futures(pool);
}

/* No worker exists and none can be started: withdraw a detached task or timer and return the error.
 * Returns 0 if it is no longer queued; another thread has handled it then. */
static int take_back(hora_pool *pool, bool is_timer, uint64_t number, int error)
{
    assert(error < 0);
    if ((is_timer && HORA__FAULT(TIMER_STAYS_UNSTAFFED)) ||
        (!is_timer && HORA__FAULT(TIMER_QUEUE_KEEPS_UNSTAFFED)))
        return error;
    if (!hora__timer_queue_withdraw(pool->queue, is_timer, number))
        return 0;
    hora__pool_relieve(pool);
    hora__pool_unaccept(pool);
    hora__pool_try_terminate(pool);
    return error;
}

/* Not inlined: it is called only when the scheduler lacks a worker, which is rare. */
__attribute__((noinline)) int hora__scheduler_staff_detached(hora_pool *pool, bool is_timer, uint64_t number)
{
    assert(number != 0);
    int error = hora__scheduler_staff(pool);
    /* After HORA_ESHUTDOWN there is nothing to withdraw: the sweep has already removed the task. */
    if (error < 0 && error != HORA_ESHUTDOWN)
        return take_back(pool, is_timer, number, error);
    return 0;
}

/* Queue a task without a future. Returns HORA_ENOTSUP if that is not possible: futures are needed, a
 * thread has asked to see the queue, or the pool is shut down. The caller then makes a future, and its
 * placement reports the final result. `now` is when the call began, by the scheduler's clock. */
static int insert_task(hora_pool *pool, const hora_task *task, hora_ns now, hora_ns due)
{
    assert(task != NULL && task->run != NULL);
    if (!hora__atomic_load(&pool->detached_mode))
        return HORA_ENOTSUP;
    struct hora__offer offer = {
        .task = task,
        .control = &pool->control,
        .closed = hora__control(HORA__SHUTDOWN, 0),
        .books = &pool->books,
    };
    uint64_t number;
    int error = hora__timer_queue_insert_task(pool->queue, &offer, now, due, &number);
    if (error < 0)
        return error;
    hora__pool_work_came(pool);
    return hora__scheduler_is_staffed(pool) ? 0 : hora__scheduler_staff_detached(pool, false, number);
}

/* Make the future of a detached task that is about to be shown; a struct hora__timer_queue_maker. Called
 * with the timer queue's lock held. The only reference is that of the entry, because no caller asked for
 * a future. */
static int make_future(void *context, const hora_task *task, hora_ns due,
                       struct hora__scheduled **ret_scheduled)
{
    assert(context != NULL && ret_scheduled != NULL);
    hora_pool *pool = context;
    struct hora__scheduled_plan plan = {.rules = &hora__jdk_rules,
                                        .trigger = HORA__ONCE,
                                        .line = hora__clock_timeline(pool->object.clock),
                                        .planned = due};
    int error = hora__scheduled_new(task, pool->queue, &plan, ret_scheduled);
    if (error == 0)
        hora__future_enqueued_fresh(&(*ret_scheduled)->future, &pool->owner, 1);
    return error;
}

/* The member `show` of struct hora__pool_kind: turn all detached tasks into futures. */
static int show(hora_pool *pool)
{
    return hora__timer_queue_show(pool->queue, &(struct hora__timer_queue_maker){make_future, pool});
}

/* ---- making ---- */

static int execute(hora_pool *pool, const hora_task *task);

/* Also identifies a scheduler: a pool is one if and only if its kind points here. */
static const struct hora__pool_kind scheduler_kind = {
    .future_size = sizeof(struct hora__scheduled),
    .execute = execute,
    .show = show,
    .make = make,
    .place = place,
    .clocks_changed = hora__clocks_look,
    .admit = hora__series_decide,
    .run = hora__series_run,
    .run_begun = hora__series_run_begun,
    .abandoned = hora__series_abandoned,
    .put_back = hora__series_put_back,
    .take_out = take_out,
    .sweep = hora__scheduler_sweep,
    .stopped = hora__scheduler_stopped,
    .read_settings = hora__scheduler_read_settings,
    .worker_begins = hora__timer_queue_worker_begins,
    .worker_ends = hora__timer_queue_worker_ends,
    .timer_ran = timer_ran,
    .run_timer = hora__scheduler_run_timer,
    .abandon_timer = hora__scheduler_abandon_timer,
    .ends = ends,
};

struct hora__scheduler *hora__scheduler_of(hora_pool *pool)
{
    return pool != NULL && pool->kind == &scheduler_kind ? (struct hora__scheduler *)pool : NULL;
}

/* Copy the options that only concern a scheduler, fill in defaults and check them. hora__pool_options
 * checks the rest. */
static int read_options(hora_scheduler_options *own, const hora_scheduler_options *given, hora_error *reason)
{
    assert(own != NULL);
    if (HORA__TAKE(hora_scheduler_options, own, given) < 0)
        return hora__refuse_size(reason, "hora_scheduler_options");
    if (own->reject == HORA_REJECT_BLOCK)
        return hora__refuse(reason, HORA_EINVAL, "reject",
                            "HORA_REJECT_BLOCK has no effect: the queue of a scheduler always has room");
    if (own->keep_alive < 0)
        return hora__refuse(reason, HORA_EINVAL, "keep_alive", "keep_alive is negative");
    if (own->keep_alive == 0)
        own->keep_alive = HORA_MS(KEEP_ALIVE_MS);
    return 0;
}

/* Returns the options of the pool inside the scheduler. `queue` is its work source. */
static hora_pool_options pool_options(const hora_scheduler_options *own, hora_queue *queue)
{
    assert(own->keep_alive > 0 && queue != NULL);
    return (hora_pool_options){
        .struct_size = sizeof(hora_pool_options),
        .core_threads = own->core_threads,
        .keep_alive = own->keep_alive,
        .core_time_out = own->core_time_out,
        .queue = queue,
        .reject = own->reject,
        .reject_handler = own->reject_handler,
        .thread_factory = own->thread_factory,
        .before = own->before,
        .after = own->after,
        .terminated = own->terminated,
        .arg = own->arg,
        .name = own->name,
        .stack_size = own->stack_size,
        .clock = own->clock,
        .frozen = own->frozen,
        .keep_cancelled = own->keep_cancelled,
        .metrics = own->metrics,
        .admission = own->admission,
        .watchdog = own->watchdog,
        .listener = own->listener,
        .context_hooks = own->context_hooks,
        .grow_after = own->grow_after,
        .dump = own->dump,
        .dump_arg = own->dump_arg,
    };
}

/* Returns whether a run of a timer must be shown to a hook, a decorator or an observer. A scheduler with
 * admission has an observer, too. */
static bool shows_timers(const struct hora__scheduler *scheduler)
{
    const hora_pool *pool = &scheduler->pool;
    assert(pool->admission == NULL || pool->observer != NULL);
    return pool->before != NULL || pool->after != NULL || scheduler->decorate != NULL ||
           pool->observer != NULL;
}

/* Complete a scheduler whose pool has been made. Cannot fail. The order matters: the queue's admission
 * and the observer must exist before shows_timers and detached_mode are derived from them. The scheduler
 * enters the roster last, when it is complete. */
static void init(struct hora__scheduler *scheduler, const hora_scheduler_options *own,
                 const hora_pool_options *rest)
{
    assert(own != NULL && rest != NULL);
    hora__atomic_init(&scheduler->cancel_delayed, own->cancel_delayed ? 1 : 0);
    hora__atomic_init(&scheduler->continue_periodic, own->continue_periodic ? 1 : 0);
    /* A scheduler starts workers by core_threads alone, so the maximum is set out of the way. */
    hora__atomic_init(&scheduler->pool.max_threads, INT_MAX);
    /* The pool frees the timer queue. */
    scheduler->pool.owns_queue = true;
    scheduler->pool.owner.cancel_in_lane = cancel_in_lane;
    hora_ns ageing;
    if (hora__observer_admits(rest, &ageing))
        scheduler->pool.admission = hora__timer_queue_add_admission(
            scheduler->pool.queue, ageing, hora__pool_admission_threads, &scheduler->pool);
    /* The lanes count tasks on their own; from now on their counts are part of the pool's books. */
    hora__timer_queue_open_books(scheduler->pool.queue, &scheduler->pool.books);
    scheduler->decorate = own->decorate;
    scheduler->is_simple = HORA__FAST && own->decorate == NULL && scheduler->pool.observer == NULL;
    scheduler->shows_timers = shows_timers(scheduler);
    hora__atomic_init(&scheduler->pool.detached_mode, needs_no_futures(scheduler) ? 1 : 0);
    if (scheduler->pool.observer != NULL && scheduler->pool.observer->needs_clocks)
        hora__clocks_watch(&scheduler->pool);
    hora__roster_add(&scheduler->roster);
}

/* Make the timer queue and the pool around it. On error the queue is freed and *ret_scheduler is not set. */
static int new_scheduler(const hora_scheduler_options *own, hora_scheduler **ret_scheduler,
                         hora_error *reason)
{
    assert(ret_scheduler != NULL);
    hora_pool_options rest;
    hora_queue *queue;
    int error = hora__timer_queue_new(own->clock, &queue);
    if (error < 0)
        return error;
    hora_pool_options wanted = pool_options(own, queue);
    error = hora__pool_options(&rest, &wanted, ret_scheduler, reason);
    if (error == 0)
        error = hora__pool_make(&rest, sizeof(struct hora__scheduler), &scheduler_kind, ret_scheduler);
    if (error == 0)
        init((struct hora__scheduler *)*ret_scheduler, own, &rest);
    else
        /* hora__pool_make takes over the queue only if it succeeds. */
        (void)hora_queue_free(queue);
    return error;
}

/* The reason is written by the check that fails; hora__reason_end completes it for errors without a
 * sentence. */
int hora_scheduler_new(const hora_scheduler_options *options, hora_scheduler **ret_scheduler,
                       hora_error *reason)
{
    hora_scheduler_options own;
    hora__reason_begin(reason);
    if (ret_scheduler == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_scheduler is NULL");
    int error = read_options(&own, options, reason);
    if (error == 0)
        error = new_scheduler(&own, ret_scheduler, reason);
    return hora__reason_end(reason, error);
}

/* A scheduler with one core thread whose settings cannot be changed. The other options are passed on. */
int hora_scheduler_new_single(const hora_scheduler_options *options, hora_scheduler **ret_scheduler,
                              hora_error *reason)
{
    hora_scheduler_options own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_scheduler_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_scheduler_options");
    if (own.core_threads < 0 || own.core_threads > 1)
        return hora__refuse(reason, HORA_EINVAL, "core_threads",
                            "core_threads is %d, but this scheduler has one thread", own.core_threads);
    /* The copy is of this library's version of the struct, whatever the caller's was. */
    own.struct_size = sizeof own;
    own.core_threads = 1;
    /* As in the JDK, the number of threads of this scheduler cannot be changed later. */
    own.frozen = true;
    return hora_scheduler_new(&own, ret_scheduler, reason);
}

/* ---- scheduling ---- */

/* Returns whether the task runs once by the rules of the JDK's calls. Such a task uses the scheduler's
 * own clock and is never paused, so it can be queued without a future. */
static bool is_plain(const struct hora__scheduled_plan *plan)
{
    return plan->rules == &hora__jdk_rules && plan->trigger == HORA__ONCE;
}

/* Prepare everything that a task with a series state needs beyond the future, before it is queued: its
 * overlap, its extra data, the watching of clocks, and its zones. On error, make_and_place undoes it. */
static int prepare_series(hora_pool *pool, struct hora__scheduled *scheduled,
                          const struct hora__scheduled_plan *plan)
{
    assert(scheduled->series != NULL);
    int error = plan->rules->overlap == HORA_OVERLAP_ALLOW ? hora__overlap_new(scheduled) : 0;
    if (error == 0 && scheduled->series->extra != NULL)
        error = hora__extra_prepare(&scheduled->future);
    if (error < 0)
        return error;
    /* The leader sleeps by the scheduler's own clock, so it must notice when another clock moves against
     * that one. */
    if (plan->line != hora__clock_timeline(pool->object.clock))
        hora__clocks_watch(pool);
    hora__zones_follow(scheduled, plan->zones_seen, plan->zone_is_known);
    return 0;
}

/* Make a scheduled future and queue it. On success the caller's reference is passed to *ret_future, or
 * released if ret_future is NULL. On error the future is gone, and the task still belongs to the caller. */
static inline int make_and_place(hora_pool *pool, const hora_task *task,
                                 const struct hora__scheduled_plan *plan, hora_future **ret_future)
{
    assert(plan->rules != NULL);
    struct hora__scheduled *scheduled;
    /* Get a batch of free blocks for this thread, if it has none, so that the allocation is a fast one. */
    hora__shared_free_list_supply(&pool->shared_free_list);
    int error = make_scheduled(pool, task, plan, &scheduled);
    if (error < 0)
        return error;
    error = scheduled->series != NULL ? prepare_series(pool, scheduled, plan) : 0;
    if (error == 0)
        error = insert_or_place(pool, scheduled, plan->now);
    if (error < 0) {
        /* The overlap has taken over the task. It must give the task back before the future is forgotten,
         * so that the caller still owns arg. */
        hora__overlap_forget(scheduled);
        hora__future_discard(&scheduled->future);
        return error;
    }
    /* Only an accepted task may expire. */
    if (scheduled->series != NULL && scheduled->series->extra != NULL)
        hora__extra_accepted(&scheduled->future);
    if (ret_future != NULL)
        *ret_future = &scheduled->future;
    else
        (void)hora_future_unref(&scheduled->future);
    return 0;
}

/* If the caller does not ask for the future, the task is queued without one if possible. The observer's
 * count of submissions is raised first and corrected on failure: once a task is queued, it may run and be
 * counted as finished before this call returns. */
int hora__scheduler_schedule(hora_pool *pool, const hora_task *task, const struct hora__scheduled_plan *plan,
                             hora_future **ret_future)
{
    assert(task != NULL && task->run != NULL);
    hora_task own;
    int error = decorate(pool, &task, &own);
    if (error < 0)
        return error;
    if (pool->observer != NULL)
        hora__pool_count_submitted(pool, task);
    /* HORA_ENOTSUP, here and from insert_task, means that the task needs a future. */
    error = HORA_ENOTSUP;
    if (ret_future == NULL && is_plain(plan))
        error = insert_task(pool, task, plan->now, plan->planned);
    if (error == HORA_ENOTSUP)
        error = make_and_place(pool, task, plan, ret_future);
    if (error < 0)
        hora__pool_uncount_submitted(pool, task, error);
    return error;
}

/* The member `execute` of struct hora__pool_kind: schedule a task that is due at once, without a future. */
static int execute(hora_pool *pool, const hora_task *task)
{
    struct hora__scheduled_plan plan = plan_of_now(pool);
    return hora__scheduler_schedule(pool, task, &plan, NULL);
}

/* hora__pool_check accepts any pool, so the kind is checked here. */
int hora__scheduler_check(hora_pool *pool, const hora_task *task)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    return hora__scheduler_of(pool) == NULL || task == NULL || task->run == NULL ? HORA_EINVAL : 0;
}

/* Schedule a one-shot task with a future, on a scheduler without decorator and observer. The future is
 * made already enqueued and inserted into a lane in one step, which is the shortest path there is. If the
 * lane refuses it, it is placed in the general way. */
static int schedule_simply(hora_pool *pool, const hora_task *task, hora_ns now, hora_ns planned,
                           hora_future **ret_future)
{
    assert(ret_future != NULL);
    struct hora__scheduled *scheduled;
    int error = hora__scheduled_new_once(task, pool, planned, &scheduled);
    if (error < 0)
        return error;
    struct hora__offer offer = {.control = &pool->control, .closed = hora__control(HORA__SHUTDOWN, 0)};
    if (hora__timer_queue_insert_new(pool->queue, scheduled, now, &offer)) {
        hora__pool_work_came(pool);
        error = hora__scheduler_is_staffed(pool) ? 0 : recheck_and_staff(pool, &scheduled->future);
    } else {
        hora__future_dequeued_fresh(&scheduled->future);
        error = place_fresh(pool, &scheduled->future);
    }
    if (error < 0)
        hora__future_discard(&scheduled->future);
    else
        *ret_future = &scheduled->future;
    return error;
}

/* Schedule by the rules of the JDK's three calls. A negative delay counts as 0. `every` is the period or
 * the delay between runs, and 0 for a task that runs once. */
static int schedule_as_jdk(hora_pool *pool, const hora_task *task, hora_ns now, hora_ns delay,
                           enum hora__trigger trigger, hora_ns every, hora_future **ret_future)
{
    assert((every > 0) == (trigger != HORA__ONCE));
    struct hora__scheduled_plan plan = {.rules = &hora__jdk_rules,
                                        .trigger = trigger,
                                        .line = hora__clock_timeline(pool->object.clock),
                                        .now = now,
                                        .planned = hora__ns_add(now, delay > 0 ? delay : 0),
                                        .every = every};
    return hora__scheduler_schedule(pool, task, &plan, ret_future);
}

/* Reads the clock once. All paths count from that reading. */
int hora_scheduler_schedule(hora_scheduler *scheduler, const hora_task *task, hora_ns delay,
                            hora_future **ret_future)
{
    int error = hora__scheduler_check(scheduler, task);
    if (error < 0)
        return error;
    hora_ns now = hora_clock_now(scheduler->object.clock);
    if (ret_future != NULL && ((const struct hora__scheduler *)scheduler)->is_simple)
        return schedule_simply(scheduler, task, now, hora__ns_add(now, delay > 0 ? delay : 0), ret_future);
    return schedule_as_jdk(scheduler, task, now, delay, HORA__ONCE, 0, ret_future);
}

/* Check the arguments of the two calls that schedule a series, and schedule it. HORA_EINVAL: `every` is
 * not positive. */
static int schedule_series(hora_pool *pool, const hora_task *task, hora_ns delay, enum hora__trigger trigger,
                           hora_ns every, hora_future **ret_future)
{
    assert(trigger == HORA__RATE || trigger == HORA__GAP);
    int error = hora__scheduler_check(pool, task);
    if (error < 0 || every <= 0)
        return error < 0 ? error : HORA_EINVAL;
    return schedule_as_jdk(pool, task, hora_clock_now(pool->object.clock), delay, trigger, every, ret_future);
}

int hora_scheduler_schedule_at_fixed_rate(hora_scheduler *scheduler, const hora_task *task,
                                          hora_ns initial_delay, hora_ns period, hora_future **ret_future)
{
    return schedule_series(scheduler, task, initial_delay, HORA__RATE, period, ret_future);
}

int hora_scheduler_schedule_with_fixed_delay(hora_scheduler *scheduler, const hora_task *task,
                                             hora_ns initial_delay, hora_ns delay, hora_future **ret_future)
{
    return schedule_series(scheduler, task, initial_delay, HORA__GAP, delay, ret_future);
}
