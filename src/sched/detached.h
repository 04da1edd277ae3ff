/* SPDX-License-Identifier: Apache-2.0 */
/* detached.h - a detached task: one that waits in the timer queue without a future
 *
 * Two kinds     A task that the caller scheduled without asking for a future lives in a free list of the
 *               timer queue. A hora_timer lives in memory of the caller. Both are a struct hora__detached: a
 *               function, its argument, and an entry of the timer queue. They have no outcome. A worker that
 *               takes one copies what it needs to run it.
 * Task          Followed by its optional parts: those members of the hora_task that are not NULL. There may
 *               be millions of tasks, so each is as small as possible. No thread has a handle of it, and none
 *               can cancel it. Before any thread but a taker looks at the entries, tasks become futures
 *               (hora__timer_queue_show).
 * Timer         Followed by words of its own. Its caller can cancel, move and stop it. It never becomes a
 *               future. */
#ifndef HORA_SCHED_DETACHED_H
#define HORA_SCHED_DETACHED_H

#include <assert.h>
#include <hora/task.h>
#include <hora/timer.h>

#include "exec/pool.h"
#include "sched/timer_queue.h"
#include "timer/free_list.h"

/* The optional parts of a task, in the order in which they follow it. */
enum hora__detached_part { HORA__PART_DROP = 1, HORA__PART_DROP_RESULT = 2, HORA__PART_NAME = 4 };

struct hora__detached {
    union {
        hora_run_fn run_task;
        hora_timer_fn run_timer; /* of a timer: only calls of its owner write this, `arg` and `pool` */
        struct hora__entry *next_picked; /* of a task: in a chain of swept entries, which never run */
    };
    void *arg;
    union {
        const char *file; /* of a task: where it was scheduled, and in which line */
        hora_pool *pool;  /* of a timer: where it was started last, and is pending or running, if at all */
    };
    union {
        int line;
        /* Of a timer: 1 while it is in a lane or in the heap. Written under the lock of the lane, or of the
         * timer queue. The library writes 0 last of all: from then on the timer is the caller's. */
        hora__atomic pending;
    };
    /* The lane by which it comes in. Of a task: whose free list it belongs to. Of a timer: written by
     * hora_timer_start, but not once the timer was taken, since then its function may start it while it is
     * stopped. */
    uint8_t lane;
    uint8_t parts; /* of a task: which of enum hora__detached_part follow */
    union {
        uint16_t offset; /* of a task: in its chunk */
        uint16_t spot;   /* of a timer: see hora__node_spot */
    };
    struct hora__entry entry;
};

/* The inside of a hora_timer. */
struct hora__timer {
    struct hora__detached task;
    /* 1: a worker has taken the timer, so its function may be running. Written under the timer queue's lock,
     * before `pending` is 0. */
    hora__atomic taken;
    /* The number of hora_timer_stop calls that wait for its function; meanwhile it is not started. Read under
     * the lock by which it comes in. */
    hora__atomic stopping;
    uint32_t spare[2];
};

static inline struct hora__detached *hora__detached_of(struct hora__entry *entry)
{
    assert(entry->is_detached);
    return HORA__LIST_ENTRY(entry, struct hora__detached, entry);
}

static inline struct hora__timer *hora__timer_of(struct hora__entry *entry)
{
    assert(entry->is_timer);
    return HORA__LIST_ENTRY(entry, struct hora__timer, task.entry);
}

/* The public struct has no members of its own but these bytes. */
static inline struct hora__timer *hora__timer_inside(hora_timer *timer)
{
    return (struct hora__timer *)(void *)timer;
}

/* ---- timer_queue_detached.c ---- */

/* The hora_task that a detached task was made of. */
hora_task hora__detached_task(const struct hora__detached *detached);

/* Insert a timer that is out and has its pool, due at a time of the timer queue's own clock. `now` is when
 * the inserting call began. From then on the timer is not the caller's; *ret_number is by which it can be
 * withdrawn. On error nothing has changed: HORA_ENOMEM, HORA_EFULL, HORA_EBUSY (it is being stopped),
 * HORA_ENOTSUP (the pool is shut down). put_timer does not use a lane: for a scheduler that shows its timers,
 * or is steered. */
__attribute__((warn_unused_result)) int hora__timer_queue_insert_timer(struct hora__timer *timer, hora_ns now,
                                                                       hora_ns due, uint64_t *ret_number);
__attribute__((warn_unused_result)) int hora__timer_queue_put_timer(struct hora__timer *timer, hora_ns due,
                                                                    uint64_t *ret_number);

/* The same for a timer that is pending in the queue of its pool, or was a moment ago. 1: it was moved, and
 * the earlier start is booked as cancelled. 0: it had left, and was inserted. */
__attribute__((warn_unused_result)) int hora__timer_queue_move_timer(struct hora__timer *timer, hora_ns now,
                                                                     hora_ns due, bool is_long,
                                                                     uint64_t *ret_number);

/* Reserve a slot for a timer that comes from another scheduler: HORA_ENOMEM, HORA_EFULL, HORA_ENOTSUP. Then
 * either give it up, or use it for a timer that is out and has its pool: HORA_EBUSY, HORA_ENOTSUP. In any
 * case the slot is not reserved any more. */
__attribute__((warn_unused_result)) int hora__timer_queue_keep_timer_place(hora_pool *pool);
void hora__timer_queue_give_up_timer_place(hora_pool *pool);
__attribute__((warn_unused_result)) int hora__timer_queue_place_timer(struct hora__timer *timer, hora_ns due,
                                                                      uint64_t *ret_number);

/* Cancel a timer for its caller, and book that. UNPOSTED: it was in a lane, and no thread waits for cancelled
 * tasks to be gone; the call did not need the lock of the timer queue, and no thread must be told. */
enum hora__timer_cancel { HORA__TIMER_NOT_THERE, HORA__TIMER_UNPOSTED, HORA__TIMER_REMOVED };
enum hora__timer_cancel hora__timer_queue_cancel_timer(struct hora__timer *timer);

/* The same, only if it is in a lane. Returns whether it was. */
bool hora__timer_queue_cancel_timer_in_lane(struct hora__timer *timer);

/* Whether its function runs on a worker of its pool, or is about to. The pool exists. */
bool hora__timer_queue_runs_timer(const struct hora__timer *timer);

/* Remove a pending timer, and wait until no worker has it, unless the calling thread is in its function.
 * Meanwhile `stopping` counts the caller. Returns a hora_cancel. */
int hora__timer_queue_stop_timer(struct hora__timer *timer, bool in_function, hora_thread *thread);

/* A worker begins, and ends: in between other threads see which timer it has taken. hora__timer_queue_ran:
 * see struct hora__queue_kind. */
void hora__timer_queue_worker_begins(hora_queue *queue, struct hora__timer_run *run);
void hora__timer_queue_worker_ends(hora_queue *queue, struct hora__timer_run *run);
void hora__timer_queue_ran(hora_queue *queue, struct hora__taken *taken, struct hora__wakes *wakes);

/* With the lock: remove every timer for which `visit` returns true, and book it as cancelled. Returns their
 * number. */
int hora__timer_queue_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                                  void *arg, struct hora__books *books);

#endif
