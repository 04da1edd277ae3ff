/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_view.h - what is in an agenda, in the order of its times, for those who only want to see it
 *
 * All with the agenda's lock held. What stands in a view was true at one moment of all clocks. */
#ifndef HORA_SCHED_AGENDA_VIEW_H
#define HORA_SCHED_AGENDA_VIEW_H

#include "sched/agenda.h"

struct hora__agenda_view {
    hora_queue *queue;
    hora_ns now[3];  /* of each timeline */
    bool is_telling; /* a worker tells the observer that the clocks have parted: nothing can be taken meanwhile */
};

/* What was posted is taken in, and the clocks are read. */
void hora__agenda_view_begin(struct hora__agenda_view *view, hora_queue *queue);

/* How far off an entry is that is in the agenda; 0 and less: it is due. HORA_FOREVER: never. */
hora_ns hora__agenda_view_off(const struct hora__agenda_view *view, const struct hora__entry *entry);

/* How many entries are due and stand before this one, which is in the agenda. */
int hora__agenda_view_before(const struct hora__agenda_view *view, const struct hora__entry *entry);

/* Of the entries that are due, or of those that will be, the first `max`, which is at least 1, in their order: returns how many are written. And
 * how many there are. */
int hora__agenda_view_first(const struct hora__agenda_view *view, bool due, struct hora__entry **entries, int max,
                            int *ret_all);

#endif
