/* SPDX-License-Identifier: Apache-2.0 */
/* timeout.h - what a hora_timer consists of: a task that waits in the agenda in memory of the caller
 *
 * Its entry stands in a shard or in the agenda's heap, as that of what runs once does, and knows where: so it is found when it is
 * cancelled. Like an errand it has no future: a worker copies what it takes. */
#ifndef HORA_SCHED_TIMEOUT_H
#define HORA_SCHED_TIMEOUT_H

#include <hora/timer.h>

#include "exec/pool.h"
#include "sched/agenda.h"
#include "sched/shards.h"

struct hora__timeout {
    /* These three are written by the caller's calls alone. */
    hora_timer_fn run;
    void *arg;
    /* Where it was started last. All that is known of it elsewhere, pending or running, is known there: see hora_timer_start. */
    hora_pool *pool;
    /* Written under the lock of the shard, or of the agenda; 0 last of all: from then on it is the caller's. */
    hora__atomic pending;
    /* By which shard it comes in. Written by hora_timer_start, but not once it was taken: then its function may start it while it is stopped. */
    uint8_t shard;
    uint8_t unused;
    /* Guarded by the shard's lock: where it stands there, from 1 on; 0: it does not. */
    uint16_t spot;
    struct hora__entry entry;
    /* 1: a worker has taken it, once, so its function may be running. Written under the agenda's lock, before `pending` is 0. */
    hora__atomic taken;
    /* How many calls of hora_timer_stop wait for its function: meanwhile it is not started. Read under the lock by which it comes in. */
    hora__atomic stopping;
    uint32_t spare[2];
};

/* All that the library knows of a timer is in it; nobody else looks inside. */
static inline struct hora__timeout *hora__timeout_of_timer(hora_timer *timer)
{
    return (struct hora__timeout *)(void *)timer;
}

static inline struct hora__timeout *hora__timeout_of(struct hora__entry *entry)
{
    return HORA__LIST_ENTRY(entry, struct hora__timeout, entry);
}

/* ---- agenda_timers.c ---- */

/* Put one in that is out and has its pool, due at a time of the agenda's own clock; `now` is when the call that does so began. From then on it
 * is not the caller's: its number. On error nothing has changed: HORA_ENOMEM, HORA_EFULL, HORA_EBUSY (it is being stopped). HORA_ENOTSUP: the pool
 * is shut down. And: the same, but not by way of a shard, for a scheduler that shows its timers, or is steered. */
__attribute__((warn_unused_result)) int hora__agenda_post_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due,
                                                                uint64_t *ret_number);
__attribute__((warn_unused_result)) int hora__agenda_put_timer(struct hora__timeout *timeout, hora_ns due,
                                                               uint64_t *ret_number);

/* The same of one that is pending in the agenda of its pool, or was a moment ago: 1: it has been moved, and the earlier start is booked as
 * cancelled; 0: it had left, and has been put in. */
__attribute__((warn_unused_result)) int hora__agenda_move_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due,
                                                                bool is_long, uint64_t *ret_number);

/* Keep a place for a timer that comes from another scheduler: HORA_ENOMEM, HORA_EFULL, HORA_ENOTSUP. Then either give it up, or put one in that
 * is out and has its pool, by that place: HORA_EBUSY, HORA_ENOTSUP, and in any case the place is kept no longer. */
__attribute__((warn_unused_result)) int hora__agenda_keep_timer_place(hora_pool *pool);
void hora__agenda_give_up_timer_place(hora_pool *pool);
__attribute__((warn_unused_result)) int hora__agenda_place_timer(struct hora__timeout *timeout, hora_ns due,
                                                                 uint64_t *ret_number);

/* Take one out, as if it had never been put in, if it is still there with this number. Whether it was. Nothing of it is touched if it was
 * not. Takes time in proportion to what is in. */
bool hora__agenda_withdraw_timer(hora_queue *queue, const struct hora__timeout *timeout, uint64_t number);

/* Take one out that its caller cancels, and book it; if it was posted only, and nobody waits for what is cancelled to be gone, without the
 * agenda's lock, and then nobody has to be told. */
enum hora__timer_cancel { HORA__TIMER_NOT_THERE, HORA__TIMER_UNPOSTED, HORA__TIMER_REMOVED };
enum hora__timer_cancel hora__agenda_cancel_timer(struct hora__timeout *timeout);

/* The same, if it was posted only. Whether that was so. */
bool hora__agenda_unpost_timer(struct hora__timeout *timeout);

/* Whether its function runs on a worker of its pool, or is about to. The pool exists. */
bool hora__agenda_runs_timer(const struct hora__timeout *timeout);

/* Take one out that is pending, and wait until no worker has it, unless the calling thread is in its function. Meanwhile `stopping` counts the
 * caller. A hora_cancel. */
int hora__agenda_stop_timer(struct hora__timeout *timeout, bool in_function, hora_thread *thread);

/* A worker begins, and ends: what it notes of timers can be seen in between. And: see struct hora__queue_kind. */
void hora__agenda_worker_begins(hora_queue *queue, struct hora__timer_run *run);
void hora__agenda_worker_ends(hora_queue *queue, struct hora__timer_run *run);
void hora__agenda_ran(hora_queue *queue, struct hora__cell *cell, struct hora__wakes *wakes);

/* With the lock: take out every timer for which `visit` says so, and book it as cancelled. How many these were. */
int hora__agenda_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                             struct hora__books *books);

#endif
