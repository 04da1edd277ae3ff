/* SPDX-License-Identifier: Apache-2.0 */
/* measure_support.h - shared by the tests of metrics */
#ifndef HORA_TESTS_API_MEASURE_SUPPORT_H
#define HORA_TESTS_API_MEASURE_SUPPORT_H

#include <hora/metrics.h>

#include "scheduler_support.h"

/* A task that takes its time. */
struct work {
    struct rig *rig;
    hora_ns lasts;
    int code;
};

int work_run(void *work, void **ret_result);

#define WORK(work, label) HORA_TASK(work_run, (work), .name = (label))

#define OPEN_MEASURED(r, ...) rig_open((r), false, HORA_POOL_OPTIONS(.metrics = HORA_METRICS(), __VA_ARGS__))

/* Submit it, and give the future back. */
int submit_unseen(hora_pool *pool, const hora_task *task);

hora_distribution measured(struct rig *r, const char *name, hora_metric measure);
hora_counts counted(struct rig *r, const char *name);

void check_distribution(const char *file, int line, struct rig *r, const char *name, hora_metric measure,
                        const hora_distribution *want);
#define CHECK_MEASURE(r, name, measure, of, all, most)                         \
    check_distribution(__FILE__, __LINE__, (r), (name), HORA_METRIC_##measure, \
                       &(hora_distribution){.count = (of), .sum = (all), .max = (most)})

#endif
