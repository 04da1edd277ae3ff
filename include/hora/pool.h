/* SPDX-License-Identifier: Apache-2.0 */
/* hora/pool.h - thread pools with the semantics of ThreadPoolExecutor
 *
 *     hora_pool *pool;
 *     hora_future *future;
 *     hora_error error;
 *     if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 4), &pool, &error) < 0)
 *         fprintf(stderr, "%s\n", error.message);
 *     hora_pool_submit(pool, HORA_TASK(resize, image), &future);
 *     ...
 *     hora_pool_close_for(pool, HORA_SECONDS(5));
 *     hora_pool_free(pool);
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
 *   RUNNING -> SHUTDOWN         hora_pool_shutdown: no new tasks, but queued tasks run
 *   RUNNING, SHUTDOWN -> STOP   hora_pool_shutdown_now: queued tasks are handed back, running ones are
 *                               interrupted
 *   SHUTDOWN -> TIDYING         queue and pool are empty
 *   STOP -> TIDYING             the pool is empty
 *   TIDYING -> TERMINATED       the terminated hook has returned
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
 * expired (see hora/task.h). The pool counts each of these (hora_pool_stats); when the pool has terminated,
 * their sum is the number of accepted tasks.
 *
 * Memory: actions of a thread before it submits a task are visible to the task. Actions of tasks that have
 * ended are visible to a thread whose wait for termination or idleness returned 0.
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

/* A thread pool. A scheduler (hora/scheduler.h) is one, too. */
typedef struct hora_pool hora_pool;

/* Optional features of a pool, enabled when it is created. Each is described in another header. */
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
    /* the submitting thread waits for room, at most for reject_timeout, and then proceeds as with ABORT.
     * After shutdown it does not wait. Not allowed with a synchronous queue, which never has room. A worker
     * of the same pool does not wait: its call returns HORA_EDEADLK, because it might be the thread that has
     * to make room */
    HORA_REJECT_BLOCK,

    /* reject_handler decides */
    HORA_REJECT_CALLBACK,
} hora_reject;

/* The handler of HORA_REJECT_CALLBACK. It returns 0 if it has taken care of the future; it may keep a
 * reference and run, execute or fail the future later. Otherwise it returns a negative error code, which the
 * submitting call returns; the caller then keeps the task, so the handler must not have touched the future.
 * It runs in the submitting thread. */
typedef int (*hora_reject_fn)(hora_pool *pool, hora_future *future, void *arg);

/* Starts a thread that calls run(run_arg) exactly once. Returns 0, or an error if run will not be called: a
 * negative error code, or a positive value such as that of pthread_create, which counts as HORA_EAGAIN. The
 * name is a suggestion. hora does not join the thread: the factory must detach or join it. */
typedef int (*hora_thread_factory_fn)(void (*run)(void *run_arg), void *run_arg, const char *name, void *arg);

/* Describes a run to a hook. Valid during the call. */
typedef struct hora_run_info {
    /* sizeof(hora_run_info) of the library */
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

/* Hook that the worker calls before each task. If it returns non-zero, the task does not run and fails with
 * that code, and `after` is not called; the worker ends and is replaced. Not called for tasks that the caller
 * runs (HORA_REJECT_CALLER_RUNS). */
typedef int (*hora_before_fn)(hora_pool *pool, const hora_run_info *run, void *arg);

/* Hook that the worker calls after each task. `code` of the info is the failure code of the task. Not called
 * for tasks that the caller runs (HORA_REJECT_CALLER_RUNS). */
typedef void (*hora_after_fn)(hora_pool *pool, const hora_run_info *run, void *arg);

/* Called once, after the last worker has finished its work and before the pool is TERMINATED. It runs in the
 * thread that finds the pool empty, which is usually the last worker. */
typedef void (*hora_terminated_fn)(hora_pool *pool, void *arg);

/* Options of hora_pool_new.
 *
 * With `spin`, one idle worker of the pool, and each thread that waits for the future of a submitted task,
 * polls for this long before it sleeps, and uses a processor while it does so. If a task or result arrives
 * within that time, no thread has to be woken, which takes longer than most small tasks. Spinning pays off
 * where tasks follow each other within microseconds and processors are available; 20 to 50 us is a good
 * choice. It has no effect with one processor. It changes neither the order of tasks nor which thread runs
 * them, and it ends immediately with a task, an interrupt or a shutdown. It requires the pool's own queue,
 * with capacity.
 *
 * By default an idle worker does not poll. A thread that is not a worker and waits for a future of a pool
 * polls for at most 30 us. With and without `spin`, a thread whose polling was in vain three times in a row
 * does so only before one wait in 32, and then ever more rarely.
 *
 * With `grow_after`, core_threads becomes a lower bound. If a task has waited longer than grow_after, no
 * worker is idle, and at least one worker has used less than half of the time on a processor, the pool starts
 * another worker, one at a time and up to max_threads. A worker that has been idle for keep_alive ends.
 * CPU-bound workers do not trigger growth. On an overloaded machine, a worker that only waits for a processor
 * also looks blocked. This is for plain pools that use their own queue, with capacity, and whose max_threads
 * is greater than core_threads. While tasks are queued, the watchdog thread checks the pool every half
 * grow_after, but at most once per millisecond, so growth may be delayed by that much. Each change raises a
 * `resized` event that gives the reason.
 *
 * With `stealing`, a task that a worker submits to its own pool goes to the worker's own queue. All other
 * tasks go to the shared queue of the pool. A worker first runs the tasks of its own queue, the newest one
 * first. Then it takes the oldest task of the shared queue. Then it steals half of the tasks of another
 * worker, the oldest ones. This is for tasks that submit tasks: a worker continues with what it has just
 * prepared, and workers rarely meet at a lock.
 *
 * No order between tasks is promised. As long as a worker's tasks submit others, it does not look at the
 * shared queue. An own queue holds up to 128 tasks; if it is full, these move to the shared queue. Up to 63
 * workers have a queue each; if there are more, some of them share one. hora_pool_queue, hora_pool_get_stats,
 * hora_pool_remove, hora_future_cancel and every other call see the tasks of all own queues, and move them to
 * the shared queue. hora_pool_shutdown runs them, hora_pool_shutdown_now hands them back, and the tasks of a
 * worker that ends are run by others. Once hora_queue_fd has been called for the pool's queue, all tasks go
 * to the shared queue.
 *
 * `stealing` requires the pool's own queue without a bound, and excludes `admission` and `grow_after`, which
 * depend on the order of the queue. */
typedef struct hora_pool_options {
    /* sizeof(hora_pool_options), set by HORA_POOL_OPTIONS */
    uint32_t struct_size;
    /* number of threads that the pool starts before it queues tasks; 0 or more */
    int core_threads;
    /* maximum number of threads; 0 means core_threads, or 1 if core_threads is 0. The pool grows up to this
     * number if the queue is full, or as grow_after specifies. With an unbounded queue and no grow_after, a
     * value that differs from the default would have no effect and is refused */
    int max_threads;
    /* how long a surplus worker may stay idle; 0 means that it ends immediately */
    hora_ns keep_alive;
    /* core workers also end after keep_alive, which must then be > 0 */
    bool core_time_out;
    /* the work queue, of any kind; it must be empty, not closed, not used otherwise, and outlive the pool.
     * Its elements are hora_future pointers. NULL means that the pool creates its own queue with
     * queue_capacity */
    hora_queue *queue;

    /* capacity of the pool's own queue; 0 means HORA_UNBOUNDED, < 0 means none (a synchronous queue). Must be
     * 0 if `queue` is set */
    int queue_capacity;
    /* the rejection policy */
    hora_reject reject;
    /* HORA_REJECT_BLOCK: how long to wait for room; 0 means HORA_FOREVER. Otherwise 0 */
    hora_ns reject_timeout;
    /* HORA_REJECT_CALLBACK: the handler. Otherwise NULL */
    hora_reject_fn reject_handler;
    /* starts threads for the pool; NULL means that hora creates them */
    hora_thread_factory_fn thread_factory;
    /* hooks; NULL means none */
    hora_before_fn before;
    hora_after_fn after;
    hora_terminated_fn terminated;
    /* last argument of all callbacks above */
    void *arg;
    /* name of the pool, copied, and truncated if it is longer than 30 bytes. The threads are called "name-1",
     * "name-2" and so on. NULL means "pool-N-thread", where N counts pools */
    const char *name;
    /* stack size of threads that hora creates, PTHREAD_STACK_MIN to 1 TB; 0 means the system default. Must be
     * 0 if thread_factory is set */
    size_t stack_size;
    /* the clock that measures keep_alive and timed calls; NULL means monotonic */
    const hora_clock *clock;
    /* the settings cannot change: the setters below return HORA_ENOTSUP */
    bool frozen;
    /* cancelled tasks stay in the queue until a worker reaches them, as in the JDK */
    bool keep_cancelled;
    /* how long a thread polls before it sleeps, at most HORA_SPIN_MAX; 0 means the default. See above */
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
     * only when the queue is full. See above */
    hora_ns grow_after;

    /* receives the dumps of hora_pool_request_dump; requires a thread and a descriptor. NULL means none. See
     * hora/explain.h */
    hora_write_fn dump;
    /* last argument of dump; must be NULL if dump is NULL */
    void *dump_arg;
    /* each worker has a queue of its own for the tasks that it submits, and idle workers steal from it. See
     * above */
    bool stealing;
} hora_pool_options;

/* The largest value of `spin` of hora_pool_options: 1 ms. */
#define HORA_SPIN_MAX ((hora_ns)1000000)

/* HORA_POOL_OPTIONS(.core_threads = 4, .name = "images"): an options literal. In C++ before C++20, start with
 * HORA_INIT(hora_pool_options) and assign the fields. */
#define HORA_POOL_OPTIONS(...) HORA__LITERAL(hora_pool_options, __VA_ARGS__)

/* hora_pool_new - create a pool; threads start when tasks are submitted
 *
 * An option set that cannot work, or of which a part would have no effect, is refused. `reason` says which
 * option and why. NULL options mean a pool without core threads: one thread at a time runs the tasks, and
 * ends as soon as the queue is empty.
 *
 * Ownership: the caller owns *ret_pool and frees it with hora_pool_free. Queue and clock must outlive the
 * pool.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (another pool uses the queue), HORA_ENOMEM, HORA_EAGAIN (also: the thread
 * of the watchdog or of `dump` cannot be started); HORA_EMFILE and HORA_ENFILE (dump); HORA_EFORKED (the
 * queue, or a virtual clock, belongs to the parent process). */
HORA_NODISCARD HORA_API int hora_pool_new(const hora_pool_options *options, hora_pool **ret_pool,
                                          hora_error *reason);

/* hora_pool_free - stop the pool, wait for its threads to end, and free it
 *
 * NULL is allowed. The pool abandons tasks that are still queued and interrupts running tasks, so call
 * hora_pool_close or hora_pool_close_for first. Returns how many accepted tasks the pool has abandoned during
 * its lifetime; 0 means that none was. The call is not interruptible; an interrupt stays pending. In the
 * thread that created the pool it never fails for lack of memory. If it does fail for that reason, the pool
 * has been stopped, and the call can be repeated.
 *
 * Ownership: on success the pool is freed; on error the caller still owns it.   Threads: Owner.
 * Blocks: until running tasks have ended.
 * Errors: HORA_EDEADLK (called by one of the pool's own tasks, its terminated hook, or its watchdog or dump
 * thread), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_free(hora_pool *pool);

/* hora_pool_execute - queue a task without returning a future
 *
 * The caller cannot wait for the task or cancel it. In a pool that uses its own queue, and has no hook,
 * listener or other feature that needs futures, the task is queued without one, which costs less.
 *
 * Ownership: see hora/task.h.   Threads: Any thread.
 * Blocks: with HORA_REJECT_BLOCK until there is room, reject_timeout expires, the thread is interrupted or
 * the pool is shut down; with HORA_REJECT_CALLER_RUNS as long as the task runs.
 * Errors: HORA_EREJECTED, HORA_EINVAL, HORA_ENOMEM, HORA_EINTERRUPTED and HORA_EDEADLK (HORA_REJECT_BLOCK),
 * HORA_EAGAIN (the pool has no thread and cannot start one), HORA_EFORKED, and what a rejection handler
 * returns. */
HORA_NODISCARD HORA_API int hora_pool_execute(hora_pool *pool, const hora_task *task);

/* hora_pool_submit - queue a task and return its future
 *
 * `ret_future` must not be NULL: a task whose future is not needed is passed to hora_pool_execute.
 *
 * Ownership: as hora_pool_execute; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_submit(hora_pool *pool, const hora_task *task,
                                             hora_future **ret_future);

/* hora_task_options_check - check whether task options are valid for a pool and, if not, say why
 *
 * Calls that take task options refuse the same options. `options` must not be NULL.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also for a class of another pool, a negative time limit, and replace_stuck without
 * stuck_after), HORA_ENOTSUP (class, key or priority in a pool without admission; a pool without watchdog,
 * metrics, admission, listener, context_hooks, grow_after and dump), HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_task_options_check(hora_pool *pool, const hora_task_options *options,
                                                    hora_error *reason);

/* hora_pool_submit_with - submit a task with task options
 *
 * `options` must not be NULL; `ret_future` may be. For a task that runs later, or repeatedly, see `options`
 * of hora_schedule.
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
 * A future may be executed several times, but its task runs only once. A future that is already done is
 * accepted, and its task does not run.
 *
 * Ownership: the pool takes its own reference while it needs the future.   Threads: Any thread.
 * Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_execute_future(hora_pool *pool, hora_future *future);

/* hora_pool_shutdown - accept no more tasks; queued and running tasks complete
 *
 * Tasks that are submitted later are rejected according to the rejection policy. Threads that wait for room
 * (HORA_REJECT_BLOCK) return HORA_EREJECTED. Calling it again has no effect. For a scheduler,
 * hora/scheduler.h says which tasks still run.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: Never (except for the terminated hook, if the pool is empty).   Errors: HORA_EINVAL,
 * HORA_EFORKED. */
HORA_API int hora_pool_shutdown(hora_pool *pool);

/* hora_pool_shutdown_now - accept no more tasks, interrupt running tasks, and hand back queued ones
 *
 * The futures handed back are not done, and they do not run unless the caller runs them. A future that was
 * queued several times is handed back once. If `ret_list` is NULL, queued tasks are abandoned: their futures
 * fail with HORA_EABANDONED. The pool stops in any case: if there is not enough memory to hand back a task
 * that was executed rather than submitted, the task is abandoned as well and the call returns HORA_ENOMEM.
 * Timers (hora/timer.h) are cancelled.
 *
 * Ownership: the caller receives a reference to each future in the list. Take them one by one with
 * hora_future_list_take, or pass the list to hora_future_list_cancel.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also for a list that is not empty), HORA_ENOMEM (only with a list), HORA_EFORKED. */
HORA_API int hora_pool_shutdown_now(hora_pool *pool, hora_future_list *ret_list);

/* hora_pool_await_termination_for - wait until the pool is TERMINATED, at most for `timeout`
 *
 * The call does not shut the pool down. Precedence: terminated, then a timeout of zero or less, then
 * interrupts. When it returns, the last threads may still be about to exit; hora_pool_free waits for them.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until terminated, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks or its
 * terminated hook), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
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
 * At the deadline, queued tasks are abandoned and running tasks are interrupted, as with
 * hora_pool_shutdown_now; the call does not wait for them. An interrupt of the caller counts as the deadline
 * and stays pending. The pool is not freed.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: until terminated or the timeout expires.
 * Errors: HORA_ETIMEDOUT (it had to stop; `active` of hora_pool_stats says how many tasks are still running),
 * HORA_EDEADLK (as hora_pool_await_termination_for; the pool has been shut down nevertheless), HORA_EINVAL,
 * HORA_ENOMEM, HORA_EFORKED. */
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
 * In a scheduler, a task that is not due counts as queued, so a scheduler with a series is never idle.
 * Precedence: idle, then a timeout of zero or less, then interrupts.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until idle, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks or its
 * terminated hook), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
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
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor,
 * >= 0. */
HORA_NODISCARD HORA_API int hora_pool_idle_fd(hora_pool *pool);

/* hora_pool_remove - remove a future from the queue: returns 1 if it was there, otherwise 0
 *
 * The task counts as handed back. To cancel a task, use hora_future_cancel.
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
 * Without this call, a pool starts its workers with the first tasks.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED, HORA_ESHUTDOWN, and the reason why no thread could be started. */
HORA_API int hora_pool_prestart(hora_pool *pool);

/* hora_pool_prestart_all - start all core workers and return how many were started
 *
 * It stops at the first worker that cannot be started. hora_pool_stats.thread_error is then the reason.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_prestart_all(hora_pool *pool);

/* hora_pool_set_core_threads - change the number of core threads
 *
 * With an unbounded queue and no grow_after, max_threads has no effect of its own and changes with it. If the
 * number decreases, idle surplus workers end. If it increases, workers start if tasks are queued.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative, or more than max_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_max_threads - change the maximum number of threads
 *
 * As in hora_pool_new, a value that would have no effect is refused: more than core_threads with an unbounded
 * queue and no grow_after. If the number decreases, idle workers beyond it end; busy ones end after their
 * task.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (< 1, or fewer than core_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_max_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_keep_alive - change how long surplus workers may stay idle
 *
 * The new value also applies to workers that are idle now.
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
 * `arg` is the last argument of the factory; it replaces that of the options. A pool cannot return to the
 * threads that hora creates.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_thread_factory(hora_pool *pool, hora_thread_factory_fn factory, void *arg);

/* hora_pool_set_reject - set the rejection policy from now on
 *
 * `handler` is required for HORA_REJECT_CALLBACK and otherwise NULL. `arg` is its last argument. A scheduler
 * does not accept HORA_REJECT_BLOCK.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_reject(hora_pool *pool, hora_reject reject, hora_reject_fn handler, void *arg,
                                  hora_error *reason);

/* The run states in order; see above. */
typedef enum hora_pool_state {
    /* accepts tasks */
    HORA_POOL_RUNNING = 0,
    /* accepts no tasks, runs those that are queued */
    HORA_POOL_SHUTDOWN,
    /* runs no further task */
    HORA_POOL_STOP,
    /* has no worker left; the terminated hook runs */
    HORA_POOL_TIDYING,
    /* the terminated hook has returned */
    HORA_POOL_TERMINATED,
} hora_pool_state;

/* The complete state of a pool at one moment. */
typedef struct hora_pool_stats {
    /* sizeof(hora_pool_stats), set by HORA_INIT */
    uint32_t struct_size;
    /* the run state */
    hora_pool_state state;
    /* current workers, except those that are written off; 0 from TIDYING on */
    int threads;
    /* workers that are running a task, including its hooks */
    int active;
    /* largest number of workers so far, counting only those whose thread was started */
    int largest;
    /* tasks in the queue; in a scheduler also tasks that are not due, and timers */
    int queued;
    /* the current settings, as in hora_pool_options; max_threads of a scheduler is INT_MAX */
    int core_threads;
    int max_threads;
    hora_ns keep_alive;
    bool core_time_out;
    hora_reject reject;
    hora_reject_fn reject_handler;
    /* NULL means that hora creates the threads */
    hora_thread_factory_fn thread_factory;
    /* how often a thread could not be started */
    int thread_failures;
    /* the reason of the last such failure; 0 if there was none */
    int thread_error;
    /* accepted tasks */
    int64_t accepted;
    /* accepted tasks that succeeded. A series counts when it ends, not for each run; overlapping runs count
     * individually. This field, the fields failed to handed_back, and expired add up to the accepted tasks
     * that have ended */
    int64_t done;
    /* accepted tasks that failed */
    int64_t failed;
    /* accepted tasks that were cancelled */
    int64_t cancelled;
    /* accepted tasks that were dropped later: by HORA_REJECT_DISCARD_OLDEST, or because the pool was shut
     * down while they were being queued */
    int64_t rejected;
    /* accepted tasks that were dropped because the pool was stopped, or that ended their thread */
    int64_t abandoned;
    /* accepted tasks that hora_pool_shutdown_now or hora_pool_remove has handed back */
    int64_t handed_back;
    /* tasks that workers have processed in any way: the JDK's completed count */
    int64_t completed;
    /* completed, running and queued tasks: the JDK's task count, which decreases when tasks are removed */
    int64_t tasks;
    /* accepted tasks that did not start or finish in time; see hora_task_options */
    int64_t expired;
    /* stuck workers that have been replaced and are still running their task; see
     * hora_task_options.replace_stuck */
    int written_off;
    /* cancelled tasks stay in the queue; see hora_pool_options */
    bool keep_cancelled;
    /* for a scheduler: shutdown cancels one-shot tasks that are not due */
    bool cancel_delayed;
    /* for a scheduler: series continue after shutdown */
    bool continue_periodic;
} hora_pool_stats;

/* hora_pool_get_stats - get the complete state of a pool
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also if *ret_stats was not initialized with HORA_INIT), HORA_EFORKED. */
HORA_API int hora_pool_get_stats(hora_pool *pool, hora_pool_stats *ret_stats);

/* hora_pool_describe - write one line about a pool for people: name, state and counts
 *
 * Like snprintf, it writes as much as fits, always with a terminating NUL if size > 0, and returns the length
 * of the complete text.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_describe(hora_pool *pool, char *text, size_t size);

/* hora_pool_queue - return the work queue
 *
 * Its elements are hora_future pointers. Reading it is harmless: hora_queue_peek and hora_queue_snapshot
 * return references, and hora_queue_for_each holds references during the visit. Taking from it by hand is
 * not: the pool still counts the future that was taken, which must not outlive the pool. Use hora_pool_remove
 * to remove a future. From the first call on, every task has a future, including tasks that are executed
 * rather than submitted, which makes them a little slower. Timers (hora/timer.h) have no future: the calls of
 * the queue neither show nor count them, and taking an element by hand loses timers that are due before it.
 *
 * Closing the queue ends the pool: elements that can be taken still run, and a worker that finds nothing more
 * shuts the pool down as hora_pool_shutdown does. Elements that are left and not due are then abandoned, as
 * with hora_pool_shutdown_now.
 *
 * Ownership: the queue belongs to the caller if it was supplied, otherwise to the pool, which frees it.
 * Threads: Any thread.   Blocks: Never.
 * Errors: None; returns NULL for NULL, and if there is no memory for the futures of queued tasks. */
HORA_API hora_queue *hora_pool_queue(hora_pool *pool);

/* hora_pool_is_shutdown - test whether the pool is shut down or stopped; false for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_shutdown(const hora_pool *pool);

/* hora_pool_is_terminating - test whether the pool is shut down but not yet terminated; false for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_pool_is_terminating(const hora_pool *pool);

/* hora_pool_is_terminated - test whether the pool is TERMINATED; false for NULL
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
 * `options` may be NULL, or set everything except core_threads, max_threads, queue and queue_capacity, here
 * and in the three calls below.
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_new; also HORA_EINVAL for threads < 1. */
HORA_NODISCARD HORA_API int hora_pool_new_fixed(int threads, const hora_pool_options *options,
                                                hora_pool **ret_pool, hora_error *reason);

/* hora_pool_new_single - create a pool with one thread and an unbounded queue, which no setter can change
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

/* hora_pool_new_cached - create a pool with as many threads as tasks; idle threads end after 60 s
 *
 * A task that finds no idle thread starts a new one. keep_alive of the options replaces the 60 s.
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

/* hora_pool_new_work_stealing - create a pool with `stealing`, for tasks that submit tasks
 *
 * It has a fixed number of threads and an unbounded queue, as a pool of hora_pool_new_fixed, and the option
 * `stealing`. A parallelism of 0 means hora_available_processors. Unlike the JDK's newWorkStealingPool, which
 * runs the oldest task of a worker first, it runs the newest first.
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_new; also HORA_EINVAL for parallelism < 0. */
HORA_NODISCARD HORA_API int hora_pool_new_work_stealing(int parallelism, const hora_pool_options *options,
                                                        hora_pool **ret_pool, hora_error *reason);

HORA_END_DECLS

#endif
