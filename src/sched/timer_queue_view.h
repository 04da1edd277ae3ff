/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_view.h - the entries of a timer queue in the order of their times, for explain and dump
 *
 * All functions need the timer queue's lock. A view shows one moment of all clocks. */
#ifndef HORA_SCHED_TIMER_QUEUE_VIEW_H
#define HORA_SCHED_TIMER_QUEUE_VIEW_H

#include "sched/timer_queue.h"

struct hora__timer_queue_view {
    hora_queue *queue;
    hora_ns now[3];  /* of each timeline */
    bool is_telling; /* nothing can be taken: a worker tells the observer that the clocks have parted */
};

/* Absorb the lanes, and read the clocks. */
void hora__timer_queue_view_begin(struct hora__timer_queue_view *view, hora_queue *queue);

/* How far off an entry of the timer queue is; 0 and less: it is due. HORA_FOREVER: never. */
hora_ns hora__timer_queue_view_off(const struct hora__timer_queue_view *view,
                                   const struct hora__entry *entry);

/* How many due entries are before this one, which is in the timer queue. */
int hora__timer_queue_view_before(const struct hora__timer_queue_view *view, const struct hora__entry *entry);

/* The first `max` of the due entries, or of those that are not due yet, in order; max is at least 1.
 * Returns how many were written; *ret_all is how many there are. */
int hora__timer_queue_view_first(const struct hora__timer_queue_view *view, bool due,
                                 struct hora__entry **entries, int max, int *ret_all);

#endif
