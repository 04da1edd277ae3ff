/* SPDX-License-Identifier: Apache-2.0 */
/* hora/future.h - the outcome of a task: wait for it, take it, cancel it, be told of it
 *
 * A future is a task together with its outcome. It comes from a pool (hora_pool_submit), stands alone and
 * is run by hand (hora_future_new, hora_future_run), or is a promise that somebody completes
 * (hora_future_new_promise). It is counted: each reference is given back with hora_future_unref.
 *
 * States, and all their transitions (those of Future.State in the JDK):
 *
 *     PENDING -> SUCCEEDED    the task succeeded, or hora_future_complete
 *     PENDING -> FAILED       the task failed, expired, was rejected or abandoned, or hora_future_fail
 *     PENDING -> CANCELLED    hora_future_cancel
 *
 * A future is done when it is no longer PENDING. The first transition decides; later ones change nothing.
 *
 * Precedence in waits: done, then interrupted, then timed out. A future that is done answers even if an
 * interrupt is pending (it stays so) and even if the time is over.
 *
 * Memory: what was done before submitting is visible to run; what run did is visible to whoever has seen
 * the future done. */
#ifndef HORA_FUTURE_H
#define HORA_FUTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

typedef struct hora_future hora_future;

typedef enum hora_future_state {
    HORA_FUTURE_PENDING = 0,
    HORA_FUTURE_SUCCEEDED,
    HORA_FUTURE_FAILED,
    HORA_FUTURE_CANCELLED,
} hora_future_state;

/* What a cancel did. All but the first mean that the future is cancelled now. */
typedef enum hora_cancel {
    /* it was done already; nothing has changed */
    HORA_CANCEL_TOO_LATE = 0,
    /* the task had not begun, and never will; it has left the queue, if it was in one */
    HORA_CANCEL_REMOVED,
    /* the task is running, and its thread was interrupted */
    HORA_CANCEL_INTERRUPTED,
    /* the task is running, and goes on undisturbed; its outcome will be dropped */
    HORA_CANCEL_RUNNING,
} hora_cancel;

/* hora_future_new - a future that stands alone: somebody runs it with hora_future_run, or executes it on a
 * pool
 *
 * Ownership: the task is owned by the future, see hora/task.h; the caller gets one reference.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (task, run or ret_future NULL), HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_future_new(const hora_task *task, hora_future **ret_future);

/* Memory for a future that the caller provides. Its contents are hora's. Frozen: its size will never
 * change. */
typedef struct hora_future_storage {
    union {
        unsigned char bytes[384];
        long double alignment;
        void *pointer;
    } as;
} hora_future_storage;

/* hora_future_init - as hora_future_new, in memory of the caller: nothing is allocated, now or on any way
 * of the future through a pool whose queue does not allocate (an array queue)
 *
 * The memory must stay until hora_future_reclaim has returned.
 *
 * Ownership: the task is owned by the future; the caller has one reference, which only hora_future_reclaim
 * gives back.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM (the system is out of locks). */
HORA_NODISCARD HORA_API int hora_future_init(hora_future_storage *storage, const hora_task *task,
                                             hora_future **ret_future);

/* hora_future_reclaim - give back the caller's reference and wait until nobody uses the future's memory
 * any more
 *
 * For futures of hora_future_init. Not interruptible: the memory is in use until it returns. A future that
 * is not done, and is neither queued nor running, is cancelled.
 *
 * Ownership: the caller owns the memory again.
 * Threads: Owner.   Blocks: until the future is done and all other references are gone.
 * Errors: HORA_EINVAL (not of hora_future_init), HORA_EDEADLK (called by the task itself), HORA_EFORKED,
 * HORA_ENOMEM. */
HORA_API int hora_future_reclaim(hora_future *future);

/* hora_future_new_promise - a future without a task, to be completed by hora_future_complete or
 * hora_future_fail
 *
 * Ownership: the caller gets one reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM. */
HORA_NODISCARD HORA_API int hora_future_new_promise(void (*drop_result)(void *result), hora_future **ret_future);

/* hora_future_ref - one more reference
 *
 * Ownership: the caller owns the added reference; returns its argument, NULL for NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_ref(hora_future *future);

/* hora_future_unref - give one reference back; the last one drops a result that nobody took, and a task
 * that never ran
 *
 * Ownership: the reference is gone; NULL is allowed. Returns NULL.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_unref(hora_future *future);

/* hora_future_run - run the task of a future in the calling thread, unless it is done or running
 *
 * Returns 1 if it ran here, else 0. How it ended is the future's outcome.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: as long as the task runs.
 * Errors: HORA_EINVAL (NULL, a promise), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_future_run(hora_future *future);

/* hora_future_run_and_reset - run the task without making its success the outcome, so that it can be run
 * again
 *
 * Returns 1 if it ran, succeeded and the future is still not done. A failure is the outcome. A result is
 * dropped.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: as long as the task runs.
 * Errors: HORA_EINVAL (NULL, a promise), HORA_ENOMEM, HORA_EFORKED. */
HORA_API int hora_future_run_and_reset(hora_future *future);

/* hora_future_complete - make this result the outcome: 1 if it is, 0 if the future was done already
 *
 * Ownership: at 1 the future holds the result; at 0 the caller still does.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EFORKED. */
HORA_API int hora_future_complete(hora_future *future, void *result);

/* hora_future_fail - make this failure the outcome: 1 if it is, 0 if the future was done already
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL (also: code 0),
 * HORA_EFORKED. */
HORA_API int hora_future_fail(hora_future *future, int code);

/* hora_future_cancel - see that the task does not run, or that its outcome does not count
 *
 * A task that has not begun never will, and leaves the queue of its pool at once. With `interrupt` the
 * thread of a running task is interrupted. Waiting threads return with HORA_ECANCELED at once, also while
 * the task still runs.
 *
 * Ownership: none passes; drop(arg) is called by this call if the task had not begun, else by its thread
 * when it ends.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EFORKED; otherwise a hora_cancel. */
HORA_API int hora_future_cancel(hora_future *future, bool interrupt);

/* hora_future_get - wait for the outcome, and look at the result
 *
 * May be called any number of times, and gives the same answer each time (the result until it is taken).
 * `ret_result` may be NULL. A worker of a pool that waits for a task still in that pool's queue runs it
 * itself, on its own stack; at most 64 such tasks inside each other, and with stack_size set only while
 * half of the stack is free. Beyond that it waits for another worker to run the task.
 *
 * HORA_EDEADLK: the calling thread runs a task, and all threads that could end its wait wait themselves, by
 * this call and not by hora_future_get_for. These are the thread that runs the awaited task, or, if it is
 * queued, all workers of its pool, if that has as many as it can have; then those for which these wait, and
 * so on, up to 32 threads. Other ways of waiting (queues, latches, groups, promises) are not recognised, and
 * what a thread outside may still do, such as cancelling a task, is not considered. The awaited future is as
 * it was.
 *
 * Ownership: the future keeps the result.
 * Threads: Any thread.   Blocks: until the future is done or the thread is interrupted.
 * Errors: HORA_EFAILED (see hora_future_failure), HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED (the
 * outcomes); HORA_EINTERRUPTED, HORA_EDEADLK (see above), HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_get(hora_future *future, void **ret_result);

/* hora_future_get_for - as hora_future_get, waiting at most for `timeout` of the monotonic clock, or the
 * pool's
 *
 * Ownership: the future keeps the result.
 * Threads: Any thread.   Blocks: until the future is done, the time is over or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_future_get. */
HORA_NODISCARD HORA_API int hora_future_get_for(hora_future *future, hora_ns timeout, void **ret_result);

/* hora_future_take_result - move the result out; it can be taken once
 *
 * Does not wait.
 *
 * Ownership: the caller owns the result, drop_result will not be called for it.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EAGAIN (not done), HORA_EEMPTY (taken already), HORA_EFAILED, HORA_ECANCELED, HORA_EREJECTED,
 * HORA_EABANDONED, HORA_EINVAL, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_take_result(hora_future *future, void **ret_result);

/* hora_future_get_state - the state now
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL counts as cancelled. */
HORA_API hora_future_state hora_future_get_state(hora_future *future);

/* hora_future_is_done - whether there is an outcome, of whatever kind
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_done(const hora_future *future);

/* hora_future_is_cancelled - whether the outcome is a cancellation
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_future_is_cancelled(const hora_future *future);

/* hora_future_failure - the failure code of the task, 0 if it has not failed
 *
 * HORA_EREJECTED or HORA_EABANDONED if it was never run to its end.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API int hora_future_failure(hora_future *future);

/* hora_future_task - the task that the future was made from; all NULL for a promise
 *
 * All but the name never changes. Before a task that has both a name and drop is dropped, its name becomes
 * a copy, which lives as long as the future; see hora/task.h. So the name may be read here by the thread
 * that runs the task, and by every thread once the future is done; if it was cancelled or has expired
 * while it ran, once that run has ended. Threads that cannot be sure of this use hora_future_describe.
 *
 * Ownership: belongs to the future.   Threads: Any thread.   Blocks: Never.   Errors: None; NULL for NULL. */
HORA_API const hora_task *hora_future_task(const hora_future *future);

/* hora_future_describe - one line about a future, for people: name, place, state, failure
 *
 * As snprintf: returns the length of the whole text, and writes what fits, always with a final NUL if size
 * > 0. Contains "Not completed", "Completed normally", "Completed exceptionally" or "Cancelled". In the
 * child of a fork, and in a comparison that runs under a lock of hora, it shows "task" instead of the
 * name.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL. */
HORA_API int hora_future_describe(hora_future *future, char *text, size_t size);

/* hora_future_on_done - call done(future, arg) once, when the future is done, and then drop(arg)
 *
 * On the thread that completes or cancels it, after waiting threads have been woken; at once, on this
 * thread, if it is done already. With no lock held: the callback may call anything of hora. Callbacks run
 * in the order of registration.
 *
 * Callbacks and destructors never run inside each other. If a callback, or a drop or drop_result that hora
 * calls for a future, completes or cancels another future, gives its last reference back, or registers a
 * callback with one that is done, then what follows from that (callbacks, drop, drop_result) runs in the
 * same thread after it has returned. So a chain of any length needs no more stack than one of two; but a
 * callback must not wait for what another one is to do. Futures of hora_future_init are the exception:
 * what follows from their end runs at once. The thread must not end in a callback, unless it is a worker
 * of a pool.
 *
 * Ownership: hora owns arg if the call succeeds, and calls drop(arg), unless drop is NULL, exactly once.
 * Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_future_on_done(hora_future *future, void (*done)(hora_future *future, void *arg),
                                                void *arg, void (*drop)(void *arg));

/* hora_future_fd - a descriptor that polls readable once the future is done
 *
 * Made at the first call, then always the same one. Do not read from it, write to it or close it.
 *
 * Ownership: the future's; it is closed with the last reference.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_future_fd(hora_future *future);

/* ---- lists ---- */

/* A list of futures that were handed back. Start with HORA_FUTURE_LIST_INIT. */
typedef struct hora_future_list {
    hora_future *first;
    int count;
} hora_future_list;

#define HORA_FUTURE_LIST_INIT {0, 0}

/* hora_future_list_take - take the first future off a list; NULL if it is empty
 *
 * Ownership: the reference passes to the caller.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API hora_future *hora_future_list_take(hora_future_list *list);

/* hora_future_list_cancel - cancel all futures of a list and give their references back
 *
 * Ownership: the list is empty.   Threads: Owner.   Blocks: Never.   Errors: None. */
HORA_API void hora_future_list_cancel(hora_future_list *list);

HORA_END_DECLS

#endif
