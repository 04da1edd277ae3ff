/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - start_within and finish_within of hora_task_options
 *
 * How it works      A future with such a limit has one or two checks in the watchdog, start_by and done_by.
 *                   They are made before the future is queued, since that may fail, and set afterwards; so
 *                   a future that was not accepted never expires. A check that is set holds a reference to
 *                   the future. A listener cancels the checks when the future is done; start_by is also
 *                   cancelled when a run begins. When the time of a check has come, the watchdog makes the
 *                   future fail, removes it from the queue and books it. If a worker has taken it already,
 *                   that worker finds that the future is done, and books it. A worker also checks the time
 *                   before it starts a run, since it may be faster than the watchdog.
 * Scheduled tasks   The limits count from the planned time. hora_future_reschedule may change that: it moves
 *                   the checks if the new time is earlier. When a check is due, the watchdog computes the
 *                   time again, because the new time may be later, or the wall clock may have been set
 *                   back. If the wall clock is set forward, the check is late, and only a worker that takes
 *                   the task finds that it must have started before. A series has no check for its start:
 *                   series.c drops a single late run. finish_within of a task that is retried counts from
 *                   its first planned time.
 * Invariants        I1 a check that is set holds a reference to its future. It is set only between accepted
 *                   and done, or for a moment longer, until the listener or `postpone` cancels it. */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "observe/watchdog.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

/* The limits of one future; they belong to its extra and are freed with it. */
struct hora__limits {
    struct hora__watchdog_check start_by; /* due when the future must have started */
    struct hora__watchdog_check done_by;  /* due when the future must be done */
    struct hora__listener listener;       /* cancels the checks when the future is done */
    /* Immutable, like the fields below. The extra keeps the observer alive. */
    struct hora__pool_observer *pool_observer;
    hora_future *future; /* the future that the limits belong to; borrowed, since it outlives them */
    bool has_start_by;   /* start_by is in use, and room is reserved for it */
    bool has_done_by;    /* done_by is in use, and room is reserved for it */
    bool is_retried;     /* finish_within counts from the first planned time, which does not change */
};

/* The reasons that events report. */
static const char not_begun[] = "it did not start in time";
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

/* Removes a future that has just failed from the queue, and books it. If it is not there, a worker has taken
 * it and books it. */
static void leave_queue(struct hora__pool_observer *pool_observer, hora_future *future)
{
    assert(pool_observer->pool != NULL);
    hora_pool *pool = pool_observer->pool;
    if (!HORA__FAULT(LIMIT_LEAVES_IN_QUEUE) && hora__pool_withdraw(pool, future))
        hora__pool_entry_ended(pool, future);
}

/* Returns how long ago the future was submitted or, if it is scheduled, planned to run; negative before the
 * planned time. HORA_NEVER: it is planned for no time. */
static hora_ns age_of(const struct hora__pool_observer *pool_observer, hora_future *future)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled != NULL)
        return hora__scheduled_lateness(scheduled);
    return hora__ns_sub(hora_clock_now(pool_observer->pool->object.clock), hora__future_extra(future)->came);
}

/* Returns how long it is until a limit that counts from submission or planned time expires; <= 0: it has
 * expired, HORA_FOREVER: it never does. */
static hora_ns left_of(const struct hora__pool_observer *pool_observer, hora_future *future, hora_ns limit)
{
    assert(limit > 0);
    hora_ns age = age_of(pool_observer, future);
    return age == HORA_NEVER ? HORA_FOREVER : hora__ns_sub(limit, age);
}

/* Cancels a check, if it is set, and releases its reference. Reads `future` before, because the limits are
 * freed with the future. */
static void release(struct hora__limits *limits, struct hora__watchdog_check *check)
{
    assert(check == &limits->start_by || check == &limits->done_by);
    hora_future *future = limits->future;
    if (hora__watchdog_unset(limits->pool_observer->watchdog, check))
        (void)hora_future_unref(future); /* I1; the limits may be gone after this */
}

/* Sets a check. Takes over a reference to the future, which the check holds from then on. */
static void set(struct hora__limits *limits, struct hora__watchdog_check *check, hora_ns at)
{
    assert(check == &limits->start_by || check == &limits->done_by);
    hora_future *future = limits->future;
    if (!hora__watchdog_set(limits->pool_observer->watchdog, check, at))
        (void)hora_future_unref(future); /* the watchdog is closed */
}

/* Moves a check that is set to the time that follows from the new planned time, if that is earlier. A later
 * one needs nothing here, because `postpone` computes the time again. Uses the clock of the watchdog, which
 * the extra keeps alive: another thread may have freed the pool. */
static void bring_forward(struct hora__limits *limits, struct hora__watchdog_check *check, hora_ns limit)
{
    assert(check == &limits->start_by || check == &limits->done_by);
    struct hora__watchdog *watchdog = limits->pool_observer->watchdog;
    hora_ns left = left_of(limits->pool_observer, limits->future, limit);
    hora__watchdog_bring_forward(watchdog, check, hora__ns_add(hora_clock_now(watchdog->object.clock), left));
}

/* finish_within of a task that is retried counts from its first planned time, which does not change. */
void hora__extra_rescheduled(hora_future *future)
{
    const struct hora__extra *extra = hora__future_extra(future);
    struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL || HORA__FAULT(LIMIT_KEEPS_OLD_TIME))
        return;
    if (limits->has_start_by)
        bring_forward(limits, &limits->start_by, extra->terms.start_within);
    if (limits->has_done_by && !limits->is_retried)
        bring_forward(limits, &limits->done_by, extra->terms.finish_within);
}

/* Sets the check of an action again, unless its limit has expired. Returns whether it did: the planned time
 * was changed, or the wall clock was set back. The time is HORA_FOREVER if the future is planned for no time:
 * another change may give it one. Since the check was removed, the future may have become done, and its
 * listener found nothing to cancel; or it may have been rescheduled once more, and bring_forward found
 * nothing to move. So both are done again after setting. The action's own reference keeps the future
 * alive. */
static bool postpone(struct hora__watchdog_action *action, hora_ns limit)
{
    assert(action->future != NULL && action->check != NULL);
    hora_future *future = action->future;
    struct hora__limits *limits = hora__future_extra(future)->limits;
    hora_ns left = left_of(action->pool_observer, future, limit);
    if (left <= 0)
        return false;
    (void)hora_future_ref(future);
    set(limits, action->check, hora__ns_add(action->now, left));
    if (!HORA__FAULT(LIMIT_SETS_OLD_TIME))
        bring_forward(limits, action->check, limit);
    if (hora_future_is_done(future))
        release(limits, action->check);
    return true;
}

/* The action of start_by: makes the future fail, unless it may still start. */
static void act_on_start_by(struct hora__watchdog_action *action)
{
    hora_future *future = action->future;
    if (!postpone(action, hora__future_extra(future)->terms.start_within) &&
        hora__future_abort(future, HORA_EEXPIRED)) {
        leave_queue(action->pool_observer, future);
        hora__events_expired(action->pool_observer, future, 1, not_begun);
    }
    (void)hora_future_unref(future);
}

/* Makes a future fail whose time to finish is over, and interrupts its run if there is one. Does nothing if
 * the future is done. */
static void expire(struct hora__pool_observer *pool_observer, hora_future *future)
{
    switch (hora__future_expire(future)) {
    case HORA_CANCEL_REMOVED:
        leave_queue(pool_observer, future);
        hora__events_expired(pool_observer, future, 1, not_done);
        break;
    case HORA_CANCEL_INTERRUPTED: /* its worker books it */
        hora__events_expired(pool_observer, future, 1, not_done);
        break;
    case HORA_CANCEL_TOO_LATE:
    case HORA_CANCEL_RUNNING:
    default:
        break;
    }
}

/* The action of done_by: makes the future fail, unless it may still finish in time. */
static void act_on_done_by(struct hora__watchdog_action *action)
{
    hora_future *future = action->future;
    if (of_done_by(action->check)->is_retried ||
        !postpone(action, hora__future_extra(future)->terms.finish_within))
        expire(action->pool_observer, future);
    (void)hora_future_unref(future);
}

/* Hand the check and its reference to the action. Everything else needs locks that cannot be taken under the
 * watchdog's. The checks are not set again here. */
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

/* The watchdog was closed: release the reference of the check. This may free the future and the limits. */
static void start_by_dropped(struct hora__watchdog_check *check)
{
    (void)hora_future_unref(of_start_by(check)->future);
}

static void done_by_dropped(struct hora__watchdog_check *check)
{
    (void)hora_future_unref(of_done_by(check)->future);
}

/* ---- creation and end of the limits ---- */

/* The listener of the future: cancels both checks. The caller holds a reference to the future, so the limits
 * exist until it returns. */
static void future_done(hora_future *future, void *context)
{
    (void)future;
    struct hora__limits *limits = context;
    release(limits, &limits->start_by);
    release(limits, &limits->done_by);
}

/* Returns whether the future is a series, or a task that is retried: it is queued again after a run. Called
 * before other threads see the future, because its entry shares memory with fields that the queue guards. */
static bool comes_back(hora_future *future)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of(future);
    return scheduled != NULL && scheduled->entry.comes_back;
}

/* Returns the number of checks in use, for which room is reserved. */
static int slots_of(const struct hora__limits *limits)
{
    assert(limits->has_start_by || limits->has_done_by);
    return (limits->has_start_by ? 1 : 0) + (limits->has_done_by ? 1 : 0);
}

/* Returns whether the task has any time limit, including those of overruns.c. */
static bool needs_watchdog(const hora_task_options *terms)
{
    return terms->start_within > 0 || terms->finish_within > 0 || terms->run_limit > 0 ||
           terms->stuck_after > 0;
}

/* Starts the watchdog's thread, allocates the limits and reserves room for the checks: everything that can
 * fail. After that, hora__extra_accepted cannot. */
int hora__extra_prepare(hora_future *future)
{
    struct hora__extra *extra = hora__future_extra(future);
    if (extra == NULL || !needs_watchdog(&extra->terms))
        return 0;
    if (extra->observer == NULL)
        return HORA_ENOTSUP;
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(extra->observer);
    int error = hora__watchdog_start(pool_observer->watchdog);
    bool returns = comes_back(future);
    bool has_start_by = extra->terms.start_within > 0 && !returns;
    if (error < 0 || (!has_start_by && extra->terms.finish_within == 0))
        return error;
    struct hora__limits *limits = hora__alloc(1, sizeof *limits);
    if (limits == NULL)
        return HORA_ENOMEM;
    limits->pool_observer = pool_observer;
    limits->future = future;
    limits->has_start_by = has_start_by;
    limits->is_retried = returns;
    limits->has_done_by = extra->terms.finish_within > 0;
    limits->listener = (struct hora__listener){.done = future_done, .context = limits};
    hora__watchdog_check_init(&limits->start_by, look_at_start_by, start_by_dropped);
    hora__watchdog_check_init(&limits->done_by, look_at_done_by, done_by_dropped);
    error = hora__watchdog_reserve(pool_observer->watchdog, slots_of(limits));
    if (error < 0) {
        hora__free(limits);
        return error;
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

/* Sets the checks before it registers the listener. If the future is done by then, the listener is called at
 * once and cancels them; otherwise they would stay set (I1). */
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
    hora__future_listen(future, &limits->listener);
}

/* ---- in a worker ---- */

/* Computes the age of the future anew, because its planned time may have changed. */
bool hora__limits_refuse(struct hora__worker_record *record, hora_future *future)
{
    assert(record->pool_observer->pool != NULL); /* it lives as long as its workers */
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    const struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL || !limits->has_start_by || HORA__FAULT(LIMIT_BEGINS_LATE))
        return false;
    if (limits->pool_observer != record->pool_observer)
        return false; /* its pool has handed it back, and another pool runs it */
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
