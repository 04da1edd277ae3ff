/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_heap_history.c - the timer heap compared with a plain binary heap, on random histories
 *
 * How it works    Each history has its own number of timers and its own kind of times, and phases in which
 *                 the heap mostly grows or mostly shrinks. The same operation is applied to both heaps. Then
 *                 both must agree on the first timer, the size, the reserved slots, and which timers are in
 *                 the heap, and the timer heap must be sound. At its end a history is drained. Memory is
 *                 allocated for exactly the capacity, so that AddressSanitizer detects an access beyond it,
 *                 or to memory that was given up. */
#include <stdlib.h>

#include "harness.h"
#include "timer/heap.h"

enum { MOST = 700, HISTORIES = 260, STEPS = 6000, PHASE = 500 }; /* 1,560,000 steps, and the draining */

struct entry {
    struct hora__timer_node timer;
    int64_t due;
    bool in;   /* the heaps hold it */
    bool away; /* it is out for a while, and a slot is kept for it */
};

static struct entry entries[MOST];
static int entry_count; /* how many take part in this history */
static int kept;        /* how many of them are away */
static uint64_t next_number;

static struct hora__timer_heap timers;

/* The model: an array of pointers; no index, no inline key. */
static struct entry *model[MOST];
static int model_size;

static bool leaves_before(const struct entry *a, const struct entry *b)
{
    if (a->due < b->due)
        return true;
    return a->due == b->due && a->timer.sequence < b->timer.sequence;
}

static void swap(int i, int j)
{
    struct entry *entry = model[i];
    model[i] = model[j];
    model[j] = entry;
}

static void model_up(int i)
{
    for (; i > 0 && leaves_before(model[i], model[(i - 1) / 2]); i = (i - 1) / 2)
        swap(i, (i - 1) / 2);
}

static void model_down(int i)
{
    for (;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
            if (child < model_size && leaves_before(model[child], model[least]))
                least = child;
        if (least == i)
            return;
        swap(i, least);
        i = least;
    }
}

static void model_insert(struct entry *entry)
{
    model[model_size] = entry;
    model_up(model_size++);
}

static void model_remove(const struct entry *entry)
{
    int i = 0;
    while (i < model_size && model[i] != entry)
        i++;
    CHECK(i < model_size);
    swap(i, --model_size);
    if (i < model_size) {
        model_down(i);
        model_up(i);
    }
}

/* The kinds of times: almost all the same, few values, many, the ends of time, and those of a clock that
 * advances. */
static int64_t random_due(int kind, int step)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    switch (kind) {
    case 0:
        return test_random(20) == 0;
    case 1:
        return (int64_t)test_random(12) - 6;
    case 2:
        return (int64_t)(((uint64_t)test_random(UINT32_MAX) << 32) | test_random(UINT32_MAX));
    case 3:
        return ends[test_random(7)];
    default:
        return step + (int64_t)test_random(100);
    }
}

/* Unique, but in no order: an odd factor permutes the 64-bit numbers. Every other history counts as a
 * scheduler does. */
static uint64_t next_sequence(bool counting)
{
    uint64_t number = next_number++;
    return counting ? number : number * UINT64_C(0x9e3779b97f4a7c15);
}

static void move_to(int capacity)
{
    struct hora__timer_slot *memory = capacity == 0 ? NULL : malloc((size_t)capacity * sizeof *memory);
    free(hora__timer_heap_move(&timers, memory, capacity));
}

/* One that is (not) in the heaps, searched for from a random place; NULL if there is none. */
static struct entry *random_entry(bool in)
{
    int start = (int)test_random((uint32_t)entry_count);
    for (int i = 0; i < entry_count; i++) {
        struct entry *entry = &entries[(start + i) % entry_count];
        if (entry->in == in)
            return entry;
    }
    return NULL;
}

static void insert(int64_t due, bool counting)
{
    struct entry *entry = random_entry(false);
    if (entry == NULL)
        return;
    if (entry->away) { /* it comes back to the slot that was kept */
        hora__timer_heap_reserve(&timers, -1);
        kept--;
    } else if (hora__timer_heap_is_full(&timers)) {
        move_to(hora__timer_heap_larger(timers.capacity));
    }
    entry->due = due;
    entry->timer.sequence = next_sequence(counting);
    entry->away = false;
    entry->in = true;
    hora__timer_heap_push(&timers, &entry->timer, due);
    model_insert(entry);
}

static void take_out(struct entry *entry)
{
    if (entry == NULL)
        return;
    hora__timer_heap_remove(&timers, &entry->timer);
    model_remove(entry);
    entry->in = false;
    if (test_random(4) == 0) {
        hora__timer_heap_reserve(&timers, 1);
        kept++;
        entry->away = true;
    }
}

static void move_somewhere(void)
{
    int used = timers.size + timers.reserved;
    switch (test_random(3)) {
    case 0:
        move_to(hora__timer_heap_smaller(used, timers.capacity));
        break;
    case 1:
        move_to(used); /* not one slot too many */
        break;
    default:
        move_to(used + (int)test_random(20));
    }
}

/* A timer that was taken out will not be put back. */
static void give_up(void)
{
    struct entry *entry = random_entry(false);
    if (entry == NULL || !entry->away)
        return;
    hora__timer_heap_reserve(&timers, -1);
    kept--;
    entry->away = false;
}

static bool members_agree(void)
{
    for (int i = 0; i < entry_count; i++)
        if (hora__timer_heap_holds(&timers, &entries[i].timer) != entries[i].in ||
            (entries[i].timer.index == HORA__NODE_OUT) == entries[i].in ||
            (entries[i].in && hora__timer_heap_due(&timers, &entries[i].timer) != entries[i].due))
            return false;
    return true;
}

static void check_agreement(void)
{
    const struct hora__timer_node *first = model_size > 0 ? &model[0]->timer : NULL;
    CHECK_POINTER(hora__timer_heap_first(&timers), first);
    CHECK_INT(timers.size, model_size);
    CHECK_INT(timers.reserved, kept);
    CHECK_INT(hora__timer_heap_is_full(&timers), model_size + kept == timers.capacity);
    CHECK(hora__timer_heap_check(&timers));
    CHECK(members_agree());
}

/* grow: how many of 8 steps insert a timer. */
static void step(uint32_t grow, int64_t due, bool counting)
{
    if (test_random(16) == 0)
        move_somewhere();
    else if (test_random(16) == 0)
        give_up();
    else if (test_random(8) < grow)
        insert(due, counting);
    else if (test_random(2) == 0)
        take_out(model_size > 0 ? model[0] : NULL);
    else
        take_out(random_entry(true));
}

static void drain(void)
{
    while (model_size > 0) {
        CHECK_POINTER(hora__timer_heap_first(&timers), &model[0]->timer);
        hora__timer_heap_remove(&timers, &model[0]->timer);
        model[0]->in = false;
        model_remove(model[0]);
        check_agreement();
    }
    hora__timer_heap_reserve(&timers, -kept);
    move_to(0);
}

static void history(int kind, bool counting)
{
    timers = (struct hora__timer_heap){0};
    model_size = 0;
    kept = 0;
    next_number = 0;
    entry_count = 1 + (int)test_random(test_random(2) == 0 ? 24 : MOST);
    for (int i = 0; i < entry_count; i++) {
        entries[i] = (struct entry){0};
        hora__timer_node_init(&entries[i].timer);
    }
    uint32_t grow = 6;
    for (int i = 0; i < STEPS; i++) {
        if (i % PHASE == PHASE - 1)
            grow = 2 + test_random(5);
        step(grow, random_due(kind, i), counting);
        check_agreement();
    }
    drain();
}

/* Every kind of times in turn. */
static void histories(bool counting)
{
    for (int i = 0; i < HISTORIES / 2; i++)
        history(i % 5, counting);
}

TEST_REAL(timers_agree_with_the_plain_heap, "")
{
    histories(true);
}

TEST_REAL(timers_agree_with_the_plain_heap_on_any_sequence, "")
{
    histories(false);
}
