/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - refuse schedules that cannot work, or of which a part would have no effect, and say why; and make a trigger of an expression */
#include "sched/spec.h"

#include <assert.h>
#include <stddef.h>

#include "base/options.h"
#include "base/reason.h"
#include "sched/trigger.h"
#include "sched/zones.h"

enum { OVERLAP_LEAST = 2, OVERLAP_MOST = 1000 };

/* How many of those are given of which there can be one. */
static int count_series(const hora_schedule *spec)
{
    assert(spec != NULL);
    return (spec->fixed_rate != 0) + (spec->fixed_delay != 0) + (spec->next != NULL) +
           (spec->trigger != NULL) + (spec->cron != NULL);
}

/* Whether the planned times come from somebody who is asked for them. */
static bool is_asked(const hora_schedule *spec)
{
    return spec->next != NULL || spec->trigger != NULL || spec->cron != NULL;
}

static int check_times(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    if (spec->fixed_rate < 0)
        return hora__refuse(reason, HORA_EINVAL, "fixed_rate", "fixed_rate is negative");
    if (spec->fixed_delay < 0)
        return hora__refuse(reason, HORA_EINVAL, "fixed_delay", "fixed_delay is negative");
    if (count_series(spec) > 1)
        return hora__refuse(reason, HORA_EINVAL, NULL,
                            "only one of fixed_rate, fixed_delay, next, trigger and cron can be given");
    if (spec->next == NULL && spec->next_arg != NULL)
        return hora__refuse(reason, HORA_EINVAL, "next_arg", "next_arg has no effect without next");
    if (spec->at.ns != 0 && spec->initial_delay != 0)
        return hora__refuse(reason, HORA_EINVAL, "at", "only one of initial_delay and at can be given");
    if (spec->count < 0)
        return hora__refuse(reason, HORA_EINVAL, "count", "count is negative");
    if (count_series(spec) == 0 && (spec->count != 0 || spec->end.ns != 0))
        return hora__refuse(reason, HORA_EINVAL, "count",
                            "count and end have no effect on a task that runs once");
    return 0;
}

static int check_cron(const hora_schedule *spec, hora_error *reason)
{
    if (spec->cron == NULL && spec->zone != NULL)
        return hora__refuse(reason, HORA_EINVAL, "zone", "zone has no effect without cron");
    if ((int)spec->dialect < 0 || spec->dialect > HORA_CRON_UNIX)
        return hora__refuse(reason, HORA_EINVAL, "dialect", "dialect is none of the dialects of cron");
    if (spec->cron == NULL && spec->dialect != HORA_CRON_SPRING)
        return hora__refuse(reason, HORA_EINVAL, "dialect", "dialect has no effect without cron");
    if ((int)spec->dst < 0 || spec->dst > HORA_DST_ONCE)
        return hora__refuse(reason, HORA_EINVAL, "dst", "dst is none of the HORA_DST_ rules");
    if (spec->cron == NULL && spec->dst != HORA_DST_LITERAL)
        return hora__refuse(reason, HORA_EINVAL, "dst", "dst has no effect without cron");
    return 0;
}

static int check_clock(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->clock < 0 || spec->clock > HORA_CLOCK_WALL)
        return hora__refuse(reason, HORA_EINVAL, "clock", "clock is none of the HORA_CLOCK_ values");
    if (spec->clock == HORA_CLOCK_DEFAULT || spec->clock == HORA_CLOCK_WALL)
        return 0;
    if (spec->at.ns != 0)
        return hora__refuse(reason, HORA_EINVAL, "at",
                            "at is a moment of the wall clock: it needs HORA_CLOCK_WALL, or no clock");
    if (spec->cron != NULL)
        return hora__refuse(reason, HORA_EINVAL, "cron",
                            "cron means times of the wall clock: it needs HORA_CLOCK_WALL, or no clock");
    if (spec->trigger != NULL && spec->trigger->needs_wall)
        return hora__refuse(
            reason, HORA_EINVAL, "trigger",
            "this trigger means times of the wall clock: it needs HORA_CLOCK_WALL, or no clock");
    return 0;
}

static int check_missed(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->missed < 0 || spec->missed > HORA_MISSED_AT_MOST)
        return hora__refuse(reason, HORA_EINVAL, "missed", "missed is none of the HORA_MISSED_ rules");
    if (spec->missed == HORA_MISSED_AT_MOST && spec->missed_max < 1)
        return hora__refuse(reason, HORA_EINVAL, "missed",
                            "HORA_MISSED_AT_MOST needs a missed_max of at least 1");
    if (spec->missed != HORA_MISSED_AT_MOST && spec->missed_max != 0)
        return hora__refuse(reason, HORA_EINVAL, "missed_max",
                            "missed_max has no effect without HORA_MISSED_AT_MOST");
    if (spec->missed != HORA_MISSED_ONCE && spec->fixed_rate == 0 && !is_asked(spec))
        return hora__refuse(reason, HORA_EINVAL, "missed",
                            "missed has no effect without fixed_rate, next, trigger or cron");
    if (spec->grace < 0)
        return hora__refuse(reason, HORA_EINVAL, "grace", "grace is negative");
    return 0;
}

static int check_overlap(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->overlap < 0 || spec->overlap > HORA_OVERLAP_ALLOW)
        return hora__refuse(reason, HORA_EINVAL, "overlap", "overlap is none of the HORA_OVERLAP_ rules");
    if (spec->overlap == HORA_OVERLAP_QUEUE_ONE && spec->fixed_rate == 0)
        return hora__refuse(reason, HORA_EINVAL, "overlap",
                            "HORA_OVERLAP_QUEUE_ONE has no effect without fixed_rate");
    if (spec->overlap == HORA_OVERLAP_ALLOW && spec->fixed_rate == 0 && !is_asked(spec))
        return hora__refuse(reason, HORA_EINVAL, "overlap",
                            "HORA_OVERLAP_ALLOW has no effect without fixed_rate, next, trigger or cron");
    if (spec->overlap == HORA_OVERLAP_ALLOW &&
        (spec->overlap_max < OVERLAP_LEAST || spec->overlap_max > OVERLAP_MOST))
        return hora__refuse(reason, HORA_EINVAL, "overlap",
                            "HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000");
    if (spec->overlap != HORA_OVERLAP_ALLOW && spec->overlap_max != 0)
        return hora__refuse(reason, HORA_EINVAL, "overlap_max",
                            "overlap_max has no effect without HORA_OVERLAP_ALLOW");
    return 0;
}

static int check_failure(const hora_schedule *spec, hora_error *reason)
{
    bool backs_off = spec->failure == HORA_FAILURE_BACK_OFF;
    if ((int)spec->failure < 0 || spec->failure > HORA_FAILURE_BACK_OFF)
        return hora__refuse(reason, HORA_EINVAL, "failure", "failure is none of the HORA_FAILURE_ rules");
    if (spec->stop_after < 0)
        return hora__refuse(reason, HORA_EINVAL, "stop_after", "stop_after is negative");
    if (spec->stop_after > 0 && spec->failure == HORA_FAILURE_STOP)
        return hora__refuse(reason, HORA_EINVAL, "stop_after",
                            "stop_after has no effect with HORA_FAILURE_STOP");
    if (!backs_off && (spec->back_off != 0 || spec->back_off_max != 0 || spec->back_off_factor != 0))
        return hora__refuse(
            reason, HORA_EINVAL, "back_off",
            "back_off, back_off_factor and back_off_max have no effect without HORA_FAILURE_BACK_OFF");
    if (spec->back_off < 0 || spec->back_off_max < 0)
        return hora__refuse(reason, HORA_EINVAL, "back_off", "back_off or back_off_max is negative");
    if (spec->back_off_max > 0 && spec->back_off_max < spec->back_off)
        return hora__refuse(reason, HORA_EINVAL, "back_off_max", "back_off_max is less than back_off");
    if (spec->back_off_factor != 0 && !(spec->back_off_factor >= 1 && spec->back_off_factor <= 1e9))
        return hora__refuse(reason, HORA_EINVAL, "back_off_factor", "back_off_factor is not from 1 to 1e9");
    if (backs_off && spec->overlap == HORA_OVERLAP_ALLOW)
        return hora__refuse(
            reason, HORA_EINVAL, "overlap",
            "HORA_FAILURE_BACK_OFF has no meaning with HORA_OVERLAP_ALLOW: other runs are under way");
    return 0;
}

/* What depends on the schedule; the rest is checked with the scheduler, see hora_task_options_check. */
static int check_terms(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    hora_task_options terms;
    if (HORA__TAKE(hora_task_options, &terms, spec->options) < 0)
        return hora__refuse(reason, HORA_EINVAL, "options",
                            "options: struct_size is wrong: start from HORA_INIT(hora_task_options)");
    if (terms.finish_within != 0 && count_series(spec) > 0)
        return hora__refuse(
            reason, HORA_EINVAL, "finish_within",
            "finish_within is for a task that runs once; a series has start_within and run_limit");
    return 0;
}

static int check_rest(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    if (spec->slack < 0)
        return hora__refuse(reason, HORA_EINVAL, "slack", "slack is negative");
    if (spec->spread < 0)
        return hora__refuse(reason, HORA_EINVAL, "spread", "spread is negative");
    if (spec->fixed_rate > 0 && spec->spread > spec->fixed_rate)
        return hora__refuse(reason, HORA_EINVAL, "spread",
                            "spread is greater than fixed_rate: the planned times would change places");
    return check_terms(spec, reason);
}

static int check(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    static int (*const parts[])(const hora_schedule *spec, hora_error *reason) = {
        check_times, check_cron, check_clock, check_missed, check_overlap, check_failure, check_rest};
    int error = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && error == 0; i++)
        error = parts[i](spec, reason);
    return error;
}

/* Which times that have passed are made up is decided by the schedule; so the trigger says all of them. */
static int make_trigger(const hora_schedule *spec, hora_queue *queue, hora_trigger **ret_trigger,
                        hora_error *reason)
{
    assert(spec->cron != NULL && ret_trigger != NULL);
    const char *name = spec->zone != NULL ? spec->zone : "local";
    hora_cron *cron;
    hora_zone *zone;
    int error = hora_cron_parse(spec->cron, HORA_CRON_OPTIONS(.dialect = spec->dialect, .dst = spec->dst),
                                &cron, reason);
    if (error < 0)
        return error;
    error = queue != NULL ? hora__zones_get(queue, name, &zone, reason)
                          : hora_zone_new(name, NULL, &zone, reason);
    if (error == 0) {
        error = hora_trigger_new_cron(cron, zone, HORA_CRON_TRIGGER_OPTIONS(.mode = HORA_CRON_MODE_FIXED),
                                      ret_trigger, reason);
        (void)hora_zone_unref(zone);
    }
    (void)hora_cron_unref(cron);
    return error;
}

int hora__spec_read(const hora_schedule *spec, hora_queue *queue, hora_schedule *ret_own, hora_error *reason)
{
    assert(ret_own != NULL);
    hora_schedule own;
    if (HORA__TAKE(hora_schedule, &own, spec) < 0)
        return hora__refuse_size(reason, "hora_schedule");
    int error = check(&own, reason);
    if (error == 0 && own.cron != NULL)
        error = make_trigger(&own, queue, &own.trigger, reason);
    else if (error == 0)
        (void)hora_trigger_ref(own.trigger);
    if (error < 0)
        return error;
    own.cron = own.zone = NULL; /* the caller's text may not live on */
    *ret_own = own;
    return 0;
}

int hora_schedule_check(const hora_schedule *schedule, hora_error *reason)
{
    hora_schedule own;
    hora__reason_begin(reason);
    int error = hora__spec_read(schedule, NULL, &own, reason);
    if (error == 0)
        (void)hora_trigger_unref(own.trigger);
    return hora__reason_end(reason, error);
}
