/* SPDX-License-Identifier: Apache-2.0 */
/* native.h - the system's own objects that ours contain, in the real and in the simulated build */
#ifndef HORA_SYS_NATIVE_H
#define HORA_SYS_NATIVE_H

#ifdef HORA_SIM

typedef struct hora__native_mutex {
    int owner; /* simulated thread + 1, 0: free */
} hora__native_mutex;

typedef struct hora__native_cond {
    int unused; /* waiters are found by this object's address */
} hora__native_cond;

#elif !defined(HORA_PARKER_COND)

#include "sys/word_lock.h"

typedef hora__atomic hora__native_mutex;

#else

#include <pthread.h>

typedef pthread_mutex_t hora__native_mutex;
typedef pthread_cond_t hora__native_cond;

#endif

#endif
