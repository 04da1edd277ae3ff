/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c - submitting over whatever can execute a future */
#include <hora/executor.h>

#include <stddef.h>

#include "exec/pool.h"

static int execute_on_pool(hora_future *future, void *self)
{
    return hora_pool_execute_future(self, future);
}

hora_executor hora_pool_executor(hora_pool *pool)
{
    if (pool == NULL)
        return (hora_executor){.execute = NULL};
    return (hora_executor){.execute = execute_on_pool, .arg = pool, .clock = pool->object.clock};
}

int hora_executor_submit(const hora_executor *executor, const hora_task *task, hora_future **ret_future)
{
    if (executor == NULL || executor->execute == NULL || task == NULL || task->run == NULL || ret_future == NULL)
        return HORA_EINVAL;
    hora_future *future;
    int error = hora__future_new(task, executor->clock, &future);
    if (error < 0)
        return error;
    error = executor->execute(future, executor->arg);
    if (error < 0)
        hora__future_forget(future);
    else
        *ret_future = future;
    return error < 0 ? error : 0;
}
