/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the one thread that owns the state of the runner: descriptors, messages and timers
 *
 * All state of the runner belongs to the main thread, which runs this loop. Other threads (those of the durable
 * scheduler, of the timers and of the pool that asks the store) never touch it: they post messages. So no part
 * of the runner has a lock.
 *
 * Functions are called by the loop, one at a time, and must not block. */
#ifndef APP_LOOP_H
#define APP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <hora/scheduler.h>
#include <hora/timer.h>
#include <hora/virtual_clock.h>

struct loop;

/* Creates a loop. `clock` is NULL for the clocks of the machine. Returns NULL after printing an error. */
struct loop *loop_new(hora_virtual_clock *clock);
void loop_free(struct loop *loop);

/* Runs until loop_stop, and then until all calls of loop_ask are answered and all messages are handled. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* ---- descriptors ---- */

/* Called when a descriptor is ready: `events` are those of epoll. */
typedef void (*loop_fd_fn)(int fd, uint32_t events, void *arg);

/* A descriptor that the loop watches. It belongs to the caller, who also closes fd. */
struct loop_fd {
    int fd; /* -1: not watched */
    loop_fd_fn ready;
    void *arg;
    struct loop *loop;
};

/* Starts to watch a descriptor; returns 0 or a negative errno. */
int loop_watch(struct loop *loop, struct loop_fd *watch, int fd, uint32_t events, loop_fd_fn ready,
               void *arg);
void loop_change(struct loop_fd *watch, uint32_t events);
/* After it, `ready` is not called any more, also if the descriptor is ready already. */
void loop_unwatch(struct loop_fd *watch);

/* ---- messages: from any thread ---- */

typedef void (*loop_message_fn)(void *arg);

/* Lets the loop call fn(arg) soon. Messages are handled in the order in which they were posted. */
void loop_post(struct loop *loop, loop_message_fn fn, void *arg);

/* Lets a thread of the pool call work(arg), and then the loop done(arg): for calls that wait for the store. */
void loop_ask(struct loop *loop, loop_message_fn work, loop_message_fn done, void *arg);
/* True if a call of loop_ask has not been answered. */
bool loop_is_asking(const struct loop *loop);

/* ---- timers ---- */

/* A timer whose function the loop calls. It belongs to the caller and must stay until it is cancelled and
 * loop_timer_free was called. */
struct loop_timer {
    struct loop *loop;
    struct loop_timer_state *state; /* shared with the thread of the timers */
};

void loop_timer_init(struct loop_timer *timer, struct loop *loop, loop_message_fn fn, void *arg);
/* Starts it, or starts it anew. A delay of 0 or less means soon. */
void loop_timer_start(struct loop_timer *timer, hora_ns delay);
/* After it, the function is not called any more before the next start. */
void loop_timer_cancel(struct loop_timer *timer);
bool loop_timer_is_pending(const struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer);

/* ---- time ---- */

hora_instant loop_wall(const struct loop *loop);
hora_ns loop_now(const struct loop *loop); /* monotonic */
hora_virtual_clock *loop_clock(const struct loop *loop);

/* Virtual clock only: lets time pass by `by`, and then calls done(arg). At each time that something waits for,
 * everything runs that can run, including the loop itself, except processes, which take no virtual time. If
 * is_busy is not NULL, the time also stands still while is_busy(arg) is true, until the loop has handled what
 * makes it false. Returns false if time is passing already. */
bool loop_pass(struct loop *loop, hora_ns by, bool (*is_busy)(void *arg), loop_message_fn done, void *arg);

#endif
