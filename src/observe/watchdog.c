/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.c - the watchdog thread
 *
 * How it works      Checks are in a heap, by time. The thread sleeps until the first one is due. Then it
 *                   removes the check and calls `look` under the lock, so that a thread that cancels a
 *                   check under the same lock knows whether `look` has been called. Work that needs the
 *                   lock to be free is an action, which the thread runs afterwards.
 * Memory            A check can be set only if a slot of the heap was reserved before, so setting cannot
 *                   fail.
 * End               hora_pool_free closes the watchdog after the last worker has ended and before it frees
 *                   the pool, so actions may use the pool.
 * Invariants        I1 reserved slots + set checks <= capacity; the heap asserts it.
 *                   I2 while the lock is free, the thread does not sleep beyond the first check.
 *                   I3 after close no check is set.
 * Locks             object.lock (rank OBJECT). The lock of a thread is taken under it, to interrupt. */
#include <hora/virtual_clock.h>

#include "observe/watchdog.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fault.h"
#include "observe/observer.h"
#include "sync/clock.h"
#include "sync/wait.h"
#include "sys/alloc.h"

static_assert(offsetof(struct hora__watchdog_check, timer) == 0, "one address for both");

static void lock(struct hora__watchdog *watchdog)
{
    hora__mutex_lock(&watchdog->object.lock);
}

static void unlock(struct hora__watchdog *watchdog)
{
    hora__mutex_unlock(&watchdog->object.lock);
}

/* ---- creation and end ---- */

/* Frees the array of the heap, which holds no checks any more, and the watchdog. */
static void destroy(struct hora__object *object)
{
    struct hora__watchdog *watchdog = HORA__LIST_ENTRY(object, struct hora__watchdog, object);
    hora__timer_heap_free(&watchdog->checks);
    hora__free(watchdog);
}

/* The pool is being made by the caller, so its clock and process have been checked. */
int hora__watchdog_new(struct hora__pool_observer *pool_observer, struct hora__watchdog **ret_watchdog)
{
    struct hora__watchdog *watchdog = hora__alloc(1, sizeof *watchdog);
    if (watchdog == NULL)
        return HORA_ENOMEM;
    int error = hora__object_init_beside(&watchdog->object, &pool_observer->pool->object, destroy);
    if (error < 0) {
        hora__free(watchdog);
        return error;
    }
    watchdog->pool_observer = pool_observer;
    hora__atomic_init(&watchdog->thread_id, 0);
    watchdog->sleeps_until = HORA_NEVER;
    hora__list_init(&watchdog->sleepers);
    *ret_watchdog = watchdog;
    return 0;
}

/* Releases the owner's reference. It is the last one, because close has joined the thread. */
void hora__watchdog_free(struct hora__watchdog *watchdog)
{
    if (watchdog == NULL)
        return;
    assert(watchdog->is_closed);
    hora__object_leave(&watchdog->object);
}

bool hora__watchdog_is_own_thread(struct hora__watchdog *watchdog)
{
    return watchdog != NULL && hora__atomic_load(&watchdog->thread_id) == hora__thread_id();
}

/* ---- checks ---- */

void hora__watchdog_check_init(struct hora__watchdog_check *check,
                               hora_ns (*look)(struct hora__watchdog_check *check, hora_ns now,
                                               struct hora__watchdog_action *action),
                               void (*dropped)(struct hora__watchdog_check *check))
{
    assert(look != NULL);
    hora__timer_node_init(&check->timer);
    check->look = look;
    check->dropped = dropped;
}

/* Reserves one slot at a time, since the heap makes room for one; on error gives back those it has. A heap
 * that cannot grow any more counts as a lack of memory: in src/exec, HORA_EFULL means that the queue is
 * full. */
int hora__watchdog_reserve(struct hora__watchdog *watchdog, int checks)
{
    assert(checks > 0);
    int kept = 0;
    int error = 0;
    lock(watchdog);
    while (kept < checks && (error = hora__timer_heap_make_room(&watchdog->checks)) == 0) {
        hora__timer_heap_reserve(&watchdog->checks, 1);
        kept++;
    }
    if (error < 0)
        hora__timer_heap_reserve(&watchdog->checks, -kept);
    unlock(watchdog);
    return error < 0 ? HORA_ENOMEM : 0;
}

void hora__watchdog_unreserve(struct hora__watchdog *watchdog, int checks)
{
    assert(checks >= 0);
    lock(watchdog);
    hora__timer_heap_reserve(&watchdog->checks, -checks);
    hora__timer_heap_save_room(&watchdog->checks);
    unlock(watchdog);
}

/* Removes a check that is set from the heap, and keeps its slot reserved, so that it can be set again. */
static void pull_locked(struct hora__watchdog *watchdog, struct hora__watchdog_check *check)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    hora__timer_heap_remove(&watchdog->checks, &check->timer);
    hora__timer_heap_reserve(&watchdog->checks, 1);
}

/* Removes a check if it is set. Returns whether it was. The caller holds the lock. */
static bool unset_locked(struct hora__watchdog *watchdog, struct hora__watchdog_check *check)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    if (!hora__timer_heap_holds(&watchdog->checks, &check->timer))
        return false;
    pull_locked(watchdog, check);
    return true;
}

/* Sets a check, or moves it if `at` is earlier than its time. Adds the watchdog's thread to *wakes if it
 * would sleep beyond `at` (I2). Returns false if the watchdog is closed. The caller holds the lock. */
static bool set_locked(struct hora__watchdog *watchdog, struct hora__watchdog_check *check, hora_ns at,
                       struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    if (watchdog->is_closed)
        return false; /* I3 */
    if (hora__timer_heap_holds(&watchdog->checks, &check->timer)) {
        if (hora__timer_heap_due(&watchdog->checks, &check->timer) <= at)
            return true;
        pull_locked(watchdog, check);
    }
    check->timer.sequence = watchdog->sequence++;
    hora__timer_heap_reserve(&watchdog->checks, -1);
    hora__timer_heap_push(&watchdog->checks, &check->timer, at);
    if (at < watchdog->sleeps_until && !HORA__FAULT(WATCHDOG_SLEEPS_ON))
        hora__waiters_resolve_all(&watchdog->sleepers, 0, wakes); /* I2 */
    return true;
}

/* Wakes the thread after the lock has been released, so that it does not run into it. */
bool hora__watchdog_set(struct hora__watchdog *watchdog, struct hora__watchdog_check *check, hora_ns at)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(watchdog);
    bool is_set = set_locked(watchdog, check, at, &wakes);
    unlock(watchdog);
    hora__wakes_flush(&wakes);
    return is_set;
}

void hora__watchdog_bring_forward(struct hora__watchdog *watchdog, struct hora__watchdog_check *check,
                                  hora_ns at)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(watchdog);
    if (hora__timer_heap_holds(&watchdog->checks, &check->timer))
        (void)set_locked(watchdog, check, at, &wakes);
    unlock(watchdog);
    hora__wakes_flush(&wakes);
}

bool hora__watchdog_unset(struct hora__watchdog *watchdog, struct hora__watchdog_check *check)
{
    lock(watchdog);
    bool was_set = unset_locked(watchdog, check);
    unlock(watchdog);
    return was_set;
}

/* ---- the thread ---- */

/* Returns the first check and stores its time; NULL and HORA_FOREVER if none is set. The caller holds the
 * lock. */
static struct hora__watchdog_check *first_locked(const struct hora__watchdog *watchdog, hora_ns *ret_due)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    struct hora__timer_node *timer = hora__timer_heap_first(&watchdog->checks);
    *ret_due = timer != NULL ? hora__timer_heap_due(&watchdog->checks, timer) : HORA_FOREVER;
    void *first = timer;
    return first; /* the timer is the first field of its check */
}

/* Calls `look` of a check whose time has come, and sets it again if `look` returns a time. The caller, which
 * is the watchdog's thread, holds the lock. */
static void look_locked(struct hora__watchdog *watchdog, struct hora__watchdog_check *check, hora_ns now,
                        struct hora__watchdog_action *action)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    struct hora__wakes wakes; /* stays empty, because the only thread to wake is this one */
    hora__wakes_init(&wakes);
    pull_locked(watchdog, check);
    hora_ns next = check->look(check, now, action);
    if (next != HORA_FOREVER)
        (void)set_locked(watchdog, check, next, &wakes);
    assert(wakes.count == 0);
}

/* Sleeps until `until`, an earlier check is set, or the watchdog is closed. The caller holds the lock; the
 * call releases it. It does not matter why the sleep ended, because the loop checks everything again. */
static void sleep_locked(struct hora__watchdog *watchdog, hora_ns until)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    watchdog->sleeps_until = until;
    int woken =
        hora__object_wait_locked(&watchdog->object, &watchdog->sleepers, hora__thread_existing(), until);
    (void)woken;
    lock(watchdog);
    watchdog->sleeps_until = HORA_NEVER;
    unlock(watchdog);
}

/* The loop of the thread: runs the checks that are due, one at a time, until the watchdog is closed. */
static void work(void *arg)
{
    struct hora__watchdog *watchdog = arg;
    for (;;) {
        struct hora__watchdog_action action = {.pool_observer = watchdog->pool_observer};
        hora_ns due;
        lock(watchdog);
        struct hora__watchdog_check *first = first_locked(watchdog, &due);
        action.now = hora_clock_now(watchdog->object.clock);
        if (watchdog->is_closed)
            break;
        if (first == NULL || due > action.now) {
            sleep_locked(watchdog, due);
            continue;
        }
        look_locked(watchdog, first, action.now, &action);
        unlock(watchdog);
        if (action.act != NULL)
            action.act(&action);
    }
    unlock(watchdog);
}

/* The last function of the thread: detaches it from the virtual clock and releases its record. Also called
 * if a function of the user has ended the thread. In that case nothing is checked any more, but the pool
 * still works. */
static void leave(void *arg)
{
    struct hora__watchdog *watchdog = arg;
    hora_virtual_clock *clock = watchdog->object.clock->source;
    if (watchdog->is_attached)
        (void)hora_virtual_clock_detach(clock);
    hora__thread_disown(hora__thread_existing());
}

/* The first function of the thread: adopts its record and attaches to the pool's virtual clock. */
static void begin(void *arg)
{
    struct hora__watchdog *watchdog = arg;
    lock(watchdog); /* waits until start_locked has stored os_thread and has_thread */
    (void)hora__thread_adopt(watchdog->prepared);
    unlock(watchdog);
    hora_virtual_clock *clock = watchdog->object.clock->source;
    if (clock != NULL)
        watchdog->is_attached = hora_virtual_clock_attach(clock) == 0;
    hora__atomic_store(&watchdog->thread_id, hora__thread_id());
    hora__os_thread_guard(work, leave, watchdog);
    leave(watchdog);
}

/* Announces threads to the pool's virtual clock, if it has one, so that the clock is not quiet before they
 * have attached; a negative number withdraws that. */
static void expect(const struct hora__watchdog *watchdog, int threads)
{
    hora_virtual_clock *clock = watchdog->object.clock->source;
    if (clock != NULL)
        (void)hora_virtual_clock_expect(clock, threads);
}

/* Starts the thread, which adopts `prepared`. Returns 1 if this call started it, 0 if another one did or the
 * watchdog is closed, or an error. The caller holds the lock. */
static int start_locked(struct hora__watchdog *watchdog, hora_thread *prepared)
{
    assert(hora__mutex_held(&watchdog->object.lock));
    if (watchdog->has_thread || watchdog->is_closed)
        return 0;
    char name[48];
    (void)snprintf(name, sizeof name, "%swatch", watchdog->pool_observer->pool->name);
    watchdog->prepared = prepared;
    struct hora__thread_spec spec = {.run = begin, .arg = watchdog, .name = name};
    int error = hora__os_thread_start(&spec, &watchdog->os_thread);
    watchdog->has_thread = error == 0;
    return error < 0 ? error : 1;
}

/* Returns whether the thread has yet to be started. Saves a caller the preparations in the common case. */
static bool needs_thread(struct hora__watchdog *watchdog)
{
    lock(watchdog);
    bool needs = !watchdog->has_thread && !watchdog->is_closed;
    unlock(watchdog);
    return needs;
}

/* Prepares the record and announces the thread without the lock. Two threads may do so at the same time; the
 * one that comes second undoes it. */
int hora__watchdog_start(struct hora__watchdog *watchdog)
{
    hora_thread *prepared;
    int error = needs_thread(watchdog) ? hora__thread_prepare(&prepared) : 1;
    if (error != 0)
        return error < 0 ? error : 0;
    expect(watchdog, 1);
    lock(watchdog);
    int started = start_locked(watchdog, prepared);
    unlock(watchdog);
    if (started != 1) {
        (void)hora_thread_unref(prepared);
        expect(watchdog, -1);
    }
    return started < 0 ? started : 0;
}

/* ---- closing ---- */

/* Removes the first check and returns it; NULL: none is set. */
static struct hora__watchdog_check *pull_first(struct hora__watchdog *watchdog)
{
    hora_ns due;
    lock(watchdog);
    struct hora__watchdog_check *first = first_locked(watchdog, &due);
    if (first != NULL)
        pull_locked(watchdog, first);
    unlock(watchdog);
    return first;
}

/* Calls `dropped` for the remaining checks one by one and with no lock held, because it may free the object
 * that contains the check. */
void hora__watchdog_close(struct hora__watchdog *watchdog)
{
    assert(!hora__watchdog_is_own_thread(watchdog)); /* it would wait for itself */
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(watchdog);
    watchdog->is_closed = true;
    bool has_thread = watchdog->has_thread;
    watchdog->has_thread = false;
    hora__waiters_resolve_all(&watchdog->sleepers, 0, &wakes);
    unlock(watchdog);
    hora__wakes_flush(&wakes);
    if (has_thread)
        hora__os_thread_join(watchdog->os_thread);
    struct hora__watchdog_check *check;
    while ((check = pull_first(watchdog)) != NULL)
        if (check->dropped != NULL)
            check->dropped(check);
}
