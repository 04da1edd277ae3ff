/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c - threads that come and go with the load */
#include "oversee/growth.h"

#include <stddef.h>

const char *hora__growth_wrong(const hora_pool_options *options, const hora_growth *growth)
{
    (void)options;
    (void)growth;
    return NULL;
}

int hora__growth_new(struct hora__oversight *oversight, struct hora__growth **ret_growth)
{
    (void)oversight;
    *ret_growth = NULL;
    return 0;
}

void hora__growth_free(struct hora__growth *growth)
{
    (void)growth;
}
