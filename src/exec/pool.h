/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the pool's state, shared by the files that make it up: pool.c, worker.c, execute.c, reject.c */
#ifndef HORA_EXEC_POOL_H
#define HORA_EXEC_POOL_H

#include <hora/admission.h>
#include <hora/pool.h>

#include "exec/future_memory.h"
#include "exec/observer.h"
#include "exec/work_source.h"
#include "exec/worker.h"
#include "sync/ready_fd.h"

/* Run states in their order. The control word holds one of them above the number of workers, so that both
 * change together. */
enum hora__run_state { HORA__RUNNING, HORA__SHUTDOWN, HORA__STOP, HORA__TIDYING, HORA__TERMINATED };

/* How many workers a pool can have at most, whatever its bounds allow; include/hora/pool.h says so, too. */
enum { HORA__COUNT_BITS = 28, HORA__WORKERS_MAX = (1 << HORA__COUNT_BITS) - 1 };

/* Whether tasks may be queued without a future, see detached.c; in a pool that measures, with a
 * stamp. */
enum hora__detached_mode { HORA__NEVER_DETACHES, HORA__DETACHES, HORA__DETACHES_STAMPED };

/* What a scheduler does otherwise than a plain pool. */
struct hora__pool_kind {
    /* As hora_pool_execute, of a task that has a body. */
    int (*execute)(hora_pool *pool, const hora_task *task);
    /* As hora__pool_show. */
    int (*show)(hora_pool *pool);
    /* Make the future of a task that is submitted. */
    int (*make)(hora_pool *pool, const hora_task *task, hora_future **ret_future);
    /* Find a place for a future, as hora__pool_place. */
    int (*place)(hora_pool *pool, hora_future *future);
    /* A worker has been woken because the clocks have parted. */
    void (*look)(hora_pool *pool);
    /* What the worker that has taken an entry is to run: a future, with a reference, whose books it closes
     * afterwards; NULL: nothing, the entry has gone back. */
    hora_future *(*admit)(hora_pool *pool, hora_future *future);
    /* Run it. Whether it is to go back into the queue. */
    bool (*run)(hora_pool *pool, hora_future *future, hora_thread *thread);
    /* The same of note->begun, whose run has begun when it was taken. It may have left the end to the next
     * visit to the queue: then note->ended says so. */
    bool (*run_begun)(hora_pool *pool, struct hora__series_run *note, hora_thread *thread);
    /* It has failed with this code otherwise than by its body: the before hook refused it, or it has ended
     * the thread that ran it. */
    void (*abandoned)(hora_pool *pool, hora_future *future, int code);
    /* Put an entry back; false: it could not be, and has ended instead. has_just_ended: its run has
     * succeeded, and that is not noted yet; see struct hora__series_run. */
    bool (*put_back)(hora_pool *pool, hora_future *future, bool has_just_ended);
    /* Take a future out of the queue for a worker that waits for it and is to run it meanwhile, or, with
     * admission, another one that must run before it. INT64_MIN: that was done; else the time of the pool's
     * clock from which on to try again; HORA_FOREVER: never. */
    hora_ns (*take_out)(hora_pool *pool, hora_future *future, hora_future **ret_future);
    /* The pool has been shut down: what is not to run any more leaves the queue. */
    void (*sweep)(hora_pool *pool);
    /* It has been stopped: what cannot be handed back leaves the queue. */
    void (*stopped)(hora_pool *pool);
    /* Fill in what hora_pool_get_stats says of this kind alone; with the pool's lock. */
    void (*read_settings)(const hora_pool *pool, hora_pool_stats *stats);
    /* The calling thread is a worker that begins; ends: what it notes of timers can be seen in between. */
    void (*worker_begins)(hora_pool *pool, struct hora__timer_run *run);
    void (*worker_ends)(hora_pool *pool, struct hora__timer_run *run);
    /* Run the timer that the worker has taken: whether the worker goes on. The second function: the timer's
     * function, or a hook, has ended the thread. */
    bool (*run_timer)(struct hora__worker *worker);
    void (*abandon_timer)(struct hora__worker *worker);
    /* The timer that the worker had taken has run: forget it. Taking the next task does so as well. */
    void (*timer_ran)(hora_pool *pool, struct hora__taken *taken);
    /* The last worker is gone, and the pool is about to be. */
    void (*ends)(hora_pool *pool);
};

struct hora_pool {
    struct hora__object object; /* visited by workers, submitters that wait, and futures that ask its queue */
    struct hora__queue_owner owner;     /* immutable, but for keeps_cancelled */
    const struct hora__pool_kind *kind; /* immutable; NULL: a plain pool */
    struct hora__observer *observer;    /* immutable; NULL: none */
    hora__atomic control;               /* run state and number of workers */
    /* the number of the last worker, if it waits for the queue alone although surplus; 0: none */
    hora__atomic last_worker;
    hora__atomic room_waiters;  /* how many submitters wait for room */
    hora__atomic idle_watchers; /* how many want to know when nothing is unfinished, or no longer so */
    hora__atomic shows_idle;    /* perhaps they have been told so; written under the lock */
    /* an enum hora__detached_mode: tasks that are executed may be queued without a future */
    hora__atomic detached_mode;
    hora__atomic core_threads; /* these three are read by anyone, written under the lock */
    hora__atomic max_threads;
    hora__atomic core_time_out;
    hora__atomic
        written_off;     /* workers that do not count any more, and have not ended; see worker.c. Likewise */
    hora__atomic tidier; /* the thread that is in the terminated hook; 0: none */
    hora_queue *queue;   /* these are immutable */
    const struct hora__work_kind *work;      /* how it is used as a work source */
    struct hora__admission_queue *admission; /* part of `queue`, guarded by its lock; NULL: none */
    bool owns_queue;
    bool queue_holds; /* it is not synchronous */
    bool frozen;
    size_t stack_size;
    char name[32];
    bool max_follows; /* max_threads has no effect of its own, and follows core_threads */
    void *arg;        /* of the hooks */
    hora_before_fn before;
    hora_after_fn after;
    hora_terminated_fn terminated;
    hora_ns reject_timeout;

    /* guarded by object.lock */
    hora_ns keep_alive;
    hora_reject reject;
    hora_reject_fn reject_handler;
    void *reject_arg;
    hora_thread_factory_fn factory;
    void *factory_arg;
    struct hora__list workers; /* that can take tasks */
    struct hora__list ended;   /* that are about to end, to be joined */
    int alive;                 /* worker threads that have not reached their last step */
    int starting;              /* of these, those that are being started */
    int next_number;
    int largest;
    int thread_failures;
    int thread_error;
    int64_t completed; /* of workers that have ended */
    int64_t ended_endings[HORA__ENDINGS];
    struct hora__list terminations; /* threads that wait for termination, */
    struct hora__list quiescers;    /* for quiet, */
    struct hora__list submitters;   /* for room, */
    struct hora__list reapers;      /* for alive == 0, */
    uint32_t strandings; /* how often threads of the first two lists were told to try to start a worker */
    /* to be replaced, or for the pool to stop: see wait_until_replaced in worker.c */
    struct hora__list leavers;
    struct hora__ready_fd idle_fd;

    hora__counter endings[HORA__ENDINGS]; /* that no worker saw, but for those in the books */
    hora__counter refused;                /* tasks that were not accepted */

    /* What changes with each task lies apart from what is only read: else each change would slow down all who
     * read. */
    char apart[HORA__CACHE_LINE];
    /* accepted tasks, and those that have not ended; guarded by the queue's locks */
    struct hora__books books;
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

/* What decides on the number of workers, as of now; each may change at any moment, and who changes it wakes
 * the idle workers. */
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

/* Whether observation wants to see the future of each task. */
static inline bool hora__pool_needs_futures(const hora_pool *pool)
{
    return pool->observer != NULL && pool->observer->needs_futures;
}

/* Whether the observer measures how long tasks wait. */
static inline bool hora__pool_measures(const hora_pool *pool)
{
    return pool->observer != NULL && pool->observer->measures;
}

/* Counts a submission by name, before the task is placed; undone if that ends with an error that is no
 * refusal. Tasks without a name are in the books alone. */
void hora__pool_comes(const hora_pool *pool, const hora_task *task);
void hora__pool_came(const hora_pool *pool, const hora_task *task, int error);

static inline void hora__pool_count_cancelled(const hora_pool *pool, const hora_task *task)
{
    if (hora__pool_measures(pool))
        pool->observer->kind->cancelled(pool->observer, task->name);
}

static inline int64_t hora__pool_stamp(const hora_pool *pool)
{
    return hora__observer_stamp(pool->observer, pool->object.clock);
}

/* Whether no thread waits for cancelled tasks to be gone. Such a thread says so, and then goes through the
 * locks of the queue, under one of which this is asked. */
static inline bool hora__pool_needs_no_news(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING &&
           hora__atomic_load(&pool->idle_watchers) == 0 && hora__atomic_load(&pool->last_worker) == 0;
}

static inline void hora__pool_lower_count(hora_pool *pool)
{
    (void)hora__atomic_add(&pool->control, -1);
}

/* Make a pool that is the first part of something larger, of `size` bytes, which are zero but for the pool;
 * the options have been checked. */
__attribute__((warn_unused_result)) int hora__pool_make(const hora_pool_options *options, size_t size,
                                                        const struct hora__pool_kind *kind,
                                                        hora_pool **ret_pool);

/* 0, HORA_EINVAL or HORA_EFORKED. */
__attribute__((warn_unused_result)) HORA__INLINE int hora__pool_check(const hora_pool *pool)
{
    return pool == NULL ? HORA_EINVAL : hora__object_check(&pool->object);
}

bool hora__pool_queue_is_empty(hora_pool *pool);

/* Books: a task is taken on (the queue books those that are put into it); is not, after all; has ended, by
 * the hand of a worker that has counted it, or otherwise. */
void hora__pool_accept(hora_pool *pool);
void hora__pool_unaccept(hora_pool *pool);
void hora__pool_finish(hora_pool *pool);
void hora__pool_leave_queue(hora_pool *pool, struct hora__hold *hold);
void hora__pool_booked(hora_pool *pool);
void hora__pool_end(hora_pool *pool, enum hora__ending ending);

/* Something has come by another way than the pool's own: tell those who want to know. */
void hora__pool_work_came(hora_pool *pool);

/* There is one more, or one less, who wants to know when nothing is unfinished; before it looks. */
void hora__pool_watch(hora_pool *pool, int by);

/* How many tasks were taken on. */
static inline int64_t hora__pool_accepted(const hora_pool *pool)
{
    int64_t withdrawn = hora__counter_observe(&pool->books.withdrawn); /* first: each of them was accepted */
    return hora__books_accepted(&pool->books) - withdrawn;
}

/* How many tasks have ended in this way, but for those of workers that are there. */
static inline int64_t hora__pool_endings_locked(const hora_pool *pool, enum hora__ending ending)
{
    int64_t removed = ending == HORA__CANCELLED ? hora__books_cancelled(&pool->books) : 0;
    return removed + pool->ended_endings[ending] + hora__counter_observe(&pool->endings[ending]);
}

/* How a future that is done has ended. */
enum hora__ending hora__ending_of(hora_future *future);

/* Take one entry of a future out of the queue, with its reference. */
bool hora__pool_withdraw(hora_pool *pool, hora_future *future);

/* Whether the pool cannot end before the calling thread has gone on: one of its workers, or in its terminated
 * hook. */
bool hora__pool_needs_caller(const hora_pool *pool);

/* So many threads of workers have started and not ended: note it, if they are more than ever. */
void hora__pool_note_largest_locked(hora_pool *pool, int started);

/* Tasks are queued, and no worker is there to take them: those that could not be started count as none. See
 * worker_add.c. */
bool hora__pool_is_stranded(hora_pool *pool);

/* If so, try to start a worker. Whether none is there now, so that the caller has to look again after a
 * while. */
bool hora__pool_rescue(hora_pool *pool);

/* After anything that may have made the end possible. */
void hora__pool_try_terminate(hora_pool *pool);

/* A place in the queue has become free: let a waiting submitter try. */
void hora__pool_wake_submitter(hora_pool *pool);

static inline void hora__pool_room(hora_pool *pool)
{
    if (hora__atomic_load(&pool->room_waiters) != 0 && !HORA__FAULT(POOL_ROOM_UNSEEN))
        hora__pool_wake_submitter(pool);
}

/* More threads are allowed, or nothing is accepted any more: let all waiting submitters try. */
void hora__pool_wake_submitters(hora_pool *pool);

/* Accept a future and put it into the queue; on error nothing has changed. HORA_EFULL, HORA_ENOMEM. The
 * second function takes a future back out of the books that has been withdrawn and that the caller still
 * has. */
__attribute__((warn_unused_result)) int hora__pool_enqueue(hora_pool *pool, hora_future *future);
void hora__pool_unqueue(hora_pool *pool, hora_future *future);

/* The same as the first, for a future that only the caller has seen; the entry has a reference of its own. */
__attribute__((warn_unused_result)) int hora__pool_enqueue_fresh(hora_pool *pool, hora_future *future);

/* A future has been cancelled: if an entry of it is in the queue, take that out, and end it. */
void hora__pool_drop_cancelled(hora_pool *pool, hora_future *future);

/* A thread will look at the queue: make futures of the detached tasks in it. From now on each task has one.
 * HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__pool_show(hora_pool *pool);

/* A detached task has left the queue, and will not run: it has ended in this way. */
void hora__pool_end_detached(hora_pool *pool, const hora_task *task, enum hora__ending ending);

/* An entry that has been withdrawn has ended. */
void hora__pool_entry_ended(hora_pool *pool, hora_future *future);

/* A task has been taken out of the queue, and booked as cancelled: tell watchers, but not threads that wait
 * for the end. */
void hora__pool_cancelled(hora_pool *pool);

/* Something has left the queue: a worker that waits for it alone may have to go. */
void hora__pool_relieve(hora_pool *pool);

/* Makes a future of a plain pool; the terms have been checked, and may be NULL. The second function places a
 * future that only the caller has seen, or applies the rule for tasks that find no place. */
__attribute__((warn_unused_result)) int hora__pool_make_bound(hora_pool *pool, const hora_task *task,
                                                              const hora_task_options *terms,
                                                              hora_future **ret_future);
__attribute__((warn_unused_result)) int hora__pool_place_fresh(hora_pool *pool, hora_future *future);

/* Find a place for a future: a worker or the queue. HORA_EFULL, HORA_ESHUTDOWN, HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__pool_place(hora_pool *pool, hora_future *future);

/* Place a future, or apply the pool's rule for those that find no place. */
__attribute__((warn_unused_result)) int hora__pool_execute(hora_pool *pool, hora_future *future);

/* What becomes of a future for which placing has ended with this: the rule, if it has found no place. */
__attribute__((warn_unused_result)) int hora__pool_placed(hora_pool *pool, hora_future *future, int error);

__attribute__((warn_unused_result)) int hora__pool_reject(hora_pool *pool, hora_future *future, int why);

/* In words, as hora_pool_describe and dumps have it. */
const char *hora__pool_state_name(hora_pool_state state);

#endif
