/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_timers.c - tasks that are in the agenda in memory of the caller
 *
 * How it works      They are on the agenda's own line, and precise, and stand in the same heap as others: so there is one order. They come in by
 *                   way of a shard, and are cancelled there; or, if it is not open, or they have been moved on, with the agenda's lock.
 * Memory            belongs to the caller, who may free it as soon as it knows that the timer is not pending. So whoever takes one out
 *                   copies what it needs and then, as the last thing, says so (`pending`). None is in a chain of those that were picked.
 * Invariants        I1 a timer is pending if and only if it is in a shard or in the heap.
 *                   I2 none comes in once the pool is shut down: that is looked at under the lock by which it comes in. So who shuts it down, or
 *                      stops it, and then drops timers has seen the last.
 *                   I3 base.unlisted is the number of them in the heap. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/pool.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "sched/shards_inside.h"
#include "sched/timeout.h"

static_assert(sizeof(struct hora__timeout) == sizeof(hora_timer) &&
                  _Alignof(struct hora__timeout) <= _Alignof(hora_timer),
              "what is public is as large as what is inside");
static_assert(offsetof(struct hora__timeout, run) == offsetof(hora_timer, run_) &&
                  offsetof(struct hora__timeout, arg) == offsetof(hora_timer, arg_),
              "HORA_TIMER_INIT writes these, and that all else is zero");
#if defined(__x86_64__)
static_assert(sizeof(hora_timer) == 48, "what a pending timer takes: see docs/internals/scheduler.md");
#endif

/* ---- coming in ---- */

/* Under the lock by which it comes in. */
static void begin(struct agenda *agenda, struct hora__timeout *timeout)
{
    timeout->entry = (struct hora__entry){
        .by_due = {.index = HORA__TIMER_OUT}, .line = (uint8_t)agenda->own, .is_timer = true, .place = HORA__WAITS};
    timeout->spot = 0;
    hora__atomic_store_relaxed(&timeout->pending, 1); /* I1; whoever finds it has had the lock */
}

/* The last that is done with it: it is the caller's. */
static void end(struct hora__timeout *timeout)
{
    HORA__ORDER_FAULT(TIMER_ENDS_RELAXED, memory_order_relaxed);
    hora__atomic_publish(&timeout->pending, 0);
}

static inline bool is_let_in(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING ||
           HORA__FAULT(TIMER_GATE_UNSEEN); /* I2 */
}

/* By a shard. HORA_EFULL, HORA_ENOTSUP: it has to go the long way, since the shard is full or for another reason. */
static inline int post_shortly(const hora_pool *pool, struct hora__timeout *timeout, hora_ns now, hora_ns due,
                               uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    struct hora__shards *shards = agenda->shards;
    if (due <= hora__atomic64_load(&shards->floor))
        return HORA_ENOTSUP; /* it would be refused */
    int mine = hora__shards_mine(shards);
    struct hora__shard *shard = &shards->shards[mine];
    hora__mutex_lock(&shard->lock);
    int error = shard->count == HORA__SHARD_ROOM ? HORA_EFULL : HORA_ENOTSUP;
    if (error != HORA_EFULL && due > hora__atomic64_load(&shards->floor) && is_let_in(pool)) {
        begin(agenda, timeout);
        timeout->shard = (uint8_t)mine;
        hora__shard_add(shards, shard, (struct hora__posted){due, &timeout->entry}, now);
        *ret_number = timeout->entry.by_due.sequence; /* a worker may have it as soon as the lock is free */
        error = 0;
    }
    hora__shard_leave(shard);
    return error;
}

/* With the lock. On error nothing has changed. */
static int put(hora_pool *pool, struct hora__timeout *timeout, hora_ns due, uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    if (!is_let_in(pool))
        return HORA_ENOTSUP;
    if (agenda->base.size == HORA_UNBOUNDED)
        return HORA_EFULL;
    int error = hora__timers_make_room(own_heap(agenda));
    if (error < 0)
        return error;
    begin(agenda, timeout);
    hora__agenda_insert(agenda, &timeout->entry, due);
    *ret_number = timeout->entry.by_due.sequence;
    if (agenda->lacking > 0)
        hora__agenda_promise(agenda);
    hora__counter_add_alone(&pool->books.accepted, 1);
    return 0;
}

/* With the lock. What is full is emptied, for those to come. */
__attribute__((noinline)) static int post_long(hora_pool *pool, struct hora__timeout *timeout, hora_ns due,
                                               bool is_full, uint64_t *ret_number)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (is_full)
        hora__agenda_absorb(queue);
    int error = put(pool, timeout, due, ret_number);
    if (error == 0)
        hora__queue_settle_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

int hora__agenda_post_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due, uint64_t *ret_number)
{
    hora_pool *pool = timeout->pool;
    int error = post_shortly(pool, timeout, now, due, ret_number);
    if (error < 0)
        return post_long(pool, timeout, due, error == HORA_EFULL, ret_number);
    if (hora__shards_is_ahead(agenda_of(pool->queue)->shards, due) && !HORA__FAULT(TIMER_TELLS_NOBODY))
        hora__queue_look(pool->queue);
    return 0;
}

/* ---- going ---- */

struct hora__entry *hora__agenda_release_timer(struct agenda *agenda, struct hora__entry *entry)
{
    hora__timers_save_room(own_heap(agenda));
    end(hora__timeout_of(entry));
    return entry;
}

/* Out of the heap, and not to be run. */
static void discard(struct agenda *agenda, struct hora__entry *entry)
{
    hora__agenda_remove(agenda, entry);
    (void)hora__agenda_release_timer(agenda, entry);
}

static bool withdraw(struct agenda *agenda, const struct hora__timeout *timeout, uint64_t number)
{
    struct hora__timers *heap = own_heap(agenda);
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_timer(heap->slots[i]));
        if (entry != &timeout->entry || entry->by_due.sequence != number)
            continue; /* it may be somewhere else, and is not looked at unless it is found here */
        discard(agenda, entry);
        return true;
    }
    return false;
}

bool hora__agenda_withdraw_timer(hora_queue *queue, const struct hora__timeout *timeout, uint64_t number)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_absorb(queue); /* it may have been posted only */
    bool found = withdraw(agenda_of(queue), timeout, number);
    hora__queue_settle(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

/* From its shard: whether it was there, and may be taken out without a word. */
static inline bool unpost(const hora_pool *pool, struct hora__timeout *timeout)
{
    struct hora__shard *shard = &agenda_of(pool->queue)->shards->shards[timeout->shard];
    hora__mutex_lock(&shard->lock);
    bool is_there = timeout->spot != 0 && (hora__pool_needs_no_news(pool) || HORA__FAULT(TIMER_GOES_UNHEARD));
    if (is_there) {
        hora__counter_add_alone_publish(&shard->branch.cancelled, 1);
        hora__shard_take_out(shard, &timeout->entry, &timeout->spot);
        end(timeout);
    }
    hora__shard_leave(shard);
    return is_there;
}

/* Out of the agenda, if it is still there. */
__attribute__((noinline)) static bool remove_cancelled(hora_queue *queue, struct hora__timeout *timeout,
                                                       struct hora__books *books)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (timeout->entry.by_due.index == HORA__TIMER_OUT && !HORA__FAULT(TIMER_CANCEL_FORGETS_SHARD))
        hora__agenda_absorb(queue); /* it may have been posted only */
    bool found = timeout->entry.by_due.index != HORA__TIMER_OUT;
    if (found) {
        discard(agenda_of(queue), &timeout->entry);
        hora__counter_add_alone(&books->cancelled, 1); /* first: who sees that all is finished finds it counted */
        hora__counter_add_alone_publish(&books->finished, 1);
        hora__queue_settle_change(queue, &wakes);
    }
    hora__queue_exit(queue, &wakes);
    return found;
}

enum hora__timer_cancel hora__agenda_cancel_timer(struct hora__timeout *timeout)
{
    hora_pool *pool = timeout->pool;
    if (unpost(pool, timeout))
        return HORA__TIMER_UNPOSTED;
    return remove_cancelled(pool->queue, timeout, &pool->books) ? HORA__TIMER_REMOVED : HORA__TIMER_NOT_THERE;
}

/* ---- many at once ---- */

static int mark(struct hora__timers *heap, bool (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    int marked = 0;
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_timer(heap->slots[i]));
        if (!entry->is_timer || !visit(entry, arg))
            continue;
        entry->place = HORA__SWEPT;
        marked++;
    }
    return marked;
}

static bool drop_marked(struct hora__timer *timer)
{
    struct hora__entry *entry = entry_by_due(timer);
    if (!entry->is_timer || entry->place != HORA__SWEPT)
        return false;
    entry->by_due.index = HORA__TIMER_OUT;
    end(hora__timeout_of(entry));
    return true;
}

/* They are marked while the heap is as it was, since `visit` asks when each is due. */
bool hora__agenda_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                              struct hora__books *books)
{
    struct agenda *agenda = agenda_of(queue);
    hora__agenda_absorb(queue);
    int count = queue->unlisted > 0 && !HORA__FAULT(TIMER_SWEPT_UNSEEN) ? mark(own_heap(agenda), visit, arg) : 0;
    if (count == 0)
        return false;
    hora__timers_sift_out(own_heap(agenda), drop_marked);
    hora__agenda_follow(agenda); /* the first may have left */
    hora__timers_save_room(own_heap(agenda));
    queue->size -= count;
    queue->unlisted -= count;                          /* I3 */
    hora__counter_add_alone(&books->cancelled, count); /* first: who sees that all is finished finds it counted */
    hora__counter_add_alone_publish(&books->finished, count);
    return true;
}
