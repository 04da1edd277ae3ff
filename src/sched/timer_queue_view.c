/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_view.c - looking at the entries of the timer queue: chains of entries, visiting, picking, views
 *
 * Chains       A thread that picks entries of the timer queue links them into a chain, and must not fail for
 *              lack of memory. So the link of an entry is in its own memory. A future that runs once uses the
 *              memory in which its run is noted later, so it is picked only before its run (timer_queue.c,
 *              I6). A detached task is picked only to be swept, and uses the word that held its function.
 *              Timers are never picked: see timer_queue_detached.c.
 * Views        show entries in the order of their due times, for explain and dump: see timer_queue_view.h.
 *              A selection keeps only the first few, in memory of the caller, so a view allocates nothing. */
#include "sched/timer_queue_view.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/detached.h"
#include "sched/scheduled.h"
#include "sched/timer_queue.h"
#include "sched/timer_queue_internal.h"
#include "sys/alloc.h"

/* ---- the first few of many: struct hora__selection, a binary heap with the last item on top ---- */

/* Returns whether item a comes after item b in the order of the selection. */
static bool comes_later(const struct hora__selection *selection, int a, int b)
{
    assert(a >= 0 && a < selection->max && b >= 0 && b < selection->max);
    return selection->is_before(selection->items[b], selection->items[a], selection->context);
}

static void swap(struct hora__selection *selection, int a, int b)
{
    assert(a >= 0 && a < selection->max && b >= 0 && b < selection->max);
    void *item = selection->items[a];
    selection->items[a] = selection->items[b];
    selection->items[b] = item;
}

/* Restores the heap below `at`, whose item may have to move down. */
static void sift_down(struct hora__selection *selection, int at)
{
    assert(at >= 0);
    for (;;) {
        int latest = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < selection->count; child++)
            if (comes_later(selection, child, latest))
                latest = child;
        if (latest == at)
            return;
        swap(selection, at, latest);
        at = latest;
    }
}

/* Restores the heap above `at`, whose item may have to move up. */
static void sift_up(struct hora__selection *selection, int at)
{
    assert(at < selection->max);
    for (; at > 0 && comes_later(selection, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(selection, at, (at - 1) / 2);
}

/* If the array is full, a new item that comes before the last one kept replaces it. */
void hora__selection_add(struct hora__selection *selection, void *item)
{
    assert(selection->count >= 0 && selection->count <= selection->max && item != NULL);
    if (selection->count < selection->max) {
        selection->items[selection->count] = item;
        sift_up(selection, selection->count++);
    } else if (selection->is_before(item, selection->items[0], selection->context)) {
        selection->items[0] = item;
        sift_down(selection, 0);
    }
}

/* Heap sort: the last item moves to the end of the array, again and again. */
int hora__selection_sort(struct hora__selection *selection)
{
    assert(selection->max >= 1);
    int count = selection->count;
    while (selection->count > 1) {
        swap(selection, 0, --selection->count);
        sift_down(selection, 0);
    }
    return count;
}

/* ---- entries and chains of entries ---- */

static_assert(sizeof(struct hora__entry) == 16, "an entry has no padding");

hora_future *hora__entry_future(struct hora__entry *entry)
{
    assert(!entry->is_detached);
    return entry->is_foreign ? hora__foreign_of(entry)->future : &hora__scheduled_of_entry(entry)->future;
}

/* Returns where the link of an entry is stored; see "Chains" above. */
static struct hora__entry **next_picked(struct hora__entry *entry)
{
    assert(!entry->is_timer); /* its caller may free it at any moment */
    if (entry->is_detached)
        return &hora__detached_of(entry)->next_picked;
    struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    if (scheduled == NULL)
        return &hora__foreign_of(entry)->next_picked;
    return scheduled->series != NULL ? &scheduled->series->next_picked : &scheduled->run.next_picked;
}

#ifndef NDEBUG

/* Returns whether the entry is that of a one-shot future whose run has begun. Such a future is never queued
 * again. */
static bool has_run_once(struct hora__entry *entry)
{
    const struct hora__scheduled *scheduled = hora__scheduled_of_entry(entry);
    return scheduled != NULL && scheduled->series == NULL && scheduled->has_begun;
}

#endif

/* The link of the entry itself stays unset until another one follows. */
static void add_entry(struct hora__entries *entries, struct hora__entry *entry)
{
    assert(!has_run_once(entry)); /* else the link would overwrite the note of its run */
    if (entries->first == NULL)
        entries->first = entry;
    else
        *next_picked(entries->last) = entry;
    entries->last = entry;
}

/* The link of the last entry is not set, so the end is found by comparing with `last`. */
struct hora__entry *hora__entries_next(struct hora__entries *entries)
{
    assert(entries != NULL);
    struct hora__entry *first = entries->first;
    if (first != NULL)
        entries->first = first == entries->last ? NULL : *next_picked(first);
    return first;
}

/* ---- the first entries of a view ---- */

/* Far nodes need not be gathered here: visiting the entries gathers them. */
void hora__timer_queue_view_begin(struct hora__timer_queue_view *view, hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__timer_queue_absorb(queue);
    view->queue = queue;
    view->is_notifying = timer_queue_of(queue)->notifiers > 0;
    for (int i = 0; i < LINES; i++)
        view->now[i] = hora__timer_queue_now(queue, (enum hora__timeline)i);
}

hora_ns hora__timer_queue_view_off(const struct hora__timer_queue_view *view, const struct hora__entry *entry)
{
    assert(view->queue != NULL && entry != NULL);
    return hora__ns_sub(hora__timer_queue_due(view->queue, entry),
                        view->now[hora__entry_line(view->queue, entry)]);
}

/* is_before of struct hora__selection, with a view as context. */
static bool is_before(const void *a, const void *b, void *context)
{
    const struct hora__entry *first = a, *second = b;
    hora_ns first_off = hora__timer_queue_view_off(context, first),
            second_off = hora__timer_queue_view_off(context, second);
    return first_off != second_off ? first_off < second_off
                                   : first->by_due.sequence < second->by_due.sequence;
}

/* ---- counting ---- */

/* Counts the due entries before one entry. */
struct rank {
    const struct hora__timer_queue_view *view;
    const struct hora__entry *entry;
    /* How far off `entry` is. */
    hora_ns off;
    int before;
};

/* Visits one entry, with a struct rank as argument. */
static void count(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    struct rank *rank = arg;
    hora_ns off = hora__timer_queue_view_off(rank->view, entry);
    bool is_before =
        off < rank->off || (off == rank->off && entry->by_due.sequence < rank->entry->by_due.sequence);
    rank->before += off <= 0 && is_before ? 1 : 0;
}

/* All entries are compared with this one; nothing is sorted. */
int hora__timer_queue_view_before(const struct hora__timer_queue_view *view, const struct hora__entry *entry)
{
    assert(hora__mutex_held(&view->queue->object.lock));
    struct rank rank = {.view = view, .entry = entry, .off = hora__timer_queue_view_off(view, entry)};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(view->queue, (enum hora__timeline)i, count, &rank);
    return rank.before;
}

/* ---- the first ones ---- */

/* Searches for the first entries, either those that are due or those that are not. */
struct search {
    const struct hora__timer_queue_view *view;
    /* Which of the two. */
    bool due;
    /* The number of such entries so far. */
    int all;
    struct hora__selection selection;
};

/* Visits one entry, with a struct search as argument. Entries that are never due are left out. */
static void pick(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    struct search *search = arg;
    hora_ns off = hora__timer_queue_view_off(search->view, entry);
    if (off == HORA_FOREVER || (off <= 0) != search->due)
        return;
    search->all++;
    hora__selection_add(&search->selection, entry);
}

/* One pass over all entries; the selection keeps the first `max`. */
int hora__timer_queue_view_first(const struct hora__timer_queue_view *view, bool due,
                                 struct hora__entry **entries, int max, int *ret_all)
{
    assert(hora__mutex_held(&view->queue->object.lock));
    assert(max >= 1);
    struct hora__timer_queue_view own = *view; /* for the comparison, whose context is not const */
    struct search search = {.view = view, .due = due};
    search.selection = (struct hora__selection){is_before, &own, .items = (void **)entries, .max = max};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(view->queue, (enum hora__timeline)i, pick, &search);
    *ret_all = search.all;
    return hora__selection_sort(&search.selection);
}

/* ---- visiting, picking and moving entries ---- */

/* Searches the list: foreign futures are few. */
struct hora__entry *hora__timer_queue_find_foreign(struct timer_queue *timer_queue, const hora_future *future)
{
    assert(hora__mutex_held(&timer_queue->base.queue.object.lock));
    for (struct hora__list *link = timer_queue->foreign_futures.next; link != &timer_queue->foreign_futures;
         link = link->next)
        if (HORA__LIST_ENTRY(link, struct hora__foreign, link)->future == future)
            return &HORA__LIST_ENTRY(link, struct hora__foreign, link)->entry;
    return NULL;
}

void hora__timer_queue_free_foreign(struct timer_queue *timer_queue, struct hora__foreign *foreign)
{
    assert(foreign->entry.is_foreign);
    assert(!foreign->entry.in_admission);
    if (foreign->ticket != NULL)
        hora__admission_queue_unclaim(timer_queue->admission, foreign->ticket, foreign->future);
    hora__free(foreign);
}

/* A scheduled future contains its entry, so it needs no record. With admission, a ticket is claimed for the
 * foreign future here, where memory may still be refused. */
int hora__timer_queue_prepare(hora_queue *queue, struct hora__put *put)
{
    assert(put->item != NULL);
    if (hora__scheduled_of(put->item) != NULL)
        return 0;
    struct hora__admission_queue *admission = timer_queue_of(queue)->admission;
    struct hora__foreign *foreign = hora__alloc(1, sizeof *foreign);
    if (foreign == NULL)
        return HORA_ENOMEM;
    hora__entry_init(&foreign->entry, hora__clock_timeline(queue->object.clock), false, false);
    foreign->entry.is_foreign = true;
    foreign->future = put->item;
    if (admission != NULL &&
        hora__admission_queue_claim(admission, put->item, foreign, &foreign->ticket) < 0) {
        hora__free(foreign);
        return HORA_ENOMEM;
    }
    put->memory = foreign;
    return 0;
}

void hora__timer_queue_discard(hora_queue *queue, struct hora__put *put)
{
    assert(put != NULL);
    if (put->memory != NULL)
        hora__timer_queue_free_foreign(timer_queue_of(queue), put->memory);
    put->memory = NULL;
}

enum hora__timeline hora__entry_line(hora_queue *queue, const struct hora__entry *entry)
{
    assert(entry->line < HEAPS);
    return entry->line == TIMERS_WITH_ADMISSION ? timer_queue_of(queue)->own
                                                : (enum hora__timeline)entry->line;
}

/* Calls `visit` for each entry of a heap, in no order. */
static void visit_heap(const struct hora__timer_heap *timers,
                       void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    assert(timers->size >= 0);
    for (int i = 0; i < timers->size; i++)
        visit(entry_by_due(hora__slot_node(timers->slots[i])), arg);
}

/* Gathering moves the far nodes into the heap first, where they can be visited. */
void hora__timer_queue_each(hora_queue *queue, enum hora__timeline line,
                            void (*visit)(struct hora__entry *entry, void *arg), void *arg)
{
    assert((int)line >= 0 && (int)line < LINES);
    assert(hora__mutex_held(&queue->object.lock));
    hora__timer_store_gather(&timer_queue_of(queue)->store);
    visit_heap(&timer_queue_of(queue)->lines[line].exact, visit, arg);
    visit_heap(&timer_queue_of(queue)->lines[line].lax, visit, arg);
    if (line == timer_queue_of(queue)->own)
        visit_heap(&timer_queue_of(queue)->lines[TIMERS_WITH_ADMISSION].exact, visit, arg);
    hora__timer_queue_each_waiting(timer_queue_of(queue), line, visit, arg);
}

/* The arguments of `mark`. */
struct sweep {
    bool (*visit)(struct hora__entry *entry, void *arg);
    void *arg;
    struct hora__entries *entries;
};

/* Chains an entry if the visitor wants it. */
static void mark(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    const struct sweep *sweep = arg;
    if (sweep->visit(entry, sweep->arg))
        add_entry(sweep->entries, entry);
}

void hora__timer_queue_pick(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg), void *arg,
                            struct hora__entries *ret_entries)
{
    assert(hora__mutex_held(&queue->object.lock));
    *ret_entries = (struct hora__entries){NULL, NULL};
    struct sweep sweep = {visit, arg, ret_entries};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(queue, (enum hora__timeline)i, mark, &sweep);
}

/* All entries are found before the first is removed, since a removal moves other entries of the heap. */
void hora__timer_queue_sweep(hora_queue *queue, bool (*visit)(struct hora__entry *entry, void *arg),
                             void *arg, struct hora__entries *ret_entries)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct timer_queue *timer_queue = timer_queue_of(queue);
    hora__timer_queue_absorb(queue);
    hora__timer_queue_pick(queue, visit, arg, ret_entries);
    struct hora__entries rest = *ret_entries;
    for (struct hora__entry *entry; (entry = hora__entries_next(&rest)) != NULL;) {
        hora__timer_queue_remove(timer_queue, entry);
        entry->stage = HORA__SWEPT;
        if (entry->is_foreign)
            hora__list_remove(&hora__foreign_of(entry)->link); /* no thread can find it any more */
    }
    for (int i = 0; i < LINES; i++) {
        hora__timer_heap_save_room(&timer_queue->lines[i].exact);
        hora__timer_heap_save_room(&timer_queue->lines[i].lax);
        hora__timer_heap_save_room(&timer_queue->lines[i].latest);
    }
}

/* The heaps have room: the removal has just made some. */
void hora__timer_queue_move(hora_queue *queue, struct hora__entry *entry, hora_ns due)
{
    assert(entry->stage == HORA__WAITS);
    assert(hora__mutex_held(&queue->object.lock));
    assert(!entry->is_foreign);
    hora__timer_queue_remove(timer_queue_of(queue), entry);
    hora__timer_queue_insert(timer_queue_of(queue), entry, due);
}

/* The record of a foreign future is freed, so its stage does not matter. */
void hora__timer_queue_release(hora_queue *queue, struct hora__entry *entry)
{
    if (entry->is_foreign) {
        hora__timer_queue_free_foreign(timer_queue_of(queue), hora__foreign_of(entry));
        return;
    }
    hora__mutex_lock(&queue->object.lock);
    /* Not before the entry has left its chain: a future that is OUT can be queued again and run, and noting
     * the run would overwrite the link. */
    entry->stage = HORA__OUT;
    hora__mutex_unlock(&queue->object.lock);
}

/* Returns how late the first entry of a heap is. 0: it is not late, its planned time is stale (INT64_MIN), or
 * the heap is empty. */
static hora_ns overdue_of(const struct hora__timer_heap *timers, hora_ns now)
{
    hora_ns due = timers->size > 0 ? timers->slots[0].due : HORA_FOREVER;
    return due == INT64_MIN ? 0 : hora__ns_max(hora__ns_sub(now, due), 0);
}

/* The first entry of each heap is its most overdue one. */
hora_ns hora__timer_queue_overdue(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    const struct timer_queue *timer_queue = timer_queue_of(queue);
    hora_ns overdue = 0;
    for (int i = 0; i < LINES; i++) {
        hora_ns now = hora__timer_queue_now(queue, (enum hora__timeline)i);
        overdue = hora__ns_max(overdue, overdue_of(&timer_queue->lines[i].exact, now));
        overdue = hora__ns_max(overdue, overdue_of(&timer_queue->lines[i].lax, now));
        if (i == (int)timer_queue->own)
            overdue =
                hora__ns_max(overdue, overdue_of(&timer_queue->lines[TIMERS_WITH_ADMISSION].exact, now));
    }
    return overdue;
}
