/* SPDX-License-Identifier: Apache-2.0 */
/* find_clock_step.c - a report ran at a quarter past seven: did the program cause this, or the clock?
 *
 * A report runs at each full hour of the wall clock. The clock is set forward by two hours and, when this is
 * noticed, back again. The event `clock_stepped` reports each change before any task starts that has become
 * due because of it, and `started` reports how late the task was. Together they show that the clock was set,
 * by how much, and which runs this affected. */
#include <stdio.h>

#include <hora/hora.h>

static hora_virtual_clock *time_machine;
static int steps, runs;

/* Prints the time by the wall clock, and by a clock that cannot be set. */
static void begin_line(void)
{
    hora_ns wall = hora_clock_now(hora_virtual_clock_view(time_machine, HORA_CLOCK_WALL));
    hora_ns up = hora_clock_now(hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC));
    printf("wall %02d:%02d, up %d:%02d  ", (int)(wall / HORA_HOURS(1) % 24),
           (int)(wall / HORA_MINUTES(1) % 60), (int)(up / HORA_HOURS(1)), (int)(up / HORA_MINUTES(1) % 60));
}

static void on_clock_stepped(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    steps++;
    begin_line();
    printf("event: the clock was set by %+d min; tasks that became due by that: %d\n",
           (int)(event->stepped / HORA_MINUTES(1)), (int)event->count);
}

static void on_started(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line();
    printf("event: %s starts, %d min after its planned time\n", event->task->name,
           (int)(event->late / HORA_MINUTES(1)));
}

static int report(void *arg, void **ret_result)
{
    (void)arg;
    (void)ret_result;
    runs++;
    return 0;
}

int main(void)
{
    hora_scheduler *scheduler;
    hora_future *hourly;
    hora_error error;
    if (hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = {HORA_HOURS(16.5)}), &time_machine, NULL) <
        0)
        return 1;
    const hora_clock *clock = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    const hora_listener *listener = HORA_LISTENER(.started = on_started, .clock_stepped = on_clock_stepped);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = clock, .listener = listener),
                           &scheduler, &error) < 0 ||
        hora_scheduler_schedule_with(scheduler, HORA_TASK(report, NULL, .name = "report"),
                                     HORA_SCHEDULE(.cron = "0 0 * * * *", .zone = "UTC"), &hourly,
                                     &error) < 0) {
        puts(error.message);
        return 1;
    }
    int faults = hora_virtual_clock_run(time_machine, HORA_MINUTES(45)) < 0;
    faults += hora_virtual_clock_step_wall(time_machine, HORA_MINUTES(120)) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_MINUTES(30)) < 0;
    faults += hora_virtual_clock_step_wall(time_machine, -HORA_MINUTES(120)) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_MINUTES(60)) < 0;
    begin_line();
    printf("so: the clock was set, and %d min later set right again; the program did as it was told\n", 30);
    faults += hora_future_cancel(hourly, false) < 0;
    (void)hora_future_unref(hourly);
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(1)) < 0 || hora_scheduler_free(scheduler) != 0;
    return faults != 0 || steps != 2 || hora_virtual_clock_free(time_machine) < 0;
}
