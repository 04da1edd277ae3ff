/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - serial numbers, processors and spinning; constants, so that runs repeat
 *
 * There are two processors, so that lanes and spinning are exercised. Spinning ends after a fixed number of
 * reads, because time does not pass while a thread can run. */
#include "sys/process.h"
#include "sys/processors.h"
#include "sys/thread.h"

int hora__serial_next(void)
{
    return 1;
}

int hora__processors(void)
{
    return 2;
}

bool hora__pause_helps(void)
{
    return true;
}

int hora__processor(void)
{
    return hora__thread_id();
}

void hora__spin_begin(struct hora__spin *spin, int64_t ns)
{
    spin->looks = 0;
    spin->until = ns;
}

bool hora__spin_has_time(const struct hora__spin *spin)
{
    (void)spin;
    return false;
}
