/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - posting and cancelling without the agenda's lock
 *
 * How it works      A thread posts into the shard that its number chooses, under the shard's lock, and cancels there by putting the last
 *                   one in the place of the one that goes. Each posted future knows its place (spot), under the same lock.
 * Order             A worker takes what is due by a reading of the clock. It publishes that reading as the floor, goes
 *                   through the shards, and then takes, in order, all that was due by the reading, without looking at them
 *                   again. What is posted later is due later: else, since it looks at the floor under the lock of the
 *                   shard, it is refused, and goes through the lock of the agenda. So nothing that has been scheduled is ever overtaken
 *                   by what is due after it.
 * Waking            Who goes to sleep publishes until when, the horizon, and goes through the shards once more. Who posts looks
 *                   at the horizon after that: either what it posted was seen, or it sees the horizon, and calls.
 * Empty shards      are not locked. Each has a word that says whether anything was posted since it was emptied last. Who posts sets it
 *                   before it looks at the floor, at the horizon and at the gate; who goes through the shards has written those before it
 *                   reads the word. Both are sequentially consistent: either the word is seen, or what was written is.
 * Numbers           Timers that are due together leave in the order in which they were scheduled, whichever threads did that. To count
 *                   them would be a place where all threads meet. But whoever schedules reads the clock, and two readings of which one
 *                   follows the other differ, on whatever processors: so the reading is the number. If a shard has to raise one because it
 *                   has given that already, the clock has moved on by the time that its lock is free, and no later reading is passed.
 * Lifetime          A future belongs to its agenda as long as it lives. To count that in one place would be a place where all
 *                   threads meet; so each shard counts its own, and has a reference to the agenda. Those that begin to as they are posted are
 *                   counted under the lock, which is held anyway, and the end of each by one addition. So the sum of both is known only once
 *                   nothing is posted any more: until then, for which the agenda stays, the one is far above zero.
 * Errands           are posted like futures, and nobody cancels them. Their memory is cut from slabs of the shard, under its lock. Whoever
 *                   takes one has the agenda's; so what was taken goes back when somebody goes through the shards, many at a time.
 * Timers            are posted and cancelled like futures; see agenda_timers.c.
 * Invariants        I1 posted[i] of a scheduled future, or of a timer, has spot i + 1 for i < count; whatever is in no shard has spot 0.
 *                   I2 the sum of all counts never exceeds what the agenda has promised room for.
 *                   I3 tenants + housed is the number of futures that belong to the agenda by this shard, and STAYS more until the agenda is
 *                      left; from then on tenants alone is that number. */
#include "sched/shards.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "sched/errand.h"
#include "sched/scheduled.h"
#include "sched/shards_inside.h"
#include "sched/timeout.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "sys/processors.h"
#include "sys/thread.h"

#define STAYS (INT64_C(1) << 62)

static_assert((int)HORA__SHARDS_MOST <= (int)HORA__BRANCHES_MOST, "the books of a pool have room for each");

/* As many as threads can run at once, so that those do not meet. */
static int wanted_count(void)
{
    int count = 1;
    while (count < hora__processors() && count < HORA__SHARDS_MOST)
        count *= 2;
    return count;
}

enum { READINGS = 16 };

/* Whether two readings of which one follows the other are never the same. Of all clocks that can only be so of the machine's own monotonic
 * one; and there are machines where it counts in steps that take longer than to read it. */
static bool tells_apart(const hora_clock *clock)
{
    if (!HORA__CLOCK_RUNS || clock->source != NULL || clock->timeline != HORA__MONOTONIC)
        return false;
    hora_ns before = hora_clock_now(clock);
    for (int i = 0; i < READINGS; i++) {
        hora_ns now = hora_clock_now(clock);
        if (now == before)
            return false;
        before = now;
    }
    return true;
}

struct hora__shards *hora__shards_new(const hora_clock *clock)
{
    int count = wanted_count();
    struct hora__shards *shards = hora__alloc(1, sizeof *shards + (size_t)count * sizeof shards->shards[0]);
    if (shards == NULL)
        return NULL;
    shards->count = count;
    hora__atomic_init(&shards->shown, 0);
    shards->by_clock = tells_apart(hora__clock_or_default(clock));
    hora__atomic64_store(&shards->floor, INT64_MAX);
    hora__atomic64_store(&shards->horizon, INT64_MIN);
    for (int i = 0; i < count; i++) {
        hora__atomic64_store(&shards->shards[i].tenants, STAYS); /* I3 */
        hora__atomic_init(&shards->shards[i].filled, 0);
        hora__slabs_init(&shards->shards[i].slabs, sizeof(struct hora__errand));
        if (hora__mutex_init(&shards->shards[i].lock, HORA__RANK_INBOX) == 0)
            continue;
        shards->count = i;
        hora__shards_free(shards);
        return NULL;
    }
    return shards;
}

void hora__shards_free(struct hora__shards *shards)
{
    for (int i = 0; i < shards->count; i++) {
        assert(shards->shards[i].count == 0);
        hora__slabs_destroy(&shards->shards[i].slabs);
        hora__mutex_destroy(&shards->shards[i].lock);
    }
    hora__free(shards);
}

int hora__shards_mine(const struct hora__shards *shards)
{
    return hora__processor() & (shards->count - 1);
}

/* ---- numbers ---- */

uint64_t hora__shards_number(struct hora__shards *shards)
{
    struct hora__shard *shard = &shards->shards[hora__shards_mine(shards)];
    hora_ns now = shards->by_clock ? hora_clock_now(NULL) : 0;
    hora__mutex_lock(&shard->lock);
    uint64_t number = hora__shard_number_locked(shards, shard, now);
    hora__mutex_unlock(&shard->lock);
    return number;
}

int hora__shards_room(const struct hora__shards *shards)
{
    return shards->count * HORA__SHARD_ROOM;
}

/* ---- posting ---- */

struct hora__shard *hora__shards_enter(struct hora__shards *shards)
{
    struct hora__shard *shard = &shards->shards[hora__shards_mine(shards)];
    hora__mutex_lock(&shard->lock);
    hora__shard_is_filled(shard);
    return shard;
}

void hora__shard_leave(struct hora__shard *shard)
{
    hora__mutex_unlock(&shard->lock);
}

bool hora__shard_is_open(const struct hora__shards *shards, const struct hora__shard *shard, hora_ns due,
                         const struct hora__posting *posting)
{
    return hora__shard_admits(shards, shard, due, posting);
}

/* I1 */
static void set_spot(struct hora__entry *entry, int spot)
{
    if (entry->is_timer)
        hora__timeout_of(entry)->spot = (uint16_t)spot;
    else if (!entry->is_errand)
        hora__scheduled_of_entry(entry)->spot = (uint16_t)spot;
}

void hora__shard_add(struct hora__shards *shards, struct hora__shard *shard, struct hora__posted posted, hora_ns now)
{
    hora__shard_append(shards, shard, posted, now);
    set_spot(posted.entry, shard->count);
}

/* ---- going ---- */

HORA__INLINE void take_out(struct hora__shard *shard, const struct hora__entry *entry, uint16_t *spot)
{
    int at = *spot;
    assert(at <= shard->count && shard->posted[at - 1].entry == entry); /* I1 */
    (void)entry;
    *spot = 0;
    int last = shard->count--;
    if (at == last)
        return;
    struct hora__posted moved = shard->posted[last - 1];
    shard->posted[at - 1] = moved;
    if (!HORA__FAULT(SHARD_MISPLACES))
        set_spot(moved.entry, at);
}

void hora__shard_take_out(struct hora__shard *shard, const struct hora__entry *entry, uint16_t *spot)
{
    take_out(shard, entry, spot);
}

bool hora__shards_remove(struct hora__shards *shards, struct hora__scheduled *scheduled,
                         bool (*may)(const void *context), const void *context)
{
    struct hora__shard *shard = &shards->shards[scheduled->shard];
    hora__mutex_lock_as(&shard->lock, HORA__RANK_INBOX);
    bool removes = scheduled->spot != 0 && may(context);
    if (removes) {
        take_out(shard, &scheduled->entry, &scheduled->spot);
        hora__counter_add_alone_publish(&shard->branch.cancelled, 1);
    }
    hora__mutex_unlock_as(&shard->lock, HORA__RANK_INBOX);
    return removes;
}

/* Whether nothing has been posted since the shard was emptied: then it is not locked. */
static bool is_empty(const struct hora__shard *shard)
{
    HORA__ORDER_FAULT(SHARD_EMPTY_RELAXED, memory_order_acquire);
    return hora__atomic_load(&shard->filled) == 0;
}

bool hora__shards_absorb(struct hora__shards *shards, const struct hora__absorber *absorber)
{
    hora_ns horizon = hora__atomic64_peek(&shards->horizon);
    bool ahead = false;
    for (int i = 0; i < shards->count; i++) {
        struct hora__shard *shard = &shards->shards[i];
        if (is_empty(shard))
            continue;
        hora__mutex_lock(&shard->lock);
        for (int at = 0; at < shard->count; at++) {
            struct hora__posted posted = shard->posted[at];
            set_spot(posted.entry, 0);
            ahead |= posted.due < horizon;
            absorber->take(absorber->context, posted);
        }
        shard->count = 0;
        hora__atomic_store_relaxed(&shard->filled, 0); /* those who write it have this lock, or the agenda's */
        absorber->visit(absorber->context, shard);
        hora__mutex_unlock(&shard->lock);
    }
    return ahead;
}

/* ---- lifetime ---- */

void hora__shards_move_in(struct hora__shards *shards, int shard)
{
    int64_t before = hora__atomic64_add(&shards->shards[shard].tenants, 1);
    assert(before > 0);
    (void)before;
}

/* I3: whether it was the last one after the agenda was left. */
bool hora__shards_move_out(struct hora__shards *shards, int shard)
{
    HORA__ORDER_FAULT(SHARD_LEFT_RELAXED, memory_order_relaxed);
    int64_t before = hora__atomic64_add(&shards->shards[shard].tenants, -1);
    assert(before > 0);
    return before == 1;
}

bool hora__shards_close(struct hora__shards *shards, int shard)
{
    struct hora__shard *left = &shards->shards[shard];
    hora__mutex_lock(&left->lock);
    int64_t housed = left->housed;
    hora__mutex_unlock(&left->lock);
    HORA__ORDER_FAULT(SHARD_CLOSED_RELAXED, memory_order_relaxed);
    int64_t before = hora__atomic64_add(&left->tenants, housed - STAYS);
    assert(before + housed >= STAYS);
    return before + housed == STAYS;
}
