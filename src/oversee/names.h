/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - the names of a pool's tasks, each known once and for good
 *
 * How it works      A name is copied when it comes for the first time, under a lock. From then on it is found without one: by the address of its
 *                   text, in a small cache, if the text there is still the same; else by its text, in a table to which entries are only added.
 * Bound             So many names, and what comes after these is "other". Without memory for a name it is as if the task had none. */
#ifndef HORA_OVERSEE_NAMES_H
#define HORA_OVERSEE_NAMES_H

#include <stdbool.h>

#include "sys/alloc.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

/* What is counted by whoever does it, not by the worker that runs the task. */
enum hora__tally {
    HORA__TALLY_REJECTED,
    HORA__TALLY_EXPIRED,
    HORA__TALLY_SKIPPED,
    HORA__TALLY_OVERRUN,
    HORA__TALLY_STUCK,
    HORA__TALLY_CANCELLED,
    HORA__TALLY_SUBMITTED, /* of tasks that have a name */
    HORA__TALLIES
};

struct hora__name {
    const char *text;        /* its own copy; NULL: that of tasks without a name. This and what follows is immutable */
    int index;               /* from 0, which is that of tasks without a name, in the order of their coming */
    struct hora__name *next; /* the one that came before it */
    hora__atomic is_seen;    /* always 1, but of "other", which is there from the beginning */
    char apart[HORA__CACHE_LINE]; /* who submits writes what follows, for each task, and workers read what is above */
    hora__counter tallies[HORA__TALLIES];
};

enum { HORA__NAMES_CACHE = 256 };

struct hora__names {
    hora__mutex lock; /* rank NAMES; for coming names */
    int most;         /* immutable, as the mask and where the slots are */
    int count;        /* of those that have come, guarded by the lock */
    unsigned mask;
    hora__atomic_pointer *slots; /* more than there can be names, so there is always an empty one */
    hora__atomic_pointer newest;
    struct hora__name none;
    struct hora__name other;
    hora__atomic_pointer cache[HORA__NAMES_CACHE]; /* each is written once */
};

/* With memory that is zero. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__names_init(struct hora__names *names, int most);
void hora__names_destroy(struct hora__names *names);

/* The name of a task, which may be NULL; if it is new it is one of the names from now on. Never NULL. */
struct hora__name *hora__names_get(struct hora__names *names, const char *text);

/* The same if there is such a name already, else NULL. */
struct hora__name *hora__names_find(struct hora__names *names, const char *text);

/* The one that came last; the others follow by `next`. Those that are not seen do not count. */
struct hora__name *hora__names_newest(struct hora__names *names);

/* One more than the greatest index there can be. */
static inline int hora__names_room(const struct hora__names *names)
{
    return names->most + 2;
}

#endif
