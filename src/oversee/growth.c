/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - threads that come and go with the load
 *
 * How it works      Whoever queues a task sees to it that the watch looks at the pool, half a grow_after later and again after each half, until it
 *                   finds the queue empty: a pool in which nothing waits is left alone. Each look notes how many tasks had been
 *                   accepted by then. If more tasks are queued than have been accepted since a look that lies a grow_after back, one of
 *                   them has waited since before that look, in whatever order they leave the queue: so nothing has to be noted of a task.
 *                   Then, if nobody is idle and one of the workers has used less than half of the time since the last look, another worker
 *                   is started. Workers leave by the rules of get_task.c.
 * Falling asleep    Who queues first puts the task in, and then looks whether the watch is awake; the watch first says that it is not, and then looks
 *                   at the queue: one of the two sees the other.
 * Invariants        I1 if a task is queued, a look is set, or one is going on, or whoever queued it is about to set one; unless the watch could not be
 *                      started.
 *                   I2 at most one worker is started in a look.
 * Locks             None: `awake` is atomic, the notes are the watch's own while it is awake, and whoever wakes it writes the first one before. */
#include "oversee/growth.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/reason.h"
#include "oversee/events.h"
#include "oversee/watch.h"
#include "sync/clock.h"
#include "sys/alloc.h"

enum { NOTES = 4 };                   /* more than the looks in a grow_after */
static const hora_ns SHORTEST_MS = 1; /* between two looks */

static const char GROWN[] = "a task has waited for longer than grow_after, and threads are blocked";
static const char SHRUNK[] = "a thread was idle for keep_alive";

/* At a time so many tasks had been accepted. */
struct note {
    hora_ns at;
    int64_t accepted;
};

struct hora__growth {
    struct hora__reminder reminder; /* first: they begin at the same address */
    struct hora__oversight *oversight;
    hora_ns every;            /* immutable */
    hora__atomic awake;       /* 1: the watch looks, or is about to be told to */
    struct note notes[NOTES]; /* the latest first */
    int note_count;
};

static_assert(offsetof(struct hora__growth, reminder) == 0, "one address for both");

int hora__growth_check(const hora_pool_options *options, hora_error *reason)
{
    if (options->grow_after == 0)
        return 0;
    if (options->queue != NULL || options->queue_capacity < 0)
        return hora__refuse(reason, HORA_EINVAL, "grow_after",
                            "grow_after needs a plain pool with a queue of its own that has room");
    if (options->max_threads <= options->core_threads)
        return hora__refuse(reason, HORA_EINVAL, "grow_after",
                            "grow_after has no effect: max_threads, %d, is not greater than core_threads, %d",
                            options->max_threads, options->core_threads);
    return 0;
}

/* ---- has anything waited for too long? ---- */

static void note_now(struct hora__growth *growth, hora_ns now)
{
    for (int i = NOTES - 1; i > 0; i--)
        growth->notes[i] = growth->notes[i - 1];
    growth->notes[0] = (struct note){now, hora__pool_accepted(growth->oversight->pool)};
    if (growth->note_count < NOTES)
        growth->note_count++;
}

static bool waits_too_long(const struct hora__growth *growth, int queued, hora_ns now)
{
    const hora_pool *pool = growth->oversight->pool;
    hora_ns bound = growth->oversight->options.grow_after;
    int64_t accepted =
        hora__pool_accepted(pool); /* after the queue was looked at: so rather too many have come since */
    for (int i = 0; i < growth->note_count; i++)
        if (hora__ns_sub(now, growth->notes[i].at) >= bound)
            return queued > accepted - growth->notes[i].accepted || HORA__FAULT(GROWTH_TAKES_ANY_WAIT);
    return false;
}

/* ---- is anybody blocked? ---- */

struct view {
    bool has_idle;
    bool has_blocked;
};

/* What a worker has done since the last look. */
static void look_at(struct hora__worker *worker, hora_ns passed, struct view *view)
{
    struct hora__post *post = hora__post_of(worker->witness);
    if (worker->thread == NULL) {
        view->has_idle = true; /* about to begin */
        return;
    }
    hora_ns used = hora__os_thread_used(worker->os_thread);
    hora_ns before = post->used;
    post->used = used;
    view->has_idle |= !hora__worker_is_active(worker);
    view->has_blocked |= post->is_seen && (used < 0 || used - before < passed / 2);
    post->is_seen = true;
}

static struct view look_at_workers(const struct hora__growth *growth, hora_ns passed)
{
    hora_pool *pool = growth->oversight->pool;
    struct view view = {false, false};
    hora__mutex_lock(&pool->object.lock);
    for (struct hora__list *link = pool->workers.next; link != &pool->workers; link = link->next)
        look_at(HORA__LIST_ENTRY(link, struct hora__worker, link), passed, &view);
    hora__mutex_unlock(&pool->object.lock);
    return view;
}

/* ---- looking ---- */

static void grow(struct hora__growth *growth)
{
    hora_pool *pool = growth->oversight->pool;
    int before = hora__count_of(hora__atomic_load(&pool->control));
    if (before >= hora__atomic_load(&pool->max_threads) || hora__worker_add(pool, NULL, false) < 0)
        return;
    hora__events_resized(growth->oversight, before, before + 1, GROWN);
}

static bool fall_asleep(struct hora__growth *growth)
{
    hora_pool *pool = growth->oversight->pool;
    growth->note_count = 0;
    hora__atomic_store(&growth->awake, 0);
    if (hora__pool_queue_is_empty(pool) || HORA__FAULT(GROWTH_SLEEPS_TOO_SOON))
        return true;
    return !hora__atomic_cas(&growth->awake, 0, 1); /* else somebody else has set it */
}

/* With no lock held, in the thread of the watch. */
static void look(struct hora__deed *deed)
{
    struct hora__growth *growth = (struct hora__growth *)(void *)deed->reminder;
    hora_pool *pool = growth->oversight->pool;
    hora_ns passed = growth->note_count > 0 ? hora__ns_sub(deed->now, growth->notes[0].at) : growth->every;
    int queued = hora__queue_count(pool->queue);
    if (queued <= 0 && fall_asleep(growth))
        return;
    bool is_late = queued > 0 && waits_too_long(growth, queued, deed->now);
    struct view view = look_at_workers(growth, passed);
    if (is_late && !view.has_idle && (view.has_blocked || HORA__FAULT(GROWTH_MINDS_NO_COMPUTING)))
        grow(growth);
    note_now(growth, deed->now);
    (void)hora__watch_set(growth->oversight->watch, &growth->reminder, hora__ns_add(deed->now, growth->every));
}

static hora_ns look_later(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed)
{
    (void)now;
    deed->reminder = reminder;
    deed->act = look;
    return HORA_FOREVER; /* set again by the deed */
}

void hora__growth_queued(struct hora__overseer *overseer)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    struct hora__growth *growth = oversight->growth;
    if (growth == NULL || hora__atomic_load(&growth->awake) != 0 || !hora__atomic_cas(&growth->awake, 0, 1))
        return;
    if (hora__watch_begin(oversight->watch) < 0) {
        hora__atomic_store(&growth->awake, 0); /* the next one tries again */
        return;
    }
    hora_ns now = hora_clock_now(oversight->pool->object.clock);
    note_now(growth, now);
    (void)hora__watch_set(oversight->watch, &growth->reminder, hora__ns_add(now, growth->every));
}

void hora__growth_left(struct hora__overseer *overseer, int threads)
{
    struct hora__oversight *oversight = hora__oversight_of(overseer);
    if (oversight->growth != NULL)
        hora__events_resized(oversight, threads + 1, threads, SHRUNK);
}

/* ---- beginning and end ---- */

int hora__growth_new(struct hora__oversight *oversight, struct hora__growth **ret_growth)
{
    *ret_growth = NULL;
    hora_ns bound = oversight->options.grow_after;
    if (bound == 0)
        return 0;
    struct hora__growth *growth = hora__alloc(1, sizeof *growth);
    int error = growth == NULL ? HORA_ENOMEM : hora__watch_keep(oversight->watch, 1);
    if (error < 0) {
        hora__free(growth);
        return error;
    }
    hora__reminder_init(&growth->reminder, look_later, NULL);
    hora__atomic_init(&growth->awake, 0);
    growth->oversight = oversight;
    growth->every = hora__ns_max(bound / 2, HORA_MS(SHORTEST_MS));
    *ret_growth = growth;
    return 0;
}

void hora__growth_free(struct hora__growth *growth)
{
    if (growth == NULL)
        return;
    hora__watch_give_back(growth->oversight->watch, 1);
    hora__free(growth);
}
