/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a binary heap of (due, sequence, item), in memory that the caller provides
 *
 * Pure: no thread, no clock, no allocation. */
#ifndef HORA_BASE_HEAP_H
#define HORA_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct hora__heap_entry {
    int64_t due;       /* a time, or nothing if `before` does not look at it */
    uint64_t sequence; /* order of insertion, for ties */
    void *item;
};

struct hora__heap {
    struct hora__heap_entry *entries; /* entries[0] is the first to leave */
    int size;
    int capacity;
    uint64_t next_sequence;
    /* Whether a leaves before b by what they are; the heap itself decides ties by sequence. < 0, 0, > 0. */
    int (*compare)(const struct hora__heap_entry *a, const struct hora__heap_entry *b, void *context);
    void *context;
};

/* Move the entries to new, larger memory; returns the old, for the caller to free. */
struct hora__heap_entry *hora__heap_move(struct hora__heap *heap, struct hora__heap_entry *memory, int capacity);

/* Insert. There must be room. */
void hora__heap_push(struct hora__heap *heap, void *item, int64_t due);

/* Remove the first, or the i-th entry of the array, and return its item. The heap must not be empty. */
void *hora__heap_pop(struct hora__heap *heap);
void *hora__heap_remove_at(struct hora__heap *heap, int i);

/* The index of an item's entry that leaves first, -1 if there is none. */
int hora__heap_find(const struct hora__heap *heap, const void *item);

/* Whether every entry leaves no sooner than its parent. */
bool hora__heap_check(const struct hora__heap *heap);

#endif
