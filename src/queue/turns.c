/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h
 *
 * Invariants    I1 what is awaited waits; it is LANE, or was when that was noted.
 *               I2 what runs aside is counted neither in its class nor in the gate. */
#include "queue/turns.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"

void hora__turns_init(struct hora__turns *turns, hora_ns ageing, int (*threads)(const void *context),
                      const void *context)
{
    hora__gate_init(&turns->gate, ageing);
    hora__list_init(&turns->awaited);
    hora__atomic_init(&turns->awaited_count, 0);
    turns->threads = threads;
    turns->context = context;
}

void hora__turns_destroy(struct hora__turns *turns)
{
    bool is_empty = hora__list_is_empty(&turns->awaited) && turns->gate.waiting == 0 && turns->gate.running == 0;
    assert(is_empty); /* there is nothing to give back; and the classes may have gone before */
    (void)is_empty;
}

void hora__turn_init(struct hora__turn *turn, struct hora__gate_class *gate_class, uint64_t key, int level)
{
    hora__ticket_init(&turn->ticket, gate_class, key, level);
    turn->item = NULL;
    turn->is_aside = false;
    hora__list_init(&turn->awaited);
    hora__atomic_init(&turn->is_used, 0);
}

static int threads_of(const struct hora__turns *turns)
{
    return turns->threads(turns->context) + (HORA__FAULT(GATE_COUNTS_A_THREAD_MORE) ? 1 : 0);
}

struct hora__turn *hora__turns_best(const struct hora__turns *turns, hora_ns now)
{
    return hora__turn_of(hora__gate_best(&turns->gate, now, threads_of(turns)));
}

hora_ns hora__turns_next(const struct hora__turns *turns, hora_ns now)
{
    hora_ns next = hora__gate_next(&turns->gate, now, threads_of(turns));
    if (HORA__FAULT(GATE_FORGETS_RATE) && next > now)
        return HORA_FOREVER;
    return next <= now ? INT64_MIN : next;
}

static void forget_awaited(struct hora__turns *turns, struct hora__turn *turn)
{
    if (hora__list_is_empty(&turn->awaited))
        return;
    hora__list_remove(&turn->awaited);
    (void)hora__atomic_add(&turns->awaited_count, -1);
}

void hora__turns_add(struct hora__turns *turns, struct hora__turn *turn, void *item, hora_ns since)
{
    turn->item = item;
    if (HORA__FAULT(GATE_KEY_UNSEEN))
        turn->ticket.key = 0;
    hora__gate_add(&turns->gate, &turn->ticket, since);
}

void hora__turns_remove(struct hora__turns *turns, struct hora__turn *turn)
{
    forget_awaited(turns, turn); /* I1 */
    hora__gate_remove(&turns->gate, &turn->ticket);
}

void hora__turns_begin(struct hora__turns *turns, struct hora__turn *turn, hora_ns now)
{
    assert(!turn->is_aside);
    forget_awaited(turns, turn); /* I1 */
    hora__gate_begin(&turns->gate, &turn->ticket, now);
}

/* I2 */
static void count_aside(struct hora__turns *turns, struct hora__turn *turn, int by)
{
    turns->gate.running -= by;
    turn->ticket.class->running -= by;
    turn->is_aside = by > 0;
}

void hora__turns_end(struct hora__turns *turns, struct hora__turn *turn)
{
    if (turn->is_aside)
        count_aside(turns, turn, -1);
    if (HORA__FAULT(GATE_COUNTS_ON)) {
        turns->gate.running++;
        turn->ticket.class->running++;
    }
    hora__gate_end(&turns->gate, &turn->ticket);
}

void hora__turns_pass(struct hora__turns *turns, struct hora__turn *from, struct hora__turn *to, void *item)
{
    assert(!from->is_aside);
    to->item = item;
    hora__gate_pass(&turns->gate, &from->ticket, &to->ticket);
}

bool hora__turns_may_begin(const struct hora__turns *turns, const struct hora__turn *turn, hora_ns now)
{
    struct hora__gate_reason reason;
    enum hora__why why = hora__gate_why(&turns->gate, &turn->ticket, now, threads_of(turns) + 1, &reason);
    return why == HORA__WHY_NOTHING || why == HORA__WHY_TURN;
}

static void await(struct hora__turns *turns, struct hora__turn *turn)
{
    if (!hora__list_is_empty(&turn->awaited) || HORA__FAULT(GATE_FORGETS_AWAITED))
        return;
    hora__list_add_last(&turns->awaited, &turn->awaited);
    (void)hora__atomic_add(&turns->awaited_count, 1);
}

hora_ns hora__turns_help(struct hora__turns *turns, struct hora__turn *turn, hora_ns now, struct hora__turn **ret_turn)
{
    struct hora__gate_reason reason;
    struct hora__turn *first = turn;
    if (turn->ticket.state == HORA__TICKET_LANE)
        first = hora__turn_of(hora__gate_first_of_key(&turns->gate, turn->ticket.key));
    if (hora__turn_runs(first)) {
        await(turns, turn);
        return HORA_FOREVER;
    }
    (void)hora__gate_why(&turns->gate, &first->ticket, now, threads_of(turns), &reason);
    if (reason.until > now)
        return reason.until;
    hora__turns_begin(turns, first, now);
    count_aside(turns, first, 1);
    *ret_turn = first;
    return INT64_MIN;
}

struct hora__turn *hora__turns_next_awaited(struct hora__turns *turns)
{
    for (struct hora__list *link = turns->awaited.next; link != &turns->awaited; link = link->next) {
        struct hora__turn *turn = HORA__LIST_ENTRY(link, struct hora__turn, awaited);
        const struct hora__ticket *first = hora__gate_first_of_key(&turns->gate, turn->ticket.key);
        if (first->state != HORA__TICKET_READY) /* it runs: go on waiting */
            continue;
        forget_awaited(turns, turn);
        return turn;
    }
    return NULL;
}
