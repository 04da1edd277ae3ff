/* SPDX-License-Identifier: Apache-2.0 */
/* work_source.c - what all work sources of pools have in common: serving, removing, visiting, booking
 *
 * How it works      A work source does not hand tasks to waiting takers, because waking a thread for each
 *                   task costs far more than a short task itself. Instead it wakes one waiting taker, the
 *                   searcher. Until the searcher has the lock and begins to search, no other taker is woken,
 *                   however many tasks are queued in between. The searcher gives up its role before it
 *                   searches. If it leaves tasks behind, it wakes the next searcher. So the workers that are
 *                   awake take the tasks, and more workers wake up only as fast as they find work. For a
 *                   source with due times see standby.c.
 * Spinning          A taker may spin for some time before it goes to the takers' list. While it spins it
 *                   counts as a searcher, and no other taker is woken. Like a searcher, it gives up that role
 *                   before it searches with the lock held.
 * Invariants        When the lock is free, besides I1, I4 and I5 of serve.c:
 *                   I2 if a taker waits, then no task can be taken, or there is a searcher or a spinning
 *                      taker. If there is an inbox and neither of these two, submitters have been told that
 *                      they must have a taker woken (expect). For a source with due times see standby.c.
 *                   I6 the searcher is on the takers' list, and was woken after it last searched. */
#include "exec/work_source.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/backlog.h"

/* ---- serving ---- */

/* Restores I2 and I6: wakes a taker as the searcher, if a task can be taken and neither a searcher nor a
 * spinning taker is about to search. If a taker sleeps and the container is empty, it first tells submitters
 * to have a taker woken, and only then checks the inbox for the last time: either that check finds a task, or
 * its submitter sees that it must have a taker woken. */
static void call_searcher(struct hora__work_source *source, struct hora__wakes *wakes)
{
    hora_queue *queue = &source->queue;
    const struct hora__work_kind *kind = source->kind;
    assert(hora__mutex_held(&queue->object.lock) && queue->kind->next_due == NULL);
    struct hora__waiter *taker = NULL;
    if (source->searcher == NULL && !source->spins)
        taker = hora__waiters_last(&queue->takers); /* the last to fall asleep is the fastest to run */
    if (taker != NULL && kind->claims)
        hora__backlog_recall(queue); /* until then `size` includes tasks that have been claimed */
    bool has_task = queue->size > 0;
    if (taker != NULL && !has_task && kind->expect != NULL)
        has_task = kind->expect(queue, HORA_FOREVER);
    if (taker != NULL && (!has_task || HORA__FAULT(SEARCH_NEVER_BEGINS)))
        return;
    if (kind->expect != NULL)
        (void)kind->expect(queue, INT64_MIN); /* a thread is about to search, or no taker waits */
    if (taker == NULL)
        return;
    source->searcher = taker;
    hora__waiter_nudge(taker, wakes);
}

/* Updates the queue's descriptor. It must become readable for each task, so submitters must report every one:
 * `expect` tells them that no taker searches of its own accord. Not inlined, because few queues have a
 * descriptor. */
__attribute__((noinline)) static void show_ready(hora_queue *queue, const struct hora__work_kind *kind)
{
    assert(queue->ready.kind != HORA__READY_NONE);
    if (queue->kind->next_due == NULL && kind->expect != NULL)
        (void)kind->expect(queue, HORA_FOREVER);
    hora__queue_show_ready(queue);
}

/* Serves a source after any change, as hora__queue_serve does for public queues: admits putters that wait
 * for room, ensures that a taker wakes up for the next task, and updates the descriptor. */
void hora__work_serve(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->behaviour != NULL);
    struct hora__work_source *source = HORA__LIST_ENTRY(queue, struct hora__work_source, queue);
    if (queue->putters.next != &queue->putters)
        hora__queue_admit_putters(queue, wakes);
    if (queue->kind->next_due != NULL)
        hora__work_cover(queue, wakes);
    else
        call_searcher(source, wakes);
    if (queue->ready.kind != HORA__READY_NONE)
        show_ready(queue, source->kind);
}

/* The queue was closed, and all takers have been resolved. None of them may stay searcher or standby. */
void hora__work_close(hora_queue *queue)
{
    struct hora__work_source *source = hora__work_source_of(queue);
    assert(hora__mutex_held(&queue->object.lock) && hora__list_is_empty(&queue->takers));
    source->searcher = NULL; /* I6 */
    source->standby = NULL;
}

void hora__work_look(hora_queue *queue)
{
    assert(queue->behaviour != NULL && !hora__mutex_held(&queue->object.lock));
    struct hora__wakes wakes;
    wakes.count = 0;
    hora__mutex_lock(&queue->object.lock);
    if (queue->kind->next_due != NULL)
        hora__queue_collect(queue); /* a source without due times does so in call_searcher, if needed */
    hora__work_serve(queue, &wakes);
    hora__mutex_unlock(&queue->object.lock);
    if (wakes.count > 0)
        hora__wakes_flush(&wakes);
}

/* ---- parts of kinds ---- */

int hora__work_put(hora_queue *queue, const struct hora__offer *offer)
{
    assert((offer->task != NULL) != (offer->item != NULL));
    if (offer->task != NULL)
        return HORA_ENOTSUP;
    struct hora__put put = {.item = offer->item,
                            .accepted = offer->books != NULL ? &offer->books->accepted : NULL};
    return hora__queue_put(queue, &put);
}

void *hora__work_pop(hora_queue *queue, struct hora__taken *ret_taken, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)ret_taken;
    return queue->kind->pop(queue, wakes);
}

/* As take_first. `find` removes the element because the first one may not be ready for `pop` yet. */
void *hora__work_remove_first(hora_queue *queue, struct hora__taken *ret_taken)
{
    (void)ret_taken;
    assert(hora__mutex_held(&queue->object.lock));
    void *item = queue->kind->peek(queue);
    return item != NULL && queue->kind->find(queue, item, true) ? item : NULL;
}

/* How many elements are visited of a source that does not know its order. */
enum { FEW = 20 };

/* As `visit`, for a source whose container can only copy elements. It visits those that users can see. */
void hora__work_visit_few(hora_queue *queue, hora__visit_fn visit, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock) && queue->kind->copy != NULL);
    void *items[FEW];
    int listed = hora__queue_listed(queue);
    int few = listed < FEW ? listed : FEW;
    if (few > 0)
        queue->kind->copy(queue, items, few);
    for (int i = 0; i < few && visit(items[i], NULL, arg); i++) {
    }
}

/* ---- the adapter: any queue that waits like a public one ---- */

/* Lets `each` of a container, which knows no detached tasks, call a hora__visit_fn. */
struct visiting {
    hora__visit_fn visit;
    void *arg;
};

static bool visit_one(void *item, void *arg)
{
    const struct visiting *visiting = arg;
    return visiting->visit(item, NULL, visiting->arg);
}

/* The `visit` of the adapter. */
static void visit_container(hora_queue *queue, hora__visit_fn visit, void *arg)
{
    assert(queue->behaviour == NULL);
    struct visiting visiting = {visit, arg};
    if (queue->kind->each != NULL)
        queue->kind->each(queue, visit_one, &visiting);
    else
        hora__work_visit_few(queue, visit, arg);
}

/* The operations of a queue that waits as a public one. It has no `behaviour`, so hora__work_kind_of finds it
 * by that. */
static const struct hora__work_kind adapter = {
    .offer = hora__work_put,
    .take = hora__work_pop,
    .take_first = hora__work_remove_first,
    .visit = visit_container,
};

const struct hora__work_kind *hora__work_kind_of(const hora_queue *queue)
{
    static_assert(offsetof(struct hora__work_kind, behaviour) == 0, "a kind begins with its behaviour");
    return queue->behaviour == NULL ? &adapter
                                    : (const struct hora__work_kind *)(const void *)queue->behaviour;
}

bool hora__work_is_ordered(const hora_queue *queue)
{
    return hora__work_kind_of(queue)->is_ordered || queue->kind->each != NULL;
}

int hora__work_source_init(struct hora__work_source *source, const struct hora__queue_kind *container,
                           const struct hora__work_kind *kind, int capacity,
                           const hora_queue_options *options)
{
    assert(kind->offer != NULL && kind->take != NULL && kind->take_first != NULL && kind->visit != NULL);
    assert(kind->behaviour.serve != NULL && kind->behaviour.take != NULL && kind->behaviour.close != NULL);
    source->queue.behaviour = &kind->behaviour;
    source->kind = kind;
    return hora__queue_init(&source->queue, container, capacity, options);
}

/* ---- removing and looking ---- */

bool hora__work_remove_cancelled(hora_queue *queue, const void *item, struct hora__books *books)
{
    assert(item != NULL && books != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    if (!HORA__FAULT(CANCEL_FORGETS_INBOX))
        hora__queue_collect(queue); /* it may still be in the inbox */
    bool found = queue->kind->find(queue, item, true);
    if (found) {
        /* `cancelled` first: a thread that observes the finished task also sees it counted as cancelled. */
        hora__counter_add_alone(&books->cancelled, 1);
        hora__counter_add_alone_publish(&books->finished, 1);
        hora__queue_serve_change(queue, &wakes);
    }
    hora__mutex_unlock(&queue->object.lock);
    hora__wakes_flush(&wakes);
    return found;
}

void *hora__work_pull_first(hora_queue *queue, struct hora__taken *ret_taken)
{
    assert(ret_taken != NULL);
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    hora__mutex_lock(&queue->object.lock);
    hora__queue_collect(queue);
    void *item = hora__work_kind_of(queue)->take_first(queue, ret_taken);
    if (item != NULL)
        hora__queue_serve(queue, NULL, &wakes);
    hora__mutex_unlock(&queue->object.lock);
    hora__wakes_flush(&wakes);
    return item;
}

int hora__work_show(hora_queue *queue, const struct hora__maker *maker)
{
    assert(maker->make != NULL);
    const struct hora__work_kind *kind = hora__work_kind_of(queue);
    if (kind->show == NULL)
        return 0;
    hora__mutex_lock(&queue->object.lock);
    int error = kind->show(queue, maker);
    hora__mutex_unlock(&queue->object.lock);
    return error;
}

int hora__work_visit(hora_queue *queue, hora__visit_fn visit, void *arg)
{
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    int size = queue->size;
    hora__work_kind_of(queue)->visit(queue, visit, arg);
    hora__mutex_unlock(&queue->object.lock);
    return size;
}

/* ---- booking ---- */

void hora__work_book(hora_queue *queue, struct hora__books *books, enum hora__booking what)
{
    hora__mutex_lock(&queue->object.lock);
    if (what == HORA__ACCEPTED)
        hora__counter_add_alone(&books->accepted, 1);
    if (what == HORA__WITHDRAWN)
        hora__counter_add_alone_publish(&books->withdrawn, 1);
    if (what == HORA__FINISHED || what == HORA__WITHDRAWN)
        hora__counter_add_alone_publish(&books->finished, 1);
    /* A timer queue has many lanes, each with a lock under which a branch of the books changes. Passing
     * through all of them is too expensive for each task, so only a watcher does it (HORA__NOTHING). */
    bool has_due_times = queue->behaviour != NULL && queue->kind->next_due != NULL;
    if (!has_due_times || what == HORA__NOTHING)
        hora__queue_collect(queue); /* this passes through the locks of the inbox, too */
    hora__mutex_unlock(&queue->object.lock);
}
