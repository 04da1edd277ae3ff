/* SPDX-License-Identifier: Apache-2.0 */
/* test_timer_heap.c - the promises of each call of the timer heap; see also test_timer_heap_history.c */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "timer/heap.h"

enum { COUNT = 1365 }; /* 1 + 4 + ... + 4^5: six full levels */

static struct hora__timer_node timer_array[COUNT];
static struct hora__timer_slot memory[COUNT];

static void fill(struct hora__timer_heap *timers, int count, int64_t (*due)(int i))
{
    *timers = (struct hora__timer_heap){0};
    (void)hora__timer_heap_move(timers, memory, COUNT);
    for (int i = 0; i < count; i++) {
        struct hora__timer_node *timer = &timer_array[i];
        hora__timer_node_init(timer);
        timer->sequence = (uint64_t)i;
        hora__timer_heap_push(timers, timer, due(i));
    }
}

static int64_t ascending(int i)
{
    return i;
}

static int64_t descending(int i)
{
    return -i;
}

static int64_t same(int i)
{
    (void)i;
    return 5;
}

static int64_t scattered(int i)
{
    return ((int64_t)i * 7919) % COUNT;
}

static void check_drains_in_order(struct hora__timer_heap *timers)
{
    const struct hora__timer_node *previous = NULL;
    int64_t previous_due = INT64_MIN;
    for (int left = timers->size; left > 0; left--) {
        struct hora__timer_node *first = hora__timer_heap_first(timers);
        int64_t due = hora__timer_heap_due(timers, first);
        CHECK(previous == NULL || previous_due < due ||
              (previous_due == due && previous->sequence < first->sequence));
        hora__timer_heap_remove(timers, first);
        CHECK_INT(first->index, HORA__NODE_OUT);
        previous = first;
        previous_due = due;
    }
    CHECK_POINTER(hora__timer_heap_first(timers), NULL);
}

TEST_REAL(timers_leave_in_order_of_due, "")
{
    struct hora__timer_heap timers;
    int64_t (*const dues[])(int) = {ascending, descending, scattered};
    for (size_t i = 0; i < sizeof dues / sizeof *dues; i++) {
        fill(&timers, COUNT, dues[i]);
        CHECK(hora__timer_heap_check(&timers));
        check_drains_in_order(&timers);
    }
}

TEST_REAL(timers_due_together_leave_in_order_of_sequence, "")
{
    struct hora__timer_heap timers;
    fill(&timers, COUNT, same);
    for (int i = 0; i < COUNT; i++) {
        CHECK_POINTER(hora__timer_heap_first(&timers), &timer_array[i]);
        hora__timer_heap_remove(&timers, &timer_array[i]);
    }
}

/* The number decides, not the order of insertion. */
TEST_REAL(timers_due_together_may_come_in_any_order, "")
{
    struct hora__timer_heap timers;
    fill(&timers, 0, same);
    const uint64_t sequences[] = {7, UINT64_MAX, 0, UINT64_C(1) << 63, 3};
    const int order[] = {2, 4, 0, 3, 1};
    for (int i = 0; i < 5; i++) {
        timer_array[i] = (struct hora__timer_node){.sequence = sequences[i], .index = HORA__NODE_OUT};
        hora__timer_heap_push(&timers, &timer_array[i], 1);
    }
    for (int i = 0; i < 5; i++) {
        CHECK_POINTER(hora__timer_heap_first(&timers), &timer_array[order[i]]);
        hora__timer_heap_remove(&timers, &timer_array[order[i]]);
    }
}

TEST_REAL(timers_know_the_ends_of_time, "")
{
    struct hora__timer_heap timers;
    fill(&timers, 0, same);
    const int64_t dues[] = {0, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, -1};
    const int order[] = {2, 4, 5, 0, 3, 1};
    for (int i = 0; i < 6; i++) {
        timer_array[i] = (struct hora__timer_node){.sequence = (uint64_t)i, .index = HORA__NODE_OUT};
        hora__timer_heap_push(&timers, &timer_array[i], dues[i]);
    }
    for (int i = 0; i < 6; i++) {
        CHECK_POINTER(hora__timer_heap_first(&timers), &timer_array[order[i]]);
        hora__timer_heap_remove(&timers, &timer_array[order[i]]);
    }
}

/* From every place of heaps of every small size; the rest still leaves in order. */
TEST_REAL(timers_are_removed_from_every_place, "")
{
    struct hora__timer_heap timers;
    for (int size = 1; size <= 86; size++) {
        for (int place = 0; place < size; place++) {
            fill(&timers, size, scattered);
            struct hora__timer_node *removed = hora__slot_node(timers.slots[place]);
            hora__timer_heap_remove(&timers, removed);
            CHECK(!hora__timer_heap_holds(&timers, removed));
            CHECK(hora__timer_heap_check(&timers));
            CHECK_INT(timers.size, size - 1);
            check_drains_in_order(&timers);
        }
    }
}

/* Every second one is untracked. */
static void fill_with_untracked(struct hora__timer_heap *timers, int64_t (*due)(int i))
{
    fill(timers, 0, due);
    for (int i = 0; i < COUNT; i++) {
        timer_array[i] = (struct hora__timer_node){.sequence = (uint64_t)i, .index = HORA__NODE_OUT};
        if (i % 2 == 0)
            hora__timer_heap_push(timers, &timer_array[i], due(i));
        else
            hora__timer_heap_push_untracked(timers, &timer_array[i], due(i));
    }
}

TEST_REAL(timers_take_untracked, "")
{
    int64_t (*const dues[])(int i) = {ascending, descending, same, scattered};
    struct hora__timer_heap timers;
    for (int i = 0; i < 4; i++) {
        fill_with_untracked(&timers, dues[i]);
        CHECK(hora__timer_heap_check(&timers));
        CHECK_INT(timers.untracked, COUNT / 2);
        for (int removed = 0; removed < COUNT; removed += 6)
            hora__timer_heap_remove(&timers, &timer_array[removed]);
        CHECK(hora__timer_heap_check(&timers));
        check_drains_in_order(&timers);
        CHECK_INT(timers.untracked, 0);
    }
}

/* From then on they can be removed like all others. */
TEST_REAL(timers_tell_untracked, "")
{
    struct hora__timer_heap timers;
    fill_with_untracked(&timers, scattered);
    CHECK(!hora__timer_heap_holds(&timers, &timer_array[COUNT - 2]));
    hora__timer_heap_track_all(&timers);
    CHECK(hora__timer_heap_check(&timers));
    for (int i = 1; i < COUNT; i += 2) {
        CHECK(hora__timer_heap_holds(&timers, &timer_array[i]));
        hora__timer_heap_remove(&timers, &timer_array[i]);
    }
    CHECK(hora__timer_heap_check(&timers));
    check_drains_in_order(&timers);
}

/* The last slot comes from under a smaller parent than the hole has: it must rise.
 *
 *                   0
 *       100      1      2      3
 *   101 ... 104 10 ...                 */
TEST_REAL(timers_last_one_may_rise_in_the_hole, "")
{
    static const int64_t dues[] = {0, 100, 1, 2, 3, 101, 102, 103, 104, 10};
    struct hora__timer_heap timers;
    fill(&timers, 0, same);
    for (int i = 0; i < 10; i++) {
        timer_array[i] = (struct hora__timer_node){.sequence = (uint64_t)i, .index = HORA__NODE_OUT};
        hora__timer_heap_push(&timers, &timer_array[i], dues[i]);
        CHECK_INT(timer_array[i].index, i);
    }
    hora__timer_heap_remove(&timers, &timer_array[6]);
    CHECK(hora__timer_heap_check(&timers));
    CHECK_INT(timer_array[9].index, 1);
    CHECK_INT(timer_array[1].index, 6);
    check_drains_in_order(&timers);
}

static int levels(int size)
{
    int count = 0;
    for (int full = 0, level = 1; full < size; full += level, level *= 4)
        count++;
    return count;
}

static struct hora__timer_slot seen[COUNT];

static int changed_slots(const struct hora__timer_heap *timers)
{
    int changed = 0;
    for (int i = 0; i < timers->size; i++)
        changed += hora__slot_node(seen[i]) != hora__slot_node(timers->slots[i]);
    return changed;
}

/* One slot for each level, each chosen among four. */
TEST_REAL(timers_change_one_slot_a_level, "")
{
    struct hora__timer_heap timers;
    int64_t (*const dues[])(int) = {ascending, descending, scattered, same};
    int most = 0;
    for (size_t i = 0; i < sizeof dues / sizeof *dues; i++) {
        fill(&timers, COUNT - 1, dues[i]);
        for (int round = 0; round < 4 * COUNT; round++) {
            memcpy(seen, memory, sizeof seen);
            struct hora__timer_node *timer = hora__slot_node(timers.slots[test_random(COUNT - 1)]);
            hora__timer_heap_remove(&timers, timer);
            int removing = changed_slots(&timers);
            memcpy(seen, memory, sizeof seen);
            hora__timer_heap_push(&timers, timer, dues[i]((int)test_random(COUNT)));
            int pushing = changed_slots(&timers);
            CHECK(removing <= levels(COUNT));
            CHECK(pushing <= levels(COUNT));
            most = removing > most ? removing : most;
        }
    }
    CHECK_INT(levels(COUNT), 6);
    CHECK(most > 2); /* the oracle sees something */
}

TEST_REAL(timers_hold_what_is_theirs_only, "")
{
    struct hora__timer_slot other_memory[4];
    struct hora__timer_heap timers;
    struct hora__timer_heap others = {0};
    fill(&timers, 2, ascending);
    (void)hora__timer_heap_move(&others, other_memory, 4);
    struct hora__timer_node stranger;
    hora__timer_node_init(&stranger);
    CHECK(!hora__timer_heap_holds(&timers, &stranger));
    hora__timer_heap_push(&others, &stranger, 0); /* the same index as timer_array[0] */
    CHECK(hora__timer_heap_holds(&others, &stranger));
    CHECK(!hora__timer_heap_holds(&timers, &stranger));
    CHECK(hora__timer_heap_holds(&timers, &timer_array[1]));
    CHECK(!hora__timer_heap_holds(&others, &timer_array[1])); /* its index is beyond the others' size */
    hora__timer_heap_remove(&others, &stranger);
    CHECK(!hora__timer_heap_holds(&others, &stranger));
}

/* Moving keeps the timers and hands the old memory back; in the end the memory can be taken away. */
TEST_REAL(timers_move, "")
{
    struct hora__timer_slot small[5];
    struct hora__timer_heap timers;
    fill(&timers, 4, descending);
    hora__timer_heap_reserve(&timers, 1);
    CHECK_POINTER(hora__timer_heap_move(&timers, small, 5), memory);
    CHECK(hora__timer_heap_is_full(&timers));
    memset(memory, 0, sizeof memory);
    CHECK(hora__timer_heap_check(&timers));
    CHECK_POINTER(hora__timer_heap_move(&timers, memory, 8), small);
    CHECK(!hora__timer_heap_is_full(&timers));
    check_drains_in_order(&timers);
    hora__timer_heap_reserve(&timers, -1);
    CHECK_POINTER(hora__timer_heap_move(&timers, NULL, 0), memory);
    CHECK(hora__timer_heap_is_full(&timers));
    CHECK(hora__timer_heap_check(&timers));
}

/* A timer that is taken out for a while finds its slot when it is put back, whatever was inserted in the
 * meantime. */
TEST_REAL(timers_keep_a_slot_for_who_comes_back, "")
{
    struct hora__timer_slot few[3];
    struct hora__timer_heap timers;
    fill(&timers, 2, ascending);
    (void)hora__timer_heap_move(&timers, few, 3);
    hora__timer_heap_remove(&timers, &timer_array[0]);
    hora__timer_heap_reserve(&timers, 1);
    CHECK(!hora__timer_heap_is_full(&timers));
    hora__timer_node_init(&timer_array[2]);
    timer_array[2].sequence = 2;
    hora__timer_heap_push(&timers, &timer_array[2], 0);
    CHECK(hora__timer_heap_is_full(&timers));
    CHECK_INT(timers.size, 2);
    hora__timer_heap_reserve(&timers, -1);
    hora__timer_heap_push(&timers, &timer_array[0], 0);
    CHECK(hora__timer_heap_is_full(&timers));
    CHECK_INT(timers.reserved, 0);
    CHECK(hora__timer_heap_check(&timers));
}

TEST_REAL(timers_grow_by_doubling, "")
{
    CHECK_INT(hora__timer_heap_larger(0), 64);
    CHECK_INT(hora__timer_heap_larger(63), 64);
    CHECK_INT(hora__timer_heap_larger(64), 128);
    CHECK_INT(hora__timer_heap_larger(100), 200);
    CHECK_INT(hora__timer_heap_larger(1 << 29), HORA__TIMER_HEAP_MOST);
    CHECK_INT(hora__timer_heap_larger((1 << 29) + 1), HORA__TIMER_HEAP_MOST);
    CHECK_INT(hora__timer_heap_larger(HORA__TIMER_HEAP_MOST), HORA__TIMER_HEAP_MOST);
}

TEST_REAL(timers_shrink_below_a_quarter, "")
{
    CHECK_INT(hora__timer_heap_smaller(0, 0), 0);
    CHECK_INT(hora__timer_heap_smaller(0, 8), 8);
    CHECK_INT(hora__timer_heap_smaller(0, 64), 64);
    CHECK_INT(hora__timer_heap_smaller(0, 100), 64);
    CHECK_INT(hora__timer_heap_smaller(0, 128), 64);
    CHECK_INT(hora__timer_heap_smaller(32, 128), 128);
    CHECK_INT(hora__timer_heap_smaller(31, 128), 64);
    CHECK_INT(hora__timer_heap_smaller(256, 1024), 1024);
    CHECK_INT(hora__timer_heap_smaller(255, 1024), 512);
    CHECK_INT(hora__timer_heap_smaller(0, HORA__TIMER_HEAP_MOST), HORA__TIMER_HEAP_MOST / 2);
}

static int moves;

static void move_to(struct hora__timer_heap *timers, int capacity)
{
    if (capacity == timers->capacity)
        return;
    free(hora__timer_heap_move(timers, malloc((size_t)capacity * sizeof *timers->slots), capacity));
    moves++;
}

/* A million scheduled and cancelled leaves no more memory than there was before, and few moves. */
TEST_REAL(timers_memory_follows_their_number, "")
{
    enum { MANY = 1000000 };
    struct hora__timer_heap timers = {0};
    struct hora__timer_node *many = calloc(MANY, sizeof *many);
    moves = 0;
    for (int i = 0; i < MANY; i++) {
        hora__timer_node_init(&many[i]);
        many[i].sequence = (uint64_t)i;
        if (hora__timer_heap_is_full(&timers))
            move_to(&timers, hora__timer_heap_larger(timers.capacity));
        hora__timer_heap_push(&timers, &many[i], (int64_t)test_random(MANY));
    }
    CHECK_INT(timers.capacity, 1 << 20);
    CHECK(hora__timer_heap_check(&timers));
    for (int i = 0; i < MANY; i++) {
        hora__timer_heap_remove(&timers, &many[i]);
        move_to(&timers, hora__timer_heap_smaller(timers.size, timers.capacity));
        CHECK(timers.capacity == HORA__TIMER_HEAP_LEAST || timers.size >= timers.capacity / 4);
    }
    CHECK_INT(timers.capacity, HORA__TIMER_HEAP_LEAST);
    CHECK_INT(moves, 15 + 14); /* 0 to 64 to 2^20, and back to 64 */
    free(hora__timer_heap_move(&timers, NULL, 0));
    free(many);
}

/* The checker itself notices each kind of damage. */
TEST_REAL(timers_check_notices_damage, "")
{
    struct hora__timer_heap timers;
    fill(&timers, 8, ascending);
    CHECK(hora__timer_heap_check(&timers));
    timer_array[7].index = 6;
    CHECK(!hora__timer_heap_check(&timers));
    timer_array[7].index = 7;
    memory[7].due = 70;
    CHECK(hora__timer_heap_check(&timers));
    memory[7].due = 0; /* its parent is due at 1 */
    CHECK(!hora__timer_heap_check(&timers));
    memory[7].due = 1;
    CHECK(hora__timer_heap_check(&timers));
    timer_array[7].sequence = 0; /* and has the number 1 */
    CHECK(!hora__timer_heap_check(&timers));
    timer_array[7].sequence = 7;
    timers.reserved = COUNT - 7;
    CHECK(!hora__timer_heap_check(&timers));
    timers.reserved = -1;
    CHECK(!hora__timer_heap_check(&timers));
}

static bool is_third(struct hora__timer_node *timer)
{
    if (timer->sequence % 3 != 0)
        return false;
    hora__timer_node_init(timer);
    return true;
}

/* Those that stay are in order, and know where they stand. */
TEST_REAL(timers_leave_many_at_once, "")
{
    struct hora__timer_heap timers;
    int64_t (*const dues[])(int) = {ascending, descending, scattered, same};
    for (size_t i = 0; i < sizeof dues / sizeof *dues; i++)
        for (int count = 0; count < COUNT; count = 2 * count + 1) {
            fill(&timers, count, dues[i]);
            hora__timer_heap_sift_out(&timers, is_third);
            CHECK_INT(timers.size, count - (count + 2) / 3);
            CHECK(hora__timer_heap_check(&timers));
            check_drains_in_order(&timers);
        }
}
