/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.c - a clock that moves only when a test says so, and knows when nothing can run any more
 *
 * How it works      Time: three readings, moved together or apart by the calls of the header. A thread that waits for a time
 *                   registers a sleeper, which lies on its stack, and parks without a deadline; whoever moves the
 *                   clock wakes the sleepers that have become due.
 *                   Quiet: the clock counts the attached threads that run. A thread stops counting when it parks, and
 *                   counts again from the moment it is woken: the waker does it for the sleeping thread, under that
 *                   thread's lock, so that settle cannot slip through between the wake-up and the run.
 * Invariants        I1 running = attached threads whose record is not idle, but for the moment between idle and
 *                      the count, in which running is too high, never too low.
 *                   I2 a sleeper that is due has been woken (after the call that moved the clock has returned).
 *                   I3 settlers wait only while running + expected > 0.
 *                   I4 a thread is idle only if it has no permit: a wake-up that came before the park counts as running.
 * Locks             clock->lock (rank CLOCK). thread->lock (rank THREAD) is never taken under it; wake-ups are made after
 *                   it has been let go, at most HORA__WAKES_MAX per turn. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "sync/clock.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/alloc.h"
#include "sys/fork.h"

enum { TIMELINES = 3 };

struct hora_virtual_clock {
    hora_clock views[TIMELINES]; /* immutable */
    int32_t generation;          /* hora__fork_generation() at birth; immutable */

    hora__mutex lock; /* guards what follows */
    hora_ns now[TIMELINES];
    hora_ns lateness;
    struct hora__list sleepers;
    struct hora__list alarms;
    struct hora__list settlers;
    int objects;  /* made with one of the views and not yet freed */
    int attached; /* threads */
    int running;  /* attached threads that are not idle: I1 */
    int expected; /* threads announced and not yet attached */
};

/* A thread that waits for a time. On its own stack; guarded by the clock's lock. */
struct sleeper {
    struct hora__list link;
    hora_thread *thread;
    hora_timeline timeline;
    hora_ns deadline;
    bool woken;
};

static int check(const hora_virtual_clock *clock)
{
    if (clock == NULL)
        return HORA_EINVAL;
    return clock->generation == hora__fork_generation() ? 0 : HORA_EFORKED;
}

int hora_virtual_clock_new(const hora_virtual_clock_options *options, hora_virtual_clock **ret_clock)
{
    hora_virtual_clock_options own;
    int error = hora__options_copy(&own, sizeof own, sizeof own, options);
    if (error < 0 || ret_clock == NULL || own.monotonic < 0)
        return HORA_EINVAL;
    error = hora__fork_watch();
    if (error < 0)
        return error;
    hora_virtual_clock *clock = hora__alloc(1, sizeof *clock);
    if (clock == NULL)
        return HORA_ENOMEM;
    error = hora__mutex_init(&clock->lock, HORA__RANK_CLOCK);
    if (error < 0) {
        hora__free(clock);
        return error;
    }
    for (int i = 0; i < TIMELINES; i++) {
        clock->views[i] = (hora_clock){(hora_timeline)i, clock};
        clock->now[i] = i == HORA_WALL ? own.wall.ns : own.monotonic;
    }
    hora__list_init(&clock->sleepers);
    hora__list_init(&clock->alarms);
    hora__list_init(&clock->settlers);
    clock->generation = hora__fork_generation();
    *ret_clock = clock;
    return 0;
}

int hora_virtual_clock_free(hora_virtual_clock *clock)
{
    if (clock == NULL)
        return 0;
    int error = check(clock);
    if (error < 0)
        return error;
    hora__mutex_lock(&clock->lock);
    bool in_use = clock->objects > 0 || clock->attached > 0 || !hora__list_is_empty(&clock->sleepers) ||
                  !hora__list_is_empty(&clock->settlers);
    hora__mutex_unlock(&clock->lock);
    if (in_use)
        return HORA_EBUSY;
    assert(hora__list_is_empty(&clock->alarms)); /* each belongs to an object */
    hora__mutex_destroy(&clock->lock);
    hora__free(clock);
    return 0;
}

const hora_clock *hora_virtual_clock_view(hora_virtual_clock *clock, hora_timeline timeline)
{
    if (clock == NULL || (int)timeline < 0 || timeline > HORA_WALL)
        return NULL;
    return &clock->views[timeline];
}

void hora__virtual_clock_acquire(hora_virtual_clock *clock)
{
    hora__mutex_lock(&clock->lock);
    clock->objects++;
    hora__mutex_unlock(&clock->lock);
}

void hora__virtual_clock_release(hora_virtual_clock *clock)
{
    hora__mutex_lock(&clock->lock);
    assert(clock->objects > 0);
    clock->objects--;
    hora__mutex_unlock(&clock->lock);
}

int hora__virtual_clock_check(const hora_virtual_clock *clock)
{
    return check(clock);
}

hora_ns hora__virtual_clock_now(hora_virtual_clock *clock, hora_timeline timeline)
{
    if (check(clock) < 0)
        return clock
            ->now[timeline]; /* a child's lone thread; the lock may be held for ever by one that it does not have */
    hora__mutex_lock(&clock->lock);
    hora_ns now = clock->now[timeline];
    hora__mutex_unlock(&clock->lock);
    return now;
}

/* ---- time ---- */

/* How long until something with this deadline is woken; <= 0: now. HORA_FOREVER: never. */
static hora_ns time_left(const hora_virtual_clock *clock, hora_timeline timeline, hora_ns deadline)
{
    hora_ns wake_at = hora__ns_add(deadline, clock->lateness);
    if (HORA__FAULT(CLOCK_WAKES_LATE))
        wake_at = hora__ns_add(wake_at, 1);
    return wake_at == HORA_FOREVER ? HORA_FOREVER : hora__ns_sub(wake_at, clock->now[timeline]);
}

static void ring_alarm(const hora_virtual_clock *clock, struct hora__alarm *alarm)
{
    hora__event_set(&alarm->event, time_left(clock, alarm->timeline, alarm->deadline) <= 0);
}

/* Note up to HORA__WAKES_MAX due sleepers; whether there may be more. */
static bool collect_due(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    for (struct hora__list *link = clock->sleepers.next; link != &clock->sleepers; link = link->next) {
        struct sleeper *sleeper = HORA__LIST_ENTRY(link, struct sleeper, link);
        if (sleeper->woken || time_left(clock, sleeper->timeline, sleeper->deadline) > 0)
            continue;
        if (wakes->count == HORA__WAKES_MAX)
            return true;
        sleeper->woken = true;
        hora__wakes_add(wakes, hora_thread_ref(sleeper->thread));
    }
    return false;
}

/* After the clock has moved: wake what is due. */
static void wake_due(hora_virtual_clock *clock)
{
    bool more;
    do {
        struct hora__wakes wakes;
        hora__wakes_init(&wakes);
        hora__mutex_lock(&clock->lock);
        for (struct hora__list *link = clock->alarms.next; link != &clock->alarms; link = link->next)
            ring_alarm(clock, HORA__LIST_ENTRY(link, struct hora__alarm, link));
        more = collect_due(clock, &wakes);
        hora__mutex_unlock(&clock->lock);
        hora__wakes_flush(&wakes);
    } while (more);
}

static void move_locked(hora_virtual_clock *clock, hora_timeline timeline, hora_ns by)
{
    clock->now[timeline] = hora__ns_add(clock->now[timeline], by);
    if (clock->now[timeline] == HORA_FOREVER)
        clock->now[timeline]--; /* "never" is not a time that a clock can show */
}

static int move(hora_virtual_clock *clock, hora_ns monotonic, hora_ns boot, hora_ns wall)
{
    hora__mutex_lock(&clock->lock);
    move_locked(clock, HORA_MONOTONIC, monotonic);
    move_locked(clock, HORA_BOOTTIME, boot);
    move_locked(clock, HORA_WALL, wall);
    hora__mutex_unlock(&clock->lock);
    wake_due(clock);
    return 0;
}

int hora_virtual_clock_advance(hora_virtual_clock *clock, hora_ns by)
{
    int error = check(clock);
    if (error < 0)
        return error;
    return by < 0 ? HORA_EINVAL : move(clock, by, by, by);
}

int hora_virtual_clock_step_wall(hora_virtual_clock *clock, hora_ns by)
{
    int error = check(clock);
    return error < 0 ? error : move(clock, 0, 0, by);
}

int hora_virtual_clock_suspend(hora_virtual_clock *clock, hora_ns by)
{
    int error = check(clock);
    if (error < 0)
        return error;
    return by < 0 ? HORA_EINVAL : move(clock, 0, by, by);
}

int hora_virtual_clock_set_lateness(hora_virtual_clock *clock, hora_ns lateness)
{
    int error = check(clock);
    if (error < 0)
        return error;
    if (lateness < 0)
        return HORA_EINVAL;
    hora__mutex_lock(&clock->lock);
    clock->lateness = lateness;
    hora__mutex_unlock(&clock->lock);
    wake_due(clock);
    return 0;
}

static hora_ns time_to_next_locked(const hora_virtual_clock *clock)
{
    hora_ns least = HORA_FOREVER;
    for (struct hora__list *link = clock->sleepers.next; link != &clock->sleepers; link = link->next) {
        struct sleeper *sleeper = HORA__LIST_ENTRY(link, struct sleeper, link);
        hora_ns left = time_left(clock, sleeper->timeline, sleeper->deadline);
        if (!sleeper->woken && left < least)
            least = left;
    }
    for (struct hora__list *link = clock->alarms.next; link != &clock->alarms; link = link->next) {
        struct hora__alarm *alarm = HORA__LIST_ENTRY(link, struct hora__alarm, link);
        hora_ns left = time_left(clock, alarm->timeline, alarm->deadline);
        if (!alarm->event.readable && left < least)
            least = left;
    }
    return least < 0 ? 0 : least;
}

int hora_virtual_clock_advance_to_next(hora_virtual_clock *clock, hora_ns *ret_by)
{
    int error = check(clock);
    if (error < 0)
        return error;
    hora__mutex_lock(&clock->lock);
    hora_ns by = time_to_next_locked(clock);
    if (by != HORA_FOREVER)
        for (int i = 0; i < TIMELINES; i++)
            move_locked(clock, (hora_timeline)i, by);
    hora__mutex_unlock(&clock->lock);
    if (by == HORA_FOREVER)
        return HORA_EEMPTY;
    wake_due(clock);
    if (ret_by != NULL)
        *ret_by = by;
    return 0;
}

void hora__virtual_clock_park(hora_virtual_clock *clock, hora_timeline timeline, hora_thread *thread, hora_ns deadline)
{
    struct sleeper sleeper = {.thread = thread, .timeline = timeline, .deadline = deadline};
    hora__mutex_lock(&clock->lock);
    bool must_sleep = clock->now[timeline] < deadline;
    if (must_sleep)
        hora__list_add_last(&clock->sleepers, &sleeper.link);
    hora__mutex_unlock(&clock->lock);
    if (!must_sleep)
        return;
    if (thread->clock == clock)
        hora__virtual_clock_idle_park(thread);
    else
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
    hora__mutex_lock(&clock->lock);
    hora__list_remove(&sleeper.link);
    hora__mutex_unlock(&clock->lock);
}

int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock)
{
    int error = hora__event_init(&alarm->event);
    if (error < 0)
        return error;
    alarm->timeline = clock->timeline;
    alarm->deadline = HORA_FOREVER;
    hora__mutex_lock(&clock->source->lock);
    hora__list_add_last(&clock->source->alarms, &alarm->link);
    hora__mutex_unlock(&clock->source->lock);
    return 0;
}

void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock)
{
    hora__mutex_lock(&clock->source->lock);
    hora__list_remove(&alarm->link);
    hora__mutex_unlock(&clock->source->lock);
    hora__event_destroy(&alarm->event);
}

void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline)
{
    hora__mutex_lock(&clock->source->lock);
    alarm->deadline = deadline;
    ring_alarm(clock->source, alarm);
    hora__mutex_unlock(&clock->source->lock);
}

/* ---- quiet ---- */

static bool is_quiet_locked(const hora_virtual_clock *clock)
{
    assert(clock->running >= 0 && clock->expected >= 0);
    return clock->running == 0 && clock->expected == 0;
}

/* Change the counts, and release the settlers if it is quiet then. */
static void change_counts(hora_virtual_clock *clock, int attached, int running)
{
    bool more;
    do {
        struct hora__wakes wakes;
        hora__wakes_init(&wakes);
        hora__mutex_lock(&clock->lock);
        clock->attached += attached;
        clock->running += running;
        attached = running = 0;
        while (is_quiet_locked(clock) && wakes.count < HORA__WAKES_MAX && !hora__list_is_empty(&clock->settlers))
            hora__waiter_resolve(hora__waiters_first(&clock->settlers), 0, &wakes); /* I3 */
        more = is_quiet_locked(clock) && !hora__list_is_empty(&clock->settlers);
        hora__mutex_unlock(&clock->lock);
        hora__wakes_flush(&wakes);
    } while (more);
}

int hora_virtual_clock_attach(hora_virtual_clock *clock)
{
    hora_thread *thread;
    int error = check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (thread->clock != NULL)
        return HORA_EBUSY;
    hora__mutex_lock(&clock->lock);
    clock->attached++;
    clock->running++;
    if (clock->expected > 0)
        clock->expected--;
    hora__mutex_unlock(&clock->lock);
    hora__mutex_lock(&thread->lock);
    thread->clock = clock;
    hora__mutex_unlock(&thread->lock);
    hora__atomic_store(&thread->attached, 1);
    return 0;
}

static void detach(hora_virtual_clock *clock, hora_thread *thread)
{
    assert(!thread->idle); /* it is running this */
    hora__atomic_store(&thread->attached, 0);
    hora__mutex_lock(&thread->lock);
    thread->clock = NULL;
    hora__mutex_unlock(&thread->lock);
    change_counts(clock, -1, -1);
}

int hora_virtual_clock_detach(hora_virtual_clock *clock)
{
    int error = check(clock);
    if (error < 0)
        return error;
    hora_thread *thread = hora__thread_existing();
    if (thread == NULL || thread->clock != clock)
        return HORA_EINVAL;
    detach(clock, thread);
    return 0;
}

void hora__virtual_clock_thread_ends(hora_thread *thread)
{
    if (thread->clock != NULL)
        detach(thread->clock, thread);
}

int hora_virtual_clock_expect(hora_virtual_clock *clock, int threads)
{
    int error = check(clock);
    if (error < 0)
        return error;
    int sum;
    hora__mutex_lock(&clock->lock);
    bool fits = !__builtin_add_overflow(clock->expected, threads, &sum) && sum >= 0;
    if (fits)
        clock->expected = sum;
    hora__mutex_unlock(&clock->lock);
    if (!fits)
        return HORA_EINVAL;
    change_counts(clock, 0, 0); /* fewer may have made it quiet */
    return 0;
}

void hora__virtual_clock_not_idle_locked(hora_thread *thread)
{
    assert(hora__mutex_held(&thread->lock));
    if (!thread->idle)
        return;
    thread->idle = false;
    hora__mutex_lock(&thread->clock->lock);
    thread->clock->running++;
    hora__mutex_unlock(&thread->clock->lock);
}

static bool become_idle(hora_thread *thread)
{
    hora__mutex_lock(&thread->lock);
    bool idle = !hora__parker_has_permit(&thread->parker); /* I4 */
    thread->idle = idle;
    hora__mutex_unlock(&thread->lock);
    if (idle)
        change_counts(thread->clock, 0, -1);
    return idle;
}

/* A thread that nobody has woken came back for no reason. */
static bool is_still_idle(hora_thread *thread)
{
    hora__mutex_lock(&thread->lock);
    if (HORA__FAULT(CLOCK_SETTLES_EARLY))
        hora__virtual_clock_not_idle_locked(thread);
    bool idle = thread->idle;
    hora__mutex_unlock(&thread->lock);
    return idle;
}

void hora__virtual_clock_idle_park(hora_thread *thread)
{
    if (thread->clock == NULL || !become_idle(thread)) {
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
        return;
    }
    /* To run now, for no reason, would be to run while the clock believes that nothing can: so sleep on. */
    do
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
    while (is_still_idle(thread));
}

static int wait_until_quiet(hora_virtual_clock *clock, struct hora__waiter *waiter)
{
    if (hora__waiter_park(waiter, hora__clock_or_default(NULL), HORA_FOREVER) == HORA__WAKE_RESOLVED)
        return 0;
    hora__mutex_lock(&clock->lock);
    bool resolved = hora__waiter_is_resolved(waiter);
    if (!resolved)
        hora__list_remove(&waiter->link);
    hora__mutex_unlock(&clock->lock);
    if (resolved)
        return 0;
    (void)hora__thread_take_interrupt(waiter->thread);
    return HORA_EINTERRUPTED;
}

int hora_virtual_clock_settle(hora_virtual_clock *clock)
{
    hora_thread *thread;
    int error = check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error < 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, thread, HORA_FOREVER);
    int own = thread->clock == clock ? 1 : 0;
    hora__mutex_lock(&clock->lock);
    bool must_wait = clock->running > own || clock->expected > 0;
    if (must_wait)
        hora__list_add_last(&clock->settlers, &waiter.link);
    hora__mutex_unlock(&clock->lock);
    return must_wait ? wait_until_quiet(clock, &waiter) : 0;
}
