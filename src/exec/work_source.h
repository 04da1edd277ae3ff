/* SPDX-License-Identifier: Apache-2.0 */
/* work_source.h - where a pool takes its tasks from
 *
 * A pool takes tasks from a queue, and hora_pool_queue shows that queue to users. Four kinds of queue are a
 * pool's own: the backlog, with and without a bound (backlog.c), the admission queue (pool_admission.c) and
 * the timer queue of a scheduler (src/sched). Each of them is a struct hora__work_source, whose first member
 * is the queue. Their takers are not handed tasks: one of them at a time is told to look (work_source.c), and a
 * worker that is awake takes what there is without waking others (search.c). A queue that waits like a public
 * one, among them all that users hand to a pool, has no struct of its own: `adapter` in work_source.c lets
 * the pool use it.
 *
 * Tasks             stand in a work source as futures, or as detached tasks, which have no future. Callers
 *                   that take without a cell to copy a detached task to must have the source shown first.
 * Books             count the tasks of a pool. They change under the locks of its queue, which each task
 *                   needs anyway. */
#ifndef HORA_EXEC_WORK_SOURCE_H
#define HORA_EXEC_WORK_SOURCE_H

#include <assert.h>

#include <hora/trigger.h>

#include "base/fault.h"
#include "queue/queue.h"
#include "sys/atomic.h"

/* ---- books ---- */

enum { HORA__BRANCHES_MOST = 16 };

/* How many tasks a pool has accepted, and how many of them have ended. All of it only grows. */
struct hora__books {
    /* other than by a branch; this and the next three change under the queue's lock */
    hora__counter accepted;
    /* of these, tasks taken back as if they had never come; they count as finished, too */
    hora__counter withdrawn;
    hora__counter cancelled; /* of the finished tasks, those that were removed because of a cancel */
    hora__counter finished;
    int branch_count; /* this and the branches are immutable */
    const struct hora__branch *branches[HORA__BRANCHES_MOST];
};

/* How many tasks were accepted; were cancelled; have ended. Counts of finished, cancelled and withdrawn tasks
 * are published when they change, and observed here. Each such task was accepted before, in the order of
 * happens-before: by the thread that has finished it, or by one that had a lock of the queue before. So a
 * thread that reads how many have ended before it reads how many were accepted never reads a smaller number
 * for the latter. */
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

static inline bool hora__books_are_even(const struct hora__books *books)
{
    /* Both only grow, and this is read first, with acquire. So each task that was accepted before one that
     * counts as finished here counts as accepted below. If the two are even, then all tasks accepted by some
     * moment had ended by it, and no task that the caller knows to be accepted is missing. With relaxed
     * loads, or the other way round, a task that submits another one before it ends could count as finished,
     * and the other not yet as accepted. */
    int64_t finished = hora__books_finished(books);
    return finished == hora__books_accepted(books);
}

/* ---- tasks ---- */

/* A worker of a scheduler notes here which timer it has taken, from the moment in which the timer leaves the
 * queue until its function and all hooks around it have returned. The timer's memory may be gone by then:
 * only its address is used. */
struct hora__timer_run {
    struct hora__list
        link;          /* among those of the scheduler's workers; guarded by the queue's lock, as `timer` */
    const void *timer; /* NULL: it runs none. Written by the worker alone */
    int (*function)(void *arg); /* copies, since the timer may change or go; the worker's own */
    void *arg;
    bool has_begun; /* for a planted fault alone: the function has been called */
};

/* A scheduler's worker begins the run of a series in the visit to the queue in which it takes the series'
 * entry, and puts the entry back in the visit in which it takes the next one. It notes here what happens
 * between the two visits. The worker alone uses the note; `take` of the timer queue changes it with the
 * queue's lock held. See sched/series.c. */
struct hora__series_run {
    struct hora_pool *pool;    /* immutable */
    hora__counter *completed;  /* the worker's count of runs that have ended; immutable */
    struct hora_future *begun; /* taken, and its run has begun; NULL: none, or the run goes the general way */
    struct hora_future *ended; /* its run has succeeded, and the next visit puts it back; NULL: none */
    /* of `begun`: start and planned time of the run before, if this one does not begin */
    hora_ns start_before;
    hora_ns planned_before;
};

/* Where a detached task is copied to when it is taken. */
struct hora__taken {
    int64_t came; /* of its posting */
    hora_task task;
    /* a scheduler's worker: where a timer goes instead of `task`. NULL: another caller */
    struct hora__timer_run *run;
    /* a scheduler's worker whose pool is not observed; NULL: another caller */
    struct hora__series_run *series;
    hora_ns now; /* the clock as `take` has read it last; HORA_NEVER: it has not */
};

/* Whether the run of a series has ended, and its entry is still to be put back. */
static inline bool hora__taken_owes_return(const struct hora__taken *taken)
{
    return taken->series != NULL && taken->series->ended != NULL;
}

static inline bool hora__taken_has_timer(const struct hora__taken *taken)
{
    return taken->run != NULL && taken->run->timer != NULL;
}

/* What is offered: an element, or a detached task. A detached task has no address by which it could be taken
 * back. Instead the source looks at a word of the owner while it lets the task in: an owner that changes the
 * word and then looks into the queue sees all detached tasks that will ever come. */
struct hora__offer {
    const hora_task *task; /* NULL: an element, */
    void *item;            /* this one */
    int64_t came;          /* of a task: whatever the owner wants to know with it; as a rule when it came */
    const hora__atomic *control; /* of a task: let in only while this is below `closed` */
    int32_t closed;
    struct hora__books *books; /* NULL: the offer is not counted, or by a branch */
};

/* Makes an element of a detached task, with the queue's lock held. 0 or an error. */
struct hora__maker {
    int (*make)(void *context, const struct hora__taken *taken, void **ret_item);
    void *context;
};

/* What a worker keeps from one visit of the queue to the next. */
struct hora__hold {
    struct hora__segment *segment; /* from which it may take without the lock; NULL: none */
    int finished;                  /* tasks that it has dealt with, and that are not in the books yet */
    /* Set to 0 before the last of them is booked, if there is no other task to take; NULL: the worker books
     * that one. */
    hora__atomic *activity;
    hora_thread *thread; /* with `activity`: the worker's own record */
    /* With `activity`: asked with the queue's lock held, after the worker has become idle; whether it may
     * wait for the next task in the same visit, without a time limit. NULL: it never may. */
    bool (*may_wait)(struct hora__hold *hold);
    /* Why such a wait has ended without a task: HORA_EINTERRUPTED, HORA_EAGAIN, HORA_ECLOSED. 0: it has
     * not. */
    int outcome;
};

/* Visits an element, or a detached task, and then `item` is NULL. False: it has seen enough. */
typedef bool (*hora__visit_fn)(void *item, const hora_task *task, void *arg);

/* ---- kinds ---- */

/* The operations of a work source. Those that take a lock themselves are marked; the others are called with
 * that of the queue. */
struct hora__work_kind {
    struct hora__queue_behaviour behaviour; /* of public calls. All NULL: those of the queue itself */
    /* Takes locks. Accept an element or a detached task, and wake a worker if one has to look. HORA_EFULL,
     * HORA_ENOMEM, HORA_ECLOSED. HORA_ENOTSUP: no detached tasks, or not any more. */
    int (*offer)(hora_queue *queue, const struct hora__offer *offer);
    /* As pop of the container; a detached task is copied to *ret_taken, and that address returned. */
    void *(*take)(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes);
    /* The same of the first task, whether it can be taken yet or not. */
    void *(*take_first)(hora_queue *queue, struct hora__taken *ret_taken);
    /* Sources with an inbox, else NULL: tell posters that no taker looks before this time by itself.
     * HORA_FOREVER: none does; INT64_MIN: one is on its way, and need not be told. Whether something has come
     * before that has to be looked at. */
    bool (*expect)(hora_queue *queue, hora_ns until);
    /* Sources with due times: when the task after the first can be taken, if that is known without effort;
     * else HORA_FOREVER. NULL: it never is. */
    hora_ns (*second_due)(hora_queue *queue);
    /* Visit elements and detached tasks in their order, as long as `visit` says so. A source that does not
     * know its order shows the first few. */
    void (*visit)(hora_queue *queue, hora__visit_fn visit, void *arg);
    /* Make elements of all detached tasks; from then on none is let in. On error, that of `make`, some may be
     * left. */
    int (*show)(hora_queue *queue, const struct hora__maker *maker);
    bool claims;     /* workers may take without the lock: see backlog.h */
    bool is_ordered; /* visit visits all tasks, in their order. Of the adapter: see hora__work_is_ordered */
};

struct hora__work_source {
    hora_queue queue;                   /* first: hora_pool_queue shows it to users */
    const struct hora__work_kind *kind; /* immutable */
    hora_ns spin; /* how long a taker looks again before it sleeps; 0: not at all. Immutable, as the next */
    const struct hora__books *comes; /* with spin: by which it sees that a task has come */

    /* guarded by the queue's lock */
    struct hora__waiter
        *searcher;      /* of the takers, the one that was told to look and has not yet; NULL: none */
    bool spins;         /* a taker that is on no list goes on looking, and takes the lock in the end */
    bool leader_is_lax; /* the leader was the standby, and sleeps on as such */

    /* Sources with due times: see standby.c. */
    /* of the takers, the one that sleeps until the second task is due; NULL: none */
    struct hora__waiter *standby;
    hora_ns standby_until;
    hora_ns standby_slack; /* how much longer it sleeps, where sleep is not exact anyway */
    hora_ns leader_slack;  /* the same of the leader */
    uint32_t taken;        /* tasks, since a taker last decided until when to sleep; it may wrap */
    /* the leader wakes up when the clocks differ from these; NULL: never */
    const struct hora__clock_offsets *watched;
};

/* NULL: the queue waits like a public one. */
static inline struct hora__work_source *hora__work_source_of(hora_queue *queue)
{
    return queue->behaviour == NULL ? NULL : HORA__LIST_ENTRY(queue, struct hora__work_source, queue);
}

/* ---- work_source.c ---- */

/* How the pool uses a queue. */
const struct hora__work_kind *hora__work_kind_of(const hora_queue *queue);

/* Whether visit visits all tasks, in their order; else the first few, of which the first is the first one. */
bool hora__work_is_ordered(const hora_queue *queue);

/* Initialise the common part of a source that is zero. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__work_source_init(struct hora__work_source *source,
                                                               const struct hora__queue_kind *container,
                                                               const struct hora__work_kind *kind,
                                                               int capacity,
                                                               const hora_queue_options *options);

/* For kinds: the parts of struct hora__work_kind that most of them share. put accepts elements alone. */
void hora__work_serve(hora_queue *queue, struct hora__wakes *wakes);
void hora__work_close(hora_queue *queue);
int hora__work_take(hora_queue *queue, hora_ns timeout, void **ret_item); /* in search.c */
int hora__work_put(hora_queue *queue, const struct hora__offer *offer);
void *hora__work_pop(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes);
void *hora__work_remove_first(hora_queue *queue, struct hora__taken *ret_taken);
void hora__work_visit_few(hora_queue *queue, hora__visit_fn visit, void *arg);

/* Settle a work source, not an adapted queue: something has been posted that a sleeping worker has to look
 * at, or more tasks may begin. */
void hora__work_look(hora_queue *queue);

/* Remove an element, and book it as cancelled and finished. Whether it was there. */
bool hora__work_remove_cancelled(hora_queue *queue, const void *item, struct hora__books *books);

/* Remove the first element, whether it can be taken yet or not; NULL: there is none. A detached task is
 * copied to *ret_taken, whose address is then returned. */
void *hora__work_pull_first(hora_queue *queue, struct hora__taken *ret_taken);

/* See `show` of struct hora__work_kind. */
__attribute__((warn_unused_result)) int hora__work_show(hora_queue *queue, const struct hora__maker *maker);

/* Visit the tasks with the queue's lock held. Returns how many there are. HORA_EDEADLK, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__work_visit(hora_queue *queue, hora__visit_fn visit, void *arg);

enum hora__booking { HORA__ACCEPTED, HORA__WITHDRAWN, HORA__FINISHED, HORA__NOTHING };

/* Book something. In any case what happens in the books after this is ordered after what the caller did
 * before. */
void hora__work_book(hora_queue *queue, struct hora__books *books, enum hora__booking what);

/* ---- taking: search.c. A detached task is copied to *ret_taken, whose address is then returned ---- */

/* If there is a task, take it; NULL: there is none, and the caller has not waited, or in vain
 * (hold->outcome). Tasks that the caller has finished are booked now and then, but the last of them only with
 * success, or after the caller's activity has ended. */
void *hora__work_next(hora_queue *queue, struct hora__hold *hold, struct hora__taken *ret_taken,
                      struct hora__books *books);

/* Book all tasks that the caller has finished, and let go what it holds. */
void hora__work_leave(hora_queue *queue, struct hora__hold *hold, struct hora__books *books);

/* As hora_queue_poll_for. ret_taken NULL: there are no detached tasks. HORA_EAGAIN: the clocks have
 * parted. */
__attribute__((warn_unused_result)) int hora__work_await(hora_queue *queue, hora_ns timeout,
                                                         struct hora__taken *ret_taken, void **ret_item);

/* As hora_queue_poll; NULL: no task can be taken. */
void *hora__work_poll(hora_queue *queue, struct hora__taken *ret_taken);

/* ---- standby.c: which taker sleeps until when, in a source with due times; with the lock held ---- */

/* See that a taker wakes up for the first task, also if it comes in by way of the inbox. */
void hora__work_cover(hora_queue *queue, struct hora__wakes *wakes);

/* The caller's own waiter, which is on the takers' list, found no task that can be taken, and is about to
 * sleep: decide until when. */
void hora__work_choose_sleep(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* Until when it sleeps. */
hora_ns hora__work_sleeps_until(hora_queue *queue, const struct hora__waiter *self);

/* A taker leaves the list, or is awake and decides anew: it sleeps for no task any more. */
void hora__work_resign(hora_queue *queue, const struct hora__waiter *waiter);

#endif
