/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c - which schedulers exist in this process
 *
 * Globals      A timer in memory of the user outlives schedulers, and nothing else that both know does: so the list belongs to the process. It
 *              is changed when a scheduler is made or freed, and is empty when the library is unloaded.
 * Fork         Another thread of the parent may have held the lock, or have been about to change the list. So the first user in a child
 *              starts anew: while it does so, `owner` says that it is being done. */
#include "sys/roster.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/fork.h"

enum { BEING_RENEWED = -1 };

static struct hora__list first = {&first, &first};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int32_t owner; /* the generation of the process that the list and the lock belong to */

static void renew(void)
{
    int32_t generation = hora__fork_generation();
    int32_t seen = atomic_load(&owner);
    if (seen == generation)
        return;
    if (seen != BEING_RENEWED && atomic_compare_exchange_strong(&owner, &seen, BEING_RENEWED)) {
        hora__list_init(&first);
        (void)pthread_mutex_init(&lock, NULL);
        atomic_store(&owner, generation);
    }
    while (atomic_load(&owner) != generation)
        (void)sched_yield();
}

static void enter(void)
{
    renew();
    (void)pthread_mutex_lock(&lock);
}

static void leave(void)
{
    (void)pthread_mutex_unlock(&lock);
}

void hora__roster_add(struct hora__list *link)
{
    enter();
    hora__list_add_last(&first, link);
    leave();
}

void hora__roster_remove(struct hora__list *link)
{
    enter();
    hora__list_remove(link);
    leave();
}

bool hora__roster_has(const struct hora__list *link)
{
    enter();
    const struct hora__list *at = first.next;
    while (at != &first && at != link)
        at = at->next;
    leave();
    return at == link;
}
