/* SPDX-License-Identifier: Apache-2.0 */
/* completed.c - the queue that a completion service makes for the futures that are done
 *
 * How it works  The elements are linked through the seats of the futures. So a put cannot fail, and a thread
 *               that completes a future neither allocates nor frees memory. Only the service uses the queue.
 * Invariants    I1 the seats form a chain from `first`; its length is size; the last one's next is NULL.
 *               I2 `end` points to the pointer to which the next seat is attached. */
#include "exec/completed.h"

#include <assert.h>
#include <stddef.h>

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

static int push(hora_queue *queue, struct hora__put *put, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock) && put->memory == NULL);
    (void)wakes;
    struct completed_queue *completed = completed_of(queue);
    struct hora__seat *seat = put->item;
    seat->next = NULL;
    *completed->end = seat;
    completed->end = &seat->next; /* I2 */
    queue->size++;
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
