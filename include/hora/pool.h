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
 * So more than core_threads workers exist only while the queue refuses. A worker above core_threads that
 * finds nothing to do for keep_alive ends; with core_time_out the others as well.
 *
 * Run states, in this order and never back:
 *
 *     RUNNING -> SHUTDOWN    hora_pool_shutdown: nothing new, but all that is queued runs
 *     RUNNING, SHUTDOWN -> STOP   hora_pool_shutdown_now: what is queued is handed back, what runs is interrupted
 *     SHUTDOWN -> TIDYING    queue and pool are empty
 *     STOP -> TIDYING        the pool is empty
 *     TIDYING -> TERMINATED  the terminated hook has returned
 *
 * If no thread can be started, a pool goes on with those that it has. If it has none, the call that
 * submits a task returns HORA_EAGAIN (or HORA_ENOMEM), the caller keeps the task, and nothing has changed.
 * A pool can also lose its last thread later, while tasks are queued: a task ends its thread, or a thread
 * that another submitter relied on does not start. The pool then tries to start one again, after 10 ms at
 * first and every second in the end: in the thread that was the last one, as long as tasks are queued; in
 * each thread that waits for the pool (hora_pool_await_idle_for, hora_pool_await_termination_for,
 * hora_pool_close_for) or for a future of it (hora_future_get); and with each task that comes.
 *
 * core_threads and max_threads may be any number up to INT_MAX. No pool has more than 268,435,455 threads at
 * a time, whatever they allow.
 *
 * Every accepted task ends in exactly one way: done, failed, cancelled, rejected, abandoned, handed back or
 * expired (hora/task.h); the pool counts them (hora_pool_stats) and asserts the sum at its end.
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
#include <hora/queue.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_pool hora_pool;

/* What can be switched on when a pool is made; each has a header of its own. */
typedef struct hora_metrics hora_metrics;             /* hora/metrics.h */
typedef struct hora_admission hora_admission;         /* hora/admission.h */
typedef struct hora_watchdog hora_watchdog;           /* hora/event.h */
typedef struct hora_listener hora_listener;           /* hora/event.h */
typedef struct hora_context_hooks hora_context_hooks; /* hora/context.h */

/* What happens to a task that finds neither a thread nor room, or comes after shutdown. Whatever is
 * dropped completes its future with HORA_EREJECTED. */
typedef enum hora_reject {
    /* the call returns HORA_EREJECTED, the caller keeps the task */
    HORA_REJECT_ABORT = 0,
    /* the submitting thread runs it; after shutdown it is dropped */
    HORA_REJECT_CALLER_RUNS,
    /* it is dropped, the call succeeds */
    HORA_REJECT_DISCARD,
    /* the first task of the queue is dropped and this one tried again; after shutdown it is dropped */
    HORA_REJECT_DISCARD_OLDEST,
    /* the submitting thread waits for room, at most for reject_timeout, then as ABORT; not with a
     * synchronous queue, which never has room */
    HORA_REJECT_BLOCK,

    /* reject_handler decides */
    HORA_REJECT_CALLBACK,
} hora_reject;

/* HORA_REJECT_CALLBACK: 0 if the handler has taken care of the future (it may keep a reference and run,
 * execute or fail it later), or an error, which the submitting call returns; the caller then keeps the
 * task, so the handler must have left it alone. Runs in the submitting thread. */
typedef int (*hora_reject_fn)(hora_pool *pool, hora_future *future, void *arg);

/* Starts a thread that calls run(run_arg) exactly once. 0, or an error, and then run is not called. The
 * name is a suggestion. Whatever thread it is, hora does not join it: it must be detached or joined by its
 * maker. */
typedef int (*hora_thread_factory_fn)(void (*run)(void *run_arg), void *run_arg, const char *name, void *arg);

/* What a hook is told of a run. Valid during the call. */
typedef struct hora_run_info {
    /* that of the library */
    uint32_t struct_size;
    /* whether a caller has a handle of it: false after hora_pool_execute, and for a timer */
    bool submitted;
    /* after: the failure code of the task, 0 if it succeeded */
    int code;
    /* borrowed; NULL for a timer (hora/timer.h) */
    hora_future *future;
    /* whose name and place it is. In `after` its arg may have been dropped already */
    const hora_task *task;
} hora_run_info;

/* Around each task, in its worker: before (non-zero: the task does not run, and fails with that code; the
 * worker ends and is replaced) and after, with the failure code of the task. Not for tasks that the caller
 * runs. */
typedef int (*hora_before_fn)(hora_pool *pool, const hora_run_info *run, void *arg);
typedef void (*hora_after_fn)(hora_pool *pool, const hora_run_info *run, void *arg);

/* Once, between the end of the last worker's work and termination. */
typedef void (*hora_terminated_fn)(hora_pool *pool, void *arg);

typedef struct hora_pool_options {
    /* sizeof(hora_pool_options), set by HORA_POOL_OPTIONS */
    uint32_t struct_size;
    /* 0 and more */
    int core_threads;
    /* 0: core_threads, or 1 if that is 0. Reached if the queue is full, or as grow_after says. At most
     * 268435455 threads run at a time, whatever is asked for */
    int max_threads;
    /* how long a surplus worker stays idle; 0: not at all */
    hora_ns keep_alive;
    /* core workers, too, end after keep_alive, which must then be > 0 */
    bool core_time_out;
    /* the work queue: any kind, empty, used by nobody else; NULL: a linked one of queue_capacity. It must
     * live longer than the pool. Its elements are hora_future pointers */
    hora_queue *queue;

    /* of the pool's own queue; 0: HORA_UNBOUNDED, < 0: no room (a synchronous queue) */
    int queue_capacity;
    /* the rule for tasks that find no place */
    hora_reject reject;
    /* HORA_REJECT_BLOCK: how long to wait for room; 0: HORA_FOREVER */
    hora_ns reject_timeout;
    /* HORA_REJECT_CALLBACK */
    hora_reject_fn reject_handler;
    /* NULL: hora's own threads */
    hora_thread_factory_fn thread_factory;
    /* hooks; NULL: none */
    hora_before_fn before;
    hora_after_fn after;
    hora_terminated_fn terminated;
    /* last argument of all callbacks above */
    void *arg;
    /* prefix of thread names, copied; NULL: "pool-N-thread-", N counting pools */
    const char *name;
    /* of hora's own threads, PTHREAD_STACK_MIN to 1 TB; 0: the system's default */
    size_t stack_size;
    /* what keep_alive and timed calls are measured with; NULL: monotonic */
    const hora_clock *clock;
    /* the setters below are refused with HORA_ENOTSUP */
    bool frozen;
    /* cancelled tasks stay in the queue until a worker meets them, as in the JDK */
    bool keep_cancelled;
    /* how long to look again before a thread sleeps, at most HORA_SPIN_MAX; 0: not at all. See below */
    hora_ns spin;

    /* histograms and counters; NULL: off. See hora/metrics.h. This struct and those below are copied */
    const hora_metrics *metrics;

    /* classes, keys and priorities; NULL: off. See hora/admission.h */
    const hora_admission *admission;

    /* reports workers that make no progress, and enforces limits of tasks in time; NULL: off. See
     * hora/event.h */
    const hora_watchdog *watchdog;

    /* functions that are told what happens; NULL: none. See hora/event.h */
    const hora_listener *listener;

    /* what travels with tasks; NULL: nothing. See hora/context.h */
    const hora_context_hooks *context_hooks;

    /* how long a task may wait before another thread starts; 0: threads beyond core_threads start only
     * when the queue is full. See below */
    hora_ns grow_after;

    /* where hora_pool_request_dump writes to; takes a thread and a descriptor. NULL: nowhere. See
     * hora/explain.h */
    hora_write_fn dump;
    void *dump_arg;
} hora_pool_options;

/* With `spin`, one idle worker of the pool, and each thread that waits for the future of a submitted task,
 * go on looking for so long, and use a processor for it, before they sleep: if what they wait for comes in
 * that time, nobody has to be woken, which takes longer than most small tasks. It pays where tasks follow
 * each other within microseconds and there are processors to spare; 20 to 50 us are a good choice. With
 * one processor it has no effect. Nothing else changes by it: neither order nor who runs what, and looking
 * ends at once with a task, an interrupt or a shutdown. For the pool's own queue, if that has room. */
#define HORA_SPIN_MAX ((hora_ns)1000000)

/* With `grow_after` the number of core threads becomes a lower bound. If a task has waited for longer than
 * this, no worker is idle, and at least one worker has used less than half of the time on a processor, the
 * pool starts another worker: one at a time, and at most max_threads. A worker that has been idle for
 * keep_alive ends. CPU-bound workers do not trigger growth. On an overloaded machine a worker that only
 * waits for a processor looks blocked, too. This is for plain pools with a queue of their own that has
 * room. While tasks are queued, the watchdog's thread looks at the pool every half grow_after, at most
 * once a millisecond; so growth may come that much later. Each change is an event (`resized`) that says
 * why. */
#define HORA_POOL_OPTIONS(...) HORA__LITERAL(hora_pool_options, __VA_ARGS__)

/* hora_pool_new - make a pool; threads start when tasks come
 *
 * hora refuses an option set that cannot work, and one of which a part would have no effect. `reason` says
 * which and why.
 *
 * Ownership: the caller owns *ret_pool, to be freed with hora_pool_free. Queue and clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EBUSY (another pool has the queue), HORA_ENOMEM, HORA_EAGAIN; HORA_EMFILE and
 * HORA_ENFILE (dump). */
HORA_NODISCARD HORA_API int hora_pool_new(const hora_pool_options *options, hora_pool **ret_pool, hora_error *reason);

/* hora_pool_free - stop the pool, wait for its threads to end, and free it
 *
 * NULL is allowed. The pool abandons the tasks that are still queued, and interrupts those that run. So
 * call hora_pool_close or hora_pool_close_for first. Returns how many accepted tasks the pool has
 * abandoned in its whole life: 0 if all came to their end. Not interruptible itself. In the thread that
 * made the pool it never lacks memory.
 *
 * Ownership: on success the pool is gone; on error nothing has changed.
 * Threads: Owner.   Blocks: until running tasks have ended.
 * Errors: HORA_EDEADLK (called by one of the pool's own tasks, its terminated hook, or its watchdog or
 * dump thread), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_free(hora_pool *pool);

/* hora_pool_execute - queue a task without creating a future
 *
 * Ownership: see hora/task.h.   Threads: Any thread.
 * Blocks: with HORA_REJECT_BLOCK for room; with HORA_REJECT_CALLER_RUNS as long as the task runs.
 * Errors: HORA_EREJECTED, HORA_EINVAL, HORA_ENOMEM, HORA_EINTERRUPTED and HORA_EDEADLK
 * (HORA_REJECT_BLOCK), HORA_EAGAIN (the pool has no thread and can start none), HORA_EFORKED, and what a
 * rejection handler returns. */
HORA_NODISCARD HORA_API int hora_pool_execute(hora_pool *pool, const hora_task *task);

/* hora_pool_submit - queue a task, and get its future; `ret_future` may be NULL
 *
 * Ownership: as hora_pool_execute; the caller gets one reference to *ret_future.
 * Threads: Any thread.   Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_submit(hora_pool *pool, const hora_task *task, hora_future **ret_future);

/* hora_task_options_check - whether task options are valid for a pool, and if not, why
 *
 * The calls that take task options refuse what this refuses.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also: a class of another pool), HORA_ENOTSUP (class, key or priority, and the pool
 * has no admission; a pool without watchdog, metrics, admission, listener and context_hooks),
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_task_options_check(hora_pool *pool, const hora_task_options *options,
                                                    hora_error *reason);

/* hora_pool_submit_with - submit a task with options of its own
 *
 * `ret_future` may be NULL. For a task that runs later, or repeatedly, see `options` of hora_schedule.
 *
 * Ownership: as hora_pool_submit; the options are copied.   Threads: Any thread.   Blocks: as
 * hora_pool_execute.
 * Errors: as hora_pool_submit; and those of hora_task_options_check, HORA_EAGAIN (a limit, and no thread
 * can be started to watch over it). */
HORA_NODISCARD HORA_API int hora_pool_submit_with(hora_pool *pool, const hora_task *task,
                                                  const hora_task_options *options, hora_future **ret_future,
                                                  hora_error *reason);

/* hora_pool_execute_future - run a future of hora_future_new or hora_future_init some time
 *
 * It may be executed several times; only the first run of it counts.
 *
 * Ownership: the pool takes a reference of its own while it needs it.
 * Threads: Any thread.   Blocks: as hora_pool_execute.   Errors: as hora_pool_execute. */
HORA_NODISCARD HORA_API int hora_pool_execute_future(hora_pool *pool, hora_future *future);

/* hora_pool_shutdown - accept nothing more; what is queued and running goes on to its end
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never (but for the terminated hook, if the pool
 * is empty).
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_shutdown(hora_pool *pool);

/* hora_pool_shutdown_now - accept nothing more, interrupt what runs, and hand back what is queued
 *
 * The futures handed back are not done, and nobody will run them unless the caller does; one that was
 * queued several times is handed back once. Without a list they are abandoned. The pool is stopped in any
 * case: what was executed, not submitted, and there is no memory for to hand it back, is abandoned, too,
 * and HORA_ENOMEM says so. Timers (hora/timer.h) are cancelled.
 *
 * Ownership: the caller gets a reference to each future in the list: take them one by one with
 * hora_future_list_take, or let hora_future_list_cancel deal with them.   Threads: Any thread.   Blocks:
 * Never.
 * Errors: HORA_EINVAL (also: a list that is not empty), HORA_ENOMEM (with a list only), HORA_EFORKED. */
HORA_API int hora_pool_shutdown_now(hora_pool *pool, hora_future_list *ret_list);

/* hora_pool_await_termination_for - wait until the pool is TERMINATED
 *
 * Precedence: terminated, then the end of the time, then interrupts. Threads may still be on their last
 * steps.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated, the time is over or interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks),
 * HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_termination_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_await_termination - as hora_pool_await_termination_for, without a limit
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated or interrupted.
 * Errors: as hora_pool_await_termination_for, but HORA_ETIMEDOUT. */
HORA_NODISCARD HORA_API int hora_pool_await_termination(hora_pool *pool);

/* hora_pool_close_for - shut down, wait at most for `timeout`, then stop
 *
 * What is queued at the deadline is abandoned, what runs is interrupted. An interrupt of the caller counts
 * as the deadline, and stays pending. Does not free the pool.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated or the time is over.
 * Errors: HORA_ETIMEDOUT (it had to stop; `active` of hora_pool_stats says how many tasks are still running),
 * HORA_EDEADLK, HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_pool_close_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_close - as hora_pool_close_for, without a limit: everything that was accepted runs to its end
 *
 * An interrupt of the caller counts as a deadline, as there.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until terminated, or interrupted.   Errors: as
 * hora_pool_close_for. */
HORA_API int hora_pool_close(hora_pool *pool);

/* hora_pool_await_idle_for - wait until nothing is queued or running, without shutting down
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until idle, the time is over or interrupted.
 * Errors: HORA_ETIMEDOUT, HORA_EINTERRUPTED, HORA_EDEADLK (untimed, by one of the pool's own tasks),
 * HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_pool_await_idle_for(hora_pool *pool, hora_ns timeout);

/* hora_pool_await_idle - as hora_pool_await_idle_for, without a limit
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until idle or interrupted.
 * Errors: as hora_pool_await_idle_for, but HORA_ETIMEDOUT. */
HORA_NODISCARD HORA_API int hora_pool_await_idle(hora_pool *pool);

/* hora_pool_idle_fd - a descriptor that polls readable while nothing is queued or running
 *
 * Made at the first call, then always the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the pool's; it is closed by hora_pool_free.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_pool_idle_fd(hora_pool *pool);

/* hora_pool_remove - take a future out of the queue: 1 if it was there, else 0
 *
 * Ownership: the pool's reference is gone; the future is as it was, not done.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_pool_remove(hora_pool *pool, hora_future *future);

/* hora_pool_purge - take all cancelled futures out of the queue, and return how many
 *
 * Only with keep_cancelled there can be any.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM,
 * HORA_EFORKED. */
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
 * With an unbounded queue and no grow_after, max_threads has no effect of its own, and follows.
 * Fewer: idle surplus workers end. More: workers start if tasks are queued.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative, more than max_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_max_threads - change the largest number of threads
 *
 * Refused, as by hora_pool_new, where it would have no effect: more than core_threads with an unbounded
 * queue and no grow_after.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (< 1, fewer than core_threads), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_max_threads(hora_pool *pool, int threads, hora_error *reason);

/* hora_pool_set_keep_alive - change how long surplus workers stay idle
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative; 0 with core time-out), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_keep_alive(hora_pool *pool, hora_ns keep_alive, hora_error *reason);

/* hora_pool_set_core_time_out - whether core workers, too, end after keep_alive
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (keep_alive is 0), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_core_time_out(hora_pool *pool, bool core_time_out, hora_error *reason);

/* hora_pool_set_thread_factory - how threads are made from now on; `arg` is the last argument of the factory
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (NULL), HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_thread_factory(hora_pool *pool, hora_thread_factory_fn factory, void *arg);

/* hora_pool_set_reject - the rule for tasks that find no place from now on; a handler for
 * HORA_REJECT_CALLBACK, else NULL
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOTSUP (frozen), HORA_EFORKED. */
HORA_API int hora_pool_set_reject(hora_pool *pool, hora_reject reject, hora_reject_fn handler, void *arg,
                                  hora_error *reason);

/* The run states, in their order: see above. */
typedef enum hora_pool_state {
    HORA_POOL_RUNNING = 0,
    HORA_POOL_SHUTDOWN,
    HORA_POOL_STOP,
    HORA_POOL_TIDYING,
    HORA_POOL_TERMINATED,
} hora_pool_state;

/* Everything that can be asked of a pool, as it was at one moment. */
typedef struct hora_pool_stats {
    /* set by HORA_INIT */
    uint32_t struct_size;
    hora_pool_state state;
    /* workers now, but for those that are written off; 0 from TIDYING on */
    int threads;
    /* workers that run a task, hooks included */
    int active;
    /* most workers ever, of those whose thread was started */
    int largest;
    /* tasks in the queue */
    int queued;
    int core_threads;
    int max_threads;
    hora_ns keep_alive;
    bool core_time_out;
    hora_reject reject;
    hora_reject_fn reject_handler;
    /* NULL: hora's own */
    hora_thread_factory_fn thread_factory;
    /* threads that could not be started */
    int thread_failures;
    /* why not, the last time; 0: never */
    int thread_error;
    /* tasks taken on */
    int64_t accepted;
    /* of these: succeeded, */
    int64_t done;
    /* failed, */
    int64_t failed;
    /* cancelled, */
    int64_t cancelled;
    /* dropped after they had been taken on (HORA_REJECT_DISCARD_OLDEST, the shutdown race), */
    int64_t rejected;
    /* dropped by stopping, or by a task that ended its thread, */
    int64_t abandoned;
    /* given back by hora_pool_shutdown_now or hora_pool_remove */
    int64_t handed_back;
    /* tasks that workers have dealt with, in whatever way: the JDK's completed count */
    int64_t completed;
    /* completed, running and queued: the JDK's task count, which falls when tasks are removed */
    int64_t tasks;
    /* of those accepted: not begun, or not done, in time: see hora_task_options */
    int64_t expired;
    /* workers that were stuck and have been replaced, and still run their task:
     * hora_task_options.replace_stuck */
    int written_off;
    bool keep_cancelled;
    /* of a scheduler: shutdown cancels tasks that run once and are not due */
    bool cancel_delayed;
    /* of a scheduler: series go on after shutdown */
    bool continue_periodic;
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
 * Its elements are hora_future pointers. Looking is harmless: hora_queue_peek and hora_queue_snapshot give
 * references, and hora_queue_for_each holds them meanwhile. Taking from it by hand is not: the pool goes
 * on counting on what was taken, which must not outlive it. Use hora_pool_remove to take a future out.
 * From the first call on each task has a future, also those that are executed, not submitted, which makes
 * these a little slower. Timers (hora/timer.h) have none: calls of the queue neither show nor count them,
 * and they are lost if something is taken by hand that is due after them.
 *
 * Closing it ends the pool: what can be taken from it still runs, and a worker that finds nothing more
 * shuts the pool down, as hora_pool_shutdown does. What is left then and is not due is abandoned, as by
 * hora_pool_shutdown_now.
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

/* hora_pool_current - the pool whose worker the calling thread is; NULL: none
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_pool *hora_pool_current(void);

/* hora_available_processors - how many threads can really run at once: processors that this process may
 * use, by affinity and by the quota of its control group; never less than 1
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_available_processors(void);

/* hora_pool_new_fixed - always the same number of threads, an unbounded queue; `options` may add the rest,
 * or be NULL
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.
 * Errors: as hora_pool_new; HORA_EINVAL also for threads < 1 or options that contradict. */
HORA_NODISCARD HORA_API int hora_pool_new_fixed(int threads, const hora_pool_options *options, hora_pool **ret_pool,
                                                hora_error *reason);

/* hora_pool_new_single - one thread, an unbounded queue, and no setter changes that
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

/* hora_pool_new_cached - as many threads as there are tasks, each kept for 60 s when idle
 *
 * Ownership: as hora_pool_new.   Threads: Any thread.   Blocks: Never.   Errors: as hora_pool_new. */
HORA_NODISCARD HORA_API int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool,
                                                 hora_error *reason);

HORA_END_DECLS

#endif
