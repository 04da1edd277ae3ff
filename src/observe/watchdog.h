/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - the watchdog: a thread next to a pool that checks limits of tasks, stuck workers and growth
 *
 * The thread starts when it is first needed. It ends in hora_pool_free, after the last worker; only memory
 * remains then. */
#ifndef HORA_OBSERVE_WATCHDOG_H
#define HORA_OBSERVE_WATCHDOG_H

#include <hora/event.h>

#include "sync/object.h"
#include "sys/thread.h"
#include "timer/heap.h"

struct hora__pool_observer;
struct hora__watchdog_check;

/* Work that a check leaves until the lock of the watchdog is released: calls of user functions and of
 * functions that take locks. It lies on the stack of the watchdog's thread and contains copies of everything
 * that may be gone by then. */
struct hora__watchdog_action {
    void (*act)(struct hora__watchdog_action *action); /* NULL: nothing to do */
    struct hora__pool_observer *pool_observer;
    struct hora__watchdog_check *check; /* the check that asks for the action, if `act` needs it */
    hora_future *future;                /* a reference, which `act` takes over; NULL: none */
    hora_ns now;                        /* the time of the check, on the pool's clock */
    hora_task task;                     /* name and source location of the task that is reported */
    hora_event event;                   /* for a stuck run: what is reported */
    int replaced_run; /* for a stuck run: replace the worker if it is still in this run; 0: do not */
};

/* Something to check at a time. It is embedded in the object that it checks. A check is set, which means that
 * it is in the heap, or not. */
struct hora__watchdog_check {
    struct hora__timer_node timer; /* first; the lock of the watchdog guards it */
    /* Called when the time has come, by the watchdog's thread, with its lock held; the check is no longer
     * set. Fills *action if there is work to do without the lock. Returns the time of the next check;
     * HORA_FOREVER: none. */
    hora_ns (*look)(struct hora__watchdog_check *check, hora_ns now, struct hora__watchdog_action *action);
    /* Called with no lock held if the watchdog is closed while the check is set. NULL: nothing to do. */
    void (*dropped)(struct hora__watchdog_check *check);
};

struct hora__watchdog {
    struct hora__object object;                /* on the pool's clock; only the thread waits on it */
    struct hora__pool_observer *pool_observer; /* immutable */
    bool is_attached;                          /* to the pool's virtual clock; only its thread uses it */
    hora__atomic thread_id;                    /* hora__thread_id() of its thread; 0: none yet */

    /* object.lock guards the fields below. */

    /* The checks that are set, by time, and a reserved slot for each check that may be set. */
    struct hora__timer_heap checks;
    uint64_t sequence;          /* number of the next check; orders checks that are due at the same time */
    hora_ns sleeps_until;       /* when its thread wakes by itself; HORA_NEVER: it is awake */
    struct hora__list sleepers; /* the waiter of its thread, while it sleeps */
    bool has_thread;            /* os_thread is running and must be joined */
    bool is_closed;             /* no check can be set any more */
    hora_thread *prepared;      /* the record that the thread adopts when it begins */
    hora__os_thread os_thread;  /* valid if has_thread */
};

/* Makes a watchdog without a thread. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__watchdog_new(struct hora__pool_observer *pool_observer,
                                                           struct hora__watchdog **ret_watchdog);

/* Frees a watchdog, which must be closed. NULL is allowed. */
void hora__watchdog_free(struct hora__watchdog *watchdog);

/* Ends the thread and drops the checks that are set, because the pool ends. The pool's workers must be gone.
 * Must not be called in the watchdog's thread, which it waits for. */
void hora__watchdog_close(struct hora__watchdog *watchdog);

/* Returns whether the calling thread is the watchdog's thread. */
bool hora__watchdog_is_own_thread(struct hora__watchdog *watchdog);

/* Starts the thread if it is not running yet and the watchdog is not closed. Returns 0, HORA_ENOMEM or
 * HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__watchdog_start(struct hora__watchdog *watchdog);

/* reserve makes room for this many checks, so that setting them cannot fail; unreserve undoes that. reserve
 * returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__watchdog_reserve(struct hora__watchdog *watchdog, int checks);
void hora__watchdog_unreserve(struct hora__watchdog *watchdog, int checks);

/* Initialises a check that is not set. `dropped` may be NULL. */
void hora__watchdog_check_init(struct hora__watchdog_check *check,
                               hora_ns (*look)(struct hora__watchdog_check *check, hora_ns now,
                                               struct hora__watchdog_action *action),
                               void (*dropped)(struct hora__watchdog_check *check));

/* Sets a check for a time on the pool's clock; if it is already set, for the earlier of the two times. Room
 * must be reserved. Wakes the thread if it would sleep for too long. Returns false if the watchdog is
 * closed. */
bool hora__watchdog_set(struct hora__watchdog *watchdog, struct hora__watchdog_check *check, hora_ns at);

/* Moves a check to an earlier time. Does nothing if it is not set, or is due before `at` anyway. */
void hora__watchdog_bring_forward(struct hora__watchdog *watchdog, struct hora__watchdog_check *check,
                                  hora_ns at);

/* Cancels a check. Returns whether it was set. If not, it was never set, or its `look` has been called and
 * the action may still be running. */
bool hora__watchdog_unset(struct hora__watchdog *watchdog, struct hora__watchdog_check *check);

#endif
