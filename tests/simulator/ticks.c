/* SPDX-License-Identifier: Apache-2.0 */
/* ticks.c - in the simulator there is no processor's counter: ticks are nanoseconds of its clock */
#include "sys/clock.h"

void hora__ticker_init(struct hora__ticker *ticker)
{
    *ticker = (struct hora__ticker){.coarse = HORA__RATE_ONE};
}

struct hora__scale hora__ticker_scale(const struct hora__ticker *ticker)
{
    return (struct hora__scale){ticker->coarse, ticker->coarse};
}
