/* SPDX-License-Identifier: Apache-2.0 */
/* spin.c - looking again for a time of the monotonic clock */
#include "sys/spin.h"

#include <sched.h>

void hora__spin_begin(struct hora__spin *spin, int64_t ns)
{
    spin->looks = 0;
    spin->until = hora__pause_helps() ? hora__now(HORA__MONOTONIC) + ns : INT64_MIN;
}

bool hora__spin_has_time(const struct hora__spin *spin)
{
    if (hora__now(HORA__MONOTONIC) >= spin->until)
        return false;
    (void)sched_yield();
    return true;
}
