/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_interrupt.c - an interrupt reaches its thread at any moment, once, and has no other effect */
#include <poll.h>

#include "harness.h"

static void sleep_long(void *arg)
{
    CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
    *(int *)arg = 1;
}

/* Before, at the beginning of or during a sleep: it ends at once with HORA_EINTERRUPTED and a clear flag. */
SCENARIO(interrupt_ends_sleep)
{
    int done = 0;
    hora_ns start = hora_clock_now(NULL);
    test_thread *sleeper = test_thread_start(NULL, sleep_long, &done);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(sleeper)));
    test_thread_join(sleeper);
    CHECK_INT(done, 1);
    if (test_is_exact())
        CHECK_INT(hora_clock_now(NULL), start);
}

/* A sleep that no thread interrupts lasts exactly as long as requested. */
SCENARIO(sleep_keeps_its_time)
{
    hora_ns start = hora_clock_now(NULL);
    CHECK_OK(hora_sleep(1000));
    hora_ns slept = hora_clock_now(NULL) - start;
    CHECK(slept >= 1000);
    if (test_is_exact())
        CHECK_INT(slept, 1000);
}

static void end_at_once(void *arg)
{
    (void)arg;
}

/* A thread may end while it is being interrupted; its handle then shows no flag. */
SCENARIO(interrupt_meets_end_of_thread)
{
    test_thread *thread = test_thread_start(NULL, end_at_once, NULL);
    hora_thread *handle = hora_thread_ref(test_thread_handle(thread));
    CHECK_OK(hora_thread_interrupt(handle));
    test_thread_join(thread);
    CHECK(!hora_thread_is_interrupted(handle));
    CHECK_OK(hora_thread_interrupt(handle));
    CHECK(!hora_thread_is_interrupted(handle));
    (void)hora_thread_unref(handle);
}

static bool readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static void interrupt(void *thread)
{
    CHECK_OK(hora_thread_interrupt(thread));
}

/* However setting and clearing interleave, the descriptor shows what the flag shows once all is quiet. */
SCENARIO(interrupt_descriptor_shows_flag)
{
    hora_thread *self;
    CHECK_OK(hora_thread_self(&self));
    int fd = hora_interrupt_fd();
    CHECK(fd >= 0);
    test_thread *other = test_thread_start(NULL, interrupt, self);
    bool seen = hora_interrupted();
    test_thread_join(other);
    CHECK_INT(readable(fd), !seen);
    CHECK_INT(hora_thread_is_interrupted(self), !seen);
    CHECK_INT(hora_interrupted(), !seen);
    CHECK(!readable(fd));
    (void)hora_thread_unref(self);
}
