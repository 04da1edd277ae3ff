/* SPDX-License-Identifier: Apache-2.0 */
/* zones.h - the zones of a scheduler's tasks; see zones.c */
#ifndef HORA_SCHED_ZONES_H
#define HORA_SCHED_ZONES_H

#include "sched/scheduled.h"

/* Initialise and free what a timer queue knows of zones. */
void hora__zones_init(hora_queue *queue);
void hora__zones_forget(hora_queue *queue);

/* The zone of this name, with a reference; it is read if the timer queue does not know it. HORA_ENOMEM,
 * errors of hora_zone_new. */
__attribute__((warn_unused_result)) int hora__zones_get(hora_queue *queue, const char *name,
                                                        hora_zone **ret_zone, hora_error *reason);

/* The count of refreshes, to be read before a trigger is made or asked. hora__zones_follow then watches
 * the zones of a task that is about to be scheduled. `known`: the zone comes from hora__zones_get. */
uint32_t hora__zones_seen(hora_queue *queue);
void hora__zones_follow(struct hora__scheduled *scheduled, uint32_t seen, bool known);

/* ---- cron_trigger.c ---- */

/* The zone of a cron trigger, borrowed from it; NULL: UTC, and for all other triggers. */
const hora_zone *hora__zones_of(const hora_trigger *trigger);

#endif
