/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_store.c - a timer store compared with a plain heap, on random histories
 *
 * Mechanism    The test inserts tracked and untracked nodes through a lane or, like an owner with its lock,
 *              into the heap. It cancels tracked ones in the lane and in the heap, absorbs the lanes, takes
 *              those that are due by a reading of the clock, and gathers now and then. The store must give
 *              the nodes in the order of a heap that has had all of them from the beginning, and it must be
 *              sound. */
#include <stdlib.h>

#include "harness.h"
#include "sys/alloc.h"
#include "timer/store.h"

enum { MOST = 12000, HISTORIES = 12, STEPS = 30000 };

struct item {
    struct hora__timer_node twin; /* in the model */
    uint16_t before_spot;
    uint16_t spot; /* directly before the node: see hora__node_spot */
    struct hora__timer_node node;
    bool is_tracked;
    bool is_in;
};

static struct item items[MOST];
static struct hora__timer_heap model;
static struct hora__timer_heap heap;
static struct hora__timer_store store;
static int visits; /* of lanes */

static struct item *item_of(struct hora__timer_node *node)
{
    return (struct item *)(void *)((char *)node - offsetof(struct item, node));
}

static void visit(void *context, struct hora__lane *lane)
{
    (void)context;
    CHECK_INT(lane->count, 0);
    visits++;
}

static void absorb(void)
{
    int filled = 0;
    for (int i = 0; i < store.lanes->count; i++)
        filled += hora__lane_is_empty(&store.lanes->lanes[i]) ? 0 : 1;
    visits = 0;
    (void)hora__timer_store_absorb(&store, &(struct hora__timer_store_absorber){NULL, visit, NULL});
    CHECK_INT(visits, filled); /* empty lanes are skipped */
    CHECK_INT(hora__timer_store_size(&store), model.size);
}

/* Returns whether the item could be inserted through a lane. */
static bool post(struct item *item, int64_t due)
{
    struct hora__lane *lane = hora__lanes_enter(store.lanes);
    bool admitted = hora__lane_admits(store.lanes, lane, due);
    if (admitted && item->is_tracked)
        hora__lane_add(store.lanes, lane, &item->node, due, 0);
    else if (admitted)
        hora__lane_add_untracked(store.lanes, lane, &item->node, due, 0);
    hora__lane_leave(lane);
    return admitted;
}

static void insert(struct item *item, int64_t due)
{
    hora__timer_node_init(&item->node);
    hora__timer_node_init(&item->twin);
    item->spot = 0;
    item->is_tracked = test_random(3) == 0;
    item->is_in = true;
    if (!post(item, due)) {
        absorb();
        item->node.sequence = hora__lanes_number(store.lanes);
        CHECK_INT(hora__timer_heap_make_room(&heap), 0);
        if (item->is_tracked)
            hora__timer_heap_push(&heap, &item->node, due);
        else
            hora__timer_heap_push_untracked(&heap, &item->node, due);
    }
    item->twin.sequence = item->node.sequence;
    hora__timer_heap_push(&model, &item->twin, due);
}

static void cancel(struct item *item)
{
    if (item->spot != 0) {
        struct hora__lane *lane = hora__lanes_enter(store.lanes);
        hora__lane_take_out(lane, &item->node);
        hora__lane_leave(lane);
    } else {
        hora__timer_heap_remove(&heap, &item->node);
        hora__timer_store_follow(&store);
    }
    hora__timer_heap_remove(&model, &item->twin);
    item->is_in = false;
}

/* Take all that is due by a time, as a worker does: first it says so, then it absorbs the lanes. */
static void take(int64_t now)
{
    store.seen_now = now;
    hora__timer_store_set_floor(&store);
    absorb();
    while (model.size > 0 && model.slots[0].due <= now) {
        struct item *item = item_of(hora__timer_heap_first(&heap));
        CHECK_POINTER(&item->twin, hora__timer_heap_first(&model));
        hora__timer_heap_remove(&heap, &item->node);
        hora__timer_store_follow(&store);
        hora__timer_heap_remove(&model, &item->twin);
        item->is_in = false;
    }
    CHECK(heap.size == 0 || heap.slots[0].due > now);
}

static void step(int64_t *now)
{
    struct item *item = &items[test_random(MOST)];
    uint32_t choice = test_random(100);
    if (!item->is_in)
        insert(item, *now + (int64_t)test_random(choice < 50 ? 100 : 100000));
    else if (item->is_tracked)
        cancel(item);
    else if (choice == 0)
        take(*now += (int64_t)test_random(2000));
    else if (choice == 1 && test_random(20) == 0)
        hora__timer_store_gather(&store);
}

TEST_REAL(timer_store_agrees_with_heap, "")
{
    for (int history = 0; history < HISTORIES; history++) {
        int64_t now = 0;
        CHECK_INT(hora__timer_store_init(&store,
                                         &(struct hora__timer_store_options){
                                             .heap = &heap, .lanes = 1, .least = sizeof(void *)}),
                  0);
        (void)hora__timer_heap_move(&model, malloc(MOST * sizeof *model.slots), MOST);
        CHECK(!post(&items[0], INT64_MAX)); /* the lanes are closed until slots are reserved for them */
        hora__timer_store_promise(&store);
        for (int i = 0; i < STEPS; i++) {
            step(&now);
            if (i % 997 == 0)
                CHECK(hora__timer_store_check(&store));
        }
        take(INT64_MAX);
        CHECK_INT(model.size, 0);
        hora__timer_store_destroy(&store);
        CHECK_INT(heap.reserved, 0);
        free(hora__timer_heap_move(&model, NULL, 0));
        hora__timer_heap_free(&heap);
    }
}

/* A horizon that rises must be looked at, since threads have inserted with the earlier one in sight. */
TEST_REAL(timer_store_tells_when_to_look, "")
{
    struct hora__timer_heap own = {NULL, 0, 0, 0, 0};
    CHECK_INT(
        hora__timer_store_init(
            &store, &(struct hora__timer_store_options){.heap = &own, .lanes = 1, .least = sizeof(void *)}),
        0);
    CHECK(!hora__timer_store_set_horizon(&store, INT64_MIN));
    CHECK(hora__timer_store_set_horizon(&store, 100));
    CHECK(!hora__timer_store_set_horizon(&store, 100));
    CHECK(!hora__timer_store_set_horizon(&store, 50));
    CHECK(hora__lanes_is_ahead(store.lanes, 49));
    CHECK(!hora__lanes_is_ahead(store.lanes, 50));
    hora__timer_store_destroy(&store);
}
