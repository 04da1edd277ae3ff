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
 * Elements are pointers that mean nothing to the queue; NULL is not allowed. Two elements are the same
 * if they are the same pointer.
 *
 * Order among waiting threads: first come, first served, with no overtaking. An element that is put
 * while a thread waits goes straight to that thread. (An unfair synchronous queue serves the latest
 * comer first.)
 *
 * Interrupts: a blocking or timed call reports a pending interrupt first, even if it could go ahead
 * and even if its time is over. Calls that never block, and inserting into a priority or delay queue,
 * which never blocks either, do not look at interrupts. An element that has been handed over is
 * never lost: if that and an interrupt or the end of the time coincide, the call succeeds (and the
 * interrupt stays pending).
 *
 * Closing: after hora_queue_close nothing can be put any more; what is in the queue can still be taken;
 * every call that would have to wait returns HORA_ECLOSED.
 *
 * Callbacks: compare and remaining run while the queue is locked, since the order of the queue depends
 * on their answer. They must be quick, must not block and must not call this or any other queue or
 * latch: such a call returns HORA_EDEADLK. They may read clocks. drop and the visitor of for_each run with
 * no lock held.
 *
 * Memory: what a thread did before it put an element is visible to the thread that takes it. */
#ifndef HORA_QUEUE_H
#define HORA_QUEUE_H

#include <limits.h>
#include <stdbool.h>

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

typedef struct hora_queue hora_queue;

/* The capacity of a queue without a bound: no queue holds more elements. */
#define HORA_UNBOUNDED INT_MAX

/* Which of two elements leaves first: < 0 if a does, > 0 if b does, 0 if it does not matter (they then
 * leave in the order in which they came). Must be consistent and must not change while they are queued. */
typedef int (*hora_compare_fn)(const void *a, const void *b, void *arg);

/* How long until an element is due, by the queue's clock; <= 0: due now. */
typedef hora_ns (*hora_remaining_fn)(const void *item, void *arg);

/* An option that a kind has no use for is refused by its constructor, with HORA_EINVAL; clock and drop are
 * for all kinds, arg goes with compare and remaining. */
typedef struct hora_queue_options {
    /* sizeof(hora_queue_options), set by HORA_QUEUE_OPTIONS */
    uint32_t struct_size;
    /* synchronous: first come, first served. array: allowed, it always is */
    bool fair;
    /* what timed calls and due times are measured with; NULL: monotonic */
    const hora_clock *clock;
    /* destructor of elements that clear or free finds in the queue; NULL: none */
    void (*drop)(void *item);
    /* priority: required. delay: with remaining, orders instead of the due time */
    hora_compare_fn compare;
    /* delay: asks the element; NULL: due times are given when putting */
    hora_remaining_fn remaining;
    /* last argument of compare and remaining */
    void *arg;
    /* peek, snapshot and for_each work with references: this makes one, drop gives it back. Called with a
     * lock of hora held: it must not call hora. NULL: they show the elements themselves */
    void *(*ref)(void *item);
} hora_queue_options;

/* HORA_QUEUE_OPTIONS(.drop = free, .clock = c): options written where they are used. In C++ before C++20
 * start from HORA_INIT(hora_queue_options) and assign. */
#define HORA_QUEUE_OPTIONS(...) HORA__LITERAL(hora_queue_options, __VA_ARGS__)

/* hora_queue_new_array - a bounded first-in-first-out queue whose memory is allocated at once
 *
 * No later call on it allocates, except those that say so. `options` may be NULL.
 *
 * Ownership: the caller owns *ret_queue, to be freed with hora_queue_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (capacity < 1, an option that is not for this kind), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual one of the parent process). */
HORA_NODISCARD HORA_API int hora_queue_new_array(int capacity, const hora_queue_options *options,
                                                 hora_queue **ret_queue, hora_error *reason);

/* hora_queue_new_linked - a first-in-first-out queue that allocates per element; HORA_UNBOUNDED or a capacity
 *
 * Ownership: the caller owns *ret_queue, to be freed with hora_queue_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (capacity < 1, an option that is not for this kind), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual one of the parent process). */
HORA_NODISCARD HORA_API int hora_queue_new_linked(int capacity, const hora_queue_options *options,
                                                  hora_queue **ret_queue, hora_error *reason);

/* hora_queue_new_synchronous - a queue without room: each put waits for a take and each take for a put
 *
 * It is always empty and always full: size, remaining capacity, peek, contains, snapshot and remove
 * never see the element of a waiting put.
 *
 * Ownership: the caller owns *ret_queue, to be freed with hora_queue_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (an option that is not for this kind), HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_synchronous(const hora_queue_options *options, hora_queue **ret_queue,
                                                       hora_error *reason);

/* hora_queue_new_priority - an unbounded queue whose least element, by options->compare, leaves first
 *
 * Equal elements leave in the order in which they came. The initial capacity is only the room made at once.
 *
 * Ownership: the caller owns *ret_queue, to be freed with hora_queue_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (initial_capacity < 1, no compare, an option that is not for this kind),
 * HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_priority(int initial_capacity, const hora_queue_options *options,
                                                    hora_queue **ret_queue, hora_error *reason);

/* hora_queue_comparator - the compare callback that a priority queue was made with
 *
 * NULL if the queue is NULL or of another kind.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API hora_compare_fn hora_queue_comparator(const hora_queue *queue);

/* hora_queue_new_delay - an unbounded queue whose elements can be taken only once they are due
 *
 * With options->remaining each element is asked when it is due; with compare as well, that decides the
 * order. Without it the due time is given with hora_queue_put_delayed; hora_queue_put then means
 * "due now". Elements leave in the order of their due times, equal ones in the order in which they came.
 *
 * peek, size, contains, remove, clear and snapshot see all elements; poll, take and drain only those due.
 * Of the waiting threads one sleeps until the first element is due, the others until they are called.
 *
 * Ownership: the caller owns *ret_queue, to be freed with hora_queue_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (compare without remaining, an option that is not for this kind), HORA_ENOMEM,
 * HORA_EAGAIN, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_new_delay(const hora_queue_options *options, hora_queue **ret_queue,
                                                 hora_error *reason);

/* hora_queue_put_delayed - put an element that is due after `delay`, by the queue's clock
 *
 * Zero and negative delays are due now, the more negative the earlier; huge ones never.
 *
 * Ownership: on success the queue holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (also: not a delay queue, or one with options->remaining), HORA_ECLOSED, HORA_EFULL
 * (INT_MAX elements), HORA_ENOMEM, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_put_delayed(hora_queue *queue, void *item, hora_ns delay);

/* hora_queue_put_at - put an element that is due when the queue's clock shows `due`
 *
 * Ownership: on success the queue holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: Never.
 * Errors: as hora_queue_put_delayed. */
HORA_NODISCARD HORA_API int hora_queue_put_at(hora_queue *queue, void *item, hora_ns due);

/* hora_queue_free - free a queue that nobody waits on; elements left behind go to the destructor
 *
 * NULL is allowed. After hora_queue_close it never fails for the sake of threads that were waiting.
 *
 * Ownership: on success the queue, its elements and its descriptor are gone; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.
 * Errors: HORA_EBUSY (threads are waiting), HORA_EDEADLK (called from a callback of this queue),
 * HORA_EFORKED. */
HORA_API int hora_queue_free(hora_queue *queue);

/* hora_queue_put - insert an element, waiting for room
 *
 * A synchronous queue waits for a taker. Priority and delay queues never wait.
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: while the queue is full, until interrupted or closed.
 * Errors: HORA_EINTERRUPTED, HORA_ECLOSED, HORA_EINVAL (NULL), HORA_ENOMEM, HORA_EFULL (priority and delay
 * queues that hold INT_MAX elements), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_put(hora_queue *queue, void *item);

/* hora_queue_offer - insert an element if that is possible at once
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EFULL (no room; synchronous: nobody is waiting to take), HORA_ECLOSED, HORA_EINVAL,
 * HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_offer(hora_queue *queue, void *item);

/* hora_queue_offer_for - insert an element, waiting for room at most for `timeout`
 *
 * Ownership: on success the queue, or the taker, holds the element; on error the caller still does.
 * Threads: Any thread.   Blocks: while the queue is full, until the time is over, interrupted or closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_queue_put. */
HORA_NODISCARD HORA_API int hora_queue_offer_for(hora_queue *queue, void *item, hora_ns timeout);

/* hora_queue_take - remove the first element, waiting for one
 *
 * Ownership: the caller holds the element.
 * Threads: Any thread.   Blocks: while nothing can be taken, until interrupted or closed.
 * Errors: HORA_EINTERRUPTED, HORA_ECLOSED (and nothing can be taken now), HORA_EINVAL (NULL), HORA_ENOMEM,
 * HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_take(hora_queue *queue, void **ret_item);

/* hora_queue_poll - remove the first element if that is possible at once
 *
 * Ownership: the caller holds the element.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EEMPTY, HORA_ECLOSED (closed, and nothing can be taken now), HORA_EINVAL, HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_poll(hora_queue *queue, void **ret_item);

/* hora_queue_poll_for - remove the first element, waiting for one at most for `timeout`
 *
 * Ownership: the caller holds the element.
 * Threads: Any thread.   Blocks: while nothing can be taken, until the time is over, interrupted or closed.
 * Errors: HORA_ETIMEDOUT, and those of hora_queue_take. */
HORA_NODISCARD HORA_API int hora_queue_poll_for(hora_queue *queue, hora_ns timeout, void **ret_item);

/* hora_queue_peek - look at the first element, in a delay queue also if it is not due
 *
 * In a queue with `ref`, such as that of a pool, the caller gets a reference, and gives it back as `drop`
 * does (hora_future_unref). In any other queue another thread may take the element, and free it, at any
 * time: only the owner of the elements' life can follow the pointer safely.
 *
 * Ownership: the queue keeps the element; the caller owns the reference.   Threads: Any thread.   Blocks:
 * Never.
 * Errors: HORA_EEMPTY, HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_peek(hora_queue *queue, void **ret_item);

/* hora_queue_remove - remove one particular element: 1 if it was in the queue, else 0 (also for NULL)
 *
 * If the element is in the queue several times, its first occurrence is removed. Takes time in
 * proportion to the size.
 *
 * Ownership: at 1 the caller holds the element again.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (queue NULL), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_remove(hora_queue *queue, const void *item);

/* hora_queue_contains - 1 if an element is in the queue, else 0 (also for NULL)
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (queue NULL), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_contains(hora_queue *queue, const void *item);

/* hora_queue_drain - remove up to `max` elements at once, in the order in which they would be taken
 *
 * Returns how many were written to items[]. A `max` of zero or less moves nothing. A delay queue gives only
 * what is due. Threads waiting for room are let in, but what they bring is not drained.
 *
 * Ownership: the caller holds the elements written.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (items NULL, whatever max is, or the queue itself), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_drain(hora_queue *queue, void **items, int max);

/* hora_queue_clear - remove all elements and give them to the destructor
 *
 * Threads waiting for room are let in; what they bring stays. A synchronous queue has nothing to clear:
 * waiting puts go on waiting. Allocates only if there is a destructor.
 *
 * Ownership: the elements are gone; without a destructor they are the caller's again.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM (nothing has changed), HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_clear(hora_queue *queue);

/* hora_queue_size - how many elements are in the queue, due or not
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_size(hora_queue *queue);

/* hora_queue_remaining_capacity - how many elements could be put without waiting: the capacity less the
 * size, and always HORA_UNBOUNDED for priority and delay queues
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_remaining_capacity(hora_queue *queue);

/* hora_queue_snapshot - copy the elements as they stand now, without removing them; references, if the
 * queue has `ref`
 *
 * Returns how many elements the queue holds, and writes the first `max` of them; if there are fewer than
 * `max`, a NULL follows the last. Array and linked queues: in the order in which they would be taken; the
 * others: in no particular order. snapshot(q, NULL, 0) only counts.
 *
 * Ownership: the queue keeps the elements.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (items NULL with max > 0, max < 0), HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_queue_snapshot(hora_queue *queue, void **items, int max);

/* hora_queue_for_each - call visit(item, arg) for each element of a snapshot, until it returns non-zero
 *
 * The visitor runs with no lock held and may call the queue. Returns 0, or what the visitor returned last.
 *
 * Ownership: the queue keeps the elements.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED, and what the visitor returns. */
HORA_API int hora_queue_for_each(hora_queue *queue, int (*visit)(void *item, void *arg), void *arg);

/* hora_queue_close - let nothing in any more, and wake all who wait with HORA_ECLOSED
 *
 * What is in the queue can still be taken. Closing again changes nothing.
 *
 * Ownership: none passes; the elements of waiting puts stay with their callers.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_queue_close(hora_queue *queue);

/* hora_queue_is_closed - whether the queue was closed; false for NULL, and in the child of a fork
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: None. */
HORA_API bool hora_queue_is_closed(const hora_queue *queue);

/* hora_queue_fd - a descriptor that polls readable while an element can be taken, or the queue is closed
 *
 * For a delay queue: while an element is due. For a synchronous queue: while somebody waits to put. Made
 * at the first call, then always the same one. Do not read from it, write to it or close it; call
 * hora_queue_poll when it is readable, and expect that another thread was faster.
 *
 * Ownership: the queue's; it is closed by hora_queue_free.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_ENOMEM, HORA_EMFILE, HORA_ENFILE, HORA_ENOTSUP (a delay queue where the system
 * has no timer descriptors), HORA_EDEADLK, HORA_EFORKED; otherwise the descriptor, >= 0. */
HORA_NODISCARD HORA_API int hora_queue_fd(hora_queue *queue);

HORA_END_DECLS

#endif
