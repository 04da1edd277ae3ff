/* SPDX-License-Identifier: Apache-2.0 */
/* timed.c - the delay queue whose elements get their due time when they are put
 *
 * Mechanism    A thread that puts an element for which no taker has to wake up inserts it into the lane,
 *              under the lane's lock. So threads that put and threads that take do not contend for a lock.
 *              The queue's lock guards what takers have absorbed from the lane: a timer heap with single
 *              elements, and far batches (timer/far.h). The lane is a chain of such batches, so absorbing it
 *              moves no elements unless there are few. A taker reads the clock only if the first element is
 *              not due by the last reading; it need not check the lane, because all elements there are due
 *              later than that reading. Two words ensure this: `soonest` is the least due time in the lane,
 *              and no element that is due before `limit` may be in the lane.
 *
 *                  a putting thread, with the lane's lock      a taker, with the queue's lock
 *                  soonest := due, if that is less             limit := the reading of the clock + 1
 *                  due < limit? -> restore soonest, and put    soonest < limit? -> absorb the lane
 *                      under the queue's lock instead          take what is due by that reading
 *
 *              Each side writes its own word before it reads the other's, in sequentially consistent order.
 *              So either the taker sees the element, or the putting thread sees the limit. While takers wait,
 *              the limit is the time until which they sleep (guard). So a thread with an element that is due
 *              sooner takes the queue's lock and wakes the leader. Once an element is in the lane, the thread
 *              that put it does not touch the queue again: a taker may take the element and free the queue.
 * Own lane     The inbox lanes of timer/lanes.h hold nodes that are part of the tasks, and absorbing them
 *              moves each node into the heap. An element of a queue has no node: it is a pointer of the user.
 *              So the lane of a queue is a chain of far batches, which hold the elements themselves, and a
 *              taker absorbs a batch as a whole. Elements need no memory of their own, and most of them never
 *              pass through the heap.
 * Order        The lane's lock guards the sequence numbers, also those of elements that are put under the
 *              queue's lock. So elements that are due at the same time leave in the order of their insertion.
 * Elements     An element of a batch is a record beside the slots of the batch. A single element is a node of
 *              the heap, with memory in the queue itself. When the heap is full, some of its nodes become a
 *              batch. When absorbed batches have become too empty, their last elements become single ones.
 * Memory       Up to MOST empty batches are kept for reuse. Each time the queue becomes empty, 1/PARTS of the
 *              batches beyond KEPT are freed. Absorbing cannot fail: the far batches always have room for a
 *              full lane.
 * Invariants   With both locks free:
 *              I1 all elements in the lane are due at `soonest` or later, and soonest >= limit.
 *              I2 limit > reading; and, while takers wait, limit is not before the time when the leader wakes
 *                 up or, without a leader, the time when the first element is due.
 *              I3 queue->size is the number of single elements plus the number of elements in far batches.
 *              I4 the far batches have room for RESERVED more, or the lane has room for no element.
 *              I5 if there is a descriptor, or the queue is closed, the lane is shut: every put then takes
 *                 the queue's lock, under which it updates the descriptor or is refused. */
#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/ns.h"
#include "base/reason.h"
#include "queue/queue.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "timer/far.h"
#include "timer/heap.h"

#ifdef HORA_SIM
enum { LANE_BATCHES = 8, BATCH_IS_WORTH_IT = HORA__FAR_BATCH, SINGLES = 4 };
#else
enum {
    LANE_BATCHES = 64,      /* most batches in the lane; bounds the work of one absorption */
    BATCH_IS_WORTH_IT = 64, /* a batch with fewer elements is absorbed as single elements */
    SINGLES = 512,          /* most single elements: nodes of the heap */
};
#endif

/* An element in a batch. The mark of its slot points to it, see timer/far.h. */
struct record {
    uint64_t sequence;
    void *item;
};

/* A far batch together with the records of its elements. */
struct batch {
    struct hora__far_batch far; /* first, so that both have the same address */
    struct record records[HORA__FAR_BATCH];
};

/* An element in the heap, or a free node. */
struct single {
    struct hora__timer_node node; /* first, so that both have the same address */
    void *item;                   /* of a free node: the next free node */
};

enum {
    LANE_MOST = LANE_BATCHES * HORA__FAR_BATCH, /* most elements in the lane */
    RESERVED = LANE_BATCHES + 1,                /* batches for which the far batches have room; see I4 */
    KEPT = HORA__KEPT(4, 1),                    /* see "Memory" above */
    MOST = HORA__KEPT(2048, 2),
    PARTS = 8,
    /* The part of a free batch that is poisoned begins here; before it is the link of the free list. */
    RESTS_FROM = offsetof(struct hora__far_batch, first),
};

static_assert(offsetof(struct batch, far) == 0 && offsetof(struct single, node) == 0, "one address for both");
static_assert(_Alignof(struct record) >= 4, "the marks of slots have two bits to spare");

struct timed {
    struct hora_queue base;

    /* Guarded by the queue's lock. */
    hora_ns reading; /* the last reading of the clock; INT64_MIN: none yet */
    hora_ns shown;   /* the value of `limit` */
    bool is_steady;  /* the clock is never set back; immutable */
    bool is_shut;    /* the value of `shut` */
    bool has_room;   /* lane_room is not 0 */
    struct hora__timer_heap heap;
    struct hora__far_batches far;
    struct single *free_single; /* free nodes, chained by `item`; NULL: none */

    /* The two words. They have cache lines of their own, because they are written while other threads use the
     * fields before and after them. */
    char apart[HORA__CACHE_LINE];
    hora__atomic64 limit;   /* written under the queue's lock, read under the lane's */
    hora__atomic64 soonest; /* written under the lane's lock, read under the queue's */
    char apart_too[HORA__CACHE_LINE];

    /* The lane, guarded by lane_lock. A thread may take this lock while it holds the queue's. */
    hora__mutex lane_lock; /* rank INBOX */
    bool shut;             /* no element may be inserted into the lane any more */
    int lane_size;         /* number of elements in the lane */
    int lane_room;         /* how many elements may be in it: LANE_MOST, or 0; see I4 */
    hora_ns lane_soonest;  /* the value of `soonest` */
    /* The chain of batches in the lane; NULL: it is empty. The last one is being filled. */
    struct batch *lane_first;
    struct batch *lane_last;
    uint64_t next_sequence; /* of the next element, however it is put */
    struct batch *kept;     /* free batches, chained by far.next; NULL: none */
    int kept_count;         /* number of free batches */

    /* The memory of the heap. */
    struct hora__timer_slot slots[SINGLES];
    struct single singles[SINGLES];
};

static struct timed *timed_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct timed, base);
}

static struct batch *batch_of(struct hora__far_batch *batch)
{
    return (struct batch *)batch;
}

static struct batch *next_of(const struct batch *batch)
{
    return batch_of(batch->far.next);
}

static struct record *record_of(struct hora__timer_slot slot)
{
    return (struct record *)(void *)slot.mark;
}

static struct single *single_of(struct hora__timer_slot slot)
{
    void *node = hora__slot_node(slot); /* the first member, aligned as the single is */
    return node;
}

/* ---- batches; under the lane's lock ---- */

/* Takes a batch off the free list; NULL: it is empty. */
static struct batch *take_kept_locked(struct timed *timed)
{
    assert(hora__mutex_held(&timed->lane_lock));
    struct batch *batch = timed->kept;
    if (batch != NULL) {
        hora__memory_wakes((char *)batch + RESTS_FROM, sizeof *batch - RESTS_FROM);
        timed->kept = next_of(batch);
        timed->kept_count--;
    }
    return batch;
}

/* Returns an empty batch, from the free list or the system; NULL: out of memory. */
static struct batch *new_batch_locked(struct timed *timed)
{
    assert(hora__mutex_held(&timed->lane_lock));
    struct batch *batch = take_kept_locked(timed);
    if (batch == NULL)
        batch = hora__alloc_dirty(sizeof *batch);
    if (batch != NULL)
        hora__far_batch_init(&batch->far);
    return batch;
}

/* Puts a batch on the free list, or frees it if the list is full. */
static void give_back_locked(struct timed *timed, struct batch *batch)
{
    assert(hora__mutex_held(&timed->lane_lock));
    if (timed->kept_count == (hora__keeps_memory() ? MOST : 1)) {
        hora__free(batch);
        return;
    }
    batch->far.next = timed->kept != NULL ? &timed->kept->far : NULL;
    hora__memory_rests((char *)batch + RESTS_FROM, sizeof *batch - RESTS_FROM);
    timed->kept = batch;
    timed->kept_count++;
}

/* As give_back_locked, but takes the lane's lock. If the queue has become empty, frees a part of the excess
 * batches, so that the memory of a burst is returned step by step. */
static void give_back(struct timed *timed, struct batch *batch)
{
    hora__mutex_lock(&timed->lane_lock);
    give_back_locked(timed, batch);
    if (timed->far.size == 0 && timed->heap.size == 0 && timed->kept_count > KEPT)
        for (int excess = (timed->kept_count - KEPT + PARTS - 1) / PARTS; excess > 0; excess--)
            hora__free(take_kept_locked(timed));
    hora__mutex_unlock(&timed->lane_lock);
}

/* Appends an element to a batch that is not full. */
static void append(struct batch *batch, hora_ns due, uint64_t sequence, void *item)
{
    assert(!hora__far_batch_is_full(&batch->far));
    struct record *record = &batch->records[batch->far.count];
    *record = (struct record){sequence, item};
    hora__far_batch_append(&batch->far, (struct hora__timer_slot){due, (char *)record}, sequence);
}

/* ---- single elements ---- */

/* Inserts an element into the heap, which has room for it. */
static void push_single(struct timed *timed, hora_ns due, uint64_t sequence, void *item)
{
    struct single *single = timed->free_single;
    assert(single != NULL && timed->heap.size < SINGLES);
    timed->free_single = single->item;
    hora__timer_node_init(&single->node);
    single->node.sequence = sequence;
    single->item = item;
    hora__timer_heap_push_untracked(&timed->heap, &single->node, due);
}

/* Puts a node on the free list, and returns the item that it held. */
static void *free_single(struct timed *timed, struct single *single)
{
    assert(single >= timed->singles && single < timed->singles + SINGLES);
    void *item = single->item;
    single->item = timed->free_single;
    timed->free_single = single;
    return item;
}

/* Moves the last nodes of the heap into a batch, and adds that to the far batches, which have room for it.
 * Removing entries from the end of a heap leaves a heap, so nothing else moves. */
static void pack(struct timed *timed, struct batch *batch)
{
    hora__far_batch_init(&batch->far);
    while (!hora__far_batch_is_full(&batch->far) && timed->heap.size > 0) {
        struct hora__timer_slot slot = hora__timer_heap_remove_last(&timed->heap);
        struct single *single = single_of(slot);
        append(batch, slot.due, single->node.sequence, free_single(timed, single));
    }
    hora__far_add_batch(&timed->far, &batch->far);
}

/* Makes room in the heap for `count` more elements, by packing others into a batch if necessary.
 * HORA_ENOMEM. */
static int make_room_for_singles(struct timed *timed, int count)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    if (timed->heap.size + count <= SINGLES)
        return 0;
    hora__mutex_lock(&timed->lane_lock);
    struct batch *batch = new_batch_locked(timed);
    hora__mutex_unlock(&timed->lane_lock);
    if (batch == NULL)
        return HORA_ENOMEM;
    if (hora__far_reserve(&timed->far, RESERVED + 1) < 0) { /* I4 */
        give_back(timed, batch);
        return HORA_ENOMEM;
    }
    pack(timed, batch);
    return 0;
}

/* If the far batches have become too empty on average, moves the elements of one with few elements to the
 * heap. Without this, a few late elements per batch would keep much memory in use. */
static void tidy(struct timed *timed)
{
    struct hora__timer_slot slots[HORA__FAR_FEW];
    int count;
    struct hora__far_batch *empty = hora__far_tidy(&timed->far, slots, &count);
    if (empty == NULL)
        return;
    struct record records[HORA__FAR_FEW] = {{0, NULL}};
    for (int i = 0; i < count; i++)
        records[i] = *record_of(slots[i]);
    if (timed->heap.size + count > SINGLES)
        pack(timed, batch_of(empty)); /* the far batches have room: this batch has just been removed */
    else
        give_back(timed, batch_of(empty));
    for (int i = 0; i < count; i++)
        push_single(timed, slots[i].due, records[i].sequence, records[i].item);
}

/* Returns the number of absorbed elements; see I3. */
static int size_of(const struct timed *timed)
{
    return timed->heap.size + timed->far.size;
}

/* ---- the lane ---- */

/* Sets the limit: from now on no element that is due before it is inserted into the lane. Returns true if the
 * lane may already hold such an element; the caller must absorb it then. `limit` is written before `soonest`
 * is read; see "Mechanism". */
static bool set_limit(struct timed *timed, hora_ns limit)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    bool rises = limit > timed->shown;
    bool too_soon = HORA__FAULT(TIMED_LOOKS_TOO_SOON) && hora__atomic64_load(&timed->soonest) < limit;
    if (limit != timed->shown) {
        timed->shown = limit;
        HORA__ORDER_FAULT(TIMED_LIMIT_UNORDERED, memory_order_acq_rel);
        hora__atomic64_publish(&timed->limit, limit);
    }
    HORA__ORDER_FAULT(TIMED_SOONEST_READ_UNORDERED, memory_order_acq_rel);
    return rises &&
           (HORA__FAULT(TIMED_LOOKS_TOO_SOON) ? too_soon : hora__atomic64_load(&timed->soonest) < limit);
}

/* Writes `soonest` for takers; HORA_FOREVER: the lane is empty. */
static void set_soonest_locked(struct timed *timed, hora_ns soonest)
{
    assert(hora__mutex_held(&timed->lane_lock));
    timed->lane_soonest = soonest;
    HORA__ORDER_FAULT(TIMED_SOONEST_UNORDERED, memory_order_acq_rel);
    hora__atomic64_publish(&timed->soonest, soonest);
}

/* Absorbs a batch of the lane, which is not empty: adds it to the far batches; or, if it has few elements and
 * there is memory, moves these to the heap and frees the batch. */
static void absorb_batch(struct timed *timed, struct batch *batch)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    int count = batch->far.count;
    if (count >= BATCH_IS_WORTH_IT || make_room_for_singles(timed, count) < 0) {
        hora__far_add_batch(&timed->far, &batch->far); /* I4 */
        tidy(timed);
        return;
    }
    for (int i = 0; i < count; i++)
        push_single(timed, batch->far.slots[i].due, batch->records[i].sequence, batch->records[i].item);
    give_back(timed, batch);
}

/* Removes and returns the chain of batches in the lane; NULL: none. */
static struct batch *empty_lane_locked(struct timed *timed)
{
    assert(hora__mutex_held(&timed->lane_lock));
    struct batch *chain = timed->lane_first;
    if (chain == NULL && timed->lane_soonest == HORA_FOREVER)
        return NULL; /* nothing changes, so threads that read `soonest` keep its cache line */
    timed->lane_first = timed->lane_last = NULL;
    timed->lane_size = 0;
    set_soonest_locked(timed, HORA_FOREVER);
    return chain;
}

/* Opens or closes the lane, according to whether the far batches have room for a full one (I4) and the size
 * cannot exceed HORA_UNBOUNDED. */
static void set_room(struct timed *timed)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    bool has_room =
        hora__far_reserve(&timed->far, RESERVED) == 0 && timed->base.size <= HORA_UNBOUNDED - LANE_MOST - 1;
    if (has_room == timed->has_room)
        return;
    timed->has_room = has_room;
    hora__mutex_lock(&timed->lane_lock);
    timed->lane_room = has_room ? LANE_MOST : 0;
    hora__mutex_unlock(&timed->lane_lock);
}

/* Absorbs a chain of batches that was removed from the lane; NULL: nothing to do. */
static void absorb_chain(struct timed *timed, struct batch *batch)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    if (batch == NULL)
        return;
    while (batch != NULL) {
        struct batch *next = next_of(batch);
        absorb_batch(timed, batch);
        batch = next;
    }
    timed->base.size = size_of(timed); /* I3 */
    set_room(timed);
}

/* Moves all elements of the lane into the container. It is `collect` of the inbox. */
static void absorb(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    hora__mutex_lock(&timed->lane_lock);
    struct batch *chain = empty_lane_locked(timed);
    hora__mutex_unlock(&timed->lane_lock);
    absorb_chain(timed, chain);
}

/* Returns whether an element that is due sooner than all others in the lane may be inserted there. Announces
 * it in `soonest` before it reads `limit`, see "Mechanism"; takes that back if the answer is no. */
static bool may_be_soonest_locked(struct timed *timed, hora_ns due)
{
    assert(hora__mutex_held(&timed->lane_lock));
    hora_ns before = timed->lane_soonest;
    set_soonest_locked(timed, due);
    HORA__ORDER_FAULT(TIMED_LIMIT_READ_UNORDERED, memory_order_acq_rel);
    if (due >= hora__atomic64_load(&timed->limit) || HORA__FAULT(TIMED_LIMIT_UNSEEN))
        return true;
    set_soonest_locked(timed, before);
    return false;
}

/* Returns the batch that is being filled, or a new one at the end of the lane; NULL: out of memory. */
static struct batch *batch_to_fill_locked(struct timed *timed)
{
    assert(hora__mutex_held(&timed->lane_lock));
    struct batch *last = timed->lane_last;
    if (last != NULL && !hora__far_batch_is_full(&last->far))
        return last;
    struct batch *batch = new_batch_locked(timed);
    if (batch == NULL)
        return NULL;
    if (last != NULL)
        last->far.next = &batch->far;
    else
        timed->lane_first = batch;
    timed->lane_last = batch;
    return batch;
}

/* The result of insert for an element that must be put under the queue's lock. Not an error code: those are
 * negative. */
enum { NEEDS_QUEUE_LOCK = 1 };

/* Inserts an element into the lane. Returns 0, HORA_ENOMEM, or NEEDS_QUEUE_LOCK if the lane is shut or full,
 * or if a taker has to know of the element. */
static int insert_locked(struct timed *timed, void *item, hora_ns due)
{
    assert(hora__mutex_held(&timed->lane_lock));
    if (timed->shut || timed->lane_size >= timed->lane_room)
        return NEEDS_QUEUE_LOCK;
    if (due < timed->lane_soonest && !may_be_soonest_locked(timed, due))
        return NEEDS_QUEUE_LOCK;
    struct batch *batch = batch_to_fill_locked(timed);
    if (batch == NULL)
        return HORA_ENOMEM; /* `soonest` may be too early now: a taker absorbs the lane needlessly, no more */
    append(batch, due, timed->next_sequence++, item);
    timed->lane_size++;
    assert(due >= timed->lane_soonest); /* I1 */
    return 0;
}

/* As insert_locked, but takes the lane's lock. Does not touch the queue after it has released the lock. */
static int insert(struct timed *timed, void *item, hora_ns due)
{
    hora__mutex_lock(&timed->lane_lock);
    int error = insert_locked(timed, item, due);
    hora__mutex_unlock(&timed->lane_lock);
    return error;
}

/* Lets no element into the lane any more (I5). Elements that are there already stay. */
static void shut(struct timed *timed)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    hora__mutex_lock(&timed->lane_lock);
    timed->shut = true;
    hora__mutex_unlock(&timed->lane_lock);
    timed->is_shut = true;
}

/* ---- the order ---- */

/* Returns whether the first element is a single one. The queue is not empty. */
static bool first_is_single(const struct timed *timed)
{
    assert(size_of(timed) > 0);
    if (timed->far.size == 0 || timed->heap.size == 0)
        return timed->far.size == 0;
    hora_ns due = timed->heap.slots[0].due;
    return due != timed->far.first
               ? due < timed->far.first
               : hora__slot_node(timed->heap.slots[0])->sequence < hora__far_first_sequence(&timed->far);
}

/* Returns when the first element is due. The queue is not empty. */
static hora_ns first_due(const struct timed *timed)
{
    hora_ns due = timed->heap.size > 0 ? timed->heap.slots[0].due : HORA_FOREVER;
    return due < timed->far.first ? due : timed->far.first;
}

/* `seal` of the inbox: the queue is closed, so every put must take the queue's lock, where it is refused. */
static void seal(hora_queue *queue)
{
    if (!HORA__FAULT(TIMED_OPEN_AFTER_CLOSE))
        shut(timed_of(queue));
}

/* `guard` of the inbox: sets the limit to the time until which the waiting takers sleep (I2), after the queue
 * has been served. Returns true if the lane may have held an element that is due sooner; the lane is absorbed
 * then, and the queue must be served again. If there is a descriptor, shuts the lane instead (I5). */
static bool guard(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    hora_ns until = INT64_MIN;
    if (queue->ready.kind != HORA__READY_NONE && !timed->is_shut && !HORA__FAULT(TIMED_FORGETS_DESCRIPTOR)) {
        shut(timed);
        absorb(queue);
        return true;
    }
    /* Without takers, nothing sleeps, and the limit need only be above the last reading. */
    if (queue->leader != NULL)
        until = queue->leader_until;
    else if (!hora__list_is_empty(&queue->takers))
        until = queue->size > 0 ? first_due(timed) : HORA_FOREVER;
    if (HORA__FAULT(TIMED_SLEEPS_UNGUARDED) || !set_limit(timed, hora__ns_max(until, timed->reading + 1)))
        return false;
    absorb(queue);
    return true;
}

/* ---- taking ---- */

/* Reads the clock. Before elements are compared with the new reading, raises the limit above it, and absorbs
 * the lane if it may hold an element that is due by then (I2). */
static void read_clock(struct timed *timed)
{
    assert(hora__mutex_held(&timed->base.object.lock));
    hora_ns now = hora_clock_now(timed->base.object.clock);
    timed->reading = now == HORA_FOREVER ? HORA_FOREVER - 1 : now; /* HORA_FOREVER is never reached */
    if (HORA__FAULT(TIMED_READS_UNGUARDED))
        return;
    if (set_limit(timed, hora__ns_max(timed->shown, timed->reading + 1)))
        absorb(&timed->base);
}

/* Returns whether there is an element that is due by the last reading of the clock. */
static bool first_is_due(const struct timed *timed)
{
    assert(timed->base.size == size_of(timed)); /* I3 */
    hora_ns slack = HORA__FAULT(DELAY_GIVES_EARLY) ? 1 : 0;
    return timed->base.size > 0 && hora__ns_sub(first_due(timed), slack) <= timed->reading;
}

/* Removes an element from the heap and returns its item. */
static void *take_single(struct timed *timed, struct single *single)
{
    hora__timer_heap_remove(&timed->heap, &single->node);
    return free_single(timed, single);
}

/* Removes the first element of the far batches and returns its item. */
static void *take_far(struct timed *timed)
{
    assert(timed->far.size > 0);
    struct hora__timer_slot slot;
    struct hora__timer_slot next;
    struct hora__far_batch *empty = hora__far_pop(&timed->far, &slot, &next);
    void *item = record_of(slot)->item;
    if (next.mark != NULL)
        __builtin_prefetch(record_of(next)->item); /* a taker will read it soon */
    if (empty != NULL)
        give_back(timed, batch_of(empty));
    return item;
}

/* Removes the first element, due or not, and returns its item. The queue is not empty. */
static void *take_first(struct timed *timed)
{
    assert(timed->base.size > 0);
    void *item =
        first_is_single(timed) ? take_single(timed, single_of(timed->heap.slots[0])) : take_far(timed);
    timed->base.size = size_of(timed); /* I3 */
    return item;
}

/* If the first element is due by the last reading, it is the right one, because all elements in the lane are
 * due later (I1, I2): then the clock need not be read. A clock that can be set back is always read. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct timed *timed = timed_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    if (!timed->is_steady || !first_is_due(timed)) {
        read_clock(timed);
        if (!first_is_due(timed))
            return NULL;
    }
    assert(timed->shown > timed->reading || HORA__FAULT(TIMED_READS_UNGUARDED)); /* I2 */
    return take_first(timed);
}

static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    const struct timed *timed = timed_of(queue);
    *ret_element = first_is_single(timed) ? hora__slot_node(timed->heap.slots[0])->sequence
                                          : hora__far_first_sequence(&timed->far);
    return first_due(timed);
}

/* ---- putting ---- */

/* Puts an element under the queue's lock. Without a due time it is due now. Absorbs the lane first and takes
 * the sequence number in the same critical section of the lane, so that the order of insertion is kept. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    (void)wakes;
    struct timed *timed = timed_of(queue);
    assert(hora__mutex_held(&queue->object.lock));
    hora__mutex_lock(&timed->lane_lock);
    struct batch *chain = empty_lane_locked(timed);
    uint64_t sequence = timed->next_sequence++; /* wasted if the put fails; only the order matters */
    hora__mutex_unlock(&timed->lane_lock);
    absorb_chain(timed, chain);
    if (queue->size == HORA_UNBOUNDED)
        return HORA_EFULL;
    if (make_room_for_singles(timed, 1) < 0)
        return HORA_ENOMEM;
    if (!timed->has_room)
        set_room(timed);
    push_single(timed, put->has_due ? put->due : hora_clock_now(queue->object.clock), sequence, put->item);
    queue->size = size_of(timed); /* I3 */
    return 0;
}

/* ---- inspecting and removing ---- */

static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timed *timed = timed_of(queue);
    if (size_of(timed) == 0)
        return NULL;
    return first_is_single(timed) ? single_of(timed->heap.slots[0])->item
                                  : record_of(hora__far_peek(&timed->far))->item;
}

static void *drain(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timed *timed = timed_of(queue);
    return size_of(timed) > 0 ? take_first(timed) : NULL;
}

/* A search for the first of the elements with this item. At most one of `single` and `mark` is set; neither:
 * none was found. */
struct search {
    const void *item;
    struct single *single; /* the best so far, if it is in the heap */
    char *mark;            /* the best so far, if it is in a batch: the mark of its slot */
    hora_ns due;           /* of the best so far */
    uint64_t sequence;     /* of the best so far */
};

/* Returns whether an element with this item leaves before the best one so far, and notes its due time and
 * sequence if so. */
static bool improves(struct search *search, hora_ns due, uint64_t sequence)
{
    bool is_first = search->single == NULL && search->mark == NULL;
    if (!is_first && (due != search->due ? due > search->due : sequence > search->sequence))
        return false;
    search->due = due;
    search->sequence = sequence;
    return true;
}

/* Considers an element of a far batch. */
static void look_far(void *context, struct hora__timer_slot slot)
{
    struct search *search = context;
    const struct record *record = record_of(slot);
    if (record->item != search->item || !improves(search, slot.due, record->sequence))
        return;
    search->mark = slot.mark;
    search->single = NULL;
}

/* Considers all elements. Takes time proportional to their number, as in the JDK. */
static void look(const struct timed *timed, struct search *search)
{
    assert(search->single == NULL && search->mark == NULL);
    for (int i = 0; i < timed->heap.size; i++) {
        struct single *single = single_of(timed->heap.slots[i]);
        if (single->item == search->item && improves(search, timed->heap.slots[i].due, single->node.sequence))
            search->single = single;
    }
    hora__far_each(&timed->far, look_far, search);
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timed *timed = timed_of(queue);
    struct search search = {.item = item};
    struct hora__far_batch *empty = NULL;
    look(timed, &search);
    if (search.single != NULL && remove) {
        hora__timer_heap_track_all(&timed->heap); /* a node inside the heap must know its position */
        (void)take_single(timed, search.single);
    } else if (search.mark != NULL && remove) {
        empty = hora__far_remove(&timed->far, search.mark);
    }
    queue->size = size_of(timed); /* I3 */
    if (empty != NULL)
        give_back(timed, batch_of(empty));
    return search.single != NULL || search.mark != NULL;
}

/* `is_free` of the inbox. */
static bool is_free(hora_queue *queue)
{
    return hora__mutex_is_free(&timed_of(queue)->lane_lock);
}

/* The argument of copy_far: at most `max` elements are written to `items`, `count` so far. */
struct copying {
    void **items;
    int max;
    int count;
};

/* Copies an element of a far batch, if there is room. */
static void copy_far(void *context, struct hora__timer_slot slot)
{
    struct copying *copying = context;
    if (copying->count < copying->max)
        copying->items[copying->count++] = record_of(slot)->item;
}

/* Writes the elements in no particular order. */
static void copy(hora_queue *queue, void **items, int max)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct timed *timed = timed_of(queue);
    struct copying copying = {items, max, 0};
    for (int i = 0; i < timed->heap.size && i < max; i++)
        items[copying.count++] = single_of(timed->heap.slots[i])->item;
    hora__far_each(&timed->far, copy_far, &copying);
}

/* ---- making ---- */

/* Also frees a queue that could not be made, once its lane_lock exists. */
static void destroy(hora_queue *queue)
{
    struct timed *timed = timed_of(queue);
    assert(size_of(timed) == 0 && timed->lane_size == 0);
    struct batch *batch;
    hora__mutex_lock(&timed->lane_lock); /* not needed, but take_kept_locked asserts it */
    while ((batch = take_kept_locked(timed)) != NULL)
        hora__free(batch);
    hora__mutex_unlock(&timed->lane_lock);
    hora__mutex_destroy(&timed->lane_lock);
    hora__far_free(&timed->far);
    hora__free(timed);
}

static const struct hora__queue_inbox inbox = {
    .collect = absorb, .seal = seal, .is_free = is_free, .guard = guard};

static const struct hora__queue_kind timed_kind = {
    .push = push,
    .pop = pop,
    .peek = peek,
    .drain = drain,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
    .inbox = &inbox,
    .inserts_always = true,
};

/* Makes the queue; the options have been checked. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED. */
static int make(const hora_queue_options *options, hora_queue **ret_queue)
{
    struct timed *timed = hora__alloc(1, sizeof *timed);
    if (timed == NULL)
        return HORA_ENOMEM;
    int error = hora__mutex_init(&timed->lane_lock, HORA__RANK_INBOX);
    if (error < 0) {
        hora__free(timed);
        return error;
    }
    timed->reading = INT64_MIN;
    timed->shown = timed->reading + 1;
    timed->is_steady = hora__clock_timeline(options->clock) != HORA__WALL;
    hora__atomic64_publish(&timed->limit, timed->shown);
    hora__mutex_lock(&timed->lane_lock);
    set_soonest_locked(timed, HORA_FOREVER);
    hora__mutex_unlock(&timed->lane_lock);
    (void)hora__timer_heap_move(&timed->heap, timed->slots, SINGLES);
    for (int i = 0; i < SINGLES; i++)
        (void)free_single(timed, &timed->singles[i]);
    timed->far.first = INT64_MAX;
    error = hora__far_reserve(&timed->far, RESERVED);
    if (error == 0)
        error = hora__queue_init(&timed->base, &timed_kind, HORA_UNBOUNDED, options);
    if (error < 0) {
        destroy(&timed->base);
        return error;
    }
    timed->has_room = true;
    timed->lane_room = LANE_MOST;
    *ret_queue = &timed->base;
    return 0;
}

/* ---- the public calls ---- */

/* With `remaining`, the elements know their due times themselves, and heaped.c has the queue. */
int hora_queue_new_delay(const hora_queue_options *options, hora_queue **ret_queue, hora_error *reason)
{
    hora_queue_options own;
    int error =
        hora__queue_options(&own, options, HORA__ALLOW_COMPARE | HORA__ALLOW_REMAINING, ret_queue, reason);
    if (error < 0)
        return error;
    if (own.compare != NULL && own.remaining == NULL)
        return hora__refuse(reason, HORA_EINVAL, "compare", "compare has no effect without remaining");
    error = own.remaining == NULL ? make(&own, ret_queue) : hora__asked_queue_new(&own, ret_queue);
    return hora__reason_end(reason, error);
}

/* Tries the lane first; puts the element under the queue's lock only if a taker has to know of it, or if the
 * lane is shut or full. */
int hora_queue_put_at(hora_queue *queue, void *item, hora_ns due)
{
    if (queue == NULL || queue->kind != &timed_kind || item == NULL)
        return HORA_EINVAL;
    int error = hora__queue_check(queue);
    if (error == 0)
        error = insert(timed_of(queue), item, due);
    if (error != NEEDS_QUEUE_LOCK)
        return error;
    struct hora__put put = {.item = item, .due = due, .has_due = true};
    return hora__queue_put_now(queue, &put);
}

int hora_queue_put_delayed(hora_queue *queue, void *item, hora_ns delay)
{
    if (queue == NULL || queue->kind != &timed_kind || item == NULL)
        return HORA_EINVAL;
    return hora_queue_put_at(queue, item, hora__clock_deadline(queue->clock, delay));
}
