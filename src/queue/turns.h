/* SPDX-License-Identifier: Apache-2.0 */
/* turns.h - the gate of a queue whose elements are steered: who of them may begin, and who has begun
 *
 * What it is for    base/gate.h decides on tickets; here is what its two users, a pool's own steered queue and the agenda of a
 *                   scheduler, have in common: what a ticket belongs to, how many threads there are, and what is begun out of turn.
 * Aside             A worker that waits for a task of its own pool may run that itself. The thread is there, and would else only wait; so
 *                   that one is not counted among those that run, neither in its class nor at all. Its rate and its key count.
 * Awaited           If it may not, since another one of its key runs, whoever waits for it wants to know when that is over.
 * Locks             All with the lock of the queue, but for hora__turns_are_awaited. */
#ifndef HORA_QUEUE_TURNS_H
#define HORA_QUEUE_TURNS_H

#include "base/gate.h"
#include "sys/atomic.h"

/* Part of whatever is steered. */
struct hora__turn {
    struct hora__ticket ticket;
    void *item;                /* whose it is; immutable while the ticket is not out */
    struct hora__list awaited; /* among those that are awaited */
    bool is_aside;             /* it runs out of turn */
    hora__atomic is_used;      /* a steered queue has it, or is about to: an element can be there several times */
};

struct hora__turns {
    struct hora__gate gate;
    struct hora__list awaited;           /* LANE, and a worker that waits for it would run it */
    hora__atomic awaited_count;          /* how many these are; read by anyone */
    int (*threads)(const void *context); /* how many the pool may use now */
    const void *context;
};

void hora__turns_init(struct hora__turns *turns, hora_ns ageing, int (*threads)(const void *context),
                      const void *context);
void hora__turns_destroy(struct hora__turns *turns);

/* A turn that is out; see hora__ticket_init. No lock is needed. */
void hora__turn_init(struct hora__turn *turn, struct hora__gate_class *gate_class, uint64_t key, int level);

/* The one that is to begin now; NULL: none may. And when there is one: see hora__gate_next, but INT64_MIN if that is now. */
struct hora__turn *hora__turns_best(const struct hora__turns *turns, hora_ns now);
hora_ns hora__turns_next(const struct hora__turns *turns, hora_ns now);

/* It waits for an item; leaves; begins; has ended. */
void hora__turns_add(struct hora__turns *turns, struct hora__turn *turn, void *item, hora_ns since);
void hora__turns_remove(struct hora__turns *turns, struct hora__turn *turn);
void hora__turns_begin(struct hora__turns *turns, struct hora__turn *turn, hora_ns now);
void hora__turns_end(struct hora__turns *turns, struct hora__turn *turn);

/* What runs goes on as another one, which is out. */
void hora__turns_pass(struct hora__turns *turns, struct hora__turn *from, struct hora__turn *to, void *item);

/* Whether one that waits could begin now if there were one thread more. */
bool hora__turns_may_begin(const struct hora__turns *turns, const struct hora__turn *turn, hora_ns now);

/* A worker waits for this one, and would run it: INT64_MIN if it has begun, aside, or the first of its key has, which must go before it. Else
 * when to try again; HORA_FOREVER: it will be told. */
hora_ns hora__turns_help(struct hora__turns *turns, struct hora__turn *turn, hora_ns now, struct hora__turn **ret_turn);

/* One that is awaited, and that nothing of its key holds back any more: it is not awaited from now on. NULL: there is none. */
struct hora__turn *hora__turns_next_awaited(struct hora__turns *turns);

static inline bool hora__turns_are_awaited(const struct hora__turns *turns)
{
    return hora__atomic_load(&turns->awaited_count) > 0;
}

static inline struct hora__turn *hora__turn_of(struct hora__ticket *ticket)
{
    return ticket == NULL ? NULL : HORA__LIST_ENTRY(ticket, struct hora__turn, ticket);
}

static inline bool hora__turn_waits(const struct hora__turn *turn)
{
    return turn->ticket.state == HORA__TICKET_LANE || turn->ticket.state == HORA__TICKET_READY;
}

static inline bool hora__turn_runs(const struct hora__turn *turn)
{
    return turn->ticket.state == HORA__TICKET_RUNS;
}

#endif
