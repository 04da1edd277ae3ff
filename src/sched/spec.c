/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - refuse schedules that cannot work, or of which a part would have no effect, and say why */
#include <stddef.h>

#include "base/options.h"
#include "sched/plan.h"

enum { OVERLAP_LEAST = 2, OVERLAP_MOST = 1000 };

static const char *wrong_times(const hora_schedule_spec *spec)
{
    int triggers = (spec->rate != 0) + (spec->gap != 0) + (spec->next != NULL);
    if (spec->rate < 0)
        return "rate is negative";
    if (spec->gap < 0)
        return "gap is negative";
    if (triggers > 1)
        return "only one of rate, gap and next can be given";
    if (spec->next == NULL && spec->next_arg != NULL)
        return "next_arg has no effect without next";
    if (spec->at.ns != 0 && spec->delay != 0)
        return "only one of delay and at can be given";
    if ((int)spec->clock < 0 || spec->clock > HORA_SCHEDULE_CLOCK_WALL)
        return "clock is none of the HORA_SCHEDULE_CLOCK_ values";
    if (spec->at.ns != 0 && spec->clock != HORA_SCHEDULE_CLOCK_DEFAULT && spec->clock != HORA_SCHEDULE_CLOCK_WALL)
        return "at is a moment of the wall clock: it needs HORA_SCHEDULE_CLOCK_WALL, or no clock";
    if (spec->count < 0)
        return "count is negative";
    if (triggers == 0 && (spec->count != 0 || spec->end.ns != 0))
        return "count and end have no effect on a task that runs once";
    return NULL;
}

static const char *wrong_missed(const hora_schedule_spec *spec)
{
    if ((int)spec->missed < 0 || spec->missed > HORA_MISSED_AT_MOST)
        return "missed is none of the HORA_MISSED_ rules";
    if (spec->missed == HORA_MISSED_AT_MOST && spec->missed_max < 1)
        return "HORA_MISSED_AT_MOST needs a missed_max of at least 1";
    if (spec->missed != HORA_MISSED_AT_MOST && spec->missed_max != 0)
        return "missed_max has no effect without HORA_MISSED_AT_MOST";
    if (spec->missed != HORA_MISSED_ONCE && spec->rate == 0 && spec->next == NULL)
        return "missed has no effect without rate or next";
    if (spec->grace < 0)
        return "grace is negative";
    return NULL;
}

static const char *wrong_overlap(const hora_schedule_spec *spec)
{
    if ((int)spec->overlap < 0 || spec->overlap > HORA_OVERLAP_ALLOW)
        return "overlap is none of the HORA_OVERLAP_ rules";
    if (spec->overlap == HORA_OVERLAP_QUEUE_ONE && spec->rate == 0)
        return "HORA_OVERLAP_QUEUE_ONE has no effect without rate";
    if (spec->overlap == HORA_OVERLAP_ALLOW && spec->rate == 0 && spec->next == NULL)
        return "HORA_OVERLAP_ALLOW has no effect without rate or next";
    if (spec->overlap == HORA_OVERLAP_ALLOW && (spec->overlap_max < OVERLAP_LEAST || spec->overlap_max > OVERLAP_MOST))
        return "HORA_OVERLAP_ALLOW needs an overlap_max from 2 to 1000";
    if (spec->overlap != HORA_OVERLAP_ALLOW && spec->overlap_max != 0)
        return "overlap_max has no effect without HORA_OVERLAP_ALLOW";
    return NULL;
}

static const char *wrong_failure(const hora_schedule_spec *spec)
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

static const char *wrong_rest(const hora_schedule_spec *spec)
{
    if (spec->slack < 0)
        return "slack is negative";
    if (spec->spread < 0)
        return "spread is negative";
    if (spec->rate > 0 && spec->spread > spec->rate)
        return "spread is greater than rate: the planned times would change places";
    return NULL;
}

int hora_schedule_check(const hora_schedule_spec *spec, const char **reterr_reason)
{
    hora_schedule_spec own;
    const char *wrong = NULL;
    if (hora__options_copy(&own, sizeof own, sizeof own, spec) < 0)
        wrong = "struct_size is wrong: start from HORA_SCHEDULE or HORA_SCHEDULE_INIT";
    if (wrong == NULL)
        wrong = wrong_times(&own);
    if (wrong == NULL)
        wrong = wrong_missed(&own);
    if (wrong == NULL)
        wrong = wrong_overlap(&own);
    if (wrong == NULL)
        wrong = wrong_failure(&own);
    if (wrong == NULL)
        wrong = wrong_rest(&own);
    if (wrong != NULL && reterr_reason != NULL)
        *reterr_reason = wrong;
    return wrong != NULL ? HORA_EINVAL : 0;
}
