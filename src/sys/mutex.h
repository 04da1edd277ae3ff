/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - locks with ranks, and the condition variable that the portable parker needs
 *
 * A thread may take a lock only if its rank is higher than that of every lock it holds; builds with
 * assertions, and the simulator, check this and who unlocks at every call. This enum is the list of all locks
 * of the library; docs/internals/locking.md says what each protects.
 *
 * Locks are not recursive. hora__mutex_lock cannot fail; hora__mutex_init can (HORA_ENOMEM, HORA_EAGAIN). */
#ifndef HORA_SYS_MUTEX_H
#define HORA_SYS_MUTEX_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/atomic.h"
#include "sys/native.h"

enum hora__rank {
    HORA__RANK_OBJECT = 1, /* a queue or a latch */
    HORA__RANK_INBOX = 2,  /* where elements are posted for a queue */
    HORA__RANK_THREAD = 3, /* a thread record: interrupt flag, descriptor, idleness */
    HORA__RANK_CLOCK = 4,  /* a virtual clock */
    HORA__RANK_PARKER = 5, /* inside the portable parker */
    HORA__RANK_DEPOT = 6,  /* spare memory of a pool */
    HORA__RANK_NAMES = 7,  /* names of tasks, and what is measured under them */
};

/* Without assertions, and with the lock in one word, all is so short that it is inline: posix/quick_mutex.h. */
#if defined(NDEBUG) && !defined(HORA_SIM) && !defined(HORA_PARKER_COND)
#define HORA__MUTEX_IS_INLINE
#endif

typedef struct hora__mutex {
    hora__native_mutex native;
    uint8_t rank; /* an enum hora__rank */
#ifndef HORA__MUTEX_IS_INLINE
    hora__atomic owner; /* hora__thread_id() of the holder, 0: none. Written by the holder only */
#endif
} hora__mutex;

__attribute__((warn_unused_result)) int hora__mutex_init(hora__mutex *mutex, enum hora__rank rank);
void hora__mutex_destroy(hora__mutex *mutex);

/* Whether nobody holds the lock at this moment. For those who must not wait for a thread that a debugger has stopped. */
bool hora__mutex_is_free(hora__mutex *mutex);

#ifdef HORA__MUTEX_IS_INLINE
#include "sys/posix/quick_mutex.h"
#else
void hora__mutex_lock(hora__mutex *mutex);
void hora__mutex_unlock(hora__mutex *mutex);

/* The same by somebody who knows its rank, so that it need not be looked at. */
static inline void hora__mutex_lock_as(hora__mutex *mutex, enum hora__rank rank)
{
    assert(mutex->rank == (uint8_t)rank);
    (void)rank;
    hora__mutex_lock(mutex);
}

static inline void hora__mutex_unlock_as(hora__mutex *mutex, enum hora__rank rank)
{
    assert(mutex->rank == (uint8_t)rank);
    (void)rank;
    hora__mutex_unlock(mutex);
}

/* Whether the calling thread holds the lock of some object: it is then in a callback that runs under it. */
bool hora__mutex_holds_object(void);

/* Whether the calling thread holds the lock; for assertions, without which there is none. Exact for the caller's own thread, whoever else holds it. */
bool hora__mutex_held(const hora__mutex *mutex);
#endif

#if defined(HORA_SIM) || defined(HORA_PARKER_COND)

typedef struct hora__cond {
    hora__native_cond native;
} hora__cond;

__attribute__((warn_unused_result)) int hora__cond_init(hora__cond *cond);
void hora__cond_destroy(hora__cond *cond);
/* Wait until signalled, or until the monotonic clock shows deadline_ns. May return for no reason. */
void hora__cond_wait(hora__cond *cond, hora__mutex *mutex, int64_t deadline_ns);
void hora__cond_signal(hora__cond *cond);

#endif

#endif
