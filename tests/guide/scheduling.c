/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling.c - around fragments of docs/guide/scheduling.md */
#include <hora/hora.h>

static int count(void *arg, void **ret_result)
{
    (void)ret_result;
    ++*(int *)arg;
    return 0;
}

#define expire count
#define sample count
#define sweep  count
#define poll   count

int main(void)
{
    static int expired, sampled, swept, polled;
    int *session = &expired, *sensor = &sampled, *cache = &swept, *feed = &polled;
    hora_future *future;
    /* fragment */
    hora_future *once = future;
    /* fragment */
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    if (hora_future_get_schedule_info(future, &info) < 0 || !hora_future_is_periodic(future) ||
        hora_future_cancel(once, false) != HORA_CANCEL_REMOVED)
        return 1;
    hora_future_unref(once);
    hora_future_unref(future);
    /* fragment */
}
