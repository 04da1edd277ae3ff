/* SPDX-License-Identifier: Apache-2.0 */
/* far.h - far batches: timers that are due later, in batches that are sorted only when their time comes near
 *
 * Purpose     Each removal from a heap of a million nodes follows a path through memory that no cache holds.
 *             The slots of a batch are read one after the other instead, and only the first slot of each
 *             batch takes part in a tournament, which is small.
 * Slots       Each slot has a due time and a mark (heap.h). Far batches read from the marked memory only the
 *             sequence number in its first eight bytes, and only if two slots are due together. The scheduler
 *             marks timer nodes; the delay queue marks its own records.
 * Batches     The owner adds slots one by one, into an open batch (hora__far_add), or as a batch that it has
 *             filled (hora__far_add_batch). A batch that has become empty is returned to the owner. An owner
 *             that uses hora__far_add provides a free list for the memory of batches.
 * Pure        No thread, no clock, no lock. The caller locks. Only hora__far_reserve and hora__far_add
 *             allocate. */
#ifndef HORA_TIMER_FAR_H
#define HORA_TIMER_FAR_H

#include <assert.h>

#include "sys/free_list.h"
#include "timer/heap.h"

/* BATCH: the most slots of a batch, which is what one operation may have to sort. A batch takes at most 4 KB,
 * and a chunk of a free list has room for 16.
 * IS_WORTH_IT: the number of timers below which a heap is as fast.
 * KEYS: the size of the arrays for sorting, a power of two not less than BATCH.
 * FEW: a batch with at most this many slots is emptied if much memory is wasted.
 * The simulator has small batches, so that few timers fill them. */
#ifdef HORA_SIM
enum { HORA__FAR_BATCH = 2, HORA__FAR_IS_WORTH_IT = 1, HORA__FAR_KEYS = 4, HORA__FAR_FEW = 1 };
#else
enum {
    HORA__FAR_BATCH = 250,
    HORA__FAR_IS_WORTH_IT = 4096,
    HORA__FAR_KEYS = 256,
    HORA__FAR_FEW = HORA__FAR_BATCH / 8,
};
#endif

/* A batch is unsorted while its owner fills it and until its first slot is removed. Then it is sorted. From
 * then on only its head (see far.c) tells which slots have been removed: removing a slot does not write to
 * this end of the memory. */
struct hora__far_batch {
    struct hora__far_batch *next; /* for chains of the owner; far batches do not use it */
    /* While the batch is unsorted: a copy of the slot that will be removed first. The bit HORA__FAR_UNSORTED
     * of its mark is set. */
    struct hora__timer_slot first;
    uint64_t first_sequence; /* sequence number of `first` */
    uint64_t last_sequence;  /* sequence number of the slot appended last */
    int count;               /* slots appended; once sorted, slots[count] is the end mark */
    bool in_sequence;        /* the slots were appended in the order of their sequence numbers */
    uint16_t offset;         /* of a batch that hora__far_add allocated: see sys/free_list.h */
    struct hora__timer_slot slots[HORA__FAR_BATCH + 1];
};

/* The head of the i-th batch and, in the same memory, the i-th match of a tournament among all heads: see
 * far.c. */
struct hora__far_match {
    int64_t head_due;               /* when the first slot of the batch is due; INT64_MAX: no batch */
    struct hora__timer_slot *place; /* that slot, or `first` of an unsorted batch; NULL: no batch */
    int64_t due;                    /* due time of the head that won the match */
    int winner;                     /* index of that head */
};

/* All fields 0 except `first`, which is INT64_MAX, and `memory`: no slots and no memory. */
struct hora__far_batches {
    int64_t first;                  /* when the first slot of all is due; INT64_MAX: there is none */
    int size;                       /* slots in all batches */
    int head_count;                 /* batches, without the open one */
    int head_capacity;              /* entries allocated in heads, an even number */
    int entrants;                   /* heads in the tournament, including absent ones; an even number */
    int swept;                      /* index of the head that hora__far_tidy checked last */
    struct hora__far_match *heads;  /* the tournament; NULL: nothing allocated yet */
    struct hora__far_batch *open;   /* the batch that hora__far_add fills; NULL: none */
    struct hora__free_list *memory; /* of the owner, for hora__far_add; NULL: the owner does not use that */
};

/* ---- filling a batch ---- */

/* The bit of the mark of `first` that is set while a batch is unsorted. Marks of slots have it clear. */
enum { HORA__FAR_UNSORTED = 2 };

/* Makes the batch empty. Does not write to its slots. */
static inline void hora__far_batch_init(struct hora__far_batch *batch)
{
    batch->next = NULL;
    batch->first = (struct hora__timer_slot){.due = INT64_MAX, .mark = NULL};
    batch->last_sequence = 0;
    batch->count = 0;
    batch->in_sequence = true;
}

static inline bool hora__far_batch_is_full(const struct hora__far_batch *batch)
{
    return batch->count == HORA__FAR_BATCH;
}

/* Appends a slot. The batch must not be full. `sequence` is the sequence number in the marked memory. */
static inline void hora__far_batch_append(struct hora__far_batch *batch, struct hora__timer_slot slot,
                                          uint64_t sequence)
{
    assert(batch->count < HORA__FAR_BATCH && ((uintptr_t)slot.mark & HORA__FAR_UNSORTED) == 0);
    batch->slots[batch->count++] = slot;
    batch->in_sequence &= sequence >= batch->last_sequence;
    batch->last_sequence = sequence;
    if (slot.due < batch->first.due || batch->count == 1 ||
        (slot.due == batch->first.due && sequence < batch->first_sequence)) {
        batch->first = (struct hora__timer_slot){slot.due, slot.mark + HORA__FAR_UNSORTED};
        batch->first_sequence = sequence;
    }
}

/* ---- the batches ---- */

/* Makes room for `batches` more batches, in addition to the open one. Returns 0 or HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__far_reserve(struct hora__far_batches *far, int batches);

/* Adds a batch that is not empty. There must be room. The memory belongs to the far batches until one of the
 * functions below returns it. */
void hora__far_add_batch(struct hora__far_batches *far, struct hora__far_batch *batch);

/* Adds a slot to the open batch. Allocates an open batch if there is none. Returns false if there is no
 * memory. */
__attribute__((warn_unused_result)) bool hora__far_add(struct hora__far_batches *far,
                                                       struct hora__timer_slot slot, uint64_t sequence);

/* Returns a batch that hora__far_add allocated to the owner's free list. NULL is allowed. */
void hora__far_batch_free(struct hora__far_batches *far, struct hora__far_batch *batch);

/* Returns the first slot; there must be one. Sorts its batch, and closes the open batch if the slot is in
 * it. */
struct hora__timer_slot hora__far_peek(struct hora__far_batches *far);

/* Returns the sequence number of the first slot; there must be one. Sorts nothing. */
uint64_t hora__far_first_sequence(const struct hora__far_batches *far);

/* Removes the first slot; there must be one. Returns the batch if it has become empty, or NULL; the caller
 * frees or reuses it. So do the functions below that return a batch. *ret_next is the next slot of the same
 * batch, with a mark of NULL if there is none. About as many other slots as there are batches will be removed
 * before it, so this is a good time to prefetch what it marks. */
struct hora__far_batch *hora__far_pop(struct hora__far_batches *far, struct hora__timer_slot *ret_slot,
                                      struct hora__timer_slot *ret_next);

/* If the first slot is in the open batch, removes all slots of that batch, stores them in `slots`, which has
 * room for HORA__FAR_BATCH, and frees the batch. Returns the number of slots; 0: the first slot is in another
 * batch. */
int hora__far_empty_open(struct hora__far_batches *far, struct hora__timer_slot *slots);

/* Saves memory. If all batches together have room for more than four times their slots, checks a few batches.
 * If one has at most HORA__FAR_FEW slots, removes these, stores them in `slots` and their number in
 * *ret_count, and returns the batch. Otherwise stores 0 and returns NULL. Call it for each batch added, or
 * every few removals. */
struct hora__far_batch *hora__far_tidy(struct hora__far_batches *far, struct hora__timer_slot *slots,
                                       int *ret_count);

/* Calls `visit` for each slot, in no particular order. */
void hora__far_each(const struct hora__far_batches *far,
                    void (*visit)(void *context, struct hora__timer_slot slot), void *context);

/* Removes the slot with this mark, which must be present. Searches all slots, so it costs O(n). */
struct hora__far_batch *hora__far_remove(struct hora__far_batches *far, const char *mark);

/* Frees the memory of the tournament. There must be no slots left. */
void hora__far_free(struct hora__far_batches *far);

/* Returns true if every invariant holds. For tests; costs O(n). */
bool hora__far_check(const struct hora__far_batches *far);

#endif
