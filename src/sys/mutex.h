/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - locks with ranks, and the condition variable of the portable parker
 *
 * A thread may take a lock only if its rank is higher than that of every lock it holds. Builds with
 * assertions and the simulator check this, and check the owner at every unlock. The enum lists all locks of
 * the library; docs/internals/locking.md describes what each protects.
 *
 * Locks are not recursive. hora__mutex_lock cannot fail. hora__mutex_init can (HORA_ENOMEM, HORA_EAGAIN). */
#ifndef HORA_SYS_MUTEX_H
#define HORA_SYS_MUTEX_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(HORA_PARKER_COND) && !defined(HORA_SIM)
#include <pthread.h>
#endif

#include "base/build.h"
#include "sys/atomic.h"
#include "sys/futex.h"

/* The lock and the condition variable of the system, which hora__mutex and hora__cond contain. */
#ifdef HORA_SIM

typedef struct hora__native_mutex {
    int owner; /* number of the simulated thread + 1; 0: free */
} hora__native_mutex;

typedef struct hora__native_cond {
    int unused; /* the simulator finds the waiters by this object's address */
} hora__native_cond;

#elif !defined(HORA_PARKER_COND)

typedef hora__atomic hora__native_mutex;

#else

typedef pthread_mutex_t hora__native_mutex;
typedef pthread_cond_t hora__native_cond;

#endif

/* The ranks, in the order in which a thread may take the locks. */
enum hora__rank {
    HORA__RANK_OBJECT = 1,    /* a queue or a latch */
    HORA__RANK_OWN = 2,       /* the own queue of a worker in a stealing pool */
    HORA__RANK_INBOX = 3,     /* an inbox lane, where threads insert without the queue's lock */
    HORA__RANK_THREAD = 4,    /* a thread record: interrupt flag, descriptor, idleness */
    HORA__RANK_CLOCK = 5,     /* a virtual clock */
    HORA__RANK_PARKER = 6,    /* inside the portable parker */
    HORA__RANK_FREE_LIST = 7, /* the free list of a pool, and its block source */
    HORA__RANK_NAMES = 8,     /* names of tasks and the measurements under them */
};

/* Defined in builds without assertions that use the lock of one word. Locking is then short enough to be
 * inline. */
#if defined(NDEBUG) && !defined(HORA_SIM) && !defined(HORA_PARKER_COND)
#define HORA__MUTEX_IS_INLINE
#endif

typedef struct hora__mutex {
    hora__native_mutex native; /* does the locking */
    uint8_t rank;              /* an enum hora__rank; immutable */
#ifndef HORA__MUTEX_IS_INLINE
    hora__atomic owner; /* hora__thread_id() of the holder, 0: none; only the holder writes it */
#endif
} hora__mutex;

__attribute__((warn_unused_result)) int hora__mutex_init(hora__mutex *mutex, enum hora__rank rank);
void hora__mutex_destroy(hora__mutex *mutex);

/* Returns true if no thread holds the lock at this moment. For dumps in a debugger, which must not wait for a
 * thread that the debugger has stopped. */
bool hora__mutex_is_free(hora__mutex *mutex);

#ifdef HORA__MUTEX_IS_INLINE

/* The number of object locks that the calling thread holds. */
extern HORA__THREAD_LOCAL int hora__objects_held;

/* The functions below do the same as those of mutex.c, without their checks. The _as variants are for callers
 * that know the rank at compile time, which saves reading it and the test of it. */
HORA__INLINE void hora__mutex_lock_as(hora__mutex *mutex, enum hora__rank rank)
{
    hora__word_lock(&mutex->native);
    if (rank == HORA__RANK_OBJECT)
        hora__objects_held++;
}

HORA__INLINE void hora__mutex_unlock_as(hora__mutex *mutex, enum hora__rank rank)
{
    if (rank == HORA__RANK_OBJECT)
        hora__objects_held--;
    hora__word_unlock(&mutex->native);
}

static inline void hora__mutex_lock(hora__mutex *mutex)
{
    hora__mutex_lock_as(mutex, (enum hora__rank)mutex->rank);
}

HORA__INLINE void hora__mutex_unlock(hora__mutex *mutex)
{
    hora__mutex_unlock_as(mutex, (enum hora__rank)mutex->rank);
}

static inline bool hora__mutex_holds_object(void)
{
    return hora__objects_held > 0;
}

#else

void hora__mutex_lock(hora__mutex *mutex);
void hora__mutex_unlock(hora__mutex *mutex);

/* Lock and unlock for callers that know the rank at compile time. Inline builds save reading it; here it is
 * only checked. */
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

/* Returns true if the calling thread holds the lock of some object. A public function that finds this was
 * called from a callback that runs under that lock. */
bool hora__mutex_holds_object(void);

/* Returns true if the calling thread holds the lock. Only for assertions: release builds do not have it. The
 * answer is exact whatever other threads do. */
bool hora__mutex_held(const hora__mutex *mutex);
#endif

#if defined(HORA_SIM) || defined(HORA_PARKER_COND)

/* A condition variable, which only the portable parker uses. */
typedef struct hora__cond {
    hora__native_cond native;
} hora__cond;

__attribute__((warn_unused_result)) int hora__cond_init(hora__cond *cond);
void hora__cond_destroy(hora__cond *cond);
/* Releases the lock, waits until signalled or until the monotonic clock shows deadline_ns, and takes the lock
 * again. INT64_MAX: no deadline. May return without a reason. */
void hora__cond_wait(hora__cond *cond, hora__mutex *mutex, int64_t deadline_ns);
void hora__cond_signal(hora__cond *cond);

#endif

#endif
