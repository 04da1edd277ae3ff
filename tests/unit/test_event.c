/* SPDX-License-Identifier: Apache-2.0 */
/* test_event.c - event and timer descriptors, also when the process has none left */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "sys/event.h"
#include "sys/parker.h"

static bool readable_within(int fd, int milliseconds)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, milliseconds) == 1;
}

static bool readable(int fd)
{
    return readable_within(fd, 0);
}

TEST_REAL(event_is_readable_as_set, "")
{
    struct hora__event event;
    CHECK_OK(hora__event_init(&event));
    CHECK(!readable(event.fd));
    for (int i = 0; i < 3; i++) {
        hora__event_set(&event, true);
        hora__event_set(&event, true);
        CHECK(readable(event.fd));
        hora__event_set(&event, false);
        CHECK(!readable(event.fd));
    }
    CHECK(fcntl(event.fd, F_GETFD) & FD_CLOEXEC);
    hora__event_destroy(&event);
    CHECK_INT(event.fd, -1);
}

/* One consume takes any number of posts. */
TEST_REAL(event_posts_add_up_to_one, "")
{
    struct hora__event event;
    CHECK_OK(hora__event_init(&event));
    for (int i = 0; i < 10; i++)
        hora__event_signal(&event);
    CHECK(readable(event.fd));
    hora__event_consume(&event);
    CHECK(!readable(event.fd));
    hora__event_consume(&event); /* empty: does not block */
    hora__event_destroy(&event);
}

TEST_REAL(timer_is_readable_from_its_time_on, "")
{
    for (int timeline = HORA__MONOTONIC; timeline <= HORA__WALL; timeline++) {
        int fd = hora__timer_fd_new((enum hora__timeline)timeline);
        if (fd == HORA_ENOTSUP)
            return;
        CHECK(fd >= 0);
        CHECK(!readable(fd));
        hora__timer_fd_arm(fd, INT64_MIN);
        CHECK(readable_within(fd, 20000)); /* past times: at once, but the kernel may take a moment */
        hora__timer_fd_arm(fd, INT64_MAX);
        CHECK(!readable(fd));
        hora__timer_fd_arm(fd, hora__now((enum hora__timeline)timeline) + HORA_HOURS(1));
        CHECK(!readable(fd));
        int64_t due = hora__now((enum hora__timeline)timeline) + HORA_MS(2);
        hora__timer_fd_arm(fd, due);
        CHECK(readable_within(fd, 20000));
        CHECK(hora__now((enum hora__timeline)timeline) >= due);
        hora__timer_fd_free(fd);
    }
}

/* The descriptor has just been renewed. Another process might set the clock meanwhile, but not in each of
 * three attempts. */
TEST_REAL(watch_is_not_readable_while_the_clock_is_left_alone, "")
{
    int fd = hora__watch_fd_new();
    if (fd == HORA_ENOTSUP)
        return;
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (int i = 0; i < 3; i++)
        hora__watch_fd_renew(fd);
    CHECK(!readable(fd));
    hora__watch_fd_free(fd);
}

static void without_descriptors(void (*run)(void))
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    run();
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void try_to_make_descriptors(void)
{
    struct hora__event event;
    CHECK_ERROR(hora__event_init(&event), HORA_EMFILE);
    CHECK_INT(event.fd, -1);
    CHECK_ERROR(hora_interrupt_fd(), HORA_EMFILE);
    hora_queue *queue;
    CHECK_OK(hora_queue_new_delay(NULL, &queue, NULL));
    CHECK_ERROR(hora_queue_fd(queue), HORA_EMFILE);
    int value;
    CHECK_OK(hora_queue_put(queue, &value)); /* and the queue goes on working */
    void *item;
    CHECK_OK(hora_queue_take(queue, &item));
    CHECK_OK(hora_queue_free(queue));
    /* Waiting on boot time wants descriptors, but manages without. */
    CHECK_OK(hora_clock_sleep(hora_clock_system(HORA_CLOCK_BOOTTIME), HORA_MS(1)));
    CHECK(hora__watch_fd_new() < 0);
    hora__parker parker;
    CHECK_OK(hora__parker_init(&parker));
    int64_t deadline = hora__now(HORA__WALL) + HORA_MS(1);
    while (hora__now(HORA__WALL) < deadline)
        hora__park_watching(&parker, HORA__WALL, deadline);
    hora__parker_destroy(&parker);
}

TEST_REAL(no_descriptor_left_is_an_error, "")
{
    without_descriptors(try_to_make_descriptors);
}

static void make_descriptors(void)
{
    int fd = hora_interrupt_fd();
    CHECK(fd >= 0);
    CHECK_INT(hora_interrupt_fd(), fd);
}

/* What failed for want of a descriptor works once there is one. */
TEST_REAL(descriptors_can_be_had_later, "")
{
    make_descriptors();
}
