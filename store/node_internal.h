/* SPDX-License-Identifier: Apache-2.0 */
/* node_internal.h - the parts of a node: node.c, node_exchange.c and held.c */
#ifndef HORA_STORE_NODE_INTERNAL_H
#define HORA_STORE_NODE_INTERNAL_H

#include "clock_estimate.h"
#include "node.h"
#include "series_cache.h"

enum {
    HORA__NODE_BATCH = 512,          /* settlements in one exchange */
    HORA__NODE_SERIES_LIMIT = 10000, /* series in the cache that are not in use */
    HORA__HELD_STATES = 4,
};

/* A list through next_ready. */
typedef struct hora__held_list {
    hora__held *first, *last;
} hora__held_list;

/* A claim that could not be held and is handed back. */
typedef struct hora__handed_back {
    int64_t id, fence, owner;
    int lane;
} hora__handed_back;

struct hora__node {
    hora__node_config config;
    hora__definition defaults; /* of one-shot tasks without a text */
    hora__series_cache *series;
    bool draining;
    hora__node_counts counts; /* except claimed and running, which are computed */

    /* the lease */
    bool joined;
    hora__lease lease;
    hora_ns deadline;   /* no handler is started at or after it */
    hora_ns renewed_at; /* when the latest successful renewal was sent */
    hora__clock_estimate clock;

    /* firings in hand */
    hora__held *first;
    hora__held **buckets; /* by id */
    size_t bucket_count, held_count;
    int64_t in_state[HORA__HELD_STATES];
    hora__held_list ready, stopped, dropped;
    int parked;
    size_t settled_count; /* held firings that are settled, and kept until the exchange in progress ends */

    /* settlements that wait to be sent, in order; a list through next_out */
    hora__held *out_first, *out_last;
    size_t out_count, asking; /* `asking` of them are START or FORK */
    hora_ns out_since;        /* the oldest one waits since then */
    size_t back_count;

    /* the exchange in progress: first the claims that are handed back, then settlements */
    bool busy;
    size_t sent_count, sent_back;

    /* what to look for */
    int64_t low[HORA__LANES];      /* all that is due before it was claimed */
    int64_t next_due[HORA__LANES]; /* as the latest exchange said */
    int64_t woken_due;             /* a wake-up since the latest request was prepared; HORA__NEVER: none */
    hora_ns full_at;               /* when to look at everything again */
    hora_ns look_at;               /* when to look again although nothing that can run here is known */
    bool learned;                  /* look at everything when what waits to be handed back is: see
                                      hora__node_learned and N6 */
    bool resume;                   /* ask for claims whose reply was lost */
    hora_ns resume_until;          /* ... and until then with each renewal */
    int failures;                  /* exchanges in a row */
    hora_ns retry_at;

    /* Arrays whose first elements are used; they are not initialized. */
    hora__handed_back back[HORA__NODE_BATCH];
    hora__held *sent[HORA__NODE_BATCH]; /* NULL for those handed back */
    hora__settle settles[HORA__NODE_BATCH];
    hora__settled settled[HORA__NODE_BATCH];
};

/* ---- held.c ---- */

/* Holds a claim, and puts it into the list of ready ones. If that is not possible it is handed back. */
void hora__held_new(hora__node *node, const hora__claim *claim, hora_ns now);
/* A firing that the node has claimed already: hands it back, unless it is in hand. Returns whether it does;
 * see N6. */
bool hora__held_resume(hora__node *node, const hora__claim *claim);
void hora__held_free(hora__node *node, hora__held *held);
void hora__held_set_state(hora__node *node, hora__held *held, hora__held_state state);
/* Returns the first held firing with this id, after `after` if that is not NULL; or NULL. */
hora__held *hora__held_find(const hora__node *node, int64_t id, const hora__held *after);
void hora__held_append(hora__held_list *list, hora__held *held);
void hora__held_remove(hora__held_list *list, hora__held *held);
hora__held *hora__held_take_all(hora__held_list *list);

/* ---- node.c ---- */

/* Queues held->settle to be sent; a settlement of kind START or FORK makes it ASKING, any other SETTLING. */
void hora__node_send(hora__node *node, hora__held *held, hora_ns now);
/* Makes a firing ready to be started by the shell at start_at. */
void hora__node_make_ready(hora__node *node, hora__held *held, hora_ns start_at);
/* Puts what was sent back to the front of the queue. */
void hora__node_send_again(hora__node *node);
/* How far ahead of the end of the lease a node stops. */
hora_ns hora__node_margin(const hora__node *node);

/* Frees the held firings that are settled: no exchange is in progress that could show them as claimed. */
void hora__node_free_settled(hora__node *node);

#endif
