/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a heap of timer nodes, ordered by due time, in memory that the caller provides
 *
 * Purpose     The owner of timers needs three operations: find the one that is due first, add one, and remove
 *             one from any position. Finding costs O(1), the others O(log n). A removed timer leaves nothing
 *             behind.
 * Order       By due time, then by sequence number. The order is total: timers due together are removed in
 *             the order of their numbers.
 * Pure        No thread, no clock, no lock. The caller locks and reads the clock. Only make_room and
 *             save_room allocate. */
#ifndef HORA_TIMER_HEAP_H
#define HORA_TIMER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HORA__NODE_OUT = -1,             /* the index of a node that is in no heap */
    HORA__TIMER_HEAP_LEAST = 64,     /* the smallest capacity worth an allocation */
    HORA__TIMER_HEAP_MOST = 1 << 30, /* the largest capacity: the indices of children stay far from INT_MAX */
};

/* The part of a timer that the heap knows; the owner embeds it in its own struct. There may be millions of
 * nodes. Therefore only the heap stores the due time, and the node has no padding: the enclosing struct uses
 * those bytes. */
struct __attribute__((packed, aligned(4))) hora__timer_node {
    uint64_t sequence; /* decides between nodes due together; unique, and constant while in a heap */
    int index;         /* position in the heap, or HORA__NODE_OUT */
};

/* A node and its due time. Most comparisons need only the due time and do not follow the pointer. */
struct hora__timer_slot {
    int64_t due;
    char *mark; /* the first byte of a tracked node, the second byte of an untracked one */
};

/* Returns true if the slot holds an untracked node. The heap does not store the position of an untracked node
 * in the node, which saves writing to its memory when the node moves. An untracked node can be removed only
 * when it is the first one. */
static inline bool hora__slot_is_untracked(struct hora__timer_slot slot)
{
    return ((uintptr_t)slot.mark & 1) != 0;
}

/* Returns the node of a slot. */
static inline struct hora__timer_node *hora__slot_node(struct hora__timer_slot slot)
{
    return (struct hora__timer_node *)(void *)(slot.mark - hora__slot_is_untracked(slot));
}

/* Return a slot for a node that will be tracked, or untracked. */
static inline struct hora__timer_slot hora__slot_tracked(struct hora__timer_node *node, int64_t due)
{
    return (struct hora__timer_slot){.due = due, .mark = (char *)node};
}

static inline struct hora__timer_slot hora__slot_untracked(struct hora__timer_node *node, int64_t due)
{
    return (struct hora__timer_slot){.due = due, .mark = (char *)node + 1};
}

/* All fields 0: empty and without memory. */
struct hora__timer_heap {
    struct hora__timer_slot *slots; /* slots[0] is due first */
    int size;                       /* slots in use */
    int capacity;                   /* slots that the memory has room for */
    int reserved;                   /* free slots kept for later insertions: see hora__timer_heap_reserve */
    int untracked;                  /* nodes in the heap that do not know their position */
};

/* Initialises a node that is in no heap. */
static inline void hora__timer_node_init(struct hora__timer_node *node)
{
    node->sequence = 0;
    node->index = HORA__NODE_OUT;
}

/* Moves the slots to other memory, larger or smaller, which must have room for size + reserved. Returns the
 * old memory, which the caller frees. A memory of NULL and a capacity of 0 take the memory from a heap
 * without nodes and reservations. */
struct hora__timer_slot *hora__timer_heap_move(struct hora__timer_heap *heap, struct hora__timer_slot *memory,
                                               int capacity);

/* Return the capacity to move to: `larger` for a full heap, or the same capacity if that is the largest;
 * `smaller` after a removal, or the same capacity if moving is not worth it. `used` is size + reserved.
 * Growing doubles the capacity, and shrinking halves that of a heap that is less than a quarter full. So the
 * number of operations between two moves is proportional to the slots moved, and memory shrinks with use. */
int hora__timer_heap_larger(int capacity);
int hora__timer_heap_smaller(int used, int capacity);

/* Returns the due time of the node that is due second; INT64_MAX if there is none. */
int64_t hora__timer_heap_second_due(const struct hora__timer_heap *heap);

/* Returns true if there is no room to insert a node or to reserve a slot. */
bool hora__timer_heap_is_full(const struct hora__timer_heap *heap);

/* Inserts a node that is in no heap, and tracks it. There must be room. */
void hora__timer_heap_push(struct hora__timer_heap *heap, struct hora__timer_node *node, int64_t due);

/* Inserts an untracked node that is in no heap. There must be room. */
void hora__timer_heap_push_untracked(struct hora__timer_heap *heap, struct hora__timer_node *node,
                                     int64_t due);

/* Turns all untracked nodes into tracked ones, so that each of them can be removed. */
void hora__timer_heap_track_all(struct hora__timer_heap *heap);

/* Returns the due time of a node of this heap. The node must be tracked, or the first. */
int64_t hora__timer_heap_due(const struct hora__timer_heap *heap, const struct hora__timer_node *node);

/* Returns the node that is due first, or NULL. */
static inline struct hora__timer_node *hora__timer_heap_first(const struct hora__timer_heap *heap)
{
    return heap->size > 0 ? hora__slot_node(heap->slots[0]) : NULL;
}

/* Removes a node of this heap. The node must be tracked, or the first. */
void hora__timer_heap_remove(struct hora__timer_heap *heap, struct hora__timer_node *node);

/* Removes the last slot of the array, which costs O(1), and returns it. It is not due among the first, unless
 * the heap is small. The heap must not be empty. */
struct hora__timer_slot hora__timer_heap_remove_last(struct hora__timer_heap *heap);

/* Removes all nodes for which `leaves` returns true, in O(n). That function sets their index to
 * HORA__NODE_OUT and may free them: the heap does not access them afterwards. It must not return true for an
 * untracked node. */
void hora__timer_heap_sift_out(struct hora__timer_heap *heap, bool (*leaves)(struct hora__timer_node *node));

/* Puts `other`, which is in no heap, into the position of `node`, with the same due time and sequence number.
 * `node` must be tracked, and is in no heap afterwards. */
void hora__timer_heap_replace(struct hora__timer_heap *heap, struct hora__timer_node *node,
                              struct hora__timer_node *other);

/* Returns true if this heap holds the node as a tracked one. The node may be in another heap, or in none. */
static inline bool hora__timer_heap_holds(const struct hora__timer_heap *heap,
                                          const struct hora__timer_node *node)
{
    return node->index >= 0 && node->index < heap->size && hora__slot_node(heap->slots[node->index]) == node;
}

/* Reserves `by` more slots, or releases some if negative. There must be room. A periodic timer is not in the
 * heap while it runs: the owner removes it and reserves a slot, and later releases the slot and inserts it
 * again. The second insertion needs no memory, so it cannot fail. */
void hora__timer_heap_reserve(struct hora__timer_heap *heap, int by);

/* Makes room for one more node. Returns 0, HORA_ENOMEM or, if the capacity is the largest, HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__timer_heap_make_room(struct hora__timer_heap *heap);

/* Moves to smaller memory if little of the current one is used. If that cannot be allocated, the heap stays
 * where it is. */
void hora__timer_heap_save_room(struct hora__timer_heap *heap);

/* Frees the memory that the two functions above have allocated. The heap must be empty. */
void hora__timer_heap_free(struct hora__timer_heap *heap);

/* Returns true if every invariant holds. For tests; costs O(n). */
bool hora__timer_heap_check(const struct hora__timer_heap *heap);

#endif
