/* SPDX-License-Identifier: Apache-2.0 */
/* timer_queue_view.c - see timer_queue_view.h */
#include "sched/timer_queue_view.h"

#include <assert.h>
#include <stddef.h>

#include "base/ns.h"
#include "sched/selection.h"
#include "sched/timer_queue_internal.h"

void hora__timer_queue_view_begin(struct hora__timer_queue_view *view, hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__timer_queue_absorb(queue);
    view->queue = queue;
    view->is_telling = timer_queue_of(queue)->telling;
    for (int i = 0; i < LINES; i++)
        view->now[i] = hora__timer_queue_now(queue, (enum hora__timeline)i);
}

hora_ns hora__timer_queue_view_off(const struct hora__timer_queue_view *view, const struct hora__entry *entry)
{
    assert(view->queue != NULL && entry != NULL);
    return hora__ns_sub(hora__timer_queue_due(view->queue, entry),
                        view->now[hora__entry_line(view->queue, entry)]);
}

static bool is_before(const void *a, const void *b, void *context)
{
    const struct hora__entry *first = a, *second = b;
    hora_ns first_off = hora__timer_queue_view_off(context, first),
            second_off = hora__timer_queue_view_off(context, second);
    return first_off != second_off ? first_off < second_off
                                   : first->by_due.sequence < second->by_due.sequence;
}

/* ---- counting ---- */

struct rank {
    const struct hora__timer_queue_view *view;
    const struct hora__entry *entry;
    hora_ns off;
    int before;
};

static void count(struct hora__entry *entry, void *arg)
{
    assert(entry != NULL && arg != NULL);
    struct rank *rank = arg;
    hora_ns off = hora__timer_queue_view_off(rank->view, entry);
    bool is_before =
        off < rank->off || (off == rank->off && entry->by_due.sequence < rank->entry->by_due.sequence);
    rank->before += off <= 0 && is_before ? 1 : 0;
}

int hora__timer_queue_view_before(const struct hora__timer_queue_view *view, const struct hora__entry *entry)
{
    assert(hora__mutex_held(&view->queue->object.lock));
    struct rank rank = {.view = view, .entry = entry, .off = hora__timer_queue_view_off(view, entry)};
    for (int i = 0; i < LINES; i++)
        hora__timer_queue_each(view->queue, (enum hora__timeline)i, count, &rank);
    return rank.before;
}

/* ---- the first ones ---- */

struct search {
    const struct hora__timer_queue_view *view;
    bool due;
    int all;
    struct hora__selection selection;
};

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
