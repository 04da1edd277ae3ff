/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - the pending futures of a group or of a completion service, and walks over them
 *
 * A member of either kind is in one of two structures:
 *   listed   any future. A struct hora__member in a list refers to it, and a listener reports its end. The
 *            member is added and removed under the object's lock.
 *   seated   a future that the object itself has submitted to a pool. It has a seat in a row, and no memory
 *            of its own. It takes the seat under the object's lock, and usually leaves it without.
 * Members of both kinds are numbered in the order in which they were added. */
#ifndef HORA_EXEC_MEMBERS_H
#define HORA_EXEC_MEMBERS_H

#include "exec/future.h"
#include "sys/alloc.h"

/* A future in the list. */
struct hora__member {
    struct hora__list link;         /* in `pending`; guarded by the object's lock */
    struct hora__listener listener; /* notifies the object when the future is done */
    hora_future *future;            /* with a reference */
    uint64_t number;                /* set when it is added, ascending; guarded by the object's lock */
};

/* Seats in a row: as many as the atomic word has bits for. Few in the simulator, so that few tasks fill a
 * row. */
enum { HORA__SEATS = HORA__KEPT(30, 2) };

/* A row of seats. Its first line is all that a future touches that leaves its seat. */
struct hora__seat_row {
    /* Bit i: seat i is taken or reserved. Bits are set under the object's lock, and cleared with or without
     * it; see members.c. */
    hora__atomic word;
    struct hora__members *members; /* immutable */

    /* Guarded by the object's lock. */
    struct hora__list link;            /* in `rows`, or in `free_rows` */
    int used;                          /* seats 0 .. used - 1 have been taken, and may have been left since */
    int reserved;                      /* seats used .. reserved - 1 are reserved; not less than `used` */
    hora_future *futures[HORA__SEATS]; /* of the taken seats, with a reference each */
    uint64_t numbers[HORA__SEATS];     /* of the same */
};

/* The members; a group or a completion service embeds it. */
struct hora__members {
    struct hora__object *object; /* its lock guards the fields below, except `done` */
    /* Called with no lock held when a seated future is done; ends the membership. Immutable. NULL: the object
     * has no seated members. */
    void (*done)(hora_future *future);
    struct hora__list pending;   /* the listed members, in ascending order of their numbers */
    int count;                   /* length of `pending` */
    int free_count;              /* length of `free_rows` */
    uint64_t last_number;        /* number of the member that was added last; 0: none */
    struct hora__list rows;      /* those with taken or reserved seats, and `open`; the oldest first */
    struct hora__seat_row *open; /* the last of `rows`, if it has seats that were never used; else NULL */
    struct hora__list free_rows; /* empty ones, for reuse */
};

void hora__members_init(struct hora__members *members, struct hora__object *object,
                        void (*done)(hora_future *future));

/* Frees the memory of the rows. There are no members. */
void hora__members_destroy(struct hora__members *members);

/* Returns whether there are no members and no reserved seats. Called with the object's lock held. */
bool hora__members_are_none_locked(const struct hora__members *members);

/* Returns whether no seat is taken or reserved. Called with the object's lock held. */
bool hora__members_seats_are_free_locked(const struct hora__members *members);

/* Returns the number of members. Called with the object's lock held. */
int hora__members_count_locked(const struct hora__members *members);

/* Appends a member and gives it the next number. Called with the object's lock held. */
void hora__members_add_locked(struct hora__members *members, struct hora__member *member);

/* Removes a member that is in the list. Called with the object's lock held. */
void hora__members_remove_locked(struct hora__members *members, struct hora__member *member);

/* Gives a seat to a future that no other thread has seen, and adds the reference of the seat. If `reserves`
 * is set, this may reserve seats for the next calls. Called with the object's lock held. Returns 0 or
 * HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__members_seat_locked(struct hora__members *members,
                                                                  hora_future *future, bool reserves);

/* The pool has accepted a seated future: from now on walks visit it. */
void hora__members_placed(hora_future *future);

/* Gives up the reserved seats. Called with the object's lock held. */
void hora__members_unreserve_locked(struct hora__members *members);

/* Frees a seat without the lock. Returns false, and does nothing, if that takes the lock. After true the
 * object may be gone. The reference of the seat passes to the caller. */
__attribute__((warn_unused_result)) bool hora__members_leave(struct hora__seat_row *row, int seat);

/* Frees a seat in any case. Called with the object's lock held. The reference of the seat passes to the
 * caller. */
void hora__members_leave_locked(struct hora__seat_row *row, int seat);

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
