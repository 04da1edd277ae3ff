/* SPDX-License-Identifier: Apache-2.0 */
/* hora/future.h - the outcome of a task: wait for it, take it, cancel it, be notified of it
 *
 *     hora_future *future;
 *     void *image;
 *     if (hora_pool_submit(pool, HORA_TASK(load, path, .drop_result = image_free), &future) < 0)
 *         return;                              // the caller still owns path
 *     if (hora_future_get_for(future, HORA_SECONDS(2), &image) == 0)
 *         show(image);                         // the future owns the image
 *     else
 *         hora_future_cancel(future, true);    // interrupts load if it is running
 *     hora_future_unref(future);
 *
 * A future is a task together with its outcome. A pool creates one (hora_pool_submit), or it stands alone and
 * is run by hand (hora_future_new, hora_future_run), or it is a promise that a program completes
 * (hora_future_new_promise). It is reference-counted: each reference is released with hora_future_unref.
 *
 * States, and all their transitions (those of Future.State in the JDK):
 *
 *   PENDING -> SUCCEEDED    the task succeeded, or hora_future_complete
 *   PENDING -> FAILED       the task failed, expired, was rejected or abandoned, or hora_future_fail
 *   PENDING -> CANCELLED    hora_future_cancel
 *
 * A future is done when it is no longer PENDING. The first transition decides; later ones have no effect. A
 * future that is done may still be running: a cancel, hora_future_complete and hora_future_fail do not wait
 * for the body. Its result is then dropped.
 *
 * Precedence in waits: done, then interrupted, then timed out. A wait for a future that is done returns the
 * outcome even if an interrupt is pending (the interrupt stays pending) and even if the timeout has expired.
 *
 * Memory: actions before the submission are visible to run. Actions of run are visible to every thread that
 * has seen the future done. */
#ifndef HORA_FUTURE_H
#define HORA_FUTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* A future. */
typedef struct hora_future hora_future;

/* The states of a future; see above. */
typedef enum hora_future_state {
    /* there is no outcome yet: the task is not queued, is queued, or is running */
    HORA_FUTURE_PENDING = 0,
    /* hora_future_get returns 0 and the result */
    HORA_FUTURE_SUCCEEDED,
    /* hora_future_failure returns why */
    HORA_FUTURE_FAILED,
    /* hora_future_get returns HORA_ECANCELED */
    HORA_FUTURE_CANCELLED,
} hora_future_state;

/* The effect of a cancel. All values except the first mean that the future is now cancelled. */
typedef enum hora_cancel {
    /* the future was already done; nothing has changed */
    HORA_CANCEL_TOO_LATE = 0,
    /* the task had not started and never will; it has been removed from its queue, if it was in one and the
     * pool does not have keep_cancelled */
    HORA_CANCEL_REMOVED,
    /* the task is running, and its thread has been interrupted */
    HORA_CANCEL_INTERRUPTED,
    /* the task is running and continues undisturbed; its outcome will be dropped */
    HORA_CANCEL_RUNNING,
} hora_cancel;

/* hora_future_new - create a future that stands alone
 *
 * It runs with hora_future_run, or on a pool with hora_pool_execute_future. Its timed waits are measured by
 * the monotonic clock.
 *
 * Ownership: the future owns the task, see hora/task.h; the caller receives one reference.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (task, run or ret_future is NULL), HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_future_new(const hora_task *task, hora_future **ret_future);

/* Memory for a future, provided by the caller. Its contents are private. This struct is frozen: its size will
 * never change. */
typedef struct hora_future_storage {
    union {
        unsigned char bytes[384];
        long double alignment;
        void *pointer;
    } as;
} hora_future_storage;

/* hora_future_init - create a future in memory provided by the caller
 *
 * As hora_future_new, but hora allocates nothing, neither now nor when the future passes through a pool whose
 * queue does not allocate (an array queue). The memory must remain valid until hora_future_reclaim has
 * returned.
 *
 * Ownership: the future owns the task; the caller holds one reference, which only hora_future_reclaim
 * releases.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM and HORA_EAGAIN (the system is out of locks). */
HORA_NODISCARD HORA_API int hora_future_init(hora_future_storage *storage, const hora_task *task,
                                             hora_future **ret_future);

/* hora_future_reclaim - release the caller's reference and wait until the future's memory is unused
 *
 * For futures of hora_future_init. The call is not interruptible, because the memory is in use until it
 * returns; an interrupt stays pending. It cancels a future that is not done, not queued and not running. On
 * error nothing has changed.
 *
 * Ownership: the caller owns the memory again.   Threads: Owner.
 * Blocks: until the future is done and all other references have been released.
 * Errors: HORA_EINVAL (not of hora_future_init), HORA_EDEADLK (called by the task itself), HORA_EFORKED,
 * HORA_ENOMEM. */
HORA_API int hora_future_reclaim(hora_future *future);

/* hora_future_new_promise - create a future without a task
 *
 * Complete it with hora_future_complete or hora_future_fail. drop_result is called for a result that is not
 * taken; NULL means nothing to do.
 *
 * Ownership: the caller receives one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN. */
HORA_NODISCARD HORA_API int hora_future_new_promise(void (*drop_result)(void *result),
                                                    hora_future **ret_future);

/* hora_future_ref - add a reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_ref(hora_future *future);

/* hora_future_unref - release a reference
 *
 * Releasing the last one drops a result that was not taken, and a task that never ran. Releasing a reference
 * does not cancel the task: a pool that has accepted it holds a reference of its own.
 *
 * Ownership: the caller's reference is released; NULL is allowed. Returns NULL.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_unref(hora_future *future);

/* hora_future_run - run the task of a future in the calling thread, unless it is done or running
 *
 * Returns 1 if the task ran here, otherwise 0. The outcome is in the future. The hooks and the listener of a
 * pool are not called for this run.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as long as the task runs.
 * Errors: HORA_EINVAL (NULL, a promise), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_future_run(hora_future *future);

/* hora_future_run_and_reset - run the task without recording its success, so that it can run again
 *
 * Returns 1 if the task ran and succeeded and the future is still not done, otherwise 0. A failure becomes
 * the outcome. A result is dropped.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: as long as the task runs.
 * Errors: HORA_EINVAL (NULL, a promise), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_future_run_and_reset(hora_future *future);

/* hora_future_complete - complete a future with a result
 *
 * Returns 1, or 0 if the future was already done. This works for any future, not only for promises. A task
 * that is queued does not run any more; it stays in the queue until a worker reaches it. A task that is
 * running continues, and its own outcome is dropped.
 *
 * Ownership: if it returns 1 the future holds the result; if it returns 0 the caller still does.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_future_complete(hora_future *future, void *result);

/* hora_future_fail - complete a future with a failure code
 *
 * Returns 1, or 0 if the future was already done. As hora_future_complete, it works for any future. Waiting
 * calls return HORA_EFAILED, but if the code is HORA_EREJECTED, HORA_EABANDONED or HORA_EEXPIRED, they return
 * that code.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also if code is 0), HORA_EFORKED. */
HORA_API int hora_future_fail(hora_future *future, int code);

/* hora_future_cancel - prevent a task from running, or discard its outcome
 *
 * A task that has not started never will, and is removed from the queue of its pool immediately, unless the
 * pool has keep_cancelled. With `interrupt`, the thread of a running task is interrupted; the interrupt
 * reaches this task or none, never the next task of the thread. Waiting threads return HORA_ECANCELED
 * immediately, even while the task is still running. Cancelling a series ends it.
 *
 * Ownership: not transferred; if the task had not started, this call runs drop(arg); otherwise the running
 * thread does so when the task ends.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED; otherwise a hora_cancel. */
HORA_API int hora_future_cancel(hora_future *future, bool interrupt);

/* hora_future_get - wait for the outcome and return the result
 *
 * The call can be repeated and returns the same result each time. Once the result has been taken
 * (hora_future_take_result), the call still succeeds, but the result belongs to the thread that took it.
 * `ret_result` may be NULL. A worker of a pool that waits for a task that is still in that pool's queue runs
 * the task itself, on its own stack. It does so for at most 64 nested tasks and, if stack_size is set, only
 * while half of the stack is free. Beyond that it waits for another worker to run the task.
 *
 * HORA_EDEADLK means that the calling thread runs a task, and that all threads that could end its wait are
 * themselves waiting in this call, not in hora_future_get_for. These are the thread that runs the awaited
 * task or, if the task is queued, all workers of its pool, provided that the pool cannot start more; then the
 * threads that those wait for, and so on, up to 32 threads. Other ways of waiting (queues, latches, groups,
 * promises) are not detected. Actions of threads outside this chain, such as cancelling a task, are not
 * considered. The awaited future is unchanged.
 *
 * Ownership: the future keeps the result.   Threads: Any thread.
 * Blocks: until the future is done or the thread is interrupted.
 * Errors: HORA_EFAILED (see hora_future_failure), HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED,
 * HORA_EEXPIRED (the outcomes); HORA_EINTERRUPTED, HORA_EDEADLK (see above), HORA_EINVAL, HORA_ENOMEM,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_get(hora_future *future, void **ret_result);

/* hora_future_get_for - wait for the outcome for a limited time
 *
 * As hora_future_get, but waits at most for `timeout`. The timeout is measured by the clock of the pool, or
 * by the monotonic clock if the future has none.
 *
 * Ownership: the future keeps the result.   Threads: Any thread.
 * Blocks: until the future is done, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_future_get. */
HORA_NODISCARD HORA_API int hora_future_get_for(hora_future *future, hora_ns timeout, void **ret_result);

/* hora_future_take_result - move the result out of a future; this is possible once
 *
 * Does not wait: call it after hora_future_get, or in a callback of hora_future_on_done.
 *
 * Ownership: the caller owns the result; drop_result will not be called for it.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EAGAIN (not done), HORA_EEMPTY (already taken), HORA_EFAILED, HORA_ECANCELED, HORA_EREJECTED,
 * HORA_EABANDONED, HORA_EEXPIRED, HORA_EINVAL, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_take_result(hora_future *future, void **ret_result);

/* hora_future_get_state - return the current state
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: None; NULL counts as cancelled. */
HORA_API hora_future_state hora_future_get_state(hora_future *future);

/* hora_future_is_done - test whether a future has an outcome of any kind; true for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_done(const hora_future *future);

/* hora_future_is_cancelled - test whether the outcome is a cancellation; true for NULL
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_cancelled(const hora_future *future);

/* hora_future_failure - return the failure code of the task, or 0 if it has not failed
 *
 * The code is what the task body returned, or the argument of hora_future_fail. It is HORA_EREJECTED,
 * HORA_EABANDONED or HORA_EEXPIRED if the task did not run to its end. Returns 0 for NULL and in the child of
 * a fork.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_future_failure(hora_future *future);

/* hora_future_task - return the task that the future was created from; all NULL for a promise
 *
 * Everything except the name is immutable. Before hora drops a task that has both a name and a drop function,
 * it replaces the name by a copy that lives as long as the future; see hora/task.h. The name may therefore be
 * read here by the thread that runs the task, and by every thread once the future is done. If the task was
 * cancelled or expired while it was running, the name may be read once that run has ended. Threads that
 * cannot be sure of this use hora_future_describe.
 *
 * Ownership: the task belongs to the future.   Threads: Any thread.   Blocks: Never.
 * Errors: None; NULL for NULL. */
HORA_API const hora_task *hora_future_task(const hora_future *future);

/* hora_future_describe - write one line about a future for people: name, place, state, failure
 *
 * Like snprintf, it writes as much as fits, always with a terminating NUL if size > 0, and returns the length
 * of the complete text. The text contains "Not completed", "Completed normally", "Completed exceptionally" or
 * "Cancelled". In the child of a fork, and in a comparison that runs under a hora lock, it shows "task"
 * instead of the name.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL. */
HORA_API int hora_future_describe(hora_future *future, char *text, size_t size);

/* hora_future_on_done - call done(future, arg) once when the future is done, then drop(arg)
 *
 * The callback runs on the thread that completes or cancels the future, after waiting threads have been woken
 * and after the groups and completion services that contain the future have counted it as done. If the future
 * is already done, the callback runs immediately on the calling thread. No lock is held, so the callback may
 * call any function of hora. Callbacks run in the order of registration. If the future is freed without ever
 * being done, hora calls only drop(arg).
 *
 * Callbacks and destructors never nest. If a callback, or a drop or drop_result that hora calls for a future,
 * completes or cancels another future, releases its last reference, or registers a callback on a future that
 * is done, the resulting callbacks and destructors run in the same thread after the current one has returned.
 * A chain of any length therefore needs no more stack than one of length two. A callback must not wait for
 * the effect of another callback. Futures of hora_future_init are the exception: their callbacks and
 * destructors run immediately. The thread must not end in a callback, unless it is a worker of a pool.
 *
 * Ownership: if the call succeeds, hora owns arg and calls drop(arg), unless drop is NULL, exactly once.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_on_done(hora_future *future,
                                                void (*done)(hora_future *future, void *arg), void *arg,
                                                void (*drop)(void *arg));

/* hora_future_fd - return a descriptor that polls readable once the future is done
 *
 * The first call creates it; later calls return the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the descriptor belongs to the future and is closed with its last reference.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor,
 * >= 0. */
HORA_NODISCARD HORA_API int hora_future_fd(hora_future *future);

/* ---- lists ---- */

/* A list of futures that hora_pool_shutdown_now has handed back. Initialize it with HORA_FUTURE_LIST_INIT.
 * The list holds a reference to each of its futures. */
typedef struct hora_future_list {
    /* the first future; NULL if the list is empty. The futures are linked internally: take them with
     * hora_future_list_take */
    hora_future *first;
    /* number of futures in the list */
    int count;
} hora_future_list;

/* Initializer for an empty list. */
#define HORA_FUTURE_LIST_INIT {0, 0}

/* hora_future_list_take - remove the first future from a list; NULL if the list is empty or NULL
 *
 * Ownership: the caller receives the reference.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_list_take(hora_future_list *list);

/* hora_future_list_cancel - cancel all futures of a list and release their references
 *
 * NULL is allowed.
 *
 * Ownership: the list is empty afterwards.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API void hora_future_list_cancel(hora_future_list *list);

HORA_END_DECLS

#endif
