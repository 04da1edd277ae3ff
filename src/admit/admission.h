/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - admission control: which waiting task may begin now
 *
 * A pool or scheduler with admission gives each task a ticket. It asks admission which ticket is next, and
 * reports when tasks arrive, begin, end, and are removed without having run.
 *
 * A task may begin if    its key is free: tasks with the same key, other than 0, run one at a time, in the
 *                        order in which they arrived, whatever their classes and priority levels; its class
 *                        runs fewer than `limit` tasks, and began fewer than `rate` of them in the last
 *                        `per`; and a thread is left for it: some threads may be reserved for other classes.
 * The next task          is, of those that may begin, the one with the earliest virtual time: the time since
 *                        which it waits, minus `ageing` for each priority level. So a level is worth that
 *                        much waiting, and no task starves. Of tasks with the same virtual time, the one that
 *                        arrived first is next.
 * Cost                   O(log n) to add, begin, end or remove a ticket; O(classes) for a choice.
 * Memory and time        The caller provides all memory, and passes the time. These functions neither
 *                        allocate nor read a clock.
 * Locks                  The lock of the caller's queue guards everything, except where a function says
 *                        otherwise. */
#ifndef HORA_ADMIT_ADMISSION_H
#define HORA_ADMIT_ADMISSION_H

#include <hora/base.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/tree.h"
#include "sys/atomic.h"
#include "sys/mutex.h"

enum {
    HORA__LEVELS = 4,       /* priorities -1 to 2 are levels 0 to 3 */
    HORA__LEVEL_NORMAL = 1, /* priority 0 */
};

/* A class. The caller sets the fields `name` to `starts` before it adds the class. Under the lock it may
 * change limit and reserve at any time, and the rate with hora__admission_set_rate. Admission writes the
 * fields from `link` on. */
struct hora__admission_class {
    const char *name; /* NULL: the plain class */
    int limit;        /* how many tasks may run at a time; 0: any number */
    int reserve;      /* how many threads are reserved for the class */
    int rate;         /* how many tasks may begin within `per`; 0: any number */
    hora_ns per;      /* the interval of the rate; positive if there is one */
    hora_ns
        *starts; /* a ring of `rate` times, when the last tasks began; owned by the caller; NULL: no rate */

    struct hora__list link;  /* among the classes of the admission */
    struct hora__tree ready; /* its READY tickets, by virtual time */
    int running;             /* number of tasks that run, except uncounted ones */
    int waiting;             /* number of tickets that are READY or BEHIND */
    int64_t started;         /* how many tasks have begun */
    int start_count;         /* how many entries of `starts` are in use, at most `rate` */
    int start_next;          /* the entry of `starts` to write next; once all are in use, the oldest */
};

enum hora__ticket_state {
    HORA__TICKET_OUT,    /* neither waits nor runs */
    HORA__TICKET_BEHIND, /* waits behind another ticket with its key */
    HORA__TICKET_READY,  /* waits for its class, for a thread, or for tickets with an earlier virtual time */
    HORA__TICKET_RUNS,
};

/* The ticket of a task. Callers may read the fields under the lock; only admission writes them, except
 * is_in_use, which belongs to the admission queue. */
struct hora__ticket {
    struct hora__tree_node place;  /* READY: in its class's tree; BEHIND: in that of the first of its key */
    struct hora__tree_node by_key; /* of the first of a key: in the tree of keys in use */
    struct hora__tree behind;      /* of the first of a key: the tickets BEHIND it, by arrival */
    struct hora__list link;        /* READY and BEHIND: in the list of all waiting tickets */
    struct hora__list awaited;     /* in the list of awaited tickets; empty: it is not awaited */
    struct hora__admission_class *class; /* NULL: none; only while it is OUT, then it is the plain class */
    uint64_t key;                        /* 0: none */
    hora_ns since;                       /* when it began to wait, by the clock of the pool */
    uint64_t sequence;                   /* its number in the order of arrival */
    void *item;                          /* the task it belongs to; constant while it is not OUT */
    int level;                           /* its priority level */
    enum hora__ticket_state state;
    bool is_uncounted;      /* it runs on the thread of a task that waits for it; see hora__admission_help */
    hora__atomic is_in_use; /* an entry of the task uses it; a task that is queued twice needs another one */
};

struct hora__admission {
    struct hora__list classes;          /* struct hora__admission_class, in order of creation */
    struct hora__admission_class plain; /* the first class, without limits: for tasks without a class */
    struct hora__tree keys;             /* the first ticket of each key in use */
    struct hora__list waiting_tickets;  /* READY and BEHIND, in order of arrival */
    /* Tickets for whose tasks workers wait, and that were BEHIND a running one; see I6 in admission.c. */
    struct hora__list awaited;
    hora__atomic awaited_count;          /* length of `awaited`; written under the lock, read by any thread */
    hora_ns ageing;                      /* the waiting time that a priority level is worth; immutable */
    uint64_t next_sequence;              /* of the next ticket that arrives */
    int running;                         /* number of tasks that run, except uncounted ones */
    int waiting;                         /* number of tickets that are READY or BEHIND */
    int (*threads)(const void *context); /* returns how many threads the pool may use now; immutable */
    const void *context;                 /* argument of `threads`; immutable */
    const hora__mutex *lock; /* the lock that guards all of this, for assertions; NULL: unknown. Immutable */
};

/* Initialises an empty admission. `ageing` is the waiting time that a level is worth; from 2^62 ns (146
 * years) on, levels are strict. `threads` returns how many threads the pool may use; it is called with the
 * lock held. `lock` is the lock of the caller's queue, or NULL. */
void hora__admission_init(struct hora__admission *admission, hora_ns ageing,
                          int (*threads)(const void *context), const void *context, const hora__mutex *lock);

/* Asserts that no ticket waits or runs. There is nothing to free, and the classes may be freed already. */
void hora__admission_destroy(const struct hora__admission *admission);

/* Adds a class after all others, and sets its counts to 0. */
void hora__admission_add_class(struct hora__admission *admission, struct hora__admission_class *class);

/* Sets another rate, with memory for that many times, and returns the old memory to the caller. Earlier
 * starts no longer count. */
hora_ns *hora__admission_set_rate(struct hora__admission_class *class, int rate, hora_ns per,
                                  hora_ns *starts);

/* ---- tickets ---- */

/* Initialises a ticket, which is OUT, for a task with this class (NULL: none), key (0: none) and priority
 * level. Needs no lock. */
void hora__ticket_init(struct hora__ticket *ticket, struct hora__admission_class *class, uint64_t key,
                       int level);

static inline bool hora__ticket_waits(const struct hora__ticket *ticket)
{
    return ticket->state == HORA__TICKET_BEHIND || ticket->state == HORA__TICKET_READY;
}

static inline bool hora__ticket_runs(const struct hora__ticket *ticket)
{
    return ticket->state == HORA__TICKET_RUNS;
}

/* Adds a ticket that is OUT, for this item: it waits from now on. `since` is when the task began to wait,
 * which may be earlier. */
void hora__admission_add(struct hora__admission *admission, struct hora__ticket *ticket, void *item,
                         hora_ns since);

/* Removes a ticket that is BEHIND or READY, without a run: it is OUT. */
void hora__admission_remove(struct hora__admission *admission, struct hora__ticket *ticket);

/* Begins the run of a ticket that is READY, and counts it. The caller has checked that it may begin. */
void hora__admission_begin(struct hora__admission *admission, struct hora__ticket *ticket, hora_ns now);

/* Ends the run of a ticket that RUNS: it is OUT, and the next ticket with its key is READY. */
void hora__admission_end(struct hora__admission *admission, struct hora__ticket *ticket);

/* Begins the run of a task whose ticket is READY and has neither key nor class. The run is counted, but the
 * ticket is OUT at once, so that the next task can use it. hora__admission_end_anonymous reports the end of
 * such a run. */
void hora__admission_begin_anonymous(struct hora__admission *admission, struct hora__ticket *ticket,
                                     hora_ns now);
void hora__admission_end_anonymous(struct hora__admission *admission);

/* Continues a run under another ticket: `from` RUNS and is OUT afterwards; `to` was OUT, belongs to `item`,
 * and RUNS afterwards, with the class, key, level and arrival of `from`. This is not counted as a start. */
void hora__admission_pass(struct hora__admission *admission, struct hora__ticket *from,
                          struct hora__ticket *to, void *item);

/* A change of a ticket: another class, or another priority level. */
struct hora__ticket_change {
    bool sets_class;                     /* true: change the class; false: change the level */
    struct hora__admission_class *class; /* the new class; NULL: none */
    int level;                           /* the new level */
};

/* Changes a ticket in any state. Its key and its time of arrival stay. A running ticket counts in its new
 * class from now on, even beyond the limit, but not as a start. */
void hora__admission_change(struct hora__admission *admission, struct hora__ticket *ticket,
                            const struct hora__ticket_change *wanted);

/* ---- which is next ---- */

/* Returns the ticket that must begin next; NULL: none may begin now. Changes nothing. */
struct hora__ticket *hora__admission_best(const struct hora__admission *admission, hora_ns now);

/* Returns when hora__admission_best will find a ticket if nothing else happens. INT64_MIN: now; HORA_FOREVER:
 * never. */
hora_ns hora__admission_next(const struct hora__admission *admission, hora_ns now);

/* Returns whether a waiting ticket could begin now if the pool had one more thread, even if others are before
 * it. */
bool hora__admission_may_begin(const struct hora__admission *admission, const struct hora__ticket *ticket,
                               hora_ns now);

/* Why a waiting ticket does not begin: the first of these reasons that applies. */
enum hora__why {
    HORA__WHY_NOTHING,  /* it may begin, and is next */
    HORA__WHY_KEY,      /* it is behind others with its key */
    HORA__WHY_LIMIT,    /* its class runs as many tasks as it may */
    HORA__WHY_RATE,     /* its class has begun as many tasks as its rate allows */
    HORA__WHY_BUSY,     /* no thread is left */
    HORA__WHY_RESERVED, /* the threads that are left are reserved for other classes */
    HORA__WHY_ORDER,    /* another ticket with an earlier virtual time may begin */
};

/* The facts behind the reason. All fields are set, whatever the reason is. */
struct hora__why_facts {
    struct hora__ticket *first; /* the first ticket of its key, if it is BEHIND that; else NULL */
    int behind;                 /* how many tickets with its key are before it, including a running one */
    bool key_runs;              /* one of these runs */
    int limit;                  /* the limit of its class */
    int class_running;          /* how many tasks of its class run */
    hora_ns until;              /* when its rate lets a task of its class begin; not after now: at once */
    int running;                /* how many tasks run in all classes */
    int reserved;               /* how many threads are reserved for other classes */
    int before;                 /* how many READY tickets have an earlier virtual time */
};

/* Returns why a waiting ticket does not begin, and fills in the facts. Changes nothing. */
enum hora__why hora__admission_why(const struct hora__admission *admission, const struct hora__ticket *ticket,
                                   hora_ns now, struct hora__why_facts *ret_facts);

/* ---- workers that wait for a task of their own pool ---- */

/* Lets a worker that waits for the task of a waiting ticket run that task itself. Returns INT64_MIN if a run
 * has begun: that of *ret_ticket, which is this ticket, or the first one of its key, which must run before
 * it. The run is uncounted, because the thread is already counted for the task that waits; but it holds its
 * key and counts for its rate. Else returns the time to try again; HORA_FOREVER: a task with the same key
 * runs, and the ticket is awaited now, so that hora__admission_next_awaited returns it when the key is
 * free. */
hora_ns hora__admission_help(struct hora__admission *admission, struct hora__ticket *ticket, hora_ns now,
                             struct hora__ticket **ret_ticket);

/* Returns an awaited ticket whose key no running task holds any more, and takes it off the list; NULL: none.
 * The caller wakes the worker that waits for it. */
struct hora__ticket *hora__admission_next_awaited(struct hora__admission *admission);

/* Returns whether any ticket is awaited. Needs no lock. */
static inline bool hora__admission_has_awaited(const struct hora__admission *admission)
{
    return hora__atomic_load(&admission->awaited_count) > 0;
}

/* ---- inspecting ---- */

/* Walk through all waiting tickets, in order of arrival; NULL: no more. */
struct hora__ticket *hora__admission_first(const struct hora__admission *admission);
struct hora__ticket *hora__admission_after(const struct hora__admission *admission,
                                           const struct hora__ticket *ticket);

/* Walk through the READY tickets, in the order of their virtual times; NULL: no more. */
struct hora__ticket *hora__admission_first_ready(const struct hora__admission *admission);
struct hora__ticket *hora__admission_after_ready(const struct hora__admission *admission,
                                                 const struct hora__ticket *ticket);

/* Walk through the keys in use: return the first ticket, READY or RUNS, of each; NULL: no more. */
struct hora__ticket *hora__admission_first_key(const struct hora__admission *admission);
struct hora__ticket *hora__admission_after_key(const struct hora__ticket *first);

/* Returns the first ticket, READY or RUNS, of this key, which is not 0; NULL: the key is not in use. */
struct hora__ticket *hora__admission_first_of_key(const struct hora__admission *admission, uint64_t key);

/* Returns whether all invariants hold; for assertions in tests. */
bool hora__admission_check(const struct hora__admission *admission);

#endif
