/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - making, entering, closing and freeing a queue of any kind
 *
 * The parts of a queue's life that do not depend on its container. transfer.c puts and takes, serve.c serves
 * the waiting threads, and contents.c inspects the elements. */
#include "queue/queue.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/fault.h"
#include "base/options.h"
#include "base/reason.h"

/* Refuses an option that this kind of queue does not use: a caller that sets it expects an effect. */
static int refuse_option(const char *field, hora_error *reason)
{
    assert(field != NULL);
    return hora__refuse(reason, HORA_EINVAL, field, "%s has no effect in this kind of queue", field);
}

/* Reports the first option that is wrong. `drop` doubles as the release function of `ref`, so `ref` needs
 * it. */
int hora__queue_options(hora_queue_options *own, const hora_queue_options *given, unsigned allowed,
                        hora_queue **ret_queue, hora_error *reason)
{
    hora__reason_begin(reason);
    if (HORA__TAKE(hora_queue_options, own, given) < 0)
        return hora__refuse_size(reason, "hora_queue_options");
    if (ret_queue == NULL)
        return hora__refuse(reason, HORA_EINVAL, NULL, "ret_queue is NULL");
    if (own->fair && !(allowed & HORA__ALLOW_FAIR))
        return refuse_option("fair", reason);
    if (own->compare != NULL && !(allowed & HORA__ALLOW_COMPARE))
        return refuse_option("compare", reason);
    if (own->remaining != NULL && !(allowed & HORA__ALLOW_REMAINING))
        return refuse_option("remaining", reason);
    if (own->ref != NULL && own->drop == NULL)
        return hora__refuse(reason, HORA_EINVAL, "ref", "ref needs drop, which releases references");
    if (own->arg != NULL && !(allowed & (HORA__ALLOW_COMPARE | HORA__ALLOW_REMAINING)))
        return refuse_option("arg", reason);
    return 0;
}

int hora__queue_check_capacity(int capacity, hora_error *reason)
{
    return capacity < 1 ? hora__refuse(reason, HORA_EINVAL, "capacity",
                                       "the capacity is %d, which is less than 1", capacity)
                        : 0;
}

/* The destructor of the object: called when the owner, the last waiting thread and the last pool have left
 * the queue. */
static void destroy(struct hora__object *object)
{
    hora_queue *queue = HORA__LIST_ENTRY(object, struct hora_queue, object);
    queue->kind->destroy(queue);
}

int hora__queue_init(hora_queue *queue, const struct hora__queue_kind *kind, int capacity,
                     const hora_queue_options *options)
{
    assert(kind->push != NULL && kind->pop != NULL && (kind->copy != NULL) != (kind->each != NULL) &&
           kind->destroy != NULL);
    assert(queue->size == 0 && queue->leader == NULL);
    queue->kind = kind;
    queue->capacity = capacity;
    queue->drop = options->drop;
    queue->own_ref = options->ref;
    hora__queue_set_ref(queue, options->ref, options->ref != NULL ? options->drop : NULL);
    queue->compare = options->compare;
    hora__list_init(&queue->takers);
    hora__list_init(&queue->putters);
    int error = hora__object_init(&queue->object, options->clock, destroy);
    if (error < 0)
        return error;
    queue->clock = queue->object.clock;
    queue->generation = queue->object.generation;
    return 0;
}

int hora__queue_check(const hora_queue *queue)
{
    return queue == NULL ? HORA_EINVAL : hora__object_check_in(queue->generation);
}

int hora__queue_enter(hora_queue *queue)
{
    int error = hora__queue_check(queue);
    if (error < 0)
        return error;
    hora__mutex_lock(&queue->object.lock);
    hora__queue_collect(queue);
    return 0;
}

void hora__queue_exit(hora_queue *queue, struct hora__wakes *wakes)
{
    assert(hora__mutex_held(&queue->object.lock));
    hora__mutex_unlock(&queue->object.lock);
    if (wakes->count > 0)
        hora__wakes_flush(wakes);
}

/* Removes any element, and returns it; NULL: the queue is empty. */
static void *drain_one(hora_queue *queue)
{
    hora__mutex_lock(&queue->object.lock);
    void *item = queue->kind->drain(queue);
    hora__mutex_unlock(&queue->object.lock);
    return item;
}

/* Drops the elements now. The memory of the queue is freed when the last thread that was resolved has left,
 * and the memory of the last pool to which it was lent is freed. */
int hora_queue_free(hora_queue *queue)
{
    if (queue == NULL)
        return 0;
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    bool is_used =
        queue->is_lent || !hora__list_is_empty(&queue->takers) || !hora__list_is_empty(&queue->putters);
    hora__mutex_unlock(&queue->object.lock);
    if (is_used)
        return HORA_EBUSY;

    /* Elements are removed with the lock: a thread that cancels a task of the pool to which the queue was
     * lent may still be searching it. They are dropped without it, because that runs code of the user. */
    void *item;
    while ((item = drain_one(queue)) != NULL)
        if (queue->drop != NULL)
            queue->drop(item);
    hora__ready_fd_destroy(&queue->ready, queue->object.clock);
    if (queue->behaviour != NULL && queue->behaviour->leave != NULL)
        queue->behaviour->leave(queue);
    hora__object_leave(&queue->object);
    return 0;
}

/* Closes the inbox under the lock, so that no put can succeed after this has returned. Elements in the queue
 * can still be taken. */
int hora_queue_close(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    /* Elements that have become due belong to the takers that waited for them; serve them before the rest is
     * resolved with HORA_ECLOSED. */
    hora__queue_serve(queue, NULL, &wakes);
    queue->closed = true;
    if (queue->kind->inbox != NULL)
        queue->kind->inbox->seal(queue);
    if (!HORA__FAULT(CLOSE_FORGETS_PUTTERS))
        hora__waiters_resolve_all(&queue->putters, HORA_ECLOSED, &wakes);
    hora__waiters_resolve_all(&queue->takers, HORA_ECLOSED, &wakes);
    queue->leader = NULL;
    if (queue->behaviour != NULL)
        queue->behaviour->close(queue);
    hora__queue_serve(queue, NULL, &wakes);
    hora__queue_exit(queue, &wakes);
    return 0;
}

/* Takes the lock, although the queue is const to the caller: the lock is no part of the queue's value. The
 * pointer is copied with memcpy to remove the const without a cast. */
bool hora_queue_is_closed(const hora_queue *queue)
{
    void *memory;
    memcpy(&memory, &queue, sizeof memory);
    hora_queue *own = memory;
    if (hora__queue_enter(own) < 0)
        return false;
    bool closed = own->closed;
    hora__mutex_unlock(&own->object.lock);
    return closed;
}

/* ---- in the hands of a pool ---- */

void hora__queue_set_ref(hora_queue *queue, void *(*ref)(void *item), void (*unref)(void *item))
{
    assert((ref == NULL) == (unref == NULL));
    queue->ref = ref;
    queue->unref = unref;
}

int hora__queue_lend(hora_queue *queue, void *(*ref)(void *item), void (*unref)(void *item))
{
    assert(ref != NULL && unref != NULL);
    int error = hora__queue_enter(queue);
    if (error < 0)
        return error;
    if (queue->is_lent) {
        error = HORA_EBUSY;
    } else {
        queue->is_lent = true;
        if (!HORA__FAULT(POOL_QUEUE_UNREFERENCED))
            hora__object_visit(&queue->object);
        hora__queue_set_ref(queue, ref, unref);
    }
    hora__mutex_unlock(&queue->object.lock);
    return error;
}

/* Restores the functions for references that the user gave. */
void hora__queue_give_back(hora_queue *queue)
{
    hora__mutex_lock(&queue->object.lock);
    assert(queue->is_lent || queue->behaviour != NULL); /* the queue of a scheduler is never lent */
    queue->is_lent = false;
    hora__queue_set_ref(queue, queue->own_ref, queue->own_ref != NULL ? queue->drop : NULL);
    hora__mutex_unlock(&queue->object.lock);
}

void hora__queue_leave_lent(hora_queue *queue)
{
    assert(!hora__mutex_held(&queue->object.lock));
    if (!HORA__FAULT(POOL_QUEUE_UNREFERENCED))
        hora__object_leave(&queue->object);
}

/* Makes the descriptor in the first call, and then serves the queue so that the descriptor shows its
 * state. */
int hora_queue_fd(hora_queue *queue)
{
    struct hora__wakes wakes;
    hora__wakes_init(&wakes);
    int result = hora__queue_enter(queue);
    if (result < 0)
        return result;
    if (hora__ready_fd_get(&queue->ready) < 0) {
        result = hora__ready_fd_init(&queue->ready, queue->object.clock, queue->kind->next_due != NULL);
        if (result == 0)
            hora__queue_serve(queue, NULL, &wakes);
    }
    if (result == 0)
        result = hora__ready_fd_get(&queue->ready);
    hora__queue_exit(queue, &wakes);
    return result;
}
