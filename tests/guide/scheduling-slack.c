/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling-slack.c - around a fragment of docs/guide/scheduling.md */
#include <hora/hora.h>

static hora_latch *runs;

static int poll(void *arg, void **ret_result)
{
    (void)ret_result;
    ++*(int *)arg;
    return hora_latch_count_down(runs);
}

int main(void)
{
    hora_scheduler *scheduler;
    hora_future *future;
    int polled = 0;
    int *device = &polled;
    if (hora_latch_new(2, NULL, &runs, NULL) < 0 ||
        hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1), &scheduler, NULL) < 0)
        return 1;
    /* fragment */
    if (hora_latch_await(runs) < 0 || !hora_future_is_periodic(future))
        return 1;
    hora_future_cancel(future, false);
    hora_future_unref(future);
    return hora_scheduler_close(scheduler) < 0 || hora_scheduler_free(scheduler) != 0 || polled < 2 ||
           hora_latch_free(runs) < 0;
}
