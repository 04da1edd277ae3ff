/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the due-time store: what moves between lanes, far batches and heap
 *
 * Invariants   I1 each far node leaves after the first node of the heap, which is not empty then.
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

enum { TIDY_EVERY = 8 };

/* Without a lock, a test uses the store alone. */
#define ASSERT_LOCKED(store) assert((store)->lock == NULL || hora__mutex_held((store)->lock))

int hora__timer_store_init(struct hora__timer_store *store, const struct hora__timer_store_options *options)
{
    assert(options->heap != NULL && options->lanes > 0);
    *store = (struct hora__timer_store){.lock = options->lock, .heap = options->heap, .seen_now = INT64_MIN};
    store->far.first = INT64_MAX;
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
    hora__lanes_free(store->lanes);
}

/* ---- the lanes ---- */

void hora__timer_store_set_floor(struct hora__timer_store *store)
{
    ASSERT_LOCKED(store);
    bool open = HORA__FAST && store->lacking == 0 && !store->sealed; /* I3 */
    hora__atomic64_store(&store->lanes->floor, open ? store->seen_now : INT64_MAX);
}

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

bool hora__timer_store_set_horizon(struct hora__timer_store *store, hora_ns until)
{
    ASSERT_LOCKED(store);
    hora_ns before = hora__atomic64_peek(&store->lanes->horizon);
    if (until == before)
        return false;
    hora__atomic64_store(&store->lanes->horizon, until);
    return until > before && !HORA__FAULT(LANE_LOOKS_TOO_SOON);
}

/* An untracked node that is not the first need not be in the heap yet, if the store is large. Its reserved
 * slot stays reserved. */
static inline bool goes_far(struct hora__timer_store *store, struct hora__timer_slot slot)
{
    return hora__slot_is_untracked(slot) && hora__timer_store_size(store) >= HORA__FAR_IS_WORTH_IT &&
           slot.due > store->heap->slots[0].due &&
           hora__far_add(&store->far, slot, hora__slot_node(slot)->sequence);
}

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

/* With the lane's lock. Returns whether a node was due before the horizon. */
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
    hora__atomic_store_relaxed(&lane->filled, 0); /* threads that write it hold this lock, or the owner's */
    absorber->visit(absorber->context, lane);
    return ahead;
}

bool hora__timer_store_absorb(struct hora__timer_store *store,
                              const struct hora__timer_store_absorber *absorber)
{
    ASSERT_LOCKED(store);
    hora_ns horizon = hora__atomic64_peek(&store->lanes->horizon);
    bool ahead = false;
    for (int i = 0; i < store->lanes->count; i++) {
        struct hora__lane *lane = &store->lanes->lanes[i];
        if (hora__lane_is_empty(lane))
            continue;
        hora__mutex_lock(&lane->lock);
        ahead |= absorb_lane(store, lane, horizon, absorber);
        hora__mutex_unlock(&lane->lock);
    }
    if (store->lacking > 0)
        hora__timer_store_promise(store);
    return ahead;
}

/* ---- far batches ---- */

/* Slots come into the heap, where they are reserved. */
static void fetch_slots(struct hora__timer_store *store, const struct hora__timer_slot *slots, int count)
{
    assert(count <= store->heap->reserved);        /* I2 */
    hora__timer_heap_reserve(store->heap, -count); /* I2 */
    for (int i = 0; i < count; i++)
        hora__timer_heap_push_untracked(store->heap, hora__slot_node(slots[i]), slots[i].due);
}

/* Some far nodes come into the heap: all of the open batch if the first is there, since these are few and
 * recent; else the first. Every few times, those of a batch that has few leave with it. */
static void fetch(struct hora__timer_store *store)
{
    assert(store->far.size > 0);
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    struct hora__timer_slot next;
    int count = hora__far_empty_open(&store->far, slots);
    if (count == 0) {
        hora__free(hora__far_pop(&store->far, slots, &next));
        count = 1;
    }
    fetch_slots(store, slots, count);
    if (store->far.size % TIDY_EVERY == 0) {
        hora__free(hora__far_tidy(&store->far, slots, &count));
        fetch_slots(store, slots, count);
    }
}

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
