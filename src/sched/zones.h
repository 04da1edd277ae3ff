/* SPDX-License-Identifier: Apache-2.0 */
/* zones.h - the zones of a scheduler's tasks: read once for all tasks, refreshed together; see zones.c */
#ifndef HORA_SCHED_ZONES_H
#define HORA_SCHED_ZONES_H

#include "sched/scheduled.h"

/* Release the zones of a timer queue that is being freed; no other thread uses it any more. */
void hora__zones_forget(hora_queue *queue);

/* Return the zone of this name, with a reference for the caller. Reads the zone's file, without the lock,
 * if the timer queue does not have the zone yet. HORA_ENOMEM, or errors of hora_zone_new. */
__attribute__((warn_unused_result)) int hora__zones_get(hora_queue *queue, const char *name,
                                                        hora_zone **ret_zone, hora_error *reason);

/* Return the count of refreshes. A thread that schedules a task reads it before it makes or asks a
 * trigger, and passes it to hora__zones_follow. */
uint32_t hora__zones_seen(hora_queue *queue);
/* Make refreshes include the zones of a task that is about to be queued; does nothing if its trigger has
 * no zone. `seen` is from hora__zones_seen. `known`: the zone comes from hora__zones_get, so the timer
 * queue has it already. Takes the timer queue's lock. */
void hora__zones_follow(struct hora__scheduled *scheduled, uint32_t seen, bool known);

#endif
