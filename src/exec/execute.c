/* SPDX-License-Identifier: Apache-2.0 */
/* execute.c - the way of a task into a pool
 *
 * Order             a core worker; the queue; a worker up to max_threads; the rule for those that find no
 *                   place.
 * Races             After a task has been queued the pool may have been shut down, with no worker left to see
 *                   it: so the state is looked at again, and the task taken back if it is still there. If it
 *                   is not, a worker has it, and all is well. Likewise the last worker may have left just
 *                   before: then one is started; if that fails, too, the task is taken back, and the caller
 *                   is told. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "exec/pool.h"
#include "exec/pool_admission.h"
#include "sync/clock.h"

/* ---- books ---- */

/* Unfinished went to or from zero: show it. */
static void show_idleness(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    hora__atomic_store(&pool->shows_idle, 1); /* before looking: see hora__pool_booked */
    bool idle = hora__books_are_even(&pool->books);
    if (!idle)
        hora__atomic_store(&pool->shows_idle, 0);
    hora__ready_fd_set(&pool->idle_fd, pool->object.clock, idle ? HORA__READY_NOW : HORA_FOREVER);
    if (idle)
        hora__waiters_resolve_all(&pool->quiescers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* Something has been finished, or there was nothing to do before what has just come. A watcher says so before
 * it passes through the locks of the queue and looks, and this is called after the books were changed under
 * them: one of the two sees the other. */
void hora__pool_booked(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->queue->object.lock));
    if (hora__atomic_load(&pool->idle_watchers) > 0)
        show_idleness(pool);
}

/* The same for what has come, which changes nothing unless idleness is shown. */
void hora__pool_work_came(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->queue->object.lock));
    if (hora__atomic_load(&pool->idle_watchers) > 0 && hora__atomic_load(&pool->shows_idle))
        show_idleness(pool);
}

static void book(hora_pool *pool, enum hora__booking what)
{
    hora__work_book(pool->queue, &pool->books, what);
}

void hora__pool_watch(hora_pool *pool, int by)
{
    assert(by == 1 || by == -1);
    (void)hora__atomic_add(&pool->idle_watchers, by);
    book(pool, HORA__NOTHING); /* see hora__pool_booked */
}

void hora__pool_accept(hora_pool *pool)
{
    book(pool, HORA__ACCEPTED);
    hora__pool_work_came(pool);
}

void hora__pool_unaccept(hora_pool *pool)
{
    book(pool, HORA__WITHDRAWN);
    hora__pool_booked(pool);
}

void hora__pool_finish(hora_pool *pool)
{
    book(pool, HORA__FINISHED);
    hora__pool_booked(pool);
}

void hora__pool_leave_queue(hora_pool *pool, struct hora__hold *hold)
{
    assert(hold->finished >= 0);
    hora__work_leave(pool->queue, hold, &pool->books);
    hora__pool_booked(pool);
}

void hora__pool_end(hora_pool *pool, enum hora__ending ending)
{
    assert((int)ending >= 0 && ending < HORA__ENDINGS);
    hora__counter_add_publish(&pool->endings[ending], 1);
    hora__pool_finish(pool);
}

enum hora__ending hora__ending_of(hora_future *future)
{
    int outcome = hora__future_outcome(future);
    if (outcome == 0)
        return HORA__DONE; /* as a rule */
    switch (outcome) {
    case HORA_ECANCELED:
        return HORA__CANCELLED;
    case HORA_EREJECTED:
        return HORA__REJECTED;
    case HORA_EABANDONED:
        return HORA__ABANDONED;
    case HORA_EEXPIRED:
        return HORA__EXPIRED;
    case HORA_EAGAIN: /* a second entry, while the first one runs elsewhere and will count the outcome */
    case HORA_EFAILED:
    default:
        return HORA__FAILED;
    }
}

__attribute__((noinline)) void hora__pool_comes(const hora_pool *pool, const hora_task *task)
{
    if (hora__pool_measures(pool) && task->name != NULL)
        pool->observer->kind->submitted(pool->observer, task->name, 1);
}

__attribute__((noinline)) void hora__pool_came(const hora_pool *pool, const hora_task *task, int error)
{
    assert(error < 0);
    bool is_lost = error == HORA_ENOMEM || error == HORA_EAGAIN || error == HORA_EINVAL;
    if (is_lost && hora__pool_measures(pool) && task->name != NULL)
        pool->observer->kind->submitted(pool->observer, task->name, -1);
}

/* ---- the queue ---- */

/* A thread has taken an entry out. */
static void left_queue(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->queue->object.lock));
    hora__pool_room(pool);
    hora__pool_relieve(pool);
    if (pool->admission != NULL)
        hora__pool_nudge_awaited(pool);
}

bool hora__pool_withdraw(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    if (hora_queue_remove(pool->queue, future) != 1)
        return false;
    left_queue(pool);
    return true;
}

void hora__pool_cancelled(hora_pool *pool)
{
    left_queue(pool);
    hora__pool_booked(pool);
}

void hora__pool_drop_cancelled(hora_pool *pool, hora_future *future)
{
    assert(hora__future_state(future) >= HORA__FUTURE_CANCELLED ||
           hora__future_state(future) == HORA__FUTURE_EXCEPTIONAL);
    if (!hora__work_remove_cancelled(pool->queue, future, &pool->books))
        return;
    hora__pool_cancelled(pool);
    (void)hora_future_unref(future);
    hora__pool_try_terminate(pool);
}

/* Whose a future is when a place is sought for it. */
enum ownership {
    KNOWN, /* others may use it at the same time */
    FRESH, /* only the caller has seen it */
    GIVEN, /* the same, and with success the caller gives its reference back */
};

/* Whether the caller has a reference of its own while it seeks a place. It needs one even if it will not use
 * the future any more: a thread that takes the future back out of the queue finds it by its address, and that
 * could be another future's by then. */
static bool has_own_reference(enum ownership ownership)
{
    return ownership != GIVEN || !HORA__FAULT(POOL_EXECUTE_LETS_GO);
}

/* Of a future that only the caller has seen. Apart, so that pools without an observer do not pay for it. */
__attribute__((noinline)) static void stamp(const hora_pool *pool, hora_future *future)
{
    assert(pool->observer != NULL && future->owner == &pool->owner);
    if (pool->observer->measures)
        future->by.came = hora__pool_stamp(pool);
}

/* The future becomes the pool's to run, with the reference of the entry. */
static void enter(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(future->task.run != NULL);
    if (ownership == KNOWN) {
        (void)hora_future_ref(future);
        hora__future_enqueued(future, &pool->owner, hora__pool_measures(pool) ? hora__pool_stamp(pool) : 0);
    } else {
        hora__future_born_enqueued(future, &pool->owner,
                                   ownership == FRESH || has_own_reference(ownership) ? 2 : 1);
        if (pool->observer != NULL)
            stamp(pool, future);
    }
}

/* It found no place, or was taken back: as if it had not entered. */
static void back_out(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(!hora__mutex_held(&future->object.lock));
    hora__future_dequeued(future, &pool->owner);
    if (has_own_reference(ownership))
        (void)hora_future_unref(future);
}

static int put_into_queue(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(pool->work != NULL && future->task.run != NULL);
    enter(pool, future, ownership);
    struct hora__offer offer = {.item = future, .books = &pool->books};
    int error = pool->work->offer(pool->queue, &offer);
    if (error < 0) {
        back_out(pool, future, ownership);
        return error;
    }
    if (hora__atomic_load(&pool->idle_watchers) > 0)
        hora__pool_work_came(pool);
    if (pool->observer != NULL)
        pool->observer->kind->queued(pool->observer);
    return 0;
}

int hora__pool_enqueue(hora_pool *pool, hora_future *future)
{
    return put_into_queue(pool, future, KNOWN);
}

int hora__pool_enqueue_fresh(hora_pool *pool, hora_future *future)
{
    return put_into_queue(pool, future, FRESH);
}

void hora__pool_unqueue(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    back_out(pool, future, KNOWN);
    hora__pool_unaccept(pool);
}

/* After queueing, without a worker: the last one may have left just before. HORA_EAGAIN or HORA_ENOMEM: none
 * is there, and none can be started. */
__attribute__((noinline)) static int staff(hora_pool *pool)
{
    int error = hora__worker_add(pool, NULL, false);
    if (error == 0 || error == HORA_EFULL || error == HORA_ESHUTDOWN || HORA__FAULT(POOL_KEEPS_UNSTAFFED))
        return 0; /* that last one: what was queued before it has been dealt with */
    if (hora__count_of(hora__atomic_load(&pool->control)) > 0)
        return 0; /* if that one does not start either, the pool is stranded: see worker_add.c */
    return error == HORA_ENOMEM ? HORA_ENOMEM : HORA_EAGAIN;
}

/* After queueing: HORA_ESHUTDOWN, or as staff, if the task had to be taken back. */
static inline int look_again(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    if (HORA__FAULT(POOL_NO_RECHECK))
        return 0;
    int32_t control = hora__atomic_load(&pool->control);
    int error = hora__state_of(control) != HORA__RUNNING ? HORA_ESHUTDOWN : 0;
    if (error == 0 && hora__count_of(control) == 0)
        error = staff(pool);
    if (error < 0 && hora__pool_withdraw(pool, future)) {
        back_out(pool, future, ownership);
        hora__pool_unaccept(pool);
        hora__pool_try_terminate(pool);
        return error;
    }
    if (error == HORA_ESHUTDOWN && hora__count_of(control) == 0)
        (void)staff(pool);
    return 0;
}

/* ---- placing ---- */

/* With the worker, not in the queue; but the pool's to run. */
static int start_with(hora_pool *pool, hora_future *future, enum ownership ownership, bool core)
{
    hora__pool_accept(pool);
    enter(pool, future, ownership);
    int error = hora__worker_add(pool, future, core);
    if (error < 0) {
        back_out(pool, future, ownership);
        hora__pool_unaccept(pool);
    }
    return error;
}

/* Whether a worker is there, or on its way, and no other one is to start before a task is queued. */
static bool is_staffed(const hora_pool *pool)
{
    int count = hora__count_of(hora__atomic_load(&pool->control));
    return count > 0 && count >= hora__atomic_load(&pool->core_threads);
}

/* The same in a pool with admission, where the task has to begin before the thread is started. */
static int start_admitted(hora_pool *pool, hora_future *future, enum ownership ownership, bool core)
{
    assert(pool->admission != NULL);
    int error = hora__pool_run_begin(pool, future, core);
    if (error < 0)
        return error;
    error = start_with(pool, future, ownership, core);
    if (error < 0)
        hora__pool_run_unbegin(pool, future);
    return error;
}

static int place_for_admission(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(pool->admission != NULL && pool->kind == NULL);
    if (start_admitted(pool, future, ownership, true) == 0)
        return 0;
    if (hora__state_of(hora__atomic_load(&pool->control)) != HORA__RUNNING)
        return HORA_ESHUTDOWN;
    int refused = put_into_queue(pool, future, ownership);
    if (refused == 0) {
        refused = look_again(pool, future, ownership);
        if (refused == 0)
            hora__pool_staff(pool);
        return refused;
    }
    int error = start_admitted(pool, future, ownership, false);
    if (error == 0 || error == HORA_ESHUTDOWN)
        return error;
    return refused == HORA_ENOMEM ? HORA_ENOMEM : HORA_EFULL;
}

static int place(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(future->task.run != NULL);
    if (pool->kind != NULL)
        return pool->kind->place(pool, future);
    if (pool->admission != NULL)
        return place_for_admission(pool, future, ownership);
    bool below_core =
        hora__count_of(hora__atomic_load(&pool->control)) < hora__atomic_load(&pool->core_threads);
    if (below_core && start_with(pool, future, ownership, true) == 0)
        return 0;
    int refused = HORA_ESHUTDOWN;
    if (hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING) {
        refused = put_into_queue(pool, future, ownership);
        if (refused == 0)
            return look_again(pool, future, ownership);
    }
    int error = start_with(pool, future, ownership, false);
    if (error == 0 || error == HORA_EFULL || error == HORA_ESHUTDOWN)
        return error == 0 ? 0 : refused == HORA_ENOMEM ? HORA_ENOMEM : error;
    return refused == HORA_EFULL ? HORA_EFULL
                                 : error; /* saturated, or no memory, or no thread and no queue */
}

int hora__pool_place(hora_pool *pool, hora_future *future)
{
    return place(pool, future, KNOWN);
}

static bool is_refusal(int error)
{
    return error == HORA_EFULL || error == HORA_ESHUTDOWN;
}

int hora__pool_placed(hora_pool *pool, hora_future *future, int error)
{
    assert(error <= 0);
    return is_refusal(error) ? hora__pool_reject(pool, future, error) : error;
}

/* Others may cancel and drop it at the same time, so its name is copied. Apart, since few pools measure. */
__attribute__((noinline)) static int execute_measured(hora_pool *pool, hora_future *future)
{
    assert(hora__pool_measures(pool));
    struct hora__task_copy own;
    hora__future_copy_task(future, &own);
    hora__pool_comes(pool, &own.task);
    int error = hora__pool_placed(pool, future, hora__pool_place(pool, future));
    if (error < 0)
        hora__pool_came(pool, &own.task, error);
    return error;
}

int hora__pool_execute(hora_pool *pool, hora_future *future)
{
    if (hora__pool_measures(pool))
        return execute_measured(pool, future);
    return hora__pool_placed(pool, future, hora__pool_place(pool, future));
}

int hora_pool_execute_future(hora_pool *pool, hora_future *future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || future == NULL || future->task.run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = hora__object_check(&future->object);
    return error < 0 ? error : hora__pool_execute(pool, future);
}

static int make(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (pool->kind != NULL)
        return pool->kind->make(pool, task, ret_future);
    if (pool->observer != NULL && pool->observer->needs_extras)
        return hora__pool_make_bound(pool, task, NULL, ret_future);
    return hora__future_new_beside(task, &pool->object, &pool->shared_free_list, ret_future);
}

int hora__pool_make_bound(hora_pool *pool, const hora_task *task, const hora_task_options *terms,
                          hora_future **ret_future)
{
    assert(task->run != NULL && ret_future != NULL);
    struct hora__extra *extra;
    int error = hora__extra_new(pool, terms, &extra);
    if (error < 0)
        return error;
    error = hora__future_new_bound(task, pool->object.clock, extra, ret_future);
    if (error < 0)
        hora__extra_free(extra);
    return error;
}

int hora__pool_place_fresh(hora_pool *pool, hora_future *future)
{
    if (pool->owner.spin > 0)
        future->spins = true;
    if (pool->observer != NULL)
        hora__pool_comes(pool, &future->task);
    int error = place(pool, future, FRESH);
    if (error < 0)
        error = hora__pool_placed(pool, future, error);
    if (error < 0)
        hora__pool_came(pool, &future->task, error);
    return error;
}

int hora_pool_submit(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    hora_future *future;
    int error = ret_future == NULL ? HORA_EINVAL : make(pool, task, &future);
    if (error < 0)
        return error;
    error = hora__pool_place_fresh(pool, future);
    if (error < 0)
        hora__future_forget(future);
    else
        *ret_future = future;
    return error;
}

/* ---- detached ---- */

/* Queue a detached task, if no thread looks at the queue and it is the queue's turn: whether that was done.
 * It is let in only while the pool is running and has a worker, so unlike a future it never has to be taken
 * back. */
static bool insert(hora_pool *pool, const hora_task *task)
{
    assert(pool->kind == NULL && task->run != NULL);
    int32_t detached_mode = hora__atomic_load(&pool->detached_mode);
    if (detached_mode == HORA__NEVER_DETACHES || !is_staffed(pool))
        return false;
    struct hora__offer offer = {
        .task = task,
        .control = &pool->control,
        .closed = hora__control(HORA__SHUTDOWN, 0),
    };
    if (detached_mode == HORA__DETACHES_STAMPED) {
        offer.came = hora__pool_stamp(pool);
        hora__pool_comes(pool, task);
    }
    if (pool->work->offer(pool->queue, &offer) < 0) {
        hora__pool_came(pool, task, HORA_EAGAIN); /* it tries another way */
        return false;
    }
    hora__pool_work_came(pool);
    if (hora__count_of(hora__atomic_load(&pool->control)) == 0)
        (void)staff(pool); /* the last worker has just left: if that fails it stays, and tries again */
    return true;
}

static int execute_future(hora_pool *pool, const hora_task *task)
{
    assert(task->run != NULL);
    hora_future *future;
    int error = make(pool, task, &future);
    if (error < 0)
        return error;
    future->is_executed = true;
    if (pool->observer != NULL)
        hora__pool_comes(pool, task);
    error = place(pool, future, GIVEN);
    if (error == 0 && !has_own_reference(GIVEN))
        return 0;
    if (is_refusal(error))
        error = hora__pool_reject(pool, future, error);
    if (error < 0) {
        hora__pool_came(pool, task, error);
        hora__future_forget(future);
    } else {
        (void)hora_future_unref(future);
    }
    return error;
}

int hora_pool_execute(hora_pool *pool, const hora_task *task)
{
    int error = hora__pool_check(pool);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (pool->kind != NULL)
        return pool->kind->execute(pool, task);
    return insert(pool, task) ? 0 : execute_future(pool, task);
}
