/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_watchdog.c - waits that notice a set clock: no step is missed, and only watchers wake up */
#include "harness.h"
#include "simulator/sim.h"
#include "sync/clock.h"
#include "sync/object.h"
#include "sync/thread.h"
#include "sync/wait.h"

enum { AHEAD = 1000 };

static hora_virtual_clock *vclock;
static const hora_clock *machine;

/* One wait of a thread. */
static struct wait {
    struct hora__object object; /* on the clock that it waits for */
    hora_ns until;
    bool watches;
    struct hora__clock_offsets seen;
    enum hora__wake wake;
    bool over;
} waits[2];

/* The object is part of a wait. */
static void destroy(struct hora__object *object)
{
    (void)object;
}

static void wait_once(void *arg)
{
    struct wait *wait = arg;
    hora_thread *thread;
    struct hora__list list;
    struct hora__waiter waiter;
    struct hora__wakes wakes;
    CHECK_OK(hora__thread_current(&thread));
    hora__list_init(&list);
    hora__wakes_init(&wakes);
    hora__mutex_lock(&wait->object.lock);
    hora__waiter_init(&waiter, &list, thread, wait->until);
    wait->wake = hora__object_sleep_locked(&wait->object, &waiter, HORA_NEVER, wait->until,
                                           wait->watches ? &wait->seen : NULL, &wakes);
    hora__list_remove(&waiter.link);
    hora__mutex_unlock(&wait->object.lock);
    hora__object_leave(&wait->object);
    if (wait->wake == HORA__WAKE_INTERRUPTED)
        (void)hora__thread_take_interrupt(thread);
    wait->over = true;
}

/* Prepares a wait, which watches from now on, not only once the thread gets there. Returns false if there is
 * no memory for it, in a sweep. */
static bool prepare(int i, const hora_clock *clock, hora_ns until, bool watches)
{
    waits[i] = (struct wait){.until = until, .watches = watches};
    waits[i].seen = hora__clock_read_offsets(clock);
    return hora__object_init(&waits[i].object, clock, destroy) == 0;
}

/* Begins a wait. Returns NULL if there is no memory for it, in a sweep. */
static test_thread *begin(int i, const hora_clock *clock, hora_ns until, bool watches)
{
    if (!prepare(i, clock, until, watches))
        return NULL;
    test_thread *thread = test_thread_start(clock->source, wait_once, &waits[i]);
    if (thread == NULL)
        hora__object_leave(&waits[i].object);
    return thread;
}

/* A step before, while or after the thread goes to sleep ends its wait. */
SCENARIO(watch_sees_a_virtual_step)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *thread = begin(0, hora_virtual_clock_view(vclock, HORA_CLOCK_MONOTONIC), HORA_FOREVER, true);
    CHECK_OK(hora_virtual_clock_step_wall(vclock, -1));
    test_thread_join(thread);
    CHECK_INT(waits[0].wake, HORA__WAKE_CLOCK);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* A suspend wakes a thread that watches, on whichever timeline it waits, and with a deadline, too. A thread
 * that does not watch sleeps on. */
SCENARIO(watch_is_woken_alone)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    const hora_clock *clock = hora_virtual_clock_view(vclock, HORA_CLOCK_BOOTTIME);
    test_thread *threads[] = {begin(0, clock, AHEAD, true), begin(1, clock, AHEAD, false)};
    CHECK_OK(hora_virtual_clock_settle(vclock));
    uint64_t before = test_wakeups();
    CHECK_OK(hora_virtual_clock_suspend(vclock, 1));
    test_thread_join(threads[0]);
    CHECK_INT(waits[0].wake, HORA__WAKE_CLOCK);
    if (test_is_exact())
        CHECK(test_wakeups() - before <= 1);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK(!waits[1].over);
    CHECK_OK(hora_virtual_clock_advance(vclock, AHEAD - 1));
    test_thread_join(threads[1]);
    CHECK_INT(waits[1].wake, HORA__WAKE_TIME);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* The passing of time is not a step. A step that is taken back need not be noticed, and must not end the wait
 * for good. */
SCENARIO(watch_lets_time_pass)
{
    CHECK_OK(hora_virtual_clock_new(NULL, &vclock, NULL));
    test_thread *thread = begin(0, hora_virtual_clock_view(vclock, HORA_CLOCK_WALL), AHEAD, true);
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_OK(hora_virtual_clock_advance(vclock, AHEAD - 1));
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK(!waits[0].over);
    CHECK_OK(hora_virtual_clock_step_wall(vclock, -5));
    CHECK_OK(hora_virtual_clock_step_wall(vclock, 5));
    CHECK_OK(hora_virtual_clock_settle(vclock));
    CHECK_OK(hora_virtual_clock_advance(vclock, 1));
    test_thread_join(thread);
    CHECK(waits[0].wake == HORA__WAKE_TIME || waits[0].wake == HORA__WAKE_CLOCK);
    CHECK_OK(hora_virtual_clock_free(vclock));
}

/* The same on the machine's clocks. */
SCENARIO(watch_sees_the_machine_set)
{
    machine = hora_clock_system(HORA_CLOCK_MONOTONIC);
    test_thread *thread = begin(0, machine, HORA_FOREVER, true);
    hora__sim_step_wall(-HORA_SECONDS(2));
    test_thread_join(thread);
    CHECK_INT(waits[0].wake, HORA__WAKE_CLOCK);
}

SCENARIO(watch_sees_the_machine_suspended)
{
    machine = hora_clock_system(HORA_CLOCK_WALL);
    test_thread *thread = begin(0, machine, hora_clock_now(machine) + HORA_HOURS(5), true);
    hora__sim_suspend(HORA_HOURS(1));
    test_thread_join(thread);
    CHECK(waits[0].wake == HORA__WAKE_CLOCK || !test_is_exact());
}

/* A step too small to matter is none; it does not end the watch either. */
SCENARIO(watch_overlooks_a_small_step)
{
    machine = hora_clock_system(HORA_CLOCK_MONOTONIC);
    test_thread *thread = begin(0, machine, HORA_FOREVER, true);
    hora__sim_step_wall(HORA__CLOCK_TOLERANCE);
    hora__sim_step_wall(1);
    test_thread_join(thread);
    CHECK_INT(waits[0].wake, HORA__WAKE_CLOCK);
}

/* Interrupts end a wait that watches as they do any other. */
SCENARIO(watch_can_be_interrupted)
{
    machine = hora_clock_system(HORA_CLOCK_BOOTTIME);
    test_thread *thread = begin(0, machine, HORA_FOREVER, true);
    hora__sim_step_wall(HORA_US(1));
    CHECK_OK(hora_thread_interrupt(test_thread_handle(thread)));
    test_thread_join(thread);
    if (test_is_exact())
        CHECK_INT(waits[0].wake, HORA__WAKE_INTERRUPTED);
}

/* Watching costs nothing: there is one sleep until the deadline, on every timeline. Without descriptors there
 * is one per second. */
SCENARIO(watch_sleeps_until_its_time)
{
    for (int timeline = 0; timeline < 3; timeline++) {
        machine = hora__clock_line(machine, (enum hora__timeline)timeline);
        CHECK_INT(hora_clock_get_id(machine), timeline + 1);
        hora_ns deadline = hora_clock_now(machine) + HORA_SECONDS(3);
        uint64_t before = test_wakeups();
        CHECK(prepare(0, machine, deadline, true));
        wait_once(&waits[0]);
        if (!test_is_exact())
            continue;
        CHECK_INT(waits[0].wake, HORA__WAKE_TIME);
        CHECK_INT(hora_clock_now(machine), deadline);
#ifdef HORA_PARKER_COND
        CHECK_INT(test_wakeups() - before, 3);
#else
        CHECK_INT(test_wakeups() - before, 1);
#endif
    }
}

/* Whatever descriptor is not to be had: never early, not late, and a step is seen within a second. */
SWEEP(watch_manages_without_descriptors)
{
    machine = hora_clock_system(HORA_CLOCK_BOOTTIME);
    hora_ns deadline = hora_clock_now(machine) + HORA_SECONDS(3);
    test_thread *thread = begin(0, machine, deadline, true);
    if (thread == NULL)
        return;
    test_thread_join(thread);
    CHECK(waits[0].wake != HORA__WAKE_TIME || hora_clock_now(machine) >= deadline);
    CHECK(waits[0].wake == HORA__WAKE_TIME || !test_is_exact());
    thread = begin(0, machine, HORA_FOREVER, true);
    if (thread == NULL)
        return;
    hora_ns before = hora_clock_now(hora__clock_line(machine, HORA__MONOTONIC));
    hora__sim_suspend(HORA_SECONDS(2));
    test_thread_join(thread);
    CHECK_INT(waits[0].wake, HORA__WAKE_CLOCK);
    if (test_is_exact())
        CHECK(hora_clock_now(hora__clock_line(machine, HORA__MONOTONIC)) - before <= HORA_SECONDS(1));
}
