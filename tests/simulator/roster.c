/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c - the roster of schedulers in the simulated process
 *
 * The simulator switches threads only at schedule points, of which there are none in this file. So the list
 * needs no lock. */
#include "sys/process.h"

#include <stddef.h>

static struct hora__list first = {&first, &first};

void hora__roster_clear(void)
{
    hora__list_init(&first);
}

void hora__roster_add(struct hora__list *link)
{
    hora__list_add_last(&first, link);
}

void hora__roster_remove(struct hora__list *link)
{
    hora__list_remove(link);
}

bool hora__roster_has(const struct hora__list *link)
{
    const struct hora__list *at = first.next;
    while (at != &first && at != link)
        at = at->next;
    return at == link;
}
