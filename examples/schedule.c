/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - a schedule with rules for failures, missed runs and many tasks at the same time
 *
 * Two feeds are polled every 5 minutes. Both have the same times, so a spread of a minute separates them:
 * each has an offset that is computed from its name, the same after every start. The news feed is down for
 * half an hour: its polls back off, and return to their planned times when it works again. Then the machine
 * is suspended for two hours: the scheduler reports this, and one poll of each feed makes up for all that
 * were missed. The clock is virtual, so three hours pass in a moment. */
#include <stdio.h>

#include <hora/hora.h>

struct feed {
    const char *name;
    hora_ns broken_from;
    hora_ns broken_until;
    int polls;
};

static hora_virtual_clock *time_machine;

static hora_ns boot_time(void)
{
    return hora_clock_now(hora_virtual_clock_view(time_machine, HORA_CLOCK_BOOTTIME));
}

static void print_time(void)
{
    int64_t s = boot_time() / HORA_SECONDS(1);
    printf("%d:%02d:%02d  ", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

static int poll_feed(void *arg, void **ret_result)
{
    struct feed *feed = arg;
    (void)ret_result;
    feed->polls++;
    print_time();
    bool broken = boot_time() >= feed->broken_from && boot_time() < feed->broken_until;
    printf("%s: %s\n", feed->name, broken ? "no answer" : "polled");
    return broken ? 503 : 0;
}

static void poll_failed(hora_scheduler *scheduler, const hora_event *event, void *arg)
{
    (void)scheduler;
    (void)arg;
    print_time();
    printf("  failed with %d, %d in a row, %s\n", event->code, (int)event->failures_in_a_row,
           event->ends ? "the last time" : "will be tried again");
}

static void clocks_parted(hora_scheduler *scheduler, const hora_event *event, void *arg)
{
    (void)scheduler;
    (void)arg;
    print_time();
    printf("the machine was suspended for %d minutes: %d tasks are overdue\n",
           (int)(event->suspended / HORA_MINUTES(1)), (int)event->count);
}

static int start(hora_scheduler *scheduler, struct feed *feed, hora_future **ret_future, hora_error *error)
{
    return hora_scheduler_schedule_with(
        scheduler, HORA_TASK(poll_feed, feed),
        HORA_SCHEDULE(.fixed_rate = HORA_MINUTES(5), .clock = HORA_CLOCK_BOOTTIME, .missed = HORA_MISSED_ONCE,
                      .spread = HORA_MINUTES(1), .failure = HORA_FAILURE_BACK_OFF,
                      .back_off = HORA_MINUTES(4), .back_off_max = HORA_MINUTES(30), .stop_after = 10,
                      .name = feed->name),
        ret_future, error);
}

static int end(struct feed *feed, hora_future *future)
{
    hora_schedule_info info = HORA_INIT(hora_schedule_info);
    int faults = hora_future_get_schedule_info(future, &info) < 0;
    printf("%s: %d runs, %d failed, %d planned times skipped\n", feed->name, (int)info.runs,
           (int)info.failures, (int)info.skipped);
    faults += info.runs != feed->polls || hora_future_cancel(future, false) != HORA_CANCEL_REMOVED;
    (void)hora_future_unref(future);
    return faults;
}

int main(void)
{
    struct feed news = {"news", HORA_MINUTES(10), HORA_MINUTES(40), 0}, weather = {"weather", 0, 0, 0};
    hora_future *first, *second;
    hora_scheduler *scheduler;
    hora_error error;
    if (hora_virtual_clock_new(NULL, &time_machine, NULL) < 0)
        return 1;
    const hora_clock *clock = hora_virtual_clock_view(time_machine, HORA_CLOCK_MONOTONIC);
    const hora_listener *listener = HORA_LISTENER(.failed = poll_failed, .clock_stepped = clocks_parted);
    if (hora_scheduler_new(HORA_SCHEDULER_OPTIONS(.core_threads = 1, .clock = clock, .listener = listener),
                           &scheduler, &error) < 0 ||
        start(scheduler, &news, &first, &error) < 0 || start(scheduler, &weather, &second, &error) < 0) {
        puts(error.message);
        return 1;
    }
    int faults = hora_virtual_clock_run(time_machine, HORA_MINUTES(65)) < 0;
    faults += hora_virtual_clock_suspend(time_machine, HORA_HOURS(2)) < 0;
    faults += hora_virtual_clock_run(time_machine, HORA_MINUTES(10)) < 0;
    faults += end(&news, first) + end(&weather, second);
    faults += hora_scheduler_close_for(scheduler, HORA_SECONDS(1)) < 0 || hora_scheduler_free(scheduler) != 0;
    return faults != 0 || hora_virtual_clock_free(time_machine) < 0;
}
