/* SPDX-License-Identifier: Apache-2.0 */
/* word_lock.c - waiting for a lock of one word
 *
 * How it works      A thread that finds the lock held reads it a few more times and then sleeps. With one
 *                   processor it sleeps at once, because the holder cannot run while another thread spins.
 * States            FREE -> HELD          lock, by a thread that finds it free
 *                   HELD -> AWAITED       a thread is about to sleep
 *                   FREE -> AWAITED       a thread that slept takes the lock; others may still sleep
 *                   HELD -> FREE          unlock
 *                   AWAITED -> FREE       unlock, which then wakes one sleeper
 * Invariants        I1 the thread that changed FREE to another state holds the lock until it writes FREE.
 *                   I2 while a thread sleeps, the word is AWAITED, or another thread is about to take the
 *                   lock as AWAITED. So each unlock while threads sleep wakes one of them. */
#include "sys/futex.h"

#include "base/fault.h"
#include "sys/processors.h"

/* How often to read the word before sleeping. Sleeping and waking costs some 5 us and two system calls, while
 * most locks are held for less than 100 ns; a read costs some 10 ns with its pause. The first ten reads give
 * nearly all of the gain. After some twenty the holder probably does not run at all, and more reads only keep
 * it from running. Measured with pools of 2 and 8 workers on 2 processors: 0 reads 13 M tasks/s, 10 to 40
 * reads 17 to 20 M, 300 reads less again with several submitters. */
enum {
#ifdef HORA_SIM
    LOOKS = 1, /* more would only repeat schedules */
#else
    LOOKS = 20,
#endif
};

/* Reads the word a few times and acquires the lock if it becomes free. Returns true if it did. Acquires it as
 * HELD, not AWAITED, like the fast path: a thread that has not slept has not announced sleepers. */
static bool spin(hora__atomic *word)
{
    for (int i = 0; i < LOOKS; i++) {
        if (hora__atomic_load(word) == HORA__LOCK_FREE &&
            hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD))
            return true;
        hora__pause();
    }
    return false;
}

void hora__word_lock_wait(hora__atomic *word)
{
    if (hora__pause_helps() && spin(word))
        return;
    HORA__ORDER_FAULT(LOCK_SLEPT_RELAXED, memory_order_relaxed);
    while (hora__atomic_exchange(word, HORA__LOCK_AWAITED) != HORA__LOCK_FREE) {
        hora__futex_wait(word, HORA__LOCK_AWAITED, HORA__MONOTONIC, INT64_MAX);
        /* I2: a thread that slept acquires the lock as AWAITED, because it cannot know whether others
         * sleep */
        if (HORA__FAULT(LOCK_FORGETS_SLEEPERS) && hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD))
            return;
    }
}
