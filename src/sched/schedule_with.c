/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_with.c - scheduling by a schedule (hora_schedule)
 *
 * Check      A schedule that cannot work, or of which a part would have no effect, is refused with a reason.
 *            Refusing a field without effect catches mistakes that would otherwise go unnoticed.
 * Trigger    A cron expression and its zone become a trigger. From then on there is no difference between
 *            the two.
 * Plan       The schedule is translated into a struct hora__scheduled_plan: the first planned time and the
 *            rule for those after it. */
#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "sched/plan.h"
#include "sched/scheduler.h"
#include "sched/trigger.h"
#include "sched/zones.h"

/* ---- checking a schedule ---- */

/* The range of overlap_max. */
enum { OVERLAP_LEAST = 2, OVERLAP_MOST = 1000 };

/* Returns how many of the mutually exclusive rules for repeating are set; 0: the task runs once. */
static int count_series(const hora_schedule *spec)
{
    assert(spec != NULL);
    return (spec->fixed_rate != 0) + (spec->fixed_delay != 0) + (spec->next != NULL) +
           (spec->trigger != NULL) + (spec->cron != NULL);
}

/* Returns whether the planned times come from a function or a trigger; cron becomes a trigger. */
static bool is_asked(const hora_schedule *spec)
{
    return spec->next != NULL || spec->trigger != NULL || spec->cron != NULL;
}

/* Each check_ function below checks one group of fields and returns 0 or HORA_EINVAL, with the reason.
 * This one checks which times are given. */
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

/* Checks cron and the fields that qualify it. make_trigger finds out whether the expression is valid. */
static int check_cron(const hora_schedule *spec, hora_error *reason)
{
    if (spec->cron == NULL && spec->zone != NULL)
        return hora__refuse(reason, HORA_EINVAL, "zone", "zone has no effect without cron");
    if ((int)spec->dialect < 0 || spec->dialect > HORA_CRON_UNIX)
        return hora__refuse(reason, HORA_EINVAL, "dialect", "dialect is not a HORA_CRON_ value");
    if (spec->cron == NULL && spec->dialect != HORA_CRON_SPRING)
        return hora__refuse(reason, HORA_EINVAL, "dialect", "dialect has no effect without cron");
    if ((int)spec->dst < 0 || spec->dst > HORA_DST_ONCE)
        return hora__refuse(reason, HORA_EINVAL, "dst", "dst is not a HORA_DST_ value");
    if (spec->cron == NULL && spec->dst != HORA_DST_LITERAL)
        return hora__refuse(reason, HORA_EINVAL, "dst", "dst has no effect without cron");
    return 0;
}

/* Checks that the clock suits the times: moments of the wall clock need the wall clock. */
static int check_clock(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->clock < 0 || spec->clock > HORA_CLOCK_WALL)
        return hora__refuse(reason, HORA_EINVAL, "clock", "clock is not a HORA_CLOCK_ value");
    /* Both suit moments: without a clock, line_of chooses the wall clock for them. */
    if (spec->clock == HORA_CLOCK_DEFAULT || spec->clock == HORA_CLOCK_WALL)
        return 0;
    if (spec->at.ns != 0)
        return hora__refuse(reason, HORA_EINVAL, "at",
                            "at is a wall-clock time: clock must be HORA_CLOCK_WALL or left out");
    if (spec->cron != NULL)
        return hora__refuse(reason, HORA_EINVAL, "cron",
                            "cron gives wall-clock times: clock must be HORA_CLOCK_WALL or left out");
    if (spec->trigger != NULL && spec->trigger->needs_wall)
        return hora__refuse(reason, HORA_EINVAL, "trigger",
                            "this trigger gives wall-clock times: clock must be HORA_CLOCK_WALL or left out");
    return 0;
}

/* Checks the rule for missed times. */
static int check_missed(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->missed < 0 || spec->missed > HORA_MISSED_AT_MOST)
        return hora__refuse(reason, HORA_EINVAL, "missed", "missed is not a HORA_MISSED_ value");
    if (spec->missed == HORA_MISSED_AT_MOST && spec->missed_max < 1)
        return hora__refuse(reason, HORA_EINVAL, "missed",
                            "HORA_MISSED_AT_MOST needs a missed_max of at least 1");
    if (spec->missed != HORA_MISSED_AT_MOST && spec->missed_max != 0)
        return hora__refuse(reason, HORA_EINVAL, "missed_max",
                            "missed_max has no effect without HORA_MISSED_AT_MOST");
    /* HORA_MISSED_ONCE is the default, so it does not count as given. */
    if (spec->missed != HORA_MISSED_ONCE && spec->fixed_rate == 0 && !is_asked(spec))
        return hora__refuse(reason, HORA_EINVAL, "missed",
                            "missed has no effect without fixed_rate, next, trigger or cron");
    if (spec->grace < 0)
        return hora__refuse(reason, HORA_EINVAL, "grace", "grace is negative");
    return 0;
}

/* Checks the rule for overlapping runs. QUEUE_ONE and ALLOW need planned times that do not depend on the
 * end of the previous run. */
static int check_overlap(const hora_schedule *spec, hora_error *reason)
{
    if ((int)spec->overlap < 0 || spec->overlap > HORA_OVERLAP_ALLOW)
        return hora__refuse(reason, HORA_EINVAL, "overlap", "overlap is not a HORA_OVERLAP_ value");
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

/* Checks the rule for failures. */
static int check_failure(const hora_schedule *spec, hora_error *reason)
{
    bool backs_off = spec->failure == HORA_FAILURE_BACK_OFF;
    if ((int)spec->failure < 0 || spec->failure > HORA_FAILURE_BACK_OFF)
        return hora__refuse(reason, HORA_EINVAL, "failure", "failure is not a HORA_FAILURE_ value");
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
    /* Written so that NaN is refused. */
    if (spec->back_off_factor != 0 && !(spec->back_off_factor >= 1 && spec->back_off_factor <= 1e9))
        return hora__refuse(reason, HORA_EINVAL, "back_off_factor",
                            "back_off_factor is not between 1 and 1e9");
    if (backs_off && spec->overlap == HORA_OVERLAP_ALLOW)
        return hora__refuse(reason, HORA_EINVAL, "overlap",
                            "HORA_FAILURE_BACK_OFF cannot be combined with HORA_OVERLAP_ALLOW: other runs "
                            "may be in progress");
    return 0;
}

/* Checks the one field of the task options that depends on the schedule. hora_task_options_check checks
 * the others against the scheduler. */
static int check_terms(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    hora_task_options terms;
    if (HORA__TAKE(hora_task_options, &terms, spec->options) < 0)
        return hora__refuse(reason, HORA_EINVAL, "options",
                            "options: struct_size is wrong: start from HORA_INIT(hora_task_options)");
    /* A series has no one end that a limit could refer to. */
    if (terms.finish_within != 0 && count_series(spec) > 0)
        return hora__refuse(
            reason, HORA_EINVAL, "finish_within",
            "finish_within is for a task that runs once; a series has start_within and run_limit");
    return 0;
}

/* Checks slack, spread and the task options. */
static int check_rest(const hora_schedule *spec, hora_error *reason)
{
    assert(spec != NULL);
    if (spec->slack < 0)
        return hora__refuse(reason, HORA_EINVAL, "slack", "slack is negative");
    if (spec->spread < 0)
        return hora__refuse(reason, HORA_EINVAL, "spread", "spread is negative");
    /* An offset of more than a period could move a run behind the next planned time. */
    if (spec->fixed_rate > 0 && spec->spread > spec->fixed_rate)
        return hora__refuse(reason, HORA_EINVAL, "spread",
                            "spread is greater than fixed_rate: the order of the planned times could change");
    return check_terms(spec, reason);
}

/* Runs all checks in order. The first that fails gives the reason. */
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

/* Makes the trigger of a cron expression. HORA_CRON_MODE_FIXED makes it return every time; the schedule's
 * `missed` alone decides which passed times are made up. With a timer queue, the zone is shared with its
 * other tasks and refreshed with them; without one (hora_schedule_check) it is read for this call only. A
 * NULL zone is the local one. The caller receives a reference. */
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
        /* The trigger has its own references to zone and expression. */
        (void)hora_zone_unref(zone);
    }
    (void)hora_cron_unref(cron);
    return error;
}

/* Checks and completes a copy of the caller's schedule. It then has a trigger in place of cron and zone, and
 * a reference to its trigger, if any, which the caller releases. `queue` may be NULL; see make_trigger. */
static int complete(hora_schedule *own, hora_queue *queue, hora_error *reason)
{
    int error = check(own, reason);
    if (error == 0 && own->cron != NULL)
        error = make_trigger(own, queue, &own->trigger, reason);
    else if (error == 0)
        (void)hora_trigger_ref(own->trigger);
    if (error < 0)
        return error;
    assert(own->trigger != NULL || own->cron == NULL);
    /* The caller's strings may not outlive the call. */
    own->cron = own->zone = NULL;
    return 0;
}

/* Checks everything that does not depend on a scheduler, including the expression and its zone. The
 * trigger that this makes is released at once. */
int hora_schedule_check(const hora_schedule *schedule, hora_error *reason)
{
    hora_schedule own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_schedule, &own, schedule) < 0)
        return hora__refuse_size(reason, "hora_schedule");
    int error = complete(&own, NULL, reason);
    if (error == 0)
        (void)hora_trigger_unref(own.trigger);
    return hora__reason_end(reason, error);
}

/* ---- scheduling by a schedule ---- */

/* Returns the timeline of the planned times: that of the named clock, else the wall clock for moments of
 * it, else the scheduler's own. */
static enum hora__timeline line_of(const hora_pool *pool, const hora_schedule *spec)
{
    assert(spec != NULL);
    if (spec->clock != HORA_CLOCK_DEFAULT)
        return hora__timeline_of(spec->clock);
    return spec->at.ns != 0 || hora_trigger_is_wall(spec->trigger) ? HORA__WALL
                                                                   : hora__clock_timeline(pool->object.clock);
}

/* Returns the planned time of the first run; HORA_FOREVER if the trigger or function has none. Without
 * `at` and initial_delay, a trigger is asked, in a context in which no run has taken place. Calls user
 * code, so the caller must hold no lock. */
static hora_ns first_of(const hora_schedule *spec, enum hora__timeline line, hora_ns now)
{
    assert(spec->cron == NULL);
    if (spec->at.ns != 0)
        return spec->at.ns;
    /* An explicit first time wins. The trigger is asked only if there is none. */
    bool asks = spec->next != NULL || spec->trigger != NULL;
    if (!asks || spec->initial_delay > 0)
        return hora__ns_add(now, spec->initial_delay > 0 ? spec->initial_delay : 0);
    hora_trigger_context context = {.struct_size = sizeof(hora_trigger_context),
                                    .clock = hora__clock_id_of(line),
                                    .now = now,
                                    .last_planned = HORA_NEVER,
                                    .last_start = HORA_NEVER,
                                    .last_end = HORA_NEVER};
    return hora__plan_ask(spec, &context);
}

/* Returns how the planned times after the first one are found. */
static enum hora__trigger trigger_of(const hora_schedule *spec)
{
    assert(spec->cron == NULL);
    if (spec->next != NULL || spec->trigger != NULL)
        return HORA__ASKED;
    if (spec->fixed_rate > 0)
        return HORA__RATE;
    return spec->fixed_delay > 0 ? HORA__GAP : HORA__ONCE;
}

/* Translates a checked schedule into a plan and schedules the task. `start` holds those fields of the plan
 * that the caller has filled in. The schedule's name overrides that of the task. Returns HORA_EEMPTY if
 * the task would never run. */
static int schedule_by(hora_pool *pool, const hora_task *task, const hora_schedule *spec,
                       const struct hora__scheduled_plan *start, hora_future **ret_future, hora_error *reason)
{
    assert(task->run != NULL);
    hora_task own = *task;
    if (spec->name != NULL)
        own.name = spec->name;
    /* The offset of a spread is derived from the name. */
    if (spec->spread > 0 && own.name == NULL)
        return hora__refuse(reason, HORA_EINVAL, "spread",
                            "spread needs a name, from which the offset is computed");
    enum hora__timeline line = line_of(pool, spec);
    hora_ns now = hora__timer_queue_now(pool->queue, line);
    struct hora__scheduled_plan plan = *start;
    plan.rules = spec;
    /* The caller's schedule may not outlive the call. */
    plan.copies_rules = true;
    plan.trigger = trigger_of(spec);
    plan.line = line;
    plan.planned = first_of(spec, line, now);
    plan.every = spec->fixed_rate > 0 ? spec->fixed_rate : spec->fixed_delay;
    plan.offset = hora__plan_offset(own.name, spec->spread);
    /* A time that was given explicitly, and not found by the trigger, stays when a zone gets new rules. */
    plan.is_given = spec->at.ns != 0 || spec->initial_delay > 0;
    /* A one-shot task may be planned for HORA_FOREVER; a trigger that returns it has no time at all. */
    bool never = plan.trigger == HORA__ASKED && plan.planned == HORA_FOREVER;
    assert(plan.offset >= 0 && plan.every >= 0);
    if (never || hora__series_is_after_end(spec, pool->queue, line, hora__ns_add(plan.planned, plan.offset)))
        return HORA_EEMPTY;
    return hora__scheduler_schedule(pool, &own, &plan, ret_future);
}

/* Implements both calls below. `paused`: the task starts paused. */
static int schedule_with(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                         bool paused, hora_future **ret_future, hora_error *reason)
{
    hora_schedule own;
    int error = hora__scheduler_check(scheduler, task);
    if (error < 0)
        return error;
    if (HORA__TAKE(hora_schedule, &own, spec) < 0)
        return hora__refuse_size(reason, "hora_schedule");
    struct hora__scheduled_plan start = {.paused = paused, .zone_is_known = own.cron != NULL};
    if (own.cron != NULL || own.trigger != NULL)
        /* Read before a zone is read or a trigger asked, so that a refresh in between is noticed when the
         * task is queued; see zones.c. */
        start.zones_seen = hora__zones_seen(scheduler->queue);
    if (own.options != NULL)
        error = hora_task_options_check(scheduler, own.options, reason);
    if (error == 0)
        error = complete(&own, scheduler->queue, reason);
    if (error < 0)
        return error;
    error = schedule_by(scheduler, task, &own, &start, ret_future, reason);
    (void)hora_trigger_unref(own.trigger);
    return error;
}

/* A schedule without any time is an error here. The registrar, which calls hora__schedule_paused, accepts
 * it. */
int hora_scheduler_schedule_with(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                                 hora_future **ret_future, hora_error *reason)
{
    hora__reason_begin(reason);
    int error = schedule_with(scheduler, task, spec, false, ret_future, reason);
    if (error == HORA_EEMPTY)
        error = hora__refuse(reason, HORA_EINVAL, NULL,
                             "the schedule has no run: its first time would be after its end, or never");
    return hora__reason_end(reason, error);
}

int hora__schedule_paused(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                          hora_future **ret_future, hora_error *reason)
{
    return schedule_with(scheduler, task, spec, true, ret_future, reason);
}
