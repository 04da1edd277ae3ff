/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of (due, sequence, item) in memory that the caller provides
 *
 * Pure: no thread, no clock, no allocation. Two items that compare equal leave in order of insertion. */
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
    struct hora__heap_entry *entries; /* entries[0] leaves first */
    int size;
    int capacity;
    uint64_t next_sequence;
    /* Returns < 0 if a leaves before b, > 0 if after, and 0 to let the heap decide by sequence. */
    int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context);
    void *context;
};

/* Moves the entries to larger memory. Returns the old memory, which the caller frees. */
struct hora__heap_entry *hora__heap_move(struct hora__heap *heap, struct hora__heap_entry *memory,
                                         int capacity);

/* Inserts an item. There must be room. */
void hora__heap_push(struct hora__heap *heap, void *item, int64_t due);

/* Remove the first entry, or the i-th of the array, and return its item. The entry must exist. */
void *hora__heap_pop(struct hora__heap *heap);
void *hora__heap_remove_at(struct hora__heap *heap, int i);

/* Returns the index of the first entry of this item to leave, or -1. */
int hora__heap_find(const struct hora__heap *heap, const void *item);

#endif
