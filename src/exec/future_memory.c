/* SPDX-License-Identifier: Apache-2.0 */
/* future_memory.c - futures in memory of the caller
 *
 * The caller may have the memory back once the last reference is gone. Whoever gives that one back resolves a waiter on the
 * caller's stack, as the last thing it does, and touches the future no more. */
#include <assert.h>
#include <stddef.h>

#include "exec/future.h"
#include "sync/clock.h"
#include "sync/wait.h"

int hora_future_init(hora_future_storage *storage, const hora_task *task, hora_future **ret_future)
{
    if (storage == NULL || task == NULL || task->run == NULL || ret_future == NULL)
        return HORA_EINVAL;
    hora_future *future = (hora_future *)(void *)storage;
    int error = hora__future_init(future, task, NULL, true);
    if (error == 0)
        *ret_future = future;
    return error;
}

void hora__future_gone(struct hora__waiter *reclaimer)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__waiter_resolve(reclaimer, 0, &wakes);
    hora__wakes_flush(&wakes);
}

/* Note who wants the memory back. HORA_EDEADLK if the task itself asks. */
static int note_reclaimer(hora_future *future, hora_thread *thread, struct hora__waiter *waiter)
{
    hora__mutex_lock(&future->object.lock);
    bool self = future->runner == thread;
    bool nobody_will = !hora_future_is_done(future) && future->runner == NULL && future->owner == NULL;
    if (!self)
        ((struct hora__lodger *)future)->reclaimer = waiter;
    hora__mutex_unlock(&future->object.lock);
    if (self)
        return HORA_EDEADLK;
    if (nobody_will)
        (void)hora_future_cancel(future, false);
    return 0;
}

int hora_future_reclaim(hora_future *future)
{
    hora_thread *thread;
    struct hora__waiter waiter;
    int error = future == NULL || !future->in_caller_memory ? HORA_EINVAL : hora__object_check(&future->object);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    hora__waiter_init(&waiter, thread, HORA_FOREVER);
    error = note_reclaimer(future, thread, &waiter);
    if (error < 0)
        return error;
    bool interrupted = false;
    hora__object_leave(&future->object);
    while (hora__waiter_park(&waiter, hora__clock_or_default(NULL), HORA_FOREVER) != HORA__WAKE_RESOLVED)
        interrupted |= hora__thread_take_interrupt(thread); /* kept for later: the memory is in use until then */
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return 0;
}
