/* SPDX-License-Identifier: Apache-2.0 */
/* execute.c - how a task gets into a pool
 *
 * Order             As in the JDK: below core_threads, a new worker starts with the task; else it is queued;
 *                   if the queue refuses it, a new worker up to max_threads starts with it; else the
 *                   rejection rule applies.
 * Races             When a task has just been queued, the pool may have been shut down, with no worker left
 *                   to take it. So the submitter checks the state again, and withdraws the task if it is
 *                   still queued. If it is not, a worker has taken it. In the same way the last worker may
 *                   have ended just before. Then the submitter starts one; if that fails, it withdraws the
 *                   task and returns the error. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "exec/pool.h"
#include "exec/pool_admission.h"
#include "sync/clock.h"

/* ---- books ---- */

/* Shows watchers whether the pool is idle now: sets the idle descriptor, and wakes the threads that wait for
 * that. */
static void show_idleness(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->object.lock));
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    hora__atomic_store(&pool->shows_idle, 1); /* before the books are read: see hora__pool_work_came */
    bool idle = hora__books_are_even(&pool->books);
    if (!idle)
        hora__atomic_store(&pool->shows_idle, 0);
    hora__ready_fd_set(&pool->idle_fd, pool->object.clock, idle ? HORA__READY_NOW : HORA_FOREVER);
    if (idle)
        hora__waiters_resolve_all(&pool->idle_waiters, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* A watcher raises idle_watchers before it passes through the locks of the queue and reads the books. This is
 * called after the books were changed under these locks. So either the caller sees the watcher, or the
 * watcher sees the change. */
void hora__pool_booked(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->object.lock));
    if (hora__atomic_load(&pool->idle_watchers) > 0)
        show_idleness(pool);
}

/* An accepted task matters to watchers only if they may have been told that the pool is idle. shows_idle is
 * set before the books are read, so either this call sees it, or show_idleness sees the task. */
void hora__pool_work_came(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->queue->object.lock));
    if (hora__atomic_load(&pool->idle_watchers) > 0 && hora__atomic_load(&pool->shows_idle))
        show_idleness(pool);
}

/* Books one event in the pool's books, under the queue's lock. */
static void book(hora_pool *pool, enum hora__booking what)
{
    hora__work_book(pool->queue, &pool->books, what);
}

void hora__pool_watch(hora_pool *pool, int by)
{
    assert(by == 1 || by == -1);
    (void)hora__atomic_add(&pool->idle_watchers, by);
    book(pool, HORA__NOTHING); /* this passes through the locks: see hora__pool_booked */
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

/* Counts the ending first, so that a thread that finds the books even also finds the ending counted. */
void hora__pool_end(hora_pool *pool, enum hora__ending ending)
{
    assert(ending < HORA__ENDINGS);
    hora__counter_add_publish(&pool->endings[ending], 1);
    book(pool, HORA__FINISHED);
    hora__pool_booked(pool);
}

/* For a future that is not done, whose entry ends nevertheless, the ending is HORA__FAILED. */
enum hora__ending hora__ending_of(hora_future *future)
{
    int outcome = hora__future_outcome(future);
    if (outcome == 0)
        return HORA__DONE; /* the usual case */
    switch (outcome) {
    case HORA_ECANCELED:
        return HORA__CANCELLED;
    case HORA_EREJECTED:
        return HORA__REJECTED;
    case HORA_EABANDONED:
        return HORA__ABANDONED;
    case HORA_EEXPIRED:
        return HORA__EXPIRED;
    case HORA_EAGAIN: /* not done: a second entry, while the first one runs and will count the outcome */
    case HORA_EFAILED:
    default:
        return HORA__FAILED;
    }
}

/* Not inlined, as the next: few pools measure. */
__attribute__((noinline)) void hora__pool_count_submitted(const hora_pool *pool, const hora_task *task)
{
    if (hora__pool_measures(pool) && task->name != NULL)
        pool->observer->kind->submitted(pool->observer, task->name, 1);
}

__attribute__((noinline)) void hora__pool_uncount_submitted(const hora_pool *pool, const hora_task *task,
                                                            int error)
{
    assert(error < 0);
    bool is_lost = error == HORA_ENOMEM || error == HORA_EAGAIN || error == HORA_EINVAL;
    if (is_lost && hora__pool_measures(pool) && task->name != NULL)
        pool->observer->kind->submitted(pool->observer, task->name, -1);
}

/* ---- the queue ---- */

/* Called after an entry was removed from the queue: notifies submitters that wait for room, the last worker,
 * and workers that wait for tasks behind it by their key. */
static void left_queue(hora_pool *pool)
{
    assert(!hora__mutex_held(&pool->queue->object.lock));
    hora__pool_room(pool);
    hora__pool_relieve(pool);
    if (pool->admission != NULL)
        hora__pool_nudge_awaited(pool);
}

/* The entry may be in the inbox: hora_queue_remove looks there, too. */
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

/* Who uses a future while it is placed. */
enum ownership {
    KNOWN, /* other threads may use it at the same time */
    FRESH, /* only the caller has seen it */
    GIVEN, /* only the caller has seen it, and drops its reference when the future is placed */
};

/* Returns whether the caller has its own reference while it places the future. It needs one even if it does
 * not use the future afterwards: look_again finds the future in the queue by its address, which could be that
 * of another future if this one had run and been freed. */
static bool has_own_reference(enum ownership ownership)
{
    return ownership != GIVEN || !HORA__FAULT(POOL_EXECUTE_HAS_NO_REFERENCE);
}

/* Notes when a future was submitted that only the caller has seen. Not inlined, so that pools without an
 * observer do not pay for it. */
__attribute__((noinline)) static void stamp(const hora_pool *pool, hora_future *future)
{
    assert(pool->observer != NULL && future->owner == &pool->owner);
    if (pool->observer->measures)
        future->by.came = hora__pool_stamp(pool);
}

/* Makes the pool the owner that is going to run the future, and adds the reference of its entry. */
static void enter(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(future->task.run != NULL);
    if (ownership == KNOWN) {
        (void)hora_future_ref(future);
        hora__future_enqueued(future, &pool->owner, hora__pool_measures(pool) ? hora__pool_stamp(pool) : 0);
    } else {
        int references =
            future->kind == HORA__FUTURE_SEATED ? 2 : 1; /* the caller's, and that of a seat in a group */
        hora__future_enqueued_fresh(future, &pool->owner,
                                    references + (has_own_reference(ownership) ? 1 : 0));
        if (pool->observer != NULL)
            stamp(pool, future);
    }
}

/* Undoes enter: there was no place for the future, or it was withdrawn. Drops the reference of its entry. */
static void back_out(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(!hora__mutex_held(&future->object.lock));
    hora__future_dequeued(future, &pool->owner);
    if (has_own_reference(ownership))
        (void)hora_future_unref(future);
}

/* Queues a future, and notifies watchers and the observer. Returns 0 or the error of the queue; then nothing
 * has changed. */
static int put_into_queue(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(pool->work != NULL && future->task.run != NULL);
    enter(pool, future, ownership); /* before the offer: a worker may take it at once */
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

/* Called after a task was queued, if there is no worker, because the last one may have ended just before:
 * starts one. Returns 0, or HORA_EAGAIN or HORA_ENOMEM if none can be started and there still is none. */
__attribute__((noinline)) static int staff(hora_pool *pool)
{
    int error = hora__worker_add(pool, NULL, false);
    if (error == 0 || error == HORA_EFULL || error == HORA_ESHUTDOWN || HORA__FAULT(POOL_KEEPS_UNSTAFFED))
        return 0; /* HORA_ESHUTDOWN: everything that was queued before has been handled */
    if (hora__count_of(hora__atomic_load(&pool->control)) > 0)
        return 0; /* if that worker does not start either, the pool is stranded: see worker_add.c */
    return error == HORA_ENOMEM ? HORA_ENOMEM : HORA_EAGAIN;
}

/* Called after a future was queued: checks the state and the workers again; see Races above. Returns 0, or
 * HORA_ESHUTDOWN or the error of staff if the future had to be withdrawn. */
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
        (void)staff(pool); /* another thread has removed it; other tasks may still be queued */
    return 0;
}

/* ---- placing ---- */

/* Starts a worker with a future as its first task, which so does not go through the queue. Returns 0 or the
 * error of hora__worker_add; then nothing has changed. */
static int start_with(hora_pool *pool, hora_future *future, enum ownership ownership, bool core)
{
    hora__pool_accept(
        pool); /* first: the worker may have finished the task before hora__worker_add returns */
    enter(pool, future, ownership);
    int error = hora__worker_add(pool, future, core);
    if (error < 0) {
        back_out(pool, future, ownership);
        hora__pool_unaccept(pool);
    }
    return error;
}

/* Returns whether a task can be queued at once: there is a worker, and no core worker has to be started
 * before. */
static bool is_staffed(const hora_pool *pool)
{
    int count = hora__count_of(hora__atomic_load(&pool->control));
    return count > 0 && count >= hora__atomic_load(&pool->core_threads);
}

/* As start_with, in a pool with admission: the task must be admitted before its thread is started. */
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

/* As place, in a pool with admission. A task starts with a new worker only if admission lets it begin now.
 * After a task was queued, hora__pool_staff starts workers for whichever tasks may begin. */
static int place_for_admission(hora_pool *pool, hora_future *future, enum ownership ownership)
{
    assert(pool->admission != NULL && pool->kind == NULL);
    if (start_admitted(pool, future, ownership, true) == 0)
        return 0;
    if (hora__state_of(hora__atomic_load(&pool->control)) != HORA__RUNNING)
        return HORA_ESHUTDOWN;
    int refused = put_into_queue(pool, future, ownership);
    if (refused == 0) {
        /* The new task, or another one, may be allowed to begin on a core thread that does not exist yet. */
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

/* Finds a place for a future, in the order given above. Returns 0, HORA_EFULL, HORA_ESHUTDOWN, or HORA_ENOMEM
 * or the error of a thread that could not be started. */
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
    int refused = HORA_ESHUTDOWN; /* why the task was not queued */
    if (hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING) {
        refused = put_into_queue(pool, future, ownership);
        if (refused == 0)
            return look_again(pool, future, ownership);
    }
    int error = start_with(pool, future, ownership, false);
    if (error == 0 || error == HORA_EFULL || error == HORA_ESHUTDOWN)
        return error == 0 ? 0 : refused == HORA_ENOMEM ? HORA_ENOMEM : error;
    /* No thread could be started. With a full queue the pool is saturated, and the rejection rule applies. */
    return refused == HORA_EFULL ? HORA_EFULL : error;
}

int hora__pool_place(hora_pool *pool, hora_future *future)
{
    return place(pool, future, KNOWN);
}

/* Returns whether an error of place means that the rejection rule applies. */
static bool is_refusal(int error)
{
    return error == HORA_EFULL || error == HORA_ESHUTDOWN;
}

int hora__pool_placed(hora_pool *pool, hora_future *future, int error)
{
    assert(error <= 0);
    return is_refusal(error) ? hora__pool_reject(pool, future, error) : error;
}

/* As hora_pool_execute_future, in a pool that measures. Other threads may cancel the future and drop its task
 * at the same time, so the task and its name are copied. Not inlined, because few pools measure. */
__attribute__((noinline)) static int execute_measured(hora_pool *pool, hora_future *future)
{
    assert(hora__pool_measures(pool));
    struct hora__task_copy own;
    hora__future_copy_task(future, &own);
    hora__pool_count_submitted(pool, &own.task);
    int error = hora__pool_placed(pool, future, hora__pool_place(pool, future));
    if (error < 0)
        hora__pool_uncount_submitted(pool, &own.task, error);
    return error;
}

int hora_pool_execute_future(hora_pool *pool, hora_future *future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || future == NULL || future->task.run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    error = hora__object_check(&future->object);
    if (error < 0)
        return error;
    if (hora__pool_measures(pool))
        return execute_measured(pool, future);
    return hora__pool_placed(pool, future, hora__pool_place(pool, future));
}

/* Checks the arguments of a submission, and makes its future. */
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

/* The future owns the extra from its making on. */
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
        future->spins = true; /* a thread that waits for the future spins first */
    if (pool->observer != NULL)
        hora__pool_count_submitted(pool, &future->task);
    return place(pool, future, FRESH);
}

int hora__pool_refuse_fresh(hora_pool *pool, hora_future *future, int error)
{
    assert(error < 0);
    error = hora__pool_placed(pool, future, error);
    if (error < 0)
        hora__pool_uncount_submitted(pool, &future->task, error);
    return error;
}

/* On error hora__future_discard frees the future without dropping the task, which stays the caller's. */
int hora_pool_submit(hora_pool *pool, const hora_task *task, hora_future **ret_future)
{
    hora_future *future;
    int error = ret_future == NULL ? HORA_EINVAL : make(pool, task, &future);
    if (error < 0)
        return error;
    error = hora__pool_place_fresh(pool, future);
    if (error < 0)
        error = hora__pool_refuse_fresh(pool, future, error);
    if (error < 0)
        hora__future_discard(future);
    else
        *ret_future = future;
    return error;
}

/* ---- executing: with a future or without one ---- */

/* Queues a detached task, if the pool allows them and the queue is the right place for it. Returns whether it
 * did. The queue accepts a detached task only while the pool is running, and there is a worker, so unlike a
 * future it never has to be withdrawn. */
static bool offer_detached(hora_pool *pool, const hora_task *task)
{
    assert(pool->kind == NULL && task->run != NULL);
    int32_t detached_mode = hora__atomic_load(&pool->detached_mode);
    if (detached_mode == HORA__NEVER_DETACHES || !is_staffed(pool))
        return false;
    /* No `books`: the branch of the backlog's inbox counts the task. */
    struct hora__offer offer = {
        .task = task,
        .control = &pool->control,
        .closed = hora__control(HORA__SHUTDOWN, 0),
    };
    if (detached_mode == HORA__DETACHES_STAMPED) {
        offer.came = hora__pool_stamp(pool);
        if (task->name != NULL) /* as hora__pool_count_submitted: a pool that stamps measures */
            pool->observer->kind->submitted(pool->observer, task->name, 1);
    }
    if (pool->work->offer(pool->queue, &offer) < 0) {
        hora__pool_uncount_submitted(
            pool, task, HORA_EAGAIN); /* the caller submits it with a future, and counts it then */
        return false;
    }
    hora__pool_work_came(pool);
    if (hora__count_of(hora__atomic_load(&pool->control)) == 0)
        (void)staff(
            pool); /* the last worker is just ending; if this fails, its thread stays and tries again */
    return true;
}

/* Executes a task with a future, which the caller does not get to see. */
static int execute_future(hora_pool *pool, const hora_task *task)
{
    assert(task->run != NULL);
    hora_future *future;
    int error = make(pool, task, &future);
    if (error < 0)
        return error;
    future->is_executed = true; /* no caller has a handle; the hooks see that in hora_run_info */
    if (pool->observer != NULL)
        hora__pool_count_submitted(pool, task);
    error = place(pool, future, GIVEN);
    if (error == 0 && !has_own_reference(GIVEN))
        return 0; /* only with the planted fault */
    if (is_refusal(error))
        error = hora__pool_reject(pool, future, error);
    if (error < 0) {
        hora__pool_uncount_submitted(pool, task, error);
        hora__future_discard(future);
    } else {
        (void)hora_future_unref(future);
    }
    return error;
}

/* A plain pool queues the task without a future if it can: see detached.c. */
int hora_pool_execute(hora_pool *pool, const hora_task *task)
{
    int error = hora__pool_check(pool);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (pool->kind != NULL)
        return pool->kind->execute(pool, task);
    return offer_detached(pool, task) ? 0 : execute_future(pool, task);
}
