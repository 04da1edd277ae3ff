/* SPDX-License-Identifier: Apache-2.0 */
/* far.h - far batches: timers that are due later stand in batches, which are sorted when their first timer
 * leaves
 *
 * Purpose     A heap of a million nodes pays for each node that leaves with a path through memory that no
 *             cache holds. A batch is read along memory, and only the first slot of each batch takes part in
 *             a tournament, which is small.
 * Slots       Each slot has a due time and a mark (heap.h). Far batches read from the marked memory only the
 *             sequence number in its first eight bytes, and only if two slots are due together. The scheduler
 *             marks timer nodes; the delay queue marks records of its own.
 * Batches     Slots come one by one, into an open batch (hora__far_add), or as a batch that the owner has
 *             filled (hora__far_add_batch). A batch that has become empty is the owner's again.
 * Pure        No thread, no clock, no lock. */
#ifndef HORA_TIMER_FAR_H
#define HORA_TIMER_FAR_H

#include <assert.h>

#include "timer/heap.h"

/* The simulator has small batches, so that they are full. */
#ifdef HORA_SIM
enum { HORA__FAR_BATCH = 2, HORA__FAR_IS_WORTH_IT = 1, HORA__FAR_KEYS = 4, HORA__FAR_FEW = 1 };
#else
enum {
    HORA__FAR_BATCH =
        250, /* slots of a batch: what one operation may have to sort; with malloc's header at most 4 KB */
    HORA__FAR_IS_WORTH_IT = 4096,        /* with fewer timers a heap is as fast */
    HORA__FAR_KEYS = 256,                /* a power of two, not less than HORA__FAR_BATCH */
    HORA__FAR_FEW = HORA__FAR_BATCH / 8, /* so few slots do not deserve a batch, if memory is wasted */
};
#endif

/* While its owner fills it, and until its first slot leaves, a batch is in no order. Then it is sorted, and
 * its head (see far.c) alone knows which slots have left: taking a slot does not touch this end of the
 * memory. */
struct hora__far_batch {
    struct hora__far_batch *next; /* the owner's, for chains */
    struct hora__timer_slot
        first; /* of a batch in no order: the slot that leaves first; its mark says that there is no order */
    uint64_t first_sequence; /* of `first` */
    uint64_t last_sequence;  /* of the slot appended last */
    int count;               /* slots appended; once sorted, slots[count] is the end mark */
    bool in_sequence;        /* the slots were appended in the order of their sequence numbers */
    struct hora__timer_slot slots[HORA__FAR_BATCH + 1];
};

/* The head of the i-th batch and, in the same memory, the i-th match of a tournament among all heads: see
 * far.c. */
struct hora__far_match {
    int64_t head_due;               /* when the first slot of the batch is due */
    struct hora__timer_slot *place; /* that slot, or `first` of a batch in no order; NULL: no batch */
    int64_t due;                    /* of the winner of the match, */
    int winner;                     /* which is the head with this index */
};

/* Empty and without memory when zero, but for `first`, which must be INT64_MAX. */
struct hora__far_batches {
    int64_t first;     /* when the first slot of all is due; INT64_MAX if there is none */
    int size;          /* slots */
    int head_count;    /* batches but for the open one */
    int head_capacity; /* an even number */
    int entrants;      /* heads that take part in the tournament, absent ones included; an even number */
    int swept;         /* the head that was tidied last */
    struct hora__far_match *heads; /* a tournament */
    struct hora__far_batch *open;  /* the batch that hora__far_add fills; NULL: none */
};

/* ---- filling a batch ---- */

/* The mark of a batch in no order: bit 1 of the first slot's mark. */
enum { HORA__FAR_UNSORTED = 2 };

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

/* There must be room. `sequence` is the number in the marked memory. */
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

/* Make room for so many batches more, beside the open one. HORA_ENOMEM. */
__attribute__((warn_unused_result)) int hora__far_reserve(struct hora__far_batches *far, int batches);

/* Add a batch that is not empty. There must be room. */
void hora__far_add_batch(struct hora__far_batches *far, struct hora__far_batch *batch);

/* Add a slot to the open batch, which is made with hora__alloc if there is none. Returns false without
 * memory. */
__attribute__((warn_unused_result)) bool hora__far_add(struct hora__far_batches *far,
                                                       struct hora__timer_slot slot, uint64_t sequence);

/* The first slot; there must be one. Sorts its batch, and closes the open batch if the slot is there. */
struct hora__timer_slot hora__far_peek(struct hora__far_batches *far);

/* The sequence number of the first slot; there must be one. */
uint64_t hora__far_first_sequence(const struct hora__far_batches *far);

/* Remove the first slot; there must be one. Here and below: returns a batch that has become empty, which is
 * the caller's, or NULL. *ret_next is the next slot of the same batch; mark NULL: none. It leaves after about
 * as many others as there are batches, so it is time to prefetch it. */
struct hora__far_batch *hora__far_pop(struct hora__far_batches *far, struct hora__timer_slot *ret_slot,
                                      struct hora__timer_slot *ret_next);

/* Remove all slots of the open batch, if the first slot is there. Writes them, returns how many they are, and
 * frees the batch. */
int hora__far_empty_open(struct hora__far_batches *far, struct hora__timer_slot *slots);

/* If the memory of all batches is for more than four times their slots, look at some batches. If one has at
 * most HORA__FAR_FEW slots, remove them all and return the batch; *ret_count slots are written. To be called
 * for each batch added, or every few removals. */
struct hora__far_batch *hora__far_tidy(struct hora__far_batches *far, struct hora__timer_slot *slots,
                                       int *ret_count);

/* Call `visit` for each slot, in no order. */
void hora__far_each(const struct hora__far_batches *far,
                    void (*visit)(void *context, struct hora__timer_slot slot), void *context);

/* Remove the slot with this mark, which must be there. Looks at all slots. */
struct hora__far_batch *hora__far_remove(struct hora__far_batches *far, const char *mark);

/* Free the memory of far batches that are empty. */
void hora__far_free(struct hora__far_batches *far);

/* Whether every invariant holds. O(n). */
bool hora__far_check(const struct hora__far_batches *far);

#endif
