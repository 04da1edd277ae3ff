/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c - a library that is loaded by a running program, with functions that declare themselves */
#include "plugin.h"

#include <stdatomic.h>

#include <hora/hora.h>

static atomic_int plugged_runs;
static atomic_int plugged_too_runs;

HORA_SCHEDULED_FUNCTIONS_EXPORT;

HORA_SCHEDULED_FUNCTION(plugged, .fixed_rate_text = "1ms")
{
    atomic_fetch_add(&plugged_runs, 1);
    return 0;
}

HORA_SCHEDULED_FUNCTION(plugged_too, .initial_delay = 1)
{
    atomic_fetch_add(&plugged_too_runs, 1);
    return 0;
}

int plugin_scan(hora_registrar *registrar)
{
    return hora_registrar_scan(registrar, NULL);
}

/* It looks again and again, since a plugin that is never waited for has nothing to wait on. */
int plugin_wait(void)
{
    for (int i = 0; i < 30000 && (plugged_runs == 0 || plugged_too_runs == 0); i++)
        if (hora_sleep(HORA_MS(1)) < 0)
            return 1;
    return plugged_runs > 0 && plugged_too_runs == 1 ? 0 : 1;
}

int plugin_answer(void)
{
    return 42;
}
