/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - making, referencing and destroying the objects that threads wait on
 *
 * object.h explains owner and visitors. wait.c has the waiting itself. */
#include "sync/object.h"

#include <assert.h>

#include "sync/clock.h"

/* On error nothing has to be undone. */
int hora__object_init(struct hora__object *object, const hora_clock *clock,
                      void (*destroy)(struct hora__object *object))
{
    assert(destroy != NULL);
    /* Forks are counted from here on, so that the generation stored below is meaningful. */
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
    /* Last, because nothing can fail after it: a failed initialisation leaves the clock's count unchanged. */
    hora__clock_acquire(object->clock);
    return 0;
}

/* Needs neither hora__fork_watch nor a check of the clock: the other object has been through both. */
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

/* Releases the clock before the memory, which holds the pointer to it. No lock is needed: no other thread has
 * a reference any more. */
void hora__object_end(struct hora__object *object)
{
    assert(object->destroy != NULL);
    if (object->clock->source != NULL)
        hora__virtual_clock_release(object->clock->source);
    hora__mutex_destroy(&object->lock);
    object->destroy(object);
}
