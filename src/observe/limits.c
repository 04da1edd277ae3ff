/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - start_within and finish_within of hora_task_options
 *
 * How it works      A future with such a limit has two checks in the watchdog. They are made before the
 *                   future is queued, since that may fail, and set afterwards; so a future that was not
 *                   accepted never expires. A check that is set has a reference to the future. It is
 *                   cancelled by a listener when the future is done, and the first one also when a run
 *                   begins. When the time has come, the watchdog makes the future fail, takes it out of
 *                   the queue and books it, unless a worker has taken it; that worker then finds a future
 *                   that is done. A worker checks the time as well, since it may be faster than the
 *                   watchdog.
 * Scheduled tasks   The time counts from the planned time. That may change, and the wall clock may be set,
 *                   so the watchdog computes it again when the time has come. A series has no check for
 *                   its start: series.c drops a single late run.
 * Invariants        I1 a check is set only between accepted and done, except for a moment, and then has a
 *                   reference. */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "observe/watchdog.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

struct hora__limits {
    struct hora__watchdog_check start_by;
    struct hora__watchdog_check done_by;
    struct hora__listener listener;
    struct hora__pool_observer *pool_observer; /* immutable, like the fields below */
    hora_future *future;                       /* borrowed */
    bool has_start_by;
    bool has_done_by;
};

static const char not_begun[] = "it did not start within its start limit";
static const char not_done[] = "it did not finish in time";

static struct hora__limits *of_start_by(struct hora__watchdog_check *check)
{
    return HORA__LIST_ENTRY(check, struct hora__limits, start_by);
}

static struct hora__limits *of_done_by(struct hora__watchdog_check *check)
{
    return HORA__LIST_ENTRY(check, struct hora__limits, done_by);
}

/* ---- expiring ---- */

void hora__limits_expired(struct hora__observer *observer, hora_future *future, int64_t count)
{
    hora__events_expired(hora__pool_observer_of(observer), future, count, not_begun);
}

/* The future has just failed. Takes it out of the queue if it is there. */
static void leave_queue(struct hora__pool_observer *pool_observer, hora_future *future)
{
    assert(pool_observer->pool != NULL);
    hora_pool *pool = pool_observer->pool;
    if (!HORA__FAULT(LIMIT_LEAVES_IN_QUEUE) && hora__pool_withdraw(pool, future))
        hora__pool_entry_ended(pool, future);
}

/* How long ago it was submitted or planned. */
static hora_ns age_of(const struct hora__pool_observer *pool_observer, hora_future *future)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled != NULL)
        return hora__scheduled_lateness(scheduled);
    return hora__ns_sub(hora_clock_now(pool_observer->pool->object.clock), hora__future_extra(future)->came);
}

/* How long until a limit counted from then; HORA_FOREVER: it never comes. */
static hora_ns left_of(const struct hora__pool_observer *pool_observer, hora_future *future, hora_ns limit)
{
    assert(limit > 0);
    hora_ns age = age_of(pool_observer, future);
    return age == HORA_NEVER ? HORA_FOREVER : hora__ns_sub(limit, age);
}

static void release(struct hora__limits *limits, struct hora__watchdog_check *check)
{
    hora_future *future = limits->future;
    if (hora__watchdog_unset(limits->pool_observer->watchdog, check))
        (void)hora_future_unref(future); /* I1; the limits may be gone after this */
}

/* Takes over the reference to the future. */
static void set(struct hora__limits *limits, struct hora__watchdog_check *check, hora_ns at)
{
    hora_future *future = limits->future;
    if (!hora__watchdog_set(limits->pool_observer->watchdog, check, at))
        (void)hora_future_unref(future); /* the watchdog is closed */
}

/* The time to start is over: the future fails, unless its time was changed. */
static void act_on_start_by(struct hora__watchdog_action *action)
{
    assert(action->future != NULL && action->check != NULL);
    hora_future *future = action->future;
    const struct hora__extra *extra = hora__future_extra(future);
    hora_ns left = left_of(action->pool_observer, future, extra->terms.start_within);
    if (left > 0 && left != HORA_FOREVER) { /* it was re-timed */
        (void)hora_future_ref(future);
        set(extra->limits, action->check, hora__ns_add(action->now, left));
        if (hora_future_is_done(future))
            release(extra->limits, action->check); /* its listener may have run before */
    } else if (left <= 0 && hora__future_abort(future, HORA_EEXPIRED)) {
        leave_queue(action->pool_observer, future);
        hora__events_expired(action->pool_observer, future, 1, not_begun);
    }
    (void)hora_future_unref(future);
}

/* The time to finish is over: the future fails, and a run of it is interrupted. */
static void act_on_done_by(struct hora__watchdog_action *action)
{
    assert(action->future != NULL);
    hora_future *future = action->future;
    switch (hora__future_expire(future)) {
    case HORA_CANCEL_REMOVED:
        leave_queue(action->pool_observer, future);
        hora__events_expired(action->pool_observer, future, 1, not_done);
        break;
    case HORA_CANCEL_INTERRUPTED: /* its worker books it */
        hora__events_expired(action->pool_observer, future, 1, not_done);
        break;
    case HORA_CANCEL_TOO_LATE:
    case HORA_CANCEL_RUNNING:
    default:
        break;
    }
    (void)hora_future_unref(future);
}

static hora_ns look_at_start_by(struct hora__watchdog_check *check, hora_ns now,
                                struct hora__watchdog_action *action)
{
    (void)now;
    action->act = act_on_start_by;
    action->check = check;
    action->future = of_start_by(check)->future;
    return HORA_FOREVER;
}

static hora_ns look_at_done_by(struct hora__watchdog_check *check, hora_ns now,
                               struct hora__watchdog_action *action)
{
    (void)now;
    action->act = act_on_done_by;
    action->check = check;
    action->future = of_done_by(check)->future;
    return HORA_FOREVER;
}

static void start_by_dropped(struct hora__watchdog_check *check)
{
    (void)hora_future_unref(of_start_by(check)->future);
}

static void done_by_dropped(struct hora__watchdog_check *check)
{
    (void)hora_future_unref(of_done_by(check)->future);
}

/* ---- creation and end of the limits ---- */

/* The caller has a reference that outlives this. */
static void future_done(hora_future *future, void *context)
{
    (void)future;
    struct hora__limits *limits = context;
    release(limits, &limits->start_by);
    release(limits, &limits->done_by);
}

/* Whether the future is a series, which comes back after each run. */
static bool comes_back(hora_future *future)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of(future);
    return scheduled != NULL && scheduled->entry.comes_back;
}

static int slots_of(const struct hora__limits *limits)
{
    assert(limits->has_start_by || limits->has_done_by);
    return (limits->has_start_by ? 1 : 0) + (limits->has_done_by ? 1 : 0);
}

static bool needs_watchdog(const hora_task_options *terms)
{
    return terms->start_within > 0 || terms->finish_within > 0 || terms->run_limit > 0 ||
           terms->stuck_after > 0;
}

int hora__extra_prepare(hora_future *future)
{
    struct hora__extra *extra = hora__future_extra(future);
    if (extra == NULL || !needs_watchdog(&extra->terms))
        return 0;
    if (extra->observer == NULL)
        return HORA_ENOTSUP;
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(extra->observer);
    int error = hora__watchdog_start(pool_observer->watchdog);
    bool has_start_by = extra->terms.start_within > 0 && !comes_back(future);
    if (error < 0 || (!has_start_by && extra->terms.finish_within == 0))
        return error;
    struct hora__limits *limits = hora__alloc(1, sizeof *limits);
    if (limits == NULL)
        return HORA_ENOMEM;
    limits->pool_observer = pool_observer;
    limits->future = future;
    limits->has_start_by = has_start_by;
    limits->has_done_by = extra->terms.finish_within > 0;
    limits->listener = (struct hora__listener){.done = future_done, .context = limits};
    hora__watchdog_check_init(&limits->start_by, look_at_start_by, start_by_dropped);
    hora__watchdog_check_init(&limits->done_by, look_at_done_by, done_by_dropped);
    error = hora__watchdog_reserve(pool_observer->watchdog, slots_of(limits));
    if (error < 0) {
        hora__free(limits);
        return error == HORA_EFULL ? HORA_ENOMEM : error;
    }
    extra->limits = limits;
    return 0;
}

void hora__limits_free(struct hora__limits *limits)
{
    if (limits == NULL)
        return;
    hora__watchdog_unreserve(limits->pool_observer->watchdog, slots_of(limits));
    hora__free(limits);
}

void hora__extra_accepted(hora_future *future)
{
    const struct hora__extra *extra = hora__future_extra(future);
    struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL)
        return;
    hora_ns now = hora_clock_now(limits->pool_observer->pool->object.clock);
    if (limits->has_start_by)
        set(limits, &limits->start_by,
            hora__ns_add(now,
                         left_of(limits->pool_observer, hora_future_ref(future), extra->terms.start_within)));
    if (limits->has_done_by)
        set(limits, &limits->done_by,
            hora__ns_add(
                now, left_of(limits->pool_observer, hora_future_ref(future), extra->terms.finish_within)));
    hora__future_listen(future, &limits->listener); /* calls it at once if the future is done already */
}

/* ---- in a worker ---- */

bool hora__limits_refuse(struct hora__worker_record *record, hora_future *future)
{
    assert(record != NULL);
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    const struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL || !limits->has_start_by || HORA__FAULT(LIMIT_BEGINS_LATE))
        return false;
    if (limits->pool_observer != record->pool_observer)
        return false; /* it was handed back, and another pool runs it */
    bool is_late = left_of(record->pool_observer, future, extra->terms.start_within) <= 0;
    if (is_late)
        hora__events_expired(record->pool_observer, future, 1, not_begun);
    return is_late;
}

void hora__limits_begun(struct hora__limits *limits)
{
    if (limits != NULL && limits->has_start_by)
        release(limits, &limits->start_by);
}
