/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_view.h - what is in an timer queue, in the order of its times, for those who only want to see it
 *
 * All with the timer queue's lock held. What stands in a view was true at one moment of all clocks. */
#ifndef HORA_SCHED_TIMER_QUEUE_VIEW_H
#define HORA_SCHED_TIMER_QUEUE_VIEW_H

#include "sched/timer_queue.h"

struct hora__timer_queue_view {
    hora_queue *queue;
    hora_ns now[3]; /* of each timeline */
    bool
        is_telling; /* a worker tells the observer that the clocks have parted: nothing can be taken meanwhile */
};

/* What was posted is taken in, and the clocks are read. */
void hora__timer_queue_view_begin(struct hora__timer_queue_view *view, hora_queue *queue);

/* How far off an entry is that is in the timer queue; 0 and less: it is due. HORA_FOREVER: never. */
hora_ns hora__timer_queue_view_off(const struct hora__timer_queue_view *view,
                                   const struct hora__entry *entry);

/* How many entries are due and stand before this one, which is in the timer queue. */
int hora__timer_queue_view_before(const struct hora__timer_queue_view *view, const struct hora__entry *entry);

/* Of the entries that are due, or of those that will be, the first `max`, which is at least 1, in their order: returns how many are written. And
 * how many there are. */
int hora__timer_queue_view_first(const struct hora__timer_queue_view *view, bool due,
                                 struct hora__entry **entries, int max, int *ret_all);

#endif
