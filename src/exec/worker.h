/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - a thread of a pool */
#ifndef HORA_EXEC_WORKER_H
#define HORA_EXEC_WORKER_H

#include "exec/future.h"
#include "exec/work_source.h"
#include "sys/thread.h"

/* How accepted tasks end; a pool's counters. */
enum hora__ending {
    HORA__DONE,
    HORA__FAILED,
    HORA__CANCELLED,
    HORA__REJECTED,
    HORA__ABANDONED,
    HORA__HANDED_BACK,
    HORA__EXPIRED,
    HORA__ENDINGS
};

/* What a thread that ends has left to do with a detached task. */
enum hora__task_stage {
    HORA__TASK_NONE,    /* nothing: there is none */
    HORA__TASK_RUNS,    /* all: its body has not returned */
    HORA__TASK_HAS_RUN, /* to count it */
};

struct hora__worker {
    struct hora__list link; /* in the pool's workers or ended list; guarded by the pool's lock */
    struct hora_pool *pool; /* immutable */
    int number;             /* the pool counts its workers from 1; immutable once it is listed */
    /* it has no observer, and its pool is neither a scheduler nor has admission control; immutable */
    bool is_plain;
    bool is_simple; /* it has no observer, and its pool has no admission control; immutable */
    bool owes_look; /* of a pool with admission: what it has ended may let others begin; its own */
    bool adopted;   /* it took the record that was prepared; its own */
    bool attached;  /* it is attached to the pool's virtual clock; its own */
    struct hora__worker_observer *worker_observer; /* its observer; NULL: none; immutable */
    hora_thread *prepared; /* a record for a thread that has none; its own once it runs */
    hora_thread *thread;   /* its record, a reference; NULL until it runs. Guarded by the pool's lock */
    hora_future *first;    /* the task that it starts with, a reference; its own once it runs */
    hora_future *current;  /* the task that it runs, for a thread that ends meanwhile; its own */
    bool has_left; /* the entry of that one is not the owner's any more, or ends with its run; its own */
    struct hora__taken taken;         /* a detached task that it has taken; its own, as what follows */
    struct hora__timer_run timer_run; /* of a scheduler: the timer that it has taken; see there */
    struct hora__series_run
        series_run;      /* of a scheduler that nothing observes: the series that it runs; see there */
    hora_run_fn watched; /* the body of that one, if it is watched, */
    enum hora__task_stage stage; /* how far it is with that one, likewise, */
    enum hora__ending ending;    /* and how it has ended */
    struct hora__hold hold;      /* what it has of the queue, and owes to the books; its own */
    uintptr_t stack;             /* where its stack begins, about; immutable once it runs */
    int depth;                   /* tasks that it runs while another one waits for them; its own */
    const struct hora__nested
        *nested;           /* the innermost task that is run while another one waits for it; its own */
    hora__atomic run;      /* that it can be written off in; 0: none. See worker.c */
    hora__atomic activity; /* IDLE, ACTIVE or DISTURBED; see worker.c */
    int left_behind;       /* it leaves since there are more than are needed: how many stay; -1: otherwise */
    bool joinable;         /* its thread was made by hora */
    hora__counter completed;
    hora__counter endings[HORA__ENDINGS];
    hora__os_thread os_thread; /* written before it can be seen in the ended list */
};

/* What it does now; see worker.c. */
enum hora__activity { HORA__IDLE = 0, HORA__ACTIVE, HORA__DISTURBED }; /* 0: see struct hora__hold */

/* What the thread of a worker runs. The second function frees a worker that is on no list and has no
 * thread. */
void hora__worker_begin(void *arg);
void hora__worker_free(struct hora__worker *worker);

/* Start a worker, with a first task (a reference that passes on success) or without. `core`: the bound is
 * core_threads, else max_threads. HORA_EFULL (the bound), HORA_ESHUTDOWN, HORA_ENOMEM, or why no thread could
 * be started. */
int hora__worker_add(struct hora_pool *pool, hora_future *first, bool core);

/* ---- worker.c ---- */

/* A run begins, or goes on after one within it, in which the worker can be written off: its number, > 0; 0:
 * in which it cannot. By the worker. */
void hora__worker_can_be_written_off(struct hora__worker *worker, int32_t run);

/* If the worker of this number is still in this run: it takes no other task, and does not count any more;
 * another one is started. Whether that was done. */
bool hora__worker_write_off(struct hora_pool *pool, int number, int32_t run);

bool hora__worker_is_written_off(const struct hora__worker *worker);

/* The next task: a future, with the reference of its entry, or &worker->taken; NULL: the worker is to end,
 * and its count has been lowered. */
void *hora__worker_get_task(struct hora__worker *worker);

/* As may_wait of struct hora__hold: whether the worker stays in any case, and no thread waits for the pool to
 * be idle. */
bool hora__worker_may_wait(struct hora__hold *hold);

/* A task has been dealt with by this worker. It remains to be booked as finished. */
void hora__worker_count(struct hora__worker *worker, enum hora__ending ending);

/* Run worker->taken, in its thread; of a worker that is plain. */
void hora__worker_run_detached(struct hora__worker *worker);

/* The same of one that is not; it may be a timer. Whether the worker goes on. */
bool hora__worker_run_watched(struct hora__worker *worker);

/* It has ended its thread, if it was running; it is counted, if that was still to be done. */
void hora__worker_abandon_detached(struct hora__worker *worker);

/* How a detached task has ended whose body has returned this. */
enum hora__ending hora__ending_of_result(int code);

/* Interrupt a worker if it is waiting for work; whether it was. Caller holds the pool's lock. */
bool hora__worker_interrupt_if_idle_locked(struct hora__worker *worker);

/* Interrupt workers that are waiting for work: all, or one. Caller holds the pool's lock. */
void hora__workers_interrupt_idle_locked(struct hora_pool *pool, bool only_one);

/* Interrupt all workers that have started. Caller holds the pool's lock. */
void hora__workers_interrupt_all_locked(struct hora_pool *pool);

bool hora__worker_is_active(const struct hora__worker *worker);

/* Join threads that have ended. */
void hora__workers_reap(struct hora_pool *pool);

/* The pool as the owner of its queue. */
struct hora__queue_owner *hora__worker_owner(const struct hora__worker *worker);

/* The calling thread is this worker, in a task that waits: take the future out of the queue, if it is there,
 * and run it. If it is too early for that, returns the time of the pool's clock to try again; else
 * HORA_FOREVER. */
hora_ns hora__worker_run_queued(struct hora__worker *worker, hora_future *future);

#endif
