/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_with.c - scheduling by a schedule (hora/scheduler.h): what it says, as a plan for the first run and those after it */
#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "sched/plan.h"
#include "sched/scheduler.h"
#include "sched/spec.h"
#include "sched/zones.h"

static enum hora__timeline line_of(const hora_pool *pool, const hora_schedule *spec)
{
    assert(spec != NULL);
    if (spec->clock != HORA_CLOCK_DEFAULT)
        return hora__timeline_of(spec->clock);
    return spec->at.ns != 0 || hora_trigger_is_wall(spec->trigger) ? HORA__WALL
                                                                   : hora__clock_timeline(pool->object.clock);
}

static hora_ns first_of(const hora_schedule *spec, enum hora__timeline line, hora_ns now)
{
    assert(spec->cron == NULL);
    if (spec->at.ns != 0)
        return spec->at.ns;
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

static enum hora__trigger trigger_of(const hora_schedule *spec)
{
    assert(spec->cron == NULL);
    if (spec->next != NULL || spec->trigger != NULL)
        return HORA__ASKED;
    if (spec->fixed_rate > 0)
        return HORA__RATE;
    return spec->fixed_delay > 0 ? HORA__GAP : HORA__ONCE;
}

/* HORA_EEMPTY: it would never run. */
static int schedule_by(hora_pool *pool, const hora_task *task, const hora_schedule *spec,
                       const struct hora__scheduled_plan *start, hora_future **ret_future, hora_error *reason)
{
    assert(task->run != NULL);
    hora_task own = *task;
    if (spec->name != NULL)
        own.name = spec->name;
    if (spec->spread > 0 && own.name == NULL)
        return hora__refuse(reason, HORA_EINVAL, "spread",
                            "spread needs a name, from which it takes the offset");
    enum hora__timeline line = line_of(pool, spec);
    hora_ns now = hora__timer_queue_now(pool->queue, line);
    struct hora__scheduled_plan plan = *start;
    plan.rules = spec;
    plan.copies_rules = true;
    plan.trigger = trigger_of(spec);
    plan.line = line;
    plan.planned = first_of(spec, line, now);
    plan.every = spec->fixed_rate > 0 ? spec->fixed_rate : spec->fixed_delay;
    plan.offset = hora__plan_offset(own.name, spec->spread);
    plan.is_given = spec->at.ns != 0 || spec->initial_delay > 0;
    bool never = plan.trigger == HORA__ASKED && plan.planned == HORA_FOREVER;
    assert(plan.offset >= 0 && plan.every >= 0);
    if (never || hora__series_is_after_end(spec, pool->queue, line, hora__ns_add(plan.planned, plan.offset)))
        return HORA_EEMPTY;
    return hora__scheduler_schedule(pool, &own, &plan, ret_future);
}

static int schedule_with(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                         bool paused, hora_future **ret_future, hora_error *reason)
{
    hora_schedule own = HORA_INIT(hora_schedule);
    int error = hora__scheduler_check(scheduler, task);
    if (error < 0)
        return error;
    if (HORA__TAKE(hora_schedule, &own, spec) < 0)
        return hora__refuse_size(reason, "hora_schedule");
    struct hora__scheduled_plan start = {.paused = paused, .zone_is_known = own.cron != NULL};
    if (own.cron != NULL || own.trigger != NULL)
        start.zones_seen = hora__zones_seen(scheduler->queue); /* before a zone is read or a trigger asked */
    if (own.options != NULL)
        error = hora_task_options_check(scheduler, own.options, reason);
    if (error == 0)
        error = hora__spec_read(spec, scheduler->queue, &own, reason);
    if (error < 0)
        return error;
    error = schedule_by(scheduler, task, &own, &start, ret_future, reason);
    (void)hora_trigger_unref(own.trigger);
    return error;
}

int hora_scheduler_schedule_with(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                                 hora_future **ret_future, hora_error *reason)
{
    hora__reason_begin(reason);
    int error = schedule_with(scheduler, task, spec, false, ret_future, reason);
    if (error == HORA_EEMPTY)
        error = hora__refuse(reason, HORA_EINVAL, NULL,
                             "the schedule has no time at all: its first run would come after its end, or "
                             "never");
    return hora__reason_end(reason, error);
}

int hora__schedule_paused(hora_scheduler *scheduler, const hora_task *task, const hora_schedule *spec,
                          hora_future **ret_future, hora_error *reason)
{
    return schedule_with(scheduler, task, spec, true, ret_future, reason);
}
