/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - the watchdog: a thread next to a pool that checks limits of tasks, stuck workers and growth
 *
 * The watchdog starts its thread when it is first needed. The thread ends in hora_pool_free, after the last
 * worker; only memory remains then. */
#ifndef HORA_OBSERVE_WATCHDOG_H
#define HORA_OBSERVE_WATCHDOG_H

#include <hora/event.h>

#include "sync/object.h"
#include "sys/thread.h"
#include "timer/heap.h"

struct hora__pool_observer;
struct hora__watchdog_check;

/* Work that a check leaves for after the lock of the watchdog is released: calls of user functions and of
 * functions that take locks. It lies on the stack of the watchdog's thread and contains copies of everything
 * that may be gone by then. */
struct hora__watchdog_action {
    void (*act)(struct hora__watchdog_action *action); /* NULL: nothing to do */
    struct hora__pool_observer *pool_observer;
    struct hora__watchdog_check *check;
    hora_future *future; /* a reference, which act takes over; NULL: none */
    hora_ns now;
    hora_task task;   /* name and source location of the task that is reported */
    hora_event event; /* for a stuck run */
    int replaced_run; /* for a stuck run: replace the worker if it is still in this run; 0: do not */
};

struct hora__watchdog_check {
    struct hora__timer_node timer; /* first; the lock of the watchdog guards it */
    /* The time has come, and the check is no longer set. Called with the lock of the watchdog held. Returns
     * when to look next, or HORA_FOREVER. */
    hora_ns (*look)(struct hora__watchdog_check *check, hora_ns now, struct hora__watchdog_action *action);
    /* The watchdog was closed while this was set. Called with no lock held. NULL: nothing to do. */
    void (*dropped)(struct hora__watchdog_check *check);
};

struct hora__watchdog {
    struct hora__object object;
    struct hora__pool_observer *pool_observer; /* immutable */
    bool is_attached;                          /* to the pool's virtual clock; only its thread uses it */
    hora__atomic thread_id;                    /* hora__thread_id() of its thread; 0: none yet */

    /* object.lock guards the fields below */
    /* checks that are set, by time; with a reserved slot for each check that may be set */
    struct hora__timer_heap checks;
    uint64_t sequence;
    hora_ns sleeps_until; /* when its thread looks by itself; HORA_NEVER: it is awake */
    struct hora__list sleepers;
    bool has_thread;
    bool is_closed; /* no check can be set any more */
    hora_thread *prepared;
    hora__os_thread os_thread;
};

__attribute__((warn_unused_result)) int hora__watchdog_new(struct hora__pool_observer *pool_observer,
                                                           struct hora__watchdog **ret_watchdog);
void hora__watchdog_free(struct hora__watchdog *watchdog);

/* The pool ends, and its workers are gone: ends the thread and drops the checks that are set. Must not be
 * called in that thread. */
void hora__watchdog_close(struct hora__watchdog *watchdog);

/* Whether the calling thread is the watchdog's thread. */
bool hora__watchdog_is_me(struct hora__watchdog *watchdog);

/* Starts the thread if it is not running yet. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__watchdog_start(struct hora__watchdog *watchdog);

/* Reserves room for so many checks, so that setting them cannot fail; unreserve undoes it. Returns 0,
 * HORA_ENOMEM or HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__watchdog_reserve(struct hora__watchdog *watchdog, int checks);
void hora__watchdog_unreserve(struct hora__watchdog *watchdog, int checks);

void hora__watchdog_check_init(struct hora__watchdog_check *check,
                               hora_ns (*look)(struct hora__watchdog_check *check, hora_ns now,
                                               struct hora__watchdog_action *action),
                               void (*dropped)(struct hora__watchdog_check *check));

/* Sets a check for a time on the pool's clock; if it is already set, for the earlier of the two times. Room
 * must be reserved. Returns false if the watchdog is closed. */
bool hora__watchdog_set(struct hora__watchdog *watchdog, struct hora__watchdog_check *check, hora_ns at);

/* Cancels a check. Returns whether it was set; if not, the watchdog has looked, or is about to act. */
bool hora__watchdog_unset(struct hora__watchdog *watchdog, struct hora__watchdog_check *check);

#endif
