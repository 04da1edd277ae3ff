/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_quiet.c - how a virtual clock knows that nothing can run any more
 *
 * How it works      The clock counts the attached threads that run. A thread stops counting when it parks, and
 *                   counts again from the moment it is woken: the waker does it for the sleeping thread, under that
 *                   thread's lock, so that settle cannot slip through between the wake-up and the run.
 *                   A run needs no thread of its own: whoever makes it quiet lets time pass to the next moment and wakes those
 *                   who are due, itself perhaps among them. All of these count as running before the first is woken.
 *                   The thread that called is woken once the next moment lies beyond the end.
 * Invariants        I1 running = attached threads whose record is not idle, but for the moment between idle and
 *                      the count, in which running is too high, never too low.
 *                   I2 settlers wait only while it is not quiet, that is while running + expected + waking > 0.
 *                   I3 a thread is idle only if it has no permit: a wake-up that came before the park counts as running.
 * Locks             as in virtual_clock.c. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sync/thread.h"
#include "sync/virtual_clock.h"
#include "sync/wait.h"

static bool is_quiet(const hora_virtual_clock *clock)
{
    assert(clock->running >= 0 && clock->expected >= 0);
    return clock->running == 0 && clock->expected == 0 && clock->waking == 0;
}

hora_ns hora__virtual_clock_run_left(const hora_virtual_clock *clock)
{
    hora_ns left = hora__ns_sub(clock->run_end, hora__virtual_clock_peek(clock, HORA__MONOTONIC));
    return left < 0 ? 0 : left; /* somebody else may have moved the clock beyond the end */
}

bool hora__virtual_clock_waits_for_one(const hora_virtual_clock *clock)
{
    return !hora__list_is_empty(&clock->runner) && clock->running == 1 && clock->expected == 0 && clock->waking == 0 &&
           hora__list_is_empty(&clock->settlers);
}

static void release(struct hora__list *list, struct hora__wakes *wakes)
{
    while (wakes->count < HORA__WAKES_MAX && !hora__list_is_empty(list))
        hora__waiter_resolve(hora__waiters_first(list), 0, wakes);
}

/* It is quiet. Release those who settle; else let the run go on to its next moment, or end it. Whether time was moved to
 * a moment for which somebody waits. */
static bool go_on(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    if (!hora__list_is_empty(&clock->settlers)) {
        release(&clock->settlers, wakes); /* I2 */
        return false;
    }
    if (hora__list_is_empty(&clock->runner))
        return false;
    hora_ns left = hora__virtual_clock_run_left(clock);
    hora_ns next = hora__virtual_clock_time_to_next(clock);
    bool ends = next > left || (HORA__FAULT(CLOCK_RUN_SKIPS_END) && next == left);
    hora__virtual_clock_pass(clock, ends ? left : next);
    if (ends || (HORA__FAULT(CLOCK_RUN_ENDS_EARLY) && next == left))
        release(&clock->runner, wakes);
    return !ends;
}

/* Those noted count as running before any of them can run, so that it is not quiet when the first of them waits again. */
static void count_noted(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    clock->waking++;
    hora__mutex_unlock(&clock->lock);
    if (!HORA__FAULT(CLOCK_RUNS_AHEAD))
        hora__wakes_count(wakes);
    hora__mutex_lock(&clock->lock);
    clock->waking--;
}

void hora__virtual_clock_unlock(hora_virtual_clock *clock, bool moved)
{
    for (bool again = true; again;) {
        struct hora__wakes wakes;
        hora__wakes_init(&wakes);
        if (!moved && is_quiet(clock))
            moved = go_on(clock, &wakes);
        bool more = moved && hora__virtual_clock_note_due(clock, &wakes);
        bool followed = moved || !hora__list_is_empty(&clock->settlers) || !hora__list_is_empty(&clock->runner);
        if (wakes.count > 0 && followed) /* else the clock may be freed as soon as they know */
            count_noted(clock, &wakes);
        again = more || (followed && is_quiet(clock));
        hora__mutex_unlock(&clock->lock);
        hora__wakes_flush(&wakes);
        if (again)
            hora__mutex_lock(&clock->lock);
        moved = more;
    }
}

static void change_counts(hora_virtual_clock *clock, int attached, int running)
{
    hora__mutex_lock(&clock->lock);
    clock->attached += attached;
    clock->running += running;
    hora__virtual_clock_unlock(clock, false);
}

int hora_virtual_clock_attach(hora_virtual_clock *clock)
{
    hora_thread *thread;
    int error = hora__virtual_clock_check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
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
    int error = hora__virtual_clock_check(clock);
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
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    int sum;
    hora__mutex_lock(&clock->lock);
    bool fits = !__builtin_add_overflow(clock->expected, threads, &sum) && sum >= 0;
    if (fits)
        clock->expected = sum;
    hora__virtual_clock_unlock(clock, false);
    return fits ? 0 : HORA_EINVAL;
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
    bool idle = !hora__parker_has_permit(&thread->parker); /* I3 */
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
    int error = hora__virtual_clock_check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, thread, HORA_FOREVER);
    int own = thread->clock == clock ? 1 : 0;
    hora__mutex_lock(&clock->lock);
    bool must_wait = clock->running > own || clock->expected > 0 || clock->waking > 0;
    if (must_wait)
        hora__list_add_last(&clock->settlers, &waiter.link);
    hora__mutex_unlock(&clock->lock);
    return must_wait ? wait_until_quiet(clock, &waiter) : 0;
}

int hora_virtual_clock_run(hora_virtual_clock *clock, hora_ns by)
{
    hora_thread *thread;
    int error = by < 0 ? HORA_EINVAL : hora__virtual_clock_check(clock);
    if (error == 0)
        error = hora__thread_current(&thread);
    if (error != 0)
        return error;
    if (hora__thread_take_interrupt(thread))
        return HORA_EINTERRUPTED;
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, thread, HORA_FOREVER);
    hora__mutex_lock(&clock->lock);
    bool busy = !hora__list_is_empty(&clock->runner);
    if (!busy) {
        hora__list_add_last(&clock->runner, &waiter.link);
        clock->run_end = hora__ns_add(hora__virtual_clock_peek(clock, HORA__MONOTONIC), by);
        if (clock->run_end == HORA_FOREVER)
            clock->run_end--; /* the last moment that a clock can show */
    }
    hora__virtual_clock_unlock(clock, false); /* it may be quiet already */
    return busy ? HORA_EBUSY : wait_until_quiet(clock, &waiter);
}
