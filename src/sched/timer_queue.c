/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue.c - the work source of a scheduler: entries ordered by time
 *
 * Order             Each timeline has a heap of the entries without slack, and two heaps of those with slack:
 *                   one by the time from which they can be taken, and one by the time at which they must be.
 *                   A waiting worker sleeps until the first entry must be taken, and then takes all entries
 *                   that can be. So slack saves wake-ups, and entries without slack are never late. Times of
 *                   different timelines are compared on the queue's own clock. The translation holds until
 *                   the clocks part; then the leader wakes up and handles the change (clocks.c).
 * Reserved slots    While a worker has an entry of a series, the heap keeps the slot of the entry reserved,
 *                   so putting it back cannot fail.
 * Lanes             One-shot tasks on the own timeline are inserted and cancelled in inbox lanes, without the
 *                   queue's lock (timer/lanes.c, timer_queue_lanes.c). A thread that needs to see all entries
 *                   absorbs the lanes first.
 * Foreign futures   A future that was made elsewhere may be queued several times. Such futures are few and
 *                   due at once, so finding one by searching their list is fast enough.
 * Detached tasks    See timer_queue_detached.c. If there are very many, they wait in far batches
 *                   (timer/store.h) and are moved into the heap before they are due. A thread that looks at
 *                   more than the first entry gathers them first.
 * Invariants        I1 queue.size is the number of entries in the heaps by due time, in far batches and in
 *                   the admission queue.
 *                   I2 an entry is in `exact` if its slack is 0, else in `lax` and in `latest`, on its own
 *                      line; or in the admission queue.
 *                   I3 sequence numbers are unique, and given at the first insertion. So a series keeps its
 *                      position among entries with the same time.
 *                   I4 lax and latest have the same size, capacity and reserved slots.
 *                   I5 leader_element is not the number of an entry that was moved or put back since the
 *                      leader went to sleep. Otherwise serving would believe that the leader wakes up in
 *                      time for the entry.
 *                   I6 an entry in a chain is in a heap or SWEPT. So it does not run, and the chain may use
 *                      the memory in which its run is noted.
 *                   I7 far nodes are taken after the first node of the heap. While there are far nodes, the
 *                      heap is not empty. */
#include "sched/timer_queue_internal.h"

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/ns.h"
#include "sched/detached.h"
#include "sched/scheduled.h"
#include "sched/zones.h"
#include "sync/clock.h"
#include "sys/alloc.h"
#include "timer/lanes.h"

/* Returns the series state of an entry with slack. Every such entry has one. */
static struct hora__series *series_of(struct hora__entry *entry)
{
    assert(entry->is_lax);
    return hora__scheduled_of_entry(entry)->series;
}

/* Returns the heap that orders an entry by due time: I2. */
static struct hora__timer_heap *heap_of(struct timer_queue *timer_queue, const struct hora__entry *entry)
{
    assert(entry->line < HEAPS);
    struct line *line = &timer_queue->lines[entry->line];
    return entry->is_lax ? &line->lax : &line->exact; /* I2 */
}

hora_ns hora__timer_queue_now(const hora_queue *queue, enum hora__timeline line)
{
    return hora_clock_now(hora__clock_line(queue->object.clock, line));
}

/* ---- in and out ---- */

/* Pushes an entry into its heaps, which have room; with slack there are two nodes. Detached tasks are pushed
 * untracked: the heap does not write their positions when it moves them. Only the first entry is taken, and a
 * thread that needs the others gathers first, which tracks them. */
static void push_entry(struct timer_queue *timer_queue, struct hora__entry *entry, hora_ns due)
{
    assert(entry->by_due.sequence != 0); /* I3 */
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    if (entry->is_detached && !entry->is_timer)
        hora__timer_heap_push_untracked(own_heap(timer_queue), &entry->by_due, due);
    else
        hora__timer_heap_push(heap_of(timer_queue, entry), &entry->by_due, due);
    if (!entry->is_lax)
        return;
    struct hora__series *series = series_of(entry);
    series->by_latest.sequence = entry->by_due.sequence;
    hora__timer_heap_push(&timer_queue->lines[entry->line].latest, &series->by_latest,
                          hora__ns_add(due, series->rules->slack));
}

/* The entry is in its heaps, and it is tracked or the first of its heap. */
void hora__timer_queue_pull(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(!entry->in_admission); /* I2 */
    hora__timer_heap_remove(heap_of(timer_queue, entry), &entry->by_due);
    /* If the entry was the first, far nodes may have to follow: I7. */
    if (timer_queue->store.far.size > 0)
        hora__timer_store_follow(&timer_queue->store);
    if (entry->is_lax)
        hora__timer_heap_remove(&timer_queue->lines[entry->line].latest, &series_of(entry)->by_latest);
}

/* The entry may be new, be moved, or be put back. If the leader sleeps for its old due time, the queue
 * forgets that (I5), so that serving compares the due times again. */
void hora__timer_queue_insert(struct timer_queue *timer_queue, struct hora__entry *entry, hora_ns due)
{
    assert(!entry->kept && !entry->in_admission);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    entry->stage = HORA__WAITS;
    if (entry->by_due.sequence == 0)
        entry->by_due.sequence = hora__lanes_number(timer_queue->store.lanes); /* I3 */
    else if (entry->by_due.sequence == timer_queue->base.queue.leader_element &&
             !HORA__FAULT(TIMER_QUEUE_MOVE_UNSEEN))
        timer_queue->base.queue.leader_element = 0; /* I5 */
    push_entry(timer_queue, entry, due);
    hora__timer_queue_count(timer_queue, entry, 1); /* I1 */
}

/* The slot of the entry is free afterwards; a caller that wants it reserved calls hora__timer_queue_keep. */
void hora__timer_queue_remove(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(timer_queue->base.queue.size > 0); /* I1 */
    entry->stage = HORA__OUT;
    if (entry->in_admission)
        hora__timer_queue_leave_admission(timer_queue, entry);
    else
        hora__timer_queue_pull(timer_queue, entry);
    hora__timer_queue_count(timer_queue, entry, -1);
    /* Another timer is first now, so the shared ticket waits for that one, or not at all. */
    if (entry->line == TIMERS_WITH_ADMISSION)
        hora__timer_queue_offer_timer(timer_queue);
}

/* An entry with slack has a slot in two heaps. */
void hora__timer_queue_keep(struct timer_queue *timer_queue, struct hora__entry *entry, bool kept)
{
    if (entry->kept == kept)
        return;
    entry->kept = kept;
    hora__timer_heap_reserve(heap_of(timer_queue, entry), kept ? 1 : -1);
    if (entry->is_lax)
        hora__timer_heap_reserve(&timer_queue->lines[entry->line].latest, kept ? 1 : -1); /* I4 */
}

void hora__timer_queue_save_memory(struct timer_queue *timer_queue, const struct hora__entry *entry)
{
    hora__timer_heap_save_room(heap_of(timer_queue, entry));
    if (entry->is_lax)
        hora__timer_heap_save_room(&timer_queue->lines[entry->line].latest);
}

hora_ns hora__timer_queue_due(hora_queue *queue, const struct hora__entry *entry)
{
    const struct hora__timer_heap *heap = heap_of(timer_queue_of(queue), entry);
    return entry->in_admission ? hora__timer_queue_waiting_due(entry)
                               : hora__timer_heap_due(heap, &entry->by_due);
}

/* Entries with slack take the general way. The rest repeats hora__timer_queue_insert for the common case, an
 * entry without slack that has its sequence number: each run of a series passes through here. */
void hora__timer_queue_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    assert(entry->kept && entry->by_due.sequence != 0);
    hora__timer_queue_keep(timer_queue, entry, false);
    if (entry->is_lax) {
        hora__timer_queue_insert(timer_queue, entry, due);
        return;
    }
    entry->stage = HORA__WAITS;
    if (entry->by_due.sequence == queue->leader_element && !HORA__FAULT(TIMER_QUEUE_MOVE_UNSEEN))
        queue->leader_element = 0; /* I5 */
    hora__timer_heap_push(&timer_queue->lines[entry->line].exact, &entry->by_due, due);
    hora__timer_queue_count(timer_queue, entry, 1); /* I1 */
}

void hora__timer_queue_give_up(hora_queue *queue, struct hora__entry *entry)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (!HORA__FAULT(TIMER_QUEUE_KEEPS_PLACE))
        hora__timer_queue_keep(timer_queue_of(queue), entry, false);
    hora__timer_queue_save_memory(timer_queue_of(queue), entry);
}

/* Releases an entry that was removed and is not put back by this queue: lets its heaps return memory, and
 * frees the record of a foreign future. Returns the future, with the reference that the entry held. */
static hora_future *release(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(!entry->is_detached);
    hora_future *future = hora__entry_future(entry);
    hora__timer_queue_save_memory(timer_queue, entry);
    if (entry->is_foreign) {
        hora__list_remove(&hora__foreign_of(entry)->link);
        hora__timer_queue_free_foreign(timer_queue, hora__foreign_of(entry));
    }
    return future;
}

/* ---- the inbox lanes: see timer/lanes.c and timer/store.h ---- */

/* Counts a node that the store has absorbed from a lane. Entries in lanes do not count in queue.size. */
static void count_absorbed(void *context, struct hora__timer_node *node)
{
    hora__timer_queue_count(context, entry_by_due(node), 1); /* I1 */
}

/* Absorbs the lanes, and returns memory of detached tasks to their free lists. Returns whether an entry was
 * due before the horizon, that is, before the leader would wake up. */
static bool absorb_lanes(struct timer_queue *timer_queue)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    return hora__timer_store_absorb(
        &timer_queue->store,
        &(struct hora__timer_store_absorber){count_absorbed, hora__timer_queue_give_back, timer_queue});
}

void hora__timer_queue_absorb(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)absorb_lanes(timer_queue_of(queue));
}

/* Publishes until when no worker looks by itself, then absorbs the lanes for the last time before the sleep.
 * Either this finds an entry, or the thread that inserts it reads the new horizon and wakes a worker. Returns
 * whether an entry is due before `until`. See struct hora__work_kind. */
static bool expect(hora_queue *queue, hora_ns until)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    return hora__timer_store_set_horizon(&timer_queue->store, until) && absorb_lanes(timer_queue);
}

/* The queue is closed: makes the lanes refuse everything. See struct hora__queue_inbox. */
static void seal(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    timer_queue->store.sealed = true;
    hora__timer_store_promise(&timer_queue->store);
}

/* The pool frees the queue, which is empty: gives up the reference of each lane by which no future refers to
 * the queue any more. The other lanes keep the queue until their last future is gone. See struct
 * hora__queue_behaviour. */
static void leave(hora_queue *queue)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    for (int i = 0, count = timer_queue->store.lanes->count; i < count; i++)
        if (hora__lanes_close(timer_queue->store.lanes, i))
            hora__object_leave(&queue->object);
}

/* Returns whether no thread holds the lock of a lane. See struct hora__queue_inbox. */
static bool is_free(hora_queue *queue)
{
    return hora__lanes_are_free(timer_queue_of(queue)->store.lanes);
}

/* ---- the order ---- */

/* The readings of the clocks for one decision. Each clock is read at most once, and only if it is needed,
 * since reading a clock costs more than most decisions. */
struct reading {
    struct timer_queue *timer_queue;
    /* Valid where is_read is set. */
    hora_ns now[LINES];
    bool is_read[LINES];
};

/* Returns the time of a timeline, the same during one decision. */
static hora_ns now_of(struct reading *reading, enum hora__timeline line)
{
    assert((int)line < LINES);
    if (!reading->is_read[line]) {
        const hora_queue *queue = &reading->timer_queue->base.queue;
        reading->now[line] = line == reading->timer_queue->own ? hora_clock_now(queue->object.clock)
                                                               : hora__timer_queue_now(queue, line);
        reading->is_read[line] = true;
    }
    return reading->now[line];
}

/* Translates a time of a timeline to the timer queue's own clock. */
static hora_ns translate(struct reading *reading, enum hora__timeline line, hora_ns time)
{
    enum hora__timeline own = reading->timer_queue->own;
    if (line == own || time == HORA_FOREVER)
        return time;
    /* Unless the own clock was read before, it is read second. Then the time between the two readings makes
     * the sum late, and a worker that sleeps until then does not wake up before `time`. */
    hora_ns now = now_of(reading, line);
    return hora__ns_add(now_of(reading, own), hora__ns_sub(time, now));
}

/* Returns the due time of an entry, on its own timeline. */
static hora_ns due_of(const struct reading *reading, const struct hora__entry *entry)
{
    return hora__timer_queue_due(&reading->timer_queue->base.queue, entry);
}

/* Returns whether entry a is taken before b. The two may be on different timelines. */
static bool is_before(struct reading *reading, const struct hora__entry *a, const struct hora__entry *b)
{
    hora_ns due_a = translate(reading, (enum hora__timeline)a->line, due_of(reading, a));
    hora_ns due_b = translate(reading, (enum hora__timeline)b->line, due_of(reading, b));
    return due_a != due_b ? due_a < due_b : a->by_due.sequence < b->by_due.sequence;
}

/* Returns the one of an entry and a node that is taken first. Either may be NULL. */
static struct hora__entry *earlier(struct reading *reading, struct hora__entry *best,
                                   struct hora__timer_node *timer)
{
    if (timer == NULL)
        return best;
    struct hora__entry *entry = entry_by_due(timer);
    return best == NULL || is_before(reading, entry, best) ? entry : best;
}

/* Returns the heap of the own timeline if it holds all entries, except for those in far batches, which are
 * taken later (I7); else NULL. In most schedulers all entries are precise and on the own timeline, so this is
 * the usual case. */
static const struct hora__timer_heap *only_heap(const struct timer_queue *timer_queue)
{
    assert(timer_queue->base.queue.size >= 0);
    const struct hora__timer_heap *heap = &timer_queue->lines[timer_queue->own].exact;
    return heap->size + timer_queue->store.far.size == timer_queue->base.queue.size ? heap
                                                                                    : NULL; /* I1, I7 */
}

/* Returns the first entry of all heaps by due time, except timers under admission; NULL: there is none. */
static struct hora__entry *first_of(struct timer_queue *timer_queue, struct reading *reading)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    const struct hora__timer_heap *only = only_heap(timer_queue);
    if (only != NULL)
        return only->size > 0 ? entry_by_due(hora__slot_node(only->slots[0])) : NULL;
    struct hora__entry *first = NULL;
    for (int i = 0; i < LINES; i++) {
        first = earlier(reading, first, hora__timer_heap_first(&timer_queue->lines[i].exact));
        first = earlier(reading, first, hora__timer_heap_first(&timer_queue->lines[i].lax));
    }
    return first;
}

/* Returns whether an entry can be taken now, by the clock of its timeline. */
static bool is_due(struct reading *reading, const struct hora__entry *entry)
{
    assert(entry != NULL && entry->line < LINES);
    hora_ns grace = HORA__FAULT(TIMER_QUEUE_GIVES_EARLY) ? 1 : 0;
    hora_ns due = due_of(reading, entry);
    return due != HORA_FOREVER &&
           hora__ns_sub(due, grace) <= now_of(reading, (enum hora__timeline)entry->line);
}

/* ---- the kind ---- */

/* Returns whether a scheduled future can be put: it belongs to this queue, and neither the queue nor a worker
 * has it. */
static bool is_out(const hora_queue *queue, const struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&queue->object.lock));
    return scheduled->queue == queue && scheduled->entry.stage == HORA__OUT && !scheduled->entry.kept;
}

/* Inserts a future under the lock: a scheduled one at its own due time, a foreign one at once. The record of
 * a foreign future passes from put->memory to the queue. Fails with HORA_EINVAL for a scheduled future of
 * another queue, or one that is queued or with a worker. See struct hora__queue_kind. */
static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct hora__scheduled *scheduled = hora__scheduled_of(put->item);
    struct hora__foreign *foreign = put->memory;
    struct hora__entry *entry = scheduled != NULL ? &scheduled->entry : &foreign->entry;
    assert(entry != NULL);
    if (scheduled != NULL && !is_out(queue, scheduled))
        return HORA_EINVAL;
    /* A full lane may be the reason for this call. Absorbing makes room in it for the next caller. */
    hora__timer_queue_absorb(queue);
    if (queue->size == HORA_UNBOUNDED)
        return HORA_EFULL;
    int error = hora__timer_heap_make_room(heap_of(timer_queue, entry));
    if (error == 0 && entry->is_lax)
        error = hora__timer_heap_make_room(&timer_queue->lines[entry->line].latest);
    if (error < 0)
        return error;
    if (scheduled != NULL)
        /* Zones may have been refreshed after the trigger was asked for this time. */
        hora__scheduled_check_rules(scheduled);
    hora__timer_queue_insert(timer_queue, entry,
                             scheduled != NULL
                                 ? hora__scheduled_due(scheduled)
                                 : hora__timer_queue_now(queue, (enum hora__timeline)entry->line));
    /* The heap may have grown: reserve slots for the lanes, which stay closed until they have all. */
    if (timer_queue->store.lacking > 0)
        hora__timer_store_promise(&timer_queue->store);
    if (scheduled == NULL) {
        hora__list_add_last(&timer_queue->foreign_futures, &foreign->link);
        put->memory = NULL;
    }
    return 0;
}

/* Returns whether no entry may be taken, because the clocks have parted and the change is not handled yet, or
 * the observer is being notified. The leader, or the next worker that leads, handles the change. */
static bool is_held_up(const struct timer_queue *timer_queue)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    const hora_queue *queue = &timer_queue->base.queue;
    return timer_queue->base.watched != NULL &&
           (timer_queue->notifiers > 0 || hora__clock_was_set(queue->object.clock, &timer_queue->seen));
}

/* Reads the own clock, publishes the reading as the floor of the lanes, and then absorbs the lanes. From then
 * on lanes refuse entries due by that reading. So the caller may take all entries due by it in order, without
 * looking into the lanes again. */
static void look(struct timer_queue *timer_queue, struct reading *reading)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora_ns now = now_of(reading, timer_queue->own);
    bool is_steady = timer_queue->own != HORA__WALL; /* the wall clock may be set back */
    timer_queue->store.seen_now = is_steady ? now : INT64_MIN;
    if (!HORA__FAULT(LANE_FLOOR_UNSAID))
        hora__timer_store_set_floor(&timer_queue->store);
    (void)absorb_lanes(timer_queue);
}

/* Returns the first entry if it is due by the last reading of the clock, in a scheduler that has entries with
 * slack and has all entries on the own timeline; else NULL. Entries with slack are taken many at a time, so
 * most of them are found here. */
__attribute__((noinline)) static struct hora__entry *first_lax_due(struct timer_queue *timer_queue)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    const struct line *line = &timer_queue->lines[timer_queue->own];
    int size = line->exact.size + line->lax.size + timer_queue->store.far.size;
    if (size != timer_queue->base.queue.size || line->lax.size == 0)
        return NULL; /* I1, I7 */
    struct reading reading = {.timer_queue = timer_queue};
    struct hora__entry *first = HORA__FAULT(TIMER_QUEUE_LAX_OVERTAKES)
                                    ? NULL
                                    : earlier(&reading, NULL, hora__timer_heap_first(&line->exact));
    first = earlier(&reading, first, hora__timer_heap_first(&line->lax));
    return due_of(&reading, first) <= timer_queue->store.seen_now ? first : NULL;
}

/* Returns the first entry if it is due; NULL: none is due. In most schedulers this decides by the first slot
 * of one heap. While that slot is due by the last reading (seen_now), neither the clock is read nor the lanes
 * are absorbed. */
static inline struct hora__entry *first_due(struct reading *reading)
{
    struct timer_queue *timer_queue = reading->timer_queue;
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    const struct hora__timer_heap *only = only_heap(timer_queue);
    if (only != NULL && only->size > 0 && only->slots[0].due <= timer_queue->store.seen_now)
        return entry_by_due(hora__slot_node(only->slots[0]));
    struct hora__entry *lax = only == NULL ? first_lax_due(timer_queue) : NULL;
    if (lax != NULL)
        return lax;
    look(timer_queue, reading);
    only = only_heap(timer_queue);
    if (only != NULL && !HORA__FAULT(TIMER_QUEUE_GIVES_EARLY)) { /* first_of and is_due, for one heap */
        bool is_due = only->size > 0 && only->slots[0].due <= now_of(reading, timer_queue->own) &&
                      only->slots[0].due != HORA_FOREVER;
        return is_due ? entry_by_due(hora__slot_node(only->slots[0])) : NULL;
    }
    struct hora__entry *first = first_of(timer_queue, reading);
    return first != NULL && is_due(reading, first) ? first : NULL;
}

struct hora__entry *hora__timer_queue_first_due(struct timer_queue *timer_queue)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    struct reading reading = {.timer_queue = timer_queue};
    return first_due(&reading);
}

/* Notes in a task that is being taken which changes of clocks and zones the timer queue has seen. When the
 * task is put back, series.c finds later changes by comparing. */
static inline void note_seen(const struct timer_queue *timer_queue, struct hora__scheduled *scheduled)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    if (scheduled->series == NULL)
        return; /* the time of a one-shot task depends on neither */
    scheduled->series->set_backs = timer_queue->set_backs;
    scheduled->series->refreshes = timer_queue->refreshes;
}

/* Makes an entry that was just removed TAKEN by a worker. A series keeps its slot; the record of a foreign
 * future is freed. Returns the future, with the reference that the entry held. */
static inline hora_future *taken(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(entry->stage == HORA__OUT && !entry->is_detached);
    entry->stage = HORA__TAKEN;
    if (!entry->is_foreign)
        note_seen(timer_queue, hora__scheduled_of_entry(entry));
    if (entry->comes_back)
        hora__timer_queue_keep(timer_queue, entry, true);
    return release(timer_queue, entry);
}

hora_future *hora__timer_queue_take_entry(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    hora__timer_queue_remove(timer_queue, entry);
    return taken(timer_queue, entry);
}

/* Takes the entry that admission lets begin next; see hora__timer_queue_take_admitted. Feeding reads the
 * clocks, so it comes before is_held_up: if a clock was set before they were read, no task that became due
 * because of that begins before the change has been handled. */
static void *take_admitted(struct timer_queue *timer_queue, bool begins, struct hora__taken *ret_taken)
{
    assert(timer_queue->admission != NULL);
    hora__timer_queue_feed_admission(timer_queue);
    return is_held_up(timer_queue) ? NULL : hora__timer_queue_take_admitted(timer_queue, begins, ret_taken);
}

/* Returns whether the worker takes this entry on the short way (see series.c): the worker supports it, and
 * the entry is that of a series on the own timeline. */
static bool is_short(const struct timer_queue *timer_queue, const struct hora__entry *entry,
                     const struct hora__taken *taken)
{
    return taken->series != NULL && entry->comes_back && entry->line == timer_queue->own;
}

/* Fetches the first entry's future and series state into the cache. The worker that has just taken an entry
 * takes the first one next, as a rule, and the states of a thousand series do not stay in the cache: without
 * this the worker waits for memory at each of them. Meanwhile it runs the body. */
static inline void prefetch_first(const struct hora__timer_heap *heap)
{
    struct hora__timer_node *node = hora__timer_heap_first(heap);
    const struct hora__scheduled *next = node != NULL ? hora__scheduled_of_entry(entry_by_due(node)) : NULL;
    if (next == NULL)
        return;
    hora__prefetch(next);
    hora__prefetch(next->series);
}

/* Removes the entry of a series without slack on the own timeline, as hora__timer_queue_remove does, and
 * reserves its slot, as hora__timer_queue_keep does, with what cannot apply left out. */
static inline void remove_precise(struct timer_queue *timer_queue, struct hora__entry *entry)
{
    struct hora__timer_heap *heap = own_heap(timer_queue);
    assert(!entry->kept && !entry->is_lax && !entry->in_admission);
    hora__timer_heap_remove(heap, &entry->by_due);
    if (timer_queue->store.far.size > 0)
        hora__timer_store_follow(&timer_queue->store);
    hora__timer_queue_count(timer_queue, entry, -1);
    hora__timer_heap_reserve(heap, 1);
    entry->kept = true;
}

/* Does the work of hora__timer_queue_take_entry for such an entry, with what cannot apply left out. Its slot
 * stays reserved, so no heap can return memory. The worker begins the run in this visit, if it can. */
static hora_future *take_series(struct reading *reading, struct hora__entry *entry,
                                const struct hora__taken *taken)
{
    assert(entry->stage == HORA__WAITS && entry->line == reading->timer_queue->own);
    struct timer_queue *timer_queue = reading->timer_queue;
    struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    assert(scheduled->series != NULL);
    if (entry->is_lax) {
        hora__timer_queue_remove(timer_queue, entry);
        hora__timer_queue_keep(timer_queue, entry, !HORA__FAULT(TIMER_QUEUE_LAX_LOSES_SLOT));
    } else {
        remove_precise(timer_queue, entry);
    }
    /* Take it, as taken() does. */
    entry->stage = HORA__TAKEN;
    scheduled->series->set_backs = timer_queue->set_backs;
    scheduled->series->refreshes = timer_queue->refreshes;
    hora__series_take_locked(taken->series, scheduled, now_of(reading, timer_queue->own));
    prefetch_first(heap_of(timer_queue, entry));
    return &scheduled->future;
}

/* Takes the next due entry for a worker: returns its future, or ret_taken for a detached task or timer, or
 * NULL. The same visit first ends what the worker did before: it reports that a timer has run, or puts back
 * the series whose run has ended. See struct hora__work_kind. */
static void *take(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct reading reading = {.timer_queue = timer_queue};
    if (hora__taken_has_timer(ret_taken))
        hora__timer_queue_ran(queue, ret_taken, wakes);
    if (hora__taken_owes_return(ret_taken) &&
        !hora__series_return_locked(ret_taken->series, now_of(&reading, timer_queue->own)))
        return NULL; /* the worker first puts the series back in the general way, then looks again */
    if (timer_queue->admission != NULL)
        return take_admitted(timer_queue, true, ret_taken);
    struct hora__entry *first = first_due(&reading);
    /* A worker that goes to sleep need not read the clock again. If the own clock is the wall clock, which
     * may be set back, seen_now is HORA_NEVER: no reading. */
    if (first == NULL)
        ret_taken->now = timer_queue->store.seen_now;
    /* As in take_admitted, the clocks are read before is_held_up compares them. */
    if (first == NULL || is_held_up(timer_queue))
        return NULL;
    if (is_short(timer_queue, first, ret_taken))
        return take_series(&reading, first, ret_taken);
    /* Only the heap stores the due time, so it is read before the removal. Detached entries are in this
     * heap. */
    hora_ns due = first->is_detached ? own_heap(timer_queue)->slots[0].due : 0;
    hora__timer_queue_remove(timer_queue, first);
    hora__prefetch(hora__timer_heap_first(own_heap(timer_queue))); /* likely the next to be taken */
    return first->is_detached ? (void *)hora__timer_queue_hand_out(timer_queue, first, due, ret_taken)
                              : taken(timer_queue, first);
}

/* Takes the next due future for a caller that is not a worker, and so passes no struct hora__taken. The timer
 * queue has been shown before, so the only detached entries are timers. A timer that is due ends here without
 * running, because the caller cannot run it. No ticket begins. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct hora__taken timer = {.run = NULL};
    void *item;
    do {
        item = timer_queue->admission != NULL ? take_admitted(timer_queue, false, &timer)
                                              : take(queue, &timer, wakes);
    } while (item == &timer);
    return item;
}

/* Removes the first entry, due or not: an entry that waits for admission comes before all others. A detached
 * task or timer is copied to *ret_taken. See struct hora__work_kind. */
static void *take_first(hora_queue *queue, struct hora__taken *ret_taken)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct reading reading = {.timer_queue = timer_queue};
    struct hora__entry *first = hora__timer_queue_first_waiting(timer_queue);
    if (first == NULL)
        first = first_of(timer_queue, &reading);
    if (first == NULL && timer_heap(timer_queue)->size > 0)
        first = entry_by_due(hora__timer_heap_first(timer_heap(timer_queue)));
    if (first == NULL)
        return NULL;
    hora_ns due = first->is_detached ? hora__timer_queue_due(queue, first) : 0;
    hora__timer_queue_remove(timer_queue, first);
    return first->is_detached ? (void *)hora__timer_queue_hand_out(timer_queue, first, due, ret_taken)
                              : release(timer_queue, first);
}

/* Returns the entry in the last slot of a heap, whose removal moves no other slot; NULL: the heap is
 * empty. */
static struct hora__entry *last_of(const struct hora__timer_heap *timers)
{
    assert(timers->size >= 0);
    return timers->size > 0 ? entry_by_due(hora__slot_node(timers->slots[timers->size - 1])) : NULL;
}

/* Removes any one entry, the cheapest; NULL: the queue is empty. There are no detached tasks: the queue has
 * been shown. For a timer the address that is returned only says that there was one. See struct
 * hora__queue_kind. */
static void *drain(hora_queue *queue)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    struct hora__entry *last = NULL;
    hora__timer_store_gather(&timer_queue->store);
    for (int i = 0; i < HEAPS && last == NULL; i++) {
        last = last_of(&timer_queue->lines[i].exact);
        if (last == NULL)
            last = last_of(&timer_queue->lines[i].lax);
    }
    if (last == NULL)
        last = hora__timer_queue_first_waiting(timer_queue);
    if (last == NULL)
        return NULL;
    hora__timer_queue_remove(timer_queue, last);
    return last->is_timer ? (void *)hora__timer_queue_release_detached(timer_queue, last)
                          : release(timer_queue, last);
}

/* A scheduled future knows its entry. The heap, or the admission queue, says whether the entry is in it. */
struct hora__entry *hora__timer_queue_find(hora_queue *queue, const hora_future *future)
{
    assert(hora__mutex_held(&queue->object.lock));
    if (future->kind != HORA__FUTURE_SCHEDULED)
        return hora__timer_queue_find_foreign(timer_queue_of(queue), future);
    const struct hora__scheduled *scheduled = (const struct hora__scheduled *)future;
    if (scheduled->queue != queue)
        return NULL;
    if (scheduled->entry.in_admission)
        return hora__timer_queue_find_waiting(timer_queue_of(queue), future);
    struct hora__timer_heap *heap = heap_of(timer_queue_of(queue), &scheduled->entry);
    if (!hora__timer_heap_holds(heap, &scheduled->entry.by_due))
        return NULL;
    return entry_by_due(hora__slot_node(heap->slots[scheduled->entry.by_due.index]));
}

/* Returns whether a future is queued, and removes one entry of it if `remove`. The caller has absorbed the
 * lanes. See struct hora__queue_kind. */
static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(item != NULL);
    struct hora__entry *entry = hora__timer_queue_find(queue, item);
    if (entry != NULL && remove) {
        hora__timer_queue_remove(timer_queue_of(queue), entry);
        (void)release(timer_queue_of(queue), entry);
    }
    return entry != NULL;
}

/* ---- copying in order ---- */

/* is_before of struct hora__selection, with a struct reading as context. */
static bool entry_is_before(const void *a, const void *b, void *context)
{
    return is_before(context, a, b);
}

/* Offers an entry to the selection. Users do not see timers. */
static void select_entry(struct hora__entry *entry, void *arg)
{
    if (!entry->is_timer)
        hora__selection_add(arg, entry);
}

/* Writes the futures of the first `max` entries, in the order in which they are due. See struct
 * hora__queue_kind. */
static void copy(hora_queue *queue, void **items, int max)
{
    assert(max >= 1);
    assert(hora__mutex_held(&queue->object.lock));
    struct reading reading = {.timer_queue = timer_queue_of(queue)};
    struct hora__selection selection = {entry_is_before, &reading, .items = items, .max = max};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(queue, (enum hora__timeline)i, select_entry, &selection);
    int count = hora__selection_sort(&selection);
    for (int i = 0; i < count; i++)
        items[i] = hora__entry_future(items[i]);
}

/* Returns the first future that users see; NULL: there is none. If the first entry is a timer, the first
 * other entry has to be searched for. */
static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct reading reading = {.timer_queue = timer_queue_of(queue)};
    struct hora__entry *first = hora__timer_queue_first_waiting(timer_queue_of(queue));
    if (first == NULL)
        first = first_of(timer_queue_of(queue), &reading);
    if (first != NULL && !first->is_timer)
        return hora__entry_future(first);
    void *first_shown = NULL;
    copy(queue, &first_shown, 1);
    return first_shown;
}

/* ---- waiting ---- */

/* Lowers *until to the time at which the first entry of a heap must be taken, and sets *element to its
 * number. */
static void limit(struct reading *reading, enum hora__timeline line, const struct hora__timer_heap *timers,
                  hora_ns *until, uint64_t *element)
{
    assert(until != NULL && element != NULL);
    if (timers->size == 0)
        return;
    hora_ns due = translate(reading, line, timers->slots[0].due);
    if (due < *until) {
        *until = due;
        *element = hora__slot_node(timers->slots[0])->sequence;
    }
}

/* Returns when the first entry must be taken, by the own clock, with *ret_element its number; HORA_FOREVER:
 * no worker need wake up for an entry. See struct hora__queue_kind. */
static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    hora_ns until = HORA_FOREVER;
    *ret_element = 0;
    /* No entry can be taken now. The last worker that notifies the observer serves the queue afterwards. */
    if (timer_queue->notifiers > 0)
        return until;
    const struct hora__timer_heap *only = only_heap(timer_queue);
    /* All entries are in one heap, so no time has to be translated. */
    if (only != NULL && only->size > 0) {
        *ret_element = hora__slot_node(only->slots[0])->sequence;
        return timer_queue->admission == NULL
                   ? only->slots[0].due
                   : hora__timer_queue_next_admission(timer_queue, only->slots[0].due, ret_element);
    }
    struct reading reading = {.timer_queue = timer_queue};
    for (int i = 0; i < LINES; i++) {
        limit(&reading, (enum hora__timeline)i, &timer_queue->lines[i].exact, &until, ret_element);
        limit(&reading, (enum hora__timeline)i, &timer_queue->lines[i].latest, &until, ret_element);
    }
    if (timer_queue->admission == NULL)
        return until;
    if (!hora__ticket_waits(&timer_queue->timer_ticket)) /* else it is due */
        limit(&reading, timer_queue->own, &timer_queue->lines[TIMERS_WITH_ADMISSION].exact, &until,
              ret_element);
    return hora__timer_queue_next_admission(timer_queue, until, ret_element);
}

/* Returns when the second entry is due, for the standby; HORA_FOREVER if that is not known without effort:
 * with admission, or with more than one heap in use. See struct hora__work_kind. */
static hora_ns second_due(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct timer_queue *timer_queue = timer_queue_of(queue);
    const struct hora__timer_heap *only = timer_queue->admission == NULL ? only_heap(timer_queue) : NULL;
    hora_ns second = only != NULL ? hora__timer_heap_second_due(only) : HORA_FOREVER;
    return only != NULL && timer_queue->store.far.first < second ? timer_queue->store.far.first : second;
}

/* ---- making ---- */

/* Frees the timer queue. It is empty, and its last reference is gone. */
static void destroy(hora_queue *queue)
{
    struct timer_queue *timer_queue = timer_queue_of(queue);
    assert(timer_queue->base.queue.size == 0 && timer_queue->hidden == 0);
    for (int i = 0; i < timer_queue->store.lanes->count; i++)
        hora__timer_queue_give_back(timer_queue, &timer_queue->store.lanes->lanes[i]);
    hora__timer_store_destroy(&timer_queue->store);
    for (int i = 0; i < HEAPS; i++) {
        assert(timer_queue->lines[i].exact.size == 0 && timer_queue->lines[i].lax.size == 0);
        assert(timer_queue->lines[i].exact.reserved == 0 && timer_queue->lines[i].lax.reserved == 0);
        hora__timer_heap_free(&timer_queue->lines[i].exact);
        hora__timer_heap_free(&timer_queue->lines[i].lax);
        hora__timer_heap_free(&timer_queue->lines[i].latest);
    }
    hora__zones_forget(&timer_queue->base.queue);
    if (timer_queue->admission != NULL)
        hora__admission_queue_destroy(timer_queue->admission);
    hora__free(timer_queue);
}

/* Returns how many entries users do not see. See struct hora__queue_behaviour. */
static int hidden(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    return timer_queue_of(queue)->hidden;
}

static const struct hora__queue_inbox inbox = {
    .collect = hora__timer_queue_absorb, .seal = seal, .is_free = is_free};

static const struct hora__queue_kind timer_queue_kind = {
    .prepare = hora__timer_queue_prepare,
    .discard = hora__timer_queue_discard,
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

static const struct hora__work_kind work_kind = {
    .behaviour = {.serve = hora__work_serve,
                  .take = hora__work_take,
                  .close = hora__work_close,
                  .hidden = hidden,
                  .leave = leave},
    .offer = hora__work_put,
    .take = take,
    .take_first = take_first,
    .expect = expect,
    .second_due = second_due,
    .visit = hora__work_visit_few,
};

bool hora__queue_is_timer_queue(const hora_queue *queue)
{
    return queue->kind == &timer_queue_kind;
}

/* The timer store is set up before the queue's lock, to which it keeps a pointer: the pointer stays valid,
 * and nothing uses the lock before. */
int hora__timer_queue_new(const hora_clock *clock, hora_queue **ret_queue)
{
    assert(ret_queue != NULL);
    hora_queue_options options = HORA_INIT(hora_queue_options);
    options.clock = clock;
    struct timer_queue *timer_queue = hora__alloc(1, sizeof *timer_queue);
    if (timer_queue == NULL)
        return HORA_ENOMEM;
    hora__list_init(&timer_queue->foreign_futures);
    hora__list_init(&timer_queue->runs);
    hora__list_init(&timer_queue->stoppers);
    hora__list_init(&timer_queue->zones);
    hora__list_init(&timer_queue->zoned);
    hora__list_init(&timer_queue->other_zoned);
    timer_queue->own = hora__clock_timeline(clock);
    timer_queue->timer_line = (uint8_t)timer_queue->own;
    int error = hora__timer_store_init(
        &timer_queue->store, &(struct hora__timer_store_options){.clock = clock,
                                                                 .lock = &timer_queue->base.queue.object.lock,
                                                                 .heap = own_heap(timer_queue),
                                                                 .lanes = HORA__LANES_MOST,
                                                                 .least = sizeof(struct hora__detached)});
    if (error == 0) {
        error = hora__work_source_init(&timer_queue->base, &timer_queue_kind, &work_kind, HORA_UNBOUNDED,
                                       &options);
        if (error < 0)
            hora__timer_store_destroy(&timer_queue->store);
    }
    if (error < 0) {
        hora__free(timer_queue);
        return error;
    }
    /* Each lane has a reference, on behalf of the futures that are inserted by it. */
    for (int i = 0; i < timer_queue->store.lanes->count; i++)
        hora__object_ref(&timer_queue->base.queue.object);
    *ret_queue = &timer_queue->base.queue;
    return 0;
}
