/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - start by and done by: see hora_task_options
 *
 * How it works      A future with such a limit has two reminders in the watch. They are made before it is placed, since that may fail,
 *                   and set after: so what was not accepted never expires. A reminder that is set has a reference to the future. It is
 *                   unset when the future is done, by a listener, and the first one when a run begins.
 *                   When its time has come the future is made to fail; whoever does that takes it out of the queue and books it, unless a worker has
 *                   it: then that one meets a future that is done. A worker looks at the time as well, since it may be there first.
 * Scheduled         The time counts from the planned time. That may be changed, or the wall clock be set: so it is looked at again when
 *                   the time has come. What comes back, a series, has no reminder to start by: see series.c, where that one run is dropped.
 * Invariants        I1 a reminder is set only between accepted and done, but for a moment; and has a reference then. */
#include "oversee/limits.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "oversee/events.h"
#include "oversee/watch.h"
#include "sched/scheduled.h"
#include "sys/alloc.h"

struct hora__limits {
    struct hora__reminder start_by;
    struct hora__reminder done_by;
    struct hora__listener listener;
    struct hora__oversight *oversight; /* immutable, as what follows */
    hora_future *future;               /* whose they are; borrowed */
    bool has_start_by;
    bool has_done_by;
};

static const char not_begun[] = "it did not start within its start limit";
static const char not_done[] = "it did not finish in time";

static struct hora__limits *of_start_by(struct hora__reminder *reminder)
{
    return HORA__LIST_ENTRY(reminder, struct hora__limits, start_by);
}

static struct hora__limits *of_done_by(struct hora__reminder *reminder)
{
    return HORA__LIST_ENTRY(reminder, struct hora__limits, done_by);
}

/* ---- expiring ---- */

void hora__limits_tell(struct hora__oversight *oversight, hora_future *future, int64_t count, const char *why)
{
    hora__events_expired(oversight, future, count, why);
}

void hora__limits_expired(struct hora__overseer *overseer, hora_future *future, int64_t count)
{
    hora__limits_tell(hora__oversight_of(overseer), future, count, not_begun);
}

/* It has just been made to fail: if it is in the queue, it leaves. */
static void leave_queue(struct hora__oversight *oversight, hora_future *future)
{
    hora_pool *pool = oversight->pool;
    if (!HORA__FAULT(LIMIT_LEAVES_IN_QUEUE) && hora__pool_withdraw(pool, future))
        hora__pool_entry_ended(pool, future);
}

/* How long after it came, or after its planned time. */
static hora_ns age_of(const struct hora__oversight *oversight, hora_future *future)
{
    struct hora__scheduled *scheduled = hora__scheduled_of(future);
    if (scheduled != NULL)
        return hora__scheduled_lateness(scheduled);
    return hora__ns_sub(hora_clock_now(oversight->pool->object.clock), hora__future_extra(future)->came);
}

/* Until a limit after that; HORA_FOREVER: it will not come. */
static hora_ns left_of(const struct hora__oversight *oversight, hora_future *future, hora_ns limit)
{
    hora_ns age = age_of(oversight, future);
    return age == HORA_NEVER ? HORA_FOREVER : hora__ns_sub(limit, age);
}

static void release(struct hora__limits *limits, struct hora__reminder *reminder)
{
    hora_future *future = limits->future;
    if (hora__watch_unset(limits->oversight->watch, reminder))
        (void)hora_future_unref(future); /* I1; the limits may be gone after this */
}

/* The reference passes to the reminder. */
static void set(struct hora__limits *limits, struct hora__reminder *reminder, hora_ns at)
{
    hora_future *future = limits->future;
    if (!hora__watch_set(limits->oversight->watch, reminder, at))
        (void)hora_future_unref(future); /* the pool is gone, and with it the limits */
}

static void act_on_start_by(struct hora__deed *deed)
{
    hora_future *future = deed->future;
    const struct hora__extra *extra = hora__future_extra(future);
    hora_ns left = left_of(deed->oversight, future, extra->terms.start_within);
    if (left > 0 && left != HORA_FOREVER) { /* it was re-timed */
        (void)hora_future_ref(future);
        set(extra->limits, deed->reminder, hora__ns_add(deed->now, left));
        if (hora_future_is_done(future))
            release(extra->limits, deed->reminder); /* its listener may have been called before */
    } else if (left <= 0 && hora__future_abort(future, HORA_EEXPIRED)) {
        leave_queue(deed->oversight, future);
        hora__limits_tell(deed->oversight, future, 1, not_begun);
    }
    (void)hora_future_unref(future);
}

static void act_on_done_by(struct hora__deed *deed)
{
    hora_future *future = deed->future;
    switch (hora__future_expire(future)) {
    case HORA_CANCEL_REMOVED:
        leave_queue(deed->oversight, future);
        hora__limits_tell(deed->oversight, future, 1, not_done);
        break;
    case HORA_CANCEL_INTERRUPTED: /* its worker books it */
        hora__limits_tell(deed->oversight, future, 1, not_done);
        break;
    case HORA_CANCEL_TOO_LATE:
    case HORA_CANCEL_RUNNING:
    default:
        break;
    }
    (void)hora_future_unref(future);
}

static hora_ns look_at_start_by(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed)
{
    (void)now;
    deed->act = act_on_start_by;
    deed->reminder = reminder;
    deed->future = of_start_by(reminder)->future;
    return HORA_FOREVER;
}

static hora_ns look_at_done_by(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed)
{
    (void)now;
    deed->act = act_on_done_by;
    deed->reminder = reminder;
    deed->future = of_done_by(reminder)->future;
    return HORA_FOREVER;
}

static void start_by_dropped(struct hora__reminder *reminder)
{
    (void)hora_future_unref(of_start_by(reminder)->future);
}

static void done_by_dropped(struct hora__reminder *reminder)
{
    (void)hora_future_unref(of_done_by(reminder)->future);
}

/* ---- the life of the limits ---- */

/* The caller has a reference that outlives this. */
static void future_done(hora_future *future, void *context)
{
    (void)future;
    struct hora__limits *limits = context;
    release(limits, &limits->start_by);
    release(limits, &limits->done_by);
}

static bool comes_back(hora_future *future)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of(future);
    return scheduled != NULL && scheduled->entry.comes_back;
}

static int slots_of(const struct hora__limits *limits)
{
    return (limits->has_start_by ? 1 : 0) + (limits->has_done_by ? 1 : 0);
}

static bool needs_watch(const hora_task_options *terms)
{
    return terms->start_within > 0 || terms->finish_within > 0 || terms->run_limit > 0 || terms->stuck_after > 0;
}

int hora__extra_prepare(hora_future *future)
{
    struct hora__extra *extra = hora__future_extra(future);
    if (extra == NULL || !needs_watch(&extra->terms))
        return 0;
    if (extra->overseer == NULL)
        return HORA_ENOTSUP;
    struct hora__oversight *oversight = hora__oversight_of(extra->overseer);
    int error = hora__watch_begin(oversight->watch);
    bool has_start_by = extra->terms.start_within > 0 && !comes_back(future);
    if (error < 0 || (!has_start_by && extra->terms.finish_within == 0))
        return error;
    struct hora__limits *limits = hora__alloc(1, sizeof *limits);
    if (limits == NULL)
        return HORA_ENOMEM;
    limits->oversight = oversight;
    limits->future = future;
    limits->has_start_by = has_start_by;
    limits->has_done_by = extra->terms.finish_within > 0;
    limits->listener = (struct hora__listener){.done = future_done, .context = limits};
    hora__reminder_init(&limits->start_by, look_at_start_by, start_by_dropped);
    hora__reminder_init(&limits->done_by, look_at_done_by, done_by_dropped);
    error = hora__watch_keep(oversight->watch, slots_of(limits));
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
    hora__watch_give_back(limits->oversight->watch, slots_of(limits));
    hora__free(limits);
}

void hora__extra_accepted(hora_future *future)
{
    const struct hora__extra *extra = hora__future_extra(future);
    struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL)
        return;
    hora_ns now = hora_clock_now(limits->oversight->pool->object.clock);
    if (limits->has_start_by)
        set(limits, &limits->start_by,
            hora__ns_add(now, left_of(limits->oversight, hora_future_ref(future), extra->terms.start_within)));
    if (limits->has_done_by)
        set(limits, &limits->done_by,
            hora__ns_add(now, left_of(limits->oversight, hora_future_ref(future), extra->terms.finish_within)));
    hora__future_listen(future, &limits->listener); /* at once, if it is done already */
}

/* ---- in a worker ---- */

bool hora__limits_refuse(struct hora__post *post, hora_future *future)
{
    const struct hora__extra *extra = future != NULL ? hora__future_extra(future) : NULL;
    const struct hora__limits *limits = extra != NULL ? extra->limits : NULL;
    if (limits == NULL || !limits->has_start_by || HORA__FAULT(LIMIT_BEGINS_LATE))
        return false;
    if (limits->oversight != post->oversight)
        return false; /* it was handed back, and is run elsewhere */
    bool is_late = left_of(post->oversight, future, extra->terms.start_within) <= 0;
    if (is_late)
        hora__limits_tell(post->oversight, future, 1, not_begun);
    return is_late;
}

void hora__limits_begun(struct hora__limits *limits)
{
    if (limits != NULL && limits->has_start_by)
        release(limits, &limits->start_by);
}
