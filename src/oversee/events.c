/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - tell listeners what happens; and static probes at the same places
 *
 * How it works      Whoever does something calls a function here, after it has let go of all locks. What counts is counted, and if the user has
 *                   a function for it, that is called with what is known.
 * Invariants        I1 a run that begins is told, and its end, once each and in this order, by the thread that runs it.
 *                   I2 whatever is told is told once: by the thread that has done it. */
#include "oversee/events.h"

#include <stddef.h>

#include "base/ns.h"
#include "sched/crew.h"
#include "sched/scheduled.h"
#include "sys/probe.h"

/* What a run is told with: that of a series, if others of it may run at the same time. */
static hora_future *shown(hora_future *future)
{
    return future != NULL && future->kind == HORA__FUTURE_MEMBER ? hora__crew_series(future) : future;
}

static void tell(struct hora__oversight *oversight, hora_event_fn told, hora_event event)
{
    if (told == NULL || oversight->pool == NULL)
        return;
    event.struct_size = sizeof event;
    told(oversight->pool, &event, oversight->options.listener.arg);
}

/* ---- around a run ---- */

static hora_ns at_least_zero(hora_ns time)
{
    return time > 0 ? time : 0;
}

/* How long after its planned time it is now, by the clock that it follows; < 0: it is not scheduled. */
static hora_ns lateness(hora_future *future)
{
    struct hora__scheduled *scheduled = future != NULL ? hora__scheduled_of(shown(future)) : NULL;
    if (scheduled == NULL)
        return -1;
    hora__mutex_lock(&scheduled->queue->object.lock);
    hora_ns planned = scheduled->planned;
    hora__mutex_unlock(&scheduled->queue->object.lock);
    if (future->kind == HORA__FUTURE_MEMBER)
        planned = hora__crew_planned(future);
    hora_ns now = hora__agenda_now(scheduled->queue, hora__scheduled_line(scheduled));
    return at_least_zero(hora__ns_sub(now, hora__ns_add(planned, hora__scheduled_offset(scheduled))));
}

void hora__events_started(struct hora__post *post, hora_future *future, const hora_task *task,
                          const struct hora__start *start)
{
    const struct hora__oversight_options *options = &post->oversight->options;
    const hora_listener *listener = &options->listener;
    if (listener->started == NULL && listener->woke_late == NULL)
        return;
    hora_ns late = start->late >= 0 ? start->late : lateness(future);
    hora_event event = {.task = task,
                        .future = shown(future),
                        .worker = post->worker->number,
                        .waited = at_least_zero(start->waited),
                        .late = at_least_zero(late)};
    if (late > options->late_after) {
        HORA__PROBE(task_late, future, task->name, late);
        tell(post->oversight, listener->woke_late, event);
    }
    tell(post->oversight, listener->started, event);
}

static bool is_scheduled(const hora_future *future)
{
    return future != NULL && (future->kind == HORA__FUTURE_SCHEDULED || future->kind == HORA__FUTURE_MEMBER);
}

void hora__events_ended(struct hora__post *post, hora_future *future, const hora_task *task, int code, hora_ns ran)
{
    const hora_listener *listener = &post->oversight->options.listener;
    hora_event_fn told = code == 0 ? listener->done : listener->failed;
    if (told == NULL)
        return;
    if (code != 0 && is_scheduled(future)) { /* told as soon as the scheduler knows whether a run will follow */
        post->failure = (struct hora__failure){true, code, ran, task};
        return;
    }
    hora_event event = {
        .task = task, .future = shown(future), .worker = post->worker->number, .code = code, .ran = ran};
    tell(post->oversight, told, event);
}

void hora__events_failed(struct hora__overseer *overseer, hora_future *future, bool ends, int64_t failures_in_a_row)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    hora_thread *thread = hora__thread_existing();
    if (thread == NULL || thread->witness == NULL || hora__post_of(thread->witness)->oversight != oversight)
        return;
    struct hora__post *post = hora__post_of(thread->witness);
    struct hora__failure failure = post->failure;
    post->failure.is_noted = false;
    if (!failure.is_noted)
        return; /* deeper than is told of */
    hora_event event = {.task = failure.task,
                        .future = shown(future),
                        .worker = post->worker->number,
                        .code = failure.code,
                        .ran = failure.ran,
                        .ends = ends,
                        .failures_in_a_row = failures_in_a_row};
    tell(oversight, oversight->options.listener.failed, event);
}

/* ---- other things ---- */

static const char *name_of(const hora_task *task)
{
    return task != NULL ? task->name : NULL;
}

void hora__events_rejected(struct hora__overseer *overseer, hora_future *future, const hora_task *task, const char *why)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    struct hora__task_copy own; /* another thread may cancel and drop it at the same time */
    if (future != NULL) {
        hora__future_copy_task(future, &own);
        task = &own.task;
    }
    hora__measures_mishap(oversight, task->name, HORA__MISHAP_REJECTED, 1);
    hora_event event = {.task = task, .future = future, .why = why};
    tell(oversight, oversight->options.listener.rejected, event);
}

void hora__events_thread_failed(struct hora__overseer *overseer, int error)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    tell(oversight, oversight->options.listener.thread_failed, (hora_event){.code = error});
}

void hora__events_skipped(struct hora__overseer *overseer, hora_future *future, int64_t count)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    struct hora__task_copy own; /* another thread may cancel and drop it at the same time */
    hora__future_copy_task(future, &own);
    hora__measures_mishap(oversight, own.task.name, HORA__MISHAP_SKIPPED, count);
    hora_event event = {.task = &own.task, .future = future, .count = count};
    tell(oversight, oversight->options.listener.skipped, event);
}

void hora__events_clock_stepped(struct hora__overseer *overseer, hora_ns suspended, hora_ns stepped, int overdue)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    hora_event event = {.suspended = suspended, .stepped = stepped, .count = overdue};
    tell(oversight, oversight->options.listener.clock_stepped, event);
}

void hora__events_expired(struct hora__oversight *oversight, hora_future *future, int64_t count, const char *why)
{
    struct hora__task_copy own; /* another thread may cancel and drop it at the same time */
    hora__future_copy_task(future, &own);
    HORA__PROBE(task_expired, future, own.task.name, why);
    hora__measures_mishap(oversight, own.task.name, HORA__MISHAP_EXPIRED, count);
    hora_event event = {.task = &own.task, .future = shown(future), .why = why};
    tell(oversight, oversight->options.listener.expired, event);
}

void hora__events_stuck(struct hora__oversight *oversight, hora_future *future, const hora_event *event)
{
    hora_event own = *event;
    own.future = future != NULL ? shown(future) : NULL;
    if (own.task == NULL && future != NULL)
        own.task = &future->task;
    HORA__PROBE(task_stuck, future, name_of(own.task), own.worker, own.ran);
    hora__measures_mishap(oversight, name_of(own.task), HORA__MISHAP_STUCK, 1);
    tell(oversight, oversight->options.listener.stuck, own);
}

void hora__events_resized(struct hora__oversight *oversight, int before, int after, const char *why)
{
    HORA__PROBE(pool_resized, oversight->pool, before, after, why);
    hora_event event = {.threads_before = before, .threads = after, .why = why};
    tell(oversight, oversight->options.listener.resized, event);
}
