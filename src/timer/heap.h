/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a heap of timer nodes, ordered by due time, in memory that the caller provides
 *
 * Purpose     The owner of timers asks three things: which one is due first, add this one, and remove this
 *             one, wherever it stands. Each costs O(log n), and a removed timer leaves nothing behind.
 * Order       By due time, then by sequence number. The order is total: timers due together leave in the
 *             order of their numbers.
 * Pure        No thread, no clock, no lock. The caller locks and knows the time. Only make_room and save_room
 *             allocate. */
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

/* The part of a timed thing that the heap knows. There may be millions of nodes. Therefore only the heap
 * stores the due time, and the node has no padding: the enclosing struct uses those bytes. */
struct __attribute__((packed, aligned(4))) hora__timer_node {
    uint64_t sequence; /* of nodes due together the smaller leaves first; unique, and constant in a heap */
    int index;         /* position in the heap, or HORA__NODE_OUT */
};

/* A node and its due time. Most comparisons need only the due time and do not follow the pointer. */
struct hora__timer_slot {
    int64_t due;
    char *mark; /* the first byte of a tracked node, the second byte of an untracked one */
};

/* An untracked node does not learn its position when others move it: that saves writing to it. Only the first
 * node of a heap can be removed if it is untracked. */
static inline bool hora__slot_is_untracked(struct hora__timer_slot slot)
{
    return ((uintptr_t)slot.mark & 1) != 0;
}

static inline struct hora__timer_node *hora__slot_node(struct hora__timer_slot slot)
{
    return (struct hora__timer_node *)(void *)(slot.mark - hora__slot_is_untracked(slot));
}

static inline struct hora__timer_slot hora__slot_tracked(struct hora__timer_node *node, int64_t due)
{
    return (struct hora__timer_slot){.due = due, .mark = (char *)node};
}

static inline struct hora__timer_slot hora__slot_untracked(struct hora__timer_node *node, int64_t due)
{
    return (struct hora__timer_slot){.due = due, .mark = (char *)node + 1};
}

/* Empty and without memory when zero. */
struct hora__timer_heap {
    struct hora__timer_slot *slots; /* slots[0] is due first */
    int size;
    int capacity;
    int reserved;  /* slots promised to nodes that come, or come back, later: see hora__timer_heap_reserve */
    int untracked; /* nodes that do not know their position */
};

/* Initialize a node that is in no heap. */
static inline void hora__timer_node_init(struct hora__timer_node *node)
{
    node->sequence = 0;
    node->index = HORA__NODE_OUT;
}

/* Move to other memory, larger or smaller, with room for size + reserved. Returns the old memory, for the
 * caller to free. NULL and 0 take the memory from a heap that holds and promises nothing. */
struct hora__timer_slot *hora__timer_heap_move(struct hora__timer_heap *heap, struct hora__timer_slot *memory,
                                               int capacity);

/* The capacity to move to. `larger`: when full; returns the same capacity if none is larger. `smaller`: after
 * a removal; returns the same capacity if moving is not worth it. `used` is size + reserved. Growing doubles,
 * and shrinking halves a heap that is less than a quarter full. So the number of operations between two moves
 * is proportional to the slots moved, and memory follows use. */
int hora__timer_heap_larger(int capacity);
int hora__timer_heap_smaller(int used, int capacity);

/* The due time of the second node; INT64_MAX if there is none. */
int64_t hora__timer_heap_second_due(const struct hora__timer_heap *heap);

/* Whether there is no room to push or to reserve a slot. */
bool hora__timer_heap_is_full(const struct hora__timer_heap *heap);

/* Insert a node that is in no heap. There must be room. */
void hora__timer_heap_push(struct hora__timer_heap *heap, struct hora__timer_node *node, int64_t due);

/* Insert an untracked node. */
void hora__timer_heap_push_untracked(struct hora__timer_heap *heap, struct hora__timer_node *node,
                                     int64_t due);

/* Turn all untracked nodes into tracked ones. */
void hora__timer_heap_track_all(struct hora__timer_heap *heap);

/* The due time of a node of this heap. The node is tracked, or the first. */
int64_t hora__timer_heap_due(const struct hora__timer_heap *heap, const struct hora__timer_node *node);

/* The node that is due first, NULL if there is none. */
static inline struct hora__timer_node *hora__timer_heap_first(const struct hora__timer_heap *heap)
{
    return heap->size > 0 ? hora__slot_node(heap->slots[0]) : NULL;
}

/* Remove a node of this heap. The node is tracked, or the first. */
void hora__timer_heap_remove(struct hora__timer_heap *heap, struct hora__timer_node *node);

/* Remove the last slot of the array, which is not one of the first to leave; the heap must not be empty. */
struct hora__timer_slot hora__timer_heap_remove_last(struct hora__timer_heap *heap);

/* Remove all nodes for which `leaves` returns true. That function marks them as out; the heap does not touch
 * them afterwards. None of them is untracked. */
void hora__timer_heap_sift_out(struct hora__timer_heap *heap, bool (*leaves)(struct hora__timer_node *node));

/* Put `other`, which is in no heap, into the position of `node`, with its sequence. `node` is out then. */
void hora__timer_heap_replace(struct hora__timer_heap *heap, struct hora__timer_node *node,
                              struct hora__timer_node *other);

/* Whether this heap holds the node. The node may be in another heap, or in none. */
static inline bool hora__timer_heap_holds(const struct hora__timer_heap *heap,
                                          const struct hora__timer_node *node)
{
    return node->index >= 0 && node->index < heap->size && hora__slot_node(heap->slots[node->index]) == node;
}

/* Reserve so many slots more, or release some if negative. A periodic timer runs outside of the heap: remove
 * and reserve(+1) when it leaves, reserve(-1) and push when it comes back. Coming back needs no memory, so it
 * cannot fail. There must be room. */
void hora__timer_heap_reserve(struct hora__timer_heap *heap, int by);

/* Make room for one more node. HORA_ENOMEM, HORA_EFULL. */
__attribute__((warn_unused_result)) int hora__timer_heap_make_room(struct hora__timer_heap *heap);

/* Return memory that is little used. Without memory to move to, the heap stays where it is. */
void hora__timer_heap_save_room(struct hora__timer_heap *heap);

/* Whether every invariant holds. O(n). */
bool hora__timer_heap_check(const struct hora__timer_heap *heap);

#endif
