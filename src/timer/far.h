/* SPDX-License-Identifier: Apache-2.0 */
/* far.h - far batches: timers that are not cancelled wait here until their heap needs them
 *
 * What it is for    A heap of a million pays for each timer that leaves with a way through memory that no cache holds. Timers that are untracked
 *                   anyway (timers.h) can wait outside, and come into the heap shortly before they are due: so that stays small.
 * How to use        The owner sees to it that the first of the heap leaves before all that is in the far: whenever that may have changed it
 *                   takes the first out of here and pushes it there, until it holds. For each timer in the far a place
 *                   is kept in the heap (hora__timer_heap_reserve), so that cannot fail. Then only who wants to see all
 *                   timers has to know of the far.
 * Pure              No thread, no clock, no lock. Memory it gets by itself; if there is none it takes nothing in. */
#ifndef HORA_SCHED_ANNEX_H
#define HORA_SCHED_ANNEX_H

#include "timer/heap.h"

/* In the simulator there are small ones, so that they are full. */
#ifdef HORA_SIM
enum { HORA__FAR_BATCH = 2, HORA__FAR_IS_WORTH_IT = 1 };
#else
enum {
    HORA__FAR_BATCH = 253,        /* timers of a batch: what one operation may have to sort or to push */
    HORA__FAR_IS_WORTH_IT = 4096, /* with fewer timers the heap is as fast */
};
#endif

struct hora__far_batch;

/* When the first of a batch is due, and where it stands: see far.c. */
struct hora__far_head {
    int64_t due;
    struct hora__timer_slot *place;
};

/* Empty and without memory when zero, but for `first`: that is to be set to INT64_MAX. */
struct hora__far_batches {
    int64_t first;                /* when the first of all is due; INT64_MAX: there is none */
    int size;                     /* timers that are here */
    int head_count;               /* batches that are full, or have been */
    int head_capacity;            /* places in heads */
    int swept;                    /* the head that was tidied last */
    struct hora__far_head *heads; /* a binary heap of these */
    struct hora__far_batch *open; /* the batch that is being filled, in no order; NULL: none */
    int64_t open_first;           /* when the first of it is due */
    int open_count;               /* timers in it */
};

/* Take a timer in. Whether that was possible. */
__attribute__((warn_unused_result)) bool hora__far_add(struct hora__far_batches *far, struct hora__timer_node *timer,
                                                       int64_t due);

/* Take the first out, and whichever else leaves best with it: they are written to `slots`, as untracked. Returns how many they are, at most
 * HORA__FAR_BATCH; 0: there is none. */
int hora__far_take(struct hora__far_batches *far, struct hora__timer_slot *slots);

/* Of an far that is empty: free its memory. */
void hora__far_free(struct hora__far_batches *far);

/* Whether every invariant holds. O(n). */
bool hora__far_check(const struct hora__far_batches *far);

#endif
