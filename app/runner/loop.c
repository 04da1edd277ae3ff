/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - the one thread that owns the state of the runner: descriptors, messages and timers
 *
 * Descriptors are watched with epoll. Messages go through an unbounded queue of hora, whose descriptor is one
 * of those that are watched. Timers run on a scheduler with one thread; their function only posts a message,
 * so that the loop calls the function of the user.
 *
 * A message of a timer may be outdated when the loop handles it: the timer was cancelled or started anew
 * meanwhile. The loop therefore checks that the timer is pending and that its time has come. A message that
 * comes too early is ignored, because another one follows.
 *
 * INVARIANTS
 *
 *   L1  `current` points to the events of epoll that have not been handled; loop_unwatch removes its own from
 *       them, so that no function is called after it.
 *   L2  A timer's state is freed when its owner has freed the timer and no message of it is under way. */
#include "runner/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <hora/pool.h>
#include <hora/queue.h>

#include "command.h"

/* A message may start a process, which takes a millisecond. Between a few of them the loop looks at descriptors, so
 * that a crowd of new runs does not delay the end of those that are in progress. */
enum { EVENTS = 64, MESSAGES_IN_A_ROW = 8, ASKERS = 4 };

struct message {
    loop_message_fn fn;
    void *arg;
};

struct loop {
    int epoll;
    hora_queue *inbox;
    struct loop_fd inbox_watch;
    hora_scheduler *timers;
    hora_pool *askers;
    int asking; /* calls of loop_ask without an answer */
    bool stopped;
    hora_virtual_clock *clock; /* NULL: the clocks of the machine */
    const hora_clock *wall, *monotonic;
    struct epoll_event events[EVENTS];
    int current, count; /* events[current] to events[count - 1] have not been handled */

    /* virtual clock: time shall pass; loop_run does it between two turns */
    bool passing;
    hora_ns pass_by;
    bool (*is_busy)(void *arg); /* NULL: never */
    struct message passed;
};

/* ---- making ---- */

static void inbox_ready(int fd, uint32_t events, void *arg);

static const hora_clock *clock_of(hora_virtual_clock *clock, hora_clock_id id)
{
    return clock == NULL ? hora_clock_system(id) : hora_virtual_clock_view(clock, id);
}

static int make_parts(struct loop *loop, hora_error *reason)
{
    int error = hora_queue_new_linked(HORA_UNBOUNDED, NULL, &loop->inbox, reason);
    if (error == 0)
        error = hora_scheduler_new_single(HORA_SCHEDULER_OPTIONS(.name = "timers", .clock = loop->monotonic),
                                          &loop->timers, reason);
    if (error == 0)
        error = hora_pool_new_fixed(ASKERS, HORA_POOL_OPTIONS(.name = "store", .clock = loop->monotonic),
                                    &loop->askers, reason);
    return error;
}

struct loop *loop_new(hora_virtual_clock *clock)
{
    struct loop *loop = memory(sizeof *loop);
    *loop = (struct loop){.clock = clock,
                          .wall = clock_of(clock, HORA_CLOCK_WALL),
                          .monotonic = clock_of(clock, HORA_CLOCK_MONOTONIC)};
    hora_error reason;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    int error = loop->epoll < 0 ? HORA_EMFILE : make_parts(loop, &reason);
    int fd = error == 0 ? hora_queue_fd(loop->inbox) : -1;
    if (fd < 0 || loop_watch(loop, &loop->inbox_watch, fd, EPOLLIN, inbox_ready, loop) < 0) {
        complain("the event loop cannot be set up: %s", error < 0 ? hora_strerror(error) : strerror(errno));
        loop_free(loop);
        return NULL;
    }
    return loop;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->askers != NULL)
        (void)hora_pool_close(loop->askers);
    if (loop->timers != NULL)
        (void)hora_scheduler_close_for(loop->timers, 0);
    hora_pool_free(loop->askers);
    hora_scheduler_free(loop->timers);
    if (loop->inbox != NULL)
        inbox_ready(-1, 0, loop); /* frees what messages own */
    hora_queue_free(loop->inbox);
    if (loop->epoll >= 0)
        (void)close(loop->epoll);
    free(loop);
}

/* ---- descriptors ---- */

int loop_watch(struct loop *loop, struct loop_fd *watch, int fd, uint32_t events, loop_fd_fn ready, void *arg)
{
    assert(fd >= 0);
    *watch = (struct loop_fd){.fd = fd, .ready = ready, .arg = arg, .loop = loop};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    watch->fd = -1;
    return -errno;
}

void loop_change(struct loop_fd *watch, uint32_t events)
{
    assert(watch->fd >= 0);
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int failed = epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
    assert(failed == 0);
    (void)failed;
}

void loop_unwatch(struct loop_fd *watch)
{
    if (watch->loop == NULL || watch->fd < 0)
        return;
    struct loop *loop = watch->loop;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
    for (int i = loop->current; i < loop->count; i++) /* L1 */
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
}

/* Handles what is ready, after waiting for at most `milliseconds` (-1: until something is). */
static bool handle(struct loop *loop, int milliseconds)
{
    assert(loop->current == loop->count); /* functions must not call the loop again */
    int count = epoll_wait(loop->epoll, loop->events, EVENTS, milliseconds);
    loop->current = 0;
    loop->count = count < 0 ? 0 : count;
    while (loop->current < loop->count) {
        struct epoll_event event = loop->events[loop->current++];
        struct loop_fd *watch = event.data.ptr;
        if (watch != NULL)
            watch->ready(watch->fd, event.events, watch->arg);
    }
    return count > 0;
}

static void pass(struct loop *loop);

void loop_run(struct loop *loop)
{
    while (!loop->stopped) {
        while (loop->passing) /* perhaps since before the first turn */
            pass(loop);
        if (!loop->stopped)
            (void)handle(loop, -1);
    }
    while (loop->asking > 0)
        (void)handle(loop, -1);
    while (handle(loop, 0))
        ;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

/* ---- messages ---- */

void loop_post(struct loop *loop, loop_message_fn fn, void *arg)
{
    struct message *message = memory(sizeof *message);
    *message = (struct message){fn, arg};
    if (hora_queue_put(loop->inbox, message) < 0) {
        complain("out of memory");
        exit(STATUS_TROUBLE);
    }
}

static void inbox_ready(int fd, uint32_t events, void *arg)
{
    (void)fd, (void)events;
    struct loop *loop = arg;
    void *item;
    for (int i = 0; i < MESSAGES_IN_A_ROW && hora_queue_poll(loop->inbox, &item) == 0; i++) {
        struct message message = *(struct message *)item;
        free(item);
        message.fn(message.arg);
    }
}

struct question {
    struct loop *loop;
    loop_message_fn work, done;
    void *arg;
};

static void question_answered(void *arg)
{
    struct question question = *(struct question *)arg;
    free(arg);
    question.loop->asking--;
    question.done(question.arg);
}

static int question_work(void *arg, void **ret_result)
{
    (void)ret_result;
    struct question *question = arg;
    question->work(question->arg);
    loop_post(question->loop, question_answered, question);
    return 0;
}

void loop_ask(struct loop *loop, loop_message_fn work, loop_message_fn done, void *arg)
{
    struct question *question = memory(sizeof *question);
    *question = (struct question){loop, work, done, arg};
    loop->asking++;
    /* Without a thread for it, the loop waits for the store itself. */
    if (hora_pool_execute(loop->askers, HORA_TASK(question_work, question)) < 0)
        (void)question_work(question, NULL);
}

bool loop_is_asking(const struct loop *loop)
{
    return loop->asking > 0;
}

/* ---- timers ---- */

struct loop_timer_state {
    hora_timer timer;
    struct loop *loop;
    loop_message_fn fn;
    void *arg;
    bool pending;
    bool freed;        /* by its owner */
    hora_ns due;       /* while pending */
    atomic_int on_way; /* messages under way */
};

/* The loop: a message of a timer has arrived. */
static void timer_message(void *arg)
{
    struct loop_timer_state *state = arg;
    bool last = atomic_fetch_sub(&state->on_way, 1) == 1;
    if (state->freed) {
        if (last)
            free(state);
        return;
    }
    if (!state->pending || loop_now(state->loop) < state->due)
        return;
    state->pending = false;
    state->fn(state->arg);
}

/* The thread of the timers. */
static int timer_fired(void *arg)
{
    struct loop_timer_state *state = arg;
    atomic_fetch_add(&state->on_way, 1);
    loop_post(state->loop, timer_message, state);
    return 0;
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_message_fn fn, void *arg)
{
    struct loop_timer_state *state = memory(sizeof *state);
    memset(state, 0, sizeof *state);
    state->loop = loop;
    state->fn = fn;
    state->arg = arg;
    hora_timer_init(&state->timer, timer_fired, state);
    *timer = (struct loop_timer){loop, state};
}

void loop_timer_start(struct loop_timer *timer, hora_ns delay)
{
    struct loop_timer_state *state = timer->state;
    hora_ns now = loop_now(state->loop);
    if (delay < 0)
        delay = 0;
    state->due = delay > HORA_FOREVER - now ? HORA_FOREVER : now + delay;
    state->pending = true;
    int error = hora_timer_start(&state->timer, state->loop->timers, delay);
    if (error < 0 && error != HORA_EREJECTED) {
        complain("a timer cannot be started: %s", hora_strerror(error));
        exit(STATUS_TROUBLE);
    }
}

void loop_timer_cancel(struct loop_timer *timer)
{
    if (timer->state == NULL || !timer->state->pending)
        return;
    timer->state->pending = false;
    (void)hora_timer_cancel(&timer->state->timer);
}

bool loop_timer_is_pending(const struct loop_timer *timer)
{
    return timer->state != NULL && timer->state->pending;
}

void loop_timer_free(struct loop_timer *timer)
{
    struct loop_timer_state *state = timer->state;
    if (state == NULL)
        return;
    timer->state = NULL;
    (void)hora_timer_stop(&state->timer); /* no message is posted after it */
    if (atomic_load(&state->on_way) == 0)
        free(state);
    else
        state->freed = true; /* L2 */
}

/* ---- time ---- */

hora_instant loop_wall(const struct loop *loop)
{
    hora_instant now;
    int error = hora_clock_instant(loop->wall, &now);
    assert(error == 0);
    (void)error;
    return now;
}

hora_ns loop_now(const struct loop *loop)
{
    return hora_clock_now(loop->monotonic);
}

hora_virtual_clock *loop_clock(const struct loop *loop)
{
    return loop->clock;
}

/* Lets everything run that can run at this time. */
static void settle(struct loop *loop)
{
    for (;;) {
        if (hora_virtual_clock_settle(loop->clock) < 0)
            return;
        bool busy = loop->is_busy != NULL && !loop->stopped && loop->is_busy(loop->passed.arg);
        if (!handle(loop, busy ? -1 : 0) && !busy)
            return;
    }
}

static int do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Lets time pass as loop_pass says. */
static void pass(struct loop *loop)
{
    hora_ns end = loop_now(loop) + loop->pass_by;
    /* The clock must not be advanced beyond the end: a timer waits there. */
    hora_timer last;
    hora_timer_init(&last, do_nothing, NULL);
    if (loop->pass_by > 0)
        (void)hora_timer_start(&last, loop->timers, loop->pass_by);
    settle(loop);
    while (loop_now(loop) < end && hora_virtual_clock_advance_to_next(loop->clock, NULL) == 0)
        settle(loop);
    (void)hora_timer_stop(&last);
    loop->passing = false;
    loop->passed.fn(loop->passed.arg);
}

bool loop_pass(struct loop *loop, hora_ns by, bool (*is_busy)(void *arg), loop_message_fn done, void *arg)
{
    assert(loop->clock != NULL && by >= 0);
    if (loop->passing)
        return false;
    loop->passing = true;
    loop->pass_by = by;
    loop->is_busy = is_busy;
    loop->passed = (struct message){done, arg};
    return true;
}
