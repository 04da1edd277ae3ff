/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - computes when a task runs, by the rules of its schedule: pure functions, time is an argument
 *
 * All times are readings of the task's own timeline, in nanoseconds. HORA_FOREVER stands for a time that
 * never comes. The offset of a schedule with spread is not part of these times; the caller adds it. */
#ifndef HORA_SCHED_PLAN_H
#define HORA_SCHED_PLAN_H

#include <hora/scheduler.h>

/* What happens to a task whose planned time has come. */
struct hora__decision {
    /* True: a run begins now, for `planned`. False: the task waits until `planned`. */
    bool runs;
    /* HORA_FOREVER: no planned time is left. */
    hora_ns planned;
    /* The number of planned times that are dropped without a run. */
    int64_t skipped;
};

/* For a fixed rate: decides which of the times planned, planned + every, ... that have passed are made up
 * for. `now` must not be before `planned`. */
struct hora__decision hora__plan_rate(const hora_schedule *spec, hora_ns every, hora_ns planned, hora_ns now);

/* Asks the schedule's trigger, or its function `next`, for the time after context->last_planned. Calls
 * user code, so the caller must hold no lock. */
hora_ns hora__plan_ask(const hora_schedule *spec, const hora_trigger_context *context);

/* For a trigger or function: decides as hora__plan_rate does, by asking for one time after the other.
 * Calls user code, so the caller must hold no lock. */
struct hora__decision hora__plan_asked(const hora_schedule *spec, const hora_trigger_context *context,
                                       hora_ns planned);

/* For a task that runs once, or after a fixed delay: no other planned time can have passed, so only the
 * grace period decides. */
struct hora__decision hora__plan_single(const hora_schedule *spec, hora_ns planned, hora_ns now);

/* Applies the start_within limit of a task's options, which is not part of its schedule, to a decision to
 * run. If the run is too late, drops it and all following ones that are too late as well, and changes
 * *decision. Returns how many were dropped. `every` is the period or delay of a rate or delay. */
int64_t hora__plan_start_by(const hora_schedule *spec, hora_ns every, const hora_trigger_context *context,
                            hora_ns start_by, struct hora__decision *decision);

/* Returns the first time of a rate that is at or after `from`, which may lie before `planned`. `planned`
 * is any one of its times. */
hora_ns hora__plan_grid(hora_ns planned, hora_ns every, hora_ns from);

/* Returns how many times of a rate, starting with `planned`, are not after `now`; 0 if `now` is before
 * `planned`. */
int64_t hora__plan_passed(hora_ns planned, hora_ns every, hora_ns now);

/* Returns how long to back off after this many failures in a row, which must be at least 1. */
hora_ns hora__plan_pause(const hora_schedule *spec, int64_t failures);

/* Returns an offset in 0 .. spread - 1 that depends only on the name, so it is the same in every process
 * and after every restart. `name` may be NULL if spread is 0. */
hora_ns hora__plan_offset(const char *name, hora_ns spread);

#endif
