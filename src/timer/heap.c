/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - a 4-ary heap with the due times inline, whose nodes know their positions
 *
 * Why 4-ary    With four children per slot the heap is half as high as a binary one. An insertion moves half
 *              as many slots. A removal compares four neighbours, 64 bytes, where a binary heap compares two
 *              pairs that are far apart.
 * Mechanism    The children of slot i are 4i + 1 to 4i + 4. A tracked node knows its index, so that it is
 *              removed without a search. Slots on the path move into the hole; the slot that is inserted is
 *              written once, at the end. Every move goes through place(), which updates the index. A removal
 *              fills its hole with the last slot. That slot comes from another branch and may belong above or
 *              below the hole.
 *
 * Invariants   I1 each slot is removed before its children.
 *              I2 the node of slots[i] has index i if it is tracked, else HORA__NODE_OUT. `untracked` counts
 *                 the latter.
 *              I3 0 <= size, 0 <= reserved, size + reserved <= capacity <= HORA__TIMER_HEAP_MOST.
 *              I4 sequence numbers are unique, so the order is total. */
#include "timer/heap.h"

#include <hora/error.h>

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/build.h"
#include "sys/alloc.h"

/* CHILDREN: of each slot. LINE: the size of the children of a slot in bytes, a cache line. */
enum { CHILDREN = 4, LINE = CHILDREN * sizeof(struct hora__timer_slot) };

/* The capacity from which on the memory consists of pages: 64 KB. */
enum { LARGE = HORA__KEPT(4096, 32) };

static_assert(sizeof(struct hora__timer_slot) <= 16, "the children of a slot take no more than a cache line");
static_assert(sizeof(struct hora__timer_node) == 12, "a node has no padding");

/* Returns true if a is removed before b. */
static bool before(struct hora__timer_slot a, struct hora__timer_slot b)
{
    if (a.due != b.due)
        return a.due < b.due;
    assert(hora__slot_node(a)->sequence != hora__slot_node(b)->sequence); /* I4 */
    return hora__slot_node(a)->sequence < hora__slot_node(b)->sequence;
}

static int parent_of(int i)
{
    return (i - 1) / CHILDREN;
}

/* Returns the number of slots that are in use or reserved; the rest of the capacity is room. */
static int used_by(const struct hora__timer_heap *heap)
{
    assert(heap->size >= 0 && heap->reserved >= 0 && heap->reserved <= heap->capacity - heap->size); /* I3 */
    return heap->size + heap->reserved;
}

struct hora__timer_slot *hora__timer_heap_move(struct hora__timer_heap *heap, struct hora__timer_slot *memory,
                                               int capacity)
{
    assert(capacity >= used_by(heap) && capacity <= HORA__TIMER_HEAP_MOST); /* I3 */
    struct hora__timer_slot *old = heap->slots;
    HORA__TOUCH_PREPAID(heap->size);
    if (heap->size > 0)
        memcpy(memory, old, (size_t)heap->size * sizeof *memory);
    heap->slots = memory;
    heap->capacity = capacity;
    return old;
}

int hora__timer_heap_larger(int capacity)
{
    assert(capacity >= 0);
    if (capacity < HORA__TIMER_HEAP_LEAST)
        return HORA__TIMER_HEAP_LEAST;
    return capacity > HORA__TIMER_HEAP_MOST / 2 ? HORA__TIMER_HEAP_MOST : 2 * capacity;
}

int hora__timer_heap_smaller(int used, int capacity)
{
    assert(used >= 0 && used <= capacity);
    if (capacity <= HORA__TIMER_HEAP_LEAST || used >= capacity / 4)
        return capacity;
    return capacity / 2 < HORA__TIMER_HEAP_LEAST ? HORA__TIMER_HEAP_LEAST : capacity / 2;
}

bool hora__timer_heap_is_full(const struct hora__timer_heap *heap)
{
    return used_by(heap) == heap->capacity;
}

void hora__timer_heap_reserve(struct hora__timer_heap *heap, int by)
{
    assert(by >= -heap->reserved && by <= heap->capacity - used_by(heap)); /* I3 */
    heap->reserved += by;
}

/* Writes a slot to position i, and stores that position in its node if the node is tracked. */
static void place(struct hora__timer_heap *heap, int i, struct hora__timer_slot slot)
{
    assert(i >= 0 && i < heap->capacity);
    HORA__TOUCH(1);
    heap->slots[i] = slot;
    if (!hora__slot_is_untracked(slot))
        hora__slot_node(slot)->index = i; /* I2 */
}

/* Stores `slot` in the hole at i or at an ancestor of i, where I1 holds. */
static void sift_up(struct hora__timer_heap *heap, int i, struct hora__timer_slot slot)
{
    assert(i >= 0 && i < heap->size);
    while (i > 0 && before(slot, heap->slots[parent_of(i)])) {
        place(heap, i, heap->slots[parent_of(i)]);
        i = parent_of(i);
    }
    place(heap, i, slot);
}

/* Returns the position of the slot that is removed first among positions first to end - 1. */
static int first_of(const struct hora__timer_heap *heap, int first, int end)
{
    assert(first < end && end <= heap->size);
    for (int child = first + 1; child < end; child++)
        if (before(heap->slots[child], heap->slots[first]))
            first = child;
    return first;
}

/* Of CHILDREN slots, several of which are due first, at `due`: returns the index of the one that is removed
 * first. Without branches, too: periodic tasks that begin together are due together for ever. */
static inline int first_of_tied(const struct hora__timer_slot *child, int64_t due)
{
    uint64_t number[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        uint64_t sequence = hora__slot_node(child[i])->sequence;
        number[i] = child[i].due == due ? sequence : UINT64_MAX;
    }
    int left = number[1] < number[0];
    uint64_t left_number = number[1] < number[0] ? number[1] : number[0];
    int right = 2 + (number[3] < number[2]);
    uint64_t right_number = number[3] < number[2] ? number[3] : number[2];
    assert(left_number != right_number); /* I4 */
    return right_number < left_number ? right : left;
}

/* Returns the child of i that is removed first; i must have a child. The processor cannot predict which of
 * two children is due first, so the comparisons have no branches. If two children that are due first are due
 * together, their sequence numbers decide, which takes following the pointers. A tie of other children does
 * not matter. */
static inline int first_child(const struct hora__timer_heap *heap, int i)
{
    assert((int64_t)CHILDREN * i + 1 < heap->size);
    int first = CHILDREN * i + 1;
    int end = heap->size - first < CHILDREN ? heap->size : first + CHILDREN;
    HORA__TOUCH(end - first);
    if (__builtin_expect(end - first < CHILDREN, false))
        return first_of(heap, first, end);
    const struct hora__timer_slot *child = &heap->slots[first];
    int64_t due_0 = child[0].due, due_1 = child[1].due, due_2 = child[2].due, due_3 = child[3].due;
    int left = due_1 < due_0;
    int64_t left_due = due_1 < due_0 ? due_1 : due_0;
    int right = 2 + (due_3 < due_2);
    int64_t right_due = due_3 < due_2 ? due_3 : due_2;
    int best = right_due < left_due ? right : left;
    int is_tied = right_due < left_due ? due_2 == due_3 : (due_0 == due_1) | (left_due == right_due);
    if (__builtin_expect(is_tied, false))
        return first + first_of_tied(child, right_due < left_due ? right_due : left_due);
    return first + best;
}

/* The second node is a child of the first: I1. */
int64_t hora__timer_heap_second_due(const struct hora__timer_heap *heap)
{
    return heap->size > 1 ? heap->slots[first_child(heap, 0)].due : INT64_MAX;
}

/* Stores `slot` in the hole at i or at a descendant of i, where I1 holds. Returns its final position. The
 * loop prefetches one level ahead: all grandchildren of i, since it is not known yet which are needed. A
 * prefetch beyond the end is harmless. (In a separate function, the compiler would remove the prefetches as
 * dead code.) */
static int sift_down(struct hora__timer_heap *heap, int i, struct hora__timer_slot slot)
{
    int parents = (heap->size + CHILDREN - 2) / CHILDREN; /* slots with children come first */
    while (i < parents) {
        int64_t grandchild = (int64_t)CHILDREN * (CHILDREN * i + 1) + 1;
        if (grandchild < heap->size) {
            const char *line = (const char *)&heap->slots[grandchild];
            __builtin_prefetch(line);
            __builtin_prefetch(line + LINE);
            __builtin_prefetch(line + (ptrdiff_t)2 * LINE);
            __builtin_prefetch(line + (ptrdiff_t)3 * LINE);
        }
        int child = first_child(heap, i);
        if (!before(heap->slots[child], slot))
            break;
        place(heap, i, heap->slots[child]);
        i = child;
    }
    place(heap, i, slot);
    return i;
}

void hora__timer_heap_push(struct hora__timer_heap *heap, struct hora__timer_node *node, int64_t due)
{
    assert(!hora__timer_heap_is_full(heap));
    assert(node->index == HORA__NODE_OUT);
    sift_up(heap, heap->size++, hora__slot_tracked(node, due));
}

void hora__timer_heap_push_untracked(struct hora__timer_heap *heap, struct hora__timer_node *node,
                                     int64_t due)
{
    assert(!hora__timer_heap_is_full(heap));
    assert(node->index == HORA__NODE_OUT);
    heap->untracked++;
    sift_up(heap, heap->size++, hora__slot_untracked(node, due));
}

/* Walks over the array until all untracked nodes have been found. */
void hora__timer_heap_track_all(struct hora__timer_heap *heap)
{
    for (int i = 0; i < heap->size && heap->untracked > 0; i++) {
        HORA__TOUCH_PREPAID(1);
        if (!hora__slot_is_untracked(heap->slots[i]))
            continue;
        heap->slots[i].mark--;
        hora__slot_node(heap->slots[i])->index = i; /* I2 */
        heap->untracked--;
    }
}

/* Returns the position of a node that is tracked, or the first. */
static int index_of(const struct hora__timer_heap *heap, const struct hora__timer_node *node)
{
    if (hora__timer_heap_first(heap) == node)
        return 0;
    assert(hora__timer_heap_holds(heap, node));
    return node->index;
}

int64_t hora__timer_heap_due(const struct hora__timer_heap *heap, const struct hora__timer_node *node)
{
    return heap->slots[index_of(heap, node)].due;
}

/* Fills the hole with the last slot. Moves it down first, because a slot from the end of the array usually
 * belongs there. */
void hora__timer_heap_remove(struct hora__timer_heap *heap, struct hora__timer_node *node)
{
    assert(heap->size > 0);
    int hole = index_of(heap, node);
    heap->untracked -= hora__slot_is_untracked(heap->slots[hole]) ? 1 : 0;
    struct hora__timer_slot last = heap->slots[--heap->size];
    node->index = HORA__NODE_OUT;
    /* If the last slot did not move down from the hole, it may have to move up. */
    if (hole < heap->size && sift_down(heap, hole, last) == hole)
        sift_up(heap, hole, last);
}

struct hora__timer_slot hora__timer_heap_remove_last(struct hora__timer_heap *heap)
{
    assert(heap->size > 0);
    struct hora__timer_slot last = heap->slots[--heap->size];
    heap->untracked -= hora__slot_is_untracked(last) ? 1 : 0;
    hora__slot_node(last)->index = HORA__NODE_OUT;
    return last;
}

/* Compacts the array, then builds the heap anew in O(n). That is cheaper than removing many nodes one by
 * one. */
void hora__timer_heap_sift_out(struct hora__timer_heap *heap, bool (*leaves)(struct hora__timer_node *node))
{
    assert(leaves != NULL);
    int stay = 0; /* nodes kept so far */
    HORA__TOUCH_PREPAID(heap->size);
    for (int i = 0; i < heap->size; i++)
        if (!leaves(hora__slot_node(heap->slots[i])))
            place(heap, stay++, heap->slots[i]);
    heap->size = stay;
    /* Restore I1 from the last parent up, as when a heap is built. */
    for (int i = parent_of(stay - 1); stay > 1 && i >= 0; i--)
        (void)sift_down(heap, i, heap->slots[i]);
}

/* Due time and sequence number stay the same, so the order does not change. */
void hora__timer_heap_replace(struct hora__timer_heap *heap, struct hora__timer_node *node,
                              struct hora__timer_node *other)
{
    assert(hora__timer_heap_holds(heap, node) && other->index == HORA__NODE_OUT);
    int index = node->index;
    other->sequence = node->sequence;
    node->index = HORA__NODE_OUT;
    place(heap, index, hora__slot_tracked(other, heap->slots[index].due));
}

/* ---- memory ---- */

/* Large memory consists of pages, which go back to the system when the heap has become smaller. */
static struct hora__timer_slot *alloc_slots(int capacity)
{
    assert(capacity > 0);
    size_t size = (size_t)capacity * sizeof(struct hora__timer_slot);
    return capacity >= LARGE ? hora__pages_alloc(size) : hora__alloc_dirty(size);
}

static void free_slots(struct hora__timer_slot *slots, int capacity)
{
    if (capacity >= LARGE)
        hora__pages_free(slots, (size_t)capacity * sizeof *slots);
    else
        hora__free(slots);
}

/* Moves the heap to newly allocated memory. Returns 0, HORA_ENOMEM, or HORA_EFULL if the capacity is the
 * same. */
static int resize(struct hora__timer_heap *heap, int capacity)
{
    if (capacity == heap->capacity)
        return HORA_EFULL;
    struct hora__timer_slot *memory = alloc_slots(capacity);
    if (memory == NULL)
        return HORA_ENOMEM;
    int before = heap->capacity;
    free_slots(hora__timer_heap_move(heap, memory, capacity), before);
    return 0;
}

void hora__timer_heap_free(struct hora__timer_heap *heap)
{
    assert(heap->size == 0);
    free_slots(heap->slots, heap->capacity);
    *heap = (struct hora__timer_heap){.slots = NULL};
}

int hora__timer_heap_make_room(struct hora__timer_heap *heap)
{
    return hora__timer_heap_is_full(heap) ? resize(heap, hora__timer_heap_larger(heap->capacity)) : 0;
}

void hora__timer_heap_save_room(struct hora__timer_heap *heap)
{
    int smaller = hora__timer_heap_smaller(used_by(heap), heap->capacity);
    if (smaller != heap->capacity)
        (void)resize(heap, smaller);
}

/* ---- checking ---- */

bool hora__timer_heap_check(const struct hora__timer_heap *heap)
{
    if (heap->size < 0 || heap->reserved < 0 || heap->capacity > HORA__TIMER_HEAP_MOST ||
        heap->reserved > heap->capacity - heap->size)
        return false; /* I3 */
    int untracked = 0;
    for (int i = 0; i < heap->size; i++) {
        struct hora__timer_slot slot = heap->slots[i];
        untracked += hora__slot_is_untracked(slot) ? 1 : 0;
        if (hora__slot_node(slot)->index != (hora__slot_is_untracked(slot) ? HORA__NODE_OUT : i))
            return false; /* I2 */
        if (i > 0 && !before(heap->slots[parent_of(i)], slot))
            return false; /* I1; before() has asserted I4 */
    }
    return untracked == heap->untracked;
}
