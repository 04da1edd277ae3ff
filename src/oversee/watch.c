/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - a thread beside a pool that looks after time
 *
 * How it works      Reminders stand in a heap, by time. The thread sleeps until the first one is due; then it takes that out and calls
 *                   `look`, under the lock, so that who takes a reminder back under the same lock knows whether it was looked at. What
 *                   needs the lock to be free is a deed, and is done afterwards.
 * Memory            Who may set a reminder has been promised a slot of the heap before: so setting cannot fail.
 * The end           hora_pool_free closes it when the last worker is gone, and before the pool is: so deeds may use the pool.
 * Invariants        I1 slots promised + reminders set <= capacity: the heap asserts it.
 *                   I2 with the lock free, the thread does not sleep beyond the first reminder.
 *                   I3 after close nothing is set.
 * Locks             object.lock (rank OBJECT); that of a thread is taken under it, to interrupt. */
#include <hora/virtual_clock.h>

#include "oversee/watch.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sync/wait.h"
#include "sys/alloc.h"

static_assert(offsetof(struct hora__reminder, timer) == 0, "one address for both");

static void lock(struct hora__watch *watch)
{
    hora__mutex_lock(&watch->object.lock);
}

static void unlock(struct hora__watch *watch)
{
    hora__mutex_unlock(&watch->object.lock);
}

/* ---- beginning and end ---- */

static void destroy(struct hora__object *object)
{
    struct hora__watch *watch = HORA__LIST_ENTRY(object, struct hora__watch, object);
    hora__free(hora__timer_heap_move(&watch->reminders, NULL, 0));
    hora__free(watch);
}

int hora__watch_new(struct hora__oversight *oversight, struct hora__watch **ret_watch)
{
    struct hora__watch *watch = hora__alloc(1, sizeof *watch);
    if (watch == NULL)
        return HORA_ENOMEM;
    int error = hora__object_init_beside(&watch->object, &oversight->pool->object, destroy);
    if (error < 0) {
        hora__free(watch);
        return error;
    }
    watch->oversight = oversight;
    hora__atomic_init(&watch->thread_id, 0);
    watch->sleeps_until = HORA_NEVER;
    hora__list_init(&watch->sleepers);
    *ret_watch = watch;
    return 0;
}

void hora__watch_free(struct hora__watch *watch)
{
    if (watch != NULL)
        hora__object_leave(&watch->object);
}

bool hora__watch_is_me(struct hora__watch *watch)
{
    return watch != NULL && hora__atomic_load(&watch->thread_id) == hora__thread_id();
}

/* ---- reminders ---- */

void hora__reminder_init(struct hora__reminder *reminder,
                         hora_ns (*look)(struct hora__reminder *reminder, hora_ns now, struct hora__deed *deed),
                         void (*dropped)(struct hora__reminder *reminder))
{
    hora__timer_node_init(&reminder->timer);
    reminder->look = look;
    reminder->dropped = dropped;
}

int hora__watch_keep(struct hora__watch *watch, int reminders)
{
    int kept = 0;
    int error = 0;
    lock(watch);
    while (kept < reminders && (error = hora__timer_heap_make_room(&watch->reminders)) == 0) {
        hora__timer_heap_reserve(&watch->reminders, 1);
        kept++;
    }
    if (error < 0)
        hora__timer_heap_reserve(&watch->reminders, -kept);
    unlock(watch);
    return error;
}

void hora__watch_give_back(struct hora__watch *watch, int reminders)
{
    lock(watch);
    hora__timer_heap_reserve(&watch->reminders, -reminders);
    hora__timer_heap_save_room(&watch->reminders);
    unlock(watch);
}

/* Out of the heap, which keeps its slot. */
static void pull_locked(struct hora__watch *watch, struct hora__reminder *reminder)
{
    hora__timer_heap_remove(&watch->reminders, &reminder->timer);
    hora__timer_heap_reserve(&watch->reminders, 1);
}

bool hora__watch_unset_locked(struct hora__watch *watch, struct hora__reminder *reminder)
{
    assert(hora__mutex_held(&watch->object.lock));
    if (!hora__timer_heap_holds(&watch->reminders, &reminder->timer))
        return false;
    pull_locked(watch, reminder);
    return true;
}

bool hora__watch_set_locked(struct hora__watch *watch, struct hora__reminder *reminder, hora_ns at,
                            struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&watch->object.lock));
    if (watch->is_closed)
        return false; /* I3 */
    if (hora__timer_heap_holds(&watch->reminders, &reminder->timer)) {
        if (hora__timer_heap_due(&watch->reminders, &reminder->timer) <= at)
            return true;
        pull_locked(watch, reminder);
    }
    reminder->timer.sequence = watch->sequence++;
    hora__timer_heap_reserve(&watch->reminders, -1);
    hora__timer_heap_push(&watch->reminders, &reminder->timer, at);
    if (at < watch->sleeps_until && !HORA__FAULT(WATCH_SLEEPS_ON))
        hora__waiters_resolve_all(&watch->sleepers, 0, wakes); /* I2 */
    return true;
}

bool hora__watch_set(struct hora__watch *watch, struct hora__reminder *reminder, hora_ns at)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(watch);
    bool is_set = hora__watch_set_locked(watch, reminder, at, &wakes);
    unlock(watch);
    hora__wakes_flush(&wakes);
    return is_set;
}

bool hora__watch_unset(struct hora__watch *watch, struct hora__reminder *reminder)
{
    lock(watch);
    bool was_set = hora__watch_unset_locked(watch, reminder);
    unlock(watch);
    return was_set;
}

/* ---- the thread ---- */

static struct hora__reminder *first_locked(const struct hora__watch *watch, hora_ns *ret_due)
{
    struct hora__timer_node *timer = hora__timer_heap_first(&watch->reminders);
    *ret_due = timer != NULL ? hora__timer_heap_due(&watch->reminders, timer) : HORA_FOREVER;
    void *first = timer;
    return first; /* the timer is the first member of its reminder, and aligned as that is */
}

/* Look at a reminder whose time has come. */
static void look_locked(struct hora__watch *watch, struct hora__reminder *reminder, hora_ns now,
                        struct hora__deed *deed)
{
    struct hora__wakes wakes; /* nobody: the thread is awake */
    hora__wakes_init(&wakes);
    pull_locked(watch, reminder);
    hora_ns next = reminder->look(reminder, now, deed);
    if (next != HORA_FOREVER)
        (void)hora__watch_set_locked(watch, reminder, next, &wakes);
    assert(wakes.count == 0);
}

/* With the lock, returns without it. */
static void sleep_locked(struct hora__watch *watch, hora_ns until)
{
    watch->sleeps_until = until;
    int woken = hora__object_wait_locked(&watch->object, &watch->sleepers, hora__thread_existing(), until);
    (void)woken; /* whatever it was: look again */
    lock(watch);
    watch->sleeps_until = HORA_NEVER;
    unlock(watch);
}

static void work(void *arg)
{
    struct hora__watch *watch = arg;
    for (;;) {
        struct hora__deed deed = {.oversight = watch->oversight};
        hora_ns due;
        lock(watch);
        struct hora__reminder *first = first_locked(watch, &due);
        deed.now = hora_clock_now(watch->object.clock);
        if (watch->is_closed)
            break;
        if (first == NULL || due > deed.now) {
            sleep_locked(watch, due);
            continue;
        }
        look_locked(watch, first, deed.now, &deed);
        unlock(watch);
        if (deed.act != NULL)
            deed.act(&deed);
    }
    unlock(watch);
}

/* It has come to its end, or a function of the user has ended it; then nobody watches any more, but all else goes on. */
static void leave(void *arg)
{
    struct hora__watch *watch = arg;
    hora_virtual_clock *clock = watch->object.clock->source;
    if (watch->is_attached)
        (void)hora_virtual_clock_detach(clock);
    hora__thread_disown(hora__thread_existing());
}

static void begin(void *arg)
{
    struct hora__watch *watch = arg;
    lock(watch); /* whoever starts it has it until all is noted */
    (void)hora__thread_adopt(watch->prepared);
    unlock(watch);
    hora_virtual_clock *clock = watch->object.clock->source;
    if (clock != NULL)
        watch->is_attached = hora_virtual_clock_attach(clock) == 0;
    hora__atomic_store(&watch->thread_id, hora__thread_id());
    hora__os_thread_guard(work, leave, watch);
    leave(watch);
}

static void expect(const struct hora__watch *watch, int threads)
{
    hora_virtual_clock *clock = watch->object.clock->source;
    if (clock != NULL)
        (void)hora_virtual_clock_expect(clock, threads);
}

/* Whether it was this call that started it; else somebody else has, or it is an error. */
static int start_locked(struct hora__watch *watch, hora_thread *prepared)
{
    if (watch->has_thread || watch->is_closed)
        return 0;
    char name[48];
    (void)snprintf(name, sizeof name, "%swatch", watch->oversight->pool->name);
    watch->prepared = prepared;
    struct hora__thread_spec spec = {.run = begin, .arg = watch, .name = name};
    int error = hora__os_thread_start(&spec, &watch->os_thread);
    watch->has_thread = error == 0;
    return error < 0 ? error : 1;
}

static bool needs_thread(struct hora__watch *watch)
{
    lock(watch);
    bool needs = !watch->has_thread && !watch->is_closed;
    unlock(watch);
    return needs;
}

int hora__watch_begin(struct hora__watch *watch)
{
    hora_thread *prepared;
    int error = needs_thread(watch) ? hora__thread_prepare(&prepared) : 1;
    if (error != 0)
        return error < 0 ? error : 0;
    expect(watch, 1);
    lock(watch);
    int started = start_locked(watch, prepared);
    unlock(watch);
    if (started != 1) {
        (void)hora_thread_unref(prepared);
        expect(watch, -1);
    }
    return started < 0 ? started : 0;
}

/* ---- closing ---- */

static struct hora__reminder *pull_first(struct hora__watch *watch)
{
    hora_ns due;
    lock(watch);
    struct hora__reminder *first = first_locked(watch, &due);
    if (first != NULL)
        pull_locked(watch, first);
    unlock(watch);
    return first;
}

void hora__watch_close(struct hora__watch *watch)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    lock(watch);
    watch->is_closed = true;
    bool has_thread = watch->has_thread;
    watch->has_thread = false;
    hora__waiters_resolve_all(&watch->sleepers, 0, &wakes);
    unlock(watch);
    hora__wakes_flush(&wakes);
    if (has_thread)
        hora__os_thread_join(watch->os_thread);
    struct hora__reminder *reminder;
    while ((reminder = pull_first(watch)) != NULL)
        if (reminder->dropped != NULL)
            reminder->dropped(reminder);
}
