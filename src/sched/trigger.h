/* SPDX-License-Identifier: Apache-2.0 */
/* trigger.h - the part that all triggers have in common: a reference count, a kind, and flags about their
 * times
 *
 * Inside the library a trigger without a further time returns HORA_FOREVER, so that the earliest answer is
 * simply the least. The public calls translate it to HORA_NEVER. */
#ifndef HORA_SCHED_TRIGGER_H
#define HORA_SCHED_TRIGGER_H

#include <assert.h>
#include <hora/trigger.h>

#include "base/ns.h"
#include "base/text.h"
#include "sys/atomic.h"

/* The number of steps after which the search for a time gives up, so that a trigger that never has one
 * does not keep its caller forever. */
enum { HORA__TRIGGER_TRIES = 100000 };

/* The operations of one kind of trigger. */
struct hora__trigger_kind {
    /* Does what hora_trigger_next does, but returns HORA_FOREVER if there is no further time. */
    hora_ns (*next)(const hora_trigger *trigger, const hora_trigger_context *context);
    /* Returns the first time at or after `from`, if the trigger has returned `answer`, which is before
     * `from`. NULL: hora__trigger_next_from finds it with `next`. */
    hora_ns (*next_from)(const hora_trigger *trigger, hora_ns answer, hora_ns from);
    /* Releases the parts of the trigger and frees its memory; called when the last reference is released. */
    void (*free)(hora_trigger *trigger);
    /* Does what hora_trigger_refresh does. NULL: triggers of this kind have no zone. */
    int (*refresh)(hora_trigger *trigger);
    /* Appends a description in words, without a period. */
    void (*describe)(const hora_trigger *trigger, struct hora__text *text);
};

/* The first member of every trigger. Immutable except for the count, so any thread may use it without a
 * lock.
 *
 * Invariants: T1 a trigger that needs the wall clock is on it. T2 a trigger that names moments needs the
 * wall clock. */
struct hora_trigger {
    hora__atomic refs;
    const struct hora__trigger_kind *kind;
    /* Its times are moments of the wall clock, unless the schedule names another clock. */
    bool is_wall;
    /* The schedule must not name another clock. */
    bool needs_wall;
    /* It may have a zone, whose rules can be refreshed. */
    bool has_zone;
    /* Its times are a set that does not depend on the runs, so it can be asked for those after any moment. */
    bool names_moments;
};

/* Initialises the common part of a zeroed trigger, with one reference and all flags false. */
void hora__trigger_init(hora_trigger *trigger, const struct hora__trigger_kind *kind);

/* Returns the first time at or after `from` of a trigger that has returned `answer`, which is before
 * `from`. A trigger that only knows the way from one time to the next returns the time after `answer`
 * instead, which may still be before `from`. */
hora_ns hora__trigger_next_from(const hora_trigger *trigger, const hora_trigger_context *context,
                                hora_ns answer, hora_ns from);

/* Returns whether `time`, at which a run was planned or took place, is more than a minute ahead of now.
 * The clock was set back since then, and the times between now and `time` occur again. Smaller steps are
 * ignored, so that an adjustment of the clock does not repeat a run. */
static inline bool hora__trigger_is_set_back(const hora_trigger_context *context, hora_ns time)
{
    assert(context != NULL);
    return time != HORA_NEVER && hora__ns_add(context->now, HORA_MINUTES(1)) < time;
}

/* Combines the results of two refreshes: the first error, else 1 if either has found new rules, else 0. */
static inline int hora__trigger_join(int first, int second)
{
    if (first < 0 || second < 0)
        return first < 0 ? first : second;
    return first > 0 || second > 0 ? 1 : 0;
}

/* Appends a span of time as a whole number of the largest unit possible, for example "90 min". */
void hora__text_add_span(struct hora__text *text, hora_ns span);

/* Returns the next time of a function of the user; HORA_FOREVER if there is none. Calls user code, so the
 * caller must hold no lock. */
hora_ns hora__next_of(hora_next_fn next, const hora_trigger_context *context, void *arg);

/* ---- cron_trigger.c ---- */

/* Returns the zone of a cron trigger, borrowed; NULL for UTC and for every other kind of trigger. */
const hora_zone *hora__cron_trigger_zone(const hora_trigger *trigger);

#endif
