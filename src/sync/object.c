/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - birth and end of the objects that threads wait on; see object.h */
#include "sync/object.h"

#include <assert.h>

#include <hora/error.h>

#include "sync/clock.h"
#include "sys/fork.h"

int hora__object_init(struct hora__object *object, const hora_clock *clock,
                      void (*destroy)(struct hora__object *object))
{
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

int hora__object_check(const struct hora__object *object)
{
    if (object->generation != hora__fork_generation())
        return HORA_EFORKED;
    return hora__mutex_holds_object() ? HORA_EDEADLK : 0;
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

void hora__object_leave(struct hora__object *object)
{
    int32_t before = hora__atomic_add(&object->references, -1);
    assert(before > 0);
    if (before > 1)
        return;
    hora__clock_release(object->clock);
    hora__mutex_destroy(&object->lock);
    object->destroy(object);
}
