/* SPDX-License-Identifier: Apache-2.0 */
/* zones.h - the zones of a scheduler's tasks; see zones.c */
#ifndef HORA_SCHED_ZONES_H
#define HORA_SCHED_ZONES_H

#include "sched/scheduled.h"

/* The beginning and the end of what an timer queue knows of zones. */
void hora__zones_init(hora_queue *queue);
void hora__zones_forget(hora_queue *queue);

/* A reference to the zone of this name, which is read if the timer queue does not know it. HORA_ENOMEM, those of hora_zone_new. */
__attribute__((warn_unused_result)) int hora__zones_get(hora_queue *queue, const char *name,
                                                        hora_zone **ret_zone, hora_error *reason);

/* What the count of refreshes is before a trigger is made or asked; and, once it belongs to a task that is about to be
 * scheduled: see to its zones from now on. `known`: they come from hora__zones_get. */
uint32_t hora__zones_seen(hora_queue *queue);
void hora__zones_follow(struct hora__scheduled *scheduled, uint32_t seen, bool known);

/* ---- cron_trigger.c ---- */

/* The zone of a trigger of an expression; NULL: UTC, as for NULL and for all other triggers. Borrowed from it. */
const hora_zone *hora__zones_of(const hora_trigger *trigger);

#endif
