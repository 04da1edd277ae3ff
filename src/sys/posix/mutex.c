/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.c - locks and conditions on pthreads
 *
 * Invariants   I1 mutex->owner is the holder's id while the lock is held, else 0.
 *              I2 a thread takes locks in rising order of rank (checked with assertions on).
 *              I3 objects_held is the number of object locks that the thread holds. */
#include "sys/mutex.h"

#include <assert.h>
#include <time.h>

#include "sys/posix/timespec.h"
#include "sys/thread.h"

#ifndef NDEBUG

/* The ranks that the calling thread holds, rising. The number of ranks is the limit. */
enum { HELD_MAX = 8 };
static _Thread_local enum hora__rank held[HELD_MAX];
static _Thread_local int held_count;

static void note_locked(enum hora__rank rank)
{
    assert(held_count < HELD_MAX);
    assert(held_count == 0 || held[held_count - 1] < rank); /* I2 */
    held[held_count++] = rank;
}

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

#else

static void note_locked(enum hora__rank rank)
{
    (void)rank;
}

static void note_unlocked(enum hora__rank rank)
{
    (void)rank;
}

#endif

static _Thread_local int objects_held;

int hora__mutex_init(hora__mutex *mutex, enum hora__rank rank)
{
    mutex->rank = rank;
    hora__atomic_init(&mutex->owner, 0);
    return -pthread_mutex_init(&mutex->native, NULL);
}

void hora__mutex_destroy(hora__mutex *mutex)
{
    int error = pthread_mutex_destroy(&mutex->native);
    assert(error == 0);
    (void)error;
}

void hora__mutex_lock(hora__mutex *mutex)
{
    assert(!hora__mutex_held(mutex));
    int error = pthread_mutex_lock(&mutex->native);
    assert(error == 0);
    (void)error;
    note_locked(mutex->rank);
    hora__atomic_store_relaxed(&mutex->owner, hora__thread_id());
    if (mutex->rank == HORA__RANK_OBJECT)
        objects_held++; /* I3 */
}

void hora__mutex_unlock(hora__mutex *mutex)
{
    assert(hora__mutex_held(mutex)); /* I1 */
    if (mutex->rank == HORA__RANK_OBJECT)
        objects_held--; /* I3 */
    hora__atomic_store_relaxed(&mutex->owner, 0);
    note_unlocked(mutex->rank);
    int error = pthread_mutex_unlock(&mutex->native);
    assert(error == 0);
    (void)error;
}

bool hora__mutex_held(const hora__mutex *mutex)
{
    return hora__atomic_load_relaxed(&mutex->owner) == hora__thread_id();
}

bool hora__mutex_holds_object(void)
{
    return objects_held > 0;
}

int hora__cond_init(hora__cond *cond)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0)
        return -error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
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
