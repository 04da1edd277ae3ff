/* SPDX-License-Identifier: Apache-2.0 */
/* hora/queue.h - blocking queues of pointers: array, linked, synchronous, priority and delay
 *
 * All five kinds are a hora_queue and share one set of calls, named as in java.util.concurrent:
 *
 *                  inserts                  removes                  examines
 *     blocks       hora_queue_put           hora_queue_take
 *     for a time   hora_queue_offer_for     hora_queue_poll_for
 *     never        hora_queue_offer         hora_queue_poll          hora_queue_peek
 *
 * Elements are opaque pointers; NULL is not allowed. Two elements are the same if the pointers are equal.
 *
 * Order of waiting threads: first come, first served, without overtaking. An element that is put while a
 * thread waits goes directly to that thread. (An unfair synchronous queue serves the latest arrival first.)
 *
 * Interrupts: a blocking or timed call reports a pending interrupt first, even if it could proceed and even
 * if its timeout has expired. Calls that never block ignore interrupts; this includes inserting into a
 * priority or delay queue. An element that has been handed over is never lost: if the handover coincides with
 * an interrupt or the timeout, the call succeeds and the interrupt stays pending.
 *
 * Closing: after hora_queue_close nothing can be inserted. Elements in the queue can still be taken. Every
 * call that would have to wait returns HORA_ECLOSED.
 *
 * Callbacks: compare, remaining and ref run while the queue is locked, because the order of the queue depends
 * on the results of the first two. They must be quick, must not block and must not call this or any other
 * queue or latch; such a call returns HORA_EDEADLK. They may read clocks. drop and the visitor of for_each
 * run with no lock held.
 *
 * Memory: actions of a thread before it puts an element are visible to the thread that takes the element. */
#ifndef HORA_QUEUE_H
#define HORA_QUEUE_H

#include <limits.h>
#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A blocking queue of any of the five kinds. */
typedef struct hora_queue hora_queue;

/* The capacity of an unbounded queue: no queue holds more elements than this. */
#define HORA_UNBOUNDED INT_MAX

/* Decides which of two elements is taken first: returns < 0 if a is, > 0 if b is, 0 if they are equal. Equal
 * elements are taken in insertion order. The order must be consistent and must not change while the elements
 * are queued. `arg` is that of hora_queue_options. */
typedef int (*hora_compare_fn)(const void *a, const void *b, void *arg);

/* Returns how long it takes until an element is due, by the queue's clock; <= 0 means due now. `arg` is that
 * of hora_queue_options. */
typedef hora_ns (*hora_remaining_fn)(const void *item, void *arg);

/* Options of all constructors. A constructor refuses, with HORA_EINVAL, an option that its kind does not use.
 * clock, drop and ref apply to all kinds; arg belongs to compare and remaining. */
typedef struct hora_queue_options {
    /* sizeof(hora_queue_options), set by HORA_QUEUE_OPTIONS */
    uint32_t struct_size;
    /* synchronous: serve waiting threads first come, first served, instead of the latest first. array:
     * allowed, but it is always fair */
    bool fair;
    /* the clock that measures timed calls and due times; NULL means monotonic */
    const hora_clock *clock;
    /* destructor for elements that hora_queue_clear or hora_queue_free finds in the queue; NULL means none */
    void (*drop)(void *item);
    /* priority: required. delay: together with remaining, defines the order instead of the due time */
    hora_compare_fn compare;
    /* delay: asks the element when it is due; NULL means that due times are given on insertion */
    hora_remaining_fn remaining;
    /* last argument of compare and remaining */
    void *arg;
    /* makes peek, snapshot and for_each return references: ref acquires one and returns it, drop releases it.
     * Requires drop. Called with a hora lock held, so it must not call hora. NULL means that these calls
     * return the elements themselves */
    void *(*ref)(void *item);
} hora_queue_options;

/* HORA_QUEUE_OPTIONS(.drop = free, .clock = c): an options literal. In C++ before C++20, start with
 * HORA_INIT(hora_queue_options) and assign the fields. */
#define HORA_QUEUE_OPTIONS(...) HORA__LITERAL(hora_queue_options, __VA_ARGS__)

/* hora_queue_new_array - create a bounded FIFO queue that allocates all its memory at once
 *
 * Later calls do not allocate, except hora_queue_clear with a destructor, hora_queue_for_each, hora_queue_fd,
 * and the first blocking call of a thread. `options` may be NULL.
 *
 * Ownership: the caller owns *ret_queue and frees it with hora_queue_free. The clock must outlive the queue.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (capacity < 1; an option that this kind does not use), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual clock of the parent process). */
HORA_NODISCARD HORA_API int hora_queue_new_array(int capacity, const hora_queue_options *options,
                                                 hora_queue **ret_queue, hora_error *reason);

/* hora_queue_new_linked - create a FIFO queue that allocates per element
 *
 * The capacity may be HORA_UNBOUNDED. `options` may be NULL.
 *
 * Ownership: the caller owns *ret_queue and frees it with hora_queue_free. The clock must outlive the queue.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (capacity < 1; an option that this kind does not use), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual clock of the parent process). */
HORA_NODISCARD HORA_API int hora_queue_new_linked(int capacity, const hora_queue_options *options,
                                                  hora_queue **ret_queue, hora_error *reason);

/* hora_queue_new_synchronous - create a queue without capacity: each put waits for a take and vice versa
 *
 * The queue is always empty and always full: size, remaining capacity, peek, contains, snapshot and remove
 * never see the element of a waiting put. `options` may be NULL.
 *
 * Ownership: the caller owns *ret_queue and frees it with hora_queue_free. The clock must outlive the queue.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (an option that this kind does not use), HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_synchronous(const hora_queue_options *options,
                                                       hora_queue **ret_queue, hora_error *reason);

/* hora_queue_new_priority - create an unbounded queue whose least element is taken first
 *
 * options->compare defines the order and is required. Equal elements are taken in insertion order. The
 * initial capacity only determines how much memory is allocated at once; 0 means the default of the JDK, 11.
 *
 * Ownership: the caller owns *ret_queue and frees it with hora_queue_free. The clock must outlive the queue.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (initial_capacity < 0; no compare; an option that this kind does not use), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_priority(int initial_capacity, const hora_queue_options *options,
                                                    hora_queue **ret_queue, hora_error *reason);

/* hora_queue_comparator - return the compare callback that a priority queue was created with
 *
 * NULL if the queue is NULL or of another kind.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_compare_fn hora_queue_comparator(const hora_queue *queue);

/* hora_queue_new_delay - create an unbounded queue whose elements can be taken only once they are due
 *
 * With options->remaining, the queue asks each element when it is due; if compare is also given, it defines
 * the order. Without remaining, hora_queue_put_delayed and hora_queue_put_at give the due time, and
 * hora_queue_put means "due now". Elements are taken in the order of their due times, and in insertion order
 * if these are equal. `options` may be NULL.
 *
 * peek, size, contains, remove, clear and snapshot see all elements; poll, take and drain see only those that
 * are due. One of the waiting threads sleeps until the first element is due; the others sleep until they are
 * signalled.
 *
 * Ownership: the caller owns *ret_queue and frees it with hora_queue_free. The clock must outlive the queue.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (compare without remaining; an option that this kind does not use), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_delay(const hora_queue_options *options, hora_queue **ret_queue,
                                                 hora_error *reason);

/* hora_queue_put_delayed - insert an element that is due after `delay`, by the queue's clock
 *
 * An element with a zero or negative delay is due now; the more negative the delay, the earlier it is taken.
 * An element with a delay of HORA_FOREVER, or one too large to represent, is never due.
 *
 * Ownership: on success the queue holds the element; on error the caller still does.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL (also if it is not a delay queue, or one with options->remaining), HORA_ECLOSED,
 * HORA_EFULL (INT_MAX elements), HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_put_delayed(hora_queue *queue, void *item, hora_ns delay);

/* hora_queue_put_at - insert an element that is due when the queue's clock shows `due`
 *
 * `due` is a reading of the queue's clock, as hora_clock_now returns it. An element that is due at
 * HORA_FOREVER is never due.
 *
 * Ownership: on success the queue holds the element; on error the caller still does.   Threads: Any thread.
 * Blocks: Never.   Errors: as hora_queue_put_delayed. */
HORA_NODISCARD HORA_API int hora_queue_put_at(hora_queue *queue, void *item, hora_ns due);

/* hora_queue_free - free a queue that no thread is waiting on; its destructor drops remaining elements
 *
 * NULL is allowed. After hora_queue_close it never fails because of threads that were waiting. The queue that
 * a pool or scheduler has created for itself (hora_pool_queue) must not be freed.
 *
 * Ownership: on success the queue, its elements and its descriptor are freed; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.
 * Errors: HORA_EBUSY (threads are waiting, or a pool uses the queue), HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_free(hora_queue *queue);

/* hora_queue_put - insert an element, waiting for room if necessary
 *
 * In a synchronous queue it waits for a taker. Priority and delay queues never wait.
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: while the queue is full, until interrupted or closed.
 * Errors: HORA_EINTERRUPTED (not for priority and delay queues), HORA_ECLOSED, HORA_EINVAL (NULL),
 * HORA_ENOMEM, HORA_EFULL (priority and delay queues that hold INT_MAX elements), HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_put(hora_queue *queue, void *item);

/* hora_queue_offer - insert an element if this is possible immediately
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EFULL (no room; synchronous: no thread is waiting to take), HORA_ECLOSED, HORA_EINVAL,
 * HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_offer(hora_queue *queue, void *item);

/* hora_queue_offer_for - insert an element, waiting for room at most for `timeout`
 *
 * In a synchronous queue it waits for a taker. Priority and delay queues never wait.
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: while the queue is full, until the timeout expires, interrupted or closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_queue_put. */
HORA_NODISCARD HORA_API int hora_queue_offer_for(hora_queue *queue, void *item, hora_ns timeout);

/* hora_queue_take - remove the first element, waiting for one if necessary
 *
 * In a delay queue it waits until the first element is due.
 *
 * Ownership: the caller holds the element.   Threads: Any thread.
 * Blocks: while nothing can be taken, until interrupted or closed.
 * Errors: HORA_EINTERRUPTED, HORA_ECLOSED (and nothing can be taken now), HORA_EINVAL (NULL), HORA_ENOMEM,
 * HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_take(hora_queue *queue, void **ret_item);

/* hora_queue_poll - remove the first element if this is possible immediately
 *
 * Ownership: the caller holds the element.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY, HORA_ECLOSED (closed, and nothing can be taken now), HORA_EINVAL, HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_poll(hora_queue *queue, void **ret_item);

/* hora_queue_poll_for - remove the first element, waiting for one at most for `timeout`
 *
 * Ownership: the caller holds the element.   Threads: Any thread.
 * Blocks: while nothing can be taken, until the timeout expires, interrupted or closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_queue_take. */
HORA_NODISCARD HORA_API int hora_queue_poll_for(hora_queue *queue, hora_ns timeout, void **ret_item);

/* hora_queue_peek - return the first element without removing it; in a delay queue also if it is not due
 *
 * In a queue with `ref`, such as that of a pool, the caller receives a reference and releases it as `drop`
 * does (hora_future_unref). In any other queue, another thread may take and free the element at any time, so
 * only code that controls the lifetime of the elements can safely dereference the pointer.
 *
 * Ownership: the queue keeps the element; the caller owns the reference.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EEMPTY, HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_peek(hora_queue *queue, void **ret_item);

/* hora_queue_remove - remove a particular element: returns 1 if it was in the queue, otherwise 0
 *
 * Returns 0 for NULL. If the element is in the queue several times, its first occurrence is removed. Takes
 * time proportional to the size.
 *
 * Ownership: if it returns 1 the caller holds the element again.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (queue is NULL), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_remove(hora_queue *queue, const void *item);

/* hora_queue_contains - return 1 if an element is in the queue, otherwise 0 (also for NULL)
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (queue is NULL), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_contains(hora_queue *queue, const void *item);

/* hora_queue_drain - remove up to `max` elements at once, in the order in which they would be taken
 *
 * Returns how many elements were written to items[]. If `max` is zero or less, it moves none. A delay queue
 * yields only elements that are due. Threads that wait for room insert their elements afterwards; those
 * elements are not drained.
 *
 * Ownership: the caller holds the elements written.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (items is NULL, whatever max is, or the queue itself), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_drain(hora_queue *queue, void **items, int max);

/* hora_queue_clear - remove all elements and pass them to the destructor
 *
 * Threads that wait for room then insert their elements, which remain in the queue. A synchronous queue has
 * nothing to clear; waiting puts continue to wait. The call allocates only if there is a destructor.
 *
 * Ownership: the elements are dropped; without a destructor they belong to the caller again.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM (nothing has changed), HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_clear(hora_queue *queue);

/* hora_queue_size - return the number of elements in the queue, due or not
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_size(hora_queue *queue);

/* hora_queue_remaining_capacity - return how many elements could be inserted without waiting
 *
 * This is the capacity minus the size, and always HORA_UNBOUNDED for priority and delay queues.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_remaining_capacity(hora_queue *queue);

/* hora_queue_snapshot - copy the current elements without removing them
 *
 * If the queue has `ref`, as that of a pool, the copies are references. Returns how many elements the queue
 * holds and writes the first `max` of them. If there are fewer than `max`, a NULL follows the last. Array and
 * linked queues, and those that pools and schedulers create for themselves, yield the order in which the
 * elements would be taken; the others yield no particular order. snapshot(q, NULL, 0) only counts.
 *
 * Ownership: the queue keeps the elements; the caller owns the references.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL (items is NULL with max > 0; max < 0), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_snapshot(hora_queue *queue, void **items, int max);

/* hora_queue_for_each - call visit(item, arg) for each element of a snapshot until it returns non-zero
 *
 * The visitor runs with no lock held and may call the queue. If the queue has `ref`, the call holds a
 * reference to each element until it has been visited. Returns 0, or the last return value of the visitor.
 *
 * Ownership: the queue keeps the elements.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED, and what the visitor returns. */
HORA_API int hora_queue_for_each(hora_queue *queue, int (*visit)(void *item, void *arg), void *arg);

/* hora_queue_close - refuse further elements and wake all waiting threads with HORA_ECLOSED
 *
 * Elements in the queue can still be taken. Closing again has no effect. A queue cannot be opened again.
 *
 * Ownership: not transferred; elements of waiting puts stay with their callers.   Threads: Any thread.
 * Blocks: Never.   Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_close(hora_queue *queue);

/* hora_queue_is_closed - test whether the queue is closed; false for NULL and in the child of a fork
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_queue_is_closed(const hora_queue *queue);

/* hora_queue_fd - return a descriptor that polls readable while an element can be taken
 *
 * It is also readable when the queue is closed. For a delay queue it is readable while an element is due, and
 * for a synchronous queue while a thread waits to put. The first call creates it; later calls return the same
 * one. Do not read from it, write to it or close it. When it is readable, call hora_queue_poll and be
 * prepared for another thread having been faster.
 *
 * Ownership: the descriptor belongs to the queue and is closed by hora_queue_free.   Threads: Any thread.
 * Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_ENOTSUP (a delay queue on a system without
 * timer descriptors), HORA_EDEADLK, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_queue_fd(hora_queue *queue);

HORA_END_DECLS

#endif
