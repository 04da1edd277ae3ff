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

/* Of a task's name where it is copied, with the final NUL. */
enum { HORA__NAME_SIZE = 256 };

/* Told when the future is done, after waiting threads have been woken; with no lock held. */
struct hora__listener {
    struct hora__listener *next; /* in a ring; see struct hora_future */
    void (*done)(hora_future *future, void *context);
    /* called instead if the future is destroyed before it is done; NULL: nothing to do */
    void (*gone)(void *context);
    void *context;
    void (*drop)(void *context); /* after the call, or instead of it; NULL: nothing to do */
    bool allocated;              /* to be freed after the call */
};

/* Who lends a queue to futures: what a waiting or cancelling thread may ask of it. src/exec/future.c knows
 * nothing more of pools. */
struct hora__queue_owner {
    struct hora__object *object; /* kept alive while it is asked */
    /* The future has been cancelled, and has parted from this owner: if an entry of it is in the queue, take
     * that out and end it. */
    void (*cancelled)(struct hora__queue_owner *owner, hora_future *future);
    /* The same, with the future's lock held, for what can be taken out at once: whether it was, and its entry
     * has ended. The reference of the entry is the caller's. NULL: never. */
    bool (*cancel_in_lane)(struct hora__queue_owner *owner, hora_future *future);
    /* A future that it is to run, or runs, has been cancelled: with the future's lock held. NULL: it does not
     * count that. */
    void (*counts_cancelled)(struct hora__queue_owner *owner, const hora_future *future);
    /* No worker is there, see below: try to start one if a task is queued. Whether there is still none. */
    bool (*rescue)(struct hora__queue_owner *owner);
    /* All its workers, with references, if there are not more than so many, and no other thread can come for
     * its queue. How many; else -1. */
    int (*find_workers)(struct hora__queue_owner *owner, hora_thread **threads, int most);
    hora__atomic workers; /* threads that have begun to take from its queue, and have not left */
    hora__atomic keeps_cancelled;
    hora_ns spin; /* how long to look before waiting for a future; immutable */
};

/* FutureTask's own states, with all their transitions:
 *
 *     NEW -> COMPLETING -> NORMAL         the task succeeded
 *     NEW -> COMPLETING -> EXCEPTIONAL    it failed, was rejected or abandoned
 *     NEW -> CANCELLED                    cancelled without interrupt
 *     NEW -> INTERRUPTING -> INTERRUPTED  cancelled with interrupt
 *
 * Callers see four of them (hora_future_state): COMPLETING and INTERRUPTING last only moments. */
enum hora__future_state {
    HORA__FUTURE_NEW = 0,
    HORA__FUTURE_COMPLETING,
    HORA__FUTURE_NORMAL,
    HORA__FUTURE_EXCEPTIONAL,
    HORA__FUTURE_CANCELLED,
    HORA__FUTURE_INTERRUPTING,
    HORA__FUTURE_INTERRUPTED,
};

/* How long to wait between two attempts to start a worker: longer each time. `before`: the pause before this
 * one; 0: it is the first. */
#define HORA__RESCUE_PAUSE_LEAST HORA_MS(10)
#define HORA__RESCUE_PAUSE_MOST  HORA_SECONDS(1)

static inline hora_ns hora__rescue_pause(hora_ns before)
{
    assert(before >= 0);
    hora_ns pause = before == 0 ? HORA__RESCUE_PAUSE_LEAST : 2 * before;
    return pause < HORA__RESCUE_PAUSE_MOST ? pause : HORA__RESCUE_PAUSE_MOST;
}

/* What a future is the first part of. */
enum hora__future_kind {
    HORA__FUTURE_PLAIN,
    HORA__FUTURE_SCHEDULED,   /* a struct hora__scheduled */
    HORA__FUTURE_OVERLAPPING, /* a struct hora__member */
    HORA__FUTURE_BOUND,       /* a struct hora__bound */
};

/* Ordered by size: there may be millions of them, and how fast they are made depends on how much memory that
 * is. */
struct hora_future {
    struct hora__object object; /* its references are the future's */
    hora__atomic state;         /* an enum hora__future_state; written under the lock, read by anyone */
    uint8_t kind;               /* an enum hora__future_kind; immutable */
    /* written before another thread has seen it */
    union {
        struct {
            bool in_caller_memory : 1; /* it is the first part of a struct hora__caller_owned_future */
            bool is_executed : 1;      /* hora_pool_execute made it: no caller has a handle */
            bool spins : 1;            /* a thread that waits for it looks first */
        };
        uint8_t first_flags; /* all of these, to be cleared at once */
    };

    /* guarded by object.lock */
    union {
        struct {
            bool owes_drop : 1;        /* task.drop has not been called */
            bool has_result : 1;       /* there is a result that no caller has taken */
            bool listed : 1;           /* it is in a hora_future_list */
            bool limit_interrupts : 1; /* its run was interrupted because a time was over */
            bool nudged : 1;           /* since a worker has tried to run it that is about to wait for it */
            bool owns_name : 1;        /* task.name is a copy, freed with the future */
            bool is_pending : 1;       /* it waits to be concluded by a thread, see conclude.c; */
            bool calls_late : 1;       /* and then its listeners are called, */
            bool drops_late : 1;       /* and its task is dropped */
            bool is_gone : 1; /* its last reference is gone, and it waits to be destroyed; the thread's own */
        };
        uint16_t flags; /* all of these, to be cleared at once */
    };
    int failure; /* EXCEPTIONAL: why; never 0 then */
    int entries; /* how often its owner is going to run it */
    union {
        void *result; /* NORMAL */
        int64_t came; /* NEW, in a pool that measures: when it was accepted; see observer.h */
    } by;
    hora_thread *runner;             /* the thread that runs the task, borrowed; NULL: none */
    struct hora__queue_owner *owner; /* the pool that is going to run it; NULL: none */
    /* while it is NEW; later its place among those that a thread has to conclude */
    struct hora__list waiters;
    struct hora__listener *listeners; /* the last one of a ring, whose next is the first; NULL: none */
    hora_task task;            /* immutable but for its name, see I5 in future.c; run is NULL for a promise */
    hora_future *next;         /* in a hora_future_list; of the list's owner */
    struct hora__event *event; /* readable when it is done; NULL: not asked for */
};

HORA__INLINE enum hora__future_state hora__future_state(const hora_future *future)
{
    HORA__ORDER_FAULT(FUTURE_READ_RELAXED, memory_order_relaxed);
    return (enum hora__future_state)hora__atomic_load(&future->state);
}

/* A future of a plain pool that has terms. */
struct hora__bound {
    hora_future future; /* first: they begin at the same address */
    struct hora__extra *extra;
};

/* A future in memory of the caller. */
struct hora__caller_owned_future {
    hora_future future;
    /* the thread that wants the memory back; NULL: none; guarded by the future's lock */
    struct hora__waiter *reclaimer;
};

/* Initialises a future in memory with any contents. in_caller_memory: the memory is a
 * hora__caller_owned_future. */
__attribute__((warn_unused_result)) int hora__future_init(hora_future *future, const hora_task *task,
                                                          const hora_clock *clock, bool in_caller_memory);

/* The same beside an object that exists, and that the caller has checked: with its clock. */
__attribute__((warn_unused_result)) int hora__future_init_beside(hora_future *future, const hora_task *task,
                                                                 const struct hora__object *other);

/* All but the object; for what is part of something larger. */
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
    future->event = NULL;
    if (in_caller_memory)
        ((struct hora__caller_owned_future *)future)->reclaimer = NULL;
}

/* The last reference is gone: release everything, the memory included. For futures that are part of something
 * larger. */
void hora__future_destroy(struct hora__object *object);

/* It would run code of the user when it is destroyed: whether its destructor is called again for that, now or
 * later. See conclude.c. */
__attribute__((noinline)) bool hora__future_puts_off_end(hora_future *future);

/* The first thing that each destructor of a future asks: whether it is to do nothing now for that reason. */
HORA__INLINE bool hora__future_ends_later(hora_future *future)
{
    bool drops = future->owes_drop && future->task.drop != NULL;
    bool drops_result = future->has_result && future->by.result != NULL && future->task.drop_result != NULL;
    return (drops || drops_result || future->listeners != NULL || future->kind == HORA__FUTURE_BOUND) &&
           hora__future_puts_off_end(future);
}

/* The same, but for the memory. */
void hora__future_release_rest(hora_future *future);

HORA__INLINE void hora__future_release(hora_future *future)
{
    assert(hora__list_is_empty(&future->waiters) && future->entries == 0);
    if (future->owes_drop || future->owns_name || (future->has_result && future->by.result != NULL) ||
        future->listeners != NULL || future->event != NULL)
        hora__future_release_rest(future);
}

/* The future is done: call its listeners, drop its task, or both; or note that for the outermost call of this
 * thread, which does it then. With no lock held. */
void hora__future_conclude(hora_future *future, bool calls, bool drops);

/* Three steps of a thread that concludes. It interrupts that, to run something else that may end futures;
 * futures noted so far are concluded with those. It resumes. It was ended in a callback: noted futures are
 * concluded now. */
bool hora__conclude_interrupt(hora_thread *thread);
void hora__conclude_resume(hora_thread *thread, bool concludes);
void hora__conclude_at_end(hora_thread *thread);

static inline bool hora__future_has_listeners(hora_future *future)
{
    hora__mutex_lock(&future->object.lock);
    bool has = future->listeners != NULL;
    hora__mutex_unlock(&future->object.lock);
    return has;
}

/* Tell the reclaimer that the memory is its own again. */
void hora__future_gone(struct hora__waiter *reclaimer);

/* Make a future; the clock is that of its timed waits. */
__attribute__((warn_unused_result)) int hora__future_new(const hora_task *task, const hora_clock *clock,
                                                         hora_future **ret_future);

/* The same beside an object that exists, and that the caller has checked, and in memory of a pool. */
__attribute__((warn_unused_result)) int hora__future_new_beside(
    const hora_task *task, const struct hora__object *other, struct hora__shared_free_list *shared_free_list,
    hora_future **ret_future);

/* The same of one that has terms: they pass to it with success. */
__attribute__((warn_unused_result)) int hora__future_new_bound(const hora_task *task, const hora_clock *clock,
                                                               struct hora__extra *extra,
                                                               hora_future **ret_future);

/* Give back the only reference to a future that only the caller has seen: the task is the caller's again, and
 * is not dropped. */
void hora__future_forget(hora_future *future);

/* The owner is going to run the future: it stands in its queue, or a worker has it. The second function: the
 * owner is through with one such entry. In between the future is not given up, even if for a moment it is
 * neither queued nor running. `came` is when it came, for an owner that measures. */
void hora__future_enqueued(hora_future *future, struct hora__queue_owner *owner, int64_t came);
void hora__future_dequeued(hora_future *future, struct hora__queue_owner *owner);

/* The same as the first, for a future that only the caller has seen: with so many references from now on. */
HORA__INLINE void hora__future_born_enqueued(hora_future *future, struct hora__queue_owner *owner,
                                             int references)
{
    assert(hora__atomic_load(&future->object.references) == 1 && future->owner == NULL);
    hora__atomic_init(&future->object.references, references);
    future->owner = owner;
    future->entries = 1;
}

/* It found no place: as if that had not been called. */
void hora__future_unborn(hora_future *future);

/* Fail it without a run: HORA_EREJECTED, HORA_EABANDONED or HORA_EEXPIRED. Whether that is the outcome. Not
 * if it runs: then that was another entry of it, which goes on. */
bool hora__future_abort(hora_future *future, int why);

/* Fail it with HORA_EEXPIRED; if it runs, interrupt it, and let its outcome not count. HORA_CANCEL_REMOVED:
 * it did not run. An entry in a queue is the caller's to take out. */
__attribute__((warn_unused_result)) hora_cancel hora__future_expire(hora_future *future);

/* The thread that runs it was interrupted for its sake, or has not been yet; by that thread. And: whether it
 * was interrupted, because of that, or because it was cancelled or has expired. */
void hora__future_note_interrupt(hora_future *future, bool interrupted);
bool hora__future_was_interrupted(hora_future *future);

/* Run it in the calling thread, whose record is given, for an owner that is through with this entry when it
 * has run. Whether it ran. */
__attribute__((noinline)) bool hora__future_run(hora_future *future, hora_thread *thread,
                                                struct hora__queue_owner *owner); /* once: see probe.h */

/* What the end of a run means for the future. */
enum hora__verdict { HORA__GOES_ON, HORA__SUCCEEDS, HORA__FAILS };

/* Who decides that: these are called by the running thread, with no lock held. */
struct hora__judge {
    bool (*begins)(hora_future *future,
                   void *context); /* the body is about to run; false: it is not to, after all */
    enum hora__verdict (*ends)(hora_future *future, int code, void *context);
    void (*cannot_go_on)(
        void *context); /* `ends` has said GOES_ON, and the future was cancelled before; NULL: no matter */
    void *context;
};

/* Run it in the calling thread, whose record is given. Whether the judge said that it goes on, or did not let
 * it begin, and it has not been cancelled meanwhile. The owner's entry does not end with it. */
__attribute__((noinline)) bool hora__future_run_judged(hora_future *future, hora_thread *thread,
                                                       const struct hora__judge *judge);

/* The calling thread, which was given an entry of it by the owner, is about to end: close the books of the
 * entry, unless it has left already. It fails, unless it has ended before, or another thread runs it. */
void hora__future_thread_ends(hora_future *future, struct hora__queue_owner *owner, bool has_left);

/* Register a listener that the caller provides; called at once if it is done. */
void hora__future_listen(hora_future *future, struct hora__listener *listener);

/* If the calling thread is a worker and the future stands in its pool's queue, take it out and run it. If its
 * time has not come yet, returns when, by the pool's clock, to try again; else HORA_FOREVER. */
hora_ns hora__help(hora_future *future, hora_thread *thread);

/* Note what the calling thread, which is a worker or runs a future, is about to wait for. HORA_EDEADLK if
 * that would never end. In either case hora__end_waiting follows. */
__attribute__((warn_unused_result)) int hora__begin_waiting(hora_future *future, hora_thread *thread);
void hora__end_waiting(hora_thread *thread);

/* Its time has changed: those who wait for it may be able to help sooner, or only later. */
void hora__future_nudge(hora_future *future);

/* Takes the future's lock, and returns the name of its task, which another thread may drop otherwise; and
 * releases the lock. */
const char *hora__future_lock_name(hora_future *future);
void hora__future_unlock_name(hora_future *future);

/* A copy of a future's task, for callers that cannot rule out that another thread drops the task at the same
 * time. Its name is in the copy if it may go with the argument, cut to whole characters that fit. */
struct hora__task_copy {
    hora_task task;
    char name[HORA__NAME_SIZE];
};
void hora__future_copy_task(hora_future *future, struct hora__task_copy *ret_copy);

/* The error that stands for the outcome, 0 for NORMAL, HORA_EAGAIN if it is not done. */
int hora__future_outcome(hora_future *future);

#endif
