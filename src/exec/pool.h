/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the state of a pool, and the functions by which the files of src/exec and src/sched work on it
 *
 * The functions are in pool.c, execute.c, reject.c, get_task.c, worker_add.c, detached.c, settings.c and
 * options.c. */
#ifndef HORA_EXEC_POOL_H
#define HORA_EXEC_POOL_H

#include <hora/admission.h>
#include <hora/pool.h>

#include "exec/future_memory.h"
#include "exec/observer.h"
#include "exec/work_source.h"
#include "exec/worker.h"
#include "sync/ready_fd.h"

/* The run states, in their order. The control word holds the state in the bits above the number of workers,
 * so that both change together. */
enum hora__run_state { HORA__RUNNING, HORA__SHUTDOWN, HORA__STOP, HORA__TIDYING, HORA__TERMINATED };

/* The greatest number of workers, whatever the bounds of the pool allow; include/hora/pool.h documents it. */
enum { HORA__COUNT_BITS = 28, HORA__WORKERS_MAX = (1 << HORA__COUNT_BITS) - 1 };

/* Whether executed tasks may be queued without a future (detached.c); in a pool that measures, with a
 * stamp. */
enum hora__detached_mode { HORA__NEVER_DETACHES, HORA__DETACHES, HORA__DETACHES_STAMPED };

/* What a scheduler does differently from a plain pool. */
struct hora__pool_kind {
    size_t future_size; /* of the futures that `make` makes */
    /* As hora_pool_execute, for a task that has a body. */
    int (*execute)(hora_pool *pool, const hora_task *task);
    /* As hora__pool_show. */
    int (*show)(hora_pool *pool);
    /* Makes the future of a submitted task. */
    int (*make)(hora_pool *pool, const hora_task *task, hora_future **ret_future);
    /* As hora__pool_place. */
    int (*place)(hora_pool *pool, hora_future *future);
    /* A worker was woken because the offsets between the clocks have changed. */
    void (*clocks_changed)(hora_pool *pool);
    /* Decides what a worker runs that has taken an entry. Returns a future with a reference, whose entry the
     * worker closes afterwards. NULL: nothing; the entry is in the queue again. */
    hora_future *(*admit)(hora_pool *pool, hora_future *future);
    /* Runs a future that `admit` returned. Returns whether it must be put back into the queue. */
    bool (*run)(hora_pool *pool, hora_future *future, hora_thread *thread);
    /* The same for note->begun, whose run began when it was taken. If it sets note->ended, the next visit to
     * the queue notes the end of the run and puts the entry back. */
    bool (*run_begun)(hora_pool *pool, struct hora__series_run *note, hora_thread *thread);
    /* The future has failed with this code, but not by its body's result: the before hook refused it, or it
     * has ended the thread that ran it. Code 0: the hook refused it, and it was cancelled before. */
    void (*abandoned)(hora_pool *pool, hora_future *future, int code);
    /* Puts an entry back into the queue. Returns false if that was not possible; the entry has ended then.
     * has_just_ended: its run has succeeded, which has not been noted yet; see struct hora__series_run. */
    bool (*put_back)(hora_pool *pool, hora_future *future, bool has_just_ended);
    /* Takes a future out of the queue for a worker that waits for it and could run it in the meantime; with
     * admission, *ret_future may be another one that must run before it. Returns INT64_MIN if it did. If it
     * is too early, returns the time on the pool's clock at which to try again; else HORA_FOREVER. */
    hora_ns (*take_out)(hora_pool *pool, hora_future *future, hora_future **ret_future);
    /* The pool was shut down: removes the entries that will not run any more. */
    void (*sweep)(hora_pool *pool);
    /* The pool was stopped: removes the entries that cannot be handed back. */
    void (*stopped)(hora_pool *pool);
    /* Fills in the fields of hora_pool_stats that belong to this kind. The caller holds the pool's lock. */
    void (*read_settings)(const hora_pool *pool, hora_pool_stats *stats);
    /* The calling thread is a worker that begins, or ends. In between other threads can see in `run` which
     * timer it runs. */
    void (*worker_begins)(hora_pool *pool, struct hora__timer_run *run);
    void (*worker_ends)(hora_pool *pool, struct hora__timer_run *run);
    /* Runs the timer that the worker has taken. Returns whether the worker goes on. */
    bool (*run_timer)(struct hora__worker *worker);
    /* The timer's function, or a hook, has ended the thread: does what is left to do with the timer. */
    void (*abandon_timer)(struct hora__worker *worker);
    /* Clears the timer that the worker has run. Taking the next task does so, too. */
    void (*timer_ran)(hora_pool *pool, struct hora__taken *taken);
    /* The last worker has ended, and the pool is about to be freed. */
    void (*ends)(hora_pool *pool);
};

struct hora_pool {
    struct hora__object object;     /* visited by workers, waiting submitters, and futures that use `owner` */
    struct hora__queue_owner owner; /* how futures see the pool; immutable except for its atomic words */
    const struct hora__pool_kind *kind; /* immutable; NULL: a plain pool */
    struct hora__observer *observer;    /* immutable; NULL: none */

    /* Any thread reads these words without a lock. */
    hora__atomic control;       /* run state and number of workers */
    hora__atomic last_worker;   /* the number of a surplus worker that stays for the queue; 0: none */
    hora__atomic room_waiters;  /* how many submitters wait for room */
    hora__atomic idle_watchers; /* how many calls and descriptors want to know whether the pool is idle */
    hora__atomic shows_idle;    /* 1: watchers may have been told that it is; written under object.lock */
    hora__atomic detached_mode; /* an enum hora__detached_mode */
    /* These four are written under object.lock. */
    hora__atomic core_threads;
    hora__atomic max_threads;
    hora__atomic core_time_out;
    hora__atomic written_off; /* workers that were written off and have not ended; see worker.c */
    hora__atomic tidier;      /* hora__thread_id of the thread in the terminated hook; 0: none */

    /* These are immutable. */
    hora_queue *queue;
    const struct hora__work_kind *work;      /* the operations of `queue` as a work source */
    struct hora__admission_queue *admission; /* part of `queue`, guarded by its lock; NULL: none */
    bool owns_queue;                         /* the pool frees the queue; false: it is the user's */
    bool queue_holds;                        /* the queue can hold tasks: it is not synchronous */
    bool frozen;                             /* the settings cannot be changed */
    bool steals;                             /* workers have own queues, and steal from each other */
    size_t stack_size;                       /* of workers, in bytes; 0: the system's default */
    char name[32];                           /* prefix of the workers' names */
    bool max_follows;      /* max_threads is kept equal to core_threads; see hora__pool_max_follows */
    void *arg;             /* of the hooks */
    hora_before_fn before; /* the hooks; NULL: none */
    hora_after_fn after;
    hora_terminated_fn terminated;
    hora_ns reject_timeout; /* with HORA_REJECT_BLOCK; HORA_FOREVER: no limit */

    /* object.lock guards these. */
    hora_ns keep_alive;
    hora_reject reject;
    hora_reject_fn reject_handler; /* NULL: none */
    void *reject_arg;
    hora_thread_factory_fn factory; /* NULL: hora starts the threads */
    void *factory_arg;
    struct hora__list workers;            /* from enlist in worker_add.c until leave_list in worker.c */
    struct hora__list ended;              /* workers whose threads are about to end, to be joined */
    int alive;                            /* worker threads that have not reached their last step */
    int starting;                         /* of `alive`: whose start has not been noted yet */
    int next_number;                      /* of the next worker */
    int largest;                          /* the greatest number of workers so far */
    int thread_failures;                  /* how often a thread could not be started, */
    int thread_error;                     /* and why, the last time */
    int64_t completed;                    /* runs of workers that have ended */
    int64_t ended_endings[HORA__ENDINGS]; /* tasks of workers that have ended, by ending */
    /* Threads that wait. */
    struct hora__list terminations; /* for the end of the pool */
    struct hora__list idle_waiters; /* for the pool to be idle */
    struct hora__list submitters;   /* for room: see reject.c */
    struct hora__list reapers;      /* for `alive` to become 0 */
    uint32_t strandings;            /* how often the first two lists were nudged: see worker_add.c */
    struct hora__list leavers;      /* to be replaced, or for a stop: see wait_until_replaced in worker.c */
    struct hora__ready_fd idle_fd;  /* readable while the pool is idle; made on demand */

    hora__counter endings[HORA__ENDINGS]; /* of tasks that no worker counts; see also books.cancelled */
    hora__counter refused;                /* tasks that were never accepted */

    /* The books change with each task. They lie apart from fields that are only read, because each change
     * would take the cache line away from the readers. */
    char apart[HORA__CACHE_LINE];
    struct hora__books books; /* guarded by the queue's locks */
    char apart_too[HORA__CACHE_LINE];
    struct hora__shared_free_list shared_free_list; /* memory for futures */
};

static inline enum hora__run_state hora__state_of(int32_t control)
{
    assert(control >= 0);
    return (enum hora__run_state)(control >> HORA__COUNT_BITS);
}

static inline int hora__count_of(int32_t control)
{
    return control & HORA__WORKERS_MAX;
}

static inline int32_t hora__control(enum hora__run_state state, int count)
{
    assert(count >= 0 && count <= HORA__WORKERS_MAX);
    return (int32_t)state << HORA__COUNT_BITS | count;
}

/* The settings that decide on the number of workers. Each may change at any moment. A thread whose change
 * makes workers surplus interrupts the idle ones, so that they decide again. */
struct hora__bounds {
    int core_threads;
    int max_threads;
    bool core_time_out;
};

static inline struct hora__bounds hora__pool_bounds(const hora_pool *pool)
{
    return (struct hora__bounds){.core_threads = hora__atomic_load(&pool->core_threads),
                                 .max_threads = hora__atomic_load(&pool->max_threads),
                                 .core_time_out = hora__atomic_load(&pool->core_time_out) != 0};
}

/* Returns whether the observer must see the future of each task. */
static inline bool hora__pool_needs_futures(const hora_pool *pool)
{
    return pool->observer != NULL && pool->observer->needs_futures;
}

/* Returns whether the observer measures how long tasks wait. */
static inline bool hora__pool_measures(const hora_pool *pool)
{
    return pool->observer != NULL && pool->observer->measures;
}

/* In a pool that measures: counts a submission under the name of the task. The caller has yet to place the
 * task. Tasks without a name are only in the books. */
void hora__pool_count_submitted(const hora_pool *pool, const hora_task *task);

/* Undoes that, if `error`, with which placing the task has ended, is not a refusal. */
void hora__pool_uncount_submitted(const hora_pool *pool, const hora_task *task, int error);

/* In a pool that measures: counts a cancelled task under its name. */
static inline void hora__pool_count_cancelled(const hora_pool *pool, const hora_task *task)
{
    if (hora__pool_measures(pool))
        pool->observer->kind->cancelled(pool->observer, task->name);
}

/* Returns the present time as a stamp of the pool's observer, which must exist. */
static inline int64_t hora__pool_stamp(const hora_pool *pool)
{
    return hora__observer_stamp(pool->observer, pool->object.clock);
}

/* Returns whether no thread waits for queued tasks to end, so that a cancelled task may be removed without
 * notifying any. Called under a lock of the queue. A thread that begins such a wait changes one of these
 * words and then passes through all locks of the queue, so either the caller sees the change, or that thread
 * sees the removal. */
static inline bool hora__pool_needs_no_news(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING &&
           hora__atomic_load(&pool->idle_watchers) == 0 && hora__atomic_load(&pool->last_worker) == 0;
}

/* Lowers the count of workers by one. */
static inline void hora__pool_lower_count(hora_pool *pool)
{
    (void)hora__atomic_add(&pool->control, -1);
}

/* ---- checking options: options.c. An option that would have no effect is refused, so that a program does
 * not rely on it ---- */

/* Copies the given options, NULL meaning the defaults, to *own and checks them. Returns 0 or HORA_EINVAL,
 * with the reason in *reason unless that is NULL. */
__attribute__((warn_unused_result)) int hora__pool_options(hora_pool_options *own,
                                                           const hora_pool_options *given,
                                                           hora_pool **ret_pool, hora_error *reason);

/* Checks a rejection rule against its handler and the queue. Returns 0 or HORA_EINVAL, with a reason. */
__attribute__((warn_unused_result)) int hora__reject_check(hora_reject reject, hora_reject_fn handler,
                                                           bool queue_holds, hora_error *reason);

/* Returns whether max_threads has no effect and therefore follows core_threads: the queue never refuses a
 * task, and the pool does not grow for other reasons (grow_after). */
bool hora__pool_max_follows(const hora_pool_options *options);

/* The reason for a max_threads without effect; a format for max_threads and core_threads. */
#define HORA__TOO_WIDE                                                                                       \
    "max_threads, %d, greater than core_threads, %d, has no effect with an unbounded queue: threads beyond " \
    "core_threads start only when the queue refuses; see grow_after"

/* Returns the greatest number of threads that the options allow; a max_threads of 0 means core_threads, at
 * least 1. */
int hora__pool_max_threads(const hora_pool_options *options);

/* Returns whether the queue of these options can hold tasks. A synchronous queue cannot. */
bool hora__pool_queue_holds(const hora_pool_options *options);

/* ---- making: pool.c ---- */

/* Makes a pool as the first part of a struct of `size` bytes, whose rest is zero. The options have been
 * checked. Returns 0 or an error. */
__attribute__((warn_unused_result)) int hora__pool_make(const hora_pool_options *options, size_t size,
                                                        const struct hora__pool_kind *kind,
                                                        hora_pool **ret_pool);

/* Returns 0, HORA_EINVAL (NULL), HORA_EFORKED or HORA_EDEADLK. */
__attribute__((warn_unused_result)) HORA__INLINE int hora__pool_check(const hora_pool *pool)
{
    return pool == NULL ? HORA_EINVAL : hora__object_check(&pool->object);
}

/* Returns whether no task is queued, not even one that cannot be taken yet. */
bool hora__pool_queue_is_empty(hora_pool *pool);

/* ---- books: execute.c ---- */

/* Books a task as accepted that does not go through the queue, which books its own. */
void hora__pool_accept(hora_pool *pool);

/* Books an accepted task as withdrawn: its submitter has taken it back. */
void hora__pool_unaccept(hora_pool *pool);

/* Called after the books were changed: notifies the watchers if the pool is idle now, or not any more. */
void hora__pool_booked(hora_pool *pool);

/* Counts how a task has ended that no worker counts, and books it as finished. */
void hora__pool_end(hora_pool *pool, enum hora__ending ending);

/* Called after a task was booked as accepted: notifies the watchers if they were told that the pool is
 * idle. */
void hora__pool_work_came(hora_pool *pool);

/* Adds (1) or removes (-1) a watcher: a call or descriptor that wants to know when the pool is idle. The
 * caller adds itself before it checks whether the pool is idle. */
void hora__pool_watch(hora_pool *pool, int by);

/* Returns how many tasks were accepted and not withdrawn. */
static inline int64_t hora__pool_accepted(const hora_pool *pool)
{
    int64_t withdrawn = hora__counter_observe(&pool->books.withdrawn); /* first: accepted before */
    return hora__books_accepted(&pool->books) - withdrawn;
}

/* Returns how many tasks have ended in this way, without those that present workers have counted. The caller
 * holds the pool's lock. */
static inline int64_t hora__pool_endings_locked(const hora_pool *pool, enum hora__ending ending)
{
    int64_t removed = ending == HORA__CANCELLED ? hora__books_cancelled(&pool->books) : 0;
    return removed + pool->ended_endings[ending] + hora__counter_observe(&pool->endings[ending]);
}

/* Returns how a future that is done has ended. */
enum hora__ending hora__ending_of(hora_future *future);

/* Removes one entry of a future from the queue. The entry's reference passes to the caller. Returns whether
 * there was one. */
bool hora__pool_withdraw(hora_pool *pool, hora_future *future);

/* Returns whether the pool cannot end before the calling thread goes on, because the thread is one of its
 * workers or in its terminated hook. */
bool hora__pool_needs_caller(const hora_pool *pool);

/* Updates `largest`: this many worker threads have started and not ended. The caller holds the pool's
 * lock. */
void hora__pool_note_largest_locked(hora_pool *pool, int started);

/* Returns whether tasks are queued, the pool is not stopped, and no worker has begun to run. See
 * worker_add.c. */
bool hora__pool_is_stranded(hora_pool *pool);

/* If the pool is stranded, tries to start a worker. Returns whether there still is none; then the caller has
 * to try again after a while. */
bool hora__pool_rescue(hora_pool *pool);

/* Terminates the pool if nothing is in the way any more. Called after everything that may have made that
 * possible. If only idle workers are in the way, interrupts one, which ends and calls this again. */
void hora__pool_try_terminate(hora_pool *pool);

/* Room has become free in the queue: wakes the longest waiting submitter, which tries again. */
void hora__pool_wake_submitter(hora_pool *pool);

/* The same, if any submitter waits. */
static inline void hora__pool_room(hora_pool *pool)
{
    if (hora__atomic_load(&pool->room_waiters) != 0 && !HORA__FAULT(POOL_ROOM_UNSEEN))
        hora__pool_wake_submitter(pool);
}

/* Wakes all waiting submitters, because more threads are allowed or the pool was shut down. */
void hora__pool_wake_submitters(hora_pool *pool);

/* ---- queueing and placing ---- */

/* Books a future as accepted and queues it, with a reference for its entry. Returns 0, HORA_EFULL,
 * HORA_ENOMEM or HORA_ECLOSED; on error nothing has changed. */
__attribute__((warn_unused_result)) int hora__pool_enqueue(hora_pool *pool, hora_future *future);

/* Undoes hora__pool_enqueue after the caller has withdrawn the future; drops the entry's reference. */
void hora__pool_unqueue(hora_pool *pool, hora_future *future);

/* As hora__pool_enqueue, for a future that no other thread has seen. */
__attribute__((warn_unused_result)) int hora__pool_enqueue_fresh(hora_pool *pool, hora_future *future);

/* Turns all queued detached tasks into futures, before the queue is examined. From now on each task of the
 * pool has a future. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__pool_show(hora_pool *pool);

/* Ends a detached task that was removed from the queue and will not run: drops its argument, counts and books
 * it. */
void hora__pool_end_detached(hora_pool *pool, const hora_task *task, enum hora__ending ending);

/* Ends an entry that was withdrawn, and whose future is done: counts and books it, and drops its
 * reference. */
void hora__pool_entry_ended(hora_pool *pool, hora_future *future);

/* Called after a task was removed from the queue and booked as cancelled. Notifies submitters that wait for
 * room, the last worker, and watchers. The caller calls hora__pool_try_terminate. */
void hora__pool_cancelled(hora_pool *pool);

/* Called after a task was taken or removed. If the queue is empty now, a surplus worker that stayed only
 * because of it may end: see get_task.c. */
void hora__pool_relieve(hora_pool *pool);

/* Makes a future of a plain pool that carries an extra; `terms` have been checked, and may be NULL. */
__attribute__((warn_unused_result)) int hora__pool_make_bound(hora_pool *pool, const hora_task *task,
                                                              const hora_task_options *terms,
                                                              hora_future **ret_future);

/* As hora_pool_execute_future, for a future that no other thread has seen, in two steps. The first runs no
 * rejection rule. If it fails, the caller passes its error to the second, which applies the rule if there was
 * no place, and returns 0 or the final error. */
__attribute__((warn_unused_result)) int hora__pool_place_fresh(hora_pool *pool, hora_future *future);
__attribute__((warn_unused_result)) int hora__pool_refuse_fresh(hora_pool *pool, hora_future *future,
                                                                int error);

/* Returns the pool of an executor, if the caller may make the futures itself, with hora__future_new_beside,
 * and place them with hora__pool_place_fresh. NULL: the executor is none of hora_pool_executor, its pool is a
 * scheduler or gives its tasks extras, or the pool must not be used here. */
struct hora_executor;
hora_pool *hora__executor_pool(const struct hora_executor *executor);

/* Finds a place for a future: a new worker or the queue. Returns 0, HORA_EFULL, HORA_ESHUTDOWN, or another
 * error if there is no memory or no thread. */
__attribute__((warn_unused_result)) int hora__pool_place(hora_pool *pool, hora_future *future);

/* Takes the result of placing a future. If that is a refusal, applies the rejection rule, and returns its
 * result; else returns `error`. */
__attribute__((warn_unused_result)) int hora__pool_placed(hora_pool *pool, hora_future *future, int error);

/* Applies the rejection rule to a future for which there is no place; `why` is HORA_EFULL or HORA_ESHUTDOWN.
 * Returns 0 if the rule has taken care of the future, else an error. */
__attribute__((warn_unused_result)) int hora__pool_reject(hora_pool *pool, hora_future *future, int why);

/* Returns the name of a state, for hora_pool_describe and dumps. */
const char *hora__pool_state_name(hora_pool_state state);

#endif
