/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - tell systemd how the runner is
 *
 * For a unit with Type=notify: see sd_notify(3). All functions do nothing if systemd has not started the
 * runner (there is no NOTIFY_SOCKET), or if the command was built without libsystemd. */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

#include "runner/loop.h"

void notify_ready(void);     /* after the start, and after each reload */
void notify_reloading(void); /* before a reload */
void notify_stopping(void);
/* A line for `systemctl status`. */
__attribute__((format(printf, 1, 2))) void notify_status(const char *format, ...);

/* Tells systemd regularly that the loop runs, if the unit asks for it (WatchdogSec). Twice in the time that is
 * allowed; systemd ends a runner whose loop has stood still for longer. Returns NULL if the unit does not. */
struct watchdog *watchdog_new(struct loop *loop);
void watchdog_free(struct watchdog *watchdog);

#endif
