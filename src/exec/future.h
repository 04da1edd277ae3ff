/* SPDX-License-Identifier: Apache-2.0 */
/* future.h - a task together with its outcome, as the rest of src/exec sees it */
#ifndef HORA_EXEC_FUTURE_H
#define HORA_EXEC_FUTURE_H

#include <assert.h>
#include <hora/future.h>

#include "base/fault.h"
#include "base/list.h"
#include "sync/object.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/event.h"

struct hora_pool;
struct hora__shared_free_list;

/* Size of a buffer for a copy of a task's name, including the final NUL. */
enum { HORA__NAME_SIZE = 256 };

/* A callback for the end of a future. The thread that completes the future calls it after it has woken the
 * waiting threads, with no lock held. Listeners of hora itself (groups, completion services) are embedded in
 * their owner; those of the user are allocated, and conclude.c may call them later. */
struct hora__listener {
    struct hora__listener *next; /* in a ring; see struct hora_future */
    void (*done)(hora_future *future, void *context);
    /* Called instead of `done` if the future is destroyed before it is done. NULL: nothing to do. */
    void (*gone)(void *context);
    void *context;
    void (*drop)(void *context); /* called after `done` or `gone`; NULL: nothing to do */
    bool allocated;              /* hora_future_on_done made it; it is freed before the call */
};

/* The pool of a queued future, as seen by a thread that waits for the future or cancels it. future.c and
 * future_get.c use nothing else of a pool. */
struct hora__queue_owner {
    struct hora__object *object; /* the pool; callers without the future's lock hold a reference to it */
    /* Removes the entry of a future that has just been cancelled, if it is still in the queue, and ends the
     * entry. The future has already left this owner. Called with no lock held. */
    void (*cancelled)(struct hora__queue_owner *owner, hora_future *future);
    /* As `cancelled`, but with the future's lock held, for an entry that can be removed without further work.
     * Returns true if the entry was removed and has ended; the caller then owns the entry's reference. NULL:
     * the owner has no such entries. */
    bool (*cancel_in_lane)(struct hora__queue_owner *owner, hora_future *future);
    /* Counts the cancellation of a future that is queued or running. Called with the future's lock held.
     * NULL: the owner does not measure. */
    void (*counts_cancelled)(struct hora__queue_owner *owner, const hora_future *future);
    /* Tries to start a worker if `workers` is 0 and a task is queued. Returns true if `workers` is still
     * 0. */
    bool (*rescue)(struct hora__queue_owner *owner);
    /* Writes references to all workers into `threads`, and returns their number. Returns -1 if there are more
     * than `most`, or if the owner could still start another worker. */
    int (*find_workers)(struct hora__queue_owner *owner, hora_thread **threads, int most);
    hora__atomic workers;         /* workers that have begun to take tasks and have not ended */
    hora__atomic keeps_cancelled; /* not 0: cancelled futures stay in the queue until a worker takes them */
    hora_ns spin;                 /* how long a thread polls a future before it parks; 0: not; immutable */
};

/* The states of a future, as in FutureTask, with all their transitions:
 *
 *     NEW -> COMPLETING -> NORMAL         the task succeeded
 *     NEW -> COMPLETING -> EXCEPTIONAL    it failed, was rejected or abandoned
 *     NEW -> CANCELLED                    cancelled without interrupt
 *     NEW -> INTERRUPTING -> INTERRUPTED  cancelled with interrupt
 *
 * COMPLETING and INTERRUPTING last only while a thread holds the future's lock. The public states
 * (hora_future_state) do not show them. */
enum hora__future_state {
    HORA__FUTURE_NEW = 0,
    HORA__FUTURE_COMPLETING,
    HORA__FUTURE_NORMAL,
    HORA__FUTURE_EXCEPTIONAL,
    HORA__FUTURE_CANCELLED,
    HORA__FUTURE_INTERRUPTING,
    HORA__FUTURE_INTERRUPTED,
};

#define HORA__RESCUE_PAUSE_LEAST HORA_MS(10)
#define HORA__RESCUE_PAUSE_MOST  HORA_SECONDS(1)

/* Returns how long to wait before the next attempt to start a worker. The pause doubles with each attempt, up
 * to HORA__RESCUE_PAUSE_MOST. `before` is the previous pause; 0: this is the first. */
static inline hora_ns hora__rescue_pause(hora_ns before)
{
    assert(before >= 0);
    hora_ns pause = before == 0 ? HORA__RESCUE_PAUSE_LEAST : 2 * before;
    return pause < HORA__RESCUE_PAUSE_MOST ? pause : HORA__RESCUE_PAUSE_MOST;
}

/* The struct that a future is the first member of. It decides how the memory is released. */
enum hora__future_kind {
    HORA__FUTURE_PLAIN,       /* struct hora_future, or struct hora__caller_owned_future */
    HORA__FUTURE_SCHEDULED,   /* struct hora__scheduled */
    HORA__FUTURE_OVERLAPPING, /* struct overlapping_run in sched/overlap.c */
    HORA__FUTURE_BOUND,       /* struct hora__bound */
    HORA__FUTURE_SEATED,      /* struct hora__seated; its memory is that of a plain future */
};

/* The fields are arranged so that the struct has little padding: a program may have millions of futures, and
 * the time to make one depends on its size. The last ones share a cache line that a worker usually does not
 * touch when it runs the future, so that the line stays where futures are made (tools/shared-lines). */
struct hora_future {
    struct hora__object object; /* lock, clock, and the future's reference count */
    hora__atomic state;         /* an enum hora__future_state; written under the lock, read by any thread */
    uint8_t kind;               /* an enum hora__future_kind; immutable */
    /* Written only while the future is visible to its creator alone. */
    union {
        struct {
            bool in_caller_memory : 1; /* it is the first member of a struct hora__caller_owned_future */
            bool is_executed : 1;      /* hora_pool_execute made it: no caller has a handle */
            bool spins : 1;            /* a thread that waits for it polls for owner->spin first */
        };
        uint8_t first_flags; /* all of these, so that they can be cleared at once */
    };

    /* Guarded by object.lock. */
    union {
        struct {
            bool owes_drop : 1;        /* task.drop has not been called, and no thread is about to call it */
            bool has_result : 1;       /* by.result is a result that no caller has taken */
            bool listed : 1;           /* it is in a hora_future_list */
            bool limit_interrupts : 1; /* its run was interrupted because a time limit had passed */
            bool nudged : 1;           /* set by hora__future_nudge, cleared when a waiting worker helps */
            bool owns_name : 1;        /* task.name is a copy, freed with the future */
            bool has_event : 1;        /* `event` exists */
            bool is_pending : 1;       /* it is in a thread's list of futures to conclude, see conclude.c */
            bool calls_late : 1;       /* is_pending: that thread will call its listeners */
            bool drops_late : 1;       /* is_pending: that thread will drop its task */
            /* Its last reference is gone, and it waits in a thread's list to be destroyed. Only that thread
             * uses the flag, without the lock. */
            bool is_gone : 1;
        };
        uint16_t flags; /* all of these, so that they can be cleared at once */
    };
    int failure; /* EXCEPTIONAL: the reason, never 0; else 0 */
    int entries; /* number of entries that `owner` still has to run or to discard */
    union {
        void *result; /* NORMAL: what the task returned */
        int64_t came; /* NEW, in a pool that measures: when the pool accepted it; see observer.h */
    } by;
    hora_thread *runner;             /* the thread that runs the task, borrowed; NULL: none */
    struct hora__queue_owner *owner; /* the pool that has entries of it, borrowed; NULL: none */
    /* NEW: the waiting threads. Once it is done: its link in a thread's list of futures to conclude. */
    struct hora__list waiters;
    struct hora__listener *listeners; /* the last one of a ring, whose next is the first; NULL: none */
    hora_task task;            /* immutable except for its name, see I5 in future.c; a promise has no `run` */
    hora_future *next;         /* in a hora_future_list; belongs to the owner of the list */
    struct hora__event *event; /* has_event: its descriptor is readable once the future is done */
};

/* Reads the state without the lock. A thread that reads a final state also sees the result and the failure,
 * which were written before it. */
HORA__INLINE enum hora__future_state hora__future_state(const hora_future *future)
{
    HORA__ORDER_FAULT(FUTURE_READ_RELAXED, memory_order_relaxed);
    return (enum hora__future_state)hora__atomic_load(&future->state);
}

/* The seat of a future in a row, see members.h. */
struct hora__seat {
    union {
        /* NEW: the row. NULL: it has left its seat without being done. Written while the future is visible
         * to its creator alone, and then with the future's lock. */
        struct hora__seat_row *row;
        struct hora__seat *next; /* done: the next one in a queue of completed futures, see completed.h */
    };
    int number;             /* of the seat in the row; -1: it is only a link in such a queue; immutable */
    hora__atomic is_placed; /* the pool has accepted the future */
};

/* A future that a group or a completion service has submitted to a plain pool. Plain futures that hora
 * allocates have this size, too, so that both use the same free lists. */
struct hora__seated {
    hora_future future; /* first, so that both have the same address */
    struct hora__seat seat;
};

/* Returns the seat of a future of this kind. */
HORA__INLINE struct hora__seat *hora__future_seat(hora_future *future)
{
    assert(future->kind == HORA__FUTURE_SEATED);
    return &((struct hora__seated *)future)->seat;
}

/* Returns the row in which a future has a seat; NULL: none. The caller holds the lock, has made the future,
 * or has completed it and not reported that yet. */
HORA__INLINE struct hora__seat_row *hora__future_row(const hora_future *future)
{
    return future->kind == HORA__FUTURE_SEATED ? ((const struct hora__seated *)future)->seat.row : NULL;
}

/* A future of a plain pool with terms (hora_task_options), or with a captured context. */
struct hora__bound {
    hora_future future;        /* first, so that both have the same address */
    struct hora__extra *extra; /* owned */
};

/* A future in memory of the caller; see hora_future_init. */
struct hora__caller_owned_future {
    hora_future future; /* first, so that both have the same address */
    /* The thread that waits in hora_future_reclaim; NULL: none. Guarded by the future's lock. */
    struct hora__waiter *reclaimer;
};

/* Initialises a future in memory with any contents. `clock` is the clock of its timed waits; NULL: the
 * default clock. in_caller_memory: the memory is a struct hora__caller_owned_future. Returns 0 or the error
 * of hora__object_init. */
__attribute__((warn_unused_result)) int hora__future_init(hora_future *future, const hora_task *task,
                                                          const hora_clock *clock, bool in_caller_memory);

/* As hora__future_init, with the clock of an existing object that the caller has checked. */
__attribute__((warn_unused_result)) int hora__future_init_beside(hora_future *future, const hora_task *task,
                                                                 const struct hora__object *other);

/* Initialises every field except `object`, for callers that initialise the object in their own way. */
HORA__INLINE void hora__future_init_rest(hora_future *future, const hora_task *task, bool in_caller_memory)
{
    assert(task != NULL);
    hora__atomic_init(&future->state, HORA__FUTURE_NEW);
    future->kind = HORA__FUTURE_PLAIN;
    future->first_flags = 0;
    if (in_caller_memory)
        future->in_caller_memory = true;
    future->flags = 0;
    future->owes_drop = true;
    future->failure = 0;
    future->entries = 0;
    future->by.result = NULL;
    future->runner = NULL;
    future->owner = NULL;
    hora__list_init(&future->waiters);
    future->listeners = NULL;
    future->task = *task;
    future->next = NULL;
    if (in_caller_memory)
        ((struct hora__caller_owned_future *)future)->reclaimer = NULL;
}

/* Releases everything that a future without references owns, including its memory. It is the destructor of
 * plain futures; the destructors of larger structs call it. */
void hora__future_destroy(struct hora__object *object);

/* Puts the destruction of a future on the calling thread's list of futures to conclude, because it runs code
 * of the user. Returns true if it did; the destructor is then called a second time, possibly before this
 * returns, and the caller must not touch the future. Returns false in that second call, and if the
 * destruction cannot be postponed. See conclude.c. */
__attribute__((noinline)) bool hora__future_puts_off_end(hora_future *future);

/* Returns whether a destructor must return at once, because the destruction of this future was postponed.
 * Each destructor of a future calls this first. */
HORA__INLINE bool hora__future_ends_later(hora_future *future)
{
    bool drops = future->owes_drop && future->task.drop != NULL;
    bool drops_result = future->has_result && future->by.result != NULL && future->task.drop_result != NULL;
    return (drops || drops_result || future->listeners != NULL || future->kind == HORA__FUTURE_BOUND) &&
           hora__future_puts_off_end(future);
}

/* Releases what a future without references still owns, except its memory: the task, an untaken result,
 * listeners that were never called, the event and a copied name. */
void hora__future_release_rest(hora_future *future);

/* As hora__future_release_rest; most futures own nothing any more and do not pay for the call. */
HORA__INLINE void hora__future_release(hora_future *future)
{
    assert(hora__list_is_empty(&future->waiters) && future->entries == 0);
    if (future->owes_drop || future->owns_name || (future->has_result && future->by.result != NULL) ||
        future->listeners != NULL || future->has_event)
        hora__future_release_rest(future);
}

/* Calls the listeners of a future that is done (`calls`), drops its task (`drops`), or both. If the calling
 * thread is already concluding another future, this only adds the future to the thread's list, and the
 * outermost call does the rest. Called with no lock held, by a thread that has a reference. */
void hora__future_conclude(hora_future *future, bool calls, bool drops);

/* Lets the calling thread run another task from within a callback: futures that end in that task are
 * concluded there, together with those that are pending already. Returns whether the thread was concluding;
 * the caller passes this to hora__conclude_resume after the task. */
bool hora__conclude_suspend(hora_thread *thread);
void hora__conclude_resume(hora_thread *thread, bool concludes);

/* Concludes all pending futures of a thread that a callback or a task is ending. */
void hora__conclude_at_end(hora_thread *thread);

/* Wakes the thread that reclaims the memory of a future. After this the memory belongs to that thread. */
void hora__future_gone(struct hora__waiter *reclaimer);

/* Makes a plain future, with one reference. `clock` is the clock of its timed waits; NULL: the default
 * clock. HORA_ENOMEM, and the errors of hora__object_init. */
__attribute__((warn_unused_result)) int hora__future_new(const hora_task *task, const hora_clock *clock,
                                                         hora_future **ret_future);

/* As hora__future_new, with the clock of an existing object that the caller has checked, and with memory from
 * the free list of a pool. */
__attribute__((warn_unused_result)) int hora__future_new_beside(
    const hora_task *task, const struct hora__object *other, struct hora__shared_free_list *shared_free_list,
    hora_future **ret_future);

/* As hora__future_new, for a future with an extra. On success the future owns the extra. */
__attribute__((warn_unused_result)) int hora__future_new_bound(const hora_task *task, const hora_clock *clock,
                                                               struct hora__extra *extra,
                                                               hora_future **ret_future);

/* Releases the only reference to a future that no other thread has seen, without dropping its task: the
 * caller owns the task again. For submissions that failed. */
void hora__future_discard(hora_future *future);

/* Notes that the owner has one more entry of the future, in its queue or at a worker. `came` is the time of
 * acceptance, for an owner that measures; else 0. A future follows only one owner at a time: a call with
 * another owner is ignored, and the workers of that owner find the future done or run it. */
void hora__future_enqueued(hora_future *future, struct hora__queue_owner *owner, int64_t came);

/* Notes that the owner has finished with one entry. Until then the future knows its owner, even at moments
 * when it is neither queued nor running. */
void hora__future_dequeued(hora_future *future, struct hora__queue_owner *owner);

/* As hora__future_enqueued, without the lock, for a future that only the caller has seen. Sets the number of
 * references, which includes that of the entry. The caller may have given it a second one before. */
HORA__INLINE void hora__future_enqueued_fresh(hora_future *future, struct hora__queue_owner *owner,
                                              int references)
{
    assert(hora__atomic_load(&future->object.references) >= 1 && future->owner == NULL);
    hora__atomic_init(&future->object.references, references);
    future->owner = owner;
    future->entries = 1;
}

/* Undoes hora__future_enqueued_fresh after the queue has refused the future. The caller then has the only
 * reference. */
void hora__future_dequeued_fresh(hora_future *future);

/* Fails a future that does not run with `why`: HORA_EREJECTED, HORA_EABANDONED, HORA_EEXPIRED or the code of
 * a before hook. Returns whether that is now its outcome. Does nothing if the future runs: the future was
 * queued more than once, and its other entry is running. */
bool hora__future_abort(hora_future *future, int why);

/* Fails a future with HORA_EEXPIRED. If it runs, interrupts the runner and ignores the outcome of the run.
 * Returns HORA_CANCEL_REMOVED if it did not run: the caller must then remove its entry from the queue.
 * HORA_CANCEL_INTERRUPTED: it ran; HORA_CANCEL_TOO_LATE: it was done already. */
__attribute__((warn_unused_result)) hora_cancel hora__future_expire(hora_future *future);

/* Notes whether a time limit has interrupted the current run. The runner calls it with false before the body,
 * because the flag of a series may be left from an earlier run, and with true after an interrupted body. */
void hora__future_note_interrupt(hora_future *future, bool interrupted);

/* Returns whether the runner was interrupted because of this future: by a time limit, by a cancel, or because
 * it expired. */
bool hora__future_was_interrupted(hora_future *future);

/* Runs the future in the calling thread, whose record is `thread`. The entry of `owner` (NULL: none) ends
 * together with the run. Returns false if the future was done or is running elsewhere. Not inlined: each
 * probe must exist once in the program, see sys/probe.h. */
__attribute__((noinline)) bool hora__future_run(hora_future *future, hora_thread *thread,
                                                struct hora__queue_owner *owner);

/* What the end of a run means for the future: it stays NEW for the next run of a series, or it is done. */
enum hora__run_end { HORA__GOES_ON, HORA__SUCCEEDS, HORA__FAILS };

/* The callbacks by which a scheduler decides about a run. The running thread calls them with no lock held. */
struct hora__run_callbacks {
    /* Called before the body. False: the body must not run; the future stays NEW. */
    bool (*begins)(hora_future *future, void *context);
    /* Called after the body, with the code that it returned. */
    enum hora__run_end (*ends)(hora_future *future, int code, void *context);
    /* Called if `ends` returned GOES_ON but the future is done already, because it was cancelled during the
     * run. NULL: nothing to do. */
    void (*cannot_go_on)(void *context);
    void *context;
};

/* Runs the future in the calling thread, whose record is `thread`; `ends` decides what the end of the run
 * means. Returns true if the future is still NEW: `ends` returned HORA__GOES_ON, or `begins` returned false,
 * and the future was not cancelled in the meantime. The entry of the owner does not end here. */
__attribute__((noinline)) bool hora__future_run_scheduled(hora_future *future, hora_thread *thread,
                                                          const struct hora__run_callbacks *callbacks);

/* Ends the worker's entry of a future when the body, or a hook around it, ends the calling thread. has_left:
 * the run ends the entry (hora__future_run), so this need not. The future fails with HORA_EABANDONED, unless
 * it is done or another thread runs it. */
void hora__future_thread_ends(hora_future *future, struct hora__queue_owner *owner, bool has_left);

/* Registers a listener in memory of the caller, which stays valid until it is called. Calls it at once if the
 * future is done. */
void hora__future_listen(hora_future *future, struct hora__listener *listener);

/* Makes a future forget its seat. Returns the row of the seat, and the caller must free the seat; NULL: it
 * has none, or the future is done, and the thread that completed it frees the seat. */
__attribute__((warn_unused_result)) struct hora__seat_row *hora__future_unseat(hora_future *future);

/* If the calling thread is a worker and the future is in its own pool's queue, removes the future from the
 * queue and runs it. Returns when to try again, by the pool's clock, if the future may not run yet; else
 * HORA_FOREVER. */
hora_ns hora__help(hora_future *future, hora_thread *thread);

/* Notes that the calling thread, which is a worker or runs a future, is about to wait for `future` without a
 * time limit. Returns HORA_EDEADLK if the wait would never end. The caller calls hora__end_waiting in either
 * case. */
__attribute__((warn_unused_result)) int hora__begin_waiting(hora_future *future, hora_thread *thread);
void hora__end_waiting(hora_thread *thread);

/* Makes the workers that wait for the future call hora__help again, because it was re-timed, or because
 * admission may let it run now. */
void hora__future_nudge(hora_future *future);

/* Takes the future's lock and returns the name of its task, which stays valid until hora__future_unlock_name
 * releases the lock. Without the lock another thread could drop the task, and the name with it. */
const char *hora__future_lock_name(hora_future *future);
void hora__future_unlock_name(hora_future *future);

/* A copy of a future's task, for callers that cannot rule out that another thread drops the task at the same
 * time. */
struct hora__task_copy {
    hora_task task;
    char name[HORA__NAME_SIZE]; /* task.name points to it if the name may be freed with the argument */
};

/* Copies the task of a future. A name that does not fit is cut at the end of a character. */
void hora__future_copy_task(hora_future *future, struct hora__task_copy *ret_copy);

/* Returns the outcome: 0 (NORMAL), HORA_ECANCELED, HORA_EREJECTED, HORA_EABANDONED, HORA_EEXPIRED, or
 * HORA_EFAILED for any other failure; HORA_EAGAIN if the future is not done. */
int hora__future_outcome(hora_future *future);

#endif
