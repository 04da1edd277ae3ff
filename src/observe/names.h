/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - the names of a pool's tasks, each stored once
 *
 * How it works      A name is copied when it first occurs, under a lock. From then on it is found without
 *                   a lock: by the address of its text, in a small cache, if the text there is still the
 *                   same; else by its text, in a table to which entries are only added.
 * Bound             Names beyond the maximum are counted as "other". If there is no memory for a name, the
 *                   task counts as one without a name. */
#ifndef HORA_OBSERVE_NAMES_H
#define HORA_OBSERVE_NAMES_H

#include <stdbool.h>

#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

/* Counters that the acting thread increments, not the worker that runs the task. */
enum hora__count_kind {
    HORA__COUNT_REJECTED,
    HORA__COUNT_EXPIRED,
    HORA__COUNT_SKIPPED,
    HORA__COUNT_OVERRUN,
    HORA__COUNT_STUCK,
    HORA__COUNT_CANCELLED,
    HORA__COUNT_SUBMITTED, /* only for tasks that have a name */
    HORA__COUNT_KINDS
};

struct hora__name {
    /* its own copy; NULL: stands for tasks without a name. Immutable, like the fields down to `next` */
    const char *text;
    int index;               /* 0: tasks without a name; then in order of first use */
    struct hora__name *next; /* the name added before it */
    hora__atomic is_seen;    /* always 1, except for "other", which exists from the start */
    /* Submitters write the fields below for each task, while workers read those above: keep them on separate
     * cache lines. */
    char apart[HORA__CACHE_LINE];
    hora__counter counts[HORA__COUNT_KINDS];
};

enum { HORA__NAMES_CACHE = 256 };

struct hora__names {
    hora__mutex lock; /* rank NAMES; taken to add names */
    int most;         /* maximum number of names; immutable, like mask and slots */
    int count;        /* names added so far; the lock guards it */
    unsigned mask;
    hora__atomic_pointer *slots; /* more slots than names, so there is always an empty one */
    hora__atomic_pointer newest;
    struct hora__name none;
    struct hora__name other;
    hora__atomic_pointer cache[HORA__NAMES_CACHE]; /* each entry is written once */
};

/* Initialises zeroed memory. Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__names_init(struct hora__names *names, int most);
void hora__names_destroy(struct hora__names *names);

/* Returns the name for a text, which may be NULL; adds a new name if necessary. Never returns NULL. */
struct hora__name *hora__names_get(struct hora__names *names, const char *text);

/* Returns the name if it exists, else NULL. */
struct hora__name *hora__names_find(struct hora__names *names, const char *text);

/* Returns the name added last; the others follow by `next`. Names that are not seen do not count. */
struct hora__name *hora__names_newest(struct hora__names *names);

/* One more than the greatest possible index. */
static inline int hora__names_room(const struct hora__names *names)
{
    return names->most + 2;
}

#endif
