/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_fd.c - the descriptor of a queue: readable while an element can be taken, or if closed */
#include <fcntl.h>
#include <poll.h>

#include "rows.h"

static void fd_follows_puts_and_takes(enum kind kind)
{
    struct fixture f;
    void *got, *items[2];
    int fd;

    fixture_open_queue(&f, kind, SIZE);
    fd = hora_queue_fd(f.queue);
    CHECK(fd >= 0);
    CHECK(!is_readable(fd));
    fill(&f, 2);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(0));
    CHECK(is_readable(fd));
    CHECK_OK(hora_queue_take(f.queue, &got));
    CHECK(!is_readable(fd));
    CHECK_POLL_FAILS(f.queue, HORA_EEMPTY);
    CHECK(!is_readable(fd));

    fill(&f, 2);
    CHECK(is_readable(fd));
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    CHECK(is_readable(fd));
    CHECK_INT(hora_queue_remove(f.queue, item(1)), 1);
    CHECK(!is_readable(fd));
    fill(&f, 2);
    CHECK_INT(hora_queue_drain(f.queue, items, 2), 2);
    CHECK(!is_readable(fd));
    fill(&f, 2);
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK(!is_readable(fd));
    CHECK_INT(hora_queue_fd(f.queue), fd);
    fixture_close(&f);
}
ROOMY_KINDS(fd_follows_puts_and_takes, "")

/* Made when there is something to take already. */
static void fd_made_late_is_right_at_once(enum kind kind)
{
    struct fixture f;
    int fd;

    fixture_open_queue(&f, kind, SIZE);
    fill(&f, 1);
    fd = hora_queue_fd(f.queue);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(0));
    CHECK(!is_readable(fd));
    fixture_close(&f);
}
ROOMY_KINDS(fd_made_late_is_right_at_once, "")

static void fd_is_readable_when_closed(enum kind kind)
{
    struct fixture f, late;
    int fd;

    fixture_open_queue(&f, kind, SIZE);
    fd = hora_queue_fd(f.queue);
    CHECK(!is_readable(fd));
    CHECK_OK(hora_queue_close(f.queue));
    CHECK(is_readable(fd));
    CHECK_POLL_FAILS(f.queue, HORA_ECLOSED);
    CHECK(is_readable(fd));
    fixture_close(&f);

    fixture_open_queue(&late, kind, SIZE);
    CHECK_OK(hora_queue_close(late.queue));
    CHECK(is_readable(hora_queue_fd(late.queue)));
    fixture_close(&late);
}
EVERY_KIND(fd_is_readable_when_closed, "")

/* An element that goes straight to a waiting thread was never there to be taken. */
static void fd_is_silent_when_a_waiting_taker_is_served(enum kind kind)
{
    struct fixture f;
    struct call take;
    int fd;

    fixture_open_queue(&f, kind, SIZE);
    fd = hora_queue_fd(f.queue);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK_OK(hora_queue_put(f.queue, item(0)));
    CHECK(!is_readable(fd));
    CHECK_TAKES(&take, item(0));
    CHECK(!is_readable(fd));
    fixture_close(&f);
}
EVERY_KIND(fd_is_silent_when_a_waiting_taker_is_served, "")

/* The room of the last element taken goes to a waiting put: there is always something to take. */
static void fd_stays_readable_when_a_waiting_putter_comes_in(enum kind kind)
{
    struct fixture f;
    struct call put;
    int fd;

    fixture_open_queue(&f, kind, 1);
    fd = hora_queue_fd(f.queue);
    fill(&f, 1);
    start_put(&put, &f, item(1));
    CHECK_BLOCKED(&put);
    CHECK_POLL(f.queue, item(0));
    CHECK(is_readable(fd));
    CHECK_RETURNS(&put, 0);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(1));
    CHECK(!is_readable(fd));
    fixture_close(&f);
}
BOUNDED_KINDS(fd_stays_readable_when_a_waiting_putter_comes_in, "")

/* The putter ends when a taker takes its element, or when it gives up. */
static void fd_is_readable_while_a_putter_waits(enum kind kind)
{
    struct fixture f;
    struct call put, offer;
    int fd;

    fixture_open_queue(&f, kind, 0);
    start_put(&put, &f, item(0));
    CHECK_BLOCKED(&put);
    fd = hora_queue_fd(f.queue);
    CHECK(is_readable(fd));
    start_offer_for(&offer, &f, item(1), A_WHILE);
    CHECK_BLOCKED(&offer);
    CHECK_INTERRUPTIBLE(&put);
    CHECK(is_readable(fd));
    CHECK_TIMES_OUT(&offer, A_WHILE);
    CHECK(!is_readable(fd));

    start_put(&put, &f, item(2));
    CHECK_BLOCKED(&put);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(2));
    CHECK(!is_readable(fd));
    CHECK_RETURNS(&put, 0);
    fixture_close(&f);
}
SYNCHRONOUS_KINDS(fd_is_readable_while_a_putter_waits, "")

/* A thread that waits to take has nothing to offer. */
static void fd_is_silent_while_a_taker_waits(enum kind kind)
{
    struct fixture f;
    struct call take;
    int fd;

    fixture_open_queue(&f, kind, 0);
    fd = hora_queue_fd(f.queue);
    start_take(&take, &f);
    CHECK_BLOCKED(&take);
    CHECK(!is_readable(fd));
    CHECK_INTERRUPTIBLE(&take);
    fixture_close(&f);
}
SYNCHRONOUS_KINDS(fd_is_silent_while_a_taker_waits, "")

/* ---- delay queues ---- */

#define BOTH(promise)                       \
    SHARED(delay_queue, DELAY, promise, "") \
    SHARED(asked_delay_queue, DELAY_ASKED, promise, "")

static void fd_becomes_readable_when_an_element_is_due(enum kind kind)
{
    struct fixture f;
    int fd;

    fixture_open_queue(&f, kind, 0);
    fd = hora_queue_fd(f.queue);
    CHECK_OK(insert(&f, due_in(&f, 1, 20)));
    CHECK(!is_readable(fd));
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    CHECK(!is_readable(fd));
    advance(&f, 9);
    CHECK(!is_readable(fd));
    advance(&f, 1);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(0));
    CHECK(!is_readable(fd));
    advance(&f, 10);
    CHECK(is_readable(fd));
    CHECK_POLL(f.queue, item(1));
    CHECK(!is_readable(fd));
    fixture_close(&f);
}
BOTH(fd_becomes_readable_when_an_element_is_due)

/* The descriptor is made after the element was put. The head is removed, and only the time of the next one
 * counts. */
static void fd_follows_the_head(enum kind kind)
{
    struct fixture f;
    int fd;

    fixture_open_queue(&f, kind, 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    CHECK_OK(insert(&f, due_in(&f, 1, 20)));
    fd = hora_queue_fd(f.queue);
    CHECK(!is_readable(fd));
    CHECK_INT(hora_queue_remove(f.queue, item(0)), 1);
    advance(&f, 19);
    CHECK(!is_readable(fd));
    advance(&f, 1);
    CHECK(is_readable(fd));
    CHECK_OK(hora_queue_clear(f.queue));
    CHECK(!is_readable(fd));
    fixture_close(&f);
}
BOTH(fd_follows_the_head)

/* A loop around the descriptor alone finds its way through virtual time. */
static void fd_is_something_to_wait_for_in_virtual_time(enum kind kind)
{
    struct fixture f;
    hora_ns by = 0;

    fixture_open_queue(&f, kind, 0);
    CHECK(hora_queue_fd(f.queue) >= 0);
    CHECK_OK(insert(&f, due_in(&f, 0, 10)));
    CHECK_OK(hora_virtual_clock_advance_to_next(f.clock, &by));
    CHECK_INT(by, 10);
    CHECK(is_readable(hora_queue_fd(f.queue)));
    fixture_close(&f);
}
BOTH(fd_is_something_to_wait_for_in_virtual_time)

/* On the machine's clocks the kernel makes it readable, never before the time. */
static void check_fd_on_system_clock(hora_clock_id timeline)
{
    const hora_clock *clock = hora_clock_system(timeline);
    const hora_ns delay = HORA_MS(5);
    struct pollfd entry = {.events = POLLIN};
    hora_queue *queue;
    struct element element = {0};

    CHECK_OK(hora_queue_new_delay(HORA_QUEUE_OPTIONS(.clock = clock), &queue, NULL));
    entry.fd = hora_queue_fd(queue);
    if (entry.fd == HORA_ENOTSUP) {
        CHECK_OK(hora_queue_free(queue));
        return;
    }
    hora_ns due = hora_clock_now(clock) + delay;
    CHECK_OK(hora_queue_put_at(queue, &element, due));
    CHECK_INT(poll(&entry, 1, 60000), 1);
    CHECK(hora_clock_now(clock) >= due);
    CHECK_POLL(queue, &element);
    CHECK(!is_readable(entry.fd));
    CHECK_OK(hora_queue_put_delayed(queue, &element, HORA_HOURS(1)));
    CHECK(!is_readable(entry.fd));
    CHECK_OK(hora_queue_put_delayed(queue, &element, 0));
    CHECK(is_readable(entry.fd));
    CHECK_OK(hora_queue_free(queue));
}

TEST_REAL(delay_queue_fd_obeys_the_monotonic_clock, "")
{
    check_fd_on_system_clock(HORA_CLOCK_MONOTONIC);
}

TEST_REAL(delay_queue_fd_obeys_the_boot_time_clock, "")
{
    check_fd_on_system_clock(HORA_CLOCK_BOOTTIME);
}

TEST_REAL(delay_queue_fd_obeys_the_wall_clock, "")
{
    check_fd_on_system_clock(HORA_CLOCK_WALL);
}

static void put_into(void *queue)
{
    CHECK_OK(hora_queue_put(queue, item(0)));
}

/* A put by another thread wakes a thread that sleeps in the kernel. */
TEST_REAL(queue_fd_wakes_a_thread_in_poll, "")
{
    struct pollfd entry = {.events = POLLIN};
    hora_queue *queue;
    test_thread *thread;

    CHECK_OK(hora_queue_new_linked(HORA_UNBOUNDED, NULL, &queue, NULL));
    entry.fd = hora_queue_fd(queue);
    thread = test_thread_start(NULL, put_into, queue);
    CHECK_INT(poll(&entry, 1, 60000), 1);
    CHECK_POLL(queue, item(0));
    test_thread_join(thread);
    CHECK_OK(hora_queue_free(queue));
}

/* Child programs do not inherit the descriptor, and it is closed with the queue. */
TEST_REAL(queue_fd_is_closed_on_exec_and_by_free, "")
{
    hora_queue *queue;
    int fd;

    CHECK_OK(hora_queue_new_array(1, NULL, &queue, NULL));
    fd = hora_queue_fd(queue);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_OK(hora_queue_free(queue));
    CHECK_INT(fcntl(fd, F_GETFD), -1);
}
