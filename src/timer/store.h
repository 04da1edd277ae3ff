/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the due-time store: a heap, far batches and inbox lanes
 *
 * Heap         Holds the nodes that are due next, and all nodes that can be cancelled: see heap.h.
 * Far batches  Hold untracked nodes that are due later, once the store is large: see far.h. So the heap stays
 *              small. The first node of the heap is due before all far nodes; therefore only a caller that
 *              reads more than the first node must gather.
 * Lanes        Hold nodes that threads have inserted without the lock of the store: see lanes.h.
 * Memory       Absorbing the lanes and fetching far nodes must not fail. So the heap has a slot reserved for
 *              each far node, and for each node that the lanes can hold. The lanes refuse all nodes while
 *              some of these slots are lacking.
 * Locks        The owner's lock guards everything except the lanes, which have their own locks (rank
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
    struct hora__free_list batches; /* memory of the far batches */
    int lacking;      /* slots of the heap that must yet be reserved for the lanes; 0: all are reserved */
    bool sealed;      /* the lanes accept no nodes any more; the owner sets it */
    hora_ns seen_now; /* the last reading of the clock before the owner absorbed the lanes: their floor */
};

/* Arguments of hora__timer_store_init. */
struct hora__timer_store_options {
    const hora_clock *clock;       /* NULL: the default clock */
    const hora__mutex *lock;       /* the owner's; need not be initialised yet; NULL in tests */
    struct hora__timer_heap *heap; /* the owner's */
    int lanes;                     /* the most lanes to create */
    size_t least;                  /* the smallest block of the lanes' free lists, in bytes */
};

/* Initialises a store over the owner's heap. The lanes refuse all nodes until hora__timer_store_promise.
 * Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__timer_store_init(
    struct hora__timer_store *store, const struct hora__timer_store_options *options);

/* Releases the reserved slots and frees all memory except the heap's. The store must be empty. */
void hora__timer_store_destroy(struct hora__timer_store *store);

/* The caller of the functions below holds the owner's lock, or is the last thread that uses the store. */

/* Returns the number of nodes in the heap and in far batches, without those in lanes. */
static inline int hora__timer_store_size(const struct hora__timer_store *store)
{
    return store->heap->size + store->far.size;
}

/* Publishes the floor: the lanes refuse nodes due by seen_now, or all nodes while slots are lacking or once
 * the store is sealed. */
void hora__timer_store_set_floor(struct hora__timer_store *store);

/* Reserves the lacking slots as far as there is memory, and publishes the floor. */
void hora__timer_store_promise(struct hora__timer_store *store);

/* Publishes until when the leader sleeps. Returns true if the caller must absorb the lanes: a node that was
 * inserted under an earlier horizon may be due before this one, and its thread has woken no other thread. */
bool hora__timer_store_set_horizon(struct hora__timer_store *store, hora_ns until);

/* Callbacks of the owner while lanes are absorbed. Both run under the lock of a lane. */
struct hora__timer_store_absorber {
    /* Called for each node before it is moved. NULL: not needed. */
    void (*came)(void *context, struct hora__timer_node *node);
    /* Called for each lane that is absorbed, for the owner to return memory to its free list. */
    void (*visit)(void *context, struct hora__lane *lane);
    void *context; /* passed to both */
};

/* Absorbs the lanes: moves all nodes in them into the heap or into far batches. Returns true if a node was
 * due before the horizon. */
bool hora__timer_store_absorb(struct hora__timer_store *store,
                              const struct hora__timer_store_absorber *absorber);

/* Call this when the first node of the heap has been removed. Moves the far nodes that are due before or with
 * the new first node into the heap. */
void hora__timer_store_follow(struct hora__timer_store *store);

/* Moves all far nodes into the heap and tracks all nodes, for a caller that reads or removes more than the
 * first node. */
void hora__timer_store_gather(struct hora__timer_store *store);

/* Returns true if every invariant holds. For tests; costs O(n). */
bool hora__timer_store_check(const struct hora__timer_store *store);

#endif
