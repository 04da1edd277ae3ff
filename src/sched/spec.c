/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - refuse schedules that cannot work, or of which a part would have no effect, and say why; and make a trigger of an expression */
#include "sched/spec.h"

#include <stddef.h>

#include "base/options.h"
#include "sched/trigger.h"
#include "sched/zones.h"

enum { OVERLAP_LEAST = 2, OVERLAP_MOST = 1000 };

/* How many of those are given of which there can be one. */
static int count_series(const hora_schedule *spec)
{
    return (spec->fixed_rate != 0) + (spec->fixed_delay != 0) + (spec->next != NULL) + (spec->trigger != NULL) +
           (spec->cron != NULL);
}

/* Whether the planned times come from somebody who is asked for them. */
static bool is_asked(const hora_schedule *spec)
{
    return spec->next != NULL || spec->trigger != NULL || spec->cron != NULL;
}

static const char *wrong_times(const hora_schedule *spec)
{
    if (spec->fixed_rate < 0)
        return "rate is negative";
    if (spec->fixed_delay < 0)
        return "gap is negative";
    if (count_series(spec) > 1)
        return "only one of rate, gap, next, trigger and cron can be given";
    if (spec->next == NULL && spec->next_arg != NULL)
        return "next_arg has no effect without next";
    if (spec->at.ns != 0 && spec->initial_delay != 0)
        return "only one of delay and at can be given";
    if (spec->count < 0)
        return "count is negative";
    if (count_series(spec) == 0 && (spec->count != 0 || spec->end.ns != 0))
        return "count and end have no effect on a task that runs once";
    return NULL;
}

static const char *wrong_cron(const hora_schedule *spec)
{
    if (spec->cron == NULL && spec->zone != NULL)
        return "zone has no effect without cron";
    if ((int)spec->dialect < 0 || spec->dialect > HORA_CRON_UNIX)
        return "dialect is none of the dialects of cron";
    if (spec->cron == NULL && spec->dialect != HORA_CRON_SPRING)
        return "dialect has no effect without cron";
    if ((int)spec->dst < 0 || spec->dst > HORA_DST_ONCE)
        return "dst is none of the HORA_DST_ rules";
    if (spec->cron == NULL && spec->dst != HORA_DST_LITERAL)
        return "dst has no effect without cron";
    return NULL;
}

static const char *wrong_clock(const hora_schedule *spec)
{
    if ((int)spec->clock < 0 || spec->clock > HORA_CLOCK_WALL)
        return "clock is none of the HORA_CLOCK_ values";
    if (spec->clock == HORA_CLOCK_DEFAULT || spec->clock == HORA_CLOCK_WALL)
        return NULL;
    if (spec->at.ns != 0)
        return "at is a moment of the wall clock: it needs HORA_CLOCK_WALL, or no clock";
    if (spec->cron != NULL)
        return "cron means times of the wall clock: it needs HORA_CLOCK_WALL, or no clock";
    if (spec->trigger != NULL && spec->trigger->needs_wall)
        return "this trigger means times of the wall clock: it needs HORA_CLOCK_WALL, or no clock";
    return NULL;
}

static const char *wrong_missed(const hora_schedule *spec)
{
    if ((int)spec->missed < 0 || spec->missed > HORA_MISSED_AT_MOST)
        return "missed is none of the HORA_MISSED_ rules";
    if (spec->missed == HORA_MISSED_AT_MOST && spec->missed_max < 1)
        return "HORA_MISSED_AT_MOST needs a missed_max of at least 1";
    if (spec->missed != HORA_MISSED_AT_MOST && spec->missed_max != 0)
        return "missed_max has no effect without HORA_MISSED_AT_MOST";
    if (spec->missed != HORA_MISSED_ONCE && spec->fixed_rate == 0 && !is_asked(spec))
        return "missed has no effect without rate, next, trigger or cron";
    if (spec->grace < 0)
        return "grace is negative";
    return NULL;
}

static const char *wrong_overlap(const hora_schedule *spec)
{
    if ((int)spec->overlap < 0 || spec->overlap > HORA_OVERLAP_ALLOW)
        return "overlap is none of the HORA_OVERLAP_ rules";
    if (spec->overlap == HORA_OVERLAP_QUEUE_ONE && spec->fixed_rate == 0)
        return "HORA_OVERLAP_QUEUE_ONE has no effect without rate";
    if (spec->overlap == HORA_OVERLAP_ALLOW && spec->fixed_rate == 0 && !is_asked(spec))
        return "HORA_OVERLAP_ALLOW has no effect without rate, next, trigger or cron";
    if (spec->overlap == HORA_OVERLAP_ALLOW && (spec->overlap_max < OVERLAP_LEAST || spec->overlap_max > OVERLAP_MOST))
        return "HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000";
    if (spec->overlap != HORA_OVERLAP_ALLOW && spec->overlap_max != 0)
        return "overlap_max has no effect without HORA_OVERLAP_ALLOW";
    return NULL;
}

static const char *wrong_failure(const hora_schedule *spec)
{
    bool backs_off = spec->failure == HORA_FAILURE_BACK_OFF;
    if ((int)spec->failure < 0 || spec->failure > HORA_FAILURE_BACK_OFF)
        return "failure is none of the HORA_FAILURE_ rules";
    if (spec->stop_after < 0)
        return "stop_after is negative";
    if (spec->stop_after > 0 && spec->failure == HORA_FAILURE_STOP)
        return "stop_after has no effect with HORA_FAILURE_STOP";
    if (!backs_off && (spec->back_off != 0 || spec->back_off_max != 0 || spec->back_off_factor != 0))
        return "back_off, back_off_factor and back_off_max have no effect without HORA_FAILURE_BACK_OFF";
    if (spec->back_off < 0 || spec->back_off_max < 0)
        return "back_off or back_off_max is negative";
    if (spec->back_off_max > 0 && spec->back_off_max < spec->back_off)
        return "back_off_max is less than back_off";
    if (spec->back_off_factor != 0 && !(spec->back_off_factor >= 1 && spec->back_off_factor <= 1e9))
        return "back_off_factor is not from 1 to 1e9";
    if (spec->failed == NULL && spec->failed_context != NULL)
        return "failed_context has no effect without failed";
    if (backs_off && spec->overlap == HORA_OVERLAP_ALLOW)
        return "HORA_FAILURE_BACK_OFF has no meaning with HORA_OVERLAP_ALLOW: other runs are under way";
    return NULL;
}

/* What depends on the schedule; the rest is checked with the scheduler, see hora_task_options_check. */
static const char *wrong_terms(const hora_schedule *spec)
{
    hora_task_options terms;
    if (hora__options_copy(&terms, sizeof terms, sizeof terms, spec->options) < 0)
        return "terms: struct_size is wrong: start from HORA_TASK_OPTIONS or HORA_INIT(hora_task_options)";
    if (terms.finish_within != 0 && count_series(spec) > 0)
        return "terms: done_by is for what runs once; a series has start_by and run_for";
    return NULL;
}

static const char *wrong_rest(const hora_schedule *spec)
{
    if (spec->slack < 0)
        return "slack is negative";
    if (spec->spread < 0)
        return "spread is negative";
    if (spec->fixed_rate > 0 && spec->spread > spec->fixed_rate)
        return "spread is greater than rate: the planned times would change places";
    return wrong_terms(spec);
}

static const char *wrong(const hora_schedule *spec)
{
    static const char *(*const parts[])(const hora_schedule *spec) = {
        wrong_times, wrong_cron, wrong_clock, wrong_missed, wrong_overlap, wrong_failure, wrong_rest};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *reason = parts[i](spec);
        if (reason != NULL)
            return reason;
    }
    return NULL;
}

/* Which times that have passed are made up is decided by the schedule; so the trigger says all of them. */
static int make_trigger(const hora_schedule *spec, hora_queue *queue, hora_trigger **ret_trigger,
                        const char **reterr_reason)
{
    const char *name = spec->zone != NULL ? spec->zone : "local";
    hora_cron *cron;
    hora_zone *zone;
    int error = hora_cron_parse(spec->cron, HORA_CRON_OPTIONS(.dialect = spec->dialect, .dst = spec->dst), &cron, NULL);
    if (error == HORA_EINVAL)
        *reterr_reason = "cron is no expression of its dialect: hora_cron_parse says why";
    if (error < 0)
        return error;
    error = queue != NULL ? hora__zones_get(queue, name, &zone, reterr_reason)
                          : hora_zone_new(name, NULL, &zone, reterr_reason);
    if (error == 0) {
        error = hora_trigger_new_cron(cron, zone, HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED), ret_trigger);
        (void)hora_zone_unref(zone);
    }
    (void)hora_cron_unref(cron);
    return error;
}

int hora__spec_read(const hora_schedule *spec, hora_queue *queue, hora_schedule *ret_own, const char **reterr_reason)
{
    hora_schedule own;
    const char *reason = "struct_size is wrong: start from HORA_SCHEDULE or HORA_INIT(hora_schedule)";
    int error = hora__options_copy(&own, sizeof own, sizeof own, spec);
    if (error == 0) {
        reason = wrong(&own);
        error = reason != NULL ? HORA_EINVAL : 0;
    }
    if (error == 0 && own.cron != NULL)
        error = make_trigger(&own, queue, &own.trigger, &reason);
    else if (error == 0)
        (void)hora_trigger_ref(own.trigger);
    if (error < 0) {
        if (reason != NULL && error != HORA_ENOMEM)
            *reterr_reason = reason;
        return error;
    }
    own.cron = own.zone = NULL; /* the caller's text may not live on */
    *ret_own = own;
    return 0;
}

int hora_schedule_check(const hora_schedule *spec, const char **reterr_reason)
{
    hora_schedule own;
    const char *reason = NULL;
    int error = hora__spec_read(spec, NULL, &own, &reason);
    if (error == 0)
        (void)hora_trigger_unref(own.trigger);
    else if (reason != NULL && reterr_reason != NULL)
        *reterr_reason = reason;
    return error;
}
