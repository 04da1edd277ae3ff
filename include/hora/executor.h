/* SPDX-License-Identifier: Apache-2.0 */
/* hora/executor.h - submit, invoke all and invoke any, on anything that can execute a future
 *
 * An executor is a function that arranges for a future to be run. A pool is one (hora_pool_executor). So is
 * an event loop that puts the future on its own list, or a function that runs it immediately:
 *
 *     static int run_here(hora_future *future, void *arg)
 *     {
 *         int ran = hora_future_run(future);
 *         return ran < 0 ? ran : 0;
 *     }
 *
 *     hora_executor here = {.execute = run_here};
 *     hora_executor_submit(&here, HORA_TASK(resize, image), &future);
 *
 * Ownership of the tasks of hora_executor_invoke_all and hora_executor_invoke_any, and of their variants: if
 * the call returns HORA_EINVAL because of an argument, it has not touched any task. In every other case,
 * whether it succeeds or fails, hora owns all tasks. hora drops each of them exactly once, after its run or
 * instead of it. A task that has not started when the call returns never starts. The caller therefore has no
 * tasks left to clean up after the call. */
#ifndef HORA_EXECUTOR_H
#define HORA_EXECUTOR_H

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* An executor: a function that runs futures, its argument, and a clock. It is a value and may be copied
 * freely. The object that `arg` points to, and the clock, must live as long as the executor is used. */
typedef struct hora_executor {
    /* Arranges for hora_future_run to be called for this future, now or later, on this thread or another, and
     * returns 0. A function that needs the future after it returns takes its own reference. Alternatively it
     * returns a negative error code and leaves the future untouched. Called with no hora lock held.
     * Required */
    int (*execute)(hora_future *future, void *arg);
    /* last argument of execute */
    void *arg;
    /* the clock that measures timed calls; NULL means monotonic */
    const hora_clock *clock;
} hora_executor;

/* hora_pool_executor - return a pool as an executor that uses the pool's clock
 *
 * For NULL it returns an executor that every call refuses with HORA_EINVAL.
 *
 * Ownership: not transferred; the pool must live as long as the executor is used.   Threads: Any thread.
 * Blocks: Never.   Errors: None. */
HORA_API hora_executor hora_pool_executor(hora_pool *pool);

/* hora_executor_submit - execute a task and return its future
 *
 * `ret_future` must not be NULL.
 *
 * Ownership: see hora/task.h; the caller receives one reference to *ret_future.   Threads: Any thread.
 * Blocks: as the executor does.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_submit(const hora_executor *executor, const hora_task *task,
                                                 hora_future **ret_future);

/* hora_executor_invoke_all - execute all tasks and wait until all are done
 *
 * ret_futures[i] is the future of tasks[i]. The call succeeds even if individual tasks fail or are cancelled.
 * It reserves the memory of all futures before it executes the first one, so that it starts nothing if memory
 * does not suffice. If the executor refuses a task, or the thread is interrupted while it waits, the call
 * cancels all futures with interrupt and returns none of them. A count of zero is a success; `tasks` and
 * `ret_futures` may then be NULL.
 *
 * The call waits forever for a future that is never run or completed. A worker of a pool that waits for tasks
 * in that pool's queue runs them itself; see hora_future_get.
 *
 * Ownership: for the tasks, see above; the caller receives one reference to each future.
 * Threads: Any thread.   Blocks: until all futures are done or the thread is interrupted.
 * Errors: HORA_EINVAL (negative count; NULL; a task without run), HORA_EINTERRUPTED, HORA_EDEADLK (the wait
 * would never end), HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_invoke_all(const hora_executor *executor,
                                                     const hora_task *const *tasks, int count,
                                                     hora_future **ret_futures);

/* hora_executor_invoke_all_for - execute all tasks and wait at most for `timeout`
 *
 * As hora_executor_invoke_all, with a timeout that is measured by the executor's clock. The call checks the
 * time before it executes each task; if the timeout has already expired, it executes none. At the deadline it
 * cancels the futures that are not done, with interrupt, and returns all futures: this is a success. Tasks
 * that were running may still be running.
 *
 * Ownership: as hora_executor_invoke_all.   Threads: Any thread.
 * Blocks: until all futures are done, the timeout expires or the thread is interrupted.
 * Errors: as hora_executor_invoke_all. */
HORA_NODISCARD HORA_API int hora_executor_invoke_all_for(const hora_executor *executor,
                                                         const hora_task *const *tasks, int count,
                                                         hora_ns timeout, hora_future **ret_futures);

/* hora_executor_invoke_any - execute tasks until one succeeds, and return its result
 *
 * The call executes the first task, and then one more as long as none is done, so later tasks may never be
 * executed. Before it returns, for whatever reason, it cancels all executed tasks with interrupt. Results of
 * other tasks are dropped. If `ret_result` is NULL, the result is dropped. If no task succeeds, the call
 * writes the failure code of the task that failed last to `reterr_failure`, unless that is NULL. The code is
 * HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED or HORA_EEXPIRED for a task that ended in that way.
 *
 * Ownership: for the tasks, see above; the caller owns *ret_result.   Threads: Any thread.
 * Blocks: until one task has succeeded, all have failed or the thread is interrupted.
 * Errors: HORA_EFAILED (no task succeeded), HORA_EINVAL (count < 1; NULL; a task without run),
 * HORA_EINTERRUPTED, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_invoke_any(const hora_executor *executor,
                                                     const hora_task *const *tasks, int count,
                                                     void **ret_result, int *reterr_failure);

/* hora_executor_invoke_any_for - execute tasks until one succeeds, waiting at most for `timeout`
 *
 * As hora_executor_invoke_any, with a timeout that is measured by the executor's clock. The call executes all
 * tasks, as long as none is done, before it checks the time. It returns a result that is available then even
 * if the timeout has expired.
 *
 * Ownership: as hora_executor_invoke_any.   Threads: Any thread.
 * Blocks: until one task has succeeded, all have failed, the timeout expires or the thread is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_executor_invoke_any. */
HORA_NODISCARD HORA_API int hora_executor_invoke_any_for(const hora_executor *executor,
                                                         const hora_task *const *tasks, int count,
                                                         hora_ns timeout, void **ret_result,
                                                         int *reterr_failure);

/* hora_pool_invoke_all - hora_executor_invoke_all on a pool
 *
 * Ownership: as hora_executor_invoke_all.   Threads: Any thread.   Blocks: as hora_executor_invoke_all.
 * Errors: as hora_executor_invoke_all, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_all(hora_pool *pool, const hora_task *const *tasks,
                                                      int count, hora_future **ret_futures)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_all(&executor, tasks, count, ret_futures);
}

/* hora_pool_invoke_all_for - hora_executor_invoke_all_for on a pool
 *
 * Ownership: as hora_executor_invoke_all.   Threads: Any thread.   Blocks: as hora_executor_invoke_all_for.
 * Errors: as hora_executor_invoke_all, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_all_for(hora_pool *pool, const hora_task *const *tasks,
                                                          int count, hora_ns timeout,
                                                          hora_future **ret_futures)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_all_for(&executor, tasks, count, timeout, ret_futures);
}

/* hora_pool_invoke_any - hora_executor_invoke_any on a pool
 *
 * Ownership: as hora_executor_invoke_any.   Threads: Any thread.   Blocks: as hora_executor_invoke_any.
 * Errors: as hora_executor_invoke_any, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_any(hora_pool *pool, const hora_task *const *tasks,
                                                      int count, void **ret_result, int *reterr_failure)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_any(&executor, tasks, count, ret_result, reterr_failure);
}

/* hora_pool_invoke_any_for - hora_executor_invoke_any_for on a pool
 *
 * Ownership: as hora_executor_invoke_any.   Threads: Any thread.   Blocks: as hora_executor_invoke_any_for.
 * Errors: as hora_executor_invoke_any_for, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_any_for(hora_pool *pool, const hora_task *const *tasks,
                                                          int count, hora_ns timeout, void **ret_result,
                                                          int *reterr_failure)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_any_for(&executor, tasks, count, timeout, ret_result, reterr_failure);
}

HORA_END_DECLS

#endif
