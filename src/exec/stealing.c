/* SPDX-License-Identifier: Apache-2.0 */
/* stealing.c - the backlog of a stealing pool: own queues of the workers in front of a shared queue
 *
 * How it works      The shared queue is a backlog without a bound (backlog.c). A task that a worker submits
 *                   goes to the worker's own queue (own_queue.h). A taker that finds container and inbox of
 *                   the shared queue empty steals from the own queues. A thread that has to see all tasks
 *                   collects: it moves the segments of the own queues into the container. So all other
 *                   operations of the queue are those of the backlog.
 * Waking            A taker that goes to sleep looks at the own queues after it has set `wanted`, and a
 *                   worker reads `wanted` after it has inserted a task. Both take the lock of the own queue
 *                   in between. So the taker finds the task, or the worker has a taker woken.
 * Locks             The lock of an own queue comes after that of the queue, and before that of the inbox. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/backlog_internal.h"
#include "exec/worker.h"
#include "sync/thread.h"
#include "sys/alloc.h"

static struct backlog *backlog_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct backlog, base.queue);
}

/* Returns the own queue of the calling thread, and its hold in *ret_hold; NULL: it is no worker of the pool
 * that has this queue. */
static struct hora__own_queue *own_of_caller(hora_queue *queue, struct hora__hold **ret_hold)
{
    hora_thread *thread = hora__thread_existing();
    struct hora__worker *worker = thread != NULL ? thread->worker : NULL;
    struct hora__own_queue *own = worker != NULL ? worker->hold.own : NULL;
    if (own == NULL || own->shared != queue)
        return NULL;
    *ret_hold = &worker->hold;
    return own;
}

/* With the lock of the own queue and that of the inbox: the segment of the own queue is full, and goes to the
 * inbox with its tasks. The own queue gets the empty segment of the inbox, if there is one. Returns false if
 * the inbox accepts nothing. */
static bool hand_over_locked(struct backlog *backlog, struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock) && hora__mutex_held(&backlog->inbox_lock) && own->segment != NULL);
    if (backlog->sealed || hora__own_size(own) > backlog->inbox_room - backlog->inbox_size)
        return false; /* I7 */
    bool is_empty = backlog->inbox_size == 0;
    assert(!is_empty || backlog->inbox_first == backlog->inbox_end.segment);
    int count;
    struct hora__segment *segment = hora__own_exchange(own, is_empty ? backlog->inbox_first : NULL, &count);
    if (is_empty) {
        backlog->inbox_first = segment;
    } else {
        HORA__TOUCH(HORA__SLOTS - backlog->inbox_end.index);
        backlog->inbox_holes += hora__position_leave_holes(&backlog->inbox_end);
        backlog->inbox_end.segment->next = segment;
    }
    backlog->inbox_end = (struct hora__position){segment, count};
    backlog->inbox_form = 0;
    backlog->inbox_size += count;
    return true;
}

/* With the lock of the own queue: makes room in it. Returns whether there is some. */
static bool make_room(struct backlog *backlog, struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock));
    hora__mutex_lock(&backlog->inbox_lock);
    bool has_room = own->segment == NULL || hand_over_locked(backlog, own);
    if (has_room && own->segment == NULL)
        own->segment = hora__free_segments_get(&backlog->free_segments);
    hora__mutex_unlock(&backlog->inbox_lock);
    return has_room && own->segment != NULL;
}

/* Inserts a task into the own queue of the calling worker. Returns false if that is not possible. */
static bool insert_own(struct backlog *backlog, struct hora__own_queue *own, const struct hora__offer *offer)
{
    hora__mutex_lock_as(&own->lock, HORA__RANK_OWN);
    bool inserted =
        hora__own_accepts(own, offer) &&
        (hora__own_insert(own, offer) || (make_room(backlog, own) && hora__own_insert(own, offer)));
    hora__mutex_unlock_as(&own->lock, HORA__RANK_OWN);
    return inserted;
}

/* The `offer` of a stealing pool's backlog. What the own queue does not accept goes to the inbox, or is
 * refused there. */
static int offer(hora_queue *queue, const struct hora__offer *offered)
{
    struct backlog *backlog = backlog_of(queue);
    assert(backlog->own_count > 0);
    struct hora__hold *hold;
    struct hora__own_queue *own = own_of_caller(queue, &hold);
    if (own == NULL || !insert_own(backlog, own, offered))
        return hora__backlog_kind.offer(queue, offered);
    hold->has_own = true;
    if (!HORA__FAULT(OWN_WAKES_NO_THIEF) &&
        hora__atomic_load(&backlog->wanted) != 0) /* after the insertion */
        hora__work_look(queue);
    return 0;
}

/* Moves the segment of an own queue to the end of the container. If the container is empty, the own queue
 * gets its segment. */
static void take_over(struct backlog *backlog, struct hora__own_queue *own)
{
    hora_queue *queue = &backlog->base.queue;
    assert(hora__mutex_held(&queue->object.lock) && !backlog->offered && hora__own_size(own) > 0);
    int count;
    bool is_empty = queue->size == 0;
    struct hora__segment *segment = hora__own_exchange(own, is_empty ? backlog->front.segment : NULL, &count);
    if (is_empty) {
        backlog->front = (struct hora__position){segment, 0}; /* I2 */
    } else {
        HORA__TOUCH(HORA__SLOTS - backlog->end.index);
        backlog->holes += hora__position_leave_holes(&backlog->end);
        backlog->end.segment->next = segment;
    }
    backlog->end = (struct hora__position){segment, count};
    queue->size += count;
}

/* What a thread does with each own queue, under its lock. */
enum own_change { TAKE_OVER, SHOW, CLOSE };

/* Moves the tasks of all own queues into the container. With SHOW or CLOSE, they also accept no detached
 * task, or nothing, from then on. */
static void change_own(struct backlog *backlog, enum own_change change)
{
    assert(hora__mutex_held(&backlog->base.queue.object.lock));
    hora__backlog_recall(&backlog->base.queue);
    for (int i = 0; i < backlog->own_count; i++) {
        struct hora__own_queue *own = &backlog->own[i];
        hora__mutex_lock(&own->lock);
        own->is_shown = own->is_shown || change == SHOW;
        own->is_closed = own->is_closed || change == CLOSE;
        if (hora__own_size(own) > 0 && !HORA__FAULT(OWN_FORGOTTEN))
            take_over(backlog, own);
        hora__mutex_unlock(&own->lock);
    }
}

/* The `collect` of a stealing pool's backlog. */
static void collect_all(hora_queue *queue)
{
    change_own(backlog_of(queue), TAKE_OVER);
    hora__backlog_inbox.collect(queue);
}

/* With the queue's lock: returns whether there is a task in an own queue. */
static bool is_in_own(struct backlog *backlog)
{
    bool found = false;
    assert(hora__mutex_held(&backlog->base.queue.object.lock));
    for (int i = 0; i < backlog->own_count && !found; i++) {
        hora__mutex_lock(&backlog->own[i].lock);
        found = hora__own_size(&backlog->own[i]) > 0;
        hora__mutex_unlock(&backlog->own[i].lock);
    }
    return found;
}

/* As `expect`, with the own queues. A queue with a descriptor must show each task, so nothing stays in own
 * queues from then on. */
static bool expect(hora_queue *queue, hora_ns until)
{
    struct backlog *backlog = backlog_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    bool too_soon = HORA__FAULT(OWN_LOOKS_TOO_SOON) && until != INT64_MIN && is_in_own(backlog);
    bool found = hora__backlog_kind.expect(queue, until);
    if (until == INT64_MIN)
        return false;
    if (queue->ready.kind != HORA__READY_NONE)
        change_own(backlog, CLOSE);
    if (found || queue->size > 0)
        return true;
    return HORA__FAULT(OWN_LOOKS_TOO_SOON) ? too_soon : is_in_own(backlog);
}

/* Moves the oldest task of an own queue to the end of the container. Returns false if there is no memory for
 * it. */
static bool move_oldest(struct backlog *backlog, struct hora__own_queue *own)
{
    assert(hora__mutex_held(&own->lock) && hora__own_size(own) > 0);
    if (backlog->end.index == HORA__SLOTS && hora__backlog_grow(backlog) < 0)
        return false;
    if (!hora__segment_copy(backlog->end.segment, backlog->end.index, own->segment, own->first))
        return false;
    backlog->end.index++;
    backlog->base.queue.size++;
    hora__own_drop_oldest(own);
    return true;
}

/* Steals half of the tasks of an own queue, rounded up, the oldest ones. Returns the first of them, and moves
 * the others into the container, which is empty. NULL: there is none. */
static void *steal(struct backlog *backlog, struct hora__own_queue *own, struct hora__taken *ret_taken)
{
    assert(hora__mutex_held(&backlog->base.queue.object.lock) && backlog->base.queue.size == 0);
    void *item = NULL;
    hora__mutex_lock(&own->lock);
    int count = (hora__own_size(own) + 1) / 2;
    if (count > 0)
        item = hora__own_take_oldest(own, ret_taken);
    for (int i = 1; i < count && move_oldest(backlog, own); i++) {
    }
    hora__mutex_unlock(&own->lock);
    return item;
}

/* The `take` of a stealing pool's backlog. */
static void *take_or_steal(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    struct backlog *backlog = backlog_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    void *item = hora__backlog_kind.take(queue, ret_taken, wakes);
    for (int i = 0; i < backlog->own_count && item == NULL; i++) {
        backlog->victim = backlog->victim + 1 < backlog->own_count ? backlog->victim + 1 : 0;
        item = steal(backlog, &backlog->own[backlog->victim], ret_taken);
    }
    return item;
}

/* As `show`. Once the own queues are shown, no detached task is left in them. */
static int show(hora_queue *queue, const struct hora__maker *maker)
{
    assert(hora__mutex_held(&queue->object.lock));
    change_own(backlog_of(queue), SHOW);
    return hora__backlog_kind.show(queue, maker);
}

/* As `seal`. */
static void seal(hora_queue *queue)
{
    change_own(backlog_of(queue), CLOSE);
    hora__backlog_inbox.seal(queue);
}

/* As `is_free`. */
static bool is_free(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    bool all_free = hora__backlog_inbox.is_free(queue);
    for (int i = 0; i < backlog->own_count; i++)
        all_free = all_free && hora__mutex_is_free(&backlog->own[i].lock);
    return all_free;
}

/* As `visit`. All tasks are in the container, where they are in no particular order. */
static void visit(hora_queue *queue, hora__visit_fn visit_one, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__backlog_kind.visit(queue, visit_one, arg);
}

void hora__backlog_begin_owning(hora_queue *queue, struct hora__hold *hold)
{
    struct backlog *backlog = backlog_of(queue);
    assert(hold->own == NULL && backlog->own_count > 0);
    hora__mutex_lock(&queue->object.lock);
    struct hora__own_queue *own = &backlog->own[0];
    for (int i = 1; i < backlog->own_count; i++)
        if (backlog->own[i].users < own->users)
            own = &backlog->own[i];
    own->users++;
    hold->own = own;
    hora__mutex_unlock(&queue->object.lock);
}

void hora__backlog_end_owning(hora_queue *queue, struct hora__hold *hold)
{
    assert(hold->own != NULL && hold->own->users > 0);
    hora__mutex_lock(&queue->object.lock);
    hold->own->users--;
    hold->own = NULL;
    hold->has_own = false;
    hora__mutex_unlock(&queue->object.lock);
}

void hora__stealing_destroy(struct backlog *backlog)
{
    for (int i = 0; i < backlog->own_count; i++) {
        assert(hora__own_size(&backlog->own[i]) == 0);
        hora__chunk_free(hora__free_segments_return(&backlog->free_segments, backlog->own[i].segment));
        hora__mutex_destroy(&backlog->own[i].lock);
    }
    hora__free(backlog->own);
}

int hora__stealing_init(struct backlog *backlog, int count)
{
    assert(backlog->own == NULL && count > 0 && count <= HORA__OWN_QUEUES_MOST);
    backlog->own = hora__alloc_lines((size_t)count * sizeof *backlog->own);
    if (backlog->own == NULL)
        return HORA_ENOMEM;
    for (int i = 0; i < count; i++) {
        backlog->own[i] = (struct hora__own_queue){.shared = &backlog->base.queue};
        int error = hora__own_init(&backlog->own[i]);
        if (error < 0)
            return error;
        backlog->own_count++;
    }
    backlog->inbox_room -= count * HORA__SLOTS; /* I7 */
    return 0;
}

const struct hora__queue_inbox hora__stealing_inbox = {
    .collect = collect_all, .seal = seal, .is_free = is_free};

const struct hora__work_kind hora__stealing_kind = {
    .behaviour = {.serve = hora__work_serve, .take = hora__work_take, .close = hora__work_close},
    .offer = offer,
    .take = take_or_steal,
    .take_first = hora__work_remove_first,
    .expect = expect,
    .visit = visit,
    .show = show,
    .claims = true,
};
