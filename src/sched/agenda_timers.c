/* SPDX-License-Identifier: Apache-2.0 */
/* agenda_timers.c - tasks that are in the agenda in memory of the caller
 *
 * How it works      They are on the agenda's own line, and precise, and stand in the same heap as others: so there is one order. They come in by
 *                   way of a shard, and are cancelled there; or, if it is not open, or they have been moved on, with the agenda's lock.
 * Memory            belongs to the caller, who may free it as soon as it knows that the timer is neither pending nor running; and its function may
 *                   free it. So whoever takes one out copies what it needs and then, as the last thing, says so (`pending`). None is in a
 *                   chain of those that were picked.
 * Running           A worker notes the address of the timer that it takes, under the agenda's lock and in its own memory (struct
 *                   hora__timer_run), and forgets it under the lock when it comes for its next task. So whoever has the lock knows of each
 *                   timer whether it is in the heap, or with a worker, or neither; no timer is between the two.
 * Stopping          A timer that no worker has ever taken (`taken`) is stopped as it is cancelled. Else its function may be running, and may
 *                   start it at this moment. So a stop first says that it is there (`stopping`), and then goes through the locks of all shards:
 *                   from then on the timer is not started by its function any more, nor is its memory written without the agenda's lock.
 *                   Then it takes out what is in the heap, and waits until no worker has the timer.
 * Invariants        I1 a timer is pending if and only if it is in a shard or in the heap.
 *                   I2 none comes in once the pool is shut down: that is looked at under the lock by which it comes in. So who shuts it down, or
 *                      stops it, and then drops timers has seen the last.
 *                   I3 base.unlisted is the number of them in the heap. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/inline.h"
#include "exec/pool.h"
#include "sched/agenda_inside.h"
#include "sched/scheduled.h"
#include "sched/scheduler.h"
#include "sched/shards_inside.h"
#include "sched/timeout.h"

static_assert(sizeof(struct hora__timeout) == sizeof(hora_timer) &&
                  _Alignof(struct hora__timeout) <= _Alignof(hora_timer),
              "what is public is as large as what is inside");
static_assert(offsetof(struct hora__timeout, run) == offsetof(hora_timer, run_) &&
                  offsetof(struct hora__timeout, arg) == offsetof(hora_timer, arg_),
              "HORA_TIMER_INIT writes these, and that all else is zero");
static_assert(sizeof(void *) != 8 || sizeof(hora_timer) == 64, "frozen: see hora/timer.h");

/* ---- coming in ---- */

/* Under the lock by which it comes in. */
static void begin(struct agenda *agenda, struct hora__timeout *timeout)
{
    timeout->entry = (struct hora__entry){
        .by_due = {.index = HORA__TIMER_OUT}, .line = agenda->timer_line, .is_timer = true, .place = HORA__WAITS};
    timeout->spot = 0;
    hora__atomic_publish(&timeout->pending, 1); /* I1; whoever finds it has had the lock */
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

/* Only one that was taken can be in its function, and start itself while it is stopped. */
static inline bool is_being_stopped(const struct hora__timeout *timeout)
{
    return hora__atomic_load(&timeout->taken) != 0 && hora__atomic_load(&timeout->stopping) != 0 &&
           !HORA__FAULT(TIMER_STARTS_WHILE_STOPPED);
}

/* Under either lock: 0; HORA_ENOTSUP, HORA_EBUSY: it may not come in. */
static int check_gate(const hora_pool *pool, const struct hora__timeout *timeout)
{
    return !is_let_in(pool) ? HORA_ENOTSUP : is_being_stopped(timeout) ? HORA_EBUSY : 0;
}

/* By a shard. HORA_EFULL, HORA_ENOTSUP: it has to go the long way, since the shard is full or for another reason. One that was taken once keeps its
 * shard, and may be being stopped. */
HORA__INLINE int post_by_shard(const hora_pool *pool, struct hora__timeout *timeout, hora_ns now, hora_ns due,
                               bool was_taken, uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    struct hora__shards *shards = agenda->shards;
    if (due <= hora__atomic64_load(&shards->floor))
        return HORA_ENOTSUP; /* it would be refused */
    int mine = was_taken ? timeout->shard : hora__shards_mine(shards);
    struct hora__shard *shard = &shards->shards[mine];
    hora__mutex_lock(&shard->lock);
    int error = shard->count == HORA__SHARD_ROOM ? HORA_EFULL : HORA_ENOTSUP;
    if (error != HORA_EFULL && due > hora__atomic64_load(&shards->floor) && is_let_in(pool) &&
        !(was_taken && is_being_stopped(timeout))) {
        begin(agenda, timeout);
        if (!was_taken)
            timeout->shard = (uint8_t)mine;
        hora__shard_add(shards, shard, (struct hora__posted){due, &timeout->entry}, now);
        *ret_number = timeout->entry.by_due.sequence; /* a worker may have it as soon as the lock is free */
        error = 0;
    }
    hora__shard_leave(shard);
    return error;
}

/* Apart, so that most timers, which never run, do not pay for it. */
__attribute__((noinline)) static int post_taken(const hora_pool *pool, struct hora__timeout *timeout, hora_ns now,
                                                hora_ns due, uint64_t *ret_number)
{
    return post_by_shard(pool, timeout, now, due, true, ret_number);
}

static inline int post_shortly(const hora_pool *pool, struct hora__timeout *timeout, hora_ns now, hora_ns due,
                               uint64_t *ret_number)
{
    if (hora__atomic_load(&timeout->taken) != 0) /* that does not change: it is not pending */
        return post_taken(pool, timeout, now, due, ret_number);
    return post_by_shard(pool, timeout, now, due, false, ret_number);
}

/* With the lock, into a place that is free. */
static void insert(hora_pool *pool, struct hora__timeout *timeout, hora_ns due, uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    begin(agenda, timeout);
    hora__agenda_insert(agenda, &timeout->entry, due);
    *ret_number = timeout->entry.by_due.sequence;
    hora__counter_add_alone(&pool->books.accepted, 1);
}

/* With the lock: whether there is a place for one more. */
static int make_place(struct agenda *agenda)
{
    return agenda->base.size == HORA_UNBOUNDED ? HORA_EFULL : hora__timers_make_room(timer_heap(agenda));
}

/* With the lock. On error nothing has changed. */
static int put(hora_pool *pool, struct hora__timeout *timeout, hora_ns due, uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    int error = check_gate(pool, timeout);
    if (error == 0)
        error = make_place(agenda);
    if (error < 0)
        return error;
    insert(pool, timeout, due, ret_number);
    if (agenda->lacking > 0)
        hora__agenda_promise(agenda);
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

/* It has been posted: see that somebody wakes up for it. */
static inline void tell_posted(const hora_pool *pool, hora_ns due)
{
    if (hora__shards_is_ahead(agenda_of(pool->queue)->shards, due) && !HORA__FAULT(TIMER_TELLS_NOBODY))
        hora__queue_look(pool->queue);
}

int hora__agenda_post_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due, uint64_t *ret_number)
{
    hora_pool *pool = timeout->pool;
    int error = post_shortly(pool, timeout, now, due, ret_number);
    if (error < 0)
        return post_long(pool, timeout, due, error == HORA_EFULL, ret_number);
    tell_posted(pool, due);
    return 0;
}

int hora__agenda_put_timer(struct hora__timeout *timeout, hora_ns due, uint64_t *ret_number)
{
    return post_long(timeout->pool, timeout, due, false, ret_number);
}

/* ---- moving ---- */

/* If it stands in its shard, and could be posted now: another time and another number, in the same place. Whether that was done. It is booked as
 * two: first the one that comes, so that the books are never even in between. */
static inline bool repost(const hora_pool *pool, struct hora__timeout *timeout, hora_ns now, hora_ns due,
                          uint64_t *ret_number)
{
    struct hora__shards *shards = agenda_of(pool->queue)->shards;
    struct hora__shard *shard = &shards->shards[timeout->shard];
    hora__mutex_lock(&shard->lock);
    bool moves = timeout->spot != 0 && due > hora__atomic64_load(&shards->floor) && check_gate(pool, timeout) == 0;
    if (moves) {
        *ret_number = hora__shard_number_locked(shards, shard, now);
        timeout->entry.by_due.sequence = *ret_number;
        shard->posted[timeout->spot - 1].due = due;
        hora__counter_add_alone(&shard->branch.posted, 1);
        hora__counter_add_alone(&shard->branch.cancelled, 1);
    }
    hora__shard_leave(shard);
    return moves;
}

struct times {
    hora_ns now;
    hora_ns due;
    bool is_long;
};

/* With the lock, of one that is in the heap: it leaves that, for a shard if possible, else for another place there, which is free by that. Whether
 * it is in a shard now. */
__attribute__((noinline)) static bool move(hora_pool *pool, struct hora__timeout *timeout, const struct times *times,
                                           struct hora__wakes *wakes, uint64_t *ret_number)
{
    struct agenda *agenda = agenda_of(pool->queue);
    hora__agenda_remove(agenda, &timeout->entry);
    hora__queue_settle_change(pool->queue, wakes);
    bool is_posted = !times->is_long && post_shortly(pool, timeout, times->now, times->due, ret_number) == 0;
    if (!is_posted) {
        insert(pool, timeout, times->due, ret_number);
        hora__queue_settle_change(pool->queue, wakes);
    }
    hora__counter_add_alone(&pool->books.cancelled, 1); /* after the one that has come, and before it is finished */
    hora__counter_add_alone_publish(&pool->books.finished, 1);
    return is_posted;
}

__attribute__((noinline)) static int move_long(hora_pool *pool, struct hora__timeout *timeout,
                                               const struct times *times, uint64_t *ret_number)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (timeout->entry.by_due.index == HORA__TIMER_OUT)
        hora__agenda_absorb(queue); /* it may have been posted only */
    bool was_pending = timeout->entry.by_due.index != HORA__TIMER_OUT;
    bool is_posted = false;
    int error = was_pending ? check_gate(pool, timeout) : put(pool, timeout, times->due, ret_number);
    if (error == 0 && was_pending)
        is_posted = move(pool, timeout, times, &wakes, ret_number);
    else if (error == 0)
        hora__queue_settle_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    if (is_posted)
        tell_posted(pool, times->due);
    return error < 0 ? error : was_pending;
}

int hora__agenda_move_timer(struct hora__timeout *timeout, hora_ns now, hora_ns due, bool is_long, uint64_t *ret_number)
{
    hora_pool *pool = timeout->pool;
    if (is_long || !repost(pool, timeout, now, due, ret_number))
        return move_long(pool, timeout, &(struct times){now, due, is_long}, ret_number);
    tell_posted(pool, due);
    return 1;
}

/* ---- coming from another scheduler ---- */

int hora__agenda_keep_timer_place(hora_pool *pool)
{
    struct agenda *agenda = agenda_of(pool->queue);
    hora__mutex_lock(&pool->queue->object.lock);
    int error = is_let_in(pool) ? make_place(agenda) : HORA_ENOTSUP;
    if (error == 0)
        hora__timers_keep(timer_heap(agenda), 1);
    hora__mutex_unlock(&pool->queue->object.lock);
    return error;
}

static void give_up_place(struct agenda *agenda)
{
    hora__timers_keep(timer_heap(agenda), -1);
    hora__timers_save_room(timer_heap(agenda));
}

void hora__agenda_give_up_timer_place(hora_pool *pool)
{
    hora__mutex_lock(&pool->queue->object.lock);
    give_up_place(agenda_of(pool->queue));
    hora__mutex_unlock(&pool->queue->object.lock);
}

int hora__agenda_place_timer(struct hora__timeout *timeout, hora_ns due, uint64_t *ret_number)
{
    hora_pool *pool = timeout->pool;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    int error = check_gate(pool, timeout);
    if (error < 0) {
        give_up_place(agenda_of(pool->queue));
    } else {
        hora__timers_keep(timer_heap(agenda_of(pool->queue)), -1);
        insert(pool, timeout, due, ret_number);
        hora__queue_settle_change(pool->queue, &wakes);
    }
    hora__queue_exit(pool->queue, &wakes);
    return error;
}

/* ---- going ---- */

struct hora__entry *hora__agenda_release_timer(struct agenda *agenda, struct hora__entry *entry)
{
    hora__timers_save_room(timer_heap(agenda));
    end(hora__timeout_of(entry));
    return entry;
}

void hora__agenda_hand_out_timer(struct agenda *agenda, struct hora__entry *entry, struct hora__cell *ret_cell)
{
    struct hora__timeout *timeout = hora__timeout_of(entry);
    struct hora__timer_run *run = ret_cell->run;
    if (run != NULL) {
        if (HORA__FAULT(TIMER_STOP_MISSES_TAKEN))
            run->has_begun = false;
        run->timer = timeout;
        run->function = timeout->run;
        run->arg = timeout->arg;
        hora__atomic_store_relaxed(&timeout->taken, 1);
    } else {
        ret_cell->task = (hora_task){.run = NULL}; /* nobody runs it */
    }
    (void)hora__agenda_release_timer(agenda, entry);
}

/* Out of the heap, and not to be run. */
static void discard(struct agenda *agenda, struct hora__entry *entry)
{
    hora__agenda_remove(agenda, entry);
    (void)hora__agenda_release_timer(agenda, entry);
}

static bool withdraw(struct agenda *agenda, const struct hora__timeout *timeout, uint64_t number)
{
    struct hora__timers *heap = timer_heap(agenda);
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

/* With the lock, of one that is in the heap: it is cancelled. */
static void book_cancelled(hora_queue *queue, struct hora__timeout *timeout, struct hora__books *books,
                           struct hora__wakes *wakes)
{
    discard(agenda_of(queue), &timeout->entry);
    hora__counter_add_alone(&books->cancelled, 1); /* first: who sees that all is finished finds it counted */
    hora__counter_add_alone_publish(&books->finished, 1);
    hora__queue_settle_change(queue, wakes);
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
    if (found)
        book_cancelled(queue, timeout, books, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

bool hora__agenda_unpost_timer(struct hora__timeout *timeout)
{
    return unpost(timeout->pool, timeout);
}

enum hora__timer_cancel hora__agenda_cancel_timer(struct hora__timeout *timeout)
{
    hora_pool *pool = timeout->pool;
    if (unpost(pool, timeout))
        return HORA__TIMER_UNPOSTED;
    return remove_cancelled(pool->queue, timeout, &pool->books) ? HORA__TIMER_REMOVED : HORA__TIMER_NOT_THERE;
}

/* ---- running ---- */

void hora__agenda_worker_begins(hora_queue *queue, struct hora__timer_run *run)
{
    hora__mutex_lock(&queue->object.lock);
    hora__list_add_last(&agenda_of(queue)->runs, &run->link);
    hora__mutex_unlock(&queue->object.lock);
}

void hora__agenda_worker_ends(hora_queue *queue, struct hora__timer_run *run)
{
    assert(run->timer == NULL);
    hora__mutex_lock(&queue->object.lock);
    hora__list_remove(&run->link);
    hora__mutex_unlock(&queue->object.lock);
}

void hora__agenda_ran(hora_queue *queue, struct hora__cell *cell, struct hora__wakes *wakes)
{
    struct agenda *agenda = agenda_of(queue);
    cell->run->timer = NULL;
    if (agenda->admission != NULL && !HORA__FAULT(TIMER_RUN_COUNTS_ON))
        hora__admission_end_anonymous(&agenda->admission->admission);
    if (!hora__list_is_empty(&agenda->stoppers) && !HORA__FAULT(TIMER_STOP_IS_NOT_TOLD))
        hora__waiters_resolve_all(&agenda->stoppers, 0, wakes);
}

/* With the lock: whether a worker has it. */
static bool is_with_worker(const struct agenda *agenda, const struct hora__timeout *timeout)
{
    for (struct hora__list *link = agenda->runs.next; link != &agenda->runs; link = link->next) {
        const struct hora__timer_run *run = HORA__LIST_ENTRY(link, struct hora__timer_run, link);
        if (run->timer == timeout && !(HORA__FAULT(TIMER_STOP_MISSES_TAKEN) && !run->has_begun))
            return true;
    }
    return false;
}

bool hora__agenda_runs_timer(const struct hora__timeout *timeout)
{
    hora_queue *queue = timeout->pool->queue;
    hora__mutex_lock(&queue->object.lock);
    bool runs = is_with_worker(agenda_of(queue), timeout);
    hora__mutex_unlock(&queue->object.lock);
    return runs;
}

/* ---- stopping ---- */

/* Take it out, if it is there: whether it was. From then on its function does not start it any more. */
static bool stop_pending(hora_pool *pool, struct hora__timeout *timeout)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__agenda_absorb(queue); /* goes through the locks of all shards: see above */
    bool forgets = HORA__FAULT(TIMER_STOP_FORGETS_RESTART) && is_with_worker(agenda_of(queue), timeout);
    bool found = hora__atomic_load(&timeout->pending) != 0 && !forgets;
    if (found)
        book_cancelled(queue, timeout, &pool->books, &wakes);
    hora__queue_exit(queue, &wakes);
    if (found) {
        hora__pool_count_cancelled(pool, &hora__timer_task);
        hora__pool_cancelled(pool);
        hora__pool_try_terminate(pool);
    }
    return found;
}

/* If a worker has it, wait until a run of some timer has ended. Whether one had it: then look again. */
static bool await_run(hora_queue *queue, const struct hora__timeout *timeout, hora_thread *thread, bool *interrupted)
{
    hora__mutex_lock(&queue->object.lock);
    if (!is_with_worker(agenda_of(queue), timeout) || HORA__FAULT(TIMER_STOP_DOES_NOT_WAIT)) {
        hora__mutex_unlock(&queue->object.lock);
        return false;
    }
    int woken = hora__object_wait_locked(&queue->object, &agenda_of(queue)->stoppers, thread, HORA_FOREVER);
    *interrupted |= woken == HORA_EINTERRUPTED;
    return true;
}

int hora__agenda_stop_timer(struct hora__timeout *timeout, bool in_function, hora_thread *thread)
{
    hora_pool *pool = timeout->pool;
    bool was_pending = stop_pending(pool, timeout);
    bool was_running = in_function;
    bool interrupted = false;
    while (!in_function && await_run(pool->queue, timeout, thread, &interrupted))
        was_running = true;
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return was_running ? HORA_CANCEL_RUNNING : was_pending ? HORA_CANCEL_REMOVED : HORA_CANCEL_TOO_LATE;
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
int hora__agenda_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                             struct hora__books *books)
{
    struct agenda *agenda = agenda_of(queue);
    hora__agenda_absorb(queue);
    int count = queue->unlisted > 0 && !HORA__FAULT(TIMER_SWEPT_UNSEEN) ? mark(timer_heap(agenda), visit, arg) : 0;
    if (count == 0)
        return 0;
    hora__timers_sift_out(timer_heap(agenda), drop_marked);
    hora__agenda_follow(agenda); /* the first may have left */
    hora__timers_save_room(timer_heap(agenda));
    queue->size -= count;
    queue->unlisted -= count;                          /* I3 */
    hora__counter_add_alone(&books->cancelled, count); /* first: who sees that all is finished finds it counted */
    hora__counter_add_alone_publish(&books->finished, count);
    if (agenda->timer_line == ADMITTED_TIMERS)
        hora__agenda_offer_timer(agenda);
    return count;
}
