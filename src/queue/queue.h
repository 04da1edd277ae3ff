/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the common part of all public queues, and the interface of their containers
 *
 * A kind of queue is a sequential container with a few operations. All operations except prepare and discard
 * are called with the queue's lock held, and none of them deals with threads: queue.c, serve.c and transfer.c
 * add the waiting. The synchronous queue is the exception: its container is the list of waiting threads.
 *
 * The queue that a pool makes for itself is such a container, too, so that users can inspect it through
 * hora_pool_queue. But its workers wait in another way, and new tasks may still be in an inbox in front of
 * the container. Public calls reach what differs through `behaviour`; src/queue knows nothing else of pools.
 * See src/exec/work_source.h. */
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
    hora__counter *accepted; /* incremented under the lock when the element is in; NULL: nothing to count */
    hora_ns due;             /* delay queue, with has_due: when the element can be taken */
    bool has_due;            /* the caller gave a due time */
    void *memory;            /* linked queue: the node for it, made before the lock is taken; else NULL */
};

/* A thread that waits to put, or to take from a queue without a behaviour of its own. It is on the stack of
 * the thread. */
struct hora__queue_waiter {
    struct hora__waiter waiter;
    struct hora__put put; /* of a putter; written before it is on the list */
    void *item;           /* of a taker; written before it is resolved */
};

/* Visits an element. Returns false to end the visits. */
typedef bool (*hora__each_fn)(void *item, void *arg);

/* An inbox in front of the container: threads insert elements into it without the queue's lock, under a lock
 * of the inbox, rank INBOX. Called with the queue's lock held, except is_free. */
struct hora__queue_inbox {
    /* Moves the elements of the inbox into the container. */
    void (*collect)(hora_queue *queue);
    /* Lets no element into the inbox any more, because the queue is closed. */
    void (*seal)(hora_queue *queue);
    /* Returns whether no thread holds a lock of the inbox at this moment. Called without the lock. */
    bool (*is_free)(hora_queue *queue);
    /* Only for queues whose elements become due, else NULL. Publishes which elements must not be inserted
     * into the inbox, because a waiting taker would not wake up for them in time. Returns true if the inbox
     * may have held such an element; its elements are in the container then. */
    bool (*guard)(hora_queue *queue);
};

/* The operations of a container. */
struct hora__queue_kind {
    /* Allocates the memory that a put needs, before the lock is taken; HORA_ENOMEM. NULL: none is needed. */
    int (*prepare)(hora_queue *queue, struct hora__put *put);
    /* Frees that memory if the put has failed. NULL exactly if `prepare` is. */
    void (*discard)(hora_queue *queue, struct hora__put *put);
    /* Inserts an element, and takes over put->memory. Returns 0, HORA_EFULL, HORA_ENOMEM or, for an element
     * that does not belong here, HORA_EINVAL; on error nothing has changed. */
    int (*push)(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes);
    /* Removes and returns the first element that can be taken now; NULL: none. */
    void *(*pop)(hora_queue *queue, struct hora__wakes *wakes);
    /* Returns the first element, whether it can be taken or not; NULL: the container is empty. */
    void *(*peek)(hora_queue *queue);
    /* Removes and returns any element, the one that costs least; NULL: the container is empty. */
    void *(*drain)(hora_queue *queue);
    /* Returns whether the item is in the container; with `remove`, removes its first occurrence. */
    bool (*find)(hora_queue *queue, const void *item, bool remove);
    /* Each kind has one of these two. `copy` writes the first `max` elements, in the order of the container,
     * which need not be the order in which they leave. `each` visits the elements in the order in which they
     * leave, until `visit` returns false. */
    void (*copy)(hora_queue *queue, void **items, int max);
    void (*each)(hora_queue *queue, hora__each_fn visit, void *arg);
    /* Returns when the first element can be taken; HORA_FOREVER: never. *ret_element is a number that
     * identifies the element. The container is not empty. NULL: elements can always be taken at once. */
    hora_ns (*next_due)(hora_queue *queue, uint64_t *ret_element);
    /* Frees the container, which is empty, and the queue. Called without the lock. */
    void (*destroy)(hora_queue *queue);
    const struct hora__queue_inbox *inbox; /* NULL: it has none */
    bool inserts_always;                   /* putting never waits, and so does not check for interrupts */
};

/* What public calls do differently with a queue that a pool made for itself. */
struct hora__queue_behaviour {
    /* Replaces hora__queue_serve. Called with the lock held. */
    void (*serve)(hora_queue *queue, struct hora__wakes *wakes);
    /* Replaces hora_queue_poll_for; its arguments have been checked. Called without the lock. */
    int (*take)(hora_queue *queue, hora_ns timeout, void **ret_item);
    /* Called with the lock held when the queue has been closed and all takers were resolved. */
    void (*close)(hora_queue *queue);
    /* Returns how many of the `size` elements users do not see. Called with the lock held. NULL: none. */
    int (*hidden)(hora_queue *queue);
    /* Called without the lock when the pool frees the queue, which is empty. NULL: nothing to do. */
    void (*leave)(hora_queue *queue);
};

/* The first member of each kind of queue. */
struct hora_queue {
    const struct hora__queue_kind *kind; /* immutable, like the fields down to own_ref */
    /* NULL: the queue was made by the user, or its workers wait as on a public queue. */
    const struct hora__queue_behaviour *behaviour;
    const hora_clock *clock;      /* a copy of the one in `object`, which shares a cache line with the lock */
    int32_t generation;           /* also a copy; see hora__object_check_in */
    int capacity;                 /* HORA_UNBOUNDED: no limit; 0: synchronous */
    bool serves_latest;           /* synchronous queue: the thread that came last is served first */
    void (*drop)(void *item);     /* destructor of elements; NULL: none */
    void *(*own_ref)(void *item); /* `ref` of the options; NULL: none */
    /* With `ref`, peek and snapshot return references to elements. NULL: they return the elements. `ref`,
     * `unref` and is_lent are guarded by the lock. */
    void *(*ref)(void *item);
    void (*unref)(void *item); /* releases such a reference; NULL exactly if `ref` is */
    bool is_lent;              /* a pool uses the queue, which was made by the user */
    hora_compare_fn compare;   /* NULL: none; immutable */
    /* Keeps the fields above, which threads read when they insert into an inbox, off the cache line of the
     * fields below, which takers write. */
    char apart[HORA__CACHE_LINE];
    struct hora__object object;

    /* Guarded by object.lock. */
    int size; /* number of elements in the container; not those in an inbox */
    bool closed;
    struct hora__list takers;    /* threads that wait to take, in the order of their arrival */
    struct hora__list putters;   /* threads that wait for room, in the order of their arrival */
    struct hora__ready_fd ready; /* see hora_queue_fd; made on demand */

    /* Only for queues whose elements become due: the taker that sleeps until the first element is due. */
    struct hora__waiter *leader; /* NULL: none */
    hora_ns leader_until;        /* when it wakes up by itself */
    uint64_t leader_element;     /* the element for which it wakes up, as identified by next_due */
};

/* ---- making: queue.c ---- */

/* The options that only some kinds accept. */
enum { HORA__ALLOW_FAIR = 1, HORA__ALLOW_COMPARE = 2, HORA__ALLOW_REMAINING = 4 };

/* Copies the options into *own and checks them, and that ret_queue is not NULL. `allowed` is a set of the
 * flags above. HORA_EINVAL. */
__attribute__((warn_unused_result)) int hora__queue_options(hora_queue_options *own,
                                                            const hora_queue_options *given, unsigned allowed,
                                                            hora_queue **ret_queue, hora_error *reason);

/* Returns HORA_EINVAL, with a reason, if the capacity is less than 1. */
__attribute__((warn_unused_result)) int hora__queue_check_capacity(int capacity, hora_error *reason);

/* Initialises the common part of a queue whose memory is zero. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__queue_init(hora_queue *queue,
                                                         const struct hora__queue_kind *kind, int capacity,
                                                         const hora_queue_options *options);

/* Makes a delay queue that asks its elements for their delays: heaped.c. The options have been checked.
 * HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
__attribute__((warn_unused_result)) int hora__asked_queue_new(const hora_queue_options *options,
                                                              hora_queue **ret_queue);

/* ---- entering and leaving: queue.c ---- */

/* Returns whether the calling thread may use the queue: 0, HORA_EINVAL (NULL), HORA_EFORKED or HORA_EDEADLK
 * (inside a callback under a lock of hora). */
__attribute__((warn_unused_result)) int hora__queue_check(const hora_queue *queue);

/* Checks the queue, takes its lock, and moves the elements of the inbox into the container. On error the lock
 * is not taken. */
__attribute__((warn_unused_result)) int hora__queue_enter(hora_queue *queue);

/* Moves the elements of the inbox, if there is one, into the container. The caller holds the lock. */
static inline void hora__queue_collect(hora_queue *queue)
{
    if (queue->kind->inbox != NULL)
        queue->kind->inbox->collect(queue);
}

/* Releases the lock, then wakes the threads in *wakes. */
void hora__queue_exit(hora_queue *queue, struct hora__wakes *wakes);

/* ---- keeping the invariants: serve.c; with the lock held ---- */

/* Restores the invariants of serve.c after any change: admits putters that wait for room, serves takers,
 * chooses a leader, and updates the descriptor. `self` is the caller's own waiter if that is on the takers'
 * list, else NULL. */
void hora__queue_serve(hora_queue *queue, struct hora__waiter *self, struct hora__wakes *wakes);

/* As hora__queue_serve, but cheaper, after one element was put or removed. It leaves elements that have
 * become due in the meantime to the leader, which wakes up for them, and reads no clock unless the leader
 * must be woken. */
void hora__queue_serve_change(hora_queue *queue, struct hora__wakes *wakes);

/* Two steps of hora__queue_serve, for queues with their own behaviour: admitting putters, and updating the
 * descriptor. */
void hora__queue_admit_putters(hora_queue *queue, struct hora__wakes *wakes);
void hora__queue_show_ready(hora_queue *queue);

/* ---- putting and taking: transfer.c ---- */

/* Puts an element that has been prepared, without waiting. HORA_EFULL, HORA_ENOMEM, HORA_ECLOSED, and the
 * errors of hora__queue_check. */
__attribute__((warn_unused_result)) int hora__queue_put_now(hora_queue *queue, struct hora__put *put);

/* Prepares and puts an element without waiting, into a queue that the caller has checked. HORA_EFULL,
 * HORA_ENOMEM, HORA_ECLOSED. */
__attribute__((warn_unused_result)) int hora__queue_put(hora_queue *queue, struct hora__put *what);

/* Takes an element without waiting, and serves the queue. The caller holds the lock. HORA_EEMPTY,
 * HORA_ECLOSED. */
__attribute__((warn_unused_result)) int hora__queue_take_locked(hora_queue *queue, void **ret_item,
                                                                struct hora__wakes *wakes);

/* Checks the queue and gets the calling thread's record, before a call that may wait. Clears a pending
 * interrupt and returns HORA_EINTERRUPTED. */
__attribute__((warn_unused_result)) int hora__queue_begin_waiting(const hora_queue *queue,
                                                                  hora_thread **ret_thread);

/* ---- looking: contents.c ---- */

/* Makes a snapshot of the elements that users see, in memory that the caller frees. With queue->ref it has a
 * reference to each element, and the caller releases each with *ret_unref: queue->unref may change as soon as
 * the lock is free. *ret_unref is NULL if there are no references. HORA_ENOMEM, and the errors of
 * hora__queue_check. */
__attribute__((warn_unused_result)) int hora__queue_copy(hora_queue *queue, void ***ret_items, int *ret_count,
                                                         void (**ret_unref)(void *item));

/* Returns the number of elements, including those that users do not see. HORA_EDEADLK, HORA_EFORKED. */
int hora__queue_count(hora_queue *queue);

/* Writes at most `max` elements that users see; max > 0. The caller holds the lock. */
void hora__queue_copy_locked(hora_queue *queue, void **items, int max);

/* Returns whether no thread holds a lock of the queue at this moment. A dump for debuggers asks this before
 * it takes the locks: a stopped thread would never release them. */
bool hora__queue_is_free(hora_queue *queue);

/* Returns the number of elements that users see. The caller holds the lock. */
int hora__queue_listed(hora_queue *queue);

/* ---- in the hands of a pool: queue.c ---- */

/* Lends a queue of the user to a pool: from now on peek and snapshot return references to its elements.
 * HORA_EBUSY: another pool uses it. hora__queue_give_back undoes this. The pool becomes a visitor of the
 * queue, and leaves it when its own memory is freed: a thread that cancels a task may still have a reference
 * to the pool, and look into the queue, after the user has freed both. */
__attribute__((warn_unused_result)) int hora__queue_lend(hora_queue *queue, void *(*ref)(void *item),
                                                         void (*unref)(void *item));
void hora__queue_give_back(hora_queue *queue);

/* Ends the visit of a pool to which the queue was lent. The queue may be freed. */
void hora__queue_leave_lent(hora_queue *queue);

/* Sets the functions for references to elements; both NULL: peek and snapshot return the elements themselves.
 * The caller holds the lock, or no other thread uses the queue yet. */
void hora__queue_set_ref(hora_queue *queue, void *(*ref)(void *item), void (*unref)(void *item));

#endif
