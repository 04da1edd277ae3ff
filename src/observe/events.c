/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - calling the functions of a listener, and static probes at the same points
 *
 * How it works      The thread that causes an event calls a function here after it has released all locks.
 *                   That function counts the event and calls the listener's function for it, if there is
 *                   one, with all that is known about the event.
 * Invariants        I1 the thread that runs a task reports the start and the end of each run, once each
 *                   and in this order.
 *                   I2 every event is reported once, by the thread that caused it. */
#include "observe/measures.h"
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/overlap.h"
#include "sched/scheduled.h"
#include "sys/probe.h"

/* Returns the future that a report names: for an overlapping run, its series, which is the one that the user
 * knows. NULL for NULL. */
static hora_future *shown(hora_future *future)
{
    return future != NULL && future->kind == HORA__FUTURE_OVERLAPPING ? hora__overlap_series(future) : future;
}

/* Calls a function of the listener; NULL: there is none. Does nothing after the pool has been freed, which
 * the call would name. */
static void call_listener(struct hora__pool_observer *pool_observer, hora_event_fn function, hora_event event)
{
    assert(!hora__mutex_holds_object());
    if (function == NULL || pool_observer->pool == NULL)
        return;
    event.struct_size = sizeof event;
    function(pool_observer->pool, &event, pool_observer->options.listener.arg);
}

/* ---- around a run ---- */

/* A run that starts too late is reported twice: as woke_late, and as started. A pool that measures has
 * computed the lateness. Any other pool has neither metrics nor a listener for runs, and does not compute it
 * for the probe alone, because that takes the lock of the timer queue and reads a clock for each run. */
void hora__events_started(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                          const struct hora__run_start *start)
{
    const struct hora__observer_options *options = &record->pool_observer->options;
    const hora_listener *listener = &options->listener;
    bool has_listener = listener->started != NULL || listener->woke_late != NULL;
    hora_ns late = start->late;
    if (late < 0 && has_listener)
        late = hora__measures_lateness(future);
    bool is_late = late > options->late_after;
    if (is_late)
        HORA__PROBE(task_late, future, task->name, late);
    if (!has_listener)
        return;
    hora_event event = {.task = task,
                        .future = shown(future),
                        .worker = record->worker->number,
                        .waited = hora__ns_max(start->waited, 0),
                        .late = hora__ns_max(late, 0)};
    if (is_late)
        call_listener(record->pool_observer, listener->woke_late, event);
    call_listener(record->pool_observer, listener->started, event);
}

static bool is_scheduled(const hora_future *future)
{
    return future != NULL &&
           (future->kind == HORA__FUTURE_SCHEDULED || future->kind == HORA__FUTURE_OVERLAPPING);
}

/* A failed run of a scheduled task is only noted here. hora__events_failed reports it once the scheduler has
 * decided whether another run follows; the calling worker calls that next. */
void hora__events_ended(struct hora__worker_record *record, hora_future *future, const hora_task *task,
                        int code, hora_ns ran)
{
    const hora_listener *listener = &record->pool_observer->options.listener;
    hora_event_fn function = code == 0 ? listener->done : listener->failed;
    if (function == NULL)
        return;
    if (code != 0 && is_scheduled(future)) {
        record->failure = (struct hora__failure){true, code, ran, task};
        return;
    }
    hora_event event = {
        .task = task, .future = shown(future), .worker = record->worker->number, .code = code, .ran = ran};
    call_listener(record->pool_observer, function, event);
}

/* The note is in the record of the calling worker. A thread that is no worker of this pool has no such
 * record, so it has noted nothing, and nothing is reported. */
void hora__events_failed(struct hora__observer *observer, hora_future *future, bool ends,
                         int64_t failures_in_a_row)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    hora_thread *thread = hora__thread_existing();
    if (thread == NULL || thread->worker_observer == NULL ||
        hora__worker_record_of(thread->worker_observer)->pool_observer != pool_observer)
        return;
    struct hora__worker_record *record = hora__worker_record_of(thread->worker_observer);
    struct hora__failure failure = record->failure;
    record->failure.is_noted = false;
    if (!failure.is_noted)
        return; /* no listener for failures, or the run was nested too deeply to be observed */
    hora_event event = {.task = failure.task,
                        .future = shown(future),
                        .worker = record->worker->number,
                        .code = failure.code,
                        .ran = failure.ran,
                        .ends = ends,
                        .failures_in_a_row = failures_in_a_row};
    call_listener(pool_observer, pool_observer->options.listener.failed, event);
}

/* ---- other events ---- */

/* Another thread may cancel a future and drop its task at the same time, so this and the functions below
 * report a copy of the task. A task without a future belongs to the caller. */
void hora__events_rejected(struct hora__observer *observer, hora_future *future, const hora_task *task,
                           const char *why)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    struct hora__task_copy own;
    if (future != NULL) {
        hora__future_copy_task(future, &own);
        task = &own.task;
    }
    hora__measures_count_event(pool_observer, task->name, HORA__COUNT_REJECTED, 1);
    hora_event event = {.task = task, .future = future, .why = why};
    call_listener(pool_observer, pool_observer->options.listener.rejected, event);
}

void hora__events_thread_failed(struct hora__observer *observer, int error)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    call_listener(pool_observer, pool_observer->options.listener.thread_failed, (hora_event){.code = error});
}

void hora__events_skipped(struct hora__observer *observer, hora_future *future, int64_t count)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    struct hora__task_copy own;
    hora__future_copy_task(future, &own);
    hora__measures_count_event(pool_observer, own.task.name, HORA__COUNT_SKIPPED, count);
    hora_event event = {.task = &own.task, .future = future, .count = count};
    call_listener(pool_observer, pool_observer->options.listener.skipped, event);
}

void hora__events_clock_stepped(struct hora__observer *observer, hora_ns suspended, hora_ns stepped,
                                int overdue)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    hora_event event = {.suspended = suspended, .stepped = stepped, .count = overdue};
    call_listener(pool_observer, pool_observer->options.listener.clock_stepped, event);
}

/* Counts each dropped run, but reports them as one event. */
void hora__events_expired(struct hora__pool_observer *pool_observer, hora_future *future, int64_t count,
                          const char *why)
{
    assert(future != NULL && count > 0);
    struct hora__task_copy own;
    hora__future_copy_task(future, &own);
    HORA__PROBE(task_expired, future, own.task.name, why);
    hora__measures_count_event(pool_observer, own.task.name, HORA__COUNT_EXPIRED, count);
    hora_event event = {.task = &own.task, .future = shown(future), .why = why};
    call_listener(pool_observer, pool_observer->options.listener.expired, event);
}

/* The caller has filled the event, with a copy of the task; this adds the future that the user knows. */
void hora__events_stuck(struct hora__pool_observer *pool_observer, hora_future *future,
                        const hora_event *event)
{
    assert(event->task != NULL);
    hora_event own = *event;
    own.future = shown(future);
    HORA__PROBE(task_stuck, future, own.task->name, own.worker, own.ran);
    hora__measures_count_event(pool_observer, own.task->name, HORA__COUNT_STUCK, 1);
    call_listener(pool_observer, pool_observer->options.listener.stuck, own);
}

void hora__events_resized(struct hora__pool_observer *pool_observer, int before, int after, const char *why)
{
    assert(before != after);
    HORA__PROBE(pool_resized, pool_observer->pool, before, after, why);
    hora_event event = {.threads_before = before, .threads = after, .why = why};
    call_listener(pool_observer, pool_observer->options.listener.resized, event);
}
