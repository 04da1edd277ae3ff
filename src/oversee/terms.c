/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - tasks under terms: check them, and submit */
#include <stddef.h>

#include "base/options.h"
#include "oversee/oversight.h"
#include "sched/scheduler.h"

/* ---- checking ---- */

static const char *wrong_times(const hora_task_options *own)
{
    if (own->start_within < 0)
        return "start_by is negative";
    if (own->run_limit < 0)
        return "run_for is negative";
    if (own->stuck_after < 0)
        return "stuck_after is negative";
    return own->finish_within < 0 ? "done_by is negative" : NULL;
}

static const char *wrong_terms(const struct hora__oversight *oversight, const hora_task_options *own)
{
    if ((int)own->priority < HORA_PRIORITY_LOW || own->priority > HORA_PRIORITY_URGENT)
        return "priority is none of the HORA_PRIORITY_ levels";
    if (own->task_class != NULL && own->task_class->oversight != oversight)
        return "task_class is a class of another pool";
    if (own->replace_stuck && own->stuck_after == 0 && oversight->options.stuck_after == 0)
        return "replace has no effect: neither the terms nor the pool have a stuck_after";
    return wrong_times(own);
}

static bool is_steered_by(const hora_task_options *own)
{
    return own->task_class != NULL || own->key != 0 || own->priority != HORA_PRIORITY_NORMAL;
}

static int check(hora_pool *pool, const hora_task_options *terms, const char **ret_reason)
{
    hora_task_options own;
    *ret_reason = "the pool is NULL, or of a process that has forked";
    int error = hora__pool_check(pool);
    if (error < 0)
        return error;
    *ret_reason = "struct_size is wrong: start from HORA_TASK_OPTIONS or HORA_INIT(hora_task_options)";
    if (terms == NULL || hora__options_copy(&own, sizeof own, sizeof own, terms) < 0)
        return HORA_EINVAL;
    const struct hora__oversight *oversight = hora__pool_oversight(pool);
    *ret_reason = "this pool has no oversight: see hora_pool_options";
    if (oversight == NULL)
        return HORA_ENOTSUP;
    *ret_reason = "task_class, key and priority have no effect: the pool is not steered, see hora_oversight";
    if (pool->turns == NULL && is_steered_by(&own))
        return HORA_ENOTSUP;
    *ret_reason = wrong_terms(oversight, &own);
    return *ret_reason != NULL ? HORA_EINVAL : 0;
}

int hora_task_options_check(hora_pool *pool, const hora_task_options *terms, const char **reterr_reason)
{
    const char *reason;
    int error = check(pool, terms, &reason);
    if (error < 0 && reterr_reason != NULL)
        *reterr_reason = reason;
    return error;
}

/* ---- keys ---- */

/* FNV-1a, and a mixer, so that texts which differ in little have keys that differ in much. */
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

static int submit(hora_pool *pool, const hora_task *task, const hora_task_options *terms, hora_future **ret_future)
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

int hora_pool_submit_with(hora_pool *pool, const hora_task *task, const hora_task_options *terms,
                          hora_future **ret_future)
{
    int error = hora_task_options_check(pool, terms, NULL);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (hora__scheduler_of(pool) != NULL)
        return hora_scheduler_schedule_with(pool, task, HORA_SCHEDULE(.options = terms), ret_future);
    return submit(pool, task, terms, ret_future);
}
