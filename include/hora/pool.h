/* SPDX-License-Identifier: Apache-2.0 */
/* hora/pool.h - thread pools with the semantics of ThreadPoolExecutor
 *
 * A task that is submitted takes the first of these ways that is open:
 *
 *   1. fewer than core_threads workers: a new worker starts with it, even if others are idle;
 *   2. the work queue has room: it is queued;
 *   3. fewer than max_threads workers: a new worker starts with it;
 *   4. it is rejected, by the pool's rule for that.
 *
 * So more than core_threads workers exist only while the queue refuses. A worker above core_threads that finds nothing to do for
 * keep_alive ends; with core_time_out the others as well.
 *
 * Run states, in this order and never back:
 *
 *     RUNNING -> SHUTDOWN    hora_pool_shutdown: nothing new, but all that is queued runs
 *     RUNNING, SHUTDOWN -> STOP   hora_pool_shutdown_now: what is queued is handed back, what runs is interrupted
 *     SHUTDOWN -> TIDYING    queue and pool are empty
 *     STOP -> TIDYING        the pool is empty
 *     TIDYING -> TERMINATED  the terminated hook has returned
 *
 * If no thread can be started, a pool goes on with those that it has. If it has none, the call that submits a
 * task returns HORA_EAGAIN (or HORA_ENOMEM), the caller keeps the task, and nothing has changed. A pool can
 * also lose its last thread later, while tasks are queued: a task ends its thread, or a thread that another
 * submitter relied on does not start. The pool then tries to start one again, after 10 ms at first and every
 * second in the end: in the thread that was the last one, as long as tasks are queued; in each thread that
 * waits for the pool (hora_pool_await_idle_for, hora_pool_await_termination_for, hora_pool_close_for) or for a future of it
 * (hora_future_get); and with each task that comes.
 *
 * core_threads and max_threads may be any number up to INT_MAX. No pool has more than 268,435,455 threads at
 * a time, whatever they allow.
 *
 * Every accepted task ends in exactly one way: done, failed, cancelled, rejected, abandoned, handed back or
 * expired (hora/terms.h); the pool counts them (hora_pool_stats) and asserts the sum at its end.
 *
 * Callbacks (factory, hooks, rejection) run with no lock of hora held and may call the pool. */
#ifndef HORA_POOL_H
#define HORA_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/oversight.h>
#include <hora/queue.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* What happens to a task that finds neither a thread nor room, or comes after shutdown. Whatever is dropped completes its
 * future with HORA_EREJECTED. */
typedef enum hora_reject {
    HORA_REJECT_ABORT = 0,   /* the call returns HORA_EREJECTED, the caller keeps the task */
    HORA_REJECT_CALLER_RUNS, /* the submitting thread runs it; after shutdown it is dropped */
    HORA_REJECT_DISCARD,     /* it is dropped, the call succeeds */
    HORA_REJECT_DISCARD_OLDEST, /* the first task of the queue is dropped and this one tried again; after shutdown it is dropped */
    HORA_REJECT_BLOCK, /* the submitting thread waits for room, at most for reject_timeout, then as ABORT; not with a */
                       /* synchronous queue, which never has room */
    HORA_REJECT_CALLBACK, /* reject_handler decides */
} hora_reject;

/* HORA_REJECT_CALLBACK: 0 if the handler has taken care of the future (it may keep a reference and run, execute or fail it
 * later), or an error, which the submitting call returns; the caller then keeps the task, so the handler must have left it
 * alone. Runs in the submitting thread. */
typedef int (*hora_reject_fn)(hora_pool *pool, hora_future *future, void *arg);

/* Starts a thread that calls run(run_arg) exactly once. 0, or an error, and then run is not called. The name is a suggestion.
 * Whatever thread it is, hora does not join it: it must be detached or joined by its maker. */
typedef int (*hora_thread_factory_fn)(void (*run)(void *run_arg), void *run_arg, const char *name, void *arg);

/* Around each task, in its worker: before (non-zero: the task does not run, and fails with that code; the worker ends and is
 * replaced) and after, with the failure code of the task. Not for tasks that the caller runs. For a timer, see hora/timer.h, the future
 * is NULL. */
typedef int (*hora_before_fn)(hora_pool *pool, hora_future *future, void *arg);
typedef void (*hora_after_fn)(hora_pool *pool, hora_future *future, int code, void *arg);

/* Once, between the end of the last worker's work and termination. */
typedef void (*hora_terminated_fn)(hora_pool *pool, void *arg);

typedef struct hora_pool_options {
    uint32_t struct_size; /* sizeof(hora_pool_options), set by HORA_POOL_OPTIONS */
    int core_threads;     /* 0 and more */
    int max_threads;      /* 0: core_threads, or 1 if that is 0. Reached if the queue is full, or as hora_growth says */
    hora_ns keep_alive;   /* how long a surplus worker stays idle; 0: not at all */
    bool core_time_out;   /* core workers, too, end after keep_alive, which must then be > 0 */
    hora_queue
        *queue; /* the work queue: any kind, empty, used by nobody else; NULL: a linked one of queue_capacity. It */
                /* must live longer than the pool. Its elements are hora_future pointers */
    int queue_capacity;            /* of the pool's own queue; 0: HORA_UNBOUNDED, < 0: no room (a synchronous queue) */
    hora_reject reject;            /* the rule for tasks that find no place */
    hora_ns reject_timeout;        /* HORA_REJECT_BLOCK: how long to wait for room; 0: HORA_FOREVER */
    hora_reject_fn reject_handler; /* HORA_REJECT_CALLBACK */
    hora_thread_factory_fn thread_factory; /* NULL: hora's own threads */
    hora_before_fn before;                 /* hooks; NULL: none */
    hora_after_fn after;
    hora_terminated_fn terminated;
    void *arg;               /* last argument of all callbacks above */
    const char *name;        /* prefix of thread names, copied; NULL: "pool-N-thread-", N counting pools */
    size_t stack_size;       /* of hora's own threads, PTHREAD_STACK_MIN to 1 TB; 0: the system's default */
    const hora_clock *clock; /* what keep_alive and timed calls are measured with; NULL: monotonic */
    bool frozen;             /* the setters below are refused with HORA_ENOTSUP */
    bool keep_cancelled;     /* cancelled tasks stay in the queue until a worker meets them, as in the JDK */
    hora_ns spin; /* how long to look again before a thread sleeps, at most HORA_SPIN_MAX; 0: not at all. See below */
    const hora_oversight *oversight; /* what is seen and steered, see hora/oversight.h; copied. NULL: nothing */
} hora_pool_options;

/* With `spin`, one idle worker of the pool, and each thread that waits for the future of a submitted task, go on looking for so long, and
 * use a processor for it, before they sleep: if what they wait for comes in that time, nobody has to be woken, which takes longer
 * than most small tasks. It pays where tasks follow each other within microseconds and there are processors to spare; 20 to 50 us are
 * a good choice. With one processor it has no effect. Nothing else changes by it: neither order nor who runs what, and looking ends
 * at once with a task, an interrupt or a shutdown. For the pool's own queue, if that has room. */
#define HORA_SPIN_MAX ((hora_ns)1000000)

#define HORA_POOL_OPTIONS(...) (&(hora_pool_options){.struct_size = sizeof(hora_pool_options), __VA_ARGS__})

/* hora_pool_new - make a pool; threads start when tasks come
 *
 * An option set that cannot work is refused, and so is one that would have no effect. If `reterr_reason` is not NULL, it is
 * then set to a static sentence that says what is wrong.
 *
 * Ownership: the caller owns *ret_pool, to be freed with hora_pool_free. Queue and clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN; HORA_EMFILE and HORA_ENFILE (hora_oversight.dump). */
HORA_NODISCARD HORA_API int hora_pool_new(const hora_pool_options *options, hora_pool **ret_pool,
                                          const char **reterr_reason);

/* hora_pool_free - stop the pool, wait for its threads to end, and free it
 *
 * NULL is allowed. What is still queued is abandoned, what runs is interrupted. Not interruptible itself. In the thread that
 * made the pool it never lacks memory.
 *
 * Ownership: on success the pool is gone; on error nothing has changed.
 * Threads: Owner.   Blocks: until running tasks have ended.
 * Errors: HORA_EDEADLK (called by one of the pool's own tasks, its terminated hook, or a thread of its oversight), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_free(hora_pool *pool);

/* hora_pool_execute - run a task some time, and forget it
 *
 * Ownership: see hora/task.h.   Threads: Any thread.
 * Blocks: with HORA_REJECT_BLOCK for room; with HORA_REJECT_CALLER_RUNS as long as the task runs.
 * Errors: HORA_EREJECTED, HORA_EINVAL, HORA_ENOMEM, HORA_EINTERRUPTED and HORA_EDEADLK (HORA_REJECT_BLOCK),
 * HORA_EAGAIN (the pool has no thread and can start none), HORA_EFORKED, and what a rejection handler
 * returns. */
HORA_NODISCARD HORA_API int hora_pool_execute(hora_pool *pool, const hora_task *task);

/* hora_pool_submit - run a task some time, and get its future
 *
 * Ownership: as hora_pool_execute; the caller gets one reference to *ret_future.
 * Threads: Any thread.   Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_submit(hora_pool *pool, const hora_task *task, hora_future **ret_future);

/* hora_pool_execute_future - run a future of hora_future_new or hora_future_init some time
 *
 * It may be executed several times; only the first run of it counts.
 *
 * Ownership: the pool takes a reference of its own while it needs it.
 * Threads: Any thread.   Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_execute_future(hora_pool *pool, hora_future *future);

/* hora_pool_shutdown - accept nothing more; what is queued and running goes on to its end
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never (but for the terminated hook, if the pool is empty).
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_shutdown(hora_pool *pool);

/* A list of futures that were handed back. Start with HORA_FUTURE_LIST_INIT. */
typedef struct hora_future_list {
    hora_future *first;
    int count;
} hora_future_list;

#define HORA_FUTURE_LIST_INIT {0, 0}

/* hora_pool_shutdown_now - accept nothing more, interrupt what runs, and hand back what is queued
 *
 * The futures handed back are not done, and nobody will run them unless the caller does; one that was queued several times is
 * handed back once. Without a list they are abandoned. The pool is stopped in any case: what was executed, not submitted, and
 * there is no memory for to hand it back, is abandoned, too, and HORA_ENOMEM says so. Timers (hora/timer.h) are cancelled.
 *
 * Ownership: the caller gets a reference to each future in the list: take them one by one with hora_future_list_take, or let
 * hora_future_list_cancel deal with them.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also: a list that is not empty), HORA_ENOMEM (with a list only), HORA_EFORKED. */
HORA_API int hora_pool_shutdown_now(hora_pool *pool, hora_future_list *ret_list);

/* hora_future_list_take - take the first future off a list; NULL if it is empty
 *
 * Ownership: the reference passes to the caller.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_list_take(hora_future_list *list);

/* hora_future_list_cancel - cancel all futures of a list and give their references back
 *
 * Ownership: the list is empty.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API void hora_future_list_cancel(hora_future_list *list);

/* hora_pool_await_termination_for - wait until the pool is TERMINATED
 *
 * Precedence: terminated, then the end of the time, then interrupts. Threads may still be on their last steps.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated, the time is over or interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks), HORA_EINVAL, HORA_ENOMEM,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_termination_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_close_for - shut down, wait at most for `timeout`, then stop
 *
 * What is queued at the deadline is abandoned, what runs is interrupted. An interrupt of the caller counts as the deadline, and
 * stays pending. Does not free the pool.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated or the time is over.
 * Errors: HORA_ETIMEDOUT (it had to stop; hora_pool_active_count says how many tasks are still running), HORA_EDEADLK,
 * HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_close_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_await_idle_for - wait until nothing is queued or running, without shutting down
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until idle, the time is over or interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks), HORA_EINVAL, HORA_ENOMEM,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_idle_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_idle_fd - a descriptor that polls readable while nothing is queued or running
 *
 * Made at the first call, then always the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the pool's; it is closed by hora_pool_free.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_pool_idle_fd(hora_pool *pool);

/* hora_pool_remove - take a future out of the queue: 1 if it was there, else 0
 *
 * Ownership: the pool's reference is gone; the future is as it was, not done.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_remove(hora_pool *pool, hora_future *future);

/* hora_pool_purge - take all cancelled futures out of the queue, and return how many
 *
 * Only with keep_cancelled there can be any.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_purge(hora_pool *pool);

/* hora_pool_prestart - start one core worker that waits for work: 1, or 0 if all are there
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_ESHUTDOWN, and why no thread could be started. */
HORA_API int hora_pool_prestart(hora_pool *pool);

/* hora_pool_prestart_all - start all core workers, and return how many were started
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_prestart_all(hora_pool *pool);

/* hora_pool_set_core_threads - change the number of core threads
 *
 * Fewer: idle surplus workers end. More: workers start if tasks are queued.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative, more than max_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_threads(hora_pool *pool, int threads);

/* hora_pool_set_max_threads - change the largest number of threads
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (< 1, fewer than core_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_max_threads(hora_pool *pool, int threads);

/* hora_pool_set_keep_alive - change how long surplus workers stay idle
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative; 0 with core time-out), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_keep_alive(hora_pool *pool, hora_ns keep_alive);

/* hora_pool_set_core_time_out - whether core workers, too, end after keep_alive
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (keep_alive is 0), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_time_out(hora_pool *pool, bool core_time_out);

/* hora_pool_set_thread_factory - how threads are made from now on
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_thread_factory(hora_pool *pool, hora_thread_factory_fn factory);

/* hora_pool_set_reject - the rule for tasks that find no place from now on; a handler for HORA_REJECT_CALLBACK, else NULL
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_reject(hora_pool *pool, hora_reject reject, hora_reject_fn handler);

/* Everything that can be asked of a pool, as it was at one moment. */
typedef struct hora_pool_stats {
    uint32_t struct_size; /* set by hora_pool_get_stats */
    const char *state;    /* "Running", "Shutting down", "Stopping", "Tidying" or "Terminated" */
    int threads;          /* workers now, but for those that are written off; 0 from TIDYING on */
    int active;           /* workers that run a task, hooks included */
    int largest;          /* most workers ever, of those whose thread was started */
    int queued;           /* tasks in the queue */
    int core_threads;
    int max_threads;
    hora_ns keep_alive;
    bool core_time_out;
    hora_reject reject;
    hora_reject_fn reject_handler;
    hora_thread_factory_fn thread_factory; /* NULL: hora's own */
    int thread_failures;                   /* threads that could not be started */
    int thread_error;                      /* why not, the last time; 0: never */
    int64_t accepted;                      /* tasks taken on */
    int64_t done;                          /* of these: succeeded, */
    int64_t failed;                        /* failed, */
    int64_t cancelled;                     /* cancelled, */
    int64_t rejected;    /* dropped after they had been taken on (HORA_REJECT_DISCARD_OLDEST, the shutdown race), */
    int64_t abandoned;   /* dropped by stopping, or by a task that ended its thread, */
    int64_t handed_back; /* given back by hora_pool_shutdown_now or hora_pool_remove */
    int64_t completed;   /* tasks that workers have dealt with, in whatever way: the JDK's completed count */
    int64_t tasks;       /* completed, running and queued: the JDK's task count, which falls when tasks are removed */
    int64_t expired;     /* of those accepted: not begun, or not done, in time: see hora_task_options */
    int written_off; /* workers that were stuck and have been replaced, and still run their task: hora_task_options.replace */
} hora_pool_stats;

/* hora_pool_get_stats - look at everything at once
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_get_stats(hora_pool *pool, hora_pool_stats *ret_stats);

/* hora_pool_describe - one line about a pool, for people: name, state and counts
 *
 * As snprintf: returns the length of the whole text.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_describe(hora_pool *pool, char *text, size_t size);

/* hora_pool_queue - the work queue
 *
 * Its elements are hora_future pointers. Looking is harmless; taking from it by hand is not: the pool goes on counting on what was
 * taken, which must not outlive it; hora_pool_remove is the way to take a future out. From the first call on each task
 * has a future, also those that are executed, not submitted, which makes these a little slower. Timers (hora/timer.h) have none: they
 * are neither shown nor counted by calls of the queue, and lost if something is taken by hand that is due after them.
 *
 * Closing it ends the pool: what can be taken from it still runs, and a worker that finds nothing more shuts the pool down, as
 * hora_pool_shutdown does. What is left then and is not due is abandoned, as by hora_pool_shutdown_now.
 *
 * Ownership: as given, or the pool's.   Threads: Any thread.   Blocks: Never.
 * Errors: None; NULL for NULL, and if there is no memory for futures of what is queued. */
HORA_API hora_queue *hora_pool_queue(hora_pool *pool);

/* hora_pool_is_shutdown - whether shutdown or stop was called
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_shutdown(const hora_pool *pool);

/* hora_pool_is_terminating - whether it is shut down and not yet terminated
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_terminating(const hora_pool *pool);

/* hora_pool_is_terminated - whether all has ended
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_terminated(const hora_pool *pool);

/* hora_pool_active_count - how many workers run a task now
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_active_count(hora_pool *pool);

/* hora_pool_current - the pool whose worker the calling thread is; NULL: none
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_pool *hora_pool_current(void);

/* hora_available_processors - how many threads can really run at once: processors that this process may use, by affinity and by the
 * quota of its control group; never less than 1
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_available_processors(void);

/* hora_pool_new_fixed - always the same number of threads, an unbounded queue; `options` may add the rest, or be NULL
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_new; HORA_EINVAL also for threads < 1 or options that contradict. */
HORA_NODISCARD HORA_API int hora_pool_new_fixed(int threads, const hora_pool_options *options, hora_pool **ret_pool);

/* hora_pool_new_single - one thread, an unbounded queue, and no setter changes that
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool);

/* hora_pool_new_cached - as many threads as there are tasks, each kept for 60 s when idle
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool);

HORA_END_DECLS

#endif
