/* SPDX-License-Identifier: Apache-2.0 */
/* hora/pool.h - thread pools with the semantics of ThreadPoolExecutor
 *
 * A submitted task takes the first of these paths that is available:
 *
 *   1. There are fewer than core_threads workers: a new worker starts with it, even if others are idle.
 *   2. The work queue has room: the task is queued.
 *   3. There are fewer than max_threads workers: a new worker starts with it.
 *   4. The task is rejected according to the pool's rejection policy.
 *
 * More than core_threads workers therefore exist only while the queue refuses tasks. A worker above
 * core_threads that stays idle for keep_alive ends; with core_time_out, core workers do so as well.
 *
 * A pool passes through these run states, in this order and never back:
 *
 *     RUNNING -> SHUTDOWN         hora_pool_shutdown: no new tasks, but queued tasks run
 *     RUNNING, SHUTDOWN -> STOP   hora_pool_shutdown_now: queued tasks are handed back, running ones are
 *                                 interrupted
 *     SHUTDOWN -> TIDYING         queue and pool are empty
 *     STOP -> TIDYING             the pool is empty
 *     TIDYING -> TERMINATED       the terminated hook has returned
 *
 * If no thread can be started, a pool continues with the threads it has. If it has none, the submitting call
 * returns HORA_EAGAIN (or HORA_ENOMEM), the caller keeps the task, and nothing has changed. A pool can also
 * lose its last thread later, while tasks are queued: a task ends its thread, or a thread that another
 * submitter relied on does not start. The pool then tries again to start a thread, first after 10 ms and
 * eventually once per second. These threads retry: the thread that was the last one, as long as tasks are
 * queued; each thread that waits for the pool (hora_pool_await_idle_for, hora_pool_await_termination_for,
 * hora_pool_close_for) or for one of its futures (hora_future_get); and each thread that submits a task.
 *
 * core_threads and max_threads may be any number up to INT_MAX, but a pool never has more than 268,435,455
 * threads at a time.
 *
 * Every accepted task ends in exactly one way: done, failed, cancelled, rejected, abandoned, handed back or
 * expired (see hora/task.h). The pool counts each of these (hora_pool_stats) and asserts their sum when it
 * ends.
 *
 * Callbacks (thread factory, hooks, rejection handler) run with no hora lock held and may call the pool. */
#ifndef HORA_POOL_H
#define HORA_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/queue.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_pool hora_pool;

/* Optional features of a pool, enabled when it is created. Each has a header of its own. */
typedef struct hora_metrics hora_metrics;             /* hora/metrics.h */
typedef struct hora_admission hora_admission;         /* hora/admission.h */
typedef struct hora_watchdog hora_watchdog;           /* hora/event.h */
typedef struct hora_listener hora_listener;           /* hora/event.h */
typedef struct hora_context_hooks hora_context_hooks; /* hora/context.h */

/* The rejection policy: what happens to a task that finds neither a thread nor room, or is submitted after
 * shutdown. A dropped task completes its future with HORA_EREJECTED. */
typedef enum hora_reject {
    /* the call returns HORA_EREJECTED and the caller keeps the task */
    HORA_REJECT_ABORT = 0,
    /* the submitting thread runs the task; after shutdown the task is dropped */
    HORA_REJECT_CALLER_RUNS,
    /* the task is dropped and the call succeeds */
    HORA_REJECT_DISCARD,
    /* the first task in the queue is dropped and the new task is retried; after shutdown the new task is
     * dropped */
    HORA_REJECT_DISCARD_OLDEST,
    /* the submitting thread waits for room, at most for reject_timeout, and then proceeds as with ABORT. Not
     * allowed with a synchronous queue, which never has room */
    HORA_REJECT_BLOCK,

    /* reject_handler decides */
    HORA_REJECT_CALLBACK,
} hora_reject;

/* The handler of HORA_REJECT_CALLBACK. It returns 0 if it has taken care of the future; it may keep a
 * reference and run, execute or fail the future later. Otherwise it returns an error, which the submitting
 * call returns; the caller then keeps the task, so the handler must not have touched it. Runs in the
 * submitting thread. */
typedef int (*hora_reject_fn)(hora_pool *pool, hora_future *future, void *arg);

/* Starts a thread that calls run(run_arg) exactly once. Returns 0, or an error if run will not be called. The
 * name is a suggestion. hora does not join the thread: the factory must detach or join it. */
typedef int (*hora_thread_factory_fn)(void (*run)(void *run_arg), void *run_arg, const char *name, void *arg);

/* Describes a run to a hook. Valid during the call. */
typedef struct hora_run_info {
    /* that of the library */
    uint32_t struct_size;
    /* whether a caller holds a handle to the task: false after hora_pool_execute and for a timer */
    bool submitted;
    /* in `after`: the failure code of the task, 0 if it succeeded */
    int code;
    /* borrowed; NULL for a timer (hora/timer.h) */
    hora_future *future;
    /* the task, with its name and source location. In `after` its arg may already have been dropped */
    const hora_task *task;
} hora_run_info;

/* Hooks that the worker calls around each task. If `before` returns non-zero, the task does not run and fails
 * with that code; the worker ends and is replaced. `after` receives the failure code of the task. The hooks
 * are not called for tasks that the caller runs. */
typedef int (*hora_before_fn)(hora_pool *pool, const hora_run_info *run, void *arg);
typedef void (*hora_after_fn)(hora_pool *pool, const hora_run_info *run, void *arg);

/* Called once, after the last worker has finished its work and before the pool terminates. */
typedef void (*hora_terminated_fn)(hora_pool *pool, void *arg);

typedef struct hora_pool_options {
    /* sizeof(hora_pool_options), set by HORA_POOL_OPTIONS */
    uint32_t struct_size;
    /* 0 or more */
    int core_threads;
    /* 0 means core_threads, or 1 if core_threads is 0. The pool grows up to this number if the queue is full,
     * or as grow_after specifies. At most 268435455 threads run at a time */
    int max_threads;
    /* how long a surplus worker may stay idle; 0 means that it ends immediately */
    hora_ns keep_alive;
    /* core workers also end after keep_alive, which must then be > 0 */
    bool core_time_out;
    /* the work queue, of any kind; it must be empty, not used otherwise, and outlive the pool. Its elements
     * are hora_future pointers. NULL means a linked queue with queue_capacity */
    hora_queue *queue;

    /* capacity of the pool's own queue; 0 means HORA_UNBOUNDED, < 0 means none (a synchronous queue) */
    int queue_capacity;
    /* the rejection policy */
    hora_reject reject;
    /* HORA_REJECT_BLOCK: how long to wait for room; 0 means HORA_FOREVER */
    hora_ns reject_timeout;
    /* HORA_REJECT_CALLBACK: the handler */
    hora_reject_fn reject_handler;
    /* NULL means that hora creates the threads */
    hora_thread_factory_fn thread_factory;
    /* hooks; NULL means none */
    hora_before_fn before;
    hora_after_fn after;
    hora_terminated_fn terminated;
    /* last argument of all callbacks above */
    void *arg;
    /* prefix of thread names, copied; NULL means "pool-N-thread-", where N counts pools */
    const char *name;
    /* stack size of threads that hora creates, PTHREAD_STACK_MIN to 1 TB; 0 means the system default */
    size_t stack_size;
    /* the clock that measures keep_alive and timed calls; NULL means monotonic */
    const hora_clock *clock;
    /* the setters below return HORA_ENOTSUP */
    bool frozen;
    /* cancelled tasks stay in the queue until a worker reaches them, as in the JDK */
    bool keep_cancelled;
    /* how long a thread polls before it sleeps, at most HORA_SPIN_MAX; 0 means not at all. See below */
    hora_ns spin;

    /* histograms and counters; NULL means off. See hora/metrics.h. This struct and those below are copied */
    const hora_metrics *metrics;

    /* classes, keys and priorities; NULL means off. See hora/admission.h */
    const hora_admission *admission;

    /* reports workers that make no progress and enforces time limits of tasks; NULL means off. See
     * hora/event.h */
    const hora_watchdog *watchdog;

    /* functions to notify of events; NULL means none. See hora/event.h */
    const hora_listener *listener;

    /* carries a context with each task; NULL means off. See hora/context.h */
    const hora_context_hooks *context_hooks;

    /* how long a task may wait before another thread starts; 0 means that threads beyond core_threads start
     * only when the queue is full. See below */
    hora_ns grow_after;

    /* where hora_pool_request_dump writes to; requires a thread and a descriptor. NULL means nowhere. See
     * hora/explain.h */
    hora_write_fn dump;
    void *dump_arg;
} hora_pool_options;

/* With `spin`, one idle worker of the pool, and each thread that waits for the future of a submitted task,
 * polls for this long before it sleeps, using a processor meanwhile. If a task or result arrives within that
 * time, no thread has to be woken, which takes longer than most small tasks. Spinning pays off where tasks
 * follow each other within microseconds and processors are available; 20 to 50 us is a good choice. It has no
 * effect with one processor. It changes neither the order of tasks nor which thread runs them, and it ends
 * immediately with a task, an interrupt or a shutdown. It requires the pool's own queue, with capacity. */
#define HORA_SPIN_MAX ((hora_ns)1000000)

/* With `grow_after`, core_threads becomes a lower bound. If a task has waited longer than grow_after, no
 * worker is idle, and at least one worker has used less than half of the time on a processor, the pool starts
 * another worker, one at a time and up to max_threads. A worker that has been idle for keep_alive ends.
 * CPU-bound workers do not trigger growth. On an overloaded machine, a worker that only waits for a processor
 * also looks blocked. This is for plain pools that use their own queue, with capacity. While tasks are
 * queued, the watchdog thread checks the pool every half grow_after, but at most once per millisecond, so
 * growth may be delayed by that much. Each change raises a `resized` event that gives the reason. */
#define HORA_POOL_OPTIONS(...) HORA__LITERAL(hora_pool_options, __VA_ARGS__)

/* hora_pool_new - create a pool; threads start when tasks are submitted
 *
 * An option set that cannot work, or of which a part would have no effect, is refused. `reason` says which
 * option and why.
 *
 * Ownership: the caller owns *ret_pool and frees it with hora_pool_free. Queue and clock must outlive the
 * pool.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (another pool uses the queue), HORA_ENOMEM, HORA_EAGAIN; HORA_EMFILE and
 * HORA_ENFILE (dump). */
HORA_NODISCARD HORA_API int hora_pool_new(const hora_pool_options *options, hora_pool **ret_pool,
                                          hora_error *reason);

/* hora_pool_free - stop the pool, wait for its threads to end, and free it
 *
 * NULL is allowed. The pool abandons tasks that are still queued and interrupts running tasks, so call
 * hora_pool_close or hora_pool_close_for first. Returns how many accepted tasks the pool has abandoned during
 * its lifetime; 0 means that all completed. The call is not interruptible. In the thread that created the
 * pool it never fails for lack of memory.
 *
 * Ownership: on success the pool is freed; on error nothing has changed.   Threads: Owner.
 * Blocks: until running tasks have ended.
 * Errors: HORA_EDEADLK (called by one of the pool's own tasks, its terminated hook, or its watchdog or dump
 * thread), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_free(hora_pool *pool);

/* hora_pool_execute - queue a task without creating a future
 *
 * Ownership: see hora/task.h.   Threads: Any thread.
 * Blocks: with HORA_REJECT_BLOCK until there is room; with HORA_REJECT_CALLER_RUNS as long as the task runs.
 * Errors: HORA_EREJECTED, HORA_EINVAL, HORA_ENOMEM, HORA_EINTERRUPTED and HORA_EDEADLK (HORA_REJECT_BLOCK),
 * HORA_EAGAIN (the pool has no thread and cannot start one), HORA_EFORKED, and what a rejection handler
 * returns. */
HORA_NODISCARD HORA_API int hora_pool_execute(hora_pool *pool, const hora_task *task);

/* hora_pool_submit - queue a task and return its future; `ret_future` may be NULL
 *
 * Ownership: as hora_pool_execute; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_submit(hora_pool *pool, const hora_task *task,
                                             hora_future **ret_future);

/* hora_task_options_check - check whether task options are valid for a pool and, if not, say why
 *
 * Calls that take task options refuse the same options.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also for a class of another pool), HORA_ENOTSUP (class, key or priority in a pool
 * without admission; a pool without watchdog, metrics, admission, listener and context_hooks), HORA_EFORKED.
 */
HORA_NODISCARD HORA_API int hora_task_options_check(hora_pool *pool, const hora_task_options *options,
                                                    hora_error *reason);

/* hora_pool_submit_with - submit a task with task options
 *
 * `ret_future` may be NULL. For a task that runs later, or repeatedly, see `options` of hora_schedule.
 *
 * Ownership: as hora_pool_submit; the options are copied.   Threads: Any thread.
 * Blocks: as hora_pool_execute.
 * Errors: as hora_pool_submit; and those of hora_task_options_check, HORA_EAGAIN (the task has a time limit,
 * and the watchdog thread cannot be started). */
HORA_NODISCARD HORA_API int hora_pool_submit_with(hora_pool *pool, const hora_task *task,
                                                  const hora_task_options *options, hora_future **ret_future,
                                                  hora_error *reason);

/* hora_pool_execute_future - queue a future of hora_future_new or hora_future_init to be run
 *
 * A future may be executed several times; only its first run counts.
 *
 * Ownership: the pool takes its own reference while it needs the future.   Threads: Any thread.
 * Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_execute_future(hora_pool *pool, hora_future *future);

/* hora_pool_shutdown - accept no more tasks; queued and running tasks complete
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: Never (except for the terminated hook, if the pool is empty).   Errors: HORA_EINVAL, HORA_EFORKED.
 */
HORA_API int hora_pool_shutdown(hora_pool *pool);

/* hora_pool_shutdown_now - accept no more tasks, interrupt running tasks, and hand back queued ones
 *
 * The futures handed back are not done, and they do not run unless the caller runs them. A future that was
 * queued several times is handed back once. Without a list, queued tasks are abandoned. The pool stops in any
 * case: if there is not enough memory to hand back a task that was executed rather than submitted, the task
 * is abandoned as well and the call returns HORA_ENOMEM. Timers (hora/timer.h) are cancelled.
 *
 * Ownership: the caller receives a reference to each future in the list. Take them one by one with
 * hora_future_list_take, or pass the list to hora_future_list_cancel.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also for a list that is not empty), HORA_ENOMEM (only with a list), HORA_EFORKED. */
HORA_API int hora_pool_shutdown_now(hora_pool *pool, hora_future_list *ret_list);

/* hora_pool_await_termination_for - wait until the pool is TERMINATED, at most for `timeout`
 *
 * Precedence: terminated, then the timeout, then interrupts. Threads may still be about to exit.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until terminated, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks),
 * HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_termination_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_await_termination - wait until the pool is TERMINATED
 *
 * As hora_pool_await_termination_for, without a timeout.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until terminated or the thread is interrupted.
 * Errors: as hora_pool_await_termination_for, except HORA_ETIMEDOUT. */
HORA_NODISCARD HORA_API int hora_pool_await_termination(hora_pool *pool);

/* hora_pool_close_for - shut down, wait at most for `timeout`, then stop
 *
 * At the deadline, queued tasks are abandoned and running tasks are interrupted. An interrupt of the caller
 * counts as the deadline and stays pending. The pool is not freed.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until terminated or the timeout expires.
 * Errors: HORA_ETIMEDOUT (it had to stop; `active` of hora_pool_stats tells how many tasks are still
 * running), HORA_EDEADLK, HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_close_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_close - shut down and wait until all accepted tasks have completed
 *
 * As hora_pool_close_for, without a timeout. An interrupt of the caller counts as the deadline.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until terminated or the thread is interrupted.
 * Errors: as hora_pool_close_for. */
HORA_API int hora_pool_close(hora_pool *pool);

/* hora_pool_await_idle_for - wait until nothing is queued or running, without shutting down
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until idle, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks),
 * HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_idle_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_await_idle - as hora_pool_await_idle_for, without a timeout
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until idle or the thread is interrupted.
 * Errors: as hora_pool_await_idle_for, except HORA_ETIMEDOUT. */
HORA_NODISCARD HORA_API int hora_pool_await_idle(hora_pool *pool);

/* hora_pool_idle_fd - return a descriptor that polls readable while nothing is queued or running
 *
 * The first call creates it; later calls return the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the descriptor belongs to the pool and is closed by hora_pool_free.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0.
 */
HORA_NODISCARD HORA_API int hora_pool_idle_fd(hora_pool *pool);

/* hora_pool_remove - remove a future from the queue: returns 1 if it was there, otherwise 0
 *
 * Ownership: the pool releases its reference; the future is unchanged and not done.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_remove(hora_pool *pool, hora_future *future);

/* hora_pool_purge - remove all cancelled futures from the queue and return how many
 *
 * Only a pool with keep_cancelled can have any.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_purge(hora_pool *pool);

/* hora_pool_prestart - start one core worker that waits for work: returns 1, or 0 if all exist
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_ESHUTDOWN, and the reason why no thread could be started. */
HORA_API int hora_pool_prestart(hora_pool *pool);

/* hora_pool_prestart_all - start all core workers and return how many were started
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_prestart_all(hora_pool *pool);

/* hora_pool_set_core_threads - change the number of core threads
 *
 * With an unbounded queue and no grow_after, max_threads has no effect of its own and follows. If the number
 * decreases, idle surplus workers end. If it increases, workers start if tasks are queued.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative, or more than max_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_max_threads - change the maximum number of threads
 *
 * As in hora_pool_new, a value that would have no effect is refused: more than core_threads with an unbounded
 * queue and no grow_after.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (< 1, or fewer than core_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_max_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_keep_alive - change how long surplus workers may stay idle
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative; 0 with core_time_out), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_keep_alive(hora_pool *pool, hora_ns keep_alive, hora_error *reason);

/* hora_pool_set_core_time_out - set whether core workers also end after keep_alive
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (keep_alive is 0), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_time_out(hora_pool *pool, bool core_time_out, hora_error *reason);

/* hora_pool_set_thread_factory - set how threads are created from now on
 *
 * `arg` is the last argument of the factory.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_thread_factory(hora_pool *pool, hora_thread_factory_fn factory, void *arg);

/* hora_pool_set_reject - set the rejection policy from now on
 *
 * `handler` is required for HORA_REJECT_CALLBACK and otherwise NULL.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_reject(hora_pool *pool, hora_reject reject, hora_reject_fn handler, void *arg,
                                  hora_error *reason);

/* The run states in order; see above. */
typedef enum hora_pool_state {
    HORA_POOL_RUNNING = 0,
    HORA_POOL_SHUTDOWN,
    HORA_POOL_STOP,
    HORA_POOL_TIDYING,
    HORA_POOL_TERMINATED,
} hora_pool_state;

/* The complete state of a pool at one moment. */
typedef struct hora_pool_stats {
    /* set by HORA_INIT */
    uint32_t struct_size;
    hora_pool_state state;
    /* current workers, except those that are written off; 0 from TIDYING on */
    int threads;
    /* workers that are running a task, including its hooks */
    int active;
    /* largest number of workers so far, counting only those whose thread was started */
    int largest;
    /* tasks in the queue */
    int queued;
    int core_threads;
    int max_threads;
    hora_ns keep_alive;
    bool core_time_out;
    hora_reject reject;
    hora_reject_fn reject_handler;
    /* NULL means that hora creates the threads */
    hora_thread_factory_fn thread_factory;
    /* threads that could not be started */
    int thread_failures;
    /* the reason of the last such failure; 0 if there was none */
    int thread_error;
    /* accepted tasks */
    int64_t accepted;
    /* of the accepted tasks: succeeded */
    int64_t done;
    /* failed */
    int64_t failed;
    /* cancelled */
    int64_t cancelled;
    /* dropped after they had been accepted (HORA_REJECT_DISCARD_OLDEST, the shutdown race) */
    int64_t rejected;
    /* dropped because the pool was stopped, or by a task that ended its thread */
    int64_t abandoned;
    /* handed back by hora_pool_shutdown_now or hora_pool_remove */
    int64_t handed_back;
    /* tasks that workers have processed in any way: the JDK's completed count */
    int64_t completed;
    /* completed, running and queued tasks: the JDK's task count, which decreases when tasks are removed */
    int64_t tasks;
    /* of the accepted tasks: not started or not finished in time; see hora_task_options */
    int64_t expired;
    /* stuck workers that have been replaced and are still running their task; see
     * hora_task_options.replace_stuck */
    int written_off;
    bool keep_cancelled;
    /* for a scheduler: shutdown cancels one-shot tasks that are not due */
    bool cancel_delayed;
    /* for a scheduler: series continue after shutdown */
    bool continue_periodic;
} hora_pool_stats;

/* hora_pool_get_stats - get the complete state of a pool
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_get_stats(hora_pool *pool, hora_pool_stats *ret_stats);

/* hora_pool_describe - write one line about a pool for people: name, state and counts
 *
 * Like snprintf, it returns the length of the complete text.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_describe(hora_pool *pool, char *text, size_t size);

/* hora_pool_queue - return the work queue
 *
 * Its elements are hora_future pointers. Looking at it is harmless: hora_queue_peek and hora_queue_snapshot
 * return references, and hora_queue_for_each holds references during the visit. Taking from it by hand is
 * not: the pool still counts what was taken, which must not outlive the pool. Use hora_pool_remove to remove
 * a future. From the first call on, every task has a future, including tasks that are executed rather than
 * submitted, which makes them a little slower. Timers (hora/timer.h) have no future: the calls of the queue
 * neither show nor count them, and taking an element by hand loses timers that are due before it.
 *
 * Closing the queue ends the pool: elements that can be taken still run, and a worker that finds nothing more
 * shuts the pool down as hora_pool_shutdown does. Elements that are left and not due are then abandoned, as
 * with hora_pool_shutdown_now.
 *
 * Ownership: the queue belongs to the caller if it was supplied, otherwise to the pool.
 * Threads: Any thread.   Blocks: Never.
 * Errors: None; returns NULL for NULL, and if there is no memory for the futures of queued tasks. */
HORA_API hora_queue *hora_pool_queue(hora_pool *pool);

/* hora_pool_is_shutdown - test whether hora_pool_shutdown or hora_pool_shutdown_now was called
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_shutdown(const hora_pool *pool);

/* hora_pool_is_terminating - test whether the pool is shut down but not yet terminated
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_terminating(const hora_pool *pool);

/* hora_pool_is_terminated - test whether the pool is TERMINATED
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_terminated(const hora_pool *pool);

/* hora_pool_current - return the pool that the calling thread is a worker of, or NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_pool *hora_pool_current(void);

/* hora_available_processors - return how many threads can actually run at once, at least 1
 *
 * This is the number of processors that the process may use, limited by its affinity and by the quota of its
 * control group.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_available_processors(void);

/* hora_pool_new_fixed - create a pool with a fixed number of threads and an unbounded queue
 *
 * `options` may set the rest, or be NULL.
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_new; also HORA_EINVAL for threads < 1 or contradictory options. */
HORA_NODISCARD HORA_API int hora_pool_new_fixed(int threads, const hora_pool_options *options,
                                                hora_pool **ret_pool, hora_error *reason);

/* hora_pool_new_single - create a pool with one thread and an unbounded queue, which no setter can change
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

/* hora_pool_new_cached - create a pool with as many threads as tasks; idle threads end after 60 s
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

HORA_END_DECLS

#endif
