/* SPDX-License-Identifier: Apache-2.0 */
/* word_lock.h - a lock in one word, on the futex: what hora__mutex is made of on Linux
 *
 * Costs nothing to make or to destroy, and no system call unless somebody waits. A thread that has just been let in
 * may free the memory of the lock while the one that let it in is still inside unlock: that touches the word no more,
 * see futex.h. */
#ifndef HORA_SYS_WORD_LOCK_H
#define HORA_SYS_WORD_LOCK_H

#include "base/build.h"
#include "base/fault.h"
#include "sys/atomic.h"
#include "sys/futex.h"

enum { HORA__LOCK_FREE, HORA__LOCK_HELD, HORA__LOCK_AWAITED };

/* The lock was not free. */
void hora__word_lock_wait(hora__atomic *word);

HORA__INLINE void hora__word_lock(hora__atomic *word)
{
    HORA__ORDER_FAULT(LOCK_TAKEN_RELAXED, memory_order_relaxed);
    if (__builtin_expect(!hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD), 0))
        hora__word_lock_wait(word);
}

HORA__INLINE void hora__word_unlock(hora__atomic *word)
{
    HORA__ORDER_FAULT(LOCK_LET_GO_RELAXED, memory_order_relaxed);
    if (__builtin_expect(hora__atomic_exchange(word, HORA__LOCK_FREE) == HORA__LOCK_AWAITED, 0))
        hora__futex_wake(word);
}

#endif
