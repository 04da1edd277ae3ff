/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_clock.c - a clock that moves only when a test moves it, and that knows when no thread can run
 *
 * Time              The clock has three readings, one per timeline, which the public calls move together or
 *                   apart. A thread that waits for a time registers a sleeper, which lies on its stack, and
 *                   parks without a deadline. The thread that moves the clock wakes the sleepers that are
 *                   due. A sleeper may also watch the offsets between the timelines; it is due as well once
 *                   they have changed.
 * Quiet             The clock counts the attached threads that run. A thread no longer counts when it
 *                   parks, and counts again from the moment it is woken: the waking thread counts it, under
 *                   the sleeping thread's lock, so that settle cannot return between the wake-up and the
 *                   moment the system runs the thread. The clock is quiet when no thread counts as running.
 * Runs              hora_virtual_clock_run needs no separate thread. The thread whose park makes the clock
 *                   quiet advances time to the next moment and wakes the sleepers that are due, possibly
 *                   itself among them. All of these count as running before the first is woken. The thread
 *                   that called run is woken once the next moment lies beyond the end of the run. If the
 *                   last running thread is also the only one that is due next, it advances the clock in
 *                   its own call and does not sleep at all.
 * Invariants        I1 once the call that moved the clock has returned, every due sleeper has been woken.
 *                   I2 running is the number of attached threads whose record is not idle. Between the
 *                   change of a record and the change of the count, running is too high, never too low.
 *                   I3 settlers wait only while the clock is not quiet: running + expected + waking > 0.
 *                   I4 a thread is idle only if it has no permit: a thread that was woken before it parks
 *                   still counts as running.
 * Locks             clock->lock (rank CLOCK). No thread takes thread->lock (rank THREAD) while it holds it.
 *                   Threads are woken after it is released, at most HORA__WAKES_MAX per round. */
#include <hora/virtual_clock.h>

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/list.h"
#include "base/ns.h"
#include "base/options.h"
#include "base/reason.h"
#include "sync/clock.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/alloc.h"
#include "sys/mutex.h"
#include "sys/process.h"

enum { TIMELINES = 3 };

struct hora_virtual_clock {
    hora_clock views[TIMELINES]; /* the public clocks of the three timelines; immutable */
    int32_t generation;          /* hora__fork_generation() when it was made; immutable */
    /* One reference of the owner, and one of each thread in wait_until_quiet. The last one frees the
     * memory. */
    hora__atomic references;
    /* What each timeline shows, in nanoseconds. Written under the lock; any thread reads it without. */
    hora__atomic64 now[TIMELINES];

    hora__mutex lock;           /* rank CLOCK; guards the fields below */
    hora_ns lateness;           /* how long after its deadline a sleeper or alarm is due; >= 0 */
    struct hora__list sleepers; /* struct sleeper of each thread that waits for a time of this clock */
    struct hora__list alarms;   /* struct hora__alarm of each timed descriptor of this clock */
    struct hora__list settlers; /* struct hora__waiter of each thread in hora_virtual_clock_settle */
    struct hora__list runner;   /* waiter of the thread in hora_virtual_clock_run; at most one */
    hora_ns run_end;            /* end of that run, on the monotonic timeline */
    int objects;                /* objects made with one of the views and not yet freed */
    int attached;               /* attached threads */
    int running;                /* attached threads that are not idle, see I2 */
    int expected;               /* threads announced and not yet attached */
    /* Threads inside count_noted: each has noted sleepers under the lock and has yet to count them as
     * running. While it is > 0, the clock is not quiet. */
    int waking;
};

/* A thread that waits for a time. It lies on the thread's stack; the clock's lock guards it. */
struct sleeper {
    struct hora__list link;       /* on clock->sleepers */
    hora_thread *thread;          /* the record of the waiting thread, borrowed from it */
    enum hora__timeline timeline; /* the timeline that the deadline refers to */
    hora_ns deadline;             /* HORA_FOREVER: it waits only for the offsets to change */
    /* The offsets when it began to watch them; NULL: it does not watch. */
    const struct hora__clock_offsets *seen;
    bool woken; /* it was found due and its thread is being woken; it is not woken again */
};

/* Reads a timeline. For callers that hold the lock: no other thread can write it then. */
static hora_ns peek(const hora_virtual_clock *clock, enum hora__timeline timeline)
{
    return hora__atomic64_peek(&clock->now[timeline]);
}

static void unlock_clock(hora_virtual_clock *clock, bool moved);
static hora_ns run_left(const hora_virtual_clock *clock);
static bool waits_for_one_thread(const hora_virtual_clock *clock);

int hora__virtual_clock_check(const hora_virtual_clock *clock)
{
    if (clock == NULL)
        return HORA_EINVAL;
    return clock->generation == hora__fork_generation() ? 0 : HORA_EFORKED;
}

/* Forks are counted from here on, because the clock stores the generation. Memory from hora__alloc is zero,
 * which initialises the counts. */
int hora_virtual_clock_new(const hora_virtual_clock_options *options, hora_virtual_clock **ret_clock,
                           hora_error *reason)
{
    hora_virtual_clock_options own;
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_virtual_clock_options, &own, options) < 0)
        return hora__refuse_size(reason, "hora_virtual_clock_options");
    if (ret_clock == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_clock is NULL");
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
    for (int i = 0; i < TIMELINES; i++) {
        clock->views[i] = (hora_clock){(enum hora__timeline)i, clock};
        hora__atomic64_store(&clock->now[i], i == HORA__WALL ? own.wall.ns : own.monotonic);
    }
    hora__list_init(&clock->sleepers);
    hora__list_init(&clock->alarms);
    hora__list_init(&clock->settlers);
    hora__list_init(&clock->runner);
    clock->generation = hora__fork_generation();
    hora__atomic_init(&clock->references, 1);
    *ret_clock = clock;
    return 0;
}

/* Releases a reference; the last one frees the clock. */
static void leave(hora_virtual_clock *clock)
{
    if (hora__atomic_add(&clock->references, -1) != 1)
        return;
    assert(hora__list_is_empty(&clock->alarms)); /* each belongs to an object */
    assert(hora__list_is_empty(&clock->settlers) && hora__list_is_empty(&clock->runner));
    hora__mutex_destroy(&clock->lock);
    hora__free(clock);
}

/* Refuses while an object, an attached thread or a waiting thread uses the clock. Threads that were announced
 * and have not attached yet do not count as users. A thread in settle or run that has been resolved but has
 * not left yet does not count either: its reference keeps the memory until it leaves. */
int hora_virtual_clock_free(hora_virtual_clock *clock)
{
    if (clock == NULL)
        return 0;
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    hora__mutex_lock(&clock->lock);
    bool in_use = clock->objects > 0 || clock->attached > 0 || !hora__list_is_empty(&clock->sleepers) ||
                  !hora__list_is_empty(&clock->settlers) || !hora__list_is_empty(&clock->runner);
    hora__mutex_unlock(&clock->lock);
    if (in_use)
        return HORA_EBUSY;
    leave(clock);
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

/* This and the next are not inlined: each future calls them if its clock is virtual, and most clocks are
 * not. */
__attribute__((noinline)) void hora__virtual_clock_acquire(hora_virtual_clock *clock)
{
    hora__mutex_lock(&clock->lock);
    clock->objects++;
    hora__mutex_unlock(&clock->lock);
}

__attribute__((noinline)) void hora__virtual_clock_release(hora_virtual_clock *clock)
{
    hora__mutex_lock(&clock->lock);
    assert(clock->objects > 0);
    clock->objects--;
    hora__mutex_unlock(&clock->lock);
}

/* Takes no lock, so it also works in the child of a fork, where the lock may be held for ever. */
hora_ns hora__virtual_clock_now(hora_virtual_clock *clock, enum hora__timeline timeline)
{
    return hora__atomic64_load(&clock->now[timeline]);
}

/* ---- time ---- */

/* Returns the offsets between the timelines. They belong together only if the caller holds the lock. */
static struct hora__clock_offsets offsets(const hora_virtual_clock *clock)
{
    hora_ns monotonic = peek(clock, HORA__MONOTONIC);
    return (struct hora__clock_offsets){hora__ns_sub(peek(clock, HORA__BOOTTIME), monotonic),
                                        hora__ns_sub(peek(clock, HORA__WALL), monotonic)};
}

struct hora__clock_offsets hora__virtual_clock_offsets(hora_virtual_clock *clock)
{
    /* In the child of a fork, a thread of the parent may hold the lock for ever. The clock stands still
     * there, so the offsets are right without the lock. */
    if (hora__virtual_clock_check(clock) < 0)
        return offsets(clock);
    hora__mutex_lock(&clock->lock);
    struct hora__clock_offsets read = offsets(clock);
    hora__mutex_unlock(&clock->lock);
    return read;
}

/* Returns whether the offsets have changed since `seen` was read. The caller holds the lock. */
static bool have_parted(const hora_virtual_clock *clock, const struct hora__clock_offsets *seen)
{
    assert(hora__mutex_held(&clock->lock));
    struct hora__clock_offsets now = offsets(clock);
    return now.boot != seen->boot || now.wall != seen->wall;
}

/* Returns how long it is until a sleeper or alarm with this deadline is due, lateness included; <= 0: it is
 * due now, HORA_FOREVER: never. */
static hora_ns time_left(const hora_virtual_clock *clock, enum hora__timeline timeline, hora_ns deadline)
{
    assert(hora__mutex_held(&clock->lock));
    hora_ns wake_at = hora__ns_add(deadline, clock->lateness);
    if (HORA__FAULT(CLOCK_WAKES_LATE))
        wake_at = hora__ns_add(wake_at, 1);
    return wake_at == HORA_FOREVER ? HORA_FOREVER : hora__ns_sub(wake_at, peek(clock, timeline));
}

/* Makes the descriptor of an alarm readable if it is due, and not readable if it is not: setting the wall
 * line back may make it not due again. */
static void ring_alarm(const hora_virtual_clock *clock, struct hora__alarm *alarm)
{
    assert(hora__mutex_held(&clock->lock));
    hora__event_set(&alarm->event, time_left(clock, alarm->timeline, alarm->deadline) <= 0);
}

/* Returns whether a sleeper must be woken: its time has come, or the offsets that it watches have changed. */
static bool is_due(const hora_virtual_clock *clock, const struct sleeper *sleeper)
{
    assert(hora__mutex_held(&clock->lock));
    if (sleeper->seen != NULL && !HORA__FAULT(CLOCK_STEP_UNSEEN) && have_parted(clock, sleeper->seen))
        return true;
    return time_left(clock, sleeper->timeline, sleeper->deadline) <= 0;
}

/* Updates the descriptors of all alarms and adds the threads of due sleepers to *wakes, up to
 * HORA__WAKES_MAX. Marks these sleepers as woken. Returns whether there are more; the caller then wakes the
 * noted threads and calls again. */
static bool note_due(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    assert(wakes->count <= HORA__WAKES_MAX);
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

/* Moves one timeline forward or, if `by` is negative, back. Saturates instead of overflowing. */
static void move_line(hora_virtual_clock *clock, enum hora__timeline timeline, hora_ns by)
{
    assert(hora__mutex_held(&clock->lock));
    hora_ns now = hora__ns_add(peek(clock, timeline), by);
    if (now == HORA_FOREVER)
        now--; /* HORA_FOREVER is not a time that a clock can show */
    hora__atomic64_store(&clock->now[timeline], now);
}

/* Lets time pass: moves all timelines forward together. The caller holds the lock and wakes the sleepers that
 * are due afterwards. */
static void pass_time(hora_virtual_clock *clock, hora_ns by)
{
    assert(by >= 0);
    assert(hora__mutex_held(&clock->lock));
    for (int i = 0; i < TIMELINES; i++)
        move_line(clock, (enum hora__timeline)i, by);
}

/* Moves each timeline by its own distance and wakes the sleepers that are then due (I1). Returns 0. */
static int move_lines(hora_virtual_clock *clock, hora_ns monotonic, hora_ns boot, hora_ns wall)
{
    hora__mutex_lock(&clock->lock);
    move_line(clock, HORA__MONOTONIC, monotonic);
    move_line(clock, HORA__BOOTTIME, boot);
    move_line(clock, HORA__WALL, wall);
    unlock_clock(clock, true);
    return 0;
}

int hora_virtual_clock_advance(hora_virtual_clock *clock, hora_ns by)
{
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    return by < 0 ? HORA_EINVAL : move_lines(clock, by, by, by);
}

int hora_virtual_clock_step_wall(hora_virtual_clock *clock, hora_ns by)
{
    int error = hora__virtual_clock_check(clock);
    return error < 0 ? error : move_lines(clock, 0, 0, by);
}

int hora_virtual_clock_suspend(hora_virtual_clock *clock, hora_ns by)
{
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    return by < 0 ? HORA_EINVAL : move_lines(clock, 0, by, by);
}

/* Applies to the sleepers that exist, too, since time_left adds the lateness each time. */
int hora_virtual_clock_set_lateness(hora_virtual_clock *clock, hora_ns lateness)
{
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    if (lateness < 0)
        return HORA_EINVAL;
    hora__mutex_lock(&clock->lock);
    clock->lateness = lateness;
    /* As if time had moved: with less lateness, sleepers may be due now. */
    unlock_clock(clock, true);
    return 0;
}

/* Returns how long it is until the next sleeper or alarm is due, >= 0; HORA_FOREVER: none waits for a time.
 * Sleepers that have been woken and alarms that are readable do not count. */
static hora_ns time_to_next(const hora_virtual_clock *clock)
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

/* Finds the next moment and advances to it under one hold of the lock, so no other thread can move the clock
 * in between. The distance may be 0 if a sleeper is due that has not been woken yet. */
int hora_virtual_clock_advance_to_next(hora_virtual_clock *clock, hora_ns *ret_by)
{
    int error = hora__virtual_clock_check(clock);
    if (error < 0)
        return error;
    hora__mutex_lock(&clock->lock);
    hora_ns by = time_to_next(clock);
    if (by == HORA_FOREVER) {
        hora__mutex_unlock(&clock->lock);
        return HORA_EEMPTY;
    }
    pass_time(clock, by);
    unlock_clock(clock, true);
    if (ret_by != NULL)
        *ret_by = by;
    return 0;
}

/* The shortcut of a run: if the calling thread is the last one that runs, and no other sleeper or alarm is
 * due before its deadline or at the same time, advances the clock to that deadline. Returns true if it did;
 * the thread then need not sleep. A permit means that the thread has been woken for another reason, so time
 * must not pass. The caller holds the lock, and `own` is not yet on the list. */
static bool passes_alone(hora_virtual_clock *clock, const struct sleeper *own)
{
    assert(hora__mutex_held(&clock->lock));
    if (own->thread->clock != clock || !waits_for_one_thread(clock))
        return false;
    hora_ns left = time_left(clock, own->timeline, own->deadline);
    if (left > run_left(clock) || left >= time_to_next(clock) ||
        hora__parker_has_permit(&own->thread->parker))
        return false;
    pass_time(clock, left);
    return true;
}

/* The deadline and the offsets are compared under the lock that also registers the sleeper. A thread that
 * moves the clock therefore either comes first, and this thread does not sleep, or finds the sleeper. */
void hora__virtual_clock_park(const hora_clock *view, hora_thread *thread, hora_ns deadline,
                              const struct hora__clock_offsets *seen)
{
    assert(view->source != NULL && thread == hora__thread_existing());
    hora_virtual_clock *clock = view->source;
    struct sleeper sleeper = {
        .thread = thread, .timeline = view->timeline, .deadline = deadline, .seen = seen};
    hora__mutex_lock(&clock->lock);
    /* Lateness delays only a thread that sleeps; a deadline that has passed already needs no sleep. */
    bool must_sleep = peek(clock, view->timeline) < deadline && !(seen != NULL && have_parted(clock, seen));
    if (must_sleep && passes_alone(clock, &sleeper))
        must_sleep = false;
    if (must_sleep)
        hora__list_add_last(&clock->sleepers, &sleeper.link);
    hora__mutex_unlock(&clock->lock);
    if (!must_sleep)
        return;
    /* The clock wakes the sleeper, so the thread parks without a deadline. A thread that is attached to
     * another clock does not become idle there if it waits for a time of this one, which may pass at any
     * moment. */
    if (thread->clock == clock || deadline == HORA_FOREVER)
        hora__virtual_clock_idle_park(thread);
    else
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
    /* The sleeper stays on the list until here, even if it was woken: its thread may also be woken by another
     * thread, so only the thread itself removes it. */
    hora__mutex_lock(&clock->lock);
    hora__list_remove(&sleeper.link);
    hora__mutex_unlock(&clock->lock);
}

/* Opens the descriptor before the alarm is on the list, where other threads use it. */
int hora__alarm_init(struct hora__alarm *alarm, const hora_clock *clock)
{
    assert(clock->source != NULL);
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

/* Takes the alarm off the list first, so that no thread that moves the clock uses a closed descriptor. */
void hora__alarm_destroy(struct hora__alarm *alarm, const hora_clock *clock)
{
    hora__mutex_lock(&clock->source->lock);
    hora__list_remove(&alarm->link);
    hora__mutex_unlock(&clock->source->lock);
    hora__event_destroy(&alarm->event);
}

/* Updates the descriptor at once, because the new deadline may have passed already. */
void hora__alarm_set(struct hora__alarm *alarm, const hora_clock *clock, hora_ns deadline)
{
    assert(clock->source != NULL && alarm->timeline == clock->timeline);
    hora__mutex_lock(&clock->source->lock);
    alarm->deadline = deadline;
    ring_alarm(clock->source, alarm);
    hora__mutex_unlock(&clock->source->lock);
}

/* ---- quiet ---- */

/* Returns whether no thread can run: none counts as running, is expected, or is about to be counted. */
static bool is_quiet(const hora_virtual_clock *clock)
{
    assert(hora__mutex_held(&clock->lock));
    assert(clock->running >= 0 && clock->expected >= 0);
    return clock->running == 0 && clock->expected == 0 && clock->waking == 0;
}

/* Returns how much of the current run is left, >= 0. The caller holds the lock, and a run is in progress. */
static hora_ns run_left(const hora_virtual_clock *clock)
{
    assert(hora__mutex_held(&clock->lock));
    hora_ns left = hora__ns_sub(clock->run_end, peek(clock, HORA__MONOTONIC));
    return left < 0 ? 0 : left; /* another thread may have moved the clock beyond the end */
}

/* Returns whether a run is in progress and waits only for one running thread. Not while threads settle: the
 * clock must become quiet for them first. */
static bool waits_for_one_thread(const hora_virtual_clock *clock)
{
    assert(hora__mutex_held(&clock->lock));
    return !hora__list_is_empty(&clock->runner) && clock->running == 1 && clock->expected == 0 &&
           clock->waking == 0 && hora__list_is_empty(&clock->settlers);
}

/* Resolves as many waiters of a list as fit into *wakes. More would be woken under the clock's lock, see
 * hora__wakes_add. The loop in unlock_clock resolves the rest. */
static void release(struct hora__list *list, struct hora__wakes *wakes)
{
    assert(wakes->count <= HORA__WAKES_MAX);
    while (wakes->count < HORA__WAKES_MAX && !hora__list_is_empty(list))
        hora__waiter_resolve(hora__waiters_first(list), 0, wakes);
}

/* Acts on a clock that is quiet. Resolves the threads in settle; if there are none, advances the run to the
 * next moment, or ends it. Returns whether it advanced time to a moment that a sleeper or alarm waits for. */
static bool go_on(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&clock->lock));
    if (!hora__list_is_empty(&clock->settlers)) {
        release(&clock->settlers, wakes); /* I3 */
        return false;
    }
    if (hora__list_is_empty(&clock->runner))
        return false;
    hora_ns left = run_left(clock);
    hora_ns next = time_to_next(clock);
    bool ends = next > left || (HORA__FAULT(CLOCK_RUN_SKIPS_END) && next == left);
    pass_time(clock, ends ? left : next);
    if (ends || (HORA__FAULT(CLOCK_RUN_ENDS_EARLY) && next == left))
        release(&clock->runner, wakes);
    return !ends;
}

/* Counts the noted threads as running before any of them is woken. Otherwise the first could run, wait again
 * and make the clock quiet while the second is still asleep at its moment. Counting takes the lock of each
 * thread, whose rank is below that of the clock, so the clock's lock is released for it; `waking` keeps the
 * clock from being quiet until it is done. */
static void count_noted(hora_virtual_clock *clock, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&clock->lock));
    clock->waking++;
    hora__mutex_unlock(&clock->lock);
    if (!HORA__FAULT(CLOCK_RUNS_AHEAD))
        hora__wakes_count(wakes);
    hora__mutex_lock(&clock->lock);
    clock->waking--;
}

/* Releases the lock after a change of time or counts, and does everything that follows from the change: wakes
 * due sleepers (I1), resolves threads in settle (I3), advances or ends a run. `moved` is true if time has
 * changed. Each round wakes at most HORA__WAKES_MAX threads, after it has released the lock. */
static void unlock_clock(hora_virtual_clock *clock, bool moved)
{
    assert(hora__mutex_held(&clock->lock));
    for (bool again = true; again;) {
        struct hora__wakes wakes;
        hora__wakes_init(&wakes);
        if (!moved && is_quiet(clock))
            moved = go_on(clock, &wakes);
        bool more = moved && note_due(clock, &wakes);
        /* False if this round has resolved the last thread in settle or run, if there was one. That thread
         * may free the clock as soon as the lock is released, so the clock is not accessed after that. */
        bool followed =
            moved || !hora__list_is_empty(&clock->settlers) || !hora__list_is_empty(&clock->runner);
        if (wakes.count > 0 && followed)
            count_noted(clock, &wakes);
        again = more || (followed && is_quiet(clock));
        hora__mutex_unlock(&clock->lock);
        hora__wakes_flush(&wakes);
        if (again)
            hora__mutex_lock(&clock->lock);
        moved = more;
    }
}

/* Adds to the two counts. This may make the clock quiet, and everything that follows happens here. */
static void change_counts(hora_virtual_clock *clock, int attached, int running)
{
    hora__mutex_lock(&clock->lock);
    clock->attached += attached;
    clock->running += running;
    unlock_clock(clock, false);
}

/* The clock counts the thread before the record says that it is attached, so `running` is never too low (I2).
 * The change cannot make the clock quiet, so a plain unlock suffices. `attached` is set last: a waker that
 * sees it finds `clock` set. */
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

/* Detaches a thread in the reverse order of attaching: the record first, then the counts (I2). */
static void detach(hora_virtual_clock *clock, hora_thread *thread)
{
    assert(thread->clock == clock);
    /* It does not wait: it runs this itself, or another thread unloads the library, which no thread may be in
     * at that time. */
    assert(!thread->idle);
    hora__atomic_store(&thread->attached, 0);
    hora__mutex_lock(&thread->lock);
    thread->clock = NULL;
    hora__mutex_unlock(&thread->lock);
    change_counts(clock, -1, -1);
}

/* Only the thread itself can detach, so reading thread->clock needs no lock. */
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

/* Withdrawing the last announcement may make the clock quiet, so the lock is released with unlock_clock. */
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
    unlock_clock(clock, false);
    return fits ? 0 : HORA_EINVAL;
}

/* Record and count change under the thread's lock, so no other thread that holds it sees only one of them
 * changed (I2). */
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

/* Makes the calling thread idle, so that it no longer counts as running, unless it has been woken already
 * (I4). Returns whether it is idle. The record changes before the count (I2). */
static bool become_idle(hora_thread *thread)
{
    assert(thread->clock != NULL);
    hora__mutex_lock(&thread->lock);
    bool idle = !hora__parker_has_permit(&thread->parker); /* I4 */
    thread->idle = idle;
    hora__mutex_unlock(&thread->lock);
    if (idle)
        change_counts(thread->clock, 0, -1);
    return idle;
}

/* Returns whether the park of the calling thread ended without a wake-up: a waker would have made it not
 * idle. */
static bool is_still_idle(hora_thread *thread)
{
    hora__mutex_lock(&thread->lock);
    if (HORA__FAULT(CLOCK_SETTLES_EARLY))
        hora__virtual_clock_not_idle_locked(thread);
    bool idle = thread->idle;
    hora__mutex_unlock(&thread->lock);
    return idle;
}

/* If a wake-up has come already, the thread does not become idle, and the park takes the permit and returns
 * at once. */
void hora__virtual_clock_idle_park(hora_thread *thread)
{
    if (thread->clock == NULL || !become_idle(thread)) {
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
        return;
    }
    /* A thread that returned from a park without a reason would run although the clock counts it as idle. So
     * it parks again. */
    do
        hora__park(&thread->parker, HORA__MONOTONIC, INT64_MAX);
    while (is_still_idle(thread));
}

/* Adds a waiter of the calling thread to one of the clock's lists, for wait_until_quiet. The caller holds the
 * lock. Takes a reference: the thread may be resolved while it is about to take the lock after an interrupt,
 * and then the owner may free the clock. */
static void add_waiter(hora_virtual_clock *clock, struct hora__list *list, struct hora__waiter *waiter,
                       hora_thread *thread)
{
    assert(hora__mutex_held(&clock->lock));
    hora__waiter_init(waiter, list, thread, HORA_FOREVER);
    if (!HORA__FAULT(CLOCK_FORGETS_SETTLER))
        (void)hora__atomic_add(&clock->references, 1);
}

/* Takes the waiter of an interrupted thread off its list. Returns false if the clock has resolved it at the
 * same time; then that counts, and the interrupt stays pending. */
static bool withdraw(hora_virtual_clock *clock, struct hora__waiter *waiter)
{
    hora__mutex_lock(&clock->lock);
    bool resolved = hora__waiter_is_resolved(waiter);
    if (!resolved)
        hora__list_remove(&waiter->link);
    hora__mutex_unlock(&clock->lock);
    return !resolved;
}

/* Waits until the waiter, which add_waiter has put on one of the clock's lists, is resolved, or the thread is
 * interrupted. Returns 0 or HORA_EINTERRUPTED. While it waits, an attached thread counts as idle, which is
 * why settle and run do not wait for their own caller. Releases the waiter's reference, so the clock may be
 * gone afterwards. */
static int wait_until_quiet(hora_virtual_clock *clock, struct hora__waiter *waiter)
{
    enum hora__wake wake = hora__waiter_park(waiter, hora__clock_or_default(NULL), HORA_FOREVER);
    bool interrupted = wake != HORA__WAKE_RESOLVED && withdraw(clock, waiter);
    if (!HORA__FAULT(CLOCK_FORGETS_SETTLER))
        leave(clock);
    if (!interrupted)
        return 0;
    (void)hora__thread_take_interrupt(waiter->thread);
    return HORA_EINTERRUPTED;
}

/* Does not wait if only the calling thread runs: a thread in settle does not count itself. */
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
    int own = thread->clock == clock ? 1 : 0;
    hora__mutex_lock(&clock->lock);
    bool must_wait = clock->running > own || clock->expected > 0 || clock->waking > 0;
    if (must_wait)
        add_waiter(clock, &clock->settlers, &waiter, thread);
    hora__mutex_unlock(&clock->lock);
    return must_wait ? wait_until_quiet(clock, &waiter) : 0;
}

/* Registers the run and waits for its end. The threads that make the clock quiet do the work, see go_on; if
 * it is quiet already, unlock_clock does the first steps here. */
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
    hora__mutex_lock(&clock->lock);
    bool busy = !hora__list_is_empty(&clock->runner);
    if (!busy) {
        add_waiter(clock, &clock->runner, &waiter, thread);
        clock->run_end = hora__ns_add(peek(clock, HORA__MONOTONIC), by);
        if (clock->run_end == HORA_FOREVER)
            clock->run_end--; /* the last moment that a clock can show */
    }
    unlock_clock(clock, false); /* it may be quiet already */
    return busy ? HORA_EBUSY : wait_until_quiet(clock, &waiter);
}
