/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - tasks under terms: check them, and submit */
#include <stddef.h>

#include "base/options.h"
#include "oversee/oversight.h"
#include "sched/scheduler.h"

int hora_terms_check(hora_pool *pool, const hora_terms *terms, const char **reterr_reason)
{
    (void)reterr_reason;
    int error = hora__pool_check(pool);
    return error < 0 || terms != NULL ? error : HORA_EINVAL;
}

static int submit(hora_pool *pool, const hora_task *task, const hora_terms *terms, hora_future **ret_future)
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

int hora_pool_submit_with(hora_pool *pool, const hora_task *task, const hora_terms *terms, hora_future **ret_future)
{
    int error = hora_terms_check(pool, terms, NULL);
    if (error < 0 || task == NULL || task->run == NULL)
        return error < 0 ? error : HORA_EINVAL;
    if (hora__scheduler_of(pool) != NULL)
        return hora_schedule_with(pool, task, HORA_SCHEDULE(.terms = terms), ret_future);
    return submit(pool, task, terms, ret_future);
}
