/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c - the same two tasks on schedulers with 0, 1 and 2 core threads
 *
 * The first task starts after 1 s and does not end until it is interrupted. The second wants to count after 2
 * s. After 6 s the first is cancelled, and 10 s later the scheduler is shut down. With one thread the counter
 * has to wait for the first task to end; with two it is on time. With no core thread there is still one
 * thread, but only as long as there is something to do. Time is virtual. */
#include <stdio.h>

#include <hora/hora.h>

static hora_virtual_clock *time_machine;
static const hora_clock *view;

static double seconds(void)
{
    return (double)hora_clock_now(view) / 1e9;
}

static int run_endlessly(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    printf("  %4.1f s  the endless task begins\n", seconds());
    int why = hora_clock_sleep(view, HORA_FOREVER);
    printf("  %4.1f s  the endless task ends: %s\n", seconds(), hora_strerror(why));
    return why;
}

static int count(void *counter, void **ret_result)
{
    (void)ret_result;
    printf("  %4.1f s  the counter counts to %d\n", seconds(), ++*(int *)counter);
    return 0;
}

static void show_threads(hora_scheduler *scheduler)
{
    hora_pool_stats stats = HORA_INIT(hora_pool_stats);
    if (hora_pool_get_stats(scheduler, &stats) == 0)
        printf("  %4.1f s  %s, %d threads, %d active, %d queued\n", seconds(),
               stats.state == HORA_POOL_TERMINATED ? "Terminated" : "Running", stats.threads, stats.active,
               stats.queued);
}

/* Runs both tasks on one scheduler. Returns how many calls failed. */
static int live(int core_threads)
{
    int counter = 0, faults = 0;
    hora_scheduler *scheduler;
    hora_future *endless;
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    view = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = core_threads, .clock = view), &scheduler,
                           NULL) < 0)
        return 1;
    printf("%d core threads\n", core_threads);
    faults +=
        hora_scheduler_schedule(scheduler, HORA_TASK(run_endlessly, NULL), HORA_SECONDS(1), &endless) < 0;
    faults += hora_scheduler_schedule(scheduler, HORA_TASK(count, &counter), HORA_SECONDS(2), NULL) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(6)) < 0;
    show_threads(scheduler);
    faults += hora_future_cancel(endless, true) != HORA_CANCEL_INTERRUPTED;
    faults += hora_virtual_clock_run(time_machine, HORA_SECONDS(10)) < 0;
    show_threads(scheduler);
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(1)) < 0;
    show_threads(scheduler);
    (void)hora_future_unref(endless);
    faults += hora_scheduler_free(scheduler) != 0;
    faults += hora_virtual_clock_free(time_machine) < 0;
    return faults + (counter != 1);
}

int main(void)
{
    int faults = live(0) + live(1) + live(2);
    return faults != 0;
}
