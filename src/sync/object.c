/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - making, waiting on and destroying the objects that threads wait on; see object.h and wait.h */
#include "sync/object.h"

#include <assert.h>

#include <hora/error.h>

#include "base/fault.h"
#include "sync/clock.h"
#include "sync/thread.h"
#include "sync/wait.h"
#include "sys/process.h"

int hora__object_init(struct hora__object *object, const hora_clock *clock,
                      void (*destroy)(struct hora__object *object))
{
    assert(destroy != NULL);
    int error = hora__fork_watch();
    if (error == 0)
        error = hora__clock_check(hora__clock_or_default(clock));
    if (error == 0)
        error = hora__mutex_init(&object->lock, HORA__RANK_OBJECT);
    if (error < 0)
        return error;
    hora__atomic_init(&object->references, 1);
    object->generation = hora__fork_generation();
    object->clock = hora__clock_or_default(clock);
    object->destroy = destroy;
    hora__clock_acquire(object->clock);
    return 0;
}

int hora__object_init_beside(struct hora__object *object, const struct hora__object *other,
                             void (*destroy)(struct hora__object *object))
{
    assert(destroy != NULL && other->clock != NULL);
    int error = hora__object_prepare_beside(object, other, destroy);
    if (error == 0)
        hora__clock_acquire(object->clock);
    return error;
}

void hora__object_visit(struct hora__object *object)
{
    assert(hora__mutex_held(&object->lock));
    (void)hora__atomic_add(&object->references, 1);
}

void hora__object_ref(struct hora__object *object)
{
    int32_t before = hora__atomic_add(&object->references, 1);
    assert(before > 0);
    (void)before;
}

void hora__object_end(struct hora__object *object)
{
    assert(object->destroy != NULL);
    hora__clock_release(object->clock);
    hora__mutex_destroy(&object->lock);
    object->destroy(object);
}

/* The waiting thread woke by itself, or believes so: takes its waiter off the list. If another thread has
 * resolved the waiter meanwhile, that counts. */
static enum hora__wake withdraw(struct hora__object *object, struct hora__waiter *waiter,
                                enum hora__wake wake)
{
    assert(wake != HORA__WAKE_RESOLVED);
    hora__mutex_lock(&object->lock);
    if (hora__waiter_is_resolved(waiter))
        wake = HORA__WAKE_RESOLVED;
    else if (!HORA__FAULT(WAIT_FORGETS_WAITER) || wake != HORA__WAKE_INTERRUPTED)
        hora__list_remove(&waiter->link);
    hora__mutex_unlock(&object->lock);
    return wake;
}

int hora__object_wait_locked(struct hora__object *object, struct hora__list *list, hora_thread *thread,
                             hora_ns deadline)
{
    assert(hora__mutex_held(&object->lock));
    struct hora__waiter waiter;
    hora__waiter_init(&waiter, thread, deadline);
    hora__list_add_last(list, &waiter.link);
    hora__object_visit(object);
    hora__mutex_unlock(&object->lock);

    enum hora__wake wake = hora__waiter_park(&waiter, object->clock, deadline);
    if (wake != HORA__WAKE_RESOLVED)
        wake = withdraw(object, &waiter, wake);
    hora__object_leave(object);

    if (wake == HORA__WAKE_RESOLVED)
        return waiter.result;
    if (wake == HORA__WAKE_TIME)
        return HORA_ETIMEDOUT;
    if (wake == HORA__WAKE_NUDGED)
        return HORA_EAGAIN;
    (void)hora__thread_take_interrupt(thread);
    return HORA_EINTERRUPTED;
}
