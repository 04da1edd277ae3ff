/* SPDX-License-Identifier: Apache-2.0 */
/* admission_queue.c - a kind of queue whose elements leave when a gate lets them
 *
 * How it works      The container is the gate: see base/gate.h. An element brings its turn along, so there is nothing to allocate, and nothing to
 *                   search for when it is removed. One that brings none, or is put a second time, is a guest: its turn is made for it, and its few
 *                   like are searched for by walking through their list.
 * Taking            Workers take by `take`: the element has begun, and counts until hora__admission_queue_ended. Whoever polls the queue from
 *                   outside takes by `pop`: that element has left, and nothing has begun.
 * Order             Looked at, those that are ready come first, as they would begin, and then those behind others of their key.
 * Invariants        I1 base.size is the number of turns that wait.
 *                   I2 what waits or runs has the turn that its element brings along, or that of a guest; `is_in_use` is set for the first.
 *                   I3 guests are on the list of guests as long as they wait or run. */
#include "exec/admission_queue.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sys/alloc.h"

struct guest {
    struct hora__ticket ticket;
    struct hora__list link;
};

struct admission_queue {
    struct hora__work_source base;
    struct hora__admission_use use;
    struct hora__admission admission;
    struct hora__list guests;
};

static struct admission_queue *admission_queue_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct admission_queue, base.queue);
}

struct hora__admission *hora__admission_queue_admission(hora_queue *queue)
{
    return &admission_queue_of(queue)->admission;
}

static hora_ns now_of(const struct admission_queue *steered)
{
    return hora_clock_now(steered->base.queue.object.clock);
}

static struct hora__ticket *own_ticket(const struct admission_queue *steered, const void *item)
{
    return steered->use.ticket_of(steered->use.context, item);
}

/* ---- turns ---- */

/* I2. HORA_ENOMEM. */
static int provide_ticket(struct admission_queue *steered, void *item, struct hora__ticket **ret_ticket)
{
    struct hora__ticket *own = own_ticket(steered, item);
    if (own != NULL && hora__atomic_exchange(&own->is_in_use, 1) == 0) {
        *ret_ticket = own;
        return 0;
    }
    struct guest *guest = hora__alloc(1, sizeof *guest);
    if (guest == NULL)
        return HORA_ENOMEM;
    hora__ticket_init(&guest->ticket, NULL, 0, HORA__LEVEL_NORMAL);
    hora__list_init(&guest->link);
    *ret_ticket = &guest->ticket;
    return 0;
}

/* It neither waits nor runs. */
static void dispose(const struct admission_queue *steered, struct hora__ticket *ticket, void *item)
{
    if (ticket == own_ticket(steered, item)) {
        hora__atomic_store(&ticket->is_in_use, 0);
        return;
    }
    struct guest *guest = HORA__LIST_ENTRY(ticket, struct guest, ticket);
    hora__list_remove(&guest->link); /* I3 */
    hora__free(guest);
}

/* With the lock: it waits from now on. A second entry has the terms of the first. */
static void come(struct admission_queue *steered, struct hora__ticket *ticket, void *item)
{
    struct hora__ticket *own = own_ticket(steered, item);
    if (ticket != own) {
        hora__list_add_last(&steered->guests, &HORA__LIST_ENTRY(ticket, struct guest, ticket)->link); /* I3 */
        if (own != NULL) {
            ticket->class = own->class;
            ticket->key = own->key;
            ticket->level = own->level;
        }
    }
    hora__admission_add(&steered->admission, ticket, item, now_of(steered));
}

static void *leave(struct admission_queue *steered, struct hora__ticket *ticket)
{
    void *item = ticket->item;
    hora__admission_remove(&steered->admission, ticket);
    steered->base.queue.size--; /* I1 */
    dispose(steered, ticket, item);
    return item;
}

/* The guest of an element that waits, or runs; NULL: there is none. */
static struct hora__ticket *find_guest(const struct admission_queue *steered, const void *item, bool runs)
{
    for (struct hora__list *link = steered->guests.next; link != &steered->guests; link = link->next) {
        struct hora__ticket *ticket = &HORA__LIST_ENTRY(link, struct guest, link)->ticket;
        if (ticket->item == item && hora__ticket_runs(ticket) == runs)
            return ticket;
    }
    return NULL;
}

static struct hora__ticket *find_waiting(const struct admission_queue *steered, const void *item)
{
    struct hora__ticket *own = own_ticket(steered, item);
    return own != NULL && hora__ticket_waits(own) ? own : find_guest(steered, item, false);
}

/* If an element runs twice, only the first of these is more than a look at it: so it does not matter which one ends. */
static struct hora__ticket *find_running(const struct admission_queue *steered, const void *item)
{
    struct hora__ticket *guest = find_guest(steered, item, true);
    struct hora__ticket *own = own_ticket(steered, item);
    return guest != NULL ? guest : own != NULL && hora__ticket_runs(own) ? own : NULL;
}

struct hora__ticket *hora__admission_queue_find(hora_queue *queue, const void *item)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__ticket *ticket = find_waiting(steered, item);
    return ticket != NULL ? ticket : find_running(steered, item);
}

/* ---- the kind ---- */

static int prepare(hora_queue *queue, struct hora__put *put)
{
    struct hora__ticket *ticket;
    int error = provide_ticket(admission_queue_of(queue), put->item, &ticket);
    if (error == 0)
        put->memory = ticket;
    return error;
}

static void discard(hora_queue *queue, struct hora__put *put)
{
    dispose(admission_queue_of(queue), put->memory, put->item);
    put->memory = NULL;
}

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    (void)wakes;
    if (queue->size == queue->capacity)
        return HORA_EFULL;
    come(admission_queue_of(queue), put->memory, put->item);
    put->memory = NULL;
    queue->size++; /* I1 */
    return 0;
}

static void *take(hora_queue *queue, struct hora__cell *ret_cell, struct hora__wakes *wakes)
{
    (void)wakes;
    (void)ret_cell;
    struct admission_queue *steered = admission_queue_of(queue);
    hora_ns now = now_of(steered);
    struct hora__ticket *best = queue->size > 0 ? hora__admission_best(&steered->admission, now) : NULL;
    if (best == NULL)
        return NULL;
    hora__admission_begin(&steered->admission, best, now);
    queue->size--; /* I1 */
    return best->item;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    (void)wakes;
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__ticket *best = queue->size > 0 ? hora__admission_best(&steered->admission, now_of(steered)) : NULL;
    return best != NULL ? leave(steered, best) : NULL;
}

static void *peek(hora_queue *queue)
{
    const struct hora__admission *admission = &admission_queue_of(queue)->admission;
    struct hora__ticket *first = hora__admission_first_ready(admission);
    if (first == NULL)
        first = hora__admission_first(admission);
    return first != NULL ? first->item : NULL;
}

/* The oldest. */
static void *strip(hora_queue *queue)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__ticket *first = hora__admission_first(&steered->admission);
    return first != NULL ? leave(steered, first) : NULL;
}

static void *take_first(hora_queue *queue, struct hora__cell *ret_cell)
{
    (void)ret_cell;
    return strip(queue);
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__ticket *ticket = find_waiting(steered, item);
    if (ticket != NULL && remove)
        (void)leave(steered, ticket);
    return ticket != NULL;
}

static void copy(hora_queue *queue, void **items, int max)
{
    const struct hora__admission *admission = &admission_queue_of(queue)->admission;
    int count = 0;
    for (struct hora__ticket *at = hora__admission_first_ready(admission); at != NULL && count < max;
         at = hora__admission_after_ready(admission, at))
        items[count++] = at->item;
    for (struct hora__ticket *at = hora__admission_first(admission); at != NULL && count < max;
         at = hora__admission_after(admission, at))
        if (at->state == HORA__TICKET_BEHIND)
            items[count++] = at->item;
}

/* Elements that can be taken at another time are told apart by that. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    struct admission_queue *steered = admission_queue_of(queue);
    hora_ns due = hora__admission_next(&steered->admission, now_of(steered));
    *ret_element = (uint64_t)due;
    return due;
}

static void destroy(hora_queue *queue)
{
    struct admission_queue *steered = admission_queue_of(queue);
    assert(hora__list_is_empty(&steered->guests));
    hora__admission_destroy(&steered->admission);
    hora__free(steered);
}

static const struct hora__queue_kind container = {
    .prepare = prepare,
    .discard = discard,
    .push = push,
    .pop = pop,
    .peek = peek,
    .strip = strip,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
};

static const struct hora__work_kind work_kind = {
    .behaviour = {.settle = hora__work_settle, .take = hora__work_take, .close = hora__work_close},
    .offer = hora__work_put,
    .take = take,
    .take_first = take_first,
    .visit = hora__work_visit_few,
};

int hora__admission_queue_new(int capacity, const hora_queue_options *options, hora_ns ageing,
                              const struct hora__admission_use *use, hora_queue **ret_queue)
{
    struct admission_queue *steered = hora__alloc(1, sizeof *steered);
    if (steered == NULL)
        return HORA_ENOMEM;
    steered->use = *use;
    hora__list_init(&steered->guests);
    hora__admission_init(&steered->admission, ageing, use->threads, use->context, &steered->base.queue.object.lock);
    int error = hora__work_source_init(&steered->base, &container, &work_kind, capacity, options);
    if (error < 0) {
        destroy(&steered->base.queue);
        return error;
    }
    *ret_queue = &steered->base.queue;
    return 0;
}

/* ---- what runs ---- */

void hora__admission_queue_ended(hora_queue *queue, void *item, bool settles)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    struct hora__ticket *ticket = find_running(steered, item);
    assert(ticket != NULL);
    hora__admission_end(&steered->admission, ticket);
    dispose(steered, ticket, item);
    if (settles)
        hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

int hora__admission_queue_begin(hora_queue *queue, void *item, bool on_more)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__ticket *ticket;
    int error = provide_ticket(steered, item, &ticket);
    if (error < 0)
        return error;
    hora__mutex_lock(&queue->object.lock);
    hora_ns now = now_of(steered);
    come(steered, ticket, item);
    bool may = on_more ? hora__admission_may_begin(&steered->admission, ticket, now)
                       : hora__admission_best(&steered->admission, now) == ticket;
    may = may && !queue->closed;
    if (may)
        hora__admission_begin(&steered->admission, ticket, now);
    else
        hora__admission_remove(&steered->admission, ticket);
    if (!may)
        dispose(steered, ticket, item);
    hora__mutex_unlock(&queue->object.lock);
    return may ? 0 : HORA_EFULL;
}

hora_ns hora__admission_queue_help(hora_queue *queue, void *item, void **ret_item)
{
    struct admission_queue *steered = admission_queue_of(queue);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    struct hora__ticket *ticket = find_waiting(steered, item);
    hora_ns from =
        ticket == NULL ? HORA_FOREVER : hora__admission_help(&steered->admission, ticket, now_of(steered), &ticket);
    if (from == INT64_MIN) {
        *ret_item = ticket->item;
        queue->size--; /* I1 */
        hora__queue_settle(queue, NULL, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    return from;
}
