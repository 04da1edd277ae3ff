/* SPDX-License-Identifier: Apache-2.0 */
/* futex.c - simulated sleeping on a word
 *
 * How it works      The sleepers are the threads in state SLEEPING on the word's address. The comparison and
 *                   the change to that state are one step, as in the kernel. All three timelines are
 *                   supported.
 * No edges          There is no edge for ThreadSanitizer from wake to wait. A futex orders nothing, the
 *                   atomic word does, and an edge too many would hide races. */
#include "sys/futex.h"

#include "simulator/internal.h"

void hora__futex_wait(hora__atomic *word, int32_t expected, enum hora__timeline timeline, int64_t deadline_ns)
{
    hora__sim_point();
    int64_t until_ns = hora__sim_monotonic(timeline, deadline_ns);
    if (atomic_load(&word->value) == expected && until_ns > hora__sim.now_ns)
        hora__sim_sleep(SIM_SLEEPING, word, timeline, until_ns);
}

void hora__futex_wake(hora__atomic *word)
{
    hora__sim_point();
    struct sim_thread *waiter = hora__sim_waiter(SIM_SLEEPING, word);
    if (waiter != NULL)
        hora__sim_wake(waiter);
    hora__sim_after();
}
