/* SPDX-License-Identifier: Apache-2.0 */
/* hora/latch.h - a countdown latch: threads wait until a number of events have occurred
 *
 * A latch starts with a count, which hora_latch_count_down decrements. When the count reaches zero, all
 * waiting threads are released and all later waits return immediately. The count never rises, so a latch can
 * be used only once.
 *
 *     hora_latch *ready;
 *     hora_latch_new(3, NULL, &ready, NULL);        // three workers will count down
 *     ...
 *     hora_latch_await(ready);                      // until all three have
 *
 * All calls return HORA_EDEADLK inside a callback that runs while hora holds a lock (compare, remaining and
 * ref of a queue).
 *
 * Memory: actions of a thread before count_down are visible to every thread whose wait returned 0. */
#ifndef HORA_LATCH_H
#define HORA_LATCH_H

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

/* A countdown latch. */
typedef struct hora_latch hora_latch;

/* Options of hora_latch_new. */
typedef struct hora_latch_options {
    /* sizeof(hora_latch_options), set by HORA_LATCH_OPTIONS */
    uint32_t struct_size;
    /* the clock that measures timed waits; NULL means monotonic */
    const hora_clock *clock;
} hora_latch_options;

/* HORA_LATCH_OPTIONS(.clock = c): an options literal. In C++ before C++20, start with
 * HORA_INIT(hora_latch_options) and assign the fields. */
#define HORA_LATCH_OPTIONS(...) HORA__LITERAL(hora_latch_options, __VA_ARGS__)

/* hora_latch_new - create a latch that opens after `count` calls of hora_latch_count_down
 *
 * A latch with a count of zero is open from the start. `options` may be NULL for the defaults.
 *
 * Ownership: the caller owns *ret_latch and frees it with hora_latch_free. The clock must outlive the latch.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative count, bad options, ret_latch is NULL), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual clock of the parent process). */
HORA_NODISCARD HORA_API int hora_latch_new(int count, const hora_latch_options *options,
                                           hora_latch **ret_latch, hora_error *reason);

/* hora_latch_free - free a latch that no thread is waiting for
 *
 * NULL is allowed. It is safe to call as soon as the caller's own wait has returned 0, even if the thread
 * that made the last count_down is still inside that call.
 *
 * Ownership: on success the latch is freed; on error nothing has changed.   Threads: Owner.   Blocks: Never.
 * Errors: HORA_EBUSY (threads are waiting), HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_latch_free(hora_latch *latch);

/* hora_latch_count_down - decrement the count and, if it becomes zero, release all waiting threads
 *
 * Does nothing if the count is already zero.
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_latch_count_down(hora_latch *latch);

/* hora_latch_count - return the current count, >= 0
 *
 * Ownership: not transferred.   Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL, HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_latch_count(hora_latch *latch);

/* hora_latch_await - wait until the count is zero
 *
 * A pending interrupt is reported first, even if the count is already zero.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the count is zero or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_latch_await(hora_latch *latch);

/* hora_latch_await_for - wait until the count is zero, at most for `timeout` of the latch's clock
 *
 * Precedence: a pending interrupt, then an open latch (even if the timeout has expired), then the timeout.
 *
 * Ownership: not transferred.   Threads: Any thread.
 * Blocks: until the count is zero, the timeout expires or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_ETIMEDOUT, HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_latch_await_for(hora_latch *latch, hora_ns timeout);

HORA_END_DECLS

#endif
