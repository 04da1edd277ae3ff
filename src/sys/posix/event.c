/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - event, timer and watch descriptors: eventfd and timerfd on Linux; elsewhere a pipe for events,
 * and no timers or watches
 *
 * All descriptors are non-blocking and close on exec. */
#include "sys/event.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#endif

#include <hora/error.h>

#include "sys/posix/internal.h"

#ifdef __linux__

/* Opens the descriptors of an event. Returns 0 or a negative errno, which is the error of hora with the same
 * name. May leave descriptors open when it fails; the caller closes them. */
static int open_event(struct hora__event *event)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event->fd = fd;
    event->write_fd = fd;
    return fd < 0 ? -errno : 0;
}

#else

/* Makes a descriptor non-blocking, and closed on exec. */
static int set_flags(int fd)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

static int open_event(struct hora__event *event)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -errno;
    event->fd = ends[0];
    event->write_fd = ends[1];
    int error = set_flags(ends[0]);
    return error < 0 ? error : set_flags(ends[1]);
}

#endif

/* On error, closes a descriptor that was opened and leaves the event as HORA__EVENT_NONE. */
int hora__event_init(struct hora__event *event)
{
    *event = HORA__EVENT_NONE;
    int error = open_event(event);
    if (error < 0)
        hora__event_destroy(event);
    return error;
}

void hora__event_destroy(struct hora__event *event)
{
    if (event->write_fd >= 0 && event->write_fd != event->fd)
        (void)close(event->write_fd);
    if (event->fd >= 0)
        (void)close(event->fd);
    *event = HORA__EVENT_NONE;
}

/* Uses only write, which may be called in a signal handler. */
void hora__event_signal(const struct hora__event *event)
{
    assert(event->write_fd >= 0);
    int before = errno;
    uint64_t one = 1; /* an eventfd takes exactly eight bytes, a pipe takes them too */
    ssize_t written;
    do
        written = write(event->write_fd, &one, sizeof one);
    while (written < 0 && errno == EINTR);
    /* EAGAIN needs no handling: the counter or the pipe is full, hence readable already. */
    errno = before;
}

/* The descriptor is non-blocking, so the last read fails with EAGAIN and ends the loop. */
void hora__event_consume(const struct hora__event *event)
{
    assert(event->fd >= 0);
    /* One read empties an eventfd; a pipe may hold several signals. */
    uint64_t buffer;
    ssize_t got;
    do
        got = read(event->fd, &buffer, sizeof buffer);
    while (got > 0 || (got < 0 && errno == EINTR));
}

void hora__event_set(struct hora__event *event, bool readable)
{
    if (event->fd < 0 || event->readable == readable)
        return;
    event->readable = readable;
    if (readable)
        hora__event_signal(event);
    else
        hora__event_consume(event);
}

/* Errors of poll, such as EINTR, count as a return without a reason. */
bool hora__event_wait(const struct hora__event *event, int timer_fd, int watch_fd)
{
    assert(event->fd >= 0);
    struct pollfd fds[] = {
        {.fd = event->fd, .events = POLLIN},
        {.fd = timer_fd, .events = POLLIN}, /* poll ignores negative descriptors */
        {.fd = watch_fd, .events = POLLIN},
    };
    return poll(fds, sizeof fds / sizeof fds[0], -1) > 0 && fds[2].revents != 0;
}

#ifdef __linux__

/* Returns the clock of timerfd_create for a timeline. */
static int clock_of(enum hora__timeline timeline)
{
    switch (timeline) {
    case HORA__WALL:
        return CLOCK_REALTIME;
    case HORA__BOOTTIME:
        return CLOCK_BOOTTIME;
    case HORA__MONOTONIC:
    default:
        return CLOCK_MONOTONIC;
    }
}

int hora__timer_fd_new(enum hora__timeline timeline)
{
    int fd = timerfd_create(clock_of(timeline), TFD_CLOEXEC | TFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void hora__timer_fd_arm(int fd, int64_t deadline_ns)
{
    assert(fd >= 0);
    struct itimerspec when = {.it_value = {0, 0}}; /* all zero disarms */
    if (deadline_ns != INT64_MAX)
        when.it_value = hora__timespec(deadline_ns > 0 ? deadline_ns : 1); /* 0 would disarm */
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Arms a timer on the wall clock that never expires. The kernel cancels it, which makes it readable, whenever
 * the distance between the wall clock and the monotonic clock jumps. Arming it again clears that. */
static int arm_watch(int fd)
{
    struct itimerspec never = {.it_value = hora__timespec(INT64_MAX - 1)};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    if (timerfd_settime(fd, flags, &never, NULL) == 0 || errno == ECANCELED)
        return 0; /* ECANCELED: the timer had been cancelled and is now armed */
    return -errno;
}

int hora__watch_fd_new(void)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    int error = arm_watch(fd);
    if (error < 0)
        (void)close(fd);
    return error < 0 ? error : fd;
}

void hora__watch_fd_renew(int fd)
{
    assert(fd >= 0);
    (void)arm_watch(fd);
}

#else

int hora__timer_fd_new(enum hora__timeline timeline)
{
    (void)timeline;
    return HORA_ENOTSUP;
}

void hora__timer_fd_arm(int fd, int64_t deadline_ns)
{
    (void)fd;
    (void)deadline_ns;
}

int hora__watch_fd_new(void)
{
    return HORA_ENOTSUP;
}

void hora__watch_fd_renew(int fd)
{
    (void)fd;
}

#endif

void hora__timer_fd_free(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void hora__watch_fd_free(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}
