/* SPDX-License-Identifier: Apache-2.0 */
/* timers.c - a 4-ary heap with the times inline, whose timers know where they stand
 *
 * What it is for    See timers.h. A timer that knows its index is removed without being searched for. With four children
 *                   the heap is half as high as a binary one: an insertion moves half as many slots, and a removal looks at
 *                   four neighbours, 64 bytes, where the binary heap looks at two pairs that stand far apart.
 * How it works      The children of slot i are 4i + 1 to 4i + 4. Slots on the way move into the hole; the one in hand is written
 *                   once, at the end. Whatever moves goes through place(), which keeps the index right. A removal fills
 *                   its hole with the last slot, which comes from another branch and may belong above as well as below.
 *
 * Invariants   I1 each slot leaves before its children.
 *              I2 the timer of slots[i] has index i, unless it is a stray; those have HORA__TIMER_OUT. There are `strays` of them.
 *              I3 0 <= size, 0 <= reserved, size + reserved <= capacity <= HORA__TIMERS_MOST.
 *              I4 sequence numbers are unique, so the order is total. */
#include "sched/timers.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/touch.h"

enum { CHILDREN = 4, LINE = CHILDREN * sizeof(struct hora__timer_slot) };

static_assert(sizeof(struct hora__timer_slot) <= 16, "the children of a slot take no more than a cache line");
static_assert(sizeof(struct hora__timer) == 12, "a timer has no padding");

static bool before(struct hora__timer_slot a, struct hora__timer_slot b)
{
    if (a.due != b.due)
        return a.due < b.due;
    assert(hora__slot_timer(a)->sequence != hora__slot_timer(b)->sequence); /* I4 */
    return hora__slot_timer(a)->sequence < hora__slot_timer(b)->sequence;
}

static int parent_of(int i)
{
    return (i - 1) / CHILDREN;
}

/* size + reserved; the rest is room. */
static int used_by(const struct hora__timers *timers)
{
    assert(timers->size >= 0 && timers->reserved >= 0 && timers->reserved <= timers->capacity - timers->size); /* I3 */
    return timers->size + timers->reserved;
}

struct hora__timer_slot *hora__timers_move(struct hora__timers *timers, struct hora__timer_slot *memory, int capacity)
{
    assert(capacity >= used_by(timers) && capacity <= HORA__TIMERS_MOST); /* I3 */
    struct hora__timer_slot *old = timers->slots;
    HORA__TOUCH_PREPAID(timers->size);
    if (timers->size > 0)
        memcpy(memory, old, (size_t)timers->size * sizeof *memory);
    timers->slots = memory;
    timers->capacity = capacity;
    return old;
}

int hora__timers_larger(int capacity)
{
    if (capacity < HORA__TIMERS_LEAST)
        return HORA__TIMERS_LEAST;
    return capacity > HORA__TIMERS_MOST / 2 ? HORA__TIMERS_MOST : 2 * capacity;
}

int hora__timers_smaller(int used, int capacity)
{
    if (capacity <= HORA__TIMERS_LEAST || used >= capacity / 4)
        return capacity;
    return capacity / 2 < HORA__TIMERS_LEAST ? HORA__TIMERS_LEAST : capacity / 2;
}

bool hora__timers_is_full(const struct hora__timers *timers)
{
    return used_by(timers) == timers->capacity;
}

void hora__timers_keep(struct hora__timers *timers, int by)
{
    assert(by >= -timers->reserved && by <= timers->capacity - used_by(timers)); /* I3 */
    timers->reserved += by;
}

static void place(struct hora__timers *timers, int i, struct hora__timer_slot slot)
{
    HORA__TOUCH(1);
    timers->slots[i] = slot;
    if (!hora__slot_is_stray(slot))
        hora__slot_timer(slot)->index = i; /* I2 */
}

static void sift_up(struct hora__timers *timers, int i, struct hora__timer_slot slot)
{
    while (i > 0 && before(slot, timers->slots[parent_of(i)])) {
        place(timers, i, timers->slots[parent_of(i)]);
        i = parent_of(i);
    }
    place(timers, i, slot);
}

static int first_of(const struct hora__timers *timers, int first, int end)
{
    for (int child = first + 1; child < end; child++)
        if (before(timers->slots[child], timers->slots[first]))
            first = child;
    return first;
}

/* The child of i that leaves first; i has one. Which of two is due first cannot be foretold, so that is found without a branch; that
 * two are due together is rare. */
static inline int first_child(const struct hora__timers *timers, int i)
{
    int first = CHILDREN * i + 1;
    int end = timers->size - first < CHILDREN ? timers->size : first + CHILDREN;
    HORA__TOUCH(end - first);
    if (__builtin_expect(end - first < CHILDREN, false))
        return first_of(timers, first, end);
    const struct hora__timer_slot *child = &timers->slots[first];
    int64_t due_0 = child[0].due, due_1 = child[1].due, due_2 = child[2].due, due_3 = child[3].due;
    int left = due_1 < due_0;
    int64_t left_due = due_1 < due_0 ? due_1 : due_0;
    int right = 2 + (due_3 < due_2);
    int64_t right_due = due_3 < due_2 ? due_3 : due_2;
    int best = right_due < left_due ? right : left;
    if (__builtin_expect((due_0 == due_1) | (due_2 == due_3) | (left_due == right_due), false))
        return first_of(timers, first, end);
    return first + best;
}

int64_t hora__timers_second_due(const struct hora__timers *timers)
{
    return timers->size > 1 ? timers->slots[first_child(timers, 0)].due : INT64_MAX;
}

/* Returns where the slot came to stand. What no cache holds is fetched a step ahead: the grandchildren of i, all of them, since it is not known
 * yet which are needed. Where they end nothing is there to be fetched, which does no harm. (In a function of its own the compiler
 * would find that this does nothing.) */
static int sift_down(struct hora__timers *timers, int i, struct hora__timer_slot slot)
{
    int parents = (timers->size + CHILDREN - 2) / CHILDREN; /* slots with a child stand first */
    while (i < parents) {
        int64_t grandchild = (int64_t)CHILDREN * (CHILDREN * i + 1) + 1;
        if (grandchild < timers->size) {
            const char *line = (const char *)&timers->slots[grandchild];
            __builtin_prefetch(line);
            __builtin_prefetch(line + LINE);
            __builtin_prefetch(line + (ptrdiff_t)2 * LINE);
            __builtin_prefetch(line + (ptrdiff_t)3 * LINE);
        }
        int child = first_child(timers, i);
        if (!before(timers->slots[child], slot))
            break;
        place(timers, i, timers->slots[child]);
        i = child;
    }
    place(timers, i, slot);
    return i;
}

void hora__timers_push(struct hora__timers *timers, struct hora__timer *timer, int64_t due)
{
    assert(!hora__timers_is_full(timers));
    assert(timer->index == HORA__TIMER_OUT);
    sift_up(timers, timers->size++, (struct hora__timer_slot){.due = due, .mark = (char *)timer});
}

void hora__timers_push_stray(struct hora__timers *timers, struct hora__timer *timer, int64_t due)
{
    assert(!hora__timers_is_full(timers));
    assert(timer->index == HORA__TIMER_OUT);
    timers->strays++;
    sift_up(timers, timers->size++, (struct hora__timer_slot){.due = due, .mark = (char *)timer + 1});
}

void hora__timers_tell_all(struct hora__timers *timers)
{
    for (int i = 0; i < timers->size && timers->strays > 0; i++) {
        HORA__TOUCH_PREPAID(1);
        if (!hora__slot_is_stray(timers->slots[i]))
            continue;
        timers->slots[i].mark--;
        hora__slot_timer(timers->slots[i])->index = i; /* I2 */
        timers->strays--;
    }
}

/* Where it stands, if it is not a stray, or the first. */
static int index_of(const struct hora__timers *timers, const struct hora__timer *timer)
{
    if (hora__timers_first(timers) == timer)
        return 0;
    assert(hora__timers_holds(timers, timer));
    return timer->index;
}

int64_t hora__timers_due(const struct hora__timers *timers, const struct hora__timer *timer)
{
    return timers->slots[index_of(timers, timer)].due;
}

void hora__timers_remove(struct hora__timers *timers, struct hora__timer *timer)
{
    int hole = index_of(timers, timer);
    timers->strays -= hora__slot_is_stray(timers->slots[hole]) ? 1 : 0;
    struct hora__timer_slot last = timers->slots[--timers->size];
    timer->index = HORA__TIMER_OUT;
    if (hole < timers->size && sift_down(timers, hole, last) == hole)
        sift_up(timers, hole, last);
}

void hora__timers_sift_out(struct hora__timers *timers, bool (*leaves)(struct hora__timer *timer))
{
    int stay = 0;
    HORA__TOUCH_PREPAID(timers->size);
    for (int i = 0; i < timers->size; i++)
        if (!leaves(hora__slot_timer(timers->slots[i])))
            place(timers, stay++, timers->slots[i]);
    timers->size = stay;
    for (int i = parent_of(stay - 1); stay > 1 && i >= 0; i--)
        (void)sift_down(timers, i, timers->slots[i]);
}

void hora__timers_replace(struct hora__timers *timers, struct hora__timer *timer, struct hora__timer *other)
{
    assert(hora__timers_holds(timers, timer) && other->index == HORA__TIMER_OUT);
    int index = timer->index;
    other->sequence = timer->sequence;
    timer->index = HORA__TIMER_OUT;
    place(timers, index, (struct hora__timer_slot){.due = timers->slots[index].due, .mark = (char *)other});
}

bool hora__timers_check(const struct hora__timers *timers)
{
    if (timers->size < 0 || timers->reserved < 0 || timers->capacity > HORA__TIMERS_MOST ||
        timers->reserved > timers->capacity - timers->size)
        return false; /* I3 */
    int strays = 0;
    for (int i = 0; i < timers->size; i++) {
        struct hora__timer_slot slot = timers->slots[i];
        strays += hora__slot_is_stray(slot) ? 1 : 0;
        if (hora__slot_timer(slot)->index != (hora__slot_is_stray(slot) ? HORA__TIMER_OUT : i))
            return false; /* I2 */
        if (i > 0 && !before(timers->slots[parent_of(i)], slot))
            return false; /* I1; before() has asserted I4 */
    }
    return strays == timers->strays;
}
