/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.c - the ticker of the simulator, whose ticks are nanoseconds of the simulated monotonic clock */
#include "sys/clock.h"

void hora__ticker_init(struct hora__ticker *ticker)
{
    *ticker = (struct hora__ticker){.coarse = HORA__RATE_ONE};
}

struct hora__scale hora__ticker_scale(const struct hora__ticker *ticker)
{
    return (struct hora__scale){ticker->coarse, ticker->coarse};
}
