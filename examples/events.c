/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - a listener receives events about what a scheduler does, and what it does not do
 *
 * A backup runs every hour, and one of them fails. Then the machine is suspended for three hours: the clocks
 * diverge, the next backup starts late, and two planned times are skipped. A task that is submitted after the
 * shutdown is refused. The clock is virtual. */
#include <stdio.h>

#include <hora/hora.h>

static hora_virtual_clock *time_machine;
static int told;

static void begin_line(const char *what, const hora_event *event)
{
    hora_ns now = hora_clock_now(hora_virtual_clock_view(time_machine, HORA_CLOCK_BOOTTIME));
    printf("%2d:%02d  %-13s  %-6s ", (int)(now / HORA_HOURS(1)), (int)(now / HORA_MINUTES(1) % 60), what,
           event->task != NULL ? event->task->name : "");
    told++;
}

static void on_started(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("started", event);
    printf("by worker %d\n", event->worker);
}

static void on_done(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("done", event);
    printf("after %d minutes\n", (int)(event->ran / HORA_MINUTES(1)));
}

static void on_failed(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("failed", event);
    printf("with code %d after %d minutes\n", event->code, (int)(event->ran / HORA_MINUTES(1)));
}

static void on_rejected(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("rejected", event);
    printf("because %s\n", event->why);
}

static void on_skipped(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("skipped", event);
    printf("%d planned times\n", (int)event->count);
}

static void on_woke_late(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("woke_late", event);
    printf("by %d minutes\n", (int)(event->late / HORA_MINUTES(1)));
}

static void on_clock_stepped(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    (void)arg;
    begin_line("clock_stepped", event);
    printf("the machine slept for %d minutes, by which %d task became due\n",
           (int)(event->suspended / HORA_MINUTES(1)), (int)event->count);
}

static int back_up(void *arg, void **ret_result)
{
    int *runs = arg;
    (void)ret_result;
    ++*runs;
    if (hora_clock_sleep(hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC), HORA_MINUTES(5)) < 0)
        return 2;
    return *runs == 2 ? 28 : 0; /* no space left on device */
}

int main(void)
{
    int runs = 0;
    hora_scheduler *scheduler;
    hora_future *backup;
    hora_error error;
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    const hora_clock *clock = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    const hora_listener *listener =
        HORA_LISTENER(.started = on_started, .done = on_done, .failed = on_failed, .rejected = on_rejected,
                      .skipped = on_skipped, .woke_late = on_woke_late, .clock_stepped = on_clock_stepped);
    const hora_schedule *hourly =
        HORA_SCHEDULE(.fixed_rate = HORA_HOURS(1), .clock = HORA_CLOCK_BOOTTIME, .missed = HORA_MISSED_ONCE,
                      .failure = HORA_FAILURE_CONTINUE, .name = "backup");
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = clock, .listener = listener),
                           &scheduler, &error) < 0 ||
        hora_scheduler_schedule_with(scheduler, HORA_TASK(back_up, &runs), hourly, &backup, &error) < 0) {
        puts(error.message);
        return 1;
    }
    int faults = hora_virtual_clock_run(time_machine, HORA_MINUTES(90)) < 0;
    faults += hora_virtual_clock_suspend(time_machine, HORA_HOURS(3)) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_MINUTES(10)) < 0;
    faults += hora_future_cancel(backup, false) < 0;
    (void)hora_future_unref(backup);
    faults += hora_scheduler_shutdown(scheduler) < 0;
    faults += hora_pool_execute(scheduler, HORA_TASK(back_up, &runs, .name = "late")) != HORA_EREJECTED;
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(1)) < 0 || hora_scheduler_free(scheduler) != 0;
    faults += runs != 3 || told != 10;
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
