/* SPDX-License-Identifier: Apache-2.0 */
/* future_new.c - making futures in memory of hora's own; and those that nobody else has seen yet */
#include <assert.h>
#include <stddef.h>

#include "exec/extra.h"
#include "exec/future.h"
#include "exec/spares.h"
#include "sys/alloc.h"

int hora__future_init(hora_future *future, const hora_task *task, const hora_clock *clock, bool in_caller_memory)
{
    int error = hora__object_init(&future->object, clock, hora__future_destroy);
    if (error == 0)
        hora__future_init_rest(future, task, in_caller_memory);
    return error;
}

int hora__future_init_beside(hora_future *future, const hora_task *task, const struct hora__object *other)
{
    int error = hora__object_init_beside(&future->object, other, hora__future_destroy);
    if (error == 0)
        hora__future_init_rest(future, task, false);
    return error;
}

int hora__future_new(const hora_task *task, const hora_clock *clock, hora_future **ret_future)
{
    hora_future *future = hora__spares_get(HORA__KEPT_PLAIN, sizeof *future);
    if (future == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init(future, task, clock, false);
    if (error < 0)
        hora__spares_put(HORA__KEPT_PLAIN, future);
    else
        *ret_future = future;
    return error;
}

int hora__future_new_beside(const hora_task *task, const struct hora__object *other, struct hora__depot *depot,
                            hora_future **ret_future)
{
    hora_future *future = hora__depot_get(depot, HORA__KEPT_PLAIN, sizeof *future);
    if (future == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init_beside(future, task, other);
    if (error < 0)
        hora__spares_put(HORA__KEPT_PLAIN, future);
    else
        *ret_future = future;
    return error;
}

int hora__future_new_bound(const hora_task *task, const hora_clock *clock, struct hora__extra *extra,
                           hora_future **ret_future)
{
    struct hora__bound *bound = hora__alloc(1, sizeof *bound);
    if (bound == NULL)
        return HORA_ENOMEM;
    int error = hora__future_init(&bound->future, task, clock, false);
    if (error < 0) {
        hora__free(bound);
        return error;
    }
    bound->future.kind = HORA__FUTURE_BOUND;
    bound->extra = extra;
    *ret_future = &bound->future;
    return 0;
}

int hora_future_new(const hora_task *task, hora_future **ret_future)
{
    if (task == NULL || task->run == NULL || ret_future == NULL)
        return HORA_EINVAL;
    return hora__future_new(task, NULL, ret_future);
}

int hora_future_new_promise(void (*drop_result_fn)(void *result), hora_future **ret_future)
{
    if (ret_future == NULL)
        return HORA_EINVAL;
    return hora__future_new(&(hora_task){.drop_result = drop_result_fn}, NULL, ret_future);
}

void hora__future_unborn(hora_future *future)
{
    hora__atomic_init(&future->object.references, 1);
    future->owner = NULL;
    future->entries = 0;
}

void hora__future_forget(hora_future *future)
{
    future->owes_drop = false;
    (void)hora_future_unref(future);
}
