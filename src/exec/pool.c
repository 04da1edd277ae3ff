/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - a pool's run states, from its making to its end
 *
 * States            RUNNING -> SHUTDOWN             hora_pool_shutdown
 *                   RUNNING, SHUTDOWN -> STOP       hora_pool_shutdown_now
 *                   SHUTDOWN, STOP -> TIDYING       hora__pool_try_terminate, when there is neither a worker
 *                                                   nor, in SHUTDOWN, a task
 *                   TIDYING -> TERMINATED           the same, after the terminated hook
 * How it works      State and number of workers are one word, so exactly one thread finds "shut down and no
 *                   worker left" to be true. Every operation that may make it true ends with
 *                   hora__pool_try_terminate. If only idle workers are in the way, that interrupts one of
 *                   them; the worker ends, and calls it again.
 * Invariants        I1 the state never goes back.
 *                   I2 TIDYING is entered once, with count 0; from then on no worker is added.
 *                   I3 when TERMINATED: accepted = done + failed + cancelled + rejected + abandoned + handed
 *                      back + expired.
 * Locks             object.lock (rank OBJECT); no thread holds it together with a queue's or a future's. */
#include "exec/pool.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/backlog.h"
#include "exec/pool_admission.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/process.h"

static enum hora__run_state state_of(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control));
}

bool hora__pool_queue_is_empty(hora_pool *pool)
{
    assert(pool->queue != NULL);
    /* Counting, not polling: a delay queue may hold tasks that are not due. */
    return hora__queue_count(pool->queue) <= 0;
}

/* ---- as the owner of its queue ---- */

/* Stores references to the threads of the first `most` workers that have begun. Returns how many. */
static int find_workers_locked(hora_pool *pool, hora_thread **threads, int most)
{
    assert(hora__mutex_held(&pool->object.lock) && most > 0);
    int count = 0;
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        const struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        if (count < most && worker->thread != NULL)
            threads[count++] = hora_thread_ref(worker->thread);
    }
    return count;
}

/* As find_workers of struct hora__queue_owner: a thread that waits for a future uses it to find out whether
 * all threads that could run the future wait themselves. Returns -1 if a worker is just starting or ending,
 * or may be added, or if there are more than `most`. */
static int find_workers(struct hora__queue_owner *owner, hora_thread **threads, int most)
{
    assert(most > 0);
    hora_pool *pool = HORA__LIST_ENTRY(owner, struct hora_pool, owner);
    struct hora__bounds bounds = hora__pool_bounds(pool);
    int bound = pool->kind == NULL ? bounds.max_threads : bounds.core_threads > 0 ? bounds.core_threads : 1;
    hora__mutex_lock(&pool->object.lock);
    int count = hora__count_of(hora__atomic_load(&pool->control));
    int written_off = hora__atomic_load(&pool->written_off);
    int found = 0;
    /* While a worker starts, or ends and is about to be replaced, the number of live threads and the number
     * of counted workers differ. */
    bool may_grow = count < bound || pool->alive != count + written_off;
    if (!may_grow && pool->alive <= most)
        found = find_workers_locked(pool, threads, most);
    bool all = found > 0 && found == pool->alive;
    hora__mutex_unlock(&pool->object.lock);
    for (int i = 0; i < found && !all; i++)
        (void)hora_thread_unref(threads[i]);
    return all ? found : -1;
}

/* ---- making ---- */

/* Frees the pool; called when the owner and all visitors have dropped their references. */
static void destroy(struct hora__object *object)
{
    hora_pool *pool = HORA__LIST_ENTRY(object, struct hora_pool, object);
    hora__ready_fd_destroy(&pool->idle_fd, NULL);
    if (pool->owns_queue)
        (void)hora_queue_free(pool->queue);
    else if (pool->kind == NULL)
        hora__queue_leave_lent(pool->queue);
    hora__shared_free_list_destroy(&pool->shared_free_list);
    if (pool->observer != NULL)
        pool->observer->kind->pool_gone(pool->observer);
    hora__free(pool);
}

void hora__pool_entry_ended(hora_pool *pool, hora_future *future)
{
    assert(future != NULL);
    hora__future_dequeued(future, &pool->owner);
    hora__pool_end(pool, hora__ending_of(future));
    (void)hora_future_unref(future);
    hora__pool_try_terminate(pool);
}

/* As rescue of struct hora__queue_owner. */
static bool rescue(struct hora__queue_owner *owner)
{
    return hora__pool_rescue(HORA__LIST_ENTRY(owner, struct hora_pool, owner));
}

/* As cancelled of struct hora__queue_owner. If a worker has taken the entry, that worker will find the future
 * done. The caller has a reference to the pool, because the pool may end, and its owner may free it, as soon
 * as the entry has left the queue. */
static void cancelled(struct hora__queue_owner *owner, hora_future *future)
{
    hora_pool *pool = HORA__LIST_ENTRY(owner, struct hora_pool, owner);
    assert(hora__future_state(future) >= HORA__FUTURE_CANCELLED);
    if (!hora__work_remove_cancelled(pool->queue, future, &pool->books))
        return;
    if (!HORA__FAULT(CANCEL_MISCOUNTS_ENTRIES))
        hora__future_dequeued(future, owner);
    hora__pool_cancelled(pool);
    (void)hora_future_unref(future); /* the entry's */
    hora__pool_try_terminate(pool);
}

static void *ref_future(void *item)
{
    return hora_future_ref(item);
}

static void unref_future(void *item)
{
    (void)hora_future_unref(item);
}

/* Returns how many own queues the workers of a stealing pool get; 0: it does not steal. */
static int count_own_queues(const hora_pool_options *options)
{
    assert(options->core_threads >= 0);
    int threads = hora__pool_max_threads(options);
    return !options->stealing ? 0 : threads < HORA__OWN_QUEUES_MOST ? threads : HORA__OWN_QUEUES_MOST;
}

/* Makes the queue that the options ask for: the user's; a synchronous one; an admission queue; or the
 * backlog, for which a build without HORA__FAST has a linked queue. Returns 0 or an error. */
static int make_queue(hora_pool *pool, const hora_pool_options *options)
{
    assert(pool->queue == NULL && pool->admission == NULL);
    pool->queue = options->queue;
    if (pool->queue != NULL)
        return pool->kind != NULL ? 0 : hora__queue_lend(pool->queue, ref_future, unref_future);
    pool->owns_queue = true;
    hora_queue_options own = HORA_INIT(hora_queue_options);
    own.clock = options->clock;
    own.fair = true;
    if (options->queue_capacity < 0)
        return hora_queue_new_synchronous(&own, &pool->queue, NULL);
    own.fair = false;
    int capacity = options->queue_capacity == 0 ? HORA_UNBOUNDED : options->queue_capacity;
    hora_ns ageing;
    if (hora__observer_admits(options, &ageing))
        return hora__pool_make_admission_queue(pool, capacity, &own, ageing);
    if (!HORA__FAST && !options->stealing) /* no inbox, and no detached tasks */
        return hora_queue_new_linked(capacity, &own, &pool->queue, NULL);
    int error = hora__backlog_new(capacity, count_own_queues(options), &own, &pool->queue);
    if (error == 0)
        hora__backlog_open_books(pool->queue, &pool->books);
    return error;
}

/* Returns whether executed tasks can do without futures: the queue accepts detached tasks, and no hook or
 * observer has to see a future. */
static bool needs_no_futures(const hora_pool *pool)
{
    assert(pool->work != NULL);
    return pool->owns_queue && pool->work->show != NULL && pool->kind == NULL && pool->before == NULL &&
           pool->after == NULL && !hora__pool_needs_futures(pool);
}

/* Writes the prefix of thread names: the given name and a dash, or pool-N-thread- if it is NULL. A global
 * counter (sys/process.h) numbers the pools without a name, as in the JDK. */
static void write_name(char *name, size_t size, const char *given)
{
    assert(size > 0);
    if (given != NULL)
        (void)snprintf(name, size, "%s-", given);
    else
        (void)snprintf(name, size, "pool-%d-thread-", hora__serial_next());
}

/* Copies the options, which have been checked, into a new pool. */
static void copy_options(hora_pool *pool, const hora_pool_options *options)
{
    assert(options->core_threads >= 0 && pool->queue == NULL);
    hora__atomic_init(&pool->core_threads, options->core_threads);
    hora__atomic_init(&pool->max_threads, hora__pool_max_threads(options));
    hora__atomic_init(&pool->core_time_out, options->core_time_out ? 1 : 0);
    pool->keep_alive = options->keep_alive;
    pool->reject = options->reject;
    pool->reject_handler = options->reject_handler;
    pool->reject_timeout = options->reject_timeout == 0 ? HORA_FOREVER : options->reject_timeout;
    pool->factory = options->thread_factory;
    pool->before = options->before;
    pool->after = options->after;
    pool->terminated = options->terminated;
    pool->arg = options->arg;
    pool->factory_arg = options->arg;
    pool->reject_arg = options->arg;
    pool->stack_size = options->stack_size;
    pool->frozen = options->frozen;
    pool->steals = options->stealing;
    pool->queue_holds = hora__pool_queue_holds(options);
    pool->max_follows = pool->kind == NULL && hora__pool_max_follows(options);
    pool->owner = (struct hora__queue_owner){
        .object = &pool->object, .cancelled = cancelled, .rescue = rescue, .find_workers = find_workers};
    hora__atomic_init(&pool->owner.workers, 0);
    hora__atomic_init(&pool->owner.keeps_cancelled, options->keep_cancelled ? 1 : 0);
    pool->owner.spin = options->spin;
    write_name(pool->name, sizeof pool->name, options->name);
}

/* Initialises the lists and atomic words of a new pool. */
static void init_lists(hora_pool *pool)
{
    hora__atomic_init(&pool->control, hora__control(HORA__RUNNING, 0));
    hora__atomic_init(&pool->last_worker, 0);
    hora__atomic_init(&pool->room_waiters, 0);
    hora__atomic_init(&pool->idle_watchers, 0);
    hora__atomic_init(&pool->shows_idle, 1);
    hora__atomic_init(&pool->detached_mode, HORA__NEVER_DETACHES);
    hora__atomic_init(&pool->tidier, 0);
    hora__atomic_init(&pool->written_off, 0);
    pool->next_number = 1;
    hora__list_init(&pool->workers);
    hora__list_init(&pool->ended);
    hora__list_init(&pool->terminations);
    hora__list_init(&pool->idle_waiters);
    hora__list_init(&pool->submitters);
    hora__list_init(&pool->reapers);
    hora__list_init(&pool->leavers);
}

int hora__pool_make(const hora_pool_options *options, size_t size, const struct hora__pool_kind *kind,
                    hora_pool **ret_pool)
{
    assert(size >= sizeof(hora_pool));
    hora_thread *thread; /* made now, so that the caller can later wait for the pool even without memory */
    int error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    hora_pool *pool = hora__alloc(1, size);
    if (pool == NULL)
        return HORA_ENOMEM;
    init_lists(pool);
    pool->kind = kind;
    copy_options(pool, options);
    error = kind == NULL ? hora__shared_free_list_init(&pool->shared_free_list, HORA__BLOCK_PLAIN_FUTURE,
                                                       sizeof(struct hora__seated))
                         : hora__shared_free_list_init(&pool->shared_free_list, HORA__BLOCK_SCHEDULED_FUTURE,
                                                       kind->future_size);
    if (error < 0)
        goto no_shared_free_list;
    error = make_queue(pool, options);
    if (error < 0)
        goto no_queue;
    /* Users who look into the queue get references to futures. hora__queue_lend does this for theirs. */
    if (pool->owns_queue || kind != NULL)
        hora__queue_set_ref(pool->queue, ref_future, unref_future);
    pool->work = hora__work_kind_of(pool->queue);
    struct hora__work_source *source = hora__work_source_of(pool->queue);
    if (options->spin > 0 && source != NULL) {
        source->books = &pool->books;
        source->spin = options->spin;
    }
    error = hora__object_init(&pool->object, options->clock, destroy);
    if (error < 0)
        goto no_object;
    error = hora__observer_new(pool, options, &pool->observer);
    if (error < 0)
        goto no_observer;
    /* Last, because it depends on the queue, the hooks and the observer. */
    int detached_mode = hora__pool_measures(pool) ? HORA__DETACHES_STAMPED : HORA__DETACHES;
    hora__atomic_init(&pool->detached_mode, needs_no_futures(pool) ? detached_mode : HORA__NEVER_DETACHES);
    *ret_pool = pool;
    return 0;
no_observer: /* the object exists, so destroy frees the rest */
    if (!pool->owns_queue && kind == NULL)
        hora__queue_give_back(pool->queue);
    hora__object_leave(&pool->object);
    return error;
no_object:
    if (pool->owns_queue) {
        (void)hora_queue_free(pool->queue);
    } else if (kind == NULL) {
        hora__queue_give_back(pool->queue);
        hora__queue_leave_lent(pool->queue);
    }
no_queue:
    hora__shared_free_list_destroy(&pool->shared_free_list);
no_shared_free_list:
    hora__free(pool);
    return error;
}

int hora_pool_new(const hora_pool_options *options, hora_pool **ret_pool, hora_error *reason)
{
    hora_pool_options own;
    hora__reason_begin(reason);
    int error = hora__pool_options(&own, options, ret_pool, reason);
    if (error == 0)
        error = hora__pool_make(&own, sizeof(hora_pool), NULL, ret_pool);
    return hora__reason_end(reason, error);
}

/* ---- termination ---- */

/* I3: returns whether each accepted task has exactly one ending. All workers have ended. */
static bool books_are_right_locked(const hora_pool *pool)
{
    assert(hora__mutex_held(&pool->object.lock));
    int64_t sum = 0;
    for (int i = 0; i < HORA__ENDINGS; i++)
        sum += hora__pool_endings_locked(pool, (enum hora__ending)i);
    return sum == hora__pool_accepted(pool);
}

/* Moves the pool from TIDYING to TERMINATED: calls the terminated hook, then wakes the threads that wait for
 * the end. */
static void terminate(hora_pool *pool)
{
    assert(state_of(pool) == HORA__TIDYING);
    hora__atomic_store(&pool->tidier, hora__thread_id());
    if (pool->terminated != NULL)
        pool->terminated(pool, pool->arg);
    hora__atomic_store(&pool->tidier, 0);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    hora__atomic_store(&pool->control, hora__control(HORA__TERMINATED, 0));
    hora__waiters_resolve_all(&pool->terminations, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* What the thread that calls begin_tidying has to do next. */
enum tidying {
    BEGINS,          /* the state is TIDYING: terminate the pool */
    MUST_LOOK_AGAIN, /* the control word has changed: decide again */
    MUST_WAIT        /* a worker that was written off has not ended; it will try again */
};

/* I2: moves the pool, which has no workers, to TIDYING. Workers that were written off do not count, but have
 * to end first. A thread that writes one off lowers the count and raises written_off under the pool's lock,
 * so both are checked under it. Only an observed pool has such workers. */
static enum tidying begin_tidying(hora_pool *pool, int32_t control)
{
    assert(hora__count_of(control) == 0);
    if (pool->observer == NULL)
        return hora__atomic_cas(&pool->control, control, hora__control(HORA__TIDYING, 0)) ? BEGINS
                                                                                          : MUST_LOOK_AGAIN;
    hora__mutex_lock(&pool->object.lock);
    enum tidying tidying = MUST_WAIT;
    if (hora__atomic_load(&pool->written_off) == 0 || HORA__FAULT(POOL_FORGETS_WRITTEN_OFF))
        tidying = hora__atomic_cas(&pool->control, control, hora__control(HORA__TIDYING, 0))
                      ? BEGINS
                      : MUST_LOOK_AGAIN;
    hora__mutex_unlock(&pool->object.lock);
    return tidying;
}

void hora__pool_try_terminate(hora_pool *pool)
{
    for (;;) {
        int32_t control = hora__atomic_load(&pool->control);
        enum hora__run_state state = hora__state_of(control);
        if (state == HORA__RUNNING || state >= HORA__TIDYING ||
            (state == HORA__SHUTDOWN && !hora__pool_queue_is_empty(pool)))
            return;
        if (hora__count_of(control) != 0) { /* one idle worker suffices: it ends, and calls this again */
            hora__mutex_lock(&pool->object.lock);
            if (!HORA__FAULT(POOL_LAST_IDLE_NOT_WOKEN))
                hora__workers_interrupt_idle_locked(pool, true);
            hora__mutex_unlock(&pool->object.lock);
            return;
        }
        enum tidying tidying = begin_tidying(pool, control);
        if (tidying == BEGINS)
            terminate(pool);
        if (tidying != MUST_LOOK_AGAIN)
            return;
    }
}

/* Raises the state to `target`, unless it has got as far already. The count stays as it is. */
static void advance_state(hora_pool *pool, enum hora__run_state target)
{
    assert(target == HORA__SHUTDOWN || target == HORA__STOP);
    for (;;) {
        int32_t control = hora__atomic_load(&pool->control);
        if (hora__state_of(control) >= target) /* I1 */
            return;
        if (hora__atomic_cas(&pool->control, control, hora__control(target, hora__count_of(control))))
            return;
    }
}

/* Each of them tries to place its task again; after a shutdown that fails, and the submitter returns. */
void hora__pool_wake_submitters(hora_pool *pool)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    hora__waiters_resolve_all(&pool->submitters, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
}

/* Idle workers are interrupted after the state was raised: they wake up, see it, and end when the queue is
 * empty. Workers that are active see it when they take their next task. */
int hora_pool_shutdown(hora_pool *pool)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    hora__mutex_lock(&pool->object.lock);
    advance_state(pool, HORA__SHUTDOWN);
    hora__workers_interrupt_idle_locked(pool, false);
    hora__mutex_unlock(&pool->object.lock);
    hora__pool_wake_submitters(pool); /* there will be no room for them any more */
    if (pool->kind != NULL)
        pool->kind->sweep(pool);
    hora__pool_try_terminate(pool);
    return 0;
}

/* Removes the next task from the queue, whether it is due or not: a future, or a detached task, which is
 * copied to *ret_taken. NULL: the queue is empty. */
static void *drain(hora_pool *pool, struct hora__taken *ret_taken)
{
    assert(ret_taken != NULL);
    /* Not with admission: there, taking a task would begin its run. */
    void *entry = pool->admission != NULL ? NULL : hora__work_poll(pool->queue, ret_taken);
    return entry != NULL ? entry : hora__work_pull_first(pool->queue, ret_taken);
}

/* Appends a future to a list whose last link is **end. */
static void append(hora_future_list *list, hora_future ***end, hora_future *future)
{
    assert(list->count >= 0 && *end != NULL);
    future->next = NULL;
    **end = future;
    *end = &future->next;
    list->count++;
}

/* Ends a queued future as abandoned, because the pool was stopped and the caller wants no list. */
static void abandon(hora_pool *pool, hora_future *future)
{
    assert(state_of(pool) >= HORA__STOP);
    (void)hora__future_abort(future, HORA_EABANDONED);
    enum hora__ending ending = hora__ending_of(future);
    hora__future_dequeued(future, &pool->owner);
    (void)hora_future_unref(future);
    hora__pool_end(pool, ending);
}

/* Marks a future as being in a hora_future_list. Returns false if it already is in one: a future has only one
 * link. */
static bool enlist(hora_future *future)
{
    assert(!hora__mutex_held(&future->object.lock));
    hora__mutex_lock(&future->object.lock);
    bool is_new = !future->listed;
    future->listed = true;
    hora__mutex_unlock(&future->object.lock);
    return is_new;
}

/* Undoes enlist, for a future that was taken out of its list. */
static void delist(hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    future->listed = false;
    future->next = NULL;
    hora__mutex_unlock(&future->object.lock);
}

/* Ends the entry of a queued future, and appends the future to the caller's list, which takes over the
 * entry's reference. The future stays as it is, and can be executed again. */
static void hand_back(hora_pool *pool, hora_future *future, hora_future_list *list, hora_future ***end)
{
    assert(state_of(pool) >= HORA__STOP);
    hora__future_dequeued(future, &pool->owner);
    if (enlist(future))
        append(list, end, future);
    else
        (void)hora_future_unref(future);
    hora__pool_end(pool, HORA__HANDED_BACK);
}

/* Empties the queue of a stopped pool. With a list, futures are handed back; without one, they are abandoned.
 * A detached task has no handle, and is abandoned in any case. */
static void drain_all(hora_pool *pool, hora_future_list *ret_list)
{
    assert(state_of(pool) >= HORA__STOP);
    hora_future_list list = HORA_FUTURE_LIST_INIT;
    hora_future **end = &list.first;
    struct hora__taken taken = {.run = NULL};
    void *entry;
    while (!HORA__FAULT(POOL_STOP_LEAVES_QUEUE) && (entry = drain(pool, &taken)) != NULL) {
        if (entry == &taken)
            hora__pool_end_detached(pool, &taken.task, HORA__ABANDONED);
        else if (ret_list == NULL)
            abandon(pool, entry);
        else
            hand_back(pool, entry, &list, &end);
    }
    if (ret_list != NULL)
        *ret_list = list;
}

/* A worker that checks the state from now on takes no queued task, so the queue is emptied here. A submitter
 * that queues a future at the same time sees STOP afterwards, and withdraws the future if it is still queued:
 * see look_again in execute.c. */
int hora_pool_shutdown_now(hora_pool *pool, hora_future_list *ret_list)
{
    int error = hora__pool_check(pool);
    if (error < 0 || (ret_list != NULL && ret_list->first != NULL))
        return error < 0 ? error : HORA_EINVAL;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->object.lock);
    advance_state(pool, HORA__STOP);
    hora__workers_interrupt_all_locked(pool);
    hora__waiters_resolve_all(&pool->leavers, 0, &wakes);
    hora__mutex_unlock(&pool->object.lock);
    hora__wakes_flush(&wakes);
    hora__pool_wake_submitters(pool); /* there will be no room for them any more */
    /* If there is no memory for futures, the detached tasks that are left are abandoned. */
    error = ret_list != NULL ? hora__pool_show(pool) : 0;
    if (pool->kind != NULL)
        pool->kind->stopped(pool);
    drain_all(pool, ret_list);
    hora__pool_try_terminate(pool);
    return error;
}

hora_future *hora_future_list_take(hora_future_list *list)
{
    if (list == NULL || list->first == NULL)
        return NULL;
    hora_future *future = list->first;
    list->first = future->next;
    list->count--;
    delist(future);
    return future;
}

void hora_future_list_cancel(hora_future_list *list)
{
    hora_future *future;
    while ((future = hora_future_list_take(list)) != NULL) {
        (void)hora_future_cancel(future, false);
        (void)hora_future_unref(future);
    }
}

/* ---- waiting ---- */

/* Such a thread must not wait for the end of the pool: HORA_EDEADLK. */
bool hora__pool_needs_caller(const hora_pool *pool)
{
    return hora_pool_current() == pool || hora__atomic_load(&pool->tidier) == hora__thread_id();
}

static bool is_terminated_locked(hora_pool *pool)
{
    assert(hora__mutex_held(&pool->object.lock));
    return state_of(pool) == HORA__TERMINATED;
}

/* Returns whether the pool is idle: every accepted task has ended. */
static bool is_idle_locked(hora_pool *pool)
{
    assert(hora__mutex_held(&pool->object.lock));
    return hora__books_are_even(&pool->books);
}

/* What a thread waits for. A thread that waits while the pool is stranded tries to start a worker from time
 * to time; see worker_add.c. */
struct condition {
    bool (*is_so_locked)(hora_pool *pool); /* returns whether the wait is over; called with the pool's lock */
    struct hora__list *list;               /* on which the thread waits */
    bool tries;                            /* the pool is stranded, and the thread tries to start a worker */
    uint32_t strandings;                   /* of the pool, read before `tries` was determined */
};

/* Waits once, until `until` at the latest. The condition takes precedence over the end of the time, and that
 * over an interrupt. Returns 0, HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (a worker would wait for
 * itself), or HORA_EAGAIN if the caller must check again, because an attempt to start a worker has failed
 * since. */
static int wait_once(hora_pool *pool, const struct condition *condition, hora_thread *thread, hora_ns timeout,
                     hora_ns until)
{
    assert(condition->list != NULL);
    int error = 0;
    hora__mutex_lock(&pool->object.lock);
    if (!condition->is_so_locked(pool)) {
        if (timeout <= 0)
            error = HORA_ETIMEDOUT;
        else if (timeout == HORA_FOREVER && hora__pool_needs_caller(pool))
            error = HORA_EDEADLK;
        else if (pool->strandings != condition->strandings && !condition->tries)
            error = HORA_EAGAIN;
        else
            return hora__object_wait_locked(&pool->object, condition->list, thread, until);
    }
    hora__mutex_unlock(&pool->object.lock);
    return error;
}

/* Reads `strandings` under the pool's lock, which guards it. */
static uint32_t read_strandings(hora_pool *pool)
{
    hora__mutex_lock(&pool->object.lock);
    uint32_t strandings = pool->strandings;
    hora__mutex_unlock(&pool->object.lock);
    return strandings;
}

/* Waits until the condition holds or the timeout has passed. While the pool is stranded, tries to start a
 * worker from time to time, with growing pauses. Returns as wait_once, but never HORA_EAGAIN. */
static int wait_for(hora_pool *pool, struct condition *condition, hora_ns timeout)
{
    assert(condition->is_so_locked != NULL && condition->list != NULL);
    hora_thread *thread;
    hora_ns deadline = timeout > 0 ? hora__clock_deadline(pool->object.clock, timeout) : 0;
    hora_ns pause = 0;
    int error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    for (;;) {
        hora_ns until = deadline;
        condition->strandings = read_strandings(pool); /* before the check: see wait_once */
        condition->tries = timeout > 0 && hora__pool_is_stranded(pool) && hora__pool_rescue(pool);
        if (condition->tries) {
            pause = hora__rescue_pause(pause);
            hora_ns again = hora__clock_deadline(pool->object.clock, pause);
            until = again < deadline ? again : deadline;
        }
        error = wait_once(pool, condition, thread, timeout, until);
        bool looks_again = error == HORA_EAGAIN || (error == HORA_ETIMEDOUT && until < deadline);
        if (!looks_again)
            return error;
    }
}

int hora_pool_await_termination_for(hora_pool *pool, hora_ns timeout)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    struct condition condition = {.is_so_locked = is_terminated_locked, .list = &pool->terminations};
    return wait_for(pool, &condition, timeout);
}

int hora_pool_await_idle_for(hora_pool *pool, hora_ns timeout)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    struct condition condition = {.is_so_locked = is_idle_locked, .list = &pool->idle_waiters};
    hora__pool_watch(pool, 1); /* before the first check: see hora__pool_booked */
    error = wait_for(pool, &condition, timeout);
    hora__pool_watch(pool, -1);
    return error;
}

int hora_pool_await_termination(hora_pool *pool)
{
    return hora_pool_await_termination_for(pool, HORA_FOREVER);
}

int hora_pool_await_idle(hora_pool *pool)
{
    return hora_pool_await_idle_for(pool, HORA_FOREVER);
}

int hora_pool_close(hora_pool *pool)
{
    return hora_pool_close_for(pool, HORA_FOREVER);
}

/* If the time is over, or the calling thread is interrupted, the pool is stopped; the queued tasks are
 * abandoned. */
int hora_pool_close_for(hora_pool *pool, hora_ns timeout)
{
    int error = hora_pool_shutdown(pool);
    if (error == 0)
        error = hora_pool_await_termination_for(pool, timeout);
    if (error != HORA_ETIMEDOUT && error != HORA_EINTERRUPTED)
        return error;
    hora_thread *thread = hora__thread_existing();
    if (error == HORA_EINTERRUPTED && thread != NULL)
        (void)hora_thread_interrupt(thread); /* the interrupt stays pending for the caller */
    if (hora_pool_is_terminated(pool))       /* it may have terminated just after the wait ended */
        return 0;
    (void)hora_pool_shutdown_now(pool, NULL);
    return HORA_ETIMEDOUT;
}

/* Returns the list on which hora_pool_free has to wait next; NULL: nothing is left to wait for. The books may
 * not be even although the pool has terminated: a thread that cancels a task first removes it from the queue,
 * and then books it. */
static struct hora__list *still_to_come_locked(hora_pool *pool)
{
    assert(hora__mutex_held(&pool->object.lock));
    if (pool->alive > 0)
        return &pool->reapers;
    if (!is_terminated_locked(pool))
        return &pool->terminations;
    return is_idle_locked(pool) ? NULL : &pool->idle_waiters;
}

/* Waits until all worker threads have reached their last step, the pool has terminated, and all tasks are
 * booked. An interrupt does not end the wait, because the threads still use the pool's memory; it is set
 * again afterwards. */
static int await_threads(hora_pool *pool)
{
    assert(state_of(pool) >= HORA__STOP);
    hora_thread *thread;
    bool interrupted = false;
    int error = hora__thread_current(&thread);
    hora__pool_watch(pool, 1); /* never removed: the pool is about to be freed */
    while (error == 0) {
        hora__mutex_lock(&pool->object.lock);
        struct hora__list *list = still_to_come_locked(pool);
        if (list == NULL) {
            hora__mutex_unlock(&pool->object.lock);
            break;
        }
        if (hora__object_wait_locked(&pool->object, list, thread, HORA_FOREVER) == HORA_EINTERRUPTED)
            interrupted = true;
    }
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return error;
}

/* The order: no thread runs tasks any more; then the scheduler and the observer end their parts, which may
 * still use the pool; then the owner's reference is dropped. Late visitors may keep the memory for a
 * moment. */
int hora_pool_free(hora_pool *pool)
{
    if (pool == NULL)
        return 0;
    int error = hora__pool_check(pool);
    struct hora__observer *observer = error == 0 ? pool->observer : NULL;
    if (error == 0 &&
        (hora__pool_needs_caller(pool) || (observer != NULL && observer->kind->is_own_thread(observer))))
        error = HORA_EDEADLK;
    if (error == 0)
        error = hora_pool_shutdown_now(pool, NULL);
    if (error == 0)
        error = await_threads(pool);
    if (error < 0)
        return error;
    hora__workers_reap(pool);
    if (pool->kind != NULL)
        pool->kind->ends(pool);
    if (observer != NULL)
        observer->kind->pool_ends(observer);
    hora__mutex_lock(&pool->object.lock);
    bool right = books_are_right_locked(pool);
    assert(right);
    (void)right;
    int64_t abandoned = hora__pool_endings_locked(pool, HORA__ABANDONED);
    hora__mutex_unlock(&pool->object.lock);
    if (!pool->owns_queue)
        hora__queue_give_back(pool->queue);
    hora__object_leave(&pool->object);
    return abandoned > INT_MAX ? INT_MAX : (int)abandoned;
}

bool hora_pool_is_shutdown(const hora_pool *pool)
{
    return pool != NULL && state_of(pool) >= HORA__SHUTDOWN;
}

bool hora_pool_is_terminating(const hora_pool *pool)
{
    return hora_pool_is_shutdown(pool) && state_of(pool) < HORA__TERMINATED;
}

bool hora_pool_is_terminated(const hora_pool *pool)
{
    return pool != NULL && state_of(pool) == HORA__TERMINATED;
}

hora_pool *hora_pool_current(void)
{
    hora_thread *thread = hora__thread_existing();
    struct hora__worker *worker = thread != NULL ? thread->worker : NULL;
    return worker != NULL ? worker->pool : NULL;
}
