/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - a part of a backlog: an array of elements and of tasks by value, from which can be taken without a lock
 *
 * How it works      Who has the queue's lock offers a segment: the entries from one index up to another, the limit. Then each
 *                   who holds it claims the next one by adding 1 to a word that has both, and recall takes back what has not been claimed by
 *                   exchanging the word for one in which the limit is 0: so each entry is either claimed, by one, or recalled.
 *                   A claim beyond the limit is none, and whoever made it goes to the queue's lock.
 * Holding           Who has claimed an entry goes on to read it, and others may claim that know nothing of a recall. So a
 *                   segment is neither used for anything else nor freed while it is held. To hold it and to let it go needs the
 *                   queue's lock, once for many entries.
 * Invariants        I1 claims are made, and entries that were claimed are read, by holders only.
 *                   I2 entries that are offered or have been claimed do not change.
 *                   I3 the index in the word is beyond the limit by at most the number of holders: who has claimed in vain
 *                      does not try again before it has been to the queue's lock, where the word is written anew or the segment let go. */
#ifndef HORA_QUEUE_SEGMENT_H
#define HORA_QUEUE_SEGMENT_H

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/touch.h"
#include "queue/queue.h"
#include "sys/alloc.h"
#include "sys/atomic.h"

enum { HORA__SLOTS = 62, HORA__LIMIT_SHIFT = 24, HORA__INDEX_MASK = (1 << HORA__LIMIT_SHIFT) - 1 };

struct hora__segment {
    struct hora__segment *next;
    int holders;         /* guarded by the queue's lock, as the next */
    bool retired;        /* it is not part of the queue any more: the last who lets it go gives it back */
    char apart[48];      /* the word changes with each task that is taken, */
    hora__atomic claims; /* the limit, above the index of the first entry that has not been claimed */
    char apart_too[60];  /* and each entry has a cache line of its own */
    struct hora__cell entries[HORA__SLOTS];
};

static_assert(sizeof(void *) != 8 || (offsetof(struct hora__segment, claims) == HORA__CACHE_LINE &&
                                      offsetof(struct hora__segment, entries) == 2 * (size_t)HORA__CACHE_LINE &&
                                      sizeof(struct hora__cell) == HORA__CACHE_LINE),
              "cache lines");

static inline void hora__segment_init(struct hora__segment *segment)
{
    segment->next = NULL;
    segment->holders = 0;
    segment->retired = false;
    hora__atomic_init(&segment->claims, 0);
}

/* With the queue's lock. */
static inline void hora__segment_offer(struct hora__segment *segment, int from, int limit)
{
    hora__atomic_store(&segment->claims, limit << HORA__LIMIT_SHIFT | from);
}

/* The same: what is offered is so no more. The index of the first that has not been claimed, or the limit. */
static inline int hora__segment_recall(struct hora__segment *segment)
{
    int32_t word =
        HORA__FAULT(CLAIMS_GO_ON) ? hora__atomic_load(&segment->claims) : hora__atomic_exchange(&segment->claims, 0);
    int index = word & HORA__INDEX_MASK;
    int limit = word >> HORA__LIMIT_SHIFT;
    return index < limit ? index : limit;
}

/* By a holder, without the lock: an entry that is now the caller's; NULL: there is none, go to the queue's lock. */
static inline const struct hora__cell *hora__segment_claim(struct hora__segment *segment)
{
    for (;;) {
        HORA__TOUCH(1);
        int32_t word = hora__atomic_add(&segment->claims, 1);
        int index = word & HORA__INDEX_MASK;
        if (index >= word >> HORA__LIMIT_SHIFT)
            return NULL;
        const struct hora__cell *entry = &segment->entries[index];
        if (!hora__cell_is_hole(entry) || HORA__FAULT(BACKLOG_GIVES_HOLES))
            return entry;
    }
}

/* ---- segments that are kept ---- */

/* They were in use a moment ago, so there is never more memory than was needed at the same time. Each time that there is nothing to take,
 * one of PARTS parts of what is beyond FEW is freed. */
enum { HORA__SEGMENTS_MOST = HORA__KEEPS_MEMORY ? 2048 : 1, HORA__SEGMENTS_FEW = 16, HORA__SEGMENTS_PARTS = 8 };

struct hora__spare_segments {
    struct hora__segment *first;
    int count;
};

static inline void hora__spare_segments_keep(struct hora__spare_segments *spares, struct hora__segment *segment)
{
    if (spares->count == HORA__SEGMENTS_MOST) {
        hora__free(segment);
        return;
    }
    segment->next = spares->first;
    spares->first = segment;
    spares->count++;
}

/* NULL: there is none. */
static inline struct hora__segment *hora__spare_segments_take(struct hora__spare_segments *spares)
{
    struct hora__segment *segment = spares->first;
    if (segment != NULL) {
        spares->first = segment->next;
        spares->count--;
    }
    return segment;
}

static inline void hora__spare_segments_tidy(struct hora__spare_segments *spares)
{
    int excess = spares->count - HORA__SEGMENTS_FEW;
    HORA__TOUCH(excess > 0 ? excess / HORA__SEGMENTS_PARTS : 0);
    for (int i = 0; i < excess; i += HORA__SEGMENTS_PARTS)
        hora__free(hora__spare_segments_take(spares));
}

#endif
