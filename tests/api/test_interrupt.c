/* SPDX-License-Identifier: Apache-2.0 */
/* test_interrupt.c - thread handles, interrupts, and sleeping */
#include <fcntl.h>
#include <poll.h>

#include "support.h"

TEST(thread_self_is_the_same_in_one_thread, "")
{
    hora_thread *first = NULL, *second = NULL;

    CHECK_OK(hora_thread_self(&first));
    CHECK_OK(hora_thread_self(&second));
    CHECK(first != NULL);
    CHECK_POINTER(first, second);
    CHECK_POINTER(hora_thread_ref(first), first);
    CHECK_POINTER(hora_thread_unref(first), NULL);
    CHECK_POINTER(hora_thread_unref(first), NULL);
    CHECK_POINTER(hora_thread_unref(second), NULL);
}

static void get_self(void *ret)
{
    CHECK_OK(hora_thread_self(ret));
}

TEST(thread_self_differs_between_threads, "")
{
    hora_thread *mine = NULL, *other = NULL;
    test_thread *thread = test_thread_start(NULL, get_self, &other);

    test_thread_join(thread);
    CHECK_OK(hora_thread_self(&mine));
    CHECK(mine != other);
    hora_thread_unref(mine);
    hora_thread_unref(other);
}

TEST(thread_calls_allow_or_refuse_null, "")
{
    CHECK_ERROR(hora_thread_self(NULL), HORA_EINVAL);
    CHECK_ERROR(hora_thread_interrupt(NULL), HORA_EINVAL);
    CHECK(!hora_thread_is_interrupted(NULL));
    CHECK_POINTER(hora_thread_ref(NULL), NULL);
    CHECK_POINTER(hora_thread_unref(NULL), NULL);
}

/* Testing leaves the flag, taking clears it; setting it twice is as once. */
TEST(interrupt_flag_is_set_tested_and_cleared, "")
{
    hora_thread *self = NULL;

    CHECK_OK(hora_thread_self(&self));
    CHECK(!hora_thread_is_interrupted(self));
    CHECK(!hora_interrupted());
    CHECK_OK(hora_thread_interrupt(self));
    CHECK_OK(hora_thread_interrupt(self));
    CHECK(hora_thread_is_interrupted(self));
    CHECK(hora_thread_is_interrupted(self));
    CHECK(hora_interrupted());
    CHECK(!hora_thread_is_interrupted(self));
    CHECK(!hora_interrupted());
    hora_thread_unref(self);
}

/* One thread's flag is not another's. */
TEST(interrupt_of_another_thread_is_not_mine, "")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(call.thread)));
    CHECK(!hora_interrupted());
    CHECK_RETURNS(&call, HORA_EINTERRUPTED);
    fixture_close(&f);
}

/* The handle outlives its thread; nothing happens to the dead, and it has no flag. */
TEST(thread_handle_is_valid_after_the_end, "")
{
    hora_thread *other = NULL;
    test_thread *thread = test_thread_start(NULL, get_self, &other);

    test_thread_join(thread);
    CHECK(!hora_thread_is_interrupted(other));
    CHECK_OK(hora_thread_interrupt(other));
    CHECK_OK(hora_thread_interrupt(other));
    CHECK(!hora_thread_is_interrupted(other));
    CHECK_POINTER(hora_thread_ref(other), other);
    hora_thread_unref(other);
    hora_thread_unref(other);
}

static void die_interrupted(void *ret)
{
    CHECK_OK(hora_thread_self(ret));
    interrupt_self();
}

TEST(thread_that_ended_with_its_flag_set_is_not_interrupted, "")
{
    hora_thread *other = NULL;
    test_thread *thread = test_thread_start(NULL, die_interrupted, &other);

    test_thread_join(thread);
    CHECK(!hora_thread_is_interrupted(other));
    hora_thread_unref(other);
}

/* A blocking call entered with the flag set does not wait, clears it, and the next one waits again. */
TEST(interrupt_before_the_call_is_reported_once, "")
{
    struct fixture f;
    struct call call;

    fixture_open_queue(&f, ARRAY, 1);
    for (int i = 0; i < 2; i++) {
        void *got = untouched;
        CHECK_INTERRUPTED(hora_queue_take(f.queue, &got), &got);
    }
    start_take(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK_TAKES(&call, item(0));
    fixture_close(&f);
}

static int take_twice(struct call *call)
{
    void *got = untouched;
    int error = hora_queue_take(call->object, &got);

    CHECK_ERROR(error, HORA_EINTERRUPTED);
    CHECK(!hora_interrupted());
    return hora_queue_take(call->object, &call->item);
}

/* After an interrupt the thread can wait as before. */
TEST(interrupt_while_waiting_is_reported_once, "")
{
    struct fixture f;
    struct call call = {.run = take_twice};

    fixture_open_queue(&f, LINKED, 1);
    call.object = f.queue;
    start_call(&call, &f);
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_thread_interrupt(test_thread_handle(call.thread)));
    CHECK_BLOCKED(&call);
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK_TAKES(&call, item(0));
    fixture_close(&f);
}

struct meeting {
    hora_thread *target;
    int value; /* written before the interrupt, read after it was seen */
};

static void write_and_interrupt(void *arg)
{
    struct meeting *meeting = arg;

    meeting->value = 42;
    CHECK_OK(hora_thread_interrupt(meeting->target));
}

/* Actions before the interrupt are visible after it; otherwise ThreadSanitizer would report a race. */
TEST(interrupt_publishes_what_was_done_before, "")
{
    struct meeting meeting = {0};
    test_thread *thread;

    CHECK_OK(hora_thread_self(&meeting.target));
    thread = test_thread_start(NULL, write_and_interrupt, &meeting);
    CHECK_ERROR(hora_sleep(HORA_FOREVER), HORA_EINTERRUPTED);
    CHECK_INT(meeting.value, 42);
    test_thread_join(thread);
    hora_thread_unref(meeting.target);
}

/* ---- the descriptor ---- */

TEST(interrupt_fd_is_readable_while_the_flag_is_set, "")
{
    int fd = hora_interrupt_fd();

    CHECK(fd >= 0);
    CHECK_INT(hora_interrupt_fd(), fd);
    CHECK(!is_readable(fd));
    for (int i = 0; i < 2; i++) {
        interrupt_self();
        interrupt_self();
        CHECK(is_readable(fd));
        CHECK(hora_interrupted());
        CHECK(!is_readable(fd));
        CHECK(!hora_interrupted());
    }
}

TEST(interrupt_fd_is_cleared_by_the_call_that_reports_the_interrupt, "")
{
    struct fixture f;
    void *got = untouched;
    int fd = hora_interrupt_fd();

    fixture_open_queue(&f, ARRAY, 1);
    interrupt_self();
    CHECK(is_readable(fd));
    CHECK_ERROR(hora_queue_take(f.queue, &got), HORA_EINTERRUPTED);
    CHECK(!is_readable(fd));
    interrupt_self();
    CHECK_ERROR(hora_clock_sleep(f.view, 0), HORA_EINTERRUPTED);
    CHECK(!is_readable(fd));
    interrupt_self();
    CHECK_ERROR(hora_virtual_clock_settle(f.clock), HORA_EINTERRUPTED);
    CHECK(!is_readable(fd));
    fixture_close(&f);
}

static void make_fd_when_interrupted(void *arg)
{
    (void)arg;
    interrupt_self();
    int fd = hora_interrupt_fd();
    CHECK(fd >= 0);
    CHECK(is_readable(fd));
    CHECK(hora_interrupted());
    CHECK(!is_readable(fd));
}

/* In a separate thread, because the descriptor of a thread is made only once. */
TEST(interrupt_fd_made_late_is_right_at_once, "")
{
    test_thread_join(test_thread_start(NULL, make_fd_when_interrupted, NULL));
}

struct handles {
    hora_thread *thread;
    int fd;
};

static void make_fd(void *arg)
{
    struct handles *handles = arg;

    CHECK_OK(hora_thread_self(&handles->thread));
    handles->fd = hora_interrupt_fd();
}

static void make_fd_and_die_interrupted(void *arg)
{
    make_fd(arg);
    interrupt_self();
}

/* A thread that has ended has no flag, so its descriptor, while it lives, is not readable. */
TEST(interrupt_fd_of_a_dead_thread_is_silent, "")
{
    struct handles handles;

    test_thread_join(test_thread_start(NULL, make_fd_and_die_interrupted, &handles));
    CHECK(!is_readable(handles.fd));
    CHECK_OK(hora_thread_interrupt(handles.thread));
    CHECK(!is_readable(handles.fd));
    hora_thread_unref(handles.thread);
}

/* The descriptor is closed with the last handle, not with the thread, and child programs do not inherit
 * it. */
TEST_REAL(interrupt_fd_lives_as_long_as_the_handle, "")
{
    struct handles handles;

    test_thread_join(test_thread_start(NULL, make_fd, &handles));
    CHECK((fcntl(handles.fd, F_GETFD) & FD_CLOEXEC) != 0);
    hora_thread_unref(handles.thread);
    CHECK_INT(fcntl(handles.fd, F_GETFD), -1);
}

static void interrupt_target(void *target)
{
    CHECK_OK(hora_thread_interrupt(target));
}

/* A thread that sleeps in the kernel on its descriptor is woken. */
TEST_REAL(interrupt_fd_wakes_a_thread_in_poll, "")
{
    struct pollfd entry = {.fd = hora_interrupt_fd(), .events = POLLIN};
    hora_thread *self = NULL;
    test_thread *thread;

    CHECK_OK(hora_thread_self(&self));
    thread = test_thread_start(NULL, interrupt_target, self);
    CHECK_INT(poll(&entry, 1, 60000), 1);
    CHECK(hora_interrupted());
    test_thread_join(thread);
    hora_thread_unref(self);
}

/* ---- sleeping ---- */

TEST(sleep_ends_when_the_time_is_over, "")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, A_WHILE);
    CHECK_WAITS_FOR(&call, A_WHILE, 0);
    start_sleep(&call, &f, f.view, 1);
    CHECK_BLOCKED(&call);
    advance(&f, 1);
    CHECK_RETURNS(&call, 0);
    fixture_close(&f);
}

TEST(sleep_is_interruptible, "")
{
    struct fixture f;
    struct call call;

    fixture_open(&f);
    start_sleep(&call, &f, f.view, A_LONG_WHILE);
    CHECK_INTERRUPTIBLE(&call);
    start_sleep(&call, &f, f.view, HORA_FOREVER);
    CHECK_BLOCKED(&call);
    advance(&f, HORA_FOREVER);
    CHECK_INTERRUPTIBLE(&call);
    start_sleep(&call, &f, NULL, HORA_FOREVER);
    CHECK_INTERRUPTIBLE(&call);
    fixture_close(&f);
}

TEST(sleep_of_no_time_returns_at_once_but_reports_an_interrupt, "")
{
    struct fixture f;

    fixture_open(&f);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hora_sleep(expired[i]));
        CHECK_OK(hora_clock_sleep(f.view, expired[i]));
        CHECK_OK(hora_clock_sleep(NULL, expired[i]));
    }
    for (int i = 0; i < 5; i++) {
        CHECK_INTERRUPTED(hora_sleep(any_timeout[i]), NULL);
        CHECK_INTERRUPTED(hora_clock_sleep(f.view, any_timeout[i]), NULL);
        CHECK_INTERRUPTED(hora_clock_sleep(NULL, any_timeout[i]), NULL);
    }
    fixture_close(&f);
}

/* On the machine's clock, real or simulated. */
TEST(sleep_is_never_too_short, "")
{
    hora_ns start = hora_clock_now(NULL);

    CHECK_OK(hora_sleep(HORA_MS(2)));
    CHECK(hora_clock_now(NULL) - start >= HORA_MS(2));
}
