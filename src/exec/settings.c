/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - changing the settings of a pool while it works, and reading its state
 *
 * A setter stores the new value under the pool's lock. If that makes workers surplus, it interrupts the idle
 * ones, which then decide again whether they stay (get_task.c). If it allows more workers, it starts those
 * that have work, or wakes the submitters that wait for room. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"
#include "exec/pool.h"
#include "sys/alloc.h"

/* Checks that the settings of a pool may be changed. Returns 0, HORA_ENOTSUP for a frozen pool, or an error
 * of hora__pool_check, with a reason. */
static int check_open(hora_pool *pool, hora_error *reason)
{
    hora__reason_begin(reason);
    int error = hora__pool_check(pool);
    if (error == 0 && pool->frozen)
        return hora__refuse(reason, HORA_ENOTSUP, NULL, "the pool is frozen: its settings cannot be changed");
    return hora__reason_end(reason, error);
}

/* Releases the pool's lock and returns `result`. */
static int leave(hora_pool *pool, int result)
{
    assert(hora__mutex_held(&pool->object.lock));
    hora__mutex_unlock(&pool->object.lock);
    return result;
}

/* Returns the number of workers. */
static int count_of(const hora_pool *pool)
{
    return hora__count_of(hora__atomic_load(&pool->control));
}

/* core_threads was raised by `more`: starts as many workers as there are queued tasks, but not more than
 * that. Stops when the queue is empty: then the new workers have found everything. */
static void start_more(hora_pool *pool, int more)
{
    assert(!hora__mutex_held(&pool->object.lock));
    int queued = hora__queue_count(pool->queue);
    for (int i = 0; i < more && i < queued; i++)
        if (hora__worker_add(pool, NULL, true) < 0 || hora__pool_queue_is_empty(pool))
            break;
}

/* With max_follows the maximum changes, too. Fewer core threads end when they are idle; more are started at
 * once if tasks are queued, and otherwise with the next tasks. */
int hora_pool_set_core_threads(hora_pool *pool, int threads, hora_error *reason)
{
    int error = check_open(pool, reason);
    if (error < 0)
        return error;
    if (threads < 0)
        return hora__refuse(reason, HORA_EINVAL, "core_threads", "core_threads is %d, which is negative",
                            threads);
    hora__mutex_lock(&pool->object.lock); /* the two bounds are compared and changed together */
    if (pool->max_follows)
        hora__atomic_store(&pool->max_threads, threads > 0 ? threads : 1);
    else if (threads > hora__atomic_load(&pool->max_threads))
        return leave(pool, hora__refuse(reason, HORA_EINVAL, "core_threads",
                                        "core_threads would be %d, which is greater than max_threads, %d",
                                        threads, hora__atomic_load(&pool->max_threads)));
    int more = threads - hora__atomic_exchange(&pool->core_threads, threads);
    bool fewer = count_of(pool) > threads;
    if (fewer)
        hora__workers_interrupt_idle_locked(pool, false);
    (void)leave(pool, 0);
    if (pool->admission != NULL && more > 0)
        hora__work_look(pool->queue); /* waiting tasks may begin, also on workers that exist already */
    if (!fewer && more > 0)
        start_more(pool, more);
    return 0;
}

/* Refuses a maximum that would have no effect, as options.c does. Surplus workers end when they are idle. */
int hora_pool_set_max_threads(hora_pool *pool, int threads, hora_error *reason)
{
    int error = check_open(pool, reason);
    if (error < 0)
        return error;
    if (threads < 1)
        return hora__refuse(reason, HORA_EINVAL, "max_threads", "max_threads is %d, which is less than 1",
                            threads);
    hora__mutex_lock(&pool->object.lock);
    int core = hora__atomic_load(&pool->core_threads);
    if (threads < core)
        return leave(pool, hora__refuse(reason, HORA_EINVAL, "max_threads",
                                        "max_threads would be %d, which is less than core_threads, %d",
                                        threads, core));
    if (pool->max_follows && threads > core && threads > 1)
        return leave(pool, hora__refuse(reason, HORA_EINVAL, "max_threads", HORA__TOO_WIDE, threads, core));
    bool more = threads > hora__atomic_exchange(&pool->max_threads, threads);
    if (count_of(pool) > threads)
        hora__workers_interrupt_idle_locked(pool, false);
    (void)leave(pool, 0);
    if (more)
        hora__pool_wake_submitters(pool); /* their tasks may start with new workers */
    return 0;
}

int hora_pool_set_keep_alive(hora_pool *pool, hora_ns keep_alive, hora_error *reason)
{
    int error = check_open(pool, reason);
    if (error < 0)
        return error;
    if (keep_alive < 0)
        return hora__refuse(reason, HORA_EINVAL, "keep_alive", "keep_alive is negative");
    hora__mutex_lock(&pool->object.lock);
    if (keep_alive == 0 && hora__atomic_load(&pool->core_time_out))
        return leave(pool, hora__refuse(reason, HORA_EINVAL, "keep_alive",
                                        "keep_alive is 0, and core_time_out needs one greater than 0"));
    bool shorter = keep_alive < pool->keep_alive;
    pool->keep_alive = keep_alive;
    if (shorter)
        hora__workers_interrupt_idle_locked(pool, false); /* they wait again, for the shorter time */
    return leave(pool, 0);
}

/* Core workers that wait without a time limit are interrupted: they wait again, for at most keep_alive. */
int hora_pool_set_core_time_out(hora_pool *pool, bool core_time_out, hora_error *reason)
{
    int error = check_open(pool, reason);
    if (error < 0)
        return error;
    hora__mutex_lock(&pool->object.lock);
    if (core_time_out && pool->keep_alive == 0)
        return leave(pool, hora__refuse(reason, HORA_EINVAL, "core_time_out",
                                        "core_time_out needs a keep_alive greater than 0"));
    bool is_new = !hora__atomic_exchange(&pool->core_time_out, core_time_out ? 1 : 0) && core_time_out;
    if (is_new)
        hora__workers_interrupt_idle_locked(pool, false);
    return leave(pool, 0);
}

/* Workers that are just being started may still come from the former factory. */
int hora_pool_set_thread_factory(hora_pool *pool, hora_thread_factory_fn factory, void *arg)
{
    int error = check_open(pool, NULL);
    if (error < 0 || factory == NULL)
        return error < 0 ? error : HORA_EINVAL;
    hora__mutex_lock(&pool->object.lock);
    pool->factory = factory;
    pool->factory_arg = arg;
    return leave(pool, 0);
}

int hora_pool_set_reject(hora_pool *pool, hora_reject reject, hora_reject_fn handler, void *arg,
                         hora_error *reason)
{
    int error = check_open(pool, reason);
    if (error == 0) /* a scheduler always has room, so HORA_REJECT_BLOCK makes no sense there */
        error = hora__reject_check(reject, handler, pool->queue_holds && pool->kind == NULL, reason);
    if (error < 0)
        return error;
    hora__mutex_lock(&pool->object.lock);
    pool->reject = reject;
    pool->reject_handler = handler;
    pool->reject_arg = arg;
    return leave(pool, 0);
}

/* ---- workers and queue ---- */

int hora_pool_prestart(hora_pool *pool)
{
    int error = hora__pool_check(pool);
    if (error == 0)
        error = hora__worker_add(pool, NULL, true);
    return error == HORA_EFULL ? 0 : error < 0 ? error : 1;
}

/* Returns how many were started. A failure ends the loop, and is noted in the stats. */
int hora_pool_prestart_all(hora_pool *pool)
{
    int started = 0;
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    while (hora__worker_add(pool, NULL, true) == 0)
        started++;
    return started;
}

/* The caller has a reference of its own; that of the entry is dropped. The future stays as it is. */
int hora_pool_remove(hora_pool *pool, hora_future *future)
{
    int error = hora__pool_check(pool);
    if (error < 0 || future == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (!hora__pool_withdraw(pool, future))
        return 0;
    hora__future_dequeued(future, &pool->owner);
    hora__pool_end(pool, HORA__HANDED_BACK);
    (void)hora_future_unref(future);
    hora__pool_try_terminate(pool);
    return 1;
}

/* Works on a snapshot: withdrawing a future takes the queue's lock, and dropping a reference may run code of
 * the user. A future that a worker takes in between is not withdrawn, and not counted. */
int hora_pool_purge(hora_pool *pool)
{
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    void **items;
    int count;
    void (*unref)(void *item);
    error = hora__pool_show(pool);
    if (error < 0)
        return error;
    error = hora__queue_copy(pool->queue, &items, &count, &unref);
    if (error < 0)
        return error;
    int purged = 0;
    for (int i = 0; i < count; i++) {
        if (hora_future_is_cancelled(items[i]) && hora__pool_withdraw(pool, items[i])) {
            hora__future_dequeued(items[i], &pool->owner);
            hora__pool_end(pool, HORA__CANCELLED);
            (void)hora_future_unref(items[i]); /* the entry's */
            purged++;
        }
        unref(items[i]); /* the snapshot's */
    }
    hora__free(items);
    hora__pool_try_terminate(pool);
    return purged;
}

/* From now on each task of the pool has a future: the caller must find futures, and only futures, there. */
hora_queue *hora_pool_queue(hora_pool *pool)
{
    if (pool == NULL)
        return NULL;
    bool usable = hora__pool_check(pool) == 0; /* if not, every call of the queue returns that error */
    return usable && hora__pool_show(pool) < 0 ? NULL : pool->queue;
}

/* ---- reading the state ---- */

const char *hora__pool_state_name(hora_pool_state state)
{
    switch (state) {
    case HORA_POOL_RUNNING:
        return "Running";
    case HORA_POOL_SHUTDOWN:
        return "Shutting down";
    case HORA_POOL_STOP:
        return "Stopping";
    case HORA_POOL_TIDYING:
        return "Tidying";
    case HORA_POOL_TERMINATED:
    default:
        return "Terminated";
    }
}

/* Adds the present workers, and their counts, to *stats and endings[]. */
static void read_workers_locked(hora_pool *pool, hora_pool_stats *stats, int64_t *endings)
{
    assert(hora__mutex_held(&pool->object.lock));
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next) {
        struct hora__worker *worker = HORA__LIST_ENTRY(link, struct hora__worker, link);
        stats->threads++;
        stats->active += hora__worker_is_active(worker) ? 1 : 0;
        stats->completed += hora__counter_read(&worker->completed);
        for (int i = 0; i < HORA__ENDINGS; i++) {
            HORA__ORDER_FAULT(STATS_READ_RELAXED, memory_order_relaxed);
            endings[i] += hora__counter_observe(&worker->endings[i]);
        }
    }
}

/* Copies the settings into *stats. */
static void read_settings_locked(const hora_pool *pool, hora_pool_stats *stats)
{
    assert(hora__mutex_held(&pool->object.lock));
    stats->core_threads = hora__atomic_load(&pool->core_threads);
    stats->max_threads = hora__atomic_load(&pool->max_threads);
    stats->keep_alive = pool->keep_alive;
    stats->core_time_out = hora__atomic_load(&pool->core_time_out) != 0;
    stats->reject = pool->reject;
    stats->reject_handler = pool->reject_handler;
    stats->thread_factory = pool->factory;
    stats->thread_failures = pool->thread_failures;
    stats->thread_error = pool->thread_error;
    stats->largest = pool->largest;
    stats->keep_cancelled = hora__atomic_load(&pool->owner.keeps_cancelled) != 0;
    if (pool->kind != NULL)
        pool->kind->read_settings(pool, stats);
}

/* The counts change while they are read. The endings are read before `accepted`, so the sum of the former is
 * never greater than the latter: see struct hora__books. */
int hora_pool_get_stats(hora_pool *pool, hora_pool_stats *ret_stats)
{
    size_t size;
    int error = hora__pool_check(pool);
    if (error == 0)
        error = HORA__SIZE_GIVEN(hora_pool_stats, ret_stats, &size);
    if (error < 0)
        return error;
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    int64_t endings[HORA__ENDINGS];
    stats.queued = hora__queue_count(pool->queue); /* before the pool's lock is taken: no thread holds both */
    hora__mutex_lock(&pool->object.lock);
    enum hora__run_state state = hora__state_of(hora__atomic_load(&pool->control));
    stats.state = (hora_pool_state)state;
    stats.completed = pool->completed;
    for (int i = 0; i < HORA__ENDINGS; i++)
        endings[i] = hora__pool_endings_locked(pool, (enum hora__ending)i);
    read_settings_locked(pool, &stats);
    read_workers_locked(pool, &stats, endings);
    stats.written_off = hora__atomic_load(&pool->written_off);
    stats.threads -= stats.written_off; /* they are on the list, but do not count */
    stats.accepted = hora__pool_accepted(pool);
    hora__mutex_unlock(&pool->object.lock);
    if (state >= HORA__TIDYING)
        stats.threads = 0;
    stats.done = endings[HORA__DONE];
    stats.failed = endings[HORA__FAILED];
    stats.cancelled = endings[HORA__CANCELLED];
    stats.rejected = endings[HORA__REJECTED];
    stats.abandoned = endings[HORA__ABANDONED];
    stats.handed_back = endings[HORA__HANDED_BACK];
    stats.expired = endings[HORA__EXPIRED];
    stats.tasks = stats.completed + stats.active + stats.queued;
    hora__output_write(ret_stats, size, &stats, sizeof stats);
    return 0;
}

/* The text has the form of toString of the JDK's ThreadPoolExecutor. */
int hora_pool_describe(hora_pool *pool, char *text, size_t size)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    int error = text == NULL && size > 0 ? HORA_EINVAL : hora_pool_get_stats(pool, &stats);
    if (error < 0)
        return error;
    return snprintf(text, size,
                    "%s[%s, pool size = %d, active threads = %d, queued tasks = %d, completed tasks = %lld]",
                    pool->name, hora__pool_state_name(stats.state), stats.threads, stats.active, stats.queued,
                    (long long)stats.completed);
}

int hora_pool_idle_fd(hora_pool *pool)
{
    int result = hora__pool_check(pool);
    if (result < 0)
        return result;
    /* The pool has one watcher for its descriptor. It is added before the books are read (hora__pool_booked),
     * and removed again if the descriptor exists already or cannot be made. */
    hora__pool_watch(pool, 1);
    hora__mutex_lock(&pool->object.lock);
    bool is_first = hora__ready_fd_get(&pool->idle_fd) < 0;
    if (is_first) {
        result = hora__ready_fd_init(&pool->idle_fd, pool->object.clock, false);
        if (result == 0 && hora__books_are_even(&pool->books))
            hora__ready_fd_set(&pool->idle_fd, pool->object.clock, HORA__READY_NOW);
    }
    if (result == 0)
        result = hora__ready_fd_get(&pool->idle_fd);
    hora__mutex_unlock(&pool->object.lock);
    if (!is_first || result < 0)
        hora__pool_watch(pool, -1);
    return result;
}
