/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the due-time store: a heap, far batches and inbox lanes
 *
 * Heap         Holds the nodes that are due next, and all nodes that can be cancelled: see heap.h.
 * Far batches  Hold untracked nodes that are due later, once the store is large: see far.h. So the heap stays
 *              small. The first node of the heap leaves before all far nodes; therefore only a caller that
 *              looks at more than the first must gather.
 * Lanes        Hold nodes that threads have inserted without the lock of the store: see lanes.h.
 * Memory       Absorbing the lanes and fetching far nodes must not fail. So the heap has a slot reserved for
 *              each far node, and for each node that the lanes can hold. The lanes stay closed while some of
 *              these slots are lacking.
 * Locks        The owner's lock guards everything but the lanes, which have locks of their own (rank
 *              INBOX). */
#ifndef HORA_TIMER_STORE_H
#define HORA_TIMER_STORE_H

#include "timer/far.h"
#include "timer/heap.h"
#include "timer/lanes.h"

struct hora__timer_store {
    const hora__mutex *lock;       /* the owner's; immutable; NULL in tests of the store alone */
    struct hora__timer_heap *heap; /* the owner's; immutable */
    struct hora__lanes *lanes;     /* immutable */
    struct hora__far_batches far;
    int lacking; /* slots of the heap that are to be reserved for the lanes, and are not yet */
    bool sealed; /* the lanes take nothing any more */
    hora_ns
        seen_now; /* the last reading of the clock by which the owner has absorbed the lanes: their floor */
};

/* Set up a store over a heap of its owner, with at most so many lanes; `least` is the smallest block of their
 * free lists. The owner's lock need not be initialized yet. The lanes are closed until
 * hora__timer_store_promise. HORA_ENOMEM. */
struct hora__timer_store_options {
    const hora_clock *clock; /* NULL: the default clock */
    const hora__mutex *lock;
    struct hora__timer_heap *heap;
    int lanes;
    size_t least;
};
__attribute__((warn_unused_result)) int hora__timer_store_init(
    struct hora__timer_store *store, const struct hora__timer_store_options *options);

/* Release the reserved slots and all memory but the heap's. The store is empty. */
void hora__timer_store_destroy(struct hora__timer_store *store);

/* All that follow with the owner's lock, or by the last thread that uses the store. */

/* The number of nodes in the heap and in far batches. */
static inline int hora__timer_store_size(const struct hora__timer_store *store)
{
    return store->heap->size + store->far.size;
}

/* Publish the floor: the lanes refuse nodes due by seen_now, or all nodes while slots are lacking or the
 * store is sealed. */
void hora__timer_store_set_floor(struct hora__timer_store *store);

/* Reserve the lacking slots as far as there is memory, and set the floor. */
void hora__timer_store_promise(struct hora__timer_store *store);

/* Publish until when the leader sleeps. Returns whether the lanes must be absorbed: a node that was inserted
 * under an earlier horizon may be due before this one, and its thread has told no other. */
bool hora__timer_store_set_horizon(struct hora__timer_store *store, hora_ns until);

/* Move what is in the lanes into the heap or into far batches. Both callbacks run under the lock of a lane:
 * `came` for each node, and `visit` for each lane, to return memory to its free list. Returns whether a node
 * was due before the horizon. */
struct hora__timer_store_absorber {
    void (*came)(void *context, struct hora__timer_node *node); /* NULL: not needed */
    void (*visit)(void *context, struct hora__lane *lane);
    void *context;
};
bool hora__timer_store_absorb(struct hora__timer_store *store,
                              const struct hora__timer_store_absorber *absorber);

/* The first node of the heap has left: fetch the far nodes that are due before the one that is first now. */
void hora__timer_store_follow(struct hora__timer_store *store);

/* Move all far nodes into the heap, and track all nodes: the caller is going to look at more than the
 * first. */
void hora__timer_store_gather(struct hora__timer_store *store);

/* Whether every invariant holds. O(n). */
bool hora__timer_store_check(const struct hora__timer_store *store);

#endif
