/* SPDX-License-Identifier: Apache-2.0 */
/* members.c - a list of the pending futures of a group or of a completion service, and walks over it
 *
 * The caller of a walk cancels or runs each member. That may end this member and others, and their listeners
 * take the object's lock. So a walk holds no lock between its steps and keeps no pointer to a member: it
 * finds its position again by number. Each step searches from the end of the list at which the walk began. It
 * passes few members that were visited already, because most members are removed when they are visited. */
#include "exec/members.h"

#include <assert.h>
#include <stddef.h>

void hora__members_init(struct hora__members *members, struct hora__object *object)
{
    members->object = object;
    hora__list_init(&members->pending);
    members->count = 0;
    members->last_number = 0;
}

void hora__members_add_locked(struct hora__members *members, struct hora__member *member)
{
    assert(hora__mutex_held(&members->object->lock));
    member->number = ++members->last_number;
    hora__list_add_last(&members->pending, &member->link);
    members->count++;
}

void hora__members_remove_locked(struct hora__members *members, struct hora__member *member)
{
    assert(hora__mutex_held(&members->object->lock) && members->count > 0);
    hora__list_remove(&member->link);
    members->count--;
}

struct hora__walk hora__walk_forth_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    return (struct hora__walk){.back = false, .at = 0, .end = members->last_number};
}

struct hora__walk hora__walk_back_locked(const struct hora__members *members)
{
    assert(hora__mutex_held(&members->object->lock));
    return (struct hora__walk){.back = true, .at = members->last_number + 1};
}

/* Returns the oldest member that is newer than the one visited last, up to the end of the walk; NULL:
 * none. */
static struct hora__member *next_forth_locked(const struct hora__members *members,
                                              const struct hora__walk *walk)
{
    assert(hora__mutex_held(&members->object->lock) && !walk->back);
    for (struct hora__list *link = members->pending.next; link != &members->pending; link = link->next) {
        struct hora__member *member = HORA__LIST_ENTRY(link, struct hora__member, link);
        if (member->number > walk->at)
            return member->number <= walk->end ? member : NULL;
    }
    return NULL;
}

/* Returns the newest member that is older than the one visited last; NULL: none. */
static struct hora__member *next_back_locked(const struct hora__members *members,
                                             const struct hora__walk *walk)
{
    assert(hora__mutex_held(&members->object->lock) && walk->back);
    for (struct hora__list *link = members->pending.prev; link != &members->pending; link = link->prev) {
        struct hora__member *member = HORA__LIST_ENTRY(link, struct hora__member, link);
        if (member->number < walk->at)
            return member;
    }
    return NULL;
}

hora_future *hora__walk_next(struct hora__members *members, struct hora__walk *walk)
{
    assert(!hora__mutex_held(&members->object->lock));
    hora_future *future = NULL;
    hora__mutex_lock(&members->object->lock);
    const struct hora__member *member =
        walk->back ? next_back_locked(members, walk) : next_forth_locked(members, walk);
    if (member != NULL) {
        walk->at = member->number;
        future = hora_future_ref(member->future);
    }
    hora__mutex_unlock(&members->object->lock);
    return future;
}
