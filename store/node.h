/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - one node of a store: which firings it holds, and what it says to the store next
 *
 * The node neither waits nor calls the store nor starts threads: durable.c does, and tests/store/sim does
 * with a virtual clock and a seeded order of events. All functions require that the caller serializes them;
 * `now` and all ns are readings of the node's own clock (boot time), us are times of the store.
 *
 * A firing in hand (hora__held) goes through these states:
 *
 *   WAITING   claimed, its time has not come, or no thread has taken it up
 *   ASKING    its time has come; a START or FORK is on its way to the store
 *   RUNNING   its handler runs
 *   SETTLING  its outcome waits to be written, or was sent without a reply
 *
 * and is freed when the store has answered, or when the lease is lost and it has not been started. A firing
 * whose lease was lost while it was RUNNING is `lost`: another node may run it, and its handler is told.
 *
 * INVARIANTS
 *
 *   N1  A handler is started only before `deadline`, which is the node's time right before the renewal was
 *       sent, plus the TTL, less a margin. The store's lease ends later, whatever the clocks show.
 *   N2  The outcome of a run is sent until the store has answered it, as stale or as settled; a lost
 *       connection or an unknown outcome keeps it.
 *   N3  After HORA_EEXPIRED, or when the deadline has passed without a renewal and a new node has joined,
 *       nothing that was claimed under the old lease is started. Outcomes of runs that had started are still
 *       sent, with the id of the old node: the fence decides whether they count.
 *   N4  At most max_claimed firings are held, plus what one exchange may claim beyond it in lower lanes.
 *   N5  A firing is started at most once for each claim, and never before its due time by the store's clock
 *       as far as the node can tell: the estimate of the offset is never ahead of the store's clock.
 *   N6  A firing that the store shows as claimed by this node (`resume`), and that is not in hand, is handed
 *       back. Its claim may be new: then the reply was lost. But it may also have run: a failover can lose the
 *       commit of its outcome. Another claim gives it another fence. */
#ifndef HORA_STORE_NODE_H
#define HORA_STORE_NODE_H

#include "backend.h"
#include "definition.h"
#include "rules.h"

typedef enum hora__held_state {
    HORA__HELD_WAITING,
    HORA__HELD_ASKING,
    HORA__HELD_RUNNING,
    HORA__HELD_SETTLING,
} hora__held_state;

struct hora__series_entry;

/* A firing in hand. The shell (durable.c, the simulation) keeps its own data in memory of config.held_size
 * bytes, of which this struct is the beginning; the rest is zero at first. */
typedef struct hora__held {
    hora__held_state state;
    bool lost;         /* the lease ended while it was running */
    bool cancelled;    /* the store says that the task was cancelled */
    int asked;         /* kind of settlement that was accepted before the run: START, FORK or 0 */
    hora__claim claim; /* texts and payload belong to the held firing or to its series */
    const hora__definition *definition;
    const hora_trigger *trigger;        /* KIND_TRIGGER */
    hora__settle settle;                /* SETTLING and ASKING */
    hora_ns start_at;                   /* the node's time at which it is due */
    hora_ns started_at;                 /* RUNNING */
    struct hora__held *previous, *next; /* list of all held firings */
    struct hora__held *next_ready;      /* list of hora__node_take_ready, _take_stopped or _take_dropped */

    /* The rest concerns only the node. */
    int64_t owner; /* the node that claimed it */
    bool accepted; /* WAITING: START or FORK was accepted, so it only waits for a thread */
    bool dropped;  /* it will not be started; waits for hora__node_forget */
    bool parked;   /* it came to start while there was no lease; waits for the renewal */
    bool
        settled; /* in a transaction of its own, while an exchange was in progress, which may still show it */
    bool sent_before; /* its settlement was sent in an exchange whose effect is not known */
    bool is_stopping; /* in the list of hora__node_take_stopped */
    hora__definition *own_definition;
    struct hora__series_entry *series; /* a reference */
    void *note;
    struct hora__held *next_out, *next_in_bucket;
} hora__held;

typedef struct hora__node hora__node;

typedef struct hora__node_config {
    hora_ns ttl, horizon, flush;
    /* how often the node looks for tasks that it was not told of, and at least renews its lease; 0: 1 s */
    hora_ns look_every;
    int max_claimed;
    const char *const *handlers;
    int handler_count;
    /* finds a registered trigger; NULL if there is none */
    hora_trigger *(*find_trigger)(const char *name, void *arg);
    /* reads a series row: hora__backend_ops.read_series */
    int (*read_series)(int64_t series, hora__series *ret_series, void *arg);
    /* returns random bits */
    uint64_t (*random)(void *arg);
    /* the store has accepted that a firing is skipped without a run: its `settle` says why; NULL: not wanted */
    void (*skipped)(const hora__held *held, void *arg);
    void *arg;
    size_t held_size; /* at least sizeof(hora__held) */
} hora__node_config;

/* Numbers since the node was made, for hora_durable_status. */
typedef struct hora__node_counts {
    int64_t claimed, running, succeeded, failed, stale, skipped, exchanges;
} hora__node_counts;

int hora__node_new(const hora__node_config *config, hora__node **ret_node);
void hora__node_free(hora__node *node); /* nothing may be RUNNING */

/* The store gave a lease for a request that was sent at `sent`. What was held under an earlier lease must
 * have been dropped (hora__node_fenced). */
void hora__node_joined(hora__node *node, const hora__lease *lease, hora_ns sent);
bool hora__node_has_lease(const hora__node *node, hora_ns now);
const hora__lease *hora__node_lease(const hora__node *node); /* NULL: not joined */

/* When the node wants the next exchange: at once if outcomes have waited for `flush` or are many, or if a
 * FORK or START waits; when the lease needs renewal; when the earliest due of the store comes within the
 * horizon; not at all while an exchange is in progress. */
hora_ns hora__node_next_exchange(const hora__node *node, hora_ns now);

/* The store may have firings that are due at `due` (us), or at any time if it is INT64_MIN: a wake-up. */
void hora__node_woken(hora__node *node, int64_t due, hora_ns now);

/* config.find_trigger knows a trigger more: claims that were handed back for lack of it are looked for again,
 * at once. */
void hora__node_learned(hora__node *node, hora_ns now);

/* Fills the request. What it points to belongs to the node until _exchanged, _failed or _fenced. */
void hora__node_prepare(hora__node *node, hora_ns now, hora__exchange *exchange);

/* The reply: settles what was sent, holds what was claimed, renews the deadline, estimates the store's clock.
 * Claims whose definition cannot be read (unknown words or trigger, no memory) are released. Returns how many
 * outcomes were stale. *ret_step_us: the store's clock was set by this much, and the shell calls
 * hora__node_hand_back; 0: it was not. */
int hora__node_exchanged(hora__node *node, hora_ns sent, hora_ns received, const hora__exchange *exchange,
                         int64_t *ret_step_us);

/* The exchange failed and may or may not have had an effect (HORA_EIO, ...): all that was sent is sent
 * again. */
void hora__node_failed(hora__node *node, hora_ns now);

/* The lease has ended: drops all that is WAITING or ASKING, marks what is RUNNING as lost. */
void hora__node_fenced(hora__node *node);

/* Firings that _exchanged has claimed or whose START or FORK was accepted: the shell calls
 * hora__node_start at their start_at, which has passed for the latter. A linked list through next_ready. */
hora__held *hora__node_take_ready(hora__node *node);
/* Firings that are RUNNING and have become lost or cancelled: the shell interrupts them. */
hora__held *hora__node_take_stopped(hora__node *node);
/* Firings that were held, WAITING, and are dropped because of a lost lease or hora__node_hand_back: the shell
 * stops their timers and then calls hora__node_forget. Until then it may still call hora__node_start. */
hora__held *hora__node_take_dropped(hora__node *node);
void hora__node_forget(hora__node *node, hora__held *held);

typedef enum hora__start {
    HORA__START_RUN,  /* it is RUNNING: call the handler, then hora__node_ended */
    HORA__START_WAIT, /* it will come again from hora__node_take_ready, or be gone */
    HORA__START_GONE, /* it will not run here: do nothing. The memory may be gone */
} hora__start;

/* A thread is ready to run a firing whose time has come. */
hora__start hora__node_start(hora__node *node, hora__held *held, hora_ns now);

/* The run has ended; the note is copied. If `settled` is true, the outcome is already in the store
 * (HORA_EFFECT_ONCE). The memory of `held` belongs to the node afterwards. */
void hora__node_ended(hora__node *node, hora__held *held, const hora__run_end *end, bool settled,
                      hora_ns now);

/* What hora__node_ended would send, for HORA_EFFECT_ONCE, which settles in the handler's own transaction. */
void hora__node_outcome(hora__node *node, hora__held *held, const hora__run_end *end, hora_ns now,
                        hora__settle *ret_settle);

/* Releases what has not been started, except what the store has agreed to start. The shell calls it when the
 * store's clock was set: the times at which it would be started do not fit any more, and what is due far in
 * the future by the new clock is not this node's concern. */
void hora__node_hand_back(hora__node *node);

/* Claim nothing more, and release what has not been started, as hora__node_hand_back does. */
void hora__node_drain(hora__node *node);

/* True if nothing is held, so also nothing waits to be written. */
bool hora__node_is_empty(const hora__node *node);

/* True if, at the latest exchange, the store had no firing that was due and could be claimed here, and
 * nothing is held that is due: by the latest time that the store's clock can show. False while an exchange is
 * in progress. */
bool hora__node_is_idle(const hora__node *node, hora_ns now);

/* The store's clock at `now`, as far as the node can tell; INT64_MIN before the first exchange. */
int64_t hora__node_store_time(const hora__node *node, hora_ns now);

hora__node_counts hora__node_get_counts(const hora__node *node);

#endif
