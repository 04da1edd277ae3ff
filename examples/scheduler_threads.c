/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_threads.c - how many threads a scheduler has
 *
 * Each scheduled task adds a thread until there are core_threads. There is always one while anything is
 * scheduled, however far away. There are never more, because the queue always has room. The tasks are hours
 * ahead, so none of them runs. */
#include <stdio.h>

#include <hora/hora.h>

enum { TASKS = 8, CORES = 6 };

static int do_nothing(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    return 0;
}

static int largest(hora_scheduler *scheduler)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    return hora_pool_get_stats(scheduler, &stats) < 0 ? -1 : stats.largest;
}

/* Prints a row of the table. Returns how many numbers differ from the expected ones. */
static int count_threads(int core_threads)
{
    hora_scheduler *scheduler;
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = core_threads, .cancel_delayed = true),
                           &scheduler, NULL) < 0)
        return 1;
    int faults = 0, most = core_threads > 0 ? core_threads : 1;
    printf("%4d |%3d", core_threads, largest(scheduler));
    for (int tasks = 1; tasks <= TASKS; tasks++) {
        faults +=
            hora_scheduler_schedule(scheduler, HORA_TASK(do_nothing, NULL), HORA_HOURS(tasks), NULL) < 0;
        printf("%3d", largest(scheduler));
        faults += largest(scheduler) != (tasks < most ? tasks : most);
    }
    puts("");
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(10)) < 0;
    return faults + (hora_scheduler_free(scheduler) != 0);
}

int main(void)
{
    int faults = 0;
    puts("core | threads after 0, 1, 2 ... tasks");
    for (int core_threads = 0; core_threads < CORES; core_threads++)
        faults += count_threads(core_threads);
    return faults != 0;
}
