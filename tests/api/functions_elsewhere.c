/* SPDX-License-Identifier: Apache-2.0 */
/* functions_elsewhere.c - see functions_elsewhere.h */
#include "functions_elsewhere.h"

#include <hora/registrar.h>

atomic_int elsewhere_runs;

HORA_SCHEDULED_FUNCTION(elsewhere, .fixed_rate_text = "2s", .initial_delay_text = "${start:1s}")
{
    atomic_fetch_add(&elsewhere_runs, 1);
    return 0;
}
