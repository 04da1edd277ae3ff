/* SPDX-License-Identifier: Apache-2.0 */
/* cron.c - around the first fragment of docs/guide/cron.md */
#include <stdio.h>

#include <hora/hora.h>

static int report(void *arg, void **ret_result)
{
    (void)arg, (void)ret_result;
    return 0;
}

int main(void)
{
    hora_scheduler *scheduler;
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL) < 0)
        return 1;
    /* fragment */
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(scheduler, &stats) < 0 || stats.queued != 1)
        return 1;
    return hora_scheduler_close_for(scheduler, HORA_SECONDS(5)) < 0 || hora_scheduler_free(scheduler) != 0;
}
