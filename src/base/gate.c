/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - what comes, begins, ends and leaves
 *
 * How it works    Each class has a tree of the tickets that are READY, in the order of virtual time. A key that is in use is represented by its
 *                 first ticket, which is READY or RUNS; it stands in the tree of the keys, and has a tree of those behind it, which
 *                 are LANE and in no class's tree. When the first leaves, the next takes its place in the tree of the keys and what is behind
 *                 it, and becomes READY. So the keys need no memory of their own, and nothing has to grow.
 *                 The choice (gate_choice.c) looks at the first of each class only.
 *
 * Virtual time    since - (level - 1) * ageing. With since within [0, 2^62) and ageing up to 2^62 the four levels just fit into
 *                 64 bits: nothing saturates, and with the longest ageing each level lies wholly before the one below.
 *
 * Invariants      I1 of each key in use just one ticket, the first, is in the tree of the keys; it is READY or RUNS, and of all that wait with
 *                    this key it came first. All others that wait with the key are LANE, in its tree.
 *                 I2 a ticket is in its class's tree if and only if it is READY.
 *                 I3 LANE and READY are in the list of all that wait; OUT and RUNS are not.
 *                 I4 counts are those of the tickets.
 *                 I5 the starts of a class are in order of time. */
#include "base/gate.h"

#include <assert.h>

#include "base/ns.h"

static const hora_ns longest = INT64_C(1) << 62;

/* ---- gate and classes ---- */

void hora__gate_init(struct hora__gate *gate, hora_ns ageing)
{
    assert(ageing >= 0);
    *gate = (struct hora__gate){.ageing = ageing < longest ? ageing : longest};
    hora__list_init(&gate->classes);
    hora__list_init(&gate->all);
    hora__gate_add_class(gate, &gate->plain);
}

void hora__gate_destroy(struct hora__gate *gate)
{
    assert(gate->waiting == 0 && gate->running == 0);
    hora__list_remove(&gate->plain.link);
}

void hora__gate_add_class(struct hora__gate *gate, struct hora__gate_class *class)
{
    assert(class->rate == 0 || (class->starts != NULL && class->per > 0));
    class->ready = (struct hora__tree){NULL, NULL};
    class->running = 0;
    class->waiting = 0;
    class->started = 0;
    class->start_count = 0;
    class->start_next = 0;
    hora__list_add_last(&gate->classes, &class->link);
}

void hora__gate_remove_class(struct hora__gate *gate, struct hora__gate_class *class)
{
    assert(class->waiting == 0 && class->running == 0 && class != &gate->plain);
    (void)gate;
    hora__list_remove(&class->link);
}

hora_ns *hora__gate_set_rate(struct hora__gate_class *class, int rate, hora_ns per, hora_ns *starts)
{
    assert(rate == 0 || (starts != NULL && per > 0));
    hora_ns *old = class->starts;
    class->rate = rate;
    class->per = per;
    class->starts = starts;
    class->start_count = 0;
    class->start_next = 0;
    return old;
}

static void note_start(struct hora__gate_class *class, hora_ns now)
{
    class->started++;
    if (class->rate == 0)
        return;
    int last = (class->start_next > 0 ? class->start_next : class->rate) - 1;
    if (class->start_count > 0)
        now = hora__ns_max(now, class->starts[last]); /* I5: whoever read the clock before another may come after it */
    class->starts[class->start_next] = now;
    class->start_next = class->start_next + 1 < class->rate ? class->start_next + 1 : 0;
    class->start_count += class->start_count < class->rate;
}

/* ---- tickets ---- */

void hora__ticket_init(struct hora__ticket *ticket, struct hora__gate_class *class, uint64_t key, int level)
{
    assert(level >= 0 && level < HORA__LEVELS);
    *ticket = (struct hora__ticket){.class = class, .key = key, .level = level, .state = HORA__TICKET_OUT};
    hora__list_init(&ticket->link);
}

hora_ns hora__gate_virtual_time(const struct hora__gate *gate, const struct hora__ticket *ticket)
{
    hora_ns since = ticket->since < 0 ? 0 : ticket->since < longest ? ticket->since : longest - 1;
    return (HORA__LEVEL_NORMAL - ticket->level) * gate->ageing + since; /* -2 * 2^62 fits, 2 * 2^62 does not */
}

static void make_ready(const struct hora__gate *gate, struct hora__ticket *ticket)
{
    ticket->state = HORA__TICKET_READY;
    ticket->place.major = hora__gate_virtual_time(gate, ticket);
    ticket->place.minor = ticket->sequence;
    hora__tree_insert(&ticket->class->ready, &ticket->place);
}

/* ---- keys ---- */

struct hora__ticket *hora__gate_first_of_key(const struct hora__gate *gate, uint64_t key)
{
    struct hora__tree_node *node = hora__tree_search(&gate->lanes, (int64_t)key, 0);
    if (node == NULL || node->major != (int64_t)key)
        return NULL;
    return HORA__TREE_ENTRY(node, struct hora__ticket, lane);
}

static void wait_behind(struct hora__ticket *first, struct hora__ticket *ticket)
{
    ticket->state = HORA__TICKET_LANE;
    ticket->place.major = 0;
    ticket->place.minor = ticket->sequence;
    hora__tree_insert(&first->behind, &ticket->place);
}

/* One that is in no tree becomes the first of its key instead of another, which keeps nothing. */
static void take_lead(struct hora__gate *gate, struct hora__ticket *from, struct hora__ticket *to)
{
    hora__tree_replace(&gate->lanes, &from->lane, &to->lane);
    to->behind = from->behind;
    from->behind = (struct hora__tree){NULL, NULL};
}

/* It has a key: LANE behind another, or READY as the first. */
static void enter_lane(struct hora__gate *gate, struct hora__ticket *ticket)
{
    struct hora__ticket *first = hora__gate_first_of_key(gate, ticket->key);
    if (first == NULL) {
        ticket->lane.major = (int64_t)ticket->key;
        ticket->lane.minor = 0;
        hora__tree_insert(&gate->lanes, &ticket->lane);
        make_ready(gate, ticket);
    } else if (first->state == HORA__TICKET_READY && ticket->sequence < first->sequence) { /* it came back; I1 */
        hora__tree_remove(&first->class->ready, &first->place);
        take_lead(gate, first, ticket);
        wait_behind(ticket, first);
        make_ready(gate, ticket);
    } else {
        wait_behind(first, ticket);
    }
}

/* It was the first of its key, if it has one, and goes: the next is ready. */
static void leave_lane(struct hora__gate *gate, struct hora__ticket *ticket)
{
    if (ticket->key == 0)
        return;
    if (hora__tree_is_empty(&ticket->behind)) {
        hora__tree_remove(&gate->lanes, &ticket->lane);
        return;
    }
    struct hora__ticket *next = HORA__TREE_ENTRY(ticket->behind.first, struct hora__ticket, place);
    hora__tree_remove(&ticket->behind, &next->place);
    take_lead(gate, ticket, next);
    make_ready(gate, next);
}

/* ---- coming and going ---- */

static void count_waiting(struct hora__gate *gate, struct hora__ticket *ticket, int by)
{
    gate->waiting += by;
    ticket->class->waiting += by;
}

static void count_running(struct hora__gate *gate, struct hora__ticket *ticket, int by)
{
    gate->running += by;
    ticket->class->running += by;
}

static void enter(struct hora__gate *gate, struct hora__ticket *ticket)
{
    if (ticket->class == NULL)
        ticket->class = &gate->plain;
    count_waiting(gate, ticket, 1);
    if (ticket->key == 0)
        make_ready(gate, ticket);
    else
        enter_lane(gate, ticket);
}

void hora__gate_add(struct hora__gate *gate, struct hora__ticket *ticket, hora_ns since)
{
    assert(ticket->state == HORA__TICKET_OUT);
    ticket->since = since;
    ticket->sequence = gate->next_sequence++;
    ticket->is_back = false;
    hora__list_add_last(&gate->all, &ticket->link);
    enter(gate, ticket);
}

void hora__gate_add_again(struct hora__gate *gate, struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_OUT && ticket->sequence < gate->next_sequence);
    ticket->is_back = true;
    hora__list_add_last(gate->all.next, &ticket->link); /* before the first */
    enter(gate, ticket);
}

static void stop_waiting(struct hora__gate *gate, struct hora__ticket *ticket)
{
    hora__list_remove(&ticket->link);
    count_waiting(gate, ticket, -1);
}

/* It may outlive the gate, which the plain class is part of. */
static void go_out(const struct hora__gate *gate, struct hora__ticket *ticket)
{
    ticket->state = HORA__TICKET_OUT;
    if (ticket->class == &gate->plain)
        ticket->class = NULL;
}

void hora__gate_remove(struct hora__gate *gate, struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_LANE || ticket->state == HORA__TICKET_READY);
    stop_waiting(gate, ticket);
    if (ticket->state == HORA__TICKET_LANE) {
        hora__tree_remove(&hora__gate_first_of_key(gate, ticket->key)->behind, &ticket->place);
    } else {
        hora__tree_remove(&ticket->class->ready, &ticket->place);
        leave_lane(gate, ticket);
    }
    go_out(gate, ticket);
}

void hora__gate_begin(struct hora__gate *gate, struct hora__ticket *ticket, hora_ns now)
{
    assert(ticket->state == HORA__TICKET_READY);
    stop_waiting(gate, ticket);
    hora__tree_remove(&ticket->class->ready, &ticket->place);
    ticket->state = HORA__TICKET_RUNS;
    count_running(gate, ticket, 1);
    note_start(ticket->class, now);
}

void hora__gate_end(struct hora__gate *gate, struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_RUNS);
    count_running(gate, ticket, -1);
    leave_lane(gate, ticket);
    go_out(gate, ticket);
}

void hora__gate_detach(struct hora__ticket *ticket)
{
    assert(ticket->state == HORA__TICKET_RUNS && ticket->key == 0);
    ticket->state = HORA__TICKET_OUT;
}

void hora__gate_end_detached(struct hora__gate *gate)
{
    assert(gate->plain.running > 0);
    gate->running--;
    gate->plain.running--;
}

void hora__gate_pass(struct hora__gate *gate, struct hora__ticket *from, struct hora__ticket *to)
{
    assert(from->state == HORA__TICKET_RUNS && to->state == HORA__TICKET_OUT);
    to->class = from->class;
    to->key = from->key;
    to->level = from->level;
    to->since = from->since;
    to->sequence = from->sequence;
    if (from->key != 0)
        take_lead(gate, from, to);
    go_out(gate, from);
    to->state = HORA__TICKET_RUNS;
}

void hora__gate_change(struct hora__gate *gate, struct hora__ticket *ticket, struct hora__gate_class *class, int level)
{
    assert(ticket->state != HORA__TICKET_OUT && level >= 0 && level < HORA__LEVELS);
    void (*count)(struct hora__gate *, struct hora__ticket *, int) =
        ticket->state == HORA__TICKET_RUNS ? count_running : count_waiting;
    if (ticket->state == HORA__TICKET_READY)
        hora__tree_remove(&ticket->class->ready, &ticket->place);
    count(gate, ticket, -1);
    ticket->class = class == NULL ? &gate->plain : class;
    ticket->level = level;
    count(gate, ticket, 1);
    if (ticket->state == HORA__TICKET_READY)
        make_ready(gate, ticket);
}
