/* SPDX-License-Identifier: Apache-2.0 */
/* other.c - another file of the program, to which no code refers */
#include <stdatomic.h>

#include <hora/registrar.h>

#include "plugin.h"

static atomic_int runs;

HORA_SCHEDULED_FUNCTION(elsewhere, .fixed_delay_text = "1ms", .initial_delay = HORA_MS(1))
{
    if (atomic_fetch_add(&runs, 1) == 1)
        host_other_ran();
    return 0;
}
