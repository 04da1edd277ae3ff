/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.c - a FIFO work source in segments, each a block of elements and detached tasks
 *
 * How it works      The container is a chain of segments. Tasks are written behind the last one and taken
 *                   from the front. With a bound, everything happens under the queue's lock. Without one,
 *                   submitters insert tasks into the inbox, a second chain with its own lock. A taker that
 *                   finds the container empty collects: container and inbox exchange their segments, so that
 *                   submitters and takers meet at a lock once for a whole chain of tasks. A thread that has
 *                   to see all tasks collects first. An element that is removed from the middle leaves a
 *                   hole, which is skipped when the front reaches it. A segment that has no memory for
 *                   another form is filled up with holes. When there are far more holes than tasks (I3), the
 *                   tasks are moved together.
 * Taking            A worker that has taken the first task under the lock offers the rest of that segment to
 *                   all workers that need their next task. They claim tasks without the lock, in order;
 *                   see segment.h. A thread that needs to know what is in the queue recalls the offer, and so
 *                   does a worker that finds nothing left to claim. So after a recall, and while the queue's
 *                   lock is held, the state is as if nothing had ever been offered.
 * Memory            Emptied segments are kept, up to 1 MB, or return to their chunk, whose pages go back to
 *                   the system when it is empty; see segment.h. If workers still hold a segment that has left
 *                   the queue, the last of them gives it back.
 * Detached tasks    A detached task is stored in the slot itself, so it needs no memory of its own. Before
 *                   any thread but a taker examines the queue, all detached tasks become elements (show).
 * Invariants        I1 between front and end there are `size` tasks and `holes` holes; the tasks are in the
 *                      order of their arrival.
 *                   I2 the front is a task, unless the queue is empty. Then front and end are the beginning
 *                      of the only segment; or there is no segment, and their index is SLOTS.
 *                   I3 holes <= HORA__FORM_SPREAD * size + SLOTS, not counting stuck_holes, those that the
 *                      last compaction could not close. It leaves at most SLOTS holes for each task. So the
 *                      memory is bounded by the number of queued tasks.
 *                   I4 the inbox is a chain of segments with inbox_size tasks; or it has no segment, and
 *                      inbox_end.index is SLOTS.
 *                   I5 once the queue has been shown, it accepts no detached task.
 *                   I6 I1 and I2 hold whenever nothing is offered. An offer begins at the front and does not
 *                      extend beyond the first segment.
 *                   I7 size + inbox_size + the tasks of own queues <= HORA_UNBOUNDED: see inbox_room. */
#include "exec/backlog.h"

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/backlog_internal.h"
#include "exec/own_queue.h"
#include "exec/segment.h"
#include "sys/alloc.h"

enum {
    SLOTS = HORA__SLOTS,
    SLOTS_OF_LINE = HORA__CACHE_LINE / sizeof(struct hora__slot), /* slots per cache line */
    AHEAD = 4 * SLOTS_OF_LINE, /* how far ahead of the slot that it writes a submitter prefetches */
};

#ifdef HORA__MUTEX_IS_INLINE
static_assert(sizeof(int) + offsetof(struct backlog, inbox_room) - offsetof(struct backlog, inbox_lock) <= 64,
              "a line");
#endif

static struct backlog *backlog_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct backlog, base.queue);
}

/* Returns whether tasks are inserted through an inbox, which a backlog without a bound has. */
static bool has_inbox(const hora_queue *queue)
{
    assert(queue->kind->inbox == NULL || queue->capacity == HORA_UNBOUNDED);
    return queue->kind->inbox != NULL;
}

/* ---- positions ---- */

/* Returns whether a position is behind the last task of the container. */
static bool at_end(const struct backlog *backlog, struct hora__position position)
{
    return position.segment == backlog->end.segment && position.index == backlog->end.index;
}

/* ---- segments ---- */

/* With the inbox's lock held: notes whether there are many spare chunks. */
static void note_spare_locked(struct backlog *backlog)
{
    assert(hora__mutex_held(&backlog->inbox_lock));
    bool has_excess = backlog->free_segments.chunks.spare_count > HORA__SEGMENT_CHUNKS;
    hora__atomic_store_relaxed(&backlog->has_excess, has_excess);
}

/* With the queue's lock held: puts a segment that has left the chain on the free list. If workers still hold
 * it, the last of them does so (hora__backlog_release). Takes the inbox's lock, which guards the free
 * list. */
static void give_back(struct backlog *backlog, struct hora__segment *segment)
{
    assert(segment != NULL);
    segment->retired = segment->holders > 0 && !HORA__FAULT(CLAIMS_READ_ANYTHING);
    if (segment->retired)
        return;
    hora__mutex_lock(&backlog->inbox_lock);
    struct hora__chunk *chunk = hora__free_segments_keep(&backlog->free_segments, segment);
    note_spare_locked(backlog);
    hora__mutex_unlock(&backlog->inbox_lock);
    hora__chunk_free(chunk); /* without the lock of the submitters */
}

void hora__backlog_tidy(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    if (hora__atomic_load_relaxed(&backlog->has_excess) == 0)
        return;
    hora__mutex_lock(&backlog->inbox_lock);
    struct hora__chunk *chunk = hora__free_list_trim(&backlog->free_segments.chunks, HORA__SEGMENT_CHUNKS);
    note_spare_locked(backlog);
    hora__mutex_unlock(&backlog->inbox_lock);
    hora__chunk_free(chunk);
}

/* ---- growing ---- */

int hora__backlog_grow(struct backlog *backlog)
{
    assert(backlog->end.index == SLOTS);
    hora__mutex_lock(&backlog->inbox_lock);
    struct hora__segment *segment = hora__free_segments_get(&backlog->free_segments);
    hora__mutex_unlock(&backlog->inbox_lock);
    if (segment == NULL)
        return HORA_ENOMEM;
    if (backlog->end.segment == NULL)
        backlog->front = (struct hora__position){segment, 0};
    else
        backlog->end.segment->next = segment;
    backlog->end = (struct hora__position){segment, 0};
    return 0;
}

/* Appends an element to the container. Returns 0 or HORA_ENOMEM. */
static int append(struct backlog *backlog, void *item)
{
    assert(hora__mutex_held(&backlog->base.queue.object.lock) && item != NULL);
    if (backlog->end.index == SLOTS && hora__backlog_grow(backlog) < 0)
        return HORA_ENOMEM;
    hora__slot_set_item(&backlog->end.segment->slots[backlog->end.index++], item);
    backlog->base.queue.size++;
    HORA__TOUCH(1);
    return 0;
}

/* ---- the front ---- */

/* Moves the front over `by` entries that have been taken, and on to the next task, past holes and past the
 * end of a segment. The caller has subtracted the taken tasks from `size`. Gives back emptied segments. */
static void advance(struct backlog *backlog, int by)
{
    assert(by >= 0 && !backlog->offered);
    HORA__TOUCH(by);
    backlog->front.index += by;
    for (;;) {
        if (backlog->base.queue.size + backlog->holes == 0) { /* I1: the front is at the end */
            assert(at_end(backlog, backlog->front));
            backlog->front.index = backlog->end.index = 0; /* I2 */
            if (backlog->front.segment->holders > 0) {     /* still read, so it must not be reused */
                give_back(backlog, backlog->front.segment);
                backlog->front = backlog->end = (struct hora__position){NULL, SLOTS};
            }
            return;
        }
        if (backlog->front.index == SLOTS) {
            struct hora__segment *empty = backlog->front.segment;
            backlog->front = (struct hora__position){empty->next, 0};
            give_back(backlog, empty);
        }
        if (!hora__slot_is_hole(&backlog->front.segment->slots[backlog->front.index]) ||
            HORA__FAULT(BACKLOG_GIVES_HOLES))
            return;
        backlog->holes--;
        HORA__TOUCH_PREPAID(1); /* by the removal that left it, or by the entries of its segment */
        backlog->front.index++;
    }
}

void hora__backlog_recall(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    if (!backlog->offered)
        return;
    backlog->offered = false;
    int end = hora__segment_recall(backlog->front.segment);
    if (end == backlog->front.index)
        return; /* no entry was claimed, so the front is still a task: I2 */
    /* Holders claim holes along with tasks and skip them: subtract each from its own count. */
    HORA__TOUCH_PREPAID(end - backlog->front.index); /* by the holders that claimed them */
    for (; backlog->front.index < end; backlog->front.index++) {
        bool was_hole =
            backlog->holes > 0 && hora__slot_is_hole(&backlog->front.segment->slots[backlog->front.index]);
        backlog->holes -= was_hole;
        queue->size -= !was_hole;
    }
    advance(backlog, 0);
}

void hora__backlog_release(hora_queue *queue, struct hora__hold *hold)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__segment *segment = hold->segment;
    hold->segment = NULL;
    assert(segment == NULL || segment->holders > 0);
    if (segment != NULL && --segment->holders == 0 && segment->retired)
        give_back(backlog_of(queue), segment);
}

/* Makes the caller, which holds no segment, a holder of the first one. */
static void hold_front(struct backlog *backlog, struct hora__hold *hold)
{
    assert(hold->segment == NULL && backlog->front.segment != NULL);
    hold->segment = backlog->front.segment;
    backlog->front.segment->holders++;
}

/* A worker whose own segment has nothing left to claim need not recall the offer of another worker: it joins
 * the holders of the offered segment instead. */
bool hora__backlog_follow(hora_queue *queue, struct hora__hold *hold)
{
    assert(hora__mutex_held(&queue->object.lock) && has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
    if (!backlog->offered || backlog->front.segment == hold->segment)
        return false;
    hora__backlog_release(queue, hold);
    hold_front(backlog, hold);
    return true;
}

/* The offer extends to the last task of the first segment. Tasks that are appended to that segment later are
 * not part of it: appending recalls the offer first. */
void hora__backlog_offer(hora_queue *queue, struct hora__hold *hold)
{
    struct backlog *backlog = backlog_of(queue);
    assert(!backlog->offered && hold->segment == NULL);
    if (queue->size == 0)
        return;
    struct hora__position front = backlog->front;
    hora__segment_offer(front.segment, front.index,
                        front.segment == backlog->end.segment ? backlog->end.index : SLOTS);
    backlog->offered = true;
    hold_front(backlog, hold);
}

/* ---- holes ---- */

/* Compacts the container: moves all tasks towards the front, and gives back the segments that become free. A
 * hole stays where the next task has a form for which its segment has no room. */
static void close_holes(struct backlog *backlog)
{
    assert(!backlog->offered && backlog->base.queue.size > 0);
    struct hora__position to = backlog->front;
    HORA__TOUCH_PREPAID(backlog->base.queue.size + backlog->holes);
    backlog->holes = 0;
    /* `to` never overtakes `from`, so no task is overwritten before it has been moved. */
    for (struct hora__position from = to; !at_end(backlog, from); from.index++)
        if (!hora__slot_is_hole(hora__position_slot(&from)))
            backlog->holes += hora__position_move(&to, &from);
    struct hora__segment *rest = to.segment->next;
    to.segment->next = NULL;
    backlog->end = to;
    while (rest != NULL) {
        struct hora__segment *next = rest->next;
        give_back(backlog, rest);
        rest = next;
    }
}

/* I3. Holes that the last compaction could not close do not count. A segment in which tasks stay keeps its
 * forms, even those that no task uses any more, and so may have no room for others. */
static bool has_too_many_holes(const struct backlog *backlog)
{
    int stuck = backlog->stuck_holes < backlog->holes ? backlog->stuck_holes : backlog->holes;
    return backlog->holes - stuck > (int64_t)HORA__FORM_SPREAD * backlog->base.queue.size + SLOTS;
}

/* Restores I3 after holes were added or tasks removed. */
static void limit_holes(struct backlog *backlog)
{
    if (has_too_many_holes(backlog)) {
        close_holes(backlog);
        backlog->stuck_holes = backlog->holes;
        assert(backlog->holes <= (int64_t)SLOTS * (backlog->base.queue.size + 1));
    }
    assert(!has_too_many_holes(backlog));
}

/* ---- the inbox ---- */

/* With both locks held: the container is empty, and exchanges its segments for those of the inbox. This is
 * the usual case as long as the workers keep up with the submitters. */
static void swap(struct backlog *backlog)
{
    struct hora__segment *empty = backlog->front.segment;
    assert(empty == backlog->end.segment && backlog->front.index == backlog->end.index); /* I2 */
    backlog->front = (struct hora__position){backlog->inbox_first, 0};
    backlog->end = backlog->inbox_end;
    backlog->inbox_first = empty;
    backlog->inbox_end = (struct hora__position){empty, empty == NULL ? SLOTS : 0}; /* I4 */
    if (empty != NULL && empty->form_count > HORA__FORMS / 2)
        hora__segment_clear_forms(empty); /* otherwise the next tasks likely find their forms there */
}

/* With both locks held: the container is not empty, so the segments of the inbox are appended to its chain.
 * The container's last segment is filled up with holes. */
static void join(struct backlog *backlog)
{
    assert(backlog->base.queue.size > 0 && backlog->inbox_first != NULL);
    struct hora__position *end = &backlog->end;
    HORA__TOUCH(SLOTS - end->index);
    backlog->holes += hora__position_leave_holes(end);
    end->segment->next = backlog->inbox_first;
    *end = backlog->inbox_end;
    backlog->inbox_first = NULL;
    backlog->inbox_end = (struct hora__position){NULL, SLOTS}; /* I4 */
}

/* Moves the tasks of the inbox into the container, and recalls the offer. If there is nothing to move or
 * take, frees part of the free list instead. */
static void collect(hora_queue *queue)
{
    assert(has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
    struct hora__chunk *chunk = NULL;
    hora__backlog_recall(queue);
    hora__mutex_lock(&backlog->inbox_lock);
    if (backlog->inbox_size > 0) {
        if (queue->size == 0)
            swap(backlog);
        else
            join(backlog);
        queue->size += backlog->inbox_size;
        backlog->holes += backlog->inbox_holes;
        backlog->inbox_size = backlog->inbox_holes = backlog->inbox_form = 0;
    } else if (queue->size == 0 && (backlog->free_segments.count > HORA__SEGMENTS_FEW ||
                                    backlog->free_segments.chunks.spare_count > 0)) {
        chunk = hora__free_segments_tidy(&backlog->free_segments);
    }
    backlog->inbox_room = HORA_UNBOUNDED - 1 - queue->size - backlog->own_count * SLOTS; /* I7 */
    hora__mutex_unlock(&backlog->inbox_lock);
    hora__chunk_free(chunk);
    if (backlog->holes > 0)
        limit_holes(backlog);
}

/* Appends a segment to the inbox. Returns 0 or HORA_ENOMEM. */
static int grow_inbox(struct backlog *backlog)
{
    assert(hora__mutex_held(&backlog->inbox_lock));
    struct hora__segment *segment = hora__free_segments_get(&backlog->free_segments);
    if (segment == NULL)
        return HORA_ENOMEM;
    if (backlog->inbox_first == NULL)
        backlog->inbox_first = segment;
    else
        backlog->inbox_end.segment->next = segment;
    backlog->inbox_end = (struct hora__position){segment, 0};
    backlog->inbox_form = 0;
    return 0;
}

/* Returns the number of a task's form in the last segment of the inbox. If that has no memory for the form,
 * fills it up with holes and begins a new one. Returns HORA_ENOMEM if there is no memory for that. */
static int form_locked(struct backlog *backlog, const hora_task *task)
{
    assert(hora__mutex_held(&backlog->inbox_lock) && task->run != NULL);
    int form = hora__segment_form(backlog->inbox_end.segment, task, backlog->inbox_form);
    if (form == 0) {
        struct hora__position last = backlog->inbox_end;
        if (grow_inbox(backlog) < 0)
            return HORA_ENOMEM;
        HORA__TOUCH(SLOTS - last.index);
        backlog->inbox_holes += hora__position_leave_holes(&last);
        form = hora__segment_form(backlog->inbox_end.segment, task, 0);
    }
    return backlog->inbox_form = (short)form;
}

/* Returns whether a detached task may be accepted: the queue has not been shown, and its owner still accepts
 * tasks; see struct hora__offer. */
static bool accepts_detached_locked(const struct backlog *backlog, const struct hora__offer *offer)
{
    assert(offer->task != NULL && offer->control != NULL);
    if (backlog->shown && !HORA__FAULT(BACKLOG_SHOWN_TOO_SOON))
        return false; /* I5 */
    return hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(BACKLOG_CLOSED_UNSEEN);
}

/* With the inbox's lock held: inserts an element or a detached task into the inbox and counts it. Returns 0,
 * HORA_ECLOSED, HORA_EFULL, HORA_ENOTSUP (a detached task that is not accepted) or HORA_ENOMEM. */
static int insert_locked(struct backlog *backlog, const struct hora__offer *offer)
{
    assert(hora__mutex_held(&backlog->inbox_lock) && (offer->task != NULL || offer->item != NULL));
    if (backlog->sealed || backlog->inbox_size >= backlog->inbox_room)
        return backlog->sealed ? HORA_ECLOSED : HORA_EFULL; /* I7 */
    if (offer->task != NULL && !accepts_detached_locked(backlog, offer))
        return HORA_ENOTSUP;
    if (backlog->inbox_end.index == SLOTS && grow_inbox(backlog) < 0)
        return HORA_ENOMEM;
    int form = offer->task != NULL ? form_locked(backlog, offer->task) : 0;
    if (form < 0)
        return HORA_ENOMEM;
    /* Nothing fails from here on. The unlock publishes the slot to the taker that collects it. */
    struct hora__segment *segment = backlog->inbox_end.segment;
    int index = backlog->inbox_end.index++;
    bool stamped = form > 0 && offer->came != 0;
    HORA__WEAK_PLAIN_WRITE(&segment->slots[index]);
    segment->slots[index] = (struct hora__slot){
        .value = form > 0 ? offer->task->arg : offer->item, .form = (short)form, .stamped = stamped};
    if (stamped)
        segment->came[index] = offer->came;
    backlog->inbox_size++;
    HORA__TOUCH(1);
    hora__counter_add_alone(&backlog->branch.accepted, 1);
    if (index % SLOTS_OF_LINE == 0 && index + AHEAD < SLOTS) /* a worker's processor has the line */
        hora__prefetch_line(&segment->slots[index + AHEAD]);
    return 0;
}

/* The inbox is full according to inbox_room, which dates from the last collection. Many tasks may have been
 * taken since, so this collects and tries once more. Not inlined, because it hardly ever happens. */
__attribute__((noinline)) static int offer_again(struct backlog *backlog, const struct hora__offer *offer)
{
    assert(has_inbox(&backlog->base.queue));
    hora_queue *queue = &backlog->base.queue;
    hora__mutex_lock(&queue->object.lock);
    collect(queue);
    hora__mutex_unlock(&queue->object.lock);
    hora__mutex_lock(&backlog->inbox_lock);
    int error = insert_locked(backlog, offer);
    hora__mutex_unlock(&backlog->inbox_lock);
    return error;
}

/* The `offer` of a backlog without a bound. Submitters share only the inbox's lock with each other. */
static int offer(hora_queue *queue, const struct hora__offer *offer)
{
    assert(has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
    hora__mutex_lock_as(&backlog->inbox_lock, HORA__RANK_INBOX);
    int error = insert_locked(backlog, offer);
    hora__mutex_unlock_as(&backlog->inbox_lock, HORA__RANK_INBOX);
    if (error == HORA_EFULL)
        error = offer_again(backlog, offer);
    if (error == 0 && hora__atomic_load(&backlog->wanted) != 0) /* after the insertion: see expect */
        hora__work_look(queue);
    return error;
}

/* As `expect` of struct hora__work_kind. It sets `wanted` before it looks into the inbox for the last time:
 * either a submitter had the inbox's lock first, and that look finds its task, or the submitter sees
 * `wanted`. */
static bool expect(hora_queue *queue, hora_ns until)
{
    struct backlog *backlog = backlog_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    bool wanted = until != INT64_MIN;
    if (wanted && HORA__FAULT(SEARCH_LOOKS_TOO_SOON))
        collect(queue);
    if (backlog->wants != wanted)
        hora__atomic_store(&backlog->wanted, wanted);
    backlog->wants = wanted;
    if (wanted && !HORA__FAULT(SEARCH_LOOKS_TOO_SOON))
        collect(queue);
    return wanted && queue->size > 0;
}

/* The queue was closed: the inbox accepts nothing any more. */
static void seal(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->closed);
    struct backlog *backlog = backlog_of(queue);
    hora__mutex_lock(&backlog->inbox_lock);
    backlog->sealed = true;
    hora__mutex_unlock(&backlog->inbox_lock);
}

/* ---- taking ---- */

/* Returns the first element without removing it; NULL: the container is empty. Recalls the offer. */
static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct backlog *backlog = backlog_of(queue);
    hora__backlog_recall(queue);
    if (queue->size == 0)
        return NULL;
    const struct hora__slot *first = &backlog->front.segment->slots[backlog->front.index];
    assert(first->form == 0); /* the caller has had the queue shown */
    return first->value;
}

/* Removes and returns the first element; NULL: the container is empty. */
static void *drain(hora_queue *queue)
{
    void *item = peek(queue);
    if (item != NULL) {
        queue->size--;
        advance(backlog_of(queue), 1);
    }
    return item;
}

/* Prefetches the future behind the front. The one at the front will likely be taken by another worker. There
 * must be more than one task. */
static void prefetch(const struct backlog *backlog)
{
    int index = backlog->front.index + 1;
    assert(backlog->base.queue.size > 1);
    if (index < SLOTS && backlog->front.segment->slots[index].form == 0)
        hora__prefetch(backlog->front.segment->slots[index].value);
}

/* The `take` of a backlog without a bound. */
static void *take(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && ret_taken != NULL);
    (void)wakes;
    struct backlog *backlog = backlog_of(queue);
    hora__backlog_recall(queue);
    if (queue->size == 0)
        collect(queue); /* only now: submitters keep the inbox's lock to themselves as long as possible */
    if (queue->size == 0)
        return NULL;
    void *item = hora__segment_read(backlog->front.segment, backlog->front.index, ret_taken);
    queue->size--;
    advance(backlog, 1);
    if (queue->size > 1)
        prefetch(backlog);
    return item;
}

/* Removes the first element for a caller without a struct hora__taken; also the `take` of a bounded
 * backlog. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    hora__backlog_recall(queue);
    if (queue->size == 0 && has_inbox(queue))
        queue->kind->inbox->collect(queue); /* with all own queues */
    void *item = drain(queue);
    if (queue->size > 1)
        prefetch(backlog_of(queue));
    return item;
}

/* ---- putting ---- */

/* Appends an element under the queue's lock: the only way in for a bounded backlog; with an inbox, used by
 * users of the pool's queue. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    (void)wakes;
    if (has_inbox(queue))
        collect(queue); /* tasks in the inbox were submitted earlier */
    struct backlog *backlog = backlog_of(queue);
    int reserved = has_inbox(queue) ? 1 + backlog->own_count * SLOTS : 0; /* I7 */
    bool full = queue->size >= queue->capacity - reserved;
    return full ? HORA_EFULL : append(backlog, put->item);
}

/* ---- the middle ---- */

/* Removes the element at a position; anywhere but at the front that leaves a hole. */
static void remove_at(struct backlog *backlog, struct hora__position position)
{
    assert(!backlog->offered && !at_end(backlog, position));
    backlog->base.queue.size--;
    if (position.segment == backlog->front.segment && position.index == backlog->front.index) {
        advance(backlog, 1); /* I2 */
        return;
    }
    hora__slot_set_item(&position.segment->slots[position.index], NULL);
    backlog->holes++;
    limit_holes(backlog);
}

/* Returns whether an element is in the container; removes its first occurrence if `remove` is set. Detached
 * tasks are not elements. The caller has collected. */
static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock) && item != NULL);
    struct backlog *backlog = backlog_of(queue);
    hora__backlog_recall(queue);
    for (struct hora__position position = backlog->front; !at_end(backlog, position); position.index++) {
        HORA__TOUCH(1);
        const struct hora__slot *entry = hora__position_slot(&position);
        if (entry->value != item || entry->form > 0)
            continue;
        if (remove)
            remove_at(backlog, position);
        return true;
    }
    return false;
}

/* Turns all detached tasks into elements, in place; see `show` of struct hora__work_kind. Once that has
 * succeeded it has nothing to do. */
static int show(hora_queue *queue, const struct hora__maker *maker)
{
    assert(hora__mutex_held(&queue->object.lock) && maker->make != NULL);
    struct backlog *backlog = backlog_of(queue);
    if (backlog->only_elements)
        return 0;
    hora__mutex_lock(&backlog->inbox_lock);
    backlog->shown = true; /* I5: before the collection, which so finds the last detached task */
    hora__mutex_unlock(&backlog->inbox_lock);
    collect(queue);
    int error = 0;
    for (struct hora__position position = backlog->front; error == 0 && !at_end(backlog, position);
         position.index++) {
        struct hora__slot *entry = hora__position_slot(&position);
        struct hora__taken taken;
        HORA__TOUCH(1);
        void *item = hora__segment_read(position.segment, position.index, &taken);
        if (item == &taken && (error = maker->make(maker->context, &taken, &item)) == 0)
            hora__slot_set_item(entry, item);
    }
    backlog->only_elements = error == 0;
    return error;
}

/* Visits all tasks of the container in order; see `visit` of struct hora__work_kind. The caller has
 * collected. */
static void visit_all(hora_queue *queue, hora__visit_fn visit, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__backlog_recall(queue);
    for (struct hora__position position = backlog_of(queue)->front; !at_end(backlog_of(queue), position);
         position.index++) {
        struct hora__taken taken;
        const struct hora__slot *entry = hora__position_slot(&position);
        void *item = hora__segment_read(position.segment, position.index, &taken);
        bool is_task = entry->form > 0;
        if (!hora__slot_is_hole(entry) && !visit(is_task ? NULL : item, is_task ? &taken.task : NULL, arg))
            return;
    }
}

/* The argument of copy_one: where the elements go. */
struct copying {
    void **items;
    int count;
    int max;
};

static bool copy_one(void *item, const hora_task *task, void *arg)
{
    struct copying *copying = arg;
    assert(task == NULL); /* the caller has had the backlog shown */
    (void)task;
    copying->items[copying->count++] = item;
    return copying->count < copying->max;
}

/* Copies the first `max` elements, in order. */
static void copy(hora_queue *queue, void **items, int max)
{
    assert(hora__mutex_held(&queue->object.lock) && max > 0);
    struct copying copying = {.items = items, .max = max};
    visit_all(queue, copy_one, &copying);
}

/* Without a lock: returns whether no thread holds the inbox's lock at this moment. */
static bool is_free(hora_queue *queue)
{
    return hora__mutex_is_free(&backlog_of(queue)->inbox_lock);
}

/* ---- making, freeing, and the kinds ---- */

/* Frees a backlog that is empty and that no thread uses; also one that was not made completely. */
static void destroy(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    assert(queue->size == 0 && backlog->front.segment == backlog->end.segment); /* I2 */
    assert(backlog->inbox_size == 0 && !backlog->offered);
    struct hora__free_segments *free_segments = &backlog->free_segments;
    if (backlog->own != NULL)
        hora__stealing_destroy(backlog);
    hora__chunk_free(hora__free_segments_return(free_segments, backlog->front.segment));
    hora__chunk_free(hora__free_segments_return(free_segments, backlog->inbox_first));
    struct hora__segment *segment;
    while ((segment = hora__free_segments_take(free_segments)) != NULL)
        hora__chunk_free(hora__free_segments_return(free_segments, segment));
    hora__free_list_destroy(&free_segments->chunks);
    hora__mutex_destroy(&backlog->inbox_lock);
    hora__free(backlog);
}

#define CONTAINER \
    .push = push, .pop = pop, .peek = peek, .drain = drain, .find = find, .copy = copy, .destroy = destroy

/* The containers: what public calls of hora_pool_queue use. They differ only in the inbox. */
const struct hora__queue_inbox hora__backlog_inbox = {.collect = collect, .seal = seal, .is_free = is_free};
static const struct hora__queue_kind bounded_container = {CONTAINER};
static const struct hora__queue_kind unbounded_container = {CONTAINER, .inbox = &hora__backlog_inbox};
static const struct hora__queue_kind stealing_container = {CONTAINER, .inbox = &hora__stealing_inbox};

/* The work sources: what the pool uses. Without an inbox there are no detached tasks and no claims. */
static const struct hora__work_kind bounded_kind = {
    .behaviour = {.serve = hora__work_serve, .take = hora__work_take, .close = hora__work_close},
    .offer = hora__work_put,
    .take = hora__work_pop,
    .take_first = hora__work_remove_first,
    .visit = visit_all,
    .is_ordered = true,
};

const struct hora__work_kind hora__backlog_kind = {
    .behaviour = {.serve = hora__work_serve, .take = hora__work_take, .close = hora__work_close},
    .offer = offer,
    .take = take,
    .take_first = hora__work_remove_first,
    .expect = expect,
    .visit = visit_all,
    .show = show,
    .claims = true,
    .is_ordered = true,
};

/* The inbox and the own queues count accepted tasks in their branches. They never count cancelled ones: a
 * cancelled task is removed from the container, and booked under the queue's lock. */
void hora__backlog_open_books(hora_queue *queue, struct hora__books *books)
{
    const struct backlog *backlog = backlog_of(queue);
    assert(books->branch_count == 0 && queue->size == 0);
    books->branches[books->branch_count++] = &backlog->branch;
    for (int i = 0; i < backlog->own_count; i++)
        books->branches[books->branch_count++] = &backlog->own[i].branch;
}

/* The containers and kinds of the three sorts of backlog. */
struct sort {
    const struct hora__queue_kind *container;
    const struct hora__work_kind *kind;
};

static struct sort sort_of(int capacity, int own_queues)
{
    if (capacity != HORA_UNBOUNDED)
        return (struct sort){&bounded_container, &bounded_kind};
    return own_queues > 0 ? (struct sort){&stealing_container, &hora__stealing_kind}
                          : (struct sort){&unbounded_container, &hora__backlog_kind};
}

int hora__backlog_new(int capacity, int own_queues, const hora_queue_options *options, hora_queue **ret_queue)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, 0, ret_queue, NULL);
    if (error < 0 || capacity < 1)
        return HORA_EINVAL;
    assert(own_queues == 0 || capacity == HORA_UNBOUNDED);
    struct backlog *backlog = hora__alloc_lines(sizeof *backlog);
    if (backlog == NULL)
        return HORA_ENOMEM;
    *backlog = (struct backlog){.inbox_size = 0};
    error = hora__mutex_init(&backlog->inbox_lock, HORA__RANK_INBOX);
    if (error < 0) {
        hora__free(backlog);
        return error;
    }
    hora__atomic_init(&backlog->wanted, 0);
    hora__atomic_init(&backlog->has_excess, 0);
    hora__free_segments_init(&backlog->free_segments);
    bool is_bounded = capacity != HORA_UNBOUNDED;
    /* The first segment goes where tasks are inserted: into the inbox or, without one, the container. */
    struct hora__segment *first = hora__free_segments_get(&backlog->free_segments);
    struct hora__position nowhere = {NULL, SLOTS}, beginning = {first, 0};
    backlog->front = backlog->end = is_bounded ? beginning : nowhere; /* I2 */
    backlog->inbox_end = is_bounded ? nowhere : beginning;            /* I4 */
    backlog->inbox_first = backlog->inbox_end.segment;
    backlog->inbox_room = HORA_UNBOUNDED - 1;
    error = first == NULL ? HORA_ENOMEM : own_queues > 0 ? hora__stealing_init(backlog, own_queues) : 0;
    struct sort sort = sort_of(capacity, own_queues);
    if (error == 0)
        error = hora__work_source_init(&backlog->base, sort.container, sort.kind, capacity, &own);
    if (error < 0)
        destroy(&backlog->base.queue);
    else
        *ret_queue = &backlog->base.queue;
    return error;
}
