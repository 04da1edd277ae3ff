/* SPDX-License-Identifier: Apache-2.0 */
/* test_annex.c - timers that wait in an annex leave as if they had been in the heap all the time
 *
 * How it works    The same timers are pushed into a heap, and into another one with an annex, as the agenda does it; both must give the same
 *                 ones, in the same order, whatever comes in meanwhile. */
#include <stdlib.h>

#include "harness.h"
#include "sched/annex.h"

enum { MOST = 20000, HISTORIES = 40 };

static struct hora__timer plain_timers[MOST];
static struct hora__timer timers_with_annex[MOST];
static struct hora__timers plain;
static struct hora__timers heap;
static struct hora__annex annex;

static void begin(void)
{
    (void)hora__timers_move(&plain, malloc(MOST * sizeof *plain.slots), MOST);
    (void)hora__timers_move(&heap, malloc(MOST * sizeof *heap.slots), MOST);
    annex = (struct hora__annex){.first = INT64_MAX};
    for (int i = 0; i < MOST; i++) {
        hora__timer_init(&plain_timers[i]);
        hora__timer_init(&timers_with_annex[i]);
        plain_timers[i].sequence = timers_with_annex[i].sequence = (uint64_t)test_random(1000) * MOST + (uint64_t)i;
    }
}

static void end(void)
{
    CHECK_INT(heap.size, 0);
    CHECK_INT(heap.reserved, 0);
    hora__annex_free(&annex);
    free(hora__timers_move(&plain, NULL, 0));
    free(hora__timers_move(&heap, NULL, 0));
}

static void add(int i, int64_t due)
{
    hora__timers_push(&plain, &plain_timers[i], due);
    if (heap.size > 0 && due > heap.slots[0].due && hora__annex_add(&annex, &timers_with_annex[i], due))
        hora__timers_keep(&heap, 1);
    else
        hora__timers_push_stray(&heap, &timers_with_annex[i], due);
}

static void follow(void)
{
    struct hora__timer_slot slots[HORA__ANNEX_BATCH];
    while (annex.size > 0 && (heap.size == 0 || annex.first <= heap.slots[0].due)) {
        int count = hora__annex_take(&annex, slots);
        CHECK(count > 0 && count <= HORA__ANNEX_BATCH);
        hora__timers_keep(&heap, -count);
        for (int i = 0; i < count; i++)
            hora__timers_push_stray(&heap, hora__slot_timer(slots[i]), slots[i].due);
    }
}

static void take(void)
{
    struct hora__timer *first = hora__timers_first(&plain);
    struct hora__timer *other = hora__timers_first(&heap);
    CHECK_INT(other - timers_with_annex, first - plain_timers);
    hora__timers_remove(&plain, first);
    hora__timers_remove(&heap, other);
    follow();
    CHECK_INT(heap.size + annex.size, plain.size);
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

TEST(annex_order, "")
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
                CHECK(hora__annex_check(&annex));
        }
        while (plain.size > 0) {
            take();
            if (plain.size % 1999 == 0)
                CHECK(hora__annex_check(&annex) && hora__timers_check(&heap));
        }
        end();
    }
}

/* What is left of many does not keep the memory of all. */
TEST(annex_memory, "")
{
    begin();
    for (int i = 0; i < MOST; i++)
        add(i, i % 100 == 0 ? 2000000 + i : (int64_t)test_random(1000000));
    while (plain.size > MOST / 100)
        take();
    CHECK(hora__annex_check(&annex));
    CHECK(annex.head_count * HORA__ANNEX_BATCH <= 8 * (annex.size + HORA__ANNEX_BATCH));
    while (plain.size > 0)
        take();
    end();
}

TEST(annex_empty, "")
{
    struct hora__timer_slot slots[HORA__ANNEX_BATCH];
    struct hora__annex empty = {.first = INT64_MAX};
    CHECK(hora__annex_check(&empty));
    CHECK_INT(hora__annex_take(&empty, slots), 0);
    hora__annex_free(&empty);
}
