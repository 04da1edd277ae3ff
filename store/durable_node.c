/* SPDX-License-Identifier: Apache-2.0 */
/* durable_node.c - the thread of a node: it exchanges with the store, and hands firings to the scheduler
 *
 * The thread sleeps until the node wants an exchange, a firing has ended, the store has new tasks, or dead
 * nodes should be looked for. With the clock of the machine it sleeps in poll, on a pipe and on the
 * descriptor by which the database reports changes. With a virtual clock, which poll does not know, it sleeps
 * in a queue of hora, and changes by other processes are noticed at the next look.
 *
 * When the store fails, the thread tries again with growing pauses. What it holds stays; when the lease has
 * run out meanwhile, it drops what has not been started and joins anew. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "durable.h"
#include "step.h"

#define FIRST_PAUSE   HORA_MS(20)
#define LONGEST_PAUSE HORA_SECONDS(1)

enum { REAP_LIMIT = 1000 };

/* What the loop remembers between two rounds. */
typedef struct loop {
    hora_durable *durable;
    hora_ns pause;     /* after the last failure; 0: the last call succeeded */
    hora_ns not_until; /* no call to the store before this */
    hora_ns next_reap;
    bool drained; /* the node claims nothing more */
} loop;

/* ---- sleeping and waking ---- */

void hora__durable_wake(hora_durable *durable)
{
    if (atomic_exchange(&durable->awake, true))
        return;
    if (durable->wakes != NULL) {
        int error = hora_queue_offer(durable->wakes, durable);
        assert(error == 0 || error == HORA_EFULL);
        (void)error;
    } else {
        ssize_t written;
        do
            written = write(durable->wake_pipe[1], "", 1);
        while (written < 0 && errno == EINTR);
    }
}

static int milliseconds(hora_ns delay)
{
    if (delay <= 0)
        return 0;
    if (delay > HORA_HOURS(1))
        return 3600000;
    return (int)((delay + HORA_MS(1) - 1) / HORA_MS(1));
}

/* Sleeps with the clock of the machine. Returns true if the database has reported a change. */
static bool sleep_in_poll(hora_durable *durable, hora_ns delay)
{
    hora__backend *backend = durable->store->backend;
    struct pollfd descriptors[2] = {{.fd = durable->wake_pipe[0], .events = POLLIN},
                                    {.fd = backend->ops->wake_fd(backend), .events = POLLIN}};
    nfds_t count = descriptors[1].fd < 0 ? 1 : 2;
    int ready = poll(descriptors, count, milliseconds(delay));
    if (ready > 0 && descriptors[0].revents != 0) {
        char bytes[16];
        ssize_t got = read(durable->wake_pipe[0], bytes, sizeof bytes);
        (void)got;
    }
    return ready > 0 && count == 2 && descriptors[1].revents != 0;
}

static void drain_database(hora_durable *durable)
{
    hora__backend *backend = durable->store->backend;
    int64_t due = backend->ops->wake_drain(backend);
    pthread_mutex_lock(&durable->lock);
    hora__node_woken(durable->node, due, hora__durable_now(durable));
    pthread_mutex_unlock(&durable->lock);
}

static void sleep_until(hora_durable *durable, hora_ns time)
{
    hora_ns delay = time - hora__durable_now(durable);
    if (delay > HORA_HOURS(1))
        delay = HORA_HOURS(1);
    if (delay > 0 && !atomic_load(&durable->awake)) {
        if (durable->wakes != NULL) {
            void *item;
            int error = hora_queue_poll_for(durable->wakes, delay, &item);
            (void)error; /* a timeout, or a wake-up */
        } else if (sleep_in_poll(durable, delay)) {
            drain_database(durable);
        }
    } else if (durable->wakes != NULL) {
        void *item;
        int error = hora_queue_poll(durable->wakes, &item);
        (void)error;
    } else {
        (void)sleep_in_poll(durable, 0);
    }
    atomic_store(&durable->awake, false);
}

/* ---- firings ---- */

static void start_timer(hora_durable *durable, hora__firing *firing)
{
    firing->durable = durable;
    if (!firing->timer_is_ready) {
        hora_timer_init(&firing->timer, hora__firing_run, firing);
        firing->timer_is_ready = true;
    }
    hora_ns delay = firing->held.start_at - hora__durable_now(durable);
    if (hora_timer_start(&firing->timer, durable->scheduler, delay) < 0) {
        /* No memory, or no thread: it is tried again, until the lease has run out. */
        firing->held.next_ready = durable->unstarted == NULL ? NULL : &durable->unstarted->held;
        durable->unstarted = firing;
    }
}

/* The node gave these up before their time. Their timers are stopped without the lock, because a timer's
 * function takes it. */
static void forget(hora_durable *durable, hora__held *dropped)
{
    for (hora__held *held = dropped; held != NULL; held = held->next_ready) {
        hora__firing *firing = (hora__firing *)held;
        if (firing->timer_is_ready)
            (void)hora_timer_stop(&firing->timer);
    }
    pthread_mutex_lock(&durable->lock);
    while (dropped != NULL) {
        hora__held *next = dropped->next_ready;
        hora__node_forget(durable->node, dropped);
        dropped = next;
    }
    pthread_mutex_unlock(&durable->lock);
}

/* Requires that the lock is not held: hora_timer_start may call functions of the program. */
static void start_timers(hora_durable *durable, hora__held *held)
{
    while (held != NULL) {
        hora__held *next = held->next_ready;
        start_timer(durable, (hora__firing *)held);
        held = next;
    }
}

/* Makes timers for firings that the node has become ready for, and stops those that must stop. Requires
 * that the lock is not held. */
static void hand_over(hora_durable *durable)
{
    hora__held *again = durable->unstarted == NULL ? NULL : &durable->unstarted->held;
    durable->unstarted = NULL;
    start_timers(durable, again);
    pthread_mutex_lock(&durable->lock);
    hora__held *ready = hora__node_take_ready(durable->node);
    pthread_mutex_unlock(&durable->lock);
    start_timers(durable, ready);
    if (ready != NULL)
        HORA__STEP("node: timers started");
    pthread_mutex_lock(&durable->lock);
    hora__held *stopped = hora__node_take_stopped(durable->node);
    while (stopped != NULL) {
        hora__held *next = stopped->next_ready;
        hora__firing_stop((hora__firing *)stopped, (stopped->lost ? HORA__STOP_LOST : 0U) |
                                                       (stopped->cancelled ? HORA__STOP_CANCELLED : 0U));
        stopped = next;
    }
    hora__held *dropped = hora__node_take_dropped(durable->node);
    pthread_mutex_unlock(&durable->lock);
    if (dropped != NULL)
        forget(durable, dropped);
    hora__durable_call_stops(durable);
}

/* ---- calls to the store ---- */

static void notify(hora_durable *durable, hora_durable_event event, int64_t count, const hora_error *error)
{
    if (durable->options.notify != NULL)
        durable->options.notify(durable, event, count, error, durable->options.notify_arg);
}

static void set_connected(hora_durable *durable, bool connected, const hora_error *reason)
{
    pthread_mutex_lock(&durable->lock);
    bool changed = durable->connected != connected;
    durable->connected = connected;
    pthread_mutex_unlock(&durable->lock);
    if (changed)
        notify(durable, connected ? HORA_DURABLE_CONNECTED : HORA_DURABLE_DISCONNECTED, 0, reason);
}

static void succeeded(loop *state)
{
    state->pause = 0;
    set_connected(state->durable, true, NULL);
}

static void failed(loop *state, const hora_error *reason)
{
    if (reason->code == HORA_EIO)
        set_connected(state->durable, false, reason);
    else
        notify(state->durable, HORA_DURABLE_FAILED, 0, reason);
    state->pause = state->pause == 0 ? FIRST_PAUSE : state->pause * 2;
    if (state->pause > LONGEST_PAUSE)
        state->pause = LONGEST_PAUSE;
    state->not_until = hora__durable_now(state->durable) + state->pause;
}

/* Gives up what is held and not started: the lease has run out. */
static void fence(hora_durable *durable)
{
    durable->unstarted = NULL; /* the node drops them, too */
    pthread_mutex_lock(&durable->lock);
    hora__node_fenced(durable->node);
    pthread_mutex_unlock(&durable->lock);
    hand_over(durable);
    notify(durable, HORA_DURABLE_FENCED, 0, NULL);
}

static void join(loop *state)
{
    hora_durable *durable = state->durable;
    hora__backend *backend = durable->store->backend;
    hora__lease lease;
    hora_error reason;
    hora_ns sent = hora__durable_now(durable);
    HORA__STEP("node: before join");
    int error = backend->ops->join(backend, durable->name, durable->options.lease / 1000, &lease, &reason);
    if (error < 0) {
        failed(state, &reason);
        return;
    }
    pthread_mutex_lock(&durable->lock);
    hora__node_joined(durable->node, &lease, sent);
    pthread_mutex_unlock(&durable->lock);
    succeeded(state);
}

/* Hands back what has not been started. Requires the lock. */
static void hand_back(hora_durable *durable)
{
    hora__held *held = durable->unstarted == NULL ? NULL : &durable->unstarted->held;
    durable->unstarted = NULL;
    while (held != NULL) {
        hora__held *next = held->next_ready;
        if (held->accepted) { /* the node keeps only these */
            held->next_ready = durable->unstarted == NULL ? NULL : &durable->unstarted->held;
            durable->unstarted = (hora__firing *)held;
        }
        held = next;
    }
    hora__node_hand_back(durable->node);
}

static void exchange(loop *state)
{
    hora_durable *durable = state->durable;
    hora__backend *backend = durable->store->backend;
    hora__exchange said = {.ret_reap = false};
    hora_error reason;
    pthread_mutex_lock(&durable->lock);
    const hora__lease lease = *hora__node_lease(durable->node);
    hora_ns sent = hora__durable_now(durable);
    hora__node_prepare(durable->node, sent, &said);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("node: before exchange");
    int error = backend->ops->exchange(backend, &lease, &said, &reason);
    HORA__STEP("node: after exchange");
    hora_ns received = hora__durable_now(durable);
    int64_t step = 0;
    int stale = 0;
    pthread_mutex_lock(&durable->lock);
    if (error == 0)
        stale = hora__node_exchanged(durable->node, sent, received, &said, &step);
    else
        hora__node_failed(durable->node, received);
    if (step != 0)
        hand_back(durable);
    hora__durable_changed(durable);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("node: reply noted");
    if (error == 0 && said.ret_reap)
        state->next_reap = received;
    if (error == 0)
        succeeded(state);
    else if (error == HORA_EEXPIRED)
        fence(durable);
    else
        failed(state, &reason);
    if (stale > 0)
        notify(durable, HORA_DURABLE_STALE, stale, NULL);
    if (step != 0)
        notify(durable, HORA_DURABLE_CLOCK_STEPPED, step, NULL);
}

/* Takes over the firings of dead nodes. */
static void reap(loop *state)
{
    hora_durable *durable = state->durable;
    hora__backend *backend = durable->store->backend;
    hora_error reason;
    int64_t released = 0;
    pthread_mutex_lock(&durable->lock);
    const hora__lease lease = *hora__node_lease(durable->node);
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("node: before reap");
    int error = backend->ops->reap(backend, &lease, REAP_LIMIT, &released, &reason);
    hora_ns now = hora__durable_now(durable);
    if (error < 0) {
        if (error != HORA_EEXPIRED) /* the next exchange says so, too */
            failed(state, &reason);
        state->next_reap = now + durable->options.lease;
        return;
    }
    /* The exchange says when a lease has ended; this is for a store that does not say it. */
    state->next_reap = released >= REAP_LIMIT ? now : now + durable->options.lease;
    if (released == 0)
        return;
    pthread_mutex_lock(&durable->lock);
    durable->taken_over += released;
    hora__node_woken(durable->node, INT64_MIN, now);
    pthread_mutex_unlock(&durable->lock);
    notify(durable, HORA_DURABLE_TOOK_OVER, released, NULL);
}

/* ---- the loop ---- */

typedef enum step {
    STEP_SLEEP,
    STEP_EXCHANGE,
    STEP_REAP,
    STEP_JOIN,
    STEP_FENCE,
    STEP_DRAIN,
    STEP_LEAVE,
} step;

/* Decides what to do now, or until when to sleep. Requires the lock. */
static step decide_locked(const loop *state, hora_ns *ret_until)
{
    *ret_until = HORA_FOREVER;
    const hora_durable *durable = state->durable;
    hora_ns now = hora__durable_now(durable);
    bool joined = hora__node_lease(durable->node) != NULL;
    bool stopping = durable->phase == HORA__DURABLE_STOPPING;
    bool empty = hora__node_is_empty(durable->node);
    hora_ns next = joined ? hora__node_next_exchange(durable->node, now) : now;
    bool has_lease = joined && hora__node_has_lease(durable->node, now);
    /* Without a lease, outcomes may never be written: the store may be gone for good. */
    bool cannot_wait = !has_lease && hora__node_get_counts(durable->node).running == 0;
    bool leave = stopping && (empty || durable->leave_now || cannot_wait);
    if (stopping && !state->drained)
        return STEP_DRAIN;
    if (leave)
        return STEP_LEAVE;
    if (joined && !has_lease)
        return STEP_FENCE;
    if (next < state->not_until)
        next = state->not_until;
    hora_ns reap_at = stopping || !joined ? HORA_FOREVER : state->next_reap;
    if (reap_at < state->not_until)
        reap_at = state->not_until;
    *ret_until = next < reap_at ? next : reap_at;
    if (durable->unstarted != NULL && *ret_until > now + HORA_MS(10))
        *ret_until = now + HORA_MS(10);
    if (next <= now)
        return joined ? STEP_EXCHANGE : STEP_JOIN;
    return reap_at <= now ? STEP_REAP : STEP_SLEEP;
}

static step decide(loop *state, hora_ns *ret_until)
{
    hora_durable *durable = state->durable;
    pthread_mutex_lock(&durable->lock);
    step next = decide_locked(state, ret_until);
    durable->sleeps_until = next == STEP_SLEEP ? *ret_until : INT64_MIN;
    pthread_mutex_unlock(&durable->lock);
    return next;
}

static void drain(loop *state)
{
    state->drained = true;
    pthread_mutex_lock(&state->durable->lock);
    hand_back(state->durable);
    hora__node_drain(state->durable->node);
    pthread_mutex_unlock(&state->durable->lock);
}

static void leave(hora_durable *durable)
{
    hora__backend *backend = durable->store->backend;
    hora_error reason;
    pthread_mutex_lock(&durable->lock);
    const hora__lease *joined = hora__node_lease(durable->node);
    hora__lease lease = {.node = 0};
    if (joined != NULL)
        lease = *joined;
    pthread_mutex_unlock(&durable->lock);
    HORA__STEP("node: before leave");
    int error = joined == NULL ? 0 : backend->ops->leave(backend, &lease, &reason);
    pthread_mutex_lock(&durable->lock);
    durable->leave_error = error;
    durable->has_thread = false;
    durable->phase = HORA__DURABLE_STOPPED;
    hora__durable_changed(durable);
    pthread_mutex_unlock(&durable->lock);
    hora__durable_call_stops(durable); /* of runs that were detached meanwhile */
}

int hora__durable_loop(void *arg, void **ret_result)
{
    (void)ret_result;
    loop state = {.durable = arg};
    state.next_reap = hora__durable_now(state.durable); /* a node that restarts finds what it left */
    pthread_mutex_lock(&state.durable->lock);
    state.durable->node_thread = pthread_self();
    state.durable->has_thread = true;
    pthread_mutex_unlock(&state.durable->lock);
    for (;;) {
        hora_ns until;
        hand_over(state.durable);
        switch (decide(&state, &until)) {
        case STEP_SLEEP:
            sleep_until(state.durable, until);
            break;
        case STEP_EXCHANGE:
            exchange(&state);
            break;
        case STEP_REAP:
            reap(&state);
            break;
        case STEP_JOIN:
            join(&state);
            break;
        case STEP_FENCE:
            fence(state.durable);
            break;
        case STEP_DRAIN:
            drain(&state);
            break;
        case STEP_LEAVE:
            leave(state.durable);
            return 0;
        }
    }
}
