/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.c - a clock that moves only when a test says so
 *
 * How it works      Three readings, moved together or apart by the calls of the header. A thread that waits for a time
 *                   registers a sleeper, which lies on its stack, and parks without a deadline; whoever moves the
 *                   clock wakes the sleepers that have become due. A sleeper may also watch the lines: it is due
 *                   as well once they have parted. virtual_quiet.c knows when nothing can run any more.
 *                   While a run is on, a thread that goes to sleep last and is the only one to wake next moves the clock
 *                   there and does not sleep at all.
 * Invariants        I1 a sleeper that is due has been woken (after the call that moved the clock has returned).
 * Locks             clock->lock (rank CLOCK). thread->lock (rank THREAD) is never taken under it; wake-ups are made after
 *                   it has been let go, at most HORA__WAKES_MAX per turn. */
#include "sync/virtual_clock.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/alloc.h"
#include "sys/process.h"

/* A thread that waits for a time. On its own stack; guarded by the clock's lock. */
struct sleeper {
    struct hora__list link;
    hora_thread *thread;
    enum hora__timeline timeline;
    hora_ns deadline;
    const struct hora__clock_offsets
        *seen; /* it watches: how far the lines were apart then; NULL: it does not */
    bool woken;
};

static int check(const hora_virtual_clock *clock)
{
    if (clock == NULL)
        return HORA_EINVAL;
    return clock->generation == hora__fork_generation() ? 0 : HORA_EFORKED;
}

int hora_virtual_clock_new(const hora_virtual_clock_options *options, hora_virtual_clock **ret_clock,
                           hora_error *reason)
{
    hora_virtual_clock_options own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_virtual_clock_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_virtual_clock_options");
    if (ret_clock == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "there is no place for the result: ret_clock is NULL");
    if (own.monotonic < 0)
        return hora__refuse(reason, HORA_EINVAL, "monotonic",
                            "the first reading of the monotonic line is negative");
    int error = hora__fork_watch();
    if (error < 0)
        return hora__reason_end(reason, error);
    hora_virtual_clock *clock = hora__alloc(1, sizeof *clock);
    if (clock == NULL)
        return hora__reason_end(reason, HORA_ENOMEM);
    error = hora__mutex_init(&clock->lock, HORA__RANK_CLOCK);
    if (error < 0) {
        hora__free(clock);
        return hora__reason_end(reason, error);
    }
    for (int i = 0; i < HORA__TIMELINES; i++) {
        clock->views[i] = (hora_clock){(enum hora__timeline)i, clock};
        hora__atomic64_store(&clock->now[i], i == HORA__WALL ? own.wall.ns : own.monotonic);
    }
    hora__list_init(&clock->sleepers);
    hora__list_init(&clock->alarms);
    hora__list_init(&clock->settlers);
    hora__list_init(&clock->runner);
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
                  !hora__list_is_empty(&clock->settlers) || !hora__list_is_empty(&clock->runner);
    hora__mutex_unlock(&clock->lock);
    if (in_use)
        return HORA_EBUSY;
    assert(hora__list_is_empty(&clock->alarms)); /* each belongs to an object */
    hora__mutex_destroy(&clock->lock);
    hora__free(clock);
    return 0;
}

const hora_clock *hora_virtual_clock_view(hora_virtual_clock *clock, hora_clock_id id)
{
    return clock != NULL && hora__clock_id_is_valid(id)
               ? hora__virtual_clock_line(clock, hora__timeline_of(id))
               : NULL;
}

const hora_clock *hora__virtual_clock_line(hora_virtual_clock *clock, enum hora__timeline timeline)
{
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

hora_ns hora__virtual_clock_now(hora_virtual_clock *clock, enum hora__timeline timeline)
{
    return hora__atomic64_load(&clock->now[timeline]);
}

/* ---- time ---- */

static struct hora__clock_offsets offsets(const hora_virtual_clock *clock)
{
    hora_ns monotonic = hora__virtual_clock_peek(clock, HORA__MONOTONIC);
    return (struct hora__clock_offsets){
        hora__ns_sub(hora__virtual_clock_peek(clock, HORA__BOOTTIME), monotonic),
        hora__ns_sub(hora__virtual_clock_peek(clock, HORA__WALL), monotonic)};
}

struct hora__clock_offsets hora__virtual_clock_offsets(hora_virtual_clock *clock)
{
    if (check(clock) < 0)
        return offsets(
            clock); /* a child's lone thread; the lock may be held for ever by one that it does not have */
    hora__mutex_lock(&clock->lock);
    struct hora__clock_offsets read = offsets(clock);
    hora__mutex_unlock(&clock->lock);
    return read;
}

static bool have_parted(const hora_virtual_clock *clock, const struct hora__clock_offsets *seen)
{
    struct hora__clock_offsets now = offsets(clock);
    return now.boot != seen->boot || now.wall != seen->wall;
}

/* How long until something with this deadline is woken; <= 0: now. HORA_FOREVER: never. */
static hora_ns time_left(const hora_virtual_clock *clock, enum hora__timeline timeline, hora_ns deadline)
{
    hora_ns wake_at = hora__ns_add(deadline, clock->lateness);
    if (HORA__FAULT(CLOCK_WAKES_LATE))
        wake_at = hora__ns_add(wake_at, 1);
    return wake_at == HORA_FOREVER ? HORA_FOREVER
                                   : hora__ns_sub(wake_at, hora__virtual_clock_peek(clock, timeline));
}

static void ring_alarm(const hora_virtual_clock *clock, struct hora__alarm *alarm)
{
    hora__event_set(&alarm->event, time_left(clock, alarm->timeline, alarm->deadline) <= 0);
}

static bool is_due(const hora_virtual_clock *clock, const struct sleeper *sleeper)
{
    if (sleeper->seen != NULL && !HORA__FAULT(CLOCK_STEP_UNSEEN) && have_parted(clock, sleeper->seen))
        return true;
    return time_left(clock, sleeper->timeline, sleeper->deadline) <= 0;
}

bool hora__virtual_clock_note_due(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&clock->lock));
    for (struct hora__list *link = clock->alarms.next; link != &clock->alarms; link = link->next)
        ring_alarm(clock, HORA__LIST_ENTRY(link, struct hora__alarm, link));
    for (struct hora__list *link = clock->sleepers.next; link != &clock->sleepers; link = link->next) {
        struct sleeper *sleeper = HORA__LIST_ENTRY(link, struct sleeper, link);
        if (sleeper->woken || !is_due(clock, sleeper))
            continue;
        if (wakes->count == HORA__WAKES_MAX)
            return true;
        sleeper->woken = true;
        hora__wakes_add(wakes, hora_thread_ref(sleeper->thread));
    }
    return false;
}

static void move_locked(hora_virtual_clock *clock, enum hora__timeline timeline, hora_ns by)
{
    hora_ns now = hora__ns_add(hora__virtual_clock_peek(clock, timeline), by);
    if (now == HORA_FOREVER)
        now--; /* "never" is not a time that a clock can show */
    hora__atomic64_store(&clock->now[timeline], now);
}

void hora__virtual_clock_pass(hora_virtual_clock *clock, hora_ns by)
{
    assert(hora__mutex_held(&clock->lock));
    for (int i = 0; i < HORA__TIMELINES; i++)
        move_locked(clock, (enum hora__timeline)i, by);
}

static int move(hora_virtual_clock *clock, hora_ns monotonic, hora_ns boot, hora_ns wall)
{
    hora__mutex_lock(&clock->lock);
    move_locked(clock, HORA__MONOTONIC, monotonic);
    move_locked(clock, HORA__BOOTTIME, boot);
    move_locked(clock, HORA__WALL, wall);
    hora__virtual_clock_unlock(clock, true);
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
    hora__virtual_clock_unlock(clock, true);
    return 0;
}

hora_ns hora__virtual_clock_time_to_next(const hora_virtual_clock *clock)
{
    assert(hora__mutex_held(&clock->lock));
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
    hora_ns by = hora__virtual_clock_time_to_next(clock);
    if (by == HORA_FOREVER) {
        hora__mutex_unlock(&clock->lock);
        return HORA_EEMPTY;
    }
    hora__virtual_clock_pass(clock, by);
    hora__virtual_clock_unlock(clock, true);
    if (ret_by != NULL)
        *ret_by = by;
    return 0;
}

/* The last thread that runs is about to sleep while a run is on: if nobody else is to be woken before it or together with
 * it, time passes until it is its turn. */
static bool passes_alone(hora_virtual_clock *clock, const struct sleeper *own)
{
    if (own->thread->clock != clock || !hora__virtual_clock_waits_for_one(clock))
        return false;
    hora_ns left = time_left(clock, own->timeline, own->deadline);
    if (left > hora__virtual_clock_run_left(clock) || left >= hora__virtual_clock_time_to_next(clock) ||
        hora__parker_has_permit(&own->thread->parker))
        return false;
    hora__virtual_clock_pass(clock, left);
    return true;
}

void hora__virtual_clock_park(const hora_clock *view, hora_thread *thread, hora_ns deadline,
                              const struct hora__clock_offsets *seen)
{
    hora_virtual_clock *clock = view->source;
    struct sleeper sleeper = {
        .thread = thread, .timeline = view->timeline, .deadline = deadline, .seen = seen};
    hora__mutex_lock(&clock->lock);
    bool must_sleep = hora__virtual_clock_peek(clock, view->timeline) < deadline &&
                      !(seen != NULL && have_parted(clock, seen));
    if (must_sleep && passes_alone(clock, &sleeper))
        must_sleep = false;
    if (must_sleep)
        hora__list_add_last(&clock->sleepers, &sleeper.link);
    hora__mutex_unlock(&clock->lock);
    if (!must_sleep)
        return;
    if (thread->clock == clock || deadline == HORA_FOREVER)
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
