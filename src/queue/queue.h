/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - what the public queues have in common, and what each of them adds
 *
 * A kind of queue is a sequential container with a few operations. All of them but prepare and discard are
 * called with the queue's lock held, and none of them knows threads: queue.c, serve.c and transfer.c add the
 * waiting. The synchronous queue is the exception: its container is the list of waiting threads.
 *
 * A pool's own queue is a container, too, so that users can look at it through hora_pool_queue. But its
 * workers wait in another way, and its tasks may still stand in front of the container. Public calls reach
 * what differs through `behaviour`; src/queue knows nothing else of pools. See src/exec/work_source.h. */
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

/* An element that is being put. */
struct hora__put {
    void *item;
    hora__counter *accepted; /* raised with the lock held when the element is in; NULL: nothing counts it */
    hora_ns due;             /* delay queue: when it can be taken, */
    bool has_due;            /* if the caller said so */
    void *memory;            /* linked queue: the node for it, made before the lock is taken */
};

/* A thread that waits to put, or to take from a queue that is not a pool's own. */
struct hora__queue_waiter {
    struct hora__waiter waiter;
    struct hora__put put; /* a putter's; written before it is on the list */
    void *item;           /* a taker's; written before it is resolved */
};

/* Visits an element. False: it has seen enough. */
typedef bool (*hora__each_fn)(void *item, void *arg);

/* An inbox: where elements are posted without the queue's lock, under a lock of its own, rank INBOX. */
struct hora__queue_inbox {
    /* Move the elements that were posted into the container. */
    void (*collect)(hora_queue *queue);
    /* The queue is closed: let nothing in any more. */
    void (*seal)(hora_queue *queue);
    /* Without the lock: whether no thread holds a lock of the inbox at this moment. */
    bool (*is_free)(hora_queue *queue);
    /* For elements that become due, else NULL: tell those who post which elements a waiting taker has to hear
     * of. Whether such an element was in the inbox; it is in the container now. */
    bool (*guard)(hora_queue *queue);
};

/* The operations of a container. */
struct hora__queue_kind {
    /* Make, and give back, memory that a put needs before it has the lock. Both NULL: none. HORA_ENOMEM. */
    int (*prepare)(hora_queue *queue, struct hora__put *put);
    void (*discard)(hora_queue *queue, struct hora__put *put);
    /* Insert, taking over put->memory. 0, HORA_EFULL, HORA_ENOMEM or, for an element that does not belong
     * here, HORA_EINVAL; on error nothing has changed. */
    int (*push)(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes);
    /* Remove the first element that can be taken now; NULL: there is none. */
    void *(*pop)(hora_queue *queue, struct hora__wakes *wakes);
    /* The first element, or NULL. */
    void *(*peek)(hora_queue *queue);
    /* Remove some element, whichever is the cheapest; NULL: there is none. */
    void *(*drain)(hora_queue *queue);
    /* Whether an element is there; removes its first occurrence if told so. */
    bool (*find)(hora_queue *queue, const void *item, bool remove);
    /* One of these: write the first `max` elements, in the order in which they leave; or, for kinds that know
     * that order without memory for it, visit the elements until `visit` returns false. */
    void (*copy)(hora_queue *queue, void **items, int max);
    void (*each)(hora_queue *queue, hora__each_fn visit, void *arg);
    /* When the first element can be taken, HORA_FOREVER if never, and a number that tells it from all others;
     * called only with elements. NULL: always at once. */
    hora_ns (*next_due)(hora_queue *queue, uint64_t *ret_element);
    /* Release the container, which is empty, and the queue's memory. */
    void (*destroy)(hora_queue *queue);
    const struct hora__queue_inbox *inbox; /* NULL: it has none */
    bool inserts_always;                   /* putting never waits, and so never looks at interrupts */
};

/* How public calls treat a queue that is a pool's own. All but take are called with the lock held. */
struct hora__queue_behaviour {
    /* As hora__queue_serve. */
    void (*serve)(hora_queue *queue, struct hora__wakes *wakes);
    /* As hora_queue_poll_for, with arguments that have been checked. */
    int (*take)(hora_queue *queue, hora_ns timeout, void **ret_item);
    /* The queue is closed, and no taker is on the list any more. */
    void (*close)(hora_queue *queue);
    /* How many elements of `size` users do not see. NULL: none. */
    int (*hidden)(hora_queue *queue);
    /* Without the lock: the pool frees the queue, which is empty. NULL: there is nothing to do. */
    void (*leave)(hora_queue *queue);
};

struct hora_queue {
    const struct hora__queue_kind *kind; /* these seven are immutable */
    const struct hora__queue_behaviour
        *behaviour;          /* NULL: the queue is not a pool's own, or waits like a public one */
    const hora_clock *clock; /* this and the next are also in `object`, beside the lock that takers write */
    int32_t generation;
    int capacity;
    bool serves_latest; /* synchronous queue: of waiting threads the latest comes first */
    void (*drop)(void *item);
    void *(*own_ref)(void *item); /* as its maker said; immutable */
    void *(*ref)(
        void *item); /* peek and snapshot hand out references; guarded by the lock. NULL: the elements */
    void (*unref)(void *item); /* gives one back; likewise */
    bool is_lent;              /* a pool uses it; likewise */
    hora_compare_fn compare;
    char apart[HORA__CACHE_LINE]; /* posters read the fields above; takers write those below */
    struct hora__object object;

    /* guarded by object.lock */
    int size;
    bool closed;
    struct hora__list takers;
    struct hora__list putters;
    struct hora__ready_fd ready;

    /* Queues whose elements become due: of the takers, the one that sleeps until the first element is due. */
    struct hora__waiter *leader; /* NULL: none */
    hora_ns leader_until;        /* when it wakes up by itself */
    uint64_t leader_element;     /* the element it wakes up for, as told by next_due */
};

/* ---- making: queue.c ---- */

/* Options that a kind takes, besides clock, drop and context. */
enum { HORA__ALLOW_FAIR = 1, HORA__ALLOW_COMPARE = 2, HORA__ALLOW_REMAINING = 4 };

/* Read and check options, and that ret_queue is not NULL. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__queue_options(hora_queue_options *own,
                                                            const hora_queue_options *given, unsigned allowed,
                                                            hora_queue **ret_queue, hora_error *reason);
__attribute__((warn_unused_result)) int hora__queue_check_capacity(int capacity, hora_error *reason);

/* Initialise the common part of a queue that is zero. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__queue_init(hora_queue *queue,
                                                         const struct hora__queue_kind *kind, int capacity,
                                                         const hora_queue_options *options);

/* ---- entering and leaving: queue.c ---- */

/* Whether the queue may be used here at all: 0, HORA_EINVAL (NULL), HORA_EFORKED, HORA_EDEADLK. */
__attribute__((warn_unused_result)) int hora__queue_check(const hora_queue *queue);

/* Check, lock, and collect. */
__attribute__((warn_unused_result)) int hora__queue_enter(hora_queue *queue);

/* With the lock: bring elements that were posted into the container. */
static inline void hora__queue_collect(hora_queue *queue)
{
    if (queue->kind->inbox != NULL)
        queue->kind->inbox->collect(queue);
}

/* Unlock, then wake. */
void hora__queue_exit(hora_queue *queue, struct hora__wakes *wakes);

/* ---- keeping the invariants: serve.c; with the lock held ---- */

/* After any change: let in putters that wait for room, serve takers, choose a leader, and show in the
 * descriptor whether something can be taken. `self` is the caller's own waiter on the takers' list, or
 * NULL. */
void hora__queue_serve(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* The same after one element was put or removed, but cheaper. It leaves elements that have become due
 * meanwhile to the leader, which wakes up for them, and reads no clock unless the leader has to be woken. */
void hora__queue_serve_change(hora_queue *queue, struct hora__wakes *wakes);

/* Two parts of settling: putters, and the descriptor. */
void hora__queue_admit_putters(hora_queue *queue, struct hora__wakes *wakes);
void hora__queue_show_ready(hora_queue *queue);

/* ---- putting and taking: transfer.c ---- */

/* Put what is prepared, without waiting. HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__queue_put_now(hora_queue *queue, struct hora__put *put);

/* Put without waiting, of a queue that the caller has checked. HORA_EFULL, HORA_ENOMEM, HORA_ECLOSED. */
__attribute__((warn_unused_result)) int hora__queue_put(hora_queue *queue, struct hora__put *what);

/* With the lock: take, and settle. HORA_EEMPTY, HORA_ECLOSED. */
__attribute__((warn_unused_result)) int hora__queue_take_locked(hora_queue *queue, void **ret_item,
                                                                struct hora__wakes *wakes);

/* Check the queue and get the calling thread's record. A pending interrupt comes first: HORA_EINTERRUPTED. */
__attribute__((warn_unused_result)) int hora__queue_begin_waiting(const hora_queue *queue,
                                                                  hora_thread **ret_thread);

/* ---- looking: contents.c ---- */

/* A snapshot in memory that the caller frees. HORA_ENOMEM, and those of hora__queue_check. */
__attribute__((warn_unused_result)) int hora__queue_copy(hora_queue *queue, void ***ret_items,
                                                         int *ret_count);

/* How many elements there are, also those that users do not see. HORA_EDEADLK, HORA_EFORKED. */
int hora__queue_count(hora_queue *queue);

/* With the lock: write the first elements that users see; max > 0. */
void hora__queue_copy_locked(hora_queue *queue, void **items, int max);

/* Whether no thread holds a lock of the queue at this moment. */
bool hora__queue_is_free(hora_queue *queue);

/* With the lock: how many elements users see. */
int hora__queue_listed(hora_queue *queue);

/* ---- in the hands of a pool: queue.c ---- */

/* A pool takes the caller's queue for its own: from now on its elements are counted. HORA_EBUSY: another pool
 * has it. The second function gives it back. */
__attribute__((warn_unused_result)) int hora__queue_lend(hora_queue *queue, void *(*ref)(void *item),
                                                         void (*unref)(void *item));
void hora__queue_give_back(hora_queue *queue);

/* Hand out references to its elements; for a queue that no other thread uses yet. */
void hora__queue_count_elements(hora_queue *queue, void *(*ref)(void *item), void (*unref)(void *item));

#endif
