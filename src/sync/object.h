/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - what every object that threads wait on has: a lock, a clock, an owner and visitors
 *
 * The owner's free must not take the memory from under a waiting thread that is on its way out: it was resolved, but
 * perhaps already wants the lock because its time was over. So each thread that waits counts as a visitor, and the
 * memory goes when the owner and the last visitor are gone. */
#ifndef HORA_SYNC_OBJECT_H
#define HORA_SYNC_OBJECT_H

#include <hora/clock.h>
#include <hora/error.h>
#include <hora/thread.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/list.h"
#include "sys/process.h"
#include "sys/mutex.h"

struct hora__object {
    hora__atomic references;                      /* the owner's and one per visitor */
    int32_t generation;                           /* hora__fork_generation() at birth; immutable */
    const hora_clock *clock;                      /* immutable, never NULL */
    void (*destroy)(struct hora__object *object); /* immutable: releases the memory */
    hora__mutex lock;                             /* rank OBJECT */
};

/* NULL clock: the monotonic one. HORA_ENOMEM, HORA_EAGAIN, HORA_EFORKED (the clock is the parent process's). */
__attribute__((warn_unused_result)) int hora__object_init(struct hora__object *object,
                                                          const hora_clock *clock,
                                                          void (*destroy)(struct hora__object *object));

/* The same beside another object that exists, and that the caller has checked: with its clock, in its process. HORA_ENOMEM, HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__object_init_beside(
    struct hora__object *object, const struct hora__object *other,
    void (*destroy)(struct hora__object *object));

/* The same, but for the clock, which does not know of it yet: hora__clock_acquire follows. So all that is written before that is written at once. */
__attribute__((warn_unused_result)) HORA__INLINE int hora__object_prepare_beside(
    struct hora__object *object, const struct hora__object *other,
    void (*destroy)(struct hora__object *object))
{
    int error = hora__mutex_init(&object->lock, HORA__RANK_OBJECT);
    if (error < 0)
        return error;
    hora__atomic_init(&object->references, 1);
    object->generation = other->generation;
    object->clock = other->clock;
    object->destroy = destroy;
    return 0;
}

/* 0; HORA_EFORKED in a process that did not make the object; HORA_EDEADLK in a callback that runs under an object's lock. By the
 * generation alone, for who keeps it apart from the lock: */
__attribute__((warn_unused_result)) HORA__INLINE int hora__object_check_in(int32_t generation)
{
    if (generation != hora__fork_generation())
        return HORA_EFORKED;
    return hora__mutex_holds_object() ? HORA_EDEADLK : 0;
}

__attribute__((warn_unused_result)) HORA__INLINE int hora__object_check(const struct hora__object *object)
{
    return hora__object_check_in(object->generation);
}

/* A visitor comes (with the lock held). */
void hora__object_visit(struct hora__object *object);

/* One more reference, by somebody who knows that there is one. */
void hora__object_ref(struct hora__object *object);

/* Nobody uses it any more. */
void hora__object_end(struct hora__object *object);

/* A visitor, or the owner, goes. The last one destroys it. Who has the only reference is alone: nobody is left who could give or take one. */
HORA__INLINE void hora__object_leave(struct hora__object *object)
{
    HORA__ORDER_FAULT(REFERENCE_ALONE_RELAXED, memory_order_relaxed);
    bool is_last = hora__atomic_load(&object->references) == 1;
    HORA__ORDER_FAULT(REFERENCE_LEFT_RELAXED, memory_order_relaxed);
    if (is_last || hora__atomic_add(&object->references, -1) == 1)
        hora__object_end(object);
}

/* Wait on one of the object's lists until resolved. Called with the lock, returns without it: the result that the waiter was
 * resolved with, HORA_ETIMEDOUT when the object's clock shows the deadline, HORA_EINTERRUPTED, with the flag cleared,
 * or HORA_EAGAIN if it was nudged to look again. */
__attribute__((warn_unused_result)) int hora__object_wait_locked(struct hora__object *object,
                                                                 struct hora__list *list, hora_thread *thread,
                                                                 hora_ns deadline);

#endif
