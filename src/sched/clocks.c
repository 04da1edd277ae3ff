/* SPDX-License-Identifier: Apache-2.0 */
/* clocks.c - the machine was suspended, or the wall clock was set
 *
 * Mechanism         The timer queue translates times of other timelines to the scheduler's own clock. The
 *                   translation holds as long as the offsets between the timelines do not change. The timer
 *                   queue stores the offsets that were last handled (`seen`). The leader compares them before
 *                   and after it sleeps, and sleeps in such a way that setting the clock wakes it. While the
 *                   offsets differ, and while the observer is being notified, no task can be taken. The first
 *                   worker that sees a difference handles it (hora__clocks_look).
 * Set forward       Tasks that have become due are taken like tasks that are late: the rule for missed runs
 *                   decides.
 * Set back          A series on the wall clock would not run until its old planned time comes again. So each
 *                   such series is made due at once, and its worker asks for the next time by the clock as it
 *                   is now. A series that a worker has at that moment does so when it is put back. A task
 *                   that runs once keeps its time. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_internal.h"
#include "sys/probe.h"
#include "sys/thread.h"

/* How far each timeline has moved by the change, beyond the time that has passed; and what that did. */
struct change {
    hora_queue *queue;
    hora_ns by[LINES];
    /* How many entries have become due because of the change. */
    int overdue;
};

/* Counts an entry that is due, and would not be without the change. */
static void count_overdue(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    struct change *change = arg;
    hora_ns now = hora__timer_queue_now(change->queue, hora__entry_line(change->queue, entry));
    hora_ns due = hora__timer_queue_due(change->queue, entry);
    if (due <= now && due > hora__ns_sub(now, change->by[hora__entry_line(change->queue, entry)]))
        change->overdue++;
}

/* Returns whether the planned time of an entry becomes stale for this reason, unless it already is for this
 * or a stronger one. */
static bool is_stale(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    const enum hora__staleness *staleness = arg;
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    if (scheduled == NULL || scheduled->series == NULL || scheduled->series->staleness >= *staleness)
        return false;
    return *staleness == HORA__SET_BACK ? hora__scheduled_follows_wall(scheduled)
                                        : hora__scheduled_follows_zone(scheduled);
}

/* All entries are found before the first is moved, since moving one changes the heap that is visited. */
void hora__clocks_mark_stale(hora_queue *queue, enum hora__staleness staleness)
{
    assert(staleness != HORA__NOT_STALE);
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__entries entries;
    hora__timer_queue_pick(queue, is_stale, &staleness, &entries);
    for (struct hora__entry *entry; (entry = hora__entries_next(&entries)) != NULL;) {
        const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
        scheduled->series->staleness = staleness;
        hora__timer_queue_move(queue, entry, hora__scheduled_due(scheduled));
    }
}

/* A change of the clocks, as the observer is notified of it. */
struct step {
    hora_ns suspended; /* how long the machine was suspended */
    hora_ns stepped;   /* how far the wall clock was set in addition; < 0: it was set back */
    int overdue;       /* how many tasks have become due because of the change */
};

/* Handles a change of the clocks, if there is one: stores the new offsets, counts tasks that have become due,
 * and marks times as stale if the wall clock was set back. The caller holds the lock. Returns whether there
 * was a change. */
static bool handle_change_locked(hora_queue *queue, struct step *ret_event)
{
    assert(timer_queue_of(queue)->base.watched != NULL);
    assert(hora__mutex_held(&queue->object.lock));
    if (!hora__clock_was_set(queue->object.clock, &timer_queue_of(queue)->seen))
        return false;
    struct hora__clock_offsets now = hora__clock_read_offsets(queue->object.clock);
    /* Boot time runs on while the machine is suspended. The wall clock does, too, and may have been set
     * besides. */
    hora_ns suspended = hora__ns_sub(now.boot, timer_queue_of(queue)->seen.boot);
    hora_ns stepped = hora__ns_sub(hora__ns_sub(now.wall, timer_queue_of(queue)->seen.wall), suspended);
    timer_queue_of(queue)->seen = now;
    hora__timer_queue_absorb(queue); /* entries in lanes may have become due, too */
    struct change change = {
        .queue = queue,
        .by = {[HORA__BOOTTIME] = suspended, [HORA__WALL] = hora__ns_add(suspended, stepped)}};
    for (int i = 0; i < LINES; i++)
        if (change.by[i] > 0)
            hora__timer_queue_each(queue, (enum hora__timeline)i, count_overdue, &change);
    if (stepped < 0) {
        timer_queue_of(queue)->set_backs++; /* tasks that a worker has find this when they are put back */
        if (!HORA__FAULT(CLOCK_SET_BACK_UNSEEN))
            hora__clocks_mark_stale(queue, HORA__SET_BACK);
    }
    *ret_event = (struct step){suspended, stepped, change.overdue};
    return true;
}

/* Handles a change of the clocks, if there is one. With has_hook, no task can be taken from then on until
 * end_notification is called. Returns whether there was a change of which the observer must be notified. */
static bool handle_change(hora_pool *pool, bool has_hook, struct step *ret_event)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_queue *queue = pool->queue;
    hora__mutex_lock(&queue->object.lock);
    bool parted = handle_change_locked(queue, ret_event);
    timer_queue_of(queue)->notifiers += parted && has_hook;
    if (parted)
        hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    if (parted)
        HORA__PROBE(clock_stepped, pool, ret_event->suspended, ret_event->stepped, ret_event->overdue);
    return parted && has_hook;
}

/* The observer has been notified. If no other worker notifies it of a later change, lets tasks be taken
 * again, and wakes a worker for them. */
static void end_notification(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    assert(timer_queue_of(queue)->notifiers > 0);
    timer_queue_of(queue)->notifiers--;
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

/* The arguments of `notify` and `notifier_ends`. */
struct notification {
    hora_pool *pool;
    struct step step;
};

/* Notifies the observer, without a lock, since that calls a listener of the user. */
static void notify(void *arg)
{
    const struct notification *notification = arg;
    struct hora__observer *observer = notification->pool->observer;
    assert(observer != NULL && observer->needs_clocks);
    const struct step *step = &notification->step;
    observer->kind->clock_stepped(observer, step->suspended, step->stepped, step->overdue);
}

/* Called if the listener has ended the thread. Without this, no task could ever be taken again. */
static void notifier_ends(void *arg)
{
    const struct notification *notification = arg;
    if (!HORA__FAULT(CLOCK_NOTIFIER_BLOCKS_ALL))
        end_notification(notification->pool->queue);
}

/* Called by a worker that was woken because the clocks have parted, with no lock held. */
void hora__clocks_look(hora_pool *pool)
{
    struct notification notification = {.pool = pool};
    if (!handle_change(pool, pool->observer != NULL && pool->observer->needs_clocks, &notification.step))
        return;
    hora__os_thread_guard(notify, notifier_ends, &notification);
    end_notification(pool->queue);
}

/* Once set, base.watched stays set for the life of the timer queue. */
void hora__clocks_watch(hora_pool *pool)
{
    assert(hora__scheduler_of(pool) != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora_queue *queue = pool->queue;
    hora__mutex_lock(&queue->object.lock);
    if (timer_queue_of(queue)->base.watched == NULL) {
        timer_queue_of(queue)->seen = hora__clock_read_offsets(queue->object.clock);
        timer_queue_of(queue)->base.watched = &timer_queue_of(queue)->seen;
        if (queue->leader != NULL && !HORA__FAULT(CLOCK_WATCH_UNSEEN))
            hora__waiter_nudge(queue->leader, &wakes); /* it sleeps without watching the clocks */
    }
    hora__queue_exit(queue, &wakes);
}
