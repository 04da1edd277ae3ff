/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - the common part of all objects that threads wait on: a lock, a clock, an owner and visitors
 *
 * When the owner frees an object, a thread that waited on it may not have left yet: its waiter is resolved,
 * but the thread has just timed out and is about to take the object's lock. So each waiting thread counts as
 * a visitor, and the last of owner and visitors frees the memory. */
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
    /* One reference of the owner, one per visitor, and those that hora__object_ref added. The object is
     * destroyed when the number reaches 0. */
    hora__atomic references;
    /* The value of hora__fork_generation() when the object was made; immutable. A child process must not
     * take the lock, because a thread of the parent may have held it at the time of the fork. */
    int32_t generation;
    /* The clock that measures timed waits; immutable, never NULL. If it is virtual, it counts this object. */
    const hora_clock *clock;
    /* Destroys the rest of the embedding object and frees its memory; immutable. Called with the lock already
     * destroyed. */
    void (*destroy)(struct hora__object *object);
    /* Rank OBJECT. It guards the state and the wait lists of the embedding object. */
    hora__mutex lock;
};

/* Initialises an object with one reference, the owner's. A NULL clock means the monotonic one. Returns 0,
 * HORA_ENOMEM, HORA_EAGAIN, or HORA_EFORKED (the clock belongs to the parent process). */
__attribute__((warn_unused_result)) int hora__object_init(struct hora__object *object,
                                                          const hora_clock *clock,
                                                          void (*destroy)(struct hora__object *object));

/* Initialises an object with the clock and the process of another object, which the caller has checked.
 * Returns 0, HORA_ENOMEM or HORA_EAGAIN. */
__attribute__((warn_unused_result)) int hora__object_init_beside(
    struct hora__object *object, const struct hora__object *other,
    void (*destroy)(struct hora__object *object));

/* As hora__object_init_beside, except that the clock does not count the object. If the clock is virtual, the
 * caller calls hora__clock_acquire afterwards. Inlined without that call, because a call between the writes
 * to the new object would keep the compiler from combining them. */
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

/* Checks that the calling thread may use an object that was made in this generation. Every public call does
 * this before it takes the lock. Returns 0, HORA_EFORKED in a process that did not make the object, or
 * HORA_EDEADLK inside a callback that runs under an object's lock. For callers that keep the generation on
 * another cache line than the lock; the others call hora__object_check. */
__attribute__((warn_unused_result)) HORA__INLINE int hora__object_check_in(int32_t generation)
{
    if (generation != hora__fork_generation())
        return HORA_EFORKED;
    return hora__mutex_holds_object() ? HORA_EDEADLK : 0;
}

/* As hora__object_check_in, for the generation that the object itself holds. */
__attribute__((warn_unused_result)) HORA__INLINE int hora__object_check(const struct hora__object *object)
{
    return hora__object_check_in(object->generation);
}

/* Adds a visitor, which keeps the memory alive until it calls hora__object_leave. The caller holds the
 * lock. */
void hora__object_visit(struct hora__object *object);

/* Adds a reference. The caller guarantees that there is at least one; it need not hold the lock. */
void hora__object_ref(struct hora__object *object);

/* Destroys an object whose last reference has been released. Only hora__object_leave calls it. */
void hora__object_end(struct hora__object *object);

/* Releases the reference of a visitor or of the owner; the last one destroys the object. A thread that holds
 * the only reference skips the atomic subtraction, because no other thread can add a reference then. The
 * load must acquire, as the subtraction does: the thread that destroys the object must see everything that
 * the others did before they left. */
HORA__INLINE void hora__object_leave(struct hora__object *object)
{
    HORA__ORDER_FAULT(REFERENCE_ALONE_RELAXED, memory_order_relaxed);
    bool is_last = hora__atomic_load(&object->references) == 1;
    HORA__ORDER_FAULT(REFERENCE_LEFT_RELAXED, memory_order_relaxed);
    if (is_last || hora__atomic_add(&object->references, -1) == 1)
        hora__object_end(object);
}

/* Puts the calling thread, whose record is given, on one of the object's wait lists and parks it until
 * another thread resolves its waiter. The caller holds the lock; the call releases it and returns without
 * it. Returns the result that the waiter was resolved with, HORA_ETIMEDOUT when the object's clock shows the
 * deadline, HORA_EINTERRUPTED with the flag cleared, or HORA_EAGAIN if the waiter was nudged to look again.
 * The object may be gone afterwards. Defined in wait.c. */
__attribute__((warn_unused_result)) int hora__object_wait_locked(struct hora__object *object,
                                                                 struct hora__list *list, hora_thread *thread,
                                                                 hora_ns deadline);

#endif
