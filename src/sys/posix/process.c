/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - forks, serial numbers and the roster of schedulers
 *
 * Globals           All of this state belongs to the process, so it is global: the number of forks, which
 *                   only fork changes; the counter for default names, which must differ between all pools;
 *                   and the roster, because a timer in the caller's memory may outlive its scheduler and
 *                   has no other object in common with it. The roster changes when a scheduler is made or
 *                   freed, and is empty when the library is unloaded.
 * Fork              Another thread of the parent may have held the roster's lock, or may have been
 *                   changing the list. So the first user in a child starts with a new lock and an empty
 *                   list. While it does so, roster_generation is BEING_RENEWED. */
#include "sys/process.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/posix/internal.h"

/* ---- forks ---- */

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static int watch_error;            /* the result of register_handler; written once */
static _Atomic int32_t fork_count; /* forks between the first process and this one */

/* Runs in the child of each fork, before fork returns there. */
static void in_child(void)
{
    atomic_fetch_add(&fork_count, 1);
    hora__thread_forked();
}

static void register_handler(void)
{
    watch_error = -pthread_atfork(NULL, NULL, in_child);
}

int hora__fork_watch(void)
{
    (void)pthread_once(&watch_once, register_handler);
    return watch_error;
}

int32_t hora__fork_generation(void)
{
    /* The count changes only in a new child, which has one thread, so no order is needed. */
    return atomic_load_explicit(&fork_count, memory_order_relaxed);
}

/* ---- serial numbers ---- */

int hora__serial_next(void)
{
    static atomic_int last;
    return 1 + atomic_fetch_add(&last, 1);
}

/* ---- the roster ---- */

enum { BEING_RENEWED = -1 }; /* a value of roster_generation; generations are not negative */

static struct hora__list roster = {&roster, &roster};           /* guarded by roster_lock */
static pthread_mutex_t roster_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf: no lock is taken under it */
static _Atomic int32_t roster_generation; /* the fork generation that list and lock belong to */

/* Gives the child of a fork an empty roster with a new lock, at the first use of the roster there. Of
 * concurrent callers one does this, and the others wait for it. */
static void renew_roster(void)
{
    int32_t generation = hora__fork_generation();
    int32_t seen = atomic_load(&roster_generation);
    if (seen == generation)
        return;
    if (seen != BEING_RENEWED && atomic_compare_exchange_strong(&roster_generation, &seen, BEING_RENEWED)) {
        hora__list_init(&roster);
        (void)pthread_mutex_init(&roster_lock, NULL);
        atomic_store(&roster_generation, generation);
    }
    while (atomic_load(&roster_generation) != generation)
        (void)sched_yield();
}

static void lock_roster(void)
{
    renew_roster();
    (void)pthread_mutex_lock(&roster_lock);
}

static void unlock_roster(void)
{
    (void)pthread_mutex_unlock(&roster_lock);
}

void hora__roster_add(struct hora__list *link)
{
    lock_roster();
    hora__list_add_last(&roster, link);
    unlock_roster();
}

void hora__roster_remove(struct hora__list *link)
{
    lock_roster();
    hora__list_remove(link);
    unlock_roster();
}

/* Searches the whole list; a process has few schedulers. Compares addresses only: `link` may point to freed
 * memory. */
bool hora__roster_has(const struct hora__list *link)
{
    lock_roster();
    const struct hora__list *at = roster.next;
    while (at != &roster && at != link)
        at = at->next;
    unlock_roster();
    return at == link;
}
