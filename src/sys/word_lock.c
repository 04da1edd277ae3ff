/* SPDX-License-Identifier: Apache-2.0 */
/* word_lock.c - waiting for a lock in one word
 *
 * How it works      Whoever finds the lock held looks again a few times, and then sleeps. With one processor it sleeps at once: the holder
 *                   does not get on while another thread looks.
 * States            FREE -> HELD          lock, by whoever finds it free
 *                   HELD -> AWAITED       somebody is about to sleep
 *                   FREE -> AWAITED       a thread that slept takes the lock: others may sleep still, and it cannot know
 *                   HELD -> FREE          unlock
 *                   AWAITED -> FREE       unlock, which then wakes one sleeper
 * Invariants        I1 the thread that changed FREE to something else has the lock until it writes FREE.
 *                   I2 while a thread sleeps, the word is AWAITED, or another one is on its way to take the lock as AWAITED: so
 *                      each unlock with sleepers wakes one. */
#include "sys/word_lock.h"

#include "base/fault.h"
#include "sys/pause.h"

/* How often to look before sleeping. To sleep and be woken costs some 5 us and two system calls, while most locks are held for less than
 * 100 ns; a look costs some 10 ns with its pause. So nearly all that can be won is won by the first ten looks, and after
 * some twenty it is likely that the holder does not run at all: then more of them only keep it from doing so. Measured with pools of
 * 2 and 8 workers on 2 processors: 0 looks 13 M tasks/s, 10 to 40 17 to 20 M, 300 fewer again with several submitters. */
enum {
#ifdef HORA_SIM
    LOOKS = 1, /* more would only be more of the same schedules */
#else
    LOOKS = 20,
#endif
};

/* Whether the lock was had so: as by any thread that comes just now, so nothing is said about those who sleep. */
static bool spin(hora__atomic *word)
{
    for (int i = 0; i < LOOKS; i++) {
        if (hora__atomic_load(word) == HORA__LOCK_FREE && hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD))
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
        /* I2 */
        if (HORA__FAULT(LOCK_FORGETS_SLEEPERS) && hora__atomic_cas(word, HORA__LOCK_FREE, HORA__LOCK_HELD))
            return;
    }
}
