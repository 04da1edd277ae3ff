/* SPDX-License-Identifier: Apache-2.0 */
/* test_set_clock.c - threads that watch the clock of the machine notice that it is set
 *
 * The test sets the wall clock of this machine by one nanosecond forward and back, which needs the privilege
 * to do so. That is far below what matters to a waiter, so the waiter must go back to sleep; but the system
 * reports it like any other step. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "sync/clock.h"
#include "sync/object.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/parker.h"

#ifdef __linux__

#include <sys/timex.h>
#include <time.h>

enum { STEPS = 10, PATIENCE_MS = 20000 };

static bool may_set_clock(void)
{
    struct timex nothing = {.modes = ADJ_SETOFFSET | ADJ_NANO};
    return clock_adjtime(CLOCK_REALTIME, &nothing) >= 0;
}

/* Odd steps forth, even steps back. */
static void set_clock(int i)
{
    struct timex step = {.modes = ADJ_SETOFFSET | ADJ_NANO, .time = {0, 1}};
    if (i % 2 == 0)
        step.time = (struct timeval){-1, 999999999};
    CHECK(clock_adjtime(CLOCK_REALTIME, &step) >= 0);
}

static void skip_unless_allowed(void)
{
    if (may_set_clock())
        return;
    printf("SKIPPED: this process may not set the clock\n");
    exit(77);
}

static bool readable_within(int fd, int milliseconds)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, milliseconds) == 1;
}

TEST_REAL(watch_is_readable_once_the_clock_is_set, "")
{
    skip_unless_allowed();
    int fd = hora__watch_fd_new();
    CHECK(fd >= 0);
    for (int i = 1; i <= STEPS; i++) {
        CHECK(!readable_within(fd, 0));
        set_clock(i);
        CHECK(readable_within(fd, PATIENCE_MS));
        hora__watch_fd_renew(fd);
    }
    CHECK(!readable_within(fd, 10));
    hora__watch_fd_free(fd);
}

static hora__parker parker;
static atomic_int returns;
static atomic_bool enough;

static void count_returns(void *arg)
{
    (void)arg;
    while (!atomic_load(&enough)) {
        hora__park_watching(&parker, HORA__MONOTONIC, INT64_MAX);
        atomic_fetch_add(&returns, 1);
    }
}

static bool returned_more_than(int before)
{
    for (int i = 0; i < PATIENCE_MS && atomic_load(&returns) <= before; i++)
        CHECK_OK(hora_sleep(HORA_MS(1)));
    return atomic_load(&returns) > before;
}

/* Each step ends one sleep, and nothing else does; the first call only begins to watch. */
TEST_REAL(parker_returns_once_per_step, "")
{
    skip_unless_allowed();
    CHECK_OK(hora__parker_init(&parker));
    test_thread *thread = test_thread_start(NULL, count_returns, NULL);
    CHECK(returned_more_than(0));
    for (int i = 1; i <= STEPS; i++) {
        set_clock(i);
        CHECK(returned_more_than(i));
    }
    CHECK_OK(hora_sleep(HORA_SECONDS(1)));
#ifndef HORA_PARKER_COND
    CHECK_INT(atomic_load(&returns), STEPS + 1);
#endif
    atomic_store(&enough, true);
    hora__unpark(&parker);
    test_thread_join(thread);
    hora__parker_destroy(&parker);
}

/* The object lies on a stack. */
static void destroy(struct hora__object *object)
{
    (void)object;
}

static void watch_until_interrupted(void *arg)
{
    enum hora__wake *wake = arg;
    const hora_clock *clock = hora_clock_system(HORA_CLOCK_MONOTONIC);
    struct hora__clock_offsets seen = hora__clock_read_offsets(clock);
    hora_thread *thread;
    struct hora__object object;
    struct hora__list list;
    struct hora__waiter waiter;
    struct hora__wakes wakes;
    CHECK_OK(hora__thread_current(&thread));
    CHECK_OK(hora__object_init(&object, clock, destroy));
    hora__list_init(&list);
    hora__wakes_init(&wakes);
    hora__mutex_lock(&object.lock);
    hora__waiter_init(&waiter, &list, thread, HORA_FOREVER);
    *wake = hora__object_sleep_locked(&object, &waiter, HORA_NEVER, HORA_FOREVER, &seen, &wakes);
    hora__list_remove(&waiter.link);
    hora__mutex_unlock(&object.lock);
    hora__object_leave(&object);
    (void)hora__thread_take_interrupt(thread);
}

/* So small a step does not reach the waiter. */
TEST_REAL(waiter_sleeps_on_after_a_small_step, "")
{
    skip_unless_allowed();
    enum hora__wake wake = HORA__WAKE_RESOLVED;
    test_thread *thread = test_thread_start(NULL, watch_until_interrupted, &wake);
    for (int i = 1; i <= STEPS; i++) {
        set_clock(i);
        CHECK_OK(hora_sleep(HORA_MS(20)));
    }
    CHECK_OK(hora_thread_interrupt(test_thread_handle(thread)));
    test_thread_join(thread);
    CHECK_INT(wake, HORA__WAKE_INTERRUPTED);
}

#else

TEST_REAL(clock_is_watched, "")
{
    printf("SKIPPED: this system does not tell when its clock is set\n");
    exit(77);
}

#endif
