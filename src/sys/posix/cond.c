/* SPDX-License-Identifier: Apache-2.0 */
/* cond.c - conditions on pthreads, for the portable parker */
#include "sys/mutex.h"

#ifdef HORA_PARKER_COND

#include <assert.h>
#include <time.h>

#include "sys/posix/timespec.h"
#include "sys/thread.h"

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

#else

typedef int hora__no_cond_here; /* ISO C wants a declaration in every file */

#endif
