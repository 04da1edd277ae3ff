/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - which of the tasks that wait may begin now: keys, classes, rates, priorities
 *
 * What it is for    A pool whose tasks are steered asks the gate which is next, and tells it what comes, begins and ends.
 * Who may begin     A task whose key is free: tasks of one key other than 0 run one at a time, in the order in which they came,
 *                   whatever their classes and levels. And whose class has fewer than `limit` running, and began fewer
 *                   than `rate` in the last `per`. And for which a thread is left: some may be reserved for other classes.
 * Who is next       Of these the one with the earliest virtual time: since when it waits, less `ageing` for each level. So a
 *                   level is worth so much waiting, and nothing starves. Of those with the same time the one that came first.
 * Cost              O(log n) to come, to begin, to end, to leave from anywhere; for a choice, O(number of classes).
 * Pure              No thread, no clock, no lock, no allocation: the caller locks, knows the time, and provides the memory. */
#ifndef HORA_BASE_GATE_H
#define HORA_BASE_GATE_H

#include <hora/base.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/tree.h"

enum {
    HORA__LEVELS = 4,       /* priorities -1 to 2 are levels 0 to 3 */
    HORA__LEVEL_NORMAL = 1, /* priority 0 */
};

/* The caller sets name to starts, and may change limit and reserve at any time; for the rate see hora__gate_set_rate. */
struct hora__gate_class {
    const char *name;
    int limit;       /* so many may run at a time; 0: any number */
    int reserve;     /* so many threads are kept for it */
    int rate;        /* so many may begin within `per`; 0: any number */
    hora_ns per;     /* more than 0 if there is a rate */
    hora_ns *starts; /* memory for `rate` times */

    struct hora__list link; /* among the classes of the gate */
    struct hora__tree ready;
    int running;
    int waiting;     /* READY and LANE */
    int64_t started; /* that have begun */
    int start_count; /* starts that are remembered: the last, at most `rate` */
    int start_next;  /* where the next is written: if all are in use, over the oldest */
};

enum hora__ticket_state {
    HORA__TICKET_OUT,   /* in no gate */
    HORA__TICKET_LANE,  /* waits behind another of its key */
    HORA__TICKET_READY, /* waits for its class, a thread, its turn */
    HORA__TICKET_RUNS,
};

/* Part of a task that is steered. All is the gate's own; the caller may read it. */
struct hora__ticket {
    struct hora__tree_node place;   /* READY: among those of its class. LANE: among those behind the first of its key */
    struct hora__tree_node lane;    /* of the first of a key: among the firsts, by key. Of others in no tree */
    struct hora__tree behind;       /* of the first of a key: those behind it, in the order in which they came */
    struct hora__list link;         /* among all that wait */
    struct hora__gate_class *class; /* NULL: it is out, and has none of its own: it comes into the gate's plain one */
    uint64_t key;                   /* 0: none */
    hora_ns since;
    uint64_t sequence; /* given to it when it comes */
    int level;
    enum hora__ticket_state state;
    bool is_back; /* waits, and came by hora__gate_add_again */
};

struct hora__gate {
    struct hora__list classes;
    struct hora__gate_class plain; /* of those that have no other; the first, without limits */
    struct hora__tree lanes;       /* the first ticket of each key in use */
    struct hora__list all; /* that wait: those that came back, then all others in the order in which they came */
    hora_ns ageing;
    uint64_t next_sequence;
    int running;
    int waiting;
};

/* The gate is empty. ageing: what a level is worth; from 2^62 ns (146 years) on levels are strict. */
void hora__gate_init(struct hora__gate *gate, hora_ns ageing);

/* Nothing waits or runs. The classes may go before or after it. */
void hora__gate_destroy(struct hora__gate *gate);

/* Add a class, the last; its counts are emptied. Remove it when nothing of it waits or runs. */
void hora__gate_add_class(struct hora__gate *gate, struct hora__gate_class *class);
void hora__gate_remove_class(struct hora__gate *gate, struct hora__gate_class *class);

/* Another rate, with memory for so many times; returns the old memory. It starts anew: what began before is forgotten. */
hora_ns *hora__gate_set_rate(struct hora__gate_class *class, int rate, hora_ns per, hora_ns *starts);

/* A ticket that is out, for a task of this class (NULL: of none) and key (0: none). No lock is needed. */
void hora__ticket_init(struct hora__ticket *ticket, struct hora__gate_class *class, uint64_t key, int level);

/* OUT: it waits from now on. `again`: it was in the gate before, and has its old place, its since and its number. */
void hora__gate_add(struct hora__gate *gate, struct hora__ticket *ticket, hora_ns since);
void hora__gate_add_again(struct hora__gate *gate, struct hora__ticket *ticket);

/* LANE, READY: it is out. */
void hora__gate_remove(struct hora__gate *gate, struct hora__ticket *ticket);

/* The ticket that would begin now, with so many threads; NULL: none may. Changes nothing. */
struct hora__ticket *hora__gate_best(const struct hora__gate *gate, hora_ns now, int threads);

/* When hora__gate_best would find one if nothing else happens: not after now: at once; HORA_FOREVER: never. */
hora_ns hora__gate_next(const struct hora__gate *gate, hora_ns now, int threads);

/* READY: it runs, and is counted. That it may begin is not checked. */
void hora__gate_begin(struct hora__gate *gate, struct hora__ticket *ticket, hora_ns now);

/* RUNS: it is out; the next of its key is ready. */
void hora__gate_end(struct hora__gate *gate, struct hora__ticket *ticket);

/* RUNS, and has no key: the run goes on without a ticket, which is out. And: a run without a ticket, of no class, has ended. */
void hora__gate_detach(struct hora__ticket *ticket);
void hora__gate_end_detached(struct hora__gate *gate);

/* What runs goes on under another ticket, which is out: that has the class, key, level and place of the first from now on, and is not counted as a
 * start. The first is out. */
void hora__gate_pass(struct hora__gate *gate, struct hora__ticket *from, struct hora__ticket *to);

/* Another class (NULL: none) and level; since when it waits and its key stay. In any state but OUT. One that runs is counted in its
 * new class, even beyond its limit, but not as a start. */
void hora__gate_change(struct hora__gate *gate, struct hora__ticket *ticket, struct hora__gate_class *class, int level);

/* Why a ticket that waits does not begin: the first of these that holds. */
enum hora__why {
    HORA__WHY_NOTHING,  /* it may begin, and is next */
    HORA__WHY_KEY,      /* it is behind others of its key */
    HORA__WHY_LIMIT,    /* as many of its class run as may */
    HORA__WHY_RATE,     /* as many of its class began as may */
    HORA__WHY_BUSY,     /* no thread is left */
    HORA__WHY_RESERVED, /* the threads that are left are kept for other classes */
    HORA__WHY_TURN,     /* others are before it, and one of them may begin */
};

/* All of it is filled in, whatever the reason. */
struct hora__gate_reason {
    struct hora__ticket *first; /* of its key, if it is behind it; else NULL */
    int behind;                 /* how many of its key are before it, those that run included */
    bool key_runs;              /* one of them runs */
    int limit;                  /* of its class */
    int class_running;          /* how many of its class run */
    hora_ns until;              /* when the rate lets one of its class begin; now or before: at once */
    int running;                /* how many run at all */
    int reserved;               /* how many threads are kept for other classes */
    int before;                 /* how many that are READY have an earlier virtual time */
};

enum hora__why hora__gate_why(const struct hora__gate *gate, const struct hora__ticket *ticket, hora_ns now,
                              int threads, struct hora__gate_reason *ret_reason);

/* All that wait, in the order in which they came, but those that came back first; NULL: no more. So the first is also the one to take when all must go. */
struct hora__ticket *hora__gate_first(const struct hora__gate *gate);
struct hora__ticket *hora__gate_after(const struct hora__gate *gate, const struct hora__ticket *ticket);

/* Those that are READY, in the order of their virtual times. */
struct hora__ticket *hora__gate_first_ready(const struct hora__gate *gate);
struct hora__ticket *hora__gate_after_ready(const struct hora__gate *gate, const struct hora__ticket *ticket);

/* The first ticket (READY or RUNS) of each key in use; how many wait behind it; and those, in order. */
struct hora__ticket *hora__gate_first_lane(const struct hora__gate *gate);
struct hora__ticket *hora__gate_after_lane(const struct hora__ticket *first);
int hora__gate_lane_length(const struct hora__ticket *first);

/* The first ticket (READY or RUNS) of this key, which is not 0; NULL: it is not in use. */
struct hora__ticket *hora__gate_first_of_key(const struct hora__gate *gate, uint64_t key);

/* Those with an earlier virtual time are READY before it; in each state but OUT. */
hora_ns hora__gate_virtual_time(const struct hora__gate *gate, const struct hora__ticket *ticket);

/* Since when the one waits that waits longest; HORA_FOREVER: none waits. Exact if tickets come in the order of their since. */
hora_ns hora__gate_oldest(const struct hora__gate *gate);

/* For tests: whether the invariants hold. */
bool hora__gate_check(const struct hora__gate *gate);

#endif
