/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.c - locks on the futex or on pthreads, and conditions on pthreads; mutex.h has the inline variant
 *
 * Invariants        I1 mutex->owner is the holder's id while the lock is held, else 0.
 *                   I2 a thread takes locks in rising order of rank.
 *                   I3 objects_held is the number of object locks that the thread holds. */
#include "sys/mutex.h"

#include <assert.h>
#include <time.h>

#include "sys/posix/internal.h"
#include "sys/thread.h"

#ifndef NDEBUG

/* The ranks of the locks that the calling thread holds, rising. A thread holds at most one lock of each rank,
 * so there are fewer than HELD_MAX. */
enum { HELD_MAX = 8 };
static HORA__THREAD_LOCAL enum hora__rank held[HELD_MAX];
static HORA__THREAD_LOCAL int held_count;

/* Checks I2 for a lock that the thread has just taken, and remembers its rank. */
static void note_locked(enum hora__rank rank)
{
    assert(held_count < HELD_MAX);
    assert(held_count == 0 || held[held_count - 1] < rank); /* I2 */
    held[held_count++] = rank;
}

/* Removes a rank from the list. Locks may be released in any order. */
static void note_unlocked(enum hora__rank rank)
{
    int i = held_count - 1;
    while (i >= 0 && held[i] != rank)
        i--;
    assert(i >= 0);
    held_count--;
    for (; i < held_count; i++)
        held[i] = held[i + 1];
}

#elif !defined(HORA__MUTEX_IS_INLINE)

static void note_locked(enum hora__rank rank)
{
    (void)rank;
}

static void note_unlocked(enum hora__rank rank)
{
    (void)rank;
}

#endif

/* The operations on the system's lock: a pthread mutex, or the lock of one word. pthread functions return
 * positive error numbers, so a minus makes them errors of hora. */
#ifdef HORA_PARKER_COND

static int init_native(hora__native_mutex *native)
{
    return -pthread_mutex_init(native, NULL);
}

static void destroy_native(hora__native_mutex *native)
{
    int error = pthread_mutex_destroy(native);
    assert(error == 0);
    (void)error;
}

static bool is_free(hora__native_mutex *native)
{
    bool is_free = pthread_mutex_trylock(native) == 0;
    if (is_free)
        (void)pthread_mutex_unlock(native);
    return is_free;
}

static void lock_native(hora__native_mutex *native)
{
    int error = pthread_mutex_lock(native);
    assert(error == 0);
    (void)error;
}

static void unlock_native(hora__native_mutex *native)
{
    int error = pthread_mutex_unlock(native);
    assert(error == 0);
    (void)error;
}

#else

static int init_native(hora__native_mutex *native)
{
    hora__atomic_init(native, HORA__LOCK_FREE);
    return 0;
}

static void destroy_native(const hora__native_mutex *native)
{
    assert(hora__atomic_load_relaxed(native) == HORA__LOCK_FREE);
    (void)native;
}

static bool is_free(const hora__native_mutex *native)
{
    return hora__atomic_load_relaxed(native) == HORA__LOCK_FREE;
}

#ifndef HORA__MUTEX_IS_INLINE

static void lock_native(hora__native_mutex *native)
{
    hora__word_lock(native);
}

static void unlock_native(hora__native_mutex *native)
{
    hora__word_unlock(native);
}

#endif

#endif

int hora__mutex_init(hora__mutex *mutex, enum hora__rank rank)
{
    assert(rank >= HORA__RANK_OBJECT && rank <= HORA__RANK_NAMES);
    mutex->rank = (uint8_t)rank;
#ifndef HORA__MUTEX_IS_INLINE
    hora__atomic_init(&mutex->owner, 0);
#endif
    return init_native(&mutex->native);
}

void hora__mutex_destroy(hora__mutex *mutex)
{
    destroy_native(&mutex->native);
}

bool hora__mutex_is_free(hora__mutex *mutex)
{
    return is_free(&mutex->native);
}

/* ---- locks with checks; mutex.h has the inline variant without ---- */

#ifdef HORA__MUTEX_IS_INLINE

HORA__THREAD_LOCAL int hora__objects_held;

#else

static HORA__THREAD_LOCAL int objects_held; /* object locks that the calling thread holds; I3 */

/* Other threads may change owner at any time, but never to or from the id of the calling thread. So a relaxed
 * load is enough for an exact answer. */
bool hora__mutex_held(const hora__mutex *mutex)
{
    return hora__atomic_load_relaxed(&mutex->owner) == hora__thread_id();
}

/* Checks the rank whenever a lock is taken, so a wrong order is found even if it does not lead to a
 * deadlock. */
void hora__mutex_lock(hora__mutex *mutex)
{
    assert(!hora__mutex_held(mutex));
    lock_native(&mutex->native);
    note_locked((enum hora__rank)mutex->rank);
    hora__atomic_store_relaxed(&mutex->owner, hora__thread_id());
    if (mutex->rank == HORA__RANK_OBJECT)
        objects_held++; /* I3 */
}

/* Updates all fields while the thread still holds the lock: afterwards another thread may lock it, or free
 * its memory. */
void hora__mutex_unlock(hora__mutex *mutex)
{
    assert(hora__mutex_held(mutex));                              /* I1 */
    assert(mutex->rank != HORA__RANK_OBJECT || objects_held > 0); /* I3 */
    if (mutex->rank == HORA__RANK_OBJECT)
        objects_held--;
    hora__atomic_store_relaxed(&mutex->owner, 0);
    note_unlocked((enum hora__rank)mutex->rank);
    unlock_native(&mutex->native);
}

bool hora__mutex_holds_object(void)
{
    return objects_held > 0;
}

#endif

/* ---- conditions ---- */

#ifdef HORA_PARKER_COND

int hora__cond_init(hora__cond *cond)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0)
        return -error;
    error =
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* setting the time must not end a wait */
    if (error == 0)
        error = pthread_cond_init(&cond->native, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return -error;
}

void hora__cond_destroy(hora__cond *cond)
{
    int error = pthread_cond_destroy(&cond->native);
    assert(error == 0);
    (void)error;
}

/* The wait releases the lock, so owner is 0 until the thread holds the lock again. The rank stays on the
 * thread's list, because the thread takes no other lock before it has this one again. */
void hora__cond_wait(hora__cond *cond, hora__mutex *mutex, int64_t deadline_ns)
{
    assert(hora__mutex_held(mutex));
    hora__atomic_store_relaxed(&mutex->owner, 0);
    struct timespec deadline = hora__timespec(deadline_ns);
    if (deadline_ns == INT64_MAX)
        (void)pthread_cond_wait(&cond->native, &mutex->native);
    else
        (void)pthread_cond_timedwait(&cond->native, &mutex->native, &deadline);
    hora__atomic_store_relaxed(&mutex->owner, hora__thread_id());
}

void hora__cond_signal(hora__cond *cond)
{
    (void)pthread_cond_signal(&cond->native);
}

#endif
