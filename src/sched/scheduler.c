/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - a pool whose work source is a timer queue
 *
 * Submission        Every task goes into the timer queue, even if it is due at once. Then the caller makes
 *                   sure that there is a worker. No worker starts with a task. The pool's state is checked
 *                   before and after, as in execute.c: a task that shutdown does not let run has been
 *                   accepted, so it is cancelled, not rejected.
 * After shutdown    lets_run is asked when a task is put in, when it is about to run and when it is put back,
 *                   and the sweep asks it once for all tasks. A thread that changes the state or a rule does
 *                   so first and then sweeps. A thread that puts a task in does so first and then looks. So
 *                   one of the two sees the other.
 * Without future    A task that runs once by the rules of the JDK's calls, and whose future the caller did
 *                   not ask for, cannot be cancelled, awaited or changed. It takes a quarter of the memory of
 *                   a future. If no hook sees futures, it goes into the timer queue detached (detached.h).
 *                   Before another thread looks at the entries, hora__pool_show turns all detached tasks into
 *                   futures. The pool's state is checked under the lock by which the task comes in, so the
 *                   sweep after a change of state finds it.
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
#include "exec/options.h"
#include "exec/pool_admission.h"
#include "sched/detached.h"
#include "sched/overlap.h"
#include "sched/timer_queue_internal.h"
#include "sched/zones.h"
#include "sync/clock.h"
#include "sys/process.h"

enum { KEEP_ALIVE_MS = 10 };

static_assert(offsetof(struct hora__scheduler, pool) == 0, "one address for both");

/* ---- run state ---- */

static enum hora__run_state state_of(const hora_pool *pool)
{
    assert(pool != NULL);
    return hora__state_of(hora__atomic_load(&pool->control));
}

static bool is_due(struct hora__scheduled *scheduled)
{
    hora_ns delay;
    return hora_future_delay(&scheduled->future, &delay) == 0 && delay <= 0;
}

static bool is_paused(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
    bool paused = scheduled->paused;
    hora__mutex_unlock(&scheduled->queue->object.lock);
    return paused;
}

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
        return true; /* from elsewhere: due at once */
    if (!HORA__FAULT(SCHEDULER_LEAVES_PAUSED) && is_paused(scheduled))
        return false; /* it might never come to its end */
    if (hora__scheduled_is_series(scheduled))
        return hora__atomic_load(&scheduler->continue_periodic) != 0;
    return hora__atomic_load(&scheduler->cancel_delayed) == 0 || is_due(scheduled);
}

int hora__scheduler_staff(hora_pool *pool)
{
    int count = hora__count_of(hora__atomic_load(&pool->control));
    bool below_core = count < hora__atomic_load(&pool->core_threads);
    if (!below_core && count > 0)
        return 0;
    int error = hora__worker_add(pool, NULL, below_core);
    /* What cannot be started now is noted; as long as there is one worker nothing is lost by it. */
    bool have_one = hora__count_of(hora__atomic_load(&pool->control)) > 0;
    return have_one || error == HORA_EFULL ? 0 : error;
}

/* ---- the way in ---- */

/* Withdraw and cancel a task that has just been queued. Returns whether it was still there. */
static bool cancel_queued(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (!hora__pool_withdraw(pool, future))
        return false;
    (void)hora_future_cancel(future, false);
    hora__pool_entry_ended(pool, future);
    return true;
}

/* After queueing: the task may have to be withdrawn. If it is not there any more, another thread has
 * handled it. */
static int look_again(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (!HORA__FAULT(SCHEDULER_NO_RECHECK) && !hora__scheduler_lets_run(pool, future) &&
        cancel_queued(pool, future))
        return 0;
    int error = hora__scheduler_staff(pool);
    if (error == HORA_ESHUTDOWN) { /* the pool had ended before it saw this */
        if (!HORA__FAULT(SCHEDULER_LOSES_LATECOMER))
            (void)cancel_queued(pool, future);
        return 0;
    }
    if (error < 0 && hora__pool_withdraw(pool, future)) {
        hora__pool_unqueue(pool, future);
        hora__pool_try_terminate(pool);
        return error;
    }
    return 0;
}

static int place(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (state_of(pool) != HORA__RUNNING)
        return HORA_ESHUTDOWN;
    (void)hora_future_ref(future); /* it may have run, and be gone, before it is looked at again */
    int error = hora__pool_enqueue(pool, future);
    if (error == 0)
        error = look_again(pool, future);
    (void)hora_future_unref(future);
    return error;
}

/* Place a future that no other thread has seen. */
static int place_fresh(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    int error = state_of(pool) != HORA__RUNNING ? HORA_ESHUTDOWN : hora__pool_enqueue_fresh(pool, future);
    if (error == 0)
        error = look_again(pool, future);
    return hora__pool_placed(pool, future, error);
}

/* ---- the short way in ---- */

/* Insert a task that runs once into a lane. Returns whether that was done. The lane accepts it only while
 * the pool is running, so it never has to be withdrawn. */
static bool insert(hora_pool *pool, struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->queue == pool->queue);
    if (!hora__scheduler_is_staffed(pool))
        return false;
    struct hora__offer offer = {.control = &pool->control, .closed = hora__control(HORA__SHUTDOWN, 0)};
    hora__future_born_enqueued(&scheduled->future, &pool->owner, 2);
    if (!hora__timer_queue_insert_future(pool->queue, scheduled, now, &offer)) {
        hora__future_unborn(&scheduled->future);
        return false;
    }
    hora__pool_work_came(pool);
    return true;
}

static int insert_or_place(hora_pool *pool, struct hora__scheduled *scheduled, hora_ns now)
{
    assert(scheduled->queue == pool->queue);
    if (!insert(pool, scheduled, now))
        return place_fresh(pool, &scheduled->future);
    return hora__scheduler_is_staffed(pool)
               ? 0
               : look_again(pool, &scheduled->future); /* the last worker may have left just before */
}

static bool needs_no_news(const void *context)
{
    assert(context != NULL);
    return hora__pool_needs_no_news(context);
}

/* While a task is in a lane, the pool cannot end. */
static bool cancel_in_lane(struct hora__queue_owner *owner, hora_future *future)
{
    assert(owner != NULL && future != NULL);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    const hora_pool *pool = HORA__LIST_ENTRY(owner, struct hora_pool, owner);
    return scheduled != NULL && hora__timer_queue_cancel_in_lane(scheduled, needs_no_news, pool);
}

/* If the scheduler has a decorator, copy the task and decorate the copy. */
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

/* The plan of a task that is executed or submitted: it is due at once. */
static struct hora__scheduled_plan plan_of_now(const hora_pool *pool)
{
    hora_ns now = hora_clock_now(pool->object.clock);
    return (struct hora__scheduled_plan){.rules = &hora__jdk_rules,
                                         .trigger = HORA__ONCE,
                                         .line = hora__clock_timeline(pool->object.clock),
                                         .now = now,
                                         .planned = now};
}

/* Not inlined, so that tasks without options do not pay for it. */
__attribute__((noinline)) static int make_with_extra(hora_pool *pool, const hora_task *task,
                                                     const struct hora__scheduled_plan *plan,
                                                     struct hora__scheduled **ret_scheduled)
{
    assert(pool->observer != NULL);
    struct hora__scheduled_plan whole = *plan;
    whole.copies_rules = true; /* so it has a series state */
    int error = hora__extra_new(pool, plan->rules->options, &whole.extra);
    if (error < 0)
        return error;
    error = hora__scheduled_new(task, pool->queue, &whole, ret_scheduled);
    if (error < 0)
        hora__extra_free(whole.extra);
    return error;
}

/* Make a scheduled future, with the extra data that its options or an observer need. */
static inline int make_scheduled(hora_pool *pool, const hora_task *task,
                                 const struct hora__scheduled_plan *plan,
                                 struct hora__scheduled **ret_scheduled)
{
    if (pool->observer != NULL && (plan->rules->options != NULL || pool->observer->needs_extras))
        return make_with_extra(pool, task, plan, ret_scheduled);
    return hora__scheduled_new(task, pool->queue, plan, ret_scheduled);
}

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

/* A task that comes back never runs on a waiting worker. Whether it is due is read under the lock: else it
 * could be re-timed in between. */
static hora_ns take_out(hora_pool *pool, hora_future *future, hora_future **ret_future)
{
    assert(ret_future != NULL);
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (pool->admission != NULL) {
        hora_ns from = hora__timer_queue_help(pool->queue, future, ret_future);
        if (from == INT64_MIN)
            hora__pool_relieve(pool);
        return from;
    }
    *ret_future = future;
    if (scheduled == NULL)
        return hora__pool_withdraw(pool, future) ? INT64_MIN : HORA_FOREVER;
    if (scheduled->entry.comes_back)
        return HORA_FOREVER;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_queue *queue = pool->queue;
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_absorb(queue); /* it may still be in a lane */
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
    if (taken || delay <= 0)
        return taken ? INT64_MIN : HORA_FOREVER;
    return hora__clock_deadline(pool->object.clock, delay);
}

static void worker_begins(hora_pool *pool, struct hora__timer_run *run)
{
    assert(run != NULL);
    hora__timer_queue_worker_begins(pool->queue, run);
}

static void timer_ran(hora_pool *pool, struct hora__taken *taken)
{
    assert(taken != NULL && taken->run != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    hora__timer_queue_ran(pool->queue, taken, &wakes);
    hora__queue_serve(pool->queue, NULL, &wakes);
    hora__queue_exit(pool->queue, &wakes);
}

static void worker_ends(hora_pool *pool, struct hora__timer_run *run)
{
    assert(run != NULL);
    hora__timer_queue_worker_ends(pool->queue, run);
}

static void ends(hora_pool *pool)
{
    assert(hora__scheduler_of(pool) != NULL);
    hora__roster_remove(&hora__scheduler_of(pool)->roster);
}

/* ---- tasks without a future ---- */

static bool needs_no_futures(const struct hora__scheduler *scheduler)
{
    const hora_pool *pool = &scheduler->pool;
    return HORA__FAST && pool->before == NULL && pool->after == NULL && !hora__pool_needs_futures(pool);
}

/* No worker exists, and none can be started: withdraw the task or timer. If it is not there any more,
 * another thread has handled it. */
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

__attribute__((noinline)) int hora__scheduler_staff_detached(hora_pool *pool, bool is_timer, uint64_t number)
{
    assert(number != 0);
    int error = hora__scheduler_staff(pool);
    if (error < 0 && error != HORA_ESHUTDOWN) /* with that one, a sweep has removed it already */
        return take_back(pool, is_timer, number, error);
    return 0;
}

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
        hora__future_born_enqueued(&(*ret_scheduled)->future, &pool->owner, 1);
    return error;
}

static int show(hora_pool *pool)
{
    return hora__timer_queue_show(pool->queue, &(struct hora__timer_queue_maker){make_future, pool});
}

/* ---- making ---- */

static int execute(hora_pool *pool, const hora_task *task);

static const struct hora__pool_kind scheduler_kind = {
    .execute = execute,
    .show = show,
    .make = make,
    .place = place,
    .look = hora__clocks_look,
    .admit = hora__series_decide,
    .run = hora__series_run,
    .run_begun = hora__series_run_begun,
    .abandoned = hora__series_abandoned,
    .put_back = hora__series_put_back,
    .take_out = take_out,
    .sweep = hora__scheduler_sweep,
    .stopped = hora__scheduler_stopped,
    .read_settings = hora__scheduler_read_settings,
    .worker_begins = worker_begins,
    .worker_ends = worker_ends,
    .timer_ran = timer_ran,
    .run_timer = hora__scheduler_run_timer,
    .abandon_timer = hora__scheduler_abandon_timer,
    .ends = ends,
};

struct hora__scheduler *hora__scheduler_of(hora_pool *pool)
{
    return pool != NULL && pool->kind == &scheduler_kind ? (struct hora__scheduler *)pool : NULL;
}

const struct hora__scheduler *hora__scheduler_look_at(const hora_pool *pool)
{
    return pool != NULL && pool->kind == &scheduler_kind ? (const struct hora__scheduler *)pool : NULL;
}

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

static void init(struct hora__scheduler *scheduler, const hora_scheduler_options *own,
                 const hora_pool_options *rest)
{
    assert(own != NULL && rest != NULL);
    hora__atomic_init(&scheduler->cancel_delayed, own->cancel_delayed ? 1 : 0);
    hora__atomic_init(&scheduler->continue_periodic, own->continue_periodic ? 1 : 0);
    hora__atomic_init(&scheduler->watches, 0);
    hora__atomic_init(&scheduler->pool.max_threads,
                      INT_MAX); /* more than core_threads have no use, and no harm */
    scheduler->pool.owns_queue = true;
    scheduler->pool.owner.cancel_in_lane = cancel_in_lane;
    hora_ns ageing;
    if (hora__observer_admits(rest, &ageing))
        scheduler->pool.admission = hora__timer_queue_add_admission(
            scheduler->pool.queue, ageing, hora__pool_admission_threads, &scheduler->pool);
    hora__timer_queue_open_books(scheduler->pool.queue, &scheduler->pool.books);
    scheduler->decorate = own->decorate;
    scheduler->is_simple = HORA__FAST && own->decorate == NULL && scheduler->pool.observer == NULL;
    scheduler->shows_timers = hora__scheduler_shows_timers(scheduler);
    hora__atomic_init(&scheduler->pool.detached_mode, needs_no_futures(scheduler) ? 1 : 0);
    if (scheduler->pool.observer != NULL && scheduler->pool.observer->needs_clocks)
        hora__clocks_watch(&scheduler->pool);
    hora__roster_add(&scheduler->roster);
}

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
        (void)hora_queue_free(queue);
    return error;
}

int hora_scheduler_new(const hora_scheduler_options *options, hora_scheduler **ret_scheduler,
                       hora_error *reason)
{
    hora_scheduler_options own;
    hora__reason_begin(reason);
    if (ret_scheduler == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL,
                            "there is no place for the result: ret_scheduler is NULL");
    int error = read_options(&own, options, reason);
    if (error == 0)
        error = new_scheduler(&own, ret_scheduler, reason);
    return hora__reason_end(reason, error);
}

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
    own.struct_size = sizeof own;
    own.core_threads = 1;
    own.frozen = true;
    return hora_scheduler_new(&own, ret_scheduler, reason);
}

/* ---- scheduling ---- */

/* Whether the task runs once by the rules of the JDK's calls, which use the scheduler's own clock and
 * never pause. */
static bool is_plain(const struct hora__scheduled_plan *plan)
{
    return plan->rules == &hora__jdk_rules && plan->trigger == HORA__ONCE;
}

/* Prepare what a series needs beyond a future: its overlap, its extra data, its clock and its zones. */
static int prepare_series(hora_pool *pool, struct hora__scheduled *scheduled,
                          const struct hora__scheduled_plan *plan)
{
    assert(scheduled->series != NULL);
    int error = plan->rules->overlap == HORA_OVERLAP_ALLOW ? hora__overlap_new(scheduled) : 0;
    if (error == 0 && scheduled->series->extra != NULL)
        error = hora__extra_prepare(&scheduled->future);
    if (error < 0)
        return error;
    if (plan->line != hora__clock_timeline(pool->object.clock))
        hora__clocks_watch(pool);
    hora__zones_follow(scheduled, plan->zones_seen, plan->zone_is_known);
    return 0;
}

/* Make a scheduled future and queue it. */
static inline int make_and_place(hora_pool *pool, const hora_task *task,
                                 const struct hora__scheduled_plan *plan, hora_future **ret_future)
{
    assert(plan->rules != NULL);
    struct hora__scheduled *scheduled;
    hora__shared_free_list_supply(&pool->shared_free_list);
    int error = make_scheduled(pool, task, plan, &scheduled);
    if (error < 0)
        return error;
    error = scheduled->series != NULL ? prepare_series(pool, scheduled, plan) : 0;
    if (error == 0)
        error = insert_or_place(pool, scheduled, plan->now);
    if (error < 0) {
        hora__overlap_forget(scheduled);
        hora__future_forget(&scheduled->future);
        return error;
    }
    if (scheduled->series != NULL && scheduled->series->extra != NULL)
        hora__extra_accepted(&scheduled->future);
    if (ret_future != NULL)
        *ret_future = &scheduled->future;
    else
        (void)hora_future_unref(&scheduled->future);
    return 0;
}

/* If the caller does not ask for the future, the task goes in without one, if possible. */
int hora__scheduler_schedule(hora_pool *pool, const hora_task *task, const struct hora__scheduled_plan *plan,
                             hora_future **ret_future)
{
    assert(task != NULL && task->run != NULL);
    hora_task own;
    int error = decorate(pool, &task, &own);
    if (error < 0)
        return error;
    if (pool->observer != NULL)
        hora__pool_comes(pool, task);
    error = HORA_ENOTSUP;
    if (ret_future == NULL && is_plain(plan))
        error = insert_task(pool, task, plan->now, plan->planned);
    if (error == HORA_ENOTSUP)
        error = make_and_place(pool, task, plan, ret_future);
    if (error < 0)
        hora__pool_came(pool, task, error);
    return error;
}

static int execute(hora_pool *pool, const hora_task *task)
{
    struct hora__scheduled_plan plan = plan_of_now(pool);
    return hora__scheduler_schedule(pool, task, &plan, NULL);
}

int hora__scheduler_check(hora_pool *pool, const hora_task *task)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    return hora__scheduler_of(pool) == NULL || task == NULL || task->run == NULL ? HORA_EINVAL : 0;
}

/* A task that runs once, with a future: made and inserted in one step. If the lane refuses it, it is
 * placed in the general way. */
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
        error = hora__scheduler_is_staffed(pool) ? 0 : look_again(pool, &scheduled->future);
    } else {
        hora__future_unborn(&scheduled->future);
        error = place_fresh(pool, &scheduled->future);
    }
    if (error < 0)
        hora__future_forget(&scheduled->future);
    else
        *ret_future = &scheduled->future;
    return error;
}

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
