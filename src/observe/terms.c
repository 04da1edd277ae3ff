/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - submitting tasks with task options, checking these options, and making keys from texts
 *
 * Inside the library the options of a task are called its terms, to distinguish them from those of the
 * pool. */
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "observe/observer.h"
#include "sched/scheduler.h"

/* ---- checking ---- */

/* The functions check_... return 0, or HORA_EINVAL with the reason. */

/* Checks that no time limit is negative. */
static int check_times(const hora_task_options *own, hora_error *reason)
{
    int error = hora__refuse_negative(reason, own->start_within, "start_within");
    if (error == 0)
        error = hora__refuse_negative(reason, own->run_limit, "run_limit");
    if (error == 0)
        error = hora__refuse_negative(reason, own->stuck_after, "stuck_after");
    return error < 0 ? error : hora__refuse_negative(reason, own->finish_within, "finish_within");
}

/* Checks the options of a task for a pool that has an observer. */
static int check_options(const struct hora__pool_observer *pool_observer, const hora_task_options *own,
                         hora_error *reason)
{
    if ((int)own->priority < HORA_PRIORITY_LOW || own->priority > HORA_PRIORITY_URGENT)
        return hora__refuse(reason, HORA_EINVAL, "priority",
                            "priority is %d, which is not a HORA_PRIORITY_ value", (int)own->priority);
    if (own->task_class != NULL && own->task_class->pool_observer != pool_observer)
        return hora__refuse(reason, HORA_EINVAL, "task_class", "task_class, %s, is a class of another pool",
                            own->task_class->name);
    if (own->replace_stuck && own->stuck_after == 0 && pool_observer->options.stuck_after == 0)
        return hora__refuse(reason, HORA_EINVAL, "replace_stuck",
                            "replace_stuck has no effect: neither the task options nor the pool's watchdog "
                            "have a stuck_after");
    return check_times(own, reason);
}

/* Returns whether one of the options has an effect only in a pool with admission. */
static bool wants_admission(const hora_task_options *own)
{
    return own->task_class != NULL || own->key != 0 || own->priority != HORA_PRIORITY_NORMAL;
}

/* Refuses options that would have no effect in this pool, rather than ignoring them: the caller relies on
 * them. */
int hora_task_options_check(hora_pool *pool, const hora_task_options *options, hora_error *reason)
{
    hora_task_options own;
    hora__reason_begin(reason);
    int error = hora__pool_check(pool);
    if (error < 0)
        return hora__refuse(reason, error, NULL, "the pool is NULL or belongs to the parent process");
    if (options == NULL || HORA__TAKE(hora_task_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_task_options");
    const struct hora__pool_observer *pool_observer = hora__pool_get_observer(pool);
    if (pool->admission == NULL && wants_admission(&own))
        return hora__refuse(
            reason, HORA_ENOTSUP,
            own.task_class != NULL ? "task_class"
            : own.key != 0         ? "key"
                                   : "priority",
            "task_class, key and priority have no effect: the pool has no admission, see hora_pool_options");
    if (pool_observer == NULL)
        return hora__refuse(reason, HORA_ENOTSUP, NULL,
                            "task options have no effect: the pool has no watchdog, see hora_pool_options");
    return check_options(pool_observer, &own, reason);
}

/* ---- keys ---- */

/* FNV-1a, followed by the mixer of SplitMix64, so that similar texts have keys that differ in many bits. The
 * result for a text is never 0, which means no key. */
uint64_t hora_key_of(const char *text)
{
    if (text == NULL)
        return 0;
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    key ^= key >> 31;
    return key != 0 ? key : 1;
}

/* ---- submitting ---- */

/* Submits a task to a plain pool. The limits of the task are prepared before it is queued, because that may
 * fail, and set afterwards, when it has been accepted; see limits.c. On error the task is the caller's
 * again. */
static int submit(hora_pool *pool, const hora_task *task, const hora_task_options *terms,
                  hora_future **ret_future)
{
    hora_future *future;
    int error = hora__pool_make_bound(pool, task, terms, &future);
    if (error < 0)
        return error;
    error = hora__extra_prepare(future);
    if (error == 0)
        error = hora__pool_place_fresh(pool, future);
    if (error < 0) {
        hora__future_forget(future);
        return error;
    }
    hora__extra_accepted(future);
    if (ret_future != NULL)
        *ret_future = future;
    else
        (void)hora_future_unref(future);
    return 0;
}

/* A scheduler runs the task once, without a delay. */
int hora_pool_submit_with(hora_pool *pool, const hora_task *task, const hora_task_options *options,
                          hora_future **ret_future, hora_error *reason)
{
    int error = hora_task_options_check(pool, options, reason);
    if (error < 0)
        return error;
    if (task == NULL || task->run == NULL)
        return hora__refuse(reason, HORA_EINVAL, "task", "there is no function to run");
    if (hora__scheduler_of(pool) != NULL)
        return hora_scheduler_schedule_with(pool, task, HORA_SCHEDULE(.options = options), ret_future,
                                            reason);
    return hora__reason_end(reason, submit(pool, task, options, ret_future));
}
