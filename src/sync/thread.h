/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the record of each thread that uses hora: its parker, its interrupt flag, and whether it is
 * idle */
#ifndef HORA_SYNC_THREAD_H
#define HORA_SYNC_THREAD_H

#include <stdbool.h>

#include <hora/task.h>
#include <hora/thread.h>

#include "base/list.h"
#include "sys/block.h"
#include "sys/event.h"
#include "sys/mutex.h"
#include "sys/parker.h"

struct hora_future;
struct hora__worker_observer;

/* The functions of a worker's observer. The worker calls them around the body of each future or detached
 * task that it runs as a worker, with no lock held. src/observe implements them; the folders below it see
 * only this table. */
struct hora__worker_observer_kind {
    /* A body is about to run. `future` is NULL for a detached task. Returns 0, or the code with which the
     * future fails instead. In that case the caller runs neither the body nor `ended`. */
    int (*begins)(struct hora__worker_observer *worker_observer, struct hora_future *future,
                  const hora_task *task);
    /* A body has returned `code`. */
    void (*ended)(struct hora__worker_observer *worker_observer, struct hora_future *future,
                  const hora_task *task, int code);
};

/* The observer of one worker, embedded in the record that src/observe keeps of it. A thread that is no worker
 * of a pool with an observer has none. */
struct hora__worker_observer {
    const struct hora__worker_observer_kind *kind; /* immutable */
    const void *owner;                             /* the struct hora__queue_owner of its pool; immutable */
    /* When the task that is about to begin was submitted, as a stamp (src/observe/measures.h); HORA_NEVER:
     * unknown. Only the thread itself uses it. */
    int64_t came;
    /* The stamp of the end of the thread's last task; 0: since then the thread has waited for work, or
     * code of the user may have run. Only the thread itself uses it. */
    int64_t ended_at;
};

/* The record of a thread; hora_thread is the public name of it. */
struct hora_thread {
    /* One reference of the thread itself until it ends, and one per handle or pending wake-up. The last one
     * frees the record. */
    hora__atomic references;
    int32_t generation;  /* hora__fork_generation() when it was made; immutable */
    hora__parker parker; /* the thread itself parks, any thread unparks */
    /* The interrupt flag. Any thread reads it without the lock; it is written under the lock, together with
     * interrupt_fd. */
    hora__atomic interrupted;
    /* True if `clock` is set. Any thread reads it; only the thread itself writes it. It saves a waker the
     * lock if no virtual clock is involved. */
    hora__atomic attached;

    /* Only the thread itself uses the fields from here to `spin_skips`; they need no lock. */
    struct hora__worker *worker;                   /* NULL: not a worker of a pool */
    struct hora__worker_observer *worker_observer; /* NULL: not observed */
    /* Memory for futures that this thread has freed and will use again, one list per size. */
    struct hora__blocks free_blocks[HORA__BLOCK_KINDS];
    struct hora__list pending; /* futures that it has to conclude, see src/exec/conclude.c */
    bool concludes;            /* it is concluding futures now */
    /* Upper bound for the number of futures that it is the runner of. If it is 0 and the thread is no worker,
     * no thread waits for this one, so its own waits cannot close a cycle; see src/exec/future_get.c. */
    int runs;
    /* How often in a row it has spun in vain before it waited for a future, and before how many waits it does
     * not spin for that reason; see src/exec/future_get.c. */
    int spin_misses;
    int spin_skips;

    hora__mutex lock; /* rank THREAD; guards the fields below */
    bool ended;       /* the thread has ended; only handles keep the record alive */
    bool idle;        /* attached, parked, and not woken yet: see virtual_clock.c */
    /* Readable while interrupted. hora_interrupt_fd opens it at its first call; until then its fd is -1. */
    struct hora__event interrupt_fd;
    /* The virtual clock that the thread is attached to; NULL: none. Only the thread itself writes it, so it
     * reads it without the lock. */
    struct hora_virtual_clock *clock;
    /* The future that the thread waits for without a time limit; NULL: none, or no other thread needs to
     * know. Borrowed: the wait itself keeps the future alive. The search for deadlocks reads it, see
     * src/exec/future_get.c. */
    struct hora_future *waiting_for;
    /* Number of changes of waiting_for. It distinguishes two waits for the same future. */
    uint32_t waits;
};

/* Stores the calling thread's record, borrowed, in *ret_thread; makes it at the first call. Returns 0,
 * HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_current(hora_thread **ret_thread);

/* Returns the calling thread's record, borrowed; NULL: it has none yet, or only one of the parent process. */
hora_thread *hora__thread_existing(void);

/* Makes a record for a thread that hora is about to start, so that nothing can fail in the new thread. The
 * new thread adopts it; if it cannot be started, the caller releases it with hora_thread_unref. Returns 0,
 * HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__thread_prepare(hora_thread **ret_thread);

/* Makes a prepared record the calling thread's own. Returns false, and releases the record, if the thread
 * already has one: a thread of a thread factory may have called hora before. */
bool hora__thread_adopt(hora_thread *prepared);

/* Ends the use of a record by the calling thread, which has adopted it and is about to end. Nothing else
 * does, because an adopted record is not registered for the end of the thread. */
void hora__thread_disown(hora_thread *thread);

/* Makes the virtual clock of a thread that is about to be woken count it as running from now on, see
 * virtual_clock.c. Does nothing if the thread is attached to none. */
void hora__thread_count(hora_thread *thread);

/* Ends the thread's sleep, or its next one if it does not sleep now. The caller has a reference. */
void hora__thread_wake(hora_thread *thread);

/* Returns whether the calling thread, whose record this is, was interrupted, and clears the flag. */
bool hora__thread_take_interrupt(hora_thread *thread);

#endif
