/* SPDX-License-Identifier: Apache-2.0 */
/* measure_support.c - see measure_support.h */
#include "measure_support.h"

int work_run(void *arg, void **ret_result)
{
    const struct work *work = arg;
    (void)ret_result;
    if (work->lasts > 0)
        CHECK_OK(hora_clock_sleep(work->rig->f.view, work->lasts));
    return work->code;
}

hora_distribution measured(struct rig *r, const char *name, hora_metric measure)
{
    hora_distribution distribution = HORA_INIT(hora_distribution);
    CHECK_OK(hora_pool_get_distribution(r->pool, name, measure, &distribution));
    CHECK_INT(distribution.struct_size, sizeof distribution);
    return distribution;
}

hora_counts counted(struct rig *r, const char *name)
{
    hora_counts counts = HORA_INIT(hora_counts);
    CHECK_OK(hora_pool_get_counts(r->pool, name, &counts));
    CHECK_INT(counts.struct_size, sizeof counts);
    return counts;
}

void check_distribution(const char *file, int line, struct rig *r, const char *name, hora_metric measure,
                        const hora_distribution *want)
{
    hora_distribution values = measured(r, name, measure);
    test_check_int(file, line, "count", values.count, want->count);
    test_check_int(file, line, "sum", values.sum, want->sum);
    test_check_int(file, line, "max", values.max, want->max);
}

int submit_unseen(hora_pool *pool, const hora_task *task)
{
    hora_future *future;
    int error = hora_pool_submit(pool, task, &future);
    if (error == 0)
        (void)hora_future_unref(future);
    return error;
}
