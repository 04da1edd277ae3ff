/* SPDX-License-Identifier: Apache-2.0 */
/* reschedule.c - re-time, pause and resume a scheduled task by its handle
 *
 * An entry that waits in the timer queue is changed there. If a worker has the task, the change is noted in
 * the series state. The worker finds the note before the run, if the run has not begun, else after it. A task
 * that runs once cannot be changed any more once a worker has it. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "exec/extra.h"
#include "sched/scheduler.h"

/* Returns whether no run can follow although the future is not done yet, so that a change would have no
 * effect. The caller holds the lock. */
static bool is_ending(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    const struct hora__series *series = scheduled->series;
    if (series == NULL || HORA__FAULT(RESCHEDULE_AFTER_THE_END))
        return false;
    bool is_last = scheduled->entry.stage == HORA__RUNS && series->rules->count > 0 &&
                   series->runs >= series->rules->count;
    return series->is_over || is_last;
}

/* Checks that the task can be changed, and locks its timer queue. Returns 0 with the lock held, or an error
 * of hora__scheduled_enter, or HORA_EBUSY: the task cannot be changed any more. */
static int enter(hora_future *future, struct hora__scheduled **ret_scheduled)
{
    assert(ret_scheduled != NULL);
    int error = hora__scheduled_enter(future, ret_scheduled);
    if (error < 0)
        return error;
    const struct hora__scheduled *scheduled = *ret_scheduled;
    bool waits = scheduled->entry.stage == HORA__WAITS;
    bool is_out = scheduled->entry.stage == HORA__OUT || scheduled->entry.stage == HORA__SWEPT;
    bool comes_back = scheduled->entry.comes_back && !is_out;
    if (!hora_future_is_done(future) && (waits || comes_back) && !is_ending(scheduled))
        return 0;
    hora__scheduled_leave(*ret_scheduled);
    return HORA_EBUSY;
}

/* Moves the entry to its due time, which may have changed, unlocks, and wakes a worker if the first due time
 * is earlier now. */
static void leave(struct hora__scheduled *scheduled)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    if (scheduled->entry.stage == HORA__WAITS) {
        hora__timer_queue_move(scheduled->queue, &scheduled->entry, hora__scheduled_due(scheduled));
        if (!HORA__FAULT(RESCHEDULE_WAKES_NOBODY))
            hora__queue_serve(scheduled->queue, NULL, &wakes);
    }
    hora__queue_exit(scheduled->queue, &wakes);
    hora__future_nudge(&scheduled->future); /* a worker that waits for the task may run it when it is due */
}

/* Returns whether the series has a period or a delay that can be changed. */
static bool has_every(const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    enum hora__trigger trigger = hora__scheduled_trigger(scheduled);
    return trigger == HORA__RATE || trigger == HORA__GAP;
}

/* Notes a new due time, and a new period unless it is 0: for the entry if it waits in the queue, else for the
 * next run, as a wish that the worker finds (is_retimed). The caller holds the lock. */
static void retime_series(struct hora__scheduled *scheduled, hora_ns due, hora_ns every)
{
    assert(scheduled->series != NULL);
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__series *series = scheduled->series;
    hora_ns planned = hora__ns_sub(due, series->offset);
    if (every > 0)
        series->every = every;
    series->staleness =
        HORA__NOT_STALE; /* the new time was given, so it does not depend on clocks or zones */
    series->is_retimed = scheduled->entry.stage != HORA__WAITS;
    if (series->is_retimed)
        series->planned_next = planned;
    else
        scheduled->planned = planned;
    series->is_given |= !series->is_retimed;
}

/* A task without series state is only changed while it waits in the queue, so its planned time is changed at
 * once. */
int hora_future_reschedule(hora_future *future, hora_ns delay, hora_ns every)
{
    struct hora__scheduled *scheduled;
    int error = every < 0 ? HORA_EINVAL : enter(future, &scheduled);
    if (error < 0)
        return error;
    /* Nothing has changed yet, so the entry need not be moved. */
    if (every > 0 && !has_every(scheduled)) {
        hora__scheduled_leave(scheduled);
        return HORA_EINVAL;
    }
    hora_ns now = hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled));
    hora_ns due = hora__ns_add(now, delay > 0 ? delay : 0);
    if (scheduled->series == NULL)
        scheduled->planned = due;
    else
        retime_series(scheduled, due, every);
    leave(scheduled);
    hora__extra_rescheduled(future);
    return 0;
}

/* Pauses or resumes a task. Returns 1 if that changes anything, 0 if not, or an error. A paused entry stays
 * in the timer queue, and is never due. */
static int set_paused(hora_future *future, bool paused)
{
    struct hora__scheduled *scheduled;
    int error = enter(future, &scheduled);
    if (error < 0)
        return error;
    bool changes = scheduled->paused != paused;
    scheduled->paused = paused;
    leave(scheduled);
    return changes ? 1 : 0;
}

int hora_future_pause(hora_future *future)
{
    return set_paused(future, true);
}

int hora_future_resume(hora_future *future)
{
    return set_paused(future, false);
}
