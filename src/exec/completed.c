/* SPDX-License-Identifier: Apache-2.0 */
/* completed.c - the queue that a completion service makes for the futures that are done
 *
 * How it works  The elements are linked through the seats of the futures. So a put cannot fail, and a thread
 *               that completes a future neither allocates nor frees memory. Only the service uses the queue.
 * Short path    While no thread waits and there is no descriptor, a put or a take has no thread to serve.
 *               It only changes the chain, under the queue's lock.
 * Invariants    I1 the seats form a chain from `first`; its length is size; the last one's next is NULL.
 *               I2 `end` points to the pointer to which the next seat is attached. */
#include "exec/completed.h"

#include <assert.h>
#include <stddef.h>

#include "base/fault.h"
#include "exec/future.h"

struct completed_queue {
    struct hora_queue base;
    struct hora__seat *first; /* NULL: the queue is empty. Guarded by the queue's lock, like `end` */
    struct hora__seat **end;
};

static struct completed_queue *completed_of(hora_queue *queue)
{
    return HORA__LIST_ENTRY(queue, struct completed_queue, base);
}

static void append(struct completed_queue *completed, struct hora__seat *seat)
{
    assert(hora__mutex_held(&completed->base.object.lock));
    seat->next = NULL;
    *completed->end = seat;
    completed->end = &seat->next; /* I2 */
    completed->base.size++;
}

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->memory == NULL);
    (void)wakes;
    append(completed_of(queue), put->item);
    return 0;
}

static void *peek(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    return completed_of(queue)->first;
}

static void *unlink_at(struct completed_queue *completed, struct hora__seat **at)
{
    assert(*at != NULL && completed->base.size > 0);
    struct hora__seat *seat = *at;
    *at = seat->next;
    if (completed->end == &seat->next)
        completed->end = at; /* I2 */
    completed->base.size--;
    return seat;
}

static void *drain(hora_queue *queue)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct completed_queue *completed = completed_of(queue);
    return completed->first != NULL ? unlink_at(completed, &completed->first) : NULL;
}

static void *pop(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    (void)wakes;
    return drain(queue);
}

static bool find(hora_queue *queue, const void *item, bool remove)
{
    assert(hora__mutex_held(&queue->object.lock));
    struct completed_queue *completed = completed_of(queue);
    for (struct hora__seat **at = &completed->first; *at != NULL; at = &(*at)->next) {
        if (*at != item)
            continue;
        if (remove)
            (void)unlink_at(completed, at);
        return true;
    }
    return false;
}

static void each(hora_queue *queue, hora__each_fn visit, void *arg)
{
    assert(hora__mutex_held(&queue->object.lock));
    for (struct hora__seat *seat = completed_of(queue)->first; seat != NULL && visit(seat, arg);)
        seat = seat->next;
}

static void destroy(hora_queue *queue)
{
    assert(queue->size == 0 && completed_of(queue)->first == NULL);
    hora__free(completed_of(queue));
}

static const struct hora__queue_kind completed_kind = {
    .push = push,
    .pop = pop,
    .peek = peek,
    .drain = drain,
    .find = find,
    .each = each,
    .destroy = destroy,
    .inserts_always = true,
};

/* Puts always succeed, so no putter ever waits. */
void hora__completed_put(hora_queue *queue, struct hora__seat *seat)
{
    assert(queue->kind == &completed_kind && seat != NULL);
    hora__mutex_lock_as(&queue->object.lock, HORA__RANK_OBJECT);
    bool is_awaited = !hora__list_is_empty(&queue->takers) || queue->ready.kind != HORA__READY_NONE;
    bool is_short = HORA__FAST && (!is_awaited || HORA__FAULT(COMPLETED_WAKES_NO_TAKER));
    if (is_short)
        append(completed_of(queue), seat);
    hora__mutex_unlock_as(&queue->object.lock, HORA__RANK_OBJECT);
    if (is_short)
        return;
    struct hora__put put = {.item = seat};
    int error = hora__queue_put_now(queue, &put);
    assert(error == 0);
    (void)error;
}

/* While a taker waits there is no element, so a taker is never overtaken. */
struct hora__seat *hora__completed_take(hora_queue *queue)
{
    assert(queue->kind == &completed_kind);
    hora__mutex_lock_as(&queue->object.lock, HORA__RANK_OBJECT);
    bool is_short = HORA__FAST && queue->ready.kind == HORA__READY_NONE;
    struct hora__seat *seat = is_short ? drain(queue) : NULL;
    hora__mutex_unlock_as(&queue->object.lock, HORA__RANK_OBJECT);
    return seat;
}

int hora__completed_queue_new(const hora_clock *clock, hora_queue **ret_queue)
{
    assert(ret_queue != NULL);
    hora_queue_options options = HORA_INIT(hora_queue_options);
    options.clock = clock;
    struct completed_queue *completed = hora__alloc(1, sizeof *completed);
    if (completed == NULL)
        return HORA_ENOMEM;
    completed->end = &completed->first;
    int error = hora__queue_init(&completed->base, &completed_kind, HORA_UNBOUNDED, &options);
    if (error < 0)
        destroy(&completed->base);
    else
        *ret_queue = &completed->base;
    return error;
}
