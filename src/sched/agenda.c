/* SPDX-License-Identifier: Apache-2.0 */
/* agenda.c - a kind of queue, ordered by time
 *
 * How it works      For each timeline there is a heap of the entries without slack, and for those with slack two: by
 *                   the time from which they can be taken, and by the time at which they must be. Whoever waits, waits
 *                   for the first that must be taken, and when it is awake everything that can be taken is. So without
 *                   slack no wake-up is saved, and none is late. Times of different lines are compared by how far off
 *                   they are now: a time of another line is translated to the agenda's own clock. That holds until the
 *                   clocks part; then who waits is woken, and looks again.
 * Places            An entry of a series keeps its place in the heap's memory while it is out, so that it can always come back.
 * Guests            Futures from elsewhere may be here several times. They are few and due at once; to find one, their
 *                   list is searched.
 * Detached tasks    See agenda_detached.c. If there are very many without a future, they wait in far batches (timer/store.h), from which they come
 *                   in time; a thread that looks at more than the first gathers them.
 * Invariants        I1 base.size is the number of entries in the heaps by due time, in far batches and in the
 *                      admission queue.
 *                   I2 an entry is in `exact` if its slack is 0, else in `lax` and in `latest`, on its own line; or in
 *                      the admission queue.
 *                   I3 sequence numbers are unique and given at the first insertion: so among equals a series keeps its place.
 *                   I4 lax and latest have the same size, capacity and kept places.
 *                   I5 an entry that is moved is no longer what the leader sleeps for: so if it is moved ahead, the leader
 *                      is woken.
 *                   I6 an entry in a chain is in a heap or SWEPT: so it does not run, and the chain may use memory of that.
 *                   I7 what is in far batches leaves after the first of its heap, which is not empty then. */
#include "sched/agenda_inside.h"

#include <assert.h>
#include <stddef.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/ns.h"
#include "sched/detached.h"
#include "sched/scheduled.h"
#include "sched/selection.h"
#include "sched/zones.h"
#include "sync/clock.h"
#include "sys/alloc.h"

/* Of an entry with slack: that has a course. */
static struct hora__course *course_of(struct hora__entry *entry)
{
    assert(entry->is_lax);
    return hora__scheduled_of_entry(entry)->course;
}

static struct hora__timer_heap *heap_of(struct agenda *agenda, const struct hora__entry *entry)
{
    struct line *line = &agenda->lines[entry->line];
    return entry->is_lax ? &line->lax : &line->exact; /* I2 */
}

hora_ns hora__agenda_now(const hora_queue *queue, enum hora__timeline line)
{
    return hora_clock_now(hora__clock_line(queue->object.clock, line));
}

/* ---- in and out ---- */

void hora__agenda_push(struct agenda *agenda, struct hora__entry *entry, hora_ns due)
{
    if (entry->is_detached && !entry->is_timer)
        hora__timer_heap_push_untracked(own_heap(agenda), &entry->by_due, due);
    else
        hora__timer_heap_push(heap_of(agenda, entry), &entry->by_due, due);
    if (!entry->is_lax)
        return;
    struct hora__course *course = course_of(entry);
    course->by_latest.sequence = entry->by_due.sequence;
    hora__timer_heap_push(&agenda->lines[entry->line].latest, &course->by_latest,
                          hora__ns_add(due, course->rules->slack));
}

void hora__agenda_pull(struct agenda *agenda, struct hora__entry *entry)
{
    hora__timer_heap_remove(heap_of(agenda, entry), &entry->by_due);
    if (agenda->store.far.size > 0)
        hora__timer_store_follow(&agenda->store);
    if (entry->is_lax)
        hora__timer_heap_remove(&agenda->lines[entry->line].latest, &course_of(entry)->by_latest);
}

void hora__agenda_insert(struct agenda *agenda, struct hora__entry *entry, hora_ns due)
{
    entry->place = HORA__WAITS;
    if (entry->by_due.sequence == 0)
        entry->by_due.sequence = hora__lanes_number(agenda->store.lanes); /* I3 */
    else if (entry->by_due.sequence == agenda->base.queue.leader_element && !HORA__FAULT(AGENDA_MOVE_UNSEEN))
        agenda->base.queue.leader_element = 0; /* I5 */
    hora__agenda_push(agenda, entry, due);
    hora__agenda_count(agenda, entry, 1); /* I1 */
}

void hora__agenda_remove(struct agenda *agenda, struct hora__entry *entry)
{
    entry->place = HORA__OUT;
    if (entry->in_admission)
        hora__agenda_leave_admission(agenda, entry);
    else
        hora__agenda_pull(agenda, entry);
    hora__agenda_count(agenda, entry, -1);
    if (entry->line == ADMITTED_TIMERS)
        hora__agenda_offer_timer(agenda);
}

void hora__agenda_keep(struct agenda *agenda, struct hora__entry *entry, bool kept)
{
    if (entry->kept == kept)
        return;
    entry->kept = kept;
    hora__timer_heap_reserve(heap_of(agenda, entry), kept ? 1 : -1);
    if (entry->is_lax)
        hora__timer_heap_reserve(&agenda->lines[entry->line].latest, kept ? 1 : -1); /* I4 */
}

void hora__agenda_save_memory(struct agenda *agenda, const struct hora__entry *entry)
{
    hora__timer_heap_save_room(heap_of(agenda, entry));
    if (entry->is_lax)
        hora__timer_heap_save_room(&agenda->lines[entry->line].latest);
}

hora_ns hora__agenda_due(hora_queue *queue, const struct hora__entry *entry)
{
    const struct hora__timer_heap *heap = heap_of(agenda_of(queue), entry);
    return entry->in_admission ? hora__agenda_waiting_due(entry) : hora__timer_heap_due(heap, &entry->by_due);
}

void hora__agenda_put_back(hora_queue *queue, struct hora__entry *entry, hora_ns due)
{
    struct agenda *agenda = agenda_of(queue);
    assert(entry->kept && entry->by_due.sequence != 0);
    hora__agenda_keep(agenda, entry, false);
    if (entry->is_lax) {
        hora__agenda_insert(agenda, entry, due);
        return;
    }
    /* As hora__agenda_insert. */
    entry->place = HORA__WAITS;
    if (entry->by_due.sequence == queue->leader_element && !HORA__FAULT(AGENDA_MOVE_UNSEEN))
        queue->leader_element = 0; /* I5 */
    hora__timer_heap_push(&agenda->lines[entry->line].exact, &entry->by_due, due);
    hora__agenda_count(agenda, entry, 1); /* I1 */
}

void hora__agenda_give_up(hora_queue *queue, struct hora__entry *entry)
{
    if (!HORA__FAULT(AGENDA_KEEPS_PLACE))
        hora__agenda_keep(agenda_of(queue), entry, false);
    hora__agenda_save_memory(agenda_of(queue), entry);
}

/* The entry leaves for good: if it was made here, it ends here. Returns its future. */
static hora_future *release(struct agenda *agenda, struct hora__entry *entry)
{
    hora_future *future = hora__entry_future(entry);
    hora__agenda_save_memory(agenda, entry);
    if (entry->is_guest) {
        hora__list_remove(&hora__guest_of(entry)->link);
        hora__agenda_free_guest(agenda, hora__guest_of(entry));
    }
    return future;
}

/* ---- the order ---- */

/* The clocks as they are read for one decision; each only if it is needed. */
struct reading {
    struct agenda *agenda;
    hora_ns now[LINES];
    bool is_read[LINES];
};

static hora_ns now_of(struct reading *reading, enum hora__timeline line)
{
    if (!reading->is_read[line]) {
        const hora_queue *queue = &reading->agenda->base.queue;
        reading->now[line] =
            line == reading->agenda->own ? hora_clock_now(queue->object.clock) : hora__agenda_now(queue, line);
        reading->is_read[line] = true;
    }
    return reading->now[line];
}

/* A time of a line, on the agenda's own clock. */
static hora_ns translate(struct reading *reading, enum hora__timeline line, hora_ns time)
{
    enum hora__timeline own = reading->agenda->own;
    if (line == own || time == HORA_FOREVER)
        return time;
    hora_ns now =
        now_of(reading, line); /* first: what passes between the two readings makes the sum too early, not too late */
    return hora__ns_add(now_of(reading, own), hora__ns_sub(time, now));
}

/* When an entry can be taken, by its own line's clock. */
static hora_ns due_of(const struct reading *reading, const struct hora__entry *entry)
{
    return hora__agenda_due(&reading->agenda->base.queue, entry);
}

/* Whether a comes before b, each on its own line. */
static bool is_before(struct reading *reading, const struct hora__entry *a, const struct hora__entry *b)
{
    hora_ns due_a = translate(reading, (enum hora__timeline)a->line, due_of(reading, a));
    hora_ns due_b = translate(reading, (enum hora__timeline)b->line, due_of(reading, b));
    return due_a != due_b ? due_a < due_b : a->by_due.sequence < b->by_due.sequence;
}

static struct hora__entry *earlier(struct reading *reading, struct hora__entry *best, struct hora__timer_node *timer)
{
    if (timer == NULL)
        return best;
    struct hora__entry *entry = entry_by_due(timer);
    return best == NULL || is_before(reading, entry, best) ? entry : best;
}

/* As a rule all entries are precise and by the agenda's own clock: their heap; NULL: not all of them are. */
static const struct hora__timer_heap *only_heap(const struct agenda *agenda)
{
    const struct hora__timer_heap *heap = &agenda->lines[agenda->own].exact;
    return heap->size + agenda->store.far.size == agenda->base.queue.size ? heap : NULL; /* I1, I7 */
}

/* The first entry of all. */
static struct hora__entry *first_of(struct agenda *agenda, struct reading *reading)
{
    const struct hora__timer_heap *only = only_heap(agenda);
    if (only != NULL)
        return only->size > 0 ? entry_by_due(hora__slot_node(only->slots[0])) : NULL;
    struct hora__entry *first = NULL;
    for (int i = 0; i < LINES; i++) {
        first = earlier(reading, first, hora__timer_heap_first(&agenda->lines[i].exact));
        first = earlier(reading, first, hora__timer_heap_first(&agenda->lines[i].lax));
    }
    return first;
}

static bool is_due(struct reading *reading, const struct hora__entry *entry)
{
    hora_ns grace = HORA__FAULT(AGENDA_GIVES_EARLY) ? 1 : 0;
    hora_ns due = due_of(reading, entry);
    return due != HORA_FOREVER && hora__ns_sub(due, grace) <= now_of(reading, (enum hora__timeline)entry->line);
}

/* ---- the kind ---- */

/* Whether a future of a scheduler can come in: it belongs to this one, which does not have it already, nor a worker. */
static bool is_out(const hora_queue *queue, const struct hora__scheduled *scheduled)
{
    return scheduled->queue == queue && scheduled->entry.place == HORA__OUT && !scheduled->entry.kept;
}

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    (void)wakes;
    struct agenda *agenda = agenda_of(queue);
    struct hora__scheduled *scheduled = hora__scheduled_of(put->item);
    struct hora__guest *guest = put->memory;
    struct hora__entry *entry = scheduled != NULL ? &scheduled->entry : &guest->entry;
    if (scheduled != NULL && !is_out(queue, scheduled))
        return HORA_EINVAL;
    hora__agenda_absorb(queue); /* perhaps that is why this comes by the long way: there was no room */
    if (queue->size == HORA_UNBOUNDED)
        return HORA_EFULL;
    int error = hora__timer_heap_make_room(heap_of(agenda, entry));
    if (error == 0 && entry->is_lax)
        error = hora__timer_heap_make_room(&agenda->lines[entry->line].latest);
    if (error < 0)
        return error;
    if (scheduled != NULL)
        hora__scheduled_check_rules(scheduled);
    hora__agenda_insert(agenda, entry,
                        scheduled != NULL ? hora__scheduled_due(scheduled)
                                          : hora__agenda_now(queue, (enum hora__timeline)entry->line));
    if (agenda->store.lacking > 0)
        hora__timer_store_promise(&agenda->store);
    if (scheduled == NULL) {
        hora__list_add_last(&agenda->guests, &guest->link);
        put->memory = NULL;
    }
    return 0;
}

/* Whether a change of the clocks has to be taken in first: the leader notices it, and so does whoever becomes leader. */
static bool is_held_up(const struct agenda *agenda)
{
    const hora_queue *queue = &agenda->base.queue;
    return agenda->base.watched != NULL && (agenda->telling || hora__clock_was_set(queue->object.clock, &agenda->seen));
}

/* Read the clock, and then absorb the lanes: from then on nothing comes in by them that is due by that reading. */
static void look(struct agenda *agenda, struct reading *reading)
{
    hora_ns now = now_of(reading, agenda->own);
    bool is_steady = agenda->own != HORA__WALL; /* that one may be set back */
    agenda->store.seen_now = is_steady ? now : INT64_MIN;
    if (!HORA__FAULT(SHARD_FLOOR_UNSAID))
        hora__timer_store_set_floor(&agenda->store);
    (void)hora__agenda_take_all_in(agenda);
}

static inline struct hora__entry *first_due(struct reading *reading)
{
    struct agenda *agenda = reading->agenda;
    const struct hora__timer_heap *only = only_heap(agenda);
    if (only != NULL && only->size > 0 && only->slots[0].due <= agenda->store.seen_now)
        return entry_by_due(hora__slot_node(only->slots[0]));
    look(agenda, reading);
    only = only_heap(agenda);
    if (only != NULL && !HORA__FAULT(AGENDA_GIVES_EARLY)) { /* as first_of and is_due */
        bool is_due =
            only->size > 0 && only->slots[0].due <= now_of(reading, agenda->own) && only->slots[0].due != HORA_FOREVER;
        struct hora__entry *first = is_due ? entry_by_due(hora__slot_node(only->slots[0])) : NULL;
        return first;
    }
    struct hora__entry *first = first_of(agenda, reading);
    return first != NULL && is_due(reading, first) ? first : NULL;
}

struct hora__entry *hora__agenda_first_due(struct agenda *agenda)
{
    struct reading reading = {.agenda = agenda};
    return first_due(&reading);
}

/* Notes in a task that is being taken what the timer queue has seen of clocks and zones so far. */
static inline void note_seen(const struct agenda *agenda, struct hora__scheduled *scheduled)
{
    if (scheduled->course == NULL)
        return; /* its time does not depend on them */
    scheduled->course->set_backs = agenda->set_backs;
    scheduled->course->refreshes = agenda->refreshes;
}

/* It has been removed. */
static inline hora_future *taken(struct agenda *agenda, struct hora__entry *entry)
{
    entry->place = HORA__TAKEN;
    if (!entry->is_guest)
        note_seen(agenda, hora__scheduled_of_entry(entry));
    if (entry->comes_back)
        hora__agenda_keep(agenda, entry, true);
    return release(agenda, entry);
}

hora_future *hora__agenda_take_entry(struct agenda *agenda, struct hora__entry *entry)
{
    hora__agenda_remove(agenda, entry);
    return taken(agenda, entry);
}

static void *take_admitted(struct agenda *agenda, bool begins, struct hora__cell *ret_cell)
{
    hora__agenda_feed(agenda); /* first: tasks that a set clock has made due begin only after that is told */
    return is_held_up(agenda) ? NULL : hora__agenda_take_admitted(agenda, begins, ret_cell);
}

/* Whether a worker that is on the short way takes the entry of a precise series on the queue's own line: see series.c. */
static bool is_short(const struct agenda *agenda, const struct hora__entry *entry, const struct hora__cell *cell)
{
    return cell->series != NULL && entry->comes_back && !entry->is_lax && entry->line == agenda->own;
}

/* As hora__agenda_take_entry, of such an entry: its place stays promised, so no memory becomes free. The worker begins
 * the run in this visit, if it can. */
static hora_future *take_series(struct reading *reading, struct hora__entry *entry, const struct hora__cell *cell)
{
    struct agenda *agenda = reading->agenda;
    struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    struct hora__timer_heap *heap = own_heap(agenda);
    assert(!entry->kept && !entry->in_admission && scheduled->course != NULL);
    hora__timer_heap_remove(heap, &entry->by_due);
    if (agenda->store.far.size > 0)
        hora__timer_store_follow(&agenda->store);
    hora__agenda_count(agenda, entry, -1);
    hora__timer_heap_reserve(heap, 1);
    entry->kept = true;
    entry->place = HORA__TAKEN;
    scheduled->course->set_backs = agenda->set_backs;
    scheduled->course->refreshes = agenda->refreshes;
    hora__series_take_locked(cell->series, scheduled, now_of(reading, agenda->own));
    return &scheduled->future;
}

static void *take(hora_queue *queue, struct hora__cell *ret_cell, struct hora__wakes *wakes)
{
    struct agenda *agenda = agenda_of(queue);
    struct reading reading = {.agenda = agenda};
    if (hora__cell_has_timer(ret_cell))
        hora__agenda_ran(queue, ret_cell, wakes);
    if (hora__cell_owes_return(ret_cell) &&
        !hora__series_return_locked(ret_cell->series, now_of(&reading, agenda->own)))
        return NULL; /* the worker puts it back first, in the general way */
    if (agenda->admission != NULL)
        return take_admitted(agenda, true, ret_cell);
    struct hora__entry *first = first_due(&reading);
    if (first == NULL)
        ret_cell->now =
            agenda->store.seen_now; /* for a worker that is about to sleep; HORA_NEVER: the clock may be set back */
    if (first == NULL || is_held_up(agenda))
        return NULL;
    if (is_short(agenda, first, ret_cell))
        return take_series(&reading, first, ret_cell);
    hora_ns due = first->is_detached ? own_heap(agenda)->slots[0].due : 0;
    hora__agenda_remove(agenda, first);
    hora__prefetch(hora__timer_heap_first(own_heap(agenda))); /* likely the next to be taken */
    return first->is_detached ? (void *)hora__agenda_hand_out(agenda, first, due, ret_cell)
                                          : taken(agenda, first);
}

/* Who has no place for a task has had the agenda shown, so there is none but timers, which end here: what is taken by hand is lost to
 * the scheduler. Nor is it a worker, so nothing begins. */
static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    struct agenda *agenda = agenda_of(queue);
    struct hora__cell timer = {.run = NULL};
    void *item;
    do {
        item = agenda->admission != NULL ? take_admitted(agenda, false, &timer) : take(queue, &timer, wakes);
    } while (item == &timer);
    return item;
}

static void *take_first(hora_queue *queue, struct hora__cell *ret_cell)
{
    struct agenda *agenda = agenda_of(queue);
    struct reading reading = {.agenda = agenda};
    struct hora__entry *first = hora__agenda_first_waiting(agenda);
    if (first == NULL)
        first = first_of(agenda, &reading);
    if (first == NULL && timer_heap(agenda)->size > 0)
        first = entry_by_due(hora__timer_heap_first(timer_heap(agenda)));
    if (first == NULL)
        return NULL;
    hora_ns due = first->is_detached ? hora__agenda_due(queue, first) : 0;
    hora__agenda_remove(agenda, first);
    return first->is_detached ? (void *)hora__agenda_hand_out(agenda, first, due, ret_cell) : release(agenda, first);
}

static struct hora__entry *last_of(const struct hora__timer_heap *timers)
{
    return timers->size > 0 ? entry_by_due(hora__slot_node(timers->slots[timers->size - 1])) : NULL;
}

static void *strip(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    struct hora__entry *last = NULL;
    hora__timer_store_gather(&agenda->store);
    for (int i = 0; i < HEAPS && last == NULL; i++) {
        last = last_of(&agenda->lines[i].exact);
        if (last == NULL)
            last = last_of(&agenda->lines[i].lax);
    }
    if (last == NULL)
        last = hora__agenda_first_waiting(agenda);
    if (last == NULL)
        return NULL;
    hora__agenda_remove(agenda, last);
    return last->is_timer ? (void *)hora__agenda_release_detached(agenda, last) : release(agenda, last);
}

struct hora__entry *hora__agenda_find(hora_queue *queue, const hora_future *future)
{
    if (future->kind != HORA__FUTURE_SCHEDULED)
        return hora__agenda_find_guest(agenda_of(queue), future);
    const struct hora__scheduled *scheduled = (const struct hora__scheduled *)future;
    if (scheduled->queue != queue)
        return NULL;
    if (scheduled->entry.in_admission)
        return hora__agenda_find_waiting(agenda_of(queue), future);
    struct hora__timer_heap *heap = heap_of(agenda_of(queue), &scheduled->entry);
    if (!hora__timer_heap_holds(heap, &scheduled->entry.by_due))
        return NULL;
    return entry_by_due(hora__slot_node(heap->slots[scheduled->entry.by_due.index]));
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    struct hora__entry *entry = hora__agenda_find(queue, item);
    if (entry != NULL && remove) {
        hora__agenda_remove(agenda_of(queue), entry);
        (void)release(agenda_of(queue), entry);
    }
    return entry != NULL;
}

/* ---- copying in order ---- */

static bool entry_is_before(const void *a, const void *b, void *context)
{
    return is_before(context, a, b);
}

static void select_entry(struct hora__entry *entry, void *arg)
{
    if (!entry->is_timer)
        hora__selection_add(arg, entry);
}

static void copy(hora_queue *queue, void **items, int max)
{
    struct reading reading = {.agenda = agenda_of(queue)};
    struct hora__selection selection = {entry_is_before, &reading, .items = items, .max = max};
    for (int i = 0; i < LINES; i++)
        hora__agenda_each(queue, (enum hora__timeline)i, select_entry, &selection);
    int count = hora__selection_sort(&selection);
    for (int i = 0; i < count; i++)
        items[i] = hora__entry_future(items[i]);
}

static void *peek(hora_queue *queue)
{
    struct reading reading = {.agenda = agenda_of(queue)};
    struct hora__entry *first = hora__agenda_first_waiting(agenda_of(queue));
    if (first == NULL)
        first = first_of(agenda_of(queue), &reading);
    if (first != NULL && !first->is_timer)
        return hora__entry_future(first);
    void *first_shown = NULL;
    copy(queue, &first_shown, 1);
    return first_shown;
}

/* ---- waiting ---- */

/* When the first of a heap must be taken, unless `until` is earlier. */
static void limit(struct reading *reading, enum hora__timeline line, const struct hora__timer_heap *timers,
                  hora_ns *until, uint64_t *element)
{
    if (timers->size == 0)
        return;
    hora_ns due = translate(reading, line, timers->slots[0].due);
    if (due < *until) {
        *until = due;
        *element = hora__slot_node(timers->slots[0])->sequence;
    }
}

static hora_ns next_due(hora_queue *queue, uint64_t *ret_element)
{
    struct agenda *agenda = agenda_of(queue);
    hora_ns until = HORA_FOREVER;
    *ret_element = 0;
    if (agenda->telling)
        return until;
    const struct hora__timer_heap *only = only_heap(agenda);
    if (only != NULL && only->size > 0) {
        *ret_element = hora__slot_node(only->slots[0])->sequence;
        return agenda->admission == NULL ? only->slots[0].due
                                         : hora__agenda_next_admission(agenda, only->slots[0].due, ret_element);
    }
    struct reading reading = {.agenda = agenda};
    for (int i = 0; i < LINES; i++) {
        limit(&reading, (enum hora__timeline)i, &agenda->lines[i].exact, &until, ret_element);
        limit(&reading, (enum hora__timeline)i, &agenda->lines[i].latest, &until, ret_element);
    }
    if (agenda->admission == NULL)
        return until;
    if (!hora__ticket_waits(&agenda->timer_ticket)) /* else it is due */
        limit(&reading, agenda->own, &agenda->lines[ADMITTED_TIMERS].exact, &until, ret_element);
    return hora__agenda_next_admission(agenda, until, ret_element);
}

static hora_ns second_due(hora_queue *queue)
{
    const struct agenda *agenda = agenda_of(queue);
    const struct hora__timer_heap *only = agenda->admission == NULL ? only_heap(agenda) : NULL;
    hora_ns second = only != NULL ? hora__timer_heap_second_due(only) : HORA_FOREVER;
    return only != NULL && agenda->store.far.first < second ? agenda->store.far.first : second;
}

/* ---- making ---- */

static void destroy(hora_queue *queue)
{
    struct agenda *agenda = agenda_of(queue);
    for (int i = 0; i < agenda->store.lanes->count; i++)
        hora__agenda_give_back(agenda, &agenda->store.lanes->lanes[i]);
    hora__timer_store_destroy(&agenda->store);
    for (int i = 0; i < HEAPS; i++) {
        assert(agenda->lines[i].exact.size == 0 && agenda->lines[i].lax.size == 0);
        assert(agenda->lines[i].exact.reserved == 0 && agenda->lines[i].lax.reserved == 0);
        hora__free(agenda->lines[i].exact.slots);
        hora__free(agenda->lines[i].lax.slots);
        hora__free(agenda->lines[i].latest.slots);
    }
    hora__zones_forget(&agenda->base.queue);
    if (agenda->admission != NULL)
        hora__admission_queue_destroy(agenda->admission);
    hora__free(agenda);
}

static int hidden(hora_queue *queue)
{
    return agenda_of(queue)->hidden;
}

static const struct hora__queue_inbox inbox = {
    .collect = hora__agenda_absorb, .seal = hora__agenda_seal, .is_free = hora__agenda_is_free};

static const struct hora__queue_kind agenda_kind = {
    .prepare = hora__agenda_prepare,
    .discard = hora__agenda_discard,
    .push = push,
    .pop = pop,
    .peek = peek,
    .strip = strip,
    .find = find,
    .copy = copy,
    .next_due = next_due,
    .destroy = destroy,
    .inbox = &inbox,
    .inserts_always = true,
};

static const struct hora__work_kind work_kind = {
    .behaviour = {.settle = hora__work_settle,
                  .take = hora__work_take,
                  .close = hora__work_close,
                  .hidden = hidden,
                  .leave = hora__agenda_leave},
    .offer = hora__work_put,
    .take = take,
    .take_first = take_first,
    .expect = hora__agenda_expect,
    .second_due = second_due,
    .visit = hora__work_visit_few,
};

bool hora__queue_is_agenda(const hora_queue *queue)
{
    return queue->kind == &agenda_kind;
}

int hora__agenda_new(const hora_clock *clock, hora_queue **ret_queue)
{
    hora_queue_options options = HORA_INIT(hora_queue_options);
    options.clock = clock;
    struct agenda *agenda = hora__alloc(1, sizeof *agenda);
    if (agenda == NULL)
        return HORA_ENOMEM;
    hora__list_init(&agenda->guests);
    hora__list_init(&agenda->runs);
    hora__list_init(&agenda->stoppers);
    agenda->own = hora__clock_timeline(clock);
    agenda->timer_line = (uint8_t)agenda->own;
    int error = hora__timer_store_init(&agenda->store,
                                       &(struct hora__timer_store_options){.clock = clock,
                                                                           .lock = &agenda->base.queue.object.lock,
                                                                           .heap = own_heap(agenda),
                                                                           .lanes = HORA__LANES_MOST,
                                                                           .least = sizeof(struct hora__detached)});
    if (error == 0) {
        error = hora__work_source_init(&agenda->base, &agenda_kind, &work_kind, HORA_UNBOUNDED, &options);
        if (error < 0)
            hora__timer_store_destroy(&agenda->store);
    }
    if (error < 0) {
        hora__free(agenda);
        return error;
    }
    for (int i = 0; i < agenda->store.lanes->count; i++)
        hora__object_ref(&agenda->base.queue.object);
    hora__zones_init(&agenda->base.queue);
    *ret_queue = &agenda->base.queue;
    return 0;
}
