/* SPDX-License-Identifier: Apache-2.0 */
/* scheduled.c - the beginning and end of a scheduled future, and what can be asked of it */
#include "sched/scheduled.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sched/crew.h"
#include "sys/alloc.h"

static_assert(offsetof(struct hora__scheduled, future) == 0, "one address for both");

hora_ns hora__scheduled_due(const struct hora__scheduled *scheduled)
{
    if (scheduled->paused)
        return HORA_FOREVER;
    return scheduled->doubt != HORA__NO_DOUBT ? INT64_MIN : hora__ns_add(scheduled->planned, scheduled->offset);
}

void hora__scheduled_check_rules(struct hora__scheduled *scheduled)
{
    if (scheduled->refreshes != scheduled->queue->refreshes && hora__scheduled_follows_zone(scheduled) &&
        scheduled->doubt == HORA__NO_DOUBT && !HORA__FAULT(ZONES_REFRESH_UNSEEN_BY_RUN))
        scheduled->doubt = HORA__NEW_RULES;
    scheduled->refreshes = scheduled->queue->refreshes;
}

void hora__scheduled_check_clock(struct hora__scheduled *scheduled)
{
    hora__scheduled_check_rules(scheduled);
    if (scheduled->set_backs != scheduled->queue->set_backs && hora__scheduled_follows_wall(scheduled) &&
        !HORA__FAULT(CLOCK_SET_BACK_UNSEEN_BY_RUN))
        scheduled->doubt = HORA__SET_BACK;
    scheduled->set_backs = scheduled->queue->set_backs;
}

/* A trigger knows nothing of the offset: to it, everything happens so much earlier. */
static hora_ns without_offset(const struct hora__scheduled *scheduled, hora_ns time)
{
    return time == HORA_NEVER ? time : hora__ns_sub(time, scheduled->offset);
}

hora_trigger_context hora__scheduled_context(const struct hora__scheduled *scheduled, hora_ns now)
{
    return (hora_trigger_context){.timeline = scheduled->entry.line,
                                  .now = now,
                                  .last_planned = scheduled->last_planned,
                                  .last_start = without_offset(scheduled, scheduled->last_start),
                                  .last_end = without_offset(scheduled, scheduled->last_end),
                                  .runs = scheduled->runs};
}

/* ---- making ---- */

static void free_rules(struct hora__rules *rules)
{
    if (rules != NULL)
        (void)hora_trigger_unref(rules->spec.trigger);
    hora__free(rules);
}

static void destroy(struct hora__object *object)
{
    struct hora__scheduled *scheduled = HORA__LIST_ENTRY(object, struct hora__scheduled, future.object);
    hora_queue *queue = scheduled->queue;
    struct hora__rules *rules = scheduled->own_rules;
    bool is_linked = rules != NULL && !hora__list_is_empty(&rules->link);
    if (scheduled->entry.kept ||
        is_linked) { /* nobody else looks at it any more, so that needs no lock; the agenda does */
        hora__mutex_lock(&queue->object.lock);
        if (is_linked)
            hora__list_remove(&rules->link);
        if (scheduled->entry.kept)
            hora__agenda_give_up(queue, &scheduled->entry);
        hora__mutex_unlock(&queue->object.lock);
    }
    struct hora__crew *crew = scheduled->crew;
    hora__future_destroy(object); /* the memory is gone after this */
    hora__crew_free(crew);
    free_rules(rules);
    hora__object_leave(&queue->object);
}

static int copy_rules(struct hora__scheduled *scheduled, const struct hora__scheduled_plan *plan)
{
    scheduled->rules = plan->rules;
    if (!plan->copies_rules)
        return 0;
    struct hora__rules *rules = hora__alloc(1, sizeof *rules);
    if (rules == NULL)
        return HORA_ENOMEM;
    rules->spec = *plan->rules;
    (void)hora_trigger_ref(rules->spec.trigger);
    rules->scheduled = scheduled;
    hora__list_init(&rules->link);
    scheduled->rules = &rules->spec;
    scheduled->own_rules = rules;
    return 0;
}

static void init(struct hora__scheduled *scheduled, hora_queue *queue, const struct hora__scheduled_plan *plan)
{
    scheduled->future.kind = HORA__FUTURE_SCHEDULED;
    scheduled->future.object.destroy = destroy;
    scheduled->queue = queue;
    hora__object_ref(&queue->object);
    scheduled->tells = plan->tells;
    scheduled->trigger = plan->trigger;
    scheduled->offset = plan->offset;
    bool comes_back = plan->trigger != HORA__ONCE || plan->rules->failure == HORA_FAILURE_BACK_OFF;
    hora__entry_init(&scheduled->entry, &scheduled->future, plan->line, plan->rules->slack, comes_back);
    scheduled->place = HORA__OUT;
    scheduled->paused = plan->paused;
    scheduled->every = plan->every;
    scheduled->planned = plan->planned;
    scheduled->is_given = plan->is_given;
    scheduled->last_planned = HORA_NEVER;
    scheduled->last_start = HORA_NEVER;
    scheduled->last_end = HORA_NEVER;
}

int hora__scheduled_new(const hora_task *task, hora_queue *queue, const struct hora__scheduled_plan *plan,
                        struct hora__scheduled **ret_scheduled)
{
    struct hora__scheduled *scheduled = hora__alloc(1, sizeof *scheduled);
    if (scheduled == NULL)
        return HORA_ENOMEM;
    int error = copy_rules(scheduled, plan);
    if (error == 0)
        error = hora__future_init(&scheduled->future, task, queue->object.clock, false);
    if (error < 0) {
        free_rules(scheduled->own_rules);
        hora__free(scheduled);
        return error;
    }
    init(scheduled, queue, plan);
    *ret_scheduled = scheduled;
    return 0;
}

/* ---- asking ---- */

int hora__scheduled_enter(hora_future *future, struct hora__scheduled **ret_scheduled)
{
    int error = future == NULL ? HORA_EINVAL : hora__object_check(&future->object);
    if (error == 0 && hora__scheduled_of(future) == NULL)
        error = HORA_EINVAL;
    if (error < 0)
        return error;
    *ret_scheduled = hora__scheduled_of(future);
    hora__mutex_lock(&(*ret_scheduled)->queue->object.lock);
    return 0;
}

void hora__scheduled_leave(struct hora__scheduled *scheduled)
{
    hora__mutex_unlock(&scheduled->queue->object.lock);
}

/* How far off it is by now. */
static hora_ns distance(const struct hora__scheduled *scheduled)
{
    return hora__ns_sub(hora__scheduled_due(scheduled), hora__agenda_now(scheduled->queue, scheduled->entry.line));
}

int hora_scheduled_delay(hora_future *future, hora_ns *ret_delay)
{
    struct hora__scheduled *scheduled;
    int error = ret_delay == NULL ? HORA_EINVAL : hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    *ret_delay = distance(scheduled);
    hora__scheduled_leave(scheduled);
    return 0;
}

static int compare_locked(const struct hora__scheduled *a, const struct hora__scheduled *b)
{
    bool same_line = a->entry.line == b->entry.line;
    hora_ns time_a = same_line ? hora__scheduled_due(a) : distance(a);
    hora_ns time_b = same_line ? hora__scheduled_due(b) : distance(b);
    if (time_a != time_b)
        return time_a < time_b ? -1 : 1;
    return (a->entry.by_due.sequence > b->entry.by_due.sequence) -
           (a->entry.by_due.sequence < b->entry.by_due.sequence);
}

int hora_scheduled_compare(hora_future *a, hora_future *b)
{
    struct hora__scheduled *first;
    if (b == NULL || hora__scheduled_of(b) == NULL || hora__scheduled_enter(a, &first) < 0)
        return 0;
    const struct hora__scheduled *second = hora__scheduled_of(b);
    int order = first->queue == second->queue ? compare_locked(first, second) : 0;
    hora__scheduled_leave(first);
    return order;
}

bool hora_scheduled_is_periodic(const hora_future *future)
{
    return future != NULL && future->kind == HORA__FUTURE_SCHEDULED &&
           hora__scheduled_is_series((const struct hora__scheduled *)future);
}

static hora_ns next_of(const struct hora__scheduled *scheduled)
{
    bool waits = scheduled->place == HORA__WAITS || scheduled->place == HORA__TAKEN;
    if (!waits || scheduled->paused || scheduled->doubt != HORA__NO_DOUBT || hora_future_is_done(&scheduled->future))
        return HORA_NEVER;
    return hora__scheduled_due(scheduled);
}

int hora_scheduled_info(hora_future *future, hora_schedule_info *ret_info)
{
    struct hora__scheduled *scheduled;
    int error = ret_info == NULL ? HORA_EINVAL : hora__scheduled_enter(future, &scheduled);
    if (error < 0)
        return error;
    *ret_info = (hora_schedule_info){
        .struct_size = sizeof *ret_info,
        .timeline = scheduled->entry.line,
        .paused = scheduled->paused,
        .running = scheduled->running,
        .next = next_of(scheduled),
        .last_planned = scheduled->runs == 0 ? HORA_NEVER : hora__ns_add(scheduled->last_planned, scheduled->offset),
        .last_start = scheduled->last_start,
        .last_end = scheduled->last_end,
        .last_code = scheduled->last_code,
        .runs = scheduled->runs,
        .failures = scheduled->failures,
        .failures_in_a_row = scheduled->failures_in_a_row,
        .skipped = scheduled->skipped,
    };
    hora__scheduled_leave(scheduled);
    return 0;
}
