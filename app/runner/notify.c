/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - tell systemd how the runner is */
#include "runner/notify.h"

#ifdef HORA_WITH_SYSTEMD

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "command.h"

enum { STATUS_TEXT = 500 };

struct watchdog {
    struct loop_timer timer;
    hora_ns every;
};

/* A message that systemd does not get is not worth an event: without READY=1 it reports that itself. */
void notify_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
    /* The time is for Type=notify-reload; it is that of CLOCK_MONOTONIC, also with a virtual clock. */
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(hora_clock_now(NULL) / 1000));
}

void notify_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void notify_status(const char *format, ...)
{
    char text[STATUS_TEXT];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text[strcspn(text, "\n")] = '\0'; /* a further line would be a further message */
    (void)sd_notifyf(0, "STATUS=%s", text);
}

static void watchdog_due(void *arg)
{
    struct watchdog *watchdog = arg;
    (void)sd_notify(0, "WATCHDOG=1");
    loop_timer_start(&watchdog->timer, watchdog->every);
}

struct watchdog *watchdog_new(struct loop *loop)
{
    uint64_t microseconds;
    if (sd_watchdog_enabled(0, &microseconds) <= 0)
        return NULL;
    struct watchdog *watchdog = memory(sizeof *watchdog);
    watchdog->every =
        microseconds / 2 > HORA_FOREVER / 1000 ? HORA_FOREVER : (hora_ns)(microseconds / 2) * 1000;
    loop_timer_init(&watchdog->timer, loop, watchdog_due, watchdog);
    loop_timer_start(&watchdog->timer, 0);
    return watchdog;
}

void watchdog_free(struct watchdog *watchdog)
{
    if (watchdog == NULL)
        return;
    loop_timer_cancel(&watchdog->timer);
    loop_timer_free(&watchdog->timer);
    free(watchdog);
}

#else

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *format, ...)
{
    (void)format;
}

struct watchdog *watchdog_new(struct loop *loop)
{
    (void)loop;
    return NULL;
}

void watchdog_free(struct watchdog *watchdog)
{
    (void)watchdog;
}

#endif
