/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the life of a worker: start, get a task (see get_task.c), run it, end, be replaced
 *
 * Life              added (count raised, on the list) -> thread started -> loop: get task, run it -> count
 *                   lowered -> off the list -> perhaps replaced -> on the ended list -> joined by the next
 *                   that ends, or by hora_pool_free.
 * Activity          IDLE       waits for work, or looks whether it is to wait
 *                   ACTIVE     runs a task, hooks included, or takes the next one without waiting
 *                   DISTURBED  is being interrupted because it was IDLE
 *                   Interrupts that only mean "look again" must not reach a task. The thread that sends one
 *                   holds the pool's lock and turns IDLE to DISTURBED and back; a worker that finds itself
 *                   DISTURBED when it wants to become ACTIVE waits for the lock. Then it clears its interrupt
 *                   flag, so nothing left over from before reaches the task.
 * Books             Tasks that a worker has run are booked as finished when it comes to the lock of the queue
 *                   for the next one, which is not for each; the last one only with the next in hand. If
 *                   there is none, the worker first becomes IDLE: when the books say that nothing is left to
 *                   do, no worker is active. A plain worker does both in the visit in which it finds nothing
 *                   (hold.activity).
 * Invariants        I1 the count in the control word is that of workers that will still look for tasks.
 *                   I2 every worker that is added is, in the end, taken off the list and joined exactly once.
 *                   I3 a task that was accepted ends in exactly one way, also if it ends its thread.
 *                   I4 written_off is the number of workers on the list whose run is WRITTEN_OFF. */
#include <hora/virtual_clock.h>

#include "exec/worker.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/build.h"
#include "base/fault.h"
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

static void become_active(struct hora__worker *worker)
{
    assert(worker->thread == hora__thread_existing());
    bool active =
        hora__atomic_load(&worker->activity) == HORA__ACTIVE; /* from the start, with a first task */
    while (!active && !hora__atomic_cas(&worker->activity, HORA__IDLE, HORA__ACTIVE)) {
        hora__mutex_lock(&worker->pool->object.lock); /* a thread that disturbs has it */
        hora__mutex_unlock(&worker->pool->object.lock);
    }
    if (HORA__FAULT(POOL_INTERRUPT_LEAKS))
        return;
    /* From STOP on the task is to find its flag set; before, to find it clear. The state may change in
     * between. */
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
 * and only the count forgets it: then the pool may start another one. When its task returns after all, it
 * ends instead of taking the next. `run` is the number of a run in which the worker can be written off. The
 * thread that writes it off turns it to WRITTEN_OFF, and the worker turns it to something else when the run
 * has ended: exactly one of them succeeds. A pool does not terminate before the workers that are written off
 * have ended; that, the count and `written_off` change together under the pool's lock: see begin_tidying in
 * pool.c. */

enum { WRITTEN_OFF = -1 };

bool hora__worker_is_written_off(const struct hora__worker *worker)
{
    return hora__atomic_load(&worker->run) == WRITTEN_OFF;
}

void hora__worker_can_be_written_off(struct hora__worker *worker, int32_t run)
{
    assert(run >= 0);
    int32_t before = hora__atomic_load(&worker->run);
    if (HORA__FAULT(WRITE_OFF_IS_REVOKED))
        hora__atomic_store(&worker->run, run);
    else if (before != WRITTEN_OFF)
        (void)hora__atomic_cas(&worker->run, before, run); /* if that fails it has just been written off */
}

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
        (void)hora__worker_add(pool, NULL,
                               false); /* if it fails, that is noted, and the next submitter tries again */
    if (is_off && pool->admission != NULL)
        hora__work_look(pool->queue); /* its task no longer takes the place of others */
    return is_off;
}

/* ---- running a task ---- */

void hora__worker_count(struct hora__worker *worker, enum hora__ending ending)
{
    assert((int)ending >= 0 && ending < HORA__ENDINGS);
    hora__counter_add_alone(&worker->completed, 1);
    hora__counter_add_alone_publish(&worker->endings[ending], 1); /* who sees it sees that it was accepted */
    worker->hold.finished++; /* what follows may be code of the user, which may end the thread */
}

/* The task of an entry has been dealt with by this worker, and the future knows it: count it and let go. */
static void close_entry(struct hora__worker *worker, hora_future *future, enum hora__ending ending)
{
    assert(future != NULL);
    hora__worker_count(worker, ending);
    (void)hora_future_unref(future);
}

/* In a pool with admission control the ticket of a task is given back, whether the task was run or not. */
static void end_run(struct hora__worker *worker, hora_future *future)
{
    assert(worker->pool->admission != NULL);
    if (hora__pool_run_ended(worker->pool, future))
        worker->owes_look = true;
}

/* What has ended may let something begin that this worker does not take. */
static void pay_look(struct hora__worker *worker)
{
    assert(worker->owes_look);
    worker->owes_look = false;
    if (!HORA__FAULT(ADMISSION_WAKES_NOBODY))
        hora__work_look(worker->pool->queue);
}

static void book_end(struct hora__worker *worker)
{
    assert(worker->hold.finished >= 0);
    if (worker->owes_look)
        pay_look(worker);
    if (worker->hold.finished > 0 || worker->hold.segment != NULL)
        hora__pool_leave_queue(worker->pool, &worker->hold);
}

/* What the kind of the pool makes of it. Whether the future is to be queued again; else its entry has
 * ended. */
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

/* What the hooks are told. */
static hora_run_info run_info(hora_future *future)
{
    return (hora_run_info){.struct_size = sizeof(hora_run_info),
                           .submitted = !future->is_executed,
                           .future = future,
                           .task = &future->task};
}

static void tell_after(hora_pool *pool, hora_future *future, int code)
{
    assert(pool->after != NULL);
    hora_run_info run = run_info(future);
    run.code = code;
    pool->after(pool, &run, pool->arg);
}

/* Whether the before hook let it run; if not, the worker is to end. And whether the future is to be queued
 * again. */
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
        bool fails = hora__future_abort(future, refused);
        if (fails && pool->kind != NULL)
            pool->kind->abandoned(pool, future, refused);
        hora__future_dequeued(future, &pool->owner);
        return false;
    }
    if (pool->kind != NULL) {
        *ret_goes_back = run_by_kind(worker, future);
    } else {
        worker->has_left = true;
        (void)hora__future_run(future, worker->thread, &pool->owner);
    }
    if (pool->after != NULL)
        tell_after(pool, future, hora_future_failure(future));
    return true;
}

/* The run of a task has ended, and the task is to be queued again; else its entry ends here. has_just_ended:
 * see struct hora__pool_kind. */
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

/* The visit to the queue that was to put a series back did not come, or could not do it. */
static void return_series(struct hora__worker *worker)
{
    hora_future *future = worker->series_run.ended;
    worker->series_run.ended = NULL;
    if (!HORA__FAULT(SERIES_RETURN_FORGOTTEN))
        put_back(worker, future, true);
}

bool hora__worker_may_wait(struct hora__hold *hold)
{
    const struct hora__worker *worker = HORA__LIST_ENTRY(hold, struct hora__worker, hold);
    const hora_pool *pool = worker->pool;
    if (hold->activity == NULL)
        return false;
    assert(hora__atomic_load(&worker->activity) !=
           HORA__ACTIVE); /* else a change of these words is not told to it */
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

/* The next task, if there is one and the worker may go on at once: then it stays active, and has nothing else
 * to do with the queue. If there is none, a worker that may stay waits for the next one, and is idle then. */
static void *take_next(struct hora__worker *worker)
{
    hora_pool *pool = worker->pool;
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP ||
        hora__count_of(control) > hora__atomic_load(&pool->max_threads))
        return NULL;
    void *next = hora__work_next(pool->queue, &worker->hold, &worker->taken, &pool->books);
    if (worker->hold.outcome == HORA_EAGAIN && pool->kind != NULL)
        pool->kind->look(pool);
    if (next == NULL) {
        if (worker->hold.activity != NULL)
            hora__pool_booked(pool);
        return NULL;
    }
    worker->owes_look = false; /* a worker that takes settles */
    if (hora__atomic_load(&pool->room_waiters) != 0)
        hora__pool_room(pool);
    /* In a plain pool no worker lingers: all that is queued can be taken at once. */
    if (!worker->is_plain && hora__atomic_load(&pool->last_worker) != 0)
        hora__pool_relieve(pool);
    if (pool->admission != NULL)
        hora__pool_staff(pool);
    return next;
}

/* Run a future; whether the worker goes on. */
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
        bool succeeded = hora__future_state(future) == HORA__FUTURE_NORMAL; /* as a rule */
        close_entry(worker, future, succeeded ? HORA__DONE : hora__ending_of(future));
    }
    return goes_on && (worker->worker_observer == NULL || !hora__worker_is_written_off(worker));
}

/* Run a series whose run has begun when it was taken: no hook and no observer sees it. */
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

/* Run it; whether the worker goes on, and with which task, if that is known already. */
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
        return true;
    if (entry != NULL)
        become_active(worker);
    if (has_begun) {
        run_begun(worker);
    } else if (entry == &worker->taken) {
        if (worker->is_plain)
            hora__worker_run_detached(worker);
        else
            goes_on = hora__worker_run_watched(worker);
    } else if (entry != NULL) {
        goes_on = run_future(worker, entry);
    }
    *ret_next = goes_on ? take_next(worker) : NULL;
    if (*ret_next == NULL) {
        if (worker->series_run.ended != NULL)
            return_series(worker);
        if (!worker->is_plain &&
            hora__taken_has_timer(&worker->taken)) { /* else take_next has forgotten it */
            assert(pool->kind != NULL);
            pool->kind->timer_ran(pool, &worker->taken);
        }
        if (worker->worker_observer != NULL)
            worker->worker_observer->has_waited = true;
        if (hora__worker_is_active(worker)) /* else it found nothing, and all is booked */
            hora__atomic_store(&worker->activity,
                               HORA__IDLE); /* before the books say that nothing is left to do */
        book_end(worker);
    }
    return goes_on;
}

/* The task that a worker runs has ended its thread: close the task's books. */
static void abandon_current(struct hora__worker *worker)
{
    hora_future *future = worker->current;
    if (future == NULL) {
        hora__worker_abandon_detached(worker);
        return; /* who calls this books it */
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

/* A task that is run while another one of the same worker waits for it. */
struct hora__nested {
    struct hora__worker *worker;
    hora_future *outer;               /* NULL: a detached task, which only the pool can interrupt */
    bool outer_has_left;              /* what the worker's has_left says of it */
    const struct hora__nested *below; /* if the outer one is nested, too */
};

static void run_nested(void *arg)
{
    const struct hora__nested *nested = arg;
    bool goes_back; /* what does is not run out of turn */
    (void)run_with_hooks(nested->worker, nested->worker->current, &goes_back);
    assert(!goes_back);
}

/* It has ended the thread: its own books are closed here, those of the outer task by the guard of that
 * one. */
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

/* An interrupt that was meant for the nested task must not reach those that wait for it; one that was meant
 * for them must. */
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

/* Take a future out of the queue, to run it out of turn, or another one that has to go before it: as take_out
 * of struct hora__pool_kind. */
static hora_ns take_out(hora_pool *pool, hora_future *future, hora_future **ret_future)
{
    assert(ret_future != NULL);
    *ret_future = future;
    if (pool->kind != NULL)
        return pool->kind->take_out(pool, future, ret_future);
    if (pool->admission != NULL)
        return hora__pool_take_out_admitted(pool, future, ret_future);
    return hora__pool_withdraw(pool, future) ? INT64_MIN : HORA_FOREVER;
}

static void run_awaited(struct hora__worker *worker, hora_future *future)
{
    assert(worker->depth >= 0);
    struct hora__nested nested = {worker, worker->current, worker->has_left, worker->nested};
    worker->current = future;
    worker->nested = &nested;
    worker->depth++;
    bool concludes = hora__conclude_interrupt(worker->thread); /* the task that waits may be a callback */
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

/* A task that waits for one that waits for a third, and so on, all of them on the stack of one thread: they
 * must leave some of it. */
enum { DEEPEST = 64 };

static bool may_go_deeper(const struct hora__worker *worker)
{
    assert(worker->depth >= 0);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t used = here < worker->stack ? worker->stack - here : here - worker->stack;
    size_t size = worker->pool->stack_size; /* 0: it is not known, but likely large */
    return worker->depth < DEEPEST && (size == 0 || used < size / 2);
}

hora_ns hora__worker_run_queued(struct hora__worker *worker, hora_future *future)
{
    hora_future *taken;
    hora_ns from;
    if (!may_go_deeper(worker) && !HORA__FAULT(HELP_KNOWS_NO_END))
        return HORA_FOREVER;
    do {
        from = take_out(worker->pool, future, &taken);
        if (from == INT64_MIN)
            run_awaited(worker, taken);
    } while (from == INT64_MIN && taken != future);
    return from == INT64_MIN ? HORA_FOREVER : from;
}

/* ---- the end of a worker ---- */

static int least_workers(hora_pool *pool)
{
    struct hora__bounds bounds = hora__pool_bounds(pool);
    int least = bounds.core_time_out ? 0 : bounds.core_threads;
    return least == 0 && !hora__pool_queue_is_empty(pool) ? 1 : least;
}

static void replace(hora_pool *pool, bool abrupt)
{
    int32_t control = hora__atomic_load(&pool->control);
    if (hora__state_of(control) >= HORA__STOP)
        return;
    if (!abrupt && hora__count_of(control) >= least_workers(pool))
        return;
    (void)hora__worker_add(pool, NULL,
                           false); /* if it fails, that is noted, and the pool runs with what it has */
}

/* Sleep for so long, or until the pool stops. */
static void pause_leaving(hora_pool *pool, hora_thread *thread, hora_ns pause)
{
    assert(pause > 0);
    hora_ns deadline = hora__clock_deadline(pool->object.clock, pause);
    hora__mutex_lock(&pool->object.lock);
    if (hora__state_of(hora__atomic_load(&pool->control)) >= HORA__STOP) {
        hora__mutex_unlock(&pool->object.lock);
        return;
    }
    int ignored = hora__object_wait_locked(&pool->object, &pool->leavers, thread,
                                           deadline); /* the caller looks itself */
    (void)ignored;
}

/* The last worker has ended, tasks are queued, and no thread could be started in its place: without it the
 * tasks would wait for a submitter that may never come. So its thread stays and tries again, also after a
 * task has ended it. */
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
        (void)hora__atomic_add(&pool->owner.workers,
                               -1); /* before it is looked whether it has to be replaced */
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

/* The last step: from here on the thread touches nothing of the pool. */
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
    worker->thread = NULL;
    hora__list_add_last(&pool->ended, &worker->link); /* from here on it may be joined and freed */
    if (--pool->alive == 0)
        hora__waiters_resolve_all(&pool->reapers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
    thread->worker = NULL;
    thread->worker_observer = NULL;
    if (adopted)
        hora__thread_disown(thread);
    (void)hora_thread_unref(thread);
    hora__object_leave(&pool->object);
}

static void process_exit(struct hora__worker *worker, bool abrupt)
{
    assert(worker->hold.segment == NULL);
    hora_pool *pool = worker->pool;
    bool replaced = hora__worker_is_written_off(worker);
    if (abrupt && !replaced)
        hora__pool_lower_count(pool); /* else get_task, or who wrote it off, has done it */
    leave_list(worker);
    if (pool->kind != NULL)
        pool->kind->worker_ends(pool, &worker->timer_run);
    if (worker->left_behind >= 0 && pool->observer != NULL)
        pool->observer->kind->left(pool->observer, worker->left_behind);
    if (!HORA__FAULT(POOL_FORGETS_TRY_TERMINATE))
        hora__pool_try_terminate(pool);
    replace(pool, abrupt && !replaced);
    wait_until_replaced(worker);
    hora__pool_room(pool); /* if it was not replaced, a submitter that waits may start one */
    last_step(worker);
}

/* ---- the thread ---- */

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

static void work(void *arg)
{
    struct hora__worker *worker = arg;
    bool regular = loop(worker);
    process_exit(worker, !regular);
}

/* The task has ended its thread: close its books, then the worker's. */
static void thread_ends(void *arg)
{
    struct hora__worker *worker = arg;
    hora__conclude_at_end(worker->thread);
    abandon_current(worker);
    book_end(worker);
    process_exit(worker, true);
}

/* A thread of hora takes the record that was prepared for it; one that a factory made may have its own. */
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
    worker->thread = hora_thread_ref(thread);
    hora__pool_note_largest_locked(pool, 1 + hora__atomic_add(&pool->owner.workers, 1));
    hora__mutex_unlock(&pool->object.lock);
    worker->hold.thread = thread;
}

/* Whether no code of the user, nor an observer, stands between the body of a task and the queue. */
static bool has_no_observers(const hora_pool *pool)
{
    return pool->before == NULL && pool->after == NULL && pool->observer == NULL;
}

/* The pool's virtual clock expects a thread; but a factory's may be attached to a clock of its own. */
static void attach(struct hora__worker *worker)
{
    hora_virtual_clock *clock = worker->pool->object.clock->source;
    if (clock == NULL)
        return;
    worker->attached = hora_virtual_clock_attach(clock) == 0;
    if (!worker->attached)
        (void)hora_virtual_clock_expect(clock, -1);
}

void hora__worker_begin(void *arg)
{
    struct hora__worker *worker = arg;
    worker->os_thread = hora__os_thread_self();
    worker->stack = (uintptr_t)__builtin_frame_address(0);
    take_record(worker);
    attach(worker);
    if (worker->pool->kind != NULL) {
        worker->taken.run = &worker->timer_run;
        if (HORA__FAST && worker->is_simple && has_no_observers(worker->pool))
            worker->taken.series = &worker->series_run;
        worker->series_run.pool = worker->pool;
        worker->series_run.completed = &worker->completed;
        worker->pool->kind->worker_begins(worker->pool, &worker->timer_run);
    }
    hora__os_thread_guard(work, thread_ends, worker);
}
