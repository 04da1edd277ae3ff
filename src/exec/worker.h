/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - a thread of a pool */
#ifndef HORA_EXEC_WORKER_H
#define HORA_EXEC_WORKER_H

#include "exec/future.h"
#include "exec/work_source.h"
#include "sys/thread.h"

/* How an accepted task ends. Workers and the pool have a counter for each. */
enum hora__ending {
    HORA__DONE,        /* the body returned 0 */
    HORA__FAILED,      /* the body or the before hook returned an error */
    HORA__CANCELLED,   /* cancelled, or removed because the scheduler was shut down */
    HORA__REJECTED,    /* dropped by the rejection rule after it had been accepted */
    HORA__ABANDONED,   /* the task ended its thread, or the pool was stopped before the task could run */
    HORA__HANDED_BACK, /* removed from the queue and returned to the caller */
    HORA__EXPIRED,     /* a time limit passed */
    HORA__ENDINGS
};

/* How far a worker is with a detached task: what remains to be done if the task ends the thread. */
enum hora__task_stage {
    HORA__TASK_NONE,    /* nothing: there is no task, or it has been counted */
    HORA__TASK_RUNS,    /* everything: its body has not returned */
    HORA__TASK_HAS_RUN, /* to count it */
};

/* A worker. Fields without another remark are used by the worker's own thread only. */
struct hora__worker {
    struct hora__list link; /* in the pool's list `workers` or `ended`; guarded by the pool's lock */
    struct hora_pool *pool; /* immutable */
    int number;             /* the pool numbers its workers from 1; immutable once the worker is listed */
    bool is_plain;          /* is_simple, and its pool is not a scheduler; immutable */
    bool is_simple;         /* it has no observer, and its pool has no admission control; immutable */
    bool must_serve;        /* with admission: a run has ended, and the queue was not served afterwards */
    bool adopted;           /* its thread adopted the record `prepared` */
    bool attached;          /* its thread is attached to the pool's virtual clock */
    struct hora__worker_observer *worker_observer; /* NULL: it is not observed; immutable */
    hora_thread *prepared;    /* a record for the thread, made before the thread is started */
    hora_thread *thread;      /* its record, a reference; NULL until it runs; guarded by the pool's lock */
    hora_future *first;       /* the task with which it starts, with the entry's reference; NULL: none */
    hora_future *current;     /* the future that it runs, in case that ends the thread; NULL: none */
    bool has_left;            /* the entry of `current` has been dequeued, or its run dequeues it */
    struct hora__taken taken; /* a detached task that it has taken */
    struct hora__timer_run timer_run; /* of a scheduler: the timer that it has taken */
    /* Of a scheduler without hooks and observer: the series that it runs on the short way. */
    struct hora__series_run series_run;
    enum hora__task_stage stage;       /* how far it is with the detached task or timer, */
    enum hora__ending ending;          /* and how that has ended */
    struct hora__hold hold;            /* the segment that it holds, and the tasks that it has yet to book */
    uintptr_t stack;                   /* an address near the beginning of its stack; see may_go_deeper */
    int depth;                         /* the number of nested runs; see struct hora__nested */
    const struct hora__nested *nested; /* the innermost nested run; NULL: none */
    hora__atomic run;                  /* the run in which it can be written off; 0: none; see worker.c */
    hora__atomic activity;             /* IDLE, ACTIVE or DISTURBED; see worker.c */
    int left_behind; /* how many workers stay when it ends because of keep_alive; -1: another reason */
    bool joinable;   /* hora started its thread, and joins it; immutable once the thread is started */
    hora__counter completed;              /* runs that have ended; any thread reads it */
    hora__counter endings[HORA__ENDINGS]; /* tasks that have ended; any thread reads them */
    hora__os_thread os_thread;            /* written before the worker goes to the list `ended` */
};

/* What a worker does now; see worker.c. IDLE is 0 because hora__work_next sets it: see struct hora__hold. */
enum hora__activity { HORA__IDLE = 0, HORA__ACTIVE, HORA__DISTURBED };

/* The start function of a worker's thread; `arg` is the worker. */
void hora__worker_begin(void *arg);

/* Frees a worker that is on no list and has no thread. */
void hora__worker_free(struct hora__worker *worker);

/* Starts a worker, if the pool has fewer than core_threads (`core`) or max_threads. `first`, which may be
 * NULL, is the task with which it starts; with success the worker takes over the reference of its entry.
 * Returns 0, HORA_EFULL (the bound is reached), HORA_ESHUTDOWN, HORA_ENOMEM, or the reason why no thread
 * could be started. */
int hora__worker_add(struct hora_pool *pool, hora_future *first, bool core);

/* ---- worker.c ---- */

/* By the worker: it is from now on in the run of this number, > 0, in which it can be written off; with 0, in
 * a run in which it cannot. Called when a run begins, and when the worker returns to it from a nested one. */
void hora__worker_can_be_written_off(struct hora__worker *worker, int32_t run);

/* Writes off the worker of this number, if it still is in this run, and starts another one in its place. A
 * worker that is written off no longer counts as one, and takes no further task. Returns whether it was. */
bool hora__worker_write_off(struct hora_pool *pool, int number, int32_t run);

bool hora__worker_is_written_off(const struct hora__worker *worker);

/* Waits for the next task: a future, with the reference of its entry, or &worker->taken. NULL: the worker
 * must end; the count of workers has been lowered. */
void *hora__worker_get_task(struct hora__worker *worker);

/* The may_wait of struct hora__hold. Returns whether the worker is not surplus, the pool is running, no
 * thread watches for it to become idle, and there is no excess memory to free. */
bool hora__worker_may_wait(struct hora__hold *hold);

/* Counts a task that this worker has finished. It remains to be booked. */
void hora__worker_count(struct hora__worker *worker, enum hora__ending ending);

/* Runs worker->taken, which is not a timer, and counts it. */
void hora__worker_run_detached(struct hora__worker *worker);

/* The same for a worker that is not plain: it informs the observer, and worker->taken may be a timer. Returns
 * whether the worker goes on. */
bool hora__worker_run_observed(struct hora__worker *worker);

/* Finishes what is left to do with worker->taken, if anything, when the thread ends during its run. */
void hora__worker_abandon_detached(struct hora__worker *worker);

/* Returns how a detached task has ended whose body returned this code. */
enum hora__ending hora__ending_of_result(int code);

/* Interrupts a worker if it is idle. Returns whether it was. The caller holds the pool's lock. */
bool hora__worker_interrupt_if_idle_locked(struct hora__worker *worker);

/* Interrupts all idle workers, or only the first one found. The caller holds the pool's lock. */
void hora__workers_interrupt_idle_locked(struct hora_pool *pool, bool only_one);

/* Interrupts all workers whose threads run, whatever they do. The caller holds the pool's lock. */
void hora__workers_interrupt_all_locked(struct hora_pool *pool);

bool hora__worker_is_active(const struct hora__worker *worker);

/* Joins the threads of all workers on the list `ended`, and frees these workers. */
void hora__workers_reap(struct hora_pool *pool);

/* Returns the worker's pool in its role as the owner of a queue. */
struct hora__queue_owner *hora__worker_owner(const struct hora__worker *worker);

/* Called by the worker's thread in a task that is about to wait for `future`: takes it out of the pool's
 * queue, if it is there, and runs it now. Returns HORA_FOREVER if it ran, or cannot be run this way; if it is
 * too early, the time on the pool's clock at which to try again. */
hora_ns hora__worker_run_queued(struct hora__worker *worker, hora_future *future);

#endif
