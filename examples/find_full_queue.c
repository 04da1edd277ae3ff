/* SPDX-License-Identifier: Apache-2.0 */
/* find_full_queue.c - orders are lost: where, and why?
 *
 * A shop submits orders to a pool with room for three, and now and then one is lost. The event `rejected`
 * says which order, where it was submitted, and why. hora_future_explain says what the waiting tasks are
 * waiting for, and hora_pool_workers what the threads are doing: both are held up by one slow kind of task.
 * The queue is full because the printer is slow, not because there are too many orders. */
#line 8 "find_full_queue.c" /* independent of the build directory */
#include <stdio.h>

#include <hora/hora.h>

enum { ORDERS = 5 };

static hora_virtual_clock *time_machine;
static int lost;

static void on_rejected(hora_pool *pool, const hora_event *event, void *arg)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    (void)arg;
    lost++;
    printf("event: %s was refused, %s", event->task->name, event->why);
    if (hora_pool_get_stats(pool, &stats) == 0)
        printf("; %d threads, %d of them busy, %d tasks queued", stats.threads, stats.active, stats.queued);
    printf("\n");
}

static int take_time(void *arg, void **ret_result)
{
    const hora_ns *time = arg;
    (void)ret_result;
    return hora_clock_sleep(hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC), *time) < 0 ? 1 : 0;
}

static int show_workers(hora_pool *pool)
{
    hora_worker_info workers[2] = {HORA_INIT(hora_worker_info)};
    int count = hora_pool_workers(pool, workers, 2);
    for (int i = 0; i < count && i < 2; i++)
        printf("worker %d: %s for %d s\n", workers[i].number, workers[i].running ? workers[i].name : "idle",
               (int)(workers[i].running_for / HORA_SECONDS(1)));
    return count != 2;
}

/* Prints what the last waiting task is waiting for. */
static int explain(hora_future *future)
{
    char why[HORA_EXPLAIN_TEXT];
    int error = hora_future_explain(future, why, sizeof why);
    printf("explain: %s\n", why);
    return error < 0;
}

int main(void)
{
    hora_ns printing = HORA_MINUTES(2), ordering = HORA_SECONDS(1);
    hora_pool *pool;
    hora_future *orders[ORDERS] = {NULL}, *last = NULL;
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    if (hora_pool_new(HORA_POOL_OPTIONS(.core_threads = 2, .queue_capacity = 3,
                                        .clock = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC),
                                        .listener = HORA_LISTENER(.rejected = on_rejected)),
                      &pool, NULL) < 0)
        return 1;
    int faults = 0;
    for (int i = 0; i < 2; i++)
        faults += hora_pool_execute(pool, HORA_TASK(take_time, &printing, .name = "print")) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(40)) < 0;
    for (int i = 0; i < ORDERS; i++) {
        if (hora_pool_submit(pool, HORA_TASK(take_time, &ordering, .name = "order"), &orders[i]) == 0)
            last = orders[i];
        faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(5)) < 0;
    }
    faults += show_workers(pool) + explain(last);
    faults += hora_virtual_clock_run(time_machine, HORA_MINUTES(5)) < 0;
    printf("so: all threads print, and orders have to wait behind that; let printing have a pool, or a "
           "class, of its "
           "own\n");
    for (int i = 0; i < ORDERS; i++)
        (void)hora_future_unref(orders[i]);
    faults += hora_pool_close_for(pool, HORA_SECONDS(1)) < 0 || hora_pool_free(pool) != 0;
    return faults != 0 || lost != 2 || hora_virtual_clock_free(time_machine) < 0;
}
