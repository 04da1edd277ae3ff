/* SPDX-License-Identifier: Apache-2.0 */
/* without_export.c - a library that has such a function, and does not say so */
#include <hora/registrar.h>

HORA_SCHEDULED_FUNCTION(unseen, .fixed_rate = 1)
{
    return 0;
}
