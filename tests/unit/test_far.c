/* SPDX-License-Identifier: Apache-2.0 */
/* test_far.c - timers that wait in far batches leave as if they had been in the heap all the time
 *
 * How it works    The same timers are inserted into a heap, and into another one with far batches, as the
 *                 scheduler does it. Both must give the same timers, in the same order, whatever is inserted
 *                 in between. */
#include <stdlib.h>

#include "harness.h"
#include "timer/store.h"

enum { MOST = 20000, HISTORIES = 40 };

static struct hora__timer_node plain_timers[MOST];
static struct hora__timer_node timers_with_far[MOST];
static struct hora__timer_heap plain;
static struct hora__timer_heap heap;
static struct hora__timer_store store; /* without lanes */

static void begin(void)
{
    (void)hora__timer_heap_move(&plain, malloc(MOST * sizeof *plain.slots), MOST);
    (void)hora__timer_heap_move(&heap, malloc(MOST * sizeof *heap.slots), MOST);
    store = (struct hora__timer_store){.heap = &heap, .far.first = INT64_MAX, .far.memory = &store.batches};
    hora__free_list_init(&store.batches, sizeof(struct hora__far_batch), sizeof(void *), 1);
    for (int i = 0; i < MOST; i++) {
        hora__timer_node_init(&plain_timers[i]);
        hora__timer_node_init(&timers_with_far[i]);
        plain_timers[i].sequence = timers_with_far[i].sequence =
            (uint64_t)test_random(1000) * MOST + (uint64_t)i;
    }
}

static void end(void)
{
    CHECK_INT(heap.size, 0);
    CHECK_INT(heap.reserved, 0);
    hora__far_free(&store.far);
    hora__free_list_destroy(&store.batches);
    free(hora__timer_heap_move(&plain, NULL, 0));
    free(hora__timer_heap_move(&heap, NULL, 0));
}

static void add(int i, int64_t due)
{
    hora__timer_heap_push(&plain, &plain_timers[i], due);
    if (heap.size > 0 && due > heap.slots[0].due &&
        hora__far_add(&store.far, hora__slot_untracked(&timers_with_far[i], due),
                      timers_with_far[i].sequence))
        hora__timer_heap_reserve(&heap, 1);
    else
        hora__timer_heap_push_untracked(&heap, &timers_with_far[i], due);
}

static void take(void)
{
    struct hora__timer_node *first = hora__timer_heap_first(&plain);
    struct hora__timer_node *other = hora__timer_heap_first(&heap);
    CHECK_INT(other - timers_with_far, first - plain_timers);
    hora__timer_heap_remove(&plain, first);
    hora__timer_heap_remove(&heap, other);
    hora__timer_store_follow(&store);
    CHECK_INT(heap.size + store.far.size, plain.size);
}

/* Times that lie apart, or together; of which most are far off, or none. */
static int64_t some_due(int kind, int i)
{
    if (kind == 0)
        return test_random(1000000);
    if (kind == 1)
        return test_random(30);
    if (kind == 2)
        return i + (int64_t)test_random(100);
    return test_random(8) == 0 ? 10000000 + test_random(1000000) : test_random(10000);
}

TEST(far_order, "")
{
    for (int history = 0; history < HISTORIES; history++) {
        begin();
        int count = test_random(2) == 0 ? MOST : (int)test_random(MOST);
        int taken_per_ten = history % 10; /* while others come in */
        for (int i = 0; i < count; i++) {
            add(i, some_due(history % 4, i));
            if ((int)test_random(10) < taken_per_ten && plain.size > 0)
                take();
            if (i % 1999 == 0)
                CHECK(hora__far_check(&store.far));
        }
        while (plain.size > 0) {
            take();
            if (plain.size % 1999 == 0)
                CHECK(hora__far_check(&store.far) && hora__timer_heap_check(&heap));
        }
        end();
    }
}

/* The few that are left of many timers do not keep the memory of all. */
TEST(far_memory, "")
{
    begin();
    for (int i = 0; i < MOST; i++)
        add(i, i % 100 == 0 ? 2000000 + i : (int64_t)test_random(1000000));
    while (plain.size > MOST / 100)
        take();
    CHECK(hora__far_check(&store.far));
    CHECK(store.far.head_count * HORA__FAR_BATCH <= 8 * (store.far.size + HORA__FAR_BATCH));
    while (plain.size > 0)
        take();
    end();
}

TEST(far_empty, "")
{
    struct hora__timer_slot slots[HORA__FAR_BATCH];
    struct hora__far_batches empty = {.first = INT64_MAX};
    CHECK(hora__far_check(&empty));
    CHECK_INT(hora__far_reserve(&empty, 3), 0);
    CHECK(hora__far_check(&empty));
    CHECK_INT(hora__far_empty_open(&empty, slots), 0);
    hora__far_free(&empty);
}
