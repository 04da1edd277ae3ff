/* SPDX-License-Identifier: Apache-2.0 */
/* futex.h - sleeping on a word of memory, and a lock made of one word */
#ifndef HORA_SYS_FUTEX_H
#define HORA_SYS_FUTEX_H

#include "base/build.h"
#include "base/fault.h"
#include "sys/atomic.h"
#include "sys/clock.h"

/* ---- the futex (Linux, and the simulator) ---- */

/* Sleeps while *word == expected, until a wake or until the clock (monotonic or wall) shows deadline_ns;
 * INT64_MAX: no deadline. Returns at once if *word != expected. May return without a reason. */
void hora__futex_wait(hora__atomic *word, int32_t expected, enum hora__timeline timeline,
                      int64_t deadline_ns);

/* Wakes one thread that sleeps on the word. Does not access the word, whose memory may be gone by then. */
void hora__futex_wake(hora__atomic *word);

/* ---- a lock of one word on the futex ---- */

/* hora__mutex consists of it on Linux.
 *
 * Initialising and destroying it costs nothing, and locking makes no system call unless a thread waits. A
 * thread that has just acquired the lock may free its memory while the previous holder is still inside
 * unlock: after its exchange, unlock does not access the word any more. */

/* The values of the word. */
enum {
    HORA__LOCK_FREE,
    HORA__LOCK_HELD,
    HORA__LOCK_AWAITED /* held, and threads may be asleep waiting for it */
};

/* The slow path of hora__word_lock: waits until the lock is free, and acquires it. */
void hora__word_lock_wait(hora__atomic *word);

/* Acquires the lock. The calling thread must not hold it. */
HORA__INLINE void hora__word_lock(hora__atomic *word)
{
    HORA__ORDER_FAULT(LOCK_TAKEN_RELAXED, memory_order_relaxed);
    if (__builtin_expect(!hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD), 0))
        hora__word_lock_wait(word);
}

/* Releases the lock and wakes one thread that sleeps for it, if there may be any. */
HORA__INLINE void hora__word_unlock(hora__atomic *word)
{
    HORA__ORDER_FAULT(LOCK_RELEASED_RELAXED, memory_order_relaxed);
    if (__builtin_expect(hora__atomic_exchange(word, HORA__LOCK_FREE) == HORA__LOCK_AWAITED, 0))
        hora__futex_wake(word);
}

#endif
