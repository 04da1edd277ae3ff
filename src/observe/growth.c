/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - more workers when tasks wait and the existing workers are blocked
 *
 * How it works      A thread that queues a task makes the watchdog check the pool, half a grow_after later
 *                   and again after each half, until a check finds the queue empty. A pool in which no task
 *                   waits is not checked. Each check notes how many tasks have been accepted. If more tasks
 *                   are queued than were accepted since a check at least one grow_after ago, one of them
 *                   has waited since before that check, whatever the order of the queue. So nothing needs
 *                   to be noted per task. If then no worker is idle, and a worker has used the processor
 *                   for less than half of the time since the last check, that worker is blocked, and growth
 *                   starts another one. CPU-bound workers do not trigger growth. The pool shrinks by the
 *                   rules of get_task.c.
 * Falling asleep    A submitter first queues the task and then reads `awake`. The watchdog first clears
 *                   `awake` and then reads the queue. So at least one of the two sees the other.
 * Invariants        I1 if a task is queued, the check is set, or is being made, or the submitter is about
 *                   to set it; unless the watchdog could not be started.
 *                   I2 a check starts at most one worker.
 * Locks             None: `awake` is atomic. Only the watchdog uses the notes while `awake` is set, except
 *                   that the thread that sets `awake` writes the first note before it sets the check. */
#include "observe/observer.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/reason.h"
#include "observe/watchdog.h"
#include "sync/clock.h"
#include "sys/alloc.h"

enum { NOTES = 4 };                   /* more than the checks within a grow_after */
static const hora_ns SHORTEST_MS = 1; /* shortest time between two checks */

static const char GROWN[] = "a task has waited for longer than grow_after, and threads are blocked";
static const char SHRUNK[] = "a thread was idle for keep_alive";

/* The number of tasks that had been accepted at a time. */
struct note {
    hora_ns at;       /* on the pool's clock */
    int64_t accepted; /* hora__pool_accepted() then */
};

struct hora__growth {
    struct hora__watchdog_check check;         /* first, so that both have the same address */
    struct hora__pool_observer *pool_observer; /* immutable */
    hora_ns every;                             /* time between two checks; immutable */
    /* 1: the watchdog checks the pool regularly, or a submitter is about to set the check. */
    hora__atomic awake;
    struct note notes[NOTES]; /* the latest first; see Locks above */
    int note_count;           /* how many of them are valid */
};

static_assert(offsetof(struct hora__growth, check) == 0, "one address for both");

/* Refuses grow_after for a scheduler, for a pool with a queue of the user or one that holds nothing, and
 * where max_threads leaves no room to grow. */
int hora__growth_check(const hora_pool_options *options, hora_error *reason)
{
    if (options->grow_after == 0)
        return 0;
    if (options->queue != NULL || options->queue_capacity < 0)
        return hora__refuse(reason, HORA_EINVAL, "grow_after",
                            "grow_after needs a plain pool with its own queue and a queue_capacity that is "
                            "not negative");
    if (options->max_threads <= options->core_threads)
        return hora__refuse(reason, HORA_EINVAL, "grow_after",
                            "grow_after has no effect: max_threads, %d, is not greater than core_threads, %d",
                            options->max_threads, options->core_threads);
    return 0;
}

/* ---- has a task waited for too long? ---- */

/* Adds a note in front of the others and drops the oldest. */
static void note_now(struct hora__growth *growth, hora_ns now)
{
    assert(growth->note_count >= 0 && growth->note_count <= NOTES);
    for (int i = NOTES - 1; i > 0; i--)
        growth->notes[i] = growth->notes[i - 1];
    growth->notes[0] = (struct note){now, hora__pool_accepted(growth->pool_observer->pool)};
    if (growth->note_count < NOTES)
        growth->note_count++;
}

/* Returns whether a queued task has waited for at least grow_after. `queued` was read before this call. The
 * count of accepted tasks is read after it: if it includes tasks that came in between, the answer is rather
 * no. */
static bool waits_too_long(const struct hora__growth *growth, int queued, hora_ns now)
{
    assert(queued > 0);
    const hora_pool *pool = growth->pool_observer->pool;
    hora_ns bound = growth->pool_observer->options.grow_after;
    int64_t accepted = hora__pool_accepted(pool);
    for (int i = 0; i < growth->note_count; i++)
        if (hora__ns_sub(now, growth->notes[i].at) >= bound)
            return queued > accepted - growth->notes[i].accepted || HORA__FAULT(GROWTH_IGNORES_WAITING_TIME);
    return false;
}

/* ---- is a worker blocked? ---- */

/* The state of a pool's workers. */
struct view {
    bool has_idle;    /* a worker runs no task, or is about to begin */
    bool has_blocked; /* a worker has used less than half of the time since the last check */
};

/* Adds a worker to the view. `passed` is the time since the last check. A worker that was not there at the
 * last check does not count as blocked; one whose processor time is unknown does. The caller holds the
 * pool's lock. */
static void look_at(struct hora__worker *worker, hora_ns passed, struct view *view)
{
    assert(passed >= 0);
    struct hora__worker_record *record = hora__worker_record_of(worker->worker_observer);
    if (worker->thread == NULL) {
        view->has_idle = true; /* its thread has been started, but has not begun yet */
        return;
    }
    hora_ns used = hora__os_thread_used(worker->os_thread);
    hora_ns before = record->used;
    record->used = used;
    view->has_idle |= !hora__worker_is_active(worker);
    view->has_blocked |= record->is_seen && (used < 0 || used - before < passed / 2);
    record->is_seen = true;
}

/* Returns whether a worker is idle, and whether one is blocked. Takes the pool's lock. */
static struct view look_at_workers(const struct hora__growth *growth, hora_ns passed)
{
    hora_pool *pool = growth->pool_observer->pool;
    struct view view = {false, false};
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next)
        look_at(HORA__LIST_ENTRY(link, struct hora__worker, link), passed, &view);
    hora__mutex_unlock(&pool->object.lock);
    return view;
}

/* ---- looking ---- */

/* Starts a worker and reports that, unless the pool has max_threads. */
static void grow(struct hora__growth *growth)
{
    assert(growth->pool_observer->pool != NULL);
    hora_pool *pool = growth->pool_observer->pool;
    int before = hora__count_of(hora__atomic_load(&pool->control));
    if (before >= hora__atomic_load(&pool->max_threads) || hora__worker_add(pool, NULL, false) < 0)
        return;
    hora__events_resized(growth->pool_observer, before, before + 1, GROWN);
}

/* Stops the checks, since the queue was empty. Returns false if a task has been queued in the meantime and
 * the watchdog must continue. If a submitter has already set `awake` again, it also sets the check, and the
 * watchdog may stop. */
static bool fall_asleep(struct hora__growth *growth)
{
    hora_pool *pool = growth->pool_observer->pool;
    growth->note_count = 0;
    hora__atomic_store(&growth->awake, 0);
    if (hora__pool_queue_is_empty(pool) || HORA__FAULT(GROWTH_SLEEPS_TOO_SOON))
        return true;
    return !hora__atomic_cas(&growth->awake, 0, 1);
}

/* The action of the check: starts a worker if one is needed, and sets the check again. Runs in the watchdog's
 * thread, with no lock held. */
static void look(struct hora__watchdog_action *action)
{
    struct hora__growth *growth = (struct hora__growth *)(void *)action->check;
    hora_pool *pool = growth->pool_observer->pool;
    hora_ns passed = growth->note_count > 0 ? hora__ns_sub(action->now, growth->notes[0].at) : growth->every;
    int queued = hora__queue_count(pool->queue);
    if (queued <= 0 && fall_asleep(growth))
        return;
    bool is_late = queued > 0 && waits_too_long(growth, queued, action->now);
    struct view view = look_at_workers(growth, passed);
    if (is_late && !view.has_idle && (view.has_blocked || HORA__FAULT(GROWTH_IGNORES_COMPUTING)))
        grow(growth);
    note_now(growth, action->now);
    (void)hora__watchdog_set(growth->pool_observer->watchdog, &growth->check,
                             hora__ns_add(action->now, growth->every));
}

/* The check: leaves everything to the action, because that takes the pool's lock and may start a thread. */
static hora_ns look_later(struct hora__watchdog_check *check, hora_ns now,
                          struct hora__watchdog_action *action)
{
    (void)now;
    action->check = check;
    action->act = look;
    return HORA_FOREVER; /* the action sets it again */
}

/* Called for each task that is queued. Reads `awake` before it tries to set it, so that submitters do not
 * write to the same cache line while the watchdog is awake. Only the thread that sets it goes on. */
void hora__growth_queued(struct hora__observer *observer)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    struct hora__growth *growth = pool_observer->growth;
    if (growth == NULL || hora__atomic_load(&growth->awake) != 0 || !hora__atomic_cas(&growth->awake, 0, 1))
        return;
    if (hora__watchdog_start(pool_observer->watchdog) < 0) {
        hora__atomic_store(&growth->awake, 0); /* the next submitter tries again */
        return;
    }
    hora_ns now = hora_clock_now(pool_observer->pool->object.clock);
    note_now(growth, now);
    (void)hora__watchdog_set(pool_observer->watchdog, &growth->check, hora__ns_add(now, growth->every));
}

void hora__growth_left(struct hora__observer *observer, int threads)
{
    struct hora__pool_observer *pool_observer = hora__pool_observer_of(observer);
    if (pool_observer->growth != NULL)
        hora__events_resized(pool_observer, threads + 1, threads, SHRUNK);
}

/* ---- creation and end ---- */

/* The watchdog's thread is started by the first task that is queued. */
int hora__growth_new(struct hora__pool_observer *pool_observer, struct hora__growth **ret_growth)
{
    assert(pool_observer->watchdog != NULL);
    *ret_growth = NULL;
    hora_ns bound = pool_observer->options.grow_after;
    if (bound == 0)
        return 0;
    struct hora__growth *growth = hora__alloc(1, sizeof *growth);
    int error = growth == NULL ? HORA_ENOMEM : hora__watchdog_reserve(pool_observer->watchdog, 1);
    if (error < 0) {
        hora__free(growth);
        return error;
    }
    hora__watchdog_check_init(&growth->check, look_later, NULL);
    hora__atomic_init(&growth->awake, 0);
    growth->pool_observer = pool_observer;
    growth->every = hora__ns_max(bound / 2, HORA_MS(SHORTEST_MS));
    *ret_growth = growth;
    return 0;
}

void hora__growth_free(struct hora__growth *growth)
{
    if (growth == NULL)
        return;
    hora__watchdog_unreserve(growth->pool_observer->watchdog, 1);
    hora__free(growth);
}
