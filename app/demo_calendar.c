/* SPDX-License-Identifier: Apache-2.0 */
/* demo_calendar.c - cron on a clock that can be suspended
 *
 * The clock of the machine cannot be suspended for a demonstration. The calendar is therefore a second
 * scheduler, on a virtual clock. That clock starts at the real time, and the thread of the screen advances
 * it as far as the real clock has advanced. */
#include <stddef.h>
#include <stdio.h>

#include "demo.h"
#include "figures.h"

/* The listener counts early runs. The lateness is not shown: the clock advances only with the screen. */
static void on_started(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    struct demo *demo = arg;
    if (event->late < 0)
        (void)atomic_fetch_add(&demo->early, 1);
}

/* The clock was suspended. */
static void on_stepped(hora_pool *pool, const hora_event *event, void *arg)
{
    (void)pool;
    demo_log_add(arg, STYLE_WARN, "clock suspended for %s: %lld series became due",
                 DURATION(event->suspended), (long long)event->count);
}

/* Makes the virtual clock and its scheduler. */
static int make(struct demo *demo, hora_error *reterr_error)
{
    hora_instant wall;
    int error = hora_clock_instant(hora_clock_system(HORA_CLOCK_WALL), &wall);
    if (error < 0)
        return error;
    demo->clock_set = demo_now();
    error = hora_virtual_clock_new(HORA_VIRTUAL_CLOCK_OPTIONS(.wall = wall, .monotonic = demo->clock_set),
                                   &demo->clock, reterr_error);
    if (error < 0)
        return error;
    return hora_scheduler_new(
        HORA_SCHEDULER_OPTIONS(.core_threads = 1, .name = "calendar", .metrics = HORA_METRICS(),
                               .clock = hora_virtual_clock_view(demo->clock, HORA_CLOCK_MONOTONIC),
                               .listener = HORA_LISTENER(.started = on_started, .skipped = demo_on_skipped,
                                                         .clock_stepped = on_stepped, .arg = demo)),
        &demo->calendar, reterr_error);
}

int demo_calendar_start(struct demo *demo, const char **reterr_what, hora_error *reterr_error)
{
    *reterr_what = "the calendar";
    int error = make(demo, reterr_error);
    if (error == 0)
        error = hora_zone_new("local", NULL, &demo->zone, reterr_error);
    for (int i = DEMO_CALENDAR; i < DEMO_SERIES && error == 0; i++) {
        *reterr_what = demo->series[i].name;
        error = demo_series_start(demo, demo->calendar, i, reterr_error);
    }
    return error;
}

void demo_calendar_advance(struct demo *demo)
{
    hora_ns now = demo_now();
    (void)hora_virtual_clock_advance(demo->clock, now - demo->clock_set);
    demo->clock_set = now;
}

int demo_calendar_suspend(struct demo *demo)
{
    return hora_virtual_clock_suspend(demo->clock, HORA_HOURS(24));
}

void demo_calendar_time(struct demo *demo, char *text, size_t size)
{
    hora_instant instant;
    hora_local local;
    const hora_clock *wall = hora_virtual_clock_view(demo->clock, HORA_CLOCK_WALL);
    *text = '\0';
    if (hora_clock_instant(wall, &instant) == 0 && hora_zone_to_local(demo->zone, instant, &local) == 0)
        (void)snprintf(text, size, "%02d:%02d:%02d", local.hour, local.minute, local.second);
}

int demo_calendar_stop(struct demo *demo)
{
    /* Its tasks are short. A timeout would be one of the virtual clock, which stands still. */
    return demo->calendar != NULL ? hora_pool_close(demo->calendar) : 0;
}

void demo_calendar_free(struct demo *demo)
{
    if (demo->calendar != NULL)
        (void)hora_pool_free(demo->calendar);
    (void)hora_virtual_clock_free(demo->clock);
    (void)hora_zone_unref(demo->zone);
}
