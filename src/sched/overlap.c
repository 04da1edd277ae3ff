/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - overlapping runs of a series; see overlap.h
 *
 * The task          belongs to the overlap, which counts its users: the series until it is done, and each
 *                   run. The last user drops the task, so it is never dropped while a body runs, even if the
 *                   series was over long before. The overlap lives as long as the series, and each run has a
 *                   reference to that.
 * Cancelling        The series is cancelled like any other. Then runs that have not begun never do, and with
 *                   interrupt, a listener on the series interrupts the running ones. A run that joins checks
 *                   afterwards whether the series is done, so one of the two sees the other.
 * The end           When count or end leave no next time, the series is not put back, and its books stay open
 *                   until the last run has ended, which completes it. A failure takes it out of the timer
 *                   queue at once.
 * Invariants        I1 series->running is the number of runs that have not ended, and at most overlap_max.
 *                   I2 the series' entry is in the timer queue, or with a worker, or closing is set and the
 *                      last run ends it. */
#include "sched/overlap.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/extra.h"
#include "sched/scheduler.h"
#include "sys/alloc.h"

struct hora__overlap {
    hora__atomic users;                 /* of the task; 0: it has been dropped */
    hora_task task;                     /* immutable */
    struct hora__listener listener;     /* on the series */
    struct hora__list overlapping_runs; /* runs that have not ended; guarded by the timer queue's lock */
    bool closing;                       /* there is no next time; guarded by the same lock */
};

struct overlapping_run {
    hora_future future;                /* first: they begin at the same address */
    struct hora__scheduled *scheduled; /* the series, with a reference */
    hora_ns planned;
    struct hora__list link;      /* among the runs of the overlap; guarded by the timer queue's lock */
    bool told;                   /* to stop; guarded by the same lock */
    struct hora__ticket *ticket; /* in the same memory; takes over from the series. NULL: no admission */
};

struct admitted_run {
    struct overlapping_run overlapping;
    struct hora__ticket ticket;
};

static struct overlapping_run *overlapping_of(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_OVERLAPPING);
    return (struct overlapping_run *)future;
}

const hora_future *hora__overlap_series_of(const hora_future *overlapping)
{
    assert(overlapping->kind == HORA__FUTURE_OVERLAPPING);
    return &((const struct overlapping_run *)overlapping)->scheduled->future;
}

hora_future *hora__overlap_series(hora_future *overlapping)
{
    return &overlapping_of(overlapping)->scheduled->future;
}

struct hora__ticket *hora__overlap_ticket(const hora_future *overlapping)
{
    assert(overlapping->kind == HORA__FUTURE_OVERLAPPING);
    return ((const struct overlapping_run *)overlapping)->ticket;
}

hora_ns hora__overlap_planned(hora_future *overlapping)
{
    return overlapping_of(overlapping)->planned;
}

static void lock(struct hora__scheduled *scheduled)
{
    hora__mutex_lock(&scheduled->queue->object.lock);
}

static void unlock(struct hora__scheduled *scheduled)
{
    hora__mutex_unlock(&scheduled->queue->object.lock);
}

/* ---- beginning and end ---- */

static void leave(void *arg)
{
    struct hora__overlap *overlap = arg;
    assert(hora__atomic_load(&overlap->users) > 0);
    if (hora__atomic_add(&overlap->users, -1) == 1 && overlap->task.drop != NULL)
        overlap->task.drop(overlap->task.arg);
}

/* Start to use the task. Returns false if it has been dropped. */
static bool enter(struct hora__overlap *overlap)
{
    for (;;) {
        int32_t users = hora__atomic_load(&overlap->users);
        if (users == 0)
            return false;
        if (hora__atomic_cas(&overlap->users, users, users + 1))
            return true;
    }
}

/* A run that has not been told to stop, with a reference; NULL: none. */
static struct overlapping_run *next_to_tell(struct hora__scheduled *scheduled)
{
    struct overlapping_run *found = NULL;
    lock(scheduled);
    for (struct hora__list *link = scheduled->series->overlap->overlapping_runs.next;
         link != &scheduled->series->overlap->overlapping_runs && found == NULL; link = link->next) {
        struct overlapping_run *overlapping = HORA__LIST_ENTRY(link, struct overlapping_run, link);
        if (!overlapping->told)
            found = overlapping;
    }
    if (found != NULL) {
        found->told = true;
        (void)hora_future_ref(&found->future);
    }
    unlock(scheduled);
    return found;
}

/* The series is done: tell its runs. If it reached its count or end, no run is left. */
static void series_done(hora_future *future, void *context)
{
    assert(context != NULL);
    struct hora__scheduled *scheduled = context;
    enum hora__future_state state = hora__future_state(future);
    bool interrupt = state == HORA__FUTURE_INTERRUPTING || state == HORA__FUTURE_INTERRUPTED;
    if (state == HORA__FUTURE_NORMAL || HORA__FAULT(OVERLAP_TELLS_NOBODY))
        return;
    struct overlapping_run *overlapping;
    while ((overlapping = next_to_tell(scheduled)) != NULL) {
        (void)hora_future_cancel(&overlapping->future, interrupt);
        (void)hora_future_unref(&overlapping->future);
    }
}

static int run_body(void *arg, void **ret_result)
{
    assert(arg != NULL);
    const struct hora__overlap *overlap = arg;
    return overlap->task.run(overlap->task.arg, ret_result);
}

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
    scheduled->future.task.run = run_body; /* for a caller that it is handed back to */
    scheduled->future.task.arg = overlap;
    scheduled->future.task.drop = leave;
    hora__future_listen(&scheduled->future, &overlap->listener);
    return 0;
}

void hora__overlap_forget(struct hora__scheduled *scheduled)
{
    struct hora__overlap *overlap = scheduled->series != NULL ? scheduled->series->overlap : NULL;
    if (overlap == NULL)
        return;
    scheduled->future.listeners = NULL; /* it was the only one */
    scheduled->future.task = overlap->task;
    scheduled->series->overlap = NULL;
    hora__free(overlap);
}

void hora__overlap_free(struct hora__overlap *overlap)
{
    hora__free(overlap);
}

static void destroy_overlapping(struct hora__object *object)
{
    struct overlapping_run *overlapping = HORA__LIST_ENTRY(object, struct overlapping_run, future.object);
    struct hora__scheduled *scheduled = overlapping->scheduled;
    assert(scheduled->series->overlap != NULL);
    if (hora__future_ends_later(&overlapping->future))
        return;
    hora__future_destroy(object);
    leave(scheduled->series->overlap);
    (void)hora_future_unref(&scheduled->future);
}

/* Make a run for a planned time, which has not joined yet; NULL: no memory, or the task has been dropped. */
static struct overlapping_run *overlapping_new(struct hora__scheduled *scheduled, hora_ns planned)
{
    assert(scheduled->series->overlap != NULL);
    struct hora__overlap *overlap = scheduled->series->overlap;
    if (!enter(overlap))
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
        leave(overlap);
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

enum joining { JOINS, IS_SKIPPED, IS_HELD };

/* Join the runs of the series, if one more is allowed. IS_HELD: the series was paused or re-timed
 * meanwhile. */
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

static bool is_last(hora_pool *pool, struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    lock(scheduled);
    bool last =
        scheduled->series->rules->count > 0 && scheduled->series->runs >= scheduled->series->rules->count;
    unlock(scheduled);
    return last || hora__series_next(pool, scheduled, 0) == HORA_NEVER;
}

/* No planned time is left: the run that ends last closes the series. Returns true if that is the caller,
 * since none runs. */
bool hora__overlap_close(struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(scheduled);
    assert(scheduled->entry.stage == HORA__TAKEN || scheduled->entry.stage == HORA__RUNS); /* I2 */
    if (hora__timer_queue_end_ticket(scheduled)) /* if it has not passed to a run */
        hora__queue_serve(scheduled->queue, NULL, &wakes);
    scheduled->series->overlap->closing = true; /* I2 */
    bool nobody = hora__list_is_empty(&scheduled->series->overlap->overlapping_runs);
    if (nobody)
        scheduled->series->overlap->closing = false;
    scheduled->entry.stage = HORA__OUT;
    hora__queue_exit(scheduled->queue, &wakes);
    if (nobody)
        (void)hora_future_complete(&scheduled->future, NULL);
    return nobody;
}

/* Put the series back, or close it. Returns whether the caller still has it, and closes its books. */
static bool series_goes(hora_pool *pool, struct hora__scheduled *scheduled)
{
    if (is_last(pool, scheduled))
        return hora__overlap_close(scheduled);
    return !hora__series_put_back(pool, &scheduled->future, false);
}

hora_future *hora__overlap_admit(hora_pool *pool, struct hora__scheduled *scheduled)
{
    assert(scheduled->series->overlap != NULL);
    hora_ns planned = scheduled->planned;
    struct overlapping_run *overlapping =
        overlapping_new(scheduled, planned); /* without memory the time is skipped */
    enum joining joining = join(pool, scheduled, overlapping, planned);
    if (joining != JOINS) { /* the entry's own reference passes to the thread that closes its books */
        if (overlapping != NULL)
            (void)hora_future_unref(&overlapping->future);
        bool ours = joining == IS_HELD ? !hora__series_put_back(pool, &scheduled->future, false)
                                       : series_goes(pool, scheduled);
        return ours ? &scheduled->future : NULL;
    }
    if (hora_future_is_done(&scheduled->future) && !HORA__FAULT(OVERLAP_RUNS_AFTER_CANCEL))
        (void)hora_future_cancel(&overlapping->future, false);
    hora__pool_accept(pool);
    hora__future_enqueued(&overlapping->future, &pool->owner, 0); /* its planned time counts */
    if (series_goes(pool, scheduled))
        hora__pool_entry_ended(pool, &scheduled->future);
    return &overlapping->future;
}

void hora__overlap_change(struct hora__scheduled *scheduled, const struct hora__ticket_change *change)
{
    assert(hora__mutex_held(&scheduled->queue->object.lock));
    struct hora__list *overlapping_runs = &scheduled->series->overlap->overlapping_runs;
    for (struct hora__list *link = overlapping_runs->next; link != overlapping_runs; link = link->next) {
        struct hora__ticket *ticket = HORA__LIST_ENTRY(link, struct overlapping_run, link)->ticket;
        if (hora__ticket_runs(ticket))
            hora__admission_change(&hora__timer_queue_admission(scheduled->queue)->admission, ticket, change);
    }
}

/* ---- running ---- */

/* A failure ends the series: it does not run any more. */
static void fail_series(hora_pool *pool, struct hora__scheduled *scheduled, int code)
{
    assert(code != 0);
    if (hora_future_fail(&scheduled->future, code) == 1 && hora__pool_withdraw(pool, &scheduled->future))
        hora__pool_entry_ended(pool, &scheduled->future);
}

/* Leave the runs of the series. Returns whether this was the last one, with no planned time left. */
static bool part(struct overlapping_run *overlapping)
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

/* The last run decides the outcome of the series, as without overlap. */
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

/* Close the books of a run that has ended with this code. A run that did not begin has not failed. */
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
        fail_series(pool, scheduled, code); /* before others can take themselves for the last */
    }
    bool is_last = part(overlapping);
    if (began && !ends)
        hora__series_tell(pool, scheduled, code, is_last, in_a_row);
    if (is_last) {
        complete_series(overlapping, code);
        hora__pool_entry_ended(pool, &scheduled->future);
    }
    (void)hora_future_unref(&scheduled->future);
}

struct run {
    bool began;
    int code;
};

static bool begins(hora_future *future, void *context)
{
    assert(context != NULL);
    (void)future;
    struct run *run = context;
    run->began = true;
    return true; /* it counts from the moment it was admitted */
}

static enum hora__verdict ends(hora_future *future, int code, void *context)
{
    (void)future;
    struct run *run = context;
    run->code = code;
    return code == 0 ? HORA__SUCCEEDS : HORA__FAILS;
}

void hora__overlap_run(hora_pool *pool, hora_future *future, hora_thread *thread)
{
    assert(thread != NULL);
    struct overlapping_run *overlapping = overlapping_of(future);
    struct run run = {.began = false};
    struct hora__judge judge = {begins, ends, NULL, &run};
    if (!hora__scheduler_lets_run(pool, &overlapping->scheduled->future))
        (void)hora_future_cancel(future, false);
    (void)hora__future_run_judged(future, thread, &judge);
    overlapping_ends(pool, overlapping, run.began, run.code);
}

void hora__overlap_abandoned(hora_pool *pool, hora_future *future, int code)
{
    overlapping_ends(pool, overlapping_of(future), true, code);
}
