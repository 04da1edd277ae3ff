/* SPDX-License-Identifier: Apache-2.0 */
/* quick_mutex.h - locking without assertions: what mutex.c does, without the checks; included by sys/mutex.h */
#ifndef HORA_SYS_POSIX_QUICK_MUTEX_H
#define HORA_SYS_POSIX_QUICK_MUTEX_H

#include "sys/posix/thread_local.h"

extern HORA__THREAD_LOCAL int hora__objects_held; /* how many object locks the thread holds */

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

#endif
