/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the record of each thread that uses hora: its parker, its interrupt flag, and whether it is
 * idle */
#ifndef HORA_SYNC_THREAD_H
#define HORA_SYNC_THREAD_H

#include <stdbool.h>

#include <hora/task.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/alloc.h"
#include "sys/event.h"
#include "sys/mutex.h"
#include "sys/parker.h"

struct hora_future;
struct hora__worker_observer;

/* The observer of a pool's worker; other threads have none. The worker calls it around the body of each
 * future or detached task that it runs as a worker, with no lock held. */
struct hora__worker_observer_kind {
    /* Returns 0, or the code with which the future fails instead. In that case the caller runs neither the
     * body nor `ended`. */
    int (*begins)(struct hora__worker_observer *worker_observer, struct hora_future *future,
                  const hora_task *task);
    void (*ended)(struct hora__worker_observer *worker_observer, struct hora_future *future,
                  const hora_task *task, int code);
};

struct hora__worker_observer {
    const struct hora__worker_observer_kind *kind;
    const void *owner; /* the struct hora__queue_owner of its pool; immutable */
    /* When the task that is about to begin was submitted, as a stamp; HORA_NEVER: unknown. Only the thread
     * itself uses it. */
    int64_t came;
    /* The thread has waited for work since its last task ended. Only the thread itself uses it. */
    bool has_waited;
};

struct hora_thread {
    hora__atomic references;
    int32_t generation;       /* hora__fork_generation() when it was made; immutable */
    hora__parker parker;      /* the thread itself parks, any thread unparks */
    hora__atomic interrupted; /* the interrupt flag: any thread reads it, written under the lock */
    /* whether clock is set: any thread reads it, only the thread itself writes it */
    hora__atomic attached;
    /* NULL: not a worker of a pool. This and the fields down to `runs` belong to the thread itself */
    struct hora__worker *worker;
    struct hora__worker_observer *worker_observer;    /* NULL: not observed */
    struct hora__blocks free_blocks[HORA__KEEPSAKES]; /* free memory for futures */
    struct hora__list pending; /* futures that it has to conclude, see src/exec/conclude.c */
    bool concludes;            /* it is concluding futures now */
    int runs;                  /* upper bound for the number of futures that it is the runner of */

    hora__mutex lock; /* rank THREAD; guards the fields below */
    bool ended;
    bool idle;                        /* attached, parked, and not woken yet: see virtual_clock.c */
    struct hora__event interrupt_fd;  /* readable while interrupted */
    struct hora_virtual_clock *clock; /* the clock that it is attached to; NULL: none */
    struct hora_future *waiting_for;  /* the future that it waits for without a time limit; NULL: none */
    uint32_t waits;                   /* number of changes of waiting_for */
};

/* Returns the calling thread's record, borrowed; makes it at the first call. Returns 0, HORA_ENOMEM or
 * HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_current(hora_thread **ret_thread);

/* Returns the calling thread's record, borrowed, or NULL. */
hora_thread *hora__thread_existing(void);

/* Makes a record for a thread that hora is about to start, so that nothing can fail in the new thread.
 * Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_prepare(hora_thread **ret_thread);

/* The calling thread adopts a prepared record. Returns false, and frees the record, if the thread already has
 * one. */
bool hora__thread_adopt(hora_thread *prepared);

/* The calling thread, which adopted this record, is about to end. */
void hora__thread_disown(hora_thread *thread);

/* A thread that will be woken counts as running from now on, see virtual_clock.c. */
void hora__thread_count(hora_thread *thread);

/* Ends the thread's sleep, or its next one. */
void hora__thread_wake(hora_thread *thread);

/* Whether the calling thread, whose record this is, was interrupted. Clears the flag. */
bool hora__thread_take_interrupt(hora_thread *thread);

#endif
