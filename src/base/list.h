/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - a doubly linked list whose links are fields of its members
 *
 * The head is a link, too. An empty list is a head linked to itself, and a link that is on no list is linked
 * to itself as well. Removing a link twice is therefore harmless. The caller locks. */
#ifndef HORA_BASE_LIST_H
#define HORA_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hora__list {
    struct hora__list *prev;
    struct hora__list *next;
};

/* Returns the struct of type `type` whose field `field` is the link. */
#define HORA__LIST_ENTRY(link, type, field) ((type *)(void *)((char *)(link) - offsetof(type, field)))

/* Makes an empty list of a head, or marks a link as on no list. */
static inline void hora__list_init(struct hora__list *link)
{
    link->prev = link;
    link->next = link;
}

/* Returns true if the list is empty. For a link that is not a head: true if the link is on no list. */
static inline bool hora__list_is_empty(const struct hora__list *head)
{
    return head->next == head;
}

/* Adds a link at the end of a list. The link must not be on a list; it need not be initialised. */
static inline void hora__list_add_last(struct hora__list *head, struct hora__list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Removes a link from its list. Does nothing if the link is initialised and on no list. */
static inline void hora__list_remove(struct hora__list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    hora__list_init(link);
}

#endif
