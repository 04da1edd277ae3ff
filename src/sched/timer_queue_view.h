/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_view.h - the entries of a timer queue in the order of their due times, for explain and dump
 *
 * All functions need the timer queue's lock, from the start of a view to its last use. A view reads each
 * clock once, so it compares all entries at one moment. */
#ifndef HORA_SCHED_TIMER_QUEUE_VIEW_H
#define HORA_SCHED_TIMER_QUEUE_VIEW_H

#include "sched/timer_queue.h"

/* One look at a timer queue. */
struct hora__timer_queue_view {
    hora_queue *queue;
    /* The time of each timeline when the view began. */
    hora_ns now[3];
    /* No entry can be taken: a worker is notifying the observer that the clocks have parted. */
    bool is_notifying;
};

/* Begins a view: absorbs the lanes and reads the clocks. */
void hora__timer_queue_view_begin(struct hora__timer_queue_view *view, hora_queue *queue);

/* Returns how far off the due time of an entry of the timer queue is. 0 or less: it is due; HORA_FOREVER: it
 * never is. */
hora_ns hora__timer_queue_view_off(const struct hora__timer_queue_view *view,
                                   const struct hora__entry *entry);

/* Returns how many due entries come before this one, which is in the timer queue. */
int hora__timer_queue_view_before(const struct hora__timer_queue_view *view, const struct hora__entry *entry);

/* Writes the first `max` of the due entries, or of the entries that are not due yet, in order; `max` is at
 * least 1. Returns how many were written. *ret_all is the number of all such entries. */
int hora__timer_queue_view_first(const struct hora__timer_queue_view *view, bool due,
                                 struct hora__entry **entries, int max, int *ret_all);

#endif
