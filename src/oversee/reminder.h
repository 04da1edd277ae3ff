/* SPDX-License-Identifier: Apache-2.0 */
/* reminder.h - something that the watch is to look at, at a time: see watch.h */
#ifndef HORA_OVERSEE_REMINDER_H
#define HORA_OVERSEE_REMINDER_H

#include <hora/event.h>

#include "timer/heap.h"

struct hora__oversight;
struct hora__reminder;

/* What is to be done once the lock of the watch is free: calls of the user, and of what has a lock of its own. It lies on the stack of
 * the watch's thread, and is copied from what may be gone by then. */
struct hora__deed {
    void (*act)(struct hora__deed *deed); /* NULL: nothing */
    struct hora__oversight *oversight;
    struct hora__reminder *reminder;
    hora_future *future; /* a reference, which passes to act; NULL: none */
    hora_ns now;
    hora_task task;   /* name and place of what is told of */
    hora_event event; /* stuck */
    int replaced_run; /* stuck: write the worker off, if it is still in this run; 0: do not */
};

struct hora__reminder {
    struct hora__timer_node timer; /* guarded by the lock of the watch */
    /* Its time has come; it is set no more. With the lock of the watch held. Returns when to look next, or HORA_FOREVER. */
    hora_ns (*look)(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed);
    /* The watch is at its end, and this was set: with no lock held. NULL: there is nothing to do. */
    void (*dropped)(struct hora__reminder *reminder);
};

#endif
