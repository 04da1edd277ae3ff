/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - the names of a pool's tasks, each stored once
 *
 * How it works      A name is copied when it first occurs, under a lock. From then on it is found without
 *                   a lock. The first attempt uses a small cache, indexed by the address of the caller's
 *                   text, and compares the text, because the same address may hold another text later. The
 *                   second uses a hash table of texts, to which entries are only added.
 * Bound             Tasks whose names are beyond the maximum are counted under "other". If there is no
 *                   memory for a name, its tasks count as tasks without a name. */
#ifndef HORA_OBSERVE_NAMES_H
#define HORA_OBSERVE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"
#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

/* Events that any thread may cause. The thread that causes one increments the counter in the name itself,
 * instead of the statistics of a worker. */
enum hora__count_kind {
    HORA__COUNT_REJECTED,
    HORA__COUNT_EXPIRED,
    HORA__COUNT_SKIPPED,
    HORA__COUNT_OVERRUN, /* interrupted because of run_limit */
    HORA__COUNT_STUCK,
    HORA__COUNT_CANCELLED,
    HORA__COUNT_SUBMITTED, /* only for tasks that have a name */
    HORA__COUNT_KINDS
};

struct hora__name {
    /* A copy of the text, behind this struct; NULL for `none`. Immutable, like index and next. */
    const char *text;
    int index;               /* 0: none, 1: "other", then in the order of first use */
    struct hora__name *next; /* the name added before it; NULL for "other", the first of the list */
    /* hora__names_get has returned this name. It is 0 only for "other", which exists from the start, until it
     * is first used. */
    hora__atomic is_seen;
    /* Submitters write the fields below for each task, while workers read those above. This keeps them on
     * separate cache lines. */
    char apart[HORA__CACHE_LINE];
    hora__counter counts[HORA__COUNT_KINDS];
};

enum { HORA__NAMES_CACHE = 256 };

struct hora__names {
    hora__mutex lock; /* rank NAMES; taken to add names */
    int most;         /* maximum number of names, without none and other; immutable, like mask and slots */
    int count;        /* names added so far; the lock guards it */
    unsigned mask;    /* number of slots, a power of two, minus 1 */
    /* Hash table of struct hora__name by text, with linear probing. There are more slots than names, so a
     * search always ends at an empty one. */
    hora__atomic_pointer *slots;
    hora__atomic_pointer newest; /* the name added last; written under the lock */
    struct hora__name none;      /* stands for tasks without a name; not on the list */
    struct hora__name other;     /* stands for all names beyond the maximum */
    /* struct hora__name by address of the caller's text. An entry is written once, so a text whose entry is
     * taken by another name is always found through the table. */
    hora__atomic_pointer cache[HORA__NAMES_CACHE];
};

/* Initialises memory that is all zero. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__names_init(struct hora__names *names, int most);
void hora__names_destroy(struct hora__names *names);

/* Marks a name as seen. Reads the mark first, because a store for each task would make processors compete for
 * the cache line. */
HORA__INLINE struct hora__name *hora__name_see(struct hora__name *name)
{
    if (hora__atomic_load_relaxed(&name->is_seen) == 0)
        hora__atomic_store(&name->is_seen, 1);
    return name;
}

/* Finds or adds a name by its text, which is not NULL. `cached` is the cache entry of the text's address.
 * Only hora__names_get calls it. */
struct hora__name *hora__names_look_up(struct hora__names *names, const char *text,
                                       hora__atomic_pointer *cached);

/* Returns the name for a text, and adds it if it is new. Returns `none` for NULL and "", and `other` if there
 * are too many names. Never returns NULL. Most names are string literals, so the address of the text usually
 * leads to the right cache entry. The text is compared all the same, because the memory may have been reused
 * for another name. */
HORA__INLINE struct hora__name *hora__names_get(struct hora__names *names, const char *text)
{
    if (text == NULL)
        return &names->none;
    uintptr_t address = (uintptr_t)text;
    hora__atomic_pointer *cached = &names->cache[(address ^ address >> 8) % HORA__NAMES_CACHE];
    HORA__ORDER_FAULT(NAME_CACHE_READ_RELAXED, memory_order_relaxed);
    struct hora__name *name = hora__atomic_pointer_load(cached);
    if (name != NULL && (strcmp(name->text, text) == 0 || HORA__FAULT(NAMES_TRUST_ADDRESSES)))
        return hora__name_see(name);
    return hora__names_look_up(names, text, cached);
}

/* Returns the name of a text if it has been seen, else NULL. Adds nothing. */
struct hora__name *hora__names_find(struct hora__names *names, const char *text);

/* Returns the name added last; the others follow by `next`. The caller skips names that are not seen. */
struct hora__name *hora__names_newest(struct hora__names *names);

/* Returns one more than the greatest possible index: the size of an array that is indexed by name. */
static inline int hora__names_room(const struct hora__names *names)
{
    return names->most + 2;
}

#endif
