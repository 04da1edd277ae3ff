/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - tell listeners what happens; and static probes at the same places */
#include "oversee/events.h"

#include <stddef.h>

void hora__events_started(struct hora__post *post, hora_future *future, const hora_task *task,
                          const struct hora__start *start)
{
    (void)post;
    (void)future;
    (void)task;
    (void)start;
}

void hora__events_ended(struct hora__post *post, hora_future *future, const hora_task *task, int code, hora_ns ran)
{
    (void)post;
    (void)future;
    (void)task;
    (void)code;
    (void)ran;
}

void hora__events_rejected(struct hora__overseer *overseer, hora_future *future, const hora_task *task)
{
    (void)overseer;
    (void)future;
    (void)task;
}

void hora__events_thread_failed(struct hora__overseer *overseer, int error)
{
    (void)overseer;
    (void)error;
}

void hora__events_skipped(struct hora__overseer *overseer, hora_future *future, int64_t count)
{
    (void)overseer;
    (void)future;
    (void)count;
}

void hora__events_clock_stepped(struct hora__overseer *overseer, hora_ns suspended, hora_ns stepped, int overdue)
{
    (void)overseer;
    (void)suspended;
    (void)stepped;
    (void)overdue;
}

void hora__events_expired(struct hora__oversight *oversight, hora_future *future, const char *why)
{
    (void)oversight;
    (void)future;
    (void)why;
}

void hora__events_stuck(struct hora__oversight *oversight, hora_future *future, const hora_event *event)
{
    (void)oversight;
    (void)future;
    (void)event;
}

void hora__events_resized(struct hora__oversight *oversight, int before, int after, const char *why)
{
    (void)oversight;
    (void)before;
    (void)after;
    (void)why;
}
