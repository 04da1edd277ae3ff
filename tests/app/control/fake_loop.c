/* SPDX-License-Identifier: Apache-2.0 */
/* fake_loop.c - a loop with descriptors and messages, but without threads and timers
 *
 * Its wall clock stands still at 2026-11-17T12:00:00Z. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "command.h"
#include "fake.h"

enum { EVENTS = 64, MESSAGES = 256 };

struct message {
    loop_message_fn work, done;
    void *arg;
};

struct loop {
    int epoll;
    struct epoll_event events[EVENTS];
    int current, count;
    struct message messages[MESSAGES];
    int first, last; /* of the messages that have not been handled */
};

struct loop *loop_new(hora_virtual_clock *clock)
{
    (void)clock;
    struct loop *loop = memory(sizeof *loop);
    *loop = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    return loop;
}

void loop_free(struct loop *loop)
{
    (void)close(loop->epoll);
    free(loop);
}

int loop_watch(struct loop *loop, struct loop_fd *watch, int fd, uint32_t events, loop_fd_fn ready, void *arg)
{
    *watch = (struct loop_fd){fd, ready, arg, loop};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void loop_change(struct loop_fd *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    (void)epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void loop_unwatch(struct loop_fd *watch)
{
    if (watch->fd < 0 || watch->loop == NULL)
        return;
    (void)epoll_ctl(watch->loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
    for (int i = watch->loop->current; i < watch->loop->count; i++)
        if (watch->loop->events[i].data.ptr == watch)
            watch->loop->events[i].data.ptr = NULL;
}

static void add(struct loop *loop, struct message message)
{
    loop->messages[loop->last] = message;
    loop->last = (loop->last + 1) % MESSAGES;
    if (loop->last == loop->first)
        abort(); /* a test that needs more of them makes the array larger */
}

void loop_post(struct loop *loop, loop_message_fn fn, void *arg)
{
    add(loop, (struct message){NULL, fn, arg});
}

void loop_ask(struct loop *loop, loop_message_fn work, loop_message_fn done, void *arg)
{
    add(loop, (struct message){work, done, arg});
}

hora_instant loop_wall(const struct loop *loop)
{
    (void)loop;
    return (hora_instant){INT64_C(1794916800) * HORA_SECONDS(1)};
}

hora_virtual_clock *loop_clock(const struct loop *loop)
{
    (void)loop;
    return NULL;
}

bool fake_loop_turn(struct loop *loop, int milliseconds)
{
    bool had_message = loop->first != loop->last;
    if (had_message) {
        struct message message = loop->messages[loop->first];
        loop->first = (loop->first + 1) % MESSAGES;
        if (message.work != NULL)
            message.work(message.arg);
        message.done(message.arg);
    }
    int count = epoll_wait(loop->epoll, loop->events, EVENTS, had_message ? 0 : milliseconds);
    loop->current = 0;
    loop->count = count < 0 ? 0 : count;
    while (loop->current < loop->count) {
        struct epoll_event event = loop->events[loop->current++];
        struct loop_fd *watch = event.data.ptr;
        if (watch != NULL)
            watch->ready(watch->fd, event.events, watch->arg);
    }
    return count > 0 || had_message;
}
