/* SPDX-License-Identifier: Apache-2.0 */
/* word_lock.c - waiting for a lock in one word
 *
 * States            FREE -> HELD          lock, when nobody waits
 *                   HELD -> AWAITED       somebody is about to sleep
 *                   FREE -> AWAITED       a thread that slept takes the lock: others may sleep still, and it cannot know
 *                   HELD -> FREE          unlock
 *                   AWAITED -> FREE       unlock, which then wakes one sleeper
 * Invariants        I1 the thread that changed FREE to something else has the lock until it writes FREE.
 *                   I2 while a thread sleeps, the word is AWAITED, or another one is on its way to take the lock as AWAITED: so
 *                      each unlock with sleepers wakes one. */
#include "sys/word_lock.h"

#include "base/fault.h"

void hora__word_lock_wait(hora__atomic *word)
{
    while (hora__atomic_exchange(word, HORA__LOCK_AWAITED) != HORA__LOCK_FREE) {
        hora__futex_wait(word, HORA__LOCK_AWAITED, HORA__MONOTONIC, INT64_MAX);
        /* I2 */
        if (HORA__FAULT(LOCK_FORGETS_SLEEPERS) && hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD))
            return;
    }
}
