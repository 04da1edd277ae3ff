/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the due-time store: moves nodes from the lanes to far batches and heap, and from far batches to
 * the heap
 *
 * Invariants   I1 each far node is due after the first node of the heap, which is not empty then.
 *              I2 the heap has reserved a slot for each far node, and lanes_room - lacking slots for the
 *                 lanes.
 *              I3 while lacking > 0, or once the store is sealed, the lanes refuse every node. */
#include "timer/store.h"

#include <hora/error.h>

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "sys/alloc.h"

enum {
    TIDY_EVERY = 8,                 /* far nodes fetched between two calls of hora__far_tidy */
    SPARE_CHUNKS = HORA__KEPT(4, 1) /* empty chunks of the memory of batches that are kept */
};

/* A test that uses the store alone has no lock. */
#define ASSERT_LOCKED(store) assert((store)->lock == NULL || hora__mutex_held((store)->lock))

/* All slots for the lanes are lacking at first, so the lanes refuse every node until the owner calls
 * hora__timer_store_promise (I3). */
int hora__timer_store_init(struct hora__timer_store *store, const struct hora__timer_store_options *options)
{
    assert(options->heap != NULL && options->lanes > 0);
    *store = (struct hora__timer_store){.lock = options->lock, .heap = options->heap, .seen_now = INT64_MIN};
    store->far.first = INT64_MAX;
    hora__free_list_init(&store->batches, sizeof(struct hora__far_batch), sizeof(void *), SPARE_CHUNKS);
    store->far.memory = &store->batches;
    store->lanes = hora__lanes_new(options->clock, options->lanes, options->least);
    if (store->lanes == NULL)
        return HORA_ENOMEM;
    store->lacking = hora__lanes_room(store->lanes); /* I3 */
    return 0;
}

void hora__timer_store_destroy(struct hora__timer_store *store)
{
    assert(hora__timer_store_size(store) == 0);
    hora__timer_heap_reserve(store->heap, store->lacking - hora__lanes_room(store->lanes)); /* I2 */
    hora__far_free(&store->far);
    hora__free_list_destroy(&store->batches);
    hora__lanes_free(store->lanes);
}

/* ---- the lanes ---- */

void hora__timer_store_set_floor(struct hora__timer_store *store)
{
    ASSERT_LOCKED(store);
    bool open = HORA__FAST && store->lacking == 0 && !store->sealed; /* I3 */
    hora__atomic64_store(&store->lanes->floor, open ? store->seen_now : INT64_MAX);
}

/* Reserves the room that the heap has, and lets the heap grow until there is enough or no memory is left. */
void hora__timer_store_promise(struct hora__timer_store *store)
{
    ASSERT_LOCKED(store);
    struct hora__timer_heap *heap = store->heap;
    while (HORA__FAST && store->lacking > 0 && hora__timer_heap_make_room(heap) == 0) {
        int room = heap->capacity - heap->size - heap->reserved;
        int more = room < store->lacking ? room : store->lacking;
        hora__timer_heap_reserve(heap, more); /* I2 */
        store->lacking -= more;
    }
    hora__timer_store_set_floor(store);
}

/* Only a later horizon requires that the lanes are absorbed: threads that inserted under the earlier one did
 * not report nodes that are due between the two. The store is sequentially consistent, so each thread that
 * inserts afterwards sees it. */
bool hora__timer_store_set_horizon(struct hora__timer_store *store, hora_ns until)
{
    ASSERT_LOCKED(store);
    hora_ns before = hora__atomic64_peek(&store->lanes->horizon);
    if (until == before)
        return false;
    hora__atomic64_store(&store->lanes->horizon, until);
    return until > before && !HORA__FAULT(LANE_LOOKS_TOO_SOON);
}

/* Adds a node to the far batches if it may go there: it is untracked, it is due after the first node of the
 * heap, and the store is large. Returns false if not, or if there is no memory; the caller then inserts it
 * into the heap. The heap's slot that was reserved for the node in its lane stays reserved for it. */
static inline bool goes_far(struct hora__timer_store *store, struct hora__timer_slot slot)
{
    return hora__slot_is_untracked(slot) && hora__timer_store_size(store) >= HORA__FAR_IS_WORTH_IT &&
           slot.due > store->heap->slots[0].due &&
           hora__far_add(&store->far, slot, hora__slot_node(slot)->sequence);
}

/* Moves one node from a lane into the heap or the far batches. The slot that was reserved for it in the heap
 * is used, or stays reserved for the far node, so the lanes lack one more slot. The caller holds the lane's
 * lock. */
static void take_in(struct hora__timer_store *store, struct hora__timer_slot slot)
{
    assert(store->lacking < hora__lanes_room(store->lanes)); /* I2 */
    store->lacking++;
    if (goes_far(store, slot))
        return;
    hora__timer_heap_reserve(store->heap, -1);
    if (hora__slot_is_untracked(slot)) {
        hora__timer_heap_push_untracked(store->heap, hora__slot_node(slot), slot.due);
    } else {
        *hora__node_spot(hora__slot_node(slot)) = 0; /* I1 of lanes.c */
        hora__timer_heap_push(store->heap, hora__slot_node(slot), slot.due);
    }
}

/* Moves all nodes of a lane. The caller holds the lane's lock. Returns true if a node was due before the
 * horizon. */
static bool absorb_lane(struct hora__timer_store *store, struct hora__lane *lane, hora_ns horizon,
                        const struct hora__timer_store_absorber *absorber)
{
    assert(hora__mutex_held(&lane->lock));
    bool ahead = false;
    for (int i = 0; i < lane->count; i++) {
        struct hora__timer_slot slot = lane->slots[i];
        ahead |= slot.due < horizon;
        if (absorber->came != NULL)
            absorber->came(absorber->context, hora__slot_node(slot));
        take_in(store, slot);
    }
    lane->count = 0;
    /* Threads that set the word hold the lane's lock or the owner's. The caller holds both. */
    hora__atomic_store_relaxed(&lane->filled, 0);
    absorber->visit(absorber->context, lane);
    return ahead;
}

/* Absorbs one lane at a time, so that each lane's lock is held only for its own nodes. */
bool hora__timer_store_absorb(struct hora__timer_store *store,
                              const struct hora__timer_store_absorber *absorber)
{
    ASSERT_LOCKED(store);
    hora_ns horizon = hora__atomic64_peek(&store->lanes->horizon);
    bool ahead = false;
    for (int i = 0; i < store->lanes->count; i++) {
        struct hora__lane *lane = &store->lanes->lanes[i];
        if (hora__lane_is_empty(lane)) /* see "Empty lanes" in lanes.c */
            continue;
        hora__mutex_lock(&lane->lock);
        ahead |= absorb_lane(store, lane, horizon, absorber);
        hora__mutex_unlock(&lane->lock);
    }
    if (store->lacking > 0)
        hora__timer_store_promise(store); /* the slots that were reserved for the lanes are now in use */
    return ahead;
}

/* ---- far batches ---- */

/* Inserts slots of far nodes into the heap, which has a slot reserved for each. */
static void fetch_slots(struct hora__timer_store *store, const struct hora__timer_slot *slots, int count)
{
    assert(count <= store->heap->reserved);        /* I2 */
    hora__timer_heap_reserve(store->heap, -count); /* I2 */
    for (int i = 0; i < count; i++)
        hora__timer_heap_push_untracked(store->heap, hora__slot_node(slots[i]), slots[i].due);
}

/* Moves the first far node into the heap. If it is in the open batch, moves all of that batch, whose nodes
 * are few and were added recently. Every few times it also moves the nodes of a batch that has few left, and
 * frees the batch. */
static void fetch(struct hora__timer_store *store)
{
    assert(store->far.size > 0);
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    struct hora__timer_slot next;
    int count = hora__far_empty_open(&store->far, slots);
    if (count == 0) {
        hora__far_batch_free(&store->far, hora__far_pop(&store->far, slots, &next));
        count = 1;
    }
    fetch_slots(store, slots, count);
    if (store->far.size % TIDY_EVERY == 0) {
        hora__far_batch_free(&store->far, hora__far_tidy(&store->far, slots, &count));
        fetch_slots(store, slots, count);
    }
}

/* A far node that is due together with the first node of the heap may have the smaller sequence number, hence
 * `<=`. */
void hora__timer_store_follow(struct hora__timer_store *store)
{
    assert(store->heap != NULL);
    const struct hora__timer_heap *heap = store->heap;
    while (store->far.size > 0 && (heap->size == 0 || store->far.first <= heap->slots[0].due)) {
        if (HORA__FAULT(FAR_STAYS_BEHIND) && heap->size > 0)
            break;
        fetch(store); /* I1 */
    }
}

void hora__timer_store_gather(struct hora__timer_store *store)
{
    while (store->far.size > 0 && !HORA__FAULT(FAR_IS_UNSEEN)) {
        HORA__TOUCH_PREPAID(1);
        fetch(store);
    }
    hora__timer_heap_track_all(store->heap);
}

bool hora__timer_store_check(const struct hora__timer_store *store)
{
    const struct hora__timer_heap *heap = store->heap;
    bool follows = store->far.size == 0 || (heap->size > 0 && heap->slots[0].due < store->far.first); /* I1 */
    bool reserves =
        heap->reserved >= store->far.size + hora__lanes_room(store->lanes) - store->lacking; /* I2 */
    return follows && reserves && hora__timer_heap_check(heap) && hora__far_check(&store->far);
}
