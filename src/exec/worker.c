/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the life of a worker: start, get a task (see get_task.c), run it, end, be replaced
 *
 * Life              added (count raised, on the list) -> thread started -> loop: get task, run it -> count
 *                   lowered -> off the list -> perhaps replaced -> on the ended list -> joined by the next
 *                   worker that ends, or by hora_pool_free.
 * Activity          IDLE       waits for a task, or decides whether to wait
 *                   ACTIVE     runs a task, hooks included, or takes the next one without waiting
 *                   DISTURBED  is being interrupted because it was IDLE
 *                   An interrupt that only means "decide again" must not reach a task. The thread that sends
 *                   it holds the pool's lock, and changes IDLE to DISTURBED and back. A worker that wants to
 *                   become ACTIVE and finds itself DISTURBED waits for that lock. Then it clears its
 *                   interrupt flag, so that no interrupt from before reaches the task.
 * Books             A worker books the tasks that it has run when it needs the queue's lock for the next one,
 *                   which is not each time. It books the last one only with the next task in hand. If there
 *                   is none, it first becomes IDLE: when the books are even, no worker is active. A simple
 *                   worker does both in the visit in which it finds nothing (hold.activity).
 * Invariants        I1 the count in the control word is the number of workers that may still take tasks.
 *                   I2 every worker that is added is finally removed from the list, and joined exactly once.
 *                   I3 an accepted task ends in exactly one way, even if it ends its thread.
 *                   I4 written_off is the number of workers on the list whose run is WRITTEN_OFF. */
#include <hora/virtual_clock.h>

#include "exec/worker.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/backlog.h"
#include "exec/own_queue.h"
#include "exec/pool.h"
#include "exec/pool_admission.h"
#include "sync/clock.h"
#include "sys/alloc.h"

struct hora__queue_owner *hora__worker_owner(const struct hora__worker *worker)
{
    return &worker->pool->owner;
}

bool hora__worker_is_active(const struct hora__worker *worker)
{
    return hora__atomic_load(&worker->activity) == HORA__ACTIVE;
}

/* ---- interrupts ---- */

bool hora__worker_interrupt_if_idle_locked(struct hora__worker *worker)
{
    assert(hora__mutex_held(&worker->pool->object.lock));
    /* While it is DISTURBED the worker cannot begin a task, so the interrupt does not reach one. */
    if (worker->thread == NULL || !hora__atomic_cas(&worker->activity, HORA__IDLE, HORA__DISTURBED))
        return false;
    (void)hora_thread_interrupt(worker->thread);
    hora__atomic_store(&worker->activity, HORA__IDLE);
    return true;
}

void hora__workers_interrupt_idle_locked(hora_pool *pool, bool only_one)
{
    assert(hora__mutex_held(&pool->object.lock));
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        if (hora__worker_interrupt_if_idle_locked(HORA__LIST_ENTRY(link, struct hora__worker, link)) &&
            only_one)
            return;
    }
}

void hora__workers_interrupt_all_locked(hora_pool *pool)
{
    assert(hora__mutex_held(&pool->object.lock));
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        if (worker->thread != NULL)
            (void)hora_thread_interrupt(worker->thread);
    }
}

/* Makes the calling worker ACTIVE before it runs a task, and sets its interrupt flag as the task must find
 * it: clear, or set if the pool was stopped. */
static void become_active(struct hora__worker *worker)
{
    assert(worker->thread == hora__thread_existing());
    /* It already is if it starts with a first task, or took this one right after another. */
    bool active = hora__atomic_load(&worker->activity) == HORA__ACTIVE;
    while (!active && !hora__atomic_cas(&worker->activity, HORA__IDLE, HORA__ACTIVE)) {
        hora__mutex_lock(&worker->pool->object.lock); /* the thread that disturbs this one holds it */
        hora__mutex_unlock(&worker->pool->object.lock);
    }
    if (HORA__FAULT(POOL_INTERRUPT_LEAKS))
        return;
    /* The state is checked again after the flag was cleared: otherwise the interrupt of a
     * hora_pool_shutdown_now in between would be lost. */
    bool stopping = hora__state_of(hora__atomic_load(&worker->pool->control)) >= HORA__STOP;
    if (!stopping) {
        if (hora__atomic_load(&worker->thread->interrupted) != 0)
            (void)hora__thread_take_interrupt(worker->thread);
        stopping = hora__state_of(hora__atomic_load(&worker->pool->control)) >= HORA__STOP;
    }
    if (stopping)
        (void)hora_thread_interrupt(worker->thread);
}

/* ---- a worker that is stuck ----
 *
 * hora cannot end a thread. So a worker that is written off stays on the list, with the task that it runs,
 * but is subtracted from the count, so that the pool may start another one. If its task returns after all, it
 * ends instead of taking the next. worker->run is the number of a run in which the worker can be written off.
 * The thread that writes it off changes the number to WRITTEN_OFF, and the worker changes it when the run has
 * ended: exactly one of the two succeeds. A pool does not terminate before the workers that are written off
 * have ended. So the count and `written_off` change together, under the pool's lock: see begin_tidying in
 * pool.c. */

enum { WRITTEN_OFF = -1 };

bool hora__worker_is_written_off(const struct hora__worker *worker)
{
    return hora__atomic_load(&worker->run) == WRITTEN_OFF;
}

/* A worker that has been written off stays so, whatever it runs next. */
void hora__worker_can_be_written_off(struct hora__worker *worker, int32_t run)
{
    assert(run >= 0);
    int32_t before = hora__atomic_load(&worker->run);
    if (HORA__FAULT(WRITE_OFF_IS_REVOKED))
        hora__atomic_store(&worker->run, run);
    else if (before != WRITTEN_OFF)
        (void)hora__atomic_cas(&worker->run, before, run); /* fails if it has just been written off */
}

/* Returns the worker of this number; NULL: not found. */
static struct hora__worker *find_locked(hora_pool *pool, int number)
{
    assert(hora__mutex_held(&pool->object.lock));
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        if (worker->number == number)
            return worker;
    }
    return NULL;
}

/* The watchdog calls this for a run that is stuck. The compare-and-swap fails if the run has ended since. */
bool hora__worker_write_off(hora_pool *pool, int number, int32_t run)
{
    assert(run > 0);
    hora__mutex_lock(&pool->object.lock);
    struct hora__worker *worker = find_locked(pool, number);
    bool is_off = worker != NULL && hora__atomic_cas(&worker->run, run, WRITTEN_OFF);
    if (is_off) {
        (void)hora__atomic_add(&pool->written_off, 1); /* I4 */
        (void)hora__atomic_add(&pool->owner.workers, -1);
        hora__pool_lower_count(pool);
    }
    hora__mutex_unlock(&pool->object.lock);
    if (is_off)
        (void)hora__worker_add(pool, NULL, false); /* a failure is noted; the next submitter tries again */
    if (is_off && pool->admission != NULL)
        hora__work_look(pool->queue); /* admission may begin one more task, on the new thread */
    return is_off;
}

/* ---- running a task ---- */

void hora__worker_count(struct hora__worker *worker, enum hora__ending ending)
{
    assert((int)ending >= 0 && ending < HORA__ENDINGS);
    hora__counter_add_alone(&worker->completed, 1);
    /* Published, so that a thread that sees the end also sees the task counted as accepted. */
    hora__counter_add_alone_publish(&worker->endings[ending], 1);
    worker->hold.finished++; /* now: the caller may run code of the user next, which may end the thread */
}

/* Counts a task that the worker has finished, and drops the reference of its entry. */
static void close_entry(struct hora__worker *worker, hora_future *future, enum hora__ending ending)
{
    assert(future != NULL);
    hora__worker_count(worker, ending);
    (void)hora_future_unref(future);
}

/* In a pool with admission control: gives back the ticket of a task, whether the task was run or not. If the
 * queue was not served, the worker must do that. */
static void end_run(struct hora__worker *worker, hora_future *future)
{
    assert(worker->pool->admission != NULL);
    if (hora__pool_run_ended(worker->pool, future))
        worker->must_serve = true;
}

/* Serves the queue after a run has ended: its ticket may let a task begin that this worker does not take. */
static void serve_queue(struct hora__worker *worker)
{
    assert(worker->must_serve);
    worker->must_serve = false;
    if (!HORA__FAULT(ADMISSION_WAKES_NO_WORKER))
        hora__work_look(worker->pool->queue);
}

/* Serves the queue if the worker must, books all finished tasks, and releases the segment that the worker
 * holds. */
static void book_end(struct hora__worker *worker)
{
    assert(worker->hold.finished >= 0);
    if (worker->must_serve)
        serve_queue(worker);
    if (worker->hold.finished > 0 || worker->hold.segment != NULL) {
        hora__work_leave(worker->pool->queue, &worker->hold, &worker->pool->books);
        hora__pool_booked(worker->pool);
    }
}

/* Runs a future in the way of the pool's kind. Returns whether the future must be queued again; if not, its
 * entry has been dequeued. */
static bool run_by_kind(struct hora__worker *worker, hora_future *future)
{
    assert(worker->pool->kind != NULL && worker->current == future);
    hora_pool *pool = worker->pool;
    bool goes_back = pool->kind->run(pool, future, worker->thread);
    if (!goes_back) {
        hora__future_dequeued(future, &pool->owner);
        worker->has_left = true;
    }
    return goes_back;
}

/* Fills in the information that is passed to the before and after hooks. */
static hora_run_info run_info(hora_future *future)
{
    return (hora_run_info){.struct_size = sizeof(hora_run_info),
                           .submitted = !future->is_executed,
                           .future = future,
                           .task = &future->task};
}

/* Calls the after hook with the outcome of a run. */
static void tell_after(hora_pool *pool, hora_future *future, int code)
{
    assert(pool->after != NULL);
    hora_run_info run = run_info(future);
    run.code = code;
    pool->after(pool, &run, pool->arg);
}

/* Runs one task between the before and after hooks. Returns false if the before hook refused it; the worker
 * then ends. Sets *ret_goes_back if the future must be queued again. */
static bool run_with_hooks(struct hora__worker *worker, hora_future *future, bool *ret_goes_back)
{
    assert(worker->current == future);
    hora_pool *pool = worker->pool;
    *ret_goes_back = false;
    worker->has_left = false;
    int refused = 0;
    if (pool->before != NULL) {
        hora_run_info run = run_info(future);
        refused = pool->before(pool, &run, pool->arg);
    }
    if (refused != 0) {
        /* The future fails with the hook's code, unless it was cancelled at the same time. */
        bool fails = hora__future_abort(future, refused);
        if (pool->kind != NULL)
            pool->kind->abandoned(pool, future, fails ? refused : 0);
        hora__future_dequeued(future, &pool->owner);
        return false;
    }
    if (pool->kind != NULL) {
        *ret_goes_back = run_by_kind(worker, future);
    } else {
        worker->has_left = true; /* hora__future_run itself dequeues the entry */
        (void)hora__future_run(future, worker->thread, &pool->owner);
    }
    if (pool->after != NULL)
        tell_after(pool, future, hora_future_failure(future));
    return true;
}

/* Queues a future again after a run. If that is not possible, its entry ends here. For has_just_ended see
 * put_back of struct hora__pool_kind. */
static void put_back(struct hora__worker *worker, hora_future *future, bool has_just_ended)
{
    hora_pool *pool = worker->pool;
    if (pool->kind->put_back(pool, future, has_just_ended)) {
        hora__counter_add_alone(&worker->completed, 1);
        return;
    }
    hora__future_dequeued(future, &pool->owner);
    if (pool->admission != NULL)
        end_run(worker, future);
    close_entry(worker, future, hora__ending_of(future));
}

/* Puts a series back that the next visit to the queue should have put back: the worker made no such visit, or
 * the visit had to leave it to the general way. */
static void return_series(struct hora__worker *worker)
{
    hora_future *future = worker->series_run.ended;
    worker->series_run.ended = NULL;
    if (!HORA__FAULT(SERIES_RETURN_FORGOTTEN))
        put_back(worker, future, true);
}

/* The worker is no longer ACTIVE when it reads these words. A thread that changes the state or the bounds
 * afterwards interrupts the idle workers. So the worker either sees the change or is interrupted. */
bool hora__worker_may_wait(struct hora__hold *hold)
{
    const struct hora__worker *worker = HORA__LIST_ENTRY(hold, struct hora__worker, hold);
    const hora_pool *pool = worker->pool;
    if (hold->activity == NULL)
        return false;
    assert(hora__atomic_load(&worker->activity) != HORA__ACTIVE); /* else it would not be interrupted */
    if (HORA__FAULT(WORKER_WAITS_UNASKED))
        return true;
    int32_t control = hora__atomic_load(&pool->control);
    int count = hora__count_of(control);
    bool stays = hora__state_of(control) == HORA__RUNNING && hora__atomic_load(&pool->core_time_out) == 0 &&
                 count <= hora__atomic_load(&pool->core_threads) &&
                 count <= hora__atomic_load(&pool->max_threads);
    return stays && hora__atomic_load(&pool->idle_watchers) == 0 &&
           hora__atomic_load(&pool->shared_free_list.count) <= HORA__FREE_LIST_KEEPS;
}

/* Takes the next task right after a run. The worker stays active, and needs nothing else from the queue. If
 * there is no task, a simple worker that may stay becomes idle and waits for one in the same visit; then it
 * returns with that task, still idle. NULL: there is none, or the worker must decide whether it ends. */
static void *take_next(struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP ||
        hora__count_of(control) > hora__atomic_load(&pool->max_threads))
        return NULL;
    void *next = hora__work_next(pool->queue, &worker->hold, &worker->taken, &pool->books);
    if (worker->hold.outcome == HORA_EAGAIN && pool->kind != NULL)
        pool->kind->clocks_changed(pool);
    if (next == NULL) {
        if (worker->hold.activity != NULL)
            hora__pool_booked(pool); /* the visit has booked the last finished task */
        return NULL;
    }
    worker->must_serve = false; /* taking has served the queue */
    if (hora__atomic_load(&pool->room_waiters) != 0)
        hora__pool_room(pool);
    /* Only where a queued task may have to wait is there a last worker that waits for it alone. In a plain
     * pool every queued task can be taken at once. */
    if (!worker->is_plain && hora__atomic_load(&pool->last_worker) != 0)
        hora__pool_relieve(pool);
    if (pool->admission != NULL)
        hora__pool_staff(pool);
    return next;
}

/* Runs a future, and closes its entry or puts it back. Returns whether the worker goes on: not if the before
 * hook refused the task, or the worker was written off. */
static bool run_future(struct hora__worker *worker, hora_future *future)
{
    assert(worker->current == NULL && future->task.run != NULL);
    worker->current = future;
    bool goes_back;
    bool goes_on = run_with_hooks(worker, future, &goes_back);
    worker->current = NULL;
    if (goes_back) {
        put_back(worker, future, false);
    } else {
        if (worker->pool->admission != NULL)
            end_run(worker, future);
        bool succeeded =
            hora__future_state(future) == HORA__FUTURE_NORMAL; /* the usual case, without a call */
        close_entry(worker, future, succeeded ? HORA__DONE : hora__ending_of(future));
    }
    return goes_on && (worker->worker_observer == NULL || !hora__worker_is_written_off(worker));
}

/* Runs a series on the short way, whose run began when it was taken. There are no hooks and no observer. */
static void run_begun(struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    hora_future *future = worker->series_run.begun;
    worker->current = future;
    worker->has_left = false;
    bool goes_back = pool->kind->run_begun(pool, &worker->series_run, worker->thread);
    worker->current = NULL;
    if (worker->series_run.ended != NULL)
        return; /* the next visit to the queue puts it back */
    if (goes_back) {
        put_back(worker, future, false);
        return;
    }
    hora__future_dequeued(future, &pool->owner);
    close_entry(worker, future, hora__ending_of(future));
}

/* Runs an entry that was taken: a future, or &worker->taken. Returns whether the worker goes on. *ret_next is
 * the next task if the worker has already taken it; NULL: the worker is idle and everything is booked. */
static bool run_task(struct hora__worker *worker, void *entry, void **ret_next)
{
    hora_pool *pool = worker->pool;
    bool goes_on = true;
    *ret_next = NULL;
    bool has_begun = worker->series_run.begun != NULL;
    assert(!has_begun || entry == worker->series_run.begun);
    if (pool->kind != NULL && entry != &worker->taken && !has_begun)
        entry = pool->kind->admit(pool, entry);
    if (entry == NULL && !hora__worker_is_active(worker))
        return true; /* nothing to run now, and nothing to book */
    if (entry != NULL)
        become_active(worker);
    if (has_begun) {
        run_begun(worker);
    } else if (entry == &worker->taken) {
        if (worker->is_plain)
            hora__worker_run_detached(worker);
        else
            goes_on = hora__worker_run_observed(worker);
    } else if (entry != NULL) {
        goes_on = run_future(worker, entry);
    }
    *ret_next = goes_on ? take_next(worker) : NULL;
    if (*ret_next == NULL) {
        if (worker->series_run.ended != NULL)
            return_series(worker);
        if (!worker->is_plain && hora__taken_has_timer(&worker->taken)) { /* no visit has cleared it */
            assert(pool->kind != NULL);
            pool->kind->timer_ran(pool, &worker->taken);
        }
        if (worker->worker_observer != NULL)
            worker->worker_observer->ended_at = 0;
        if (hora__worker_is_active(worker)) /* else hora__work_next has made it idle, and booked */
            hora__atomic_store(&worker->activity, HORA__IDLE); /* before the books can be even */
        book_end(worker);
    }
    return goes_on;
}

/* The task that a worker runs has ended the thread, for instance with pthread_exit: completes the task as
 * abandoned, and closes its entry. */
static void abandon_current(struct hora__worker *worker)
{
    hora_future *future = worker->current;
    if (future == NULL) {
        hora__worker_abandon_detached(worker);
        return; /* the caller books it */
    }
    if (worker->worker_observer != NULL)
        worker->worker_observer->kind->ended(worker->worker_observer, future, &future->task, HORA_EABANDONED);
    worker->current = NULL;
    hora__future_thread_ends(future, &worker->pool->owner, worker->has_left);
    if (worker->pool->kind != NULL)
        worker->pool->kind->abandoned(worker->pool, future, HORA_EABANDONED);
    if (worker->pool->after != NULL)
        tell_after(worker->pool, future, HORA_EABANDONED);
    if (worker->pool->admission != NULL)
        end_run(worker, future);
    close_entry(worker, future, hora__ending_of(future)); /* I3 */
    book_end(worker);
}

/* ---- running a task that another task of the same worker waits for ---- */

/* A nested run: a task runs on top of the task that waits for it, on the same stack. */
struct hora__nested {
    struct hora__worker *worker;
    hora_future *outer;  /* the waiting task; NULL: a detached one, which only the pool interrupts */
    bool outer_has_left; /* the worker's has_left for `outer` */
    const struct hora__nested *below; /* the nested run that `outer` is; NULL: it is the worker's own task */
};

/* The body of the guard in run_awaited. */
static void run_nested(void *arg)
{
    const struct hora__nested *nested = arg;
    bool goes_back; /* never: a task that goes back is not run out of turn */
    (void)run_with_hooks(nested->worker, nested->worker->current, &goes_back);
    assert(!goes_back);
}

/* The nested task has ended the thread. Closes its entry, and restores the worker's fields for the outer
 * task, whose own guard then does the same. */
static void nested_ends(void *arg)
{
    const struct hora__nested *nested = arg;
    hora__conclude_at_end(nested->worker->thread);
    abandon_current(nested->worker);
    nested->worker->depth--;
    nested->worker->current = nested->outer;
    nested->worker->has_left = nested->outer_has_left;
    nested->worker->nested = nested->below;
}

/* Clears an interrupt that was meant for the nested task, which must not reach the tasks that wait for it.
 * Sets it again if one of those, or the stopped pool, was meant, too. */
static void clear_interrupt_of(hora_future *future, const struct hora__nested *nested)
{
    assert(nested->worker->thread == hora__thread_existing());
    const struct hora__worker *worker = nested->worker;
    if (!hora__future_was_interrupted(future) || !hora__thread_take_interrupt(worker->thread))
        return;
    bool wanted = hora__state_of(hora__atomic_load(&worker->pool->control)) >= HORA__STOP;
    for (const struct hora__nested *at = nested; at != NULL && !wanted; at = at->below)
        wanted = at->outer != NULL && hora__future_was_interrupted(at->outer);
    if (wanted)
        (void)hora_thread_interrupt(worker->thread);
}

/* Takes a future out of the queue, to run it out of turn. With admission, *ret_future may be another one,
 * which must run before it. Returns as take_out of struct hora__pool_kind. */
static hora_ns take_out(struct hora__worker *worker, hora_future *future, hora_future **ret_future)
{
    assert(ret_future != NULL);
    hora_pool *pool = worker->pool;
    *ret_future = future;
    if (worker->hold.has_own && hora__own_remove(worker->hold.own, future)) {
        hora__pool_relieve(pool);
        return INT64_MIN;
    }
    if (pool->kind != NULL)
        return pool->kind->take_out(pool, future, ret_future);
    if (pool->admission != NULL)
        return hora__pool_take_out_admitted(pool, future, ret_future);
    return hora__pool_withdraw(pool, future) ? INT64_MIN : HORA_FOREVER;
}

/* Runs a future that was taken out of the queue, on top of the task that waits for it, and closes its
 * entry. */
static void run_awaited(struct hora__worker *worker, hora_future *future)
{
    assert(worker->depth >= 0);
    struct hora__nested nested = {worker, worker->current, worker->has_left, worker->nested};
    worker->current = future;
    worker->nested = &nested;
    worker->depth++;
    /* The guard calls nested_ends if the task ends the thread; then this function does not return. */
    bool concludes = hora__conclude_suspend(worker->thread); /* the waiting code may be a callback */
    hora__os_thread_guard(run_nested, nested_ends, &nested);
    hora__conclude_resume(worker->thread, concludes);
    worker->depth--;
    worker->current = nested.outer;
    worker->has_left = nested.outer_has_left;
    worker->nested = nested.below;
    clear_interrupt_of(future, &nested);
    if (worker->pool->admission != NULL)
        end_run(worker, future);
    close_entry(worker, future, hora__ending_of(future));
    book_end(worker);
}

/* The greatest number of nested runs. Each of them uses the stack of the same thread. */
enum { DEEPEST = 64 };

/* Returns whether one more nested run is allowed: at most DEEPEST, and only while less than half of the stack
 * is in use. */
static bool may_go_deeper(const struct hora__worker *worker)
{
    assert(worker->depth >= 0);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t used = here < worker->stack ? worker->stack - here : here - worker->stack;
    size_t size = worker->pool->stack_size; /* 0: unknown, but likely large */
    return worker->depth < DEEPEST && (size == 0 || used < size / 2);
}

/* Without this, workers that wait for tasks of their own pool could all wait for ever, while these tasks stay
 * in the queue. */
hora_ns hora__worker_run_queued(struct hora__worker *worker, hora_future *future)
{
    hora_future *taken;
    hora_ns from;
    if (!may_go_deeper(worker) && !HORA__FAULT(HELP_KNOWS_NO_END))
        return HORA_FOREVER;
    /* With admission, other tasks of the same key may have to run first, one after the other. */
    do {
        from = take_out(worker, future, &taken);
        if (from == INT64_MIN)
            run_awaited(worker, taken);
    } while (from == INT64_MIN && taken != future);
    return from == INT64_MIN ? HORA_FOREVER : from;
}

/* ---- the end of a worker ---- */

/* Returns the number of workers below which a worker that ends is replaced: core_threads, or with
 * core_time_out one if tasks are queued, else none. */
static int least_workers(hora_pool *pool)
{
    struct hora__bounds bounds = hora__pool_bounds(pool);
    int least = bounds.core_time_out ? 0 : bounds.core_threads;
    return least == 0 && !hora__pool_queue_is_empty(pool) ? 1 : least;
}

/* Starts a worker in place of one that ends, unless the pool is stopped or has enough workers. After an
 * abrupt end it always does. If the start fails, that is noted, and the pool goes on with the workers it
 * has. */
static void replace(hora_pool *pool, bool abrupt)
{
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP)
        return;
    if (!abrupt && hora__count_of(control) >= least_workers(pool))
        return;
    (void)hora__worker_add(pool, NULL, false);
}

/* Sleeps for `pause` nanoseconds, or until the pool is stopped. */
static void pause_leaving(hora_pool *pool, hora_thread *thread, hora_ns pause)
{
    assert(pause > 0);
    hora_ns deadline = hora__clock_deadline(pool->object.clock, pause);
    hora__mutex_lock(&pool->object.lock);
    if (hora__state_of(hora__atomic_load(&pool->control)) >= HORA__STOP) {
        hora__mutex_unlock(&pool->object.lock);
        return;
    }
    /* The reason for the end of the wait does not matter: the caller checks the pool's state. */
    int ignored = hora__object_wait_locked(&pool->object, &pool->leavers, thread, deadline);
    (void)ignored;
}

/* The last worker has ended, tasks are queued, and no thread could be started in its place. If its thread
 * went, the tasks would wait for a submitter that may never come. So the thread stays and tries again from
 * time to time, even if it ends because of a task. */
static void wait_until_replaced(const struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    hora_ns pause = 0;
    bool replaced = false;
    while (!replaced && hora__pool_is_stranded(pool) && !HORA__FAULT(POOL_LAST_WORKER_JUST_LEAVES)) {
        pause = hora__rescue_pause(pause);
        pause_leaving(pool, worker->thread, pause);
        replaced = hora__pool_is_stranded(pool) && hora__worker_add(pool, NULL, false) == 0;
    }
}

/* Removes a worker from the list of workers, and adds its counts to those of the pool. */
static void leave_list(struct hora__worker *worker)
{
    assert(worker->current == NULL);
    hora_pool *pool = worker->pool;
    hora__mutex_lock(&pool->object.lock);
    pool->completed += hora__counter_read(&worker->completed);
    for (int i = 0; i < HORA__ENDINGS; i++)
        pool->ended_endings[i] += hora__counter_read(&worker->endings[i]);
    if (hora__worker_is_written_off(worker))
        (void)hora__atomic_add(&pool->written_off, -1);
    else
        (void)hora__atomic_add(&pool->owner.workers, -1); /* before wait_until_replaced: see worker_add.c */
    hora__list_remove(&worker->link);
    hora__mutex_unlock(&pool->object.lock);
}

void hora__worker_free(struct hora__worker *worker)
{
    assert(worker->thread == NULL);
    if (worker->worker_observer != NULL)
        worker->pool->observer->kind->remove_worker(worker->pool->observer, worker->worker_observer);
    hora__free(worker);
}

/* Removes a worker other than `but` from the list `ended`, and returns it; NULL: there is none. */
static struct hora__worker *take_ended(hora_pool *pool, const struct hora__worker *but)
{
    struct hora__worker *worker = NULL;
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->ended.next; link != &pool->ended && worker == NULL;
         link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__worker, link) != but)
            worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
    if (worker != NULL)
        hora__list_remove(&worker->link);
    hora__mutex_unlock(&pool->object.lock);
    return worker;
}

/* Joins and frees all workers on the list `ended`, except `but`. */
static void reap(hora_pool *pool, const struct hora__worker *but)
{
    struct hora__worker *worker;
    while ((worker = take_ended(pool, but)) != NULL) {
        if (worker->joinable)
            hora__os_thread_join(worker->os_thread);
        hora__worker_free(worker);
    }
}

void hora__workers_reap(hora_pool *pool)
{
    reap(pool, NULL);
}

/* The last step of a worker's thread, after which the thread touches nothing of the pool. Joins workers that
 * have ended before, then puts this one on the list `ended`. */
static void last_step(struct hora__worker *worker)
{
    assert(worker->thread == hora__thread_existing() && worker->hold.finished == 0);
    hora_pool *pool = worker->pool;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    reap(pool, worker);
    if (worker->attached)
        (void)hora_virtual_clock_detach(pool->object.clock->source);
    bool adopted = worker->adopted;
    hora__mutex_lock(&pool->object.lock);
    hora_thread *thread = worker->thread;
    worker->thread = NULL; /* hora__worker_free expects it */
    hora__list_add_last(&pool->ended, &worker->link);
    if (--pool->alive == 0)
        hora__waiters_resolve_all(&pool->reapers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock); /* from here on the worker may be joined and freed */
    hora__wakes_flush(&wakes);
    thread->worker = NULL;
    thread->worker_observer = NULL;
    if (adopted)
        hora__thread_disown(thread);
    (void)hora_thread_unref(thread);
    hora__object_leave(&pool->object);
}

/* Ends a worker: removes it from the pool, tries to terminate the pool, and has the worker replaced if
 * necessary. `abrupt`: a task ended the thread, the before hook refused a task, or the worker was written
 * off. */
static void process_exit(struct hora__worker *worker, bool abrupt)
{
    assert(worker->hold.segment == NULL);
    hora_pool *pool = worker->pool;
    bool replaced = hora__worker_is_written_off(worker);
    if (worker->hold.own != NULL)
        hora__backlog_end_owning(pool->queue, &worker->hold);
    if (abrupt && !replaced)
        hora__pool_lower_count(pool); /* else hora__worker_get_task or hora__worker_write_off has done it */
    leave_list(worker);
    if (pool->kind != NULL)
        pool->kind->worker_ends(pool, &worker->timer_run);
    if (worker->left_behind >= 0 && pool->observer != NULL)
        pool->observer->kind->left(pool->observer, worker->left_behind);
    if (!HORA__FAULT(POOL_FORGETS_TRY_TERMINATE))
        hora__pool_try_terminate(pool);
    replace(pool, abrupt && !replaced);
    wait_until_replaced(worker);
    hora__pool_room(pool); /* if it was not replaced, a waiting submitter may start a worker */
    last_step(worker);
}

/* ---- the thread ---- */

/* Runs tasks until the worker must end. Returns false if it ends abruptly. */
static bool loop(struct hora__worker *worker)
{
    void *entry = worker->first;
    worker->first = NULL;
    while (entry != NULL || (entry = hora__worker_get_task(worker)) != NULL) {
        void *next;
        if (!run_task(worker, entry, &next))
            return false;
        entry = next;
    }
    return true;
}

/* The body of a worker's thread, under the guard of hora__worker_begin. */
static void work(void *arg)
{
    struct hora__worker *worker = arg;
    bool regular = loop(worker);
    process_exit(worker, !regular);
}

/* A task has ended the thread. Closes the task's entry, then ends the worker. */
static void thread_ends(void *arg)
{
    struct hora__worker *worker = arg;
    hora__conclude_at_end(worker->thread);
    abandon_current(worker);
    book_end(worker);
    process_exit(worker, true);
}

/* Gives the thread the record that was prepared for it. A thread that a factory started may already have one,
 * and keeps that. */
static void take_record(struct hora__worker *worker)
{
    assert(worker->prepared != NULL);
    hora_pool *pool = worker->pool;
    worker->adopted = hora__thread_adopt(worker->prepared);
    worker->prepared = NULL;
    hora_thread *thread = hora__thread_existing();
    thread->worker = worker;
    thread->worker_observer = worker->worker_observer;
    hora__mutex_lock(&pool->object.lock);
    worker->thread = hora_thread_ref(thread); /* from now on other threads may interrupt it */
    hora__pool_note_largest_locked(pool, 1 + hora__atomic_add(&pool->owner.workers, 1));
    hora__mutex_unlock(&pool->object.lock);
    worker->hold.thread = thread;
}

/* Returns whether no hook and no observer sees the tasks of a pool. */
static bool has_no_observers(const hora_pool *pool)
{
    return pool->before == NULL && pool->after == NULL && pool->observer == NULL;
}

/* Attaches the thread to the pool's virtual clock, which expects it since start_thread. If that fails,
 * because the thread of a factory is attached to another clock, the clock need not expect it any more. */
static void attach(struct hora__worker *worker)
{
    hora_virtual_clock *clock = worker->pool->object.clock->source;
    if (clock == NULL)
        return;
    worker->attached = hora_virtual_clock_attach(clock) == 0;
    if (!worker->attached)
        (void)hora_virtual_clock_expect(clock, -1);
}

/* Prepares the thread, and runs the worker under a guard, which calls thread_ends if a task ends the thread.
 * Nothing in here can fail: all memory was allocated before the thread was started. */
void hora__worker_begin(void *arg)
{
    struct hora__worker *worker = arg;
    worker->os_thread = hora__os_thread_self();
    worker->stack = (uintptr_t)__builtin_frame_address(0);
    take_record(worker);
    attach(worker);
    if (worker->pool->steals)
        hora__backlog_begin_owning(worker->pool->queue, &worker->hold);
    if (worker->pool->kind != NULL) {
        /* A scheduler's worker takes timers, and series on the short way if nothing sees its runs. */
        worker->taken.run = &worker->timer_run;
        if (HORA__FAST && worker->is_simple && has_no_observers(worker->pool))
            worker->taken.series = &worker->series_run;
        worker->series_run.pool = worker->pool;
        worker->series_run.completed = &worker->completed;
        worker->pool->kind->worker_begins(worker->pool, &worker->timer_run);
    }
    hora__os_thread_guard(work, thread_ends, worker);
}
