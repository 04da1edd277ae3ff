/* SPDX-License-Identifier: Apache-2.0 */
/* work_source.h - where a pool takes its tasks from
 *
 * A pool takes its tasks from a queue, and hora_pool_queue gives users access to that queue. hora itself
 * provides five kinds: the backlog, with and without a bound (backlog.c), and with own queues of workers that
 * steal from each other (stealing.c), the admission queue (pool_admission.c) and the timer queue of a
 * scheduler (src/sched). Each of them is a struct hora__work_source, whose first member is the queue. A work
 * source does not hand tasks to the threads that wait for them, the takers. It wakes one taker at a time,
 * which then searches for a task (work_source.c), and a worker that is awake takes its next task without
 * waking others (search.c). A queue that waits as the public ones do, which includes every queue that a user
 * gives to a pool, has no struct hora__work_source. The pool uses it through `adapter` in work_source.c.
 *
 * Tasks             A work source holds futures, which are its elements, and detached tasks, which have no
 *                   future. A taker provides a struct hora__taken, into which a detached task is copied. A
 *                   caller that has none must first turn the detached tasks into futures (`show`).
 * Books             The books count the tasks of a pool. They change under the locks of its queue, because
 *                   queueing and taking a task need those locks anyway. */
#ifndef HORA_EXEC_WORK_SOURCE_H
#define HORA_EXEC_WORK_SOURCE_H

#include <assert.h>

#include <hora/trigger.h>

#include "base/fault.h"
#include "queue/queue.h"
#include "sys/atomic.h"

/* ---- books ---- */

/* The greatest number of branches. A scheduler has one per inbox lane, a backlog has one for its inbox and
 * one for each own queue of its workers. */
enum { HORA__BRANCHES_MOST = 64 };

/* The number of tasks that a pool has accepted, and the number of those that have ended. No counter ever
 * falls. */
struct hora__books {
    /* These four change under the queue's lock. */
    hora__counter accepted;  /* accepted tasks, without those that a branch counts */
    hora__counter withdrawn; /* of `accepted`: taken back by the submitter, as if never submitted */
    hora__counter cancelled; /* of `finished`: removed from the queue because they were cancelled */
    hora__counter finished;  /* ended tasks, the withdrawn ones included */
    /* The parts that the inboxes count under their own locks; see struct hora__branch. Both fields are
     * immutable once the pool is made. */
    int branch_count;
    const struct hora__branch *branches[HORA__BRANCHES_MOST];
};

/* These three return how many tasks were accepted, were cancelled while queued, and have ended.
 *
 * The counts of finished, cancelled and withdrawn tasks are published when they change, and observed here.
 * The acceptance of a task happens before its end: the same thread did both, or the lock of the queue or of
 * an inbox orders the two. So a thread that reads the finished tasks first and the accepted tasks second
 * never finds more finished tasks than accepted ones. */
static inline int64_t hora__books_accepted(const struct hora__books *books)
{
    int64_t sum = hora__counter_read(&books->accepted);
    for (int i = 0; i < books->branch_count; i++)
        sum += hora__counter_read(&books->branches[i]->accepted);
    return sum;
}

static inline int64_t hora__books_cancelled(const struct hora__books *books)
{
    int64_t sum = hora__counter_read(&books->cancelled);
    for (int i = 0; i < books->branch_count; i++)
        sum += hora__counter_observe(&books->branches[i]->cancelled);
    return sum;
}

static inline int64_t hora__books_finished(const struct hora__books *books)
{
    HORA__ORDER_FAULT(BOOKS_READ_RELAXED, memory_order_relaxed);
    int64_t sum = hora__counter_observe(&books->finished);
    for (int i = 0; i < books->branch_count; i++) {
        HORA__ORDER_FAULT(BOOKS_READ_RELAXED, memory_order_relaxed);
        sum += hora__counter_observe(&books->branches[i]->cancelled);
    }
    return sum;
}

/* Returns whether every accepted task has ended. */
static inline bool hora__books_are_even(const struct hora__books *books)
{
    /* Neither number falls, and `finished` is read first, with acquire. So every task that was accepted
     * before the end of a task counted here is counted as accepted below. If both numbers are equal, there
     * was a moment at which all accepted tasks had ended, and it is not earlier than any acceptance that the
     * caller knows of. With relaxed loads, or in the other order, a task that submits a second one and then
     * ends could be counted as finished while the second is not yet counted as accepted. */
    int64_t finished = hora__books_finished(books);
    return finished == hora__books_accepted(books);
}

/* ---- tasks ---- */

/* The timer that a worker of a scheduler runs. The worker sets it when it takes the timer from the queue, and
 * clears it after the timer's function and the hooks around it have returned. A thread that stops a timer
 * finds out here whether to wait. The function may free the timer's memory, so the worker uses only the
 * timer's address. */
struct hora__timer_run {
    struct hora__list link; /* among those of the scheduler's workers; guarded by the queue's lock */
    const void *timer;      /* NULL: none. Only the worker writes it, with the queue's lock held */
    /* Copies from the timer, which may be changed or freed before they are used. Only the worker uses
     * them. */
    int (*function)(void *arg);
    void *arg;
    bool has_begun; /* the function has been called; used only by a planted fault of the simulator */
};

/* A run of a series on the short way (sched/series.c). A scheduler's worker begins such a run in the visit to
 * the queue in which it takes the entry, and puts the entry back in the visit in which it takes the next one.
 * This struct carries the run from one visit to the other. Only the worker uses it; `take` of the timer queue
 * changes it on the worker's behalf, with the queue's lock held. */
struct hora__series_run {
    struct hora_pool *pool;    /* immutable */
    hora__counter *completed;  /* the worker's count of ended runs; immutable */
    struct hora_future *begun; /* the future taken, whose run has begun; NULL: none, or the general way */
    struct hora_future *ended; /* its run has succeeded, and the next visit puts it back; NULL: none */
    /* Start and planned time of the run before `begun`, restored if this run is not to begin after all. */
    hora_ns start_before;
    hora_ns planned_before;
};

/* Receives what a taker takes from a work source besides a future. */
struct hora__taken {
    int64_t came;   /* of `task`: see struct hora__offer; from a timer queue, its due time */
    hora_task task; /* the detached task */
    /* Of a scheduler's worker: receives a timer, instead of `task`. NULL: the caller is no such worker. */
    struct hora__timer_run *run;
    /* Of a scheduler's worker that may take the short way of a series. NULL: the caller may not. */
    struct hora__series_run *series;
    /* The time, if `take` has read the clock and found nothing; the taker then sleeps without reading it
     * again. HORA_NEVER: unknown. */
    hora_ns now;
};

/* Returns whether the run of a series has ended and its entry has not been put back yet. */
static inline bool hora__taken_owes_return(const struct hora__taken *taken)
{
    return taken->series != NULL && taken->series->ended != NULL;
}

/* Returns whether the last task taken was a timer that has not been cleared yet. */
static inline bool hora__taken_has_timer(const struct hora__taken *taken)
{
    return taken->run != NULL && taken->run->timer != NULL;
}

/* A task that is offered to a work source: an element or a detached task.
 *
 * A submitter can withdraw an element, which has an address, but not a detached task. So the source itself
 * checks a word of the owner under the lock under which it accepts a detached task. An owner that changes the
 * word, and then passes through that lock, finds in the queue every detached task that was accepted. */
struct hora__offer {
    const hora_task *task; /* the detached task; NULL: the offer is `item` */
    void *item;            /* the element; NULL: the offer is `task` */
    int64_t came;          /* of `task`: when it was submitted, as a stamp of the observer; 0: no stamp */
    const hora__atomic *control; /* of `task`: it is accepted only while this is below `closed` */
    int32_t closed;
    struct hora__books *books; /* counts the acceptance; NULL: nothing does, or a branch */
};

/* Turns a detached task into an element. `make` is called with the queue's lock held, and returns 0 or an
 * error. */
struct hora__maker {
    int (*make)(void *context, const struct hora__taken *taken, void **ret_item);
    void *context;
};

/* What a worker keeps from one visit to the queue to the next. Only the worker uses it. */
struct hora__hold {
    struct hora__segment *segment; /* from which it may take without the lock; NULL: none */
    int finished;                  /* tasks that it has finished, and that are not in the books yet */
    bool has_own;                  /* there may be tasks in `own`: the worker has inserted one */
    struct hora__own_queue *own;   /* in a stealing pool, for the tasks that the worker submits; else NULL */
    /* The worker's activity. If there is no task left to take, it is set to 0, which is HORA__IDLE, before
     * the last finished task is booked: once the books are even, no worker is active. NULL: the visit leaves
     * the last task unbooked, and the worker does both itself. */
    hora__atomic *activity;
    hora_thread *thread; /* with `activity`: the worker's own record */
    /* With `activity`: called with the queue's lock held, after the worker has become idle. Returns whether
     * the worker may wait for the next task in the same visit, without a time limit. NULL: never. */
    bool (*may_wait)(struct hora__hold *hold);
    /* Why such a wait ended without a task: HORA_EINTERRUPTED, HORA_EAGAIN or HORA_ECLOSED. 0: the worker did
     * not wait, or got a task. */
    int outcome;
};

/* Visits an element, or a detached task; then `item` is NULL. Returns false to end the visit. */
typedef bool (*hora__visit_fn)(void *item, const hora_task *task, void *arg);

/* ---- kinds ---- */

/* The operations of a work source. The caller holds the queue's lock, except for `offer`. */
struct hora__work_kind {
    struct hora__queue_behaviour behaviour; /* what public calls of the queue use; the adapter's is empty */
    /* Without the lock: accepts an element or a detached task, and wakes a taker if no other thread is going
     * to find the task. Returns 0, HORA_EFULL, HORA_ENOMEM, HORA_ECLOSED, or HORA_ENOTSUP if the source does
     * not accept this detached task, or none at all. */
    int (*offer)(hora_queue *queue, const struct hora__offer *offer);
    /* Removes the first task that can be taken now, and returns it; NULL: there is none. A detached task is
     * copied to *ret_taken, whose address is then returned. */
    void *(*take)(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes);
    /* As `take`, but also removes a task that cannot be taken yet. */
    void *(*take_first)(hora_queue *queue, struct hora__taken *ret_taken);
    /* For sources with an inbox, else NULL: announces to submitters when a taker will next search of its own
     * accord. A submitter whose task is due before `until` must have a taker woken (hora__work_look).
     * HORA_FOREVER: no taker will; INT64_MIN: one is about to search, and no submitter need do anything.
     * Then moves what submitters inserted before they could see the announcement from the inbox into the
     * container. Returns whether a taker has to search because of that. */
    bool (*expect)(hora_queue *queue, hora_ns until);
    /* For sources with due times: returns when the task after the first can be taken, if the source knows
     * that without a search, else HORA_FOREVER. NULL: it never knows. */
    hora_ns (*second_due)(hora_queue *queue);
    /* Calls `visit` for elements and detached tasks in their order, until it returns false. A source that
     * does not know the order visits the first few only. */
    void (*visit)(hora_queue *queue, hora__visit_fn visit, void *arg);
    /* Turns all detached tasks into elements; from then on the source accepts no detached task. Returns 0 or
     * the error of `make`; then some detached tasks may be left. NULL: the source has no detached tasks, or,
     * like the timer queue, a function of its own for this. */
    int (*show)(hora_queue *queue, const struct hora__maker *maker);
    bool claims;     /* workers may take without the lock: see backlog.h */
    bool is_ordered; /* `visit` visits all tasks, in their order. For the adapter see hora__work_is_ordered */
};

/* The part that all work sources have in common. */
struct hora__work_source {
    hora_queue queue;                   /* first: the two begin at the same address */
    const struct hora__work_kind *kind; /* immutable */
    hora_ns spin;                    /* how long a taker spins before it sleeps; 0: not at all; immutable */
    const struct hora__books *books; /* with `spin`: where a spinning taker sees a new task; immutable */

    /* The queue's lock guards the rest. */
    struct hora__waiter *searcher; /* the taker that was woken to search and has not begun to; NULL: none */
    bool spins;                    /* a taker spins: it is on no list, and will take the lock and search */
    bool leader_is_lax;            /* the leader was the standby, and still sleeps with the standby's slack */

    /* For sources with due times; see standby.c. */
    struct hora__waiter *standby; /* the taker that sleeps until the second task is due; NULL: none */
    hora_ns standby_until;        /* until when it sleeps, without the slack */
    hora_ns standby_slack;        /* how much longer the standby may sleep, in ns */
    hora_ns leader_slack;         /* how much longer the leader may sleep, in ns */
    uint32_t taken;               /* tasks taken since a taker last decided how long to sleep; may wrap */
    /* The leader also wakes up when the clocks' offsets differ from these. NULL: it does not watch them. */
    const struct hora__clock_offsets *watched;
};

/* Returns the work source of a queue; NULL: the queue waits as a public one. */
static inline struct hora__work_source *hora__work_source_of(hora_queue *queue)
{
    return queue->behaviour == NULL ? NULL : HORA__LIST_ENTRY(queue, struct hora__work_source, queue);
}

/* ---- work_source.c ---- */

/* Returns the operations by which a pool uses a queue. */
const struct hora__work_kind *hora__work_kind_of(const hora_queue *queue);

/* Returns whether hora__work_visit visits all tasks in their order. If not, it visits a few, of which the
 * first is the first task of the queue. */
bool hora__work_is_ordered(const hora_queue *queue);

/* Initialises the common part of a source whose memory is zero. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__work_source_init(struct hora__work_source *source,
                                                               const struct hora__queue_kind *container,
                                                               const struct hora__work_kind *kind,
                                                               int capacity,
                                                               const hora_queue_options *options);

/* Operations that several kinds share. The first three are the `behaviour`: hora__work_serve restores
 * the invariants of a source after a change; hora__work_close runs after the queue was closed;
 * hora__work_take (search.c) takes for a user of the queue. hora__work_put is an `offer` that accepts
 * elements only. hora__work_pop and hora__work_remove_first are `take` and `take_first` where no detached
 * task is in the source. hora__work_visit_few is the `visit` of a source that does not know its order. */
void hora__work_serve(hora_queue *queue, struct hora__wakes *wakes);
void hora__work_close(hora_queue *queue);
int hora__work_take(hora_queue *queue, hora_ns timeout, void **ret_item);
int hora__work_put(hora_queue *queue, const struct hora__offer *offer);
void *hora__work_pop(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes);
void *hora__work_remove_first(hora_queue *queue, struct hora__taken *ret_taken);
void hora__work_visit_few(hora_queue *queue, hora__visit_fn visit, void *arg);

/* Without the lock: serves a work source, which wakes a taker if one has to search. Called after a task was
 * inserted that no awake thread is going to find, or when more tasks may begin. The queue must not be an
 * adapted one. */
void hora__work_look(hora_queue *queue);

/* Removes an element, and books it as cancelled and finished. Returns whether it was in the queue. */
bool hora__work_remove_cancelled(hora_queue *queue, const void *item, struct hora__books *books);

/* Removes the first task, even if it cannot be taken yet, and returns it; NULL: the queue is empty. A
 * detached task is copied to *ret_taken, whose address is then returned. */
void *hora__work_pull_first(hora_queue *queue, struct hora__taken *ret_taken);

/* Takes the lock and calls `show` of struct hora__work_kind, if the kind has it. Returns 0 or the error of
 * `make`. */
__attribute__((warn_unused_result)) int hora__work_show(hora_queue *queue, const struct hora__maker *maker);

/* Visits the tasks, with the queue's lock held; see `visit` of struct hora__work_kind. Returns how many tasks
 * there are, HORA_EDEADLK or HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__work_visit(hora_queue *queue, hora__visit_fn visit, void *arg);

/* What to book: a task was accepted, was withdrawn by its submitter, or has ended; or nothing. */
enum hora__booking { HORA__ACCEPTED, HORA__WITHDRAWN, HORA__FINISHED, HORA__NOTHING };

/* Takes the queue's lock and books one event. Afterwards the calling thread is ordered against all threads
 * that change the books: a change made under the queue's locks later than this call sees what the caller did
 * before it. For HORA__NOTHING that order is the only purpose. */
void hora__work_book(hora_queue *queue, struct hora__books *books, enum hora__booking what);

/* ---- taking: search.c. A detached task is copied to *ret_taken, whose address is then returned ---- */

/* Takes the next task for a worker that has just run one, and returns it. NULL: there is none; the worker has
 * not waited, or its wait ended without a task (hold->outcome).
 *
 * Finished tasks are booked when the worker needs the lock. It keeps the last one unbooked until it has the
 * next task in hand, or until hold->activity says that it is idle. */
void *hora__work_next(hora_queue *queue, struct hora__hold *hold, struct hora__taken *ret_taken,
                      struct hora__books *books);

/* Books all tasks that the worker has finished, and releases the segment that it holds. */
void hora__work_leave(hora_queue *queue, struct hora__hold *hold, struct hora__books *books);

/* Waits for a task as hora_queue_poll_for does. ret_taken may be NULL if there are no detached tasks. Also
 * returns HORA_EAGAIN, if the calling thread led and the clocks' offsets have changed. */
__attribute__((warn_unused_result)) int hora__work_await(hora_queue *queue, hora_ns timeout,
                                                         struct hora__taken *ret_taken, void **ret_item);

/* Takes a task without waiting; NULL: none can be taken now, or the queue may not be used here. */
void *hora__work_poll(hora_queue *queue, struct hora__taken *ret_taken);

/* ---- standby.c: which taker sleeps until when, in a source with due times; with the lock held ---- */

/* Ensures that a taker wakes up for the first task, even if a submitter is just inserting that task into the
 * inbox. */
void hora__work_cover(hora_queue *queue, struct hora__wakes *wakes);

/* Decides until when the calling thread sleeps. Its waiter is on the takers' list, and it has just found that
 * no task can be taken. */
void hora__work_choose_sleep(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* Returns the time until which that thread sleeps, on the queue's clock. */
hora_ns hora__work_sleeps_until(hora_queue *queue, const struct hora__waiter *self);

/* Takes the roles of leader and standby away from a taker that is awake, before it leaves the list or decides
 * again. */
void hora__work_resign(hora_queue *queue, const struct hora__waiter *waiter);

#endif
