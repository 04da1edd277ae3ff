/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - a binary heap; insertion and removal cost O(log n), finding costs O(n)
 *
 * Invariants        I1 no entry is removed before its parent.
 *                   I2 0 <= size <= capacity.
 *                   I3 sequence numbers are unique, so the order is total, and equal items are removed in
 *                   order of insertion. */
#include "base/heap.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/build.h"

/* Returns true if a is removed before b. */
static bool before(const struct hora__heap *heap, const struct hora__heap_entry *a,
                   const struct hora__heap_entry *b)
{
    int order = heap->compare(a, b, heap->context);
    return order < 0 || (order == 0 && a->sequence < b->sequence); /* I3 */
}

/* The entries keep their positions, so I1 needs no repair. */
struct hora__heap_entry *hora__heap_move(struct hora__heap *heap, struct hora__heap_entry *memory,
                                         int capacity)
{
    assert(capacity >= heap->size);
    struct hora__heap_entry *old = heap->entries;
    HORA__TOUCH_PREPAID(heap->size);
    if (heap->size > 0)
        memcpy(memory, old, (size_t)heap->size * sizeof *memory);
    heap->entries = memory;
    heap->capacity = capacity;
    return old;
}

/* Stores `entry` at i or at an ancestor of i, where I1 holds. The entry at i is a hole. Entries on the path
 * move down into the hole; `entry` itself is written once, at the end. */
static void sift_up(struct hora__heap *heap, int i, struct hora__heap_entry entry)
{
    assert(i >= 0 && i < heap->size); /* I2 */
    HORA__TOUCH(1);
    while (i > 0) {
        HORA__TOUCH(1);
        int parent = (i - 1) / 2;
        if (!before(heap, &entry, &heap->entries[parent]))
            break;
        heap->entries[i] = heap->entries[parent];
        i = parent;
    }
    heap->entries[i] = entry;
}

/* Stores `entry` at i or at a descendant of i, where I1 holds. The entry at i is a hole. Entries on the path
 * move up into the hole. */
static void sift_down(struct hora__heap *heap, int i, struct hora__heap_entry entry)
{
    assert(i >= 0 && i < heap->size); /* I2 */
    HORA__TOUCH(1);
    while (i < heap->size / 2) { /* i has a child; written so that 2 * i cannot overflow */
        HORA__TOUCH(2);
        int child = 2 * i + 1;
        if (child + 1 < heap->size && before(heap, &heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(heap, &heap->entries[child], &entry))
            break;
        heap->entries[i] = heap->entries[child];
        i = child;
    }
    heap->entries[i] = entry;
}

/* Appends a hole and moves it up to the position of the new entry. */
void hora__heap_push(struct hora__heap *heap, void *item, int64_t due)
{
    assert(heap->size < heap->capacity); /* I2 */
    struct hora__heap_entry entry = {.due = due, .sequence = heap->next_sequence++, .item = item};
    sift_up(heap, heap->size++, entry);
}

void *hora__heap_remove_at(struct hora__heap *heap, int i)
{
    assert(i >= 0 && i < heap->size);
    void *item = heap->entries[i].item;
    struct hora__heap_entry last = heap->entries[--heap->size];
    if (i < heap->size) {
        /* The last entry fills the hole. It may belong above or below the hole. */
        if (i > 0 && before(heap, &last, &heap->entries[(i - 1) / 2]))
            sift_up(heap, i, last);
        else
            sift_down(heap, i, last);
    }
    return item;
}

void *hora__heap_pop(struct hora__heap *heap)
{
    assert(heap->size > 0);
    return hora__heap_remove_at(heap, 0);
}

/* The heap is not sorted, and `compare` need not distinguish items, so all entries are searched. */
int hora__heap_find(const struct hora__heap *heap, const void *item)
{
    assert(heap->size >= 0 && heap->size <= heap->capacity); /* I2 */
    int found = -1;
    HORA__TOUCH(heap->size);
    for (int i = 0; i < heap->size; i++)
        if (heap->entries[i].item == item &&
            (found < 0 || before(heap, &heap->entries[i], &heap->entries[found])))
            found = i;
    return found;
}
