/* SPDX-License-Identifier: Apache-2.0 */
/* hora/executor.h - submit, invoke all and invoke any, over whatever can execute a future
 *
 * An executor is a function that sees to it that a future is run. A pool is one (hora_pool_executor); so
 * is an event loop that puts the future on its own list, or a function that runs it at once:
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
 * Ownership of the tasks of hora_executor_invoke_all and hora_executor_invoke_any, which take many: with
 * HORA_EINVAL for an argument nothing has been touched. In every other case, success or not, all tasks are
 * hora's: each is dropped exactly once, after its run or instead of it; what has not begun when the call
 * returns never will. So after the call the caller has no task to care for. */
#ifndef HORA_EXECUTOR_H
#define HORA_EXECUTOR_H

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>
#include <hora/future.h>
#include <hora/pool.h>
#include <hora/task.h>

HORA_BEGIN_DECLS

/* A value, to be copied freely. What `arg` points to must live as long as it is used. */
typedef struct hora_executor {
    /* See to it that hora_future_run is called for this future, now or later, here or elsewhere, and
     * return 0. Whoever needs the future after the return takes a reference of its own. Or an error, and
     * then nothing has been done with it. Called with no lock of hora held. */
    int (*execute)(hora_future *future, void *arg);
    void *arg;
    /* what timed calls are measured with; NULL: monotonic */
    const hora_clock *clock;
} hora_executor;

/* hora_pool_executor - a pool as an executor, with the pool's clock
 *
 * For NULL, an executor that every call refuses with HORA_EINVAL.
 *
 * Ownership: none passes; the pool must live as long as the executor is used.
 * Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_executor hora_pool_executor(hora_pool *pool);

/* hora_executor_submit - have a task executed, and get its future
 *
 * Ownership: see hora/task.h; the caller gets one reference to *ret_future.
 * Threads: Any thread.   Blocks: as the executor.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_submit(const hora_executor *executor, const hora_task *task,
                                                 hora_future **ret_future);

/* hora_executor_invoke_all - execute all tasks and wait until all are done
 *
 * ret_futures[i] is the future of tasks[i]. That single tasks fail or are cancelled is no failure of the
 * call. If the executor refuses a task, or the thread is interrupted while it waits, all futures are
 * cancelled with interrupt, and none is returned. No task at all is a success; `tasks` and `ret_futures`
 * may then be NULL.
 *
 * A future that nobody ever runs or completes is waited for without end.
 *
 * Ownership: of tasks, see above; the caller gets one reference to each future.
 * Threads: Any thread.   Blocks: until all futures are done or the thread is interrupted.
 * Errors: HORA_EINVAL (negative count; a NULL; a task without run), HORA_EINTERRUPTED, HORA_EDEADLK (the
 * wait would never end), HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_invoke_all(const hora_executor *executor, const hora_task *const *tasks,
                                                     int count, hora_future **ret_futures);

/* hora_executor_invoke_all_for - as hora_executor_invoke_all, for at most `timeout` of the executor's clock
 *
 * The time is looked at before each task is executed: with a timeout that is over none is. What is not
 * done at the deadline is cancelled with interrupt, and all futures are returned: that is a success. Tasks
 * that were running may still be so.
 *
 * Ownership: as hora_executor_invoke_all.
 * Threads: Any thread.   Blocks: until all futures are done, the time is over or the thread is interrupted.
 * Errors: as hora_executor_invoke_all. */
HORA_NODISCARD HORA_API int hora_executor_invoke_all_for(const hora_executor *executor, const hora_task *const *tasks,
                                                         int count, hora_ns timeout, hora_future **ret_futures);

/* hora_executor_invoke_any - execute tasks until one has succeeded, and take its result
 *
 * The first task is executed, then one more whenever none is done yet; so the later ones may never be.
 * Before the call returns, for whatever reason, all that were executed are cancelled with interrupt;
 * results of others are dropped. `ret_result` may be NULL: the result is dropped. If no task succeeds, the
 * failure code of the one that failed last is written to `reterr_failure`, unless that is NULL;
 * HORA_ECANCELED, HORA_EREJECTED or HORA_EABANDONED for one that ended so.
 *
 * Ownership: of tasks, see above; the caller owns *ret_result.
 * Threads: Any thread.   Blocks: until one has succeeded, all have failed or the thread is interrupted.
 * Errors: HORA_EFAILED (no task succeeded), HORA_EINVAL (count < 1; a NULL; a task without run),
 * HORA_EINTERRUPTED, HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED, and those of the executor. */
HORA_NODISCARD HORA_API int hora_executor_invoke_any(const hora_executor *executor, const hora_task *const *tasks,
                                                     int count, void **ret_result, int *reterr_failure);

/* hora_executor_invoke_any_for - as hora_executor_invoke_any, waiting at most for `timeout` of the
 * executor's clock
 *
 * All tasks are executed, as long as none is done, before the time is looked at; a result that is there
 * then is returned even if the time is over.
 *
 * Ownership: as hora_executor_invoke_any.
 * Threads: Any thread.   Blocks: until one has succeeded, all have failed, the time is over or the thread
 * is interrupted.
 * Errors: HORA_ETIMEDOUT, and those of hora_executor_invoke_any. */
HORA_NODISCARD HORA_API int hora_executor_invoke_any_for(const hora_executor *executor, const hora_task *const *tasks,
                                                         int count, hora_ns timeout, void **ret_result,
                                                         int *reterr_failure);

/* hora_pool_invoke_all - hora_executor_invoke_all on a pool
 *
 * Ownership: as hora_executor_invoke_all.   Threads: Any thread.   Blocks: as hora_executor_invoke_all.
 * Errors: as hora_executor_invoke_all, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_all(hora_pool *pool, const hora_task *const *tasks, int count,
                                                      hora_future **ret_futures)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_all(&executor, tasks, count, ret_futures);
}

/* hora_pool_invoke_all_for - hora_executor_invoke_all_for on a pool
 *
 * Ownership: as hora_executor_invoke_all.   Threads: Any thread.   Blocks: as hora_executor_invoke_all_for.
 * Errors: as hora_executor_invoke_all, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_all_for(hora_pool *pool, const hora_task *const *tasks, int count,
                                                          hora_ns timeout, hora_future **ret_futures)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_all_for(&executor, tasks, count, timeout, ret_futures);
}

/* hora_pool_invoke_any - hora_executor_invoke_any on a pool
 *
 * Ownership: as hora_executor_invoke_any.   Threads: Any thread.   Blocks: as hora_executor_invoke_any.
 * Errors: as hora_executor_invoke_any, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_any(hora_pool *pool, const hora_task *const *tasks, int count,
                                                      void **ret_result, int *reterr_failure)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_any(&executor, tasks, count, ret_result, reterr_failure);
}

/* hora_pool_invoke_any_for - hora_executor_invoke_any_for on a pool
 *
 * Ownership: as hora_executor_invoke_any.   Threads: Any thread.   Blocks: as hora_executor_invoke_any_for.
 * Errors: as hora_executor_invoke_any_for, with those of hora_pool_execute. */
HORA_NODISCARD static inline int hora_pool_invoke_any_for(hora_pool *pool, const hora_task *const *tasks, int count,
                                                          hora_ns timeout, void **ret_result, int *reterr_failure)
{
    hora_executor executor = hora_pool_executor(pool);
    return hora_executor_invoke_any_for(&executor, tasks, count, timeout, ret_result, reterr_failure);
}

HORA_END_DECLS

#endif
