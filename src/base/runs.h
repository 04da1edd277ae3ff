/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - a store of (due, sequence, item) for many elements of which most leave by their time
 *
 * Elements come one by one, or as a run: a piece of memory with many of them, in any order. Pure: no thread, no clock, no
 * allocation; memory is the caller's, and comes back to it. base/heap.h is the same for few elements, or for an order of the
 * user's own. */
#ifndef HORA_BASE_RUNS_H
#define HORA_BASE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"

enum {
    HORA__RUN_LENGTH = 256,        /* elements of a run, at most */
    HORA__GROUP_LENGTH = 4,        /* runs of a group, at most: what one operation may have to sort */
    HORA__RUN_IS_WORTH_IT = 64,    /* fewer elements should come one by one: a run has memory for all */
    HORA__RUNS_MOST_SINGLES = 512, /* elements that are in no run */
};

/* While it is filled, and until its first element leaves, a run is in no order. Then it is sorted, and what has left is known by the
 * head alone: who takes elements does not come to this end of the memory. Full runs that come together may be a group, which is
 * sorted as a whole, and then left run by run. */
struct hora__run {
    struct hora__run *next;        /* in a store: the next of the group; else the caller's */
    struct hora__heap_entry first; /* of a group in no order, in its first run: what leaves first, with item NULL */
    int count; /* entries[0 .. count - 1] are there, unless it is sorted and the first of its group */
    struct hora__heap_entry entries[HORA__RUN_LENGTH + 1]; /* the last of a sorted run has item NULL: see runs.c */
};

/* What stands in a heap: half of what decides, and where the rest is. */
struct hora__head {
    int64_t due;
    struct hora__heap_entry *place;
};

/* The i-th run's head and, in the same memory, the i-th match of a tournament among all heads: see runs.c. */
struct hora__match {
    struct hora__head head;
    int64_t due; /* of the winner, */
    int winner;  /* which is the head of this index */
};

struct hora__runs {
    struct hora__head singles[HORA__RUNS_MOST_SINGLES];     /* a heap of elements that are in no run, */
    struct hora__match *heads;                              /* and a tournament of runs, each by its first element */
    struct hora__heap_entry slots[HORA__RUNS_MOST_SINGLES]; /* the elements that are in no run, and */
    struct hora__heap_entry *free_slot; /* those slots that are free; each one's item is the next; NULL: no more */
    int single_count;
    int run_count;
    int head_count; /* groups */
    int head_capacity;
    int entrants; /* heads that take part: those that are there, and others that lose against all; an even number */
    int size;     /* elements, in both */
    int swept;    /* the head that was tidied last */
    uint64_t keys[2][HORA__GROUP_LENGTH * HORA__RUN_LENGTH]; /* memory to sort with */
};

/* By what is in the entries. Without branches: which of two comes first cannot be foretold. */
static inline bool hora__entry_is_before(const struct hora__heap_entry *a, const struct hora__heap_entry *b)
{
    return (a->due < b->due) | ((a->due == b->due) & (a->sequence < b->sequence));
}

/* ---- a run that is being filled ---- */

static inline void hora__run_init(struct hora__run *run)
{
    run->next = NULL;
    run->count = 0;
    run->first = (struct hora__heap_entry){.due = INT64_MAX, .sequence = UINT64_MAX};
}

static inline bool hora__run_is_full(const struct hora__run *run)
{
    return run->count == HORA__RUN_LENGTH;
}

/* There must be room. Sequences must grow. */
static inline void hora__run_append(struct hora__run *run, int64_t due, uint64_t sequence, void *item)
{
    run->entries[run->count++] = (struct hora__heap_entry){.due = due, .sequence = sequence, .item = item};
    if (due < run->first.due || run->count == 1) {
        run->first.due = due;
        run->first.sequence = sequence;
    }
}

/* ---- the store ---- */

/* All else must be zero. */
void hora__runs_init(struct hora__runs *runs);

/* Move the heads to new, larger memory, at least for two; returns the old, for the caller to free. */
struct hora__match *hora__runs_move(struct hora__runs *runs, struct hora__match *memory, int capacity);

/* Add an element, if there is room in singles[]. */
void hora__runs_push(struct hora__runs *runs, const struct hora__heap_entry *entry);

/* Add a run with elements in it, if there is room in heads[]. */
void hora__runs_add(struct hora__runs *runs, struct hora__run *run);

/* The same for a group of runs, linked to the last, which is linked to NULL. All are full, and sequences grow from one to the next. */
void hora__runs_add_group(struct hora__runs *runs, struct hora__run *first);

/* Make room in singles[]: the last go into this run, which is empty. There must be some, and room in heads[]. */
void hora__runs_pack(struct hora__runs *runs, struct hora__run *run);

/* If the runs have become too empty on the whole, look at some of them, and move the elements of one that has few to the singles. Returns
 * that run, or NULL. To be called for each run that is added. */
struct hora__run *hora__runs_tidy(struct hora__runs *runs);

/* Whether a leaves before b. That two are due at the same time is rare, so their sequences stand elsewhere. */
static inline bool hora__head_is_before(const struct hora__head *a, const struct hora__head *b)
{
    bool is_before = a->due < b->due;
    if (__builtin_expect(a->due == b->due, false))
        is_before = a->place->sequence < b->place->sequence;
    return is_before;
}

/* The first element; the store must not be empty. */
static inline const struct hora__head *hora__runs_first(const struct hora__runs *runs)
{
    if (runs->head_count == 0)
        return &runs->singles[0];
    const struct hora__head *first = &runs->heads[runs->heads[1].winner].head;
    return runs->single_count > 0 && hora__head_is_before(&runs->singles[0], first) ? &runs->singles[0] : first;
}

/* The item of the first element; the store must not be empty. */
void *hora__runs_peek(struct hora__runs *runs);

/* Remove the first element, and return its item; the store must not be empty. Here and below: a run that has become empty is the
 * caller's again, else *ret_empty is NULL. */
void *hora__runs_pop(struct hora__runs *runs, struct hora__run **ret_empty);

/* Remove any element, and return its item; the store must not be empty. */
void *hora__runs_strip(struct hora__runs *runs, struct hora__run **ret_empty);

/* Whether the item is there; removes that of its elements which would leave first, if told so. */
bool hora__runs_find(struct hora__runs *runs, const void *item, bool remove, struct hora__run **ret_empty);

/* Write the items of `max` elements, or of all. */
void hora__runs_copy(const struct hora__runs *runs, void **items, int max);

/* Whether all is as the invariants say. */
bool hora__runs_check(const struct hora__runs *runs);

#endif
