/* SPDX-License-Identifier: Apache-2.0 */
/* backlog.c - a work source in segments, each an array of elements and of detached tasks
 *
 * How it works      With a bound, all is done under the queue's lock. Without one, tasks are posted into the
 *                   inbox, under a lock of its own, and collected when the container is empty: then the two
 *                   exchange their segments, so that posters and takers meet once for a whole chain of tasks.
 *                   A thread that has to see everything collects first. Tasks are written behind the last one
 *                   and taken from the front, segment by segment. An element that is removed from the middle
 *                   leaves a hole, which is skipped when the front comes to it; so does the rest of a segment
 *                   that has no room for another form. When there are far more holes than tasks (I3), the
 *                   tasks move together.
 * Taking            A worker that has taken the first task under the lock offers the rest of its segment, up
 *                   to the last task that is there, to all workers that come for the next one. They claim
 *                   tasks without the lock, in their order; see segment.h. A thread that needs to know what
 *                   is in the queue recalls the offer, and so does a worker that finds nothing more to claim.
 *                   So while the queue's lock is held, and after recall, all is as if nothing had ever been
 *                   offered.
 * Memory            Segments that have been emptied are kept for later use: up to 8 MB, see segment.h. The
 *                   last holder of a segment that has left the queue gives it back.
 * Detached tasks    stand in the queue itself: they need no memory of their own, and a worker finds them
 *                   where it looks. Before any thread but a taker looks at the queue, all of them are made
 *                   elements (show).
 * Invariants        I1 between front and end there are `size` tasks and `holes` holes, the tasks in the order
 *                      in which they came.
 *                   I2 at the front there is a task, or the queue is empty. Then front and end are the
 *                      beginning of the only segment, or there is none, and their index is SLOTS.
 *                   I3 holes <= HORA__FORM_SPREAD * size + SLOTS, not counting those that could not be closed
 *                      the last time, which are at most SLOTS for each task of then: so memory is bounded by
 *                      what is in the queue.
 *                   I4 the inbox is a chain of segments with inbox_size tasks, or has none; then
 *                      inbox_end.index is SLOTS.
 *                   I5 once the queue has been shown no detached task comes in.
 *                   I6 I1 and I2 hold whenever nothing is offered. An offer is a part of the first segment,
 *                      from the front on.
 *                   I7 size + inbox_size <= HORA_UNBOUNDED: see inbox_room. */
#include "exec/backlog.h"

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "exec/segment.h"
#include "sys/alloc.h"

enum {
    SLOTS = HORA__SLOTS,
    SLOTS_OF_LINE = HORA__CACHE_LINE / sizeof(struct hora__slot),
    AHEAD = 4 * SLOTS_OF_LINE,
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what different threads write lies apart */
struct backlog {
    struct hora__work_source base;
    struct hora__position front; /* the first element */
    struct hora__position end;   /* where the next one will stand */
    int holes;
    int stuck_holes;    /* how many of them were left when the elements moved together last; I3 */
    bool offered;       /* the first segment is: until it is recalled, how much is left in it is not known */
    bool only_elements; /* it has been shown, and there are no detached tasks any more */
    /* as `wanted`, for threads with the queue's lock: they need not read a line that posters read */
    bool wants;

    /* A taker sleeps, and no thread is on its way to look. Read by posters, written under the queue's
     * lock. */
    HORA__BEGINS_LINE hora__atomic wanted;

    /* The inbox, guarded by a lock of its own; apart, since other threads use it. */
    HORA__BEGINS_LINE hora__mutex inbox_lock; /* rank INBOX */
    bool sealed;
    bool shown;
    short inbox_form; /* of the last segment: the number of the form that was posted last; 0: none */
    int inbox_size;
    struct hora__branch branch;      /* of the pool's books */
    struct hora__position inbox_end; /* where the next one will stand */
    struct hora__segment *inbox_first;
    int inbox_holes;
    int inbox_room; /* I7: what was left for it when it was absorbed, but for one, which a push may need */

    HORA__BEGINS_LINE struct hora__free_segments free_segments; /* for the container as well */
};

#ifdef HORA__MUTEX_IS_INLINE
static_assert(sizeof(int) + offsetof(struct backlog, inbox_room) - offsetof(struct backlog, inbox_lock) <= 64,
              "a line");
#endif

static struct backlog *backlog_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct backlog, base.queue);
}

/* Without a bound tasks are posted into the inbox. */
static bool has_inbox(const hora_queue *queue)
{
    assert(queue->kind->inbox == NULL || queue->capacity == HORA_UNBOUNDED);
    return queue->kind->inbox != NULL;
}

/* ---- positions ---- */

static bool at_end(const struct backlog *backlog, struct hora__position position)
{
    return position.segment == backlog->end.segment && position.index == backlog->end.index;
}

/* ---- segments; under the inbox's lock ---- */

/* Nothing stands in it any more. */
static void give_back(struct backlog *backlog, struct hora__segment *segment)
{
    assert(segment != NULL);
    segment->retired = segment->holders > 0 && !HORA__FAULT(CLAIMS_READ_ANYTHING);
    if (segment->retired)
        return;
    hora__mutex_lock(&backlog->inbox_lock);
    hora__free_segments_keep(&backlog->free_segments, segment);
    hora__mutex_unlock(&backlog->inbox_lock);
}

/* ---- growing ---- */

static int grow(struct backlog *backlog)
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

static int append(struct backlog *backlog, void *item)
{
    assert(hora__mutex_held(&backlog->base.queue.object.lock) && item != NULL);
    if (backlog->end.index == SLOTS && grow(backlog) < 0)
        return HORA_ENOMEM;
    hora__slot_set_item(&backlog->end.segment->slots[backlog->end.index++], item);
    backlog->base.queue.size++;
    HORA__TOUCH(1);
    return 0;
}

/* ---- the front ---- */

/* So many entries at the front have been emptied. Then the front may be at a hole, or behind a segment: go on
 * to the next element. */
static void advance(struct backlog *backlog, int by)
{
    assert(by >= 0 && !backlog->offered);
    HORA__TOUCH(by);
    backlog->front.index += by;
    for (;;) {
        if (backlog->base.queue.size + backlog->holes == 0) { /* I1: the front is at the end */
            assert(at_end(backlog, backlog->front));
            backlog->front.index = backlog->end.index = 0; /* I2 */
            if (backlog->front.segment->holders > 0) {     /* it is still read, and cannot be used again */
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
        HORA__TOUCH_PREPAID(1); /* by its removal, or by what stands in its segment */
        backlog->front.index++;
    }
}

/* What is offered is so no more, and what has been claimed is gone. */
void hora__backlog_recall(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    if (!backlog->offered)
        return;
    backlog->offered = false;
    int end = hora__segment_recall(backlog->front.segment);
    if (end == backlog->front.index)
        return;
    HORA__TOUCH_PREPAID(end - backlog->front.index); /* by those who claimed them */
    for (; backlog->front.index < end; backlog->front.index++) {
        bool was_hole =
            backlog->holes > 0 && hora__slot_is_hole(&backlog->front.segment->slots[backlog->front.index]);
        backlog->holes -= was_hole;
        queue->size -= !was_hole;
    }
    advance(backlog, 0);
}

void hora__backlog_let_go(hora_queue *queue, struct hora__hold *hold)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct hora__segment *segment = hold->segment;
    hold->segment = NULL;
    assert(segment == NULL || segment->holders > 0);
    if (segment != NULL && --segment->holders == 0 && segment->retired)
        give_back(backlog_of(queue), segment);
}

static void hold_front(struct backlog *backlog, struct hora__hold *hold)
{
    assert(hold->segment == NULL && backlog->front.segment != NULL);
    hold->segment = backlog->front.segment;
    backlog->front.segment->holders++;
}

bool hora__backlog_follow(hora_queue *queue, struct hora__hold *hold)
{
    assert(hora__mutex_held(&queue->object.lock) && has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
    if (!backlog->offered || backlog->front.segment == hold->segment)
        return false;
    hora__backlog_let_go(queue, hold);
    hold_front(backlog, hold);
    return true;
}

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

static void close_holes(struct backlog *backlog)
{
    assert(!backlog->offered && backlog->base.queue.size > 0);
    struct hora__position to = backlog->front;
    HORA__TOUCH_PREPAID(backlog->base.queue.size + backlog->holes);
    backlog->holes = 0;
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

/* I3. Holes that could not be closed the last time do not count: a segment in which elements stay keeps its
 * forms, also those that no element has any more, and takes no others. */
static bool has_too_many_holes(const struct backlog *backlog)
{
    int stuck = backlog->stuck_holes < backlog->holes ? backlog->stuck_holes : backlog->holes;
    return backlog->holes - stuck > (int64_t)HORA__FORM_SPREAD * backlog->base.queue.size + SLOTS;
}

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

/* The container is empty: it gets the segments of the inbox for its own, which is what happens as long as the
 * pool keeps up. */
static void swap(struct backlog *backlog)
{
    struct hora__segment *empty = backlog->front.segment;
    assert(empty == backlog->end.segment && backlog->front.index == backlog->end.index); /* I2 */
    backlog->front = (struct hora__position){backlog->inbox_first, 0};
    backlog->end = backlog->inbox_end;
    backlog->inbox_first = empty;
    backlog->inbox_end = (struct hora__position){empty, empty == NULL ? SLOTS : 0}; /* I4 */
    if (empty != NULL && empty->form_count > HORA__FORMS / 2)
        empty->form_count = 0; /* else they serve again, as they are */
}

/* It is not empty: the segments of the inbox follow its own, of which the last is filled up with holes. */
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

/* Moves what was posted into the container. */
static void collect(hora_queue *queue)
{
    assert(has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
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
    } else if (queue->size == 0 && backlog->free_segments.count > HORA__SEGMENTS_FEW) {
        hora__free_segments_tidy(&backlog->free_segments);
    }
    backlog->inbox_room = HORA_UNBOUNDED - 1 - queue->size; /* I7 */
    hora__mutex_unlock(&backlog->inbox_lock);
    if (backlog->holes > 0)
        limit_holes(backlog);
}

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

/* The number of a task's form in the last segment of the inbox; or if there is no room for it in a new one,
 * and the rest of the last is left empty. HORA_ENOMEM. */
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

static bool may_come_by_value_locked(const struct backlog *backlog, const struct hora__offer *offer)
{
    assert(offer->task != NULL && offer->control != NULL);
    if (backlog->shown && !HORA__FAULT(BACKLOG_SHOWN_TOO_SOON))
        return false; /* I5 */
    return hora__atomic_load(offer->control) < offer->closed || HORA__FAULT(BACKLOG_CLOSED_UNSEEN);
}

static int insert_locked(struct backlog *backlog, const struct hora__offer *offer)
{
    assert(hora__mutex_held(&backlog->inbox_lock) && (offer->task != NULL || offer->item != NULL));
    if (backlog->sealed || backlog->inbox_size >= backlog->inbox_room)
        return backlog->sealed ? HORA_ECLOSED : HORA_EFULL; /* I7 */
    if (offer->task != NULL && !may_come_by_value_locked(backlog, offer))
        return HORA_ENOTSUP;
    if (backlog->inbox_end.index == SLOTS && grow_inbox(backlog) < 0)
        return HORA_ENOMEM;
    int form = offer->task != NULL ? form_locked(backlog, offer->task) : 0;
    if (form < 0)
        return HORA_ENOMEM;
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
    if (index % SLOTS_OF_LINE == 0 && index + AHEAD < SLOTS)
        hora__prefetch_line(&segment->slots[index + AHEAD]); /* the processor of a worker has it */
    return 0;
}

/* The inbox is full by what was known when it was last collected: perhaps many tasks have been taken
 * since. */
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

static int offer(hora_queue *queue, const struct hora__offer *offer)
{
    assert(has_inbox(queue));
    struct backlog *backlog = backlog_of(queue);
    hora__mutex_lock(&backlog->inbox_lock);
    int error = insert_locked(backlog, offer);
    hora__mutex_unlock(&backlog->inbox_lock);
    if (error == HORA_EFULL)
        error = offer_again(backlog, offer);
    if (error == 0 && hora__atomic_load(&backlog->wanted) != 0) /* after the task can be seen: see expect */
        hora__work_look(queue);
    return error;
}

/* Posters are told before the last look into the inbox that a taker has to be woken: either a poster had the
 * lock of the inbox first, and that look finds its task, or it sees `wanted`. */
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

static void seal(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->closed);
    struct backlog *backlog = backlog_of(queue);
    hora__mutex_lock(&backlog->inbox_lock);
    backlog->sealed = true;
    hora__mutex_unlock(&backlog->inbox_lock);
}

/* ---- taking ---- */

static void *peek(hora_queue *queue)
{
    const struct backlog *backlog = backlog_of(queue);
    hora__backlog_recall(queue);
    if (queue->size == 0)
        return NULL;
    const struct hora__slot *first = &backlog->front.segment->slots[backlog->front.index];
    assert(first->form == 0); /* who looks has had the queue shown */
    return first->value;
}

static void *drain(hora_queue *queue)
{
    void *item = peek(queue);
    if (item != NULL) {
        queue->size--;
        advance(backlog_of(queue), 1);
    }
    return item;
}

/* The next but one: the next is for another taker, likely. There is more than one. */
static void prefetch(const struct backlog *backlog)
{
    int index = backlog->front.index + 1;
    assert(backlog->base.queue.size > 1);
    if (index < SLOTS && backlog->front.segment->slots[index].form == 0)
        hora__prefetch(backlog->front.segment->slots[index].value);
}

static void *take(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && ret_taken != NULL);
    (void)wakes;
    struct backlog *backlog = backlog_of(queue);
    hora__backlog_recall(queue);
    if (queue->size == 0)
        collect(queue);
    if (queue->size == 0)
        return NULL;
    void *item = hora__segment_read(backlog->front.segment, backlog->front.index, ret_taken);
    queue->size--;
    advance(backlog, 1);
    if (queue->size > 1)
        prefetch(backlog);
    return item;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    hora__backlog_recall(queue);
    if (queue->size == 0 && has_inbox(queue))
        collect(queue);
    void *item = drain(queue);
    if (queue->size > 1)
        prefetch(backlog_of(queue));
    return item;
}

/* ---- putting ---- */

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->item != NULL);
    (void)wakes;
    if (has_inbox(queue))
        collect(queue); /* tasks that were posted came before */
    bool full = queue->size >= queue->capacity - (has_inbox(queue) ? 1 : 0); /* I7 */
    return full ? HORA_EFULL : append(backlog_of(queue), put->item);
}

/* ---- the middle ---- */

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

static int show(hora_queue *queue, const struct hora__maker *maker)
{
    assert(hora__mutex_held(&queue->object.lock) && maker->make != NULL);
    struct backlog *backlog = backlog_of(queue);
    if (backlog->only_elements)
        return 0;
    hora__mutex_lock(&backlog->inbox_lock);
    backlog->shown = true; /* I5: before the last look at what has come */
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

struct copying {
    void **items;
    int count;
    int max;
};

static bool copy_one(void *item, const hora_task *task, void *arg)
{
    struct copying *copying = arg;
    assert(task == NULL); /* callers have had the backlog shown */
    (void)task;
    copying->items[copying->count++] = item;
    return copying->count < copying->max;
}

static void copy(hora_queue *queue, void **items, int max)
{
    assert(hora__mutex_held(&queue->object.lock) && max > 0);
    struct copying copying = {.items = items, .max = max};
    visit_all(queue, copy_one, &copying);
}

static bool is_free(hora_queue *queue)
{
    return hora__mutex_is_free(&backlog_of(queue)->inbox_lock);
}

/* ---- making ---- */

static void destroy(hora_queue *queue)
{
    struct backlog *backlog = backlog_of(queue);
    assert(queue->size == 0 && backlog->front.segment == backlog->end.segment); /* I2 */
    assert(backlog->inbox_size == 0 && !backlog->offered);
    struct hora__segment *segment;
    while ((segment = hora__free_segments_take(&backlog->free_segments)) != NULL)
        hora__free(segment);
    hora__mutex_destroy(&backlog->inbox_lock);
    hora__free(backlog->front.segment);
    hora__free(backlog->inbox_first);
    hora__free(backlog);
}

#define CONTAINER \
    .push = push, .pop = pop, .peek = peek, .drain = drain, .find = find, .copy = copy, .destroy = destroy

static const struct hora__queue_inbox inbox = {.collect = collect, .seal = seal, .is_free = is_free};
static const struct hora__queue_kind bounded_container = {CONTAINER};
static const struct hora__queue_kind unbounded_container = {CONTAINER, .inbox = &inbox};

static const struct hora__work_kind bounded_kind = {
    .behaviour = {.serve = hora__work_serve, .take = hora__work_take, .close = hora__work_close},
    .offer = hora__work_put,
    .take = hora__work_pop,
    .take_first = hora__work_remove_first,
    .visit = visit_all,
    .is_ordered = true,
};

static const struct hora__work_kind unbounded_kind = {
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

void hora__backlog_open_books(hora_queue *queue, struct hora__books *books)
{
    assert(books->branch_count == 0 && queue->size == 0);
    books->branch_count = 1;
    books->branches[0] = &backlog_of(queue)->branch;
}

int hora__backlog_new(int capacity, const hora_queue_options *options, hora_queue **ret_queue)
{
    hora_queue_options own;
    int error = hora__queue_options(&own, options, 0, ret_queue, NULL);
    if (error < 0 || capacity < 1)
        return HORA_EINVAL;
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
    bool is_bounded = capacity != HORA_UNBOUNDED;
    struct hora__segment *first = hora__free_segments_get(&backlog->free_segments); /* where tasks come in */
    struct hora__position nowhere = {NULL, SLOTS}, beginning = {first, 0};
    backlog->front = backlog->end = is_bounded ? beginning : nowhere; /* I2 */
    backlog->inbox_end = is_bounded ? nowhere : beginning;            /* I4 */
    backlog->inbox_first = backlog->inbox_end.segment;
    backlog->inbox_room = HORA_UNBOUNDED - 1;
    error = HORA_ENOMEM;
    if (first != NULL)
        error = hora__work_source_init(&backlog->base, is_bounded ? &bounded_container : &unbounded_container,
                                       is_bounded ? &bounded_kind : &unbounded_kind, capacity, &own);
    if (error < 0)
        destroy(&backlog->base.queue);
    else
        *ret_queue = &backlog->base.queue;
    return error;
}
