/* SPDX-License-Identifier: Apache-2.0 */
/* steered.c - a kind of queue whose elements leave when a gate lets them
 *
 * How it works      The container is the gate: see base/gate.h. An element brings its turn along, so there is nothing to allocate, and nothing to
 *                   search for when it is removed. One that brings none, or is put a second time, is a guest: its turn is made for it, and its few
 *                   like are searched for by walking through their list.
 * Taking            Workers take by `take`: the element has begun, and counts until hora__steered_ended. Whoever polls the queue from
 *                   outside takes by `pop`: that element has left, and nothing has begun.
 * Order             Looked at, those that are ready come first, as they would begin, and then those behind others of their key.
 * Invariants        I1 base.size is the number of turns that wait.
 *                   I2 what waits or runs has the turn that its element brings along, or that of a guest; `is_used` is set for the first.
 *                   I3 guests are on the list of guests as long as they wait or run. */
#include "exec/steered.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sys/alloc.h"

struct guest {
    struct hora__turn turn;
    struct hora__list link;
};

struct steered_queue {
    struct hora__work_source base;
    struct hora__steered_use use;
    struct hora__turns turns;
    struct hora__list guests;
};

static struct steered_queue *steered_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct steered_queue, base.queue);
}

struct hora__turns *hora__steered_turns(hora_queue *queue)
{
    return &steered_of(queue)->turns;
}

static hora_ns now_of(const struct steered_queue *steered)
{
    return hora_clock_now(steered->base.queue.object.clock);
}

static struct hora__turn *own_turn(const struct steered_queue *steered, const void *item)
{
    return steered->use.turn_of(steered->use.context, item);
}

/* ---- turns ---- */

/* I2. HORA_ENOMEM. */
static int provide_turn(struct steered_queue *steered, void *item, struct hora__turn **ret_turn)
{
    struct hora__turn *own = own_turn(steered, item);
    if (own != NULL && hora__atomic_exchange(&own->is_used, 1) == 0) {
        *ret_turn = own;
        return 0;
    }
    struct guest *guest = hora__alloc(1, sizeof *guest);
    if (guest == NULL)
        return HORA_ENOMEM;
    hora__turn_init(&guest->turn, NULL, 0, HORA__LEVEL_NORMAL);
    hora__list_init(&guest->link);
    *ret_turn = &guest->turn;
    return 0;
}

/* It neither waits nor runs. */
static void dispose(const struct steered_queue *steered, struct hora__turn *turn, void *item)
{
    if (turn == own_turn(steered, item)) {
        hora__atomic_store(&turn->is_used, 0);
        return;
    }
    struct guest *guest = HORA__LIST_ENTRY(turn, struct guest, turn);
    hora__list_remove(&guest->link); /* I3 */
    hora__free(guest);
}

/* With the lock: it waits from now on. A second entry has the terms of the first. */
static void come(struct steered_queue *steered, struct hora__turn *turn, void *item)
{
    struct hora__turn *own = own_turn(steered, item);
    if (turn != own) {
        hora__list_add_last(&steered->guests, &HORA__LIST_ENTRY(turn, struct guest, turn)->link); /* I3 */
        if (own != NULL) {
            turn->ticket.class = own->ticket.class;
            turn->ticket.key = own->ticket.key;
            turn->ticket.level = own->ticket.level;
        }
    }
    hora__turns_add(&steered->turns, turn, item, now_of(steered));
}

static void *leave(struct steered_queue *steered, struct hora__turn *turn)
{
    void *item = turn->item;
    hora__turns_remove(&steered->turns, turn);
    steered->base.queue.size--; /* I1 */
    dispose(steered, turn, item);
    return item;
}

/* The guest of an element that waits, or runs; NULL: there is none. */
static struct hora__turn *find_guest(const struct steered_queue *steered, const void *item, bool runs)
{
    for (struct hora__list *link = steered->guests.next; link != &steered->guests; link = link->next) {
        struct hora__turn *turn = &HORA__LIST_ENTRY(link, struct guest, link)->turn;
        if (turn->item == item && hora__turn_runs(turn) == runs)
            return turn;
    }
    return NULL;
}

static struct hora__turn *find_waiting(const struct steered_queue *steered, const void *item)
{
    struct hora__turn *own = own_turn(steered, item);
    return own != NULL && hora__turn_waits(own) ? own : find_guest(steered, item, false);
}

/* If an element runs twice, only the first of these is more than a look at it: so it does not matter which one ends. */
static struct hora__turn *find_running(const struct steered_queue *steered, const void *item)
{
    struct hora__turn *guest = find_guest(steered, item, true);
    struct hora__turn *own = own_turn(steered, item);
    return guest != NULL ? guest : own != NULL && hora__turn_runs(own) ? own : NULL;
}

struct hora__turn *hora__steered_find(hora_queue *queue, const void *item)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__turn *turn = find_waiting(steered, item);
    return turn != NULL ? turn : find_running(steered, item);
}

/* ---- the kind ---- */

static int prepare(hora_queue *queue, struct hora__put *put)
{
    struct hora__turn *turn;
    int error = provide_turn(steered_of(queue), put->item, &turn);
    if (error == 0)
        put->memory = turn;
    return error;
}

static void discard(hora_queue *queue, struct hora__put *put)
{
    dispose(steered_of(queue), put->memory, put->item);
    put->memory = NULL;
}

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    (void)wakes;
    if (queue->size == queue->capacity)
        return HORA_EFULL;
    come(steered_of(queue), put->memory, put->item);
    put->memory = NULL;
    queue->size++; /* I1 */
    return 0;
}

static void *take(hora_queue *queue, struct hora__cell *ret_cell, struct hora__wakes *wakes)
{
    (void)wakes;
    (void)ret_cell;
    struct steered_queue *steered = steered_of(queue);
    hora_ns now = now_of(steered);
    struct hora__turn *best = queue->size > 0 ? hora__turns_best(&steered->turns, now) : NULL;
    if (best == NULL)
        return NULL;
    hora__turns_begin(&steered->turns, best, now);
    queue->size--; /* I1 */
    return best->item;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    (void)wakes;
    struct steered_queue *steered = steered_of(queue);
    struct hora__turn *best = queue->size > 0 ? hora__turns_best(&steered->turns, now_of(steered)) : NULL;
    return best != NULL ? leave(steered, best) : NULL;
}

static void *peek(hora_queue *queue)
{
    const struct hora__gate *gate = &steered_of(queue)->turns.gate;
    struct hora__ticket *first = hora__gate_first_ready(gate);
    if (first == NULL)
        first = hora__gate_first(gate);
    return first != NULL ? hora__turn_of(first)->item : NULL;
}

/* The oldest. */
static void *strip(hora_queue *queue)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__ticket *first = hora__gate_first(&steered->turns.gate);
    return first != NULL ? leave(steered, hora__turn_of(first)) : NULL;
}

static void *take_first(hora_queue *queue, struct hora__cell *ret_cell)
{
    (void)ret_cell;
    return strip(queue);
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__turn *turn = find_waiting(steered, item);
    if (turn != NULL && remove)
        (void)leave(steered, turn);
    return turn != NULL;
}

static void copy(hora_queue *queue, void **items, int max)
{
    const struct hora__gate *gate = &steered_of(queue)->turns.gate;
    int count = 0;
    for (struct hora__ticket *at = hora__gate_first_ready(gate); at != NULL && count < max;
         at = hora__gate_after_ready(gate, at))
        items[count++] = hora__turn_of(at)->item;
    for (struct hora__ticket *at = hora__gate_first(gate); at != NULL && count < max; at = hora__gate_after(gate, at))
        if (at->state == HORA__TICKET_LANE)
            items[count++] = hora__turn_of(at)->item;
}

/* Elements that can be taken at another time are told apart by that. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    struct steered_queue *steered = steered_of(queue);
    hora_ns due = hora__turns_next(&steered->turns, now_of(steered));
    *ret_element = (uint64_t)due;
    return due;
}

static void destroy(hora_queue *queue)
{
    struct steered_queue *steered = steered_of(queue);
    assert(hora__list_is_empty(&steered->guests));
    hora__turns_destroy(&steered->turns);
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

static const struct hora__work_kind steered_kind = {
    .behaviour = {.settle = hora__work_settle, .take = hora__work_take, .close = hora__work_close},
    .offer = hora__work_put,
    .take = take,
    .take_first = take_first,
    .visit = hora__work_visit_few,
};

int hora__steered_new(int capacity, const hora_queue_options *options, hora_ns ageing,
                      const struct hora__steered_use *use, hora_queue **ret_queue)
{
    struct steered_queue *steered = hora__alloc(1, sizeof *steered);
    if (steered == NULL)
        return HORA_ENOMEM;
    steered->use = *use;
    hora__list_init(&steered->guests);
    hora__turns_init(&steered->turns, ageing, use->threads, use->context);
    int error = hora__work_source_init(&steered->base, &container, &steered_kind, capacity, options);
    if (error < 0) {
        destroy(&steered->base.queue);
        return error;
    }
    *ret_queue = &steered->base.queue;
    return 0;
}

/* ---- what runs ---- */

void hora__steered_ended(hora_queue *queue, void *item, bool settles)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    struct hora__turn *turn = find_running(steered, item);
    assert(turn != NULL);
    hora__turns_end(&steered->turns, turn);
    dispose(steered, turn, item);
    if (settles)
        hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
}

int hora__steered_begin(hora_queue *queue, void *item, bool on_more)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__turn *turn;
    int error = provide_turn(steered, item, &turn);
    if (error < 0)
        return error;
    hora__mutex_lock(&queue->object.lock);
    hora_ns now = now_of(steered);
    come(steered, turn, item);
    bool may =
        on_more ? hora__turns_may_begin(&steered->turns, turn, now) : hora__turns_best(&steered->turns, now) == turn;
    may = may && !queue->closed;
    if (may)
        hora__turns_begin(&steered->turns, turn, now);
    else
        hora__turns_remove(&steered->turns, turn);
    if (!may)
        dispose(steered, turn, item);
    hora__mutex_unlock(&queue->object.lock);
    return may ? 0 : HORA_EFULL;
}

hora_ns hora__steered_help(hora_queue *queue, void *item, void **ret_item)
{
    struct steered_queue *steered = steered_of(queue);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    struct hora__turn *turn = find_waiting(steered, item);
    hora_ns from = turn == NULL ? HORA_FOREVER : hora__turns_help(&steered->turns, turn, now_of(steered), &turn);
    if (from == INT64_MIN) {
        *ret_item = turn->item;
        queue->size--; /* I1 */
        hora__queue_settle(queue, NULL, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    return from;
}
