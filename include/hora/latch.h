/* SPDX-License-Identifier: Apache-2.0 */
/* hora/latch.h - a countdown latch: threads wait until a number of things have happened
 *
 * The latch starts with a count. hora_latch_count_down lowers it; when it reaches zero every waiter is
 * released, and all later waits return at once. The count never rises again: a latch is used once.
 *
 *     hora_latch *ready;
 *     hora_latch_new(3, NULL, &ready, NULL);        // three workers will count down
 *     ...
 *     hora_latch_await(ready);                // until all three have
 *
 * All calls return HORA_EDEADLK from inside a callback that runs under a lock (compare and remaining of a
 * queue).
 *
 * Memory: what a thread did before count_down is visible to every thread whose wait returned 0. */
#ifndef HORA_LATCH_H
#define HORA_LATCH_H

#include <hora/base.h>
#include <hora/clock.h>
#include <hora/error.h>

HORA_BEGIN_DECLS

typedef struct hora_latch hora_latch;

typedef struct hora_latch_options {
    /* sizeof(hora_latch_options), set by HORA_LATCH_OPTIONS */
    uint32_t struct_size;
    /* what timed waits are measured with; NULL: the monotonic clock */
    const hora_clock *clock;
} hora_latch_options;

/* HORA_LATCH_OPTIONS(.clock = c): options written where they are used. In C++ before C++20 start from
 * HORA_INIT(hora_latch_options) and assign. */
#define HORA_LATCH_OPTIONS(...) HORA__LITERAL(hora_latch_options, __VA_ARGS__)

/* hora_latch_new - make a latch that opens after `count` calls of hora_latch_count_down
 *
 * A count of zero makes a latch that is open from the start. `options` may be NULL: all defaults.
 *
 * Ownership: the caller owns *ret_latch, to be freed with hora_latch_free. The clock must live longer.
 * Threads: Any thread.   Blocks: Never.
 * Errors: HORA_EINVAL (negative count, bad options, ret_latch NULL), HORA_ENOMEM, HORA_EAGAIN,
 * HORA_EFORKED (the clock is a virtual one of the parent process). */
HORA_NODISCARD HORA_API int hora_latch_new(int count, const hora_latch_options *options, hora_latch **ret_latch,
                                           hora_error *reason);

/* hora_latch_free - free a latch that nobody waits for
 *
 * NULL is allowed. Safe as soon as the caller's own wait has returned: it need not know whether the
 * thread that counted down last has left its call.
 *
 * Ownership: on success the latch is gone; on error nothing has changed.
 * Threads: Owner.   Blocks: Never.   Errors: HORA_EBUSY (threads are waiting), HORA_EDEADLK, HORA_EFORKED. */
HORA_API int hora_latch_free(hora_latch *latch);

/* hora_latch_count_down - lower the count by one and, if that makes it zero, release all waiters
 *
 * At zero it does nothing.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_API int hora_latch_count_down(hora_latch *latch);

/* hora_latch_count - the count now, >= 0
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: Never.   Errors: HORA_EINVAL, HORA_EDEADLK,
 * HORA_EFORKED. */
HORA_API int hora_latch_count(hora_latch *latch);

/* hora_latch_await - wait until the count is zero
 *
 * A pending interrupt is reported first, even if the count is zero already.
 *
 * Ownership: none passes.   Threads: Any thread.   Blocks: until the count is zero or the thread is
 * interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_latch_await(hora_latch *latch);

/* hora_latch_await_for - wait until the count is zero, at most for `timeout` of the latch's clock
 *
 * A pending interrupt is reported first, then an open latch (also when the timeout is over).
 *
 * Ownership: none passes.   Threads: Any thread.
 * Blocks: until the count is zero, the time is over or the thread is interrupted.
 * Errors: HORA_EINTERRUPTED, HORA_ETIMEDOUT, HORA_EINVAL, HORA_ENOMEM, HORA_EDEADLK, HORA_EFORKED. */
HORA_NODISCARD HORA_API int hora_latch_await_for(hora_latch *latch, hora_ns timeout);

HORA_END_DECLS

#endif
