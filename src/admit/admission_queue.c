/* SPDX-License-Identifier: Apache-2.0 */
/* admission_queue.c - the tickets of the tasks that wait for admission, or run
 *
 * Made tickets      A ticket that was made is found by searching the list of all made tickets. There are few
 *                   of them: only a task that is queued twice, or whose future this pool did not make, needs
 *                   one.
 * Invariants        I1 An item that waits or runs does so under its own ticket, whose is_in_use is set, or
 *                      under one that was made for it.
 *                   I2 A made ticket is on the list of made tickets exactly while it waits or runs. */
#include "admit/admission_queue.h"

#include <assert.h>
#include <hora/error.h>
#include <stddef.h>

#include "base/build.h"
#include "sys/alloc.h"

/* A ticket for an item that has none, or whose own is in use. */
struct made_ticket {
    struct hora__ticket ticket;
    struct hora__list link; /* among the made tickets of its queue */
    void *holder;           /* the caller's record of the item */
};

/* Asserts that the caller holds the lock of the embedding queue, if that is known. */
#define ASSERT_LOCKED(queue) \
    assert((queue)->admission.lock == NULL || hora__mutex_held((queue)->admission.lock))

static struct made_ticket *made_of(struct hora__ticket *ticket)
{
    assert(ticket != NULL);
    return HORA__LIST_ENTRY(ticket, struct made_ticket, ticket);
}

void hora__admission_queue_init(struct hora__admission_queue *queue, hora_ns ageing,
                                struct hora__ticket *(*own_ticket)(const void *context, const void *item),
                                int (*threads)(const void *context), const void *context,
                                const hora__mutex *lock)
{
    assert(own_ticket != NULL);
    hora__admission_init(&queue->admission, ageing, threads, context, lock);
    hora__list_init(&queue->made);
    queue->own_ticket = own_ticket;
    queue->context = context;
}

void hora__admission_queue_destroy(const struct hora__admission_queue *queue)
{
    assert(hora__list_is_empty(&queue->made));
    hora__admission_destroy(&queue->admission);
}

/* ---- claiming tickets ---- */

/* Returns the ticket that the item owns; NULL: none for this queue. */
static struct hora__ticket *own_ticket(const struct hora__admission_queue *queue, const void *item)
{
    assert(item != NULL);
    return queue->own_ticket(queue->context, item);
}

/* The exchange of is_in_use decides between two threads that queue the same item at the same time: only one
 * of them gets the own ticket (I1). */
int hora__admission_queue_claim(const struct hora__admission_queue *queue, void *item, void *holder,
                                struct hora__ticket **ret_ticket)
{
    assert(ret_ticket != NULL);
    struct hora__ticket *own = own_ticket(queue, item);
    if (own != NULL && hora__atomic_exchange(&own->is_in_use, 1) == 0) {
        *ret_ticket = own;
        return 0;
    }
    struct made_ticket *made = hora__alloc(1, sizeof *made);
    if (made == NULL)
        return HORA_ENOMEM;
    hora__ticket_init(&made->ticket, NULL, 0, HORA__LEVEL_NORMAL);
    hora__list_init(&made->link);
    made->holder = holder;
    *ret_ticket = &made->ticket;
    return 0;
}

/* The link of a made ticket that was never added is empty, so removing it is harmless without the lock. */
void hora__admission_queue_unclaim(const struct hora__admission_queue *queue, struct hora__ticket *ticket,
                                   const void *item)
{
    assert(ticket->state == HORA__TICKET_OUT);
    if (ticket == own_ticket(queue, item)) {
        hora__atomic_store(&ticket->is_in_use, 0);
        return;
    }
    hora__list_remove(&made_of(ticket)->link); /* I2 */
    hora__free(made_of(ticket));
}

void *hora__ticket_holder(struct hora__ticket *made)
{
    return made_of(made)->holder;
}

/* ---- waiting and running ---- */

/* A made ticket copies class, key and level here and not when it is claimed: the own ticket may change until
 * then, and only the lock guards it. */
void hora__admission_queue_add(struct hora__admission_queue *queue, struct hora__ticket *ticket, void *item,
                               hora_ns since)
{
    ASSERT_LOCKED(queue);
    const struct hora__ticket *own = own_ticket(queue, item);
    if (ticket != own)
        hora__list_add_last(&queue->made, &made_of(ticket)->link); /* I2 */
    if (ticket != own && own != NULL) {
        ticket->class = own->class;
        ticket->key = own->key;
        ticket->level = own->level;
    }
    hora__admission_add(&queue->admission, ticket, item, since);
}

void *hora__admission_queue_remove(struct hora__admission_queue *queue, struct hora__ticket *ticket)
{
    assert(hora__ticket_waits(ticket));
    void *item = ticket->item;
    hora__admission_remove(&queue->admission, ticket);
    hora__admission_queue_unclaim(queue, ticket, item);
    return item;
}

bool hora__admission_queue_end(struct hora__admission_queue *queue, const void *item)
{
    struct hora__ticket *ticket = hora__admission_queue_running(queue, item);
    if (ticket == NULL)
        return false;
    hora__admission_end(&queue->admission, ticket);
    hora__admission_queue_unclaim(queue, ticket, item);
    return true;
}

/* ---- finding ---- */

/* Returns a ticket that was made for the item and runs (`runs`) or waits; NULL: none. */
static struct hora__ticket *find_made(const struct hora__admission_queue *queue, const void *item, bool runs)
{
    assert(item != NULL);
    for (struct hora__list *link = queue->made.next; link != &queue->made; link = link->next) {
        struct hora__ticket *ticket = &HORA__LIST_ENTRY(link, struct made_ticket, link)->ticket;
        HORA__TOUCH(1);
        if (ticket->item == item && hora__ticket_runs(ticket) == runs)
            return ticket;
    }
    return NULL;
}

struct hora__ticket *hora__admission_queue_waiting(const struct hora__admission_queue *queue,
                                                   const void *item)
{
    ASSERT_LOCKED(queue);
    struct hora__ticket *own = own_ticket(queue, item);
    return own != NULL && hora__ticket_waits(own) ? own : find_made(queue, item, false);
}

/* If a worker has taken an item twice, only one of the two runs executes the task, and the other ends at
 * once. So it does not matter which of the two tickets is found. */
struct hora__ticket *hora__admission_queue_running(const struct hora__admission_queue *queue,
                                                   const void *item)
{
    ASSERT_LOCKED(queue);
    struct hora__ticket *made = find_made(queue, item, true);
    struct hora__ticket *own = own_ticket(queue, item);
    return made != NULL ? made : own != NULL && hora__ticket_runs(own) ? own : NULL;
}
