/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - when a task is to run, by the rules of its schedule: pure, the time is an argument */
#ifndef HORA_SCHED_PLAN_H
#define HORA_SCHED_PLAN_H

#include <hora/scheduler.h>

/* What to do about the first planned time of a task that is due. */
struct hora__decision {
    bool runs;       /* a run begins now, for this planned time; else the task waits for it */
    hora_ns planned; /* HORA_FOREVER: there is none */
    int64_t skipped; /* planned times that are passed over */
};

/* For a rate: which of the passed times planned, planned + every, ... are made up for. `now` is not before
 * planned. */
struct hora__decision hora__plan_rate(const hora_schedule *spec, hora_ns every, hora_ns planned, hora_ns now);

/* Ask the trigger, or the function. */
hora_ns hora__plan_ask(const hora_schedule *spec, const hora_trigger_context *context);

/* Whether it can be asked for the times after any moment. */
bool hora__plan_asks_for_moments(const hora_schedule *spec);

/* For a trigger or function: the same, asking for one time after the other. */
struct hora__decision hora__plan_asked(const hora_schedule *spec, const hora_trigger_context *context,
                                       hora_ns planned);

/* For a task that runs once, or after a fixed delay: it may only be too late. */
struct hora__decision hora__plan_single(const hora_schedule *spec, hora_ns planned, hora_ns now);

/* A run may be too late by a limit outside of the schedule. Drop it, and those after it that are too late,
 * too. Returns how many. `every` is that of a rate or delay. */
int64_t hora__plan_start_by(const hora_schedule *spec, hora_ns every, const hora_trigger_context *context,
                            hora_ns start_by, struct hora__decision *decision);

/* The first time of a rate that is at or after `from`; planned is one of its times. */
hora_ns hora__plan_grid(hora_ns planned, hora_ns every, hora_ns from);

/* How many times of a rate lie in planned .. now; 0: now is before planned. */
int64_t hora__plan_passed(hora_ns planned, hora_ns every, hora_ns now);

/* The pause after so many failures in a row, at least one. */
hora_ns hora__plan_pause(const hora_schedule *spec, int64_t failures);

/* The offset of a name within a spread, the same in every process. */
hora_ns hora__plan_offset(const char *name, hora_ns spread);

#endif
