/* SPDX-License-Identifier: Apache-2.0 */
/* shards_inside.h - posting into a shard, which is on the way of every timer; see shards.c */
#ifndef HORA_SCHED_SHARDS_INSIDE_H
#define HORA_SCHED_SHARDS_INSIDE_H

#include "base/fault.h"
#include "base/inline.h"
#include "sched/scheduled.h"
#include "sched/shards.h"

/* The reading, and the shard, so that each gives others. Within a shard they rise also if the clock should not. */
HORA__INLINE uint64_t hora__shard_number_by_clock_locked(const struct hora__shards *shards, struct hora__shard *shard,
                                                         hora_ns now)
{
    uint64_t number = (uint64_t)now * HORA__SHARDS_MOST + (uint64_t)(shard - shards->shards);
    if (number <= shard->last_number)
        number = shard->last_number + HORA__SHARDS_MOST;
    shard->last_number = number;
    return number;
}

HORA__INLINE uint64_t hora__shard_number_locked(struct hora__shards *shards, struct hora__shard *shard, hora_ns now)
{
    if (!shards->by_clock)
        return (uint64_t)hora__counter_next(&shards->last_number);
    return hora__shard_number_by_clock_locked(shards, shard, now);
}

/* With the lock, before anything is looked at that decides whether the caller may post: from now on those who go through
 * the lanes look into this one. It stays so until they have emptied it, so most calls store nothing. */
HORA__INLINE void hora__shard_is_filled(struct hora__shard *shard)
{
    if (__builtin_expect(hora__atomic_load_relaxed(&shard->filled) == 0, 0)) {
        HORA__ORDER_FAULT(SHARD_FILLED_RELAXED, memory_order_release);
        hora__atomic_store(&shard->filled, 1);
    }
}

/* With the lock: whether something with this due time may be posted. */
HORA__INLINE bool hora__shard_admits(const struct hora__shards *shards, const struct hora__shard *shard, hora_ns due,
                                     const struct hora__posting *posting)
{
    if (shard->count == HORA__SHARD_ROOM)
        return false;
    if (due <= hora__atomic64_load(&shards->floor) && !HORA__FAULT(SHARD_BELOW_FLOOR))
        return false;
    return hora__atomic_load(posting->gate) < posting->closed || HORA__FAULT(SHARD_GATE_UNSEEN);
}

/* The same: post it, and give it its number. */
HORA__INLINE void hora__shard_append(struct hora__shards *shards, struct hora__shard *shard, struct hora__posted posted,
                                     hora_ns now)
{
    posted.entry->by_due.sequence = hora__shard_number_locked(shards, shard, now);
    shard->posted[shard->count++] = posted;
    hora__counter_add_alone(&shard->branch.posted, 1);
}

HORA__INLINE bool hora__shards_is_ahead(struct hora__shards *shards, hora_ns due)
{
    return due < hora__atomic64_load(&shards->horizon);
}

/* Post into the future's own shard; it is ready to be taken by anyone. The gate as in struct hora__posting; `now` is when the call that posts it
 * began. If told so, and it is let in, it begins to belong to the agenda with that. */
HORA__INLINE enum hora__post hora__shards_post(struct hora__shards *shards, struct hora__scheduled *scheduled,
                                               hora_ns now, const struct hora__posting *posting, bool moves_in)
{
    struct hora__shard *shard = &shards->shards[scheduled->shard];
    hora_ns due = scheduled->planned;
    hora__mutex_lock_as(&shard->lock, HORA__RANK_INBOX);
    hora__shard_is_filled(shard);
    bool open = hora__shard_admits(shards, shard, due, posting);
    if (open) {
        hora__shard_append(shards, shard, (struct hora__posted){due, &scheduled->entry}, now);
        scheduled->spot = (uint16_t)shard->count;                       /* I1 */
        shard->housed += moves_in && !HORA__FAULT(SHARD_HOUSES_NOBODY); /* I3 */
    }
    hora__mutex_unlock_as(&shard->lock, HORA__RANK_INBOX);
    if (!open)
        return HORA__POST_REFUSED;
    return hora__shards_is_ahead(shards, due) ? HORA__POSTED_AHEAD : HORA__POSTED;
}

#endif
