/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what the five kinds of queue have in common, and what each adds
 *
 * A kind is a sequential container with a few operations, all called with the queue's lock held (but prepare and
 * discard); it knows nothing of threads. queue.c puts the waiting around it. The synchronous queue is the exception
 * that proves the rule: its container is the list of waiting threads. */
#ifndef HORA_QUEUE_QUEUE_H
#define HORA_QUEUE_QUEUE_H

#include <hora/queue.h>
#include <hora/task.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sync/object.h"
#include "sync/ready_fd.h"
#include "sync/wait.h"
#include "sys/alloc.h"

/* What is counted in another place than the books themselves, because the threads that count meet nowhere else: under a lock of that
 * place. */
struct hora__branch {
    hora__counter posted;    /* accepted there */
    hora__counter cancelled; /* of these, removed for that: finished as well */
};

enum { HORA__BRANCHES_MOST = 16 };

/* What a pool wants to know of the elements that it puts: how many they were, and how many of them it has dealt with.
 * They change under the locks of the queue, which are taken for each element anyway, and only grow. */
struct hora__books {
    hora__counter accepted;  /* in any other way than by a branch; this and what follows under the queue's lock */
    hora__counter withdrawn; /* of these, taken back as if they had never come: finished as well */
    hora__counter cancelled; /* of the finished ones, those that were removed for that */
    hora__counter finished;
    int branch_count; /* this and the branches are immutable */
    const struct hora__branch *branches[HORA__BRANCHES_MOST];
};

/* What is being put. */
struct hora__put {
    void *item;
    struct hora__books *books; /* NULL: none */
    hora_ns due;               /* delay queue: when it can be taken, */
    bool has_due;              /* if that was said */
    void *memory;              /* linked queue: the node for it, made before the lock is taken */
};

/* A worker of a scheduler notes here which timer it has taken, from the moment in which the timer leaves the queue until its function, and all
 * hooks around it, have returned. The memory of the timer may be gone by then, so only its address is used. */
struct hora__timer_run {
    struct hora__list link;     /* among those of the scheduler's workers; guarded by the queue's lock, as `timer` */
    const void *timer;          /* NULL: it runs none. Written by the worker alone */
    int (*function)(void *arg); /* copies, since the timer may change or go; the worker's own */
    void *arg;
    bool has_begun; /* for a planted fault alone: the function has been called */
};

/* A task by value that somebody has taken, or looks at. */
struct hora__cell {
    int64_t came; /* what its posting said */
    hora_task task;
    struct hora__timer_run
        *run; /* of a scheduler's worker: where a timer goes instead of `task`. NULL: it is no such worker's */
};

/* A thread that waits to put or to take. */
struct hora__queue_waiter {
    struct hora__waiter waiter;
    struct hora__put put;    /* a putter's; written before it is on the list */
    void *item;              /* a taker's; written before it is resolved */
    struct hora__cell *cell; /* a taker's: where a task by value goes; NULL: there can be none */
};

/* What is posted: an element, or a task by value. Nobody knows that by an address, so it cannot be taken back: instead a word
 * of the owner is looked at while it is let in. Who changes that word and then looks into the queue sees all that will
 * ever come by value. */
struct hora__posting {
    const hora_task *task;    /* NULL: an element, */
    void *item;               /* that */
    int64_t came;             /* of a task: whatever the owner wants to know with it; as a rule when it came */
    const hora__atomic *gate; /* of a task: let in only while this is below `closed` */
    int32_t closed;
    struct hora__books *books;
};

/* Who makes an element of a task by value, with the queue's lock held. 0 or an error. */
struct hora__maker {
    int (*make)(void *context, const struct hora__cell *cell, void **ret_item);
    void *context;
};

/* What a worker keeps from one visit of the queue to the next. */
struct hora__hold {
    struct hora__segment *segment; /* from which it may take without the lock; NULL: none */
    int finished;                  /* tasks that it has dealt with, and that are not in the books yet */
    hora__atomic *
        activity; /* to be 0 before the last of them is booked, if there is no other to take; NULL: it books that one itself */
};

/* Whoever looks through a queue: an element, or a task by value, and then `item` is NULL. False: it has seen enough. */
typedef bool (*hora__visit_fn)(void *item, const hora_task *task, void *arg);

struct hora__queue_kind {
    /* Make, and give back, memory that a put needs before it has the lock. Both NULL: none. HORA_ENOMEM. */
    int (*prepare)(hora_queue *queue, struct hora__put *put);
    void (*discard)(hora_queue *queue, struct hora__put *put);
    /* Insert, taking over put->memory. 0, HORA_EFULL, HORA_ENOMEM or, for what does not belong here, HORA_EINVAL, and then nothing has
     * changed. */
    int (*push)(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes);
    /* Remove the first element that can be taken now; NULL: there is none. */
    void *(*pop)(hora_queue *queue, struct hora__wakes *wakes);
    /* The first element, or NULL. */
    void *(*peek)(hora_queue *queue);
    /* Remove some element, whichever is the cheapest; NULL: there is none. */
    void *(*strip)(hora_queue *queue);
    /* Whether an element is there; removes its first occurrence if told so. */
    bool (*find)(hora_queue *queue, const void *item, bool remove);
    /* One of these: write the first `max` elements; or, for kinds that know their order without memory for it, visit the elements, and tasks by
     * value, until `visit` has seen enough. */
    void (*copy)(hora_queue *queue, void **items, int max);
    void (*each)(hora_queue *queue, hora__visit_fn visit, void *arg);
    /* Delay queue: when the first element can be taken, HORA_FOREVER if never, and a number that tells it from all
     * others; called only with elements. NULL: at once. */
    hora_ns (*next_due)(hora_queue *queue, uint64_t *ret_element);
    /* Of a kind that is timed and searched: when the one after the first can be taken, as well as that is known without effort;
     * HORA_FOREVER if it is not. NULL: never. */
    hora_ns (*second_due)(hora_queue *queue);
    /* How many of its elements users do not see: timers of a scheduler. NULL: none. */
    int (*hidden)(hora_queue *queue);
    /* Release the container, which is empty, and the queue's memory. */
    void (*destroy)(hora_queue *queue);
    /* For kinds with an inbox; else NULL. It has a lock of its own, rank INBOX, so that those who put do not meet those who take.
     * post puts an element into it, without the queue's lock: HORA_ENOMEM, HORA_ECLOSED; whether somebody wanted one is told. absorb
     * moves what is there into the container. want says whether one is wanted. seal lets nothing in any more. */
    int (*post)(hora_queue *queue, const struct hora__posting *posting, bool *ret_wanted);
    void (*absorb)(hora_queue *queue);
    void (*want)(hora_queue *queue, bool wanted);
    void (*seal)(hora_queue *queue);
    /* For delay queues with an inbox: nobody will look by himself before this time; INT64_MIN: nobody waits to be told. Whether what
     * came in before that was said has to be looked at. Else NULL. */
    bool (*expect)(hora_queue *queue, hora_ns until);
    /* The owner is about to leave the queue, which is empty. NULL: there is nothing to do. */
    void (*leave)(hora_queue *queue);
    /* For an inbox of elements that become due, else NULL: those who put are told which ones a waiting taker wants to know of.
     * Whether one of these was in the inbox; it is in the container now. */
    bool (*guard)(hora_queue *queue);
    /* And these, for tasks that were posted by value. take is pop; a task by value is copied to *ret_cell, and that address
     * returned. show makes elements of them all; from then on posting by value is refused. On error, that of `make`, some
     * may still be tasks. */
    void *(*take)(hora_queue *queue, struct hora__cell *ret_cell, struct hora__wakes *wakes);
    /* A timer that was taken into this cell has run: forget it, and note whom to wake. take does that as well. NULL: there are no timers. */
    void (*ran)(hora_queue *queue, struct hora__cell *cell, struct hora__wakes *wakes);
    /* The same of the first element, whether it can be taken yet or not. NULL: there is none that could not be. */
    void *(*take_first)(hora_queue *queue, struct hora__cell *ret_cell);
    int (*show)(hora_queue *queue, const struct hora__maker *maker);
    /* And to take without the lock; else NULL. offer lets those who hold the first elements claim them from their segment, one by one in their
     * order, and the caller hold it; follow lets it hold what others were offered, if that is something else than what it
     * holds; let_go ends it. recall ends the offer: as long as there is one, `size` is too high by what has been claimed. */
    void (*offer)(hora_queue *queue, struct hora__hold *hold);
    bool (*follow)(hora_queue *queue, struct hora__hold *hold);
    void (*let_go)(hora_queue *queue, struct hora__hold *hold);
    void (*recall)(hora_queue *queue);
    /* Whether nobody holds a lock that the kind has besides the queue's, at this moment. NULL: it has none. */
    bool (*is_free)(hora_queue *queue);
    bool inserts_always; /* putting never waits, and so never looks at interrupts */
    bool is_searched;    /* takers are told to look, one at a time, instead of being handed elements; see settle.c */
};

struct hora_queue {
    const struct hora__queue_kind *kind; /* these nine are immutable */
    const hora_clock *clock;             /* this and the next are also in `object`, beside the lock that takers write */
    int32_t generation;
    int capacity;
    bool serves_latest;              /* waiting threads: the latest first */
    hora_ns spin;                    /* kinds that are searched: how long a taker looks again before it sleeps */
    const struct hora__books *comes; /* with spin: by which it sees that something has come */
    void (*drop)(void *item);
    void *(*own_ref)(void *item); /* as its maker said; immutable */
    void *(*ref)(
        void *item); /* peek and snapshot hand out references; guarded by the lock. NULL: the elements themselves */
    void (*unref)(void *item); /* gives one back; likewise */
    bool is_lent;              /* a pool has it; likewise */
    hora_compare_fn compare;
    char apart[HORA__CACHE_LINE]; /* who posts reads what is above, and does not want to meet what others write below */
    struct hora__object object;

    /* guarded by object.lock */
    int size;
    bool closed;
    bool spins;         /* a taker that is on no list goes on looking, and takes the lock in the end */
    bool leader_is_lax; /* the leader was the standby, and sleeps on as such */
    struct hora__list takers;
    struct hora__list putters;
    struct hora__ready_fd ready;
    struct hora__waiter *searcher; /* of the takers, the one that has been told to look and has not yet; NULL: none */

    /* timed queues: of the takers, the one that sleeps until the first element is due; see settle.c and standby.c */
    const struct hora__clock_offsets
        *watched;                /* the leader sleeps until the clocks differ from these; NULL: it does not watch */
    struct hora__waiter *leader; /* NULL: none */
    uint64_t leader_element;     /* what it waits for, as told by next_due */
    hora_ns leader_until;        /* and until when */
    struct hora__waiter
        *standby; /* of the other takers, the one that sleeps until the second element is due; NULL: none */
    hora_ns standby_until;
    hora_ns standby_grace; /* and how much longer it sleeps, where sleep is not exact anyway */
    hora_ns leader_grace;  /* the same of the leader */
    uint32_t taken;        /* elements, since a taker last decided until when to sleep; it may wrap */
};

/* ---- making: queue.c ---- */

/* Options that a kind takes, besides clock, drop and context. */
enum { HORA__ALLOW_FAIR = 1, HORA__ALLOW_COMPARE = 2, HORA__ALLOW_REMAINING = 4 };

/* Read and check options, and that ret_queue is not NULL. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__queue_options(hora_queue_options *own, const hora_queue_options *given,
                                                            unsigned allowed, hora_queue **ret_queue,
                                                            hora_error *reason);
__attribute__((warn_unused_result)) int hora__queue_check_capacity(int capacity, hora_error *reason);

/* Initialise the common part. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__queue_init(hora_queue *queue, const struct hora__queue_kind *kind,
                                                         int capacity, const hora_queue_options *options);

/* ---- entering and leaving: queue.c ---- */

/* Whether the queue may be used here at all: 0, HORA_EINVAL (NULL), HORA_EFORKED, HORA_EDEADLK. */
__attribute__((warn_unused_result)) int hora__queue_check(const hora_queue *queue);

/* Check and lock. */
__attribute__((warn_unused_result)) int hora__queue_enter(hora_queue *queue);

/* Unlock, then wake. */
void hora__queue_exit(hora_queue *queue, struct hora__wakes *wakes);

/* ---- keeping the invariants: settle.c; with the lock held ---- */

/* After any change: let in who waits for room, serve who waits for elements, see that somebody leads, and show in the
 * descriptor whether something can be taken. `self` is the caller's own waiter on the takers' list, or NULL. */
void hora__queue_settle(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* The same after one element was put or removed, but cheaper: what has become available by the mere passing of time is left to the
 * leader, which wakes up for it, and no clock is read unless that one has to be woken. */
void hora__queue_settle_change(hora_queue *queue, struct hora__wakes *wakes);

/* A taker of a kind that is searched is awake, and looks: what it finds, with its waiter off the list, or NULL. */
void *hora__queue_search(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* ---- who sleeps until when, in a queue that is timed and searched: standby.c; with the lock held ---- */

/* See that somebody wakes up for the first element, also if it comes in by way of the inbox. */
void hora__queue_cover(hora_queue *queue, struct hora__wakes *wakes);

/* The caller's own waiter, which is on the takers' list, found nothing that can be taken, and is about to sleep: decide until when. */
void hora__queue_take_post(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* Whether elements may have become available by the passing of time that belong to those who wait already. */
static inline bool hora__queue_hands_over_late(const hora_queue *queue)
{
    return queue->kind->next_due != NULL && !queue->kind->is_searched && !hora__list_is_empty(&queue->takers);
}

/* Until when it sleeps. Of any queue. */
hora_ns hora__queue_sleeps_until(const hora_queue *queue, const struct hora__waiter *self);

/* A taker leaves the list, or is awake and decides anew: it sleeps for no element any more. Of any queue. */
void hora__queue_resign(hora_queue *queue, const struct hora__waiter *waiter);

/* ---- settle.c ---- */

/* A waiter takes itself off its list. */
void hora__queue_withdraw(hora_queue *queue, struct hora__waiter *waiter);

/* ---- looking: contents.c ---- */

/* A snapshot in memory that the caller frees; `hold`, if not NULL, is called for each element while the queue is
 * locked, so that it can be kept from vanishing. HORA_ENOMEM, and those of hora__queue_check. */
__attribute__((warn_unused_result)) int hora__queue_copy(hora_queue *queue, void ***ret_items, int *ret_count);

/* How many elements there are, also those that nobody is shown. HORA_EDEADLK, HORA_EFORKED. */
int hora__queue_count(hora_queue *queue);

/* Look through the elements, and tasks by value, in their order and with the queue's lock held. Returns how many there are. A kind that does not
 * know the order by itself is asked for its first few elements only, of which the first is the first one. HORA_EDEADLK, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__queue_survey(hora_queue *queue, hora__visit_fn visit, void *arg);

/* Whether nobody holds a lock of the queue at this moment. */
bool hora__queue_is_free(hora_queue *queue);

/* Remove an element, and book it as cancelled and finished. Whether it was there. */
bool hora__queue_remove_cancelled(hora_queue *queue, const void *item, struct hora__books *books);

/* Remove the first element, whether it can be taken yet or not; NULL: there is none. A task by value is copied to *ret_cell, whose address
 * is then returned. */
void *hora__queue_remove_first(hora_queue *queue, struct hora__cell *ret_cell);

/* ---- putting: transfer.c ---- */

/* As hora_queue_offer, of a queue that the caller knows to be usable; what is put is in the books. */
__attribute__((warn_unused_result)) int hora__queue_offer(hora_queue *queue, void *item, struct hora__books *books);

/* Post, also a task by value, into a queue that has `take`: HORA_ENOMEM, HORA_ECLOSED. HORA_ENOTSUP: not by value, since it
 * has been shown, or the gate is closed. */
__attribute__((warn_unused_result)) int hora__queue_post(hora_queue *queue, const struct hora__posting *posting);

/* What has been posted is wanted by somebody who sleeps. */
void hora__queue_look(hora_queue *queue);

/* If there is an element, take it; NULL: there is none. What the caller has finished is booked now and then, but for the last task
 * only with success, or after its activity has ended. Here and below: a task by value is copied to *ret_cell, whose address is then returned. */
void *hora__queue_next(hora_queue *queue, struct hora__hold *hold, struct hora__cell *ret_cell,
                       struct hora__books *books);

/* A timer was taken into this cell, and has run: see `ran` of struct hora__queue_kind. hora__queue_next does the same, by take. */
void hora__queue_ran(hora_queue *queue, struct hora__cell *cell);

static inline bool hora__cell_has_timer(const struct hora__cell *cell)
{
    return cell->run != NULL && cell->run->timer != NULL;
}

/* Book all that the caller has finished, and let go what it holds. */
void hora__queue_leave(hora_queue *queue, struct hora__hold *hold, struct hora__books *books);

/* As hora_queue_poll_for. */
__attribute__((warn_unused_result)) int hora__queue_take(hora_queue *queue, hora_ns timeout,
                                                         struct hora__cell *ret_cell, void **ret_item);

/* As hora_queue_poll; NULL: there is none that can be taken. */
void *hora__queue_poll(hora_queue *queue, struct hora__cell *ret_cell);

/* See `show` of the kinds. Does nothing in a queue without tasks by value. */
__attribute__((warn_unused_result)) int hora__queue_show(hora_queue *queue, const struct hora__maker *maker);

enum hora__booking { HORA__ACCEPTED, HORA__WITHDRAWN, HORA__FINISHED, HORA__NOTHING };

/* Book something. In any case what happens in the books after this is ordered after what the caller did before. */
void hora__queue_book(hora_queue *queue, struct hora__books *books, enum hora__booking what);

/* How many were taken on; were cancelled; ended. What is finished, cancelled or withdrawn is published when it is counted, and observed here. The
 * element was accepted before that, in the order of happens-before: by the thread that has finished it, or by one that had a lock
 * of the queue before. So who reads what has ended before it reads what was accepted never reads less of that. */
static inline int64_t hora__books_accepted(const struct hora__books *books)
{
    int64_t sum = hora__counter_read(&books->accepted);
    for (int i = 0; i < books->branch_count; i++)
        sum += hora__counter_read(&books->branches[i]->posted);
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
    /* Both only grow, and this is read first, with acquire: so of all that was accepted before something that counts as finished here, each
     * counts as accepted below. If the two are even, then all that was accepted by some moment had ended by it, and nothing
     * that the caller knows to be accepted is missing. With relaxed loads, or the other way round, a task that brings another
     * before it ends could count as finished, and the other not yet as accepted. */
    int64_t finished = hora__books_finished(books);
    return finished == hora__books_accepted(books);
}

/* Put without waiting; `put` is prepared. HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__queue_put_now(hora_queue *queue, struct hora__put *put);

/* A pool takes the caller's queue for its own: its elements are counted from now on. HORA_EBUSY: another pool has it. And: gives it back. */
__attribute__((warn_unused_result)) int hora__queue_lend(hora_queue *queue, void *(*ref)(void *item),
                                                         void (*unref)(void *item));
void hora__queue_give_back(hora_queue *queue);

/* Hand out references to its elements; for a queue that no other thread uses yet. */
void hora__queue_count_elements(hora_queue *queue, void *(*ref)(void *item), void (*unref)(void *item));

#endif
