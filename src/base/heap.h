/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of (due, sequence, item) in memory that the caller provides
 *
 * Pure: no thread, no clock, no allocation. The caller locks, and provides larger memory when the heap is
 * full. Two items that compare equal are removed in order of insertion. The priority queue uses this heap;
 * due times of tasks are in timer/heap.h. */
#ifndef HORA_BASE_HEAP_H
#define HORA_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct hora__heap_entry {
    int64_t due;       /* a time; unused if `compare` does not read it */
    uint64_t sequence; /* order of insertion, decides ties */
    void *item;
};

struct hora__heap {
    struct hora__heap_entry *entries; /* the caller's memory; entries[0] is removed first */
    int size;                         /* entries in use */
    int capacity;                     /* entries that the memory has room for */
    uint64_t next_sequence;           /* the number of the next entry to be inserted */
    /* Returns < 0 if a is removed before b, > 0 if after, and 0 to let the heap decide by sequence. */
    int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context);
    void *context; /* passed to `compare` */
};

/* Moves the entries to other memory with room for `capacity` entries, at least as many as the heap holds. The
 * heap uses it until the next move. Returns the old memory, which the caller frees. */
struct hora__heap_entry *hora__heap_move(struct hora__heap *heap, struct hora__heap_entry *memory,
                                         int capacity);

/* Inserts an item behind all items that compare equal. There must be room. */
void hora__heap_push(struct hora__heap *heap, void *item, int64_t due);

/* Remove the first entry, or the i-th of the array, and return its item. The entry must exist. */
void *hora__heap_pop(struct hora__heap *heap);
void *hora__heap_remove_at(struct hora__heap *heap, int i);

/* Returns the index of the entry that holds this pointer, or -1. If the item was inserted several times,
 * returns the entry that would be removed first. Costs O(n). */
int hora__heap_find(const struct hora__heap *heap, const void *item);

#endif
