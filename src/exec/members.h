/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - a list of the pending futures of a group or of a completion service, and walks over it */
#ifndef HORA_EXEC_MEMBERS_H
#define HORA_EXEC_MEMBERS_H

#include "exec/future.h"

/* A future in the list. */
struct hora__member {
    struct hora__list link;         /* in `pending`; guarded by the object's lock */
    struct hora__listener listener; /* notifies the object when the future is done */
    hora_future *future;            /* with a reference */
    uint64_t number;                /* set when it is added, ascending; guarded by the object's lock */
};

/* The list; a group or a completion service embeds it. */
struct hora__members {
    struct hora__object *object; /* its lock guards the fields below */
    struct hora__list pending;   /* the members, in ascending order of their numbers */
    int count;                   /* length of `pending` */
    uint64_t last_number;        /* number of the member that was added last; 0: none */
};

void hora__members_init(struct hora__members *members, struct hora__object *object);

/* Appends a member and gives it the next number. Called with the object's lock held. */
void hora__members_add_locked(struct hora__members *members, struct hora__member *member);

/* Removes a member that is in the list. Called with the object's lock held. */
void hora__members_remove_locked(struct hora__members *members, struct hora__member *member);

/* A walk over the members that are pending when it begins, from the oldest to the newest (forth) or the other
 * way (back). It visits no member that is added later. The lock is free between its steps. */
struct hora__walk {
    bool back;
    uint64_t at;  /* the number of the member that was visited last */
    uint64_t end; /* forth: the last number to visit */
};

/* Begin a walk. Called with the object's lock held. */
struct hora__walk hora__walk_forth_locked(const struct hora__members *members);
struct hora__walk hora__walk_back_locked(const struct hora__members *members);

/* Returns the future of the next member that is still pending, with a reference; NULL: the walk has ended.
 * Called without the lock. */
hora_future *hora__walk_next(struct hora__members *members, struct hora__walk *walk);

#endif
