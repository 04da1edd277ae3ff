/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - futures that an object waits for together: those of a group, of a completion service */
#ifndef HORA_EXEC_MEMBERS_H
#define HORA_EXEC_MEMBERS_H

#include "exec/future.h"

struct hora__member {
    struct hora__list link;         /* among those that are pending; guarded by the object's lock */
    struct hora__listener listener; /* tells the object when the future is done */
    hora_future *future;            /* a reference */
    uint64_t number;                /* in the order of adding; guarded by the object's lock */
};

struct hora__members {
    struct hora__object *object; /* whose lock guards what follows */
    struct hora__list pending;   /* in the order of their numbers */
    int count;
    uint64_t last_number;
};

void hora__members_init(struct hora__members *members, struct hora__object *object);
void hora__members_add_locked(struct hora__members *members, struct hora__member *member);
void hora__members_remove_locked(struct hora__members *members, struct hora__member *member);

/* A walk over those that are pending when it begins, from the oldest to the newest or back. Between its steps
 * the lock is free. */
struct hora__walk {
    bool back;
    uint64_t at;  /* the number that was visited last */
    uint64_t end; /* forth: the last number to visit */
};

/* Called with the lock. */
struct hora__walk hora__walk_forth_locked(const struct hora__members *members);
struct hora__walk hora__walk_back_locked(const struct hora__members *members);

/* The next one that is still pending, with a reference; NULL: the walk is over. Called without the lock. */
hora_future *hora__walk_next(struct hora__members *members, struct hora__walk *walk);

#endif
