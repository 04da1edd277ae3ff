/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_detached.c - detached tasks in the timer queue: tasks without a future, and timers of the
 * caller; see detached.h
 *
 * Mechanism    Detached tasks and timers are on the queue's own timeline, without slack, and in the same heap
 *              as futures, so there is one order. (With admission, timers have their own heap.) A thread
 *              inserts them into a lane or, if the lane refuses them, under the queue's lock. A timer can be
 *              cancelled in its lane; a task is never cancelled.
 * A task       is in memory of the free list of the lane by which it was inserted. The lane's lock guards
 *              that list, but a taker holds the queue's lock. So takers chain the tasks that have left, one
 *              chain per lane (`left`). A thread that holds both locks returns them to the free list:
 *              whenever the lanes are absorbed, which a worker does before it sleeps, and when a chain has
 *              LEFT_MOST tasks. Before any thread other than a taker looks at the entries, tasks become
 *              futures. Each future takes the task's position in the heap and its sequence number, so the
 *              order stays the same.
 * A timer      is in memory of the caller, who may free it as soon as it is neither pending nor running; its
 *              function may free it, too. So a thread that removes a timer copies what it needs and then, as
 *              its last access, sets `pending` to 0. No timer is in a chain of picked entries.
 * Running      A worker notes the address of the timer that it takes, under the queue's lock and in its own
 *              memory (struct hora__timer_run), and clears the note under the same lock when it takes its
 *              next task. So a thread that holds the lock, and has absorbed the lanes, knows of each timer
 *              whether it is in the heap, with a worker, both or neither.
 * Stopping     A timer that no worker has taken (`taken` is 0) is stopped by cancelling it. Otherwise its
 *              function may be running, and may start the timer at this moment. So a stop first announces
 *              itself (`stopping`), and then absorbs the lanes. A function that starts the timer reads
 *              `stopping` under the lock of its lane: either it sees the stop, or the stop finds the timer.
 *              From then on the function cannot start the timer any more, and no thread writes the timer's
 *              memory without the queue's lock. Then the stop removes the timer from the heap, and waits
 *              until no worker has it.
 * Invariants   I1 a timer is pending if and only if it is in a lane or in the heap.
 *              I2 no timer is inserted once the pool is shut down: the inserting thread reads the pool's
 *                 state under the lock by which it inserts. So a thread that shuts the pool down and then
 *                 drops timers finds the last one.
 *              I3 hidden is the number of timers in the heap.
 *              I4 once showing the queue has begun, no task is inserted; once it has succeeded, there is
 *                 none. */
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

/* One optional part of a task: DROP and DROP_RESULT use `drop`, NAME uses `name`. */
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

/* Returns the number of parts in a set of enum hora__detached_part. */
static int count_parts(unsigned parts)
{
    assert(parts < 8);
    return (int)((parts & 1) + (parts >> 1 & 1) + (parts >> 2 & 1));
}

/* Makes a detached task on a timeline, in no heap, in memory of a free list whose lock the caller holds.
 * NULL: no memory. */
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
    /* The parts follow the struct in the order of enum hora__detached_part. */
    union part *next = (union part *)(detached + 1);
    if (parts & HORA__PART_DROP)
        (next++)->drop = task->drop;
    if (parts & HORA__PART_DROP_RESULT)
        (next++)->drop = task->drop_result;
    if (parts & HORA__PART_NAME)
        next->name = task->name;
    return detached;
}

/* Unpacks the parts in the order in which new_task has packed them. */
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

/* Returns the memory of a task to its free list, whose lock the caller holds. */
static void free_task(struct hora__free_list *list, struct hora__detached *detached)
{
    assert(!detached->entry.is_timer);
    hora__chunk_free(hora__free_list_put(list, detached, detached->offset));
}

/* ---- memory ---- */

/* How many tasks of a lane may wait to be freed. Freeing many at a time saves taking the lane's lock. */
enum { LEFT_MOST = HORA__KEPT(64, 2) };

/* Called for each lane that the store absorbs, and with no other thread left when the queue is destroyed. */
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

/* Chains a task that is no longer needed, to be freed later; frees the chain if it is long. The caller holds
 * the queue's lock. */
static void free_later(struct timer_queue *timer_queue, struct hora__detached *detached)
{
    assert(detached->lane < timer_queue->store.lanes->count);
    assert(!detached->entry.is_timer);
    struct hora__lane *lane = &timer_queue->store.lanes->lanes[detached->lane];
    struct hora__left *left = &timer_queue->left[detached->lane];
    detached->next_picked = left->first;
    left->first = &detached->entry;
    hora__lane_mark_filled(lane); /* so that absorbing the lanes visits this one, and frees the chain */
    if (++left->count < LEFT_MOST && hora__keeps_memory())
        return;
    hora__mutex_lock(&lane->lock); /* no thread holds it for long */
    hora__timer_queue_give_back(timer_queue, lane);
    hora__lane_leave(lane);
}

/* The library's last access to a timer: from now on the memory belongs to the caller. Release order makes all
 * earlier accesses visible to a thread that sees `pending` 0. */
static void clear_pending(struct hora__timer *timer)
{
    assert(timer != NULL);
    HORA__ORDER_FAULT(TIMER_ENDS_RELAXED, memory_order_relaxed);
    hora__atomic_publish(&timer->task.pending, 0);
}

/* The heap's memory comes first: the entry must not be accessed after `clear_pending`. */
struct hora__entry *hora__timer_queue_release_detached(struct timer_queue *timer_queue,
                                                       struct hora__entry *entry)
{
    assert(entry->is_detached);
    hora__timer_queue_save_memory(timer_queue, entry);
    if (entry->is_timer)
        clear_pending(hora__timer_of(entry));
    else
        free_later(timer_queue, hora__detached_of(entry));
    return entry;
}

/* ---- inserting ---- */

/* The arguments of an insertion: a task, of which a copy is made, or a timer. */
struct arrival {
    struct timer_queue *timer_queue;
    const struct hora__offer *offer; /* the task; NULL: a timer */
    struct hora__timer *timer;       /* NULL: a task */
    /* Of a timer: a worker has taken it before. It keeps its lane, and may be stopped at this moment. */
    bool was_taken;
    hora_ns now; /* when the inserting call began; read only if a lane is used */
    hora_ns due;
};

/* Makes a timer pending and initialises its entry, under the lock by which it is inserted. Does not write
 * `spot`, which is 0: a thread that stops the timer may be reading it under the lock of the lane. */
static void set_pending(struct timer_queue *timer_queue, struct hora__timer *timer)
{
    assert(hora__atomic_load(&timer->task.pending) == 0 || timer->task.entry.by_due.index == HORA__NODE_OUT);
    timer->task.entry = (struct hora__entry){.by_due = {.index = HORA__NODE_OUT},
                                             .line = timer_queue->timer_line,
                                             .is_detached = true,
                                             .is_timer = true,
                                             .stage = HORA__WAITS};
    assert(timer->task.spot == 0);                 /* I1 of timer/lanes.c */
    hora__atomic_publish(&timer->task.pending, 1); /* I1 */
}

/* Returns whether the pool accepts timers: it is running. Read under the lock by which the timer is inserted:
 * I2. */
static inline bool is_let_in(const hora_pool *pool)
{
    return hora__state_of(hora__atomic_load(&pool->control)) == HORA__RUNNING ||
           HORA__FAULT(TIMER_CLOSED_UNSEEN);
}

/* Returns whether a thread waits for the timer's function to end. This matters only if the timer was taken:
 * the caller is then its function, because a stop excludes all other calls on the timer. */
static inline bool is_being_stopped(const struct hora__timer *timer)
{
    return hora__atomic_load(&timer->taken) != 0 && hora__atomic_load(&timer->stopping) != 0 &&
           !HORA__FAULT(TIMER_STARTS_WHILE_STOPPED);
}

/* Returns 0 if the timer may be inserted, or HORA_ENOTSUP or HORA_EBUSY. Called under the lock by which it is
 * inserted. */
static int check_timer(const hora_pool *pool, const struct hora__timer *timer)
{
    return !is_let_in(pool) ? HORA_ENOTSUP : is_being_stopped(timer) ? HORA_EBUSY : 0;
}

/* Returns whether the queue accepts a detached task: it has not been shown (I4), and the pool accepts tasks.
 * Called under the lock by which the task is inserted. */
static bool admits_task(const struct timer_queue *timer_queue, const struct hora__offer *offer)
{
    if (hora__atomic_load(&timer_queue->store.lanes->shown) && !HORA__FAULT(TIMER_QUEUE_SHOWN_TOO_SOON))
        return false;
    return hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(TIMER_QUEUE_CLOSED_UNSEEN);
}

/* Returns whether the task or timer may be inserted into a lane, whose lock the caller holds. */
HORA__INLINE bool is_admitted(const struct arrival *arrival)
{
    assert((arrival->timer == NULL) != (arrival->offer == NULL));
    if (arrival->timer == NULL)
        return admits_task(arrival->timer_queue, arrival->offer);
    return is_let_in(arrival->timer->task.pool) && !(arrival->was_taken && is_being_stopped(arrival->timer));
}

/* Makes a copy of a task in memory of a lane's free list. The caller holds the lane's lock. NULL: no
 * memory. */
static struct hora__detached *copy_task(struct timer_queue *timer_queue, struct hora__lane *lane,
                                        const hora_task *task)
{
    assert(hora__mutex_held(&lane->lock));
    struct hora__detached *detached = new_task(&lane->free_list, task, timer_queue->own);
    if (detached != NULL)
        detached->lane = (uint8_t)(lane - timer_queue->store.lanes->lanes);
    return detached;
}

/* Inserts a task or timer into the lane with this index, which has room, under its lock. Returns 0 or
 * HORA_ENOMEM. */
HORA__INLINE int add_to_lane(const struct arrival *arrival, int index, uint64_t *ret_number)
{
    struct timer_queue *timer_queue = arrival->timer_queue;
    struct hora__lanes *lanes = timer_queue->store.lanes;
    struct hora__lane *lane = &lanes->lanes[index];
    assert(hora__mutex_held(&lane->lock));
    struct hora__timer *timer = arrival->timer;
    struct hora__detached *detached =
        timer != NULL ? &timer->task : copy_task(timer_queue, lane, arrival->offer->task);
    if (detached == NULL)
        return HORA_ENOMEM;
    if (timer == NULL) {
        hora__lane_add_untracked(lanes, lane, &detached->entry.by_due, arrival->due, arrival->now);
    } else {
        set_pending(timer_queue, timer);
        if (!arrival->was_taken)
            detached->lane = (uint8_t)index;
        hora__lane_add(lanes, lane, &detached->entry.by_due, arrival->due, arrival->now);
    }
    *ret_number = detached->entry.by_due.sequence; /* now: once the lock is released, a worker may free it */
    return 0;
}

/* Tries to insert into a lane. Returns 0 or HORA_ENOMEM; HORA_EFULL (the lane is full) or HORA_ENOTSUP (for
 * another reason) if the caller must try under the queue's lock. */
HORA__INLINE int insert_by_lane(const struct arrival *arrival, uint64_t *ret_number)
{
    assert((arrival->timer == NULL) != (arrival->offer == NULL));
    struct hora__lanes *lanes = arrival->timer_queue->store.lanes;
    if (arrival->due <= hora__atomic64_load(&lanes->floor))
        return HORA_ENOTSUP; /* the lane would refuse it, so its lock need not be taken */
    int index = arrival->was_taken ? arrival->timer->task.lane : hora__lanes_mine(lanes);
    struct hora__lane *lane = &lanes->lanes[index];
    hora__mutex_lock(&lane->lock);
    hora__lane_mark_filled(lane);
    int error = lane->count == HORA__LANE_ROOM ? HORA_EFULL : HORA_ENOTSUP;
    if (hora__lane_admits(lanes, lane, arrival->due) && is_admitted(arrival))
        error = add_to_lane(arrival, index, ret_number);
    hora__lane_leave(lane);
    return error;
}

/* Inserts a timer into the heap, which has room, and books it. The caller holds the queue's lock. */
static void insert_timer(hora_pool *pool, struct hora__timer *timer, hora_ns due, uint64_t *ret_number)
{
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    set_pending(timer_queue, timer);
    hora__timer_queue_insert(timer_queue, &timer->task.entry, due);
    *ret_number = timer->task.entry.by_due.sequence;
    hora__counter_add_alone(&pool->books.accepted, 1);
}

/* Inserts a copy of a task into the heap, which has room, and books it. The caller holds the queue's lock.
 * The lock of a lane is taken for the memory. Returns 0 or HORA_ENOMEM. */
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

/* Makes room for one more entry in a heap. The caller holds the queue's lock. Returns 0, HORA_ENOMEM or
 * HORA_EFULL. */
static int make_place(struct timer_queue *timer_queue, struct hora__timer_heap *heap)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    return timer_queue->base.queue.size == HORA_UNBOUNDED ? HORA_EFULL : hora__timer_heap_make_room(heap);
}

/* Inserts a task or timer into the heap, under the queue's lock. Returns 0, HORA_ENOTSUP, HORA_EBUSY,
 * HORA_ENOMEM or HORA_EFULL; on error nothing has changed. */
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
    /* The heap may have grown: reserve slots for the lanes, which stay closed until they have all. */
    if (error == 0 && timer_queue->store.lacking > 0)
        hora__timer_store_promise(&timer_queue->store);
    return error;
}

/* Inserts under the queue's lock, and wakes a worker if the entry is due first. If a lane was full, the lanes
 * are absorbed, so that later insertions find room. */
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

/* Decides whether to wake a worker after the lane's lock is released: see "Waking" in timer/lanes.c. */
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
        !HORA__FAULT(DETACHED_WAKES_NO_WORKER))
        hora__work_look(queue);
    return error;
}

/* Inserts a timer that was taken before into its lane. Not inlined: most timers never run, and do not pay for
 * it. */
__attribute__((noinline)) static int insert_taken(struct timer_queue *timer_queue, struct hora__timer *timer,
                                                  hora_ns now, hora_ns due, uint64_t *ret_number)
{
    return insert_by_lane(
        &(struct arrival){
            .timer_queue = timer_queue, .timer = timer, .was_taken = true, .now = now, .due = due},
        ret_number);
}

/* Inserts a timer that is not pending into a lane. See insert_by_lane for the result. */
static inline int insert_shortly(struct timer_queue *timer_queue, struct hora__timer *timer, hora_ns now,
                                 hora_ns due, uint64_t *ret_number)
{
    if (hora__atomic_load(&timer->taken) != 0) /* does not become 1 now: no worker can take the timer */
        return insert_taken(timer_queue, timer, now, due, ret_number);
    return insert_by_lane(
        &(struct arrival){.timer_queue = timer_queue, .timer = timer, .now = now, .due = due}, ret_number);
}

/* Wakes a worker if a timer was inserted into a lane and no worker would look before it is due. */
static inline void wake_for(const hora_pool *pool, hora_ns due)
{
    if (hora__lanes_is_ahead(timer_queue_of(pool->queue)->store.lanes, due) &&
        !HORA__FAULT(TIMER_WAKES_NO_WORKER))
        hora__work_look(pool->queue);
}

/* After the insertion only `pool`, a copy, is used: the function may have run and freed the timer. */
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

/* Moves a timer within its lane: gives it another due time and sequence number, in the same position. Returns
 * false if it is not in its lane, or could not be inserted there now. The move is booked as two timers: first
 * the new one as accepted, so that the books are never even in between. */
static inline bool move_in_lane(const hora_pool *pool, struct hora__timer *timer, hora_ns now, hora_ns due,
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

/* Moves a timer that is in the heap: into a lane if possible, so that it can be cancelled there, else to
 * another position of the heap, where its removal has left room. The caller holds the queue's lock. Returns
 * whether the timer is in a lane now. */
__attribute__((noinline)) static bool move(hora_pool *pool, struct hora__timer *timer,
                                           const struct hora__timer_times *times, struct hora__wakes *wakes,
                                           uint64_t *ret_number)
{
    assert(timer->task.pool == pool);
    assert(hora__mutex_held(&pool->queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(pool->queue);
    hora__timer_queue_remove(timer_queue, &timer->task.entry);
    hora__queue_serve_change(pool->queue, wakes);
    bool is_in_lane =
        !times->uses_no_lane && insert_shortly(timer_queue, timer, times->now, times->due, ret_number) == 0;
    if (!is_in_lane) {
        insert_timer(pool, timer, times->due, ret_number);
        hora__queue_serve_change(pool->queue, wakes);
    }
    /* Booked after the new start, so that the books are never even in between. `cancelled` is raised before
     * `finished`: a thread that sees all tasks finished also sees how they ended. */
    hora__counter_add_alone(&pool->books.cancelled, 1);
    hora__counter_add_alone_publish(&pool->books.finished, 1);
    return is_in_lane;
}

/* Moves a timer under the queue's lock, or inserts it if it is not pending any more. Returns as
 * hora__timer_queue_move_timer does. */
__attribute__((noinline)) static int move_with_lock(hora_pool *pool, struct hora__timer *timer,
                                                    const struct hora__timer_times *times,
                                                    uint64_t *ret_number)
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

/* Most timers that are moved are still in their lane: the queue's lock is not needed then. */
int hora__timer_queue_move_timer(struct hora__timer *timer, const struct hora__timer_times *times,
                                 uint64_t *ret_number)
{
    assert(timer->task.pool != NULL && ret_number != NULL);
    hora_pool *pool = timer->task.pool;
    if (times->uses_no_lane || !move_in_lane(pool, timer, times->now, times->due, ret_number))
        return move_with_lock(pool, timer, times, ret_number);
    wake_for(pool, times->due);
    return 1;
}

/* ---- moving from another scheduler ---- */

/* The slot is in the heap that timers use; with admission that is not the heap of the other entries. */
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

/* Releases a reserved slot of the timers' heap. The caller holds the lock. */
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

/* Releasing the slot makes room for the insertion, so that cannot fail. */
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

/* ---- removing ---- */

/* Everything is copied before the entry is released: a task's memory is reused, and a timer's belongs to its
 * caller. */
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
        ret_taken->task = (hora_task){.run = NULL}; /* the caller is no worker: the timer does not run */
    } else {
        /* The note names the timer, and `taken` is set, before `pending` becomes 0 in
         * hora__timer_queue_release_detached. So a thread that finds the timer not pending, and then takes
         * the lock, sees that a worker has it. */
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

/* Removes and releases a task or timer in the heap that does not run. The caller holds the lock. */
static void discard(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(entry->is_detached);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora__timer_queue_remove(timer_queue, entry);
    (void)hora__timer_queue_release_detached(timer_queue, entry);
}

/* Searches a heap for the task or timer with this number, and removes it. Returns whether it was found.
 * Sequence numbers are unique. */
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

/* The task or timer may have run and been freed, so the caller has no pointer to it. Its number is searched
 * for. */
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

/* The caller runs drop with no lock held, so it gets a copy. */
hora_task hora__timer_queue_dismiss(hora_queue *queue, struct hora__entry *entry)
{
    assert(entry->stage == HORA__SWEPT);
    assert(entry->is_detached && !entry->is_timer);
    struct hora__detached *detached = hora__detached_of(entry);
    detached->run_task = NULL; /* the chain has overwritten it with its link */
    hora_task task = hora__detached_task(detached);
    hora__mutex_lock(&queue->object.lock);
    free_later(timer_queue_of(queue), detached);
    hora__mutex_unlock(&queue->object.lock);
    return task;
}

/* ---- tasks become futures ---- */

/* Returns whether the entry is that of a detached task, not of a timer. */
static bool is_task(const struct hora__entry *entry)
{
    return entry->is_detached && !entry->is_timer;
}

/* Replaces all detached tasks by futures. The caller holds the lock, and has absorbed the lanes. Returns 0 or
 * the error of `make`. */
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
        /* Same slot, due time and sequence number: the heap stays in order, and the size does not change. */
        hora__timer_heap_replace(heap, &entry->by_due, &scheduled->entry.by_due);
        if (HORA__FAULT(TIMER_QUEUE_SHOWS_LATER))
            scheduled->entry.by_due.sequence = hora__lanes_number(timer_queue->store.lanes);
        free_later(timer_queue, hora__detached_of(entry));
    }
    return error;
}

/* Threads that insert see `shown` under their lane's lock, or their task is absorbed here. */
int hora__timer_queue_show(hora_queue *queue, const struct hora__timer_queue_maker *maker)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    /* I4: set before the lanes are absorbed. */
    hora__atomic_store(&timer_queue_of(queue)->store.lanes->shown, 1);
    if (!HORA__FAULT(TIMER_QUEUE_SHOWS_HEAP_ONLY))
        hora__timer_queue_absorb(queue);
    int error = show(timer_queue_of(queue), maker);
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return error;
}

/* ---- cancelling timers ---- */

/* Removes a timer from its lane, and books it as cancelled. Returns false, with nothing changed, if it is not
 * there, or if a thread has to be notified of the cancellation: then the caller takes the queue's lock. */
static inline bool cancel_in_lane(const hora_pool *pool, struct hora__timer *timer)
{
    struct hora__lane *lane = &timer_queue_of(pool->queue)->store.lanes->lanes[timer->task.lane];
    hora__mutex_lock(&lane->lock);
    bool is_there =
        timer->task.spot != 0 && (hora__pool_needs_no_news(pool) || HORA__FAULT(TIMER_GOES_UNHEARD));
    if (is_there) {
        hora__counter_add_alone_publish(&lane->branch.cancelled, 1);
        hora__lane_take_out(lane, &timer->task.entry.by_due);
        clear_pending(timer); /* last: see "A timer" above */
    }
    hora__lane_leave(lane);
    return is_there;
}

/* Removes a timer from the heap, and books it as cancelled. The caller holds the lock. */
static void book_cancelled(hora_queue *queue, struct hora__timer *timer, struct hora__books *books,
                           struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    discard(timer_queue_of(queue), &timer->task.entry);
    /* In this order: a thread that sees all tasks finished also sees how they ended. */
    hora__counter_add_alone(&books->cancelled, 1);
    hora__counter_add_alone_publish(&books->finished, 1);
    hora__queue_serve_change(queue, wakes);
}

/* Removes a timer from the timer queue under the lock, and books it as cancelled. Returns false if it is not
 * pending any more. */
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

/* Most timers are cancelled in their lane, without the queue's lock. */
enum hora__timer_cancel hora__timer_queue_cancel_timer(struct hora__timer *timer)
{
    assert(timer->task.pool != NULL);
    hora_pool *pool = timer->task.pool;
    if (cancel_in_lane(pool, timer))
        return HORA__TIMER_REMOVED_IN_LANE;
    return remove_cancelled(pool->queue, timer, &pool->books) ? HORA__TIMER_REMOVED : HORA__TIMER_NOT_THERE;
}

/* ---- running ---- */

void hora__timer_queue_worker_begins(hora_pool *pool, struct hora__timer_run *run)
{
    assert(run->timer == NULL);
    hora__mutex_lock(&pool->queue->object.lock);
    hora__list_add_last(&timer_queue_of(pool->queue)->runs, &run->link);
    hora__mutex_unlock(&pool->queue->object.lock);
}

void hora__timer_queue_worker_ends(hora_pool *pool, struct hora__timer_run *run)
{
    assert(run->timer == NULL);
    hora__mutex_lock(&pool->queue->object.lock);
    hora__list_remove(&run->link);
    hora__mutex_unlock(&pool->queue->object.lock);
}

/* The stopping threads are all woken, whichever timer they wait for. Each looks for its own timer again. */
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

/* Returns whether a worker has taken the timer and its function has not returned yet. The caller holds the
 * lock. Takes time in proportion to the number of workers. */
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

/* Removes a timer if it is pending, and books it as cancelled. Returns whether it was pending. From then on
 * its function cannot start it any more: see "Stopping" above. */
static bool stop_pending(hora_pool *pool, struct hora__timer *timer)
{
    hora_queue *queue = pool->queue;
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__timer_queue_absorb(queue); /* `stopping` was raised before: see "Stopping" above */
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

/* If a worker has the timer, waits until the run of any timer has ended. Returns whether a worker had the
 * timer: then the caller looks again. Sets *interrupted if the wait was interrupted; a stop is not ended by
 * that. */
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

/* The wait does not react to interrupts. The flag, which the wait has cleared, is set again at the end. */
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

/* Makes each timer of the heap for which `visit` returns true SWEPT. Returns their number. */
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

/* Hands a marked timer back to its caller. Returns whether the node leaves the heap; called by
 * hora__timer_heap_sift_out, which does not access the node afterwards. */
static bool drop_marked(struct hora__timer_node *node)
{
    assert(node != NULL);
    struct hora__entry *entry = entry_by_due(node);
    if (!entry->is_timer || entry->stage != HORA__SWEPT)
        return false;
    entry->by_due.index = HORA__NODE_OUT;
    clear_pending(hora__timer_of(entry));
    return true;
}

/* Timers are marked first and removed together afterwards: `visit` asks for the due time of each, which the
 * heap knows only while it is in order. */
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
    /* In this order: a thread that sees all tasks finished also sees how they ended. */
    hora__counter_add_alone(&books->cancelled, count);
    hora__counter_add_alone_publish(&books->finished, count);
    if (timer_queue->timer_line == TIMERS_WITH_ADMISSION)
        hora__timer_queue_offer_timer(timer_queue);
    return count;
}
