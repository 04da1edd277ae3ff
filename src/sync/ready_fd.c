/* SPDX-License-Identifier: Apache-2.0 */
/* ready_fd.c - one descriptor over an event, a timer of the machine or an alarm of a virtual clock */
#include "sync/ready_fd.h"

#include <assert.h>

#include "sys/event.h"

/* Opens a timer descriptor of the machine. Returns 0 or the error. */
static int init_timer(struct hora__ready_fd *ready, enum hora__timeline timeline)
{
    int fd = hora__timer_fd_new(timeline);
    ready->as.timer_fd = fd;
    return fd < 0 ? fd : 0;
}

/* Chooses the cheapest descriptor that can do what the caller needs. On error it stays closed, and the caller
 * may try again. */
int hora__ready_fd_init(struct hora__ready_fd *ready, const hora_clock *clock, bool timed)
{
    enum hora__ready_kind kind;
    int error;
    if (!timed) {
        kind = HORA__READY_EVENT;
        error = hora__event_init(&ready->as.event);
    } else if (clock->source != NULL) {
        kind = HORA__READY_ALARM;
        error = hora__alarm_init(&ready->as.alarm, clock);
    } else {
        kind = HORA__READY_TIMER;
        error = init_timer(ready, clock->timeline);
    }
    ready->kind = error < 0 ? HORA__READY_NONE : kind;
    ready->from = HORA_FOREVER;
    return error;
}

/* Resets the kind, so that a second call is harmless. */
void hora__ready_fd_destroy(struct hora__ready_fd *ready, const hora_clock *clock)
{
    switch (ready->kind) {
    case HORA__READY_NONE:
        break;
    case HORA__READY_EVENT:
        hora__event_destroy(&ready->as.event);
        break;
    case HORA__READY_TIMER:
        hora__timer_fd_free(ready->as.timer_fd);
        break;
    case HORA__READY_ALARM:
        hora__alarm_destroy(&ready->as.alarm, clock);
        break;
    }
    ready->kind = HORA__READY_NONE;
}

/* Callers set the time after every change of their object. The comparison with the time that was last set
 * saves the system call if nothing has changed. */
void hora__ready_fd_set(struct hora__ready_fd *ready, const hora_clock *clock, hora_ns from)
{
    if (ready->kind == HORA__READY_NONE || ready->from == from)
        return;
    assert(ready->kind != HORA__READY_EVENT || from == HORA__READY_NOW || from == HORA_FOREVER);
    ready->from = from;
    switch (ready->kind) {
    case HORA__READY_NONE:
        break;
    case HORA__READY_EVENT:
        hora__event_set(&ready->as.event, from == HORA__READY_NOW);
        break;
    case HORA__READY_TIMER:
        hora__timer_fd_arm(ready->as.timer_fd, from);
        break;
    case HORA__READY_ALARM:
        hora__alarm_set(&ready->as.alarm, clock, from);
        break;
    }
}

/* The descriptor does not change while it is open, whatever times are set. */
int hora__ready_fd_get(const struct hora__ready_fd *ready)
{
    switch (ready->kind) {
    case HORA__READY_EVENT:
        return ready->as.event.fd;
    case HORA__READY_TIMER:
        return ready->as.timer_fd;
    case HORA__READY_ALARM:
        return ready->as.alarm.event.fd;
    case HORA__READY_NONE:
    default:
        return -1;
    }
}
