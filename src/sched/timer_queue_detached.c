/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_detached.c - detached tasks in the timer queue: tasks without a future, and timers of the
 * caller; see detached.h
 *
 * Mechanism    They are on the queue's own timeline, without slack, in the same heap as futures: so there is
 *              one order. They come in by a lane or, if it refuses them, with the queue's lock. A timer can
 *              be cancelled in its lane; a task is never cancelled.
 * A task       lives in the free list of the lane by which it came in, which belongs to the lane's lock. A
 *              taker, which has the queue's lock, keeps tasks that have left in a chain per lane. A thread
 *              with both locks returns them: whenever the lanes are absorbed, which a worker does before it
 *              sleeps, and when there are LEFT_MOST of them. Before any thread but a taker looks, tasks
 *              become futures. Those stand in the heap where the task stood, with its number: the order stays
 *              the same.
 * A timer      lives in memory of the caller, who may free it as soon as it is neither pending nor running;
 *              its function may free it, too. So a thread that removes one copies what it needs and then,
 *              last of all, sets `pending` to 0. No timer is in a chain of picked entries.
 * Running      A worker notes the address of the timer that it takes, under the queue's lock and in its own
 *              memory (struct hora__timer_run), and clears it under the lock when it comes for its next task.
 *              So a thread with the lock knows of each timer whether it is in the heap, or with a worker, or
 *              neither; no timer is between the two.
 * Stopping     A timer that no worker has ever taken (`taken`) is stopped as it is cancelled. Else its
 *              function may be running, and may start it at this moment. So a stop first announces itself
 *              (`stopping`), and then goes through the locks of all lanes. From then on its function cannot
 *              start the timer any more, and no thread writes its memory without the queue's lock. Then the
 *              stop removes the timer from the heap, and waits until no worker has it.
 * Invariants   I1 a timer is pending if and only if it is in a lane or in the heap.
 *              I2 no timer comes in once the pool is shut down: the inserting thread looks at the pool's
 *                 state under the lock by which the timer comes in. So a thread that shuts the pool down and
 *                 then drops timers has seen the last one.
 *              I3 hidden is the number of timers in the heap.
 *              I4 once the queue has been shown, no task comes in; if that has succeeded, there is none. */
#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/pool.h"
#include "sched/detached.h"
#include "sched/scheduled.h"
#include "sched/scheduler.h"
#include "sched/timer_queue_internal.h"
#include "sys/alloc.h"
#include "timer/lanes.h"

/* ---- packing a task ---- */

union part {
    void (*drop)(void *value);
    const char *name;
};

#if defined(__x86_64__)
static_assert(sizeof(struct hora__detached) == 48,
              "what a pending task takes: see docs/internals/scheduler.md");
#endif
static_assert(sizeof(union part) == sizeof(void *), "a part is a word");
static_assert(offsetof(struct hora__detached, spot) + sizeof(uint16_t) ==
                  offsetof(struct hora__detached, entry.by_due),
              "see hora__node_spot");
static_assert(sizeof(struct hora__timer) == sizeof(hora_timer) &&
                  _Alignof(struct hora__timer) <= _Alignof(hora_timer),
              "the public struct is as large as its inside");
static_assert(offsetof(struct hora__timer, task.run_timer) == offsetof(hora_timer, run_) &&
                  offsetof(struct hora__timer, task.arg) == offsetof(hora_timer, arg_),
              "HORA_TIMER_INIT writes these, and zero to all else");
static_assert(sizeof(void *) != 8 || sizeof(hora_timer) == 64, "frozen: see hora/timer.h");

static int count_parts(unsigned parts)
{
    assert(parts < 8);
    return (int)((parts & 1) + (parts >> 1 & 1) + (parts >> 2 & 1));
}

/* Make a detached task, which is in no heap, on a timeline. NULL: no memory. */
static struct hora__detached *new_task(struct hora__free_list *list, const hora_task *task,
                                       enum hora__timeline line)
{
    assert(task->run != NULL);
    unsigned parts = (task->drop != NULL ? HORA__PART_DROP : 0U) |
                     (task->drop_result != NULL ? HORA__PART_DROP_RESULT : 0U) |
                     (task->name != NULL ? HORA__PART_NAME : 0U);
    uint16_t offset;
    struct hora__detached *detached = hora__free_list_get(list, count_parts(parts), &offset);
    if (detached == NULL)
        return NULL;
    hora__entry_init(&detached->entry, line, false, false);
    detached->entry.is_detached = true;
    detached->run_task = task->run;
    detached->arg = task->arg;
    detached->file = task->file;
    detached->line = task->line;
    detached->offset = offset;
    detached->parts = (uint8_t)parts;
    union part *next = (union part *)(detached + 1);
    if (parts & HORA__PART_DROP)
        (next++)->drop = task->drop;
    if (parts & HORA__PART_DROP_RESULT)
        (next++)->drop = task->drop_result;
    if (parts & HORA__PART_NAME)
        next->name = task->name;
    return detached;
}

hora_task hora__detached_task(const struct hora__detached *detached)
{
    assert(detached->entry.is_detached && !detached->entry.is_timer);
    hora_task task = {
        .run = detached->run_task, .arg = detached->arg, .file = detached->file, .line = detached->line};
    const union part *next = (const union part *)(detached + 1);
    if (detached->parts & HORA__PART_DROP)
        task.drop = (next++)->drop;
    if (detached->parts & HORA__PART_DROP_RESULT)
        task.drop_result = (next++)->drop;
    if (detached->parts & HORA__PART_NAME)
        task.name = next->name;
    return task;
}

static void free_task(struct hora__free_list *list, struct hora__detached *detached)
{
    assert(!detached->entry.is_timer);
    hora__free_list_put(list, detached, detached->offset);
}

/* ---- in the timer queue ---- */

enum { LEFT_MOST = HORA__KEPT(64, 2) };

/* ---- memory ---- */

void hora__timer_queue_give_back(void *context, struct hora__lane *lane)
{
    struct timer_queue *timer_queue = context;
    struct hora__left *left = &timer_queue->left[lane - timer_queue->store.lanes->lanes];
    while (left->first != NULL) {
        struct hora__detached *detached = hora__detached_of(left->first);
        left->first = detached->next_picked;
        free_task(&lane->free_list, detached);
    }
    left->count = 0;
}

/* A task in the free list is no longer needed. */
static void leave(struct timer_queue *timer_queue, struct hora__detached *detached)
{
    assert(detached->lane < timer_queue->store.lanes->count);
    assert(!detached->entry.is_timer);
    struct hora__lane *lane = &timer_queue->store.lanes->lanes[detached->lane];
    struct hora__left *left = &timer_queue->left[detached->lane];
    detached->next_picked = left->first;
    left->first = &detached->entry;
    hora__lane_mark_filled(lane); /* with memory to give back */
    if (++left->count < LEFT_MOST && hora__keeps_memory())
        return;
    hora__mutex_lock(&lane->lock); /* no thread holds it for long */
    hora__timer_queue_give_back(timer_queue, lane);
    hora__lane_leave(lane);
}

/* The library is done with a timer: it is the caller's. */
static void end(struct hora__timer *timer)
{
    assert(timer != NULL);
    HORA__ORDER_FAULT(TIMER_ENDS_RELAXED, memory_order_relaxed);
    hora__atomic_publish(&timer->task.pending, 0);
}

struct hora__entry *hora__timer_queue_release_detached(struct timer_queue *timer_queue,
                                                       struct hora__entry *entry)
{
    assert(entry->is_detached);
    hora__timer_queue_save_memory(timer_queue, entry);
    if (entry->is_timer)
        end(hora__timer_of(entry));
    else
        leave(timer_queue, hora__detached_of(entry));
    return entry;
}

/* ---- coming in ---- */

/* A detached task that comes in: a task, of which a copy is made, or a timer of the caller's. */
struct arrival {
    struct timer_queue *timer_queue;
    const struct hora__offer *offer; /* the task; NULL: a timer */
    struct hora__timer *timer;       /* NULL: a task */
    bool was_taken; /* of a timer: it keeps its lane, and its function may start it while it is stopped */
    hora_ns now;
    hora_ns due;
};

/* Of a timer, under the lock by which it comes in. */
static void begin(struct timer_queue *timer_queue, struct hora__timer *timer)
{
    assert(hora__atomic_load(&timer->task.pending) == 0 || timer->task.entry.by_due.index == HORA__NODE_OUT);
    timer->task.entry = (struct hora__entry){.by_due = {.index = HORA__NODE_OUT},
                                             .line = timer_queue->timer_line,
                                             .is_detached = true,
                                             .is_timer = true,
                                             .stage = HORA__WAITS};
    timer->task.spot = 0;
    hora__atomic_publish(&timer->task.pending, 1); /* I1; a thread that finds it has had the lock */
}

static inline bool is_let_in(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING ||
           HORA__FAULT(TIMER_CLOSED_UNSEEN); /* I2 */
}

/* Only a timer that was taken can be in its function, and start itself while it is stopped. */
static inline bool is_being_stopped(const struct hora__timer *timer)
{
    return hora__atomic_load(&timer->taken) != 0 && hora__atomic_load(&timer->stopping) != 0 &&
           !HORA__FAULT(TIMER_STARTS_WHILE_STOPPED);
}

/* Under the lock by which it comes in. 0; HORA_ENOTSUP, HORA_EBUSY: it may not. */
static int check_timer(const hora_pool *pool, const struct hora__timer *timer)
{
    return !is_let_in(pool) ? HORA_ENOTSUP : is_being_stopped(timer) ? HORA_EBUSY : 0;
}

static bool admits_task(const struct timer_queue *timer_queue, const struct hora__offer *offer)
{
    if (hora__atomic_load(&timer_queue->store.lanes->shown) && !HORA__FAULT(TIMER_QUEUE_SHOWN_TOO_SOON))
        return false; /* I4 */
    return hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(TIMER_QUEUE_CLOSED_UNSEEN);
}

/* Under the lane's lock: whether it may come in by the lane. */
HORA__INLINE bool is_admitted(const struct arrival *arrival)
{
    assert((arrival->timer == NULL) != (arrival->offer == NULL));
    if (arrival->timer == NULL)
        return admits_task(arrival->timer_queue, arrival->offer);
    return is_let_in(arrival->timer->task.pool) && !(arrival->was_taken && is_being_stopped(arrival->timer));
}

/* With the lane's lock: a copy of the task, in the lane's free list. NULL: no memory. */
static struct hora__detached *copy_task(struct timer_queue *timer_queue, struct hora__lane *lane,
                                        const hora_task *task)
{
    assert(hora__mutex_held(&lane->lock));
    struct hora__detached *detached = new_task(&lane->free_list, task, timer_queue->own);
    if (detached != NULL)
        detached->lane = (uint8_t)(lane - timer_queue->store.lanes->lanes);
    return detached;
}

/* Insert into a lane, under its lock. 0, HORA_ENOMEM. */
HORA__INLINE int add_to_lane(const struct arrival *arrival, struct hora__lane *lane, uint64_t *ret_number)
{
    assert(hora__mutex_held(&lane->lock));
    struct timer_queue *timer_queue = arrival->timer_queue;
    struct hora__lanes *lanes = timer_queue->store.lanes;
    struct hora__timer *timer = arrival->timer;
    struct hora__detached *detached =
        timer != NULL ? &timer->task : copy_task(timer_queue, lane, arrival->offer->task);
    if (detached == NULL)
        return HORA_ENOMEM;
    if (timer == NULL) {
        hora__lane_add_untracked(lanes, lane, &detached->entry.by_due, arrival->due, arrival->now);
    } else {
        begin(timer_queue, timer);
        if (!arrival->was_taken)
            detached->lane = (uint8_t)(lane - lanes->lanes);
        hora__lane_add(lanes, lane, &detached->entry.by_due, arrival->due, arrival->now);
    }
    *ret_number = detached->entry.by_due.sequence; /* a worker may have it as soon as the lock is free */
    return 0;
}

/* By a lane. HORA_EFULL, HORA_ENOTSUP: it must come in with the queue's lock, since the lane is full or for
 * another reason. */
HORA__INLINE int insert_by_lane(const struct arrival *arrival, uint64_t *ret_number)
{
    assert((arrival->timer == NULL) != (arrival->offer == NULL));
    struct hora__lanes *lanes = arrival->timer_queue->store.lanes;
    if (arrival->due <= hora__atomic64_load(&lanes->floor))
        return HORA_ENOTSUP; /* the lane would refuse it */
    struct hora__lane *lane =
        &lanes->lanes[arrival->was_taken ? arrival->timer->task.lane : hora__lanes_mine(lanes)];
    hora__mutex_lock(&lane->lock);
    hora__lane_mark_filled(lane);
    int error = lane->count == HORA__LANE_ROOM ? HORA_EFULL : HORA_ENOTSUP;
    if (hora__lane_admits(lanes, lane, arrival->due) && is_admitted(arrival))
        error = add_to_lane(arrival, lane, ret_number);
    hora__lane_leave(lane);
    return error;
}

/* With the lock, into a slot that is free. */
static void insert_timer(hora_pool *pool, struct hora__timer *timer, hora_ns due, uint64_t *ret_number)
{
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    begin(timer_queue, timer);
    hora__timer_queue_insert(timer_queue, &timer->task.entry, due);
    *ret_number = timer->task.entry.by_due.sequence;
    hora__counter_add_alone(&pool->books.accepted, 1);
}

/* The same of a task. HORA_ENOMEM. */
static int insert_task(struct timer_queue *timer_queue, const struct hora__offer *offer, hora_ns due,
                       uint64_t *ret_number)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    struct hora__lane *lane = hora__lanes_enter(timer_queue->store.lanes);
    struct hora__detached *detached = copy_task(timer_queue, lane, offer->task);
    hora__lane_leave(lane);
    if (detached == NULL)
        return HORA_ENOMEM;
    hora__timer_queue_insert(timer_queue, &detached->entry, due);
    *ret_number = detached->entry.by_due.sequence;
    hora__counter_add_alone(&offer->books->accepted, 1);
    return 0;
}

/* With the lock: make room for one more. HORA_ENOMEM, HORA_EFULL. */
static int make_place(struct timer_queue *timer_queue, struct hora__timer_heap *heap)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    return timer_queue->base.queue.size == HORA_UNBOUNDED ? HORA_EFULL : hora__timer_heap_make_room(heap);
}

/* With the lock. On error nothing has changed. */
static int put(const struct arrival *arrival, uint64_t *ret_number)
{
    struct timer_queue *timer_queue = arrival->timer_queue;
    struct hora__timer *timer = arrival->timer;
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    int error = timer != NULL                              ? check_timer(timer->task.pool, timer)
                : admits_task(timer_queue, arrival->offer) ? 0
                                                           : HORA_ENOTSUP;
    if (error == 0)
        error = make_place(timer_queue, timer != NULL ? timer_heap(timer_queue) : own_heap(timer_queue));
    if (error == 0 && timer != NULL)
        insert_timer(timer->task.pool, timer, arrival->due, ret_number);
    else if (error == 0)
        error = insert_task(timer_queue, arrival->offer, arrival->due, ret_number);
    if (error == 0 && timer_queue->store.lacking > 0)
        hora__timer_store_promise(&timer_queue->store);
    return error;
}

/* With the lock. A full lane is absorbed, for those to come. */
__attribute__((noinline)) static int insert_with_lock(const struct arrival *arrival, bool is_full,
                                                      uint64_t *ret_number)
{
    hora_queue *queue = &arrival->timer_queue->base.queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (is_full)
        hora__timer_queue_absorb(queue);
    int error = put(arrival, ret_number);
    if (error == 0)
        hora__queue_serve_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

int hora__timer_queue_insert_task(hora_queue *queue, const struct hora__offer *offer, hora_ns now,
                                  hora_ns due, uint64_t *ret_number)
{
    assert(offer != NULL && offer->task != NULL && ret_number != NULL);
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct arrival arrival = {.timer_queue = timer_queue, .offer = offer, .now = now, .due = due};
    int error = insert_by_lane(&arrival, ret_number);
    if (error == HORA_EFULL || error == HORA_ENOTSUP)
        return insert_with_lock(&arrival, error == HORA_EFULL, ret_number);
    if (error == 0 && hora__lanes_is_ahead(timer_queue->store.lanes, due) &&
        !HORA__FAULT(DETACHED_TELLS_NOBODY))
        hora__work_look(queue);
    return error;
}

/* Apart, so that most timers, which never run, do not pay for it. */
__attribute__((noinline)) static int insert_taken(struct timer_queue *timer_queue, struct hora__timer *timer,
                                                  hora_ns now, hora_ns due, uint64_t *ret_number)
{
    return insert_by_lane(
        &(struct arrival){
            .timer_queue = timer_queue, .timer = timer, .was_taken = true, .now = now, .due = due},
        ret_number);
}

static inline int insert_shortly(struct timer_queue *timer_queue, struct hora__timer *timer, hora_ns now,
                                 hora_ns due, uint64_t *ret_number)
{
    if (hora__atomic_load(&timer->taken) != 0) /* that does not change: it is not pending */
        return insert_taken(timer_queue, timer, now, due, ret_number);
    return insert_by_lane(
        &(struct arrival){.timer_queue = timer_queue, .timer = timer, .now = now, .due = due}, ret_number);
}

/* A timer was inserted into a lane: wake a thread if none would look in time. */
static inline void wake_for(const hora_pool *pool, hora_ns due)
{
    if (hora__lanes_is_ahead(timer_queue_of(pool->queue)->store.lanes, due) &&
        !HORA__FAULT(TIMER_TELLS_NOBODY))
        hora__work_look(pool->queue);
}

int hora__timer_queue_insert_timer(struct hora__timer *timer, hora_ns now, hora_ns due, uint64_t *ret_number)
{
    assert(timer->task.pool != NULL && ret_number != NULL);
    hora_pool *pool = timer->task.pool;
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    int error = insert_shortly(timer_queue, timer, now, due, ret_number);
    if (error < 0)
        return insert_with_lock(&(struct arrival){.timer_queue = timer_queue, .timer = timer, .due = due},
                                error == HORA_EFULL, ret_number);
    wake_for(pool, due);
    return 0;
}

int hora__timer_queue_put_timer(struct hora__timer *timer, hora_ns due, uint64_t *ret_number)
{
    assert(timer->task.pool != NULL && ret_number != NULL);
    struct timer_queue *timer_queue = timer_queue_of(timer->task.pool->queue);
    return insert_with_lock(&(struct arrival){.timer_queue = timer_queue, .timer = timer, .due = due}, false,
                            ret_number);
}

/* ---- moving ---- */

/* If it is in its lane, and could be inserted there now: give it another due time and number, in the same
 * position. Returns whether that was done. It is booked as two timers: first the one that comes, so that the
 * books are never even in between. */
static inline bool repost(const hora_pool *pool, struct hora__timer *timer, hora_ns now, hora_ns due,
                          uint64_t *ret_number)
{
    struct hora__lanes *lanes = timer_queue_of(pool->queue)->store.lanes;
    struct hora__lane *lane = &lanes->lanes[timer->task.lane];
    assert(timer->task.lane < lanes->count);
    hora__mutex_lock(&lane->lock);
    bool moves =
        timer->task.spot != 0 && due > hora__atomic64_load(&lanes->floor) && check_timer(pool, timer) == 0;
    if (moves) {
        *ret_number = hora__lane_number_locked(lanes, lane, now);
        timer->task.entry.by_due.sequence = *ret_number;
        lane->slots[timer->task.spot - 1].due = due;
        hora__counter_add_alone(&lane->branch.accepted, 1);
        hora__counter_add_alone(&lane->branch.cancelled, 1);
    }
    hora__lane_leave(lane);
    return moves;
}

struct times {
    hora_ns now;
    hora_ns due;
    bool is_long;
};

/* With the lock, of a timer in the heap: move it to a lane if possible, else to another slot of the heap,
 * where one is free then. Returns whether it is in a lane now. */
__attribute__((noinline)) static bool move(hora_pool *pool, struct hora__timer *timer,
                                           const struct times *times, struct hora__wakes *wakes,
                                           uint64_t *ret_number)
{
    assert(timer->task.pool == pool);
    assert(hora__mutex_held(&pool->queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    hora__timer_queue_remove(timer_queue, &timer->task.entry);
    hora__queue_serve_change(pool->queue, wakes);
    bool is_in_lane =
        !times->is_long && insert_shortly(timer_queue, timer, times->now, times->due, ret_number) == 0;
    if (!is_in_lane) {
        insert_timer(pool, timer, times->due, ret_number);
        hora__queue_serve_change(pool->queue, wakes);
    }
    hora__counter_add_alone(&pool->books.cancelled,
                            1); /* after the one that has come, and before it is finished */
    hora__counter_add_alone_publish(&pool->books.finished, 1);
    return is_in_lane;
}

__attribute__((noinline)) static int move_long(hora_pool *pool, struct hora__timer *timer,
                                               const struct times *times, uint64_t *ret_number)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (timer->task.entry.by_due.index == HORA__NODE_OUT)
        hora__timer_queue_absorb(queue); /* it may still be in a lane */
    bool was_pending = timer->task.entry.by_due.index != HORA__NODE_OUT;
    bool is_in_lane = false;
    int error =
        was_pending
            ? check_timer(pool, timer)
            : put(&(struct arrival){.timer_queue = timer_queue_of(queue), .timer = timer, .due = times->due},
                  ret_number);
    if (error == 0 && was_pending)
        is_in_lane = move(pool, timer, times, &wakes, ret_number);
    else if (error == 0)
        hora__queue_serve_change(queue, &wakes);
    hora__queue_exit(queue, &wakes);
    if (is_in_lane)
        wake_for(pool, times->due);
    return error < 0 ? error : was_pending;
}

int hora__timer_queue_move_timer(struct hora__timer *timer, hora_ns now, hora_ns due, bool is_long,
                                 uint64_t *ret_number)
{
    assert(timer->task.pool != NULL && ret_number != NULL);
    hora_pool *pool = timer->task.pool;
    if (is_long || !repost(pool, timer, now, due, ret_number))
        return move_long(pool, timer, &(struct times){now, due, is_long}, ret_number);
    wake_for(pool, due);
    return 1;
}

/* ---- coming from another scheduler ---- */

int hora__timer_queue_keep_timer_place(hora_pool *pool)
{
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    hora__mutex_lock(&pool->queue->object.lock);
    int error = is_let_in(pool) ? make_place(timer_queue, timer_heap(timer_queue)) : HORA_ENOTSUP;
    if (error == 0)
        hora__timer_heap_reserve(timer_heap(timer_queue), 1);
    hora__mutex_unlock(&pool->queue->object.lock);
    return error;
}

static void give_up_place(struct timer_queue *timer_queue)
{
    assert(timer_heap(timer_queue)->reserved > 0);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora__timer_heap_reserve(timer_heap(timer_queue), -1);
    hora__timer_heap_save_room(timer_heap(timer_queue));
}

void hora__timer_queue_give_up_timer_place(hora_pool *pool)
{
    hora__mutex_lock(&pool->queue->object.lock);
    give_up_place(timer_queue_of(pool->queue));
    hora__mutex_unlock(&pool->queue->object.lock);
}

int hora__timer_queue_place_timer(struct hora__timer *timer, hora_ns due, uint64_t *ret_number)
{
    assert(timer->task.pool != NULL && ret_number != NULL);
    hora_pool *pool = timer->task.pool;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&pool->queue->object.lock);
    int error = check_timer(pool, timer);
    if (error < 0) {
        give_up_place(timer_queue_of(pool->queue));
    } else {
        hora__timer_heap_reserve(timer_heap(timer_queue_of(pool->queue)), -1);
        insert_timer(pool, timer, due, ret_number);
        hora__queue_serve_change(pool->queue, &wakes);
    }
    hora__queue_exit(pool->queue, &wakes);
    return error;
}

/* ---- going ---- */

struct hora__taken *hora__timer_queue_hand_out(struct timer_queue *timer_queue, struct hora__entry *entry,
                                               hora_ns due, struct hora__taken *ret_taken)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    assert(entry->is_detached);
    struct hora__timer_run *run = ret_taken->run;
    ret_taken->came = due;
    if (!entry->is_timer) {
        ret_taken->task = hora__detached_task(hora__detached_of(entry));
    } else if (run == NULL) {
        ret_taken->task = (hora_task){.run = NULL}; /* no worker runs it */
    } else {
        struct hora__timer *timer = hora__timer_of(entry);
        if (HORA__FAULT(TIMER_STOP_MISSES_TAKEN))
            run->has_begun = false;
        run->timer = timer;
        run->function = timer->task.run_timer;
        run->arg = timer->task.arg;
        hora__atomic_store_relaxed(&timer->taken, 1);
    }
    (void)hora__timer_queue_release_detached(timer_queue, entry);
    return ret_taken;
}

/* Remove from the heap one that is not to run. */
static void discard(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(entry->is_detached);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora__timer_queue_remove(timer_queue, entry);
    (void)hora__timer_queue_release_detached(timer_queue, entry);
}

/* Numbers are unique. A timer with another number may be anywhere, so it is not looked at. */
static bool withdraw(struct timer_queue *timer_queue, struct hora__timer_heap *heap, uint64_t number)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_node(heap->slots[i]));
        if (entry->by_due.sequence != number || !entry->is_detached)
            continue;
        discard(timer_queue, entry);
        return true;
    }
    return false;
}

bool hora__timer_queue_withdraw(hora_queue *queue, bool is_timer, uint64_t number)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_absorb(queue); /* it may still be in a lane */
    hora__timer_store_gather(&timer_queue->store);
    bool found = withdraw(timer_queue, is_timer ? timer_heap(timer_queue) : own_heap(timer_queue), number);
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

hora_task hora__timer_queue_dismiss(hora_queue *queue, struct hora__entry *entry)
{
    assert(entry->stage == HORA__SWEPT);
    assert(entry->is_detached && !entry->is_timer);
    struct hora__detached *detached = hora__detached_of(entry);
    detached->run_task = NULL; /* it was a link of the chain */
    hora_task task = hora__detached_task(detached);
    hora__mutex_lock(&queue->object.lock);
    leave(timer_queue_of(queue), detached);
    hora__mutex_unlock(&queue->object.lock);
    return task;
}

/* ---- tasks become futures ---- */

/* Whether the entry is one of a task without a future. */
static bool is_task(const struct hora__entry *entry)
{
    return entry->is_detached && !entry->is_timer;
}

static int show(struct timer_queue *timer_queue, const struct hora__timer_queue_maker *maker)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    struct hora__timer_heap *heap = own_heap(timer_queue);
    int error = 0;
    hora__timer_store_gather(&timer_queue->store);
    for (int i = 0; error == 0 && i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_node(heap->slots[i]));
        if (!is_task(entry))
            continue;
        struct hora__scheduled *scheduled;
        hora_task task = hora__detached_task(hora__detached_of(entry));
        error = maker->make(maker->context, &task, heap->slots[i].due, &scheduled);
        if (error < 0)
            break;
        scheduled->entry.stage = HORA__WAITS;
        hora__timer_heap_replace(heap, &entry->by_due, &scheduled->entry.by_due);
        if (HORA__FAULT(TIMER_QUEUE_SHOWS_LATER))
            scheduled->entry.by_due.sequence = hora__lanes_number(timer_queue->store.lanes);
        leave(timer_queue, hora__detached_of(entry));
    }
    return error;
}

int hora__timer_queue_show(hora_queue *queue, const struct hora__timer_queue_maker *maker)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__atomic_store(&timer_queue_of(queue)->store.lanes->shown,
                       1); /* I4: before the last look at what has come */
    if (!HORA__FAULT(TIMER_QUEUE_SHOWS_HEAP_ONLY))
        hora__timer_queue_absorb(queue);
    int error = show(timer_queue_of(queue), maker);
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

/* ---- cancelling timers ---- */

/* Take it out of its lane. Returns false if it is not there, or if a thread must be told of it. */
static inline bool cancel_in_lane(const hora_pool *pool, struct hora__timer *timer)
{
    struct hora__lane *lane = &timer_queue_of(pool->queue)->store.lanes->lanes[timer->task.lane];
    hora__mutex_lock(&lane->lock);
    bool is_there =
        timer->task.spot != 0 && (hora__pool_needs_no_news(pool) || HORA__FAULT(TIMER_GOES_UNHEARD));
    if (is_there) {
        hora__counter_add_alone_publish(&lane->branch.cancelled, 1);
        hora__lane_take_out(lane, &timer->task.entry.by_due);
        end(timer);
    }
    hora__lane_leave(lane);
    return is_there;
}

/* With the lock: a timer in the heap is cancelled. */
static void book_cancelled(hora_queue *queue, struct hora__timer *timer, struct hora__books *books,
                           struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    discard(timer_queue_of(queue), &timer->task.entry);
    hora__counter_add_alone(&books->cancelled,
                            1); /* first: a thread that sees all finished finds it counted */
    hora__counter_add_alone_publish(&books->finished, 1);
    hora__queue_serve_change(queue, wakes);
}

/* Remove it from the timer queue, if it is still there. */
__attribute__((noinline)) static bool remove_cancelled(hora_queue *queue, struct hora__timer *timer,
                                                       struct hora__books *books)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (timer->task.entry.by_due.index == HORA__NODE_OUT && !HORA__FAULT(TIMER_CANCEL_FORGETS_LANE))
        hora__timer_queue_absorb(queue); /* it may still be in a lane */
    bool found = timer->task.entry.by_due.index != HORA__NODE_OUT;
    if (found)
        book_cancelled(queue, timer, books, &wakes);
    hora__queue_exit(queue, &wakes);
    return found;
}

bool hora__timer_queue_cancel_timer_in_lane(struct hora__timer *timer)
{
    assert(timer->task.pool != NULL);
    return cancel_in_lane(timer->task.pool, timer);
}

enum hora__timer_cancel hora__timer_queue_cancel_timer(struct hora__timer *timer)
{
    assert(timer->task.pool != NULL);
    hora_pool *pool = timer->task.pool;
    if (cancel_in_lane(pool, timer))
        return HORA__TIMER_UNPOSTED;
    return remove_cancelled(pool->queue, timer, &pool->books) ? HORA__TIMER_REMOVED : HORA__TIMER_NOT_THERE;
}

/* ---- running ---- */

void hora__timer_queue_worker_begins(hora_queue *queue, struct hora__timer_run *run)
{
    assert(run->timer == NULL);
    hora__mutex_lock(&queue->object.lock);
    hora__list_add_last(&timer_queue_of(queue)->runs, &run->link);
    hora__mutex_unlock(&queue->object.lock);
}

void hora__timer_queue_worker_ends(hora_queue *queue, struct hora__timer_run *run)
{
    assert(run->timer == NULL);
    hora__mutex_lock(&queue->object.lock);
    hora__list_remove(&run->link);
    hora__mutex_unlock(&queue->object.lock);
}

void hora__timer_queue_ran(hora_queue *queue, struct hora__taken *taken, struct hora__wakes *wakes)
{
    assert(taken->run != NULL && taken->run->timer != NULL);
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    taken->run->timer = NULL;
    if (timer_queue->admission != NULL && !HORA__FAULT(TIMER_RUN_COUNTS_ON))
        hora__admission_end_anonymous(&timer_queue->admission->admission);
    if (!hora__list_is_empty(&timer_queue->stoppers) && !HORA__FAULT(TIMER_STOP_IS_NOT_TOLD))
        hora__waiters_resolve_all(&timer_queue->stoppers, 0, wakes);
}

/* With the lock: whether a worker has the timer. */
static bool is_with_worker(const struct timer_queue *timer_queue, const struct hora__timer *timer)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    for (struct hora__list *link = timer_queue->runs.next; link != &timer_queue->runs; link = link->next) {
        const struct hora__timer_run *run = HORA__LIST_ENTRY(link, struct hora__timer_run, link);
        if (run->timer == timer && !(HORA__FAULT(TIMER_STOP_MISSES_TAKEN) && !run->has_begun))
            return true;
    }
    return false;
}

bool hora__timer_queue_runs_timer(const struct hora__timer *timer)
{
    hora_queue *queue = timer->task.pool->queue;
    hora__mutex_lock(&queue->object.lock);
    bool runs = is_with_worker(timer_queue_of(queue), timer);
    hora__mutex_unlock(&queue->object.lock);
    return runs;
}

/* ---- stopping ---- */

/* Remove it if it is pending. Returns whether it was. From then on its function cannot start it any more. */
static bool stop_pending(hora_pool *pool, struct hora__timer *timer)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_absorb(queue); /* goes through the locks of all lanes: see above */
    bool forgets = HORA__FAULT(TIMER_STOP_FORGETS_RESTART) && is_with_worker(timer_queue_of(queue), timer);
    bool found = hora__atomic_load(&timer->task.pending) != 0 && !forgets;
    if (found)
        book_cancelled(queue, timer, &pool->books, &wakes);
    hora__queue_exit(queue, &wakes);
    if (found) {
        hora__pool_count_cancelled(pool, &hora__timer_task);
        hora__pool_cancelled(pool);
        hora__pool_try_terminate(pool);
    }
    return found;
}

/* If a worker has it, wait until a run of some timer has ended. Returns whether a worker had it: then the
 * caller looks again. */
static bool await_run(hora_queue *queue, const struct hora__timer *timer, hora_thread *thread,
                      bool *interrupted)
{
    hora__mutex_lock(&queue->object.lock);
    if (!is_with_worker(timer_queue_of(queue), timer) || HORA__FAULT(TIMER_STOP_DOES_NOT_WAIT)) {
        hora__mutex_unlock(&queue->object.lock);
        return false;
    }
    int woken =
        hora__object_wait_locked(&queue->object, &timer_queue_of(queue)->stoppers, thread, HORA_FOREVER);
    *interrupted |= woken == HORA_EINTERRUPTED;
    return true;
}

int hora__timer_queue_stop_timer(struct hora__timer *timer, bool in_function, hora_thread *thread)
{
    assert(hora__atomic_load(&timer->stopping) > 0);
    hora_pool *pool = timer->task.pool;
    bool was_pending = stop_pending(pool, timer);
    bool was_running = in_function;
    bool interrupted = false;
    while (!in_function && await_run(pool->queue, timer, thread, &interrupted))
        was_running = true;
    if (interrupted)
        (void)hora_thread_interrupt(thread);
    return was_running ? HORA_CANCEL_RUNNING : was_pending ? HORA_CANCEL_REMOVED : HORA_CANCEL_TOO_LATE;
}

/* ---- many at once ---- */

static int mark(struct hora__timer_heap *heap, bool (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    int marked = 0;
    for (int i = 0; i < heap->size; i++) {
        struct hora__entry *entry = entry_by_due(hora__slot_node(heap->slots[i]));
        if (!entry->is_timer || !visit(entry, arg))
            continue;
        entry->stage = HORA__SWEPT;
        marked++;
    }
    return marked;
}

static bool drop_marked(struct hora__timer_node *node)
{
    assert(node != NULL);
    struct hora__entry *entry = entry_by_due(node);
    if (!entry->is_timer || entry->stage != HORA__SWEPT)
        return false;
    entry->by_due.index = HORA__NODE_OUT;
    end(hora__timer_of(entry));
    return true;
}

/* Timers are marked while the heap is unchanged, since `visit` asks when each is due. */
int hora__timer_queue_drop_timers(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                                  void *arg, struct hora__books *books)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    hora__timer_queue_absorb(queue);
    int count = timer_queue->hidden > 0 && !HORA__FAULT(TIMER_SWEPT_UNSEEN)
                    ? mark(timer_heap(timer_queue), visit, arg)
                    : 0;
    assert(count <= timer_queue->hidden); /* I3 */
    if (count == 0)
        return 0;
    hora__timer_heap_sift_out(timer_heap(timer_queue), drop_marked);
    hora__timer_store_follow(&timer_queue->store); /* the first may have left */
    hora__timer_heap_save_room(timer_heap(timer_queue));
    queue->size -= count;
    timer_queue->hidden -= count; /* I3 */
    hora__counter_add_alone(&books->cancelled,
                            count); /* first: a thread that sees all finished finds it counted */
    hora__counter_add_alone_publish(&books->finished, count);
    if (timer_queue->timer_line == TIMERS_WITH_ADMISSION)
        hora__timer_queue_offer_timer(timer_queue);
    return count;
}
