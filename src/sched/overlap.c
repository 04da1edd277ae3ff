/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - overlapping runs of a series; see overlap.h
 *
 * The task          belongs to the overlap, which counts its users: the series until it is done, and each
 *                   run. The last user drops the task. So the task is never dropped while a body runs, even
 *                   if the series ended long before. The overlap lives as long as the series, to which each
 *                   run has a reference.
 * Cancelling        The series is cancelled like any other. A listener on the series then cancels its runs:
 *                   runs that have not begun never do, and with interrupt the running ones are interrupted. A
 *                   run joins first and then checks whether the series is done, so either the listener finds
 *                   the run, or the run sees that the series is done.
 * The end           When count or end leave no next time, the series is not put back. Its books stay open
 *                   until the last run has ended, which completes the series. A failure that ends the series
 *                   removes it from the timer queue at once.
 * Invariants        I1 series->running is the number of runs that have not ended, and at most overlap_max.
 *                   I2 the series' entry is in the timer queue, or with a worker, or `closing` is set and the
 *                      last run ends the series. */
#include "sched/overlap.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "sched/scheduler.h"
#include "sys/alloc.h"

/* The runs of a series, and their common task. */
struct hora__overlap {
    hora__atomic users;             /* of `task`; 0: it has been dropped, and no run can be made any more */
    hora_task task;                 /* as the caller scheduled it; immutable */
    struct hora__listener listener; /* on the series: series_done */
    /* Runs that have joined and not ended; guarded by the timer queue's lock, as `closing`. */
    struct hora__list overlapping_runs;
    bool closing; /* no planned time is left: the last run completes the series */
};

/* One run of a series, as a future. */
struct overlapping_run {
    hora_future future;                /* first: they begin at the same address */
    struct hora__scheduled *scheduled; /* the series, with a reference; immutable */
    hora_ns planned;                   /* the planned time of this run, without the offset; immutable */
    struct hora__list link;            /* in overlapping_runs; guarded by the timer queue's lock */
    bool is_cancelled;                 /* series_done has cancelled it, or is about to; same lock */
    /* In the same memory. The ticket of the series passes to it. NULL: no admission. Immutable. */
    struct hora__ticket *ticket;
};

/* With admission: a run together with its ticket, in one block. */
struct admitted_run {
    struct overlapping_run overlapping;
    struct hora__ticket ticket;
};

/* Returns the overlapping run that a future is the first part of. */
static struct overlapping_run *overlapping_of(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_OVERLAPPING);
    return (struct overlapping_run *)future;
}

hora_future *hora__overlap_series(const hora_future *overlapping)
{
    assert(overlapping->kind == HORA__FUTURE_OVERLAPPING);
    return &((const struct overlapping_run *)overlapping)->scheduled->future;
}

struct hora__ticket *hora__overlap_ticket(const hora_future *overlapping)
{
    assert(overlapping->kind == HORA__FUTURE_OVERLAPPING);
    return ((const struct overlapping_run *)overlapping)->ticket;
}

hora_ns hora__overlap_planned(const hora_future *overlapping)
{
    assert(overlapping->kind == HORA__FUTURE_OVERLAPPING);
    return ((const struct overlapping_run *)overlapping)->planned;
}

static void lock(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
}

static void unlock(struct hora__scheduled *scheduled)
{
    hora__mutex_unlock(&scheduled->queue->object.lock);
}

/* ---- making and destroying ---- */

/* Stops using the task: the `drop` of the series, also called when a run is destroyed. The last user drops
 * the task. */
static void release_task(void *arg)
{
    struct hora__overlap *overlap = arg;
    assert(hora__atomic_load(&overlap->users) > 0);
    if (hora__atomic_add(&overlap->users, -1) == 1 && overlap->task.drop != NULL)
        overlap->task.drop(overlap->task.arg);
}

/* Starts using the task. Returns false if it has been dropped. */
static bool use_task(struct hora__overlap *overlap)
{
    for (;;) {
        int32_t users = hora__atomic_load(&overlap->users);
        if (users == 0)
            return false;
        if (hora__atomic_cas(&overlap->users, users, users + 1))
            return true;
    }
}

/* Returns a run that series_done has not cancelled yet, with a reference, and marks it; NULL: none is left.
 * One at a time, because the lock cannot be held while a run is cancelled. */
static struct overlapping_run *next_to_cancel(struct hora__scheduled *scheduled)
{
    struct overlapping_run *found = NULL;
    lock(scheduled);
    for (struct hora__list *link = scheduled->series->overlap->overlapping_runs.next;
         link != &scheduled->series->overlap->overlapping_runs && found == NULL; link = link->next) {
        struct overlapping_run *overlapping = HORA__LIST_ENTRY(link, struct overlapping_run, link);
        if (!overlapping->is_cancelled)
            found = overlapping;
    }
    if (found != NULL) {
        found->is_cancelled = true;
        (void)hora_future_ref(&found->future);
    }
    unlock(scheduled);
    return found;
}

/* The listener on the series: cancels its runs, with an interrupt if the series was cancelled with one. A
 * series that has reached its count or end has no run left. */
static void series_done(hora_future *future, void *context)
{
    assert(context != NULL);
    struct hora__scheduled *scheduled = context;
    enum hora__future_state state = hora__future_state(future);
    bool interrupt = state == HORA__FUTURE_INTERRUPTING || state == HORA__FUTURE_INTERRUPTED;
    if (state == HORA__FUTURE_NORMAL || HORA__FAULT(OVERLAP_INTERRUPTS_NO_RUN))
        return;
    struct overlapping_run *overlapping;
    while ((overlapping = next_to_cancel(scheduled)) != NULL) {
        (void)hora_future_cancel(&overlapping->future, interrupt);
        (void)hora_future_unref(&overlapping->future);
    }
}

/* The body of each run: calls the body of the task. The task of the series has it, too, for a caller to which
 * the series is handed back. */
static int run_body(void *arg, void **ret_result)
{
    assert(arg != NULL);
    const struct hora__overlap *overlap = arg;
    return overlap->task.run(overlap->task.arg, ret_result);
}

/* The series is the first user of the task. The listener is called when the series is done. */
int hora__overlap_new(struct hora__scheduled *scheduled)
{
    assert(scheduled->series != NULL && scheduled->series->overlap == NULL);
    struct hora__overlap *overlap = hora__alloc(1, sizeof *overlap);
    if (overlap == NULL)
        return HORA_ENOMEM;
    hora__atomic_init(&overlap->users, 1);
    hora__list_init(&overlap->overlapping_runs);
    overlap->task = scheduled->future.task;
    overlap->listener = (struct hora__listener){.done = series_done, .context = scheduled};
    scheduled->series->overlap = overlap;
    /* The future of the series does not run. It has a body for a caller to which it is handed back, and its
     * drop gives up the series' use of the task. */
    scheduled->future.task.run = run_body;
    scheduled->future.task.arg = overlap;
    scheduled->future.task.drop = release_task;
    hora__future_listen(&scheduled->future, &overlap->listener);
    return 0;
}

/* The task is not dropped: it belongs to the caller of the schedule function again. */
void hora__overlap_forget(struct hora__scheduled *scheduled)
{
    struct hora__overlap *overlap = scheduled->series != NULL ? scheduled->series->overlap : NULL;
    if (overlap == NULL)
        return;
    scheduled->future.listeners = NULL; /* the overlap's listener was the only one */
    scheduled->future.task = overlap->task;
    scheduled->series->overlap = NULL;
    hora__free(overlap);
}

/* Called when the last reference to a run is gone. The reference to the series is dropped last: the overlap,
 * which is part of it, is used before. */
static void destroy_overlapping(struct hora__object *object)
{
    struct overlapping_run *overlapping = HORA__LIST_ENTRY(object, struct overlapping_run, future.object);
    struct hora__scheduled *scheduled = overlapping->scheduled;
    assert(scheduled->series->overlap != NULL);
    if (hora__future_ends_later(&overlapping->future))
        return;
    hora__future_destroy(object);
    release_task(scheduled->series->overlap);
    (void)hora_future_unref(&scheduled->future);
}

/* Makes a run for a planned time, which has not joined yet. Returns NULL if there is no memory, or if the
 * task has been dropped. */
static struct overlapping_run *overlapping_new(struct hora__scheduled *scheduled, hora_ns planned)
{
    assert(scheduled->series->overlap != NULL);
    struct hora__overlap *overlap = scheduled->series->overlap;
    if (!use_task(overlap))
        return NULL;
    hora_task task = overlap->task;
    task.run = run_body;
    task.arg = overlap;
    task.drop = NULL;
    bool is_admitted = hora__timer_queue_admission(scheduled->queue) != NULL;
    struct overlapping_run *overlapping =
        hora__alloc(1, is_admitted ? sizeof(struct admitted_run) : sizeof *overlapping);
    if (overlapping == NULL ||
        hora__future_init(&overlapping->future, &task, scheduled->future.object.clock, false) < 0) {
        hora__free(overlapping);
        release_task(overlap);
        return NULL;
    }
    overlapping->future.kind = HORA__FUTURE_OVERLAPPING;
    overlapping->future.object.destroy = destroy_overlapping;
    overlapping->scheduled = scheduled;
    (void)hora_future_ref(&scheduled->future);
    overlapping->planned = planned;
    hora__list_init(&overlapping->link);
    if (is_admitted) {
        overlapping->ticket = &((struct admitted_run *)overlapping)->ticket;
        hora__ticket_init(overlapping->ticket, NULL, 0, HORA__LEVEL_NORMAL);
    }
    return overlapping;
}

/* ---- admitting ---- */

/* The result of `join`. IS_SKIPPED: overlap_max runs are in progress, or no run could be made. IS_HELD: the
 * series was paused or re-timed after the worker had decided. */
enum joining { JOINS, IS_SKIPPED, IS_HELD };

/* Lets a run, or NULL, join the runs of the series, if one more is allowed. If it joins, the run has begun,
 * and the ticket of the series has passed to it. Otherwise the planned time is skipped, or the series has to
 * wait. */
static enum joining join(hora_pool *pool, struct hora__scheduled *scheduled,
                         struct overlapping_run *overlapping, hora_ns planned)
{
    assert(scheduled->series->overlap != NULL);
    enum joining joining = IS_SKIPPED;
    hora_ns now = hora__timer_queue_now(scheduled->queue, hora__scheduled_line(scheduled));
    lock(scheduled);
    assert(scheduled->series->running >= 0 && scheduled->entry.stage == HORA__TAKEN);
    if (scheduled->paused || scheduled->series->is_retimed)
        joining = IS_HELD;
    else if (overlapping != NULL &&
             scheduled->series->running <
                 scheduled->series->rules->overlap_max + (HORA__FAULT(OVERLAP_ONE_TOO_MANY) ? 1 : 0)) /* I1 */
        joining = JOINS;
    if (joining == JOINS) {
        hora__list_add_last(&scheduled->series->overlap->overlapping_runs, &overlapping->link);
        if (overlapping->ticket != NULL)
            hora__admission_pass(&hora__timer_queue_admission(scheduled->queue)->admission,
                                 scheduled->series->extra->ticket, overlapping->ticket, &overlapping->future);
        hora__series_begins_locked(scheduled, planned, now);
        scheduled->entry.stage = HORA__RUNS;
    }
    hora__series_skips(scheduled->series, joining == IS_SKIPPED ? 1 : 0);
    unlock(scheduled);
    if (joining == IS_SKIPPED)
        hora__series_tell_skipped(pool, scheduled, 1);
    return joining;
}

/* Plans the next run. Returns whether there is none: the series has reached its count or its end. */
static bool is_last(hora_pool *pool, struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    lock(scheduled);
    bool last =
        scheduled->series->rules->count > 0 && scheduled->series->runs >= scheduled->series->rules->count;
    unlock(scheduled);
    return last || hora__series_next(pool, scheduled) == HORA_NEVER;
}

/* If no run is in progress, the caller ends the series; else `closing` makes the last run do that. Both are
 * decided under the lock under which runs leave. */
bool hora__overlap_close(struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(scheduled);
    assert(scheduled->entry.stage == HORA__TAKEN || scheduled->entry.stage == HORA__RUNS); /* I2 */
    if (hora__timer_queue_end_ticket(scheduled)) /* unless the ticket has passed to a run */
        hora__queue_serve(scheduled->queue, NULL, &wakes);
    bool has_runs = !hora__list_is_empty(&scheduled->series->overlap->overlapping_runs);
    scheduled->series->overlap->closing = has_runs; /* I2 */
    scheduled->entry.stage = HORA__OUT;
    hora__queue_exit(scheduled->queue, &wakes);
    if (!has_runs)
        (void)hora_future_complete(&scheduled->future, NULL);
    return !has_runs;
}

/* Puts the series back, or closes it. Returns true if the caller still has it and must close its books. */
static bool series_goes(hora_pool *pool, struct hora__scheduled *scheduled)
{
    if (is_last(pool, scheduled))
        return hora__overlap_close(scheduled);
    return !hora__series_put_back(pool, &scheduled->future, false);
}

/* The run joins before the series is put back: otherwise the series could end, and be completed, without
 * waiting for this run. */
hora_future *hora__overlap_admit(hora_pool *pool, struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    hora_ns planned = scheduled->planned;
    /* Without memory for a run, the planned time is skipped. */
    struct overlapping_run *overlapping = overlapping_new(scheduled, planned);
    enum joining joining = join(pool, scheduled, overlapping, planned);
    if (joining != JOINS) { /* the reference of the entry passes to the thread that closes its books */
        if (overlapping != NULL)
            (void)hora_future_unref(&overlapping->future);
        bool ours = joining == IS_HELD ? !hora__series_put_back(pool, &scheduled->future, false)
                                       : series_goes(pool, scheduled);
        return ours ? &scheduled->future : NULL;
    }
    /* Checked after the run has joined: see "Cancelling" above. */
    if (hora_future_is_done(&scheduled->future) && !HORA__FAULT(OVERLAP_RUNS_AFTER_CANCEL))
        (void)hora_future_cancel(&overlapping->future, false);
    hora__pool_accept(pool);
    hora__future_enqueued(&overlapping->future, &pool->owner, 0); /* metrics use its planned time */
    if (series_goes(pool, scheduled))
        hora__pool_entry_ended(pool, &scheduled->future);
    return &overlapping->future;
}

/* Runs that begin later take over class and level from the ticket of the series. The ticket of a run runs
 * from before the run joins until after it has left. */
void hora__overlap_change(struct hora__scheduled *scheduled, const struct hora__ticket_change *change)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__list *overlapping_runs = &scheduled->series->overlap->overlapping_runs;
    for (struct hora__list *link = overlapping_runs->next; link != overlapping_runs; link = link->next) {
        struct hora__ticket *ticket = HORA__LIST_ENTRY(link, struct overlapping_run, link)->ticket;
        assert(hora__ticket_runs(ticket));
        hora__admission_change(&hora__timer_queue_admission(scheduled->queue)->admission, ticket, change);
    }
}

/* ---- running ---- */

/* A failed run ends the series: fails it, and removes its entry from the timer queue. If a worker has the
 * entry, that worker finds the series done, and closes its books. */
static void fail_series(hora_pool *pool, struct hora__scheduled *scheduled, int code)
{
    assert(code != 0);
    if (hora_future_fail(&scheduled->future, code) == 1 && hora__pool_withdraw(pool, &scheduled->future))
        hora__pool_entry_ended(pool, &scheduled->future);
}

/* Removes a run from the runs of the series. Returns whether it was the last one, with no planned time left:
 * then the caller completes the series. At most one caller gets true. */
static bool leave_runs(struct overlapping_run *overlapping)
{
    struct hora__scheduled *scheduled = overlapping->scheduled;
    lock(scheduled);
    assert(!hora__list_is_empty(&overlapping->link));
    hora__list_remove(&overlapping->link);
    bool last = scheduled->series->overlap->closing &&
                hora__list_is_empty(&scheduled->series->overlap->overlapping_runs) &&
                !HORA__FAULT(OVERLAP_NEVER_CLOSES);
    if (last)
        scheduled->series->overlap->closing = false;
    unlock(scheduled);
    return last;
}

/* The last run decides the outcome of the series, as without overlap: its code, and its result, which passes
 * to the series. */
static void complete_series(struct overlapping_run *overlapping, int code)
{
    assert(overlapping != NULL);
    hora_future *scheduled = &overlapping->scheduled->future;
    void *result = NULL;
    if (code != 0) {
        (void)hora_future_fail(scheduled, code);
        return;
    }
    bool has_one = hora_future_take_result(&overlapping->future, &result) == 0 && result != NULL;
    if (hora_future_complete(scheduled, result) != 1 && has_one && scheduled->task.drop_result != NULL)
        scheduled->task.drop_result(result);
}

/* Closes a run that has ended with this code, and completes the series if the run was the last. A run that
 * did not begin has not failed: its begin is undone. */
static void overlapping_ends(hora_pool *pool, struct overlapping_run *overlapping, bool began, int code)
{
    struct hora__scheduled *scheduled = overlapping->scheduled;
    assert(scheduled->series->overlap != NULL);
    (void)hora_future_ref(&scheduled->future);
    if (!began)
        hora__series_did_not_begin(scheduled);
    int64_t in_a_row = 0;
    bool ends = began && !hora__series_survives(scheduled, code, &in_a_row);
    if (ends) {
        hora__series_tell(pool, scheduled, code, true, in_a_row); /* before the series is done */
        fail_series(pool, scheduled, code); /* before this run leaves, and another one can be the last */
    }
    bool is_last = leave_runs(overlapping);
    if (began && !ends)
        hora__series_tell(pool, scheduled, code, is_last, in_a_row);
    if (is_last) {
        complete_series(overlapping, code);
        hora__pool_entry_ended(pool, &scheduled->future);
    }
    (void)hora_future_unref(&scheduled->future);
}

/* The context of the callbacks below. */
struct run {
    bool began; /* the body is about to be called, or has been */
    int code;   /* with which the body has returned */
};

/* `begins` of struct hora__run_callbacks. The begin was noted when the run joined. */
static bool begins(hora_future *future, void *context)
{
    assert(context != NULL);
    (void)future;
    struct run *run = context;
    run->began = true;
    return true;
}

/* `ends` of struct hora__run_callbacks. The run never goes on: the next run is another future. */
static enum hora__run_end ends(hora_future *future, int code, void *context)
{
    (void)future;
    struct run *run = context;
    run->code = code;
    return code == 0 ? HORA__SUCCEEDS : HORA__FAILS;
}

/* If the scheduler does not let the series run any more, the run is cancelled; then the body is not
 * called. */
void hora__overlap_run(hora_pool *pool, hora_future *future, hora_thread *thread)
{
    assert(thread != NULL);
    struct overlapping_run *overlapping = overlapping_of(future);
    struct run run = {.began = false};
    struct hora__run_callbacks callbacks = {begins, ends, NULL, &run};
    if (!hora__scheduler_lets_run(pool, &overlapping->scheduled->future))
        (void)hora_future_cancel(future, false);
    (void)hora__future_run_scheduled(future, thread, &callbacks);
    overlapping_ends(pool, overlapping, run.began, run.code);
}

void hora__overlap_abandoned(hora_pool *pool, hora_future *future, int code)
{
    overlapping_ends(pool, overlapping_of(future), code != 0, code);
}
