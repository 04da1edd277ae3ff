/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - the common part of all objects that threads wait on: a lock, a clock, an owner and visitors
 *
 * When the owner frees an object, a waiting thread may be on its way out: it is resolved, but it may already
 * want the lock because its time is over. So each waiting thread counts as a visitor, and the last of owner
 * and visitors frees the memory. */
#ifndef HORA_SYNC_OBJECT_H
#define HORA_SYNC_OBJECT_H

#include <hora/clock.h>
#include <hora/error.h>
#include <hora/thread.h>

#include "base/build.h"
#include "base/fault.h"
#include "base/list.h"
#include "sys/mutex.h"
#include "sys/process.h"

struct hora__object {
    hora__atomic references;                      /* the owner's, and one per visitor */
    int32_t generation;                           /* hora__fork_generation() when it was made; immutable */
    const hora_clock *clock;                      /* immutable, never NULL */
    void (*destroy)(struct hora__object *object); /* immutable; frees the memory */
    hora__mutex lock;                             /* rank OBJECT */
};

/* Initialises an object; a NULL clock is the monotonic one. Returns 0, HORA_ENOMEM, HORA_EAGAIN, or
 * HORA_EFORKED (the clock belongs to the parent process). */
__attribute__((warn_unused_result)) int hora__object_init(struct hora__object *object,
                                                          const hora_clock *clock,
                                                          void (*destroy)(struct hora__object *object));

/* Initialises an object with the clock and the process of another object, which the caller has checked.
 * Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__object_init_beside(
    struct hora__object *object, const struct hora__object *other,
    void (*destroy)(struct hora__object *object));

/* The same without telling the clock; the caller calls hora__clock_acquire afterwards. So the writes to the
 * new object are not interrupted by a call. */
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

/* Returns 0, HORA_EFORKED in a process that did not make the object, or HORA_EDEADLK inside a callback that
 * runs under an object's lock. hora__object_check_in is for callers that keep the generation apart from the
 * lock. */
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

/* Adds a visitor. The caller holds the lock. */
void hora__object_visit(struct hora__object *object);

/* Adds a reference. The caller knows that there is at least one. */
void hora__object_ref(struct hora__object *object);

/* The last reference is gone: destroys the object. */
void hora__object_end(struct hora__object *object);

/* Gives up the reference of a visitor or of the owner; the last one destroys the object. A thread that has
 * the only reference needs no atomic subtraction, because no other thread can add one. */
HORA__INLINE void hora__object_leave(struct hora__object *object)
{
    HORA__ORDER_FAULT(REFERENCE_ALONE_RELAXED, memory_order_relaxed);
    bool is_last = hora__atomic_load(&object->references) == 1;
    HORA__ORDER_FAULT(REFERENCE_LEFT_RELAXED, memory_order_relaxed);
    if (is_last || hora__atomic_add(&object->references, -1) == 1)
        hora__object_end(object);
}

/* Waits on one of the object's lists until resolved. The caller holds the lock; the call releases it. Returns
 * the result that the waiter was resolved with, HORA_ETIMEDOUT when the object's clock shows the deadline,
 * HORA_EINTERRUPTED with the flag cleared, or HORA_EAGAIN if it was nudged to look again. */
__attribute__((warn_unused_result)) int hora__object_wait_locked(struct hora__object *object,
                                                                 struct hora__list *list, hora_thread *thread,
                                                                 hora_ns deadline);

#endif
