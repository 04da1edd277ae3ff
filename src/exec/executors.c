/* SPDX-License-Identifier: Apache-2.0 */
/* executors.c - the usual pools by name, and the executor interface
 *
 * The functions for pools by name set the options that the name implies, and call hora_pool_new. A
 * hora_executor is anything that can execute a future; groups, completion services and the invoke calls use
 * it. */
#include <hora/executor.h>

#include <assert.h>
#include <limits.h>
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "exec/pool.h"
#include "sys/processors.h"

/* How long a worker of a cached pool stays idle before it ends, in seconds; as in the JDK. */
enum { CACHED_KEEP_ALIVE_S = 60 };

/* ---- pools by name ---- */

int hora_available_processors(void)
{
    return hora__processors();
}

/* Copies the caller's options into *own, and refuses those for size and queue: the kind of pool decides
 * these. HORA_EINVAL. */
static int take_options(hora_pool_options *own, const hora_pool_options *given, hora_error *reason)
{
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_pool_options, own, given) < 0)
        return hora__refuse_size(reason, "hora_pool_options");
    own->struct_size = sizeof *own;
    if (own->core_threads != 0 || own->max_threads != 0)
        return hora__refuse(reason, HORA_EINVAL, own->core_threads != 0 ? "core_threads" : "max_threads",
                            "core_threads and max_threads are not options of this kind of pool, which has a "
                            "fixed rule for them");
    if (own->queue != NULL || own->queue_capacity != 0)
        return hora__refuse(
            reason, HORA_EINVAL, own->queue != NULL ? "queue" : "queue_capacity",
            "queue and queue_capacity are not options of this kind of pool, which has its own queue");
    return 0;
}

int hora_pool_new_fixed(int threads, const hora_pool_options *options, hora_pool **ret_pool,
                        hora_error *reason)
{
    hora_pool_options own;
    int error = take_options(&own, options, reason);
    if (error < 0)
        return error;
    if (threads < 1)
        return hora__refuse(reason, HORA_EINVAL, "threads", "a fixed pool needs at least one thread, not %d",
                            threads);
    own.core_threads = threads;
    return hora_pool_new(&own, ret_pool, reason);
}

/* `frozen` keeps callers from changing the size later: tasks of a single pool rely on running one at a
 * time. */
int hora_pool_new_single(const hora_pool_options *options, hora_pool **ret_pool, hora_error *reason)
{
    hora_pool_options own;
    int error = take_options(&own, options, reason);
    if (error < 0)
        return error;
    own.core_threads = 1;
    own.frozen = true;
    return hora_pool_new(&own, ret_pool, reason);
}

/* A capacity of -1 asks for a synchronous queue: a task that no idle worker takes at once starts a worker. */
int hora_pool_new_cached(const hora_pool_options *options, hora_pool **ret_pool, hora_error *reason)
{
    hora_pool_options own;
    int error = take_options(&own, options, reason);
    if (error < 0)
        return error;
    own.max_threads = INT_MAX;
    own.queue_capacity = -1;
    if (own.keep_alive == 0)
        own.keep_alive = HORA_SECONDS(CACHED_KEEP_ALIVE_S);
    return hora_pool_new(&own, ret_pool, reason);
}

int hora_pool_new_work_stealing(int parallelism, const hora_pool_options *options, hora_pool **ret_pool,
                                hora_error *reason)
{
    hora_pool_options own;
    int error = take_options(&own, options, reason);
    if (error < 0)
        return error;
    if (parallelism < 0)
        return hora__refuse(reason, HORA_EINVAL, "parallelism", "parallelism is %d, which is negative",
                            parallelism);
    own.core_threads = parallelism > 0 ? parallelism : hora_available_processors();
    own.stealing = true;
    return hora_pool_new(&own, ret_pool, reason);
}

/* ---- executors ---- */

/* The execute function of a pool's executor; `self` is the pool. */
static int execute_on_pool(hora_future *future, void *self)
{
    assert(self != NULL);
    return hora_pool_execute_future(self, future);
}

hora_executor hora_pool_executor(hora_pool *pool)
{
    if (pool == NULL)
        return (hora_executor){.execute = NULL};
    return (hora_executor){.execute = execute_on_pool, .arg = pool, .clock = pool->object.clock};
}

/* An executor is a value, so the caller may have changed its clock. Then its futures are not those of the
 * pool. */
hora_pool *hora__executor_pool(const hora_executor *executor)
{
    assert(executor->execute != NULL);
    if (executor->execute != execute_on_pool)
        return NULL;
    hora_pool *pool = executor->arg;
    bool is_plain = pool->kind == NULL && (pool->observer == NULL || !pool->observer->needs_extras);
    return is_plain && executor->clock == pool->object.clock && hora__pool_check(pool) == 0 ? pool : NULL;
}

/* If the executor refuses the future, it is forgotten and not dropped: the caller still owns the task. */
int hora_executor_submit(const hora_executor *executor, const hora_task *task, hora_future **ret_future)
{
    if (executor == NULL || executor->execute == NULL || task == NULL || task->run == NULL ||
        ret_future == NULL)
        return HORA_EINVAL;
    hora_pool *pool = hora__executor_pool(executor);
    if (pool != NULL)
        return hora_pool_submit(pool, task, ret_future);
    hora_future *future;
    int error = hora__future_new(task, executor->clock, &future);
    if (error < 0)
        return error;
    error = executor->execute(future, executor->arg);
    if (error < 0)
        hora__future_discard(future);
    else
        *ret_future = future;
    return error < 0 ? error : 0;
}
