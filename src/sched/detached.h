/* SPDX-License-Identifier: Apache-2.0 */
/* detached.h - a detached task: one that waits in the timer queue without a future
 *
 * Two kinds     A task that the caller scheduled without asking for a future is in memory of a lane's free
 *               list. A hora_timer is in memory of the caller. Both are a struct hora__detached: a function,
 *               its argument, and an entry of the timer queue. They have no outcome. A worker that takes one
 *               copies what it needs to run it.
 * Task          Followed in memory by its optional parts: those members of the hora_task that are not NULL.
 *               There may be millions of tasks, so each is as small as possible. No thread has a handle to
 *               it, so none can cancel it. Before any thread other than a taker looks at the entries, all
 *               tasks are turned into futures (hora__timer_queue_show).
 * Timer         Followed in memory by the other members of struct hora__timer. The caller can cancel, move
 *               and stop it. It never becomes a future. */
#ifndef HORA_SCHED_DETACHED_H
#define HORA_SCHED_DETACHED_H

#include <assert.h>
#include <hora/task.h>
#include <hora/timer.h>

#include "exec/pool.h"
#include "sched/timer_queue.h"
#include "sys/free_list.h"

/* The optional parts of a task, in the order in which they follow it. Each takes one word. */
enum hora__detached_part { HORA__PART_DROP = 1, HORA__PART_DROP_RESULT = 2, HORA__PART_NAME = 4 };

/* A detached task or a timer. While a task is queued, nothing of it changes. The members of a timer change at
 * each start. */
struct hora__detached {
    union {
        /* The function of a task. */
        hora_run_fn run_task;
        /* The function of a timer. Only calls of the timer's owner write this, `arg` and `pool`. */
        hora_timer_fn run_timer;
        /* Of a task that does not run any more: the link of a chain of swept entries, or in `left` of the
         * timer queue. */
        struct hora__entry *next_picked;
    };
    void *arg;
    union {
        /* Of a task: the source file in which it was scheduled. */
        const char *file;
        /* Of a timer: the scheduler on which it was started last, and is pending or running, if at all; NULL:
         * none. */
        hora_pool *pool;
    };
    union {
        /* Of a task: the line in `file`. */
        int line;
        /* Of a timer: 1 while it is in a lane or in the heap. Written under the lock of the lane or of the
         * timer queue. The library writes 0 as its last access: from then on the memory belongs to the
         * caller. */
        hora__atomic pending;
    };
    /* The lane by which the entry is inserted. Of a task: the lane whose free list the memory belongs to. Of
     * a timer: hora_timer_start writes it, but not once the timer was taken. Then the function may start the
     * timer while another thread, which stops it, reads this field without a lock. */
    uint8_t lane;
    /* Of a task: a set of enum hora__detached_part, the parts that follow. */
    uint8_t parts;
    union {
        /* Of a task: its offset in its chunk of the free list. */
        uint16_t offset;
        /* Of a timer: its position in its lane; see hora__node_spot. */
        uint16_t spot;
    };
    struct hora__entry entry;
};

/* The members of a hora_timer. hora/timer.h freezes the size. */
struct hora__timer {
    struct hora__detached task;
    /* 1: a worker has taken the timer since it was last stopped or started on another scheduler, so its
     * function may be running. Set under the timer queue's lock, before `pending` becomes 0. A timer that was
     * not taken can be stopped by cancelling it. */
    hora__atomic taken;
    /* The number of hora_timer_stop calls that wait for the function. While it is not 0, the function cannot
     * start the timer. The inserting thread reads it under the lock by which it inserts. */
    hora__atomic stopping;
    /* Unused, so that the layout can stay frozen. */
    uint32_t spare[2];
};

/* Returns the detached task or timer that contains an entry. */
static inline struct hora__detached *hora__detached_of(struct hora__entry *entry)
{
    assert(entry->is_detached);
    return HORA__LIST_ENTRY(entry, struct hora__detached, entry);
}

/* Returns the timer that contains an entry. */
static inline struct hora__timer *hora__timer_of(struct hora__entry *entry)
{
    assert(entry->is_timer);
    return HORA__LIST_ENTRY(entry, struct hora__timer, task.entry);
}

/* Returns the members of a hora_timer. The public struct only reserves their bytes. */
static inline struct hora__timer *hora__timer_inside(hora_timer *timer)
{
    return (struct hora__timer *)(void *)timer;
}

/* ---- timer_queue_detached.c ---- */

/* Returns the hora_task from which a detached task was made. */
hora_task hora__detached_task(const struct hora__detached *detached);

/* Inserts a timer that is not pending, and whose `pool` is set, due at a time of the timer queue's own clock.
 * `now` is when the inserting call began. On success the memory of the timer belongs to the library, and a
 * worker may already have taken the timer; *ret_number identifies it for hora__timer_queue_withdraw. Returns
 * 0, HORA_ENOMEM, HORA_EFULL, HORA_EBUSY (another thread stops the timer) or HORA_ENOTSUP (the pool is shut
 * down); on error nothing has changed. hora__timer_queue_put_timer uses no lane: it is for schedulers that
 * show their timers or have admission. */
__attribute__((warn_unused_result)) int hora__timer_queue_insert_timer(struct hora__timer *timer, hora_ns now,
                                                                       hora_ns due, uint64_t *ret_number);
__attribute__((warn_unused_result)) int hora__timer_queue_put_timer(struct hora__timer *timer, hora_ns due,
                                                                    uint64_t *ret_number);

/* When a timer runs, by the scheduler's own clock. */
struct hora__timer_times {
    hora_ns now;       /* when the call began; not set if uses_no_lane */
    hora_ns due;       /* from when on it can be taken */
    bool uses_no_lane; /* the scheduler shows its timers or has admission */
};

/* Moves a timer that is pending in the queue of its pool, or was a moment ago. Returns 1 if it was moved; the
 * earlier start is then booked as cancelled. Returns 0 if it had been taken or cancelled by its scheduler,
 * and was inserted. Errors are those of hora__timer_queue_insert_timer. */
__attribute__((warn_unused_result)) int hora__timer_queue_move_timer(struct hora__timer *timer,
                                                                     const struct hora__timer_times *times,
                                                                     uint64_t *ret_number);

/* A timer that is pending on another scheduler moves in two steps. hora__timer_queue_keep_timer_place
 * reserves a slot in this one: 0, HORA_ENOMEM, HORA_EFULL, HORA_ENOTSUP (the pool is shut down). Then the
 * caller either gives the slot up, or places the timer, which is not pending and whose `pool` is set: 0,
 * HORA_EBUSY, HORA_ENOTSUP. In each case the slot is not reserved any more. */
__attribute__((warn_unused_result)) int hora__timer_queue_keep_timer_place(hora_pool *pool);
void hora__timer_queue_give_up_timer_place(hora_pool *pool);
__attribute__((warn_unused_result)) int hora__timer_queue_place_timer(struct hora__timer *timer, hora_ns due,
                                                                      uint64_t *ret_number);

/* Cancels a timer for its caller, and books that. Returns NOT_THERE if the timer was not pending.
 * REMOVED_IN_LANE: it was removed from its lane, without the lock of the timer queue, and no thread has to be
 * notified. REMOVED: it was removed under that lock, and the caller notifies the pool. */
enum hora__timer_cancel { HORA__TIMER_NOT_THERE, HORA__TIMER_REMOVED_IN_LANE, HORA__TIMER_REMOVED };
enum hora__timer_cancel hora__timer_queue_cancel_timer(struct hora__timer *timer);

/* Cancels a timer only if it is in its lane and no thread has to be notified. Returns whether it was
 * cancelled. */
bool hora__timer_queue_cancel_timer_in_lane(struct hora__timer *timer);

/* Returns whether a worker of the timer's pool runs its function, or is about to. The caller knows that the
 * pool exists. */
bool hora__timer_queue_runs_timer(const struct hora__timer *timer);

/* Removes a pending timer, and waits until no worker has it; does not wait if the calling thread is in its
 * function. The caller has raised `stopping`. Returns a hora_cancel. */
int hora__timer_queue_stop_timer(struct hora__timer *timer, bool in_function, hora_thread *thread);

/* Members of struct hora__pool_kind. Enter the note of a worker that starts into the timer queue's list, and
 * remove it when the worker ends. In between, a thread that holds the lock sees which timer the worker has
 * taken. */
void hora__timer_queue_worker_begins(hora_pool *pool, struct hora__timer_run *run);
void hora__timer_queue_worker_ends(hora_pool *pool, struct hora__timer_run *run);

/* Clears the note of a worker whose timer has run, and wakes the threads that stop a timer. The caller holds
 * the lock. With admission the run ends here, so the caller serves the queue or takes the next task. */
void hora__timer_queue_ran(hora_queue *queue, struct hora__taken *taken, struct hora__wakes *wakes);

/* Removes every timer for which `visit` returns true, and books it as cancelled. The caller holds the lock,
 * and serves the queue. Returns the number of timers removed. */
int hora__timer_queue_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                                  void *arg, struct hora__books *books);

#endif
